"""The distance of two vectors of numbers in one compiled call: the arrays that it takes, made once for a distance.

Packages that take a metric call it for one pair after another, 20,000 times for 200 items. A call that checks and encodes two
tables takes 60 microseconds and more, and one of these a few.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np

from ..._foundation.errors import NotSupportedError
from ..._foundation.types import Floats, Integers
from ..._kernels.metric import FeatureSum, distance_of_two
from ..features.linear_directions import Directions

_MOST_ENTRIES = 1 << 22  # of the tables of all features: 32 MiB
_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)  # UMAP turns all items into the latter


def distance_of_arrays(d: Any) -> Callable[[Any, Any], float]:
    """Return a function of two arrays of one float type; it gives NaN for all else, or if it cannot be compiled."""
    try:
        parts = feature_sum(d)
    except NotSupportedError:
        return lambda x, y: nan
    shape, link = (d.n_features,), d.link_function.of_one

    def distance(x: Any, y: Any) -> float:
        ready = type(x) is type(y) is np.ndarray and x.dtype is y.dtype and x.shape == y.shape == shape
        if ready and (x.dtype is _FLOAT64 or x.dtype is _FLOAT32):
            return link(distance_of_two(x, y, *parts))
        return nan

    return distance


def feature_sum(d: Any) -> FeatureSum:
    """Return a distance of numbers as `distance_of_two` takes it; refuse other terms, kinds and large tables."""
    grid, groups = d.embedding.grid, d.embedding.groups
    _check_sum_of_numbers(d)
    starts = np.concatenate([[0], np.cumsum([grid.sizes[list(group)].prod() ** 2 for group in groups])]).astype(np.int64)
    if starts[-1] > _MOST_ENTRIES:
        raise NotSupportedError(
            f"the tables of {len(groups)} groups of features have {starts[-1]} entries, and at most {_MOST_ENTRIES} can be "
            "compiled; search it with NeighborIndex, or fit with fewer knots"
        )
    matrix, bends, bend_starts = _map_of(d.directions, d.n_features)
    places = np.full((grid.n_features + 1, 3), -1)
    places[:, 0], places[: len(bend_starts), 2] = grid.starts, bend_starts
    joint = []
    for g, group in enumerate(groups):
        if len(group) == 1:
            places[group[0], 1] = starts[g]
            continue
        table = d.embedding.vertices[g]
        joint.append([starts[g], table.n_points, len(group)])
        joint += [[f, stride, 0] for f, stride in zip(group, table.strides, strict=True)]
    places = np.vstack([places, *joint])
    tables = np.concatenate([np.empty(0), *(table.values.ravel() for table in d.embedding.tables(d.weights))])
    outside = np.column_stack([d.epsilon, d.value_limits.most])
    return FeatureSum(grid.flat, places, tables, outside, np.ascontiguousarray(matrix.T), bends)


def _check_sum_of_numbers(d: Any) -> None:
    if d.base_distances:
        raise NotSupportedError("a model with base distances cannot be compiled; give it as it is, as a callable metric")
    if not d.schema.plain:
        raise NotSupportedError(
            "only distances of numbers can be compiled, and this model has features that are categorical, periodic or may "
            "be missing; search it with NeighborIndex, or give it as it is, as a callable metric"
        )
    if d.directions is not None and d.directions.n_trees:
        raise NotSupportedError(
            "only sums over numbers and linear directions can be compiled, and this model has trees; search it with "
            "NeighborIndex, or give it as it is, as a callable metric"
        )
    if not (d.embedding.continuous and d.embedding.whole):
        raise NotSupportedError(
            'a distance of symmetry="swap", and one that holds only the vertices that its pairs touch, cannot be compiled; '
            "search it with NeighborIndex, or give it as it is, as a callable metric"
        )
    if any(len(group) > 1 and max(group) >= d.n_features for group in d.embedding.groups):
        raise NotSupportedError(
            "joint groups can be compiled of columns, and this model has one of directions; search it with NeighborIndex, or "
            "give it as it is, as a callable metric"
        )


def _map_of(directions: Directions | None, n_features: int) -> tuple[Floats, Floats, Integers]:
    """Return the matrix and the bends of a `FeatureSum`, and where the bends of each raw feature begin, if there are some."""
    if directions is None or not directions.bends:
        matrix = np.empty((0, n_features)) if directions is None else directions.matrix
        return matrix, np.empty(0), np.empty(0, dtype=np.int64)
    counts = np.array([len(k) for k in directions.bends])
    rises = np.split(directions.matrix, np.cumsum(counts - 1)[:-1], axis=1)
    values = [np.cumsum(np.pad(rise, ((0, 0), (1, 0))), axis=1) for rise in rises]
    return np.hstack(values), np.concatenate(directions.bends), np.concatenate([[0], np.cumsum(counts)])
