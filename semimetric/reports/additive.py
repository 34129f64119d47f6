"""A sum of functions of one column and of two, as its page holds it, and as Python evaluates it with NumPy.

    f_k(x) = intercept_k + sum_n f_{k,n}(x_n) + sum_{n,l} f_{k,n,l}(x_n, x_l)

A function of one column is a Chebyshev series in each of its cells, of degree 1 where it is linear between knots. Splines and
polynomials keep their degree, and the series of waves ends at a degree where it no longer changes. All are evaluated by the
same few lines, here and in ``page/machine.js``. A function of two columns is linear on the two triangles of each cell of a
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats, Integers
from ..vectors.embeddings.base import FeatureMap, IdentityEmbedding, Term
from ..vectors.embeddings.conic import ConicEmbedding
from ..vectors.embeddings.knots import KnotMap
from ..vectors.embeddings.orthogonal import FourierEmbedding, HermiteEmbedding
from ..vectors.embeddings.splines import BSplineEmbedding
from ..vectors.machines.shapes import split_off_effects
from .subjects import packed


@dataclass(frozen=True, eq=False)
class Curve:
    """Functions of one column, one for each of the K outputs."""

    breaks: Floats  # (n_cells + 1,): ends of the cells, increasing; a single one for a column that does not vary
    series: Floats  # (K, n_cells, degree + 1): Chebyshev coefficients of t from -1 to 1 in a cell; of a single break the value
    missing: Floats  # (K,): the values where the column is missing
    outside: str  # beyond the outer breaks: "clip" (the value there), "line" from there, or "series" of the outer cell
    slopes: Floats  # (K, 2): of the lines below and above

    def values(self, x: Floats) -> Floats:
        """Return the functions at values (n,), of which NaN are missing: shape (n, K)."""
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
    """Functions of two columns: values at the breaks of both, and at a last row and column for missing ones."""

    features: tuple[int, int]
    values: Floats  # (K, n_first + 1, n_second + 1)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """Outputs of a fitted machine as sums."""

    intercept: Floats  # (K,)
    curves: Sequence[Curve]  # one for each column
    tables: Sequence[Surface] = ()

    @property
    def n_numbers(self) -> int:
        """Number of numbers that a page holds of it."""
        return sum(c.series.size + c.breaks.size for c in self.curves) + sum(t.values.size for t in self.tables)

    def terms(self, items: Floats) -> Floats:
        """Return what every curve and table adds for items (n, n_features), NaN where missing: shape (n, n_terms, K)."""
        found = [curve.values(items[:, f]) for f, curve in enumerate(self.curves)]
        for table in self.tables:
            vertices, weights = self._corners(items, table.features)
            found.append(np.einsum("nc,knc->nk", weights, table.values.reshape(len(table.values), -1)[:, vertices]))
        return np.stack(found, axis=1)

    def scores(self, items: Floats) -> Floats:
        """Return the outputs for items (n, n_features): shape (n, K)."""
        return self.intercept + self.terms(items).sum(axis=1)

    def purified(self, items: Floats | None) -> AdditiveModel:
        """Return the same function with pure tables (Lengerich et al. 2020) and terms of mean 0 over the items."""
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
        """Return the mean weight of every vertex of a table over the items; without items 0, which stands for equal weights."""
        weights = np.zeros(table.values.shape[1:])
        if items is not None:
            vertices, found = self._corners(items, table.features)
            weights += np.bincount(vertices.ravel(), found.ravel(), minlength=weights.size).reshape(weights.shape) / len(items)
        return weights

    def _corners(self, items: Floats, features: tuple[int, int]) -> tuple[Integers, Floats]:
        """Return the three vertices of each item in a table, and their barycentric weights, both of shape (n, 3)."""
        (a, u, n), (b, v, m) = (self._place(items[:, f], f) for f in features)
        upper = np.minimum(a + 1, n - 1) * m + np.minimum(b + 1, m - 1)
        first = u <= v
        middle = np.where(first, a * m + np.minimum(b + 1, m - 1), np.minimum(a + 1, n - 1) * m + b)
        small, large = np.minimum(u, v), np.maximum(u, v)
        return np.stack([upper, middle, a * m + b], axis=1), np.stack([small, large - small, 1 - large], axis=1)

    def _place(self, x: Floats, f: int) -> tuple[Integers, Floats, int]:
        """Return the lower vertex and the fraction of values (n,) of a column, and how many vertices the column has."""
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
        """Return the sums as ``makeMachine`` of ``page/machine.js`` reads them."""
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


_SCALERS = (StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler)
_HIGHEST_POWER = 8  # of distances to anchors, which are then polynomials between them
_WAVES = 40  # Chebyshev polynomials that a series of waves takes beyond the degree at which it begins to fall


def scaling_of(model: Any, embedding: FeatureMap) -> tuple[Floats, Floats, list[Any], bool]:
    """Return how columns become features: factors, shifts, steps, and True if each maps ``a x + b``, as scalers do."""
    n = embedding.n_features_in_
    steps = _steps_before(model, embedding)
    if steps and all(isinstance(step, _SCALERS) and not getattr(step, "clip", False) for step in steps):
        zeros, ones = (_through(steps, np.full((1, n), value))[0] for value in (0.0, 1.0))
        return ones - zeros, zeros, steps, True
    return np.ones(n), np.zeros(n), steps, not steps


def _steps_before(model: Any, embedding: FeatureMap) -> list[Any]:
    """Return the fitted steps of nested pipelines that stand before the embedding or the machine, in order."""
    found: list[Any] = []
    while isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        found += steps[:-1]
        model = steps[-1]
    return [step for step in found if step is not embedding]


def _through(steps: Sequence[Any], items: Floats) -> Floats:
    for step in steps:
        names = step.__dict__.pop("feature_names_in_", None)
        try:
            items = np.asarray(step.transform(items), dtype=np.float64)
        finally:
            if names is not None:
                step.feature_names_in_ = names
    return items


def additive_model(embedding: FeatureMap, weights: Floats, intercept: Floats, factor: Floats, shift: Floats) -> AdditiveModel:
    """Return the functions that weights (K, n_columns) make of an embedding of factor x + shift."""
    breaks, degree, outside = _cells(embedding)
    singles: dict[int, list[Term]] = {f: [] for f in range(embedding.n_features_in_)}
    pairs: list[Term] = []
    for term in embedding.terms_:
        if len(term.features) == 1:
            singles[term.features[0]].append(term)
        else:
            pairs.append(term)
    columns = {f: np.concatenate([np.empty(0, np.int64), *(np.arange(t.start, t.stop) for t in singles[f])]) for f in singles}
    curves = _curves(embedding, weights, (breaks, degree, outside), columns)
    curves = [
        replace(curve, breaks=(curve.breaks - b) / a, slopes=curve.slopes * a)
        for curve, a, b in zip(curves, factor, shift, strict=True)
    ]
    return AdditiveModel(intercept, curves, [_table(embedding, weights, term) for term in pairs])


def _cells(embedding: FeatureMap) -> tuple[list[Floats], int, str]:
    """Return the ends of cells in which functions of each feature are polynomials, their degree, and their kind outside."""
    name = type(embedding).__name__
    outside = "line" if getattr(embedding, "extrapolation", "clip") == "linear" else "clip"
    if any(len(term.features) > 2 for term in embedding.terms_):
        raise NotSupportedError(
            f"{name} has terms of more than two features, which are no curves and no surfaces, so a page cannot show them; "
            "fit PL1Embedding(), PL2Embedding() or another embedding of single features and pairs, or draw the boundary by "
            "semimetric.plotting.plot_level_sets"
        )
    if isinstance(embedding, KnotMap):
        return [np.asarray(knots) for knots in embedding.grid_.knots], 1, outside
    if isinstance(embedding, BSplineEmbedding):
        return [knots if len(knots) else np.zeros(1) for knots in embedding.knots_], embedding.degree, outside
    if isinstance(embedding, FourierEmbedding | HermiteEmbedding):
        ends = zip(embedding.low_, embedding.high_, embedding.varies_, strict=True)
        breaks = [np.array([a, b]) if varies else np.array([0.0 if np.isnan(a) else a]) for a, b, varies in ends]
        waves = isinstance(embedding, FourierEmbedding)
        return breaks, int(np.pi * embedding.degree) + _WAVES if waves else embedding.degree, outside
    if isinstance(embedding, IdentityEmbedding):
        return [np.array([0.0, 1.0])] * embedding.n_features_in_, 1, "series"
    if isinstance(embedding, ConicEmbedding):
        return _between_anchors(embedding)
    raise NotSupportedError(f"{name} does not say where its functions of single features bend, so a page cannot show them")


def _between_anchors(embedding: ConicEmbedding) -> tuple[list[Floats], int, str]:
    """Return the anchors of each feature, between and beyond which whole powers of distances to them are polynomials."""
    p = float(embedding.p)
    jumps = not embedding.concatenate and any(len(anchors) > 1 for anchors in embedding.anchors_)
    if jumps or not (p == np.inf or (p.is_integer() and p <= _HIGHEST_POWER)):
        raise NotSupportedError(
            f"ConicEmbedding(p={embedding.p!r}, concatenate={embedding.concatenate!r}) is no polynomial of single features "
            f'between its anchors; give expand="each", concatenate=True and a whole power p <= {_HIGHEST_POWER}'
        )
    anchors = np.vstack(embedding.anchors_)
    breaks = []
    for column in anchors.T:
        places = np.unique(column)
        size = np.ptp(places) or max(abs(places[0]), 1.0)
        breaks.append(np.concatenate([[places[0] - size], places, [places[-1] + size]]))
    return breaks, 1 if p == np.inf else int(p), "series"


def _curves(
    embedding: FeatureMap, weights: Floats, cells: tuple[list[Floats], int, str], columns: dict[int, NDArray[Any]]
) -> list[Curve]:
    """Return the curves of all features from the values of one table of items, in which each feature has its own places."""
    breaks, degree, outside = cells
    t = chebyshev.chebpts1(degree + 1)
    may_miss = embedding.missing != "error"
    places = []
    for ends in breaks:
        inner = (ends[:-1, None] + np.diff(ends)[:, None] * (t + 1) / 2).ravel() if len(ends) > 1 else ends
        beyond = [2 * ends[0] - ends[-1], ends[0], ends[-1], 2 * ends[-1] - ends[0]] if outside == "line" else []
        places.append(np.concatenate([inner, beyond, [np.nan] * may_miss]))
    n = max(map(len, places))
    items = np.column_stack([np.concatenate([at, np.repeat(at[:1], n - len(at))]) for at in places])
    phi = sparse.csc_array(embedding.unnamed.transform(items))
    interpolate = np.linalg.inv(chebyshev.chebvander(t, degree))
    out = []
    for f, ends in enumerate(breaks):
        values = np.asarray(phi[:, columns[f]] @ weights[:, columns[f]].T)
        n_cells, K = len(ends) - 1, len(weights)
        missing = values[len(places[f]) - 1] if may_miss else np.full(K, np.nan)
        slopes = np.zeros((K, 2))
        if n_cells == 0:
            series = values[0][:, None, None]
        else:
            inner = values[: n_cells * (degree + 1)].reshape(n_cells, degree + 1, K)
            series = np.ascontiguousarray(np.moveaxis(np.einsum("ij,cjk->cik", interpolate, inner), 2, 0))
            if outside == "line":
                below, low, high, above = values[n_cells * (degree + 1) :][:4]
                slopes = np.column_stack([low - below, above - high]) / np.ptp(ends)
        out.append(Curve(ends, series, missing, outside, slopes))
    return out


def _table(embedding: FeatureMap, weights: Floats, term: Term) -> Surface:
    """Return the table of a pair: the weights of its vertices, 0 for vertices and missing values without a column."""
    assert isinstance(embedding, KnotMap)  # no other embedding has terms of two features
    f, g = term.features
    knots = [embedding.grid_.knots[k] for k in (f, g)]
    used = [_vertices(k, embedding) for k in knots]
    values = np.zeros((len(weights), len(knots[0]) + 1, len(knots[1]) + 1))
    shape = tuple(len(side) for side in used)
    if term.stop - term.start != np.prod(shape):
        raise NotSupportedError(
            f"the table of the features {f} and {g} has columns only where items of the fit lie; fit an embedding with fewer "
            "knots, or with a larger most_vertices"
        )
    values[:, used[0][:, None], used[1]] = weights[:, term.start : term.stop].reshape(-1, *shape)
    return Surface((f, g), values)


def _vertices(knots: Floats, embedding: KnotMap) -> Integers:
    """Return the vertices of a feature that have columns: knots, but 0 where zeros add nothing, and that of missing values."""
    has = np.append(knots != 0 if embedding.zero_preserving else np.ones(len(knots), bool), embedding.missing == "indicator")
    return np.flatnonzero(has)
