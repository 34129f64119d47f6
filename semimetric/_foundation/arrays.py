"""Sparse tables as dense ones: distances compare every value of two items, and a 0 that is not stored is a value like any."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from .errors import InputError, InputTypeError, SemimetricError
from .real_numbers import check_number, shown
from .tables import check_numbers, read_table
from .types import ArrayLike, Floats, Integers

MOST_GIGABYTES = 2.0  # that a dense table made of a sparse one takes; of items some copies are made beside it


def dense_table(values: Any, name: str) -> Any:
    """Return a sparse table, or a frame with sparse columns, as a dense one; anything else as it is.

    float32 stays, other real numbers become float64, and values stored twice are added up. An InputTypeError refuses other than
    two axes or real numbers, and more than `MOST_GIGABYTES`.
    """
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        return _dense_frame(values, name)
    if not sparse.issparse(values):
        return values
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        refuse_sparse(values, name)
    dtype = np.dtype(np.float32 if values.dtype == np.float32 else np.float64)
    _check_size(values, dtype, f"{name}.toarray()", name)
    with np.errstate(over="ignore"):  # what is too large for float64 becomes infinite, and is refused as such
        return sparse.csr_array(values, dtype=dtype).toarray()


def _dense_frame(frame: Any, name: str) -> Any:
    is_sparse = {dtype: str(dtype).startswith("Sparse[") for dtype in set(frame.dtypes)}
    if not any(is_sparse.values()):
        return frame
    columns = [column for column, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_sparse[dtype]]
    _check_size(frame, np.dtype(np.float64), f"{name}.sparse.to_dense()", name)
    if len(columns) == len(frame.columns):
        return frame.sparse.to_dense()
    return frame.astype({column: frame[column].dtype.subtype for column in columns})


def _check_size(values: Any, dtype: np.dtype[Any], call: str, name: str) -> None:
    """Refuse a sparse table that is too large as a dense one of this dtype, which ``call`` makes."""
    size = _gigabytes(values, dtype)
    if size > MOST_GIGABYTES:
        raise InputTypeError(
            f"{name} is sparse, of shape {values.shape}: as the dense table that distances need it takes {_size(size)}, and at "
            f"most {MOST_GIGABYTES:g} GB are made of a sparse one; give fewer columns, such as those of TruncatedSVD, or fewer "
            f"rows at a time, or {call} where memory holds it several times"
        )


def refuse_sparse(values: Any, name: str) -> None:
    """Refuse what is sparse, where no table is asked for or its values are no real numbers."""
    if not sparse.issparse(values):
        return
    if values.dtype.kind == "c":
        raise InputTypeError(f"Complex data not supported: {name} is sparse with dtype {values.dtype}; give its real parts")
    raise InputTypeError(
        f"Sparse data was passed for {name} (shape {values.shape}, dtype {values.dtype}), but dense data is required; give "
        f"{name}.toarray(), which takes {_size(_gigabytes(values, np.dtype(np.float64)))}"
    )


def _size(gigabytes: float) -> str:
    unit, name = next((pair for pair in ((1.0, "GB"), (1e-3, "MB")) if gigabytes >= pair[0] / 10), (1e-6, "kB"))
    return f"{gigabytes / unit:.2g} {name}"


def _gigabytes(values: Any, dtype: np.dtype[Any]) -> float:
    return math.prod(values.shape) * dtype.itemsize / 1e9


_UNIT = 2.0**-53
_MORE = 32  # operations beside the sum: those that made its terms, products, scales, the sum of two such sums


def rounding_of(n_terms: int) -> float:
    """Return a bound k u / (1 - k u) of the relative error of a sum of products, in any order; u is the unit roundoff."""
    k = (n_terms + _MORE) * _UNIT
    return k / (1.0 - k)


_LARGEST = 1e150  # its square is still a number
_POWER = 2.0**600  # by which larger numbers are divided without an error


def spread(values: Floats) -> Any:
    """Return the standard deviation along the first axis, also of numbers whose squares overflow."""
    if np.abs(values).max(initial=0.0) <= _LARGEST:
        return values.std(axis=0)
    return (values / _POWER).std(axis=0) * _POWER


def check_squares(values: Floats, name: str) -> None:
    """Refuse numbers that cannot be squared; ``name`` is what messages call them."""
    largest = np.abs(values).max(initial=0.0)
    if largest > _LARGEST:
        raise InputError(f"{name} reaches {largest:g}; at most {_LARGEST:g} can be squared: rescale it")


_MOST_ROWS = 3  # that a message names
_MOST_COLUMNS = 5
_FEW_VALUES = 100_000  # which take a byte more each for a moment
_BYTES = 8  # of a float64
_NO_NUMBERS = {"M": "times", "m": "durations", "U": "text", "S": "bytes", "T": "text", "V": "records"}


@contextmanager
def input_errors() -> Iterator[None]:
    """Raise what scikit-learn and NumPy say about input as an `InputError` of one line."""
    try:
        yield
    except SemimetricError:
        raise
    except TypeError as error:
        raise InputTypeError(_one_line(error)) from error
    except (ValueError, OverflowError) as error:
        raise InputError(_one_line(error)) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).strip().split("\n\n")[0].split("\n[[")[0].split())


def as_array(values: Any, name: str, *, ndim: int | None = None, names: Sequence[object] = ()) -> Any:
    """Return values as an array whose dtype is one of numbers; a frame as `read_table` returns it.

    An array of numbers is not copied. Masked values become NaN; objects and long doubles become float64. With ``ndim=2`` a
    sparse table becomes dense. An InputError refuses text, times, complex numbers, ragged rows, and another number of axes.
    """
    if is_ready(values) and ndim in (None, values.ndim):
        return values
    if ndim == 2:
        values = dense_table(values, name)
    refuse_sparse(values, name)
    values = read_table(values, name=name)
    if hasattr(values, "columns"):
        for column, dtype in zip(values.columns, getattr(values, "dtypes", ()), strict=False):
            _check_kind(dtype, f"column {column!r} of {name}")
        return values
    try:
        with input_errors():
            array = values if isinstance(values, np.ndarray) else np.asarray(values)
    except InputError as error:
        raise InputError(f"{name} cannot be read as numbers of equally long rows ({error}); give an array") from error
    if array.dtype.kind == "U" and isinstance(values, list | tuple):
        _refuse_text(values, name, names)
    _check_kind(array.dtype, name)
    if ndim is not None and array.ndim != ndim:
        raise InputError(_shape_message(array, name, ndim))
    if array.dtype.kind == "O":
        array = _from_objects(array, name, names)
    if array.dtype.kind == "f" and array.dtype.itemsize > _BYTES:
        with np.errstate(over="ignore"):  # what is too large for float64 becomes infinite, and is refused as such
            array = array.astype(np.float64)
    if np.ma.is_masked(array):
        return np.ma.filled(array.astype(np.float64), np.nan)
    return np.ma.getdata(array) if isinstance(array, np.ma.MaskedArray) else array


def is_ready(values: Any) -> bool:
    """Return True for a C-contiguous array of float64, as everything here works with."""
    return type(values) is np.ndarray and values.dtype == np.float64 and values.flags.c_contiguous


def _check_kind(dtype: Any, name: str) -> None:
    kind = getattr(dtype, "kind", "f")
    if kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {dtype}; real numbers are required: give its parts")
    if kind in _NO_NUMBERS and isinstance(dtype, np.dtype):
        raise InputError(f"{name} holds {_NO_NUMBERS[kind]} (dtype {dtype}); numbers are required: turn them into such")


def _shape_message(array: NDArray[Any], name: str, ndim: int) -> str:
    given = f"{name} has shape {array.shape}: Expected {ndim}D array, got {array.ndim}D array instead"
    if ndim == 2 and array.ndim == 1:
        return (
            f"{given}. Reshape your data: {name}.reshape(-1, 1) if it is one feature, {name}.reshape(1, -1) if it is one item"
        )
    return f"{given}; give {'one number each' if ndim == 1 else 'items in rows and features in columns'}"


def _refuse_text(values: Sequence[Any], name: str, names: Sequence[object]) -> None:
    """Refuse numbers and text in a list of equally long rows, naming the first text."""
    for place, cell in np.ndenumerate(np.asarray(values, dtype=object)):
        if isinstance(cell, str | bytes):
            row, column = _row_and_column(place, name, names)
            given = f"{name} holds text: {row} has {shown(cell)}{column}"
            raise InputError(f"{given}; numbers are required: correct it, or encode it in numbers")


def _from_objects(array: NDArray[Any], name: str, names: Sequence[object]) -> Floats:
    """Return an array of objects that are numbers, or None where one is missing, as float64; of others the first is named."""
    cells = np.ma.filled(array, None) if np.ma.is_masked(array) else np.ma.getdata(array)
    if not any(isinstance(cell, (str, bytes)) for cell in cells.flat):
        with suppress(TypeError, ValueError, OverflowError):
            return cells.astype(np.float64)
    for place, cell in np.ndenumerate(cells):
        check_number(cell, *_row_and_column(place, name, names))
    raise InputError(f"{name} holds objects that are not all numbers; numbers are required: encode the others in numbers")


def _row_and_column(place: Sequence[Any], name: str, names: Sequence[object] = ()) -> tuple[str, str]:
    """Return the row and the column of a value for messages: "row 3 of X" and " in 'height'"."""
    if len(place) == 1 and len(names) > place[0]:  # one item, whose values have names
        return name, f" in {names[place[0]]!r}"
    row = f"row {int(place[0])} of {name}" if len(place) else name
    if len(place) < 2:
        return row, ""
    column = int(place[-1])
    return row, f" in {names[column]!r}" if len(names) > column else f" in column {column}"


def n_axes(values: Any) -> int:
    """Return the number of axes of what a user gives; rows of different lengths are refused."""
    with input_errors():
        return int((values if sparse.issparse(values) else np.asarray(values)).ndim)


def as_cells(values: Any, name: str) -> NDArray[Any]:
    """Return a table of numbers and text as an array that keeps their types; masked cells become None."""
    refuse_sparse(values, name)
    with input_errors():
        array = np.asanyarray(values, dtype=None if hasattr(values, "__array__") else object)
    if array.dtype.kind in "cV":  # text and times keep their types
        _check_kind(array.dtype, name)
    cells = np.array(array, dtype=object, subok=False) if np.ma.is_masked(array) else np.asarray(array)
    if np.ma.is_masked(array):
        cells[np.ma.getmaskarray(array)] = None  # `np.ma.filled` would take None for "the usual", which is "?"
    return cells


def as_floats(values: ArrayLike, name: str, *, ndim: int | None = None, names: Sequence[object] = ()) -> Floats:
    """Return numbers as a C-contiguous float64 array, not a copy if they are one; no frame, and not sparse."""
    array = as_array(values, name, ndim=ndim, names=names)
    if is_ready(array):
        return array
    if type(array) is np.ndarray and array.dtype.kind in "biuf":  # with which `check_array` does the same, more slowly
        return np.asarray(array, dtype=np.float64, order="C")
    with input_errors():
        return check_array(
            array, dtype=np.float64, order="C", ensure_2d=False, allow_nd=True, ensure_all_finite=False, ensure_min_samples=0,
            ensure_min_features=0, input_name=name,
        )  # fmt: skip


def as_vector(values: ArrayLike, name: str) -> Floats:
    """Finite float64 numbers of shape (n,)."""
    vector = as_floats(values, name, ndim=1)
    check_finite(vector, name)
    return vector


def is_missing(cell: Any) -> bool:
    """Return True for None, NaN, NaT, and the NA of pandas (whose comparisons have no truth value)."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def check_finite(values: Any, name: str, *, names: Sequence[object] = (), may_miss: Any = False, advice: str = "") -> None:
    """Refuse NaN and infinity by their first places; ``may_miss`` allows NaN in all columns, or in those marked."""
    if isinstance(values, np.ndarray) and all_finite(values):
        return
    allowed = np.asarray(may_miss)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # its sum of many overflows, too
            assert_all_finite(values.data if sparse.issparse(values) else values, allow_nan=bool(allowed.all()))
        return
    except ValueError:
        dense = values.toarray() if sparse.issparse(values) else values
        bad = np.argwhere(np.isinf(dense) | (np.isnan(dense) & ~allowed))
    if not len(bad):
        return
    infinite = bool(np.isinf(values[tuple(bad[0])]))
    row, column = _row_and_column(bad[0], name, names)
    rows = np.unique(bad[:, 0])
    shown = ", ".join(map(str, rows[:_MOST_ROWS].tolist())) + (", ..." if len(rows) > _MOST_ROWS else "")
    others = f" ({len(bad)} such values in all{_by_column(bad, name, names)}, in rows {shown})" if len(bad) > 1 else ""
    remedy = "correct it" if infinite else advice or "fill them in, or drop these rows"
    raise InputError(
        f"{row} has {'an infinite' if infinite else 'a missing'} value (NaN or infinity){column}{others}; finite values are "
        f"required: {remedy}"
    )


def all_finite(values: NDArray[Any]) -> bool:
    """Return True if all values are finite; False is no proof of the contrary where a sum of many overflows."""
    if values.size <= _FEW_VALUES:  # the method `all` takes twice as long
        return np.count_nonzero(np.isfinite(values)) == values.size
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))  # which is infinite or NaN where a value is


def _by_column(places: Integers, name: str, names: Sequence[object]) -> str:
    """Return numbers of such values by column, the most first, if several have any: ": 2 in 'height', 1 in 'weight'"."""
    columns, counts = np.unique(places[:, -1], return_counts=True)
    if places.shape[1] < 2 or len(columns) < 2:
        return ""
    order = np.argsort(-counts, kind="stable")
    shown = [f"{counts[k]}{_row_and_column((0, columns[k]), name, names)[1]}" for k in order[:_MOST_COLUMNS]]
    return ": " + ", ".join(shown) + (", ..." if len(order) > _MOST_COLUMNS else "")


def record_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """Record the number and the names of the features of X as scikit-learn does, or compare them with those of the fit."""
    if isinstance(X, np.ndarray) and X.ndim == 1:
        raise InputError(_shape_message(X, "X", 2))
    with input_errors():
        validate_data(estimator, X, reset=reset, skip_check_array=True)


def validated(estimator: Any, X: Any, *, may_miss: bool = False, advice: str = "", **options: Any) -> Any:
    """Return items as scikit-learn's ``validate_data`` reads them, which records or compares their features."""
    if not sparse.issparse(X):
        X = dense_table(X, "X")  # a frame with sparse columns
    array = X if sparse.issparse(X) else as_array(X, "X", ndim=2)
    try:
        with input_errors():
            items = validate_data(estimator, X if hasattr(X, "columns") else array, ensure_all_finite=False, **options)
    except InputError:
        check_numbers(array, "X")
        raise
    check_finite(items, "X", names=getattr(array, "columns", ()), may_miss=may_miss, advice=advice)
    return items


def check_feature_names(estimator: Any, given: ArrayLike | None) -> None:
    """Refuse names of features, where some are given, that are not those of the fit, as scikit-learn does."""
    if given is None:
        return
    names = np.asarray(given, dtype=object)
    if len(names) != estimator.n_features_in_:
        raise InputError(f"input_features should have length equal to number of features ({estimator.n_features_in_})")
    if hasattr(estimator, "feature_names_in_") and list(names) != list(estimator.feature_names_in_):
        raise InputError("input_features is not equal to feature_names_in_")


def as_targets(y: Any, X: Any) -> Floats:
    """Finite values as float64, one for each row of X, shape (n_items,)."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give a value for every item")
    array = as_array(y, "y")
    with input_errors():
        values = as_vector(column_or_1d(array, warn=True), "y")
        _check_length(values, X, "values")
    return values


def _check_length(y: NDArray[Any], X: Any, called: str) -> None:
    n = _num_samples(read_table(X))
    if len(y) != n:
        raise InputError(f"y has {len(y)} {called} for {n} items; one for each item is required: give as many")


def as_classes(y: Any, X: Any) -> NDArray[Any]:
    """Return class labels of one type, one for each row of X, as an array of shape (n_items,)."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give a class for every item")
    if np.ma.is_masked(y):
        row = int(np.flatnonzero(np.ma.getmaskarray(y))[0])
        raise InputError(f"y[{row}] is masked; a class is required for every item: fill it in, or drop the item")
    with input_errors():
        labels = column_or_1d(y, warn=True)
        _check_length(labels, X, "class labels")
        never = labels.dtype.kind in "biuU"  # whole numbers, truth values and texts: no look at each spares milliseconds
        missing = [] if never else [k for k, label in enumerate(labels.tolist()) if is_missing(label)]
        if missing:
            raise InputError(
                f"y[{missing[0]}] is missing ({labels[missing[0]]}: NaN or None, {len(missing)} such in all); a class is "
                "required for every item: fill it in, or drop the item"
            )
        if labels.dtype.kind == "f":
            with np.errstate(over="ignore"):  # of long doubles beyond the largest float64, which are then infinite
                check_finite(labels.astype(float), "y")
        check_one_type(labels)
        with np.errstate(invalid="ignore"):  # of numbers that are too large for integers
            check_classification_targets(labels)
    return labels


def check_one_type(labels: NDArray[Any]) -> None:
    """Refuse labels that cannot be sorted, which those of several types and missing ones cannot."""
    if labels.dtype != object:
        return
    try:
        np.sort(labels, axis=None)
    except TypeError as error:
        raise InputError(f"y has classes of several types, or missing ones ({error}); give all of one type") from error


def check_sorted_classes(classes: NDArray[Any], n: int | None = None) -> None:
    """Refuse saved ``classes_`` that are not ``n``, or at least two, ascending labels of one type."""
    right = classes.ndim == 1 and classes.dtype.kind in "OUiubf" and (len(classes) == n if n is not None else len(classes) > 1)
    if right:
        check_one_type(classes)
        missing = any(is_missing(label) for label in classes.tolist())
        right = not missing and np.array_equal(np.unique(classes), classes)
    if not right:
        count = "two or more" if n is None else n
        raise InputError(f"classes_ are {classes.dtype} of shape {classes.shape}; {count} labels, sorted, are required")
