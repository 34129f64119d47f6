"""Calibration is scikit-learn's, with the same folds; Ctrl-C and classes of one row are met."""

import numpy as np
import pytest
from cases import assert_refused
from linear_machines import TWO, WEIGHT, X, Y
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from semimetric import EmbeddedLinearClassifier, PL1Embedding
from semimetric.vectors.machines.calibration import calibrate

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
    ours = calibrate(MACHINE, SCALED, y, weight, method, 3).predict_proba(scores.reshape(len(scores), -1))
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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_copies_of_a_row_are_never_scored_by_a_machine_that_has_seen_them(monkeypatch, form):
    """Random labels of rows that each occur twice: what is seen of a row would tell the label of its copy."""
    rng = np.random.default_rng(0)
    rows, labels, fit, seen = rng.random((40, 60)), np.arange(40) % 2, EmbeddedLinearClassifier.fit, []

    def watched(self, X, *arguments):
        seen.append({row.tobytes() for row in np.asarray(X.toarray() if sparse.issparse(X) else X)})
        return fit(self, X, *arguments)

    monkeypatch.setattr(EmbeddedLinearClassifier, "fit", watched)
    calibrate(MACHINE, form(np.vstack([rows, rows])), np.append(labels, labels), None, "logistic", 0)
    assert [len(s) for s in seen] == [32] * 5
    assert_refused(
        lambda: calibrate(MACHINE, form(rows[[0, 0, 1, 2]]), np.array([0, 0, 1, 1]), None, "logistic", 0),
        "class 0 has one row, or identical ones",
        "that differ",
    )


def test_probabilities_of_a_fitted_embedding_are_those_of_its_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200) > 0
    embedding = PL1Embedding(n_knots=5).fit(X[:50])
    machine = EmbeddedLinearClassifier(embedding, calibration="logistic").fit(X, y)
    columns = embedding.transform(X)
    linear = EmbeddedLinearClassifier("linear", calibration="logistic").fit(columns, y)
    np.testing.assert_allclose(machine.predict_proba(X), linear.predict_proba(columns), atol=2e-3)
