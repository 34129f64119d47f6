"""A weight is the same as repetition, and neither is evidence: what is left out takes its copies along."""

from math import prod

import numpy as np
import pytest

from semimetric import SemimetricClassifier, SemimetricRegressor
from semimetric._foundation.errors import InputError
from semimetric.data.rows import come_again, effective_counts, left_out_weight

N, LEVEL = 150, 0.9


def drawn_values(seed):
    """Items with noisy values to learn from, and new ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N + 1_000, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=len(X))
    return X[:N], y[:N], X[N:], y[N:]


@pytest.fixture(scope="module")
def values():
    return drawn_values(0)


def held(model, X, y):
    predicted, lower, upper = model.predict(X, interval=LEVEL)
    return ((lower <= y) & (y <= upper)).mean()


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 5, "weights": "uniform"}], ids=["machine", "votes"])
def test_weights_and_repeated_rows_are_the_same(values, options):
    X, y, new, _ = values
    twice = SemimetricRegressor(**options).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)).predict(new[:50], interval=LEVEL)
    weighted = SemimetricRegressor(**options).fit(X, y, sample_weight=np.full(N, 2.0)).predict(new[:50], interval=LEVEL)
    np.testing.assert_allclose(twice, weighted, rtol=1e-6)


def test_multiples_of_all_weights_change_nothing(values):
    X, y, new, _ = values
    plain, thousandfold = (
        SemimetricRegressor().fit(X, y, sample_weight=weight).predict(new[:50], interval=LEVEL)
        for weight in (None, np.full(N, 1_000.0))
    )
    np.testing.assert_allclose(thousandfold, plain, rtol=1e-6)


@pytest.mark.parametrize("drawn", ["exponential weights", "a bootstrap sample", "a half twice"])
def test_intervals_hold_new_values_whatever_is_repeated(drawn):
    shares = []
    for seed in range(4):
        X, y, new, truth = drawn_values(seed)
        rng = np.random.default_rng(10 + seed)
        rows, weight = np.arange(N), None
        if drawn == "exponential weights":
            weight = rng.exponential(size=N)
        else:
            rows = rng.integers(0, N, N) if drawn == "a bootstrap sample" else np.append(rows, rows[: N // 2])
        shares.append(held(SemimetricRegressor().fit(X[rows], y[rows], sample_weight=weight), new, truth))
    assert np.mean(shares) > LEVEL - 0.05


@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_copies_of_a_row_have_no_vote_for_it(values, weights):
    X, y, new, truth = values
    rows = np.repeat(np.arange(N), 2)
    model = SemimetricRegressor(n_neighbors=5, weights=weights).fit(X[rows], y[rows])
    assert held(model, new, truth) > LEVEL - 0.06


def test_weights_buy_no_levels():
    X, y = np.arange(8.0)[:, None], np.arange(8.0) % 3
    model = SemimetricRegressor().fit(X, y, sample_weight=np.full(8, 100.0))
    with pytest.raises(InputError, match="there are 8; fit more items"):
        model.predict(X, interval=0.98)


@pytest.mark.parametrize("weight", [None, 2.0])
def test_the_accuracy_of_weighted_items_is_that_of_new_ones(values, weight):
    X, _, new, _ = values
    rng = np.random.default_rng(2)
    y, truth = ((Z[:, 0] > 0) ^ (rng.random(len(Z)) < 0.25) for Z in (X, new))
    sample_weight = None if weight is None else np.full(N, weight)
    model = SemimetricClassifier(predictor="kernel_ridge").fit(X, y, sample_weight=sample_weight)
    found = model.left_out_predictions()
    assert (found.predicted.argmax(axis=1) == found.targets).mean() == pytest.approx(model.score(new, truth), abs=0.1)
    assert found.weight.sum() == pytest.approx(N)


def test_rows_of_coarse_columns_did_come_several_times():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (400, 3)).astype(np.float64)
    y = X.sum(axis=1) % 2  # leaving a whole place out would say that nothing is known there
    found = SemimetricClassifier(predictor="kernel_ridge").fit(X, y).left_out_predictions()
    assert np.average(found.predicted.argmax(axis=1) == found.targets, weights=found.weight) > 0.95
    assert found.weight.sum() == pytest.approx(400)


@pytest.mark.parametrize("kind", ["fine", "coarse", "mixed", "one column"])
def test_which_items_come_again_as_counted_slowly(kind):
    rng = np.random.default_rng(4)
    fine, coarse = rng.normal(size=(60, 2)), rng.integers(0, 3, (60, 3)).astype(np.float64)
    items = {"fine": fine, "coarse": coarse, "mixed": np.hstack([fine, coarse]), "one column": coarse[:, :1]}[kind]
    items = np.unique(items, axis=0)
    number = np.append(np.arange(len(items)), 0)  # the first has two targets
    expected = []
    for item in items:
        shares = [np.mean(column == value) for column, value in zip(items.T, item, strict=True)]
        by_chance = items.shape[1] > 1 and len(items) * prod(shares) >= 0.5
        expected.append(bool(by_chance or not len(expected)))
    assert come_again(items, number).tolist() == expected
    weight = rng.uniform(0.5, 4, len(number))
    left_out = left_out_weight(items, number, weight)
    assert (left_out == np.where(np.array(expected)[number], np.minimum(weight, 1.0), weight)).all()


def test_effective_counts_are_those_of_kish():
    weight = np.array([1.0, 2.0, 5.0])
    assert effective_counts(weight, weight).sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert effective_counts(weight, np.ones(3)).tolist() == weight.tolist()
