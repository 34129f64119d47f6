"""Classes under a distance that is learned first: by a kernel machine, or by the votes of nearest neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import has_fit_parameter

from ..._foundation.arrays import as_classes, as_floats
from ..._foundation.errors import InputError, NotSupportedError, silent, warn
from ..._foundation.progress import Stopwatch, check_time_budget
from ..._foundation.real_numbers import shown
from ..._foundation.stored import StoredIfSet, storable
from ..._foundation.tables import take_rows
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_weights, weight_option
from ...data.schema import LEFT_OUT
from ..learning.parts_comparison import compare_with_parts
from ..learning.search import Choices
from ..learning.settings import Columns
from ..search.votes import HeldOutNeighbors, Voters, VoteRule, choose_votes
from .kernel_ridge_learner import KernelRidgeLearner, blas_threads, item_targets
from .large_margin_learner import LargeMarginLearner
from .prediction_counterfactuals import Reaches
from .prediction_explanations import class_number
from .votes import HeldOutSearch, LearnedNeighbors, as_chosen

_OF_MACHINE = ("machine_", "_to_centers", "held_out_outputs_", "groups_")
_OF_LEARNER = 0.9  # of a time budget


@storable
class SemimetricClassifier(ClassifierMixin, LearnedNeighbors):
    """Kernel ridge regression, or k nearest neighbors, under a distance learned from the classes.

    The machine has a score for each class, ``f_c(x) = sum_i a_ic (exp(-d(x, x_i) / h) + 1) + m_c``, the optimum of
    ``min_f  sum_i s_i |y_i - m - f(x_i)|^2 + lambda |f|^2``  for indicators y_i of classes, in the Hilbert space of its kernel.
    This is a convex program, as d embeds in L1 (docs/mathematics.md, section 10). Probabilities are softmax(slope f + shifts),
    fitted to leave-one-out scores, or of many columns and with groups to scores by folds. Up to 16,000 items all are centers
    x_i, of more 2,000 are.

    By default the distance has one scale a feature. Its user can read it. Where items held out say that components or a
    forest are better by over two standard errors, these are learned instead, with votes; ``choices_`` shows the losses.

    Parameters
    ----------
    learner : estimator or None, default None
        Has ``fit(X, y)`` and ``semimetric_``; None is a `KernelRidgeLearner` of classes, or a `LargeMarginLearner` where
        neighbors predict. Its parameters are set as ``learner__effort`` and so on, those of the default one too.
    columns : Columns or None, default None
        Kinds of the columns, in place of those of the learner. None reads a frame as it is, see `Columns`.
    predictor : {"auto", "kernel_ridge", "neighbors"}, default "auto"
        "kernel_ridge" is the machine, whose width h and strength lambda have the least leave-one-out loss of those compared.
        "neighbors" are votes. "auto" is the machine if ``learner`` is a `KernelRidgeLearner`; if ``learner`` is None it
        compares; with `n_neighbors` or `weights`, or other learners, it is votes.
    n_neighbors : int or "auto", default "auto"
        Neighbors that vote, and all that are tied with the last of them; all items vote if there are fewer.
        On "auto", or with `weights` on "auto" or "kernel", the rule is chosen on held-out items: it has the least sum of the
        error rate and the log loss. The held-out items are those that the learner stored as ``held_out_neighbors_``.
        Without them, the items are held out in three folds, or one part of more than 3,000 items is. For each, the distance
        is learned again with the chosen settings. Fractions of classes are smoothed, so that none is 0. If nothing can be
        held out, the 3 nearest vote alike.
    weights : {"auto", "uniform", "distance", "kernel"}, default "auto"
        Votes count alike, by 1 / distance (neighbors at distance 0 then vote alone), or by a kernel exp(-(d - d_1) / h) with
        the distance d_1 of the nearest and a chosen width h: a distance, or a multiple of that to the 5th or 45th neighbor.
    class_weight : None, "balanced" or dict, default None
        Weight of an item of each class. It counts in learning, in votes, and in the choice of the rule of votes, but does not
        change which neighbors vote. "balanced" is n / (n_classes n_c) for a class with n_c of the n items. A dict gives
        weights to the classes that it names; the others have weight 1. Where a machine predicts, weights are divided by their
        mean over the items.
    algorithm : {"exact", "approximate", "brute"}, default "exact"
        Search for neighbors. "exact" proves that no other item is nearer, "approximate" refines the items whose cells are
        typically nearest, and "brute" computes every distance. Returned distances are exact in each case.
    n_jobs : int or None, default None
        Threads of the search, and of a learner whose own ``n_jobs`` is None: None is one, -1 all.
    random_state : int, RandomState or None, default None
        Seed of the folds, and of the learner in place of its own; None leaves the learner as it is.
    effort : {"fast", "default", "thorough"} or None, default None
        Replaces the ``effort`` of the learner for what is "auto"; None leaves the learner as it is.
    time_budget : float or None, default None
        Seconds that a fit should take. A learner with a ``time_budget`` has nine tenths of them, the rest is for the index and
        the votes. Where "auto" compares, components and forest have what the machine has left. A stage is begun only if as many
        seconds are left as the stage before took, and is not cut short; docs/effort.md says what this bounds. Folds for the
        probabilities of many columns are learned beside it. None leaves the learner as it is.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    semimetric_ : Semimetric
    columns_ : Schema
        What was understood of the columns; printed, a line.
    index_ : NeighborIndex
    classes_ : ndarray
    machine_ : KernelMachine
        Centers, coefficients, width, strength and certified gap; where a machine predicts.
    choices_ : Choices
        Losses of scales, components and forest on items held out, where "auto" compared; printed, a table.
    held_out_outputs_ : ndarray of shape (n_items, n_outputs)
        Outputs of each item by scales and a machine that were learned without its fold: where columns are many, items few, or
        `fit` has groups. NaN where the weight is 0.
    groups_ : ndarray of shape (n_items,)
        The numbers of these groups.
    vote_rule_ : VoteRule
        The number of neighbors that vote, and their weights; printed, in words. Where neighbors predict.
    n_neighbors_ : int
    weights_ : str
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fractions of the features in the distance, where the learner has them.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SemimetricClassifier().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    choices_: StoredIfSet[Choices]

    def __init__(
        self,
        learner: Any = None,
        *,
        columns: Columns | None = None,
        predictor: str = "auto",
        n_neighbors: int | str = "auto",
        weights: str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        algorithm: str = "exact",
        n_jobs: int | None = None,
        random_state: Any = None,
        effort: str | None = None,
        time_budget: float | None = None,
    ) -> None:
        self.learner = learner
        self.columns = columns
        self.predictor = predictor
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.class_weight = class_weight
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort
        self.time_budget = time_budget

    def _default_learner(self) -> LargeMarginLearner | KernelRidgeLearner:
        return KernelRidgeLearner("classes") if self._asks_for_machine else LargeMarginLearner()

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> SemimetricClassifier:
        """Learn the distance from X (n_items, n_features) and the classes y, and index the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
        sample_weight : array-like of shape (n_items,) or None
            An item of weight 3 learns and predicts like the item three times, and is three of the neighbours; one of weight
            0 neither learns nor predicts. Votes are counted with the weights divided by ``min(1, max(sample_weight))``, so that
            weights that sum to 1 leave the number of neighbours what it is. Multiples of all weights give the same
            machine. A larger weight is no more evidence: it is left out whole.
        groups : array-like of shape (n_items,) or None
            Names or numbers of what items come together from, such as subjects or sites. Probabilities are then those of new
            groups: scales and machine are learned again from folds of the groups. The distance, width and strength are chosen
            by all items, as without groups. Groups are for the kernel machine on scales, which is not compared with components
            and trees then.

        Raises
        ------
        InputError
            If the data cannot be used, or there are weights and the learner takes none; NotSupportedError if parameters of the
            learner do not go together.
        """
        self._check()
        labels = as_classes(y, X)
        if not len(labels):
            raise InputError("X has 0 items, but a minimum of 1 is required; give items to learn from")
        watch, seed = Stopwatch(), self._seed(self.random_state)
        seconds = check_time_budget(self.time_budget)
        used = check_weights(sample_weight, len(labels)) > 0
        numbers = self._group_numbers(groups, len(labels), sample_weight)
        self._set_classes(labels, used, sample_weight)
        self._forget(*_OF_MACHINE, "vote_rule_", "choices_")
        if self._asks_for_machine:
            scales = self._own_learner(self.random_state)
            compares = self.learner is None and self.predictor == "auto" and numbers is None
            self._limit(scales, None if compares else seconds)
            self._learn(scales, X, y, labels, sample_weight)
            fitted = self._fit_machine(self._codes, seed, len(self.classes_))
            if not compares or self._keeps_scales(seconds, watch, seed):
                self._measured_by_folds(fitted, self._codes, numbers, seed)
                return self
            self._forget(*_OF_MACHINE)
            seconds = None if seconds is None else seconds - watch.seconds
        learner = self._own_learner(self.random_state, LargeMarginLearner)
        self._limit(learner, seconds)
        with silent(*((LEFT_OUT,) if self._asks_for_machine else ())):  # the machine's learner has warned of them
            weight = self._learn(learner, X, y, labels, sample_weight)
        self.vote_rule_ = self._given_rule or self._chosen_rule(learner, X, labels, weight, seed)
        return self

    def _learn(self, learner: Any, X: ArrayLike, y: ArrayLike, labels: Any, sample_weight: ArrayLike | None) -> Floats | None:
        """Fit the learner, and index the items; return the weights that the learner was given."""
        weight = weights_of_classes(learner, sample_weight, self._factors, self._codes)
        self.learner_ = learner.fit(X, y, **weight_option(learner, weight))
        self._index(X, labels, sample_weight)
        return weight

    def _keeps_scales(self, seconds: float | None, watch: Stopwatch, seed: int) -> bool:
        """Return False if components and a forest are far better on items held out, and there is time to learn them."""
        if not _has_time(seconds, watch, watch.seconds, "are not compared with it"):
            return True
        before = watch.seconds
        if self._scales_suffice(seed):
            return True
        if _has_time(seconds, watch, watch.seconds - before, "which are better on items held out, are not learned"):
            return False
        self._forget("choices_")
        return True

    def _scales_suffice(self, seed: int) -> bool:
        """Compare scales with components and a forest on items held out, and return True if these are not far better."""
        items, d, machine = self.index_.encoded_items_, self.semimetric_, self.machine_
        counts = np.ones(len(items)) if self._weight is None else self._weight
        rows, targets = item_targets(items, self._codes, counts, self._factors, len(self.classes_))
        with blas_threads(self.n_jobs):
            self.choices_ = compare_with_parts(
                d, machine.width, machine.strength, d.schema, items[rows], targets, random_state=seed, n_jobs=self.n_jobs
            )
        return not self.choices_ or self.choices_.chosen is self.choices_[0]

    def _limit(self, learner: Any, seconds: float | None) -> None:
        if seconds is None:
            return
        if "time_budget" not in learner.get_params():
            raise InputError(f"time_budget= is for the learner, and {type(learner).__name__} has none; leave it out")
        learner.set_params(time_budget=_OF_LEARNER * seconds)

    def _set_classes(self, labels: Any, used: Any, sample_weight: ArrayLike | None) -> None:
        """Record the classes of the used items, the number of the class of every item, and the weights of classes."""
        self.classes_ = np.unique(labels[used])
        self._codes = np.searchsorted(self.classes_, np.where(used, labels, self.classes_[0]))  # unused ones have no vote
        weight = check_weights(sample_weight, len(labels))
        total = np.bincount(self._codes, weights=weight, minlength=len(self.classes_)).astype(np.float64)
        self._factors = class_factors(self.class_weight, self.classes_, total)
        if self._factors is not None and self._asks_for_machine:  # a machine has strengths for weights of mean 1
            self._factors = self._factors * total.sum() / (self._factors @ total)
        counted = total if self._factors is None else total * self._factors
        self._class_shares = counted / counted.sum()

    @property
    def _known(self) -> NDArray[Any]:
        return self._codes

    def _set_targets(self, targets: NDArray[Any], used: NDArray[np.bool_]) -> NDArray[Any]:
        labels = as_classes(targets, targets)
        self._set_classes(labels, used, self._weight)
        return labels

    def _chosen_rule(self, learner: Any, X: ArrayLike, labels: Any, weight: Any, seed: int) -> VoteRule:
        """Choose the rule on items held out; ``weight`` is what the learner was given."""
        parts = self._stored_parts(weight) or self._parts(learner, X, labels, weight, seed)
        if not parts:
            return self._rule_for_few
        return choose_votes(parts, self.n_neighbors, self.weights)[0]

    def _stored_parts(self, weight: Any) -> list[HeldOutNeighbors]:
        """Return held-out neighbors that the learner stored of its choice, if it has the same classes."""
        stored = getattr(self.learner_, "held_out_neighbors_", None) or []
        same = np.array_equal(getattr(self.learner_, "classes_", ()), self.classes_)
        return [self._without_factors(part, weight) for part in stored] if same else []

    def _without_factors(self, part: HeldOutNeighbors, weight: Any) -> HeldOutNeighbors:
        """Divide the class weights out of the stored neighbors, so that they do not count twice."""
        if self._factors is None or part.neighbor_weight is None:
            return replace(part, class_weight=self._factors)
        own = 1.0 if self._weight is None else min(1.0, float(self._weight.max()))
        counts = part.neighbor_weight * min(1.0, float(np.max(weight))) / self._factors[part.neighbor_targets] / own
        return replace(part, class_weight=self._factors, neighbor_weight=counts)

    def _parts(self, learner: Any, X: ArrayLike, labels: Any, weight: Any, seed: int) -> list[HeldOutNeighbors]:
        """Return held-out neighbors of folds, for each of which the distance is learned with the chosen settings."""
        again = as_chosen(learner, self.learner_)

        def learn(rows: Integers) -> Any:
            option = {} if weight is None else weight_option(again, weight[rows])
            return again.fit(take_rows(X, rows), labels[rows], **option).semimetric_

        search = HeldOutSearch(X, self._codes, self._weight, learn, self.n_jobs)
        found = search.folds(self.index_.encoded_items_, self._codes, seed, n_strata=min(2, len(self.classes_)))
        factors = np.ones(len(self.classes_)) if self._factors is None else self._factors
        return [
            replace(
                part, weight=part.weight * factors[part.targets], class_shares=self._class_shares, class_weight=self._factors
            )
            for part in found
        ]

    def _votes(self, voters: Voters) -> Floats:
        votes = super()._votes(voters)
        return votes if self._factors is None else votes * self._factors[self._codes[voters.indices]]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return probabilities of classes: of the machine, or the fraction of votes for each, shape (n_queries, n_classes)."""
        return self._probabilities(self._queries(X))

    def _probabilities(self, queries: Floats) -> Floats:
        if hasattr(self, "machine_"):
            return self._by_machine(self.machine_.probabilities, queries)
        out = np.empty((len(queries), len(self.classes_)))
        for found in self._voters(queries):
            near = found.distances, self._codes[found.indices], self._class_shares, found.weight, self._factors
            out[found.queries] = self.vote_rule_.probabilities(*near)
        return out

    def predict(self, X: ArrayLike) -> Any:
        """Return the class with the largest probability; of several, the first in ``classes_``."""
        return self._answers(self._queries(X))

    def _answers(self, queries: Floats) -> Any:
        return self.classes_[self._probabilities(queries).argmax(axis=1)]

    def _reaches(self, query: Floats, target: Any, min_probability: float | None) -> Reaches:
        least = 0.0 if min_probability is None else float(min_probability)
        if not 0.0 <= least < 1.0:
            raise InputError(f"min_probability={min_probability!r}: a number from 0 to below 1 is required")
        wanted = np.arange(len(self.classes_)) == (-1 if target is None else class_number(target, self.classes_))
        if target is None:
            wanted = np.arange(len(self.classes_)) != self._probabilities(query).argmax()

        def reaches(rows: Floats) -> NDArray[np.bool_]:
            chances = self._probabilities(rows)
            return wanted[chances.argmax(axis=1)] & (chances.max(axis=1) >= least)

        return reaches

    @property
    def _score_name(self) -> str:
        if not hasattr(self, "machine_"):
            return "probability"
        return "log odds" if len(self.classes_) <= 2 else "mean log odds against each other class"

    def _scores(self, queries: Floats) -> Floats:
        return self._by_machine(self.machine_.scores, queries) if hasattr(self, "machine_") else self._probabilities(queries)

    def _pushes_of_votes(self, fractions: Floats, rows: Integers, base: Floats) -> Floats:
        return fractions[:, None] * np.where(self._codes[rows][:, None] == np.arange(len(self.classes_)), 1.0, -1.0)


def _has_time(seconds: float | None, watch: Stopwatch, last: float, consequence: str) -> bool:
    """Return True if as many seconds of a budget are left as the ``last`` stage took; warn of the consequence otherwise."""
    if seconds is None or last <= seconds - watch.seconds:
        return True
    warn(
        f"time_budget={seconds:g}: {watch.seconds:.2g} s have passed, and the last stage took {last:.2g} s. The machine on "
        f"scales is kept, and components and forest {consequence}; give at least {watch.seconds + last:.2g}",
        cause="time budget too short",
    )
    return False


def class_factors(class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], total: Floats) -> Floats | None:
    """Return the weight of an item of each class, shape (n_classes,); None if all count alike.

    ``class_weight`` is None, "balanced" or a mapping. ``total`` (n_classes,) are the summed weights of the items by class.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return total.sum() / (len(classes) * total)
    if not isinstance(class_weight, Mapping):
        raise InputError(f'class_weight={class_weight!r} is not known; use None, "balanced", or a dict of classes and numbers')
    names = classes.tolist()
    if unknown := [name for name in class_weight if name not in names]:
        raise InputError(f"class_weight= names {unknown[0]!r}, but the classes are {names}; name only these")
    factors = as_floats([class_weight.get(name, 1.0) for name in names], "class_weight")
    if not np.isfinite(factors).all() or (factors <= 0).any():
        raise InputError(
            f"class_weight={shown(dict(class_weight))}: finite numbers > 0 are required; leave items of a class out instead"
        )
    return factors


def weights_of_classes(learner: Any, sample_weight: ArrayLike | None, factors: Floats | None, codes: Integers) -> Floats | None:
    """Return the weights of the items times those of their classes, for the learner; None if there are neither."""
    if factors is None:
        return None if sample_weight is None else as_floats(sample_weight, "sample_weight")
    if not has_fit_parameter(learner, "sample_weight"):
        raise NotSupportedError(
            f"class_weight= weighs items, and {type(learner).__name__}.fit takes no weights; drop it, or give another learner"
        )
    return factors[codes] if sample_weight is None else as_floats(sample_weight, "sample_weight") * factors[codes]
