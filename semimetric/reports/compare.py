"""Several models side by side: how far they agree, what each goes by, how wrong they are, and where they differ most."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .._foundation.errors import InputError
from .._foundation.text import number_text
from .._foundation.types import Floats, Integers
from .facts import pair_facts
from .quality import assess, quality_facts
from .subjects import (
    DistanceSubject,
    ReportItems,
    ScoringSubject,
    Subject,
    fact_table,
    pairwise_distances,
    read_items,
    read_pairs,
)

_MOST_COMPARED = 300  # items between all pairs of which distances are compared
_MOST_PAIRS = 8  # that are shown of two distances
_MOST_ITEMS = 10  # that are shown of two models that score items
_MOST_PARTS = 3  # of a distance
_NEAREST = 10


def compare(
    subjects: Mapping[str, Subject], X: Any, y: Any, pairs: Any, distances: Any, names: Any, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return tables that compare several models: agreement, importances, errors, and the largest differences.

    Units of distances may differ, so each pair has the fraction of pairs that are at most as far apart, among 300 items.
    """
    scoring = [each for each in subjects.values() if isinstance(each, ScoringSubject)]
    if 0 < len(scoring) < len(subjects) or len({each.classes for each in scoring}) > 1:
        raise InputError(
            "models of one report are all distances, or all of them predict the same classes, or values; leave others out"
        )
    if scoring and X is None:
        raise InputError("models are compared on items, and none are given; give X")
    every = {name: read_items(subject, X, y, names) for name, subject in subjects.items()}
    known = {name: items for name, items in every.items() if items is not None and len(items) >= (1 if scoring else 3)}
    if len(known) < len(every):
        raise InputError(
            f"models are compared on items, {'and X has none' if scoring else 'of which there are fewer than 3'}; give X"
        )
    compared: Sequence[_Compared]
    if scoring:
        compared = [_Scores(name, subject, items) for (name, items), subject in zip(known.items(), scoring, strict=True)]
    else:
        if len({items.names for items in known.values()}) > 1:
            raise InputError("the models hold different items, and are compared on the same; give X")
        n = len(next(iter(known.values())))
        rows = np.sort(rng.choice(n, min(n, _MOST_COMPARED), replace=False))
        compared = [
            _Distances(name, subject, known[name], rows, pairs, distances)
            for name, subject in subjects.items()
            if isinstance(subject, DistanceSubject)
        ]
    two = list(combinations(compared, 2))
    head, note = compared[0].agreement_head, compared[0].agreement_note
    facts = [
        fact_table("Agreement", head, [[f"{one.name} and {other.name}", *one.agreement(other)] for one, other in two], note),
        fact_table("Importances side by side", ["column", *(each.name for each in compared)],
               _by_model([each.subject.importances(each.items, rng).by_column for each in compared], by_size=True),
               compared[0].importances_note),
    ]  # fmt: skip
    facts += compared[0].errors(compared)
    return facts + [one.differences(other) for one, other in two]


def _by_model(figures: Sequence[Mapping[str, float]], *, by_size: bool = False) -> list[list[Any]]:
    """Return a row for every name with its figure in each model, in the order of the names or of the largest figures."""
    names = dict.fromkeys(name for found in figures for name in found)
    rows: list[list[Any]] = [[name, *(found.get(name) for found in figures)] for name in names]
    if by_size:
        rows.sort(key=lambda row: -max(value or 0.0 for value in row[1:]))
    return rows


def _correlation(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else float("nan")


class _Compared(ABC):
    """A model beside others, on the items that are compared."""

    name: str
    subject: Subject
    items: ReportItems
    agreement_head: list[str]
    agreement_note: str
    importances_note: str

    @abstractmethod
    def agreement(self, other: Any) -> list[float]:
        """Return the figures that say how far the two agree."""

    @abstractmethod
    def errors(self, compared: Sequence[Any]) -> list[dict[str, Any]]:
        """Return a table of the errors of all models, if something is known of them."""

    @abstractmethod
    def differences(self, other: Any) -> dict[str, Any]:
        """Return a table of the items or pairs on which the two differ most."""


class _Distances(_Compared):
    """The distances of a model between all pairs of items."""

    importances_note = "Mean shares in the distances of random pairs of the items."

    def __init__(
        self, name: str, subject: DistanceSubject, items: ReportItems, rows: Integers, pairs: Any, distances: Any
    ) -> None:
        self.name, self.subject, self.items = name, subject, items.take(rows)
        self.distance, n = subject.distance, len(rows)
        between = pairwise_distances(self.distance, self.items.values, self.items.values)
        between = between / 2 + between.T / 2  # (n, n)
        self.left, self.right = np.triu_indices(n, 1)
        self.shares = rankdata(between[self.left, self.right], method="max") / len(self.left)  # (n_pairs,)
        np.fill_diagonal(between, np.inf)
        self.k = min(_NEAREST, n - 1)
        self.nearest = np.argsort(between, axis=1, kind="stable")[:, : self.k]  # (n, k)
        self.measured = read_pairs(self.distance, items, pairs, distances)
        self.agreement_head = ["models", "rank correlation", f"share of the {self.k} nearest in common"]
        self.agreement_note = f"On all pairs of {n:,} items. Distances of an asymmetric model are means of both directions."

    def agreement(self, other: _Distances) -> list[float]:
        both = zip(self.nearest, other.nearest, strict=True)
        common = np.mean([len(np.intersect1d(*near)) / self.k for near in both])
        return [_correlation(self.shares, other.shares), float(common)]

    def errors(self, compared: Sequence[_Distances]) -> list[dict[str, Any]]:
        rows: list[list[Any]] = []
        for each in compared:
            if each.measured is None:
                return []
            facts = pair_facts(each.measured, len(each.measured.measured))
            rows.append([each.name, *(facts[name] for name in ("median_relative_error", "mean_absolute_error", "correlation"))])
        note = "On the pairs that were given; whether a model was learned from them is not known here."
        head = ["model", "median relative error", "mean absolute error", "correlation"]
        return [fact_table("Errors on measured distances", head, rows, note)]

    def differences(self, other: _Distances) -> dict[str, Any]:
        """Return a table of the pairs on which the two differ most; an item is in one of them at most."""
        apart = np.abs(self.shares - other.shares)
        rows: list[list[Any]] = []
        seen: set[int] = set()
        for pair in np.argsort(-apart, kind="stable").tolist():
            i, j = int(self.left[pair]), int(self.right[pair])
            if len(rows) == _MOST_PAIRS or apart[pair] == 0:
                break
            if not seen & {i, j}:
                seen |= {i, j}
                shown = [f"{each.shares[pair]:.0%}: {each.parts(i, j)}" for each in (self, other)]
                rows.append([self.items.names[i], self.items.names[j], *shown])
        note = "How many of all pairs are at most as far apart, and which columns make most of the distance."
        title = f"Where {self.name} and {other.name} differ most"
        return fact_table(title, ["item", "item", self.name, other.name], rows, note)

    def parts(self, i: int, j: int) -> str:
        """Return the columns that make most of a distance, with their shares."""
        values = self.items.values
        parts = self.distance.contributions_of_encoded(values[[i]], values[[j]], by="features")[0]
        total = parts.sum()
        if not total > 0:
            return "equal"
        names = self.distance.contribution_names("features")
        order = np.argsort(-parts, kind="stable")[:_MOST_PARTS]
        return ", ".join(f"{names[f]} {parts[f] / total:.0%}" for f in order if parts[f] > 0)


class _Scores(_Compared):
    """The scores of a model for items."""

    importances_note = "Shares of what columns add to scores, or move them."

    def __init__(self, name: str, subject: ScoringSubject, items: ReportItems) -> None:
        self.name, self.subject, self.items = name, subject, items
        self.classes = subject.classes
        self.scores = subject.scores(items.values)  # (n, K)
        self.codes = subject.codes(self.scores)  # (n,)
        self.margins = subject.margins(self.scores)  # (n,)
        rng = np.random.default_rng(0)
        self.quality = quality_facts(subject, assess(subject, items, rng), rng)
        what = "correlation of the values" if self.classes is None else "share of items of the same class"
        self.agreement_head, self.agreement_note = ["models", what], f"On {len(items):,} items."

    def agreement(self, other: _Scores) -> list[float]:
        if self.classes is None:
            return [_correlation(self.scores[:, 0], other.scores[:, 0])]
        return [float((self.codes == other.codes).mean())]

    def errors(self, compared: Sequence[_Scores]) -> list[dict[str, Any]]:
        known = [each.quality for each in compared if each.quality is not None]
        if len(known) < len(compared):
            return []
        rows = _by_model([{figure["name"]: figure["value"] for figure in quality["figures"]} for quality in known])
        return [fact_table("Errors side by side", ["", *(each.name for each in compared)], rows, *known[0]["how"])]

    def differences(self, other: _Scores) -> dict[str, Any]:
        """Return a table of the items on which the two differ most, first those with other classes of which both are sure."""
        both, items = (self, other), self.items
        notes: list[str] = []
        if self.classes is None:
            apart = np.abs(self.scores[:, 0] - other.scores[:, 0])
            shown = [[number_text(value) for value in each.scores[:, 0]] for each in both]
        else:
            sure = np.minimum(*[each.margins / (np.median(each.margins) or 1.0) for each in both])
            apart = np.where(self.codes != other.codes, sure, 0.0)
            classes = self.classes
            shown = [[f"{classes[c]}, margin {m:.3g}" for c, m in zip(each.codes, each.margins, strict=True)] for each in both]
            notes = ["The margin is how far apart the scores of the two best classes are."]
        order = [row for row in np.argsort(-apart, kind="stable").tolist() if apart[row] > 0][:_MOST_ITEMS]
        rows: list[list[Any]] = [[items.names[row], shown[0][row], shown[1][row]] for row in order]
        head = ["item", self.name, other.name]
        if items.targets is not None:
            head.insert(1, f"{items.target_name} that was given")
            for row, number in zip(rows, order, strict=True):
                row.insert(1, items.targets[number] if items.target_name == "class" else float(items.targets[number]))
        if not rows:
            notes = ["They say the same of all items."]
        return fact_table(f"Where {self.name} and {other.name} differ most", head, rows, *notes)
