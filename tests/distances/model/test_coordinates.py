"""Coordinates of scales and of leaves: their L1 distance is the distance."""

import cases
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from semimetric import NotSupportedError, Semimetric


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
