"""Frames of pandas and polars in files: columns of numbers, truth values, text, categories and times, and labels of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.optional_imports import optional
from .._foundation.stored import storable
from .._foundation.tables import read_table
from .columns import Category, categories_of, is_categorical

_LIBRARIES = ("pandas", "polars")
_US = "M8[us]"


@storable
@dataclass(frozen=True, eq=False)
class StoredColumn:
    """One column: its cells, or of times the microseconds since 1970."""

    cells: NDArray[Any]  # (n,): numbers, or objects: text, truth values or numbers, None where one is missing; of times int64
    categories: tuple[Category, ...] | None = None
    zone: str | None = None  # of times; "" for those without a zone

    @classmethod
    def of(cls, series: Any, name: str) -> StoredColumn:
        """Return the stored form of a series of narwhals; ``name`` is for messages."""
        dtype = series.dtype
        if dtype in (nw.Date, nw.Datetime):
            zone = getattr(dtype, "time_zone", None)
            if zone is not None:
                series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            return cls(series.cast(nw.Datetime("us")).to_numpy().astype(_US).astype(np.int64), zone=zone or "")
        if dtype.is_numeric():
            return cls(series.to_numpy() if not series.is_null().any() else series.cast(nw.Float64()).to_numpy())
        if dtype not in (nw.Boolean, nw.String, nw.Object, nw.Categorical, nw.Enum):
            raise NotSupportedError(f"{name} is of dtype {dtype}, which no file holds: turn it into numbers, text or times")
        missing = series.is_null().to_list()
        cells = np.array([None if gone else cell for cell, gone in zip(series.to_list(), missing, strict=True)], dtype=object)
        own = is_categorical(nw.to_native(series))
        return cls(cells, categories_of(nw.to_native(series), name) if own else None)

    def made(self, name: str, library: Any) -> Any:
        """Return the column as a series of narwhals."""
        if self.zone is not None:
            times = nw.new_series(name, self.cells.astype(_US), backend=library)
            return times.dt.replace_time_zone("UTC").dt.convert_time_zone(self.zone) if self.zone else times
        cells = self.cells.tolist() if self.cells.dtype == object else self.cells
        if self.categories is None:
            return nw.new_series(name, cells, backend=library)
        if library == "polars":
            return nw.new_series(name, cells, nw.Enum([str(category) for category in self.categories]), backend=library)
        pandas = optional("pandas")
        return nw.from_native(pandas.Series(pandas.Categorical(cells, list(self.categories)), name=name), series_only=True)


@storable
@dataclass(frozen=True, eq=False)
class StoredFrame:
    """A frame as a file holds it; whole numbers of which some are missing come back as floating-point numbers."""

    library: str
    names: tuple[str, ...]
    columns: tuple[StoredColumn, ...]
    labels: StoredColumn | None = None  # of the rows of a frame of pandas that are not numbered from 0 on

    @classmethod
    def of(cls, table: Any, name: str) -> StoredFrame | None:
        """Return the stored form of a frame; None if it is none of pandas or polars whose columns have names."""
        frame = nw.from_native(read_table(table), eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame) or frame.implementation.value not in _LIBRARIES:
            return None
        if not all(isinstance(column, str) for column in frame.columns):
            return None
        labels, pandas = None, frame.implementation.is_pandas()
        if pandas and not np.array_equal(table.index, np.arange(len(table))):
            index = nw.from_native(table.index.to_series(name="labels"), series_only=True)
            labels = StoredColumn.of(index, f"the index of {name}")
        columns = tuple(StoredColumn.of(frame[column], f"column {column!r} of {name}") for column in frame.columns)
        return cls(frame.implementation.value, tuple(frame.columns), columns, labels)

    def restored(self, _: Any) -> Any:
        """Return the frame."""
        if self.library not in _LIBRARIES or len(self.names) != len(self.columns) or not self.columns:
            raise InputError(f"there are {len(self.columns)} columns for {len(self.names)} names; restore the file")
        library = optional(self.library)
        try:
            made = {name: c.made(name, self.library) for name, c in zip(self.names, self.columns, strict=True)}
            frame = nw.from_dict(made).to_native()
            if self.labels is not None and self.library == "pandas":
                frame.index = library.Index(nw.to_native(self.labels.made("labels", "pandas")), name=None)
        except Exception as error:  # libraries of frames raise errors of many classes
            raise InputError(f"the columns {', '.join(self.names[:8])} make no frame ({error}); restore the file") from error
        return frame
