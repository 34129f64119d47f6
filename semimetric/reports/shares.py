"""How much of distances the terms and the columns make, and what the shares are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.types import Floats
from ..distances.model.explanations import part_of
from ..distances.model.semimetric import Semimetric

_PAIRS = 2_000  # over which shares are averaged
_LARGE = 20_000_000  # numbers that dividing the parts of so many pairs among columns may take


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of terms and of columns.

    Attributes
    ----------
    terms : ndarray of shape (n_terms,)
    features : ndarray of shape (n_features,) or None
        None if nothing is known of them.
    of : str
        What they are shares of, after "12 % of".
    note : str
        The same as a sentence.
    """

    terms: Floats
    features: Floats | None
    of: str
    note: str


def shares_of(model: Any, d: Semimetric, items: Floats | None, rng: np.random.Generator) -> Shares:
    """The mean shares in the distances of random pairs of the items; without items, of the largest values of the tables."""
    learned = getattr(model, "feature_importances_", None)
    if items is None or len(items) < 2:
        largest = _largest(d)
        total = float(largest.sum()) or 1.0
        known = np.asarray(learned) if isinstance(learned, np.ndarray) and len(learned) == d.n_features else None
        note = "Shares of the largest values of the terms, as there are no two items to draw pairs of."
        return Shares(largest / total, known, "the largest values of all terms", note)
    n_made = len(d.directions.names) if d.directions is not None else 0
    n = max(min(_PAIRS, _LARGE // max(n_made * d.n_features, 1)), 50)
    left = rng.integers(0, len(items), n)
    right = (left + rng.integers(1, len(items), n)) % len(items)
    terms, features = (_mean(d.contributions_of_encoded(items[left], items[right], by=by)) for by in ("terms", "features"))
    note = f"Mean shares in the distances of {n:,} random pairs of the items."
    return Shares(terms, features, "the distances of random pairs of the items, on average", note)


def _mean(parts: Floats) -> Floats:
    """The mean of the parts divided by their sums; 0 where every sum is 0."""
    total = parts.sum(axis=1)
    apart = total > 0
    return (parts[apart] / total[apart, None]).mean(axis=0) if apart.any() else np.zeros(parts.shape[1])


def _largest(d: Semimetric) -> Floats:
    """The largest weight of each term; slopes outside the range and base distances count 0."""
    out = np.zeros(len(d.terms))
    for g in range(len(d.embedding.groups)):
        part, w = part_of(d.embedding, d.weights, np.array([g]))
        is_scale = hasattr(part, "thermometer")
        out[g] = w.sum() if is_scale else w.max(initial=0.0)
    return out
