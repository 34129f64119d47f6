"""One item as a user gives it: a vector, a series of pandas by the names of its entries, or a table of one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.input_arrays import n_axes
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
    row = schema.encode(x if is_table else schema.rows(_in_order(x, schema, name)), name=name)
    if len(row) != 1:
        raise InputError(f"{name} holds {len(row)} rows; one is explained at a time: give a vector, or a table of one row")
    return row, row_labels(x, 1)[0] if hasattr(x, "iloc") and is_table else getattr(x, "name", None)


def _in_order(x: Any, schema: Schema, name: str) -> Any:
    """One vector; a series of pandas by the names of its entries."""
    if n_axes(x) == 0:
        raise InputError(f"{name}={x!r} is no vector; one value for each of the {len(schema.names)} features is required")
    if not hasattr(x, "to_frame") or not all(isinstance(entry, str) for entry in getattr(x, "index", ())):
        return x
    names = list(x.index)
    if sorted(names) != sorted(schema.names):
        raise InputError(f"{name} has the entries {names}, but {list(schema.names)} are required; select those")
    return np.array([x[entry] for entry in schema.names], dtype=None if schema.plain else object)
