"""What groups of features are chosen by: a model fitted to one part of the evidence, and judged on another.

Measured distances, comparisons and classes each are parted, fitted and judged as where the rest of what is "auto" is chosen.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..._foundation.types import Floats, Pairs, Triplets
from ...data.schema import Names, Schema
from ...programs.losses import SquaredHinge, resolve_loss
from ...solvers.newton import Newton
from ..comparisons.fit import margin_program, prepared, prior
from ..comparisons.selection import evidence_splits, held_error
from ..comparisons.tuple_data import InMemoryComparisons, OrderedTuples
from ..large_margin.fit import learn, structure_of
from ..large_margin.labeled_items import LabeledDataset, LargeMargin
from ..large_margin.selection import class_folds, wrong_votes
from ..recipe import Recipe
from ..regression.selection import drawn_splits, weights_along
from ..structure import Task, build, ends, make_task
from ..terms import baseline, keeping, keeps_all, touched, touched_vertices
from .interaction_scores import FittedModel

__all__ = ["ComparisonFolds", "LabelFolds", "DistanceFolds", "FoldSource"]

_FOLDS, _QUICK, _TOL = 5, 1, 1e-3  # of large-margin learning: folds, passes, and relative gap

P = TypeVar("P")
Split = tuple[P, P]


class FoldSource(ABC):
    """What a distance is learned from, in parts: a model fitted to one part and judged on another."""

    schema: Schema
    most_columns = 3_000  # of joint tables, while numbers of knots are compared

    @property
    @abstractmethod
    def items(self) -> Floats:
        """The items that place knots."""

    @abstractmethod
    def splits(self, recipe: Recipe) -> list[Split[Any]]:
        """Parts to learn from and to judge by, which share no item."""

    @abstractmethod
    def whole(self, recipe: Recipe) -> Any:
        """The part that is everything, or a sample of it."""

    @abstractmethod
    def fitted(self, recipe: Recipe, part: Any, held: Any = None) -> FittedModel:
        """The model of a part."""


@dataclass(frozen=True, eq=False)
class DistanceFolds(FoldSource):
    """Pairs with measured distances; the loss of the recipe judges weights by least squares, as in `selection`."""

    pairs: Pairs
    y: Floats
    weight: Floats
    names: Names

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """Of the features."""
        return Schema.of(self.names)

    @property
    def items(self) -> Floats:
        return self.pairs.used

    def whole(self, recipe: Recipe) -> Task:
        rows, _ = drawn_splits(self.pairs, recipe.random_state)
        return self._task(recipe).take(rows)

    def splits(self, recipe: Recipe) -> list[Split[Task]]:
        rows, splits = drawn_splits(self.pairs, recipe.random_state)
        task = self._task(recipe).take(rows)
        return [(task.take(train), task.take(test)) for train, test in splits]

    def _task(self, recipe: Recipe) -> Task:
        return make_task(recipe, build(recipe, self.items, self.names), self.pairs, self.y, self.weight)

    def fitted(self, recipe: Recipe, part: Task, held: Task | None = None) -> FittedModel:
        structure = build(recipe, self.items, self.names)
        base = baseline(structure, part.design(structure, ends(structure), recipe.n_jobs).moments(part.scaled, part.weight))
        structure = touched(structure, part, base)
        ((_, weights),) = weights_along(recipe, structure, base, part, (recipe.alpha,))
        if held is None:
            return FittedModel(part, structure, weights, np.nan)
        residuals = FittedModel(held, structure, weights, np.nan).residuals
        return FittedModel(part, structure, weights, resolve_loss(recipe.loss).value(residuals, held.weight))


@dataclass(frozen=True, eq=False)
class ComparisonFolds(FoldSource):
    """Pairs judged alike or not, triplets or quadruplets; errors held out judge, as in `margin_selection`."""

    evidence: InMemoryComparisons
    names: Names

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """Of the features."""
        return Schema.of(self.names)

    @property
    def items(self) -> Floats:
        return self.evidence.tuples.used

    def whole(self, recipe: Recipe) -> InMemoryComparisons:
        return self.evidence

    def splits(self, recipe: Recipe) -> list[Split[InMemoryComparisons]]:
        return list(evidence_splits(recipe, self.evidence))

    def fitted(self, recipe: Recipe, part: InMemoryComparisons, held: InMemoryComparisons | None = None) -> FittedModel:
        trial = prepared(replace(recipe, loss=SquaredHinge()), part, self.names)
        structure = build(trial, self.items, self.names)
        found = prior(structure, part, recipe.n_jobs)
        if not keeps_all(structure):
            structure = keeping(structure, touched_vertices(structure, part.pairs), found.base)
        program, _, start = margin_program(trial, structure, part, found)
        weights = Newton(tol=_TOL).solve(program, start=start).raise_if_interrupted().weights
        error = np.nan if held is None else held_error(structure, held, weights[: structure.embedding.n_columns])
        return FittedModel(part, structure, weights, error)


@dataclass(frozen=True, eq=False)
class LabelFolds(FoldSource):
    """Items and their classes; votes of neighbours on items held out judge, as in `large_margin_selection`."""

    classes: LabeledDataset
    rule: LargeMargin
    schema: Schema
    most_columns = 600

    @property
    def items(self) -> Floats:
        return self.classes.items

    def whole(self, recipe: Recipe) -> LabeledDataset:
        return self.classes

    def splits(self, recipe: Recipe) -> list[Split[LabeledDataset]]:
        return class_folds(self.classes, recipe)[:_FOLDS]

    def fitted(self, recipe: Recipe, part: LabeledDataset, held: LabeledDataset | None = None) -> FittedModel:
        recipe = replace(recipe, axioms=recipe.without_triangle)
        structure = structure_of(recipe, part, self.schema)
        quick = replace(self.rule, n_passes=min(self.rule.n_passes, _QUICK))
        if recipe.solver == "auto" and not recipe.asks_rows and resolve_loss(recipe.loss, margins=True).curvature > 0:
            recipe = replace(recipe, solver=Newton(tol=_TOL))
        learned = learn(recipe, quick, structure, part)
        weights = learned.passes[-1].solution.raise_if_interrupted().weights
        anchor = part.weight[learned.triplets[:, 0]]
        compared = OrderedTuples(Triplets(part.items, learned.triplets), anchor / anchor.sum())
        error = np.nan
        if held is not None:
            error = wrong_votes(learned, part, held, self.rule.n_targets, self.schema, recipe.n_jobs)
        return FittedModel(compared, structure, weights, error)
