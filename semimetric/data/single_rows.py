"""One item as a user gives it: a vector, a dict or a series of pandas by the names of its entries, or a table of one row."""

from __future__ import annotations

from typing import Any

from .._foundation.errors import InputError
from .._foundation.tables import row_labels
from .._foundation.types import Floats
from .schema import Schema

__all__ = ["single_row"]


def single_row(x: Any, schema: Schema, name: str = "x") -> tuple[Floats, Any]:
    """The item as an encoded matrix of shape (1, n_features), and its label: that of a row or series of pandas, else None.

    Raises
    ------
    InputError
        If it is not one item, or has other features than the schema.
    """
    is_table = hasattr(x, "columns")
    row = schema.encode(x if is_table else schema.rows(x, name), name=name)
    if len(row) != 1:
        raise InputError(f"{name} holds {len(row)} rows; one is explained at a time: give a vector, or a table of one row")
    if not hasattr(x, "iloc"):
        return row, None  # the name of a series of polars is that of a column
    return row, row_labels(x, 1)[0] if is_table else x.name
