"""Votes under a learned distance: scikit-learn's contract, slow twins, explanations."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from semimetric import (
    Columns,
    DistanceRegressor,
    InputError,
    KernelRidgeLearner,
    LargeMarginLearner,
    SemimetricClassifier,
    SemimetricRegressor,
    SemimetricWarning,
)
from semimetric._foundation import progress
from semimetric.distances.search.votes import HeldOutNeighbors, choose_votes

RNG = np.random.default_rng(0)
X, Y = load_iris(return_X_y=True)
X = X + 1e-6 * RNG.normal(size=X.shape)  # no ties
QUICK = LargeMarginLearner(n_knots=4, alpha=1e-2, directions=None, tables="warped")
OF_VALUES = DistanceRegressor(n_knots=3, alpha=1e-2)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_are_those_of_the_nearest(weights):
    model = SemimetricClassifier(QUICK, n_neighbors=5, weights=weights).fit(X[::2], Y[::2])
    d = model.semimetric_.pairwise(X[1::2], X[::2])
    distances, indices = model.kneighbors(X[1::2])
    assert_array_equal(indices, np.argsort(d, axis=1, kind="stable")[:, :5])
    assert_allclose(distances, np.sort(d, axis=1)[:, :5])
    for row, (i, near) in enumerate(zip(indices, distances, strict=True)):
        votes = np.zeros(3)
        for j, at in zip(i, near, strict=True):
            votes[Y[::2][j]] += 1.0 if weights == "uniform" else 1.0 / at
        assert_allclose(model.predict_proba(X[1::2])[row], votes / votes.sum())
    assert_array_equal(model.predict(X[1::2]), model.predict_proba(X[1::2]).argmax(axis=1))


def test_parameters_of_the_learner_are_searched():
    grid = [{"learner__alpha": [1e-3], "n_neighbors": [1]}, {"learner__alpha": [1e-1], "n_neighbors": [5]}]
    search = GridSearchCV(SemimetricClassifier(QUICK, weights="uniform"), grid, cv=2).fit(X, Y)
    assert search.best_score_ > 0.9


def test_values_are_regressed_under_a_distance_of_values():
    items = RNG.random((300, 3))
    values = np.sin(6 * items[:, 0]) + 0.02 * RNG.normal(size=300)  # two features say nothing
    model = SemimetricRegressor(OF_VALUES.set_params(n_knots=8), n_pairs=3000).fit(items[:200], values[:200])
    assert model.score(items[200:], values[200:]) > 0.9
    assert f"row 0 (value {values[0]:.4g}) at 0" in repr(model.explain_neighbors(items[0]))
    assert model.semimetric_.contributions(np.zeros(3), np.ones(3)).shape == (4,)


def test_an_explanation_adds_up_to_the_distances():
    model = SemimetricClassifier(QUICK, n_neighbors=3, weights="uniform").fit(X, Y)
    found = model.explain_neighbors(X[7], n_neighbors=4)
    assert found.indices[0] == 7
    assert_allclose(found.contributions.sum(axis=1), found.distances, atol=1e-12)
    assert_array_equal(found.targets, Y[found.indices])
    assert repr(found).count(" at ") == 4
    assert f"row 7 (class {Y[7]}) at 0" in repr(found)
    names, values = zip(*found.largest(2), strict=True)
    assert set(names) <= set(found.terms)
    assert list(values) == sorted(values, reverse=True)
    with pytest.raises(InputError, match="one is explained"):
        model.explain_neighbors(X[:2])


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (SemimetricClassifier(QUICK, n_neighbors=0), Y, "n_neighbors"),
        (SemimetricClassifier(QUICK, weights="even"), Y, "weights"),
        (SemimetricRegressor(OF_VALUES), np.ones(150), "the same"),
        (SemimetricRegressor(OF_VALUES), Y[:5], "5 values for 150"),
        (SemimetricRegressor(OF_VALUES, n_pairs=0), Y, "n_pairs"),
    ],
)
def test_what_cannot_be_is_refused(model, y, message):
    with pytest.raises(InputError, match=message):
        model.fit(X, y)


def test_a_series_is_read_by_the_names_of_its_entries():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = SemimetricClassifier(QUICK).fit(frame, Y)
    expected = model.explain_neighbors(frame.iloc[[5]]).indices
    assert_array_equal(model.explain_neighbors(frame.iloc[5]).indices, expected)
    assert_array_equal(model.explain_neighbors(frame[list("dbca")].iloc[5]).indices, expected)
    with pytest.raises(InputError, match="the features are a, b, c, d"):
        model.explain_neighbors(frame.rename(columns={"a": "e"}).iloc[5])
    with pytest.raises(InputError, match="no vector"):
        model.explain_neighbors(0.5)


def test_classes_of_several_types_are_refused():
    with pytest.raises(ValueError, match="several types"):
        QUICK.fit(X, np.array(["a", 1] * 75, dtype=object))
    with pytest.raises(ValueError, match=r"y\[1\] is missing"):
        QUICK.fit(X, np.array(["a", None] * 75, dtype=object))


@pytest.mark.parametrize(
    ("kind", "learner"), [(SemimetricClassifier, KernelRidgeLearner), (SemimetricRegressor, KernelRidgeLearner)]
)
def test_parameters_of_the_default_learner_can_be_set(kind, learner):
    model = kind().set_params(learner__effort="fast", n_neighbors=4)
    assert isinstance(model.learner, learner)
    assert (model.learner.effort, model.n_neighbors, kind().learner) == ("fast", 4, None)
    assert clone(model).get_params()["learner__effort"] == "fast"
    assert kind(QUICK).set_params(learner=None, learner__effort="fast").learner.effort == "fast"
    assert kind().set_params(n_neighbors=4).learner is None
    model = kind()
    with pytest.raises(ValueError, match="Invalid parameter 'alpa'"):
        model.set_params(learner__alpa=0.5)
    assert model.learner is None


@pytest.mark.parametrize("kind", [SemimetricClassifier, SemimetricRegressor])
def test_parameters_of_the_default_learner_are_told(kind):
    model = kind()
    told = model.get_params()
    own = {f"columns__{name}" for name in Columns().get_params()}
    learners = {f"learner__{name}" for name in kind()._default_learner().get_params()}
    assert {name for name in told if "__" in name} == learners | own
    assert told["learner"] is None
    assert not any("__" in name for name in model.get_params(deep=False))
    assert clone(model).set_params(**told).learner is None  # there and back is nothing new
    assert model.set_params(**told | {"learner__effort": "fast"}).get_params()["learner__effort"] == "fast"
    assert set(kind(QUICK).get_params()) - set(told) == {f"learner__{name}" for name in QUICK.get_params()} - set(told)


def test_parameters_of_the_default_learner_are_searched():
    given = {f"learner__{name}": [value] for name, value in QUICK.get_params().items() if name != "alpha"}
    model = SemimetricClassifier(n_neighbors=3, weights="uniform")
    search = GridSearchCV(model, {"learner__alpha": [1e-3, 1e-1], **given}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.9


def test_threads_are_those_of_a_learner_that_says_none():
    assert [SemimetricClassifier(n_jobs=n)._own_learner().n_jobs for n in (None, 2)] == [None, 2]
    assert SemimetricClassifier(LargeMarginLearner(n_jobs=1), n_jobs=2)._own_learner().n_jobs == 1
    assert "n_jobs" not in SemimetricRegressor(PCA(), n_jobs=2)._own_learner().get_params()  # nor is it given any


def test_effort_is_that_of_the_learner():
    for model in (SemimetricClassifier(effort="fast"), SemimetricRegressor(OF_VALUES, effort="fast")):
        assert model._own_learner().effort == "fast"
    assert SemimetricClassifier(LargeMarginLearner(effort="thorough"))._own_learner().effort == "thorough"
    with pytest.raises(InputError, match="PCA has none; leave it out"):
        SemimetricClassifier(PCA(), effort="fast").fit(X, Y)
    with pytest.raises(InputError, match="effort"):
        SemimetricClassifier(effort="quick").fit(X, Y)


def test_the_index_of_a_shuffled_frame_plays_no_part(rng):
    X = rng.random((60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"], index=rng.permutation(60))
    model = SemimetricRegressor(DistanceRegressor(n_knots=3, alpha=1e-3), n_pairs=200)
    assert_array_equal(model.fit(frame, X[:, 0]).predict(frame), model.fit(X, X[:, 0]).predict(X))


@pytest.mark.filterwarnings("error")
def test_neighbours_have_the_labels_of_the_frame_and_both_values():
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"F{k}" for k in range(150)])
    model = SemimetricClassifier(QUICK).fit(frame, Y)
    found = model.explain_neighbors(frame.iloc[7])
    assert found.label == found.labels[0] == "F7"
    assert found.terms == tuple("abcd")
    assert_array_equal(found.item, frame.iloc[7])
    assert_array_equal(found.values, frame.loc[found.labels])
    assert "F7 (class 0) at 0, " in repr(found)
    terms = model.explain_neighbors(frame.iloc[[7]], by="terms")
    assert terms.terms == model.semimetric_.terms
    assert_allclose(terms.distances, found.distances)
    assert model.fit(X, Y).explain_neighbors(X[3]).labels[0] == 3  # another fit has labels of its own
    with pytest.raises(InputError, match="by="):
        model.explain_neighbors(X[3], by="columns")


def test_directions_are_told_in_features():
    model = SemimetricClassifier(clone(QUICK).set_params(directions="lda")).fit(X, Y)
    assert len(model.semimetric_.terms) > 5
    found = model.explain_neighbors(X[60] + 0.1)
    assert found.terms == model.semimetric_.feature_names
    assert_allclose(found.contributions.sum(axis=1), found.distances, atol=1e-12)


def coinciding():
    """Two items apart, and a hundred more that coincide, a quarter of them of the second class."""
    items = np.r_[np.zeros((100, 2)), RNG.random((60, 2)) + 1.0]
    return items, np.r_[np.arange(100) % 4 == 0, RNG.random(60) < 0.5].astype(int)


@pytest.mark.parametrize("n_neighbors", [1, 3, 7])
@pytest.mark.parametrize("algorithm", ["exact", "brute"])
def test_an_item_that_coincides_with_a_hundred_others_has_all_of_them_vote(n_neighbors, algorithm):
    items, y = coinciding()
    model = SemimetricClassifier(QUICK, n_neighbors=n_neighbors, weights="uniform", algorithm=algorithm).fit(items, y)
    assert_allclose(model.predict_proba(items[:1]), [[0.75, 0.25]])
    assert_allclose(model.predict_proba(items[[0, 120, 0]])[[0, 2]], [[0.75, 0.25]] * 2)


def test_votes_are_chosen_and_said():
    model = SemimetricClassifier(QUICK).fit(X[::2], Y[::2])
    assert model.n_neighbors_ == model.vote_rule_.n_neighbors
    assert model.weights_ in ("uniform", "distance", "kernel")
    assert str(model.vote_rule_).startswith("votes of the")
    p = model.predict_proba(X[1::2])
    assert_allclose(p.sum(axis=1), 1)
    assert p.min() > 0
    assert model.score(X[1::2], Y[1::2]) > 0.9
    assert SemimetricClassifier(QUICK, n_neighbors=7).fit(X, Y).n_neighbors_ == 7
    assert SemimetricClassifier(QUICK, weights="kernel").fit(X, Y).weights_ == "kernel"


def test_chosen_votes_have_a_lower_log_loss_than_three():
    noisy = np.where(RNG.random(150) < 0.2, RNG.integers(0, 3, 150), Y)
    logs = []
    for votes in ({}, {"n_neighbors": 3, "weights": "uniform"}):
        model = SemimetricClassifier(QUICK, **votes).fit(X[::2], noisy[::2])
        own = model.predict_proba(X[1::2])[np.arange(75), noisy[1::2]]
        logs.append(-np.log(np.maximum(own, 1e-6)).mean())
    assert logs[0] < logs[1]


class Keeping(LargeMarginLearner):
    """A learner that keeps neighbours of items held out, of which only the nearest says anything."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        rng, labels = np.random.default_rng(0), np.arange(90) % 3
        near = np.c_[labels, rng.integers(0, 3, (90, 20))]
        distances = np.cumsum(np.ones((90, 21)), axis=1)
        self.held_out_neighbors_ = [HeldOutNeighbors(distances, near, labels, np.ones(90), np.ones(3) / 3)]
        return self


def test_neighbours_that_the_learner_held_out_choose_the_votes():
    model = SemimetricClassifier(Keeping(**QUICK.get_params(deep=False))).fit(X, Y)
    assert model.vote_rule_ == choose_votes(model.learner_.held_out_neighbors_)[0]
    assert model.vote_rule_ != SemimetricClassifier(QUICK).fit(X, Y).vote_rule_


def test_identical_items_never_judge_one_another():
    rng = np.random.default_rng(1)
    items = np.repeat(rng.random((40, 2)), 3, axis=0)
    y = np.repeat(rng.integers(0, 2, 40), 3)  # classes say nothing of other items
    model = SemimetricClassifier(QUICK).fit(items, y)
    assert model.predict_proba(rng.random((50, 2))).max() < 0.95


def test_an_explanation_shows_the_votes():
    model = SemimetricClassifier(QUICK, class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, Y)
    x = X[60] + 0.05
    found = model.explain_neighbors(x, n_neighbors=150)
    by_class = np.bincount(found.targets, weights=found.votes, minlength=3)
    rule, prior = model.vote_rule_, np.array([1.0, 2.0, 0.5]) / 3.5
    total = 1 - found.votes.sum()  # what the smoothing has
    assert_allclose(by_class + total * prior, model.predict_proba(x[None])[0], rtol=1e-9)
    assert rule.smoothing > 0
    assert "% of the votes" in repr(found)
    frame = found.to_frame()
    assert_allclose(frame.groupby("neighbor")["vote"].first()[found.indices], found.votes)
    plain = SemimetricClassifier(QUICK, n_neighbors=4, weights="uniform").fit(X, Y)
    assert_allclose(plain.explain_neighbors(x).votes, 0.25)


@pytest.mark.slow
def test_balanced_classes_count_alike():
    rng = np.random.default_rng(0)
    items = np.r_[rng.normal(size=(180, 2)), rng.normal(1.2, 1.0, (20, 2))]
    y = np.r_[np.zeros(180, int), np.ones(20, int)]
    model = SemimetricClassifier(QUICK, class_weight="balanced").fit(items, y)
    plain = SemimetricClassifier(QUICK).fit(items, y)
    queries = rng.normal(1.2, 1.0, (200, 2))
    assert np.mean(model.predict(queries) == 1) > np.mean(plain.predict(queries) == 1) + 0.2
    same = SemimetricClassifier(QUICK, class_weight={0: 200 / 360, 1: 5.0}).fit(items, y)
    assert_allclose(same.predict_proba(queries), model.predict_proba(queries))


@pytest.mark.parametrize(
    ("class_weight", "message"), [("even", "balanced"), ({7: 1.0}, "names 7"), ({0: -1.0}, "> 0"), (3, "balanced")]
)
def test_unknown_class_weights_are_refused(class_weight, message):
    with pytest.raises(InputError, match=message):
        SemimetricClassifier(QUICK, class_weight=class_weight).fit(X, Y)


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_classes_of_one_and_two_items_have_votes():
    items = np.r_[RNG.random((30, 2)), RNG.random((2, 2)) + 3, RNG.random((1, 2)) + 6]
    y = np.r_[np.arange(30) % 2, 2, 2, 3]
    model = SemimetricClassifier(QUICK).fit(items, y)
    assert model.predict_proba(items).shape == (33, 4)
    few = SemimetricClassifier(QUICK, weights="kernel").fit(items[[0, 1, 2, 3, 30, 31]], y[[0, 1, 2, 3, 30, 31]])
    assert few.weights_ == "kernel"


@pytest.mark.slow
@pytest.mark.parametrize("random_state", [None, 3])
def test_a_seed_makes_a_fit_the_same_again(random_state):
    for model in (
        SemimetricClassifier(QUICK, random_state=random_state),
        SemimetricRegressor(weights="kernel", random_state=random_state),
    ):
        one, two = (clone(model).fit(X, Y) for _ in range(2))
        assert one.vote_rule_ == two.vote_rule_
        assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.slow
def test_the_learner_has_nine_tenths_of_a_time_budget():
    model = SemimetricClassifier(predictor="neighbors", time_budget=10_000).fit(X, Y)
    assert model.learner_.time_budget == 9_000
    assert model.score(X, Y) > 0.9
    with pytest.raises(InputError, match="time_budget= is for the learner, and Told has none"):
        SemimetricClassifier(Told(), time_budget=5).fit(X, Y)
    with pytest.raises(InputError, match="time_budget= is for the learner, and KernelRidgeLearner has none"):
        SemimetricClassifier(predictor="kernel_ridge", time_budget=5).fit(X, Y)
    with pytest.raises(InputError, match="time_budget='5': seconds"):
        SemimetricClassifier(time_budget="5").fit(X, Y)


@pytest.mark.slow
def test_components_and_forest_have_the_time_that_the_machine_has_left(monkeypatch):
    monkeypatch.setattr(SemimetricClassifier, "_scales_suffice", lambda model, seed: False)
    model = SemimetricClassifier(time_budget=1_000).fit(X, Y)
    assert 800 < model.learner_.time_budget < 900
    assert not hasattr(model, "machine_")
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize(("took", "said"), [((6, 0), "not compared"), ((2, 5), "better on items held out, are not learned")])
def test_a_stage_is_begun_only_if_as_much_time_is_left_as_the_last_one_took(took, said, monkeypatch):
    at, fit_machine, begun = [0.0], SemimetricClassifier._fit_machine, []
    monkeypatch.setattr(progress, "now", lambda: at[0])

    def fitted(model, *given):
        found = fit_machine(model, *given)
        at[0] += took[0]
        return found

    def compared(model, seed):
        begun.append(seed)
        model.choices_, at[0] = (), at[0] + took[1]
        return False

    monkeypatch.setattr(SemimetricClassifier, "_fit_machine", fitted)
    monkeypatch.setattr(SemimetricClassifier, "_scales_suffice", compared)
    with pytest.warns(SemimetricWarning, match=said):
        model = SemimetricClassifier(time_budget=10).fit(X, Y)
    assert hasattr(model, "machine_")
    assert not hasattr(model, "choices_")
    assert len(begun) == bool(took[1])
    assert model.score(X, Y) > 0.9


class Told(BaseEstimator):
    """A learner without a time budget."""

    def fit(self, X, y):
        raise AssertionError("this is refused before")


def test_more_neighbors_than_items_are_refused():
    model = SemimetricClassifier(QUICK, n_neighbors=3, weights="uniform").fit(X[40:60], Y[40:60])
    with pytest.raises(InputError, match="21"):
        model.kneighbors(X[:1], n_neighbors=21)
    assert model.kneighbors(X[:1], n_neighbors=20)[1].shape == (1, 20)
