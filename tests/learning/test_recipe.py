"""A recipe refuses what is unknown and what does not go together, before any work."""

import pytest

from semimetric import InputError, Monotone, NotSupportedError
from semimetric.learning.recipe import Recipe
from semimetric.programs import Lasso, Ridge, Roughness, Shift


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"axioms": "ultrametric"}, InputError, "ultrametric.*use one of"),
        ({"tables": "round"}, InputError, "round.*use one of"),
        ({"link": "log"}, InputError, "log.*use one of"),
        ({"outside": "wrap"}, InputError, "wrap.*use one of"),
        ({"delta": -1.0}, InputError, "delta=-1.0 must be >= 0"),
        ({"alpha": float("nan")}, InputError, "alpha=nan must be a finite number"),
        ({"relative": 0}, InputError, "relative=0 must be > 0"),
        ({"loss": "cubic"}, InputError, "cubic.*use one of"),
        ({"penalty": "heavy"}, InputError, "heavy.*use one of"),
        ({"penalty": (Ridge(), "ridge")}, InputError, "must be a name, a Penalty"),
        ({"axioms": "metric", "base_distances": (abs,)}, NotSupportedError, "cannot be claimed with base_distances"),
        ({"constraints": Monotone()}, InputError, "is no list of shapes.*write"),
        ({"constraints": None}, InputError, "is no list of shapes"),
        ({"constraints": [Monotone]}, InputError, "is no list of shapes"),
        ({"axioms": "quasimetric", "tables": "warped"}, NotSupportedError, 'needs tables="full"'),
        ({"axioms": "premetric", "tables": "warped"}, NotSupportedError, 'needs tables="full"'),
    ],
)
def test_refuses(given, error, message):
    with pytest.raises(error, match=message):
        Recipe(**given).checked()


@pytest.mark.parametrize("axioms", ["semimetric", "metric"])
def test_accepts_a_metric_by_construction(axioms):
    assert Recipe(axioms=axioms, tables="warped").checked().symmetry_of_columns == "tie"


def test_asymmetric_axioms_untie_the_columns():
    assert Recipe(axioms="premetric").symmetry_of_columns == Recipe(axioms=None).symmetry_of_columns == "none"


@pytest.mark.parametrize(
    ("penalty", "kinds"),
    [
        (None, []),
        ("auto", [Ridge, Shift, Roughness]),
        ("ridge", [Ridge]),
        ("lasso", [Lasso]),
        (Ridge(0.5), [Ridge]),
        ((Ridge(), Lasso()), [Ridge, Lasso]),
    ],
)
def test_penalties(penalty, kinds):
    assert [type(p) for p in Recipe(penalty=penalty).penalties()] == kinds


def test_strength_is_that_of_the_recipe():
    assert Recipe(penalty="ridge", alpha=0.25).penalties()[0].alpha == 0.25
