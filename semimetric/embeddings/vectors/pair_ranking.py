"""Pairs of features ranked by what they explain together (FAST: Lou, Caruana, Gehrke, Hooker 2013, section 3.2).

    score(n, l) = sum over cells of S² / N  -  (cells - rows - columns + 1) sigma²

where S and N are the sum and the number of the residuals in a cell of the pair's table of quantile bins, and sigma² is their
variance: the squared error that the table takes away beyond tables of single features, less what it takes from noise.
"""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.interactions import table_gains

__all__ = ["MOST_ROWS", "best_pairs", "pair_scores"]

_N_BINS = 8
MOST_ROWS = 20_000  # that are ranked on
_SWEEPS = 20


def best_pairs(x: Floats, y: np.ndarray, n_pairs: int, *, n_jobs: int | None) -> Integers:
    """The pairs with the largest scores, sorted by feature, shape (n_pairs, 2)."""
    pairs, scores = pair_scores(x, y, n_jobs=n_jobs)
    return pairs[np.sort(np.argsort(-scores, kind="stable")[:n_pairs])]


def pair_scores(x: Floats, y: np.ndarray, *, n_jobs: int | None = None) -> tuple[Integers, Floats]:
    """All pairs of features of ``x`` (n, F), shape (n_pairs, 2), and their scores for labels or numbers ``y``."""
    codes = np.stack([_codes(column) for column in x.T])
    residual = _additive_residual(codes, _outputs(y))
    pairs = np.stack(np.triu_indices(len(codes), 1), axis=1)
    out = np.empty((len(pairs), 2))
    size = max((1 << 22) // max(residual.size, 1), 1)
    map_blocks(
        lambda rows: table_gains(codes, residual, pairs[rows], _N_BINS + 1, out[rows]), len(pairs), size=size, n_jobs=n_jobs
    )
    levels = np.array([len(np.unique(c)) for c in codes])
    freedom = out[:, 1] - levels[pairs].sum(axis=1) + 1
    return pairs, out[:, 0] - freedom * residual.var(axis=0).sum()


def _outputs(y: np.ndarray) -> Floats:
    """Numbers as they are, indicators of classes; centred, shape (n, K)."""
    if type_of_target(y).startswith("continuous"):
        values = y.astype(np.float64)[:, None]
    else:
        values = (y[:, None] == np.unique(y)).astype(np.float64)
        values = values[:, 1:] if values.shape[1] == 2 else values
    return values - values.mean(axis=0)


def _codes(column: Floats) -> np.ndarray:
    """Quantile bins of a feature; what is missing has one of its own."""
    known = column[~np.isnan(column)]
    edges = np.unique(np.quantile(known, np.arange(1, _N_BINS) / _N_BINS)) if len(known) else np.empty(0)
    return np.where(np.isnan(column), _N_BINS, np.searchsorted(edges, column)).astype(np.uint8)


def _additive_residual(codes: np.ndarray, values: Floats) -> Floats:
    """What tables of single features leave of ``values``: least squares by sweeps that take the means of bins away."""
    residual, scale = values.copy(), 1e-3 * values.std(axis=0).max()
    for _ in range(_SWEEPS):
        change = 0.0
        for code in codes:
            count = np.maximum(np.bincount(code, minlength=_N_BINS + 1), 1)
            for k in range(residual.shape[1]):
                means = np.bincount(code, residual[:, k], _N_BINS + 1) / count
                residual[:, k] -= means[code]
                change = max(change, np.abs(means).max())
        if change <= scale:
            break
    return residual
