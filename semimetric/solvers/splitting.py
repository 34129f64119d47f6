"""Least squares under many inequalities: alternating directions, with one factorization (Boyd et al. 2011, section 5).

    min_w  wᵀ H w / 2 - bᵀ w   over  w >= lower,  G w >= h,      H = AᵀSA + P,  b = AᵀSy + q

    w <- (H + D)⁻¹ (b + D (z - u))
    z <- some of Hildreth's sweeps (1957) from v = 1.6 w - 0.6 z + u towards the nearest point that keeps every row, norm D
    u <- v - z,      D a small share of the diagonal of H

The sweeps keep multipliers mu, nu >= 0 of the rows and bounds, begin with those of the last iteration, and D u = -(Gᵀ mu + nu)
throughout, so every iteration has a sound bound, however few the sweeps:

    optimum >= min_w { wᵀ H w / 2 - (b + Gᵀ mu + nu)ᵀ w } + mu·h + nu·lower.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from .._foundation.types import Floats, Integers
from .._kernels.triangles import Rows, project_rows
from ..programs.design_matrix import MatrixDesign
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status, refuse_free_weights, refuse_unknown_inside, with_repair

__all__ = ["Splitting"]

_SHARE = 1e-2  # of the diagonal: more is slow to begin with, less to end (measured)
_RELAXED = 1.6
_SWEEPS, _CHECK = 5, 20
_DENSE = 8_000  # columns of which second moments are held
_JITTER = 1e-13  # of the mean diagonal
_FIRST, _LAST = 0.1, 1e-6  # relative residuals of conjugate gradients, in an iteration and for a bound
_MOST_STEPS = 200
_MOST_TOGETHER = 3_000  # columns factored at once
_DAMPED = 1e-9  # of a block's diagonal


@dataclass(frozen=True)
class Splitting(Solver):
    """The squared loss with inequalities, any number of weights: of up to 8,000 by Cholesky, else by conjugate gradients.

    Parameters
    ----------
    tol : float, default 3e-4
        Relative certified gap at which it stops.
    max_iter : int, default 2000
    """

    tol: float = 3e-4
    max_iter: int = 2_000

    def refusal(self, program: ConvexProgram) -> str | None:
        if not program.loss.quadratic:
            return f"{type(program.loss).__name__} is not a squared loss; use InteriorPoint, FirstOrder or Reference"
        return refuse_unknown_inside(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        run = _AdmmRun(program, start)
        status, n_iter = Status.LIMIT, 0
        with tqdm(total=self.max_iter, desc="splitting", disable=not verbose) as bar:
            try:
                for n_iter in range(self.max_iter + 1):
                    if n_iter % _CHECK == 0:
                        run.check()
                        bar.update(_CHECK if n_iter else 0)
                        bar.set_postfix(objective=run.objective, gap=run.gap)
                        if run.gap <= self.tol * max(abs(run.objective), program.exact):
                            status = Status.SOLVED
                            break
                    if n_iter < self.max_iter:
                        run.step()
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
        if status is not Status.SOLVED:
            run.check()
        solution = Solution(run.best, run.objective, run.gap, n_iter, status, "Splitting")
        return with_repair(program, run.raw, run.rows.excess(run.raw), solution)


class _System(ABC):
    """H, b and the constant of the objective; systems with H and with H + D."""

    b: Floats
    constant: float
    diagonal: Floats

    @abstractmethod
    def product(self, w: Floats) -> Floats:
        """H w."""

    @abstractmethod
    def shifted(self, right: Floats, start: Floats) -> Floats:
        """(H + D)⁻¹ right."""

    @abstractmethod
    def least(self, c: Floats, start: Floats) -> tuple[Floats, float]:
        """Where wᵀ H w / 2 - cᵀ w is least, nearly, and a bound of it from below."""

    def objective(self, w: Floats) -> float:
        """The objective at w, from the moments."""
        return float(w @ self.product(w)) / 2 - float(self.b @ w) + self.constant

    @property
    def share(self) -> Floats:
        """D."""
        return _SHARE * np.maximum(self.diagonal, 1e-6 * self.diagonal.mean())


class _Dense(_System):
    """By two Cholesky factorizations; H is held."""

    def __init__(self, program: ConvexProgram) -> None:
        moments = program.design.moments(program.y, program.sample_weight)
        self.H = moments.gram + program.penalty.P.toarray()
        self.b = moments.cross + program.penalty.q
        self.constant = moments.square / 2 + program.penalty.constant
        self.diagonal = np.diag(self.H).copy()
        self.factor = self._factor(self.share)
        self.exact: tuple | None = None

    def _factor(self, more: Floats | float) -> tuple:
        H = self.H.copy()
        H[np.diag_indices_from(H)] += more
        return cho_factor(H, overwrite_a=True, check_finite=False)

    def product(self, w: Floats) -> Floats:
        return self.H @ w

    def shifted(self, right: Floats, start: Floats) -> Floats:
        return cho_solve(self.factor, right, check_finite=False)

    def least(self, c: Floats, start: Floats) -> tuple[Floats, float]:
        if self.exact is None:
            try:
                self.exact = self._factor(_JITTER * float(self.diagonal.mean()))
            except LinAlgError:
                return start, -np.inf
        x = cho_solve(self.exact, c, check_finite=False)
        e = self.H @ x - c
        # exact at x; what x misses of the minimum is e·H⁻¹e / 2
        return x, float(x @ e) / 2 - float(c @ x) / 2 - float(e @ cho_solve(self.exact, e, check_finite=False))


class _Iterative(_System):
    """By conjugate gradients, whose preconditioner is exact within the tables that rows or penalties tie together."""

    def __init__(self, program: ConvexProgram) -> None:
        self.A, self.s = program.design.held(), program.sample_weight
        self.P = program.penalty.P
        self.b = self.A.rmatvec(self.s * program.y) + program.penalty.q
        self.constant = float(self.s @ (program.y * program.y)) / 2 + program.penalty.constant
        A = self.A.matrix if isinstance(self.A, MatrixDesign) else program.design.csr()
        A = sparse.csc_array(sparse.diags_array(np.sqrt(self.s)) @ A)
        blocks = _components(self.P, program.inequalities)
        grams = [(A[:, b].T @ A[:, b]).toarray() + self.P[b][:, b].toarray() for b in blocks]
        self.diagonal = np.asarray(A.multiply(A).sum(axis=0)).ravel() + self.P.diagonal()
        self.D = self.share
        self.factors = [(b, cho_factor(H + np.diag(self.D[b]))) for b, H in zip(blocks, grams, strict=True)]
        self.plain = [(b, cho_factor(H + np.diag(_DAMPED * np.diag(H)))) for b, H in zip(blocks, grams, strict=True)]
        self.ridge = _diagonal(program)

    def product(self, w: Floats) -> Floats:
        return self.A.rmatvec(self.s * self.A.matvec(w)) + self.P @ w

    def shifted(self, right: Floats, start: Floats) -> Floats:
        return self._gradients(right, start, self.D, self.factors, _FIRST)[0]

    def least(self, c: Floats, start: Floats) -> tuple[Floats, float]:
        """Exact at x; what x misses is e·H⁻¹e / 2 <= e·R⁻¹e / 2, R the ridges, which are part of H."""
        if not (self.ridge > 0).all():
            return start, -np.inf
        x, e = self._gradients(c, start, None, self.plain, _LAST)
        return x, -float(x @ (e + c)) / 2 - float(e @ (e / self.ridge)) / 2

    def _conditioned(self, factors: list, r: Floats) -> Floats:
        out = r / self.diagonal
        for block, factor in factors:
            out[block] = cho_solve(factor, r[block], check_finite=False)
        return out

    def _gradients(self, right: Floats, x: Floats, more: Floats | None, factors: list, tol: float) -> tuple[Floats, Floats]:
        """x with H x (+ D x) near right, and the residual right - H x."""

        def product(p: Floats) -> Floats:
            return self.product(p) if more is None else self.product(p) + more * p

        r = right - product(x)
        z = self._conditioned(factors, r)
        p, rz = z, float(r @ z)
        end = tol**2 * (float(right @ self._conditioned(factors, right)) if more is None else rz)
        for _ in range(_MOST_STEPS):
            if rz <= end:
                break
            q = product(p)
            t = rz / float(p @ q)
            x, r = x + t * p, r - t * q
            z = self._conditioned(factors, r)
            rz, old = float(r @ z), rz
            p = z + (rz / old) * p
        return x, r


def _diagonal(program: ConvexProgram) -> Floats:
    """The diagonal penalties."""
    parts = [p.quadratic(program.columns).P for p in program.penalties]
    return sum((P.diagonal() for P in parts if P.nnz == np.count_nonzero(P.diagonal())), np.zeros(len(program.lower)))


def _components(P: sparse.csr_array, rows: Inequalities | None) -> list[Integers]:
    """Sets of columns that no penalty and no row ties to others; those too large to be factored are left out."""
    pattern = abs(P)
    if rows is not None:
        k, n = rows.matrix.shape
        G = abs(rows.matrix)
        pattern = sparse.vstack(
            [sparse.hstack([pattern, sparse.csr_array((n, k))]), sparse.hstack([G, sparse.csr_array((k, k))])]
        )
    _, label = connected_components(pattern, directed=False)
    label = label[: P.shape[0]]
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [part for part in parts if len(part) <= _MOST_TOGETHER]


class _AdmmRun:
    """The iterates, and the best point and bound so far."""

    def __init__(self, program: ConvexProgram, start: Floats | None) -> None:
        self.program = program
        self.system: _System = _Dense(program) if len(program.lower) <= _DENSE else _Iterative(program)
        rows = program.inequalities or Inequalities.homogeneous(sparse.csr_array((0, len(program.lower))))
        G, self.rows = rows.matrix, rows
        self.h, self.G, self.Gt = rows.bound, Rows(G.indptr, G.indices, G.data), sparse.csr_array(G.T.tocsr())
        self.D = self.system.share
        first = program.lower if program.inside is None else program.inside
        self.multipliers = np.zeros(len(rows) + len(program.lower))
        free, self.bound = self.system.least(self.system.b, np.maximum(first if start is None else start, program.lower))
        self.bound += self.system.constant  # without any row: where that keeps all of them, nothing is left to do
        self.z = np.maximum(free if start is None else start, program.lower)
        self.w, self.u = self.z, np.zeros_like(self.z)
        self.raw, self.best = self.z, program.feasible(self.z)
        self.objective = self.system.objective(self.best)

    @property
    def gap(self) -> float:
        """Best objective less best bound."""
        return max(self.objective - self.bound, 0.0)

    def _pull(self) -> Floats:
        """Gᵀ mu + nu."""
        k = len(self.h)
        return self.Gt @ self.multipliers[:k] + self.multipliers[k:]

    def step(self) -> None:
        """One iteration."""
        self.w = self.system.shifted(self.system.b + self.D * (self.z - self.u), self.w)
        v = _RELAXED * self.w + (1.0 - _RELAXED) * self.z + self.u
        z = v + self._pull() / self.D
        project_rows(z, self.G, self.h, self.program.lower, 1.0 / self.D, self.multipliers, _SWEEPS)
        self.z, self.u = z, v - z

    def check(self) -> None:
        """The objective at the nearest known point that keeps every row, and a bound."""
        w = self.program.feasible(np.maximum(self.z, self.program.lower))
        objective, k = self.system.objective(w), len(self.h)
        if objective < self.objective:
            self.objective, self.best, self.raw = objective, w, self.z
        constant = (
            self.system.constant + float(self.multipliers[:k] @ self.h) + float(self.multipliers[k:] @ self.program.lower)
        )
        self.bound = max(self.bound, self.system.least(self.system.b + self._pull(), self.w)[1] + constant, 0.0)
