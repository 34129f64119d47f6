"""Tools of all pictures: axes to draw into, colours, short names, and triangles on which functions are linear."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
BLUE = "#1f5f8b"
ORANGE = "#d9622b"
YELLOW = "#f2c14e"
GREY = "#b5b5b5"

_MOST_CHARACTERS = 32  # of a name in a picture
_MOST_IN_TITLE = 56  # of a line of a title
_ROW, _BESIDE_ROWS = 0.3, 1.4  # inches of a row of a picture, and of what is above and below the rows
_FEWEST_ROWS = 3  # that are given place, so that a single bar is no block
POINTS = 72  # of an inch
_OF_A_ROW = 0.9  # of the height of a row, which a label may have


def axes_of(ax: Axes | None, *, rows: int = 0) -> Any:
    """Return the axes given, or those of a new figure, which is as high as so many rows need."""
    if ax is not None:
        return ax
    figure, axes = optional("matplotlib.pyplot").subplots(layout="constrained")
    if rows:
        figure.set_figheight(_ROW * rows + _BESIDE_ROWS)
    return axes


def hide_frame(axes: Any) -> Any:
    """Return the axes, without the lines of the frame above and on the right."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def shorten(name: str, most: int = _MOST_CHARACTERS) -> str:
    """Return the name, with "…" for its end if it is longer than 32 characters, or so many."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def set_title(axes: Any, text: str) -> None:
    """Set a title that may be a sentence, in lines of up to 56 characters; it breaks after a colon if that is enough."""
    head, _, tail = text.partition(": ")
    parts = [f"{head}:", tail] if tail and len(text) > _MOST_IN_TITLE >= max(len(head) + 1, len(tail)) else [text]
    axes.set_title("\n".join(fill(part, _MOST_IN_TITLE) for part in parts), fontsize="medium")


def check_drawn(value: object, kind: type | tuple[type, ...], name: str, source: str) -> None:
    """Refuse a value of another kind than the picture is of; ``source`` says what returns such values."""
    if not isinstance(value, kind):
        wanted = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(f"{name}= is a {type(value).__name__}, which is no {wanted}; give what {source} returns")


def show_whole_numbers(axes: Any, values: Integers) -> None:
    """Let the ticks below be whole numbers, over the range of the values (n,), and half a step beside it."""
    axes.xaxis.get_major_locator().set_params(integer=True)
    if len(values):
        axes.set_xlim(values[0] - 0.5, values[-1] + 0.5)


def feature_number(feature: str | int, names: Sequence[str]) -> int:
    """Return the number of a feature that is given by name or number."""
    number = list(names).index(feature) if isinstance(feature, str) and feature in names else feature
    if not isinstance(number, (int, np.integer)) or not 0 <= number < len(names):
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise InputError(f"there is no feature {feature!r}; give a name ({shown}) or a number below {len(names)}")
    return int(number)


def largest_parts(
    names: Sequence[str], parts: Floats, most: int, what: str, *, fewest: int = 0
) -> tuple[list[str], Floats]:  # fmt: skip
    """Return the ``most`` largest parts, the largest first, and the sum of all others, if there are any.

    The last axis of ``parts`` is that of the names; a part is as large as its values are together. Parts of 0 are left out
    where ``fewest`` parts are not 0. The others have a name such as "3 other features", for which ``what`` is in the plural.
    """
    size = np.abs(np.atleast_2d(parts)).sum(axis=0)
    order = np.argsort(-size, kind="stable")[: max(int(np.count_nonzero(size)), fewest)]
    shown, rest = order[:most], order[most:]
    if not len(rest):
        return [names[k] for k in shown], parts[..., shown]
    other = f"{len(rest)} other {what if len(rest) > 1 else what[:-1]}"
    sums = parts[..., rest].sum(axis=-1, keepdims=True)
    return [*(names[k] for k in shown), other], np.concatenate([parts[..., shown], sums], axis=-1)


def label_rows(axes: Any, labels: Sequence[str], *, most: int = _MOST_CHARACTERS) -> Any:
    """Return the axes of horizontal bars, each with its label, the first at the top; labels of many rows are small."""
    n = max(len(labels), _FEWEST_ROWS)
    middle = (len(labels) - 1) / 2
    axes.set_yticks(range(len(labels)), [shorten(label, most) for label in labels])
    axes.set_ylim(middle + n / 2, middle - n / 2)
    row = axes.get_window_extent().height / axes.figure.dpi * POINTS / n
    for label in axes.get_yticklabels():
        label.set_fontsize(min(label.get_fontsize(), _OF_A_ROW * row))
    axes.tick_params(axis="y", length=0)
    return hide_frame(axes)


def draw_on_triangles(axes: Any, x: Floats, y: Floats, values: Floats, **options: Any) -> tuple[Any, Any]:
    """Draw values (n, m) at the points of two axes, (n,) and (m,), linear on triangles; return the triangles and the image."""
    points = (side.ravel() for side in np.meshgrid(x, y, indexing="ij"))
    mesh = optional("matplotlib.tri").Triangulation(*points, triangles(*values.shape))
    return mesh, axes.tripcolor(mesh, values.ravel(), shading="gouraud", rasterized=True, **options)


def triangles(rows: int, columns: int) -> np.ndarray:
    """Return the two triangles (n_triangles, 3) of each cell, cut from its lowest to its highest corner."""
    row, column = (side.ravel() for side in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij"))
    corner = row * columns + column
    lower = np.column_stack([corner, corner + columns, corner + columns + 1])
    return np.vstack([lower, np.column_stack([corner, corner + columns + 1, corner + 1])])
