"""Which potentials and which orders of the bins bound the distances of many pairs of histograms closely."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np
from scipy.spatial.distance import cdist

from .._foundation.errors import InputError
from .._foundation.progress import progress_bar
from .._foundation.threads import end_if_interrupted
from .._foundation.types import ArrayLike, Floats, Integers
from .._kernels.transport_plans import cheapest_plans
from .earth_movers_distance import EarthMoversDistance
from .ground import GroundDistance

__all__ = ["best_orders", "given_potentials", "learned_potentials", "sampled_pairs"]

_NEAR = 64  # neighbours among which near pairs are drawn
_POOL = 4  # pairs that are solved for each potential that is kept
_JUDGED = 2000  # pairs by which potentials and orders are chosen


def given_potentials(ground: GroundDistance, coordinates: ArrayLike | None, n_directions: int) -> Floats:
    """Feasible potentials that need no histograms: projections of the bins, and distances to each bin, (n, n_bins).

    Projections are on evenly drawn directions, where the bins have coordinates.
    """
    projections = np.empty((0, ground.n_bins))
    if coordinates is not None:
        places = np.asarray(coordinates, dtype=np.float64)
        places = places[:, None] if places.ndim == 1 else places
        if places.ndim != 2 or len(places) != ground.n_bins or not np.isfinite(places).all():
            raise InputError(
                f"bin_coordinates have shape {places.shape} for {ground.n_bins} bins; one row of finite numbers for each is "
                "required"
            )
        projections = _scaled_up(ground, (places @ _directions(places.shape[1], n_directions).T).T)
    return ground.feasible(np.vstack([projections, ground.paths]))


def _directions(dimension: int, n: int) -> Floats:
    """Unit vectors, of which no two point along one line: evenly around the half circle, else drawn."""
    if dimension == 1:
        return np.ones((1, 1))
    if dimension == 2:
        angles = np.pi * np.arange(n) / n
        return np.column_stack([np.cos(angles), np.sin(angles)])
    drawn = np.random.default_rng(0).standard_normal((n, dimension))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _scaled_up(ground: GroundDistance, potentials: Floats) -> Floats:
    """Potentials that are as steep as the ground distance allows; those that are flat are left out."""
    apart = ground.paths > 0.0
    out = []
    for f in potentials:
        gaps = np.abs(f[:, None] - f[None, :])
        steepest = float((gaps[apart] / ground.paths[apart]).max()) if apart.any() else 0.0
        if steepest > 0.0:
            out.append(f / steepest)
    return np.array(out).reshape(-1, ground.n_bins)


def sampled_pairs(values: Floats, n: int, random_state: int | None) -> Integers:
    """Pairs of rows, half of them of rows that are near one another by the largest difference of their values: (n, 2)."""
    rng = np.random.default_rng(random_state)
    first = rng.integers(0, len(values), n)
    second = (first + rng.integers(1, len(values), n)) % len(values)
    pool = rng.choice(len(values), min(len(values), 2000), replace=False)
    for k in range(0, n, 2):
        gaps = cdist(values[first[k], None], values[pool], "chebyshev")[0]
        gaps[pool == first[k]] = np.inf
        near = np.argsort(gaps, kind="stable")[: min(_NEAR, len(pool) - 1)]
        second[k] = pool[rng.choice(near)]
    return np.column_stack([first, second])


def learned_potentials(
    ground: GroundDistance, histograms: Floats, given: Floats, n: int, *, random_state: int | None, verbose: bool | None
) -> Floats:
    """At most n feasible potentials, chosen one by one: those that raise the bounds of further pairs the most.

    Candidates are the potentials that are best for 4 n pairs of the histograms, by the duals of their exact distances.
    """
    values = histograms @ given.T
    pairs = sampled_pairs(values, _POOL * n, random_state)
    emd, candidates = EarthMoversDistance(ground.cost), []
    with progress_bar(len(pairs), "potentials", verbose=verbose, unit="pair") as bar:
        for i, j in pairs:
            end_if_interrupted()
            _, dual = emd.with_dual(histograms[i], histograms[j])
            candidates.append(ground.from_dual(dual, np.flatnonzero(histograms[i])))
            bar.update()
    pool = ground.feasible(np.array(candidates))
    judged = sampled_pairs(values, _JUDGED, None if random_state is None else random_state + 1)
    gaps = histograms[judged[:, 0]] - histograms[judged[:, 1]]
    return pool[_greedy(np.abs(gaps @ given.T).max(axis=1), np.abs(gaps @ pool.T), n)]


def _greedy(known: Floats, offered: Floats, n: int) -> list[int]:
    """Columns of ``offered`` (n_pairs, n_columns) whose largest value with ``known`` is, one by one, relatively largest.

    What a column adds can only fall as others are chosen, so a column whose fresh gain is the largest of all gains, fresh or
    stale, is the next one (Minoux 1978).
    """
    best, share = known.copy(), 1.0 / np.maximum(np.maximum(known, offered.max(axis=1)), 1e-300)
    columns = np.ascontiguousarray(offered.T)
    queue = [(-float(share @ np.maximum(column - best, 0.0)), k) for k, column in enumerate(columns)]
    heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < n:
        end_if_interrupted()
        _, k = queue[0]
        gain = float(share @ np.maximum(columns[k] - best, 0.0))
        if len(queue) > 1 and -gain > min(queue[1:3])[0]:
            heapreplace(queue, (-gain, k))
            continue
        if not gain > 0.0:
            break
        heappop(queue)
        chosen.append(k)
        np.maximum(best, columns[k], out=best)
    return chosen


def best_orders(ground: GroundDistance, histograms: Floats, given: Floats, n: int, random_state: int | None) -> Integers:
    """At most n orders of the bins (n, n_bins) along which plans between the histograms are cheapest."""
    every = np.unique(np.argsort(given, axis=1, kind="stable"), axis=0)
    judged = sampled_pairs(histograms @ given.T, min(_JUDGED, 8 * len(histograms)) // 4, random_state)
    out, costs = np.empty((1, 2)), np.empty((len(judged), len(every)))
    for row, (i, j) in enumerate(judged):
        end_if_interrupted()
        for k in range(len(every)):
            cheapest_plans(histograms[i], histograms[j, None], every[k, None], ground.cost, out)
            costs[row, k] = out[0, 0]
    highest = costs.max(initial=0.0)
    return np.ascontiguousarray(every[_greedy(np.zeros(len(costs)), highest - costs, n) or [0]])
