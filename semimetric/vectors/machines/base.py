"""The base of the linear classifier and regressor on an embedding (paper 0, section 3.2; paper 1, section 5).

The embedding is computed block by block wherever rows are needed, and is never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._foundation.arrays import as_vector, check_squares, input_errors, n_axes, record_features
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.iteration import Status
from ..._foundation.stored import Stored, StoredIfSet
from ..._foundation.tables import take_rows
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count, check_n_jobs
from ..._kernels.coordinate_descent import Machine, Problem
from ...data.rows import distinct_rows
from ...data.schema import column_numbers
from ..embeddings.base import FeatureMap, IdentityEmbedding
from ..embeddings.piecewise import PL1Embedding
from .dual_descent import DualDescent
from .fit import MAX_ITER, StoredMachine, TrainedState, fit_machine, partial_fit_machine
from .pegasos import Pegasos
from .primal_newton import MOST_COLUMNS, PrimalNewton
from .rows import EmbeddedRows, coefficients, decision_values, intercepts, zero_machine


class EmbeddedLinear(ShortRepr, SavedEstimator, BaseEstimator):
    """A linear model on an embedding: checks of parameters, training and decision values.

    A subclass makes the `Problem`, the losses of its rows, and says which values ``loss`` may have.
    """

    embedding: FeatureMap | str | None
    C: float
    loss: str
    solver: str
    fit_intercept: bool
    intercept_scaling: float
    positive: bool | Sequence[int | str]
    tol: float
    max_iter: int | None
    warm_start: bool
    block_size: int | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: bool | None
    _losses: tuple[str, ...]
    _state: Annotated[TrainedState, "stored", StoredMachine]
    embedding_: Stored[FeatureMap]
    n_iter_: Stored[int]
    duality_gap_: Stored[float]
    status_: Stored[Status]
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[NDArray[Any]]

    def as_stored(self) -> dict[str, Any]:
        stored = super().as_stored()
        return stored | {"_state": StoredMachine.of(self._state)}

    def check_restored(self) -> None:
        stored: Any = self.__dict__.pop("_state")  # a `StoredMachine`
        self._check()
        if not hasattr(self.embedding_, "n_columns_"):
            raise InputError("embedding_ is not fitted; restore the file")
        check_names(self, self.embedding_.n_features_in_)
        check_count("n_iter_", self.n_iter_, minimum=0)
        self._check_scores()
        self._state = stored.state(self.embedding_, self._n_machine_columns)

    def _check_scores(self) -> None: ...

    @property
    def _n_machine_columns(self) -> int:
        return 1

    def _check(self) -> None:
        check_choice("loss", self.loss, self._losses)
        check_choice("solver", self.solver, tuple(MAX_ITER))
        check_alpha("C", self.C, strict=True)
        check_alpha("tol", self.tol)
        for name in ("max_iter", "block_size"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_n_jobs(self.n_jobs)
        if self.positive is not False and self.solver != "dual":
            raise NotSupportedError(f'positive={self.positive!r} needs solver="dual", not {self.solver!r}; give that')
        if self.solver == "newton" and not self._squared:
            raise NotSupportedError(f'solver="newton" needs a squared loss, not loss={self.loss!r}; give "{self._losses[0]}"')
        if self.fit_intercept:
            check_alpha("intercept_scaling", self.intercept_scaling, strict=True)
        if not (self.embedding is None or self.embedding == "linear" or isinstance(self.embedding, FeatureMap)):
            raise InputError(f'embedding={self.embedding!r}: an embedding such as PL1Embedding(), "linear" or None is required')

    @property
    def _squared(self) -> bool:
        return self.loss.startswith("squared")

    def _chosen_embedding(self) -> FeatureMap:
        """Return the embedding that ``embedding`` stands for; it is fitted only if a fitted one was given."""
        if isinstance(self.embedding, FeatureMap):
            return self.embedding if hasattr(self.embedding, "n_columns_") else clone(self.embedding)
        return IdentityEmbedding() if self.embedding == "linear" else PL1Embedding()

    def _fit_embedding(self, X: ArrayLike, y: ArrayLike) -> None:
        embedding = self._chosen_embedding()
        self.embedding_ = embedding if hasattr(embedding, "n_columns_") else embedding.fit(X, y)

    def _without_repeats(
        self, X: ArrayLike, targets: np.ndarray, weight: Floats | None
    ) -> tuple[Any, Integers | slice, Floats | None]:
        """Return distinct rows of X, their numbers and summed weights; ``warm_start`` orders them whatever their weights."""
        embedding = self._chosen_embedding()
        items = embedding.encode(X, reset=not hasattr(embedding, "n_columns_"))
        counts = np.ones(len(targets)) if weight is None else weight
        found = distinct_rows(items, targets, counts, always=self.warm_start)
        return (X, slice(None), weight) if found is None else (take_rows(X, found.rows), found.rows, found.weight)

    def _embedded_rows(self, X: ArrayLike) -> EmbeddedRows:
        return EmbeddedRows(self.embedding_, self.embedding_.encode(X), self.block_size)

    def _zero_machine(self, n_classes: int) -> Machine:
        scaling = self.intercept_scaling if self.fit_intercept else 0.0
        return zero_machine(self.embedding_, n_classes, scaling, self._positive_columns())

    def _positive_columns(self) -> NDArray[np.bool_] | None:
        """Return a mask of the columns whose weights must not be negative, shape (n_columns,); None if all may be."""
        if self.positive is False:
            return None
        embedding = self.embedding_
        if self.positive is True:
            return np.ones(embedding.n_columns_, np.bool_)
        chosen = set(column_numbers(self.positive, embedding.feature_names, "positive"))
        columns = np.zeros(embedding.n_columns_, np.bool_)
        for term in embedding.terms_:
            columns[term.start : term.stop] = chosen.issuperset(term.features)
        return columns

    def _solver(self) -> DualDescent | PrimalNewton | Pegasos:
        random = check_random_state(self.random_state)
        max_iter = self.max_iter or MAX_ITER[self.solver]
        if self.solver == "dual":
            return DualDescent(self.tol, max_iter, random, self.verbose)
        if self.solver == "newton":
            if (d := self.embedding_.n_columns_) > MOST_COLUMNS:
                raise NotSupportedError(
                    f'{d:,} columns, and solver="newton" holds a square of at most {MOST_COLUMNS:,}; give solver="dual"'
                )
            return PrimalNewton(self.tol, max_iter, self.verbose)
        return Pegasos(max_iter, random, self.verbose)

    def _fit_weights(self, X: ArrayLike, problem: Problem, n_classes: int) -> None:
        """Train a machine with ``n_classes`` columns of weights, with ``warm_start`` from that of the fit before."""
        machine = self._zero_machine(n_classes)
        if self.warm_start and hasattr(self, "_state"):
            self._state = self._state.warm_start(machine, problem, stochastic=self.solver != "dual")
        else:
            self._state = TrainedState(machine)
        solver, rows = self._solver(), self._embedded_rows(X)
        if isinstance(self.embedding_, IdentityEmbedding):
            check_squares(np.asarray(rows.items.data), "X")
        report = fit_machine(solver, rows, problem, self._state, keep_dual=self.warm_start)
        self.n_iter_, self.duality_gap_, self.status_ = report

    def _raise_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C has ended the training, whose weights are set."""
        if self.status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt("interrupted; the weights so far are kept")

    def _partial_fit_weights(self, X: ArrayLike, problem: Problem, n_classes: int) -> None:
        """Take one stochastic step on every row of X, from zeros in the first call."""
        if self.positive is not False:
            raise NotSupportedError(f"partial_fit cannot hold weights at positive={self.positive!r}; give all rows to fit")
        if not hasattr(self, "_state"):
            self._state = TrainedState(self._zero_machine(n_classes))
        rows = self._embedded_rows(X)
        order = check_random_state(self.random_state).permutation(len(rows))
        partial_fit_machine(rows, problem, self._state, order)
        self._state.dual = None
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.duality_gap_ = np.nan
        self.status_ = Status.FINISHED

    def _decision_values(self, X: ArrayLike) -> Floats:
        """Return W phi(x) + b, shape (n_items, n_classes)."""
        check_is_fitted(self, "_state")
        rows = self._embedded_rows(X)
        record_features(self, X, reset=False)
        return decision_values(self._state.machine, rows, self.n_jobs)

    def _coefficients(self) -> tuple[Floats, Floats]:
        """Return the weights of phi, shape (n_classes, n_columns), and the intercepts, shape (n_classes,)."""
        if not hasattr(self, "_state"):
            raise AttributeError(f"{type(self).__name__} has no coefficients before fit")
        return coefficients(self._state.machine), intercepts(self._state.machine)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_embedding = self._chosen_embedding().__sklearn_tags__().input_tags
        tags.input_tags.sparse = of_embedding.sparse
        tags.input_tags.allow_nan = of_embedding.allow_nan
        return tags


def drop_zero_weights(X: ArrayLike, y: np.ndarray, sample_weight: ArrayLike | None) -> tuple[Any, np.ndarray, Floats | None]:
    """Return X, y and the weights without the rows of weight 0; the weights are None if None was given."""
    if sample_weight is None:
        return X, y, None
    if n_axes(sample_weight) == 0:
        raise InputError(f"sample_weight={sample_weight!r} is one number; one for every row is required: give an array")
    weight = as_vector(sample_weight, "sample_weight")
    with input_errors():
        check_consistent_length(X, weight)
    if (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be non-negative and not all zero; correct or drop it")
    keep = weight > 0
    if not keep.all():
        X = take_rows(X, np.flatnonzero(keep))
    return X, y[keep], weight[keep]
