"""CVXPY as a solver: the default for programs that the other solvers refuse, and the reference of the tests."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._foundation.errors import NotSupportedError
from ..._foundation.iteration import Status
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import GapBound
from ..programs.program import ConvexProgram
from .base import Solution, Solver, certified

_KEPT = 1e-9  # a violation of at most this share of the terms of a row is rounding
_LIMITS = {"CLARABEL": "max_iter", "OSQP": "max_iter", "SCS": "max_iters", "ECOS": "max_iters"}


@storable
@dataclass(frozen=True)
class Reference(Solver):
    """The program handed to CVXPY as it is written. It takes any loss, penalty and inequality, for small programs.

    Parameters
    ----------
    engine : str, default "CLARABEL"
        The name of any solver that CVXPY has installed.
    tol : float, default 1e-4
        The relative certified gap up to which a solution counts as solved. The engine keeps tolerances of its own, and its
        multipliers certify less than they promise: Clarabel's are mostly good for 1e-5.
    max_iter : int or None
        The limit of iterations, for Clarabel, OSQP, SCS and ECOS; None leaves the engine's own limit.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Program, Reference
    >>> model = DistanceRegressor(program=Program(solver=Reference()))
    """

    separates = True
    engine: str = "CLARABEL"
    tol: float = 1e-4
    max_iter: int | None = None

    def refusal(self, program: ConvexProgram) -> str | None:
        import cvxpy as cp  # noqa: PLC0415 - importing CVXPY takes about a second, and only this solver needs it

        if self.engine not in cp.installed_solvers():
            return f"CVXPY has no solver {self.engine!r} here; installed are {', '.join(cp.installed_solvers())}"
        if self.max_iter is not None and self.engine not in _LIMITS:
            return f"how {self.engine} calls max_iter is not known, only for {', '.join(_LIMITS)}; leave max_iter=None"
        return None

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        import cvxpy as cp  # noqa: PLC0415 - as in `refusal`

        program = program.with_triangle_rows()
        w, residual = cp.Variable(len(program.lower)), cp.Variable(len(program.y))
        of_residuals = program.design.csr() @ w - program.y == residual  # its multipliers are the dual variables of the rows
        objective = program.loss.expression(cp, residual, program.sample_weight)
        objective += sum(p.expression(cp, w, program.columns) for p in program.penalties)
        of_bounds, of_rows = self._constraints(cp, w, program)
        problem = cp.Problem(cp.Minimize(objective), [of_residuals, *of_bounds, *of_rows])
        options = {} if self.max_iter is None else {_LIMITS[self.engine]: self.max_iter}
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status says so
                problem.solve(solver=self.engine, verbose=bool(verbose), **options)
        except cp.error.SolverError as error:
            raise NotSupportedError(f"{self._name} cannot solve this program ({error}); use another engine") from error
        n_iter = getattr(problem.solver_stats, "num_iters", None) or 0
        if w.value is None:
            missing = np.where(np.isfinite(program.lower), program.lower, 0.0)
            return Solution(missing, program.objective(missing), np.inf, n_iter, Status.INACCURATE, self._name)
        status = Status.SOLVED if problem.status == "optimal" else Status.INACCURATE
        multipliers = [-constraint.dual_value for constraint in of_rows]
        return self._certified(program, w.value, np.concatenate([of_residuals.dual_value, *multipliers]), status, n_iter)

    def _constraints(self, cp: Any, w: Any, program: ConvexProgram) -> tuple[list[Any], list[Any]]:
        """Return the constraints of the lower bounds, and those of the inequalities."""
        bounded = np.isfinite(program.lower)
        of_bounds = [w[bounded] >= program.lower[bounded]] if bounded.any() else []
        rows = program.inequalities
        return of_bounds, [] if rows is None else [rows.matrix @ w >= rows.bound]

    def _certified(self, program: ConvexProgram, value: Floats, theta: Floats, status: Status, n_iter: int) -> Solution:
        """Return the solution with the gap that the engine's multipliers, or the slopes of the loss, certify."""
        w = program.feasible(np.maximum(value, program.lower))
        if program.inequalities is not None and program.inside is None and (program.inequalities.missed(w) > _KEPT).any():
            return Solution(w, program.objective(w), np.inf, n_iter, Status.INACCURATE, self._name)
        w = np.maximum(w, program.lower)
        solution = Solution(w, program.objective(w), np.inf, n_iter, status, self._name)
        bounds, design = GapBound(program), program.stacked.held()
        found = [certified(solution, bounds, design, dual, self.tol) for dual in (theta, None)]
        return min(found, key=lambda s: s.gap)

    @property
    def _name(self) -> str:
        return f"Reference({self.engine})"
