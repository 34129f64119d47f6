"""Classes, targets and weights of rows as the `Problem` that the kernels of dual descent and Pegasos take."""

from __future__ import annotations

import numpy as np

from ..._foundation.types import Floats, Integers
from ..._kernels.coordinate_descent import Problem

__all__ = ["classification_problem", "regression_problem"]

_ONE = np.ones(1)  # stands for a target or a weight of 1 on every row
_MOST_IN_A_BYTE = np.iinfo(np.int8).max  # so many classes are numbered in one byte a row


def classification_problem(
    codes: Integers, sample_weight: Floats | None, class_weight: Floats, *, squared: bool, joint: bool
) -> Problem:
    """The hinge losses of rows whose classes are ``codes`` (n,), numbers from 0 to K - 1.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
    sample_weight : ndarray of shape (n,) or None
    class_weight : ndarray of shape (K + 1,)
        C times the weight of every class, and C itself. One class against the rest, the rest has the weight C and not its
        own, as in LIBLINEAR.
    squared : bool
        Whether the hinges are squared.
    joint : bool
        Whether the loss is that of Crammer and Singer. Otherwise two classes have one column, the second class against the
        first, and more classes have a column each, the class against the rest.
    """
    n_classes = len(class_weight) - 1
    if joint:
        own = class_weight[:n_classes]
        other = own
    elif n_classes == 2:
        codes = 1 - codes
        own = class_weight[1:2]
        other = class_weight[:1]
    else:
        own = class_weight[:n_classes]
        other = np.full(n_classes, class_weight[n_classes])
    return Problem(
        codes=codes.astype(np.int8 if n_classes <= _MOST_IN_A_BYTE else np.int32, copy=False),
        target=_ONE,
        sample=_ONE if sample_weight is None else sample_weight,
        own=own.copy(),
        other=other.copy(),
        epsilon=0.0,
        squared=squared,
        two_sided=False,
        joint=joint,
    )


def regression_problem(y: Floats, sample_weight: Floats | None, C: float, *, epsilon: float, squared: bool) -> Problem:
    """The epsilon-insensitive losses of the targets y (n,), in one column that all rows belong to."""
    return Problem(
        codes=np.zeros(len(y), np.int8),
        target=y,
        sample=_ONE if sample_weight is None else sample_weight,
        own=np.array([C]),
        other=np.array([C]),
        epsilon=float(epsilon),
        squared=squared,
        two_sided=True,
        joint=False,
    )
