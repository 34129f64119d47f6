"""Tables with their missing values filled in, in the container and the types in which they came."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .._foundation.sparse_tables import dense_table
from .._foundation.tables import read_table
from .._foundation.types import Floats, Integers
from .columns import as_table
from .feature import Feature
from .schema import Schema
from .times import SCALE, times_of

__all__ = ["filled_table"]


def filled_table(X: Any, schema: Schema, missing: NDArray[np.bool_], rows: Integers, filled: Floats) -> Any:
    """The table X with the values of ``filled`` where it is missing some.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_features)
    schema : Schema
        By which X was encoded.
    missing : ndarray of bool of shape (n_items, n_features)
    rows : ndarray of int64 of shape (n_rows,)
        The rows that miss a value, increasing.
    filled : ndarray of shape (n_rows, n_features)
        These rows, encoded, without missing values.

    Returns
    -------
    ndarray or frame
        A new one: float64 if all features are numbers or angles, else objects; a frame of the library of X.
    """
    X = schema.table(X)
    values = {
        k: (np.flatnonzero(missing[:, k]), _decoded(schema.features[k], filled[missing[rows, k], k]))
        for k in np.flatnonzero(missing.any(axis=0)).tolist()
    }
    table = read_table(dense_table(X, "X"))
    if hasattr(table, "columns"):
        return _filled_frame(table, values)
    of_numbers = all(feature.kind != "categorical" and not feature.time for feature in schema.features)
    out = np.array(as_table(table), dtype=object)
    for k, (places, found) in values.items():
        out[places, k] = found
    return out.astype(np.float64) if of_numbers else out


def _decoded(feature: Feature, codes: Floats) -> NDArray[Any]:
    """The values that codes stand for: numbers, categories, or times."""
    if feature.time == SCALE:
        return times_of(codes, feature.zone)
    return feature.decode(codes) if feature.kind == "categorical" else codes


def _filled_frame(X: Any, values: dict[int, tuple[Integers, NDArray[Any]]]) -> Any:
    """A frame with values in place of those that are missing, column by column."""
    if hasattr(X, "iloc"):
        columns = {k: _filled_series(X.iloc[:, k], *found) for k, found in values.items()}
        out = X.copy()
        for k, column in columns.items():
            out.isetitem(k, column)
        return out
    frame = nw.from_native(X, eager_only=True)
    names = frame.columns
    new = []
    for k, (places, found) in values.items():
        column = frame[names[k]]
        cells = column.to_list()
        for place, value in zip(places.tolist(), found.tolist(), strict=True):
            cells[place] = value
        dtype = nw.Float64() if column.dtype.is_integer() or column.dtype == nw.Boolean else column.dtype
        if dtype == nw.Float64:
            cells = [float(cell) for cell in cells]
        new.append(nw.new_series(names[k], cells, dtype, backend=frame.implementation))
    return frame.with_columns(*new).to_native()


def _filled_series(column: Any, places: Integers, found: NDArray[Any]) -> Any:
    """A column of pandas with values in these places; whole numbers and truth values become floating-point numbers."""
    name = str(column.dtype).lower()
    if name.startswith(("int", "uint", "bool")):
        column = column.astype("Float64")
    elif name == "object" and found.dtype.kind == "f":
        column = column.astype(np.float64)
    out = column.copy()
    out.iloc[places] = found
    return out
