"""The base of learners from comparisons: parameters, checks, "auto" and the fit."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, Floats, KnotCounts, RelativeComparisons, Tuples
from ..._foundation.validation import check_choice, check_weights
from ...data.feature_groups import only_singles
from ...data.parts.tuples import TargetSpec
from ...data.schema import Names
from ..learning.comparison_fit import HeldOutComparisons, choose_settings, fit_comparisons, with_discriminants
from ..learning.comparisons import ComparisonBlock, ComparisonData, OrderedTuples
from ..learning.groups import choose_groups, without_joint
from ..learning.options import Recipe
from ..learning.search import Choices
from ..learning.settings import Columns, Program, Tables, recipe_values, refuse_for_measured
from ..learning.structure import check_varied
from ..model.item_statistics import warn_outside_once
from ..programs.losses import Loss, resolve_loss
from .base import LearnedDistance
from .part_tasks import check_choices, check_recipe

T = TypeVar("T", bound=Tuples)

_FULL = Recipe()  # of a learner that has chosen nothing yet


class TupleLearner(LearnedDistance):
    """A learner from tuples; see `PairLearner` for the parameters."""

    def __init__(
        self,
        *,
        n_knots: KnotCounts = "auto",
        alpha: float | str = "auto",
        directions: Any = "auto",
        tables: str | Tables = "warped",
        axioms: str = "semimetric",
        loss: str | Loss = "squared_hinge",
        columns: Columns | None = None,
        program: Program | None = None,
        preprocessor: Any = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str = "default",
        verbose: bool | None = None,
    ) -> None:
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
        self.verbose = verbose

    @property
    def tuple_spec(self) -> TargetSpec:
        """The kind of the tuples, and the values that their targets take."""
        raise NotImplementedError

    def _recipe(self) -> Recipe:
        given = recipe_values(self.columns, self.tables, self.program)
        check_choice("axioms", self.axioms, ("semimetric", "metric", "quasimetric"))
        check_choice("tables", given["tables"], ("auto", "warped", "full"))
        refuse_for_measured(Tables.of(self.tables), Program.of(self.program))
        given["tables"] = "warped" if self.has_scales or self._compares_tables else "full"
        directions = None if isinstance(self.directions, str) and self.directions == "auto" else self.directions
        return Recipe(
            **given, **self._numbers(), directions=directions, loss=resolve_loss(self.loss, margins=True), axioms=self.axioms,
            n_jobs=self.n_jobs, random_state=self.random_state, effort=self.effort, verbose=self.verbose,
        ).checked()  # fmt: skip

    @property
    def _compares_tables(self) -> bool:
        """True if scales and full tables are compared: both are semimetrics of single features."""
        given = Tables.of(self.tables)
        return given.kind == "auto" and self.axioms == "semimetric" and only_singles(given.groups)

    @property
    def has_scales(self) -> bool:
        """True if the parameters ask for scales: ``tables="auto"`` in a metric of single features, or as it has chosen."""
        given = Tables.of(self.tables)
        if given.kind != "auto" or not only_singles(given.groups):
            return given.kind == "warped"
        return self.axioms == "metric" or (self._compares_tables and getattr(self, "recipe_", _FULL).tables == "warped")

    def fit_data(self, recipe: Recipe, data: ComparisonData, names: Names) -> None:
        """Choose what is "auto" and learn, as `fit` does after reading; for data in parts nothing is "auto"."""
        check_varied(data.items)
        with one_blas_thread(), self._own_knots():
            block = data.parts.in_memory
            if block is None:
                self.recipe_, self.choices_, self.group_choices_ = recipe, Choices(), Choices()
                self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            else:
                recipe = self._choose(recipe, block, names)
            learned, extra = fit_comparisons(recipe, data, names)
        self.n_features_in_ = data.items.shape[1]
        self._set_extra(extra)
        self._record(*learned)

    def _choose(self, recipe: Recipe, block: ComparisonBlock, names: Names) -> Recipe:
        """Choose what is "auto"; the recipe that is returned has its directions fitted, ``recipe_`` has not."""
        knots, alpha = isinstance(self.n_knots, str), isinstance(self.alpha, str)
        directions = isinstance(self.directions, str) and self.directions == "auto"
        singles, self.choices_ = choose_settings(
            without_joint(recipe), block, names,
            directions=directions, knots=knots, alpha=alpha, tables=self._compares_tables,
        )  # fmt: skip
        held_out = HeldOutComparisons(block, names)
        self.recipe_, self.group_choices_ = choose_groups(recipe.groups, singles, held_out, knots=knots)
        return with_discriminants(self.recipe_, block, names)

    def recipe_for_parts(self) -> Recipe:
        check_choices(self, ("auto", "discriminant"))
        return check_recipe(self._recipe(), compares_tables=self._compares_tables)

    def _set_extra(self, extra: Floats) -> None:
        """Record the values of the columns that follow those of the tables."""


class ComparisonLearner(TupleLearner):
    """A learner from tuples that say d(near pair) < d(far pair)."""

    _kind: type[RelativeComparisons]

    @property
    def tuple_spec(self) -> TargetSpec:
        return TargetSpec(self._kind, labeled=True)

    def _fit(self, tuples: ArrayLike, sample_weight: ArrayLike | None) -> None:
        recipe = self._recipe()
        checked, names = self._read(tuples, self._kind)
        weight = check_weights(sample_weight, len(checked))
        used = weight > 0
        self.fit_data(recipe, ComparisonData.of(OrderedTuples(checked.take(used), weight[used])), names)

    def decision_function(self, tuples: ArrayLike) -> Floats:
        """Return d(far pair) - d(near pair), shape (n_tuples,): > 0 where the order is as the tuple says."""
        checked = self._known(tuples, self._kind)
        warn_outside_once(self.semimetric_, checked.used)
        far, near = (
            self.semimetric_.paired_by_index(checked.items, p.index, n_jobs=self.n_jobs) for p in (checked.far, checked.near)
        )
        return far - near

    def predict(self, tuples: ArrayLike) -> Floats:
        """Return +1 where the near pair is closer than the far one, else -1; shape (n_tuples,)."""
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def _accuracy(self, right: NDArray[np.bool_], sample_weight: ArrayLike | None) -> float:
        return float(np.average(right, weights=check_weights(sample_weight, len(right))))
