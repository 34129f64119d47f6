"""Medoids: the items of a table to which the others are near in sum, under a distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.optional_imports import optional
from .._foundation.tables import take_rows
from .._foundation.threads import blocks
from .._foundation.types import Floats, Integers
from ..distances.semimetric import Semimetric
from .links import Links

__all__ = ["Clusters", "best_medoids"]

_BLOCK = 4_096  # items whose distances to all medoids are evaluated at a time
_CANDIDATES = 256  # members, those nearest to its medoid, among which the medoid of a larger cluster is looked for
_LEAST_GAIN = 1e-9  # of the summed distance: less is rounding, and ends the iterations


@dataclass(frozen=True, eq=False)
class Clusters:
    """Items around medoids.

    Parameters
    ----------
    medoids : ndarray of shape (n_clusters,), int64
        Row numbers of the items that are medoids.
    labels : ndarray of shape (n_items,), int64
        The cluster of each item.
    inertia : float
        The sum of the distances of the items to the medoid of their cluster.
    n_iter : int
        How often medoids were looked for anew in turn with labels.
    """

    medoids: Integers
    labels: Integers
    inertia: float
    n_iter: int


def best_medoids(
    d: Semimetric, X: Any, n_items: int, n_clusters: int, links: Links, n_init: int, sample: int, seed: int, n_jobs: int | None
) -> Clusters:
    """The clusters of least inertia of several starts.

    A start takes the medoids of a sample of the items, found by FasterPAM (Schubert & Rousseeuw 2021), which swaps medoids with
    other items until no swap helps. Where the sample is not all items, or there are links, labels and medoids are then
    improved in turn: labels by `Links.assigned`, and the medoid of each cluster is the member whose distances to the others
    have the least sum.
    """
    rng = np.random.default_rng(seed)
    found = [_start(d, X, n_items, n_clusters, links, sample, rng, n_jobs) for _ in range(n_init)]
    return min(found, key=lambda clusters: clusters.inertia)


def _start(
    d: Semimetric,
    X: Any,
    n_items: int,
    n_clusters: int,
    links: Links,
    sample: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> Clusters:
    """The clusters that one sample leads to."""
    rows = np.arange(n_items) if n_items <= sample else np.sort(rng.choice(n_items, sample, replace=False))
    medoids = rows[_swapped(d.pairwise(take_rows(X, rows), n_jobs=n_jobs), n_clusters, rng)]
    costs = _to_medoids(d, X, n_items, medoids, n_jobs)
    labels, n_iter = links.assigned(costs), 0
    while links or n_items > sample:
        inertia = _inertia(costs, labels)
        moved = _centered(d, X, medoids, labels, costs, n_jobs)
        others = _to_medoids(d, X, n_items, moved, n_jobs)
        relabelled, n_iter = links.assigned(others), n_iter + 1
        if _inertia(others, relabelled) >= inertia * (1 - _LEAST_GAIN):
            break
        medoids, costs, labels = moved, others, relabelled
    return Clusters(medoids, labels, _inertia(costs, labels), n_iter)


def _swapped(distances: Floats, n_clusters: int, rng: np.random.Generator) -> Integers:
    """Medoids of FasterPAM, row numbers (n_clusters,), from the distances (n, n) of all items, in ascending order."""
    start = rng.choice(len(distances), n_clusters, replace=False)
    found = optional("kmedoids").fasterpam(distances, start.astype(np.uint64), n_cpu=1)
    return np.sort(found.medoids).astype(np.int64)


def _to_medoids(d: Semimetric, X: Any, n_items: int, medoids: Integers, n_jobs: int | None) -> Floats:
    """The distances of all items to the medoids, shape (n_items, n_clusters)."""
    centers = take_rows(X, medoids)
    parts = [d.pairwise(take_rows(X, np.arange(n_items)[b]), centers, n_jobs=n_jobs) for b in blocks(n_items, _BLOCK)]
    return np.concatenate(parts)


def _centered(d: Semimetric, X: Any, medoids: Integers, labels: Integers, costs: Floats, n_jobs: int | None) -> Integers:
    """For each cluster the member with the least sum of distances from the others; its medoid stays where none is better.

    In large clusters only the members nearest to the medoid are candidates.
    """
    moved = medoids.copy()
    for k in range(len(medoids)):
        members = np.flatnonzero(labels == k)
        if not len(members):
            continue
        near = members[np.argsort(costs[members, k], kind="stable")[:_CANDIDATES]]
        table = take_rows(X, near)
        sums = np.zeros(len(near))
        for b in blocks(len(members), _BLOCK):
            sums += d.pairwise(take_rows(X, members[b]), table, n_jobs=n_jobs).sum(axis=0)
        best = int(sums.argmin())
        if sums[best] < costs[members, k].sum() * (1 - _LEAST_GAIN):
            moved[k] = near[best]
    return moved


def _inertia(costs: Floats, labels: Integers) -> float:
    return float(costs[np.arange(len(labels)), labels].sum())
