"""A sum of functions of one column and of two, as its page holds it, and as Python evaluates it with NumPy.

    f_k(x) = intercept_k + sum_n f_{k,n}(x_n) + sum_{n,l} f_{k,n,l}(x_n, x_l)

A function of one column is a Chebyshev series in each of its cells: of degree 1 where it is linear between knots, of the degree
of its splines or polynomials, and of waves of a degree at which the series has ended. So all of them are evaluated by the same
few lines, here and in ``page/machine.js``. A function of two columns is linear on the two triangles of each cell of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from .._foundation.types import Floats, Integers
from ..vectors.machines.shapes import split_off_effects
from .packed_numbers import packed


@dataclass(frozen=True, eq=False)
class Curve:
    """The functions of one column, one for each of the K outputs.

    Parameters
    ----------
    breaks : ndarray of shape (n_cells + 1,)
        The ends of the cells, increasing; a single one for a column that does not vary.
    series : ndarray of shape (K, n_cells, degree + 1)
        The coefficients of Chebyshev polynomials of t, which goes from -1 to 1 through a cell. Of a single break the first is
        the value.
    missing : ndarray of shape (K,)
        The values where the column is missing.
    outside : {"clip", "line", "series"}
        Beyond the outer breaks: the value at the break; a line from there; or the series of the outer cell.
    slopes : ndarray of shape (K, 2)
        Of the lines below and above.
    """

    breaks: Floats
    series: Floats
    missing: Floats
    outside: str
    slopes: Floats

    def values(self, x: Floats) -> Floats:
        """The functions at values (n,), of which NaN are missing: shape (n, K)."""
        there = ~np.isnan(x)
        filled = np.where(there, x, self.breaks[0])
        low, high = self.breaks[0], self.breaks[-1]
        if len(self.breaks) == 1:
            found = np.repeat(self.series[None, :, 0, 0], len(x), axis=0)
        else:
            cell = np.clip(np.searchsorted(self.breaks, filled, side="left") - 1, 0, len(self.breaks) - 2)
            width = self.breaks[cell + 1] - self.breaks[cell]
            t = 2 * (filled - self.breaks[cell]) / width - 1
            t = t if self.outside == "series" else np.clip(t, -1, 1)
            found = np.asarray(chebyshev.chebval(t, np.moveaxis(self.series[:, cell], 2, 0), tensor=False).T, dtype=np.float64)
        if self.outside == "line":
            found = found + np.minimum(filled - low, 0)[:, None] * self.slopes[:, 0]
            found = found + np.maximum(filled - high, 0)[:, None] * self.slopes[:, 1]
        return np.where(there[:, None], found, self.missing)

    def moved(self, effect: Floats) -> Curve:
        """With values (K, n_breaks + 1) added at the breaks and where it is missing, linear in between and clipped outside."""
        series = self.series.copy()
        if len(self.breaks) == 1:
            series[:, 0, 0] += effect[:, 0]
        else:
            left, right = effect[:, :-2], effect[:, 1:-1]
            series[:, :, 0] += (left + right) / 2
            series[:, :, 1] += (right - left) / 2
        return replace(self, series=series, missing=self.missing + effect[:, -1])

    def centred(self, x: Floats | None) -> tuple[Curve, Floats]:
        """With mean 0 over values (n,), or without any over the breaks; and the means (K,) that were taken away."""
        mean = self.values(self.breaks if x is None or not len(x) else x).mean(axis=0)
        series = self.series.copy()
        series[:, :, 0] -= mean[:, None]
        return replace(self, series=series, missing=self.missing - mean), mean


@dataclass(frozen=True, eq=False)
class Surface:
    """The functions of two columns: values at the breaks of both, and at a last row and column for missing ones.

    Parameters
    ----------
    features : two int
    values : ndarray of shape (K, n_first + 1, n_second + 1)
    """

    features: tuple[int, int]
    values: Floats


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """The outputs of a fitted machine as sums.

    Parameters
    ----------
    intercept : ndarray of shape (K,)
    curves : sequence of Curve
        One for each column.
    tables : sequence of Surface
    """

    intercept: Floats
    curves: Sequence[Curve]
    tables: Sequence[Surface] = ()

    @property
    def n_numbers(self) -> int:
        """How many numbers a page holds of it."""
        return sum(c.series.size + c.breaks.size for c in self.curves) + sum(t.values.size for t in self.tables)

    def terms(self, items: Floats) -> Floats:
        """What every curve and then every table adds for items (n, n_features), NaN where missing: shape (n, n_terms, K)."""
        found = [curve.values(items[:, f]) for f, curve in enumerate(self.curves)]
        for table in self.tables:
            vertices, weights = self._corners(items, table.features)
            found.append(np.einsum("nc,knc->nk", weights, table.values.reshape(len(table.values), -1)[:, vertices]))
        return np.stack(found, axis=1)

    def scores(self, items: Floats) -> Floats:
        """The outputs for items (n, n_features): shape (n, K)."""
        return self.intercept + self.terms(items).sum(axis=1)

    def purified(self, items: Floats | None) -> AdditiveModel:
        """The same function, in which no table holds a function of one column, and every term has mean 0 over the items.

        Lengerich et al. (2020) call such tables pure. Without items all breaks have the same weight.
        """
        curves, tables = list(self.curves), []
        known = items if items is not None and len(items) else None
        for table in self.tables:
            weights = self._weights(table, known)
            pure, effects = zip(*(split_off_effects(values, weights) for values in table.values), strict=True)
            tables.append(Surface(table.features, np.stack(pure)))
            for side, f in enumerate(table.features):
                curves[f] = curves[f].moved(np.stack([effect[side] for effect in effects]))
        centred = [curve.centred(None if known is None else known[:, f]) for f, curve in enumerate(curves)]
        means = np.sum([mean for _, mean in centred], axis=0)
        return AdditiveModel(self.intercept + means, [curve for curve, _ in centred], tables)

    def _weights(self, table: Surface, items: Floats | None) -> Floats:
        """The mean weight of every vertex of a table over the items; without items 0, which stands for equal weights."""
        weights = np.zeros(table.values.shape[1:])
        if items is not None:
            vertices, found = self._corners(items, table.features)
            weights += np.bincount(vertices.ravel(), found.ravel(), minlength=weights.size).reshape(weights.shape) / len(items)
        return weights

    def _corners(self, items: Floats, features: tuple[int, int]) -> tuple[Integers, Floats]:
        """The three vertices of each item in a table, and their barycentric weights, both of shape (n, 3).

        A walk from the upper corner of the cell steps down first along the column with the smaller fraction.
        """
        (a, u, n), (b, v, m) = (self._place(items[:, f], f) for f in features)
        upper = np.minimum(a + 1, n - 1) * m + np.minimum(b + 1, m - 1)
        first = u <= v
        middle = np.where(first, a * m + np.minimum(b + 1, m - 1), np.minimum(a + 1, n - 1) * m + b)
        small, large = np.minimum(u, v), np.maximum(u, v)
        return np.stack([upper, middle, a * m + b], axis=1), np.stack([small, large - small, 1 - large], axis=1)

    def _place(self, x: Floats, f: int) -> tuple[Integers, Floats, int]:
        """The lower vertex and the fraction of values (n,) of a column, and how many vertices the column has."""
        breaks = self.curves[f].breaks
        n = len(breaks)
        there = ~np.isnan(x)
        filled = np.where(there, x, breaks[0])
        cell = np.clip(np.searchsorted(breaks, filled, side="left") - 1, 0, max(n - 2, 0))
        fraction = np.zeros(len(x))
        if n > 1:
            fraction = np.clip((filled - breaks[cell]) / (breaks[cell + 1] - breaks[cell]), 0, 1)
        return np.where(there, cell, n), np.where(there, fraction, 0.0), n + 1

    def to_page(self) -> dict[str, Any]:
        """What ``makeMachine`` of ``page/machine.js`` reads."""
        return {
            "outputs": len(self.intercept), "intercept": packed(self.intercept),
            "curves": [
                {
                    "breaks": packed(curve.breaks), "series": packed(curve.series.ravel()), "degree": curve.series.shape[2] - 1,
                    "missing": packed(curve.missing), "outside": curve.outside, "slopes": packed(curve.slopes.ravel()),
                }
                for curve in self.curves
            ],
            "tables": [{"features": list(table.features), "values": packed(table.values.ravel())} for table in self.tables],
        }  # fmt: skip
