"""Conditions on columns, such as ``price < 20 and (colour in ("red", "blue") or not `shoe size` >= 40)``.

    condition    choice {"or" choice}
    choice       part {"and" part}
    part         {"not"} ( "(" condition ")" | predicate )
    predicate    column (== | != | < | <= | > | >=) value | column ["not"] "in" "(" value {"," value} ")"

A value is a number, a text in quotes, or a date or a time as ISO 8601 writes it: ``2024-01-31``, ``2024-01-31T08:30``,
``2024-01-31T08:30:15+01:00``. Columns of times take it with quotes too, then also with a space for the T. Columns of text are
read as times where it has no quotes. A date is its first moment, so a day is ``when >= 2024-01-31 and when < 2024-02-01``. If
the times of a column have a time zone, a value without an offset is in UTC. If they have none, it is what they show, and an
offset is refused.

They are read here, and never evaluated as Python. As in SQL, no comparison holds where a number or a time is missing, nor does
``not`` make it hold there.
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
_OPPOSITES = {"==": "!=", "<": ">=", ">": "<=", "in": "not in"}
_OPPOSITES |= {opposite: sign for sign, opposite in _OPPOSITES.items()}
_WORDS = ("and", "or", "not", "in")
_TOKEN = re.compile(
    r"""\s*(?:`(?P<name>[^`]+)`|'(?P<single>[^']*)'|"(?P<double>[^"]*)"|"""
    r"""(?P<sign>==|!=|<=|>=|<|>)|(?P<mark>[(),])|(?P<word>[^\s<>=!`'"(),]+))\s*"""
)
_DEEPEST = 50  # parentheses inside one another
_REQUIRED = (
    'comparisons such as price < 20 or colour in ("red", "blue"), joined by and, or, not and parentheses, are required: use '
    "==, !=, <, <=, >, >=, in, backticks around column names with spaces, and quotes around text"
)


@dataclass(frozen=True)
class Predicate:
    """A column compared with a number or a text, or with several by the signs "in" and "not in"."""

    column: str
    sign: str
    values: tuple[float | str | Moment, ...]

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
                raise InputError(
                    f"the condition compares {self.column}, a column of numbers, with {given}; write the number bare"
                )
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


Cells: TypeAlias = NDArray[Any] | TimeCells | TextCells
Condition: TypeAlias = Predicate | Compound


def read_condition(text: str) -> Condition:
    """Return the condition that a text states in the grammar above; ``not`` is resolved into opposite signs."""
    return _Reader(text).whole()


class _Token(NamedTuple):
    """A part of a text: its kind, what it says, and where it begins."""

    kind: str
    value: str
    start: int


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
        while self._skip(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Compound(word, tuple(parts))

    def _part(self, depth: int) -> Condition:
        negated = False
        while self._skip("not"):
            negated = not negated
        if self._skip("("):
            if depth == _DEEPEST:
                raise InputError(f"the condition has more than {_DEEPEST} parentheses inside one another; write it with fewer")
            found = self._condition(depth + 1)
            self._need(")")
        else:
            found = self._predicate()
        return found.negated() if negated else found

    def _predicate(self) -> Predicate:
        if self._next.kind == "word" and self._next.value in _WORDS:
            self._fail()
        column = self._take("name", "word").value
        if self._next.kind == "sign":
            sign = self._take("sign").value
            return Predicate(column, sign, (self._value(column, sign),))
        sign = "not in" if self._skip("not") else "in"
        self._need("in")
        self._need("(")
        values = [self._value(column, sign)]
        while self._skip(","):
            values.append(self._value(column, sign))
        self._need(")")
        return Predicate(column, sign, tuple(values))

    def _value(self, column: str, sign: str) -> float | str | Moment:
        token = self._take("text", "word")
        if token.kind == "text":
            return token.value
        if looks_like_time(token.value):
            return read_moment(token.value)
        try:
            number = float(token.value)
        except ValueError:
            number = np.nan
        if np.isnan(number):
            quoted = f'"{token.value}"' if sign in _OPERATORS else f'("{token.value}")'
            raise InputError(
                f"the condition has the value {token.value}, which is no number; quote text, as in {column} {sign} {quoted}, "
                "and write 1 and 0 for true and false"
            )
        return number

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


def _unreadable(text: str, place: int) -> InputError:
    left = text[place:].strip()
    given = f"the condition cannot be read from {left!r} on" if left else f"the condition {text!r} is not complete"
    return InputError(f"{given}; {_REQUIRED}")
