"""Learning a distance from pairs with measured distances: by second moments of all pairs, or by products with their rows.

structure -> outline (prior, touched vertices) -> terms -> program -> weights -> distance
"""

from ..._foundation.types import Floats
from ...data.schema import Names
from ...distances.semimetric import Semimetric
from ...programs.losses import resolve_loss
from ...programs.program import ConvexProgram
from ...solvers.base import Solution
from ..assembly import assemble
from ..kept_columns import with_vertices
from ..prior import fit_l1_prior
from ..recipe import Recipe
from ..solve import solve
from ..structure import Structure, build_structure
from ..terms import make_terms
from .distance_data import DistanceData
from .pair_targets import ScaledDistances

__all__ = ["fit_distances", "learn"]


def learn(recipe: Recipe, data: DistanceData, names: Names) -> tuple[Semimetric, Solution]:
    """Learn with everything chosen: `fit_distances`, and the structure before it."""
    structure = build_structure(recipe, data.items, names)
    return fit_distances(recipe, structure, data.scaled(recipe, structure))


def fit_distances(recipe: Recipe, structure: Structure, data: ScaledDistances) -> tuple[Semimetric, Solution]:
    """Learn the weights of a structure; the distance, and the solution in units of the mean target."""
    sums = data.sums(recipe, structure)
    if sums is not None:
        return sums.solve(recipe)
    outline = data.outline(recipe, structure)
    prior = data.prior(recipe, structure, fit_l1_prior(structure, outline.l1_moments))
    if outline.vertices is not None:
        structure = with_vertices(structure, outline.vertices, prior)
    terms = make_terms(recipe, structure, prior)
    design, target, weight = data.rows(recipe, structure)
    loss, penalties = resolve_loss(recipe.loss), recipe.penalties(structure.embedding)
    program = ConvexProgram(design, target, weight, loss, penalties, terms.columns, terms.lower)

    def norms() -> Floats:
        return design.rmatvec(weight)

    solution = solve(recipe, structure, terms, program, norms=norms, unit=data.unit, note=data.note)
    d = assemble(
        recipe,
        structure,
        solution.weights,
        terms.delta,
        examples=data.examples,
        unit=data.unit,
        out_of_range=outline.out_of_range,
    )
    return d, solution
