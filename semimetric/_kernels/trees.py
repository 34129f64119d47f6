"""The leaf of every tree that an item reaches, and the node at which two items part.

At a node with the feature f and the threshold t an item x goes left if x_f <= t, or if x_f is missing and missing values go
left there; else it goes right. A leaf has the feature -1.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel


class TreeArrays(NamedTuple):
    """Binary trees whose nodes stand one tree after another."""

    start: np.ndarray  # int64 (n_trees + 1,): the first node of every tree, its root, and the number of all nodes
    feature: np.ndarray  # int64 (n_nodes,): the feature that a node asks for; -1 at a leaf
    threshold: np.ndarray  # float64 (n_nodes,)
    children: np.ndarray  # int64 (n_nodes, 2): the left and the right child, counted from the root, after their parent
    missing_left: np.ndarray  # bool (n_nodes,)
    leaf: np.ndarray  # int64 (n_nodes,): the number of a leaf among those of its tree


@kernel
def _side(value, node, trees):
    """Return the side to which a value goes at a node: 0 is left, 1 is right."""
    if np.isnan(value):
        return 0 if trees.missing_left[node] else 1
    return 0 if value <= trees.threshold[node] else 1


@kernel
def leaves_of(x, trees, out):
    """Fill ``out`` (n, n_trees) with the leaf that every item of x (n, F) reaches in every tree.

    A block of items goes through one tree after another, so that both stay in the cache.
    """
    for first in range(0, x.shape[0], 64):
        last = min(first + 64, x.shape[0])
        for t in range(trees.start.shape[0] - 1):
            root = trees.start[t]
            for i in range(first, last):
                node = root
                while trees.feature[node] >= 0:
                    node = root + trees.children[node, _side(x[i, trees.feature[node]], node, trees)]
                out[i, t] = trees.leaf[node]


@kernel
def parting_features(x, y, trees, out):
    """Fill ``out`` (n, n_trees) with the feature of the node at which the rows of x and y part; -1 if they share a leaf."""
    for i in range(x.shape[0]):
        for t in range(trees.start.shape[0] - 1):
            root = trees.start[t]
            node = root
            out[i, t] = -1
            while trees.feature[node] >= 0:
                f = trees.feature[node]
                side = _side(x[i, f], node, trees)
                if side != _side(y[i, f], node, trees):
                    out[i, t] = f
                    break
                node = root + trees.children[node, side]
