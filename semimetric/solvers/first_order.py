"""First-order primal-dual method: only products with A and Aᵀ, so it scales with the pairs and with the columns.

Primal-dual hybrid gradient (Chambolle & Pock 2011; Condat 2013 for the smooth penalty), diagonally preconditioned (Pock &
Chambolle 2011), with averaging, restarts and a primal weight as in PDLP (Applegate et al. 2021):

    theta <- clip((theta + sigma (A w' - y)) / (1 + sigma c), a, b)
    w     <- max(w - tau (Aᵀ theta + penalty'(w)), lower),      w' = 2 w_new - w_old
"""

from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from .._foundation.types import Floats
from ..programs.gap_bound import GapBound
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status, refuse_free_weights, refuse_unknown_inside, with_repair

__all__ = ["FirstOrder"]

_CHECK = 50
_LONGEST_EPOCH = 1000


@dataclass(frozen=True)
class FirstOrder(Solver):
    """Any loss, any number of weights with finite lower bounds; memory O(pairs + columns).

    Parameters
    ----------
    tol : float, default 1e-3
        Relative certified gap at which it stops.
    max_iter : int, default 20000
    """

    tol: float = 1e-3
    max_iter: int = 20_000

    def refusal(self, program: ConvexProgram) -> str | None:
        return refuse_unknown_inside(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        run = _PrimalDualRun(program, start)
        status, n_iter = Status.LIMIT, 0
        with tqdm(total=self.max_iter, desc="first order", disable=not verbose) as bar:
            try:
                for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - reported
                    run.step()
                    if n_iter % _CHECK:
                        continue
                    run.check()
                    bar.update(_CHECK)
                    bar.set_postfix(objective=run.objective, gap=run.gap)
                    if run.gap <= self.tol * max(abs(run.objective), program.exact):
                        status = Status.SOLVED
                        break
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
        if status is not Status.SOLVED:
            run.certify()  # what came after the last check
        solution = Solution(run.best, run.objective, run.gap, n_iter, status, "FirstOrder")
        rows = program.inequalities
        return with_repair(program, run.raw, 0.0 if rows is None else rows.excess(run.raw), solution)


class _PrimalDualRun:
    """The iterates, their averages, and the best point and bound so far."""

    def __init__(self, program: ConvexProgram, start: Floats | None) -> None:
        held = program.stacked.held()
        self.program, self.A, self.y = program, held, program.targets
        self.certificate = GapBound(program)
        m, n = held.shape
        with np.errstate(divide="ignore"):
            rows = 1.0 / np.maximum(held.absolute.matvec(np.ones(n)), 1e-12)
            columns = held.absolute.rmatvec(np.ones(m))
        self.rows, self.columns = rows, columns
        self.curvature, self.bounds = program.curvature, program.slopes
        # row sums of |P| bound the curvature of the penalty, coordinate by coordinate
        self.smooth = np.asarray(abs(program.penalty.P).sum(axis=1)).ravel()
        self.weight = 1.0 / m
        self.w = program.lower.copy() if start is None else np.maximum(start, program.lower)
        self.theta = np.zeros(m)
        self.product = np.zeros(n)
        self.raw, self.best = self.w, program.feasible(self.w)
        self.objective, self.bound = self._objective(self.best), -np.inf
        self._begin(np.inf)

    @property
    def gap(self) -> float:
        """Best objective less best bound."""
        return max(self.objective - self.bound, 0.0)

    def _objective(self, w: Floats) -> float:
        residual = self.A.matvec(w)[: len(self.program.y)] - self.program.y
        return self.program.loss.value(residual, self.program.sample_weight) + self.program.penalty.value(w)

    def _begin(self, merit: float) -> None:
        """Start an epoch at the current point."""
        self.origin = (self.w.copy(), self.theta.copy())
        self.sums = [np.zeros_like(self.w), np.zeros_like(self.theta)]
        self.steps, self.merit = 0, merit

    def step(self) -> None:
        """One iteration: a product with A and one with Aᵀ."""
        p = self.program
        tau = 1.0 / (self.weight * self.columns + self.smooth + 1e-12)
        sigma = self.weight * self.rows
        new = np.maximum(self.w - tau * (self.product + p.penalty.gradient(self.w)), p.lower)
        ahead = self.theta + sigma * (self.A.matvec(2.0 * new - self.w) - self.y)
        self.theta = np.clip(ahead / (1.0 + sigma * self.curvature), *self.bounds)
        self.w, self.product = new, self.A.rmatvec(self.theta)
        self.sums[0] += self.w
        self.sums[1] += self.theta
        self.steps += 1

    def check(self) -> None:
        """Certify the current point and the average; restart from the better one when the gap has halved."""
        mean = (np.maximum(self.sums[0] / self.steps, self.program.lower), self.sums[1] / self.steps)  # a mean rounds
        gaps = [self._certify(self.w, self.theta), self._certify(*mean)]
        if min(gaps) > self.merit / 2 and self.steps < _LONGEST_EPOCH:
            return
        if gaps[1] < gaps[0]:
            self.w, self.theta = mean
            self.product = self.A.rmatvec(self.theta)
        self._reweigh()
        self._begin(min(gaps))

    def certify(self) -> None:
        """Certify the current point, wherever it was left."""
        self._certify(self.w, self.theta)

    def _certify(self, w: Floats, theta: Floats) -> float:
        kept = self.program.feasible(w)
        objective = self._objective(kept)
        if objective < self.objective:
            self.objective, self.best, self.raw = objective, kept.copy(), w.copy()
        bound = self.certificate.bound(theta, self.A.rmatvec(theta), w, objective)
        self.bound = max(self.bound, bound)
        return objective - bound

    def _reweigh(self) -> None:
        """Balance the distances that primal and dual have moved in this epoch."""
        moved = np.sqrt(np.sum((self.w - self.origin[0]) ** 2 * self.columns))
        turned = np.sqrt(np.sum((self.theta - self.origin[1]) ** 2 / self.rows))
        if moved > 0 and turned > 0:
            self.weight = float(np.sqrt(turned / moved * self.weight))
