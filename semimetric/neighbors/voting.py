"""Votes of neighbours: each for its class, alike or by its nearness."""

import numpy as np

from .._foundation.types import Floats, Integers
from .._foundation.validation import check_choice

__all__ = ["nearness", "shares"]


def nearness(distances: Floats, weights: str) -> Floats:
    """Weight of every neighbour's vote, shape (n, k): 1, or 1 / distance.

    Where some are at distance 0 they alone vote; where all are infinitely far, as distances overflow, alike.
    """
    check_choice("weights", weights, ("uniform", "distance"))
    if weights == "uniform":
        return np.ones_like(distances)
    at = distances == 0
    with np.errstate(divide="ignore"):
        weight = np.where(at.any(axis=1, keepdims=True), at.astype(np.float64), 1.0 / distances)
    return np.where(weight.any(axis=1, keepdims=True), weight, 1.0)


def shares(labels: Integers, n_classes: int, weight: Floats | None = None) -> Floats:
    """Share of the votes that each class gets, shape (n, n_classes), for neighbours' classes (n, k)."""
    votes = np.zeros((len(labels), n_classes))
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    np.add.at(votes, (rows, labels.ravel()), 1.0 if weight is None else weight.ravel())
    return votes / votes.sum(axis=1, keepdims=True)
