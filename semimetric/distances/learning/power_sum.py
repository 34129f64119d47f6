"""Distances that are powers of sums of powers: ``d(x, y)^p = sum_f w_f |x_f - y_f|^p``, and Mahalanobis distances.

With tables of single features such a distance takes many weights, and with few knots its link cannot be seen: tables of 6
knots are no squares. Here it takes one weight a feature, or a matrix. If it is nearly exact, the link is known, and all
features, or directions of which the matrix is made, share one table, times factors that are found here (`SharedTable`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..._foundation.errors import TooFewError
from ..._foundation.types import Floats, Integers, Pairs
from ...data.splits import item_disjoint_splits
from ..features.linear_directions import Directions
from ..model.links import PowerLink, link_function
from ..programs.design_matrix import Moments
from ..programs.penalties import Quadratic
from .measured import MeasuredDistances, sampled_rows
from .options import PowerSum, Recipe
from .prior import least_squares

_EXPONENTS = (1.0, 2 / 3, 0.5, 1 / 3)  # of the link, 1 / p
NEARLY_EXACT = 0.02  # the mean relative error on held-out pairs, up to which a sum is taken for the distance
_GAIN = 0.9  # times the error with equal weights, which are as good where others have more; and of a matrix likewise
_PAIRS, _MOST_PAIRS = 5_000, 20_000  # that sums are compared on, and that the one that is taken is fitted to
_PAIRS_A_NUMBER = 4  # of a matrix
_NEAR = 0.05  # mean distances: shorter ones above 0 count as this long
_RIDGE = 1e-12  # of the mean curvature, for features that the pairs do not separate
_ALIKE = 2.0  # times the least range: features in ranges as alike share their knots as they are
_LEAST = 1e-9  # of the largest factor: no feature is left out entirely
_ROUNDING = 1e-6  # errors below are equal
_FINE = 1e-8  # of the values of a feature, or of the widest direction: ranges below are rounding
_MOST_DIGITS = 280.0  # of the mean of the sums
_FLAT = 1e-9  # of the largest eigenvalue: a direction in which distances are less is left out


def nearest_power_sum(recipe: Recipe, data: MeasuredDistances) -> PowerSum | None:
    """Return the sum of powers with the least error on held-out pairs, among those that the link of a recipe allows.

    None where there is none, or too few pairs to hold some out, and for a weighted L1 distance, which any tables can be.
    """
    data = data.sampled(_PAIRS, recipe.random_state)
    try:
        splits = item_disjoint_splits(data.pairs, n_splits=1, random_state=recipe.random_state)
        train, held = next(iter(splits))
    except TooFewError:
        return None
    pairs = _SplitPairs(data.pairs, data.y, data.weight, data.items, train, held)
    if not pairs.can_be_fitted:
        return None
    exponents = _exponents(recipe, float(data.weight @ data.y))
    found = [pairs.weighted(exponent) for exponent in exponents]
    best = min(found, key=lambda each: max(each.error, _ROUNDING), default=None)  # of equal ones the first
    few = _PAIRS_A_NUMBER * pairs.n_products > len(train)
    if 0.5 in exponents and not few and not (best is not None and best.error <= NEARLY_EXACT):
        matrix = pairs.mahalanobis()
        best = matrix if best is None or (matrix is not None and matrix.error < _GAIN * best.error) else best
    return None if best is None or best.exponent == 1.0 else best


def with_new_factors(recipe: Recipe, pairs: Pairs, y: Floats, weight: Floats, items: Floats) -> Recipe:
    """Return a recipe with factors that were found, and maybe a matrix, with those of other pairs under the same link.

    The error stays that of pairs that were held out, as all of these are fitted to.
    """
    exponents = _exponents(recipe, 1.0)
    if not isinstance(recipe.factors, PowerSum) or len(exponents) != 1:
        return recipe
    rows = sampled_rows(len(pairs), _MOST_PAIRS, recipe.random_state)
    every = np.arange(len(rows))
    given = _SplitPairs(pairs.take(rows), y[rows], weight[rows], items, every, every)
    if not given.can_be_fitted:
        return recipe
    found = given.weighted(*exponents) if recipe.directions is None else given.mahalanobis()
    return recipe if found is None else found._replace(error=recipe.factors.error).applied(recipe)


def _exponents(recipe: Recipe, mean: float) -> tuple[float, ...]:
    """Return the exponents of the link that a recipe allows, but those whose sums are too large or small in the mean."""
    if recipe.link in ("auto", "power"):
        return tuple(e for e in _EXPONENTS if abs(np.log10(max(mean, 1e-300))) < _MOST_DIGITS * e)
    if recipe.link == "concave":
        return ()
    link = link_function(recipe.link)
    return (link.exponent,) if isinstance(link, PowerLink) and link.concave else ()


@dataclass(frozen=True, eq=False)
class _SplitPairs:
    """Pairs with distances, of which some are fitted to, and others, which share no item with them, are held out."""

    pairs: Pairs
    distances: Floats  # (n_pairs,)
    weight: Floats  # (n_pairs,)
    items: Floats  # (n_items, n_features), whose ranges are the units of features
    train: Integers
    held: Integers

    @cached_property
    def widths(self) -> Floats:
        """The ranges of the features."""
        return _widths(self.items)

    @cached_property
    def gaps(self) -> Floats:
        """Differences in units of the ranges, (n_pairs, n_features)."""
        left, right = self.pairs.items[self.pairs.left], self.pairs.items[self.pairs.right]
        found: Floats = (left - right) / self.widths
        return found

    @cached_property
    def y(self) -> Floats:
        """Distances in units of their mean, (n_pairs,)."""
        return self.distances / max(float(self.weight @ self.distances) / float(self.weight.sum()), 1e-300)

    @property
    def n_products(self) -> int:
        """The number of products of two features."""
        n = self.items.shape[1]
        return n * (n + 1) // 2

    @property
    def can_be_fitted(self) -> bool:
        """True if all are numbers, of two features or more, and some distances on both sides are above 0."""
        several = np.count_nonzero(np.ptp(self.items, axis=0) > _FINE * np.abs(self.items).max(axis=0)) > 1
        above = all(float(self.weight[rows] @ self.y[rows]) > 0.0 for rows in (self.train, self.held))
        return bool(
            several and above and np.isfinite(self.gaps).all() and np.isfinite(self.y).all() and self._have_distinct_knots
        )

    @property
    def _have_distinct_knots(self) -> bool:
        """True if the values of no feature are so alike that knots between them would coincide."""
        spread = np.ptp(self.items, axis=0)
        return bool(((spread == 0.0) | (spread > _FINE * np.abs(self.items).max(axis=0))).all())

    def weighted(self, exponent: float) -> PowerSum:
        """Return the sum of powers with a weight for each feature, or with one for all if that is as good."""
        columns = np.abs(self.gaps) ** (1.0 / exponent)
        equal = (self.widths / self.widths.max()) ** (1.0 / exponent)
        alike = columns @ equal[:, None]
        weights = self._fitted(columns, exponent, nonnegative=True)
        error = self._error(columns @ weights, exponent)
        of_equal = self._error(alike @ self._fitted(alike, exponent, nonnegative=True), exponent)
        if error < _GAIN * of_equal:
            return PowerSum(error, exponent, _of_mean_1(weights))
        as_they_are = np.ptp(self.items) < _ALIKE * self.widths.min()
        return PowerSum(of_equal, exponent, None if as_they_are else _of_mean_1(equal))

    def mahalanobis(self) -> PowerSum | None:
        """Return the Mahalanobis distance of a matrix that is learned; None where no direction is seen.

        It is learned in coordinates in which the items are white, without those in which they do not differ. Its directions are
        eigenvectors of the matrix of the features across their ranges, times the roots of their eigenvalues, so that their
        squares have equal weights.
        """
        items = (self.items - self.items.mean(axis=0)) / self.widths
        _, sizes, axes = np.linalg.svd(items, full_matrices=False)
        axes = (axes / np.maximum(sizes, 1e-300)[:, None])[sizes > _FINE * sizes[0]] * np.sqrt(len(items))
        gaps = self.gaps @ axes.T
        n = len(axes)
        a, b = np.triu_indices(n)
        columns = gaps[:, a] * gaps[:, b]
        matrix = np.zeros((n, n))
        matrix[a, b] = self._fitted(columns, 0.5, nonnegative=False)
        values, vectors = np.linalg.eigh(axes.T @ (matrix + matrix.T) @ axes / 2)
        seen = np.flatnonzero(values > _FLAT * values.max())[::-1]
        if not len(seen):
            return None
        rows = np.sqrt(values[seen, None]) * vectors[:, seen].T
        error = self._error(((self.gaps @ rows.T) ** 2).sum(axis=1), 0.5)
        directions = Directions(rows / self.widths, tuple(f"mahalanobis {k + 1}" for k in range(len(rows))))
        factors = np.append(np.zeros(len(self.widths)), _widths(self.items @ directions.matrix.T) ** 2)
        return PowerSum(error, 0.5, _of_mean_1(factors), directions)

    def _fitted(self, columns: Floats, exponent: float, *, nonnegative: bool) -> Floats:
        """Return the weights of columns that are powers, (n_columns,), which make relative errors of the powers small."""
        y, weight, n = self.y[self.train] ** (1.0 / exponent), self.weight[self.train], columns.shape[1]
        scale = np.sqrt(weight) / error_units(self.y[self.train], 1.0) ** (1.0 / exponent)
        rows = columns[self.train]
        sizes = np.maximum(np.sqrt(np.mean(np.square(rows), axis=0)), 1e-300)
        rows, targets = rows * (scale[:, None] / sizes), y * scale
        moments = Moments(rows.T @ rows, rows.T @ targets, float(targets @ targets), float(weight.sum()), len(targets))
        ridge = np.full(n, _RIDGE * float(np.trace(moments.gram)) / n)
        penalty = Quadratic(sparse.csr_array(sparse.diags_array(ridge)), np.zeros(n))
        return least_squares(moments, penalty, np.full(n, 0.0 if nonnegative else -np.inf)).weights / sizes

    def _error(self, sums: Floats, exponent: float) -> float:
        """Return the mean relative error of held-out distances that are powers of sums."""
        y, weight = self.y[self.held], self.weight[self.held]
        return float(weight @ (np.abs(sums[self.held] ** exponent - y) / error_units(y, 1.0)) / weight.sum())


def error_units(y: Floats, mean: float) -> Floats:
    """Return what errors of distances y are divided by: at least a twentieth of the mean distance, and where y is 0 the mean.

    So neither pairs of equal items decide alone, nor many different items at distance 0.
    """
    return np.where(y > 0.0, np.maximum(y, _NEAR * mean), mean)


def _of_mean_1(factors: Floats) -> tuple[float, ...]:
    """Return factors as they are stored: above 0, and 1 in the mean."""
    factors = np.maximum(factors, _LEAST * factors.max())
    return tuple((factors / factors.mean()).tolist())


def _widths(features: Floats) -> Floats:
    """Return the ranges of features, 1 where there is none."""
    widths = np.ptp(features, axis=0)
    return np.where(widths > 0.0, widths, 1.0)
