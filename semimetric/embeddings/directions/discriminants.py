"""Directions that tell near pairs from far ones: Fisher's, from pairs, on a piecewise-linear embedding of the items.

    maximise  mean_far (m·phi(x) - m·phi(y))²  /  mean_near (m·phi(x) - m·phi(y))²,      phi as in `Directions`

As linear discriminants, but from pairs instead of labels, and bent at knots, so that a feature may count where it matters. The
denominator is shrunk towards equal spread (Friedman 1989). Sums over single features cannot see combinations of features;
a distance over these directions can, and keeps its axioms (docs/mathematics.md, section 2). They combine numbers that are
never missing.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Pairs
from ...data.grid import Grid
from ..pairs.monotone_scales import WarpedEmbedding
from .linear_directions import Directions

__all__ = ["combinable", "discriminants"]

_KNOTS = 8
_CELLS = 1_000  # of all features: eigenvectors of a matrix of this size take a second
_DIRECTIONS = 10
_LEAST = 1.3  # far pairs differ so many times as much along a direction that is worth having
_BLOCK = 4096


def discriminants(
    near: Pairs,
    far: Pairs,
    near_weight: Floats,
    far_weight: Floats,
    *,
    usable: NDArray[np.bool_] | None = None,
    shrinkage: float = 0.3,
    random_state: int | None = None,
) -> Directions | None:
    """At most 10 directions, the sharpest first; at least one. None for more than 1,000 features, or none that may be used.

    Parameters
    ----------
    near, far : Pairs
        Over the same items: pairs that should be close, and pairs that should not.
    near_weight, far_weight : ndarray
        One a pair, >= 0.
    usable : ndarray of bool of shape (n_features,) or None
        Features that may be combined, all by default: of these the ones that no item of the pairs lacks.
    shrinkage : float, default 0.3
        Share of equal spread in the denominator, in [0, 1].
    random_state : int or None
    """
    rows = np.unique(np.concatenate([near.index.ravel(), far.index.ravel()]))
    used = combinable(near.items[rows], usable)
    items = np.where(used, near.items[rows], 0.0)
    n_knots = min(_KNOTS, _CELLS // max(int(used.sum()), 1) + 1)
    if n_knots < 2:
        return None
    levels = np.quantile(items, np.linspace(0, 1, n_knots), axis=0).T
    knots = [np.unique(k) for k in levels]  # one, and so no cell, of what is not used
    scales = WarpedEmbedding(Grid(knots))
    if not scales.n_columns:
        return None
    cells = scales.thermometer(items)
    spread = cells.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    cells /= spread
    inside, between = (_scatter(cells, np.searchsorted(rows, p.index), w) for p, w in ((near, near_weight), (far, far_weight)))
    level = max(float(np.trace(inside)) / max(len(inside), 1), 1e-12)
    inside = (1 - shrinkage) * inside + shrinkage * level * np.eye(len(inside))
    ratio, vectors = eigh(between, inside)
    count = min(max(int((ratio > _LEAST).sum()), 1), _DIRECTIONS, len(ratio))
    matrix = (vectors[:, ::-1][:, :count] / spread[:, None]).T
    return Directions(matrix, tuple(f"discriminant{k}" for k in range(count)), tuple(knots))


def combinable(items: Floats, usable: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Features, among the usable ones, that no item lacks."""
    whole = np.asarray(np.isfinite(items).all(axis=0))
    return whole if usable is None else whole & usable


def _scatter(cells: Floats, index: np.ndarray, weight: Floats) -> Floats:
    """Weighted mean of the outer squares of differences."""
    total = np.zeros((cells.shape[1],) * 2)
    for block in blocks(len(index), _BLOCK):
        difference = cells[index[block, 0]] - cells[index[block, 1]]
        difference *= np.sqrt(weight[block])[:, None]
        total += difference.T @ difference
    return total / weight.sum()
