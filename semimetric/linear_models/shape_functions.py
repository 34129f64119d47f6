"""What an additive machine has learned, as functions of one feature and of two (paper 0, section 2 and Figs. 2 and 4).

    f(x) = intercept + sum_n f_n(x_n) + sum_{n,l} f_{n,l}(x_n, x_l)

A function of two features can hold functions of one, so the split is not unique. `Shapes.purified` makes it so: it moves out of
every f_{n,l} what depends on one feature alone, and f stays the same function. With m_ij the share of the items that the hat
of knot (i, j) carries, a table T is pure if sum_j m_ij T_ij = 0 for all i, and sum_i m_ij T_ij = 0 for all j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_items
from ..embeddings.vectors.base import FeatureMap
from ..embeddings.vectors.piecewise import PL2Embedding

__all__ = ["Shapes", "curve", "surface"]

_ROUNDS, _TOL = 10_000, 1e-12  # of moving effects out of a table, and how much of it may be left


def curve(embedding: FeatureMap, coef: ArrayLike, feature: int, at: ArrayLike, *, base: ArrayLike | None = None) -> Floats:
    """f_n at given values: all terms of the embedding that depend on this feature alone.

    Parameters
    ----------
    embedding : FeatureMap
        Fitted.
    coef : array-like of shape (n_columns,)
        Weights of a linear machine, of one class.
    feature : int
    at : array-like of shape (n_points,)
    base : array-like of shape (n_features,) or None
        An item that the embedding takes, whose other features are kept; zeros by default.

    Returns
    -------
    ndarray of shape (n_points,)
    """
    values = np.asarray(at, dtype=np.float64)
    return _sum_of(embedding, coef, (feature,), values[:, None], base)


def surface(
    embedding: FeatureMap, coef: ArrayLike, pair: Sequence[int], at: Sequence[ArrayLike], *, base: ArrayLike | None = None
) -> Floats:
    """f_{n,l} at all pairs of given values: all terms of the embedding that depend on these two features alone.

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
    """
    first, second = (np.asarray(values, dtype=np.float64) for values in at)
    points = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    return _sum_of(embedding, coef, tuple(pair), points, base).reshape(len(first), len(second))


def _sum_of(embedding: FeatureMap, coef: ArrayLike, features: tuple[int, ...], points: Floats, base: Any) -> Floats:
    """Sum of the terms that depend on these features, and on no other."""
    w = _weights(embedding, coef)
    n = embedding.n_features_in_
    if not all(0 <= f < n for f in features):
        raise InputError(f"features {features} are not among the {n} of the embedding; numbers from 0 to {n - 1} are required")
    rows = np.zeros((len(points), n)) if base is None else np.tile(np.asarray(base, dtype=np.float64), (len(points), 1))
    rows[:, list(features)] = points
    wanted = sorted(features)
    parts = [np.arange(t.start, t.stop) for t in embedding.terms_ if sorted(t.features) == wanted]
    columns = np.concatenate([np.empty(0, np.int64), *parts])
    phi = embedding.transform(rows)[:, columns]
    return np.asarray(phi @ w[columns], dtype=np.float64)


def _weights(embedding: FeatureMap, coef: ArrayLike) -> Floats:
    check_is_fitted(embedding, "n_columns_")
    w = np.asarray(coef, dtype=np.float64)
    if not np.isfinite(w).all():
        raise InputError("coef holds NaN or infinity; finite weights are required: fit the machine on scaled features")
    if w.shape != (embedding.n_columns_,):
        raise InputError(
            f"coef has shape {w.shape}; ({embedding.n_columns_},) is required, the weights of one class: give machine.coef_[k]"
        )
    return w


@dataclass(frozen=True)
class Shapes:
    """The functions of a machine on PL1 or PL2, by their values at the knots.

    Parameters
    ----------
    intercept : float
    knots : dict of int to ndarray
        The knots of every feature.
    curves : dict of int to ndarray
        f_n at the knots of feature n; linear in between.
    tables : dict of (int, int) to ndarray
        f_{n,l} at the knots of both features, shape (knots of n, knots of l); linear on two triangles a cell.

    Examples
    --------
    >>> from semimetric import PL2Embedding
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> embedding = PL2Embedding(n_knots=2).fit(X)
    >>> shapes = Shapes.of(embedding, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    >>> shapes.purified(X).tables[0, 1]
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    intercept: float
    knots: Mapping[int, Floats]
    curves: Mapping[int, Floats]
    tables: Mapping[tuple[int, int], Floats]

    @classmethod
    def of(cls, embedding: FeatureMap, coef: ArrayLike, intercept: float = 0.0) -> Shapes:
        """The functions that ``coef`` (n_columns,) makes on an embedding with knots.

        Raises
        ------
        NotSupportedError
            If the embedding has terms of three features or more, or no knots; use `curve` and `surface`.
        """
        check_is_fitted(embedding, "n_columns_")
        if not hasattr(embedding, "grid_") or any(len(t.features) > 2 for t in embedding.terms_):
            raise NotSupportedError(
                f"{type(embedding).__name__} has no functions of one and two features at knots; use curve() and surface()"
            )
        w, grid = _weights(embedding, coef), embedding.grid_
        knots = {f: k for f, k in enumerate(grid.knots)}
        curves = {f: curve(embedding, w, f, k, base=grid.low) for f, k in knots.items()}
        pairs = [t.features for t in embedding.terms_ if len(t.features) == 2]
        tables = {p: surface(embedding, w, p, [knots[f] for f in p], base=grid.low) for p in pairs}
        return cls(float(intercept), knots, curves, tables)  # type: ignore[arg-type]

    def purified(self, X: ArrayLike) -> Shapes:
        """The same f, its parts made unique by the items X (n_items, n_features): pure tables, and curves of mean 0."""
        items = check_items(X, n_features=len(self.knots))
        curves, tables, intercept = dict(self.curves), {}, self.intercept
        for pair, values in self.tables.items():
            mass = self._mass(items, pair)
            tables[pair], rises = _pure(values, mass)
            for f, rise in zip(pair, rises, strict=True):
                curves[f] = curves[f] + rise
        for f, values in curves.items():
            mean = float(self._mass(items, (f,)) @ values)
            curves[f], intercept = values - mean, intercept + mean
        return replace(self, intercept=intercept, curves=curves, tables=tables)

    def _mass(self, items: Floats, features: tuple[int, ...]) -> Floats:
        """Mean weight of every knot, or pair of knots, over the items; sums to 1."""
        knots = [self.knots[f] for f in features]
        hats = PL2Embedding(knots=knots).fit(items[:, list(features)])
        mean = np.asarray(hats.transform(items[:, list(features)]).mean(axis=0)).ravel()
        term = hats.terms_[-1]
        return mean[term.start : term.stop].reshape([len(k) for k in knots])


def _pure(table: Floats, mass: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
    """A table without effects of one feature, and these effects; a knot without items gives its plain mean."""
    rises = [np.zeros(n) for n in table.shape]
    weight = [np.where(m.sum(axis=1, keepdims=True) > 0, m, 1.0) for m in (mass, mass.T)]
    weight = [m / m.sum(axis=1, keepdims=True) for m in weight]
    for _ in range(_ROUNDS):
        moved = 0.0
        for axis in (0, 1):
            mean = ((table if axis == 0 else table.T) * weight[axis]).sum(axis=1)
            table = table - (mean[:, None] if axis == 0 else mean)
            rises[axis] = rises[axis] + mean
            moved = max(moved, float(np.abs(mean).max()))
        if moved <= _TOL * max(float(np.abs(table).max()), 1e-300):
            break
    return table, (rises[0], rises[1])
