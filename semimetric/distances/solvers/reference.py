"""CVXPY as a solver: for programs that the other solvers refuse, with any of its engines, and the reference of the tests."""

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.iteration import Status
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import GapBound, certified_gap
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from .base import Solution, Solver

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
    max_iter : int or None
        The limit of iterations, for Clarabel, OSQP, SCS and ECOS; None leaves the engine's own limit.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Program, Reference
    >>> model = DistanceRegressor(program=Program(solver=Reference()))
    """

    separates = True
    engine: str = "CLARABEL"
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

        built = program.to_cvxpy()
        problem = built.problem
        options = {} if self.max_iter is None else {_LIMITS[self.engine]: self.max_iter}
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status says so
                problem.solve(solver=self.engine, verbose=bool(verbose), **options)
        except cp.error.SolverError as error:
            raise NotSupportedError(f"{self._name} cannot solve this program ({error}); use another engine") from error
        return self._solution(program, built.weights.value, problem)

    def _solution(self, program: ConvexProgram, value: Floats | None, problem: Any) -> Solution:
        n_iter = getattr(problem.solver_stats, "num_iters", None) or 0
        if value is None:
            missing = np.where(np.isfinite(program.lower), program.lower, 0.0)
            return Solution(missing, program.objective(missing), np.inf, n_iter, Status.INACCURATE, self._name)
        w = _kept(program, np.maximum(value, program.lower))
        objective = program.objective(w)
        status = Status.SOLVED if problem.status == "optimal" else Status.INACCURATE
        return Solution(w, objective, self._gap(program, w), n_iter, status, self._name)

    @property
    def _name(self) -> str:
        return f"Reference({self.engine})"

    def _gap(self, program: ConvexProgram, w: Floats) -> float:
        """Return the gap that the slopes of the loss at w certify; infinite with free weights or inequalities.

        At a kink of the loss the slope is not unique, so for the absolute loss this bound is loose.
        """
        if program.inequalities is not None or program.triangles is not None or not program.bounded:
            return np.inf
        s, loss = program.sample_weight, program.loss
        residual = program.design.matvec(w) - program.y
        theta = np.clip(s * residual / (loss.curvature or 1e-9), *loss.bounds(s))
        return certified_gap(GapBound(program), program.design, w, theta)


def _kept(program: ConvexProgram, w: Floats) -> Floats:
    """Repair the weights where the engine violates inequalities and weights that satisfy all are known."""
    rows = program.inequalities
    if program.triangles is not None and program.triangles.tables:
        matrix = program.triangles.rows()
        matrix.resize((matrix.shape[0], len(w)))
        tables = program.triangles if program.triangles.free else None
        of_triangles = Inequalities(matrix, np.zeros(matrix.shape[0]), tables)
        rows = of_triangles if rows is None else of_triangles + rows
    return w if rows is None or program.inside is None else np.maximum(rows.mixed(w, program.inside), program.lower)
