"""Learning one scale a feature from items with classes or values, by the gradients of kernel ridge regression."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple, Never

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import as_floats, as_targets
from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.threads import one_blas_thread, thread_count
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_weights
from ...data.copies import come_again, effective_counts
from ...data.identical_items import identities
from ...data.rows import distinct_rows, items_named
from ...data.schema import Schema
from ..learning.gradient_scales import BaseScales, Round, weight_rounds
from ..learning.items import encode_class_labels
from ..learning.kernel_machine import Targets
from ..learning.options import EFFORTS
from ..learning.settings import Columns
from ..learning.structure import check_varied
from ..model.semimetric import Semimetric
from ..search.votes import neighbor_counts
from .base import LearnedCoordinates

_ROUNDS = {"fast": 1, "default": 2, "thorough": 4}  # of gradients for classes, by effort; values take twice as many
_MOST_ITEMS = {"fast": 500, "default": 1_000, "thorough": 2_000}  # that a round learns from


class UniformScales(NamedTuple):
    """Scales under which all features contribute equally, and the distinct items that they are of."""

    scales: BaseScales
    items: Floats  # (n_items, n_features)
    targets: Targets


@storable
class KernelRidgeLearner(LearnedCoordinates):
    """A distance of one scale a feature, under which kernel ridge regression predicts classes or values well.

    ``d(x, z) = sum_f w_f |phi_f(x_f) - phi_f(z_f)|``  where phi_f is half the value and half the rank of a number, each in
    units of its mean difference. Other kinds have the gaps of `Semimetric.gower`. Rounds of gradients learn the weights:

    ``min_f  sum_i s_i |y_i - f(x_i)|^2 + lambda |f|^2``  in the Hilbert space of exp(-d / h) + 1, a convex program, and then
    ``w_f = 1/4 + 3/4 g_f / mean(g)``  with the root mean square g_f of the derivative of f in phi_f.

    These are the rounds of recursive feature machines (Radhakrishnan et al. 2024), with L1 distances and one weight a feature
    in place of Euclid's distance after a linear map. The round with the least leave-one-out loss is taken; the first one has
    uniform weights.

    Parameters
    ----------
    target : {"values", "classes"}, default "values"
        What ``y`` holds.
    n_knots : int, default 16
        Most knots of the scale of a number, which lie at quantiles.
    columns : Columns or None, default None
        Kinds of the features: categories, angles, missing values. None is `Columns()`.
    preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
        The items that tuples name by row number, or by label (text or times) of the index of a frame. A callable takes the
        distinct names, shape (n_names,), and returns a table with a row for each. Tuples of points are taken too.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of samples.
    effort : {"fast", "default", "thorough"}, default "default"
        Rounds for classes, and items that they learn from, of more a sample: 1 and 500, 2 and 1,000, or 4 and 2,000. Values
        take twice as many rounds.

    Attributes
    ----------
    semimetric_ : Semimetric
        A metric, unless values may be missing or features are many.
    weights_ : ndarray of shape (n_features_in_,)
        The weight w_f of each feature; 0 of features that do not vary.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of each feature in the mean distance of two items.
    losses_ : ndarray of shape (n_rounds + 1,)
        Mean squared leave-one-out error of each round, for classes plus the error rate; the first has uniform weights.
    round_ : int
        The round that was taken. In round 0 no other weights were better than uniform ones, and all features count alike:
        ``refitted_columns`` of a classifier or regressor then says which of them matter.
    width_, strength_ : float
        The width h and the strength lambda in that round.
    classes_ : ndarray of shape (n_classes,)
        With ``target="classes"``.
    n_features_in_ : int

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> model = KernelRidgeLearner().fit(X, X[:, 0] ** 2)
    >>> int(model.weights_.argmax())
    0
    """

    _learns_from_items = True

    _built = "its scales are learned by steps of gradients, which solve no convex program"
    weights_: Stored[Floats]
    losses_: Stored[Floats]
    round_: Stored[int]
    width_: Stored[float]
    strength_: Stored[float]
    classes_: StoredIfSet[NDArray[Any]]
    solution_: Never  # every round has a program of its own
    recipe_: Never
    choices_: Never
    group_choices_: Never
    link_choices_: Never

    def __init__(
        self,
        target: str = "values",
        *,
        n_knots: int = 16,
        columns: Columns | None = None,
        preprocessor: Any = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str = "default",
    ) -> None:
        self.target = target
        self.n_knots = n_knots
        self.columns = columns
        self.preprocessor = preprocessor
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelRidgeLearner:
        """Learn from items and their classes or values.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features), or (n_items,) row numbers or labels with ``preprocessor``
        y : array-like of shape (n_items,)
        sample_weight : array-like of shape (n_items,) or None
            An item of weight 3 is as good as the item three times, and one of weight 0 as good as absent. Multiples of all
            weights give the same. A larger weight is no more evidence: it is left out whole.

        Raises
        ------
        InputError
            If the data cannot be used, or all classes or values are the same.
        """
        self._check()
        items, schema = self.read_items(items_named(X, self.preprocessor), min_items=2)
        weight = check_weights(sample_weight, len(items))
        counts = neighbor_counts(np.ones(len(items)) if sample_weight is None else as_floats(sample_weight, "sample_weight"))
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if self.target == "classes":
            labels = encode_class_labels(y, len(items), sample_weight, 0)
            self.classes_ = labels.classes
            codes = np.zeros(len(items), dtype=np.int64)
            codes[labels.used] = labels.codes
            known: NDArray[Any] = codes
        else:
            known = as_targets(y, items)
            if np.ptp(known[weight > 0]) == 0:
                raise InputError("all values in y are the same, so no distance follows from them; give values that differ")
        check_varied(items[weight > 0])
        base, rounds = self.rounds_of(schema, items, known, counts, np.random.default_rng(self.random_state))
        self.losses_ = np.array([found.loss for found in rounds])
        self.round_ = int(self.losses_.argmin())
        best = rounds[self.round_]
        self.weights_, (self.width_, self.strength_) = best.weights, best.setting
        self.n_features_in_ = items.shape[1]
        self.semimetric_ = Semimetric(**base.scales.parts(schema, base.items, best.weights))
        return self

    def rounds_of(
        self,
        schema: Schema,
        items: Floats,
        known: NDArray[Any],
        counts: Floats,
        rng: np.random.Generator,
        n_classes: int | None = None,
    ) -> tuple[UniformScales, list[Round]]:
        """Return the uniform scales of the distinct items, and the rounds that give them weights; the learner stays as it is.

        Parameters
        ----------
        schema : Schema
        items : ndarray of shape (n_items, n_features)
            Encoded.
        known : ndarray of shape (n_items,)
            Numbers of classes (int64), or values (float64).
        counts : ndarray of shape (n_items,)
            How many items each row is.
        rng : numpy.random.Generator
            Draws samples.
        n_classes : int or None
            None is the largest number of a class plus 1.
        """
        rows, targets = item_targets(items, known, counts, None, n_classes)
        distinct = items[rows]
        with blas_threads(self.n_jobs):
            scales = BaseScales.of(schema, distinct, targets.of_items()[1], self.n_knots)
            some = np.arange(len(rows))
            if len(rows) > _MOST_ITEMS[self.effort]:
                some = np.sort(rng.choice(len(rows), _MOST_ITEMS[self.effort], replace=False))
            n_rounds = _ROUNDS[self.effort] * (1 if self.target == "classes" else 2)
            rounds = weight_rounds(scales, some, targets.take(some), n_rounds=n_rounds, rng=rng, n_jobs=self.n_jobs)
        return UniformScales(scales, distinct, targets), rounds

    def _check(self) -> None:
        check_choice("target", self.target, ("values", "classes"))
        check_choice("effort", self.effort, EFFORTS)
        check_count("n_knots", self.n_knots, minimum=2)

    def check_restored(self) -> None:
        super().check_restored()
        self._check()
        n = len(self.stored_array("losses_", None))
        if not 0 <= self.round_ < n:
            raise InputError(f"round {self.round_} of {n} is to be the one that was taken; restore the file")
        if not self.stored_array("weights_", self.n_features_in_, least=0).any():
            raise InputError("weights_ are all 0, by which no items differ; restore the file")

    @property
    def feature_importances_(self) -> Floats:
        """Fraction of each feature in the mean distance of two items, shape (n_features_in_,)."""
        return self.weights_ / self.weights_.sum()

    @property
    def has_scales(self) -> bool:
        """True: each feature has one scale."""
        return True


def item_targets(
    items: Floats, known: NDArray[Any], counts: Floats, factors: Floats | None = None, n_classes: int | None = None
) -> tuple[Integers, Targets]:
    """Return the row of each distinct item, and what is predicted of it.

    ``items`` (n_items, n_features) are encoded, and ``known`` (n_items,) numbers of classes (int64) or values (float64).
    ``counts`` (n_items,) says how many items each row is; rows of 0 are left out. ``factors`` (n_classes,) says how much an
    item of each class counts; None is 1. ``n_classes=None`` is the largest number of a class plus 1.
    """
    found = distinct_rows(items, known, counts, always=True)
    assert found is not None  # there always are
    rows, weight = found.rows, found.weight
    identity = identities(items[rows])
    again = come_again(items[rows[identity.first]], identity.number, found.times)[identity.number]
    unit = np.where(again, weight / found.times, weight)
    scale = effective_counts(weight, unit) / weight
    weight, unit = scale * weight, scale * unit
    if known.dtype.kind != "i":
        return rows[identity.first], Targets(known[rows][:, None].astype(np.float64), weight, unit, identity.number, rows)
    classes = known[rows]
    if factors is not None:
        weight, unit = weight * factors[classes], unit * factors[classes]
    indicators = np.eye(int(known.max()) + 1 if n_classes is None else n_classes)[classes]
    return rows[identity.first], Targets(indicators, weight, unit, identity.number, rows, classes)


def blas_threads(n_jobs: int | None) -> Any:
    """Return a context in which BLAS has one thread, unless there are more jobs."""
    return one_blas_thread() if thread_count(n_jobs) == 1 else nullcontext()
