"""Pictures of why items are near: importances of features, and what features add to the distances of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_regressor

from .._foundation.errors import InputError
from .._foundation.text import number_text
from .._foundation.types import Floats
from .._foundation.validation import check_count
from ..distances.estimators.left_out import RefittedColumns
from ..distances.estimators.prediction_explanations import PredictionExplanation
from ..distances.model.explanations import Explanation
from .axes import BLUE, GREY, INK, ORANGE, axes_of, check_drawn, label_rows, largest_parts, set_title, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 24  # characters of a column's name, beside its value
_MOST_LABEL = 52  # characters of both
_CYCLE = (0, 1, 2, 3, 4, 5, 6, 8, 9)  # colours of matplotlib's cycle, without its grey


def plot_importances(model: Any, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw the shares of the features in the learned distance as bars, the largest first.

    For classes it is the distance between items and their impostors.

    Parameters
    ----------
    model : LargeMarginLearner, SemimetricClassifier or SemimetricRegressor that is fitted
        Anything with ``feature_importances_`` and ``semimetric_``.
    ax : matplotlib Axes or None
    most : int, default 12
        Number of features that have a bar; the sum of all others is the last bar.

    Raises
    ------
    InputError
        If the model has no importances.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import LargeMarginLearner
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped").fit(X, X[:, 0] > 0.5)
    >>> len(plot_importances(model, Figure().subplots()).patches)
    2
    """
    check_count("most", most)
    names, values = _importances(model)
    labels, widths = largest_parts(names, values, most, "features", fewest=len(names))
    axes = axes_of(ax, rows=len(labels))
    axes.barh(range(len(labels)), widths, color=[BLUE if k < most else GREY for k in range(len(labels))], height=0.7)
    if is_regressor(model):
        axes.set(xlabel="share of the distance", title="Which features the distance counts")
    else:
        axes.set(xlabel="share of the distance to other classes", title="Which features separate the classes")
    return label_rows(axes, labels)


def plot_explanation(explanation: Explanation, ax: Axes | None = None, *, most: int = 8) -> Axes:
    """Draw a bar for each neighbour of an item, made of what each feature adds to its distance; the nearest is at the top.

    Parameters
    ----------
    explanation : Explanation
        What ``explain_neighbors`` returns, by features or by terms.
    ax : matplotlib Axes or None
    most : int, default 8
        Number of features with a colour of their own, the largest over all neighbours; the others are one grey part.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import NeighborIndex, gower
    >>> X = [[0.0, 1.0], [2.0, 4.0], [3.0, 0.0]]
    >>> explanation = NeighborIndex(gower(X)).fit(X).explain([1.0, 1.0], n_neighbors=2)
    >>> len(plot_explanation(explanation, Figure().subplots()).get_yticks())
    2
    """
    check_count("most", most)
    check_drawn(explanation, Explanation, "explanation", "model.explain_neighbors(x)")
    names, parts = largest_parts(explanation.terms, explanation.contributions, most, explanation.by)
    axes = axes_of(ax, rows=len(parts))
    left = np.zeros(len(parts))
    for k, (name, part) in enumerate(zip(names, parts.T, strict=True)):
        colour = GREY if k == most else f"C{_CYCLE[k % len(_CYCLE)]}"
        axes.barh(range(len(part)), part, left=left, color=colour, height=0.7, label=shorten(name))
        left = left + part
    if names:
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set(xlabel=explanation.sum_name, title="Why these are the nearest")
    return label_rows(axes, explanation.names)


def plot_prediction_explanation(explanation: PredictionExplanation, ax: Axes | None = None, *, most: int = 8) -> Axes:
    """Draw a bar for each column, with its value, as long as what it adds to the score; blue speaks for it, orange against it.

    The bars add up from the mean score to that of the row, which the axis names. Black lines are standard errors.

    Parameters
    ----------
    explanation : PredictionExplanation
        What ``model.explain(x)`` returns.
    ax : matplotlib Axes or None
    most : int, default 8
        Number of columns that have a bar, the largest; the sum of all others is the last bar.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import SemimetricClassifier
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = SemimetricClassifier(predictor="kernel_ridge").fit(X, X[:, 0] > 0.5)
    >>> len(plot_prediction_explanation(model.explain([0.2, 0.5]), Figure().subplots()).patches)
    2
    """
    check_count("most", most)
    check_drawn(explanation, PredictionExplanation, "explanation", "model.explain(x)")
    lines = explanation.largest(most)
    adds, errors = (np.array([getattr(line, name) for line in lines]) for name in ("adds", "error"))
    axes = axes_of(ax, rows=len(lines))
    bars = {"xerr": errors, "error_kw": {"ecolor": INK, "lw": 1.0}} if np.nan_to_num(errors).any() else {}
    axes.barh(range(len(lines)), adds, color=np.where(adds > 0, BLUE, ORANGE), height=0.7, **bars)
    axes.axvline(0.0, color=INK, lw=0.8)
    ends = f"mean {number_text(explanation.base_score, 3)}, this row {number_text(explanation.score, 3)}"
    axes.set_xlabel(f"adds to the {explanation.score_text}\n({ends})")
    set_title(axes, explanation.title)
    named = [f"{shorten(line.name, _LONGEST)} = {line.value}" if line.value else line.name for line in lines]
    return label_rows(axes, named, most=_MOST_LABEL)


def plot_refitted_columns(refits: RefittedColumns, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Draw a bar for each column, as long as the rise of the error if its values are shuffled, with two standard deviations.

    Parameters
    ----------
    refits : RefittedColumns
        What ``model.refitted_columns()`` returns.
    ax : matplotlib Axes or None
    most : int, default 12
        Number of columns that have a bar, those that matter most; the others are left out, which the axis says.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import SemimetricClassifier
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = SemimetricClassifier(predictor="kernel_ridge").fit(X, X[:, 0] > 0.5)
    >>> len(plot_refitted_columns(model.refitted_columns(), Figure().subplots()).patches)
    2
    """
    check_count("most", most)
    check_drawn(refits, RefittedColumns, "refits", "model.refitted_columns()")
    order = np.argsort(-refits.importances, kind="stable")
    shown = order[:most]
    axes = axes_of(ax, rows=len(shown))
    errors = 2 * refits.deviations[shown]
    axes.barh(
        range(len(shown)), refits.importances[shown], xerr=errors, color=BLUE, error_kw={"ecolor": INK, "lw": 1.0}, height=0.7
    )
    axes.axvline(0.0, color=INK, lw=0.8)
    left_out = f", the {most} largest of {len(order)} columns" if len(order) > most else ""
    axes.set_xlabel(f"rise of the squared error / variance{left_out}")
    set_title(axes, f"Which columns matter: one is shuffled, {len(refits.losses)} refits ± two deviations")
    return label_rows(axes, [refits.features[f] for f in shown])


def _importances(model: Any) -> tuple[tuple[str, ...], Floats]:
    learner = getattr(model, "learner_", model)
    values = getattr(learner, "feature_importances_", None)
    d = getattr(learner, "semimetric_", None)
    if values is None or d is None:
        raise InputError(
            f"{type(model).__name__} has no feature_importances_; give a LargeMarginLearner that is fitted, or a "
            "SemimetricClassifier with one"
        )
    return d.feature_names, np.asarray(values)
