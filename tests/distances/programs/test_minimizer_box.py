"""A minimiser lies in the box that is claimed, and rows that are said to cost nothing cost nothing, by another solver."""

import cases
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from soak.certificates import draw_margins, program_of

from semimetric import Reference
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.losses import Absolute, Hinge, Huber, Squared
from semimetric.distances.programs.minimizer_box import MinimizerBox
from semimetric.distances.programs.penalties import PenaltyColumns, Ridge, Roughness
from semimetric.distances.programs.program import ConvexProgram


def linear_optimum(program, upper, rows=None):
    """The least mean hinge plus linear costs over lower <= w <= upper, by HiGHS; ``rows`` are those that count."""
    A = program.design.csr()
    m, n = A.shape
    counted = np.ones(m, dtype=bool) if rows is None else rows
    s = np.where(counted, program.sample_weight, 0.0)
    bounds = np.vstack([np.column_stack([program.lower, upper]), np.tile([0.0, np.inf], (m, 1))])
    slack = sparse.hstack([A, -sparse.eye_array(m)], format="csr")
    return linprog(np.append(-program.penalty.q, s), A_ub=slack, b_ub=program.y, bounds=bounds, method="highs").fun


def margins(seed, pull, **changes):
    case = draw_margins(np.random.default_rng(seed)) | {"loss": "hinge", "penalties": [], "pull": pull} | changes
    return program_of(case)


@pytest.mark.parametrize("pull", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(12))
def test_the_box_of_a_linear_program_holds_a_minimiser(seed, pull):
    """The program of Weinberger and Saul has the same optimum in the box, and without the rows that cost nothing."""
    program = margins(seed, pull)
    box, everywhere = MinimizerBox(program, "open"), np.full(len(program.lower), np.inf)
    best = linear_optimum(program, everywhere)
    lower, upper = box.ends(program.objective(program.lower))
    assert (lower == program.lower).all()
    assert not box.unbounded.any()
    counted = box.counted
    if counted is None:
        assert np.isfinite(upper).all()
        assert linear_optimum(program, upper) == pytest.approx(best, abs=1e-9)
    else:
        assert not counted.all()
        assert linear_optimum(program, everywhere, counted) == pytest.approx(best, abs=1e-9)
        assert linear_optimum(program, upper, counted) == pytest.approx(best, abs=1e-9)


def test_some_rows_cost_nothing_and_some_programs_need_slopes():
    boxes = [MinimizerBox(margins(seed, pull), "open") for seed in range(12) for pull in (0.0, 0.5)]
    assert sum(box.counted is not None for box in boxes) >= 3
    assert sum(box._free_rows.steep is not None for box in boxes) >= 6


def program_with(A, loss, penalties=(), lower=-np.inf, y=None):
    n = A.shape[1]
    ones, steps = np.ones(n), sparse.csr_array(np.diff(np.eye(n), axis=0))
    columns = PenaltyColumns(n, ones, ones, ones, ones / n, ones, lambda kind: steps, nonnegative=np.isfinite(lower))
    y = A @ np.arange(1.0, n + 1) + np.sin(np.arange(len(A))) if y is None else y
    s = np.full(len(A), 1 / len(A))
    return ConvexProgram(MatrixDesign(sparse.csr_array(A)), y, s, loss, penalties, columns, np.full(n, lower))


@pytest.mark.parametrize("lower", [-np.inf, 0.0])
@pytest.mark.parametrize("penalties", [(), (Roughness(1e-2),), (Ridge(1e-3), Roughness(1.0))])
@pytest.mark.parametrize("loss", [Squared(), Absolute(), Huber(0.5)])
def test_the_ellipsoid_holds_the_minimiser(loss, penalties, lower, rng):
    program = program_with(rng.normal(size=(30, 4)), loss, penalties, lower)
    best = Reference().solve(program).weights
    for value in (program.objective(best), program.objective(np.zeros(4)), 1e3):
        low, high = MinimizerBox(program).ends(value)
        assert np.isfinite(high).all()
        assert ((low <= best + 1e-6) & (best <= high + 1e-6)).all()


def test_weights_that_differ_only_together_are_left_unbounded():
    """Rows see only the difference of two weights, so both may grow for ever, and their slopes are 0 but for rounding."""
    program = program_with(np.array([[1.0, -1.0], [-1.0, 1.0]]), Hinge(), lower=0.0, y=-np.ones(2))
    assert MinimizerBox(program, "all").unbounded.all()
    assert MinimizerBox(program_with(np.ones((3, 2)), Absolute())).unbounded.all()


def test_penalties_that_hold_all_weights_need_no_further_box():
    program = cases.margin_program("triplets", Hinge(), (Ridge(1e-3),))
    box = MinimizerBox(program)
    assert box.counted is None
    assert not box._left_open.any()
    assert np.isfinite(box.ends(1.0)[1]).all()


def test_weights_that_may_be_negative_are_not_bounded_by_sums():
    """With A >= 0 a weight may be large where another is negative."""
    program = program_with(np.array([[1.0, 1.0], [1.0, 0.0]]), Absolute(), lower=-20.0, y=np.array([0.0, 10.0]))
    upper = MinimizerBox(program).ends(program.objective(np.zeros(2)))[1]
    assert upper[0] >= 10.0  # the minimiser is (10, -10)


def test_numbers_without_an_inverse_are_left_alone():
    program = program_with(np.array([[1e-310, 0.0], [0.0, 0.0]]), Hinge(), lower=0.0, y=-np.ones(2))
    assert np.isinf(MinimizerBox(program, "all").ends(1.0)[1][0])
