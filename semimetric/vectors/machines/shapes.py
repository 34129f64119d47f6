"""The functions of one feature and of two that an additive model has learned (paper 0, section 2 and Figs. 2 and 4).

    f(x) = intercept + sum_n f_n(x_n) + sum_{n,l} f_{n,l}(x_n, x_l)

A function of two features can contain functions of one, so the split is not unique. `Shapes.purified` makes it unique: it moves
what depends on one feature alone out of every f_{n,l}, while f stays the same function. Let m_ij be the mean weight of the knot
(i, j) over the items. A table T is pure if sum_j m_ij T_ij = 0 for all i, and sum_i m_ij T_ij = 0 for all j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats, as_vector
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.text import html_table, number_text
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_items
from ..embeddings.base import FeatureMap
from ..embeddings.homogeneous_kernels import AdditiveChi2Embedding
from ..embeddings.orthogonal import FourierEmbedding, HermiteEmbedding
from ..embeddings.piecewise import PL2Embedding
from ..embeddings.splines import BSplineEmbedding
from .base import EmbeddedLinear

_MOST_SHOWN = 50  # functions of which a notebook shows a line
_IN_A_CELL = 16  # places in each cell of a spline that is curved there
_IN_A_RANGE = 201  # places in the range of a feature whose functions are waves or polynomials


def shape_places(embedding: FeatureMap) -> dict[int, Floats]:
    """Return the increasing places of every feature: knots of a grid, else 16 for each cell of a spline or 201 in all."""
    if hasattr(embedding, "grid_") and all(len(term.features) <= 2 for term in embedding.terms_):
        return dict(enumerate(embedding.grid_.knots))
    if isinstance(embedding, BSplineEmbedding):
        return {f: _between(knots, embedding.degree) for f, knots in enumerate(embedding.knots_)}
    if isinstance(embedding, AdditiveChi2Embedding | FourierEmbedding | HermiteEmbedding):
        ends = zip(embedding.low_, embedding.high_, embedding.varies_, strict=True)
        return {f: np.linspace(a, b, _IN_A_RANGE) if varies else _one(a) for f, (a, b, varies) in enumerate(ends)}
    raise NotSupportedError(
        f"{type(embedding).__name__} has no functions of one and two features at knots; use curve() and surface()"
    )


def _between(knots: Floats, degree: int) -> Floats:
    """Return the knots, and points between them where splines of this degree are curved."""
    if len(knots) < 2:
        return _one(knots[0] if len(knots) else 0.0)
    if degree == 1:
        return knots
    steps = np.arange(_IN_A_CELL) / _IN_A_CELL
    return np.append((knots[:-1, None] + np.diff(knots)[:, None] * steps).ravel(), knots[-1])


def _one(value: float) -> Floats:
    """Return the single value of a feature that does not vary; 0 where it is always missing."""
    return np.array([0.0 if np.isnan(value) else float(value)])


_MAX_ROUNDS = 10_000  # of moving effects of single features out of a table
_TOL = 1e-12  # effects that may be left in a table, divided by its largest entry


def curve(embedding: FeatureMap, coef: ArrayLike, feature: int, at: ArrayLike, *, base: ArrayLike | None = None) -> Floats:
    """Return the function f_n at given values: the sum of all terms that depend on this feature alone.

    Parameters
    ----------
    embedding : FeatureMap
        Fitted.
    coef : array-like of shape (n_columns,)
        Weights of a linear model, for one class.
    feature : int
        The number n of the feature.
    at : array-like of shape (n_points,)
        Values of the feature.
    base : array-like of shape (n_features,) or None
        An item that the embedding can embed, from which the other features are taken; zeros by default.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> from semimetric import PL1Embedding
    >>> embedding = PL1Embedding(2).fit([[0.0, 0.0], [1.0, 1.0]])
    >>> curve(embedding, [0.0, 1.0, 0.0, 2.0], 1, [0.25, 0.5])
    array([0.5, 1. ])
    """
    values = as_floats(at, "at")
    return _sum_of_terms(embedding, coef, (feature,), values[:, None], base)


def surface(
    embedding: FeatureMap, coef: ArrayLike, pair: Sequence[int], at: Sequence[ArrayLike], *, base: ArrayLike | None = None
) -> Floats:
    """Return f_{n,l} at all pairs of given values: all terms that depend on these two features alone.

    Parameters
    ----------
    embedding : FeatureMap
        Fitted.
    coef : array-like of shape (n_columns,)
        Weights of a linear machine, of one class.
    pair : two int
        The features n and l.
    at : two array-like, of shapes (n_first,) and (n_second,)
        Values of feature n and of feature l.
    base : array-like of shape (n_features,) or None, default None
        An item that the embedding takes, whose other features are kept; None is zeros.

    Returns
    -------
    ndarray of shape (n_first, n_second)
        0 where there is no term.

    Examples
    --------
    >>> embedding = PL2Embedding(2).fit([[0.0, 0.0], [1.0, 1.0]])
    >>> surface(embedding, np.ones(embedding.n_columns_), (0, 1), ([0.2, 0.8], [0.5])).shape
    (2, 1)
    """
    first, second = (as_floats(values, "at") for values in at)
    points = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    return _sum_of_terms(embedding, coef, tuple(pair), points, base).reshape(len(first), len(second))


def _sum_of_terms(embedding: FeatureMap, coef: ArrayLike, features: tuple[int, ...], points: Floats, base: Any) -> Floats:
    """Return the sum, at points (n, len(features)), of the terms that depend on exactly these features; shape (n,)."""
    w = _checked_weights(embedding, coef)
    n = embedding.n_features_in_
    if not all(0 <= f < n for f in features):
        raise InputError(f"features {features} are not among the {n} of the embedding; numbers from 0 to {n - 1} are required")
    items = np.zeros((len(points), n)) if base is None else np.tile(as_vector(base, "base"), (len(points), 1))
    items[:, list(features)] = points
    terms = [term for term in embedding.terms_ if sorted(term.features) == sorted(features)]
    columns = np.concatenate([np.empty(0, np.int64), *(np.arange(term.start, term.stop) for term in terms)])
    phi = embedding.unnamed.transform(items)[:, columns]
    return np.asarray(phi @ w[columns], dtype=np.float64)


def _checked_weights(embedding: FeatureMap, coef: ArrayLike) -> Floats:
    check_is_fitted(embedding, "n_columns_")
    w = as_floats(coef, "coef")
    if not np.isfinite(w).all():
        raise InputError("coef holds NaN or infinity; finite weights are required: fit the machine on scaled features")
    if w.shape != (embedding.n_columns_,):
        raise InputError(
            f"coef has shape {w.shape}; ({embedding.n_columns_},) is required, the weights of one class: give machine.coef_[k]"
        )
    return w


@dataclass(frozen=True, repr=False)
class Shapes:
    """The functions of an additive linear model, by their values at knots, or at many places where they are curved.

    Of PL1, PL2 and B-splines of degree 1 they are exact: linear between the knots. Of other B-splines, Fourier and Hermite
    embeddings there are so many places that they are nearly so.

    Parameters
    ----------
    intercept : float
    knots : dict of int to ndarray
        The knots of every feature.
    curves : dict of int to ndarray
        The values of f_n at the knots of feature n; it is linear in between.
    tables : dict of (int, int) to ndarray
        The values of f_{n,l} at the knots of both features, shape (knots of n, knots of l); it is linear on the two triangles
        of each cell.
    names : tuple of str
        The names of the features; empty for x0, x1, and so on.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> shapes = Shapes.of(PL2Embedding(n_knots=2).fit(X), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    >>> shapes.purified(X).tables[0, 1]
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    intercept: float
    knots: Mapping[int, Floats]
    curves: Mapping[int, Floats]
    tables: Mapping[tuple[int, int], Floats]
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        tables = f" and {len(self.tables)} of two" if self.tables else ""
        shown = ", ".join(self.feature_names[:5]) + (", ..." if len(self.feature_names) > 5 else "")
        return f"Shapes: {len(self.curves)} functions of one feature{tables}, intercept {self.intercept:.4g}; features {shown}"

    def _repr_html_(self) -> str:
        rows = [("function of", "least", "largest")]
        for name, values in list(self.by_name().items())[:_MOST_SHOWN]:
            rows.append((name, number_text(values.min()), number_text(values.max())))
        more = len(self.curves) + len(self.tables) - _MOST_SHOWN
        notes = [f"{more:,} more functions: see to_frame()"] if more > 0 else []
        return html_table(rows, title=repr(self), notes=notes)

    def by_name(self) -> dict[str, Floats]:
        """Return the values of every function by its name, which for two features is joined by " * "."""
        names = self.feature_names
        curves = {names[f]: values for f, values in self.curves.items()}
        return curves | {f"{names[f]} * {names[g]}": values for (f, g), values in self.tables.items()}

    def plot(self, ax: Axes | None = None, *, most: int = 12) -> Axes:
        """Draw a bar for each function, from its least to its largest value; see `semimetric.plotting.plot_shapes`."""
        return picture("plot_shapes")(self, ax, most=most)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features: those of the frame in the fit of the embedding, or x0, x1, ..."""
        return self.names or tuple(f"x{f}" for f in self.knots)

    def feature_number(self, feature: str | int) -> int:
        """Return the number of a feature that is given by name or number."""
        names = self.feature_names
        number = names.index(feature) if isinstance(feature, str) and feature in names else feature
        if not isinstance(number, int | np.integer) or number not in self.curves:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise InputError(f"feature={feature!r} is not known; use one of 0 to {len(names) - 1}, or a name: {shown}")
        return int(number)

    @classmethod
    def of(cls, model: Any, coef: ArrayLike | None = None, intercept: float | None = None, *, of_class: Any = None) -> Shapes:
        """Return the functions of a fitted machine, of a pipeline that ends in one, or of an embedding and weights.

        Parameters
        ----------
        model : EmbeddedLinearClassifier, EmbeddedLinearRegressor, Pipeline or FeatureMap
            Fitted; features of a pipeline are those of its last step, or of the embedding before a linear model of
            scikit-learn.
        coef : array-like of shape (n_columns,) or None
            For an embedding alone, the weights of a linear model, of one class; others bring theirs.
        intercept : float or None
            Beside ``coef``; None is 0.
        of_class : object
            The class whose score the functions are, of three or more; of two classes it is the second.

        Raises
        ------
        NotSupportedError
            If ``model`` is none of these, or the embedding has terms of three features or more, or is of distances, as
            `ConicEmbedding` is; use `curve` and `surface`. A learned distance has tables of pairs of items: see
            `semimetric.plotting.plot_table`.
        InputError
            If there are no weights or two of them, or ``of_class`` is missing or no class.
        """
        if not isinstance(model, FeatureMap):
            if coef is not None or intercept is not None:
                raise InputError(
                    f"{type(model).__name__} has weights of its own; give coef= and intercept= beside an embedding"
                )
            embedding, coef, intercept = _machine_of(model, of_class)
        elif coef is None or of_class is not None:
            raise InputError("an embedding alone has no weights and classes; give coef= of one class, or a fitted machine")
        else:
            embedding = model
        return cls._of_weights(embedding, coef, intercept or 0.0)

    @classmethod
    def _of_weights(cls, embedding: FeatureMap, coef: ArrayLike, intercept: float) -> Shapes:
        """Return the functions that the weights ``coef`` (n_columns,) make of an embedding with knots."""
        check_is_fitted(embedding, "n_columns_")
        knots = shape_places(embedding)
        w = _checked_weights(embedding, coef)
        low = np.array([places[0] for places in knots.values()])
        curves = {f: curve(embedding, w, f, values, base=low) for f, values in knots.items()}
        tables = {}
        for term in embedding.terms_:
            if len(term.features) == 2:
                first, second = term.features
                tables[first, second] = surface(embedding, w, (first, second), (knots[first], knots[second]), base=low)
        return cls(float(intercept), knots, curves, tables, tuple(embedding.feature_names))

    def purified(self, X: ArrayLike) -> Shapes:
        """Return the same f with unique parts: over X (n_items, n_features) tables are pure, and curves have mean 0."""
        items = check_items(X, n_features=len(self.knots))
        curves = dict(self.curves)
        tables = {}
        intercept = self.intercept
        for pair, table in self.tables.items():
            tables[pair], effects = split_off_effects(table, self._knot_weights(items, pair))
            for f, effect in zip(pair, effects, strict=True):
                curves[f] = curves[f] + effect
        for f, values in curves.items():
            mean = float(self._knot_weights(items, (f,)) @ values)
            curves[f] = values - mean
            intercept = intercept + mean
        return replace(self, intercept=intercept, curves=curves, tables=tables)

    def _knot_weights(self, items: Floats, features: tuple[int, ...]) -> Floats:
        """Return the mean weight over the items of every knot of a feature, or of every pair of knots of two; the sum is 1."""
        knots = [self.knots[f] for f in features]
        embedding = PL2Embedding(knots=knots).fit(items[:, list(features)])
        mean = np.asarray(embedding.transform(items[:, list(features)]).mean(axis=0)).ravel()
        term = embedding.terms_[-1]
        return mean[term.start : term.stop].reshape([len(k) for k in knots])

    def to_frame(self) -> Any:
        """Return the values of all functions at their knots as a frame of pandas, a row for each.

        Returns
        -------
        DataFrame with the columns "feature", "value" and "score"
            The name of the feature, or of two joined by " * "; a knot, or a tuple of two; and what is added there.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from semimetric import PL1Embedding
        >>> Shapes.of(PL1Embedding(2).fit([[0.0], [1.0]]), [-1.0, 1.0]).to_frame()
          feature  value  score
        0      x0    0.0   -1.0
        1      x0    1.0    1.0
        """
        names = list(self.feature_names)
        rows: list[tuple[str, Any, float]] = [
            (names[f], float(v), float(s))
            for f, curve in self.curves.items()
            for v, s in zip(self.knots[f], curve, strict=True)
        ]
        rows += [
            (f"{names[f]} * {names[g]}", point, float(s))
            for (f, g), table in self.tables.items()
            for point, s in zip(product(self.knots[f].tolist(), self.knots[g].tolist()), np.ravel(table), strict=True)
        ]
        return optional("pandas").DataFrame(rows, columns=["feature", "value", "score"])


def machine_of(model: Any) -> tuple[FeatureMap, Any]:
    """Return the embedding and the linear model on it: of a fitted machine, or of the end of a pipeline."""
    last, before = model, None
    while isinstance(last, Pipeline):
        check_is_fitted(last)
        steps = [step for _, step in last.steps if step is not None and step != "passthrough"]
        last, before = steps[-1], steps[-2] if len(steps) > 1 else before
    embedding = before if isinstance(before, FeatureMap) else getattr(last, "embedding_", None)
    if isinstance(last, EmbeddedLinear):
        check_is_fitted(last)
        embedding = last.embedding_
    elif hasattr(last, "coef_") and before is not None and not isinstance(before, FeatureMap):
        raise NotSupportedError(
            f"the weights of {type(last).__name__} are those of what {type(before).__name__} gives, which is no embedding; "
            "put an embedding directly before it, or take an EmbeddedLinearClassifier or EmbeddedLinearRegressor"
        )
    if not isinstance(embedding, FeatureMap) or not hasattr(last, "coef_"):
        raise NotSupportedError(
            f"{type(last).__name__} is no additive function of features; taken are an EmbeddedLinearClassifier or "
            "EmbeddedLinearRegressor, a pipeline that ends in one or in an embedding and a linear model, and an embedding with "
            "coef=. Tables of a learned distance are drawn by semimetric.plotting.plot_table(model, feature)"
        )
    return embedding, last


def _machine_of(model: Any, of_class: Any) -> tuple[FeatureMap, Floats, float]:
    """Return the embedding, the weights (n_columns,) and the intercept of a fitted machine, or of the end of a pipeline."""
    embedding, last = machine_of(model)
    weights, intercepts = np.atleast_2d(last.coef_), np.ravel(last.intercept_)
    k = _number_of_class(last, len(weights), of_class)
    return embedding, weights[k], float(intercepts[k if len(intercepts) > 1 else 0])


def _number_of_class(machine: Any, n: int, of_class: Any) -> int:
    """Return the row of the weights, of which there are ``n``, that makes the score of a class."""
    classes = list(getattr(machine, "classes_", ()))
    if n == 1 and (of_class is None or (classes and of_class == classes[-1])):
        return 0
    if n > 1 and of_class in classes:
        return classes.index(of_class)
    shown = ", ".join(map(repr, np.array(classes).tolist()[:8]))
    if of_class is None and n > 1:
        raise InputError(f"of_class=None, but each of the classes {shown} has a score of its own; give one of them")
    of_two = "; of two classes the functions are the score of the second" if n == 1 else ""
    raise InputError(f"of_class={of_class!r} is none of the classes that have a score of their own: {shown or 'none'}{of_two}")


def split_off_effects(table: Floats, knot_weights: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return a pure table and the effects of both features that were in it; a knot without items has equal weights."""
    of_rows = _normalized_rows(knot_weights)
    of_columns = _normalized_rows(knot_weights.T)
    first_effect = np.zeros(table.shape[0])
    second_effect = np.zeros(table.shape[1])
    for _ in range(_MAX_ROUNDS):
        row_means = (table * of_rows).sum(axis=1)
        table = table - row_means[:, None]
        first_effect = first_effect + row_means
        column_means = (table.T * of_columns).sum(axis=1)
        table = table - column_means
        second_effect = second_effect + column_means
        moved = max(float(np.abs(row_means).max()), float(np.abs(column_means).max()))
        if moved <= _TOL * max(float(np.abs(table).max()), 1e-300):
            break
    return table, (first_effect, second_effect)


def _normalized_rows(weights: Floats) -> Floats:
    """Return rows that sum to 1; a row of zeros gets equal weights."""
    positive = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, 1.0)
    return positive / positive.sum(axis=1, keepdims=True)
