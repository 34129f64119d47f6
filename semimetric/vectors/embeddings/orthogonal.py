"""Orthogonal bases with orthogonal derivatives: Fourier and Hermite (paper 1, section 3.1 and Table 1)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.stored import Stored, storable
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_choice, check_count
from .base import DenseMap, Term, check_columns_fit
from .knots import check_ranges, feature_ranges

_LEAST_SPREAD = 1e-8  # of a standard deviation over half the range; of n values it is at least about 2 / sqrt(n)


class _OrthogonalMap(DenseMap):
    """Scaled and clipped features, of each of which the same few functions are columns."""

    degree: int
    penalty_order: int
    low_: Stored[Floats]
    high_: Stored[Floats]

    def _check_parameters(self) -> None:
        check_count("degree", self.degree)
        check_choice("penalty_order", self.penalty_order, (1, 2))
        self._check()

    def _fit(self, items: Floats, y: ArrayLike | None) -> None:
        self._check_parameters()
        self.low_, self.high_ = feature_ranges(items, self.feature_names)
        self.varies_ = self.low_ < self.high_
        self._center, self._unit = self._scale(items)
        self._lay_out()

    def check_restored(self) -> None:
        super().check_restored()
        self._check_parameters()
        check_ranges(self.low_, self.high_, self.n_features_in_)
        self.varies_ = self.low_ < self.high_
        self._restore_scale()
        self._lay_out()

    def _restore_scale(self) -> None:
        self._center, self._unit = self._scaled_to_range()

    def _lay_out(self) -> None:
        self._n_functions = n = self._count_functions() + (self.missing == "indicator")
        self.n_columns_ = check_columns_fit(n * self.n_features_in_, f"degree={self.degree}")
        self.terms_ = tuple(Term((f,), n * f, n * (f + 1)) for f in range(self.n_features_in_))

    @abstractmethod
    def _check(self) -> None: ...

    def _count_functions(self) -> int:
        return self.degree

    @abstractmethod
    def _labels(self) -> list[str]: ...

    @abstractmethod
    def _basis(self, z: Floats) -> Floats:
        """Return the functions at the scaled values ``z``, shape (*z.shape, n_functions)."""

    def _scale(self, items: Floats) -> tuple[Floats, Floats]:
        """Return the centre and the unit by which every feature is scaled, each of shape (n_features,)."""
        return self._scaled_to_range()

    def _scaled_to_range(self) -> tuple[Floats, Floats]:
        """Return the centre and the unit (n_features,) that take the range of every feature to [-1, 1] (eq. 16)."""
        return 0.5 * self.low_ + 0.5 * self.high_, np.where(self.varies_, 0.5 * (self.high_ - self.low_), 1.0)

    def values(self, items: Floats) -> Floats:
        clipped = np.clip(items, self.low_, self.high_)
        known = self.varies_ & ~np.isnan(items)
        z = np.where(known, (clipped - self._center) / self._unit, 0.0)
        out = np.zeros((*items.shape, self._n_functions))
        basis = self._basis(z)
        out[:, :, : basis.shape[2]] = np.where(known[:, :, None], basis, 0.0)
        if self.missing == "indicator":
            out[:, :, -1] = np.isnan(items)
        return out.reshape(len(items), -1)

    @property
    def names(self) -> list[str]:
        labels = [*self._labels(), *["missing"] * (self.missing == "indicator")]
        return [f"{name}~{label}" for name in self.feature_names for label in labels]


@storable
class FourierEmbedding(_OrthogonalMap):
    """Smooth additive functions: sines and cosines of every feature, with a penalty on high frequencies.

        phi(x_n) = (cos(k pi z) / k^d, sin(k pi z) / k^d)   for k = 1, ..., degree,   d = penalty_order

    Here z is the feature, whose range is scaled to [-span, span] (eq. 16 for span = 1). The squared norm of the weights is the
    integral of the squared derivative of order d of f over a period, up to the factor pi^(2d) (Maji 2011, Table 1).

    Parameters
    ----------
    degree : int, default 4
        The highest frequency.
    penalty_order : {1, 2}, default 1
        The order d of the derivative.
    span : float in (0, 1] or "half", default 1.0
        The part of the period, 2, that the range of a feature takes up. With 1, as in the paper, its ends are the same point,
        which suits angles and hours alone. A smaller number leaves a gap between the ends; "half" takes the range to [0, 1] and
        has only the cosines, which are complete there.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused, adds nothing, or has a column of its own.
    dtype : float64 or float32, default float64
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        The ranges of the fit; values outside are clipped (libspline does not clip).
    varies_ : ndarray of shape (n_features,), bool
        True for features with more than one value; all columns of others are 0.
    n_columns_ : int
    terms_ : tuple of Term

    Examples
    --------
    >>> embedding = FourierEmbedding(degree=2).fit([[0.0], [12.0]])
    >>> embedding.transform([[6.0], [9.0]]).round(3)
    array([[ 1. ,  0. ,  0.5,  0. ],
           [ 0. ,  1. , -0.5,  0. ]])
    >>> embedding.get_feature_names_out().tolist()
    ['x0~cos1', 'x0~sin1', 'x0~cos2', 'x0~sin2']
    """

    def __init__(
        self,
        degree: int = 4,
        *,
        penalty_order: int = 1,
        span: float | str = 1.0,
        missing: str = "error",
        dtype: Any = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        self.degree = degree
        self.penalty_order = penalty_order
        self.span = span
        self.missing = missing
        self.dtype = dtype
        self.n_jobs = n_jobs

    def _check(self) -> None:
        if not (self.span == "half" if isinstance(self.span, str) else 0 < (real_number(self.span) or 0.0) <= 1):
            raise InputError(
                f"span={shown(self.span)}: a number in (0, 1], the part of the period for the range, or 'half' is required"
            )

    def _count_functions(self) -> int:
        return self.degree if self.span == "half" else 2 * self.degree

    def _labels(self) -> list[str]:
        kinds = ("cos",) if self.span == "half" else ("cos", "sin")
        return [f"{kind}{k}" for k in range(1, self.degree + 1) for kind in kinds]

    def _basis(self, z: Floats) -> Floats:
        k = np.arange(1.0, self.degree + 1)
        if isinstance(self.span, str):
            return np.cos(np.pi * (0.5 * z + 0.5)[..., None] * k) / k**self.penalty_order
        angle = np.pi * self.span * z[..., None] * k
        pairs = np.stack([np.cos(angle), np.sin(angle)], axis=-1) / (k**self.penalty_order)[:, None]
        return pairs.reshape(*z.shape, -1)


@storable
class HermiteEmbedding(_OrthogonalMap):
    """Additive polynomials: Hermite polynomials of every feature, with a penalty on high degrees.

        phi_k = H_k(z) / sqrt(k k!)              for penalty_order 1
        phi_k = H_k(z) / sqrt(k (k - 1) k!)      for penalty_order 2;  phi_1 = z

    Here k = 1, ..., degree, and H_k are the probabilists' polynomials. The squared norm of the weights is the mean of f'(z)^2,
    or of f''(z)^2 plus the squared slope, over a standard normal z (Maji 2011, Table 1).

    Parameters
    ----------
    degree : int, default 4
        The highest degree of the polynomials.
    penalty_order : {1, 2}, default 1
        The order of the derivative that is penalised.
    scale : {"minmax", "standard"}, default "minmax"
        A feature is scaled to the range [-1, 1] (eq. 16), or to mean 0 and variance 1, as in Table 1.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused, adds nothing, or has a column of its own.
    dtype : float64 or float32, default float64
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        The ranges of the fit; values outside are clipped, because polynomials grow fast.
    varies_ : ndarray of shape (n_features,), bool
        True for features with more than one value; all columns of others are 0.
    n_columns_ : int
    terms_ : tuple of Term

    Examples
    --------
    >>> embedding = HermiteEmbedding(degree=2).fit([[0.0], [2.0]])
    >>> embedding.transform([[0.0], [1.0], [2.0]])
    array([[-1. ,  0. ],
           [ 0. , -0.5],
           [ 1. ,  0. ]])
    >>> embedding.get_feature_names_out().tolist()
    ['x0~H1', 'x0~H2']
    """

    _center: Stored[Floats]
    _unit: Stored[Floats]

    def __init__(
        self,
        degree: int = 4,
        *,
        penalty_order: int = 1,
        scale: str = "minmax",
        missing: str = "error",
        dtype: Any = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        self.degree = degree
        self.penalty_order = penalty_order
        self.scale = scale
        self.missing = missing
        self.dtype = dtype
        self.n_jobs = n_jobs

    def _check(self) -> None:
        check_choice("scale", self.scale, ("minmax", "standard"))

    def _restore_scale(self) -> None:
        middle, half = self._scaled_to_range()
        mean, spread = self._center, self._unit
        if self.scale == "minmax":
            if not np.array_equal(mean, middle, equal_nan=True) or not np.array_equal(spread, half, equal_nan=True):
                raise InputError("center and unit are not those of the ranges, as scale='minmax' requires; restore the file")
            return
        varies, slack = self.varies_, 1e-9 * half
        right = mean.shape == spread.shape == half.shape
        if right:
            inside = (mean >= self.low_ - slack) & (mean <= self.high_ + slack) & (spread <= half + slack)
            inside &= spread >= _LEAST_SPREAD * half
            same = np.array_equal(mean[~varies], middle[~varies], equal_nan=True) and (spread[~varies] == 1).all()
            right = bool(inside[varies].all() and same)
        if not right:
            raise InputError("center and unit are not means and deviations of features with these ranges; restore the file")

    def _labels(self) -> list[str]:
        return [f"H{k}" for k in range(1, self.degree + 1)]

    def _scale(self, items: Floats) -> tuple[Floats, Floats]:
        center, unit = self._scaled_to_range()
        if self.scale == "minmax":
            return center, unit
        z = (items[:, self.varies_] - center[self.varies_]) / unit[self.varies_]  # in [-1, 1], so squares do not overflow
        mean = center.copy()
        mean[self.varies_] += unit[self.varies_] * np.nanmean(z, axis=0)
        spread = unit.copy()
        spread[self.varies_] *= np.nanstd(z, axis=0)
        return mean, spread

    def _basis(self, z: Floats) -> Floats:
        """Compute h_k = H_k / sqrt(k!) = (z h_{k-1} - sqrt(k - 1) h_{k-2}) / sqrt(k), since k! overflows."""
        h = np.empty((self.degree + 1, *z.shape))
        h[0] = 1.0
        h[1] = z
        for k in range(1, self.degree):
            h[k + 1] = (z * h[k] - np.sqrt(k) * h[k - 1]) / np.sqrt(k + 1)
        orders = np.arange(1.0, self.degree + 1)
        weight = np.sqrt(orders if self.penalty_order == 1 else np.maximum(orders * (orders - 1), 1.0))
        return np.moveaxis(h[1:], 0, -1) / weight
