"""The gap that is claimed is at least the true one, in exact arithmetic, whatever the numbers."""

from dataclasses import replace
from fractions import Fraction

import cases
import numpy as np
import pytest
from reference import exact_objective
from scipy import sparse

from semimetric import DistanceRegressor, Gram, InteriorPoint, Newton, NotSupportedError
from semimetric.distances import Status
from semimetric.distances.programs.certificate import GapBound, certified_gap
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.losses import Squared
from semimetric.distances.programs.penalties import PenaltyColumns, Ridge
from semimetric.distances.programs.program import ConvexProgram

ALPHAS = (0.0, 1e-300, 1e-9, 1.0, 1e9, 1e12, 1e20, 1e130)


def small(alpha, unit=1.0, seed=0):
    """Ten rows with four columns, drawn to a prior by a ridge."""
    rng = np.random.default_rng(seed)
    A, ones = rng.random((10, 4)), np.ones(4)
    columns = PenaltyColumns(4, unit * rng.random(4), unit * ones, ones, ones / 4, ones, lambda kind: sparse.csr_array((0, 4)))
    y = unit * (A @ rng.random(4) + 0.1 * rng.random(10))
    return ConvexProgram(
        MatrixDesign(sparse.csr_array(A)), y, np.full(10, 0.1), Squared(), (Ridge(alpha),), columns, np.zeros(4)
    )


@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_solvers_agree_to_what_they_claim_at_every_strength(alpha, unit):
    program = small(alpha, unit)
    found = [solver.solve(program) for solver in (Gram(), Newton(), InteriorPoint())]
    exact = [exact_objective(program, s.weights) for s in found]
    for solution, value in zip(found, exact, strict=True):
        assert value - min(exact) <= Fraction(solution.gap)
        assert solution.objective >= 0
        assert solution.objective == pytest.approx(float(value), rel=1e-9, abs=1e-3 * program.exact)


@pytest.mark.parametrize("alpha", ALPHAS[:6])
def test_strong_ridges_are_solved(alpha):
    assert Gram().solve(small(alpha)).status is Status.SOLVED


@pytest.mark.parametrize("loss", cases.LOSSES)
@pytest.mark.parametrize("penalty", ["ridge", "mixed", "lasso", "nothing"])
def test_any_dual_point_gives_a_gap_that_is_no_smaller_than_the_true_one(loss, penalty, rng):
    program = cases.program(cases.PENALTIES[penalty], loss=cases.LOSSES[loss], n_knots=3)
    best = InteriorPoint().solve(program).objective
    low, high = program.loss.bounds(program.sample_weight)
    for scale in (0.0, 0.1, 1.0, 10.0):
        theta = np.clip(scale * program.sample_weight * rng.normal(size=len(program.y)), low, high)
        w, near = (program.lower + scale * rng.random(len(program.lower)) for _ in range(2))
        for at in (None, near):
            gap = certified_gap(GapBound(program), program.design, w, theta, at)
            assert gap >= program.objective(w) - best - 1e-12


def test_numbers_that_overflow_are_refused_before_any_work():
    program = small(1.0)
    cases.assert_refused(
        lambda: Gram().solve(replace(program, y=1e200 * program.y)),
        "squares overflow",
        "divide the targets",
        error=NotSupportedError,
    )
    cases.assert_refused(lambda: Newton().solve(small(1e300)), "squares overflow", "lower alpha", error=NotSupportedError)
    cases.assert_refused(
        lambda: Newton().solve(replace(program, y=1e-200 * program.y)),
        "underflows",
        "divide the targets",
        error=NotSupportedError,
    )


@pytest.mark.parametrize(
    "unit", [2.0**-960, *(pytest.param(unit, marks=pytest.mark.slow) for unit in (2.0**-20, 2.0**20, 2.0**960))]
)
def test_learners_scale_their_targets_so_that_units_do_not_matter(unit):
    items, index, y = cases.sample()
    one, other = (DistanceRegressor(n_knots=3, preprocessor=items).fit(index, v) for v in (y, unit * y))
    assert other.solution_.status is Status.SOLVED
    assert other.solution_.gap == one.solution_.gap
    np.testing.assert_array_equal(other.predict(index), unit * one.predict(index))
