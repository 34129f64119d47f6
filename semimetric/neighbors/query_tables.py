"""A distance as a query sees it: one-feature tables that are tabulated once a query, and what else adds to the sum.

d(q, y) before the link = sum_f t_f(q_f, y_f) + |r_f(q) - r_f(y)|     (one-feature parts: `Profiles`)
+ sum over joint groups + sum over base distances      (the rest: `QueryView.rest`)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import map_blocks
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_choice
from .._kernels.search import Profiles, Scales, tabulate
from .._kernels.simplex import Located
from ..distances.feature_tables import SingleParts, part_of, single_groups, single_parts
from ..distances.semimetric import Semimetric
from ..embeddings.directions.linear_directions import with_directions
from ..embeddings.pairs.base import Items
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.vertices import Vertices
from .joint_tables import JointQueries, JointTables

__all__ = ["SIDES", "ItemArrays", "QueryBlock", "QueryView", "joined"]

SIDES = ("query-first", "query-last")
_ROWS = 1 << 14  # The number of items that are located together.


class ItemArrays(NamedTuple):
    """Items ready for search: raw vectors, positions (n, E) on the features of the scales, and joint features located.

    With ``places``, which are the positions in 16 bits, positions are located when rows of them are read.
    """

    raw: NDArray[Any]
    positions: Floats
    joint: Items | None
    places: Any = None

    def __len__(self) -> int:  # The number of items, not of fields.
        return len(self.raw)

    def take(self, rows: NDArray[Any]) -> "ItemArrays":
        """The items of these row numbers, or of a mask."""
        return ItemArrays(self.raw[rows], self.positions[rows], None if self.joint is None else _take(self.joint, rows))


def _take(items: Items, rows: NDArray[Any]) -> Items:
    return Items(Located(*(array[rows] for array in items.located)), items.order[rows])


def joined(located_items: Sequence[Items]) -> Items:
    """Items that were located slice by slice, one after the other."""
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
    """``semimetric`` with the query as its first or last argument.

    Parameters
    ----------
    semimetric : Semimetric
    side : {"query-first", "query-last"}
        d(query, item), or d(item, query).
    """

    semimetric: Semimetric
    side: str = "query-first"

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
        """How many of `features` have a table; they come first."""
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
        """What cells are cut from: the features with tables, the features of joint groups, and the tables of these groups."""
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

    @property
    def bounded(self) -> bool:
        """Whether the base distances, which cells do not see, are >= 0."""
        return all(base.weight >= 0 for base in self.semimetric.base_distances)

    @property
    def simple(self) -> bool:
        """Whether there are one-feature parts only."""
        return self.joint is None and not self.semimetric.base_distances

    def same_cells(self, other: "QueryView") -> bool:
        """Whether grid, groups, held tables and directions are those of ``other``: items then have the same cells."""
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
        """The rows of X (n, n_features), located on the grid of the distance."""
        positions = np.empty((len(X), len(self.features)))

        def locate(rows: slice) -> Items | None:
            positions[rows], joint = self._located(np.asarray(X[rows], dtype=np.float64))
            return joint

        located = map_blocks(locate, len(X), size=_ROWS, n_jobs=n_jobs)
        joint = [items for items in located if items is not None]
        return ItemArrays(X, positions, None if self.joint is None else joined(joint))

    def positions(self, raw: Floats) -> Floats:
        """The positions (n, E) of raw vectors (n, n_features) on the features of the scales."""
        features = with_directions(self.semimetric.directions, raw)
        return self._parts.positions(self.semimetric.embedding.grid.locate(features), self.semimetric.reach.excess(features))

    def _located(self, raw: Floats) -> tuple[Floats, Items | None]:
        """Positions (n, E) of raw vectors on the features of the scales, and the located features of the joint groups."""
        d = self.semimetric
        features = with_directions(d.directions, raw)
        located, excess = d.embedding.grid.locate(features), d.reach.excess(features)
        joint = self.joint[0].locate(features[:, self.joint_features]) if self.joint else None
        return self._parts.positions(located, excess), joint

    @property
    def n_pieces(self) -> int:
        """The number of linear pieces of which the one-feature parts of a query consist."""
        return int(2 * np.maximum(self.scales.size - 1, 1).sum())

    def profiles(self, queries: ItemArrays) -> Profiles:
        """The one-feature parts as functions of the item, for each of the queries."""
        shape = queries.positions.shape
        profiles = Profiles(np.empty((shape[0], self.n_pieces, 2)), queries.positions, np.empty(shape), np.empty(shape))
        tabulate(self.scales, profiles)
        return profiles

    def block(self, queries: ItemArrays) -> QueryBlock:
        """Located queries with their profiles."""
        with_joint = self.joint_tables is not None and queries.joint is not None
        joint = JointQueries(self.joint_tables, queries.joint) if with_joint else None  # type: ignore[arg-type]
        return QueryBlock(queries, self.profiles(queries), joint)

    def rest(self, queries: QueryBlock, b: int, items: ItemArrays, rows: Integers) -> Floats:
        """What joint groups and base distances add between query b and the items ``rows``, shape (len(rows),).

        It is empty where the distance has neither.
        """
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
        """Distances from sums: increasing, so nearest by the sum is nearest by the distance."""
        return self.semimetric.link_function.apply(total)

    def unlinked(self, radius: float) -> float:
        """The sum whose distance is ``radius``: the inverse of `linked`."""
        return float(self.semimetric.link_function.invert(np.array(float(radius))))
