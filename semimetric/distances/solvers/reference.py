"""CVXPY as a solver: for programs that the other solvers refuse, with any of its engines, and the reference of the tests."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.iteration import Status
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import GapBound
from ..programs.program import ConvexProgram
from .base import Solution, Solver, certified

_KEPT = 1e-9  # a violation of at most this share of the terms of a row is rounding
_LIMITS = {"CLARABEL": "max_iter", "OSQP": "max_iter", "SCS": "max_iters", "ECOS": "max_iters"}


@cache
def _installed() -> tuple[str, ...]:
    import cvxpy as cp  # noqa: PLC0415 - importing CVXPY takes about a second, and only this solver needs it

    return tuple(cp.installed_solvers())


@storable
@dataclass(frozen=True)
class Reference(Solver):
    """CVXPY: the program is handed to it as it is written (Diamond & Boyd 2016), and one of its engines solves it.

    It takes any loss, penalty and inequality, for small programs. ``Program(solver="cvxpy")`` is this solver, and
    ``Program(solver="cvxpy:OSQP")`` is this solver with another engine. ``model.program_.to_cvxpy()`` is the same problem, for
    those who want to add to it and solve it themselves.

    Parameters
    ----------
    engine : str, default "CLARABEL"
        The name of any solver that CVXPY has installed, such as "CLARABEL", "OSQP" or "SCS".
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

    def checked(self) -> "Reference":
        """Return this solver; an InputError refuses an engine that is not installed."""
        if (missing := self._missing()) is not None:
            raise InputError(missing)
        return self

    def _missing(self) -> str | None:
        if self.engine in _installed():
            return None
        return f"CVXPY has no engine {self.engine!r} here; use an installed one: {', '.join(_installed())}"

    def refusal(self, program: ConvexProgram) -> str | None:
        if (missing := self._missing()) is not None:
            return missing
        if self.max_iter is not None and self.engine not in _LIMITS:
            return f"how {self.engine} calls max_iter is not known, only for {', '.join(_LIMITS)}; leave max_iter=None"
        return None

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        import cvxpy as cp  # noqa: PLC0415 - as in `_installed`

        program = program.with_triangle_rows()
        built = program.to_cvxpy()
        problem = built.problem
        options = {} if self.max_iter is None else {_LIMITS[self.engine]: self.max_iter}
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status says so
                problem.solve(solver=self.engine, verbose=bool(verbose), **options)
        except cp.error.SolverError as error:
            raise NotSupportedError(f"{self._name} cannot solve this program ({error}); use another engine") from error
        n_iter = getattr(problem.solver_stats, "num_iters", None) or 0
        if built.weights.value is None:
            missing = np.where(np.isfinite(program.lower), program.lower, 0.0)
            return Solution(missing, program.objective(missing), np.inf, n_iter, Status.INACCURATE, self._name)
        status = Status.SOLVED if problem.status == "optimal" else Status.INACCURATE
        theta = built.residual_rows.dual_value  # the multipliers of the rows are their dual variables
        if built.inequality_rows is not None:
            theta = np.append(theta, -built.inequality_rows.dual_value)
        return self._certified(program, built.weights.value, theta, status, n_iter)

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
