"""Votes of neighbours: which of them vote, with which weight, and what their votes say of the query.

Of a query the nearest item has the distance d_1, the j-th d_j >= d_1. Its k-th neighbour decides who votes: every item within
d_k, so that ties all count. A vote has the weight

    uniform     1
    distance    d_1 / d_j                    items at distance 0 then vote alone
    kernel      exp(-(d_j - d_1) / h)        h is a distance, or the distance of the query to a neighbour times a number

so that the nearest item always has a whole vote, whatever the unit of distances is. The share of a class c, of which the votes
add up to v_c, is drawn to the share q_c of the class among all items,

    p_c = (v_c + a q_c) / (sum_c v_c + a),

which is the mean under a Dirichlet prior: with a > 0 no class has the share 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.storable import storable
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_alpha, check_choice, check_count

__all__ = ["WEIGHTS", "VoteRule", "class_votes", "is_enough", "neighbor_counts", "nth_distance", "shares", "within_ties"]

WEIGHTS = ("uniform", "distance", "kernel")
_TIE = 1e-12  # relative: distances that differ by less are tied, since rounding may part them


@storable
@dataclass(frozen=True)
class VoteRule:
    """Who votes, and with which weight.

    Parameters
    ----------
    n_neighbors : int, default 3
        Neighbours that vote, and all that are as near as the last of them.
    weights : {"uniform", "distance", "kernel"}, default "uniform"
        The weight of a vote, see the formulas of the module.
    bandwidth : float or None, default None
        Of the kernel: a distance, or with ``bandwidth_neighbor`` a number.
    bandwidth_neighbor : int or None, default None
        The neighbour to which the distance of the query is multiplied by ``bandwidth``; None takes it as a distance.
    smoothing : float, default 0.0
        How many votes are divided among all classes by their shares of the items; of values it plays no part.
    average : {"mean", "median"}, default "mean"
        Of values: their weighted mean, or their weighted median.

    Raises
    ------
    InputError
        If a number is not positive, a name is unknown, or a kernel has no bandwidth.

    Examples
    --------
    >>> rule = VoteRule(2, "kernel", bandwidth=0.5)
    >>> rule.votes(np.array([[1.0, 1.5, 1.5, 3.0]])).round(2)
    array([[1.  , 0.37, 0.37, 0.  ]])
    >>> print(rule)
    votes of the 2 nearest items, by the kernel exp(-(d - d_1) / 0.5)
    """

    n_neighbors: int = 3
    weights: str = "uniform"
    bandwidth: float | None = None
    bandwidth_neighbor: int | None = None
    smoothing: float = 0.0
    average: str = "mean"

    def __post_init__(self) -> None:
        check_count("n_neighbors", self.n_neighbors)
        check_choice("weights", self.weights, WEIGHTS)
        check_alpha("smoothing", self.smoothing)
        check_choice("average", self.average, ("mean", "median"))
        if (self.weights == "kernel") != (self.bandwidth is not None):
            raise InputError(
                f'weights="{self.weights}" with bandwidth={self.bandwidth}; a kernel has one, other weights have none'
            )
        if self.bandwidth is not None:
            check_alpha("bandwidth", self.bandwidth, strict=True)
        if self.bandwidth_neighbor is not None:
            check_count("bandwidth_neighbor", self.bandwidth_neighbor)

    @property
    def n_searched(self) -> int:
        """How many neighbours of a query have to be known: those that vote, and the one that a width follows."""
        return max(self.n_neighbors, self.bandwidth_neighbor or 1)

    def votes(self, distances: Floats, weight: Floats | None = None) -> Floats:
        """The weight of the vote of every neighbour, shape (n, K); 0 of those that do not vote.

        Parameters
        ----------
        distances : ndarray of shape (n, K)
            Distances to the nearest items, increasing in each row: to `n_searched` at least, where there are so many.
        weight : ndarray of shape (n, K) or None
            Weights of the items: an item of weight 2 is two neighbours. None is 1.
        """
        counted = np.where(within_ties(distances, self.n_neighbors, weight), 1.0 if weight is None else weight, 0.0)
        return counted * self._falling(distances, weight)

    def _falling(self, distances: Floats, weight: Floats | None) -> Floats:
        """How the weight of a vote falls with the distance, 1 for the nearest item that has a weight, shape (n, K)."""
        if self.weights == "uniform":
            return np.ones_like(distances)
        nearest = nth_distance(distances, 1, weight)
        coincides = distances <= nearest * (1 + _TIE)
        if self.weights == "distance":
            return np.where(coincides, 1.0, nearest / np.where(coincides, 1.0, distances))
        width = np.full_like(nearest, self.bandwidth)
        if self.bandwidth_neighbor is not None:
            width = width * nth_distance(distances, self.bandwidth_neighbor, weight)
        beyond = np.where(coincides, 0.0, distances) - np.where(coincides, 0.0, nearest)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            falling = np.exp(-beyond / width)
        return np.where(coincides, 1.0, np.where(np.isnan(falling), 0.0, falling))

    def probabilities(
        self,
        distances: Floats,
        labels: Integers,
        class_shares: Floats,
        weight: Floats | None = None,
        class_weight: Floats | None = None,
    ) -> Floats:
        """The share of each class, shape (n, n_classes), from its votes and, smoothed, from its share of all items.

        Parameters
        ----------
        distances : ndarray of shape (n, K)
        labels : ndarray of shape (n, K), int64
            The class of each neighbour as a number.
        class_shares : ndarray of shape (n_classes,)
            The shares of the classes among the items, which sum to 1.
        weight : ndarray of shape (n, K) or None
        class_weight : ndarray of shape (n_classes,) or None
            How much a vote for each class counts; None is 1.
        """
        votes = class_votes(labels, len(class_shares), self.votes(distances, weight))
        votes = votes if class_weight is None else votes * class_weight
        return (votes + self.smoothing * class_shares) / (votes.sum(axis=1, keepdims=True) + self.smoothing)

    def values(self, distances: Floats, values: Floats, weight: Floats | None = None) -> Floats:
        """The mean or median of the neighbours' values, each by its vote, shape (n,).

        Parameters
        ----------
        distances, values : ndarray of shape (n, K)
        weight : ndarray of shape (n, K) or None
        """
        votes = self.votes(distances, weight)
        return weighted_median(values, votes) if self.average == "median" else (votes * values).sum(axis=1) / votes.sum(axis=1)

    def __str__(self) -> str:
        items = "item" if self.n_neighbors == 1 else f"{self.n_neighbors} nearest items"
        if self.weights == "uniform":
            how = "which count alike"
        elif self.weights == "distance":
            how = "by 1 / distance"
        else:
            times = "" if self.bandwidth_neighbor is None else f" d_{self.bandwidth_neighbor}"
            how = f"by the kernel exp(-(d - d_1) / {self.bandwidth:.3g}{times})"
        smoothed = f", and {self.smoothing:g} of a vote by the shares of the classes" if self.smoothing else ""
        return f"votes of the {'nearest ' if self.n_neighbors == 1 else ''}{items}, {how}{smoothed}"


def within_ties(distances: Floats, n_neighbors: int, weight: Floats | None = None) -> NDArray[np.bool_]:
    """Which neighbours are as near as the ``n_neighbors``-th, shape (n, K), for distances that increase in each row."""
    return distances <= nth_distance(distances, n_neighbors, weight) * (1 + _TIE)


def nth_distance(distances: Floats, n: int, weight: Floats | None = None) -> Floats:
    """The distance to the n-th neighbour, shape (n, 1), or to the last; an item of weight 2 is two neighbours."""
    if weight is None:
        return distances[:, min(n, distances.shape[1]) - 1, None]
    counted = np.cumsum(weight, axis=1)
    wanted = np.minimum(n, counted[:, -1:]) * (1 - _TIE)
    place = np.argmax((counted >= wanted) & (counted > 0), axis=1)
    return np.take_along_axis(distances, place[:, None], axis=1)


def is_enough(distances: Floats, n_neighbors: int, weight: Floats | None = None) -> NDArray[np.bool_]:
    """Whether the nearest K items surely hold all that vote, shape (n,): others are further than the last who does."""
    enough = distances[:, -1] > nth_distance(distances, n_neighbors, weight)[:, 0] * (1 + _TIE)
    return enough if weight is None else enough & (weight.sum(axis=1) >= n_neighbors)


def neighbor_counts(weight: Floats) -> Floats:
    """How many neighbours every item is; where all weights are below 1, as if they sum to 1, the largest is one neighbour."""
    return weight / min(1.0, weight.max())


def class_votes(labels: Integers, n_classes: int, votes: Floats) -> Floats:
    """The votes of every class added up, shape (n, n_classes), from classes and votes of the neighbours, shape (n, K)."""
    n = len(labels)
    place = labels + n_classes * np.arange(n)[:, None]
    added = np.bincount(place.ravel(), weights=votes.ravel(), minlength=n * n_classes)
    return added.astype(np.float64, copy=False).reshape(n, n_classes)


def shares(labels: Integers, n_classes: int) -> Floats:
    """The share of the neighbours that are of each class, shape (n, n_classes), from their classes as numbers, shape (n, k)."""
    return class_votes(labels, n_classes, np.ones(labels.shape)) / labels.shape[1]


def weighted_median(values: Floats, votes: Floats) -> Floats:
    """The value up to which half of the votes lie, shape (n,); where exactly half does, the mean of it and of the next."""
    order = np.argsort(values, axis=1, kind="stable")
    values, votes = (np.take_along_axis(a, order, axis=1) for a in (values, votes))
    below = np.cumsum(votes, axis=1)
    half = below[:, -1:] / 2
    has_vote = votes > 0
    lower = np.argmax((below >= half * (1 - _TIE)) & has_vote, axis=1)
    upper = np.argmax((below > half * (1 + _TIE)) & has_vote, axis=1)
    rows = np.arange(len(values))
    return (values[rows, lower] + values[rows, upper]) / 2
