"""Pictures of counterfactuals: what changes in a row, and how far each change goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._foundation.text import cell_text, number_text
from .._foundation.validation import check_count
from ..distances.estimators.prediction_counterfactuals import ColumnChange, PredictionCounterfactual
from ..distances.model.counterfactuals import Change, Counterfactual
from .axes import BLUE, GREY, INK, ORANGE, axes_of, check_drawn, label_rows, largest_parts, set_title, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 24  # characters of a column's name, beside its two values
_MOST_CHANGES = 60  # of a label


def plot_counterfactual(found: Counterfactual, ax: Axes | None = None) -> Axes:
    """Draw the distance of two items as it is, and after each change, with the distance that was asked for as a line.

    Parameters
    ----------
    found : Counterfactual
        What ``d.counterfactual(x, y)`` returns.
    ax : matplotlib Axes or None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import gower
    >>> found = gower([[0.0, 1.0], [2.0, 4.0]]).counterfactual([0.0, 1.0], [2.0, 3.0], within=0.5)
    >>> len(plot_counterfactual(found, Figure().subplots()).patches)
    2
    """
    check_drawn(found, Counterfactual, "found", "d.counterfactual(x, y)")
    labels = ["as it is", *map(_change_text, found.changes)]
    distances = [found.before, *(change.distance for change in found.changes)]
    axes = axes_of(ax, rows=len(labels))
    axes.barh(range(len(labels)), distances, color=[GREY] + [BLUE] * len(found.changes), height=0.7)
    if found.within is not None:
        axes.axvline(found.within, color=ORANGE, lw=1.2, label=f"asked for: {number_text(found.within)}")
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    axes.set_xlabel("distance after this change and those above")
    set_title(axes, found.title)
    return label_rows(axes, labels, most=_MOST_CHANGES)


def plot_prediction_counterfactual(found: PredictionCounterfactual, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw a bar for each column that changes, with its old and its new value, as long as its part of the distance.

    Parameters
    ----------
    found : PredictionCounterfactual
        What ``model.counterfactual(x)`` returns.
    ax : matplotlib Axes or None
    most : int, default 12
        Number of columns that have a bar, the largest; the sum of all others is the last bar.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import SemimetricClassifier
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = SemimetricClassifier(predictor="kernel_ridge").fit(X, X[:, 0] > 0.5)
    >>> axes = plot_prediction_counterfactual(model.counterfactual([0.2, 0.5]), Figure().subplots())
    >>> axes.get_title().startswith("no becomes yes (")
    True
    """
    check_count("most", most)
    check_drawn(found, PredictionCounterfactual, "found", "model.counterfactual(x)")
    parts = np.array([change.contribution for change in found.changes])
    names, lengths = largest_parts(
        [_change_text(change) for change in found.changes], parts, most, "changes", fewest=len(parts)
    )
    axes = axes_of(ax, rows=len(names))
    axes.barh(range(len(names)), lengths, color=[BLUE if k < most else GREY for k in range(len(names))], height=0.7)
    for row, length in enumerate(lengths):
        axes.annotate(
            number_text(length, 3), (length, row), (3, 0), textcoords="offset points", va="center", fontsize=8, color=INK
        )
    axes.margins(x=0.12)
    same = np.isclose(parts.sum(), found.distance, rtol=1e-6)
    axes.set_xlabel(f"part of the distance {'' if same else 'before the link '}to the row as it is")
    set_title(axes, found.title)
    return label_rows(axes, names, most=_MOST_CHANGES)


def _change_text(change: Change | ColumnChange) -> str:
    return f"{shorten(change.feature, _LONGEST)}: {cell_text(change.old)} → {cell_text(change.new)}"
