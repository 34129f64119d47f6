"""What is true of a Dask cluster: whether it is reached, who works in it, and with which versions.

Workers come and go, so a worker that does not answer is none, and only answers are judged. What goes wrong with the cluster
itself while it works ends in one sentence.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import monotonic, sleep
from typing import Any

import numpy as np

from .._foundation.errors import ClusterError, InputError, NotSupportedError, SemimetricError
from .._foundation.optional_imports import optional
from .._foundation.package_version import package_version

__all__ = ["PATIENCE", "ask", "check_cluster", "check_here", "connect", "required_versions", "telling"]

PATIENCE = 60.0  # seconds in which a first worker must come, or another one after all were lost
_LOST = (
    "the scheduler was lost or restarted, or let go of the work, before all of it was done, and nothing is kept; connect a "
    "client to a scheduler that runs, and call again"
)
_SILENCE = 2.0  # seconds for which others are waited for when one worker has answered
_CONNECTING, _AGAIN = 10.0, 0.1  # seconds in which a scheduler must answer, and between two questions


def connect(address: str | None = None, *, workers: int | None = None) -> Any:
    """A Dask client: of a scheduler that runs somewhere, or of new processes on this machine.

    Parameters
    ----------
    address : str or None, default None
        Of the scheduler, such as ``"tcp://host:8786"``; None starts processes here.
    workers : int or None, default None
        How many processes are started, of one thread each; None leaves it to Dask.

    Returns
    -------
    distributed.Client

    Raises
    ------
    InputError
        If no scheduler answers there, or no processes can be started here.
    """
    distributed = optional("distributed")
    if address is None:
        try:
            # The scheduler serves pages even if it is told None, at a port that another cluster may have; 0 is any free one.
            return distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"workers={workers}, and no Dask cluster starts on this machine ({error}); ask for fewer workers, or give the "
                "address of a scheduler that runs"
            ) from error
    try:
        return distributed.Client(address, timeout=_CONNECTING)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({error}); start one by: dask scheduler") from error


@cache
def required_versions() -> Mapping[str, str]:
    """Versions that must be the same in this process and on all workers, so that the answers are the same."""
    return {"semimetric": package_version(), "python": f"{sys.version_info[0]}.{sys.version_info[1]}", "numpy": np.__version__}


def check_cluster(client: Any) -> None:
    """Refuse what is no client, a cluster without workers, and workers of other versions.

    Raises
    ------
    InputError, NotSupportedError
    """
    distributed = optional("distributed")
    if not isinstance(client, distributed.Client):
        raise InputError(f"client={client!r} is no Dask client; give distributed.Client(...), or use semimetric.out_of_core")
    end, answers, silent = monotonic() + PATIENCE, dict[str, Any](), dict[str, OSError]()
    while client.status in ("running", "connecting"):
        answers, silent = _asked(client, end - monotonic())
        if answers or monotonic() > end:
            break
        sleep(_AGAIN)
    if client.status not in ("running", "connecting"):
        raise InputError(f"the client of {client.scheduler and client.scheduler.address} is {client.status}; connect it again")
    if not answers:
        lost = "".join(f"; {address} did not answer ({error})" for address, error in silent.items())
        raise InputError(f"the scheduler has no workers after {PATIENCE:g} s{lost}; start some by: dask worker ADDRESS")
    _check_versions(answers)


def _asked(client: Any, patience: float) -> tuple[dict[str, Any], dict[str, OSError]]:
    """What workers answer when they are asked for their versions, and the errors of those that were lost before they could."""
    try:
        found = client.sync(ask, client, patience, required_versions)
    except (optional("distributed").CancelledError, OSError):
        return {}, {}
    silent = {address: given for address, given in found.items() if isinstance(given, OSError)}
    return {address: given for address, given in found.items() if address not in silent}, silent


async def ask(client: Any, patience: float, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What ``function(*args)`` gives on each worker, or its error; those silent long after the first are left out.

    Each is asked by itself, since Dask waits for long for one that dies while it is asked.
    """
    asked = {asyncio.ensure_future(_ask_one(client, address, function, *args)) for address in await client.nthreads()}
    end, waiting, found = monotonic() + patience, asked, dict[str, Any]()
    while waiting and monotonic() < end:
        done, waiting = await asyncio.wait(waiting, timeout=end - monotonic(), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            found |= task.result()
        if any(not isinstance(given, OSError) for given in found.values()):
            end = min(end, monotonic() + _SILENCE)
    for task in waiting:
        task.cancel()
    return found


async def _ask_one(client: Any, address: str, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    try:
        return dict(await client.run(function, *args, workers=[address], on_error="return"))
    except OSError as error:
        return {address: error}


def _check_versions(answers: Mapping[str, Any]) -> None:
    """Refuse workers that cannot import this package, or that have other versions."""
    for address, found in answers.items():
        if isinstance(found, BaseException):
            raise NotSupportedError(f"worker {address} cannot run semimetric ({found}); install {package_version()} there")
        _check_same(address, found, required_versions())


def _check_same(address: str, there: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse a worker whose versions are not those of the process that asks."""
    differ = [f"{name} {there[name]} there, {version} here" for name, version in here.items() if there[name] != version]
    if differ:
        raise NotSupportedError(f"worker {address} has other versions ({', '.join(differ)}); install the same on both sides")


def check_here(required: Mapping[str, str]) -> None:
    """Refuse to work in this worker if its versions are others: it may have joined after the cluster was checked."""
    if required_versions() != required:
        _check_same(optional("distributed").get_worker().address, required_versions(), required)


@contextmanager
def telling(client: Any) -> Iterator[None]:
    """What goes wrong with the cluster itself ends in one sentence; errors of the work, and Ctrl-C, pass.

    Raises
    ------
    ClusterError
        If workers were lost again and again, or the scheduler was lost or restarted.
    NotSupportedError
        If work failed, and a worker has other versions.
    """
    try:
        yield
    except SemimetricError:
        raise
    except optional("distributed").KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers were lost while they worked on the same part, the last of them "
            f"{error.last_worker.address}: they were killed, or short of memory; give smaller parts, or workers more of it"
        ) from error
    except (optional("distributed").CancelledError, optional("distributed.comm").CommClosedError) as error:
        raise ClusterError(_LOST) from error
    except Exception as error:
        if client.status != "running":
            raise ClusterError(_LOST) from error
        _check_versions(_asked(client, _SILENCE)[0])
        raise
