"""Learning a distance from class labels (Weinberger & Saul 2009; paper 2, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..._foundation.arrays import check_sorted_classes
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.progress import TimeBudget, check_time_budget
from ..._foundation.stored import Stored, storable
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, Floats, KnotCounts
from ..._foundation.validation import check_alpha, check_choice, check_count
from ...data.feature_groups import only_singles
from ...data.rows import items_named
from ...data.schema import Schema
from ..features.from_labels import LABELLED
from ..learning.from_labels import LearnedFromLabels, fit_given, learn_from_labels
from ..learning.items import ClassLabels, LabeledDataset, LabeledItems, LabelProblem, LargeMargin, encode_class_labels
from ..learning.large_margin import LargeMarginPass
from ..learning.options import Recipe
from ..learning.settings import Columns, Program, Tables, Triplets, recipe_values, refuse_for_measured
from ..learning.structure import check_varied
from ..model.item_statistics import importances
from ..programs.losses import Loss, resolve_loss
from ..search.votes import neighbor_counts
from .base import LearnedCoordinates
from .part_tasks import check_choices, check_recipe


@storable
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
    triplets : Triplets or None, default None
        Impostors, the weight of their push, passes, and what the uniform distance counts. None is `Triplets()`.
    n_knots : int, sequence of int or "auto", default "auto"
        Knots a feature: one number for all, or one for each. "auto" chooses on held-out items.
        Settings are compared by the votes of neighbors.
    alpha : float or "auto", default "auto"
        Strength of a penalty given by name; "auto" chooses on held-out items. With ``penalty="auto"``, 1e-2 leaves little but
        the weighted L1 distance, 1e-3 smooths strongly, and 1e-7 to 1e-5 suit many exact data.
    directions : "auto" (default), "nca-embedded", "forest", "lda", "nca", "discriminant", "combined", "pca", None, or see below
        Combinations of features that join the raw ones. "nca-embedded" are 32 neighborhood components that bend, "forest" the
        leaves of 100 extremely randomised trees (`PartitionFeatures`), "lda" linear discriminants, "nca" neighborhood
        components, "discriminant" discriminants that bend at knots, and "combined" the last two, with components of up to
        four samples. With ``tables="auto"`` too, "auto" learns a sum of three distances, each on its own: scales of the
        features by this program, components, and a forest; items held out choose their weights (`choices_`). Elsewhere it
        compares "combined" with none. Also an array of shape (n_directions, n_features), a transformer with
        ``components_``, `PartitionFeatures` or a forest of scikit-learn, or a list of those.
    tables : {"auto", "warped", "full"} or Tables, default "auto"
        One monotone scale a number (a metric), or full tables. With "auto" the distance is the sum described at
        ``directions``, or held-out items choose. Scales, and so the sum, have an exact `transform` into L1.
    axioms : {"semimetric", "metric", "quasimetric"}, default "semimetric"
        Guarantees for all points. "metric" adds the triangle inequality, which scales have anyway and full tables keep by rows
        of the program. "quasimetric" is a metric without symmetry, and needs full tables.
        ``tables="auto"`` is "warped" with "metric" and "full" with "quasimetric".
    loss : {"squared_hinge", "hinge"} or Loss, default "squared_hinge"
        The squared hinge is solved by `Newton`, the hinge by `InteriorPoint`: without a penalty it is a linear program.
        With "hinge" and ``Program(penalty=None)`` a pass is a linear program (Pele 2011, as cited in Pele & Ben-Aliz 2016).
    columns : Columns or None, default None
        Kinds of the features: categories, angles, missing values. None is `Columns()`.
    program : Program or None, default None
        Penalty, constraints, a distance to start from, and solver. None is `Program()`.
    preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
        The items that tuples name by row number, or by label (text or times) of the index of a frame. A callable takes the
        distinct names, shape (n_names,), and returns a table with a row for each. Tuples of points are taken too.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of samples, splits and k-means.
    effort : {"fast", "default", "thorough"}, default "default"
        Work for settings on "auto": candidates, folds and rows, see docs/effort.md. ``choices_`` shows the work that was done.
    time_budget : float or None, default None
        Seconds that a fit should take, for the sum of ``directions="auto"`` and ``tables="auto"``. Scales, components and
        forest are compared on few items first, and what is too slow or hopeless is left out. If not even scales fit into the
        time, the cheapest candidate is fitted, and a `SemimetricWarning` names its seconds. The choice then depends on the
        speed of the machine. Seconds of what is to come are estimated, and what has begun is not cut short, see
        docs/effort.md.
    verbose : bool or None, default None
        Progress bars: None shows them at terminals and in notebooks for work of more than some two seconds, True always, False
        never. Fits that may take minutes say so first.

    Attributes
    ----------
    semimetric_ : Semimetric
        In units of the margin.
    classes_ : ndarray
    passes_ : tuple of LargeMarginPass
        Triplets, the number that lack their margin, and the objective before and after each pass.
    solution_ : Solution
        Of the last pass.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean fraction of each feature in the distance between an item and its impostors; that of a direction is divided among
        its features.
    choices_ : Choices
        Settings that "auto" compared; printed, a table. With a time budget it shows the seconds of each candidate too.
    held_out_neighbors_ : list of HeldOutNeighbors or None
        Neighbors of items held out, under the chosen weights, by which `SemimetricClassifier` chooses its votes; None if there
        was no sum to choose.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        Groups that ``Tables(groups="auto")`` compared; printed, a table.
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
    classes_: Stored[NDArray[Any]]
    passes_: Stored[tuple[LargeMarginPass, ...]]
    feature_importances_: Stored[Floats]

    def __init__(
        self,
        *,
        n_targets: int = 3,
        triplets: Triplets | None = None,
        n_knots: KnotCounts = "auto",
        alpha: float | str = "auto",
        directions: Any = "auto",
        tables: str | Tables = "auto",
        axioms: str = "semimetric",
        loss: str | Loss = "squared_hinge",
        columns: Columns | None = None,
        program: Program | None = None,
        preprocessor: Any = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str = "default",
        time_budget: float | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_targets = n_targets
        self.triplets = triplets
        self.n_knots = n_knots
        self.alpha = alpha
        self.directions = directions
        self.tables = tables
        self.axioms = axioms
        self.loss = loss
        self.columns = columns
        self.program = program
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
            Classes: at least two. Identical items of different classes cannot be separated, and are outvoted.
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
        rule, (recipe, auto) = self.triplet_options(), self._recipe()
        budget = TimeBudget.of(self.time_budget)
        items, schema = self.read_items(items_named(X, self.preprocessor), min_items=2)
        labels = encode_class_labels(y, len(items), sample_weight, self.n_targets)
        self.classes_ = labels.classes
        dataset = LabeledDataset.of_distinct(items[labels.used], labels.codes, labels.weight[labels.used])
        check_varied(dataset.items)
        counts = neighbor_counts(np.ones(len(items)) if sample_weight is None else np.asarray(sample_weight, np.float64))
        problem = LabelProblem(recipe, auto, rule, dataset, schema, float(counts[labels.used].sum()), budget)
        with one_blas_thread(), self._own_knots():
            self._set_learned(dataset.items, learn_from_labels(problem))
        return self

    def recipe_for_parts(self) -> Recipe:
        check_choices(self, ("auto", *LABELLED))
        if self.time_budget is not None:
            raise NotSupportedError("time_budget= limits what is compared, and parts compare nothing; leave it out")
        recipe, auto = self._recipe()
        return check_recipe(recipe, compares_tables="tables" in auto)

    def fit_data(self, recipe: Recipe, data: LabeledItems, labels: ClassLabels, schema: Schema) -> None:
        """Learn from items in parts, for which nothing is "auto"."""
        self.classes_ = labels.classes
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self._set_learned(data.example, fit_given(recipe, self.triplet_options(), data, schema))

    def _set_learned(self, example: Floats, learned: LearnedFromLabels) -> None:
        """Record what was learned; ``example`` are some items."""
        self.recipe_, self.choices_, self.group_choices_ = learned.recipe, learned.choices, learned.group_choices
        self.held_out_neighbors_, result, impostors = learned.held_out, learned.result, learned.impostors
        self.n_features_in_, self.passes_ = example.shape[1], result.passes
        self.feature_importances_ = importances(result.semimetric, impostors.items, impostors.index)
        self._record(result.semimetric, result.passes[-1].solution, result.built)

    def check_restored(self) -> None:
        super().check_restored()
        self.triplet_options()
        check_time_budget(self.time_budget)
        check_sorted_classes(self.classes_)
        self.stored_array("feature_importances_", self.n_features_in_)
        if not self.passes_:
            raise InputError("there are no passes, of which a fit has at least one; restore the file")

    def _nested(self) -> dict[str, Callable[[Any], BaseEstimator | None]]:
        return super()._nested() | {"triplets": Triplets.meant_by}

    def triplet_options(self) -> LargeMargin:
        """Return the triplet options, checked."""
        triplets, program = Triplets.of(self.triplets), Program.of(self.program)
        check_count("n_targets", self.n_targets)
        for name in ("n_impostors", "n_passes"):
            check_count(name, getattr(triplets, name))
        if check_alpha("mu", triplets.mu, strict=True) > 1:
            raise InputError(f"mu={triplets.mu!r} must lie above 0 and at most at 1: the weight of the push")
        check_choice("base", triplets.base, ("values", "positions"))
        if triplets.base == "positions" and (len(program.constraints) or program.prior is not None):
            raise NotSupportedError('prior= and constraints= are in units of the features; use Triplets(base="values")')
        return LargeMargin(self.n_targets, triplets.n_impostors, float(triplets.mu), triplets.n_passes, triplets.base)

    def _recipe(self) -> tuple[Recipe, frozenset[str]]:
        """Return the recipe, with stand-ins for settings to be chosen, and the names of these."""
        given = recipe_values(self.columns, self.tables, self.program)
        check_choice("axioms", self.axioms, ("semimetric", "metric", "quasimetric"))
        check_choice("tables", given["tables"], ("auto", "warped", "full"))
        refuse_for_measured(Tables.of(self.tables), Program.of(self.program))
        singles, numbers = only_singles(given["groups"]), self._numbers()
        auto = {name for name in ("n_knots", "alpha") if name not in numbers}
        directions = self.directions
        if isinstance(directions, str) and directions == "auto":
            auto.add("directions")
            directions = None
        if given["tables"] == "auto":
            given["tables"] = "warped" if singles and self.axioms != "quasimetric" else "full"
            if singles and self.axioms == "semimetric":
                auto.add("tables")
        if isinstance(directions, str) and directions not in (*LABELLED, "pca"):
            check_choice("directions", directions, ("auto", *LABELLED, "pca", None))
        recipe = Recipe(
            **given, **({"alpha": 1e-2} | numbers), directions=directions, loss=resolve_loss(self.loss, margins=True),
            axioms=self.axioms, n_jobs=self.n_jobs, random_state=self.random_state, effort=self.effort, verbose=self.verbose,
        )  # fmt: skip
        return recipe.checked(), frozenset(auto)

    @property
    def has_scales(self) -> bool:
        """True if the parameters ask for scales and trees alone: ``tables="auto"`` is scales in a metric, and in the sum."""
        given = Tables.of(self.tables)
        if given.kind != "auto" or not only_singles(given.groups):
            return given.kind == "warped"
        return self.axioms == "metric" or self._asks_for_sum

    @property
    def _asks_for_sum(self) -> bool:
        """True if the parameters leave directions and tables open, and ask nothing of the raw features."""
        tables, program = Tables.of(self.tables), Program.of(self.program)
        open_ = all(isinstance(v, str) and v == "auto" for v in (self.directions, tables.kind)) and self.axioms == "semimetric"
        placed = isinstance(tables.knots, str) and Triplets.of(self.triplets).base == "values"
        return open_ and placed and only_singles(tables.groups) and not len(program.constraints) and program.prior is None
