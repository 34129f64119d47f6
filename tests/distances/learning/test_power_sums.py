"""Euclid's distance of columns in any units, its kin and Mahalanobis distances are found by default, from few numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from learners import made
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    InputError,
    NeighborIndex,
    NotSupportedError,
    PowerLink,
    Tables,
    load,
)
from semimetric._foundation.types import Pairs
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.options import PowerSum, Recipe
from semimetric.distances.learning.power_sum import nearest_power_sum, with_new_factors

RNG = np.random.default_rng(0)
SCALES = np.array([1.0, 3.0, 0.3, 10.0])
X, NEW = RNG.normal(size=(160, 4)) * SCALES, RNG.normal(size=(50, 4)) * SCALES
INDEX = RNG.integers(0, 160, (3_000, 2))
TURN = RNG.normal(size=(4, 4)) / SCALES[:, None]  # so that all columns count

DISTANCES = {
    "Euclid": (lambda a, b: cdist(a, b), 0.5),
    "Euclid with weights": (lambda a, b: cdist(a * [5.0, 1.0, 9.0, 0.2], b * [5.0, 1.0, 9.0, 0.2]), 0.5),
    "of two columns": (lambda a, b: cdist(a[:, :2], b[:, :2]), 0.5),
    "Minkowski's of power 3": (lambda a, b: cdist(a / SCALES, b / SCALES, "minkowski", p=3), 1 / 3),
    "Mahalanobis": (lambda a, b: cdist(a @ TURN, b @ TURN), 0.5),
    "Mahalanobis of two directions": (lambda a, b: cdist(a @ TURN[:, :2], b @ TURN[:, :2]), 0.5),
}


def between(name, index=INDEX):
    return DISTANCES[name][0](X, X)[index[:, 0], index[:, 1]]


def fitted(y, **options):
    return DistanceRegressor(**{"preprocessor": X, "effort": "fast", "random_state": 0} | options).fit(INDEX, y)


def error(model, name):
    true, found = DISTANCES[name][0](NEW, NEW), model.semimetric_.pairwise(NEW, NEW)
    apart = true > 0.1 * np.median(true)
    return float(np.median(np.abs(found[apart] / true[apart] - 1.0)))


@pytest.mark.parametrize("name", DISTANCES)
def test_it_is_found_by_default(name):
    model = fitted(between(name))
    found = model.recipe_.factors
    assert model.recipe_.tables == "shared"
    assert found.error < 1e-4
    assert model.semimetric_.link == PowerLink(DISTANCES[name][1])
    assert (found.directions is not None) == name.startswith("Mahalanobis")
    assert error(model, name) < 0.01
    assert model.semimetric_.axioms.positive


def test_factors_are_the_weights_times_the_ranges():
    model = fitted(between("Euclid with weights"))
    ranges = np.ptp(X[np.unique(INDEX)], axis=0) * [5.0, 1.0, 9.0, 0.2]
    assert_allclose(model.recipe_.factors.factors, ranges**2 / np.mean(ranges**2), rtol=1e-3)
    tables = list(model.semimetric_.tables().values())
    heights = [table.values.max() for table in tables]
    assert_allclose(heights / np.mean(heights), ranges**2 / np.mean(ranges**2), rtol=1e-3)


def test_equal_weights_are_taken_where_they_are_as_good():
    noisy = between("Euclid") * np.exp(0.001 * RNG.normal(size=len(INDEX)))
    squares = np.ptp(X[np.unique(INDEX)], axis=0) ** 2
    assert_allclose(fitted(noisy).recipe_.factors.factors, squares / squares.mean(), rtol=1e-12)
    alike = DistanceRegressor(preprocessor=X / SCALES, effort="fast", random_state=0).fit(
        INDEX, cdist(X / SCALES, X / SCALES)[tuple(INDEX.T)]
    )
    assert (alike.recipe_.tables, alike.recipe_.factors) == ("shared", None)
    assert alike.semimetric_.link == PowerLink(0.5)


def test_directions_are_those_of_the_matrix():
    model = fitted(between("Mahalanobis"))
    L = model.semimetric_.directions.matrix
    assert_array_equal(model.recipe_.directions.matrix, L)
    M = TURN @ TURN.T
    assert_allclose(L.T @ L / np.trace(L.T @ L), M / np.trace(M), atol=1e-6)
    assert str(model.recipe_.factors).startswith("the Mahalanobis distance of 4 directions, mean relative error below 0.001 %")
    of_two = fitted(between("Mahalanobis of two directions")).semimetric_.directions
    assert len(of_two.matrix) == 2


def test_it_is_found_among_errors():
    noisy = between("Mahalanobis") * np.exp(0.1 * np.random.default_rng(1).normal(size=len(INDEX)))
    model = fitted(noisy)
    assert model.recipe_.directions is not None
    assert model.recipe_.factors.error == sum_of(noisy, Recipe(link="auto")).error  # of pairs that were held out
    assert error(model, "Mahalanobis") < 0.03 < error(fitted(noisy, tables="full"), "Mahalanobis")


def test_errors_are_those_of_items_that_no_factor_was_found_with(monkeypatch):
    """Each fold finds factors of its own."""
    seen = []

    def counted(recipe, pairs, *others):
        seen.append(len(np.unique(pairs.index)))
        return with_new_factors(recipe, pairs, *others)

    monkeypatch.setattr("semimetric.distances.learning.measured_fit.with_new_factors", counted)
    model = fitted(between("Mahalanobis"), validation_fraction=0.2)
    assert max(seen) <= 0.8 * 160 + 1
    assert model.error_.median < 0.01


@pytest.mark.parametrize("name", ["Euclid", "Mahalanobis"])
def test_the_recipe_the_file_and_the_index_give_the_same(name, tmp_path):
    model = fitted(between(name))
    again = made(DistanceRegressor, **model.recipe_.__dict__)
    again.set_params(preprocessor=X).fit(INDEX, between(name))
    assert_array_equal(again.semimetric_.weights, model.semimetric_.weights)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.recipe_.factors.factors == model.recipe_.factors.factors
    assert (loaded.recipe_.directions is None) == (name == "Euclid")
    if name == "Mahalanobis":
        assert_array_equal(loaded.recipe_.directions.matrix, model.recipe_.directions.matrix)
    assert_array_equal(loaded.predict(INDEX[:50]), model.predict(INDEX[:50]))
    found = NeighborIndex(model.semimetric_).fit(X).search(NEW, 5)
    assert_allclose(found.distances, np.sort(model.semimetric_.pairwise(NEW, X), axis=1)[:, :5], rtol=1e-9)


@pytest.mark.parametrize("link", ["sqrt", 0.5, "power"])
def test_a_link_that_is_given_is_kept(link):
    model = fitted(between("Euclid"), link=link)
    assert str(model.semimetric_.link) == ("sqrt" if link == "sqrt" else "power 0.5")
    assert model.recipe_.factors is not None
    other = fitted(between("Euclid"), link="identity")
    assert other.recipe_.factors is None


@pytest.mark.parametrize("link", ["concave", 2.0])
def test_other_links_have_no_sum_of_powers(link):
    kind = "shared" if link == 2.0 else "auto"
    model = fitted(between("Euclid"), tables=kind, link=link)
    assert model.recipe_.factors is None


@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1e150])
def test_distances_of_any_size_are_learned(unit):
    model = fitted(between("Euclid") * unit)
    found, true = model.semimetric_.pairwise(NEW, NEW), cdist(NEW, NEW) * unit
    assert np.median(np.abs(found[true > 0] / true[true > 0] - 1.0)) < 0.15


@pytest.mark.parametrize("offset", [10.0, 1e3, 1e8, 1.7e9, 1e12])
@pytest.mark.parametrize("name", ["Euclid", "Mahalanobis"])
def test_columns_may_lie_anywhere(name, offset):
    moved = np.array([0.0, 0.0, 0.0, offset])
    model = DistanceRegressor(preprocessor=X + moved, effort="fast", random_state=0).fit(INDEX, between(name))
    found, true = model.semimetric_.pairwise(NEW + moved, NEW + moved), DISTANCES[name][0](NEW, NEW)
    assert np.median(np.abs(found[true > 0] / true[true > 0] - 1.0)) < (0.01 if offset < 1e9 else 0.2)


def test_columns_of_alike_ranges_far_from_one_another_have_knots_of_their_own():
    alike, index = RNG.uniform(size=(160, 4)) + [0.0, 0.0, 0.0, 1_000.0], INDEX
    model = DistanceRegressor(preprocessor=alike, effort="fast", random_state=0).fit(index, cdist(alike, alike)[tuple(index.T)])
    assert model.recipe_.factors is not None
    new = RNG.uniform(size=(2, 200, 4)) + [0.0, 0.0, 0.0, 1_000.0]
    assert np.median(np.abs(model.semimetric_.paired(*new) / np.linalg.norm(new[0] - new[1], axis=1) - 1.0)) < 0.01


@pytest.mark.parametrize("kind", ["a sum of two others", "a column twice", "shares", "one-hot"])
def test_columns_that_depend_on_one_another_have_a_mahalanobis_distance_too(kind):
    rng = np.random.default_rng(3)
    S = rng.normal(size=(160, 3))
    S = {
        "a sum of two others": np.c_[S, S[:, :1] + S[:, 1:2]],
        "a column twice": np.c_[S, S[:, :1]],
        "shares": rng.dirichlet(np.ones(5), 160),
        "one-hot": np.c_[S, np.eye(4)[rng.integers(0, 4, 160)]],
    }[kind]
    turn = rng.normal(size=(S.shape[1], 3))
    model = DistanceRegressor(preprocessor=S, effort="fast", random_state=0).fit(
        INDEX, cdist(S @ turn, S @ turn)[tuple(INDEX.T)]
    )
    assert model.recipe_.directions is not None
    assert model.choices_.chosen.settings["directions"] == "mahalanobis"
    assert model.recipe_.factors.error < 1e-6


def test_of_one_column_the_sum_itself_is_taken():
    one = X[:, :1]
    model = DistanceRegressor(preprocessor=one, tables="shared", effort="fast", random_state=0).fit(
        INDEX, cdist(one, one)[tuple(INDEX.T)]
    )
    assert str(model.semimetric_.link) == "identity"


def test_held_out_distances_that_are_all_0_show_nothing():
    y = np.zeros(len(INDEX))
    y[0] = 1.0  # on one side at most
    assert sum_of(y, Recipe(link=PowerLink(0.5))) is None


def test_numbers_may_be_given_beside_it():
    model = fitted(between("Mahalanobis"), tables="shared", n_knots=12, alpha=1e-9, link=0.5)
    assert model.recipe_.directions is not None
    assert error(model, "Mahalanobis") < 0.02


def test_factors_that_are_given_are_taken():
    y = between("Euclid with weights")
    given = np.ptp(X, axis=0) ** 2 * np.square([5.0, 1.0, 9.0, 0.2])
    model = fitted(y, tables=Tables("shared", factors=given), link=0.5)
    assert_array_equal(model.recipe_.factors, given)
    assert error(model, "Euclid with weights") < 0.01
    other = fitted(y, tables=Tables("shared", factors=pd.Series(given * 1e300)), link=0.5)
    assert_allclose(other.semimetric_.pairwise(NEW, NEW), model.semimetric_.pairwise(NEW, NEW), rtol=1e-6)


@pytest.mark.parametrize(
    ("factors", "kind", "named"),
    [
        ([1.0, 2.0], "shared", "2 factors for 4 features"),
        ([1.0, 0.0, 1.0, 1.0], "shared", "no numbers > 0"),
        ([1.0, np.nan, 1.0, 1.0], "shared", "no numbers > 0"),
        ("large", "shared", "no numbers > 0"),
        ([1.0, 1e-13, 1.0, 1.0], "shared", "less than 1e\\+12 times the least"),
        ([1.0] * 4, "full", "tables is 'full'"),
        ([1.0] * 4, "auto", "tables is 'auto'"),
    ],
)
def test_what_are_no_factors_is_refused(factors, kind, named):
    with pytest.raises(InputError, match=named):
        fitted(between("Euclid"), tables=Tables(kind, factors=factors))


def test_directions_of_a_user_need_tables_of_their_own():
    with pytest.raises(NotSupportedError, match="directions="):
        fitted(between("Mahalanobis"), tables="shared", directions=TURN.T)


def sum_of(y, recipe, index=INDEX):
    data = MeasuredDistances.of_arrays(Pairs(X, index), y, np.full(len(y), 1.0 / len(y)))
    return nearest_power_sum(replace(recipe, random_state=0), data)


def test_the_nearest_sum_is_among_those_that_the_link_allows():
    y = between("Euclid")
    assert sum_of(y, Recipe(link="auto")).exponent == 0.5
    assert sum_of(y, Recipe(link=PowerLink(1 / 3))).exponent == 1 / 3
    assert sum_of(y, Recipe(link="identity")) is None  # a weighted L1 distance needs no table that features share
    assert sum_of(cdist(X, X, "cityblock")[tuple(INDEX.T)], Recipe(link="auto")) is None
    assert isinstance(sum_of(y, Recipe(link="sqrt")), PowerSum)


def test_few_pairs_find_no_matrix_and_fewer_nothing():
    few = INDEX[:60]
    assert sum_of(between("Mahalanobis", few), Recipe(link=PowerLink(0.5)), few).directions is None
    assert sum_of(between("Euclid", few[:2]), Recipe(link="auto"), few[:2]) is None
    assert sum_of(np.zeros(len(INDEX)), Recipe(link="auto")) is None


def test_an_expensive_distance_is_approximated_by_it():
    model = DistanceApproximator(
        lambda a, b: float(np.linalg.norm((a - b) @ TURN)), n_pairs=3_000, effort="fast", random_state=0
    ).fit(X)
    assert model.recipe_.directions is not None
    assert model.error_.median < 0.01
