"""Subjects of reports, which are a distance or a model that scores single items, and the items and pairs of a report."""

from __future__ import annotations

import base64
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from .._foundation.arrays import as_cells, as_classes, as_floats, as_vector, check_finite, input_errors, n_axes
from .._foundation.errors import InputError
from .._foundation.tables import row_labels
from .._foundation.types import ArrayLike, Floats, Integers, distinct
from ..data.grid import Grid
from ..data.identical_items import identities
from ..data.schema import Schema
from ..distances.estimators.left_out import LeftOutPredictions, RefittedColumns
from ..distances.estimators.neighbor_regressor import SemimetricRegressor
from ..distances.estimators.votes import LearnedNeighbors, fitted_items
from ..distances.model.explanations import part_of
from ..distances.model.semimetric import Semimetric

MOST_CLASSES = 50
"""Numbers of more different values are values, not classes."""

_PAIRS = 2_000  # over which shares are averaged
_GROUPS = 10  # of items, for error bars
_LARGE = 20_000_000  # numbers that dividing the parts of so many pairs among columns may take


@dataclass(frozen=True, eq=False)
class ReportItems:
    """The items of a report with their names, and their classes or values."""

    values: Floats  # encoded, (n_items, n_features)
    names: tuple[str, ...]  # all different
    targets: NDArray[Any] | None  # (n_items,): classes as text, or values as numbers
    target_name: str  # "class" or "value"
    are_own: bool = False  # True if they are the items of the model itself
    seen: NDArray[np.bool_] | None = None  # (n_items,): those equal to items that were learned from; None if it is not known

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Integers) -> ReportItems:
        """Return some of the items."""
        targets, seen = (None if part is None else part[rows] for part in (self.targets, self.seen))
        names = tuple(self.names[row] for row in rows)
        return ReportItems(self.values[rows], names, targets, self.target_name, self.are_own, seen)

    def joined(self, learned: ReportItems) -> ReportItems:
        """Return these items and then others that were learned from, whose names say so where they would be equal."""
        own = set(self.names)
        names = distinct([*self.names, *(f"{name} of the fit" if name in own else name for name in learned.names)])
        targets, kind = None, self.target_name if learned.targets is None else learned.target_name
        if self.targets is not None or learned.targets is not None:
            parts = [[None] * len(part) if part.targets is None else part.targets.tolist() for part in (self, learned)]
            targets = np.array([*parts[0], *parts[1]], dtype=object)
        return ReportItems(np.vstack([self.values, learned.values]), names, targets, kind)


@dataclass(frozen=True, eq=False)
class MeasuredPairs:
    """Pairs with measured distances, and those of the model, all of shape (n_pairs,)."""

    measured: Floats
    learned: Floats


@dataclass(frozen=True, eq=False)
class Importances:
    """Shares of terms and of columns, and what they are shares of."""

    terms: Floats  # (n_terms,)
    features: Floats | None  # (n_features,); None if nothing is known of them
    names: Sequence[str]  # of the columns
    of: str  # what they are shares of, after "12 % of"
    note: str  # the same as a sentence

    @property
    def by_column(self) -> dict[str, float]:
        """The shares of columns by name; empty if nothing is known of them."""
        return {} if self.features is None else dict(zip(self.names, self.features.tolist(), strict=False))


class Predictions(NamedTuple):
    """Predictions of a model for some items."""

    values: NDArray[Any]  # (n,): numbers of classes, or values
    probabilities: Floats | None  # (n, n_classes)


class Bars(NamedTuple):
    """Importances of columns with error bars."""

    shares: Floats  # (n_features,)
    errors: Floats  # (n_features,): half the length of a bar
    shares_are: str  # a sentence
    bars_are: str  # a sentence


class Subject(ABC):
    """A fitted model as its report sees it: columns, terms, importances, and the form of its page."""

    kind: str  # "distance", "machine" or "pieces", which decides the tabs of the page
    model: object  # that was given
    schema: Schema  # the columns of the items
    grid: Grid  # the knots of every column, and so its range
    range_note: str  # about the ranges, for the table of the data
    classes: tuple[str, ...] | None = None  # that are predicted; None if values are, or nothing

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.schema.features)

    @property
    @abstractmethod
    def terms(self) -> tuple[str, ...]:
        """The names that the first tab lists."""

    @property
    @abstractmethod
    def summary(self) -> list[str]:
        """Lines that say what the model is made of."""

    @abstractmethod
    def importances(self, items: ReportItems | None, rng: np.random.Generator) -> Importances:
        """Return how much the terms and the columns matter."""

    def group_importances(self, items: ReportItems, rng: np.random.Generator) -> Floats | None:
        """Return importances of the columns among a group of the items, shape (n_features,)."""
        return self.importances(items, rng).features

    @abstractmethod
    def outside(self, values: Floats) -> NDArray[np.bool_] | None:
        """Return, with shape (n, n_features), which encoded values lie outside the range; None where there is no range."""

    @property
    def predicts(self) -> str:
        """The kind of what is predicted, "class" or "value"; "" if nothing is."""
        return ""

    @property
    @abstractmethod
    def about(self) -> str:
        """A sentence for everybody that says how the model predicts, or measures."""

    @property
    @abstractmethod
    def tabs(self) -> tuple[tuple[str, str], ...]:
        """The tabs of its page between the overview and the tables, each with its title."""

    def predicted(self, values: Floats) -> Predictions:
        """Return what the model predicts of encoded items (n, n_features)."""
        raise NotImplementedError  # where nothing is predicted

    def left_out(self) -> LeftOutPredictions | None:
        """Return predictions of items by models that did not have them, as far as the fit knows some."""
        return None

    def intervals(self, values: Floats, level: float) -> tuple[Floats, Floats] | None:
        """Return the ends of intervals around the values of encoded items (n, n_features); None where there are none."""
        return None

    def own_intervals(self, rows: Integers, level: float) -> tuple[Floats, Floats] | None:
        """Return the same of the items that the model holds, by their rows; None where these are not known."""
        return None

    def importance_bars(self, items: ReportItems | None, shown: Importances, rng: np.random.Generator) -> Bars | None:
        """Return importances of columns with bars: here by groups of the items; None without items or shares."""
        if shown.features is None or len(shown.features) != self.n_features:
            return None
        n = 0 if items is None else len(items)
        if items is None or n < 2 * _GROUPS:
            return Bars(shown.features, np.full(self.n_features, np.nan), shown.note, "There are too few items for error bars.")
        groups = np.array_split(rng.permutation(n), _GROUPS)
        found = [self.group_importances(items.take(np.sort(group)), rng) for group in groups]
        errors = 2 * np.std(np.array(found), axis=0, ddof=1) / np.sqrt(_GROUPS)
        bars = (
            f"A bar is two standard errors to either side, from {_GROUPS} groups of the items. It says how much the share "
            "depends on the items that are described, and not how much the model depends on those that it learned from."
        )
        return Bars(shown.features, errors, shown.note, bars)

    @property
    def no_rows(self) -> str:
        """Why the model does not take rows of the columns that the page shows; "" if it does."""
        return ""

    def read(self, X: Any) -> Any:
        """Return items as they were given to the model, as a table with the columns of ``schema``."""
        return X


class DistanceSubject(Subject):
    """A distance, and the model that has learned it."""

    kind = "distance"
    range_note = (
        "Missing and outside count items. Outside the range of the fit the distance of numbers goes on at a constant slope; a "
        "category that was not in the fit is at the mean distance of the others."
    )

    def __init__(self, model: Any) -> None:
        if not isinstance(model, Semimetric) and hasattr(model, "get_params") and not hasattr(model, "semimetric_"):
            check_is_fitted(model)
        found = model if isinstance(model, Semimetric) else getattr(model, "semimetric_", None)
        if not isinstance(found, Semimetric):
            raise InputError(
                f"model is a {type(model).__name__}, which has no distance, no functions of columns and no pieces; give a "
                "Semimetric, or a fitted learner of one, a machine on an embedding, or a classifier by pieces of planes"
            )
        self.model, self.distance = model, found
        self.schema, self.grid = found.schema, found.embedding.grid
        self.predictor = model if isinstance(model, LearnedNeighbors) and fitted_items(model) is not None else None
        if self.predictor is not None and is_classifier(self.predictor):
            self.classes = tuple(map(str, model.classes_.tolist()))

    @property
    def predicts(self) -> str:
        if self.predictor is None:
            return ""
        return "value" if self.classes is None else "class"

    @property
    def about(self) -> str:
        if not self.predicts:
            return "It is a distance: it says how far apart two items are, and predicts nothing."
        return "It predicts an item by its distances to the items that it learned from. The distance was learned with them."

    @property
    def no_rows(self) -> str:
        made = "its page shows features that were made of the objects that the model takes"
        return made if self.schema.encoded else ""

    @property
    def tabs(self) -> tuple[tuple[str, str], ...]:
        found = {self.tab_of(t) for t in range(len(self.terms))}
        named = (("columns", "Columns"), ("items", "Items"), ("neighbors", "Neighbours"), ("components", "Components"))
        return tuple((name, title) for name, title in named if name in found or name in ("items", "neighbors"))

    def tab_of(self, t: int) -> str:
        """Return the tab that shows a term: "components" for what is made of columns, and for base distances."""
        groups, raw = self.distance.embedding.groups, self.n_features
        if t < len(groups):
            return "columns" if max(groups[t]) < raw else "components"
        is_outside = t == len(self.terms) - 1
        return "columns" if is_outside and any(max(group) < raw for group in groups) else "components"

    def predicted(self, values: Floats) -> Predictions:
        model: Any = self.model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of names that an array of the same columns does not have
            if self.classes is None:
                return Predictions(model.predict(self.schema.display(values)), None)
            probabilities = model.predict_proba(self.schema.display(values))
        return Predictions(probabilities.argmax(axis=1), probabilities)

    def left_out(self) -> LeftOutPredictions | None:
        return None if self.predictor is None else self.predictor.left_out_predictions()

    def intervals(self, values: Floats, level: float) -> tuple[Floats, Floats] | None:
        model = self.predictor
        if not isinstance(model, SemimetricRegressor) or not model.allows_interval(level):
            return None
        _, low, high = model.intervals_of_encoded(values, level)
        return low, high

    def own_intervals(self, rows: Integers, level: float) -> tuple[Floats, Floats] | None:
        if self.predictor is None or (rows < 0).any():
            return None
        return self.intervals(self.predictor.index_.encoded_items_[rows], level)

    def importance_bars(self, items: ReportItems | None, shown: Importances, rng: np.random.Generator) -> Bars | None:
        refits = self.refits
        if refits is None:
            return super().importance_bars(items, shown, rng)
        note = (
            "The squared error of the predictions rises by this share of the variance, if the values of the column are "
            "shuffled among the items. At 0 a column does not matter to them. Of columns that say the same, each seems to "
            "matter little."
        )
        bars = (
            f"A bar is two standard deviations to either side among {len(refits.losses)} refits of the distance and the "
            f"machine. Each learned from a random half of the items that the model learned from, {refits.n_items:,} of them at "
            f"most, and was assessed on {refits.n_scored:,} of the other half."
        )
        return Bars(refits.importances, 2 * refits.deviations, note, bars)

    @cached_property
    def refits(self) -> RefittedColumns | None:
        """Columns assessed by refits of a machine; None where no machine predicts, or of too few items."""
        return None if self.predictor is None else self.predictor.refitted_columns()

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(self.distance.terms)

    @property
    def summary(self) -> list[str]:
        return repr(self.distance).splitlines()

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        return self.distance.out_of_range(values)

    def _pair_shares(self, items: ReportItems, rng: np.random.Generator, n_pairs: int) -> tuple[Floats, Floats, int]:
        """Return the mean shares of terms and of columns in distances of random pairs of items, and the number of pairs."""
        d = self.distance
        n_made = len(d.directions.names) if d.directions is not None else 0
        n = max(min(n_pairs, _LARGE // max(n_made * d.n_features, 1)), 50)
        left = rng.integers(0, len(items), n)
        right = (left + rng.integers(1, len(items), n)) % len(items)
        x, y = items.values[left], items.values[right]
        terms, features = (_mean(d.contributions_of_encoded(x, y, by=by)) for by in ("terms", "features"))
        return terms, features, n

    def group_importances(self, items: ReportItems, rng: np.random.Generator) -> Floats | None:
        return self._pair_shares(items, rng, _PAIRS // _GROUPS)[1]

    def importances(self, items: ReportItems | None, rng: np.random.Generator) -> Importances:
        """Return the mean shares in distances of random pairs; without items, of the largest values of the tables."""
        d, names = self.distance, self.distance.contribution_names("features")
        if items is None or len(items) < 2:
            learned = getattr(self.model, "feature_importances_", None)
            largest = _largest(d)
            total = float(largest.sum()) or 1.0
            known = np.asarray(learned) if isinstance(learned, np.ndarray) and len(learned) == d.n_features else None
            note = "Shares of the largest values of the terms, as there are no two items to draw pairs of."
            return Importances(largest / total, known, names, "the largest values of all terms", note)
        terms, features, n = self._pair_shares(items, rng, _PAIRS)
        note = f"Mean shares in the distances of {n:,} random pairs of the items."
        return Importances(terms, features, names, "the distances of random pairs of the items, on average", note)


def _mean(parts: Floats) -> Floats:
    """Return the mean of the parts divided by their sums; 0 where every sum is 0."""
    total = parts.sum(axis=1)
    apart = total > 0
    return (parts[apart] / total[apart, None]).mean(axis=0) if apart.any() else np.zeros(parts.shape[1])


def _largest(d: Semimetric) -> Floats:
    """Return the largest weight of each term; slopes outside the range and base distances count 0."""
    out = np.zeros(len(d.terms))
    for g in range(len(d.embedding.groups)):
        part, w = part_of(d.embedding, d.weights, np.array([g]))
        is_scale = hasattr(part, "thermometer")
        out[g] = w.sum() if is_scale else w.max(initial=0.0)
    return out


class ScoringSubject(Subject):
    """A model that gives every item numbers, of which its class or its value follows."""

    refuses_outside: bool = False  # True if the model takes no values outside the range

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """The names of the K numbers of an item."""

    @abstractmethod
    def scores(self, values: Floats) -> Floats:
        """Return the numbers of encoded items (n, n_features), as the model computes them: shape (n, K)."""

    @abstractmethod
    def to_page(self, items: ReportItems | None) -> dict[str, Any]:
        """Return what only pages of this kind read."""

    def evidence(self, items: ReportItems | None) -> list[dict[str, Any]]:
        """Return tables that only this kind of model has."""
        return []

    def probabilities(self, values: Floats) -> Floats | None:
        """Return the probabilities of the classes, shape (n, n_classes); None where the model has none."""
        return None

    def grid_with(self, items: ReportItems | None) -> Grid:
        """Return the grid; where the model itself has no range of columns, that of the items."""
        return self.grid

    @property
    def predicts(self) -> str:
        return "value" if self.classes is None else "class"

    def predicted(self, values: Floats) -> Predictions:
        scores = self.scores(values)
        if self.classes is None:
            return Predictions(scores[:, 0], None)
        return Predictions(self.codes(scores), self.probabilities(values))

    def codes(self, scores: Floats) -> Integers:
        """Return the number of the class of every item, from its scores (n, K)."""
        return np.asarray((scores[:, 0] > 0) if scores.shape[1] == 1 else scores.argmax(axis=1), dtype=np.int64)

    def margins(self, scores: Floats) -> Floats:
        """Return the gap between the scores of the two best classes, or the distance of one score from 0. Shape (n,)."""
        if scores.shape[1] == 1:
            return np.abs(scores[:, 0])
        ordered = np.sort(scores, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])

    def settled(self, values: Floats) -> NDArray[np.bool_]:
        """Return, with shape (n,), which items a rounding cannot give to another part of the model."""
        return np.ones(len(values), dtype=bool)

    def outside(self, values: Floats) -> NDArray[np.bool_] | None:
        return (values < self.grid.low) | (values > self.grid.high)


def read_items(subject: Subject, X: Any, y: Any, names: Sequence[object] | None) -> ReportItems | None:
    """Return the items that were given, or those that the model holds; None if there are none."""
    if X is None:
        if y is not None or names is not None:
            raise InputError(f"{'y' if y is not None else 'names'} is given without X; give the items that it is of")
        return own_items(subject)
    values = subject.schema.encode(subject.read(X))
    labels = row_labels(X, len(values)) if names is None else list(names)
    if len(labels) != len(values):
        raise InputError(f"names has {len(labels)} names for {len(values)} items; one for each item is required")
    targets, target_name = _targets(subject.model, y, len(values))
    return ReportItems(values, _named(labels), targets, target_name)


def with_learned(subject: Subject, items: ReportItems | None) -> tuple[ReportItems | None, ReportItems | None]:
    """Return the items with what is known of their being learned from, and the learned ones if the model holds others.

    Where every item equals one that was learned from, the items of the model stand for them.
    """
    if items is None or items.are_own or (learned := own_items(subject)) is None:
        return items, None
    n = len(learned)
    number = identities(np.vstack([learned.values, items.values])).number
    seen = np.isin(number[n:], number[:n])
    return (learned, None) if seen.all() else (replace(items, seen=seen), learned)


def own_items(subject: Subject) -> ReportItems | None:
    """Return the items that a model holds, with their classes or values; None if it holds none."""
    index: Any = getattr(subject.model, "index_", subject.model)
    if not hasattr(index, "get_items"):
        return None
    values = subject.schema.encode(index.get_items(index.ids_))
    kept = fitted_items(subject.model)
    targets, target_name = _targets(subject.model, None if kept is None else kept.targets, len(values))
    return ReportItems(values, _named(index.ids_ if kept is None else kept.names), targets, target_name, are_own=True)


def _named(labels: Any) -> tuple[str, ...]:
    whole = (int, np.integer)
    return distinct([f"row {label}" if isinstance(label, whole) else str(label) for label in labels])


def _targets(model: Any, y: Any, n: int) -> tuple[NDArray[Any] | None, str]:
    """Return the classes as text or the values as numbers of n items, and "class" or "value"."""
    if y is None:
        return None, "class"
    with input_errors():
        given = np.asarray(y)
    if given.shape != (n,):
        raise InputError(f"y has shape {given.shape} for {n} items; one class or value for each item is required")
    if given.dtype == object and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in given.tolist()):
        given = np.array(given.tolist())  # numbers in cells are numbers
    # a learner of distances is a regressor too, but y are not its targets
    predicts = fitted_items(model) is not None or (hasattr(model, "get_params") and not hasattr(model, "semimetric_"))
    # text, truth values, or few different whole numbers
    are_classes = given.dtype.kind in "OUSb" or (given.dtype.kind in "iu" and len(np.unique(given)) <= MOST_CLASSES)
    if (predicts and is_regressor(model)) or not ((predicts and is_classifier(model)) or are_classes):
        return as_vector(y, "y"), "value"
    return np.array([str(label) for label in as_classes(y, given).tolist()], dtype=object), "class"


def read_pairs(d: Semimetric, items: ReportItems | None, pairs: Any, distances: Any) -> MeasuredPairs | None:
    """Return the measured distances of pairs, which are vectors or row numbers of the items, beside those of the model."""
    if pairs is None and distances is None:
        return None
    if pairs is None or distances is None:
        missing = "pairs" if pairs is None else "distances"
        raise InputError(f"{missing} is missing; measured distances need both, pairs of items and the distance of each")
    is_numbered = n_axes(pairs) == 2
    left, right = _numbered(pairs, items) if is_numbered else _points(d, pairs)
    measured = as_floats(distances, "distances")
    if measured.shape != (len(left),):
        raise InputError(f"distances has shape {measured.shape} for {len(left)} pairs; one distance a pair is required")
    check_finite(measured, "distances")
    if (measured < 0).any():
        raise InputError(f"distances has {measured.min():g}; measured distances are >= 0: correct them")
    return MeasuredPairs(measured, paired_distances(d, left, right))


def _numbered(pairs: Any, items: ReportItems | None) -> tuple[Floats, Floats]:
    if items is None:
        raise InputError("pairs are row numbers, and there are no items that they number; give X")
    index = as_floats(pairs, "pairs")
    n = len(items)
    if index.shape != (len(index), 2) or not len(index) or not ((index == np.rint(index)) & (index >= 0) & (index < n)).all():
        raise InputError(
            f"pairs has shape {index.shape}; row numbers of X from 0 to {n - 1}, of shape (n_pairs, 2), are required"
        )
    left, right = index.astype(np.int64).T
    return items.values[left], items.values[right]


def _points(d: Semimetric, pairs: Any) -> tuple[Floats, Floats]:
    points = as_floats(pairs, "pairs") if d.schema.plain else as_cells(pairs, "pairs")
    if points.ndim != 3 or points.shape[1:] != (2, d.n_features) or not len(points):
        raise InputError(
            f"pairs has shape {points.shape}; (n_pairs, 2, {d.n_features}) is required, or row numbers of shape (n_pairs, 2)"
        )
    return d.schema.encode(points[:, 0], name="pairs"), d.schema.encode(points[:, 1], name="pairs")


def paired_distances(d: Semimetric, left: Floats, right: Floats) -> Floats:
    """Return the distances of encoded items to the same rows of others, shape (n,)."""
    rows = np.arange(len(left))
    return d.paired_by_index(np.vstack([left, right]), np.column_stack([rows, len(rows) + rows]))


def pairwise_distances(d: Semimetric, left: Floats, right: Floats) -> Floats:
    """Return the distances of encoded items (n, n_features) to others (m, n_features), as pairs have them: shape (n, m)."""
    n, m = len(left), len(right)
    rows = np.column_stack([np.repeat(np.arange(n), m), n + np.tile(np.arange(m), n)])
    return d.paired_by_index(np.vstack([left, right]), rows).reshape(n, m)


def fact_table(title: str, head: Sequence[str], rows: list[list[Any]], *notes: str) -> dict[str, Any]:
    """Return a table of a report, with sentences below it."""
    return {"title": title, "head": list(head), "rows": rows, "notes": list(notes)}


def packed(values: ArrayLike) -> dict[str, str]:
    """Return whole numbers as little-endian int32 and all others as float64, in base64, to the last bit."""
    array = np.asarray(values)
    kind = "i4" if array.dtype.kind in "iub" else "f8"
    return {"type": kind, "base64": base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def unpacked(stored: dict[str, str]) -> Floats:
    """Return the numbers that `packed` has packed, as float64."""
    return np.frombuffer(base64.b64decode(stored["base64"]), f"<{stored['type']}").astype(np.float64)
