"""Targets and impostors: the nearest items of the own class, and of the others, under the current weights."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.simplex import Located
from ..pairs.base import Items, PairMap
from ..search.index import NeighborIndex
from ..search.votes import nearest_columns

_ENTRIES = 1 << 22  # distances held at once


class TargetsAndImpostors(NamedTuple):
    """Neighbours of every item, nearest first; -1 fills the row of an item that has fewer."""

    near: Integers  # shape (n, n_targets), int64; rows of the nearest items of the own class
    far: Integers  # shape (n, n_impostors), int64; rows of the nearest items of other classes
    near_distances: Floats  # shape (n, n_targets)

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """Left and right items of all pairs, the near ones first."""
        sides = [_flat(self.near), self.impostors]
        return np.concatenate([s[0] for s in sides]), np.concatenate([s[1] for s in sides])

    @property
    def impostors(self) -> tuple[Integers, Integers]:
        """Left and right items of the far pairs."""
        return _flat(self.far)

    def rows(self) -> tuple[Integers, Integers]:
        """For every triplet, the number of its near and of its far pair among `pairs`."""
        near, far = (np.full(side.shape, -1, dtype=np.int64) for side in (self.near, self.far))
        near[self.near >= 0] = np.arange((self.near >= 0).sum())
        far[self.far >= 0] = (self.near >= 0).sum() + np.arange((self.far >= 0).sum())
        both = np.broadcast_arrays(near[:, :, None], far[:, None, :])
        keep = (both[0] >= 0) & (both[1] >= 0)
        return both[0][keep], both[1][keep]

    def triplets(self) -> Integers:
        """(item, target, impostor), in the order of `rows`, shape (n_triplets, 3)."""
        anchor = np.arange(len(self.near))[:, None, None]
        parts = np.broadcast_arrays(anchor, self.near[:, :, None], self.far[:, None, :])
        keep = (parts[1] >= 0) & (parts[2] >= 0)
        return np.column_stack([part[keep] for part in parts])


def _flat(side: Integers) -> tuple[Integers, Integers]:
    """The item and the neighbour of every entry that is no -1."""
    i, k = np.nonzero(side >= 0)
    return i.astype(np.int64), side[i, k]


@dataclass(frozen=True, eq=False)
class ClassMembers:
    """Items located on the grid of an embedding, and their classes."""

    embedding: PairMap
    located: Items
    labels: Integers  # shape (n_items,), int64
    n_jobs: int | None = None  # threads for distances

    @cached_property
    def rows_by_class(self) -> list[Integers]:
        """The rows of the items of each class, one array a class."""
        return [np.flatnonzero(self.labels == c) for c in np.unique(self.labels)]


def _located_rows(located: Items, rows: Integers) -> Items:
    return Items(Located(*(part[rows] for part in located.located)), located.order[rows])


def find_neighbors(members: ClassMembers, weights: Floats, n_targets: int, n_impostors: int) -> TargetsAndImpostors:
    """Exact neighbours by distances of all items to one another, class by class, in blocks."""
    n = len(members.labels)
    near, far = np.full((n, n_targets), -1, np.int64), np.full((n, n_impostors), -1, np.int64)
    distances = np.full((n, n_targets), np.inf)
    for own in members.rows_by_class:
        others = np.setdiff1d(np.arange(n), own, assume_unique=True)
        for block in blocks(len(own), max(_ENTRIES // n, 1)):
            rows = own[block]
            d = _pairwise(members, weights, rows, own)
            d[np.arange(len(rows)), np.arange(block.start, block.start + len(rows))] = np.inf
            _keep(d, own, rows, near, distances)
            if len(others):
                _keep(_pairwise(members, weights, rows, others), others, rows, far, None)
    return TargetsAndImpostors(near, far, distances)


def find_neighbors_by_index(
    index: NeighborIndex, raw: Any, rows: Integers, labels: Integers, n_targets: int, n_impostors: int
) -> TargetsAndImpostors:
    """`find_neighbors` for some of many items, by an exact index of all of them with a filter for every class.

    ``index``: of all items; their ids are 0, 1, . ``raw``: shape (n, n_features); the items whose neighbours are asked for,
    as the index takes them. ``rows``: shape (n,); their ids. ``labels``: shape (n_items,); of all items.
    """
    n = len(rows)
    near, far = np.full((n, n_targets), -1, np.int64), np.full((n, n_impostors), -1, np.int64)
    distances = np.full((n, n_targets), np.inf)
    for c in np.unique(labels[rows]):
        mask, own = labels == c, np.flatnonzero(labels[rows] == c)
        members = int(mask.sum())
        k = min(n_targets, members - 1)
        if k:
            at, ids = index.kneighbors(raw[own], k + 1, where=mask)
            keep = _but_itself(ids, rows[own])
            near[own, :k], distances[own, :k] = ids[keep].reshape(-1, k), at[keep].reshape(-1, k)
        k = min(n_impostors, len(labels) - members)
        if k:
            far[own, :k] = index.kneighbors(raw[own], k, where=~mask)[1]
    return TargetsAndImpostors(near, far, distances)


def _but_itself(rows: Integers, own: Integers) -> NDArray[np.bool_]:
    """Return True for all neighbours but the item itself, or the last where others at distance 0 took its place."""
    itself = rows == own[:, None]
    itself[~itself.any(axis=1), -1] = True
    return ~itself


def _pairwise(members: ClassMembers, weights: Floats, rows: Integers, columns: Integers) -> Floats:
    """Distances of the items ``rows`` to the items ``columns``, shape (n_rows, n_columns)."""
    x, y = _located_rows(members.located, rows), _located_rows(members.located, columns)
    return members.embedding.pairwise(x, y, weights, n_jobs=members.n_jobs)


def _keep(d: Floats, candidates: Integers, rows: Integers, out: Integers, distances: Floats | None) -> None:
    """Write the nearest finite candidates of every row to ``out``, in the order of their distances and then of their rows."""
    values, part = nearest_columns(d, out.shape[1])
    k = part.shape[1]
    out[rows, :k] = np.where(np.isfinite(values), candidates[part], -1)
    if distances is not None:
        distances[rows, :k] = values
