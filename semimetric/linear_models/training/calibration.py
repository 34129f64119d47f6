"""Probabilities of classes from the scores of a linear machine, by scikit-learn's calibration.

For every fold the machine is trained on all others and scores the rows of this one. A logistic (Platt) or an isotonic function
of these scores is fitted for each class against the rest, and its values are divided by their sum (paper 1, section 6).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array

from ..._foundation.errors import InputError
from ..._foundation.tables import take_rows
from ..._foundation.types import ArrayLike, Floats
from ...data.splits import ItemClasses

__all__ = ["calibrate", "probabilities"]

_FOLDS = 5
_SKLEARN_METHODS = {"logistic": "sigmoid", "isotonic": "isotonic"}


class _ScoresAsFeatures(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function returns its input, so that scikit-learn can calibrate scores that are known."""

    def __init__(self, classes: ArrayLike = ()) -> None:
        self.classes = classes

    def fit(self, X: Floats, y: ArrayLike) -> _ScoresAsFeatures:
        self.classes_ = np.asarray(self.classes)
        return self

    def predict(self, X: Floats) -> np.ndarray:
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    def decision_function(self, X: Floats) -> Floats:
        return X[:, 0] if X.shape[1] == 1 else X


def calibrate(
    machine: BaseEstimator, X: ArrayLike, y: np.ndarray, sample_weight: Floats | None, method: str, seed: int
) -> CalibratedClassifierCV:
    """The map from scores to probabilities, from five folds, or fewer where a class has fewer items.

    Raises
    ------
    InputError
        If a class has one row only, or identical ones.
    KeyboardInterrupt
        On Ctrl-C, as soon as the machine of a fold has kept its weights.
    """
    classes = np.unique(y)
    items = ItemClasses(_matrix(X), y)
    counts = np.array([(items.labels == c).sum() for c in classes])
    if counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise InputError(
            f"class {rare!r} has one row, or identical ones, but calibration={method!r} learns without some and scores them; "
            "give two rows of every class that differ, or calibration=None"
        )
    scores = np.empty((len(y), 1 if len(classes) == 2 else len(classes)))
    folds = list(items.folds(min(_FOLDS, int(counts.min())), seed))
    for train, test in folds:
        weight = None if sample_weight is None else sample_weight[train]
        fitted = clone(machine).fit(take_rows(X, train), y[train], weight)
        scores[test] = fitted.decision_function(take_rows(X, test)).reshape(len(test), -1)
    frozen = FrozenEstimator(_ScoresAsFeatures(classes).fit(scores, y))
    calibrator = CalibratedClassifierCV(frozen, method=_SKLEARN_METHODS[method], cv=folds, ensemble=False)
    with warnings.catch_warnings():
        # It warns that the weights go to the calibration alone, as they should: the machines were trained with them.
        warnings.filterwarnings("ignore", message="Since FrozenEstimator")
        return calibrator.fit(scores, y, sample_weight=sample_weight)


def _matrix(X: ArrayLike) -> Any:
    """The rows as float64, dense or sparse; missing values are NaN."""
    matrix = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
    return sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix


def probabilities(calibrator: CalibratedClassifierCV, scores: Floats) -> Floats:
    """Probabilities of shape (n, n_classes), whose rows sum to 1, from scores of shape (n,) or (n, n_classes)."""
    return calibrator.predict_proba(scores.reshape(len(scores), -1))
