"""Which of two exact scans costs less under joint groups: 4-bit columns, or the boxes of `joint_scan`.

FAISS adds up a column of 16 cells in a tenth of the time of a byte, but four intervals a feature bound a joint group loosely.
Where most of the distance is in single features the columns are enough; where it is in joint groups they name nearly all items.
Both scans answer the same, so the choice is one of time alone; it is made by counts, not by a clock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats
from .faiss_scan import IntegerTables

__all__ = ["columns_pay", "share_within"]

# Nanoseconds of the processor for a column and for a byte of an item in a scan, and for an item that is refined; see
# benchmarks/joint_search.py. Only their ratios matter.
_COLUMN, _BYTE, _REFINED = 0.08, 0.6, 200.0


def share_within(tables: IntegerTables, floor: float, codes: NDArray[np.uint8], limits: Floats) -> Floats:
    """The share of items whose bound by columns is at most the limit of each query, shape (B,).

    ``codes`` (n, n_bytes) are those of the items, two columns a byte, ``limits`` (B,) sums; ``floor`` is added to all bounds.
    """
    n_columns = tables.tables.shape[1]
    column = np.stack([codes & 15, codes >> 4], axis=-1).reshape(len(codes), -1)[:, :n_columns]
    shares = np.ones(len(limits))
    for q in np.flatnonzero(~tables.flat):
        sums = tables.tables[q][np.arange(n_columns), column].sum(axis=1, dtype=np.float64)  # No float32 holds every limit.
        shares[q] = (sums <= tables.limit(int(q), limits[q] - floor)).mean()
    return shares


def columns_pay(n: int, n_columns: int, n_bytes: int, by_columns: float, by_boxes: float) -> bool:
    """Whether a scan of columns is expected to cost less, if so many of the n items are refined after either scan."""
    return n * n_columns * _COLUMN + by_columns * _REFINED < n * n_bytes * _BYTE + by_boxes * _REFINED
