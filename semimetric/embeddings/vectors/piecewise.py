"""Piecewise-linear embeddings of single features and of pairs of features (paper 0, section 3).

    PL1  f(x) = sum_n f_n(x_n)                                f_n linear between the knots of feature n
    PL2  f(x) = sum_n f_n(x_n) + sum_{n,l} f_{n,l}(x_n, x_l)  f_{n,l} linear on the two triangles of every cell of the grid

Example: with knots (0, 1, 4) the value 2.5 is half of vertex 1 plus half of vertex 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NotRequired

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.storable import storable
from ..._foundation.types import ArrayLike, Floats, Integers, Knots
from ..._kernels.csr_rows import Chunk
from ..._kernels.vector_rows import Axes, Partners, write_pairs, write_singles
from .base import Term, check_columns_fit, dense_rows
from .feature_pairs import GridShape, check_pairs, check_sorted_pairs, listed_pairs, neighbours
from .knot_map import KnotMap
from .pair_ranking import MOST_ROWS, best_pairs
from .shared_parameters import KNOT_PARAMETERS

__all__ = ["PL1Embedding", "PL2Embedding"]


@storable
@with_shared_parameters(KNOT_PARAMETERS)
class PL1Embedding(KnotMap):
    """Every feature as its two nearest knots: f(x) = sum_n f_n(x_n), each f_n continuous and linear between knots.

    If t is the fraction of x_n between its knots v_d and v_{d+1}, column (n, d) is 1 - t, column (n, d + 1) is t, and the other
    columns of the feature are 0 (Pele et al. 2013, Alg. 1). So the weight of a column is the value of f_n at that knot.

    Parameters
    ----------
    {n_knots}
    {knots}
    extrapolation : {"clip", "linear", "error"}, default "clip"
        Values outside of the knots are those at the nearest (the paper's); or go on with the slope of the outer cell; or are
        refused.
    {missing}
    {zero_preserving}
    shared_knots : bool, default False
        Whether all values of all features make one set of knots, so that features are on the same scale.
    {dtype}
    {sparse_output}
    {n_jobs}
    {random_state}

    Attributes
    ----------
    grid_ : Grid
    n_columns_ : int
    terms_ : tuple of Term

    Raises
    ------
    InputError
        From `fit`, if a parameter is none of these, there is only one row, or knots do not increase or are more than 65,535.

    Examples
    --------
    >>> from semimetric import PL1Embedding
    >>> embedding = PL1Embedding(knots=[[0.0, 1.0, 4.0]], sparse_output=False).fit([[0.0], [4.0]])
    >>> embedding.transform([[2.5], [-7.0]])
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ]])
    >>> embedding.get_feature_names_out()
    array(['x0@0', 'x0@1', 'x0@4'], dtype=object)
    """

    def __init__(
        self,
        n_knots: int | Sequence[int] = 8,
        *,
        knots: Knots = "kmeans",
        extrapolation: str = "clip",
        missing: str = "error",
        zero_preserving: bool = False,
        shared_knots: bool = False,
        dtype: Any = np.float64,
        sparse_output: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_knots = n_knots
        self.knots = knots
        self.extrapolation = extrapolation
        self.missing = missing
        self.zero_preserving = zero_preserving
        self.shared_knots = shared_knots
        self.dtype = dtype
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _lay_out(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> None:
        self._set_columns()

    def _restore_layout(self, fitted: dict[str, Any]) -> None:
        self._set_columns()

    def _set_columns(self) -> None:
        """Number the columns of the knots of ``grid_``."""
        self._located = self._axes()
        self.n_columns_ = int(self._located.width.sum())

    @property
    def terms_(self) -> tuple[Term, ...]:  # type: ignore[override]  # the base declares an attribute; this one is read only
        """One summand for each feature that has columns, made anew each time the attribute is read."""
        return _single_terms(self._located)

    @property
    def most_nonzeros(self) -> int:
        return 2 * self.n_features_in_

    def room(self, items: Floats | sparse.csr_array) -> Integers:
        return 2 * self._active(items)

    def write(self, items: Floats, out: Chunk) -> None:
        write_singles(items, self._located, self.extrapolation == "linear", out)

    @property
    def names(self) -> list[str]:
        return [label for part in self._vertex_labels() for label in part]


@storable
@with_shared_parameters(KNOT_PARAMETERS)
class PL2Embedding(KnotMap):
    """Every feature, and every pair of features, on the knots of PL1: f is continuous, and linear on triangles.

    If s and t are the fractions of x_n and x_l in their cells, the columns of the pair (n, l) are (Pele et al. 2013, Alg. 2)

        1 - max(s, t)  at (lower, lower)
        |s - t|        at (upper, lower) if t < s, else at (lower, upper)
        min(s, t)      at (upper, upper)

    and 0 elsewhere, with the second feature running fastest. So the weight of a column is the value of f_{n,l} at that grid
    point. f_{n,l} has kinks on the lines of the grid and on the diagonals of its cells, which run from bottom left to top
    right. The terms of a feature are combinations of those of its pairs; they are kept as in the paper, because a penalty
    treats them differently.

    Parameters
    ----------
    {n_knots}
    {knots}
    pairs : {"all", "chain", "grid", "best"} or list of pairs, default "all"
        All; those at most ``reach`` features apart; neighbours on a grid of features (PL2-K, Pele et al. 2013, section 5.2);
        the ``n_pairs`` best for the y of `fit`; or pairs of numbers or column names. A pair is ordered by feature, and so are
        pairs.
    n_pairs : int or None, default None
        Required with ``pairs="best"``. Pairs are ranked as FAST ranks them (Lou et al., 2013, "Accurate intelligible models
        with pairwise interactions"): a least-squares fit of tables of single features is subtracted from y (from indicators of
        the classes), and a pair gains what its table of 8 by 8 quantile bins explains of the rest, less what noise would.
    reach : int >= 1, default 1
        The most steps between the features of a pair, with ``pairs="chain"`` and ``pairs="grid"``.
    shape : tuple of int, of which some may be tuples of int, or None, default None
        Axes of the features with ``pairs="grid"``, such as (rows, columns), the last fastest. Neighbours are at most
        ``reach`` steps apart along every axis, or, where some axes stand in a tuple of their own, along these alone or another
        alone: ``((6, 8), 8)`` pairs each of 8 orientations in 6 x 8 bins with itself around, and with those beside it.
    periodic : sequence of int, default ()
        The axes of ``shape``, counted from 0 whatever tuple they stand in, that are circles. ``(2,)`` with the shape above has
        the 1,600 pairs of bins whose ground distance (Pele & Werman 2009) is below 2, its threshold; the paper has 1,605.
    shared_knots : bool, default False
        Whether all features have the same knots: with those |x_n - x_l|, max and min are in the span (ibid., section 3).
    extrapolation : {"clip", "linear", "error"}, default "clip"
        Values outside of the knots are those at the nearest (the paper's), or go on, or are refused. With "linear" the terms of
        single features go on; pairs are clipped, for the formula of a triangle, continued outside, would jump between cells.
    {missing}
        A missing value is a row of its own in the grids of its pairs, or, with "zeros", a pair with one has no entry.
    {zero_preserving}
        Grid points with a coordinate 0 have no columns, so a pair has entries only where neither value is 0, and time and room
        go with the pairs of those. With an intercept the functions are the same: what a table says
        where a value is 0 are functions of single features and a constant. Where many values are 0, as in indicators of
        categories, that is the better choice of dense X too: on covtype_75k rows have a tenth of the entries, and the direction
        of the mean row, along which machines learn slowly, 11 instead of 71 % of their squared length.
    {dtype}
    {sparse_output}
    {n_jobs}
    {random_state}

    Attributes
    ----------
    grid_ : Grid
    pairs_ : ndarray of shape (n_pairs, 2)
    n_columns_ : int
    terms_ : tuple of Term

    Raises
    ------
    InputError
        From `fit`, as `PL1Embedding`; or if pairs are out of range, repeated or not of two features, or there are more than
        2**63 - 1 columns.

    Examples
    --------
    >>> from semimetric import PL2Embedding
    >>> embedding = PL2Embedding(knots=[[0.0, 1.0], [0.0, 1.0]], sparse_output=False).fit([[0.0, 0.0], [1.0, 1.0]])
    >>> embedding.get_feature_names_out()[4:]
    array(['x0@0*x1@0', 'x0@0*x1@1', 'x0@1*x1@0', 'x0@1*x1@1'], dtype=object)
    >>> embedding.transform([[0.25, 0.75]])[:, 4:]
    array([[0.25, 0.5 , 0.  , 0.25]])
    """

    def __init__(
        self,
        n_knots: int | Sequence[int] = 8,
        *,
        knots: Knots = "kmeans",
        pairs: str | Iterable[Sequence[int | str]] = "all",
        n_pairs: int | None = None,
        reach: int = 1,
        shape: GridShape | None = None,
        periodic: Sequence[int] = (),
        shared_knots: bool = False,
        extrapolation: str = "clip",
        missing: str = "error",
        zero_preserving: bool = False,
        dtype: Any = np.float64,
        sparse_output: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_knots = n_knots
        self.knots = knots
        self.pairs = pairs
        self.n_pairs = n_pairs
        self.reach = reach
        self.shape = shape
        self.periodic = periodic
        self.shared_knots = shared_knots
        self.extrapolation = extrapolation
        self.missing = missing
        self.zero_preserving = zero_preserving
        self.dtype = dtype
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    _fitted: ClassVar[dict[str, Any]] = KnotMap._fitted | {"listed_pairs": NotRequired[Integers]}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pairs(self.pairs, self.n_features_in_, self.n_pairs, self.reach, self.shape, self.periodic)

    def _check(self, y: ArrayLike | None) -> None:
        super()._check(y)
        given = None if isinstance(self.pairs, str) else self.pairs
        self._listed = None if given is None else listed_pairs(given, self.n_features_in_, self.feature_names)

    def _stored(self) -> dict[str, Any]:
        return super()._stored() | ({} if self._listed is None else {"listed_pairs": self._listed})

    def _restore_layout(self, fitted: dict[str, Any]) -> None:
        every = isinstance(self.pairs, str) and self.pairs == "all"
        self._listed = check_sorted_pairs(fitted.get("listed_pairs"), self.n_features_in_, none=every)
        self._set_columns()

    @property
    def _supervised(self) -> bool:
        return super()._supervised or isinstance(self.pairs, str) and self.pairs == "best"

    def _lay_out(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> None:
        if isinstance(self.pairs, str) and self.pairs != "all":
            self._listed = self._chosen(items, y)
        self._set_columns()

    def _set_columns(self) -> None:
        """Number the columns of the knots of ``grid_``, and of the pairs."""
        self._located = axes = self._axes()
        width = [int(w) for w in axes.width]
        if self._listed is None:
            columns = (sum(width) ** 2 - sum(w * w for w in width)) // 2
        else:
            columns = sum(width[a] * width[b] for a, b in self._listed.tolist())
        self.n_columns_ = check_columns_fit(sum(width) + columns, f"n_knots={self.n_knots!r} with pairs")
        self._partners = _all_partners(axes) if self._listed is None else _partners(axes, self._listed)

    def _chosen(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> Integers:
        """The pairs of neighbours, or the best pairs for y on at most `MOST_ROWS` rows: shape (n_pairs, 2)."""
        if y is None or self.n_pairs is None:
            return neighbours((self.n_features_in_,) if self.shape is None else self.shape, self.reach, self.periodic)
        rows = np.arange(len(y))
        if len(y) > MOST_ROWS:
            rows = np.sort(check_random_state(self.random_state).choice(len(y), MOST_ROWS, replace=False))
        return best_pairs(dense_rows(items, rows), y[rows], self.n_pairs, n_jobs=self.n_jobs)

    @property
    def pairs_(self) -> Integers:
        """The pairs of features that have terms, in the order of their columns: shape (n_pairs, 2)."""
        return np.stack(np.triu_indices(self.n_features_in_, 1), axis=1) if self._listed is None else self._listed

    @property
    def terms_(self) -> tuple[Term, ...]:  # type: ignore[override]  # the base declares an attribute; this one is read only
        """One summand for each feature, then one for each pair, if they have columns; made anew each time they are read."""
        axes, pairs = self._located, self.pairs_
        size = axes.width[pairs[:, 0]] * axes.width[pairs[:, 1]]
        stop = axes.width.sum() + np.cumsum(size)
        rows = zip(pairs.tolist(), (stop - size).tolist(), stop.tolist(), strict=True)
        return _single_terms(axes) + tuple(Term((a, b), i, j) for (a, b), i, j in rows if i < j)

    @property
    def most_nonzeros(self) -> int:
        n = self.n_features_in_
        return 2 * n + 3 * (n * (n - 1) // 2 if self._listed is None else len(self._listed))

    def room(self, items: Floats | sparse.csr_array) -> Integers:
        active = self._active(items)
        return np.minimum(2 * active + 3 * (active * (active - 1) // 2), self.most_nonzeros)

    def write(self, items: Floats, out: Chunk) -> None:
        write_pairs(items, self._located, self.extrapolation == "linear", self._partners, out)

    @property
    def names(self) -> list[str]:
        labels = self._vertex_labels()
        singles = [label for part in labels for label in part]
        return singles + [f"{a}*{b}" for f, other in self.pairs_.tolist() for a in labels[f] for b in labels[other]]


def _single_terms(axes: Axes) -> tuple[Term, ...]:
    """One summand for each feature that has columns."""
    rows = enumerate(zip(axes.column.tolist(), axes.width.tolist(), strict=True))
    return tuple(Term((f,), start, start + width) for f, (start, width) in rows if width)


def _all_partners(axes: Axes) -> Partners:
    """All pairs, as kernels take them: the first column of a pair is computed from its features.

    Before the columns of the pair (f, l) come those of the pairs of features below f, and those of (f, k) with f < k < l.
    """
    width = axes.width
    before = np.cumsum(width) - width
    blocks = width * (width.sum() - before - width)
    start = width.sum() + np.cumsum(blocks) - blocks - width * (before + width)
    return Partners(np.empty(0, np.int64), before, start)


def _partners(axes: Axes, pairs: Integers) -> Partners:
    """The given pairs, as kernels take them: for every first feature its second features, and the first column of each pair."""
    size = axes.width[pairs[:, 0]] * axes.width[pairs[:, 1]]
    first = np.searchsorted(pairs[:, 0], np.arange(len(axes.width) + 1))
    return Partners(first, np.ascontiguousarray(pairs[:, 1]), axes.width.sum() + np.cumsum(size) - size)
