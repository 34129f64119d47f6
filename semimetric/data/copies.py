"""Rows that are copies of one another, so that they are evidence once, or are left out together.

Rows that repeat may be copies of a row, as in a sample with replacement. Then what is left of an item predicts its own class or
value, and its error without one row says nothing of new items. Or rows came one by one, because items do come again, as places
and categories do. A table alone does not show which it is, so `come_again` has rules of thumb (docs/mathematics.md, section
10.4). Weights play no part in them: a weight is left out with its row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from .identical_items import identities

_SEVERAL = 0.05  # of the items that repeat
_TIMES = 5.0  # rows of an item, in the mean
_EXPECTED = np.log(0.5)  # rows of an item by chance


def come_again(items: Floats, item: Integers, times: Integers) -> NDArray[np.bool_]:
    """Return True for each distinct item whose rows came one by one, and are no copies of a row, shape (n_items,).

    Rows of an item came one by one if it has several classes or values. All did

    - if a twentieth or more of the items that repeat have several;
    - if an item has five rows or more in the mean, and not all have equally many. (A sample with replacement has 1.6. A factor
      that all these numbers have is divided out: a table that stands there several times says nothing new.)

    Those of one item may have if rows coincide by chance, ``n prod_f p_f(x_f) >= 1/2`` over two columns or more, where p_f is
    the share of the items with that value.

    ``items`` (n_items, n_features) are distinct and encoded. A row is an item with one class or value: ``item`` (n_rows,) are
    the numbers of these items, and ``times`` (n_rows,) how many rows of the table each is.
    """
    n = len(items)
    several, rows = np.bincount(item, minlength=n) > 1, np.bincount(item, weights=times, minlength=n).astype(np.int64)
    repeated = rows > 1
    if not repeated.any():
        return several
    rows //= np.gcd.reduce(rows)
    if several[repeated].mean() >= _SEVERAL or (rows.mean() >= _TIMES and np.ptp(rows) > 0):
        return np.ones(n, dtype=np.bool_)
    expected, n_varied = np.full(n, np.log(n)), 0
    for column in items.T:
        _, number, counts = np.unique(column, return_inverse=True, return_counts=True)
        n_varied += len(counts) > 1
        expected += np.log(counts[number] / n)
        if n_varied > 1 and expected.max() < _EXPECTED:
            return several
    return several | ((expected >= _EXPECTED) & (n_varied > 1))


def effective_counts(weight: Floats, left_out: Floats) -> Floats:
    """Return weights of rows whose sum is the effective number of the parts that are left out, shape (n_rows,).

    With w_i / u_i parts of the weight u_i it is ``(sum_i w_i)^2 / sum_i w_i u_i`` (Kish 1965), the same for all multiples.
    """
    most = weight.max()  # so that squares do not overflow
    counts: Floats = weight / most * ((weight / most).sum() / ((weight / most) @ (left_out / most)))
    return counts


class Copies(NamedTuple):
    """The copies among rows of a table."""

    number: Integers  # (n_rows,): rows of one number have the same values and the same class or value
    repeats: NDArray[np.bool_]  # (n_rows,): True where rows `come_again`, so that each is evidence
    first: Integers  # (n_groups,): the first row of a weight > 0 of each number, in the order of the numbers
    counts: Floats  # (n_groups,): the `effective_counts` of these numbers
    rows: Integers  # (n_used,): the rows of a weight > 0 without copies that say nothing new, increasing
    scale: float  # the factor by which weights become `effective_counts`

    @classmethod
    def of(cls, items: Floats, known: NDArray[np.int64] | Floats, weight: Floats) -> Copies:
        """Return those among encoded items (n_rows, n_features) with classes or values and weights, (n_rows,)."""
        place = identities(items).number
        number = identities(np.column_stack([place, known]).astype(np.float64)).number
        used = np.flatnonzero(weight > 0)
        _, at, group, times = np.unique(number[used], return_index=True, return_inverse=True, return_counts=True)
        first = used[at]
        there, places, item = np.unique(place[first], return_index=True, return_inverse=True)
        again = come_again(items[first[places]], item, times)
        repeats = np.zeros(len(items), dtype=np.bool_)
        repeats[there] = again
        repeats = repeats[place]
        total = np.bincount(group, weights=weight[used]).astype(np.float64)
        counts = effective_counts(total, np.where(again[item], total / times, total))
        rows = np.union1d(first, used[repeats[used]])
        return cls(number, repeats, first, counts, rows, float(counts[0] / total[0]))
