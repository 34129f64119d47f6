from dataclasses import replace

import cases
import numpy as np
import pytest
from scipy import sparse

from semimetric import FirstOrder
from semimetric.distances.programs.inequalities import Inequalities
from semimetric.distances.solvers import cutting_plane
from semimetric.distances.solvers.cutting_plane import choose_plain

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
    program = cases.program(cases.PENALTIES["ridge"], **parameters)
    solver, why = choose_plain(program)
    assert type(solver).__name__ == kind
    assert reason in why
    assert solver.refusal(program) is None


WITH_INEQUALITIES = {
    "few squared": ("squared", 9, "InteriorPoint"),
    "many squared": ("squared", 8, "Splitting"),
    "absolute": ("absolute", 8, "InteriorPoint"),
}


@pytest.mark.parametrize("name", WITH_INEQUALITIES)
def test_chooses_by_inequalities(name, monkeypatch):
    loss, limit, kind = WITH_INEQUALITIES[name]
    monkeypatch.setattr(cutting_plane, "_EXACT_COLUMNS", limit)
    program = cases.program(cases.PENALTIES["ridge"], loss=loss)
    n = len(program.lower)
    rows = Inequalities.homogeneous(sparse.csr_array(np.eye(n)[:2]))
    program = replace(program, inequalities=rows, inside=np.ones(n))
    solver, _ = choose_plain(program)
    assert type(solver).__name__ == kind
    assert solver.refusal(program) is None
    assert type(choose_plain(replace(program, inside=None))[0]).__name__ == "Reference"


def test_many_weights_go_to_products_only(monkeypatch):
    monkeypatch.setattr(cutting_plane, "_GRAM_COLUMNS", 5)
    monkeypatch.setattr(cutting_plane, "_INTERIOR_COLUMNS", 5)
    solver, why = choose_plain(cases.program(cases.PENALTIES["ridge"]))
    assert isinstance(solver, FirstOrder)
    assert "9 weights are too many" in why
