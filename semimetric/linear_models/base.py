"""Linear machines on an embedding that is never stored (paper 0, section 3.2; paper 1, section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_alpha, check_choice, check_count, check_n_jobs
from .._kernels.descent import Problem
from ..embeddings.vectors.base import FeatureMap
from ..embeddings.vectors.identity import IdentityEmbedding
from ..embeddings.vectors.piecewise import PL1Embedding
from .training.dual_descent import DualDescent
from .training.embedded_rows import EmbeddedRows, take
from .training.pegasos import Pegasos
from .training.fit import PASSES, TrainedState, learn, learn_more
from .training.coefficients import coefficients, empty_machine, intercepts, scores

__all__ = ["EmbeddedLinear", "weighted"]


class EmbeddedLinear(BaseEstimator):
    """What both machines share: embedding, learning, scores; subclasses say what the rows ask for."""

    embedding: FeatureMap | str | None
    C: float
    loss: str
    solver: str
    fit_intercept: bool
    intercept_scaling: float
    tol: float
    max_iter: int | None
    warm_start: bool
    block_size: int | None
    n_jobs: int | None
    random_state: Any
    verbose: bool
    _losses: tuple[str, ...]

    def _check(self) -> None:
        check_choice("loss", self.loss, self._losses)
        check_choice("solver", self.solver, tuple(PASSES))
        check_alpha("C", self.C, strict=True)
        check_alpha("tol", self.tol)
        for name in ("max_iter", "block_size"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_n_jobs(self.n_jobs)
        if self.fit_intercept:
            check_alpha("intercept_scaling", self.intercept_scaling, strict=True)
        if not (self.embedding is None or self.embedding == "linear" or isinstance(self.embedding, FeatureMap)):
            raise InputError(f'embedding={self.embedding!r}: an embedding such as PL1Embedding(), "linear" or None is required')

    @property
    def _squared(self) -> bool:
        return self.loss.startswith("squared")

    def _chosen(self) -> FeatureMap:
        """The embedding, not fitted unless it was given so."""
        if isinstance(self.embedding, FeatureMap):
            return self.embedding if hasattr(self.embedding, "n_columns_") else clone(self.embedding)
        return IdentityEmbedding() if self.embedding == "linear" else PL1Embedding()

    def _embed(self, X: ArrayLike, y: ArrayLike) -> None:
        embedding = self._chosen()
        self.embedding_ = embedding if hasattr(embedding, "n_columns_") else embedding.fit(X, y)

    def _rows(self, X: ArrayLike) -> EmbeddedRows:
        return EmbeddedRows(self.embedding_, self.embedding_.encode(X), self.block_size)

    def _learn(self, X: ArrayLike, problem: Problem, n_classes: int) -> None:
        """Run the solver, from what is known with ``warm_start``."""
        before: TrainedState | None = getattr(self, "_state", None) if self.warm_start else None
        machine = empty_machine(self.embedding_, n_classes, self.intercept_scaling if self.fit_intercept else 0.0)
        self._state = (
            TrainedState(machine) if before is None else before.carried(machine, problem, stochastic=self.solver != "dual")
        )
        random, passes = check_random_state(self.random_state), self.max_iter or PASSES[self.solver]
        dual, pegasos = DualDescent(self.tol, passes, random, self.verbose), Pegasos(passes, random, self.verbose)
        rows = self._rows(X)
        self.n_iter_, self.duality_gap_, self.status_ = learn(
            dual if self.solver == "dual" else pegasos, rows, problem, self._state, keep=self.warm_start
        )

    def _learn_more(self, X: ArrayLike, problem: Problem, n_classes: int) -> None:
        if not hasattr(self, "_state"):
            scaling = self.intercept_scaling if self.fit_intercept else 0.0
            self._state = TrainedState(empty_machine(self.embedding_, n_classes, scaling))
        rows = self._rows(X)
        order = check_random_state(self.random_state).permutation(len(rows))
        learn_more(rows, problem, self._state, order)
        self._state.dual, self.n_iter_, self.duality_gap_ = None, getattr(self, "n_iter_", 0) + 1, np.nan
        self.status_ = "done"

    def _scores(self, X: ArrayLike) -> Floats:
        check_is_fitted(self, "_state")
        machine = self._state.machine
        rows = self._rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return scores(machine, rows, self.n_jobs)

    def _coefficients(self) -> tuple[Floats, Floats]:
        """Of phi, shape (n_classes, n_columns), and the intercepts."""
        if not hasattr(self, "_state"):
            raise AttributeError(f"{type(self).__name__} has no coefficients before fit")
        return coefficients(self._state.machine), intercepts(self._state.machine)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._chosen().__sklearn_tags__().input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def weighted(X: ArrayLike, y: np.ndarray, sample_weight: ArrayLike | None) -> tuple[Any, np.ndarray, Floats | None]:
    """Rows of positive weight; weights None where all are 1."""
    if sample_weight is None:
        return X, y, None
    if np.asarray(sample_weight).ndim == 0:
        raise InputError(f"sample_weight={sample_weight!r} is one number; one for every row is required: give an array")
    weight = column_or_1d(check_array(sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"))
    check_consistent_length(X, weight)
    if (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be non-negative and not all zero; correct or drop it")
    keep = weight > 0
    if not keep.all():
        X = take(X, np.flatnonzero(keep))
    return X, y[keep], weight[keep]
