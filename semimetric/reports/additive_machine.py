"""From a fitted machine on an embedding to the functions of one column and of two that it is the sum of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats, Integers
from ..vectors.embeddings.base import FeatureMap, Term
from ..vectors.embeddings.conic import ConicEmbedding
from ..vectors.embeddings.identity import IdentityEmbedding
from ..vectors.embeddings.knots import KnotMap
from ..vectors.embeddings.orthogonal import FourierEmbedding, HermiteEmbedding
from ..vectors.embeddings.splines import BSplineEmbedding
from .additive_model import AdditiveModel, Curve, Surface

_SCALERS = (StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler)
_HIGHEST_POWER = 8  # of distances to anchors, which are then polynomials between them
_WAVES = 40  # Chebyshev polynomials that a series of waves takes beyond the degree at which it begins to fall


def scaling_of(model: Any, embedding: FeatureMap) -> tuple[Floats, Floats, list[Any], bool]:
    """How columns become features of the embedding: factors, shifts, the steps that do it, and whether each does it alone.

    Steps of scalers map each column by itself, ``a x + b``, so that functions can be told of the columns as they were given.
    Of other steps the columns are those that the last of them makes: factors are 1, and shifts 0.
    """
    n = embedding.n_features_in_
    steps = _steps_before(model, embedding)
    if steps and all(isinstance(step, _SCALERS) and not getattr(step, "clip", False) for step in steps):
        zeros, ones = (_through(steps, np.full((1, n), value))[0] for value in (0.0, 1.0))
        return ones - zeros, zeros, steps, True
    return np.ones(n), np.zeros(n), steps, not steps


def _steps_before(model: Any, embedding: FeatureMap) -> list[Any]:
    """The fitted steps of a pipeline that stand before the embedding or the machine, those of nested pipelines in order."""
    found: list[Any] = []
    while isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        found += steps[:-1]
        model = steps[-1]
    return [step for step in found if step is not embedding]


def _through(steps: Sequence[Any], items: Floats) -> Floats:
    """Items after steps, which are given arrays whatever they were fitted on."""
    for step in steps:
        names = step.__dict__.pop("feature_names_in_", None)
        try:
            items = np.asarray(step.transform(items), dtype=np.float64)
        finally:
            if names is not None:
                step.feature_names_in_ = names
    return items


def additive_model(embedding: FeatureMap, weights: Floats, intercept: Floats, factor: Floats, shift: Floats) -> AdditiveModel:
    """The functions that weights (K, n_columns) make of an embedding, of the columns x of which it is given factor x + shift.

    Raises
    ------
    NotSupportedError
        If some terms depend on more than two features, or are not smooth between places that are known.
    """
    breaks, degree, outside = _cells(embedding)
    singles: dict[int, list[Term]] = {f: [] for f in range(embedding.n_features_in_)}
    pairs: list[Term] = []
    for term in embedding.terms_:
        if len(term.features) == 1:
            singles[term.features[0]].append(term)
        else:
            pairs.append(term)
    columns = {f: np.concatenate([np.empty(0, np.int64), *(np.arange(t.start, t.stop) for t in singles[f])]) for f in singles}
    curves = _curves(embedding, weights, (breaks, degree, outside), columns, factor)
    curves = [_rescaled(curve, a, b) for curve, a, b in zip(curves, factor, shift, strict=True)]
    return AdditiveModel(intercept, curves, [_table(embedding, weights, term) for term in pairs])


def _cells(embedding: FeatureMap) -> tuple[list[Floats], int, str]:
    """The ends of cells in which the functions of each feature are polynomials, their degree, and what they are outside."""
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
    raise NotSupportedError(f"{name} does not tell where its functions of single features bend, so a page cannot show them")


def _between_anchors(embedding: ConicEmbedding) -> tuple[list[Floats], int, str]:
    """The anchors of each feature, between and beyond which whole powers of distances to them are polynomials."""
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
    embedding: FeatureMap,
    weights: Floats,
    cells: tuple[list[Floats], int, str],
    columns: dict[int, NDArray[Any]],
    factor: Floats,
) -> list[Curve]:
    """The curves of all features, of which one table of items gives the values: each feature has its own places in it."""
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


def _rescaled(curve: Curve, a: float, b: float) -> Curve:
    """A curve of z as one of x, where z = a x + b."""
    return Curve((curve.breaks - b) / a, curve.series, curve.missing, curve.outside, curve.slopes * a)


def _table(embedding: FeatureMap, weights: Floats, term: Term) -> Surface:
    """The table of a pair: the weights of its vertices, 0 where a vertex has no column, and for missing values without one."""
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
    """The vertices of a feature that have columns: knots, without 0 where zeros add nothing, and that of missing values."""
    has = np.append(knots != 0 if embedding.zero_preserving else np.ones(len(knots), bool), embedding.missing == "indicator")
    return np.flatnonzero(has)
