"""Classifiers and regressors under a distance that is learned first: by a kernel machine, or by the votes of neighbors.

Votes are chosen by the neighbors of items held out: those that the learner stored of its own choice, or those of folds made
here. A distance draws the items that it was learned from to their own kind, so that votes chosen by leaving one item out of
its own training set trust near neighbors too much: measured on 35 tables under distances of `LargeMarginLearner`, they have
4 % more errors and a fifth more log loss than votes chosen on folds, for each of which the distance is learned anew.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats, is_missing
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.estimator import NestedParameters, SavedEstimator, ShortRepr
from ..._foundation.exported import exporter
from ..._foundation.progress import progress_bar
from ..._foundation.stored import Stored, StoredIfSet, check_array
from ..._foundation.tables import row_labels, take_rows
from ..._foundation.threads import blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_n_jobs, check_weights
from ...data.copies import Copies, effective_counts
from ...data.identical_items import identities
from ...data.rows import single_row
from ...data.schema import Schema, column_numbers
from ...data.splits import ItemClasses, leaves_enough
from ..features.linear_directions import Directions
from ..learning.kernel_machine import Distances, KernelMachine, MachineFit, Setting, Targets, fit_machine
from ..learning.settings import Columns
from ..model.explanations import Explanation
from ..model.item_statistics import warn_unknown_once
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex
from ..search.votes import MOST_NEIGHBORS, WEIGHTS, HeldOutNeighbors, OwnRows, Voters, VoteRule, find_voters, neighbor_counts
from .base import LearnedDistance
from .indexed import StoredIndex
from .kernel_ridge_learner import KernelRidgeLearner, blas_threads, item_targets
from .left_out import (
    LeftOutPredictions,
    RefittedColumns,
    left_out_by_folds,
    left_out_by_machine,
    left_out_by_votes,
    needs_folds,
    outputs_by_folds,
    refitted_columns,
)
from .prediction_counterfactuals import ChangeSearch, PredictionCounterfactual, Reaches, allowed_values, changed_columns
from .prediction_explanations import (
    Contributions,
    PredictionExplanation,
    Scores,
    SpeakingItems,
    adds_up_over_columns,
    averaged,
    class_number,
    product_contributions,
    sampled_contributions,
)

_FOR_FEW = 3  # neighbors that vote if nothing can be held out
_WIDTH_FOR_FEW = (0.25, 5)  # a quarter of the distance to the fifth neighbor
_SHOWN, _MOST_SHOWN = 5, 10  # neighbors, unless more are asked for
_BLOCK = 1_000  # queries whose distances to all centers are held at a time
_LARGEST_WHOLE = 2.0**53  # beyond which a float is no sure whole number
_MOST_SPEAKING = 100  # items that an explanation names

_N_FOLDS = 3
_STRATA, _LEAST_STRATUM = 10, 6  # of values, and the fewest items in one
_MANY = 3_000  # items, of which one part is held out once
_MOST_HELD_OUT = 2_000  # items that are scored, of many
_CHOSEN = {
    "n_knots": "n_knots",
    "alpha": "alpha",
    "directions": "directions",
    "tables": "tables__kind",
    "groups": "tables__groups",
}  # settings of a recipe, and the parameters of a learner that they are


class FittedItems(NamedTuple):
    """The items that a fitted classifier or regressor by neighbors holds, in the order of its index."""

    targets: NDArray[Any]  # (n_items,): their classes or values
    names: NDArray[Any]  # (n_items,): the names of the rows in the table of the fit
    has_weights: bool  # some items count more than others
    has_class_weights: bool  # some classes count more than others


class FittedMachine(NamedTuple):
    """A kernel machine with what it was fitted to."""

    fit: MachineFit
    targets: Targets
    rows: Integers  # (n_items,): the row number of each distinct item
    distances: Distances  # of distinct items, by their numbers


def fitted_items(model: object) -> FittedItems | None:
    """Return the items that a model votes by; None if it is no fitted classifier or regressor by neighbors."""
    return model.fitted_items if isinstance(model, LearnedNeighbors) and hasattr(model, "index_") else None


class LearnedNeighbors(ShortRepr, SavedEstimator, NestedParameters):
    """Neighbors under a learned distance: the learner, the index and the explanations that both estimators share.

    The parameter ``learner`` may be None for a default one; ``learner__alpha`` and so on reach its parameters.
    """

    __metadata_request__fit: ClassVar = {
        "groups": False
    }  # which are for the splits too, unless `set_fit_request` asks for them
    predictor: str
    n_neighbors: int | str
    weights: str
    algorithm: str
    n_jobs: int | None
    learner: BaseEstimator | None
    columns: Columns | None
    effort: str | None
    random_state: int | np.random.RandomState | None
    learner_: Stored[LearnedDistance]
    index_: Annotated[NeighborIndex, "stored", StoredIndex]
    vote_rule_: StoredIfSet[VoteRule]
    machine_: StoredIfSet[KernelMachine]
    held_out_outputs_: StoredIfSet[Floats]
    groups_: StoredIfSet[Integers]
    _targets: Stored[NDArray[Any]]  # (n_items,): classes or values
    _labels: Stored[NDArray[Any]]  # (n_items,): the names of the rows
    _weight: Stored[Floats | None]  # (n_items,): how many neighbors each item is; None is one each
    _factors: Floats | None = None  # (n_classes,): how much an item of each class counts

    def _default_learner(self) -> BaseEstimator:
        """Return the learner that ``learner=None`` stands for."""
        raise NotImplementedError

    @property
    def _asks_for_machine(self) -> bool:
        """True if the parameters ask for a kernel machine, or leave it open and say nothing of votes."""
        if self.predictor != "auto":
            return self.predictor == "kernel_ridge"
        learns_for_it = self.learner is None or isinstance(self.learner, KernelRidgeLearner)
        return learns_for_it and isinstance(self.n_neighbors, str) and self.weights == "auto"

    def _nested(self) -> dict[str, Callable[[Any], BaseEstimator | None]]:
        return {"learner": lambda value: self._default_learner() if value is None else None, "columns": Columns.meant_by}

    def _own_learner(self, random_state: Any = None, default: Callable[[], BaseEstimator] | None = None) -> Any:
        """Return a copy of the learner, or the default one, with the effort and seeds from ``random_state`` that are given.

        It has the threads of this estimator if it has none of its own.
        """
        learner: Any = (default or self._default_learner)() if self.learner is None else clone(self.learner)
        if self.columns is not None:
            if "columns" not in learner.get_params(deep=False):
                raise InputError(f"columns= is for the learner, and {type(learner).__name__} has none; leave it out")
            learner.set_params(columns=self.columns)
        if self.effort is not None:
            names = _named(learner, "effort")
            if not names:
                raise InputError(f"effort= is for the learner, and {type(learner).__name__} has none; leave it out")
            learner.set_params(**dict.fromkeys(names, self.effort))
        if self.n_jobs is not None:
            params = learner.get_params()
            learner.set_params(**{name: self.n_jobs for name in _named(learner, "n_jobs") if params[name] is None})
        if random_state is not None:
            random = check_random_state(random_state)
            learner.set_params(**{name: int(random.randint(2**31 - 1)) for name in _named(learner, "random_state")})
        return learner

    @staticmethod
    def _seed(random_state: Any) -> int:
        """Return a seed for draws beside the learner."""
        return int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))

    def as_stored(self) -> dict[str, Any]:
        return super().as_stored() | {"index_": StoredIndex.of(self.index_, len(self._targets))}

    def check_restored(self) -> None:
        self._check()
        check_n_jobs(self.n_jobs)
        stored: Any = self.__dict__.pop("index_")  # a `StoredIndex`
        targets, labels, n = self._targets, self._labels, len(stored.items) if stored.items.ndim else 0
        d = getattr(self.learner_, "semimetric_", None)
        if not isinstance(d, Semimetric) or targets.shape != (n,):
            raise InputError(f"there are targets of shape {targets.shape} for {n} items, or no distance is learned")
        index = stored.built(d, getattr(self.learner_, "feature_names_in_", None))
        used = check_weights(self._weight, n) > 0
        targets = self._set_targets(targets, used)
        if self.stored_array("_labels", n).dtype.kind not in "iU":
            raise InputError(f"there are labels of {labels.dtype} for {n} items; integers or text are required")
        self._set_index(index, targets, labels)
        if (machine := getattr(self, "machine_", None)) is None:
            self.vote_rule_ = self._rule_of(getattr(self, "vote_rule_", None))
            return
        check_restored_machine(machine, n, getattr(self, "classes_", None))
        if hasattr(self, "held_out_outputs_"):
            check_array("held_out_outputs_", self.held_out_outputs_, np.float64, n, len(machine.offset), missing=True)
        if hasattr(self, "groups_"):
            check_array("groups_", self.groups_, np.int64, n, least=0)
        self._use_machine(machine)

    def _rule_of(self, stored: VoteRule | None) -> VoteRule:
        """Return the rule of a file, or if it holds none the one that its parameters give."""
        rule = stored or self._given_rule
        if rule is None:
            raise InputError(
                "there is no rule of the votes, which n_neighbors= and weights= leave to be chosen; restore the file"
            )
        return rule

    def _set_targets(self, targets: NDArray[Any], used: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the classes or values of the items of a file, checked, of which ``used`` ones count."""
        raise NotImplementedError

    def _index(self, X: ArrayLike, targets: Any, sample_weight: ArrayLike | None) -> None:
        """Index the items under the learned distance, and record their classes or values, and their weights."""
        self._weight = None if sample_weight is None else neighbor_counts(as_floats(sample_weight, "sample_weight"))
        d = self.learner_.semimetric_
        index = NeighborIndex(d, algorithm=self.algorithm, n_jobs=self.n_jobs).fit(X)
        self._set_index(index, targets, row_labels(X, len(targets)))

    def _set_index(self, index: NeighborIndex, targets: Any, labels: Any) -> None:
        """Record the index of the items, their classes or values, and the names of their rows."""
        d = self.learner_.semimetric_
        self.index_, self._targets, self._labels = index, targets, labels
        self.n_features_in_ = d.n_features
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.learner_, "feature_names_in_"):
            self.feature_names_in_ = self.learner_.feature_names_in_

    def _fit_machine(self, known: NDArray[Any], seed: int, n_classes: int | None = None) -> FittedMachine:
        """Fit a kernel machine to the indexed items, whose classes (as numbers) or values are ``known``."""
        items, d = self.index_.encoded_items_, self.semimetric_
        if not d.axioms.symmetric:
            raise NotSupportedError(
                "the learned distance is not symmetric, so that exp(-d / h) is no kernel; learn a symmetric one, or set "
                'predictor="neighbors"'
            )
        counts = np.ones(len(items)) if self._weight is None else self._weight
        rows, targets = item_targets(items, known, counts, self._factors, n_classes)

        def distances(left: Integers, right: Integers) -> Floats:
            return d.distances_to(items[rows[right]], n_jobs=self.n_jobs)(items[rows[left]])

        with blas_threads(self.n_jobs):
            learner = self.learner_
            setting = Setting(learner.width_, learner.strength_) if isinstance(learner, KernelRidgeLearner) else None
            fit = fit_machine(distances, targets, rows, embeds=has_l1_coordinates(d), random_state=seed, setting=setting)
        self._use_machine(fit.machine)
        return FittedMachine(fit, targets, rows, distances)

    def _measured_by_folds(
        self, fitted: FittedMachine, known: NDArray[Any], groups: Integers | None, seed: int
    ) -> FittedMachine:
        """Return the machine with what folds say of items left out, if `needs_folds` or there are groups (n_items,)."""
        learner, items, machine = self.learner_, self.index_.encoded_items_, fitted.fit.machine
        if not isinstance(learner, KernelRidgeLearner) or (
            groups is None and not needs_folds(items[fitted.rows], fitted.targets)
        ):
            return fitted
        weight = np.ones(len(items)) if self._weight is None else self._weight
        weight = weight if self._factors is None else weight * self._factors[known]
        with blas_threads(self.n_jobs):
            outputs = outputs_by_folds(learner, self.semimetric_.schema, items, known, weight, groups, seed)
        if groups is not None:
            self.groups_ = groups
        targets = self._targets_by_folds(known, fitted.targets)
        if np.isfinite(outputs[targets.row]).any():
            self.held_out_outputs_ = outputs
            fitted = fitted._replace(fit=MachineFit.calibrated(machine, targets, outputs[targets.row]), targets=targets)
            self._use_machine(fitted.fit.machine)
        elif groups is not None:
            raise InputError(
                "groups= leave nothing to learn from: without a fold of the groups, all others have one class or one value; "
                "give more groups, or leave groups= out"
            )
        return fitted

    def _targets_by_folds(self, known: NDArray[Any], targets: Targets) -> Targets:
        """Return what `outputs_by_folds` are compared with: the targets, or with groups every row, as groups share items."""
        if not hasattr(self, "groups_"):
            return targets
        counts = np.ones(len(known)) if self._weight is None else self._weight
        used = np.flatnonzero(counts > 0)
        weight = effective_counts(counts[used], counts[used])
        if targets.classes is None:
            return Targets(known[used][:, None], weight, weight, np.arange(len(used)), used)
        weight = weight if self._factors is None else weight * self._factors[known[used]]
        return Targets(np.eye(targets.outputs.shape[1])[known[used]], weight, weight, np.arange(len(used)), used, known[used])

    def _group_numbers(self, groups: ArrayLike | None, n_items: int, sample_weight: ArrayLike | None) -> Integers | None:
        """Return the number of the group of each item, shape (n_items,); refuse groups where no machine on scales predicts."""
        if groups is None:
            return None
        if not self._asks_for_machine or not (self.learner is None or isinstance(self.learner, KernelRidgeLearner)):
            raise NotSupportedError(
                "groups= are for the kernel machine on scales; leave learner=, n_neighbors= and weights= as they are, or "
                "groups= out"
            )
        names = np.asarray(groups)
        if names.shape != (n_items,):
            raise InputError(f"groups= has shape {names.shape}; one name or number for each of the {n_items} items is required")
        if any(map(is_missing, names.tolist())):
            raise InputError("groups= has missing values; give each item a group, such as a name of its own")
        number = np.unique(names.astype(str) if names.dtype == object else names, return_inverse=True)[1]
        if np.ptp(number[check_weights(sample_weight, n_items) > 0]) == 0:
            raise InputError("groups= are all the same, so that none can be left out; give two groups or more")
        return number.astype(np.int64)

    def _forget(self, *names: str) -> None:
        """Remove attributes that an earlier fit may have left, and this one may not set."""
        for name in names:
            self.__dict__.pop(name, None)

    def _use_machine(self, machine: KernelMachine) -> None:
        self.machine_ = machine
        self._to_centers = self._distances_to_centers()

    def _distances_to_centers(self, *, alike: bool = False) -> Callable[[Floats], Floats]:
        centers = self.index_.encoded_items_[self.machine_.rows]
        return self.semimetric_.distances_to(centers, n_jobs=self.n_jobs, alike=alike)

    def _for_alike_rows(self) -> Self:
        """Return the model, whose machine takes less time for rows that share most of their values, equal to rounding."""
        other = copy(self)
        if hasattr(self, "machine_"):
            other._to_centers = self._distances_to_centers(alike=True)
        return other

    def _by_machine(self, answer: Scores, queries: Floats) -> Floats:
        """Return what a function of the distances to the centers answers for encoded queries, by blocks of these."""
        if len(queries) <= _BLOCK:  # as of the many calls of a search for changes
            return answer(self._to_centers(queries))
        found = []
        with progress_bar(len(queries), "predictions", verbose=None, unit="query") as bar:
            for block in blocks(len(queries), _BLOCK):
                found.append(answer(self._to_centers(queries[block])))
                bar.update(len(found[-1]))
        return np.concatenate(found)

    def _check(self) -> None:
        """Refuse parameters of the prediction that are unknown or do not go together, before the distance is learned."""
        check_choice("predictor", self.predictor, ("auto", "neighbors", "kernel_ridge"))
        if not isinstance(self.n_neighbors, str):
            check_count("n_neighbors", self.n_neighbors)
        elif self.n_neighbors != "auto":
            raise InputError(f'n_neighbors={self.n_neighbors!r}: an integer >= 1 or "auto" is required')
        check_choice("weights", self.weights, ("auto", *WEIGHTS))
        if self.predictor == "kernel_ridge" and not (isinstance(self.n_neighbors, str) and self.weights == "auto"):
            raise NotSupportedError(
                f"n_neighbors={self.n_neighbors!r} and weights={self.weights!r} are for votes; leave them out, or set "
                'predictor="neighbors"'
            )

    @property
    def _given_rule(self) -> VoteRule | None:
        """The rule that the parameters give; None if something is left to choose."""
        if isinstance(self.n_neighbors, str) or self.weights in ("auto", "kernel"):
            return None
        return VoteRule(int(self.n_neighbors), self.weights)

    @property
    def _rule_for_few(self) -> VoteRule:
        """The rule if nothing can be held out to choose one."""
        k = _FOR_FEW if isinstance(self.n_neighbors, str) else int(self.n_neighbors)
        if self.weights == "kernel":
            return VoteRule(k, "kernel", *_WIDTH_FOR_FEW)
        return VoteRule(k, "uniform" if self.weights == "auto" else self.weights)

    @property
    def n_neighbors_(self) -> int:
        """The number of neighbors that vote, beside those tied with the last of them."""
        return self._votes_rule.n_neighbors

    @property
    def weights_(self) -> str:
        """The weights of their votes: "uniform", "distance" or "kernel"."""
        return self._votes_rule.weights

    @property
    def _votes_rule(self) -> VoteRule:
        check_is_fitted(self, "index_")
        if not hasattr(self, "vote_rule_"):
            raise AttributeError('a kernel machine predicts, so that no neighbors vote; set predictor="neighbors" for votes')
        return self.vote_rule_

    @property
    def _n_shown(self) -> int:
        """The number of neighbors that are found where none is given: those that vote, or 5."""
        return self.vote_rule_.n_neighbors if hasattr(self, "vote_rule_") else _SHOWN

    @property
    def fitted_items(self) -> FittedItems:
        """The items that vote, in the order of ``index_``."""
        return FittedItems(self._targets, self._labels, self._weight is not None, self._factors is not None)

    @property
    def _known(self) -> NDArray[Any]:
        """The numbers of the classes of the items, or their values, shape (n_items,)."""
        return self._targets

    def left_out_predictions(self, n_items: int = 2_000) -> LeftOutPredictions | None:
        """Return what the machine predicts of fitted items without them, or the votes of the items held out of the fit.

        Parameters
        ----------
        n_items : int
            Of more items a machine predicts a sample.

        Returns
        -------
        LeftOutPredictions or None
            None where neighbors vote and the learner has stored none that were held out.
        """
        check_is_fitted(self, "index_")
        if (machine := getattr(self, "machine_", None)) is not None:
            items = self.index_.encoded_items_
            counts = np.ones(len(items)) if self._weight is None else self._weight
            if (outputs := getattr(self, "held_out_outputs_", None)) is not None:
                _, targets = item_targets(items, self._known, counts, self._factors, outputs.shape[1])
                targets = self._targets_by_folds(self._known, targets)
                return left_out_by_folds(outputs, targets, self._factors, hasattr(self, "groups_"), 0)
            return left_out_by_machine(
                self.semimetric_, machine, items, self._known, counts, self._factors,
                n_items=n_items, random_state=0, n_jobs=self.n_jobs,
            )  # fmt: skip
        parts = [part for part in getattr(self.learner_, "held_out_neighbors_", None) or [] if self._can_judge(part)]
        return left_out_by_votes(self.vote_rule_, parts, self._copies()) if parts else None

    def _copies(self) -> Copies:
        """Return the copies among the indexed items."""
        items = self.index_.encoded_items_
        return Copies.of(items, self._known, np.ones(len(items)) if self._weight is None else self._weight)

    def _can_judge(self, part: HeldOutNeighbors) -> bool:
        """Return True if the neighbors of a part vote as those of this model do."""
        return part.class_weight is None and self._factors is None and (part.class_shares is not None) == is_classifier(self)

    def refitted_columns(
        self, n_refits: int = 8, n_items: int = 500, n_scored: int | None = None, n_shown: int = 12
    ) -> RefittedColumns | None:
        """Assess the columns by refits of scales and machine on random halves of the items, all of which count alike.

        Parameters
        ----------
        n_refits : int
            An even number.
        n_items : int
            Most items of a half to learn from.
        n_scored : int or None
            Most items of the other half to predict; None is 200, and fewer of more than 50 columns, but 50 at least.
        n_shown : int
            Columns of which mean predictions by value are returned.

        Returns
        -------
        RefittedColumns or None
            None where no machine predicts, its learner is no `KernelRidgeLearner`, or there are too few items.
        """
        check_is_fitted(self, "index_")
        if not isinstance(self.learner_, KernelRidgeLearner) or not hasattr(self, "machine_"):
            return None
        items = self.index_.encoded_items_
        used = self._copies().rows
        n_scored = max(min(200, 10_000 // items.shape[1]), 50) if n_scored is None else n_scored
        options = {"n_refits": n_refits, "n_items": n_items, "n_scored": n_scored, "n_shown": n_shown, "seed": 0}
        return refitted_columns(self.learner_, self.semimetric_.schema, items[used], self._known[used], **options)

    def _queries(self, X: ArrayLike | None) -> Floats:
        """Return the queries, encoded; None is all items."""
        check_is_fitted(self, "index_")
        if X is None:
            return self.index_.encoded_items_
        queries = self.index_.encode(X)
        warn_unknown_once(self.semimetric_, queries)
        return queries

    def _voters(self, queries: Floats, own: OwnRows | None = None) -> Iterator[Voters]:
        """Yield the neighbors of every encoded query, among which are all that vote, in groups of queries.

        ``own`` says which items the queries are, if they are items: these have no vote.
        """
        return find_voters(self.index_, queries, self.vote_rule_.n_searched, self._weight, own)

    def _votes(self, voters: Voters) -> Floats:
        """Return the weight of the vote of every voter, shape (n, K)."""
        return self.vote_rule_.votes(voters.distances, voters.weight)

    def _vote_fractions(self, query: Floats, indices: Integers) -> Floats:
        """Return the fractions of all votes for an encoded query that these rows have, shape (k,)."""
        voters = next(v for v in self._voters(query) if len(v.queries))
        votes = self._votes(voters)[0]
        fraction = dict(zip(voters.indices[0].tolist(), votes / (votes.sum() + self.vote_rule_.smoothing), strict=True))
        return np.array([fraction.get(i, 0.0) for i in indices.tolist()])

    @property
    def semimetric_(self) -> Semimetric:
        """The distance that `learner_` has learned."""
        check_is_fitted(self, "index_")
        return self.learner_.semimetric_

    @property
    def columns_(self) -> Schema:
        """Kinds of the columns as they were read; printed, a line. ``columns_.dropped`` are those that were left out."""
        return self.semimetric_.schema

    @property
    def feature_importances_(self) -> Floats:
        """The ``feature_importances_`` of the learner: fractions of the features in the distance, shape (n_features,)."""
        check_is_fitted(self, "index_")
        return self.learner_.feature_importances_

    @property
    def n_samples_fit_(self) -> int:
        """The number of items that were fitted, which vote."""
        return self.index_.n_samples_fit_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "index_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = Columns.of(self.columns or getattr(self.learner, "columns", None)).may_miss
        return tags

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a graph of ONNX, which runs wherever ONNX Runtime does, without Python.

        The inputs are those of `Semimetric.to_onnx`. A classifier gives ``label`` (n,) and ``probabilities`` (n, n_classes), in
        the order of ``classes_``, a regressor ``variable`` (n, 1). A row is compared with every item that votes, or with every
        center of the kernel machine, so give some hundred rows at a time.

        Parameters
        ----------
        path : str or path-like
            The file, by habit ``model.onnx``. It is written beside and renamed.

        Raises
        ------
        MissingExtraError
            If onnx is not installed.
        NotSupportedError
            If a row is compared with more than 20,000 items, if items or classes that vote have weights, if a median is
            predicted, or if the distance cannot be exported.

        Examples
        --------
        >>> from semimetric import SemimetricClassifier
        >>> from sklearn.datasets import load_iris
        >>> model = SemimetricClassifier().fit(*load_iris(return_X_y=True))  # doctest: +SKIP
        >>> model.to_onnx("iris.onnx")  # doctest: +SKIP
        """
        check_is_fitted(self, "index_")
        exporter("onnx", "model_to_onnx")(self, path)

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> tuple[Floats, Integers]:
        """Return distances and rows of the nearest fitted items, both of shape (n_queries, k).

        ``n_neighbors`` is `n_neighbors_` or 5 by default, and no more than there are items. An InputError refuses a larger one
        that is given.
        """
        check_is_fitted(self, "index_")
        k = min(self._n_shown, self.n_samples_fit_) if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        return self.index_.kneighbors(X, k)

    def explain_neighbors(
        self, x: ArrayLike, n_neighbors: int | None = None, *, by: str = "features", exclude_self: bool = False
    ) -> Explanation:
        """Explain the neighbors of x: the part of every feature in their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_neighbors : int or None
            `n_neighbors_` by default, of which the 10 nearest are shown; 5 where a machine predicts.
        by : {"features", "terms"}, default "features"
            By "terms", directions and joint tables stand by their own names; see `Semimetric.contributions`.
        exclude_self : bool, default False
            Leave out the first fitted item that equals x in every value, as x itself does if it was fitted.

        Returns
        -------
        Explanation
            Printed, a table; neighbors have the labels of the frame of pandas that was fitted, and each its fraction of all
            votes for x. The rest to 1 goes to other neighbors, and to the smoothing. Under a machine no neighbor votes.
        """
        check_is_fitted(self, "index_")
        k = min(self._n_shown, _MOST_SHOWN) if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        query, _ = single_row(x, self.semimetric_.schema)
        near = self.index_.search_encoded(query, min(k + exclude_self, self.n_samples_fit_)).ids[0]
        if exclude_self:
            items = self.index_.encoded_items_[near]
            same = ((items == query) | (np.isnan(items) & np.isnan(query))).all(axis=1)
            near = np.delete(near, np.flatnonzero(same)[:1])[:k]
        found = self.index_.explain(x, near, by=by)
        votes = self._vote_fractions(query, found.indices) if hasattr(self, "vote_rule_") else None
        kind = "class" if is_classifier(self) else "value"
        targets, labels = self._targets[found.indices], self._labels[found.indices]
        return replace(found, targets=targets, labels=labels, target_name=kind, votes=votes)

    def explain(self, x: ArrayLike, target: Any = None, *, n_background: int = 100) -> PredictionExplanation:
        """Explain a prediction: what each column adds to its score, and the items that speak for it or against it.

        The score of a class under a machine is its mean log odds against each other class, for two classes its log odds; by
        votes it is the probability. A value is its own score. Contributions are Shapley values (Shapley 1953) of

        ``v(S) = mean over background items r of score(x in the columns S, r in the others)``

        so that they add up to the score of x less the mean score of the background. Under a machine on scales they are exact
        for the background; elsewhere they are estimated by two orders of the columns for each background item.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        target : object or None
            The class that is explained; None is the predicted one.
        n_background : int, default 100
            Background items, drawn from the fitted ones with the seed 0; all if there are no more.

        Returns
        -------
        PredictionExplanation
            Printed, a table. ``errors`` are standard errors of contributions, as estimates of those with all fitted items as
            background.

        Raises
        ------
        InputError
            If ``target`` is no class, or x is more than one row.
        """
        check_is_fitted(self, "index_")
        check_count("n_background", n_background)
        query, label = single_row(x, self.semimetric_.schema)
        named = None
        if target is not None:
            if not hasattr(self, "classes_"):
                raise InputError(f"target={target!r}: a value is predicted, so that there are no classes; leave it out")
            named = class_number(target, self.classes_)
        return self.explain_encoded(query, named, label=label, n_background=n_background)

    def explain_encoded(
        self, query: Floats, target: int | None = None, *, label: object = None, n_background: int = 100
    ) -> PredictionExplanation:
        """Explain the prediction of an encoded row (1, n_features); `target` is the number of a class. See `explain`."""
        scores, classes = self._scores(query)[0], getattr(self, "classes_", None)
        found = self._contributions(query, n_background)
        speaking = self._speaking_items(query, found)
        return PredictionExplanation(
            prediction=scores[0] if classes is None else classes[scores.argmax()],
            classes=classes,
            probabilities=self._probabilities(query)[0],
            target=int(scores.argmax()) if target is None else target,
            score_name=self._score_name,
            scores=scores,
            base_scores=found.base,
            n_background=len(found.background),
            base_errors=found.base_errors,
            features=self.semimetric_.feature_names,
            item=self.semimetric_.schema.display(query)[0],
            label=label,
            all_contributions=found.values,
            all_errors=found.errors,
            item_rows=speaking.rows,
            item_labels=self._labels[speaking.rows],
            item_targets=self._targets[speaking.rows],
            item_contributions=speaking.pushes,
            interval=self._explained_interval(query),
        )

    def _explained_interval(self, query: Floats) -> tuple[float, float] | None:
        """Return the ends of the interval of a value that is predicted for an encoded query; None of classes."""
        return None

    def _contributions(self, query: Floats, n_background: int) -> Contributions:
        """Return the Shapley values of the columns of an encoded row."""
        d, items, rng = self.semimetric_, self.index_.encoded_items_, np.random.default_rng(0)
        weight = np.ones(len(items)) if self._weight is None else self._weight
        used = np.flatnonzero(weight > 0)
        rows = used if len(used) <= n_background else np.sort(rng.choice(used, n_background, replace=False))
        by_products = hasattr(self, "machine_") and adds_up_over_columns(d)
        if by_products:
            machine = self.machine_
            centers, coefficients = items[machine.rows], machine.score_coefficients
            values = product_contributions(d, centers, coefficients, machine.width, query, items[rows], self.n_jobs)
        else:
            values = sampled_contributions(self._scores, query, items[rows], rng)
        of_background = self._scores(items[rows])
        return averaged(values, rows, weight[rows], of_background, all_items=len(rows) == len(used), exact=by_products)

    def counterfactual(
        self,
        x: ArrayLike,
        target: Any = None,
        *,
        fixed: int | str | Sequence[int | str] = (),
        within: Mapping[int | str, Any] | None = None,
        min_probability: float | None = None,
    ) -> PredictionCounterfactual:
        """Return the smallest change of x found, under the learned distance, that changes the prediction.

        Columns take values of fitted items. Two searches propose changes: towards the nearest items with the prediction, and
        changes of one or two columns to some values, in the order of their distances. Numbers then move back towards x as far
        as the prediction holds. The changed row was predicted, so that its prediction is sure. It is not sure that no smaller
        change exists: ``n_smaller`` of one or two columns were predicted, and none of them suffices.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        target : object or None
            The class to reach; None is any other one. For values it is required: (low, high), where None is no bound.
        fixed : int, str, or sequence of these, default ()
            Columns that keep their values, by number or name; those that the model left out are ignored.
        within : dict or None
            Values that columns may change to, by number or name: a tuple (low, high) of numbers or times, where None is no
            bound, or a list of values.
        min_probability : float or None
            Least probability of the class that is reached; None asks that it is the largest.

        Raises
        ------
        InputError
            If x has the prediction already, no change was found, or a column, a class or a bound is unknown.
        """
        found = self.counterfactuals(x, 1, target, fixed=fixed, within=within, min_probability=min_probability)
        if not found:
            raise InputError(
                f"no change of the columns that are free leads to target={target!r}; fix fewer columns, or widen within="
            )
        return found[0]

    def counterfactuals(
        self,
        x: ArrayLike,
        n: int = 3,
        target: Any = None,
        *,
        fixed: int | str | Sequence[int | str] = (),
        within: Mapping[int | str, Any] | None = None,
        min_probability: float | None = None,
    ) -> list[PredictionCounterfactual]:
        """Return at most ``n`` changes of x that differ in kind, the smallest first; see `counterfactual`.

        No change alters all the columns that a smaller one alters. The list is empty if no change was found.

        Raises
        ------
        InputError
            If x has the prediction already, or a column, a class or a bound is unknown.
        """
        check_is_fitted(self, "index_")
        check_count("n", n)
        d, items = self.semimetric_, self.index_.encoded_items_
        query, _ = single_row(x, d.schema)
        free = np.ones(d.n_features, dtype=np.bool_)
        given = [fixed] if isinstance(fixed, (int, str)) else fixed
        free[column_numbers([column for column in given if column not in d.schema.dropped], d.feature_names, "fixed")] = False
        allowed = allowed_values(within, d.schema)
        reaches = self._reaches(query, target, min_probability)
        if reaches(query)[0]:
            raise InputError(f"x is predicted as target={target!r} already; name another target")
        if outside := [d.feature_names[f] for f, test in allowed.items() if free[f] and not test(query[:, f])[0]]:
            raise InputError(f"x itself has a value of {outside[0]!r} that within= does not allow; widen it")
        used = items if self._weight is None else items[self._weight > 0]
        before = self._answers(query)[0]
        quick = self._for_alike_rows()._reaches(query, target, min_probability)
        return [
            PredictionCounterfactual(
                changes=changed_columns(query[0], found.row, d),
                row=self._as_given(found.row[None]),
                before=before,
                prediction=self._answers(found.row[None])[0],
                probability=None if (chances := self._probabilities(found.row[None])[0]) is None else float(chances.max()),
                distance=found.distance,
                n_smaller=found.n_smaller,
            )
            for found in ChangeSearch(d, query[0], used, quick, free, allowed).found(n)
            if reaches(found.row[None])[0]
        ]

    def _as_given(self, rows: Floats) -> Any:
        """Return encoded rows as a frame with the names of the fit, or where it had none as an array."""
        schema = self.semimetric_.schema
        values = schema.display(rows)
        if not hasattr(self, "feature_names_in_"):
            return values
        cells = values.astype(object)
        for f in self._whole_columns(rows):
            cells[:, f] = [int(cell) for cell in rows[:, f]]
        return schema.frame(cells, np.arange(len(rows)))

    def _whole_columns(self, rows: Floats) -> Integers:
        """Return the columns of numbers that are whole in encoded rows, and in all fitted items that have one."""
        features, items = self.semimetric_.schema.features, self.index_.encoded_items_
        numbers = [f for f, of in enumerate(features) if of.kind != "categorical" and not of.time and not of.truth]
        whole = [f for f in numbers if _are_whole(rows[:, f]) and _are_whole(items[~np.isnan(items[:, f]), f])]
        return np.array(whole, dtype=np.int64)

    def _reaches(self, query: Floats, target: Any, min_probability: float | None) -> Reaches:
        """Return a function that says which encoded rows have the prediction that is asked for an encoded query."""
        raise NotImplementedError

    def _answers(self, queries: Floats) -> Any:
        """Return the predictions of encoded queries, shape (n_queries,)."""
        raise NotImplementedError

    def _speaking_items(self, query: Floats, found: Contributions) -> SpeakingItems:
        """Return the items that a prediction of one encoded row rests on most, and what each adds to every score."""
        if hasattr(self, "machine_"):
            machine, items = self.machine_, self.index_.encoded_items_[found.background]
            of_background = np.average(np.exp(-self._to_centers(items) / machine.width), axis=0, weights=found.weight)
            similar = np.exp(-self._to_centers(query)[0] / machine.width) - of_background
            rows, pushes = machine.rows, similar[:, None] * machine.score_coefficients
        else:
            voters = next(v for v in self._voters(query) if len(v.queries))
            votes = self._votes(voters)[0]
            rows = voters.indices[0]
            pushes = self._pushes_of_votes(votes / (votes.sum() + self.vote_rule_.smoothing), rows, found.base)
        order = np.argsort(-np.abs(pushes).max(axis=1), kind="stable")[:_MOST_SPEAKING]
        return SpeakingItems(rows[order], pushes[order])

    @property
    def _score_name(self) -> str:
        """The meaning of a score, in words."""
        raise NotImplementedError

    def _scores(self, queries: Floats) -> Floats:
        """Return what is explained of encoded queries, shape (n_queries, n_outputs)."""
        raise NotImplementedError

    def _probabilities(self, queries: Floats) -> Any:
        """Return the probabilities of classes for encoded queries, (n_queries, n_classes), or for values a None for each."""
        raise NotImplementedError

    def _pushes_of_votes(self, fractions: Floats, rows: Integers, base: Floats) -> Floats:
        """Return what the items of these rows add to every score, (k, n_outputs), from their fractions of all votes."""
        raise NotImplementedError


def _are_whole(numbers: Floats) -> bool:
    """Return True if all numbers are whole, and small enough for int64."""
    return bool((np.abs(numbers) < _LARGEST_WHOLE).all() and (numbers % 1 == 0).all())


def has_l1_coordinates(d: Semimetric) -> bool:
    """Return True if the tables of a distance say that it embeds in L1."""
    try:
        return bool(d.coordinate_names)
    except NotSupportedError:
        return False


def check_restored_machine(machine: KernelMachine, n_items: int, classes: NDArray[Any] | None) -> None:
    """Refuse a machine of a file that is not of these items and classes; of values there are none."""
    known, rows = 1 if classes is None else len(classes), machine.rows
    if len(machine.offset) != known or (machine.shifts is None) != (classes is None):
        raise InputError(f"the machine has {len(machine.offset)} outputs for {known} classes or values; restore the file")
    check_array("KernelMachine.rows", rows, np.int64, len(machine.coefficients), least=0, most=n_items - 1)
    if not len(rows):
        raise InputError("the machine has no centers; restore the file")


def as_chosen(learner: Any, fitted: Any) -> Any:
    """Return a copy of the learner with the settings of ``fitted.recipe_`` in place of "auto", and no time budget."""
    recipe, made = getattr(fitted, "recipe_", None), clone(learner)
    params = made.get_params()
    chosen = {_CHOSEN[name]: getattr(recipe, name) for name in _CHOSEN if _CHOSEN[name] in params and hasattr(recipe, name)}
    if isinstance(params.get("directions"), str) and isinstance(getattr(recipe, "directions", None), Directions):
        chosen = {name: value for name, value in chosen.items() if name not in ("directions", "tables__kind")}
        # they were fitted to all items
    if "columns" in params and hasattr(fitted, "columns_"):
        chosen["columns"] = Columns.as_read(fitted.columns_)  # a part of the items may read as other kinds
    return made.set_params(**chosen | ({"time_budget": None} if "time_budget" in params else {}))


def usable_folds(rows: Floats, strata: NDArray[Any], random_state: int, *, n_strata: int) -> list[tuple[Integers, Integers]]:
    """Return row numbers to learn from and to score, with equal parts of every stratum.

    Identical items are on one side. Parts to learn from that have fewer than ``n_strata`` strata, or two items in none, are
    left out.
    """
    found = identities(rows)
    order = np.argsort(found.hashes[found.number], kind="stable")  # neither the order of the rows nor repetition plays a part
    classes = ItemClasses(rows[order], strata[order])
    n_folds = min(_N_FOLDS, classes.most_folds)
    if n_folds < 2:
        return []
    if len(classes.labels) > _MANY:
        parts = [classes.split(min(0.2, _MOST_HELD_OUT / len(classes.labels)), random_state)]
    else:
        parts = classes.folds(n_folds, random_state)
    usable = [
        (part, held)
        for part, held in parts
        if len(held) and leaves_enough(classes.labels[np.unique(classes.number[part])], n_strata)
    ]
    return [(np.sort(order[part]), np.sort(order[held])) for part, held in usable]


def strata_of_values(values: Floats) -> Integers:
    """Return the number of the tenth of the distinct values that holds each value; few values have fewer strata."""
    distinct = np.unique(values)
    n_strata = min(_STRATA, max(len(distinct) // _LEAST_STRATUM, 1))
    bounds = np.quantile(distinct, np.arange(1, n_strata) / n_strata, method="inverted_cdf")
    return np.searchsorted(np.unique(bounds), values, side="left")


class HeldOutSearch:
    """A search for the nearest items, in a part of the items, of those that are held out of it."""

    def __init__(
        self,
        X: ArrayLike,  # (n_items, n_features), or a frame
        targets: NDArray[Any],  # (n_items,): classes as numbers, or values
        weight: Floats | None,  # (n_items,): how many neighbors each item is; None is one each
        learn: Callable[[Integers], Semimetric],  # learns a distance from the rows of sorted numbers
        n_jobs: int | None,
    ) -> None:
        self.X = X
        self.targets = targets
        self.weight = weight
        self.learn = learn
        self.n_jobs = n_jobs

    def folds(
        self, rows: Floats, strata: NDArray[Any], random_state: int, *, n_strata: int = 1, n_targets: int = 1
    ) -> list[HeldOutNeighbors]:
        """Return the neighbors of the items that each fold holds out of those that have a weight.

        ``rows`` (n_items, n_encoded) are the encoded items. ``strata`` (n_items,) are classes, or tenths of values, that have
        equal parts in all folds. Parts to learn from with fewer than ``n_strata`` strata or ``n_targets`` targets are left out.
        """
        used = np.arange(len(rows)) if self.weight is None else np.flatnonzero(self.weight > 0)
        parts = usable_folds(rows[used], strata[used], random_state, n_strata=n_strata)
        return [
            self.neighbors(used[part], used[held])
            for part, held in parts
            if len(np.unique(self.targets[used[part]])) >= n_targets
        ]

    def neighbors(self, part: Integers, held: Integers) -> HeldOutNeighbors:
        """Return the nearest items of the rows ``held`` among the rows of ``part``."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all items has warned of it
            index = NeighborIndex(self.learn(part), n_jobs=self.n_jobs).fit(take_rows(self.X, part))
            distances, near = index.kneighbors(take_rows(self.X, held), min(MOST_NEIGHBORS, len(part)))
        weight = np.ones(len(self.targets)) if self.weight is None else self.weight
        return HeldOutNeighbors(
            distances, self.targets[part][near], self.targets[held], weight[held],
            neighbor_weight=None if self.weight is None else weight[part][near],
        )  # fmt: skip


def _named(learner: Any, parameter: str) -> list[str]:
    """Return the full names of the parameters of this name, of a learner and of estimators nested in it."""
    return sorted(name for name in learner.get_params() if name.split("__")[-1] == parameter)
