"""A uniform sample of a stream of rows, together with the minimum and maximum of every feature over all rows."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..._foundation.types import Floats, Integers

_MOST_ROWS = 100_000  # the most rows that are kept


class Reservoir:
    """A sample of the rows that are added: those with the smallest random numbers, however rows are divided into blocks."""

    rows: Floats | sparse.csr_array  # (min(seen, most), n_features), in the order of addition; sparse as the first block
    # (n_features,) each: extremes of all rows that were added without NaN, of sparse rows of stored values; infinite if none
    low: Floats
    high: Floats

    def __init__(self, random_state: int | np.random.RandomState | None = 0, most: int = _MOST_ROWS) -> None:
        self._draw = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        self._most = most
        self._keys = np.empty(0)
        self.number = np.empty(0, np.int64)  # (len(rows),); the number of rows that were added before each of them
        self.seen = 0  # the number of rows that were added

    def add(self, items: Floats | sparse.csr_array) -> Self:
        """Add a block of rows."""
        n = items.shape[0]
        keys = np.asarray(self._draw.random(n))
        number = self.seen + np.arange(n)
        low, high = _extremes(items)
        if self.seen:
            dense = isinstance(items, np.ndarray)
            items = np.vstack([self.rows, items]) if dense else sparse.vstack([self.rows, items], format="csr")
            keys = np.append(self._keys, keys)
            number = np.append(self.number, number)
            low = np.fmin(self.low, low)
            high = np.fmax(self.high, high)
        kept = _smallest(keys, self._most)
        self.rows = items[kept]
        self._keys = keys[kept]
        self.number = number[kept]
        self.low = low
        self.high = high
        self.seen += n
        return self

    def columns(self) -> Iterator[tuple[Floats, Integers]]:
        """Return for every feature its stored values without NaN, and their rows, -1 for extremes outside the sample."""
        packed = None if isinstance(self.rows, np.ndarray) else sparse.csc_array(self.rows)
        for feature in range(self.rows.shape[1]):
            if packed is None:
                values, rows = self.rows[:, feature], np.arange(len(self.rows))
            else:
                place = slice(packed.indptr[feature], packed.indptr[feature + 1])
                values, rows = packed.data[place], packed.indices[place]
            known = ~np.isnan(values)
            values, rows = values[known], rows[known]
            if self.seen > self._most and np.isfinite(self.low[feature]):
                values = np.append(values, [self.low[feature], self.high[feature]])
                rows = np.append(rows, [-1, -1])
            yield values, rows


def _smallest(keys: Floats, most: int) -> Integers | slice:
    """Return the sorted positions of the ``most`` smallest keys; all if there are no more keys."""
    return slice(None) if len(keys) <= most else np.sort(np.argpartition(keys, most)[:most])


def _extremes(items: Floats | sparse.csr_array) -> tuple[Floats, Floats]:
    if isinstance(items, np.ndarray):
        return np.fmin.reduce(items), np.fmax.reduce(items)
    low, high = np.full(items.shape[1], np.inf), np.full(items.shape[1], -np.inf)
    np.fmin.at(low, items.indices, items.data)
    np.fmax.at(high, items.indices, items.data)
    return low, high
