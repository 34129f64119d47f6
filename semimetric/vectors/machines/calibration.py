"""Probabilities of classes from the scores of a linear machine, by scikit-learn's calibration.

For every fold the machine is trained on all others and scores the rows of this one. A logistic (Platt) or an isotonic function
of these scores is fitted for each class against the rest, and its values are divided by their sum (paper 1, section 6).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.tables import take_rows
from ..._foundation.types import ArrayLike, Floats, FrozenValue
from ...data.splits import ItemClasses

_FOLDS = 5
_SKLEARN_METHODS = {"logistic": "sigmoid", "isotonic": "isotonic"}


@storable
@dataclass(frozen=True, eq=False)
class ScoreCurves(FrozenValue):
    """The functions that take scores to probabilities, one for every class, or one for the second of two classes.

    Attributes
    ----------
    curves : tuple of ndarray
        For each class the numbers (a, b) of the logistic function ``1 / (1 + exp(a f + b))``; or an array of shape (2, m) of
        ascending scores and the probabilities there, between which an isotonic function is linear.
    """

    curves: tuple[Floats, ...]

    @classmethod
    def of(cls, calibrator: CalibratedClassifierCV) -> ScoreCurves:
        """Return the functions of scikit-learn's calibrator, which has one fitted classifier."""
        (fitted,) = calibrator.calibrated_classifiers_
        return cls(tuple(_curve(function) for function in fitted.calibrators))

    def check(self, n: int) -> None:
        """Refuse what are not ``n`` functions of the kinds above."""
        if len(self.curves) != n or not all(map(_is_curve, self.curves)):
            raise InputError(f"the calibration is not {n} functions from scores to probabilities; restore the file")

    def predict_proba(self, scores: Floats) -> Floats:
        """Return probabilities (n, n_classes), whose rows sum to 1, of scores (n, number of curves)."""
        columns = [_on_curve(curve, scores[:, k]) for k, curve in enumerate(self.curves)]
        if len(columns) == 1:
            return np.column_stack([1 - columns[0], columns[0]])
        values = np.column_stack(columns)
        total = values.sum(axis=1, keepdims=True)
        return np.where(total > 0, values / np.where(total > 0, total, 1.0), 1 / len(columns))


def _curve(function: Any) -> Floats:
    if hasattr(function, "X_thresholds_"):
        return np.array([function.X_thresholds_, function.y_thresholds_], np.float64)
    return np.array([function.a_, function.b_], np.float64)


def _is_curve(curve: Floats) -> bool:
    if curve.ndim not in (1, 2) or len(curve) != 2 or not np.isfinite(curve).all():
        return False
    if curve.ndim == 1:
        return True
    scores, values = curve
    ascending = bool((np.diff(scores) > 0).all() and (np.diff(values) >= 0).all())
    return len(scores) > 0 and ascending and bool(values[0] >= 0 and values[-1] <= 1)


def _on_curve(curve: Floats, scores: Floats) -> Floats:
    first, second = curve
    return np.interp(scores, first, second) if curve.ndim == 2 else expit(-(first * scores + second))


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


def anew(machine: BaseEstimator, **params: Any) -> Any:
    """Return an unfitted machine with these parameters changed, whose embedding stays fitted if it was given so."""
    return clone(machine).set_params(embedding=machine.embedding, **params)


def calibrate(
    machine: BaseEstimator, X: ArrayLike, y: np.ndarray, sample_weight: Floats | None, method: str, seed: int
) -> ScoreCurves:
    """Return the map from scores to probabilities, from five folds, or fewer where a class has fewer items."""
    classes = np.unique(y)
    matrix = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
    items = ItemClasses(sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix, y)
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
        fitted = anew(machine).fit(take_rows(X, train), y[train], weight)
        scores[test] = fitted.decision_function(take_rows(X, test)).reshape(len(test), -1)
    frozen = FrozenEstimator(_ScoresAsFeatures(classes).fit(scores, y))
    calibrator = CalibratedClassifierCV(frozen, method=_SKLEARN_METHODS[method], cv=folds, ensemble=False)
    with warnings.catch_warnings():
        # It warns that the weights go to the calibration alone, as they should: the machines were trained with them.
        warnings.filterwarnings("ignore", message="Since FrozenEstimator")
        return ScoreCurves.of(calibrator.fit(scores, y, sample_weight=sample_weight))
