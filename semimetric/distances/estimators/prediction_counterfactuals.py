"""The smallest changes of a row that change its prediction (Wachter, Mittelstadt & Russell 2018).

Changes are as small as the learned distance says.
Columns take values of fitted items only, so that each stays what the data know: whole numbers, categories, dates. Two searches
give candidates:

- towards items: of the nearest items with the wanted prediction, whose columns x takes but for those that are fixed, columns go
  back to the values of x one by one, the one first whose return brings the row nearest, while the prediction holds;
- one or two columns at a time take each of some values: quantiles of their fitted values, or frequent categories. The changes
  are tried in the order of their distances, until 20 sets of columns have one that suffices.

Each number that changed then moves back towards x through the fitted values between both, as far as the prediction holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import progress_bar
from ..._foundation.text import cell_text, html_table, number_text, text_table
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ...data.schema import Feature, Schema, by_column
from ..model.semimetric import Semimetric

_MOST_ITEMS = 10  # towards which a row changes
_MOST_PAIRS = 40_000  # changes of two columns
_MOST_SETS = 20  # of one or two columns, whose smallest changes are drawn back further
_MOST_VALUES = 32  # of a number, in changes of one or two columns
_BLOCK = 1_000
_STEPS = 64  # values between x and a change that are tried at a time
_MOST_SWEEPS = 5  # over the changed numbers


class ColumnChange(NamedTuple):
    """A column of a row takes another value."""

    feature: str
    old: object
    new: object
    contribution: float  # to the distance of the changed row, before the link


@dataclass(frozen=True, eq=False)
class PredictionCounterfactual:
    """The changes of a row that lead to another prediction, which was made of the changed row. Printed, a table.

    Attributes
    ----------
    changes : tuple of ColumnChange
        The columns that change.
    row : frame of pandas with one row, or ndarray of shape (1, n_features)
        The changed row, which `predict` takes; a frame where the fit had one.
    before, prediction : object
        The predicted class or value of the row as it is, and of the changed row.
    probability : float or None
        The probability of the class ``prediction`` for the changed row; None of values.
    distance : float
        The learned distance of the changed row to the row as it is.
    n_smaller : int
        The number of smaller changes that were predicted, of one column or two to values that a grid holds. None suffices.
    """

    changes: tuple[ColumnChange, ...]
    row: object
    before: object
    prediction: object
    probability: float | None
    distance: float
    n_smaller: int

    def to_frame(self) -> Any:
        """Return the changes as a frame of pandas, with a row for each."""
        return optional("pandas").DataFrame(self.changes, columns=ColumnChange._fields)

    def plot(self, ax: Axes | None = None, *, most: int = 12) -> Axes:
        """Draw a bar for each change, as long as its distance; see `semimetric.plotting.plot_prediction_counterfactual`."""
        return picture("plot_prediction_counterfactual")(self, ax, most=most)

    def __repr__(self) -> str:
        return "\n".join([self.title, *map(str.rstrip, text_table(self._rows(), left=1)), self._note])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), title=self.title, notes=[self._note])

    @property
    def title(self) -> str:
        """A line that says which prediction becomes which, and how many columns change."""
        chance = "" if self.probability is None else f" ({100 * self.probability:.3g} %)"
        n = len(self.changes)
        columns = f"{n} column{'' if n == 1 else 's'}"
        return f"{cell_text(self.before)} becomes {cell_text(self.prediction)}{chance} with {columns} changed"

    @property
    def _note(self) -> str:
        tried = f"Of the {self.n_smaller:,} smaller changes of one or two columns that were tried, none suffices."
        return f"Distance of the change: {number_text(self.distance)}. {tried if self.n_smaller else ''}".rstrip()

    def _rows(self) -> list[list[str]]:
        return [["column", "from", "to"], *([c.feature, cell_text(c.old), cell_text(c.new)] for c in self.changes)]


class FoundChange(NamedTuple):
    """A changed row whose prediction is the wanted one."""

    row: Floats  # (n_features,), encoded
    distance: float
    n_smaller: int


class FewColumns(NamedTuple):
    """Changes of one or two columns."""

    rows: list[Floats]  # the smallest of each set of columns that reaches the prediction
    tried: Floats  # increasing: the distances of all that were predicted


Reaches = Callable[[Floats], NDArray[np.bool_]]
"""True of the encoded rows (n, n_features) whose prediction is the wanted one."""


class ChangeSearch:
    """A search for the smallest changes of an encoded row that reach a prediction."""

    def __init__(
        self,
        d: Semimetric,
        x: Floats,  # (n_features,), encoded
        items: Floats,  # (n_items, n_features), encoded: fitted items, whose values columns may take
        reaches: Reaches,
        free: NDArray[np.bool_],  # (n_features,): the columns that may change
        allowed: Mapping[int, Callable[[Floats], NDArray[np.bool_]]],  # for some columns, the encoded values that they may have
    ) -> None:
        self.d = d
        self.x = x
        self.items = items
        self.reaches = reaches
        self.free = np.flatnonzero(free)
        self.values = {int(f): self._values_of(int(f), allowed.get(int(f))) for f in self.free}

    def _values_of(self, f: int, allowed: Callable[[Floats], NDArray[np.bool_]] | None) -> Floats:
        """Return the distinct fitted values that a column may take, increasing, without its own."""
        values = np.unique(self.items[:, f])
        values = values[~np.isnan(values) & (values != self.x[f])]
        return values if allowed is None else values[allowed(values)]

    def distances(self, rows: Floats) -> Floats:
        """Return the distances of rows (n, n_features) to x."""
        index = np.column_stack([np.full(len(rows), len(rows)), np.arange(len(rows))])
        return self.d.paired_by_index(np.vstack([rows, self.x]), index)

    def found(self, n: int) -> list[FoundChange]:
        """Return at most ``n`` changes, the smallest first, of which none changes all columns that one before it changes."""
        if not any(map(len, self.values.values())):
            return []
        few = self._few_columns()
        proposed = [*self._towards_items(), *few.rows]
        candidates = list(_counted(self._drawn_back, proposed, "changes drawn back"))
        if not candidates:
            return []
        rows = np.unique(np.array(candidates), axis=0)
        apart = self.distances(rows)
        chosen: list[FoundChange] = []
        for k in np.argsort(apart, kind="stable"):
            changed = self._changed(rows[k])
            if not any(set(self._changed(other.row)) <= set(changed) for other in chosen):
                n_smaller = 0 if chosen else int(np.searchsorted(few.tried, apart[k]))
                chosen.append(FoundChange(rows[k], float(apart[k]), n_smaller))
            if len(chosen) == n:
                break
        return chosen

    def _changed(self, row: Floats) -> list[int]:
        return [int(f) for f in self.free if row[f] != self.x[f] and not (np.isnan(row[f]) and np.isnan(self.x[f]))]

    def _towards_items(self) -> list[Floats]:
        """Return x with the free columns of the nearest items that then reach the prediction, without needless changes."""
        rows = np.tile(self.x, (len(self.items), 1))
        for f in self.free:
            rows[:, f] = np.where(np.isin(self.items[:, f], self.values[int(f)]), self.items[:, f], self.x[f])
        rows = np.unique(rows, axis=0)
        rows = rows[np.argsort(self.distances(rows), kind="stable")]
        found: list[Floats] = []
        for block in blocks(len(rows), _BLOCK):
            found += list(rows[block][self.reaches(rows[block])][: _MOST_ITEMS - len(found)])
            if len(found) == _MOST_ITEMS:
                break
        return list(_counted(self._without_needless, found, "changes towards items"))

    def _without_needless(self, row: Floats) -> Floats:
        """Return the row with columns set back to x one by one, while the prediction holds."""
        while changed := self._changed(row):
            options = np.tile(row, (len(changed), 1))
            options[np.arange(len(changed)), changed] = self.x[changed]
            options = options[self.reaches(options)]
            if not len(options):
                break
            row = options[self.distances(options).argmin()]
        return row

    def _few_columns(self) -> FewColumns:
        """Return changes of one or two columns that reach the prediction, the smallest of each of some sets of columns."""
        pairs = list(combinations(self.values, 2))
        side = int(np.sqrt(_MOST_PAIRS / max(len(pairs), 1)))
        grids = [self._grid((f,), _MOST_VALUES) for f in self.values]
        grids += [self._grid(pair, min(side, _MOST_VALUES)) for pair in pairs if side >= 2]
        rows = np.concatenate(grids)
        apart = self.distances(rows)
        order = np.argsort(apart, kind="stable")
        firsts: dict[tuple[int, ...], Floats] = {}
        with progress_bar(len(order), "changes of few columns", verbose=None, unit="change") as bar:
            for block in blocks(len(order), _BLOCK):
                some = rows[order[block]]
                for row in some[self.reaches(some)]:
                    firsts.setdefault(tuple(self._changed(row)), row)
                bar.update(len(some))
                if len(firsts) >= _MOST_SETS:
                    order = order[: block.stop]
                    break
        return FewColumns(list(firsts.values())[:_MOST_SETS], apart[order])

    def _grid(self, columns: tuple[int, ...], most: int) -> Floats:
        """Return x with all combinations of at most ``most`` values of some columns."""
        values = [self._some(f, most) for f in columns]
        grid = np.stack([side.ravel() for side in np.meshgrid(*values, indexing="ij")], axis=1)
        rows = np.tile(self.x, (len(grid), 1))
        rows[:, columns] = grid
        return rows

    def _some(self, f: int, most: int) -> Floats:
        """Return at most ``most`` of the values of a column: the most frequent categories, quantiles of numbers."""
        values = self.values[f]
        if len(values) <= most:
            return values
        held = self.items[np.isin(self.items[:, f], values), f]
        if self.d.schema.kinds[f] == "categorical":
            codes, counts = np.unique(held, return_counts=True)
            return np.sort(codes[np.argsort(-counts, kind="stable")[:most]])
        return np.unique(np.quantile(held, np.linspace(0.0, 1.0, most), method="inverted_cdf"))

    def _drawn_back(self, row: Floats) -> Floats:
        """Return the row with each changed number moved back towards x, as far as the prediction holds."""
        for _ in range(_MOST_SWEEPS):
            before = row
            for f in self._changed(row):
                if self.d.schema.kinds[f] != "categorical" and not np.isnan(self.x[f]):
                    row = self._nearer(self._nearer(row, f), f)
            if np.array_equal(row, before, equal_nan=True):
                break
        return self._without_needless(row)

    def _nearer(self, row: Floats, f: int) -> Floats:
        """Return the row with the value of one column nearest to x, of some between both, that reaches the prediction."""
        low, high = sorted((self.x[f], row[f]))
        between = self.values[f][(self.values[f] >= low) & (self.values[f] <= high)]
        if len(between) > _STEPS:
            # Of the values the ones next to the present change are dense, so that a second call can refine the first.
            at = np.linspace(0, len(between) - 1, _STEPS // 2).astype(int)
            present = int(np.searchsorted(between, row[f]))
            near = np.arange(max(present - _STEPS // 4, 0), min(present + _STEPS // 4, len(between)))
            between = between[np.union1d(at, near)]
        options = np.tile(row, (len(between), 1))
        options[:, f] = between
        options = options[self.reaches(options)]
        options = np.vstack([row, options])
        return options[self.distances(options).argmin()]


def _counted(function: Callable[[Floats], Floats], rows: Sequence[Floats], description: str) -> Iterator[Floats]:
    """Yield what a function makes of each row, with a bar."""
    with progress_bar(len(rows), description, verbose=None, unit="change") as bar:
        for row in rows:
            yield function(row)
            bar.update()


def allowed_values(
    within: Mapping[Any, Any] | None, schema: Schema
) -> dict[int, Callable[[Floats], NDArray[np.bool_]]]:  # fmt: skip
    """Return tests of encoded values from bounds of columns: (low, high) of numbers, or a list of values."""
    found: dict[int, Callable[[Floats], NDArray[np.bool_]]] = {}
    for f, given in by_column(within or {}, schema.names, "within").items():
        feature = schema.features[f]
        if feature.kind == "categorical":
            known = list(feature.categories)
            if isinstance(given, str) or not isinstance(given, Sequence) or any(value not in known for value in given):
                raise InputError(f"within={{{feature.name!r}: {given!r}}}: a list of its categories {known} is required")
        if feature.kind == "categorical" or isinstance(given, list):
            codes = feature.encode(np.array(given, dtype=object), "within")
            found[f] = lambda values, codes=codes: np.isin(values, codes)  # type: ignore[misc]
            continue
        low, high = _ends(feature, given)
        if feature.kind == "periodic":
            turn = feature.period
            low, high = max(low, 0.0) if np.isinf(low) else low, turn if np.isinf(high) else high
            start = low % turn
            arc = min(high - low, turn) if high >= low else (high - low) % turn
            found[f] = lambda values, start=start, arc=arc, turn=turn: (values - start) % turn <= arc  # type: ignore[misc]
            continue
        found[f] = lambda values, low=low, high=high: (values >= low) & (values <= high)  # type: ignore[misc]
    return found


def _ends(feature: Feature, given: Any) -> tuple[float, float]:
    """Return the encoded bounds of a number or a time."""
    if feature.time and isinstance(given, Sequence) and any(isinstance(end, int | float) for end in given):
        raise InputError(f'within={{{feature.name!r}: {given!r}}}: times are required, such as "2024-01-31"; None is no bound')
    ends = given if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2 else (np.inf, -np.inf)
    low, high = (
        infinite if end is None else _number(feature, end) for end, infinite in zip(ends, (-np.inf, np.inf), strict=True)
    )
    if not low <= high and feature.kind != "periodic":
        raise InputError(
            f"within={{{feature.name!r}: {given!r}}}: two values (low, high) in order, or a list of values, are required; "
            "None is no bound"
        )
    return low, high


def _number(feature: Feature, end: Any) -> float:
    """Return the encoded number or time; of a circle the number itself."""
    if feature.kind == "periodic" and not feature.time:
        return float(end)
    return float(feature.encode(np.array([end], dtype=object), "within")[0])


def changed_columns(before: Floats, after: Floats, d: Semimetric) -> tuple[ColumnChange, ...]:
    """Return the columns in which two encoded rows (n_features,) differ, with the values of both, and their parts of d."""
    old, new = d.schema.display(np.stack([before, after]))
    parts = d.contributions_of_encoded(before[None], after[None], by="features")[0]
    differ: Integers = np.flatnonzero((before != after) & ~(np.isnan(before) & np.isnan(after)))
    return tuple(ColumnChange(d.feature_names[f], old[f], new[f], float(parts[f])) for f in differ)
