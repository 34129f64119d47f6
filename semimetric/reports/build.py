"""Making a report of a distance: what is known of it, and all that its page needs to compute distances again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_count
from ..distances.semimetric import Semimetric
from .column_facts import column_rows, columns_of_page, counts_of_page, embedded, middles_of
from .comparison import comparison_facts, named_models
from .evidence import axiom_facts, evidence_facts, pair_facts, versions
from .item_map import map_of_items
from .model_tables import distance_tables
from .packed_numbers import packed
from .report import Report
from .shares import Shares, shares_of
from .subjects import MeasuredPairs, ReportItems, distance_of, read_items, read_pairs
from .votes import vote_rule_of_page

__all__ = ["report"]

_MOST_VALUES = 50_000  # of all items in a page
_FEWEST = 20  # items in a page, however many columns they have
_MOST_CALLED = 150  # items among which a base distance, a Python function, is called for every pair
_MOST_KNOWN = 20  # neighbours of each item that Python finds where the page cannot
_MOST_PAIRS = 2_000  # in the picture of measured distances
_PROBES = 32  # pairs on which a page checks that its distances are those of Python


def report(
    model: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    distances: ArrayLike | None = None,
    *,
    names: Sequence[object] | None = None,
    title: str | None = None,
    max_items: int = 1_000,
    random_state: int | None = 0,
) -> Report:
    """A report of a distance: one page to open offline, send, print and play with.

    The page holds the whole distance, so that it computes distances of items again while their values are changed. It shows the
    table of every term and where the data lie, the parts of a distance, neighbours, axioms and how each is proved, and what was
    compared to choose the model. Base distances are Python functions, so a page does not compute distances that have some.

    Parameters
    ----------
    model : Semimetric, fitted learner, classifier, regressor or index, or a list or a dict of several
        What has learned the distance says more of it. Of several models the report is that of the first, and one more tab
        compares them all: how far their distances agree on pairs of the items, which columns each goes by, and the pairs that
        they see most differently. A dict says what they are called.
    X : array-like of shape (n_items, n_features), frame or None
        Items, whose names are those of the rows of a frame of pandas. None takes the items of a model that holds some.
    y : array-like of shape (n_items,) or None
        The classes or the values of the items.
    pairs : array-like of shape (n_pairs, 2) or (n_pairs, 2, n_features), or None
        Pairs with measured distances, as row numbers of X or as vectors.
    distances : array-like of shape (n_pairs,) or None
        The measured distances of the pairs.
    names : sequence of shape (n_items,) or None
        What the items are called.
    title : str or None
        The title of the page.
    max_items : int, default 1000
        The most items in the page. Of more, and of items that have more than 50,000 values together, a sample is drawn, and the
        page says so; what the data tab counts is counted of all.
    random_state : int or None, default 0
        The seed of the samples.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If there is no distance, or items, names, classes or pairs do not fit it or one another; or if several models are given
        and fewer than three items.

    Examples
    --------
    >>> import numpy as np
    >>> import semimetric as sm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 2))
    >>> index = rng.integers(0, 60, (300, 2))
    >>> y = np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 3.0]
    >>> model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X).fit(index, y)
    >>> found = sm.report(model, X, pairs=index, distances=y, title="Two columns")
    >>> found
    Report 'Two columns': 2 columns, 60 items; write_html(path), open(), to_markdown() or to_json()
    >>> shares = found.facts["importances"]["features"]
    >>> bool(shares["x1"] > shares["x0"])
    True
    """
    check_count("max_items", max_items)
    models = named_models(model)
    model = next(iter(models.values()))
    d = distance_of(model)
    items = read_items(model, d, X, y, names)
    measured = read_pairs(d, items, pairs, distances)
    rng = np.random.default_rng(random_state)
    shown = _sample(d, items, max_items, rng)
    found = embedded(d, items, rng)
    shares = shares_of(model, d, None if items is None else items.values, rng)
    drawn = None if measured is None else _drawn_pairs(measured, rng)
    called = title if title is not None else f"{type(model).__name__} of {d.n_features} column{'s' * (d.n_features != 1)}"
    compared = [] if len(models) < 2 else comparison_facts(models, X, y, pairs, distances, names, rng)
    facts = {
        "title": called, "comparison": compared, "summary": repr(d).splitlines(), "terms": list(d.terms), "link": str(d.link),
        "importances": _importances(d, shares), "axioms": axiom_facts(d, random_state),
        "pairs": None if measured is None or drawn is None else pair_facts(measured, len(drawn.measured)),
        "evidence": evidence_facts(model), "data": _data(d, items, shown), "versions": versions(),
    }  # fmt: skip
    page = _page(d, shown, items, found, shares, drawn, rng) | {
        "map": map_of_items(d, shown), "votes": vote_rule_of_page(model, shown, items),
    }  # fmt: skip
    return Report(called, facts, page)


def _sample(d: Semimetric, items: ReportItems | None, max_items: int, rng: np.random.Generator) -> ReportItems | None:
    """The items of the page: all, or so many that they fit into it."""
    if items is None or not len(items):
        return None
    most = min(max_items, max(_MOST_VALUES // d.n_features, _FEWEST), _MOST_CALLED if d.base_distances else len(items))
    return items if len(items) <= most else items.take(np.sort(rng.choice(len(items), most, replace=False)))


def _drawn_pairs(measured: MeasuredPairs, rng: np.random.Generator) -> MeasuredPairs:
    n = len(measured.measured)
    if n <= _MOST_PAIRS:
        return measured
    rows = np.sort(rng.choice(n, _MOST_PAIRS, replace=False))
    return MeasuredPairs(measured.measured[rows], measured.learned[rows])


def _importances(d: Semimetric, shares: Shares) -> dict[str, Any]:
    """The shares by name, and what they are."""
    names = d.contribution_names("features") if shares.features is not None else ()
    of_columns = [] if shares.features is None else shares.features.tolist()
    return {
        "note": shares.note, "terms": dict(zip(d.terms, shares.terms.tolist(), strict=True)),
        "features": dict(zip(names, of_columns, strict=False)) or None,
    }  # fmt: skip


def _data(d: Semimetric, items: ReportItems | None, shown: ReportItems | None) -> dict[str, Any]:
    """The columns, and how many items there are and which of them are in the page."""
    notes = []
    if items is None or shown is None:
        text = "The report was made without items."
    else:
        text = f"{len(items):,} items."
        if len(shown) < len(items):
            text += f" The page holds a random sample of {len(shown):,} of them; counts and medians below are of all."
        n_outside = int(d.beyond(items.values).any(axis=1).sum())
        if n_outside:
            notes.append(f"{n_outside:,} items lie outside the range of the fit in some column.")
    return {"how_many": text, "notes": notes, "has_items": items is not None, "columns": column_rows(d, items)}


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
        "nRaw": d.n_features, "link": str(d.link), "symmetric": d.axioms.symmetric, "distance": tables, "whyNot": why_not,
        "terms": terms, "columns": columns_of_page(d), "slopes": packed(d.epsilon), "middles": packed(middles_of(d, found)),
        "counts": counts_of_page(d, found), "shares": _shares_of_page(d, shares), "items": _items_of_page(shown, items),
        "neighbors": _known_neighbors(d, shown) if why_not and shown is not None else None,
        "probes": None if why_not else _probes(d, shown, rng),
        "pairs": None if drawn is None else {"measured": packed(drawn.measured), "learned": packed(drawn.learned)},
    }  # fmt: skip


def _shares_of_page(d: Semimetric, shares: Shares) -> dict[str, Any]:
    names = list(d.contribution_names("features"))
    of_columns = None if shares.features is None else shares.features.tolist()
    return {"terms": shares.terms.tolist(), "features": of_columns, "names": names, "of": shares.of, "note": shares.note}


def _items_of_page(shown: ReportItems | None, items: ReportItems | None) -> dict[str, Any] | None:
    if shown is None or items is None:
        return None
    targets = None if shown.targets is None else shown.targets.tolist()
    return {
        "n": len(shown), "names": list(shown.names), "values": packed(shown.values.ravel()), "targets": targets,
        "targetName": shown.target_name, "sampled": len(shown) < len(items),
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
