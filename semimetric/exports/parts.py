"""The parts of a distance, as another language can say them: scales, jumps and tables of positions, and rises outside.

    d(x, y) = h( sum_s |s(x_f) - s(y_f)| + sum_f w_f [x_f != y_f] + sum_S T_S(p_S(x), p_S(y)) + sum_f |r_f(x) - r_f(y)| )

A scale s of a feature f holds its rise outside of the range too; a number that may be missing has two. The position p_f of a
value is the number of the vertex below it plus the fraction of the way to the next one; an integer is a vertex. The names are
those of `Semimetric`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats
from ..distances.model.explanations import part_of
from ..distances.model.semimetric import Semimetric
from ..distances.pairs.base import PairMap
from ..distances.pairs.full_tables import PairEmbedding
from ..distances.pairs.monotone_scales import WarpedEmbedding
from ..distances.pairs.scales_and_tables import MixedEmbedding

_ROUNDING = 1e-12  # of the value of a jump, by which its entries may differ, as in `Semimetric.transform`
_KINDS = {(True, True): "scale", (False, True): "missing below", (True, False): "missing above"}  # by where a scale goes on
MOST_VALUES = 1 << 16  # of a table that is written out: more would be some megabytes of text
ROUTE = (
    "let an index of L1 coordinates name candidates, such as the 100 nearest by another distance that has them, and compute "
    "the distances of these in Python by paired(X, Y)"
)


class StoredScale(NamedTuple):
    """A scale of one feature: a number has one, and a number that may be missing has two."""

    feature: int  # among the embedded ones
    values: Floats  # (n_vertices,), which increase from 0 over the knots; a missing value is below or above these
    slopes: tuple[float, float]  # below the range, and above it
    kind: str  # "scale", "missing below" or "missing above"

    def named(self, feature: str) -> str:
        """Return its name from that of the feature, as `Semimetric.coordinate_names` has it."""
        return feature if self.kind == "scale" else f"{feature}, {self.kind}"


class Jump(NamedTuple):
    """A feature whose levels are all one value apart, such as the leaves of a tree with one weight."""

    feature: int
    value: float


class JointTable(NamedTuple):
    """The table of a group of one or more features."""

    features: tuple[int, ...]
    sizes: tuple[int, ...]  # the number of vertices of each
    values: Floats  # (C, C), whose grid points are numbered with the first feature running slowest
    swapped: bool  # True if the two vectors change places where the first is lexicographically smaller

    @property
    def strides(self) -> tuple[int, ...]:
        """By how much the number of a grid point grows in one step along each feature."""
        return tuple(int(np.prod(self.sizes[k + 1 :], dtype=np.int64)) for k in range(len(self.sizes)))


@dataclass(frozen=True, eq=False)
class DistanceParts:
    """The parts that a distance adds up before its link."""

    distance: Semimetric
    scales: tuple[StoredScale, ...]
    jumps: tuple[Jump, ...]
    tables: tuple[JointTable, ...]
    rises: tuple[int, ...]  # the features that have a slope outside their range, and no scale

    @classmethod
    def of(cls, d: Semimetric) -> DistanceParts:
        """Return the parts of a distance."""
        if d.base_distances:
            raise NotSupportedError(
                f"the distance adds the base distance {d.base_distances[0].name!r}, which only Python computes, so "
                f"it cannot be exported; learn without base distances, or {ROUTE}"
            )
        if made := [f.name for f in d.schema.features if f.encoded]:
            raise NotSupportedError(
                f"the column {made[0]!r} is a number that a model makes of an object, which only Python can compute; export "
                f"the distance of the numbers as columns of their own, or {ROUTE}"
            )
        embedding, weights = d.embedding, d.weights
        scales: list[StoredScale] = []
        jumps: list[Jump] = []
        tables: list[JointTable] = []
        if isinstance(embedding, WarpedEmbedding):
            scales = _scales(embedding, weights, d.epsilon)
        elif isinstance(embedding, MixedEmbedding):
            of_scales, of_tables = np.split(weights, [embedding.scales.n_columns])
            scales = _scales(embedding.scales, of_scales, d.epsilon)
            jumps, tables = _tables(embedding.side_tables, of_tables, d)
        elif isinstance(embedding, PairEmbedding):
            jumps, tables = _tables(embedding, weights, d)
        else:
            raise NotSupportedError(f"a {type(embedding).__name__} cannot be exported; {ROUTE}")
        scaled = {scale.feature for scale in scales}
        sloped = np.flatnonzero((d.epsilon > 0).any(axis=1) & d.embedding.grid.extends).tolist()
        return cls(d, tuple(scales), tuple(jumps), tuple(tables), tuple(f for f in sloped if f not in scaled))

    @property
    def placed(self) -> tuple[int, ...]:
        """The embedded features whose positions count, in the order of their numbers."""
        return tuple(sorted({f for table in self.tables for f in table.features} | {jump.feature for jump in self.jumps}))


def _scales(embedding: WarpedEmbedding, weights: Floats, epsilon: Floats) -> list[StoredScale]:
    features, goes_on = embedding.feature_of_coordinate.tolist(), embedding.rises_outside
    slopes = np.where(goes_on, epsilon[features], 0.0).tolist()
    parts = zip(features, embedding.heights(weights), slopes, goes_on.tolist(), strict=True)
    return [StoredScale(f, values, (below, above), _KINDS[tuple(sides)]) for f, values, (below, above), sides in parts]


def _tables(embedding: PairEmbedding, weights: Floats, d: Semimetric) -> tuple[list[Jump], list[JointTable]]:
    jumps: list[Jump] = []
    tables: list[JointTable] = []
    expanded, w = embedding.expanded(weights)
    assert isinstance(expanded, PairEmbedding)
    for g, vertices in enumerate(expanded.vertices):
        name = " * ".join(d.columns[f] for f in vertices.group)
        owned = w[expanded.group_of_column == g]
        if not vertices.held:
            jumps.append(_large_jump(expanded, g, owned, name))
            continue
        part, own = part_of(expanded, w, np.array([g]))
        (table,) = part.tables(own)
        jump = _jump(vertices.group, table.values, d, part)
        if jump is not None:
            jumps.append(jump)
            continue
        if table.values.size > MOST_VALUES:
            raise NotSupportedError(
                f"the table of {name} has {table.values.size:,} values, and at most {MOST_VALUES:,} are exported; learn it "
                f"with fewer knots, or {ROUTE}"
            )
        tables.append(JointTable(vertices.group, vertices.sizes, table.values, expanded.symmetry == "swap"))
    return jumps, tables


def _jump(group: tuple[int, ...], values: Floats, d: Semimetric, part: PairMap) -> Jump | None:
    """Return a table of one category as a jump, if any two of its levels are one value apart."""
    if len(group) > 1 or part.grid.kinds[0] != "categorical":
        return None
    n = len(values) - (group[0] >= d.n_features)  # the last level of a tree is of no leaf
    known = values[:n, :n]
    apart = known[~np.eye(n, dtype=bool)]
    alike = np.ptp(apart) <= _ROUNDING * np.abs(apart).max()
    return Jump(group[0], float(apart.max())) if alike and not np.diag(known).any() else None


def _large_jump(embedding: PairEmbedding, g: int, weights: Floats, name: str) -> Jump:
    """Return a table that is too large to be held as a jump, where it has no more than one value."""
    vertices = embedding.vertices[g]
    (f, *others) = vertices.group
    slopes = embedding.unseen_slopes
    if not others and vertices.zero_diagonal and embedding.grid.kinds[f] == "categorical":
        if vertices.one_weight and len(weights) == 1:
            return Jump(f, float(weights[0]))
        if not len(weights):
            return Jump(f, 0.0 if slopes is None else float(slopes[f]))
    raise NotSupportedError(
        f"the table of {name} is too large to be held, and was learned at some of its vertices only, so it cannot be exported; "
        f"learn it with fewer knots, or {ROUTE}"
    )
