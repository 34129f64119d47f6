"""The first tab of a report: which items judge the model, its figures against those of scikit-learn, bars and cases."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import confusion_matrix, log_loss, mean_absolute_error, median_absolute_error, r2_score, roc_auc_score

import semimetric as sm
from semimetric._foundation.text import number_text
from semimetric.distances.search.votes import weighted_median
from semimetric.reports.quality import _auc, wilson

TABS = ["overview", "columns", "items", "neighbors", "data", "evidence"]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:300, :6], y.iloc[:300].map({0: "malign", 1: "benign"}).rename("tumour")
    model = sm.SemimetricClassifier(predictor="kernel_ridge").fit(X.iloc[:160], y.iloc[:160])
    return model, X, y


@pytest.fixture(scope="module")
def values():
    X, y = load_diabetes(return_X_y=True)
    return sm.SemimetricRegressor().fit(X[:150], y[:150]), X[:260], y[:260]


def figures(report):
    return {figure["name"]: figure["value"] for figure in report.facts["overview"]["quality"]["figures"]}


def test_new_items_judge_the_model(cancer):
    model, X, y = cancer
    new, truth = X.iloc[160:], y.iloc[160:]
    report = sm.report(model, new, truth)
    overview = report.facts["overview"]
    quality, shares = overview["quality"], model.predict_proba(new)
    assert quality["held_out"] is True
    assert quality["n"] == 140
    assert "has not learned from" in quality["how"][0]
    assert overview["target"] == "tumour"
    assert figures(report)["accuracy"] == pytest.approx(model.score(new, truth))
    assert figures(report)["log loss"] == pytest.approx(log_loss(truth, shares), abs=1e-5)
    positive = truth == model.classes_[1]
    assert figures(report)["area under the ROC curve"] == pytest.approx(roc_auc_score(positive, shares[:, 1]))
    counts = [row[1:] for row in quality["confusions"]["rows"]]
    np.testing.assert_array_equal(counts, confusion_matrix(truth, model.predict(new), labels=model.classes_))
    for figure in quality["figures"]:
        assert figure["low"] is None or figure["low"] <= figure["value"] <= figure["high"]
    assert [row[:2] for row in overview["classes"]["rows"]] == [list(pair) for pair in y.iloc[:160].value_counts().items()]


def test_values_are_judged(values):
    model, X, y = values
    report = sm.report(model, X[150:], y[150:])
    found, said = figures(report), model.predict(X[150:])
    assert found["R²"] == pytest.approx(r2_score(y[150:], said))
    assert found["median error"] == pytest.approx(median_absolute_error(y[150:], said))
    assert found["mean absolute error"] == pytest.approx(mean_absolute_error(y[150:], said))
    drawn = report.facts["overview"]["quality"]["drawn"]
    np.testing.assert_allclose(drawn["predicted"], said)
    assert f"from {y[:150].min():g} to {y[:150].max():g}" in report.to_markdown()


@pytest.mark.slow
def test_items_that_were_learned_from_are_left_out_of_the_figures(cancer):
    model, X, y = cancer
    quality = sm.report(model, X, y).facts["overview"]["quality"]
    assert quality["n"] == 140
    assert "160 more items equal learned ones" in quality["how"][1]
    assert figures(sm.report(model, X, y)) == figures(sm.report(model, X.iloc[160:], y.iloc[160:]))


@pytest.mark.parametrize("given", ["nothing", "what it learned from", "no classes"])
def test_without_new_classes_the_fit_judges_and_the_page_says_so(given, cancer):
    model, X, y = cancer
    args = {"nothing": (), "what it learned from": (X.iloc[:160], y.iloc[:160]), "no classes": (X.iloc[160:],)}[given]
    report = sm.report(model, *args)
    quality = report.facts["overview"]["quality"]
    assert quality["held_out"] is False
    assert "No items that are new to the model" in quality["how"][0]
    assert "machine of all the others" in quality["how"][1]
    assert "No items that are new" in report.to_html()
    assert quality["n"] == 160


def test_left_out_predictions_are_those_of_machines_without_the_item():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60], y[:60]
    model = sm.SemimetricRegressor().fit(X, y)
    found = model.left_out_predictions()
    machine, d = model.machine_, model.semimetric_.pairwise(X)
    kernel = np.exp(-d / machine.width) + 1
    for i, row in enumerate(found.rows):
        others = np.arange(60) != row
        # m is that of all items, as the formula of the machine has it
        system = kernel[np.ix_(others, others)] + machine.strength * np.eye(59)
        expected = machine.offset[0] + kernel[row, others] @ np.linalg.solve(system, y[others] - machine.offset[0])
        assert found.predicted[i, 0] == pytest.approx(expected, rel=1e-6)
    assert len(model.left_out_predictions(n_items=20).rows) == 20
    assert "20 items, a random sample of 60" in model.left_out_predictions(n_items=20).how


@pytest.mark.slow
def test_votes_are_judged_by_the_items_that_were_held_out(cancer):
    _, X, y = cancer
    learner = sm.LargeMarginLearner(effort="fast", random_state=0)
    model = sm.SemimetricClassifier(learner).fit(X.iloc[:120], y.iloc[:120])
    quality = sm.report(model).facts["overview"]["quality"]
    assert "held out of a fit of the distance" in quality["how"][1]
    error = 1 - quality["figures"][0]["value"]
    (votes,) = [e for e in sm.report(model).facts["evidence"] if e["title"] == "Votes on items held out"]
    assert f"{error:.2%} of the items are given another class" in votes["notes"][0]
    given_votes = sm.SemimetricClassifier(clone(learner), n_neighbors=3, weights="uniform").fit(X[:60], y[:60])
    given_votes.learner_.held_out_neighbors_ = None
    assert given_votes.left_out_predictions() is None
    unknown = sm.report(given_votes)
    assert unknown.facts["overview"]["quality"] is None
    assert "It is not known" in unknown.to_html()


@pytest.mark.slow
def test_bars_are_of_refits_of_halves(cancer):
    model, X, _ = cancer
    refits = model.refitted_columns()
    assert refits.losses.shape == (8, 6)
    assert (refits.losses.std(axis=0) > 0).all()
    known = sm.report(model, X).facts["overview"]["importances"]
    assert "8 refits" in known["bars_are"]
    assert "80 of them at most" in known["bars_are"]
    rows = {row["name"]: row for row in known["rows"]}
    for f, name in enumerate(X.columns):
        share, bar = refits.losses[:, f].mean(), 2 * refits.losses[:, f].std(ddof=1)
        assert (rows[name]["share"], rows[name]["low"], rows[name]["high"]) == pytest.approx((share, share - bar, share + bar))
    shares = [row["share"] for row in known["rows"]]
    assert shares == sorted(shares, reverse=True)
    few = sm.SemimetricRegressor().fit(X[:15], np.arange(15.0))
    assert few.refitted_columns() is None
    assert sm.SemimetricClassifier(n_neighbors=3, weights="uniform").fit(X[:60], np.arange(60) % 2).refitted_columns() is None


@pytest.mark.parametrize("target", ["values", "classes"])
def test_refits_are_machines_of_one_half_that_predict_the_other(target):
    """The twin fits the learner itself to a half, and computes every distance and every prediction anew."""
    rng = np.random.default_rng(3)
    of_all = np.array(list(product(range(4), range(4), range(4), range(3))))[rng.permutation(192)[:112]]  # no row repeats
    X = of_all[:, :3].astype(float)  # all halves have the same range
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=pd.Categorical(np.array(["x", "y", "z"])[of_all[:, 3]]))
    y = X[:, 0] * (X[:, 1] - 1.5) + (table["d"] == "x")
    known = y if target == "values" else (y > y.median()).to_numpy().astype(int)
    model = sm.SemimetricRegressor() if target == "values" else sm.SemimetricClassifier(predictor="kernel_ridge")
    found = model.fit(table, known).refitted_columns(n_shown=4)
    draws = np.random.default_rng(0)
    halves = [draws.permutation(112) for _ in range(4)]
    orders = [draws.permutation(56) for _ in range(8)]
    for k, order in enumerate(halves[:2]):
        for side in (0, 1):
            half, other = (np.sort(part) for part in (order[:56], order[56:])[:: 1 - 2 * side])
            again = clone(model.learner_).fit(table.iloc[half], np.asarray(known)[half])
            machine = sm.SemimetricRegressor(again) if target == "values" else sm.SemimetricClassifier(again)
            machine.fit(table.iloc[half], np.asarray(known)[half])

            def outputs(frame, machine=machine):
                centers = machine.index_.get_items(machine.machine_.rows)
                return machine.machine_.outputs(machine.semimetric_.pairwise(frame, centers))

            truth = np.asarray(known, float)[other][:, None] if target == "values" else np.eye(2)[np.asarray(known)[other]]
            spread = ((truth - truth.mean(axis=0)) ** 2).sum()
            error = ((outputs(table.iloc[other]) - truth) ** 2).sum()
            for f, name in enumerate(table.columns):
                moved = table.iloc[other].copy()
                moved[name] = moved[name].to_numpy()[orders[2 * k + side]]
                rise = (((outputs(moved) - truth) ** 2).sum() - error) / spread
                assert found.losses[2 * k + side, f] == pytest.approx(rise, abs=1e-9)
                if name == "d":
                    values = np.array(["x", "y", "z"])[found.values[f].astype(int)]
                else:
                    values = found.values[f]
                for v, value in enumerate(values):
                    alike = table.iloc[other].copy()
                    alike[name] = value if name != "d" else pd.Categorical([value] * 56, categories=["x", "y", "z"])
                    said = machine.predict_proba(alike) if target == "classes" else machine.predict(alike)[:, None]
                    np.testing.assert_allclose(found.effects[f][2 * k + side, v], said.mean(axis=0), atol=1e-7)


def test_bars_of_a_distance_are_of_groups_of_items(cancer):
    _, X, _ = cancer
    known = sm.report(sm.Semimetric.l1(X), X).facts["overview"]["importances"]
    assert "10 groups of the items" in known["bars_are"]
    assert all(row["low"] < row["share"] < row["high"] for row in known["rows"])
    assert sm.report(sm.Semimetric.l1(X)).facts["overview"]["importances"] is None
    few = sm.report(sm.Semimetric.l1(X), X[:15]).facts["overview"]["importances"]
    assert all(row["low"] is None for row in few["rows"])


def test_three_items_are_explained_by_those_that_were_learned_from(cancer):
    model, X, y = cancer
    new, truth = X.iloc[160:], y.iloc[160:]
    cases = sm.report(model, new, truth).facts["overview"]["cases"]
    assert len({case["name"] for case in cases}) == 3
    for case in cases:
        row = int(case["name"].removeprefix("row "))
        assert case["predicted"] == model.predict(X.iloc[[row]])[0]
        assert case["true"] == y[row]
        shares = dict(zip(model.classes_, model.predict_proba(X.iloc[[row]])[0], strict=True))
        assert dict(case["probabilities"]) == pytest.approx(shares)
        distances, near = model.kneighbors(X.iloc[[row]], 3)
        assert [each[0] for each in case["neighbors"]] == [f"row {k}" for k in near[0]]
        assert [each[2] for each in case["neighbors"]] == pytest.approx(distances[0].tolist())
    sure = np.sort(model.predict_proba(new), axis=1)
    (unsure,) = [case for case in cases if "least sure" in case["why"]]
    assert new.index[(sure[:, 1] - sure[:, 0]).argmin()] == int(unsure["name"].removeprefix("row "))
    for case in sm.report(model).facts["overview"]["cases"]:  # of the fit: no item is near itself
        assert case["name"] not in [each[0] for each in case["neighbors"]]


def test_neighbors_of_given_items_are_those_that_were_learned_from(cancer):
    model, X, y = cancer
    report = sm.report(model, X.iloc[160:], y.iloc[160:])
    items = report.page["items"]
    assert (items["n"], items["nGiven"]) == (300, 140)
    assert items["names"] == [f"row {k}" for k in (*range(160, 300), *range(160))]
    collide = sm.report(model, X.iloc[160:].reset_index(drop=True), y.iloc[160:].reset_index(drop=True)).page["items"]
    assert collide["names"][140] == "row 0 of the fit"
    own = sm.report(model).page["items"]
    assert own["n"] == own["nGiven"] == 160
    sampled = sm.report(model, X.iloc[160:], y.iloc[160:], max_items=50).page["items"]
    assert (sampled["n"], sampled["nGiven"], sampled["sampled"]) == (50, 25, True)


@pytest.mark.slow
def test_include_chooses_tabs_and_says_which_there_are(cancer):
    model, X, y = cancer
    every = sm.report(model, X, y)
    assert [name for name, _ in every.page["tabs"]] == TABS
    assert every.page["effects"]["names"] == [f"probability of {model.classes_[1]}"]
    assert len(every.page["effects"]["columns"]) == 6
    assert sorted(every.page["order"]) == list(range(6))
    few = sm.report(model, X, y, include=["evidence", "overview"])
    assert [name for name, _ in few.page["tabs"]] == ["overview", "evidence"]
    assert few.page["kind"] == "static"
    assert len(few.to_html()) < len(every.to_html()) - 50_000
    assert few.facts == every.facts
    assert_refused(lambda: sm.report(model, include=["shapes"]), "'shapes', which is no tab", ", ".join(map(repr, TABS)))
    assert_refused(lambda: sm.report(model, include=[]), "no tab", "'overview'")
    assert_refused(lambda: sm.report(model, include="models"), "'models'", "'overview'")
    forest = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions="lda", tables="warped").fit(X, y)
    names = [name for name, _ in sm.report(forest).page["tabs"]]
    assert names == [*TABS[:4], "components", *TABS[4:]]
    assert {term["tab"] for term in sm.report(forest).page["terms"]} == {"columns", "components"}


def test_the_head_says_nothing_of_tables(cancer):
    model, X, y = cancer
    page = sm.report(model, X, y).to_html()
    head, _, rest = page.partition("<main>")
    assert "weights" not in head.partition("<header>")[2]
    assert "SemimetricClassifier: 6 columns, 300 items" in head
    assert "scales over groups" in rest[rest.index('id="panel-evidence"') :]


def test_json_has_the_overview(cancer):
    model, X, y = cancer
    overview = json.loads(sm.report(model, X, y).to_json())["overview"]
    assert set(overview) == {"about", "target", "classes", "quality", "errors", "importances", "groups", "cases"}


def test_a_distance_predicts_nothing_and_says_how_far_it_is_off():
    X = np.random.default_rng(0).random((80, 2))
    index = np.random.default_rng(1).integers(0, 80, (900, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 3.0]
    model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, validation_fraction=0.4, preprocessor=X).fit(index, y)
    overview = sm.report(model, X).facts["overview"]
    assert overview["quality"] is None
    assert overview["cases"] == []
    assert f"{model.error_.median:.1%}" in overview["errors"]
    assert "predicts nothing" in overview["about"][0]


def test_columns_are_named_by_their_kinds():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0], "c": pd.Categorical(["x", "y"])})
    about = sm.report(sm.gower(table), table).facts["overview"]["about"]
    assert "3 columns: 2 numbers and 1 category" in " ".join(about)


@given(st.integers(1, 400), st.data())
def test_the_interval_of_a_share_holds_it_and_is_no_point(n, data):
    right = data.draw(st.integers(0, n))
    low, high = wilson(right / n, n)
    assert 0 <= low <= right / n + 1e-12
    assert right / n - 1e-12 <= high <= 1
    assert high - low > 1 / (n + 4)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_the_area_is_that_of_scikit_learn_with_ties(pairs):
    positive, score = (np.array(each) for each in zip(*pairs, strict=True))
    found = _auc(positive, score.astype(float), np.ones(len(score)))
    if positive.all() or not positive.any():
        assert np.isnan(found)
    else:
        assert found == pytest.approx(roc_auc_score(positive, score))


@pytest.mark.parametrize(
    ("value", "text"),
    [(21562.3, "21,562"), (1234567, "1,234,567"), (0.00012345, "0.0001234"), (1e-7, "1e-07"), (99999.6, "100,000"),
     (-2.5, "-2.5"), (0.0, "0"), (3.0, "3")],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them(value, text):
    assert number_text(value) == text


def _median(values, weight):
    return weighted_median(values[None], weight[None])[0]


def test_the_median_counts_weights():
    values, weight = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0, 1.0])
    assert _median(values, weight) == np.median(values)
    assert _median(values[:3], weight[:3]) == 2.0
    assert _median(values, np.array([1.0, 5.0, 1.0, 1.0])) == 1.0
    repeated = np.repeat(values, [2, 1, 3, 2])
    assert _median(values, np.array([2.0, 1.0, 3.0, 2.0])) == np.median(repeated)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.sampled_from([0.1, 0.7, 1 / 3, 1.0, 1e-9]))
def test_the_median_of_equal_weights_is_the_plain_one(values, weight):
    assert _median(np.array(values, float), np.full(len(values), weight)) == np.median(values)
