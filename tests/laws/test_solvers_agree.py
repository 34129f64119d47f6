"""Every solver against CVXPY on every kind of program: objective, bounds, and a gap that is sound."""

from dataclasses import replace
from functools import cache
from itertools import product

import cases
import numpy as np
import pytest

from semimetric import Reference
from semimetric.distances import Status

SETTINGS = {
    "singles": {},
    "pairs": {"groups": "pairs"},
    "warped": {"tables": "warped", "n_knots": 4},
    "base": {"base_distances": (cases.cityblock,)},
    "relative": {"relative": 0.2, "delta": 1e-2},
    "premetric": {"axioms": "premetric", "link": "sqrt"},
}
SMALL = ("ridge", "mixed")  # the penalties that every setting is solved with by default
# no pair touches some columns, and these penalties leave directions among them free: no box holds every minimiser
OPEN = {("pairs", penalty) for penalty in ("nothing", "roughness", "second differences", "shift")}


def rows(*, undetermined):
    out = []
    for loss, penalty, setting in product(cases.LOSSES, cases.PENALTIES, SETTINGS):
        marks = () if setting == "singles" or penalty in SMALL else (pytest.mark.slow,)
        for solver in cases.SOLVERS:
            if cases.takes(solver, cases.LOSSES[loss]) and ((setting, penalty) in OPEN) == undetermined:
                out.append(pytest.param(loss, penalty, setting, solver, marks=marks, id=f"{solver}-{loss}-{penalty}-{setting}"))
    return out


@cache
def solved_by_cvxpy(loss, penalty, setting):
    program = cases.program(cases.PENALTIES[penalty], loss=cases.LOSSES[loss], **SETTINGS[setting])
    return program, Reference().solve(program)


@pytest.mark.filterwarnings("ignore:Solution.Reference")
@pytest.mark.parametrize(("loss", "penalty", "setting", "solver"), rows(undetermined=False))
def test_agrees_with_cvxpy(loss, penalty, setting, solver):
    program, reference = solved_by_cvxpy(loss, penalty, setting)
    engine, tolerance = cases.SOLVERS[solver]
    solution = engine.solve(program)
    scale = max(reference.objective, 1e-3)
    assert solution.status is Status.SOLVED
    assert (solution.weights >= program.lower).all()
    assert solution.objective == pytest.approx(program.objective(solution.weights), abs=1e-9 * scale)
    assert solution.objective <= reference.objective + max(tolerance, 1e-5) * scale
    assert reference.objective <= solution.objective + 1e-5 * scale
    assert 0 <= solution.gap <= 1.01 * tolerance * scale
    # the certified bound lies below the optimum, so below every objective that is reached
    assert solution.objective - solution.gap <= reference.objective + 1e-11


@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "penalty", "setting", "solver"), rows(undetermined=True))
def test_agrees_where_no_certificate_may_exist(loss, penalty, setting, solver):
    program, reference = solved_by_cvxpy(loss, penalty, setting)
    solution = cases.SOLVERS[solver][0].solve(program)
    assert (solution.weights >= program.lower).all()
    assert solution.objective == pytest.approx(reference.objective, abs=2e-3 * max(reference.objective, 1e-3))
    assert solution.objective - solution.gap <= reference.objective + 1e-11


MARGINS = [
    pytest.param(kind, loss, penalty, tables, solver, id=f"{solver}-{loss}-{penalty}-{kind}-{tables}")
    for kind in ("triplets", "quadruplets", "pairs", "pull")
    for loss in cases.MARGIN_LOSSES
    for penalty in ("nothing", "ridge", "mixed", "lasso")
    for tables in ("full", "warped")
    for solver in ("newton", "interior point", "first order")
    if cases.takes(solver, cases.MARGIN_LOSSES[loss])
    and not (solver == "first order" and penalty == "nothing" and kind != "pull")  # nothing holds the weights: no bound
    and not (solver == "first order" and kind == "pairs")  # nor the threshold
]


@cache
def margins_by_cvxpy(kind, loss, penalty, tables):
    program = cases.margin_program(kind, cases.MARGIN_LOSSES[loss], cases.PENALTIES[penalty], tables=tables)
    return program, Reference().solve(program)


_SPLIT = 3e-6  # relative: CVXPY keeps r = A w - y to 1e-8 only, beside weights that nothing bounds


@pytest.mark.filterwarnings("ignore:Solution.Reference")
@pytest.mark.parametrize(("kind", "loss", "penalty", "tables", "solver"), MARGINS)
def test_margins_agree_with_cvxpy(kind, loss, penalty, tables, solver):
    """Rows with signs: triplets, quadruplets, pairs against a threshold, and triplets with a pull."""
    program, reference = margins_by_cvxpy(kind, loss, penalty, tables)
    engine, tolerance = cases.SOLVERS[solver]
    solution = engine.solve(program)
    assert solution.status is Status.SOLVED
    assert (solution.weights >= program.lower).all()
    assert solution.objective == pytest.approx(program.objective(solution.weights), rel=1e-9)
    assert solution.objective <= reference.objective * (1 + (1e-6 if tolerance < 1e-3 else 2e-3))
    assert solution.objective >= reference.objective * (1 - _SPLIT)
    assert 0 <= solution.gap <= 1.01 * tolerance * solution.objective
    assert solution.objective - solution.gap <= reference.objective * (1 + 1e-6)


@pytest.mark.parametrize("solver", cases.SOLVERS)
def test_an_exact_fit_is_solved(solver):
    """The optimum is 0, so no gap is small relative to it."""
    program = cases.program(delta=0.0)
    program = replace(program, y=program.design.matvec(np.full(len(program.lower), 0.5)))
    solution = cases.SOLVERS[solver][0].solve(program)
    assert solution.status is Status.SOLVED
    assert solution.objective <= 1e-7 * program.loss.value(-program.y, program.sample_weight)


@pytest.mark.parametrize("solver", cases.SOLVERS)
def test_the_gap_is_sound_long_before_the_end(solver):
    """Stopped early, the bound still lies below the optimum, and the weights within their bounds."""
    program, reference = solved_by_cvxpy("squared", "ridge", "pairs")
    engine = type(cases.SOLVERS[solver][0])(tol=1e-25, max_iter={"first order": 50, "gram": 0}.get(solver, 1))
    with pytest.warns(UserWarning, match="stopped at the limit|solved to less than"):
        solution = engine.solve(program)
    assert np.isfinite(solution.gap)
    assert (solution.weights >= program.lower).all()
    assert solution.objective - solution.gap <= reference.objective
