"""Transformers that are linear maps, and directions that are spread evenly: what ``directions=`` of a learner takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, qmc
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import ShortRepr
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_items


class LinearFeatures(ShortRepr, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer that is a linear map: ``transform(X) = X components_.T``."""

    components_: Floats

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: ArrayLike) -> Floats:
        """Return the directions of the items, ``X components_.T``: shape (n_items, n_directions)."""
        check_is_fitted(self, "components_")
        items: Floats = validated(self, X, reset=False, dtype=np.float64, order="C")  # BLAS adds up strided rows otherwise
        return items @ self.components_.T


@storable
class UniformDirections(LinearFeatures):
    """Directions spread evenly within a set of features, such as the a-b plane of a colour or the coordinates of a place.

    In a plane the angles are k π / n_directions. In three dimensions the directions are a Fibonacci lattice on the half sphere
    about the first feature. In more dimensions they are the points of a low-discrepancy sequence (Sobol, seeded). Directions
    that are a raw feature are left out, because the raw features are kept anyway.

    Parameters
    ----------
    features : sequence of int or str, or None
        The features to combine, by number or by column name; None takes all.
    n_directions : int, default 8
        The number of points on the half circle or half sphere, before raw features are left out.
    random_state : int, default 0
        The seed of the sequence in four or more dimensions.

    Attributes
    ----------
    components_ : ndarray of shape (at most n_directions, n_features)

    Examples
    --------
    >>> UniformDirections(n_directions=4).fit([[0.0, 1.0], [1.0, 0.0]]).components_.round(3)
    array([[ 0.707,  0.707],
           [-0.707,  0.707]])
    """

    def __init__(self, features: Sequence[int | str] | None = None, *, n_directions: int = 8, random_state: int = 0) -> None:
        self.features = features
        self.n_directions = n_directions
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> UniformDirections:
        """Compute the directions; X gives the number and the names of the features, and y is ignored."""
        checked = validated(self, X, dtype=np.float64)
        default = [f"x{k}" for k in range(checked.shape[1])]
        return self._spread(checked.shape[1], list(getattr(self, "feature_names_in_", default)))

    def fit_named(self, X: Floats, names: Sequence[str]) -> UniformDirections:
        """Compute the directions for an array whose columns have the given ``names``."""
        self.n_features_in_ = check_items(X).shape[1]
        return self._spread(self.n_features_in_, list(names))

    def _spread(self, n_features: int, names: list[str]) -> UniformDirections:
        chosen = [self._column(f, n_features, names) for f in (self.features or range(n_features))]
        if len(set(chosen)) < max(len(chosen), 2):
            raise InputError(
                f"features={self.features!r} of {n_features} feature(s) name {len(set(chosen))} different; at least two are "
                "required: name others, or leave these directions out"
            )
        if not isinstance(self.n_directions, (int, np.integer)) or self.n_directions < 1:
            raise InputError(f"n_directions={self.n_directions!r} must be an integer >= 1")
        spread = half_sphere(len(chosen), int(self.n_directions), self.random_state)
        mixed = spread[(np.abs(spread) > 1e-9).sum(axis=1) > 1]
        self.components_ = np.zeros((len(mixed), n_features))
        self.components_[:, chosen] = mixed
        return self

    def _column(self, feature: int | str, n_features: int, names: list[str]) -> int:
        if isinstance(feature, str):
            if feature not in names:
                raise InputError(f"feature {feature!r} is not among {names}; name a column, or give its number")
            return names.index(feature)
        if not 0 <= feature < n_features:
            raise InputError(f"feature {feature} lies outside 0 to {n_features - 1}; correct features=")
        return int(feature)


def half_sphere(dimension: int, n: int, random_state: int) -> Floats:
    """Return evenly spread unit vectors of which no two are opposite, shape (n, dimension); at most one on a line."""
    if dimension == 1 or not n:
        return np.ones((min(n, 1), dimension))
    if dimension == 2:
        angle = np.pi * np.arange(n) / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if dimension == 3:  # Fibonacci lattice about the first axis
        height = 1.0 - (np.arange(n) + 0.5) / n
        radius = np.sqrt(1.0 - height**2)
        angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(n)
        return np.column_stack([height, radius * np.cos(angle), radius * np.sin(angle)])
    sobol = qmc.Sobol(dimension, rng=np.random.default_rng(random_state))
    normal = norm.ppf(np.clip(sobol.random_base2(max(int(np.ceil(np.log2(n))), 0))[:n], 1e-9, 1 - 1e-9))
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return unit * np.where(unit[:, :1] < 0, -1.0, 1.0)
