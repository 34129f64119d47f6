"""Learning from parts of tuples, wherever they are: `fitting.fit` and `margins.fit_margins` with sums over blocks.

    survey (counts, mean target, a sample of the items) -> structure -> sums over parts -> solve

Least squares needs one pass for its second moments; every other loss is left to the solver that `fit` would take, whose
products with the design, and second moments if it takes them, are made part by part.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats, Integers, Pairs, Triplets
from ..data.feature_groups import automatic
from ..data.parts.engine import Engine
from ..data.parts.tuple_parts import Survey, TargetSpec, TuplePart, TupleTable, count_tuples, read_tuples, survey_tuples
from ..distances.semimetric import Semimetric
from ..estimators.comparison_learner import ComparisonLearner, TupleLearner
from ..estimators.pair_learner import PairLearner
from ..estimators.regressor import DistanceRegressor
from ..learning.assembly import count_beyond, distance, warn_beyond
from ..learning.comparisons.fit import fit_margins
from ..learning.recipe import Recipe
from ..learning.regression.second_moments import Stream, check_sums_impose, few_pairs
from ..learning.structure import Structure, Task, build, check_varied, ends, make_task
from ..learning.terms import baseline, keeping, keeps_all, make_terms, touched_vertices
from ..programs.design_matrix import Moments
from ..programs.losses import Loss, resolve_loss
from ..programs.program import ConvexProgram
from ..solvers.auto import choose, resolve_solver
from ..solvers.base import Solution
from ..solvers.first_order import FirstOrder
from ..solvers.gram import Gram
from ..solvers.interior_point import InteriorPoint
from ..solvers.newton import Newton
from .partitioned_comparisons import PartitionedComparisons
from .partitioned_design import PartDesign, PartRows, check_room, rows_of_part

__all__ = ["asked_of", "check_by_sums", "check_choices_made", "check_learns", "fit_parts", "said"]

_BY_SUMS = (Gram, Newton, InteriorPoint, FirstOrder)  # they ask for products and second moments alone
_SAMPLE = "fit on a sample, and take"


def asked_of(model: Any) -> TargetSpec:
    """What a learner asks of its tuples.

    Raises
    ------
    NotSupportedError
        If it does not learn from parts.
    """
    if isinstance(model, DistanceRegressor):
        return TargetSpec(least=0.0 if model.axioms is not None else -np.inf)
    if isinstance(model, PairLearner):
        return TargetSpec(judged=True)
    if isinstance(model, ComparisonLearner):
        return TargetSpec(model._kind, judged=True)
    raise NotSupportedError(
        f"{type(model).__name__} learns from all its data at once; DistanceRegressor, PairLearner, TripletLearner, "
        "QuadrupletLearner and LargeMarginLearner learn from parts: use one of these, or fit on a sample that fits into memory"
    )


def said(asked: TargetSpec, y: Any) -> Any:
    """y as it is read: nothing of triplets, which say it all."""
    if asked.kind is Pairs and y is None:
        wanted = "+1 or -1" if asked.judged else "a distance"
        raise InputError(f"requires y to be passed, but the target y is None; give {wanted} for every pair")
    return None if asked.kind is Triplets else y


def check_learns(model: Any) -> Recipe:
    """What to learn, if it can be learned from parts of tuples.

    Raises
    ------
    NotSupportedError
    """
    asked_of(model)
    margins = isinstance(model, TupleLearner)
    check_choices_made(model, ("auto", "discriminant") if margins else ())
    recipe = model._recipe()
    check_by_sums(recipe, resolve_loss(recipe.loss, margins=margins))
    return recipe


def check_choices_made(model: Any, chosen_by_all: tuple[str, ...]) -> None:
    """Refuse "auto", and directions that are found by comparing all data: their names are ``chosen_by_all``."""
    if isinstance(model.alpha, str) or (isinstance(model.n_knots, str) and isinstance(model.knots, str)):
        raise NotSupportedError(
            f'parts cannot be held out; give numbers for n_knots= and alpha=, not "auto": {_SAMPLE} the numbers of its recipe_'
        )
    if isinstance(model.directions, str) and model.directions in chosen_by_all:
        raise NotSupportedError(
            f'directions={model.directions!r} compares all data at once; give None, "pca" or a matrix: {_SAMPLE} '
            "semimetric_.directions"
        )
    if not model._tells_nothing:
        raise NotSupportedError(
            "parts hold features of numbers only; categorical_features=, periodic= and missing= need fit on data in memory"
        )
    if automatic(model.groups) is not None:
        raise NotSupportedError(f"groups={model.groups!r} compares candidates on data held out; {_SAMPLE} the groups_")


def check_by_sums(recipe: Recipe, loss: Loss) -> None:
    """Refuse what needs all rows at once."""
    check_sums_impose(recipe, "learning from parts", "on a sample that fits into memory")
    solver = resolve_solver(recipe.solver)
    takes = [s for s in _BY_SUMS if loss.quadratic or s is not Gram]
    if solver is not None and not isinstance(solver, tuple(takes)):
        names = ", ".join(s.__name__ for s in takes)
        raise NotSupportedError(f'{type(solver).__name__} needs all rows at once; {names} learn from parts: use solver="auto"')
    if recipe.axioms is None and not loss.quadratic:
        raise NotSupportedError(
            f"axioms=None leaves weights free, and with the loss {type(loss).__name__} only Reference takes those, all rows at "
            'once; use loss="squared", or fit on a sample that fits into memory'
        )


def fit_parts(engine: Engine, model: Any, parts: list[TuplePart], table: TupleTable) -> Any:
    """Learn from ``parts``, and keep what was learned in the model."""
    recipe = check_learns(model)
    if not parts:
        raise InputError(f"there are 0 parts of {table.asked.called}; at least one is required")
    parts, counts = count_tuples(engine, parts, table)
    survey = survey_tuples(engine, parts, counts, table, recipe.random_state)
    survey.check_targets(table.asked)
    check_varied(survey.items)
    if isinstance(model, DistanceRegressor):
        learned: tuple[Any, ...] = _fit_distances(engine, recipe, parts, table, survey)
    else:
        learned = fit_margins(recipe, PartitionedComparisons(engine, parts, table, survey), table.names)
    model._take(recipe, len(table.names), *learned)
    return model


def _fit_distances(
    engine: Engine, recipe: Recipe, parts: list[TuplePart], table: TupleTable, survey: Survey
) -> tuple[Semimetric, Solution]:
    """`fitting.fit`, by second moments or by products."""
    structure = build(recipe, survey.items, table.names)
    unit = survey.sizes[recipe.link == "sqrt"] / survey.total
    if not resolve_loss(recipe.loss).quadratic or not isinstance(resolve_solver(recipe.solver), Gram | None):
        return _by_products(engine, recipe, structure, parts, table, unit)
    if keeps_all(structure):
        check_room(engine, structure.embedding.n_columns, len(parts))
    stream = engine.total(_block_stream, Stream.__add__, parts, table, recipe, structure, unit)
    warn_beyond(recipe, structure, stream.beyond, stream.n_items)
    return stream.solve(recipe)


def _block_stream(part: TuplePart, table: TupleTable, recipe: Recipe, structure: Structure, unit: float) -> Stream:
    """The second moments of a part."""
    block = read_tuples(part, table)
    return Stream.of(recipe, structure, block.pairs, block.y, block.weight, unit=unit)


@dataclass(frozen=True, eq=False)
class _Outline:
    """What decides the columns: moments of the weighted L1 distance, and the vertices that are touched."""

    prior: Moments
    vertices: list[Integers] | None
    beyond: Integers
    n_items: int
    few: Task

    def __add__(self, other: "_Outline") -> "_Outline":
        vertices = None
        if self.vertices is not None and other.vertices is not None:
            vertices = [np.union1d(a, b) for a, b in zip(self.vertices, other.vertices, strict=True)]
        counts = (self.beyond + other.beyond, self.n_items + other.n_items)
        return _Outline(self.prior + other.prior, vertices, *counts, self.few)


def _outline(part: TuplePart, table: TupleTable, recipe: Recipe, structure: Structure, unit: float) -> _Outline:
    block = read_tuples(part, table)
    task = make_task(recipe, structure, block.pairs, block.y, block.weight, unit=unit)
    prior = task.design(structure, ends(structure), recipe.n_jobs).moments(task.scaled, task.weight)
    vertices = None if keeps_all(structure) else touched_vertices(structure, block.pairs)
    used = block.pairs.used
    return _Outline(prior, vertices, count_beyond(structure, used), len(used), few_pairs(task))


def _targets(rows: PartRows) -> tuple[Floats, Floats]:
    return rows.target, rows.weight


def _by_products(
    engine: Engine, recipe: Recipe, structure: Structure, parts: list[TuplePart], table: TupleTable, unit: float
) -> tuple[Semimetric, Solution]:
    """By products with the rows: one pass for the columns, then as many as the solver asks for."""
    outline = engine.total(_outline, _Outline.__add__, parts, table, recipe, structure, unit)
    warn_beyond(recipe, structure, outline.beyond, outline.n_items)
    base = baseline(structure, outline.prior)
    if outline.vertices is not None:
        structure = keeping(structure, outline.vertices, base)
    terms = make_terms(recipe, structure, base)
    rows = engine.kept(rows_of_part, parts, table, recipe, structure, unit)
    target, weight = (list(column) for column in zip(*engine.each(_targets, rows), strict=True))
    share = np.concatenate(weight) / outline.prior.total
    design = PartDesign(engine, rows, tuple(map(len, target)), len(terms.lower))
    penalties = recipe.penalties(structure.embedding)
    program = ConvexProgram(
        design, np.concatenate(target), share, resolve_loss(recipe.loss), penalties, terms.columns, terms.lower
    )  # fmt: skip
    solver, reason = choose(recipe.solver, program)
    solution = solver.solve(program, verbose=recipe.verbose)
    weights = terms.settled(solution.weights, program.penalty, lambda: design.rmatvec(share))
    solution = replace(solution, weights=weights, solver=f"{solution.solver} ({reason}, {len(parts)} parts)")
    counts = outline.beyond if not isinstance(recipe.knots, str) else None
    return distance(recipe, structure, outline.few, weights, terms.delta, counts), solution
