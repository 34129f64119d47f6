"""Sets of releases to test with: bounds that can be read, and draws that go together."""

import runpy
from pathlib import Path

import pytest
from packaging.requirements import Requirement

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "environments.py"))
REQUIRED = TOOL["required"]()
VERSIONS = [f"1.{minor}" for minor in range(10)]


@pytest.mark.parametrize("requirement", REQUIRED, ids=str)
def test_every_dependency_has_one_lower_bound(requirement):
    assert [each.operator for each in requirement.specifier] in (["=="], [">="])
    assert [each.name for each in REQUIRED].count(requirement.name) == 1


def test_extras_that_an_extra_includes_are_tested_too():
    extras = TOOL["PROJECT"]["optional-dependencies"]
    names = {Requirement(text).name for extra in ("plots", "cli", "clusters", "distributed", "demo") for text in extras[extra]}
    assert names - {"semimetric"} < {requirement.name for requirement in REQUIRED}


@pytest.fixture
def drawn(monkeypatch):
    """`drawn` over two packages of the same ten releases, of which only equal ones go together."""
    draw = TOOL["drawn"]

    def together(requirements, *options):
        both = [each for each in VERSIONS if all(Requirement(text).specifier.contains(each) for text in requirements)]
        return [f"first=={both[-1]}", f"second=={both[-1]}"] if both else []

    monkeypatch.setitem(draw.__globals__, "together", together)
    monkeypatch.setitem(draw.__globals__, "released", lambda requirement: list(requirement.specifier.filter(VERSIONS)))
    return lambda seed: draw([Requirement("first>=1.2"), Requirement("second>=1.0")], seed)


def test_a_draw_goes_together_and_its_seed_repeats_it(drawn):
    draws = [drawn(seed) for seed in range(40)]
    assert draws == [drawn(seed) for seed in range(40)]
    versions = {frozenset(pin.partition("==")[2] for pin in pins) for pins in draws}
    assert versions == {frozenset([version]) for version in VERSIONS[2:]}
