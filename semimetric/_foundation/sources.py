"""Tables that a database or a stream gives: relations of DuckDB, results of SQLAlchemy, and streams of Arrow.

A stream is whatever has the method ``__arrow_c_stream__`` and is no frame: a relation of DuckDB, a reader of pyarrow. Its rows
can often be read once only, and a query that is run again may give them in another order. So they are read once, where they are
given to a method, and stay in the order in which they came.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator

from .errors import InputError
from .optional_imports import optional

F = TypeVar("F", bound=Callable[..., Any])

_PLAIN = {np.ndarray, str, int, float, bool, list, tuple, dict, type(None)}
_LIBRARIES_OF_FRAMES = ("pandas", "polars", "narwhals")
_ONE_COLUMN = ("y", "sample_weight", "ids")  # parameters that take a column of a table of one


def is_source(value: Any) -> bool:
    """Return True for a result of SQLAlchemy, and for a stream of Arrow that is no frame or series."""
    kind = type(value)
    if kind in _PLAIN:
        return False
    library = kind.__module__.partition(".")[0]
    if library == "sqlalchemy":
        return hasattr(kind, "fetchmany")
    if not hasattr(kind, "__arrow_c_stream__") or library in _LIBRARIES_OF_FRAMES or hasattr(kind, "iloc"):
        return False
    return not isinstance(nw.from_native(value, pass_through=True, allow_series=True), nw.DataFrame | nw.Series)


def read_source(value: Any, name: str) -> Any:
    """Return all rows of a source as a frame of pandas; the values of a result of scalars as a list.

    Decimal numbers are float64, dates are times, and what has a dictionary, such as an ENUM, is a column of categories. A
    source that was read before is refused, as it gives its rows once.
    """
    if hasattr(value, "__arrow_c_stream__"):
        reader = _reader(value, name)
        found = _frame(_read(reader.read_all, name).unify_dictionaries())
    else:
        rows = _read(value.all, name)
        found = _frame_of_rows(value, rows) if hasattr(value, "keys") else rows
    if not len(found):
        raise InputError(
            f"{name} has no rows (any more); at least one is required, and a result or a stream gives its rows once: run the "
            "query again"
        )
    return found


def source_blocks(value: Any, n_rows: int, name: str) -> Iterator[Any]:
    """Yield the rows of a source as tables of pyarrow of at most ``n_rows`` rows, which are all that is held in memory."""
    arrow = optional("pyarrow")
    if hasattr(value, "__arrow_c_stream__"):
        reader = _reader(value, name)
        for batch in iter(lambda: _read(lambda: next(reader, None), name), None):
            for start in range(0, batch.num_rows, n_rows):
                yield _plain(arrow.Table.from_batches([batch.slice(start, n_rows)]))
        return
    if not hasattr(value, "keys"):
        raise InputError(f"{name} is a result of scalars; rows with named columns are required: select columns")
    while rows := _read(lambda: value.fetchmany(n_rows), name):
        yield arrow.Table.from_pandas(_frame_of_rows(value, rows), preserve_index=False)


def _reader(value: Any, name: str) -> Any:
    return _read(lambda: optional("pyarrow").RecordBatchReader.from_stream(value), name)


def _read(read: Callable[[], Any], name: str) -> Any:
    """Return what a library reads; its errors are of the database, and name the table here."""
    try:
        return read()
    except (InputError, ImportError, MemoryError):
        raise
    except Exception as error:  # a database may raise anything
        raise InputError(
            f"{name} cannot be read ({type(error).__name__}: {error}); rows of a table are required, and a result or a stream "
            "gives them once: run the query again"
        ) from error


def _plain(table: Any) -> Any:
    """Return a table of pyarrow with decimal numbers as float64, each the nearest to its digits.

    Numbers of categories become signed, as older releases of pyarrow hand no others to pandas.
    """
    arrow = optional("pyarrow")
    for k, field in enumerate(table.schema):
        if arrow.types.is_dictionary(field.type) and arrow.types.is_unsigned_integer(field.type.index_type):
            kind = arrow.dictionary(arrow.int32(), field.type.value_type, field.type.ordered)
            signed = [
                arrow.DictionaryArray.from_arrays(
                    chunk.indices.cast(arrow.int32()), chunk.dictionary, ordered=field.type.ordered
                )
                for chunk in table.column(k).chunks
            ]
            table = table.set_column(k, field.with_type(kind), arrow.chunked_array(signed, kind))
        if arrow.types.is_decimal(field.type):
            numbers = table.column(k).cast(arrow.string()).cast(arrow.float64())
            table = table.set_column(k, field.with_type(arrow.float64()), numbers)
    return table


def _frame(table: Any) -> Any:
    return _plain(table).to_pandas(date_as_object=False)


def _frame_of_rows(result: Any, rows: list[Any]) -> Any:
    pandas = optional("pandas")
    cells = [tuple(row.values()) if hasattr(row, "values") else tuple(row) for row in rows]
    return pandas.DataFrame.from_records(cells, columns=list(result.keys()), coerce_float=True)


def reads_sources(function: F) -> F:
    """Return the function, or method, with its arguments that are sources read first, each once.

    Of a table of one column for ``y``, ``sample_weight`` or ``ids`` it takes the column.
    """

    @wraps(function)
    def reading(*args: Any, **options: Any) -> Any:
        if not (any(map(is_source, args)) or any(map(is_source, options.values()))):
            return function(*args, **options)
        bound = inspect.signature(function).bind(*args, **options)
        read: dict[int, Any] = {}
        for name, value in bound.arguments.items():
            if is_source(value):
                found = read[id(value)] if id(value) in read else read_source(value, name)
                read[id(value)] = found
                one = name in _ONE_COLUMN and hasattr(found, "iloc") and found.shape[1] == 1
                bound.arguments[name] = found.iloc[:, 0] if one else found
        return function(*bound.args, **bound.kwargs)

    return reading  # type: ignore[return-value]


def methods_read_sources(kind: type) -> None:
    """Let every public method that a class defines itself read its arguments that are sources (see `reads_sources`)."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(kind, name, reads_sources(member))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(reads_sources(member.__func__)))
        elif hasattr(member, "check") and inspect.isfunction(getattr(member, "fn", None)):  # `available_if` of scikit-learn
            member.fn = reads_sources(member.fn)


class ReadsSources(BaseEstimator):
    """An estimator whose public methods take relations, results and streams as tables."""

    def __init_subclass__(cls, **options: Any) -> None:
        methods_read_sources(cls)
        super().__init_subclass__(**options)
