"""The map of the additive chi-squared kernel, with which paper 0 compares its own (CHI-H)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, storable
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_alpha, check_count
from .base import DenseMap, Term, check_columns_fit
from .knots import check_ranges, feature_ranges

_INTERVALS = {1: 0.8, 2: 0.5, 3: 0.4}  # those of scikit-learn's AdditiveChi2Sampler
_LARGEST_GAMMA = 2.0  # up to which x^(gamma / 2) overflows for no x


@storable
class AdditiveChi2Embedding(DenseMap):
    """Additive functions of amounts, such as counts in histograms: the products of rows are nearly the chi-squared kernel.

        <phi(x), phi(y)> ~ sum_n 2 (x_n y_n)^((gamma + 1) / 2) / (x_n + y_n),   x, y >= 0

    It is homogeneous: of amounts that are c times as large it is c^gamma times as large. With L the interval of sampling and
    kappa(t) = 1 / cosh(pi t), every feature has the columns (Vedaldi & Zisserman 2012, equation 18)

        sqrt(x^gamma L kappa(0)),
        sqrt(2 x^gamma L kappa(j L)) cos(j L log x),  sqrt(2 x^gamma L kappa(j L)) sin(j L log x),   1 <= j < sample_steps

    which are 0 where x is 0. With gamma = 1 they are those of `sklearn.kernel_approximation.AdditiveChi2Sampler`, ordered by
    feature, so that machines on them have functions to draw.

    Parameters
    ----------
    sample_steps : int, default 2
        The number of samples of the spectrum; a feature has 2 sample_steps - 1 columns.
    sample_interval : float or None, default None
        L; None is 0.8, 0.5, 0.4 for 1, 2, 3 steps, as in scikit-learn, and has to be given for more.
    gamma : float in (0, 2], default 1.0
        The degree of homogeneity: 1 is the chi-squared kernel, and with less, such as 0.5, large amounts count less.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused, adds nothing, or has a column of its own.
    dtype : float64 or float32, default float64
    n_jobs : int or None, default None
        The number of threads.

    Attributes
    ----------
    sample_interval_ : float
    low_, high_ : ndarray of shape (n_features,)
        The ranges of the fit, between which functions are drawn; values outside are taken as they are.
    varies_ : ndarray of shape (n_features,), bool
        True for features with more than one value.
    n_columns_ : int
    terms_ : tuple of Term

    Raises
    ------
    InputError
        If a value is negative, or a parameter or the data cannot be used.

    Examples
    --------
    >>> X = [[0.2, 0.8], [0.5, 0.5]]
    >>> phi = AdditiveChi2Embedding(sample_steps=3).fit_transform(X)
    >>> round(float(phi[0] @ phi[1]), 2), round(2 * 0.2 * 0.5 / 0.7 + 2 * 0.8 * 0.5 / 1.3, 2)
    (0.87, 0.9)
    """

    low_: Stored[Floats]
    high_: Stored[Floats]

    def __init__(
        self,
        sample_steps: int = 2,
        *,
        sample_interval: float | None = None,
        gamma: float = 1.0,
        missing: str = "error",
        dtype: Any = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        self.sample_steps = sample_steps
        self.sample_interval = sample_interval
        self.gamma = gamma
        self.missing = missing
        self.dtype = dtype
        self.n_jobs = n_jobs

    def _fit(self, items: Floats, y: ArrayLike | None) -> None:
        self._check_parameters()
        self.low_, self.high_ = feature_ranges(items, self.feature_names)
        self._lay_out()

    def check_restored(self) -> None:
        super().check_restored()
        self._check_parameters()
        check_ranges(self.low_, self.high_, self.n_features_in_)
        if (self.low_ < 0).any():
            raise InputError("low_ has negative values, which are the least of no amounts; restore the file")
        self._lay_out()

    def _check_parameters(self) -> None:
        check_count("sample_steps", self.sample_steps)
        if check_alpha("gamma", self.gamma, strict=True) > _LARGEST_GAMMA:
            raise InputError(f"gamma={self.gamma!r}: a number above 0 and up to {_LARGEST_GAMMA:g} is required")
        if self.sample_interval is not None:
            check_alpha("sample_interval", self.sample_interval, strict=True)
        elif self.sample_steps not in _INTERVALS:
            raise InputError(
                f"sample_steps={self.sample_steps} and sample_interval=None: of more than 3 steps the interval is required, "
                "such as 0.3"
            )

    def _lay_out(self) -> None:
        self.varies_ = self.low_ < self.high_
        given = self.sample_interval
        self.sample_interval_ = _INTERVALS[self.sample_steps] if given is None else float(given)
        self._n_functions = n = 2 * self.sample_steps - 1 + (self.missing == "indicator")
        self.n_columns_ = check_columns_fit(n * self.n_features_in_, f"sample_steps={self.sample_steps}")
        self.terms_ = tuple(Term((f,), n * f, n * (f + 1)) for f in range(self.n_features_in_))

    def encode(self, X: ArrayLike, *, reset: bool = False) -> Floats | sparse.csr_array:
        """Return the valid table X as float64; negative values are refused, since they are no amounts."""
        items = super().encode(X, reset=reset)
        negative = np.argwhere(items < 0)
        if len(negative):
            row, f = negative[0]
            raise InputError(
                f"Negative values in data passed to {type(self).__name__}: row {row} of X has {items[row, f]:g} in "
                f"{self.feature_names[f]!r}; amounts >= 0 are required: shift the feature, or use another embedding"
            )
        return items

    def values(self, items: Floats) -> Floats:
        amount = (items > 0) & ~np.isnan(items)
        size = np.where(amount, items, 1.0)
        step = self.sample_interval_ * np.arange(1, self.sample_steps)
        angle = np.log(size)[..., None] * step
        height = np.sqrt(2 * self.sample_interval_ / np.cosh(np.pi * step))
        out = np.zeros((*items.shape, self._n_functions))
        out[..., 0] = np.sqrt(self.sample_interval_)
        out[..., 1 : 2 * len(step) : 2] = height * np.cos(angle)
        out[..., 2 : 2 * len(step) + 1 : 2] = height * np.sin(angle)
        out *= (amount * size ** (self.gamma / 2))[..., None]
        if self.missing == "indicator":
            out[..., -1] = np.isnan(items)
        return out.reshape(len(items), -1)

    @property
    def names(self) -> list[str]:
        waves = [f"{kind}{j}" for j in range(1, self.sample_steps) for kind in ("cos", "sin")]
        labels = ["root", *waves, *["missing"] * (self.missing == "indicator")]
        return [f"{name}~{label}" for name in self.feature_names for label in labels]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
