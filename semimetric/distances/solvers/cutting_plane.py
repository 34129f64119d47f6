"""The triangle inequality for any solver that takes inequalities.

Where there are few triangle inequalities, the solver is given all of them at once. Else it is given those that matter:

    solve with some inequalities -> add, for every (a, c), that of its shortest detour -> drop slack ones -> solve again

Finding violated inequalities is exact: one min-plus pass over all triples of grid points of every group (see
`embeddings.pairs.triangle_inequality`). The iteration ends when no violation exceeds the tolerance. The violations that are
left are repaired by shortest paths, which lower weights, or, where columns are tied or their lower bounds differ, by a step
towards weights that satisfy every inequality.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..._foundation.errors import NotSupportedError
from ..._foundation.iteration import Status, Step
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..._foundation.validation import check_alpha, check_count
from ..pairs.triangle_inequality import Triangles
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from .base import History, Solution, Solver, with_allowed_status, with_repair
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
        (InteriorPoint(), _EXACT_COLUMNS if squared_with_inequalities else -1, f"squared loss, {n} weights with inequalities"),
        (Splitting(), n if squared_with_inequalities else -1, f"squared loss, {n} weights with inequalities"),
        (InteriorPoint(), _INTERIOR_COLUMNS, f"{loss} loss, {n} weights"),
        (FirstOrder(), n, f"{n} weights are too many for second moments"),
    ]
    for candidate, limit, reason in candidates:
        if n <= limit and candidate.refusal(program) is None:
            return candidate, reason
    return Reference(), "free weights or explicit rows that the other solvers refuse"


_MOST_ROWS, _MOST_WEIGHTS = 20_000, 1_000  # of programs that are handed to CVXPY where other solvers certify nothing


def solve_plain(program: ConvexProgram, *, start: Floats | None = None, verbose: bool | None = None) -> tuple[Solution, str]:
    """Solve a program without triangles, and return the reason for the solver.

    It is the one that `choose_plain` takes. Where its solution is not certified to its tolerance, the others that take the
    program are asked in turn; the first that is SOLVED is returned, else that of the smallest gap. After Ctrl-C it has the
    status ``INTERRUPTED``.
    """
    first, reason = choose_plain(program)
    best = first.attempt(program, start=start, verbose=verbose)
    asked = [type(first)]
    for solver in _others(program, first):
        if best.status not in (Status.INACCURATE, Status.UNCERTIFIED):
            break
        asked.append(type(solver))
        try:
            found = solver.attempt(program, start=start, verbose=verbose)
        except NotSupportedError:  # an engine of CVXPY that fails: what was found before stays
            continue
        except KeyboardInterrupt:  # from a solver that has no weights yet
            best = replace(best, status=Status.INTERRUPTED)
            break
        interrupted = found.status is Status.INTERRUPTED
        best = min(best, found, key=lambda s: (s.status is not Status.SOLVED, s.gap, s.objective))
        best = replace(best, status=Status.INTERRUPTED) if interrupted else best
    if len(asked) > 1:
        reason += f"; asked {', '.join(kind.__name__ for kind in asked)} for a certificate"
    best.warn_unless_solved()
    return best, reason


def _others(program: ConvexProgram, first: Solver) -> list[Solver]:
    m, n = program.design.shape
    solvers: list[Solver] = [Newton(), InteriorPoint()] if n <= _INTERIOR_COLUMNS else []
    solvers += [Reference(tol=InteriorPoint().tol)] if m <= _MOST_ROWS and n <= _MOST_WEIGHTS else []
    return [solver for solver in solvers if type(solver) is not type(first) and solver.refusal(program) is None]


_ROUNDING = 1e-11  # this share of the objective is added to a gap for the rounding of the difference of two objectives
_KEPT = 1e-3  # inequalities whose slack exceeds this share of the largest weight are dropped


@storable
@dataclass(frozen=True)
class CuttingPlane(Solver):
    """A solver of programs with ``triangles``, around any solver that takes inequalities.

    Parameters
    ----------
    solver : Solver or "auto", default "auto"
        The solver of the programs with inequalities; "auto" chooses it by the loss and the number of weights.
    tol : float, default 1e-9
        The iteration stops when no violation exceeds this share of the largest weight; the repair removes what is left.
    all_rows : int, default 3000000
        Up to so many triangle inequalities are given to the solver at once; of more than these, only violated ones.
    max_rounds : int, default 50
        The limit of iterations.

    Examples
    --------
    >>> from semimetric import CuttingPlane, DistanceRegressor, Program
    >>> model = DistanceRegressor(axioms="metric", program=Program(solver=CuttingPlane("auto")))
    """

    separates = True
    solver: Solver | str = "auto"
    tol: float = 1e-9
    all_rows: int = 3_000_000
    max_rounds: int = 50

    def __post_init__(self) -> None:
        check_alpha("tol", self.tol)
        check_count("all_rows", self.all_rows, minimum=0)
        check_count("max_rounds", self.max_rounds)

    def refusal(self, program: ConvexProgram) -> str | None:
        if isinstance(self.solver, Solver) and program.triangles is not None:
            return self.solver.refusal(_with_rows(program, _no_rows(program)))
        return None

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        triangles = program.triangles
        if triangles is None or not triangles.tables:
            return _named(self._solve_plain(program.with_triangle_rows(), start, verbose), 0)
        if triangles.n_rows <= self.all_rows:
            return _named(self._solve_plain(program.with_triangle_rows(), start, verbose), triangles.n_rows)
        return self._solve_in_rounds(program, triangles, start, verbose)

    def _solve_plain(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        if isinstance(self.solver, Solver):
            return self.solver.solve(program, start=start, verbose=verbose)
        return solve_plain(program, start=start, verbose=verbose)[0]

    def _solve_in_rounds(
        self, program: ConvexProgram, triangles: Triangles, start: Floats | None, verbose: bool | None
    ) -> Solution:
        """Add violated inequalities and drop slack ones in rounds, and repair the end; history has an entry a round."""
        w = program.lower if start is None else start
        rows = _no_rows(program)
        n_iter = 0
        bound = 0.0
        status = Status.LIMIT
        steps: list[Step] = []
        with progress_bar(None, "cutting planes", verbose=verbose) as bar:
            for _ in range(self.max_rounds):
                solution = self._solve_plain(_with_rows(program, rows, repairs=False), start, verbose)
                start = w = solution.weights
                n_iter += solution.n_iter
                steps.append((n_iter, solution.objective, solution.gap))
                bound = max(bound, solution.objective - solution.gap)
                largest = float(np.abs(w).max())
                violated = triangles.separate(w, self.tol * largest)
                if solution.status is not Status.SOLVED or not violated.shape[0]:
                    status = solution.status
                    break
                rows = rows.take(rows.slack(w) <= _KEPT * largest) + _inequalities(violated, program)
                bar.set_postfix(rows=len(rows))
                bar.update()
        remaining = _inequalities(triangles.separate(w, 0.0), program)
        every = replace(rows + remaining, tables=triangles if triangles.free else None)
        feasible = replace(program, triangles=None, inequalities=_joined(program.inequalities, every)).feasible(w)
        objective = program.objective(feasible)
        gap = max(objective - bound, 0.0) + _ROUNDING * max(objective, program.exact)
        solution = Solution(feasible, objective, gap, n_iter, status, solution.solver, history=History.of(steps))
        inner = self.solver if isinstance(self.solver, Solver) else choose_plain(_with_rows(program, rows))[0]
        tol = float(getattr(inner, "tol", 0.0))  # every solver of this package that takes inequalities has one
        solution = with_allowed_status(solution, tol * max(abs(objective), program.exact), program.exact)
        return _named(with_repair(program, w, solution), len(rows))


def _named(solution: Solution, n_rows: int) -> Solution:
    return replace(solution, solver=f"{solution.solver}, {n_rows} triangle rows")


def _joined(given: Inequalities | None, rows: Inequalities) -> Inequalities:
    return rows if given is None else rows + given


def _with_rows(program: ConvexProgram, rows: Inequalities, *, repairs: bool = True) -> ConvexProgram:
    """Replace the triangles by inequalities, which shortest paths may repair unless more than symmetry ties columns."""
    triangles = program.triangles if repairs and program.triangles is not None and program.triangles.free else None
    rows = replace(_joined(program.inequalities, rows), tables=triangles)
    return replace(program, triangles=None, inequalities=rows)


def _no_rows(program: ConvexProgram) -> Inequalities:
    return Inequalities.homogeneous(sparse.csr_array((0, len(program.lower))))


def _inequalities(matrix: sparse.csr_array, program: ConvexProgram) -> Inequalities:
    """Widen ``matrix`` w >= 0 on the columns of the tables to all columns of the program."""
    matrix.resize((matrix.shape[0], len(program.lower)))
    return Inequalities.homogeneous(matrix)
