"""Pictures of what an additive model has learned: functions of one feature and of two (paper 0, Figs. 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.validation import check_count
from ..vectors.machines.shapes import Shapes
from .axes import BLUE, GREY, INK, axes_of, draw_on_triangles, hide_frame, label_rows, largest_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR_MAP = "PuOr_r"
_MOST_DOTS = 50  # of a curve, at its knots


def plot_curve(shapes: Any, feature: str | int, ax: Axes | None = None, *, name: str = "", label: str | None = None) -> Axes:
    """Draw f_n over the range of its feature, with a dot at every knot if there are at most 50.

    To compare several classes, draw them into the same axes with a ``label`` for each.

    Parameters
    ----------
    shapes : Shapes, or a fitted machine or pipeline
        Of a machine they are ``Shapes.of(machine)``; of three classes or more give ``Shapes.of(machine, of_class=...)``.
    feature : str or int
        Name or number of the feature.
    ax : matplotlib Axes or None
    name : str
        What the axis says; the name of the feature by default.
    label : str or None
        Label of the curve in a legend.

    Raises
    ------
    InputError
        If there is no such feature.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import PL1Embedding
    >>> shapes = Shapes.of(PL1Embedding(2).fit([[0.0], [1.0]]), [-1.0, 1.0])
    >>> plot_curve(shapes, 0, Figure().subplots(), name="height").get_xlabel()
    'height'
    """
    shapes = _shapes_of(shapes)
    f = shapes.feature_number(feature)
    axes = axes_of(ax)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    colour = None if label else BLUE
    marker = "o" if len(shapes.knots[f]) <= _MOST_DOTS else None
    axes.plot(shapes.knots[f], shapes.curves[f], color=colour, marker=marker, markersize=3, label=label)
    axes.set(xlabel=name or shapes.feature_names[f], ylabel="what it adds to the score")
    if label:
        axes.legend(frameon=False)
    return hide_frame(axes)


def plot_surface(
    shapes: Any, pair: Sequence[str | int], ax: Axes | None = None, *, total: bool = False, names: Sequence[str] = ()
) -> Axes:
    """Draw f_{n,l} on the triangles on which it is linear, so that the picture shows the function itself.

    Parameters
    ----------
    shapes : Shapes, or a fitted machine or pipeline
        Of a machine they are ``Shapes.of(machine)``; of three classes or more give ``Shapes.of(machine, of_class=...)``.
    pair : two str or int
        Names or numbers of the features.
    ax : matplotlib Axes or None
    total : bool, default False
        True draws f_n + f_l + f_{n,l}, all that the two features add to the score.
    names : sequence of two str
        What the axes say; the names of the features by default.

    Raises
    ------
    InputError
        If there is no such table.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import PL2Embedding
    >>> shapes = Shapes.of(PL2Embedding(2).fit([[0.0, 0.0], [1.0, 1.0]]), [0.0] * 7 + [1.0])
    >>> ax = plot_surface(shapes, (0, 1), Figure().subplots(), names=["height", "width"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('height', 'width')
    """
    shapes = _shapes_of(shapes)
    first, second = (shapes.feature_number(f) for f in pair)
    if (first, second) not in shapes.tables:
        known = ", ".join(map(str, list(shapes.tables)[:8]))
        raise InputError(f"pair={tuple(pair)!r} has no table; use one of {known}{', ...' if len(shapes.tables) > 8 else ''}")
    values = shapes.tables[first, second]
    if total:
        values = values + shapes.curves[first][:, None] + shapes.curves[second]
    axes = axes_of(ax)
    most = float(np.abs(values).max()) or 1.0
    knots = shapes.knots[first], shapes.knots[second]
    _, image = draw_on_triangles(axes, *knots, values, cmap=_COLOUR_MAP, vmin=-most, vmax=most)
    named = tuple(names) or (shapes.feature_names[first], shapes.feature_names[second])
    title = f"{named[0]} and {named[1]}, all that they add" if total else f"{named[0]} with {named[1]}"
    axes.set(xlabel=named[0], ylabel=named[1], title=title)
    axes.figure.colorbar(image, ax=axes, label="added to the score")
    return axes


def plot_shapes(shapes: Any, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw a bar for each function, from its least value to its largest one; the function that can change most is at the top.

    Parameters
    ----------
    shapes : Shapes, or a fitted machine or pipeline
        As of `plot_curve`.
    ax : matplotlib Axes or None
    most : int, default 12
        Number of functions that have a bar; the last bar is the sum of the least and of the largest values of all others.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import PL2Embedding
    >>> shapes = Shapes.of(PL2Embedding(2).fit([[0.0, 0.0], [1.0, 1.0]]), [0.0, 2.0] + [0.0] * 5 + [1.0])
    >>> [float(bar.get_width()) for bar in plot_shapes(shapes, Figure().subplots()).patches]
    [2.0, 1.0]
    """
    check_count("most", most)
    functions = _shapes_of(shapes).by_name()
    ends = np.array([[min(values.min(), 0.0), max(values.max(), 0.0)] for values in functions.values()]).reshape(-1, 2).T
    names, (least, largest) = largest_parts(list(functions), ends, most, "functions")
    axes = axes_of(ax, rows=len(names))
    colours = [BLUE if k < most else GREY for k in range(len(names))]
    axes.barh(range(len(names)), largest - least, left=least, color=colours, height=0.7)
    axes.axvline(0.0, color=INK, lw=0.8)
    axes.use_sticky_edges = False
    axes.set(xlabel="added to the score, least to largest", title="How far each function moves the score")
    return label_rows(axes, names)


def _shapes_of(given: Any) -> Shapes:
    return given if isinstance(given, Shapes) else Shapes.of(given)
