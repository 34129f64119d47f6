"""What classifiers and regressors by neighbours share: items indexed under a distance that is learned first."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, NotRequired, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr
from ..._foundation.tables import row_labels, take_rows
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_n_jobs, check_weights
from ...data.identical_items import identities
from ...data.rows import single_row
from ...data.splits import ItemClasses, leaves_enough
from ..features.linear_directions import Directions
from ..model.explanations import Explanation
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex
from ..search.votes import MOST_NEIGHBORS, WEIGHTS, HeldOutNeighbors, Voters, VoteRule, find_voters, neighbor_counts
from .indexed import index_of_stored, stored_index


class SavedVotes(SavedEstimator):
    """Neighbours that vote, as a file holds them: all else follows from their items, targets and weights."""

    _fitted: ClassVar[dict[str, Any]] = {
        "learner_": SavedEstimator,
        "index": dict[str, Any],
        "items": NDArray[np.floating],
        "targets": NDArray[Any],
        "labels": NDArray[Any],
        "weight": Floats | None,
        "vote_rule_": NotRequired[VoteRule],
    }

    n_jobs: int | None
    learner_: Any
    index_: NeighborIndex
    _targets: Any
    _labels: Any
    _weight: Floats | None
    vote_rule_: VoteRule

    def _stored(self) -> dict[str, Any]:
        index = stored_index(self.index_, len(self._targets))
        held = {"targets": self._targets, "labels": self._labels, "weight": self._weight, "vote_rule_": self.vote_rule_}
        return index | {"learner_": self.learner_} | held

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._check()
        check_n_jobs(self.n_jobs)
        self.learner_, n = fitted["learner_"], len(fitted["items"]) if fitted["items"].ndim else 0
        d = getattr(self.learner_, "semimetric_", None)
        if not isinstance(d, Semimetric) or fitted["targets"].shape != (n,):
            raise InputError(f"there are targets of shape {fitted['targets'].shape} for {n} items, or no distance is learned")
        names = getattr(self.learner_, "feature_names_in_", None)
        index = index_of_stored(d, {"index": fitted["index"], "items": fitted["items"]}, names)
        self._weight = fitted["weight"]
        used = check_weights(self._weight, n) > 0
        targets = self._keep_targets(fitted["targets"], used)
        labels = fitted["labels"]
        if labels.shape != (n,) or labels.dtype.kind not in "iU":
            raise InputError(f"there are labels of shape {labels.shape} and {labels.dtype} for {n} items; restore the file")
        self.vote_rule_ = self._rule_of(fitted.get("vote_rule_"))
        self._keep_index(index, targets, labels)

    def _rule_of(self, stored: VoteRule | None) -> VoteRule:
        """The rule that a file holds, or of a file that holds none the one that its parameters say."""
        given = self._given_rule
        if stored is None and given is None:
            raise InputError(
                "there is no rule of the votes, which n_neighbors= and weights= leave to be chosen; restore the file"
            )
        return stored or given  # type: ignore[return-value]  # one of them is there

    @property
    def _given_rule(self) -> VoteRule | None:
        """The rule that the parameters say in full; None where something is left to choose."""
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse parameters of the votes that are unknown."""
        raise NotImplementedError

    def _keep_index(self, index: NeighborIndex, targets: Any, labels: Any) -> None:
        """Record the index of the items, their classes or values, and what their table calls them."""
        raise NotImplementedError

    def _keep_targets(self, targets: Any, used: Any) -> Any:
        """The classes or values of the items, checked, of which ``used`` ones count."""
        raise NotImplementedError


class NestedLearner(BaseEstimator):
    """An estimator with a ``learner``, of which None is a default one; ``learner__alpha`` and so on reach its parameters."""

    learner: Any
    n_jobs: int | None
    effort: str | None
    random_state: Any

    @staticmethod
    def _default_learner() -> Any:
        """What ``learner=None`` stands for."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; where ``learner`` is None, those of the default one too, which `set_params` takes.

        Parameters
        ----------
        deep : bool, default True
            Whether those of the learner are told, as ``learner__alpha`` and so on.

        Returns
        -------
        dict of str to object
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and params["learner"] is None:
            default = self._default_learner().get_params()
            params |= {f"learner__{name}": value for name, value in default.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the learner as ``learner__alpha`` and so on.

        Where the learner is None, it becomes a default one with these; None it stays if all of them are the default's own.

        Parameters
        ----------
        **params : dict
        """
        if params.get("learner", self.learner) is None and any(name.startswith("learner__") for name in params):
            nested = {name: params.pop(name) for name in list(params) if name.startswith("learner__")}
            learner = self._default_learner()  # which is kept only if it has all of these parameters
            default = learner.get_params()
            given = {name.removeprefix("learner__"): value for name, value in nested.items()}
            learner.set_params(**given)
            params["learner"] = None if all(_same(value, default[name]) for name, value in given.items()) else learner
        return super().set_params(**params)

    def _own_learner(self, random_state: Any = None) -> Any:
        """A copy of the learner, or a default one, with this effort, and seeds from ``random_state``, where they are given.

        It has these threads where it says none of its own.
        """
        learner = self._default_learner() if self.learner is None else clone(self.learner)
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
        """A seed for what is drawn beside the learner."""
        return int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))


def _same(value: object, default: object) -> bool:
    """Whether a value is that of the default, which is a number, a text, a truth value, None or an empty tuple."""
    return value is default or (type(value) is type(default) and bool(value == default))


def _named(learner: Any, parameter: str) -> list[str]:
    """The parameters of this name that a learner has, and what is nested in it, in order."""
    return sorted(name for name in learner.get_params() if name.split("__")[-1] == parameter)


_N_FOLDS = 3
_STRATA, _LEAST_STRATUM = 10, 6  # of values, and the fewest items in one
_MANY = 3_000  # items, of which one part is held out once
_MOST_HELD_OUT = 2_000  # items that judge, of many
_CHOSEN = ("n_knots", "alpha", "directions", "tables", "groups")


def as_chosen(learner: Any, fitted: Any) -> Any:
    """A copy of the learner with the settings that a fit of it has chosen in place of "auto", where its recipe says them.

    It has no time budget, which is for the choice of settings.
    """
    recipe, made = getattr(fitted, "recipe_", None), clone(learner)
    names = [name for name in _CHOSEN if name in made.get_params(deep=False) and hasattr(recipe, name)]
    if isinstance(getattr(made, "directions", None), str) and isinstance(getattr(recipe, "directions", None), Directions):
        names = [name for name in names if name not in ("directions", "tables")]  # they were fitted to all items
    chosen = {name: getattr(recipe, name) for name in names}
    return made.set_params(**chosen | ({"time_budget": None} if "time_budget" in made.get_params(deep=False) else {}))


def usable_folds(rows: Floats, strata: NDArray[Any], random_state: int, *, n_strata: int) -> list[tuple[Integers, Integers]]:
    """Row numbers to learn from and to judge by, with equal shares of every stratum; identical items are on one side.

    Parts to learn from that have fewer than ``n_strata`` strata, or two items in none, are left out.
    """
    found = identities(rows)
    order = np.argsort(found.hashes[found.number], kind="stable")  # neither the order of the rows nor repetition plays a part
    classes = ItemClasses(rows[order], strata[order])
    n_folds = min(_N_FOLDS, classes.most_folds)
    if n_folds < 2:
        return []
    if len(classes.labels) > _MANY:
        parts = [classes.shares(min(0.2, _MOST_HELD_OUT / len(classes.labels)), random_state)]
    else:
        parts = classes.folds(n_folds, random_state)
    usable = [
        (part, held)
        for part, held in parts
        if len(held) and leaves_enough(classes.labels[np.unique(classes.number[part])], n_strata)
    ]
    return [(np.sort(order[part]), np.sort(order[held])) for part, held in usable]


def strata_of_values(values: Floats) -> Integers:
    """The number of the tenth of the distinct values in which each value lies; of few values they are fewer than ten."""
    distinct = np.unique(values)
    n_strata = min(_STRATA, max(len(distinct) // _LEAST_STRATUM, 1))
    bounds = np.quantile(distinct, np.arange(1, n_strata) / n_strata, method="inverted_cdf")
    return np.searchsorted(np.unique(bounds), values, side="left")


class HeldOutSearch:
    """Searches the nearest items, of a part, of the items that are held out of it.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_features)
    targets : ndarray of shape (n_items,)
        Classes as numbers, or values.
    weight : ndarray of shape (n_items,) or None
        How many neighbours each item is; None is one each.
    learn : callable
        Given sorted row numbers, it learns a distance from these rows.
    n_jobs : int or None
    """

    def __init__(
        self, X: Any, targets: Any, weight: Floats | None, learn: Callable[[Integers], Semimetric], n_jobs: int | None
    ) -> None:
        self.X, self.targets, self.weight, self.learn, self.n_jobs = X, targets, weight, learn, n_jobs

    def folds(
        self, rows: Floats, strata: NDArray[Any], random_state: int, *, n_strata: int = 1, n_targets: int = 1
    ) -> list[HeldOutNeighbors]:
        """The neighbours of the items that each fold holds out of those that have a weight.

        Parameters
        ----------
        rows : ndarray of shape (n_items, n_encoded)
            The items, encoded.
        strata : ndarray of shape (n_items,)
            What has equal shares in all folds.
        random_state : int
        n_strata, n_targets : int
            A part to learn from that has fewer strata, or fewer different targets, is left out.
        """
        used = np.arange(len(rows)) if self.weight is None else np.flatnonzero(self.weight > 0)
        parts = usable_folds(rows[used], strata[used], random_state, n_strata=n_strata)
        return [
            self.neighbors(used[part], used[held])
            for part, held in parts
            if len(np.unique(self.targets[used[part]])) >= n_targets
        ]

    def neighbors(self, part: Integers, held: Integers) -> HeldOutNeighbors:
        """The nearest items among the rows of ``part`` of the rows ``held``, whose targets are the classes or values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all items has said it
            index = NeighborIndex(self.learn(part), n_jobs=self.n_jobs).fit(take_rows(self.X, part))
            distances, near = index.kneighbors(take_rows(self.X, held), min(MOST_NEIGHBORS, len(part)))
        weight = np.ones(len(self.targets)) if self.weight is None else self.weight
        return HeldOutNeighbors(
            distances, self.targets[part][near], self.targets[held], weight[held],
            neighbor_weight=None if self.weight is None else weight[part][near],
        )  # fmt: skip


_FOR_FEW = 3  # neighbours that vote where nothing can be held out
_WIDTH_FOR_FEW = (0.25, 5)  # a quarter of the distance to the fifth neighbour

_MOST_SHOWN = 10  # neighbours, unless more are asked for


class KeptItems(NamedTuple):
    """The items that a fitted classifier or regressor by neighbours holds, in the order of its index.

    Parameters
    ----------
    targets : ndarray of shape (n_items,)
        Their classes or values.
    names : ndarray of shape (n_items,)
        What the table of the fit calls its rows.
    has_weights, has_class_weights : bool
        Whether some items, or some classes, count more than others.
    """

    targets: Any
    names: Any
    has_weights: bool
    has_class_weights: bool


def kept_items(model: Any) -> KeptItems | None:
    """The items that a model votes by; None if it is no fitted classifier or regressor by neighbours."""
    if not isinstance(model, LearnedNeighbors) or not hasattr(model, "index_"):
        return None
    has_class_weights = getattr(model, "_factors", None) is not None
    return KeptItems(model._targets, model._labels, model._weight is not None, has_class_weights)


class LearnedNeighbors(ShortRepr, SavedVotes, NestedLearner):
    """Neighbours under a learned distance: the parameters, the index and the explanations that both estimators share."""

    n_neighbors: int | str
    weights: str
    algorithm: str
    n_jobs: int | None
    learner_: Any
    index_: NeighborIndex
    vote_rule_: VoteRule

    def _index(self, X: ArrayLike, targets: Any, sample_weight: ArrayLike | None) -> None:
        """Index the items under the learned distance, and record their classes or values, and their weights."""
        self._weight = None if sample_weight is None else neighbor_counts(np.asarray(sample_weight, dtype=np.float64))
        d = self.learner_.semimetric_
        index = NeighborIndex(d, algorithm=self.algorithm, n_jobs=self.n_jobs).fit(X)
        self._keep_index(index, targets, row_labels(X, len(targets)))

    def _keep_index(self, index: NeighborIndex, targets: Any, labels: Any) -> None:
        """Record the index of the items, their classes or values, and what their table calls them."""
        d = self.learner_.semimetric_
        self.index_, self._targets, self._labels = index, targets, labels
        self.n_features_in_ = d.n_features
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.learner_, "feature_names_in_"):
            self.feature_names_in_ = self.learner_.feature_names_in_

    def _check(self) -> None:
        """Refuse parameters of the votes that are unknown, before the distance is learned."""
        if not (isinstance(self.n_neighbors, str) and self.n_neighbors == "auto"):
            _check_n_neighbors(self.n_neighbors)
        check_choice("weights", self.weights, ("auto", *WEIGHTS))

    @property
    def _given_rule(self) -> VoteRule | None:
        """The rule that the parameters say in full; None where something is left to choose."""
        if isinstance(self.n_neighbors, str) or self.weights in ("auto", "kernel"):
            return None
        return VoteRule(int(self.n_neighbors), self.weights)

    @property
    def _rule_for_few(self) -> VoteRule:
        """The rule where nothing can be held out to choose one."""
        k = _FOR_FEW if isinstance(self.n_neighbors, str) else int(self.n_neighbors)
        if self.weights == "kernel":
            return VoteRule(k, "kernel", *_WIDTH_FOR_FEW)
        return VoteRule(k, "uniform" if self.weights == "auto" else self.weights)

    @property
    def n_neighbors_(self) -> int:
        """How many neighbours vote, beside those tied with the last of them."""
        check_is_fitted(self, "vote_rule_")
        return self.vote_rule_.n_neighbors

    @property
    def weights_(self) -> str:
        """How their votes are weighed: "uniform", "distance" or "kernel"."""
        check_is_fitted(self, "vote_rule_")
        return self.vote_rule_.weights

    def _queries(self, X: ArrayLike) -> Floats:
        """The queries, encoded."""
        check_is_fitted(self, "index_")
        return self.index_.encode(X)

    def _voters(self, queries: Floats) -> Iterator[Voters]:
        """The neighbours of every encoded query, among which are all that vote, in groups of queries."""
        return find_voters(self.index_, queries, self.vote_rule_.n_searched, self._weight)

    def _votes(self, voters: Voters) -> Floats:
        """The weight of the vote of every voter, shape (n, K)."""
        return self.vote_rule_.votes(voters.distances, voters.weight)

    def _vote_shares(self, query: Floats, indices: Integers) -> Floats:
        """The shares of all votes for an encoded query that the items of these row numbers have, shape (k,)."""
        voters = next(v for v in self._voters(query) if len(v.queries))
        votes = self._votes(voters)[0]
        share = dict(zip(voters.indices[0].tolist(), votes / (votes.sum() + self.vote_rule_.smoothing), strict=True))
        return np.array([share.get(i, 0.0) for i in indices.tolist()])

    @property
    def semimetric_(self) -> Semimetric:
        """The distance that `learner_` has learned."""
        check_is_fitted(self, "index_")
        return self.learner_.semimetric_

    @property
    def n_samples_fit_(self) -> int:
        """The number of items that were fitted, which vote."""
        return self.index_.n_samples_fit_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "index_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self.learner, "missing", "error") == "level"
        return tags

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> tuple[Floats, Integers]:
        """Distances and rows of the nearest items that were fitted, both of shape (n_queries, k); `n_neighbors_` by default."""
        check_is_fitted(self, "index_")
        k = self.n_neighbors_ if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        return self.index_.kneighbors(X, min(k, self.n_samples_fit_))

    def explain_neighbors(self, x: ArrayLike, n_neighbors: int | None = None, *, by: str = "features") -> Explanation:
        """Why these are the neighbours of x: what every feature adds to their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_neighbors : int or None
            `n_neighbors_` by default, of which the 10 nearest are shown.
        by : {"features", "terms"}, default "features"
            By "terms", directions and joint tables stand by their own names; see `Semimetric.contributions`.

        Returns
        -------
        Explanation
            Printed, a table; neighbours have the labels of the frame of pandas that was fitted, and each its share of all
            votes for x. What these shares lack to 1 have other neighbours, and the smoothing.
        """
        check_is_fitted(self, "index_")
        k = min(self.n_neighbors_, _MOST_SHOWN) if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        found = self.index_.explain(x, n_neighbors=min(k, self.n_samples_fit_), by=by)
        query, _ = single_row(x, self.semimetric_.schema)
        votes, kind = self._vote_shares(query, found.indices), "class" if is_classifier(self) else "value"
        targets, labels = self._targets[found.indices], self._labels[found.indices]
        return replace(found, targets=targets, labels=labels, target_name=kind, votes=votes)


def _check_n_neighbors(n_neighbors: Any) -> int:
    """The number of neighbours that is given, or an error that says "auto" too."""
    if isinstance(n_neighbors, str):
        raise InputError(f'n_neighbors={n_neighbors!r}: an integer >= 1 or "auto" is required')
    return check_count("n_neighbors", n_neighbors)
