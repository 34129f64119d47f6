"""Does an anchor separate two classes? Proposition 1 of paper 4, and Corollary 1 for sets of anchors, as a check."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..._foundation.errors import InputError
from ..._foundation.types import ArrayLike, Floats, FrozenValue, freeze
from ..._foundation.validation import check_items
from .anchors import AnchorSet, as_sets, check_power, cone, powers

__all__ = ["Separation", "separates"]


@dataclass(frozen=True, eq=False)
class Separation(FrozenValue):
    """What an anchor, or the nearest of a set, does to two classes; true if anything separates them.

    A gap is the width of the band of distances between the classes: > 0 where all items of one class are strictly nearer than
    all of the other, and minus the width of the overlap else. Equal distances do not separate; the machine needs its intercept.

    Parameters
    ----------
    gap : float
        Of ``||x - a||_p^p`` (eq. 3; for sets eq. 5).
    feature_gaps : ndarray of shape (n_features,)
        Of ``|x_l - a_l|^p`` (eq. 4).
    """

    gap: float
    feature_gaps: Floats

    def __post_init__(self) -> None:
        freeze(self, "feature_gaps")

    @property
    def distance(self) -> bool:
        """Whether the distance separates the classes, so that phi_{p,1} makes them linearly separable."""
        return self.gap > 0

    @property
    def features(self) -> tuple[int, ...]:
        """The features that do so one by one; with any, phi_{p,d} makes the classes linearly separable."""
        return tuple(np.flatnonzero(self.feature_gaps > 0).tolist())

    def __bool__(self) -> bool:
        return self.distance or bool(self.features)


def separates(X: ArrayLike, y: ArrayLike, anchor: Any, *, p: float = 1.0) -> Separation:
    """Whether the distance to an anchor separates two classes, by (3), and in which features, by (4).

        min_{y = +} ||x - a||_p^p > max_{y = -} ||x - a||_p^p,   or with + and - exchanged

    Sufficient, not necessary: what the check accepts, the new feature separates alone, and a linear machine also has the
    features themselves.

    Parameters
    ----------
    X : array-like of shape (n_items, n_features)
    y : array-like of shape (n_items,)
        Two classes; for one class against the rest give ``y == c``.
    anchor : array of shape (n_features,) or (n_anchors, n_features)
        Of a set each item takes its nearest anchor (Corollary 1; features are then those of
        ``ConicEmbedding(expand="each", concatenate=False)``).
    p : float, default 1
        > 0, or ``float("inf")``.

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
    items, power = check_items(X), check_power("p", p)
    labels = column_or_1d(y)
    check_consistent_length(items, labels)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InputError(f"y has {len(classes)} classes; two are required: give y == c for one class against the rest")
    sets = as_sets(anchor, items.shape[1])
    if len(sets) > 1:
        raise InputError(f"anchor holds {len(sets)} sets; one anchor or one set is required: check them one by one")
    near = sets[0][AnchorSet(sets[0], power).nearest(items)]
    first = labels == classes[0]
    return Separation(float(_gap(cone(items, near, power), first)), np.asarray(_gap(powers(items, near, power), first)))


def _gap(values: Floats, first: np.ndarray) -> Floats:
    """Along the rows: the smallest of one class minus the largest of the other, the better way round."""
    one, other = values[first], values[~first]
    return np.maximum(one.min(axis=0) - other.max(axis=0), other.min(axis=0) - one.max(axis=0))
