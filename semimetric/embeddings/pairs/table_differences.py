"""Tensor differences of tables (docs/mathematics.md, section 2; P-splines as in paper 1).

The table of a group has the axes a_1 ... a_g, b_1 ... b_g. Differences of order 1 ("tables") are mixed differences over the
2 x 2 blocks along every two axes. Differences of order 2 ("curves") are second divided differences along every axis. Both leave
out stencils that are centred on a_f = b_f, where the table of an L1 distance has its kink. So order 1 is zero exactly on sums
of warped L1 distances (given w >= 0), and order 2 exactly on weighted L1 distances. "shifts" are the differences between (a, b)
and its diagonal neighbour along one feature.

Differences run along the knots of numbers, never to the level of missing values nor between categories. A periodic feature has
only shifts, which wrap around, because a distance on a circle has a second kink, at the antipode.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.types import Floats

__all__ = ["table_differences"]

# the columns of each corner, the factors of each corner, and which stencils are kept; all arrays have the same shape
Stencil = tuple[list[NDArray[np.int32]], list[Floats], NDArray[np.bool_]]


class _Axes(NamedTuple):
    """The kind and the knots of every feature of a group."""

    kinds: Sequence[str]
    knots: Sequence[Floats]

    def count(self, axis: int) -> int:
        """The number of knots along an axis of the table."""
        return len(self.knots[axis % len(self.knots)])

    def of_numbers(self, n_axes: int) -> list[int]:
        """Those of the ``n_axes`` axes of the table that belong to numeric features."""
        return [p for p in range(n_axes) if self.kinds[p % len(self.kinds)] == "numeric"]


def table_differences(
    lookup: NDArray[np.int32],
    sizes: Sequence[int],
    knots: Sequence[Floats],
    *,
    kind: str,
    n_columns: int,
    kinds: Sequence[str] = (),
) -> sparse.csr_array:
    """The rows of D for one group, shape (n_differences, n_columns).

    ``lookup``, of shape (C²,), is the column of every vertex; n_columns on the diagonal, and more for other vertices without a
    column.
    """
    axes = _Axes(tuple(kinds) or ("numeric",) * len(knots), knots)
    table = _without_seams(lookup.reshape(*sizes, *sizes), axes)
    make = {"tables": _blocks, "curves": _lines, "shifts": lambda t, a: _shifts(t, a, n_columns)}[kind]
    parts = [_matrix(stencil, n_columns) for stencil in make(table, axes)]
    return sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, n_columns))


def _without_seams(table: NDArray[np.int32], axes: _Axes) -> NDArray[np.int32]:
    """The table without the last vertex of every periodic feature, which is the first again."""
    for p in range(table.ndim):
        if axes.kinds[p % len(axes.kinds)] == "periodic":
            table = np.delete(table, axes.count(p) - 1, axis=p)
    return table


def _blocks(table: NDArray[np.int32], axes: _Axes) -> Iterator[Stencil]:
    """The mixed differences w[k, l] - w[k + 1, l] - w[k, l + 1] + w[k + 1, l + 1] along every two axes."""
    n_features = table.ndim // 2
    for p, q in combinations(axes.of_numbers(table.ndim), 2):
        t = np.moveaxis(table, (p, q), (0, 1))[: axes.count(p), : axes.count(q)]
        corners = [t[:-1, :-1], t[1:, :-1], t[:-1, 1:], t[1:, 1:]]
        keep = np.ones(corners[0].shape, dtype=bool)
        if q == p + n_features:
            centre = np.arange(len(keep))
            keep[centre, centre] = False
        yield corners, [np.full(keep.shape, s) for s in (1.0, -1.0, -1.0, 1.0)], keep


def _lines(table: NDArray[np.int32], axes: _Axes) -> Iterator[Stencil]:
    """The differences h [(w[k + 1] - w[k]) / h_k - (w[k] - w[k - 1]) / h_(k - 1)] along every axis.

    h is the mean of the widths h_k and h_(k - 1) of the two cells.
    """
    n_features = table.ndim // 2
    for p in axes.of_numbers(table.ndim):
        partner = (p + n_features) % table.ndim
        t = np.moveaxis(table, (p, partner), (0, 1))[: axes.count(p)]
        width = np.diff(axes.knots[p % n_features])
        left, right = width[:-1], width[1:]
        mean = (left + right) / 2
        shape = [max(t.shape[0] - 2, 0), *t.shape[1:]]
        across = [-1] + [1] * (t.ndim - 1)
        factors = [np.broadcast_to(f.reshape(across), shape) for f in (mean / left, -mean / left - mean / right, mean / right)]
        keep = np.ones(shape, dtype=bool)
        middle = np.arange(shape[0])
        keep[middle, middle + 1] = False
        yield [t[:-2], t[1:-1], t[2:]], factors, keep


def _shifts(table: NDArray[np.int32], axes: _Axes, none: int) -> Iterator[Stencil]:
    """The differences s[k + 1, l + 1] - s[k, l] along (a_f, b_f), between vertices that both have a column.

    Around a circle, k + 1 and l + 1 wrap around.
    """
    n_features = table.ndim // 2
    for p in range(n_features):
        t = np.moveaxis(table, (p, p + n_features), (0, 1))
        if axes.kinds[p] == "numeric":
            t = t[: axes.count(p), : axes.count(p)]
            corners = [t[1:, 1:], t[:-1, :-1]]
        elif axes.kinds[p] == "periodic":
            t = t[: axes.count(p) - 1, : axes.count(p) - 1]
            corners = [np.roll(t, (-1, -1), axis=(0, 1)), t]
        else:
            continue
        keep = (corners[0] < none) & (corners[1] < none)
        yield corners, [np.ones(keep.shape), -np.ones(keep.shape)], keep


def _matrix(stencil: Stencil, n_columns: int) -> sparse.csr_array:
    """The rows of D of the stencils that are kept and in which some column has a factor other than 0."""
    corners, factors, keep = stencil
    for c in corners:  # the differences of a vertex that has no column, and is not on the diagonal, are not known
        keep = keep & (c <= n_columns)
    columns = np.stack([c[keep] for c in corners], axis=1)
    values = np.stack([f[keep] for f in factors], axis=1)
    rows = np.repeat(np.arange(len(columns)), columns.shape[1]) if columns.size else np.empty(0, np.int64)
    real = columns.ravel() < n_columns
    entries = (values.ravel()[real], (rows[real], columns.ravel()[real]))
    matrix = sparse.csr_array(entries, shape=(len(columns), n_columns))
    matrix.eliminate_zeros()
    return matrix[np.diff(matrix.indptr) > 0]
