"""Leaves of trees as features: every kind of trees, missing values, and trees that part nothing."""

import numpy as np
import pytest
from cases import assert_refused
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from semimetric import InputError, PartitionFeatures

KINDS = ("extra-trees", "random-forest", "boosting", "random")


@pytest.fixture
def data(rng):
    X = rng.normal(size=(150, 3))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["classes", "three classes", "words", "numbers"])
def test_every_kind_grows_as_many_small_trees_as_asked(kind, target, data):
    X, two = data
    y = {
        "classes": two,
        "three classes": two + (X[:, 2] > 1),
        "words": np.where(two, "near", "far"),
        "numbers": X[:, 0] + 0.1 * X[:, 2],
    }
    grow = PartitionFeatures(kind, n_trees=7, max_leaf_nodes=5, random_state=0)
    leaves = grow.fit(X, None if kind == "random" else y[target]).transform(X)
    assert leaves.shape == (150, 7)
    assert leaves.dtype == np.float64
    assert 1 < grow.partitions_.n_leaves.max() <= 5
    assert grow.get_feature_names_out().tolist() == [f"tree{t}" for t in range(7)]
    again = clone(grow).fit(X, None if kind == "random" else y[target])
    assert again.partitions_.same_as(grow.partitions_)
    assert grow.partitions_.tied
    assert not clone(grow).set_params(leaf_tables="full").fit(X, two).partitions_.tied


@pytest.mark.parametrize("kind", KINDS)
def test_units_and_places_far_from_zero_do_not_matter(kind, data):
    X, y = data
    grow = PartitionFeatures(kind, n_trees=5, random_state=0)
    moved = np.round(X * 2.0**20) / 2.0**20 + 2.0**30  # in 32 bits all of a feature would be one value
    plain, other = (clone(grow).fit(items, y).transform(items) for items in (np.round(X * 2.0**20) / 2.0**20, moved))
    np.testing.assert_array_equal(plain, other)


def test_thresholds_are_short_and_part_the_items_as_the_trees_do(data):
    X, y = data
    forest = RandomForestClassifier(6, max_leaf_nodes=8, random_state=3)
    grow = PartitionFeatures(forest).fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    own = forest.fit((X - low) / (high - low), y).apply((X - low) / (high - low))
    for a, b in zip(grow.transform(X).T, own.T, strict=True):
        assert len({*zip(a, b, strict=True)}) == len({*a}) == len({*b})
    digits = [len(repr(t).strip("-0.").replace(".", "")) for t in grow.partitions_.threshold.tolist()]
    assert max(digits) <= 5


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_parted_from_others(kind, rng):
    X = rng.normal(size=(200, 2))
    X[::3, 0] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    grow = PartitionFeatures(kind, n_trees=20, random_state=0).fit(X, y)
    leaves = grow.transform(X)
    alone = [not set(column[y == 1]) & set(column[y == 0]) for column in leaves.T]
    assert any(alone)
    assert grow.missing_.tolist() == [True, False]
    never = X.copy()
    never[0, 1] = np.nan  # which none of the training items lacks
    assert np.isfinite(grow.transform(never)).all()
    assert any("x0 is missing" in rule for t in range(20) for rule in grow.rules(t))


def test_trees_that_part_nothing_have_one_leaf(rng):
    X = rng.normal(size=(30, 2))
    assert not PartitionFeatures(n_trees=3).fit(X, np.ones(30, int)).transform(X).any()  # one class
    for kind in ("extra-trees", "random"):
        grow = PartitionFeatures(kind, n_trees=3).fit(np.ones((30, 2)), np.arange(30) % 2)  # constant features
        assert grow.partitions_.n_leaves.tolist() == [1, 1, 1]
        assert grow.rules(0) == ["always"]
    gaps = np.where(rng.random((30, 2)) < 2, np.nan, 0.0)
    assert not PartitionFeatures("random", n_trees=2).fit(gaps).transform(gaps).any()  # nothing but missing values


def test_far_values_do_not_overflow(rng):
    X = rng.normal(size=(60, 2))
    X[:2, 0] = 1.6e308, -1.6e308
    leaves = PartitionFeatures("random", n_trees=40, random_state=0).fit(X).transform(X)
    assert np.isfinite(leaves).all()
    assert (leaves[0] != leaves[1]).any()


BAD = {
    "kind": ({"estimator": "oak"}, "estimator='oak'", ""),
    "no estimator": ({"estimator": 3}, "estimator=3", ""),
    "trees": ({"n_trees": 0}, "n_trees=0", ""),
    "leaves": ({"max_leaf_nodes": 1}, "max_leaf_nodes=1", ""),
    "too many leaves": ({"max_leaf_nodes": 2000}, "max_leaf_nodes=2000", "2 to 1000"),
    "tables": ({"leaf_tables": "half"}, "leaf_tables='half'", ""),
    "no forest": ({"estimator": LogisticRegression()}, "LogisticRegression", "is required"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_are_refused(name, data):
    changes, *parts = BAD[name]
    assert_refused(lambda: PartitionFeatures(**changes).fit(*data), *parts)


def test_targets_that_do_not_fit_are_refused(data):
    X, y = data
    assert_refused(lambda: PartitionFeatures().fit(X), "requires y to be passed", 'estimator="random"')
    for wrong in (y[:10], np.where(y, np.nan, 1.0), np.column_stack([y, y])):
        with pytest.raises(InputError):
            PartitionFeatures(n_trees=2).fit(X, wrong)
