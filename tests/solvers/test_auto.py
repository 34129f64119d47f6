import cases
import pytest
from cases import assert_refused

from semimetric.solvers import FirstOrder, Gram, auto, choose, default_choice

CHOICES = {
    "squared": ({}, "Gram", "squared loss, 9 weights"),
    "absolute": ({"loss": "absolute"}, "InteriorPoint", "Absolute loss, 9 weights"),
    "huber": ({"loss": "huber"}, "Newton", "Huber loss, 9 weights"),
    "free": ({"axioms": None}, "Gram", "squared loss"),
    "free absolute": ({"axioms": None, "loss": "absolute"}, "Reference", "the other solvers refuse"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_chooses_by_loss_and_says_why(name):
    parameters, kind, reason = CHOICES[name]
    solver, why = choose("auto", cases.program(cases.PENALTIES["ridge"], **parameters))
    assert type(solver).__name__ == kind
    assert reason in why


def test_many_weights_go_to_products_only(monkeypatch):
    monkeypatch.setattr(default_choice, "_GRAM_COLUMNS", 5)
    monkeypatch.setattr(default_choice, "_INTERIOR_COLUMNS", 5)
    solver, why = choose("auto", cases.program(cases.PENALTIES["ridge"]))
    assert isinstance(solver, FirstOrder)
    assert "9 weights are too many" in why


def test_names_and_objects_are_taken_as_given():
    program = cases.program()
    for name, solver in auto._NAMES.items():
        assert choose(name, program) == (solver, "given")
    mine = Gram(tol=0.1)
    assert choose(mine, program)[0] is mine
    assert_refused(lambda: choose("fast", program), "solver='fast'", "not known", "use 'auto'")


def test_the_choice_is_told_in_the_solution():
    assert cases.fitted("absolute")[0].solution_.solver == "InteriorPoint (Absolute loss, 18 weights)"
