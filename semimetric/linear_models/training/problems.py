"""Classes, targets and weights as the kernels take them."""

from __future__ import annotations

import numpy as np

from ..._foundation.types import Floats, Integers
from ..._kernels.descent import Problem

__all__ = ["classes_problem", "values_problem"]

_ONE = np.ones(1)
_FEW = np.iinfo(np.int8).max  # classes that are numbered in a byte: there is one number a row


def classes_problem(codes: Integers, sample: Floats | None, weights: Floats, *, squared: bool, joint: bool) -> Problem:
    """Hinges of classes 0, ..., K - 1; ``weights`` (K,) are C times the weight of each class.

    Two classes are one column, the second against the first, unless ``joint``. One against the rest, the rest has the weight
    C and not its own, as in LIBLINEAR; so ``weights[K]`` is C.
    """
    K = len(weights) - 1
    if joint:
        own, other = weights[:K], weights[:K]
    elif K == 2:
        codes, own, other = 1 - codes, weights[1:2], weights[:1]
    else:
        own, other = weights[:K], np.full(K, weights[K])
    return Problem(
        codes.astype(np.int8 if K <= _FEW else np.int32, copy=False),
        _ONE,
        _ONE if sample is None else sample,
        own.copy(),
        other.copy(),
        0.0,
        squared,
        False,
        joint,
    )


def values_problem(y: Floats, sample: Floats | None, C: float, *, epsilon: float, squared: bool) -> Problem:
    """Epsilon-insensitive losses of one column."""
    codes, weight = np.zeros(len(y), np.int8), np.array([C])
    return Problem(codes, y, _ONE if sample is None else sample, weight, weight.copy(), float(epsilon), squared, True, False)
