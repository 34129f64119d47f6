"""Elastic distances of series of any lengths and channels, and their bounds: no calls, and a pass over both series."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._foundation.arrays import as_floats, check_finite
from ..._foundation.errors import InputError
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._kernels.elastic import EDR, ERP, LCSS, MSM, ROUNDING, TWED, elastic_cost, elastic_lower, elastic_quick, elastic_upper
from ..._kernels.warping import is_finite_series, warping_lower, warping_sum, warping_upper
from ...data.object_lists import listed_objects
from .bounds import Bounds, Coordinates

_ALL = 1 << 40  # steps: no window
_KINDS: dict[str, tuple[int, dict[str, float]]] = {
    "erp": (ERP, {"g": 0.0}),
    "lcss": (LCSS, {"epsilon": 1.0}),
    "edr": (EDR, {"epsilon": 1.0}),
    "msm": (MSM, {"c": 1.0}),
    "twed": (TWED, {"nu": 0.001, "lmbda": 1.0}),
}


class _SeriesDistance(ABC):
    """A compiled distance of two series under the best alignment within a window, and its bounds."""

    window: float | None
    _steps: int
    _share: float

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the distance of two series, of shape (n_steps,) or (n_steps, n_channels) each."""
        a, b = as_series(x, "x"), as_series(y, "y")
        if a.shape[1] != b.shape[1]:
            raise InputError(f"x has {a.shape[1]} channels and y {b.shape[1]}; give series of the same channels")
        return self._of(a, b, max(self._steps, int(self._share * max(len(a), len(b)))))

    @abstractmethod
    def _of(self, x: Floats, y: Floats, steps: int) -> float:
        """Return the distance of series of shape (n_steps, n_channels)."""

    @abstractmethod
    def lower_bounds(self, query: Floats, series: Floats, lengths: Integers, *, quick: bool) -> Floats:
        """Return lower bounds of the distances of a query (n, c) to padded series (n_items, n_steps, c): shape (n_items,).

        Those that are ``quick`` are lower, and take a fraction of the time.
        """

    @abstractmethod
    def upper_bounds(self, query: Floats, series: Floats, lengths: Integers) -> Floats:
        """Return upper bounds, likewise."""


class DynamicTimeWarping(_SeriesDistance):
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

    def _of(self, x: Floats, y: Floats, steps: int) -> float:
        return float(np.sqrt(warping_sum(x, y, steps)))

    def lower_bounds(self, query: Floats, series: Floats, lengths: Integers, *, quick: bool) -> Floats:
        out = np.empty(len(series))
        warping_lower(query, series, lengths, self._steps, self._share, quick, out)
        return np.sqrt(out * (1.0 - _rounding(query, lengths)))

    def upper_bounds(self, query: Floats, series: Floats, lengths: Integers) -> Floats:
        out = np.empty(len(series))
        warping_upper(query, series, lengths, out)
        return np.sqrt(out * (1.0 + _rounding(query, lengths)))


class ElasticDistance(_SeriesDistance):
    """An edit distance of two series, compiled: ERP, LCSS, EDR, MSM or TWED.

    An alignment goes through both series in order. It pairs a step of x with one of y, or skips a step of either. The distance
    is the least sum of what these cost. With ``|x_i - y_j|`` for the sum of absolute differences over channels:

    - "erp" (Chen & Ng 2004): a pair costs ``|x_i - y_j|``, and a skip ``|x_i - g|``.
    - "msm" (Stefan, Athitsos & Das 2013): a pair costs ``|x_i - y_j|``, and a skip c and how far x_i lies outside the interval
      between x_{i-1} and y_j, beside which it is skipped.
    - "twed" (Marteau 2009): a pair costs ``|x_i - y_j| + |x_{i-1} - y_{j-1}| + 2 nu |i - j|``, and a skip
      ``|x_i - x_{i-1}| + nu + lmbda``.
    - "edr" (Chen, Özsu & Oria 2005): a pair costs 0 where all channels differ by at most epsilon, and otherwise 1, as a skip.
    - "lcss" (Vlachos, Kollios & Gunopulos 2002): ``1 - L / min(n, m)``, where L is the largest number of such pairs.

    Skipped steps of y cost the same. The first steps of "msm" and "twed" are paired. "msm" of several channels is the sum of
    those of each channel. In several channels aeon takes Euclidean norms in place of sums, and it divides "edr" by the longer
    length.

    All are symmetric and 0 for equal series. Without a window "erp", "msm" and "twed" keep the triangle inequality, so that
    `LandmarkBounds` hold. With ``c > 0`` and ``nu > 0``, "msm" and "twed" are metrics; "erp" is 0 between series that differ
    in steps equal to g. "edr", "lcss", and any of them with a window do not keep the triangle inequality.

    Parameters
    ----------
    kind : {"erp", "lcss", "edr", "msm", "twed"}
    window : None, int or float, default None
        Steps that an alignment may leave the diagonal, as that of `DynamicTimeWarping`.
    g, epsilon, c, nu, lmbda : float or None, default None
        Parameters of the kind, in the unit of the series; all but g are at least 0. None is ``g=0.0`` for "erp",
        ``epsilon=1.0`` for "lcss" and "edr", ``c=1.0`` for "msm", and ``nu=0.001, lmbda=1.0`` for "twed".

    Raises
    ------
    InputError
        If the kind is unknown, a parameter is not one of its own or no such number, or the window is none. In a call, if series
        are empty, hold NaN or infinity, or differ in their channels.

    Examples
    --------
    >>> from semimetric import ElasticDistance
    >>> ElasticDistance("erp", g=0.0)([1.0, 2.0, 3.0], [1.0, 3.0])
    2.0
    >>> ElasticDistance("edr", epsilon=0.5)([1.0, 2.0, 3.0], [1.0, 3.0])
    1.0
    >>> ElasticDistance("lcss", epsilon=0.5)([1.0, 2.0, 3.0], [1.0, 3.0])
    0.0
    >>> ElasticDistance("msm", c=0.25)([1.0, 2.0, 3.0], [1.0, 3.0])
    1.25
    >>> ElasticDistance("twed", nu=0.5, lmbda=1.0)([1.0, 2.0, 3.0], [1.0, 3.0])
    3.5
    """

    def __init__(
        self,
        kind: str,
        *,
        window: float | None = None,
        g: float | None = None,
        epsilon: float | None = None,
        c: float | None = None,
        nu: float | None = None,
        lmbda: float | None = None,
    ) -> None:
        if kind not in _KINDS:
            raise InputError(f"kind={kind!r} is not known; give one of {', '.join(map(repr, _KINDS))}")
        self.kind, self.window = kind, window
        self._code, defaults = _KINDS[kind]
        every = {"g": g, "epsilon": epsilon, "c": c, "nu": nu, "lmbda": lmbda}
        parameters = {name: value for name, value in every.items() if value is not None}
        if unknown := sorted(set(parameters) - set(defaults)):
            raise InputError(f"{kind!r} takes {' and '.join(defaults)}, and {unknown[0]}= was given; leave it out")
        for name, value in parameters.items():
            number = real_number(value)
            if number is None or not np.isfinite(number) or (number < 0 and name != "g"):
                limit = "" if name == "g" else " >= 0"
                raise InputError(f"{name}={shown(value)} of {kind!r} must be a finite number{limit}")
        self.parameters = {name: float(parameters.get(name, default)) for name, default in defaults.items()}
        self._steps, self._share = check_window(window)
        self._p, self._q = (*self.parameters.values(), 0.0)[:2]

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"ElasticDistance({self.kind!r}, window={self.window!r}{given})"

    def _of(self, x: Floats, y: Floats, steps: int) -> float:
        return float(self._scaled(elastic_cost(self._code, x, y, steps, self._p, self._q), x, len(y)))

    def lower_bounds(self, query: Floats, series: Floats, lengths: Integers, *, quick: bool) -> Floats:
        out, longer = np.empty(len(series)), np.maximum(len(query), lengths)
        windows = np.maximum(self._steps, (self._share * longer).astype(np.int64))
        bound = elastic_quick if quick else elastic_lower
        bound(self._code, query, series, lengths, windows, self._p, self._q, out)
        return self._scaled(out if self._counts else out * (1.0 - _rounding(query, lengths)), query, lengths)

    def upper_bounds(self, query: Floats, series: Floats, lengths: Integers) -> Floats:
        out = np.empty(len(series))
        elastic_upper(self._code, query, series, lengths, self._p, self._q, out)
        return self._scaled(out if self._counts else out * (1.0 + _rounding(query, lengths)), query, lengths)

    @property
    def _counts(self) -> bool:
        """Return True if costs are counts of steps, which are not rounded."""
        return "epsilon" in self.parameters

    def _scaled(self, cost: Any, query: Floats, lengths: Any) -> Any:
        """Return the distance of a cost: itself, but for LCSS, whose cost is n + m - 2 L."""
        if self._code != LCSS:
            return cost
        return 1.0 - (len(query) + lengths - cost) / 2.0 / np.minimum(len(query), lengths)


class ElasticBounds(Bounds):
    """Bounds of `DynamicTimeWarping` and of each `ElasticDistance`, for several channels and unequal lengths, without a call.

    **Warping.** Every step of either series is paired with a step of the other within the window. So the part of
    ``|x_i - y_j|^2`` by which x_i lies beyond the envelope of y near i is needed (Keogh 2002). Here x is the item and y the
    query, whose envelope items share. With h_i for the nearest value within the envelope,
    ``|x_i - y_j|^2 >= |x_i - h_i|^2 + |h_i - y_j|^2`` in every channel. So the part by which y lies beyond the envelope of h is
    needed besides (Lemire 2009). First and last steps are paired with one another, so that they count in full (Kim, Park &
    Chu 2001).

    **ERP, MSM and TWED.** Give every step of x a weight u, the least cost of a pair or skip of it within the window. Then give
    every step of y a weight v, the least cost of a skip of it, or of what u leaves of a pair. No pair costs less than its u and
    v together, and no skip less than its own. An alignment covers every step by one of them, so that it costs at least the sum
    of all weights (edge covers of a bipartite graph, Chao et al. 2026). If x is k steps longer, at least k of its steps are
    skipped, and pay besides what their skip costs beyond their u. The sum of ``x_i - g`` less that of ``y_j - g`` is changed by
    a pair or skip of ERP by no more than it costs, so that its size is a bound, too (Chen & Ng 2004).

    **EDR and LCSS.** Let M be the lesser number, of both series, of steps that have a step of the other within epsilon and the
    window. No more than M pairs are within epsilon. All other edits take at most one step of either series, so that EDR is at
    least ``max(n, m) - M``.

    The upper bound is the straight alignment. Series are held padded to the longest.

    `FilterRefineIndex` begins with quick bounds, and computes the full ones of items that these leave open. Quick ones of
    warping are the part of the item beyond the envelope of the query. Those of the edit distances take the nearest values
    within an envelope in place of the nearest partners.

    Bounds of warping take a time that grows with the lengths. Full ones of the edit distances grow with the lengths times the
    window, as the distance does, but many pairs are computed at once. At a window of a tenth, 3.0 % (LCSS) to 6.3 % (EDR) of
    1,000 simulated series of 128 steps are called until the ten nearest are proved, in .17 to .25 of the time of all calls.
    Of 100 series of GunPoint 28 to 40 % are called, in .75 to .97 of the time, and of 100 heart beats (ECG200) 46 to 70 %.
    That saves no time: a query takes 1.3 to 1.7 times as long. Without a window 99 to 100 % of the heart beats are called
    (`benchmarks/warping_bounds.py`).

    Parameters
    ----------
    distance : DynamicTimeWarping or ElasticDistance
        The distance that is bounded.

    Attributes
    ----------
    n_features_in_ : int
        The number of channels.

    Examples
    --------
    >>> from semimetric import DynamicTimeWarping, ElasticBounds
    >>> x, y, dtw = [0.0, 1.0, 5.0, 1.0], [0.0, 1.0, 2.0, 2.0, 2.0], DynamicTimeWarping(window=1)
    >>> low, high = ElasticBounds(dtw).fit([x]).bounds(x, y)
    >>> bool(low <= dtw(x, y) <= high)
    True
    """

    has_quick = True

    def __init__(self, distance: DynamicTimeWarping | ElasticDistance) -> None:
        self.distance = distance

    def fit(self, X: Any, y: Any = None) -> ElasticBounds:
        """Read the series X, of shape (n_steps,) or (n_steps, n_channels) each; y is ignored.

        Raises
        ------
        InputError
            If the distance is no such one, or a series is empty, holds NaN or infinity, or has other channels than the first.
        """
        if not isinstance(self.distance, _SeriesDistance):
            raise InputError(
                f"distance={shown(self.distance)} cannot be bounded here; give DynamicTimeWarping(...) or ElasticDistance(...)"
            )
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
        return self.distance.lower_bounds(self._query(query), *self._series(items), quick=False)

    def quick_at(self, query: Coordinates, items: Coordinates) -> Floats:
        return self.distance.lower_bounds(self._query(query), *self._series(items), quick=True)

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        return self.distance.upper_bounds(self._query(query), *self._series(items))

    def _query(self, placed: Coordinates) -> Floats:
        (series,), (n,) = self._series(placed)
        return np.ascontiguousarray(series[:n])

    def _series(self, placed: Coordinates) -> tuple[Floats, Integers]:
        """Return series padded to one length, (n, n_steps, n_channels), and the length of each."""
        n_steps = placed.values.shape[1] // self.n_features_in_
        return placed.values.reshape(len(placed), n_steps, self.n_features_in_), placed.masses.astype(np.int64)


def _rounding(query: Floats, lengths: Integers) -> Floats:
    """Return what rounding may change of sums along an alignment, relative to them, and of their roots."""
    terms: Floats = ROUNDING * (len(query) + lengths + 4.0) * (query.shape[1] + 4.0)
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
    if not is_finite_series(series):
        check_finite(series, name)
    return series
