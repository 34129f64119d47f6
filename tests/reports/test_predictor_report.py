"""Reports of machines and of boundaries made of pieces: what the page computes is what Python computes."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from reports_cases import BOUNDARIES, MACHINES, PREDICTORS, machine, random_items, scores_of
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import semimetric as sm
from semimetric.reports.report import _finite

HERE = Path(__file__).parent
PAGE = Path(sm.__file__).parent / "reports" / "page"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node, which runs the scripts of the page, is not installed"
)


def in_page(report, X):
    items = [[None if np.isnan(value) else value for value in row] for row in X.tolist()]
    given = json.dumps({"page": _finite(report.page), "items": items})
    done = subprocess.run(
        ["node", HERE / "evaluate_scores.js", PAGE], input=given, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize("name", PREDICTORS)
def test_the_page_scores_as_python_does(name):
    model, X, y = PREDICTORS[name]()
    new = random_items(X)
    if "refuses" in name:
        new = np.clip(new, X.min(axis=0), X.max(axis=0))
    told = in_page(sm.report(model, X, y), new)
    assert told["computes"]
    scores = np.array([each["scores"] for each in told["found"]])
    expected = scores_of(model, new)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    if hasattr(model, "classes_"):
        assert [str(model.classes_[each["code"]]) for each in told["found"]] == [str(c) for c in model.predict(new)]
    if hasattr(model, "predict_proba"):
        probabilities = np.array([each["probabilities"] for each in told["found"]])
        np.testing.assert_allclose(probabilities, model.predict_proba(new), rtol=0, atol=1e-9)
    for which in ("sums", "ofColumns"):
        parts, totals = (np.array([each[key] for each in told["found"]]) for key in (which, "totals"))
        np.testing.assert_allclose(parts, totals, rtol=1e-9, atol=1e-9 * np.abs(totals).max())


@pytest.mark.parametrize("name", MACHINES)
def test_terms_of_a_machine_have_mean_0_and_shares_add_up(name):
    model, X, y = MACHINES[name]()
    facts = sm.report(model, X, y).facts
    assert sum(facts["importances"]["terms"].values()) == pytest.approx(1.0)
    assert sum(facts["importances"]["features"].values()) == pytest.approx(1.0)
    without = sm.report(model).facts
    assert sum(without["importances"]["terms"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_pieces_decide_all_items(name):
    model, X, y = BOUNDARIES[name]()
    report = sm.report(model, X, y)
    terms = report.page["terms"]
    assert sum(report.facts["importances"]["terms"].values()) == pytest.approx(1.0)
    if isinstance(model, sm.DPLMClassifier):
        assert sum(term["items"] for term in terms) == len(X) * len(model.pieces_)
        every = range(len(model.classes_))
        sides = [(every, k) for k in every] if len(model.pieces_) > 1 else [(every, 1)]
        sides = [(pair, pair[1]) for pair in getattr(model, "class_pairs_", [])] or sides
        right, told = 0, 0.0
        for k, (pieces, (of, positive)) in enumerate(zip(model.pieces_, sides, strict=True)):
            of_pair = np.isin(y, model.classes_[np.array(of)])
            right += ((pieces.decision(X) > 0) == (y == model.classes_[positive]))[of_pair].sum()
            counts = np.bincount(pieces.of_items(X)[of_pair], minlength=pieces.n_components)
            told += counts @ [term["right"] or 0.0 for term in terms if term["set"] == k]
        assert told == pytest.approx(right)
    else:
        assert sum(term["points"] for term in terms) == len(model.support_)


def evidence(report):
    return {found["title"]: found for found in report.facts["evidence"]}


def figures(report):
    return {figure["name"]: figure["value"] for figure in report.facts["overview"]["quality"]["figures"]}


def test_errors_confusions_and_calibration_are_those_of_the_model():
    model, X, y = MACHINES["PL2"]()
    report = sm.report(model, X, y)
    quality = report.facts["overview"]["quality"]
    assert figures(report)["accuracy"] == pytest.approx(model.score(X, y))
    assert figures(report)["log loss"] == pytest.approx(log_loss(y, model.predict_proba(X)), abs=1e-5)
    counts = np.array([row[1:] for row in quality["confusions"]["rows"]])
    np.testing.assert_array_equal(counts, pd.crosstab(y, model.predict(X)).reindex(columns=[0, 1, 2], fill_value=0))
    rows = quality["calibration"]["rows"]
    assert sum(row["n"] for row in rows) == len(X)
    assert sum(row["n"] * row["true"] for row in rows) / len(X) == pytest.approx(
        (model.predict_proba(X).argmax(axis=1) == y).mean()
    )
    assert quality["held_out"] is None
    assert "cannot know" in quality["how"][0]
    assert dict(evidence(report)["Training"]["rows"])["status"] == model.status_.value
    model, X, y = MACHINES["waves"]()
    assert figures(sm.report(model, X, y))["R²"] == pytest.approx(model.score(X, y))
    assert sm.report(model, X).facts["overview"]["quality"] is None


def test_classes_that_the_model_does_not_know_are_wrong():
    model, X, y = MACHINES["PL1"]()
    report = sm.report(model, X, np.where(y == 0, 7, y))
    assert figures(report)["accuracy"] == pytest.approx((model.predict(X)[y != 0] == y[y != 0]).sum() / len(y))
    quality = report.facts["overview"]["quality"]
    assert "does not know" in quality["how"][1]
    assert quality["confusions"]["rows"][-1][0] == "(other)"


def test_contributions_of_columns_add_up_to_the_score():
    for name in ("PL2", "PL1, two classes with probabilities", "waves"):
        model, X, y = MACHINES[name]()
        for case in sm.report(model, X, y).facts["overview"]["cases"]:
            row = int(case["name"].removeprefix("row "))
            parts = case["contributions"]
            score = np.ravel(scores_of(model, X[[row]]))
            if hasattr(model, "classes_"):
                of = model.classes_.astype(str).tolist().index(case["predicted"])
                score = score[of] if len(score) > 1 else score[0] * (1 if of else -1)
            assert parts["base"] + sum(part for *_, part in parts["rows"]) == pytest.approx(float(np.squeeze(score)), rel=1e-9)


def test_columns_are_those_that_were_given_where_steps_only_scale_them():
    model, X, _ = machine(sm.PL1Embedding(4), scaled=True)
    low, high = X.min(axis=0), X.max(axis=0)
    told = [row["range"] for row in sm.report(model, X).facts["data"]["columns"]]
    assert told == [f"{a:.4g} to {b:.4g}" for a, b in zip(low, high, strict=True)]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = make_pipeline(PCA(2), sm.EmbeddedLinearClassifier()).fit(frame, X[:, 0] > 0)
    report = sm.report(named, frame, X[:, 0] > 0)
    assert [column["name"] for column in report.page["columns"]] == ["pca0", "pca1"]
    assert report.page["items"]["names"][0] == "row 0"
    assert "that PCA makes" in report.facts["summary"][-1]


def test_names_and_classes_of_a_frame_are_told():
    _, X, y = machine(sm.PL1Embedding(4))
    frame = pd.DataFrame(X, columns=["age", "pay", "size"], index=[f"item {k}" for k in range(len(X))])
    model = sm.EmbeddedLinearClassifier(sm.PL2Embedding(3)).fit(frame, np.array(["a", "b", "c"])[y])
    page = sm.report(model, frame, np.array(["a", "b", "c"])[y], max_items=20).page
    assert page["terms"][3]["name"] == "age * pay"
    assert page["outputs"] == ["a", "b", "c"]
    assert page["items"]["n"] == 20
    assert page["items"]["names"][0].startswith("item")


def test_machines_and_boundaries_are_compared():
    one, X, y = BOUNDARIES["planes"]()
    other, *_ = BOUNDARIES["support points"]()
    found = {each["title"]: each for each in sm.report({"planes": one, "points": other}, X, y).facts["comparison"]}
    assert found["Agreement"]["rows"][0][1] == pytest.approx((one.predict(X) == other.predict(X)).mean())
    errors = {row[0]: row[1:] for row in found["Errors side by side"]["rows"]}
    assert errors["accuracy"] == pytest.approx([one.score(X, y), other.score(X, y)])
    differ = found["Where planes and points differ most"]["rows"]
    rows = [int(row[0].removeprefix("row ")) for row in differ]
    assert (one.predict(X)[rows] != other.predict(X)[rows]).all()
    first, X, y = MACHINES["waves"]()
    second, *_ = MACHINES["PL1 that goes on"]()
    found = {each["title"]: each for each in sm.report([first, second], X, y).facts["comparison"]}
    assert found["Agreement"]["rows"][0][1] == pytest.approx(np.corrcoef(first.predict(X), second.predict(X))[0, 1])


def test_what_cannot_be_shown_is_refused_in_words():
    X = np.random.default_rng(0).random((80, 3))
    y = X[:, 0] > 0.5
    refused = {
        "ID": (sm.EmbeddedLinearClassifier(sm.IDEmbedding(3, groups="all")), "more than two features", "fit PL1Embedding()"),
        "touched": (sm.EmbeddedLinearClassifier(sm.IDEmbedding(20, most_vertices=9)), "only where items", "most_vertices"),
        "cones": (sm.EmbeddedLinearClassifier(sm.ConicEmbedding()), "more than two features", "fit PL1Embedding()"),
        "powers": (sm.EmbeddedLinearClassifier(sm.ConicEmbedding(1.5, "each")), "no polynomial", "a whole power"),
    }
    for model, *said in refused.values():
        assert_refused(lambda model=model: sm.report(model.fit(X, y), X), *said, error=sm.NotSupportedError)
    model = sm.EmbeddedLinearClassifier().fit(X, y)
    assert_refused(lambda: sm.report(model, X, pairs=[[0, 1]], distances=[1.0]), "pairs and distances", "give X and y")
    assert_refused(lambda: sm.report([model, sm.Semimetric.l1(X)], X), "all distances", "leave others out")
    assert_refused(lambda: sm.report([model, model]), "none are given", "give X")
    assert_refused(lambda: sm.report(model, X[:, :2]), "2 features", "3 features")
    from sklearn.exceptions import NotFittedError

    for unfitted in (
        sm.EmbeddedLinearClassifier(),
        sm.DPLMClassifier(),
        sm.SupportPointClassifier(),
        make_pipeline(PCA(), sm.EmbeddedLinearClassifier()),
    ):
        with pytest.raises(NotFittedError):
            sm.report(unfitted)
    with pytest.raises(AttributeError):
        model.score_curves_  # noqa: B018  # a property
