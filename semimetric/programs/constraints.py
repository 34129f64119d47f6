"""What is known of a distance beside its axioms, as linear rows on the columns or as columns that are tied.

Each holds everywhere between the knots, not only at them, because a table is linear on every Kuhn simplex of its grid
(docs/mathematics.md, section 2); each class says why. They go together, and with every ``axioms``. All are statements about
distances in the units of the targets; for the link "sqrt" rows are on their squares.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_alpha
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.triangle_inequality import Triangles
from .inequalities import Inequalities

__all__ = ["AtLeast", "AtMost", "Bounded", "Concave", "TableLayout", "Monotone", "Shape", "TranslationInvariant"]

Features = Sequence[int | str] | None

_EVEN = 1e-9  # of the range: knots that differ by less from uniform ones are uniform


@dataclass(frozen=True, eq=False)
class TableLayout:
    """What a shape may ask of the columns.

    Attributes
    ----------
    embedding : PairMap
    names : tuple of str
        Of the raw features.
    directions : Directions or None
    prior : ndarray
        Weights of a weighted L1 distance, > 0 between different values.
    unit : float
        Of the program: targets, squared for the link "sqrt", are divided by it.
    power : int
        2 for the link "sqrt".
    """

    embedding: PairMap
    names: tuple[str, ...]
    directions: Directions | None
    prior: Floats
    unit: float
    power: int = 1

    def scaled(self, distances: Floats) -> Floats:
        """Distances in the unit of the program."""
        return distances**self.power / self.unit

    def numbers(self, features: Features, shape: str) -> list[int]:
        """Numeric features that no direction uses and that are never missing, by number; all of those for None.

        Raises
        ------
        InputError, NotSupportedError
        """
        return numeric(self.embedding, self.names, self.directions, features, shape)

    def tables(self, feature: int) -> list[tuple[NDArray[np.int64], int]]:
        """Columns of the groups that hold the feature, with a's and b's place along it as the first two axes."""
        found, triangles = [], Triangles.of(self.embedding)
        for owner, columns in zip(triangles.owners, triangles.tables, strict=True):
            group = self.embedding.groups[owner]
            if feature in group:
                sizes, p = [int(self.embedding.grid.sizes[f]) for f in group], group.index(feature)
                found.append((np.moveaxis(columns.reshape(*sizes, *sizes), (p, p + len(group)), (0, 1)), owner))
        return found


def numeric(
    embedding: PairMap, names: Sequence[str], directions: Directions | None, features: Features, shape: str
) -> list[int]:
    """See `TableLayout.numbers`."""
    grid, n = embedding.grid, len(names)
    used = np.zeros(n, dtype=bool) if directions is None else np.atleast_1d(directions.uses.any(axis=0))
    fit = [grid.kinds[f] == "numeric" and not grid.missing[f] and not used[f] for f in range(n)]
    if isinstance(features, str) or (features is not None and not isinstance(features, Iterable)):
        raise InputError(f"{shape} has features={features!r}; a list of names or numbers is required: write [{features!r}]")
    if features is None and not any(fit):
        raise NotSupportedError(
            f"{shape} would hold of no feature: it is guaranteed of numbers that are always there and that no direction uses, "
            'and there are none; use directions=None and missing="error", or leave it out'
        )
    if features is None:
        return [f for f in range(n) if fit[f]]
    chosen = []
    for feature in features:
        number = list(names).index(feature) if isinstance(feature, str) and feature in names else feature
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 0 <= number < n:
            raise InputError(f"{shape} names the feature {feature!r}; a name of a feature or a number below {n} is required")
        if not fit[number]:
            reason = "a direction uses it" if used[number] else f"it is {grid.kinds[number]}"
            reason = "missing values have a level in its table" if grid.missing[number] else reason
            raise NotSupportedError(
                f"{shape} cannot be guaranteed of feature {names[number]!r}: {reason}; leave the feature out, or use "
                'directions=None and missing="error"'
            )
        chosen.append(int(number))
    return chosen


class Shape(ABC):
    """A statement about the distance.

    Attributes
    ----------
    of_features : bool
        Whether it is about raw features, which directions that use them would void.
    """

    of_features: ClassVar[bool] = False

    @abstractmethod
    def rows(self, layout: TableLayout) -> Inequalities:
        """G w >= h; none where the columns impose it."""

    def ties(self, embedding: PairMap, names: Sequence[str], directions: Directions | None) -> set[int]:
        """Features whose tables depend on the difference alone."""
        return set()


@dataclass(frozen=True)
class Monotone(Shape):
    """Further apart on the scale of a feature is never closer: d(x', y') <= d(x, y) for x <= x' <= y' <= y along it.

    w_{a,b+1} >= w_ab and w_ab >= w_{a+1,b} wherever a <= b along the feature, the other coordinates free, and mirrored. Off
    the grid: moving y by one step compares the values of d at the two ends of a step of one Kuhn simplex, which the rows order.
    Monotone scales need no rows. A direction that uses the feature would void it, so that is refused.

    Parameters
    ----------
    features : sequence of int or str, or None
        None: all numbers that are always there and that no direction uses.
    """

    of_features = True
    features: Features = None

    def rows(self, layout: TableLayout) -> Inequalities:
        pairs, n = [np.empty((0, 2), np.int64)], layout.embedding.n_columns
        for f in layout.numbers(self.features, "Monotone"):
            for t, _ in layout.tables(f):
                for table in (t, np.swapaxes(t, 0, 1)):  # the second has b <= a
                    for a in range(len(table)):
                        pairs.append(_ordered(table[a, a + 1 :], table[a, a:-1]))
                        pairs.append(_ordered(table[:a, a], table[1 : a + 1, a]))
        larger, smaller = np.unique(np.concatenate(pairs), axis=0).T
        says = (larger < n) & (smaller < n) & (larger != smaller)
        return Inequalities.homogeneous(_matrix([(larger[says], 1.0), (smaller[says], -1.0)], n))


def _ordered(larger: NDArray[np.int64], smaller: NDArray[np.int64]) -> Integers:
    return np.column_stack([larger.ravel(), smaller.ravel()])


def _matrix(entries: list[tuple[Integers, float]], n: int) -> sparse.csr_array:
    """Rows with one entry of each list; columns ``n`` and beyond are none."""
    k = len(entries[0][0])
    columns = np.concatenate([c for c, _ in entries])
    values, rows = np.repeat([v for _, v in entries], k), np.tile(np.arange(k), len(entries))
    real = columns < n
    return sparse.csr_array((values[real], (rows[real], columns[real])), shape=(k, n))


@dataclass(frozen=True)
class Bounded(Shape):
    """d(x, y) <= ceiling in the range of the knots.

    w_S <= B_S for every group S, with sum_S B_S = the ceiling, in proportion to the largest weights of the weighted L1 distance
    that fits the data. An interpolation is at most its largest vertex, so it holds off the grid. Outside the range slopes go
    on, so ``outside="clip"`` is required; what is left there is the slope of ``delta``, which keeps different points apart.

    Parameters
    ----------
    ceiling : float
        > 0.
    """

    ceiling: float

    def __post_init__(self) -> None:
        check_alpha("ceiling", self.ceiling, strict=True)

    def rows(self, layout: TableLayout) -> Inequalities:
        e, scales = layout.embedding, _scales(layout.embedding)
        owner, n = e.group_of_column, e.n_columns
        largest = np.zeros(len(e.groups))
        np.maximum.at(largest, owner[~scales], layout.prior[~scales])
        np.add.at(largest, owner[scales], layout.prior[scales])  # the rises of a scale add up
        share = layout.scaled(np.array(self.ceiling)) * largest / largest.sum()
        each = sparse.csr_array(-sparse.identity(n, format="csr"))[np.flatnonzero(~scales)]
        summed = np.unique(owner[scales])
        total = sparse.csr_array((-np.ones(scales.sum()), (np.searchsorted(summed, owner[scales]), np.flatnonzero(scales))),
                                 shape=(len(summed), n))  # fmt: skip
        bound = -np.concatenate([share[owner[~scales]], share[summed]])
        return Inequalities(sparse.csr_array(sparse.vstack([each, total], format="csr")), bound)


def _scales(embedding: PairMap) -> NDArray[np.bool_]:
    """Columns of monotone scales."""
    tables = Triangles.of(embedding).owners
    return ~np.isin(embedding.group_of_column, tables)


@dataclass(frozen=True)
class TranslationInvariant(Shape):
    """A feature's part of the distance depends on the difference x - y alone, in the range of the knots.

    Columns (a, b) with the same b - a are tied. On uniform knots the diagonal that cuts a cell runs along x - y = const, so the
    interpolation depends on x - y too; on other knots, and for joint groups, it does not, so they are refused.

    Parameters
    ----------
    features : sequence of int or str, or None
        None: all numbers that are always there and that no direction uses.
    """

    of_features = True
    features: Features = None

    def rows(self, layout: TableLayout) -> Inequalities:
        return Inequalities.homogeneous(_matrix([(np.empty(0, np.int64), 1.0)], layout.embedding.n_columns))

    def ties(self, embedding: PairMap, names: Sequence[str], directions: Directions | None) -> set[int]:
        found = set(numeric(embedding, names, directions, self.features, "TranslationInvariant"))
        for f in found:
            steps = np.diff(embedding.grid.knots[f])
            if any(f in g and len(g) > 1 for g in embedding.groups):
                raise NotSupportedError(
                    f"TranslationInvariant fails off the grid in joint groups, and feature {names[f]!r} is in one; model it "
                    "alone"
                )
            if len(steps) and np.ptp(steps) > _EVEN * steps.sum():
                raise NotSupportedError(
                    f'TranslationInvariant needs uniform knots, and those of feature {names[f]!r} are not; use knots="uniform"'
                )
        return found


@dataclass(frozen=True)
class Concave(Shape):
    """Differences saturate: a feature's part of the distance is a concave function of |x - y|, in the range of the knots.

    f(k + 1) - f(k) <= f(k) - f(k - 1) for the weights f(k) of difference k, f(0) = 0: a piecewise linear function is concave if
    its slopes fall. It needs `TranslationInvariant` of the same features: otherwise rows at vertices do not guarantee it.

    Parameters
    ----------
    features : sequence of int or str, or None
        None: all numbers that are always there and that no direction uses.
    """

    of_features = True
    features: Features = None

    def rows(self, layout: TableLayout) -> Inequalities:
        triples, n = [np.empty((0, 3), np.int64)], layout.embedding.n_columns
        for f in layout.numbers(self.features, "Concave"):
            for t, owner in layout.tables(f):
                if not _tied(layout.embedding, owner):
                    raise NotSupportedError(
                        f"Concave at vertices guarantees nothing between them for feature {layout.names[f]!r}, whose table "
                        'does not depend on the difference alone; add TranslationInvariant of the feature, with tables="full"'
                    )
                for line in (t[0], t[:, 0]):
                    triples.append(np.column_stack([line[1:-1], line[2:], line[:-2]]))
        middle, after, before = np.unique(np.concatenate(triples), axis=0).T
        return Inequalities.homogeneous(_matrix([(middle, 2.0), (after, -1.0), (before, -1.0)], n))


def _tied(embedding: Any, group: int) -> bool:
    return bool(getattr(embedding, "vertices", ()) and embedding.vertices[group].by_difference)


@dataclass(frozen=True, eq=False)
class AtLeast(Shape):
    """d(x, y) >= the distance given, at the pairs given.

    a·w >= D for the row a of the pair: exact at these points, wherever in the range they are. Of other points it says nothing.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features)
        Points, numbers only, in the range of the knots.
    distances : array-like of shape (n_pairs,)
    """

    pairs: ArrayLike
    distances: ArrayLike

    def rows(self, layout: TableLayout) -> Inequalities:
        return _at(layout, self.pairs, self.distances, type(self).__name__)


@dataclass(frozen=True, eq=False)
class AtMost(Shape):
    """d(x, y) <= the distance given, at the pairs given: as `AtLeast`, with the sign turned.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features)
    distances : array-like of shape (n_pairs,)
    """

    pairs: ArrayLike
    distances: ArrayLike

    def rows(self, layout: TableLayout) -> Inequalities:
        rows = _at(layout, self.pairs, self.distances, type(self).__name__)
        return Inequalities(sparse.csr_array(-rows.matrix), -rows.bound)


def _at(layout: TableLayout, pairs: ArrayLike, distances: ArrayLike, shape: str) -> Inequalities:
    try:
        points, values, n = np.asarray(pairs, dtype=np.float64), np.asarray(distances, dtype=np.float64), len(layout.names)
    except (TypeError, ValueError) as error:
        raise InputError(f"{shape} has pairs or distances that are no arrays of numbers; give points as numbers") from error
    if values.ndim != 1:
        raise InputError(f"{shape} has distances of shape {values.shape}; one distance for each pair is required: give a list")
    if points.shape != (len(values), 2, n) or not np.isfinite(points).all():
        raise InputError(
            f"{shape} has pairs of shape {points.shape} for {len(values)} distances; finite points of shape "
            f"({len(values)}, 2, {n}) are required"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"{shape} has distances that are negative or not finite; numbers >= 0 are required")
    items = points.reshape(-1, n)
    items = layout.directions.append(items) if layout.directions else items
    if layout.embedding.grid.excess(items).any():
        raise InputError(
            f"{shape} has points outside the knots, where the tables end; give points in range, or knots= that hold them"
        )
    located, k = layout.embedding.locate(items), 2 * np.arange(len(values))
    return Inequalities(layout.embedding.csr(located, k, located, k + 1), layout.scaled(values))
