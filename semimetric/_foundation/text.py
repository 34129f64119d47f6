"""Small tables of words and numbers as text, and as HTML for notebooks."""

from collections.abc import Sequence
from datetime import date, datetime
from html import escape
from typing import Any

import numpy as np

from .arrays import is_missing

_MOST_CHARACTERS = 24  # of a cell
_MOST_WRITTEN = 1e15  # numbers from here on are powers of ten


def number_text(value: float, digits: int = 4) -> str:
    """Return a number with so many digits as people write it: 0.1235, 12.35, 1235, 21,560; powers of ten only if extreme."""
    if not 9_999.5 <= abs(value) < _MOST_WRITTEN:
        return f"{value + 0.0:.{digits}g}"  # no minus before 0
    text = f"{value:,.{max(digits - 1 - int(np.log10(abs(value))), 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds_text(seconds: float) -> str:
    """Return a duration in the unit that suits it: 1.2 s, 35 ms, 0.5 µs."""
    unit, factor = next(((u, f) for u, f in (("s", 1.0), ("ms", 1e-3)) if seconds >= f), ("µs", 1e-6))
    return f"{seconds / factor:.3g} {unit}"


def time_text(value: date) -> str:
    """Return a date, or a time to the minute without its zone; a time at midnight is a date."""
    if not isinstance(value, datetime) or (value.hour, value.minute) == (0, 0):
        return f"{value:%Y-%m-%d}"
    return f"{value:%Y-%m-%d %H:%M}"


def cell_text(value: Any) -> str:
    """Return a value as short text: numbers with four digits, truth values in words, others cut after 24 characters."""
    if is_missing(value):
        return "(missing)"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, date):
        return time_text(value)
    text = number_text(float(value)) if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def text_table(rows: Sequence[Sequence[str]], *, left: int = 0) -> list[str]:
    """Return a line for each row, with columns of equal width, the first ``left`` aligned left, others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    align = [str.ljust if k < left else str.rjust for k in range(len(widths))]
    return ["  ".join(put(c, w) for put, c, w in zip(align, row, widths, strict=True)) for row in rows]


def html_table(rows: Sequence[Sequence[str]], *, title: str = "", notes: Sequence[str] = ()) -> str:
    """Return rows as a table of HTML, the first as header, under a title and above notes; text is escaped."""
    tags = ["td" if k else "th" for k in range(len(rows))]
    head, *body = ("".join(f"<{tag}>{escape(c)}</{tag}>" for c in row) for row, tag in zip(rows, tags, strict=True))
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<div><table>{caption}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{below}</div>"
