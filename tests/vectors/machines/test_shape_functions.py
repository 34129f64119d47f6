"""Functions of additive machines, and their parts made unique."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.svm import LinearSVC

from semimetric import (
    BSplineEmbedding,
    ConicEmbedding,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    FourierEmbedding,
    HermiteEmbedding,
    IDEmbedding,
    LargeMarginLearner,
    NotSupportedError,
    PL1Embedding,
    PL2Embedding,
    SemimetricClassifier,
)
from semimetric.vectors.machines.shapes import Shapes, curve, surface


def data(seed=0, n=80, n_features=3):
    return np.random.default_rng(seed).random((n, n_features))


def machine(embedding, X, seed=1):
    return np.random.default_rng(seed).normal(size=embedding.fit(X).n_columns_)


def twin(shapes, x):
    """f(x), cell by cell."""
    total = shapes.intercept + sum(np.interp(x[f], shapes.knots[f], v) for f, v in shapes.curves.items())
    for (a, b), table in shapes.tables.items():
        (i, s), (j, t) = (_cell(shapes.knots[f], x[f]) for f in (a, b))
        corner, opposite = table[i, j], table[i + 1, j + 1]
        middle = table[i + 1, j] if t < s else table[i, j + 1]
        total += (1 - max(s, t)) * corner + abs(s - t) * middle + min(s, t) * opposite
    return total


def _cell(knots, value):
    i = min(max(int(np.searchsorted(knots, value, side="right")) - 1, 0), len(knots) - 2)
    return i, float(np.clip((value - knots[i]) / (knots[i + 1] - knots[i]), 0, 1))


@pytest.mark.parametrize("embedding", [PL1Embedding(n_knots=5), PL2Embedding(n_knots=4), PL2Embedding(pairs=[(0, 2)])])
def test_the_functions_add_up_to_the_score(embedding):
    X = data()
    w = machine(embedding, X)
    shapes = Shapes.of(embedding, w, 0.5)
    score = embedding.transform(X) @ w + 0.5
    assert np.allclose([twin(shapes, x) for x in X], score, atol=1e-12)


@pytest.mark.parametrize(
    ("embedding", "atol"),
    [
        (BSplineEmbedding(5), 1e-12),
        (BSplineEmbedding(5, penalty_order=0), 1e-12),
        (BSplineEmbedding(knots="quantile", n_bins=4), 1e-12),
        (BSplineEmbedding(5, degree=2), 0.01),
        (BSplineEmbedding(5, degree=3, penalty_order=2, missing="indicator"), 0.01),
        (FourierEmbedding(2), 0.01),
        (HermiteEmbedding(3), 0.01),
    ],
)
def test_smooth_functions_add_up_to_the_score(embedding, atol):
    X = data()
    w = machine(embedding, X)
    shapes = Shapes.of(embedding, w, 0.5)
    score = embedding.transform(X) @ w + 0.5
    assert np.abs([twin(shapes, x) for x in X] - score).max() <= atol * np.abs(score).max()
    assert np.allclose([twin(shapes.purified(X), x) for x in X], [twin(shapes, x) for x in X], atol=1e-9)


def test_features_that_do_not_vary_have_one_place():
    X = np.column_stack([np.linspace(0, 1, 20), np.full(20, 3.0)])
    for embedding in (BSplineEmbedding(3, degree=2), FourierEmbedding(2)):
        shapes = Shapes.of(embedding.fit(X), np.ones(embedding.n_columns_))
        assert len(shapes.knots[0]) > 20
        assert len(shapes.knots[1]) == 1


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=20, deadline=None)
def test_purified_functions_add_up_to_the_same_and_hold_no_effects_of_one_feature(seed, n_knots):
    X = data(seed)
    embedding = PL2Embedding(n_knots=n_knots)
    shapes = Shapes.of(embedding, machine(embedding, X, seed), -1.0)
    pure = shapes.purified(X)
    assert np.allclose([twin(pure, x) for x in X], [twin(shapes, x) for x in X], atol=1e-9)
    for pair, table in pure.tables.items():
        mass = shapes._knot_weights(X, pair)
        assert mass.sum() == pytest.approx(1.0)
        assert np.abs((mass * table).sum(axis=0)).max() < 1e-10
        assert np.abs((mass * table).sum(axis=1)).max() < 1e-10
    for f, values in pure.curves.items():
        assert abs(shapes._knot_weights(X, (f,)) @ values) < 1e-12


def test_an_additive_function_hidden_in_tables_is_found():
    X = data(3, 300, 2)
    embedding = PL2Embedding(n_knots=4).fit(X)
    first, second = embedding.grid_.knots
    w = np.concatenate([np.zeros(8), (np.sin(first)[:, None] + second**2).ravel()])
    pure = Shapes.of(embedding, w).purified(X)
    assert np.abs(pure.tables[0, 1]).max() < 1e-9
    assert np.ptp(pure.curves[0] - np.sin(first)) < 1e-9
    assert np.ptp(pure.curves[1] - second**2) < 1e-9


def test_knots_that_no_item_is_near_do_not_break_the_split():
    X = np.array([[0.0, 0.0], [0.1, 0.1], [1.0, 1.0]])
    embedding = PL2Embedding(knots=[[0.0, 0.5, 0.6, 1.0], [0.0, 0.5, 0.6, 1.0]]).fit(X)
    pure = Shapes.of(embedding, machine(embedding, X)).purified(X)
    assert all(np.isfinite(table).all() for table in pure.tables.values())


@pytest.mark.parametrize("options", [{"zero_preserving": True}, {"missing": "indicator"}, {"extrapolation": "error"}])
def test_options_of_the_embedding_keep_the_functions(options):
    X = data()
    embedding = PL2Embedding(n_knots=3, **options)
    w = machine(embedding, X)
    score = embedding.transform(X) @ w
    assert np.allclose([twin(Shapes.of(embedding, w), x) for x in X], score, atol=1e-12)


def test_curves_and_surfaces_of_a_trained_machine():
    X = data(5, 200)
    y = np.abs(X[:, 0] - X[:, 1]) > 0.3
    embedding = PL2Embedding(n_knots=5).fit(X)
    w = LinearSVC(C=10).fit(embedding.transform(X), y).coef_[0]
    shapes = Shapes.of(embedding, w)
    at = np.linspace(0.1, 0.9, 7)
    assert np.allclose(curve(embedding, w, 2, at), np.interp(at, shapes.knots[2], shapes.curves[2]))
    seen = surface(embedding, w, (0, 1), (at, at))
    assert np.allclose(seen, surface(embedding, w, (1, 0), (at, at)).T)
    assert seen[0, -1] + seen[-1, 0] > seen[0, 0] + seen[-1, -1]  # far apart is the class True


def test_refusals():
    X = data()
    embedding = PL2Embedding(n_knots=3)
    w = machine(embedding, X)
    assert_refused(lambda: Shapes.of(embedding, w[:-1]), f"({len(w) - 1},)", f"({len(w)},)", "coef_[k]")
    assert_refused(lambda: curve(embedding, w, 3, [0.0]), "(3,)", "numbers from 0 to 2")
    assert_refused(lambda: Shapes.of(embedding, w * np.nan), "NaN", "finite weights", "scaled")
    with pytest.raises(NotFittedError):
        Shapes.of(PL2Embedding(), w)
    cones = ConicEmbedding().fit(X, X[:, 0] > 0.5)
    with pytest.raises(NotSupportedError, match="curve"):
        Shapes.of(cones, np.zeros(cones.n_columns_))
    triples = IDEmbedding(groups=[(0, 1, 2)]).fit(X)
    with pytest.raises(NotSupportedError, match="curve"):
        Shapes.of(triples, np.zeros(triples.n_columns_))


def labels(n=80):
    return np.digitize(data(n=n)[:, 0], [0.3, 0.7])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (EmbeddedLinearClassifier(PL2Embedding(3), C=3), labels() > 0),
        (EmbeddedLinearRegressor(PL1Embedding(4)), labels().astype(float)),
        (make_pipeline(MinMaxScaler(), EmbeddedLinearClassifier(PL1Embedding(3))), labels() > 0),
        (make_pipeline(MinMaxScaler(), PL2Embedding(3), LinearSVC()), labels() > 0),
        (Pipeline([("own", Pipeline([("embed", PL1Embedding(3)), ("none", "passthrough"), ("fit", Ridge())]))]), data()[:, 1]),
    ],
)
def test_functions_of_a_machine_or_a_pipeline_add_up_to_its_score(model, y):
    X = data()
    model.fit(X, y)
    score = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    scaled = model[0].transform(X) if isinstance(model, Pipeline) and "minmaxscaler" in model.named_steps else X
    shapes = Shapes.of(model)
    assert np.allclose([twin(shapes, x) for x in scaled], score, atol=1e-9)


def test_one_class_of_several_is_named():
    X, y = data(), np.array(["a", "b", "c"])[labels()]
    model = EmbeddedLinearClassifier(PL1Embedding(4)).fit(X, y)
    score = model.decision_function(X)
    for k, name in enumerate("abc"):
        assert np.allclose([twin(Shapes.of(model, of_class=name), x) for x in X], score[:, k], atol=1e-9)
    assert_refused(lambda: Shapes.of(model), "of_class=None", "'a', 'b', 'c'")
    assert_refused(lambda: Shapes.of(model, of_class="d"), "of_class='d'", "'a', 'b', 'c'")
    two = EmbeddedLinearClassifier(PL1Embedding(4)).fit(X, y == "a")
    assert Shapes.of(two, of_class=True).intercept == two.intercept_[0]
    assert_refused(lambda: Shapes.of(two, of_class=False), "of_class=False", "score of the second")


def test_what_is_no_additive_function_is_refused():
    X, y = data(), labels() > 0
    embedding = PL1Embedding(3).fit(X)
    model = EmbeddedLinearClassifier(PL1Embedding(3)).fit(X, y)
    assert_refused(lambda: Shapes.of(embedding), "no weights", "coef=", "fitted machine")
    assert_refused(lambda: Shapes.of(model, np.ones(3)), "weights of its own", "beside an embedding")
    others = (
        SemimetricClassifier(LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None)),
        LinearSVC(),
    )
    for other in others:
        with pytest.raises(NotSupportedError, match=r"is no additive function.*taken are.*plot_table"):
            Shapes.of(other.fit(X, y))
    for between in (make_pipeline(MinMaxScaler(), LinearSVC()), make_pipeline(PL1Embedding(3), MaxAbsScaler(), LinearSVC())):
        with pytest.raises(NotSupportedError, match="of what M.*Scaler gives, .* put an embedding directly before it"):
            Shapes.of(between.fit(X, y))
    for unfitted in (EmbeddedLinearClassifier(), make_pipeline(PL1Embedding(3), LinearSVC())):
        with pytest.raises(NotFittedError):
            Shapes.of(unfitted)


@pytest.mark.filterwarnings("error")
def test_names_of_a_frame_are_kept():
    frame = pd.DataFrame(data(), columns=["mean radius", "width", "kind"])
    embedding = PL2Embedding(n_knots=3)
    w = machine(embedding, frame)
    shapes = Shapes.of(embedding, w)
    assert shapes.feature_names == shapes.purified(frame).feature_names == tuple(frame.columns)
    plain = Shapes.of(PL2Embedding(n_knots=3).fit(data()), w)
    assert plain.feature_names == ("x0", "x1", "x2")
    assert all((plain.curves[f] == shapes.curves[f]).all() for f in range(3))
    assert shapes.feature_number("width") == shapes.feature_number(1) == 1
    assert hasattr(embedding, "feature_names_in_")  # what reads it without names is another
    assert_refused(lambda: shapes.feature_number("depth"), "feature='depth' is not known", "0 to 2, or a name: mean radius")


def test_shapes_are_printed_without_their_numbers():
    X = pd.DataFrame(np.random.default_rng(0).random((60, 6)), columns=list("abcdef"))
    embedding = PL2Embedding(n_knots=3).fit(X)
    shapes = Shapes.of(embedding, np.ones(embedding.n_columns_), 0.25)
    expected = "Shapes: 6 functions of one feature and 15 of two, intercept 0.25; features a, b, c, d, e, ..."
    assert repr(shapes) == str(shapes) == expected
    single = PL1Embedding(3).fit(X[["a"]])
    text = repr(Shapes.of(single, np.ones(single.n_columns_)))
    assert text == "Shapes: 1 functions of one feature, intercept 0; features a"


def test_a_frame_has_a_row_for_every_knot():
    X = pd.DataFrame(np.random.default_rng(0).random((60, 3)), columns=["age", "pay", "size"])
    embedding = PL2Embedding(n_knots=[2, 3, 4]).fit(X)
    shapes = Shapes.of(embedding, np.random.default_rng(1).normal(size=embedding.n_columns_))
    frame = shapes.to_frame()
    assert list(frame.columns) == ["feature", "value", "score"]
    assert frame["feature"].value_counts().to_dict() == {
        "age": 2, "pay": 3, "size": 4, "age * pay": 6, "age * size": 8, "pay * size": 12,
    }  # fmt: skip
    scores = frame.set_index(["feature", "value"])["score"]
    for (f, g), table in shapes.tables.items():
        for i, a in enumerate(shapes.knots[f]):
            assert scores[X.columns[f], a] == shapes.curves[f][i]
            for j, b in enumerate(shapes.knots[g]):
                assert scores[f"{X.columns[f]} * {X.columns[g]}", (a, b)] == table[i, j]
