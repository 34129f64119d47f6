"""Means of distances: the value of the mean is the mean of the values, whatever is averaged."""

import itertools
from dataclasses import replace

import cases
import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import made
from mixed_distances import GROUPS
from mixed_distances import distance as mixed
from mixed_distances import items as mixed_items
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from strategies import groups, pair_settings

import semimetric as sm
from semimetric import DistanceRegressor, Grid, NeighborIndex, NotSupportedError, PairEmbedding, Semimetric

LINKED = [name for name, recipe in cases.RECIPES.items() if recipe.get("link", "identity") != "identity"]
NUMBERS = [n for n in cases.RECIPES if n not in (*LINKED, "categories", "periodic", "missing", "mixed warped")]

KINDS = ("warped", "pairs", "directions", "metric trees", "no axioms")


def learned(name, seed, **changes):
    """A distance learned with the parameters of a recipe from its own items, which span another range for each seed."""
    items, index, y = cases.sample(seed)
    items = items * (1 + 0.4 * seed) - 0.3 * seed
    return made(DistanceRegressor, **cases.RECIPES[name] | changes, preprocessor=items).fit(index, y).semimetric_


def assert_mean(distances, X, weights=None):
    d = Semimetric.mean(distances, weights)
    expected = np.average([each.pairwise(X) for each in distances], axis=0, weights=weights)
    scale = max(expected.max(), 1.0)
    assert_allclose(d.pairwise(X), expected, rtol=1e-9, atol=1e-11 * scale)
    assert_allclose(d.paired(X, X[::-1]), np.diagonal(expected[:, ::-1]), rtol=1e-9, atol=1e-11 * scale)
    return d


def far(rng, n=40, n_features=3):
    """Items inside the ranges of what is learned, and far outside them."""
    return np.vstack([rng.random((n, n_features)), rng.normal(size=(n, n_features)) * 3])


@pytest.mark.parametrize("name", NUMBERS)
def test_the_mean_over_other_knots_and_ranges(name, rng):
    refused = name in ("swapped", "touched")
    distances = [learned(name, seed) for seed in range(3)]
    if refused:
        with pytest.raises(NotSupportedError, match="same groups and knots"):
            Semimetric.mean(distances)
        return
    X = far(rng)
    d = assert_mean(distances, X, [1, 2.5, 0.5])
    each = np.average([one.contributions(X[0], X, by="features") for one in distances], axis=0, weights=[1, 2.5, 0.5])
    assert_allclose(d.contributions(X[0], X, by="features"), each, rtol=1e-7, atol=1e-9)
    assert d.axioms.symmetric == all(one.axioms.symmetric for one in distances)
    assert d.axioms.triangle >= all(one.axioms.triangle for one in distances)
    assert d.axioms.positive >= all(one.axioms.positive for one in distances)  # one that tells points apart is enough


@pytest.mark.parametrize("name", cases.RECIPES)
def test_the_mean_over_the_same_knots_has_the_terms_of_each(name, rng):
    model, items, _, _ = cases.fitted(name)
    d = model.semimetric_
    if name in LINKED:
        assert_refused(lambda: Semimetric.mean([d, d]), "distance 0 has link=", 'link="identity"', "", NotSupportedError)
        return
    other = d.reweighted({term: 0.5 + k for k, term in enumerate(d.terms[:-1])})
    mean = assert_mean([d, other, d], items, [1, 2, 0])
    assert mean.terms == d.terms
    assert mean.embedding.groups == d.embedding.groups
    assert len(mean.weights) == len(d.weights)


@pytest.mark.parametrize(("a", "b"), list(itertools.permutations(KINDS, 2)))
def test_the_mean_of_different_kinds(a, b, rng, tmp_path):
    X = far(rng)
    d = assert_mean([learned(a, 0), learned(b, 1)], X)
    d.save(tmp_path / "mean.semimetric")
    assert_array_equal(sm.load(tmp_path / "mean.semimetric").pairwise(X), d.pairwise(X))


def moved(d, by):
    """The same weights between other knots of the numbers, on another range."""
    grid = d.embedding.grid
    knots = [k + by * np.sin(np.arange(len(k)) + f) if f < 2 else k for f, k in enumerate(grid.knots)]
    embedding = PairEmbedding(Grid(knots, grid.kinds, grid.missing), d.embedding.groups)
    return replace(d, embedding=embedding)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("bends", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_mean_of_numbers_angles_and_categories(groups, bends, gaps, rng):
    distances = [mixed(0, groups, bends=bends, gaps=gaps), moved(mixed(1, groups, bends=bends, gaps=gaps), 0.2)]
    X = mixed_items(rng, 60, gaps)
    d = assert_mean(distances, X, [3, 1])
    index = NeighborIndex(d).fit(X)
    near, rows = index.kneighbors(X[:20], 5)
    assert_allclose(near, np.sort(d.pairwise(X[:20], X), axis=1)[:, :5], rtol=1e-12)
    assert_allclose(d.paired(X[:20], X[rows[:, 0]]), near[:, 0], rtol=1e-12)


def test_a_number_with_two_kinds_of_tables_has_two_terms_of_its_name():
    a = mixed(0)
    d = Semimetric.mean([a, moved(a, 0.1)])
    assert d.terms == ("a", "b", "c", "d", "p", "q", "a (2)", "b (2)", "outside range")
    assert d.contribution_names("features") == ("a", "b", "c", "d")
    same = Semimetric.mean([a, a])
    assert same.terms == a.terms


@pytest.mark.slow
def test_the_mean_of_default_sums_of_two_seeds(rng, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = X + 1e-6 * rng.random(X.shape)  # no ties
    learner = sm.LargeMarginLearner()
    distances = [clone(learner).set_params(random_state=k).fit(X[k::2], y[k::2]).semimetric_ for k in range(2)]
    other = X * rng.uniform(0.5, 2.0, X.shape)
    d = assert_mean(distances, other)
    assert d.directions.n_trees == sum(each.directions.n_trees for each in distances)
    assert d.directions.n_linear == sum(each.directions.n_linear for each in distances)
    at = d.transform(other[:40])
    assert_allclose(np.abs(at[:, None] - at).sum(axis=2), d.pairwise(other[:40]), atol=1e-12)
    near, _ = NeighborIndex(d).fit(X).kneighbors(other, 3)
    assert_allclose(near, np.sort(d.pairwise(other, X), axis=1)[:, :3], rtol=1e-12)
    d.save(tmp_path / "mean.semimetric")
    assert_array_equal(sm.load(tmp_path / "mean.semimetric").pairwise(other), d.pairwise(other))
    assert sm.Semimetric.mean(distances * 2).directions.n_trees == d.directions.n_trees  # the same tree stands there once


@pytest.mark.parametrize("tables", ["warped", "full"])
def test_the_mean_of_tables_of_people(tables, rng):
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=300),
            "pay": np.where(rng.random(300) < 0.2, np.nan, rng.exponential(size=300)),
            "sex": pd.Categorical(rng.choice(["f", "m"], 300)),
            "city": pd.Categorical(rng.choice(list("abcd"), 300)),
        }
    )
    y = (frame["age"] + frame["sex"].eq("f") > 0).to_numpy()
    learner = sm.LargeMarginLearner(n_knots=5, alpha=1e-2, tables=tables, directions=None, columns=sm.Columns(missing="level"))
    distances = [learner.fit(frame[k::3], y[k::3]).semimetric_ for k in range(3)]
    other = frame[::4].assign(age=frame["age"] * 3, city=pd.Categorical(rng.choice(list("abcdz"), 300))[: len(frame)][::4])
    d = assert_mean(distances, other.astype({"city": object}), [0.2, 0.3, 0.5])
    assert d.schema == distances[0].schema
    explained = d.explain(other[:1], other[1:3])
    assert set(explained.to_frame()["feature"]) == set(frame.columns)


def test_means_of_vertices_that_are_not_held(rng):
    table = [[f"city {k}", float(k % 50)] for k in range(1100)]
    d = Semimetric.gower(table, categorical_features=[0])
    mean = Semimetric.mean([d, d.reweighted({"x0": 4})])
    assert mean(table[0], table[1]) == pytest.approx(0.5 * (0.5 + 2.0) + 0.5 / 25)
    whole = PairEmbedding(Grid([[0.0, 1.0, 2.0], [0.0, 2.0]]), [(0, 1)])
    (v,) = whole.vertices
    distances = []
    for keys in (v.keys[::2], v.keys[:3]):
        touched = whole.restricted([keys], rng.random(2))
        distances.append(Semimetric(touched, rng.random(touched.n_columns), rng.random(2), ("a", "b")))
    assert_mean(distances, rng.uniform(-1, 3, (40, 2)), [1, 2])


def test_base_distances_are_added_and_the_same_function_stands_there_once(rng):
    items, index, y = cases.sample()
    base = [
        made(DistanceRegressor, **cases.RECIPES["base"], preprocessor=items).fit(index[k::2], y[k::2]).semimetric_
        for k in range(2)
    ]
    d = assert_mean([*base, cases.fitted("pairs")[0].semimetric_], items, [1, 1, 2])
    (only,) = d.base_distances
    assert only.weight == pytest.approx((base[0].base_distances[0].weight + base[1].base_distances[0].weight) / 4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(pair_settings(n=1), st.integers(0, 9)), min_size=2, max_size=3), st.data())
def test_any_numbers(parts, data):
    grids = [grid for (grid, *_), _ in parts]
    n = min(grid.n_features for grid in grids)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    distances = []
    for grid in grids:
        embedding = PairEmbedding(grid.select(np.arange(n)), data.draw(groups(n)))
        distances.append(Semimetric(embedding, rng.random(embedding.n_columns), rng.random(n), [f"x{f}" for f in range(n)]))
    X = np.vstack(
        [np.array([[k[rng.integers(len(k))] for k in grid.knots[:n]] for grid in grids]), rng.normal(size=(9, n)) * 3]
    )
    assert_mean(distances, X, [1 + u for _, u in parts])


def test_what_has_no_mean_is_refused():
    a, b = Semimetric.l1([[0.0, 1.0], [1.0, 2.0]]), Semimetric.l1([[0.0], [1.0]])
    assert_refused(lambda: Semimetric.mean([]), "list is given", "list of distances", "[d1, d2, ...]")
    assert_refused(lambda: Semimetric.mean(a), "Semimetric is given", "list of distances")
    assert_refused(
        lambda: Semimetric.mean([a, sm.LargeMarginLearner()]), "LargeMarginLearner", "Semimetric is required", "give"
    )
    assert_refused(lambda: Semimetric.mean([a, b]), "x0", "one schema", "same columns", error=NotSupportedError)
    for weights in ([1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.inf]):
        assert_refused(lambda weights=weights: Semimetric.mean([a, a], weights), "weights=", "2 finite numbers")
    root = cases.fitted("square root")[0].semimetric_
    assert_refused(lambda: Semimetric.mean([root, root]), "link='sqrt'", 'link="identity"', error=NotSupportedError)
    bent, straight = mixed(0, bends=True), mixed(0)
    assert_refused(lambda: Semimetric.mean([bent, straight]), "bend", "same directions=", error=NotSupportedError)
    grid = bent.embedding.grid
    turned = Grid([*grid.knots[:2], [0.0, 2.0, 3.0, 4.0], *grid.knots[3:]], grid.kinds)
    other = replace(bent, embedding=PairEmbedding(turned, bent.embedding.groups))
    assert_refused(lambda: Semimetric.mean([bent, other]), "'c' is periodic", "same knots=", error=NotSupportedError)
