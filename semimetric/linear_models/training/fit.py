"""One machine from embedded rows: which solver, where it starts, what it warns of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._foundation.errors import ConvergenceWarning, warn
from ..._kernels.descent import Machine, Problem
from .dual_descent import DualDescent, DualDescentResult, restore
from .embedded_rows import EmbeddedRows
from .pegasos import Clock, Pegasos, one_pass
from .coefficients import intercepts

__all__ = ["PASSES", "TrainedState", "learn", "learn_more"]

PASSES = {"dual": 1000, "pegasos": 20}


@dataclass
class TrainedState:
    """What a learned machine is: weights, the clock of stochastic steps, the costs that they were for, and dual variables.

    Dual variables, and the codes of their rows, are there if they are kept.
    """

    machine: Machine
    clock: Clock = field(default_factory=Clock)
    asked: tuple = ()
    dual: np.ndarray | None = None
    codes: np.ndarray | None = None

    def carried(self, machine: Machine, problem: Problem, *, stochastic: bool) -> TrainedState:
        """A state with the empty ``machine`` that starts from this one; a fresh one, with a warning, where it cannot."""
        if stochastic and _same_columns(machine, self.machine):
            bias = intercepts(self.machine) / machine.scaling if machine.scaling else machine.bias
            clock = self.clock if self.asked == _costs(problem) else self.clock.turned_back()
            return TrainedState(self.machine._replace(bias=bias, scaling=machine.scaling), clock)
        known = self.dual is not None and self.dual.shape == (len(problem.codes), len(machine.bias))
        if not stochastic and known and self.codes is not None and np.array_equal(self.codes, problem.codes):
            return TrainedState(machine, dual=self.dual, codes=self.codes)
        warn("warm_start=True, but the rows, classes or columns are not those of the fit before; starting afresh")
        return TrainedState(machine)


def _costs(problem: Problem) -> tuple:
    """What makes two objectives on the same rows the same one; targets and weights of rows are taken to be theirs."""
    return (*problem.own, *problem.other, problem.epsilon, problem.squared, problem.two_sided, problem.joint)


def _same_columns(a: Machine, b: Machine) -> bool:
    """Whether weights mean the same, ladders included."""
    shapes = a.weights.shape == b.weights.shape and a.bias.shape == b.bias.shape
    return shapes and a.order == b.order and np.array_equal(a.starts, b.starts)


def learn(
    solver: DualDescent | Pegasos, rows: EmbeddedRows, problem: Problem, state: TrainedState, *, keep: bool = False
) -> DualDescentResult:
    """Learn into ``state``, from its dual variables or its weights on; ``keep`` the dual variables."""
    clock, state.asked = state.clock, _costs(problem)
    if isinstance(solver, Pegasos):
        clock.rows = float(len(rows))
        learned = solver.learn(rows, problem, state.machine, clock)
    else:
        shape = (len(rows), len(state.machine.bias))
        dual = np.zeros(shape, np.float64 if problem.joint else rows.embedding.dtype)
        if state.dual is not None:
            dual[:] = state.dual
            _fit_box(problem, dual)
            restore(rows, problem, state.machine, dual)
        learned = solver.learn(rows, problem, state.machine, dual)
        clock.steps = clock.rows = float(len(rows))  # as if every row had been seen once
        state.dual, state.codes = (dual, problem.codes) if keep else (None, None)
    _warn(learned, keep)
    return learned


def _fit_box(problem: Problem, dual: np.ndarray) -> None:
    """Dual variables of another loss may lie outside the bounds of this one; Crammer and Singer's sum to 0 in every row."""
    if problem.joint:
        true = np.arange(len(dual)), problem.codes
        dual[true] = 0.0
        np.minimum(dual, 0.0, out=dual)
        dual /= np.maximum(-dual.sum(axis=1, keepdims=True), 1.0)
        dual[true] = -dual.sum(axis=1)
    elif not problem.squared:
        np.clip(dual, -1.0, 1.0, out=dual)


def learn_more(rows: EmbeddedRows, problem: Problem, state: TrainedState, order: np.ndarray) -> None:
    """One stochastic step on every row of a block.

    The rows n that the objective counts grow as the square root of those seen, from the first block on: steps n / (t + 1)
    shrink all the same, and the penalty fades as it does in a fit on more rows.
    """
    clock, state.asked = state.clock, state.asked or _costs(problem)
    clock.rows = clock.rows or float(len(rows))
    grown = Clock(clock.steps, float(np.sqrt(clock.rows * max(clock.rows, clock.steps))))
    try:
        one_pass(rows, order, problem, state.machine, grown)
    finally:
        clock.steps = grown.steps


def _warn(learned: DualDescentResult, keep: bool) -> None:
    known = f"the objective is at most {learned.gap:.2g} of its value above the optimum (duality_gap_)"
    if learned.status == "interrupted":
        then = "call fit again to go on" if keep else "only with warm_start=True does another fit go on from there"
        warn(f"interrupted after {learned.n_iter} passes: {known}; {then}", ConvergenceWarning)
    elif learned.status == "max_iter":
        warn(
            f"stopped after max_iter={learned.n_iter} passes: {known}; scale the features, lower C, or raise max_iter or tol",
            ConvergenceWarning,
        )
