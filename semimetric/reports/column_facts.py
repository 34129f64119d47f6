"""What a report says of columns: their kinds and ranges, where the data lie, and what lies outside of the range of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from .._foundation.types import Floats
from ..data.grid import Grid
from ..data.schema import Feature, Schema
from ..data.times import SCALE, times_of
from ..distances.features.linear_directions import with_directions
from ..distances.model.semimetric import Semimetric
from .subjects import ReportItems

_BINS = 28  # of a histogram
_MOST_ROWS = 50_000  # items that are counted for histograms
_MOST_ORDERED = 300  # categories that are put in order of likeness
_MOST_TOLD = 12  # categories that a row names


def embedded(d: Semimetric, items: ReportItems | None, rng: np.random.Generator) -> Floats | None:
    """The raw features of items, followed by directions and leaves; of many items those of a sample."""
    if items is None:
        return None
    values = items.values
    if len(values) > _MOST_ROWS:
        values = values[np.sort(rng.choice(len(values), _MOST_ROWS, replace=False))]
    return with_directions(d.directions, values)


def columns_of_distance(d: Semimetric) -> list[dict[str, Any]]:
    """Names and kinds of the embedded columns; "made" are directions and trees. Categories stand by their codes."""
    schema = d.schema if d.directions is None else d.directions.extended(d.schema)
    out = columns_of_schema(schema, d.columns, d.embedding.grid)
    for f, order in _orders(d).items():
        out[f]["order"] = order
    for f in range(d.n_features, len(out)):
        out[f] |= {"made": True, "tree": schema.features[f].kind == "categorical"}
        if out[f]["tree"]:
            out[f]["categories"] = [f"leaf {c}" for c in schema.features[f].categories]
    return out


def columns_of_schema(schema: Schema, names: Sequence[str], grid: Grid) -> list[dict[str, Any]]:
    """Names and kinds of columns. Categories stand by their codes."""
    out = []
    for feature, name, missing in zip(schema.features, names, grid.missing, strict=True):
        column: dict[str, Any] = {"name": name, "kind": feature.kind, "missing": bool(missing)}
        if feature.kind == "categorical":
            column["categories"] = [str(c) for c in feature.categories]
        if feature.kind == "periodic":
            column["period"] = feature.period
        if feature.time:
            column |= {"time": feature.time, "zone": feature.zone}
        out.append(column)
    return out


def _orders(d: Semimetric) -> dict[int, list[int]]:
    """The codes of categories in an order in which those that are near stand together, by the number of the feature."""
    orders: dict[int, list[int]] = {}
    if not d.embedding.symmetric or not d.embedding.holds_tables or not d.embedding.whole:
        return orders
    for table in d.embedding.tables(d.weights):
        f = table.features[0]
        if len(table.features) > 1 or d.embedding.grid.kinds[f] != "categorical":
            continue
        n = len(table.knots[0]) - (1 + bool(d.embedding.grid.missing[f]))  # without new categories and missing values
        values = table.values[:n, :n]
        if 2 < n <= _MOST_ORDERED and (values >= 0).all() and np.ptp(values[np.triu_indices(n, 1)]) > 0:
            tree = linkage(squareform(values, checks=False), "average", optimal_ordering=True)
            orders[f] = [*leaves_list(tree).tolist(), n]
    return orders


def middles_of(grid: Grid, found: Floats | None) -> Floats:
    """A value of every embedded column to begin with: the median or the most frequent one, else the middle of the range."""
    middles = np.where(np.array(grid.kinds) == "categorical", 0.0, grid.low / 2 + grid.high / 2)
    for f in range(len(middles)) if found is not None else ():
        column = found[~np.isnan(found[:, f]), f]  # type: ignore[index]  # it is an array where there are columns
        if len(column):
            middle = np.bincount(column.astype(np.int64)).argmax() if grid.kinds[f] == "categorical" else np.median(column)
            middles[f] = np.clip(middle, grid.low[f], grid.high[f]) if grid.kinds[f] == "numeric" else middle
    return middles


def counts_of_page(grid: Grid, found: Floats | None) -> list[Any]:
    """How many items lie where in each embedded column: bins of its range, or categories, and missing ones."""
    if found is None:
        return [None] * grid.n_features
    return [_counts(found[:, f], grid.kinds[f], grid.low[f], grid.high[f]) for f in range(grid.n_features)]


def _counts(column: Floats, kind: str, low: float, high: float) -> dict[str, Any]:
    there = column[~np.isnan(column)]
    if kind == "categorical":
        bins = np.bincount(there.astype(np.int64), minlength=int(high) + 1)
    else:
        if kind == "periodic":
            there = low + np.mod(there - low, high - low)
        place = (there - low) / ((high - low) or 1.0)
        inside = place[(place >= 0.0) & (place <= 1.0)]
        bins = np.bincount(np.minimum((inside * _BINS).astype(np.int64), _BINS - 1), minlength=_BINS)
    return {"bins": bins.tolist(), "missing": int(np.isnan(column).sum())}


def column_rows(
    schema: Schema, grid: Grid, items: ReportItems | None, outside: NDArray[np.bool_] | None
) -> list[dict[str, Any]]:
    """For each raw column its kind and its range in the fit, and of items the extent and how many values are ``outside``."""
    rows = []
    for f, feature in enumerate(schema.features):
        row: dict[str, Any] = {
            "name": feature.name, "kind": _kind(feature), "range": _range(feature, grid, f), "knots": int(grid.counts[f]),
        }  # fmt: skip
        if items is not None:
            column = items.values[:, f]
            n_outside = None if outside is None else int(outside[:, f].sum())
            row |= _extent(feature, column) | {"n_missing": int(np.isnan(column).sum()), "n_outside": n_outside}
        rows.append(row)
    return rows


def _kind(feature: Feature) -> str:
    what = {"numeric": "number", "periodic": "angle", "categorical": "category"}[feature.kind]
    if feature.time:
        what = "time" if feature.time == SCALE else f"time in the {feature.time}"
    return what + ", or missing" * feature.missing


def _range(feature: Feature, grid: Grid, f: int) -> str:
    if feature.kind == "categorical":
        names = [str(c) for c in feature.categories]
        more = f", … ({len(names)} in all)" if len(names) > _MOST_TOLD else ""
        return ", ".join(names[:_MOST_TOLD]) + more
    if feature.kind == "periodic":
        return f"period {feature.period:g}"
    low, high = (_told(feature, value) for value in (grid.low[f], grid.high[f]))
    return f"{low} to {high}"


def _told(feature: Feature, value: float) -> str:
    if feature.time == SCALE:
        return str(times_of(np.array([value]), feature.zone)[0])
    return f"{value:.4g}"


def _extent(feature: Feature, column: NDArray[Any]) -> dict[str, Any]:
    """The least, the median and the largest value, where there is an order."""
    there = column[~np.isnan(column)]
    if feature.kind != "numeric" or not len(there):
        return dict.fromkeys(("least", "median", "largest"))
    found = [float(there.min()), float(np.median(there)), float(there.max())]
    told = [_told(feature, value) for value in found] if feature.time else found
    return dict(zip(("least", "median", "largest"), told, strict=True))
