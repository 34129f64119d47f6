"""B-splines where they are not 0: degree + 1 values a feature (paper 1, section 3)."""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .locate import clipped, lower_knot

SLACK = 4  # entries that `spline_sum_rows` may write beyond the last


class Splines(NamedTuple):
    """Bases of all features: feature f has ``bins[f]`` cells on [low, low + width], and columns from ``first[f]`` on.

    ``knots[offset[f]:offset[f + 1]]`` are its knots with ``degree`` more on either side. All of ``knots`` is empty where every
    feature has equal cells.
    """

    low: np.ndarray
    width: np.ndarray
    bins: np.ndarray  # 0 is a constant feature with one column, -1 a feature without columns
    first: np.ndarray
    missing: np.ndarray  # the column of missing values, or -1
    factor: np.ndarray  # it multiplies the feature
    knots: np.ndarray
    offset: np.ndarray


@kernel
def _on_equal_cells(t, degree):
    """Return the degree + 1 B-splines at t in [0, 1] of a cell of width 1, with zeros behind them."""
    s = 1.0 - t
    if degree == 0:
        return 1.0, 0.0, 0.0, 0.0
    if degree == 1:
        return s, t, 0.0, 0.0
    if degree == 2:
        return 0.5 * s * s, 0.5 + s * t, 0.5 * t * t, 0.0
    sixth = 1.0 / 6.0
    middle = sixth * (4.0 - 3.0 * t * t * (1.0 + s)), sixth * (4.0 - 3.0 * s * s * (1.0 + t))
    return sixth * s * s * s, middle[0], middle[1], sixth * t * t * t


@kernel
def _de_boor(x, knots, j, degree, values):
    """Fill ``values`` with the B-splines at x in the cell [knots[j], knots[j + 1]] by de Boor's recursion."""
    values[0] = 1.0
    for d in range(1, degree + 1):
        saved = 0.0
        for r in range(d):
            right, left = knots[j + r + 1] - x, x - knots[j + 1 - d + r]
            part = values[r] / (right + left)
            values[r] = saved + right * part
            saved = left * part
        values[d] = saved


@kernel
def _add_slope(distance, lower, knots, j, degree, values):
    """Add ``distance`` times the derivative, from the values ``lower`` of one degree less, in the cell j."""
    for r in range(degree + 1):
        if r > 0:
            values[r] += distance * degree * lower[r - 1] / (knots[j + r] - knots[j + r - degree])
        if r < degree:
            values[r] -= distance * degree * lower[r] / (knots[j + r + 1] - knots[j + r + 1 - degree])


@kernel
def _tangent_on_equal_cells(beyond, t, degree, values):
    """Fill ``values`` with those at the end t (0 or 1) of a cell, and ``beyond`` cells on along the tangent."""
    value, lower = _on_equal_cells(t, degree), _on_equal_cells(t, degree - 1)
    for r in range(degree + 1):
        values[r] = value[r] + beyond * ((lower[r - 1] if r > 0 else 0.0) - (lower[r] if r < degree else 0.0))


@kernel
def _values_on_knots(x, inside, j, knots, degree, work):
    """Fill work[0] with the B-splines at x in the cell j, along the tangent where x is not ``inside``.

    ``inside`` is x clipped to the knots; work[1] is room for the B-splines of one degree less.
    """
    _de_boor(inside, knots, j, degree, work[0])
    if x != inside:
        _de_boor(inside, knots, j, degree - 1, work[1])
        _add_slope(x - inside, work[1], knots, j, degree, work[0])


@kernel
def _put(k, column, value, out):
    out.indices[k], out.data[k] = column, value


@kernel
def _after(k, out):
    """Return the place of the entry after k: a zero is written over, which spares a branch that would be mispredicted."""
    return k + (out.data[k] != 0)  # The stored value decides, as float32 has more zeros.


@kernel
def _without_cells(is_missing, splines, f):
    """Return the column and the value of the one entry of a missing value or of a single knot; -1 and 0 if there is none."""
    if is_missing:
        return splines.missing[f], 1.0
    if splines.bins[f] == 0:
        return splines.first[f], splines.factor[f]
    return -1, 0.0


@kernel
def spline_rows(x, splines, degree, linear, out):
    """Write psi of the rows x (n, F) into the CSR buffers ``out``; outside the knots linear, or clipped."""
    work, k, equal = np.zeros((2, 4)), 0, splines.knots.shape[0] == 0
    out.indptr[0] = 0
    for i in range(x.shape[0]):
        for f in range(x.shape[1]):
            value, bins, first, factor = x[i, f], splines.bins[f], splines.first[f], splines.factor[f]
            if value != value or bins <= 0:
                column, entry = _without_cells(value != value, splines, f)
                if column >= 0:
                    _put(k, column, entry, out)
                    k = _after(k, out)
                continue
            if equal:
                place = (value - splines.low[f]) / splines.width[f] * bins
                inside = clipped(place, float(bins))
                cell = min(int(inside), bins - 1)
                a, b, c, d = _on_equal_cells(inside - cell, degree)
                if linear and place != inside:
                    _tangent_on_equal_cells(place - inside, inside - cell, degree, work[0])
                    a, b, c, d = work[0, 0], work[0, 1], work[0, 2], work[0, 3]
            else:
                knots = splines.knots[splines.offset[f] : splines.offset[f + 1]]
                last = knots.shape[0] - 1 - degree
                inside = min(max(value, knots[degree]), knots[last])
                j = lower_knot(inside, knots, degree, last)
                _values_on_knots(value if linear else inside, inside, j, knots, degree, work)
                cell = j - degree
                a, b, c, d = work[0, 0], work[0, 1], work[0, 2], work[0, 3]
            _put(k, first + cell, factor * a, out)
            k = _after(k, out)
            _put(k, first + cell + 1, factor * b, out)
            k = _after(k, out)
            if degree > 1:
                _put(k, first + cell + 2, factor * c, out)
                k = _after(k, out)
            if degree > 2:
                _put(k, first + cell + 3, factor * d, out)
                k = _after(k, out)
        out.indptr[i + 1] = k


@kernel
def spline_places(x, splines, degree, places, indptr):
    """Fill the places of the rows x (n, F) on equal cells, clipped; ``indptr`` (n + 1,) bounds the room of their sums."""
    n = 0
    indptr[0] = 0
    for i in range(x.shape[0]):
        for f in range(x.shape[1]):
            bins = splines.bins[f]
            place = (x[i, f] - splines.low[f]) / splines.width[f] * bins
            place = 0.0 if place < 0.0 else place
            place = float(bins) if place > bins else place
            places[i, f] = place  # NaN stays NaN
            n += degree + 1 + (int(place) if place == place else 0)
        indptr[i + 1] = n


@kernel
def spline_sum_rows(places, splines, degree, out):
    """Write the suffix sums of psi within each feature, which are phi of first differences, of rows at these places.

    They are the whole sum, c, from the first column to the cell. Four of these are written at a time, which spares
    branches that would be mispredicted, so there must be room for `SLACK` more.
    """
    k = 0
    out.indptr[0] = 0
    for i in range(places.shape[0]):
        for f in range(places.shape[1]):
            place, bins, first, factor = places[i, f], splines.bins[f], splines.first[f], splines.factor[f]
            if place != place or bins <= 0:
                column, entry = _without_cells(place != place, splines, f)
                if column >= 0:
                    _put(k, column, entry, out)
                    k = _after(k, out)
                continue
            cell = min(int(place), bins - 1)
            a, b, c, d = _on_equal_cells(place - cell, degree)
            c += d
            b += c
            total = factor * (a + b)
            for j in range(0, cell + 1, 4):
                at = np.uint64(k + j)
                for more in range(4):
                    out.indices[at + np.uint64(more)], out.data[at + np.uint64(more)] = first + j + more, total
            k += cell + 1
            _put(k, first + cell + 1, factor * b, out)
            k = _after(k, out)
            if degree > 1:
                _put(k, first + cell + 2, factor * c, out)
                k = _after(k, out)
            if degree > 2:
                _put(k, first + cell + 3, factor * d, out)
                k = _after(k, out)
        out.indptr[i + 1] = k
