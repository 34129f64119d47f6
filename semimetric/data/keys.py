"""Ids as text, and the message that a column is not there, for tables that may not have been read yet."""

import re
from collections.abc import Sequence

from .._foundation.errors import InputError


def as_key(name: object) -> str:
    """Return an id as text: 3, 3.0 and "3.0" become "3", but "03" stays as it is."""
    return re.sub(r"^([+-]?\d+)\.0*$", r"\1", str(name).strip())


def no_such_column(name: str, column: str, columns: Sequence[str]) -> InputError:
    """Return the error that a table has no such column, which lists the columns that it has."""
    shown = ", ".join(columns[:10]) + (", ..." if len(columns) > 10 else "")
    return InputError(f"{name} has no column {column!r}; its columns are {shown}")
