"""Learning a distance from class labels (Weinberger & Saul 2009; paper 2, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._foundation.errors import InputError, NotSupportedError, warn
from .._foundation.threads import one_blas_thread
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_alpha, check_choice, check_count, check_weights
from ..data.feature_groups import Groups
from ..distances.explanations import importances
from ..distances.semimetric import Semimetric
from ..embeddings.directions.from_labels import LABELLED
from ..learning.groups.folds import LabelFolds
from ..learning.groups.selection import GroupChoices, choose_groups, without_joint
from ..learning.large_margin.fit import LargeMarginPass, learn, structure_of
from ..learning.large_margin.labelled_data import LabeledDataset, LargeMargin
from ..learning.large_margin.selection import LargeMarginChoices, decide_large_margin
from ..learning.recipe import Recipe
from ..learning.structure import check_varied
from ..programs.constraints import Constraint
from ..programs.losses import Loss, resolve_loss
from ..programs.penalties import Penalty
from ..solvers.base import Solver
from .base import LearnedDistance

__all__ = ["LargeMarginLearner"]

_PARAMETERS = (
    "knots", "groups", "axioms", "delta", "outside", "solver", "categorical_features", "periodic", "missing",
    "constraints", "n_jobs", "random_state", "verbose",
)  # fmt: skip
_AUTO = ("directions", "tables")


class LargeMarginLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LearnedDistance):
    """A distance under which items are closer to their own class than to others by a margin.

    ``min_w  mean_t s_t loss(1 + d_ij - d_il) + (1 - mu) / mu mean d_ij + penalty(w)``  over triplets t of an item i, a target j
    (near, of its class) and an impostor l (near, of another class), found under the current distance and found again in a few
    passes; every pass is a convex program. The margin 1 is 0.7 of the mean distance to a target under the L1 distance to which
    all features contribute equally, so units play no part.

    Parameters
    ----------
    n_targets : int, default 3
    n_impostors : int, default 6
    mu : float, default 1.0
        In (0, 1]: the weight of the push against the pull of targets. At 1 the penalty alone keeps distances from growing.
    n_passes : int, default 3
    n_knots : int, sequence of int or "auto", default "auto"
    knots : {"quantile", "uniform", "kmeans"} or sequence of arrays, default "quantile"
    groups : "singles" (default), "pairs", "auto", AutoGroups, JointGroups or sequence of tuples of int or str
        Features modelled jointly; more than one needs ``tables="full"``. "auto" finds pairs worth a joint table, as in
        `DistanceRegressor`, by the votes of neighbours on items held out: some 50 fits for the first pair.
    directions : "auto" (default), "lda", "nca", "discriminant", "combined", "pca", None, or as in `DistanceRegressor`
        Combinations of features that join the raw ones: linear discriminants, neighbourhood components, discriminants that
        bend at knots, or the last two together, with the components of up to four samples. "auto" compares "combined" with
        none at all.
    even : {"values", "places"}, default "values"
        What the even L1 distance counts: differences of values, or of places among the knots. With "places", a map of a
        feature that increases, and is linear between knots, leaves the distance if the knots follow and ``directions=None``.
    tables : {"auto", "warped", "full"}, default "auto"
        One monotone scale a number (a metric, with an exact `transform` into L1), or full tables.
    axioms : {"semimetric", "metric", "quasimetric"}, default "semimetric"
        "metric": the triangle inequality too, which scales have anyway; ``tables="auto"`` is then "warped". "quasimetric",
        without symmetry, has full tables.
    delta : float, default 1e-6
    outside : {"extend", "clip"}, default "extend"
    loss : {"squared_hinge", "hinge"} or Loss, default "squared_hinge"
        With "hinge" and ``penalty=None`` a pass is a linear program (Pele 2011, as cited in paper 2).
    penalty : as in `DistanceRegressor`, default "auto"
        A ridge towards the even L1 distance, of full tables with differences as well.
    alpha : float or "auto", default "auto"
    solver : {"auto", "newton", "interior_point", "first_order", "reference"} or Solver, default "auto"
    categorical_features, periodic, missing, constraints : as in `DistanceRegressor`
        Constraints are in units of the margin.
    preprocessor : array-like of shape (n_items, n_features) or None
        The items, if pairs are given to `pair_distance` as row numbers.
    n_jobs : int or None, default None
    random_state : int or None, default 0
    verbose : bool, default False

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
    choices_ : LargeMarginChoices
        What "auto" compared; printed, a table.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : GroupChoices
        What ``groups="auto"`` compared; printed, a table.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LargeMarginLearner(n_knots=6, alpha=1e-2, directions=None, tables="warped").fit(X, y)
    >>> model.transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        *,
        n_targets: int = 3,
        n_impostors: int = 6,
        mu: float = 1.0,
        n_passes: int = 3,
        n_knots: int | Sequence[int] | str = "auto",
        knots: str | Sequence[ArrayLike] = "quantile",
        groups: Groups = "singles",
        directions: Any = "auto",
        even: str = "values",
        tables: str = "auto",
        axioms: str = "semimetric",
        delta: float = 1e-6,
        outside: str = "extend",
        loss: str | Loss = "squared_hinge",
        penalty: str | Penalty | Sequence[Penalty] | None = "auto",
        alpha: float | str = "auto",
        solver: str | Solver = "auto",
        categorical_features: str | Sequence[int | str] | None = "auto",
        periodic: dict[int | str, float] | None = None,
        missing: str = "error",
        constraints: Sequence[Constraint] = (),
        preprocessor: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
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
        self.preprocessor = preprocessor
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LargeMarginLearner:
        """Learn from items and their classes.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Classes: at least two. Identical items of different classes cannot be told apart, and are outvoted.
        sample_weight : array-like of shape (n_items,) or None
            Weights of the triplets of each item; an item of weight 0 is as good as absent.

        Raises
        ------
        InputError
            If the data cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C; after the first pass ``semimetric_`` holds the weights reached.
        """
        rule, (recipe, auto) = self._rule(), self._recipe()
        items, schema = self._encoded(X, min_items=2)
        classes = self._labelled(items, y, sample_weight)
        check_varied(np.nan_to_num(classes.items, nan=np.pi))  # a value that is missing differs from any that is there
        with one_blas_thread():
            singles, self.choices_ = decide_large_margin(without_joint(recipe), rule, classes, schema, auto)
            self.recipe_, self.group_choices_ = choose_groups(
                recipe.groups, singles, LabelFolds(classes, rule, schema), knots="n_knots" in auto
            )  # fmt: skip
            structure = structure_of(self.recipe_, classes, schema)
            learned = learn(self.recipe_, rule, structure, classes)
        self._keep(learned.semimetric, learned.passes, importances(learned.semimetric, classes.items, learned.impostors), items)
        return self

    def _take(
        self, recipe: Recipe, semimetric: Semimetric, passes: tuple[LargeMarginPass, ...], importances: Floats, items: Floats
    ) -> None:
        """Keep what was learned from parts, nothing being left to choose; ``items`` are some of the items."""
        self.recipe_, self.choices_, self.group_choices_ = recipe, LargeMarginChoices(), GroupChoices()
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self._keep(semimetric, passes, importances, items)

    def _keep(self, semimetric: Semimetric, passes: tuple[LargeMarginPass, ...], importances: Floats, items: Floats) -> None:
        self.n_features_in_, self.passes_ = items.shape[1], passes
        self._first, self.feature_importances_ = items[:1], importances
        self._record(semimetric, passes[-1].solution)

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`."""
        return self.semimetric_.transform(self.semimetric_.schema.decode(self._first)).shape[1]

    def _rule(self) -> LargeMargin:
        for name in ("n_targets", "n_impostors", "n_passes"):
            check_count(name, getattr(self, name))
        if check_alpha("mu", self.mu, strict=True) > 1:
            raise InputError(f"mu={self.mu!r} must lie above 0 and at most at 1: the weight of the push")
        check_choice("even", self.even, ("values", "places"))
        if self.even == "places" and len(self.constraints):
            raise NotSupportedError('constraints= are in units of the features; use even="values"')
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
        if self.axioms != "semimetric" or not isinstance(self.groups, str) or self.groups != "singles":
            auto.discard("tables")
        scales = isinstance(self.groups, str) and self.groups == "singles" and self.axioms != "quasimetric"
        given.setdefault("tables", "warped" if scales else "full")
        given.setdefault("directions", None)
        given.setdefault("alpha", 1e-2)
        given["penalty"] = self.penalty
        if isinstance(self.directions, str) and self.directions not in (*LABELLED, "auto", "pca"):
            check_choice("directions", self.directions, ("auto", *LABELLED, "pca", None))
        return Recipe(**given, loss=resolve_loss(self.loss, margins=True)).checked(), frozenset(auto)

    def _labelled(self, items: Floats, y: ArrayLike, sample_weight: ArrayLike | None) -> LabeledDataset:
        if y is None:
            raise InputError("requires y to be passed, but the target y is None; give a class for every item")
        used, codes, weight = self._coded(y, len(items), sample_weight)
        return LabeledDataset(np.ascontiguousarray(items[used]), codes, weight[used])

    def _coded(self, y: ArrayLike, n_items: int, sample_weight: ArrayLike | None) -> tuple[NDArray[np.bool_], Integers, Floats]:
        """Which of the items count, the classes of these as numbers, and the weights of all; `classes_` is set."""
        labels = column_or_1d(y, warn=True)
        if len(labels) != n_items:
            raise InputError(f"y has {len(labels)} classes for {n_items} items; one for each item is required")
        weight = check_weights(sample_weight, n_items)
        used = weight > 0
        try:
            np.unique(labels)
        except TypeError as error:
            raise InputError(f"y has classes of several types, or missing ones ({error}); give all of one type") from error
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels[used], return_inverse=True)
        counts = np.bincount(codes)
        if len(counts) < 2:
            raise InputError(f"y has one class only, {self.classes_[0]}; at least two classes are required")
        if counts.max() < 2:
            raise InputError("every class has one item, so none has a target; at least one class of two items is required")
        self._warn_of_small(counts)
        return used, codes.astype(np.int64), weight

    def _warn_of_small(self, counts: Integers) -> None:
        small = np.flatnonzero(counts <= self.n_targets)
        if len(small):
            shown = ", ".join(f"{self.classes_[c]}: {counts[c]}" for c in small[:5]) + (", ..." if len(small) > 5 else "")
            warn(
                f"{len(small)} classes have no more than n_targets={self.n_targets} items ({shown}); their items get the "
                "targets that there are, none where an item is alone"
            )

    def transform(self, X: ArrayLike) -> Floats:
        """Coordinates whose L1 distance is the learned distance; only where the model is warped L1.

        Raises
        ------
        NotSupportedError
            For other models, saying what to use instead.
        """
        check_is_fitted(self, "semimetric_")
        d = self.semimetric_
        return d.transform(validate_data(self, X, reset=False, dtype=np.float64) if d.schema.plain else X)
