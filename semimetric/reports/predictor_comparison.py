"""Several models that score items, side by side: how far they agree, what each goes by, and where they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats
from .predictor_evidence import score_facts
from .predictors import Predictor
from .report_subjects import items_of_predictor, subject_of
from .subjects import ReportItems

_MOST_ITEMS = 10  # on which two models differ most


def predictor_comparison(models: Mapping[str, Any], X: Any, y: Any, names: Sequence[object] | None) -> list[dict[str, Any]]:
    """Tables that put machines and boundaries side by side: agreement, shares of columns, errors, and items they differ on.

    Raises
    ------
    InputError
        If there are no items, a model does not take them, or is of another kind or has other classes.
    """
    found = [subject_of(model) for model in models.values()]
    every = [each for each in found if isinstance(each, Predictor)]
    if len(every) < len(found) or len({each.classes for each in every}) > 1:
        raise InputError(
            "models of one report are all distances, or all of them predict the same classes, or values; leave others out"
        )
    if X is None:
        raise InputError("models are compared on items, and none are given; give X")
    items = [items_of_predictor(each, X, y, names) for each in every]
    known = [each for each in items if each is not None and len(each)]
    if len(known) < len(every):
        raise InputError("models are compared on items, and X has none; give rows")
    scores = [each.scores(its.values) for each, its in zip(every, known, strict=True)]
    told = list(models)
    facts = [_agreement(told, every, scores), _importances(told, every, known), *_errors(told, every, known, scores)]
    return facts + [_differing(told, every, known[0], scores, of) for of in combinations(range(len(every)), 2)]


def _agreement(told: list[str], every: list[Predictor], scores: list[Floats]) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for a, b in combinations(range(len(every)), 2):
        if every[a].classes is not None:
            value = float((every[a].codes(scores[a]) == every[b].codes(scores[b])).mean())
        else:
            one, other = scores[a][:, 0], scores[b][:, 0]
            value = float(np.corrcoef(one, other)[0, 1]) if np.ptp(one) > 0 and np.ptp(other) > 0 else float("nan")
        rows.append([f"{told[a]} and {told[b]}", value])
    what = "correlation of the values" if every[0].classes is None else "share of items of the same class"
    return {"title": "Agreement", "head": ["models", what], "rows": rows, "notes": [f"On {len(scores[0]):,} items."]}


def _importances(told: list[str], every: list[Predictor], items: list[ReportItems]) -> dict[str, Any]:
    by_model = []
    for each, its in zip(every, items, strict=True):
        shares = each.shares(its).features
        by_model.append({} if shares is None else dict(zip(each.schema.names, shares.tolist(), strict=True)))
    columns = dict.fromkeys(name for found in by_model for name in found)
    rows: list[list[Any]] = [[name, *(found.get(name) for found in by_model)] for name in columns]
    rows.sort(key=lambda row: -max(value or 0.0 for value in row[1:]))
    return {
        "title": "Importances side by side", "head": ["column", *told], "rows": rows,
        "notes": ["Shares of what columns add to scores, or move them."],
    }  # fmt: skip


def _errors(told: list[str], every: list[Predictor], items: list[ReportItems], scores: list[Floats]) -> list[dict[str, Any]]:
    """The figures of every model on the items, if their classes or values are known."""
    found = [score_facts(*each) for each in zip(every, items, scores, strict=True)]
    if not all(found):
        return []
    by_model = [{row[0]: row[1] for row in facts[0]["rows"]} for facts in found]
    names = dict.fromkeys(name for each in by_model for name in each)
    rows: list[list[Any]] = [[name, *(each.get(name) for each in by_model)] for name in names]
    return [{"title": "Errors side by side", "head": ["", *told], "rows": rows, "notes": found[0][0]["notes"]}]


def _differing(
    told: list[str], every: list[Predictor], items: ReportItems, scores: list[Floats], of: tuple[int, int]
) -> dict[str, Any]:
    """The items on which two models differ most: given other classes, those of which both are surest; or other values."""
    a, b = of
    said: list[list[str]]
    if every[a].classes is None:
        apart = np.abs(scores[a][:, 0] - scores[b][:, 0])
        said = [[f"{value:.4g}" for value in scores[k][:, 0]] for k in of]
    else:
        codes = [every[k].codes(scores[k]) for k in of]
        sure = [every[k].margins(scores[k]) for k in of]
        apart = np.where(codes[0] != codes[1], np.minimum(*[s / (np.median(s) or 1.0) for s in sure]), 0.0)
        names = every[a].classes or ()
        said = [[f"{names[c]}, margin {m:.3g}" for c, m in zip(*each, strict=True)] for each in zip(codes, sure, strict=True)]
    order = [row for row in np.argsort(-apart, kind="stable").tolist() if apart[row] > 0][:_MOST_ITEMS]
    rows: list[list[Any]] = [[items.names[row], said[0][row], said[1][row]] for row in order]
    head = ["item", told[a], told[b]]
    if items.targets is not None:
        head.insert(1, f"{items.target_name} that was given")
        for row, number in zip(rows, order, strict=True):
            row.insert(1, items.targets[number] if items.target_name == "class" else float(items.targets[number]))
    notes = ["The margin is how far apart the scores of the two best classes are."] if every[a].classes is not None else []
    notes = notes if rows else ["They say the same of all items."]
    return {"title": f"Where {told[a]} and {told[b]} differ most", "head": head, "rows": rows, "notes": notes}
