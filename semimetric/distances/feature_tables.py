"""The terms of a distance that depend on single features, as plain arrays for searches.

sum over f of  t_f(x_f, y_f) + |r_f(x) - r_f(y)|,      r_f the rise outside the range, see `rise_outside`
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from .._kernels.search import Scales
from .._kernels.simplex import Located
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding

__all__ = ["SingleParts", "part_of", "single_groups", "single_parts"]


class SingleParts(NamedTuple):
    """The parts of a distance that depend on one feature each.

    The first ``n_tables`` parts have a table; the others have only a slope outside the range of their feature, and a table of
    zeros. A feature that may be missing has two parts, because positions beyond its range would meet the level of missing
    values: one for its table and one for its slope outside.

    Attributes
    ----------
    features : ndarray of shape (n_parts,)
        The number of the feature of each part.
    n_tables : int
    unit : ndarray of shape (n_parts,)
        The length outside the range of the feature that counts as one position.
    scales : Scales
        The tables and slopes, as kernels take them.
    within, beyond : ndarray of bool of shape (n_parts,)
        Whether the position of a part counts the position in the range, and the excess outside of it.
    """

    features: Integers
    n_tables: int
    unit: Floats
    scales: Scales
    within: NDArray[np.bool_]
    beyond: NDArray[np.bool_]

    def positions(self, located: Located, excess: Floats) -> Floats:
        """The positions of located items in every part, shape (n_items, n_parts); ``excess`` is that of `Grid.excess`."""
        f = self.features
        inside = located.lower[:, f] + located.fraction[:, f]
        outside = excess[:, f] / self.unit
        if self.within.all() and self.beyond.all():
            return inside + outside
        return np.where(self.within, inside, 0.0) + np.where(self.beyond, outside, 0.0)


def single_groups(embedding: PairMap) -> Integers:
    """The numbers of the groups of one feature whose tables are in memory; none if symmetry is by swapping."""
    held = [v.held for v in embedding.vertices] if isinstance(embedding, PairEmbedding) else None
    single = [g for g, group in enumerate(embedding.groups) if len(group) == 1 and (held is None or held[g])]
    return np.array(single if embedding.continuous else [], dtype=np.int64)


def part_of(embedding: PairMap, weights: Floats, groups: Integers) -> tuple[PairMap, Floats]:
    """The embedding of some of the groups, over the features of these groups alone, and the weights of its columns."""
    features = np.unique([f for g in groups for f in embedding.groups[g]]).astype(np.int64)
    return embedding.select(groups, features), weights[np.isin(embedding.group_of_column, groups)]


def single_parts(embedding: PairMap, weights: Floats, epsilon: Floats, *, transposed: bool = False) -> SingleParts:
    """The parts of single features; the vertex of the first vector runs along the rows of a table.

    With ``transposed`` it runs along the columns. The slopes ``epsilon`` (n_features, 2) are those below and above the range.
    """
    grid = embedding.grid
    groups = single_groups(embedding)
    with_table = np.array([embedding.groups[g][0] for g in groups], dtype=np.int64)
    missing = np.array(grid.missing)
    sloped = np.flatnonzero(epsilon.any(axis=1))
    features = np.concatenate([with_table, sloped[missing[sloped] | ~np.isin(sloped, with_table)]])
    tables = []
    if len(groups):
        part, w = part_of(embedding, weights, groups)
        tables = [table.values.T if transposed else table.values for table in part.tables(w)]
    has_table = np.arange(len(features)) < len(with_table)
    may_miss = missing[features]
    size = np.where(may_miss & ~has_table, 1, grid.sizes[features])
    width = (grid.high - grid.low)[features]
    unit = np.where(width > 0, width, 1.0)
    tables += [np.zeros((c, c)) for c in size[len(with_table) :]]
    flat = np.concatenate([t.ravel() for t in tables]) if tables else np.empty(0)
    slopes = np.where((may_miss & has_table)[:, None], 0.0, epsilon[features] * unit[:, None])
    scales = Scales(size, _starts(size * size), _starts(2 * np.maximum(size - 1, 1)), slopes, flat)
    return SingleParts(features, len(with_table), unit, scales, has_table | ~may_miss, ~(has_table & may_miss))


def _starts(counts: Integers) -> Integers:
    """Where each of consecutive parts with these lengths begins."""
    return np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
