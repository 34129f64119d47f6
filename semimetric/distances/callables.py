"""Distances given as Python functions: called on two vectors or on two batches, and checked as they answer.

A function of two batches takes X and Y of shape (n, n_features) and returns n distances.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from tqdm import tqdm

from .._foundation.errors import DistanceCallError, InputError
from .._foundation.threads import blocks
from .._foundation.types import Floats, Pairs
from ..data.schema import Schema

__all__ = ["Distance", "DistanceFunction"]

Distance: TypeAlias = Callable[[Any, Any], Any]
T = TypeVar("T")
_PROBE = 3
_BATCH, _SINGLE = 1024, 32  # pairs a task
_SEARCHED = 256  # rows searched for different items


@dataclass(frozen=True)
class DistanceFunction:
    """A callable, and whether it takes batches.

    Parameters
    ----------
    function : callable
    batch : bool
        True if it takes two batches, False if two vectors. `detect` finds out.
    name : str
        The parameter that it was given as, for messages.
    schema : Schema or None
        Of the items: the callable sees the values that it decodes, objects where there are categories.
    """

    function: Distance
    batch: bool
    name: str = "distance"
    schema: Schema | None = None

    @classmethod
    def detect(
        cls, function: Distance | None, items: Floats, *, name: str = "distance", schema: Schema | None = None
    ) -> "DistanceFunction":
        """Try ``function`` on a few pairs of different items: it takes batches if a batch gives the numbers of its vectors.

        A pair on which it fails says nothing of its form: it is passed over, and `evaluate` names it if it is drawn.

        Raises
        ------
        InputError
            If it is not callable, or neither form gives numbers on any of the pairs.
        ImportError
            That of the function, as it is: a package is missing.
        """
        if not callable(function):
            raise InputError(f"{name}={function!r} must be callable: a function of two vectors, or of two batches")
        schema = None if schema is None or schema.plain else schema
        left, right = (side if schema is None else schema.decode(side) for side in _probe(items))
        pairs = list(zip(left, right, strict=True))
        single, error = _answers(lambda x, y: float(function(x, y)), pairs)
        alone, batch_error = ({}, None) if single else _answers(lambda x, y: _one(function(x[None], y[None])), pairs)
        rows = np.array(sorted(single or alone or range(len(pairs))))
        whole, whole_error = _attempt(lambda: np.asarray(function(left[rows], right[rows]), dtype=np.float64))
        known = [single.get(k, np.nan) for k in rows.tolist()]
        if whole is not None and whole.shape == (len(rows),) and (not single or np.allclose(whole, known, equal_nan=True)):
            return cls(function, True, name, schema)
        if not single:
            raise InputError(
                f"{name} works neither on two vectors ({_brief(error)}) nor on two batches "
                f"({_brief(batch_error or whole_error)}); it must return one number for two vectors, or n numbers for two "
                "arrays (n, n_features)"
            ) from error
        return cls(function, False, name, schema)

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        """Distances of the rows of X to the rows of Y, shape (n,)."""
        if self.schema is not None:
            X, Y = self.schema.decode(X), self.schema.decode(Y)
        if self.batch:
            return np.asarray(self.function(X, Y), dtype=np.float64)
        return np.array([float(self.function(x, y)) for x, y in zip(X, Y, strict=True)], dtype=np.float64)

    def asymmetry(self, items: Floats) -> tuple[float, float] | None:
        """d(x, y) and d(y, x) of the first of a few pairs of items where they differ; None if there is none."""
        left, right = _probe(items)
        there, _ = _attempt(lambda: self(left, right))
        back, _ = _attempt(lambda: self(right, left))
        if there is None or back is None or there.shape != back.shape:
            return None  # `evaluate` will say why
        differ = np.flatnonzero(~np.isclose(there, back, rtol=1e-6, equal_nan=True))
        return (float(there[differ[0]]), float(back[differ[0]])) if len(differ) else None

    def evaluate(self, pairs: Pairs, **options: Any) -> Floats:
        """Distances of ``pairs``, shape (n_pairs,): all blocks of `stream`."""
        return np.concatenate([np.empty(0), *self.stream(pairs, **options)])

    def stream(
        self, pairs: Pairs, *, n_jobs: int | None = None, verbose: bool = False, nonnegative: bool = True, kind: str = "items"
    ) -> Iterator[Floats]:
        """Distances of ``pairs``, block by block over ``n_jobs`` threads, with a progress bar if verbose.

        Whatever ends it, every distance that was evaluated in order before comes first.

        Parameters
        ----------
        pairs : Pairs
        n_jobs : int or None, default None
            Threads: None is one, -1 all.
        verbose : bool, default False
            Whether a progress bar is shown.
        nonnegative : bool, default True
            Whether negative numbers are refused.
        kind : str, default "items"
            What the rows of ``pairs.items`` are, for messages.

        Raises
        ------
        DistanceCallError
            If the callable raises or returns NaN, infinity or (if ``nonnegative``) a negative number: the error names
            the pair and carries what was evaluated so far.
        """
        parts = list(blocks(len(pairs), _BATCH if self.batch else _SINGLE))
        tasks = (delayed(self._checked)(pairs.take(part), nonnegative) for part in parts)  # type: ignore[arg-type]
        results = Parallel(n_jobs=effective_n_jobs(n_jobs), prefer="threads", return_as="generator")(tasks)
        done: list[Floats] = []
        with tqdm(total=len(pairs), desc="distances", unit="pair", disable=not verbose) as bar:
            for part, (values, failure) in zip(parts, results, strict=True):
                done.append(values)
                yield values
                if isinstance(failure, Exception):
                    raise self._failed(failure, pairs, part.start + len(values), np.concatenate(done), kind)
                if failure is not None:
                    raise failure
                bar.update(len(values))

    def _checked(self, pairs: Pairs, nonnegative: bool) -> tuple[Floats, BaseException | None]:
        """Distances up to the first that failed, and the failure."""
        if not self.batch:
            return self._one_by_one(pairs, nonnegative)
        try:
            values = self(pairs.items[pairs.left], pairs.items[pairs.right])
            if values.shape != (len(pairs),):
                raise InputError(f"it returned shape {values.shape} for {len(pairs)} pairs")
        except Exception:  # a user's code may raise anything; pair by pair finds the one
            return self._one_by_one(pairs, nonnegative)
        except KeyboardInterrupt as interrupt:
            return np.empty(0), interrupt
        bad = np.flatnonzero(~np.isfinite(values) | (nonnegative & (values < 0)))
        return (values[: bad[0]], InputError(f"it returned {values[bad[0]]}")) if len(bad) else (values, None)

    def _one_by_one(self, pairs: Pairs, nonnegative: bool) -> tuple[Floats, BaseException | None]:
        done: list[float] = []
        try:
            for x, y in zip(pairs.items[pairs.left], pairs.items[pairs.right], strict=True):
                value = _one(self(x[None], y[None]))
                if not np.isfinite(value) or (nonnegative and value < 0):
                    raise InputError(f"it returned {value}")
                done.append(value)
        except (Exception, KeyboardInterrupt) as failure:  # a user's code, re-raised with the pair; or the user
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
    """Both sides of a few pairs of items that differ, if any do."""
    n = _PROBE if items.shape[1] != _PROBE else _PROBE + 1  # so that (n,) cannot be taken for (n_features,)
    different = np.sort(np.unique(items[:_SEARCHED], axis=0, return_index=True)[1])
    rows = different[np.arange(2 * n) % len(different)]
    return items[rows[0::2]], items[rows[1::2]]


def _answers(call: Callable[..., float], pairs: Sequence[tuple[Floats, Floats]]) -> tuple[dict[int, float], Exception | None]:
    """The answers by the number of their pair, where there are any, and the first failure."""
    attempts = [_attempt(partial(call, x, y)) for x, y in pairs]
    failures = [error for _, error in attempts if error is not None]
    return {k: a for k, (a, _) in enumerate(attempts) if a is not None}, failures[0] if failures else None


def _one(values: Any) -> float:
    """The number in the answer to a batch of one pair."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (1,):
        raise InputError(f"it returned shape {array.shape} for 1 pairs")
    return float(array[0])


def _attempt(call: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return call(), None
    except ImportError:  # a package is missing, whatever the form
        raise
    except Exception as error:  # the probe of a user's code; the caller reports failures
        return None, error


def _brief(error: Exception | None) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"{type(error).__name__}: {error}" if error is not None else "the wrong number of values"
