"""The prior: the weighted L1 distance (with categories, periodic or missing values Gower's) that the examples ask for.

Penalties shrink towards it, and columns that no example determines take its weights. Everything is in units of the mean
target, or of the margin, until `assembly` puts the distance into the user's unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats, Integers, Pairs
from ...data.schema import Feature, Schema
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..pairs.monotone_scales import GapScale, WarpedEmbedding
from ..pairs.scales_and_tables import MixedEmbedding
from ..pairs.vertices import Vertices
from ..programs.design_matrix import Moments, PairDesign
from ..programs.penalties import Quadratic
from ..solvers.base import Solution
from ..solvers.gram import Gram, solve_moments
from .structure import Structure


def given_weights(d: Semimetric, embedding: PairMap, schema: Schema) -> Floats:
    """The weights of the tables of a given distance on the columns of an embedding, shape (n_columns,).

    A feature that several groups share gives each an equal part; directions get none.
    """
    _check_features(d.schema, schema)
    n_raw = len(schema.names)
    tables = [_table(d, embedding.grid.vertices(f), schema, f) for f in range(n_raw)]
    lost = [schema.names[f] for f in range(n_raw) if f not in embedding.covered and tables[f].any()]
    if lost:
        raise NotSupportedError(f"prior= uses {lost[0]!r}, which groups= leaves out; name it in a group of its own")
    members = np.bincount([f for g in embedding.groups for f in g], minlength=n_raw)[:n_raw]
    shared = {f: table / max(members[f], 1) for f, table in enumerate(tables)}
    return _on_columns(embedding, shared)


def _on_columns(embedding: PairMap, tables: dict[int, Floats]) -> Floats:
    """The weights of the sum of tables of single features, by their number; features without one add nothing."""
    if isinstance(embedding, MixedEmbedding):
        return np.concatenate([_on_columns(e, tables) for e in (embedding.scales, embedding.side_tables)])
    if isinstance(embedding, WarpedEmbedding):
        out = np.zeros(embedding.n_columns)
        for g, (f,) in enumerate(embedding.groups):
            if f in tables:
                of_table = GapScale.of(tables[f]).weights if embedding.grid.missing[f] else np.diagonal(tables[f], 1)
                out[embedding.group_of_column == g] = of_table
        return out
    if not isinstance(embedding, PairEmbedding):
        raise NotSupportedError(f"prior= has no weights on a {type(embedding).__name__}; use full tables or scales")
    return np.concatenate([_sum_at(v, tables) for v in embedding.vertices])


def _sum_at(vertices: Vertices, tables: dict[int, Floats]) -> Floats:
    a, b = np.divmod(vertices.keys, vertices.n_points)
    total = np.zeros(len(a))
    for f, stride, size in zip(vertices.group, vertices.strides, vertices.sizes, strict=True):
        if f in tables:
            total += tables[f][a // stride % size, b // stride % size]
    return total


def _table(d: Semimetric, vertices: Floats, schema: Schema, f: int) -> Floats:
    """The given distance between vectors that differ in one feature, at all its vertices on a grid: shape (C, C)."""
    values = _recoded(vertices, schema.features[f], d.schema.features[f])
    n = len(values)
    points = np.tile(d.embedding.grid.low[: d.n_features], (n, 1))
    points[:, f] = values
    left, right = np.indices((n, n)).reshape(2, -1)
    return d.paired_by_index(points, np.column_stack([left, right])).reshape(n, n)


def _recoded(values: Floats, ours: Feature, given: Feature) -> Floats:
    """Encoded values of one feature as another feature encodes them: categories by their name, all others as they are."""
    if ours.kind != "categorical":
        return np.where(values == ours.period, 0.0, values) if ours.kind == "periodic" else values
    place = {category: float(k) for k, category in enumerate(given.categories)}
    codes = np.array([*(place.get(c, len(given.categories)) for c in ours.categories), len(given.categories), np.nan])
    return codes[np.where(np.isnan(values), len(codes) - 1, values).astype(np.int64)]


def _check_features(given: Schema, ours: Schema) -> None:
    """Refuse features of other names or kinds, and ones that may be missing although the given distance has no level."""
    if given.names != ours.names:
        raise InputError(f"prior= compares {', '.join(given.names)}, but the items have {', '.join(ours.names)}; give the same")
    for a, b in zip(given.features, ours.features, strict=True):
        same = replace(a, categories=b.categories, missing=b.missing) == b
        if not same or b.missing > a.missing:
            raise InputError(
                f"prior= has {a.name!r} as {a.kind}{' that may be missing' if a.missing else ''}, the items as {b.kind}"
                f"{' that may be missing' if b.missing else ''}; the same kinds and periods are required: make it with the "
                "same parameters"
            )


def given_distances(d: Semimetric, schema: Schema, pairs: Pairs) -> Floats:
    """The given distances of pairs of encoded items, shape (n_pairs,)."""
    _check_features(d.schema, schema)
    features = zip(pairs.items.T, schema.features, d.schema.features, strict=True)
    return d.paired_by_index(np.column_stack([_recoded(*part) for part in features]), pairs.index)


def best_multiple(given: Floats, target: Floats, weight: Floats) -> float:
    """The factor > 0 with which given distances come nearest to the targets, by weighted least squares."""
    product, square = float(weight @ (given * target)), float(weight @ (given * given))
    if not product > 0:
        raise InputError("prior= has nothing in common with the distances: its best multiple is 0; give another, or none")
    return product / square


_LEAST_SPREAD = 0.25  # of the typical spread: a feature that hardly ever differs must not get a steep slope for it
_LEAST_SLOPE = 1e-3  # of the slope of a uniform distance: a vertex that no example touches never gets the weight 0


@dataclass(frozen=True, eq=False)
class L1Prior:
    """A weighted L1 distance, one entry for every feature of the grid."""

    slopes: Floats  # shape (n_features,); the weight of each feature: distance per unit of the feature
    spread: Floats  # shape (n_features,); the root mean square difference of each feature in a pair, in the unit of the feature
    given: Semimetric | None = None  # a distance that takes its place, see `given_prior`
    multiple: float = 1.0  # the factor of the given distance

    def weights(self, structure: Structure) -> Floats:
        """The weights of the prior on the columns of a structure, shape (n_columns,)."""
        if self.given is None:
            return structure.embedding.prior(self.slopes)
        return self.multiple * given_weights(self.given, structure.embedding, structure.schema)

    def unseen_slopes(self, n_groups: int) -> Floats:
        """Slopes for vertices that no example touches: those of the prior, and never 0."""
        return np.maximum(self.slopes, _LEAST_SLOPE / (self.spread * n_groups))


def least_squares(moments: Moments, penalty: Quadratic, lower: Floats, start: Floats | None = None) -> Solution:
    """Solve a least-squares problem from its second moments, of any total weight; Ctrl-C raises KeyboardInterrupt."""
    return solve_moments(Gram(), moments.mean, penalty, lower, start).raise_if_interrupted()


def fit_l1_prior(structure: Structure, moments: Moments) -> L1Prior:
    """Fit the weighted L1 distance to the targets by least squares.

    Features are brought to equal spread, and a ridge of 1 % of the mean curvature pulls them to the best common scale, so
    that features that the pairs cannot separate share the distance.

    ``moments``: second moments of the columns of `l1_embedding`, followed by those of the base distances.
    """
    grid, n_base = structure.embedding.grid, len(structure.bases)
    n, total = len(moments.cross), moments.total
    varies, width = grid.varies, grid.widths
    rms = _floored(np.sqrt(np.diag(moments.gram) / total))
    gram, cross = moments.gram / np.outer(rms, rms), moments.cross / rms
    common = np.append(np.ones(n - n_base), np.zeros(n_base))
    level = max(float(common @ cross), 0.0) / max(float(common @ gram @ common), 1e-300)
    pull = np.append(np.full(n - n_base, 1e-2 * float(np.trace(gram)) / total / n), np.full(n_base, 1e-12))
    penalty = Quadratic(sparse.csr_array(sparse.diags_array(pull)), pull * level * common)
    rise = least_squares(Moments(gram, cross, moments.square, total, moments.n_rows), penalty, np.zeros(n)).weights / rms
    slopes, spread = np.zeros(grid.n_features), np.ones(grid.n_features)
    slopes[varies] = rise[: n - n_base] / width[varies]
    spread[varies] = rms[: n - n_base] * width[varies] / structure.embedding.n_sharing
    return L1Prior(slopes, spread)


def spread_of_pairs(
    structure: Structure, embedding: PairMap, pairs: Pairs, weight: Floats, n_jobs: int | None, *, least: float = _LEAST_SPREAD
) -> Floats:
    """The root mean square difference of every feature in a pair, shape (n_features,).

    ``embedding``: the `l1_embedding` of the structure. ``weight``: shape (n_pairs,); weights of the pairs, which sum to 1.
    ``least``: the smallest spread that a feature can have, as a fraction of the typical one; a constant feature has the spread
    1.
    """
    design = PairDesign(embedding, pairs, structure.directions, n_jobs=n_jobs)
    return spread_from_moments(structure, design.moments(np.zeros(len(weight)), weight), least)


def spread_from_moments(structure: Structure, moments: Moments, least: float = _LEAST_SPREAD) -> Floats:
    """`spread_of_pairs` from the second moments of the columns of `l1_embedding`, whose total weight is 1."""
    grid = structure.embedding.grid
    spread = np.ones(grid.n_features)
    spread[grid.varies] = _floored(moments.norms(), least) * grid.widths[grid.varies]
    return spread


def _floored(rms: Floats, least: float = _LEAST_SPREAD) -> Floats:
    """Spreads of at least ``least`` times the typical one, so that no slope is steep; the typical one where no pair differs."""
    typical = float(np.median(rms[rms > 0])) if (rms > 0).any() else 1.0
    return np.where(rms > 0, np.maximum(rms, least * typical), typical)


_MANY_COLUMNS = 1_000  # above this number, vertices that no example touches are left out if they are most


def keeps_all_vertices(structure: Structure) -> bool:
    """Return True if every vertex is a column, whatever the examples touch."""
    embedding = structure.embedding
    if not isinstance(embedding, PairEmbedding) or any(v.by_difference for v in embedding.vertices):
        return True
    return embedding.holds_tables and embedding.n_columns <= _MANY_COLUMNS


def vertices_of_pairs(structure: Structure, pairs: Pairs) -> list[Integers]:
    """The vertices that the pairs touch, one array of keys for every group of a `PairEmbedding`."""
    embedding = _full_tables(structure)
    return embedding.touched_by(embedding.locate(structure.features_of(pairs.items)), pairs.left, pairs.right)


def vertices_of_columns(structure: Structure) -> list[Integers]:
    """The vertices that are columns, one array of keys for every group of a `PairEmbedding`."""
    return [v.keys for v in _full_tables(structure).vertices]


def with_vertices(structure: Structure, vertices: Sequence[Integers], prior: L1Prior) -> Structure:
    """Keep columns only at these vertices, unless they are most of tables that can be held; the others take the prior.

    A prior that is given has tables of its own, so all vertices of tables that can be held stay columns.
    """
    embedding = _full_tables(structure)
    restricted = embedding.restricted(vertices, prior.unseen_slopes(len(embedding.groups)))
    if embedding.holds_tables and (prior.given is not None or restricted.n_columns > embedding.n_columns // 2):
        return structure
    return replace(structure, embedding=restricted)


def _full_tables(structure: Structure) -> PairEmbedding:
    """The embedding as a `PairEmbedding`: vertices are left out of full tables alone."""
    return cast(PairEmbedding, structure.embedding)
