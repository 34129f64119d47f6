import cases
import cvxpy
import numpy as np
import pytest
from cases import assert_refused

from semimetric import InteriorPoint, NotSupportedError, Reference
from semimetric.distances import Status

ENGINES = [name for name in ("CLARABEL", "OSQP", "SCS") if name in cvxpy.installed_solvers()]


@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", cases.LOSSES)
def test_any_engine_by_name(engine, loss):
    program = cases.program(cases.PENALTIES["ridge"], loss=cases.LOSSES[loss])
    best = InteriorPoint(tol=1e-8).solve(program).objective
    solution = Reference(engine).solve(program)
    assert solution.objective == pytest.approx(best, rel=5e-3)
    assert solution.solver == f"Reference({engine})"
    assert (solution.weights >= program.lower).all()
    assert solution.objective - solution.gap <= best + 1e-9


def test_free_weights_are_certified_too():
    program = cases.program(cases.PENALTIES["ridge"], axioms=None)
    solution = Reference().solve(program)
    assert solution.status is Status.SOLVED
    assert solution.gap <= 1e-4 * solution.objective
    gradient = program.design.rmatvec(program.sample_weight * (program.design.matvec(solution.weights) - program.y))
    np.testing.assert_allclose(gradient + program.penalty.gradient(solution.weights), 0.0, atol=1e-6)


def test_a_limit_of_iterations_reaches_the_engine():
    program = cases.program(cases.PENALTIES["ridge"], loss="absolute")
    with pytest.warns(UserWarning, match="less than the tolerance"):
        assert np.isfinite(Reference(max_iter=1).solve(program).objective)
    if "SCS" in ENGINES:
        with pytest.warns(UserWarning, match="less than the tolerance"):
            assert np.isfinite(Reference("SCS", max_iter=2).solve(program).objective)


def test_what_an_engine_cannot_do_is_refused():
    program = cases.program(cases.PENALTIES["ridge"])
    if "HIGHS" not in cvxpy.installed_solvers():
        pytest.skip("HiGHS is not installed")
    for solver, part in ((Reference("HIGHS"), "Reference(HIGHS)"), (Reference("HIGHS", max_iter=5), "leave max_iter=None")):
        assert_refused(lambda solver=solver: solver.solve(program), part, "cannot solve this program", error=NotSupportedError)
