"""Payload: columns beside the items of an index, which conditions name and no distance reads.

Every column is of one kind:

    number  float64 or float32, NaN where missing
    whole   whole numbers below 2^53, as float64
    truth   1 and 0, as float64
    time    days since 1970-01-01, as float64; of times with a zone in UTC
    text    numbers of distinct texts, 0 where missing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._foundation.arrays import is_missing
from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.tables import read_table, row_labels
from .columns import cells_of, column_of, is_categorical, numbers_of
from .conditions import Cells, TruthCells
from .moments import TimeCells
from .texts import DistinctTexts, TextCells
from .times import SCALE, clock_zone, days_or_hours, holds_times, zone_of

KINDS = {"number": "numbers", "whole": "whole numbers", "truth": "truth values", "time": "times", "text": "text"}
_TOO_LARGE = 2.0**53  # from which float64 does not hold every whole number
_DAY = 86_400e6  # microseconds
_DTYPES = {"bool": "truth", "int": "whole", "uint": "whole", "float": "number"}  # how names of dtypes begin
_TABLE = "a frame of pandas, polars or pyarrow, or a dict of columns, is required, whose columns have names"


@dataclass(frozen=True, eq=False)
class PayloadColumn:
    """One column: its name, its kind, and a cell for each item."""

    name: str
    kind: str  # of KINDS
    cells: NDArray[Any]  # (n_items,), as the head of this module says
    zone: str = ""  # the time zone in which times are shown; "" for times without a zone
    texts: DistinctTexts | None = None

    @classmethod
    def read(cls, column: Any, name: str, like: PayloadColumn | None = None, source: str = "payload") -> Self:
        """Return a column of a table, or of a dict; ``like`` is that of the items which are there, whose kind it must have."""
        if isinstance(column, list | tuple):
            cells = np.empty(len(column), dtype=object)
            cells[:] = column
            column = cells
        if getattr(column, "ndim", 1) != 1:
            raise InputError(f"column {name!r} of {source} has {column.ndim} dimensions; one value for each item is required")
        found = _kind_of(column, name, source)
        kind = like.kind if like is not None else found
        if kind is None:
            raise InputError(
                f"column {name!r} of {source} holds nothing but missing values, and no dtype says what it should hold; give it "
                "the dtype float64 or datetime64, or leave it out"
            )
        if found not in (kind, None) and {found, kind} != {"number", "whole"}:
            raise _unlike(name, found, kind, source)
        if kind == "text":
            return cls._of_texts(name, cells_of(column))
        if kind == "time":
            zone = zone_of(column) if like is None else like.zone
            if found is None:
                return cls(name, kind, np.full(len(column), np.nan), zone)
            days = days_or_hours(column, SCALE, "UTC" if zone else "", name, source)
            return cls(name, kind, days, zone)
        numbers = numbers_of(column, name, source)
        if kind == "whole":
            if (np.abs(numbers) >= _TOO_LARGE).any():
                raise InputError(
                    f"column {name!r} of {source} holds whole numbers of 2^53 or more, of which some are equal as floats; give "
                    "them as text, as by astype(str)"
                )
            if (numbers[~np.isnan(numbers)] % 1 != 0).any():
                raise _unlike(name, "number", kind, source)
        is_single = str(getattr(column, "dtype", "")).lower() == "float32" if like is None else like.cells.dtype == np.float32
        return cls(name, kind, numbers.astype(np.float32) if is_single else numbers)

    @classmethod
    def _of_texts(cls, name: str, cells: Sequence[Any]) -> Self:
        ((codes, texts),) = TextCells.of(None if is_missing(cell) else str(cell) for cell in cells).pieces
        return cls(name, "text", codes, "", texts)

    @classmethod
    def joined(cls, columns: Sequence[PayloadColumn]) -> PayloadColumn:
        """Return the cells of columns of one kind, one after another, with no other texts than these cells have."""
        first = columns[0]
        if first.texts is None:
            return replace(first, cells=np.concatenate([column.cells for column in columns]))
        number: dict[str, int] = {}
        codes = []
        for column in columns:
            assert column.texts is not None  # as of the first
            used, at = np.unique(column.cells, return_inverse=True)
            texts = [column.texts.text(code) if code else None for code in used.tolist()]
            renumbered = [0 if text is None else number.setdefault(text, len(number) + 1) for text in texts]
            codes.append(np.array(renumbered, np.int32)[at])
        return replace(first, cells=np.concatenate(codes), texts=DistinctTexts.of(number))

    def take(self, rows: NDArray[Any]) -> PayloadColumn:
        """Return the cells of these rows, given as numbers or as a mask."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        return replace(self, cells=self.cells[rows])

    @classmethod
    def compared(cls, columns: Sequence[PayloadColumn]) -> Cells:
        """Return the cells of columns of one kind, one after another, as a condition compares them."""
        first, texts = columns[0], [(column.cells, column.texts) for column in columns if column.texts is not None]
        if texts:
            return TextCells(texts)
        cells = np.concatenate([column.cells for column in columns])
        if first.kind == "truth":
            return TruthCells(cells)
        return TimeCells(cells, "UTC" if first.zone else "") if first.kind == "time" else cells

    def shown(self) -> Any:
        """Return the cells as a person has given them: an array, or one of pandas where values of its dtype are missing."""
        pandas = optional("pandas")
        if self.texts is not None:
            cells = self.texts.all[self.cells]
            cells[self.cells == 0] = None
            return cells
        missing = np.isnan(self.cells)
        if self.kind == "time":
            days = np.where(missing, 0.0, self.cells)
            times = np.where(missing, np.datetime64("NaT", "us"), np.round(days * _DAY).astype("M8[us]"))
            shown = pandas.Series(times)
            return shown.dt.tz_localize("UTC").dt.tz_convert(clock_zone(self.zone)).array if self.zone else shown.array
        if self.kind == "number":
            return self.cells
        dtype = "int64" if self.kind == "whole" else "bool"
        if not missing.any():
            return self.cells.astype(dtype)
        cells = self.cells.astype(object)
        cells[missing] = None
        return pandas.array(cells, dtype="Int64" if self.kind == "whole" else "boolean")

    def check(self) -> None:
        """Refuse cells that are none of the kind, and texts that are not one after another."""
        there = self.cells[~np.isnan(self.cells)] if self.cells.dtype.kind == "f" else self.cells
        if self.texts is not None:
            right = there.min(initial=0) >= 0 and there.max(initial=0) <= len(self.texts.ends) and self.texts.check()
        elif self.kind == "whole":
            right = (there % 1 == 0).all() and (np.abs(there) < _TOO_LARGE).all()
        else:
            right = self.kind != "truth" or np.isin(there, (0.0, 1.0)).all()
        if not right or (self.zone and (self.kind != "time" or clock_zone(self.zone) is None)):
            raise InputError(f"column {self.name!r} of the payload holds what no column of {KINDS[self.kind]} holds")


@dataclass(frozen=True, eq=False)
class Payload:
    """A table beside the items of an index, with a row for each of them."""

    columns: tuple[PayloadColumn, ...]

    @classmethod
    def read(cls, given: Any, n: int, features: Sequence[str]) -> Payload:
        """Return the payload of n items that a user gives, whose columns have other names than the features."""
        if isinstance(given, Payload):
            check_names(given.names, features)
            return given
        columns = _columns(given, n)
        check_names(list(columns), features)
        return cls(tuple(PayloadColumn.read(column, name) for name, column in columns.items()))

    @classmethod
    def added(cls, given: Any, n: int, there: Payload | None) -> Payload | None:
        """Return the payload of n items that are added to others, whose payload is ``there``: of the same columns."""
        if there is None:
            if given is not None:
                raise InputError("payload= is given, and fit had none; leave it out, or fit the index with payload=")
            return None
        names = ", ".join(there.names)
        if given is None:
            raise InputError(f"the items have a payload ({names}); give payload= of the new items too, with these columns")
        columns = _columns(given, n)
        absent = [name for name in there.names if name not in columns]
        foreign = [name for name in columns if name not in there.names]
        if absent or foreign:
            what = f"no {absent[0]!r}" if absent else f"a column {foreign[0]!r}"
            raise InputError(f"payload has {what}; the columns of the payload of fit are required: {names}")
        return cls(tuple(PayloadColumn.read(columns[column.name], column.name, column) for column in there.columns))

    @classmethod
    def joined(cls, parts: Sequence[Payload]) -> Payload:
        """Return payloads of the same columns, one after another."""
        return cls(tuple(map(PayloadColumn.joined, zip(*(part.columns for part in parts), strict=True))))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns[0].cells)

    def __getitem__(self, name: str) -> PayloadColumn:
        return self.columns[self.names.index(name)]

    def take(self, rows: NDArray[Any]) -> Payload:
        """Return the payload of these rows, given as numbers or as a mask."""
        return Payload(tuple(column.take(rows) for column in self.columns))

    def to_frame(self, index: Any = None) -> Any:
        """Return a frame of pandas, whose index are the ids that are given."""
        return optional("pandas").DataFrame({column.name: column.shown() for column in self.columns}, index=index)

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays of the columns, each by a name of its own."""
        for k, column in enumerate(self.columns):
            yield f"payload_{k}", column.cells
            if column.texts is not None:
                yield f"payload_{k}_letters", column.texts.letters
                yield f"payload_{k}_ends", column.texts.ends


def check_same_rows(given: Any, labels: NDArray[Any], name: str, of: str) -> None:
    """Refuse a frame or series of pandas whose row labels are those of the items, as `row_labels`, in another order."""
    if not hasattr(given, "iloc"):
        return
    own, rows = row_labels(given, len(given)), np.arange(len(given))
    if own.shape != labels.shape or own.dtype.kind != labels.dtype.kind or (own == labels).all() or np.array_equal(own, rows):
        return
    if (np.sort(own) == np.sort(labels)).all():
        k = int((own != labels).argmax())
        raise InputError(
            f"{name} has the row labels of {of} in another order: row {k} is {own[k]!s}, and there {labels[k]!s}. Rows are "
            f"taken in their order: sort {name} as {of}, or leave its labels out by reset_index(drop=True)"
        )


def check_names(names: Sequence[Any], features: Sequence[str]) -> None:
    """Refuse names of columns that are no text, that repeat, or that columns of the distance have."""
    if wrong := [name for name in names if not isinstance(name, str) or not name]:
        raise InputError(f"payload has a column called {wrong[0]!r}; a text is required: rename it")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"payload has two columns called {twice[0]!r}; names must be distinct: rename one")
    if clash := [name for name in names if name in features]:
        raise InputError(
            f"payload has the column {clash[0]!r}, and so has the distance, so that a condition could mean either; leave it "
            "out, since conditions may name columns of the distance, or rename it"
        )


def _columns(given: Any, n: int) -> dict[str, Any]:
    """Return the columns of a table by their names, each of n rows."""
    if isinstance(given, Mapping):
        columns = {name: as_column(column) for name, column in given.items()}
        lengths = [len(column) if hasattr(column, "__len__") else 0 for column in columns.values()]
    else:
        table = read_table(given, name="payload")
        if not hasattr(table, "columns"):
            raise InputError(
                f"payload is of type {type(given).__name__}; {_TABLE}: give pandas.DataFrame(values, columns=[...])"
            )
        names = list(table.columns)
        check_names(names, ())
        columns, lengths = {name: column_of(table, k) for k, name in enumerate(names)}, [len(table)]
    if not columns:
        raise InputError(f"payload has no columns; {_TABLE}")
    if wrong := [length for length in lengths if length != n]:
        raise InputError(f"payload has {wrong[0]} rows for {n} items; a row for each item, in their order, is required")
    if texts := [name for name, column in columns.items() if isinstance(column, str)]:
        raise InputError(f"column {texts[0]!r} of payload is one text; one value for each item is required")
    return columns


def as_column(column: Any) -> Any:
    """Return an index or an extension array of pandas as a series, and a range as a list; other columns as they are."""
    if isinstance(column, range):
        return list(column)
    is_pandas = type(column).__module__.split(".")[0] == "pandas" and not hasattr(column, "iloc")
    return optional("pandas").Series(column) if is_pandas else column


def _kind_of(column: Any, name: str, source: str) -> str | None:
    """Return the kind of a column, by its dtype or its cells; None if all of them are missing and no dtype says it."""
    if holds_times(column):
        return "time"
    dtype = str(getattr(column, "dtype", "object")).lower()
    known = next((kind for start, kind in _DTYPES.items() if dtype.startswith(start)), None)
    if known is not None:
        return known
    there = [cell for cell in cells_of(column) if not is_missing(cell)]
    if any(isinstance(cell, str) for cell in there) and is_categorical(column):
        return "text"
    kinds = {_kind_of_cell(cell) for cell in there}
    if kinds == {"whole", "number"}:
        return "number"
    if len(kinds) > 1 or "" in kinds:
        odd = next(cell for cell in there if _kind_of_cell(cell) != _kind_of_cell(there[0]) or not _kind_of_cell(cell))
        raise InputError(
            f"column {name!r} of {source} holds {odd!r:.40} of type {type(odd).__name__}; numbers, text, truth values, dates "
            "or times are required, of one kind in a column: convert it, as by astype(str)"
        )
    return next(iter(kinds), None)


def _kind_of_cell(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth"
    return "whole" if isinstance(cell, Integral) else "number" if isinstance(cell, Real) else ""


def _unlike(name: str, found: str | None, kind: str, source: str) -> InputError:
    return InputError(
        f"column {name!r} of {source} holds {KINDS[str(found)]}, and {KINDS[kind]} in the items that are there; give the same"
    )
