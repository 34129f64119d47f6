"""Weights of an L1 distance that predict values well, by gradient steps on leave-one-out kernel regression.

    min_w  sum_i s_i (y_i - yhat_i)^2,    d_w(x, y) = sum_f w_f gap_f(x_f, y_f),  w_f > 0
    yhat_i = sum_j s_j k_ij y_j / sum_j s_j k_ij,    k_ij = exp(-d_w(x_i, x_j)),  j != i

This is metric learning for kernel regression (Weinberger & Tesauro 2007) with gaps of features in place of a Mahalanobis
distance. The gaps are those of `Semimetric.gower`, which coordinates give as L1 distances, so that d_w is linear in w and its
gradient a sum of gaps. The steps are those of Adam (Kingma & Ba 2015) on log w, from the even distance, to which all features
contribute equally; how many of them are made is what keeps w from following noise, and is chosen on items held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.types import Floats, Integers
from ..._kernels.gaps import add_gaps
from ...data.schema import Feature, Schema
from ..model.known_distances import gap_to_missing

STEPS_BETWEEN = 5  # after so many steps the slopes are kept
_BATCH, _OTHERS = 256, 1_500  # items whose values a step predicts, and most items that predict them
_RATE = 0.05  # of Adam, in log w
_MEAN, _SQUARE = 0.9, 0.99  # of Adam, for its running means of gradients and of their squares
_WIDTHS = (0.1, 0.2, 0.4, 0.8)  # of the first kernel, in distances to the neighbour _NEAR
_NEAR = 10
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
        """Slopes (n_features,) with which every feature has the mean distance 1; 1 for a feature that does not vary."""
        order = np.argsort(self.values, axis=0)
        x, w = np.take_along_axis(self.values, order, axis=0), weight[order] / weight.sum()
        below = np.cumsum(w, axis=0)[:-1]
        mean = 2 * (below * (1 - below) * np.diff(x, axis=0)).sum(axis=0)
        gap = np.bincount(self.feature, weights=mean)
        return 1.0 / np.where(gap > 0, gap, 1.0)

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


@dataclass(frozen=True, eq=False)
class ValuedItems:
    """Items to learn from."""

    coordinates: GapCoordinates
    values: Floats  # shape (n_items,); what is to be predicted, in units of its standard deviation
    weight: Floats  # shape (n_items,)
    identity: Integers  # shape (n_items,); the number of the item in each row: identical items do not predict one another

    def predicted(self, slopes: Floats, rows: Integers, others: Integers) -> tuple[Floats, Floats]:
        """Kernel means of the rows by the others, shape (n,), and the shares (n, m) that the others have in them."""
        distances = cdist(self.coordinates.scaled(slopes, rows), self.coordinates.scaled(slopes, others), "cityblock")
        distances[self.identity[rows][:, None] == self.identity[others]] = np.inf
        return kernel_means(distances, self.values[others], self.weight[others])


def kernel_means(distances: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Means of values by the kernel exp(-d), shape (n,), and the shares that they consist of, from distances (n, m)."""
    nearest = distances.min(axis=1, keepdims=True)
    kernel = weight * np.exp(-(distances - np.where(np.isfinite(nearest), nearest, 0.0)))
    total = kernel.sum(axis=1, keepdims=True)
    share = np.where(total > 0, kernel, weight) / np.where(total > 0, total, weight.sum())
    return share @ values, share


def slope_path(items: ValuedItems, rows: Integers, n_steps: int, random_state: int | None) -> list[Floats]:
    """Slopes of the features, first the even ones and then after every 5 steps on the items of these rows."""
    rng = np.random.default_rng(random_state)
    slopes = _start(items, rows, rng)
    path, mean, square = [slopes], np.zeros_like(slopes), np.zeros_like(slopes)
    for step in range(1, n_steps + 1):
        gradient = slopes * _gradient(items, slopes, *_drawn(rows, rng))  # in log w
        mean = _MEAN * mean + (1 - _MEAN) * gradient
        square = _SQUARE * square + (1 - _SQUARE) * gradient**2
        ahead = mean / (1 - _MEAN**step) / (np.sqrt(square / (1 - _SQUARE**step)) + 1e-12)
        slopes = slopes * np.exp(-_RATE * min(1.0, 2.05 - 2 * step / n_steps) * ahead)
        if step % STEPS_BETWEEN == 0:
            path.append(slopes)
    return path


def _drawn(rows: Integers, rng: np.random.Generator) -> tuple[Integers, Integers]:
    batch = rng.choice(rows, _BATCH, replace=False) if len(rows) > _BATCH else rows
    return batch, rng.choice(rows, _OTHERS, replace=False) if len(rows) > _OTHERS else rows


def _start(items: ValuedItems, rows: Integers, rng: np.random.Generator) -> Floats:
    """Even slopes, times the one of four numbers with which kernel means err least."""
    part = GapCoordinates(items.coordinates.values[rows], items.coordinates.feature)
    even = part.uniform_weights(items.weight[rows])
    batch, others = _drawn(rows, rng)
    distances = cdist(items.coordinates.scaled(even, batch), items.coordinates.scaled(even, others), "cityblock")
    near = float(np.median(np.sort(distances, axis=1)[:, min(_NEAR, len(others) - 1)])) or 1.0
    tried: Sequence[Floats] = [even / (near * width) for width in _WIDTHS]
    return min(tried, key=lambda slopes: _loss(items, slopes, batch, others))


def _loss(items: ValuedItems, slopes: Floats, rows: Integers, others: Integers) -> float:
    errors = items.predicted(slopes, rows, others)[0] - items.values[rows]
    return float(items.weight[rows] @ errors**2 / items.weight[rows].sum())


def _gradient(items: ValuedItems, slopes: Floats, rows: Integers, others: Integers) -> Floats:
    """The gradient of the loss in the slopes, shape (n_features,)."""
    means, share = items.predicted(slopes, rows, others)
    weight = items.weight[rows] / items.weight[rows].sum()
    factor = -2 * (weight * (means - items.values[rows]))[:, None] * share * (items.values[others] - means[:, None])
    out = np.zeros(len(items.coordinates.feature))
    add_gaps(items.coordinates.values[rows], items.coordinates.values[others], factor, out)
    gradient: Floats = np.bincount(items.coordinates.feature, weights=out, minlength=len(slopes)).astype(np.float64)
    return gradient
