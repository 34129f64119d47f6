"""Learning from comparisons: pairs judged alike or not, triplets, quadruplets (docs/mathematics.md, section 3).

    min_w  sum_i s_i loss(r_i) + penalty(w),    r = 1 + y (d - b) of pairs,   r = 1 + d_near - d_far of triplets

There are no targets, so the unit is the margin, 1. The prior is found in two steps: the even L1 distance, to which all features
contribute equally, at its best scale; then the weighted L1 distance, by the same loss with a ridge towards the even one.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ...data.schema import Names, Schema
from ...distances.semimetric import Semimetric
from ...embeddings.directions.discriminants import discriminants
from ...programs.design_matrix import Design, MatrixDesign
from ...programs.losses import SquaredHinge, resolve_loss
from ...programs.penalties import Columns, Penalty, Ridge
from ...programs.program import ConvexProgram
from ...solvers.auto import choose
from ...solvers.base import Solution
from ...solvers.newton import Newton
from ..assembly import distance
from ..guarantees import constrained
from ..recipe import Recipe
from ..structure import Structure, Task, build, ends
from ..terms import Baseline, Terms, columns_of, keeping, keeps_all, make_terms
from .tuple_data import ComparisonData, InMemoryComparisons

__all__ = ["ComparisonPrior", "fit_margins", "margin_program", "prepared", "prior"]

_SCALE_RIDGE, _SLOPE_RIDGE = 1e-3, 1e-2
_LEAST = 1e-2  # of the even distance: the prior is never 0


class ComparisonPrior(NamedTuple):
    """The weighted L1 (of any features Gower's) distance that the comparisons ask for, and the extra columns beside it."""

    base: Baseline
    extra: Floats


def prepared(recipe: Recipe, evidence: InMemoryComparisons, names: Names) -> Recipe:
    """The recipe with ``directions="discriminant"`` fitted to the evidence; they combine numbers."""
    if not (isinstance(recipe.directions, str) and recipe.directions == "discriminant"):
        return recipe
    (near, near_weight), (far, far_weight) = evidence.near, evidence.far
    usable = Schema.of(names).usable
    found = discriminants(near, far, near_weight, far_weight, usable=usable)
    return replace(recipe, directions=found)


def prior(structure: Structure, evidence: ComparisonData, n_jobs: int | None) -> ComparisonPrior:
    """Even L1 at its best scale, then weighted L1 by the squared hinge, with a ridge towards it.

    Raises
    ------
    InputError
        If no tuple compares anything: all repeat an item.
    """
    embedding, k = ends(structure), evidence.n_extra
    spread = evidence.spread(structure, n_jobs)
    even = Baseline(1.0 / (spread * len(structure.embedding.groups)), spread)
    design, weights = evidence.design(structure, embedding, n_jobs), embedding.prior(even.slopes)
    columns = [design.matvec(np.append(weights, np.zeros(k)))]
    columns += [design.matvec(e) for e in np.eye(design.shape[1])[embedding.n_columns :]]
    if not np.any(columns[0]):
        raise InputError(f"every one of the {len(evidence.weight)} tuples compares equal points; give tuples that differ")
    unit = np.ones(1)
    one = Columns(1 + k, unit, unit, unit, unit, unit, differences=lambda kind: sparse.csr_array((0, 1)))
    matrix = MatrixDesign(sparse.csr_array(np.column_stack(columns)))
    scaled = _quick(matrix, evidence, (Ridge(_SCALE_RIDGE),), one, np.append(_LEAST, np.zeros(k)), np.ones(1 + k))
    start = np.append(scaled[0] * weights, scaled[1:])
    terms = columns_of(embedding, Baseline(scaled[0] * even.slopes, spread), k)
    lower = np.append(_LEAST * scaled[0] * weights, np.zeros(k))
    found = _quick(design, evidence, (Ridge(_SLOPE_RIDGE),), terms, lower, start)
    grid = structure.embedding.grid
    slopes = np.zeros(grid.n_features)
    slopes[grid.varies] = found[: embedding.n_columns] / grid.widths[grid.varies]
    return ComparisonPrior(Baseline(slopes, spread), found[embedding.n_columns :])


def _quick(
    design: Design, evidence: ComparisonData, penalties: tuple[Penalty, ...], columns: Columns, lower: Floats, start: Floats
) -> Floats:
    """Weights on the way to the last program; Ctrl-C raises."""
    m = len(evidence.weight)
    program = ConvexProgram(design, -np.ones(m), evidence.weight, SquaredHinge(), penalties, columns, lower)
    return Newton(tol=1e-6).solve(program, start=start).raise_if_interrupted().weights


def margin_program(
    recipe: Recipe, structure: Structure, evidence: ComparisonData, found: ComparisonPrior
) -> tuple[ConvexProgram, Terms, Floats]:
    """The program over the columns of ``structure``, its terms, and the prior as a start."""
    k = evidence.n_extra
    terms = make_terms(recipe, structure, found.base)
    n = len(terms.columns.prior) + k
    terms = replace(terms, columns=replace(terms.columns, n=n), lower=np.append(terms.lower, np.zeros(k)))
    design = evidence.design(structure, structure.embedding, recipe.n_jobs)
    target, loss = -np.ones(len(evidence.weight)), resolve_loss(recipe.loss, margins=True)
    program = ConvexProgram(
        design, target, evidence.weight, loss, recipe.penalties(structure.embedding), terms.columns, terms.lower
    )  # fmt: skip
    return program, terms, np.append(terms.columns.prior, found.extra)


def fit_margins(recipe: Recipe, evidence: ComparisonData, names: Names) -> tuple[Semimetric, Solution, Floats]:
    """Learn the weights; the distance, the solution, and the values of the extra columns. The recipe is `prepared`."""
    structure = build(recipe, evidence.used, names)
    found = prior(structure, evidence, recipe.n_jobs)
    if not (keeps_all(structure) or recipe.asks_rows):
        structure = keeping(structure, evidence.touched(structure), found.base)
    program, terms, start = margin_program(recipe, structure, evidence, found)
    program = constrained(recipe, structure, program, terms.unseen)
    solver, reason = choose(recipe.solver, program)
    solution = solver.solve(program, start=start, verbose=recipe.verbose)
    n, weights = structure.embedding.n_columns, solution.weights
    if not recipe.asks_rows:
        weights = terms.settled(weights, program.penalty, lambda: evidence.norms(structure, recipe.n_jobs))
    solution = replace(solution, weights=weights, solver=f"{solution.solver} ({reason})")
    counts = evidence.beyond(recipe, structure) if not isinstance(recipe.knots, str) else None
    pairs = evidence.few
    task = Task(pairs, np.zeros(len(pairs)), np.ones(len(pairs)), None, 1.0, None)
    return distance(recipe, structure, task, weights[:n], terms.delta, counts), solution, weights[n:]
