"""A check that an anchor separates two classes: Proposition 1 of paper 4, and Corollary 1 for sets of anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..._foundation.errors import InputError
from ..._foundation.types import ArrayLike, Floats, FrozenValue, freeze
from ..._foundation.validation import check_items
from .anchors import AnchorSet, as_sets, check_power, cone, powers


@dataclass(frozen=True, eq=False)
class Separation(FrozenValue):
    """The result of `separates`, true if the distance to an anchor, or a feature of it, separates two classes.

    A gap is the width of the band of distances between the classes. It is > 0 if all items of one class are strictly nearer
    than all items of the other; else it is minus the width of the overlap. Equal distances do not separate. A linear model
    needs an intercept to use the gap.

    Parameters
    ----------
    gap : float
        The gap of ``||x - a||_p^p`` (eq. 3; for sets eq. 5).
    feature_gaps : ndarray of shape (n_features,)
        The gap of ``|x_l - a_l|^p`` for every feature (eq. 4).

    Examples
    --------
    >>> separates([[0.0], [1.0], [3.0]], ["in", "in", "out"], [0.0]).gap
    2.0
    """

    gap: float
    feature_gaps: Floats

    def __post_init__(self) -> None:
        freeze(self, "feature_gaps")

    @property
    def distance(self) -> bool:
        """True if the distance separates the classes, so that phi_{p,1} makes them linearly separable."""
        return self.gap > 0

    @property
    def features(self) -> tuple[int, ...]:
        """The features that separate the classes by themselves; with any, phi_{p,d} makes the classes linearly separable."""
        return tuple(np.flatnonzero(self.feature_gaps > 0).tolist())

    def __bool__(self) -> bool:
        return self.distance or bool(self.features)


def separates(X: ArrayLike, y: ArrayLike, anchor: Any, *, p: float = 1.0) -> Separation:
    """Find out if the distance to an anchor separates two classes (eq. 3), and which features do so (eq. 4).

        min_{y = +} ||x - a||_p^p > max_{y = -} ||x - a||_p^p,   or with + and - exchanged

    The condition is sufficient, not necessary: if it holds, the new feature alone separates the classes, but a linear model
    also has the features themselves.

    Parameters
    ----------
    X : array-like of shape (n_items, n_features)
    y : array-like of shape (n_items,)
        Labels of two classes; for one class against the rest give ``y == c``.
    anchor : array of shape (n_features,) or (n_anchors, n_features)
        One anchor, or a set of which each item takes the nearest (Corollary 1; the features are then those of
        ``ConicEmbedding(expand="each", concatenate=False)``).
    p : float, default 1
        The power, > 0 or ``float("inf")``.

    Returns
    -------
    Separation

    Raises
    ------
    InputError
        If there are not two classes, p is no number > 0, or the anchor has other features than X.

    Examples
    --------
    >>> inner, outer = [[0.0, 1.0], [0.0, -1.0]], [[3.0, 0.5], [-3.0, 0.0]]
    >>> found = separates(inner + outer, ["in", "in", "out", "out"], [0.0, 0.0])
    >>> found.distance, found.gap, found.features
    (True, 2.0, (0, 1))
    """
    items = check_items(X)
    power = check_power("p", p)
    labels = column_or_1d(y)
    check_consistent_length(items, labels)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InputError(f"y has {len(classes)} classes; two are required: give y == c for one class against the rest")
    sets = as_sets(anchor, items.shape[1])
    if len(sets) > 1:
        raise InputError(f"anchor holds {len(sets)} sets; one anchor or one set is required: check them one by one")
    nearest = sets[0][AnchorSet(sets[0], power).nearest(items)]
    is_first = labels == classes[0]
    gap = float(_gap(cone(items, nearest, power), is_first))
    return Separation(gap, np.asarray(_gap(powers(items, nearest, power), is_first)))


def _gap(values: Floats, first: np.ndarray) -> Floats:
    """Return the least value of one class minus the largest of the other, along the rows, in the better order."""
    one, other = values[first], values[~first]
    return np.maximum(one.min(axis=0) - other.max(axis=0), other.min(axis=0) - one.max(axis=0))
