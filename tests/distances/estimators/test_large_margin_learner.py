"""LargeMarginLearner: what it learns from labels, promises and refuses."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import assert_absent
from learners import made
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import semimetric as sm
from semimetric import InputError, LargeMarginLearner, NotSupportedError, SemimetricClassifier, SemimetricWarning

RNG = np.random.default_rng(0)
X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return made(LargeMarginLearner, **FAST | changes)


@pytest.mark.slow
def test_it_beats_euclid_where_a_feature_is_noise():
    noisy = np.column_stack([RNG.normal(size=(200, 6)) * 5, np.repeat([0, 1], 100) + 0.2 * RNG.normal(size=200)])
    labels = np.repeat([0, 1], 100)
    euclid = cross_val_score(KNeighborsClassifier(3), noisy, labels, cv=4).mean()
    ours = cross_val_score(SemimetricClassifier(learned()), noisy, labels, cv=4).mean()
    assert ours > 0.93 > 0.8 > euclid


def test_a_circle_is_seen_by_a_periodic_feature_only():
    hour = RNG.uniform(0, 24, (300, 1))
    labels = (np.minimum(np.abs(hour[:, 0] - 0.5), 24 - np.abs(hour[:, 0] - 0.5)) < 4).astype(int)
    d = learned(periodic={0: 24.0}).fit(hour, labels).semimetric_
    assert d([23.9], [0.1]) < 0.2 * d([23.9], [12.0])
    flat = learned().fit(hour, labels).semimetric_
    assert flat([23.9], [0.1]) > d([23.9], [0.1])


def test_places_are_for_numbers_and_not_for_constraints():
    frame = pd.DataFrame({"kind": pd.Categorical(RNG.choice(list("abc"), 90)), "size": RNG.exponential(size=90)})
    labels = np.where((frame["kind"] == "b") ^ (frame["size"] > 1), "yes", "no")
    frame.loc[::9, "size"] = np.nan
    model = SemimetricClassifier(learned(missing="level", base="positions")).fit(frame, labels)
    assert model.score(frame, labels) > 0.85
    with pytest.raises(NotSupportedError, match="constraints= are in units"):
        learned(base="positions", tables="full", constraints=[sm.Monotone()]).fit(X, Y)
    with pytest.raises(InputError, match="base='ranks' is not known"):
        learned(base="ranks").fit(X, Y)


def test_frames_with_categories_and_gaps():
    frame = pd.DataFrame({"kind": pd.Categorical(RNG.choice(list("abc"), 120)), "size": RNG.random(120)})
    labels = np.where((frame["kind"] == "b") ^ (frame["size"] > 0.8), "yes", "no")
    frame.loc[::9, "size"] = np.nan
    model = SemimetricClassifier(learned(missing="level"), n_neighbors=3, weights="uniform").fit(frame, labels)
    assert model.score(frame, labels) > 0.85
    assert model.learner_.feature_importances_.shape == (2,)
    assert model.learner_.feature_importances_.sum() == pytest.approx(1)
    other = pd.DataFrame({"kind": ["b"], "size": [np.nan]})
    explained = model.explain_neighbors(other)
    assert repr(explained).count(" at ") == 3
    assert explained.item[0] == "b"
    assert np.isnan(explained.item[1])
    assert repr(explained).count("equal in every feature") == 3


def test_transform_is_the_distance_or_says_what_to_use():
    model = learned().fit(X, Y)
    at = model.transform(X)
    assert_allclose(np.abs(at[:30, None] - at[None, :30]).sum(axis=2), model.semimetric_.pairwise(X[:30]), atol=1e-9)
    assert model.semimetric_.axioms.name == "metric"


@pytest.mark.parametrize(
    ("changes", "has"),
    [
        ({}, True),
        ({"tables": "full"}, False),
        ({"missing": "level"}, True),
        ({"tables": "auto"}, False),
        ({"tables": "auto", "axioms": "metric"}, True),
        pytest.param({"tables": "auto", "directions": "auto"}, True, marks=pytest.mark.slow),  # as the default sum below
        ({"tables": "auto", "directions": "auto", "knots": [[0.0, 20.0]] * 2}, False),
        ({"tables": "auto", "directions": "auto", "base": "positions"}, False),
        ({"directions": sm.PartitionFeatures(n_trees=3)}, True),
        ({"tables": "auto", "axioms": "metric", "groups": "pairs"}, False),
    ],
)
def test_parameters_alone_say_whether_it_transforms(changes, has):
    model = learned(n_passes=1, n_knots=2, **changes)
    for fitted in (model, clone(model).fit(X[::3, :2], Y[::3])):
        assert hasattr(fitted, "transform") == has
        if not has:
            assert_absent(fitted, "transform", 'tables="warped"', "pairwise(X)")
            assert not hasattr(fitted, "fit_transform")


def test_more_than_two_categories_have_no_coordinates():
    frame = pd.DataFrame({"size": [0.0, 1.0, 2.0, 3.0], "kind": pd.Categorical(list("abab"))})
    model = learned(n_knots=2, n_targets=1).fit(frame, [0, 0, 1, 1])
    at = model.transform(frame)
    assert_allclose(np.abs(at[:, None] - at).sum(axis=2), model.semimetric_.pairwise(frame))
    assert model.get_feature_names_out().tolist() == ["size", "kind=a", "kind=b", "kind=(other)"]
    model.fit(pd.concat([frame.assign(kind=list("abca"))] * 3).astype({"kind": "category"}), [0, 0, 1, 1] * 3)
    assert_absent(model, "transform", "categorical", "pairwise(X)")


@pytest.fixture(scope="module")
def default_sum():
    return LargeMarginLearner(time_budget=10_000).fit(X, Y)


@pytest.mark.slow
def test_the_default_sum_transforms_to_scales_components_and_leaves(default_sum):
    model = default_sum
    assert hasattr(LargeMarginLearner(), "transform")
    other = X[::2] * np.linspace(0.5, 2, 13)  # partly outside the range
    at = model.transform(other)
    names = model.get_feature_names_out()
    assert at.shape == (len(other), len(names))
    assert {name.split()[0].rstrip("0123456789") for name in names} == {"x", "component", "tree"}
    assert_allclose(np.abs(at[:, None] - at).sum(axis=2), model.semimetric_.pairwise(other), rtol=1e-12, atol=1e-12)
    table = copy.copy(model).set_output(transform="pandas").transform(other)
    assert list(table.columns) == names.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_reaches_what_is_there_by_condition(library):
    given = pytest.importorskip(library).DataFrame({f"f{k}": X[:, k] for k in range(X.shape[1])})
    model = learned().set_output(transform=library).fit(given, Y)
    for table in (model.transform(given), model.fit_transform(given, Y)):
        assert type(table) is type(given)
        assert list(table.columns) == model.get_feature_names_out().tolist()


def test_metric_learn_s_names():
    model = learned(preprocessor=X).fit(X, Y)
    pairs = np.array([[0, 1], [0, 100]])
    assert_array_equal(model.pair_score(pairs), -model.pair_distance(pairs))
    assert model.get_metric()(X[0], X[1]) == pytest.approx(model.pair_distance(pairs)[0], rel=1e-14)


def test_weights_and_items_of_weight_zero():
    keep = np.arange(len(X)) % 3 > 0
    a = learned().fit(X, Y, sample_weight=keep.astype(float)).semimetric_
    b = learned().fit(X[keep], Y[keep]).semimetric_
    assert_allclose(a.weights, b.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:ties in the data")
def test_identical_points_few_members_and_binary_features_are_learned_from():
    binary = RNG.integers(0, 2, (150, 7)).astype(float)  # most distances are 0
    labels = binary[:, 0].astype(int)
    d = learned().fit(binary, labels).semimetric_
    assert np.isfinite(d.weights).all()
    assert d.contributions(np.ones(7), np.zeros(7))[:7].argmax() == 0
    rare = np.r_[Y, 9]
    with pytest.warns(SemimetricWarning, match="9: 1"):
        model = learned().fit(np.vstack([X, X[0]]), rare)
    assert len(model.classes_) == 4


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({}, (X, np.zeros(len(X), int)), "one class only"),
        ({}, (X[:9], np.arange(9)), "every class has one item"),
        ({}, (X, Y[:-1]), "177 class labels for 178"),
        ({}, (X, None), "requires y"),
        ({"mu": 0.0}, (X, Y), "mu"),
        ({"mu": 1.5}, (X, Y), "mu"),
        ({"n_targets": 0}, (X, Y), "n_targets"),
        ({"tables": "half"}, (X, Y), "tables"),
        ({"directions": "best"}, (X, Y), "best"),
        ({"n_knots": "many"}, (X, Y), "n_knots"),
        ({"loss": "squared"}, (X, Y), "hinge"),
        ({"n_jobs": 0}, (X, Y), "n_jobs=0: a number of threads"),
        ({}, (np.ones_like(X), Y), "constant"),
        ({}, (np.where(X > 0, np.nan, X), Y), "NaN"),
    ],
)
def test_what_cannot_be_is_refused(changes, data, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        with pytest.raises(ValueError, match=message):
            learned(**changes).fit(*data)


def test_it_clones_pickles_saves_and_stands_in_a_pipeline(tmp_path):
    model = learned().fit(X, Y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))
    model.semimetric_.save(tmp_path / "wine.smm")
    assert_array_equal(sm.load(tmp_path / "wine.smm").pairwise(X[:9]), model.semimetric_.pairwise(X[:9]))
    graph = sm.SemimetricNeighborsTransformer(learner=learned(), n_neighbors=3)
    pipeline = make_pipeline(graph, KNeighborsClassifier(3, metric="precomputed")).fit(X[::2], Y[::2])
    direct = SemimetricClassifier(learned(), n_neighbors=3, weights="uniform").fit(X[::2], Y[::2])
    assert_array_equal(pipeline.predict(X[1::2]), direct.predict(X[1::2]))


def test_the_transformer_wants_a_distance_or_a_learner():
    for chosen in ({}, {"semimetric": learned().fit(X, Y).semimetric_, "learner": learned()}):
        with pytest.raises(InputError, match="one of"):
            sm.SemimetricNeighborsTransformer(**chosen).fit(X, Y)


def test_a_refitted_transformer_forgets():
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    graph = sm.SemimetricNeighborsTransformer(learner=learned()).fit(frame, Y).fit(X, Y)
    assert not hasattr(graph, "feature_names_in_")
    graph.set_params(learner=None, semimetric=graph.learner_.semimetric_).fit(X)
    assert not hasattr(graph, "learner_")


def test_features_with_items_beyond_given_knots_are_clipped():
    knots = [np.quantile(X[:, 0], [0.2, 0.5, 0.8]), *(np.quantile(column, [0.0, 0.5, 1.0]) for column in X.T[1:])]
    with pytest.warns(SemimetricWarning, match=r"some lie beyond the knots \(x0: 7\d\)"):
        model = learned(knots=knots, n_passes=1).fit(X, Y)
    further = X[:1] + [[1e6] + [0.0] * (X.shape[1] - 1)]
    assert model.semimetric_.pairwise(X[:1], further)[0, 0] < 10


@pytest.mark.parametrize("kind", ["discriminant", "combined"])
def test_directions_of_a_fit_can_be_given_to_another(kind):
    first = learned(directions=kind, n_passes=1).fit(X[:, :3], Y)
    again = learned(directions=first.semimetric_.directions, n_passes=1).fit(X[:, :3], Y)
    assert again.solution_.objective == pytest.approx(first.solution_.objective, rel=1e-9)


def test_importances_find_what_tells():
    flowers, kinds = load_iris(return_X_y=True)
    noisy = np.column_stack([flowers, RNG.normal(size=(150, 2))])
    for directions in (None, "discriminant", "lda"):
        found = learned(directions=directions).fit(noisy, kinds).feature_importances_
        assert found.sum() == pytest.approx(1)
        assert found[2:4].min() > found[4:].max()


def test_repeated_items_are_weighted_ones():
    """In any order, and with strings for classes."""
    rng = np.random.default_rng(5)
    items, y, times = rng.random((30, 2)), np.array(list("abc") * 10), rng.integers(0, 4, 30)
    copies = rng.permutation(np.repeat(np.arange(30), times))
    one = learned().fit(items, y, sample_weight=times)
    many = learned().fit(items[copies], y[copies])
    assert_array_equal(many.semimetric_.weights, one.semimetric_.weights)
    again = learned().fit(items, y, sample_weight=0.25 * times)
    assert_allclose(again.transform(items), one.transform(items), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:feature x1 is constant", "ignore:ties in the data leave fewer knots")
def test_classes_of_one_place_each_are_told_apart():
    items, y = np.repeat([[0.0, 0.0], [1.0, 0.0]], 3, axis=0), [0, 0, 0, 1, 1, 1]
    model = learned(n_targets=1).fit(items, y)
    assert model.pair_distance(items[None, [0, 3]])[0] > 0.9


def test_labelled_items_may_be_named_too():
    frame = pd.DataFrame(X, index=[f"wine{k}" for k in range(len(X))], columns=load_wine().feature_names)
    rows = np.arange(0, len(X), 2)
    whole = learned().fit(X[rows], Y[rows])
    for names, preprocessor, table in ((rows, X, X), (frame.index[rows], frame, frame), (rows, lambda names: X[names], X)):
        model = learned(preprocessor=preprocessor).fit(names, Y[rows])
        assert_array_equal(model.transform(names), whole.transform(X[rows]))
        assert_array_equal(model.transform(table[:9]), whole.transform(X[:9]))


@pytest.mark.filterwarnings("error")
def test_columns_of_transform_have_the_names_of_features_and_directions():
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(13)])
    model = learned(directions="lda").set_output(transform="pandas")
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    table = model.fit(frame, Y).transform(frame)
    assert list(table.columns) == model.get_feature_names_out().tolist() == list(model.semimetric_.columns)
    assert table.columns[:13].tolist() == list(frame.columns)
    assert model.get_feature_names_out(frame.columns).tolist() == list(table.columns)
    for wrong in (frame.columns[:3], frame.columns[::-1]):
        with pytest.raises(InputError, match="input_features"):
            model.get_feature_names_out(wrong)
    assert not hasattr(learned(tables="full"), "get_feature_names_out")


@pytest.mark.slow
def test_a_time_budget_is_for_the_sum_and_shows_seconds(default_sum):
    model = default_sum
    assert all(c.seconds > 0 for c in model.choices_)
    assert "seconds" in repr(model.choices_).splitlines()[1]
    assert model.held_out_neighbors_
    for changes in ({"directions": None}, {"tables": "full"}, {"base": "positions"}):
        with pytest.raises(NotSupportedError, match="time_budget= is for the sum"):
            made(LargeMarginLearner, time_budget=5, **changes).fit(X, Y)
    with pytest.raises(InputError, match="time_budget=0: seconds"):
        LargeMarginLearner(time_budget=0).fit(X, Y)
    with pytest.raises(NotSupportedError, match="parts compare nothing"):
        learned(time_budget=5).recipe_for_parts()
