"""Learning from more numbers than are compared one by one."""

import numpy as np
import pytest
from learners import made
from numpy.testing import assert_allclose

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    Monotone,
    NeighborIndex,
    NotSupportedError,
    SemimetricWarning,
    load,
)

N_RAW, N_DIRECTIONS, N_ITEMS = 12, 700, 150


def items(rng):
    return rng.normal(size=(N_ITEMS, N_RAW))


def wide_problem(rng):
    """Items, many directions, and pairs whose distances depend on three of the directions and one raw feature."""
    X, directions = items(rng), rng.normal(size=(N_DIRECTIONS, N_RAW))
    index = rng.integers(0, N_ITEMS, (2500, 2))
    U = np.hstack([X, X @ directions.T])[:, [2, 30, 200, 650]]
    y = np.abs(U[index[:, 0]] - U[index[:, 1]]) @ [1.0, 0.5, 0.7, 0.3]
    return X, directions, index, y


def fitted(**options):
    X, directions, index, y = wide_problem(np.random.default_rng(0))
    return made(DistanceRegressor, directions=directions, preprocessor=X, verbose=False, **options).fit(index, y), X, index, y


def test_defaults_learn_from_many_directions_and_keep_few():
    model, _, index, y = fitted()
    d = model.semimetric_
    assert model.score(index, y) > 0.999
    assert len(d.directions.names) < 100
    assert {"direction18", "direction188", "direction638"} <= set(d.directions.names)
    assert d.axioms.name == "metric"
    assert model.recipe_.tables == "warped"
    assert {c.settings["n_knots"] for c in model.choices_} == {2}


@pytest.mark.parametrize(("tables", "n", "screened"), [("warped", 200, True), ("warped", 100, False), ("full", 200, False)])
def test_scales_with_directions_are_screened_of_fewer_numbers(tables, n, screened):
    X, directions, index, y = wide_problem(np.random.default_rng(0))
    learner = DistanceRegressor(directions=directions[:n], tables=tables, alpha=1e-4, effort="fast", preprocessor=X)
    assert learner.fit(index, y).screened_ is screened


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_the_distance_of_different_items_is_positive(tables):
    d = fitted(tables=tables, axioms="metric" if tables == "warped" else "semimetric")[0].semimetric_
    assert d.axioms.name == "metric"
    for f in range(N_RAW):
        x = np.zeros(N_RAW)
        x[f] = 1e-3
        assert d(x, np.zeros(N_RAW)) > 0
        x[f] = 1e6
        assert d(x, np.zeros(N_RAW)) > d(x / 2, np.zeros(N_RAW))


def test_a_floor_under_all_adds_nothing_that_counts():
    model, _, index, y = fitted()
    none, *_ = fitted(delta=0.0)
    assert_allclose(model.predict(index), none.predict(index), rtol=1e-4, atol=1e-4 * y.mean())


def test_what_is_left_is_all_that_is_saved_and_searched(tmp_path):
    model, X, index, _ = fitted()
    d = model.semimetric_
    d.save(tmp_path / "d.semi")
    again = load(tmp_path / "d.semi")
    assert_allclose(again.pairwise(X), d.pairwise(X))
    assert_allclose(np.abs(d.transform(X[:5])[:, None] - d.transform(X[:5])).sum(axis=2), d.pairwise(X[:5]), atol=1e-9)
    distances, _ = NeighborIndex(d).fit(X).kneighbors(X[:7], 4)
    assert_allclose(distances, np.sort(d.pairwise(X[:7], X), axis=1)[:, :4], atol=1e-9)
    model.save(tmp_path / "model.semi")
    assert_allclose(load(tmp_path / "model.semi").predict(index), model.predict(index))


@pytest.mark.slow
def test_many_raw_numbers_are_screened_too(rng):
    X, index = rng.normal(size=(100, 1500)), rng.integers(0, 100, (1500, 2))
    X[:, 7] = 2.0
    y = np.abs(X[index[:, 0]] - X[index[:, 1]])[:, [5, 900]] @ [1.0, 2.0]
    with pytest.warns(SemimetricWarning, match="x7 is constant"):
        model = DistanceRegressor(verbose=False).fit(X[index], y)
    assert model.score(X[index], y) > 0.99
    assert model.semimetric_.directions is None
    heaviest = np.zeros(1500)
    np.maximum.at(heaviest, model.semimetric_.embedding.group_of_column, model.semimetric_.weights)
    assert set(np.argsort(-heaviest)[:2]) == {5, 900}
    assert model.semimetric_(X[0], X[1]) > 0


def test_an_approximator_of_wide_items_is_no_longer_refused(rng):
    X, directions, *_ = wide_problem(rng)
    model = DistanceApproximator(
        lambda x, y: np.abs((x - y) @ directions[:3].T).sum(axis=-1),
        DistanceRegressor(directions=directions),
        n_pairs=1500,
        verbose=False,
    ).fit(X)
    assert model.error_quantiles_[0.5] < 0.02


@pytest.mark.slow
def test_few_features_and_given_numbers_are_learned_as_ever(rng):
    few = fitted(n_knots=2, alpha=1e-6)[0]
    assert few.recipe_.tables == "full"
    X = rng.random((60, 3))
    index = rng.integers(0, 60, (300, 2))
    narrow = DistanceRegressor(preprocessor=X, effort="fast", verbose=False).fit(
        index, np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 2.0, 4.0]
    )
    assert narrow.recipe_.tables == "full"


@pytest.mark.parametrize(
    "options", [{"constraints": [Monotone()]}, {"axioms": "premetric"}, {"groups": [(k,) for k in range(N_RAW + N_DIRECTIONS)]}]
)
def test_what_screening_cannot_keep_is_compared_as_before(options, monkeypatch):
    def compared(*args, **kwargs):
        raise NotSupportedError("it was compared")

    monkeypatch.setattr(
        "semimetric.distances.learning.screening.screen", lambda *args, **kwargs: pytest.fail("it was screened")
    )
    monkeypatch.setattr("semimetric.distances.learning.chosen_fit.choose", compared)
    with pytest.raises(NotSupportedError, match="it was compared"):
        fitted(**options)
