"""The one-feature parts of a distance as plain arrays: what a search tabulates and an exported metric holds.

sum over f of  t_f(x_f, y_f) + epsilon_f |e_f(x) - e_f(y)|,      e(x) = x - clip(x)
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats, Integers
from .._kernels.metric import make_metric
from .._kernels.search import Scales
from .._kernels.simplex import Located
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding

__all__ = ["SingleParts", "compiled_metric", "part_of", "single_groups", "single_parts"]


class SingleParts(NamedTuple):
    """One part a feature: its number, the unit of what lies outside its range, and the tables.

    The first ``n_tables`` features have a table of their own, the others only a slope outside (their tables are zero). What
    lies outside the range of a number that may be missing is a part of its own, since positions that went on beyond the range
    would meet the missing level; ``within`` and ``beyond`` say of which a part's position is made.
    """

    features: Integers
    n_tables: int
    unit: Floats
    scales: Scales
    within: NDArray[np.bool_]
    beyond: NDArray[np.bool_]

    def positions(self, located: Located, excess: Floats) -> Floats:
        """Positions of located values (n, F), shape (n, n_parts)."""
        f = self.features
        inside, outside = located.lower[:, f] + located.fraction[:, f], excess[:, f] / self.unit
        if self.within.all() and self.beyond.all():
            return inside + outside
        return np.where(self.within, inside, 0.0) + np.where(self.beyond, outside, 0.0)


def single_groups(embedding: PairMap) -> Integers:
    """Groups of one feature whose table is at hand. Under the swap no part stands alone."""
    held = [v.held for v in embedding.vertices] if isinstance(embedding, PairEmbedding) else None
    alone = [g for g, group in enumerate(embedding.groups) if len(group) == 1 and (held is None or held[g])]
    return np.array(alone if embedding.continuous else [], dtype=np.int64)


def part_of(embedding: PairMap, weights: Floats, groups: Integers) -> tuple[PairMap, Floats]:
    """The map of some groups over their own features, and its weights."""
    features = np.unique([f for g in groups for f in embedding.groups[g]]).astype(np.int64)
    return embedding.select(groups, features), weights[np.isin(embedding.group_of_column, groups)]


def single_parts(embedding: PairMap, weights: Floats, epsilon: Floats, *, transposed: bool = False) -> SingleParts:
    """The one-feature parts; tables have the first vector's vertex first, or the second's if ``transposed``."""
    grid, groups = embedding.grid, single_groups(embedding)
    own = np.array([embedding.groups[g][0] for g in groups], dtype=np.int64)
    missing, sloped = np.array(grid.missing), np.flatnonzero(epsilon)
    features = np.concatenate([own, sloped[missing[sloped] | ~np.isin(sloped, own)]])
    tables = []
    if len(groups):
        part, w = part_of(embedding, weights, groups)
        tables = [table.values.T if transposed else table.values for table in part.tables(w)]
    table, apart = np.arange(len(features)) < len(own), missing[features]
    size, width = np.where(apart & ~table, 1, grid.sizes[features]), (grid.high - grid.low)[features]
    unit = np.where(width > 0, width, 1.0)
    tables += [np.zeros((c, c)) for c in size[len(own) :]]
    flat = np.concatenate([t.ravel() for t in tables]) if tables else np.empty(0)
    slopes = np.where(apart & table, 0.0, epsilon[features] * unit)
    scales = Scales(size, _starts(size * size), _starts(2 * np.maximum(size - 1, 1)), slopes, flat)
    return SingleParts(features, len(own), unit, scales, table | ~apart, ~(table & apart))


def compiled_metric(
    embedding: PairMap, weights: Floats, epsilon: Floats, matrix: Floats, *, root: bool
) -> Callable[[Floats, Floats], float]:
    """The sum as a compiled function of two raw vectors; ``matrix`` gives the directions, shape (n_directions, n_features)."""
    if len(single_groups(embedding)) < len(embedding.groups):
        raise NotSupportedError(
            "only sums over single features can be compiled, and this model has joint groups; search it with NeighborIndex, "
            "or give it as it is, as a callable metric"
        )
    parts = single_parts(embedding, weights, epsilon)
    knots = np.concatenate([embedding.grid.knots[f] for f in parts.features])
    starts = np.concatenate([[0], np.cumsum(parts.scales.size)])
    rows = np.vstack([np.eye(matrix.shape[1]), matrix])[parts.features]
    return make_metric(parts.scales, knots, starts, parts.unit, rows, root)


def _starts(counts: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
