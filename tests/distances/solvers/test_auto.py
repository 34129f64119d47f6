from dataclasses import replace

import cases
import pytest
from cases import assert_refused

from semimetric import CuttingPlane, FirstOrder, Gram, Reference
from semimetric.distances import choose
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
    assert choose("reference", program) == (Reference(), "given")


def test_names_and_objects_are_taken_as_given():
    program = cases.program()
    for name, solver in auto._NAMES.items():
        assert choose(name, program) == (solver, "given")
    mine = Gram(tol=0.1)
    assert choose(mine, program)[0] is mine
    assert_refused(lambda: choose("fast", program), "solver='fast'", "not known", "use 'auto'")


def test_the_choice_is_told_in_the_solution():
    assert cases.fitted("absolute")[0].solution_.solver == "InteriorPoint (Absolute loss, 18 weights)"
