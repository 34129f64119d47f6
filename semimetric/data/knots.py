"""Where knots are placed: by quantiles, evenly or by k-means, on a line or on a circle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._foundation.errors import InputError, warn
from .._foundation.types import Floats, Integers
from .schema import Feature, Schema

__all__ = ["STRATEGIES", "knot_counts", "knots_of_values", "place_knots", "sampled_rows", "warn_of_fewer"]

_MOST_ROWS = 100_000
_MOST_STEPS = 300  # of Lloyd's algorithm


def _quantile_knots(values: Floats, n_knots: int) -> Floats:
    return np.quantile(values, np.linspace(0.0, 1.0, n_knots))


def _uniform_knots(values: Floats, n_knots: int) -> Floats:
    return np.linspace(values.min(), values.max(), n_knots)


def _kmeans_knots(values: Floats, n_knots: int) -> Floats:
    """Minimum, maximum and n_knots - 2 centres (paper 0, section 3); all values where there are no more than n_knots."""
    distinct = np.unique(values)
    if len(distinct) <= n_knots:
        return distinct
    ends = distinct[[0, -1]]
    return ends if n_knots == 2 else np.clip(np.sort(np.append(ends, _centres(values, distinct, n_knots - 2))), *ends)


def _centres(values: Floats, distinct: Floats, n_centres: int) -> Floats:
    """k-means on a line, Lloyd's steps from the quantiles: cells are runs of sorted values, so a step costs k log n."""
    low, width = distinct[0], distinct[-1] - distinct[0]
    ordered = (np.sort(values) - low) / width
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    middle = (np.arange(n_centres) + 0.5) / n_centres
    centres = np.quantile(ordered, middle)
    if len(np.unique(centres)) < n_centres:
        centres = np.quantile((distinct - low) / width, middle)
    ends = np.zeros(n_centres + 1, np.int64)
    for _ in range(_MOST_STEPS):
        cuts = np.searchsorted(ordered, (centres[1:] + centres[:-1]) / 2)
        before, ends = ends, np.concatenate([[0], cuts, [len(ordered)]])
        if (before == ends).all():
            break
        count = np.diff(ends)
        centres = np.where(count > 0, np.diff(sums[ends]) / np.maximum(count, 1), centres)
    return low + centres * width


def sampled_rows(n: int, random_state: int | None) -> Integers | None:
    """Rows of the sample of ``n`` items that knots are placed among; None for all.

    What such a sample becomes with its two extremes is no longer sampled, so knots of a stream are those of its items.
    """
    if n <= _MOST_ROWS + 2:
        return None
    return np.random.default_rng(random_state).choice(n, _MOST_ROWS, replace=False)


def _sample(items: Floats, random_state: int | None) -> Floats:
    """At most _MOST_ROWS rows, and the minimum and maximum of every feature as two more."""
    rows = sampled_rows(len(items), random_state)
    if rows is None:
        return items
    return np.vstack([items[rows], np.fmin.reduce(items), np.fmax.reduce(items)])  # without what is missing


def _circle_knots(values: Floats, n_knots: int, strategy: str, period: float) -> Floats:
    """Knots from the value after the widest gap on to the same one turn later; a gap wider than a cell is a cell."""
    places = np.unique(values)
    gaps = np.diff(places, append=places[0] + period)
    first = places[(np.argmax(gaps) + 1) % len(places)]
    turn, make = first + np.mod(values - first, period), _MAKE[strategy]
    if gaps.max() < period / n_knots:
        return np.unique(make(np.append(turn, first + period), n_knots + 1))
    return np.append(np.unique(make(turn, n_knots)), first + period)


def _knots_of(column: Floats, feature: Feature, n_knots: int, strategy: str) -> Floats:
    if feature.kind == "categorical":
        return np.arange(len(feature.categories) + 1.0)
    values = column[~np.isnan(column)]
    if not len(values):
        raise InputError(f"feature {feature.name!r} has nothing but missing values in the items of the fit; drop it")
    if feature.kind == "periodic":
        return _circle_knots(values, n_knots, strategy, feature.period)
    return knots_of_values(values, n_knots, strategy)


_MAKE = {"quantile": _quantile_knots, "uniform": _uniform_knots, "kmeans": _kmeans_knots}
STRATEGIES = tuple(_MAKE)


def knot_counts(n_knots: int | Sequence[int], n_features: int, most: int) -> Integers:
    """``n_knots``, checked, one number a feature."""
    given = np.asarray(n_knots)
    if given.ndim > 1 or given.size not in (1, n_features):
        raise InputError(
            f"n_knots={n_knots!r} has {given.size} numbers for {n_features} features (directions are features too); "
            "one number, or one a feature, is required"
        )
    counts = np.broadcast_to(given, n_features)
    if counts.dtype.kind not in "iu" or (counts < 2).any() or (counts > most).any():
        raise InputError(f"n_knots={n_knots!r}: integers between 2 and {most} are required, one or one a feature")
    return counts


def knots_of_values(values: Floats, n_knots: int, strategy: str) -> Floats:
    """At most n_knots strictly increasing knots of numbers, the minimum and maximum among them."""
    return np.unique(_MAKE[strategy](values, n_knots))


def place_knots(items: Floats, schema: Schema, counts: Integers, strategy: str, random_state: int | None) -> list[Floats]:
    """Knots of every feature of an encoded matrix."""
    columns = zip(_sample(items, random_state).T, schema.features, counts, strict=True)
    return [_knots_of(column, feature, int(c), strategy) for column, feature, c in columns]


def warn_of_fewer(found: Sequence[int], counts: Integers, schema: Schema, names: Sequence[object]) -> None:
    """Say which features are constant, and where ties left fewer knots than asked for."""
    features = list(zip(schema.features, found, counts, strict=True))
    turn = [n - (f.kind != "numeric") for f, n, _ in features]  # without the seam, and the level of other categories
    constant = [k for k, (f, _, _) in enumerate(features) if turn[k] == 1 and not f.missing]
    if constant:
        shown = ", ".join(str(names[f]) for f in constant[:8]) + (f" and {len(constant) - 8} more" if constant[8:] else "")
        subject = f"features {shown} are" if constant[1:] else f"feature {shown} is"
        warn(f"{subject} constant: nothing is learned there")
    fewer = [k for k, (f, _, c) in enumerate(features) if f.kind != "categorical" and 1 < turn[k] < c]
    if fewer:
        shown = ", ".join(f"{names[f]}: {turn[f]} of {counts[f]}" for f in fewer[:5])
        more = f" and {len(fewer) - 5} more" if len(fewer) > 5 else ""
        warn(f"ties in the data leave fewer knots ({shown}{more})")
