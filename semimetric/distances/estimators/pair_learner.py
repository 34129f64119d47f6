"""Learning a distance from pairs that are labeled similar or not (docs/mathematics.md, section 3).

`check_calibration` refuses arguments in metric-learn's words, to the letter: its methods are here under its names, so code that
looks for its messages finds them. Advice that these leave out is a note of the error, which Python prints below the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import Stored, storable
from ..._foundation.types import ArrayLike, Floats, Pairs
from ..._foundation.validation import check_choice, check_finite_number, check_judgements, check_weights
from ...data.parts.tuples import TargetSpec
from ..learning.comparisons import ComparisonData, LabeledPairs
from .comparison_learner import TupleLearner

_REAL = (int, float, np.integer, np.floating)
_BOUNDED = {"max_tpr": "dissimilar pairs that are recognized", "max_tnr": "similar pairs that are found"}
_MOST_SHOWN = 60  # characters of a value in a note


def _is_calibrated(learner: PairLearner) -> bool:
    """Return True if it has probabilities; an AttributeError says where they come from."""
    if not hasattr(learner, "calibrator_"):
        raise NotSupportedError(
            "a distance alone gives no probabilities; call calibrate_probabilities(pairs_valid, y_valid) on held-out pairs "
            "first"
        )
    return True


@storable
class PairLearner(ClassifierMixin, TupleLearner):
    """A distance, and a threshold, from pairs labeled similar (+1) or dissimilar (-1).

    ``min_{w, b}  sum_i s_i loss(1 + y_i (d_w(x_i, x'_i) - b)) + penalty(w)`` over weights under the axioms
    asked for and b >= 0.
    Pairs of equal points labeled dissimilar, and pairs labeled both ways, cannot be satisfied; they are outvoted.

    Parameters
    ----------
    n_knots : int, sequence of int or "auto", default "auto"
        Knots a feature: one number for all, or one for each. "auto" chooses on held-out items.
        Settings are compared by 1 - AUC on held-out pairs.
    alpha : float or "auto", default "auto"
        Strength of a penalty given by name; "auto" chooses on held-out items. With ``penalty="auto"``, 1e-2 leaves little but
        the weighted L1 distance, 1e-3 smooths strongly, and 1e-7 to 1e-5 suit many exact data.
    directions : "auto" (default), "discriminant", "pca", None, array, transformer with ``components_``, or list
        Linear features that join the raw ones, as arrays (n_directions, n_features), `UniformDirections`, `HistogramFeatures`,
        or `PartitionFeatures`. "discriminant" adds up to 10 piecewise-linear directions in which far pairs differ most. "auto"
        adds them unless raw features err less by more than a standard error; never to a single feature or given ``knots``.
    tables : {"warped", "full", "auto"} or Tables, default "warped"
        One monotone scale a number: a metric with an exact `transform` into L1; or full tables, which categories, periodic and
        missing values have anyway. "auto" takes full tables if they err less on held-out tuples by more than a standard error.
        It is "warped" with ``axioms="metric"``, and "full" with "quasimetric" or joint groups.
    axioms : {"semimetric", "metric", "quasimetric"}, default "semimetric"
        Guarantees for all points. "metric" adds the triangle inequality, which scales have anyway and full tables keep by rows
        of the program. "quasimetric" is a metric without symmetry, and needs full tables.
    loss : {"squared_hinge", "hinge"} or Loss, default "squared_hinge"
        The squared hinge is solved by `Newton`, the hinge by `InteriorPoint`: without a penalty it is a linear program.
    columns : Columns or None, default None
        Kinds of the features: categories, angles, missing values. None is `Columns()`.
    program : Program or None, default None
        Penalty, constraints, a distance to start from, and solver. None is `Program()`.
    preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
        The items that tuples name by row number, or by label (text or times) of the index of a frame. A callable takes the
        distinct names, shape (n_names,), and returns a table with a row for each. Tuples of points are taken too.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of samples, splits and k-means.
    effort : {"fast", "default", "thorough"}, default "default"
        Work for settings on "auto": candidates, folds and rows, see docs/effort.md. ``choices_`` shows the work that was done.
    verbose : bool or None, default None
        Progress bars: None shows them at terminals and in notebooks for work of more than some two seconds, True always, False
        never. Fits that may take minutes say so first.

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
        Settings that "auto" compared; printed, a table.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        Groups that ``Tables(groups="auto")`` compared; printed, a table.
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

    threshold_: Stored[float]
    calibrator_: Annotated[LogisticRegression | IsotonicRegression, "stored if set", dict[str, Any]]

    def as_stored(self) -> dict[str, Any]:
        stored = super().as_stored()
        calibrator = stored.pop("calibrator_", None)
        return stored | ({} if calibrator is None else {"calibrator_": stored_calibrator(calibrator)})

    def check_restored(self) -> None:
        super().check_restored()
        calibration: Any = self.__dict__.pop("calibrator_", None)
        self.classes_ = np.array([-1, 1])
        if not np.isfinite(self.threshold_):
            raise InputError(f"the threshold is {self.threshold_}; a finite number is required")
        if calibration is not None:
            self.calibrator_ = calibrator_of(calibration)

    @property
    def tuple_spec(self) -> TargetSpec:
        """The tuples to learn from: pairs with labels."""
        return TargetSpec(labeled=True)

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        calibration_params: Mapping[str, Any] | None = None,
    ) -> PairLearner:
        """Learn from pairs and their labels.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) row numbers or labels with ``preprocessor``
        y : array-like of shape (n_pairs,)
            +1 (similar) or -1 (dissimilar); some of both.
        sample_weight : array-like of shape (n_pairs,) or None
            Pairs of weight 0 are as good as absent.
        calibration_params : mapping or None
            Arguments of `calibrate_threshold`, which is then called with these same pairs. None leaves the threshold
            that is learned with the distance.

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
        self.fit_data(recipe, ComparisonData.of(LabeledPairs(checked.take(used), weight[used], labels)), names)
        if calibration_params is None:
            return self
        return self.calibrate_threshold(pairs, y, **calibration_params, sample_weight=sample_weight)

    def _set_extra(self, extra: Floats) -> None:
        self.classes_, self.threshold_ = np.array([-1, 1]), float(extra[0])
        self.__dict__.pop("calibrator_", None)  # of an earlier fit

    def decision_function(self, pairs: ArrayLike) -> Floats:
        """Return ``threshold_`` minus the distance, shape (n_pairs,): > 0 where `predict` gives +1.

        The threshold is raised to the next floating-point number, so that a pair right at it comes out > 0. Minus the distance
        itself is `pair_score`.
        """
        distances = self.pair_distance(pairs)
        return np.nextafter(self.threshold_, np.inf) - distances

    def predict(self, pairs: ArrayLike) -> Floats:
        """Return +1 where the distance is at most ``threshold_``, else -1; shape (n_pairs,)."""
        return np.where(self.decision_function(pairs) > 0, 1, -1)

    def score(self, pairs: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the area under the ROC curve of minus the distance: (similar, dissimilar) couples in the right order."""
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
        sample_weight: ArrayLike | None = None,
    ) -> PairLearner:
        """Set ``threshold_`` to what is best on held-out pairs; of equally good ones the smallest.

        Parameters
        ----------
        pairs_valid, y_valid : as in `fit`
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default "accuracy"
            The largest accuracy; the largest F score; the largest fraction of similar pairs found with at least ``min_rate``
            of the dissimilar ones recognized; or the other way round.
        min_rate : float in [0, 1] or None
            For "max_tpr" and "max_tnr".
        beta : float, default 1
            For "f_beta": the weight of recall beside precision; its sign plays no part.
        sample_weight : as in `fit`
        """
        check_is_fitted(self, "semimetric_")
        self.validate_calibration_params(strategy, min_rate, beta)
        distances = self.pair_distance(pairs_valid)
        weight = check_weights(sample_weight, len(distances))
        used = weight > 0
        distances, weight = distances[used], weight[used]
        labels = check_judgements(y_valid, len(used))[used]
        check_judgements(labels, len(labels))
        weights = None if sample_weight is None else weight
        fpr, tpr, negative = roc_curve(labels, -distances, pos_label=1, drop_intermediate=False, sample_weight=weights)
        similar = float(np.average(labels > 0, weights=weights))
        merit = {
            "accuracy": similar * tpr + (1 - similar) * (1 - fpr),
            "f_beta": _f_beta(tpr * similar, fpr * (1 - similar), similar, beta),
            "max_tpr": np.where(1 - fpr >= (min_rate or 0.0), tpr, -1.0),
            "max_tnr": np.where(tpr >= (min_rate or 0.0), 1 - fpr, -1.0),
        }[strategy]
        best = int(np.argmax(merit))
        self.threshold_ = float(-negative[best]) if best else float(np.nextafter(distances.min(), -np.inf))
        return self

    def calibrate_probabilities(
        self,
        pairs_valid: ArrayLike,
        y_valid: ArrayLike,
        method: str = "sigmoid",
        sample_weight: ArrayLike | None = None,
    ) -> PairLearner:
        """Learn the probability of being similar as a function of the distance, for `predict_proba`.

        Parameters
        ----------
        pairs_valid, y_valid : as in `fit`
            Pairs that `fit` has not seen, of other items: on its own pairs the distances are too good.
        method : {"sigmoid", "isotonic"}, default "sigmoid"
            Logistic regression on the distance (Platt 1999), or isotonic, from about 1,000 pairs on.
        sample_weight : as in `fit`
        """
        check_choice("method", method, ("sigmoid", "isotonic"))
        distances = self.pair_distance(pairs_valid)
        labels = check_judgements(y_valid, len(distances))
        weight = check_weights(sample_weight, len(distances))
        used = weight > 0
        check_judgements(labels[used], int(used.sum()))
        weights = None if sample_weight is None else weight[used] * used.sum()  # of mean 1
        model: Any = LogisticRegression() if method == "sigmoid" else isotonic()
        self.calibrator_ = model.fit(-distances[used, None], labels[used] > 0, sample_weight=weights)
        return self

    @available_if(_is_calibrated)
    def predict_proba(self, pairs: ArrayLike) -> Floats:
        """Return probabilities of -1 and of +1, shape (n_pairs, 2); it is there after `calibrate_probabilities`."""
        column = -self.pair_distance(pairs)[:, None]
        if isinstance(self.calibrator_, IsotonicRegression):
            similar = self.calibrator_.predict(column)
        else:
            similar = self.calibrator_.predict_proba(column)[:, 1]
        return np.column_stack([1 - similar, similar])


def _f_beta(hits: Floats, false: Floats, similar: float, beta: float) -> Floats:
    """Return (1 + beta²) precision recall / (beta² precision + recall); 0 if no pair is accepted."""
    return (1 + beta**2) * hits / np.maximum(hits + false + beta**2 * similar, 1e-300)


def isotonic() -> IsotonicRegression:
    """Return an isotonic map of scores to probabilities, not fitted yet."""
    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")


def stored_calibrator(calibrator: LogisticRegression | IsotonicRegression) -> dict[str, Floats]:
    """Return the numbers of a fitted calibrator, as a file holds them: a line, or the steps of an isotonic map."""
    if isinstance(calibrator, IsotonicRegression):
        return {"scores": calibrator.X_thresholds_, "probabilities": calibrator.y_thresholds_}
    return {"line": np.array([calibrator.coef_[0, 0], calibrator.intercept_[0], calibrator.n_iter_[0]])}


def calibrator_of(stored: dict[str, Any]) -> LogisticRegression | IsotonicRegression:
    """Return the calibrator of which `stored_calibrator` gave the numbers."""
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


def check_calibration(strategy: Any, min_rate: Any, beta: Any) -> None:
    """Refuse an unknown strategy, and an argument of a known one that is no number, or outside of its range."""
    if strategy not in ("accuracy", "f_beta", "max_tpr", "max_tnr"):
        raise InputError(f'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". Got "{strategy}" instead.')
    if strategy in _BOUNDED and not (isinstance(min_rate, _REAL) and 0 <= min_rate <= 1):
        error = InputError(f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead.")  # it has no space there
        error.add_note(
            f"strategy={strategy!r} needs min_rate=, the least fraction of {_BOUNDED[strategy]}; give 0.9, for example"
        )
        raise error
    if strategy == "f_beta":
        _check_real("beta", beta, "give 1.0 for the F1 score, more if recall is to count more, less if precision is")


def check_threshold(threshold: Any) -> float:
    """Return a threshold as a float; refuse what is no finite number."""
    return _check_real("threshold", threshold, "give a distance, up to which pairs are predicted similar")


def _check_real(name: str, value: Any, advice: str) -> float:
    if isinstance(value, bool) or not isinstance(value, _REAL):
        error = InputError(f"Parameter {name} must be a real number. Got {type(value)} instead.")
        shown = " ".join(repr(value).split())[:_MOST_SHOWN]  # in one line
        error.add_note(f"{name}={shown} is no number; {advice}")
        raise error
    return check_finite_number(name, float(value))
