"""Least squares under many inequalities: alternating directions (ADMM) with one factorization (Boyd et al. 2011).

    min_w  wᵀ H w / 2 - bᵀ w   over  w >= lower,  G w >= h,      H = AᵀSA + P,  b = AᵀSy + q

    w <- (H + D)⁻¹ (b + D (z - u))
    z <- a few sweeps of Hildreth (1957) from v = 1.6 w - 0.6 z + u towards the feasible point that is nearest in the norm of D
    u <- v - z,      D a small share of the diagonal of H

The sweeps update multipliers mu, nu >= 0 of the inequalities and of the lower bounds, beginning with those of the last
iteration. D u = -(Gᵀ mu + nu) holds throughout, so every iteration gives a valid lower bound, however few the sweeps:

    optimum >= min_w { wᵀ H w / 2 - (b + Gᵀ mu + nu)ᵀ w } + mu·h + nu·lower.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve
from scipy.sparse.csgraph import connected_components

from ..._foundation.errors import NotSupportedError
from ..._foundation.iteration import Status, iterate
from ..._foundation.stored import storable
from ..._foundation.types import Floats, Integers
from ..._kernels.triangles import Rows, project_rows
from ..programs.certificate import GapBound
from ..programs.design_matrix import MatrixDesign
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from .base import STOPS_AT, History, Solution, Solver, certified, refuse_free_weights, refuse_unknown_inside, with_repair
from .box_quadratic import factorize

_SHARE = 1e-2  # D is this share of the diagonal of H: a larger one is slow at first, a smaller one at the end (measured)
_RELAXATION = 1.6
_SWEEPS = 5  # of Hildreth's method in an iteration
_CHECK = 20  # iterations between two certificates of the gap
_DENSE = 8_000  # up to so many columns have their second moments in memory
_JITTER = 1e-13  # the share of the mean diagonal that is added to H before it is factored
_STEP_RESIDUAL = 0.1  # the relative residual of conjugate gradients in an iteration
_BOUND_RESIDUAL = 1e-6  # the relative residual of conjugate gradients for a bound
_MOST_STEPS = 200  # of conjugate gradients
_MOST_TOGETHER = 3_000  # columns factored at once in the preconditioner
_DAMPED = 1e-9  # the share of a block's diagonal that is added to it before it is factored


@storable
@dataclass(frozen=True)
class Splitting(Solver):
    """Alternating directions, for a squared loss with inequalities and any number of weights.

    The linear systems are solved by Cholesky factorization for up to 8,000 weights, else by conjugate gradients.

    Parameters
    ----------
    tol : float, default 3e-4
        The relative certified gap at which the iteration stops.
    max_iter : int, default 2000
        The limit of iterations.

    Examples
    --------
    >>> Splitting(tol=1e-4)
    Splitting(tol=0.0001, max_iter=2000)
    """

    tol: float = 3e-4
    max_iter: int = 2_000

    def refusal(self, program: ConvexProgram) -> str | None:
        if not program.loss.quadratic:
            return f"{type(program.loss).__name__} is not a squared loss; use InteriorPoint, FirstOrder or Reference"
        return refuse_unknown_inside(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        try:
            method = _AdmmRun(program, start, STOPS_AT * self.tol)
        except LinAlgError as error:
            raise NotSupportedError(
                "Splitting cannot solve this program: neither rows nor penalties curve its weights; use InteriorPoint"
            ) from error
        run = iterate(method, name="splitting", max_iter=self.max_iter, every=_CHECK, verbose=verbose)
        if run.status is not Status.SOLVED:
            method.look()
        objective, history = program.objective(method.best), History.of(run.steps)
        solution = Solution(method.best, objective, method.gap, run.n_iter, run.status, "Splitting", None, history)
        solution = certified(solution, GapBound(program), program.stacked, method.theta, self.tol, method.dual[0])
        return with_repair(program, method.raw, solution)


class _System(ABC):
    """The objective wᵀ H w / 2 - bᵀ w + constant, and the linear systems with H and with H + D."""

    b: Floats  # (n,)
    constant: float
    diagonal: Floats  # (n,): the diagonal of H

    @abstractmethod
    def product(self, w: Floats) -> Floats:
        """Return the product H w for weights ``w`` of shape (n,): shape (n,)."""

    @abstractmethod
    def solve_shifted(self, right: Floats, start: Floats) -> Floats:
        """Return (H + D)⁻¹ right, shape (n,); an iterative method begins at ``start``."""

    @abstractmethod
    def minimum(self, c: Floats, start: Floats) -> tuple[Floats, float]:
        """Return a point near the minimum of wᵀ H w / 2 - cᵀ w, and a lower bound of that minimum; -inf where none is known."""

    def objective(self, w: Floats) -> float:
        """Return the objective at the weights ``w`` of shape (n,)."""
        return float(w @ self.product(w)) / 2 - float(self.b @ w) + self.constant

    @property
    def D(self) -> Floats:
        """The diagonal matrix D as a vector of shape (n,)."""
        return _SHARE * np.maximum(self.diagonal, 1e-6 * self.diagonal.mean())


class _DenseSystem(_System):
    """Systems solved by two Cholesky factorizations, with H in memory."""

    def __init__(self, program: ConvexProgram) -> None:
        moments = program.design.moments(program.y, program.sample_weight)
        self.H = moments.gram + program.penalty.P.toarray()
        self.b = moments.cross + program.penalty.q
        self.constant = moments.square / 2 + program.penalty.constant
        self.diagonal = np.diag(self.H).copy()
        self.shifted_factor = self._factor(self.D)
        self.factor: tuple | None = None

    def _factor(self, more: Floats | float) -> tuple:
        H = self.H.copy()
        H[np.diag_indices_from(H)] += more
        return factorize(H)

    def product(self, w: Floats) -> Floats:
        return self.H @ w

    def solve_shifted(self, right: Floats, start: Floats) -> Floats:
        return cho_solve(self.shifted_factor, right, check_finite=False)

    def minimum(self, c: Floats, start: Floats) -> tuple[Floats, float]:
        if self.factor is None:
            try:
                self.factor = self._factor(_JITTER * float(self.diagonal.mean()))
            except LinAlgError:
                return start, -np.inf
        x = cho_solve(self.factor, c, check_finite=False)
        e = self.H @ x - c
        # The value at x is exact, and the minimum lies e·H⁻¹e / 2 below it. Twice that is taken off, since H⁻¹ is rounded.
        return x, float(x @ e) / 2 - float(c @ x) / 2 - float(e @ cho_solve(self.factor, e, check_finite=False))


class _IterativeSystem(_System):
    """Systems solved by conjugate gradients, preconditioned exactly within connected sets of columns."""

    def __init__(self, program: ConvexProgram) -> None:
        self.A = program.design.held()
        self.s = program.sample_weight
        self.P = program.penalty.P
        self.b = self.A.rmatvec(self.s * program.y) + program.penalty.q
        self.constant = float(self.s @ (program.y * program.y)) / 2 + program.penalty.constant
        A = self.A.matrix if isinstance(self.A, MatrixDesign) else program.design.csr()
        A = sparse.csc_array(sparse.diags_array(np.sqrt(self.s)) @ A)
        blocks = _components(self.P, program.inequalities)
        grams = [(A[:, b].T @ A[:, b]).toarray() + self.P[b][:, b].toarray() for b in blocks]
        self.diagonal = np.asarray(A.multiply(A).sum(axis=0)).ravel() + self.P.diagonal()
        D = self.D
        self.shifted_factors = [(b, factorize(H + np.diag(D[b]))) for b, H in zip(blocks, grams, strict=True)]
        self.factors = [(b, factorize(H + np.diag(_DAMPED * np.diag(H)))) for b, H in zip(blocks, grams, strict=True)]
        penalties = [p.quadratic(program.columns).P for p in program.penalties]
        diagonals = [P.diagonal() for P in penalties if P.nnz == np.count_nonzero(P.diagonal())]
        self.ridge = sum(diagonals, np.zeros(len(program.lower)))  # of the penalties whose matrix is diagonal

    def product(self, w: Floats) -> Floats:
        return self.A.rmatvec(self.s * self.A.matvec(w)) + self.P @ w

    def solve_shifted(self, right: Floats, start: Floats) -> Floats:
        return self._conjugate_gradients(right, start, self.D, self.shifted_factors, _STEP_RESIDUAL)[0]

    def minimum(self, c: Floats, start: Floats) -> tuple[Floats, float]:
        """See the base; the minimum lies e·H⁻¹e / 2 <= e·R⁻¹e / 2 below the value at x, where R are the ridges in H."""
        if not (self.ridge > 0).all():
            return start, -np.inf
        x, e = self._conjugate_gradients(c, start, None, self.factors, _BOUND_RESIDUAL)
        return x, -float(x @ (e + c)) / 2 - float(e @ (e / self.ridge)) / 2

    def _precondition(self, factors: list, r: Floats) -> Floats:
        out = r / self.diagonal
        for block, factor in factors:
            out[block] = cho_solve(factor, r[block], check_finite=False)
        return out

    def _conjugate_gradients(
        self, right: Floats, x: Floats, more: Floats | None, factors: list, tol: float
    ) -> tuple[Floats, Floats]:
        """Solve (H + diag(more)) x = right to the relative residual ``tol``; return x and its residual."""

        def product(p: Floats) -> Floats:
            return self.product(p) if more is None else self.product(p) + more * p

        r = right - product(x)
        z = self._precondition(factors, r)
        p = z
        rz = float(r @ z)
        target = tol**2 * (float(right @ self._precondition(factors, right)) if more is None else rz)
        for _ in range(_MOST_STEPS):
            if rz <= target:
                break
            q = product(p)
            t = rz / float(p @ q)
            x = x + t * p
            r = r - t * q
            z = self._precondition(factors, r)
            rz, previous = float(r @ z), rz
            p = z + (rz / previous) * p
        return x, r


def _components(P: sparse.csr_array, rows: Inequalities | None) -> list[Integers]:
    """Return the sets of columns that penalties and inequalities connect, but those too large to be factored."""
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
    """State of the iteration; w, z and u are the iterates of the docstring of the module."""

    def __init__(self, program: ConvexProgram, start: Floats | None, tol: float) -> None:
        self.tol = tol
        self.program = program
        self.system: _System = _DenseSystem(program) if len(program.lower) <= _DENSE else _IterativeSystem(program)
        self.rows = program.inequalities or Inequalities.homogeneous(sparse.csr_array((0, len(program.lower))))
        G = self.rows.matrix
        self.G = Rows(G.indptr, G.indices, G.data)
        self.G_transposed = sparse.csr_array(G.T.tocsr())
        self.h = self.rows.bound
        self.D = self.system.D
        self.multipliers = np.zeros(len(self.rows) + len(program.lower))  # mu of the inequalities, then nu of the bounds
        inside = program.lower if program.inside is None else program.inside
        start_of_free = inside if start is None else start
        # If the minimum without any bound or inequality satisfies all of them, nothing is left to do.
        free, bound = self.system.minimum(self.system.b, np.maximum(start_of_free, program.lower))
        self.bound = bound + self.system.constant  # the largest lower bound of the optimum so far
        self.dual = (free, self.multipliers)  # the weights and the multipliers that gave it
        self.z = np.maximum(free if start is None else start, program.lower)
        self.w = self.z
        self.u = np.zeros_like(self.z)
        self.raw = self.z  # the iterate from which the best weights came
        self.best = program.feasible(self.z)  # (n,): the feasible weights with the least objective so far
        self.objective = self.system.objective(self.best)

    @property
    def gap(self) -> float:
        """The best objective minus the best lower bound, at least 0."""
        return max(self.objective - self.bound, 0.0)

    def _weighted_rows(self) -> Floats:
        """Return Gᵀ mu + nu, shape (n,)."""
        k = len(self.h)
        return self.G_transposed @ self.multipliers[:k] + self.multipliers[k:]

    def step(self) -> None:
        """Make one iteration, which updates w, z, u and the multipliers."""
        self.w = self.system.solve_shifted(self.system.b + self.D * (self.z - self.u), self.w)
        v = _RELAXATION * self.w + (1.0 - _RELAXATION) * self.z + self.u
        z = v + self._weighted_rows() / self.D
        project_rows(z, self.G, self.h, self.program.lower, 1.0 / self.D, self.multipliers, _SWEEPS)
        self.z = z
        self.u = v - z

    def look(self) -> Status | None:
        """Update the best weights with the repaired iterate, and the lower bound with the current multipliers."""
        w = self.program.feasible(np.maximum(self.z, self.program.lower))
        objective = self.system.objective(w)
        if objective < self.objective:
            self.objective = objective
            self.best = w
            self.raw = self.z
        k = len(self.h)
        of_rows = float(self.multipliers[:k] @ self.h)
        of_bounds = float(self.multipliers[k:] @ self.program.lower)
        constant = self.system.constant + of_rows + of_bounds
        near, least = self.system.minimum(self.system.b + self._weighted_rows(), self.w)
        if least + constant > self.bound:
            self.dual = (near, self.multipliers.copy())
        self.bound = max(self.bound, least + constant, 0.0)
        return Status.SOLVED if self.gap <= self.tol * max(abs(self.objective), self.program.exact) else None

    @property
    def theta(self) -> Floats:
        """The dual variables of the best bound, shape (m + k,): the slopes at its weights, and minus its multipliers."""
        p, (near, multipliers) = self.program, self.dual
        slope = p.sample_weight * (p.design.matvec(near) - p.y)
        return np.append(slope, -multipliers[: len(p.targets) - len(p.y)])
