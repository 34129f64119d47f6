"""Where knots are placed: by quantiles, evenly or by k-means, on a line or on a circle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans

from ._errors import InputError, warn
from ._types import Floats, Integers
from .schema import Feature, Schema

__all__ = ["STRATEGIES", "knot_counts", "place_knots", "sampled_rows", "warn_of_fewer"]

_MOST_ROWS = 100_000


def _quantile_knots(values: Floats, n_knots: int, random_state: int | None) -> Floats:
    return np.quantile(values, np.linspace(0.0, 1.0, n_knots))


def _uniform_knots(values: Floats, n_knots: int, random_state: int | None) -> Floats:
    return np.linspace(values.min(), values.max(), n_knots)


def _kmeans_knots(values: Floats, n_knots: int, random_state: int | None) -> Floats:
    """Minimum, maximum and n_knots - 2 centres (paper 0, section 3)."""
    ends = np.array([values.min(), values.max()])
    n_centres = min(n_knots - 2, len(np.unique(values)))
    if n_centres < 1:
        return ends
    model = KMeans(n_centres, n_init=3, random_state=random_state).fit(values[:, None])
    return np.clip(np.sort(np.append(ends, model.cluster_centers_[:, 0])), *ends)


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


def _circle_knots(values: Floats, n_knots: int, random_state: int | None, strategy: str, period: float) -> Floats:
    """Knots from the value after the widest gap on to the same one turn later; a gap wider than a cell is a cell."""
    places = np.unique(values)
    gaps = np.diff(places, append=places[0] + period)
    first = places[(np.argmax(gaps) + 1) % len(places)]
    turn, make = first + np.mod(values - first, period), _MAKE[strategy]
    if gaps.max() < period / n_knots:
        return np.unique(make(np.append(turn, first + period), n_knots + 1, random_state))
    return np.append(np.unique(make(turn, n_knots, random_state)), first + period)


def _knots_of(column: Floats, feature: Feature, n_knots: int, strategy: str, random_state: int | None) -> Floats:
    if feature.kind == "categorical":
        return np.arange(len(feature.categories) + 1.0)
    values = column[~np.isnan(column)]
    if not len(values):
        raise InputError(f"feature {feature.name!r} has nothing but missing values in the items of the fit; drop it")
    if feature.kind == "periodic":
        return _circle_knots(values, n_knots, random_state, strategy, feature.period)
    return np.unique(_MAKE[strategy](values, n_knots, random_state))


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


def place_knots(items: Floats, schema: Schema, counts: Integers, strategy: str, random_state: int | None) -> list[Floats]:
    """Knots of every feature of an encoded matrix."""
    columns = zip(_sample(items, random_state).T, schema.features, counts, strict=True)
    return [_knots_of(column, feature, int(c), strategy, random_state) for column, feature, c in columns]


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
