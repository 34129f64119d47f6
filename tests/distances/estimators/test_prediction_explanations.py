"""Contributions of columns are Shapley values, add up, and go with the items that a prediction rests on."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import shapley_values

from semimetric import Columns, KernelRidgeLearner, LargeMarginLearner, Semimetric, SemimetricClassifier, SemimetricRegressor
from semimetric._foundation.text import number_text
from semimetric._kernels.shapley import shapley_of_products
from semimetric.distances.estimators.prediction_explanations import adds_up_over_columns, product_contributions

RNG = np.random.default_rng(0)
ITEMS = RNG.random((60, 4))
CLASSES = np.array(["low", "high", "odd"])[(ITEMS[:, 0] > 0.5) + 1 * (ITEMS[:, 0] + ITEMS[:, 1] > 1.4)]
VALUES = ITEMS @ [1.0, -2.0, 0.0, 0.5] + ITEMS[:, 0] * ITEMS[:, 1]
FRAME = pd.DataFrame(
    {
        "age": ITEMS[:, 0] * 60,
        "colour": np.array(["blue", "green", "red"])[(ITEMS[:, 1] * 3).astype(int)],
        "hour": ITEMS[:, 2] * 24,
        "pay": np.where(ITEMS[:, 3] < 0.2, np.nan, ITEMS[:, 3] * 1e3),
    }
)
MIXED = Columns(periodic={"hour": 24}, missing="level")
MODELS = {
    "machine of classes": lambda: SemimetricClassifier(predictor="kernel_ridge").fit(ITEMS, CLASSES),
    "machine of two classes": lambda: SemimetricClassifier(predictor="kernel_ridge").fit(ITEMS, CLASSES == "low"),
    "machine of values": lambda: SemimetricRegressor().fit(ITEMS, VALUES),
    "machine of a frame": lambda: SemimetricClassifier(KernelRidgeLearner("classes", columns=MIXED)).fit(FRAME, CLASSES),
    "machine on components": lambda: SemimetricClassifier(
        LargeMarginLearner(directions="nca", tables="warped", n_knots=3, alpha=1e-2), predictor="kernel_ridge"
    ).fit(ITEMS, CLASSES),
    "votes for classes": lambda: SemimetricClassifier(KernelRidgeLearner("classes"), n_neighbors=5).fit(ITEMS, CLASSES),
    "votes for values": lambda: SemimetricRegressor(n_neighbors=5).fit(ITEMS, VALUES),
    "weighted items": lambda: SemimetricClassifier(predictor="kernel_ridge").fit(ITEMS, CLASSES, np.arange(60) % 3),
}
every_model = pytest.mark.parametrize("name", MODELS)


def row_of(model, k=7):
    return FRAME.iloc[[k]] if hasattr(model, "feature_names_in_") else ITEMS[k]


@every_model
def test_contributions_add_up_to_the_difference_of_the_scores(name):
    model = MODELS[name]()
    for n_background in (100, 7):
        found = model.explain(row_of(model), n_background=n_background)
        assert_allclose(found.all_contributions.sum(axis=0), found.scores - found.base_scores, atol=1e-9)
        assert_allclose(found.contributions.sum(), found.score - found.base_score, atol=1e-9)
        assert (found.all_errors >= 0).all()
    assert model.predict(row_of(model) if hasattr(model, "feature_names_in_") else row_of(model)[None])[0] == found.prediction


@every_model
def test_contributions_are_shapley_values(name):
    """Exact where a distance adds up over columns; elsewhere within five standard errors of all orders of the columns."""
    model = MODELS[name]()
    d, items = model.semimetric_, model.index_.encoded_items_
    weight = np.arange(60) % 3 if name == "weighted items" else np.ones(60)
    x = items[7]

    def value(columns):
        rows = items[weight > 0].copy()
        rows[:, columns] = x[columns]
        return np.average(scores_of(model, rows), axis=0, weights=weight[weight > 0])

    want = shapley_values(value, 4)
    found = model.explain(row_of(model))
    if hasattr(model, "machine_") and adds_up_over_columns(d):
        assert_allclose(found.all_contributions, want, atol=1e-9)
        assert not found.all_errors.any()
    else:
        assert (np.abs(found.all_contributions - want) <= 5 * found.all_errors + 1e-9).all()


def scores_of(model, rows):
    """Scores from public predictions: log odds of each class against the others, probabilities of votes, values."""
    rows = model._as_given(rows)
    if not hasattr(model, "classes_"):
        return model.predict(rows)[:, None]
    chances = model.predict_proba(rows)
    if not hasattr(model, "machine_"):
        return chances
    logs, n = np.log(chances), chances.shape[1]
    return (logs - logs.mean(axis=1, keepdims=True)) * n / (n - 1)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 6))
def test_quadrature_of_products_is_exact(seed, n, p):
    rng = np.random.default_rng(seed)
    own, other, c = rng.random((n, p)), rng.random((n, p)), rng.normal(size=(n, 2))

    def value(columns):
        inside = np.isin(np.arange(p), columns)
        return c.T @ np.where(inside, own, other).prod(axis=1)

    nodes, shares = np.polynomial.legendre.leggauss((p + 1) // 2)
    out = np.zeros((p, 2))
    shapley_of_products(own, other, c, (nodes + 1) / 2, shares / 2, out)
    assert_allclose(out, shapley_values(value, p), atol=1e-10)


def test_values_of_many_columns_add_up_however_far_the_row_is():
    """Under 16 nodes alone 300 columns that all are far from the items lose a part of their sum."""
    X = np.random.default_rng(0).random((40, 300))
    d, c = Semimetric.l1(X), np.ones((40, 1))
    for scale in (1.0, 30.0):
        width = 300 / scale
        found = product_contributions(d, X, c, width, X[:1], X[1:3], None)
        score = np.exp(-d.pairwise(X[:3], X) / width) @ c
        assert_allclose(found.sum(axis=1), score[0] - score[1:], atol=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*constant")
def test_a_column_that_plays_no_part_adds_nothing():
    """Its weight is 0, or no vote depends on it."""
    X = np.column_stack([ITEMS, np.ones(60)])
    for model in (SemimetricClassifier(predictor="kernel_ridge"), SemimetricClassifier(n_neighbors=3)):
        found = model.fit(X, CLASSES).explain(X[3])
        assert found.contributions[4] == 0


def test_the_mean_score_says_of_which_items_it_is():
    model = MODELS["machine of classes"]()
    every, some = model.explain(ITEMS[7]), model.explain(ITEMS[7], n_background=20)
    assert not every.base_errors.any()
    assert (some.base_errors > 0).all()
    assert (np.abs(some.base_scores - every.base_scores) < 5 * some.base_errors).all()
    assert "mean of 60 fitted items" in repr(every)
    assert "mean of 20 fitted items" in repr(some)


def test_items_of_a_machine_add_up_to_the_score():
    model = MODELS["machine of classes"]()
    found = model.explain(ITEMS[7], n_background=20)
    assert_allclose(found.item_contributions.sum(axis=0), found.scores - found.base_scores, atol=1e-9)
    assert (found.item_targets == CLASSES[found.item_rows]).all()


def test_another_class_can_be_explained_and_unknown_ones_are_refused():
    model = MODELS["machine of classes"]()
    found = model.explain(ITEMS[7])
    other = found.of("odd")
    assert_allclose(other.contributions, model.explain(ITEMS[7], "odd").contributions)
    assert found.to_frame()["contribution"].sum() == pytest.approx(found.score - found.base_score)
    assert len(found.items_to_frame()) == len(found.item_rows)
    text, html = repr(found), found._repr_html_()
    assert f"predicted as {found.prediction}" in text
    assert "mean log odds" in text
    assert "<table>" in html
    assert_refused(lambda: model.explain(ITEMS[7], "none"), "'none'", "low")
    assert_refused(lambda: model.explain(ITEMS[:2]), "2 rows", "one is explained at a time")
    assert_refused(lambda: MODELS["machine of values"]().explain(ITEMS[7], 3), "no classes", "leave it out")
    assert_refused(lambda: model.explain(ITEMS[7], n_background=0), "n_background", "1")


@pytest.mark.slow
def test_the_picture_has_a_bar_for_each_column():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    found = MODELS["machine of classes"]().explain(ITEMS[7])
    axes = found.plot(figure.subplots(), most=2)
    assert len(axes.patches) == 3  # two columns, and the sum of the others
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(found.score - found.base_score)


@pytest.mark.parametrize("name", ["machine of values", "votes for values", "machine of classes"])
def test_an_explained_value_has_its_interval(name):
    model = MODELS[name]()
    found = model.explain(ITEMS[7])
    if name == "machine of classes":
        assert found.interval is None
        return
    _, low, high = model.predict(ITEMS[7:8], interval=0.9)
    assert found.interval == (low[0], high[0])
    assert f"90 % interval {number_text(low[0])} to {number_text(high[0])}" in repr(found).splitlines()[0]
    few = model.fit(ITEMS[:8], VALUES[:8]).explain(ITEMS[7])
    assert few.interval is None
    assert "interval" not in repr(few).splitlines()[0]
