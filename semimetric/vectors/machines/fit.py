"""The fit of a linear machine to embedded rows: the start of the solver, the state for the next fit, and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._foundation.errors import ConvergenceWarning, InputError, warn
from ..._foundation.iteration import Status
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..._kernels.coordinate_descent import Machine, Problem
from ..embeddings.base import FeatureMap
from .dual_descent import DualDescent, TrainingReport, add_weights_of_dual
from .pegasos import Pegasos, StepCounter, run_epoch
from .primal_newton import PrimalNewton
from .rows import EmbeddedRows, clip_weights, intercepts, of_phi, set_weights_of_phi, zero_machine

MAX_ITER = {"dual": 1000, "newton": 200, "pegasos": 20}
"""The names of the solvers, and the default of their ``max_iter``."""


@dataclass
class TrainedState:
    """A trained machine, and what another fit can start from."""

    machine: Machine  # its weights
    counter: StepCounter = field(default_factory=StepCounter)  # steps of Pegasos that the weights are worth
    # what makes the objective that the weights were trained for, as `_objective_of` returns it; empty before training
    objective: tuple = ()
    dual: np.ndarray | None = None  # (n, K); dual variables, if they are kept
    codes: np.ndarray | None = None  # (n,); classes of the rows that the dual variables belong to

    def warm_start(self, machine: Machine, problem: Problem, *, stochastic: bool) -> TrainedState:
        """Return the state to start a fit of the zero ``machine`` from: this one where it fits, else zeros, with a warning."""
        old = self.machine
        same_columns = machine.weights.shape == old.weights.shape and machine.bias.shape == old.bias.shape
        same_columns = same_columns and machine.order == old.order and np.array_equal(machine.starts, old.starts)
        if stochastic and same_columns:
            bias = intercepts(old) / machine.scaling if machine.scaling else machine.bias
            counter = self.counter if self.objective == _objective_of(problem) else self.counter.after_one_epoch()
            return TrainedState(old._replace(bias=bias, scaling=machine.scaling), counter)
        same_rows = self.codes is not None and np.array_equal(self.codes, problem.codes)
        if not stochastic and same_rows and self.dual is not None and self.dual.shape[1] == len(machine.bias):
            return TrainedState(machine, dual=self.dual, codes=self.codes)
        warn("warm_start=True, but the rows, classes or columns are not those of the fit before; starting afresh")
        return TrainedState(machine)


def _objective_of(problem: Problem) -> tuple:
    """Return the numbers in which two objectives on the same rows may differ; targets and weights are taken to be the same."""
    return (*problem.own, *problem.other, problem.epsilon, problem.squared, problem.two_sided, problem.joint)


@storable
@dataclass(frozen=True)
class StoredMachine:
    """The weights of a machine in a file, and the counts from which stochastic steps go on; dual variables are left out."""

    weights: Floats  # (n_columns * n_scores,)
    bias: Floats  # (n_scores,)
    scaling: float
    n_steps: float
    n_rows: float
    objective: tuple[float | bool, ...]

    @classmethod
    def of(cls, state: TrainedState) -> StoredMachine:
        """Return the stored form of a trained state."""
        machine, counter = state.machine, state.counter
        numbers = float(machine.scaling), float(counter.n_steps), float(counter.n_rows)
        return cls(machine.weights, machine.bias, *numbers, tuple(state.objective))

    def state(self, embedding: FeatureMap, n_scores: int) -> TrainedState:
        """Return the trained state, with ``n_scores`` columns of weights on an embedding.

        An InputError refuses other numbers of weights than of columns, and numbers that are not finite, or negative counts.
        """
        weights, bias = self.weights, self.bias
        n = embedding.n_columns_
        if bias.shape != (n_scores,) or weights.shape != (n * n_scores,):
            raise InputError(
                f"there are weights of shape {weights.shape} and {bias.shape} for {n} columns and {n_scores} scores"
            )
        numbers = [self.scaling, self.n_steps, self.n_rows]
        if not (np.isfinite(weights).all() and np.isfinite(bias).all() and all(0 <= number < np.inf for number in numbers)):
            raise InputError("weights or intercepts are not finite, or a count is negative; restore the file")
        machine = zero_machine(embedding, n_scores, self.scaling)
        machine.weights[:] = weights
        machine.bias[:] = bias
        return TrainedState(machine, StepCounter(self.n_steps, self.n_rows), tuple(self.objective))


def fit_machine(
    solver: DualDescent | PrimalNewton | Pegasos,
    rows: EmbeddedRows,
    problem: Problem,
    state: TrainedState,
    *,
    keep_dual: bool = False,
) -> TrainingReport:
    """Train the machine of ``state``, in place, from its weights (Newton, Pegasos) or its dual variables, which may be kept."""
    state.objective = _objective_of(problem)
    machine = of_phi(state.machine)
    if isinstance(solver, Pegasos):
        state.counter.n_rows = float(len(rows))
        report = solver.train(rows, problem, machine, state.counter)
    else:
        if isinstance(solver, PrimalNewton):
            report, dual = solver.train(rows, problem, machine), None
        else:
            dual = _start_dual(rows, problem, state, machine)
            report = solver.train(rows, problem, machine, dual)
            clip_weights(machine)
        state.counter.n_steps = state.counter.n_rows = float(len(rows))  # as after one epoch of Pegasos
        state.dual, state.codes = (dual, problem.codes) if keep_dual and dual is not None else (None, None)
    set_weights_of_phi(state.machine, machine)
    _warn_unless_solved(report, "steps" if isinstance(solver, PrimalNewton) else "passes", keep_dual)
    return report


def _start_dual(rows: EmbeddedRows, problem: Problem, state: TrainedState, machine: Machine) -> np.ndarray:
    """Return dual variables (n, K) to start from, zeros or those of the state, and give ``machine`` their weights."""
    shape = (len(rows), len(machine.bias))
    dual = np.zeros(shape, np.float64 if problem.joint else rows.embedding.dtype)
    if state.dual is not None:
        dual[:] = state.dual
        _make_feasible(problem, dual)
        add_weights_of_dual(rows, problem, machine, dual)
    return dual


def _make_feasible(problem: Problem, dual: np.ndarray) -> None:
    """Bring dual variables in place into [-1, 1]; in a joint loss to sum 0, and at most 0, or 1 for the class of the row."""
    if problem.joint:
        own_class = (np.arange(len(dual)), problem.codes)
        dual[own_class] = 0.0
        np.minimum(dual, 0.0, out=dual)
        dual /= np.maximum(-dual.sum(axis=1, keepdims=True), 1.0)
        dual[own_class] = -dual.sum(axis=1)
    elif not problem.squared:
        np.clip(dual, -1.0, 1.0, out=dual)


def partial_fit_machine(rows: EmbeddedRows, problem: Problem, state: TrainedState, order: np.ndarray) -> None:
    """Take one step of Pegasos on every row of a block, in the order given.

    The number n of rows in the objective grows as the square root of the number t of steps, so the step sizes n / (t + 1) fall.
    """
    counter = state.counter
    state.objective = state.objective or _objective_of(problem)
    counter.n_rows = counter.n_rows or float(len(rows))
    n_rows = float(np.sqrt(counter.n_rows * max(counter.n_rows, counter.n_steps)))
    grown, machine = StepCounter(counter.n_steps, n_rows), of_phi(state.machine)
    try:
        run_epoch(rows, order, problem, machine, grown)
    finally:
        counter.n_steps = grown.n_steps
        set_weights_of_phi(state.machine, machine)


def _warn_unless_solved(report: TrainingReport, unit: str, keep_dual: bool) -> None:
    """Warn after Ctrl-C, and where a solver used up its passes or steps (``unit``), or met rounding."""
    known = f"the objective is at most {report.gap:.2g} of its value above the optimum (duality_gap_)"
    if report.status is Status.INTERRUPTED:
        then = "call fit again to go on" if keep_dual else "only with warm_start=True does another fit go on from there"
        warn(f"interrupted after {report.n_iter} {unit}: {known}; {then}", ConvergenceWarning)
    elif report.status is Status.LIMIT:
        warn(
            f"stopped after max_iter={report.n_iter} {unit}: {known}; scale the features, lower C, or raise max_iter or tol",
            ConvergenceWarning,
        )
    elif report.status is Status.INACCURATE:
        warn(
            f"stopped after {report.n_iter} {unit}, since rounding lets the objective fall no more: {known}; scale the "
            "features, or lower C; more steps change nothing",
            ConvergenceWarning,
        )
