"""A Dask cluster as an `Engine`: Dask schedules calls, moves results and retries; the engine fixes the tree of the sums."""

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
_ANCHOR_BYTES = 1 << 26


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
    """Versions that must be the same in this process and on all workers, so that the answers are the same."""
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
    required = _versions()
    for address, found in client.run(_versions, on_error="return").items():
        if isinstance(found, BaseException):
            raise NotSupportedError(f"worker {address} cannot run semimetric ({found}); install {package_version()} there")
        differ = [
            f"{name} {version} there, {required[name]} here" for name, version in found.items() if version != required[name]
        ]
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
        """The results, from calls that are all submitted at once; this process holds all of them."""
        return iter(self._results(self._calls(function, parts, share)))

    def each_near(self, function: Callable[..., T], parts: Sequence[Any], near: Sequence[int], *share: Any) -> Iterator[T]:
        """The results of calls for tuples; those of one first member and one number in ``near`` run on one worker, if possible.

        Each such couple has an anchor: a result that claims to be large, so that Dask sends calls to the worker that holds it,
        and makes it again where a worker is lost. Calls bound to the address of a worker would wait for ever if all workers
        were lost at once, since new workers have new addresses.
        """
        anchors = vars(self.client).setdefault("_semimetric_anchors", {})  # they are kept as long as the client
        futures = []
        for part, k in zip(parts, near, strict=True):
            anchor = anchors.get((part[0], k))
            if anchor is None or anchor.status not in ("pending", "finished"):
                anchor = anchors[part[0], k] = self.client.submit(_Anchor, part[0], pure=False)
            futures.append(self.client.submit(_near, function, anchor, part[1:], *share, pure=False))
        return iter(_results_of(self.client, futures))

    @property
    def width(self) -> int:
        """The number of threads of all workers together, at least 1."""
        return max(sum(self.client.nthreads().values()), 1)

    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *share: Any) -> T:
        """The sum along the tree of `tree_sum`; terms are added by a worker that holds one of them."""
        level, plus = self._calls(function, parts, share), optional("dask").delayed(add, traverse=False)
        while len(level) > 1:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [plus(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self._results(level)[0]

    def kept(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """Results kept in the memory of the workers, and made again where one is lost."""
        with _large_graphs():
            return list(self.client.persist(self._calls(function, parts, share)))

    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """Call the function on every worker at once, beside what it computes; workers that are lost are left out."""
        with suppress(OSError, RuntimeError, ValueError):  # the connection is lost
            self.client.run(function, *args, on_error="ignore")

    def _calls(self, function: Callable[..., Any], parts: Sequence[Any], share: tuple[Any, ...]) -> list[Any]:
        """Delayed calls, one for each part."""
        delayed = optional("dask").delayed
        call = delayed(_called, traverse=False)
        shared = [delayed(value, traverse=False) for value in (function, *share)]  # each is in the graph once, for all calls
        return [call(shared[0], part, *shared[1:]) for part in parts]

    def _results(self, calls: list[Any]) -> list[Any]:
        """The results of delayed calls, in this process."""
        with _large_graphs():
            futures = self.client.compute(calls)
        return _results_of(self.client, futures)


def _results_of(client: Any, futures: list[Any]) -> list[Any]:
    """The results of futures, in this process, with Dask's progress bar on a terminal."""
    if sys.stderr.isatty():
        bar = optional("distributed.diagnostics.progressbar").TextProgressBar(futures, start=False)
        client.sync(bar.listen)
    return list(client.gather(futures))


def _called(function: Callable[..., T], part: Any, *share: Any) -> T:
    """The result of one call, by one thread of BLAS as in the calling process, so that the bits are the same."""
    with one_blas_thread():
        return function(part, *share)


class _Anchor:
    """A value on one worker that claims to be large, so that Dask sends calls that take it to that worker."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:  # Dask compares it with the size of the other arguments of a call
        return _ANCHOR_BYTES


def _near(function: Callable[..., T], anchor: _Anchor, rest: tuple[Any, ...], *share: Any) -> T:
    """The result of one call for the tuple that begins with the value of the anchor and goes on with ``rest``."""
    return _called(function, (anchor.value, *rest), *share)


class _large_graphs(warnings.catch_warnings):
    """Silences Dask's warning of large graphs: shared arguments are in the graph so that lost workers can be replaced."""

    def __enter__(self) -> None:  # type: ignore[override]  # the base class may return a list of warnings
        super().__enter__()
        warnings.filterwarnings("ignore", message="Sending large graph")
