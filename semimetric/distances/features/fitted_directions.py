"""From the parameter ``directions=`` of a learner to fitted `Directions`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from .forests import is_fitted_forest, partitions_of
from .linear_directions import Directions
from .partition_features import PartitionFeatures
from .partitions import Partitions
from .uniform_directions import UniformDirections


def fit_directions(
    directions: Any,
    X: Floats,
    *,
    names: Sequence[str],
    random_state: int | None = None,
    usable: NDArray[np.bool_] | None = None,
) -> Directions | None:
    """Return the directions that the parameter ``directions=`` of an estimator stands for, fitted to the items X.

    Linear directions combine the ``usable`` features, on the rows that lack none of them; trees use all features and rows.
    A transformer is cloned and fitted unless it is fitted already.
    """
    if directions is None:
        return None
    if isinstance(directions, Directions):
        return directions if usable is None else _of_numbers(directions, usable, names)
    if isinstance(directions, (Partitions, PartitionFeatures)) or is_fitted_forest(directions):
        return _fit_trees(directions, X, random_state)
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
        try:
            matrix = np.array(as_floats(directions, "directions"))
        except InputError as error:
            raise InputError(
                f"directions cannot be read as numbers of shape (n_directions, {X.shape[1]}): give every direction one number "
                f"a feature ({error})"
            ) from error
        return _checked(matrix, None, X.shape[1])
    transformer = _fitted(directions, X, names)
    if not hasattr(transformer, "components_"):
        raise InputError(f"{type(transformer).__name__} has no components_; directions= needs a linear map")
    labels = [str(name) for name in transformer.get_feature_names_out()]
    return _checked(np.asarray(transformer.components_, dtype=np.float64), labels, X.shape[1])


def _are_transformers(directions: Any) -> bool:
    listed = isinstance(directions, (list, tuple)) and bool(directions)
    return listed and all(hasattr(d, "fit") or isinstance(d, Partitions) for d in directions)


def _merged(parts: Sequence[Directions | None]) -> Directions | None:
    """Return the directions of several transformers together; each name begins with the number of its transformer."""
    if not any(parts):
        return None
    named = [(f"{k}:{name}", i < part.n_linear) for k, part in enumerate(parts) if part for i, name in enumerate(part.names)]
    names = tuple(name for name, linear in sorted(named, key=lambda pair: not pair[1]))
    trees = [part.partitions for part in parts if part and part.partitions is not None]
    matrix = np.vstack([part.matrix for part in parts if part])
    return Directions(matrix, names, (), Partitions.together(trees) if trees else None)


def _fit_trees(directions: Any, X: Floats, random_state: int | None) -> Directions | None:
    if isinstance(directions, PartitionFeatures) and not hasattr(directions, "partitions_"):
        if directions.needs_targets:
            raise InputError(
                f"PartitionFeatures({directions.estimator!r}) is grown to a target, which is not known here: fit it yourself "
                'and give it fitted, or use PartitionFeatures("random")'
            )
        directions = directions.grown(X, random_state=random_state)
    directions = directions.partitions_ if isinstance(directions, PartitionFeatures) else directions
    trees = directions if isinstance(directions, Partitions) else partitions_of(directions)
    if trees.n_features != X.shape[1]:
        raise InputError(
            f"trees are of {trees.n_features} features, but there are {X.shape[1]}; grow them on those of the items"
        )
    return Directions.of_trees(trees)


def _fitted_among(
    directions: Any, X: Floats, usable: NDArray[np.bool_], names: Sequence[str], random_state: int | None
) -> Directions | None:
    """Fit directions to the usable features of the items that lack none of them; a matrix is checked instead."""
    if _are_transformers(directions):
        fit = partial(fit_directions, names=names, random_state=random_state, usable=usable)
        return _merged([fit(d, X) for d in directions])
    named = isinstance(directions, UniformDirections) and directions.features is not None
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
    if hasattr(transformer, "components_"):
        return transformer
    fresh = clone(transformer)
    if isinstance(fresh, UniformDirections):
        return fresh.fit_named(X, names)
    try:
        return fresh.fit(X)
    except TypeError as error:
        raise InputError(
            f"{type(transformer).__name__} cannot be fitted on the items alone ({error}): fit it yourself, with labels if it "
            "needs them, and give it fitted or give its components_"
        ) from error


def _checked(matrix: Floats, names: Sequence[str] | None, n_features: int) -> Directions:
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
