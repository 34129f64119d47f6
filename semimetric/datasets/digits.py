"""scikit-learn's images of handwritten digits as histograms over their pixels, and exact distances between histograms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from .._foundation.arrays import as_array
from .._foundation.errors import InputError
from .._foundation.estimator import ShortFields
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_items
from ..distances.search.transport import EarthMoversDistance


@dataclass(frozen=True, eq=False, repr=False)
class DigitHistograms(ShortFields):
    """Images of handwritten digits as histograms of mass 1.

    Parameters
    ----------
    histograms : ndarray of shape (1797, 64)
    bin_coordinates : ndarray of shape (64, 2)
        Row and column of each pixel.
    labels : ndarray of shape (1797,)
        The digit that was written.

    Examples
    --------
    >>> digits = load_digit_histograms()
    >>> digits.histograms.shape, digits.bin_coordinates.shape
    ((1797, 64), (64, 2))
    """

    histograms: Floats
    bin_coordinates: Floats
    labels: Integers


def load_digit_histograms() -> DigitHistograms:
    """Return scikit-learn's 8 x 8 digits, each divided by its sum, on the grid of their pixels.

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
    """Return exact Earth Mover's Distances between the rows of X and of Y: `EarthMoversDistance` of each pair, by POT.

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

    Examples
    --------
    >>> exact_emd([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [[0.0], [1.0], [3.0]])
    array([3.])
    """
    coordinates = check_items(bin_coordinates, name="bin_coordinates")
    emd = EarthMoversDistance(cdist(coordinates, coordinates))
    n_bins = len(emd.cost_matrix)
    x, y = (check_items(np.atleast_2d(as_array(side, name)), name=name) for side, name in ((X, "X"), (Y, "Y")))
    if x.shape != y.shape or x.shape[1] != n_bins:
        raise InputError(
            f"X has shape {x.shape}, Y {y.shape}, and there are {n_bins} bins; two batches of histograms "
            "(n, n_bins) over the same bins are required"
        )
    masses = x.sum(axis=1), y.sum(axis=1)
    if min(x.min(), y.min()) < 0 or not (masses[0] > 0).all() or not np.allclose(*masses, rtol=1e-6, atol=0):
        raise InputError(
            "some histograms have negative masses, none, or other ones than their partners; divide each by its sum"
        )
    y = y * (masses[0] / masses[1])[:, None]  # which are equal up to rounding
    return np.array([emd(a, b) for a, b in zip(x, y, strict=True)])
