"""The min kernel, and its approximation by B-splines with penalised differences (paper 1, section 4)."""

from __future__ import annotations

import numpy as np

from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_count, check_items
from ..._kernels.additive import min_gram
from .splines import BSplineEmbedding


def min_kernel(X: ArrayLike, Y: ArrayLike | None = None) -> Floats:
    """K(x, y) = sum_n min(x_n, y_n): histogram intersection (Maji 2011, eq. 5), for ``SVC(kernel=min_kernel)``.

    It is positive definite on features >= 0. A number added to a feature is added to the kernel, which does not change models
    with a free intercept. The scale of a feature is its weight.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
    Y : array-like of shape (m, n_features) or None
        None is X.

    Returns
    -------
    ndarray of shape (n, m), float64

    Examples
    --------
    >>> min_kernel([[0.0, 1.0], [0.5, 0.2]])
    array([[1. , 0.2],
           [0.2, 0.7]])
    """
    x = check_items(X)
    y = x if Y is None or Y is X else check_items(Y, name="Y", n_features=x.shape[1])
    out = np.empty((len(x), len(y)))
    min_gram(x, np.ascontiguousarray(y.T), out)
    return out


def spline_kernel(
    X: ArrayLike, Y: ArrayLike | None = None, *, degree: int = 1, penalty_order: int = 1, n_bins: int = 10
) -> Floats:
    """K(x, y) = sum_n <phi(x_n), phi(y_n)> - (degree + 1) / (2 n_bins) (Maji 2011, eq. 13, its constant corrected).

    phi is that of `BSplineEmbedding` on [0, 1]. With order 1 it equals min(x_n, y_n) wherever |x_n - y_n| >= degree / n_bins.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Features scaled to [0, 1]; values outside are clipped.
    Y : array-like of shape (m, n_features) or None
        None is X.
    degree : {1, 2, 3}, default 1
    penalty_order : {0, 1, 2, 3, 4}, default 1
    n_bins : int, default 10

    Returns
    -------
    ndarray of shape (n, m), float64

    Raises
    ------
    InputError

    Examples
    --------
    >>> spline_kernel([[0.2], [0.9]]).round(3)
    array([[0.2, 0.2],
           [0.2, 0.9]])
    """
    knots = np.linspace(0.0, 1.0, check_count("n_bins", n_bins) + 1)
    embedding = BSplineEmbedding(degree=degree, penalty_order=penalty_order, knots=knots, sparse_output=False)
    phi = embedding.fit_transform(check_items(X))
    other = phi if Y is None or Y is X else embedding.transform(check_items(Y, name="Y", n_features=embedding.n_features_in_))
    return phi @ other.T - embedding.n_features_in_ * (degree + 1) / (2 * n_bins)
