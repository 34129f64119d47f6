"""Pegasos (Shalev-Shwartz et al. 2011): one row a step, no variable a row.

Steps are implicit: the subgradient step of Pegasos, but never past the margin of its row (Kulis & Bartlett 2010), so that a
long first step does no harm. After all passes dual variables a = -loss'(f), times the best factor, bound the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from ..._foundation.types import Integers
from ..._kernels.descent import Machine, Problem, answer_pass, stochastic_pass
from .dual_descent import DualDescentResult, relative
from .embedded_rows import EmbeddedRows
from .coefficients import squared_norms

__all__ = ["Clock", "Pegasos"]


@dataclass
class Clock:
    """Steps taken, and the rows that the objective counts: the step size is rows / (steps + 1)."""

    steps: float = 0.0
    rows: float = 0.0

    def turned_back(self) -> Clock:
        """As if every row had been seen once: what weights of another objective are worth."""
        return Clock(min(self.steps, self.rows), self.rows)


@dataclass(frozen=True)
class Pegasos:
    """Settings; ``random`` orders the rows of every one of the ``max_iter`` passes."""

    max_iter: int
    random: np.random.RandomState
    verbose: bool = False

    def learn(self, rows: EmbeddedRows, problem: Problem, machine: Machine, clock: Clock) -> DualDescentResult:
        """Change the machine and the clock in place."""
        order = np.arange(len(rows), dtype=rows.numbers)
        status, n_iter = "done", 0
        with tqdm(total=self.max_iter, desc="pegasos", disable=not self.verbose) as bar:
            try:
                for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - reported
                    self.random.shuffle(order)
                    one_pass(rows, order, problem, machine, clock)
                    bar.update()
            except KeyboardInterrupt:
                status = "interrupted"
        return DualDescentResult(n_iter, bound(rows, problem, machine), status)


def one_pass(rows: EmbeddedRows, order: Integers, problem: Problem, machine: Machine, clock: Clock) -> None:
    """A step on every row, in the order given."""
    state = np.array([1.0, clock.steps, clock.rows])
    try:
        for _, part, chunk in rows.blocks(order):
            stochastic_pass(chunk, part, problem, machine, state)
    finally:  # an interrupted pass leaves weights that are whole
        machine.weights[:] *= state[0]
        machine.bias[:] *= state[0]
        clock.steps = float(state[1])


def bound(rows: EmbeddedRows, problem: Problem, machine: Machine) -> float:
    """An upper bound of the relative gap, from one pass and a second set of weights."""
    answer = machine._replace(weights=np.zeros_like(machine.weights), bias=np.zeros_like(machine.bias))
    record = np.zeros((3, len(machine.bias)))
    for _, part, chunk in rows.blocks():
        answer_pass(chunk, part, problem, machine, answer, record)
    primal, linear, quadratic = record[0] + 0.5 * squared_norms(machine), record[1], record[2] + 0.5 * squared_norms(answer)
    if problem.joint:
        primal, linear, quadratic = (part.sum(keepdims=True) for part in (primal, linear, quadratic))
    share = np.divide(linear, 2 * quadratic, out=np.zeros_like(linear), where=quadratic > 0)  # maximises the dual on the ray
    share = np.maximum(share if problem.squared else np.minimum(share, 1.0), 0.0)
    value = share * linear - share**2 * quadratic
    return relative(primal - value, value, problem.joint)
