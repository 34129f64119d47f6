"""Which links and exponents there are, and what goes with them."""

import pytest
from cases import assert_refused, cityblock

from semimetric import Bounded, Concave, ConcaveLink, InputError, Monotone, NotSupportedError, PowerLink
from semimetric.distances.learning.options import Recipe, base_powers, is_chosen, resolved_link, row_power

PIECES = ConcaveLink((1.0,), (1.0, 0.5))


def test_links_are_resolved_and_two_names_stay_open():
    assert [resolved_link(link) for link in (1, 0.5, "sqrt", "power", PIECES)] == [
        "identity", PowerLink(0.5), "sqrt", "power", PIECES,
    ]  # fmt: skip
    assert [is_chosen(link) for link in ("power", "concave", "sqrt", 0.5)] == [True, True, False, False]
    assert Recipe(link=1.0).checked().link == "identity"


def test_rows_and_base_distances_have_the_powers_of_the_link():
    assert [row_power(link) for link in ("identity", "sqrt", PowerLink(0.25))] == [1.0, 2.0, 4.0]
    assert base_powers("sqrt", 1.0, 2) == (2.0, 2.0)
    assert base_powers(PowerLink(0.5), [0.5, 1.5], 2) == (0.5, 1.5)


REFUSED = {
    "name": ({"link": "log"}, InputError, "link='log'", "'power'"),
    "sign": ({"link": 0.5, "axioms": None}, NotSupportedError, "no sign", 'axioms="premetric"'),
    "triangle": ({"link": 1.5, "axioms": "metric"}, NotSupportedError, "is not concave", "at most 1"),
    "convex": ({"link": 1.5, "constraints": (Concave(),)}, NotSupportedError, "Concave cannot hold", "at most 1"),
    "rows": ({"link": PIECES, "constraints": (Monotone(),)}, NotSupportedError, "cannot be stated as rows", "use an exponent"),
    "open rows": (
        {"link": "concave", "constraints": (Monotone(),)},
        NotSupportedError,
        "cannot be stated as rows",
        "use an exponent",
    ),
    "exponents": (
        {"base_distances": (cityblock,), "base_exponents": (1.0, 2.0)},
        InputError,
        "for 1 base distances",
        "one for each, is required",
    ),
    "negative": ({"base_distances": (cityblock,), "base_exponents": -1.0}, InputError, "base_exponents=-1.0", "above 0"),
    "word": ({"base_distances": (cityblock,), "base_exponents": "best"}, InputError, "base_exponents='best'", '"auto"'),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused(case):
    parameters, error, *words = case
    assert_refused(lambda: Recipe(**parameters).checked(), *words, error=error)


def test_what_goes_together_is_taken():
    Recipe(link=0.7, axioms="metric", constraints=(Monotone(), Concave(), Bounded(3.0)), outside="clip").checked()
    Recipe(link="power", axioms="metric").checked()


@pytest.mark.parametrize("given", ["auto", 0.5, ()])
def test_without_base_distances_there_are_no_exponents(given):
    assert base_powers("sqrt", given, 0) == ()
