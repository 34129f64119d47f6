"""A distance as a query sees it: one-feature tables that are tabulated once a query, and what else adds to the sum.

d(q, y) before the link = sum_f t_f(q_f, y_f) + |r_f(q) - r_f(y)|     (one-feature parts: `Profiles`)
+ sum over joint groups + sum over base distances      (the rest: `QueryView.rest`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import NotSupportedError
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_choice
from ..._kernels.joint_search import GroupArrays, JointQuery, add_joint_values, place_queries
from ..._kernels.locate import PositionFeatures, ValueRanges, positions_of
from ..._kernels.places import PlaceCodes
from ..._kernels.search import Profiles, Scales, tabulate
from ..._kernels.simplex import Located
from ..features.linear_directions import with_directions
from ..model.explanations import SingleParts, part_of, single_groups, single_parts
from ..model.semimetric import Semimetric
from ..pairs.base import Items
from ..pairs.full_tables import PairEmbedding
from ..pairs.vertices import Vertices

_MOST_EXPANDED = 1 << 22  # Tables of which only some vertices have weights are held whole up to so many numbers together.
_MOST_GATHERED = 1 << 16  # So many numbers of a table that is not held are computed for a query; a larger group is merged.


@dataclass(frozen=True, eq=False)
class JointTables:
    """The tables of joint groups with the query's grid point first."""

    embedding: PairEmbedding  # the map of the groups over the features of located items
    weights: Floats  # (embedding.n_columns,)
    query_first: bool  # True if the query is the first of the two vectors
    merging: bool = False  # True if the orders of all groups are merged, and no rows of tables are read

    @cached_property
    def held(self) -> Integers:
        """Numbers of the groups whose tables are held whole: those of `Vertices.held`, and others while there is room."""
        vertices, room = () if self.merging else self.embedding.vertices, _MOST_EXPANDED
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
        vertices = () if self.merging else self.embedding.vertices
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
        part = self.embedding.select(groups, np.arange(self.embedding.grid.n_features))
        return part, self.weights[np.isin(self.embedding.group_of_column, groups)]

    @property
    def turn(self) -> int:
        """The way in which pairs are swapped, as in `JointQuery`."""
        return 0 if self.embedding.continuous else 1 if self.query_first else -1

    def rows_of(self, g: int, points: Integers, *, swapped: bool) -> Floats:
        """Return rows of the table of group g at the grid points (R,), shape (R, C), with the grid point of the item second."""
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
    """Queries, located on the features of joint groups, with the rows that they read of these."""

    def __init__(self, tables: JointTables, items: Items) -> None:
        self.tables, self.items = tables, items
        self._held = _Placed(tables.held_groups, items)
        self._gathered = _Placed(tables.gathered_groups, items)
        self._last: tuple[int, JointQuery] | None = None  # The query whose rows were gathered last, as one asks for many steps.

    def held(self, b: int) -> JointQuery:
        """Return query b under the groups `JointTables.held`."""
        return self._held.query(b, *self.tables.held_tables, self.tables.turn)

    def gathered(self, b: int) -> JointQuery:
        """Return query b under the groups `JointTables.gathered`, with rows of its own."""
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
        """Return query b, whose rows lie in these tables."""
        lower = self._located.lower[b, self._column].astype(np.int64)
        return JointQuery(tables, swapped, self.row[b], self.cut[b], lower, self._located.fraction[b, self._column], turn)


def _joint_groups(vertices: list[Vertices]) -> GroupArrays:
    """Return groups as kernels take them, whose tables of C x C numbers stand one after another."""
    first = np.concatenate([[0], np.cumsum([len(v.group) for v in vertices])]).astype(np.int64)
    column = np.array([f for v in vertices for f in v.group], dtype=np.int64)
    stride = np.array([s for v in vertices for s in v.strides], dtype=np.int64)
    points = np.array([v.n_points for v in vertices], dtype=np.int64)
    return GroupArrays(first, column, stride, points, (np.cumsum(points**2) - points**2).astype(np.int64))


SIDES = ("query-first", "query-last")
_ROWS = 1 << 14  # The number of items that are located together.
_LIGHT, _FEW_HEAVY = 1e-3, 0.5  # The share of the largest sum that light features add up to, and the most heavy ones of all.


class ItemArrays(NamedTuple):
    """Items ready for search."""

    raw: NDArray[Any]  # (n, n_features)
    positions: Floats  # (n, E) on the features of the scales
    joint: Items | None  # located joint features
    coded: PlaceCodes | None = None  # positions in 16 bits: `positions` are then located when rows of them are read

    def __len__(self) -> int:  # The number of items, not of fields.
        return len(self.raw)

    def take(self, rows: NDArray[Any] | slice) -> ItemArrays:
        """Return the items of these row numbers, or of a mask or slice."""
        joint = None
        if self.joint is not None:
            joint = Items(Located(*(array[rows] for array in self.joint.located)), self.joint.order[rows])
        return ItemArrays(self.raw[rows], self.positions[rows], joint)


def joined(located_items: Sequence[Items]) -> Items:
    """Return items that were located slice by slice, one after the other."""
    located = Located(*(np.concatenate(arrays) for arrays in zip(*(items.located for items in located_items), strict=True)))
    return Items(located, np.concatenate([items.order for items in located_items]))


class QueryBlock(NamedTuple):
    """Queries that are tabulated together: B items, what every one-feature part is for each of them, and joint groups."""

    items: ItemArrays
    profiles: Profiles
    joint: JointQueries | None = None

    def __len__(self) -> int:  # The number of queries, not of fields.
        return len(self.items)


@dataclass(frozen=True, eq=False)
class QueryView:
    """``semimetric`` with the query as its first or last argument."""

    semimetric: Semimetric
    side: str = "query-first"  # for d(query, item), or "query-last" for d(item, query)

    def __post_init__(self) -> None:
        check_choice("side", self.side, SIDES)

    @cached_property
    def _parts(self) -> SingleParts:
        d = self.semimetric
        return single_parts(d.embedding, d.weights, d.epsilon, transposed=self.side == "query-last")

    @property
    def features(self) -> Integers:
        """Embedded features of the scales: those with a table of their own, then others with a slope outside the range."""
        return self._parts.features

    @property
    def n_tables(self) -> int:
        """The number of `features` that have a table; they come first."""
        return self._parts.n_tables

    @property
    def unit(self) -> Floats:
        """The length outside the range of each of `features` that counts as one position."""
        return self._parts.unit

    @property
    def scales(self) -> Scales:
        """The one-feature parts as arrays."""
        return self._parts.scales

    @property
    def _origin_of_cells(self) -> tuple[Any, ...]:
        """The features with tables, the joint features, and their tables, from which cells are cut."""
        held = [(v.group, v.held) for v in self.joint[0].vertices] if self.joint else []
        return self.features[: self.n_tables].tolist(), self.joint_features.tolist(), held

    @cached_property
    def joint_groups(self) -> Integers:
        """Numbers of the groups of several features, and of those whose table is not at hand."""
        embedding = self.semimetric.embedding
        return np.setdiff1d(np.arange(len(embedding.groups)), single_groups(embedding))

    @cached_property
    def joint(self) -> tuple[PairEmbedding, Floats] | None:
        """The map of the joint groups over `joint_features`, and its weights."""
        if not len(self.joint_groups):
            return None
        embedding, w = part_of(self.semimetric.embedding, self.semimetric.weights, self.joint_groups)
        assert isinstance(embedding, PairEmbedding)  # Other maps have one-feature groups only.
        return embedding, w

    @cached_property
    def joint_tables(self) -> JointTables | None:
        """The tables of the joint groups, as queries read them."""
        return JointTables(*self.joint, self.side == "query-first") if self.joint else None

    @cached_property
    def _merging_tables(self) -> JointTables | None:
        return replace(self.joint_tables, merging=True) if self.joint_tables else None

    @cached_property
    def held(self) -> list[Vertices]:
        """Joint groups whose tables are at hand: the others have no cells, and are bounded by their least weight."""
        return [v for v in self.joint[0].vertices if v.held] if self.joint else []

    @cached_property
    def held_tables(self) -> list[Floats]:
        """The tables of the groups `held`, each (n_points, n_points) with the query's grid point first."""
        if not (self.joint and self.held):
            return []
        embedding, w = self.joint
        groups = np.array([g for g, v in enumerate(embedding.vertices) if v.held])
        selected = embedding.select(groups, np.arange(embedding.grid.n_features))
        tables = selected.tables(w[np.isin(embedding.group_of_column, groups)])
        return [t.values.T if self.side == "query-last" else t.values for t in tables]

    @cached_property
    def joint_features(self) -> Integers:
        """Embedded features of the joint groups, increasing."""
        return np.unique([f for g in self.joint_groups for f in self.semimetric.embedding.groups[g]]).astype(np.int64)

    @property
    def least(self) -> float:
        """A number that no sum is below: 0 for weights >= 0, where rounding could say otherwise, and else -inf."""
        return 0.0 if self.semimetric.axioms.nonnegative else -np.inf

    @cached_property
    def size(self) -> float:
        """The largest that the tables of all groups can add up to in absolute value: what rounding errors are relative to."""
        singles = np.maximum.reduceat(np.abs(self.scales.tables), self.scales.start) if len(self.scales.start) else np.zeros(1)
        largest = np.zeros(len(self.joint_groups))
        if self.joint is not None:
            embedding, w = self.joint
            np.maximum.at(largest, embedding.group_of_column, np.abs(w))
        return float(singles.sum() + largest.sum())

    @cached_property
    def heavy(self) -> Integers:
        """Numbers among `features` of those whose tables make all but a thousandth of the largest sum.

        Their sums bound the distance from below (partial distance search). They are few where most features have tiny weights,
        as those that screening left out. Empty if they are more than half of the features, or terms may be < 0.
        """
        largest = np.zeros(len(self.features))
        if self.n_tables and self.least == 0.0:
            largest[: self.n_tables] = np.maximum.reduceat(self.scales.tables, self.scales.start)[: self.n_tables]
        order = np.argsort(-largest, kind="stable")
        covered = np.cumsum(largest[order])
        n = int(np.searchsorted(covered, (1.0 - _LIGHT) * covered[-1])) + 1 if covered.any() else len(order)
        return np.sort(order[:n] if n <= _FEW_HEAVY * len(order) else order[:0])

    @property
    def bounded(self) -> bool:
        """True if the base distances, which cells do not see, are >= 0."""
        return all(base.weight >= 0 for base in self.semimetric.base_distances)

    @property
    def simple(self) -> bool:
        """True if there are one-feature parts only."""
        return self.joint is None and not self.semimetric.base_distances

    def same_cells(self, other: QueryView) -> bool:
        """Return True if grid, groups, held tables and directions are those of ``other``: items then have the same cells."""
        if self._origin_of_cells != other._origin_of_cells:
            return False
        a, b = self.semimetric, other.semimetric
        knots = [np.array_equal(x, y) for x, y in zip(a.embedding.grid.knots, b.embedding.grid.knots, strict=False)]
        groups = (a.embedding.groups, a.embedding.continuous, len(a.embedding.grid.knots))
        same = groups == (b.embedding.groups, b.embedding.continuous, len(b.embedding.grid.knots)) and all(knots)
        same = same and a.schema.reads_as(b.schema)
        if a.directions is None or b.directions is None:
            return same and a.directions is b.directions
        return same and a.directions.same_as(b.directions)

    def points(self, X: NDArray[Any], *, n_jobs: int | None = None) -> ItemArrays:
        """Return the rows of X (n, n_features), located on the grid of the distance."""
        positions = np.empty((len(X), len(self.features)))

        def locate(rows: slice) -> Items | None:
            features = with_directions(self.semimetric.directions, np.asarray(X[rows], dtype=np.float64))
            self._locate(features, positions[rows])
            return self.joint[0].locate(features[:, self.joint_features]) if self.joint else None

        located = map_blocks(locate, len(X), size=_ROWS, n_jobs=n_jobs)
        joint = [items for items in located if items is not None]
        return ItemArrays(X, positions, None if self.joint is None else joined(joint))

    def positions(self, raw: Floats) -> Floats:
        """Return the positions (n, E) of raw vectors (n, n_features) on the features of the scales."""
        positions = np.empty((len(raw), len(self.features)))
        self._locate(with_directions(self.semimetric.directions, raw), positions)
        return positions

    @cached_property
    def number_places(self) -> tuple[ValueRanges, PositionFeatures] | None:
        """The features as kernels locate their values; None where some are no numbers that are always there."""
        grid, features = self.semimetric.embedding.grid, self.features
        if not grid.plain or not len(features):
            return None
        places = PositionFeatures(features, grid.starts[features], grid.counts[features], self.unit)
        return ValueRanges(grid.flat, grid.starts, self.semimetric.value_limits.most), places

    def _locate(self, features: Floats, positions: Floats) -> None:
        if self.number_places is not None and features.shape[1] == self.semimetric.embedding.grid.n_features:
            positions_of(np.ascontiguousarray(features), *self.number_places, positions)
            if not np.isnan(positions[:, 0]).any():
                return  # Otherwise the error is raised where values are located one feature at a time.
        located, excess = self.semimetric.embedding.grid.locate(features), self.semimetric.value_limits.excess(features)
        positions[:] = self._parts.positions(located, excess)

    @cached_property
    def n_pieces(self) -> int:
        """The number of linear pieces of which the one-feature parts of a query consist."""
        return int(2 * np.maximum(self.scales.size - 1, 1).sum())

    def profiles(self, queries: ItemArrays) -> Profiles:
        """Return the one-feature parts as functions of the item, for each of the queries."""
        shape = queries.positions.shape
        profiles = Profiles(np.empty((shape[0], self.n_pieces, 2)), queries.positions, np.empty(shape), np.empty(shape))
        tabulate(self.scales, profiles)
        return profiles

    def block(self, queries: ItemArrays) -> QueryBlock:
        """Return located queries with their profiles."""
        joint = None
        if self.joint_tables is not None and queries.joint is not None:
            joint = JointQueries(self.joint_tables, queries.joint)
        return QueryBlock(queries, self.profiles(queries), joint)

    def check_merging(self) -> None:
        """Refuse to merge orders of fractions where no group has several features."""
        if self.joint is None:
            raise NotSupportedError(
                "algorithm='merge' merges the orders of the fractions in joint groups, and the tables of this distance are of "
                "single features, so that there is nothing to merge; use algorithm='brute', which computes every distance too"
            )

    def merging(self, queries: QueryBlock) -> QueryBlock:
        """Return a block in which the order of every item is merged with that of the query in all joint groups."""
        self.check_merging()
        assert self._merging_tables is not None  # There are joint groups.
        assert queries.items.joint is not None
        return QueryBlock(queries.items, queries.profiles, JointQueries(self._merging_tables, queries.items.joint))

    def rest(self, queries: QueryBlock, b: int, items: ItemArrays, rows: Integers) -> Floats:
        """Sum up joint groups and base distances between query b and items, shape (len(rows),), or (0,) without any."""
        total = np.zeros(0 if self.simple else len(rows))
        if not len(rows):
            return total
        if queries.joint is not None and items.joint is not None:
            queries.joint.add(b, items.joint, rows, total)
        for base in self.semimetric.base_distances:
            given = np.asarray(items.raw[rows], dtype=np.float64)
            query = np.broadcast_to(np.asarray(queries.items.raw[b], dtype=np.float64), given.shape)
            total += base.paired(query, given) if self.side == "query-first" else base.paired(given, query)
        return total

    def linked(self, total: Floats) -> Floats:
        """Return distances from sums: increasing, so nearest by the sum is nearest by the distance."""
        return self.semimetric.link_function.apply(total)

    def unlinked(self, radius: float) -> float:
        """Return the sum whose distance is ``radius``: the inverse of `linked`."""
        return float(self.semimetric.link_function.invert(np.array(float(radius))))
