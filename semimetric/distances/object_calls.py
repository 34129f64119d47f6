"""A distance of two objects of any kind, called pair by pair in threads or processes: counted, remembered, checked.

`DistanceFunction` is the same for vectors, of which a function may take whole batches.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from .._foundation.errors import DistanceCallError, InputError
from .._foundation.progress import progress_bar
from .._foundation.threads import blocks
from .._foundation.types import Floats, Integers, Pairs
from ..data.object_lists import Objects, object_key
from .callables import Distance

__all__ = ["BACKENDS", "CallCount", "Memo", "ObjectDistance", "counted_calls"]

BACKENDS = ("threads", "processes")
Memo = MutableMapping[Any, float]
_TASKS = 256  # that long work is cut into, so that its bar moves
_MOST = 512  # pairs in a task
_PROBE = 3  # pairs that are called both ways
_Called = tuple[Floats, int, BaseException | None]


class CallCount:
    """How many calls were answered within `counted_calls`, in ``n``."""

    def __init__(self) -> None:
        self.n = 0


_COUNT: ContextVar[CallCount | None] = ContextVar("_COUNT", default=None)


@contextmanager
def counted_calls() -> Iterator[CallCount]:
    """Count the calls of every `ObjectDistance` that is evaluated within this, in this thread."""
    count = CallCount()
    token = _COUNT.set(count)
    try:
        yield count
    finally:
        _COUNT.reset(token)


class ObjectDistance:
    """A callable of two objects, for pairs of positions in one or two sequences.

    Parameters
    ----------
    function : callable
    objects : sequence of objects
        The first members of pairs.
    others : sequence of objects or None
        The second members; None takes ``objects``.
    kinds : tuple of str
        What the first and the second member of a pair are, for messages.
    known : callable or None
        From pairs of positions, shape (n, 2), to their distances, shape (n,), NaN where it knows none.
    backend : {"threads", "processes"}
        Unless `joblib.parallel_config` says otherwise.
    cache : mutable mapping or None
        Distances by pair of objects, which must be hashable or of a kind that can be pickled. They are taken to be symmetric.

    Attributes
    ----------
    n_calls : int
        How often the callable was called, as far as it has answered.
    """

    def __init__(
        self,
        function: Distance,
        objects: Objects,
        others: Objects | None = None,
        *,
        kinds: tuple[str, str] = ("object", "object"),
        known: Callable[[Integers], Floats] | None = None,
        backend: str = "threads",
        cache: Memo | None = None,
    ) -> None:
        if not callable(function):
            raise InputError(f"distance={function!r} must be callable: a function of two objects that returns their distance")
        if cache is not None and not (hasattr(cache, "__setitem__") and hasattr(cache, "get")):
            raise InputError(f"cache={cache!r} must be a mapping that can be written to, such as an empty dict")
        self._function, self._objects, self._others = function, objects, objects if others is None else others
        self._kinds, self._known, self._backend, self._cache = kinds, known, backend, cache
        self.n_calls = 0

    def evaluate(self, pairs: Pairs, **options: Any) -> Floats:
        """The distances of ``pairs``, shape (n_pairs,); the options are those of `stream`."""
        return np.concatenate([np.empty(0), *self.stream(pairs, **options)])

    def asymmetry(self, items: Floats) -> tuple[float, float] | None:
        """d(x, y) and d(y, x) of the first of a few pairs of objects for which they differ; None if there is no such pair.

        ``items`` are the features of the objects, of which different ones are taken.
        """
        different = np.sort(np.unique(items, axis=0, return_index=True)[1])
        for i, j in zip(different[0 : 2 * _PROBE : 2].tolist(), different[1 : 2 * _PROBE : 2].tolist(), strict=False):
            answers, n_calls, failure = _called(
                self._function, [self._objects[i], self._objects[j]], [self._others[j], self._others[i]], False
            )
            self._count(n_calls)
            if isinstance(failure, KeyboardInterrupt):
                raise failure
            if len(answers) == 2 and not np.isclose(answers[0], answers[1], rtol=1e-6):
                return float(answers[0]), float(answers[1])
        return None

    def stream(
        self,
        pairs: Pairs,
        *,
        n_jobs: int | None = None,
        verbose: bool | None = None,
        nonnegative: bool = True,
        kind: str = "",
        bar: Any = None,
    ) -> Iterator[Floats]:
        """The distances of ``pairs``, of which the positions alone count, block by block.

        If an error or Ctrl-C ends the evaluation, the distances of all pairs before it have been yielded, and are in the cache;
        those that other threads or processes have under way are lost.

        Parameters
        ----------
        pairs : Pairs
        n_jobs : int or None, default None
            Threads or processes: None is one, -1 all.
        verbose : bool or None, default None
            Whether a progress bar is shown; None shows it to those who look, if it takes long.
        nonnegative : bool, default True
            Whether negative numbers are refused.
        kind : ignored
        bar : progress bar or None
            One that is shown already.

        Raises
        ------
        DistanceCallError
            If the callable raises, or returns anything but a finite number (and, if ``nonnegative``, one >= 0). The error
            names the positions of the two objects, and has the distances evaluated so far.
        """
        index = pairs.index
        values = self._remembered(index)
        parts = list(blocks(len(index), int(np.clip(len(index) // _TASKS, 1, _MOST))))
        missing = [part.start + np.flatnonzero(np.isnan(values[part])) for part in parts]
        tasks = (delayed(_called)(self._function, *self._members(index[rows]), nonnegative) for rows in missing if len(rows))
        n_workers = effective_n_jobs(n_jobs)
        results = Parallel(n_jobs=n_workers, prefer=self._backend, return_as="generator")(tasks)
        shown = progress_bar(len(index), "distances", verbose=verbose, unit="pair") if bar is None else nullcontext(bar)
        with _ended(results), shown as steps:
            for part, rows in zip(parts, missing, strict=True):
                found, n_calls, failure = next(results) if len(rows) else (np.empty(0), 0, None)
                self._count(n_calls)
                values[rows[: len(found)]] = found
                self._remember(index[rows[: len(found)]], found)
                end = part.stop if failure is None else int(rows[len(found)])
                yield values[part.start : end]
                if isinstance(failure, Exception):
                    raise self._failed(failure, index, end, values[:end])
                if failure is not None:
                    raise failure
                steps.update(end - part.start)

    def _count(self, n_calls: int) -> None:
        self.n_calls += n_calls
        if (count := _COUNT.get()) is not None:
            count.n += n_calls

    def _members(self, index: Integers) -> tuple[list[Any], list[Any]]:
        """The first and the second objects of pairs."""
        left, right = index.T.tolist()
        return [self._objects[i] for i in left], [self._others[j] for j in right]

    def _keys(self, index: Integers) -> Iterator[tuple[Any, Any]]:
        """The pairs as keys of the cache."""
        sides = (self._objects, self._others)
        found: list[dict[int, Any]] = [{}, {}]
        for pair in index.tolist():
            for side, at, known in zip(sides, pair, found, strict=True):
                if at not in known:
                    known[at] = object_key(side[at])
            yield found[0][pair[0]], found[1][pair[1]]

    def _remembered(self, index: Integers) -> Floats:
        """What is known of the distances of pairs without a call, shape (n,); NaN of others."""
        values = np.full(len(index), np.nan) if self._known is None else self._known(index)
        if self._cache is not None:
            for k, (a, b) in enumerate(self._keys(index)):
                if np.isnan(values[k]):
                    kept = self._cache.get((a, b))
                    kept = self._cache.get((b, a)) if kept is None else kept
                    values[k] = np.nan if kept is None else kept
        return values

    def _remember(self, index: Integers, values: Floats) -> None:
        if self._cache is not None:
            for key, value in zip(self._keys(index), values.tolist(), strict=True):
                self._cache[key] = value

    def _failed(self, failure: Exception, index: Integers, position: int, distances: Floats) -> DistanceCallError:
        i, j = (int(k) for k in index[position])
        one, other = self._kinds
        named = f"{one}s {i} and {j}" if one == other else f"{one} {i} and {other} {j}"
        reason = str(failure) if isinstance(failure, InputError) else f"{type(failure).__name__}: {failure}"
        error = DistanceCallError(
            f"distance failed on {named} (pair {position} of {len(index)}): {reason}. A finite number >= 0 is required; the "
            f"{len(distances)} distances evaluated so far are in the attributes pairs and distances",
            (i, j), index[:position], distances.copy(),
        )  # fmt: skip
        error.__cause__ = failure
        return error


@contextmanager
def _ended(results: Any) -> Iterator[None]:
    """At the end no call is begun any more: joblib cancels what it has not begun, without a warning that it did."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning)
            results.close()


def _called(function: Distance, left: list[Any], right: list[Any], nonnegative: bool) -> _Called:
    """The distances of the pairs before the first failure, the number of calls, and the failure, None if there is none."""
    done: list[float] = []
    try:
        for x, y in zip(left, right, strict=True):
            done.append(_number(function(x, y), nonnegative))
    except (Exception, KeyboardInterrupt) as failure:  # `stream` raises it again, together with the pair
        return np.array(done), len(done) + 1, _sendable(failure)
    return np.array(done), len(done), None


def _number(value: Any, nonnegative: bool) -> float:
    """What a distance has returned, as a number."""
    array = np.asarray(value) if not isinstance(value, (float, int)) else None
    if array is not None and (array.shape != () or array.dtype.kind not in "fiub"):
        given = f"an array of shape {array.shape}" if array.shape else f"{value!r:.40}"
        raise InputError(f"it returned {given}, and no number")
    number = float(value)
    if not np.isfinite(number) or (nonnegative and number < 0):
        raise InputError(f"it returned {number:g}")
    return number


def _sendable(failure: BaseException) -> BaseException:
    """The failure, or its words if it cannot be sent from one process to another."""
    try:
        again = pickle.loads(pickle.dumps(failure))
    except Exception:  # an error of a user may hold anything
        again = None
    return failure if type(again) is type(failure) else RuntimeError(f"{type(failure).__name__}: {failure}")
