"""Rows that are given several times as one row with the sum of their weights, so that weights equal repetition.

A model learned from distinct rows is the same for a row of weight 3 and for the row given three times. It does not depend on
the order of the rows either, since they are sorted by the hashes of items (`identical_items`) and then by targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.arrays import dense_table, input_errors, n_axes
from .._foundation.errors import InputError, SemimetricError, warn
from .._foundation.names import did_you_mean
from .._foundation.tables import read_table, row_labels, take_rows
from .._foundation.types import ArrayLike, Floats, Integers
from .columns import as_table, column_texts, numbers_of
from .identical_items import identities, surely_differ
from .schema import Feature, Schema
from .times import SCALE, times_of, with_texts_read

_FEW_FEATURES = 2  # in which rows mostly differ already, where any is a measured number


class DistinctRows(NamedTuple):
    """The rows that stand for all rows of a weight > 0."""

    # (m,), their numbers, in the order of the hashes of their items; rows of one item in the order of their targets.
    rows: Integers
    weight: Floats  # (m,), the sum of the weights of all rows that are equal to each
    times: Integers  # (m,), how many these are


def distinct_rows(
    items: Floats | sparse.csr_array, targets: NDArray[Any], weight: Floats, *, always: bool = False
) -> DistinctRows | None:
    """Return the distinct rows with their targets; None if all count alike and none is repeated, unless ``always``."""
    may_be_left = not always and np.ptp(weight) == 0
    if may_be_left and isinstance(items, np.ndarray):
        if surely_differ(np.column_stack([items[:, :_FEW_FEATURES], targets])):
            return None
    _, number, hashes = identities(items)
    used = np.flatnonzero(weight > 0)
    item = hashes[number[used]]
    order = np.lexsort((targets[used], item))
    rows, item = used[order], item[order]
    is_first = np.append(True, (item[1:] != item[:-1]) | (np.diff(targets[rows]) != 0))
    if may_be_left and is_first.all():
        return None
    first = np.flatnonzero(is_first)
    return DistinctRows(rows[first], np.add.reduceat(weight[rows], first), np.diff(np.append(first, len(rows))))


def single_row(x: Any, schema: Schema, name: str = "x") -> tuple[Floats, Any]:
    """Return an item as an encoded matrix (1, n_features), and the label of a row or series of pandas, else None."""
    is_table = hasattr(x, "columns")
    row = schema.encode(x if is_table else schema.rows(x, name), name=name)
    if len(row) != 1:
        raise InputError(f"{name} holds {len(row)} rows; one is explained at a time: give a vector, or a table of one row")
    if not hasattr(x, "iloc"):
        return row, None  # the name of a series of polars is that of a column
    return row, row_labels(x, 1)[0] if is_table else x.name


# Cells of these types are the same number, and the same category, whatever table or column they come from.
_NUMBERS = frozenset((float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint8))
_CATEGORIES = _NUMBERS | {str}


class RowReader:
    """Reads single rows as `Schema.encode` does, bit for bit, in microseconds: what depends on the schema is prepared once.

    A row is a dict, a list or tuple of values in the order of the columns, a series of pandas, or a frame of one row of pandas
    or polars. ``columns`` are the names of the columns of such frames; None reads no frames. What is not plainly such a row,
    or holds anything that has to be looked at as a column, is left to `Schema.encode`.
    """

    def __init__(self, schema: Schema, columns: Sequence[str] | None = None) -> None:
        features = schema.features
        self.schema = schema
        self._place = {name: k for k, name in enumerate(schema.names)}
        self._unique = len(self._place) == len(features)
        self._nameless = schema.names == tuple(f"x{k}" for k in range(len(features)))
        self._dropped = frozenset(schema.dropped)
        self._reads_frames = columns is not None and (bool(self._dropped) or tuple(columns) == schema.names)
        self._codes: list[dict[Any, float] | None] = [
            {category: float(code) for code, category in enumerate(f.categories)} if f.kind == "categorical" else None
            for f in features
        ]
        self._times = [bool(f.time) for f in features]
        self._missing = np.array(schema.missing)
        self._turns = [(k, f.period) for k, f in enumerate(features) if f.kind == "periodic" and not f.time]

    def read(self, x: Any) -> Floats | None:
        """Return the encoded row (1, n_features); None if it is left to `Schema.encode`."""
        cells = self._cells(x)
        if cells is None or len(cells) != len(self._codes):
            return None
        try:
            out = np.array([[self._encoded(k, cell) for k, cell in enumerate(cells)]])
        except (_ToBeLookedAt, SemimetricError, OverflowError):
            return None  # `Schema.encode` reads it, or says why it cannot.
        for k, period in self._turns:
            if np.isfinite(out[0, k]):
                turned = np.mod(out[0, k], period)
                out[0, k] = 0.0 if turned == period else turned  # as `Feature.encode` does
        allowed = np.isfinite(out[0]) | (self._missing & np.isnan(out[0]))
        return out if allowed.all() else None

    def _encoded(self, k: int, cell: Any) -> float:
        codes, kind = self._codes[k], type(cell)
        if codes is not None:
            if cell is None or (kind in _CATEGORIES and cell != cell):
                return np.nan
            code = codes.get(cell) if kind in _CATEGORIES else None
            return _look_at() if code is None else code
        if self._times[k]:
            if cell is not None and not isinstance(cell, (str, float, date, np.datetime64)):
                _look_at()
            column = np.empty(1, dtype=object)
            column[0] = cell
            return float(self.schema.features[k].encode(column, "x")[0])
        if cell is None:
            return np.nan
        return float(cell) if kind in _NUMBERS else _look_at()

    def _cells(self, x: Any) -> Sequence[Any] | None:
        """Return the cells of a row in the order of the features; None if it is no row, or named otherwise."""
        if type(x) is dict:
            return self._by_name(x.keys(), x)
        if type(x) is list or type(x) is tuple:
            return x
        is_frame, is_pandas = hasattr(x, "columns"), hasattr(x, "iloc")
        if not is_frame:
            return self._of_series(x) if is_pandas else None
        if not self._reads_frames or getattr(x, "shape", (0,))[0] != 1 or any(self._times):  # which a dtype says how to read
            return None
        if not is_pandas and not type(x).__module__.startswith("polars."):
            return None
        columns = tuple(x.columns)
        cells: Sequence[Any] = x.to_numpy(dtype=object)[0].tolist() if is_pandas else x.row(0)
        if self._dropped:
            kept = [k for k, name in enumerate(columns) if name not in self._dropped]
            if len(kept) == len(columns):
                return None
            columns, cells = tuple(columns[k] for k in kept), [cells[k] for k in kept]
        return cells if columns == self.schema.names else None

    def _of_series(self, x: Any) -> Sequence[Any] | None:
        labels = x.index.tolist()
        if self._nameless or not all(type(label) is str for label in labels) or str(x.dtype) == "category":
            return None
        return self._by_name(labels, dict(zip(labels, x.tolist(), strict=True)))

    def _by_name(self, names: Any, cells: Mapping[Any, Any]) -> Sequence[Any] | None:
        found = [cells[name] for name in self._place if name in cells]
        n_others = len(names) - len(found)
        if not self._unique or len(found) < len(self._place) or (n_others and n_others != len(self._dropped & cells.keys())):
            return None
        return found


class _ToBeLookedAt(Exception):
    """A cell that a column says how to read."""


def _look_at() -> float:
    raise _ToBeLookedAt


_MOST_SHOWN = 3  # labels in a message


def item_rows(tuples: ArrayLike, preprocessor: Any, name: str) -> tuple[ArrayLike, Any]:
    """Return the tuples as row numbers, and the items that they number; the tuples as they are and None if they hold points."""
    if preprocessor is None or n_axes(tuples) == 3:
        return tuples, None
    if callable(preprocessor):
        return _made_by(preprocessor, tuples, name)
    labels = getattr(preprocessor, "index", None) if hasattr(preprocessor, "iloc") else None
    if labels is None:
        return tuples, preprocessor
    with input_errors():
        names = np.asanyarray(tuples)
    if not _are_labels(names, labels):
        return tuples, preprocessor
    return _rows_of(names, labels, name), preprocessor


def items_named(X: Any, preprocessor: Any) -> Any:
    """Return the table whose rows a one-dimensional X names, of the kind of the preprocessor; X itself if it is a table."""
    if preprocessor is None or hasattr(X, "columns") or n_axes(X) != 1:
        return X
    rows, items = item_rows(np.asanyarray(X)[:, None], preprocessor, "item")
    rows = np.asarray(rows).ravel()
    if rows.dtype.kind not in "iu":
        raise InputError(
            f"X has shape {rows.shape} and dtype {rows.dtype}; with preprocessor= it must hold row numbers or labels of its "
            "index, or be a table of shape (n_items, n_features)"
        )
    n = items.shape[0] if hasattr(items, "shape") else len(items)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        bad = rows[(rows < 0) | (rows >= n)][0]
        raise InputError(f"X has the row number {bad}, but there are {n} items; give numbers from 0 to {n - 1}")
    return take_rows(items, rows)


def warn_of_integer_index(tuples: ArrayLike, preprocessor: Any) -> None:
    """Warn if integers could be meant as labels of a frame whose index holds integers other than its row numbers."""
    labels = getattr(preprocessor, "index", None) if hasattr(preprocessor, "iloc") else None
    if labels is None or n_axes(tuples) == 3 or getattr(labels.dtype, "kind", "O") not in "iu":
        return
    if not np.array_equal(labels, np.arange(len(labels))):
        warn(
            "the items are given as row numbers, in the order of the preprocessor, whose index holds other integers; if "
            "its labels are meant, give preprocessor.index.get_indexer(labels), else preprocessor.reset_index(drop=True)"
        )


def _are_labels(names: NDArray[Any], labels: Any) -> bool:
    if names.dtype.kind == "O" and all(isinstance(name, (int, np.integer)) for name in names.flat):
        return False
    return names.dtype.kind not in "iuf" and getattr(labels.dtype, "kind", "O") not in "iuf"


def _rows_of(names: NDArray[Any], labels: Any, name: str) -> Integers:
    """Return the row numbers of labels, of the same shape; an error names those that are missing or not unique."""
    if not labels.is_unique:
        twice = labels[labels.duplicated()][0]
        raise InputError(f"the index of the preprocessor has {twice!r} twice; unique labels are required to name items by them")
    rows = labels.get_indexer(names.ravel()).reshape(names.shape)
    if (rows < 0).any():
        unknown = list(dict.fromkeys(names[rows < 0].tolist()))
        shown = ", ".join(map(repr, unknown[:_MOST_SHOWN])) + (", ..." if len(unknown) > _MOST_SHOWN else "")
        raise InputError(
            f"{name}s name {shown}, which {'is' if len(unknown) == 1 else 'are'} not in the index of the preprocessor "
            f"({len(unknown)} in all); give labels of its index, such as "
            f"{', '.join(map(repr, labels[:_MOST_SHOWN].tolist()))}, or row numbers{did_you_mean(unknown[0], labels)}"
        )
    return rows.astype(np.int64)


def _made_by(function: Callable[[Any], Any], tuples: ArrayLike, name: str) -> tuple[Integers, Any]:
    with input_errors():
        names, rows = np.unique(np.asarray(tuples), return_inverse=True)
    try:
        items = function(names)
    except Exception as error:  # a user's function may raise anything
        raise InputError(
            f"the preprocessor failed on the {len(names)} names of the {name}s ({type(error).__name__}: {error}); a table with "
            "one row for each name is required: correct it"
        ) from error
    table = items if hasattr(items, "shape") else np.asarray(items)
    if len(table.shape) != 2 or table.shape[0] != len(names):
        raise InputError(
            f"the preprocessor returned shape {table.shape} for {len(names)} names; (n_names, n_features) is required, one row "
            "for each name"
        )
    return rows.reshape(np.shape(tuples)).astype(np.int64), table


def filled_table(X: Any, schema: Schema, missing: NDArray[np.bool_], rows: Integers, filled: Floats) -> Any:
    """Return a copy of the table X with ``filled`` (n_rows, n_features), encoded, in its ``rows`` where values are missing."""
    if not hasattr(X, "columns"):
        X = schema.table(X)
    values = {
        k: (np.flatnonzero(missing[:, k]), _decoded(schema.features[k], filled[missing[rows, k], k]))
        for k in np.flatnonzero(missing.any(axis=0)).tolist()
    }
    table = read_table(dense_table(X, "X"))
    if hasattr(table, "columns"):
        order = list(table.columns)
        return _filled_frame(table, {order.index(schema.names[k]) if schema.dropped else k: v for k, v in values.items()})
    of_numbers = all(feature.kind != "categorical" and not feature.time for feature in schema.features)
    out = np.array(as_table(table), dtype=object)
    for k, (places, found) in values.items():
        out[places, k] = found
    return out.astype(np.float64) if of_numbers else out


def _decoded(feature: Feature, codes: Floats) -> NDArray[Any]:
    if feature.time == SCALE:
        return times_of(codes, feature.zone)
    return feature.decode(codes) if feature.kind == "categorical" else codes


def _filled_frame(X: Any, values: dict[int, tuple[Integers, NDArray[Any]]]) -> Any:
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
        meant = _meant_by_texts(column, found)
        cells = column.to_list() if meant is None else meant.tolist()
        for place, value in zip(places.tolist(), found.tolist(), strict=True):
            cells[place] = value
        dtype = nw.Float64() if column.dtype.is_integer() or column.dtype == nw.Boolean else column.dtype
        if meant is not None:
            dtype = nw.Float64() if found.dtype.kind == "f" else nw.Datetime()
        if dtype == nw.Float64:
            cells = [float(cell) for cell in cells]
        new.append(nw.new_series(names[k], cells, dtype, backend=frame.implementation))
    return frame.with_columns(*new).to_native()


def _meant_by_texts(column: Any, found: NDArray[Any]) -> NDArray[Any] | None:
    """Return a column of text as the numbers or times that it is read as, if ``found`` are such; None if they are text."""
    if isinstance(found[0], str) or not column_texts(column):
        return None
    return numbers_of(column, "", "X") if found.dtype.kind == "f" else with_texts_read(column)


def _filled_series(column: Any, places: Integers, found: NDArray[Any]) -> Any:
    """Return a column of pandas with values in these places; whole numbers and truth values become floating-point numbers."""
    name = str(column.dtype).lower()
    if name.startswith(("int", "uint", "bool")):
        column = column.astype("Float64")
    elif name == "object" and found.dtype.kind == "f":
        column = column.astype(np.float64)
    elif (cells := _meant_by_texts(column, found)) is not None:
        column = type(column)(cells, index=column.index, name=column.name)
    out = column.copy()
    out.iloc[places] = found
    return out
