"""Tools of all pictures: axes to draw into, colours, short names, and triangles on which functions are linear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.optional_imports import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
BLUE = "#1f5f8b"
ORANGE = "#d9622b"
YELLOW = "#f2c14e"
GREY = "#b5b5b5"

_MOST_CHARACTERS = 32  # of a name in a picture


def axes_of(ax: Axes | None) -> Any:
    """Return the axes given, or those of a new figure."""
    return ax if ax is not None else optional("matplotlib.pyplot").subplots(layout="constrained")[1]


def hide_frame(axes: Any) -> Any:
    """Return the axes, without the lines of the frame above and on the right."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def shorten(name: str) -> str:
    """Return the name, cut after 31 characters if it is longer than 32."""
    return name if len(name) <= _MOST_CHARACTERS else f"{name[: _MOST_CHARACTERS - 1]}…"


def others(n: int, what: str) -> str:
    """Return the name of the bar of the n smallest, such as "3 other features"; ``what`` is in the plural."""
    return f"{n} other {what if n > 1 else what[:-1]}"


def triangles(rows: int, columns: int) -> np.ndarray:
    """Return the two triangles (n_triangles, 3) of each cell, cut from its lowest to its highest corner."""
    row, column = (side.ravel() for side in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij"))
    corner = row * columns + column
    lower = np.column_stack([corner, corner + columns, corner + columns + 1])
    return np.vstack([lower, np.column_stack([corner, corner + columns + 1, corner + 1])])
