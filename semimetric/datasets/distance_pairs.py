"""Items whose true distance is known: scikit-learn's digits as histograms, and synthetic items with a formula.

    KNOWN_DISTANCES[name](X, Y)      true distances of two batches (n, n_features), shape (n,)
    make_items(name, n_items)        items on which that distance is at home

Nothing here uses the network.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_choice

__all__ = [
    "KNOWN_DISTANCES",
    "DigitHistograms",
    "DistancePairs",
    "TripletAnswers",
    "exact_emd",
    "load_digit_histograms",
    "make_distance_pairs",
    "make_items",
    "make_triplet_answers",
    "perceived",
]

_SLOPES = np.array([0.2, 0.5, 1.0, 2.0, 4.0, 8.0])
_PERIODS = np.array([24.0, 7.0, 12.0, 365.0])
_PERIOD_SLOPES = np.array([1.0, 2.0, 1.5, 0.05])
_SCALES = np.array([0.1, 0.2, 0.5, 1.0, 2.0])
_EARTH_RADIUS = 6371.0
_N_BINS = 16


@dataclass(frozen=True, eq=False)
class DigitHistograms:
    """Images of handwritten digits as histograms of mass 1.

    Parameters
    ----------
    histograms : ndarray of shape (1797, 64)
    bin_coordinates : ndarray of shape (64, 2)
        Row and column of each pixel.
    labels : ndarray of shape (1797,)
        The digit that was written.
    """

    histograms: Floats
    bin_coordinates: Floats
    labels: Integers


@dataclass(frozen=True, eq=False)
class DistancePairs:
    """Items, pairs of their rows, and the true distances of the pairs.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_features)
    pairs : ndarray of shape (n_pairs, 2), int64
    distances : ndarray of shape (n_pairs,)
    """

    items: Floats
    pairs: Integers
    distances: Floats


def load_digit_histograms() -> DigitHistograms:
    """scikit-learn's 8 x 8 digits, each divided by its sum, on the grid of their pixels.

    Examples
    --------
    >>> digits = load_digit_histograms()
    >>> digits.histograms.shape, digits.bin_coordinates.shape
    ((1797, 64), (64, 2))
    """
    pixels, labels = load_digits(return_X_y=True)
    coordinates = np.indices((8, 8)).reshape(2, -1).T.astype(np.float64)
    return DigitHistograms(pixels / pixels.sum(axis=1, keepdims=True), coordinates, labels.astype(np.int64))


def exact_emd(X: ArrayLike, Y: ArrayLike, bin_coordinates: ArrayLike) -> Floats:
    """Exact Earth Mover's Distances of the rows of X to the same rows of Y, by POT's network simplex.

    Parameters
    ----------
    X, Y : array-like of shape (n, n_bins), or (n_bins,) for one pair
        Histograms; the masses of a pair are equal.
    bin_coordinates : array-like of shape (n_bins, n_dimensions)
        The ground distance is Euclidean.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    MissingExtraError
        If POT is not installed.
    """
    ot = optional("ot")
    coordinates = np.asarray(bin_coordinates, dtype=np.float64)
    ground = cdist(coordinates, coordinates)
    x, y = (np.ascontiguousarray(np.atleast_2d(side), dtype=np.float64) for side in (X, Y))
    if x.shape != y.shape or x.shape[1] != len(ground):
        raise InputError(
            f"X has shape {x.shape}, Y {y.shape}, and there are {len(ground)} bins; two batches of histograms "
            "(n, n_bins) over the same bins are required"
        )
    return np.array([ot.emd2(a, b, ground) for a, b in zip(x, y, strict=True)])


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
    (lat_x, lon_x), (lat_y, lon_y) = np.radians(X).T, np.radians(Y).T
    chord = np.sin((lat_x - lat_y) / 2) ** 2 + np.cos(lat_x) * np.cos(lat_y) * np.sin((lon_x - lon_y) / 2) ** 2
    return 2 * _EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(chord, 0.0, 1.0)))


def _emd_1d(X: Floats, Y: Floats) -> Floats:
    return np.abs(np.cumsum(X - Y, axis=1))[:, :-1].sum(axis=1)


def _kullback_leibler(X: Floats, Y: Floats) -> Floats:
    return np.maximum((X * np.log(X / Y) - X + Y).sum(axis=1), 0.0)


def _uniform_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, len(_SLOPES)))


def _positive_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.lognormal(0.0, 0.7, (n, 6))


def _periodic_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.random((n, len(_PERIODS))) * _PERIODS


def _normal_items(rng: np.random.Generator, n: int) -> Floats:
    return rng.normal(0.0, 1.0, (n, len(_SCALES)))


def _places(rng: np.random.Generator, n: int) -> Floats:
    """Latitude and longitude in degrees, uniform on the sphere."""
    return np.degrees(np.column_stack([np.arcsin(rng.uniform(-1, 1, n)), rng.uniform(-np.pi, np.pi, n)]))


def _histograms(rng: np.random.Generator, n: int) -> Floats:
    """Mixtures of two bumps over the bins, and a floor of 0.02 / n_bins; mass 1."""
    bins = np.arange(_N_BINS)
    centre = rng.uniform(0, _N_BINS - 1, (n, 2, 1))
    bumps = np.exp(-(((bins - centre) / rng.uniform(1.0, 3.0, (n, 2, 1))) ** 2)) * rng.uniform(0.2, 1.0, (n, 2, 1))
    mass = bumps.sum(axis=1)
    return 0.98 * mass / mass.sum(axis=1, keepdims=True) + 0.02 / _N_BINS


_Makers = dict[str, tuple[Callable[[Floats, Floats], Floats], Callable[[np.random.Generator, int], Floats]]]
_KNOWN: _Makers = {
    "weighted_l1": (_weighted_l1, _uniform_items),
    "chi2": (_chi2, _histograms),
    "canberra": (_canberra, _positive_items),
    "periodic": (_periodic, _periodic_items),
    "saturating": (_saturating, _normal_items),
    "haversine": (_haversine, _places),
    "emd_1d": (_emd_1d, _histograms),
    "kullback_leibler": (_kullback_leibler, _histograms),
}

KNOWN_DISTANCES: Mapping[str, Callable[[Floats, Floats], Floats]] = MappingProxyType({n: d for n, (d, _) in _KNOWN.items()})
"""Name to true distance of two batches (n, n_features): all are symmetric but Kullback-Leibler's divergence of Y from X."""


def make_items(name: str, n_items: int, *, random_state: int | None = 0) -> Floats:
    """Items on which the known distance ``name`` is at home, shape (n_items, n_features).

    Parameters
    ----------
    name : str
        A key of `KNOWN_DISTANCES`. "chi2", "emd_1d" and "kullback_leibler" get histograms of mass 1 over 16 bins,
        "haversine" latitudes and longitudes in degrees.
    n_items : int
    random_state : int or None
    """
    check_choice("name", name, tuple(_KNOWN))
    if n_items < 1:
        raise InputError(f"n_items={n_items!r} must be at least 1")
    return _KNOWN[name][1](np.random.default_rng(random_state), n_items)


def make_distance_pairs(name: str, n_pairs: int, *, n_items: int = 2000, random_state: int | None = 0) -> DistancePairs:
    """Items of `make_items`, random pairs of two different ones, and their true distances.

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


@dataclass(frozen=True, eq=False)
class TripletAnswers:
    """Stimuli and what an observer answered about triplets of them.

    Parameters
    ----------
    items : ndarray of shape (n_items, 1)
        Stimuli in [0, 1].
    triplets : ndarray of shape (n_triplets, 3)
        Rows (head, chosen as closer, other).
    """

    items: Floats
    triplets: Integers


def perceived(stimulus: ArrayLike) -> Floats:
    """The scale on which the observer of `make_triplet_answers` compares stimuli in [0, 1]; from 0 to 1 itself.

    Fechner's logarithm, which tells weak stimuli apart best, and a category boundary at 0.7: log(1 + 9 t) / (2 log 10) + half a
    logistic step.
    """
    t = np.asarray(stimulus, dtype=np.float64)
    step = 1.0 / (1.0 + np.exp(-40.0 * (t - 0.7)))
    return np.log1p(9.0 * t) / np.log(10.0) / 2.0 + step / 2.0


def make_triplet_answers(
    n_triplets: int, *, n_items: int = 200, noise: float = 0.1, random_state: int | None = 0
) -> TripletAnswers:
    """Which of two stimuli looks closer to a third, to an observer with the scale `perceived` and noise on every look.

    Thurstone's model: a stimulus t is seen as perceived(t) + noise x normal, and the nearer of what is seen is chosen.

    Parameters
    ----------
    n_triplets, n_items : int
    noise : float, default 0.1
        Standard deviation; the scale goes from 0 to 1.
    random_state : int or None

    Examples
    --------
    >>> made = make_triplet_answers(100, n_items=20)
    >>> made.items.shape, made.triplets.shape
    ((20, 1), (100, 3))
    """
    if n_items < 3 or n_triplets < 1:
        raise InputError(
            f"n_items={n_items!r} and n_triplets={n_triplets!r}: at least three items and one triplet are required"
        )
    rng = np.random.default_rng(random_state)
    items = rng.random((n_items, 1))
    triplets = np.argsort(rng.random((n_triplets, n_items)), axis=1)[:, :3]
    seen = perceived(items[triplets, 0]) + noise * rng.normal(size=triplets.shape)
    turned = np.abs(seen[:, 0] - seen[:, 1]) > np.abs(seen[:, 0] - seen[:, 2])
    return TripletAnswers(items, np.where(turned[:, None], triplets[:, [0, 2, 1]], triplets))
