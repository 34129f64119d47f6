"""The nearest items by a matrix of distances."""

import numpy as np

from .._foundation.types import Floats, Integers

__all__ = ["nearest_columns"]


def nearest_columns(distances: Floats, k: int) -> tuple[Floats, Integers]:
    """The k least entries of every row, increasing, and their columns, both of shape (n, k), or of all where there are fewer.

    Equal entries are in the order of their columns; which of those that are equal to the k-th are among the k is left open.

    Parameters
    ----------
    distances : ndarray of shape (n, n_items)
    k : int
    """
    k = min(k, distances.shape[1])
    columns = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
    found = np.take_along_axis(distances, columns, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(columns, order, axis=1)
