"""Pictures of why items are near: importances of features, and neighbours term by term; they need the extra ``plots``.

Each takes ``ax=None`` and returns the Axes, as all of `semimetric.plotting` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats
from .._foundation.validation import check_count
from ..distances.explanations import Explanation
from .axes import axes_of, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_explanation", "plot_importances"]

_BLUE, _GREY = "#1f5f8b", "#b5b5b5"
_COLOURS = (0, 1, 2, 3, 4, 5, 6, 8, 9)  # of the cycle of matplotlib, without its grey
_LONG = 32  # characters of a name in a picture


def plot_importances(model: Any, ax: Axes | None = None, *, most: int = 12) -> Axes:
    """Shares of the features in the distance between items and their impostors as bars, the largest first.

    Parameters
    ----------
    model : LargeMarginLearner, or SemimetricClassifier with one, that is fitted
        Anything with ``feature_importances_`` and ``semimetric_``.
    ax : matplotlib Axes or None
    most : int, default 12
        Features to show by name; the sum of the others is the last bar.

    Raises
    ------
    InputError
        If the model has no importances.
    """
    check_count("most", most)
    names, values = _importances(model)
    order = np.argsort(-values, kind="stable")
    shown, rest = order[:most], order[most:]
    labels, widths = [_short(names[f]) for f in shown], values[shown]
    if len(rest):
        labels, widths = [*labels, _others(len(rest), "feature")], np.append(widths, values[rest].sum())
    axes = axes_of(ax)
    axes.barh(range(len(labels)), widths, color=[_BLUE] * len(shown) + [_GREY] * (len(labels) - len(shown)), height=0.7)
    axes.set(xlabel="share of the distance to other classes", title="Which features tell the classes apart")
    return _rows(axes, labels)


def plot_explanation(explanation: Explanation, ax: Axes | None = None, *, most: int = 8) -> Axes:
    """The neighbours of one item, a bar each, made of the terms of its distance; the nearest is at the top.

    Parameters
    ----------
    explanation : Explanation
        What ``explain_neighbors`` gives.
    ax : matplotlib Axes or None
    most : int, default 8
        Terms with a colour of their own, the largest over all neighbours; the others are one part, in grey.
    """
    check_count("most", most)
    if not isinstance(explanation, Explanation):
        raise InputError(f"explanation={explanation!r} is no Explanation; give what model.explain_neighbors(x) returns")
    names, parts = _largest_terms(explanation, most)
    axes, left = axes_of(ax), np.zeros(len(parts))
    for k, (name, part) in enumerate(zip(names, parts.T, strict=True)):
        colour = _GREY if k == most else f"C{_COLOURS[k % len(_COLOURS)]}"
        axes.barh(range(len(part)), part, left=left, color=colour, height=0.7, label=_short(name))
        left = left + part
    if names:
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    labels = [f"{row} ({_short(str(target))})" for row, target in zip(explanation.indices, explanation.targets, strict=True)]
    axes.set(xlabel=_scale(explanation), title="Why these are the nearest")
    return _rows(axes, labels)


def _importances(model: Any) -> tuple[tuple[str, ...], Floats]:
    learner = getattr(model, "learner_", model)
    values, d = (getattr(learner, name, None) for name in ("feature_importances_", "semimetric_"))
    if values is None or d is None:
        raise InputError(
            f"{type(model).__name__} has no feature_importances_; give a LargeMarginLearner that is fitted, or a "
            "SemimetricClassifier with one"
        )
    return d.feature_names, np.asarray(values)


def _largest_terms(explanation: Explanation, most: int) -> tuple[list[str], Floats]:
    """Names and contributions, shape (k, n), of the largest terms that are not 0 everywhere, then all others as one."""
    size = np.abs(explanation.contributions).sum(axis=0)
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    names, parts = [explanation.terms[t] for t in order[:most]], explanation.contributions[:, order[:most]]
    if len(order) > most:
        names.append(_others(len(order) - most, "term"))
        parts = np.column_stack([parts, explanation.contributions[:, order[most:]].sum(axis=1)])
    return names, parts


def _scale(explanation: Explanation) -> str:
    """What the bars add up to: the distance, or what the link makes it of."""
    sums = explanation.contributions.sum(axis=1)
    return "distance" if np.allclose(sums, explanation.distances, rtol=1e-6) else "distance before the link"


def _others(n: int, what: str) -> str:
    return f"{n} other {what}{'s' if n > 1 else ''}"


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


def _rows(axes: Any, labels: list[str]) -> Any:
    """A line a label, the first at the top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    plain(axes)
    return axes
