"""Learning a distance from class labels (Weinberger & Saul 2009; paper 2, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import check_sorted_classes
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.progress import TimeBudget, check_time_budget
from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.stored import storable
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, FeatureChoice, Floats, KnotCounts, Knots, Periods
from ..._foundation.validation import check_alpha, check_choice, check_count
from ...data.feature_groups import Groups, only_singles
from ...data.rows import items_named
from ...data.schema import Schema
from ..features.from_labels import LABELLED
from ..learning.from_labels import LearnedFromLabels, fit_given, learn_from_labels
from ..learning.items import ClassLabels, LabeledDataset, LabeledItems, LabelProblem, LargeMargin, encode_class_labels
from ..learning.large_margin import LargeMarginPass
from ..learning.options import Recipe
from ..learning.structure import check_varied
from ..model.item_statistics import importances
from ..model.semimetric import Semimetric
from ..programs.constraints import Constraint
from ..programs.losses import Loss, resolve_loss
from ..programs.penalties import Penalties
from ..search.votes import neighbor_counts
from ..solvers.base import Solver
from .base import LearnedCoordinates, LearnedDistance
from .part_tasks import ItemTask, check_solved_by_sums, refuse_choices
from .shared_parameters import COMPARISON_PARAMETERS, LEARNER_PARAMETERS

_PARAMETERS = (
    "knots", "groups", "axioms", "delta", "outside", "solver", "categorical_features", "periodic", "missing",
    "constraints", "prior", "n_jobs", "random_state", "effort", "verbose",
)  # fmt: skip
_AUTO = ("directions", "tables")


@storable
@with_shared_parameters(LEARNER_PARAMETERS, COMPARISON_PARAMETERS)
class LargeMarginLearner(LearnedCoordinates):
    """A distance under which items are closer to their own class than to others by a margin.

    ``min_w  mean_t s_t loss(1 + d_ij - d_il) + (1 - mu) / mu mean d_ij + penalty(w)``  over triplets t of an item i, a target j
    (near, of its class) and an impostor l (near, of another class), found under the current distance and found again in a few
    passes; every pass is a convex program. The margin 1 is 0.7 of the mean distance to a target under the L1 distance to which
    all features contribute equally, or under ``prior``, so units play no part.

    Parameters
    ----------
    n_targets : int, default 3
        Targets of an item: the nearest items of its class.
    n_impostors : int, default 6
        Impostors of an item: the nearest items of other classes.
    mu : float, default 1.0
        In (0, 1]: the weight of the push against the pull of targets. At 1 the penalty alone keeps distances from growing.
    n_passes : int, default 3
        How often targets and impostors are found and a program is solved.
    {n_knots}
        Settings are compared by the votes of neighbours.
    {knots}
    {groups}
        The error is that of the votes of neighbours: some 50 fits for the first pair.
    directions : "auto" (default), "nca-embedded", "forest", "lda", "nca", "discriminant", "combined", "pca", None, or see below
        Combinations of features that join the raw ones. "nca-embedded" are 32 neighbourhood components that bend, "forest" the
        leaves of 100 extremely randomised trees (`PartitionFeatures`); "lda" linear discriminants, "nca" neighbourhood
        components, "discriminant" discriminants that bend at knots, and "combined" the last two together, with the components
        of up to four samples. With "auto", and ``tables="auto"``, the distance is a sum of three that are learned each on its
        own: scales of the features by this program, components, and a forest; what share each has is chosen by items held
        out (`choices_`). Elsewhere "auto" compares "combined" with none at all. Also an array of shape (n_directions,
        n_features), a transformer with ``components_``, `PartitionFeatures` or a forest of scikit-learn, or a list of those.
    even : {"values", "places"}, default "values"
        What the even L1 distance counts: differences of values, or of places among the knots. With "places", a map of a
        feature that increases, and is linear between knots, leaves the distance if the knots follow and ``directions=None``.
    tables : {"auto", "warped", "full"}, default "auto"
        One monotone scale a number (a metric), or full tables. With "auto" the distance is the sum that ``directions`` tells
        of, or held-out items choose. Scales, and so the sum, have an exact `transform` into L1.
    {axioms}
        ``tables="auto"`` is "warped" with "metric" and "full" with "quasimetric".
    {delta}
    {outside}
    {loss}
        With "hinge" and ``penalty=None`` a pass is a linear program (Pele 2011, as cited in Pele & Ben-Aliz 2016).
    {penalty}
        The weighted L1 distance is here the even one.
    {alpha}
    {solver}
    {categorical_features}
    {periodic}
    {missing}
    {constraints}
        Values are in units of the margin.
    {prior}
        There are no distances to fit here: the number is the one with which the margin is 0.7 of its mean distance to a
        target, so that only its proportions count, and the first targets and impostors are found under it.
    {preprocessor}
    {n_jobs}
    {random_state}
    {effort}
    time_budget : float or None, default None
        The seconds that a fit may take, for the sum that "auto" makes of ``directions`` and ``tables`` together: scales,
        components and forest race on few items first, what is hopeless or too slow is left out, and the folds that choose
        shares are as many as there is time for. A table from which not even scales can be learned in that time is fitted with
        the cheapest candidate, and a `SemimetricWarning` says how many seconds it takes. What is chosen depends on the speed
        of the machine then; with None it does not.
    {verbose}

    Attributes
    ----------
    semimetric_ : Semimetric
        In units of the margin.
    classes_ : ndarray
    passes_ : tuple of LargeMarginPass
        Triplets, how many lack their margin, and the objective before and after each pass.
    solution_ : Solution
        Of the last pass.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean share of each feature in the distance between an item and its impostors; a direction's share is divided among
        the features that it combines.
    choices_ : Choices
        What "auto" compared; printed, a table. With a time budget it shows the seconds of each candidate beside its loss.
    held_out_neighbors_ : list of HeldOutNeighbors or None
        The neighbours of items held out, under the shares that were chosen, by which `SemimetricClassifier` chooses its votes;
        None where there was no sum to choose.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        What ``groups="auto"`` compared; printed, a table.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LargeMarginLearner(n_knots=6, alpha=1e-2, directions=None, tables="warped").fit(X, y)
    >>> model.transform(X).shape
    (150, 4)

    Two items are as far apart as their coordinates are by L1, scales and leaves of trees alike.

    >>> X = np.random.default_rng(0).random((90, 3))
    >>> model = LargeMarginLearner().fit(X, X[:, 0] > X[:, 1])
    >>> at = model.transform(X)
    >>> bool(np.isclose(np.abs(at[0] - at[70]).sum(), model.semimetric_(X[0], X[70])))
    True
    """

    _learns_from_items = True
    _fitted = {
        **LearnedDistance._fitted,
        "classes_": NDArray[Any],
        "passes_": tuple[LargeMarginPass, ...],
        "feature_importances_": Floats,
    }

    def __init__(
        self,
        *,
        n_targets: int = 3,
        n_impostors: int = 6,
        mu: float = 1.0,
        n_passes: int = 3,
        n_knots: KnotCounts = "auto",
        knots: Knots = "quantile",
        groups: Groups = "singles",
        directions: Any = "auto",
        even: str = "values",
        tables: str = "auto",
        axioms: str = "semimetric",
        delta: float = 1e-6,
        outside: str = "extend",
        loss: str | Loss = "squared_hinge",
        penalty: Penalties = "auto",
        alpha: float | str = "auto",
        solver: str | Solver = "auto",
        categorical_features: FeatureChoice = "auto",
        periodic: Periods = None,
        missing: str = "error",
        constraints: Sequence[Constraint] = (),
        prior: Semimetric | None = None,
        preprocessor: Any = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str = "default",
        time_budget: float | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.mu = mu
        self.n_passes = n_passes
        self.n_knots = n_knots
        self.knots = knots
        self.groups = groups
        self.directions = directions
        self.even = even
        self.tables = tables
        self.axioms = axioms
        self.delta = delta
        self.outside = outside
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.categorical_features = categorical_features
        self.periodic = periodic
        self.missing = missing
        self.constraints = constraints
        self.prior = prior
        self.preprocessor = preprocessor
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort
        self.time_budget = time_budget
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LargeMarginLearner:
        """Learn from items and their classes.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features), or (n_items,) row numbers or labels with ``preprocessor``
            What is sparse becomes dense, up to 2 GB, here and wherever learners and distances take items.
        y : array-like of shape (n_items,)
            Classes: at least two. Identical items of different classes cannot be told apart, and are outvoted.
        sample_weight : array-like of shape (n_items,) or None
            Weights of the triplets of each item. An item that is given three times is one of weight 3, and no target of itself;
            an item of weight 0 is as good as absent.

        Raises
        ------
        InputError
            If the data cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C; after the first pass ``semimetric_`` holds the weights reached.
        """
        rule, (recipe, auto) = self._rule(), self._recipe()
        budget = TimeBudget.of(self.time_budget)
        items, schema = self._encoded(items_named(X, self.preprocessor), min_items=2)
        labels = encode_class_labels(y, len(items), sample_weight, self.n_targets)
        self.classes_ = labels.classes
        dataset = LabeledDataset.of_distinct(items[labels.used], labels.codes, labels.weight[labels.used])
        check_varied(dataset.items)
        counts = neighbor_counts(np.ones(len(items)) if sample_weight is None else np.asarray(sample_weight, np.float64))
        problem = LabelProblem(recipe, auto, rule, dataset, schema, float(counts[labels.used].sum()), budget)
        with one_blas_thread(), self._own_knots():
            self._keep(dataset.items, learn_from_labels(problem))
        return self

    def part_task(self) -> ItemTask:
        """The recipe and the rule to learn by from items in parts, see `LearnedDistance`."""
        refuse_choices(self, ("auto", *LABELLED))
        if self.time_budget is not None:
            raise NotSupportedError("time_budget= limits what is compared, and parts compare nothing; leave it out")
        recipe, auto = self._recipe()
        if "tables" in auto:
            raise NotSupportedError(
                'tables="auto" compares both on items held out; give "warped" or "full": fit on a sample, and take that of its '
                "recipe_"
            )
        check_solved_by_sums(recipe, resolve_loss(recipe.loss, margins=True))
        return ItemTask(recipe, self._rule())

    def learn_from_parts(self, task: ItemTask, items: LabeledItems, labels: ClassLabels, schema: Schema) -> Self:
        """Learn from items in parts; nothing is left to choose."""
        self.classes_ = labels.classes
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self._keep(items.example, fit_given(task.recipe, task.rule, items, schema))
        return self

    def _keep(self, example: Floats, learned: LearnedFromLabels) -> None:
        """Record what was learned; ``example`` are some items."""
        self.recipe_, self.choices_, self.group_choices_ = learned.recipe, learned.choices, learned.group_choices
        self.held_out_neighbors_, result, impostors = learned.held_out, learned.result, learned.impostors
        self.n_features_in_, self.passes_ = example.shape[1], result.passes
        self.feature_importances_ = importances(result.semimetric, impostors.items, impostors.index)
        self._record(result.semimetric, result.passes[-1].solution)

    def _restore(self, fitted: dict[str, Any]) -> None:
        super()._restore(fitted)
        self._rule()
        check_time_budget(self.time_budget)
        check_sorted_classes(self.classes_)
        if self.feature_importances_.shape != (self.n_features_in_,) or not self.passes_:
            raise InputError("the importances or passes are not those of a fit; restore the file")

    def _rule(self) -> LargeMargin:
        """The parameters of the large-margin program, checked."""
        for name in ("n_targets", "n_impostors", "n_passes"):
            check_count(name, getattr(self, name))
        if check_alpha("mu", self.mu, strict=True) > 1:
            raise InputError(f"mu={self.mu!r} must lie above 0 and at most at 1: the weight of the push")
        check_choice("even", self.even, ("values", "places"))
        if self.even == "places" and (len(self.constraints) or self.prior is not None):
            raise NotSupportedError('prior= and constraints= are in units of the features; use even="values"')
        return LargeMargin(self.n_targets, self.n_impostors, float(self.mu), self.n_passes, self.even)

    def _recipe(self) -> tuple[Recipe, frozenset[str]]:
        """The recipe, with stand-ins for what is to be chosen, and the names of that."""
        check_choice("axioms", self.axioms, ("semimetric", "metric", "quasimetric"))
        check_choice("tables", self.tables, ("auto", "warped", "full"))
        given = {name: getattr(self, name) for name in _PARAMETERS} | self._numbers()
        auto = {name for name in ("n_knots", "alpha") if name not in given}
        for name in _AUTO:
            value = getattr(self, name)
            if isinstance(value, str) and value == "auto":
                auto.add(name)
            else:
                given[name] = value
        if self.axioms != "semimetric" or not self._singles:
            auto.discard("tables")
        given.setdefault("tables", "warped" if self._singles and self.axioms != "quasimetric" else "full")
        given.setdefault("directions", None)
        given.setdefault("alpha", 1e-2)
        given["penalty"] = self.penalty
        if isinstance(self.directions, str) and self.directions not in (*LABELLED, "auto", "pca"):
            check_choice("directions", self.directions, ("auto", *LABELLED, "pca", None))
        return Recipe(**given, loss=resolve_loss(self.loss, margins=True)).checked(), frozenset(auto)

    @property
    def _singles(self) -> bool:
        """Whether every feature is a group of its own by name."""
        return only_singles(self.groups)

    @property
    def _has_scales(self) -> bool:
        """Whether the parameters ask for scales and trees alone: ``tables="auto"`` is scales in a metric, and in the sum."""
        if self.tables != "auto" or not self._singles:
            return self.tables == "warped"
        return self.axioms == "metric" or self._asks_for_sum

    @property
    def _asks_for_sum(self) -> bool:
        """Whether the parameters leave directions and tables open, and ask nothing of the raw features."""
        open_ = all(isinstance(v, str) and v == "auto" for v in (self.directions, self.tables)) and self.axioms == "semimetric"
        placed = isinstance(self.knots, str) and self.even == "values"
        return open_ and placed and self._singles and not len(self.constraints) and self.prior is None
