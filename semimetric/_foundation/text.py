"""Small tables of words and numbers as text, and as HTML for notebooks."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from .arrays import is_missing

_MOST_CHARACTERS = 24  # of a cell


def cell_text(value: Any) -> str:
    """Return a value as short text: numbers with four digits, other things cut after 24 characters."""
    if is_missing(value):
        return "(missing)"
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
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
