from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import CuttingPlane, DistanceRegressor, FirstOrder, Gram, Program, Reference
from semimetric.distances import choose
from semimetric.distances.estimators import measured_learner
from semimetric.distances.pairs.triangle_inequality import Triangles
from semimetric.distances.solvers import auto
from semimetric.distances.solvers.cutting_plane import choose_plain


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_auto_is_the_default_choice_for_programs_without_triangles(loss):
    program = cases.program(cases.PENALTIES["ridge"], loss=cases.LOSSES[loss])
    assert choose("auto", program) == choose_plain(program)


def test_the_triangle_inequality_is_for_a_cutting_plane_around_the_solver():
    program = cases.program(cases.PENALTIES["ridge"])
    program = replace(program, triangles=Triangles.of(program.design.embedding))
    assert choose("auto", program) == (CuttingPlane(), "triangle inequality")
    assert choose("first_order", program) == (CuttingPlane(FirstOrder()), "given")
    assert choose("cvxpy", program) == (Reference(), "given")


def test_names_and_objects_are_taken_as_given():
    program = cases.program()
    for name, solver in auto._NAMES.items():
        assert choose(name, program) == (solver, "given")
    mine = Gram(tol=0.1)
    assert choose(mine, program)[0] is mine
    assert_refused(lambda: choose("fast", program), "solver='fast'", "not known", "use 'auto'")


def test_cvxpy_is_a_name_with_or_without_an_engine():
    program = cases.program()
    assert choose("cvxpy", program) == (Reference(), "given")
    assert choose("cvxpy:OSQP", program) == (Reference("OSQP"), "given")
    for solver in ("cvxpy:NOPE", Reference("NOPE"), "cvxpy:", "cvxpy:osqp"):
        engine = solver.engine if isinstance(solver, Reference) else solver[6:]
        given = f"CVXPY has no engine {engine!r}"
        assert_refused(lambda solver=solver: choose(solver, program), given, "use an installed one: ", "CLARABEL")
    for solver in ("reference", "OSQP", 10**5000):
        assert_refused(lambda solver=solver: choose(solver, program), "is not known", "'cvxpy:ENGINE', or a Solver")


def test_an_engine_that_is_not_there_is_refused_before_anything_is_chosen(monkeypatch):
    monkeypatch.setattr(measured_learner, "decide", None)  # so that a choice fails
    model = DistanceRegressor(program=Program(solver="cvxpy:NOPE"))
    pairs = np.random.default_rng(0).random((30, 2, 2))
    assert_refused(lambda: model.fit(pairs, pairs.sum(axis=(1, 2))), "no engine 'NOPE'", "CLARABEL")


def test_the_choice_is_told_in_the_solution():
    assert cases.fitted("absolute")[0].solution_.solver == "InteriorPoint (Absolute loss, 18 weights)"
