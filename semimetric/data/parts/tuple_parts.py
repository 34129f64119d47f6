"""Blocks of pairs, triplets or quadruplets: read, checked under the name of their part, and surveyed before learning.

Tuples are arrays (n, size, n_features), row numbers (n, size) of given items, or tables: with columns ``left.NAME`` and
``right.NAME`` of every feature for pairs, ``i.``, ``j.``, ``l.`` for triplets and ``a.``, ``b.``, ``c.``, ``e.`` for
quadruplets, or columns ``left``, ``right``, ... that hold row numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers, Pairs, Quadruplets, Triplets, Tuples
from ..knots import sampled_rows
from .engine import Engine
from .row_parts import LazyRows

__all__ = [
    "TargetSpec",
    "Survey",
    "PartTuples",
    "TuplePart",
    "TupleTable",
    "count_tuples",
    "divided",
    "read_tuples",
    "survey_tuples",
    "tuple_columns",
]


@dataclass(frozen=True)
class TargetSpec:
    """What a learner asks of its tuples.

    Parameters
    ----------
    kind : type of Tuples
    judged : bool
        Whether y is +1 or -1, not a distance.
    least : float
        The smallest distance allowed.
    """

    kind: type[Tuples] = Pairs
    judged: bool = False
    least: float = -np.inf

    @property
    def called(self) -> str:
        """What the tuples are called: "pairs", for instance."""
        return self.kind.__name__.lower()

    @property
    def measured(self) -> bool:
        """Whether y is a distance."""
        return self.kind is Pairs and not self.judged

    def targets(self, y: Any) -> Any:
        """y as it is read: None for triplets, whose order says it all.

        Raises
        ------
        InputError
            If pairs have no y.
        """
        if self.kind is Pairs and y is None:
            wanted = "+1 or -1" if self.judged else "a distance"
            raise InputError(f"requires y to be passed, but the target y is None; give {wanted} for every pair")
        return None if self.kind is Triplets else y


@dataclass(frozen=True, eq=False)
class TuplePart:
    """Some tuples, what is said of them and their weights: rows to be read, or what was read; or names of their columns.

    ``y`` is None where the tuples say it all.
    """

    name: str
    tuples: Any
    y: Any = None
    weight: Any = None


@dataclass(frozen=True, eq=False)
class TupleTable:
    """What all parts have in common.

    Parameters
    ----------
    names : tuple of str
        Of the features.
    spec : TargetSpec
    items : LazyRows or None
        What row numbers are of.
    """

    names: tuple[str, ...]
    spec: TargetSpec
    items: LazyRows | None = None


class PartTuples(NamedTuple):
    """Tuples of weight > 0, their y (1 where there is none) and weights, and their rows of the items where these are given."""

    tuples: Tuples
    y: Floats
    weight: Floats
    rows: Integers | None

    @property
    def pairs(self) -> Pairs:
        """The tuples, which are pairs."""
        return Pairs(self.tuples.items, self.tuples.index)


def tuple_columns(kind: type[Tuples], names: Sequence[str], *, by_row: bool) -> list[str]:
    """Columns of a table of tuples."""
    return list(kind.sides) if by_row else [f"{side}.{name}" for side in kind.sides for name in names]


def read_tuples(part: TuplePart, table: TupleTable) -> PartTuples:
    """The tuples of a part.

    Raises
    ------
    InputError
        If they cannot be used; the message names the part.
    """
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
    if table.spec.kind is Quadruplets and (y < 0).any():  # the opposite is said: the pairs change places
        points = np.where((y < 0).reshape(-1, *[1] * (points.ndim - 1)), points[:, [2, 3, 0, 1]], points)
        y = np.ones(len(y))
    used = slice(None) if weight.all() else np.flatnonzero(weight)
    points, y, weight = points[used], y[used], weight[used]
    tuples, rows = _tuples(points, table)
    return PartTuples(tuples, y, weight, rows)


def _check_targets(y: Floats, spec: TargetSpec) -> None:
    wrong = ~np.isin(y, (-1.0, 1.0)) if spec.judged else y < spec.least
    if not wrong.any():
        return
    bad = int(np.flatnonzero(wrong)[0])
    if spec.judged:
        raise InputError(f"y[{bad}] is {y[bad]:g}; only +1 and -1 are known: recode it; DistanceRegressor takes distances")
    raise InputError(f"y[{bad}] is {y[bad]:g}; distances must be >= 0: correct them, or use axioms=None for signed targets")


def _points(frame: Any, table: TupleTable) -> NDArray:
    """Points (m, size, n_features), or row numbers (m, size)."""
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


def _tuples(points: NDArray, table: TupleTable) -> tuple[Tuples, Integers | None]:
    kind = table.spec.kind
    if table.items is None:
        items = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, points.shape[2])
        return kind(_finite(items, table), np.arange(len(items)).reshape(-1, kind.size)), None
    index, n = points.astype(np.int64, copy=False), len(table.items)
    if index.size and (index.min() < 0 or index.max() >= n):
        bad = int(np.flatnonzero((index < 0) | (index >= n))[0]) // kind.size
        raise InputError(
            f"{table.spec.called[:-1]} {bad} is {tuple(index[bad].tolist())}; row numbers between 0 and {n - 1} are required"
        )
    there, rows = table.items.view(), np.unique(index)
    if len(rows) > n // 2:  # most of the items: no need to number them anew
        return kind(_finite(np.ascontiguousarray(there, dtype=np.float64), table), index), rows
    items = np.ascontiguousarray(there[rows], dtype=np.float64)
    return kind(_finite(items, table), np.searchsorted(rows, index)), rows


def _finite(items: Floats, table: TupleTable) -> Floats:
    if not np.isfinite(items).all():
        row, feature = np.argwhere(~np.isfinite(items))[0]
        raise InputError(
            f"feature {table.names[feature]!r} of item {row} is {items[row, feature]}; finite numbers are required: fill them "
            f"in, or drop those {table.spec.called}"
        )
    return items


def _numbers(frame: Any, given: Any, name: str, n: int, one: str) -> Floats:
    """One finite number a tuple, from rows, an array or a column; ``one`` is what a tuple is called."""
    if isinstance(given, str):
        if given not in getattr(frame, "columns", ()):
            raise InputError(f"it has no column {given!r} for {name}; name another, or add it")
        given = frame[given]
    values = np.asarray(given.read() if isinstance(given, LazyRows) else given)
    if values.shape != (n,) or values.dtype.kind not in "iufb":
        raise InputError(
            f"{name} has shape {values.shape} and dtype {values.dtype}; one number for each of {n} {one}s is required"
        )
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{name}[{bad}] is {values[bad]}; finite numbers are required: correct it, or drop the {one}")
    return values


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass finds: counts, the mean target, and the items that knots are placed among.

    ``sizes`` are sums of weight times distance, and of weight times its square: means of either link.
    """

    counts: tuple[int, ...]
    sizes: tuple[float, float]
    total: float
    range: tuple[float, float]
    items: Floats

    def check_targets(self, spec: TargetSpec) -> None:
        """Refuse pairs whose distances, or judgements, are all the same."""
        if spec.kind is not Pairs or self.range[0] < self.range[1]:
            return
        if spec.judged:
            raise InputError(
                f"y has one class only, {self.range[0]:+g}; similar (+1) and dissimilar (-1) pairs are required: add some"
            )
        raise InputError(
            f"{sum(self.counts)} pairs with distances that are all equal ({self.range[0]:g}) hold nothing to learn; give "
            "at least two pairs at different distances"
        )


class _PartSurvey(NamedTuple):
    """Of one part."""

    sizes: Floats
    total: float
    range: Floats
    ends: Floats
    sample: Floats | None
    rows: Integers | None


def count_tuples(engine: Engine, parts: Sequence[TuplePart], table: TupleTable) -> tuple[list[TuplePart], tuple[int, ...]]:
    """The parts that have tuples of weight > 0, and how many: one pass, where only reading them tells.

    Raises
    ------
    InputError
        If there are none.
    """
    if all(part.weight is None and isinstance(part.tuples, LazyRows) for part in parts):
        return list(parts), tuple(len(p.tuples) for p in parts)
    found = [(p, n) for p, n in zip(parts, engine.each(_count, parts, table), strict=True) if n]
    if not found:
        raise InputError(f"sample_weight is 0 for all {table.spec.called}; some of weight > 0 are required: correct it")
    return [p for p, _ in found], tuple(n for _, n in found)


def survey_tuples(
    engine: Engine, parts: Sequence[TuplePart], counts: tuple[int, ...], table: TupleTable, random_state: int | None
) -> Survey:
    """One pass over the parts, of ``counts`` tuples each.

    The items are those that `Grid.fit` of all at once would place its knots among: the same sample, and the extremes.
    """
    size = table.spec.kind.size
    wanted = None if table.items is not None else sampled_rows(size * sum(counts), random_state)
    tasks = list(zip(parts, divided(wanted, [size * n for n in counts]), strict=True))
    found = list(engine.each(_surveyed, tasks, table))
    ends = np.array([f.ends for f in found])
    low, high = np.fmin.reduce(ends[:, 0]), np.fmax.reduce(ends[:, 1])
    if table.items is not None:
        rows = np.unique(np.concatenate([f.rows for f in found]))  # type: ignore[arg-type]
        chosen = sampled_rows(len(rows), random_state)
        items = np.asarray(table.items.view()[rows if chosen is None else rows[chosen]], dtype=np.float64)
        wanted = chosen
    else:
        items = np.concatenate([f.sample for f in found])  # type: ignore[arg-type]
        if wanted is not None:
            items = items[np.argsort(np.argsort(wanted))]  # in the order of the draw
    items = items if wanted is None else np.vstack([items, low, high])
    sums, reach = np.sum([f.sizes for f in found], axis=0), np.array([f.range for f in found])
    total, ends_of_y = sum(f.total for f in found), (float(reach[:, 0].min()), float(reach[:, 1].max()))
    return Survey(counts, (float(sums[0]), float(sums[1])), total, ends_of_y, items)


def divided(rows: Integers | None, counts: Sequence[int]) -> Iterator[Integers | None]:
    """Which of the rows are in each of parts of ``counts`` rows, numbered within it; None for all."""
    start, order = 0, None if rows is None else np.sort(rows)
    for n in counts:
        yield None if order is None else order[np.searchsorted(order, start) : np.searchsorted(order, start + n)] - start
        start += n


def _count(part: TuplePart, table: TupleTable) -> int:
    return len(read_tuples(part, table).y)


def _surveyed(task: tuple[TuplePart, Integers | None], table: TupleTable) -> _PartSurvey:
    part, wanted = task
    block = read_tuples(part, table)
    items = block.tuples.items
    used = items if block.rows is None or len(items) == len(block.rows) else items[block.rows]
    sample = None if block.rows is not None else (items if wanted is None else items[wanted])
    size = np.array([block.weight @ np.abs(block.y), block.weight @ (block.y * block.y)])
    ends = np.array([np.fmin.reduce(used), np.fmax.reduce(used)])
    return _PartSurvey(size, float(block.weight.sum()), np.array([block.y.min(), block.y.max()]), ends, sample, block.rows)
