"""What each raw feature adds to a distance: joint tables and directions are divided among the features that make them.

The parts of a pair add up to the sum before the link, a feature that does not differ has the part 0, and a term of one feature
is the part of this feature. How a joint table and a direction are divided is in docs/mathematics.md, section 14.
"""

from __future__ import annotations

import numpy as np

from .._foundation.threads import blocks
from .._foundation.types import Floats
from ..embeddings.directions.linear_directions import Directions, with_directions
from ..embeddings.pairs.base import PairMap
from .feature_tables import part_of
from .reach import GridPoints, rise_outside

__all__ = ["feature_parts"]

_STEPS = 1 << 22  # the most steps of features along directions that are held at once


def feature_parts(
    embedding: PairMap, weights: Floats, directions: Directions | None, x: GridPoints, y: GridPoints, epsilon: Floats
) -> Floats:
    """What every raw feature adds to the distances of the points x to the same points y, shape (n, n_features).

    Parameters
    ----------
    embedding : PairMap
    weights : ndarray of shape (embedding.n_columns,)
    directions : Directions or None
    x, y : GridPoints
        n points each.
    epsilon : ndarray of shape (n_features + n_directions, 2)
        The slopes below and above the range of each embedded feature.
    """
    rows = np.arange(len(x.raw))
    terms = embedding.contributions(x.items, rows, y.items, rows, weights)
    parts = np.abs(rise_outside(x.excess, epsilon) - rise_outside(y.excess, epsilon))
    left, right = (with_directions(directions, side.raw) for side in (x, y))
    for g, group in enumerate(embedding.groups):
        if len(group) == 1:
            parts[:, group[0]] += terms[:, g]
        else:
            parts[:, sorted(group)] += _members_of_joint(embedding, weights, g, left, right)
    n = x.raw.shape[1]
    if directions is None:
        return parts
    size = max(_STEPS // max(len(directions.names) * n, 1), 1)
    divided = [_divided(directions, x.raw[b], y.raw[b], parts[b, n:]) for b in blocks(len(rows), size)]
    return parts[:, :n] + np.concatenate(divided)


def _members_of_joint(embedding: PairMap, weights: Floats, g: int, left: Floats, right: Floats) -> Floats:
    """What every member of group g adds to the term of the group, in the order of their numbers: shape (n, n_members).

    The values of y take the place of those of x one by one, in all orders that follow a circle of the members, both ways, and a
    member has the mean of what its own replacement adds. These are all orders of two or three members, for which the parts are
    the Shapley values (Shapley 1953). The value of the table between equal points, which is 0 unless ``axioms=None``, is
    divided equally.
    """
    part, w = part_of(embedding, weights, np.array([g]))
    features = np.array(sorted(embedding.groups[g]))
    x, y = left[:, features], right[:, features]
    n, rows, members = len(features), np.arange(len(x)), np.arange(len(features))

    def value(start: int, length: int) -> Floats:
        """The term between x and the point that has ``length`` members from y, the first of them ``start``."""
        mixed = np.where((members - start) % n < length, y, x)
        return part.contributions(part.locate(x), rows, part.locate(mixed), rows, w)[:, 0]

    none, whole = value(0, 0), value(0, n)
    values = [[none, *(value(s, length) for length in range(1, n)), whole] for s in range(n)]
    added = np.zeros((len(x), n))
    for m in range(n):
        for k in range(n):
            added[:, m] += values[m - k][k + 1] - values[m - k][k] + values[m][k + 1] - values[(m + 1) % n][k]
    return added / (2 * n) + none[:, None] / n


def _divided(directions: Directions, x: Floats, y: Floats, parts: Floats) -> Floats:
    """The ``parts`` (n, n_directions) that directions add, divided among the raw features: shape (n, n_features).

    A feature that pulls the way in which x and y differ along the direction has a share in proportion to its step; one that
    pulls back has none. Where the steps cancel, shares are in proportion to the lengths of the steps; where there are none,
    features that the direction uses have equal shares.
    """
    steps = directions.steps(x, y)
    way = np.sign(steps.sum(axis=2, keepdims=True))
    shares = np.maximum(way * steps, 0.0)
    for instead in (np.abs(steps), np.broadcast_to(directions.uses, steps.shape)):
        empty = shares.sum(axis=2) == 0
        shares[empty] = instead[empty]
    return np.einsum("nd,ndf->nf", parts / shares.sum(axis=2), shares)
