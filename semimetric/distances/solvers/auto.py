"""The solver of a program, by its name or chosen automatically, with the reason for the choice."""

from ..._foundation.errors import InputError
from ..._foundation.real_numbers import shown
from ..._foundation.types import Floats
from ..programs.program import ConvexProgram
from .base import Solution, Solver
from .cutting_plane import CuttingPlane, choose_plain, solve_plain
from .first_order import FirstOrder
from .gram import Gram
from .interior_point import InteriorPoint
from .newton import Newton
from .reference import Reference
from .splitting import Splitting

_CVXPY = "cvxpy"
_NAMES: dict[str, Solver] = {
    _CVXPY: Reference(), "gram": Gram(), "newton": Newton(), "interior_point": InteriorPoint(),
    "first_order": FirstOrder(), "splitting": Splitting(), "cutting_plane": CuttingPlane(),
}  # fmt: skip


def resolve_solver(solver: "str | Solver") -> Solver | None:
    """Return the solver that is given, as an object or by its name; None for "auto"."""
    if isinstance(solver, str):
        if solver == "auto":
            return None
        name, colon, engine = solver.partition(":")
        solver = Reference(engine) if name == _CVXPY and colon else _NAMES.get(solver, solver)
    if not isinstance(solver, Solver):
        known = ", ".join(map(repr, _NAMES))
        raise InputError(f"solver={shown(solver)} is not known; use 'auto', {known}, 'cvxpy:ENGINE', or a Solver")
    return solver.checked() if isinstance(solver, Reference) else solver


def choose(solver: "str | Solver", program: ConvexProgram) -> tuple[Solver, str]:
    """Return the solver for ``program``, and the reason for it.

    Parameters
    ----------
    solver : {"auto", "gram", "newton", "interior_point", "first_order", "splitting", "cvxpy", ...} or Solver
        The choice of ``"auto"`` is that of `choose_plain`. Where the program requires the triangle inequality, a
        `CuttingPlane` around that solver, or around the given one, is returned, unless the given one takes triangles itself.
    program : ConvexProgram
        What is to be minimised.
    """
    given = resolve_solver(solver)
    if program.triangles is not None and not (given is not None and given.separates):
        return CuttingPlane("auto" if given is None else given), "triangle inequality" if given is None else "given"
    return (given, "given") if given is not None else choose_plain(program)


def solve(
    solver: "str | Solver", program: ConvexProgram, *, start: Floats | None = None, verbose: bool | None = None
) -> tuple[Solution, str]:
    """Solve ``program`` by the solver of `choose`, and return the reason for it.

    Where "auto" has chosen a solver that certifies less than its tolerance, others are asked too (see `solve_plain`).
    """
    if program.triangles is None and resolve_solver(solver) is None:
        return solve_plain(program, start=start, verbose=verbose)
    chosen, reason = choose(solver, program)
    return chosen.solve(program, start=start, verbose=verbose), reason
