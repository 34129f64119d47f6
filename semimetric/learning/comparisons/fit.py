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
from ...solvers.base import Solution
from ...solvers.newton import Newton
from ..assembly import assemble
from ..kept_columns import keeps_all_vertices, with_vertices
from ..prior import L1Prior
from ..recipe import Recipe
from ..solve import solve
from ..structure import Structure, build_structure, l1_embedding
from ..terms import Terms, columns_of, make_terms
from .tuple_data import ComparisonData, InMemoryComparisons

__all__ = [
    "ComparisonPrior",
    "comparison_program",
    "fit_comparison_prior",
    "fit_comparisons",
    "with_discriminants",
    "with_touched_vertices",
]

_SCALE_RIDGE, _SLOPE_RIDGE = 1e-3, 1e-2
_LEAST = 1e-2  # times the even distance is the least slope of the prior, which is never 0


class ComparisonPrior(NamedTuple):
    """The weighted L1 distance that the comparisons ask for, and the values of the columns that follow the embedding's."""

    l1: L1Prior
    extra: Floats


def with_discriminants(recipe: Recipe, data: InMemoryComparisons, names: Names) -> Recipe:
    """The recipe with ``directions="discriminant"`` fitted to the comparisons; they combine features of numbers."""
    if not (isinstance(recipe.directions, str) and recipe.directions == "discriminant"):
        return recipe
    (near, near_weight), (far, far_weight) = data.near, data.far
    usable = Schema.of(names).usable
    found = discriminants(near, far, near_weight, far_weight, usable=usable)
    return replace(recipe, directions=found)


def fit_comparison_prior(recipe: Recipe, structure: Structure, data: ComparisonData) -> ComparisonPrior:
    """The even L1 distance at its best scale, then the weighted L1 distance by the squared hinge, with a ridge towards it.

    Of a recipe with a given distance it is that one, at its best scale.

    Raises
    ------
    InputError
        If no tuple compares anything, because each repeats an item.
    """
    embedding, k, n_jobs = l1_embedding(structure), data.n_extra, recipe.n_jobs
    spread = data.spread(structure, n_jobs)
    even = L1Prior(1.0 / (spread * len(structure.embedding.groups)), spread, recipe.prior)
    if recipe.prior is not None:
        embedding = structure.embedding
    design = data.design(structure, embedding, n_jobs)
    weights = embedding.prior(even.slopes) if recipe.prior is None else even.weights(structure)
    columns = [design.matvec(np.append(weights, np.zeros(k)))]
    columns += [design.matvec(e) for e in np.eye(design.shape[1])[embedding.n_columns :]]
    if not np.any(columns[0]):
        raise InputError(f"every one of the {len(data.weight)} tuples compares equal points; give tuples that differ")
    unit = np.ones(1)
    one = Columns(1 + k, unit, unit, unit, unit, unit, differences=lambda kind: sparse.csr_array((0, 1)))
    matrix = MatrixDesign(sparse.csr_array(np.column_stack(columns)))
    scaled = _by_squared_hinge(matrix, data, (Ridge(_SCALE_RIDGE),), one, np.append(_LEAST, np.zeros(k)), np.ones(1 + k))
    if recipe.prior is not None:
        return ComparisonPrior(replace(even, slopes=scaled[0] * even.slopes, multiple=float(scaled[0])), scaled[1:])
    start = np.append(scaled[0] * weights, scaled[1:])
    terms = columns_of(embedding, L1Prior(scaled[0] * even.slopes, spread), k)
    lower = np.append(_LEAST * scaled[0] * weights, np.zeros(k))
    found = _by_squared_hinge(design, data, (Ridge(_SLOPE_RIDGE),), terms, lower, start)
    grid = structure.embedding.grid
    slopes = np.zeros(grid.n_features)
    slopes[grid.varies] = found[: embedding.n_columns] / grid.widths[grid.varies]
    return ComparisonPrior(L1Prior(slopes, spread), found[embedding.n_columns :])


def _by_squared_hinge(
    design: Design, data: ComparisonData, penalties: tuple[Penalty, ...], columns: Columns, lower: Floats, start: Floats
) -> Floats:
    """The weights that minimise the squared hinge with some penalties, shape (n,); Ctrl-C raises KeyboardInterrupt."""
    target = -np.ones(len(data.weight))
    program = ConvexProgram(design, target, data.weight, SquaredHinge(), penalties, columns, lower)
    return Newton(tol=1e-6, certify=False).solve(program, start=start).raise_if_interrupted().weights


def with_touched_vertices(structure: Structure, data: ComparisonData, prior: ComparisonPrior) -> Structure:
    """The structure with columns only at vertices that the pairs touch, where tables are large."""
    if keeps_all_vertices(structure):
        return structure
    return with_vertices(structure, data.vertices(structure), prior.l1)


def comparison_program(
    recipe: Recipe, structure: Structure, data: ComparisonData, prior: ComparisonPrior
) -> tuple[ConvexProgram, Terms, Floats]:
    """The program over the columns of ``structure``, its terms, and the prior as weights to begin from."""
    terms = make_terms(recipe, structure, prior.l1).followed_by(data.n_extra)
    design = data.design(structure, structure.embedding, recipe.n_jobs)
    target, loss = -np.ones(len(data.weight)), resolve_loss(recipe.loss, margins=True)
    penalties = recipe.penalties(structure.embedding)
    program = ConvexProgram(design, target, data.weight, loss, penalties, terms.columns, terms.lower)
    return program, terms, np.append(terms.columns.prior, prior.extra)


def fit_comparisons(recipe: Recipe, data: ComparisonData, names: Names) -> tuple[Semimetric, Solution, Floats]:
    """Learn from comparisons by a recipe whose directions are fitted already, see `with_discriminants`.

    Returns
    -------
    semimetric : Semimetric
    solution : Solution
    extra : ndarray of shape (n_extra,)
        The values of the columns that follow those of the tables.
    """
    structure = build_structure(recipe, data.items, names)
    prior = fit_comparison_prior(recipe, structure, data)
    if not recipe.asks_rows:
        structure = with_touched_vertices(structure, data, prior)
    program, terms, start = comparison_program(recipe, structure, data, prior)

    def norms() -> Floats:
        return data.norms(structure, recipe.n_jobs)

    solution = solve(recipe, structure, terms, program, norms=norms, start=start)
    out_of_range = None if isinstance(recipe.knots, str) else data.out_of_range(recipe, structure)
    n = structure.embedding.n_columns
    d = assemble(recipe, structure, solution.weights[:n], terms.delta, examples=data.examples, out_of_range=out_of_range)
    return d, solution, solution.weights[n:]
