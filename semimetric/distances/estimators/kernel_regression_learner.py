"""Learning a distance from items with values (Weinberger & Tesauro 2007, with gaps of features)."""

from __future__ import annotations

from typing import Any, Never

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.arrays import as_targets
from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, storable
from ..._foundation.threads import blocks, one_blas_thread
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_weights
from ...data.identical_items import identities
from ...data.rows import distinct_rows, items_named
from ...data.schema import Schema
from ..learning.kernel_regression import STEPS_BETWEEN, GapCoordinates, ValuedItems, slope_path
from ..learning.options import EFFORTS
from ..learning.settings import Columns
from ..learning.structure import check_varied
from ..model.known_distances import distance_parts
from ..model.semimetric import Semimetric
from ..search.votes import MOST_NEIGHBORS, HeldOutNeighbors, nearest_columns, neighbor_counts
from .base import LearnedCoordinates
from .votes import strata_of_values, usable_folds

_STEPS = {"fast": 75, "default": 150, "thorough": 300}  # the most, by effort
_REPEATS = {"fast": 1, "default": 1, "thorough": 3}  # how often the items are divided into folds
_MOST_SCORED, _MOST_VOTING = 500, 3_000  # most items held out, and items of the part, that score a number of steps
_BLOCK = 256  # items whose distances to all others are held at a time


@storable
class KernelRegressionLearner(LearnedCoordinates):
    """A weighted distance of features under which items with like values are near.

    ``min_w  sum_i s_i (y_i - yhat_i)^2``  where yhat_i is the mean of all other values y_j by ``s_j exp(-d_w(x_i, x_j))``, and
    ``d_w(x, y) = sum_f w_f gap_f(x_f, y_f)`` with the gaps of `Semimetric.gower`: metric learning for kernel regression
    (Weinberger & Tesauro 2007). It is not convex; gradient steps go from the distance to which all features contribute equally,
    and as many are made as are best on items held out, none at the least.

    Parameters
    ----------
    n_steps : int or "auto", default "auto"
        Gradient steps, which are counted in fives. "auto" chooses up to 150, with ``effort="fast"`` 75, "thorough" 300.
    columns : Columns or None, default None
        Kinds of the features: categories, angles, missing values. None is `Columns()`.
    preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
        The items that tuples name by row number, or by label (text or times) of the index of a frame. A callable takes the
        distinct names, shape (n_names,), and returns a table with a row for each. Tuples of points are taken too.
    random_state : int or None, default 0
        Seed of samples, splits and k-means.
    effort : {"fast", "default", "thorough"}, default "default"
        Work for settings on "auto": candidates, folds and rows, see docs/effort.md. ``choices_`` shows the work that was done.

    Attributes
    ----------
    semimetric_ : Semimetric
        A metric, unless values may be missing or features are many.
    slopes_ : ndarray of shape (n_features_in_,)
        The weight w_f of each feature, in units of 1 / the feature.
    n_steps_ : int
        The number of steps made.
    held_out_losses_ : ndarray of shape (n_folds, n_compared)
        The squared error of kernel means on each fold, relative to the variance of the values, after 0, 5, 10, ... steps.
    held_out_neighbors_ : list of HeldOutNeighbors
        The nearest items of those held out, after ``n_steps_`` steps on each fold; they are not saved.
    n_features_in_ : int

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> model = KernelRegressionLearner().fit(X, X[:, 0] ** 2)
    >>> int(model.slopes_.argmax())
    0
    """

    _learns_from_items = True

    slopes_: Stored[Floats]
    n_steps_: Stored[int]
    held_out_losses_: Stored[Floats]
    solution_: Never  # steps learn the distance, without a program
    recipe_: Never
    choices_: Never
    group_choices_: Never
    link_choices_: Never

    def __init__(
        self,
        *,
        n_steps: int | str = "auto",
        columns: Columns | None = None,
        preprocessor: Any = None,
        random_state: int | None = 0,
        effort: str = "default",
    ) -> None:
        self.n_steps = n_steps
        self.columns = columns
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.effort = effort

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelRegressionLearner:
        """Learn from items and their values.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features), or (n_items,) row numbers or labels with ``preprocessor``
        y : array-like of shape (n_items,)
        sample_weight : array-like of shape (n_items,) or None
            An item of weight 3 is as good as the item three times, and one of weight 0 as good as absent.

        Raises
        ------
        InputError
            If the data cannot be used, or all values are the same.
        """
        self._check()
        items, schema = self.read_items(items_named(X, self.preprocessor), min_items=2)
        values = as_targets(y, items)
        weight = check_weights(sample_weight, len(items))
        if np.ptp(values[weight > 0]) == 0:
            raise InputError("all values in y are the same, so no distance follows from them; give values that differ")
        check_varied(items[weight > 0])
        counts = neighbor_counts(weight if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
        found = distinct_rows(items, values, weight if sample_weight is None else counts, always=True)
        assert found is not None  # there always are
        rows, weight = found.rows, found.weight
        if sample_weight is None:
            weight = np.round(weight * len(items))
        with one_blas_thread():
            self._learn(items[rows], schema, values[rows], weight)
        return self

    def _learn(self, items: Floats, schema: Schema, values: Floats, weight: Floats) -> None:
        """Choose the number of steps, and make them on all distinct items."""
        mean = np.average(values, weights=weight)
        scale = np.sqrt(np.average((values - mean) ** 2, weights=weight)) or 1.0
        identity = identities(items).number
        data = ValuedItems(GapCoordinates.of(schema, items), (values - mean) / scale, weight, identity)
        most = _STEPS[self.effort] if isinstance(self.n_steps, str) else self.n_steps
        folds = self._folds(items, values)
        paths = [slope_path(data, part, most, self.random_state) for part, _ in folds]
        self.held_out_losses_ = np.empty((len(folds), most // STEPS_BETWEEN + 1))
        for f, (fold, path) in enumerate(zip(folds, paths, strict=True)):
            self.held_out_losses_[f] = [_held_out_loss(data, slopes, *fold) for slopes in path]
        chosen = most // STEPS_BETWEEN
        if isinstance(self.n_steps, str):
            chosen = int(self.held_out_losses_.mean(axis=0).argmin()) if folds else 0
        self.n_steps_ = chosen * STEPS_BETWEEN
        self.held_out_neighbors_ = [
            _neighbors(data, values, path[chosen], *fold) for fold, path in zip(folds, paths, strict=True)
        ]
        everything = np.arange(len(items))
        self.slopes_ = slope_path(data, everything, most, self.random_state)[chosen]
        self.n_features_in_ = items.shape[1]
        self.semimetric_ = Semimetric(**distance_parts(schema, items, self.slopes_))

    def _folds(self, items: Floats, values: Floats) -> list[tuple[Integers, Integers]]:
        """Return rows to learn from and to score, with like values on both sides."""
        seed, strata = self.random_state or 0, strata_of_values(values)
        repeats = range(_REPEATS[self.effort])
        return [fold for repeat in repeats for fold in usable_folds(items, strata, seed + repeat, n_strata=1)]

    def _check(self) -> None:
        """Refuse parameters that are unknown."""
        check_choice("effort", self.effort, EFFORTS)
        if isinstance(self.n_steps, str):
            check_choice("n_steps", self.n_steps, ("auto",))
        else:
            check_count("n_steps", self.n_steps, minimum=0)

    def check_restored(self) -> None:
        super().check_restored()
        self._check()
        if self.slopes_.shape != (self.n_features_in_,):
            raise InputError(
                f"there are slopes of shape {self.slopes_.shape} for {self.n_features_in_} features; restore the file"
            )

    @property
    def has_scales(self) -> bool:
        """True: each feature has one scale."""
        return True


def _held_out_loss(data: ValuedItems, slopes: Floats, part: Integers, held: Integers) -> float:
    """Return the weighted mean squared error of kernel means of items held out; of many items, some are taken."""
    held, part = _some(held, _MOST_SCORED), _some(part, _MOST_VOTING)
    errors = data.predicted(slopes, held, part)[0] - data.values[held]
    return float(data.weight[held] @ errors**2 / data.weight[held].sum())


def _some(rows: Integers, most: int) -> Integers:
    """Return evenly spaced ones of many rows, whose order is arbitrary."""
    return rows[:: -(-len(rows) // most)]


def _neighbors(data: ValuedItems, values: Floats, slopes: Floats, part: Integers, held: Integers) -> HeldOutNeighbors:
    items = data.coordinates.scaled(slopes, part)
    queries = (data.coordinates.scaled(slopes, held[block]) for block in blocks(len(held), _BLOCK))
    found = [nearest_columns(cdist(block, items, "cityblock"), MOST_NEIGHBORS) for block in queries]
    distances, near = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    weight = data.weight[part][near]
    return HeldOutNeighbors(
        distances, values[part][near], values[held], data.weight[held],
        neighbor_weight=None if (weight == 1).all() else weight,
    )  # fmt: skip
