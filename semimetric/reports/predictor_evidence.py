"""How good a model is on the items that were given: errors, which classes it takes for which, and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.types import Floats
from .predictors import Predictor
from .subjects import ReportItems
from .votes import share_rows

_MOST_CLASSES = 20  # of a table of confusions
_LEAST = 1e-6  # the probability of the true class in a logarithm
_UNKNOWN = "Whether the model was learned from these items is not known here; if it was, expect less on others."


def score_facts(predictor: Predictor, items: ReportItems | None, scores: Floats | None) -> list[dict[str, Any]]:
    """Tables of errors, confusions and calibration on items with classes or values; none without them."""
    if items is None or scores is None or items.targets is None or not len(items):
        return []
    if predictor.classes is None:
        return [_values(items, scores)] if items.target_name == "value" else []
    if items.target_name != "class":
        return []
    return _classes(predictor, predictor.classes, items, scores)


def _values(items: ReportItems, scores: Floats) -> dict[str, Any]:
    true, found = np.asarray(items.targets, dtype=np.float64), scores[:, 0]
    unit = float(max(np.abs(true).max(), np.abs(found).max())) or 1.0  # in which squares neither overflow nor all vanish
    off = np.abs(true / unit - found / unit)
    spread = float(((true / unit - (true / unit).mean()) ** 2).sum())
    rows: list[list[Any]] = [["items", len(true)]]
    if spread > 0:
        rows.append(["R²", 1.0 - float((off**2).sum()) / spread])
    rows.append(["mean absolute error", unit * float(off.mean())])
    rows.append(["root mean squared error", unit * float(np.sqrt((off**2).mean()))])
    rows.append(["largest error", unit * float(off.max())])
    return {"title": "Errors on the items", "head": [], "rows": rows, "notes": [_UNKNOWN]}


def _classes(predictor: Predictor, classes: tuple[str, ...], items: ReportItems, scores: Floats) -> list[dict[str, Any]]:
    number = {name: k for k, name in enumerate(classes)}
    true = np.array([number.get(name, -1) for name in items.targets.tolist()])
    found = predictor.codes(scores)
    right = true == found
    rows: list[list[Any]] = [["items", len(true)], ["accuracy", float(right.mean())]]
    present = np.unique(true)
    rows.append(["mean accuracy of the classes", float(np.mean([right[true == c].mean() for c in present]))])
    probabilities = predictor.probabilities(items.values)
    if probabilities is not None and (true >= 0).all():
        own = probabilities[np.arange(len(true)), true]
        rows.append(["log loss", float(-np.log(np.maximum(own, _LEAST)).mean())])
    notes = [_UNKNOWN]
    if (true < 0).any():
        notes.append(f"{int((true < 0).sum()):,} items are of a class that the model does not know, and count as wrong.")
    facts = [{"title": "Errors on the items", "head": [], "rows": rows, "notes": notes}]
    if len(classes) <= _MOST_CLASSES:
        facts.append(_confusions(classes, true, found))
    if probabilities is not None:
        facts.append(_calibration(probabilities, right))
    return facts


def _confusions(classes: tuple[str, ...], true: Any, found: Any) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for c, name in [*enumerate(classes), (-1, "(other)")]:
        counts = np.bincount(found[true == c], minlength=len(classes)).tolist()
        if c >= 0 or any(counts):
            rows.append([name, *counts])
    return {
        "title": "Which classes are taken for which", "head": ["class", *(f"taken for {name}" for name in classes)],
        "rows": rows, "notes": ["A row counts the items of a class."],
    }  # fmt: skip


def _calibration(probabilities: Floats, right: Any) -> dict[str, Any]:
    share = probabilities.max(axis=1)
    rows, apart = share_rows(share, right.astype(np.float64), np.ones(len(share)))
    return {
        "title": "Calibration", "head": ["largest probability", "items", "mean probability", "right"], "rows": rows,
        "notes": [f"Probabilities and what is right differ by {apart:.2%} on average (expected calibration error)."],
    }  # fmt: skip
