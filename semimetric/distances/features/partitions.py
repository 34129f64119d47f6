"""Partitions by trees: every tree parts the items into its leaves, whose numbers are features of the distance.

    d(x, y) = sum_t w_t [leaf_t(x) != leaf_t(y)],      w_t >= 0

How often two items share a leaf says how alike they are (Breiman 2001; Davies & Ghahramani 2014). A tree combines features,
which a sum over single features cannot. Each summand is the discrete metric between leaves, so the sum is a pseudometric, and a
metric when added to one (docs/mathematics.md, section 10.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from ..._kernels.trees import TreeArrays, leaves_of, parting_features

_ARRAYS = ("start", "feature", "threshold", "children", "missing_left")
MOST_LEAVES = 1_000  # of a tree in a distance: the table between its leaves is held in memory
OUTERMOST = float(np.finfo(np.float64).max)  # a threshold that parts missing values from all others


@dataclass(frozen=True)
class Step:
    """One turn of the way from the root of a tree to a leaf."""

    feature: int
    threshold: float
    left: bool  # True if the way goes left, where values are at most the threshold
    takes_missing: bool  # True if a missing value goes the same way


@storable
@dataclass(frozen=True, eq=False)
class Partitions(FrozenValue):
    """Binary trees over the raw features, each of which parts the items into leaves.

    An item goes left at a node if the value of the feature that the node asks for is at most the threshold. Values are those
    of the encoded matrix: numbers, places on a circle, and codes of categories, of which that of new categories is the largest.

    Parameters
    ----------
    n_features : int
        The number of raw features.
    start : ndarray of int64 of shape (n_trees + 1,)
        The first node of every tree, which is its root, and the number of all nodes.
    feature : ndarray of int64 of shape (n_nodes,)
        The feature that each node asks for; -1 at a leaf.
    threshold : ndarray of float64 of shape (n_nodes,)
        Finite.
    children : ndarray of int64 of shape (n_nodes, 2)
        The left and the right child of each node, counted from the root of its tree; -1 at a leaf. A child comes after its
        parent, and every node but the root is the child of one node.
    missing_left : ndarray of bool of shape (n_nodes,)
        True where items that lack the feature go left.
    tied : bool, default True
        True if a learner gives each tree one weight; else a table between its leaves.

    Raises
    ------
    InputError
        If the arrays describe no trees.

    Examples
    --------
    >>> stump = Partitions(1, [0, 3], [0, -1, -1], [2.5, 0.0, 0.0], [[1, 2], [-1, -1], [-1, -1]], [True, False, False])
    >>> stump.apply(np.array([[1.0], [2.5], [4.0], [np.nan]])).ravel()
    array([0., 0., 1., 0.])
    """

    n_features: int
    start: Integers
    feature: Integers
    threshold: Floats
    children: Integers
    missing_left: NDArray[np.bool_]
    tied: bool = True

    def __post_init__(self) -> None:
        freeze(self, *_ARRAYS)
        for name, dtype in (("start", np.int64), ("feature", np.int64), ("threshold", np.float64), ("children", np.int64)):
            if getattr(self, name).dtype != dtype:
                raise InputError(f"{name} of the trees is {getattr(self, name).dtype}; {np.dtype(dtype)} is required")
        _check_nodes(self)

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.start) - 1

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """True for each node that is a leaf, shape (n_nodes,)."""
        return self.feature < 0

    @property
    def tree_of_node(self) -> Integers:
        """The tree of each node, shape (n_nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def n_leaves(self) -> Integers:
        """The number of leaves of each tree, shape (n_trees,)."""
        return np.add.reduceat(self.is_leaf.astype(np.int64), self.start[:-1])

    @cached_property
    def leaf(self) -> Integers:
        """The number of each leaf among those of its tree, in the order of the nodes; of other nodes -1. Shape (n_nodes,)."""
        count = np.cumsum(self.is_leaf)
        before = np.concatenate([[0], count])[self.start[:-1]]
        return np.where(self.is_leaf, count - 1 - before[self.tree_of_node], -1)

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """True where a tree asks for a raw feature, shape (n_trees, n_features)."""
        out = np.zeros((len(self), self.n_features), dtype=bool)
        inner = ~self.is_leaf
        out[self.tree_of_node[inner], self.feature[inner]] = True
        return out

    def thresholds(self, feature: int) -> Floats:
        """Return the different thresholds of all nodes that ask for a feature, increasing."""
        return np.unique(self.threshold[self.feature == feature])

    @cached_property
    def _arrays(self) -> TreeArrays:
        return TreeArrays(self.start, self.feature, self.threshold, self.children, self.missing_left, self.leaf)

    def apply(self, X: Floats) -> Floats:
        """Return the number of the leaf that each item reaches in each tree, shape (n_items, n_trees), float64.

        The answer for an item does not depend on the other items.
        """
        items = self._items(X)
        out = np.empty((len(items), len(self)))
        leaves_of(items, self._arrays, out)
        return out

    def parting(self, X: Floats, Y: Floats) -> Integers:
        """Return the feature of the node at which a row of X and the same row of Y part in each tree; -1 if they share a leaf.

        Returns
        -------
        ndarray of int64 of shape (n, n_trees)
        """
        x, y = self._items(X), self._items(Y)
        if len(x) != len(y):
            raise InputError(f"there are {len(x)} rows of X and {len(y)} of Y; the same number is required")
        out = np.empty((len(x), len(self)), dtype=np.int64)
        parting_features(x, y, self._arrays, out)
        return out

    def _items(self, X: Floats) -> Floats:
        items = np.ascontiguousarray(X, dtype=np.float64)
        if items.shape != (len(items), self.n_features):
            raise InputError(f"X has shape {items.shape}; (n_items, {self.n_features}) is required by the trees")
        return items

    def paths(self, tree: int) -> list[list[Step]]:
        """Return the turns from the root of a tree to each of its leaves, in the order of the leaves."""
        first, stop = int(self.start[tree]), int(self.start[tree + 1])
        ways: list[list[Step]] = [[] for _ in range(stop - first)]
        for node in range(first, stop):
            for side, child in enumerate(self.children[node].tolist() if self.feature[node] >= 0 else ()):
                missing = bool(self.missing_left[node]) == (side == 0)
                step = Step(int(self.feature[node]), float(self.threshold[node]), side == 0, missing)
                ways[child] = [*ways[node - first], step]
        return [ways[k] for k in np.flatnonzero(self.is_leaf[first:stop])]

    def select(self, trees: Sequence[int] | Integers) -> Partitions:
        """Return some of the trees, by their numbers."""
        nodes = [np.arange(self.start[t], self.start[t + 1]) for t in trees]
        rows = np.concatenate([np.empty(0, np.int64), *nodes])
        start = np.concatenate([[0], np.cumsum([len(n) for n in nodes], dtype=np.int64)])
        parts = (self.feature[rows], self.threshold[rows], self.children[rows], self.missing_left[rows])
        return Partitions(self.n_features, start.astype(np.int64), *parts, self.tied)

    @classmethod
    def together(cls, parts: Sequence[Partitions]) -> Partitions:
        """Return trees of several partitions of the same features; an error if some have one weight each and others tables."""
        if len({p.tied for p in parts}) > 1:
            raise InputError('some trees have leaf_tables="tied" and others "full"; give all of them the same')
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(p.start) for p in parts]))])
        arrays = {name: np.concatenate([getattr(p, name) for p in parts]) for name in _ARRAYS[1:]}
        return cls(n_features=parts[0].n_features, start=start, tied=parts[0].tied, **arrays)

    def same_as(self, other: Partitions) -> bool:
        """Return True if both send every item to the same leaves, node by node."""
        return self.n_features == other.n_features and all(map(np.array_equal, self.nodes, other.nodes))

    @property
    def nodes(self) -> tuple[NDArray[Any], ...]:
        """The arrays of the trees."""
        return self.start, self.feature, self.threshold, self.children, self.missing_left


def _check_nodes(p: Partitions) -> None:
    n = p.feature.size
    shapes = [a.shape for a in p.nodes]
    if shapes != [(p.start.size,), (n,), (n,), (n, 2), (n,)] or p.start.size < 2 or p.missing_left.dtype != bool:
        raise InputError(f"the arrays of trees have shapes {shapes}; a feature, threshold and two children a node are required")
    if p.start[0] != 0 or p.start[-1] != n or (np.diff(p.start) < 1).any():
        raise InputError(f"trees begin at the nodes {p.start[:8]}...; from 0 to {n}, increasing, is required")
    if not np.isfinite(p.threshold).all():
        raise InputError("a threshold of a tree is NaN or infinite; finite thresholds are required")
    if n and not -1 <= p.feature.min() <= p.feature.max() < p.n_features:
        raise InputError(f"trees ask for the features {p.feature.min()} to {p.feature.max()} of {p.n_features}")
    inner = p.feature >= 0
    own = np.arange(n) - np.repeat(p.start[:-1], np.diff(p.start))
    size = np.repeat(np.diff(p.start), np.diff(p.start))
    below = p.children[inner]
    if (p.children[~inner] != -1).any() or ((below <= own[inner, None]) | (below >= size[inner, None])).any():
        raise InputError("a child of a node of a tree comes before its parent, or is in no tree; restore the trees")
    reached = np.sort((below + (np.arange(n) - own)[inner, None]).ravel())
    if not np.array_equal(reached, np.setdiff1d(np.arange(n), p.start[:-1])):
        raise InputError("a node of a tree is the child of two nodes, or of none; each but the root is the child of one")
