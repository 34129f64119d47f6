"""Whether the parts of a distance fit one another, which every distance proves before it exists, loaded or learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats
from ..data.grid import Grid
from ..data.schema import Schema
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding
from .base_distances import BaseDistance
from .links import Link, link_function
from .reach import MOST

__all__ = ["check_directions", "check_numbers", "check_probe", "check_schema"]


def check_numbers(
    embedding: PairMap,
    weights: Floats,
    epsilon: Floats,
    n_embedded: int,
    link: str | float | Link,
    base_distances: Sequence[BaseDistance],
) -> None:
    """Refuse weights and slopes of another number than the embedding needs, or with which some distances are no numbers."""
    n, embedded = embedding.n_columns, embedding.grid.n_features
    slopes_fit = epsilon.shape in ((embedded,), (embedded, 2))
    if weights.shape != (n,) or not slopes_fit or n_embedded != embedded:
        raise InputError(
            f"weights have shape {weights.shape}, epsilon {epsilon.shape}, and there are {n_embedded} features with "
            f"directions; ({n},), ({embedded},) or ({embedded}, 2), and {embedded} are required by the embedding"
        )
    if not (epsilon >= 0).all() or np.isinf(epsilon).any():
        raise InputError(f"epsilon has {epsilon.min():g}; slopes outside the range must be >= 0 and finite")
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.abs(weights).sum()
    if not total <= MOST:
        raise InputError(f"the weights add up to {total:g}; at most {MOST:.2g} is required: fit to smaller distances")
    scales = embedding.scales if isinstance(embedding, MixedEmbedding) else embedding
    if isinstance(scales, WarpedEmbedding) and (weights[: scales.n_columns] < 0).any():
        raise InputError("a scale falls, as a weight of it is < 0; scales rise, so their weights must be >= 0")
    if not link_function(link).straight and ((weights < 0).any() or any(base.weight < 0 for base in base_distances)):
        sum_is = 'link="sqrt" the sum is a squared distance' if link == "sqrt" else f"the link {link} sums have no sign"
        raise InputError(f'with {sum_is}, so weights must be >= 0; use link="identity"')


def check_directions(directions: Directions | None, grid: Grid, schema: Schema) -> None:
    """Refuse directions of other features than the raw ones, and a grid on which they have no place."""
    if directions is None:
        return
    n = len(schema.names)
    if directions.n_features != n:
        raise InputError(
            f"directions are of {directions.n_features} features, but the vectors have {n}; give those of the vectors"
        )
    needed = directions.extended(schema)
    for k, feature in enumerate(needed.features[n:], n):
        leaves = len(feature.categories) + 1 if feature.kind == "categorical" else grid.counts[k]
        if grid.kinds[k] != feature.kind or feature.missing > grid.missing[k] or leaves != grid.counts[k]:
            raise InputError(
                f"direction {feature.name!r} is {grid.kinds[k]} on the grid, or may be missing and has no level for it, or has "
                f"{grid.counts[k]} knots; directions are numeric, and have such a level where a feature that they use has one, "
                "but a tree is categorical, with a knot for each leaf and one more"
            )


def check_schema(grid: Grid, schema: Schema) -> None:
    """Refuse a schema whose categories or periods are not those of the grid."""
    for feature, knots in zip(schema.features, grid.knots, strict=False):
        if feature.kind == "categorical" and len(feature.categories) != len(knots) - 1:
            raise InputError(
                f"feature {feature.name!r} has {len(feature.categories)} categories and {len(knots)} knots; one knot for each "
                "category and one more are required"
            )
        if feature.kind == "periodic" and not np.isclose(feature.period, knots[-1] - knots[0], rtol=1e-9, atol=0.0):
            raise InputError(
                f"feature {feature.name!r} has the period {feature.period:g}, but its knots span {knots[-1] - knots[0]:g}; "
                "the knots of one turn are required"
            )


def check_probe(schema: Schema, probe: Floats, name: str) -> None:
    """Refuse encoded vectors (n, n_features) with values that the schema does not give."""
    missing = np.isnan(probe)
    lacks = (missing & ~np.array(schema.missing)).any(axis=0)
    for k, feature in enumerate(schema.features):
        codes = probe[~missing[:, k], k]
        known = feature.kind != "categorical" or np.isin(codes, np.arange(len(feature.categories) + 1)).all()
        if lacks[k] or not known:
            raise InputError(
                f"{name} has a value of {feature.name!r} that is missing or no code of a category; restore the file"
            )
