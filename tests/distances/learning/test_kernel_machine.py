"""The machine is the optimum of its program, and leave-one-out is what fits without an item say."""

import cvxpy as cp
import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from semimetric import NotSupportedError
from semimetric.distances.estimators.kernel_ridge_learner import item_targets
from semimetric.distances.learning.kernel_machine import (
    Calibration,
    Setting,
    check_positive,
    fit_machine,
    kernel_of,
    solve,
    solve_by_landmarks,
    solve_by_refinement,
)

ITEMS = np.random.default_rng(0).random((24, 3))
CLASSES = (ITEMS[:, 0] * 3).astype(np.int64)
WIDTH, STRENGTH = 0.7, 0.05


def l1(left, right):
    return cdist(left, right, "cityblock")


def problem(items, known, counts=None, factors=None):
    rows, targets = item_targets(items, known, np.ones(len(items)) if counts is None else counts, factors)
    return items[rows], targets


def predicted(distinct, fit, targets, queries):
    return kernel_of(l1(queries, distinct), fit.width) @ fit.coefficients + targets.mean


@pytest.mark.parametrize("known", [CLASSES, ITEMS @ [1.0, -2.0, 0.5]], ids=["classes", "values"])
def test_the_solution_is_the_optimum_that_cvxpy_finds(known, rng):
    counts = rng.integers(1, 4, len(ITEMS)) * 1.0
    items, targets = problem(ITEMS, known, counts)
    kernel = kernel_of(l1(items, items), WIDTH)
    fit = solve(kernel, targets, WIDTH, STRENGTH)
    root = np.linalg.cholesky(kernel)
    a = cp.Variable(fit.coefficients.shape)
    outputs, weight = targets.of_items()
    errors = cp.multiply(np.sqrt(weight)[:, None], outputs - targets.mean - kernel @ a)
    objective = cp.sum_squares(errors) + STRENGTH * cp.sum_squares(root.T @ a)
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert_allclose(fit.coefficients, a.value, atol=1e-4)
    assert fit.gap < 1e-12


def test_leave_one_out_is_what_fits_without_the_row_predict(rng):
    """Items that coincide lose one of them, and weights of classes go with it."""
    items = np.vstack([ITEMS, ITEMS[:6], ITEMS[:3]])
    classes = np.concatenate([CLASSES, (CLASSES[:6] + 1) % 3, CLASSES[:3]])
    factors = np.array([1.0, 2.0, 0.5])
    distinct, targets = problem(items, classes, factors=factors)
    fit = solve(kernel_of(l1(distinct, distinct), WIDTH), targets, WIDTH, STRENGTH)
    for row in range(len(targets.item)):
        weight = targets.weight.copy()
        weight[row] -= targets.unit[row]
        left = targets._replace(weight=weight)
        kept = np.flatnonzero(np.bincount(left.item, weights=weight, minlength=len(distinct)) > 1e-12)
        part = left.take(kept)
        part = part._replace(outputs=part.outputs - targets.mean)
        again = without_mean(kernel_of(l1(distinct[kept], distinct[kept]), WIDTH), part)
        at = distinct[targets.item[row]][None]
        want = kernel_of(l1(at, distinct[kept]), WIDTH) @ again + targets.mean
        assert_allclose(fit.left_out[row], want[0], atol=1e-9)


def without_mean(kernel, targets):
    """Coefficients for outputs that are centred already, by the normal equations."""
    weight = np.bincount(targets.item, weights=targets.weight)
    sums = np.stack([np.bincount(targets.item, weights=targets.weight * c) for c in targets.outputs.T], axis=1)
    return np.linalg.solve(kernel + STRENGTH * np.diag(1 / weight), sums / weight[:, None])


def test_an_item_given_three_times_is_one_of_weight_three():
    counts = np.where(np.arange(24) < 5, 3.0, 1.0)
    once, targets = problem(ITEMS, CLASSES, counts)
    repeated, same = problem(np.repeat(ITEMS, counts.astype(int), axis=0), np.repeat(CLASSES, counts.astype(int)))
    assert_allclose(repeated, once)
    fits = [solve(kernel_of(l1(once, once), WIDTH), t, WIDTH, STRENGTH) for t in (targets, same)]
    assert_allclose(fits[0].coefficients, fits[1].coefficients)
    assert_allclose(fits[0].left_out, fits[1].left_out)


@given(st.integers(0, 10_000))
def test_no_other_coefficients_have_an_objective_below_what_the_gap_allows(seed):
    rng = np.random.default_rng(seed)
    items, targets = problem(ITEMS, CLASSES)
    kernel = kernel_of(l1(items, items), WIDTH)
    fit = solve(kernel, targets, WIDTH, STRENGTH)
    outputs, weight = targets.of_items()

    def objective(a):
        return weight @ ((outputs - targets.mean - kernel @ a) ** 2).sum(axis=1) + STRENGTH * np.sum(a * (kernel @ a))

    other = fit.coefficients + rng.normal(size=fit.coefficients.shape) * 10.0 ** rng.integers(-9, 2)
    residual = outputs - targets.mean - kernel @ other - STRENGTH / weight[:, None] * other
    least = objective(fit.coefficients) * (1 - fit.gap)
    assert objective(other) >= least * (1 - 1e-12)
    assert objective(other) - weight @ (residual**2).sum(axis=1) <= least + 1e-9


def test_with_every_item_a_landmark_the_solution_is_the_exact_one():
    items, targets = problem(ITEMS, CLASSES, np.arange(1.0, 25.0))
    exact = solve(kernel_of(l1(items, items), WIDTH), targets, WIDTH, STRENGTH)
    spanned = solve_by_landmarks(
        lambda i, j: l1(items[i], items[j]), np.arange(24), targets, Setting(WIDTH, STRENGTH), np.arange(24)
    )
    assert_allclose(predicted(items, spanned, targets, ITEMS), predicted(items, exact, targets, ITEMS), atol=1e-4)
    assert_allclose(spanned.left_out, exact.left_out, atol=1e-4)
    assert spanned.gap < 1e-9
    few = solve_by_landmarks(
        lambda i, j: l1(items[i], items[j]), np.arange(24), targets, Setting(WIDTH, STRENGTH), np.array([3, 5])
    )
    known = np.isfinite(few.left_out[:, 0])
    assert set(targets.item[known]) == {3, 5}
    assert_allclose(few.left_out[known], spanned.left_out[known])


def test_many_items_have_landmarks_and_say_so(rng):
    X = rng.random((400, 2))
    y = np.sin(6 * X[:, 0])
    items, targets = problem(X, y)
    options = {"embeds": True, "random_state": 0, "most_double": 200, "most_exact": 300, "n_landmarks": 150}
    machine, left_out = fit_machine(lambda i, j: l1(items[i], items[j]), targets, np.arange(400), **options)
    assert (machine.is_exact, len(machine.rows), left_out.shape) == (False, 150, (400, 1))
    assert "150 landmarks" in str(machine)
    assert machine.left_out_loss < 0.01
    want = kernel_of(l1(X, items[machine.rows]), machine.width) @ machine.coefficients + machine.offset
    assert_allclose(machine.outputs(l1(X, items[machine.rows])), want)


@pytest.mark.parametrize("known", [CLASSES, ITEMS @ [1.0, -2.0, 0.5]], ids=["classes", "values"])
@pytest.mark.parametrize("strength", [1e-2, 1.0])
def test_a_factor_in_single_precision_is_refined_to_the_optimum(known, strength):
    items, targets = problem(ITEMS, known, np.arange(1.0, 25.0))
    exact = solve(kernel_of(l1(items, items), WIDTH), targets, WIDTH, strength)
    options = lambda i, j: l1(items[i], items[j]), targets, Setting(WIDTH, strength)  # noqa: E731
    found = solve_by_refinement(*options, np.arange(24))
    assert found.gap <= 1e-6
    assert_allclose(predicted(items, found, targets, ITEMS), predicted(items, exact, targets, ITEMS), atol=1e-5)
    assert_allclose(found.left_out, exact.left_out, atol=1e-3)
    assert_allclose(found.loss, exact.loss, rtol=1e-2)
    few = solve_by_refinement(*options, np.array([3, 5]))
    assert set(targets.item[np.isfinite(few.left_out[:, 0])]) == {3, 5}


def test_items_without_a_factor_in_single_precision_have_landmarks():
    """Near-copies of items under a weak penalty: the least eigenvalue of the system is below its rounding."""
    X = np.repeat(np.random.default_rng(0).random((20, 2)), 20, axis=0)
    X += 1e-9 * np.arange(400)[:, None]
    items, targets = problem(X, np.sin(6 * X[:, 0]))
    find = lambda i, j: l1(items[i], items[j])  # noqa: E731
    setting = Setting(1.0, 1e-8)
    assert solve_by_refinement(find, targets, setting, np.arange(5)) is None
    options = {"embeds": True, "random_state": 0, "setting": setting, "most_double": 200, "n_landmarks": 15}
    assert not fit_machine(find, targets, np.arange(400), **options).machine.is_exact


def test_the_calibration_has_the_least_log_loss(rng):
    z, classes, weight = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), rng.random(60)
    z[np.arange(60), classes] += 1

    doubt = 1 / (weight.sum() + 2)
    own = np.where(np.eye(3)[classes] == 1, 1 - doubt, doubt / 2)

    def loss(c):
        return -weight / weight.sum() @ (own * np.log(c.probabilities(z))).sum(axis=1) + 5e-4 * (c.shifts**2).sum()

    best = Calibration.fit(z, classes, weight)
    for _ in range(20):
        other = Calibration(best.slope + 0.01 * rng.normal(), best.shifts + 0.01 * rng.normal(size=3))
        assert loss(best) <= loss(other) + 1e-9


def test_scores_that_part_the_classes_leave_a_doubt():
    z, classes = np.repeat(np.eye(2), 20, axis=0), np.repeat([0, 1], 20)
    chances = Calibration.fit(z, classes, np.ones(40)).probabilities(z)
    assert_allclose(chances[np.arange(40), classes], 41 / 42, atol=1e-3)


def test_a_kernel_that_is_not_positive_is_refused():
    cube = np.array([[0, 2, 2, 2, 1], [2, 0, 2, 2, 1], [2, 2, 0, 2, 1], [2, 2, 2, 0, 1], [1, 1, 1, 1, 0]]) * 1.0
    check_positive(np.exp(-l1(ITEMS, ITEMS)))
    assert_refused(
        lambda: check_positive(np.exp(-0.01 * cube**4)), "positive definite", 'tables="warped"', error=NotSupportedError
    )
