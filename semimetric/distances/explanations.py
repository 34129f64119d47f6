"""Why items are near: what each feature, or each term of the distance, adds, beside the values of both items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.optional_imports import optional
from .._foundation.printed_tables import cell_text, html_table, text_table
from .._foundation.types import Floats

__all__ = ["Explanation"]

_MOST_NEIGHBORS = 10  # that are printed
_MOST_SHOWN = 4  # features of a neighbour that are printed


@dataclass(frozen=True, eq=False)
class Explanation:
    """Distances of an item to some others, its neighbours, and what each feature adds to them. Printed, a table.

    Attributes
    ----------
    indices : ndarray of shape (k,)
        The row numbers of the neighbours among the fitted items, or their ids; the nearest first.
    targets : ndarray of shape (k,) or None
        The classes or values of the neighbours, where they have any.
    distances : ndarray of shape (k,)
        The distances of the neighbours.
    terms : tuple of str
        The names of the features, or of the terms of the distance.
    contributions : ndarray of shape (k, n_terms)
        What each of them adds to each distance, before the link.
    by : {"features", "terms"}
        What `terms` are.
    features : tuple of str
        The names of the features.
    item : ndarray of shape (n_features,) or None
        The values of the item.
    values : ndarray of shape (k, n_features) or None
        The values of the neighbours.
    label : object
        What the item is called; None if it has no name.
    labels : ndarray of shape (k,) or None
        What the neighbours are called: the labels of their rows in a frame of pandas; None for `indices`.
    target_name : {"class", "value"}
        What `targets` are, which is told of those that are no text.
    """

    indices: NDArray[Any]
    targets: Any
    distances: Floats
    terms: tuple[str, ...]
    contributions: Floats
    by: str = "terms"
    features: tuple[str, ...] = ()
    item: NDArray[Any] | None = None
    values: NDArray[Any] | None = None
    label: Any = None
    labels: NDArray[Any] | None = None
    target_name: str = "class"

    @property
    def names(self) -> list[str]:
        """What the neighbours are called, with their classes or values in brackets, such as ``row 17 (class 0)``."""
        labels = self.indices if self.labels is None else self.labels
        called = [_named(label, "item" if self.labels is None else "row") for label in labels]
        if self.targets is None:
            return called
        told = (cell_text(t) if isinstance(t, str) else f"{self.target_name} {cell_text(t)}" for t in self.targets)
        return [f"{name} ({target})" for name, target in zip(called, told, strict=True)]

    @property
    def sum_name(self) -> str:
        """What the contributions to a distance add up to: the distance itself, or what the link makes it of."""
        same = np.allclose(self.contributions.sum(axis=1), self.distances, rtol=1e-6)
        return "distance" if same else "distance before the link"

    @property
    def shares(self) -> Floats:
        """The contributions divided by their sums, shape (k, n_terms); 0 where the sum is 0."""
        total = self.contributions.sum(axis=1, keepdims=True)
        return self.contributions / np.where(total != 0, total, 1.0)

    def largest(self, n: int = 5) -> list[tuple[str, float]]:
        """The names and mean contributions of the ``n`` features that separate the item most from its neighbours."""
        mean = self.contributions.mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:n]
        return [(self.terms[t], float(mean[t])) for t in order if mean[t] > 0]

    def to_frame(self) -> Any:
        """All contributions as a frame of pandas: a row for each neighbour and each feature, the largest of each first."""
        k, n = self.contributions.shape
        order = np.argsort(-self.contributions, axis=1, kind="stable")
        rows = np.repeat(np.arange(k), n)
        columns = {"neighbor": (self.indices if self.labels is None else self.labels)[rows]}
        if self.targets is not None:
            columns["target"] = np.asarray(self.targets)[rows]
        columns |= {"distance": self.distances[rows], self.by[:-1]: np.array(self.terms, dtype=object)[order.ravel()]}
        if self.item is not None and self.values is not None:
            own, others = zip(*(self._both(row, t) for row, t in zip(rows, order.ravel(), strict=True)), strict=True)
            columns |= {"value": list(own), "neighbor_value": list(others)}  # type: ignore[dict-item]  # objects of any kind
        for name, values in (("contribution", self.contributions), ("share", self.shares)):
            columns[name] = np.take_along_axis(values, order, axis=1).ravel()
        return optional("pandas").DataFrame(columns)

    def __repr__(self) -> str:
        return "\n".join([self._title, *map(str.rstrip, text_table(list(self._lines()), left=1)), *self._rest])

    def _repr_html_(self) -> str:
        return html_table(list(self._lines()), title=self._title, notes=self._rest)

    @property
    def _title(self) -> str:
        return f"What separates {self._item_name} from its neighbours, by {self.by}"

    @property
    def _item_name(self) -> str:
        """What the item is called; a number is that of a row."""
        return "the item" if self.label is None else _named(self.label, "row")

    @property
    def _rest(self) -> list[str]:
        """What is said of neighbours that are not shown."""
        more = len(self.indices) - _MOST_NEIGHBORS
        return [f"{more} more neighbours: see to_frame()"] if more > 0 else []

    def _lines(self) -> Iterator[list[str]]:
        """The cells of the table that is printed: a heading, and for each neighbour its distance, parts, and their sum."""
        yield ["", self._item_name, "neighbour", "adds", "share"]
        shown = zip(self.names, self.distances, self.contributions, self.shares, strict=True)
        for row, (name, distance, parts, shares) in enumerate(list(shown)[:_MOST_NEIGHBORS]):
            yield [f"{name} at {distance:.4g}", "", "", "", ""]
            order = np.argsort(-parts, kind="stable")
            order = order[: min(_MOST_SHOWN, np.count_nonzero(parts > 0))]
            for t in order:
                own, other = (cell_text(value) for value in self._both(row, t))
                yield [f"  {self.terms[t]}", own, other, f"{parts[t]:.3g}", f"{100 * shares[t]:.0f} %"]
            total, share = f"{parts[order].sum():.3g}", f"{100 * shares[order].sum():.0f} %"
            last = [f"  {len(order)} of {len(parts)} {self.by}", "", "", total, share]
            yield last if parts.any() else [f"  equal in every {self.by[:-1]}", "", "", "", ""]

    def _both(self, row: Any, term: Any) -> tuple[Any, Any]:
        """The values of the item and of a neighbour, where the term is a feature."""
        if self.item is None or self.values is None or self.terms[term] not in self.features:
            return "", ""
        f = self.features.index(self.terms[term])
        return self.item[f], self.values[row, f]


def _named(label: Any, kind: str) -> str:
    """What an item is called: a text as it is, a number as that of a ``kind``."""
    return f"{kind} {label}" if isinstance(label, int | np.integer) else str(label)
