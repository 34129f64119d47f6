"""Several models side by side: how much their distances agree, which pairs they see most differently, and what each goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from .._foundation.errors import InputError
from .._foundation.types import Floats, Integers, distinct
from ..distances.model.semimetric import Semimetric
from .evidence import pair_facts
from .shares import shares_of
from .subjects import ReportItems, distance_of, read_items, read_pairs

_MOST_ITEMS = 300  # between all pairs of which the models are compared
_MOST_PAIRS = 8  # that are told of two models
_MOST_PARTS = 3  # of a distance
_NEAREST = 10


class Compared(NamedTuple):
    """A model, what it is called, its distance, all items, and values and distances (n, n) of those that are compared."""

    name: str
    model: Any
    distance: Semimetric
    items: ReportItems
    values: Floats
    between: Floats


def named_models(models: Any) -> dict[str, Any]:
    """The models by name, of a mapping or of a list of several; a single model has no comparison.

    Raises
    ------
    InputError
        If there is no model.
    """
    if isinstance(models, Mapping):
        given = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not isinstance(models, str):
        given = dict(zip(distinct([type(model).__name__ for model in models]), models, strict=True))
    else:
        return {type(models).__name__: models}
    if not given:
        raise InputError("there is no model; give a Semimetric or a fitted learner, or several of them")
    return given


def comparison_facts(
    models: Mapping[str, Any], X: Any, y: Any, pairs: Any, distances: Any, names: Any, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Tables that put several models side by side: agreement, importances, errors, and the pairs on which they differ most.

    The models are compared on all pairs of at most 300 items. Since their units may differ, a pair has for each model the share
    of pairs that are at most as far apart, and two models differ on it by the difference of these shares.

    Raises
    ------
    InputError
        If there are fewer than three items, or a model does not take them.
    """
    every = [read_items(model, distance_of(model).schema, X, y, names) for model in models.values()]
    known = [items for items in every if items is not None and len(items) >= 3]
    if len(known) < len(every):
        raise InputError("models are compared on items, of which there are fewer than 3; give X")
    if len({items.names for items in known}) > 1:
        raise InputError("the models hold different items, and are compared on the same; give X")
    n = len(known[0])
    rows = np.sort(rng.choice(n, min(n, _MOST_ITEMS), replace=False))
    compared = [_compared(name, model, items, rows) for (name, model), items in zip(models.items(), known, strict=True)]
    called = [compared[0].items.names[row] for row in rows]
    left, right = np.triu_indices(len(rows), 1)
    shares = [rankdata(each.between[left, right], method="max") / len(left) for each in compared]
    facts = [_agreement(compared, shares, len(rows)), _importances(compared, rng)]
    facts += _errors(compared, pairs, distances)
    for a, b in combinations(range(len(compared)), 2):
        facts.append(_differing(compared, (a, b), shares, (left, right), called))
    return facts


def _compared(name: str, model: Any, items: ReportItems, rows: Integers) -> Compared:
    d, values = distance_of(model), items.values[rows]
    n = len(rows)
    every = np.column_stack([np.repeat(np.arange(n), n), np.tile(np.arange(n), n)])
    between = d.paired_by_index(values, every).reshape(n, n)
    return Compared(name, model, d, items, values, between / 2 + between.T / 2)


def _agreement(compared: Sequence[Compared], shares: Sequence[Floats], n: int) -> dict[str, Any]:
    """The rank correlation of the distances of every two models, and how many of the nearest they have in common."""
    k = min(_NEAREST, n - 1)
    near = [_nearest(each.between, k) for each in compared]
    rows: list[list[Any]] = []
    for a, b in combinations(range(len(compared)), 2):
        common = np.mean([len(np.intersect1d(*both)) / k for both in zip(near[a], near[b], strict=True)])
        rows.append([f"{compared[a].name} and {compared[b].name}", _correlation(shares[a], shares[b]), float(common)])
    return {
        "title": "Agreement", "head": ["models", "rank correlation", f"share of the {k} nearest in common"], "rows": rows,
        "notes": [f"On all pairs of {n:,} items. Distances of an asymmetric model are means of both directions."],
    }  # fmt: skip


def _nearest(between: Floats, k: int) -> Integers:
    """The k nearest of every item but itself, shape (n, k)."""
    others = between.copy()
    np.fill_diagonal(others, np.inf)
    return np.argsort(others, axis=1, kind="stable")[:, :k]


def _correlation(a: Floats, b: Floats) -> float:
    """The correlation of two lists of ranks; NaN where all of one are equal."""
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else float("nan")


def _importances(compared: Sequence[Compared], rng: np.random.Generator) -> dict[str, Any]:
    """The mean share of every column in the distances of random pairs, a column for each model."""
    by_model = []
    for each in compared:
        found = shares_of(each.model, each.distance, each.values, rng)
        names = each.distance.contribution_names("features")
        by_model.append({} if found.features is None else dict(zip(names, found.features.tolist(), strict=False)))
    columns = dict.fromkeys(name for found in by_model for name in found)
    rows: list[list[Any]] = [[name, *(found.get(name) for found in by_model)] for name in columns]
    rows.sort(key=lambda row: -max(value or 0.0 for value in row[1:]))
    return {
        "title": "Importances side by side", "head": ["column", *(each.name for each in compared)], "rows": rows,
        "notes": ["Mean shares in the distances of random pairs of the items."],
    }  # fmt: skip


def _errors(compared: Sequence[Compared], pairs: Any, distances: Any) -> list[dict[str, Any]]:
    """The errors of every model on measured pairs, if there are some."""
    rows: list[list[Any]] = []
    for each in compared:
        measured = read_pairs(each.distance, each.items, pairs, distances)
        if measured is None:
            return []
        facts = pair_facts(measured, len(measured.measured))
        rows.append([each.name, *(facts[name] for name in ("median_relative_error", "mean_absolute_error", "correlation"))])
    note = "On the pairs that were given; whether a model was learned from them is not known here."
    head = ["model", "median relative error", "mean absolute error", "correlation"]
    return [{"title": "Errors on measured distances", "head": head, "rows": rows, "notes": [note]}]


def _differing(
    compared: Sequence[Compared],
    of: tuple[int, int],
    shares: Sequence[Floats],
    pairs: tuple[Integers, Integers],
    called: Sequence[str],
) -> dict[str, Any]:
    """The pairs that two models see most differently; an item is in one of them at most."""
    one, other = (compared[k] for k in of)
    apart = np.abs(shares[of[0]] - shares[of[1]])
    rows: list[list[Any]] = []
    seen: set[int] = set()
    for place in np.argsort(-apart, kind="stable").tolist():
        i, j = int(pairs[0][place]), int(pairs[1][place])
        if len(rows) == _MOST_PAIRS or apart[place] == 0:
            break
        if not seen & {i, j}:
            seen |= {i, j}
            told = [f"{shares[k][place]:.0%}: {_parts(compared[k], i, j)}" for k in of]
            rows.append([called[i], called[j], *told])
    return {
        "title": f"Where {one.name} and {other.name} differ most", "head": ["item", "item", one.name, other.name], "rows": rows,
        "notes": ["How many of all pairs are at most as far apart, and which columns make most of the distance."],
    }  # fmt: skip


def _parts(each: Compared, i: int, j: int) -> str:
    """The columns that make most of a distance, with their shares."""
    parts = each.distance.contributions_of_encoded(each.values[[i]], each.values[[j]], by="features")[0]
    total = parts.sum()
    if not total > 0:
        return "equal"
    names = each.distance.contribution_names("features")
    order = np.argsort(-parts, kind="stable")[:_MOST_PARTS]
    return ", ".join(f"{names[f]} {parts[f] / total:.0%}" for f in order if parts[f] > 0)
