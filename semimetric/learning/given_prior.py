"""A distance that learning starts from: the weights of its tables on the columns of a structure, and its scale in the data.

Penalties that draw weights to the weighted L1 distance of the data draw them to the given one instead, and differences of
tables are those of what is learned minus what is given. So alpha -> infinity gives the distance back, times the one number
that fits the examples best, wherever the knots hold it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats, Pairs
from ..data.feature import Feature
from ..data.schema import Schema
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding
from ..embeddings.pairs.vertices import Vertices

__all__ = ["best_multiple", "check_prior", "given_distances", "given_weights"]


def check_prior(d: object) -> None:
    """Refuse what is no distance that is a sum over single features.

    Raises
    ------
    InputError, NotSupportedError
    """
    if not isinstance(d, Semimetric):
        raise InputError(
            f"prior= is a {type(d).__name__}; a Semimetric is required: give gower(X), or model.semimetric_ of a fitted learner"
        )
    if d.directions is not None or d.base_distances or d.link != "identity" or any(len(g) > 1 for g in d.embedding.groups):
        raise NotSupportedError(
            "prior= must be a sum over single features, whose tables can be drawn to one by one; this one has directions, "
            'joint groups, base distances or link="sqrt": give gower(X), or learn it without these'
        )
    if not (d.axioms.nonnegative and d.axioms.zero_on_diagonal and d.axioms.symmetric):
        raise NotSupportedError(f"prior= is {d.axioms.name}, but a symmetric distance >= 0 is required; learn it with axioms")


def given_weights(d: Semimetric, embedding: PairMap, schema: Schema) -> Floats:
    """The weights of the tables of a given distance on the columns of an embedding, shape (n_columns,).

    A feature that several groups share gives each an equal part; directions get none.

    Raises
    ------
    InputError
        If its features are others than those of ``schema``, which are the first of the embedding.
    NotSupportedError
        If no group has a feature that the distance uses.
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
        cells = embedding.grid.sizes - 1
        rises = [np.diagonal(tables[f], 1) if f in tables else np.zeros(cells[f]) for (f,) in embedding.groups]
        return np.concatenate([np.empty(0), *rises])
    if not isinstance(embedding, PairEmbedding):
        raise NotSupportedError(f"prior= has no weights on a {type(embedding).__name__}; use full tables or scales")
    return np.concatenate([_sum_at(v, tables) for v in embedding.vertices])


def _sum_at(vertices: Vertices, tables: dict[int, Floats]) -> Floats:
    """The sum of the tables of the features of a group at its vertices (a, b) that have a column."""
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
    """The factor > 0 with which given distances come nearest to the targets, by weighted least squares.

    Raises
    ------
    InputError
        If no factor brings them nearer than 0 does.
    """
    product, square = float(weight @ (given * target)), float(weight @ (given * given))
    if not product > 0:
        raise InputError("prior= has nothing in common with the distances: its best multiple is 0; give another, or none")
    return product / square
