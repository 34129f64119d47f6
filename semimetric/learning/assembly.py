"""From learned weights to a distance in the user's unit: unused directions are left out, slopes outside the knots are set."""

from dataclasses import replace

import numpy as np

from .._foundation.errors import warn
from .._foundation.threads import blocks
from .._foundation.types import Floats, Integers, Pairs
from ..distances.base_distances import BaseDistance
from ..distances.callables import DistanceFunction
from ..distances.semimetric import Semimetric
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from .guarantees import metric_weights, proved
from .recipe import Recipe
from .structure import Structure

__all__ = ["assemble", "count_out_of_range", "warn_out_of_range"]

_PROBES = 8
_BLOCK = 1 << 16


def count_out_of_range(structure: Structure, items: Floats, times: Integers | None = None) -> Integers:
    """How many of the items lie outside the knots of each feature of the grid, shape (n_features,).

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

    Parameters
    ----------
    recipe : Recipe
    structure : Structure
    counts : ndarray of shape (n_features,)
        What `count_out_of_range` gives.
    n_items : int
        How many items were counted.
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

    Parameters
    ----------
    recipe : Recipe
    structure : Structure
    weights : ndarray of shape (n_columns + n_base_distances,)
        In units of the mean target.
    delta : float
        The lower bound of the weights of raw features, in the same unit.
    examples : Pairs
        Some pairs, one at least: a model keeps the values of its base distances at the first of them.
    unit : float
        The mean target, in the user's unit.
    out_of_range : ndarray of shape (n_features,) or None
        What `count_out_of_range` gives: where it is not 0, the feature is clipped.
    compact : bool
        Whether directions and their groups whose weights are all 0 are left out.
    """
    n = structure.embedding.n_columns
    embedding, w = structure.embedding.expanded(weights[:n])
    w = metric_weights(embedding, w) if recipe.asks_triangle else embedding.with_unseen(w)
    epsilon = _outside_slopes(recipe, embedding, w, structure.n_raw, delta)
    if out_of_range is not None:
        epsilon = np.where(out_of_range > 0, _least_slopes(embedding, structure.n_raw, delta), epsilon)
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
    """The base distances with their weights, and with their values at a few pairs."""
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
    """The slope outside the range of every feature, shape (n_features,): the mean slope across the range, or the least one.

    The mean slope is that of the distance between the two ends of the feature, all other features at their low end, or at the
    category that stands for those that were not in the fit. With ``outside="clip"`` every slope is the least one.
    """
    least = _least_slopes(embedding, n_raw, delta)
    if recipe.outside == "clip":
        return least
    grid, n = embedding.grid, len(least)
    across = np.tile(np.where(np.array(grid.kinds) == "categorical", grid.high, grid.low), (n + 1, 1))
    across[np.arange(n), np.arange(n)] = grid.high
    items, rows = embedding.locate(across), np.arange(n)
    values = embedding.paired(items, rows, items, np.full(n, n), w)
    slopes = values / np.where(grid.high > grid.low, grid.high - grid.low, 1.0)
    return np.maximum(np.where(grid.extends, slopes, 0.0), least)


def _name(function: DistanceFunction) -> str:
    return getattr(function.function, "__name__", type(function.function).__name__)


def _all(structure: Structure, w: Floats) -> tuple[PairMap, Floats, Directions | None, Integers]:
    """The result of `_compact` where nothing is left out: embedding, weights, directions, and numbers of all features."""
    return structure.embedding, w, structure.directions, np.arange(structure.embedding.grid.n_features)


def _compact(structure: Structure, w: Floats) -> tuple[PairMap, Floats, Directions | None, Integers]:
    """The embedding, weights, directions and feature numbers without directions whose weights are 0.

    Groups of directions whose weights are 0 are left out, and directions that no group uses then.

    Nothing is left out with ``symmetry="swap"``: groups of a single feature that remain would be numbered as if tied.
    """
    embedding, n_raw = structure.embedding, structure.n_raw
    used = np.bincount(embedding.group_of_column, weights=w != 0, minlength=len(embedding.groups)) > 0
    keep = np.flatnonzero(used | structure.is_raw)
    if structure.directions is None or len(keep) == len(embedding.groups) or not embedding.continuous:
        return _all(structure, w)
    wanted = sorted({f for g in keep for f in embedding.groups[g]} | set(range(n_raw)))
    rows = np.array([f - n_raw for f in wanted if f >= n_raw], dtype=np.int64)
    directions = structure.directions.select(rows)
    kept = np.isin(embedding.group_of_column, keep)
    features = np.array(wanted)
    return embedding.select(keep, features), w[kept], directions, features
