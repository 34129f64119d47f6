"""Exports of values: ``d.to_sql(...)`` names a function of `exports`, which is imported when it is called.

`exports` stands above the rooms whose values it writes in other languages, so these cannot import it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def exporter(module: str, name: str) -> Callable[..., Any]:
    """Return the function of a module of `exports` with this name."""
    function: Callable[..., Any] = getattr(import_module(f"..exports.{module}", __package__), name)
    return function
