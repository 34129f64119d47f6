"""A distance as a query sees it: one-feature tables that are tabulated once a query, and the rest.

d(q, y) before the link = sum_f t_f(q_f, y_f) + epsilon_f |e_f(q) - e_f(y)|     (one-feature parts: `Profiles`)
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
from ..embeddings.pairs.base import Items
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.vertices import Vertices

__all__ = ["SIDES", "QueryView", "ItemArrays"]

SIDES = ("query-first", "query-last")
_ROWS = 1 << 14


class ItemArrays(NamedTuple):
    """Items ready for search: raw vectors, positions (n, E) on the features of the scales, and joint features located."""

    raw: NDArray
    positions: Floats
    joint: Items | None

    def __len__(self) -> int:  # the number of items, not of fields
        return len(self.raw)

    def take(self, rows: NDArray) -> "ItemArrays":
        """Some of the items."""
        return ItemArrays(self.raw[rows], self.positions[rows], None if self.joint is None else take_items(self.joint, rows))


def take_items(items: Items, rows: NDArray) -> Items:
    """Some located items, with the sorted order of their fractions."""
    return Items(Located(*(part[rows] for part in items.located)), items.order[rows])


def join_items(parts: Sequence[Items]) -> Items:
    """Located items one after the other."""
    located = Located(*(np.concatenate(arrays) for arrays in zip(*(part.located for part in parts), strict=True)))
    return Items(located, np.concatenate([part.order for part in parts]))


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
    def scales(self) -> Scales:
        """The one-feature parts as arrays."""
        return self._parts.scales

    @property
    def _cut(self) -> tuple[Any, ...]:
        """What cells stand on: features with tables, and joint groups with theirs."""
        held = [(v.group, v.held) for v in self.joint[0].vertices] if self.joint else []
        return self.features[: self.n_tables].tolist(), self.joint_features.tolist(), held

    @cached_property
    def joint_groups(self) -> Integers:
        """The other groups: of several features, or without a table at hand."""
        embedding = self.semimetric.embedding
        return np.setdiff1d(np.arange(len(embedding.groups)), single_groups(embedding))

    @cached_property
    def joint(self) -> tuple[PairEmbedding, Floats] | None:
        """The map of the joint groups over `joint_features`, and its weights."""
        if not len(self.joint_groups):
            return None
        embedding, w = part_of(self.semimetric.embedding, self.semimetric.weights, self.joint_groups)
        assert isinstance(embedding, PairEmbedding)  # other maps have one-feature groups only
        return embedding, w

    @cached_property
    def held(self) -> list[Vertices]:
        """Joint groups whose tables are at hand: the others have no cells, and are bounded by their least weight."""
        return [v for v in self.joint[0].vertices if v.held] if self.joint else []

    @cached_property
    def held_tables(self) -> list[Floats]:
        """Their tables, the query's grid point first."""
        if not (self.joint and self.held):
            return []
        embedding, w = self.joint
        groups = np.array([g for g, v in enumerate(embedding.vertices) if v.held])
        part = embedding.select(groups, np.arange(embedding.grid.n_features))
        tables = part.tables(w[np.isin(embedding.group_of_column, groups)])
        return [t.values.T if self.side == "query-last" else t.values for t in tables]

    @cached_property
    def joint_features(self) -> Integers:
        """Embedded features of the joint groups."""
        return np.unique([f for g in self.joint_groups for f in self.semimetric.embedding.groups[g]]).astype(np.int64)

    @property
    def least(self) -> float:
        """What no distance is below: 0 for weights >= 0, where rounding could say otherwise."""
        return 0.0 if self.semimetric.axioms.nonnegative else -np.inf

    @property
    def bounded(self) -> bool:
        """Whether what cells do not see, base distances, is >= 0."""
        return all(base.weight >= 0 for base in self.semimetric.base_distances)

    @property
    def simple(self) -> bool:
        """Whether there are one-feature parts only."""
        return self.joint is None and not self.semimetric.base_distances

    def same_cells(self, other: "QueryView") -> bool:
        """Whether grid, groups, held tables and directions are those of ``other``: items then have the same cells."""
        if self._cut != other._cut:
            return False
        a, b = self.semimetric, other.semimetric
        knots = [np.array_equal(x, y) for x, y in zip(a.embedding.grid.knots, b.embedding.grid.knots, strict=False)]
        groups = (a.embedding.groups, a.embedding.continuous, len(a.embedding.grid.knots))
        same = groups == (b.embedding.groups, b.embedding.continuous, len(b.embedding.grid.knots)) and all(knots)
        same = same and a.schema.reads_as(b.schema)
        if a.directions is None or b.directions is None:
            return same and a.directions is b.directions
        return same and a.directions.same_as(b.directions)

    def points(self, X: NDArray, *, n_jobs: int | None = None) -> ItemArrays:
        """Items on the grid of the distance."""
        positions = np.empty((len(X), len(self.features)))

        def place(block: slice) -> Items | None:
            positions[block], joint = self._placed(np.asarray(X[block], dtype=np.float64))
            return joint

        parts = map_blocks(place, len(X), size=_ROWS, n_jobs=n_jobs)
        return ItemArrays(X, positions, None if self.joint is None else join_items(parts))  # type: ignore[arg-type]

    def _placed(self, raw: Floats) -> tuple[Floats, Items | None]:
        d = self.semimetric
        features = d.directions.append(raw) if d.directions else raw
        located, excess = d.embedding.grid.locate(features), d.embedding.grid.excess(features)
        return self._parts.positions(located, excess), self.joint[0].locate(
            features[:, self.joint_features]
        ) if self.joint else None

    def profiles(self, queries: ItemArrays) -> Profiles:
        """A block of queries, tabulated."""
        shape = queries.positions.shape
        n_pieces = int(2 * np.maximum(self.scales.size - 1, 1).sum())
        block = Profiles(np.empty((shape[0], n_pieces, 2)), queries.positions, np.empty(shape), np.empty(shape))
        tabulate(self.scales, block)
        return block

    def rest(self, queries: ItemArrays, b: int, items: ItemArrays, rows: Integers) -> Floats:
        """Joint groups and base distances between query b and the items ``rows``; empty where there are none."""
        total = np.zeros(0 if self.simple else len(rows))
        if not len(rows):
            return total
        if self.joint:
            embedding, w = self.joint
            # the precomputed order of an item is merged with the query's (paper 2, section 3)
            pair = [(queries.joint, np.full(len(rows), b)), (items.joint, rows)]
            (x, i), (y, j) = pair if self.side == "query-first" else pair[::-1]
            total += embedding.paired(x, i, y, j, w)  # type: ignore[arg-type]
        for base in self.semimetric.base_distances:
            given = np.asarray(items.raw[rows], dtype=np.float64)
            query = np.broadcast_to(np.asarray(queries.raw[b], dtype=np.float64), given.shape)
            total += base.paired(query, given) if self.side == "query-first" else base.paired(given, query)
        return total

    def linked(self, total: Floats) -> Floats:
        """Distances from sums: increasing, so nearest by the sum is nearest by the distance."""
        return np.sqrt(total) if self.semimetric.link == "sqrt" else total

    def unlinked(self, radius: float) -> float:
        """The sum at a distance."""
        return radius * radius if self.semimetric.link == "sqrt" else radius
