"""Pairs of features ranked by what they explain together (FAST: Lou, Caruana, Gehrke, Hooker 2013, section 3.2).

    score(n, l) = sum over cells of S² / N  -  (cells - rows - columns + 1) sigma²

S and N are the sum and the number of the residuals in a cell of the pair's table of quantile bins, and sigma² is their
variance. The score is the squared error that the table explains beyond tables of single features, minus what it would explain
of noise.
"""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.interactions import table_gains

__all__ = ["MOST_ROWS", "best_pairs", "pair_scores"]

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
