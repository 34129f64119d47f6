"""Distances that users give as Python functions, of two vectors or of two batches, and checks of the values they return.

A function of two batches takes X and Y of shape (n, n_features) and returns n distances.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from .._foundation.errors import DistanceCallError, InputError
from .._foundation.progress import progress_bar
from .._foundation.threads import blocks
from .._foundation.types import Floats, Pairs
from ..data.schema import Schema

__all__ = ["Distance", "DistanceFunction"]

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
    ) -> "DistanceFunction":
        """The function, tried on a few pairs of different items to find out whether it takes batches.

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
        """The distances of the rows of X to the same rows of Y, shape (n,)."""
        if self.schema is not None:
            X, Y = self.schema.decode(X), self.schema.decode(Y)
        if self.batch:
            return np.asarray(self.function(X, Y), dtype=np.float64)
        return np.array([float(self.function(x, y)) for x, y in zip(X, Y, strict=True)], dtype=np.float64)

    def asymmetry(self, items: Floats) -> tuple[float, float] | None:
        """d(x, y) and d(y, x) of the first of a few pairs of items for which they differ; None if there is no such pair."""
        left, right = _probe(items)
        there, _ = _attempt(lambda: self(left, right))
        back, _ = _attempt(lambda: self(right, left))
        if there is None or back is None or there.shape != back.shape:
            return None  # `evaluate` will report the failure
        differ = np.flatnonzero(~np.isclose(there, back, rtol=1e-6, equal_nan=True))
        return (float(there[differ[0]]), float(back[differ[0]])) if len(differ) else None

    def evaluate(self, pairs: Pairs, **options: Any) -> Floats:
        """The distances of ``pairs``, shape (n_pairs,); the options are those of `stream`."""
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
        """The distances of ``pairs``, block by block, computed by ``n_jobs`` threads, with a progress bar.

        If an error or Ctrl-C ends the evaluation, the distances of all pairs before it have been yielded.

        Parameters
        ----------
        pairs : Pairs
        n_jobs : int or None, default None
            Threads: None is one, -1 all.
        verbose : bool or None, default None
            Whether a progress bar is shown; None shows it to those who look, if it takes long.
        nonnegative : bool, default True
            Whether negative numbers are refused.
        kind : str, default "items"
            What the rows of ``pairs.items`` are, for messages.

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
        """The distances of the pairs before the first failure, and the failure, None if there is none."""
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
        """The values of `_checked`, evaluated pair by pair."""
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
    """The first items and the second items of a few pairs, which differ if there are different items."""
    n = _PROBE if items.shape[1] != _PROBE else _PROBE + 1  # n values must not be mistaken for n_features values
    different = np.sort(np.unique(items[:_SEARCHED], axis=0, return_index=True)[1])
    rows = different[np.arange(2 * n) % len(different)]
    return items[rows[0::2]], items[rows[1::2]]


def _values(call: Callable[..., float], pairs: Sequence[tuple[Floats, Floats]]) -> tuple[dict[int, float], Exception | None]:
    """The value of ``call`` by the number of its pair, for the pairs without a failure, and the first failure."""
    attempts = [_attempt(partial(call, x, y)) for x, y in pairs]
    failures = [error for _, error in attempts if error is not None]
    return {k: a for k, (a, _) in enumerate(attempts) if a is not None}, failures[0] if failures else None


def _only_value(values: Any) -> float:
    """The one number that a function has returned for a batch of one pair."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (1,):
        raise InputError(f"it returned shape {array.shape} for 1 pairs")
    return float(array[0])


def _attempt(call: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """The value of a call and None, or None and the error that it raised."""
    try:
        return call(), None
    except ImportError:  # a missing package says nothing about the form of the function
        raise
    except Exception as error:  # a user's function may raise anything; the caller reports it
        return None, error


def _brief(error: Exception | None) -> str:
    """The error in a few words, for a message."""
    if isinstance(error, InputError):
        return str(error)
    return f"{type(error).__name__}: {error}" if error is not None else "the wrong number of values"
