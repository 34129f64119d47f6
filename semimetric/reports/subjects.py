"""What a report is about: a distance, the model that learned it, and items with their names and their classes or values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from .._foundation.arrays import as_cells, as_classes, as_floats, as_vector, check_finite, input_errors, n_axes
from .._foundation.errors import InputError
from .._foundation.tables import row_labels
from .._foundation.types import Floats, Integers, distinct
from ..data.schema import Schema
from ..distances.estimators.votes import fitted_items
from ..distances.model.semimetric import Semimetric

MOST_CLASSES = 50
"""Numbers of more different values are values, not classes."""


@dataclass(frozen=True, eq=False)
class ReportItems:
    """Items of a report.

    Attributes
    ----------
    values : ndarray of shape (n_items, n_features)
        Encoded.
    names : tuple of str
        All different.
    targets : ndarray of shape (n_items,) or None
        Classes as text, or values as numbers.
    target_name : {"class", "value"}
    are_own : bool
        Whether they are the items of the model itself.
    """

    values: Floats
    names: tuple[str, ...]
    targets: Any
    target_name: str
    are_own: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Integers) -> ReportItems:
        """Some of the items."""
        targets = None if self.targets is None else self.targets[rows]
        return ReportItems(self.values[rows], tuple(self.names[row] for row in rows), targets, self.target_name, self.are_own)


@dataclass(frozen=True, eq=False)
class MeasuredPairs:
    """Pairs with measured distances, and those of the model, all of shape (n_pairs,)."""

    measured: Floats
    learned: Floats


def distance_of(model: Any) -> Semimetric:
    """The distance itself, or that of a fitted learner, classifier, regressor or index.

    Raises
    ------
    InputError
        If there is none.
    """
    if isinstance(model, Semimetric):
        return model
    if hasattr(model, "get_params") and not hasattr(model, "semimetric_"):
        check_is_fitted(model)
    found = getattr(model, "semimetric_", None)
    if not isinstance(found, Semimetric):
        raise InputError(
            f"model is a {type(model).__name__}, which has no distance, no functions of columns and no pieces; give a "
            "Semimetric, or a fitted learner of one, a machine on an embedding, or a classifier by pieces of planes"
        )
    return found


def read_items(model: Any, schema: Schema, X: Any, y: Any, names: Sequence[object] | None) -> ReportItems | None:
    """The items that were given, or those that the model holds; None if there are none.

    Raises
    ------
    InputError
        If they do not fit the columns of the model, or one another.
    """
    if X is None:
        if y is not None or names is not None:
            raise InputError(f"{'y' if y is not None else 'names'} is given without X; give the items that it is of")
        return _own_items(model, schema)
    values = schema.encode(X)
    labels = row_labels(X, len(values)) if names is None else list(names)
    if len(labels) != len(values):
        raise InputError(f"names has {len(labels)} names for {len(values)} items; one for each item is required")
    targets, target_name = _targets(model, y, len(values))
    return ReportItems(values, _named(labels), targets, target_name)


def _own_items(model: Any, schema: Schema) -> ReportItems | None:
    """The items of an index, or of the index of a model that has neighbours, with their classes or values."""
    index = getattr(model, "index_", model)
    if not hasattr(index, "get_items"):
        return None
    values = schema.encode(index.get_items(index.ids_))
    kept = fitted_items(model)
    targets, target_name = _targets(model, None if kept is None else kept.targets, len(values))
    return ReportItems(values, _named(index.ids_ if kept is None else kept.names), targets, target_name, are_own=True)


def _named(labels: Any) -> tuple[str, ...]:
    """Names that differ; a number is that of a row."""
    whole = (int, np.integer)
    return distinct([f"row {label}" if isinstance(label, whole) else str(label) for label in labels])


def _targets(model: Any, y: Any, n: int) -> tuple[Any, str]:
    """The classes as text or the values as numbers of n items, and which of them they are."""
    if y is None:
        return None, "class"
    with input_errors():
        given = np.asarray(y)
    if given.shape != (n,):
        raise InputError(f"y has shape {given.shape} for {n} items; one class or value for each item is required")
    if given.dtype == object and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in given.tolist()):
        given = np.array(given.tolist())  # numbers in cells are numbers
    # a learner of distances is a regressor too, but y are not its targets
    predicts = hasattr(model, "vote_rule_") or (hasattr(model, "get_params") and not hasattr(model, "semimetric_"))
    if (predicts and is_regressor(model)) or not ((predicts and is_classifier(model)) or _are_classes(given)):
        return as_vector(y, "y"), "value"
    return np.array([str(label) for label in as_classes(y, given).tolist()], dtype=object), "class"


def _are_classes(given: Any) -> bool:
    """Whether targets are classes: text, truth values, or few different whole numbers."""
    return given.dtype.kind in "OUSb" or (given.dtype.kind in "iu" and len(np.unique(given)) <= MOST_CLASSES)


def read_pairs(d: Semimetric, items: ReportItems | None, pairs: Any, distances: Any) -> MeasuredPairs | None:
    """The measured distances of pairs, which are vectors or row numbers of the items, beside those of the model.

    Raises
    ------
    InputError
        If only one of the two is given, or they do not fit one another.
    """
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
    rows = np.arange(len(left))
    return MeasuredPairs(measured, d.paired_by_index(np.vstack([left, right]), np.column_stack([rows, len(rows) + rows])))


def _numbered(pairs: Any, items: ReportItems | None) -> tuple[Floats, Floats]:
    """The items of pairs of row numbers."""
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
    """The items of pairs of vectors, encoded."""
    points = as_floats(pairs, "pairs") if d.schema.plain else as_cells(pairs, "pairs")
    if points.ndim != 3 or points.shape[1:] != (2, d.n_features) or not len(points):
        raise InputError(
            f"pairs has shape {points.shape}; (n_pairs, 2, {d.n_features}) is required, or row numbers of shape (n_pairs, 2)"
        )
    return d.schema.encode(points[:, 0], name="pairs"), d.schema.encode(points[:, 1], name="pairs")
