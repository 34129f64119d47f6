"""One program, one call of a solver: the last step of learning, for every learner.

terms, program -> constraints of the recipe -> solver -> weights (of the prior where nothing determines them)
"""

from collections.abc import Callable
from dataclasses import replace

from .._foundation.progress import announce
from .._foundation.types import Floats
from ..programs.moments import Moments
from ..programs.penalties import total
from ..programs.program import ConvexProgram
from ..solvers.auto import choose, resolve_solver
from ..solvers.base import Solution
from ..solvers.gram import Gram, solve_moments
from .guarantees import constrained
from .recipe import Recipe
from .structure import Structure
from .terms import Terms

__all__ = ["solve", "solve_second_moments"]

_MANY_ROWS = 50_000  # triangle rows: rounds that add some of so many may take minutes


def solve(
    recipe: Recipe,
    structure: Structure,
    terms: Terms,
    program: ConvexProgram,
    *,
    norms: Callable[[], Floats],
    unit: float = 1.0,
    start: Floats | None = None,
    note: str = "",
) -> Solution:
    """Solve a program under what the recipe asks for.

    Parameters
    ----------
    recipe : Recipe
    structure : Structure
    terms : Terms
        The terms that the program was made with.
    program : ConvexProgram
    norms : callable
        Gives any norm of every column, shape (n,); called only where the penalty leaves columns alone.
    unit : float
        The unit of the distance in the program, in the user's unit, which is that of constraints.
    start : ndarray of shape (n,) or None
        Weights to begin from.
    note : str
        What the solution says of itself behind the reason for its solver.

    Returns
    -------
    Solution
        Its ``solver`` says which solver was chosen and why.

    Raises
    ------
    InputError
        If no weights fulfil the constraints of the recipe.
    """
    program = constrained(recipe, structure, program, terms.unseen, unit)
    solver, reason = choose(recipe.solver, program)
    _announce_rows(program, recipe.verbose)
    solution = solver.solve(program, start=start, verbose=recipe.verbose)
    weights = solution.weights
    if program.triangles is None and program.inequalities is None:  # rows decide of columns that no example touches too
        weights = terms.with_prior_where_undetermined(weights, program.penalty, norms)
    return replace(solution, weights=weights, solver=f"{solution.solver} ({reason}{note})")


def _announce_rows(program: ConvexProgram, verbose: bool | None) -> None:
    """Say how many triangle rows there are, where they are so many that they may take minutes."""
    n_rows = 0 if program.triangles is None else program.triangles.n_rows
    if n_rows > _MANY_ROWS:
        announce(
            f"the triangle inequality asks for {n_rows:,} rows on {len(program.lower):,} weights, which may take minutes; "
            'fewer knots, smaller groups or no directions ask for fewer, tables="warped" for none, and '
            "solver=CuttingPlane(max_rounds=) and the max_iter of the solver in it are limits",
            verbose=verbose,
        )


def solve_second_moments(recipe: Recipe, structure: Structure, terms: Terms, moments: Moments) -> Solution:
    """`solve` by least squares, from second moments whose total weight is 1; nothing ties weights to one another."""
    penalty = total(recipe.penalties(structure.embedding), terms.columns)
    given = resolve_solver(recipe.solver)
    solution = solve_moments(given if isinstance(given, Gram) else Gram(), moments, penalty, terms.lower)
    solution.warn_unless_solved()
    weights = terms.with_prior_where_undetermined(solution.weights, penalty, moments.norms)
    how = f"{solution.solver} (sums of second moments, {len(weights)} weights)"
    return replace(solution, weights=weights, solver=how)
