"""Rows of a page: the values that are edited there as a table that the model takes, and a table as values of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.types import Floats
from ..data.schema import Feature, Schema
from ..data.times import SCALE

_FIRST, _LAST = -719_161.0, 2_932_895.0  # days of which `datetime` has a time in every zone: from year 1 to 9999


@dataclass(frozen=True, eq=False)
class PageRows:
    """The columns of the items of a page, by which encoded values become rows of the user and back."""

    schema: Schema  # of the columns that the page shows
    named: bool  # rows are frames of pandas; False for arrays, where the fit had no names of columns
    dtypes: dict[str, Any]  # of columns of the items that were given, as far as these were a frame of pandas
    texts: frozenset[str]  # those of these columns whose first value that is not missing is text
    refused: str  # why the model does not take rows of the page; "" if it does

    @classmethod
    def of(cls, schema: Schema, model: Any, X: Any, refused: str) -> PageRows:
        """Return the columns of the items X of a model, which is None where none were given."""
        numbered = tuple(f"x{f}" for f in range(len(schema.features)))
        named = hasattr(model, "feature_names_in_") or schema.names != numbered
        columns = X.columns if hasattr(X, "iloc") and hasattr(X, "columns") else ()
        given = {name: X[name] for name in schema.names if name in columns}
        texts = frozenset(name for name, column in given.items() if isinstance(next(iter(column.dropna()), None), str))
        return cls(schema, named, {name: column.dtype for name, column in given.items()}, texts, refused)

    def to_table(self, values: Floats) -> Any:
        """Return encoded rows (n, n_features) as a frame of pandas, or where the fit had no names as an array.

        A column has the dtype of the items, if the values read the same in it.
        """
        cells = self.schema.display(values)
        if not self.named:
            return cells.copy()
        frame = self.schema.frame(cells, np.arange(len(values)))
        changed = {}
        for feature, dtype, codes in zip(self.schema.features, frame.dtypes, values.T, strict=True):
            wanted = self.dtypes.get(feature.name, dtype)
            if wanted != dtype and feature.time in ("", SCALE):  # others are hours or days, of which no time can be made
                column = frame[feature.name]
                if feature.time == SCALE and feature.name in self.texts:
                    column = column.map(_iso, na_action="ignore")
                changed[feature.name] = _with_dtype(column, wanted, feature, codes)
        return frame.assign(**changed)

    def from_table(self, X: Any, n_rows: int, name: str) -> Floats:
        """Return a table, or one row as a vector, series or dict, as encoded rows (n_rows, n_features)."""
        values = self.schema.encode(self.schema.rows(X, name), name=name)
        if len(values) != n_rows:
            raise InputError(f"{name} has {len(values)} rows; the page shows {n_rows}: give as many")
        for row in values.tolist():
            if wrong := self._wrong_value(row):
                raise InputError(f"{name} has {wrong}: correct it")
        return values

    def from_message(self, message: object, n_rows: int) -> Floats:
        """Return what a page has sent, lists of numbers with None for missing values, as encoded rows (n_rows, n_features)."""
        if not isinstance(message, list) or len(message) != n_rows:
            raise InputError(f"the page sent {_kind_of(message)}; a list of {n_rows} items is required")
        n = len(self.schema.features)
        for row in message:
            if not isinstance(row, list) or len(row) != n:
                raise InputError(f"the page sent {_kind_of(row)} as an item; a list of {n} values is required")
            if strange := [cell for cell in row if cell is not None and not _is_number(cell)]:
                raise InputError(f"the page sent {_kind_of(strange[0])} as a value; a finite number or null is required")
            if wrong := self._wrong_value([math.nan if cell is None else float(cell) for cell in row]):
                raise InputError(f"the page sent a value that no item has: {wrong}")
        return np.array([[math.nan if cell is None else float(cell) for cell in row] for row in message])

    def to_message(self, values: Floats) -> list[list[float | None]]:
        """Return encoded rows as a page reads them."""
        return [[None if math.isnan(cell) else cell for cell in row] for row in values.tolist()]

    def _wrong_value(self, row: Sequence[float]) -> str:
        """Return what is wrong with an encoded row; "" if every value is one of its column."""
        for feature, value in zip(self.schema.features, row, strict=True):
            if not _is_code(value, feature):
                shown = "a missing value" if math.isnan(value) else f"{value:g}"
                return f"{shown} in the column {feature.name!r}, which holds {feature.kind_in_words}"
        return ""


def _kind_of(value: object) -> str:
    """Return what a value is, in words that show none of its text."""
    return f"a list of {len(value)}" if isinstance(value, list) else f"an object of type {type(value).__name__}"


def _is_number(cell: object) -> bool:
    try:
        return isinstance(cell, Real) and not isinstance(cell, bool) and math.isfinite(cell)
    except OverflowError:  # a whole number that is no float
        return False


def _is_code(value: float, feature: Feature) -> bool:
    """Return True if an encoded value is one that the feature may have."""
    if math.isnan(value):
        return feature.missing
    if feature.kind == "categorical":
        return value.is_integer() and 0 <= value <= len(feature.categories)
    if feature.kind == "periodic":
        return 0 <= value < feature.period
    return feature.time != SCALE or _FIRST <= value <= _LAST


def _with_dtype(column: Any, dtype: Any, feature: Feature, values: Floats) -> Any:
    """Return a column of pandas in a dtype, if its values read the same in it; else as it is."""
    if hasattr(dtype, "categories") and not column.dropna().isin(dtype.categories).all():
        return column
    try:
        with np.errstate(invalid="ignore"):  # of numbers that are too large for whole ones
            cast = column.astype(dtype)
        same = np.array_equal(feature.encode(cast, "row"), values, equal_nan=True)
    except (TypeError, ValueError, OverflowError):  # of values that the dtype does not have
        return column
    return cast if same else column


def _iso(time: datetime) -> str:
    """Return a time as ISO 8601 writes it, a midnight without a zone as its date."""
    text = time.isoformat()
    return text.removesuffix("T00:00:00")


def start_rows(values: NDArray[Any] | None, middles: Floats, n_rows: int) -> Floats:
    """Return the items that a page begins with: its first ones, or without items the middle of every column."""
    if values is None:
        return np.tile(middles, (n_rows, 1))
    return np.ascontiguousarray(values[np.minimum(np.arange(n_rows), len(values) - 1)])
