"""Tables that commands read and write: files as frames of pandas, and their columns as features of a model.

Files are CSV or TSV, both also compressed by gzip, or Parquet, as their extensions say. Standard input is recognized by how it
begins, and stored, since a command may read a table more than once. A file is refused if it is no text, if it is larger than
memory, or if a row has more cells than the header has names.

Columns of numbers are features, and so are columns of text. Their cells are categories, or times if all are written as in
2026-11-22 or 2026-11-22 16:30 (ISO 8601). Empty cells are missing values.
"""

import gzip
import io
import os
import re
import sys
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, warn
from .._foundation.files import write_file
from .._foundation.optional_imports import optional
from .._foundation.real_numbers import real_number, shown
from .._foundation.types import Floats, Integers
from ..data.keys import as_key
from ..data.parts.row_parts import format_memory
from ..data.schema import Feature, Schema
from ..data.tables import SplitTable, column_named, keys_of, split_table
from .output import first_line, print_message, shows_progress
from .parser import STANDARD_INPUT, Period, periods_of
from .table_names import LONGEST_HEADER, TableForm, check_is_file, form_of_name, no_such_id

_SEPARATED_BY = {",": "commas", "\t": "tabs"}
_COPIES = 2  # of a file that reading it takes in memory, at least: its cells, and the columns that are made of them
_OFFSET = re.compile(r"(?:Z|[+-]\d{2}:?\d{2})$")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_NO_VALUES = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")  # cells of a column of numbers that are missing
_NOT_NUMERIC = "that are not numeric"


def read_frame(path: str, text: Sequence[str] = ()) -> Any:
    """Return the table at ``path`` as a pandas frame; columns of text in CSV, and those called ``text``, are as written."""
    optional("pandas")
    form = _form_of_input() if path == STANDARD_INPUT else form_of_name(path)
    if not form.separator:
        optional("pyarrow")
    if path != STANDARD_INPUT:
        check_is_file(path)
        _check_size(path, form)
    try:
        frame = _read_csv(path, form, text) if form.separator else _read_parquet(path, form)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # pandas and pyarrow raise errors of many classes, most of which do not name the file
        reason = first_line(error)
        raise InputError(f"{path} cannot be read as {form.name} ({reason}); check its content and extension") from error
    frame.columns = [str(column) for column in frame.columns]
    _check_columns(list(frame.columns), path, form)
    return frame


def _form_of_input() -> TableForm:
    """Return the form of standard input, by how it begins: tabs separate if the header has tabs and no commas."""
    content = _standard_input(sys.stdin)
    if content.startswith(b"PAR1"):
        return TableForm("")
    form = TableForm(",", compressed=content.startswith(b"\x1f\x8b"))
    try:
        with _opened(STANDARD_INPUT, form) as file:
            header = file.readline(LONGEST_HEADER)
    except (OSError, EOFError) as error:
        raise InputError(f"{STANDARD_INPUT} cannot be unpacked ({first_line(error)}); check its content") from error
    return form._replace(separator="\t") if b"\t" in header and b"," not in header else form


@lru_cache(maxsize=1)
def _standard_input(stream: Any) -> bytes:
    if stream is None:
        raise InputError("standard input is closed, so there is no table to read; give the name of a file")
    return bytes(stream.buffer.read())


def _opened(path: str, form: TableForm) -> Any:
    if path == STANDARD_INPUT:
        file = io.BytesIO(_standard_input(sys.stdin))
        return gzip.open(file) if form.compressed else file
    return gzip.open(path) if form.compressed else open(path, "rb")


def _check_size(path: str, form: TableForm) -> None:
    """Refuse a file that is too large to be read whole into the memory that is free; its last bytes say how far it unfolds."""
    size = os.path.getsize(path)
    if form.compressed:
        with open(path, "rb") as file:
            file.seek(max(size - 4, 0))
            size = max(size, int.from_bytes(file.read(4), "little"))
    check_memory(
        _COPIES * size, f"{path} has {format_memory(size)}, and reading it",
        "take fewer rows or columns, or work part by part in Python, by semimetric.out_of_core with the table as Parquet",
    )  # fmt: skip


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse work that needs more bytes than are free; ``what`` is the subject of the sentence, what takes them."""
    free = _free_memory()
    if needed > free:
        raise InputError(
            f"{what} takes {format_memory(needed)} or more, but {format_memory(free)} of memory are free; {remedy}"
        )


def _free_memory() -> float:
    """Return the free memory in bytes, or all memory where the system does not say how much is free."""
    try:
        facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return 1024.0 * int(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _check_columns(names: list[str], path: str, form: TableForm) -> None:
    if form.separator and len(names) == 1 and (mark := next((m for m in ";\t|," if m in names[0]), None)):
        raise InputError(
            f"{path} has one column, {names[0]!r}: it seems to be separated by {mark!r}; separate it by "
            f"{_SEPARATED_BY[form.separator]}, or name it .tsv if these are tabs"
        )
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has more than one column {repeated!r}; every column needs its own name: rename them")


def _read_parquet(path: str, form: TableForm) -> Any:
    """Return the frame of a table in Parquet; if its index has a name, it becomes a column."""
    with _opened(path, form) as file:
        frame = optional("pandas").read_parquet(file)
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame


def _read_csv(path: str, form: TableForm, text: Sequence[str]) -> Any:
    """Return the frame of a table in CSV or TSV; columns of text keep leading zeros, and words such as NA."""
    pandas = optional("pandas")

    def read(**options: Any) -> Any:
        with _opened(path, form) as file:
            return pandas.read_csv(file, sep=form.separator, **options)

    _check_text(path, form)
    header = read(header=None, nrows=1, dtype=str, keep_default_na=False)
    _check_columns([name for name in header.iloc[0] if name], path, form)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            frame = read(index_col=False, low_memory=False, skipinitialspace=True)  # a blank among numbers is no text
        except pandas.errors.ParserWarning as error:
            raise InputError(
                f"{path} has rows of more cells than its header has names ({header.shape[1]}); every row needs as many cells "
                f"as there are columns: quote cells with {_SEPARATED_BY[form.separator]} in them, or name the last columns"
            ) from error
    wanted = [name for name in frame.columns if name in text or any(isinstance(cell, str) for cell in frame[name])]
    if wanted:
        written = read(index_col=False, usecols=wanted, dtype=str, keep_default_na=False)
        for name in wanted:
            frame[name] = written[name].to_numpy(dtype=object)
    return frame


def _check_text(path: str, form: TableForm) -> None:
    with _opened(path, form) as file:
        first = file.readline(LONGEST_HEADER)
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in first:
        kind = "text in UTF-16" if first.startswith((b"\xff\xfe", b"\xfe\xff")) else "binary: it has NUL characters"
        raise InputError(f"{path} is {kind}; a {form.name} file is text in UTF-8: save it as such")
    if len(first) == LONGEST_HEADER:
        raise InputError(
            f"{path} has a first line of more than {format_memory(len(first))}; a header is required: check the file"
        )


def write_table(frame: Any, path: str) -> None:
    """Write a pandas frame in the form that the extension says; a file that is there is replaced once that is done."""
    form = form_of_name(path)
    if not form.separator:
        optional("pyarrow")
        write_file(path, lambda file: frame.to_parquet(file, index=False))
        return

    def write(file: Any) -> None:
        # without a name and a time, so that the same table always gives the same bytes
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if form.compressed else nullcontext(file) as target:
            frame.to_csv(target, sep=form.separator, index=False, mode="wb")

    write_file(path, write)


def read_items(
    path: str, schema: Schema, id_column: str | None, label: str | None = None, *, arguments: Namespace | None = None
) -> SplitTable:
    """Return the items of a table with the features of a model; with ``arguments``, unused columns are printed.

    Features x0, x1, ... that the table does not name are its columns of numbers in their order.
    """
    text = [f.name for f in schema.features if f.kind == "categorical"]
    frame = read_frame(path, [*text, *(name for name in (id_column, label) if name is not None)])
    table = split_table(frame, id=id_column, label=label, name=path)
    columns = table.frame
    is_unnamed = not text and list(schema.names) == [f"x{k}" for k in range(len(schema.names))]
    if is_unnamed and not {*schema.names} <= {*columns.columns}:
        columns = _numbers_of(columns, path)
        if columns.shape[1] == len(schema.names):
            columns.columns = list(schema.names)
    features = features_of(schema, columns, path)
    unused = [name for name in columns.columns if name not in features]
    if unused and arguments is not None and shows_progress(arguments):
        print_message(f"columns of {path} that the model does not use: {_named(unused)}")
    return table._replace(frame=features)


def features_of(schema: Schema, frame: Any, path: str) -> Any:
    """Return the columns of a frame that are features of a model: a frame of numbers, categories and times."""
    absent = [name for name in schema.names if name not in frame.columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r} (of {len(schema.names)} that the model needs, {len(absent)} are missing); "
            "give a table with the features that the model was fitted on"
        )
    features = {f.name: _feature(frame[f.name], f, path) for f in schema.features}
    for name, may_miss in zip(schema.names, schema.missing, strict=True):
        _check_cells({name: features[name]}, path, "learn from a table that has such rows, or with --missing level", may_miss)
    return optional("pandas").DataFrame(features)


def read_new_items(
    path: str,
    id_column: str | None,
    label: str | None = None,
    *,
    categorical: Sequence[str] = (),
    periodic: Sequence[Period] = (),
    missing: str = "auto",
) -> tuple[SplitTable, Schema]:
    """Return the items of a table from which a model is to be learned, and their schema; warn of columns that are left out.

    Columns are read as `Schema.fit` reads those of a frame; ``categorical`` names others that are categories.
    """
    table = split_table(
        read_frame(path, [*categorical, *(name for name in (id_column, label) if name is not None)]),
        id=id_column, label=label, name=path,
    )  # fmt: skip
    frame = table.frame
    if absent := [name for name in categorical if name not in frame.columns]:
        raise InputError(f"--categorical names {absent[0]!r}, which is no column of features of {path}; correct it")
    known = {name: _categories(frame[name]) if name in categorical else _values(frame[name], path) for name in frame.columns}
    if none := [name for name, cells in known.items() if cells is None]:
        warn(f"columns of {path} that are neither numbers nor text are not used: {_named(none)}")
    cells = optional("pandas").DataFrame({name: column for name, column in known.items() if column is not None})
    if cells.empty:
        raise InputError(
            f"{path} has {len(frame)} rows and {cells.shape[1]} columns of features; at least one of each is required"
        )
    read = Schema.fit(
        cells, categorical_features=list(categorical), periodic=periods_of(periodic, list(cells), path), missing=missing,
        drop="auto", name=path,
    )  # fmt: skip
    schema = Schema(read.features)
    features = {name: known[name] for name in schema.names}
    _check_cells(features, path, "learn with --missing auto", missing != "error")
    if id_column is None:
        _warn_of_ids(features, path)
    return table._replace(frame=optional("pandas").DataFrame(features)), schema


def read_numbers(path: str) -> Any:
    """Return the columns of numbers of a table as a frame, with a warning of others."""
    frame = read_frame(path)
    numbers = _numbers_of(frame, path)
    if unused := [name for name in frame.columns if name not in numbers]:
        warn(f"columns of {path} {_NOT_NUMERIC} are not used: {_named(unused)}")
    if numbers.empty:
        raise InputError(
            f"{path} has {len(frame)} rows and {numbers.shape[1]} numeric columns; at least one of each is required"
        )
    _check_cells({name: numbers[name].to_numpy() for name in numbers}, path, "give another table")
    return numbers


def rows_of(table: SplitTable, keys: Iterable[object]) -> list[int]:
    """Return the row numbers of items by their ids, or by row numbers where rows are numbered."""
    row_of_id = {str(name): row for row, name in enumerate(table.ids.tolist())}
    rows = []
    for given in keys:
        key = as_key(given)
        row = row_of_id.get(key if table.is_named or not key.isdecimal() else str(int(key)))
        if row is None and table.is_named:
            raise no_such_id(key, table.name, table.ids.tolist())
        if row is None:
            raise InputError(
                f"{given!r} is no row number (0 to {len(table.ids) - 1}) of {table.name}; correct it, or name the column of "
                "ids with --id"
            )
        rows.append(row)
    return rows


def read_pairs(path: str, columns: tuple[str, str], left: SplitTable, right: SplitTable) -> tuple[Integers, Any]:
    """Return the rows of ``left`` and ``right`` that a table of pairs names, shape (n_pairs, 2), and its frame."""
    frame = read_frame(path, columns)
    sides = [rows_of(side, keys_of(frame, column, path)) for column, side in zip(columns, (left, right), strict=True)]
    if not len(frame):
        raise InputError(f"{path} has no rows; at least one pair is required")
    return np.array(sides, dtype=np.int64).T, frame


def read_target(frame: Any, column: str, path: str) -> Floats:
    """Return the column of measured distances, shape (n_rows,), which must be finite numbers."""
    target = _floats_of(column_named(frame, column, path))
    bad = np.flatnonzero(~np.isfinite(target))
    if len(bad):
        given = frame[column].iloc[int(bad[0])]
        raise InputError(
            f"row {bad[0]} of {path} has {column}={_cell(given)}; a finite number is required: correct it or drop the row"
        )
    return target


def _floats_of(column: Any) -> Floats:
    """Return cells as float64: NaN for what is no number, infinity for an integer that float64 does not hold."""
    cells = column.map(lambda cell: real_number(cell) if type(cell) is int else cell) if column.dtype == object else column
    return np.asarray(optional("pandas").to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))


def _cell(cell: Any) -> str:
    return shown(cell) if type(cell) is int else f"{cell!s:.60}"


def _named(columns: Sequence[str]) -> str:
    return ", ".join(columns[:10]) + (", ..." if len(columns) > 10 else "")


def _values(column: Any, path: str) -> Any:
    """Return a column as numbers, times, or text with None for empty cells; None if it is of another type."""
    if (numbers := _numbers(column, path)) is not None:
        return numbers
    if (times := _times(column)) is not None:
        return times
    types = optional("pandas").api.types
    is_text = types.is_object_dtype(column) or types.is_string_dtype(column) or str(column.dtype) == "category"
    return _categories(column) if is_text else None


def _feature(column: Any, feature: Feature, path: str) -> Any:
    if feature.kind == "categorical":
        category_of_text = {as_key(category): category for category in feature.categories}
        cells = _categories(column)
        return np.array([cell if cell is None else category_of_text.get(as_key(cell), cell) for cell in cells], dtype=object)
    values = _times(column) if feature.time else _numbers(column, path, of_text=True)
    if values is None:
        kind = "times, such as 2026-11-22 or 2026-11-22 16:30" if feature.time else "numbers"
        raise InputError(f"column {feature.name!r} of {path} is not of {kind}, as the model has it; correct its cells")
    return values


def _numbers_of(frame: Any, path: str) -> Any:
    columns = {name: _numbers(frame[name], path) for name in frame.columns}
    return optional("pandas").DataFrame({name: numbers for name, numbers in columns.items() if numbers is not None})


def _numbers(column: Any, path: str, *, of_text: bool = False) -> Floats | None:
    """Return a column as floats, NaN where empty; None if it has no numbers, or these are text; refuse a mixture."""
    types = optional("pandas").api.types
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return None
    numbers = _floats_of(column)
    filled = column.notna().to_numpy() & ~column.map(lambda cell: str(cell).strip()).isin(_NO_VALUES).to_numpy()
    wrong = np.flatnonzero(filled & np.isnan(numbers))
    if not len(wrong) and (of_text or not any(isinstance(cell, str) for cell in column)):
        return np.asarray(numbers)
    n_numbers = int(filled.sum()) - len(wrong)
    if len(wrong) and 2 * n_numbers > filled.sum():
        given = _cell(column.iloc[int(wrong[0])])
        raise InputError(
            f"row {wrong[0]} of {path} has {column.name}={given}, which is no number, but {n_numbers} "
            "cells of this column are; a column of numbers or one of text is required: correct the cell or drop the column"
        )
    return None


def _categories(column: Any) -> NDArray[Any]:
    cells = [
        None if is_missing or not str(cell).strip() else str(cell)
        for cell, is_missing in zip(column, column.isna(), strict=True)
    ]
    return np.array(cells, dtype=object)


def _times(column: Any) -> Any:
    """Return cells as times in UTC, NaT where empty; None if they are none; refuse offsets in only some of them."""
    pandas = optional("pandas")
    if pandas.api.types.is_datetime64_any_dtype(column):
        return column.array
    cells = _categories(column)
    written = [cell for cell in cells if cell is not None]
    if not written or not all(map(_TIME.fullmatch, written)):
        return None
    offset = [_OFFSET.search(cell) is not None for cell in written]
    if any(offset) and not all(offset):
        raise InputError(
            f"column {column.name!r} has times with an offset from UTC, such as {written[offset.index(True)]}, and without, "
            f"such as {written[offset.index(False)]}; give an offset to all of them, or to none"
        )
    times = pandas.to_datetime(pandas.Series(cells, dtype=object), format="ISO8601", errors="coerce", utc=offset[0])
    return None if (times.isna() & ~pandas.isna(cells)).any() else times.array


def _check_cells(features: Mapping[str, Any], path: str, remedy: str, may_miss: bool = False) -> None:
    for name, cells in features.items():
        empty = np.flatnonzero(optional("pandas").isna(cells))
        if len(empty) and not may_miss:
            raise InputError(
                f"row {empty[0]} of {path} has no {name} ({len(empty)} such rows in all); fill them in, drop the rows, or "
                f"{remedy}"
            )
        if cells.dtype.kind == "f" and np.isinf(cells).any():
            row = int(np.argmax(np.isinf(cells)))
            raise InputError(f"row {row} of {path} has {name}={_cell(cells[row])}; finite numbers are required: correct it")


def _warn_of_ids(features: Mapping[str, Any], path: str) -> None:
    """Warn of the first column that has another whole number on each of at least three rows."""
    for name, cells in features.items():
        if cells.dtype.kind == "f" and len(cells) > 2 and (cells % 1 == 0).all() and len(np.unique(cells)) == len(cells):
            warn(
                f"column {name} of {path} has another whole number on every row and is used as a feature; if it names the "
                f"items, give --id {name}"
            )
            return


def columns_of(path: str, id_column: str | None, categories: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """Return all columns except ids, as float64 or text, empty for missing cells; ``categories`` are text."""
    frame = read_frame(path, categories)
    columns = {}
    for name in frame.columns.drop(id_column or [], errors="ignore"):
        numbers = None if name in categories else _numbers(frame[name], path)
        cells = frame[name].astype(object)
        columns[name] = cells.where(cells.notna(), "").astype(str).to_numpy(dtype=object) if numbers is None else numbers
    return columns
