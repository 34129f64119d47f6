"""Pegasos (Shalev-Shwartz et al. 2011): stochastic subgradient steps on one row at a time, without dual variables.

The steps are implicit (Kulis & Bartlett 2010): a step is that of Pegasos, but never goes past the margin of its row, so that
the long first steps do no harm. After the last epoch, the dual variables a = -loss'(f), times the best common factor, give a
lower bound of the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._foundation.iteration import Status, iterate
from ..._foundation.types import Floats, Integers
from ..._kernels.coordinate_descent import Machine, Problem, answer_pass, stochastic_pass
from .dual_descent import TrainingReport, relative_gap
from .rows import EmbeddedRows, squared_norms


@dataclass
class StepCounter:
    """Numbers that make the step size n_rows / (n_steps + 1)."""

    n_steps: float = 0.0  # steps that were taken
    n_rows: float = 0.0  # rows in the objective

    def after_one_epoch(self) -> StepCounter:
        """Return the counter after at most one epoch: weights of another objective are worth no more."""
        return StepCounter(min(self.n_steps, self.n_rows), self.n_rows)


@dataclass(frozen=True)
class Pegasos:
    """A given number of epochs of stochastic steps."""

    max_iter: int  # the number of epochs
    random: np.random.RandomState  # orders the rows of every epoch
    verbose: bool | None = None  # see `progress_bar`

    def train(self, rows: EmbeddedRows, problem: Problem, machine: Machine, counter: StepCounter) -> TrainingReport:
        """Go on from the weights of the machine, which are of phi, and the steps of the counter; both change in place."""
        epochs = _Epochs(rows, problem, machine, counter, self.random)
        run = iterate(epochs, name="pegasos", max_iter=self.max_iter, at_start=False, total=self.max_iter, verbose=self.verbose)
        status = Status.FINISHED if run.status is Status.LIMIT else run.status
        return TrainingReport(run.n_iter, bound_gap(rows, problem, machine), status)


@dataclass
class _Epochs:
    """Epochs over all rows, each in a new random order."""

    objective = np.nan  # neither is computed on the way
    gap = np.nan
    rows: EmbeddedRows
    problem: Problem
    machine: Machine
    counter: StepCounter
    random: np.random.RandomState
    order: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.order = np.arange(len(self.rows), dtype=self.rows.index_dtype)

    def step(self) -> None:
        self.random.shuffle(self.order)
        run_epoch(self.rows, self.order, self.problem, self.machine, self.counter)

    def look(self) -> Status | None:
        return None


def run_epoch(rows: EmbeddedRows, order: Integers, problem: Problem, machine: Machine, counter: StepCounter) -> None:
    """Take one step on every row, in the order given."""
    scale_steps_rows = np.array([1.0, counter.n_steps, counter.n_rows])
    try:
        for _, numbers, chunk in rows.phi_blocks(order):
            stochastic_pass(chunk, numbers, problem, machine, scale_steps_rows)
    finally:  # after Ctrl-C, too, the weights are multiplied by the scale that the steps kept apart from them
        machine.weights[:] *= scale_steps_rows[0]
        machine.bias[:] *= scale_steps_rows[0]
        counter.n_steps = float(scale_steps_rows[1])


def bound_gap(rows: EmbeddedRows, problem: Problem, machine: Machine, known: Floats | float = 0.0) -> float:
    """Return an upper bound of the relative duality gap from one pass over the rows.

    The dual variables are s a, with a = -loss'(f). The dual objective s linear - s² quadratic is best at
    s = linear / (2 quadratic), between 0 and, unless the loss is squared, 1. ``known`` (K,) counts where it is larger.
    """
    machine_of_dual = machine._replace(weights=np.zeros_like(machine.weights), bias=np.zeros_like(machine.bias))
    sums = np.zeros((3, len(machine.bias)))
    for _, numbers, chunk in rows.phi_blocks():
        answer_pass(chunk, numbers, problem, machine, machine_of_dual, sums)
    primal = sums[0] + 0.5 * squared_norms(machine)
    linear = sums[1]
    quadratic = sums[2] + 0.5 * squared_norms(machine_of_dual)
    if problem.joint:
        primal, linear, quadratic = (part.sum(keepdims=True) for part in (primal, linear, quadratic))
    factor = np.divide(linear, 2 * quadratic, out=np.zeros_like(linear), where=quadratic > 0)
    factor = np.maximum(factor if problem.squared else np.minimum(factor, 1.0), 0.0)
    dual = factor * linear - factor**2 * quadratic
    dual = np.maximum(dual, known)
    return relative_gap(primal - dual, dual, problem.joint)
