"""A distance as SQL: coordinates of rows that the database computes, and the exact distance of two rows.

PostgreSQL has the coordinates in a generated column, so that they follow every row that is inserted or changed; DuckDB has them
in a view, and SQLite in a table that triggers keep. Scales are stored as they are, other features as the position among their
knots. The distance adds differences of scales and values of tables, which stand in the script.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.text import cell_text
from .._foundation.types import Floats, distinct
from .._foundation.validation import check_choice, check_count
from ..data.grid import Grid
from ..data.schema import Feature, Schema
from ..distances.features.partitions import Partitions
from ..distances.model.semimetric import Semimetric
from .dialects import DIALECTS, Dialect, case, chained, has_floats
from .l1 import Coordinate, L1Coordinates
from .parts import DistanceParts, JointTable, StoredScale

_MOST_DENSE = 2_000  # coordinates of a vector that pgvector indexes
_MOST_SPARSE = 1_000  # coordinates of a sparse one that are not 0
_MOST_PLAIN = 200  # numbers of an array that PostgreSQL keeps in the row
_MOST_LISTED = 16  # levels of a feature whose coordinates are computed one by one
_DEFAULT_EF = 40  # candidates that pgvector's graph names unless a setting says more


class Stored(NamedTuple):
    """One number that is stored for a row."""

    name: str
    kind: str  # that of a scale, "position" or "rise"
    feature: int  # among the embedded ones


@dataclass(frozen=True, eq=False)
class SqlDistance:
    """The SQL of a distance, in one dialect and for one table; `Semimetric.to_sql` makes it.

    Run `script` once. Then `distance` is an expression that other queries can hold, and `nearest` a query.

    A row that Python would refuse has no coordinates: one with a gap in a column without a level for it, or with an infinite
    number. It is nobody's neighbour.

    Parameters
    ----------
    parts : DistanceParts
        The parts of the distance.
    dialect : {"postgres", "duckdb", "sqlite"}
    table : tuple of str
        The name of the table, after that of its schema where it has one.
    key : str
        The column that names its rows.
    name : str, default "semimetric"
        The stored column, and a part of the name of whatever else the script makes.

    Examples
    --------
    >>> import sqlite3
    >>> from semimetric import Semimetric
    >>> rows = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["blue", 5.0]]
    >>> d = Semimetric.gower(rows)
    >>> base = sqlite3.connect(":memory:")
    >>> _ = base.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, x0 TEXT, x1 REAL)")
    >>> _ = base.executemany("INSERT INTO things (x0, x1) VALUES (?, ?)", rows)
    >>> sql = d.to_sql("sqlite", table="things", key="id")
    >>> _ = base.executescript(sql.script)
    >>> base.execute(sql.nearest(2), (1,)).fetchall()
    [(1, 0.0), (2, 0.25)]
    >>> base.close()
    >>> d(rows[0], rows[1])
    0.25
    """

    parts: DistanceParts
    dialect: str
    table: tuple[str, ...]
    key: str
    name: str = "semimetric"

    def __post_init__(self) -> None:
        self._writer.check()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numbers that are stored for a row, in their order."""
        return tuple(stored.name for stored in self._writer.stored)

    @cached_property
    def script(self) -> str:
        """The statements that make the coordinates of all rows, and of those to come; it can be run again.

        It changes no column of the table, and replaces what an earlier script made under the same names: the table and `name`,
        with ``_`` between. In PostgreSQL it adds one column, and refuses to replace one that is not generated.
        """
        return self._writer.script

    @cached_property
    def index(self) -> str:
        """The statements, after those of the script, that make the index which names candidates: for pgvector.

        Its coordinates are single precision. Their L1 distance is the sum of the distance, divided by a unit, or as near to it
        as cuts of its tables come: see `index_is_exact`.

        Raises
        ------
        NotSupportedError
            If the dialect has no index of L1 distances, or the index does not take as many coordinates.
        """
        return self._writer.index

    @property
    def index_is_exact(self) -> bool:
        """True if the L1 distance of the index is the sum of the distance, but for single precision."""
        return self._writer.l1.exact

    def distance(self, x: str, y: str) -> str:
        """Return the exact distance of two rows as an expression.

        Parameters
        ----------
        x, y : str
            Aliases, in the query that holds the expression, of what has the coordinates: in PostgreSQL the table, in DuckDB and
            SQLite the view or table that the script makes. It is called as the table with ``_semimetric`` at its end.
        """
        quote = self._writer.say.quote
        return self._writer.distance(quote(x), quote(y))

    def coordinates(self, of: str) -> str:
        """Return a query of the coordinates of rows that are in no table, such as new ones.

        Parameters
        ----------
        of : str
            A relation as SQL, with the columns of the table that the distance compares: the name of another table, or a query
            in brackets, ``"(SELECT 'red' AS colour, 3 AS size)"``. It is taken as it is, so let nobody else write it.
        """
        return self._writer.rows_of(of)

    def nearest(self, k: int, candidates: int | None = None, *, of: str | None = None) -> str:
        """Return a query of the keys and the distances of the k nearest rows, the nearest first; ties are in order of keys.

        Parameters
        ----------
        k : int
        candidates : int or None, default None
            None computes the distance of every row. A number takes so many rows from the `index`, which may miss some, and
            their exact distances. For more than 40 pgvector asks for ``SET hnsw.ef_search = candidates`` before the query.
        of : str or None, default None
            None is the row of the table whose key is the parameter of the query, ``$1``, in SQLite ``?1``; it is its own
            nearest row. A relation as SQL, see `coordinates`, is one row that has no key.

        Raises
        ------
        NotSupportedError
            If candidates are asked of a dialect without an index of L1 distances.
        """
        check_count("k", k)
        if candidates is not None and check_count("candidates", candidates) < k:
            raise InputError(f"candidates={candidates} are fewer than k={k}; give at least k, better ten times as many")
        return self._writer.nearest(k, candidates, of)

    @cached_property
    def _writer(self) -> _Writer:
        return _WRITERS[self.dialect](self)

    def __repr__(self) -> str:
        return (
            f"SqlDistance of {len(self.columns)} stored numbers a row, for the table {'.'.join(self.table)} of "
            f"{self._writer.say.label}"
        )


def to_sql(d: Semimetric, dialect: str, *, table: str | Sequence[str], key: str, name: str = "semimetric") -> SqlDistance:
    """Return the SQL of a distance: see `Semimetric.to_sql`."""
    check_choice("dialect", dialect, tuple(DIALECTS))
    parts = (table,) if isinstance(table, str) else tuple(table)
    if not parts or not all(isinstance(part, str) for part in (*parts, key, name)):
        raise InputError(f"table={table!r}, key={key!r} and name={name!r} are given; names are required, as text")
    return SqlDistance(DistanceParts.of(d), dialect, parts, key, name)


class _Writer(ABC):
    """A writer of what the dialects share: values and coordinates of rows, and terms of distances."""

    def __init__(self, sql: SqlDistance) -> None:
        self.sql, self.parts, self.d = sql, sql.parts, sql.parts.distance
        self.say: Dialect = DIALECTS[sql.dialect]
        self.grid: Grid = self.d.embedding.grid

    @cached_property
    def stored(self) -> tuple[Stored, ...]:
        """The numbers that are stored for a row."""
        names, parts = self.d.columns, self.parts
        found = [
            *((s.named(names[s.feature]), s.kind, s.feature) for s in parts.scales),
            *((names[f], "position", f) for f in parts.placed),
            *((f"{names[f]} outside range", "rise", f) for f in parts.rises),
        ]
        taken = distinct([self.sql.key, *(name for name, _, _ in found)])[1:]
        return tuple(Stored(name, kind, f) for name, (_, kind, f) in zip(taken, found, strict=True))

    @cached_property
    def place(self) -> dict[tuple[str, int], int]:
        """The place among the stored numbers of each kind of each feature."""
        return {(stored.kind, stored.feature): k for k, stored in enumerate(self.stored)}

    @cached_property
    def l1(self) -> L1Coordinates:
        """The coordinates whose L1 distance is the sum of the distance, or near to it."""
        return L1Coordinates.of(self.parts)

    def check(self) -> None:
        """Refuse names that the database cannot hold, and what the dialect cannot say."""
        for name in (*self.sql.table, self.sql.key, self.sql.name, *self.d.feature_names):
            self.say.quote(name)
        if taken := {self.sql.name, f"{self.sql.name}_l1"} & {self.sql.key, *self.d.feature_names}:
            raise InputError(f"name={self.sql.name!r} makes the column {min(taken)!r}, which the table has; give another name")
        _ = self.sql.script

    def made(self, what: str = "") -> str:
        """Return the name of something that the script makes, in the schema of the table."""
        *schema, table = self.sql.table
        return ".".join(map(self.say.quote, (*schema, f"{table}_{self.sql.name}{what and f'_{what}'}")))

    @property
    def table(self) -> str:
        return ".".join(map(self.say.quote, self.sql.table))

    @property
    def key(self) -> str:
        return self.say.quote(self.sql.key)

    # Values of rows

    def values(self, column: Callable[[int], str]) -> list[str]:
        """Return the values of the embedded features, of which ``column`` names the raw ones: of a tree its leaf."""
        d, features = self.d, self.d.schema.features
        raw = [self.say.value(it, column(f)) for f, it in enumerate(features)]
        if d.directions is None:
            return raw
        linear = [self.direction(k, raw) for k in range(d.directions.n_linear)]
        trees = d.directions.partitions
        return [*raw, *linear, *(self.leaf(trees, t, 0, raw) for t in range(d.directions.n_trees) if trees is not None)]

    def direction(self, k: int, raw: Sequence[str]) -> str:
        """Return the value of a linear direction; NULL where a feature that it uses is missing."""
        directions = self.d.directions
        assert directions is not None
        row, bends = directions.matrix[k], directions.bends
        if not bends:
            terms = [f"{self.say.number(m)} * {raw[f]}" for f, m in enumerate(row.tolist()) if m]
            return f"({chained(terms, '+')})"
        terms, starts = [], np.cumsum([0, *(len(knots) - 1 for knots in bends)])
        for f, knots in enumerate(bends):
            rises = row[starts[f] : starts[f + 1]]
            if rises.any():
                line = Coordinate(f, np.append(0.0, np.cumsum(rises)))
                gap = [(f"{raw[f]} IS NULL", "NULL")] if self.d.schema.features[f].missing else []
                terms.append(self.line(knots, line, raw[f], gap))
        return f"({chained(terms, '+')})"

    def leaf(self, trees: Partitions, tree: int, node: int, raw: Sequence[str]) -> str:
        """Return the number of the leaf that a row reaches below a node, counted from the root of the tree."""
        at = int(trees.start[tree]) + node
        f = int(trees.feature[at])
        if f < 0:
            return str(int(trees.leaf[at]))
        left, right = (self.leaf(trees, tree, child, raw) for child in trees.children[at].tolist())
        condition = self.goes_left(self.d.schema.features[f], raw[f], float(trees.threshold[at]))
        if self.d.schema.features[f].missing and trees.missing_left[at]:
            condition = f"{raw[f]} IS NULL OR {condition}"
        return f"CASE WHEN {condition} THEN {left} ELSE {right} END"

    def goes_left(self, feature: Feature, value: str, threshold: float) -> str:
        """Return the condition under which a value that is not missing goes left at a node."""
        if feature.kind != "categorical":
            turned = self.say.turned(value, 0.0, feature.period) if feature.kind == "periodic" else value
            return f"{turned} <= {self.say.threshold(threshold)}"
        n, column = len(feature.categories), self.say.category(feature, value)
        literals = self.say.category_literals(feature)
        inside = [texts for k, texts in enumerate(literals) if k <= threshold]
        outside = [texts for k, texts in enumerate(literals) if k > threshold]
        chosen, word = (outside, "NOT IN") if n <= threshold else (inside, "IN")
        if not chosen:
            return f"{value} IS NOT NULL" if word == "NOT IN" else f"{value} IS NULL AND {value} IS NOT NULL"
        return f"{column} {word} ({', '.join(text for texts in chosen for text in texts)})"

    def odd(self, column: Callable[[int], str]) -> str:
        """Return the condition under which a row has no coordinates."""
        found = [self.say.odd(feature, column(f)) for f, feature in enumerate(self.d.schema.features)]
        return chained(list(filter(None, found)), "OR") or "1 = 0"

    # Coordinates of values

    def scale_of(self, stored: Stored) -> StoredScale | None:
        """Return the scale that a stored number is; None if it is something else."""
        return next((s for s in self.parts.scales if (s.kind, s.feature) == (stored.kind, stored.feature)), None)

    def coordinate(self, stored: Stored, value: str) -> str:
        """Return a stored number from the value of its feature."""
        f = stored.feature
        knots, (below, above) = self.grid.knots[f], self.d.epsilon[f].tolist()
        if (scale := self.scale_of(stored)) is not None:
            gap = [(f"{value} IS NULL", self.say.number(scale.values[-1]))] if self.grid.missing[f] else []
            return self.line(knots, Coordinate(f, scale.values, *scale.slopes), value, gap)
        if stored.kind == "rise":
            low, high = (self.say.number(end) for end in (knots[0], knots[-1]))
            rises = [(f"{value} > {high}", f"({value} - {high}) * {self.say.number(above)}")]
            rises.append((f"{value} < {low}", f"({value} - {low}) * {self.say.number(below)}"))
            return case(rises, "0.0")
        return self.position(f, value)

    def position(self, f: int, value: str) -> str:
        """Return the position of a value among the vertices of its feature."""
        knots, kind = self.grid.knots[f], self.grid.kinds[f]
        missing = [(f"{value} IS NULL", str(len(knots)))] if self.grid.missing[f] else []
        if f >= self.d.n_features + (self.d.directions.n_linear if self.d.directions else 0):
            return value  # the leaf of a tree
        if kind == "categorical":
            feature = self.d.schema.features[f]
            codes = [(text, str(k)) for k, texts in enumerate(self.say.category_literals(feature)) for text in texts]
            return case(missing, case(codes, str(len(feature.categories)), of=self.say.category(feature, value)))
        if kind == "periodic":
            value = self.say.turned(value, float(knots[0]), float(knots[-1] - knots[0]))
        return self.line(knots, Coordinate(f, np.arange(len(knots), dtype=np.float64)), value, missing)

    def line(self, knots: Floats, line: Coordinate, value: str, first: Sequence[tuple[str, str]] = ()) -> str:
        """Return a function that is straight between knots, and outside has the slopes of the coordinate."""
        heights = line.values
        branches = [*first, (f"{value} <= {self.say.number(knots[0])}", self.straight(value, knots[0], heights[0], line.below))]
        for k, (width, height) in enumerate(zip(np.diff(knots), np.diff(heights), strict=False)):
            gives = self.straight(value, knots[k], heights[k], height, width)
            if branches[-1][1] == gives:  # as of levels, which are all 0 but one
                branches.pop()
            branches.append((f"{value} <= {self.say.number(knots[k + 1])}", gives))
        last = self.straight(value, knots[-1], heights[len(knots) - 1], line.above)
        return case(branches[:-1] if branches[-1][1] == last else branches, last)

    def straight(self, value: str, knot: float, height: float, slope: float, width: float = 1.0) -> str:
        """Return ``height + (value - knot) / width * slope``, without what changes nothing."""
        if not slope:
            return self.say.number(height)
        passed = f"({value} - {self.say.number(knot)})" if knot else value
        passed += f" / {self.say.number(width)}" if width != 1.0 else ""
        passed += f" * {self.say.number(slope)}" if slope != 1.0 else ""
        return f"{self.say.number(height)} + {passed}" if height else passed

    # Distances

    def total(self, x: Callable[[int], str], y: Callable[[int], str]) -> str:
        """Return the distance of two rows, whose stored numbers ``x`` and ``y`` name."""
        terms = []
        for k, stored in enumerate(self.stored):
            if stored.kind != "position":
                terms.append(f"abs({x(k)} - {y(k)})")
        place = self.place
        for jump in self.parts.jumps:
            if jump.value:
                k = place["position", jump.feature]
                terms.append(f"CASE WHEN {x(k)} <> {y(k)} THEN {self.say.number(jump.value)} ELSE 0.0 END")
        for number, table in enumerate(self.parts.tables):
            at = [place["position", f] for f in table.features]
            terms.append(self.table_value(number, table, [x(k) for k in at], [y(k) for k in at]))
        return self.linked(chained(terms, "+") or "0.0")

    def linked(self, total: str) -> str:
        """Return the distance of a sum."""
        exponent, _, slopes = self.d.link_function.parts
        if len(slopes):
            return self.pieces(total)
        return total if exponent == 1 else self.say.power(f"({total})", exponent)

    def pieces(self, total: str) -> str:
        """Return the straight pieces of the link at a sum."""
        return f"{self.made('link')}({total})"

    def link_of(self, total: str) -> str:
        """Return the straight pieces of the link as an expression of the sum."""
        _, bends, slopes = self.d.link_function.parts
        sums = np.array([0.0, *bends])
        heights = np.append(0.0, np.cumsum(slopes[:-1] * np.diff(sums)))
        return self.line(sums, Coordinate(0, heights, float(slopes[0]), float(slopes[-1])), total)

    def table_value(self, number: int, table: JointTable, x: Sequence[str], y: Sequence[str]) -> str:
        """Return the value of a table between positions: barycentric coordinates in the simplex of their cell.

        The fractions f of all axes, in order, part the way from 0 to 1. On the stretch below f_a, those axes whose fractions
        are at least f_a are at their upper vertices.
        """
        n = len(x)
        axes = [*x, *y]
        between = [a for a in range(2 * n) if self.grid.kinds[table.features[a % n]] != "categorical"]
        fraction = {a: f"({axes[a]} - floor({axes[a]}))" for a in between}

        def point(side: Sequence[int], at: Callable[[int], str]) -> str:
            steps = zip(side, table.strides, strict=True)
            return " + ".join(f"{stride} * {at(a)}" if stride > 1 else at(a) for a, stride in steps)

        def value(at: Callable[[int], str]) -> str:
            a, b = point(range(n), at), point(range(n, 2 * n), at)
            size = len(table.values)
            if not table.swapped:
                return self.lookup(number, f"{size} * ({a}) + {b}")
            precedes = " OR ".join(
                "(" + " AND ".join([*(f"{x[q]} = {y[q]}" for q in range(p)), f"{x[p]} < {y[p]}"]) + ")" for p in range(n)
            )
            return self.lookup(number, f"CASE WHEN {precedes} THEN {size} * ({b}) + {a} ELSE {size} * ({a}) + {b} END")

        if not between:
            return value(lambda a: axes[a])
        terms, lower = [], value(lambda a: f"floor({axes[a]})" if a in fraction else axes[a])
        for a in between:
            reached = [
                case([(f"{fraction[b]} {'<=' if b < a else '<'} {fraction[a]}", fraction[b])], "0.0") for b in between if b != a
            ]
            below = f"{self.say.greatest}({', '.join(reached)})" if len(reached) > 1 else reached[0]

            def at(b: int, a: int = a) -> str:
                if b not in fraction:
                    return axes[b]
                upper = f"ceil({axes[b]})"
                return upper if a == b else case([(f"{fraction[b]} >= {fraction[a]}", upper)], f"floor({axes[b]})")

            terms.append(f"({fraction[a]} - {below}) * {value(at)}")
        terms.append(f"(1.0 - {self.say.greatest}({', '.join(fraction.values())})) * {lower}")
        return f"({' + '.join(terms)})"

    def lookup(self, number: int, place: str) -> str:
        """Return the value of a table at a place, counted from 0."""
        return f"{self.made(f'values_{number}')}({place})"

    # Remarks

    def about(self, stored: Stored) -> str:
        """Return a comment that says what a stored number is."""
        f, name = stored.feature, self.d.columns[stored.feature]
        scale = self.scale_of(stored)
        if stored.kind == "rise":
            return self.say.remark(f"{name}: how far the distance rises outside of the range")
        if f >= self.d.n_features and name in self.d.rules:
            return self.say.remark(f"{name}: the number of its leaf, of {len(self.d.rules[name])}")
        column = self.d.schema.features[f] if f < self.d.n_features else Feature(name)
        what = "the position" if stored.kind == "position" else "the scale"
        if column.kind == "categorical":
            return self.say.remark(f"{name}: the number of the category, {len(column.categories)} is any other")
        knots = ", ".join(map(cell_text, Schema((column,)).display(self.grid.knots[f][:, None])[:, 0]))
        return self.say.remark(f"{name if scale is None else scale.named(name)}: {what} over the knots {knots}")

    def about_table(self, table: JointTable) -> str:
        """Return a comment that says what a table is."""
        names = " * ".join(self.d.columns[f] for f in table.features)
        return self.say.remark(f"{names}: {self.d.sum_name} between {len(table.values)} grid points, row by row")

    @property
    @abstractmethod
    def script(self) -> str:
        """See `SqlDistance.script`."""

    @property
    @abstractmethod
    def index(self) -> str:
        """See `SqlDistance.index`."""

    @abstractmethod
    def distance(self, x: str, y: str) -> str:
        """See `SqlDistance.distance`."""

    @abstractmethod
    def rows_of(self, of: str) -> str:
        """See `SqlDistance.coordinates`."""

    @abstractmethod
    def nearest(self, k: int, candidates: int | None, of: str | None) -> str:
        """See `SqlDistance.nearest`."""


class _ColumnWriter(_Writer):
    """DuckDB and SQLite: coordinates stand in a relation of their own, one column each."""

    def rows_of(self, of: str, keyed: bool = False, where: str = "") -> str:
        """Return the coordinates of the rows of a relation, after their keys if it has any."""
        quote, names = self.say.quote, self.d.feature_names
        values = self.values(lambda f: f"t.{quote(names[f])}")
        inner = distinct([self.sql.key, *self.d.columns])[1:]
        key = [f"t.{self.key} AS {self.key}"] if keyed else []
        given = ",\n  ".join([*key, *(f"{value} AS {quote(name)}" for value, name in zip(values, inner, strict=True))])
        computed = [
            f"{self.about(stored)}\n  {self.coordinate(stored, f'v.{quote(inner[stored.feature])}')} AS {quote(stored.name)}"
            for stored in self.stored
        ]
        columns = ",\n  ".join([*(["v." + self.key] if keyed else []), *computed])
        odd = self.odd(lambda f: f"t.{quote(names[f])}")
        rule = f"NOT COALESCE({odd}, 1 = 0){where and f' AND {where}'}"
        return f"SELECT\n  {columns}\nFROM (SELECT\n  {given}\nFROM {of} AS t\nWHERE {rule}) AS v"

    def distance(self, x: str, y: str) -> str:
        names = [self.say.quote(stored.name) for stored in self.stored]
        return self.total(lambda k: f"{x}.{names[k]}", lambda k: f"{y}.{names[k]}")

    def nearest(self, k: int, candidates: int | None, of: str | None) -> str:
        if candidates is not None:
            raise _no_index(self.say)
        here = f"SELECT * FROM {self.made()} WHERE {self.key} = {self.say.parameter}" if of is None else self.rows_of(of)
        return (
            f"SELECT y.{self.key}, {self.distance('x', 'y')} AS distance\nFROM ({here}) AS x CROSS JOIN {self.made()} AS y\n"
            f"ORDER BY 2, 1 LIMIT {k}"
        )

    @property
    def index(self) -> str:
        raise _no_index(self.say)


class _DuckDBWriter(_ColumnWriter):
    @property
    def script(self) -> str:
        made = []
        for number, table in enumerate(self.parts.tables):
            values = f"CAST('[{self.say.numbers(table.values)}]' AS DOUBLE[])"
            macro = f"CREATE OR REPLACE MACRO {self.made(f'values_{number}')}(i) AS ({values})[CAST(i AS INTEGER) + 1]"
            made.append(f"{self.about_table(table)}\n{macro};")
        if len(self.d.link_function.parts[2]):
            made.append(f"CREATE OR REPLACE MACRO {self.made('link')}(s) AS {self.link_of('s')};")
        made.append(f"CREATE OR REPLACE VIEW {self.made()} AS\n{self.rows_of(self.table, keyed=True)};")
        return "\n\n".join(made) + "\n"


class _SQLiteWriter(_ColumnWriter):
    @property
    def script(self) -> str:
        quote, made = self.say.quote, self.made
        *schema, _ = self.sql.table
        table = quote(self.sql.table[-1])  # a trigger is in the schema of its table
        own = quote(f"{self.sql.table[-1]}_{self.sql.name}")
        statements = ["BEGIN", *(f"DROP TRIGGER IF EXISTS {made(event)}" for event in ("insert", "update", "delete"))]
        statements += [f"DROP TABLE IF EXISTS {made()}", f"DROP TABLE IF EXISTS {made('values')}"]
        if self.parts.tables:
            statements.append(
                f"CREATE TABLE {made('values')} (part INTEGER, place INTEGER, value REAL, PRIMARY KEY (part, place)) "
                "WITHOUT ROWID"
            )
        for number, part in enumerate(self.parts.tables):
            rows = [f"({number}, {k}, {value!r})" for k, value in enumerate(part.values.ravel().tolist())]
            statements += [
                f"{self.about_table(part)}\nINSERT INTO {made('values')} VALUES\n{', '.join(rows[first : first + 500])}"
                for first in range(0, len(rows), 500)
            ]
        columns = ", ".join([f"{self.key} PRIMARY KEY", *(f"{quote(stored.name)} REAL" for stored in self.stored)])
        statements.append(f"CREATE TABLE {made()} ({columns})")
        statements.append(f"INSERT INTO {made()}\n{self.rows_of(self.table, keyed=True)}")
        new = self.rows_of(table, keyed=True, where=f"t.{self.key} = NEW.{self.key}")
        old = f"DELETE FROM {own} WHERE {self.key} = OLD.{self.key}"
        replaced = f"DELETE FROM {own} WHERE {self.key} = NEW.{self.key}"
        for event, body in (
            ("insert", [replaced, f"INSERT INTO {own}\n{new}"]),
            ("update", [old, replaced, f"INSERT INTO {own}\n{new}"]),
            ("delete", [old]),
        ):
            inside = ";\n".join(body)
            statements.append(
                f"CREATE TRIGGER {made(event)} AFTER {event.upper()} ON {table} FOR EACH ROW BEGIN\n{inside};\nEND"
            )
        return ";\n\n".join([*statements, "COMMIT"]) + ";\n"

    def lookup(self, number: int, place: str) -> str:
        return f"(SELECT value FROM {self.made('values')} WHERE part = {number} AND place = CAST({place} AS INTEGER))"

    def pieces(self, total: str) -> str:
        return f"(SELECT {self.link_of('s')} FROM (SELECT {total} AS s))"


class _PostgresWriter(_Writer):
    """PostgreSQL: coordinates stand in one generated column, an array."""

    @property
    def column(self) -> str:
        return self.say.quote(self.sql.name)

    @property
    def l1_column(self) -> str:
        return self.say.quote(f"{self.sql.name}_l1")

    def function(self, what: str, arguments: str, returns: str, body: str) -> str:
        """Return the statement that makes a function of one expression."""
        tag = self.tag(body)
        head = f"CREATE OR REPLACE FUNCTION {self.made(what)}({arguments}) RETURNS {returns}"
        return f"{head} LANGUAGE sql IMMUTABLE PARALLEL SAFE AS {tag}\nSELECT {body}\n{tag};"

    def dropped(self, name: str) -> str:
        """Return the statements that drop a column of an earlier script, and refuse to drop one of the user's own."""
        message = f"the table has a column {name} of its own; give to_sql another name=, or rename the column"
        tag = self.tag(f"{self.table}{name}")
        return (
            f"DO {tag} BEGIN\nIF EXISTS (SELECT FROM pg_attribute WHERE attrelid = {self.say.text(self.table)}::regclass AND "
            f"attname = {self.say.text(name)} AND attgenerated = '' AND NOT attisdropped) THEN\n"
            f"  RAISE EXCEPTION USING MESSAGE = {self.say.text(message)};\nEND IF;\nEND {tag};\n"
            f"ALTER TABLE {self.table} DROP COLUMN IF EXISTS {self.say.quote(name)};"
        )

    def tag(self, body: str) -> str:
        """Return a quote of PostgreSQL that does not stand in a text, so that no name can end it early."""
        tag = "$sql$"
        while tag in body:
            tag = f"{tag[:-1]}_$"
        return tag

    def call(self, k: int, stored: Stored, value: str) -> str:
        """Return a stored number: of a leaf its number, of another feature what its function makes of the value."""
        linear = self.d.n_features + (self.d.directions.n_linear if self.d.directions else 0)
        if stored.feature >= linear:
            return value
        return f"{self.made(f'number_{k}')}({value})"

    def array(self, column: Callable[[int], str]) -> str:
        """Return the coordinates of a row as one expression, NULL for a row that has none."""
        values = self.values(column)
        numbers = [
            f"  {self.call(k, stored, values[stored.feature])}{',' * (k + 1 < len(self.stored))} {self.about(stored)}"
            for k, stored in enumerate(self.stored)
        ]
        array = "ARRAY[\n{}\n]::double precision[]".format("\n".join(numbers))
        return f"CASE WHEN {self.odd(column)} THEN NULL ELSE {array} END"

    def type_of(self, f: int) -> str:
        """Return the type of the values of a feature, to which the database takes those of its column by itself."""
        if f >= self.d.n_features or self.d.schema.kinds[f] != "categorical":
            return "double precision"
        feature = self.d.schema.features[f]
        kinds = {type(c) for c in feature.categories}
        if kinds == {bool}:
            return "boolean"
        return "text" if kinds & {str, bool} else "double precision" if has_floats(feature) else "numeric"

    @property
    def script(self) -> str:
        quote = self.say.quote
        made = ["BEGIN;"]
        for name in (f"{self.sql.name}_l1", self.sql.name):
            made.append(self.dropped(name))
        for k, stored in enumerate(self.stored):
            if self.call(k, stored, "v") == "v":
                continue
            kind = self.type_of(stored.feature)
            body = f"CAST({self.coordinate(stored, 'v')} AS double precision)"
            made.append(f"{self.about(stored)}\n{self.function(f'number_{k}', f'v {kind}', 'double precision', body)}")
        for number, table in enumerate(self.parts.tables):
            values = f"('{{{self.say.numbers(table.values)}}}'::double precision[])[i + 1]"
            made.append(
                f"{self.about_table(table)}\n{self.function(f'values_{number}', 'i integer', 'double precision', values)}"
            )
        if len(self.d.link_function.parts[2]):
            made.append(self.function("link", "s double precision", "double precision", self.link_of("s")))
        total = self.total(lambda k: f"x[{k + 1}]", lambda k: f"y[{k + 1}]")
        arguments = "x double precision[], y double precision[]"
        made.append(self.function("distance", arguments, "double precision", f"CAST({total} AS double precision)"))
        array = self.array(lambda f: quote(self.d.feature_names[f]))
        made.append(
            f"ALTER TABLE {self.table} ADD COLUMN {self.column} double precision[]\nGENERATED ALWAYS AS ({array}) STORED;"
        )
        storage = "PLAIN" if len(self.stored) <= _MOST_PLAIN else "EXTERNAL"
        made.append(f"ALTER TABLE {self.table} ALTER COLUMN {self.column} SET STORAGE {storage};")
        return "\n\n".join([*made, "COMMIT;"]) + "\n"

    def lookup(self, number: int, place: str) -> str:
        return f"{self.made(f'values_{number}')}(CAST({place} AS integer))"

    def distance(self, x: str, y: str) -> str:
        return f"{self.made('distance')}({x}.{self.column}, {y}.{self.column})"

    def rows_of(self, of: str) -> str:
        names = self.d.feature_names
        return f"SELECT {self.array(lambda f: f't.{self.say.quote(names[f])}')} AS {self.column}\nFROM {of} AS t"

    def nearest(self, k: int, candidates: int | None, of: str | None) -> str:
        there = f"y.{self.key}, {self.distance('x', 'y')} AS distance"
        if of is None:
            columns = f"{self.column}{f', {self.l1_column}' if candidates else ''}"
            here = f"SELECT {columns} FROM {self.table} WHERE {self.key} = {self.say.parameter}"
        else:
            here = self.rows_of(of)
            if candidates is not None:
                here = f"SELECT r.{self.column}, {self.made('l1')}(r.{self.column}) AS {self.l1_column} FROM ({here}) AS r"
        if candidates is None:
            return (
                f"SELECT {there}\nFROM ({here}) AS x CROSS JOIN {self.table} AS y\nWHERE y.{self.column} IS NOT NULL\n"
                f"ORDER BY 2, 1 LIMIT {k}"
            )
        _ = self.index  # refuses what it does not take
        remark = f"-- first: SET hnsw.ef_search = {candidates};\n" if candidates > _DEFAULT_EF else ""
        return (
            f"{remark}WITH x AS ({here}),\nnamed AS MATERIALIZED (SELECT y.{self.key}, y.{self.column} FROM {self.table} AS y\n"
            f"  WHERE y.{self.l1_column} IS NOT NULL\n"
            f"  ORDER BY y.{self.l1_column} <+> (SELECT {self.l1_column} FROM x) LIMIT {candidates})\n"
            f"SELECT {there}\nFROM x CROSS JOIN named AS y ORDER BY 2, 1 LIMIT {k}"
        )

    @property
    def index(self) -> str:
        coordinates = self.l1.coordinates
        n, dense, sparse = len(coordinates), *_split(coordinates)
        n_filled = len(dense) + len({c.feature for c in sparse})
        if not n:
            raise NotSupportedError("the distance is 0 everywhere, so an index has nothing to say; learn another")
        is_sparse = n > _MOST_DENSE
        if is_sparse and n_filled > _MOST_SPARSE:
            raise NotSupportedError(
                f"the index has {n:,} coordinates, of which a row has {n_filled:,}; pgvector indexes {_MOST_DENSE:,}, or "
                f"{_MOST_SPARSE:,} that are not 0: learn fewer scales or trees, or leave candidates out"
            )
        kind, class_ = ("sparsevec", "sparsevec_l1_ops") if is_sparse else ("vector", "vector_l1_ops")
        returns = f"{kind}({n})"
        unit = self.l1.unit
        numbers = [self.l1_number(c, unit) for c in dense]
        if not sparse:
            body = "CAST(ARRAY[\n  {}\n]::double precision[] AS {})".format(",\n  ".join(numbers), returns)
        else:
            pieces = [f"'{k + 1}:' || ({number})" for k, number in enumerate(numbers)]
            pieces += self.l1_levels(sparse, len(dense), unit)
            text = f"'{{' || concat_ws(',', {', '.join(pieces)}) || '}}/{n}'"
            body = f"CAST(CAST({text} AS sparsevec({n})) AS {returns})"
        exact = "but for single precision the sum of the distance" if self.l1.exact else "near the sum of the distance"
        array = self.array(lambda f: self.say.quote(self.d.feature_names[f]))
        function = self.function("l1", "c double precision[]", kind, f"CASE WHEN c IS NOT NULL THEN {body} END")
        return "\n\n".join(
            [
                "CREATE EXTENSION IF NOT EXISTS vector;",
                self.dropped(f"{self.sql.name}_l1"),
                f"-- Its L1 distance, divided by {unit!r}, is {exact}.\n{function}",
                f"ALTER TABLE {self.table} ADD COLUMN {self.l1_column} {returns}\n"
                f"GENERATED ALWAYS AS ({self.made('l1')}({array})) STORED;",
                f"CREATE INDEX ON {self.table} USING hnsw ({self.l1_column} {class_});\n",
            ]
        )

    def l1_number(self, c: Coordinate, unit: float) -> str:
        """Return a coordinate of the index from the stored numbers of a row, around 0 and in the unit."""
        place, n = self.place, self.say.number
        middle = unit * float(c.values.min() + c.values.max()) / 2
        if c.scale is not None:
            return f"c[{place[c.scale.kind, c.feature] + 1}] * {n(unit)} - {n(middle)}"
        found = []
        if ("position", c.feature) in place and c.values.any():
            at = f"c[{place['position', c.feature] + 1}]"
            size = min(len(c.values), int(self.grid.sizes[c.feature]))
            found.append(self.line(np.arange(size, dtype=np.float64), Coordinate(0, c.values * unit - middle), at))
        if (c.below or c.above) and ("rise", c.feature) in place:
            found.append(f"c[{place['rise', c.feature] + 1}] * {n(unit)}")
        return f"({' + '.join(found) or '0.0'})"

    def l1_levels(self, sparse: Sequence[Coordinate], first: int, unit: float) -> list[str]:
        """Return the one coordinate of each feature of levels that a row has, as text with its number."""
        pieces, k = [], first
        for f in dict.fromkeys(c.feature for c in sparse):
            own = [c for c in sparse if c.feature == f]
            at = f"c[{self.place['position', f] + 1}]"
            height = float(own[0].values.max()) * unit
            pieces.append(f"CAST({k + 1} + {at} AS integer) || ':{height!r}'")
            k += len(own)
        return pieces


def _split(coordinates: Sequence[Coordinate]) -> tuple[list[Coordinate], list[Coordinate]]:
    """Return the coordinates that every row has, and those of levels that all have one value, of which a row has one."""
    of: dict[int, list[Coordinate]] = {}
    for c in coordinates:
        of.setdefault(c.feature, []).append(c)
    alike = {
        f
        for f, own in of.items()
        if all(c.is_level for c in own)
        and [int(np.argmax(c.values)) for c in own] == list(range(len(own)))
        and len({float(c.values.max()) for c in own}) == 1
        and len(own) > _MOST_LISTED
    }
    return [c for c in coordinates if c.feature not in alike], [c for c in coordinates if c.feature in alike]


def _no_index(say: Dialect) -> NotSupportedError:
    return NotSupportedError(
        f"{say.label} has no index of L1 distances, so candidates are not named; leave candidates out for the exact scan, or "
        "use PostgreSQL with pgvector"
    )


_WRITERS: dict[str, Any] = {"postgres": _PostgresWriter, "duckdb": _DuckDBWriter, "sqlite": _SQLiteWriter}
