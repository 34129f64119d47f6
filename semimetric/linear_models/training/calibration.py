"""Probabilities from scores that were held out, by scikit-learn's tools.

A machine is learned on all folds but one and scores that one; a logistic (Platt) or an isotonic function of those scores is
fitted for each class against the rest, and its values are divided by their sum (paper 1, section 6).
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from ..._foundation.errors import InputError
from ..._foundation.types import ArrayLike, Floats
from .embedded_rows import take

__all__ = ["calibrate", "probabilities"]

_FOLDS = 5
_METHODS = {"logistic": "sigmoid", "isotonic": "isotonic"}


class _Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose items are scores already."""

    def __init__(self, classes: ArrayLike = ()) -> None:
        self.classes = classes

    def fit(self, X: Floats, y: ArrayLike) -> _Scores:
        self.classes_ = np.asarray(self.classes)
        return self

    def predict(self, X: Floats) -> np.ndarray:
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    def decision_function(self, X: Floats) -> Floats:
        return X[:, 0] if X.shape[1] == 1 else X


def calibrate(
    machine: BaseEstimator, X: ArrayLike, y: np.ndarray, weight: Floats | None, method: str, seed: int
) -> object | None:
    """The map from scores to probabilities, from five folds (fewer where a class has fewer rows); None after Ctrl-C."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise InputError(
            f"class {rare!r} has one row, but calibration={method!r} learns without some and scores them; "
            "give two rows of every class, or calibration=None"
        )
    folds = StratifiedKFold(min(_FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    held = np.empty((len(y), 1 if len(classes) == 2 else len(classes)))
    for train, test in folds.split(np.zeros(len(y)), y):
        part = clone(machine).fit(take(X, train), y[train], None if weight is None else weight[train])
        if part.status_ == "interrupted":
            return None
        held[test] = part.decision_function(take(X, test)).reshape(len(test), -1)
    known = FrozenEstimator(_Scores(classes).fit(held, y))
    calibrator = CalibratedClassifierCV(known, method=_METHODS[method], ensemble=False)
    with (
        warnings.catch_warnings()
    ):  # that weights go to the calibration alone, as they should: what is frozen learned with them
        warnings.filterwarnings("ignore", message="Since FrozenEstimator")
        return calibrator.fit(held, y, sample_weight=weight)


def probabilities(calibrator: object, scores: Floats) -> Floats:
    """Shape (n, n_classes), rows sum to 1."""
    return calibrator.predict_proba(scores.reshape(len(scores), -1))  # type: ignore[attr-defined]
