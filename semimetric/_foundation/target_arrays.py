"""The one door for targets: measured values and classes, one for each item, refused in one sentence where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

from .errors import InputError
from .input_arrays import as_array, as_vector, check_finite, input_errors, is_missing
from .tables import read_table
from .types import Floats

__all__ = ["as_classes", "as_targets", "check_one_type", "check_sorted_classes"]


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
    """Refuse values or classes that are more or fewer than the rows of X."""
    n = _num_samples(read_table(X))
    if len(y) != n:
        raise InputError(f"y has {len(y)} {called} for {n} items; one for each item is required: give as many")


def as_classes(y: Any, X: Any) -> NDArray[Any]:
    """Class labels of one type, one for each row of X, as an array of shape (n_items,).

    Raises
    ------
    InputError
        If there are none, too few or too many, some are missing, or they are measured values.
    """
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
    """Refuse ``classes_`` of a saved estimator that are not ``n`` different labels of one type in ascending order.

    With ``n=None`` there are at least two.
    """
    right = classes.ndim == 1 and classes.dtype.kind in "OUiubf" and (len(classes) == n if n is not None else len(classes) > 1)
    if right:
        check_one_type(classes)
        missing = any(is_missing(label) for label in classes.tolist())
        right = not missing and np.array_equal(np.unique(classes), classes)
    if not right:
        count = "two or more" if n is None else n
        raise InputError(f"classes_ are {classes.dtype} of shape {classes.shape}; {count} labels, sorted, are required")
