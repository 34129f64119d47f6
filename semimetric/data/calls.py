"""One caller of the distances that users give as Python functions: it checks values, counts calls and reports failures."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from time import perf_counter
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed

from .._foundation.errors import DistanceCallError, InputError
from .._foundation.progress import progress_bar
from .._foundation.threads import blocks, end_if_interrupted, thread_count
from .._foundation.types import Floats, Integers, Pairs
from .object_lists import Objects, object_key
from .schema import Schema

Distance: TypeAlias = Callable[[Any, Any], Any]
Form: TypeAlias = Literal["vectors", "batches", "objects"]
Memo = MutableMapping[Any, float]
BACKENDS = ("threads", "processes")
T = TypeVar("T")
_PROBE = 3  # pairs on which a function is tried
_SEARCHED = 256  # rows among which different items are looked for
_BATCH = 1024  # pairs in a task of a function of batches
_SINGLE = 32  # pairs in a task of a function of vectors
_ROUNDING = 1e-9  # a negative number as small may be meant as 0
_TASKS = 256  # tasks into which calls on objects are cut, so that a bar moves
_MOST = 512  # pairs in a task of a function of objects


class CallLog:
    """The number ``n`` of calls that were answered, and the values of those that were made one by one."""

    def __init__(self) -> None:
        self._streamed = 0
        self.seconds = 0.0  # that the function took for distances that were streamed, without what is done around it
        self._made: list[tuple[int, int, float]] = []  # one append a call, so that threads can share it

    @property
    def n(self) -> int:
        """The number of calls."""
        return self._streamed + len(self._made)

    @property
    def pairs(self) -> Integers:
        """The row numbers of the objects of every single call, shape (n_single, 2)."""
        return np.array([made[:2] for made in self._made], dtype=np.int64).reshape(-1, 2)

    @property
    def distances(self) -> Floats:
        """The results of the single calls, shape (n_single,)."""
        return np.array([made[2] for made in self._made], dtype=np.float64)

    def record(self, i: int, j: int, value: float) -> None:
        """Record the result of a single call, which may have been made elsewhere."""
        self._made.append((i, j, value))

    def add(self, n_calls: int, seconds: float) -> None:
        """Count calls of which the caller has the values."""
        self._streamed += n_calls
        self.seconds += seconds


_LOG: ContextVar[CallLog | None] = ContextVar("_LOG", default=None)


@contextmanager
def counted_calls() -> Iterator[CallLog]:
    """Count the calls of every `UserDistance` that streams distances within this, in this thread."""
    log = CallLog()
    token = _LOG.set(log)
    try:
        yield log
    finally:
        _LOG.reset(token)


class FirstAnswers(NamedTuple):
    """Distances of a few pairs of different items, each of shape (n,)."""

    there: Floats
    back: Floats  # in the other order
    own: Floats  # of the first items to themselves
    again: Floats  # of the same pairs, called once more if both orders differ


@dataclass(frozen=True)
class UserDistance:
    """A Python function of two vectors, of two batches or of two objects: checked, counted, called once for a pair.

    A function of two batches takes X and Y of shape (n, n_features) and returns n distances.
    """

    function: Distance
    form: Form = "objects"
    schema: Schema | None = None  # of encoded vectors, whose `arguments` are handed to the function
    objects: Objects = field(default=(), repr=False)  # the first members of pairs of objects
    others: Objects | None = field(default=None, repr=False)  # the second members; None takes ``objects``
    kinds: tuple[str, str] = ("object", "object")  # the names of both members, for messages
    known: Callable[[Integers], Floats] | None = None  # pairs (n, 2) to distances (n,), NaN where it knows none
    cache: Memo | None = None  # distances by pair of objects, taken to be symmetric
    backend: str = "threads"  # or "processes", unless `joblib.parallel_config` says otherwise
    name: str = "distance"  # the parameter as which a user has given the function, for messages
    calls: CallLog = field(default_factory=CallLog, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"{self.name}={self.function!r} must be callable: a function of two objects that returns a number >= 0"
            )
        if self.cache is not None and not (hasattr(self.cache, "__setitem__") and hasattr(self.cache, "get")):
            raise InputError(f"cache={self.cache!r} must be a mapping that can be written to, such as an empty dict")

    @classmethod
    def of_vectors(
        cls, function: Distance | None, items: Floats, *, name: str = "distance", schema: Schema | None = None
    ) -> Self:
        """Return the caller of a function of vectors or batches, which a few pairs of different items show.

        It takes batches if a batch gives the same numbers as its vectors one by one. A pair on which it fails does not count;
        `stream` names it later. The error of a missing package is raised, as is one if no pair gives a number in either form.
        """
        if not callable(function):
            raise InputError(f"{name}={function!r} must be callable: a function of two vectors, or of two batches")
        schema = None if schema is None or schema.plain else schema
        left, right = (side if schema is None else schema.arguments(side) for side in _probe(items))
        pairs = list(zip(left, right, strict=True))
        of_vectors, error = _values(lambda x, y: float(function(x, y)), pairs)
        of_batches_of_one: dict[int, float] = {}
        one_error = None
        if not of_vectors:
            of_batches_of_one, one_error = _values(lambda x, y: _only_value(function(x[None], y[None])), pairs)
        rows = np.array(sorted(of_vectors or of_batches_of_one or range(len(pairs))))
        of_batch, batch_error = _attempt(lambda: np.asarray(function(left[rows], right[rows]), dtype=np.float64))
        options: dict[str, Any] = {"schema": schema, "kinds": ("item", "item"), "name": name}
        if of_batch is not None and of_batch.shape == (len(rows),):
            known = [of_vectors.get(k, np.nan) for k in rows.tolist()]
            if not of_vectors or np.allclose(of_batch, known, equal_nan=True):
                return cls(function, "batches", **options)
        if not of_vectors:
            raise InputError(
                f"{name} works neither on two vectors ({_brief(error)}) nor on two batches "
                f"({_brief(one_error or batch_error)}); it must return one number for two vectors, or n numbers for two "
                "arrays (n, n_features)"
            ) from error
        return cls(function, "vectors", **options)

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        """Return the distances of the rows of X to the same rows of Y, unchecked: shape (n,)."""
        if self.schema is not None:
            X, Y = self.schema.arguments(X), self.schema.arguments(Y)
        if self.form == "batches":
            return np.asarray(self.function(X, Y), dtype=np.float64)
        return np.array([float(self.function(x, y)) for x, y in zip(X, Y, strict=True)], dtype=np.float64)

    def first_answers(self, items: Floats) -> FirstAnswers | None:
        """Call the distance of a few pairs of different items in both orders, and of items to themselves; None if it fails.

        ``items``, shape (n_items, n_features), are the features of objects.
        """
        if self.form == "objects":
            return self._first_answers_of_objects(items)
        left, right = _probe(items)
        sides = ((left, right), (right, left), (left, left))
        answers = [found for pair in sides if (found := _attempt(partial(self, *pair))[0]) is not None]
        if len(answers) < len(sides) or any(found.shape != (len(left),) for found in answers):
            return None  # `stream` will report the failure
        there, back, own = answers
        return FirstAnswers(there, back, own, there if _equal(there, back) else self(left, right))

    def unchanged_by(self, items: Floats, change: Callable[[Floats], Floats]) -> bool:
        """Return True if a change of one side of a few pairs of items leaves all their distances as they are.

        Distances that are all the same say nothing, and neither do functions that fail on what is changed.
        """
        left, right = _probe(items)
        before, after = (_attempt(partial(self, side, right))[0] for side in (left, change(left)))
        return before is not None and after is not None and _equal(before, after) and float(np.ptp(before)) > 0

    def _first_answers_of_objects(self, items: Floats) -> FirstAnswers | None:
        rows = np.sort(np.unique(items, axis=0, return_index=True)[1])[: 2 * _PROBE]
        left, right = rows[0 : len(rows) // 2 * 2 : 2], rows[1::2]

        def called(one: Integers, other: Integers) -> Floats:
            made = _evaluated(self.function, self.form, *self._members(np.column_stack([one, other])), False)
            self._count(made)
            if isinstance(made.failure, KeyboardInterrupt):
                raise made.failure
            return made.distances

        there, back, own = (called(*sides) for sides in ((left, right), (right, left), (left, left)))
        if not 0 < len(left) == len(there) == len(back) == len(own):
            return None
        return FirstAnswers(there, back, own, there if _equal(there, back) else called(left, right))

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
        kind: str = "",
        bar: Any = None,
    ) -> Iterator[Floats]:
        """Yield the distances of ``pairs``, block by block, computed by ``n_jobs`` threads or processes.

        Whatever ends the evaluation, the distances before it have been yielded, and are in the cache. A `DistanceCallError`
        names the first pair whose result is not a finite number (>= 0 if ``nonnegative``), as two members of a ``kind``.
        ``bar`` is a progress bar that is shown already; of pairs of objects the positions alone count.
        """
        index, objects = pairs.index, self.form == "objects"
        values = self._remembered(index)
        parts = list(blocks(len(index), self._block(len(index))))
        missing = [part.start + np.flatnonzero(np.isnan(values[part])) for part in parts]
        members = ((self._members(index[rows]) if objects else self._decoded(pairs, rows)) for rows in missing if len(rows))
        tasks = (delayed(_evaluated)(self.function, self.form, *both, nonnegative) for both in members)
        results = Parallel(n_jobs=thread_count(n_jobs), prefer=self.backend, return_as="generator")(tasks)
        shown = progress_bar(len(index), "distances", verbose=verbose, unit="pair") if bar is None else nullcontext(bar)
        with _ended(results), shown as steps:
            for part, rows in zip(parts, missing, strict=True):
                made = next(results) if len(rows) else _Evaluated(np.empty(0), 0, None, 0.0)
                self._count(made)
                found, failure = made.distances, made.failure
                values[rows[: len(found)]] = found
                if self.cache is not None:
                    for key, value in zip(self._keys(index[rows[: len(found)]]), found.tolist(), strict=True):
                        self.cache[key] = value
                end = part.stop if failure is None else int(rows[len(found)])
                yield values[part.start : end]
                if isinstance(failure, Exception):
                    raise self._failed(failure, index, values[:end], kind) from failure
                if failure is not None:
                    raise failure
                steps.update(end - part.start)

    def one(self, x: Any, y: Any, i: int, j: int) -> float:
        """Return the distance of x to y, rows i and j of their sequences, and record it in ``calls``."""
        return self._once(lambda: (self.function(x, y), None), i, j)[0]

    def one_with_dual(self, x: Any, y: Any, i: int, j: int) -> tuple[float, Any]:
        """Return `one`, and the dual that ``function.with_dual`` returns beside it; None where it has no such method."""
        solve = getattr(self.function, "with_dual", None)
        return (self.one(x, y, i, j), None) if solve is None else self._once(lambda: solve(x, y), i, j)

    def _once(self, call: Callable[[], tuple[Any, Any]], i: int, j: int) -> tuple[float, Any]:
        end_if_interrupted()
        try:
            returned = call()
        except Exception as error:  # a user's function may raise anything
            raise self.refuse(f"it raised {type(error).__name__}: {error}", i, j) from error
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.refuse(f"with_dual returned {_brief_value(returned)}; a pair (distance, dual) is required", i, j)
        value = _number(returned[0])
        if value is None:
            raise self.refuse(f"it returned {_brief_value(returned[0])}; one number is required", i, j)
        if not isfinite(value) or value < 0:
            raise self.refuse(f"it returned {value}; a finite number >= 0 is required{_if_rounded(value)}", i, j)
        self.calls.record(i, j, value)
        return value, returned[1]

    def refuse(self, reason: str, i: int, j: int) -> DistanceCallError:
        """Return the error that the distance of row i to row j cannot be used, with every single call so far."""
        problem = f"{self.name} of {self.kinds[0]} {i} and {self.kinds[1]} {j}: {reason}. The"
        return _call_error(problem, (i, j), self.calls.pairs, self.calls.distances, " of this error")

    def _failed(self, failure: Exception, index: Integers, distances: Floats, kind: str) -> DistanceCallError:
        done, (one, other) = len(distances), self.kinds
        i, j = (int(k) for k in index[done])
        named = f"{kind or one + 's'} {i} and {j}" if one == other else f"{one} {i} and {other} {j}"
        problem = f"{self.name} failed on {named} (pair {done} of {len(index)}): {_brief(failure)}. A finite number >= 0 is"
        return _call_error(f"{problem} required; the", (i, j), index[:done], distances.copy())

    def _block(self, n_pairs: int) -> int:
        if self.form == "objects":
            return int(np.clip(n_pairs // _TASKS, 1, _MOST))
        return _BATCH if self.form == "batches" else _SINGLE

    def _members(self, index: Integers) -> tuple[list[Any], list[Any]]:
        others = self.objects if self.others is None else self.others
        left, right = index.T.tolist()
        return [self.objects[i] for i in left], [others[j] for j in right]

    def _decoded(self, pairs: Pairs, rows: Integers) -> tuple[Floats, Floats]:
        left, right = pairs.items[pairs.left[rows]], pairs.items[pairs.right[rows]]
        return (left, right) if self.schema is None else (self.schema.arguments(left), self.schema.arguments(right))

    def _count(self, made: _Evaluated) -> None:
        self.calls.add(made.n_calls, made.seconds)
        if (log := _LOG.get()) is not None:
            log.add(made.n_calls, made.seconds)

    def _keys(self, index: Integers) -> Iterator[tuple[Any, Any]]:
        sides = (self.objects, self.objects if self.others is None else self.others)
        found: list[dict[int, Any]] = [{}, {}]
        for pair in index.tolist():
            for side, at, known in zip(sides, pair, found, strict=True):
                if at not in known:
                    known[at] = object_key(side[at])
            yield found[0][pair[0]], found[1][pair[1]]

    def _remembered(self, index: Integers) -> Floats:
        """Return the distances of pairs that are known without a call, shape (n,); NaN for others."""
        values = np.full(len(index), np.nan) if self.known is None else self.known(index)
        if self.cache is not None:
            for k, (a, b) in enumerate(self._keys(index)):
                if np.isnan(values[k]):
                    kept = self.cache.get((a, b))
                    kept = self.cache.get((b, a)) if kept is None else kept
                    values[k] = np.nan if kept is None else kept
        return values


def _call_error(problem: str, pair: tuple[int, int], pairs: Integers, distances: Floats, ending: str = "") -> DistanceCallError:
    message = f"{problem} {len(distances)} distances evaluated so far are in the attributes pairs and distances{ending}"
    return DistanceCallError(message, pair, pairs, distances)


@contextmanager
def _ended(results: Any) -> Iterator[None]:
    """Begin no call after the end: joblib cancels the others, without a warning that it did."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning)
            results.close()


class _Evaluated(NamedTuple):
    """Distances that calls for some pairs gave, and how they ended."""

    distances: Floats  # of the pairs before the first failure
    n_calls: int
    failure: BaseException | None
    seconds: float  # of the calls


def _evaluated(function: Distance, form: Form, left: Sequence[Any], right: Sequence[Any], nonnegative: bool) -> _Evaluated:
    """Call the function for pairs until one fails."""
    started = perf_counter()
    if form == "batches":
        try:
            values = _values_of_batch(function, left, right)
        except KeyboardInterrupt as interrupt:
            return _Evaluated(np.empty(0), 0, interrupt, 0.0)
        if values is not None:
            seconds = perf_counter() - started
            bad = np.flatnonzero(~np.isfinite(values) | (nonnegative & (values < 0)))
            failed = InputError(f"it returned {values[bad[0]]}{_if_rounded(values[bad[0]])}") if len(bad) else None
            return _Evaluated(values[: bad[0]] if len(bad) else values, len(values), failed, seconds)
    done: list[float] = []
    try:
        for x, y in zip(left, right, strict=True):
            done.append(_value(function, form, x, y, nonnegative))
    except (Exception, KeyboardInterrupt) as failure:  # `stream` raises it again, together with the pair
        sent = _sendable(failure) if form == "objects" else failure
        return _Evaluated(np.array(done), len(done) + 1, sent, perf_counter() - started)
    return _Evaluated(np.array(done), len(done), None, perf_counter() - started)


def _values_of_batch(function: Distance, left: Sequence[Any], right: Sequence[Any]) -> Floats | None:
    """Return the values of one call, or None if it fails: calls pair by pair then find the pair."""
    try:
        values = np.asarray(function(left, right), dtype=np.float64)
    except Exception:  # a user's function may raise anything
        return None
    return values if values.shape == (len(left),) else None


def _value(function: Distance, form: Form, x: Any, y: Any, nonnegative: bool) -> float:
    if form == "objects":
        returned = function(x, y)
        number = _number(returned)
        if number is None:
            shape = getattr(returned, "shape", None)
            raise InputError(f"it returned {f'an array of shape {shape}' if shape else f'{returned!r:.40}'}, and no number")
    else:
        number = float(function(x, y)) if form == "vectors" else _only_value(function(x[None], y[None]))
    if not np.isfinite(number) or (nonnegative and number < 0):
        returned = f"{number:g}" if form == "objects" else f"{number}"
        raise InputError(f"it returned {returned}{_if_rounded(number)}")
    return number


def _if_rounded(number: float) -> str:
    """Return what to do about a number that rounding may have left below 0."""
    return ": return max(value, 0.0) if that is rounding" if -_ROUNDING < number < 0.0 else ""


def _number(returned: Any) -> float | None:
    """Return the result of a call as a number; None if it is not one."""
    try:
        array = np.asarray(returned) if not isinstance(returned, (float, int)) else None
        return float(returned) if array is None or (array.ndim == 0 and array.dtype.kind in "biuf") else None
    except (TypeError, ValueError, OverflowError):
        return None


def _only_value(values: Any) -> float:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (1,):
        raise InputError(f"it returned shape {array.shape} for 1 pairs")
    return float(array[0])


def _sendable(failure: BaseException) -> BaseException:
    """Return the failure, or its words if it cannot be sent from one process to another."""
    try:
        again = pickle.loads(pickle.dumps(failure))
    except Exception:  # an error of a user may hold anything
        again = None
    return failure if type(again) is type(failure) else RuntimeError(f"{type(failure).__name__}: {failure}")


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


def _equal(one: Floats, other: Floats) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-6, equal_nan=True)


def _attempt(call: Callable[[], T]) -> tuple[T | None, Exception | None]:
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


def _brief_value(returned: Any) -> str:
    shape = getattr(returned, "shape", None)
    return f"an array of shape {shape}" if shape else f"{type(returned).__name__} {repr(returned)[:40]}"
