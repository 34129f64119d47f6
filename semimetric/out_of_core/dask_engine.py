"""A Dask cluster as an `Engine`: Dask schedules calls, moves results and retries; the engine fixes the tree of the sums."""

import asyncio
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, TypeVar

from .._foundation.errors import ClusterError
from .._foundation.optional_imports import optional
from .._foundation.threads import one_blas_thread
from ..data.parts.engine import Engine
from .dask_workers import PATIENCE, ask, check_cluster, check_here, required_versions, telling

__all__ = ["Cluster"]

T = TypeVar("T")

_WATCHED = 1.0  # seconds between two looks at whether any worker is there
_CALLED = 10.0  # seconds in which workers must have called what is called everywhere
_ANCHOR_BYTES = 1 << 26


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
        check_cluster(client)
        self.client = client

    def each(self, function: Callable[..., T], parts: Sequence[Any], *share: Any) -> Iterator[T]:
        """The results, from calls that are all submitted at once; this process holds all of them."""
        with telling(self.client):
            return iter(self._results(self._calls(function, parts, share)))

    def each_near(self, function: Callable[..., T], parts: Sequence[Any], near: Sequence[int], *share: Any) -> Iterator[T]:
        """The results of calls for tuples; those of one first member and one number in ``near`` run on one worker, if possible.

        Each such couple has an anchor: a result that claims to be large, so that Dask sends calls to the worker that holds it,
        and makes it again where a worker is lost. Calls bound to the address of a worker would wait for ever if all workers
        were lost at once, since new workers have new addresses.
        """
        anchors = vars(self.client).setdefault("_semimetric_anchors", {})  # they are kept as long as the client
        with telling(self.client), _futures() as futures:
            for part, k in zip(parts, near, strict=True):
                anchor = anchors.get((part[0], k))
                if anchor is None or anchor.status not in ("pending", "finished"):
                    anchor = anchors[part[0], k] = self.client.submit(_Anchor, part[0], pure=False)
                call = (_near, required_versions(), function, anchor, part[1:], *share)
                futures.append(self.client.submit(*call, pure=False))
            return iter(self._gathered(futures))

    @property
    def width(self) -> int:
        """The number of threads of all workers together, at least 1."""
        with telling(self.client):
            return max(sum(self.client.nthreads().values()), 1)

    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *share: Any) -> T:
        """The sum along the tree of `tree_sum`; terms are added by a worker that holds one of them."""
        level, plus = self._calls(function, parts, share), optional("dask").delayed(add, traverse=False)
        while len(level) > 1:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [plus(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        with telling(self.client):
            return self._results(level)[0]

    def kept(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """Results kept in the memory of the workers, and made again where one is lost."""
        with telling(self.client), _large_graphs():
            return list(self.client.persist(self._calls(function, parts, share)))

    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """Call the function on every worker at once, beside what it computes; workers that are lost are left out."""
        with suppress(OSError, RuntimeError, ValueError):  # the connection is lost
            self.client.sync(ask, self.client, _CALLED, function, *args)

    def _calls(self, function: Callable[..., Any], parts: Sequence[Any], share: tuple[Any, ...]) -> list[Any]:
        """Delayed calls, one for each part."""
        delayed = optional("dask").delayed
        call = delayed(_called, traverse=False)
        versions, called, *shared = (delayed(value, traverse=False) for value in (required_versions(), function, *share))
        return [call(versions, called, part, *shared) for part in parts]  # what they share is in the graph once

    def _results(self, calls: list[Any]) -> list[Any]:
        """The results of delayed calls, in this process."""
        with _futures() as futures:
            with _large_graphs():
                futures.extend(self.client.compute(calls))
            return self._gathered(futures)

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """The results of futures, in this process, with Dask's progress bar on a terminal."""
        return list(self.client.sync(_gather_watched, self.client, futures))


@contextmanager
def _futures() -> Iterator[list[Any]]:
    """A list of futures that are let go of at the end, so that an error or Ctrl-C takes back the calls that have not begun."""
    futures: list[Any] = []
    try:
        yield futures
    finally:
        for future in futures:
            future.release()


async def _gather_watched(client: Any, futures: list[Any]) -> list[Any]:
    """The results of futures, unless all workers are lost and none comes back: Dask alone would wait for ever."""
    waiting, seen = {asyncio.ensure_future(client.gather(futures, asynchronous=True))}, monotonic()
    results = next(iter(waiting))
    if sys.stderr.isatty():
        bar = optional("distributed.diagnostics.progressbar").TextProgressBar(futures, start=False)
        waiting.add(asyncio.ensure_future(bar.listen()))
    try:
        while not results.done():
            await asyncio.wait({results}, timeout=_WATCHED)
            seen = monotonic() if results.done() or await client.nthreads() else seen
            if monotonic() - seen > PATIENCE:
                raise ClusterError(
                    f"all workers were lost, and none has come back for {PATIENCE:g} s; start some by: dask worker ADDRESS, "
                    "and call again"
                )
        return list(results.result())
    finally:
        for task in waiting:
            task.cancel()


def _called(versions: Mapping[str, str], function: Callable[..., T], part: Any, *share: Any) -> T:
    """The result of one call, with the versions and one thread of BLAS as in the calling process: so the bits are the same."""
    check_here(versions)
    with one_blas_thread():
        return function(part, *share)


class _Anchor:
    """A value on one worker that claims to be large, so that Dask sends calls that take it to that worker."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:  # Dask compares it with the size of the other arguments of a call
        return _ANCHOR_BYTES


def _near(versions: Mapping[str, str], function: Callable[..., T], anchor: _Anchor, rest: tuple[Any, ...], *share: Any) -> T:
    """The result of one call for the tuple that begins with the value of the anchor and goes on with ``rest``."""
    return _called(versions, function, (anchor.value, *rest), *share)


class _large_graphs(warnings.catch_warnings):
    """Silences Dask's warning of large graphs: shared arguments are in the graph so that lost workers can be replaced."""

    def __enter__(self) -> None:  # type: ignore[override]  # the base class may return a list of warnings
        super().__enter__()
        warnings.filterwarnings("ignore", message="Sending large graph")
