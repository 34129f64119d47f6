"""Learning a distance from pairs that are judged similar or not (docs/mathematics.md, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Floats, Pairs
from ..._foundation.validation import check_choice, check_finite_number, check_judgements, check_weights
from ...data.parts.tuples import TargetSpec
from ..learning.comparisons import LabeledPairs
from .comparison_learner import TupleLearner
from .shared_parameters import COMPARISON_PARAMETERS, LEARNER_PARAMETERS


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


_REAL = (int, float, np.integer, np.floating)
_KEPT = {"max_tpr": "dissimilar pairs that are told apart", "max_tnr": "similar pairs that are found"}
_MOST_SHOWN = 60  # characters of a value in a note


def check_calibration(strategy: Any, min_rate: Any, beta: Any) -> None:
    """Refuse a strategy that is not known, and the argument of a known one if it is no number, or outside of its range."""
    if strategy not in ("accuracy", "f_beta", "max_tpr", "max_tnr"):
        raise InputError(f'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". Got "{strategy}" instead.')
    if strategy in _KEPT and not (isinstance(min_rate, _REAL) and 0 <= min_rate <= 1):
        error = InputError(f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead.")  # it has no space there
        error.add_note(f"strategy={strategy!r} needs min_rate=, the least share of {_KEPT[strategy]}; give 0.9, for example")
        raise error
    if strategy == "f_beta":
        _check_real("beta", beta, "give 1.0 for the F1 score, more if recall is to count more, less if precision is")


def check_threshold(threshold: Any) -> float:
    """A threshold as a float; what is no finite number is refused."""
    return _check_real("threshold", threshold, "give a distance, up to which pairs are predicted similar")


def _check_real(name: str, value: Any, advice: str) -> float:
    """The value of a parameter, which must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, _REAL):
        error = InputError(f"Parameter {name} must be a real number. Got {type(value)} instead.")
        error.add_note(f"{name}={_shown(value)} is no number; {advice}")
        raise error
    return check_finite_number(name, float(value))


def _shown(value: Any) -> str:
    """The beginning of the representation of a value, in one line."""
    return " ".join(repr(value).split())[:_MOST_SHOWN]


def _is_calibrated(learner: PairLearner) -> bool:
    """Whether it has probabilities; an AttributeError says where they come from."""
    if not hasattr(learner, "calibrator_"):
        raise NotSupportedError(
            "a distance alone gives no probabilities; call calibrate_probabilities(pairs_valid, y_valid) on held-out pairs "
            "first"
        )
    return True


@storable
@with_shared_parameters(LEARNER_PARAMETERS, COMPARISON_PARAMETERS)
class PairLearner(ClassifierMixin, TupleLearner):
    """A distance, and a threshold, from pairs judged similar (+1) or dissimilar (-1).

    ``min_{w, b}  sum_i s_i loss(1 + y_i (d_w(x_i, x'_i) - b)) + penalty(w)`` over weights under the axioms
    asked for and b >= 0.
    Pairs of equal points judged dissimilar, and pairs judged both ways, cannot be satisfied; they are outvoted.

    Parameters
    ----------
    {n_knots}
        Settings are compared by 1 - AUC on held-out pairs.
    {knots}
    {groups}
        The error is the share of held-out couples, one pair similar and one dissimilar, in the wrong order.
    {directions}
    {tables}
    {axioms}
    {delta}
    {outside}
    {loss}
    {penalty}
    {alpha}
    {solver}
    {categorical_features}
    {periodic}
    {missing}
    {constraints}
    {prior}
        Values are in units of the margin.
    {preprocessor}
    {n_jobs}
    {random_state}
    {effort}
    {verbose}

    Attributes
    ----------
    semimetric_ : Semimetric
        In units of the margin: similar pairs should be closer than threshold_ - 1, others further than threshold_ + 1.
    threshold_ : float
        Pairs at this distance or less are predicted similar.
    classes_ : ndarray
        (-1, 1).
    solution_ : Solution
    choices_ : Choices
        What "auto" compared; printed, a table.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        What ``groups="auto"`` compared; printed, a table.
    n_features_in_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs = rng.random((400, 2, 2))
    >>> y = np.where(np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 5.0] < 2.0, 1, -1)
    >>> model = PairLearner(n_knots=3, alpha=1e-3, directions=None).fit(pairs, y)
    >>> bool(model.score(pairs, y) > 0.99)
    True
    """

    threshold_: float

    _fitted = {**TupleLearner._fitted, "threshold_": float, "calibration": NotRequired[dict[str, Any]]}

    def _stored(self) -> dict[str, Any]:
        calibrator = getattr(self, "calibrator_", None)
        return super()._stored() | ({} if calibrator is None else {"calibration": stored_calibrator(calibrator)})

    def _restore(self, fitted: dict[str, Any]) -> None:
        calibration = fitted.pop("calibration", None)
        super()._restore(fitted)
        self.classes_ = np.array([-1, 1])
        if not np.isfinite(self.threshold_):
            raise InputError(f"the threshold is {self.threshold_}; a finite number is required")
        if calibration is not None:
            self.calibrator_ = calibrator_of(calibration)

    @property
    def _targets(self) -> TargetSpec:
        return TargetSpec(judged=True)

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        calibration_params: Mapping[str, Any] | None = None,
    ) -> PairLearner:
        """Learn from pairs and judgements.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) row numbers or labels with ``preprocessor``
        y : array-like of shape (n_pairs,)
            +1 (similar) or -1 (dissimilar); some of both.
        sample_weight : array-like of shape (n_pairs,) or None
            Pairs of weight 0 are as good as absent.
        calibration_params : mapping or None
            Arguments of `calibrate_threshold`, which is then called with these same pairs. None keeps the threshold that is
            learned with the distance.

        Raises
        ------
        InputError
            If the data cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C. If the last solver was at work, ``semimetric_`` holds its best weights so far.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None; give +1 or -1 for every pair")
        if calibration_params is not None:
            self.validate_calibration_params(**calibration_params)
        recipe, (checked, names) = self._recipe(), self._read(pairs, Pairs)
        weight = check_weights(sample_weight, len(checked))
        used = weight > 0
        labels = check_judgements(y, len(checked), both=False)[used]
        check_judgements(labels, len(labels))
        self._choose_and_learn(recipe, LabeledPairs(checked.take(used), weight[used], labels), names)
        return self if calibration_params is None else self.calibrate_threshold(pairs, y, **calibration_params)

    def _keep_extra(self, extra: Floats) -> None:
        self.classes_, self.threshold_ = np.array([-1, 1]), float(extra[0])
        self.__dict__.pop("calibrator_", None)  # of an earlier fit

    def decision_function(self, pairs: ArrayLike) -> Floats:
        """``threshold_`` minus the distance, shape (n_pairs,): > 0 where `predict` says +1, and larger is more similar.

        The threshold is raised to the next floating-point number, so that a pair right at it comes out > 0. Minus the distance
        itself is `pair_score`.
        """
        distances = self.pair_distance(pairs)
        return np.nextafter(self.threshold_, np.inf) - distances

    def predict(self, pairs: ArrayLike) -> Floats:
        """+1 where the distance is at most ``threshold_``, else -1; shape (n_pairs,)."""
        return np.where(self.decision_function(pairs) > 0, 1, -1)

    def score(self, pairs: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Area under the ROC curve of minus the distance: the share of (similar, dissimilar) couples in the right order."""
        distances = self.pair_distance(pairs)
        return float(roc_auc_score(check_judgements(y, len(distances)), -distances, sample_weight=sample_weight))

    def set_threshold(self, threshold: float) -> PairLearner:
        """Predict similar at this distance or less; a negative threshold makes no pair similar."""
        check_is_fitted(self, "semimetric_")
        self.threshold_ = check_threshold(threshold)
        return self

    @staticmethod
    def validate_calibration_params(strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0) -> None:
        """Refuse arguments that `calibrate_threshold` does not take; it has their meaning."""
        check_calibration(strategy, min_rate, beta)

    def calibrate_threshold(
        self,
        pairs_valid: ArrayLike,
        y_valid: ArrayLike,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> PairLearner:
        """Set ``threshold_`` to what is best on held-out pairs; of equally good ones the smallest.

        Parameters
        ----------
        pairs_valid, y_valid : as in `fit`
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default "accuracy"
            The largest accuracy; the largest F score; the largest share of similar pairs found with at least ``min_rate``
            of the dissimilar ones told apart; or the other way round.
        min_rate : float in [0, 1] or None
            For "max_tpr" and "max_tnr".
        beta : float, default 1
            For "f_beta": how much more recall counts than precision; its sign plays no part.
        """
        check_is_fitted(self, "semimetric_")
        self.validate_calibration_params(strategy, min_rate, beta)
        distances = self.pair_distance(pairs_valid)
        labels = check_judgements(y_valid, len(distances))
        fpr, tpr, negative = roc_curve(labels, -distances, pos_label=1, drop_intermediate=False)
        share = float((labels > 0).mean())
        merit = {
            "accuracy": share * tpr + (1 - share) * (1 - fpr),
            "f_beta": _f_beta(tpr * share, fpr * (1 - share), share, beta),
            "max_tpr": np.where(1 - fpr >= (min_rate or 0.0), tpr, -1.0),
            "max_tnr": np.where(tpr >= (min_rate or 0.0), 1 - fpr, -1.0),
        }[strategy]
        best = int(np.argmax(merit))
        self.threshold_ = float(-negative[best]) if best else float(np.nextafter(distances.min(), -np.inf))
        return self

    def calibrate_probabilities(self, pairs_valid: ArrayLike, y_valid: ArrayLike, method: str = "sigmoid") -> PairLearner:
        """Learn what a distance says of the probability of being similar, for `predict_proba`.

        Parameters
        ----------
        pairs_valid, y_valid : as in `fit`
            Pairs that `fit` has not seen, of other items: on its own pairs the distances are too good.
        method : {"sigmoid", "isotonic"}, default "sigmoid"
            Logistic regression on the distance (Platt 1999), or isotonic, from about 1,000 pairs on.
        """
        check_choice("method", method, ("sigmoid", "isotonic"))
        distances = self.pair_distance(pairs_valid)
        labels = check_judgements(y_valid, len(distances))
        model: Any = LogisticRegression() if method == "sigmoid" else isotonic()
        self.calibrator_ = model.fit(-distances[:, None], labels > 0)
        return self

    @available_if(_is_calibrated)
    def predict_proba(self, pairs: ArrayLike) -> Floats:
        """Probabilities of -1 and of +1, shape (n_pairs, 2); it is there after `calibrate_probabilities`."""
        column = -self.pair_distance(pairs)[:, None]
        if isinstance(self.calibrator_, IsotonicRegression):
            similar = self.calibrator_.predict(column)
        else:
            similar = self.calibrator_.predict_proba(column)[:, 1]
        return np.column_stack([1 - similar, similar])


def _f_beta(hits: Floats, false: Floats, share: float, beta: float) -> Floats:
    """(1 + beta²) precision recall / (beta² precision + recall), from shares of all pairs; 0 where nothing is accepted."""
    return (1 + beta**2) * hits / np.maximum(hits + false + beta**2 * share, 1e-300)
