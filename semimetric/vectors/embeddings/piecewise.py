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
    """The lengths of the axes, those along which a neighbour may be apart at once together.

    A shape of numbers alone is one such tuple; in one that holds sequences, every member is one.
    """
    if not any(isinstance(side, Sequence | np.ndarray) for side in shape):
        return [tuple(shape)]  # type: ignore[arg-type]  # which are numbers, or refused as none
    return [tuple(side) if isinstance(side, Sequence | np.ndarray) else (side,) for side in shape]


def check_sorted_pairs(pairs: Integers | None, n_features: int, *, none: bool) -> None:
    """Refuse pairs of a saved embedding that no fit lists; with ``none`` all pairs have terms, and none are listed.

    Raises
    ------
    InputError
        If pairs are listed or not where they should be, or they are not different, ascending pairs of features, sorted.
    """
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
    """The pairs that are given by numbers or names, shape (n_pairs, 2); each pair is ascending, and they are sorted.

    Raises
    ------
    InputError
        If a pair is not of two different features that exist, or is given twice.
    """
    groups = resolve_groups(pairs, n_features, names, parameter="pairs")
    wrong = [group for group in groups if len(group) != 2]
    if wrong:
        raise InputError(
            f"pairs holds {wrong[0]}, of {len(wrong[0])} features; two each are required: see IDEmbedding for more"
        )
    return np.array(sorted(tuple(sorted(group)) for group in groups), np.int64)


def neighbours(shape: GridShape, reach: int, periodic: Sequence[int] = ()) -> Integers:
    """The sorted pairs of features that are neighbours on a grid, shape (n_pairs, 2).

    Neighbours are at most ``reach`` steps apart along every axis of one plane of the ``shape``, and in the same place along all
    others; see `planes_of`. The last axis runs fastest, and ``periodic`` ones are circles.
    """
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


def best_pairs(x: Floats, y: np.ndarray, n_pairs: int, *, n_jobs: int | None) -> Integers:
    """The pairs of features with the largest scores, sorted by feature: shape (n_pairs, 2)."""
    pairs, scores = pair_scores(x, y, n_jobs=n_jobs)
    return pairs[np.sort(np.argsort(-scores, kind="stable")[:n_pairs])]


def pair_scores(x: Floats, y: np.ndarray, *, n_jobs: int | None = None) -> tuple[Integers, Floats]:
    """All pairs of the features of ``x``, shape (n_pairs, 2), and their scores for labels or numbers ``y``: (n_pairs,)."""
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
    """The numbers, or the indicators of K classes, minus their means: shape (n, 1) or (n, K), with K = 1 for two classes."""
    if type_of_target(y).startswith("continuous"):
        values = y.astype(np.float64)[:, None]
    else:
        values = (y[:, None] == np.unique(y)).astype(np.float64)
        values = values[:, 1:] if values.shape[1] == 2 else values
    return values - values.mean(axis=0)


def _codes(column: Floats) -> np.ndarray:
    """The quantile bin of every value of a feature, shape (n,); missing values have a bin of their own."""
    known = column[~np.isnan(column)]
    edges = np.unique(np.quantile(known, np.arange(1, _N_BINS) / _N_BINS)) if len(known) else np.empty(0)
    return np.where(np.isnan(column), _N_BINS, np.searchsorted(edges, column)).astype(np.uint8)


def _additive_residual(codes: np.ndarray, values: Floats) -> Floats:
    """The residual of the least-squares fit of tables of single features to ``values``, shape (n, K).

    Each sweep subtracts the means of the bins of one feature after another.
    """
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
        The most knots of a feature; a feature with fewer distinct values has those, a constant one a single column of 1.
    knots : {"kmeans", "quantile", "uniform", "tree"} or one array a feature, default "kmeans"
        Minimum, maximum and k-means centres (the paper's), of all such knots those of least inertia; quantiles; equal steps;
        the thresholds of a decision tree of n_knots - 1 leaves, grown on the feature alone for the y of `fit`; or increasing
        numbers.
    extrapolation : {"clip", "linear", "error"}, default "clip"
        Values outside of the knots are those at the nearest (the paper's); or go on with the slope of the outer cell; or are
        refused.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused; has no entry; or is a level of its own in every feature, also where the fit has seen none.
    zero_preserving : bool, default False
        True lets 0 add nothing: it is one knot more of every feature, and has no column (Pele et al. 2013, section 3.1). The
        others are placed from the values that are not 0. X may be sparse, and the rows have entries for its non-zeros only.
    shared_knots : bool, default False
        Whether all values of all features make one set of knots, so that features are on the same scale.
    dtype : {float64, float32}, default float64
        Type of the rows that `transform` returns.
    sparse_output : bool or "auto", default "auto"
        True returns a sparse matrix from `transform`. "auto" does, but an array where `set_output`, or scikit-learn's
        configuration, asks for a table of pandas or polars, which holds no sparse matrix.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Draws the sample of 100,000 rows that knots are placed from where there are more.

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

    def check_restored(self) -> None:
        super().check_restored()
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
        The most knots of a feature; a feature with fewer distinct values has those, a constant one a single column of 1.
    knots : {"kmeans", "quantile", "uniform", "tree"} or one array a feature, default "kmeans"
        Minimum, maximum and k-means centres (the paper's), of all such knots those of least inertia; quantiles; equal steps;
        the thresholds of a decision tree of n_knots - 1 leaves, grown on the feature alone for the y of `fit`; or increasing
        numbers.
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
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused; has no entry; or is a level of its own in every feature, also where the fit has seen none.
        A missing value is a row of its own in the grids of its pairs, or, with "zeros", a pair with one has no entry.
    zero_preserving : bool, default False
        True lets 0 add nothing: it is one knot more of every feature, and has no column (Pele et al. 2013, section 3.1). The
        others are placed from the values that are not 0. X may be sparse, and the rows have entries for its non-zeros only.
        Grid points with a coordinate 0 have no columns, so a pair has entries only where neither value is 0, and time and room
        go with the pairs of those. With an intercept the functions are the same: what a table says where a value is 0 are
        functions of single features and a constant. Where many values are 0, as in indicators of categories, that is the better
        choice of dense X too: on covtype_75k rows have a tenth of the entries, and the direction of the mean row, along which
        machines learn slowly, 11 instead of 71 % of their squared length.
    dtype : {float64, float32}, default float64
        Type of the rows that `transform` returns.
    sparse_output : bool or "auto", default "auto"
        True returns a sparse matrix from `transform`. "auto" does, but an array where `set_output`, or scikit-learn's
        configuration, asks for a table of pandas or polars, which holds no sparse matrix.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Draws the sample of 100,000 rows that knots are placed from where there are more.

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
