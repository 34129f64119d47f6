"""Intervals around predicted values: errors of items that were left out, in units of the errors near them.

    [ f(x) - q s(x),  f(x) + q s(x) ],    s(x) = (c m + sum_j w_j(x) r_j) / (c + sum_j w_j(x))

Here r_j is the absolute error of item j by the model without it, and m the mean of all r_j. The error s(x) that is expected at
x is a weighted mean of errors near x, drawn to m as by c items. Under a kernel machine the items are weighted by
w_j(x) = exp(-d(x, x_j) / b). By votes, w_j is the vote of a neighbor, and r_j is how far its value is from the prediction. The
width b and the number c have the least loss ``mean(log s + r / s)``, that of exponential errors, on the items left out.

q is a quantile of r_i / s_(-i)(x_i), where s_(-i) is without item i: the least number that covers a fraction ``level`` of n + 1
items, of which the new one is covered by none. This is the jackknife with the normalised scores of Papadopoulos et al. 2002.

Nothing is proved of it for a table of n items. It differs from the jackknife+ by how much a prediction moves if one item is
left out, which the tests bound on drawn tables. The jackknife+ itself takes n^2 steps a query. If nothing had been chosen by
these items, the jackknife+ would hold ``2 level - 1`` of new items at least (Barber et al. 2021, theorem 1). Here the distance,
the width and the strength of the machine were chosen by these items, so errors may be too small. docs/measurements.md
says what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from .kernel_machine import Targets

_ROUNDING = 1e-9  # so that 0.9 of 10 items is 9 of them
_MOST_SCORED = 3_000  # items left out, of more a sample
_MOST_LOCAL = 1_000  # items whose errors are averaged near a query
_WIDTHS = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # b, in widths of the kernel of the machine
_PRIORS = (1.0, 3.0, 10.0, 30.0, 1_000.0)  # c; with the last one, the error that is expected is nearly the same everywhere
_LEAST_MEAN = 1e-290  # a smaller mean of the errors counts as 0


class ValueIntervals(NamedTuple):
    """Predicted values with intervals: three arrays of shape (n_queries,)."""

    predicted: Floats
    lower: Floats
    upper: Floats


class Nearby(NamedTuple):
    """Sums over the items near each of n queries."""

    errors: Floats  # (n,): of their errors, times their weights
    weight: Floats  # (n,): of their weights


class LeftOutVotes(NamedTuple):
    """Items that were predicted by votes of others."""

    errors: Floats  # (n,): absolute errors
    nearby: Nearby  # what their voters say
    weight: Floats  # (n,): how many items each is


@storable
@dataclass(frozen=True, eq=False)
class LocalErrors(FrozenValue):
    """Left-out errors of some centers of a kernel machine, of which a query has the mean of those near it."""

    rows: Integers  # (m,): row numbers of these centers among the fitted items
    errors: Floats  # (m,): sums of the absolute errors of the items at each center
    counts: Floats  # (m,): how many items these are
    width: float  # b, in the unit of the distance

    def __post_init__(self) -> None:
        freeze(self, "rows", "errors", "counts")
        if not self.rows.shape == self.errors.shape == self.counts.shape or self.rows.ndim != 1:
            raise InputError("rows, errors and counts of centers differ in shape; restore the file")
        numbers = np.concatenate([self.errors, self.counts])
        if not (np.isfinite(numbers).all() and (numbers >= 0).all() and np.isfinite(self.width) and self.width > 0):
            raise InputError(
                "errors and counts of centers are finite and at least 0, and their width is above 0; restore the file"
            )

    def nearby(self, distances: Floats) -> Nearby:
        """Return the sums of queries with these distances to the centers, shape (n, m)."""
        similar = np.divide(distances, -self.width)
        np.exp(similar, out=similar)
        return Nearby(similar @ self.errors, similar @ self.counts)


@storable
@dataclass(frozen=True, eq=False)
class LeftOutErrors(FrozenValue):
    """Errors of items by models without them, which give intervals around predicted values."""

    scores: Floats  # (n,): absolute errors over those that are expected, in ascending order
    weight: Floats  # (n,): the number of items that each is
    mean: float  # m, in the unit of the values
    prior: float  # c, in items
    local: LocalErrors | None = None  # whose mean near a query is taken; None where voters say what is expected

    def __post_init__(self) -> None:
        freeze(self, "scores", "weight")
        if self.scores.ndim != 1 or self.scores.shape != self.weight.shape or not len(self.scores):
            raise InputError(f"scores of shape {self.scores.shape} have weights of shape {self.weight.shape}; restore the file")
        if not (np.isfinite(self.scores).all() and self.scores[0] >= 0 and (np.diff(self.scores) >= 0).all()):
            raise InputError("scores are finite, at least 0 and in ascending order; restore the file")
        numbers = np.append(self.weight, [self.mean, self.prior])
        if not (np.isfinite(numbers).all() and (numbers > 0).all()):
            raise InputError("weights, the mean error and its prior are finite and above 0; restore the file")

    @classmethod
    def of_machine(
        cls,
        targets: Targets,
        left_out: Floats,
        distances: Callable[[Integers, Integers], Floats],
        rows: Integers,
        centers: Integers,
        width: float,
        rng: np.random.Generator,
    ) -> LeftOutErrors:
        """Return the errors of a kernel machine of values; ``rng`` draws samples of many items.

        ``left_out`` (n_rows, 1) is the prediction of each row of the targets without it; NaN where it was not computed.
        ``distances`` takes two arrays of numbers of distinct items, and returns their distances (n, m). ``rows`` (n_items,) are
        the row numbers of these items, and ``centers`` (n_centers,) those of the centers. ``width`` is that of the machine.
        """
        known = np.flatnonzero(np.isfinite(left_out[:, 0]))
        if len(known) > _MOST_SCORED:
            known = np.sort(rng.choice(known, _MOST_SCORED, replace=False))
        errors, counts = np.abs(targets.outputs[known, 0] - left_out[known, 0]), targets.counts
        weight, unit = counts[known], (targets.unit * counts / targets.weight)[known]
        items, number = np.unique(targets.item[known], return_inverse=True)
        some = np.flatnonzero(np.isin(rows[items], centers))
        if len(some) > _MOST_LOCAL:
            some = np.sort(rng.choice(some, _MOST_LOCAL, replace=False))
        position = np.full(len(items), -1)
        position[some] = np.arange(len(some))
        own = position[number]
        there = own >= 0
        sums = np.bincount(own[there], weights=weight[there] * errors[there], minlength=len(some)).astype(np.float64)
        counts = np.bincount(own[there], weights=weight[there], minlength=len(some)).astype(np.float64)
        between = distances(items, items[some])

        def others(b: float) -> tuple[LocalErrors, Nearby]:
            local = LocalErrors(rows[items[some]], sums, counts, b)
            near = local.nearby(between)
            removed = unit * there  # an item lies at the distance 0 of itself
            return local, Nearby(
                np.maximum(near.errors[number] - removed * errors, 0.0), np.maximum(near.weight[number] - removed, 0.0)
            )

        return cls._best(errors, weight, [others(share * width) for share in _WIDTHS])

    @classmethod
    def of_groups(cls, errors: Floats, weight: Floats, group: Integers, width: float) -> LeftOutErrors:
        """Return errors (n_rows,) of rows without their groups; a NaN is not known.

        Each group counts as one item, since its errors are alike. As groups are few, one error is expected everywhere.
        """
        known = np.isfinite(errors)
        errors, weight, group = errors[known], weight[known], group[known]
        nowhere = LocalErrors(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), width)
        nearby = Nearby(np.zeros(len(errors)), np.zeros(len(errors)))
        return cls._best(errors, weight / np.bincount(group, weights=weight)[group], [(nowhere, nearby)])

    @classmethod
    def of_votes(cls, votes: LeftOutVotes) -> LeftOutErrors:
        """Return the errors of votes of neighbors."""
        return cls._best(votes.errors, votes.weight, [(None, votes.nearby)])

    @classmethod
    def _best(cls, errors: Floats, weight: Floats, found: Sequence[tuple[LocalErrors | None, Nearby]]) -> LeftOutErrors:
        mean = float(np.average(errors, weights=weight))
        mean = mean if mean > _LEAST_MEAN else 1.0
        best, least = (found[0][0], _PRIORS[-1], np.full(len(errors), mean)), np.inf
        for local, nearby in found:
            for prior in _PRIORS:
                expected = _expected(mean, prior, nearby)
                loss = float(np.average(np.log(expected) + errors / expected, weights=weight))
                if loss < least:
                    best, least = (local, prior, expected), loss
        local, prior, expected = best
        scores = errors / expected
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], weight[order], mean, prior, local)

    @property
    def n_items(self) -> int:
        """The number of items that were left out, by their weights."""
        return round(float(self.weight.sum()))

    def allows(self, level: float) -> bool:
        """Return True if the items left out are enough for intervals of a level."""
        n = float(self.weight.sum())
        return _wanted(level, n) <= n

    def quantile(self, level: float) -> float:
        """Return the score that covers a fraction ``level`` of new items; an InputError says if too few were left out."""
        n = float(self.weight.sum())
        wanted = _wanted(level, n)
        if not self.allows(level):
            least = ceil(level / (1.0 - level) - _ROUNDING)
            raise InputError(
                f"interval={level:g} asks for {least:,} items (or groups) that were left out, and there are {self.n_items:,}; "
                f"fit more, or ask for at most {floor(1_000 * n / (n + 1.0)) / 1_000:g}"
            )
        return float(self.scores[min(int(np.searchsorted(np.cumsum(self.weight), wanted)), len(self.scores) - 1)])

    def around(self, predicted: Floats, nearby: Nearby, level: float) -> ValueIntervals:
        """Return intervals around predicted values, shape (n_queries,)."""
        half = self.quantile(level) * _expected(self.mean, self.prior, nearby)
        return ValueIntervals(predicted, predicted - half, predicted + half)


def _wanted(level: float, n_items: float) -> float:
    """Return how many items are to be covered of those left out, so that the level is covered of one item more."""
    return level * (n_items + 1.0) * (1.0 - _ROUNDING)


def positions_of(rows: Integers, among: Integers) -> Integers:
    """Return the positions of row numbers in another array that holds them all, in any order."""
    order = np.argsort(among, kind="stable")
    return order[np.searchsorted(among, rows, sorter=order)]


def _expected(mean: float, prior: float, nearby: Nearby) -> Floats:
    """Return s, the error that is expected, shape (n,)."""
    return (prior * mean + nearby.errors) / (prior + nearby.weight)
