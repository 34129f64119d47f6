"""The Dask cluster that the options ``--scheduler`` and ``--workers`` of a command ask for."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..out_of_core.dask import connect


@contextmanager
def dask_client(arguments: Namespace) -> Iterator[Any]:
    """Open a client of the cluster that the arguments name, closed at the end; None if they name none."""
    if arguments.scheduler is None and arguments.workers is None:
        yield None
        return
    with connect(arguments.scheduler, workers=arguments.workers) as client:
        yield client
