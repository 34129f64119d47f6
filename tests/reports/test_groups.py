"""Figures by groups of the items are those of pandas over the same groups, and words say what they cannot show."""

import json
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import semimetric as sm
from semimetric.reports.groups import _grouped

RNG = np.random.default_rng(0)
N, LEARNED = 400, 220
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N).astype(float),
        "sex": RNG.choice(["woman", "man"], N, p=[0.6, 0.4]),
        "pay": RNG.random(N),
        "plan": RNG.choice(["a", "b", "c"], N),
    }
)
CITY = pd.Series(RNG.choice(["Rome", "Oslo", "Bern"], N, p=[0.6, 0.37, 0.03]), name="city")
CLASSES = pd.Series(
    np.where(TABLE["pay"] + 0.3 * (TABLE["sex"] == "man") + 0.2 * RNG.standard_normal(N) > 0.6, "stays", "goes"), name="stay"
)
VALUES = 3 * TABLE["pay"] + TABLE["age"] / 50 + 0.3 * RNG.standard_normal(N)
NEW = slice(LEARNED, None)


@pytest.fixture(scope="module")
def of_classes():
    return sm.SemimetricClassifier(predictor="kernel_ridge").fit(TABLE[:LEARNED], CLASSES[:LEARNED])


@pytest.fixture(scope="module")
def of_values():
    return sm.SemimetricRegressor().fit(TABLE[:LEARNED], VALUES[:LEARNED])


def tables(report):
    """By column and group, the figures by their names."""
    return {
        table["by"]: {row["name"]: {f["name"]: f["value"] for f in row["figures"]} | {"n": row["n"]} for row in table["rows"]}
        for table in report.facts["overview"]["groups"]
    }


def test_classes_by_group_are_those_of_pandas(of_classes):
    X, y = TABLE[NEW], CLASSES[NEW]
    report = sm.report(of_classes, X, y, by="sex")
    found = tables(report)["sex"]
    shares = of_classes.predict_proba(X)
    frame = pd.DataFrame({"right": of_classes.predict(X) == y, "said": shares[:, 1], "came": y == "stays"})
    for name, part in [*frame.groupby(X["sex"]), ("all items", frame)]:
        row = found[name]
        assert row["n"] == len(part)
        assert row["accuracy"] == pytest.approx(part["right"].mean())
        assert row["mean probability of stays"] == pytest.approx(part["said"].mean())
        assert row["share of stays"] == pytest.approx(part["came"].mean())
        rows = part.index - LEARNED
        expected = log_loss(y.to_numpy()[rows], shares[rows], labels=["goes", "stays"])
        assert row["log loss"] == pytest.approx(expected, abs=1e-5)
    assert list(found) == ["all items", "woman", "man"]
    for row in report.facts["overview"]["groups"][0]["rows"]:
        for figure in row["figures"]:
            assert figure["low"] is None or figure["low"] <= figure["value"] <= figure["high"]


def test_values_by_quarters_are_those_of_pandas(of_values):
    X, y = TABLE[NEW], VALUES[NEW]
    found = tables(sm.report(of_values, X, y, by="age"))["age"]
    predicted, low, high = of_values.predict(X, interval=0.9)
    frame = pd.DataFrame({"off": predicted - y, "held": (low <= y) & (y <= high)})
    ends = [-np.inf, *np.quantile(X["age"], [0.25, 0.5, 0.75], method="inverted_cdf"), np.inf]
    parts = [part for _, part in frame.groupby(pd.cut(X["age"], ends), observed=True)]
    assert [row for row in found if row != "all items"] == [
        f"at most {ends[1]:g}", f"above {ends[1]:g}, at most {ends[2]:g}", f"above {ends[2]:g}, at most {ends[3]:g}",
        f"above {ends[3]:g}",
    ]  # fmt: skip
    for row, part in zip(list(found.values())[1:], parts, strict=True):
        assert row["n"] == len(part)
        assert row["mean absolute error"] == pytest.approx(part["off"].abs().mean())
        assert row["mean of predicted less true"] == pytest.approx(part["off"].mean())
        assert row["held by 90 % intervals"] == pytest.approx(part["held"].mean())


@pytest.mark.parametrize("form", ["series", "array", "list", "frame", "column of X"])
def test_a_column_that_the_model_does_not_use(form, of_classes):
    X, y, city = TABLE[NEW], CLASSES[NEW], CITY[NEW]
    given_as = {
        "series": city,
        "array": city.to_numpy(),
        "list": city.tolist(),
        "frame": city.to_frame(),
        "column of X": "city",
    }
    if form == "column of X":
        X = X.assign(city=city)
        model = sm.SemimetricClassifier(columns=sm.Columns(drop=["city"]), predictor="kernel_ridge")
        model.fit(TABLE[:LEARNED].assign(city=CITY), CLASSES[:LEARNED])
    else:
        model = of_classes
    report = sm.report(model, X, y, by=given_as[form])
    (table,) = report.facts["overview"]["groups"]
    assert table["by"] == ("group" if form in ("array", "list") else "city")
    assert [(row["name"], row["n"]) for row in table["rows"][1:]] == list(city.value_counts().items())
    assert "does not have this column" in table["notes"][0]
    assert [row["is_small"] for row in table["rows"][1:]] == (city.value_counts() < 30).tolist()
    small = [note for note in table["notes"] if "say little" in note]
    assert len(small) == 1
    assert small[0].endswith("Bern.")
    assert "3 groups" in table["notes"][-1]
    assert "14%" in table["notes"][-1]


def test_a_column_of_the_frame_that_the_model_does_not_know():
    """Where the model was learned without it, as from a table that must not hold it."""
    used, (X, y) = ["age", "pay"], (TABLE[NEW], CLASSES[NEW])
    model = sm.SemimetricClassifier(predictor="kernel_ridge").fit(TABLE[used][:LEARNED], CLASSES[:LEARNED])
    found = sm.report(model, X[[*used, "sex"]], y, by="sex")
    assert found.facts["overview"]["groups"] == sm.report(model, X[used], y, by=X["sex"]).facts["overview"]["groups"]
    assert found.page["nRaw"] == 2
    with pytest.raises(sm.InputError, match="plan"):
        sm.report(model, X[[*used, "sex", "plan"]], y, by="sex")


def test_several_columns_are_tables_of_their_own(of_classes):
    report = sm.report(of_classes, TABLE[NEW], CLASSES[NEW], by=["sex", "plan"])
    assert list(tables(report)) == ["sex", "plan"]
    overview = report.facts["overview"]
    every = {figure["name"]: figure for figure in overview["quality"]["figures"]}
    for table in overview["groups"]:
        for figure in table["rows"][0]["figures"]:
            known = every.get(figure["name"], figure)
            assert [figure[key] for key in ("value", "low", "high")] == [known[key] for key in ("value", "low", "high")]
    markdown, page = report.to_markdown(), report.to_html()
    for name in ("sex", "plan"):
        assert f"## How good it is by {name}" in markdown
        assert f"<h2>How good it is by {name}</h2>" in page
    accuracy = tables(report)["sex"]["woman"]["accuracy"]
    assert f'value="{accuracy}"' in page
    assert f"| woman | {tables(report)['sex']['woman']['n']} | {accuracy:.1%}" in markdown
    assert json.loads(report.to_json())["overview"]["groups"] == report.facts["overview"]["groups"]


@pytest.mark.slow
def test_what_was_left_out_is_divided_too(of_classes):
    X, y = TABLE[:LEARNED], CLASSES[:LEARNED]
    left_out = of_classes.left_out_predictions()
    right = pd.Series(left_out.predicted.argmax(axis=1) == left_out.targets, index=left_out.rows)
    expected = right.groupby(X["sex"]).mean()
    for args, by in (((), "sex"), ((X, y), "sex"), ((X, y), X["sex"])):
        rows = tables(sm.report(of_classes, *args, by=by))["sex"]
        for name in ("woman", "man"):
            assert rows[name]["accuracy"] == pytest.approx(expected[name])
    backwards = X.iloc[::-1]
    assert_refused(lambda: sm.report(of_classes, backwards, y.iloc[::-1], by="sex"), "in another order", "order of the fit")


def test_items_without_a_group_are_one(of_values):
    gone = TABLE.assign(plan=TABLE["plan"].where(TABLE["plan"] != "c", None))[NEW]
    rows = tables(sm.report(of_values, TABLE[NEW], VALUES[NEW], by=gone["plan"]))["plan"]
    assert list(rows)[-1] == "(missing)"
    assert rows["(missing)"]["n"] == (TABLE["plan"][NEW] == "c").sum()


def test_what_cannot_be_divided_is_refused(of_classes):
    X, y = TABLE[NEW], CLASSES[NEW]
    assert_refused(lambda: sm.report(of_classes, X, y, by="gender"), "by= names the feature 'gender'", "sex", "correct it")
    assert_refused(lambda: sm.report(of_classes, X, y, by=["sex", "aeg"]), "by= names the feature 'aeg'", "age", "correct it")
    assert_refused(lambda: sm.report(of_classes, X, y, by=CITY), "'city' of shape (400,) for 180", "one cell for each item")
    assert_refused(lambda: sm.report(of_classes, X, y, by=np.ones((180, 2))), "shape (180, 2)", "one cell for each item")
    l1 = sm.Semimetric.l1(X[["age", "pay"]])
    assert_refused(lambda: sm.report(l1, X[["age", "pay"]], by="age"), "by=", "predicts nothing", "leave by= out")
    assert_refused(lambda: sm.report(of_classes, X, by="age"), "by=", "not known which", "give X and y")
    assert_refused(lambda: sm.report(l1, by="age"), "by= divides items", "there are none", "give X")


def test_a_sum_of_functions_is_divided_by_columns_of_the_frame():
    X, y = TABLE[["age", "pay"]], CLASSES == "stays"
    machine = sm.EmbeddedLinearClassifier(sm.PL1Embedding(4), calibration="logistic").fit(X[:LEARNED], y[:LEARNED])
    found = tables(sm.report(machine, X[NEW], y[NEW], by=TABLE["sex"][NEW]))["sex"]
    expected = (machine.predict(X[NEW]) == y[NEW]).groupby(TABLE["sex"][NEW]).mean()
    assert {name: found[name]["accuracy"] for name in ("man", "woman")} == pytest.approx(expected.to_dict())


def test_columns_before_the_steps_of_a_pipeline_are_columns_of_the_model():
    X, y = TABLE[["age", "pay"]].assign(one=range(len(TABLE))), CLASSES == "stays"
    machine = sm.EmbeddedLinearClassifier(sm.PL1Embedding(4), calibration="logistic")
    pipeline = make_pipeline(StandardScaler(), PCA(2), machine).fit(X[:LEARNED], y[:LEARNED])
    found = sm.report(pipeline, X[NEW], y[NEW], by="age").facts["overview"]["groups"]
    assert "does not have" not in str(found)


def test_intervals_of_values_stand_in_the_overview(of_values):
    X, y = TABLE[NEW], VALUES[NEW]
    predicted, low, high = of_values.predict(X, interval=0.9)
    report = sm.report(of_values, X, y)
    overview = report.facts["overview"]
    figures = {figure["name"]: figure for figure in overview["quality"]["figures"]}
    held = (low <= y) & (y <= high)
    assert figures["held by 90 % intervals"]["value"] == pytest.approx(held.mean())
    assert figures["held by 90 % intervals"]["means"] == f"90 % intervals held {held.mean():.1%} of the 180 items"
    assert figures["held by 90 % intervals"]["low"] < held.mean() < figures["held by 90 % intervals"]["high"]
    assert figures["mean width of 90 % intervals"]["value"] == pytest.approx((high - low).mean())
    np.testing.assert_allclose(overview["quality"]["drawn"]["low"], low)
    np.testing.assert_allclose(overview["quality"]["drawn"]["high"], high)
    assert len(overview["cases"]) == 3
    for case in overview["cases"]:
        k = int(case["name"].removeprefix("row ")) - LEARNED
        assert case["interval"] == pytest.approx([low[k], high[k]])
        assert case["predicted"] == pytest.approx(predicted[k])
    assert "90 % interval" in report.to_markdown()
    own = sm.report(of_values).facts["overview"]
    width = own["quality"]["figures"][-1]
    learned = of_values.predict(TABLE[:LEARNED], interval=0.9)
    assert width["value"] == pytest.approx((learned.upper - learned.lower).mean())
    assert "not measured" in width["means"]
    assert all(case["interval"] is None for case in own["cases"])


def test_few_items_have_no_interval():
    model = sm.SemimetricRegressor().fit(TABLE[["age", "pay"]][:8], VALUES[:8])
    quality = sm.report(model, TABLE[["age", "pay"]][NEW], VALUES[NEW]).facts["overview"]["quality"]
    names = [figure["name"] for figure in quality["figures"]]
    assert not [name for name in names if "interval" in name]


CELLS = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-50, 50), st.floats(-10, 10)), min_size=1, max_size=60),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=20),
    st.lists(st.one_of(st.none(), st.text("abcdefghijklmnopqrstuvwxyz", max_size=1)), min_size=1, max_size=80),
    st.lists(st.one_of(st.none(), st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1))), min_size=1, max_size=40),
)


@settings(max_examples=150, deadline=None)
@given(CELLS)
def test_every_item_has_one_group_and_groups_keep_the_order(cells):
    column = pd.Series(cells).to_numpy()
    found = _grouped("of", column, known=False)
    assert len(set(found.groups)) == len(found.groups) <= 22
    assert len(found.codes) == len(cells)
    assert 0 <= found.codes.min() <= found.codes.max() < len(found.groups)
    missing = pd.isna(column)
    assert [found.groups[k] == "(missing)" for k in found.codes] == missing.tolist()
    groups = pd.Series(cells)[~missing].groupby(found.codes[~missing])
    kept = [cell for cell in cells if not pd.isna(cell)]
    if kept and all(type(cell) in (int, float) for cell in kept):
        ends = groups.agg(["min", "max"]).to_numpy(dtype=float)
        assert (ends[:-1, 1] <= ends[1:, 0]).all()
