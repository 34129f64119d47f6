"""Distances given as Python functions: called on two vectors or on two batches, and checked as they answer.

A function of two batches takes X and Y of shape (n, n_features) and returns n distances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from tqdm import tqdm

from ._errors import DistanceCallError, InputError
from ._threads import blocks
from ._types import Floats, Pairs

__all__ = ["Distance", "DistanceFunction"]

Distance: TypeAlias = Callable[[Any, Any], Any]
_PROBE = 3


@dataclass(frozen=True)
class DistanceFunction:
    """A callable, and whether it takes batches.

    Parameters
    ----------
    function : callable
    batch : bool
        True if it takes two batches, False if two vectors. `detect` finds out.
    """

    function: Distance
    batch: bool

    @classmethod
    def detect(cls, function: Distance | None, items: Floats) -> "DistanceFunction":
        """Try ``function`` on a few items: it takes batches if a batch gives the same numbers as its vectors.

        Raises
        ------
        InputError
            If it is not callable, or neither form gives numbers.
        """
        if not callable(function):
            raise InputError(f"distance={function!r} must be callable: a function of two vectors, or of two batches")
        n = _PROBE if items.shape[1] != _PROBE else _PROBE + 1  # so that (n,) cannot be taken for (n_features,)
        rows = np.arange(n) % len(items)
        left, right = items[rows], items[rows[::-1]]
        single, error = _attempt(lambda: np.array([float(function(x, y)) for x, y in zip(left, right, strict=True)]))
        whole, batch_error = _attempt(lambda: np.asarray(function(left, right), dtype=np.float64))
        if whole is not None and whole.shape == (n,) and (single is None or np.allclose(whole, single, equal_nan=True)):
            return cls(function, batch=True)
        if single is None:
            raise InputError(
                f"distance= works neither on two vectors ({_brief(error)}) nor on two batches ({_brief(batch_error)}); "
                "it must return one number for two vectors, or n numbers for two arrays (n, n_features)"
            ) from error
        return cls(function, batch=False)

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        """Distances of the rows of X to the rows of Y, shape (n,)."""
        if self.batch:
            return np.asarray(self.function(X, Y), dtype=np.float64)
        return np.array([float(self.function(x, y)) for x, y in zip(X, Y, strict=True)], dtype=np.float64)

    def evaluate(self, pairs: Pairs, *, n_jobs: int | None = None, verbose: bool = False, nonnegative: bool = True) -> Floats:
        """Distances of ``pairs``, in blocks over ``n_jobs`` threads, with a progress bar if verbose.

        Raises
        ------
        DistanceCallError
            If the callable raises or returns NaN, infinity or (if ``nonnegative``) a negative number: the error names
            the pair and carries what was evaluated so far.
        """
        size = 1024 if self.batch else 32
        parts = list(blocks(len(pairs), size))
        tasks = (delayed(self._checked)(pairs.take(part), nonnegative) for part in parts)  # type: ignore[arg-type]
        stream = Parallel(n_jobs=effective_n_jobs(n_jobs), prefer="threads", return_as="generator")(tasks)
        done: list[Floats] = []
        with tqdm(total=len(pairs), desc="distances", unit="pair", disable=not verbose) as bar:
            for part, (values, failure) in zip(parts, stream, strict=True):
                done.append(values)
                if failure is not None:
                    raise _failed(failure, pairs, part.start + len(values), np.concatenate(done))
                bar.update(len(values))
        return np.concatenate(done)

    def _checked(self, pairs: Pairs, nonnegative: bool) -> tuple[Floats, Exception | None]:
        """Distances up to the first that failed, and the failure."""
        left, right = pairs.items[pairs.left], pairs.items[pairs.right]
        try:
            values = self(left, right)
            if values.shape != (len(pairs),):
                raise InputError(f"it returned shape {values.shape} for {len(pairs)} pairs")
        except Exception as error:  # a user's code may raise anything; it is re-raised with the pair
            if len(pairs) == 1:
                return np.empty(0), error
            return self._one_by_one(pairs, nonnegative)
        bad = ~np.isfinite(values) | (nonnegative & (values < 0))
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            return values[:first], InputError(f"it returned {values[first]}")
        return values, None

    def _one_by_one(self, pairs: Pairs, nonnegative: bool) -> tuple[Floats, Exception | None]:
        done: list[Floats] = []
        for k in range(len(pairs)):
            values, failure = self._checked(pairs.take(np.array([k])), nonnegative)
            done.append(values)
            if failure is not None:
                return np.concatenate(done), failure
        return np.concatenate(done), None


def _attempt(call: Callable[[], Floats]) -> tuple[Floats | None, Exception | None]:
    try:
        return call(), None
    except Exception as error:  # the probe of a user's code; both failures are reported by the caller
        return None, error


def _brief(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}" if error is not None else "the wrong number of values"


def _failed(failure: Exception, pairs: Pairs, position: int, distances: Floats) -> DistanceCallError:
    i, j = (int(k) for k in pairs.index[position])
    error = DistanceCallError(
        f"the distance failed on items {i} and {j} (pair {position} of {len(pairs)}): {failure}. A finite number >= 0 is "
        f"required; the {len(distances)} distances evaluated so far are in the attributes pairs and distances",
        (i, j), pairs.index[: len(distances)], distances,
    )  # fmt: skip
    error.__cause__ = failure
    return error
