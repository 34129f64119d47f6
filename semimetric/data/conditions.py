"""Conditions on columns, such as ``price < 20 and (colour in ("red", "blue") or not `shoe size` >= 40)``.

    condition    choice {("or" | "|") choice}
    choice       part {("and" | "&") part}
    part         {"not"} {"~"} ( "(" condition ")" | predicate )
    predicate    operand sign operand {sign operand} | column ["not"] "in" list | column | column "." test "()"
    operand      column | value, of which each comparison has one of both
    sign         "==" | "!=" | "<" | "<=" | ">" | ">="
    list         "(" value {"," value} ")" | "[" value {"," value} "]"
    test         "isna" | "isnull" | "notna" | "notnull"

So it is a part of what `pandas.DataFrame.query` takes, with its meaning: ``&`` and ``|`` bind as ``and`` and ``or`` do, ``~``
stands before parentheses, tests and names alone, and a name alone is a column of truth values.

A value is a number, True, False, a text in quotes, or a date or a time as ISO 8601 writes it: ``2024-01-31``,
``2024-01-31T08:30``, ``2024-01-31T08:30:15+01:00``. Columns of times take it with quotes too, then also with a space for the T.
Columns of text are read as times where it has no quotes. A date is its first moment, so a day is ``when >= 2024-01-31 and
when < 2024-02-01``. If the times of a column have a time zone, a value without an offset is in UTC. If they have none, it is
what they show, and an offset is refused.

They are read here, and never evaluated as Python. As in SQL, no comparison holds where a number, a truth value or a time is
missing, nor does ``not`` make it hold there. So do comparisons of nullable dtypes in pandas; but there NaN and NaT differ from
each value, and ``not in`` holds of what is missing. A missing text is compared as "".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.names import did_you_mean
from .moments import Moment, TimeCells, looks_like_time, read_moment, times_in_text
from .texts import DistinctTexts, TextCells

_OPERATORS: dict[str, Callable] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OPPOSITES = {"==": "!=", "<": ">=", ">": "<=", "in": "not in", "is true": "is false", "is missing": "is there"}
_OPPOSITES |= {opposite: sign for sign, opposite in _OPPOSITES.items()}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORDS = ("and", "or", "not", "in")
_SYMBOLS = {"and": "&", "or": "|"}
_LISTS = {"(": ")", "[": "]"}
_TESTS = {"isna": "is missing", "isnull": "is missing", "notna": "is there", "notnull": "is there"}
_TRUTH = {"True": 1.0, "False": 0.0}
_INSTEAD = {
    "between": "write 3 <= price <= 5", "isin": 'write colour in ("red", "blue")',
    "str": "give a mask of the items, such as where=frame[column].str.contains(...), in the order of ids_",
    "dt": "give a mask of the items in the order of ids_, or compare with a date, as in when >= 2024-01-31",
}  # fmt: skip
_TOKEN = re.compile(
    r"""\s*(?:`(?P<name>[^`]+)`|'(?P<single>[^']*)'|"(?P<double>[^"]*)"|"""
    r"""(?P<sign>==|!=|<=|>=|<|>)|(?P<mark>[][(),&|~])|(?P<word>[^][\s<>=!`'"(),&|~]+))\s*"""
)
_DEEPEST = 50  # parentheses inside one another
_REQUIRED = (
    'comparisons such as price < 20 or colour in ("red", "blue"), joined by and, or, not and parentheses, are required: use '
    "==, !=, <, <=, >, >=, in, .isna(), backticks around column names with spaces or marks, and quotes around text"
)


@dataclass(frozen=True, eq=False)
class TruthCells:
    """A column of truth values, which may stand alone in a condition."""

    numbers: NDArray[np.floating]  # (n_rows,), 1 and 0, NaN where a value is missing


@dataclass(frozen=True)
class Predicate:
    """A column compared with a number or a text, or with several by the signs "in" and "not in"; other signs take none."""

    column: str
    sign: str
    values: tuple[Value, ...]

    def negated(self) -> Predicate:
        """Return the condition that holds where this one does not and no value is missing."""
        return replace(self, sign=_OPPOSITES[self.sign])

    def holds(self, columns: Mapping[str, Cells]) -> NDArray[np.bool_]:
        """Return the rows on which the comparison is true, shape (n_rows,); it is false where a number or a time is missing."""
        if self.column not in columns:
            known = ", ".join(list(columns)[:10]) + (", ..." if len(columns) > 10 else "")
            near = did_you_mean(self.column, columns)
            raise InputError(
                f"the condition names {self.column!r}, which is no column of the items; their columns are {known}{near}"
            )
        cells = columns[self.column]
        if self.sign in ("is true", "is false") and not isinstance(cells, TruthCells):
            raise InputError(
                f"the condition names {self.column} alone, and it is no column of truth values; compare it, as in "
                f"{self.column} == {_example(cells)}"
            )
        of_truth = isinstance(cells, TruthCells)
        if isinstance(cells, TruthCells):
            cells = cells.numbers
        if self.sign in ("is missing", "is there"):
            return _missing(cells) == (self.sign == "is missing")
        named = next((value for value in self.values if isinstance(value, Moment)), None)
        if named is not None and isinstance(cells, TextCells):
            cells = times_in_text(cells, self.column, named)
        if isinstance(cells, TimeCells):
            return self._compared(cells.days, [cells.number(v, self.column) for v in self.values]) & ~np.isnan(cells.days)
        if isinstance(cells, TextCells):
            if numbers := [value for value in self.values if not isinstance(value, str)]:
                raise InputError(
                    f"the condition compares {self.column}, a column of text, with a number, {numbers[0]!r}; quote it"
                )
            return cells.where(self._among_texts)
        for value in self.values:
            if not isinstance(value, float):
                given = f"a time, {value.text}" if isinstance(value, Moment) else f"text, {value!r}"
                kind, remedy = ("truth values", "write True or False") if of_truth else ("numbers", "write the number bare")
                raise InputError(f"the condition compares {self.column}, a column of {kind}, with {given}; {remedy}")
        if self.sign in ("is true", "is false"):
            return np.asarray(cells == float(self.sign == "is true"))
        return self._compared(cells, self.values) & ~np.isnan(cells)

    def _compared(self, cells: NDArray[Any], values: Sequence[Any]) -> NDArray[np.bool_]:
        if self.sign in _OPERATORS:
            return np.asarray(_OPERATORS[self.sign](cells, values[0]), dtype=bool)
        among = np.logical_or.reduce([np.asarray(cells == value, dtype=bool) for value in values])
        return among if self.sign == "in" else ~among

    def _among_texts(self, texts: DistinctTexts) -> NDArray[np.bool_]:
        values = [str(value) for value in self.values]
        if self.sign in ("==", "!=", "in", "not in"):
            equal = np.logical_or.reduce([texts.equal(value) for value in values])
            return ~equal if self.sign in ("!=", "not in") else equal
        return np.asarray(_OPERATORS[self.sign](texts.order(values[0]), 0))


@dataclass(frozen=True)
class Compound:
    """Conditions that are joined by the ``word`` "and" or "or"."""

    word: str
    parts: tuple[Condition, ...]

    def negated(self) -> Compound:
        """Return the condition that holds where this one does not and no value is missing."""
        return Compound("or" if self.word == "and" else "and", tuple(part.negated() for part in self.parts))

    def holds(self, columns: Mapping[str, Cells]) -> NDArray[np.bool_]:
        """Return the rows on which the condition is true, shape (n_rows,); see `Predicate.holds`."""
        join = np.logical_and if self.word == "and" else np.logical_or
        return np.asarray(join.reduce([part.holds(columns) for part in self.parts]))


Cells: TypeAlias = NDArray[Any] | TruthCells | TimeCells | TextCells
Condition: TypeAlias = Predicate | Compound
Value: TypeAlias = float | str | Moment


def _missing(cells: NDArray[Any] | TimeCells | TextCells) -> NDArray[np.bool_]:
    if isinstance(cells, TextCells):
        return np.concatenate([codes == 0 for codes, _ in cells.pieces])
    return np.isnan(cells.days if isinstance(cells, TimeCells) else cells)


def _example(cells: Cells) -> str:
    return '"text"' if isinstance(cells, TextCells) else "2024-01-31" if isinstance(cells, TimeCells) else "1"


def read_condition(text: str) -> Condition:
    """Return the condition that a text states in the grammar above; ``not`` is resolved into opposite signs."""
    return _Reader(text).whole()


class _Token(NamedTuple):
    """A part of a text: its kind, what it says, and where it begins."""

    kind: str
    value: str
    start: int


class _ColumnName(NamedTuple):
    """The name of a column in a text."""

    name: str


_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.ASCII | re.IGNORECASE)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _column_of(condition: Condition) -> str:
    return condition.column if isinstance(condition, Predicate) else _column_of(condition.parts[0])


def _tokens(text: str) -> list[_Token]:
    tokens, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unreadable(text, place)
        kind = str(match.lastgroup)
        tokens.append(_Token("text" if kind in ("single", "double") else kind, match[kind], match.start(kind)))
        place = match.end()
    return [*tokens, _Token("end", "", len(text))]


class _Reader:
    """Reads a text from its first token to its last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = iter(_tokens(text.strip()))
        self._next = next(self._tokens)

    def whole(self) -> Condition:
        condition = self._condition(0)
        self._take("end")
        return condition

    def _condition(self, depth: int) -> Condition:
        return self._joined("or", partial(self._joined, "and", partial(self._part, depth)))

    def _joined(self, word: str, read: Callable[[], Condition]) -> Condition:
        parts = [read()]
        while self._skip(word) or self._skip(_SYMBOLS[word]):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Compound(word, tuple(parts))

    def _part(self, depth: int) -> Condition:
        negated = tight = False
        while self._skip("not"):
            negated = not negated
        while self._skip("~"):
            negated, tight = not negated, True
        if self._skip("("):
            if depth == _DEEPEST:
                raise InputError(f"the condition has more than {_DEEPEST} parentheses inside one another; write it with fewer")
            found = self._condition(depth + 1)
            self._need(")")
        else:
            found = self._predicate()
            if tight and (isinstance(found, Compound) or found.values):
                raise InputError(
                    f"the condition has ~ before a comparison of {_column_of(found)!r}, and ~ binds more tightly; write "
                    "~(price < 20), or not price < 20"
                )
        return found.negated() if negated else found

    def _predicate(self) -> Condition:
        value = self._leading_value()
        if value is not None:
            if self._next.kind != "sign":
                self._fail()
            return self._compared_with(value)
        column = self._column()
        if isinstance(column, Predicate):
            return column
        if self._next.kind == "sign":
            return self._compared_with(column)
        if self._next.kind == "word" and self._next.value in ("not", "in"):
            sign = "not in" if self._skip("not") else "in"
            self._need("in")
            return Predicate(column.name, sign, self._values(column.name, sign))
        return Predicate(column.name, "is true", ())

    def _compared_with(self, left: _ColumnName | Value) -> Condition:
        """Read comparisons from the first sign on, such as ``< price <= 5``."""
        parts: list[Condition] = []
        while self._next.kind == "sign":
            sign = self._take("sign").value
            if isinstance(left, _ColumnName):
                right: _ColumnName | Value = self._value(left.name, sign)
                parts.append(Predicate(left.name, sign, (right,)))  # type: ignore[arg-type]
            else:
                if self._leading_value() is not None:
                    raise InputError(
                        "the condition compares two values; name a column, with backticks if its name is a number or a date"
                    )
                column = self._column()
                if isinstance(column, Predicate):
                    self._fail()
                right = column
                parts.append(Predicate(column.name, _MIRRORED[sign], (left,)))
            left = right
        return parts[0] if len(parts) == 1 else Compound("and", tuple(parts))

    def _leading_value(self) -> Value | None:
        """Take a value that stands where a column may stand; None, and nothing is taken, if there is none."""
        kind, word = self._next.kind, self._next.value
        is_value = kind == "text" or (kind == "word" and (word in _TRUTH or looks_like_time(word) or _is_number(word)))
        return self._value("", "==") if is_value else None

    def _column(self) -> _ColumnName | Predicate:
        """Take a column, or a test of one such as ``price.isna()``."""
        if self._next.kind == "word" and self._next.value in _WORDS:
            self._fail()
        token = self._take("name", "word")
        name, test = token.value, ""
        _refuse_variable(token)
        if token.kind == "name" and self._next.kind == "word" and self._next.value.startswith("."):
            test = self._take("word").value[1:]
        elif token.kind == "word" and "." in name and self._next.value == "(" and self._next.kind == "mark":
            name, _, test = name.partition(".")
        if not test:
            return _ColumnName(name)
        if test not in _TESTS:
            first = test.partition(".")[0]
            instead = _INSTEAD.get(first, "use .isna() and .notna(), and comparisons")
            raise InputError(f"the condition calls {test} of {name}, which is not known here; {instead}")
        self._need("(")
        self._need(")")
        return Predicate(name, _TESTS[test], ())

    def _values(self, column: str, sign: str) -> tuple[Value, ...]:
        end = next((_LISTS[mark] for mark in _LISTS if self._skip(mark)), None)
        if end is None:
            self._fail()
        values = [self._value(column, sign)]
        while self._skip(","):
            values.append(self._value(column, sign))
        self._need(end)
        return tuple(values)

    def _value(self, column: str, sign: str) -> Value:
        token = self._take("text", "word")
        if token.kind == "text":
            return token.value
        _refuse_variable(token)
        if token.value in _TRUTH:
            return _TRUTH[token.value]
        if looks_like_time(token.value):
            return read_moment(token.value)
        if not _is_number(token.value):
            quoted = f'"{token.value}"' if sign in _OPERATORS else f'("{token.value}")'
            raise InputError(
                f"the condition has the value {token.value}, which is no number; quote text, as in {column} {sign} {quoted}, "
                "and write True and False for truth values"
            )
        return float(token.value)

    def _skip(self, word: str) -> bool:
        found = self._next.kind in ("word", "mark") and self._next.value == word
        if found:
            self._next = next(self._tokens)
        return found

    def _need(self, word: str) -> None:
        if not self._skip(word):
            self._fail()

    def _take(self, *kinds: str) -> _Token:
        token = self._next
        if token.kind not in kinds:
            self._fail()
        self._next = next(self._tokens, token)
        return token

    def _fail(self) -> NoReturn:
        raise _unreadable(self._text.strip(), self._next.start)


def _refuse_variable(token: _Token) -> None:
    if token.kind == "word" and token.value.startswith("@"):
        raise InputError(
            f"the condition has {token.value}, and takes no variables of Python; put the value into the text, as in "
            f'f"price < {{{token.value[1:]}}}", and quotes around text'
        )


def _unreadable(text: str, place: int) -> InputError:
    left = text[place:].strip()
    given = f"the condition cannot be read from {left!r} on" if left else f"the condition {text!r} is not complete"
    return InputError(f"{given}; {_REQUIRED}")
