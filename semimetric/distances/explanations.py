"""Explanations of distances: the shares of their terms, and of the raw features behind the terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.types import Floats, Integers
from .semimetric import Semimetric

__all__ = ["MOST_PAIRS", "Explanation", "importances"]

MOST_PAIRS = 20_000  # pairs over which shares are averaged
_ITEMS = 500  # items from which the parts of raw features in directions are computed


def importances(d: Semimetric, items: Floats, pairs: Integers) -> Floats:
    """The mean share of every raw feature in the distances of pairs, shape (n_features,), summing to 1.

    The share of a group is divided equally among its features. The share of a direction is divided among the raw features in
    proportion to how much it varies with each.

    Parameters
    ----------
    d : Semimetric
    items : ndarray of shape (n_items, n_features)
        The items, encoded by `Schema.encode`.
    pairs : ndarray of shape (n_pairs, 2)
        The row numbers of the items of each pair.
    """
    pairs = pairs[:: max(len(pairs) // MOST_PAIRS, 1)]
    raw = d.schema.decode(items)
    terms = d.contributions(raw[pairs[:, 0]], raw[pairs[:, 1]])
    total = terms.sum(axis=1)
    share = (terms[total > 0] / total[total > 0, None]).mean(axis=0) if (total > 0).any() else np.zeros(terms.shape[1])
    made = made_of(d, items)
    out = np.zeros(d.n_features)
    for part, group in zip(share, d.embedding.groups, strict=False):
        for f in group:
            out += part / len(group) * made[f]
    return out / out.sum() if out.sum() > 0 else out


def made_of(d: Semimetric, items: Floats) -> Floats:
    """The share of each raw feature in every embedded feature, shape (n_features + n_directions, n_features).

    The share in a direction is proportional to its standard deviation when that raw feature alone varies.
    """
    n = d.n_features
    if d.directions is None:
        return np.eye(n)
    some = items[:: max(len(items) // _ITEMS, 1)]
    constant = np.tile(np.where(np.isnan(some[0]), 0.0, some[0]), (len(some), 1))
    spread = np.zeros((len(d.directions.names), n))
    for f in range(n):
        varied = constant.copy()
        varied[:, f] = np.where(np.isnan(some[:, f]), constant[:, f], some[:, f])
        spread[:, f] = d.directions.append(varied)[:, n:].std(axis=0)
    total = spread.sum(axis=1, keepdims=True)
    return np.vstack([np.eye(n), spread / np.where(total > 0, total, 1.0)])


@dataclass(frozen=True, eq=False)
class Explanation:
    """The nearest neighbours of an item, and what each term contributes to their distances.

    Attributes
    ----------
    indices : ndarray of shape (k,)
        The row numbers of the neighbours among the fitted items, the nearest first.
    targets : ndarray of shape (k,)
        The classes or values of the neighbours.
    distances : ndarray of shape (k,)
        The distances of the neighbours.
    terms : tuple of str
        The names of the terms of the distance.
    contributions : ndarray of shape (k, n_terms)
        What each term adds to each distance, before the link.
    """

    indices: Integers
    targets: Any
    distances: Floats
    terms: tuple[str, ...]
    contributions: Floats

    def largest(self, n: int = 5) -> list[tuple[str, float]]:
        """The names and mean contributions of the ``n`` terms that separate the item most from its neighbours."""
        mean = self.contributions.mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:n]
        return [(self.terms[t], float(mean[t])) for t in order if mean[t] > 0]

    def __repr__(self) -> str:
        lines = []
        neighbors = zip(self.indices, self.targets, self.distances, self.contributions, strict=True)
        for row, target, distance, parts in neighbors:
            order = np.argsort(-parts, kind="stable")[:4]
            why = ", ".join(f"{self.terms[t]} {parts[t]:.3g}" for t in order if parts[t] > 0) or "equal in every term"
            lines.append(f"{row} ({target}) at {distance:.4g}: {why}")
        return "\n".join(lines)
