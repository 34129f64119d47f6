"""The report of a model that scores single items: a machine on an embedding, or a boundary made of pieces."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._foundation.types import Floats
from .column_facts import column_rows, columns_of_schema, counts_of_page, middles_of
from .evidence import evidence_facts, versions
from .packed_numbers import packed
from .page_items import data_facts, importances, items_of_page, sample, shares_of_page
from .predictor_evidence import score_facts
from .predictors import Predictor
from .report import Report
from .subjects import ReportItems

_PROBES = 32  # random items on which a page checks that its scores are those of Python


def predictor_report(
    predictor: Predictor, items: ReportItems | None, *, title: str, max_items: int, rng: np.random.Generator
) -> Report:
    """The report of a model that scores items."""
    began = time.perf_counter()
    scores = None if items is None or not len(items) else predictor.scores(items.values)
    seconds = time.perf_counter() - began
    shown = sample(items, predictor.n_features, max_items, rng)
    shares = predictor.shares(items)
    values = None if items is None or not len(items) else items.values
    outside = None if values is None else predictor.outside(values)
    schema, grid = predictor.schema, predictor.grid_with(items)
    evidence = [*score_facts(predictor, items, scores), *predictor.evidence(items), *evidence_facts(predictor.model)]
    if items is not None and scores is not None:
        timed = [["items", len(items)], ["seconds to score them", seconds]]
        evidence.append(
            {"title": "Speed", "head": [], "rows": timed, "notes": ["In Python, on the machine that made the report."]}
        )
    facts = {
        "title": title, "summary": predictor.summary, "terms": list(predictor.terms), "link": None,
        "importances": importances(shares, predictor.terms, schema.names), "axioms": None, "pairs": None,
        "evidence": evidence, "versions": versions(),
        "data": data_facts(items, shown, outside, column_rows(schema, grid, items, outside), predictor.range_note),
    }  # fmt: skip
    page = {
        "kind": predictor.kind, "nRaw": predictor.n_features, "columns": columns_of_schema(schema, schema.names, grid),
        "counts": counts_of_page(grid, values), "middles": packed(middles_of(grid, values)),
        "knots": packed(grid.flat), "knotCounts": grid.counts.tolist(), "shares": shares_of_page(shares, schema.names),
        "items": items_of_page(shown, items), "outputs": list(predictor.outputs),
        "classes": None if predictor.classes is None else list(predictor.classes), "probability": None, "whyNot": "",
        "probes": _probes(predictor, shown, rng),
    }  # fmt: skip
    return Report(title, facts, page | predictor.to_page(items))


def _probes(predictor: Predictor, shown: ReportItems | None, rng: np.random.Generator) -> dict[str, Any]:
    """Items, and random ones in and around the range, with their scores and probabilities."""
    values = _random_items(predictor, rng)
    if shown is not None:
        values = np.vstack([values, shown.values[rng.integers(0, len(shown), _PROBES)]])
    values = values[predictor.settled(values)]
    probabilities = predictor.probabilities(values) if len(values) else None
    return {
        "items": packed(values.ravel()), "scores": packed(predictor.scores(values).ravel() if len(values) else []),
        "probabilities": None if probabilities is None else packed(probabilities.ravel()),
    }  # fmt: skip


def _random_items(predictor: Predictor, rng: np.random.Generator) -> Floats:
    """Items whose values lie in and around the ranges, some of them missing where they may be."""
    grid = predictor.grid
    beyond = 0.0 if predictor.refuses_outside else 0.2
    out = grid.low + (grid.high - grid.low) * rng.uniform(-beyond, 1 + beyond, (_PROBES, grid.n_features))
    gone = np.array([feature.missing for feature in predictor.schema.features])
    out[(rng.random(out.shape) < 0.1) & gone] = np.nan
    return out
