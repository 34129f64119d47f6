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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count
from ...data.copies import Copies
from .index import NeighborIndex

WEIGHTS = ("uniform", "distance", "kernel")
_TIE = 1e-12  # relative: distances that differ by less are tied, since rounding may part them


@storable
@dataclass(frozen=True)
class VoteRule:
    """Rule of votes: the neighbours that vote, and the weights of their votes.

    Attributes
    ----------
    n_neighbors : int
        Neighbours that vote, and all that are as near as the last of them.
    weights : {"uniform", "distance", "kernel"}
        The weight of a vote.
    bandwidth : float or None
        Width of the kernel: a distance, or a factor if ``bandwidth_neighbor`` is given.
    bandwidth_neighbor : int or None
        The neighbour whose distance ``bandwidth`` multiplies; None takes it as a distance.
    smoothing : float
        Votes that are divided among all classes by their fractions of the items; not used for values.
    average : {"mean", "median"}
        Of values: their weighted mean, or their weighted median.

    Examples
    --------
    >>> rule = VoteRule(2, "kernel", bandwidth=0.5)
    >>> rule.votes(np.array([[1.0, 1.5, 1.5, 3.0]])).round(2)
    array([[1.  , 0.37, 0.37, 0.  ]])
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
        """The number of neighbours of a query that have to be known: those that vote, and the one that a width follows."""
        return max(self.n_neighbors, self.bandwidth_neighbor or 1)

    def votes(self, distances: Floats, weight: Floats | None = None) -> Floats:
        """Return the weight (n, K) of every vote, 0 of neighbours that do not vote; an item of weight 2 is two neighbours."""
        counted = np.where(within_ties(distances, self.n_neighbors, weight), 1.0 if weight is None else weight, 0.0)
        return counted * self._falling(distances, weight)

    def _falling(self, distances: Floats, weight: Floats | None) -> Floats:
        """Weigh votes by their distances, 1 for the nearest item that has a weight, shape (n, K)."""
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
        """Return the fraction (n, n_classes) of votes for each class, smoothed by ``class_shares`` of all items.

        The classes of the neighbours are ``labels`` (n, K); a vote for each class counts as often as ``class_weight`` says.
        """
        votes = class_votes(labels, len(class_shares), self.votes(distances, weight))
        votes = votes if class_weight is None else votes * class_weight
        return (votes + self.smoothing * class_shares) / (votes.sum(axis=1, keepdims=True) + self.smoothing)

    def values(self, distances: Floats, values: Floats, weight: Floats | None = None) -> Floats:
        """Return the mean or median of the neighbours' values (n, K), each by its vote, shape (n,)."""
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
    """Mask the neighbours as near as the ``n_neighbors``-th, shape (n, K), for distances that increase in each row."""
    return distances <= nth_distance(distances, n_neighbors, weight) * (1 + _TIE)


def nth_distance(distances: Floats, n: int, weight: Floats | None = None) -> Floats:
    """Return the distance to the n-th neighbour, shape (n, 1), or to the last; an item of weight 2 is two neighbours."""
    if weight is None:
        return distances[:, min(n, distances.shape[1]) - 1, None]
    counted = np.cumsum(weight, axis=1)
    wanted = np.minimum(n, counted[:, -1:]) * (1 - _TIE)
    column = np.argmax((counted >= wanted) & (counted > 0), axis=1)
    return np.take_along_axis(distances, column[:, None], axis=1)


def is_enough(distances: Floats, n_neighbors: int, weight: Floats | None = None) -> NDArray[np.bool_]:
    """Mask the queries whose nearest K items surely hold all that vote, shape (n,): others are further than the last."""
    enough = distances[:, -1] > nth_distance(distances, n_neighbors, weight)[:, 0] * (1 + _TIE)
    return enough if weight is None else enough & (weight.sum(axis=1) >= n_neighbors)


def neighbor_counts(weight: Floats) -> Floats:
    """Return the number of neighbours that every item counts for; where all weights are below 1, the largest is one."""
    return weight / min(1.0, weight.max())


def class_votes(labels: Integers, n_classes: int, votes: Floats) -> Floats:
    """Add up the votes of every class, shape (n, n_classes), from classes and votes of the neighbours, shape (n, K)."""
    n = len(labels)
    cell = labels + n_classes * np.arange(n)[:, None]
    added = np.bincount(cell.ravel(), weights=votes.ravel(), minlength=n * n_classes)
    return added.astype(np.float64, copy=False).reshape(n, n_classes)


def shares(labels: Integers, n_classes: int) -> Floats:
    """Return the fraction of neighbours of each class, shape (n, n_classes), from their classes as numbers, shape (n, k)."""
    return class_votes(labels, n_classes, np.ones(labels.shape)) / labels.shape[1]


def weighted_median(values: Floats, votes: Floats) -> Floats:
    """Return the value up to which half of the votes lie, shape (n,); where exactly half does, its mean with the next."""
    order = np.argsort(values, axis=1, kind="stable")
    values, votes = (np.take_along_axis(a, order, axis=1) for a in (values, votes))
    below = np.cumsum(votes, axis=1)
    half = below[:, -1:] / 2
    has_vote = votes > 0
    lower = np.argmax((below >= half * (1 - _TIE)) & has_vote, axis=1)
    upper = np.argmax((below > half * (1 + _TIE)) & has_vote, axis=1)
    rows = np.arange(len(values))
    return (values[rows, lower] + values[rows, upper]) / 2


def nearest_columns(distances: Floats, k: int) -> tuple[Floats, Integers]:
    """Return the k least entries of every row (n, n_items), increasing, and their columns, both (n, k), or all.

    Equal entries are in the order of their columns; which of those that are equal to the k-th are among the k is left open.
    """
    k = min(k, distances.shape[1])
    columns = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
    found = np.take_along_axis(distances, columns, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(columns, order, axis=1)


_BLOCK = 10_000  # queries whose neighbours are held at a time


class Voters(NamedTuple):
    """The nearest items of some queries, among which are all that vote."""

    queries: Integers  # (n,), the numbers of the queries
    distances: Floats  # (n, K), increasing in each row
    indices: Integers  # (n, K), the row numbers of the items
    weight: Floats | None  # (n, K), the number of neighbours that each item counts for; None is one


class OwnRows(NamedTuple):
    """Queries that are items themselves, and what of these has no vote for them."""

    rows: Integers  # (n_queries,): their rows
    copies: Copies  # of all items

    def counts(self, queries: Integers, ids: Integers, counts: Floats) -> Floats:
        """Return how much of the counts (n, K) of items has no vote for some of the queries, (n,)."""
        own = self.rows[queries, None]
        number, repeats = self.copies.number, self.copies.repeats
        return counts * ((ids == own) | (number[ids] == number[own]) & ~repeats[own])


def find_voters(
    index: NeighborIndex, queries: Floats, n_neighbors: int, weight: Floats | None, own: OwnRows | None = None
) -> Iterator[Voters]:
    """Find the voters of every encoded query, in groups of queries that have equally many neighbours at hand.

    ``own`` says which items the queries are, if they are items themselves: these have no vote.
    """
    n_items = index.n_samples_fit_
    for block in blocks(len(queries), _BLOCK):
        waiting, k = np.arange(len(queries))[block], min(n_neighbors + 1, n_items)
        while len(waiting):
            distances, ids, *_ = index.search_encoded(queries[waiting], k)
            counts = None if weight is None else weight[ids]
            if own is not None:
                counts = np.ones(ids.shape) if counts is None else counts
                counts = counts - own.counts(waiting, ids, counts)
            done = is_enough(distances, n_neighbors, counts) | (k == n_items)
            yield Voters(waiting[done], distances[done], ids[done], None if counts is None else counts[done])
            waiting, k = waiting[~done], min(2 * k, n_items)


MOST_NEIGHBORS = 128  # that vote by a kernel
_COUNTS = (1, 3, 5, 9, 15, 25, 45, 90)
_WIDTHS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the distance to a neighbour, the mean over queries or their own
_OF_ALL = 15  # the neighbour whose mean distance measures kernels of one width for all queries
_OF_QUERY = (5, 45)  # the neighbours that a width follows
_SMOOTHING = (0.03, 0.1, 0.3, 1.0)
_NEGLIGIBLE = 1e-3  # share of the votes
_LEAST = 1e-6  # share of a class that the logarithm sees


@dataclass(frozen=True, eq=False)
class HeldOutNeighbors:
    """The nearest items, of those learned from, of some items that were held out."""

    # (n, K), increasing in each row: K is about `MOST_NEIGHBORS`, or less where there are no more
    distances: Floats
    neighbor_targets: NDArray[Any]  # (n, K), the classes of these items as numbers 0, 1, ..., int64; or their values, float64
    targets: NDArray[Any]  # (n,), the classes or values of the items held out
    weight: Floats  # (n,), the weights of the items held out, of which one at least is positive
    # (n_classes,), the shares of the classes among all items learned from, which sum to 1; None for values
    class_shares: Floats | None = None
    neighbor_weight: Floats | None = None  # (n, K), the number of neighbours that each counts for; None is one
    class_weight: Floats | None = None  # (n_classes,), the worth of a vote for each class; None is 1

    def nearest(self, n: int) -> HeldOutNeighbors:
        """Return the same with no more than the n nearest items, and those that are tied with the last of them in any row."""
        far = self.distances > nth_distance(self.distances, n, self.neighbor_weight)
        columns = slice(0, max(int((~far).sum(axis=1).max()), 1))
        weight = None if self.neighbor_weight is None else self.neighbor_weight[:, columns]
        kept, targets = self.distances[:, columns], self.neighbor_targets[:, columns]
        return replace(self, distances=kept, neighbor_targets=targets, neighbor_weight=weight)


class VoteLosses(NamedTuple):
    """The losses of votes on the items held out, one number for each part, shape (n_parts,)."""

    error: Floats  # the weighted share of items that are given another class
    log_loss: Floats  # the weighted mean of -log of the share that the true class gets, which counts as 1e-6 at least


def choose_votes(
    parts: Sequence[HeldOutNeighbors], n_neighbors: int | str = "auto", weights: str = "auto"
) -> tuple[VoteRule, VoteLosses]:
    """Return the rule with the least share of wrong votes plus log loss, a mean over the parts, and its losses.

    The parts have classes, one for each fold. A number ``n_neighbors`` or a name ``weights`` leaves the other to be chosen;
    the first of equal rules is taken.
    """
    rules = list(_candidates(parts, n_neighbors, weights))
    losses = [vote_losses(part, rules, _SMOOTHING) for part in parts]
    error, log_loss = (np.stack([loss[kind] for loss in losses]) for kind in (0, 1))  # (n_parts, n_rules, n_smoothing)
    rule, smoothing = np.unravel_index(np.argmin((error + log_loss).mean(axis=0)), error.shape[1:])
    chosen = replace(rules[rule], smoothing=_SMOOTHING[smoothing])
    if isinstance(n_neighbors, str):
        chosen = _trimmed(parts, chosen)
    return chosen, VoteLosses(error[:, rule, smoothing], log_loss[:, rule, smoothing])


def vote_losses(part: HeldOutNeighbors, rules: Sequence[VoteRule], smoothing: Sequence[float]) -> VoteLosses:
    """Return losses of rules for classes, each with every smoothing in place of its own, two arrays (n_rules, n_smoothing)."""
    error, log_loss = np.empty((2, len(rules), len(smoothing)))
    weight, own = part.weight / part.weight.sum(), np.arange(len(part.targets))
    prior = np.asarray(part.class_shares)
    for r, rule in enumerate(rules):
        near = part.nearest(rule.n_searched)
        votes = class_votes(near.neighbor_targets, len(prior), rule.votes(near.distances, near.neighbor_weight))
        votes = votes if part.class_weight is None else votes * part.class_weight
        total = votes.sum(axis=1)
        for a, smoothed in enumerate(smoothing):
            counted = votes + smoothed * prior
            share = counted[own, part.targets] / (total + smoothed)
            error[r, a] = weight @ (counted.argmax(axis=1) != part.targets)
            log_loss[r, a] = -(weight @ np.log(np.maximum(share, _LEAST)))
    return VoteLosses(error, log_loss)


def choose_value_votes(
    parts: Sequence[HeldOutNeighbors], n_neighbors: int | str = "auto", weights: str = "auto", average: str = "mean"
) -> tuple[VoteRule, Floats]:
    """Return the rule whose mean, or median, of the neighbours' values errs least, and its losses (n_parts,).

    A mean is scored by squared errors, a median by absolute ones, weighted; the parts have values, one for each fold.
    """
    rules = [replace(rule, average=average) for rule in _candidates(parts, n_neighbors, weights)]
    losses = np.array([[_value_loss(part, rule) for part in parts] for rule in rules])
    best = int(np.argmin(losses.mean(axis=1)))
    return (_trimmed(parts, rules[best]) if isinstance(n_neighbors, str) else rules[best]), losses[best]


def _value_loss(part: HeldOutNeighbors, rule: VoteRule) -> float:
    near = part.nearest(rule.n_searched)
    errors = rule.values(near.distances, near.neighbor_targets, near.neighbor_weight) - part.targets
    measure: Callable[[Floats], Floats] = np.abs if rule.average == "median" else np.square
    return float(part.weight @ measure(errors) / part.weight.sum())


def _candidates(parts: Sequence[HeldOutNeighbors], n_neighbors: int | str, weights: str) -> Iterator[VoteRule]:
    check_choice("weights", weights, ("auto", *WEIGHTS))
    most = max(part.distances.shape[1] for part in parts)
    counts = [k for k in _COUNTS if k <= most] if isinstance(n_neighbors, str) else [check_count("n_neighbors", n_neighbors)]
    for kind in ("uniform", "distance"):
        if weights in ("auto", kind):
            yield from (VoteRule(k, kind) for k in counts if k > 1 or kind == "uniform" or weights == kind)
    if weights in ("auto", "kernel"):
        many = MOST_NEIGHBORS if isinstance(n_neighbors, str) else n_neighbors
        scale = _mean_distance(parts)
        for width in _WIDTHS:
            if scale > 0:
                yield VoteRule(many, "kernel", width * scale)
            yield from (VoteRule(many, "kernel", width, neighbor) for neighbor in _OF_QUERY)


def _trimmed(parts: Sequence[HeldOutNeighbors], rule: VoteRule) -> VoteRule:
    """Return the rule with as few neighbours as have nearly all votes by its kernel: fewer are found sooner."""
    if rule.weights == "kernel":
        for k in _COUNTS:
            if k < rule.n_neighbors and np.mean([_votes_beyond(part, rule, k) for part in parts]) <= _NEGLIGIBLE:
                return replace(rule, n_neighbors=k)
    return rule


def _votes_beyond(part: HeldOutNeighbors, rule: VoteRule, k: int) -> float:
    votes = rule.votes(part.distances, part.neighbor_weight)
    near = within_ties(part.distances, k, part.neighbor_weight)
    return float(np.mean((votes * ~near).sum(axis=1) / votes.sum(axis=1)))


def _mean_distance(parts: Sequence[HeldOutNeighbors]) -> float:
    """Return the mean distance of items to a near neighbour, over all parts; 0 where all are infinite."""
    distances = np.concatenate([nth_distance(p.distances, _OF_ALL, p.neighbor_weight).ravel() for p in parts])
    finite = distances[np.isfinite(distances)]
    return float(finite.mean()) if len(finite) else 0.0
