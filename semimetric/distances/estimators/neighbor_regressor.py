"""Values under a distance that is learned first: by a kernel machine, or by the votes of nearest neighbors."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone

from ..._foundation.arrays import as_targets
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import StoredIfSet, storable
from ..._foundation.tables import numbered_rows, take_rows
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count, check_weights, weight_option
from ...data.rows import distinct_rows
from ...data.splits import sample_pairs
from ..learning.settings import Columns
from ..learning.value_intervals import LeftOutErrors, Nearby, ValueIntervals, positions_of
from ..model.semimetric import Semimetric
from ..search.votes import HeldOutNeighbors, OwnRows, VoteRule, choose_value_votes
from .kernel_ridge_learner import KernelRidgeLearner, blas_threads, item_targets
from .left_out import errors_of_votes, joined_errors, left_out_of_some, nearby_votes, rule_votes
from .prediction_counterfactuals import Reaches
from .prediction_explanations import EXPLAINED_LEVEL
from .regressor import DistanceRegressor
from .votes import HeldOutSearch, LearnedNeighbors, as_chosen, strata_of_values

_FEWEST_LEFT_OUT = 2  # items, of which each is predicted by the other
_MOST_LEFT_OUT = 2_000  # items whose errors are measured after the fit, of more a sample
_LEAST_VALUES = 3  # in a part to learn from: the distances of two values are all the same


@storable
class SemimetricRegressor(RegressorMixin, LearnedNeighbors):
    """Kernel ridge regression, or k nearest neighbors, under a distance learned from the values.

    The machine is ``f(x) = sum_i a_i (exp(-d(x, x_i) / h) + 1) + m``, the optimum of
    ``min_f  sum_i s_i (y_i - m - f(x_i))^2 + lambda |f|^2``  in the Hilbert space of its kernel. This is a convex program, as d
    embeds in L1 (docs/mathematics.md, section 10). Up to 16,000 items all are centers x_i, of more 2,000 are.

    Parameters
    ----------
    learner : estimator or None, default None
        Has ``fit(X, y)`` and ``semimetric_``; None is a `KernelRidgeLearner` of values. A `DistanceRegressor` learns
        abs(y_i - y_j) from pairs, and its ``preprocessor`` is set to the items. Parameters of the learner are set as
        ``learner__effort`` and so on, those of the default one too.
    columns : Columns or None, default None
        Kinds of the columns, in place of those of the learner. None reads a frame as it is, see `Columns`.
    predictor : {"auto", "kernel_ridge", "neighbors"}, default "auto"
        "kernel_ridge" is the machine, whose width h and strength lambda have the least leave-one-out error of those compared.
        "neighbors" is the mean or median of the nearest items' values. "auto" is the machine if ``learner`` is None or a
        `KernelRidgeLearner`, and `n_neighbors`, `weights` and `average` are left as they are.
    n_neighbors : int or "auto", default "auto"
        Neighbors that vote, and all that are tied with the last of them; of fewer items all vote.
        On "auto", or with `weights` on "auto" or "kernel", the rule errs least on items held out: those stored as
        ``held_out_neighbors_`` by the learner, or else folds, for which the distance is learned again with the chosen
        settings. If nothing can be held out, the 3 nearest vote alike.
    weights : {"auto", "uniform", "distance", "kernel"}, default "auto"
        Votes count alike, by 1 / distance (neighbors at distance 0 then vote alone), or by a kernel exp(-(d - d_1) / h) with
        the distance d_1 of the nearest and a chosen width h: a distance, or a multiple of that to the 5th or 45th neighbor.
    average : {"mean", "median"}, default "mean"
        The weighted mean of the neighbors' values, with votes chosen by squared errors; or their weighted median, by absolute
        ones.
    n_pairs : int, default 20000
        Pairs of items drawn for a `DistanceRegressor` to learn from, a quarter of them near ones; other learners take none.
    algorithm : {"exact", "approximate", "brute"}, default "exact"
        Search for neighbors. "exact" proves that no other item is nearer, "approximate" refines the items whose cells are
        typically nearest, and "brute" computes every distance. Returned distances are exact in each case.
    n_jobs : int or None, default None
        Threads of the search, and of a learner whose own ``n_jobs`` is None: None is one, -1 all.
    random_state : int, RandomState or None, default None
        Seed of pairs and folds, and of the learner in place of its own; None leaves the learner as it is.
    effort : {"fast", "default", "thorough"} or None, default None
        Replaces the ``effort`` of the learner for what is "auto"; None leaves the learner as it is.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    semimetric_ : Semimetric
    columns_ : Schema
        What was understood of the columns; printed, a line.
    index_ : NeighborIndex
    machine_ : KernelMachine
        Centers, coefficients, width, strength and certified gap; where a machine predicts.
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
    intervals_ : LeftOutErrors
        The errors of items left out, from which `predict` makes intervals. Where ``n_neighbors`` and ``weights`` are both
        given, or an earlier version saved the model, the first call with ``interval=`` measures them, on 2,000 items at most.
    n_features_in_ : int

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> model = SemimetricRegressor().fit(X, 5 * X[:, 0])
    >>> bool(model.score(X, 5 * X[:, 0]) > 0.9)
    True
    >>> predicted, lower, upper = model.predict(X, interval=0.9)
    >>> bool(np.mean((lower <= 5 * X[:, 0]) & (5 * X[:, 0] <= upper)) > 0.8)
    True
    """

    intervals_: StoredIfSet[LeftOutErrors]

    def __init__(
        self,
        learner: Any = None,
        *,
        columns: Columns | None = None,
        predictor: str = "auto",
        n_neighbors: int | str = "auto",
        weights: str = "auto",
        average: str = "mean",
        n_pairs: int = 20_000,
        algorithm: str = "exact",
        n_jobs: int | None = None,
        random_state: Any = None,
        effort: str | None = None,
    ) -> None:
        self.learner = learner
        self.columns = columns
        self.predictor = predictor
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.average = average
        self.n_pairs = n_pairs
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort

    def _default_learner(self) -> KernelRidgeLearner:
        return KernelRidgeLearner()

    @property
    def _asks_for_machine(self) -> bool:
        return super()._asks_for_machine and (self.predictor != "auto" or self.average == "mean")

    def _check(self) -> None:
        super()._check()
        check_choice("average", self.average, ("mean", "median"))
        if self.predictor == "kernel_ridge" and self.average != "mean":
            raise NotSupportedError('average="median" is for votes; leave it out, or set predictor="neighbors"')

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> SemimetricRegressor:
        """Learn the distance from X (n_items, n_features) and the values y, and index the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
        sample_weight : array-like of shape (n_items,) or None
            An item of weight 3 learns and votes like the item three times, and is three of the neighbours; one of weight
            0 neither learns nor votes. A pair has the product of the weights of its items. Votes are counted with the weights
            divided by ``min(1, max(sample_weight))``. Multiples of all weights give the same machine.
            A larger weight is no more evidence: it is left out whole.
        groups : array-like of shape (n_items,) or None
            Names or numbers of what items come together from, such as subjects or sites. Intervals are then those of new
            groups, of one width: scales and machine are learned again from folds of the groups, each of which counts as one.
            The distance, width and strength are chosen by all items, as without groups. Groups are for the kernel machine on
            scales.

        Raises
        ------
        InputError
            If the data cannot be used, or all values are the same; NotSupportedError of groups where no machine predicts.
        """
        self._check()
        check_count("n_pairs", self.n_pairs)
        learner, seed = self._own_learner(self.random_state), self._seed(self.random_state)
        values = as_targets(y, X)
        numbers = self._group_numbers(groups, len(values), sample_weight)
        weight = None if sample_weight is None else check_weights(sample_weight, len(values))
        self.learner_ = self._learned(learner, X, values, sample_weight, seed)
        self._index(X, values, sample_weight)
        self._forget("machine_", "_to_centers", "held_out_outputs_", "groups_", "vote_rule_", "intervals_")
        if self._asks_for_machine:
            fitted = self._measured_by_folds(self._fit_machine(values, seed), values, numbers, seed)
            fit, targets, rows, distances = fitted
            centers, width, rng = fit.machine.rows, fit.machine.width, np.random.default_rng(seed)
            if numbers is not None:
                errors = np.abs(targets.outputs[:, 0] - fit.left_out[:, 0])
                self.intervals_ = LeftOutErrors.of_groups(errors, targets.weight, numbers[targets.row], width)
                return self
            with blas_threads(self.n_jobs):
                self.intervals_ = LeftOutErrors.of_machine(targets, fit.left_out, distances, rows, centers, width, rng)
            return self
        if (given := self._given_rule) is not None:
            self.vote_rule_ = self._averaged(given)
            return self
        parts = self._held_out(learner, X, values, weight, seed)
        chosen = choose_value_votes(parts, self.n_neighbors, self.weights, self.average)[0] if parts else self._rule_for_few
        self.vote_rule_ = self._averaged(chosen)
        if parts:
            self.intervals_ = errors_of_votes(self.vote_rule_, parts, self._copies())
        return self

    def _set_targets(self, targets: NDArray[Any], used: NDArray[np.bool_]) -> NDArray[Any]:
        return as_targets(targets, targets)

    def _averaged(self, rule: VoteRule) -> VoteRule:
        """Return the rule with the average that is asked for."""
        return VoteRule(rule.n_neighbors, rule.weights, rule.bandwidth, rule.bandwidth_neighbor, average=self.average)

    def _rule_of(self, stored: VoteRule | None) -> VoteRule:
        return self._averaged(super()._rule_of(stored))

    def as_stored(self) -> dict[str, Any]:
        """Return the attributes that a file holds, with a learner without the items that `fit` gave it."""
        learner = copy(self.learner_)
        if isinstance(learner, DistanceRegressor):
            learner.set_params(preprocessor=None)
        return super().as_stored() | {"learner_": learner}

    def _learned(self, learner: Any, X: ArrayLike, values: Floats, sample_weight: Any, seed: int) -> Any:
        """Fit the learner to items and values, or to pairs of items and the differences of their values."""
        if not isinstance(learner, DistanceRegressor):
            return learner.fit(X, values, **weight_option(learner, sample_weight))
        items, schema = learner.read_items(X, min_items=2)
        weight = check_weights(sample_weight, len(items))
        found = distinct_rows(items, values, weight)
        if found is not None:
            X, items, values, weight = take_rows(X, found.rows), items[found.rows], values[found.rows], found.weight
        if np.ptp(values) == 0:
            raise InputError("all values in y are the same, so no distance follows from them; give values that differ")
        features = items if schema.plain else schema.coordinates(items)
        pairs = sample_pairs(features, self.n_pairs, random_state=seed)
        left, right = pairs.T
        option = {} if found is None else weight_option(learner, weight[left] * weight[right])
        if hasattr(X, "columns"):
            learner.set_params(columns=Columns.as_read(schema))
        learner.set_params(preprocessor=numbered_rows(X))
        return learner.fit(pairs, np.abs(values[left] - values[right]), **option)

    def _held_out(self, learner: Any, X: ArrayLike, values: Floats, weight: Floats | None, seed: int) -> list[HeldOutNeighbors]:
        """Return neighbors of items held out, of folds of the learner or of those made here; the list may be empty."""
        stored: list[HeldOutNeighbors] = getattr(self.learner_, "held_out_neighbors_", None) or []
        stored = [part for part in stored if part.class_shares is None]  # others hold classes, not values
        return stored or self._parts(learner, X, values, weight, seed)

    def _parts(self, learner: Any, X: ArrayLike, values: Floats, weight: Floats | None, seed: int) -> list[HeldOutNeighbors]:
        """Return held-out neighbors of folds, for each of which the distance is learned with the chosen settings."""
        again = as_chosen(learner, self.learner_)

        def learn(rows: Integers) -> Semimetric:
            given = None if weight is None else weight[rows]
            return self._learned(clone(again), take_rows(X, rows), values[rows], given, seed).semimetric_

        used = check_weights(weight, len(values)) > 0
        strata = np.zeros(len(values), dtype=np.int64)
        strata[used] = strata_of_values(values[used])
        search = HeldOutSearch(X, values, self._weight, learn, self.n_jobs)
        return search.folds(self.index_.encoded_items_, strata, seed, n_targets=_LEAST_VALUES)

    def predict(self, X: ArrayLike, interval: float | None = None) -> Floats | ValueIntervals:
        """Return values by the machine, or the mean or median of the neighbors' values by their votes, and intervals.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_queries, n_features)
        interval : float or None, default None
            The fraction of new items whose true value is to lie in its interval, such as 0.9. The half-width is a quantile of
            the left-out errors of fitted items, each divided by the error that was expected there, times the error that is
            expected here. That is a mean of such errors near the query under the learned distance. A machine leaves out each
            item in turn; votes are those on items held out, or with ``n_neighbors`` and ``weights`` given those of all others.
            The fraction is measured, not proved: the settings were chosen by the same items, and with votes of all others so
            was the distance. It holds on average over items like the fitted ones, with ``sample_weight`` over items drawn in
            proportion to their weights, and not for every item alone. See ``distances/learning/value_intervals.py``.

        Returns
        -------
        predicted : ndarray of shape (n_queries,)
        lower, upper : ndarray of shape (n_queries,)
            With ``interval``, and then as a tuple of three, as `DistanceRegressor.predict` returns one.

        Raises
        ------
        InputError
            If ``interval`` is not between 0 and 1, or asks for more than the fitted items allow.
        """
        queries = self._queries(X)
        return self._answers(queries) if interval is None else self.intervals_of_encoded(queries, interval)

    def intervals_of_encoded(self, queries: Floats, interval: float) -> ValueIntervals:
        """Return the intervals of `predict` for encoded queries (n_queries, n_features)."""
        level = check_alpha("interval", interval, strict=True)
        if level >= 1:
            raise InputError(f"interval={interval!r} must lie between 0 and 1, such as 0.9")
        errors, machine = self.left_out_errors(), getattr(self, "machine_", None)
        errors.quantile(level)  # refuses a level before any work
        if machine is None:
            return errors.around(*self._voted(queries), level)
        assert errors.local is not None
        local, columns = errors.local, positions_of(errors.local.rows, machine.rows)
        every = np.array_equal(columns, np.arange(len(machine.rows)))  # which then need no copy

        def answer(distances: Floats) -> Floats:
            return np.column_stack([machine.outputs(distances), *local.nearby(distances if every else distances[:, columns])])

        predicted, *sums = self._by_machine(answer, queries).T
        return errors.around(predicted, Nearby(*sums), level)

    def left_out_errors(self) -> LeftOutErrors:
        """Return ``intervals_``, which the first call measures if the fit has not."""
        if not hasattr(self, "intervals_"):
            self.intervals_ = self._measured_errors()
        return self.intervals_

    def allows_interval(self, interval: float) -> bool:
        """Return True if the fitted items are enough for intervals of a level."""
        n_used = len(self._targets) if self._weight is None else int(np.count_nonzero(self._weight))
        return n_used >= _FEWEST_LEFT_OUT and self.left_out_errors().allows(interval)

    def _explained_interval(self, query: Floats) -> tuple[float, float] | None:
        if not self.allows_interval(EXPLAINED_LEVEL):
            return None
        _, (low,), (high,) = self.intervals_of_encoded(query, EXPLAINED_LEVEL)
        return float(low), float(high)

    def _voted(self, queries: Floats) -> tuple[Floats, Nearby]:
        """Return what neighbors predict of encoded queries, and how far their values are from it."""
        out = np.empty((3, len(queries)))
        for found in self._voters(queries):
            values = self._targets[found.indices]
            predicted = self.vote_rule_.values(found.distances, values, found.weight)
            nearby = nearby_votes(self.vote_rule_, found.distances, values, predicted, found.weight)
            out[:, found.queries] = predicted, *nearby
        return out[0], Nearby(out[1], out[2])

    def _measured_errors(self) -> LeftOutErrors:
        """Return left-out errors where the fit has recorded none: a rule was given, or an earlier version saved the file."""
        items, n = self.index_.encoded_items_, len(self._targets)
        counts = np.ones(n) if self._weight is None else self._weight
        rng = np.random.default_rng(0)
        if (machine := getattr(self, "machine_", None)) is not None:
            rows, targets = item_targets(items, self._known, counts)
            some = left_out_of_some(
                self.semimetric_, machine, items, rows, targets, n_items=_MOST_LEFT_OUT, random_state=0, n_jobs=self.n_jobs
            )

            def distances(left: Integers, right: Integers) -> Floats:
                return some.between[np.ix_(left, right)]

            return LeftOutErrors.of_machine(some.targets, some.left_out, distances, some.rows, machine.rows, machine.width, rng)
        copies = self._copies()
        n = len(copies.first)
        if n < _FEWEST_LEFT_OUT:
            raise InputError(
                f"interval= needs {_FEWEST_LEFT_OUT} different items that have a weight, and there is {n}; fit more items"
            )
        chosen = np.arange(n) if n <= _MOST_LEFT_OUT else np.sort(rng.choice(n, _MOST_LEFT_OUT, replace=False))
        rows, weight = copies.first[chosen], copies.counts[chosen]
        found = []
        for voters in self._voters(items[rows], OwnRows(rows, copies)):
            own = rows[voters.queries]
            near = voters.distances, self._targets[voters.indices], self._targets[own], voters.weight
            found.append(rule_votes(self.vote_rule_, *near, weight[voters.queries]))
        return joined_errors(found)

    def check_restored(self) -> None:
        super().check_restored()
        errors, machine = getattr(self, "intervals_", None), getattr(self, "machine_", None)
        if errors is None:
            return
        if (errors.local is None) != (machine is None) or (
            machine is not None and not np.isin(errors.local.rows, machine.rows).all()
        ):
            raise InputError("the left-out errors are not of the centers of the machine; restore the file")

    def _answers(self, queries: Floats) -> Floats:
        return self._scores(queries)[:, 0]

    def _reaches(self, query: Floats, target: Any, min_probability: float | None) -> Reaches:
        if min_probability is not None:
            raise InputError(f"min_probability={min_probability!r} is for classes, and values are predicted; leave it out")
        try:
            low, high = (
                infinite if end is None else float(end) for end, infinite in zip(target, (-np.inf, np.inf), strict=True)
            )
        except (TypeError, ValueError):
            low, high = np.inf, -np.inf
        if not low <= high:
            raise InputError(f"target={target!r}: two numbers (low, high) in order are required; None is no bound")

        def reaches(rows: Floats) -> NDArray[np.bool_]:
            answers = self._answers(rows)
            return (answers >= low) & (answers <= high)

        return reaches

    _score_name = "value"

    def _scores(self, queries: Floats) -> Floats:
        if hasattr(self, "machine_"):
            return self._by_machine(self.machine_.outputs, queries)
        out = np.empty((len(queries), 1))
        for found in self._voters(queries):
            out[found.queries, 0] = self.vote_rule_.values(found.distances, self._targets[found.indices], found.weight)
        return out

    def _probabilities(self, queries: Floats) -> Any:
        return [None] * len(queries)

    def _pushes_of_votes(self, fractions: Floats, rows: Integers, base: Floats) -> Floats:
        return fractions[:, None] * (self._targets[rows][:, None] - base)
