"""The trees of scikit-learn's forests as `Partitions`, which send every item to the leaf that scikit-learn sends it to.

scikit-learn compares values that it has rounded to 32 bits with thresholds of 64. Thresholds here are those by which the values
themselves go the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers
from .partitions import MOST_LEAVES, Partitions


def is_fitted_forest(estimator: Any) -> bool:
    """Return True if an estimator is a fitted tree of scikit-learn, or a fitted ensemble of such trees."""
    return hasattr(estimator, "tree_") or (
        len(found := _members(estimator)) > 0
        and all(hasattr(tree, "tree_") for tree in found)
        and not hasattr(estimator, "estimators_features_")  # whose trees see some of the features alone
    )


def partitions_of(estimator: Any, *, tied: bool = True) -> Partitions:
    """Return trees of a fitted tree, random forest, extremely randomised forest, totally random forest or gradient boosting."""
    if not is_fitted_forest(estimator):
        raise InputError(
            f"{type(estimator).__name__} has no trees of scikit-learn that are fitted to all features; a fitted random forest, "
            "extra-trees, RandomTreesEmbedding, GradientBoosting* or decision tree is required (HistGradientBoosting* keeps "
            "its trees to itself)"
        )
    trees = [estimator.tree_] if hasattr(estimator, "tree_") else [member.tree_ for member in _members(estimator)]
    if (most := max(tree.n_leaves for tree in trees)) > MOST_LEAVES:
        raise InputError(
            f"a tree has {most} leaves; at most {MOST_LEAVES} are required: grow smaller trees, such as max_leaf_nodes=16"
        )
    return Partitions.together([_one_tree(tree, int(estimator.n_features_in_), tied) for tree in trees])


def _members(estimator: Any) -> list[Any]:
    return list(np.ravel(np.asarray(getattr(estimator, "estimators_", []), dtype=object)))


def _one_tree(tree: Any, n_features: int, tied: bool) -> Partitions:
    order = _walk(tree.children_left, tree.children_right)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    inner = tree.children_left[order] >= 0
    children = np.column_stack([tree.children_left, tree.children_right])[order]
    return Partitions(
        n_features,
        np.array([0, len(order)]),
        np.where(inner, tree.feature[order], -1).astype(np.int64),
        np.where(inner, thresholds_of_doubles(tree.threshold[order]), 0.0),
        np.where(inner[:, None], number[children], -1),
        inner & (np.asarray(tree.missing_go_to_left)[order] > 0),
        tied,
    )


def _walk(left: Integers, right: Integers) -> Integers:
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0:
            waiting += [int(right[node]), int(left[node])]
    return np.array(order, dtype=np.int64)


def thresholds_of_doubles(thresholds: Floats) -> Floats:
    """Return the largest floats of 64 bits that are at most the thresholds once they are rounded to 32 bits, shape (n,).

    A threshold lies between two neighbouring floats of 32 bits, and whatever rounds to the lower one goes left. These are all
    values below the middle between the two, and the middle itself if the lower one is even.
    """
    limit = np.finfo(np.float32).max
    clipped = np.clip(thresholds, -float(limit), float(limit))
    lower = clipped.astype(np.float32)
    with np.errstate(over="ignore"):
        lower = np.where(lower > clipped, np.nextafter(lower, np.float32(-np.inf)), lower)
        upper = np.nextafter(lower, np.float32(np.inf)).astype(np.float64)
    middle = lower.astype(np.float64) / 2 + upper / 2
    even = (lower.view(np.int32) & 1) == 0
    found = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(upper), np.finfo(np.float64).max, found)
