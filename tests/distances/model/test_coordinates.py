"""Coordinates of scales and of leaves: their L1 distance is the distance."""

from dataclasses import replace

import cases
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from semimetric import DistanceRegressor, InputError, NotSupportedError, PartitionFeatures, Semimetric


def table(rng, n=40):
    """Numbers, some far outside those of the fit, two categories of which one value is new, and three categories."""
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(["a", "b"], n)),
            "colour": pd.Categorical(rng.choice(["r", "g", "b"], n)),
        }
    )


def l1(coordinates):
    return np.abs(coordinates[:, None] - coordinates[None]).sum(axis=2)


@pytest.fixture(scope="module")
def with_trees():
    model, items, _, _ = cases.fitted("metric trees")
    return model.semimetric_, items


def test_scales_directions_and_leaves_have_the_distance_as_their_l1_distance(with_trees, rng):
    d, items = with_trees
    assert d.directions.n_trees > 1
    assert d.directions.n_linear > 0
    X = np.vstack([items[:30], rng.normal(size=(30, 3)) * 4])
    at = d.transform(X)
    assert_allclose(l1(at), d.pairwise(X), rtol=1e-12, atol=1e-12)
    assert at.shape == (60, len(d.coordinate_names))


def test_each_leaf_has_half_of_the_weight_of_its_tree(with_trees):
    d, items = with_trees
    at = pd.DataFrame(d.transform(items), columns=d.coordinate_names)
    leaves = d.directions.partitions.apply(items)
    for t, name in enumerate(d.columns[d.n_features + d.directions.n_linear :]):
        weight = d.tables()[name].values[0, 1]
        for leaf in range(d.directions.partitions.n_leaves[t]):
            assert_array_equal(at[f"{name} leaf {leaf}"], np.where(leaves[:, t] == leaf, weight / 2, 0.0))


def test_sparse_coordinates_are_the_same(with_trees):
    d, items = with_trees
    dense, thin = d.transform(items), d.transform(items, sparse_output=True)
    assert sparse.issparse(thin)
    assert thin.has_sorted_indices
    assert_array_equal(thin.toarray(), dense)
    assert_allclose(pairwise_distances(sparse.csr_matrix(thin[:9]), metric="manhattan"), d.pairwise(items[:9]), atol=1e-12)


def test_categories_that_are_equally_far_apart_have_coordinates(rng):
    frame = table(rng)
    d = Semimetric.gower(frame)
    other = table(rng).assign(kind=pd.Categorical(["new"] * 20 + ["a"] * 20))
    other["size"] *= 5
    both = pd.concat([frame.astype({"kind": object}), other.astype({"kind": object})])
    assert_allclose(l1(d.transform(both)), d.pairwise(both), atol=1e-12)
    assert d.coordinate_names == (
        "size", "kind=a", "kind=b", "kind=(other)", "colour=b", "colour=g", "colour=r", "colour=(other)",
    )  # fmt: skip
    only = Semimetric.gower(frame[["kind"]])
    assert_allclose(l1(only.transform(both[["kind"]])), only.pairwise(both[["kind"]]), atol=1e-12)


def with_gaps(frame, rng):
    return frame.mask(rng.random(frame.shape) < 0.25)


def test_gower_with_gaps_is_an_l1_distance(rng):
    """In every column, within the range and outside, beside missing values and new categories."""
    frame = with_gaps(table(rng), rng)
    d = Semimetric.gower(frame)
    far = with_gaps(table(rng), rng)
    far["size"] *= 20
    both = pd.concat([frame, far]).astype({"kind": object, "colour": object})
    both.iloc[5, 1] = "new"
    assert_allclose(l1(d.transform(both)), d.pairwise(both), rtol=1e-15, atol=1e-15 * d.pairwise(both).max() * 9)
    assert d.coordinate_names[:2] == ("size, missing below", "size, missing above")
    assert d.axioms.name == "metric"
    parts = d.parts_to(d.schema.encode(frame))(d.schema.encode(far)[:1])
    assert_allclose(parts, d.contributions(far.iloc[0], frame, by="features"), atol=1e-12)


def test_numbers_alone_with_gaps_have_parts(rng):
    frame = with_gaps(pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc")), rng)
    d = Semimetric.gower(frame)
    parts = d.parts_to(d.schema.encode(frame))(d.schema.encode(9 * frame)[:1])
    assert_allclose(parts, d.contributions((9 * frame).iloc[0], frame, by="features"), atol=1e-12)
    assert_allclose(d.distances_to(d.schema.encode(frame))(d.schema.encode(frame)), d.pairwise(frame), atol=1e-12)


def test_a_constant_nearer_than_half_the_scale_has_no_coordinates(rng):
    """As that of the imputer is, which is no metric then."""
    frame = with_gaps(pd.DataFrame({"size": rng.normal(size=60)}), rng)
    d = Semimetric.gower(frame, missing="constant")
    assert d.axioms.name == "semimetric"
    given = "'size', which is numeric and may be missing, has a table of many values"
    cases.assert_refused(lambda: d.transform(frame), given, "only warped", 'missing="level"', NotSupportedError)
    two = Semimetric.gower(pd.DataFrame({"size": [0.0, 1.0, 0.0, 1.0, None]}), missing="constant")
    assert_allclose(l1(two.transform([[0.0], [0.5], [1.0], [None]])), two.pairwise([[0.0], [0.5], [1.0], [None]]), atol=1e-12)


def float32_l1(at):
    """The L1 distances of rows as a store adds them up that holds, and sums, float32."""
    total = np.zeros((len(at), len(at)), dtype=np.float32)
    for column in at.astype(np.float32).T:
        total += np.abs(column[:, None] - column)
    return total.astype(np.float64)


def test_a_unit_of_leaves_makes_sums_of_float32_exact(rng):
    X = rng.random((40, 3))
    trees = PartitionFeatures("random", n_trees=90, max_leaf_nodes=6, random_state=0)
    pairs = rng.integers(0, 40, (90, 2))
    model = DistanceRegressor(n_knots=2, alpha=1e-2, directions=trees, tables="warped", preprocessor=X)
    d = model.fit(pairs, np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)).semimetric_
    of_trees = np.arange(len(d.weights)) >= d.embedding.scales.n_columns
    d = replace(d, weights=np.where(of_trees, 0.1 / 3, 0.0), epsilon=np.zeros_like(d.epsilon))
    true = d.pairwise(X)
    plain, scaled = float32_l1(d.transform(X)), float32_l1(d.transform(X, unit=d.coordinate_unit))
    assert set(np.unique(scaled)) <= set(np.arange(0.0, 2 * 90 + 1, 2))  # two coordinates a tree
    assert np.abs(d.coordinate_unit * scaled - true).max() <= 1e-15 * true.max()
    assert np.abs(plain - true).max() > 1e-8 * true.max()


def test_a_unit_divides_the_coordinates(with_trees):
    d, items = with_trees
    assert_allclose(4 * d.transform(items, unit=4.0), d.transform(items), rtol=1e-15)
    thin = d.transform(items, unit=4.0, sparse_output=True)
    assert_array_equal(thin.toarray(), d.transform(items, unit=4.0))
    for unit in (0.0, -1.0, np.nan, "leaf"):
        with pytest.raises(InputError, match="unit="):
            d.transform(items, unit=unit)


def test_without_leaves_the_unit_is_a_power_of_two_near_the_scales():
    d = Semimetric.l1([[0.0, 0.0], [3e30, 6e30]])
    assert np.log2(d.coordinate_unit) == np.rint(np.log2(d.coordinate_unit))
    assert 0.5 < 4.5e30 / d.coordinate_unit < 2
    assert Semimetric.l1([[0.0]]).coordinate_unit == 1.0


def test_tables_of_many_values_have_no_coordinates(rng):
    d = Semimetric.gower(table(rng))
    w = d.weights.copy()
    group = d.embedding.groups.index((2,))
    w[np.flatnonzero(d.embedding.group_of_column == group)[0]] *= 1.5
    uneven = Semimetric(d.embedding, w, d.epsilon, d.feature_names, schema=d.schema)
    with pytest.raises(
        NotSupportedError, match=r"'colour', which is categorical, has a table of many values; use .* as numbers"
    ):
        uneven.transform(table(rng))


@pytest.mark.parametrize("name", ["tables of leaves", "pairs", "swapped", "no axioms", "touched", "trees"])
def test_other_tables_have_no_coordinates(name):
    d = cases.fitted(name)[0].semimetric_
    with pytest.raises(NotSupportedError, match="only warped models"):
        _ = d.coordinate_names
