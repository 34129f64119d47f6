"""Support vector machines on an embedding that is never stored (paper 0, section 3.2; paper 1, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_classes, check_sorted_classes, record_features
from ..._foundation.errors import InputError, NotSupportedError, warn
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice
from ..._kernels.coordinate_descent import Problem
from ..embeddings.base import FeatureMap
from .base import EmbeddedLinear, drop_zero_weights
from .calibration import ScoreCurves, anew, calibrate
from .rows import classification_problem


def _is_calibrated(machine: EmbeddedLinearClassifier) -> bool:
    """Return True if the model has probabilities; an AttributeError says where they come from."""
    if machine.calibration is None:
        raise NotSupportedError('scores alone give no probabilities; give calibration="logistic" or "isotonic" before the fit')
    return True


@storable
class EmbeddedLinearClassifier(ClassifierMixin, EmbeddedLinear):
    """Linear support vector machine on an embedding that is computed row by row and never stored.

    It minimises ``|W|² / 2 + C sum_i s_i loss(y_i, W phi(x_i))`` with the weight of the intercept inside W, as LIBLINEAR does:
    the optimum is that of scikit-learn's ``LinearSVC(intercept_scaling=intercept_scaling)`` on the stored embedding (Pele et
    al. 2013, section 3.2; Maji 2011, section 5). Memory holds the weights, a dual variable for every row and class (solver
    "dual"), and the rows that are embedded at a time (`block_size`).

    Parameters
    ----------
    embedding : FeatureMap, "linear" or None, default None
        Embedding of the rows; None is `PL1Embedding()`, "linear" the features as they are. One that is not fitted is cloned and
        fitted on X, y; a fitted one is used as it is.
    C : float, default 1.0
        Weight of the losses. Many passes are needed where C |phi|² is far above 10, so long rows need a small C: on covtype_75k
        |phi|² is 1,300 for PL2, and 46 for ``PL2Embedding(zero_preserving=True)``, which has the same functions.
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
        ``max(0, 1 - y f)²`` or ``max(0, 1 - y f)``.
    multi_class : {"ovr", "crammer_singer"}, default "ovr"
        One class against the rest, all in the same passes; or ``max(0, 1 + max_{m != y} f_m - f_y)``, which needs
        ``loss="hinge"``.
    solver : {"dual", "newton", "pegasos"}, default "dual"
        Dual coordinate descent, until the duality gap is within ``tol``; Pegasos, without dual variables; or "newton", ten or
        twenty steps on squared losses (Keerthi & DeCoste 2005). It suits a few hundred of its at most 5,000 columns, since
        scales and large C do not slow it down; a warning says where rounding ends it first, with C |phi|² beyond 1e15.
    fit_intercept : bool, default True
        True adds a constant column, whose weight makes the intercept.
    intercept_scaling : float, default 1.0
        Value of this column, whose weight is penalised like the others (B of Maji 2011).
    positive : bool or list of int or str, default False
        Weights that must not be negative, with the solver "dual": True means all but the intercept's; numbers or names of
        features mean the columns of these alone. It makes a weighted norm of a `ConicEmbedding` (Ceylan & Birbil 2020), and
        functions that never fall of a `BSplineEmbedding` with ``penalty_order=1``.
    tol : float, default 1e-4
        Relative duality gap at which "dual" and "newton" stop.
    max_iter : int or None, default None
        Largest number of passes over the rows: None is 1,000 for "dual" and 20 for "pegasos", which always makes all. With
        "newton" it is the largest number of steps of each column of weights, of about two passes; None is 200.
    class_weight : dict, "balanced" or None, default None
        Factors of C for the rows of each class. With ``multi_class="ovr"`` a machine of one class against the rest uses the
        factor of that class, and 1 for all rows of the rest, as `LinearSVC` does.
    warm_start : bool, default False
        True starts from the dual variables (or, with "newton" and "pegasos", the weights) of the fit before, and stores them.
        Weights of another objective, such as another C, count as one pass of "pegasos".
    calibration : {None, "logistic", "isotonic"}, default None
        Calibration of `predict_proba`; None gives no probabilities. Five more fits score the rows of five held-out folds;
        there are fewer folds if a class has fewer rows. A function of these scores is fitted to each class against the
        rest, and probabilities are divided by their sum. `predict` still takes the class with the largest score.
    block_size : int or None, default None
        Rows that are embedded at a time; None takes as many as an eighth of the bytes of X holds, within 128 KiB to 32 MiB.
    n_jobs : int or None, default None
        Threads of predictions: None is one, -1 all.
    random_state : int, RandomState or None, default 0
        Orders the rows.
    verbose : bool or None, default None
        True shows progress bars, False none; None shows them at a terminal and in notebooks after two seconds.

    Attributes
    ----------
    classes_ : ndarray
    embedding_ : FeatureMap
        The embedding that was fitted or given.
    coef_ : ndarray of shape (n_classes, n_columns), or (1, n_columns) for two classes
        Weights of phi, which is what ``embedding_.transform`` returns.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : int
        Number of passes over the rows, or of Newton steps.
    duality_gap_ : float
        ``(P - D) / P`` with the objective P at ``coef_`` and a value D of its dual: the optimum is at least ``(1 - gap) P``,
        for every class against the rest. It is loose for "pegasos", and NaN after `partial_fit`.
    status_ : Status
        SOLVED to ``tol``, LIMIT at ``max_iter``, INACCURATE where rounding ends "newton", FINISHED after all passes of
        "pegasos" and after `partial_fit`, or INTERRUPTED by Ctrl-C.
    n_features_in_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> y = abs(X[:, 0] - 0.5) + abs(X[:, 1] - 0.5) < 0.4
    >>> machine = EmbeddedLinearClassifier(C=100).fit(X, y)
    >>> bool(machine.score(X, y) > 0.95), bool(machine.duality_gap_ <= 1e-4)
    (True, True)
    """

    _losses = ("squared_hinge", "hinge")
    classes_: Stored[NDArray[Any]]
    _calibrator: StoredIfSet[ScoreCurves]

    def __init__(
        self,
        embedding: FeatureMap | str | None = None,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        multi_class: str = "ovr",
        solver: str = "dual",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        positive: Any = False,
        tol: float = 1e-4,
        max_iter: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        calibration: str | None = None,
        block_size: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        self.embedding = embedding
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.positive = positive
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.calibration = calibration
        self.block_size = block_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_items, n_features)
            Items that the embedding can embed.
        y : array-like of shape (n_items,)
            Their classes, at least two.
        sample_weight : array-like of shape (n_items,) or None
            Factors of C, one a row. A row of weight 3 is the same as the row three times, and one of weight 0 as none.

        Raises
        ------
        InputError
            If the data or a parameter cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C. The weights so far are kept, without calibration, and a warning gives their gap.
        """
        self._check()
        labels = self._labels(X, y)
        record_features(self, X, reset=True)
        X, labels, weight = drop_zero_weights(X, labels, sample_weight)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"y has one class only, {classes.tolist()[0]!r}; a classifier requires two: give rows of another class"
            )
        class_weights = self._class_weights(classes, codes, weight)
        X, rows, weight = self._without_repeats(X, codes, weight)
        labels = labels[rows]
        problem = self._problem(codes[rows], weight, class_weights)
        del codes  # the problem has a smaller copy
        self._fit_embedding(X, labels)
        self.classes_ = classes
        self._fit_weights(X, problem, self._n_machine_columns)
        self.__dict__.pop("_calibrator", None)
        if self.calibration is None:
            self._raise_if_interrupted()
        else:
            self._calibrate(X, labels, weight)
        return self

    def _calibrate(self, X: ArrayLike, labels: np.ndarray, weight: Floats | None) -> None:
        """Set ``_calibrator``; warn where Ctrl-C comes before that, and raise KeyboardInterrupt."""
        uncalibrated = anew(self, calibration=None, warm_start=False, verbose=False)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        try:
            self._raise_if_interrupted()
            self._calibrator = calibrate(uncalibrated, X, labels, weight, str(self.calibration), seed)
        except KeyboardInterrupt:
            warn("interrupted before calibration was done: there are scores but no probabilities; call fit again for them")
            raise

    @available_if(lambda self: self.calibration is None)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take one stochastic step of Pegasos on every row of a block, from the weights as they are, also from those of `fit`.

        The first block fits the embedding, unless a fitted one was given. The step sizes fall as one over the square root of
        the number of rows seen, divided by that of the first block, so the first block should not be a single row.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like or None
            All classes there will be; required in the first call.
        sample_weight
            As in `fit`.

        Raises
        ------
        InputError
            If y has a class that is not among them; NotSupportedError with ``class_weight="balanced"``; there is no
            `partial_fit` with ``calibration=``, which needs all rows.
        """
        self._check()
        if self.class_weight == "balanced":
            raise NotSupportedError(
                "partial_fit sees one block, but class_weight='balanced' needs all rows; give class_weight as a dict"
            )
        labels = self._labels(X, y)
        is_first = not hasattr(self, "_state")
        known = self._check_classes(classes, is_first)
        if len(unseen := np.setdiff1d(labels, known)):
            raise InputError(f"y has the class {unseen.tolist()[0]!r}, not one of {known.tolist()}; name all in the first call")
        record_features(self, X, reset=is_first)
        X, labels, weight = drop_zero_weights(X, labels, sample_weight)
        codes = np.searchsorted(known, labels)
        problem = self._problem(codes, weight, self._class_weights(known, codes, weight))
        if is_first:
            self._fit_embedding(X, labels)
        self.classes_ = known
        self._partial_fit_weights(X, problem, self._n_machine_columns)
        return self

    def _check_classes(self, classes: ArrayLike | None, is_first: bool) -> np.ndarray:
        """Return all classes there will be, which the first call of `partial_fit` gives."""
        if classes is None and is_first:
            raise InputError("classes=None in the first call of partial_fit: all are required; give classes=np.unique(y)")
        known = self.classes_ if classes is None else np.unique(classes)
        if not is_first:
            if np.array_equal(known, self.classes_):
                return self.classes_
            raise InputError(
                f"classes={known.tolist()} differ from those of the first call, {self.classes_.tolist()}; give the same or none"
            )
        if len(known) < 2:
            raise InputError(f"classes={known.tolist()}: at least two are required; name those of later blocks too")
        return known

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return scores W phi(x) + b, (n_items, n_classes); for two classes those of the second, (n_items,)."""
        f = self._decision_values(X)
        if len(self.classes_) > 2:
            return f
        return f[:, 0] if f.shape[1] == 1 else f[:, 1] - f[:, 0]

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class with the largest score, shape (n_items,)."""
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    @available_if(_is_calibrated)
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return calibrated probabilities, shape (n_items, n_classes), if the parameter ``calibration`` is not None."""
        curves, scores = self.score_curves_, self.decision_function(X)
        return curves.predict_proba(scores.reshape(len(scores), -1))

    @property
    def score_curves_(self) -> ScoreCurves:
        """With ``calibration`` the functions from scores to probabilities."""
        check_is_fitted(self, "_state")
        never = 'it was fitted without calibration; give calibration="logistic" or "isotonic", and call fit'
        reason = never if self.calibration is None else "fit was interrupted; call it again"
        check_is_fitted(self, "_calibrator", msg=f"%(name)s has scores but no probabilities: {reason}")
        return self._calibrator

    @property
    def coef_(self) -> Floats:
        """Weights of phi, shape (n_classes, n_columns), or (1, n_columns) for two classes."""
        return self._second_minus_first(self._coefficients()[0])

    @property
    def intercept_(self) -> Floats:
        """Intercepts, shape (n_classes,), or (1,) for two classes."""
        return self._second_minus_first(self._coefficients()[1])

    def _second_minus_first(self, by_column: Floats) -> Floats:
        """Return one row for two classes where Crammer and Singer's loss has two; anything else as it is."""
        return by_column[1:] - by_column[:1] if len(by_column) == 2 else by_column

    def _check(self) -> None:
        super()._check()
        check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        check_choice("calibration", self.calibration, (None, "logistic", "isotonic"))
        if self._joint and self.positive is not False:
            raise NotSupportedError('multi_class="crammer_singer" subtracts weights, so none stays positive; give "ovr"')
        if self._joint and self._squared:
            raise NotSupportedError(
                f'multi_class="crammer_singer" is a hinge over the classes, but loss={self.loss!r}; give loss="hinge"'
            )

    def _check_scores(self) -> None:
        check_sorted_classes(self.classes_)
        if hasattr(self, "_calibrator"):
            self._calibrator.check(1 if len(self.classes_) == 2 else len(self.classes_))

    @property
    def _joint(self) -> bool:
        return self.multi_class == "crammer_singer"

    @property
    def _n_machine_columns(self) -> int:
        return 1 if len(self.classes_) == 2 and not self._joint else len(self.classes_)

    def _labels(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        labels = as_classes(y, X)
        if not len(labels):
            raise InputError("X has 0 rows; at least one of every class is required: give rows")
        return labels

    def _class_weights(self, classes: np.ndarray, codes: Integers, weight: Floats | None) -> Floats:
        """Return C times the weight of every class, and C, shape (n_classes + 1,); "balanced" counts rows by their weights."""
        if self.class_weight == "balanced":
            totals = np.bincount(codes, weight)
            factors = totals.sum() / (len(classes) * totals)
        else:
            factors = compute_class_weight(self.class_weight, classes=classes, y=classes)
        if not (np.isfinite(factors) & (factors >= 0)).all():
            raise InputError(f"class_weight={self.class_weight!r}: finite factors >= 0 are required; correct or drop them")
        return self.C * np.append(factors, 1.0)

    def _problem(self, codes: Integers, weight: Floats | None, class_weights: Floats) -> Problem:
        return classification_problem(codes, weight, class_weights, squared=self._squared, joint=self._joint)
