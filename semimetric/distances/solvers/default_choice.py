"""The default solver of a program without triangles, chosen by its loss, its number of weights and its inequalities."""

from ..programs.program import ConvexProgram
from .base import Solver
from .first_order import FirstOrder
from .gram import Gram
from .interior_point import InteriorPoint
from .newton import Newton
from .reference import Reference
from .splitting import Splitting

_GRAM_COLUMNS = 8_000  # the most weights for Gram
_INTERIOR_COLUMNS = 4_000  # the most weights for Newton and InteriorPoint
_EXACT_COLUMNS = 1_000  # with a squared loss and inequalities: for more weights a factorization in each iteration is too slow


def choose_plain(program: ConvexProgram) -> tuple[Solver, str]:
    """Return the solver for a program without triangles, and the reason for it."""
    n = program.design.shape[1]
    loss = type(program.loss).__name__
    squared_with_inequalities = program.inequalities is not None and program.loss.quadratic
    candidates: list[tuple[Solver, int, str]] = [  # with the most weights and the reason
        (Gram(), _GRAM_COLUMNS, f"squared loss, {n} weights"),
        (Newton(), _INTERIOR_COLUMNS, f"{loss} loss, {n} weights"),
        (
            InteriorPoint(),
            _EXACT_COLUMNS if squared_with_inequalities else -1,
            f"squared loss, {n} weights with inequalities",
        ),
        (Splitting(), n if squared_with_inequalities else -1, f"squared loss, {n} weights with inequalities"),
        (InteriorPoint(), _INTERIOR_COLUMNS, f"{loss} loss, {n} weights"),
        (FirstOrder(), n, f"{n} weights are too many for second moments"),
    ]
    for candidate, limit, reason in candidates:
        if n <= limit and candidate.refusal(program) is None:
            return candidate, reason
    return Reference(), "free weights or explicit rows that the other solvers refuse"
