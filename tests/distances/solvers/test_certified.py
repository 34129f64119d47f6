"""What a solution may claim: its gap in floating point, and a status that this gap allows."""

from dataclasses import replace

import cases
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from soak.certificates import attempt, draw, program_of

from semimetric import (
    ConvergenceWarning,
    FirstOrder,
    InteriorPoint,
    LargeMarginLearner,
    Newton,
    NotSupportedError,
    Program,
    Reference,
    Triplets,
)
from semimetric.distances import Solution, Status
from semimetric.distances.programs.certificate import GapBound
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.losses import Hinge, SquaredHinge
from semimetric.distances.programs.penalties import PenaltyColumns, Ridge
from semimetric.distances.programs.program import ConvexProgram
from semimetric.distances.solvers import cutting_plane
from semimetric.distances.solvers.base import certified, with_allowed_status
from semimetric.distances.solvers.cutting_plane import choose_plain, solve_plain


def test_a_large_gap_takes_the_claim_away():
    solution = Solution(np.ones(1), 1.0, 1e-3, 3, Status.SOLVED, "any")
    assert with_allowed_status(solution, 1e-3, 0.0).status is Status.SOLVED
    assert with_allowed_status(solution, 1e-6, 1e-2).status is Status.SOLVED  # an exact fit
    assert with_allowed_status(solution, 1e-6, 1e-9).status is Status.INACCURATE
    assert with_allowed_status(replace(solution, status=Status.INTERRUPTED), 1e-6, 0.0).status is Status.INTERRUPTED


def test_a_solver_that_saw_no_progress_has_solved_what_its_gap_says():
    stuck = Solution(np.ones(1), 1.0, 1e-7, 3, Status.INACCURATE, "any")
    assert with_allowed_status(stuck, 1e-6, 0.0).status is Status.SOLVED
    assert with_allowed_status(stuck, 1e-8, 1e-6).status is Status.SOLVED  # an exact fit
    assert with_allowed_status(stuck, 1e-8, 1e-9).status is Status.INACCURATE
    assert with_allowed_status(replace(stuck, status=Status.LIMIT), 1e-6, 0.0).status is Status.SOLVED
    assert with_allowed_status(replace(stuck, status=Status.LIMIT), 1e-8, 0.0).status is Status.LIMIT


@pytest.mark.parametrize("loss", cases.MARGIN_LOSSES)
def test_slopes_that_round_to_below_zero_are_lifted(loss):
    """Nothing bounds the weights of margins without a penalty, so slopes must be >= 0 for certain."""
    program = cases.margin_program("triplets", cases.MARGIN_LOSSES[loss], (), tables="warped")
    solution = InteriorPoint().solve(program)
    assert solution.gap <= 2e-6 * solution.objective


def test_without_dual_variables_those_at_the_weights_are_taken():
    program = cases.program(cases.PENALTIES["ridge"])
    best = InteriorPoint().solve(program)
    found = certified(replace(best, gap=0.0), GapBound(program), program.design, None, 1e-6)
    assert best.gap / 100 <= found.gap <= 1e-5 * best.objective


@pytest.mark.parametrize("n_free", [1, 12])
def test_only_weights_that_nothing_bounds_are_lifted(n_free):
    """A ridge bounds the columns of the tables but not those behind them, such as the threshold of pairs."""
    rng = np.random.default_rng(n_free)
    A = rng.normal(size=(60, 20))
    unit = np.ones(20 - n_free)
    columns = PenaltyColumns(20, unit, unit, unit, unit / len(unit), unit, differences=lambda kind: sparse.csr_array((0, 20)))
    program = ConvexProgram(
        MatrixDesign(sparse.csr_array(A)),
        -np.ones(60),
        np.full(60, 1 / 60),
        SquaredHinge(),
        (Ridge(1e-3),),
        columns,
        np.zeros(20),
    )
    solution = Newton(tol=1e-6).solve(program)
    assert solution.status is Status.SOLVED
    assert solution.gap <= 2e-6 * solution.objective


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_program_of_large_margins_is_certified_without_a_penalty(loss):
    """The linear program of Weinberger and Saul, on which nothing but a pull bounds some weights, and nothing the others."""
    X, y = load_iris(return_X_y=True)
    triplets, program = Triplets(mu=0.5, n_passes=1), Program(penalty=None)
    model = LargeMarginLearner(
        n_knots=4, alpha=1e-3, directions=None, tables="full", loss=loss, program=program, triplets=triplets
    ).fit(X, y)
    assert model.solution_.status is Status.SOLVED
    assert model.solution_.relative_gap <= 1e-6


OPPOSITE = ConvexProgram(
    MatrixDesign(sparse.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))), -np.ones(2), np.full(2, 0.5), Hinge(), (),
    PenaltyColumns(2, *[np.ones(2)] * 5, differences=None), np.zeros(2),
)  # fmt: skip


@pytest.mark.parametrize("solver", [InteriorPoint(), FirstOrder(), Reference()])
def test_what_nothing_certifies_has_a_status_that_says_so(solver):
    with pytest.warns(ConvergenceWarning, match=r"nothing certifies it.*Ridge\(1e-6\)"):
        solution = solver.solve(OPPOSITE)
    assert solution.status is Status.UNCERTIFIED
    assert solution.objective == pytest.approx(1.0)
    certain = solver.solve(replace(OPPOSITE, penalties=(Ridge(1e-6),)))
    assert certain.status is Status.SOLVED
    assert certain.objective - certain.gap <= 1.0 + 1e-6


OUTCOMES = {"all solved", "some solved", "none solved", "refused", "no weights keep the rows exactly"}


@pytest.mark.parametrize("seed", [
    *range(30), *[pytest.param(range(start, start + 100), marks=pytest.mark.slow) for start in range(0, 1600, 100)],
])  # fmt: skip
def test_gaps_and_statuses_agree_with_every_other_solver_in_exact_arithmetic(seed):
    for one in seed if isinstance(seed, range) else [seed]:
        assert attempt(draw(np.random.default_rng(one)), None) in OUTCOMES


def test_other_solvers_are_asked_before_a_solution_is_called_inaccurate():
    program = program_of(draw(np.random.default_rng(43)))
    first = choose_plain(program)[0].attempt(program)
    assert first.status is Status.INACCURATE
    solution, reason = solve_plain(program)
    assert solution.status is Status.SOLVED
    assert "asked Gram, Newton, InteriorPoint for a certificate" in reason


class Stopping(InteriorPoint):
    """A solver that fails, or that Ctrl-C ends before it has weights, or with some."""

    def _solve(self, program, start, verbose):
        if self.max_iter == 1:
            raise NotSupportedError("the engine failed")
        if self.max_iter == 2:
            raise KeyboardInterrupt
        return replace(InteriorPoint()._solve(program, start, verbose), status=Status.INTERRUPTED)


@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
@pytest.mark.parametrize(
    ("how", "status"), [(1, Status.INACCURATE), (2, Status.INTERRUPTED), (3, Status.INTERRUPTED)],
    ids=["fails", "without weights", "with weights"],
)  # fmt: skip
def test_what_the_first_solver_found_outlives_the_others(how, status, monkeypatch):
    program = program_of(draw(np.random.default_rng(43)))
    monkeypatch.setattr(cutting_plane, "_others", lambda *_: [Stopping(max_iter=how)])
    solution, _ = solve_plain(program)
    assert solution.status is status
    assert np.isfinite(solution.weights).all()
    assert solution.objective <= choose_plain(program)[0].attempt(program).objective
