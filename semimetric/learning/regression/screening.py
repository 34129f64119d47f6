"""Which of very many numbers a distance needs: a weighted L1 distance of few of them, found by one convex program.

    min_w  sum_p s_p (sum_f w_f |u_f(x_p) - u_f(y_p)| - y_p)² / 2 + alpha sum_f r_f w_f   over  w >= 0

u are features and directions, r_f is the root mean square of column f. The weights >= 0 and the l1 penalty leave most features
without a weight, and columns are generated, so that thousands of them never make a dense matrix (`column_generation`). Of the
features left, those that contribute most are kept: how many is chosen on pairs that share no item with those fitted to.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import TooFewError
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.pair_gaps import add_slopes, fill_gaps
from ...data.splits import item_disjoint_splits
from ...solvers.column_generation import generate_columns
from ..structure import Structure
from .pair_targets import PairTargets

__all__ = ["GapColumns", "Screened", "Split", "sample", "screen"]

_ALPHA = 1e-3  # of the l1 penalty: with columns that are >= 0 the bound does most of the pruning
_LEAST_SIZE = 0.1  # of the typical size: a feature that hardly ever differs must not be cheap
_SHARES = (1.0, 0.75, 0.5, 0.35, 0.25)  # of the features with weight: how many of them are kept is compared
_AS_GOOD = 1.02  # times the least held-out loss: the fewest features that reach it are kept
_MOST_KEPT = 1_000
_MOST_ENTRIES = 1 << 27  # of all features of the items of a sample of the pairs, each of four bytes
_MOST_PAIRS = 20_000
_PAIRS_OF_SIZES = 2_000  # of which the sizes of columns are computed
_BLOCK = 1024  # items whose features are computed at once
_REFIT_TOL = 1e-5


Split = tuple[Integers, Integers]


class Screened(NamedTuple):
    """What was kept of all features.

    Attributes
    ----------
    kept : ndarray of int, increasing
        The numbers of the features that are kept.
    weights : ndarray of shape (n_kept,)
        The best weights of these alone, in units of the mean target for a feature across its range.
    split : tuple of ndarray of int, or None
        The pairs that were fitted to for the comparison, and those that were held out; None if none could be.
    trained : ndarray of shape (n_kept,)
        The best weights for the pairs that were fitted to in the comparison.
    losses : dict of int to float
        The loss on held-out pairs by the number of features, in units of the mean target; empty if none could be held out.
    """

    kept: Integers
    weights: Floats
    split: Split | None
    trained: Floats
    losses: dict[int, float]


@dataclass(frozen=True, eq=False)
class GapColumns:
    """The columns |u_f(x) - u_f(y)| of pairs, which are made a few at a time; each row is multiplied by a number.

    Parameters
    ----------
    features : ndarray of shape (n_items, n_features), float32
    pairs : ndarray of int64 of shape (m, 2)
        Rows of ``features``.
    scale : ndarray of shape (m,)
        What each row is multiplied by.
    """

    features: np.ndarray
    pairs: Integers
    scale: Floats

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return self.features.shape[1]

    @cached_property
    def _sides(self) -> tuple[Integers, Integers]:
        return np.ascontiguousarray(self.pairs[:, 0]), np.ascontiguousarray(self.pairs[:, 1])

    def slopes(self, r: Floats) -> Floats:
        """Aᵀ r, shape (n_features,)."""
        out = np.zeros(self.n_columns)
        add_slopes(self.features, *self._sides, (r * self.scale).astype(np.float32), out)
        return out

    def take(self, columns: Integers) -> Floats:
        """Some of the columns, shape (m, len(columns)), float64."""
        out = np.empty((len(self.pairs), len(columns)))
        fill_gaps(np.ascontiguousarray(self.features[:, columns], dtype=np.float64), *self._sides, self.scale, out)
        return out

    def rows(self, rows: Integers) -> "GapColumns":
        """The columns of some of the pairs."""
        return GapColumns(self.features, self.pairs[rows], self.scale[rows])


def screen(structure: Structure, data: PairTargets, *, random_state: int | None) -> Screened:
    """Choose among all features of a structure.

    Parameters
    ----------
    structure : Structure
        Of numbers alone; its grid has the range of every feature.
    data : PairTargets
        A `sample` of them, where there are many.
    random_state : int or None
        The seed of the split.
    """
    used, index = np.unique(data.tuples.index, return_inverse=True)
    scale = np.ones(len(data.targets)) if data.scale is None else data.scale
    A = GapColumns(_scaled_features(structure, data.tuples.items[used]), index.reshape(-1, 2).astype(np.int64), scale)
    split = _split(data, random_state)
    fraction, losses = (1.0, {}) if split is None else _share(A, data, *split)
    weights, size = _fitted(A, data.targets, data.weight)
    most = min(max(round(fraction * np.count_nonzero(weights)), 1), _MOST_KEPT)
    kept = np.sort(_largest(weights * size if weights.any() else size, most))
    best = _refitted(A, data, weights, kept)[kept]
    if split is None:
        return Screened(kept, best, None, best, losses)
    trained = _refitted(A.rows(split[0]), data.take(split[0]), weights, kept)[kept]
    return Screened(kept, best, split, trained, losses)


def _split(data: PairTargets, random_state: int | None) -> Split | None:
    """Rows of the pairs to fit to and to judge by, which share no item; None if too few can be held out."""
    try:
        return next(iter(item_disjoint_splits(data.tuples, n_splits=1, random_state=random_state)))
    except TooFewError:
        return None


def _share(A: GapColumns, data: PairTargets, train: Integers, held: Integers) -> tuple[float, dict[int, float]]:
    """The share of the features with weight that is to be kept, and the losses by the number kept."""
    fit_to, judged_on = data.take(train), data.take(held)
    of_train, of_held = A.rows(train), A.rows(held)
    weights, size = _fitted(of_train, fit_to.targets, fit_to.weight)
    n = int(np.count_nonzero(weights))
    losses: dict[int, float] = {}
    for share in _SHARES:
        kept = _largest(weights * size, max(round(share * n), 1))
        refitted = _refitted(of_train, fit_to, weights, kept)
        residual = of_held.take(kept) @ refitted[kept] - judged_on.targets
        losses[len(kept)] = float(judged_on.weight @ (residual * residual)) / 2
    fewest: int = min(k for k, loss in losses.items() if loss <= _AS_GOOD * min(losses.values()))
    return fewest / max(n, 1), losses


def _fitted(A: GapColumns, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The weights of the program, and the mean of every column: both of shape (n_features,)."""
    means, squares = A.slopes(weight), _mean_squares(A, weight)
    typical = float(np.median(squares[squares > 0])) if (squares > 0).any() else 1.0
    size = np.sqrt(np.maximum(squares, _LEAST_SIZE**2 * typical))
    cost = np.where(means > 0, _ALPHA * size, np.inf)
    return generate_columns(A, target, weight, cost).weights, means


def _refitted(A: GapColumns, data: PairTargets, weights: Floats, kept: Integers) -> Floats:
    """The best weights of some of the features without a penalty, from those with all."""
    cost = np.full(A.n_columns, np.inf)
    cost[kept] = 0.0
    start = np.where(np.isfinite(cost), weights, 0.0)
    return generate_columns(A, data.targets, data.weight, cost, start=start, tol=_REFIT_TOL).weights


def _mean_squares(A: GapColumns, weight: Floats) -> Floats:
    """The weighted mean square of every column over a sample of the pairs, shape (n_features,), block by block."""
    rows = np.arange(0, len(weight), max(len(weight) // _PAIRS_OF_SIZES, 1))
    part, share = A.rows(rows), weight[rows] / weight[rows].sum()
    return np.concatenate([share @ np.square(part.take(np.arange(b.start, b.stop))) for b in blocks(A.n_columns, _BLOCK)])


def _largest(sizes: Floats, n: int) -> Integers:
    """The numbers of the n largest sizes that are > 0."""
    order = np.argsort(-sizes, kind="stable")[:n]
    return order[sizes[order] > 0]


def sample(structure: Structure, data: PairTargets, *, random_state: int | None) -> PairTargets:
    """A sample of the pairs, whose items have no more features than can be held; all of them, if they are few."""
    n_features = structure.embedding.grid.n_features
    most_items = max(_MOST_ENTRIES // n_features, 64)
    many = len(np.unique(data.tuples.index)) > most_items
    most = min(_MOST_PAIRS, most_items // 2) if many else _MOST_PAIRS
    n = len(data.target)
    return data if n <= most else data.take(np.sort(np.random.default_rng(random_state).choice(n, most, replace=False)))


def _scaled_features(structure: Structure, items: Floats) -> np.ndarray:
    """All features of the items in units of their range, float32; a constant feature is 0."""
    grid = structure.embedding.grid
    out = np.empty((len(items), grid.n_features), np.float32)
    width = np.where(grid.varies, grid.widths, np.inf)
    for block in blocks(len(items), _BLOCK):
        out[block] = (structure.features_of(items[block]) - grid.low) / width
    return out
