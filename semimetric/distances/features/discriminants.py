"""Directions that separate near pairs from far pairs: Fisher's discriminants on a piecewise-linear embedding of the items.

    maximise  mean_far (m·phi(x) - m·phi(y))²  /  mean_near (m·phi(x) - m·phi(y))²,      phi as in `Directions`

They are like linear discriminants, but computed from pairs instead of labels. They bend at knots, so a feature may count only
in a part of its range. The denominator is shrunk towards equal spread (Friedman 1989). Sums over single features cannot depend
on combinations of features; a distance over these directions can, and keeps its axioms (docs/mathematics.md, section 2).
Discriminants combine numeric features that are never missing.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Pairs
from ...data.grid import Grid
from ...data.identical_items import identities
from ..pairs.monotone_scales import WarpedEmbedding
from .linear_directions import Directions

_KNOTS = 8  # of every feature
_SHRINKAGE = 0.3  # of the denominator towards equal spread
_CELLS = 1_000  # the most cells of all features: eigenvectors of a matrix of this size take a second
_DIRECTIONS = 10  # the most directions that are kept
_LEAST_RATIO = 1.3  # a direction is kept if the mean square of far pairs is at least so many times that of near pairs
_BLOCK = 4096  # pairs whose differences are held at once


def discriminants(
    near: Pairs, far: Pairs, near_weight: Floats, far_weight: Floats, *, usable: NDArray[np.bool_] | None = None
) -> Directions | None:
    """Return the 1 to 10 best directions, the best first; None for more than 1,000 features, or if no feature may be used."""
    rows = np.unique(np.concatenate([near.index.ravel(), far.index.ravel()]))
    used = combinable(near.items[rows], usable)
    items = np.where(used, near.items[rows], 0.0)
    n_knots = min(_KNOTS, _CELLS // max(int(used.sum()), 1) + 1)
    if n_knots < 2:
        return None
    different = identities(items).first  # an item counts once, however often it is given
    levels = np.quantile(items[different], np.linspace(0, 1, n_knots), axis=0).T
    knots = [np.unique(k) for k in levels]  # an unused feature has one knot, and so no cell
    scales = WarpedEmbedding(Grid(knots))
    if not scales.n_columns:
        return None
    cells = scales.thermometer(items)
    spread = cells[different].std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    cells /= spread
    of_near = _mean_square(cells, np.searchsorted(rows, near.index), near_weight)
    of_far = _mean_square(cells, np.searchsorted(rows, far.index), far_weight)
    level = max(float(np.trace(of_near)) / max(len(of_near), 1), 1e-12)
    shrunk = (1 - _SHRINKAGE) * of_near + _SHRINKAGE * level * np.eye(len(of_near))
    ratio, vectors = eigh(of_far, shrunk)
    count = min(max(int((ratio > _LEAST_RATIO).sum()), 1), _DIRECTIONS, len(ratio))
    matrix = (vectors[:, ::-1][:, :count] / spread[:, None]).T
    return Directions(matrix, tuple(f"discriminant{k}" for k in range(count)), tuple(knots))


def combinable(items: Floats, usable: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Return True for each usable feature that no item lacks, shape (n_features,)."""
    complete = np.asarray(np.isfinite(items).all(axis=0))
    return complete if usable is None else complete & usable


def _mean_square(cells: Floats, index: np.ndarray, weight: Floats) -> Floats:
    """Return the weighted mean over pairs of the outer product of a difference with itself, shape (n_cells, n_cells)."""
    total = np.zeros((cells.shape[1],) * 2)
    for block in blocks(len(index), _BLOCK):
        difference = cells[index[block, 0]] - cells[index[block, 1]]
        difference *= np.sqrt(weight[block])[:, None]
        total += difference.T @ difference
    return total / weight.sum()
