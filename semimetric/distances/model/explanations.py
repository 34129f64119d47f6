"""Why items are near: what each feature, or each term of the distance, adds, beside the values of both items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.text import cell_text, html_table, number_text, text_table
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.search import Scales
from ..._kernels.simplex import Located
from ..features.linear_directions import Directions, with_directions
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from .limits import GridPoints, rise_outside

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
        The part of each term in each distance, before the link.
    by : {"features", "terms"}
        The kind of `terms`.
    features : tuple of str
        The names of the features.
    item : ndarray of shape (n_features,) or None
        The values of the item.
    values : ndarray of shape (k, n_features) or None
        The values of the neighbours.
    label : object
        The name of the item; None if it has none.
    labels : ndarray of shape (k,) or None
        The names of the neighbours, as of the rows of a frame; None stands for `indices`.
    target_name : {"class", "value"}
        The kind of `targets`, printed before those that are no text.
    rules : dict of str to tuple
        For a term that is a tree, what the leaf of the item asks for in words, and the list of those of the neighbours.
    votes : ndarray of shape (k,) or None
        The fractions of all votes for the item that the neighbours have, where they vote.
    """

    indices: NDArray[Any]
    targets: NDArray[Any] | None
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
    rules: Mapping[str, tuple[str, list[str]]] = field(default_factory=dict)
    votes: Floats | None = None

    @property
    def names(self) -> list[str]:
        """Names of the neighbours, with their classes or values in brackets, such as ``row 17 (class 0)``."""
        labels = self.indices if self.labels is None else self.labels
        called = [_named(label, "item" if self.labels is None else "row") for label in labels]
        if self.targets is None:
            return called
        as_given = (str(t) if isinstance(t, bool | np.bool_) else cell_text(t) for t in self.targets)  # as predict returns it
        displayed = (
            text if isinstance(t, str) else f"{self.target_name} {text}" for t, text in zip(self.targets, as_given, strict=True)
        )
        return [f"{name} ({target})" for name, target in zip(called, displayed, strict=True)]

    @property
    def sum_name(self) -> str:
        """Name of the sum of the contributions: the distance itself, or the distance before the link."""
        same = np.allclose(self.contributions.sum(axis=1), self.distances, rtol=1e-6)
        return "distance" if same else "distance before the link"

    @property
    def shares(self) -> Floats:
        """The contributions divided by their sums, shape (k, n_terms); 0 where the sum is 0."""
        total = self.contributions.sum(axis=1, keepdims=True)
        return self.contributions / np.where(total != 0, total, 1.0)

    def largest(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the names and mean contributions of the ``n`` features that separate the item most from its neighbours."""
        mean = self.contributions.mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:n]
        return [(self.terms[t], float(mean[t])) for t in order if mean[t] > 0]

    def to_frame(self) -> Any:
        """Return all contributions as a frame of pandas: a row for each neighbour and feature, the largest first."""
        k, n = self.contributions.shape
        order = np.argsort(-self.contributions, axis=1, kind="stable")
        rows = np.repeat(np.arange(k), n)
        columns: dict[str, Any] = {"neighbor": (self.indices if self.labels is None else self.labels)[rows]}
        if self.targets is not None:
            columns["target"] = np.asarray(self.targets)[rows]
        if self.votes is not None:
            columns["vote"] = self.votes[rows]
        columns |= {"distance": self.distances[rows], self.by[:-1]: np.array(self.terms, dtype=object)[order.ravel()]}
        if self.item is not None and self.values is not None:
            own, others = zip(*(self._both(row, t) for row, t in zip(rows, order.ravel(), strict=True)), strict=True)
            columns |= {"value": list(own), "neighbor_value": list(others)}
        for name, values in (("contribution", self.contributions), ("share", self.shares)):
            columns[name] = np.take_along_axis(values, order, axis=1).ravel()
        return optional("pandas").DataFrame(columns)

    def plot(self, ax: Axes | None = None, *, most: int = 8) -> Axes:
        """Draw a bar for each neighbour, made of the ``most`` largest parts; see `semimetric.plotting.plot_explanation`."""
        return picture("plot_explanation")(self, ax, most=most)

    def __repr__(self) -> str:
        return "\n".join([self._title, *map(str.rstrip, text_table(list(self._lines()), left=1)), *self._rest])

    def _repr_html_(self) -> str:
        return html_table(list(self._lines()), title=self._title, notes=self._rest)

    @property
    def _title(self) -> str:
        return f"What separates {self._item_name} from its neighbours, by {self.by}"

    @property
    def _item_name(self) -> str:
        return "the item" if self.label is None else _named(self.label, "row")

    @property
    def _rest(self) -> list[str]:
        more = len(self.indices) - _MOST_NEIGHBORS
        notes = [f"{more} more neighbours: see to_frame()"] if more > 0 else []
        linked = "Parts add up to the distance before the link, such as a root, which makes the distance of their sum."
        return notes if self._adds_up else [*notes, linked]

    @property
    def _adds_up(self) -> bool:
        return self.sum_name == "distance"

    def _lines(self) -> Iterator[list[str]]:
        """Return cells of the table that is printed: a heading, and for each neighbour its distance, parts, and their sum."""
        yield ["", self._item_name, "neighbour", "adds", "share"]
        shown = zip(self.names, self.distances, self.contributions, self.shares, strict=True)
        for row, (name, distance, parts, shares) in enumerate(list(shown)[:_MOST_NEIGHBORS]):
            vote = "" if self.votes is None else f", {100 * self.votes[row]:.3g} % of the votes"
            linked = "" if self._adds_up else f", before the link {number_text(parts.sum())}"
            yield [f"{name} at {number_text(distance)}{linked}{vote}", "", "", "", ""]
            order = np.argsort(-parts, kind="stable")
            order = order[: min(_MOST_SHOWN, np.count_nonzero(parts > 0))]
            for t in order:
                both = self._both(row, t)
                own, other = both if self.terms[t] in self.rules else map(cell_text, both)  # rules are not cut
                yield [f"  {self.terms[t]}", own, other, f"{parts[t]:.3g}", f"{100 * shares[t]:.0f} %"]
            total, share = f"{parts[order].sum():.3g}", f"{100 * shares[order].sum():.0f} %"
            last = [f"  {len(order)} of {len(parts)} {self.by}", "", "", total, share]
            yield last if parts.any() else [f"  equal in every {self.by[:-1]}", "", "", "", ""]

    def _both(self, row: Any, term: Any) -> tuple[Any, Any]:
        if self.terms[term] in self.rules:
            rule, others = self.rules[self.terms[term]]
            return rule, others[row]
        if self.item is None or self.values is None or self.terms[term] not in self.features:
            return "", ""
        f = self.features.index(self.terms[term])
        return self.item[f], self.values[row, f]


def _named(label: Any, kind: str) -> str:
    return f"{kind} {label}" if isinstance(label, int | np.integer) else str(label)


class SingleParts(NamedTuple):
    """The parts of a distance that depend on one feature each.

    The first ``n_tables`` parts have a table; the others have only a slope outside the range of their feature, and a table of
    zeros. A feature that may be missing has two parts, because positions beyond its range would meet the level of missing
    values: one for its table and one for its slope outside.
    """

    features: Integers  # (n_parts,), the number of the feature of each part
    n_tables: int
    unit: Floats  # (n_parts,), the length outside the range of the feature that counts as one position
    scales: Scales  # the tables and slopes, as kernels take them
    # (n_parts,), True if the position of a part counts the position in the range, and the excess outside of it.
    in_range: NDArray[np.bool_]
    counts_excess: NDArray[np.bool_]  # (n_parts,)

    def positions(self, located: Located, excess: Floats) -> Floats:
        """Return positions of located items in every part, shape (n_items, n_parts); ``excess`` is that of `Grid.excess`."""
        f = self.features
        inside = located.lower[:, f] + located.fraction[:, f]
        outside = excess[:, f] / self.unit
        if self.in_range.all() and self.counts_excess.all():
            return inside + outside
        return np.where(self.in_range, inside, 0.0) + np.where(self.counts_excess, outside, 0.0)


def single_groups(embedding: PairMap) -> Integers:
    """Return the numbers of the groups of one feature whose tables are in memory; none if symmetry is by swapping."""
    held = [v.held for v in embedding.vertices] if isinstance(embedding, PairEmbedding) else None
    single = [g for g, group in enumerate(embedding.groups) if len(group) == 1 and (held is None or held[g])]
    return np.array(single if embedding.continuous else [], dtype=np.int64)


def part_of(embedding: PairMap, weights: Floats, groups: Integers) -> tuple[PairMap, Floats]:
    """Return the embedding of some of the groups, over the features of these groups alone, and the weights of its columns."""
    features = np.unique([f for g in groups for f in embedding.groups[g]]).astype(np.int64)
    return embedding.select(groups, features), weights[np.isin(embedding.group_of_column, groups)]


def single_parts(embedding: PairMap, weights: Floats, epsilon: Floats, *, transposed: bool = False) -> SingleParts:
    """Return the parts of single features; the first vector runs along rows of a table, along columns if ``transposed``."""
    grid = embedding.grid
    groups = single_groups(embedding)
    with_table = np.array([embedding.groups[g][0] for g in groups], dtype=np.int64)
    missing = np.array(grid.missing)
    sloped = np.flatnonzero(epsilon.any(axis=1))
    features = np.concatenate([with_table, sloped[missing[sloped] | ~np.isin(sloped, with_table)]])
    tables = []
    if len(groups):
        part, w = part_of(embedding, weights, groups)
        tables = [table.values.T if transposed else table.values for table in part.tables(w)]
    has_table = np.arange(len(features)) < len(with_table)
    may_miss = missing[features]
    size = np.where(may_miss & ~has_table, 1, grid.sizes[features])
    width = (grid.high - grid.low)[features]
    unit = np.where(width > 0, width, 1.0)
    tables += [np.zeros((c, c)) for c in size[len(with_table) :]]
    flat = np.concatenate([t.ravel() for t in tables]) if tables else np.empty(0)
    slopes = np.where((may_miss & has_table)[:, None], 0.0, epsilon[features] * unit[:, None])
    scales = Scales(size, _starts(size * size), _starts(2 * np.maximum(size - 1, 1)), slopes, flat)
    return SingleParts(features, len(with_table), unit, scales, has_table | ~may_miss, ~(has_table & may_miss))


def _starts(counts: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts


_STEPS = 1 << 22  # the most steps of features along directions that are held at once


def feature_parts(
    embedding: PairMap, weights: Floats, directions: Directions | None, x: GridPoints, y: GridPoints, epsilon: Floats
) -> Floats:
    """Return what every raw feature adds to the distances of the points x to the same points y, shape (n, n_features)."""
    parts = parts_of_singles(embedding, weights, x, y, epsilon)
    left, right = (with_directions(directions, side.raw) for side in (x, y))
    for g, group in enumerate(embedding.groups):
        if len(group) > 1:
            parts[:, sorted(group)] += _members_of_joint(embedding, weights, g, left, right)
    n = x.raw.shape[1]
    if directions is None:
        return parts
    size = max(_STEPS // max(len(directions.names) * n, 1), 1)
    divided = [_divided(directions, x.raw[b], y.raw[b], parts[b, n:]) for b in blocks(len(parts), size)]
    return parts[:, :n] + np.concatenate(divided)


def parts_of_singles(embedding: PairMap, weights: Floats, x: GridPoints, y: GridPoints, epsilon: Floats) -> Floats:
    """Return what single features, and slopes outside their range, add between points y (n) and as many points x, or one."""
    rows = np.arange(len(y.raw))
    terms = embedding.contributions(x.items, rows if len(x.raw) == len(rows) else np.zeros_like(rows), y.items, rows, weights)
    parts = np.abs(rise_outside(x.excess, epsilon) - rise_outside(y.excess, epsilon))
    for g, group in enumerate(embedding.groups):
        if len(group) == 1:
            parts[:, group[0]] += terms[:, g]
    return parts


def _members_of_joint(embedding: PairMap, weights: Floats, g: int, left: Floats, right: Floats) -> Floats:
    """Return what every member of group g adds to the term of the group, in the order of their numbers: shape (n, n_members).

    The values of y take the place of those of x one by one, in all orders that follow a circle of the members, both ways, and a
    member has the mean of what its own replacement adds. These are all orders of two or three members, for which the parts are
    the Shapley values (Shapley 1953). The value of the table between equal points, which is 0 unless ``axioms=None``, is
    divided equally.
    """
    part, w = part_of(embedding, weights, np.array([g]))
    features = np.array(sorted(embedding.groups[g]))
    x, y = left[:, features], right[:, features]
    n, rows, members = len(features), np.arange(len(x)), np.arange(len(features))

    def value(start: int, length: int) -> Floats:
        """Return the term between x and the point that has ``length`` members from y, the first of them ``start``."""
        mixed = np.where((members - start) % n < length, y, x)
        return part.contributions(part.locate(x), rows, part.locate(mixed), rows, w)[:, 0]

    none, whole = value(0, 0), value(0, n)
    values = [[none, *(value(s, length) for length in range(1, n)), whole] for s in range(n)]
    added = np.zeros((len(x), n))
    for m in range(n):
        for k in range(n):
            added[:, m] += values[m - k][k + 1] - values[m - k][k] + values[m][k + 1] - values[(m + 1) % n][k]
    return added / (2 * n) + none[:, None] / n


def _divided(directions: Directions, x: Floats, y: Floats, parts: Floats) -> Floats:
    """Return the ``parts`` (n, n_directions) that directions add, divided among the raw features: shape (n, n_features).

    A feature that pulls the way in which x and y differ along the direction has a share in proportion to its step; one that
    pulls back has none. Where the steps cancel, shares are in proportion to the lengths of the steps; where there are none,
    features that the direction uses have equal shares.
    """
    steps = directions.steps(x, y)
    way = np.sign(steps.sum(axis=2, keepdims=True))
    shares = np.maximum(way * steps, 0.0)
    for instead in (np.abs(steps), np.broadcast_to(directions.uses, steps.shape)):
        empty = shares.sum(axis=2) == 0
        shares[empty] = instead[empty]
    return np.einsum("nd,ndf->nf", parts / shares.sum(axis=2), shares)
