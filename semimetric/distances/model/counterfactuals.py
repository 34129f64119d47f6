"""Counterfactuals: what would have to change in an item for another to be near (Wachter, Mittelstadt & Russell 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import NotSupportedError
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.text import cell_text, html_table, text_table
from ..._foundation.types import Floats, Integers
from ..features.linear_directions import with_directions
from ..features.partitions import OUTERMOST


def breakpoints(d: Any, x: Floats, y: Floats, feature: int) -> Floats:
    """Return increasing values of a number or angle of x, where the sum of d(x, y) may bend; those of x and y too."""
    knots = d.embedding.grid.knots[feature]
    bends = d.directions.bends[feature] if d.directions and d.directions.bends else ()
    own = [v for v in (x[feature], y[feature]) if not np.isnan(v)]
    points = np.unique(np.concatenate([knots, bends, own, _jumps(d, feature)]))
    points = points[(points >= min(knots[0], *own, np.inf)) & (points <= max(knots[-1], *own, -np.inf))]
    if len(points) < 2:
        return points
    theirs = with_directions(d.directions, y[None])[0]
    linear = d.directions.uses[: d.directions.n_linear, feature] if d.directions else []
    moving = np.flatnonzero(np.append(np.arange(d.n_features) == feature, linear))
    points = _with_crossings(d, x, feature, points, theirs, moving)
    return _with_ties(d, x, feature, points, theirs, moving)


def _jumps(d: Any, feature: int) -> Floats:
    """Return thresholds of trees that ask for a feature, and the floats after them; on a circle also those of the next turn."""
    if d.directions is None or d.directions.partitions is None:
        return np.empty(0)
    thresholds = d.directions.partitions.thresholds(feature)
    thresholds = thresholds[np.abs(thresholds) < OUTERMOST]
    period = d.schema.features[feature].period
    if period and len(thresholds):  # from one turn to the next, places jump from the period to 0
        ends = [np.nextafter(period, 0.0)]
        thresholds = np.concatenate([thresholds, np.nextafter(thresholds + period, -np.inf), thresholds + period, ends])
    return np.concatenate([thresholds, np.nextafter(thresholds, np.inf)])


def _embedded(d: Any, x: Floats, feature: int, values: Floats) -> Floats:
    rows = np.tile(x, (len(values), 1))
    rows[:, feature] = values
    return with_directions(d.directions, rows)


def _with_crossings(d: Any, x: Floats, feature: int, points: Floats, theirs: Floats, moving: Integers) -> Floats:
    """Add the points where a moving embedded feature crosses one of its knots, or the value of the other item."""
    embedded = _embedded(d, x, feature, points)
    found = [points]
    for m in moving:
        levels = np.append(d.embedding.grid.knots[m], theirs[m])
        found.append(_roots(points, embedded[:-1, m, None] - levels, embedded[1:, m, None] - levels))
    return np.unique(np.concatenate(found))


def _with_ties(d: Any, x: Floats, feature: int, points: Floats, theirs: Floats, moving: Integers) -> Floats:
    """Add the points where the fraction of a moving embedded feature equals another of its group."""
    grid = d.embedding.grid
    middle = grid.locate(_embedded(d, x, feature, (points[:-1] + points[1:]) / 2))
    other = grid.locate(theirs[None]).fraction[0]
    low, high = (np.stack([k[np.minimum(c, len(k) - 1)] for k, c in zip(grid.knots, cells.T, strict=True)], axis=1)
                 for cells in (middle.lower, middle.upper))  # fmt: skip
    width = np.where(high > low, high - low, 1.0)
    embedded = np.where(np.isin(np.arange(len(theirs)), moving), _embedded(d, x, feature, points), np.nan)
    ends = [np.where(np.isnan(side), middle.fraction, (side - low) / width) for side in (embedded[:-1], embedded[1:])]
    found = [points]
    for group in d.embedding.groups:
        if np.isin(group, moving).any():
            for a, b in product(group, group):
                found.append(_roots(points, *(end[:, [a]] - other[b] for end in ends)))
            for a, b in combinations(group, 2):
                found.append(_roots(points, *(end[:, [a]] - end[:, [b]] for end in ends)))
    return np.unique(np.concatenate(found))


def _roots(points: Floats, left: Floats, right: Floats) -> Floats:
    row, column = np.nonzero(left * right < 0)
    share = left[row, column] / (left[row, column] - right[row, column])
    return points[row] + share * (points[row + 1] - points[row])


_INSIDE = 1e-9  # the share of an interval by which a value is taken beyond the point where the distance reaches its limit


class Change(NamedTuple):
    """One feature of an item takes another value, and the distance becomes ``distance``."""

    feature: str
    old: object  # number or text
    new: object
    distance: float


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The changes of an item, one after another, that bring it near another. Printed, a table.

    Attributes
    ----------
    changes : tuple of Change
        Empty if the item is near enough as it is, or no change of a feature lowers the distance.
    item : ndarray of shape (n_features,)
        The values of the item after all changes.
    before : float
        The distance as it is.
    distance : float
        The distance after all changes.
    within : float or None
        The distance that was asked for; None asked for the single change that lowers it most.
    """

    changes: tuple[Change, ...]
    item: NDArray[Any]
    before: float
    distance: float
    within: float | None

    @property
    def reached(self) -> bool:
        """True if the distance is at most ``within``, or has fallen if ``within`` is None."""
        return self.distance <= self.within if self.within is not None else self.distance < self.before

    def to_frame(self) -> Any:
        """Return the changes as a frame of pandas, with a row for each."""
        return optional("pandas").DataFrame(self.changes, columns=Change._fields)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distance after each change; see `semimetric.plotting.plot_counterfactual`."""
        return picture("plot_counterfactual")(self, ax)

    def __repr__(self) -> str:
        return "\n".join([self.title, *(text_table(self._rows(), left=1) if self.changes else [])])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), title=self.title)

    @property
    def title(self) -> str:
        """A line that says how far the distance falls, and by how many changes."""
        asked = (
            "" if self.within is None else f"; asked for: {self.within:.4g}{'' if self.reached else ', which is not reached'}"
        )
        count = f"{len(self.changes)} of {len(self.item)} features"
        return f"The distance falls from {self.before:.4g} to {self.distance:.4g} by {count}{asked}"

    def _rows(self) -> list[list[str]]:
        cells = [[cell_text(cell) for cell in change] for change in self.changes]
        return [["feature", "from", "to", "distance"], *cells]


class _Option(NamedTuple):
    """A value for a feature, the sum before the link that it leads to, and how far it is, in ranges of the feature."""

    feature: int
    value: float
    total: float
    move: float


def find_counterfactual(d: Any, x: Floats, y: Floats, within: float | None, features: Sequence[int]) -> Counterfactual:
    """Find the changes of ``features`` of the encoded x that make d(x, y) at most ``within``."""
    if d.base_distances or not d.embedding.continuous:
        raise NotSupportedError(
            "what would have to change is read off tables that are continuous, and this distance has base distances, or "
            'symmetry="swap"; fit without them'
        )
    limit = -np.inf if within is None else float(d.link_function.invert(np.array(within, dtype=np.float64)))
    changed, steps = _changed(d, x, y, limit, features)
    if within is not None and _totals(d, changed[None], y)[0] > limit:  # stuck: the values of y lead there in any case
        taken, to_y = _changed(d, x, y, limit, features, only_y=True)
        if _totals(d, taken[None], y)[0] <= limit:
            changed, steps = taken, to_y
    return _result(d, x, y, within, steps)


def _changed(
    d: Any, x: Floats, y: Floats, limit: float, features: Sequence[int], *, only_y: bool = False
) -> tuple[Floats, list[_Option]]:
    """Return the changed x and its changes: the least that reaches the limit, else the one with the least sum."""
    changed, steps, free = x.copy(), [], [int(f) for f in features if not (only_y and _same(x[f], y[f]))]
    total = _totals(d, changed[None], y)[0]
    while total > limit and free:
        options = [_best(d, changed, y, f, limit, only_y=only_y) for f in free]
        reaching = [option for option in options if option.total <= limit]
        best = min(reaching, key=lambda o: o.move) if reaching else min(options, key=lambda o: o.total)
        if not only_y and best.total >= total:
            break
        changed[best.feature], total = best.value, best.total
        free.remove(best.feature)
        steps.append(best)
        if limit == -np.inf:
            break
    return changed, steps


def _best(d: Any, x: Floats, y: Floats, f: int, limit: float, *, only_y: bool) -> _Option:
    """Return the value of feature f nearest to that of x that reaches the limit; if none does, the one with the least sum."""
    values = np.array([y[f]]) if only_y else _values(d, x, y, f)
    totals = _totals_along(d, x, y, f, values)
    if not only_y and d.schema.kinds[f] != "categorical":
        inside = _reaching(values, totals, limit)
        if len(inside):
            values, totals = np.append(values, inside), np.append(totals, _totals_along(d, x, y, f, inside))
    moves = _moves(d, f, x[f], values)
    order = np.lexsort((moves, totals)) if (totals > limit).all() else np.lexsort((moves, totals > limit))
    k = order[0]
    return _Option(f, float(_encoded(d, f, values)[k]), float(totals[k]), float(moves[k]))


def _values(d: Any, x: Floats, y: Floats, f: int) -> Floats:
    """Return the values of feature f among which the least distance is: all categories, or breakpoints, and the value of y."""
    if d.schema.kinds[f] == "categorical":
        return np.append(np.arange(len(d.schema.features[f].categories), dtype=np.float64), y[f])
    points = breakpoints(d, x, y, f)
    return np.append(points, np.nan) if np.isnan(y[f]) else points


def _reaching(values: Floats, totals: Floats, limit: float) -> Floats:
    """Return values just inside the points where the sum, which is affine between the values, crosses the limit."""
    left, right = totals[:-1] - limit, totals[1:] - limit
    (row,) = np.nonzero((left * right < 0) & np.isfinite(left) & ~np.isnan(values[1:]))
    share = left[row] / (left[row] - right[row])
    share = np.clip(share + np.where(right[row] < 0, _INSIDE, -_INSIDE), 0.0, 1.0)
    return values[row] + share * (values[row + 1] - values[row])


def _moves(d: Any, f: int, old: float, values: Floats) -> Floats:
    """Return the gaps of values to the old one in ranges of the feature; 1 for other categories and missing values."""
    feature, grid = d.schema.features[f], d.embedding.grid
    if feature.kind == "categorical":
        return np.array([0.0 if _same(v, old) else 1.0 for v in values])
    gap = np.abs(values - old)
    if feature.kind == "periodic":
        gap = np.minimum(gap, np.abs(feature.period - gap))
    return np.nan_to_num(gap / ((grid.high[f] - grid.low[f]) or 1.0), nan=1.0)


def _totals_along(d: Any, x: Floats, y: Floats, f: int, values: Floats) -> Floats:
    """Return the sums before the link for x with each of the values of feature f, shape (n_values,)."""
    rows = np.tile(x, (len(values), 1))
    rows[:, f] = _encoded(d, f, values)
    return _totals(d, rows, y)


def _encoded(d: Any, f: int, values: Floats) -> Floats:
    period = d.schema.features[f].period
    return np.mod(values, period) if period else values


def _totals(d: Any, rows: Floats, y: Floats) -> Floats:
    index = np.column_stack([np.arange(len(rows)), np.full(len(rows), len(rows))])
    distances: Floats = d.paired_by_index(np.vstack([rows, y]), index)
    totals: Floats = d.link_function.invert(distances)
    return totals


def _result(d: Any, x: Floats, y: Floats, within: float | None, steps: Sequence[_Option]) -> Counterfactual:
    rows = np.tile(x, (len(steps) + 1, 1))
    for k, step in enumerate(steps, 1):
        rows[k:, step.feature] = step.value
    periods = np.array([feature.period or np.inf for feature in d.schema.features])
    displayed = d.schema.display(np.where(np.isinf(periods), rows, np.mod(rows, periods)))
    totals = _totals(d, rows, y)
    distances = d.link_function.apply(totals)
    changes = tuple(
        Change(d.feature_names[f], displayed[0, f], displayed[k, f], float(distances[k])) for k, (f, *_) in enumerate(steps, 1)
    )
    return Counterfactual(changes, displayed[-1], float(distances[0]), float(distances[-1]), within)


def _same(a: float, b: float) -> bool:
    return bool(a == b or (np.isnan(a) and np.isnan(b)))
