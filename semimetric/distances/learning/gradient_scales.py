"""One monotone scale a feature, weighted by the gradients of a kernel machine (Radhakrishnan et al. 2024).

    d(x, z) = sum_f w_f |phi_f(x_f) - phi_f(z_f)|,    phi_f(t) = t / (2 u_f) + F_f(t) / (2 v_f)

where F_f is the distribution function of the feature, linear between its knots, and u_f and v_f are the mean differences of its
values and of these, so that all features contribute equally where w = 1. Angles, categories and missing values have the gaps of
`Semimetric.gower`, with the mean 1.

Each round fits the machine (`kernel_machine`) and sets

    w_f = 1/4 + 3/4 g_f / mean(g),    g_f^2 = mean over items and outputs of (df / dphi_f)^2,

so that a feature along which the machine does not change keeps a quarter of its weight. The round with the least leave-one-out
loss is taken; the first one is w = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._foundation.types import Floats, Integers
from ...data.schema import Feature, Schema
from ..model.known_distances import Scale, distance_parts, gap_to_missing
from ..pairs.monotone_scales import l1_pairwise
from .kernel_machine import Fit, Setting, Targets, best_solution, kernel_of, median_distance

_DRAWN = 0.75  # part of a weight that the gradients give
_MOST_GRADIENTS = 400  # items at which gradients are computed
_CUTS = 32  # that part a circle in halves


@dataclass(frozen=True, eq=False)
class GapCoordinates:
    """Coordinates whose L1 distance in each feature is its gap.

    Numbers are coordinates themselves, with a second one where they may be missing. Categories have one coordinate each, 0 or
    1/2. Of a circle the shorter way round is how many of its cuts in halves part two points; here there are 32 such cuts.
    """

    values: Floats  # shape (n_items, n_coordinates), float64
    feature: Integers  # shape (n_coordinates,), int64; the feature of each coordinate

    @classmethod
    def of(cls, schema: Schema, items: Floats) -> GapCoordinates:
        """Those of encoded items, shape (n_items, n_features)."""
        columns = [_coordinates(f, column) for f, column in zip(schema.features, items.T, strict=True)]
        counts = [part.shape[1] for part in columns]
        return cls(np.ascontiguousarray(np.hstack(columns)), np.repeat(np.arange(len(columns)), counts))

    def uniform_weights(self, weight: Floats) -> Floats:
        """Slopes (n_features,) with which every feature has the mean distance 1; 0 for a feature that does not vary."""
        order = np.argsort(self.values, axis=0)
        x, w = np.take_along_axis(self.values, order, axis=0), weight[order] / weight.sum()
        below = np.cumsum(w, axis=0)[:-1]
        mean = 2 * (below * (1 - below) * np.diff(x, axis=0)).sum(axis=0)
        gap = np.bincount(self.feature, weights=mean)
        return np.divide(1.0, gap, out=np.zeros_like(gap), where=gap > 0)

    def scaled(self, slopes: Floats, rows: Integers) -> Floats:
        """Coordinates of some items whose L1 distance is that of the slopes, shape (n, n_coordinates)."""
        return self.values[rows] * slopes[self.feature]


def _coordinates(feature: Feature, column: Floats) -> Floats:
    """The coordinates of one encoded column, shape (n_items, n_coordinates)."""
    missing = np.isnan(column)
    if feature.kind == "categorical":
        codes = np.where(missing, -1.0, column)
        return 0.5 * (codes[:, None] == np.unique(codes))
    if feature.kind == "periodic":
        turned = (column[:, None] / feature.period - np.arange(_CUTS) / _CUTS / 2) % 1.0 < 0.5
        return np.where(missing[:, None], 0.5, turned) * (feature.period / 2 / _CUTS)
    if not missing.any():
        return column[:, None]
    median, gap = gap_to_missing(feature, column)
    return np.column_stack([np.where(missing, median, column), gap * missing])


class BaseScales(NamedTuple):
    """Scales under which all features contribute equally."""

    coordinates: GapCoordinates  # of the items: the L1 distance of a feature's coordinates is its gap
    unit: Floats  # (n_features,): 1 / the mean gap of a feature; 0 for one that does not vary
    scales: dict[int, Scale]  # of numbers that are never missing, by feature: their coordinates as functions
    outside: Floats  # (n_features,): the slope of the coordinate beyond the range of the items

    @classmethod
    def of(cls, schema: Schema, items: Floats, weight: Floats, n_knots: int) -> BaseScales:
        """Return those of encoded items (n_items, n_features)."""
        numbers = [f for f, kind in enumerate(schema.kinds) if kind == "numeric" and not schema.missing[f]]
        scales, placed, outside = {}, items.copy(), np.ones(len(schema.features))
        for f in numbers:
            scales[f], outside[f] = _scale(items[:, f], weight, n_knots)
            placed[:, f] = np.interp(items[:, f], scales[f].knots, scales[f].heights)
        coordinates = GapCoordinates.of(schema, placed)
        return cls(coordinates, coordinates.uniform_weights(weight), scales, outside)

    def parts(self, schema: Schema, items: Floats, weights: Floats) -> dict[str, Any]:
        """Return the parts of the distance with these weights (n_features,), by the names of the parameters of `Semimetric`."""
        slopes = self.unit * weights
        scales = {f: Scale(scale.knots, slopes[f] * scale.heights) for f, scale in self.scales.items()}
        return distance_parts(schema, items, slopes * self.outside, scales=scales)


def _scale(values: Floats, weight: Floats, n_knots: int) -> tuple[Scale, float]:
    """Return the scale of one number, and its slope outside the knots.

    Half of it are the values, half their distribution, each with the mean difference 1.
    """
    distinct, number = np.unique(values, return_inverse=True)
    mass = np.bincount(number, weights=weight) / weight.sum()
    below = np.cumsum(mass) - mass / 2
    if len(distinct) > n_knots:
        at = np.searchsorted(np.cumsum(mass), np.linspace(0.0, 1.0, n_knots)[1:-1])
        at = np.unique(np.concatenate([[0], np.minimum(at, len(distinct) - 1), [len(distinct) - 1]]))
    else:
        at = np.arange(len(distinct))
    if len(distinct) == 1:
        return Scale(distinct, np.zeros(1)), 0.0
    ranks = np.interp(distinct, distinct[at], below[at])
    of_values, of_ranks = 2 * _mean_difference(distinct, mass), 2 * _mean_difference(ranks, mass)
    heights = (distinct[at] - distinct[0]) / of_values + (ranks[at] - ranks[0]) / of_ranks
    return Scale(distinct[at], heights), 1.0 / of_values


def _mean_difference(ordered: Floats, mass: Floats) -> float:
    below = np.cumsum(mass)[:-1]
    return float(2 * (below * (1 - below)) @ np.diff(ordered))


class Round(NamedTuple):
    """Weights of the features, and the machine under them."""

    weights: Floats  # (n_features,): w
    loss: float  # of the leave-one-out predictions
    setting: Setting  # of the machine; the later rounds keep that of the first, with the width in median distances


def weight_rounds(
    base: BaseScales, rows: Integers, targets: Targets, *, n_rounds: int, rng: np.random.Generator, n_jobs: int | None
) -> list[Round]:
    """Return the uniform weights, and those after each round of gradients.

    ``rows`` (n_items,) are the row numbers of the distinct items of the targets. ``rng`` draws items to compute gradients at.
    """
    weights, found = (base.unit > 0).astype(np.float64), []
    in_medians: Setting | None = None  # with the width in median distances
    for k in range(1 + n_rounds):
        coordinates = base.coordinates.scaled(base.unit * weights, rows)
        distances = l1_pairwise(coordinates, coordinates, n_jobs=n_jobs)
        median = median_distance(distances)
        fit = best_solution(distances, targets, in_medians and Setting(in_medians.width * median, in_medians.strength))
        in_medians = Setting(fit.width / median, fit.strength)
        found.append(Round(weights, fit.loss, Setting(fit.width, fit.strength)))
        if k < n_rounds:
            weights = _next_weights(base, weights, coordinates, distances, fit, rng)
    return found


def _next_weights(
    base: BaseScales, weights: Floats, coordinates: Floats, distances: Floats, fit: Fit, rng: np.random.Generator
) -> Floats:
    """Return the weights that the gradients of a machine give; those of features that do not vary stay 0."""
    n, feature = len(coordinates), base.coordinates.feature
    at = np.sort(rng.choice(n, _MOST_GRADIENTS, replace=False)) if n > _MOST_GRADIENTS else np.arange(n)
    squares = np.zeros(len(feature))
    for i in at:
        slopes = (kernel_of(distances[i], fit.width) - 1.0)[:, None] * fit.coefficients
        squares += ((np.sign(coordinates[i] - coordinates).T @ slopes) ** 2).sum(axis=1)
    varies = base.unit > 0
    counts = np.bincount(feature, minlength=len(weights))
    rises = weights * np.sqrt(np.bincount(feature, weights=squares, minlength=len(weights)) / np.maximum(counts, 1))
    mean = rises[varies].mean()
    return np.where(varies, 1.0 - _DRAWN + _DRAWN * rises / mean, 0.0) if mean > 0 else weights
