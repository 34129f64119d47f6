"""The placement of knots: at quantiles, at equal distances or by k-means, on a line or on a circle."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._foundation.errors import InputError, warn
from .._foundation.real_numbers import shown
from .._foundation.types import Floats, Integers
from .._kernels.line_clusters import best_runs
from .schema import Feature, Schema

_MOST_ROWS = 100_000  # of larger tables, knots are placed from a sample of so many rows


def _kmeans_knots(values: Floats, n_knots: int) -> Floats:
    """Return the minimum, the maximum and n_knots - 2 centres of clusters (paper 0, section 3); all values if there are few."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= n_knots:
        return distinct
    ends = distinct[[0, -1]]
    if n_knots == 2:
        return ends
    scaled = (distinct - ends[0]) / (ends[1] - ends[0]) - 0.5
    bounds = np.empty(n_knots + 1, np.int64)
    best_runs(scaled, counts.astype(np.float64), n_knots - 2, bounds)
    centers = np.add.reduceat(counts * scaled, bounds[1:-1])[:-1] / np.add.reduceat(counts, bounds[1:-1])[:-1]
    return np.clip(np.concatenate([ends[:1], ends[0] + (centers + 0.5) * (ends[1] - ends[0]), ends[1:]]), *ends)


def sampled_rows(n: int, random_state: int | None) -> Integers | None:
    """Return the rows of the sample of ``n`` items from which knots are placed; None if all rows are used."""
    if n <= _MOST_ROWS + 2:
        return None
    return np.random.default_rng(random_state).choice(n, _MOST_ROWS, replace=False)


def _sample(items: Floats, random_state: int | None) -> Floats:
    rows = sampled_rows(len(items), random_state)
    if rows is None:
        return items
    return np.vstack([items[rows], np.fmin.reduce(items), np.fmax.reduce(items)])  # both ignore NaN


def _circle_knots(values: Floats, n_knots: int, strategy: str, period: float) -> Floats:
    """Return knots of one turn, from the value after the widest gap up to that same value one period later."""
    distinct = np.unique(values)
    gaps = np.diff(distinct, append=distinct[0] + period)
    first = distinct[(np.argmax(gaps) + 1) % len(distinct)]
    turn = first + np.mod(values - first, period)
    place = _PLACE[strategy]
    if gaps.max() < period / n_knots:
        return np.unique(place(np.append(turn, first + period), n_knots + 1))
    return np.append(np.unique(place(turn, n_knots)), first + period)


def _knots_of(column: Floats, feature: Feature, n_knots: int, strategy: str) -> Floats:
    if feature.kind == "categorical":
        return np.arange(len(feature.categories) + 1.0)
    values = column[~np.isnan(column)]
    if not len(values):
        raise InputError(f"feature {feature.name!r} has nothing but missing values in the items of the fit; drop it")
    if feature.kind == "periodic":
        return _circle_knots(values, n_knots, strategy, feature.period)
    return knots_of_values(values, n_knots, strategy)


_PLACE: dict[str, Callable[[Floats, int], Floats]] = {
    "quantile": lambda values, n_knots: np.quantile(values, np.linspace(0.0, 1.0, n_knots)),
    "uniform": lambda values, n_knots: np.linspace(values.min(), values.max(), n_knots),
    "kmeans": _kmeans_knots,
}
STRATEGIES = tuple(_PLACE)


MOST_KNOTS = int(np.iinfo(np.uint16).max)  # vertices are stored as uint16


def knot_counts(n_knots: int | Sequence[int], n_features: int, most: int) -> Integers:
    """Return the valid number of knots of every feature, at most ``most``: shape (n_features,)."""
    given = np.asarray(n_knots)
    if given.ndim > 1 or given.size not in (1, n_features):
        raise InputError(
            f"n_knots={shown(n_knots)} has {given.size} numbers for {n_features} features (directions are features too); "
            "one number, or one a feature, is required"
        )
    counts = np.broadcast_to(given, n_features)
    if counts.dtype.kind not in "iu" or (counts < 2).any() or (counts > most).any():
        raise InputError(f"n_knots={shown(n_knots)}: integers between 2 and {most} are required, one or one a feature")
    return counts


def knots_of_values(values: Floats, n_knots: int, strategy: str) -> Floats:
    """Return at most ``n_knots`` strictly increasing knots, from the minimum to the maximum of the values."""
    return np.unique(_PLACE[strategy](values, n_knots))


def place_knots(items: Floats, schema: Schema, counts: Integers, strategy: str, random_state: int | None) -> list[Floats]:
    """Return the knots of every feature of an encoded matrix of items; ``counts`` are the numbers of knots to place."""
    columns = zip(_sample(items, random_state).T, schema.features, counts, strict=True)
    return [_knots_of(column, feature, int(c), strategy) for column, feature, c in columns]


def warn_of_fewer(
    knots: Sequence[Floats], counts: Integers, items: Floats, schema: Schema, names: Sequence[object]
) -> None:  # fmt: skip
    """Warn of constant features, and of features that have fewer knots than asked for because of ties."""
    features = list(zip(schema.features, map(len, knots), counts, strict=True))
    # the last knot of a periodic feature is the first again, and that of a categorical one is for new categories
    different = [n - (f.kind != "numeric") for f, n, _ in features]
    constant = [k for k, (f, _, _) in enumerate(features) if different[k] == 1 and not f.missing]
    if constant:
        shown = ", ".join(str(names[f]) for f in constant[:8]) + (f" and {len(constant) - 8} more" if constant[8:] else "")
        subject = f"features {shown} are" if constant[1:] else f"feature {shown} is"
        warn(f"{subject} constant: nothing is learned there", cause="constant features")
    fewer = [k for k, (f, _, c) in enumerate(features) if f.kind != "categorical" and 1 < different[k] < c]
    fewer = [k for k in fewer if not np.isin(items[~np.isnan(items[:, k]), k], knots[k]).all()]
    if fewer:
        shown = ", ".join(f"{names[f]}: {different[f]} of {counts[f]}" for f in fewer[:5])
        more = f" and {len(fewer) - 5} more" if len(fewer) > 5 else ""
        warn(f"ties in the data leave fewer knots ({shown}{more})", cause="fewer knots")
