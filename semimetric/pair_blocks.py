"""Blocks of pairs with distances: read, checked under the name of their part, and surveyed before anything is learned.

Pairs are arrays (n, 2, n_features), row numbers (n, 2) of given items, or tables with the columns ``left.NAME`` and
``right.NAME`` of every feature, or ``left`` and ``right`` that hold row numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._errors import InputError
from ._types import Floats, Integers, Pairs
from .blocks import Rows
from .engines import Engine
from .knots import sampled_rows

__all__ = ["PairBlock", "PairPart", "PairTable", "Survey", "pair_columns", "read_pairs", "survey_of"]

_SIDES = ("left", "right")


@dataclass(frozen=True, eq=False)
class PairPart:
    """Some pairs, their distances and weights: rows to be read, or what was read; or names of columns of the pairs."""

    name: str
    pairs: Any
    y: Any
    weight: Any = None


@dataclass(frozen=True, eq=False)
class PairTable:
    """What all parts have in common.

    Parameters
    ----------
    names : tuple of str
        Of the features.
    least : float
        The smallest distance allowed.
    items : Rows or None
        What row numbers are of.
    """

    names: tuple[str, ...]
    least: float
    items: Rows | None = None


class PairBlock(NamedTuple):
    """Pairs of weight > 0, their distances and weights, and their rows of the items where these are given."""

    pairs: Pairs
    y: Floats
    weight: Floats
    rows: Integers | None


def pair_columns(names: Sequence[str], *, by_row: bool) -> list[str]:
    """Columns of a table of pairs."""
    return list(_SIDES) if by_row else [f"{side}.{name}" for side in _SIDES for name in names]


def read_pairs(part: PairPart, table: PairTable) -> PairBlock:
    """The pairs of a part.

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


def _checked(part: PairPart, table: PairTable) -> PairBlock:
    frame = part.pairs.read() if isinstance(part.pairs, Rows) else part.pairs
    points = _points(frame, table)
    if not len(points):
        raise InputError("it is empty; every part needs at least one pair: leave it out, or repartition")
    y = _numbers(frame, part.y, "y", len(points))
    weight = np.ones(len(points)) if part.weight is None else _numbers(frame, part.weight, "sample_weight", len(points))
    if (y < table.least).any():
        bad = int(np.flatnonzero(y < table.least)[0])
        raise InputError(f"y[{bad}] is {y[bad]:g}; distances must be >= 0: correct them, or use axioms=None for signed targets")
    if (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be non-negative and not all zero in a part; correct it, or leave the part out")
    used = slice(None) if weight.all() else np.flatnonzero(weight)
    points, y, weight = points[used], y[used], weight[used]
    pairs, rows = _pairs(points, table)
    return PairBlock(pairs, y, weight, rows)


def _points(frame: Any, table: PairTable) -> NDArray:
    """Points (m, 2, n_features), or row numbers (m, 2)."""
    by_row, n = table.items is not None, len(table.names)
    if hasattr(frame, "columns"):
        columns = pair_columns(table.names, by_row=by_row)
        missing = [c for c in columns if c not in frame.columns]
        if missing:
            raise InputError(f"it has no column {missing[0]!r}; all parts need {', '.join(columns[:4])}, ...: write it again")
        values = np.asarray(frame[columns])
        values = values if by_row else values.reshape(len(values), 2, n)
    else:
        values = np.asarray(frame)
    shape = (len(values), 2) if by_row else (len(values), 2, n)
    if values.shape != shape or values.dtype.kind not in ("iu" if by_row else "iufb"):
        kind = "integers" if by_row else "numbers"
        raise InputError(f"pairs have shape {values.shape} and dtype {values.dtype}; {kind} of shape {shape} are required")
    return values


def _pairs(points: NDArray, table: PairTable) -> tuple[Pairs, Integers | None]:
    if table.items is None:
        items = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, points.shape[2])
        return Pairs(_finite(items, table), np.arange(len(items)).reshape(-1, 2)), None
    index, n = points.astype(np.int64, copy=False), len(table.items)
    if index.min() < 0 or index.max() >= n:
        bad = int(np.flatnonzero((index < 0) | (index >= n))[0]) // 2
        raise InputError(f"pair {bad} is {tuple(index[bad].tolist())}; row numbers between 0 and {n - 1} are required")
    there, rows = table.items.view(), np.unique(index)
    if len(rows) > n // 2:  # most of the items: no need to number them anew
        return Pairs(_finite(np.ascontiguousarray(there, dtype=np.float64), table), index), rows
    items = np.ascontiguousarray(there[rows], dtype=np.float64)
    return Pairs(_finite(items, table), np.searchsorted(rows, index)), rows


def _finite(items: Floats, table: PairTable) -> Floats:
    if not np.isfinite(items).all():
        row, feature = np.argwhere(~np.isfinite(items))[0]
        raise InputError(
            f"feature {table.names[feature]!r} of item {row} is {items[row, feature]}; finite numbers are required: fill them "
            "in, or drop those pairs"
        )
    return items


def _numbers(frame: Any, given: Any, name: str, n: int) -> Floats:
    """One finite number a pair, from rows, an array or a column."""
    if isinstance(given, str):
        if given not in getattr(frame, "columns", ()):
            raise InputError(f"it has no column {given!r} for {name}; name another, or add it")
        given = frame[given]
    values = np.asarray(given.read() if isinstance(given, Rows) else given)
    if values.shape != (n,) or values.dtype.kind not in "iufb":
        raise InputError(
            f"{name} has shape {values.shape} and dtype {values.dtype}; one number for each of {n} pairs is required"
        )
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{name}[{bad}] is {values[bad]}; finite numbers are required: correct it, or drop the pair")
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

    def check_varied(self) -> None:
        """Refuse distances that are all the same."""
        if self.range[0] == self.range[1]:
            raise InputError(
                f"{sum(self.counts)} pairs with distances that are all equal ({self.range[0]:g}) hold nothing to learn; give "
                "at least two pairs at different distances"
            )


class _Found(NamedTuple):
    """Of one part."""

    sizes: Floats
    total: float
    range: Floats
    ends: Floats
    sample: Floats | None
    rows: Integers | None


def survey_of(engine: Engine, parts: Sequence[PairPart], table: PairTable, random_state: int | None) -> Survey:
    """One pass over the parts; another before it where only reading them tells how many pairs they have.

    The items are those that `Grid.fit` of all at once would place its knots among: the same sample, and the extremes.
    """
    known = all(part.weight is None and isinstance(part.pairs, Rows) for part in parts)
    counts = tuple(len(p.pairs) for p in parts) if known else tuple(engine.each(_count, parts, table))
    wanted = None if table.items is not None else sampled_rows(2 * sum(counts), random_state)
    tasks = list(zip(parts, _divided(wanted, counts), strict=True))
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
    size, reach = np.sum([f.sizes for f in found], axis=0), np.array([f.range for f in found])
    total, ends_of_y = sum(f.total for f in found), (float(reach[:, 0].min()), float(reach[:, 1].max()))
    return Survey(counts, (float(size[0]), float(size[1])), total, ends_of_y, items)


def _divided(rows: Integers | None, counts: Sequence[int]) -> Iterator[Integers | None]:
    """The wanted items of each part, numbered within it; None for all."""
    start, order = 0, None if rows is None else np.sort(rows)
    for n in counts:
        inside = None if order is None else order[np.searchsorted(order, start) : np.searchsorted(order, start + 2 * n)] - start
        yield inside
        start += 2 * n


def _count(part: PairPart, table: PairTable) -> int:
    return len(read_pairs(part, table).y)


def _surveyed(task: tuple[PairPart, Integers | None], table: PairTable) -> _Found:
    part, wanted = task
    block = read_pairs(part, table)
    items = block.pairs.items
    used = items if block.rows is None or len(items) == len(block.rows) else items[block.rows]
    sample = None if block.rows is not None else (items if wanted is None else items[wanted])
    size = np.array([block.weight @ np.abs(block.y), block.weight @ (block.y * block.y)])
    ends = np.array([np.fmin.reduce(used), np.fmax.reduce(used)])
    return _Found(size, float(block.weight.sum()), np.array([block.y.min(), block.y.max()]), ends, sample, block.rows)
