"""PairLearner, TripletLearner and QuadrupletLearner: what they learn, promise and refuse."""

import pickle
import warnings

import cases
import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV

from semimetric import NotSupportedError, PairLearner, QuadrupletLearner, SemimetricWarning, TripletLearner

RNG = np.random.default_rng(0)
ITEMS = RNG.random((80, 3))
INDEX = RNG.integers(0, 80, (600, 4))
FAST = {"n_knots": 4, "alpha": 1e-3, "directions": None}


def true(a, b, items=ITEMS):
    return cases.warped_sum(items[a], items[b])


PAIRS = INDEX[:, :2]
D = true(*PAIRS.T)
Y = np.where(D < np.median(D), 1, -1)
QUADRUPLETS = np.where((true(*INDEX[:, :2].T) < true(*INDEX[:, 2:].T))[:, None], INDEX, INDEX[:, [2, 3, 0, 1]])
TRIPLETS = INDEX[:, :3]
TRIPLETS = np.where((true(*TRIPLETS[:, :2].T) < true(*TRIPLETS[:, [0, 2]].T))[:, None], TRIPLETS, TRIPLETS[:, [0, 2, 1]])
LEARNERS = {
    "pairs": (PairLearner, PAIRS, (Y,)),
    "triplets": (TripletLearner, TRIPLETS, ()),
    "quadruplets": (QuadrupletLearner, QUADRUPLETS, ()),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def learned(name, **changes):
    kind, tuples, y = LEARNERS[name]
    return kind(**FAST | {"preprocessor": ITEMS} | changes).fit(tuples, *y), tuples, y


@every_learner
@pytest.mark.parametrize(
    "changes", [{}, {"tables": "full"}, {"loss": "hinge"}, {"directions": "discriminant"}, {"outside": "clip"}], ids=str
)
def test_it_orders_what_it_saw_and_claims_its_axioms(name, changes):
    model, tuples, y = learned(name, **changes)
    assert model.score(tuples, *y) > 0.9
    assert set(np.unique(model.predict(tuples))) <= {-1, 1}
    assert model.semimetric_.axioms.name == "metric" or changes.get("tables") == "full"
    assert model.pair_score(PAIRS).tolist() == (-model.pair_distance(PAIRS)).tolist()
    if changes.get("tables") == "full":
        with pytest.raises(NotSupportedError, match="warped"):
            model.transform(ITEMS)
    else:
        at = model.transform(ITEMS)
        np.testing.assert_allclose(np.abs(at[PAIRS[:, 0]] - at[PAIRS[:, 1]]).sum(axis=1), model.pair_distance(PAIRS), atol=1e-9)


@every_learner
def test_points_and_row_numbers_are_the_same(name):
    model, tuples, y = learned(name, knots="uniform")  # quantiles count an item as often as it is given
    points = clone(model).set_params(preprocessor=None).fit(ITEMS[tuples], *y)
    np.testing.assert_allclose(points.decision_function(ITEMS[tuples]), model.decision_function(tuples), rtol=1e-5, atol=1e-7)


@every_learner
def test_weights_count_tuples_and_zero_is_absent(name):
    kind, tuples, y = LEARNERS[name]
    weight = np.random.default_rng(1).integers(0, 3, 600)
    rows = np.repeat(np.arange(600), weight)
    one = kind(**FAST, preprocessor=ITEMS).fit(tuples, *y, sample_weight=weight)
    other = kind(**FAST, preprocessor=ITEMS).fit(tuples[rows], *(v[rows] for v in y))
    np.testing.assert_allclose(one.semimetric_.pairwise(ITEMS), other.semimetric_.pairwise(ITEMS), rtol=1e-3, atol=1e-4)


@every_learner
def test_decisions_are_differences_of_distances(name):
    model, tuples, _ = learned(name)
    if name == "pairs":
        want = -model.pair_distance(tuples)
    else:
        far = tuples[:, [0, 2]] if name == "triplets" else tuples[:, 2:]
        want = model.pair_distance(far) - model.pair_distance(tuples[:, :2])
    np.testing.assert_allclose(model.decision_function(tuples), want, atol=1e-12)


@every_learner
def test_auto_says_what_it_compared(name):
    kind, tuples, y = LEARNERS[name]
    model = kind(preprocessor=ITEMS).fit(tuples, *y)
    assert model.score(tuples, *y) > 0.9
    assert "held-out error" in repr(model.choices_)
    assert repr(model.choices_).count("*") == 2
    assert {c.directions for c in model.choices_} == {None, "discriminant"}
    assert model.recipe_.n_knots == model.choices_.chosen.n_knots
    again = kind(preprocessor=ITEMS).fit(tuples, *y)
    assert (again.decision_function(tuples) == model.decision_function(tuples)).all()


@every_learner
def test_clone_pickle_and_get_params(name):
    model, tuples, _ = learned(name)
    assert str(clone(model).get_params()) == str(model.get_params())
    assert not hasattr(clone(model), "semimetric_")
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(tuples) == model.predict(tuples)).all()
    with pytest.raises(Exception, match="not fitted"):
        clone(model).predict(tuples)


@every_learner
def test_grid_search(name):
    kind, tuples, y = LEARNERS[name]
    model = kind(**FAST, preprocessor=ITEMS)
    search = GridSearchCV(model, {"alpha": [1e-4, 1e-1], "n_knots": [2, 4]}, cv=3).fit(tuples, *y)
    assert search.best_score_ > 0.9


@every_learner
def test_frames_name_the_features(name):
    kind, tuples, y = LEARNERS[name]
    model = kind(**FAST, preprocessor=pd.DataFrame(ITEMS, columns=list("abc"))).fit(tuples, *y)
    assert model.semimetric_.terms[:3] == ("a", "b", "c")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@every_learner
def test_contradictions_are_outvoted(name):
    kind, tuples, y = LEARNERS[name]
    wrong = np.arange(600) % 10 == 0
    turn = {"triplets": [0, 2, 1], "quadruplets": [2, 3, 0, 1]}
    if name == "pairs":
        noisy, labels = tuples, (np.where(wrong, -Y, Y),)
    else:
        noisy, labels = np.where(wrong[:, None], tuples[:, turn[name]], tuples), ()
    assert kind(**FAST, preprocessor=ITEMS).fit(noisy, *labels).score(tuples, *y) > 0.9


def test_equal_points_judged_both_ways_and_repeated_items_are_borne():
    pairs = np.vstack([PAIRS, [[3, 3], [4, 4], [5, 6], [5, 6]]])
    y = np.append(Y, [-1, 1, 1, -1])
    model = PairLearner(**FAST, preprocessor=ITEMS).fit(pairs, y)
    assert model.score(PAIRS, Y) > 0.9
    assert model.pair_distance([[3, 3]])[0] == 0
    triplets = np.vstack([TRIPLETS, [[1, 2, 2], [1, 1, 1]]])
    assert TripletLearner(**FAST, preprocessor=ITEMS).fit(triplets).score(TRIPLETS) > 0.9


def test_a_constant_feature_says_nothing():
    items = np.column_stack([ITEMS, np.full(80, 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        model = TripletLearner(n_knots=4, alpha=1e-3, preprocessor=items).fit(TRIPLETS)
    assert model.score(TRIPLETS) > 0.9


def test_quadruplets_may_say_the_opposite():
    flip = np.arange(600) % 3 == 0
    turned = np.where(flip[:, None], QUADRUPLETS[:, [2, 3, 0, 1]], QUADRUPLETS)
    y = np.where(flip, -1, 1)
    one = QuadrupletLearner(**FAST, preprocessor=ITEMS).fit(turned, y)
    other = QuadrupletLearner(**FAST, preprocessor=ITEMS).fit(QUADRUPLETS)
    np.testing.assert_allclose(one.decision_function(turned), y * other.decision_function(QUADRUPLETS), atol=1e-12)
    assert one.score(turned, y) == other.score(QUADRUPLETS)
    assert one.score(turned) < 0.8


def test_the_threshold_parts_the_pairs():
    model, pairs, _ = learned("pairs")
    assert (model.predict(pairs) == Y).mean() > 0.93
    assert (model.predict(pairs) == np.where(model.pair_distance(pairs) <= model.threshold_, 1, -1)).all()
    assert (model.set_threshold(0.0).predict(pairs) == np.where(model.pair_distance(pairs) <= 0, 1, -1)).all()
    assert model.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize(("strategy", "min_rate"), [("accuracy", None), ("f_beta", None), ("max_tpr", 0.9), ("max_tnr", 0.9)])
def test_calibrated_thresholds_are_the_best_of_all(strategy, min_rate):
    model, pairs, _ = learned("pairs", n_knots=2, alpha=1.0)
    noisy = np.where(np.random.default_rng(2).random(600) < 0.2, -Y, Y)
    d = model.calibrate_threshold(pairs, noisy, strategy, min_rate).pair_distance(pairs)

    def merit(t):
        said = np.where(d <= t, 1, -1)
        tpr, tnr = (said[noisy > 0] > 0).mean(), (said[noisy < 0] < 0).mean()
        return {
            "accuracy": accuracy_score(noisy, said), "f_beta": f1_score(noisy, said, zero_division=0),
            "max_tpr": tpr if tnr >= 0.9 else -1, "max_tnr": tnr if tpr >= 0.9 else -1,
        }[strategy]  # fmt: skip

    assert merit(model.threshold_) == pytest.approx(max(merit(t) for t in np.append(d, d.min() - 1)))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_rise_as_the_distance_falls(method):
    model, pairs, _ = learned("pairs")
    assert_refused(lambda: model.predict_proba(pairs), "no probabilities", "calibrate_probabilities", error=NotSupportedError)
    held = np.random.default_rng(5).integers(0, 80, (500, 2))
    y = np.where(true(*held.T) + np.random.default_rng(6).normal(0, 0.2, 500) < np.median(D), 1, -1)
    p = model.calibrate_probabilities(held, y, method).predict_proba(pairs)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (np.diff(p[np.argsort(model.pair_distance(pairs)), 1]) <= 1e-12).all()
    assert abs(model.predict_proba(held)[:, 1].mean() - (y > 0).mean()) < 0.02
    model.fit(PAIRS, Y)
    assert not hasattr(model, "calibrator_")


NAN = np.where(np.arange(3) == 1, np.nan, 0.5)[None, None].repeat(2, axis=1)
BAD = {
    "one class": (lambda: PairLearner().fit(ITEMS[PAIRS], np.ones(600)), "one class only, +1", "are required", "add some"),
    "labels": (lambda: PairLearner().fit(ITEMS[PAIRS], np.arange(600)), "y has the values 0, 1", "only +1", "recode"),
    "no labels": (lambda: PairLearner().fit(ITEMS[PAIRS], None), "requires y", "+1 or -1"),
    "length": (lambda: PairLearner().fit(ITEMS[PAIRS], [1, -1]), "y has shape (2,)", "600 pairs", "one label a pair"),
    "shape": (lambda: TripletLearner().fit(ITEMS[PAIRS]), "triplets have shape (600, 2, 3)", "(n_triplets, 3, n_features)"),
    "index": (lambda: TripletLearner(preprocessor=ITEMS).fit(PAIRS), "triplets have shape (600, 2)", "(n_triplets, 3)"),
    "range": (lambda: QuadrupletLearner(preprocessor=ITEMS).fit([[0, 1, 2, 99]]), "quadruplet 0 is (0, 1, 2, 99)", "80 items"),
    "float index": (lambda: TripletLearner(preprocessor=ITEMS).fit([[0.0, 1, 2]]), "dtype float64", "must be integers", "drop"),
    "empty": (lambda: TripletLearner().fit(np.empty((0, 3, 2))), "there are 0 triplets", "at least one"),
    "constant": (lambda: TripletLearner().fit(np.ones((5, 3, 2))), "all 2 features are constant", "required", "give other"),
    "same": (lambda: TripletLearner(**FAST).fit(ITEMS[INDEX[:, [0, 0, 0]]]), "600 tuples", "compares equal points", "differ"),
    "loss": (lambda: TripletLearner(loss="squared").fit(ITEMS[TRIPLETS]), "loss='squared'", "not known", "'squared_hinge'"),
    "axioms": (lambda: TripletLearner(axioms=None).fit(ITEMS[TRIPLETS]), "axioms=None", "not known", "'semimetric'"),
    "few": (lambda: TripletLearner().fit(ITEMS[TRIPLETS[:2]]), "too few to hold some out", "give more", "set n_knots="),
    "strategy": (lambda: learned("pairs")[0].calibrate_threshold(PAIRS, Y, "best"), "strategy='best'", "not known", "use one"),
    "rate": (lambda: learned("pairs")[0].calibrate_threshold(PAIRS, Y, "max_tpr"), "min_rate=None", "needs a number", "0 to 1"),
    "weights": (lambda: TripletLearner(**FAST).fit(ITEMS[TRIPLETS], sample_weight=-np.ones(600)), "sample_weight", "non-neg"),
    "knots": (lambda: TripletLearner(n_knots="many").fit(ITEMS[TRIPLETS]), "n_knots='many'", "must be a number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    assert_refused(*BAD[name])


def test_missing_values_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        PairLearner().fit(np.vstack([ITEMS[PAIRS], NAN]), np.append(Y, 1))


@pytest.mark.parametrize("shape", [(600, 3), (600, 5)], ids=str)
def test_what_is_turned_round_must_be_quadruplets(shape):
    """y = -1 exchanges the pairs of a quadruplet; tuples of another length are refused as they are without y."""
    wrong, y = np.resize(INDEX, shape), np.where(np.arange(600) % 2, 1, -1)
    model = QuadrupletLearner(**FAST, preprocessor=ITEMS)
    for said in ((), (y,)):
        assert_refused(lambda s=said: model.fit(wrong, *s), str(shape), "4", "", ValueError)


def test_the_opposite_of_quadruplets_is_learned_as_their_pairs_exchanged():
    y = np.where(np.arange(600) % 3, 1, -1)
    turned = np.where((y < 0)[:, None], QUADRUPLETS[:, [2, 3, 0, 1]], QUADRUPLETS)
    want = QuadrupletLearner(**FAST, preprocessor=ITEMS).fit(QUADRUPLETS)
    given = QuadrupletLearner(**FAST, preprocessor=ITEMS).fit(turned, y)
    np.testing.assert_array_equal(given.semimetric_.weights, want.semimetric_.weights)
    assert given.score(turned, y) == want.score(QUADRUPLETS)
