"""Dual coordinate descent on rows that are embedded anew in every epoch.

An epoch visits the active rows in a random order and minimises over the dual variables of each (Hsieh et al. 2008; with
Crammer and Singer's loss over all classes of a row at once, Keerthi et al. 2008). Dual variables that lie at a bound, and are
likely to stay there, are shrunk: they are left out of the next epochs, and so are rows of which all variables are.

The gap between the primal objective P and the dual objective D is a sum of Fenchel-Young terms over the rows,

    P - D = sum_i c_i (loss(f_i) + loss*(-a_i) + a_i f_i) >= 0,

so an epoch estimates it on its way, from the score that every row had when it was visited. Once the estimate is within ``tol``,
a pass over all rows, with the weights as they are, computes the gap itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._foundation.iteration import Status, iterate
from ..._foundation.types import Floats, Integers
from ..._kernels.coordinate_descent import Machine, Problem, dual_pass, dual_values, gap_pass, restore_pass
from ..._kernels.dual_states import ASLEEP, AWAKE
from .rows import EmbeddedRows, squared_norms

_SWEEPS = 5  # over a block of rows while it is embedded (Yu et al. 2010),
_SWEEPS_OF_PHI = 12  # and of rows that cost more to make: suffix sums for differences
_GAP_PER_ESTIMATE = 0.3  # the gap is expected to be this share of the first estimate; later the last share that was measured


class TrainingReport(NamedTuple):
    """The end of a training."""

    n_iter: int  # epochs, or Newton steps
    gap: float  # a bound of the relative duality gap
    status: Status


@dataclass(frozen=True)
class DualDescent:
    """Dual coordinate descent until the relative duality gap is within ``tol``."""

    tol: float
    max_iter: int  # most epochs
    random: np.random.RandomState  # orders the rows
    verbose: bool | None = None  # see `progress_bar`

    def train(self, rows: EmbeddedRows, problem: Problem, machine: Machine, dual: np.ndarray) -> TrainingReport:
        """Descend from the dual variables ``dual`` (n, K) and their weights, of phi, in ``machine``; both change in place."""
        descent = _ShrinkingDescent(rows, problem, machine, dual, self.random, self.tol)
        run = iterate(
            descent, name="dual descent", max_iter=self.max_iter, at_start=False, total=self.max_iter, verbose=self.verbose
        )
        gap = descent.gap if run.status is Status.SOLVED else descent.compute_gap()
        return TrainingReport(run.n_iter, gap, run.status)


class _ShrinkingDescent:
    """Epochs of dual coordinate descent over the rows that are not shrunk."""

    objective = np.nan  # it is not computed on the way

    def __init__(
        self,
        rows: EmbeddedRows,
        problem: Problem,
        machine: Machine,
        dual: np.ndarray,
        random: np.random.RandomState,
        tol: float,
    ) -> None:
        self.rows = rows
        self.problem = problem
        self.machine = machine
        self.dual = dual
        self.random = random
        self.tol = tol
        self.n_sweeps = _SWEEPS if rows.embedding.difference_operator is None else _SWEEPS_OF_PHI
        self.state = np.full(dual.shape, AWAKE, np.int8)  # (n, K); what every dual variable does, as `dual_pass` has it
        # (K,); A dual variable is shrunk if it keeps to its bound by more than this slope, the worst violation of the
        # optimality conditions in the epoch before: that of its column, or with Crammer and Singer's loss the first, which is
        # of all
        self.limits = np.full(len(machine.bias), np.inf)
        # the gap that `compute_gap` found, divided by the estimate of the epoch before
        self.gap_per_estimate = _GAP_PER_ESTIMATE
        self.optimal = False  # True if the last pass found no violation at all
        self.gap = np.inf  # the relative duality gap: the estimate of the last epoch, or what `compute_gap` found after it
        self._numbers = np.arange(len(rows), dtype=rows.index_dtype)  # the one array of row numbers: active ones come first
        self.active: Integers = self._numbers  # numbers of the rows that the next epoch visits

    def look(self) -> Status | None:
        """Compute the gap where its estimate is small enough, and return SOLVED if the gap is within ``tol``."""
        if self.gap * self.gap_per_estimate > self.tol and not self.optimal:
            return None
        return Status.SOLVED if self.compute_gap() <= self.tol or self.optimal else None

    def step(self) -> None:
        """Visit the active rows in a random order, and estimate the relative duality gap."""
        self.random.shuffle(self.active)
        gap_and_violation = np.zeros((2, len(self.machine.bias)))
        n_active = 0
        for _, numbers, chunk in self.rows.phi_blocks(self.active):
            self.state[numbers] = np.where(self.state[numbers] == ASLEEP, np.int8(ASLEEP), np.int8(AWAKE))
            for sweep in range(self.n_sweeps):
                record = gap_and_violation if sweep == 0 else np.zeros_like(gap_and_violation)
                dual_pass(chunk, numbers, self.problem, self.machine, self.dual, self.limits, record, self.state)
            n_active = self._keep_active(n_active, numbers)
        self.active = self._numbers[:n_active]
        gap, violation = gap_and_violation
        self.limits = np.where(violation > 0, violation, np.inf)
        self.optimal = not violation.any()
        self.gap = relative_gap(gap, self._dual_objective(), self.problem.joint)

    def compute_gap(self) -> float:
        """Return the relative duality gap over all rows at the present weights; also wake what should not be shrunk."""
        estimate = self.gap
        gap_and_violation = np.zeros((2, len(self.machine.bias)))
        n_active = 0
        for _, numbers, chunk in self.rows.phi_blocks():
            gap_pass(chunk, numbers, self.problem, self.machine, self.dual, self.limits, gap_and_violation, self.state)
            n_active = self._keep_active(n_active, numbers)
        self.active = self._numbers[:n_active]
        self.optimal = not gap_and_violation[1].any()
        gap = relative_gap(gap_and_violation[0], self._dual_objective(), self.problem.joint)
        self.gap_per_estimate = min(gap / estimate, 1.0) if 0 < estimate < np.inf else 1.0
        self.gap = gap
        return gap

    def _keep_active(self, n_active: int, numbers: Integers) -> int:
        """Write numbers of awake rows behind the ``n_active`` first, none before its block is read; return the count."""
        kept = numbers[(self.state[numbers] != ASLEEP).any(axis=1)]
        stop = n_active + len(kept)
        self._numbers[n_active:stop] = kept
        return stop

    def _dual_objective(self) -> Floats:
        """Return D of every column, shape (K,); with Crammer and Singer's loss only the sum has a meaning."""
        value = np.empty(len(self.machine.bias))
        dual_values(self.problem, self.dual, value)
        return value - 0.5 * squared_norms(self.machine)


def relative_gap(gap: Floats, dual_value: Floats, joint: bool) -> float:
    """Return (P - D) / P from gaps and dual objectives (K,): the largest, or that of the sums if ``joint``."""
    if joint:
        gap = gap.sum(keepdims=True)
        dual_value = dual_value.sum(keepdims=True)
    gap = np.maximum(gap, 0.0)
    primal_value = gap + dual_value
    return float(np.max(np.divide(gap, primal_value, out=np.zeros_like(gap), where=gap > 0)))


def add_weights_of_dual(rows: EmbeddedRows, problem: Problem, machine: Machine, dual: np.ndarray) -> None:
    """Add to the machine the weights W = sum_i c_i phi_i a_iᵀ of the dual variables ``dual`` (n, K)."""
    for _, numbers, chunk in rows.phi_blocks():
        restore_pass(chunk, numbers, problem, machine, dual)
