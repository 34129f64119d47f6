"""The pairs of grid points whose distances are the weights of full tables, which ``method="vertices"`` sets one by one."""

from __future__ import annotations

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats, Pairs
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.triangle_inequality import Triangles
from ..embeddings.pairs.vertices import WHOLE_TABLE
from ..learning.recipe import Recipe
from ..learning.structure import Structure

__all__ = ["check_separable", "check_triangles", "vertex_pairs"]

_MOST_VERTICES = 5_000_000


def check_separable(structure: Structure) -> Structure:
    """The structure, if its tables can be set one by one; this is checked before any call of the distance."""
    embedding = structure.embedding
    features = [f for g in embedding.groups for f in g]
    if not structure.schema.plain:
        raise NotSupportedError(
            'method="vertices" needs features of numbers that are always there; use method="regress" for categories, periodic '
            "features and missing values"
        )
    if structure.directions is not None or structure.bases or not isinstance(embedding, PairEmbedding):
        raise NotSupportedError('method="vertices" needs full tables on raw features: no directions, no base distances')
    if len(set(features)) < len(features):
        raise NotSupportedError('method="vertices" needs groups that share no feature; use method="regress"')
    large = [v for v in embedding.vertices if not v.fits]
    if large:
        raise InputError(
            f"the table of group {large[0].group} has {large[0].n_points}² vertices; at most {WHOLE_TABLE} can be held: "
            "use fewer knots or smaller groups"
        )
    if sum(len(v.keys) for v in embedding.vertices) > _MOST_VERTICES:
        raise InputError(f"more than {_MOST_VERTICES} vertices would have to be evaluated; use fewer knots or smaller groups")
    return structure


def check_triangles(recipe: Recipe, embedding: PairMap, weights: Floats) -> None:
    """Refuse values at the vertices that break the triangle inequality, where the recipe asks for it."""
    if not recipe.asks_triangle:
        return
    worst = [d for d in Triangles.of(embedding).worst(weights) if not d.holds]
    if worst:
        raise InputError(
            f"distance= breaks the triangle inequality by {max(d.excess for d in worst):g} at the vertices, but "
            f'axioms={recipe.axioms!r} asks for it; use method="regress", or metric_repair on a model with axioms="semimetric"'
        )


def vertex_pairs(embedding: PairEmbedding, centre: Floats) -> Pairs:
    """The columns as pairs of grid points, group after group; the features of other groups are those of ``centre``."""
    items, index = [np.empty((0, len(centre)))], [np.empty((0, 2), np.int64)]
    start = 0
    for v in embedding.vertices:
        points = np.tile(centre, (v.n_points, 1))
        for f, values in zip(v.group, v.coordinates(embedding.grid, np.arange(v.n_points)), strict=True):
            points[:, f] = values
        items.append(points)
        index.append(start + np.column_stack(np.divmod(v.keys, v.n_points)))
        start += v.n_points
    return Pairs(np.concatenate(items), np.concatenate(index))
