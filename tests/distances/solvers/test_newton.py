"""Newton's method where the objective is piecewise quadratic: exact line searches, warm starts, and what it refuses."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from scipy.optimize import minimize_scalar

from semimetric import ConvergenceWarning, InteriorPoint, Newton, NotSupportedError
from semimetric.distances import Status
from semimetric.distances.programs.losses import Hinge, Huber, SquaredHinge
from semimetric.distances.programs.penalties import Ridge
from semimetric.distances.solvers.newton import _NewtonRun

PROGRAM = cases.margin_program("triplets", SquaredHinge(), (Ridge(1e-2),))


def test_it_ends_after_few_steps_at_weights_exactly_on_their_bounds():
    solution = Newton(tol=1e-10).solve(PROGRAM)
    assert solution.status is Status.SOLVED
    assert solution.n_iter <= 12
    assert (solution.weights == PROGRAM.lower).any()


def test_a_start_at_the_optimum_needs_no_step():
    best = Newton(tol=1e-10).solve(PROGRAM)
    again = Newton().solve(PROGRAM, start=best.weights)
    assert again.n_iter == 0
    assert again.objective == pytest.approx(best.objective, rel=1e-12)


@pytest.mark.parametrize("loss", [SquaredHinge(), Huber(0.3)], ids=["squared hinge", "huber"])
def test_the_step_is_the_least_along_the_segment(loss, rng):
    program = cases.margin_program("quadruplets", loss, (Ridge(1e-3),))
    for _ in range(10):
        w, goal = (program.lower + 5 * rng.random(len(program.lower)) for _ in range(2))
        run = _NewtonRun(program, w, 1e-6)
        gradient = run.point.product + program.penalty.gradient(w)
        length = run._step_length(goal - w, program.design.matvec(goal - w), gradient)
        found = minimize_scalar(lambda t: program.objective(w + t * (goal - w)), bounds=(0, 1), method="bounded")  # noqa: B023
        assert program.objective(w + length * (goal - w)) <= min(found.fun, program.objective(goal)) + 1e-9


def test_the_gap_is_sound_at_the_first_step():
    best = Newton(tol=1e-10).solve(PROGRAM)
    with pytest.warns(UserWarning, match="stopped at the limit"):
        first = Newton(tol=1e-30, max_iter=1).solve(PROGRAM)
    assert best.objective - 1e-12 <= first.objective
    assert first.objective - first.gap <= best.objective


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")  # the bound of so open a program rounds before 1e-8
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_where_rows_leave_weights_open_damped_steps_reach_the_optimum(loss):
    """80 rows, 108 weights and no penalty, so that pivoting finds no minimum of the model without damping."""
    program = cases.program(cases.PENALTIES["nothing"], loss=cases.LOSSES[loss], groups="pairs")
    exact, solution = InteriorPoint().solve(program), Newton().solve(program)
    assert exact.gap < 1e-8 * exact.objective
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
    assert solution.relative_gap < 1e-5


def test_what_it_refuses():
    for program, given in (
        (cases.margin_program("triplets", Hinge()), "Hinge has no curvature"),
        (cases.program(axioms=None), "some weights are free"),
    ):
        assert_refused(lambda p=program: Newton().solve(p), "Newton cannot solve", given, "Reference", NotSupportedError)


def test_without_a_certificate_the_weights_are_the_same_and_no_gap_is_claimed():
    certified, plain = Newton().solve(PROGRAM), Newton(certify=False).solve(PROGRAM)
    assert np.array_equal(certified.weights, plain.weights)
    assert plain.status is Status.SOLVED
    assert certified.gap < np.inf == plain.gap
    with pytest.warns(ConvergenceWarning):
        unsolved = Newton(certify=False, max_iter=0).solve(PROGRAM)
    assert unsolved.gap < np.inf  # a warning says how far the weights may be from the best
