"""Directions: linear features, and leaves of trees, that are appended to the raw features before the grid.

    features(x) = [x, M x, leaves(x)],       M of shape (n_linear, n_features)
    features(x) = [x, M phi(x), leaves(x)],  phi(x) how far x has risen through every cell of a grid, so that they bend at knots

With directions, sums over single features can depend on combinations of features. Every axiom but continuity, which leaves
break, is kept as long as the raw features stay (docs/mathematics.md, section 2). Any transformer with a linear map
``components_`` gives directions: `UniformDirections`, `HistogramFeatures`, scikit-learn's PCA. `PartitionFeatures` gives
leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from ..._kernels.linear import linear_map
from ...data.grid import Grid
from ...data.schema import Schema
from ..pairs.monotone_scales import WarpedEmbedding
from .partitions import MOST_LEAVES, Partitions


@storable
@dataclass(frozen=True, eq=False)
class Directions(FrozenValue):
    """A fitted map of the raw features, whose arrays are read only."""

    matrix: Floats  # (n_linear, n_features), or (n_linear, n_cells of all features) with ``bends``
    names: tuple[str, ...]  # of the rows of the matrix, then of the trees
    bends: tuple[Floats, ...] = ()  # the knots of every raw feature, constant outside; empty if nothing bends
    partitions: Partitions | None = None  # the trees, each of at least two leaves, whose numbers are categories

    def __post_init__(self) -> None:
        freeze(self, "matrix")
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "bends", Grid(self.bends).knots if len(self.bends) else ())
        n_linear = len(self.names) - self.n_trees
        n_columns = sum(len(k) - 1 for k in self.bends) if self.bends else self.matrix.shape[-1] if self.matrix.ndim else 0
        shape = (n_linear, n_columns)
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
        """Return the trees that part the items, as directions; None if none does."""
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
        """Return some of the directions, by their numbers, in increasing order; None if there are none."""
        linear, trees = rows[rows < self.n_linear], rows[rows >= self.n_linear] - self.n_linear
        partitions = self.partitions.select(trees) if self.partitions is not None and len(trees) else None
        names = tuple(self.names[r] for r in rows)
        return Directions(self.matrix[linear], names, self.bends, partitions) if len(rows) else None

    def extended(self, schema: Schema) -> Schema:
        """Return schema of the raw features, followed by those of the directions; the categories of a tree are its leaves."""
        n_leaves = () if self.partitions is None else self.partitions.n_leaves.tolist()
        return schema.extended(self.names, self.uses, n_leaves)

    @cached_property
    def _scales(self) -> WarpedEmbedding | None:
        return WarpedEmbedding(Grid(self.bends)) if self.bends else None

    @property
    def n_features(self) -> int:
        """The number of raw features."""
        return len(self.bends) or self.matrix.shape[1]

    def same_as(self, other: Directions) -> bool:
        """Return True if both maps are identical to the bit; their names may differ."""
        bends = len(self.bends) == len(other.bends) and all(map(np.array_equal, self.bends, other.bends))
        a, b = self.partitions, other.partitions
        trees = a is b if a is None or b is None else a.same_as(b)
        return trees and bends and np.array_equal(self.matrix, other.matrix)

    def append(self, X: Floats) -> Floats:
        """Return [X, X Mᵀ, leaves], (n_items, n_features + n_directions), each row to the bit whatever the others are."""
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
        """Return by how much each raw feature moves each direction from a row of X to that of Y, (n, n_directions, n_features).

        The steps of all features add up to the difference along the direction. If a direction is missing at one of the two, the
        step of each feature that it uses and that is missing there is 1, and others are 0. If it is missing at both, all are 0.
        In a tree the step is 1 for the feature at whose node the two part, and all are 0 if they share a leaf.
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
        return filled if self._scales is None else self._scales.thermometer(filled)

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The first column of the matrix that belongs to each raw feature, and the one after its last."""
        counts = [len(k) - 1 for k in self.bends] or [1] * self.n_features
        ends = np.cumsum(counts).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """True where a direction depends on a raw feature, shape (n_directions, n_features)."""
        linear = np.column_stack([(self.matrix[:, a:b] != 0).any(axis=1) for a, b in self._columns])
        return linear if self.partitions is None else np.vstack([linear, self.partitions.uses])


def with_directions(directions: Directions | None, items: Floats) -> Floats:
    """Return the items with the directions appended to their features; the items themselves if there are no directions."""
    return items if directions is None else directions.append(items)
