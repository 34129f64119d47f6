"""A box that holds a minimiser of a program: a slope below 0 costs a certificate only as much as the box is long.

Let v be an objective that is reached, so that every minimiser has an objective of at most v. The ends of the box follow from

1. penalties that bound single weights (`Penalty.reach`),
2. rows and weights >= 0: w_j sum_i s_i A_ij <= sum_i s_i (A w)_i <= sum_i s_i |y_i| + growth(v),
3. losses that rise on both sides: (sum_i s_i² (A w)_i²)^½ <= sum_i s_i |(A w)_i| <= a, and ‖R w‖ <= b for squared penalties, so
   that wᵀ (AᵀS²A / a² + RᵀR / b²) w <= 2: an ellipsoid, whose half axes the least eigenvalue bounds,
4. one dual point theta, linearised at weights u, under which the slopes of all other weights are positive: then

       v >= objective(w) >= constant + sum_j slope_j w_j,    so that  w_j <= lower_j + (v - what lower ends give) / slope_j.

Hinges have rows that raising some weight lifts over their margin, while no other row, and no penalty, minds. Such rows cost
nothing in the end: without them the optimum is the same. (It is no larger without any rows, so a bound without them holds in
any case.) The program of Weinberger & Saul (2009) has many, as a vertex that no pull touches may be as high as impostors need.
Their dual variables are 0, and no box is needed for weights of such rows alone.

The dual point of 4 is found by a linear program, which asks for the largest least slope. Where it is 0, the multipliers of that
program are a direction along which the weights may grow for ever; the rows that it lifts cost nothing either.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from ..._foundation.arrays import rounding_of
from ..._foundation.types import Floats, Integers
from .program import ConvexProgram

Mask = NDArray[np.bool_]

_MOST_ENTRIES = 30_000_000  # of a matrix that is made to look for rows that cost nothing
_MOST_IN_LINEAR_PROGRAM = 2_000_000  # entries: of more, some rows are taken
_MOST_ALONG_AXES = 2_000  # weights of an ellipsoid, whose eigenvalues take n³
_LEAST_SIZE = 1e-290  # of what a slope adds up: less has no inverse
_SECONDS = 10.0  # the most that one linear program may take
_ROUNDS = 10  # of finding rows that cost nothing along directions of several weights
_STEEP = 1e-7  # of the sizes that a slope adds up: a smaller one counts as none
_LIFTED = 1e-9  # of the sizes that a row adds up: a direction that changes a row by less leaves it as it is
_WIDE = 10.0  # times their units and their prior: where penalties are linearised
_SPARE = 1e-10  # of the terms of a sum, for rounding


class SteepDual(NamedTuple):
    """Dual variables and weights at which penalties are linearised, with slopes > 0 of the weights that nothing else bounds."""

    columns: Integers  # (k,): the weights whose slopes are > 0
    slopes: Floats  # (k,): their slopes, a little too small
    others: Floats  # (n,): the least slopes of the other weights, 0 at ``columns``
    most: Floats  # (n,): and their largest
    constant: float  # what the bound has beside slopes times weights, a little too small


@dataclass(frozen=True, eq=False)
class MinimizerBox:
    """The box of one program; what does not depend on the objective that is reached is computed once, when it is asked for."""

    program: ConvexProgram
    # slopes > 0 are looked for of the "open" weights, which nothing else bounds, or of "all", as weak penalties leave ends far
    # away; None looks for none, which costs nothing
    steep: str | None = None

    @cached_property
    def mass(self) -> Floats:
        """An upper bound of sum_i s_i |A_ij| for every column j, shape (n,)."""
        return self.program.design.absolute.rmatvec(self.program.sample_weight)

    def ends(self, objective: float) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of the box, each (n,), given that allowed weights reach ``objective``."""
        p = self.program
        value = max(objective if p.inequalities is None else p.reached, 0.0)
        lower, upper = self._of_penalties_and_sums(value)
        if not self._left_open.any():
            return lower, upper
        if (radius := self._radius(value)) is not None:
            lower, upper = np.maximum(lower, -radius), np.minimum(upper, radius)
        if (steep := self._free_rows.steep) is not None:
            upper = np.minimum(upper, self._under(steep, value, lower, upper))
        return np.minimum(lower, upper), np.maximum(upper, lower)

    def _of_penalties_and_sums(self, value: float) -> tuple[Floats, Floats]:
        p = self.program
        upper = np.full(len(p.lower), np.inf)
        if p.design.nonnegative and (p.lower >= 0).all():
            reach = float(p.sample_weight @ np.abs(p.y)) + p.loss.growth(value)
            with np.errstate(divide="ignore"):
                upper = np.where(self.mass > 0, reach / self.mass, np.inf)
        for penalty in p.penalties:
            upper = np.minimum(upper, penalty.reach(value, p.columns))
        return p.lower, np.maximum(upper, p.lower)

    @cached_property
    def _left_open(self) -> Mask:
        """Weights that have no end by single penalties and sums, though rows or penalties touch them, shape (n,)."""
        p = self.program
        touched = (self.mass > 0) | (np.diff(sparse.csr_array(p.penalty.P).indptr) > 0)
        if p.inequalities is not None:
            touched |= abs(p.inequalities.matrix).sum(axis=0) > 0
        if self.steep == "all":
            return touched
        lower, upper = self._of_penalties_and_sums(1.0)
        return touched & (p.penalty.ridge == 0) & (np.isinf(upper) | np.isinf(lower))

    @cached_property
    def unbounded(self) -> Mask:
        """Weights of which no box is known, shape (n,), though their slopes may be below 0."""
        lower, upper = self.ends(1.0)
        open_ends = (np.isinf(upper) | np.isinf(lower)) & (self.program.penalty.ridge == 0)
        return self._left_open & ~self._free_rows.idle & open_ends

    # an ellipsoid, for losses that rise on both sides

    def _sizes(self, value: float) -> tuple[float, float]:
        """Return a and b of the ellipsoid."""
        p, s = self.program, self.program.sample_weight
        of_rows = p.loss.growth(value) + float(s @ np.abs(p.y))
        if p.loss.quadratic:
            of_rows = np.sqrt(2.0 * value) + float(np.sqrt(s @ (p.y * p.y)))
        squares = [part.square for part in (p.penalty.parts or (p.penalty,)) if part.square is not None]
        centers = [np.linalg.norm(square.rows @ square.center) for square in squares]
        of_penalty = float(np.sqrt(sum((np.sqrt(2.0 * value) + c) ** 2 for c in centers)))
        return max(of_rows, 1e-300), max(of_penalty, 1e-300)

    @cached_property
    def _axes(self) -> tuple[Floats, float, float] | None:
        """The half axes for one pair of sizes a and b, and this pair; None where the ellipsoid is unbounded or not known."""
        p = self.program
        if not np.isfinite(p.loss.growth(1.0)) or len(p.lower) > _MOST_ALONG_AXES:
            return None
        s, m, n = p.sample_weight, len(p.y), len(p.lower)
        a, b = self._sizes(p.loss.value(-p.y, s) + p.penalty.value(np.zeros(n)))
        M = p.design.moments(np.zeros(m), s if p.loss.quadratic else s * s).gram / a / a
        M += p.penalty.P.toarray() / b / b
        size = np.sqrt(np.diag(M))
        used = size > 0
        scaled = M[np.ix_(used, used)] / np.outer(size[used], size[used])
        if not len(scaled) or not np.isfinite(scaled).all():
            return None
        least = float(np.linalg.eigvalsh(scaled)[0]) - 2 * len(scaled) * rounding_of(m + n)
        if least <= 0:
            return None
        axes = np.full(n, np.inf)
        axes[used] = np.sqrt(2.0 / least) / size[used] * (1 + _SPARE)
        return axes, a, b

    def _radius(self, value: float) -> Floats | None:
        if self._axes is None or not np.isfinite(value):
            return None
        axes, a, b = self._axes
        of_rows, of_penalty = self._sizes(value)
        return axes * max(of_rows / a, of_penalty / b)

    # rows that cost nothing, and slopes > 0, for losses that rise on one side

    @cached_property
    def _free_rows(self) -> "_FreeRows":
        p = self.program
        nothing = _FreeRows(np.ones(len(p.targets), dtype=bool), np.zeros(len(p.lower), dtype=bool), None)
        asked = self._left_open & np.isfinite(p.lower)
        if self.steep is None or self._axes is not None or not asked.any() or (self._left_open & ~asked).any():
            return nothing
        if len(p.targets) * min(len(p.lower), 60) > _MOST_ENTRIES:
            return nothing
        return _free_rows(p, asked)

    @property
    def counted(self) -> Mask | None:
        """The rows, shape (m + k,), whose dual variables need not be 0; None for all."""
        counted = self._free_rows.counted
        return None if counted.all() else counted

    def _under(self, steep: SteepDual, value: float, lower: Floats, upper: Floats) -> Floats:
        """Return the upper ends (n,) that slopes > 0 give to the weights that have them."""
        out = np.full(len(lower), np.inf)
        with np.errstate(invalid="ignore"):
            least = np.where(steep.others == 0, 0.0, np.minimum(steep.others * lower, steep.others * upper))
            least = np.minimum(least, np.where(steep.most == 0, 0.0, np.minimum(steep.most * lower, steep.most * upper)))
        of_columns = steep.slopes * lower[steep.columns]
        size = abs(value) + float(np.abs(least).sum() + np.abs(of_columns).sum())
        room = value - steep.constant - float(least.sum() + of_columns.sum()) + _SPARE * size
        out[steep.columns] = lower[steep.columns] + max(room, 0.0) / steep.slopes
        return out


class _FreeRows(NamedTuple):
    """Rows that cost something (m + k,), weights that only other rows touch (n,), and a dual point of slopes > 0."""

    counted: Mask
    idle: Mask
    steep: SteepDual | None


def _free_rows(p: ConvexProgram, asked: Mask) -> _FreeRows:
    low, high = p.slopes
    A = sparse.csr_array(p.stacked.csr())
    counted, penalised = np.ones(len(p.targets), dtype=bool), np.diff(sparse.csr_array(p.penalty.P).indptr) > 0
    steep = None
    for _ in range(_ROUNDS):
        counted = _without_lifted_rows(A, counted, asked & ~penalised, low, high)
        touched = np.bincount(A.indices[_entries(A, counted)], minlength=A.shape[1]) > 0
        idle = asked & ~penalised & ~touched
        columns = np.flatnonzero(asked & ~idle)
        if not len(columns):
            break
        found = _steepest(p, A, counted, columns)
        if found is None:
            break
        theta, weights, direction = found
        steep = _steep_dual(p, theta, weights, columns)
        if steep is not None:
            break
        along, size = A @ direction, abs(A) @ direction
        lifted = counted & (((low >= 0) & (along < -_LIFTED * size)) | ((high <= 0) & (along > _LIFTED * size)))
        if not lifted.any():
            break
        counted &= ~lifted
    return _FreeRows(counted, idle, steep)


def _entries(A: sparse.csr_array, rows: Mask) -> Mask:
    """Return a mask of the entries of ``A`` that stand in some ``rows`` and are not 0."""
    return np.repeat(rows, np.diff(A.indptr)) & (A.data != 0)


def _without_lifted_rows(A: sparse.csr_array, counted: Mask, columns: Mask, low: Floats, high: Floats) -> Mask:
    """Take away the rows that a single weight lifts over their margins, while no other row is the worse for it."""
    row_of = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    helps = ((A.data > 0) & (high[row_of] > 0)) | ((A.data < 0) & (low[row_of] < 0))  # may give a slope above 0
    counted = counted.copy()
    while True:
        entries = _entries(A, counted)
        n_entries, n_helpful = (np.bincount(A.indices[mask], minlength=A.shape[1]) for mask in (entries, entries & helps))
        falling = columns & (n_entries > 0) & (n_helpful == 0)
        if not falling.any():
            return counted
        counted[row_of[entries & falling[A.indices]]] = False


def _steepest(p: ConvexProgram, A: sparse.csr_array, counted: Mask, columns: Integers) -> tuple[Floats, Floats, Floats] | None:
    """Return dual variables (m + k,), weights (n,) and multipliers (n,) of the largest least slope of ``columns``; or None.

    max t over  (Aᵀ theta + P v - q)_j >= t size_j  with theta between its bounds, and v near the weights that are expected.
    """
    n, m = len(p.lower), len(p.y)
    weight = np.append(p.sample_weight, np.full(len(p.targets) - m, float(p.sample_weight.mean())))
    rows = np.flatnonzero(counted)
    part = A[rows][:, columns]
    if part.nnz > _MOST_IN_LINEAR_PROGRAM:  # the other rows keep dual variables of 0, which are allowed
        rows = np.sort(np.random.default_rng(0).permutation(rows)[: len(rows) * _MOST_IN_LINEAR_PROGRAM // part.nnz])
        part = A[rows][:, columns]
    of_penalty = sparse.csr_array(p.penalty.P)[columns]
    coupled = np.unique(of_penalty.indices)
    wide = np.zeros(n)
    wide[: len(p.columns.unit)] = _WIDE * (p.columns.unit + np.abs(p.columns.prior))
    low, high = p.slopes
    ends = [np.maximum(low[rows] / weight[rows], -1.0), np.minimum(high[rows] / weight[rows], 1.0)]
    G = sparse.hstack([part.T * weight[rows], of_penalty[:, coupled] * wide[coupled]], format="csr")
    size = np.asarray(abs(G).sum(axis=1)).ravel()
    if (size < _LEAST_SIZE).any():
        return None
    G = sparse.csr_array(sparse.diags_array(1.0 / size) @ G)
    bounds = np.vstack([np.column_stack(ends), np.tile([-1.0, 1.0], (len(coupled), 1)), [[-np.inf, 1.0]]])
    found = linprog(
        np.append(np.zeros(G.shape[1]), -1.0),
        A_ub=sparse.hstack([-G, sparse.csr_array(np.ones((len(columns), 1)))], format="csr"),
        b_ub=-p.penalty.q[columns] / size,
        bounds=bounds,
        method="highs",
        options={"time_limit": _SECONDS},
    )
    if found.x is None:
        return None
    theta, weights, direction = np.zeros(len(p.targets)), np.zeros(n), np.zeros(n)
    theta[rows] = np.clip(found.x[: len(rows)] * weight[rows], low[rows], high[rows])
    weights[coupled] = found.x[len(rows) : -1] * wide[coupled]
    direction[columns] = np.maximum(-found.ineqlin.marginals, 0.0) / size
    return theta, weights, direction


def _steep_dual(p: ConvexProgram, theta: Floats, weights: Floats, columns: Integers) -> SteepDual | None:
    """Return the bound of a dual point with slopes > 0 of ``columns``; None where one of them may be rounding."""
    gradient = p.penalty.enclosed_gradient(weights)
    of_rows, size = p.stacked.rmatvec(theta), p.stacked.absolute.rmatvec(np.abs(theta))
    slopes = of_rows + gradient.value
    error = rounding_of(len(theta)) * size + gradient.error + rounding_of(0) * np.abs(gradient.value)
    steep = slopes[columns] - error[columns]
    if not (steep > _STEEP * (size + np.abs(gradient.value))[columns]).all():
        return None
    others, most = slopes - error, slopes + error
    others[columns] = most[columns] = 0.0
    m = len(p.y)
    terms = np.array(
        [
            -p.loss.conjugate(theta[:m], p.sample_weight),
            -float(theta @ p.targets),
            p.penalty.value(weights),
            -float(gradient.value @ weights),
        ]
    )
    sizes = np.abs(terms).sum() + np.abs(theta) @ np.abs(p.targets) + np.abs(gradient.value) @ np.abs(weights)
    constant = float(terms.sum()) - gradient.missed - _SPARE * float(sizes)
    return SteepDual(columns, steep, others, most, constant)
