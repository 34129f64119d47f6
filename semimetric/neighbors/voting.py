"""Votes of neighbours: every neighbour votes for its class, with the weight 1 or with one that falls with its distance."""

import numpy as np

from .._foundation.types import Floats, Integers
from .._foundation.validation import check_choice

__all__ = ["counted_weights", "nearness", "shares"]


def nearness(distances: Floats, weights: str) -> Floats:
    """The weight of every neighbour's vote, shape (n, k): 1, or 1 / distance.

    Neighbours at distance 0 vote alone. Where all are infinitely far, because distances overflow, all have the weight 1.
    """
    check_choice("weights", weights, ("uniform", "distance"))
    if weights == "uniform":
        return np.ones_like(distances)
    coincides = distances == 0
    with np.errstate(divide="ignore"):
        weight = np.where(coincides.any(axis=1, keepdims=True), coincides.astype(np.float64), 1.0 / distances)
    return np.where(weight.any(axis=1, keepdims=True), weight, 1.0)


def counted_weights(weight: Floats, n_neighbors: int) -> Floats:
    """What of the weights of neighbours, nearest first, belongs to the first ``n_neighbors``: shape (n, k).

    An item of weight 2 is two neighbours, so weights are counted until they sum to that number.
    """
    before = np.cumsum(weight, axis=1) - weight
    return np.clip(n_neighbors - before, 0.0, weight)


def shares(labels: Integers, n_classes: int, weight: Floats | None = None) -> Floats:
    """The share of the votes that each class gets, shape (n, n_classes).

    ``labels`` (n, k) are the classes of the neighbours as numbers, and ``weight`` (n, k) those of their votes; None is 1.
    """
    votes = np.zeros((len(labels), n_classes))
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    np.add.at(votes, (rows, labels.ravel()), 1.0 if weight is None else weight.ravel())
    return votes / votes.sum(axis=1, keepdims=True)
