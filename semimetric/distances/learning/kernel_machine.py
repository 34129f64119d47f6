"""A convex machine on a distance: least squares in the reproducing kernel Hilbert space of exp(-d / h) + 1.

    min_f  sum_i s_i |y_i - m - f(x_i)|^2 + lambda |f|^2,    f(x) = sum_j a_j k(x, x_j),    k(x, z) = exp(-d(x, z) / h) + 1

This is kernel ridge regression. The targets y are values, or indicators of classes, one output each; m is their weighted mean.
The kernel is positive definite for every d that embeds in L1 (Schoenberg 1938; docs/mathematics.md, section 10), so that the
program is strictly convex. Its optimum solves (K + lambda S^-1) a = y - m. For any a with the residual
r = y - m - (K + lambda S^-1) a, the objective is at most ``sum_i s_i r_i^2`` above its least value, by duality.

The prediction of an item by all others needs no other fit. With A = K + lambda S^-1 and the leverage
H_i = 1 - lambda (A^-1)_ii / s_i, its error is (y_i - m - f(x_i)) / (1 - H_i) (Allen 1974). Items that coincide are one row of
the kernel with the sum of their weights. An error leaves out a part of these, see `data.copies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.linalg.blas import dsymm, dsyrk
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha
from ...data.copies import effective_counts

WIDTHS = (0.5, 2.0)  # of the kernel, in median distances; wider ones differ little, as exp(-d / h) is then a straight line
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
MOST_COMPARED = 1_000  # items on which widths and strengths are compared
MOST_DOUBLE = 5_000  # items of a machine that is solved in double precision
MOST_EXACT = 16_000  # items of a machine whose centers are all of them: their kernel in single precision has 1 GiB
N_LANDMARKS = 2_000
_MOST_SCORED = 3_000  # items whose leave-one-out predictions are computed, of more than are solved in double precision
_REFINED = 10  # most refinements of a solution in single precision
_SOLVED = 1e-6  # relative gap that ends them
_FACTORED = 2_500  # items whose kernel takes as long to be factored as to be computed
_BLOCK = 1_000  # items whose features are computed at a time
_ROUNDING = 1e-9  # of the diagonal of a kernel: what its least eigenvalue may lack by rounding
_FLAT = 1e-3  # strength that draws the shifts of a calibration to 0


class Targets(NamedTuple):
    """Classes or values to be predicted: a row for each pair of a distinct item and what was seen there."""

    outputs: Floats  # (n_rows, n_outputs): values, or indicators of classes
    weight: Floats  # (n_rows,)
    unit: Floats  # (n_rows,): the part of the weight that is left out at a time
    item: Integers  # (n_rows,): the number of the distinct item of each row
    row: Integers  # (n_rows,): a row of the table that holds this
    classes: Integers | None = None  # (n_rows,): numbers of classes; None for values

    def take(self, items: Integers) -> Targets:
        """Return the rows of some distinct items, which are numbered anew in this order."""
        number = np.full(int(self.item.max()) + 1, -1)
        number[items] = np.arange(len(items))
        rows = np.flatnonzero(number[self.item] >= 0)
        classes = None if self.classes is None else self.classes[rows]
        return Targets(self.outputs[rows], self.weight[rows], self.unit[rows], number[self.item[rows]], self.row[rows], classes)

    def without(self, factors: Floats) -> Targets:
        """Return classes whose weights do not count the factors of classes, shape (n_classes,)."""
        own = factors[self.classes]
        return self._replace(weight=self.weight / own, unit=self.unit / own)

    @property
    def mean(self) -> Floats:
        """The weighted mean of the outputs, shape (n_outputs,)."""
        return np.average(self.outputs, axis=0, weights=self.weight)

    @property
    def counts(self) -> Floats:
        """The number of items that each row is, by `effective_counts`, shape (n_rows,)."""
        return effective_counts(self.weight, self.unit)

    def of_items(self) -> tuple[Floats, Floats]:
        """Return the mean outputs (n_items, n_outputs) and the weights (n_items,) of the distinct items."""
        weight: Floats = np.bincount(self.item, weights=self.weight).astype(np.float64)
        sums = np.stack([np.bincount(self.item, weights=self.weight * column) for column in self.outputs.T], axis=1)
        return sums / weight[:, None], weight

    def left_out(self, fitted: Floats, leverage: Floats, weight: Floats) -> Floats:
        """Return the outputs (n_rows, n_outputs) without each row, from those, leverages and weights of all distinct items."""
        removed = np.minimum(leverage, 1 - _ROUNDING)[self.item] * self.unit / weight[self.item]
        return self.outputs - (self.outputs - fitted[self.item]) / (1.0 - removed)[:, None]

    def losses(self, predicted: Floats) -> Floats:
        """Return squared errors of the rows (n_rows,), of classes plus 1 where another class is predicted."""
        errors: Floats = ((predicted - self.outputs) ** 2).sum(axis=1)
        return errors if self.classes is None else errors + (predicted.argmax(axis=1) != self.classes)

    def loss(self, predicted: Floats) -> float:
        """Return the weighted mean of `losses`."""
        return float(self.weight @ self.losses(predicted) / self.weight.sum())


class Fit(NamedTuple):
    """The solution of one program, and what it predicts of every row by all others."""

    coefficients: Floats  # (n_items, n_outputs): a
    left_out: Floats  # (n_rows, n_outputs): the prediction of each row without it; NaN where it was not computed
    loss: float  # of these predictions
    gap: float  # of the objective, relative to its value
    width: float  # h
    strength: float  # lambda


def kernel_of(distances: Floats, width: float) -> Floats:
    """Return exp(-d / width) + 1 of distances of any shape."""
    out = np.divide(distances, -width)
    np.exp(out, out=out)
    out += 1.0
    return out


def solve(kernel: Floats, targets: Targets, width: float, strength: float) -> Fit:
    """Solve the program of one kernel (n_items, n_items) and one strength.

    Raises
    ------
    NotSupportedError
        If the kernel of these items is not positive definite.
    """
    outputs, weight = targets.of_items()
    n, right = len(kernel), outputs - targets.mean
    system = kernel.copy()
    system.flat[:: n + 1] += strength / weight
    factor, failed = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
    if failed:
        raise _not_convex()
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    coefficients = dsymm(1.0, inverse, right, lower=1)
    fitted = dsymm(1.0, kernel.T, coefficients, lower=1)
    residual = right - fitted - strength / weight[:, None] * coefficients
    objective = weight @ ((right - fitted) ** 2).sum(axis=1) + strength * float((coefficients * fitted).sum())
    leverage = 1.0 - strength * np.diag(inverse) / weight
    left_out = targets.left_out(fitted + targets.mean, leverage, weight)
    gap = _relative(float(weight @ (residual**2).sum(axis=1)), objective)
    return Fit(coefficients, left_out, targets.loss(left_out), gap, width, strength)


def _relative(gap: float, objective: float) -> float:
    """Return the gap as a fraction of the objective, with what rounding may hide: half of the last digit."""
    return gap / max(objective, np.finfo(float).tiny) + float(np.finfo(float).eps)


def solutions(distances: Floats, targets: Targets, widths: Sequence[float]) -> Iterator[Fit]:
    """Yield the solutions of these widths and of all `STRENGTHS`, from distances (n_items, n_items) of distinct items."""
    for width in widths:
        kernel = kernel_of(distances, width)
        for strength in STRENGTHS:
            yield solve(kernel, targets, width, strength)


class Setting(NamedTuple):
    """Width of the kernel and strength of the penalty."""

    width: float  # h
    strength: float  # lambda


def best_solution(distances: Floats, targets: Targets, setting: Setting | None = None) -> Fit:
    """Return the solution of a setting; None compares some, and takes that with the least leave-one-out loss."""
    if setting is not None:
        return solve(kernel_of(distances, setting.width), targets, *setting)
    median = median_distance(distances)
    return min(solutions(distances, targets, [w * median for w in WIDTHS]), key=lambda fit: fit.loss)


def median_distance(distances: Floats) -> float:
    """Return the median of the distances above 0, and 1 if there are none."""
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else 1.0


def check_positive(kernel: Floats) -> None:
    """Refuse a kernel (n, n) with a negative eigenvalue, relative to its diagonal, by its Cholesky factorization."""
    raised = kernel.copy()
    raised.flat[:: len(kernel) + 1] += _ROUNDING * len(kernel) * float(kernel.max(initial=0.0))
    if lapack.dpotrf(raised, lower=1, overwrite_a=1)[1]:
        raise _not_convex()


def _not_convex() -> NotSupportedError:
    return NotSupportedError(
        "the kernel exp(-d / h) of the learned distance is not positive definite on these items, so that a machine on it is no "
        'convex program; learn scales (tables="warped"), or set predictor="neighbors"'
    )


class Calibration(NamedTuple):
    """Probabilities of classes from outputs z: softmax(slope z + shifts)."""

    slope: float
    shifts: Floats  # (n_classes,)

    def probabilities(self, outputs: Floats) -> Floats:
        """Return the probability of each class, shape (n, n_classes)."""
        return softmax(self.slope * outputs + self.shifts, axis=1)

    @classmethod
    def fit(cls, outputs: Floats, classes: Integers, weight: Floats) -> Calibration:
        """Return the calibration with the least log loss of outputs (n, n_classes) for items with weights; it is convex.

        Of n items each has its own class to (n + 1) / (n + 2), and the others share the rest, so that no probability is 1 where
        the scores part the classes (after Platt 1999).
        """
        n_classes, part = outputs.shape[1], weight / weight.sum()
        doubt = 1.0 / (weight.sum() + 2.0)
        own = np.where(np.eye(n_classes, dtype=bool)[classes], 1.0 - doubt, doubt / max(n_classes - 1, 1))

        def loss(parameters: Floats) -> tuple[float, Floats]:
            slope, shifts = parameters[0], parameters[1:]
            logs = log_softmax(slope * outputs + shifts, axis=1)
            excess = part[:, None] * (np.exp(logs) - own)
            gradient = np.append((excess * outputs).sum(), excess.sum(axis=0) + _FLAT * shifts)
            return float(-(part @ (logs * own).sum(axis=1)) + _FLAT / 2 * shifts @ shifts), gradient

        start = np.append(1.0, np.zeros(n_classes))
        bounds = [(0.0, None)] + [(None, None)] * n_classes
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(float(found.x[0]), found.x[1:])


@storable
@dataclass(frozen=True, eq=False)
class KernelMachine:
    """f(x) = sum_j a_j (exp(-d(x, x_j) / h) + 1) + m: values, or scores of classes, the optimum of a convex program.

    ``min_f  sum_i s_i |y_i - m - f(x_i)|^2 + lambda |f|^2`` with weights s_i, values or indicators of classes y_i, their
    weighted mean m, and the norm of the kernel's Hilbert space (kernel ridge regression). Width and strength have the least
    leave-one-out loss of those compared. Probabilities are softmax(slope f + shifts), fitted to leave-one-out scores.
    """

    rows: Integers  # (n_centers,): row numbers of the centers x_j among the fitted items
    coefficients: Floats  # (n_centers, n_outputs): a
    offset: Floats  # (n_outputs,): m
    width: float  # h, in the unit of the distance
    strength: float  # lambda
    gap: float  # certified: the objective is above its least value by at most this fraction of it
    is_exact: bool  # every item is a center; otherwise the optimum is that of functions which the centers span
    left_out_loss: float  # mean squared leave-one-out error, of classes plus the error rate
    slope: float | None = None  # of the calibration; None for values
    shifts: Floats | None = None  # (n_classes,)

    def __post_init__(self) -> None:
        n, k = len(np.ravel(self.rows)), len(np.ravel(self.offset))
        check_alpha("width", self.width, strict=True)
        check_alpha("strength", self.strength, strict=True)
        flat = self.rows.shape == (n,) and self.offset.shape == (k,)
        if not flat or self.coefficients.shape != (n, k) or not np.isfinite(self.coefficients).all():
            raise InputError(
                f"coefficients of shape {self.coefficients.shape} are given for {n} centers and {k} outputs; one finite number "
                "each is required"
            )
        if (self.slope is None) != (self.shifts is None) or (self.shifts is not None and self.shifts.shape != (k,)):
            raise InputError(f"a machine of {k} classes needs a calibration by a slope and {k} shifts, or none")

    def outputs(self, distances: Floats) -> Floats:
        """Return f of queries (n, n_outputs) from their distances to the centers (n, n_centers)."""
        return kernel_of(distances, self.width) @ self.coefficients + self.offset

    def probabilities(self, distances: Floats) -> Floats:
        """Return calibrated probabilities of the classes (n, n_classes) from distances to the centers."""
        assert self.slope is not None
        assert self.shifts is not None
        return Calibration(self.slope, self.shifts).probabilities(self.outputs(distances))

    def scores(self, distances: Floats) -> Floats:
        """Return what is explained (n, n_outputs): f, or the mean log odds of each class against each other class."""
        outputs = self.outputs(distances)
        if self.slope is None:
            return outputs
        assert self.shifts is not None
        return _against_others(self.slope * outputs + self.shifts)

    @property
    def score_coefficients(self) -> Floats:
        """Coefficients of exp(-d / h) in `scores`, shape (n_centers, n_outputs)."""
        return self.coefficients if self.slope is None else _against_others(self.slope * self.coefficients)

    def __str__(self) -> str:
        n = f"{len(self.rows):,} {'items' if self.is_exact else 'landmarks'}"
        return f"kernel ridge regression on exp(-d / {self.width:.3g}) of {n}, strength {self.strength:g}, gap {self.gap:.1g}"


def _against_others(logits: Floats) -> Floats:
    """Return each column less the mean of the others."""
    n = logits.shape[1]
    return (logits - logits.mean(axis=1, keepdims=True)) * (n / max(n - 1, 1))


class MachineFit(NamedTuple):
    """A machine, and what it says of each row of its targets without that row."""

    machine: KernelMachine
    left_out: Floats  # (n_rows, n_outputs)

    @classmethod
    def calibrated(cls, machine: KernelMachine, targets: Targets, left_out: Floats) -> MachineFit:
        """Return the machine with a calibration of its scores, if its targets are classes, by those that are no NaN."""
        if targets.classes is not None:
            known = np.isfinite(left_out[:, 0])
            slope, shifts = Calibration.fit(left_out[known], targets.classes[known], targets.weight[known])
            machine = replace(machine, slope=slope, shifts=shifts)
        return cls(machine, left_out)


Distances = Callable[[Integers, Integers], Floats]
"""Distances (n, m) of items to items, both by the numbers of distinct items."""


def fit_machine(
    distances: Distances,
    targets: Targets,
    rows: Integers,
    *,
    embeds: bool,
    random_state: int,
    setting: Setting | None = None,
    most_double: int = MOST_DOUBLE,
    most_exact: int = MOST_EXACT,
    n_landmarks: int = N_LANDMARKS,
) -> MachineFit:
    """Choose width and strength, on some items of many, and fit a machine.

    The machine names its centers by ``rows`` (n_items,), the row number of each distinct item. The kernel is checked unless
    the distance ``embeds`` in L1: NotSupportedError if it is not positive semidefinite. ``setting=None`` compares some. More
    items than ``most_double`` are solved by a factor in single precision. Of more than ``most_exact``, or where the system has
    no such factor, ``n_landmarks`` are centers.
    """
    n, rng = len(rows), np.random.default_rng(random_state)
    if setting is None or not embeds:
        some = np.sort(rng.choice(n, MOST_COMPARED, replace=False)) if n > MOST_COMPARED else np.arange(n)
        between = distances(some, some)
        if not embeds:
            check_positive(np.exp(-between / median_distance(between)))
        best = best_solution(between, targets.take(some), setting)
        setting = Setting(best.width, best.strength)
    centers = np.arange(n)
    if n <= most_double:
        fit = solve(kernel_of(distances(centers, centers), setting.width), targets, *setting)
    else:
        scored = np.sort(rng.choice(n, min(n, _MOST_SCORED), replace=False))
        refined = solve_by_refinement(distances, targets, setting, scored) if n <= most_exact else None
        if refined is None:
            centers = np.sort(rng.choice(n, min(n, n_landmarks), replace=False))
            if targets.classes is None:  # the errors at centers say what is expected near them
                scored = np.union1d(scored, centers)
        fit = refined or solve_by_landmarks(distances, centers, targets, setting, scored)
    machine = KernelMachine(
        rows=rows[centers],
        coefficients=fit.coefficients,
        offset=targets.mean,
        width=fit.width,
        strength=fit.strength,
        gap=fit.gap,
        is_exact=len(centers) == n,
        left_out_loss=fit.loss,
    )
    return MachineFit.calibrated(machine, targets, fit.left_out)


def solve_by_refinement(distances: Distances, targets: Targets, setting: Setting, scored: Integers) -> Fit | None:
    """Solve the program of many items by a Cholesky factor in single precision, and refine it (Moler 1967).

    Residuals are computed in double precision, from distances that are computed anew. The gap is theirs. Leave-one-out
    predictions of the items ``scored`` have the leverages of the factor. Returns None if there is no factor.
    """
    width, strength = setting
    outputs, weight = targets.of_items()
    right, n = outputs - targets.mean, len(weight)
    every, raised = np.arange(n), strength / weight
    system = np.empty((n, n), dtype=np.float32)
    with progress_bar(n * (1 + n / _FACTORED), "kernel machine", verbose=None, share=True) as bar:
        for block in blocks(n, _BLOCK):
            system[block] = kernel_of(distances(every[block], every), width)
            bar.update(len(every[block]))
        system.flat[:: n + 1] += raised
        factor, failed = lapack.spotrf(system.T, lower=1, overwrite_a=1)
        bar.update(bar.total - bar.n)
    if failed:
        return None
    coefficients, residual = np.zeros_like(right), right
    best = Fit(coefficients, right, np.inf, np.inf, width, strength)
    fitted = best_fitted = coefficients
    for _ in range(_REFINED):
        step, _ = lapack.spotrs(factor, residual.astype(np.float32), lower=1)
        coefficients = coefficients + step
        fitted = np.concatenate(
            [kernel_of(distances(every[block], every), width) @ coefficients for block in blocks(n, _BLOCK)]
        )
        residual = right - fitted - raised[:, None] * coefficients
        objective = weight @ ((right - fitted) ** 2).sum(axis=1) + strength * float((coefficients * fitted).sum())
        gap = _relative(float(weight @ (residual**2).sum(axis=1)), objective)
        if gap >= best.gap:
            break
        best, best_fitted = best._replace(coefficients=coefficients, gap=gap), fitted
        if gap <= _SOLVED:
            break
    columns = np.zeros((n, len(scored)), dtype=np.float32, order="F")
    columns[scored, np.arange(len(scored))] = 1.0
    rotated, _ = lapack.strtrs(factor, columns, lower=1, overwrite_b=1)
    leverage = np.full(n, np.nan)
    leverage[scored] = 1.0 - raised[scored] * np.einsum("ij,ij->j", rotated, rotated, dtype=np.float64)
    left_out = targets.left_out(best_fitted + targets.mean, leverage, weight)
    known = np.isfinite(left_out[:, 0])
    loss = float(np.average(targets.losses(left_out)[known], weights=targets.weight[known]))
    return best._replace(left_out=left_out, loss=loss)


def solve_by_landmarks(distances: Distances, centers: Integers, targets: Targets, setting: Setting, scored: Integers) -> Fit:
    """Solve the program among the functions that some items span, by their features (Nystrom; Williams & Seeger 2001).

    With the factor R of the kernel of the centers, R R' = K, the features of an item are R^-1 k(centers, x): the program is
    that of ridge regression on them, and so are its gap and its leverages. Only the items ``scored`` have predictions by all
    others.
    """
    width, strength = setting
    outputs, weight = targets.of_items()
    right, n, m = outputs - targets.mean, len(weight), len(centers)
    inner = kernel_of(distances(centers, centers), width)
    inner.flat[:: m + 1] += _ROUNDING * m
    factor, failed = lapack.dpotrf(inner.T, lower=1, overwrite_a=1, clean=1)
    if failed:
        raise _not_convex()
    features = np.empty((n, m), dtype=np.float32)
    gram, moment = np.zeros((m, m), order="F"), np.zeros((m, right.shape[1]))
    with progress_bar(n, "kernel machine", verbose=None, unit="item") as bar:
        for block in blocks(n, _BLOCK):
            part = kernel_of(distances(np.arange(n)[block], centers), width)
            features[block] = solve_triangular(factor, part.T, lower=True, overwrite_b=True, check_finite=False).T
            part = features[block].astype(np.float64)  # the features of the program are these rounded numbers
            moment += part.T @ (weight[block, None] * right[block])
            part *= np.sqrt(weight[block, None])
            gram = dsyrk(1.0, part.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            bar.update(len(part))
    gram.flat[:: m + 1] += strength
    system, _ = lapack.dpotrf(gram, lower=1, overwrite_a=0)
    slopes, _ = lapack.dpotrs(system, moment, lower=1)
    residual = dsymm(1.0, gram, slopes, lower=1) - moment
    fitted = np.concatenate([features[block].astype(np.float64) @ slopes for block in blocks(n, _BLOCK)])
    leverage = np.full(n, np.nan)
    rotated = solve_triangular(system, features[scored].T.astype(np.float64), lower=True, check_finite=False)
    leverage[scored] = weight[scored] * (rotated**2).sum(axis=0)
    objective = weight @ ((right - fitted) ** 2).sum(axis=1) + strength * float((slopes**2).sum())
    left_out = targets.left_out(fitted + targets.mean, leverage, weight)
    known = np.isfinite(left_out[:, 0])
    loss = float(np.average(targets.losses(left_out)[known], weights=targets.weight[known]))
    gap = _relative(float((residual**2).sum()) / strength, objective)
    coefficients = solve_triangular(factor, slopes, lower=True, trans="T", check_finite=False)
    return Fit(coefficients, left_out, loss, gap, width, strength)
