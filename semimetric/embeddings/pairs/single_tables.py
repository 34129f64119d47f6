"""All pairs of items under tables of single features."""

from __future__ import annotations

import numpy as np

from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import Floats
from ..._kernels.simplex import Located, Singles
from ..._kernels.tables import add_single_tables, add_vertex_tables

__all__ = ["pairwise_of_singles"]

_BLOCK = 4096  # items of y whose distances to an item of x are in the cache at once


def pairwise_of_singles(x: Located, y: Located, singles: Singles, weights: Floats, *, n_jobs: int | None) -> Floats:
    """The sums of the tables of single features for all items x and all items y, shape (n, m).

    Features all of whose values lie at vertices, such as categories and leaves of trees, need one look-up a value; the others
    need two (docs/mathematics.md, section 4).

    Parameters
    ----------
    x, y : Located
    singles : Singles
    weights : ndarray of shape (n_columns + 1,)
        The last is that of vertices without a column.
    n_jobs : int or None
    """
    tables = weights[singles.lookup]
    at_vertices = (_are_whole(x) & _are_whole(y))[singles.feature]
    between, at = (_some(singles, np.flatnonzero(which)) for which in (~at_vertices, at_vertices))
    dtype = np.uint8 if singles.size.max(initial=1) <= 256 else np.uint16
    code, vertex_of_x, vertex_of_y = y.lower.T.astype(dtype), _vertices(x), _vertices(y).T.astype(dtype)
    fraction = np.ascontiguousarray(y.fraction.T)
    nonnegative = bool((weights >= 0).all())
    out = np.empty((len(x.lower), len(y.lower)))

    def fill(block: slice) -> None:
        rows = np.arange(block.start, block.stop)
        for part in blocks(len(y.lower), _BLOCK):
            distances = np.zeros((len(rows), part.stop - part.start))
            add_single_tables(x, rows, code[:, part], fraction[:, part], between, tables, distances)
            add_vertex_tables(vertex_of_x, rows, vertex_of_y[:, part], at, tables, distances)
            out[block, part] = distances
        if nonnegative:  # a sum of tiny differences of large tables may round to just below 0
            np.maximum(out[block], 0.0, out=out[block])

    map_blocks(fill, len(x.lower), size=16, n_jobs=n_jobs)
    return out


def _some(singles: Singles, groups: np.ndarray) -> Singles:
    """Some of the groups, over the same look-up table."""
    return singles._replace(feature=singles.feature[groups], size=singles.size[groups], start=singles.start[groups])


def _are_whole(items: Located) -> np.ndarray:
    """Whether all values of each feature lie at vertices, shape (n_features,)."""
    return np.asarray(((items.fraction == 0.0) | (items.fraction == 1.0)).all(axis=0))


def _vertices(items: Located) -> np.ndarray:
    """The vertex of every value that lies at one, shape (n_items, n_features)."""
    return np.where(items.fraction == 1.0, items.upper, items.lower)
