"""Which votes of neighbours tell items best that were held out: the number of neighbours, their weights and the smoothing.

Candidates are a few numbers of neighbours that count alike or by 1 / distance, and kernels over many neighbours, whose width is
a distance or follows that of the query to one of its neighbours. Neighbours are sorted once, so that a candidate costs one pass
over their distances. Of classes the candidate is taken whose share of wrong votes plus log loss is least: the log loss alone
prefers votes that are never sure, and errors alone, of which few items have any, are left to chance. Of values it is the one of
the least mean squared error, or for the median of the least mean absolute error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats
from .._foundation.validation import check_choice, check_count
from .voting import WEIGHTS, VoteRule, class_votes, nth_distance, within_ties

__all__ = ["MOST_NEIGHBORS", "HeldOutNeighbors", "VoteLosses", "choose_value_votes", "choose_votes", "vote_losses"]

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
    """The nearest items, of those learned from, of some items that were held out.

    Parameters
    ----------
    distances : ndarray of shape (n, K)
        Distances to the nearest items, increasing in each row. About `MOST_NEIGHBORS` are enough; fewer are all there are.
    neighbor_targets : ndarray of shape (n, K)
        The classes of these items as numbers 0, 1, ..., int64; or their values, float64.
    targets : ndarray of shape (n,)
        The classes or values of the items held out.
    weight : ndarray of shape (n,)
        The weights of the items held out, of which one at least is positive.
    class_shares : ndarray of shape (n_classes,) or None
        The shares of the classes among all items learned from, which sum to 1; None for values.
    neighbor_weight : ndarray of shape (n, K) or None, default None
        How many neighbours each neighbour is; None is one each.
    class_weight : ndarray of shape (n_classes,) or None, default None
        How much a vote for each class counts; None is 1.
    """

    distances: Floats
    neighbor_targets: NDArray[Any]
    targets: NDArray[Any]
    weight: Floats
    class_shares: Floats | None = None
    neighbor_weight: Floats | None = None
    class_weight: Floats | None = None

    def nearest(self, n: int) -> HeldOutNeighbors:
        """The same with no more than the n nearest items, and those that are tied with the last of them in any row."""
        far = self.distances > nth_distance(self.distances, n, self.neighbor_weight)
        columns = slice(0, max(int((~far).sum(axis=1).max()), 1))
        weight = None if self.neighbor_weight is None else self.neighbor_weight[:, columns]
        kept, targets = self.distances[:, columns], self.neighbor_targets[:, columns]
        return replace(self, distances=kept, neighbor_targets=targets, neighbor_weight=weight)


class VoteLosses(NamedTuple):
    """What votes cost on the items held out, one number for each part, shape (n_parts,).

    Attributes
    ----------
    error : ndarray
        The weighted share of items that are given another class.
    log_loss : ndarray
        The weighted mean of -log of the share that the true class gets, which counts as 1e-6 at least.
    """

    error: Floats
    log_loss: Floats


def choose_votes(
    parts: Sequence[HeldOutNeighbors], n_neighbors: int | str = "auto", weights: str = "auto"
) -> tuple[VoteRule, VoteLosses]:
    """The rule with the least share of wrong votes plus log loss, the mean over the parts; of equally good ones the first.

    Parameters
    ----------
    parts : sequence of HeldOutNeighbors
        Of classes; one for each fold.
    n_neighbors : int or "auto", default "auto"
        A number leaves the weights to be chosen.
    weights : {"auto", "uniform", "distance", "kernel"}, default "auto"
        A name leaves the number of neighbours, or the width of the kernel.

    Returns
    -------
    rule : VoteRule
    losses : VoteLosses
        Of this rule, for each part.
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
    """Losses of rules for classes, each with every smoothing in place of its own, two arrays (n_rules, n_smoothing)."""
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
    """The rule whose mean, or median, of the neighbours' values errs least, and its loss on each part.

    Parameters
    ----------
    parts : sequence of HeldOutNeighbors
        Of values; one for each fold.
    n_neighbors, weights
        As of `choose_votes`.
    average : {"mean", "median"}, default "mean"
        What is made of the values: a mean is judged by squared errors, a median by absolute ones.

    Returns
    -------
    rule : VoteRule
    losses : ndarray of shape (n_parts,)
        The weighted mean of the squared, or absolute, errors of this rule.
    """
    rules = [replace(rule, average=average) for rule in _candidates(parts, n_neighbors, weights)]
    losses = np.array([[_value_loss(part, rule) for part in parts] for rule in rules])
    best = int(np.argmin(losses.mean(axis=1)))
    return (_trimmed(parts, rules[best]) if isinstance(n_neighbors, str) else rules[best]), losses[best]


def _value_loss(part: HeldOutNeighbors, rule: VoteRule) -> float:
    """The weighted mean of squared errors of a mean, or of absolute errors of a median."""
    near = part.nearest(rule.n_searched)
    errors = rule.values(near.distances, near.neighbor_targets, near.neighbor_weight) - part.targets
    measure: Callable[[Floats], Floats] = np.abs if rule.average == "median" else np.square
    return float(part.weight @ measure(errors) / part.weight.sum())


def _candidates(parts: Sequence[HeldOutNeighbors], n_neighbors: int | str, weights: str) -> Iterator[VoteRule]:
    """The rules that are compared, simple ones first."""
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
    """The rule with as few neighbours as have nearly all votes by its kernel: fewer are found sooner."""
    if rule.weights == "kernel":
        for k in _COUNTS:
            if k < rule.n_neighbors and np.mean([_votes_beyond(part, rule, k) for part in parts]) <= _NEGLIGIBLE:
                return replace(rule, n_neighbors=k)
    return rule


def _votes_beyond(part: HeldOutNeighbors, rule: VoteRule, k: int) -> float:
    """The mean share of the votes that items beyond the k nearest have."""
    votes = rule.votes(part.distances, part.neighbor_weight)
    near = within_ties(part.distances, k, part.neighbor_weight)
    return float(np.mean((votes * ~near).sum(axis=1) / votes.sum(axis=1)))


def _mean_distance(parts: Sequence[HeldOutNeighbors]) -> float:
    """The mean distance of items to a near neighbour, over all parts; 0 where all are infinite."""
    distances = np.concatenate([nth_distance(p.distances, _OF_ALL, p.neighbor_weight).ravel() for p in parts])
    finite = distances[np.isfinite(distances)]
    return float(finite.mean()) if len(finite) else 0.0
