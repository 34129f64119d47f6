"""Dynamic time warping of series of any lengths and channels, and its bounds: no calls, and a pass over both series."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._foundation.arrays import as_floats, check_finite
from ..._foundation.errors import InputError
from ..._foundation.real_numbers import real_number
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._kernels.warping import warping_lower, warping_sum, warping_upper
from ...data.object_lists import listed_objects
from .bounds import Bounds, Coordinates

_ROUNDING = 4e-16  # of a sum, for each of its terms
_ALL = 1 << 40  # steps: no window


class DynamicTimeWarping:
    """The dynamic time warping distance of two series, compiled.

    A warping path goes from the first steps of both series to the last ones, by one step in x, in y or in both. The distance is
    ``min sqrt(sum |x_i - y_j|^2)`` over the pairs (i, j) of a path with ``|i - j| <= window`` (Sakoe and Chiba 1978). Several
    channels are warped together. It is symmetric and 0 for equal series, and does not keep the triangle inequality.

    Parameters
    ----------
    window : None, int or float, default None
        Steps that a path may leave the diagonal, at least 0. A number between 0 and 1 is a share of the longer series. None is
        no window. Series whose lengths differ by more get the difference as their window, without which there is no path.

    Raises
    ------
    InputError
        If the window is neither, or, in a call, series are empty, hold NaN or infinity, or differ in their channels.

    Examples
    --------
    >>> from semimetric import DynamicTimeWarping
    >>> dtw = DynamicTimeWarping(window=1)
    >>> dtw([0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 1.0, 2.0])
    0.0
    >>> DynamicTimeWarping(window=0)([0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 1.0, 2.0])
    1.4142135623730951
    """

    def __init__(self, window: float | None = None) -> None:
        self.window = window
        self._steps, self._share = check_window(window)

    def __repr__(self) -> str:
        return f"DynamicTimeWarping(window={self.window!r})"

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the distance of two series, of shape (n_steps,) or (n_steps, n_channels) each."""
        a, b = as_series(x, "x"), as_series(y, "y")
        if a.shape[1] != b.shape[1]:
            raise InputError(f"x has {a.shape[1]} channels and y {b.shape[1]}; give series of the same channels")
        return float(np.sqrt(warping_sum(a, b, max(self._steps, int(self._share * max(len(a), len(b)))))))


class WarpingBounds(Bounds):
    """Bounds of `DynamicTimeWarping`, for windows, several channels and unequal lengths, without a call.

    Every step of either series is paired with a step of the other within the window. So the part of ``|x_i - y_j|^2`` by which
    x_i lies beyond the envelope of y near i is needed (Keogh 2002). With h_i for the nearest value within the envelope,
    ``|x_i - y_j|^2 >= |x_i - h_i|^2 + |h_i - y_j|^2`` in every channel. So the part by which y lies beyond the envelope of h is
    needed besides (Lemire 2009). First and last steps are paired with one another, so that they count in full (Kim, Park & Chu
    2001). x is the query and y the item: the larger one of both directions took twice the time, and saved less than a
    thirtieth of the calls (`benchmarks/warping_bounds.py`). The upper bound is the straight path.

    It takes a time that grows with the lengths, where the distance grows with their product, or with that of the length and the
    window. Without a window, envelopes are the ranges of whole series, and say little. Series are held padded to the longest.

    Parameters
    ----------
    window : None, int or float, default None
        That of the distance. Bounds of a smaller window than that of the distance do not hold.

    Attributes
    ----------
    n_features_in_ : int
        The number of channels.

    Examples
    --------
    >>> from semimetric import DynamicTimeWarping, WarpingBounds
    >>> x, y = [0.0, 1.0, 5.0, 1.0], [0.0, 1.0, 2.0, 2.0, 2.0]
    >>> low, high = WarpingBounds(window=1).fit([x]).bounds(x, y)
    >>> bool(low <= DynamicTimeWarping(window=1)(x, y) <= high)
    True
    """

    def __init__(self, window: float | None = None) -> None:
        self.window = window

    def fit(self, X: Any, y: Any = None) -> WarpingBounds:
        """Read the series X, of shape (n_steps,) or (n_steps, n_channels) each; y is ignored.

        Raises
        ------
        InputError
            If the window is none, or a series is empty, holds NaN or infinity, or has other channels than the first.
        """
        check_window(self.window)
        objects = listed_objects(X)
        self.n_features_in_ = as_series(objects[0], "object 0 of X").shape[1]
        self.items_ = self._placed(objects, "X")
        return self

    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        series = [as_series(value, f"object {row} of {name}") for row, value in enumerate(objects)]
        for row, one in enumerate(series):
            if one.shape[1] != self.n_features_in_:
                raise InputError(
                    f"object {row} of {name} has {one.shape[1]} channels, and the items have {self.n_features_in_}; give "
                    "series of the same channels"
                )
        lengths = np.array([len(one) for one in series])
        padded = np.zeros((len(series), int(lengths.max(initial=1)), self.n_features_in_))
        for row, one in enumerate(series):
            padded[row, : len(one)] = one
        return Coordinates(padded.reshape(len(series), -1), np.empty((len(series), 0)), lengths.astype(np.float64))

    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        (series, lengths), out = self._series(items), np.empty(len(items))
        (x,), (n,) = self._series(query)
        warping_lower(np.ascontiguousarray(x[:n]), series, lengths, *check_window(self.window), out)
        return np.sqrt(out * (1.0 - self._rounding(n, lengths)))

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        (series, lengths), out = self._series(items), np.empty(len(items))
        (x,), (n,) = self._series(query)
        warping_upper(np.ascontiguousarray(x[:n]), series, lengths, out)
        return np.sqrt(out * (1.0 + self._rounding(n, lengths)))

    def _series(self, placed: Coordinates) -> tuple[Floats, Integers]:
        """Return series padded to one length, (n, n_steps, n_channels), and the length of each."""
        n_steps = placed.values.shape[1] // self.n_features_in_
        return placed.values.reshape(len(placed), n_steps, self.n_features_in_), placed.masses.astype(np.int64)

    def _rounding(self, n: int, lengths: Integers) -> Floats:
        """Return what rounding may change of sums along a path, relative to them, and of their roots."""
        terms: Floats = _ROUNDING * (n + lengths + 4.0) * (self.n_features_in_ + 4.0)
        return terms


def check_window(window: Any) -> tuple[int, float]:
    """Return a window in steps, and as a share of the longer series, of which the larger counts."""
    if window is None:
        return _ALL, 0.0
    number = real_number(window)
    if number is not None and 0 <= number < _ALL and number == int(number) and not (isinstance(window, float) and number == 1):
        return int(number), 0.0
    if number is None or not 0 < number <= 1:
        raise InputError(
            f"window={window!r} must be None, an integer >= 0 (steps), or a number above 0 and at most 1.0 (a share of the "
            "longer series)"
        )
    return 0, number


def as_series(value: Any, name: str) -> Floats:
    """Return a series as a C-contiguous float64 array of shape (n_steps, n_channels)."""
    series = as_floats(value, name)
    if series.ndim == 1:
        series = series[:, None]
    if series.ndim != 2 or not all(series.shape):
        raise InputError(
            f"{name} has shape {np.shape(value)}; a series of shape (n_steps,) or (n_steps, n_channels) with a step is required"
        )
    check_finite(series, name)
    return np.ascontiguousarray(series)
