"""B-splines of which a ridge penalises differences and nothing else (Eilers & Marx 1996): rows phi = psi A, block by block.

    v = K w + N t + level,   K = D' (D D')^{-1},   N a basis of the polynomials in i that have mean 0,   A = (K, N / sqrt(r))

D, of shape (m - d, m), takes the differences of order d of m coefficients, so |w|² + r |t / sqrt(r)|² is |D v|² and a ridge of
the straight line, parabola and so on that D does not see. The level is left to the intercept. But where
missing values add 0, levels of features are no constants: there N has a column of the level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha
from ..._kernels.csr_rows import BlockMaps

__all__ = ["block_maps", "check_null_space_ridge", "difference_basis"]

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
    """The map A of one feature with m B-splines, shape (m, m - 1), with ``level`` (m, m): polynomials, then differences.

    Columns of polynomials of degree 1, 2, ..., ``order - 1`` in the number of the B-spline are orthogonal to one another and to
    constants, which are the first column with ``level``. All end at 1 / (factor sqrt(ridge)): times rows psi that are c =
    ``factor`` times B-splines, at 1 / sqrt(ridge).
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
    """The maps of all features, with ``widths`` B-splines that are ``factors`` times as long, and that of missing values.

    ``missing`` is 1 for features whose B-splines are followed by a column of missing values, which stays as it is. With
    ``level`` every feature has a column of its level, as it needs where missing values add nothing.
    """
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
