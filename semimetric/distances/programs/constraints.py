"""Knowledge of a distance beside its axioms: the objects that `Program` takes as ``constraints``.

A constraint becomes linear inequalities on the weights of the columns, or it ties columns to one another. It holds everywhere
between the knots, not only at them, because a table is linear on every Kuhn simplex of its grid (docs/mathematics.md, section
2); the docstring of each class says why. Constraints can be combined with one another and with every ``axioms``. All are
statements about distances in the units of the targets; for the link "sqrt" the inequalities are on squared distances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha
from ..features.linear_directions import Directions, with_directions
from ..pairs.base import PairMap
from ..pairs.triangle_inequality import Triangles
from .inequalities import Inequalities

Features: TypeAlias = Sequence[int | str] | None


@dataclass(frozen=True, eq=False)
class TableLayout:
    """The columns of the design matrix as a constraint needs them."""

    embedding: PairMap
    names: tuple[str, ...]  # the names of the raw features
    directions: Directions | None
    prior: Floats  # (n_columns,): the weights of a weighted L1 distance that is > 0 between different values
    unit: float  # the unit of the program: sums of targets, squares for the link "sqrt", are divided by it
    power: float = 1  # the power of a distance that the sum is: 2 for the link "sqrt", 1 / p for the power p

    def scaled(self, distances: Floats, kind: str) -> Floats:
        """Return distances in the unit of the program; refuse those that overflow as those of a constraint ``kind``."""
        with np.errstate(over="ignore"):
            scaled = (distances / self.unit ** (1.0 / self.power)) ** self.power
        if not np.isfinite(scaled).all():
            raise InputError(
                f"{kind} has the distance {np.max(distances):g}, beyond floating point beside targets of mean size "
                f"{self.unit ** (1.0 / self.power):g}; give distances on the scale of the targets"
            )
        return scaled

    def numbers(self, features: Features, kind: str) -> list[int]:
        """Return the numbers of the given features, for each of which a constraint can be guaranteed: see `numeric`."""
        return numeric(self.embedding, self.names, self.directions, features, kind)

    def tables(self, feature: int) -> list[tuple[NDArray[np.int64], int]]:
        """Return the tables of the groups that contain the feature, each with the number of its group.

        A table holds the column of every vertex (a, b). Its first axis is the position of a along the feature, its second axis
        that of b; the positions along the other features of the group follow.
        """
        found = []
        triangles = Triangles.of(self.embedding)
        for owner, columns in zip(triangles.owners, triangles.tables, strict=True):
            group = self.embedding.groups[owner]
            if feature in group:
                sizes = [int(self.embedding.grid.sizes[f]) for f in group]
                axis = group.index(feature)
                table = np.moveaxis(columns.reshape(*sizes, *sizes), (axis, axis + len(group)), (0, 1))
                found.append((table, owner))
        return found


def numeric(
    embedding: PairMap, names: Sequence[str], directions: Directions | None, features: Features, kind: str
) -> list[int]:
    """Return the numbers of the given features for a constraint ``kind``; None stands for all that qualify.

    A feature qualifies if it is numeric, is never missing, and no direction uses it; others are refused.
    """
    grid, n = embedding.grid, len(names)
    used = np.zeros(n, dtype=bool) if directions is None else np.atleast_1d(directions.uses.any(axis=0))
    qualifies = [grid.kinds[f] == "numeric" and not grid.missing[f] and not used[f] for f in range(n)]
    if isinstance(features, str) or (features is not None and not isinstance(features, Iterable)):
        raise InputError(f"{kind} has features={features!r}; a list of names or numbers is required: write [{features!r}]")
    if features is None and not any(qualifies):
        raise NotSupportedError(
            f"{kind} would hold of no feature: it is guaranteed of numbers that are always there and that no direction uses, "
            'and there are none; use directions=None and Columns(missing="error"), or leave it out'
        )
    if features is None:
        return [f for f in range(n) if qualifies[f]]
    chosen = []
    for feature in features:
        number = list(names).index(feature) if isinstance(feature, str) and feature in names else feature
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 0 <= number < n:
            raise InputError(f"{kind} names the feature {feature!r}; a name of a feature or a number below {n} is required")
        if not qualifies[number]:
            reason = "a direction uses it" if used[number] else f"it is {grid.kinds[number]}"
            reason = "missing values have a level in its table" if grid.missing[number] else reason
            raise NotSupportedError(
                f"{kind} cannot be guaranteed of feature {names[number]!r}: {reason}; leave the feature out, or use "
                'directions=None and Columns(missing="error")'
            )
        chosen.append(int(number))
    return chosen


_UNIFORM = 1e-9  # knots count as uniform if the widths of their cells differ by at most this share of the range


class Constraint(ABC):
    """A statement about the distance that holds for every pair of points."""

    # True if the statement is about raw features, so that a direction that uses one would void it
    of_features: ClassVar[bool] = False

    @abstractmethod
    def rows(self, layout: TableLayout) -> Inequalities:
        """Return the inequalities G w >= h on the weights; there are none where the columns alone impose the constraint."""

    def proof(self, layout: TableLayout) -> Inequalities:
        """Return the inequalities that prove the statement of whole tables, in which no vertices are tied any more."""
        return self.rows(layout)

    def ties(self, embedding: PairMap, names: Sequence[str], directions: Directions | None) -> set[int]:
        """Return the numbers of the features whose tables may depend on the difference x - y alone."""
        return set()


@storable
@dataclass(frozen=True)
class Monotone(Constraint):
    """Further apart on the scale of a feature is never closer: d(x', y') <= d(x, y) for x <= x' <= y' <= y along it.

    The inequalities are w_{a,b+1} >= w_ab and w_ab >= w_{a+1,b} wherever a <= b along the feature, for any positions along the
    other features, and the same with a and b exchanged. They hold off the grid too: moving y by one step compares the values
    of d at the two ends of an edge of one Kuhn simplex, and the inequalities order these. Monotone scales need no inequalities.
    A direction that uses the feature would void the constraint, so that is refused.

    Parameters
    ----------
    features : sequence of int or str, or None
        The features by number or name. None takes all numeric features that are never missing and that no direction uses.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, Monotone, Program
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, program=Program(constraints=[Monotone([0])])).fit(pairs, y)
    >>> d = model.semimetric_
    >>> d([0.2, 0.5], [0.6, 0.5]) <= d([0.1, 0.5], [0.9, 0.5])
    True
    """

    of_features = True
    features: Features = None

    def rows(self, layout: TableLayout) -> Inequalities:
        n = layout.embedding.n_columns
        pairs = [np.empty((0, 2), np.int64)]
        for f in layout.numbers(self.features, "Monotone"):
            for t, _ in layout.tables(f):
                for table in (t, np.swapaxes(t, 0, 1)):  # the rows below are for a <= b; the swapped table has b <= a
                    for a in range(len(table)):
                        pairs.append(_column_pairs(table[a, a + 1 :], table[a, a:-1]))
                        pairs.append(_column_pairs(table[:a, a], table[1 : a + 1, a]))
        return _ordered(np.concatenate(pairs), n)


def _ordered(pairs: Integers, n: int) -> Inequalities:
    """Require the first column of each pair to be not smaller than the second; equal pairs count once."""
    larger, smaller = np.unique(pairs, axis=0).T
    informative = (larger < n) & (smaller < n) & (larger != smaller)
    return Inequalities.homogeneous(_matrix([(larger[informative], 1.0), (smaller[informative], -1.0)], n))


def _column_pairs(larger: NDArray[np.int64], smaller: NDArray[np.int64]) -> Integers:
    return np.column_stack([larger.ravel(), smaller.ravel()])


def _matrix(entries: list[tuple[Integers, float]], n: int) -> sparse.csr_array:
    """Return a matrix (k, n) whose rows take one entry from each list; entries of columns >= n are left out."""
    k = len(entries[0][0])
    columns = np.concatenate([c for c, _ in entries])
    values = np.repeat([v for _, v in entries], k)
    rows = np.tile(np.arange(k), len(entries))
    exists = columns < n
    return sparse.csr_array((values[exists], (rows[exists], columns[exists])), shape=(k, n))


@storable
@dataclass(frozen=True)
class Bounded(Constraint):
    """d(x, y) <= ceiling in the range of the knots.

    The inequalities are w_S <= B_S for every group S. The bounds B_S sum to the ceiling, in proportion to the largest weights
    of the weighted L1 distance that fits the data. An interpolated value is at most that of its largest vertex, so the bound
    holds off the grid. Outside the range of the knots a distance goes on growing, so ``Tables(outside="clip")`` is required;
    what still grows there is the slope of ``delta``, which keeps different points apart.

    Parameters
    ----------
    ceiling : float
        The largest distance, > 0.

    Examples
    --------
    >>> from semimetric import Bounded, DistanceRegressor, Program, Tables
    >>> model = DistanceRegressor(tables=Tables(outside="clip"), program=Program(constraints=[Bounded(2.0)]))
    """

    ceiling: float

    def __post_init__(self) -> None:
        check_alpha("ceiling", self.ceiling, strict=True)

    def rows(self, layout: TableLayout) -> Inequalities:
        n = layout.embedding.n_columns
        owner = layout.embedding.group_of_column
        of_scale = ~np.isin(owner, Triangles.of(layout.embedding).owners)
        largest = np.zeros(len(layout.embedding.groups))
        np.maximum.at(largest, owner[~of_scale], layout.prior[~of_scale])
        np.add.at(largest, owner[of_scale], layout.prior[of_scale])  # a scale's largest value is the sum of its rises
        bounds = layout.scaled(np.array(self.ceiling), "Bounded") * (largest / max(largest.sum(), 1e-300))
        # a row for every column of a table, then one for the sum of the columns of every scale
        of_tables = sparse.csr_array(-sparse.identity(n, format="csr"))[np.flatnonzero(~of_scale)]
        scales = np.unique(owner[of_scale])
        entries = (np.searchsorted(scales, owner[of_scale]), np.flatnonzero(of_scale))
        of_scales = sparse.csr_array((-np.ones(of_scale.sum()), entries), shape=(len(scales), n))
        matrix = sparse.csr_array(sparse.vstack([of_tables, of_scales], format="csr"))
        return Inequalities(matrix, -np.concatenate([bounds[owner[~of_scale]], bounds[scales]]))


@storable
@dataclass(frozen=True)
class TranslationInvariant(Constraint):
    """A feature's part of the distance depends on the difference x - y alone, in the range of the knots.

    Vertices (a, b) with the same b - a share a column. On uniform knots the diagonal that cuts a cell into simplices runs along
    x - y = const, so the interpolated distance depends on x - y alone too. On other knots, and for groups of several features,
    it does not, so these are refused.

    Parameters
    ----------
    features : sequence of int or str, or None
        The features by number or name. None takes all numeric features that are never missing and that no direction uses.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Program, Tables, TranslationInvariant
    >>> model = DistanceRegressor(tables=Tables(knots="uniform"), program=Program(constraints=[TranslationInvariant([0])]))
    """

    of_features = True
    features: Features = None

    def rows(self, layout: TableLayout) -> Inequalities:
        return Inequalities.homogeneous(sparse.csr_array((0, layout.embedding.n_columns)))

    def proof(self, layout: TableLayout) -> Inequalities:
        pairs = [np.empty((0, 2), np.int64)]
        for f in layout.numbers(self.features, "TranslationInvariant"):
            for t, _ in layout.tables(f):
                pairs.append(_column_pairs(t[1:, 1:], t[:-1, :-1]))
        return _ordered(np.concatenate([*pairs, *(p[:, ::-1] for p in pairs)]), layout.embedding.n_columns)

    def ties(self, embedding: PairMap, names: Sequence[str], directions: Directions | None) -> set[int]:
        found = set(numeric(embedding, names, directions, self.features, "TranslationInvariant"))
        for f in found:
            steps = np.diff(embedding.grid.knots[f])
            if any(f in g and len(g) > 1 for g in embedding.groups):
                raise NotSupportedError(
                    f"TranslationInvariant fails off the grid in joint groups, and feature {names[f]!r} is in one; model it "
                    "alone"
                )
            if len(steps) and np.ptp(steps) > _UNIFORM * steps.sum():
                raise NotSupportedError(
                    f"TranslationInvariant needs uniform knots, and those of feature {names[f]!r} are not; use "
                    'Tables(knots="uniform")'
                )
        return found


@storable
@dataclass(frozen=True)
class Concave(Constraint):
    """Differences saturate: a feature's part of the distance is a concave function of |x - y|, in the range of the knots.

    The inequalities are f(k + 1) - f(k) <= f(k) - f(k - 1) for the weight f(k) of the difference k, with f(0) = 0: a piecewise
    linear function is concave if its slopes fall. The constraint needs `TranslationInvariant` of the same features, because
    otherwise inequalities at the vertices do not guarantee it between them.

    Parameters
    ----------
    features : sequence of int or str, or None
        The features by number or name. None takes all numeric features that are never missing and that no direction uses.

    Examples
    --------
    >>> from semimetric import Concave, DistanceRegressor, Program, Tables, TranslationInvariant
    >>> program = Program(constraints=[TranslationInvariant([0]), Concave([0])])
    >>> model = DistanceRegressor(tables=Tables(knots="uniform"), program=program)
    """

    of_features = True
    features: Features = None

    def rows(self, layout: TableLayout) -> Inequalities:
        for f in layout.numbers(self.features, "Concave"):
            vertices = getattr(layout.embedding, "vertices", ())
            if not all(vertices and vertices[owner].by_difference for _, owner in layout.tables(f)):
                raise NotSupportedError(
                    f"Concave at vertices guarantees nothing between them for feature {layout.names[f]!r}, whose table "
                    'does not depend on the difference alone; add TranslationInvariant of the feature, with tables="full"'
                )
        return self.proof(layout)

    def proof(self, layout: TableLayout) -> Inequalities:
        n = layout.embedding.n_columns
        triples = [np.empty((0, 3), np.int64)]
        for f in layout.numbers(self.features, "Concave"):
            for t, _ in layout.tables(f):
                for line in (t[0], t[:, 0]):
                    triples.append(np.column_stack([line[1:-1], line[2:], line[:-2]]))
        middle, after, before = np.unique(np.concatenate(triples), axis=0).T
        return Inequalities.homogeneous(_matrix([(middle, 2.0), (after, -1.0), (before, -1.0)], n))


@storable
@dataclass(frozen=True, eq=False)
class AtLeast(Constraint):
    """d(x, y) >= the distance given, at the pairs given.

    The inequality is a·w >= D for the row a of the pair and its distance D. It is exact at these points, wherever in the range
    of the knots they are, and says nothing about other points.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features)
        The points as numbers, in the range of the knots.
    distances : array-like of shape (n_pairs,)
        The smallest distance of each pair, >= 0.

    Examples
    --------
    >>> from semimetric import AtLeast, DistanceRegressor, Program
    >>> model = DistanceRegressor(program=Program(constraints=[AtLeast([[[0.2, 0.5], [0.4, 0.5]]], [0.5])]))
    """

    pairs: ArrayLike
    distances: ArrayLike

    def rows(self, layout: TableLayout) -> Inequalities:
        return _rows_at_pairs(layout, self.pairs, self.distances, type(self).__name__)


@storable
@dataclass(frozen=True, eq=False)
class AtMost(Constraint):
    """d(x, y) <= the distance given, at the pairs given: the opposite of `AtLeast`.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features)
        The points as numbers, in the range of the knots.
    distances : array-like of shape (n_pairs,)
        The largest distance of each pair, >= 0.

    Examples
    --------
    >>> from semimetric import AtMost, DistanceRegressor, Program
    >>> model = DistanceRegressor(program=Program(constraints=[AtMost([[[0.2, 0.2], [0.8, 0.8]]], [1.0])]))
    """

    pairs: ArrayLike
    distances: ArrayLike

    def rows(self, layout: TableLayout) -> Inequalities:
        rows = _rows_at_pairs(layout, self.pairs, self.distances, type(self).__name__)
        return Inequalities(sparse.csr_array(-rows.matrix), -rows.bound)


def _rows_at_pairs(layout: TableLayout, pairs: ArrayLike, distances: ArrayLike, kind: str) -> Inequalities:
    """Return the inequalities a·w >= D, one for each of the pairs, whose row is a and whose distance is D."""
    n = len(layout.names)
    try:
        points, values = as_floats(pairs, "pairs"), as_floats(distances, "distances")
    except InputError as error:
        raise InputError(
            f"{kind} has pairs or distances that are no arrays of numbers ({error}); give points as numbers"
        ) from error
    if values.ndim != 1:
        raise InputError(f"{kind} has distances of shape {values.shape}; one distance for each pair is required: give a list")
    if points.shape != (len(values), 2, n) or not np.isfinite(points).all():
        raise InputError(
            f"{kind} has pairs of shape {points.shape} for {len(values)} distances; finite points of shape "
            f"({len(values)}, 2, {n}) are required"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"{kind} has distances that are negative or not finite; numbers >= 0 are required")
    items = with_directions(layout.directions, points.reshape(-1, n))
    if layout.embedding.grid.excess(items).any():
        raise InputError(
            f"{kind} has points outside the knots, where the tables end; give points in range, or Tables(knots=) that hold them"
        )
    located = layout.embedding.locate(items)
    first = 2 * np.arange(len(values))
    return Inequalities(layout.embedding.csr(located, first, located, first + 1), layout.scaled(values, kind))
