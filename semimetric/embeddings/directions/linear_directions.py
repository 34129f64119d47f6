"""Directions: linear features that are appended to the raw ones before the grid (docs/mathematics.md, section 2).

    features(x) = [x, M x],          M of shape (n_directions, n_features)
    features(x) = [x, M phi(x)],     phi(x) how far x has risen through every cell of a grid, so that directions bend at knots

With directions, sums over single features can depend on combinations of features. Every axiom is kept as long as the raw
features stay. Any transformer with a linear map ``components_`` gives directions: `EvenDirections`, `HistogramFeatures`,
scikit-learn's PCA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, FrozenValue, freeze
from ..._kernels.linear import linear_map
from ...data.grid import Grid
from ..pairs.monotone_scales import WarpedEmbedding
from .even_directions import EvenDirections

__all__ = ["Directions", "fit_directions", "with_directions"]


@dataclass(frozen=True, eq=False)
class Directions(FrozenValue):
    """A fitted map of the raw features, whose arrays are read only.

    Parameters
    ----------
    matrix : ndarray of shape (n_directions, n_features), or (n_directions, n_cells of all features) with ``bends``
        The matrix M of the map.
    names : tuple of str
        The name of each direction.
    bends : tuple of ndarray
        The knots of every raw feature, for directions that are linear in every cell and constant outside the knots. It is
        empty for linear directions.
    """

    matrix: Floats
    names: tuple[str, ...]
    bends: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "matrix")
        object.__setattr__(self, "bends", Grid(self.bends).knots if self.bends else ())
        shape = (len(self.names), sum(len(k) - 1 for k in self.bends) if self.bends else self.matrix.shape[-1])
        if self.matrix.shape != shape or not np.isfinite(self.matrix).all():
            raise InputError(f"directions have shape {self.matrix.shape}; finite numbers of shape {shape} are required")

    @cached_property
    def _scales(self) -> WarpedEmbedding | None:
        """The map phi of directions that bend."""
        return WarpedEmbedding(Grid(self.bends)) if self.bends else None

    @property
    def n_features(self) -> int:
        """The number of raw features."""
        return len(self.bends) or self.matrix.shape[1]

    def same_as(self, other: Directions) -> bool:
        """Whether both maps are identical to the bit; their names may differ."""
        bends = len(self.bends) == len(other.bends) and all(map(np.array_equal, self.bends, other.bends))
        return bends and np.array_equal(self.matrix, other.matrix)

    def append(self, X: Floats) -> Floats:
        """The raw features and the directions [X, X Mᵀ], shape (n_items, n_features + n_directions).

        The values of an item do not depend on the other items, not even in the last bit.
        """
        if X.shape != (len(X), self.n_features):
            raise InputError(f"X has shape {X.shape}; (n_items, {self.n_features}) is required")
        missing = np.isnan(X)
        filled = np.where(missing, 0.0, X) if missing.any() else X
        mapped = np.empty((len(X), len(self.matrix)))
        linear_map(np.ascontiguousarray(self._cells(filled)), np.array(self.matrix.T, order="C"), mapped)
        if filled is not X:  # a direction is missing where a feature that it uses is missing
            mapped[missing @ self.uses.T] = np.nan
        return np.hstack([X, mapped])

    def steps(self, X: Floats, Y: Floats) -> Floats:
        """By how much each raw feature moves each direction from a row of X to the same row of Y.

        The steps of all features add up to the difference along the direction. Where a direction is missing at one of the two,
        the step of each feature that it uses and that is missing there is 1, and others are 0; where at both, all are 0.

        Returns
        -------
        ndarray of shape (n, n_directions, n_features)
        """
        gone = np.isnan(X), np.isnan(Y)
        x, y = (self._cells(np.where(g, 0.0, side)) for g, side in zip(gone, (X, Y), strict=True))
        moved = [(y[:, a:b] - x[:, a:b]) @ self.matrix[:, a:b].T for a, b in self._columns]
        steps = np.stack(moved, axis=2)
        if gone[0].any() or gone[1].any():
            lost = [g @ self.uses.T for g in gone]
            steps[np.logical_or(*lost)] = 0.0
            steps[np.logical_xor(*lost)] = (np.logical_xor(*gone)[:, None, :] & self.uses)[np.logical_xor(*lost)]
        return steps

    def _cells(self, filled: Floats) -> Floats:
        """What the matrix maps: the raw features, or how far each has risen through its cells."""
        return filled if self._scales is None else self._scales.thermometer(filled)

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The first column of the matrix that belongs to each raw feature, and the one after its last."""
        counts = [len(k) - 1 for k in self.bends] or [1] * self.n_features
        ends = np.cumsum(counts).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """Whether each direction depends on each raw feature, shape (n_directions, n_features)."""
        return np.column_stack([(self.matrix[:, a:b] != 0).any(axis=1) for a, b in self._columns])


def with_directions(directions: Directions | None, items: Floats) -> Floats:
    """The items with the directions appended to their features; the items themselves if there are no directions."""
    return items if directions is None else directions.append(items)


def fit_directions(
    directions: Any,
    X: Floats,
    *,
    names: Sequence[str],
    random_state: int | None = None,
    usable: NDArray[np.bool_] | None = None,
) -> Directions | None:
    """The directions that the parameter ``directions=`` of an estimator stands for, fitted to the items X.

    Parameters
    ----------
    directions : None, "pca", array of shape (n_directions, n_features), transformer, list of transformers, or Directions
        A transformer is cloned and fitted unless it is fitted already; its ``components_`` is the map.
    X : ndarray of shape (n_items, n_features)
    names : sequence of str
        The names of the raw features.
    random_state : int or None
        The seed of the PCA.
    usable : ndarray of bool of shape (n_features,) or None
        The features that directions may combine, all by default; the others have the coefficient 0. Transformers are fitted
        on the usable features alone, and on the rows where none of them is missing.

    Raises
    ------
    InputError
        If the map uses another feature than it may, has the wrong shape, holds no finite numbers, or has an all-zero
        direction, or a transformer that is not fitted needs labels.
    """
    if directions is None:
        return None
    if isinstance(directions, Directions):
        return directions if usable is None else _of_numbers(directions, usable, names)
    if usable is not None and not (usable.all() and np.isfinite(X).all()):
        return _fitted_among(directions, X, usable, names, random_state)
    if isinstance(directions, str):
        if directions != "pca":
            raise InputError(
                f'directions={directions!r} is not known here; use None, "pca", an array (n_directions, n_features), or a '
                'transformer with components_. "lda" and "nca" need class labels: fit them yourself and give the array'
            )
        directions = PCA(random_state=random_state)
    if _are_transformers(directions):
        return _merged([fit_directions(d, X, names=names, random_state=random_state) for d in directions])
    if not hasattr(directions, "fit"):
        return _checked(_matrix(directions, X.shape[1]), None, X.shape[1])
    transformer = _fitted(directions, X, names)
    if not hasattr(transformer, "components_"):
        raise InputError(f"{type(transformer).__name__} has no components_; directions= needs a linear map")
    labels = [str(name) for name in transformer.get_feature_names_out()]
    return _checked(np.asarray(transformer.components_, dtype=np.float64), labels, X.shape[1])


def _are_transformers(directions: Any) -> bool:
    """Whether the directions are a list of transformers."""
    return isinstance(directions, (list, tuple)) and bool(directions) and all(hasattr(d, "fit") for d in directions)


def _merged(parts: Sequence[Directions | None]) -> Directions:
    """The directions of several transformers together; each name begins with the number of its transformer."""
    names = tuple(f"{k}:{name}" for k, part in enumerate(parts) if part for name in part.names)
    return Directions(np.vstack([part.matrix for part in parts if part]), names)


def _fitted_among(
    directions: Any, X: Floats, usable: NDArray[np.bool_], names: Sequence[str], random_state: int | None
) -> Directions | None:
    """`fit_directions` on the usable features and the items that lack none of them.

    An array, and `EvenDirections` of named features, give a coefficient for every feature, so they are checked instead.
    """
    if _are_transformers(directions):
        return _merged([_fitted_among(d, X, usable, names, random_state) for d in directions])
    named = isinstance(directions, EvenDirections) and directions.features is not None
    if named or not (isinstance(directions, str) or hasattr(directions, "fit")):
        found = fit_directions(directions, np.zeros((1, X.shape[1])), names=names)
        return None if found is None else _of_numbers(found, usable, names)
    rows = X[:, usable][np.isfinite(X[:, usable]).all(axis=1)]
    if not rows.size:
        raise InputError(
            f"directions={directions!r} have no items to be fitted on: {int(usable.sum())} features are numbers, and no item "
            "has all of them; give an array, or leave directions out"
        )
    part = fit_directions(
        directions, rows, names=[n for n, use in zip(names, usable, strict=True) if use], random_state=random_state
    )
    assert part is not None  # fit_directions returns None for directions=None alone
    matrix = np.zeros((len(part.matrix), X.shape[1]))
    matrix[:, usable] = part.matrix
    return Directions(matrix, part.names)


def _of_numbers(found: Directions, usable: NDArray[np.bool_], names: Sequence[str]) -> Directions:
    """The same directions; an error if they use a feature that is not usable."""
    if found.n_features != len(usable):
        raise InputError(
            f"directions= are of {found.n_features} features, but there are {len(usable)}; give those of the items"
        )
    wrong = np.flatnonzero(found.uses.any(axis=0) & ~usable)
    if len(wrong):
        name = names[int(wrong[0])]
        raise InputError(f"directions= use {name!r}, which is no number; directions combine numbers: leave it out")
    return found


def _fitted(transformer: Any, X: Floats, names: Sequence[str]) -> Any:
    """The transformer itself if it is fitted, else a clone of it that is fitted to X."""
    if hasattr(transformer, "components_"):
        return transformer
    fresh = clone(transformer)
    if isinstance(fresh, EvenDirections):
        return fresh.fit_named(X, names)
    try:
        return fresh.fit(X)
    except TypeError as error:
        raise InputError(
            f"{type(transformer).__name__} cannot be fitted on the items alone ({error}): fit it yourself, with labels if it "
            "needs them, and give it fitted or give its components_"
        ) from error


def _matrix(directions: Any, n_features: int) -> Floats:
    try:
        return np.array(directions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"directions cannot be read as numbers of shape (n_directions, {n_features}): give every direction one number a "
            f"feature ({error})"
        ) from error


def _checked(matrix: Floats, names: Sequence[str] | None, n_features: int) -> Directions:
    """The directions of a valid matrix. Those of a transformer, which has ``names``, go without single raw features."""
    labels = None if names is None else list(names)
    if matrix.ndim == 2 and labels is not None:
        combines = (matrix != 0).sum(axis=1) != 1
        matrix = matrix[combines]
        labels = [name for name, keep in zip(labels, combines, strict=True) if keep]
    if matrix.ndim != 2 or matrix.shape[1] != n_features:
        raise InputError(f"directions have shape {matrix.shape}; (n_directions, {n_features}) is required")
    if not np.isfinite(matrix).all() or (np.abs(matrix).max(axis=1, initial=0.0) == 0).any():
        raise InputError("directions must be finite, and none may be all 0; correct or drop those rows")
    return Directions(matrix, tuple(labels or (f"direction{k}" for k in range(len(matrix)))))
