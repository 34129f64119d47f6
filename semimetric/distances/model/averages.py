"""Means of distances: a weighted sum of semimetrics over one schema is a semimetric.

    d(x, y) = sum_k u_k d_k(x, y) / sum_k u_k,      u_k >= 0

The mean is one distance of the same kind, with one table for each group of features: the same file, index and explanations.
Every axiom that all of them have, it has. Distances that were learned with different seeds, or from different samples, err in
different ways, so their mean errs less. What the terms are over, `united_features` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import ArrayLike, Floats, Integers
from ...data.grid import Grid
from ...data.schema import Schema
from ..features.linear_directions import Directions
from ..features.partitions import Partitions
from ..pairs.base import PairMap, Table
from ..pairs.full_tables import PairEmbedding
from ..pairs.monotone_scales import GapScale, WarpedEmbedding
from ..pairs.scales_and_tables import MixedEmbedding, scales_of
from ..pairs.vertices import Vertices
from .base_distances import BaseDistance
from .limits import rise_outside

Key: TypeAlias = tuple[Any, ...]  # what a feature is: two of the same key are one feature


@dataclass(frozen=True, eq=False)
class Part:
    """One of the distances that are added."""

    embedding: PairMap  # with a column for every vertex
    weights: Floats  # (n_columns,)
    epsilon: Floats  # (n_features + n_directions, 2)
    directions: Directions | None
    factor: float  # how many times it counts

    @property
    def scaled(self) -> frozenset[int]:
        """The embedded features that have a scale."""
        embedding = self.embedding.scales if isinstance(self.embedding, MixedEmbedding) else self.embedding
        return embedding.covered if isinstance(embedding, WarpedEmbedding) else frozenset()


@dataclass
class _Column:
    """A feature of the sum: its knots, whether it may be missing, its slopes outside (2,), and what it is if no raw one."""

    name: str
    kind: str
    knots: Floats
    missing: bool
    epsilon: Floats
    row: Floats | None = None
    tree: Partitions | None = None


@dataclass(frozen=True, eq=False)
class UnitedFeatures:
    """The features of a sum: raw ones, then linear directions and copies, then trees."""

    grid: Grid
    epsilon: Floats  # (n_features, 2)
    directions: Directions | None
    places: list[Integers]  # for each part, the number here of each of its embedded features
    knots: list[list[Floats]]  # for each part, the knots of each of its embedded features here, in the unit of the part


def united_features(parts: Sequence[Part], schema: Schema) -> UnitedFeatures:
    """Return the features of the sum of the parts."""
    n_raw = len(schema.names)
    bends = _united_bends(parts, n_raw)
    raw: list[_Column] = []
    linear: dict[Key, _Column] = {}
    trees: dict[Key, _Column] = {}
    keys: list[list[Key]] = [[] for _ in parts]
    placed: list[list[Floats]] = [[] for _ in parts]
    for f in range(n_raw):
        raw.append(_raw_column(parts, schema, f))
        for part, own, at in zip(parts, keys, placed, strict=True):
            raw[f].epsilon = raw[f].epsilon + part.factor * part.epsilon[f]
            knots = _class_of(parts, part, f)
            at.append(raw[f].knots if knots is None else knots)
            if knots is None or np.array_equal(knots, raw[f].knots):
                own.append(("raw", f))
                continue
            key = ("copy", f, knots.tobytes())
            row, shift = _row_of_copy(f, n_raw, bends)
            linear[key] = _Column(schema.names[f], "numeric", knots - shift, schema.missing[f], np.zeros(2), row)
            own.append(key)
    for part, own, at in zip(parts, keys, placed, strict=True):
        at += part.embedding.grid.knots[n_raw:]
        for key, column in _directions_of(part, n_raw, bends):
            known = (linear if column.tree is None else trees).setdefault(key, replace(column, epsilon=np.zeros(2)))
            known.epsilon = known.epsilon + part.factor * column.epsilon
            own.append(key)
    columns = [*raw, *linear.values(), *trees.values()]
    number: dict[Key, int] = {("raw", f): f for f in range(n_raw)}
    number |= {key: k for k, key in enumerate([*linear, *trees], n_raw)}
    grid = Grid([c.knots for c in columns], [c.kind for c in columns], [c.missing for c in columns])
    places = [np.array([number[k] for k in own], dtype=np.int64) for own in keys]
    directions = _directions(list(linear.values()), list(trees.values()), n_raw, bends)
    return UnitedFeatures(grid, np.array([c.epsilon for c in columns]), directions, places, placed)


def _directions(
    linear: Sequence[_Column], trees: Sequence[_Column], n_raw: int, bends: tuple[Floats, ...]
) -> Directions | None:
    if not linear and not trees:
        return None
    width = sum(len(b) - 1 for b in bends) if bends else n_raw
    matrix = np.array([c.row for c in linear]).reshape(len(linear), width)
    grown = [c.tree for c in trees if c.tree is not None]
    tied = all(tree.tied for tree in grown)
    together = Partitions.together([replace(tree, tied=tied) for tree in grown]) if grown else None
    return Directions(matrix, tuple(c.name for c in (*linear, *trees)), bends, together)


def _raw_column(parts: Sequence[Part], schema: Schema, f: int) -> _Column:
    kind, missing, grids = schema.kinds[f], schema.missing[f], [p.embedding.grid for p in parts]
    if kind == "numeric":
        classes = (_class_of(parts, part, f) for part in parts)
        knots = next((k for k in classes if k is not None), _extended(parts, grids[0].knots[f], f))
    else:
        knots = grids[0].knots[f]
        if any(not np.array_equal(g.knots[f], knots) for g in grids):
            raise NotSupportedError(
                f"{schema.names[f]!r} is periodic and has other knots in one distance than in another, so that tables do not "
                "add up; learn all of them with the same knots="
            )
    return _Column(schema.names[f], kind, knots, missing, np.zeros(2))


def _ends(parts: Sequence[Part], f: int) -> Floats:
    return np.array([min(p.embedding.grid.low[f] for p in parts), max(p.embedding.grid.high[f] for p in parts)])


def _extended(parts: Sequence[Part], knots: Floats, f: int) -> Floats:
    return np.union1d(knots, _ends(parts, f))


def _class_of(parts: Sequence[Part], part: Part, f: int) -> Floats | None:
    """Return the knots between which the terms of a part over a raw number lie in the sum; None if it has none."""
    if not part.embedding.grid.extends[f]:
        return None
    if f in part.embedding.covered and f not in part.scaled:
        return _extended(parts, part.embedding.grid.knots[f], f)
    if f not in part.embedding.covered and not goes_on(parts, part, f):
        return None
    as_scales = [p.embedding.grid.knots[f] for p in parts if f not in p.embedding.covered or f in p.scaled]
    return _extended(parts, np.unique(np.concatenate(as_scales)), f)


def goes_on(parts: Sequence[Part], part: Part, f: int) -> bool:
    """Return True if the range of a raw feature in a part ends before that of all parts, with a slope from there on."""
    grid = part.embedding.grid
    return bool(part.epsilon[f].any() and grid.extends[f] and (_ends(parts, f) != [grid.low[f], grid.high[f]]).any())


def _united_bends(parts: Sequence[Part], n_raw: int) -> tuple[Floats, ...]:
    """Return the knots at which directions bend, of all parts and up to the ends of every number; empty if none bends."""
    given = [p.directions for p in parts if p.directions is not None and p.directions.n_linear]
    bent = [d for d in given if d.bends]
    if not bent:
        return ()
    if len(bent) < len(given):
        raise NotSupportedError(
            "some of the distances have directions that bend at knots, and others directions that do not, which have no common "
            "map; learn all of them with the same directions="
        )
    knots = [np.unique(np.concatenate([d.bends[f] for d in bent])) for f in range(n_raw)]
    numeric = parts[0].embedding.grid.extends
    return tuple(_extended(parts, k, f) if numeric[f] else k for f, k in enumerate(knots))


def _row_of_copy(f: int, n_raw: int, bends: tuple[Floats, ...]) -> tuple[Floats, float]:
    if not bends:
        return np.eye(n_raw)[f], 0.0
    rises = [np.diff(b) if g == f else np.zeros(len(b) - 1) for g, b in enumerate(bends)]
    return np.concatenate(rises), float(bends[f][0])


def _directions_of(part: Part, n_raw: int, bends: tuple[Floats, ...]) -> list[tuple[Key, _Column]]:
    directions, grid = part.directions, part.embedding.grid
    if directions is None:
        return []
    found: list[tuple[Key, _Column]] = []
    for k, name in enumerate(directions.names):
        f = n_raw + k
        column = _Column(name, grid.kinds[f], grid.knots[f], grid.missing[f], part.epsilon[f])
        if k < directions.n_linear:
            column.row = _over_bends(directions, directions.matrix[k], bends)
            key: Key = ("linear", column.row.tobytes(), column.knots.tobytes(), column.missing)
        else:
            assert directions.partitions is not None
            column.tree = directions.partitions.select([k - directions.n_linear])
            key = ("tree", *(array.tobytes() for array in column.tree.nodes))
        found.append((key, column))
    return found


def _over_bends(directions: Directions, row: Floats, bends: tuple[Floats, ...]) -> Floats:
    """Return the row of a direction over the united bends: how far it rises through each cell of these."""
    if not bends:
        return row
    ends = np.cumsum([len(b) - 1 for b in directions.bends])[:-1]
    heights = [np.append(0.0, np.cumsum(rises)) for rises in np.split(row, ends)]
    return np.concatenate([np.diff(np.interp(u, b, h)) for u, b, h in zip(bends, directions.bends, heights, strict=True)])


Tables: TypeAlias = dict[tuple[int, ...], Floats]  # the values between grid points of each group, (C, C), by its features


def mean_of(kind: type, distances: Any, weights: ArrayLike | None) -> Any:
    """Return the mean of several distances of the class ``kind``; see `Semimetric.mean`."""
    given = _checked(kind, distances)
    factors = _factors(weights, len(given))
    counted = [(d, u) for d, u in zip(given, factors.tolist(), strict=True) if u > 0]
    first = counted[0][0]
    parts = []
    for d, u in counted:
        embedding, expanded = d.embedding.expanded(d.weights)
        parts.append(Part(embedding, expanded, d.epsilon, d.directions, u))
    bases = _base_distances([(b, u) for d, u in counted for b in d.base_distances])
    if all(_alike(parts[0], part) for part in parts):
        embedding, summed = _sum_of_alike(parts)
        epsilon = sum(p.factor * p.epsilon for p in parts)
        directions = first.directions
    else:
        embedding, summed, united = _sum(parts, first.schema)
        epsilon, directions = united.epsilon, united.directions
    return replace(first, embedding=embedding, weights=summed, epsilon=epsilon, directions=directions, base_distances=bases)


def _checked(kind: type, distances: Any) -> Sequence[Any]:
    if isinstance(distances, kind) or not isinstance(distances, Sequence) or not len(distances):
        raise InputError(f"a list of distances is required, and {type(distances).__name__} is given; give [d1, d2, ...]")
    for k, d in enumerate(distances):
        if not issubclass(type(d), kind):
            raise InputError(f"distance {k} is of the class {type(d).__name__}; {kind.__name__} is required: give semimetric_")
        if d.link != "identity":
            raise NotSupportedError(
                f"distance {k} has link={d.link!r}, and means of what a link makes of sums are no such distance; learn all of "
                'them with link="identity", or add up their pairwise(X)'
            )
        if d.schema != distances[0].schema:
            raise NotSupportedError(
                f"distance {k} is over {_described(d)}, and the first over {_described(distances[0])}; "
                "one schema is required: learn all "
                "from tables of the same columns, categories and levels for missing values"
            )
    return distances


def _described(d: Any) -> str:
    some = [f"{f.name} ({f.kind}, {len(f.categories)})" if f.categories else f.name for f in d.schema.features[:6]]
    return ", ".join(some) + (", ..." if d.n_features > len(some) else "")


def _factors(weights: ArrayLike | None, n: int) -> Floats:
    if weights is None:
        return np.full(n, 1.0 / n)
    found = as_floats(weights, "weights")
    if found.shape != (n,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise InputError(
            f"weights={weights!r}: {n} finite numbers >= 0, one a distance, are required, and one at least above 0"
        )
    shares = found / found.max()
    return shares / shares.sum()


def _base_distances(weighted: Sequence[tuple[BaseDistance, float]]) -> tuple[BaseDistance, ...]:
    found: dict[tuple[int, str], BaseDistance] = {}
    for base, factor in weighted:
        key = (id(base.function.function), base.function.form)
        before = found[key].weight if key in found else 0.0
        found[key] = replace(found.get(key, base), weight=before + factor * base.weight)
    return tuple(found.values())


def _alike(a: Part, b: Part) -> bool:
    e, f = a.embedding, b.embedding
    if type(e) is not type(f) or e.groups != f.groups or (a.directions is None) != (b.directions is None):
        return False
    if a.directions is not None and b.directions is not None and not a.directions.same_as(b.directions):
        return False
    if isinstance(e, PairEmbedding) and isinstance(f, PairEmbedding):
        if (e.symmetry, e.zero_diagonal) != (f.symmetry, f.zero_diagonal):
            return False
    if isinstance(e, MixedEmbedding) and isinstance(f, MixedEmbedding) and e.gaps != f.gaps:
        return False
    grids = e.grid, f.grid
    same = len(e.grid.knots) == len(f.grid.knots) and all(map(np.array_equal, e.grid.knots, f.grid.knots))
    return same and grids[0].kinds == grids[1].kinds and grids[0].missing == grids[1].missing


def _sum_of_alike(parts: Sequence[Part]) -> tuple[PairMap, Floats]:
    first = parts[0].embedding
    if first.whole and all(p.embedding.whole for p in parts):
        return first, np.sum([p.factor * p.weights for p in parts], axis=0)
    embeddings = [p.embedding for p in parts if isinstance(p.embedding, PairEmbedding)]
    vertices = [_united_vertices([e.vertices[g] for e in embeddings]) for g in range(len(first.groups))]
    n = first.grid.n_features
    slopes = [np.zeros(n) if e.unseen_slopes is None else e.unseen_slopes for e in embeddings]
    total = []
    for g, v in enumerate(vertices):
        values = np.zeros(len(v.keys))
        for part, e, slope in zip(parts, embeddings, slopes, strict=True):
            own = v.weighted_l1(first.grid, v.keys, slope)
            own[np.searchsorted(v.keys, e.vertices[g].keys)] = part.weights[e.group_of_column == g]
            values += part.factor * own
        total.append(values)
    embedding = PairEmbedding(
        first.grid, first.groups, symmetry=embeddings[0].symmetry, zero_diagonal=embeddings[0].zero_diagonal,
        touched=[v.kept for v in vertices],
        unseen_slopes=np.sum([p.factor * s for p, s in zip(parts, slopes, strict=True)], axis=0),
    )  # fmt: skip
    return embedding, np.concatenate(total)


def _united_vertices(vertices: Sequence[Vertices]) -> Vertices:
    if any(v.whole for v in vertices):
        return next(v for v in vertices if v.whole)
    return replace(vertices[0], kept=np.unique(np.concatenate([v.keys for v in vertices])))


def _sum(parts: Sequence[Part], schema: Schema) -> tuple[PairMap, Floats, UnitedFeatures]:
    for part in parts:
        _check_tables(part.embedding)
    united = united_features(parts, schema)
    tables: Tables = {}
    tabled: set[int] = set()
    for part, places, knots in zip(parts, united.places, united.knots, strict=True):
        for table in part.embedding.tables(part.weights):
            values = _at_knots(part, table, [knots[f] for f in table.features])
            _add(tables, places[list(table.features)], part.factor * values, united.grid.sizes)
            tabled |= {int(places[f]) for f in table.features if f not in part.scaled}
        for f in range(len(schema.names)):
            if goes_on(parts, part, f):
                owners = [group for group in part.embedding.groups if f in group] or [(f,)]
                for group in owners:
                    values = _slope_outside(part, f, group, knots) / len(owners)
                    _add(tables, places[list(group)], part.factor * values, united.grid.sizes)
    embedding = _embedding(parts, united.grid, tables, tabled)
    return embedding, _weights(embedding, tables), united


def _at_knots(part: Part, table: Table, knots: Sequence[Floats]) -> Floats:
    """Return values of a table of a part between the grid points of other knots, those beyond its range taken to its ends."""
    grid = part.embedding.grid
    if table.features[0] in part.scaled:
        (f,) = table.features
        if not grid.missing[f]:
            heights = np.interp(knots[0], grid.knots[f], table.values[0])
            return np.abs(heights[:, None] - heights)
        return GapScale.of(table.values).at_knots(grid.knots[f], knots[0]).table
    at = [_positions(grid, f, k) for f, k in zip(table.features, knots, strict=True)]
    sizes = tuple(int(grid.sizes[f]) for f in table.features)
    points = np.ravel_multi_index(np.meshgrid(*at, indexing="ij"), sizes).ravel()
    return table.values[np.ix_(points, points)]


def _positions(grid: Grid, f: int, knots: Floats) -> Integers:
    """Return the vertices of a feature that values of other knots are taken to, and that of missing values."""
    own = grid.knots[f]
    found = np.searchsorted(own, np.clip(knots, own[0], own[-1]))
    return np.append(found, len(own)) if grid.missing[f] else found


def _slope_outside(part: Part, f: int, group: tuple[int, ...], knots: Sequence[Floats]) -> Floats:
    """Return what slopes of a raw feature outside the range of a part add between the grid points of a group."""
    grid = part.embedding.grid
    excess = knots[f] - np.clip(knots[f], grid.low[f], grid.high[f])
    rise = rise_outside(excess[:, None], part.epsilon[[f]])[:, 0]
    rise = np.append(rise, 0.0) if grid.missing[f] else rise
    sizes = [len(knots[g]) + grid.missing[g] for g in group]
    at_points = rise[np.indices(sizes)[group.index(f)].ravel()]
    return np.abs(at_points[:, None] - at_points)


def _add(tables: Tables, features: Integers, values: Floats, sizes: Integers) -> None:
    order, n = np.argsort(features), len(features)
    shape = tuple(int(sizes[f]) for f in features)
    values = values.reshape(*shape, *shape).transpose(*order, *(n + order)).reshape(values.shape)
    group = tuple(int(f) for f in features[order])
    tables[group] = tables[group] + values if group in tables else values


def _embedding(parts: Sequence[Part], grid: Grid, tables: Tables, tabled: set[int]) -> PairMap:
    groups = list(tables)
    alike = all(p.embedding.symmetric and p.embedding.zero_diagonal for p in parts)
    if alike and all(len(g) == 1 for g in groups) and not any(map(_has_number_tables, parts)):
        return scales_of(grid, groups, tabled=tabled)
    symmetry = "tie" if all(p.embedding.symmetric for p in parts) else "none"
    embedding = PairEmbedding(grid, groups, symmetry=symmetry, zero_diagonal=all(p.embedding.zero_diagonal for p in parts))
    if not embedding.holds_tables:
        raise NotSupportedError(
            "the table of a group of features is too large to be held on the common knots; learn with fewer knots, or with the "
            "same knots="
        )
    return embedding


def _has_number_tables(part: Part) -> bool:
    grid = part.embedding.grid
    return any(grid.extends[f] and not grid.missing[f] for f in part.embedding.covered - part.scaled)


def _weights(embedding: PairMap, tables: Tables) -> Floats:
    if isinstance(embedding, MixedEmbedding):
        return np.concatenate([_weights(embedding.scales, tables), _weights(embedding.side_tables, tables)])
    if isinstance(embedding, PairEmbedding):
        return np.concatenate([tables[v.group].ravel()[v.keys] for v in embedding.vertices])
    return np.concatenate([_weights_of_scale(embedding.grid, group[0], tables[group]) for group in embedding.groups])


def _weights_of_scale(grid: Grid, f: int, table: Floats) -> Floats:
    return GapScale.of(table).weights if grid.missing[f] else np.diagonal(table, 1)


def _check_tables(embedding: PairMap) -> None:
    if not isinstance(embedding, (PairEmbedding, WarpedEmbedding, MixedEmbedding)):
        raise NotSupportedError(f"{type(embedding).__name__} has no mean; learned distances, and known ones, have one")
    if not embedding.continuous:
        raise NotSupportedError(
            'distances with symmetry="swap" have a mean only if all have the same groups and knots; learn them with the same '
            'knots=, or with Tables(symmetry="tie")'
        )
    if not (embedding.whole and embedding.holds_tables):
        raise NotSupportedError(
            "a table that is too large to be held whole has a mean only with one of the same groups and knots; learn them with "
            "the same knots=, or with fewer"
        )
