"""What a first pass over parts of tuples finds: counts, the mean target, and the items that knots are placed among."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Pairs
from ..identical_items import DistinctItems
from .engine import Engine
from .row_parts import LazyRows
from .tuple_parts import TargetSpec, TuplePart, TupleTable, read_tuples

__all__ = ["Survey", "count_tuples", "survey_tuples"]


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
    """What one part, or several, add to a `Survey`.

    Attributes
    ----------
    sizes : ndarray of shape (2,)
    total : float
    range : ndarray of shape (2,)
        The least and the largest y.
    items : DistinctItems
        The items of the tuples.
    """

    sizes: Floats
    total: float
    range: Floats
    items: DistinctItems

    def plus(self, other: "_PartSurvey") -> "_PartSurvey":
        """What the parts of both add."""
        ends = np.array([min(self.range[0], other.range[0]), max(self.range[1], other.range[1])])
        return _PartSurvey(self.sizes + other.sizes, self.total + other.total, ends, self.items + other.items)


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


def survey_tuples(engine: Engine, parts: Sequence[TuplePart], counts: tuple[int, ...], table: TupleTable) -> Survey:
    """Read every part, of ``counts`` tuples each, once.

    The items of the survey are those that a fit to all tuples at once would place its knots among.
    """
    found = engine.total(_survey_part, _PartSurvey.plus, parts, table)
    low, high = found.range.tolist()
    return Survey(counts, (float(found.sizes[0]), float(found.sizes[1])), found.total, (low, high), found.items.knot_items)


def _count(part: TuplePart, table: TupleTable) -> int:
    return len(read_tuples(part, table).y)


def _survey_part(part: TuplePart, table: TupleTable) -> _PartSurvey:
    tuples, y, weight = read_tuples(part, table)
    with np.errstate(over="ignore"):  # distances so large are refused when their mean is known
        sizes = np.array([weight @ np.abs(y), weight @ (y * y)])
    return _PartSurvey(
        sizes=sizes,
        total=float(weight.sum()),
        range=np.array([y.min(), y.max()]),
        items=DistinctItems.of(tuples.used),
    )
