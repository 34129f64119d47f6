"""The calibrators of `PairLearner`, which are scikit-learn's, as numbers that a file holds, and back."""

from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from .._foundation.errors import InputError
from .._foundation.types import Floats

__all__ = ["calibrator_of", "isotonic", "stored_calibrator"]


def isotonic() -> IsotonicRegression:
    """An isotonic map of scores to probabilities, not fitted yet."""
    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")


def stored_calibrator(calibrator: LogisticRegression | IsotonicRegression) -> dict[str, Floats]:
    """The numbers of a fitted calibrator: a line, or the steps of an isotonic map."""
    if isinstance(calibrator, IsotonicRegression):
        return {"scores": calibrator.X_thresholds_, "probabilities": calibrator.y_thresholds_}
    return {"line": np.array([calibrator.coef_[0, 0], calibrator.intercept_[0], calibrator.n_iter_[0]])}


def calibrator_of(stored: dict[str, Any]) -> LogisticRegression | IsotonicRegression:
    """The calibrator of which `stored_calibrator` gave the numbers.

    Raises
    ------
    InputError
        If they are not those of a calibrator.
    """
    floats = all(isinstance(v, np.ndarray) and v.dtype == np.float64 and np.isfinite(v).all() for v in stored.values())
    if floats and set(stored) == {"line"} and stored["line"].shape == (3,):
        slope, intercept, n_iter = stored["line"]
        line = LogisticRegression()
        line.coef_, line.intercept_, line.classes_ = np.array([[slope]]), np.array([intercept]), np.array([False, True])
        line.n_features_in_, line.n_iter_ = 1, np.array([n_iter]).astype(np.int32)
        return line
    if floats and set(stored) == {"scores", "probabilities"}:
        scores, probabilities = stored["scores"], stored["probabilities"]
        if scores.ndim == 1 and scores.shape == probabilities.shape and len(scores):
            steps = isotonic().fit(scores[:, None], probabilities)
            found = stored_calibrator(steps)
            if np.array_equal(found["scores"], scores) and np.array_equal(found["probabilities"], probabilities):
                return steps
    raise InputError("the calibration is neither a line nor an isotonic map of scores to probabilities; restore the file")
