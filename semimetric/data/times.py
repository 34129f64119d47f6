"""Times as numbers: days on a scale, or where in the day, the week or the year they lie.

    scale  days since 1970-01-01, of times with a zone in UTC
    day    hours since midnight, period 24
    week   days since Monday, period 7
    year   days since 1 January, every year stretched to the period 365.25

Hours, days of the week and days of the year are those that clocks and calendars in the time zone of the fit show. A zone is a
name such as "Europe/Berlin", or a fixed offset from UTC such as "+02:00".
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .._foundation.arrays import is_missing
from .._foundation.errors import InputError
from .._foundation.tables import is_time, texts_of
from .._foundation.types import Floats
from .columns import cells_of, numbers_of

SCALE = "scale"
PERIODS = {"day": 24.0, "week": 7.0, "year": 365.25}
_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")
_YEAR = np.timedelta64(1, "Y")
_MONDAY = np.datetime64("1969-12-29", "us")
_OFFSET = re.compile(r"(?:UTC)?([+-])([01]\d|2[0-3]):([0-5]\d)")
_MAY_BE_TEXT = ("object", "str", "<u", ">u")  # how the names of dtypes of columns that may hold texts begin
_Times = NDArray[np.datetime64]


def holds_times(column: Any) -> bool:
    """Return True if a column holds times or dates, by its dtype, or by its first cell that is not missing."""
    series = _series(column)
    if series is not None:
        if series.dtype != nw.Object:
            return bool(series.dtype in (nw.Datetime, nw.Date))
        column = series.to_numpy()
    if column.dtype.kind == "M":
        return True
    first = next((cell for cell in column if not is_missing(cell)), None) if column.dtype == object else None
    return isinstance(first, (date, np.datetime64))


def zone_of(column: Any) -> str:
    """Return the time zone of a column of times, by its name or its offset from UTC; "" if its first time has none."""
    zone = next(iter(_zones(column)), None)
    name = "" if zone is None else str(getattr(zone, "key", None) or zone)
    return name if not name or clock_zone(name) is not None else "UTC"


def clock_zone(name: str) -> tzinfo | None:
    """Return the time zone of a name or of an offset from UTC; None if it is not known."""
    if offset := _OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        return timezone((-1 if sign == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, no name of one, or the name of a folder of zones
        return None


def days_or_hours(column: Any, unit: str, zone: str, title: str, source: str) -> Floats:
    """Return the numbers of a column of times, (n,), NaN where one is missing; ``unit`` is `SCALE` or of `PERIODS`."""
    given_as = column
    column = with_texts_read(column)
    if not holds_times(column):
        try:
            return numbers_of(column, title, source)
        except InputError as error:
            text = next((cell for cell in cells_of(column) if isinstance(cell, str)), None)
            held = getattr(column, "dtype", "objects") if text is None else f"the text {text!r:.40}"
            raise InputError(
                f"column {title!r} of {source} holds no times ({held}); times are required, as in the fit, or the numbers that "
                'are counted of them: give datetimes, or texts such as "2024-05-01" or "2024-05-01T12:30"'
            ) from error
    if strange := _texts_of(column):
        raise InputError(
            f"column {title!r} of {source} holds the text {strange[0]!r:.40} among times; datetimes are required, or texts "
            'such as "2024-05-01" or "2024-05-01T12:30": correct it, or give None where it is missing'
        )
    if any((found is not None) != bool(zone) for found in _zones(column)):
        given, remedy = ("no zone", f"dt.tz_localize({zone!r})") if zone else ("a zone", "dt.tz_localize(None)")
        if column is not given_as:
            remedy = 'an offset, as in "2024-05-01T12:30+00:00"' if zone else 'a text without one, such as "2024-05-01T12:30"'
        raise InputError(
            f"column {title!r} of {source} has times with {given}, unlike the fit or its first time; times that are comparable "
            f"are required: convert them, as by {remedy} of pandas"
        )
    shown = _shown(column, zone)
    numbers = _numbers(shown, unit)
    numbers[np.isnat(shown)] = np.nan
    return numbers


def times_of(days: Floats, zone: str) -> NDArray[Any]:
    """Return the times of days on a scale, shape (n,), as `datetime` objects in the time zone; None for a missing one."""
    out = np.full(len(days), None, dtype=object)
    there = ~np.isnan(days)
    out[there] = np.round(days[there] * _DAY).astype("M8[us]").astype(object)
    if zone:
        out[there] = [time.replace(tzinfo=UTC).astimezone(clock_zone(zone)) for time in out[there]]
    return out


def _series(column: Any) -> Any:
    return None if isinstance(column, np.ndarray) else nw.from_native(nw.to_native(column, pass_through=True), series_only=True)


def _texts_of(column: Any) -> list[str]:
    kind = str(getattr(column, "dtype", "object")).lower()
    return texts_of(cells_of(column)) if kind.startswith(_MAY_BE_TEXT) else []


def with_texts_read(column: Any) -> Any:
    """Return a column with its texts that are times as such, as objects; one without such texts as it is."""
    if not any(is_time(text) for text in _texts_of(column)):
        return column
    cells = cells_of(column)
    read = np.empty(len(cells), dtype=object)
    read[:] = [datetime.fromisoformat(cell.strip()) if isinstance(cell, str) and is_time(cell) else cell for cell in cells]
    return read


def _zones(column: Any) -> list[Any]:
    """Return the time zones of a column, as names or objects, None for none: one if the dtype says it, else of each time."""
    series = _series(column)
    if series is not None and series.dtype != nw.Object:
        return [getattr(series.dtype, "time_zone", None)]
    cells = column if series is None else series.to_numpy()
    return [None] if cells.dtype.kind == "M" else [getattr(cell, "tzinfo", None) for cell in cells if not is_missing(cell)]


def _shown(column: Any, zone: str) -> _Times:
    series, clocks = _series(column), clock_zone(zone) if zone else None
    if series is None and column.dtype.kind == "M":
        return column.astype("M8[us]")
    if series is None or series.dtype == nw.Object:
        cells = (column if series is None else series.to_numpy()).tolist()
        return np.array([_clock(cell, clocks) for cell in cells], dtype="M8[us]")
    if series.dtype == nw.Date:
        return series.cast(nw.Datetime("us")).to_numpy().astype("M8[us]")
    if clocks is None:
        return series.to_numpy().astype("M8[us]")
    offset = clocks.utcoffset(None)  # which only fixed ones have, that frames may know by no name
    named = series.dt.convert_time_zone(zone if offset is None else "UTC").dt.replace_time_zone(None)
    return named.to_numpy().astype("M8[us]") + np.timedelta64(offset or timedelta(0))


def _clock(cell: Any, clocks: tzinfo | None) -> Any:
    """Return the time on a clock in the time zone; NaT for a missing one."""
    if is_missing(cell):
        return np.datetime64("NaT", "us")
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        return np.datetime64(cell.astimezone(clocks).replace(tzinfo=None))
    return np.datetime64(cell, "us")


def _numbers(shown: _Times, unit: str) -> Floats:
    if unit == SCALE:
        return shown.astype(np.int64) / _DAY
    if unit == "day":
        return (shown - shown.astype("M8[D]")).astype(np.int64) / (_DAY / 24)
    if unit == "week":
        return np.mod((shown - _MONDAY).astype(np.int64), int(7 * _DAY)) / _DAY
    year = shown.astype("M8[Y]")
    length = ((year + _YEAR).astype("M8[us]") - year.astype("M8[us]")).astype(np.int64)
    return (shown - year.astype("M8[us]")).astype(np.int64) / length * PERIODS["year"]
