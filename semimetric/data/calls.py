"""Distances that users give as Python functions, of two vectors or of two batches, and checks of the values they return.

A function of two batches takes X and Y of shape (n, n_features) and returns n distances.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from .._foundation.errors import DistanceCallError, InputError
from .._foundation.progress import progress_bar
from .._foundation.threads import blocks, end_if_interrupted
from .._foundation.types import Floats, Integers, Pairs
from .object_lists import Objects, object_key
from .schema import Schema

Distance: TypeAlias = Callable[[Any, Any], Any]
T = TypeVar("T")
_PROBE = 3  # pairs on which a function is tried
_BATCH = 1024  # pairs in a task of a function of batches
_SINGLE = 32  # pairs in a task of a function of vectors
_SEARCHED = 256  # rows among which different items are looked for


@dataclass(frozen=True)
class DistanceFunction:
    """A callable that computes distances of vectors or of batches.

    Parameters
    ----------
    function : callable
    batch : bool
        True if it takes two batches, False if it takes two vectors; `detect` finds out which.
    name : str
        The parameter as which a user has given it, for messages.
    schema : Schema or None
        The schema of the items. The callable is called with the values that it decodes, which are objects if there are
        categories.
    """

    function: Distance
    batch: bool
    name: str = "distance"
    schema: Schema | None = None

    @classmethod
    def detect(
        cls, function: Distance | None, items: Floats, *, name: str = "distance", schema: Schema | None = None
    ) -> DistanceFunction:
        """Return the function, tried on a few pairs of different items to find out whether it takes batches.

        It takes batches if a batch gives the same numbers as its vectors one by one. A pair on which the function fails does
        not count; if that pair is evaluated later, `evaluate` names it.

        Raises
        ------
        InputError
            If it is not callable, or returns numbers for none of the pairs in either form.
        ImportError
            If the function cannot import a package; its own error is raised.
        """
        if not callable(function):
            raise InputError(f"{name}={function!r} must be callable: a function of two vectors, or of two batches")
        schema = None if schema is None or schema.plain else schema
        left, right = (side if schema is None else schema.decode(side) for side in _probe(items))
        pairs = list(zip(left, right, strict=True))
        of_vectors, error = _values(lambda x, y: float(function(x, y)), pairs)
        of_batches_of_one: dict[int, float] = {}
        one_error = None
        if not of_vectors:
            of_batches_of_one, one_error = _values(lambda x, y: _only_value(function(x[None], y[None])), pairs)
        rows = np.array(sorted(of_vectors or of_batches_of_one or range(len(pairs))))
        of_batch, batch_error = _attempt(lambda: np.asarray(function(left[rows], right[rows]), dtype=np.float64))
        if of_batch is not None and of_batch.shape == (len(rows),):
            known = [of_vectors.get(k, np.nan) for k in rows.tolist()]
            if not of_vectors or np.allclose(of_batch, known, equal_nan=True):
                return cls(function, True, name, schema)
        if not of_vectors:
            raise InputError(
                f"{name} works neither on two vectors ({_brief(error)}) nor on two batches "
                f"({_brief(one_error or batch_error)}); it must return one number for two vectors, or n numbers for two "
                "arrays (n, n_features)"
            ) from error
        return cls(function, False, name, schema)

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        """Return the distances of the rows of X to the same rows of Y, shape (n,)."""
        if self.schema is not None:
            X, Y = self.schema.decode(X), self.schema.decode(Y)
        if self.batch:
            return np.asarray(self.function(X, Y), dtype=np.float64)
        return np.array([float(self.function(x, y)) for x, y in zip(X, Y, strict=True)], dtype=np.float64)

    def asymmetry(self, items: Floats) -> tuple[float, float] | None:
        """Return d(x, y) and d(y, x) of the first of a few pairs of items for which they differ.

        None if there is no such pair.
        """
        left, right = _probe(items)
        there, _ = _attempt(lambda: self(left, right))
        back, _ = _attempt(lambda: self(right, left))
        if there is None or back is None or there.shape != back.shape:
            return None  # `evaluate` will report the failure
        differ = np.flatnonzero(~np.isclose(there, back, rtol=1e-6, equal_nan=True))
        return (float(there[differ[0]]), float(back[differ[0]])) if len(differ) else None

    def evaluate(self, pairs: Pairs, **options: Any) -> Floats:
        """Return the distances of ``pairs``, shape (n_pairs,); the options are those of `stream`."""
        return np.concatenate([np.empty(0), *self.stream(pairs, **options)])

    def stream(
        self,
        pairs: Pairs,
        *,
        n_jobs: int | None = None,
        verbose: bool | None = None,
        nonnegative: bool = True,
        kind: str = "items",
    ) -> Iterator[Floats]:
        """Return the distances of ``pairs``, block by block, computed by ``n_jobs`` threads, with a progress bar.

        If an error or Ctrl-C ends the evaluation, the distances of all pairs before it have been yielded.

        Parameters
        ----------
        pairs : Pairs
        n_jobs : int or None, default None
            Threads: None is one, -1 all.
        verbose : bool or None, default None
            True shows a progress bar; None shows it in a terminal or notebook, if the work takes long.
        nonnegative : bool, default True
            True refuses negative numbers.
        kind : str, default "items"
            The name of the rows of ``pairs.items``, for messages.

        Raises
        ------
        DistanceCallError
            If the callable raises, or returns NaN, infinity or (if ``nonnegative``) a negative number. The error names the
            pair and has the distances evaluated so far.
        """
        parts = list(blocks(len(pairs), _BATCH if self.batch else _SINGLE))
        tasks = (delayed(self._checked)(pairs.take(part), nonnegative) for part in parts)
        results = Parallel(n_jobs=effective_n_jobs(n_jobs), prefer="threads", return_as="generator")(tasks)
        done: list[Floats] = []
        with progress_bar(len(pairs), "distances", verbose=verbose, unit="pair") as bar:
            for part, (values, failure) in zip(parts, results, strict=True):
                done.append(values)
                yield values
                if isinstance(failure, Exception):
                    raise self._failed(failure, pairs, part.start + len(values), np.concatenate(done), kind)
                if failure is not None:
                    raise failure
                bar.update(len(values))

    def _checked(self, pairs: Pairs, nonnegative: bool) -> tuple[Floats, BaseException | None]:
        """Return the distances of the pairs before the first failure, and the failure, None if there is none."""
        if not self.batch:
            return self._one_by_one(pairs, nonnegative)
        try:
            values = self(pairs.items[pairs.left], pairs.items[pairs.right])
            if values.shape != (len(pairs),):
                raise InputError(f"it returned shape {values.shape} for {len(pairs)} pairs")
        except Exception:  # a user's function may raise anything; evaluating pair by pair finds the pair that failed
            return self._one_by_one(pairs, nonnegative)
        except KeyboardInterrupt as interrupt:
            return np.empty(0), interrupt
        bad = np.flatnonzero(~np.isfinite(values) | (nonnegative & (values < 0)))
        return (values[: bad[0]], InputError(f"it returned {values[bad[0]]}")) if len(bad) else (values, None)

    def _one_by_one(self, pairs: Pairs, nonnegative: bool) -> tuple[Floats, BaseException | None]:
        done: list[float] = []
        try:
            for x, y in zip(pairs.items[pairs.left], pairs.items[pairs.right], strict=True):
                value = _only_value(self(x[None], y[None]))
                if not np.isfinite(value) or (nonnegative and value < 0):
                    raise InputError(f"it returned {value}")
                done.append(value)
        except (Exception, KeyboardInterrupt) as failure:  # `stream` raises it again, together with the pair
            return np.array(done), failure
        return np.array(done), None

    def _failed(self, failure: Exception, pairs: Pairs, position: int, distances: Floats, kind: str) -> DistanceCallError:
        i, j = (int(k) for k in pairs.index[position])
        error = DistanceCallError(
            f"{self.name} failed on {kind} {i} and {j} (pair {position} of {len(pairs)}): {_brief(failure)}. A finite number "
            f">= 0 is required; the {len(distances)} distances evaluated so far are in the attributes pairs and distances",
            (i, j), pairs.index[: len(distances)], distances,
        )  # fmt: skip
        error.__cause__ = failure
        return error


def _probe(items: Floats) -> tuple[Floats, Floats]:
    """Return the first items and the second items of a few pairs, which differ if there are different items."""
    n = _PROBE if items.shape[1] != _PROBE else _PROBE + 1  # n values must not be mistaken for n_features values
    different = np.sort(np.unique(items[:_SEARCHED], axis=0, return_index=True)[1])
    rows = different[np.arange(2 * n) % len(different)]
    return items[rows[0::2]], items[rows[1::2]]


def _values(call: Callable[..., float], pairs: Sequence[tuple[Floats, Floats]]) -> tuple[dict[int, float], Exception | None]:
    """Return the value of ``call`` by the number of its pair, for the pairs without a failure, and the first failure."""
    attempts = [_attempt(partial(call, x, y)) for x, y in pairs]
    failures = [error for _, error in attempts if error is not None]
    return {k: a for k, (a, _) in enumerate(attempts) if a is not None}, failures[0] if failures else None


def _only_value(values: Any) -> float:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (1,):
        raise InputError(f"it returned shape {array.shape} for 1 pairs")
    return float(array[0])


def _attempt(call: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """Return the value of a call and None, or None and the error that it raised."""
    try:
        return call(), None
    except ImportError:  # a missing package says nothing about the form of the function
        raise
    except Exception as error:  # a user's function may raise anything; the caller reports it
        return None, error


def _brief(error: Exception | None) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"{type(error).__name__}: {error}" if error is not None else "the wrong number of values"


class ExpensiveCalls:
    """The calls of a distance between queries and items that have been made so far.

    Parameters
    ----------
    function : callable
        Two objects to a number >= 0.
    name : str, default "distance"
        The parameter as which a user has given it, for messages.
    left : str, default "query"
        What the first object of a call is, for messages.
    right : str, default "item"
        What the second one is.
    """

    def __init__(self, function: Any, name: str = "distance", *, left: str = "query", right: str = "item") -> None:
        if not callable(function):
            raise InputError(f"{name}={function!r} must be callable: a function of two objects that returns a number >= 0")
        self.function: Callable[..., Any] = function
        self.name = name
        self.left = left
        self.right = right
        self._made: list[tuple[int, int, float]] = []  # one append a call, so that threads can share it

    def __len__(self) -> int:
        return len(self._made)

    @property
    def pairs(self) -> Integers:
        """The row numbers of the objects of every call, shape (n_calls, 2)."""
        return np.array([made[:2] for made in self._made], dtype=np.int64).reshape(-1, 2)

    @property
    def distances(self) -> Floats:
        """The results of the calls, shape (n_calls,)."""
        return np.array([made[2] for made in self._made], dtype=np.float64)

    def value(self, x: Any, y: Any, i: int, j: int) -> float:
        """Return the distance of x to y, which are row i of the left objects and row j of the right ones."""
        return self._called(lambda: (self.function(x, y), None), i, j)[0]

    def value_and_dual(self, x: Any, y: Any, i: int, j: int) -> tuple[float, Any]:
        """Return the distance, and the dual that ``function.with_dual`` returns beside it; None where it has no such method."""
        solve = getattr(self.function, "with_dual", None)
        if solve is None:
            return self.value(x, y, i, j), None
        return self._called(lambda: solve(x, y), i, j)

    def keep(self, i: int, j: int, value: float) -> None:
        """Record a distance that was called elsewhere."""
        self._made.append((i, j, value))

    def refuse(self, reason: str, i: int, j: int) -> DistanceCallError:
        """Return the error that the distance of row i to row j cannot be used, with everything that was evaluated so far."""
        return DistanceCallError(
            f"{self.name} of {self.left} {i} and {self.right} {j}: {reason}. The {len(self)} distances evaluated so far are in "
            "the attributes pairs and distances of this error",
            (i, j), self.pairs, self.distances,
        )  # fmt: skip

    def _called(self, call: Callable[[], tuple[Any, Any]], i: int, j: int) -> tuple[float, Any]:
        end_if_interrupted()
        try:
            returned = call()
        except Exception as error:  # a user's function may raise anything
            raise self.refuse(f"it raised {type(error).__name__}: {error}", i, j) from error
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.refuse(f"with_dual returned {_brief_value(returned)}; a pair (distance, dual) is required", i, j)
        value = _number_or_none(returned[0])
        if value is None:
            raise self.refuse(f"it returned {_brief_value(returned[0])}; one number is required", i, j)
        if not np.isfinite(value) or value < 0:
            raise self.refuse(f"it returned {value}; a finite number >= 0 is required", i, j)
        self._made.append((i, j, value))
        return value, returned[1]


def _number_or_none(returned: Any) -> float | None:
    """Return the result of a call as a number; None if it is not one."""
    if isinstance(returned, (str, bytes)):
        return None
    try:
        array = np.asarray(returned)
        return float(array) if array.ndim == 0 and array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        return None


def _brief_value(returned: Any) -> str:
    """Describe the result of a call in a few words."""
    shape = getattr(returned, "shape", None)
    return f"an array of shape {shape}" if shape else f"{type(returned).__name__} {repr(returned)[:40]}"


BACKENDS = ("threads", "processes")
Memo = MutableMapping[Any, float]
_TASKS = 256  # that long work is cut into, so that its bar moves
_MOST = 512  # pairs in a task
_Called = tuple[Floats, int, BaseException | None]


class CallCount:
    """Number ``n`` of calls that were answered within `counted_calls`."""

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
        The names of the first and the second member of a pair, for messages.
    known : callable or None
        From pairs of positions, shape (n, 2), to their distances, shape (n,), NaN where it knows none.
    backend : {"threads", "processes"}
        Unless `joblib.parallel_config` says otherwise.
    cache : mutable mapping or None
        Distances by pair of objects, which must be hashable or of a kind that can be pickled. They are taken to be symmetric.

    Attributes
    ----------
    n_calls : int
        The number of calls that the callable has answered.
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
        """Return the distances of ``pairs``, shape (n_pairs,); the options are those of `stream`."""
        return np.concatenate([np.empty(0), *self.stream(pairs, **options)])

    def asymmetry(self, items: Floats) -> tuple[float, float] | None:
        """Return d(x, y) and d(y, x) of the first of a few pairs of objects for which they differ, or None.

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
        """Return the distances of ``pairs``, of which the positions alone count, block by block.

        If an error or Ctrl-C ends the evaluation, the distances of all pairs before it have been yielded, and are in the cache;
        those that other threads or processes have under way are lost.

        Parameters
        ----------
        pairs : Pairs
        n_jobs : int or None, default None
            Threads or processes: None is one, -1 all.
        verbose : bool or None, default None
            True shows a progress bar; None shows it in a terminal or notebook, if the work takes long.
        nonnegative : bool, default True
            True refuses negative numbers.
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
        left, right = index.T.tolist()
        return [self._objects[i] for i in left], [self._others[j] for j in right]

    def _keys(self, index: Integers) -> Iterator[tuple[Any, Any]]:
        sides = (self._objects, self._others)
        found: list[dict[int, Any]] = [{}, {}]
        for pair in index.tolist():
            for side, at, known in zip(sides, pair, found, strict=True):
                if at not in known:
                    known[at] = object_key(side[at])
            yield found[0][pair[0]], found[1][pair[1]]

    def _remembered(self, index: Integers) -> Floats:
        """Return the distances of pairs that are known without a call, shape (n,); NaN for others."""
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
    """Begin no call after the end: joblib cancels the others, without a warning that it did."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning)
            results.close()


def _called(function: Distance, left: list[Any], right: list[Any], nonnegative: bool) -> _Called:
    """Return distances of the pairs before the first failure, the number of calls, and the failure, None if there is none."""
    done: list[float] = []
    try:
        for x, y in zip(left, right, strict=True):
            done.append(_checked_number(function(x, y), nonnegative))
    except (Exception, KeyboardInterrupt) as failure:  # `stream` raises it again, together with the pair
        return np.array(done), len(done) + 1, _sendable(failure)
    return np.array(done), len(done), None


def _checked_number(value: Any, nonnegative: bool) -> float:
    """Return the result of a distance as a number; refuse other results."""
    array = np.asarray(value) if not isinstance(value, (float, int)) else None
    if array is not None and (array.shape != () or array.dtype.kind not in "fiub"):
        given = f"an array of shape {array.shape}" if array.shape else f"{value!r:.40}"
        raise InputError(f"it returned {given}, and no number")
    number = float(value)
    if not np.isfinite(number) or (nonnegative and number < 0):
        raise InputError(f"it returned {number:g}")
    return number


def _sendable(failure: BaseException) -> BaseException:
    """Return the failure, or its words if it cannot be sent from one process to another."""
    try:
        again = pickle.loads(pickle.dumps(failure))
    except Exception:  # an error of a user may hold anything
        again = None
    return failure if type(again) is type(failure) else RuntimeError(f"{type(failure).__name__}: {failure}")
