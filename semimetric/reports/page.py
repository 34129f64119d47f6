"""Pages of reports: the items, importances and parts of a model, from which the scripts of a page compute again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import squareform
from sklearn.decomposition import KernelPCA
from sklearn.manifold import trustworthiness

from .._foundation.types import Floats
from ..distances.model.semimetric import Semimetric
from .facts import (
    axiom_facts,
    column_rows,
    columns_of_distance,
    columns_of_schema,
    counts_of_page,
    distance_tables,
    embedded,
    evidence_facts,
    middles_of,
    pair_facts,
    versions,
    vote_rule_of_page,
)
from .groups import ItemGroups
from .overview import overview_facts
from .quality import assess
from .report import Report
from .subjects import (
    DistanceSubject,
    Importances,
    MeasuredPairs,
    ReportItems,
    ScoringSubject,
    Subject,
    fact_table,
    packed,
    paired_distances,
    pairwise_distances,
)

_MOST_VALUES = 50_000  # of all items in a page
_FEWEST = 20  # items in a page, however many columns they have
_FEWEST_OF_MAP = 4  # items of which a map says anything
_NEAREST = 10  # whose share on the map says how far it can be trusted
_MOST_CALLED = 150  # items among which a base distance, which only Python computes, is called for every pair
_MOST_KNOWN = 20  # neighbors of each item that Python finds where the page cannot
_MOST_PAIRS = 2_000  # in the picture of measured distances
_STATIC = ("overview", "models", "data", "evidence")  # tabs that need no script but for pictures
_PROBES = 32  # random items or pairs on which a page checks that it computes as Python does


class Given(NamedTuple):
    """Items, pairs and words that a report is made from."""

    items: ReportItems | None  # that were given, or that the model holds
    learned: ReportItems | None  # that the model holds, where others were given
    measured: MeasuredPairs | None
    target: str  # the name of what is predicted; "" if it has none
    title: str
    tabs: tuple[tuple[str, str], ...]  # names and titles
    groups: Sequence[ItemGroups]  # columns by which the assessed items are divided


def distance_report(
    subject: DistanceSubject, given: Given, *, max_items: int, random_state: int | None, rng: np.random.Generator
) -> Report:
    """Return the report of a distance."""
    d, items, measured = subject.distance, given.items, given.measured
    drawn = None if measured is None else _drawn_pairs(measured, rng)
    most = _MOST_CALLED if d.base_distances else None
    shown, learned = _samples(given, d.n_features, max_items, rng, most)
    importances = subject.importances(items, rng)
    facts = _facts(subject, given, shown, importances, rng) | {
        "link": str(d.link), "axioms": axiom_facts(d, random_state), "evidence": list(evidence_facts(subject.model)),
        "pairs": None if measured is None or drawn is None else pair_facts(measured, len(drawn.measured)),
    }  # fmt: skip
    pairs = None if drawn is None else {"measured": packed(drawn.measured), "learned": packed(drawn.learned)}
    if not _computes(given):
        return Report(given.title, facts, _static_page(subject, given, facts) | {"pairs": pairs})
    found = embedded(d, items, rng)
    tables, why_not = distance_tables(d)
    if d.base_distances and not why_not:
        names = ", ".join(base.name for base in d.base_distances)
        why_not = f"It has base distances ({names}), which only Python computes, so this page shows no new distances."
    kinds: list[dict[str, Any]] = [{"kind": "table"}] * len(d.embedding.groups) + [
        {"kind": "base", "weight": b.weight} for b in d.base_distances
    ]
    kinds = [kind | {"tab": subject.tab_of(t)} for t, kind in enumerate([*kinds, {"kind": "outside"}])]
    terms = [{"name": name} | kind for name, kind in zip(d.terms, kinds, strict=True)]
    every = shown if learned is None else shown and shown.joined(learned)
    page = _static_page(subject, given, facts) | {
        "kind": subject.kind, "link": str(d.link), "symmetric": d.axioms.symmetric, "distance": tables,
        "whyNot": why_not, "terms": terms, "columns": columns_of_distance(d), "slopes": packed(d.epsilon),
        "middles": packed(middles_of(subject.grid, found)), "counts": counts_of_page(subject.grid, found),
        "shares": _importances_of_page(importances), "items": _items_of_page(shown, items, learned, given.learned),
        "neighbors": _known_neighbors(d, shown, learned) if why_not and shown is not None else None,
        "probes": None if why_not else _probes_of_distance(d, shown, rng), "pairs": pairs,
        "effects": _effects(subject), "order": _order(subject, facts["overview"]), "map": map_of_items(d, every),
        "votes": vote_rule_of_page(subject.model, learned or shown, given.learned or items),
    }  # fmt: skip
    return Report(given.title, facts, page)


def score_report(subject: ScoringSubject, given: Given, *, max_items: int, rng: np.random.Generator) -> Report:
    """Return the report of a model that scores items."""
    items = given.items
    began = time.perf_counter()
    values = None if items is None or not len(items) else items.values
    scores = None if values is None else subject.scores(values)
    seconds = time.perf_counter() - began
    shown = _sample(items, subject.n_features, max_items, rng)
    importances = subject.importances(items, rng)
    grid = subject.grid_with(items)
    evidence = [*subject.evidence(items), *evidence_facts(subject.model)]
    if items is not None and scores is not None:
        timed = [["items", len(items)], ["seconds to score them", seconds]]
        evidence.append(fact_table("Speed", [], timed, "In Python, on the machine that made the report."))
    facts = _facts(subject, given, shown, importances, rng) | {"evidence": evidence}
    if not _computes(given):
        return Report(given.title, facts, _static_page(subject, given, facts))
    columns = columns_of_schema(subject.schema, subject.schema.names, grid)
    page = _static_page(subject, given, facts) | {
        "kind": subject.kind, "columns": columns,
        "counts": counts_of_page(grid, values), "middles": packed(middles_of(grid, values)),
        "knots": packed(grid.flat), "knotCounts": grid.counts.tolist(), "shares": _importances_of_page(importances),
        "items": _items_of_page(shown, items), "outputs": list(subject.outputs),
        "classes": None if subject.classes is None else list(subject.classes), "probability": None,
        "probes": _probes_of_scores(subject, shown, rng),
    }  # fmt: skip
    return Report(given.title, facts, page | subject.to_page(items))


def _effects(subject: DistanceSubject) -> dict[str, Any] | None:
    """Return, by the number of a column, its values and the mean predictions there, with their ends among refits."""
    if subject.refits is None:
        return None
    outputs = [1] if len(subject.classes or ()) == 2 else range(len(subject.classes or (0,)))
    found = {}
    for f, values in subject.refits.values.items():
        effects = subject.refits.effects[f][:, :, list(outputs)]
        mean, bar = effects.mean(axis=0), 2 * effects.std(axis=0, ddof=1)
        ends = {"low": (mean - bar).T.tolist(), "high": (mean + bar).T.tolist()}
        found[str(f)] = {"values": values.tolist(), "mean": mean.T.tolist()} | ends
    names = ["value"] if subject.classes is None else [f"probability of {subject.classes[k]}" for k in outputs]
    return {"names": names, "n": len(subject.refits.losses), "columns": found}


def _order(subject: DistanceSubject, overview: dict[str, Any]) -> list[int] | None:
    """Return the columns in the order in which they matter, where refits say so."""
    if subject.refits is None:
        return None
    return [subject.schema.names.index(row["name"]) for row in overview["importances"]["rows"]]


def _computes(given: Given) -> bool:
    """Return True if a tab of the page computes with the model."""
    return any(name not in _STATIC for name, _ in given.tabs)


def _static_page(subject: Subject, given: Given, facts: dict[str, Any]) -> dict[str, Any]:
    """Return a page whose tabs show what Python has found, and compute nothing."""
    overview = facts["overview"]
    return {
        "kind": "static", "tabs": [list(tab) for tab in given.tabs], "nRaw": subject.n_features, "items": None, "whyNot": "",
        "nItems": facts["data"]["n_shown"], "pairs": None,
        "overview": {name: overview[name] for name in ("quality", "importances", "groups", "cases")},
    }  # fmt: skip


def _facts(
    subject: Subject, given: Given, shown: ReportItems | None, importances: Importances, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the facts that every report has; those of axioms, pairs and the link are None."""
    items, assessed = given.items, assess(subject, given.items, rng, in_groups=bool(given.groups))
    overview = overview_facts(
        subject, items, given.learned, importances, assessed, target=given.target, groups=given.groups, rng=rng
    )
    outside = None if items is None or not len(items) else subject.outside(items.values)
    grid = subject.grid_with(items) if isinstance(subject, ScoringSubject) else subject.grid
    return {
        "title": given.title, "head": _head(subject, items), "overview": overview, "summary": subject.summary,
        "terms": list(subject.terms), "link": None,
        "importances": {
            "note": importances.note, "terms": dict(zip(subject.terms, importances.terms.tolist(), strict=True)),
            "features": importances.by_column or None,
        },
        "axioms": None, "pairs": None, "evidence": [], "versions": versions(),
        "data": _data_facts(items, shown, outside, column_rows(subject.schema, grid, items, outside), subject.range_note),
    }  # fmt: skip


def _head(subject: Subject, items: ReportItems | None) -> str:
    n = "" if items is None else f", {len(items):,} item{'s' * (len(items) != 1)}"
    return f"{type(subject.model).__name__}: {subject.n_features:,} column{'s' * (subject.n_features != 1)}{n}"


def _samples(
    given: Given, n_features: int, max_items: int, rng: np.random.Generator, most: int | None
) -> tuple[ReportItems | None, ReportItems | None]:
    """Return the items of the page, and those among which their neighbors are, where these are others: half the room each."""
    if given.learned is None:
        return _sample(given.items, n_features, max_items, rng, most=most), None
    halves = max(max_items // 2, 1), None if most is None else most // 2
    shown, learned = (_sample(part, 2 * n_features, halves[0], rng, most=halves[1]) for part in (given.items, given.learned))
    return shown, learned


def _sample(
    items: ReportItems | None, n_features: int, max_items: int, rng: np.random.Generator, *, most: int | None = None
) -> ReportItems | None:
    """Return the items of the page: all, or so many that they fit into it, and at most ``most``."""
    if items is None or not len(items):
        return None
    fits = min(max_items, max(_MOST_VALUES // n_features, _FEWEST), len(items) if most is None else most)
    return items if len(items) <= fits else items.take(np.sort(rng.choice(len(items), fits, replace=False)))


def _data_facts(
    items: ReportItems | None,
    shown: ReportItems | None,
    outside: NDArray[np.bool_] | None,
    columns: list[dict[str, Any]],
    outside_note: str,
) -> dict[str, Any]:
    notes = []
    if items is None or shown is None:
        text = "The report was made without items."
    else:
        text = f"{len(items):,} items."
        if len(shown) < len(items):
            text += f" The page holds a random sample of {len(shown):,} of them; counts and medians below are of all."
        n_outside = 0 if outside is None else int(outside.any(axis=1).sum())
        if n_outside:
            notes.append(f"{n_outside:,} items lie outside the range of the fit in some column.")
    return {
        "n_shown": 0 if shown is None else len(shown), "how_many": text, "notes": notes, "has_items": items is not None,
        "columns": columns, "outside_note": outside_note,
    }  # fmt: skip


def _importances_of_page(importances: Importances) -> dict[str, Any]:
    of_columns = None if importances.features is None else importances.features.tolist()
    return {
        "terms": importances.terms.tolist(), "features": of_columns, "names": list(importances.names), "of": importances.of,
        "note": importances.note,
    }  # fmt: skip


def _items_of_page(
    shown: ReportItems | None,
    items: ReportItems | None,
    learned: ReportItems | None = None,
    every_learned: ReportItems | None = None,
) -> dict[str, Any] | None:
    """Return the items of the page, after which those come that were learned from, where these are others."""
    if shown is None or items is None:
        return None
    every, whole = (shown, items) if learned is None else (shown.joined(learned), every_learned)
    assert whole is not None
    targets = None if every.targets is None else every.targets.tolist()
    return {
        "n": len(every), "nGiven": len(shown), "names": list(every.names), "values": packed(every.values.ravel()),
        "targets": targets, "targetName": every.target_name, "sampled": len(learned or shown) < len(whole),
    }  # fmt: skip


def _drawn_pairs(measured: MeasuredPairs, rng: np.random.Generator) -> MeasuredPairs:
    n = len(measured.measured)
    if n <= _MOST_PAIRS:
        return measured
    rows = np.sort(rng.choice(n, _MOST_PAIRS, replace=False))
    return MeasuredPairs(measured.measured[rows], measured.learned[rows])


def _known_neighbors(d: Semimetric, shown: ReportItems, learned: ReportItems | None) -> dict[str, Any] | None:
    """Return the nearest of every item of the page, where only Python can find them."""
    among, first = (shown, 0) if learned is None else (learned, len(shown))
    k = min(_MOST_KNOWN, len(among) - (learned is None))
    if k < 1:
        return None
    distances = pairwise_distances(d, shown.values, among.values)
    if learned is None:
        np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :k]
    far = np.take_along_axis(distances, near, axis=1)
    return {"k": k, "items": packed((first + near).ravel()), "distances": packed(far.ravel())}


def _probes_of_distance(d: Semimetric, shown: ReportItems | None, rng: np.random.Generator) -> dict[str, Any]:
    """Return pairs of items, and of random vectors in and around the range, with their distances."""
    sides = [_random_vectors(d, rng), _random_vectors(d, rng)]
    if shown is not None:
        sides = [np.vstack([side, shown.values[rng.integers(0, len(shown), _PROBES)]]) for side in sides]
    distances = packed(paired_distances(d, *sides))
    return {"left": packed(sides[0].ravel()), "right": packed(sides[1].ravel()), "distances": distances}


def _random_vectors(d: Semimetric, rng: np.random.Generator) -> Floats:
    """Return encoded vectors, with some numbers outside the range, and some values missing where they may be."""
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


def _probes_of_scores(subject: ScoringSubject, shown: ReportItems | None, rng: np.random.Generator) -> dict[str, Any]:
    """Return items, and random ones in and around the range, with their scores and probabilities."""
    values = _random_items(subject, rng)
    if shown is not None:
        values = np.vstack([values, shown.values[rng.integers(0, len(shown), _PROBES)]])
    values = values[subject.settled(values)]
    probabilities = subject.probabilities(values) if len(values) else None
    return {
        "items": packed(values.ravel()), "scores": packed(subject.scores(values).ravel() if len(values) else []),
        "probabilities": None if probabilities is None else packed(probabilities.ravel()),
    }  # fmt: skip


def _random_items(subject: ScoringSubject, rng: np.random.Generator) -> Floats:
    grid = subject.grid
    beyond = 0.0 if subject.refuses_outside else 0.2
    out = grid.low + (grid.high - grid.low) * rng.uniform(-beyond, 1 + beyond, (_PROBES, grid.n_features))
    gone = np.array([feature.missing for feature in subject.schema.features])
    out[(rng.random(out.shape) < 0.1) & gone] = np.nan
    return out


def map_of_items(d: Semimetric, shown: ReportItems | None) -> dict[str, Any] | None:
    """Return coordinates of items by classical scaling (Torgerson 1952), and their trustworthiness.

    Distances are made symmetric. There is no map of fewer than four items, of items that coincide, or of negative distances.
    """
    if shown is None or len(shown) < _FEWEST_OF_MAP:
        return None
    between = _distances(d, shown.values)
    places = classical_scaling(between)
    if places is None or between.min() < 0:
        return None
    k = min(_NEAREST, (len(shown) - 1) // 2)
    trust = float(trustworthiness(between, places, n_neighbors=k, metric="precomputed"))
    return {"x": packed(places[:, 0]), "y": packed(places[:, 1]), "trust": trust, "k": k}


def _distances(d: Semimetric, values: Floats) -> Floats:
    """Return the distances of items, shape (n, n), as means of both directions; of base distances each pair is called once."""
    if d.base_distances and d.axioms.symmetric:
        return squareform(d.paired_by_index(values, np.column_stack(np.triu_indices(len(values), 1))), checks=False)
    found = d.distances_to(values)(values)
    np.fill_diagonal(found, 0.0)
    return found / 2 + found.T / 2


def classical_scaling(distances: Floats) -> Floats | None:
    """Return coordinates (n, 2) in units of the largest distance, each with its largest value positive; None for all 0."""
    largest = distances.max()
    if not largest > 0 or not np.isfinite(largest):
        return None
    gram = -0.5 * (distances / largest) ** 2
    found = KernelPCA(n_components=2, kernel="precomputed", eigen_solver="dense").fit_transform(gram)
    out = np.zeros((len(distances), 2))
    out[:, : found.shape[1]] = found
    out[~np.isfinite(out)] = 0.0
    far = np.abs(out).argmax(axis=0)
    return np.where(out[far, [0, 1]] < 0, -out, out)
