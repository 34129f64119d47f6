"""Which solver takes a program whose rows are all there: decided by the loss, the number of weights and what ties them."""

from ..programs.program import ConvexProgram
from .base import Solver
from .first_order import FirstOrder
from .gram import Gram
from .interior_point import InteriorPoint
from .newton import Newton
from .reference import Reference
from .splitting import Splitting

__all__ = ["choose_plain"]

_GRAM_COLUMNS = 8_000
_INTERIOR_COLUMNS = 4_000
_EXACT_COLUMNS = 1_000  # of the squared loss with inequalities: beyond, a factorization an iteration is too slow


def choose_plain(program: ConvexProgram) -> tuple[Solver, str]:
    """The solver for a program without triangles, and the reason.

    Gram for squared losses of up to 8,000 weights, Newton for other losses that curve and InteriorPoint for those that do not,
    of up to 4,000, FirstOrder beyond, and Reference (CVXPY) for what all of these refuse. With inequalities, InteriorPoint for
    squared losses of up to 1,000 weights, Splitting beyond, and InteriorPoint for other losses.
    """
    n, loss = program.design.shape[1], type(program.loss).__name__
    rows = program.inequalities is not None and program.loss.quadratic
    tried: list[tuple[Solver, int, str]] = [
        (Gram(), _GRAM_COLUMNS, f"squared loss, {n} weights"),
        (Newton(), _INTERIOR_COLUMNS, f"{loss} loss, {n} weights"),
        (InteriorPoint(), _EXACT_COLUMNS if rows else -1, f"squared loss, {n} weights with inequalities"),
        (Splitting(), n if rows else -1, f"squared loss, {n} weights with inequalities"),
        (InteriorPoint(), _INTERIOR_COLUMNS, f"{loss} loss, {n} weights"),
        (FirstOrder(), n, f"{n} weights are too many for second moments"),
    ]
    for candidate, limit, reason in tried:
        if n <= limit and candidate.refusal(program) is None:
            return candidate, reason
    return Reference(), "free weights or explicit rows that the other solvers refuse"
