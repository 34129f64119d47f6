"""The features of several distances over one schema, side by side: what the terms of their sum are over.

Terms over the same feature with the same knots add up. Otherwise

- scales of a number are piecewise linear, so they add up on the union of their knots;
- a table between other knots does not, as the cells of two grids cross: it stands over a copy of its feature, a direction
  that is the feature itself, with knots of its own;
- beyond its own range a distance goes on with a slope, which is a scale up to the end of the common range;
- directions and trees stand side by side, unless they are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats, Integers
from ..data.grid import Grid
from ..data.schema import Schema
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.directions.partitions import Partitions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding

__all__ = ["Part", "UnitedFeatures", "united_features"]

Key: TypeAlias = tuple[Any, ...]  # what a feature is: two of the same key are one feature


@dataclass(frozen=True, eq=False)
class Part:
    """One of the distances that are added.

    Parameters
    ----------
    embedding : PairMap
        With a column for every vertex.
    weights : ndarray of shape (n_columns,)
    epsilon : ndarray of shape (n_features + n_directions, 2)
    directions : Directions or None
    factor : float
        How many times it counts.
    """

    embedding: PairMap
    weights: Floats
    epsilon: Floats
    directions: Directions | None
    factor: float

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
    """The features of a sum: raw ones, then linear directions and copies, then trees.

    Parameters
    ----------
    grid : Grid
    epsilon : ndarray of shape (n_features, 2)
    directions : Directions or None
    places : list of ndarray of int64
        For each part, the number here of each of its embedded features.
    knots : list of list of ndarray
        For each part, the knots of each of its embedded features here, in the unit of the part.
    """

    grid: Grid
    epsilon: Floats
    directions: Directions | None
    places: list[Integers]
    knots: list[list[Floats]]


def united_features(parts: Sequence[Part], schema: Schema) -> UnitedFeatures:
    """The features of the sum of the parts.

    Raises
    ------
    NotSupportedError
        If an angle has other knots in one than in another, or some directions bend and others do not.
    """
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
    """The directions of the sum: linear ones and copies of features, then trees."""
    if not linear and not trees:
        return None
    width = sum(len(b) - 1 for b in bends) if bends else n_raw
    matrix = np.array([c.row for c in linear]).reshape(len(linear), width)
    grown = [c.tree for c in trees if c.tree is not None]
    tied = all(tree.tied for tree in grown)
    together = Partitions.together([replace(tree, tied=tied) for tree in grown]) if grown else None
    return Directions(matrix, tuple(c.name for c in (*linear, *trees)), bends, together)


def _raw_column(parts: Sequence[Part], schema: Schema, f: int) -> _Column:
    """A raw feature, with the knots of the first part that has a term over it."""
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
    """The least and the largest knot of a feature in any part."""
    return np.array([min(p.embedding.grid.low[f] for p in parts), max(p.embedding.grid.high[f] for p in parts)])


def _extended(parts: Sequence[Part], knots: Floats, f: int) -> Floats:
    """Knots of a feature, and the ends of the range of all parts."""
    return np.union1d(knots, _ends(parts, f))


def _class_of(parts: Sequence[Part], part: Part, f: int) -> Floats | None:
    """The knots between which the terms of a part over a raw number lie in the sum; None if it has none.

    All scales of the number have the same knots, and so has a slope outside the range of its part alone.
    """
    if not part.embedding.grid.extends[f]:
        return None
    if f in part.embedding.covered and f not in part.scaled:
        return _extended(parts, part.embedding.grid.knots[f], f)
    if f not in part.embedding.covered and not goes_on(parts, part, f):
        return None
    as_scales = [p.embedding.grid.knots[f] for p in parts if f not in p.embedding.covered or f in p.scaled]
    return _extended(parts, np.unique(np.concatenate(as_scales)), f)


def goes_on(parts: Sequence[Part], part: Part, f: int) -> bool:
    """Whether the range of a raw feature in a part ends before that of all parts, and it has a slope from there on."""
    grid = part.embedding.grid
    return bool(part.epsilon[f].any() and grid.extends[f] and (_ends(parts, f) != [grid.low[f], grid.high[f]]).any())


def _united_bends(parts: Sequence[Part], n_raw: int) -> tuple[Floats, ...]:
    """The knots at which directions bend, of all parts and up to the ends of every number; empty if none bends."""
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
    """The direction that is a raw feature less a number, and that number."""
    if not bends:
        return np.eye(n_raw)[f], 0.0
    rises = [np.diff(b) if g == f else np.zeros(len(b) - 1) for g, b in enumerate(bends)]
    return np.concatenate(rises), float(bends[f][0])


def _directions_of(part: Part, n_raw: int, bends: tuple[Floats, ...]) -> list[tuple[Key, _Column]]:
    """The directions of a part with their keys: linear ones, then trees."""
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
            key = ("tree", *(array.tobytes() for _, array in column.tree.arrays()))
        found.append((key, column))
    return found


def _over_bends(directions: Directions, row: Floats, bends: tuple[Floats, ...]) -> Floats:
    """The row of a direction over the united bends: how far it rises through each cell of these."""
    if not bends:
        return row
    ends = np.cumsum([len(b) - 1 for b in directions.bends])[:-1]
    heights = [np.append(0.0, np.cumsum(rises)) for rises in np.split(row, ends)]
    return np.concatenate([np.diff(np.interp(u, b, h)) for u, b, h in zip(bends, directions.bends, heights, strict=True)])
