"""Joint groups as a query reads them: the rows of their tables at the grid points of the query, and nothing else.

The theory is in docs/mathematics.md, section 4.1. A query lies among g + 1 grid points of a group of g features, so the table
of C x C numbers comes down to g + 1 rows of C, which stay in the cache while items are looked up in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._foundation.types import Floats, Integers
from .._kernels.joint_search import GroupArrays, JointQuery, add_joint_values, place_queries
from ..embeddings.pairs.base import Items
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.vertices import Vertices

__all__ = ["JointQueries", "JointTables"]

_MOST_EXPANDED = 1 << 22  # Tables of which only some vertices have weights are held whole up to so many numbers together.
_MOST_GATHERED = 1 << 16  # So many numbers of a table that is not held are computed for a query; a larger group is merged.


@dataclass(frozen=True, eq=False)
class JointTables:
    """The tables of joint groups with the query's grid point first.

    Parameters
    ----------
    embedding : PairEmbedding
        The map of the groups over the features of located items.
    weights : ndarray of shape (embedding.n_columns,)
    query_first : bool
        Whether the query is the first of the two vectors.
    """

    embedding: PairEmbedding
    weights: Floats
    query_first: bool

    @cached_property
    def held(self) -> Integers:
        """Numbers of the groups whose tables are held whole: those of `Vertices.held`, and others while there is room."""
        vertices, room = self.embedding.vertices, _MOST_EXPANDED
        found = []
        for g, v in enumerate(vertices):
            if not v.held:
                room -= v.n_points**2
            if v.held or (v.fits and room >= 0):
                found.append(g)
        return np.array(found, dtype=np.int64)

    @cached_property
    def gathered(self) -> Integers:
        """Numbers of the groups that are too large to be held, but of which the rows of a query are not."""
        vertices = self.embedding.vertices
        small = [g for g, v in enumerate(vertices) if v.n_points * (len(v.group) + 1) <= _MOST_GATHERED]
        return np.setdiff1d(small, self.held).astype(np.int64)

    @cached_property
    def merged(self) -> Integers:
        """Numbers of the groups that are too large for that: the order of every item is merged with that of the query."""
        return np.setdiff1d(np.arange(len(self.embedding.groups)), np.concatenate([self.held, self.gathered]))

    @cached_property
    def held_groups(self) -> GroupArrays:
        """The groups `held`, as kernels take them."""
        return _joint_groups([self.embedding.vertices[g] for g in self.held])

    @cached_property
    def gathered_groups(self) -> GroupArrays:
        """The groups `gathered`, as kernels take them; their tables have one number a row, that of the grid point itself."""
        groups = _joint_groups([self.embedding.vertices[g] for g in self.gathered])
        return groups._replace(points=np.ones_like(groups.points), start=np.zeros_like(groups.start))

    @cached_property
    def held_tables(self) -> tuple[Floats, Floats]:
        """The tables of the groups `held`, one after another, and those of swapped pairs, which are mostly the same."""
        if not len(self.held):
            return np.empty(0), np.empty(0)
        part, w = self._part(self.held)
        whole, w = part.expanded(w)
        tables = [t.values for t in whole.tables(w)]
        if not self.query_first:
            tables = [t.T for t in tables]
        flat = np.concatenate([t.ravel() for t in tables])
        return flat, flat if self.embedding.continuous else np.concatenate([t.T.ravel() for t in tables])

    @cached_property
    def _merged_part(self) -> tuple[PairEmbedding, Floats]:
        return self._part(self.merged)

    def _part(self, groups: Integers) -> tuple[PairEmbedding, Floats]:
        """The map of some of the groups, over the same features, and its weights."""
        part = self.embedding.select(groups, np.arange(self.embedding.grid.n_features))
        return part, self.weights[np.isin(self.embedding.group_of_column, groups)]

    @property
    def turn(self) -> int:
        """How pairs are swapped, as in `JointQuery`."""
        return 0 if self.embedding.continuous else 1 if self.query_first else -1

    def rows_of(self, g: int, points: Integers, *, swapped: bool) -> Floats:
        """Rows of the table of group g at the grid points (R,), shape (R, C), with the grid point of the item second."""
        v, w = self.embedding.vertices[g], np.append(self.weights, 0.0)
        one, other = points[:, None], np.arange(v.n_points)
        first, second = (one, other) if self.query_first != swapped else (other, one)
        vertices = (first * v.n_points + second).ravel()
        base = int(np.searchsorted(self.embedding.group_of_column, g))
        columns = v.columns(vertices, base=base, none=len(self.weights), unseen=-1)
        slopes = self.embedding.unseen_slopes
        unseen = 0.0 if slopes is None else v.weighted_l1(self.embedding.grid, vertices, slopes)
        return np.where(columns < 0, unseen, w[columns]).reshape(len(points), v.n_points)

    def add_merged(self, queries: Items, b: int, items: Items, rows: Integers, out: Floats) -> None:
        """Add to ``out`` the values of the groups `merged` (paper 2, section 3)."""
        part, w = self._merged_part
        sides = (queries, np.full(len(rows), b)), (items, rows)
        (x, i), (y, j) = sides if self.query_first else sides[::-1]
        out += part.paired(x, i, y, j, w)


class JointQueries:
    """Located queries with the rows that they read of joint groups.

    Parameters
    ----------
    tables : JointTables
    items : Items
        The queries, located on the features of the groups.
    """

    def __init__(self, tables: JointTables, items: Items) -> None:
        self.tables, self.items = tables, items
        self._held = _Placed(tables.held_groups, items)
        self._gathered = _Placed(tables.gathered_groups, items)
        self._last: tuple[int, JointQuery] | None = None  # The query whose rows were gathered last, as one asks for many steps.

    def held(self, b: int) -> JointQuery:
        """Query b under the groups `JointTables.held`."""
        return self._held.query(b, *self.tables.held_tables, self.tables.turn)

    def gathered(self, b: int) -> JointQuery:
        """Query b under the groups `JointTables.gathered`, with rows of its own."""
        if self._last is None or self._last[0] != b:
            self._last = b, self._gather(b)
        return self._last[1]

    def _gather(self, b: int) -> JointQuery:
        tables, points = self.tables, self._gathered.row[b]
        first, starts, at = tables.gathered_groups.first, [], 0
        kept: tuple[list[Floats], list[Floats]] = ([], [])  # the rows, and those of swapped pairs
        for k, g in enumerate(tables.gathered.tolist()):
            of_group = points[first[k] + k : first[k + 1] + k + 1]
            for swapped in (False, True)[: 1 + abs(tables.turn)]:
                kept[swapped].append(tables.rows_of(g, of_group, swapped=swapped).ravel())
            size = len(kept[0][-1])
            starts.append(np.arange(at, at + size, size // len(of_group)))
            at += size
        flat = np.concatenate(kept[0])
        query = self._gathered.query(b, flat, np.concatenate(kept[1]) if tables.turn else flat, tables.turn)
        return query._replace(row=np.concatenate(starts))

    def add(self, b: int, items: Items, rows: Integers, out: Floats) -> None:
        """Add to ``out`` (R,) the values of all groups between query b and the items ``rows`` (R,)."""
        if len(self.tables.held):
            add_joint_values(self.tables.held_groups, self.held(b), *items.located, rows, out)
        if len(self.tables.gathered):
            add_joint_values(self.tables.gathered_groups, self.gathered(b), *items.located, rows, out)
        if len(self.tables.merged):
            self.tables.add_merged(self.items, b, items, rows, out)


class _Placed:
    """Queries among the grid points of some groups: rows (B, A + G) and cuts (B, A) as in `JointQuery`."""

    def __init__(self, groups: GroupArrays, items: Items) -> None:
        n, n_places = len(items), len(groups.column)
        self.row, self.cut = np.empty((n, n_places + len(groups.points)), np.int64), np.empty((n, n_places))
        place_queries(groups, *items.located, self.row, self.cut)
        self._column, self._located = groups.column, items.located

    def query(self, b: int, tables: Floats, swapped: Floats, turn: int) -> JointQuery:
        """Query b, whose rows lie in these tables."""
        lower = self._located.lower[b, self._column].astype(np.int64)
        return JointQuery(tables, swapped, self.row[b], self.cut[b], lower, self._located.fraction[b, self._column], turn)


def _joint_groups(vertices: list[Vertices]) -> GroupArrays:
    """Groups as kernels take them, whose tables of C x C numbers stand one after another."""
    first = np.concatenate([[0], np.cumsum([len(v.group) for v in vertices])]).astype(np.int64)
    column = np.array([f for v in vertices for f in v.group], dtype=np.int64)
    stride = np.array([s for v in vertices for s in v.strides], dtype=np.int64)
    points = np.array([v.n_points for v in vertices], dtype=np.int64)
    return GroupArrays(first, column, stride, points, (np.cumsum(points**2) - points**2).astype(np.int64))
