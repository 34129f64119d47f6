"""Class labels as numbers: which items count, and of which class each is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError, warn
from ..._foundation.target_arrays import as_classes
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_weights

__all__ = ["ClassLabels", "encode_class_labels"]


class ClassLabels(NamedTuple):
    """Classes of items as numbers.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted: class k is ``classes[k]``.
    used : ndarray of shape (n_items,), bool
        Whether each item has a weight > 0.
    codes : ndarray of shape (n_used_items,), int64
        The class of each of these.
    weight : ndarray of shape (n_items,)
        The weights of all items, which sum to 1.
    """

    classes: NDArray[Any]
    used: NDArray[np.bool_]
    codes: Integers
    weight: Floats


def encode_class_labels(y: Any, n_items: int, sample_weight: Any, n_targets: int) -> ClassLabels:
    """Number the classes of items.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        Labels of one type.
    n_items : int
    sample_weight : array-like of shape (n_items,) or None
    n_targets : int
        Warns of classes that have no more items than that.

    Raises
    ------
    InputError
        If there is no label for each item, fewer than two classes, or no class of two items.
    """
    labels = as_classes(y, range(n_items))
    weight = check_weights(sample_weight, n_items)
    used = weight > 0
    classes, codes = np.unique(labels[used], return_inverse=True)
    counts = np.bincount(codes)
    if len(counts) < 2:
        raise InputError(f"y has one class only, {classes[0]}; at least two classes are required")
    if counts.max() < 2:
        raise InputError("every class has one item, so none has a target; at least one class of two items is required")
    _warn_of_small_classes(classes, counts, n_targets)
    return ClassLabels(classes, used, codes.astype(np.int64), weight)


def _warn_of_small_classes(classes: NDArray[Any], counts: Integers, n_targets: int) -> None:
    small = np.flatnonzero(counts <= n_targets)
    if len(small):
        shown = ", ".join(f"{classes[c]}: {counts[c]}" for c in small[:5]) + (", ..." if len(small) > 5 else "")
        warn(
            f"{len(small)} classes have no more than n_targets={n_targets} items ({shown}); their items get the "
            "targets that there are, none where an item is alone",
            cause="small classes",
        )
