"""Directions: linear features, and leaves of trees, that are appended to the raw features before the grid.

    features(x) = [x, M x, leaves(x)],       M of shape (n_linear, n_features)
    features(x) = [x, M phi(x), leaves(x)],  phi(x) how far x has risen through every cell of a grid, so that they bend at knots

With directions, sums over single features can depend on combinations of features. Every axiom but continuity, which leaves
break, is kept as long as the raw features stay (docs/mathematics.md, section 2). Any transformer with a linear map
``components_`` gives directions: `EvenDirections`, `HistogramFeatures`, scikit-learn's PCA; `PartitionFeatures` gives leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA

from ..._foundation.errors import InputError
from ..._foundation.storable import storable
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from ..._kernels.linear import linear_map
from ...data.grid import Grid
from ...data.schema import Schema
from ..pairs.monotone_scales import WarpedEmbedding
from .even_directions import EvenDirections
from .forests import MOST_LEAVES, is_fitted_forest, partitions_of
from .partition_features import PartitionFeatures
from .partitions import Partitions

__all__ = ["Directions", "fit_directions", "with_directions"]


@storable
@dataclass(frozen=True, eq=False)
class Directions(FrozenValue):
    """A fitted map of the raw features, whose arrays are read only.

    Parameters
    ----------
    matrix : ndarray of shape (n_linear, n_features), or (n_linear, n_cells of all features) with ``bends``
        The matrix M of the map.
    names : tuple of str
        The name of each direction: of the rows of the matrix, then of the trees.
    bends : tuple of ndarray
        The knots of every raw feature, for directions that are linear in every cell and constant outside the knots. It is
        empty for linear directions.
    partitions : Partitions or None
        The trees, each of which has at least two leaves; the number of a leaf is a category.
    """

    matrix: Floats
    names: tuple[str, ...]
    bends: tuple[Floats, ...] = ()
    partitions: Partitions | None = None

    def __post_init__(self) -> None:
        freeze(self, "matrix")
        object.__setattr__(self, "bends", Grid(self.bends).knots if self.bends else ())
        n_linear = len(self.names) - self.n_trees
        shape = (n_linear, sum(len(k) - 1 for k in self.bends) if self.bends else self.matrix.shape[-1])
        if self.matrix.shape != shape or not np.isfinite(self.matrix).all():
            raise InputError(f"directions have shape {self.matrix.shape}; finite numbers of shape {shape} are required")
        trees = self.partitions
        if trees is not None and (
            trees.n_features != self.n_features or not 2 <= trees.n_leaves.min() <= trees.n_leaves.max() <= MOST_LEAVES
        ):
            raise InputError(
                f"trees have {trees.n_leaves.min()} to {trees.n_leaves.max()} leaves over {trees.n_features} features; 2 to "
                f"{MOST_LEAVES} leaves over {self.n_features} features are required"
            )

    @classmethod
    def of_trees(cls, partitions: Partitions) -> Directions | None:
        """The trees that part the items, as directions; None if none does."""
        parting = np.flatnonzero(partitions.n_leaves > 1)
        if not len(parting):
            return None
        trees = partitions if len(parting) == len(partitions) else partitions.select(parting)
        return cls(np.empty((0, trees.n_features)), tuple(f"tree{t}" for t in parting), (), trees)

    @property
    def n_linear(self) -> int:
        """The number of directions that are linear, which come before the trees."""
        return len(self.matrix)

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return 0 if self.partitions is None else len(self.partitions)

    def select(self, rows: Integers) -> Directions | None:
        """Some of the directions, by their numbers, in increasing order; None if there are none."""
        linear, trees = rows[rows < self.n_linear], rows[rows >= self.n_linear] - self.n_linear
        partitions = self.partitions.select(trees) if self.partitions is not None and len(trees) else None
        names = tuple(self.names[r] for r in rows)
        return Directions(self.matrix[linear], names, self.bends, partitions) if len(rows) else None

    def extended(self, schema: Schema) -> Schema:
        """The schema of the raw features, followed by those of the directions; the categories of a tree are its leaves."""
        n_leaves = () if self.partitions is None else self.partitions.n_leaves.tolist()
        return schema.extended(self.names, self.uses, n_leaves)

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
        a, b = self.partitions, other.partitions
        trees = a is b if a is None or b is None else a.same_as(b)
        return trees and bends and np.array_equal(self.matrix, other.matrix)

    def append(self, X: Floats) -> Floats:
        """The raw features, the linear directions, and the leaves [X, X Mᵀ, leaves], (n_items, n_features + n_directions).

        The values of an item do not depend on the other items, not even in the last bit.
        """
        if X.shape != (len(X), self.n_features):
            raise InputError(f"X has shape {X.shape}; (n_items, {self.n_features}) is required")
        missing = np.isnan(X)
        filled = np.where(missing, 0.0, X) if missing.any() else X
        mapped = np.empty((len(X), len(self.matrix)))
        linear_map(np.ascontiguousarray(self._cells(filled)), np.array(self.matrix.T, order="C"), mapped)
        if filled is not X:  # a direction is missing where a feature that it uses is missing
            mapped[missing @ self.uses[: self.n_linear].T] = np.nan
        return np.hstack([X, mapped] if self.partitions is None else [X, mapped, self.partitions.apply(X)])

    def steps(self, X: Floats, Y: Floats) -> Floats:
        """By how much each raw feature moves each direction from a row of X to the same row of Y.

        The steps of all features add up to the difference along the direction. Where a direction is missing at one of the two,
        the step of each feature that it uses and that is missing there is 1, and others are 0; where at both, all are 0. In a
        tree the step is 1 of the feature at whose node the two part, and all are 0 if they share a leaf.

        Returns
        -------
        ndarray of shape (n, n_directions, n_features)
        """
        gone = np.isnan(X), np.isnan(Y)
        x, y = (self._cells(np.where(g, 0.0, side)) for g, side in zip(gone, (X, Y), strict=True))
        moved = [(y[:, a:b] - x[:, a:b]) @ self.matrix[:, a:b].T for a, b in self._columns]
        steps = np.stack(moved, axis=2)
        if gone[0].any() or gone[1].any():
            uses = self.uses[: self.n_linear]
            lost = [g @ uses.T for g in gone]
            steps[np.logical_or(*lost)] = 0.0
            steps[np.logical_xor(*lost)] = (np.logical_xor(*gone)[:, None, :] & uses)[np.logical_xor(*lost)]
        if self.partitions is None:
            return steps
        parting = self.partitions.parting(X, Y)[:, :, None]
        return np.concatenate([steps, parting == np.arange(self.n_features)], axis=1)

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
        linear = np.column_stack([(self.matrix[:, a:b] != 0).any(axis=1) for a, b in self._columns])
        return linear if self.partitions is None else np.vstack([linear, self.partitions.uses])


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
        A transformer is cloned and fitted unless it is fitted already; its ``components_`` is the map, or its ``partitions_``
        are the trees. Fitted trees and forests of scikit-learn are trees too.
    X : ndarray of shape (n_items, n_features)
    names : sequence of str
        The names of the raw features.
    random_state : int or None
        The seed of the PCA.
    usable : ndarray of bool of shape (n_features,) or None
        The features that linear directions may combine, all by default; the others have the coefficient 0. Their transformers
        are fitted on the usable features alone, and on the rows where none of them is missing. Trees use all features and rows.

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
    if are_trees(directions):
        return fit_trees(directions, X, random_state)
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
    named = [(f"{k}:{name}", i < part.n_linear) for k, part in enumerate(parts) if part for i, name in enumerate(part.names)]
    names = tuple(name for name, linear in sorted(named, key=lambda pair: not pair[1]))
    trees = [part.partitions for part in parts if part and part.partitions is not None]
    matrix = np.vstack([part.matrix for part in parts if part])
    return Directions(matrix, names, (), Partitions.together(trees) if trees else None)


def are_trees(directions: Any) -> bool:
    """Whether directions stand for the leaves of trees."""
    return isinstance(directions, PartitionFeatures) or is_fitted_forest(directions)


def fit_trees(directions: Any, X: Floats, random_state: int | None) -> Directions | None:
    """The trees that part items, grown on the items X unless they are grown already; None if none parts them."""
    if isinstance(directions, PartitionFeatures) and not hasattr(directions, "partitions_"):
        if directions.needs_targets:
            raise InputError(
                f"PartitionFeatures({directions.estimator!r}) is grown to a target, which is not known here: fit it yourself "
                'and give it fitted, or use PartitionFeatures("random")'
            )
        seed = random_state if directions.random_state is None else directions.random_state
        directions = clone(directions).set_params(random_state=seed).fit(X)
    trees = directions.partitions_ if isinstance(directions, PartitionFeatures) else partitions_of(directions)
    if trees.n_features != X.shape[1]:
        raise InputError(
            f"trees are of {trees.n_features} features, but there are {X.shape[1]}; grow them on those of the items"
        )
    return Directions.of_trees(trees)


def _fitted_among(
    directions: Any, X: Floats, usable: NDArray[np.bool_], names: Sequence[str], random_state: int | None
) -> Directions | None:
    """`fit_directions` on the usable features and the items that lack none of them.

    An array, and `EvenDirections` of named features, give a coefficient for every feature, so they are checked instead.
    """
    if _are_transformers(directions):
        fit = partial(fit_directions, names=names, random_state=random_state, usable=usable)
        return _merged([fit(d, X) for d in directions])
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
    wrong = np.flatnonzero(found.uses[: found.n_linear].any(axis=0) & ~usable)
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
