"""Coordinates whose L1 distance is the sum of a distance, or comes as near to it as cuts of its tables can.

A cut of the levels of a feature adds w [a in S] to one coordinate, and so w to the L1 distance of the levels that it parts.
Every L1 distance is a sum of cuts with weights >= 0 (Deza & Laurent 1997). Those of a number are its thresholds and its single
levels, those of an angle its arcs, and those of a category its single levels. Their weights solve a non-negative least squares
problem for every table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .._foundation.types import Floats
from .parts import DistanceParts, JointTable, StoredScale

_MOST_PAIRS = 20_000  # of grid points, whose values the weights of the cuts of one table follow
_MOST_ARCS = 400  # of a circle; of more, the single levels and the half circles are taken
_ROUNDING = 1e-12  # of the largest value of a table


class Coordinate(NamedTuple):
    """One coordinate, a function of the position of one feature, which goes straight between vertices."""

    feature: int  # among the embedded ones
    values: Floats  # (n_vertices,)
    below: float = 0.0  # slopes outside the range
    above: float = 0.0
    scale: StoredScale | None = None  # that it is

    @property
    def is_level(self) -> bool:
        """True if it is no scale, and all vertices but one have the value 0."""
        return self.scale is None and np.count_nonzero(self.values) == 1 and not self.below and not self.above


@dataclass(frozen=True)
class L1Coordinates:
    """The coordinates of a distance."""

    coordinates: tuple[Coordinate, ...]
    exact: bool  # True if their L1 distance is the sum of the distance before the link

    @classmethod
    def of(cls, parts: DistanceParts) -> L1Coordinates:
        """Return the coordinates of the parts of a distance: scales, the other rises, then levels and what tables need."""
        grid, slopes = parts.distance.embedding.grid, parts.distance.epsilon
        lines: dict[int, Floats] = {}
        cuts: list[Coordinate] = []
        exact = True
        for table in parts.tables:
            found, fits = _cuts_of(table, parts)
            exact &= fits
            for cut in found:
                if grid.extends[cut.feature] and not grid.missing[cut.feature] and _rises(cut.values):
                    lines[cut.feature] = lines.get(cut.feature, 0.0) + cut.values
                else:
                    cuts.append(cut)
        for f in parts.rises:
            lines.setdefault(f, np.zeros(len(grid.knots[f])))
        straight = [Coordinate(s.feature, s.values, *s.slopes, s) for s in parts.scales]
        straight += [Coordinate(f, np.asarray(values), *slopes[f]) for f, values in sorted(lines.items())]
        levels = [
            Coordinate(jump.feature, np.where(np.arange(n) == k, jump.value / 2, 0.0))
            for jump in parts.jumps
            # A value can have so many levels: of a tree its leaves, of a category also that of new ones.
            for n in [int(grid.sizes[jump.feature]) - (jump.feature >= parts.distance.n_features)]
            for k in range(n)
        ]
        return cls((*straight, *cuts, *levels), exact)

    @property
    def unit(self) -> float:
        """The factor by which single precision loses least: with it the typical leaf or category has the value 1."""
        levels = [float(c.values.max()) for c in self.coordinates if c.is_level and c.values.max() > 0]
        return 1.0 / float(np.median(levels)) if levels else 1.0


def _rises(values: Floats) -> bool:
    return bool((np.diff(values) >= 0).all())


def _cuts_of(table: JointTable, parts: DistanceParts) -> tuple[list[Coordinate], bool]:
    """Return the weighted cuts of a table, and True if their sum is the table."""
    grid = parts.distance.embedding.grid
    places = np.unravel_index(np.arange(len(table.values)), table.sizes)
    both = (table.values + table.values.T) / 2
    a, b = np.triu_indices(len(both), 1)
    chosen = np.arange(len(a))
    if len(a) > _MOST_PAIRS:
        chosen = np.sort(np.random.default_rng(0).choice(len(a), _MOST_PAIRS, replace=False))
    a, b = a[chosen], b[chosen]
    cuts = [
        (k, f, inside)
        for k, f in enumerate(table.features)
        for inside in _sets_of(grid.kinds[f], table.sizes[k], bool(grid.missing[f]))
    ]
    columns = np.array([inside[places[k][a]] != inside[places[k][b]] for k, _, inside in cuts], dtype=np.float64).T
    if not columns.size:
        return [], not both.any()
    weights, _ = nnls(columns, np.maximum(both[a, b], 0.0))
    most = float(np.abs(table.values).max(initial=0.0))
    fits = len(chosen) == len(both) * (len(both) - 1) // 2 and bool(
        (np.abs(columns @ weights - both[a, b]) <= _ROUNDING * most).all()
        and np.array_equal(table.values, table.values.T)
        and not np.diag(both).any()
    )
    chosen_cuts = [
        (weight, f, inside) for weight, (_, f, inside) in zip(weights, cuts, strict=True) if weight > _ROUNDING * most
    ]
    found = [Coordinate(f, weight * inside) for weight, f, inside in chosen_cuts]
    single = len(table.features) == 1  # a joint table between vertices is no sum of functions of single features
    return found, fits and single and all(_is_straight(cut, parts) for cut in found)


def _is_straight(cut: Coordinate, parts: DistanceParts) -> bool:
    """Return True if the coordinate of a cut is as exact between vertices as at them: if it never rises and falls."""
    grid, f = parts.distance.embedding.grid, cut.feature
    return grid.kinds[f] == "categorical" or (grid.kinds[f] == "numeric" and _rises(cut.values[: len(grid.knots[f])]))


def _sets_of(kind: str, size: int, missing: bool) -> Iterator[NDArray[np.bool_]]:
    """Yield the sets of levels that cuts part from the others, as indicators (size,)."""
    n = size - missing  # the knots
    levels = np.arange(size)
    if kind == "numeric":
        yield from (((levels >= k) & (levels < n)) for k in range(1, n))
        yield from ((levels >= k) for k in range(1, n) if missing)
        yield from ((levels == k) for k in range(1, size) if k != n - 1)
    elif kind == "periodic":
        turn = n - 1  # the last knot is the first again
        ring = np.where(levels < n, levels % turn, -1)
        arcs = list(combinations(range(turn), 2))
        if len(arcs) > _MOST_ARCS:
            arcs = [(k, k + 1) for k in range(turn - 1)] + [(k, k + turn // 2) for k in range(turn - turn // 2)]
        yield from (((ring >= i) & (ring < j)) for i, j in arcs)
        if missing:
            yield levels == n
    else:
        yield from ((levels == k) for k in range(size))
