"""The slow twin of `Partitions.apply` walks down from the root; arrays that are no trees are refused."""

from dataclasses import replace

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric import InputError, Partitions

NAMES = ("start", "feature", "threshold", "children", "missing_left")
ONE = {
    "start": np.array([0, 5]),
    "feature": np.array([0, -1, 1, -1, -1]),
    "threshold": np.array([2.0, 0.0, 5.0, 0.0, 0.0]),
    "children": np.array([[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]]),
    "missing_left": np.array([True, False, False, False, False]),
}


def grown(rng, n_trees, n_features, n_splits):
    """Random trees: each split takes a leaf that is there."""
    start, parts = [0], {name: [] for name in NAMES[1:]}
    for _ in range(n_trees):
        nodes = [[-1, 0.0, [-1, -1], False]]
        for _ in range(rng.integers(0, n_splits + 1)):
            leaf = rng.choice([k for k, node in enumerate(nodes) if node[0] < 0])
            threshold = float(rng.integers(-3, 4))
            nodes[leaf] = [int(rng.integers(n_features)), threshold, [len(nodes), len(nodes) + 1], bool(rng.integers(2))]
            nodes += [[-1, 0.0, [-1, -1], False], [-1, 0.0, [-1, -1], False]]
        start.append(start[-1] + len(nodes))
        for name, column in zip(NAMES[1:], zip(*nodes, strict=True), strict=True):
            parts[name] += column
    return Partitions(n_features, np.array(start), *(np.array(parts[name]) for name in NAMES[1:]))


def walk(trees, tree, x):
    """The nodes that x meets, as (node, side), and the node at which it ends."""
    first, node, way = int(trees.start[tree]), 0, []
    while trees.feature[first + node] >= 0:
        value = x[trees.feature[first + node]]
        left = trees.missing_left[first + node] if np.isnan(value) else value <= trees.threshold[first + node]
        way.append((node, bool(left)))
        node = int(trees.children[first + node][0 if left else 1])
    return way, node


def leaf_of(trees, tree, x):
    first = int(trees.start[tree])
    return sum(f < 0 for f in trees.feature[first : first + walk(trees, tree, x)[1]])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_apply_and_parting_are_walks_from_the_root(seed):
    rng = np.random.default_rng(seed)
    trees = grown(rng, 3, 2, 6)
    X, Y = (rng.integers(-3, 4, (70, 2)) + 0.0 for _ in range(2))
    X[rng.random(X.shape) < 0.2] = np.nan
    leaves = trees.apply(X)
    assert leaves.tolist() == [[leaf_of(trees, t, x) for t in range(3)] for x in X]
    assert (leaves < trees.n_leaves).all()
    np.testing.assert_array_equal(trees.apply(X[5:6]), leaves[5:6])
    for row, (x, y) in enumerate(zip(X, Y, strict=True)):
        for t in range(3):
            pairs = zip(walk(trees, t, x)[0], walk(trees, t, y)[0], strict=False)
            parts = [node for (node, left), (_, right) in pairs if left != right]
            feature = trees.feature[trees.start[t] + parts[0]] if parts else -1
            assert trees.parting(X[row : row + 1], Y[row : row + 1])[0, t] == feature
    np.testing.assert_array_equal(trees.select([2, 0]).apply(X), leaves[:, [2, 0]])
    np.testing.assert_array_equal(Partitions.together([trees, trees.select([1])]).apply(X), leaves[:, [0, 1, 2, 1]])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_turns_to_a_leaf_are_those_of_its_items(seed):
    rng = np.random.default_rng(seed)
    trees = grown(rng, 2, 3, 5)
    X = rng.integers(-3, 4, (50, 3)) + 0.0
    X[rng.random(X.shape) < 0.2] = np.nan
    for t in range(2):
        for x, leaf in zip(X, trees.apply(X)[:, t].astype(int), strict=True):
            for step in trees.paths(t)[leaf]:
                value = x[step.feature]
                assert step.takes_missing if np.isnan(value) else (value <= step.threshold) == step.left


def test_what_trees_use_and_where_they_turn():
    trees = Partitions(3, **ONE)
    assert (len(trees), trees.n_leaves.tolist(), trees.uses.tolist()) == (1, [3], [[True, True, False]])
    assert (trees.thresholds(1).tolist(), trees.thresholds(2).tolist()) == ([5.0], [])
    assert trees.same_as(Partitions(3, **ONE))
    assert not trees.same_as(Partitions(4, **ONE))
    with pytest.raises(ValueError, match="read-only"):
        trees.threshold[0] = 1.0


BAD = {
    "no trees": ({"start": np.array([0])}, "trees"),
    "an end beyond": ({"start": np.array([0, 6])}, "from 0 to 5"),
    "no begin": ({"start": np.array([1, 5])}, "from 0 to 5"),
    "an empty tree": ({"start": np.array([0, 5, 5])}, "increasing"),
    "too short": ({"threshold": np.zeros(4)}, "two children a node"),
    "one child": ({"children": np.zeros((5, 1), int)}, "two children a node"),
    "integers": ({"missing_left": np.zeros(5, int)}, "trees"),
    "halves": ({"feature": np.array([0.0, -1, 1, -1, -1])}, "int64 is required"),
    "whole thresholds": ({"threshold": np.array([2, 0, 5, 0, 0])}, "float64 is required"),
    "infinite": ({"threshold": np.array([np.inf, 0.0, 5.0, 0.0, 0.0])}, "finite thresholds"),
    "a foreign feature": ({"feature": np.array([3, -1, 1, -1, -1])}, "of 3"),
    "less than a leaf": ({"feature": np.array([0, -2, 1, -1, -1])}, "of 3"),
    "a circle": ({"children": np.array([[1, 2], [-1, -1], [0, 4], [-1, -1], [-1, -1]])}, "before its parent"),
    "itself": ({"children": np.array([[1, 2], [-1, -1], [2, 4], [-1, -1], [-1, -1]])}, "before its parent"),
    "beyond": ({"children": np.array([[1, 2], [-1, -1], [3, 5], [-1, -1], [-1, -1]])}, "in no tree"),
    "huge": ({"children": np.array([[1, 2], [-1, -1], [3, 2**62], [-1, -1], [-1, -1]])}, "in no tree"),
    "a leaf's child": ({"children": np.array([[1, 2], [-1, 3], [3, 4], [-1, -1], [-1, -1]])}, "in no tree"),
    "two parents": ({"children": np.array([[2, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]])}, "child of two nodes"),
    "twins": ({"children": np.array([[1, 2], [-1, -1], [3, 3], [-1, -1], [-1, -1]])}, "child of two nodes"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_tree_is_refused(name):
    changes, message = BAD[name]
    assert_refused(lambda: Partitions(3, **ONE | changes), message, "")


def test_items_of_another_width_are_refused():
    trees = Partitions(3, **ONE)
    assert_refused(lambda: trees.apply(np.zeros((4, 2))), "(4, 2)", "(n_items, 3)")
    assert_refused(lambda: trees.parting(np.zeros((4, 3)), np.zeros((2, 3))), "4 rows", "same number")


def test_trees_of_one_weight_and_trees_with_tables_do_not_go_together():
    tied = Partitions(n_features=2, **ONE)
    with pytest.raises(InputError, match='"tied" and others "full"'):
        Partitions.together([tied, replace(tied, tied=False)])
