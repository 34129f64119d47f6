"""Pictures of a learned distance.

The table of one feature is linear on triangles between its knots, and is drawn on exactly these triangles. So the picture shows
the distance itself, with its kinks at the right places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._foundation.arrays import n_axes
from .._foundation.errors import InputError, NotSupportedError
from .._foundation.text import cell_text
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_count
from ..data.schema import Feature
from ..data.times import SCALE, times_of
from ..distances.estimators.base import LearnedDistance
from ..distances.model.semimetric import Semimetric
from ..distances.pairs.base import NamedTables, Table
from .axes import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    POINTS,
    axes_of,
    check_drawn,
    draw_on_triangles,
    feature_number,
    hide_frame,
    label_rows,
    largest_parts,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Learned: TypeAlias = Semimetric | LearnedDistance

_COLOUR_MAP = "YlGnBu"
_STEPS = 121  # points along a feature
_MIN_CELLS = 60  # along a side of the picture of a table


def plot_table(d: Learned | Table, term: str | int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the table of one feature in colors with contours; the ticks are the knots, or the categories.

    As many ticks have labels as fit; times are dates, and truth values yes and no.

    Parameters
    ----------
    d : Semimetric, a learner that is fitted, or Table
    term : str, int or None, default None
        Name of a one-feature term, or its place in ``d.terms``; None of a table such as ``d.tables()["age"]``.
    ax : matplotlib Axes or None

    Raises
    ------
    InputError
        If there is no such table, or the feature was constant; or if a term is named beside a table.
    NotSupportedError
        If the term is a group of several features.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import gower
    >>> d = gower([[0.0, 1.0], [2.0, 4.0]])
    >>> plot_table(d, "x0", Figure().subplots()).get_xlabel()
    'x0 of x'
    """
    if isinstance(d, Table) and term is not None:
        raise InputError(f"term={term!r} is given beside a table, which is one term; leave it out")
    name, table = _drawable(d if isinstance(d, Table) else _find_table(_distance(d), term))
    axes = axes_of(ax)
    knots, label = table.knots[0], f"part of the {table.part_of}"
    feature = table.columns[0] if table.columns else Feature(name)
    if feature.kind == "categorical" or np.isnan(knots).any() or (feature.truth and len(knots) == 2):
        levels = table.levels[0] if table.levels else knots.tolist()
        return _draw_levels(name, table, level_labels(levels, feature), label, axes)
    points, values = _refine(knots, table.values)
    mesh, image = draw_on_triangles(axes, points, points, values, cmap=_COLOUR_MAP)
    if np.ptp(values) > 0:
        axes.tricontour(mesh, values.ravel(), levels=7, colors=INK, linewidths=0.5, alpha=0.45)
    set_ticks(axes, knots, number_labels(knots, feature))
    axes.set(xlabel=f"{name} of x", ylabel=f"{name} of y", aspect="equal", title=f"What {name} adds to the distance")
    axes.figure.colorbar(image, ax=axes, label=label, shrink=0.85)
    return axes


def plot_tables(tables: NamedTables, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw the most that each term can add to a distance within the range of the fit as bars, the largest first.

    Parameters
    ----------
    tables : NamedTables
        What ``d.tables()`` returns.
    ax : matplotlib Axes or None
    most : int, default 12
        Number of terms that have a bar; the sum of all others is the last bar.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import gower
    >>> len(plot_tables(gower([[0.0, 1.0], [2.0, 4.0]]).tables(), Figure().subplots()).patches)
    2
    """
    check_count("most", most)
    check_drawn(tables, NamedTables, "tables", "d.tables()")
    values = [float(table.values.max()) for table in tables.values()]
    names, largest = largest_parts(list(tables), np.array(values), most, "terms", fewest=len(values))
    axes = axes_of(ax, rows=len(names))
    axes.barh(range(len(names)), largest, color=[BLUE if k < most else GREY for k in range(len(names))], height=0.7)
    part_of = next(iter(tables.values())).part_of if tables else "distance"
    axes.set(xlabel=f"largest part of the {part_of}", title="The most that each term can add")
    return label_rows(axes, names)


def plot_around(
    d: Learned, x: ArrayLike, features: Sequence[str | int], X: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw d(x, .) over one or two features, while all others keep their values in x.

    Parameters
    ----------
    d : Semimetric, or a learner that is fitted
    x : array-like of shape (n_features,)
    features : sequence of str or int
        Names or numbers of one or two raw features that are not categorical; one gives a line.
    X : array-like of shape (n_items, n_features) or None
        Items to draw, which also set the range. Without them it is the range of the training items.
    ax : matplotlib Axes or None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import gower
    >>> d = gower([[0.0, 1.0], [2.0, 4.0]])
    >>> ax = plot_around(d, [0.5, 2.0], ["x0", "x1"], ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'x1')
    """
    d = _distance(d)
    point = d.schema.encode(d.schema.rows(x), name="x")[0]
    numbers = _feature_numbers(d, features)
    items = None if X is None else d.schema.encode(X)
    spans = [_span(d, feature, point, items) for feature in numbers]
    axes = axes_of(ax)
    if len(numbers) == 1:
        return _draw_line(d, point, numbers[0], spans[0], items, axes)
    first, second = numbers
    values = _distances_from(d, point, numbers, np.meshgrid(*spans)).reshape(_STEPS, _STEPS)
    image = axes.contourf(*spans, values, levels=14, cmap=_COLOUR_MAP)
    axes.contour(*spans, values, levels=image.levels, colors=INK, linewidths=0.4, alpha=0.4)
    if items is not None:
        axes.plot(items[:, first], items[:, second], ".", color=INK, alpha=0.25, ms=3, mew=0)
    axes.plot(*point[[first, second]], "o", color=ORANGE, ms=9, mec="white", mew=1.5)
    axes.set(xlabel=d.feature_names[first], ylabel=d.feature_names[second], title="Distance from the marked point")
    axes.set(xlim=spans[0][[0, -1]], ylim=spans[1][[0, -1]])
    axes.figure.colorbar(image, ax=axes, label="distance", shrink=0.85)
    return axes


def plot_contributions(
    d: Learned, x: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, most: int = 12, by: str = "features"
) -> Axes:
    """Draw what features add to the distance of one pair as bars, the largest first; they sum to the distance before the link.

    Parameters
    ----------
    d : Semimetric, or a learner that is fitted
    x, y : array-like of shape (n_features,)
    ax : matplotlib Axes or None
    most : int, default 12
        Number of features that have a bar; the sum of all others is the last bar.
    by : {"features", "terms"}, default "features"
        By "terms", directions and joint tables have bars of their own; see `Semimetric.contributions`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import gower
    >>> d = gower([[0.0, 1.0], [2.0, 4.0]])
    >>> len(plot_contributions(d, [0.0, 1.0], [2.0, 3.0], Figure().subplots()).patches)
    2
    """
    d = _distance(d)
    if most < 1:
        raise InputError(f"most={most!r} must be at least 1")
    if n_axes(x) != 1 or n_axes(y) != 1:
        raise InputError(f"x has shape {np.shape(x)} and y {np.shape(y)}; one pair of vectors ({d.n_features},) is required")
    names, values = largest_parts(d.contribution_names(by), d.contributions(x, y, by=by), most, by, fewest=1)
    total = float(values.sum())
    axes = axes_of(ax)
    colours = [BLUE if k < most else GREY for k in range(len(names))]
    axes.barh(range(len(names)), values, color=colours, height=0.7)
    for row, value in enumerate(values):
        axes.annotate(f"{value:.3g}", (value, row), (3, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    axes.margins(x=0.12)
    distance = float(d.link_function.apply(np.array(total)))
    linked = "" if d.link_function.straight else f", {'its root' if d.link == 'sqrt' else 'distance'} {distance:.3g}"
    axes.set(xlabel=f"part of the {d.sum_name}", title=f"Where the distance comes from: sum {total:.3g}{linked}")
    return label_rows(axes, names)


def _distance(d: Learned) -> Semimetric:
    found = getattr(d, "semimetric_", d)
    if not isinstance(found, Semimetric):
        raise InputError(f"d= is a {type(d).__name__}, no Semimetric; give model.semimetric_ of a model that is fitted")
    return found


def _find_table(d: Semimetric, term: str | int | None) -> Table:
    tables = d.tables()
    if isinstance(term, (int, np.integer)) and 0 <= term < len(tables):
        term = d.terms[term]
    if term not in tables:
        names = list(tables)
        shown = ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
        raise InputError(f"there is no table {term!r}; give one of: {shown}")
    return tables[str(term)]


def _drawable(table: Table) -> tuple[str, Table]:
    """Return the name of a table, and the table, if it is one of one feature that varies."""
    name = " * ".join(table.names or map(str, table.features))
    if len(table.features) > 1:
        raise NotSupportedError(
            f"{name!r} joins {len(table.features)} features, too many for a picture; draw the distance around a point "
            "over two of them with plot_around"
        )
    if len(table.knots[0]) < 2:
        raise InputError(f"{name!r} was constant in training and adds nothing to the distance; draw another term")
    return name, table


def _draw_levels(name: str, table: Table, levels: Sequence[str], label: str, axes: Any) -> Any:
    """Draw a table of categories, or one with a level for missing values, with a square for each pair of levels."""
    image = axes.imshow(table.values, cmap=_COLOUR_MAP, rasterized=True)
    set_ticks(axes, np.arange(len(levels), dtype=np.float64), levels)
    axes.set(xlabel=f"{name} of y", ylabel=f"{name} of x", title=f"What {name} adds to the distance")
    axes.figure.colorbar(image, ax=axes, label=label, shrink=0.85)
    return axes


def _refine(knots: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return a finer grid (n,) that contains the knots, and the table (n, n) there, interpolated on the same triangles."""
    parts = max(1, -(-_MIN_CELLS // (len(knots) - 1)))
    position = np.arange((len(knots) - 1) * parts + 1) / parts
    low = np.minimum(position.astype(np.int64), len(knots) - 2)
    u, v = np.meshgrid(position - low, position - low, indexing="ij")
    ll, lu, ul, uu = (values[np.ix_(low + a, low + b)] for a in (0, 1) for b in (0, 1))  # at lower and upper knots
    fine = np.where(u >= v, ll + u * (ul - ll) + v * (uu - ul), ll + v * (lu - ll) + u * (uu - lu))
    return np.interp(position, np.arange(len(knots)), knots), fine


def _draw_line(d: Semimetric, point: Floats, feature: int, span: Floats, items: Floats | None, axes: Any) -> Any:
    axes.plot(span, _distances_from(d, point, (feature,), [span]), color=BLUE)
    if items is not None:
        axes.plot(items[:, feature], np.zeros(len(items)), "|", color=INK, alpha=0.4)
    axes.plot(point[feature], 0.0, "o", color=ORANGE, ms=9, mec="white", mew=1.5)
    axes.set(xlabel=d.feature_names[feature], ylabel="distance", title="Distance from the marked point", xlim=span[[0, -1]])
    return hide_frame(axes)


def _feature_numbers(d: Semimetric, features: Sequence[str | int]) -> tuple[int, ...]:
    if isinstance(features, str) or len(features) not in (1, 2):
        raise InputError(f"features={features!r} must be one or two names or numbers of features, such as (0, 1)")
    chosen = tuple(feature_number(feature, d.feature_names) for feature in features)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"features={features!r} name the same feature twice; two different ones are required")
    return chosen


def _span(d: Semimetric, feature: int, point: Floats, items: Floats | None) -> Floats:
    """Return the values of a feature to draw, shape (_STEPS,): the range of items or grid, widened to hold the point."""
    grid = d.embedding.grid
    if grid.kinds[feature] == "categorical":
        raise NotSupportedError(
            f"{d.feature_names[feature]!r} has categories, between which nothing can be drawn; see its table with plot_table"
        )
    ends = [grid.low[feature], grid.high[feature]] if items is None else items[:, feature]
    low = np.fmin(np.nanmin(ends), point[feature])
    high = np.fmax(np.nanmax(ends), point[feature])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _STEPS)


def _distances_from(d: Semimetric, point: Floats, features: Sequence[int], values: Sequence[Floats]) -> Floats:
    """Return distances (n,) from a point to points that differ from it in these features, each with n ``values``."""
    others = np.tile(point, (values[0].size, 1))
    for feature, column in zip(features, values, strict=True):
        others[:, feature] = column.ravel()
    pairs = np.column_stack([np.zeros(len(others), np.int64), 1 + np.arange(len(others))])
    return d.paired_by_index(np.vstack([point, others]), pairs)


_SQUARE = 0.8  # share of the axes that a square table has beside its colour bar
_LEAST = 0.35  # share that it has however long the labels are
_WIDTH = 0.6  # sizes of the font that a character is wide, about
_APART = 1.7  # sizes of the font between two labels that are turned by 45 degrees
_LONGEST = 20  # characters of a label, which make the picture smaller
_FEWEST_DIGITS, _MOST_DIGITS = 3, 17


def set_ticks(axes: Any, places: Floats, labels: Sequence[str]) -> None:
    """Label increasing ``places`` (n,) along a square table that are far enough apart; others have small ticks."""
    texts = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in labels]
    box = axes.get_window_extent()
    size, whole = float(axes.xaxis.label.get_size()), min(box.width, box.height) / axes.figure.dpi * POINTS
    side = _SQUARE * whole
    if axes.figure.get_layout_engine() is not None:  # which makes the picture smaller by its labels
        side = max(side - _WIDTH * size * max(map(len, texts)), _LEAST * whole)
    shown = _far_apart(places, _APART * size / side * float(places[-1] - places[0]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(places[shown], [texts[k] for k in shown])
        axis.set_ticks(places, minor=True)
    for label in axes.get_xticklabels():
        label.set(rotation=45, ha="right", rotation_mode="anchor")


def number_labels(values: Floats, feature: Feature) -> list[str]:
    """Return knots (n,) of a number, an angle, a time or a truth value as texts that differ where the knots do."""
    if feature.time == SCALE:
        return _times(values, feature.zone)
    if feature.truth and np.isin(values, (0.0, 1.0)).all():
        return [cell_text(bool(value)) for value in values]
    if feature.kind == "periodic":
        texts = _numbers(np.mod(values[:-1], feature.period))
        return [*texts, texts[0]]  # the last is the first again
    return _numbers(values)


def level_labels(levels: Sequence[Any], feature: Feature) -> list[str]:
    """Return the levels of a table as texts: categories, or knots and what stands for a missing value."""
    numbers = [k for k, level in enumerate(levels) if isinstance(level, float)]
    texts = [cell_text(level) if isinstance(level, bool) else str(level) for level in levels]
    if feature.kind != "categorical":
        for k, text in zip(numbers, number_labels(np.array([levels[k] for k in numbers]), feature), strict=True):
            texts[k] = text
    return texts


def _far_apart(places: Floats, apart: float) -> list[int]:
    """Return the first place, the last, and those between that are ``apart`` from the one before and the last."""
    shown = [0]
    for k in range(1, len(places) - 1):
        if min(places[k] - places[shown[-1]], places[-1] - places[k]) >= apart:
            shown.append(k)
    return [*shown, len(places) - 1] if len(places) > 1 else shown


def _numbers(values: Floats) -> list[str]:
    """Return different numbers as texts with as few digits as distinguish them."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        texts = [_number(value, digits) for value in values.tolist()]
        if len(set(texts)) == len(texts):
            break
    return texts


def _number(value: float, digits: int) -> str:
    short = f"{value:.{digits}g}"
    if "e" not in short or not 1e-4 <= abs(value) < 1e7:
        return short
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def _times(days: Floats, zone: str) -> list[str]:
    """Return times as dates, with the time of the day where two of them lie on one day."""
    times = times_of(days, zone)
    dates = [f"{time:%Y-%m-%d}" for time in times]
    return dates if len(set(dates)) == len(dates) else [f"{time:%Y-%m-%d %H:%M}" for time in times]
