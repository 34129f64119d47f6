"""Neighbourhood components that bend: a map of piecewise-linear features under which all items vote well by L1 distances.

    minimise over M:   - sum_i log share_i(M),   share_i = sum over j of the class of i of v_ij / sum over all j of v_ij,
                       v_ij = exp(-|M phi(x_i) - M phi(x_j)|_1),  j other than i

The loss is that of neighbourhood components analysis (Goldberger et al. 2005) with the logarithm of the share. It is learned by
stochastic gradients over batches while all items, or a sample of many, vote. Ye, Yin, Zhan & Chao 2025 showed that this is
competitive on tables, and that maps of single features before the linear map help. Here the map of a feature is how far it has
risen through each of a few cells, so that the components are piecewise linear. Distances are L1, so that the sum over
components is a distance of the family of this package: a metric, with tables that can be read (docs/mathematics.md, section
10.2).

The program is not convex: the components depend on the seed. Averages over seeds are sums of such distances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import blocks, end_if_interrupted, map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.neighborhoods import VotingItems, add_vote_gradients
from ...data.grid import Grid
from ..pairs.monotone_scales import WarpedEmbedding
from .linear_directions import Directions

_COMPONENTS = 32
_CELLS = 8  # of each feature, between quantiles
_MOST_CELLS = 2_400  # of all features together
_FIRST = 0.3  # the size of the random map to begin with
_RATE = 0.01  # of Adam (Kingma & Ba 2015), falling to 0 along half a cosine
_DROPPED = 0.1  # the share of the columns that a batch does without
_BATCH = 128
_BLOCK = 10_000  # items whose columns are computed at once
_VOTERS = 2_048  # items that vote at once, beside those of the batch
_EPOCHS = 25
_STEPS = (200, 1_000)  # the fewest and the most
_MANY, _MAPS_OF_MANY = 4_000, 2  # items, and the maps that are learned from more


class _Columns(NamedTuple):
    """Columns of the map: standardised features, then their rises through their cells."""

    values: NDArray[np.float32]  # (n_items, n_features + n_cells)
    knots: tuple[Floats, ...]
    spread: Floats


def embedded_components(
    items: Floats,
    labels: Integers,
    weight: Floats | None = None,
    *,
    n_maps: int = 1,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> Directions | None:
    """Learn components from labelled items; None where no feature varies, or no class has two items.

    Directions bend at the knots of the features, and are constant outside. Differences along them are in units of the
    exponent of the votes, so that components that matter less are shorter.
    """
    if len(items) < 2 or not np.ptp(items, axis=0).any() or np.bincount(labels).max() < 2:
        return None
    weight = np.ones(len(items)) if weight is None else weight * len(items) / weight.sum()
    columns = _columns(items)
    n_maps = max(n_maps, _MAPS_OF_MANY if len(items) > _MANY else 1)
    seeds = np.random.SeedSequence(random_state).spawn(n_maps)

    def one_map(block: slice) -> Floats:
        rng = np.random.default_rng(seeds[block.start])
        return _over_cells(columns, _learned(columns.values, labels, weight, rng))

    matrix = np.vstack(map_blocks(one_map, n_maps, size=1, n_jobs=n_jobs)) / n_maps
    matrix = matrix[np.abs(matrix).max(axis=1) > 0]
    return Directions(matrix, tuple(f"component{k}" for k in range(len(matrix))), columns.knots) if len(matrix) else None


def _columns(items: Floats) -> _Columns:
    """Return columns of the map; the knots of a feature are its quantiles, and a constant feature has one knot and no cell."""
    n_features = items.shape[1]
    n_cells = int(np.clip(_MOST_CELLS // n_features, 1, _CELLS))
    levels = np.quantile(items, np.linspace(0.0, 1.0, n_cells + 1), axis=0)
    knots = tuple(np.unique(levels[:, f]) for f in range(n_features))
    low, high = items.min(axis=0), items.max(axis=0)
    half = np.where(high > low, high / 2 - low / 2, 1.0)  # halves do not overflow
    placed = (items / 2 - low / 2) / half  # from 0 to 1
    spread = placed.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scales = WarpedEmbedding(Grid(knots))
    values = np.empty((len(items), n_features + scales.n_columns), np.float32)
    values[:, :n_features] = (placed - placed.mean(axis=0)) / spread
    for block in blocks(len(items), _BLOCK):
        values[block, n_features:] = scales.thermometer(items[block])
    return _Columns(values, knots, 2 * half * spread)


def work_of_components(n_items: int) -> float:
    """Estimate the work of learning from so many items, without a unit: maps times steps times items that vote."""
    n_maps = _MAPS_OF_MANY if n_items > _MANY else 1
    return float(n_maps * _n_steps(n_items) * min(_BATCH, n_items) * min(n_items, _VOTERS + _BATCH))


def _n_steps(n_items: int) -> int:
    return int(np.clip(_EPOCHS * n_items // min(_BATCH, n_items), *_STEPS))


def _over_cells(columns: _Columns, learned: NDArray[np.float32]) -> Floats:
    """Return map as one of the cells alone, shape (n_components, n_cells): a feature rises by its width through each cell."""
    n_features = len(columns.knots)
    alone, matrix = learned[:n_features].T.astype(np.float64), learned[n_features:].T.astype(np.float64)
    widths = [np.diff(k) / s for k, s in zip(columns.knots, columns.spread, strict=True)]
    return matrix + np.hstack([alone[:, [f]] * width for f, width in enumerate(widths)])


def _learned(columns: NDArray[np.float32], labels: Integers, weight: Floats, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the map, shape (n_columns, n_components), after steps of Adam along half a cosine."""
    n, n_columns = columns.shape
    learned = rng.standard_normal((n_columns, _COMPONENTS)).astype(np.float32) * np.float32(_FIRST / np.sqrt(n_columns))
    mean, square = np.zeros_like(learned), np.zeros_like(learned)
    batch = min(_BATCH, n)
    n_steps = _n_steps(n)
    order, at = rng.permutation(n), 0
    for step in range(1, n_steps + 1):
        if at + batch > n:
            order, at = rng.permutation(n), 0
        end_if_interrupted()
        drawn, at = order[at : at + batch], at + batch
        keep = np.where(rng.random(n_columns) < _DROPPED, 0.0, 1.0 / (1.0 - _DROPPED)).astype(np.float32)
        gradient = _gradient(columns, labels, weight, learned * keep[:, None], drawn, rng) * keep[:, None]
        mean += np.float32(0.1) * (gradient - mean)
        square += np.float32(0.001) * (gradient * gradient - square)
        rate = _RATE * 0.5 * (1.0 + np.cos(np.pi * (step - 1) / n_steps)) / (1.0 - 0.9**step)
        learned -= np.float32(rate) * mean / (np.sqrt(square / np.float32(1.0 - 0.999**step)) + np.float32(1e-8))
    return learned


def _gradient(
    columns: NDArray[np.float32],
    labels: Integers,
    weight: Floats,
    learned: NDArray[np.float32],
    drawn: Integers,
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Return the gradient of the mean loss of the items ``drawn``, while all items, or a sample of many, vote."""
    voters, anchors = np.arange(len(columns)), drawn
    if len(columns) > _VOTERS:
        others = rng.choice(len(columns), _VOTERS, replace=False)
        voters = np.concatenate([drawn, np.setdiff1d(others, drawn, assume_unique=True)])
        anchors = np.arange(len(drawn))
        columns = columns[voters]
    z = columns @ learned
    votes = VotingItems(z, np.ascontiguousarray(z.T), labels[voters], weight[voters].astype(np.float32))
    importance = (weight[drawn] / len(drawn)).astype(np.float32)
    out = np.zeros_like(z)
    add_vote_gradients(votes, anchors, importance, out, np.empty(len(anchors)))
    return columns.T @ out
