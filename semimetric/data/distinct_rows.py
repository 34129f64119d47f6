"""Rows that are given several times as one row with the sum of their weights, so that weights equal repetition.

Whatever is learned from distinct rows and their weights is the same for a row of weight 3 and for the row given three times,
and, as the order is that of the hashes of items (`identical_items`) and then of targets, for the same rows in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.types import Floats, Integers
from .identical_items import identities, surely_differ

__all__ = ["DistinctRows", "distinct_rows"]

_FEW_FEATURES = 2  # in which rows mostly differ already, where any is a measured number


class DistinctRows(NamedTuple):
    """The rows that stand for all rows of a weight > 0.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        Their numbers, in the order of the hashes of their items; rows of one item in the order of their targets.
    weight : ndarray of shape (m,)
        The sum of the weights of all rows that are equal to each.
    """

    rows: Integers
    weight: Floats


def distinct_rows(
    items: Floats | sparse.csr_array, targets: NDArray[Any], weight: Floats, *, always: bool = False
) -> DistinctRows | None:
    """The distinct rows of ``items``, each together with its target; None if all rows count alike and none is repeated.

    Parameters
    ----------
    items : ndarray of float64, or csr_array, shape (n, n_features)
    targets : ndarray of numbers, shape (n,)
        Items with different targets are different rows.
    weight : ndarray of shape (n,)
        Of which one at least is > 0.
    always : bool
        Whether rows that count alike, and none of which is repeated, are ordered too, so that other weights leave the order.
    """
    may_be_left = not always and np.ptp(weight) == 0
    if may_be_left and isinstance(items, np.ndarray):
        if surely_differ(np.column_stack([items[:, :_FEW_FEATURES], targets])):
            return None
    _, number, hashes = identities(items)
    used = np.flatnonzero(weight > 0)
    item = hashes[number[used]]
    order = np.lexsort((targets[used], item))
    rows, item = used[order], item[order]
    is_first = np.append(True, (item[1:] != item[:-1]) | (np.diff(targets[rows]) != 0))
    if may_be_left and is_first.all():
        return None
    return DistinctRows(rows[is_first], np.add.reduceat(weight[rows], np.flatnonzero(is_first)))
