import numpy as np
import pytest
from numpy.testing import assert_allclose

from semimetric import DistanceRegressor
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import screening
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.screening import GapColumns, screen
from semimetric.distances.learning.structure import build_structure

USED = np.array([3, 40, 77])


def problem(rng, n_pairs=1500, relative=False):
    X = rng.normal(size=(120, 80))
    X[:, 5] = X[0, 5] + 1e-9 * X[:, 5]
    index = rng.integers(0, 120, (n_pairs, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]])[:, USED] @ [1.0, 2.0, 3.0] + 0.01
    recipe = Recipe(tables="warped", n_knots=2, relative=relative, random_state=0)
    structure = build_structure(recipe, X, [f"x{k}" for k in range(80)])
    return structure, PairTargets.of(recipe, structure, Pairs(X, index), y, np.full(n_pairs, 1 / n_pairs))


@pytest.mark.parametrize("relative", [False, True])
def test_the_features_that_make_the_distance_are_found(rng, relative):
    found = screen(*problem(rng, relative=relative), random_state=0)
    assert set(USED) <= set(found.kept)
    assert len(found.kept) < 40
    assert len(found.losses) > 1
    assert list(found.kept) == sorted(found.kept)


def test_no_more_features_are_compared_than_may_be_kept(rng, monkeypatch):
    monkeypatch.setattr(screening, "_MOST_KEPT", 4)
    found = screen(*problem(rng), random_state=0)
    assert max(found.losses) == 4
    assert len(found.kept) <= 4


def test_nothing_that_can_be_held_out_is_no_reason_to_stop(rng):
    structure, data = problem(rng, n_pairs=2)
    found = screen(structure, data, random_state=0)
    assert len(found.kept) >= 1
    assert (found.losses, found.split) == ({}, None)
    assert_allclose(found.trained, found.weights)


def test_of_wide_items_a_sample_of_pairs_is_screened(rng, monkeypatch):
    monkeypatch.setattr(screening, "_MOST_ENTRIES", 80 * 64)
    structure, data = problem(rng)
    assert len(screening.sample(structure, data, random_state=0).targets) == 32
    monkeypatch.setattr(screening, "_MOST_PAIRS", 100)
    monkeypatch.setattr(screening, "_MOST_ENTRIES", 1 << 27)
    assert len(screening.sample(structure, data, random_state=0).targets) == 100


def test_columns_are_gaps_times_the_scale_of_their_row(rng):
    features, pairs, scale = rng.random((9, 4)).astype(np.float32), rng.integers(0, 9, (30, 2)), rng.random(30)
    A, r = GapColumns(features, pairs, scale), rng.normal(size=30)
    whole = scale[:, None] * np.abs(features[pairs[:, 0]].astype(float) - features[pairs[:, 1]])
    assert_allclose(A.take(np.array([2, 0])), whole[:, [2, 0]])
    assert_allclose(A.slopes(r), r @ whole, rtol=1e-4, atol=1e-5)
    assert_allclose(A.rows(np.arange(5)).take(np.arange(4)), whole[:5])


def wide_root(rng, n_features=30):
    """Measured pairs under the Euclidean distance of five features of many."""
    X = rng.normal(size=(200, n_features))
    index = rng.integers(0, 200, (2_000, 2))
    gaps = (X[index[:, 0]] - X[index[:, 1]])[:, :5]
    return X, index, np.sqrt((gaps**2).sum(axis=1))


def test_features_that_are_kept_are_learned_with_tables_and_a_link(rng, monkeypatch):
    monkeypatch.setattr(screening, "_MOST_FEATURES", 20)
    X, index, y = wide_root(rng)
    model = DistanceRegressor(preprocessor=X, effort="fast", tables="full").fit(index, y)
    assert model.recipe_.tables == "full"
    assert 0.5 <= model.semimetric_.link.exponent < 1.0
    assert len(model.link_choices_) > 1
    scales = DistanceRegressor(preprocessor=X, effort="fast", tables="warped").fit(index, y)
    apart = y > 0
    assert np.median(np.abs(model.predict(index)[apart] / y[apart] - 1)) < 0.05
    assert np.median(np.abs(scales.predict(index)[apart] / y[apart] - 1)) > 0.06
    assert model.semimetric_.axioms.name == "semimetric"


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_items_that_differ_in_a_feature_without_weight_are_apart(rng, monkeypatch, tables):
    monkeypatch.setattr(screening, "_MOST_FEATURES", 20)
    X, index, y = wide_root(rng)
    d = DistanceRegressor(preprocessor=X, effort="fast", tables=tables).fit(index, y).semimetric_
    for f in range(X.shape[1]):
        moved = X[0].copy()
        moved[f] += 0.1 * np.ptp(X[:, f])
        assert d(X[0], moved) > 0
        moved[f] += 10 * np.ptp(X[:, f])
        assert d(X[0], moved) > 0
    assert d(X[0], X[0]) == 0


def test_under_a_root_features_are_screened_once_more(rng, monkeypatch):
    monkeypatch.setattr(screening, "_MOST_FEATURES", 60)
    X, index, y = wide_root(rng, n_features=80)
    under = []

    def seen(whole, data, recipe):
        found = screened(whole, data, recipe)
        under.append((recipe.link, len(found.kept)))
        return found

    screened = screening._screened
    monkeypatch.setattr(screening, "_screened", seen)
    model = DistanceRegressor(preprocessor=X, effort="fast", tables="full").fit(index, y)
    (first, many), (second, few) = under
    assert (first, second.exponent < 1, few < many) == ("identity", True, True)
    assert np.median(np.abs(model.predict(index)[y > 0] / y[y > 0] - 1)) < 0.03


def test_a_sum_is_screened_once(rng, monkeypatch):
    monkeypatch.setattr(screening, "_MOST_FEATURES", 20)
    X, index, _ = wide_root(rng)
    y = np.abs(X[index[:, 0]] - X[index[:, 1]])[:, :5].sum(axis=1)
    under, screened = [], screening._screened
    monkeypatch.setattr(screening, "_screened", lambda *given: under.append(given[2].link) or screened(*given))
    model = DistanceRegressor(preprocessor=X, effort="fast").fit(index, y)
    assert (under, str(model.semimetric_.link)) == (["identity"], "identity")


def test_of_more_features_than_a_table_each_can_have_scales_are_learned(rng, monkeypatch):
    monkeypatch.setattr(screening, "_MOST_FEATURES", 20)
    monkeypatch.setattr(screening, "_MOST_WITH_TABLES", 3)
    X, index, y = wide_root(rng)
    model = DistanceRegressor(preprocessor=X, effort="fast", tables="full").fit(index, y)
    assert (model.recipe_.tables, str(model.semimetric_.link)) == ("warped", "identity")
