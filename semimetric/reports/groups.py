"""Groups of the items of a report, such as women and men, and how good predictions are for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.arrays import input_errors, is_missing, n_axes
from .._foundation.errors import InputError
from .._foundation.tables import without_columns
from .._foundation.text import cell_text
from .._foundation.types import Integers, distinct
from ..data.schema import column_number
from .quality import Assessed, bootstrap, figure, held_figure, log_losses, mean, wilson
from .subjects import ReportItems, Subject

_MOST_VALUES = 10  # of numbers or times, each of which is a group; more are cut at their quartiles
_MOST_GROUPS = 20  # of categories; smaller ones are one group together
_FEW = 30  # items of a group that say little
_MISSING = "(missing)"


class ItemGroups(NamedTuple):
    """A group for every item of a report."""

    name: str  # of the column
    groups: tuple[str, ...]
    codes: Integers  # (n_items,): the number of the group of each item
    notes: tuple[str, ...]  # sentences about the column


def read_groups(by: Any, X: Any, subject: Subject, given: ReportItems | None, items: ReportItems | None) -> list[ItemGroups]:
    """Return the groups that ``by`` asks for.

    It has names of columns, or is a column or a frame with a row for every item of X. Items are ``given``, or the model holds
    them; ``items`` are those of the report: where all given ones equal learned ones, the items of the model.
    """
    if by is None:
        return []
    if given is None or items is None:
        raise InputError("by= divides items, and there are none; give X, and y, which the model has not learned from")
    known = _known_to_model(subject) - {*subject.schema.dropped}
    return [_grouped(name, column, known=name in known) for name, column in _columns(by, X, subject, given, items)]


def without_groups(X: Any, by: Any, subject: Subject) -> Any:
    """Return a frame of items without the columns that ``by`` names and the model does not have."""
    if not hasattr(X, "columns") or not isinstance(by, str | list | tuple):
        return X
    asked = {by} if isinstance(by, str) else {name for name in by if isinstance(name, str)}
    return without_columns(X, [name for name in X.columns if name in asked - _known_to_model(subject)])


def _known_to_model(subject: Subject) -> set[str]:
    """Return the names of the columns that a model was fitted with, those that it left out too."""
    return {*subject.schema.names, *subject.schema.dropped, *getattr(subject.model, "feature_names_in_", ())}


def _columns(by: Any, X: Any, subject: Subject, given: ReportItems, items: ReportItems) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and the cells of every column, in the order of the items of the report."""
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else []
    known = list(dict.fromkeys([*names, *subject.schema.names]))
    if hasattr(by, "columns"):
        for name in by.columns:
            yield str(name), _aligned(by[name], str(name), given, items)
        return
    if isinstance(by, str | int) or (isinstance(by, list | tuple) and by and _are_names(by, known, len(given))):
        for asked in [by] if isinstance(by, str | int) else by:
            name = known[column_number(asked, known, "by")]
            if name in names:
                yield name, _aligned(X[X.columns[names.index(name)]], name, given, items)
            else:
                yield name, subject.schema.display(items.values)[:, subject.schema.names.index(name)]
        return
    name = str(getattr(by, "name", None) or "group")
    yield name, _aligned(by, name, given, items)


def _are_names(by: Sequence[Any], known: Sequence[str], n_items: int) -> bool:
    """Return True if a list names columns, and is no column of cells: of another length than the items, a text is a name."""
    return {*map(str, by)} <= {*known} or (len(by) != n_items and all(isinstance(name, str) for name in by))


def _aligned(column: Any, name: str, given: ReportItems, items: ReportItems) -> NDArray[Any]:
    """Return the cells of a column of the items that were given, if they are those of the report too."""
    with input_errors():
        cells = np.asarray(column)
    if n_axes(cells) != 1 or len(cells) != len(given):
        raise InputError(
            f"by= gives {name!r} of shape {cells.shape} for {len(given)} items; give the name of a column, or one cell for "
            "each item"
        )
    if given is not items and not np.array_equal(given.values, items.values, equal_nan=True):
        raise InputError(
            f"the items that were given all equal items that the model has learned from, in another order or number, so that "
            f"the cells of {name!r} cannot be theirs; give the items in the order of the fit, or new ones"
        )
    return cells


def _grouped(name: str, cells: NDArray[Any], *, known: bool) -> ItemGroups:
    """Return the groups of a column: its values, or quarters of many numbers or times."""
    notes = ["The model has this column." if known else "The model does not have this column."]
    missing = np.array([is_missing(cell) for cell in cells], dtype=bool)
    cells = _plain(cells, missing)
    if cells.dtype.kind in "iufM" and len(np.unique(cells[~missing])) > _MOST_VALUES:
        notes.append("Its values are cut at their quartiles among all items that were given.")
        groups, codes = _quarters(cells, missing)
    else:
        groups, codes = _values(cells, missing)
    return ItemGroups(name, groups, codes, tuple(notes))


def _plain(cells: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return cells of any type, which are all numbers or times, as an array of these."""
    there = [cell for cell in cells[~missing].tolist() if cells.dtype == object]
    if there and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in there):
        return np.array([np.nan if gone else cell for cell, gone in zip(cells, missing, strict=True)], dtype=np.float64)
    if there and all(isinstance(cell, datetime) for cell in there):
        times = [None if gone else cell.replace(tzinfo=None) for cell, gone in zip(cells, missing, strict=True)]
        return np.array(times, dtype="datetime64[us]")
    return cells


def _text(cell: Any) -> str:
    if isinstance(cell, np.datetime64):
        return cell_text(cell.astype("datetime64[us]").item())
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return cell_text(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def _quarters(cells: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[tuple[str, ...], Integers]:
    """Return quarters of numbers or times, whose bounds are values that occur, and a group of what is missing."""
    ordered = np.sort(cells[~missing])
    ends = np.unique(ordered[[int(np.ceil(q * len(ordered))) - 1 for q in (0.25, 0.5, 0.75)]])
    ends = ends[ends < ordered[-1]]
    codes = np.searchsorted(ends, cells, side="left").astype(np.int64)
    said = [_text(end) for end in ends]
    between = [f"above {low}, at most {high}" for low, high in pairwise(said)]
    names = [f"at most {said[0]}", *between, f"above {said[-1]}"]
    codes[missing] = len(names)
    return tuple(distinct([*names, *([_MISSING] if missing.any() else [])])), codes


def _values(cells: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[tuple[str, ...], Integers]:
    """Return a group for each value: numbers and times in their order, others from the most frequent one."""
    texts = np.array([_MISSING if gone else _text(cell) for cell, gone in zip(cells, missing, strict=True)], dtype=object)
    counts = Counter(texts[~missing].tolist())
    if cells.dtype.kind in "iufM":
        order = list(dict.fromkeys(map(_text, np.unique(cells[~missing]))))
    else:
        order = sorted(counts, key=lambda text: (-counts[text], text))
    names, rest = order[:_MOST_GROUPS], order[_MOST_GROUPS:]
    number = {text: k for k, text in enumerate(names)} | dict.fromkeys(rest, len(names))
    names += [f"({len(rest)} others)"] if rest else []
    codes = np.array([number.get(text, len(names)) for text in texts.tolist()], dtype=np.int64)
    codes[missing] = len(names)
    return tuple([*names, *([_MISSING] if missing.any() else [])]), codes


def group_facts(
    subject: Subject, assessed: Assessed | None, groups: Sequence[ItemGroups], quality: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Return a table of figures for each column of groups, as values of JSON; ``quality`` has those of all items."""
    if not groups:
        return []
    if not subject.predicts:
        raise InputError(
            f"by= divides the items by which predictions are assessed, and {type(subject.model).__name__} predicts nothing; "
            "leave by= out, or give a classifier or a regressor, such as SemimetricClassifier().fit(X, y)"
        )
    if assessed is None or quality is None or (assessed.rows < 0).any():
        raise InputError(
            "by= divides the items that the model is assessed by, and it is not known which these are; give X and y that it "
            "has not learned from"
        )
    known = {figure["name"]: figure for figure in quality["figures"]}
    return [_of_column(subject, assessed, column, known) for column in groups]


def _of_column(subject: Subject, assessed: Assessed, column: ItemGroups, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    codes = column.codes[assessed.rows]
    parts = [(name, codes == k) for k, name in enumerate(column.groups) if (codes == k).any()]
    whole = _row(subject, "all items", assessed)
    for each in whole["figures"]:  # bootstrap samples are drawn once, so that a page says one thing of all items
        each |= {end: known[each["name"]][end] for end in ("low", "high") if each["name"] in known}
    rows = [whole] + [_row(subject, name, assessed.take(np.flatnonzero(of))) for name, of in parts]
    k, few = len(parts), [row["name"] for row in rows[1:] if row["is_small"]]
    notes = list(column.notes)
    if few:
        shown = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
        notes.append(f"Fewer than {_FEW} items are in these groups, so that their figures say little: {shown}.")
    if k > 1:
        notes.append(
            f"Each interval is of its group alone, at 95 %. If the model is equally good for all {k} groups, one or more of "
            f"their intervals still miss this by chance, with a probability of about {1 - 0.95**k:.0%}. So look for gaps that "
            "are larger than the intervals, and test them on other items."
        )
    return {"by": column.name, "rows": rows, "notes": notes}


def _row(subject: Subject, name: str, part: Assessed) -> dict[str, Any]:
    n, rng = float(part.weight.sum()), np.random.default_rng(0)
    figures = _of_values(part, rng) if subject.classes is None else _of_classes(subject.classes, part, rng)
    return {"name": name, "n": round(n), "is_small": n < _FEW, "figures": figures}


def _of_classes(classes: Sequence[str], part: Assessed, rng: np.random.Generator) -> list[dict[str, Any]]:
    n = float(part.weight.sum())
    right = mean((part.predicted == part.truth).astype(np.float64), part.weight)
    figures = [figure("accuracy", right, wilson(right, n), is_share=True)]
    if part.probabilities is None:
        return figures
    known = part.truth >= 0
    losses, weight = log_losses(part), part.weight[known]
    ends = bootstrap(mean, rng, losses, weight) if len(losses) else None
    figures.append(figure("log loss", mean(losses, weight) if len(losses) else np.nan, ends))
    if len(classes) == 2:
        came = mean((part.truth == 1).astype(np.float64), part.weight)
        figures += [
            figure(f"mean probability of {classes[1]}", mean(part.probabilities[:, 1], part.weight), None, is_share=True),
            figure(f"share of {classes[1]}", came, wilson(came, n), is_share=True),
        ]
    return figures


def _of_values(part: Assessed, rng: np.random.Generator) -> list[dict[str, Any]]:
    off = np.asarray(part.predicted - part.truth, dtype=np.float64)
    size = np.abs(off)
    figures = [
        figure("mean absolute error", mean(size, part.weight), bootstrap(mean, rng, size, part.weight)),
        figure("mean of predicted less true", mean(off, part.weight), bootstrap(mean, rng, off, part.weight)),
    ]
    return figures + ([] if part.intervals is None else [held_figure(part)])
