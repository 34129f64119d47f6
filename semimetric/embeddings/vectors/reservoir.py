"""A uniform sample of a stream of rows, and their exact extremes."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..._foundation.types import Floats, Integers

__all__ = ["Reservoir"]

_ROOM = 100_000  # rows that are kept


class Reservoir:
    """The rows with the smallest of seeded random keys, one key a row as it comes, in the order of arrival.

    Whether rows come in blocks or at once, the same are kept; all of them, while there are at most ``room``.

    Parameters
    ----------
    random_state : int, RandomState or None
    room : int

    Attributes
    ----------
    rows : ndarray or csr_array of shape (min(seen, room), n_features)
        Sparse where the first block was.
    number : ndarray of int64
        How many rows had come before each.
    seen : int
        How many rows have come.
    low, high : ndarray of shape (n_features,)
        Extremes of all rows seen, without NaN; of sparse rows, of what is stored: infinite where that is nothing.
    """

    rows: Floats | sparse.csr_array
    low: Floats
    high: Floats

    def __init__(self, random_state: int | np.random.RandomState | None = 0, room: int = _ROOM) -> None:
        self._draw = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        self._room, self._keys = room, np.empty(0)
        self.number, self.seen = np.empty(0, np.int64), 0

    def add(self, items: Floats | sparse.csr_array) -> Self:
        """Take a block of rows in."""
        n = items.shape[0]
        keys = np.asarray(self._draw.random(n))
        number = self.seen + np.arange(n)
        low, high = _extremes(items)
        if self.seen:
            dense = isinstance(items, np.ndarray)
            items = np.vstack([self.rows, items]) if dense else sparse.vstack([self.rows, items], format="csr")
            keys, number = np.append(self._keys, keys), np.append(self.number, number)
            low, high = np.fmin(self.low, low), np.fmax(self.high, high)
        kept = _smallest(keys, self._room)
        self.rows = items[kept]
        self._keys, self.number = keys[kept], number[kept]
        self.low, self.high = low, high
        self.seen += n
        return self

    def columns(self) -> Iterator[tuple[Floats, Integers]]:
        """Values of every feature, those stored where rows are sparse, without NaN; and the rows that they are of.

        Where rows were left out, the extremes of all are added, of row -1.
        """
        packed = None if isinstance(self.rows, np.ndarray) else sparse.csc_array(self.rows)
        for feature in range(self.rows.shape[1]):
            if packed is None:
                values, rows = self.rows[:, feature], np.arange(len(self.rows))
            else:
                place = slice(packed.indptr[feature], packed.indptr[feature + 1])
                values, rows = packed.data[place], packed.indices[place]
            known = ~np.isnan(values)
            values, rows = values[known], rows[known]
            if self.seen > self._room and np.isfinite(self.low[feature]):
                values, rows = np.append(values, [self.low[feature], self.high[feature]]), np.append(rows, [-1, -1])
            yield values, rows


def _smallest(keys: Floats, room: int) -> Integers | slice:
    """Places of the ``room`` smallest keys, in order; all where there is room."""
    return slice(None) if len(keys) <= room else np.sort(np.argpartition(keys, room)[:room])


def _extremes(items: Floats | sparse.csr_array) -> tuple[Floats, Floats]:
    if isinstance(items, np.ndarray):
        return np.fmin.reduce(items), np.fmax.reduce(items)
    low, high = np.full(items.shape[1], np.inf), np.full(items.shape[1], -np.inf)
    np.fmin.at(low, items.indices, items.data)
    np.fmax.at(high, items.indices, items.data)
    return low, high
