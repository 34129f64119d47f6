"""Dates and times that a condition names, and a column of times that it compares with them.

A value is written as ISO 8601 has it: ``2024-01-31``, ``2024-01-31T08:30``, ``2024-01-31 08:30:00.5+01:00``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats
from .texts import TextCells
from .times import SCALE, days_or_hours

_LOOKS = re.compile(r"\d+([-/.])\d+\1\d+.*|\d{4}-\d\d?")  # which no number does
_WHOLE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?")


@dataclass(frozen=True)
class Moment:
    """A date or a time of a condition, as it is written; one without an offset is in UTC where times have a time zone."""

    text: str
    time: datetime


@dataclass(frozen=True, eq=False)
class TimeCells:
    """A column of times, as a condition compares them."""

    days: Floats  # (n_rows,), days since 1970-01-01, in UTC if the column has a time zone; NaN where a time is missing
    zone: str  # "UTC" if the times have a time zone, "" if they have none

    def number(self, value: float | str | Moment, column: str) -> float:
        """Return a value of a condition on the scale of ``days``."""
        if isinstance(value, float):
            raise InputError(
                f"the condition compares {column}, a column of times, with a number, {value!r}; a date such as 2024-01-31 or a "
                "time such as 2024-01-31T08:30 is required"
            )
        time = (value if isinstance(value, Moment) else read_moment(value)).time
        if time.tzinfo is not None and not self.zone:
            raise InputError(
                f"the condition compares {column}, whose times have no time zone, with {time.isoformat()}, which has an "
                "offset; leave the offset out"
            )
        if self.zone:
            time = time.replace(tzinfo=time.tzinfo or UTC)
        return float(_days([time], column)[0])


def _days(times: Sequence[datetime | None], column: str) -> Floats:
    """Return days since 1970-01-01 as the fit counts them, to the bit: of times with an offset in UTC; NaN for None."""
    try:
        utc = [time if time is None or time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None) for time in times]
    except OverflowError as error:
        raise InputError(f"column {column} is compared with or has a time that UTC has not ({error}); correct it") from error
    return days_or_hours(np.array(utc, dtype="M8[us]"), SCALE, "", column, "the items")


def times_in_text(cells: TextCells, column: str, value: Moment) -> TimeCells:
    """Return a column of text as times, which a condition compares with a date or a time; empty cells are missing."""
    times: list[datetime | None] = []
    places, before = [], 0
    for codes, texts in cells.pieces:
        used, first, at = np.unique(codes, return_index=True, return_inverse=True)
        places.append(len(times) + at)
        times += [None] * len(used)
        for k in np.argsort(first).tolist():  # so that the first row that is no time is named
            cell = texts.text(int(used[k])) if used[k] else ""
            try:
                times[k - len(used)] = read_moment(cell).time if cell.strip() else None
            except InputError as error:
                raise InputError(
                    f"the condition compares {column} with the time {value.text}, but item {before + int(first[k])} has "
                    f"{cell[:40]!r} there, which is no time; put {value.text} in quotes to compare text"
                ) from error
        before += len(codes)
    zones = {time.tzinfo is not None for time in times if time is not None}
    if len(zones) > 1:
        raise InputError(f"the condition compares {column}, where some times have an offset and others have none; give all one")
    return TimeCells(_days(times, column)[np.concatenate(places)], "UTC" if True in zones else "")


def looks_like_time(text: str) -> bool:
    """Return True if a bare word is a date or a time: three whole numbers joined by -, / or ., or a year and month."""
    return _LOOKS.fullmatch(text) is not None


def read_moment(text: str) -> Moment:
    """Return the date or the time that a text says."""
    written = text.strip()
    try:
        if not _WHOLE.fullmatch(written):
            raise ValueError("it is not written as year-month-day")
        return Moment(written, datetime.fromisoformat(written))
    except ValueError as error:
        raise InputError(
            f"the condition has {text!r}, which is no date or time ({error}); dates as 2024-01-31 and times as "
            "2024-01-31T08:30, 2024-01-31T08:30:15 or 2024-01-31T08:30+01:00 are required, with two digits for months, days, "
            "hours and minutes"
        ) from error
