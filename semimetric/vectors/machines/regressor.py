"""Linear regression on an embedding that is never stored (paper 0, section 3.2; paper 1, section 5)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from ..._foundation.arrays import as_targets, check_squares, record_features
from ..._foundation.errors import InputError
from ..._foundation.stored import StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_alpha
from ..._kernels.coordinate_descent import Problem
from ..embeddings.base import FeatureMap
from .base import EmbeddedLinear, drop_zero_weights
from .rows import regression_problem


@storable
class EmbeddedLinearRegressor(RegressorMixin, EmbeddedLinear):
    """Linear regression with an epsilon-insensitive loss on an embedding that is computed row by row and never stored.

    It minimises ``|w|² / 2 + C sum_i s_i max(0, |y_i - m - w · phi(x_i)| - epsilon)^p`` with p = 1 or 2 and the weight of the
    intercept inside w. Here m is the weighted mean of y, or 0 without an intercept, so that values far from 0 cost nothing. The
    optimum is that of scikit-learn's ``LinearSVR`` on the stored embedding and y - m; with epsilon = 0 and p = 2 it is ridge
    regression of strength 1 / (2 C) (Maji 2011, section 5; Ho & Lin 2012).

    Parameters
    ----------
    embedding : FeatureMap, "linear" or None, default None
        Embedding of the rows; None is `PL1Embedding()`, "linear" the features as they are. One that is not fitted is cloned and
        fitted on X, y; a fitted one is used as it is.
    epsilon : float, default 0.0
        Residuals up to it cost nothing, in units of y.
    C : float, default 1.0
        Weight of the losses. Many passes are needed where C |phi|² is far above 10, so long rows need a small C: on covtype_75k
        |phi|² is 1,300 for PL2, and 46 for ``PL2Embedding(zero_preserving=True)``, which has the same functions.
    loss : {"squared_epsilon_insensitive", "epsilon_insensitive"}, default "squared_epsilon_insensitive"
        Squares of what residuals exceed ``epsilon`` by, or the excess itself.
    solver : {"dual", "newton", "pegasos"}, default "dual"
        Dual coordinate descent, until the duality gap is within ``tol``; Pegasos, without dual variables; or "newton", ten or
        twenty steps on squared losses (Keerthi & DeCoste 2005). It suits a few hundred of its at most 5,000 columns, since
        scales and large C do not slow it down; a warning says where rounding ends it first, with C |phi|² beyond 1e15.
    fit_intercept : bool, default True
        True adds a constant column, whose weight makes the intercept.
    intercept_scaling : float, default 1.0
        Value of this column, whose weight is penalised like the others (B of Maji 2011). It is the intercept without m.
    positive : bool or list of int or str, default False
        Weights that must not be negative, with the solver "dual": True means all but the intercept's; numbers or names of
        features mean the columns of these alone. It makes a weighted norm of a `ConicEmbedding` (Ceylan & Birbil 2020), and
        functions that never fall of a `BSplineEmbedding` with ``penalty_order=1``.
    tol : float, default 1e-4
        Relative duality gap at which "dual" and "newton" stop.
    max_iter : int or None, default None
        Largest number of passes over the rows: None is 1,000 for "dual" and 20 for "pegasos", which always makes all. With
        "newton" it is the largest number of steps of each column of weights, of about two passes; None is 200.
    warm_start : bool, default False
        True starts from the dual variables (or, with "newton" and "pegasos", the weights) of the fit before, and stores them.
        Weights of another objective, such as another C, count as one pass of "pegasos".
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
    embedding_ : FeatureMap
    coef_ : ndarray of shape (n_columns,)
    intercept_ : ndarray of shape (1,)
    offset_ : float
        m, which is a part of ``intercept_``; of the first block after `partial_fit`.
    n_iter_ : int
    duality_gap_ : float
        ``(P - D) / P``, P the objective at ``coef_`` and D a value of its dual, so the optimum is at least ``(1 - gap) P``.
        Loose for "pegasos"; NaN after `partial_fit`.
    status_ : Status
        SOLVED to ``tol``, LIMIT at ``max_iter``, INACCURATE where rounding ends "newton", FINISHED after all passes of
        "pegasos" and after `partial_fit`, or INTERRUPTED by Ctrl-C.
    n_features_in_ : int

    Examples
    --------
    >>> X = [[k / 200] for k in range(200)]
    >>> y = [(x - 0.3) ** 2 for (x,) in X]
    >>> bool(EmbeddedLinearRegressor(C=10).fit(X, y).score(X, y) > 0.99)
    True
    """

    offset_: StoredIfSet[float]
    _losses = ("squared_epsilon_insensitive", "epsilon_insensitive")

    def __init__(
        self,
        embedding: FeatureMap | str | None = None,
        *,
        epsilon: float = 0.0,
        C: float = 1.0,
        loss: str = "squared_epsilon_insensitive",
        solver: str = "dual",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        positive: Any = False,
        tol: float = 1e-4,
        max_iter: int | None = None,
        warm_start: bool = False,
        block_size: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        self.embedding = embedding
        self.epsilon = epsilon
        self.C = C
        self.loss = loss
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.positive = positive
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
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
            Finite targets.
        sample_weight : array-like of shape (n_items,) or None
            Factors of C, one a row. A row of weight 3 is the same as the row three times, and one of weight 0 as none.

        Raises
        ------
        InputError
            If the data or a parameter cannot be used.
        KeyboardInterrupt
            On Ctrl-C. The weights so far are kept, and a warning gives their gap.
        """
        self._check()
        values = self._targets(X, y)
        record_features(self, X, reset=True)
        X, values, weight = drop_zero_weights(X, values, sample_weight)
        X, rows, weight = self._without_repeats(X, values, weight)
        values = values[rows]
        self._fit_embedding(X, values)
        self._set_offset(values, weight)
        self._fit_weights(X, self._problem(values - self.offset_, weight), 1)
        self._raise_if_interrupted()
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take one stochastic step on every row of a block, as `EmbeddedLinearClassifier.partial_fit` does."""
        self._check()
        values = self._targets(X, y)
        is_first = not hasattr(self, "_state")
        record_features(self, X, reset=is_first)
        X, values, weight = drop_zero_weights(X, values, sample_weight)
        if is_first:
            self._fit_embedding(X, values)
            self._set_offset(values, weight)
        self._partial_fit_weights(X, self._problem(values - self.offset_, weight), 1)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the values w · phi(x) + b, shape (n_items,)."""
        return self._decision_values(X)[:, 0] + self.offset_

    @property
    def coef_(self) -> Floats:
        """Weights of phi, shape (n_columns,)."""
        return self._coefficients()[0][0]

    @property
    def intercept_(self) -> Floats:
        """The intercept, shape (1,)."""
        return self._coefficients()[1] + self.offset_

    def _check(self) -> None:
        super()._check()
        check_alpha("epsilon", self.epsilon)

    def check_restored(self) -> None:
        super().check_restored()
        self.offset_ = getattr(self, "offset_", 0.0)  # which earlier versions did not store
        if not np.isfinite(self.offset_):
            raise InputError(f"offset_={self.offset_} must be a finite number; restore the file")

    def _set_offset(self, values: Floats, weight: Floats | None) -> None:
        self.offset_ = float(np.average(values, weights=weight)) if self.fit_intercept else 0.0

    def _targets(self, X: ArrayLike, y: ArrayLike) -> Floats:
        values = as_targets(y, X)
        check_squares(values, "y")
        return values

    def _problem(self, values: Floats, weight: Floats | None) -> Problem:
        return regression_problem(values, weight, self.C, epsilon=self.epsilon, squared=self._squared)
