"""Intervals of values: equal to refits without each item, of the level asked for on new items, saved, and by weights."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

import semimetric as sm
from semimetric.distances.learning.value_intervals import LeftOutErrors, LeftOutVotes, Nearby, positions_of

LEVELS = (0.5, 0.8, 0.9, 0.95)
GIVEN = {"n_neighbors": 3, "weights": "distance"}


def noisy(rng, n):
    """Values whose noise grows with the first column."""
    X = rng.random((n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + (0.02 + 0.4 * X[:, 0]) * rng.standard_normal(n)


def quantile(scores, level):
    """The least score that covers the level of one item more."""
    return np.sort(scores)[int(np.ceil(level * (len(scores) + 1) - 1e-9)) - 1]


def refitted(model, X, y):
    """Predictions of each item by the same machine of all others, solved anew, with the mean of all values."""
    machine, kernel = model.machine_, np.exp(-model.semimetric_.pairwise(X) / model.machine_.width) + 1
    out = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        system = kernel[np.ix_(rest, rest)] + machine.strength * np.eye(len(y) - 1)
        out[i] = machine.offset[0] + kernel[i, rest] @ np.linalg.solve(system, y[rest] - machine.offset[0])
    return out


def test_intervals_of_a_machine_equal_refits_without_each_item():
    rng = np.random.default_rng(0)
    X, y = noisy(rng, 60)
    new, _ = noisy(rng, 20)
    model = sm.SemimetricRegressor().fit(X, y)
    found = model.intervals_
    errors = np.abs(y - refitted(model, X, y))
    d = model.semimetric_.pairwise(X)
    similar = np.exp(-d / found.local.width)
    expected = np.empty(60)
    for i in range(60):
        rest = np.arange(60) != i
        near = similar[i, rest]
        expected[i] = (found.prior * errors.mean() + near @ errors[rest]) / (found.prior + near.sum())
    near = np.exp(-model.semimetric_.pairwise(new, X) / found.local.width)
    half = (found.prior * errors.mean() + near @ errors) / (found.prior + near.sum(axis=1))
    for level in LEVELS:
        predicted, lower, upper = model.predict(new, interval=level)
        assert_array_equal(predicted, model.predict(new))
        assert_allclose(upper - predicted, quantile(errors / expected, level) * half, rtol=1e-6)
        assert_allclose(predicted - lower, upper - predicted, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_intervals_are_nearly_those_of_the_jackknife_plus(seed):
    """Its ends are quantiles over i of the prediction without item i, less and plus what the error of i says of the row."""
    rng = np.random.default_rng(seed)
    (X, y), (new, _) = noisy(rng, 120), noisy(rng, 60)
    model = sm.SemimetricRegressor().fit(X, y)
    machine, found, d = model.machine_, model.intervals_, model.semimetric_
    inverse = np.linalg.inv(np.exp(-d.pairwise(X) / machine.width) + 1 + machine.strength * np.eye(120))
    coefficients = inverse @ (y - machine.offset[0])
    errors = coefficients / np.diag(inverse)
    asked = np.exp(-d.pairwise(new, X) / machine.width) + 1
    without = (asked @ coefficients + machine.offset[0])[:, None] - asked @ inverse * errors
    assert_allclose(np.abs(y - refitted(model, X, y)), np.abs(errors), rtol=1e-6)

    def expected(near, sizes):
        return (found.prior * found.mean + near @ sizes) / (found.prior + near.sum(axis=-1))

    similar, sizes = np.exp(-d.pairwise(X) / found.local.width) - np.eye(120), np.abs(errors)
    scores = sizes / expected(similar, sizes)
    half = scores * expected(np.exp(-d.pairwise(new, X) / found.local.width), sizes)[:, None]
    rank = int(np.ceil(0.9 * 121 - 1e-9))
    ends = np.sort(without - half, axis=1)[:, 120 - rank], np.sort(without + half, axis=1)[:, rank - 1]
    _, lower, upper = model.predict(new, interval=0.9)
    width = upper - lower
    assert np.abs(ends - np.array([lower, upper])).mean() < 0.02 * width.mean()
    assert np.mean(ends[1] - ends[0]) == pytest.approx(width.mean(), rel=0.03)


@pytest.mark.parametrize("average", ["mean", "median"])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_given_votes_equal_votes_of_all_others(average, weighted):
    rng = np.random.default_rng(1)
    X, y = noisy(rng, 40)
    X[30:] = X[:10]  # items that coincide, with other values
    times = rng.integers(1, 4, 40) if weighted else None
    model = sm.SemimetricRegressor(average=average, **GIVEN).fit(X, y, sample_weight=times)
    counts = np.ones(40, int) if times is None else times
    every = np.repeat(np.arange(40), counts)
    d, rule = model.semimetric_.pairwise(X), model.vote_rule_

    def voted(distances, values):
        order = np.argsort(distances, kind="stable")
        near, of = distances[order][None], values[order][None]
        found, votes = rule.values(near, of), rule.votes(near)
        return found[0], (votes * np.abs(of - found[:, None])).sum(), votes.sum()

    found = []
    left_out = counts  # each row has its own value; a weight is left out with its row
    for i in range(40):
        others = np.delete(every, np.flatnonzero(every == i)[: left_out[i]])
        found.append(voted(d[i, others], y[others]))
    value, sums, votes = np.array(found).T
    errors, intervals = np.abs(value - y), model.predict(X[:5] + 0.01, interval=0.8)
    weight = counts * counts.sum() / (counts @ left_out)
    prior, mean = model.intervals_.prior, np.average(errors, weights=weight)
    scores = errors / ((prior * mean + sums) / (prior + votes))
    order = np.argsort(scores)
    q = scores[order[np.searchsorted(np.cumsum(weight[order]), 0.8 * (weight.sum() + 1))]]
    for k, row in enumerate(model.semimetric_.pairwise(X[:5] + 0.01, X)):
        predicted, sum_of, n_votes = voted(row[every], y[every])
        half = q * (prior * mean + sum_of) / (prior + n_votes)
        assert_allclose([part[k] for part in intervals], [predicted, predicted - half, predicted + half], rtol=1e-9)


def test_votes_that_were_chosen_have_errors_of_items_held_out():
    X, y = noisy(np.random.default_rng(2), 150)
    model = sm.SemimetricRegressor(predictor="neighbors").fit(X, y)
    assert model.intervals_.local is None
    assert model.intervals_.n_items == 150
    predicted, lower, upper = model.predict(X[:20], interval=0.9)
    assert_array_equal(predicted, model.predict(X[:20]))
    assert (lower < predicted).all()
    assert (predicted < upper).all()


@pytest.mark.parametrize("options", [{}, GIVEN, {"predictor": "neighbors"}], ids=str)
def test_weights_are_repetitions(options):
    X, y = noisy(np.random.default_rng(3), 60)
    times = np.random.default_rng(4).integers(0, 3, 60)
    model = sm.SemimetricRegressor(**options)
    one = model.fit(X, y, sample_weight=times).predict(X, interval=0.8)
    many = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X, interval=0.8)
    if options.get("predictor") == "neighbors":  # folds are the same, as they hold equal items together
        assert_allclose(np.mean(one[2] - one[1]), np.mean(many[2] - many[1]), rtol=0.3)
    else:
        assert_allclose(one, many, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, GIVEN], ids=str)
def test_new_items_are_held_as_often_as_asked_for(options):
    """40 tables and 100 new items of each: a binomial bound, whose chance of failure is 1e-6 for exact intervals.

    It is of 1,000 items in place of 4,000, as items of one table are held or missed together.
    """
    held = dict.fromkeys(LEVELS, 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        (X, y), (new, true) = noisy(rng, 80), noisy(rng, 100)
        model = sm.SemimetricRegressor(effort="fast", **options).fit(X, y)
        for level in LEVELS:
            _, lower, upper = model.predict(new, interval=level)
            held[level] += int(((lower <= true) & (true <= upper)).sum())
    for level in LEVELS:
        low, high = binom.ppf([5e-7, 1 - 5e-7], 1_000, level) / 1_000
        assert low <= held[level] / 4_000 <= high


def test_wide_where_errors_are_large():
    rng = np.random.default_rng(5)
    X, y = noisy(rng, 600)
    new, _ = noisy(rng, 300)
    _, lower, upper = sm.SemimetricRegressor().fit(X, y).predict(new, interval=0.9)
    width, first = upper - lower, new[:, 0]
    assert width[first > 0.7].mean() > 1.5 * width[first < 0.3].mean()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 3)), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_quantiles_are_those_of_repeated_items(found, level):
    errors, times = (np.array(part) for part in zip(*found, strict=True))
    n, zero = len(errors), np.zeros(len(errors))
    made = LeftOutErrors.of_votes(LeftOutVotes(errors, Nearby(zero, zero), times.astype(float)))
    every = np.sort(np.repeat(errors, times)) / (made.mean if errors.any() else 1.0)
    rank = int(np.ceil(level * (len(every) + 1) * (1 - 1e-9)))
    if rank > len(every):
        assert_refused(lambda: made.quantile(level), f"interval={level:g}", f"there are {len(every)}", "at most")
    else:
        assert_allclose(made.quantile(level), every[rank - 1])
    assert made.n_items == times.sum()
    assert n == len(made.scores)


@settings(max_examples=20, deadline=None)
@given(one=st.floats(0.02, 0.96), other=st.floats(0.02, 0.96), which=st.sampled_from([0, 1]))
def test_intervals_are_monotone_in_the_level(one, other, which, models):
    low, high = sorted((one, other))
    model, new = models[which]
    inner, outer = model.predict(new, interval=low), model.predict(new, interval=high)
    assert (outer.lower <= inner.lower).all()
    assert (inner.lower <= inner.predicted).all()
    assert (inner.predicted <= inner.upper).all()
    assert (inner.upper <= outer.upper).all()


@pytest.fixture(scope="module")
def models():
    X, y = noisy(np.random.default_rng(6), 50)
    new, _ = noisy(np.random.default_rng(7), 30)
    return [(sm.SemimetricRegressor(**options).fit(X, y), new) for options in ({}, GIVEN)]


@pytest.mark.parametrize("options", [{}, GIVEN, {"predictor": "neighbors"}], ids=str)
def test_saved_models_have_the_same_intervals(options, tmp_path):
    X, y = noisy(np.random.default_rng(8), 80)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0.5, "x", "y"))
    model = sm.SemimetricRegressor(**options).fit(table, y, sample_weight=1 + (np.arange(80) % 2))
    model.save(tmp_path / "model.smm")
    assert_array_equal(sm.load(tmp_path / "model.smm").predict(table, interval=0.9), model.predict(table, interval=0.9))
    model.save(tmp_path / "model.smm")  # also when the first call has recorded the errors
    assert_array_equal(sm.load(tmp_path / "model.smm").predict(table, interval=0.9), model.predict(table, interval=0.9))


def test_a_model_without_recorded_errors_measures_them_anew(tmp_path):
    """Files of earlier versions have none."""
    X, y = noisy(np.random.default_rng(9), 80)
    model = sm.SemimetricRegressor().fit(X, y)
    expected = model.predict(X, interval=0.9)
    del model.intervals_
    model.save(tmp_path / "model.smm")
    assert_allclose(sm.load(tmp_path / "model.smm").predict(X, interval=0.9), expected, rtol=1e-9)


def test_errors_of_other_centers_are_refused(tmp_path):
    X, y = noisy(np.random.default_rng(10), 30)
    model = sm.SemimetricRegressor().fit(X, y)
    model.intervals_ = sm.SemimetricRegressor(**GIVEN).fit(X, y)._measured_errors()
    model.save(tmp_path / "model.smm")
    assert_refused(lambda: sm.load(tmp_path / "model.smm"), "left-out errors", "not of the centers", error=sm.StorageError)


def test_levels_that_cannot_be_met_are_refused():
    X, y = noisy(np.random.default_rng(11), 20)
    model = sm.SemimetricRegressor().fit(X, y)
    assert_refused(lambda: model.predict(X, interval=0.99), "interval=0.99", "99 items", "at most 0.952")
    for level in (0.0, 1.0, -1.0, np.nan, "wide"):
        with pytest.raises(sm.InputError, match="interval"):
            model.predict(X, interval=level)
    few = sm.SemimetricRegressor(n_neighbors=1, weights="uniform").fit(X[:2], y[:2], sample_weight=[1.0, 1.0])
    assert_refused(lambda: few.predict(X, interval=0.9), "interval=0.9", "there are 2", "fit more")
    alone = sm.SemimetricRegressor(sm.KernelRidgeLearner(), **GIVEN).fit(X, y)
    alone._weight = (np.arange(20) == 0).astype(float)
    assert_refused(lambda: alone.predict(X, interval=0.5), "interval= needs 2", "there is 1", "fit more")
    assert not alone.allows_interval(0.5)
    assert alone.explain(X[0]).interval is None


def test_values_that_are_met_exactly_have_intervals_without_width():
    X = np.repeat([[a, b] for a in range(4) for b in range(4)], 3, axis=0).astype(float)  # coarse: rows coincide by chance
    model = sm.SemimetricRegressor(n_neighbors=1, weights="uniform").fit(X, X[:, 0])
    predicted, lower, upper = model.predict(X, interval=0.9)
    assert_array_equal(lower, predicted)
    assert_array_equal(upper, predicted)


@pytest.mark.slow
def test_machines_of_landmarks_and_of_single_precision_have_intervals(monkeypatch):
    from semimetric.distances.learning import kernel_machine

    rng = np.random.default_rng(12)
    (X, y), (new, true) = noisy(rng, 900), noisy(rng, 900)
    exact = sm.SemimetricRegressor().fit(X, y).predict(new, interval=0.9)
    for most_exact, n_landmarks in ((10_000, 100), (500, 200)):
        options = {"most_double": 300, "most_exact": most_exact, "n_landmarks": n_landmarks}
        monkeypatch.setattr(kernel_machine.fit_machine, "__kwdefaults__", kernel_machine.fit_machine.__kwdefaults__ | options)
        model = sm.SemimetricRegressor().fit(X, y)
        assert len(model.intervals_.local.rows) == (900 if most_exact > 900 else n_landmarks)
        _, lower, upper = model.predict(new, interval=0.9)
        assert np.mean((lower <= true) & (true <= upper)) > 0.86
        assert np.mean(upper - lower) == pytest.approx(np.mean(exact[2] - exact[1]), rel=0.1)


def test_positions_are_those_of_the_rows():
    among = np.array([7, 2, 9, 4])
    assert_array_equal(positions_of(np.array([9, 7, 4]), among), [2, 0, 3])
