"""What every learner of a distance shares once it is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._checks import check_pairs
from .._types import ArrayLike, Floats, Pairs
from ..distance import Semimetric
from ..outside import warn_outside
from ..solvers.base import Solution

__all__ = ["LearnedDistance", "feature_names"]


def feature_names(X: Any, n_features: int) -> tuple[str, ...]:
    """Column names of a frame, or x0, x1, ..."""
    columns = getattr(X, "columns", None)
    if columns is not None and all(isinstance(c, str) for c in columns) and len(columns) == n_features:
        return tuple(columns)
    return tuple(f"x{k}" for k in range(n_features))


class LearnedDistance(BaseEstimator):
    """A learner with `semimetric_`; the methods have metric-learn's names.

    Attributes
    ----------
    semimetric_ : Semimetric
        The learned distance: a frozen value, callable, that saves, plots and explains itself.
    solution_ : Solution
        Objective, certified gap, iterations, status and which solver was chosen.
    n_features_in_ : int
    """

    semimetric_: Semimetric
    solution_: Solution
    preprocessor: ArrayLike | None

    def _pairs(self, pairs: ArrayLike, *, n_features: int | None = None, names: Sequence[str] = ()) -> Pairs:
        return check_pairs(pairs, self.preprocessor, n_features=n_features, names=names)

    def pair_distance(self, pairs: ArrayLike) -> Floats:
        """Learned distances, shape (n_pairs,), float64; a `SemimetricWarning` says how many items lie outside the range.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) integers with ``preprocessor``
        """
        check_is_fitted(self, "semimetric_")
        checked = self._pairs(pairs, n_features=self.n_features_in_, names=self.semimetric_.feature_names)
        warn_outside(self.semimetric_, checked.used)
        return self.semimetric_.paired_by_index(checked.items, checked.index, n_jobs=getattr(self, "n_jobs", None))

    def pair_score(self, pairs: ArrayLike) -> Floats:
        """Minus the distance: larger is more alike."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> Semimetric:
        """The distance as a callable of two vectors: a ``metric`` for scikit-learn, and picklable.

        For many points prefer ``semimetric_.pairwise(X)`` with ``metric="precomputed"``: a Python call a pair is slow.
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_

    def transform(self, X: ArrayLike) -> Floats:
        """Coordinates whose L1 distance is the learned distance; only for ``tables="warped"``.

        Raises
        ------
        NotSupportedError
            For other models, saying what to use instead.
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.transform(X)

    def _record(self, semimetric: Semimetric, solution: Solution) -> None:
        """Keep what was learned; an interrupted solution is kept too, and Ctrl-C goes on to whoever called."""
        self.semimetric_, self.solution_ = semimetric, solution
        solution.raise_if_interrupted()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "semimetric_")

    def _names(self, source: Any, n_features: int) -> Sequence[str]:
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        names = feature_names(source, n_features)
        if getattr(source, "columns", None) is not None and len(names) == n_features:
            self.feature_names_in_ = np.array(names, dtype=object)
        return names
