"""Pairs, triplets or quadruplets in parts: how they are read and checked; errors name the part.

Tuples are arrays (n, size, n_features), row numbers (n, size) of given items, or tables. A table of pairs has columns
``left.NAME`` and ``right.NAME`` of every feature, or ``left`` and ``right`` that hold row numbers. The members of triplets are
``i``, ``j``, ``l``, those of quadruplets ``a``, ``b``, ``c``, ``e``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers, Pairs, Quadruplets, TripletTuples, Tuples
from ..identical_items import DistinctItems
from .engine import Engine
from .row_parts import LazyRows


@dataclass(frozen=True)
class TargetSpec:
    """The tuples that a learner takes, and what their targets y are."""

    kind: type[Tuples] = Pairs  # `Pairs`, `TripletTuples` or `Quadruplets`
    labeled: bool = False  # true if y is a label, +1 or -1, and not a distance
    least: float = -np.inf  # the smallest distance allowed, where y is a distance

    @property
    def called(self) -> str:
        """Name of the tuples: "pairs", for instance."""
        return self.kind.name

    @property
    def measured(self) -> bool:
        """True if the tuples are pairs with measured distances."""
        return self.kind is Pairs and not self.labeled

    def targets(self, y: Any) -> Any:
        """Return the targets to read: y, or None for triplets, which are comparisons by their order alone."""
        if self.kind is Pairs and y is None:
            wanted = "+1 or -1" if self.labeled else "a distance"
            raise InputError(f"requires y to be passed, but the target y is None; give {wanted} for every pair")
        return None if self.kind is TripletTuples else y


@dataclass(frozen=True, eq=False)
class TuplePart:
    """Some tuples with their targets and weights."""

    name: str  # what error messages call the part
    tuples: LazyRows | Any  # the tuples, or rows from which they are read
    # LazyRows, array, name of a column of the tuples, or None: the targets and weights; all 1 where they are None.
    y: Any = None
    weight: Any = None


@dataclass(frozen=True, eq=False)
class TupleTable:
    """Facts that all parts share."""

    names: tuple[str, ...]  # names of the features
    spec: TargetSpec
    items: LazyRows | None = None  # the items, if the tuples are row numbers


class PartTuples(NamedTuple):
    """The tuples of one part that have a weight > 0."""

    tuples: Tuples
    y: Floats  # (n_tuples,), the targets; 1 where none are given
    weight: Floats  # (n_tuples,)

    @property
    def pairs(self) -> Pairs:
        """The tuples as `Pairs`; only where they are pairs."""
        return Pairs(self.tuples.items, self.tuples.index)


def tuple_columns(kind: type[Tuples], names: Sequence[str], *, by_row: bool) -> list[str]:
    """Return names of the columns of a table of tuples: one a member for row numbers, else one a member and feature."""
    return list(kind.sides) if by_row else [f"{side}.{name}" for side in kind.sides for name in names]


def read_tuples(part: TuplePart, table: TupleTable) -> PartTuples:
    """Read the tuples of a part, their targets and weights, and check them."""
    try:
        return _checked(part, table)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(part.name) else f"{part.name}: {text}") from error


def _checked(part: TuplePart, table: TupleTable) -> PartTuples:
    frame = part.tuples.read() if isinstance(part.tuples, LazyRows) else part.tuples
    points, one = _points(frame, table), table.spec.called[:-1]
    if not len(points):
        raise InputError(f"it is empty; every part needs at least one {one}: leave it out, or repartition")
    y = np.ones(len(points)) if part.y is None else _numbers(frame, part.y, "y", len(points), one)
    weight = np.ones(len(points))
    if part.weight is not None:
        weight = _numbers(frame, part.weight, "sample_weight", len(points), one)
    _check_targets(y, table.spec)
    if (weight < 0).any():
        bad = int(np.flatnonzero(weight < 0)[0])
        raise InputError(f"sample_weight[{bad}] is {weight[bad]:g}; weights >= 0 are required: correct it")
    if table.spec.kind is Quadruplets and (y < 0).any():  # y = -1 is the opposite comparison: the pairs change places
        points = np.where((y < 0).reshape(-1, *[1] * (points.ndim - 1)), points[:, [2, 3, 0, 1]], points)
        y = np.ones(len(y))
    number = np.flatnonzero(weight)  # of the tuples that are used
    used = slice(None) if len(number) == len(weight) else number
    points, y, weight = points[used], y[used], weight[used]
    return PartTuples(_tuples(points, number, table), y, weight)


def _check_targets(y: Floats, spec: TargetSpec) -> None:
    wrong = ~np.isin(y, (-1.0, 1.0)) if spec.labeled else y < spec.least
    if not wrong.any():
        return
    bad = int(np.flatnonzero(wrong)[0])
    if spec.labeled:
        raise InputError(f"y[{bad}] is {y[bad]:g}; only +1 and -1 are known: recode it; DistanceRegressor takes distances")
    raise InputError(f"y[{bad}] is {y[bad]:g}; distances must be >= 0: correct them, or use axioms=None for signed targets")


def _points(frame: Any, table: TupleTable) -> NDArray[Any]:
    """Return the tuples as points of shape (m, size, n_features), or as row numbers of shape (m, size)."""
    by_row, n, size = table.items is not None, len(table.names), table.spec.kind.size
    if hasattr(frame, "columns"):
        columns = tuple_columns(table.spec.kind, table.names, by_row=by_row)
        missing = [c for c in columns if c not in frame.columns]
        if missing:
            raise InputError(f"it has no column {missing[0]!r}; all parts need {', '.join(columns[:4])}, ...: write it again")
        values = np.asarray(frame[columns])
        values = values if by_row else values.reshape(len(values), size, n)
    else:
        values = np.asarray(frame)
    shape = (len(values), size) if by_row else (len(values), size, n)
    if values.shape != shape or values.dtype.kind not in ("iu" if by_row else "iufb"):
        kind = "integers" if by_row else "numbers"
        raise InputError(
            f"{table.spec.called} have shape {values.shape} and dtype {values.dtype}; {kind} of shape {shape} are required"
        )
    return values


def _tuples(points: NDArray[Any], number: Integers, table: TupleTable) -> Tuples:
    """Return the tuples of points, or of rows of items; ``number``, shape (m,), are their numbers in the part."""
    kind, one = table.spec.kind, table.spec.called[:-1]
    if table.items is None:
        items = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, points.shape[2])
        _check_finite(items, table, lambda row: f"{one} {number[row // kind.size]}")
        return kind(items, np.arange(len(items)).reshape(-1, kind.size))
    index, n = points.astype(np.int64, copy=False), len(table.items)
    if index.size and (index.min() < 0 or index.max() >= n):
        bad = int(np.flatnonzero((index < 0) | (index >= n))[0]) // kind.size
        raise InputError(f"{one} {number[bad]} is {tuple(index[bad].tolist())}; row numbers between 0 and {n - 1} are required")
    all_items, rows = table.items.view(), np.unique(index)
    if len(rows) > n // 2:  # most of the items are used, so all are kept and none is numbered anew
        items = np.ascontiguousarray(all_items, dtype=np.float64)
        _check_finite(items, table, lambda row: f"item {row}")
        return kind(items, index)
    items = np.ascontiguousarray(all_items[rows], dtype=np.float64)
    _check_finite(items, table, lambda row: f"item {rows[row]}")
    return kind(items, np.searchsorted(rows, index))


def _check_finite(items: Floats, table: TupleTable, name: Callable[[int], str]) -> None:
    """Refuse values that are not finite; ``name`` is what a message calls the owner of a row of ``items``."""
    if not np.isfinite(items).all():
        row, feature = np.argwhere(~np.isfinite(items))[0].tolist()
        raise InputError(
            f"feature {table.names[feature]!r} of {name(row)} is {items[row, feature]}; finite numbers are required: fill them "
            f"in, or drop those {table.spec.called}"
        )


def _numbers(frame: Any, given: Any, name: str, n: int, one: str) -> Floats:
    """Return one finite number for each of n tuples, from rows, an array or a column; ``one`` is what messages call a tuple."""
    if isinstance(given, str):
        if given not in getattr(frame, "columns", ()):
            raise InputError(f"it has no column {given!r} for {name}; name another, or add it")
        given = frame[given]
    values = np.asarray(given.read() if isinstance(given, LazyRows) else given)
    if values.shape != (n,) or values.dtype.kind not in "iufb":
        raise InputError(
            f"{name} has shape {values.shape} and dtype {values.dtype}; one number for each of {n} {one}s is required"
        )
    values = np.ascontiguousarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{name}[{bad}] is {values[bad]}; finite numbers are required: correct it, or drop the {one}")
    return values


@dataclass(frozen=True, eq=False)
class TupleSample:
    """Column sums of tuples from a first pass over the parts."""

    counts: tuple[int, ...]  # how many tuples each part has
    # The sums of weight times abs(y) and of weight times y², from which the mean target of either link follows.
    sizes: tuple[float, float]
    total: float  # the sum of the weights
    range: tuple[float, float]  # the least and the largest y
    items: Floats  # (n, n_features), the items that knots are placed among

    def check_targets(self, spec: TargetSpec) -> None:
        """Refuse pairs whose distances or judgements are all the same."""
        if spec.kind is not Pairs or self.range[0] < self.range[1]:
            return
        if spec.labeled:
            raise InputError(
                f"y has one class only, {self.range[0]:+g}; similar (+1) and dissimilar (-1) pairs are required: add some"
            )
        raise InputError(
            f"{sum(self.counts)} pairs with distances that are all equal ({self.range[0]:g}) hold nothing to learn; give "
            "at least two pairs at different distances"
        )


class _PartSums(NamedTuple):
    """Column sums of one part or several."""

    sizes: Floats  # (2,)
    total: float
    range: Floats  # (2,), the least and the largest y
    items: DistinctItems  # the items of the tuples

    def plus(self, other: "_PartSums") -> "_PartSums":
        ends = np.array([min(self.range[0], other.range[0]), max(self.range[1], other.range[1])])
        return _PartSums(self.sizes + other.sizes, self.total + other.total, ends, self.items + other.items)


def count_tuples(engine: Engine, parts: Sequence[TuplePart], table: TupleTable) -> tuple[list[TuplePart], tuple[int, ...]]:
    """Return the parts that have tuples of weight > 0, and how many each has; they are read only where that is not known."""
    if all(part.weight is None and isinstance(part.tuples, LazyRows) for part in parts):
        return list(parts), tuple(len(p.tuples) for p in parts)
    found = [(p, n) for p, n in zip(parts, engine.each(_count, parts, table), strict=True) if n]
    if not found:
        raise InputError(f"sample_weight is 0 for all {table.spec.called}; some of weight > 0 are required: correct it")
    return [p for p, _ in found], tuple(n for _, n in found)


def sample_tuples(engine: Engine, parts: Sequence[TuplePart], counts: tuple[int, ...], table: TupleTable) -> TupleSample:
    """Read every part, of ``counts`` tuples each, once.

    The items are those that a fit to all tuples at once would place its knots among.
    """
    found = engine.total(_sums_of_part, _PartSums.plus, parts, table)
    low, high = found.range.tolist()
    return TupleSample(counts, (float(found.sizes[0]), float(found.sizes[1])), found.total, (low, high), found.items.knot_items)


def _count(part: TuplePart, table: TupleTable) -> int:
    return len(read_tuples(part, table).y)


def _sums_of_part(part: TuplePart, table: TupleTable) -> _PartSums:
    tuples, y, weight = read_tuples(part, table)
    with np.errstate(over="ignore"):  # distances so large are refused when their mean is known
        sizes = np.array([weight @ np.abs(y), weight @ (y * y)])
    return _PartSums(
        sizes=sizes, total=float(weight.sum()), range=np.array([y.min(), y.max()]), items=DistinctItems.of(tuples.used)
    )
