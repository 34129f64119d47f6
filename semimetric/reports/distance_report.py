"""The report of a distance: what is known of it, and all that its page needs to compute distances again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.types import Floats
from ..distances.model.semimetric import Semimetric
from .column_facts import column_rows, columns_of_distance, counts_of_page, embedded, middles_of
from .evidence import axiom_facts, evidence_facts, pair_facts, versions
from .item_map import map_of_items
from .model_tables import distance_tables
from .packed_numbers import packed
from .page_items import data_facts, importances, items_of_page, sample, shares_of_page
from .report import Report
from .shares import Shares, shares_of
from .subjects import MeasuredPairs, ReportItems
from .votes import vote_rule_of_page

_MOST_CALLED = 150  # items among which a base distance, a Python function, is called for every pair
_MOST_KNOWN = 20  # neighbours of each item that Python finds where the page cannot
_MOST_PAIRS = 2_000  # in the picture of measured distances
_PROBES = 32  # pairs on which a page checks that its distances are those of Python
_OUTSIDE = (
    "Missing and outside count items. Outside the range of the fit the distance of numbers goes on at a constant slope; a "
    "category that was not in the fit is at the mean distance of the others."
)


def distance_report(
    model: Any,
    d: Semimetric,
    items: ReportItems | None,
    measured: MeasuredPairs | None,
    *,
    title: str,
    max_items: int,
    random_state: int | None,
    rng: np.random.Generator,
) -> Report:
    """The report of the distance ``d`` of a model."""
    shown = sample(items, d.n_features, max_items, rng, most=_MOST_CALLED if d.base_distances else None)
    found = embedded(d, items, rng)
    shares = shares_of(model, d, None if items is None else items.values, rng)
    drawn = None if measured is None else _drawn_pairs(measured, rng)
    names = d.contribution_names("features") if shares.features is not None else ()
    outside = None if items is None else d.out_of_range(items.values)
    facts = {
        "title": title, "summary": repr(d).splitlines(), "terms": list(d.terms), "link": str(d.link),
        "importances": importances(shares, d.terms, names), "axioms": axiom_facts(d, random_state),
        "pairs": None if measured is None or drawn is None else pair_facts(measured, len(drawn.measured)),
        "evidence": evidence_facts(model), "versions": versions(),
        "data": data_facts(items, shown, outside, column_rows(d.schema, d.embedding.grid, items, outside), _OUTSIDE),
    }  # fmt: skip
    page = _page(d, shown, items, found, shares, drawn, rng) | {
        "map": map_of_items(d, shown), "votes": vote_rule_of_page(model, shown, items),
    }  # fmt: skip
    return Report(title, facts, page)


def _drawn_pairs(measured: MeasuredPairs, rng: np.random.Generator) -> MeasuredPairs:
    n = len(measured.measured)
    if n <= _MOST_PAIRS:
        return measured
    rows = np.sort(rng.choice(n, _MOST_PAIRS, replace=False))
    return MeasuredPairs(measured.measured[rows], measured.learned[rows])


def _page(
    d: Semimetric,
    shown: ReportItems | None,
    items: ReportItems | None,
    found: Floats | None,
    shares: Shares,
    drawn: MeasuredPairs | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """What the scripts of the page read."""
    tables, why_not = distance_tables(d)
    if d.base_distances and not why_not:
        names = ", ".join(base.name for base in d.base_distances)
        why_not = f"It has base distances ({names}), which are Python functions, so this page cannot compute distances."
    n_groups = len(d.embedding.groups)
    kinds = [{"kind": "table"}] * n_groups + [{"kind": "base", "weight": base.weight} for base in d.base_distances]
    terms = [{"name": name} | kind for name, kind in zip(d.terms, [*kinds, {"kind": "outside"}], strict=True)]
    return {
        "kind": "distance", "nRaw": d.n_features, "link": str(d.link), "symmetric": d.axioms.symmetric, "distance": tables,
        "whyNot": why_not, "terms": terms, "columns": columns_of_distance(d), "slopes": packed(d.epsilon),
        "middles": packed(middles_of(d.embedding.grid, found)), "counts": counts_of_page(d.embedding.grid, found),
        "shares": shares_of_page(shares, d.contribution_names("features")), "items": items_of_page(shown, items),
        "neighbors": _known_neighbors(d, shown) if why_not and shown is not None else None,
        "probes": None if why_not else _probes(d, shown, rng),
        "pairs": None if drawn is None else {"measured": packed(drawn.measured), "learned": packed(drawn.learned)},
    }  # fmt: skip


def _known_neighbors(d: Semimetric, shown: ReportItems) -> dict[str, Any] | None:
    """The nearest of every item of the page, where only Python can find them."""
    n = len(shown)
    k = min(_MOST_KNOWN, n - 1)
    if k < 1:
        return None
    every = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    distances = d.paired_by_index(shown.values, np.column_stack(every)).reshape(n, n)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return {"k": k, "items": packed(near.ravel()), "distances": packed(np.take_along_axis(distances, near, axis=1).ravel())}


def _probes(d: Semimetric, shown: ReportItems | None, rng: np.random.Generator) -> dict[str, Any]:
    """Pairs of items, and of random vectors in and around the range, with their distances."""
    sides = [_random_vectors(d, rng), _random_vectors(d, rng)]
    if shown is not None:
        sides = [np.vstack([side, shown.values[rng.integers(0, len(shown), _PROBES)]]) for side in sides]
    rows = np.arange(len(sides[0]))
    distances = d.paired_by_index(np.vstack(sides), np.column_stack([rows, len(rows) + rows]))
    return {"left": packed(sides[0].ravel()), "right": packed(sides[1].ravel()), "distances": packed(distances)}


def _random_vectors(d: Semimetric, rng: np.random.Generator) -> Floats:
    """Encoded vectors, some of whose numbers lie outside the range, and some of whose values are missing where they may be."""
    grid, out = d.embedding.grid, np.empty((_PROBES, d.n_features))
    for f, feature in enumerate(d.schema.features):
        low, high = grid.low[f], grid.high[f]
        if feature.kind == "categorical":
            out[:, f] = rng.integers(0, len(feature.categories) + 1, _PROBES)
        elif feature.kind == "periodic":
            out[:, f] = rng.random(_PROBES) * feature.period
        else:
            out[:, f] = low + (high - low) * rng.uniform(-0.2, 1.2, _PROBES)
        if feature.missing:
            out[rng.random(_PROBES) < 0.1, f] = np.nan
    return out
