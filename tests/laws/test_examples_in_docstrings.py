"""Every public class and function has an example in its docstring; `pytest --doctest-modules` runs them all."""

import inspect
from importlib import import_module

import pytest

PUBLIC_MODULES = ("", ".plotting", ".datasets", ".vectors", ".out_of_core")


def public():
    for module in PUBLIC_MODULES:
        found = import_module(f"semimetric{module}")
        for name in found.__all__:
            if inspect.isclass(getattr(found, name)) or inspect.isfunction(getattr(found, name)):
                yield pytest.param(getattr(found, name), id=f"semimetric{module}.{name}")


@pytest.mark.parametrize("made", list(public()))
def test_what_is_public_has_an_example(made):
    _, title, example = (inspect.getdoc(made) or "").partition("\nExamples\n--------\n")
    assert title, f"{made.__qualname__} has no section Examples"
    assert example.startswith(">>> ")
