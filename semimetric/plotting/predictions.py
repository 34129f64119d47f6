"""Pictures of predicted distances against true ones, with the intervals that are to hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.arrays import as_floats, check_finite
from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats
from ..distances.learning.errors import pair_errors
from .axes import BLUE, GREY, INK, ORANGE, axes_of, hide_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_DOTS = 5_000  # more pairs are drawn as a two-dimensional histogram
_MOST_BARS = 1_000  # of more pairs, intervals are drawn as a band
_STRIPS = 30  # along a band, with equally many pairs each


def plot_predicted(
    true: ArrayLike, predicted: ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike], ax: Axes | None = None
) -> Axes:
    """Draw predicted against true distances, with the line on which they are equal.

    Each interval is a bar, orange where it misses the true distance. Those of more than 1,000 pairs are a band, whose ends are
    medians over pairs of about the same predicted distance. The corner says which share of the true distances they hold.

    Parameters
    ----------
    true : array-like of shape (n_pairs,)
    predicted : array-like of shape (n_pairs,), or what ``model.predict(pairs, interval=0.9)`` returns
        The predicted distances; as a tuple of three, with the lower and the upper ends of their intervals.
    ax : matplotlib Axes or None

    Raises
    ------
    InputError
        If these are not arrays of finite numbers of the same length, or an interval ends below its beginning.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> true, predicted = [1.0, 2.0, 3.0], [1.1, 1.9, 3.0]
    >>> plot_predicted(true, predicted, Figure().subplots()).get_ylabel()
    'predicted distance'
    >>> ax = plot_predicted(true, (predicted, [0.9, 1.7, 2.8], [1.3, 2.1, 3.2]), Figure().subplots())  # with intervals
    """
    whole = isinstance(predicted, tuple) and len(predicted) == 3 and all(np.ndim(part) == 1 for part in predicted)
    given: Any = predicted if whole else (predicted,)
    names = ("predicted", "lower", "upper")
    t = as_floats(true, "true")
    parts = [as_floats(part, name) for part, name in zip(given, names, strict=False)]
    for part, name in zip(parts, names, strict=False):
        if t.ndim != 1 or t.shape != part.shape or not len(t):
            raise InputError(
                f"true has shape {t.shape} and {name} {part.shape}; two arrays (n_pairs,) of the same length are required"
            )
    check_finite(t, "true")
    for part, name in zip(parts, names, strict=False):
        check_finite(part, name)
    p, ends = parts[0], parts[1:]
    if ends and (ends[0] > ends[1]).any():
        k = int(np.argmax(ends[0] > ends[1]))
        raise InputError(
            f"interval {k} goes from {ends[0][k]:g} to {ends[1][k]:g}; give what predict(pairs, interval=) returns"
        )
    axes = axes_of(ax)
    every = np.concatenate([t, *parts])
    low, high = min(0.0, float(every.min())), max(0.0, float(every.max()))
    top = high + 0.04 * (high - low or 1.0)
    if ends:
        _draw_intervals(axes, t, p, *ends)
    if len(t) > _MOST_DOTS:
        axes.hexbin(t, p, gridsize=70, bins="log", cmap="Blues", mincnt=1, linewidths=0)
    else:
        axes.plot(t, p, "o", color=BLUE, alpha=0.35, ms=4, mew=0, rasterized=True)
    axes.plot([low, top], [low, top], color=ORANGE, lw=1.2)
    axes.set(xlabel="true distance", ylabel="predicted distance", aspect="equal", xlim=(low, top), ylim=(low, top))
    axes.text(0.04, 0.96, _agreement_text(t, p, ends), transform=axes.transAxes, va="top", color=INK)
    return hide_frame(axes)


def _draw_intervals(axes: Any, true: Floats, predicted: Floats, lower: Floats, upper: Floats) -> None:
    """Draw bars of the intervals, or of many pairs their medians as a band along the line."""
    if len(true) <= _MOST_BARS:
        held = (lower <= true) & (true <= upper)
        for some, colour in ((held, GREY), (~held, ORANGE)):
            axes.vlines(true[some], lower[some], upper[some], color=colour, lw=0.7, alpha=0.5)
        return
    strips = np.array_split(np.argsort(predicted, kind="stable"), _STRIPS)
    middle, left, right = (np.array([np.median(part[rows]) for rows in strips]) for part in (predicted, lower, upper))
    axes.fill_betweenx(middle, left, right, color=GREY, alpha=0.25, lw=0)


def _agreement_text(true: Floats, predicted: Floats, ends: list[Floats]) -> str:
    (median, _, correlation), lines = pair_errors(true, predicted), [f"{len(true):,} pairs"]
    if median is not None:
        lines.append(f"median error {100 * median:.2g} %")
    if correlation is not None:
        lines.append(f"correlation {correlation:.4f}")
    if ends:
        lines.append(f"{100 * ((ends[0] <= true) & (true <= ends[1])).mean():.1f} % in their intervals")
    return "\n".join(lines)
