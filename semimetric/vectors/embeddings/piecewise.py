"""Piecewise-linear embeddings of single features and of pairs of features (paper 0, section 3).

    PL1  f(x) = sum_n f_n(x_n)                                f_n linear between the knots of feature n
    PL2  f(x) = sum_n f_n(x_n) + sum_{n,l} f_{n,l}(x_n, x_l)  f_{n,l} linear on the two triangles of every cell of the grid

Example: with knots (0, 1, 4) the value 2.5 is half of vertex 1 plus half of vertex 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, storable
from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers, Knots
from ..._foundation.validation import check_choice, check_count
from ..._kernels.csr_rows import Chunk
from ..._kernels.interactions import table_gains
from ..._kernels.vector_rows import Axes, Partners, write_pairs, write_singles
from ...data.feature_groups import resolve_groups
from .base import Term, check_columns_fit, dense_rows
from .knots import KnotMap

_CHOICES = ("all", "chain", "grid", "best")


GridShape = Sequence[int | Sequence[int]]  # of the axes, or of planes of axes


def check_pairs(
    pairs: object, n_features: int, n_pairs: int | None, reach: int, shape: GridShape | None, periodic: Sequence[int]
) -> None:
    """Refuse parameters of `PL2Embedding` that contradict one another or do not fit the number of features."""
    kind = pairs if isinstance(pairs, str) else None
    if kind is not None:
        check_choice("pairs", kind, _CHOICES)
    check_count("reach", reach)
    if (kind == "grid") != (shape is not None):
        raise InputError(f"pairs={pairs!r} and shape={shape!r}: shape belongs to pairs='grid', and is required there")
    axes = [] if shape is None else [side for plane in planes_of(shape) for side in plane]
    if shape is not None and math.prod(check_count("shape", side) for side in axes) != n_features:
        raise InputError(f"shape={shape!r} has {math.prod(axes)} places for {n_features} features; one each is required")
    if any(isinstance(axis, bool) or axis not in range(len(axes)) for axis in periodic):
        raise InputError(
            f"periodic={periodic!r} for {len(axes)} axes; numbers from 0 of axes of shape are required, with pairs='grid' alone"
        )
    if (kind == "best") != (n_pairs is not None):
        raise InputError(f"pairs={pairs!r} and n_pairs={n_pairs!r}: n_pairs belongs to pairs='best', and is required there")
    most = math.comb(n_features, 2)
    if n_pairs is not None and check_count("n_pairs", n_pairs) > most:
        raise InputError(
            f"n_pairs={n_pairs}, but there are {most} pairs of {n_features} feature(s); give at most that, or pairs='all'"
        )


def planes_of(shape: GridShape) -> list[tuple[int, ...]]:
    """Return the axes in groups along which a neighbour may be apart at once; a shape of numbers is one group."""
    if not any(isinstance(side, Sequence | np.ndarray) for side in shape):
        numbers: tuple[Any, ...] = tuple(shape)  # or refused as none
        return [numbers]
    return [tuple(side) if isinstance(side, Sequence | np.ndarray) else (side,) for side in shape]


def check_sorted_pairs(pairs: Integers | None, n_features: int, *, none: bool) -> None:
    """Refuse pairs of a saved embedding that no fit lists; with ``none`` all pairs have terms, and none are listed."""
    if none != (pairs is None):
        raise InputError("pairs are listed although pairs='all', or missing where pairs are to be some; restore the file")
    if pairs is None:
        return
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"pairs have shape {pairs.shape}; (n_pairs, 2) is required")
    first, second = pairs.T
    after = (np.diff(first) > 0) | ((np.diff(first) == 0) & (np.diff(second) > 0))
    if not ((first >= 0) & (first < second) & (second < n_features)).all() or not after.all():
        raise InputError(f"pairs are not different pairs of {n_features} features in ascending order; restore the file")


def listed_pairs(pairs: Iterable[Sequence[int | str]], n_features: int, names: Sequence[str]) -> Integers:
    """Return the pairs that are given by numbers or names, shape (n_pairs, 2); each pair is ascending, and they are sorted."""
    groups = resolve_groups(pairs, n_features, names, parameter="pairs")
    wrong = [group for group in groups if len(group) != 2]
    if wrong:
        raise InputError(
            f"pairs holds {wrong[0]}, of {len(wrong[0])} features; two each are required: see IDEmbedding for more"
        )
    return np.array(sorted(tuple(sorted(group)) for group in groups), np.int64)


def neighbours(shape: GridShape, reach: int, periodic: Sequence[int] = ()) -> Integers:
    """Return the sorted pairs (n_pairs, 2) of neighbours: at most ``reach`` steps apart along the axes of one plane."""
    planes = planes_of(shape)
    sides = np.array([side for plane in planes for side in plane])
    circles = np.isin(np.arange(len(sides)), periodic)[:, None]
    places = np.stack(np.unravel_index(np.arange(sides.prod()), tuple(sides)))
    found, start = [], 0
    for plane in planes:
        for step in np.ndindex(*(2 * reach + 1 for _ in plane)):
            moved = places.copy()
            moved[start : start + len(plane)] += (np.array(step) - reach)[:, None]
            moved = np.where(circles, moved % sides[:, None], moved)
            first = np.flatnonzero(((moved >= 0) & (moved < sides[:, None])).all(axis=0))
            second = np.ravel_multi_index(tuple(moved[:, first]), tuple(sides))
            found.append(np.stack([first, second], axis=1)[first < second])
        start += len(plane)
    return np.unique(np.concatenate(found), axis=0)


_N_BINS = 8  # quantile bins of each feature
MOST_ROWS = 20_000  # rows from which pairs are ranked
_SWEEPS = 20  # of the additive fit


def pair_scores(x: Floats, y: np.ndarray, *, n_jobs: int | None = None) -> tuple[Integers, Floats]:
    """Return all pairs of the features of ``x``, shape (n_pairs, 2), and their scores (n_pairs,) for ``y``."""
    codes = np.stack([_codes(column) for column in x.T])
    residual = _additive_residual(codes, _outputs(y))
    pairs = np.stack(np.triu_indices(len(codes), 1), axis=1)
    gains_and_cells = np.empty((len(pairs), 2))

    def fill(block: slice) -> None:
        table_gains(codes, residual, pairs[block], _N_BINS + 1, gains_and_cells[block])

    map_blocks(fill, len(pairs), size=max((1 << 22) // max(residual.size, 1), 1), n_jobs=n_jobs)
    gains, n_cells = gains_and_cells.T
    n_bins = np.array([len(np.unique(c)) for c in codes])
    degrees_of_freedom = n_cells - n_bins[pairs].sum(axis=1) + 1
    return pairs, gains - degrees_of_freedom * residual.var(axis=0).sum()


def _outputs(y: np.ndarray) -> Floats:
    """Return numbers (n, 1), or indicators of K classes (n, K), minus their means; K = 1 for two classes."""
    if type_of_target(y).startswith("continuous"):
        values = y.astype(np.float64)[:, None]
    else:
        values = (y[:, None] == np.unique(y)).astype(np.float64)
        values = values[:, 1:] if values.shape[1] == 2 else values
    return values - values.mean(axis=0)


def _codes(column: Floats) -> np.ndarray:
    """Return the quantile bin of every value of a feature, shape (n,); missing values have a bin of their own."""
    known = column[~np.isnan(column)]
    edges = np.unique(np.quantile(known, np.arange(1, _N_BINS) / _N_BINS)) if len(known) else np.empty(0)
    return np.where(np.isnan(column), _N_BINS, np.searchsorted(edges, column)).astype(np.uint8)


def _additive_residual(codes: np.ndarray, values: Floats) -> Floats:
    """Return the residual (n, K) of least-squares tables of single features, fitted by sweeps of means of bins."""
    residual = values.copy()
    tolerance = 1e-3 * values.std(axis=0).max()
    for _ in range(_SWEEPS):
        change = 0.0
        for code in codes:
            count = np.maximum(np.bincount(code, minlength=_N_BINS + 1), 1)
            for k in range(residual.shape[1]):
                means = np.bincount(code, residual[:, k], _N_BINS + 1) / count
                residual[:, k] -= means[code]
                change = max(change, np.abs(means).max())
        if change <= tolerance:
            break
    return residual


@storable
class PL1Embedding(KnotMap):
    """Every feature as its two nearest knots: f(x) = sum_n f_n(x_n), each f_n continuous and linear between knots.

    If t is the fraction of x_n between its knots v_d and v_{d+1}, column (n, d) is 1 - t, column (n, d + 1) is t, and the other
    columns of the feature are 0 (Pele et al. 2013, Alg. 1). So the weight of a column is the value of f_n at that knot.

    Parameters
    ----------
    n_knots : int or one int a feature, each >= 2, default 8
        The most knots of a feature; one with fewer distinct values has those, a constant one a single column of 1.
    knots : {"kmeans", "quantile", "uniform", "tree"} or one array a feature, default "kmeans"
        Knots from the minimum to the maximum: k-means centres of least inertia (the paper's), quantiles, equal steps,
        thresholds of a decision tree on the feature for the y of `fit`, or increasing numbers.
    extrapolation : {"clip", "linear", "error"}, default "clip"
        Values outside of the knots are those at the nearest (the paper's), go on with the slope of the outer cell, or are
        refused.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused; has no entry; or is a level of its own in every feature, also where the fit has seen none.
    zero_preserving : bool, default False
        True lets 0 add nothing: it is one more knot of every feature, without a column (Pele et al. 2013, section 3.1). X may
        be sparse, and rows have entries for its non-zeros only.
    shared_knots : bool, default False
        True gives all features the same knots, so that they are on one scale.
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
    n_columns_ : int
    terms_ : tuple of Term

    Raises
    ------
    InputError
        From `fit`, if a parameter is none of these, there is only one row, or knots do not increase or are more than 65,535.

    Examples
    --------
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

    def check_restored(self) -> None:
        super().check_restored()
        self._set_columns()

    def _set_columns(self) -> None:
        self._located = self._axes()
        self.n_columns_ = int(self._located.width.sum())

    @property
    def terms_(self) -> tuple[Term, ...]:
        """One summand for each feature that has columns, made anew each time the attribute is read."""
        return _single_terms(self._located)

    @property
    def most_nonzeros(self) -> int:
        return 2 * self.n_features_in_

    def nonzeros_at_most(self, items: Floats | sparse.csr_array) -> Integers:
        return 2 * self._active(items)

    def write(self, items: Floats, out: Chunk) -> None:
        write_singles(items, self._located, self.extrapolation == "linear", out)

    @property
    def names(self) -> list[str]:
        return [label for part in self._vertex_labels() for label in part]


@storable
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
    n_knots : int or one int a feature, each >= 2, default 8
        The most knots of a feature; one with fewer distinct values has those, a constant one a single column of 1.
    knots : {"kmeans", "quantile", "uniform", "tree"} or one array a feature, default "kmeans"
        Knots from the minimum to the maximum: k-means centres of least inertia (the paper's), quantiles, equal steps,
        thresholds of a decision tree on the feature for the y of `fit`, or increasing numbers.
    pairs : {"all", "chain", "grid", "best"} or list of pairs, default "all"
        All; those at most ``reach`` features apart; neighbours on a grid (PL2-K, Pele et al. 2013, section 5.2); the
        ``n_pairs`` best for the y of `fit`; or pairs of numbers or column names, which are sorted.
    n_pairs : int or None, default None
        Required with ``pairs="best"``, which ranks as FAST does (Lou et al. 2013, "Accurate intelligible models with pairwise
        interactions"): tables of single features are subtracted from y, and a pair gains what its table of 8 by 8 quantile bins
        explains of the rest, less what noise would.
    reach : int >= 1, default 1
        The most steps between the features of a pair, for "chain" and "grid".
    shape : tuple of int, of which some may be tuples of int, or None, default None
        Axes of the features for "grid", such as (rows, columns), the last fastest. Neighbours are at most ``reach`` steps apart
        along all axes; with tuples, along the axes of one alone: ``((6, 8), 8)`` pairs each of 8 orientations in 6 x 8 bins
        with itself around, and with those beside it.
    periodic : sequence of int, default ()
        The axes of ``shape`` that are circles, counted from 0 without regard to tuples. ``(2,)`` with the shape above has the
        1,600 pairs of bins whose ground distance (Pele & Werman 2009) is below its threshold 2; the paper has 1,605.
    shared_knots : bool, default False
        True gives all features the same knots: then |x_n - x_l|, max and min are in the span (ibid., section 3).
    extrapolation : {"clip", "linear", "error"}, default "clip"
        Values outside of the knots are those at the nearest (the paper's), go on, or are refused. With "linear" only terms of
        single features go on, since the formula of a triangle would jump between cells.
    missing : {"error", "zeros", "indicator"}, default "error"
        As for `PL1Embedding`; a missing value is a level in the grids of its pairs, or, with "zeros", gives them no entry.
    zero_preserving : bool, default False
        As for `PL1Embedding`; a pair has entries only where neither value is 0. With an intercept the functions are the same.
        Where many values are 0, as in indicators of categories, it suits dense X too: on covtype_75k rows have a tenth of the
        entries, and the mean row, along which machines learn slowly, has 11 instead of 71 % of their squared length.
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
    >>> embedding = PL2Embedding(knots=[[0.0, 1.0], [0.0, 1.0]], sparse_output=False).fit([[0.0, 0.0], [1.0, 1.0]])
    >>> embedding.get_feature_names_out()[4:]
    array(['x0@0*x1@0', 'x0@0*x1@1', 'x0@1*x1@0', 'x0@1*x1@1'], dtype=object)
    >>> embedding.transform([[0.25, 0.75]])[:, 4:]
    array([[0.25, 0.5 , 0.  , 0.25]])
    """

    _listed: Stored[Integers | None]  # (n_pairs, 2); None for all pairs

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pairs(self.pairs, self.n_features_in_, self.n_pairs, self.reach, self.shape, self.periodic)

    def _check(self, y: ArrayLike | None) -> None:
        super()._check(y)
        given = None if isinstance(self.pairs, str) else self.pairs
        self._listed = None if given is None else listed_pairs(given, self.n_features_in_, self.feature_names)

    def check_restored(self) -> None:
        super().check_restored()
        every = isinstance(self.pairs, str) and self.pairs == "all"
        check_sorted_pairs(self._listed, self.n_features_in_, none=every)
        self._set_columns()

    @property
    def supervised(self) -> bool:
        return super().supervised or isinstance(self.pairs, str) and self.pairs == "best"

    def _lay_out(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> None:
        if isinstance(self.pairs, str) and self.pairs != "all":
            self._listed = self._chosen(items, y)
        self._set_columns()

    def _set_columns(self) -> None:
        self._located = axes = self._axes()
        width = [int(w) for w in axes.width]
        if self._listed is None:
            columns = (sum(width) ** 2 - sum(w * w for w in width)) // 2
        else:
            columns = sum(width[a] * width[b] for a, b in self._listed.tolist())
        self.n_columns_ = check_columns_fit(sum(width) + columns, f"n_knots={self.n_knots!r} with pairs")
        self._partners = _all_partners(axes) if self._listed is None else _partners(axes, self._listed)

    def _chosen(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> Integers:
        """Return the pairs of neighbours, or the best pairs for y on at most `MOST_ROWS` rows: shape (n_pairs, 2)."""
        if y is None or self.n_pairs is None:
            return neighbours((self.n_features_in_,) if self.shape is None else self.shape, self.reach, self.periodic)
        rows = np.arange(len(y))
        if len(y) > MOST_ROWS:
            rows = np.sort(check_random_state(self.random_state).choice(len(y), MOST_ROWS, replace=False))
        pairs, scores = pair_scores(dense_rows(items, rows), y[rows], n_jobs=self.n_jobs)
        return pairs[np.sort(np.argsort(-scores, kind="stable")[: self.n_pairs])]

    @property
    def pairs_(self) -> Integers:
        """The pairs of features that have terms, in the order of their columns: shape (n_pairs, 2)."""
        return np.stack(np.triu_indices(self.n_features_in_, 1), axis=1) if self._listed is None else self._listed

    @property
    def terms_(self) -> tuple[Term, ...]:
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

    def nonzeros_at_most(self, items: Floats | sparse.csr_array) -> Integers:
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
    rows = enumerate(zip(axes.column.tolist(), axes.width.tolist(), strict=True))
    return tuple(Term((f,), start, start + width) for f, (start, width) in rows if width)


def _all_partners(axes: Axes) -> Partners:
    """Return all pairs as kernels take them: (f, l) follows the pairs of features below f, and (f, k) with f < k < l."""
    width = axes.width
    before = np.cumsum(width) - width
    blocks = width * (width.sum() - before - width)
    start = width.sum() + np.cumsum(blocks) - blocks - width * (before + width)
    return Partners(np.empty(0, np.int64), before, start)


def _partners(axes: Axes, pairs: Integers) -> Partners:
    """Return for every first feature its second features, and the first column of each pair, as kernels take them."""
    size = axes.width[pairs[:, 0]] * axes.width[pairs[:, 1]]
    first = np.searchsorted(pairs[:, 0], np.arange(len(axes.width) + 1))
    return Partners(first, np.ascontiguousarray(pairs[:, 1]), axes.width.sum() + np.cumsum(size) - size)
