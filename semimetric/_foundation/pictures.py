"""Pictures of values: ``value.plot(ax)`` names a function of `plotting`, which is imported when it is called.

`plotting` stands above the rooms whose values it draws, so these cannot import it. `tests/laws/test_layers.py` checks that the
function that a value names exists, and draws values of its class.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes: TypeAlias = Any  # matplotlib is an extra


def picture(name: str) -> Callable[..., Axes]:
    """Return the function of `plotting` with this name."""
    drawn: Callable[..., Axes] = getattr(import_module("..plotting", __package__), name)
    return drawn
