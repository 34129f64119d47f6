"""What pictures share: axes to draw into, without boxes, and the triangles on which functions of two values are linear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.optional_imports import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes_of", "plain", "triangles"]


def axes_of(ax: Axes | None) -> Any:
    """The axes given, or those of a new figure."""
    return ax if ax is not None else optional("matplotlib.pyplot").subplots(layout="constrained")[1]


def plain(axes: Any) -> Any:
    """The axes, without a frame above and on the right."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def triangles(rows: int, columns: int) -> np.ndarray:
    """Two triangles a cell of a grid of points, cut from (low, low) to (high, high): the simplices of the embeddings."""
    a, b = (side.ravel() for side in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij"))
    corner = a * columns + b
    lower = np.column_stack([corner, corner + columns, corner + columns + 1])
    return np.vstack([lower, np.column_stack([corner, corner + columns + 1, corner + 1])])
