"""Distances and models as graphs of ONNX: `Semimetric.to_onnx`, and `to_onnx` of classifiers and regressors.

A graph computes in float64 with standard operators of opset 19 alone. Before it is written it is run on rows of every kind by
the reference evaluator of the package onnx, and must give what Python gives.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import NotSupportedError
from .._foundation.files import real_path, write_file
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_choice
from ..data.schema import Feature, Schema
from ..distances.estimators.votes import LearnedNeighbors
from ..distances.features.linear_directions import with_directions
from ..distances.learning.kernel_machine import KernelMachine
from ..distances.model.limits import rise_outside
from ..distances.model.semimetric import Semimetric
from ..distances.search.votes import VoteRule
from .graph import Graph
from .parts import DistanceParts, JointTable

_TOLERANCE = 1e-12  # of the largest value, by which a graph may differ from Python
_N_PROBES = 40  # rows on which it must not
_MOST_ITEMS = 20_000  # that a graph holds: a row is compared with each of them
_TIE = 1e-12  # relative, as in `search.votes`


class RowValues(NamedTuple):
    """Rows on the grid, as values of a graph."""

    scales: str  # (n, n_scales), with what rises outside; "" if there are none
    rises: str  # (n, n_rises)
    places: str  # (n, n_placed), the positions


@dataclass(frozen=True, eq=False)
class _RowReader:
    """Reads the columns of a table in a graph, and places them on the grid of a distance."""

    graph: Graph
    parts: DistanceParts

    @property
    def d(self) -> Semimetric:
        return self.parts.distance

    def inputs(self, name: str, prefix: str) -> tuple[str, str]:
        """Add the inputs of one table, and return it encoded (n, n_features), and where a row cannot be used (n, 1)."""
        schema, g = self.d.schema, self.graph
        if not has_text(schema):
            whole = g.input(name, self.d.n_features)
            kinds = any(f.kind != "numeric" for f in schema.features)
            columns = [g.take(whole, [f]) for f in range(self.d.n_features)] if kinds else []
        else:
            whole = ""
            columns = [g.input(f"{prefix}{f.name}", 1, text=is_text(f)) for f in schema.features]
        if columns:
            whole = g.concat([self.encoded(f, column) for f, column in zip(schema.features, columns, strict=True)])
        may_miss = g.constant([schema.missing], bool)
        gap = g.op("And", g.op("IsNaN", whole), g.op("Not", may_miss))
        odd = g.op("Or", gap, g.op("IsInf", whole))
        clean = g.op("Where", odd, g.constant(0.0), whole)
        return clean, g.op("Greater", g.total(g.cast(odd, np.float64), kind="ReduceMax", keep=True), g.constant(0.0))

    def encoded(self, feature: Feature, column: str) -> str:
        """Return an encoded column (n, 1); NaN where it is missing."""
        g = self.graph
        if feature.kind == "periodic":
            period = g.constant(feature.period)
            turns = g.op("Floor", g.op("Div", column, period))
            turned = g.op("Sub", column, g.op("Mul", turns, period))
            return g.op("Where", g.op("IsInf", column), column, turned)
        if feature.kind != "categorical":
            return column
        text, n = is_text(feature), len(feature.categories)
        levels = [list(map(str, feature.categories))] if text else [[float(c) for c in feature.categories]]
        same = g.cast(g.op("Equal", column, g.constant(levels, object if text else np.float64)), np.float64)
        below = g.op("MatMul", same, g.constant([[float(k - n)] for k in range(n)]))  # k - n for category k, else 0
        code = g.op("Add", below, g.constant(float(n)))
        if not text:
            return g.op("Where", g.op("IsNaN", column), column, code)
        if feature.missing:
            if "" in feature.categories:
                raise NotSupportedError(
                    f"the column {feature.name!r} has missing values and the category '', and text of ONNX has '' for both; "
                    "write another text for one of them, and learn again"
                )
            return g.op("Where", g.op("Equal", column, g.constant([[""]], object)), g.constant(np.nan), code)
        return code

    def rows(self, encoded: str) -> RowValues:
        """Return encoded rows on the grid."""
        g, d, grid = self.graph, self.d, self.d.embedding.grid
        values, leaves = self.with_directions(encoded)
        scaled, scales = [scale.feature for scale in self.parts.scales], ""
        if scaled:
            rising = self.climb(values, scaled, [scale.values for scale in self.parts.scales])
            scales = g.op("Add", rising, self.rise(values, scaled, np.array([scale.slopes for scale in self.parts.scales])))
            if any(grid.missing[f] for f in scaled):
                gone = g.op("IsNaN", g.take(values, scaled))
                scales = g.op("Where", gone, g.constant([[scale.values[-1] for scale in self.parts.scales]]), scales)
        sloped = list(self.parts.rises)
        rises = self.rise(values, sloped, d.epsilon[sloped]) if sloped else ""
        n_values = d.n_features + (d.directions.n_linear if d.directions else 0)
        found: dict[int, str] = {}
        between = [f for f in self.parts.placed if f < n_values and grid.kinds[f] != "categorical"]
        if between:
            turned = self.turned(values, between)
            counts = [np.arange(len(grid.knots[f]), dtype=np.float64) for f in between]
            placed = self.climb(turned, range(len(between)), counts, of=between)
            found = {f: g.take(placed, [k]) for k, f in enumerate(between)}
        for f in self.parts.placed:
            if f >= n_values:
                found[f] = g.take(leaves, [f - n_values])
                continue
            raw = g.take(values, [f])
            found.setdefault(f, raw)
            if grid.missing[f]:
                found[f] = g.op("Where", g.op("IsNaN", raw), g.constant(float(len(grid.knots[f]))), found[f])
        return RowValues(scales, rises, g.concat([found[f] for f in self.parts.placed]) if found else "")

    def turned(self, values: str, features: Sequence[int]) -> str:
        """Return columns with angles in the turn that begins at the first knot of their feature."""
        g, grid = self.graph, self.d.embedding.grid
        columns = g.take(values, list(features))
        if not any(grid.kinds[f] == "periodic" for f in features):
            return columns
        circle = np.array([grid.kinds[f] == "periodic" for f in features])
        low, width = (
            np.where(circle, ends, 1.0) for ends in (grid.low[list(features)], (grid.high - grid.low)[list(features)])
        )
        turns = g.op("Floor", g.op("Div", g.op("Sub", columns, g.constant([low])), g.constant([width])))
        return g.op("Sub", columns, g.op("Mul", turns, g.constant([np.where(circle, width, 0.0)])))

    def climb(self, values: str, columns: Sequence[int], heights: Sequence[Floats], of: Sequence[int] | None = None) -> str:
        """Return how far functions that are straight between knots have risen at the values: shape (n, n_columns)."""
        knots = [self.d.embedding.grid.knots[f] for f in (columns if of is None else of)]
        return climbed(self.graph, self.graph.take(values, list(columns)), knots, heights)

    def rise(self, values: str, features: Sequence[int], slopes: Floats) -> str:
        """Return the rise outside of the range, 0 where a value is missing, by ``slopes`` (n_features, 2)."""
        g, grid = self.graph, self.d.embedding.grid
        columns = g.take(values, list(features))
        zero = g.constant(0.0)
        over = g.op("Max", g.op("Sub", columns, g.constant([grid.high[list(features)]])), zero)
        under = g.op("Min", g.op("Sub", columns, g.constant([grid.low[list(features)]])), zero)
        sides = [g.op("Mul", side, g.constant([slopes[:, k]])) for k, side in ((1, over), (0, under))]
        return g.op("Where", g.op("IsNaN", columns), zero, g.added(sides))

    def with_directions(self, encoded: str) -> tuple[str, str]:
        """Return the values of raw features and linear directions, (n, n_values), and the leaves (n, n_trees)."""
        directions, g = self.d.directions, self.graph
        if directions is None:
            return encoded, ""
        values = [encoded]
        if directions.n_linear:
            gone = g.op("IsNaN", encoded)
            cells, matrix = g.op("Where", gone, g.constant(0.0), encoded), directions.matrix
            if directions.bends:
                cells, matrix = self.cells(cells, matrix)
            mapped = g.op("MatMul", cells, g.constant(matrix.T))
            uses = g.constant(directions.uses[: directions.n_linear].T.astype(np.float64))
            lost = g.op("Greater", g.op("MatMul", g.cast(gone, np.float64), uses), g.constant(0.0))
            values.append(g.op("Where", lost, g.constant(np.nan), mapped))
        return g.concat(values), self.leaves(encoded) if directions.n_trees else ""

    def cells(self, filled: str, matrix: Floats) -> tuple[str, Floats]:
        """Return how far values have risen through the cells of bends, (n, n_features * most), and a matrix of these."""
        directions, g = self.d.directions, self.graph
        assert directions is not None
        counts = [len(knots) - 1 for knots in directions.bends]
        most, starts = max(counts), np.cumsum([0, *counts])
        wide = np.zeros((len(matrix), len(counts), most))
        for f, n in enumerate(counts):
            wide[:, f, :n] = matrix[:, starts[f] : starts[f] + n]
        parts = parted(g, filled, directions.bends)
        flat = g.op("Reshape", parts, g.constant([0, len(counts) * most], np.int64))
        return flat, wide.reshape(len(matrix), -1)

    def leaves(self, encoded: str) -> str:
        """Return the leaf of every tree: all trees take one step after another, and a leaf leads to itself."""
        directions, g = self.d.directions, self.graph
        assert directions is not None
        trees = directions.partitions
        assert trees is not None
        roots = np.repeat(trees.start[:-1], np.diff(trees.start))
        own = np.arange(len(trees.feature))
        children = np.where(trees.is_leaf[:, None], own[:, None], trees.children + roots[:, None])
        feature = np.maximum(trees.feature, 0)
        node = self.started(encoded, trees.start[:-1])
        gone = g.op("IsNaN", encoded)
        filled = g.op("Where", gone, g.constant(0.0), encoded)
        for _ in range(max(len(way) for t in range(len(trees)) for way in trees.paths(t))):
            asked = g.op("Gather", g.constant(feature, np.int64), node)
            value = g.op("GatherElements", filled, asked, axis=1)
            left = g.op("LessOrEqual", value, g.op("Gather", g.constant(trees.threshold), node))
            lost = g.op("GatherElements", g.cast(gone, np.int64), asked, axis=1)
            missing_left = g.cast(g.op("Gather", g.constant(trees.missing_left.astype(np.int64), np.int64), node), bool)
            lost, there = g.cast(lost, bool), g.op("Not", g.cast(lost, bool))
            left = g.op("Or", g.op("And", lost, missing_left), g.op("And", there, left))
            below = [g.op("Gather", g.constant(children[:, side], np.int64), node) for side in (0, 1)]
            node = g.op("Where", left, *below)
        return g.cast(g.op("Gather", g.constant(trees.leaf, np.int64), node), np.float64)

    def started(self, encoded: str, roots: Integers) -> str:
        """Return the root of every tree for each row, shape (n, n_trees)."""
        g = self.graph
        n = g.op("Slice", g.op("Shape", encoded), *(g.constant([k], np.int64) for k in (0, 1)))
        shape = g.concat([n, g.constant([len(roots)], np.int64)], axis=0)
        return g.op("Expand", g.constant([roots], np.int64), shape)

    def stored(self, encoded: Floats) -> RowValues:
        """Return rows that the graph holds, on the grid."""
        d, g = self.d, self.graph
        features = with_directions(d.directions, encoded)
        located = d.embedding.locate(features).located
        places = located.lower + located.fraction
        excess = d.value_limits.excess(features)
        rise = rise_outside(excess, d.epsilon)
        scales = [
            np.interp(places[:, s.feature], np.arange(len(s.values)), s.values)
            + rise_outside(excess[:, [s.feature]], np.array([s.slopes]))[:, 0]
            for s in self.parts.scales
        ]
        sides = np.column_stack(scales) if scales else None, rise[:, list(self.parts.rises)], places[:, list(self.parts.placed)]
        return RowValues(*("" if side is None or not side.shape[1] else g.constant(side) for side in sides))


def parted(g: Graph, values: str, knots: Sequence[Floats]) -> str:
    """Return the part of every cell that lies below a value, (n, n_columns, most cells); cells that fill up count 0."""
    most = max(max(len(k) for k in knots) - 1, 1)
    low, width = np.zeros((len(knots), most)), np.ones((len(knots), most))
    real = np.zeros((len(knots), most))
    for row, k in enumerate(knots):
        low[row, : len(k) - 1], width[row, : len(k) - 1], real[row, : len(k) - 1] = k[:-1], np.diff(k), 1.0
    inside = g.op("Div", g.op("Sub", g.axis(values, -1), g.constant(low)), g.constant(width))
    return g.op("Mul", g.op("Clip", inside, g.constant(0.0), g.constant(1.0)), g.constant(real))


def climbed(g: Graph, values: str, knots: Sequence[Floats], heights: Sequence[Floats]) -> str:
    """Return functions of columns (n, n_columns) that are straight between knots, and level outside."""
    most = max(max(len(k) for k in knots) - 1, 1)
    steps, first = np.zeros((len(knots), most)), np.zeros(len(knots))
    for row, height in enumerate(heights):
        n = len(knots[row])
        steps[row, : n - 1], first[row] = np.diff(height[:n]), height[0]
    total = g.total(g.op("Mul", parted(g, values, knots), g.constant(steps)))
    return g.op("Add", total, g.constant([first])) if first.any() else total


def summed(g: Graph, parts: DistanceParts, x: RowValues, y: RowValues) -> str:
    """Return the distance of rows whose values go together by the rules of arrays: the last axis is added up."""
    found = [g.total(g.op("Abs", g.op("Sub", own, other))) for own, other in ((x.scales, y.scales), (x.rises, y.rises)) if own]
    number = {f: k for k, f in enumerate(parts.placed)}
    if jumps := [jump for jump in parts.jumps if jump.value]:
        columns = [number[jump.feature] for jump in jumps]
        apart = g.op("Not", g.op("Equal", g.take(x.places, columns), g.take(y.places, columns)))
        found.append(g.total(g.op("Mul", g.cast(apart, np.float64), g.constant([jump.value for jump in jumps]))))
    for size in sorted({len(table.features) for table in parts.tables}):
        tables = [table for table in parts.tables if len(table.features) == size]
        places = [[number[f] for f in table.features] for table in tables]
        found.append(table_sums(g, tables, g.take(x.places, places), g.take(y.places, places)))
    link = parts.distance.link_function
    total = g.added(found) if found else g.total(g.op("Mul", g.op("Sub", x.places, y.places), g.constant(0.0)))
    exponent, bends, slopes = link.parts
    if len(slopes):
        past = g.op("Max", g.op("Sub", g.axis(total, -1), g.constant([0.0, *bends])), g.constant(0.0))
        within = g.op("Min", past, g.constant([*np.diff([0.0, *bends]), np.inf]))
        return g.total(g.op("Mul", within, g.constant(slopes)))
    if exponent == 1:
        return total
    return g.op("Sqrt", total) if exponent == 0.5 else g.op("Pow", total, g.constant(exponent))


def table_sums(g: Graph, tables: Sequence[JointTable], x: str, y: str) -> str:
    """Return the sum of tables of equally many features at positions (..., n_tables, size): see `sql._Writer.table_value`."""
    size = len(tables[0].features)
    zero = g.constant(0.0)
    spread = [g.op("Add", side, g.op("Mul", other, zero)) for side, other in ((x, y), (y, x))]
    axes = g.concat(spread)  # (..., n_tables, 2 size)
    floor, ceiling = g.op("Floor", axes), g.op("Ceil", axes)
    fraction = g.op("Sub", axes, floor)
    own, other = g.axis(fraction, -1), g.axis(fraction, -2)
    earlier = np.tri(2 * size, k=-1, dtype=bool)
    lower = g.op("Or", g.op("Less", other, own), g.op("And", g.op("Equal", other, own), g.constant(earlier, bool)))
    gap = g.op("Sub", fraction, g.total(g.op("Where", lower, other, zero), kind="ReduceMax"))
    at = g.op("Where", g.op("GreaterOrEqual", other, own), g.axis(ceiling, -2), g.axis(floor, -2))
    values = g.constant(np.concatenate([table.values.ravel() for table in tables]))
    starts = np.concatenate([[0.0], np.cumsum([table.values.size for table in tables])[:-1]])
    straight = np.array([[*(s * len(t.values) for s in t.strides), *t.strides] for t in tables], dtype=np.float64)
    turned = np.concatenate([straight[:, size:], straight[:, :size]], axis=1)

    def looked_up(points: str, *between: int) -> str:
        def number(strides: Floats) -> str:
            steps = g.constant(strides.reshape(len(tables), *(1 for _ in between), 2 * size))
            return g.op("Add", g.total(g.op("Mul", points, steps)), g.constant(starts.reshape(-1, *(1 for _ in between))))

        place = number(straight)
        if tables[0].swapped:
            first = precedes if not between else g.axis(precedes, -1)
            place = g.op("Where", first, number(turned), place)
        return g.op("Gather", values, g.cast(place, np.int64))

    if tables[0].swapped:
        left, right = spread
        sign = g.op("Sign", g.op("Sub", left, right))
        weights = g.constant([3.0 ** (size - 1 - k) for k in range(size)])  # the first that differs decides
        precedes = g.op("Less", g.total(g.op("Mul", sign, weights)), zero)
    above = g.total(g.op("Mul", gap, looked_up(at, 1)))
    rest = g.op("Sub", g.constant(1.0), g.total(fraction, kind="ReduceMax"))
    return g.total(g.op("Add", above, g.op("Mul", rest, looked_up(floor))))


def is_text(feature: Feature) -> bool:
    """Return True if the column of a feature is an input of text."""
    return any(isinstance(c, str) for c in feature.categories)


def has_text(schema: Schema) -> bool:
    """Return True if a graph has an input for each column, because some are text."""
    return any(map(is_text, schema.features))


def input_arrays(schema: Schema, encoded: Floats, name: str = "X", prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return encoded rows as the inputs of a graph; a new category becomes a value that no category has."""
    columns = []
    for f, column in zip(schema.features, encoded.T, strict=True):
        if f.kind == "categorical":
            values = [*(str(c) if is_text(f) else float(c) for c in f.categories)]
            other: Any = f.unseen_name if is_text(f) else max(map(float, values)) + 1.0
            gap: Any = "" if is_text(f) else np.nan
            column = np.array(
                [gap if np.isnan(c) else [*values, other][int(c)] for c in column], object if is_text(f) else None
            )
        columns.append(column[:, None])
    if has_text(schema):
        return {f"{prefix}{f.name}": column for f, column in zip(schema.features, columns, strict=True)}
    return {name: np.hstack(columns).astype(np.float64)}


def probes(d: Semimetric) -> Floats:
    """Return encoded rows of every kind: on knots and between, outside the range, new categories and missing values."""
    rng, grid, n = np.random.default_rng(0), d.embedding.grid, d.n_features
    rows = np.empty((_N_PROBES, n))
    for f, feature in enumerate(d.schema.features):
        low, high = float(grid.low[f]), float(grid.high[f])
        if feature.kind == "categorical":
            rows[:, f] = rng.integers(0, len(feature.categories) + 1, _N_PROBES)
        elif feature.kind == "periodic":
            rows[:, f] = rng.uniform(0, feature.period, _N_PROBES)
        else:
            width = high - low or 1.0
            rows[:, f] = rng.uniform(low - 0.3 * width, high + 0.3 * width, _N_PROBES)
            rows[::4, f] = rng.choice(grid.knots[f], len(rows[::4]))
        if feature.missing:
            rows[rng.random(_N_PROBES) < 0.15, f] = np.nan
    return rows


def distance_to_onnx(d: Semimetric, path: str | os.PathLike[str], what: str) -> None:
    """Write a distance, or its coordinates, as a graph: see `Semimetric.to_onnx`."""
    check_choice("what", what, ("transform", "distance"))
    real_path(path)
    names = d.coordinate_names if what == "transform" else ()
    parts, g = DistanceParts.of(d), Graph(d.feature_names)
    reader, rows = _RowReader(g, parts), probes(d)
    if what == "transform":
        encoded, odd = reader.inputs("X", "")
        out = _coordinates(g, parts, reader.rows(encoded))
        g.output(g.op("Where", odd, g.constant(np.nan), out), "coordinates", np.float64, len(names))
        given = input_arrays(d.schema, rows)
        wanted: Mapping[str, NDArray[Any]] = {"coordinates": d.transform(d.schema.display(rows))}
    else:
        (x, odd_x), (y, odd_y) = (reader.inputs(name, f"{name.lower()}.") for name in ("X", "Y"))
        total = summed(g, parts, reader.rows(x), reader.rows(y))
        odd = g.op("Squeeze", g.op("Or", odd_x, odd_y), g.constant([1], np.int64))
        g.output(g.op("Where", odd, g.constant(np.nan), total), "distance", np.float64)
        others = rows[::-1]
        given = input_arrays(d.schema, rows, "X", "x.") | input_arrays(d.schema, others, "Y", "y.")
        index = np.column_stack([np.arange(len(rows)), len(rows) + np.arange(len(rows))])
        wanted = {"distance": d.paired_by_index(np.vstack([rows, others]), index)}
    _write(g, path, f"semimetric {what}", str(d), given, wanted)


def _coordinates(g: Graph, parts: DistanceParts, rows: RowValues) -> str:
    found = [side for side in (rows.scales, rows.rises) if side]
    if parts.jumps:
        n_raw, sizes = parts.distance.n_features, parts.distance.embedding.grid.sizes
        counts = [int(sizes[jump.feature]) - (jump.feature >= n_raw) for jump in parts.jumps]
        number = {f: k for k, f in enumerate(parts.placed)}
        owner = np.repeat([number[jump.feature] for jump in parts.jumps], counts)
        level = np.concatenate([np.arange(n, dtype=np.float64) for n in counts])
        half = np.repeat([jump.value / 2 for jump in parts.jumps], counts)
        there = g.cast(g.op("Equal", g.take(rows.places, owner), g.constant([level])), np.float64)
        found.append(g.op("Mul", there, g.constant([half])))
    return g.concat(found)


def model_to_onnx(model: LearnedNeighbors, path: str | os.PathLike[str]) -> None:
    """Write a classifier or regressor as a graph: see `LearnedNeighbors.to_onnx`."""
    real_path(path)
    d, machine = model.semimetric_, getattr(model, "machine_", None)
    centers = model.index_.encoded_items_ if machine is None else model.index_.encoded_items_[machine.rows]
    if len(centers) > _MOST_ITEMS:
        raise NotSupportedError(
            f"the model compares a row with {len(centers):,} items, and a graph holds at most {_MOST_ITEMS:,}; fit it to fewer "
            'items, or export d.to_onnx(path, what="transform") and search for the neighbors in an index of L1 distances'
        )
    g, rows = Graph(d.feature_names), probes(d)
    reader = _RowReader(g, DistanceParts.of(d))
    encoded, odd = reader.inputs("X", "")
    own = reader.rows(encoded)
    distances = summed(g, reader.parts, RowValues(*(g.axis(side, 1) if side else "" for side in own)), reader.stored(centers))
    classes = getattr(model, "classes_", None)
    answer = _machine(g, machine, distances) if machine is not None else _votes(g, model, classes, distances)
    named = [dict(zip(d.feature_names, row, strict=True)) for row in d.schema.display(rows).tolist()]
    lost = partial(g.op, "Where", odd, g.constant(np.nan))
    given = input_arrays(d.schema, rows)
    if classes is None:
        g.output(lost(answer), "variable", np.float64, 1)
        wanted: dict[str, NDArray[Any]] = {"variable": model.predict(named)[:, None]}
    else:
        best = g.op("ArgMax", answer, axis=1, keepdims=0)
        names = classes.astype(str).astype(object) if classes.dtype.kind in "OUS" else classes
        kind = object if names.dtype == object else np.int64 if classes.dtype.kind in "iub" else np.float64
        g.output(g.op("Gather", g.constant(names, kind), best), "label", kind)
        g.output(lost(answer), "probabilities", np.float64, len(classes))
        wanted = {"probabilities": model.predict_proba(named)}
    _write(g, path, f"semimetric {type(model).__name__}", str(d), given, wanted)


def _machine(g: Graph, machine: KernelMachine, distances: str) -> str:
    """Return the outputs of a kernel machine, or its probabilities, from distances to its centers (n, n_centers)."""
    kernel = g.op("Add", g.op("Exp", g.op("Div", distances, g.constant(-machine.width))), g.constant(1.0))
    outputs = g.op("Add", g.op("MatMul", kernel, g.constant(machine.coefficients)), g.constant([machine.offset]))
    if machine.slope is None:
        return outputs
    logits = g.op("Add", g.op("Mul", outputs, g.constant(machine.slope)), g.constant([machine.shifts]))
    return g.op("Softmax", logits, axis=1)


def _votes(g: Graph, model: LearnedNeighbors, classes: NDArray[Any] | None, distances: str) -> str:
    """Return the fractions of votes for the classes (n, n_classes), or the mean of values (n, 1)."""
    items, rule = model.fitted_items, model.vote_rule_
    if items.has_weights or items.has_class_weights or rule.average == "median":
        reason = "takes the median of values" if rule.average == "median" else "has items or classes that count differently"
        raise NotSupportedError(
            f'the model {reason}, which a graph cannot say; fit it without, or let a machine predict: predictor="kernel_ridge"'
        )
    votes = _vote_weights(g, rule, distances, len(items.targets))
    total = g.total(votes, axis=1, keep=True)
    if classes is None:
        values = g.op("MatMul", votes, g.constant(items.targets.astype(np.float64)[:, None]))
        return g.op("Div", values, total)
    codes = np.searchsorted(classes, items.targets)
    indicators = np.eye(len(classes))[codes]
    shares = indicators.mean(axis=0) * rule.smoothing
    counted = g.op("Add", g.op("MatMul", votes, g.constant(indicators)), g.constant([shares]))
    return g.op("Div", counted, g.op("Add", total, g.constant(rule.smoothing)))


def _vote_weights(g: Graph, rule: VoteRule, distances: str, n_items: int) -> str:
    """Return the weight of the vote of every item, 0 of most: shape (n, n_items)."""
    n = min(rule.n_searched, n_items)
    ordered, _ = g.ops("TopK", 2, distances, g.constant([n], np.int64), largest=0, sorted=1)

    def nth(k: int) -> str:
        return g.take(ordered, [min(k, n_items) - 1])

    tied = g.constant(1.0 + _TIE)
    within = g.op("LessOrEqual", distances, g.op("Mul", nth(rule.n_neighbors), tied))
    one, zero, nearest = g.constant(1.0), g.constant(0.0), nth(1)
    if rule.weights == "uniform":
        return g.cast(within, np.float64)
    coincides = g.op("LessOrEqual", distances, g.op("Mul", nearest, tied))
    if rule.weights == "distance":
        weight = g.op("Div", nearest, g.op("Where", coincides, one, distances))
    else:
        width = g.constant(float(rule.bandwidth or 0.0))
        if rule.bandwidth_neighbor is not None:
            width = g.op("Mul", nth(rule.bandwidth_neighbor), width)
        fallen = g.op("Exp", g.op("Neg", g.op("Div", g.op("Sub", distances, nearest), width)))
        weight = g.op("Where", g.op("IsNaN", fallen), zero, fallen)
    return g.op("Where", within, g.op("Where", coincides, one, weight), zero)


def _write(
    g: Graph,
    path: str | os.PathLike[str],
    name: str,
    about: str,
    given: Mapping[str, NDArray[Any]],
    wanted: Mapping[str, NDArray[Any]],
) -> None:
    """Write a graph that gives what is wanted; refuse one that does not."""
    model = g.model(name, about)
    evaluator = optional("onnx.reference").ReferenceEvaluator(model)
    with np.errstate(all="ignore"):
        found = dict(zip(evaluator.output_names, evaluator.run(None, dict(given)), strict=True))
    for output, values in wanted.items():
        error = np.abs(found[output] - values)
        if not (error <= _TOLERANCE * max(1.0, float(np.abs(values).max()))).all():
            raise NotSupportedError(
                f"the graph of {name} differs from Python by {np.nanmax(error):.3g} on some rows, so it is not written; the "
                "model holds what graphs do not say: export the distance as SQL, or use it in Python"
            )
    content = model.SerializeToString()
    write_file(path, lambda file: file.write(content))
