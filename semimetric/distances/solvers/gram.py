"""Least squares from second moments: one pass over the pairs, then an exact bound-constrained quadratic solve.

    min_w  wᵀ H w / 2 - bᵀ w   over  w >= lower,      H = AᵀSA + P,  b = AᵀSy + q

The moments are sums over pairs, so they can be summed over blocks, over calls of ``partial_fit`` and over machines.
"""

from dataclasses import dataclass

import numpy as np

from ..._foundation.iteration import Status, Step
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import QuadraticProgram, certified_gap_of_moments
from ..programs.design_matrix import Moments
from ..programs.penalties import Quadratic
from ..programs.program import EXACT, ConvexProgram
from .base import STOPS_AT, History, Solution, Solver, refuse_inequalities
from .box_quadratic import BoxQuadratic, BoxSolution, interior, solve_regular

_FIRST_STEPS = 40  # Newton steps before interior points are tried; they leave weights exactly at their bounds
_LAST_STEPS = 12  # Newton steps after interior points
_HALVINGS = 40  # of the length of a Newton step
_BEYOND = 1 + 1e-6  # upper bounds are raised by so much, so that their rounding does not matter


@storable
@dataclass(frozen=True)
class Gram(Solver):
    """Projected Newton steps on the second moments (Bertsekas 1982): exact up to rounding, for up to ~10,000 weights.

    Interior points are used where the moments are too singular for Newton steps, because there are more weights than the pairs
    determine and no ridge.

    Parameters
    ----------
    tol : float, default 1e-9
        The largest certified gap, relative to the objective at w = 0.
    max_iter : int, default 200
        The limit of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, Gram, Program
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, program=Program(solver=Gram(tol=1e-10))).fit(pairs, y)
    >>> model.solution_.solver
    'Gram (given)'
    >>> bool(model.solution_.relative_gap < 1e-6)
    True
    """

    tol: float = 1e-9
    max_iter: int = 200

    def refusal(self, program: ConvexProgram) -> str | None:
        if not program.loss.quadratic:
            return f"{type(program.loss).__name__} is not a squared loss; use FirstOrder or Reference"
        return refuse_inequalities(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        moments = program.design.moments(program.y, program.sample_weight)
        bounded = program.design.nonnegative
        return solve_moments(self, moments, program.penalty, program.lower, start, bounded=bounded)


def solve_moments(
    solver: Gram, moments: Moments, penalty: Quadratic, lower: Floats, start: Floats | None = None, *,
    bounded: bool = True,
) -> Solution:  # fmt: skip
    """Solve least squares with the given penalty, from second moments whose total weight is 1.

    With ``bounded`` A is known to be >= 0, so that the data bound the weights.
    """
    H = moments.gram + penalty.P.toarray()
    b = moments.cross + penalty.q

    def objective_at(w: Floats) -> float:
        return max(float(w @ (moments.gram @ w)) / 2 - float(moments.cross @ w) + moments.square / 2, 0.0) + penalty.value(w)

    bounded = bounded and bool((lower >= 0).all())
    upper = np.full(len(lower), np.inf)
    if bounded:
        upper = _upper(moments, lower, objective_at(lower))
    box = BoxQuadratic(H, b, lower, upper)
    scale = moments.square / 2 or penalty.constant or 1e-300
    found = minimise(box, start, tol=STOPS_AT * solver.tol * scale, max_iter=solver.max_iter)
    program = QuadraticProgram(moments, penalty, lower, upper)
    gap = certified_gap_of_moments(program, found.w, box.lift, solver.tol * scale)
    status = _status(solver, found, gap, scale)
    constant = moments.square / 2 + penalty.constant
    history = History.of([(n, at + constant, gap_there) for n, at, gap_there in found.steps])
    return Solution(found.w, objective_at(found.w), gap, found.n_iter, status, "Gram", history=history)


def _status(solver: Gram, found: BoxSolution, gap: float, scale: float) -> Status:
    if found.interrupted:
        return Status.INTERRUPTED
    tol = max(solver.tol, EXACT) * scale
    if gap <= tol:
        return Status.SOLVED
    if np.isinf(gap) and found.gap <= tol:  # free weights are not determined, or data with signs leave weights unbounded
        return Status.UNCERTIFIED
    return Status.LIMIT if found.n_iter >= solver.max_iter else Status.INACCURATE


def _upper(moments: Moments, lower: Floats, objective: float) -> Floats:
    """Bound the weights of a minimiser from above, shape (n,), where weights reach ``objective`` and A, w are >= 0.

    This follows from w_j ‖A_j‖ <= ‖A w‖ <= ‖y‖ + sqrt(2 objective), with norms weighted by S.
    """
    reach = (np.sqrt(moments.square) + np.sqrt(2.0 * objective)) * _BEYOND
    norm = moments.norms()
    with np.errstate(divide="ignore", invalid="ignore"):  # of columns of 0, whose quotient is not taken
        return np.maximum(np.where(norm > 0, reach / norm, np.inf), lower)


def minimise(box: BoxQuadratic, start: Floats | None = None, *, tol: float, max_iter: int) -> BoxSolution:
    """Minimise over the box by projected Newton steps, and by interior points where H is too singular for these.

    Newton steps end with weights exactly at their bounds and profit from a good start, so they come first and last.
    """
    first = np.where(box.free, 0.0, box.lower) if start is None else np.maximum(start, box.lower)
    found = _newton(box, first, tol, max_iter if box.free.any() else min(max_iter, _FIRST_STEPS))
    if found.gap <= tol or found.interrupted or found.n_iter == max_iter or box.free.any():
        return found
    inner, multipliers = interior(box, tol=tol, max_iter=max_iter - found.n_iter)
    found = _better(found, inner, tol)
    if inner.interrupted or found.n_iter >= max_iter:
        return found
    snapped = np.where(inner.w - box.lower < multipliers / box.scale, box.lower, inner.w)
    return _better(found, _newton(box, snapped, tol, min(max_iter - found.n_iter, _LAST_STEPS)), tol)


def _better(old: BoxSolution, new: BoxSolution, tol: float) -> BoxSolution:
    """Return the solution of the smaller gap, the new one if its gap is below ``tol``; iterations add up."""
    point = new if new.gap <= max(tol, old.gap) else old
    steps = (*old.steps, *((old.n_iter + n, at, gap) for n, at, gap in new.steps))
    return BoxSolution(point.w, point.gap, old.n_iter + new.n_iter, new.interrupted, steps)


def _newton(box: BoxQuadratic, w: Floats, tol: float, max_iter: int) -> BoxSolution:
    """Make projected Newton steps from ``w``, on the weights that their bounds do not hold."""
    gradient = box.H @ w - box.b
    gap = np.inf
    n_iter = 0
    steps: list[Step] = []
    try:
        for n_iter in range(max_iter + 1):  # noqa: B007 - the solution reports n_iter
            gap = box.gap(w, gradient)
            steps.append((n_iter, box.objective(w, gradient), gap))
            if gap <= tol or n_iter == max_iter:
                break
            step = _newton_direction(box, gradient, (w > box.lower) | (gradient < 0))
            if box.free.any() and (gap := box.gap(w, gradient, step)) <= tol:
                break
            w, gradient, moved = _search(box, gradient, w, step)
            if not moved:
                break
        if gap > tol:
            gap = min(gap, box.gap(w, gradient, box.lift(gradient)))
    except KeyboardInterrupt:
        return BoxSolution(w, box.gap(w, box.H @ w - box.b), n_iter, interrupted=True, steps=tuple(steps))
    return BoxSolution(w, gap, n_iter, steps=tuple(steps))


def _newton_direction(box: BoxQuadratic, gradient: Floats, loose: np.ndarray) -> Floats:
    step = np.zeros_like(gradient)
    step[loose] = -solve_regular(box.H[np.ix_(loose, loose)], gradient[loose])
    return step


def _search(box: BoxQuadratic, gradient: Floats, w: Floats, step: Floats) -> tuple[Floats, Floats, bool]:
    """Find the first point on the projected path that decreases the objective, its gradient, and True if there is one."""
    length = 1.0
    for _ in range(_HALVINGS):
        trial = np.maximum(w + length * step, box.lower)
        move = trial - w
        turned = box.H @ move
        if float(gradient @ move) + float(move @ turned) / 2 < 0:
            return trial, gradient + turned, True
        length /= 2
    return w, gradient, False
