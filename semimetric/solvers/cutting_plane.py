"""The triangle inequality for any solver that takes inequalities: all rows at once where they are few, else those that matter.

    solve with some rows -> add, of every (a, c), the row of its shortest detour -> drop slack rows -> solve again

Separation is exact: one min-plus pass over all grid triples of every group (`embeddings.triangles`). It ends with no violation
above the tolerance. What is left is repaired by shortest paths, which lower weights, or, where columns are tied or bounds are
not even, by a step towards weights that keep every row.
"""

from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from .._foundation.types import Floats
from .._foundation.validation import check_alpha, check_count
from ..embeddings.pairs.triangle_inequality import Triangles
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status, with_repair
from .default_choice import choose_plain

__all__ = ["CuttingPlane"]

_KEPT = 1e-3  # of the largest weight: rows with more slack are dropped


@dataclass(frozen=True)
class CuttingPlane(Solver):
    """Any solver that takes inequalities, on programs with ``triangles``.

    Parameters
    ----------
    solver : Solver or "auto", default "auto"
        For the programs with rows: by the loss and the number of weights.
    tol : float, default 1e-9
        The largest violation, relative to the largest weight, at which it stops; the repair removes it.
    all_rows : int, default 3000000
        Up to how many rows are given to the solver at once; beyond, only violated ones.
    max_rounds : int, default 50
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
            nothing = Triangles((), (), program.triangles.n_columns, True)
            return self.solver.refusal(_with(program, Inequalities.homogeneous(nothing.rows())))
        return None

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        triangles = program.triangles
        if triangles is None or not triangles.tables:
            return self._named(self._inner(replace(program, triangles=None), start, verbose), 0)
        if triangles.n_rows <= self.all_rows:
            rows = Inequalities.homogeneous(_widened(triangles.rows(), program))
            return self._named(self._inner(_with(program, rows), start, verbose), len(rows))
        return self._lazily(program, triangles, start, verbose)

    def _inner(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        solver = self.solver if isinstance(self.solver, Solver) else choose_plain(program)[0]
        return solver.solve(program, start=start, verbose=verbose)

    def _named(self, solution: Solution, n_rows: int) -> Solution:
        return replace(solution, solver=f"{solution.solver}, {n_rows} triangle rows")

    def _lazily(self, program: ConvexProgram, triangles: Triangles, start: Floats | None, verbose: bool) -> Solution:
        w = program.lower if start is None else start
        rows, n_iter, bound, status = Inequalities.homogeneous(_empty(program)), 0, 0.0, Status.LIMIT
        for _ in tqdm(range(self.max_rounds), desc="cutting planes", disable=not verbose):
            solution = self._inner(_with(program, rows, repairs=False), start, verbose)
            start = w = solution.weights
            n_iter += solution.n_iter
            bound = max(bound, solution.objective - solution.gap)
            size = float(np.abs(w).max())
            found = triangles.separate(w, self.tol * size)
            if solution.status is not Status.SOLVED or not found.shape[0]:
                status = solution.status
                break
            rows = rows.take(rows.slack(w) <= _KEPT * size) + Inequalities.homogeneous(_widened(found, program))
        left = Inequalities.homogeneous(_widened(triangles.separate(w, 0.0), program))
        every = replace(rows + left, tables=triangles if triangles.free else None)
        kept = replace(program, triangles=None, inequalities=_joined(program.inequalities, every)).feasible(w)
        solution = Solution(kept, program.objective(kept), 0.0, n_iter, status, solution.solver)
        solution = replace(solution, gap=max(solution.objective - bound, 0.0))
        return self._named(with_repair(program, w, triangles.excess(w), solution), len(rows))


def _joined(given: Inequalities | None, rows: Inequalities) -> Inequalities:
    return rows if given is None else rows + given


def _with(program: ConvexProgram, rows: Inequalities, *, repairs: bool = True) -> ConvexProgram:
    """The program with rows in place of triangles; shortest paths repair them, unless columns are tied to others."""
    triangles = program.triangles if repairs and program.triangles is not None and program.triangles.free else None
    rows = replace(_joined(program.inequalities, rows), tables=triangles)
    return replace(program, triangles=None, inequalities=rows)


def _empty(program: ConvexProgram):  # noqa: ANN202
    return Triangles((), (), len(program.lower), True).rows()


def _widened(rows, program: ConvexProgram):  # noqa: ANN001, ANN202
    """Rows on the tables' columns as rows on all columns."""
    rows.resize((rows.shape[0], len(program.lower)))
    return rows
