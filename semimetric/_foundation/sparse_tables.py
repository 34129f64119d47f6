"""Sparse tables as dense ones: distances compare every value of two items, and a 0 that is not stored is a value like any."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from .errors import InputTypeError

__all__ = ["MOST_GIGABYTES", "dense_table", "refuse_sparse"]

MOST_GIGABYTES = 2.0  # that a dense table made of a sparse one takes; of items some copies are made beside it


def dense_table(values: Any, name: str) -> Any:
    """A sparse matrix or array of two axes as a C-contiguous array, a frame with sparse columns as one of dense ones.

    Anything else is returned as it is. float32 is kept, all other real numbers become float64, and values that are stored twice
    at one place are added up.

    Parameters
    ----------
    values : sparse matrix or array of scipy, of any format, or frame of pandas, of shape (n_items, n_features); or anything
    name : str
        What messages call the table.

    Returns
    -------
    ndarray of shape (n_items, n_features), float64 or float32; or a frame; or ``values``

    Raises
    ------
    InputTypeError
        If it has other than two axes, no real numbers, or the dense table takes more than `MOST_GIGABYTES`.
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
    """A frame of pandas whose sparse columns are dense."""
    columns = [column for column, dtype in zip(frame.columns, frame.dtypes, strict=True) if str(dtype).startswith("Sparse[")]
    if not columns:
        return frame
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
    """A size with a unit in which it is no small fraction."""
    unit, name = next((pair for pair in ((1.0, "GB"), (1e-3, "MB")) if gigabytes >= pair[0] / 10), (1e-6, "kB"))
    return f"{gigabytes / unit:.2g} {name}"


def _gigabytes(values: Any, dtype: np.dtype[Any]) -> float:
    """The size of the dense array with the shape of ``values``."""
    return math.prod(values.shape) * dtype.itemsize / 1e9
