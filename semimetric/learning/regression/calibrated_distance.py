"""A distance of any learner in the units of measured distances: only its link is learned anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import ArrayLike, Pairs
from ..._foundation.validation import check_distances, check_tuples, check_weights
from ...distances.semimetric import Semimetric
from .concave_link import least_squares_link

__all__ = ["calibrate_distance"]


def calibrate_distance(
    model: Semimetric,
    pairs: ArrayLike,
    distances: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    preprocessor: ArrayLike | None = None,
) -> Semimetric:
    """The distance with the concave link that comes nearest to measured distances, so that its values mean something.

    What is learned from classes, pairs or triplets orders pairs, in units of its own. Here

        d'(x, y) = g(s(x, y)),     min_g sum_i w_i (g(s_i) - y_i)²     over the increasing concave g of pieces with g(0) = 0

    where s is the sum that the model has before its link, and g bends at eight quantiles of the s_i at most. Neighbours, their
    order and the shares of features stay what they are; a metric whose link was concave stays one.

    Parameters
    ----------
    model : Semimetric
        Of any learner, with values >= 0.
    pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with ``preprocessor``
    distances : array-like of shape (n_pairs,)
        Measured, finite and >= 0, some of them > 0, in the units that are wanted.
    sample_weight : array-like of shape (n_pairs,) or None
    preprocessor : array-like or frame of shape (n_items, n_features), or None
        The items that the row numbers in ``pairs`` name.

    Returns
    -------
    Semimetric

    Raises
    ------
    InputError
        If model is no `Semimetric`, or pairs and distances do not fit it or one another, or tell nothing of the scale.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import Semimetric, calibrate_distance
    >>> X = np.arange(20.0)[:, None]
    >>> pairs = np.array([(i, j) for i in range(20) for j in range(i)])
    >>> miles = np.sqrt(np.abs(X[pairs[:, 0], 0] - X[pairs[:, 1], 0]))
    >>> d = calibrate_distance(Semimetric.l1(X), pairs, miles, preprocessor=X)
    >>> round(d([0.0], [9.0]), 1), d.axioms.name
    (3.0, 'metric')
    """
    if not isinstance(model, Semimetric):
        raise InputError(f"model is a {type(model).__name__}; a Semimetric is required: give model.semimetric_")
    if not model.axioms.nonnegative:
        raise InputError("the model has values below 0, of which a link tells nothing; learn with axioms= other than None")
    found = check_tuples(
        pairs, Pairs, preprocessor, n_features=model.n_features, names=model.feature_names,
        encode=None if model.schema.plain else model.schema.encode,
    )  # fmt: skip
    y = check_distances(distances, len(found.index))
    weight = check_weights(sample_weight, len(y))
    values = model.paired_by_index(found.items, found.index)
    sums = model.link_function.invert(values)
    known = np.isfinite(sums) & (weight > 0)
    if not (sums[known] > 0).any() or not (y[known] > 0).any():
        raise InputError(
            f"of {len(y)} pairs {int((sums[known] > 0).sum())} have a distance > 0 by the model, and "
            f"{int((y[known] > 0).sum())} a measured one; both are required: give pairs of items that differ"
        )
    return replace(model, link=least_squares_link(sums[known], y[known], weight[known]))
