"""The ticks of a table in a picture: knots and categories by name, as many as there is room for, so that none overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._foundation.types import Floats
from ..data.schema import Feature
from ..data.times import SCALE, times_of

_POINTS = 72  # of an inch
_SQUARE = 0.8  # share of the axes that a square table has beside its colour bar
_LEAST = 0.35  # share that it has however long the labels are
_WIDTH = 0.6  # sizes of the font that a character is wide, about
_APART = 1.7  # sizes of the font between two labels that are turned by 45 degrees
_LONGEST = 20  # characters of a label, which take room from the picture
_FEWEST_DIGITS, _MOST_DIGITS = 3, 17


def set_ticks(axes: Any, places: Floats, labels: Sequence[str]) -> None:
    """Label the places along both sides of a square table that are far enough apart, and mark the others by small ticks.

    Parameters
    ----------
    axes : matplotlib Axes
    places : ndarray of shape (n,)
        Increasing; the first and the last always have their labels.
    labels : sequence of str
        The names of the places.
    """
    texts, box = [_short(label) for label in labels], axes.get_window_extent()
    size, whole = float(axes.xaxis.label.get_size()), min(box.width, box.height) / axes.figure.dpi * _POINTS
    side = _SQUARE * whole
    if axes.figure.get_layout_engine() is not None:  # which takes the room of labels from the picture
        side = max(side - _WIDTH * size * max(map(len, texts)), _LEAST * whole)
    shown = _far_apart(places, _APART * size / side * float(places[-1] - places[0]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(places[shown], [texts[k] for k in shown])
        axis.set_ticks(places, minor=True)
    for label in axes.get_xticklabels():
        label.set(rotation=45, ha="right", rotation_mode="anchor")


def number_labels(values: Floats, feature: Feature | None) -> list[str]:
    """Knots of a number, an angle or a time as texts that differ where the knots do.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Increasing.
    feature : Feature or None
        What the column is; None of a direction, which is a number.
    """
    if feature is not None and feature.time == SCALE:
        return _times(values, feature.zone)
    if feature is not None and feature.kind == "periodic":
        texts = _numbers(np.mod(values[:-1], feature.period))
        return [*texts, texts[0]]  # the last is the first again
    return _numbers(values)


def level_labels(levels: Sequence[Any], feature: Feature | None) -> list[str]:
    """The levels of a table as texts: categories, or knots and what stands for a missing value."""
    numbers = [k for k, level in enumerate(levels) if isinstance(level, float)]
    texts = [str(level) for level in levels]
    if feature is None or feature.kind != "categorical":
        for k, text in zip(numbers, number_labels(np.array([levels[k] for k in numbers]), feature), strict=True):
            texts[k] = text
    return texts


def _far_apart(places: Floats, apart: float) -> list[int]:
    """Which places are shown: the first, the last, and those between that are ``apart`` from the one before and the last."""
    shown = [0]
    for k in range(1, len(places) - 1):
        if min(places[k] - places[shown[-1]], places[-1] - places[k]) >= apart:
            shown.append(k)
    return [*shown, len(places) - 1] if len(places) > 1 else shown


def _numbers(values: Floats) -> list[str]:
    """Different numbers as texts with as few digits as tell them apart."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        texts = [_number(value, digits) for value in values.tolist()]
        if len(set(texts)) == len(texts):
            break
    return texts


def _number(value: float, digits: int) -> str:
    """A number with so many digits, without an exponent where that is no longer."""
    short = f"{value:.{digits}g}"
    if "e" not in short or not 1e-4 <= abs(value) < 1e7:
        return short
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def _times(days: Floats, zone: str) -> list[str]:
    """Times as dates, with the time of the day where two of them lie on one day."""
    times = times_of(days, zone)
    dates = [f"{time:%Y-%m-%d}" for time in times]
    return dates if len(set(dates)) == len(dates) else [f"{time:%Y-%m-%d %H:%M}" for time in times]


def _short(text: str) -> str:
    """The text, cut where it is longer than a label may be."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
