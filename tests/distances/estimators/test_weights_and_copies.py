"""A weight is the same as repetition, and neither is evidence: what is left out takes its copies along."""

from math import gcd, prod

import numpy as np
import pandas as pd
import pytest

from semimetric import SemimetricClassifier, SemimetricRegressor, report
from semimetric._foundation.errors import InputError
from semimetric.data.copies import Copies, come_again, effective_counts

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


WEIGHTS = {
    "exponential weights": lambda rng: rng.exponential(size=N),
    "whole weights": lambda rng: rng.integers(1, 8, N).astype(float),
    "weights of a survey": lambda rng: rng.integers(50, 5_000, N).astype(float),
}


@pytest.mark.parametrize("drawn", [*WEIGHTS, "a bootstrap sample", "a half twice"])
def test_intervals_hold_new_values_whatever_is_repeated(drawn):
    shares = []
    for seed in range(4):
        X, y, new, truth = drawn_values(seed)
        rng = np.random.default_rng(10 + seed)
        rows, weight = np.arange(N), None
        if drawn in WEIGHTS:
            weight = WEIGHTS[drawn](rng)
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
    X, y = np.random.default_rng(0).random((8, 1)), np.arange(8.0) % 3
    model = SemimetricRegressor().fit(X, y, sample_weight=np.full(8, 100.0))
    with pytest.raises(InputError, match="there are 8; fit more, or"):
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


def coarse_tables():
    """Tables whose rows coincide, and classes that they determine: without all rows of a place nothing would be known of it."""
    rng = np.random.default_rng(3)
    city, plan = rng.integers(0, 10, 400), rng.integers(0, 3, 400)
    classes = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0, 1])[city]
    names = np.array(list("abcdefghij"))
    columns = {"city": names[city], "region": names[city // 3], "price": np.array([9.99, 14.5, 30.0])[plan]}
    three = rng.integers(0, 3, (400, 3)).astype(float)
    return {
        "three columns": (three, three.sum(axis=1) % 2),
        "one column": (city[:, None].astype(float), classes),
        "two values": (plan[:, None] % 2.0, plan % 2),
        "indicators": (np.eye(10)[city], classes),
        "columns that depend on one another": (pd.DataFrame(columns), classes),
    }


@pytest.mark.parametrize("name", coarse_tables())
def test_rows_of_coarse_columns_did_come_several_times(name):
    X, y = coarse_tables()[name]
    found = SemimetricClassifier(predictor="kernel_ridge").fit(X, y).left_out_predictions()
    assert np.average(found.predicted.argmax(axis=1) == found.targets, weights=found.weight) > 0.95
    assert found.weight.sum() == pytest.approx(400)
    predicted, lower, upper = SemimetricRegressor().fit(X, np.asarray(y, float)).predict(X, interval=0.9)
    assert np.abs(predicted - y).max() < 0.05
    assert (upper - lower).max() < 0.1


def test_weights_of_rows_of_many_coarse_columns_are_left_out_with_them():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (200, 20)).astype(float)
    y = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(200) < 0.25)
    plain, twice = (
        SemimetricClassifier(predictor="kernel_ridge").fit(X, y, sample_weight=weight).predict_proba(X)
        for weight in (None, np.full(200, 2.0))
    )
    np.testing.assert_allclose(twice, plain, rtol=1e-6)


@pytest.mark.parametrize("times", ["once", "copies", "drawn", "five in the mean", "five each", "several"])
@pytest.mark.parametrize("kind", ["fine", "coarse", "mixed", "one column"])
def test_which_items_come_again_as_counted_slowly(kind, times):
    rng = np.random.default_rng(4)
    fine, coarse = rng.normal(size=(60, 2)), rng.integers(0, 3, (60, 3)).astype(float)
    tables = {"fine": fine, "coarse": coarse, "mixed": np.hstack([fine, coarse]), "one column": coarse[:, :1]}
    items = np.unique(tables[kind], axis=0)
    n = len(items)
    number = np.append(np.arange(n), 0) if times != "several" else np.append(np.arange(n), np.arange(0, n, 8))
    rows = {
        "once": np.ones(len(number), int), "copies": np.full(len(number), 4), "five each": 5 + (np.arange(len(number)) == 0),
        "drawn": 1 + (rng.random(len(number)) < 0.5), "five in the mean": rng.integers(1, 12, len(number)),
        "several": np.full(len(number), 2),
    }[times]  # fmt: skip
    of_item = [rows[number == k].sum() for k in range(n)]
    several = [(number == k).sum() > 1 for k in range(n)]
    repeated = [k for k in range(n) if of_item[k] > 1]
    least = [count // gcd(*map(int, of_item)) for count in of_item]
    everywhere = repeated and (
        np.mean([several[k] for k in repeated]) >= 0.05 or (np.mean(least) >= 5 and min(least) < max(least))
    )
    expected = []
    for k, item in enumerate(items):
        shares = [np.mean(column == value) for column, value in zip(items.T, item, strict=True)]
        by_chance = repeated and items.shape[1] > 1 and n * prod(shares) >= 0.5
        expected.append(bool(everywhere or several[k] or by_chance))
    assert come_again(items, number, rows).tolist() == expected


@pytest.mark.parametrize("values", ["places", "prices", "rare errors"])
def test_places_that_come_again_are_learned(values):
    """Fine values do come again too, such as the places of shops: a model is to know what it has seen there."""
    rng = np.random.default_rng(1)
    if values == "prices":
        places = np.sort(rng.uniform(1, 50, 30))[:, None]
    else:
        places = rng.normal(size=(60, 2))
    row, known = rng.integers(0, len(places), 900), rng.integers(0, 2, len(places))
    y = known[row] ^ (rng.random(900) < 0.02) if values == "rare errors" else known[row]
    model = SemimetricClassifier(predictor="kernel_ridge").fit(places[row], y)
    assert (model.predict(places) == known).mean() > 0.98


@pytest.mark.parametrize("weight", [3.0, 50.0, "any numbers", "whole numbers"])
def test_weights_of_coarse_rows_tell_no_false_accuracy(weight):
    rng = np.random.default_rng(9)
    X, y = rng.integers(0, 4, (150, 10)).astype(float), rng.integers(0, 2, 150)  # pure noise
    drawn = {"any numbers": rng.uniform(1, 8, 150), "whole numbers": rng.integers(1, 8, 150).astype(float)}
    weights = drawn[weight] if weight in drawn else np.full(150, weight)
    found = SemimetricClassifier(predictor="kernel_ridge").fit(X, y, sample_weight=weights).left_out_predictions()
    assert (found.predicted.argmax(axis=1) == found.targets).mean() < 0.65
    assert found.weight.sum() <= 150 + 1e-9


def test_effective_counts_are_those_of_kish():
    weight = np.array([1.0, 2.0, 5.0])
    assert effective_counts(weight, weight).sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    np.testing.assert_allclose(effective_counts(weight, np.ones(3)), weight)
    np.testing.assert_allclose(effective_counts(1e155 * weight, 1e155 * weight), effective_counts(weight, weight))
    assert effective_counts(np.ones(7), np.ones(7)).tolist() == [1.0] * 7


@pytest.mark.parametrize("times", [{"rows": 8}, {"weight": 50.0}])
def test_a_report_of_votes_counts_items_once(values, times):
    X, _, _, _ = values
    y = (X[:, 0] + 0.7 * np.random.default_rng(6).normal(size=N) > 0).astype(int)
    rows = np.repeat(np.arange(N), times.get("rows", 1))
    weight = np.full(len(rows), times.get("weight", 1.0))
    model = SemimetricClassifier(effort="fast", predictor="neighbors").fit(X[rows], y[rows], sample_weight=weight)
    quality = report(model).facts["overview"]["quality"]
    assert quality["n"] <= N
    accuracy = quality["figures"][0]
    assert accuracy["high"] - accuracy["low"] > 0.08


def test_columns_of_noise_do_not_matter_because_rows_repeat():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    model = SemimetricRegressor(effort="fast").fit(np.repeat(X, 6, axis=0), np.repeat(y, 6))
    found = model.refitted_columns()
    assert found.n_items == 50
    assert (found.importances < 2 * found.deviations + 0.02).all()


def test_copies_as_counted_slowly():
    rng = np.random.default_rng(8)
    items = rng.integers(0, 40, (60, 2)).astype(float)[rng.integers(0, 60, 100)]
    known, weight = rng.integers(0, 2, 100), rng.integers(0, 3, 100).astype(float)
    copies = Copies.of(items, known, weight)
    groups = {}
    for row in np.flatnonzero(weight > 0):
        groups.setdefault((*items[row], known[row]), []).append(row)
    total = sum(weight[rows].sum() for rows in groups.values())
    parts, kept, counts = 0.0, [], {}
    for rows in groups.values():
        of_group = weight[rows].sum()
        assert len(set(copies.number[rows])) == 1
        assert len(set(copies.repeats[rows])) == 1
        parts += of_group * (of_group / len(rows) if copies.repeats[rows[0]] else of_group)
        kept += rows if copies.repeats[rows[0]] else rows[:1]
        counts[rows[0]] = of_group
    assert 0 < copies.repeats.sum() < 100
    assert copies.scale == pytest.approx(total / parts)
    assert copies.rows.tolist() == sorted(kept)
    assert dict(zip(copies.first.tolist(), copies.counts, strict=True)) == pytest.approx(
        {row: of_group * total / parts for row, of_group in counts.items()}
    )
    assert (np.diff(copies.number[copies.first]) > 0).all()
