"""Joint embeddings of groups of features on the simplices of grid cells: ID of single vectors (paper 2, section 2).

ID(x; S) = [ID(x_{S_1}) ... ID(x_{S_g})],   ID of one group: at most |S| + 1 vertices, with barycentric weights
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, storable
from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers, Knots
from ..._foundation.validation import check_count
from ..._kernels.csr_rows import Chunk
from ..._kernels.simplex import Groups
from ..._kernels.vector_rows import Axes, PackedTables, write_groups
from ...data.feature_groups import resolve_groups
from .base import Term, check_columns_fit, dense_rows
from .knots import KnotMap

_ROWS = 4096  # whose vertices are computed at a time


@storable
class IDEmbedding(KnotMap):
    """Groups of features, embedded by the vertices of the simplex that contains their values.

    f is a sum over groups of continuous functions, each with arbitrary values at the grid points of its group. The fractions of
    a group's features in their cells are sorted, 0 <= t_1 <= ... <= t_n <= 1. The vertices lead from the upper corner of the
    cell to the lower, one feature stepping down at a time, with the weights (Pele & Ben-Aliz 2016, Alg. 1)

        t_1, t_2 - t_1, ..., 1 - t_n

    So the weight of a column is the value of the group's summand at that grid point. Fractions are sorted once for all groups.
    A row takes a time of n log(n c) plus the sizes of the groups, and a group has at most its size plus 1 entries in it.

    Parameters
    ----------
    n_knots : int or one int a feature, each >= 2, default 8
        The most knots of a feature; one with fewer distinct values has those, a constant one a single column of 1.
    knots : {"kmeans", "quantile", "uniform", "tree"} or one array a feature, default "kmeans"
        Knots from the minimum to the maximum: k-means centres of least inertia (the paper's), quantiles, equal steps,
        thresholds of a decision tree on the feature for the y of `fit`, or increasing numbers.
    groups : {"pairs", "singles", "all"} or list of tuples, default "pairs"
        All pairs; single features; one group of all; or tuples of numbers or column names, the last fastest. Groups of one and
        two are PL1 and the pair terms of PL2.
    most_vertices : int, default 1 << 20
        A group with a larger grid has columns only for vertices that rows of the fit touch; at others its entry is left out.
    shared_knots : bool, default False
        True gives all features the same knots, so that they are on one scale.
    extrapolation : {"clip", "error"}, default "clip"
        Values outside of the knots are those at the nearest, or are refused.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused; leaves groups without an entry; or is a level of its own in every feature, also where the fit has seen
        none.
    dtype : {float64, float32}, default float64
    sparse_output : bool or "auto", default "auto"
        True returns a sparse matrix from `transform`; "auto" does too, unless `set_output` asks for a table, which cannot hold
        one.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of the sample of 100,000 rows from which knots are placed, where there are more.

    Attributes
    ----------
    grid_ : Grid
    groups_ : tuple of tuple of int
    vertices_ : tuple of (ndarray of int64 or None)
        The numbers of the vertices of each group that have columns; None if all have.
    n_columns_ : int
    terms_ : tuple of Term

    Raises
    ------
    InputError
        From `fit`: as `PL1Embedding`; groups that repeat, are empty or name what is not there; more than 2**63 - 1 vertices.

    Examples
    --------
    >>> embedding = IDEmbedding(knots=[[0.0, 1.0]] * 3, groups="all", sparse_output=False).fit([[0.0] * 3, [1.0] * 3])
    >>> row = embedding.transform([[0.5, 0.25, 0.75]])[0]
    >>> embedding.get_feature_names_out()[row > 0]
    array(['x0@0*x1@0*x2@0', 'x0@0*x1@0*x2@1', 'x0@1*x1@0*x2@1',
           'x0@1*x1@1*x2@1'], dtype=object)
    >>> row[row > 0]
    array([0.25, 0.25, 0.25, 0.25])
    """

    _extrapolations = ("clip", "error")

    groups_: Stored[tuple[tuple[int, ...], ...]]
    vertices_: Stored[tuple[Integers | None, ...]]

    def __init__(
        self,
        n_knots: int | Sequence[int] = 8,
        *,
        knots: Knots = "kmeans",
        groups: str | Iterable[Sequence[int | str]] = "pairs",
        most_vertices: int = 1 << 20,
        shared_knots: bool = False,
        extrapolation: str = "clip",
        missing: str = "error",
        dtype: Any = np.float64,
        sparse_output: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_knots = n_knots
        self.knots = knots
        self.groups = groups
        self.most_vertices = most_vertices
        self.shared_knots = shared_knots
        self.extrapolation = extrapolation
        self.missing = missing
        self.dtype = dtype
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("most_vertices", self.most_vertices)

    def _check(self, y: ArrayLike | None) -> None:
        super()._check(y)
        n = self.n_features_in_
        one_group = isinstance(self.groups, str) and self.groups == "all"
        self.groups_ = resolve_groups([tuple(range(n))] if one_group else self.groups, n, self.feature_names)

    def _lay_out(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> None:
        sizes = self._locate_groups()
        self.vertices_ = tuple(
            self._used_vertices(items, group) if size > self.most_vertices else None
            for group, size in zip(self.groups_, sizes, strict=True)
        )
        self._set_columns(sizes)

    def check_restored(self) -> None:
        super().check_restored()
        self.groups_ = resolve_groups(self.groups_, self.n_features_in_)
        sizes, vertices = self._locate_groups(), tuple(self.vertices_)
        if len(vertices) != len(sizes):
            raise InputError(f"there are vertices of {len(vertices)} groups, but {len(sizes)} groups; restore the file")
        for used, size in zip(vertices, sizes, strict=True):
            if used is None:
                continue
            if used.ndim != 1 or not ((np.diff(used) > 0).all() and (used >= 0).all() and (used < size).all()):
                raise InputError(f"vertices are not different numbers from 0 to {size - 1} in ascending order")
        self.vertices_ = vertices
        self._set_columns(sizes)

    def _locate_groups(self) -> list[int]:
        """Set the axes of the grid; return the number of vertices of each group."""
        self._located = axes = self._axes()
        sizes = [math.prod(int(axes.width[f]) for f in group) for group in self.groups_]
        for group, size in zip(self.groups_, sizes, strict=True):
            check_columns_fit(size, f"the grid of the group {group}")
        return sizes

    def _set_columns(self, sizes: list[int]) -> None:
        """Number the columns of the groups, whose grids have ``sizes`` vertices, of which ``vertices_`` have columns."""
        axes = self._located
        widths = [size if v is None else len(v) for size, v in zip(sizes, self.vertices_, strict=True)]
        self.n_columns_ = check_columns_fit(sum(widths), f"n_knots={self.n_knots!r} with these groups")
        self._stops = np.cumsum(widths)
        self._steps = _steps(axes, self.groups_)
        self._tables = _tables(np.cumsum([0, *widths[:-1]]), self.vertices_)

    def _used_vertices(self, items: Floats | sparse.csr_array, group: tuple[int, ...]) -> Integers:
        steps = _steps(self._located, (group,))
        tables = _tables(np.zeros(1, np.int64), (None,))

        def find(rows: slice) -> Integers:
            most = (rows.stop - rows.start) * (len(group) + 1)
            part = Chunk(np.zeros(rows.stop - rows.start + 1, np.int64), np.empty(most, np.int64), np.empty(most))
            write_groups(dense_rows(items, rows), self._located, steps, tables, part)
            return np.unique(part.indices[: part.indptr[-1]])

        return np.unique(np.concatenate(map_blocks(find, items.shape[0], size=_ROWS, n_jobs=self.n_jobs)))

    @property
    def terms_(self) -> tuple[Term, ...]:
        """One summand for each group, made anew each time the attribute is read."""
        starts = [0, *self._stops[:-1].tolist()]
        return tuple(Term(*term) for term in zip(self.groups_, starts, self._stops.tolist(), strict=True))

    @property
    def most_nonzeros(self) -> int:
        return sum(len(group) + 1 for group in self.groups_)

    def write(self, items: Floats, out: Chunk) -> None:
        write_groups(items, self._located, self._steps, self._tables, out)

    @property
    def names(self) -> list[str]:
        labels = self._vertex_labels()
        return [
            name
            for group, vertices in zip(self.groups_, self.vertices_, strict=True)
            for name in _vertex_names([labels[f] for f in group], vertices)
        ]


def _vertex_names(labels: list[list[str]], vertices: Integers | None) -> list[str]:
    if vertices is None:
        return ["*".join(parts) for parts in product(*labels)]
    places = np.unravel_index(vertices, [len(part) for part in labels])
    return ["*".join(part[k] for part, k in zip(labels, row, strict=True)) for row in zip(*places, strict=True)]


def _steps(axes: Axes, groups: tuple[tuple[int, ...], ...]) -> Groups:
    """Return the groups that contain each feature, and the change of a vertex number in a step along it."""
    rows = [
        (f, g, math.prod(int(axes.width[other]) for other in group[k + 1 :]))
        for g, group in enumerate(groups)
        for k, f in enumerate(group)
    ]
    axis, group, stride = np.array(sorted(rows), dtype=np.int64).T
    slot = np.cumsum([0, *(len(members) + 1 for members in groups)])
    return Groups(np.searchsorted(axis, np.arange(len(axes.width) + 1)), group.copy(), stride.copy(), slot)


def _tables(base: Integers, vertices: tuple[Integers | None, ...]) -> PackedTables:
    """Return the first column of each group, and those of its vertices that have columns (None: all), as kernels take them."""
    keys = [np.empty(0, np.int64) if v is None else v for v in vertices]
    only_some = np.array([v is not None for v in vertices])
    return PackedTables(base, only_some, np.cumsum([0, *map(len, keys)]), np.concatenate(keys))
