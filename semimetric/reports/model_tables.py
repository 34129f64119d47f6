"""A distance as its page holds it: grid, tables, directions and slopes, from which JavaScript computes distances again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._foundation.types import Floats
from ..distances.features.linear_directions import Directions
from ..distances.model.explanations import part_of
from ..distances.model.semimetric import Semimetric
from ..distances.pairs.base import PairMap
from ..distances.pairs.full_tables import PairEmbedding
from ..distances.pairs.monotone_scales import WarpedEmbedding
from ..distances.pairs.scales_and_tables import MixedEmbedding
from .packed_numbers import packed

MOST_NUMBERS = 250_000
"""The numbers of a distance that a page holds, 2.7 MB of base64; of a larger one only results of Python are shown."""

_KINDS = (PairEmbedding, WarpedEmbedding, MixedEmbedding)


def _why_not(d: Semimetric) -> str:
    """Why the tables of a distance are not in the page, as a sentence; "" if they are."""
    if not isinstance(d.embedding, _KINDS):
        return f"Its embedding is a {type(d.embedding).__name__}, which this page cannot compute."
    if isinstance(d.embedding, PairEmbedding) and not all(v.fits or not v.whole for v in d.embedding.vertices):
        return "A table of it is too large to be held whole."
    n = sum(len(values) for _, values in _parts(*d.embedding.expanded(d.weights)))  # many equal weights are one number
    n += d.epsilon.size + d.embedding.grid.flat.size
    if d.directions is not None:
        n += d.directions.matrix.size
        n += 0 if d.directions.partitions is None else 4 * len(d.directions.partitions.feature)
    if n > MOST_NUMBERS:
        return f"It consists of {n:,} numbers, and a page holds {MOST_NUMBERS:,}."
    return ""


def distance_tables(d: Semimetric) -> tuple[dict[str, Any] | None, str]:
    """The distance as values of JSON, without its base distances, and ""; or None, and why it is not in the page."""
    if why_not := _why_not(d):
        return None, why_not
    grid = d.embedding.grid
    embedding, weights = d.embedding.expanded(d.weights)
    parts, numbers = [], [np.empty(0)]
    start = 0
    for part, values in _parts(embedding, weights):
        parts.append(part | {"start": start, "count": len(values)})
        numbers.append(values)
        start += len(values)
    tables = {
        "raw": d.n_features, "link": _link(d), "kinds": list(grid.kinds), "missing": list(grid.missing),
        "counts": grid.counts.tolist(), "knots": packed(grid.flat), "epsilon": packed(d.epsilon),
        "parts": parts, "numbers": packed(np.concatenate(numbers)), "directions": _directions(d.directions),
    }  # fmt: skip
    return tables, ""


def _link(d: Semimetric) -> dict[str, Any]:
    """What ``makeLink`` of ``page/distance.js`` makes a function of."""
    exponent, bends, slopes = d.link_function.parts
    return {"exponent": exponent, "bends": bends.tolist(), "slopes": slopes.tolist()}


def _parts(embedding: PairMap, weights: Floats) -> Iterator[tuple[dict[str, Any], Floats]]:
    """What each group of features is made of, and the numbers of its table or scale."""
    swap = getattr(embedding, "symmetry", "") == "swap"  # of the whole, since a part of one feature says "tie"
    for g, group in enumerate(embedding.groups):
        part, w = part_of(embedding, weights, np.array([g]))
        sizes = [int(embedding.grid.sizes[f]) for f in group]
        shown: dict[str, Any] = {"features": list(group), "sizes": sizes, "points": math.prod(sizes), "swap": swap}
        if isinstance(part, WarpedEmbedding):
            yield shown | {"shape": "scale"}, np.append(0.0, np.cumsum(w))
        elif isinstance(part, PairEmbedding) and not part.vertices[0].whole:
            yield _touched(part, shown), w
        else:
            shape, values = _smallest(part.tables(w)[0].values)
            yield shown | {"shape": shape}, values


def _touched(part: PairEmbedding, shown: dict[str, Any]) -> dict[str, Any]:
    """A table of which only the vertices that pairs touched have weights; JavaScript gives the others those of an L1."""
    vertices = part.vertices[0]
    a, b = np.divmod(vertices.keys, vertices.n_points)
    slopes = np.zeros(part.grid.n_features) if part.unseen_slopes is None else part.unseen_slopes
    place = {f: k for k, f in enumerate(np.unique(shown["features"]).tolist())}  # `part` has the features of the group alone
    return shown | {
        "shape": "sparse", "a": packed(a.astype(np.float64)), "b": packed(b.astype(np.float64)),
        "seams": list(vertices.seams or (0,) * len(vertices.sizes)), "tied": vertices.tied,
        "zeroDiagonal": vertices.zero_diagonal, "byDifference": vertices.by_difference, "oneWeight": vertices.one_weight,
        "slopes": [float(slopes[place[f]]) for f in shown["features"]],
    }  # fmt: skip


def _smallest(table: Floats) -> tuple[str, Floats]:
    """A table as few numbers: one for all pairs, those above the diagonal, or all."""
    upper = table[np.triu_indices(len(table), 1)]
    if not np.array_equal(table, table.T) or np.diag(table).any():
        return "full", table.ravel()
    if len(upper) and (upper == upper[0]).all():
        return "one", upper[:1]
    return "upper", upper


def _directions(directions: Directions | None) -> dict[str, Any] | None:
    if directions is None:
        return None
    values: dict[str, Any] = {"linear": directions.n_linear, "matrix": packed(directions.matrix.ravel())}
    if directions.bends:
        values["bends"] = packed(np.concatenate(directions.bends))
        values["bendCounts"] = [len(b) for b in directions.bends]
    trees = directions.partitions
    if trees is not None:
        values["trees"] = {
            "start": packed(trees.start), "feature": packed(trees.feature), "threshold": packed(trees.threshold),
            "children": packed(trees.children.ravel()), "missingLeft": packed(trees.missing_left), "leaf": packed(trees.leaf),
        }  # fmt: skip
    return values
