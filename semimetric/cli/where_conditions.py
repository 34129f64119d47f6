"""Conditions on columns, such as ``price < 20 and `shoe size` >= 40 and colour == "red"``: read by hand, never evaluated."""

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError

__all__ = ["Condition", "read_conditions", "rows_where"]

_OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_COMPARISON = re.compile(
    r"""(?:`(?P<ticked>[^`]+)`|(?P<column>[^\s<>=!`'"]+))\s*"""
    r"""(?P<sign>==|!=|<=|>=|<|>)\s*"""
    r"""(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s<>=!`'"]+))"""
)
_AND = re.compile(r"\s+and\s+")


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with a number or a text."""

    column: str
    sign: str
    value: float | str

    def holds(self, columns: Mapping[str, NDArray]) -> NDArray[np.bool_]:
        """On which rows; on none where a number is missing.

        Raises
        ------
        InputError
            If there is no such column, or it holds numbers and the value is text, or the other way round.
        """
        if self.column not in columns:
            known = ", ".join(list(columns)[:10]) + (", ..." if len(columns) > 10 else "")
            raise InputError(f"--where names {self.column!r}, which is no column of the index; its columns are {known}")
        cells, is_text = columns[self.column], isinstance(self.value, str)
        if is_text != (cells.dtype.kind != "f"):
            given, kind, advice = ("text", "numbers", "write it bare") if is_text else ("a number", "text", "quote it")
            raise InputError(f"--where compares {self.column}, a column of {kind}, with {given}, {self.value!r}; {advice}")
        found = np.asarray(_OPERATORS[self.sign](cells, self.value), dtype=bool)
        return found if is_text else found & ~np.isnan(cells)


def rows_where(text: str, columns: Mapping[str, NDArray]) -> NDArray[np.bool_]:
    """Rows of ``columns``, float64 arrays and arrays of text, on which all conditions of ``text`` hold."""
    return np.logical_and.reduce([condition.holds(columns) for condition in read_conditions(text)])


def read_conditions(text: str) -> list[Condition]:
    """Comparisons ``column OP value``, joined by ``and``.

    Column names with spaces stand in backticks; values are numbers or quoted text.

    Raises
    ------
    InputError
        Naming the part that cannot be read.
    """
    rest, conditions = text.strip(), []
    while True:
        match = _COMPARISON.match(rest)
        if match is None:
            raise _unreadable(rest)
        conditions.append(Condition(match["ticked"] or match["column"], match["sign"], _value(match)))
        rest = rest[match.end() :]
        if not rest:
            return conditions
        joint = _AND.match(rest)
        if joint is None:
            raise _unreadable(rest.strip())
        rest = rest[joint.end() :]


def _value(match: re.Match) -> float | str:
    quoted = match["single"] if match["single"] is not None else match["double"]
    if quoted is not None:
        return quoted
    try:
        number = float(match["bare"])
    except ValueError:
        number = np.nan
    if np.isnan(number):
        raise InputError(
            f"--where has the value {match['bare']}, which is no number; quote text, as in {match['column'] or 'column'} "
            f'{match["sign"]} "{match["bare"]}", and write 1 and 0 for true and false'
        )
    return number


def _unreadable(part: str) -> InputError:
    return InputError(
        f"--where cannot be read from {part!r} on; comparisons such as price < 20, joined by and, are required: use ==, !=, "
        "<, <=, >, >=, backticks around column names with spaces, and quotes around text"
    )
