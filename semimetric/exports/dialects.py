"""Dialects of SQL: how PostgreSQL, DuckDB and SQLite quote, compare and read what a distance needs.

Every expression is of double precision. A missing number is NULL, be it NULL or NaN in the table.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats
from ..data.columns import spellings
from ..data.schema import Feature
from ..data.times import SCALE

_LARGEST = float(np.finfo(np.float64).max)
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):(\d\d)")
_MOST_CHAINED = 50  # terms of a sum beside one another: DuckDB and SQLite take expressions of 1,000 levels
_WHOLE = 2**53  # up to which a float64 is every whole number
_EXACT_DIGITS = 15  # of a decimal that every reader of numbers reads as the nearest double


class Dialect(ABC):
    """A dialect of SQL, in which databases differ."""

    name: str
    label: str  # as its makers write it
    double = "DOUBLE PRECISION"
    string = "TEXT"
    parameter = "$1"  # the place of the key in a query
    least, greatest = "LEAST", "GREATEST"

    def quote(self, name: str) -> str:
        """Return a name of a table or column in double quotes."""
        if not name:
            raise InputError("a name of a table or column is empty; a database needs one: give it, or rename the column")
        return '"' + _storable(name).replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Return a text in single quotes."""
        return "'" + _storable(value).replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """Return a number to the last digit, in brackets if it is negative."""
        shown = self._digits(float(value))
        return f"({shown})" if shown.startswith("-") else shown

    def _digits(self, value: float) -> str:
        return repr(value)

    def threshold(self, value: float) -> str:
        """Return a number that values are compared with, which must be exact."""
        return self.number(value)

    def as_double(self, column: str) -> str:
        """Return a column as a number."""
        return f"CAST({column} AS {self.double})"

    def value(self, feature: Feature, column: str) -> str:
        """Return a column as the distance reads it, NULL where it is missing: a category as it is, other values as numbers."""
        if feature.kind == "categorical":
            return self.given(column) if has_floats(feature) else column
        if feature.time:
            return self.time(feature, column)
        return self.truth(column) if feature.truth else self.given(column)

    def turned(self, number: str, low: float, period: float) -> str:
        """Return a number within the turn that begins at ``low``."""
        p = self.number(period)
        passed = f"({number} - {self.number(low)})" if low else number
        return f"({number} - {p} * floor({passed} / {p}))"

    @abstractmethod
    def given(self, column: str) -> str:
        """Return a column of numbers, NULL for NaN."""

    def truth(self, column: str) -> str:
        """Return a column of truth values as 1 and 0."""
        return self.given(column)

    @abstractmethod
    def time(self, feature: Feature, column: str) -> str:
        """Return the number that is counted of a column of times: see `data.times`."""

    def odd(self, feature: Feature, column: str) -> str:
        """Return the condition under which Python refuses a value: a gap without a level for it, or infinity."""
        gap = "" if feature.missing else f"{self.value(feature, column)} IS NULL"
        if feature.kind == "categorical" or feature.time:
            return gap
        unlike = f"abs({self.truth(column) if feature.truth else self.given(column)}) > {self.number(_LARGEST)}"
        return f"{gap} OR {unlike}" if gap else unlike

    def category(self, feature: Feature, column: str) -> str:
        """Return a value as categories are compared with it."""
        return self.as_text(column) if {type(c) for c in feature.categories} & {str, bool} else column

    def as_text(self, column: str) -> str:
        """Return a column as text that is compared letter by letter."""
        return f"CAST({column} AS {self.string})"

    def category_literals(self, feature: Feature) -> list[list[str]]:
        """Return for each category the values of `category` that stand for it."""
        if {str, bool} & {type(c) for c in feature.categories}:
            return [
                [self.text(str(c).lower()), self.text(str(int(c)))] if isinstance(c, bool) else list(map(self.text, texts))
                for c, texts in zip(feature.categories, spellings(feature.categories), strict=True)
            ]
        return [[str(c) if isinstance(c, int) else self.number(float(c))] for c in feature.categories]

    def power(self, base: str, exponent: float) -> str:
        """Return a power of a number >= 0."""
        return f"sqrt({base})" if exponent == 0.5 else f"power({base}, {self.number(exponent)})"

    def numbers(self, values: Floats) -> str:
        """Return numbers beside one another, as a literal of an array has them."""
        return ", ".join(map(repr, np.asarray(values, dtype=np.float64).ravel().tolist()))

    def remark(self, text: str) -> str:
        """Return a comment of one line, whatever the text holds."""
        clean = "".join(c if c.isprintable() else " " for c in text)
        return f"-- {' '.join(clean.split())}"


class Postgres(Dialect):
    """PostgreSQL from 14 on; nearest candidates are named by pgvector from 0.7 on."""

    name, label = "postgres", "PostgreSQL"
    most_bytes = 63  # of a name, of which the rest is cut off

    def quote(self, name: str) -> str:
        if len(name.encode(errors="surrogatepass")) > self.most_bytes:
            raise InputError(
                f"the name {name!r:.80} has more than {self.most_bytes} bytes, which PostgreSQL cuts off; give a shorter name"
            )
        return super().quote(name)

    def text(self, value: str) -> str:
        quoted = super().text(value)
        return f"E{quoted.replace(chr(92), chr(92) * 2)}" if chr(92) in quoted else quoted

    def given(self, column: str) -> str:
        return f"NULLIF({self.as_double(column)}, 'NaN')"

    def truth(self, column: str) -> str:
        words = f"CASE {column}::text WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {column}::text END"
        return f"NULLIF(CAST({words} AS {self.double}), 'NaN')"

    def as_text(self, column: str) -> str:
        return f'CAST({column} AS {self.string}) COLLATE "C"'

    def time(self, feature: Feature, column: str) -> str:
        clock = f"CAST({column} AS timestamp)"
        if feature.zone:
            offset = _OFFSET.fullmatch(feature.zone)
            zone = f"INTERVAL '{offset[1]}{offset[2]}:{offset[3]}'" if offset else self.text(feature.zone)
            clock = f"({column} AT TIME ZONE {zone})"
        if feature.time == SCALE:
            return f"(CAST(EXTRACT(EPOCH FROM {clock}) * 1000000 AS {self.double}) / 86400000000.0)"
        start = f"date_trunc('{feature.time}', {clock})"
        passed = f"CAST(EXTRACT(EPOCH FROM {clock} - {start}) * 1000000 AS {self.double})"
        length = f"CAST(EXTRACT(EPOCH FROM {start} + INTERVAL '1 year' - {start}) * 1000000 AS {self.double})"
        return f"({passed} / {length} * 365.25)" if feature.time == "year" else f"({passed} / {_micros(feature.time)})"


class DuckDB(Dialect):
    """DuckDB from 1.1 on."""

    name, label = "duckdb", "DuckDB"
    double, string = "DOUBLE", "VARCHAR"

    def _digits(self, value: float) -> str:
        shown = repr(value).removesuffix(".0")
        return shown if "e" in shown else f"{shown}e0"  # without an exponent it would be a decimal number

    def as_text(self, column: str) -> str:
        return f'(CAST({column} AS {self.string}) COLLATE "binary")'

    def given(self, column: str) -> str:
        return f"nullif({self.as_double(column)}, CAST('NaN' AS DOUBLE))"

    def time(self, feature: Feature, column: str) -> str:
        clock = f"CAST({column} AS TIMESTAMP)"
        if feature.zone:
            offset = _OFFSET.fullmatch(feature.zone)
            clock = f"({column} AT TIME ZONE {self.text('UTC' if offset else feature.zone)})"
            if offset:
                minutes = int(f"{offset[1]}1") * (60 * int(offset[2]) + int(offset[3]))
                clock = f"({clock} + to_minutes({minutes}))"
        if feature.time == SCALE:
            return f"(CAST(epoch_us({clock}) AS DOUBLE) / 86400000000e0)"
        start = f"CAST(date_trunc('{feature.time}', {clock}) AS TIMESTAMP)"
        passed = f"CAST(epoch_us({clock}) - epoch_us({start}) AS DOUBLE)"
        length = f"CAST(epoch_us({start} + INTERVAL 1 YEAR) - epoch_us({start}) AS DOUBLE)"
        return f"({passed} / {length} * 365.25e0)" if feature.time == "year" else f"({passed} / {_micros(feature.time)}e0)"


class SQLite(Dialect):
    """SQLite from 3.35 on, with its functions of mathematics, as Python brings it."""

    name, label = "sqlite", "SQLite"
    double = "REAL"
    parameter = "?1"
    least, greatest = "min", "max"

    def threshold(self, value: float) -> str:
        shown = repr(value)
        digits = shown.lower().split("e")[0].replace(".", "").strip("-0")
        numerator, denominator = value.as_integer_ratio()
        if len(digits) <= _EXACT_DIGITS or denominator > 1 << 62 or abs(numerator) >= 1 << 53:
            return self.number(value)
        return f"({numerator} / {denominator}.0)"  # some releases read the last of 17 digits wrongly

    def given(self, column: str) -> str:
        return self.as_double(column)

    def value(self, feature: Feature, column: str) -> str:
        return column if feature.kind == "categorical" else super().value(feature, column)  # NaN is NULL, and text would be 0

    def odd(self, feature: Feature, column: str) -> str:
        found = super().odd(feature, column)
        if feature.kind == "categorical" or feature.time:
            return found
        return f"{found} OR typeof({column}) IN ('text', 'blob')"  # which CAST would turn into 0

    def category(self, feature: Feature, column: str) -> str:
        return super().as_text(column) + " COLLATE BINARY" if str in {type(c) for c in feature.categories} else column

    def category_literals(self, feature: Feature) -> list[list[str]]:
        if str in {type(c) for c in feature.categories}:
            return [list(map(self.text, texts)) for texts in spellings(feature.categories)]
        return [[str(int(c)) if isinstance(c, int) else self.threshold(float(c))] for c in feature.categories]

    def time(self, feature: Feature, column: str) -> str:
        offset = _OFFSET.fullmatch("+00:00" if feature.zone in ("", "UTC") else feature.zone)
        if offset is None:
            raise NotSupportedError(
                f"the column {feature.name!r} is read in the time zone {feature.zone!r}, of which SQLite knows nothing; store "
                "the number that Python counts, by Schema.encode, or use DuckDB or PostgreSQL"
            )
        seconds = int(f"{offset[1]}1") * (3600 * int(offset[2]) + 60 * int(offset[3]))
        suffix = (
            f"CASE WHEN substr({column}, -1) = 'Z' THEN 'Z' WHEN length({column}) > 19 AND substr({column}, -6, 1) IN "
            f"('+', '-') THEN substr({column}, -6) ELSE '' END"
        )
        whole = f"CAST(strftime('%s', substr({column}, 1, 19) || {suffix}) AS INTEGER)"
        rest = f"CASE WHEN substr({column}, 20, 1) = '.' THEN CAST('0' || substr({column}, 20, 7) AS REAL) ELSE 0.0 END"
        micros = f"(({whole} + {seconds}) * 1000000 + CAST(round({rest} * 1000000) AS INTEGER))"
        if feature.time == SCALE:
            return f"({micros} / 86400000000.0)"
        if feature.time == "year":
            year = f"strftime('%Y-01-01', {whole} + {seconds}, 'unixepoch')"
            start = f"(CAST(strftime('%s', {year}) AS INTEGER) * 1000000)"
            length = (
                f"((CAST(strftime('%s', {year}, '+1 year') AS INTEGER) - CAST(strftime('%s', {year}) AS INTEGER)) * 1000000.0)"
            )
            return f"(({micros} - {start}) / {length} * 365.25)"
        turn, shift = (86_400_000_000, 0) if feature.time == "day" else (604_800_000_000, 259_200_000_000)  # from a Monday on
        rest = f"(({micros} + {shift}) % {turn} + {turn}) % {turn}"
        return f"({rest}) / {_micros(feature.time)}"


DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (Postgres(), DuckDB(), SQLite())}


def has_floats(feature: Feature) -> bool:
    """Return True if categories are numbers that float64 holds, as an array of NumPy or a column with gaps has them."""
    return all(not isinstance(c, str | bool) and abs(c) <= _WHOLE for c in feature.categories)


def case(branches: Sequence[tuple[str, str]], otherwise: str, *, of: str = "") -> str:
    """Return a CASE of conditions, or of the values of the expression ``of``, and what they give; a line each if many."""
    if not branches:
        return otherwise
    between = " " if len(branches) < 3 else "\n    "
    lines = [f"CASE {of}".rstrip(), *(f"WHEN {condition} THEN {value}" for condition, value in branches), f"ELSE {otherwise}"]
    return f"{between.join(lines)} END"


def chained(terms: Sequence[str], between: str) -> str:
    """Return terms with an operator between, in brackets by fifties, so that no expression is as deep as it is long."""
    if len(terms) <= _MOST_CHAINED:
        return f" {between} ".join(terms)
    parts = [terms[first : first + _MOST_CHAINED] for first in range(0, len(terms), _MOST_CHAINED)]
    return chained([f"({chained(part, between)})" for part in parts], between)


def _micros(unit: str) -> str:
    """Return the microseconds of an hour, in which days are counted, or of a day."""
    return "3600000000.0" if unit == "day" else "86400000000.0"


def _storable(text: str) -> str:
    if "\0" in text:
        raise InputError(f"{text!r:.60} holds the character NUL, which no database takes; rename the column or the category")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{text!r:.60} holds half of a surrogate pair, which no database takes; rename the column or the category"
        ) from error
    return text
