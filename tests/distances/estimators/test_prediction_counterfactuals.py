"""Changed rows have the prediction that was asked for, and no smaller change of two columns has it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric import Columns, KernelRidgeLearner, SemimetricClassifier, SemimetricRegressor

RNG = np.random.default_rng(0)
ITEMS = RNG.random((120, 4)).round(2)
CLASSES = np.array(["low", "high"])[(ITEMS[:, 0] + ITEMS[:, 1] * ITEMS[:, 2] > 0.8).astype(int)]
VALUES = 10 * ITEMS[:, 0] - 5 * ITEMS[:, 1]
FRAME = pd.DataFrame(
    {
        "age": (ITEMS[:, 0] * 60).astype(int),
        "plan": np.array(["basic", "plus", "pro"])[(ITEMS[:, 1] * 2.9).astype(int)],
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta((ITEMS[:, 2] * 900).astype(int), unit="D"),
        "pay": np.where(ITEMS[:, 3] < 0.2, np.nan, ITEMS[:, 3] * 1e3),
    }
)
MIXED = Columns(missing="level")


def machine():
    return SemimetricClassifier(predictor="kernel_ridge").fit(ITEMS, CLASSES)


def of_frame():
    return SemimetricClassifier(KernelRidgeLearner("classes", columns=MIXED)).fit(FRAME, CLASSES)


MODELS = {
    "machine": machine,
    "votes": lambda: SemimetricClassifier(KernelRidgeLearner("classes"), n_neighbors=3).fit(ITEMS, CLASSES),
    "frame": of_frame,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_changed_row_has_the_prediction_that_was_asked_for(name):
    model = MODELS[name]()
    given, own = (FRAME, True) if name == "frame" else (ITEMS, False)
    predicted = model.predict(given)
    for k in range(0, 120, 6):
        x = given.iloc[[k]] if own else given[k]
        target = "high" if predicted[k] == "low" else "low"
        found = model.counterfactual(x, target)
        assert model.predict(found.row)[0] == found.prediction == target
        assert found.before == predicted[k]
        changed = [c.feature for c in found.changes]
        if own:
            assert [f for f in FRAME if not same(found.row[f].iloc[0], x[f].iloc[0])] == changed
            assert all(found.row[f].iloc[0] in set(FRAME[f]) for f in changed)
            d = model.semimetric_.paired(x, found.row)[0]
        else:
            assert [f"x{f}" for f in np.flatnonzero(found.row[0] != x)] == changed
            assert all((found.row[0, f] == ITEMS[:, f]).any() for f in np.flatnonzero(found.row[0] != x))
            d = model.semimetric_.paired(x[None], found.row)[0]
        assert found.distance == pytest.approx(d)


def same(a, b):
    return a == b or (pd.isna(a) and pd.isna(b))


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_of_two_columns_no_smaller_change_to_fitted_values_suffices(seed):
    """With at most 32 values a column every change is compared, so that brute force finds the same distance."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (40, 2)) * 1.0
    y = (X @ rng.normal(size=2) + rng.normal(size=40) > 0).astype(int)
    if len(set(y)) < 2 or min(np.bincount(y)) < 4 or (np.ptp(X, axis=0) == 0).any():
        return
    model = SemimetricClassifier(predictor="kernel_ridge").fit(X, y)
    grid = np.array(list(product(*(np.unique(column) for column in X.T))))
    predicted = model.predict(grid)
    for x in X[:5]:
        own = model.predict(x[None])[0]
        reaching = grid[predicted != own]
        if not len(reaching):
            assert model.counterfactuals(x) == []
            continue
        least = model.semimetric_.pairwise(x[None], reaching).min()
        assert model.counterfactual(x).distance == pytest.approx(least)


def test_columns_that_are_fixed_or_bounded_keep_their_promise():
    model = of_frame()
    k = int(np.flatnonzero(model.predict(FRAME) == "low")[0])
    x = FRAME.iloc[[k]]
    found = model.counterfactual(x, "high", fixed="age")
    assert "age" not in [c.feature for c in found.changes]
    bounded = model.counterfactual(x, "high", within={"plan": ["basic", "pro"], "since": (None, "2021-06-30"), 0: (20, 55)})
    for change in bounded.changes:
        if change.feature == "plan":
            assert change.new in ("basic", "pro")
        elif change.feature == "since":
            assert change.new <= pd.Timestamp("2021-06-30")
        elif change.feature == "age":
            assert 20 <= change.new <= 55
    assert model.predict(bounded.row)[0] == "high"


@pytest.mark.slow
def test_several_changes_differ_in_kind_and_grow():
    model = machine()
    found = model.counterfactuals(ITEMS[0], 4)
    sets = [{c.feature for c in one.changes} for one in found]
    assert len(found) > 1
    assert all(not a <= b for k, b in enumerate(sets) for a in sets[:k])
    assert (np.diff([one.distance for one in found]) >= 0).all()
    assert found[0].distance == pytest.approx(model.counterfactual(ITEMS[0]).distance)


def test_a_surer_prediction_takes_a_larger_change():
    model = machine()
    target = "low" if model.predict(ITEMS[:1])[0] == "high" else "high"
    found = [model.counterfactual(ITEMS[0], target, min_probability=p) for p in (None, 0.7, 0.8)]
    assert found[1].probability >= 0.7
    assert found[2].probability >= 0.8
    assert found[2].distance > found[0].distance


@pytest.mark.slow
def test_the_single_change_is_the_first_of_several():
    model = machine()
    for x in ITEMS[:10]:
        assert model.counterfactual(x).distance == model.counterfactuals(x, 4)[0].distance


def test_bounds_of_a_circle_may_pass_its_start():
    X = np.column_stack([ITEMS[:, 0] * 24, ITEMS[:, 1]])
    y = np.where(np.abs(X[:, 0] - 12) < 5, "day", "night")
    model = SemimetricClassifier(KernelRidgeLearner("classes", columns=Columns(periodic={0: 24}))).fit(X, y)
    noon = np.array([12.0, 0.5])
    assert model.counterfactual(noon, "night", within={0: (0, 24)}).distance == model.counterfactual(noon, "night").distance
    night = model.counterfactuals(np.array([1.0, 0.5]), 5, "day", within={0: (22, 9)})
    assert all(one.row[0, 0] >= 22 or one.row[0, 0] <= 9 for one in night)


def test_many_categories_are_compared_by_the_most_frequent(rng):
    names = np.array([f"c{k:03d}" for k in range(150)])
    table = pd.DataFrame({f: names[np.minimum(rng.geometric(0.02, 2_000), 149)] for f in "ab"})
    y = (table["a"] < "c030").to_numpy() ^ (table["b"] < "c010").to_numpy()
    model = SemimetricClassifier(KernelRidgeLearner("classes", effort="fast")).fit(table, y)
    found = model.counterfactual(table.iloc[[0]])
    assert found.n_smaller <= 40_000
    assert model.predict(found.row)[0] == found.prediction != found.before


def test_a_list_of_numbers_holds_the_values_that_may_be_taken():
    model = machine()
    own = ITEMS[0, 0]
    values = [own, *np.unique(ITEMS[:, 0])[[5, -5]]]
    for one in model.counterfactuals(ITEMS[0], 5, within={0: values}):
        assert one.row[0, 0] in values


def test_columns_that_the_model_left_out_may_be_fixed():
    table = FRAME.assign(customer_id=np.arange(120) + 1000)
    with pytest.warns(UserWarning, match="customer_id"):
        model = SemimetricClassifier(KernelRidgeLearner("classes")).fit(table, CLASSES)
    assert model.counterfactuals(table.iloc[[0]], 1, fixed=["customer_id"])[0].row.shape == (1, 4)


def test_a_value_is_brought_into_bounds():
    model = SemimetricRegressor().fit(ITEMS, VALUES)
    x = ITEMS[model.predict(ITEMS).argmin()]
    found = model.counterfactual(x, (4.0, None))
    assert model.predict(found.row)[0] == pytest.approx(found.prediction)
    assert found.prediction >= 4
    assert found.probability is None


def test_what_cannot_be_asked_is_refused():
    model, values = machine(), SemimetricRegressor().fit(ITEMS, VALUES)
    own = model.predict(ITEMS[:1])[0]
    other = "low" if own == "high" else "high"
    assert_refused(lambda: model.counterfactual(ITEMS[0], own), "already", "another target")
    assert_refused(lambda: model.counterfactual(ITEMS[0], other, min_probability=1), "min_probability", "below 1")
    assert_refused(lambda: values.counterfactual(ITEMS[0], (99, None), min_probability=0.7), "for classes", "leave it out")
    assert_refused(lambda: model.counterfactual(ITEMS[0], other, within={0: (7, 8)}), "x0", "widen")
    assert_refused(lambda: model.counterfactual(ITEMS[0], "none"), "'none'", "low")
    assert_refused(lambda: model.counterfactual(ITEMS[0], fixed=range(4)), "no change", "fix fewer")
    assert model.counterfactuals(ITEMS[0], fixed=range(4)) == []
    assert_refused(lambda: model.counterfactual(ITEMS[0], fixed="pay"), "fixed=", "x0")
    assert_refused(lambda: model.counterfactual(ITEMS[0], within={0: (2, 1)}), "within={'x0'", "in order")
    assert_refused(lambda: model.counterfactual(ITEMS[0], within={0: 3}), "within={'x0'", "two values")
    assert_refused(lambda: values.counterfactual(ITEMS[0]), "target=None", "two numbers")
    frame = of_frame()
    assert_refused(lambda: frame.counterfactual(FRAME.iloc[[0]], within={"plan": ["gold"]}), "'gold'", "basic")
    assert_refused(lambda: frame.counterfactual(FRAME.iloc[[0]], within={"since": (None, 2020)}), "times are required", "2024")


def test_a_counterfactual_prints_its_changes():
    found = machine().counterfactual(ITEMS[0])
    assert "becomes" in repr(found)
    assert "smaller changes" in repr(found)
    assert "<table>" in found._repr_html_()
    assert list(found.to_frame().columns) == ["feature", "old", "new", "contribution"]


@pytest.mark.parametrize("name", MODELS)
def test_changes_add_up_to_the_distance_of_the_changed_row(name):
    model = MODELS[name]()
    given = FRAME if name == "frame" else ITEMS
    for k in (0, 5, 70):
        found = model.counterfactual(given[k : k + 1])
        assert sum(change.contribution for change in found.changes) == pytest.approx(found.distance, rel=1e-9)
        assert all(change.contribution > 0 for change in found.changes)


def test_whole_numbers_of_a_changed_row_stay_whole():
    """Ages are whole in the row, also where the column has gaps, which make pandas store floats."""
    whole = FRAME.assign(pay=FRAME["pay"] + 0.5)
    gaps = whole.assign(age=whole["age"].where(np.arange(120) % 7 > 0))
    for table in (whole, gaps):
        model = SemimetricClassifier(KernelRidgeLearner("classes", columns=MIXED)).fit(table, CLASSES)
        found = model.counterfactual(table.iloc[[1]])
        assert found.row["age"].dtype == np.int64
        assert found.row["pay"].dtype == np.float64
        assert model.predict(found.row)[0] == found.prediction
    assert np.issubdtype(gaps["age"].dtype, np.floating)
    missing = model.counterfactual(gaps.iloc[[0]], fixed="age").row
    assert np.isnan(missing["age"]).all()
    assert machine().counterfactual(ITEMS[0]).row.dtype == np.float64  # an array stays one
