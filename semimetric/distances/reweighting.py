"""Terms of a distance that count more or less than they did: what a person changes of it by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats
from .._foundation.validation import check_alpha
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding

__all__ = ["reweighted"]


def reweighted(d: Any, factors: Mapping[str, float]) -> Any:
    """The distance with terms so many times as large, by name: what the method of this name of a `Semimetric` d returns."""
    terms = d.terms[:-1]  # the last is what lies outside the range, which follows the terms of its features
    if unknown := [name for name in factors if name not in terms]:
        raise InputError(
            f"factors name {unknown[0]!r}, which is no term of the distance; its terms are {', '.join(terms[:12])}"
            f"{', ...' if len(terms) > 12 else ''}: correct the name"
        )
    times = np.array([check_alpha(f"factors[{name!r}]", factors.get(name, 1.0)) for name in terms])
    groups, bases = np.split(times, [len(d.embedding.groups)])
    across, epsilon = _across(d, groups), d.epsilon
    return replace(
        d,
        embedding=_with_slopes(d.embedding, groups),
        weights=d.weights * groups[d.embedding.group_of_column],
        epsilon=epsilon * across[:, None],
        base_distances=tuple(replace(b, weight=b.weight * t) for b, t in zip(d.base_distances, bases, strict=True)),
    )


def _across(d: Any, groups: Floats) -> Floats:
    """How many times as far as before the two ends of every feature are apart, shape (n_features,).

    All other features are at their low end. Where the ends were at distance 0, it is the mean factor of the groups of the
    feature.
    """
    grid, n = d.embedding.grid, d.embedding.grid.n_features
    owners = np.array([[f in group for group in d.embedding.groups] for f in range(n)])
    mean = np.where(owners.any(axis=1), owners @ groups / np.maximum(owners.sum(axis=1), 1), 1.0)
    ends = np.tile(grid.low, (n + 1, 1))
    ends[np.arange(n), np.arange(n)] = grid.high
    items, rows = d.embedding.locate(ends), np.arange(n)
    terms = d.embedding.contributions(items, rows, items, np.full(n, n), d.weights)
    before = terms.sum(axis=1)
    return np.where(before > 0, terms @ groups / np.where(before > 0, before, 1.0), mean)


def _with_slopes(embedding: PairMap, groups: Floats) -> PairMap:
    """The embedding in which vertices without a column have so many times their values, which slopes of features give."""
    if not isinstance(embedding, PairEmbedding) or embedding.unseen_slopes is None:
        return embedding
    slopes, factors = embedding.unseen_slopes, np.ones(len(embedding.unseen_slopes))
    for f in range(len(slopes)):
        owners = {
            float(t) for g, v, t in zip(embedding.groups, embedding.vertices, groups, strict=True) if f in g and not v.whole
        }
        if len(owners) > 1:
            raise NotSupportedError(
                f"the tables of several groups of feature {f} are too large to be held, and share their values far from the "
                "data; give all of these groups one factor"
            )
        factors[f] = owners.pop() if owners else 1.0
    return embedding.in_unit(factors)
