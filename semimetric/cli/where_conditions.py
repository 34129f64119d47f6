"""Conditions on columns, such as ``price < 20 and `shoe size` >= 40 and colour == "red"``.

They are parsed here, and never evaluated as Python.
"""

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
    """A comparison of a column with a number or a text, by one of the signs ==, !=, <, <=, > and >=."""

    column: str
    sign: str
    value: float | str

    def holds(self, columns: Mapping[str, NDArray]) -> NDArray[np.bool_]:
        """The rows on which the comparison is true, shape (n_rows,); it is false where a number is missing.

        Raises
        ------
        InputError
            If there is no such column, or it holds numbers and the value is text, or the other way round.
        """
        if self.column not in columns:
            known = ", ".join(list(columns)[:10]) + (", ..." if len(columns) > 10 else "")
            raise InputError(f"--where names {self.column!r}, which is no column of the index; its columns are {known}")
        cells = columns[self.column]
        is_text = isinstance(self.value, str)
        if is_text and cells.dtype.kind == "f":
            raise InputError(f"--where compares {self.column}, a column of numbers, with text, {self.value!r}; write it bare")
        if not is_text and cells.dtype.kind != "f":
            raise InputError(f"--where compares {self.column}, a column of text, with a number, {self.value!r}; quote it")
        found = np.asarray(_OPERATORS[self.sign](cells, self.value), dtype=bool)
        return found if is_text else found & ~np.isnan(cells)


def rows_where(text: str, columns: Mapping[str, NDArray]) -> NDArray[np.bool_]:
    """The rows of ``columns``, arrays of float64 or of text, on which all conditions of ``text`` hold; shape (n_rows,)."""
    return np.logical_and.reduce([condition.holds(columns) for condition in read_conditions(text)])


def read_conditions(text: str) -> list[Condition]:
    """The comparisons ``column OP value`` in a text that joins them by ``and``.

    Column names with spaces are in backticks; values are numbers, or text in quotes.

    Raises
    ------
    InputError
        If a part cannot be read; the message names it.
    """
    rest = text.strip()
    conditions = []
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
    """The value of a comparison: the text between the quotes, or the number."""
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
