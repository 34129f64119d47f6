"""Synthetic items whose true distance has a formula, and random pairs of them with their distances.

    KNOWN_DISTANCES[name](X, Y)      true distances of two batches (n, n_features), shape (n,)
    make_items(name, n_items)        random items from the domain of that distance

Every formula below takes the batches X and Y, both of shape (n, n_features), and returns the n distances of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .._foundation.errors import InputError
from .._foundation.estimator import ShortFields
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_choice

_SLOPES = np.array([0.2, 0.5, 1.0, 2.0, 4.0, 8.0])  # weights of the features in "weighted_l1"
_PERIODS = np.array([24.0, 7.0, 12.0, 365.0])  # of the features of "periodic": hours, weekdays, months, days
_PERIOD_SLOPES = np.array([1.0, 2.0, 1.5, 0.05])  # weights of the features in "periodic"
_SCALES = np.array([0.1, 0.2, 0.5, 1.0, 2.0])  # differences at which the features of "saturating" reach 1 - 1/e
_EARTH_RADIUS = 6371.0  # km
_N_BINS = 16  # of the histograms


@dataclass(frozen=True, eq=False, repr=False)
class DistancePairs(ShortFields):
    """Items, pairs of their rows, and the true distances of the pairs.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_features)
    pairs : ndarray of shape (n_pairs, 2), int64
    distances : ndarray of shape (n_pairs,)

    Examples
    --------
    >>> data = make_distance_pairs("chi2", 100, n_items=50)
    >>> data.items.shape, data.pairs.shape, data.distances.shape
    ((50, 16), (100, 2), (100,))
    """

    items: Floats
    pairs: Integers
    distances: Floats


def _weighted_l1(X: Floats, Y: Floats) -> Floats:
    return np.abs(X - Y) @ _SLOPES


def _chi2(X: Floats, Y: Floats) -> Floats:
    total = X + Y
    return ((X - Y) ** 2 / np.where(total > 0, total, 1.0)).sum(axis=1)


def _canberra(X: Floats, Y: Floats) -> Floats:
    total = np.abs(X) + np.abs(Y)
    return (np.abs(X - Y) / np.where(total > 0, total, 1.0)).sum(axis=1)


def _periodic(X: Floats, Y: Floats) -> Floats:
    apart = np.abs(X - Y) % _PERIODS
    return np.minimum(apart, _PERIODS - apart) @ _PERIOD_SLOPES


def _saturating(X: Floats, Y: Floats) -> Floats:
    return -np.expm1(-np.abs(X - Y) / _SCALES).sum(axis=1)


def _haversine(X: Floats, Y: Floats) -> Floats:
    """Return great-circle distances in kilometres between latitudes and longitudes in degrees."""
    lat_x, lon_x = np.radians(X).T
    lat_y, lon_y = np.radians(Y).T
    of_latitude = np.sin((lat_x - lat_y) / 2) ** 2
    of_longitude = np.cos(lat_x) * np.cos(lat_y) * np.sin((lon_x - lon_y) / 2) ** 2
    return 2 * _EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(of_latitude + of_longitude, 0.0, 1.0)))


def _emd_1d(X: Floats, Y: Floats) -> Floats:
    """Return Earth Mover's Distances over bins 1 apart: the L1 distances of cumulative sums."""
    return np.abs(np.cumsum(X - Y, axis=1))[:, :-1].sum(axis=1)


def _kullback_leibler(X: Floats, Y: Floats) -> Floats:
    """Return divergences of Y from X, for positive entries; rounding below 0 is cut off."""
    return np.maximum((X * np.log(X / Y) - X + Y).sum(axis=1), 0.0)


def _uniform_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, len(_SLOPES)))


def _positive_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.lognormal(0.0, 0.7, (n, 6))


def _periodic_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, len(_PERIODS))) * _PERIODS


def _normal_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.normal(0.0, 1.0, (n, len(_SCALES)))


def _coordinates_on_earth(rng: np.random.Generator, n: int) -> Floats:
    """Return latitude and longitude in degrees, shape (n, 2), of points uniform on the sphere."""
    latitude = np.arcsin(rng.uniform(-1, 1, n))
    longitude = rng.uniform(-np.pi, np.pi, n)
    return np.degrees(np.column_stack([latitude, longitude]))


def _histograms(rng: np.random.Generator, n: int) -> Floats:
    """Return histograms of mass 1, shape (n, 16): two Gaussian bumps, and at least 0.02 / 16 in every bin."""
    bins = np.arange(_N_BINS)
    center = rng.uniform(0, _N_BINS - 1, (n, 2, 1))
    width = rng.uniform(1.0, 3.0, (n, 2, 1))
    height = rng.uniform(0.2, 1.0, (n, 2, 1))
    bumps = np.exp(-(((bins - center) / width) ** 2)) * height
    mass = bumps.sum(axis=1)
    return 0.98 * mass / mass.sum(axis=1, keepdims=True) + 0.02 / _N_BINS


_Formula = Callable[[Floats, Floats], Floats]
_ItemMaker = Callable[[np.random.Generator, int], Floats]
_FORMULAS_AND_ITEMS: dict[str, tuple[_Formula, _ItemMaker]] = {
    "weighted_l1": (_weighted_l1, _uniform_items),
    "chi2": (_chi2, _histograms),
    "canberra": (_canberra, _positive_items),
    "periodic": (_periodic, _periodic_items),
    "saturating": (_saturating, _normal_items),
    "haversine": (_haversine, _coordinates_on_earth),
    "emd_1d": (_emd_1d, _histograms),
    "kullback_leibler": (_kullback_leibler, _histograms),
}

KNOWN_DISTANCES: Mapping[str, _Formula] = MappingProxyType(
    {name: formula for name, (formula, _) in _FORMULAS_AND_ITEMS.items()}
)
"""The formula of every name. All are symmetric, except "kullback_leibler", the divergence of Y from X."""


def make_items(name: str, n_items: int, *, random_state: int | None = 0) -> Floats:
    """Draw random items from the domain of the known distance ``name``, shape (n_items, n_features).

    Parameters
    ----------
    name : str
        A key of `KNOWN_DISTANCES`. "chi2", "emd_1d" and "kullback_leibler" get histograms of mass 1 over 16 bins,
        "haversine" latitudes and longitudes in degrees.
    n_items : int
    random_state : int or None

    Examples
    --------
    >>> from semimetric.datasets import KNOWN_DISTANCES, make_items
    >>> X = make_items("emd_1d", 5)
    >>> KNOWN_DISTANCES["emd_1d"](X[:2], X[2:4]).shape
    (2,)
    """
    check_choice("name", name, tuple(_FORMULAS_AND_ITEMS))
    if n_items < 1:
        raise InputError(f"n_items={n_items!r} must be at least 1")
    _, maker = _FORMULAS_AND_ITEMS[name]
    return maker(np.random.default_rng(random_state), n_items)


def make_distance_pairs(name: str, n_pairs: int, *, n_items: int = 2000, random_state: int | None = 0) -> DistancePairs:
    """Return items from `make_items`, random pairs of two different items, and the true distances of these pairs.

    Parameters
    ----------
    name : str
        A key of `KNOWN_DISTANCES`.
    n_pairs, n_items : int
    random_state : int or None

    Examples
    --------
    >>> made = make_distance_pairs("haversine", 100, n_items=50)
    >>> made.items.shape, made.pairs.shape, bool((made.distances > 0).all())
    ((50, 2), (100, 2), True)
    """
    if n_items < 2 or n_pairs < 1:
        raise InputError(f"n_items={n_items!r} and n_pairs={n_pairs!r}: at least two items and one pair are required")
    items = make_items(name, n_items, random_state=random_state)
    rng = np.random.default_rng(random_state)
    left = rng.integers(0, n_items, n_pairs)
    right = (left + rng.integers(1, n_items, n_pairs)) % n_items
    return DistancePairs(items, np.column_stack([left, right]), KNOWN_DISTANCES[name](items[left], items[right]))
