"""Newton steps on squared losses, in the weights themselves: few steps, whatever the scales of the columns.

    P(W) = |W|² / 2 + sum_i c_i loss(y_i, <W, phi_i>)

Where a row costs anything, its squared loss is c_i (z_i - f_i)², z_i its target less what is free. So with the rows that do,

    gradient = (I + G) W - b,   G = 2 sum_i c_i phi_i phi_iᵀ,   b = 2 sum_i c_i z_i phi_i

and a step solves (I + G) W = b, then goes to the least objective on the way (Keerthi & DeCoste 2005). From one
step to the next few rows begin or cease to cost something: only these are added to G and b, or taken off. With the dual
variables a = -loss'(f), P - D = |gradient|² / 2, so a gradient certifies the gap.

Where C |phi|² is beyond 1e15 or so, scores in double precision are too coarse for a = -loss'(f), whose errors are 2 c_i times
as large. Steps then end where the objective falls no more, though the gradient is large. There the dual variables of the rows
that cost something, if these are at most as many as the weights, are found from their own equations,

    (K + diag(1 / (2 c))) a = z,   K_ij = <phi_i, phi_j>,   W = sum_i a_i phi_i

which certify the gap and may be better weights. If they do not, training ends with the status INACCURATE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import dsymv

from ..._foundation.errors import InputError
from ..._foundation.iteration import Status
from ..._foundation.progress import progress_bar
from ..._foundation.types import Floats, Integers
from ..._kernels.coordinate_descent import Machine, Problem
from ..._kernels.csr_rows import Chunk
from ..._kernels.difference_penalties import add_moments, gather_block
from .dual_descent import TrainingReport
from .pegasos import bound_gap
from .rows import EmbeddedRows

MOST_COLUMNS = 5000
"""Columns of phi whose second moments are kept, a dense square of 200 MB.

A step has one more, which Cholesky overwrites; where rounding forbids Cholesky or ends the steps, there are up to three more.
"""

_DENSE = 0.2  # rows with a larger share of entries are multiplied as dense ones
_SLOPE = 1e-3  # that a line search leaves, relative to the first
_ROUNDS = 10  # in which rows leave the dual equations, because their dual variables have the wrong sign
_SEARCHES = 60  # steps of a line search, which halves brackets at worst
_OF_TOL = 0.5  # the gap at which a column of weights is done, so that rounding seldom makes it too large in the end


@dataclass(frozen=True)
class PrimalNewton:
    """Newton steps until the relative duality gap is within ``tol``."""

    tol: float
    max_iter: int  # most steps of each column of weights
    verbose: bool | None = None  # see `progress_bar`

    def train(self, rows: EmbeddedRows, problem: Problem, machine: Machine) -> TrainingReport:
        """Go on from the weights of the machine, which are of phi; they change in place."""
        left, known = [self.max_iter] * len(machine.bias), np.zeros(len(machine.bias))
        with progress_bar(sum(left), "newton", verbose=self.verbose, unit="step") as bar:
            try:
                moved = True
                while moved:  # once more where rounding, which a column gathers, left a gap
                    before = list(left)
                    for c in range(len(left)):
                        self._descend(_WeightColumn(rows, problem, machine, c), left, known, bar)
                    gap, moved = bound_gap(rows, problem, machine, known), left != before
                    if gap <= self.tol:
                        return TrainingReport(self.max_iter - min(left), gap, Status.SOLVED)
                return TrainingReport(self.max_iter - min(left), gap, Status.INACCURATE if min(left) else Status.LIMIT)
            except KeyboardInterrupt:
                gap = bound_gap(rows, problem, machine, known)
                return TrainingReport(self.max_iter - min(left), gap, Status.INTERRUPTED)

    def _descend(self, column: _WeightColumn, left: list[int], known: Floats, bar: Any) -> None:
        """Take at most ``left`` steps, counted down, until the column is done; set its dual objective in ``known`` (K,)."""
        c = column.c
        column.dual_value = known[c]
        while left[c] and (gap := column.relative_gap) > _OF_TOL * self.tol:
            moved = column.step() or column.dual_step()
            known[c] = column.dual_value
            if not moved:
                break
            left[c] -= 1
            bar.update()
            bar.set_postfix(gap=gap)


class _WeightColumn:
    """One column of weights, that of the intercept last, and the second moments of the rows that cost something there."""

    def __init__(self, rows: EmbeddedRows, problem: Problem, machine: Machine, c: int) -> None:
        self.rows, self.problem, self.machine, self.c = rows, problem, machine, c
        own = problem.codes == c
        self.targets = np.where(own, problem.target, -problem.target)
        self.costs = 2.0 * problem.sample * np.where(own, problem.own[c], problem.other[c])
        self.weights = np.append(machine.weights.reshape(-1, len(machine.bias))[:, c], machine.bias[c])  # (d + 1,)
        self.scores = self._products(self.weights)  # (n,)
        # (n,) each: 2 c_i where a row costs something and else 0, and its z_i
        self.curvature, self.centres = np.zeros_like(self.scores), np.zeros_like(self.scores)
        # G, of which only the lower triangle is kept up, and b
        self.moments, self.pull = np.zeros((len(self.weights),) * 2), np.zeros_like(self.weights)
        self.gradient = self.weights  # (I + G) W - b
        self.dual_value = 0.0  # a dual objective, which the optimum is not below
        self._follow()

    @property
    def objective(self) -> float:
        """P of this column."""
        return 0.5 * float(self.weights @ self.weights + self.curvature @ (self.centres - self.scores) ** 2)

    @property
    def relative_gap(self) -> float:
        """(P - D) / P, 0 where P is 0."""
        objective = self.objective
        gap = min(0.5 * float(self.gradient @ self.gradient), max(objective - self.dual_value, 0.0))
        return gap / objective if objective else 0.0

    def step(self) -> bool:
        """Take a step; return True if it lowered the objective, which rounding forbids near the optimum."""
        direction = self._solution() - self.weights
        slope = float(self.gradient @ direction)
        if not slope < 0.0:
            return False
        along = self._products(direction)
        length = self._length(direction, along, slope)
        return self._go_to(self.weights + length * direction, self.scores + length * along)

    def dual_step(self) -> bool:
        """Raise the dual objective by the equations of the dual variables, if they are few; return True if P fell too."""
        rows = np.flatnonzero(self.curvature)
        if not 0 < len(rows) <= len(self.weights):
            return False
        phi, centres, ridge = self._dense(rows), self.centres[rows], 1.0 / self.curvature[rows]
        sides, products, dual = np.sign(centres - self.scores[rows]), phi @ phi.T, np.zeros(len(rows))
        products.flat[:: len(rows) + 1] += ridge
        kept = np.arange(len(rows))
        for _ in range(_ROUNDS):
            dual[:] = 0.0
            try:
                factors = linalg.cho_factor(products[np.ix_(kept, kept)].T, overwrite_a=True)
                dual[kept] = linalg.cho_solve(factors, centres[kept])
            except linalg.LinAlgError:
                return False
            wrong = dual * sides < 0.0
            dual[wrong] = 0.0
            if not wrong.any():
                break
            kept = np.flatnonzero(dual)
        weights = dual @ phi
        linear, quadratic = float(centres @ dual), 0.5 * float(weights @ weights + ridge @ dual**2)
        if not (linear > 0.0 and quadratic > 0.0):
            return False
        factor = 0.5 * linear / quadratic  # the best one, as in `bound_gap`
        self.dual_value = max(self.dual_value, factor * linear - factor**2 * quadratic)
        return self._go_to(factor * weights, self._products(factor * weights))

    def _go_to(self, weights: Floats, scores: Floats) -> bool:
        """Take these weights and their scores if they lower the objective; return True then."""
        old, before = (self.weights, self.scores), self.objective
        self.weights, self.scores = weights, scores
        self._follow()
        if not self.objective < before:
            self.weights, self.scores = old
            self._follow()
            return False
        self.machine.weights.reshape(-1, len(self.machine.bias))[:, self.c] = self.weights[:-1]
        self.machine.bias[self.c] = self.weights[-1]
        return True

    def _solution(self) -> Floats:
        """Return (I + G)^{-1} b."""
        try:
            return linalg.cho_solve(linalg.cho_factor(self._matrix(), overwrite_a=True), self.pull)
        except linalg.LinAlgError:  # G is so large that rounding hides I: its eigenvalues are at least 1 all the same
            values, vectors = linalg.eigh(self._matrix(), lower=False, overwrite_a=True)
            return vectors @ ((vectors.T @ self.pull) / np.maximum(values, 1.0))

    def _matrix(self) -> Floats:
        """Return a copy of I + G to overwrite, its upper triangle by columns as LAPACK has it."""
        matrix = self.moments.copy().T
        np.fill_diagonal(matrix, matrix.diagonal() + 1.0)
        return matrix

    def _length(self, direction: Floats, along: Floats, slope: float) -> float:
        """Return the step at which the objective is least along a direction: the zero of its piecewise linear slope."""
        low, high, length = 0.0, np.inf, 1.0
        linear, square = float(self.weights @ direction), float(direction @ direction)
        for _ in range(_SEARCHES):
            scores = self.scores + length * along
            curvature, centres = self._costs_at(scores)
            here = linear + length * square + float(curvature @ ((scores - centres) * along))
            if abs(here) <= -_SLOPE * slope:
                break
            low, high = (length, high) if here < 0.0 else (low, length)
            length -= here / (square + float(curvature @ along**2))
            if not low < length < high:
                length = 0.5 * (low + high)
        return length

    def _costs_at(self, scores: Floats) -> tuple[Floats, Floats]:
        if self.problem.two_sided:
            residuals = self.targets - scores
            centres = self.targets - self.problem.epsilon * np.sign(residuals)
            return np.where(np.abs(residuals) > self.problem.epsilon, self.costs, 0.0), centres
        return np.where(self.targets * scores < 1.0, self.costs, 0.0), self.targets

    def _follow(self) -> None:
        """Bring the second moments to the rows that cost something now: by those that changed, if these are fewer."""
        curvature, centres = self._costs_at(self.scores)
        change, pull = curvature - self.curvature, curvature * centres - self.curvature * self.centres
        if np.count_nonzero((change != 0) | (pull != 0)) > np.count_nonzero(curvature):
            change, pull = curvature, curvature * centres
            self.moments[:], self.pull[:] = 0.0, 0.0
        self.curvature, self.centres = curvature, centres
        with np.errstate(over="ignore", invalid="ignore"):
            for _, numbers, chunk in self.rows.phi_blocks(np.flatnonzero((change != 0) | (pull != 0))):
                self._add(chunk, change[numbers], pull[numbers])
        if not (np.isfinite(self.moments).all() and np.isfinite(self.pull).all()):
            raise InputError('the squares of rows overflow in solver="newton"; scale the features, or lower C')
        self.gradient = self.weights + dsymv(1.0, self.moments.T, self.weights) - self.pull  # by columns the triangle is upper

    def _add(self, chunk: Chunk, change: Floats, pull: Floats) -> None:
        """Add rows times these factors to the moments and to b."""
        n, d, scaling = len(change), len(self.weights) - 1, self.machine.scaling
        phi = _stored(chunk, n, d)
        if phi.nnz > _DENSE * n * d:
            dense = phi.toarray()
            self.moments[:d, :d] += (dense * change[:, None]).T @ dense
        else:
            add_moments(chunk, change, self.moments)
        self.moments[d, :d] += scaling * (change @ phi)
        self.moments[d, d] += scaling**2 * change.sum()
        self.pull[:d] += pull @ phi
        self.pull[d] += scaling * pull.sum()

    def _products(self, weights: Floats) -> Floats:
        """Return the products of all rows with weights (d + 1,), shape (n,)."""
        out = np.empty((len(self.rows), 1))
        for place, _, chunk in self.rows.phi_blocks():
            gather_block(chunk, weights[:-1], out[place])
        return out[:, 0] + self.machine.scaling * weights[-1]

    def _dense(self, numbers: Integers) -> Floats:
        """Return the rows of these numbers, with the column of the intercept."""
        out = np.full((len(numbers), len(self.weights)), self.machine.scaling)
        for place, _, chunk in self.rows.phi_blocks(numbers):
            out[place, :-1] = _stored(chunk, place.stop - place.start, len(self.weights) - 1).toarray()
        return out


def _stored(chunk: Chunk, n: int, d: int) -> sparse.csr_array:
    entries = int(chunk.indptr[n])
    return sparse.csr_array((chunk.data[:entries], chunk.indices[:entries], chunk.indptr), shape=(n, d))
