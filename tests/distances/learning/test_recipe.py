"""A recipe refuses what is unknown and what does not go together, before any work."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import (
    DistanceRegressor,
    InputError,
    JointGroups,
    Lasso,
    Monotone,
    NotSupportedError,
    Ridge,
    Roughness,
    Shift,
    Tables,
)
from semimetric.distances.learning.options import Recipe


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
        ({"axioms": "metric", "base_distances": (abs,)}, NotSupportedError, "cannot be claimed.*abs.*'hellinger' up to 1"),
        (
            {"axioms": "metric", "base_distances": ("chi2",)},
            NotSupportedError,
            "'chi2' of base_distances= at the power 1;.*'chi2' up to 0.5",
        ),
        ({"axioms": "metric", "base_distances": ("hellinger",), "link": "sqrt"}, NotSupportedError, "at the power 2"),
        ({"constraints": Monotone()}, InputError, "is no list of shapes.*write"),
        ({"constraints": None}, InputError, "is no list of shapes"),
        ({"constraints": [Monotone]}, InputError, "is no list of shapes"),
        (
            {"groups": JointGroups([(0, 1)], n_knots=3), "knots": [[0, 1], [0, 1]]},
            InputError,
            r"n_knots=3\).*leave out n_knots",
        ),
        ({"axioms": "quasimetric", "tables": "warped"}, NotSupportedError, 'needs tables="full"'),
        ({"axioms": "premetric", "tables": "warped"}, NotSupportedError, 'needs tables="full"'),
    ],
)
def test_refuses(given, error, message):
    with pytest.raises(error, match=message):
        Recipe(**given).checked()


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        (["jensenshanon"], "'jensenshanon' is not known.*'jensenshannon'"),
        ("chi2", "must be a sequence"),
        (abs, "must be a sequence"),
    ],
)
def test_a_metric_refuses_names_that_are_none_and_what_is_no_list(bases, message):
    model = DistanceRegressor(n_knots=3, alpha=1e-3, axioms="metric", tables=Tables(base_distances=bases))
    with pytest.raises(InputError, match=message):
        model.fit(np.random.default_rng(0).random((20, 2, 2)), np.arange(20.0))


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


ITEMS, INDEX, Y = cases.sample()
BAD = {
    "axioms": ({"axioms": "norm"}, "axioms='norm'", "not known", "use one of 'semimetric'"),
    "tables": ({"tables": "sparse"}, "tables='sparse'", "not known", "'warped'"),
    "symmetry": ({"symmetry": "none"}, "symmetry='none'", "not known", "'swap'"),
    "link": ({"link": "log"}, "link='log'", "not known", "'sqrt'"),
    "delta": ({"delta": -1.0}, "delta=-1.0", "must be >= 0"),
    "alpha": ({"alpha": np.nan}, "alpha=nan", "must be a finite number"),
    "relative": ({"relative": 0.0}, "relative=0.0", "must be > 0"),
    "loss": ({"loss": "cubic"}, "loss='cubic'", "not known", "'huber'"),
    "penalty": ({"penalty": "smooth"}, "penalty='smooth'", "not known", "'ridge'"),
    "solver": ({"solver": "bogus"}, "solver='bogus'", "not known", "use 'auto'"),
    "signed squares": ({"link": "sqrt", "axioms": None}, 'link="sqrt"', "no sign", 'axioms="premetric"', NotSupportedError),
    "penalties": ({"penalty": [1.0]}, "penalty=[1.0]", "a sequence of them"),
    "metric": (
        {"axioms": "metric", "base_distances": (cases.cityblock,)},
        "axioms='metric'",
        "cannot be claimed",
        "leave it out",
        NotSupportedError,
    ),
    "warped premetric": ({"tables": "warped", "axioms": None}, 'tables="warped"', "needs", 'tables="full"', NotSupportedError),
}


@pytest.mark.parametrize("name", BAD)
def test_recipes_that_do_not_go_together_are_refused_before_any_work(name):
    parameters, *parts = BAD[name]
    error = parts.pop() if len(parts) == 4 else InputError
    assert assert_refused(lambda: Recipe(**parameters).checked(), *parts, error=error)
    for model in (made(DistanceRegressor, **parameters), made(cases.DistanceApproximator, cases.cityblock, **parameters)):
        with pytest.raises(error):
            model.fit(np.ones((2, 2, 1)) if type(model) is DistanceRegressor else ITEMS, np.ones(2))


@pytest.mark.parametrize("name", ["auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso"])
def test_penalties_by_name_scale_with_alpha(name):
    once, twice = (Recipe(penalty=name, alpha=a).penalties() for a in (0.1, 0.2))
    assert [type(p) for p in once] == [type(p) for p in twice]
    np.testing.assert_allclose([p.alpha for p in twice], [2 * p.alpha for p in once])


def test_penalties_as_objects():
    assert Recipe(penalty=None).penalties() == ()
    assert Recipe(penalty=Ridge(0.5)).penalties() == (Ridge(0.5),)
    assert Recipe(penalty=[Ridge(0.5), Lasso(0.1)]).penalties() == (Ridge(0.5), Lasso(0.1))
