import cases
import numpy as np
import pytest

from semimetric import FirstOrder, InteriorPoint
from semimetric.distances import Status


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_a_tighter_tolerance_comes_nearer(loss):
    program = cases.program(cases.PENALTIES["ridge"], loss=cases.LOSSES[loss])
    best = InteriorPoint(tol=1e-8).solve(program).objective
    errors = [FirstOrder(tol=tol).solve(program).objective / best - 1 for tol in (1e-1, 1e-5)]
    assert errors[1] <= 1e-5
    assert errors[1] <= errors[0] <= 1e-1


def test_starts_warm():
    program = cases.program(cases.PENALTIES["ridge"], loss="absolute")
    best = InteriorPoint(tol=1e-8).solve(program).weights
    warm = FirstOrder(tol=1e-4).solve(program, start=best)
    assert warm.objective <= program.objective(best) * (1 + 1e-9)
    assert warm.status is Status.SOLVED


def test_the_matrix_need_not_be_held(monkeypatch):
    program = cases.program(cases.PENALTIES["ridge"])
    held = FirstOrder().solve(program)
    monkeypatch.setattr("semimetric.distances.programs.design_matrix._HELD_ENTRIES", 0)
    np.testing.assert_allclose(FirstOrder().solve(program).weights, held.weights, atol=1e-6)


@pytest.mark.parametrize("max_iter", [0, 20])
def test_a_limit_between_checks_is_a_limit(max_iter):
    """Gaps are certified every 50 iterations, and at the end."""
    program = cases.program(cases.PENALTIES["ridge"])
    with pytest.warns(UserWarning, match="stopped at the limit"):
        solution = FirstOrder(tol=1e-12, max_iter=max_iter).solve(program)
    assert solution.n_iter == max_iter
    assert (solution.objective < program.objective(program.lower)) == (max_iter > 0)
    assert np.isfinite(solution.gap)
