"""Frames of any library, by narwhals unless they are of pandas or polars, and rows given by name."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .errors import InputError, InputTypeError
from .real_numbers import check_number
from .sources import is_source

FEW = 20  # different texts in a column may well be categories, and more if they repeat as often
_REPEATED = 10


def read_table(X: Any, *, name: str = "X") -> Any:
    """Return a frame with ``columns``, ``shape`` and ``[:, k]`` by narwhals; pandas, polars and arrays as they are.

    An InputError refuses a lazy frame, which has no rows yet, a source that is not read, and rows given as dicts.
    """
    _refuse_dicts(X, name)
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "iloc"):
        return X
    if is_source(X):
        raise InputError(
            f"{name} is a {type(X).__name__}, which only methods of estimators and distances read; a table is required here: "
            f"give a frame of its rows, as by {name}.df() of DuckDB"
        )
    frame = nw.from_native(nw.to_native(X, pass_through=True), pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"{name} is a lazy frame ({type(X).__module__.split('.')[0]}), whose rows are not computed yet; a table is "
            f"required: give {name}.collect()"
        )
    if not isinstance(frame, nw.DataFrame):
        return X
    return frame.to_native() if frame.implementation.is_pandas() or frame.implementation.is_polars() else frame


def _holds_dicts(X: Any) -> bool:
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):  # a sparse array may be a dict of its entries
        return False
    return isinstance(X, Mapping) or (isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping))


def _refuse_dicts(X: Any, name: str) -> None:
    """Refuse rows by name where no fit has named the columns."""
    if _holds_dicts(X):
        given, table = ("a dict", f"pandas.DataFrame([{name}]) if it is one row, pandas.DataFrame({name}) if it is columns")
        if not isinstance(X, Mapping):
            given, table = "a list of dicts", f"pandas.DataFrame({name})"
        raise InputError(
            f"{name} is {given}; only what was fitted to named columns takes rows by name, so a table is required: give {table}"
        )


def named_rows(X: Any, names: Sequence[str], *, name: str = "X") -> Any:
    """Return a dict, a series or a sequence of dicts as objects in the order of ``names``; anything else as it is."""
    if not len(names):
        _refuse_dicts(X, name)
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return X
    if isinstance(X, Mapping):
        return _row(X, names, name)
    if isinstance(X, list | tuple) and len(X) and all(isinstance(row, Mapping) for row in X):
        return np.stack([_row(row, names, f"row {k} of {name}") for k, row in enumerate(X)])
    named = hasattr(X, "to_frame") and hasattr(X, "items") and all(isinstance(label, str) for label in X.index)
    if named and list(names) != [f"x{k}" for k in range(len(names))]:  # which are the names of those that have none
        return _row(dict(X.items()), names, name)
    return X


def _row(given: Mapping[Any, Any], names: Sequence[str], name: str) -> Any:
    foreign = [key for key in given if key not in names]
    missing = [feature for feature in names if feature not in given]
    if foreign:
        meant = get_close_matches(str(foreign[0]), missing, 1)
        known = ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")
        nameless = list(names) == [f"x{k}" for k in range(len(names))]
        other = "which are numbers of columns without names: give a vector, or fit to a frame" if nameless else "leave it out"
        advice = f"write {meant[0]!r}" if meant else other
        raise InputError(f"{name} names {foreign[0]!r}, but the features are {known}: {advice}")
    if missing:
        raise InputError(f"{name} has no {missing[0]!r}; a value for each feature is required: give it, None if it is missing")
    for feature in names:
        if isinstance(given[feature], list | tuple | np.ndarray):
            raise InputError(
                f"{name} has a {type(given[feature]).__name__} for {feature!r}; a dict is one row, a value for each feature: "
                f"for rows of columns give pandas.DataFrame({name})"
            )
    out = np.empty(len(names), dtype=object)
    out[:] = [given[feature] for feature in names]
    return out


def without_columns(X: Any, names: Sequence[str]) -> Any:
    """Return a frame, series of pandas, dict, or list of dicts without some columns; anything else as it is."""
    if not names:
        return X
    if isinstance(X, Mapping):
        return {key: cell for key, cell in X.items() if key not in names}
    if isinstance(X, list | tuple) and _holds_dicts(X):
        return [without_columns(row, names) for row in X]
    table = read_table(X)
    if hasattr(table, "iloc"):
        labels = table.columns if hasattr(table, "columns") else table.index
        found = [label for label in labels if isinstance(label, str) and label in names]
        return table.drop(found, axis=len(table.shape) - 1) if found else X
    found = [name for name in getattr(table, "columns", ()) if name in names]
    rest = table.drop(found) if found else X
    return rest.to_native() if hasattr(rest, "to_native") else rest


def take_rows(X: Any, rows: Any) -> Any:
    """Return the rows with these numbers of an array, a frame, a sparse matrix or a list, as the same kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    table = read_table(X)
    return nw.to_native(table[rows], pass_through=True) if hasattr(table, "shape") else np.asarray(table)[rows]


def numbered_rows(X: Any) -> Any:
    """Return a frame of pandas with row numbers as its index, without a copy; anything else as it is."""
    return X.reset_index(drop=True) if hasattr(X, "iloc") else X


def row_labels(X: Any, n: int) -> Any:
    """Return the n row labels of a frame of pandas, (n,), as integers or texts; else the row numbers."""
    if not hasattr(X, "iloc"):
        return np.arange(n)
    labels = np.asarray(X.index)
    return labels.astype(np.int64) if labels.dtype.kind in "iu" else np.array([str(label) for label in labels], dtype=str)


def check_numbers(X: Any, name: str) -> None:
    """Refuse a frame that holds something that is no number, naming its first such column."""
    for column in getattr(X, "columns", ()):
        try:
            np.asarray(X[column]).astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise no_numbers(list(X[column]), f"{column!r}", name, error) from error


def no_numbers(cells: Sequence[Any], title: str, source: str, error: Exception) -> InputError:
    """Return the error of a column of other things than numbers, which names the first of them.

    It advises to correct a few texts among numbers. What to do with others is by what they are (see `offer`).
    """
    given = f"column {title} of {source} is not of numbers"
    texts = {row: cell for row, cell in enumerate(cells) if isinstance(cell, str) and cell.strip()}
    if not texts:
        for row, cell in enumerate(cells):
            check_number(cell, f"row {row} of {source}", f" in {title}")
    refused = InputTypeError if isinstance(error, TypeError) else InputError
    wrong = [row for row, cell in texts.items() if not is_number(cell)]
    if not wrong:
        return refused(f"{given} ({error}); {offer(cells)}")
    more = len(wrong) - 1
    others = "" if not more else ", and 1 more row has text" if more == 1 else f", and {more:,} more rows have text"
    given = f"{given}: row {wrong[0]} has {cells[wrong[0]]!r:.40}{others}"
    n_numbers = len(texts) - len(wrong) + sum(isinstance(cell, int | float | np.number) and cell == cell for cell in cells)
    if len(wrong) >= n_numbers:
        return refused(f"{given}; {offer(cells)}")
    them = "it" if len(wrong) == 1 else "them"
    return refused(
        f"{given}; all others are numbers: correct {them}, or leave {them} empty if the column may have gaps; if it holds "
        "categories, name it in Columns(categorical=)"
    )


def texts_of(cells: Sequence[Any]) -> list[str]:
    """Return the cells that are texts."""
    return [cell for cell in cells if isinstance(cell, str)]


def kind_of_texts(texts: Sequence[str]) -> str:
    """Return the kind of a column of texts, one at least: "times", "categories", "numbers", or "names" and free text.

    Texts are categories if at most 20 of them, or a tenth, differ, and of 20 or more also not over half. They are numbers if
    all others are blank.
    """
    if is_time(texts[0]) and is_time(texts[-1]) and all(is_time(text) for text in texts):
        return "times"
    n = len(set(texts))
    if n <= max(FEW, len(texts) / _REPEATED) and (len(texts) < FEW or 2 * n <= len(texts)):
        return "categories"
    written = [text for text in texts if text.strip()]
    return "numbers" if written and all(is_number(text) for text in written) else "names"


def offer(cells: Sequence[Any]) -> str:
    """Return advice about a column of other things than numbers, by how many different texts it holds."""
    texts = texts_of(cells)
    if texts and is_time(texts[0]) and is_time(texts[-1]):
        return "it reads like times: make its dtype datetime, as by pandas.to_datetime, and such columns are read"
    n = len(set(texts))
    if texts and kind_of_texts(texts) != "categories":
        return (
            f"it holds {n} different texts in {len(texts)} rows, as names and free text do: drop it, or encode it in numbers, "
            "such as lengths or the vectors of a text embedding; if they are categories, name it in Columns(categorical=)"
        )
    held = f"{n} different texts" if n != 1 else "one text"
    return (
        f"it holds {held}; if it holds categories, name it in categorical_features= or, of a learner, in "
        "Columns(categorical=), or make its dtype category; else drop it, or encode it in numbers"
    )


def is_number(text: str) -> bool:
    """Return True for a number as `float` reads it."""
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def is_time(text: str) -> bool:
    """Return True for a date, or a time with a date, as ISO 8601 writes it with dashes."""
    try:
        return "-" in text and datetime.fromisoformat(text.strip()) is not None
    except ValueError:
        return False
