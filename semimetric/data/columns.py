"""Columns of tables as float64: as numbers, or as codes of categories.

Tables are arrays, frames of pandas or polars, or frames of narwhals, which stand for those of any other library. Frames of
pandas and polars are recognised by their attributes, and neither library is imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._foundation.arrays import as_cells, dense_table, is_missing
from .._foundation.errors import InputError
from .._foundation.tables import FEW, is_number, is_time, no_numbers, read_table, texts_of
from .._foundation.types import Floats

Category: TypeAlias = str | bool | int | float
_CATEGORICAL_DTYPES = ("category", "categorical", "enum")  # the first of pandas, the others of polars and narwhals
_TEXT = ("object", "str", "utf8", "large_string")  # how the names of dtypes begin that may hold text
_NUMBERS = ("int", "uint", "float", "double", "decimal", "bool")  # how the names of dtypes of numbers begin
_WHOLE = 2.0**53  # whole numbers up to here are themselves as float64
_TIMES = ("date", "time", "duration")  # how the names of dtypes of times begin


def is_categorical(column: Any) -> bool:
    """Return True if the dtype of a column says that it holds categories."""
    return str(column.dtype).lower().split("(")[0] in _CATEGORICAL_DTYPES


def column_texts(column: Any) -> list[str]:
    """Return the known cells of a column as text, if some of them are text; else none."""
    if not str(column.dtype).lower().startswith(_TEXT):
        return []
    cells = cells_of(column)
    return [str(cell) for cell in cells if not is_missing(cell)] if texts_of(cells) else []


def as_table(X: Any, name: str = "X") -> Any:
    """Return a frame, as `read_table` returns it, or a dense array: of anything else one of objects, which keep their types."""
    X = read_table(dense_table(X, name), name=name)
    return X if hasattr(X, "columns") else as_cells(X, name)


def column_of(X: Any, k: int) -> Any:
    """Return the column number ``k`` of a frame or array."""
    return X.iloc[:, k] if hasattr(X, "iloc") else X[:, k]


def holds_truth(column: Any) -> bool:
    """Return True if a column holds truth values: by its dtype, or in all cells that are not missing."""
    dtype = str(getattr(column, "dtype", "")).lower()
    if not dtype.startswith("object"):
        return dtype.startswith("bool")
    known = [cell for cell in cells_of(column) if not is_missing(cell)]
    return bool(known) and all(isinstance(cell, bool | np.bool_) for cell in known)


def holds_numbers(column: Any) -> bool:
    """Return True if a column of a frame holds numbers or truth values, by its dtype."""
    dtype = str(column.dtype).lower()
    return dtype.startswith(_NUMBERS) and not dtype.startswith("interval")


def has_gaps(column: Any) -> bool:
    """Return True if cells of a column are missing."""
    return any(map(is_missing, cells_of(column)))


def cells_of(column: Any) -> Sequence[Any]:
    """Return the cells of a column as a list of Python objects."""
    if hasattr(column, "to_list"):
        return column.to_list()
    return column.tolist()


def numbers_of(column: Any, title: str, source: str) -> Floats:
    """Return the numbers of a column as float64, NaN where a value is missing."""
    dtype = str(getattr(column, "dtype", "")).lower()
    if dtype.startswith(_TIMES):
        kind = "durations" if "delta" in dtype or "duration" in dtype else "times"
        raise InputError(
            f"column {title!r} of {source} holds {kind} ({column.dtype}); numbers are required: turn them into "
            "such, or, if it is what you fit to that should hold times, fit to those"
        )
    if np.iscomplexobj(column):
        raise InputError(f"column {title!r} of {source} is complex. Complex data not supported: give real and imaginary parts")
    with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite, and is refused as such
        try:
            return np.array(column, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            cells = [np.nan if is_missing(cell) or _is_blank(cell) else cell for cell in cells_of(column)]
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise no_numbers(cells, f"{title!r}", source, error) from error


def _is_blank(cell: Any) -> bool:
    return isinstance(cell, str) and not cell.strip()


_SLIPS = 0.05  # of the cells of a column: so many others among numbers or times are taken for slips


class Slips(NamedTuple):
    """The few cells of a column of numbers or times that are neither."""

    kind: str  # "numbers" or "times"
    row: int  # of the first
    cell: object  # the first
    n: int
    typed: bool  # True if most are numbers and no text, so that nobody wrote them as names

    @property
    def first(self) -> str:
        """The cell of the first row, and the number of rows."""
        more = "" if self.n == 1 else ", as 1 more row has" if self.n == 2 else f", as {self.n - 1:,} more rows have"
        return f"row {self.row} has {self.cell!r:.40}, which is none{more}"


def slips_of(cells: Sequence[Any]) -> Slips | None:
    """Return what is no number, or no time, in up to a twentieth of the known cells; None if there is none or too much.

    A column of at most 20 different cells has none: they are categories.
    """
    known = [(row, cell) for row, cell in enumerate(cells) if not (is_missing(cell) or _is_blank(cell))]
    try:
        if len({cell for _, cell in known}) <= FEW:
            return None
    except TypeError:  # lists and the like are no categories, and are refused as such
        return None
    for kind, is_one in (("numbers", _is_number), ("times", _is_time)):
        others = [(row, cell) for row, cell in known if not is_one(cell)]
        if others and len(others) <= _SLIPS * len(known):
            n_typed = sum(not isinstance(cell, str) and _is_number(cell) for _, cell in known)
            return Slips(kind, *others[0], len(others), kind == "numbers" and 2 * n_typed > len(known))
    return None


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return is_number(cell)
    return isinstance(cell, int | float | np.integer | np.floating) and not isinstance(cell, bool)


def _is_time(cell: Any) -> bool:
    return isinstance(cell, str) and is_time(cell)


def codes_of(cells: Sequence[Any], categories: Sequence[Category], source: str) -> Floats:
    """Return the code of every cell: its place among the K categories, K for any other value, NaN for a missing value.

    A number that is no category stands for the text that writes it, as "7" or "7.0" do 7, and text for its number: tables that
    are read from files often change these.
    """
    place: dict[Any, float] = {category: float(k) for k, category in enumerate(categories)}
    try:
        codes = [place.get(cell, -1.0) for cell in cells]
    except TypeError as error:
        raise InputError(f"{source} holds values that are no categories ({error}); text or numbers are required") from error
    out = np.array(codes)
    unknown = np.flatnonzero(out < 0).tolist()
    written = _codes_as_written(categories) if unknown else {}
    for row in unknown:
        cell = cells[row]
        out[row] = np.nan if is_missing(cell) else written.get(_as_written(cell), len(categories))
    return out


def _codes_as_written(categories: Sequence[Category]) -> dict[str | None, float]:
    """Return the code of each text of a number that a single category has."""
    texts = [_as_written(category) for category in categories]
    times = Counter(texts)
    return {text: float(k) for k, text in enumerate(texts) if text is not None and times[text] == 1}


def spellings(categories: Sequence[Category]) -> list[list[str]]:
    """Return the texts that `codes_of` takes for each category, itself first: 7 is written with and without ".0"."""
    known, codes = set(map(str, categories)), _codes_as_written(categories)
    out = [[str(category)] for category in categories]
    for text, code in codes.items():
        alike = [text, f"{text}.0"] if re.fullmatch(r"-?\d+", str(text)) else [text]
        out[int(code)] += [str(each) for each in alike if each not in known]
    return out


def _as_written(cell: Any) -> str | None:
    """Return the text of a number, of whole numbers without ".0"; None of what is no number."""
    if isinstance(cell, str):
        return re.sub(r"^(-?\d+)\.0$", r"\1", cell) if is_number(cell) else None
    if not _is_number(cell):
        return None
    if isinstance(cell, int | np.integer):
        return str(int(cell))
    value = float(cell)
    return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else repr(value)


def categories_of(column: Any, source: str) -> tuple[Category, ...]:
    """Return the categories of a column: those that its dtype lists, in its order, or else those that occur, sorted."""
    listed = getattr(getattr(column, "dtype", None), "categories", None)
    # the dtype Categorical of polars lists the categories of all frames
    ordered = listed is not None and not str(column.dtype).startswith("Categorical")
    if ordered:
        found = list(cells_of(listed))
    else:
        try:
            found = list({cell: None for cell in cells_of(column) if not is_missing(cell)})
        except TypeError as error:
            raise InputError(f"column {source} holds values that are no categories ({error}); give text or numbers") from error
    values = [c.item() if isinstance(c, np.generic) else c for c in found]
    check_categories(values, source)
    return tuple(values if ordered else sorted(values, key=lambda c: (isinstance(c, str), c)))


def check_categories(values: Sequence[Any], source: str) -> None:
    """Refuse categories that are neither text nor truth values nor finite numbers, that repeat, or of which there are none."""
    wrong = [c for c in values if not isinstance(c, (str, bool, int)) and not (isinstance(c, float) and np.isfinite(c))]
    if wrong:
        raise InputError(
            f"column {source} has the category {wrong[0]!r} of type {type(wrong[0]).__name__}; text, truth values or finite "
            "numbers are required: convert the column, as by astype(str)"
        )
    if not values:
        raise InputError(f"column {source} holds nothing but missing values, so it has no categories; drop it")
    if len(set(values)) < len(values):
        raise InputError(f"column {source} has {len(values)} categories, of which {len(set(values))} differ; give each once")


_ROUNDED = 0.01  # relative difference of sums, as shares of many bins have that were rounded to few digits
_OTHERS = 0.02  # the share of rows that may have another sum, as empty ones have
_SLIP = 1e-6  # by which entries may lie below 0, in units of the sum


def are_histograms(X: Floats) -> bool:
    """Return True for rows of several numbers >= 0 of which nearly all have nearly the same sum > 0, as rounded shares have."""
    mass = X.sum(axis=1)
    middle = float(np.median(mass))
    alike = np.abs(mass - middle) <= _ROUNDED * middle
    return X.shape[1] > 1 and middle > 0.0 and bool(X.min() >= -_SLIP * middle and alike.mean() >= 1.0 - _OTHERS)
