"""B-splines of every feature, as an embedding of which a ridge penalises differences (paper 1, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import Stored, storable
from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count
from ..._kernels.bsplines import SLACK, Splines, spline_places, spline_rows, spline_sum_rows
from ..._kernels.csr_rows import BlockMaps, Chunk, DifferenceOperator
from ..._kernels.difference_penalties import mapped_rows, suffix_sum_rows, suffix_sum_widths
from .base import FeatureMap, Term, check_columns_fit, distinct_labels
from .knots import check_reach, feature_ranges

_LEAST = 1e-12  # rounding of columns that are longer by 1 / sqrt of this reaches the differences
_MOST_COLUMNS = 5000  # of a feature, whose map is a dense square


def check_null_space_ridge(value: float | None, widths: Sequence[int]) -> None:
    """Refuse a ridge that is out of range, or features with more B-splines, ``widths``, than a dense map can have."""
    if value is None:
        return
    if check_alpha("null_space_ridge", value, strict=True) < _LEAST:
        raise InputError(f"null_space_ridge={value!r} must be at least {_LEAST:g}, below which sums are lost in rounding")
    if max(widths, default=0) > _MOST_COLUMNS:
        raise InputError(
            f"a feature has {max(widths)} B-splines; null_space_ridge makes dense rows of at most {_MOST_COLUMNS}: lower "
            "n_bins, or use null_space_ridge=None"
        )


def difference_basis(m: int, factor: float, *, order: int, ridge: float, level: bool = False) -> Floats:
    """Return the map A of one feature with m B-splines, shape (m, m - 1), with ``level`` (m, m).

    Columns of polynomials of degree 1, 2, ..., ``order - 1`` in the number of the B-spline come first. They are orthogonal to
    one another and to constants, and end at 1 / (factor sqrt(ridge)). Differences follow.
    """
    low = min(order, m)
    powers = np.linalg.qr(np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, m), low - 1))[0] if m else np.empty((0, 0))
    inverse = np.eye(m)
    for _ in range(order):  # D_1^{-1}: prefix sums; the last m - d rows of D_1^d are D
        inverse = np.cumsum(inverse, axis=0)
    inverse = inverse[:, low:]
    for _ in range(2):  # once more for what rounding left
        inverse = inverse - powers @ (powers.T @ inverse)
    lines = powers[:, 0 if level else 1 :]
    return np.hstack([lines / lines[-1:] / (factor * np.sqrt(ridge)), inverse])


def block_maps(
    widths: Integers, factors: Floats, order: int, ridge: float | None, *, missing: Integers, level: bool
) -> BlockMaps:
    """Return the maps of all features; ``missing`` is 1 where a column of missing values follows, which stays as it is."""
    bases = {
        key: difference_basis(*key, order=order, ridge=1.0 if ridge is None else ridge, level=level)
        for key in zip(widths.tolist(), factors.tolist(), strict=True)
    }
    places = dict(zip(bases, np.cumsum([1, *(basis.size for basis in bases.values())])[:-1].tolist(), strict=True))
    blocks = []  # the place of the matrix in the tables, and its shape
    for key, marked in zip(zip(widths.tolist(), factors.tolist(), strict=True), missing.tolist(), strict=True):
        blocks += [(places[key], *bases[key].shape), *[(0, 1, 1)] * marked]
    first, n_sources, n_targets = np.array(blocks, np.int64).T
    tables = np.concatenate([np.ones(1), *(basis.ravel() for basis in bases.values())])
    return BlockMaps(np.cumsum([0, *n_sources]), np.cumsum([0, *n_targets]), first.copy(), tables)


_ROWS = 1024  # that a thread takes at a time
_INT32 = np.iinfo(np.int32).max


def climbed(psi: sparse.csr_array, difference_operator: DifferenceOperator, *, n_jobs: int | None = None) -> sparse.csr_array:
    """Return phi, suffix sums of psi of the given order in each block of columns, with int32 indices if they fit."""
    n, width = psi.shape
    source = Chunk(psi.indptr, psi.indices, psi.data)
    starts, order = difference_operator.starts, difference_operator.order
    counts = map_blocks(lambda rows: suffix_sum_widths(source, (rows.start, rows.stop), starts), n, size=_ROWS, n_jobs=n_jobs)
    indptr = np.concatenate([np.zeros(1, np.int64), *counts]).cumsum()
    index = np.int32 if max(width, indptr[-1]) <= _INT32 else np.int64
    out = Chunk(indptr, np.empty(indptr[-1], index), np.empty(indptr[-1], psi.dtype))
    map_blocks(lambda rows: suffix_sum_rows(source, (rows.start, rows.stop), starts, order, out), n, size=_ROWS, n_jobs=n_jobs)
    phi = sparse.csr_array((out.data, out.indices, out.indptr.astype(index)), shape=psi.shape)
    if not out.data.all():  # psi of a value outside the knots has entries of both signs, whose sums can cancel
        phi.eliminate_zeros()
    return phi


_STRATEGIES = ("uniform", "quantile")


@storable
class BSplineEmbedding(FeatureMap):
    """Smooth additive functions: B-splines of every feature, with penalised differences.

        f(x) = sum_n w_n' phi(x_n),   phi = D^{-T} psi,   psi_i(x_n) = c B_i(x_n),   |w|^2 = |D v|^2 for f = sum_n v_n' psi

    B_0, ..., B_{n_bins + degree - 1} are the B-splines of the given degree on n_bins cells, and c = sqrt(1/n_bins). A linear
    model on phi penalises the differences of order ``penalty_order`` of the coefficients v of neighbouring B-splines, with
    D_0 = 1, D_1, and D_r = D_1^r; splines of degree k with D_{k+1} are close to a kernel of k-th derivatives (eq. 14). As
    in Maji 2011, section 3, the first rows of D penalise the first coefficients too, so the result depends on the direction
    of a feature. With order 1 it is close to a model with the min kernel (eq. 12, its constant corrected):

        <phi(x), phi(y)> = min(x, y) + (degree + 1) / (2 n_bins)   where |x - y| >= degree / n_bins

    for features scaled to [0, 1], each its own term of the sum.

    Parameters
    ----------
    n_bins : int, default 10
        The number of cells between the least and the greatest value of a feature.
    degree : {1, 2, 3}, default 1
        The degree of the B-splines, with linear, quadratic or cubic pieces.
    penalty_order : {0, 1, 2, 3, 4}, default 1
        With 0 rows are sparse, with degree + 1 entries for each feature; else they are dense up to the place of the value, and
        linear models of this package store the sparse psi. From order 2 on machines need more passes, because the columns of a
        feature have unlike sizes.
    null_space_ridge : float or None, default None
        None has the regular D above. With a number r >= 1e-12, D is the matrix of Eilers & Marx (1996), which takes differences
        alone and leaves polynomials below ``penalty_order`` free. A machine with an intercept then minimises
        ``|D v|^2 + r |t|^2``, where t are polynomials of degree 1 and more, in units of their values at the outer B-splines. A
        smaller r bends straight lines less and needs more solver steps; 0.01 is a good start, and the intercept should be
        penalised little. With order 1 there is no t: fits with a free intercept are those of the regular D. With
        ``missing="zeros"`` t also has the level of each feature, and the result does not depend on the direction of features.
        Rows are dense, with n_bins + degree - 1 columns a feature, or one more with ``missing="zeros"``. It has no effect for
        order 0.
    knots : "uniform", "quantile", array of shape (n_knots,), or one such array a feature, default "uniform"
        The ends of the cells; arrays replace ``n_bins``. Of equal quantiles only one stays. The paper has uniform knots, which
        orders from 2 on require; D_1 penalises steps from knot to knot on any.
    norm : {"kernel", "unity"}, default "kernel"
        c = sqrt(1/n_bins), with which C means the same for every n_bins and the min kernel; or c = 1, a partition of unity.
        libspline takes the root of the cell's width, so that features in larger units weigh more.
    extrapolation : {"clip", "linear", "error"}, default "clip"
        Values outside the knots move to the nearest knot (as in the paper), f continues along its tangent, or `transform`
        refuses them.
    missing : {"error", "zeros", "indicator"}, default "error"
        NaN is refused; has no entry; or is a column of its own in every feature, also where the fit has seen none.
    dtype : float64 or float32, default float64
    sparse_output : bool or "auto", default "auto"
        True returns a sparse matrix from `transform`; "auto" does too, unless `set_output` asks for a table, which cannot hold
        one.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    knots_ : tuple of ndarray
        The increasing knots of every feature. A constant feature has one knot and one column; a feature without values has
        neither.
    centres_ : tuple of ndarray
        The middle of the support of each B-spline.
    n_columns_ : int
    terms_ : tuple of Term
        The columns of each feature.

    Examples
    --------
    >>> X = np.array([[0.0], [0.25], [1.0]])
    >>> BSplineEmbedding(n_bins=2, penalty_order=0, norm="unity").fit_transform(X).toarray()
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    >>> embedding = BSplineEmbedding(n_bins=2, norm="unity").fit(X)
    >>> embedding.transform(X).toarray()
    array([[1. , 0. , 0. ],
           [1. , 0.5, 0. ],
           [1. , 1. , 1. ]])
    >>> embedding.get_feature_names_out().tolist()
    ['x0~0', 'x0~0.5', 'x0~1']
    >>> free = BSplineEmbedding(n_bins=3, penalty_order=2, null_space_ridge=1e-4).fit(X)  # a line, and two bends
    >>> free.get_feature_names_out().tolist()
    ['x0^1', 'x0~0.667', 'x0~1']
    """

    knots_: Stored[tuple[Floats, ...]]
    _splines: Splines
    _starts: Integers
    _maps: BlockMaps | None
    terms_: tuple[Term, ...]

    def __init__(
        self,
        n_bins: int = 10,
        *,
        degree: int = 1,
        penalty_order: int = 1,
        null_space_ridge: float | None = None,
        knots: str | ArrayLike | Sequence[ArrayLike] = "uniform",
        norm: str = "kernel",
        extrapolation: str = "clip",
        missing: str = "error",
        dtype: Any = np.float64,
        sparse_output: bool | str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.degree = degree
        self.penalty_order = penalty_order
        self.null_space_ridge = null_space_ridge
        self.knots = knots
        self.norm = norm
        self.extrapolation = extrapolation
        self.missing = missing
        self.dtype = dtype
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_choice("degree", self.degree, (1, 2, 3))
        check_columns_fit((check_count("n_bins", self.n_bins) + self.degree) * self.n_features_in_, f"n_bins={self.n_bins}")
        check_choice("penalty_order", self.penalty_order, (0, 1, 2, 3, 4))
        check_choice("norm", self.norm, ("kernel", "unity"))
        check_choice("extrapolation", self.extrapolation, ("clip", "linear", "error"))
        if isinstance(self.knots, str):
            check_choice("knots", self.knots, _STRATEGIES)

    def _fit(self, items: Floats, y: ArrayLike | None) -> None:
        self._check_parameters()
        if isinstance(self.knots, str):
            low, high = feature_ranges(items, self.feature_names)
            self.knots_ = tuple(self._placed(column, a, b) for column, a, b in zip(items.T, low, high, strict=True))
        else:
            self.knots_ = self._given()
        self._check_steps()
        self._lay_out()

    def check_restored(self) -> None:
        super().check_restored()
        self._check_parameters()
        self.knots_ = tuple(self.knots_)
        if len(self.knots_) != self.n_features_in_ or any(k.ndim != 1 for k in self.knots_):
            raise InputError(f"there are knots of {len(self.knots_)} features; {self.n_features_in_} are required")
        uniform = isinstance(self.knots, str) and self.knots == "uniform"
        for k in self.knots_:
            with np.errstate(over="ignore", invalid="ignore"):
                spread = np.linspace(k[0], k[-1], len(k)) if uniform and len(k) > 1 else k
                right = np.isfinite(k).all() and (len(k) < 2 or 0 < k[-1] - k[0] < np.inf) and np.array_equal(spread, k)
            if not right or not (uniform or (np.diff(k) > 0).all()):
                raise InputError(
                    "knots are not finite, not increasing, or not evenly spaced as uniform ones are; restore the file"
                )
        self._check_steps()
        self._lay_out()

    def _placed(self, column: Floats, low: float, high: float) -> Floats:
        if not low < high:
            return np.full(int(low == high), low)  # no knot if all values are missing, and low and high are NaN
        if self.knots == "quantile":
            return np.unique(np.nanquantile(column, np.linspace(0.0, 1.0, self.n_bins + 1)))
        return np.linspace(low, high, self.n_bins + 1)

    def _given(self) -> tuple[Floats, ...]:
        given: Any = self.knots
        if not isinstance(given, Sequence | np.ndarray):
            raise InputError(f"knots={given!r}: one of {_STRATEGIES}, an array, or one array a feature is required")
        shared = all(np.ndim(part) == 0 for part in given)
        parts = [given] * self.n_features_in_ if shared else given
        arrays = [as_floats(part, "knots" if shared else f"knots[{k}]") for k, part in enumerate(parts)]
        if len(arrays) != self.n_features_in_:
            raise InputError(
                f"knots has {len(arrays)} arrays for {self.n_features_in_} features: give one array for all, or one a feature"
            )
        for name, array in zip(self.feature_names, arrays, strict=True):
            if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all() or (np.diff(array) <= 0).any():
                raise InputError(
                    f"knots of feature {name!r} are {array!r}: at least two finite numbers, each greater than the one before, "
                    "are required"
                )
        return tuple(arrays)

    def _check_steps(self) -> None:
        """Find out if the cells of every feature are equal, up to rounding, as orders from 2 on require."""
        self._equal = isinstance(self.knots, str) and self.knots == "uniform" or all(map(_evenly_spaced, self.knots_))
        if self.penalty_order >= 2 and not self._equal:
            raise NotSupportedError(
                f"penalty_order={self.penalty_order} with knots at unequal distances: second differences vanish on "
                'straight lines only where knots are evenly spaced; use knots="uniform", or penalty_order=1'
            )

    def _lay_out(self) -> None:
        """Set the columns: for each feature those of its B-splines, followed by that of its missing values."""
        bins = np.array([len(knots) - 1 for knots in self.knots_], dtype=np.int64)
        widths = np.where(bins > 0, bins + self.degree, bins + 1)
        marks = np.full(len(bins), int(self.missing == "indicator"))
        stops = np.cumsum(widths + marks)
        first = stops - widths - marks
        self._starts = np.unique(np.concatenate([[0], first, first + widths, stops])).astype(np.int64)
        self._most_of_psi = int(np.maximum(np.minimum(widths, self.degree + 1), marks).sum())
        factor = np.sqrt(1.0 / np.maximum(bins, 1)) if self.norm == "kernel" else np.ones(len(bins))
        low = np.array([knots[0] if len(knots) else 0.0 for knots in self.knots_])
        width = np.array([np.ptp(knots) if len(knots) > 1 else 1.0 for knots in self.knots_])
        extended = [_extended(knots, self.degree) for knots in self.knots_]
        outer = self.degree + 1
        self.centres_ = tuple(0.5 * (k[:-outer] + k[outer:]) if len(k) > 1 else k for k in extended)
        flat = np.concatenate([np.empty(0), *([] if self._equal else extended)])
        offset = np.cumsum([0, *([0 if self._equal else len(knots) for knots in extended])])
        missing = np.where(marks, first + widths, -1)
        self._splines = Splines(low, width, bins, first, missing, factor, flat, offset)
        check_null_space_ridge(self.null_space_ridge, widths.tolist())
        free = self.penalty_order > 0 and self.null_space_ridge is not None
        self._levels = free and self.missing == "zeros"  # else the level of each feature is left to the intercept
        spaces = self.penalty_order, self.null_space_ridge
        self._maps = block_maps(widths, factor, *spaces, missing=marks, level=self._levels) if free else None
        kept = np.maximum(widths - (free and not self._levels), 0) + marks
        stops = np.cumsum(kept)
        self.n_columns_ = int(stops[-1])
        self.terms_ = tuple(Term((f,), int(b - n), int(b)) for f, (n, b) in enumerate(zip(kept, stops, strict=True)))

    @property
    def most_nonzeros(self) -> int:
        return self._most_of_psi if self._maps is None else self.n_columns_

    @property
    def difference_operator(self) -> DifferenceOperator | None:
        return DifferenceOperator(self.penalty_order, self._starts) if self.penalty_order and self._maps is None else None

    @property
    def names(self) -> list[str]:
        found = []
        for name, centres in zip(self.feature_names, self.centres_, strict=True):
            labels = [f"~{label}" for label in distinct_labels(centres)]
            if self._maps is not None:
                powers = range(1 - self._levels, min(self.penalty_order, len(labels)))
                labels = [*(f"^{k}" for k in powers), *labels[self.penalty_order :]]
            found += [name + label for label in [*labels, *["~missing"] * (self.missing == "indicator")]]
        return found

    def encode(self, X: ArrayLike, *, reset: bool = False) -> Floats | sparse.csr_array:
        """Return the valid table X as float64.

        Raises
        ------
        InputError
            If a value lies outside the knots with ``extrapolation="error"``, or so far away that "linear" overflows.
        """
        items = super().encode(X, reset=reset)
        if self.extrapolation == "error" and not reset:
            self._check_inside(items)
        if self.extrapolation == "linear" and not reset:
            check_reach(items, self.knots_, self.feature_names, self.dtype)
        return items

    def _check_inside(self, items: Any) -> None:
        for f, knots in enumerate(self.knots_):
            outside = (items[:, f] < knots[0]) | (items[:, f] > knots[-1]) if len(knots) else ~np.isnan(items[:, f])
            if outside.any():
                row = int(np.flatnonzero(outside)[0])
                among = f"between {knots[0]:g} and {knots[-1]:g}" if len(knots) else "missing, as all of the fit"
                raise InputError(
                    f"X[{row}] has {self.feature_names[f]} = {items[row, f]:g}, but with extrapolation='error' it must be "
                    f"{among}; drop the row, or use extrapolation='clip' or 'linear'"
                )

    def write(self, items: Floats, out: Chunk) -> None:
        linear = self.extrapolation == "linear"
        if self._maps is None:
            spline_rows(items, self._splines, self.degree, linear, out)
            return
        most = len(items) * self._most_of_psi
        psi = Chunk(np.empty(len(items) + 1, np.int64), np.empty(most, np.int64), np.empty(most))
        spline_rows(items, self._splines, self.degree, linear, psi)
        mapped_rows(psi, self._maps, out)

    def write_phi(self, items: Floats, new_chunk: Callable[[int], Chunk]) -> Chunk | None:
        if self.difference_operator is None or self.penalty_order > 1 or self.extrapolation == "linear" or not self._equal:
            return None
        places, most = np.empty(items.shape), np.empty(len(items) + 1, np.int64)
        spline_places(items, self._splines, self.degree, places, most)
        out = new_chunk(int(most[-1]) + SLACK)
        spline_sum_rows(places, self._splines, self.degree, out)
        return out

    def _matrix(self, items: Floats | sparse.csr_array) -> sparse.csr_array:
        psi = super()._matrix(items)
        return psi if self.difference_operator is None else climbed(psi, self.difference_operator, n_jobs=self.n_jobs)


def _extended(knots: Floats, degree: int) -> Floats:
    """Return the knots with ``degree`` more on either side, at the distance of the two outermost."""
    if len(knots) < 2:
        return knots
    steps = np.arange(1, degree + 1)
    below = knots[0] - steps[::-1] * (knots[1] - knots[0])
    above = knots[-1] + steps * (knots[-1] - knots[-2])
    return np.concatenate([below, knots, above])


def _evenly_spaced(knots: Floats) -> bool:
    if len(knots) < 3:
        return True
    rounding = 8 * np.finfo(np.float64).eps * np.abs(knots).max()
    return np.allclose(np.diff(knots), np.ptp(knots) / (len(knots) - 1), rtol=1e-9, atol=rounding)
