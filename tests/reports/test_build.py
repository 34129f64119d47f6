"""What a report is made of, and what it refuses."""

import base64
import json

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from reports_cases import DISTANCES, vectors

import semimetric as sm


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype={"i4": "<i4", "f8": "<f8"}[packed["type"]])


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).random((90, 2))
    index = np.random.default_rng(1).integers(0, 90, (400, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 3.0]
    return sm.DistanceRegressor(n_knots=3, alpha=1e-5, directions=None, preprocessor=X).fit(index, y), X, index, y


def test_items_are_in_the_page_to_the_last_bit(fitted):
    model, X, *_ = fitted
    page = sm.report(model, X).page
    np.testing.assert_array_equal(unpacked(page["items"]["values"]).reshape(X.shape), X)
    assert page["items"]["names"][:2] == ["row 0", "row 1"]


def test_more_items_are_sampled_and_the_page_says_so(fitted):
    model, X, *_ = fitted
    report = sm.report(model, X, np.arange(90.0), max_items=30)
    assert report.page["items"]["n"] == 30
    assert report.page["items"]["sampled"] is True
    assert "random sample of 30" in report.facts["data"]["how_many"]
    chosen = unpacked(report.page["items"]["values"]).reshape(30, 2)
    rows = [int(name.removeprefix("row ")) for name in report.page["items"]["names"]]
    np.testing.assert_array_equal(chosen, X[rows])
    assert report.page["items"]["targets"] == [float(row) for row in rows]
    assert sm.report(model, X, max_items=30, random_state=1).page["items"]["names"] != report.page["items"]["names"]
    assert sum(report.page["counts"][0]["bins"]) == 90  # of all


def test_wide_items_are_fewer():
    X = np.random.default_rng(0).random((400, 500))
    page = sm.report(sm.Semimetric.l1(X), X).page
    assert page["items"]["n"] == 100


def test_measured_pairs_are_told(fitted):
    model, X, index, y = fitted
    facts = sm.report(model, X, pairs=index, distances=y).facts["pairs"]
    assert facts["n"] == 400
    assert facts["median_relative_error"] < 0.01
    assert facts["correlation"] > 0.999
    points = sm.report(model, pairs=X[index], distances=y).facts["pairs"]
    assert points == pytest.approx(facts)


def test_shares_add_up_and_tell_what_they_are_of(fitted):
    model, X, *_ = fitted
    with_items, without = sm.report(model, X).facts["importances"], sm.report(model).facts["importances"]
    for found in (with_items["features"], with_items["terms"], without["terms"]):
        assert sum(found.values()) == pytest.approx(1.0)
    assert with_items["features"]["x1"] > 2 * with_items["features"]["x0"]
    assert "no two items" in without["note"]


def test_probes_are_distances_of_python():
    for name, make in DISTANCES.items():
        d = make()
        probes = sm.report(d, vectors_as_told(d)).page["probes"]
        left, right = (unpacked(probes[side]).reshape(-1, d.n_features) for side in ("left", "right"))
        rows = np.arange(len(left))
        expected = d.paired_by_index(np.vstack([left, right]), np.column_stack([rows, len(rows) + rows]))
        np.testing.assert_array_equal(unpacked(probes["distances"]), expected, err_msg=name)


def vectors_as_told(d):
    return d.schema.display(vectors(30, 7, gaps=any(d.schema.missing)))


def test_classes_and_values_are_told_apart(fitted):
    model, X, *_ = fitted
    assert sm.report(model, X, np.arange(90) % 3).page["items"]["targetName"] == "class"
    assert sm.report(model, X, np.linspace(0, 1, 90)).page["items"]["targetName"] == "value"
    assert sm.report(model, X, np.array([0.5, 1, 2] * 30, dtype=object)).page["items"]["targets"][:2] == [0.5, 1.0]
    assert sm.report(model, X, pd.Series(["a", "b"] * 45)).page["items"]["targets"][:2] == ["a", "b"]


def test_models_with_items_need_none_again():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((60, 2)), columns=["u", "v"], index=[f"item {k}" for k in range(60)])
    y = np.where(X["u"] > 0.5, "yes", "no")
    learner = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped")
    classifier = sm.SemimetricClassifier(learner, n_neighbors=3, weights="uniform").fit(X, y)
    page = sm.report(classifier).page
    assert page["items"]["names"] == list(X.index)
    assert page["items"]["targets"] == y.tolist()
    index = sm.NeighborIndex(classifier.semimetric_).fit(X, ids=np.array(X.index, dtype=str))
    np.testing.assert_array_equal(unpacked(sm.report(index).page["items"]["values"]), X.to_numpy().ravel())
    assert [found["title"] for found in sm.report(classifier).facts["evidence"]][0] == "Model"


def test_a_model_that_makes_features_takes_objects_which_are_named_by_themselves():
    words = [letter * n for letter in "abcd" for n in range(1, 9)]
    model = sm.DistanceApproximator(
        lambda a, b: float(abs(len(a) - len(b)) + (a[0] != b[0])),
        sm.DistanceRegressor(n_knots=3, alpha=1e-3),
        features=sm.LandmarkFeatures(n_landmarks=2),
        random_state=0,
    ).fit(words)
    items = sm.report(model, words[:20]).page["items"]
    assert items["names"] == words[:20]
    np.testing.assert_array_equal(unpacked(items["values"]).reshape(20, -1), model.encode(words[:20]))
    long = [word * 50 for word in words[:20]]
    assert sm.report(model, long).page["items"]["names"] == [f"row {k}" for k in range(20)]
    assert sm.report(model, words[:20], names=[*"abcdefghijklmnopqrst"]).page["items"]["names"] == [*"abcdefghijklmnopqrst"]


def test_errors_on_unseen_items_and_the_chosen_link_are_told():
    X = np.random.default_rng(0).random((80, 2))
    index = np.random.default_rng(1).integers(0, 80, (900, 2))
    y = (np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 3.0]) ** 0.7
    model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, link="power", validation_fraction=0.4, preprocessor=X).fit(index, y)
    evidence = {found["title"]: found for found in sm.report(model, X).facts["evidence"]}
    errors = evidence["Error on items that were not learned from"]
    assert ["R²", model.error_.r2] in errors["rows"]
    assert f"On {model.error_.n_pairs:,} pairs of {model.error_.n_items:,} items" in errors["notes"][0]
    taken = [row for row in evidence["What was compared for the link"]["rows"] if row[-1] == "taken"]
    assert len(taken) == 1
    assert f"exponent {model.link_choices_.chosen.settings['link']:g}" in taken[0][0]
    given = sm.DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X).fit(index, y)
    (unknown,) = (e for e in sm.report(given, X).facts["evidence"] if e["title"].startswith("Error"))
    assert unknown["rows"] == []
    assert given.error_.note in unknown["notes"][0]


def test_base_distances_are_told_to_be_functions_and_python_finds_the_neighbours():
    X = np.random.default_rng(0).random((40, 2))
    index = np.random.default_rng(1).integers(0, 40, (300, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]]).sum(axis=1)

    def chebyshev(a, b):
        return float(np.abs(a - b).max())

    model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, tables=sm.Tables(base_distances=[chebyshev]), preprocessor=X).fit(
        index, y
    )
    page = sm.report(model, X).page
    assert "chebyshev" in page["whyNot"]
    assert page["probes"] is None
    k = page["neighbors"]["k"]
    near = unpacked(page["neighbors"]["items"]).reshape(40, k)
    expected = model.semimetric_.pairwise(X)
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_array_equal(np.take_along_axis(expected, near, 1)[:, 0], expected.min(axis=1))
    np.testing.assert_allclose(unpacked(page["neighbors"]["distances"]).reshape(40, k)[:, 0], expected.min(axis=1), rtol=1e-12)


def test_outside_and_missing_items_are_counted():
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, np.nan], "kind": pd.Categorical(["a", "b", "a", "b"])})
    d = sm.Semimetric.gower(table)
    new = pd.DataFrame({"size": [9.0, np.nan, np.nan], "kind": ["c", "a", "b"]})
    size, kind = sm.report(d, new).facts["data"]["columns"]
    assert (size["n_missing"], size["n_outside"]) == (2, 1)
    assert (kind["n_missing"], kind["n_outside"]) == (0, 1)
    assert kind["range"] == "a, b"


def test_three_items_that_break_the_triangle_inequality_are_told():
    X = np.random.default_rng(0).random((50, 1))
    index = np.random.default_rng(1).integers(0, 50, (400, 2))
    model = sm.DistanceRegressor(n_knots=5, alpha=1e-6, preprocessor=X).fit(index, (X[index[:, 0], 0] - X[index[:, 1], 0]) ** 2)
    facts = sm.report(model).facts["axioms"]
    assert facts["triangle"] == "violated"
    ((name, x, y, z),) = facts["triple"]
    d = model.semimetric_
    assert d([float(x)], [float(z)]) - d([float(x)], [float(y)]) - d([float(y)], [float(z)]) == pytest.approx(
        facts["excess"], rel=1e-2
    )
    assert json.loads(sm.report(model).to_json())["axioms"]["triple"] == [[name, x, y, z]]


REFUSED = {
    "no distance": (lambda m, X, i, y: sm.report(object()), "no distance", "give a Semimetric"),
    "y without X": (lambda m, X, i, y: sm.report(m, y=y), "y is given without X", "give the items"),
    "too few classes": (lambda m, X, i, y: sm.report(m, X, [1, 2]), "shape (2,)", "one class or value"),
    "a missing class": (lambda m, X, i, y: sm.report(m, X, ["a", None] * 45), "y[1] is missing", "a class is required"),
    "cells that are no classes": (lambda m, X, i, y: sm.report(m, X, [{}] * 90), "y", ""),
    "a value that is no number": (lambda m, X, i, y: sm.report(m, X, [np.nan, 0.5] * 45), "y has a missing value", ""),
    "too few names": (lambda m, X, i, y: sm.report(m, X, names=["a"]), "1 names for 90", "one for each item"),
    "pairs alone": (lambda m, X, i, y: sm.report(m, X, pairs=i), "distances is missing", "both"),
    "pairs of no items": (lambda m, X, i, y: sm.report(m, pairs=i, distances=y), "row numbers", "give X"),
    "pairs beyond": (lambda m, X, i, y: sm.report(m, X[:9], pairs=i, distances=y), "pairs", "from 0 to 8"),
    "too few distances": (lambda m, X, i, y: sm.report(m, X, pairs=i, distances=y[:3]), "shape (3,)", "one distance a pair"),
    "negative distances": (lambda m, X, i, y: sm.report(m, X, pairs=i, distances=-y), "distances", ">= 0"),
    "other columns": (lambda m, X, i, y: sm.report(m, X[:, :1]), "X has 1 features", "2 features are required"),
    "no items": (lambda m, X, i, y: sm.report(m, X, max_items=0), "max_items", ">= 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name, fitted):
    call, *said = REFUSED[name]
    assert_refused(lambda: call(*fitted), *said)


def test_a_model_that_is_not_fitted_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        sm.report(sm.DistanceRegressor())
