"""Importances of features: their mean shares in distances."""

from __future__ import annotations

import numpy as np

from .._foundation.types import Floats, Integers
from .semimetric import Semimetric

__all__ = ["MOST_PAIRS", "importances"]

MOST_PAIRS = 20_000  # pairs over which shares are averaged


def importances(d: Semimetric, items: Floats, pairs: Integers) -> Floats:
    """The mean share of every raw feature in the distances of pairs, shape (n_features,), summing to 1.

    The shares of a pair are those of `Semimetric.contributions` by features. Without a pair at a distance all are 0.

    Parameters
    ----------
    d : Semimetric
        Without base distances.
    items : ndarray of shape (n_items, n_features)
        The items, encoded by `Schema.encode`.
    pairs : ndarray of shape (n_pairs, 2)
        The row numbers of the items of each pair.
    """
    pairs = pairs[:: max(len(pairs) // MOST_PAIRS, 1)]
    parts = d.contributions_of_encoded(items[pairs[:, 0]], items[pairs[:, 1]], by="features")
    total = parts.sum(axis=1)
    apart = total > 0
    return (parts[apart] / total[apart, None]).mean(axis=0) if apart.any() else np.zeros(d.n_features)
