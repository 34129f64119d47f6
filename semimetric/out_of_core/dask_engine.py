"""A Dask cluster as an `Engine`: Dask schedules, moves and retries; here is what is called, and in which tree it adds up."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.optional_imports import optional
from .._foundation.storage import package_version
from .._foundation.threads import one_blas_thread
from ..data.parts.engine import Engine

__all__ = ["Cluster", "connect"]

T = TypeVar("T")

_PATIENCE = "10s"
_WEIGHT = 1 << 26


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
        If no scheduler answers there.
    """
    distributed = optional("distributed")
    try:
        if address is not None:
            return distributed.Client(address, timeout=_PATIENCE)
        return distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({error}); start one by: dask scheduler") from error


def _versions() -> dict[str, str]:
    """What must be the same on both sides for the same answers."""
    return {"semimetric": package_version(), "python": f"{sys.version_info[0]}.{sys.version_info[1]}", "numpy": np.__version__}


def _check(client: Any) -> None:
    """Refuse what is no client, a cluster without workers, and workers of other versions."""
    distributed = optional("distributed")
    if not isinstance(client, distributed.Client):
        raise InputError(f"client={client!r} is no Dask client; give distributed.Client(...), or use semimetric.out_of_core")
    if client.status != "running":
        raise InputError(f"the client of {client.scheduler and client.scheduler.address} is {client.status}; connect it again")
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except (TimeoutError, OSError) as error:
        raise InputError(f"the scheduler has no workers after {_PATIENCE}; start some by: dask worker ADDRESS") from error
    ours = _versions()
    for address, theirs in client.run(_versions, on_error="return").items():
        if isinstance(theirs, BaseException):
            raise NotSupportedError(f"worker {address} cannot run semimetric ({theirs}); install {package_version()} there")
        differ = [f"{name} {version} there, {ours[name]} here" for name, version in theirs.items() if version != ours[name]]
        if differ:
            raise NotSupportedError(
                f"worker {address} has other versions ({', '.join(differ)}); install the same on both sides"
            )


class Cluster(Engine):
    """The workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    InputError, NotSupportedError
        If it is not connected, or its workers cannot give the same answers.
    """

    def __init__(self, client: Any) -> None:
        _check(client)
        self.client = client

    def each(self, function: Callable[..., T], parts: Sequence[Any], *share: Any) -> Iterator[T]:
        """All at once; results are held here."""
        return iter(self._results(self._calls(function, parts, share)))

    def each_near(self, function: Callable[..., T], parts: Sequence[Any], near: Sequence[int], *share: Any) -> Iterator[T]:
        """All at once; parts are tuples, and those whose first members are equal go where that was before, if it can be.

        By anchors, results that weigh much: Dask moves calls to them, and makes them again where a worker is lost. Calls that
        are bound to addresses would wait for ever if all workers were lost at once: those that come instead have others.
        """
        anchors = vars(self.client).setdefault("_semimetric_anchors", {})  # for as long as the client is there
        futures = []
        for part, k in zip(parts, near, strict=True):
            anchor = anchors.get((part[0], k))
            if anchor is None or anchor.status not in ("pending", "finished"):
                anchor = anchors[part[0], k] = self.client.submit(_Anchor, part[0], pure=False)
            futures.append(self.client.submit(_near, function, anchor, part[1:], *share, pure=False))
        return iter(_gathered(self.client, futures))

    @property
    def width(self) -> int:
        """Threads of all workers."""
        return max(sum(self.client.nthreads().values()), 1)

    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *share: Any) -> T:
        """Sums are made where their terms are."""
        level, plus = self._calls(function, parts, share), optional("dask").delayed(add, traverse=False)
        while len(level) > 1:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [plus(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self._results(level)[0]

    def kept(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """Kept in the memory of the workers, and made again where one is lost."""
        with _large_graphs():
            return list(self.client.persist(self._calls(function, parts, share)))

    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """On every worker at once, beside what it computes; those that are lost have nothing left to do it to."""
        with suppress(OSError, RuntimeError, ValueError):  # no connection is left
            self.client.run(function, *args, on_error="ignore")

    def _calls(self, function: Callable[..., Any], parts: Sequence[Any], share: tuple[Any, ...]) -> list[Any]:
        delayed = optional("dask").delayed
        call = delayed(_called, traverse=False)
        shared = [delayed(value, traverse=False) for value in (function, *share)]  # once in the graph, for all calls
        return [call(shared[0], part, *shared[1:]) for part in parts]

    def _results(self, calls: list[Any]) -> list[Any]:
        with _large_graphs():
            futures = self.client.compute(calls)
        return _gathered(self.client, futures)


def _gathered(client: Any, futures: list[Any]) -> list[Any]:
    """Results, with Dask's bar of progress while they come if someone is there to see it."""
    if sys.stderr.isatty():
        bar = optional("distributed.diagnostics.progressbar").TextProgressBar(futures, start=False)
        client.sync(bar.listen)
    return list(client.gather(futures))


def _called(function: Callable[..., T], part: Any, *share: Any) -> T:
    """One thread of BLAS, as in the calling process: the same bits."""
    with one_blas_thread():
        return function(part, *share)


class _Anchor:
    """A value that calls are moved to."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:  # what Dask would move instead: more than what the calls bring along
        return _WEIGHT


def _near(function: Callable[..., T], anchor: _Anchor, rest: tuple[Any, ...], *share: Any) -> T:
    return _called(function, (anchor.value, *rest), *share)


class _large_graphs(warnings.catch_warnings):
    """Without Dask's warning of large graphs: what is shared is in them on purpose, so that lost workers can be replaced."""

    def __enter__(self) -> None:  # type: ignore[override]
        super().__enter__()
        warnings.filterwarnings("ignore", message="Sending large graph")
