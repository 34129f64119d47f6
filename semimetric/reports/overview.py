"""The first tab of a report, for a person who decides: what is predicted, how well, by which columns, and typical items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._foundation.arrays import is_missing
from .._foundation.text import cell_text
from .._foundation.types import Floats, Integers
from ..data.schema import Schema
from ..distances.estimators.votes import LearnedNeighbors
from ..distances.learning.errors import DistanceErrors
from .groups import ItemGroups, group_facts
from .machine import MachineSubject
from .quality import LEVEL, Assessed, quality_facts
from .subjects import Bars, DistanceSubject, Importances, Predictions, ReportItems, Subject

_MOST_PARTS = 3  # of a distance, that a neighbor names
_NEIGHBORS = 3  # of a typical item
_MOST_CLASSES = 20  # that a table lists
_KINDS = {"numeric": "number", "categorical": "category", "periodic": "angle"}


def overview_facts(
    subject: Subject,
    items: ReportItems | None,
    learned: ReportItems | None,
    shown: Importances,
    assessed: Assessed | None,
    *,
    target: str,
    groups: Sequence[ItemGroups],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the facts of the first tab, as values of JSON.

    The ``items`` were given, or the model holds them; ``learned`` are those that it holds where others were given. The assessed
    items are divided by ``groups``, and ``target`` names what is predicted.
    """
    held = items if items is not None and items.are_own else learned
    bars = subject.importance_bars(items, shown, rng)
    quality = quality_facts(subject, assessed, rng)
    return {
        "about": list(_about(subject, items, held, target)), "target": target or subject.predicts,
        "classes": _classes(subject, items, held), "quality": quality,
        "errors": _errors_of_distances(subject), "importances": None if bars is None else _importances(subject, bars),
        "groups": group_facts(subject, assessed, groups, quality), "cases": list(_cases(subject, items, held, assessed)),
    }  # fmt: skip


def _about(subject: Subject, items: ReportItems | None, held: ReportItems | None, target: str) -> Iterator[str]:
    called = f", {target!r}," if target else ""
    if subject.classes is not None:
        yield f"It predicts the class of an item{called} as one of {len(subject.classes)}."
    elif subject.predicts:
        yield f"It predicts the value of an item{called} as a number."
    yield subject.about
    of = columns_in_words(subject.schema)
    yield f"It learned from {len(held):,} items of {of}." if held is not None and subject.predicts else f"An item has {of}."
    if held is not None and held.target_name == "value" and held.targets is not None and subject.predicts == "value":
        low, middle, high = (f"{value:,.4g}" for value in np.quantile(held.targets.astype(np.float64), [0.0, 0.5, 1.0]))
        yield f"Their values are from {low} to {high}, and half of them are below {middle}."
    if items is not None and not items.are_own:
        yield f"{len(items):,} items were given for this report{_newness(items)}."


def _newness(items: ReportItems) -> str:
    if items.seen is None:
        return ""
    old = int(items.seen.sum())
    if not old:
        return "; the model has learned from none of them"
    return (
        "; the model has learned from all of them"
        if old == len(items)
        else f"; {old:,} of them equal items that it learned from"
    )


def columns_in_words(schema: Schema) -> str:
    """Return the number of columns by their kinds, such as "3 columns: 2 numbers and 1 category"."""
    counts = Counter("time" if feature.time else _KINDS[feature.kind] for feature in schema.features)
    plural = {"category": "categories"}
    kinds = [f"{n:,} {name if n == 1 else plural.get(name, name + 's')}" for name, n in counts.items()]
    total = len(schema.features)
    kinds = [", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds
    return f"{total:,} column{'s' * (total != 1)}: {' and '.join(kinds)}"


def _classes(subject: Subject, items: ReportItems | None, held: ReportItems | None) -> dict[str, Any] | None:
    """Return the counts and shares of the classes, among the items learned from or else those that were given."""
    known = held if held is not None and held.targets is not None else items
    if known is None or known.targets is None or known.target_name != "class":
        return None
    counts = Counter(known.targets.tolist())
    names = list(subject.classes or sorted(counts))
    rows = [[name, counts.get(name, 0), counts.get(name, 0) / len(known)] for name in names]
    rows.sort(key=lambda row: -row[1])
    return {"of": "items learned from" if known is held else "items given", "rows": rows[:_MOST_CLASSES],
            "n_others": max(len(rows) - _MOST_CLASSES, 0)}  # fmt: skip


def _errors_of_distances(subject: Subject) -> str:
    """Return a sentence on how well a distance meets measured ones; "" where nothing is known."""
    source = getattr(subject.model, "learner_", subject.model)
    error = getattr(source, "error_", None)
    if subject.predicts or not isinstance(error, DistanceErrors) or not error.n_pairs:
        return ""
    return (
        f"On {error.n_pairs:,} pairs of items that it has not learned from, half of its distances are off by less than "
        f"{error.median:.1%}, and nine of ten by less than {error.quantile_90:.1%}."
    )


def _importances(subject: Subject, bars: Bars) -> dict[str, Any]:
    order = np.argsort(-bars.shares, kind="stable")
    names, known = subject.schema.names, np.isfinite(bars.errors)
    rows = [
        {
            "name": names[f], "share": float(bars.shares[f]),
            "low": float(bars.shares[f] - bars.errors[f]) if known[f] else None,
            "high": float(bars.shares[f] + bars.errors[f]) if known[f] else None,
        }
        for f in order.tolist()
    ]  # fmt: skip
    return {"rows": rows, "shares_are": bars.shares_are, "bars_are": bars.bars_are}


def _cases(
    subject: Subject, items: ReportItems | None, held: ReportItems | None, assessed: Assessed | None
) -> Iterator[dict[str, Any]]:
    """Yield three items, each with what is predicted and why: of those that the model is assessed by, else of those given."""
    if items is None or not subject.predicts or not len(items):
        return
    truth: Any = None
    if assessed is not None and (assessed.rows >= 0).all():
        rows, found, truth = assessed.rows, Predictions(assessed.predicted, assessed.probabilities), assessed.truth
    elif items.are_own:
        return  # who votes for itself is no example
    else:
        rows = np.arange(min(len(items), 500))
        found = subject.predicted(items.values[rows])
    chosen = _typical_values(found, truth) if subject.classes is None else _typical_classes(subject.classes, found, truth)
    for k, why in chosen:
        yield _case(subject, items, held, int(rows[k]), why, found, truth, k)


def _typical_classes(classes: Sequence[str], found: Predictions, truth: Any) -> list[tuple[int, str]]:
    """Return rows with the reason for them: the most frequent class, the least sure, and the surest error or another class."""
    n = len(found.values)
    right = np.ones(n, dtype=bool) if truth is None else found.values == truth
    sure = np.ones(n) if found.probabilities is None else found.probabilities.max(axis=1)
    chosen: list[tuple[int, str]] = []

    def middle(of: Any) -> int | None:
        rows = np.flatnonzero(of & ~np.isin(np.arange(n), [k for k, _ in chosen]))
        return int(rows[np.argsort(sure[rows], kind="stable")[len(rows) // 2]]) if len(rows) else None

    counts = np.bincount(found.values, minlength=len(classes))
    by_count = np.argsort(-counts, kind="stable").tolist()
    means = "in the middle by its probability" if found.probabilities is not None else "one of many"
    known = " and rightly so" if truth is not None else ""
    if (k := middle(right & (found.values == by_count[0]))) is not None:
        chosen.append((k, f"A typical item that is predicted to be {classes[by_count[0]]}{known}: {means}."))
    if found.probabilities is not None and found.probabilities.shape[1] > 1:
        two = np.sort(found.probabilities, axis=1)[:, -2:]
        gap = two[:, 1] - two[:, 0]
        gap[[k for k, _ in chosen]] = np.inf
        if np.isfinite(gap).any():
            chosen.append((int(gap.argmin()), "The item of which the model is the least sure."))
    wrong = np.flatnonzero(~right & ~np.isin(np.arange(n), [k for k, _ in chosen]))
    if len(wrong):
        chosen.append((int(wrong[sure[wrong].argmax()]), "The error of which the model is the surest."))
    elif len(by_count) > 1 and (k := middle(right & (found.values == by_count[1]))) is not None:
        chosen.append((k, f"A typical item that is predicted to be {classes[by_count[1]]}{known}: {means}."))
    return chosen


def _typical_values(found: Predictions, truth: Any) -> list[tuple[int, str]]:
    """Return rows with the reason for them: in the middle, the highest, and the lowest or the largest error."""
    order = np.argsort(found.values, kind="stable")
    chosen = [(int(order[len(order) // 2]), "The item in the middle by its prediction.")]
    chosen.append((int(order[-1]), "The item with the highest prediction."))
    if truth is None:
        chosen.append((int(order[0]), "The item with the lowest prediction."))
    else:
        chosen.append((int(np.abs(found.values - truth).argmax()), "The item with the largest error."))
    return list({k: (k, why) for k, why in reversed(chosen)}.values())[::-1]


def _case(
    subject: Subject, items: ReportItems, held: ReportItems | None, row: int, why: str, found: Predictions, truth: Any, k: int
) -> dict[str, Any]:
    values = items.values[[row]]
    probabilities = None
    predicted: Any
    true: Any
    if subject.classes is None:
        predicted, true = float(found.values[k]), None if truth is None else float(truth[k])
    else:
        predicted = subject.classes[int(found.values[k])]
        true = None if truth is None else subject.classes[int(truth[k])] if truth[k] >= 0 else "(another class)"
        if found.probabilities is not None:
            ordered = np.argsort(-found.probabilities[k], kind="stable")[:4].tolist()
            probabilities = [[subject.classes[c], float(found.probabilities[k, c])] for c in ordered]
    return {
        "name": items.names[row], "why": why, "predicted": predicted, "interval": _interval(subject, items, values),
        "probabilities": probabilities, "true": true,
        "contributions": _contributions(subject, items, values, found.values[k]),
        "neighbors": _neighbors(subject, held, values, row if items.are_own else None),
    }  # fmt: skip


def _interval(subject: Subject, items: ReportItems, values: Floats) -> list[float] | None:
    """Return the ends of the interval of a value that is predicted for a new item; None for others."""
    ends = None if items.are_own else subject.intervals(values, LEVEL)
    return None if ends is None else [float(end[0]) for end in ends]


def _contributions(subject: Subject, items: ReportItems, values: Floats, predicted: Any) -> dict[str, Any] | None:
    """Return signed contributions of columns as rows (column, value, contribution), with what they sum up to."""
    number = None if subject.classes is None else int(predicted)
    if isinstance(subject, DistanceSubject) and isinstance(subject.predictor, LearnedNeighbors):
        found = subject.predictor.explain_encoded(values, number)
        base, adds, what = found.base_score, found.contributions, found.score_name
        base_is = f"mean of {found.n_background} items"
        what += ", learned with this item," if items.are_own else ""
    elif isinstance(subject, MachineSubject):
        base, adds = subject.contributions(values, items, number)
        what, base_is = "value" if number is None else "score", "mean of the items"
    else:
        return None
    shown = subject.schema.display(values)[0].tolist()
    rows = [[name, _cell(value), float(part)] for name, value, part in zip(subject.schema.names, shown, adds, strict=True)]
    of = what if subject.classes is None or number is None else f"{what} of {subject.classes[number]}"
    return {"of": of, "base": float(base), "base_is": base_is, "rows": sorted(rows, key=lambda row: -abs(row[2]))}


def _cell(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_missing(value):
        return value
    return cell_text(value)


def _neighbors(subject: Subject, held: ReportItems | None, values: Floats, own: int | None) -> list[list[Any]]:
    """Return the nearest items that were learned from: name, class or value, distance, and what separates them."""
    if not isinstance(subject, DistanceSubject) or subject.predictor is None or held is None or held.targets is None:
        return []
    d, n = subject.distance, min(_NEIGHBORS, len(held) - (own is not None))
    if n < 1:
        return []
    exclude = None if own is None else np.array([own])
    found = subject.predictor.index_.search_encoded(values, n, exclude=exclude)
    rows: Integers = found.ids[0].astype(np.int64)
    parts = d.contributions_of_encoded(np.repeat(values, len(rows), axis=0), held.values[rows], by="features")
    names = d.contribution_names("features")
    return [
        [held.names[row], held.targets[row] if held.target_name == "class" else float(held.targets[row]), far,
         _separating(part, names)]
        for row, far, part in zip(rows.tolist(), found.distances[0].tolist(), parts, strict=True)
    ]  # fmt: skip


def _separating(parts: Floats, names: Sequence[str]) -> str:
    total = float(parts.sum())
    order = [f for f in np.argsort(-parts, kind="stable")[:_MOST_PARTS].tolist() if parts[f] > 0]
    return (
        ", ".join(f"{names[f]} {parts[f] / total:.0%}" for f in order) if total > 0 else "nothing: it is equal in every column"
    )
