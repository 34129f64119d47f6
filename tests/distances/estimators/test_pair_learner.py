"""PairLearner: its threshold, its probabilities, and what it refuses."""

import numpy as np
import pytest
from cases import assert_absent, assert_refused
from comparisons import FAST, ITEMS, PAIRS, D, Y, learned, true
from learners import made
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from semimetric import PairLearner


def test_equal_points_judged_both_ways_are_borne():
    pairs = np.vstack([PAIRS, [[3, 3], [4, 4], [5, 6], [5, 6]]])
    y = np.append(Y, [-1, 1, 1, -1])
    model = made(PairLearner, **FAST, preprocessor=ITEMS).fit(pairs, y)
    assert model.score(PAIRS, Y) > 0.9
    assert model.pair_distance([[3, 3]])[0] == 0


def test_the_threshold_parts_the_pairs():
    model, pairs, _ = learned("pairs")
    assert (model.predict(pairs) == Y).mean() > 0.93
    assert (model.predict(pairs) == np.where(model.pair_distance(pairs) <= model.threshold_, 1, -1)).all()
    assert (model.set_threshold(0.0).predict(pairs) == np.where(model.pair_distance(pairs) <= 0, 1, -1)).all()
    assert model.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize(("strategy", "min_rate"), [("accuracy", None), ("f_beta", None), ("max_tpr", 0.9), ("max_tnr", 0.9)])
@pytest.mark.slow
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


@pytest.mark.parametrize(("n_similar", "strategy", "arguments", "expected"), [
    (3, "accuracy", {}, -1), (3, "max_tpr", {"min_rate": 0.0}, 1), (3, "max_tnr", {"min_rate": 0.0}, -1), (4, "f_beta", {}, 1),
    (4, "accuracy", {}, 1), (4, "max_tpr", {"min_rate": 0.0}, 1), (4, "max_tnr", {"min_rate": 0.0}, -1),
])  # fmt: skip
def test_where_the_order_is_reversed_all_pairs_are_accepted_or_none(n_similar, strategy, arguments, expected):
    """As in metric-learn: what is judged similar is far, so that no threshold between the pairs is better than all or none."""
    model, pairs, _ = learned("pairs")
    far_first = pairs[np.argsort(-model.pair_distance(pairs))][np.linspace(0, len(pairs) - 1, 7).astype(int)]
    reversed_y = np.where(np.arange(7) < n_similar, 1, -1)
    assert (model.calibrate_threshold(far_first, reversed_y, strategy, **arguments).predict(far_first) == expected).all()


def test_similar_is_where_the_decision_function_is_positive():
    """Also right at the threshold, where calibration puts it: on the distance of a pair."""
    model, pairs, _ = learned("pairs")
    model.calibrate_threshold(pairs, Y)
    distances, score = model.pair_distance(pairs), model.decision_function(pairs)
    assert (distances == model.threshold_).any()
    np.testing.assert_array_equal(score > 0, distances <= model.threshold_)
    np.testing.assert_array_equal(model.classes_[(score > 0).astype(int)], model.predict(pairs))
    np.testing.assert_allclose(score, model.threshold_ - distances, atol=1e-12)
    for threshold in (-1.0, 0.0, 1e-300, 1e300):
        assert ((model.set_threshold(threshold).decision_function(pairs) > 0) == (distances <= threshold)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "tuner",
    [TunedThresholdClassifierCV, FixedThresholdClassifier, CalibratedClassifierCV],
    ids=["tuned threshold", "fixed threshold", "calibrated"],
)
@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_scikit_learns_tuners_of_thresholds_take_it(tuner):
    model, pairs, _ = learned("pairs", n_knots=2, alpha=1.0)
    tuned = tuner(clone(model)).fit(pairs, Y)
    assert (tuned.predict(pairs) == Y).mean() > 0.8


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_rise_as_the_distance_falls(method):
    model, pairs, _ = learned("pairs")
    assert_absent(model, "predict_proba", "no probabilities", "calibrate_probabilities")
    held = np.random.default_rng(5).integers(0, 80, (500, 2))
    y = np.where(true(*held.T) + np.random.default_rng(6).normal(0, 0.2, 500) < np.median(D), 1, -1)
    p = model.calibrate_probabilities(held, y, method).predict_proba(pairs)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (np.diff(p[np.argsort(model.pair_distance(pairs)), 1]) <= 1e-12).all()
    assert abs(model.predict_proba(held)[:, 1].mean() - (y > 0).mean()) < 0.02
    model.fit(PAIRS, Y)
    assert not hasattr(model, "calibrator_")


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
def test_fit_calibrates_the_threshold_as_it_is_told(strategy):
    arguments = {"strategy": strategy} | ({"min_rate": 0.9} if strategy.startswith("max") else {"beta": -2.0})
    model = made(PairLearner, **FAST, preprocessor=ITEMS).fit(PAIRS, Y, calibration_params=arguments)
    learned_alone = learned("pairs")[0]
    assert model.threshold_ == learned_alone.calibrate_threshold(PAIRS, Y, **arguments).threshold_
    assert model.threshold_ == learned_alone.calibrate_threshold(PAIRS, Y, **arguments | {"beta": 2.0}).threshold_
    uncalibrated = made(PairLearner, **FAST, preprocessor=ITEMS).fit(PAIRS, Y, calibration_params=None)
    assert uncalibrated.threshold_ == learned("pairs")[0].threshold_


IN_UNIT = "Parameter min_rate must be a number in[0, 1]. "
CALIBRATION = {
    "strategy": ({"strategy": "weird"}, 'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". ', '"weird"'),
    "no rate": ({"strategy": "max_tpr"}, IN_UNIT + "Got None instead.", "strategy='max_tpr'", "dissimilar pairs"),
    "rate": ({"strategy": "max_tnr", "min_rate": 1.2}, IN_UNIT + "Got 1.2 instead.", "strategy='max_tnr'", "give 0.9"),
    "rate of text": (
        {"strategy": "max_tnr", "min_rate": "weird"},
        IN_UNIT + "Got weird instead.",
        "min_rate=",
        "similar pairs",
    ),
    "complex rate": ({"strategy": "max_tpr", "min_rate": 3 + 2j}, IN_UNIT + "Got (3+2j) instead.", "min_rate="),
    "no number of a rate": ({"strategy": "max_tpr", "min_rate": np.nan}, IN_UNIT + "Got nan instead.", "min_rate="),
    "beta": ({"strategy": "f_beta", "beta": None}, "beta must be a real number. Got <class 'NoneType'>", "beta=None", "recall"),
    "infinite beta": ({"strategy": "f_beta", "beta": np.inf}, "beta=inf", "a finite number"),
}


@pytest.mark.parametrize("case", CALIBRATION)
def test_wrong_arguments_of_a_calibration_are_refused_before_any_work(case, monkeypatch):
    arguments, *words = CALIBRATION[case]
    assert_refused(lambda: PairLearner.validate_calibration_params(**arguments), *words)
    model = learned("pairs")[0]
    assert_refused(lambda: model.calibrate_threshold(PAIRS, Y, **arguments), *words)
    monkeypatch.setattr(PairLearner, "_recipe", lambda self: pytest.fail("it was at work"))
    assert_refused(lambda: model.fit(PAIRS, Y, calibration_params=arguments), *words)


NAN = np.where(np.arange(3) == 1, np.nan, 0.5)[None, None].repeat(2, axis=1)
BAD = {
    "one class": (lambda: PairLearner().fit(ITEMS[PAIRS], np.ones(600)), "one class only, +1", "are required", "at random"),
    "labels": (lambda: PairLearner().fit(ITEMS[PAIRS], np.arange(600)), "y has the values 0, 1", "only +1", "recode"),
    "texts": (lambda: PairLearner().fit(ITEMS[PAIRS], ["yes", "no"] * 300), "y holds text, such as 'yes'", "+1 (sim", "recode"),
    "no labels": (lambda: PairLearner().fit(ITEMS[PAIRS], None), "requires y", "+1 or -1"),
    "length": (lambda: PairLearner().fit(ITEMS[PAIRS], [1, -1]), "y has shape (2,)", "600 pairs", "one label a pair"),
    "strategy": (lambda: learned("pairs")[0].calibrate_threshold(PAIRS, Y, "best"), "Strategy can", '"max_tnr". Got "best"'),
    "threshold": (lambda: learned("pairs")[0].set_threshold("ABC"), "a real number. Got <class 'str'>", "='ABC'", "a distance"),
    "truth": (lambda: learned("pairs")[0].set_threshold(True), "Got <class 'bool'> instead.", "a real number", "a distance"),
    "infinity": (lambda: learned("pairs")[0].set_threshold(np.inf), "threshold=inf", "must be a finite number"),
    "rate": (lambda: learned("pairs")[0].calibrate_threshold(PAIRS, Y, "max_tpr"), "None", "a number in", "give 0.9"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    assert_refused(*BAD[name])


def test_missing_values_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        PairLearner().fit(np.vstack([ITEMS[PAIRS], NAN]), np.append(Y, 1))


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr"])
def test_pairs_of_weight_0_set_no_threshold(strategy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2, 3))
    y = np.where(np.abs(X[:, 0] - X[:, 1]).sum(axis=1) < 3, 1, -1)
    weight = np.append(rng.integers(1, 3, 200), np.zeros(100))
    wrong = np.append(y[:200], -y[200:])
    params = {"strategy": strategy} | ({"min_rate": 0.8} if strategy == "max_tpr" else {})
    weighted = PairLearner(n_knots=3, alpha=1e-2, directions=None).fit(X, wrong, weight, params)
    repeated = np.repeat(np.arange(300), weight.astype(int))
    twin = PairLearner(n_knots=3, alpha=1e-2, directions=None).fit(X[repeated], y[repeated], None, params)
    assert weighted.threshold_ == pytest.approx(twin.threshold_, rel=1e-6)
    weighted.calibrate_probabilities(X, wrong, sample_weight=weight)
    probabilities = weighted.predict_proba(X)
    weighted.calibrate_probabilities(X[:200], y[:200], sample_weight=weight[:200] / 1e3)
    np.testing.assert_allclose(weighted.predict_proba(X), probabilities, rtol=1e-6)
    for calibrate in (weighted.calibrate_probabilities, weighted.calibrate_threshold):
        assert_refused(lambda calibrate=calibrate: calibrate(X, y, sample_weight=y > 0), "-1", "+1", "")
