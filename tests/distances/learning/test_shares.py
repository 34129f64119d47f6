"""The shares of a sum: what is compared, who judges, and that the sum is what was judged."""

from fractions import Fraction

import numpy as np
import pytest
from cases import candidate
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import LargeMarginLearner
from semimetric._foundation.errors import TooFewError
from semimetric.data.schema import Schema
from semimetric.distances.learning import sum_of_distances as shares
from semimetric.distances.learning.items import LabeledDataset, LargeMargin
from semimetric.distances.learning.options import Recipe

RECIPE = Recipe(n_knots=5, tables="warped", alpha=1e-2, loss="squared_hinge", random_state=0)


def problem(X, y, **changes):
    data = LabeledDataset(X, y, np.full(len(y), 1.0 / len(y)))
    recipe = Recipe(**{**vars(RECIPE), **changes})
    schema = Schema.numeric([f"x{k}" for k in range(X.shape[1])])
    return shares.LabelProblem(recipe, frozenset(), LargeMargin(), data, schema, float(len(y)))


@pytest.fixture
def numbers(rng):
    X = rng.normal(size=(90, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_shares_sum_to_one(n):
    lattice = shares._lattice(n)
    assert len(lattice) == len(set(lattice)) == (1, 4, 10)[n - 1]
    for point in lattice:
        near = shares._around(point)
        assert all(sum(p) == 1 and min(p) >= 0 for p in [point, *near])
        assert all(sum(abs(a - b) for a, b in zip(p, point, strict=True)) == Fraction(1, 3) for p in near)


def test_others_are_taken_only_if_far_better():
    def scored(*losses):
        return candidate(5, 0.01, losses)

    first = scored(1.0, 1.0, 1.2)
    assert shares.first_unless_far_better([first, scored(0.9, 1.1, 1.1)]) is first
    better = scored(0.5, 0.52, 0.7)
    assert shares.first_unless_far_better([first, better]) is better
    assert shares.first_unless_far_better([scored(1.0), scored(0.1)]).losses == (1.0,)


def test_every_item_is_held_out_once_and_twins_together(numbers):
    X, y = numbers
    X[10:20] = X[:10]
    y[10:20] = y[:10]
    folds = shares.folds_of(problem(X, y))
    assert_array_equal(np.sort(np.concatenate([held for _, held in folds])), np.arange(90))
    for part, held in folds:
        assert not set(map(tuple, X[part])) & set(map(tuple, X[held]))


@pytest.mark.slow
def test_of_many_items_some_are_held_out_once(numbers, monkeypatch):
    X, y = numbers
    monkeypatch.setattr(shares, "_FOLDED", 50)
    monkeypatch.setattr(shares, "_MOST_HELD", 20)
    ((part, held),) = shares.folds_of(problem(X, y))
    assert len(part) + len(held) == 90
    assert 18 <= len(held) <= 22
    learned = shares.learn_sum(problem(X, y))
    assert len(learned.choices.chosen.losses) == 3  # the items held out judge in three parts


@pytest.mark.slow
def test_what_is_judged_is_the_sum_of_the_parts(numbers, monkeypatch):
    X, y = numbers
    monkeypatch.setattr(shares, "_FAR", np.inf)  # so that the halves are taken
    learned = shares.learn_sum(problem(X, y))
    assert learned.choices[0].settings["directions"] == "1/2 components + 1/2 forest"
    d, directions = learned.result.semimetric, learned.result.semimetric.directions
    features = directions.append(X)
    z, leaves = features[:, 3 : 3 + directions.n_linear], features[:, 3 + directions.n_linear :]
    l1, parted = np.abs(z[:, None] - z).sum(axis=2), (leaves[:, None] != leaves).mean(axis=2)
    got = d.pairwise(X)
    basis = np.column_stack([l1.ravel(), parted.ravel()])
    weights = np.linalg.lstsq(basis, got.ravel(), rcond=None)[0]
    assert (weights > 0).all()
    assert_allclose(basis @ weights, got.ravel(), atol=1e-4 * got.max())  # the raw features have the least weights


@pytest.mark.slow
def test_neighbours_held_out_are_sorted_and_of_the_part_learned_from(numbers):
    X, y = numbers
    learned = shares.learn_sum(problem(X, y))
    assert sum(len(fold.targets) for fold in learned.held_out) == 90
    for fold in learned.held_out:
        assert (np.diff(fold.distances, axis=1) >= 0).all()
        assert fold.distances.shape == fold.neighbor_targets.shape
        assert fold.class_shares.sum() == pytest.approx(1.0)


def test_nothing_can_be_held_out_of_classes_of_one_item():
    with pytest.raises(TooFewError, match="one member"):
        shares.learn_sum(problem(np.arange(6.0).reshape(3, 2), np.array([0, 1, 2])))


@pytest.mark.slow
def test_repeated_items_are_weights(numbers):
    X, y = numbers
    times = 1 + np.arange(90) % 3
    repeated = LargeMarginLearner(random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = LargeMarginLearner(random_state=0).fit(X, y, sample_weight=times)
    assert weighted.choices_.chosen.settings["directions"] == repeated.choices_.chosen.settings["directions"]
    assert_allclose(weighted.semimetric_.pairwise(X[:9], X), repeated.semimetric_.pairwise(X[:9], X), rtol=1e-3, atol=1e-6)
    for a, b in zip(weighted.held_out_neighbors_, repeated.held_out_neighbors_, strict=True):
        assert_allclose(a.weight, b.weight)
        assert_allclose(a.neighbor_weight, b.neighbor_weight)


def test_many_classes_of_two_of_which_none_is_held_out(rng, monkeypatch):
    monkeypatch.setattr(shares, "_FOLDED", 20)
    monkeypatch.setattr(shares, "_MOST_HELD", 4)
    with pytest.raises(TooFewError, match="no class keeps two members"):
        shares.learn_sum(problem(rng.normal(size=(40, 2)), np.repeat(np.arange(20), 2)))


def test_wide_tables_have_few_knots(rng):
    wide = problem(rng.normal(size=(4, 320)), np.array([0, 0, 1, 1]))
    auto = wide._replace(auto=frozenset({"n_knots", "alpha"}))
    assert shares.with_scales(auto).recipe.n_knots == 6
    assert shares.with_scales(wide) == wide


@pytest.mark.slow
def test_what_has_no_share_is_not_learned_from_all_items(numbers, monkeypatch):
    X, y = numbers
    monkeypatch.setattr(
        shares, "first_unless_far_better", lambda found: next(c for c in found if c.settings["directions"] == "1 scales")
    )
    learned = shares.learn_sum(problem(X, y))
    assert learned.result.semimetric.directions is None
    assert learned.recipe.directions is None
