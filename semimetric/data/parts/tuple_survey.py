"""What a first pass over parts of tuples finds: counts, the mean target, and the items that knots are placed among."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers, Pairs
from ..knots import sampled_rows
from .engine import Engine
from .row_parts import LazyRows
from .tuple_parts import TargetSpec, TuplePart, TupleTable, read_tuples

__all__ = ["Survey", "count_tuples", "divided", "survey_tuples"]


@dataclass(frozen=True, eq=False)
class Survey:
    """What a first pass over the parts finds.

    Parameters
    ----------
    counts : tuple of int
        How many tuples each part has.
    sizes : tuple of two floats
        The sums of weight times abs(y) and of weight times y², from which the mean target of either link follows.
    total : float
        The sum of the weights.
    range : tuple of two floats
        The least and the largest y.
    items : ndarray of shape (n, n_features)
        The items that knots are placed among.
    """

    counts: tuple[int, ...]
    sizes: tuple[float, float]
    total: float
    range: tuple[float, float]
    items: Floats

    def check_targets(self, spec: TargetSpec) -> None:
        """Refuse pairs whose distances or judgements are all the same."""
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
    """What one part adds to a `Survey`.

    Attributes
    ----------
    sizes : ndarray of shape (2,)
    total : float
    range : ndarray of shape (2,)
        The least and the largest y of the part.
    ends : ndarray of shape (2, n_features)
        The least and the largest value of each feature.
    sample : ndarray of shape (n, n_features) or None
        The items of the sample that are in this part; None where tuples are row numbers.
    rows : ndarray of int or None
        Row numbers of the items that the part uses; None where tuples hold their items themselves.
    """

    sizes: Floats
    total: float
    range: Floats
    ends: Floats
    sample: Floats | None
    rows: Integers | None


def count_tuples(engine: Engine, parts: Sequence[TuplePart], table: TupleTable) -> tuple[list[TuplePart], tuple[int, ...]]:
    """The parts that have tuples of weight > 0, and how many each has; they are read only where that is not known.

    Raises
    ------
    InputError
        If no tuple has a weight > 0.
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
    """Read every part, of ``counts`` tuples each, once.

    The items of the survey are those that `Grid.fit` of all items at once would place its knots among: the same sample, and the
    least and largest value of each feature.
    """
    size = table.spec.kind.size
    sampled = None if table.items is not None else sampled_rows(size * sum(counts), random_state)
    tasks = list(zip(parts, divided(sampled, [size * n for n in counts]), strict=True))
    surveys = list(engine.each(_survey_part, tasks, table))
    if table.items is not None:
        rows = np.unique(np.concatenate([s.rows for s in surveys if s.rows is not None]))
        sampled = sampled_rows(len(rows), random_state)
        items = np.asarray(table.items.view()[rows if sampled is None else rows[sampled]], dtype=np.float64)
    else:
        items = np.concatenate([s.sample for s in surveys if s.sample is not None])
        if sampled is not None:
            items = items[np.argsort(np.argsort(sampled))]  # in the order of the draw
    if sampled is not None:
        ends = np.array([s.ends for s in surveys])
        items = np.vstack([items, np.fmin.reduce(ends[:, 0]), np.fmax.reduce(ends[:, 1])])
    sizes, ranges = np.sum([s.sizes for s in surveys], axis=0), np.array([s.range for s in surveys])
    return Survey(
        counts,
        (float(sizes[0]), float(sizes[1])),
        sum(s.total for s in surveys),
        (float(ranges[:, 0].min()), float(ranges[:, 1].max())),
        items,
    )


def divided(rows: Integers | None, counts: Sequence[int]) -> Iterator[Integers | None]:
    """The row numbers that lie in each of parts of ``counts`` rows, numbered within the part; None for all rows."""
    start, order = 0, None if rows is None else np.sort(rows)
    for n in counts:
        yield None if order is None else order[np.searchsorted(order, start) : np.searchsorted(order, start + n)] - start
        start += n


def _count(part: TuplePart, table: TupleTable) -> int:
    return len(read_tuples(part, table).y)


def _survey_part(task: tuple[TuplePart, Integers | None], table: TupleTable) -> _PartSurvey:
    part, sampled = task
    tuples, y, weight, rows = read_tuples(part, table)
    items = tuples.items
    used = items if rows is None or len(items) == len(rows) else items[rows]
    sample = None if rows is not None else (items if sampled is None else items[sampled])
    with np.errstate(over="ignore"):  # distances so large are refused when their mean is known
        sizes = np.array([weight @ np.abs(y), weight @ (y * y)])
    return _PartSurvey(
        sizes=sizes,
        total=float(weight.sum()),
        range=np.array([y.min(), y.max()]),
        ends=np.array([np.fmin.reduce(used), np.fmax.reduce(used)]),
        sample=sample,
        rows=rows,
    )
