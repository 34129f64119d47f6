"""The joint ID embedding of pairs: full tables over groups of features (paper 2, section 3).

    d(x, y) = sum_S w_S · ID([x_S, y_S]; [V_S; V_S])

A group of g features with C grid points has up to C² vertices (a, b), and a pair has 2g + 1 non-zero entries in it. The
vertices (a, b) and (b, a) share a column, which makes the distance symmetric for all weights; the vertices (a, a) have no
column, so that d(x, x) = 0 for all weights.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import arguments_of, storable
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice
from ..._kernels.jit import read_only
from ..._kernels.simplex import Groups, Located, Singles, group_rows_of_pairs, single_rows
from ..._kernels.tables import add_single_tables, add_vertex_tables
from ...data.feature_groups import resolve_groups
from ...data.grid import Grid
from .base import Items, PairMap, Table, check_columns, check_rows, signs_on_grid
from .rows import SparseRows
from .vertices import Vertices


def fill_unseen(table: Floats, kinds: Sequence[str], counts: Sequence[int], *, over_all: bool = False) -> Floats:
    """Return a copy of the table of a group with weights of new categories, which have the last knot of their feature.

    They are means over all categories if ``over_all``, else over the other ones.
    """
    out = table.copy()
    n = len(kinds)
    for f, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        known = count - 1
        if kind != "categorical" or known < 2:  # nothing was learned of a feature with a single category
            continue
        t = np.moveaxis(out, (f, f + n), (0, 1))
        same = t[np.arange(known), np.arange(known)]
        left_out, n_averaged = (0.0, known) if over_all else (same, known - 1)
        t[:known, known] = (t[:known, :known].sum(axis=1) - left_out) / n_averaged
        t[known, :known] = (t[:known, :known].sum(axis=0) - left_out) / n_averaged
        t[known, known] = same.mean(axis=0)
        if t.shape[0] > count:  # the level of missing values
            t[known, count:] = t[:known, count:].mean(axis=0)
            t[count:, known] = t[count:, :known].mean(axis=1)
    return out


_BLOCK = 4096  # items of y whose distances to an item of x are in the cache at once


def pairwise_of_singles(x: Located, y: Located, singles: Singles, weights: Floats, *, n_jobs: int | None) -> Floats:
    """Return the sums of the tables of single features for all items x and y, (n, m): docs/mathematics.md, section 4."""
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
    return singles._replace(feature=singles.feature[groups], size=singles.size[groups], start=singles.start[groups])


def _are_whole(items: Located) -> np.ndarray:
    return np.asarray(((items.fraction == 0.0) | (items.fraction == 1.0)).all(axis=0))


def _vertices(items: Located) -> np.ndarray:
    return np.where(items.fraction == 1.0, items.upper, items.lower)


# the columns of each corner, the factors of each corner, and which stencils are kept; all arrays have the same shape
Stencil = tuple[list[NDArray[np.int32]], list[Floats], NDArray[np.bool_]]


class _Axes(NamedTuple):
    """The kind and the knots of every feature of a group."""

    kinds: Sequence[str]
    knots: Sequence[Floats]

    def count(self, axis: int) -> int:
        """Return the number of knots along an axis of the table."""
        return len(self.knots[axis % len(self.knots)])

    def of_numbers(self, n_axes: int) -> list[int]:
        """Return those of the ``n_axes`` axes of the table that belong to numeric features."""
        return [p for p in range(n_axes) if self.kinds[p % len(self.kinds)] == "numeric"]


def table_differences(
    lookup: NDArray[np.int32],
    sizes: Sequence[int],
    knots: Sequence[Floats],
    *,
    kind: str,
    n_columns: int,
    kinds: Sequence[str] = (),
) -> Iterator[Stencil]:
    """Return the stencils of the rows of D for one group; ``lookup`` (C²,) is the column of every vertex."""
    axes = _Axes(tuple(kinds) or ("numeric",) * len(knots), knots)
    table = _without_seams(lookup.reshape(*sizes, *sizes), axes)
    make = {"tables": _blocks, "curves": _lines, "shifts": lambda t, a: _shifts(t, a, n_columns)}[kind]
    return make(table, axes)


def _without_seams(table: NDArray[np.int32], axes: _Axes) -> NDArray[np.int32]:
    for p in range(table.ndim):
        if axes.kinds[p % len(axes.kinds)] == "periodic":
            table = np.delete(table, axes.count(p) - 1, axis=p)
    return table


def _blocks(table: NDArray[np.int32], axes: _Axes) -> Iterator[Stencil]:
    """Return the mixed differences w[k, l] - w[k + 1, l] - w[k, l + 1] + w[k + 1, l + 1] along every two axes."""
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
    """Return h [(w[k + 1] - w[k]) / h_k - (w[k] - w[k - 1]) / h_(k - 1)] along every axis; h is the mean of both widths."""
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
    """Return the differences s[k + 1, l + 1] - s[k, l] along (a_f, b_f), between vertices that both have a column."""
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


_ENTRIES = 1 << 18  # So many entries become a matrix together: few would take the time of a call, and many the memory.


def _matrix(stencils: Iterable[Stencil], n_columns: int) -> sparse.csr_array:
    """Return the rows of D of the stencils that are kept and in which some column has a factor other than 0."""
    parts: list[sparse.csr_array] = []
    waiting: list[Stencil] = []
    for stencil in stencils:
        waiting.append(stencil)
        if sum(keep.size * len(corners) for corners, _, keep in waiting) >= _ENTRIES:
            parts.append(_rows_of(waiting, n_columns))
            waiting = []
    parts.append(_rows_of(waiting, n_columns))
    return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")


def _rows_of(stencils: Sequence[Stencil], n_columns: int) -> sparse.csr_array:
    columns, values, rows, n_rows = [np.empty(0, np.int32)], [np.empty(0)], [np.empty(0, np.int64)], 0
    for corners, factors, keep in stencils:
        for c in corners:  # the differences of a vertex that has no column, and is not on the diagonal, are not known
            keep = keep & (c <= n_columns)
        n_kept = int(keep.sum())
        for c, factor in zip(corners, factors, strict=True):
            column = c[keep]
            real = column < n_columns
            columns.append(column[real])
            values.append(factor[keep][real])
            rows.append(n_rows + np.flatnonzero(real))
        n_rows += n_kept
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    matrix = sparse.csr_array(entries, shape=(n_rows, n_columns))
    matrix.eliminate_zeros()
    return matrix[np.diff(matrix.indptr) > 0]


@storable
class PairEmbedding(PairMap):
    """The embedding of pairs in full tables over groups of features.

    Parameters
    ----------
    grid : Grid
    groups : "singles" (default), "pairs" or a sequence of tuples of int
        The features that are modelled jointly.
    symmetry : {"tie", "swap", "none"}
        "tie" (default): (a, b) and (b, a) share a column. "swap": the lexicographic swap of x and y of Pele & Ben-Aliz (2016),
        within each group, which is *not continuous* for groups of two or more features (at x_0 = y_0 the order flips while the
        tables differ) and equals the tie for one feature. "none": d(x, y) and d(y, x) are learned separately.
    zero_diagonal : bool, default True
        True leaves out the columns (a, a), so that d(x, x) = 0.
    touched : sequence of ndarray of int64 or None
        The numbers of the vertices of each group that have columns; None takes all, as an empty sequence does of every group.
        See `restricted` for groups whose tables are too large.
    unseen_slopes : ndarray of shape (n_features,) or None
        The slopes of a weighted L1 distance that gives its value to every vertex that training pairs never used.
    by_difference : collection of int
        Features whose groups of one have a column for all (a, b) with the same b - a.
    one_weight : collection of int
        Features whose groups of one have a column for all (a, b) with a != b.

    Raises
    ------
    InputError
        If groups, vertices or slopes are not those of the grid.

    Examples
    --------
    >>> PairEmbedding(Grid([[0.0, 1.0, 2.0], [0.0, 1.0]]), "pairs").n_columns
    15
    """

    symmetry: str
    touched: tuple[Integers | None, ...]
    unseen_slopes: Floats | None
    by_difference: tuple[int, ...]
    one_weight: tuple[int, ...]

    def __init__(
        self,
        grid: Grid,
        groups: str | Iterable[Sequence[int]] = "singles",
        *,
        symmetry: str = "tie",
        zero_diagonal: bool = True,
        touched: Sequence[Integers | None] = (),
        unseen_slopes: Floats | None = None,
        by_difference: Collection[int] = (),
        one_weight: Collection[int] = (),
    ) -> None:
        check_choice("symmetry", symmetry, ("tie", "swap", "none"))
        self.grid = grid
        self.groups = resolve_groups(groups, grid.n_features)
        self.singles = all(len(g) == 1 for g in self.groups)
        self.symmetry = "tie" if symmetry == "swap" and self.singles else symmetry
        self.zero_diagonal = bool(zero_diagonal)
        self.symmetric = self.symmetry != "none"
        self.continuous = self.symmetry != "swap"
        self.by_difference, self.one_weight = (tuple(sorted(features)) for features in (by_difference, one_weight))
        given = tuple(touched) or (None,) * len(self.groups)
        if len(given) != len(self.groups):
            raise InputError(f"there are vertices of {len(given)} groups for {len(self.groups)}; give those of each, or None")
        self.vertices = tuple(map(self._vertices_of, self.groups, given))
        self.whole = all(v.whole for v in self.vertices)
        self.touched = () if self.whole else tuple(v.kept for v in self.vertices)
        self.holds_tables = all(v.fits for v in self.vertices)
        if unseen_slopes is not None and not (unseen_slopes.shape == (grid.n_features,) and (unseen_slopes >= 0).all()):
            raise InputError(f"unseen_slopes={unseen_slopes} are given; {grid.n_features} numbers >= 0 are required")
        self.unseen_slopes = unseen_slopes
        self._known_differences: dict[str, sparse.csr_array] = {}  # programs of many strengths and passes ask for the same

    def touched_by(self, x: Items, i: Integers, j: Integers) -> list[Integers]:
        """Return the sorted numbers of the vertices of every group that the pairs (x[i], x[j]) use."""
        check_rows(x, i, x, j, self.grid.n_features)
        seen: list[list[Integers]] = [[] for _ in self.groups]
        for block in blocks(len(i), 4096):
            flat, values = self._vertices(x, i[block], x, j[block])
            for g, found in enumerate(seen):
                part = slice(self._slot[g], self._slot[g + 1])
                found.append(np.unique(flat[:, part][values[:, part] > 0]))
        return [np.unique(np.concatenate(found)) for found in seen]

    def tied_by_difference(self, features: set[int]) -> PairEmbedding:
        """Return same groups, in which (a, b) with the same b - a share a column for groups of one of these features alone."""
        return self._with(by_difference=features)

    def with_one_weight(self, features: set[int]) -> PairEmbedding:
        """Return the same groups, in which all (a, b) with a != b share a column for groups of one of these features alone."""
        return self._with(one_weight=features)

    def restricted(self, touched: Sequence[Integers], slopes: Floats) -> PairEmbedding:
        """Return the same groups, in which only vertices ``touched`` (see `touched_by`) have columns; one weight is kept.

        Every other vertex has the value of the L1 distance with ``slopes`` (n_features,), as in `prior`.
        """
        found = [v.kept if v.one_weight else numbers for v, numbers in zip(self.vertices, touched, strict=True)]
        return self._with(touched=found, unseen_slopes=self._shared(slopes))

    def positions(self, part: PairEmbedding) -> Integers:
        """Return the column here of every column of ``part``, an embedding of the same groups with fewer vertices."""
        found = [np.searchsorted(v.keys, p.keys) for v, p in zip(self.vertices, part.vertices, strict=True)]
        return np.concatenate([base + f for base, f in zip(self._first_column, found, strict=False)])

    def expanded(self, w: Floats) -> tuple[PairEmbedding, Floats]:
        """See `PairMap.expanded`; a vertex without a column here gets the value of the prior as its weight."""
        large = [v.group for v in self.vertices if not v.fits]  # their vertices keep the columns that they have
        expanded = self._with(
            touched=[None if v.fits else v.kept for v in self.vertices],
            by_difference=[f for f in self.by_difference if (f,) in large],
            one_weight=[f for f in self.one_weight if (f,) in large],
        )
        parts = []
        for g, (old, new) in enumerate(zip(self.vertices, expanded.vertices, strict=True)):
            part = w[..., self._first_column[g] : self._first_column[g + 1]]
            if old.by_difference or old.one_weight:
                part = part[..., np.searchsorted(old.keys, old.canonical(new.keys))]
            elif new.whole and not old.whole:
                full = np.empty((*w.shape[:-1], len(new.keys)))
                full[...] = new.weighted_l1(self.grid, new.keys, self._slopes_of_unseen)
                full[..., np.searchsorted(new.keys, old.keys)] = part
                part = full
            parts.append(part)
        return expanded, np.concatenate(parts, axis=-1)

    def with_unseen(self, w: Floats, *, over_all: bool = False) -> Floats:
        if "categorical" not in self.grid.kinds:
            return w
        padded = np.append(w, 0.0)
        out = w.copy()
        for g, v in enumerate(self.vertices):
            if v.held:
                table = padded[self._columns_of_vertices[g]].reshape(*v.sizes, *v.sizes)
                kinds, counts = zip(*((self.grid.kinds[f], len(self.grid.knots[f])) for f in v.group), strict=True)
                filled = fill_unseen(table, kinds, counts, over_all=over_all)
                out[self._first_column[g] : self._first_column[g + 1]] = filled.ravel()[v.keys]
        return out

    @property
    def _slopes_of_unseen(self) -> Floats:
        return np.zeros(self.grid.n_features) if self.unseen_slopes is None else self.unseen_slopes

    def _with(self, **changes: Any) -> PairEmbedding:
        """Return the same embedding with other arguments of the constructor."""
        return PairEmbedding(**arguments_of(self) | changes)

    def _vertices_of(self, group: tuple[int, ...], touched: Integers | None) -> Vertices:
        tied = self.symmetry == "tie" or (self.symmetry == "swap" and len(group) == 1)
        whole = replace(
            Vertices.of(self.grid, group, tied=tied, zero_diagonal=self.zero_diagonal),
            by_difference=len(group) == 1 and group[0] in self.by_difference,
            one_weight=len(group) == 1 and group[0] in self.one_weight,
        )
        return whole if touched is None else whole.restricted(touched)

    def in_unit(self, unit: float | Floats) -> PairEmbedding:
        return self if self.unseen_slopes is None else self._with(unseen_slopes=unit * self.unseen_slopes)

    @property
    def n_columns(self) -> int:
        return int(self._first_column[-1])

    @property
    def group_of_column(self) -> Integers:
        return np.repeat(np.arange(len(self.groups)), np.diff(self._first_column))

    @property
    def cells(self) -> Floats:
        return np.where([v.one_weight for v in self.vertices], 1.0, super().cells)

    def positive_groups(self, w: Floats) -> NDArray[np.bool_]:
        positive = super().positive_groups(w)
        for g, v in enumerate(self.vertices):
            if not v.whole:  # the other vertices have values > 0 if the slopes are
                positive[g] &= self.unseen_slopes is not None and bool((self.unseen_slopes[list(v.group)] > 0).all())
        return positive

    def select(self, keep: Integers, features: Integers) -> PairEmbedding:
        number = {int(f): k for k, f in enumerate(features)}
        return self._with(
            grid=self.grid.select(features),
            groups=[tuple(number[f] for f in self.groups[g]) for g in keep],
            touched=[self.vertices[g].kept for g in keep],
            unseen_slopes=None if self.unseen_slopes is None else self.unseen_slopes[features],
            by_difference=[number[f] for f in self.by_difference if f in number],
            one_weight=[number[f] for f in self.one_weight if f in number],
        )

    @cached_property
    def _first_column(self) -> Integers:
        """The first column of every group, and the number of columns at the end: shape (n_groups + 1,)."""
        return np.concatenate([[0], np.cumsum([v.n_columns for v in self.vertices])])

    @cached_property
    def _slot(self) -> Integers:
        """The first slot of every group in `SparseRows`, and the number of slots at the end: shape (n_groups + 1,)."""
        return np.concatenate([[0], np.cumsum([2 * len(g) + 1 for g in self.groups])])

    @cached_property
    def _columns_of_vertices(self) -> dict[int, NDArray[np.int32]]:
        """The column of every vertex, shape (C²,), by the number of a group whose table can be held in memory."""
        if large := [v.group for v in self.vertices if v.whole and not v.fits]:
            raise NotSupportedError(
                f"the table of group {large[0]} is too large to be held whole; fit it, so that only touched vertices "
                "are columns, or use fewer knots"
            )
        n = self.n_columns
        held = ((g, v) for g, v in enumerate(self.vertices) if v.fits)
        return {g: v.lookup(base=int(self._first_column[g]), none=n, unseen=n + 1) for g, v in held}

    @cached_property
    def _singles(self) -> Singles:
        feature = np.array([g[0] for g in self.groups], dtype=np.int64)
        size = self.grid.sizes[feature]
        start = np.concatenate([[0], np.cumsum(size * size)[:-1]])
        columns = np.concatenate([self._columns_of_vertices[g] for g in range(len(self.groups))])
        return Singles(feature, size, start, columns)

    @cached_property
    def _axes(self) -> Groups:
        """The groups of every axis: axes 0 to F - 1 are the features of x, with C times the stride of those of y."""
        n = self.grid.n_features
        members = [(f, g, s) for g, v in enumerate(self.vertices) for f, s in zip(v.group, v.strides, strict=True)]
        of_x = [(f, g, s * self.vertices[g].n_points) for f, g, s in members]
        of_y = [(n + f, g, s) for f, g, s in members]
        axis, group, stride = np.array(sorted(of_x + of_y), dtype=np.int64).T
        return Groups(np.searchsorted(axis, np.arange(2 * n + 1)), group.copy(), stride.copy(), self._slot)

    def locate(self, X: ArrayLike) -> Items:
        items = super().locate(X)
        return items if self.singles else Items(items.located, items.sorted_order)

    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> SparseRows:
        check_rows(x, i, y, j, self.grid.n_features)
        if self.singles and self.whole:
            columns = np.empty((len(i), int(self._slot[-1])), np.int32)
            values = np.empty(columns.shape)
            i, j = np.ascontiguousarray(i), np.ascontiguousarray(j)
            single_rows(read_only(x.located), i, read_only(y.located), j, read_only(self._singles), columns, values)
            return SparseRows(columns, values, self._slot)
        vertices, values = self._vertices(x, i, y, j)
        return self._sparse_rows(vertices, values)

    def _vertices(self, x: Items, i: Integers, y: Items, j: Integers) -> tuple[Integers, Floats]:
        """Return the vertices of each pair and their barycentric weights, in slots: both of shape (B, n_slots)."""
        shape = (len(i), int(self._slot[-1]))
        vertices = np.empty(shape, np.int64)
        values = np.empty(shape)
        order = tuple(side.order if side.order.shape[1] else side.sorted_order for side in (x, y))
        i, j = np.ascontiguousarray(i), np.ascontiguousarray(j)
        group_rows_of_pairs(x.located, i, y.located, j, order, self._axes, vertices, values)
        if self.symmetry == "swap":
            self._swap(vertices, signs_on_grid(x, i, y, j))
        return vertices, values

    def _swap(self, vertices: Integers, signs: NDArray[np.int8]) -> None:
        """Exchange a and b, in place, in the groups where x_S is lexicographically smaller than y_S (paper 2, section 3)."""
        for g, v in enumerate(self.vertices):
            first = np.zeros(len(signs), np.int8)
            for f in v.group:
                first = np.where(first == 0, signs[:, f], first)
            rows = first < 0
            part = slice(self._slot[g], self._slot[g + 1])
            a, b = np.divmod(vertices[rows, part], v.n_points)
            vertices[rows, part] = b * v.n_points + a

    def _sparse_rows(self, vertices: Integers, values: Floats) -> SparseRows:
        """Return the rows with the columns of the vertices; vertices without a column add to the constant of their row."""
        columns = np.empty(vertices.shape, np.int32)
        unseen = np.zeros((len(vertices), len(self.groups)))
        for g, v in enumerate(self.vertices):
            part = slice(self._slot[g], self._slot[g + 1])
            if v.whole:
                columns[:, part] = self._columns_of_vertices[g][vertices[:, part]]
                continue
            flat = vertices[:, part].ravel()
            found = v.columns(flat, base=int(self._first_column[g]), none=self.n_columns, unseen=-1)
            prior = np.where(found < 0, v.weighted_l1(self.grid, flat, self._slopes_of_unseen), 0.0)
            unseen[:, g] = (values[:, part] * prior.reshape(-1, part.stop - part.start)).sum(axis=1)
            columns[:, part] = np.where(found < 0, self.n_columns, found).reshape(len(vertices), -1)
        return SparseRows(columns, values, self._slot, None if self.whole else unseen)

    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        check_columns(w, self.n_columns)
        return self.rows(x, i, y, j).group_sums(w)

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        if not (self.singles and self.whole):
            return super().pairwise(x, y, w, n_jobs=n_jobs)
        check_columns(w, self.n_columns)
        check_rows(x, np.arange(0), y, np.arange(0), self.grid.n_features)
        return pairwise_of_singles(x.located, y.located, self._singles, np.append(w, 0.0), n_jobs=n_jobs)

    def tables(self, w: Floats) -> list[Table]:
        if not self.whole:
            raise NotSupportedError("a group holds only touched vertices, so its table is too large to be shown whole")
        padded = np.append(w, 0.0)
        return [
            Table(v.group, tuple(self.grid.vertices(f) for f in v.group), padded[columns])
            for v, columns in zip(self.vertices, self.vertex_columns(), strict=True)
        ]

    def vertex_columns(self) -> list[Integers]:
        """Return column of (a, b) in every group, shape (C, C); n_columns where there is none. All tables must be in memory."""
        tables = self._columns_of_vertices
        return [tables[g].reshape(v.n_points, -1).astype(np.int64) for g, v in enumerate(self.vertices)]

    def _shared(self, slopes: Floats) -> Floats:
        """Return the slope of every feature, divided by the number of groups that contain it."""
        members = np.bincount([f for g in self.groups for f in g], minlength=self.grid.n_features)
        return slopes / np.maximum(members, 1)

    def prior(self, slopes: Floats) -> Floats:
        shared = self._shared(slopes)
        return np.concatenate([v.weighted_l1(self.grid, v.keys, shared) for v in self.vertices])

    def differences(self, kind: str) -> sparse.csr_array:
        if kind not in self._known_differences:
            self._known_differences[kind] = self._differences(kind)
        return self._known_differences[kind]

    def _differences(self, kind: str) -> sparse.csr_array:
        if not self.holds_tables:
            raise NotSupportedError("a difference penalty needs tables that can be held; use a ridge towards the prior")
        parts = []
        for g, v in enumerate(self.vertices):
            columns = self._columns_of_vertices[g]
            knots, kinds = [self.grid.knots[f] for f in v.group], [self.grid.kinds[f] for f in v.group]
            parts.append(table_differences(columns, v.sizes, knots, kind=kind, n_columns=self.n_columns, kinds=kinds))
        scale = np.sqrt(0.5) if self.symmetry == "tie" else 1.0  # every difference occurs twice, in (a, b) and in (b, a)
        return sparse.csr_array(_matrix(chain.from_iterable(parts), self.n_columns) * scale)
