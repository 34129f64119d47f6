"""All rows at once, or only those that matter: what CVXPY gives with every row."""

from dataclasses import replace
from functools import cache

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import (
    CuttingPlane,
    DistanceRegressor,
    FirstOrder,
    Gram,
    InteriorPoint,
    Newton,
    NotSupportedError,
    Reference,
    Splitting,
)
from semimetric.distances import Status
from semimetric.distances.learning.program import inside
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.distances.pairs.triangle_inequality import Triangles
from semimetric.distances.programs.constraints import Monotone, TableLayout
from semimetric.distances.solvers import splitting
from semimetric.distances.solvers.cutting_plane import choose_plain

SETTINGS = {
    "singles": {"n_knots": 5},
    "pairs": {"groups": "pairs", "n_knots": 3},
    "asymmetric": {"axioms": "premetric", "n_knots": 4},
    "joint": {"groups": [(0, 1), (2,)], "n_knots": 3},
}
# solver: whether it takes every loss, and the relative gap to which it must agree
SOLVERS = {
    "interior point": (InteriorPoint(tol=1e-8), True, 1e-6),
    "splitting": (Splitting(tol=1e-5, max_iter=20_000), False, 1e-5),
    "first order": (FirstOrder(tol=1e-3, max_iter=50_000), True, 1e-3),
}


@cache
def metric_program(loss, setting, penalty="mixed"):
    """A program whose pairs ask for no metric: squares break the triangle inequality."""
    program = cases.program(cases.PENALTIES[penalty], loss=cases.LOSSES[loss], **SETTINGS[setting])
    program = replace(program, y=program.y**2)
    triangles = Triangles.of(program.design.embedding)
    known = np.maximum(inside(program.design.embedding, program.columns.unit), program.lower)
    return replace(program, triangles=triangles, inside=known)


@cache
def by_cvxpy(loss, setting):
    program = metric_program(loss, setting)
    return program, Reference().solve(program)


@pytest.mark.filterwarnings("ignore:Solution.Reference")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("solver", "loss", "lazily"),
    [
        pytest.param(s, loss, lazily, marks=[pytest.mark.slow] * (loss != "squared" and not lazily))
        for lazily in (False, True)
        for s in SOLVERS
        for loss in cases.LOSSES
        if SOLVERS[s][1] or loss == "squared"
    ],
)
def test_agrees_with_cvxpy_with_every_row(solver, loss, setting, lazily):
    program, reference = by_cvxpy(loss, setting)
    inner, _, tolerance = SOLVERS[solver]
    engine = CuttingPlane(inner, all_rows=0) if lazily else CuttingPlane(inner)
    if lazily and solver != "interior point":
        engine = replace(engine, tol=1e-5)
    solution = engine.solve(program)
    scale = max(reference.objective, 1e-3)
    assert program.triangles.excess(solution.weights) <= 1e-14
    assert (solution.weights >= program.lower - 1e-15).all()
    assert solution.status is Status.SOLVED
    assert solution.objective == pytest.approx(program.objective(solution.weights), rel=1e-9)
    assert solution.objective == pytest.approx(
        reference.objective, abs=max(10 * tolerance if lazily else tolerance, 1e-6) * scale
    )
    assert solution.objective - solution.gap <= reference.objective + 2e-8 * scale
    assert solution.repair is not None
    assert 0 <= solution.repair.violation <= 1e-2


def test_the_inequality_binds():
    program = metric_program("squared", "singles")
    free = Gram().solve(replace(program, triangles=None))
    assert program.triangles.excess(free.weights) > 1e-3
    assert CuttingPlane().solve(program).objective > free.objective


def test_inequalities_of_constraints_join():
    program, reference = by_cvxpy("squared", "singles")
    e = program.design.embedding
    rows = Monotone().rows(TableLayout(e, ("u", "v", "w"), None, e.prior(np.ones(3)), 1.0))
    both = replace(program, inequalities=rows)
    solution = CuttingPlane().solve(both)
    assert rows.excess(solution.weights) <= 1e-14
    assert program.triangles.excess(solution.weights) <= 1e-14
    assert solution.objective == pytest.approx(Reference().solve(both).objective, rel=1e-5)
    assert solution.objective >= reference.objective * (1 - 1e-6)


@pytest.mark.parametrize("engine", [Gram(), Newton()])
def test_solvers_of_bounds_alone_refuse_rows(engine):
    program = metric_program("squared", "singles")
    call = CuttingPlane(engine).solve
    assert_refused(
        lambda: call(program), "CuttingPlane cannot", "inequalities between weights", "InteriorPoint", NotSupportedError
    )
    assert_refused(lambda: engine.solve(program), "triangle inequality", "", "use CuttingPlane", NotSupportedError)


@pytest.mark.parametrize("options", [{"tol": -1.0}, {"all_rows": -1}, {"max_rounds": 0}], ids=str)
def test_refuses_numbers_with_which_nothing_would_run(options):
    ((name, value),) = options.items()
    assert_refused(lambda: CuttingPlane(**options), f"{name}={value}", "")


@pytest.mark.parametrize("loss", cases.LOSSES)
@pytest.mark.parametrize("empty", [False, True], ids=["no triangles", "triangles of no table"])
def test_without_triangles_it_is_the_solver_that_it_wraps(loss, empty):
    program = replace(metric_program(loss, "singles"), triangles=None)
    if empty:
        of_scales = Triangles.of(WarpedEmbedding(program.design.embedding.grid))
        assert not of_scales.tables
        solution = CuttingPlane().solve(replace(program, triangles=of_scales))
    else:
        solution = CuttingPlane().solve(program)
    plain = choose_plain(program)[0].solve(program)
    np.testing.assert_array_equal(solution.weights, plain.weights)
    assert (solution.objective, solution.gap, solution.n_iter) == (plain.objective, plain.gap, plain.n_iter)
    assert solution.solver == f"{plain.solver}, 0 triangle rows"
    given = CuttingPlane(InteriorPoint(tol=1e-8)).solve(program)
    assert given.objective == pytest.approx(Reference().solve(program).objective, rel=1e-5)


@pytest.mark.filterwarnings("ignore:Solution")
def test_a_learner_that_asks_for_no_triangle_may_name_it():
    items, index, y = cases.sample()
    named, chosen = (
        made(DistanceRegressor, **cases.FAST, axioms="semimetric", solver=solver, preprocessor=items).fit(index, y)
        for solver in (CuttingPlane(), "auto")
    )
    np.testing.assert_allclose(named.semimetric_.weights, chosen.semimetric_.weights, rtol=1e-9)
    assert named.solution_.solver == "Gram, 0 triangle rows (given)"


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("setting", ["singles", "asymmetric"])
def test_ctrl_c_leaves_weights_that_keep_every_triangle(setting, lazily, monkeypatch):
    program, reference = by_cvxpy("squared", setting)
    step, calls = splitting._AdmmRun.step, iter(range(10**6))

    def interrupted(run):
        if next(calls) == 7:
            raise KeyboardInterrupt
        step(run)

    monkeypatch.setattr(splitting._AdmmRun, "step", interrupted)
    engine = CuttingPlane(Splitting(tol=1e-12), all_rows=0) if lazily else CuttingPlane(Splitting(tol=1e-12))
    with pytest.warns(UserWarning, match="interrupted by the user"):
        solution = engine.solve(program)
    assert solution.status is Status.INTERRUPTED
    assert program.triangles.excess(solution.weights) <= 1e-14
    assert (solution.weights >= program.lower - 1e-15).all()
    assert solution.objective == pytest.approx(program.objective(solution.weights), rel=1e-9)
    assert solution.objective - solution.gap <= reference.objective * (1 + 1e-7)
