"""Calibration is scikit-learn's, with the same folds; Ctrl-C and classes of one row are met."""

import numpy as np
import pytest
from cases import assert_refused
from linear_machines import TWO, WEIGHT, X, Y
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from semimetric import EmbeddedLinearClassifier
from semimetric.linear_models.training.calibration import calibrate, probabilities

SCALED = X / X.max(axis=0)
MACHINE = EmbeddedLinearClassifier("linear", tol=1e-2)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("method", "sklearns"), [("logistic", "sigmoid"), ("isotonic", "isotonic")])
@pytest.mark.parametrize("y", [Y, TWO], ids=["three", "two"])
@pytest.mark.parametrize("weight", [None, 1 + WEIGHT], ids=["", "weighted"])
def test_probabilities_are_those_of_scikit_learn(method, sklearns, y, weight):
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    theirs = CalibratedClassifierCV(MACHINE, method=sklearns, cv=folds, ensemble=False).fit(SCALED, y, sample_weight=weight)
    scores = theirs.calibrated_classifiers_[0].estimator.decision_function(SCALED)
    ours = probabilities(calibrate(MACHINE, SCALED, y, weight, method, 3), scores)
    np.testing.assert_allclose(ours, theirs.predict_proba(SCALED), atol=1e-9)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_a_class_of_few_rows_has_fewer_folds_and_one_row_is_refused():
    rows = np.arange(57, len(X))  # two of class 0
    calibrator = calibrate(MACHINE, SCALED[rows], Y[rows], None, "logistic", 0)
    assert calibrator.predict_proba(np.zeros((1, 3))).shape == (1, 3)
    assert_refused(
        lambda: calibrate(MACHINE, SCALED[58:], Y[58:], None, "isotonic", 0),
        "class 0 has one row",
        "calibration='isotonic'",
        "two rows",
    )
    assert_refused(
        lambda: EmbeddedLinearClassifier(calibration="logistic").fit(X[58:], Y[58:]), "class 0 has one row", "two rows"
    )
