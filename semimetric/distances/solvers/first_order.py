"""A first-order primal-dual method, which needs only products with A and Aᵀ.

So its cost grows linearly with the pairs and with the columns. It is the primal-dual hybrid gradient method (Chambolle & Pock
2011; Condat 2013 for the smooth penalty), diagonally preconditioned (Pock & Chambolle 2011), with averaging, restarts and a
primal weight as in PDLP (Applegate et al. 2021):

    theta <- clip((theta + sigma (A w' - y)) / (1 + sigma c), a, b)
    w     <- max(w - tau (Aᵀ theta + penalty'(w)), lower),      w' = 2 w_new - w_old
"""

from dataclasses import dataclass

import numpy as np

from ..._foundation.iteration import Status, iterate
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import GapBound
from ..programs.program import ConvexProgram
from .base import STOPS_AT, History, Solution, Solver, certified, refuse_free_weights, refuse_unknown_inside, with_repair

_CHECK = 50  # iterations between two certificates of the gap
_LONGEST_EPOCH = 1000  # iterations before a restart at the latest


@storable
@dataclass(frozen=True)
class FirstOrder(Solver):
    """The first-order method, for any loss and any number of weights with finite lower bounds.

    It needs O(pairs + columns) of memory.

    Parameters
    ----------
    tol : float, default 1e-3
        The relative certified gap at which the iteration stops.
    max_iter : int, default 20000
        The limit of iterations.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, FirstOrder, Program
    >>> model = DistanceRegressor(loss="huber", program=Program(solver=FirstOrder(tol=1e-2)))
    """

    tol: float = 1e-3
    max_iter: int = 20_000

    def refusal(self, program: ConvexProgram) -> str | None:
        return refuse_unknown_inside(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        method = _PrimalDualRun(program, start, STOPS_AT * self.tol)
        run = iterate(method, name="first order", max_iter=self.max_iter, every=_CHECK, at_start=False, verbose=verbose)
        if run.status is not Status.SOLVED:
            method.certify(method.w, method.theta)  # the iterations after the last check count too
        history = History.of(run.steps)
        solution = Solution(method.best, method.objective, method.gap, run.n_iter, run.status, "FirstOrder", history=history)
        solution = certified(solution, method.gap_bound, method.A, method.dual[0], self.tol, method.dual[1])
        return with_repair(program, method.raw, solution)


class _PrimalDualRun:
    """State of the iteration: the iterates, their averages since the last restart, the best point and the best bound."""

    def __init__(self, program: ConvexProgram, start: Floats | None, tol: float) -> None:
        self.tol = tol
        self.program = program
        self.A = program.stacked.held()
        self.y = program.targets
        self.gap_bound = GapBound(program)
        m, n = self.A.shape
        with np.errstate(divide="ignore"):  # diagonal preconditioners, (m,) and (n,)
            self.row_steps = 1.0 / np.maximum(self.A.absolute.matvec(np.ones(n)), 1e-12)
            self.column_sums = self.A.absolute.rmatvec(np.ones(m))
        self.curvature = program.curvature
        self.bounds = program.slopes
        # row sums of |P| bound the curvature of the penalty, coordinate by coordinate
        self.penalty_curvature = np.asarray(abs(program.penalty.P).sum(axis=1)).ravel()
        self.primal_weight = 1.0 / m
        self.w = program.lower.copy() if start is None else np.maximum(start, program.lower)
        self.theta = np.zeros(m)
        self.product = np.zeros(n)  # Aᵀ theta
        self.raw = self.w  # the iterate from which the best weights came
        self.best = program.feasible(self.w)  # (n,): the feasible weights with the least objective so far
        self.objective = self._objective(self.best)
        self.bound = -np.inf  # the largest lower bound of the optimum so far
        self.dual = (self.theta, self.w)  # the dual variables and the weights that gave it
        self._restart(np.inf)

    @property
    def gap(self) -> float:
        """The best objective minus the best lower bound, at least 0."""
        return max(self.objective - self.bound, 0.0)

    def _objective(self, w: Floats) -> float:
        residual = self.A.matvec(w)[: len(self.program.y)] - self.program.y
        return self.program.loss.value(residual, self.program.sample_weight) + self.program.penalty.value(w)

    def _restart(self, gap: float) -> None:
        self.origin = (self.w.copy(), self.theta.copy())
        self.sums = [np.zeros_like(self.w), np.zeros_like(self.theta)]
        self.steps = 0
        self.gap_at_restart = gap

    def step(self) -> None:
        """Make one iteration, which takes one product with A and one with Aᵀ."""
        p = self.program
        tau = 1.0 / (self.primal_weight * self.column_sums + self.penalty_curvature + 1e-12)
        sigma = self.primal_weight * self.row_steps
        new = np.maximum(self.w - tau * (self.product + p.penalty.gradient(self.w)), p.lower)
        ahead = self.theta + sigma * (self.A.matvec(2.0 * new - self.w) - self.y)
        self.theta = np.clip(ahead / (1.0 + sigma * self.curvature), *self.bounds)
        self.w = new
        self.product = self.A.rmatvec(self.theta)
        self.sums[0] += self.w
        self.sums[1] += self.theta
        self.steps += 1

    def look(self) -> Status | None:
        """Certify the current point and the average; restart from the better one when the gap has halved."""
        self._certify_and_restart()
        return Status.SOLVED if self.gap <= self.tol * max(abs(self.objective), self.program.exact) else None

    def _certify_and_restart(self) -> None:
        mean_w = np.maximum(self.sums[0] / self.steps, self.program.lower)  # a mean may round to just below the bound
        mean_theta = self.sums[1] / self.steps
        gap_of_point = self.certify(self.w, self.theta)
        gap_of_mean = self.certify(mean_w, mean_theta)
        gap = min(gap_of_point, gap_of_mean)
        if gap > self.gap_at_restart / 2 and self.steps < _LONGEST_EPOCH:
            return
        if gap_of_mean < gap_of_point:
            self.w = mean_w
            self.theta = mean_theta
            self.product = self.A.rmatvec(self.theta)
        self._reweigh()
        self._restart(gap)

    def certify(self, w: Floats, theta: Floats) -> float:
        """Return the gap of this point; also update the best point and the best bound."""
        feasible = self.program.feasible(w)
        objective = self._objective(feasible)
        if objective < self.objective:
            self.objective = objective
            self.best = feasible.copy()
            self.raw = w.copy()
        bound = self.gap_bound.bound(theta, self.A.rmatvec(theta), w, objective)
        if bound >= self.bound:  # of bounds that are equal, as where none is known, the last
            self.bound, self.dual = bound, (theta, w)
        return objective - bound

    def _reweigh(self) -> None:
        """Balance the lengths of primal and dual steps by how far either iterate has moved since the last restart."""
        primal_move = np.sqrt(np.sum((self.w - self.origin[0]) ** 2 * self.column_sums))
        dual_move = np.sqrt(np.sum((self.theta - self.origin[1]) ** 2 / self.row_steps))
        if primal_move > 0 and dual_move > 0:
            self.primal_weight = float(np.sqrt(dual_move / primal_move * self.primal_weight))
