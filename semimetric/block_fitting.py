"""Learning from parts of pairs, wherever they are: `fitting.fit` with sums over blocks in place of arrays of all pairs.

    survey (counts, mean target, a sample of the items) -> structure -> sums over parts -> solve

Least squares needs one pass for its second moments; every other loss is left to the first-order method, whose products with
the design are made part by part.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._errors import InputError, NotSupportedError
from ._types import Floats, Integers
from .assembly import count_beyond, distance, warn_beyond
from .distance import Semimetric
from .embeddings.groups import automatic
from .engines import Engine
from .estimators.regressor import DistanceRegressor
from .fitting import baseline, ends, keeping, keeps_all, make_terms, touched_vertices
from .pair_blocks import PairPart, PairTable, read_pairs, survey_of
from .part_design import PartDesign, PartRows, rows_of_part
from .programs.design import Moments
from .programs.losses import resolve_loss
from .programs.program import ConvexProgram
from .recipe import Recipe
from .selection import Choices
from .solvers.auto import resolve_solver
from .solvers.base import Solution
from .solvers.first_order import FirstOrder
from .solvers.gram import Gram
from .streaming import Stream, check_sums_impose, few_pairs
from .task import Structure, Task, build, check_varied, make_task

__all__ = ["check_learns", "fit_parts"]


def check_learns(model: Any) -> Recipe:
    """What to learn, if it can be learned from parts.

    Raises
    ------
    NotSupportedError
    """
    if not isinstance(model, DistanceRegressor):
        raise NotSupportedError(
            f"{type(model).__name__} learns from all its data at once; a DistanceRegressor learns from parts: use that, or "
            "fit on a sample that fits into memory"
        )
    if isinstance(model.alpha, str) or (isinstance(model.n_knots, str) and isinstance(model.knots, str)):
        raise NotSupportedError(
            'parts cannot be held out; give numbers for n_knots= and alpha=, not "auto": fit on a sample, and take the numbers '
            "of its recipe_"
        )
    if not model._tells_nothing:
        raise NotSupportedError(
            "parts hold features of numbers only; categorical_features=, periodic= and missing= need fit on data in memory"
        )
    recipe = model._recipe()
    check_sums_impose(recipe, "learning from parts", "on a sample that fits into memory")
    if automatic(recipe.groups) is not None:
        raise NotSupportedError(
            f"groups={recipe.groups!r} compares candidates on pairs held out; fit on a sample, and take the groups of its "
            "recipe_"
        )
    solver, quadratic = resolve_solver(recipe.solver), resolve_loss(recipe.loss).quadratic
    if solver is not None and not isinstance(solver, (Gram, FirstOrder) if quadratic else FirstOrder):
        takes = "Gram and FirstOrder learn" if quadratic else "only FirstOrder learns"
        raise NotSupportedError(f'{type(solver).__name__} needs all rows at once; {takes} from parts: use solver="auto"')
    return recipe


def fit_parts(
    engine: Engine, model: DistanceRegressor, parts: list[PairPart], table: PairTable, *, limit: int | None = None
) -> DistanceRegressor:
    """Learn from ``parts``, and keep what was learned in the model; sums must fit into half of ``limit`` bytes."""
    recipe = check_learns(model)
    if not parts:
        raise InputError("there are 0 parts of pairs; at least one is required")
    survey = survey_of(engine, parts, table, recipe.random_state)
    survey.check_varied()
    check_varied(survey.items)
    structure = build(recipe, survey.items, table.names)
    unit = survey.sizes[recipe.link == "sqrt"] / survey.total
    by_moments = resolve_loss(recipe.loss).quadratic and not isinstance(resolve_solver(recipe.solver), FirstOrder)
    if by_moments:
        _check_room(structure, len(parts), limit)
        stream = engine.total(_block_stream, Stream.__add__, parts, table, recipe, structure, unit)
        warn_beyond(recipe, structure, stream.beyond, stream.n_items)
        learned = stream.solve(recipe)
    else:
        learned = _by_products(engine, recipe, structure, parts, table, unit)
    model.n_features_in_, model.recipe_, model.choices_ = len(table.names), recipe, Choices()
    model.__dict__.pop("_stream", None)
    model._record(*learned)
    return model


def _check_room(structure: Structure, n_parts: int, limit: int | None) -> None:
    """Refuse second moments that the limit has no room for: those of a part, and sums along the tree."""
    n, held = structure.embedding.n_columns, n_parts.bit_length() + 3
    if limit is not None and keeps_all(structure) and 8 * n * n * held > limit // 2:
        raise InputError(
            f"second moments of {n} weights, {held} times, take {8 * n * n * held / 2**20:.0f} MiB; half of memory_limit, "
            f"{limit / 2**21:.0f} MiB, must hold them: raise it, or use fewer knots or groups"
        )


def _block_stream(part: PairPart, table: PairTable, recipe: Recipe, structure: Structure, unit: float) -> Stream:
    """The second moments of a part."""
    block = read_pairs(part, table)
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


def _outline(part: PairPart, table: PairTable, recipe: Recipe, structure: Structure, unit: float) -> _Outline:
    block = read_pairs(part, table)
    task = make_task(recipe, structure, block.pairs, block.y, block.weight, unit=unit)
    prior = task.design(structure, ends(structure), recipe.n_jobs).moments(task.scaled, task.weight)
    vertices = None if keeps_all(structure) else touched_vertices(structure, block.pairs)
    used = block.pairs.used
    return _Outline(prior, vertices, count_beyond(structure, used), len(used), few_pairs(task))


def _targets(rows: PartRows) -> tuple[Floats, Floats]:
    return rows.target, rows.weight


def _by_products(
    engine: Engine, recipe: Recipe, structure: Structure, parts: list[PairPart], table: PairTable, unit: float
) -> tuple[Semimetric, Solution]:
    """By the first-order method: one pass for the columns, then two products an iteration."""
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
    solver = resolve_solver(recipe.solver) or FirstOrder()
    solution = solver.solve(program, verbose=recipe.verbose)
    weights = terms.settled(solution.weights, program.penalty, lambda: design.rmatvec(share))
    solution = replace(solution, weights=weights, solver=f"{solution.solver} ({len(parts)} parts)")
    counts = outline.beyond if not isinstance(recipe.knots, str) else None
    return distance(recipe, structure, outline.few, weights, terms.delta, counts), solution
