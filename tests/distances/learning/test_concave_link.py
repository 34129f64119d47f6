"""A concave link is found where there is one, never costs loss on the pairs, and leaves a metric a metric."""

import numpy as np
import pytest
from learners import made

from semimetric import ConcaveLink, DistanceRegressor, NeighborIndex, PowerLink, load
from semimetric._foundation.errors import TooFewError
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import concave_link
from semimetric.distances.learning.concave_link import fit_concave_link, least_squares_link, shorter_and_longer
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure

RNG = np.random.default_rng(2)
ITEMS, INDEX = RNG.random((120, 2)), RNG.integers(0, 120, (700, 2))
SUMS = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 3.0]
SATURATING = np.minimum(SUMS, 1.0) + 0.1 * np.maximum(SUMS - 1.0, 0.0)  # as no power does
WEIGHT = np.full(len(SUMS), 1 / len(SUMS))
PARAMETERS = {"n_knots": 2, "alpha": 1e-5, "tables": "warped", "preprocessor": ITEMS}


def fitted(link, y, **parameters):
    return made(DistanceRegressor, **PARAMETERS | parameters, link=link).fit(INDEX, y)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_function_of_pieces_is_found_where_no_power_fits(loss):
    power, concave = (fitted(link, SATURATING, loss=loss) for link in ("power", "concave"))
    assert isinstance(concave.recipe_.link, ConcaveLink)
    errors = [np.mean((m.predict(INDEX) - SATURATING) ** 2) for m in (power, concave)]
    assert errors[1] < 0.2 * errors[0]
    slopes = concave.semimetric_.link.slopes
    assert slopes[-1] < 0.3 * slopes[0]


def test_it_is_a_metric_that_is_saved_and_searched(tmp_path):
    d = fitted("concave", SATURATING, axioms="metric").semimetric_
    assert d.axioms.name == "metric"
    d.save(tmp_path / "d.smm")
    again, D = load(tmp_path / "d.smm"), d.pairwise(ITEMS[:5], ITEMS)
    assert again.link == d.link
    distances, _ = NeighborIndex(again).fit(ITEMS).kneighbors(ITEMS[:5], 10)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :10], atol=1e-12)
    radius = float(np.median(D))
    found, _ = NeighborIndex(d).fit(ITEMS).radius_neighbors(ITEMS[:5], radius)
    assert [len(row) for row in found] == (radius >= D).sum(axis=1).tolist()


@pytest.mark.slow
def test_a_sum_that_needs_no_link_has_one_that_is_nearly_straight():
    d = fitted("concave", SUMS * (1 + 0.1 * RNG.normal(size=len(SUMS)))).semimetric_
    np.testing.assert_allclose(d.link_function.apply(SUMS), SUMS, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("relative", [False, True])
def test_no_round_raises_the_loss_of_the_pairs(relative):
    y = SATURATING * (1 + 0.1 * RNG.normal(size=len(SUMS)))
    recipe = Recipe(n_knots=4, alpha=1e-4, relative=relative, loss="huber").checked()
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), y, WEIGHT)
    structure = build_structure(recipe, ITEMS, ("u", "v"))
    rounds = list(concave_link._rounds(recipe, structure, data, 4))
    losses = [concave_link._loss(recipe, d, data) for d, _, _ in rounds]
    assert len(losses) > 1
    assert (np.diff(losses) < 0).all()


def test_of_few_pairs_nothing_is_held_out_and_the_link_stays():
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX[:2]), SUMS[:2], np.full(2, 0.5))
    recipe, (d, _, _) = fit_concave_link(Recipe(n_knots=2, alpha=1e-3, link=0.7).checked(), data, ("u", "v"))
    assert str(recipe.link) == str(d.link) == "power 0.7"


def test_the_link_of_given_sums_is_their_least_squares_fit():
    link = least_squares_link(SUMS, SATURATING, WEIGHT)
    best = np.mean((link.apply(SUMS) - SATURATING) ** 2)
    assert best < 1e-3 * SATURATING.var()
    for factor in (0.99, 1.01):  # no other slopes in the direction of these are better
        other = ConcaveLink(link.bends, tuple(factor * s for s in link.slopes))
        assert np.mean((other.apply(SUMS) - SATURATING) ** 2) > best
    convex = least_squares_link(SUMS, SUMS**2, WEIGHT)
    assert convex.bends == ()  # the concave function nearest to a convex one is straight


def test_the_link_of_sums_does_not_depend_on_units():
    one, other = least_squares_link(SUMS, SATURATING, WEIGHT), least_squares_link(1e6 * SUMS, 1e-3 * SATURATING, WEIGHT)
    np.testing.assert_allclose(1e6 * np.array(one.bends), other.bends)
    np.testing.assert_allclose(1e-9 * np.array(one.slopes), other.slopes, rtol=1e-6)


@pytest.mark.parametrize("far", [[0], [0, 1, 2, 3, 4, 5]])
def test_folds_in_which_all_distances_are_zero_are_left_out(far):
    place = np.zeros((40, 1))
    place[far, 0] = 1 + np.arange(len(far))
    items = np.hstack([place, np.linspace(0, 1, 40)[:, None]])
    index = np.column_stack(np.triu_indices(40, 1))
    y = np.sqrt(np.abs(place[index[:, 0], 0] - place[index[:, 1], 0]))
    model = made(DistanceRegressor, **PARAMETERS | {"preprocessor": items}, link="concave", validation_fraction=0).fit(index, y)
    assert np.isfinite(model.predict(index)).all()
    assert model.score(index, y) > 0.5


@pytest.mark.slow
def test_a_link_that_loses_on_longer_pairs_is_not_taken(monkeypatch):
    rng = np.random.default_rng(1)
    X, index = rng.random((120, 2)), rng.integers(0, 120, (1200, 2))
    index = index[index[:, 0] != index[:, 1]]
    y = np.sqrt((X[index[:, 0]] - X[index[:, 1]]) ** 2 @ [4.0, 8.0])
    far = y > np.median(y)
    model = made(DistanceRegressor, n_knots=3, alpha=1e-4, tables="warped", link="concave", preprocessor=X)
    link = model.fit(index[~far], y[~far]).semimetric_.link
    error = np.abs(model.predict(index[far]) - y[far]).sum() / y[far].sum()
    assert isinstance(link, PowerLink)

    def nothing_longer(*given):
        raise TooFewError("no longer pairs")

    monkeypatch.setattr(concave_link, "shorter_and_longer", nothing_longer)
    assert isinstance(model.fit(index[~far], y[~far]).semimetric_.link, ConcaveLink)
    assert np.abs(model.predict(index[far]) - y[far]).sum() / y[far].sum() > 2 * error


@pytest.mark.parametrize("noise", [np.ones(len(SUMS)), np.exp(0.3 * np.random.default_rng(1).normal(size=len(SUMS)))])
def test_pairs_are_shorter_or_longer_by_their_items_whatever_was_measured(noise):
    recipe, rows = Recipe(n_knots=3).checked(), np.arange(len(INDEX))
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), SUMS * noise, WEIGHT)
    splits = [(rows[rows % 2 == k], rows[rows % 2 != k]) for k in (0, 1)]
    found = shorter_and_longer(recipe, build_structure(recipe, ITEMS, ("u", "v")), data, splits)
    for (train, test), (shorter, longer) in zip(splits, found, strict=True):
        assert set(shorter) < set(train)
        assert set(longer) < set(test)
        assert len(shorter) + len(longer) > 0.9 * len(INDEX) / 2
        assert SUMS[shorter].max() < 1.1 * SUMS[longer].min()  # the fitted weights are nearly 1 and 3
        if np.ptp(noise):
            assert data.y[shorter].max() > 2 * data.y[longer].min()


def test_where_all_pairs_are_equally_long_none_is_longer():
    recipe, rows = Recipe(n_knots=2).checked(), np.arange(len(INDEX))
    ends = np.arange(len(ITEMS), dtype=float)[:, None] % 2
    apart = rows[(ends[INDEX[:, 0]] != ends[INDEX[:, 1]]).ravel()]
    data = MeasuredDistances.of_arrays(Pairs(ends, INDEX), SUMS, WEIGHT).take(apart)
    half = np.arange(len(apart)) < len(apart) // 2
    with pytest.raises(TooFewError, match="no longer pairs"):
        shorter_and_longer(recipe, build_structure(recipe, ends, ("u",)), data, [(np.flatnonzero(half), np.flatnonzero(~half))])
