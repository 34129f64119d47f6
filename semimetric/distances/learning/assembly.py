"""From learned weights to a distance in the user's unit: unused directions are left out, slopes outside the knots are set."""

from dataclasses import replace

import numpy as np

from ..._foundation.errors import warn
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers, Pairs
from ...data.calls import UserDistance
from ..features.linear_directions import Directions
from ..model.base_distances import BaseDistance
from ..model.divergences import Divergence
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from .options import Recipe
from .program import metric_weights, proved
from .structure import Structure

_PROBES = 8
_STEP = 0.2  # of the range: the slope at an end is measured over so much of it, so that a narrow last cell counts little
_BLOCK = 1 << 16


def count_out_of_range(structure: Structure, items: Floats, times: Integers | None = None) -> Integers:
    """Count the items outside the knots of each feature of the grid, shape (n_features,).

    Members of tuples count as often as they occur (``times``, shape (n_items,)): so counts of parts add up, and tuples given as
    points have those of tuples given by row numbers.
    """
    grid = structure.embedding.grid
    times = np.ones(len(items), dtype=np.int64) if times is None else times
    allowed, counts = 1e-9 * (grid.high - grid.low), np.zeros(grid.n_features, dtype=np.int64)
    for block in blocks(len(items), _BLOCK):
        counts += times[block] @ (np.abs(grid.excess(structure.features_of(items[block]))) > allowed)
    return counts


def warn_out_of_range(recipe: Recipe, structure: Structure, counts: Integers, n_items: int) -> None:
    """Warn of features that would go on outside their knots, but are clipped, because items lie there.

    ``counts``: shape (n_features,); what `count_out_of_range` gives. ``n_items``: how many items were counted.
    """
    if counts.any() and recipe.outside == "extend":
        names = structure.names + (structure.directions.names if structure.directions else ())
        shown = ", ".join(f"{names[f]}: {counts[f]}" for f in np.flatnonzero(counts)[:5])
        more = f" and {np.count_nonzero(counts) - 5} features more" if np.count_nonzero(counts) > 5 else ""
        warn(
            f"of {n_items} items, each counted as often as it occurs, some lie beyond the knots ({shown}{more}) and are "
            "learned as if at the end; outside its knots such a feature is clipped, not extended. Give knots that cover the "
            "items",
            cause="items beyond given knots",
        )


def assemble(
    recipe: Recipe,
    structure: Structure,
    weights: Floats,
    delta: float,
    *,
    examples: Pairs,
    unit: float = 1.0,
    out_of_range: Integers | None = None,
    compact: bool = True,
) -> Semimetric:
    """Make the distance of the weights.

    ``weights``: shape (n_columns + n_base_distances,); in units of the mean target. ``delta``: the lower bound of the weights
    of raw features, in the same unit. ``examples``: some pairs, one at least: a model keeps the values of its base distances
    at the first of them. ``unit``: the mean target, in the user's unit. ``out_of_range``: shape (n_features,) or None; what
    `count_out_of_range` gives: where it is not 0, the feature is clipped. ``compact``: whether directions and their groups
    whose weights are all 0 are left out.
    """
    n = structure.embedding.n_columns
    embedding, w = structure.embedding.expanded(weights[:n])
    w = metric_weights(embedding, w) if recipe.asks_triangle else embedding.with_unseen(w)
    epsilon = _outside_slopes(recipe, embedding, w, structure.n_raw, delta)
    if out_of_range is not None:
        epsilon = np.where((out_of_range > 0)[:, None], _least_slopes(embedding, structure.n_raw, delta)[:, None], epsilon)
    expanded = replace(structure, embedding=embedding)
    embedding, w, directions, features = _compact(expanded, w) if compact else _all(expanded, w)
    base_distances = _base_distances(recipe, structure, weights[n:], examples)
    d = Semimetric(
        embedding.in_unit(unit),
        w * unit,
        epsilon[features] * unit,
        structure.names,
        directions,
        base_distances,
        recipe.link,
        structure.schema,
    )
    return proved(recipe, d)


def _base_distances(recipe: Recipe, structure: Structure, weights: Floats, examples: Pairs) -> tuple[BaseDistance, ...]:
    probe = examples.take(np.arange(min(_PROBES, len(examples))))
    points = probe.items[probe.index]
    return tuple(
        BaseDistance(f, float(u), _name(f), points, f(points[:, 0], points[:, 1]), power)
        for f, u, power in zip(structure.bases, weights, recipe.base_powers, strict=True)
    )


def _least_slopes(embedding: PairMap, n_raw: int, delta: float) -> Floats:
    """The least slope outside the range of every feature: delta across the range for raw features that extend, else 0."""
    grid = embedding.grid
    span = np.where(grid.high > grid.low, grid.high - grid.low, 1.0)
    return np.where((np.arange(len(span)) < n_raw) & grid.extends, delta / span, 0.0)


def _outside_slopes(recipe: Recipe, embedding: PairMap, w: Floats, n_raw: int, delta: float) -> Floats:
    """The slopes below and above the range of every feature, shape (n_features, 2): those at its ends, or the least one.

    The slope at an end is how much further away the end is than a fifth of the range before it, over that fifth: seen from the
    middle of the range, and from its other end, of which the smaller counts. Of a curve both are its tangent; of distances that
    saturate, or bend the other way, the larger of the two belongs to short differences only, or to long ones. No slope is less
    than the least one, and with ``outside="clip"`` every slope is that.
    """
    least = _least_slopes(embedding, n_raw, delta)
    if recipe.outside == "clip":
        return np.column_stack([least, least])
    grid = embedding.grid
    low, high = (np.where(grid.extends, end, grid.high) for end in (grid.low, grid.high))
    middle, step = low + 0.5 * (high - low), _STEP * (high - low)
    slopes = np.zeros((grid.n_features, 2))
    for side, (end, inner, other) in enumerate([(low, low + step, high), (high, high - step, low)]):
        rises = [_along(embedding, w, end, origin) - _along(embedding, w, inner, origin) for origin in (middle, other)]
        slopes[:, side] = np.minimum(*rises) / np.where(step > 0, step, 1.0)
    return np.maximum(slopes, least[:, None])


def _along(embedding: PairMap, w: Floats, values: Floats, origins: Floats) -> Floats:
    """Return the distance of a value of every feature from an origin on it, all of shape (n_features,).

    It is what the groups of the feature add, in the mean of both orders. All other features of a joint group are in the middle
    of their ranges; those that have no range are at their last knot, which of categories stands for those that were not in the
    fit.
    """
    grid = embedding.grid
    alone = np.array([len(group) == 1 for group in embedding.groups], dtype=bool)
    joint = np.unique([f for group in embedding.groups if len(group) > 1 for f in group]).astype(np.int64)
    sides = np.tile(np.where(grid.extends, grid.low + 0.5 * (grid.high - grid.low), grid.high), (2, len(joint) + 1, 1))
    for side, at in zip(sides, (values, origins), strict=True):
        side[0] = at
        side[1 + np.arange(len(joint)), joint] = at[joint]
    items, a = embedding.locate(np.concatenate(sides)), np.arange(len(joint) + 1)
    b = a + len(a)
    terms = embedding.contributions(items, a, items, b, w)
    if not embedding.symmetric:
        terms = (terms + embedding.contributions(items, b, items, a, w)) / 2
    out = np.zeros(grid.n_features)
    np.add.at(out, np.array([g[0] for g in embedding.groups if len(g) == 1], dtype=np.int64), terms[0, alone])
    out[joint] += terms[1:, ~alone].sum(axis=1)
    return out


def _name(function: UserDistance) -> str:
    given = function.function
    return given.name if isinstance(given, Divergence) else getattr(given, "__name__", type(given).__name__)


def _all(structure: Structure, w: Floats) -> tuple[PairMap, Floats, Directions | None, Integers]:
    """The result of `_compact` where nothing is left out: embedding, weights, directions, and numbers of all features."""
    return structure.embedding, w, structure.directions, np.arange(structure.embedding.grid.n_features)


def _compact(structure: Structure, w: Floats) -> tuple[PairMap, Floats, Directions | None, Integers]:
    """The embedding, weights, directions and feature numbers without directions whose weights are 0.

    Groups of directions whose weights are 0 are left out, and directions that no group uses then.
    """
    embedding, n_raw = structure.embedding, structure.n_raw
    used = np.bincount(embedding.group_of_column, weights=w != 0, minlength=len(embedding.groups)) > 0
    keep = np.flatnonzero(used | structure.is_raw)
    if structure.directions is None or len(keep) == len(embedding.groups):
        return _all(structure, w)
    wanted = sorted({f for g in keep for f in embedding.groups[g]} | set(range(n_raw)))
    rows = np.array([f - n_raw for f in wanted if f >= n_raw], dtype=np.int64)
    directions = structure.directions.select(rows)
    kept = np.isin(embedding.group_of_column, keep)
    features = np.array(wanted)
    return embedding.select(keep, features), w[kept], directions, features
