"""Distances that nothing has to be learned for: of tables, of plain vectors, and of histograms along a line.

    gower   d(x, y) = sum_f w_f gap_f(x_f, y_f) / scale_f,    w_f >= 0, sum_f w_f = 1
    l1      d(x, y) = sum_f w_f |x_f - y_f|
    emd     d(x, y) = sum_b |F_b(x) - F_b(y)| (p_(b+1) - p_b),   F_b(x) = x_0 + ... + x_b, at positions p_0 < p_1 < ...

All three are sums over features, or over directions, of distances that are linear between two knots, so a `Semimetric` holds
each exactly; outside the knots it goes on with the same slopes. What is learned starts from no other class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._foundation.arrays import as_vector
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import ArrayLike, FeatureChoice, Floats
from ..._foundation.validation import check_alpha, check_choice
from ...data.grid import Grid
from ...data.schema import Feature, Schema, by_column
from ..features.histograms import HistogramFeatures
from ..features.linear_directions import Directions
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..pairs.monotone_scales import GapScale, WarpedEmbedding
from ..pairs.scales_and_tables import scales_of

_SCALES = ("iqr", "range")
_MISSING = ("auto", "error", "level", "constant")
_WIDTHS = (1e-300, 1e300)  # of features, between which slopes are numbers
# Fraction of an interquartile range between the median of numbers and a missing one: values of a normal distribution are then
# as far from a missing value as from one another on average.
_FRACTION = 0.25


def gower_parts(
    X: Any,
    *,
    scale: str,
    weights: Mapping[int | str, float] | ArrayLike | None,
    categorical_features: FeatureChoice,
    periodic: Mapping[int | str, Any] | None,
    missing: str,
) -> dict[str, Any]:
    """Return the parts of `Semimetric.gower`, by the names of the parameters of a `Semimetric`."""
    check_choice("scale", scale, _SCALES)
    check_choice("missing", missing, _MISSING)
    schema = Schema.fit(
        X,
        categorical_features=categorical_features,
        periodic=periodic,
        missing="level" if missing == "constant" else missing,
        drop="auto",
    )
    if missing == "auto" and any(schema.missing):
        schema = Schema(tuple(replace(feature, missing=True) for feature in schema.features), schema.dropped)
    items = schema.encode(X)
    fractions = _weights(weights, schema.names)
    if not fractions.any():
        raise InputError("weights= are all 0, which leaves no column; give one at least a number > 0")
    scales = np.array([_scale(f, column, scale) for f, column in zip(schema.features, items.T, strict=True)])
    return distance_parts(schema, items, fractions / fractions.sum() / scales, constant=missing == "constant")


def l1_parts(X: Any, weights: Mapping[int | str, float] | ArrayLike | None) -> dict[str, Any]:
    """Return the parts of `Semimetric.l1`, by the names of the parameters of a `Semimetric`."""
    schema = Schema.fit(X, categorical_features=None)
    return distance_parts(schema, schema.encode(X), _weights(weights, schema.names))


def emd_parts(bin_positions: ArrayLike, mass: float) -> dict[str, Any]:
    """Return the parts of `Semimetric.emd`, by the names of the parameters of a `Semimetric`."""
    if np.ndim(bin_positions) != 1:
        raise InputError(
            f"bin_positions have shape {np.shape(bin_positions)}; one number a bin is required: bins in a plane or in "
            "space have no exact sum, so learn from HistogramFeatures with DistanceApproximator"
        )
    positions, total = as_vector(bin_positions, "bin_positions"), check_alpha("mass", mass, strict=True)
    n = len(positions)
    if n < 2 or len(np.unique(positions)) < n or np.abs(positions).max() > _WIDTHS[1]:
        raise InputError(
            f"bin_positions are {n} numbers, of which {len(np.unique(positions))} differ; at least two bins, no two "
            f"bins at one position, and none beyond {_WIDTHS[1]:g} are required: merge bins that share a position, or rescale"
        )
    features = HistogramFeatures(positions, n_slices=1, max_features=None).fit(np.eye(n))
    directions = Directions(features.components_, tuple(features.get_feature_names_out()))
    highest = np.concatenate([np.ones(n), directions.matrix.max(axis=1)]) * total
    grid = Grid([[0.0, high] for high in highest])
    embedding = WarpedEmbedding(grid, [(f,) for f in range(n, grid.n_features)])
    slopes = np.append(np.zeros(n), np.ones(grid.n_features - n))
    names = tuple(f"x{b}" for b in range(n))
    return {
        "embedding": embedding,
        "weights": embedding.prior(slopes),
        "epsilon": slopes,
        "feature_names": names,
        "directions": directions,
    }


def _weights(given: Any, names: Sequence[str]) -> Floats:
    weights = np.ones(len(names))
    if isinstance(given, Mapping):
        for k, weight in by_column(given, names, "weights").items():
            weights[k] = check_alpha(f"weights[{names[k]!r}]", weight)
        return weights
    if given is not None:
        weights = as_vector(given, "weights")
    if weights.shape != (len(names),) or (weights < 0).any():
        wrong = f"the least value {weights.min():g}" if weights.shape == (len(names),) else f"the shape {weights.shape}"
        raise InputError(
            f"weights= has {wrong}; {len(names)} numbers >= 0 are required, one a column, or a dict by the names of some"
        )
    return weights


def _scale(feature: Feature, column: Floats, scale: str) -> float:
    """Return the divisor of the gaps of a feature, so that the largest of angles and categories is 1."""
    if feature.kind != "numeric":
        return feature.period / 2 if feature.kind == "periodic" else 1.0
    values = column[~np.isnan(column)]
    low, high = np.quantile(values, (0.25, 0.75), method="inverted_cdf") if scale == "iqr" else (0.0, 0.0)
    width = float(high - low) or float(np.ptp(values)) or 1.0
    if not _WIDTHS[0] < width < _WIDTHS[1]:
        raise InputError(
            f"column {feature.name!r} has the scale {width:g}; {_WIDTHS[0]:g} to {_WIDTHS[1]:g} is required: rescale"
        )
    return width


def gap_to_missing(feature: Feature, column: Floats) -> tuple[float, float]:
    """Return the median of a column of numbers, and its distance to a missing one: see `Semimetric.gower`."""
    values = column[~np.isnan(column)]
    return _median(values), _FRACTION * _scale(feature, column, "iqr")


class Scale(NamedTuple):
    """A monotone, piecewise-linear scale of a number that is never missing."""

    knots: Floats  # (n_knots,)
    heights: Floats  # (n_knots,): the scale at the knots, nondecreasing


def distance_parts(
    schema: Schema, items: Floats, slopes: Floats, *, constant: bool = False, scales: Mapping[int, Scale] | None = None
) -> dict[str, Any]:
    """Return the parts of a distance with terms ``slopes[f]`` times the gaps of features, by the names of its parameters.

    A number that has one of the ``scales`` takes its differences as its term; the slope is then that outside its knots.
    Beside scales, a category whose table of all levels does not fit into memory is refused.
    """
    columns, given = [column[~np.isnan(column)] for column in items.T], scales or {}
    knots = [
        given[k].knots if k in given else _knots(f, values)
        for k, (f, values) in enumerate(zip(schema.features, columns, strict=True))
    ]
    grid = Grid(knots, schema.kinds, schema.missing)
    gaps = {
        f: _gap_scale(schema.features[f], columns[f], grid.knots[f], constant)
        for f in np.flatnonzero(grid.extends & np.array(schema.missing)).tolist()
    }
    numbers = [(f,) for f in range(grid.n_features) if grid.extends[f] and gaps.get(f, ()) is not None]
    others = [(f,) for f in range(grid.n_features) if (f,) not in numbers]
    tables = PairEmbedding(grid, others or numbers)
    embedding: PairMap
    if not tables.holds_tables:  # all in one embedding, where large tables have no columns, but the slopes
        if given:
            large = max(others, key=lambda g: grid.sizes[g[0]])[0]
            raise NotSupportedError(
                f"feature {schema.names[large]!r} has {grid.sizes[large]} levels, whose table does not fit into memory beside "
                "the scales of numbers; merge rare categories"
            )
        tables = PairEmbedding(grid)
        tables = tables.restricted([v.keys if v.fits else np.empty(0, np.int64) for v in tables.vertices], slopes)
        embedding = tables
    else:
        tabled = [f for f, gap in gaps.items() if gap is None]
        embedding = scales_of(grid, [*numbers, *others], tabled=tabled)
    weights = embedding.prior(slopes)
    for g, group in enumerate(embedding.groups):
        if group[0] in given:
            weights[embedding.group_of_column == g] = np.diff(given[group[0]].heights)
        elif tables is not embedding and (gap := gaps.get(group[0])) is not None:
            weights[embedding.group_of_column == g] = slopes[group[0]] * gap.weights
    if others:
        _set_missing(tables, weights[-tables.n_columns :], slopes, schema, columns, constant)
    return {
        "embedding": embedding,
        "weights": weights,
        "epsilon": np.where(grid.extends, slopes, 0.0),
        "feature_names": schema.names,
        "schema": schema,
    }


def _knots(feature: Feature, values: Floats) -> ArrayLike:
    if feature.kind == "numeric":
        return np.unique([values.min(), *([_median(values)] if feature.missing else []), values.max()])
    return feature.whole_knots([0.0, feature.period / 2])


def _median(values: Floats) -> float:
    return float(np.quantile(values, 0.5, method="inverted_cdf"))


def _mean_gap(values: Floats) -> float:
    n, ordered = len(values), np.sort(values)
    if n < 2:
        return 0.0
    return float((2.0 * np.arange(n) - (n - 1)) @ (ordered - ordered[0]) * 2.0 / n / (n - 1))


def _to_missing(feature: Feature, values: Floats, knots: Floats, constant: bool) -> Floats:
    """Return the distances of numbers at the knots to a missing one, in the unit of the feature: see `Semimetric.gower`."""
    least = _FRACTION * _scale(feature, values, "iqr")
    if constant:
        return np.full(len(knots), _mean_gap(values) or least)
    return np.abs(knots - _median(values)) + least


def _gap_scale(feature: Feature, values: Floats, knots: Floats, constant: bool) -> GapScale | None:
    """Return the scale of a number that may be missing, with the slope 1; None if no scale is so near to a missing value."""
    rises, to_missing = np.diff(knots), _to_missing(feature, values, knots, constant)
    if not constant:
        up = np.where(knots[:-1] >= _median(values), rises, 0.0)
        return GapScale(up, rises - up, float(to_missing.min()))
    level = float(to_missing[0]) - rises.sum() / 2
    return GapScale(rises / 2, rises / 2, level) if level >= 0 else None


def _set_missing(
    tables: PairEmbedding, weights: Floats, slopes: Floats, schema: Schema, columns: Sequence[Floats], constant: bool
) -> None:
    """Set, in place, the weights between numbers and a missing one in tables."""
    first = 0
    for vertices in tables.vertices:
        part = weights[first : first + len(vertices.keys)]
        first += len(part)
        (f,) = vertices.group
        knots = tables.grid.knots[f]
        at, level = np.divmod(vertices.keys, vertices.n_points)
        missing = level == len(knots)
        if schema.features[f].kind == "numeric" and missing.any():
            part[missing] = slopes[f] * _to_missing(schema.features[f], columns[f], knots, constant)[at[missing]]
