"""Why a distance is what it is: shares of its terms, and of the features behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.types import Floats, Integers
from .semimetric import Semimetric

__all__ = ["MOST_PAIRS", "Explanation", "importances"]

MOST_PAIRS = 20_000  # pairs, and
_ITEMS = 500  # items that tell what directions are made of


def importances(d: Semimetric, items: Floats, pairs: Integers) -> Floats:
    """Mean share of every raw feature in the distance of pairs, shape (n_features,), summing to 1.

    A group's share is divided evenly among its features; a direction's among raw features, by how much it varies with each.

    Parameters
    ----------
    d : Semimetric
    items : ndarray of shape (n_items, n_features)
        Encoded, as `Schema.encode` gives them.
    pairs : ndarray of shape (n_pairs, 2)
        Rows of items.
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
    """How much of every embedded feature comes from each raw one, shape (n_features + n_directions, n_features)."""
    n = d.n_features
    if d.directions is None:
        return np.eye(n)
    some = items[:: max(len(items) // _ITEMS, 1)]
    still = np.tile(np.where(np.isnan(some[0]), 0.0, some[0]), (len(some), 1))
    out = np.zeros((len(d.directions.names), n))
    for f in range(n):
        moved = still.copy()
        moved[:, f] = np.where(np.isnan(some[:, f]), still[:, f], some[:, f])
        out[:, f] = d.directions.append(moved)[:, n:].std(axis=0)
    total = out.sum(axis=1, keepdims=True)
    return np.vstack([np.eye(n), out / np.where(total > 0, total, 1.0)])


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why some items are the neighbours of one.

    Attributes
    ----------
    indices : ndarray of shape (k,)
        Rows of the items that were fitted, the nearest first.
    targets : ndarray of shape (k,)
        Their classes or values.
    distances : ndarray of shape (k,)
    terms : tuple of str
        Names of the terms of the distance.
    contributions : ndarray of shape (k, n_terms)
        What each term adds to each distance (before the link).
    """

    indices: Integers
    targets: Any
    distances: Floats
    terms: tuple[str, ...]
    contributions: Floats

    def largest(self, n: int = 5) -> list[tuple[str, float]]:
        """The terms that separate the item most from its neighbours, with their mean contributions."""
        mean = self.contributions.mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:n]
        return [(self.terms[t], float(mean[t])) for t in order if mean[t] > 0]

    def __repr__(self) -> str:
        lines = []
        for row, target, distance, parts in zip(
            self.indices, self.targets, self.distances, self.contributions, strict=True
        ):  # fmt: skip
            order = np.argsort(-parts, kind="stable")[:4]
            why = ", ".join(f"{self.terms[t]} {parts[t]:.3g}" for t in order if parts[t] > 0) or "equal in every term"
            lines.append(f"{row} ({target}) at {distance:.4g}: {why}")
        return "\n".join(lines)
