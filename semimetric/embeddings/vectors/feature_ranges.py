"""The ranges of the values of features, and the refusal of ranges that overflow."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.types import Floats

__all__ = ["check_reach", "feature_ranges", "restored_ranges"]

_SLACK = 16.0  # an entry is at most so many times as large as the number of cells beyond the knots, for splines of any degree


def feature_ranges(items: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """The least and the greatest value of every feature, each of shape (n_features,); NaN if all values are missing.

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


def restored_ranges(fitted: Mapping[str, Any], n_features: int) -> tuple[Floats, Floats]:
    """``low_`` and ``high_`` of a saved embedding, each of shape (n_features,), refused if they are not ranges of features."""
    low, high = fitted["low_"], fitted["high_"]
    if not low.shape == high.shape == (n_features,):
        raise InputError(f"low_ and high_ have shapes {low.shape} and {high.shape}; ({n_features},) is required")
    with np.errstate(over="ignore", invalid="ignore"):
        known = np.isfinite(low) & np.isfinite(high) & (low <= high) & np.isfinite(high - low)
    if not (known | (np.isnan(low) & np.isnan(high))).all():
        raise InputError("low_ and high_ are not the ranges of features: low_ <= high_, both finite, or both missing")
    return np.array(low), np.array(high)


def check_reach(items: Floats | sparse.csr_array, knots: Sequence[Floats], names: Sequence[str], dtype: DTypeLike) -> None:
    """Refuse values so far from the outer knots that ``extrapolation="linear"`` overflows in ``dtype``.

    Raises
    ------
    InputError
        If there is such a value.
    """
    if not items.shape[0]:
        return
    least = _extreme(items, "min")
    most = _extreme(items, "max")
    for f, k in enumerate(knots):
        if len(k) < 2 or not (least[f] < k[0] or most[f] > k[-1]):
            continue
        with np.errstate(over="ignore"):
            cells = max((k[0] - least[f]) / (k[1] - k[0]), (most[f] - k[-1]) / (k[-1] - k[-2]))
        if cells > np.finfo(dtype).max / _SLACK:
            value = least[f] if least[f] < k[0] and k[0] - least[f] >= most[f] - k[-1] else most[f]
            raise InputError(
                f"feature {names[f]!r} has the value {value:g}, too far from its knots, {k[0]:g} to {k[-1]:g}, for "
                f"extrapolation='linear' in {np.dtype(dtype)}: use 'clip', or drop those rows"
            )


def _extreme(items: Floats | sparse.csr_array, name: str) -> Floats:
    """The least ("min") or the greatest ("max") value of every feature, ignoring NaN: shape (n_features,)."""
    if isinstance(items, np.ndarray):
        return getattr(np, f"f{name}").reduce(items, axis=0)
    return np.asarray(getattr(items, f"nan{name}")(axis=0).toarray()).ravel()
