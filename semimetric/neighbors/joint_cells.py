"""Filter cells of a joint group: boxes between knots, and what a query can say about each from its barycentric coordinates.

For a fixed query q the weights of ID([q, y]) add up, over the vertices (a, b) with the same a, to the barycentric
coordinate of q at a, whatever y is. So with lambda = ID(q) and y in a box,

    f(q, y) >= sum_a lambda_a min { w_ab : b a knot of the box }.

The minima do not depend on the query: they are tabulated once.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats, Integers
from .._kernels.simplex import Groups, Located, group_rows_of_vectors
from ..embeddings.pairs.base import Items
from ..embeddings.pairs.vertices import Vertices

__all__ = ["Barycentric", "Boxes", "barycentric"]


class Barycentric(NamedTuple):
    """ID of single vectors in every group: vertices and weights (n, n_slots); group g has slots slot[g]:slot[g + 1]."""

    vertices: Integers
    values: Floats
    slot: Integers

    def of(self, g: int) -> tuple[Integers, Floats]:
        """Vertices and weights in group g, both of shape (n, size + 1)."""
        slots = slice(self.slot[g], self.slot[g + 1])
        return self.vertices[:, slots], self.values[:, slots]


def barycentric(groups: Sequence[Vertices], items: Items) -> Barycentric:
    """Barycentric coordinates of located items in each group (paper 2, Alg. 1)."""
    slot = np.concatenate([[0], np.cumsum([len(v.group) + 1 for v in groups])])
    member = sorted((f, g, s) for g, v in enumerate(groups) for f, s in zip(v.group, v.strides, strict=True))
    axis, group, stride = np.array(member, dtype=np.int64).T
    n, n_features = items.located.fraction.shape
    table = Groups(np.searchsorted(axis, np.arange(n_features + 1)), group.copy(), stride.copy(), slot)
    vertices, values = np.empty((n, int(slot[-1])), np.int64), np.empty((n, int(slot[-1])))
    order = items.order if items.order.shape[1] else np.argsort(items.located.fraction, axis=1, kind="stable")
    group_rows_of_vectors(items.located, np.arange(n), order, table, vertices, values)
    return Barycentric(vertices, values, slot)


@dataclass(frozen=True, eq=False)
class Boxes:
    """A joint group whose grid is cut at knots into boxes, each of which is a cell.

    Parameters
    ----------
    group : tuple of int
        Its features.
    cuts : tuple of ndarray of int
        Last knot of each interval of each feature; the last is the feature's last knot.
    """

    group: tuple[int, ...]
    cuts: tuple[Integers, ...]

    def check(self, vertices: Vertices) -> None:
        """Refuse boxes of another group, or with cuts that are no increasing knots up to the last."""
        if self.group != vertices.group or len(self.cuts) != len(vertices.sizes):
            raise InputError(f"there are boxes of the group {self.group}; those of {vertices.group} are required")
        for cut, size in zip(self.cuts, vertices.sizes, strict=True):
            if not len(cut) or cut[0] < 0 or cut[-1] != size - 1 or (np.diff(cut) <= 0).any():
                raise InputError(f"the group {self.group} is cut at {cut[:8]}; increasing knots up to {size - 1} are required")

    @classmethod
    def fit(cls, vertices: Vertices, located: Located, n_boxes: int) -> "Boxes":
        """At most ``n_boxes`` boxes, at quantiles of the items' cells."""
        cuts, room = [], n_boxes
        for k, (f, size) in enumerate(zip(vertices.group, vertices.sizes, strict=True)):
            share = int(np.ceil(room ** (1 / (len(vertices.group) - k)) - 1e-9))
            n = max(min(share, room, size - 1), 1)
            inner = np.quantile(located.upper[:, f], np.arange(1, n) / n, method="higher").astype(np.int64)
            cuts.append(np.unique(np.append(inner[(inner > 0) & (inner < size)], size - 1)))
            room //= len(cuts[-1])
        return cls(vertices.group, tuple(cuts))

    @property
    def count(self) -> int:
        """The number of boxes: the product of the numbers of intervals."""
        return int(np.prod([len(cut) for cut in self.cuts]))

    def codes(self, located: Located) -> Integers:
        """The number of the box of every item, shape (n,); the first feature runs slowest."""
        code = np.zeros(len(located.upper), np.int64)
        for f, cut in zip(self.group, self.cuts, strict=True):
            code = code * len(cut) + np.searchsorted(cut, located.upper[:, f])
        return code

    def corners(self, table: Floats, sizes: tuple[int, ...]) -> Floats:
        """min { table[a, b] : b a knot of the box }, shape (C, count)."""
        spread = table.reshape(len(table), *sizes)
        axes = tuple(range(1, spread.ndim))
        intervals = [[slice(int(a), int(b) + 1) for a, b in zip(np.append(0, cut[:-1]), cut, strict=True)] for cut in self.cuts]
        return np.stack([spread[:, *box].min(axis=axes) for box in itertools.product(*intervals)], axis=1)

    def shares(self, codes: Integers, vertices: Integers, values: Floats, n_points: int) -> Floats:
        """Mean barycentric coordinates of the items in each box, shape (C, count); 0 where a box is empty."""
        total = np.zeros((n_points, self.count))
        np.add.at(total, (vertices, codes[:, None]), values)
        return total / np.maximum(np.bincount(codes, minlength=self.count), 1)
