"""From where to where the values of a feature run."""

from collections.abc import Sequence

import numpy as np

from .._errors import InputError
from .._types import Floats

__all__ = ["feature_ranges"]


def feature_ranges(items: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Least and greatest value of every feature, NaN where all are missing.

    Raises
    ------
    InputError
        If the difference of the two overflows.
    """
    low, high = np.fmin.reduce(items, axis=0), np.fmax.reduce(items, axis=0)
    with np.errstate(over="ignore"):
        wide = np.isinf(high - low)
    if wide.any():
        f = int(np.flatnonzero(wide)[0])
        raise InputError(f"feature {names[f]!r} runs from {low[f]:g} to {high[f]:g}, which overflows: give it in larger units")
    return low, high
