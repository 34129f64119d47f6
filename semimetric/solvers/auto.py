"""Which solver takes a program: decided by the loss and the number of weights, and said."""

from .._errors import InputError
from ..programs.program import ConvexProgram
from .base import Solver
from .first_order import FirstOrder
from .gram import Gram
from .interior_point import InteriorPoint
from .newton import Newton
from .reference import Reference

__all__ = ["choose", "resolve_solver"]

_GRAM_COLUMNS = 8_000
_INTERIOR_COLUMNS = 4_000
_NAMES: dict[str, Solver] = {
    "reference": Reference(), "gram": Gram(), "newton": Newton(), "interior_point": InteriorPoint(),
    "first_order": FirstOrder(),
}  # fmt: skip


def resolve_solver(solver: "str | Solver") -> Solver | None:
    """The solver that is given by name or as itself; None for "auto".

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if isinstance(solver, Solver) or solver == "auto":
        return solver if isinstance(solver, Solver) else None
    if not isinstance(solver, str) or solver not in _NAMES:
        raise InputError(f"solver={solver!r} is not known; use 'auto', {', '.join(map(repr, _NAMES))}, or a Solver")
    return _NAMES[solver]


def choose(solver: "str | Solver", program: ConvexProgram) -> tuple[Solver, str]:
    """The solver for ``program``, and the reason.

    Parameters
    ----------
    solver : {"auto", "gram", "newton", "interior_point", "first_order", "reference"} or Solver
        ``"auto"`` takes Gram for squared losses of up to 8,000 weights, Newton for other losses that curve and
        InteriorPoint for those that do not, of up to 4,000, FirstOrder beyond, and Reference (CVXPY) for what all of these
        refuse.
    """
    given = resolve_solver(solver)
    if given is not None:
        return given, "given"
    n = program.design.shape[1]
    tried: list[tuple[Solver, int, str]] = [
        (Gram(), _GRAM_COLUMNS, f"squared loss, {n} weights"),
        (Newton(), _INTERIOR_COLUMNS, f"{type(program.loss).__name__} loss, {n} weights"),
        (InteriorPoint(), _INTERIOR_COLUMNS, f"{type(program.loss).__name__} loss, {n} weights"),
        (FirstOrder(), n, f"{n} weights are too many for second moments"),
    ]
    for candidate, limit, reason in tried:
        if n <= limit and candidate.refusal(program) is None:
            return candidate, reason
    return Reference(), "free weights or explicit rows that the other solvers refuse"
