"""Which vertices are columns: all where tables are small, else those that the examples touch.

A vertex that is no column has the weight of the prior, so that the distance is positive there too.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from .._foundation.types import Integers, Pairs
from ..embeddings.pairs.full_tables import PairEmbedding
from .prior import L1Prior
from .structure import Structure

__all__ = ["keeps_all_vertices", "with_vertices", "vertices_of_columns", "vertices_of_pairs"]

_MANY_COLUMNS = 1_000  # above this number, vertices that no example touches are left out if they are most


def keeps_all_vertices(structure: Structure) -> bool:
    """Whether every vertex is a column, whatever the examples touch."""
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
