"""Dual coordinate descent over rows that are embedded anew in every pass.

A pass visits the rows that are awake in a random order (Hsieh et al. 2008; for the classes of a row at once, Keerthi et al.
2008). The gap between the objective and its dual is a sum over rows of Fenchel-Young terms,

    P - D = sum_i c_i (loss(f_i) + loss*(-a_i) + a_i f_i) >= 0,

so a pass adds it up on its way; once that estimate, which is a little old, is within ``tol``, one more pass certifies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from ..._foundation.types import Floats, Integers
from ..._kernels.descent import Machine, Problem, dual_pass, dual_values, gap_pass, restore_pass
from .embedded_rows import EmbeddedRows
from .coefficients import squared_norms

__all__ = ["DualDescent", "DualDescentResult", "relative", "restore"]

_SWEEPS = 5  # over a block while it is embedded (Yu et al. 2010)
_DENSE_SWEEPS = 3  # where a step climbs a ladder, which costs more than to embed a row
_AGE = 0.3  # of the gap that the first pass within it meets, what a certificate is expected to find


class DualDescentResult(NamedTuple):
    """How a machine came about: passes, the certified relative gap, and why it stopped."""

    n_iter: int
    gap: float
    status: str


@dataclass(frozen=True)
class DualDescent:
    """Settings; ``tol`` is a relative gap, ``random`` orders the rows."""

    tol: float
    max_iter: int
    random: np.random.RandomState
    verbose: bool = False

    def learn(self, rows: EmbeddedRows, problem: Problem, machine: Machine, dual: np.ndarray) -> DualDescentResult:
        """Descend from the dual variables (n, K) and their weights; both are changed in place."""
        run = _DescentRun(rows, problem, machine, dual, self.random)
        gap, status, n_iter = np.inf, "max_iter", 0
        with tqdm(total=self.max_iter, desc="dual descent", disable=not self.verbose) as bar:
            try:
                for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - reported
                    estimate = run.step()
                    bar.update()
                    bar.set_postfix(gap=estimate, rows=len(run.awake))
                    if estimate * run.age <= self.tol or run.at_rest:
                        gap = run.certify()
                        if gap <= self.tol or run.at_rest:
                            status = "solved"
                            break
                return DualDescentResult(n_iter, gap if status == "solved" else run.certify(), status)
            except KeyboardInterrupt:
                return DualDescentResult(n_iter, run.certify(), "interrupted")


class _DescentRun:
    """The rows that are awake, and the worst violations of the pass before."""

    def __init__(
        self, rows: EmbeddedRows, problem: Problem, machine: Machine, dual: np.ndarray, random: np.random.RandomState
    ) -> None:
        self.rows, self.problem, self.machine, self.dual, self.random = rows, problem, machine, dual, random
        self.sweeps = _DENSE_SWEEPS if machine.order else _SWEEPS
        self.age, self.estimate, self.at_rest = _AGE, np.inf, False
        self._order = np.arange(len(rows), dtype=rows.numbers)
        self.awake: Integers = self._order
        self.limits = np.full(len(machine.bias), np.inf)

    def _stay(self, n: int, part: Integers) -> int:
        """Write the rows of a block that stay awake behind ``n`` others, into the one array of rows that there is."""
        self._order[n : n + len(part)] = part
        return n + len(part)

    def step(self) -> float:
        """A pass; the relative gap that it met."""
        self.random.shuffle(self.awake)
        record, n = np.zeros((2, len(self.machine.bias))), 0
        for _, part, chunk in self.rows.blocks(self.awake):
            awake = np.full(len(part), 2, np.int8)
            for sweep in range(self.sweeps):
                seen = record if sweep == 0 else np.zeros_like(record)
                dual_pass(chunk, part, self.problem, self.machine, self.dual, self.limits, seen, awake)
            n = self._stay(n, part[awake > 0])
        self.awake = self._order[:n]
        self.limits = np.where(record[1] > 0, record[1], np.inf)
        self.at_rest = not record[1].any()
        self.estimate = relative(record[0], self._dual_value(), self.problem.joint)
        return self.estimate

    def certify(self) -> float:
        """The relative gap over all rows, at the weights as they are; wakes rows that should not sleep."""
        record, n = np.zeros((2, len(self.machine.bias))), 0
        for _, part, chunk in self.rows.blocks():
            awake = np.empty(len(part), np.bool_)
            gap_pass(chunk, part, self.problem, self.machine, self.dual, self.limits, record, awake)
            n = self._stay(n, part[awake])
        self.awake = self._order[:n]
        self.at_rest = not record[1].any()
        gap = relative(record[0], self._dual_value(), self.problem.joint)
        self.age = min(gap / self.estimate, 1.0) if 0 < self.estimate < np.inf else 1.0
        return gap

    def _dual_value(self) -> Floats:
        value = np.empty(len(self.machine.bias))
        dual_values(self.problem, self.dual, value)
        return value - 0.5 * squared_norms(self.machine)


def relative(gap: Floats, dual_value: Floats, joint: bool) -> float:
    """The largest (P - D) / P over the classes that are learned apart; 0 where both are 0."""
    if joint:
        gap, dual_value = gap.sum(keepdims=True), dual_value.sum(keepdims=True)
    gap = np.maximum(gap, 0.0)
    value = gap + dual_value
    return float(np.max(np.divide(gap, value, out=np.zeros_like(gap), where=gap > 0)))


def restore(rows: EmbeddedRows, problem: Problem, machine: Machine, dual: np.ndarray) -> None:
    """Give an empty machine the weights of the dual variables, in one pass."""
    for _, part, chunk in rows.blocks():
        restore_pass(chunk, part, problem, machine, dual)
