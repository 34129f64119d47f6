"""The learned distance, which learners return and everything else uses.

    d(x, y) = h( sum_S w_S · ID([x_S, y_S]) + sum_b u_b D_b(x, y) + sum_f |r_f(x) - r_f(y)| )

S runs over groups of features, which are raw features and directions; leaves of trees are categories. D_b are base distances.
r_f is the rise outside the range of the grid, for raw features and directions alike: the slope above the range times how far x
lies above it, or minus the slope below times how far x lies below. h is the link, an increasing function: the identity, a
power, or pieces that are concave (`links`). With the square root the sum is the squared distance, which base distances enter
squared. The last sum is a continuous pseudometric, so it keeps every axiom (docs/mathematics.md, section 2).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import product
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.arrays import as_floats, n_axes
from ..._foundation.errors import InputError, NotSupportedError, StorageError
from ..._foundation.exported import exporter
from ..._foundation.files import real_path, write_state
from ..._foundation.optional_imports import optional
from ..._foundation.sources import methods_read_sources
from ..._foundation.stored import state_of, storable
from ..._foundation.tables import named_rows, row_labels
from ..._foundation.text import cell_text, html_table
from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, FeatureChoice, Floats, FrozenValue, Integers, distinct, freeze
from ..._foundation.validation import check_alpha, check_choice, check_same_length
from ..._kernels.metric import make_metric
from ...data.grid import schema_of
from ...data.rows import single_row
from ...data.schema import Feature, Schema, column_numbers
from ..features.leaf_rules import leaf_rules
from ..features.linear_directions import Directions, with_directions
from ..pairs.base import NamedTables, PairMap, Table, mirror
from ..pairs.full_tables import PairEmbedding
from ..pairs.monotone_scales import WarpedEmbedding, l1_of_alike, l1_pairwise
from ..pairs.scales_and_tables import MixedEmbedding
from .averages import mean_of
from .axioms import AxiomReport, Axioms, certify, check_directions, check_numbers, check_schema
from .base_distances import BaseDistance, StoredTerm
from .compiled_sum import distance_of_arrays, feature_sum
from .counterfactuals import Counterfactual, find_counterfactual
from .divergences import DIVERGENCES
from .explanations import Explanation, feature_parts, parts_of_singles
from .known_distances import emd_parts, gower_parts, l1_parts
from .limits import GridPoints, ValueLimits, rise_outside
from .links import Link, checked_link, link_function

_BLOCK = 4096  # pairs whose distances a thread computes at once
_ROUNDING = 1e-12  # of the value of a table, by which its entries may differ
_KINDS: dict[type, str] = {WarpedEmbedding: "warped scales", MixedEmbedding: "warped scales and tables"}
_MOST_FEATURES = 20  # that have a row in the table of a notebook
_MOST_CATEGORIES = 4  # that are named there


class Levels(NamedTuple):
    """Embedded features that are one value apart at any two of their levels, as leaves of a tree with one weight are.

    Two levels differ in two coordinates, by value / 2 in each, which add up to the value. No other table is sure to be an L1
    distance, be it a metric: of five categories on, some are none (Deza & Laurent 1997).
    """

    features: Integers  # (n_tables,)
    counts: Integers  # (n_tables,), the number of levels of each
    values: Floats  # (n_tables,), the distance between two levels

    @property
    def starts(self) -> Integers:
        """First coordinates of the features, then the number of coordinates: shape (n_tables + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def coordinates(self, x: GridPoints) -> sparse.csr_array:
        """Return half the value of each feature in the coordinate of the level of an item: shape (n_items, n_levels)."""
        located, n = x.items.located, len(x.raw)
        vertices = np.where(located.fraction == 1.0, located.upper, located.lower)[:, self.features].astype(np.int64)
        columns = (vertices + self.starts[:-1]).ravel().astype(np.int32)  # scikit-learn's distances of sparse rows want these
        rows = np.arange(n + 1, dtype=np.int32) * len(self.features)
        return sparse.csr_array((np.tile(self.values / 2, n), columns, rows), shape=(n, int(self.starts[-1])))


@storable
@dataclass(frozen=True, eq=False)
class Semimetric(FrozenValue):
    """A distance: an embedding, its weights, and all else that the formula needs.

    It is made by a learner or `semimetric.load`, or without learning by `gower`, `l1` and `emd`.

    Its arrays are read-only copies, so its `axioms` cannot change. Distances are finite: a vector with a value so far outside
    the range that they would overflow (from about 1e307 ranges on, or that much distance) is refused with an `InputError`.

    Parameters
    ----------
    embedding : PairMap
        The embedding of pairs over the raw features followed by the directions.
    weights : ndarray of shape (embedding.n_columns,)
    epsilon : ndarray of shape (n_features + n_directions, 2), or (n_features + n_directions,)
        The slopes below and above the range of each embedded feature; one number is both. The attribute has both.
    feature_names : tuple of str
        The names of the raw features.
    directions : Directions or None
    base_distances : tuple of BaseDistance
    link : {"identity", "sqrt"}, float, PowerLink or ConcaveLink
        A number is the exponent of a power.
    schema : Schema or None
        The schema of the raw features, by which tables are encoded; None makes it from the grid, with codes as categories.

    Raises
    ------
    InputError
        If weights, slopes, names, directions, link and schema do not fit the embedding, or one another, or weights add up to
        more than 2^1020.

    Examples
    --------
    >>> from semimetric import Grid, PairEmbedding
    >>> embedding = PairEmbedding(Grid([[0.0, 1.0, 2.0]]))
    >>> d = Semimetric(embedding, embedding.prior(np.array([3.0])), np.array([0.1]), ("height",))
    >>> d([0.5], [1.5])
    3.0
    >>> d.axioms.name
    'metric'
    """

    embedding: PairMap
    weights: Floats
    epsilon: Floats
    feature_names: tuple[str, ...]
    directions: Directions | None = None
    base_distances: tuple[BaseDistance, ...] = field(default=())
    link: str | float | Link = "identity"
    schema: Schema = None  # type: ignore[assignment]  # __post_init__ replaces None by a schema

    def __post_init__(self) -> None:
        for name in ("weights", "epsilon"):
            object.__setattr__(self, name, as_floats(getattr(self, name), name))
        freeze(self, "weights", "epsilon")
        object.__setattr__(self, "link", checked_link(self.link))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        if not self.feature_names:
            raise InputError("there are no feature_names; the names of the raw features are required")
        grid, n = self.embedding.grid, len(self.columns)
        check_numbers(self.embedding, self.weights, self.epsilon, n, self.link, self.base_distances)
        if self.epsilon.ndim == 1:
            object.__setattr__(self, "epsilon", np.column_stack([self.epsilon, self.epsilon]))
            freeze(self, "epsilon")
        object.__setattr__(self, "schema", schema_of(grid, self.feature_names, self.schema))
        check_schema(grid, self.schema)
        check_directions(self.directions, grid, self.schema)

    @classmethod
    def gower(
        cls,
        X: Any,
        *,
        scale: str = "iqr",
        weights: Mapping[int | str, float] | ArrayLike | None = None,
        categorical_features: FeatureChoice = "auto",
        periodic: Mapping[int | str, Any] | None = None,
        missing: str = "auto",
    ) -> Semimetric:
        """Return Gower's distance (1971) of the rows of a table: the mean of the gaps of their values over the columns.

        - Numbers are |x - y| over the scale of their column, and go on so beyond the values of X.
        - Angles are the shorter way round over half the period, so that opposite ones are 1 apart.
        - Categories are 1 apart, and so is a category that X does not have from all that it has.
        - A missing value is 0 from another missing one. It is 1 from every category, 1/2 from every angle, and from a number
          it is as far as the median of the column, plus a quarter of its interquartile range: for normal numbers that is
          their mean distance from one another.

        With interquartile ranges two typical numbers are about as far apart as two typical categories, and a few wild values
        change nothing. It is a metric if no weight is 0, which `axioms` proves; of columns of more than a thousand categories
        it does not prove the triangle inequality.

        Parameters
        ----------
        X : frame, or array-like of shape (n_items, n_features)
        scale : {"iqr", "range"}, default "iqr"
            The scale of a column of numbers: its interquartile range, or its range as Gower has it. Where half of the values
            are equal, and the interquartile range is 0, it is the range; of a constant column it is 1.
        weights : dict of int or str to float, array-like of shape (n_features,), or None, default None
            Weights of the columns, by name or number; columns that a dict does not name have 1. They are divided by their
            sum. 0 leaves a column out.
        categorical_features : "auto" (default), None, or sequence of int or str
            The columns of categories, as in `Schema.fit`. "auto" takes columns of text too, if at most 20 of their texts, or a
            tenth, differ. Names and free text, ids and, of 20 rows or more, constant columns of a frame are left out, and a
            warning lists them.
        periodic : dict or None, default None
            The periods of columns that go round, as in `Schema.fit`.
        missing : {"auto", "error", "level", "constant"}, default "auto"
            "error" refuses missing values; "level" makes them a level of their own in every column; "auto" does so if X has
            some. With "constant" a missing number is as far from every number as two numbers of its column are on average, so
            that missing values make no row nearer: `SemimetricImputer` compares so. It is no metric where two numbers are
            farther apart than twice that.

        Raises
        ------
        InputError
            If X or a parameter cannot be used.

        Examples
        --------
        >>> from semimetric import Semimetric
        >>> table = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["blue", 5.0]]
        >>> d = Semimetric.gower(table)
        >>> d(["red", 1.0], ["blue", 2.0]), d.axioms.name
        (0.75, 'metric')
        """
        return cls(
            **gower_parts(
                X, scale=scale, weights=weights, categorical_features=categorical_features, periodic=periodic, missing=missing
            )
        )

    @classmethod
    def l1(cls, X: Any, *, weights: Mapping[int | str, float] | ArrayLike | None = None) -> Semimetric:
        """Return the L1 distance (city block, Manhattan) of vectors of numbers, with a weight for each feature.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features), or frame
            The vectors, which give the names and the ranges of the features. The distance is exact beyond the ranges too; its
            terms distinguish the values within.
        weights : dict of int or str to float, array-like of shape (n_features,), or None, default None
            The factor of each |x_f - y_f|, by name or number, 1 by default.

        Raises
        ------
        InputError
            If X is no table of finite numbers, or the weights are not one number >= 0 a feature.
        """
        return cls(**l1_parts(X, weights))

    @classmethod
    def emd(cls, bin_positions: ArrayLike, *, mass: float = 1.0) -> Semimetric:
        """Return the Earth Mover's Distance of histograms over bins along a line, with |p - q| between two bins.

        It is the L1 distance between cumulative sums, which are its directions. Only histograms of the same mass have one: the
        mass by which one exceeds the other counts as lying in the last bin. So `axioms` says "pseudometric": of histograms of
        one mass it is a metric, and vectors that differ in the mass of the last bin alone are at distance 0.

        Parameters
        ----------
        bin_positions : array-like of shape (n_bins,)
            The positions of the bins, in any order.
        mass : float, default 1.0
            The sum of every histogram, which is the range of its features.

        Raises
        ------
        InputError
            If there are fewer than two bins, if two share a position, or they do not lie along a line: for bins in a plane
            learn from `HistogramFeatures`.
        """
        return cls(**emd_parts(bin_positions, mass))

    @classmethod
    def mean(cls, distances: Sequence[Semimetric], weights: ArrayLike | None = None) -> Semimetric:
        """Return the mean of distances over one schema, sum_k weights_k d_k / sum_k weights_k, as one distance.

        Its value is the mean of theirs up to rounding, inside their ranges and outside, whatever their kinds and knots; so are
        the contributions of the features. Scales stand on the union of their knots; a number whose tables have different knots
        has a term for each, of which the later ones are directions of the same name. Different directions and trees stand side
        by side, so that its cost is the sum of theirs.

        Parameters
        ----------
        distances : list of Semimetric
        weights : array-like of shape (n_distances,) or None, default None
            The weight of each, >= 0; None is equal weights.

        Raises
        ------
        InputError
            If there are none, or weights are no such numbers; NotSupportedError if schemas differ, a link is not the identity,
            knots of periodic features differ, some directions bend and others do not, or tables are too large.
        """
        mean: Semimetric = mean_of(cls, distances, weights)
        return mean

    @property
    def n_features(self) -> int:
        """Number of raw features of the vectors that the distance compares."""
        return len(self.feature_names)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the embedded features: raw features, then directions; a repeated name gets a number."""
        return distinct((*self.feature_names, *(self.directions.names if self.directions else ())))

    @cached_property
    def link_function(self) -> Link:
        """Function from the sum to the distance."""
        return link_function(self.link)

    @cached_property
    def value_limits(self) -> ValueLimits:
        """Limits of the values of the embedded features, beyond which distances would overflow."""
        return ValueLimits.of(self.embedding.grid, self.epsilon, self.columns)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms of the sum, in the order of `contributions`; a repeated name gets a number."""
        groups = [" * ".join(self.columns[f] for f in group) for group in self.embedding.groups]
        return distinct((*groups, *(base.name for base in self.base_distances), "outside range"))

    @cached_property
    def axioms(self) -> Axioms:
        """Axioms that the columns and the signs of the weights guarantee."""
        jumps = self.directions is not None and self.directions.n_trees > 0
        parts = (self.embedding, self.weights, self.epsilon, self.n_features, self.base_distances)
        return Axioms.of(*parts, jumps=jumps, concave=self.link_function.concave)

    def certify(self, *, random_state: int | None = 0) -> AxiomReport:
        """Return the proof of each axiom; without one of the triangle inequality, points that violate it, if any are found."""
        return certify(self, random_state=random_state)

    def __call__(self, x: ArrayLike, y: ArrayLike, squared: bool = False) -> float:
        """Return the distance of two vectors (n_features,) or dicts of values, or its square; as `paired` up to rounding.

        The object can be a scikit-learn ``metric``, and be pickled. A call takes some 2 microseconds for float64 arrays if
        the distance is a sum over single features that are numbers, and some 100 otherwise (joint groups, categories, missing
        values, base distances): then give ``pairwise(X)`` with ``metric="precomputed"``, where one call does it all.
        """
        distance = self._of_two(x, y)
        if isnan(distance):
            distance = float(self.paired(self.schema.row(x), self.schema.row(y))[0])
        return distance * distance if squared else distance

    @cached_property
    def _of_two(self) -> Callable[[Any, Any], float]:
        return distance_of_arrays(self)

    def paired(self, X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> Floats:
        """Return the distances of the rows of X to the same rows of Y, shape (n,), float64."""
        x, y = self._both(X, Y)
        check_same_length(x, y)
        parts = map_blocks(lambda b: self._sum(x[b], y[b]), len(x), size=_BLOCK, n_jobs=n_jobs)
        return self.link_function.apply(np.concatenate(parts))

    def paired_by_index(self, X: Floats, index: Integers, *, n_jobs: int | None = None) -> Floats:
        """Return the distances of the rows X[index[:, 0]] to X[index[:, 1]] of an encoded matrix X, shape (len(index),)."""
        parts = map_blocks(lambda b: self._sum(X[index[b, 0]], X[index[b, 1]]), len(index), size=_BLOCK, n_jobs=n_jobs)
        return self.link_function.apply(np.concatenate(parts))

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Floats:
        """Return the distances of all rows of X to all rows of Y (of X if Y is None), shape (n, m), float64.

        Tables of single features are evaluated for one row of X at a time, warped models are L1 distances between coordinates,
        and other groups are evaluated pair by pair. A symmetric distance of X to itself gives an exactly symmetric matrix with
        zeros on its diagonal; pairwise(X, Y) and pairwise(Y, X) are transposes of one another up to rounding. Base distances
        are called for every pair in both orders, so their part is as symmetric as their values.

        Parameters
        ----------
        X, Y : array-like of shape (n, n_features), (m, n_features)
            The columns of a frame must be `feature_names`, in this order, here and in every method.
        n_jobs : int or None
            The number of threads; None is one, -1 is one for each core.
        """
        x, y = (self._points(side) for side in self._both(X, X if Y is None else Y))
        return self._pairwise(x, y, n_jobs=n_jobs, mirrored=Y is None)

    def distances_to(self, items: Floats, *, n_jobs: int | None = None, alike: bool = False) -> Callable[[Floats], Floats]:
        """Return a function of encoded queries (n, n_features) that gives their distances to encoded items, shape (n, n_items).

        The items are located once, so that single queries are quick; the distances are those of `pairwise`. With ``alike`` they
        are so to rounding, and scales take less time for queries of a call that share most of their values.
        """
        points = self._points(items)
        if isinstance(self.embedding, WarpedEmbedding) and not self.base_distances:
            right = self._coordinates(self.embedding, self.weights, points)
            columns = np.ascontiguousarray(right.T) if alike else None
            return partial(self._distances_to_coordinates, right, columns, n_jobs)
        return partial(self._distances_to_points, points, n_jobs)

    def parts_to(self, items: Floats) -> Callable[[Floats], Floats]:
        """Return a function of one encoded query (1, n_features): what each feature adds to its distances to encoded items.

        It has the shape (n_items, n_features). The items are located once; the parts are those of `contributions` by features,
        of a distance without directions, joint groups and base distances.
        """
        points = self._points(items)
        if not isinstance(self.embedding, WarpedEmbedding):
            return lambda query: parts_of_singles(self.embedding, self.weights, self._points(query), points, self.epsilon)
        scales, right = self.embedding, self._coordinates(self.embedding, self.weights, points)
        of_coordinate = np.concatenate(self._sloped_alone(scales))
        features, first = np.unique(of_coordinate, return_index=True)
        second = np.setdiff1d(np.arange(len(of_coordinate)), first)  # of numbers that may be missing

        def parts(query: Floats) -> Floats:
            out = np.zeros((len(items), self.n_features))
            apart = np.abs(right - self._coordinates(scales, self.weights, self._points(query)))
            out[:, features] = apart[:, first]
            out[:, of_coordinate[second]] += apart[:, second]
            return out

        return parts

    def _distances_to_coordinates(self, right: Floats, columns: Floats | None, n_jobs: int | None, queries: Floats) -> Floats:
        assert isinstance(self.embedding, WarpedEmbedding)
        left = self._coordinates(self.embedding, self.weights, self._points(queries))
        sums = l1_pairwise(left, right, n_jobs=n_jobs) if columns is None else l1_of_alike(left, columns, n_jobs=n_jobs)
        return self.link_function.apply(sums)

    def _distances_to_points(self, right: GridPoints, n_jobs: int | None, queries: Floats) -> Floats:
        return self._pairwise(self._points(queries), right, n_jobs=n_jobs)

    def _pairwise(self, x: GridPoints, y: GridPoints, *, n_jobs: int | None, mirrored: bool = False) -> Floats:
        if isinstance(self.embedding, WarpedEmbedding):
            left, right = (self._coordinates(self.embedding, self.weights, side) for side in (x, y))
            out = l1_pairwise(left, right, n_jobs=n_jobs)
        else:
            out = self.embedding.pairwise(x.items, y.items, self.weights, n_jobs=n_jobs)
            left, right = (rise_outside(side.excess, self.epsilon) for side in (x, y))
            rises = left.any(axis=0) | right.any(axis=0)
            if rises.any():
                out += l1_pairwise(left[:, rises], right[:, rises], n_jobs=n_jobs)
        if mirrored and self.embedding.symmetric:
            mirror(out)
        for base in self.base_distances:
            base.add_pairwise(x.raw, y.raw, out)
        return self.link_function.apply(out)

    def _both(self, X: ArrayLike, Y: ArrayLike) -> tuple[Floats, Floats]:
        x = self.schema.encode(X)
        return x, x if Y is X else self.schema.encode(Y, name="Y")

    def _points(self, x: Floats) -> GridPoints:
        features = with_directions(self.directions, x)
        return GridPoints(x, self.embedding.locate(features), self.value_limits.excess(features))

    def _outside(self, x: GridPoints, y: GridPoints) -> Floats:
        return np.abs(rise_outside(x.excess, self.epsilon) - rise_outside(y.excess, self.epsilon)).sum(axis=1)

    def _sum(self, left: Floats, right: Floats) -> Floats:
        """Return the sum before the link for each row of ``left`` and the same row of ``right``, shape (n,)."""
        x, y = self._points(left), self._points(right)
        rows = np.arange(len(left))
        total = self.embedding.paired(x.items, rows, y.items, rows, self.weights)
        return sum((base.paired(left, right) for base in self.base_distances), total) + self._outside(x, y)

    def get_numba_metric(self) -> Callable[[Floats, Floats], float]:
        """Return the distance as a compiled function of two vectors, for packages such as pynndescent.

        It is compiled at its first call, for the type of array that it is given (float32, read-only), and gives NaN for NaN.
        Trees, base distances, and features that are no numbers are refused.
        """
        return make_metric(feature_sum(self), *self.link_function.parts)

    def tables(self) -> NamedTables:
        """Return the table of every group of features by the name of its term; `Table.to_frame` shows it."""
        named = [
            t._replace(
                names=tuple(self.columns[f] for f in t.features),
                levels=tuple(map(self._levels, t.features)),
                columns=tuple(map(self._column, t.features)),
                part_of=self.sum_name,
            )  # fmt: skip
            for t in self.embedding.tables(self.weights)
        ]
        return NamedTables(zip(self.terms, named, strict=False))

    def to_frame(self) -> Any:
        """Return all tables as one frame of pandas, with a row for what a term adds between two of its levels.

        Base distances and the slopes outside the range of the fit are no tables, and are not in it.

        Returns
        -------
        DataFrame with the columns "feature", "a", "b" and "distance"
            The name of the term, its level in the first vector and in the second (a number, a category, "(other)" or
            "(missing)"; of a joint table a tuple of these), and what the term adds to the sum before the link.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from semimetric import Semimetric
        >>> Semimetric.l1([[0.0, 1.0], [4.0, 9.0]]).to_frame().query("a < b")
          feature    a    b  distance
        1      x0  0.0  4.0       4.0
        5      x1  1.0  9.0       8.0
        """
        return _long_frame(self.tables())

    @cached_property
    def rules(self) -> dict[str, list[str]]:
        """Conditions of every leaf in words, such as "age > 40 and pay <= 2.5", by the name of the tree.

        The leaves are in the order of their numbers, as in `tables`. Without trees it is empty.
        """
        if self.directions is None or self.directions.partitions is None:
            return {}
        trees, first = self.directions.partitions, self.n_features + self.directions.n_linear
        return {self.columns[first + t]: leaf_rules(trees, t, self.schema) for t in range(len(trees))}

    @property
    def sum_name(self) -> str:
        """The name of the sum that terms add up to: the distance, or the squared distance, or the distance before the link."""
        if self.link_function.straight:
            return "distance"
        return "squared distance" if self.link == "sqrt" else "distance before the link"

    def _column(self, f: int) -> Feature:
        """Return how a feature is read; of a tree the categories are the numbers of its leaves."""
        if f < self.n_features:
            return self.schema.features[f]
        name = self.columns[f]
        return Feature(name, "categorical", tuple(range(len(self.rules[name])))) if name in self.rules else Feature(name)

    def _levels(self, f: int) -> tuple[Any, ...]:
        name = self.columns[f]
        if name in self.rules and f >= self.n_features:
            return (*self.rules[name], "(other)")
        return tuple(self._column(f).labels(self.embedding.grid.vertices(f)))

    def contributions(self, x: ArrayLike, y: ArrayLike, *, by: str = "terms") -> Floats:
        """Return what terms or features add to the sum before the link; their names are `contribution_names(by)`.

        Parameters
        ----------
        x, y : array-like of shape (n_features,) or (n, n_features), dict, or list of dicts
            If one is a single vector and the other has many rows, the vector is compared with each row.
        by : {"terms", "features"}, default "terms"
            The `terms`, or the raw features and the base distances: what directions, joint tables and divergences that are sums
            add is then divided among the features that make it. Both add up to the same sum; a feature that does not differ
            adds 0.

        Returns
        -------
        ndarray of shape (n_terms,) or (n, n_terms)

        Examples
        --------
        >>> import semimetric as sm
        >>> X = np.random.default_rng(0).random((200, 3))
        >>> pairs = np.random.default_rng(1).integers(0, 200, (800, 2))
        >>> y = np.abs((X[pairs[:, 0]] - X[pairs[:, 1]]) @ [1.0, 1.0, 0.0])
        >>> model = sm.DistanceRegressor(n_knots=3, alpha=1e-4, directions=[[1.0, 1.0, 0.0]], preprocessor=X)
        >>> d = model.fit(pairs, y).semimetric_
        >>> d.terms
        ('x0', 'x1', 'x2', 'direction0', 'outside range')
        >>> d.contributions([0.2, 0.2, 0.2], [0.6, 0.4, 0.9], by="features").round(1)
        array([0.4, 0.2, 0. ])
        """
        check_choice("by", by, ("terms", "features"))
        x, y = (named_rows(side, self.feature_names, name=name) for side, name in ((x, "x"), (y, "y")))
        one_pair = n_axes(x) == 1 and n_axes(y) == 1
        left, right = check_same_length(*self._both(*map(self.schema.rows, (x, y))), repeat=True)
        out = self.contributions_of_encoded(left, right, by=by)
        return out[0] if one_pair else out

    def contributions_of_encoded(self, left: Floats, right: Floats, *, by: str = "terms") -> Floats:
        """Return `contributions` of the rows of one encoded matrix and the same rows of another, shape (n, n_terms)."""
        x, y = self._points(left), self._points(right)
        if by == "features":
            parts = feature_parts(self.embedding, self.weights, self.directions, x, y, self.epsilon)
            parts = sum((base.parts(left, right) for base in self.base_distances if base.by_columns), parts)
            return np.hstack([parts, *(base.parts(left, right) for base in self.base_distances if not base.by_columns)])
        bases = [base.paired(left, right)[:, None] for base in self.base_distances]
        rows = np.arange(len(left))
        parts = self.embedding.contributions(x.items, rows, y.items, rows, self.weights)
        return np.hstack([parts, *bases, self._outside(x, y)[:, None]])

    def contribution_names(self, by: str = "terms") -> tuple[str, ...]:
        """Return the names of `contributions`: the `terms`, or by "features" these and base distances without such parts."""
        check_choice("by", by, ("terms", "features"))
        whole = (base.name for base in self.base_distances if not base.by_columns)
        return self.terms if by == "terms" else distinct((*self.feature_names, *whole))

    def explain(self, x: ArrayLike, Y: ArrayLike, *, by: str = "features") -> Explanation:
        """Return what every feature adds to the distances of one item to others, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or table of one row
        Y : array-like of shape (n, n_features), list of dicts, or frame
            The others; a frame of pandas labels them.
        by : {"features", "terms"}, default "features"
            See `contributions`.
        """
        item, label = single_row(x, self.schema)
        rows = self.schema.rows(Y)
        others = self.schema.encode(rows, name="Y")
        return self.explanation(item, others, by=by, label=label, labels=row_labels(rows, len(others)))

    def explanation(
        self, item: Floats, others: Floats, *, by: str = "features", flip: bool = False, **named: Any
    ) -> Explanation:
        """Explain the distances of an encoded item (1, n_features) to others (k, n_features); with ``flip`` d(other, item).

        ``named`` are further members of the `Explanation`, such as ``labels``.
        """
        rows = np.arange(len(others))
        distances, parts = self.explanation_parts(np.repeat(item, len(others), axis=0), others, by=by, flip=flip)
        named = {"indices": rows, "targets": None} | named
        rules = self._rules_of(item, others) if by == "terms" else {}
        return Explanation(
            distances=distances, terms=self.contribution_names(by), contributions=parts, by=by, features=self.feature_names,
            item=self.schema.display(item)[0], values=self.schema.display(others), rules=rules, **named,
        )  # fmt: skip

    def _rules_of(self, item: Floats, others: Floats) -> dict[str, tuple[str, list[str]]]:
        if not self.rules or self.directions is None or self.directions.partitions is None:
            return {}
        own, theirs = (self.directions.partitions.apply(side).astype(np.int64) for side in (item, others))
        first = self.n_features + self.directions.n_linear
        found = {}
        for term, group in zip(self.terms, self.embedding.groups, strict=False):
            if len(group) == 1 and group[0] >= first:
                t, rules = group[0] - first, self.rules[self.columns[group[0]]]
                found[term] = (rules[own[0, t]], [rules[leaf] for leaf in theirs[:, t]])
        return found

    def explanation_parts(self, left: Floats, right: Floats, *, by: str, flip: bool = False) -> tuple[Floats, Floats]:
        """Return distances of encoded items to others, (n,), and their parts, (n, n_terms); reversed with ``flip``."""
        left, right = (right, left) if flip else (left, right)
        rows = np.arange(len(left))
        distances = self.paired_by_index(np.vstack([left, right]), np.column_stack([rows, len(left) + rows]))
        return distances, self.contributions_of_encoded(left, right, by=by)

    def counterfactual(
        self,
        x: ArrayLike,
        y: ArrayLike,
        within: float | None = None,
        *,
        features: int | str | Sequence[int | str] | None = None,
    ) -> Counterfactual:
        """Return the changes of features of x that make its distance to y small enough.

        The least sufficient change of one feature within its range in the fit is taken, in units of that range; while
        none suffices, the change that lowers the distance most, and the search goes on. Each change is the best of its kind,
        exactly: distances are affine between breakpoints, at which leaves of trees jump. Where no feature is in a direction or
        a joint table, no fewer changes suffice; elsewhere fewer may.

        Parameters
        ----------
        x, y : array-like of shape (n_features,), dict, series of pandas, or table of one row
        within : float or None
            The distance that is asked for; None is for the single change that lowers it most.
        features : int, str, sequence of these, or None
            The features that may change, by number or name; None is for all.

        Raises
        ------
        NotSupportedError
            If the distance has base distances, or is not continuous.

        Examples
        --------
        >>> from semimetric import Grid, PairEmbedding, Semimetric
        >>> embedding = PairEmbedding(Grid([[0.0, 10.0], [0.0, 10.0]]))
        >>> d = Semimetric(embedding, embedding.prior(np.array([1.0, 2.0])), np.ones(2), ("age", "pay"))
        >>> d.counterfactual([1.0, 8.0], [4.0, 2.0], within=6.0)
        The distance falls from 15 to 6 by 1 of 2 features; asked for: 6
        feature  from   to  distance
        pay         8  3.5         6
        """
        if within is not None:
            within = check_alpha("within", within)
        (left, _), (right, _) = (single_row(item, self.schema, name) for item, name in ((x, "x"), (y, "y")))
        names = self.feature_names
        chosen = range(len(names)) if features is None else column_numbers(features, names, "features")
        return find_counterfactual(self, left[0], right[0], within, chosen)

    def transform(self, X: ArrayLike, *, unit: float = 1.0, sparse_output: bool = False) -> Any:
        """Return coordinates between which the L1 distance is exactly this distance: of scales, and of the leaves of trees.

        A scale is one coordinate, and is continued outside its range. A number that may be missing has two that add up to its
        scale; a missing value lies below all values on the first, and above them on the second. A tree that has one weight,
        w [leaf(x) != leaf(y)], has a coordinate a leaf, w / 2 if the item is in it; so has a feature whose categories, and the
        missing one, are all equally far apart, as two are.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
        unit : float, default 1.0
            The distance that counts 1: coordinates are divided by it, so multiply their L1 distance by it. Stores of float32
            round least with `coordinate_unit`, by which the numbers of most leaves are 1.
        sparse_output : bool, default False
            Return a sparse array: of each tree an item has one coordinate that is not 0.

        Returns
        -------
        ndarray or csr_array of shape (n, n_coordinates)
            The scale of every group, of which a number that may be missing has two; the rise outside its range of each feature
            that is in no group; then the leaves of every tree. `coordinate_names` names them.

        Raises
        ------
        InputError
            If X cannot be used, or the unit is not above 0.
        NotSupportedError
            If the model has other tables than those, base distances, or another link than the identity.

        Examples
        --------
        >>> import numpy as np
        >>> from semimetric import Semimetric
        >>> table = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["blue", 5.0]]
        >>> d = Semimetric.gower(table)
        >>> u, v = d.transform(table[1:3])
        >>> float(np.abs(u - v).sum()) == d(table[1], table[2])
        True
        """
        unit = check_alpha("unit", unit, strict=True)
        x = self._points(self.schema.encode(X))
        scales, weights, levels = self._l1_parts
        of_scales, of_levels = self._coordinates(scales, weights, x) / unit, levels.coordinates(x) / unit
        if sparse_output:
            return sparse.csr_array(sparse.hstack([sparse.csr_array(of_scales), of_levels], format="csr"))
        return np.hstack([of_scales, of_levels.toarray()]) if len(levels.features) else of_scales

    @property
    def coordinate_unit(self) -> float:
        """The ``unit`` of `transform` for stores that add up in float32, such as vector indexes of databases.

        It is what most leaves, or categories, have in their coordinate, so that these have 1, and sums of such are exact.
        Without them it is a power of two near the mean length of the scales, so that numbers neither overflow nor vanish.

        Examples
        --------
        >>> import numpy as np
        >>> from semimetric import Semimetric
        >>> table = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["blue", 5.0]]
        >>> d = Semimetric.gower(table)
        >>> u, v = d.transform(table[1:3], unit=d.coordinate_unit).astype(np.float32)
        >>> d.coordinate_unit * float(np.abs(u - v).sum()) == d(table[1], table[2])
        True
        """
        scales, weights, levels = self._l1_parts
        if (levels.values > 0).any():
            return float(np.quantile(levels.values[levels.values > 0] / 2, 0.5, method="inverted_cdf"))
        lengths = np.bincount(scales.group_of_column, weights=weights)
        return float(2.0 ** np.rint(np.log2(lengths[lengths > 0].mean()))) if (lengths > 0).any() else 1.0

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the columns of `transform`: of features, of rises outside their range, and of leaves.

        The coordinate of a leaf is called "tree3 leaf 5"; `rules` gives its conditions. That of a category is called
        "colour=red". Those of a number that may be missing are "age, missing below" and "age, missing above".
        """
        scales, _, levels = self._l1_parts
        _, rest = self._sloped_alone(scales)
        named = (*self._names_of_scales(scales), *(f"{self.columns[f]} outside range" for f in rest))
        return distinct((*named, *(name for f, n in zip(*levels[:2], strict=True) for name in self._names_of_levels(f, n))))

    def _names_of_scales(self, scales: WarpedEmbedding) -> list[str]:
        gaps = scales.grid.missing
        ends = {f: (", missing below", ", missing above") if gaps[f] else ("",) for (f,) in scales.groups}
        return [f"{self.columns[f]}{end}" for f, of_feature in ends.items() for end in of_feature]

    def _names_of_levels(self, f: int, n: int) -> list[str]:
        if f >= self.n_features:
            return [f"{self.columns[f]} leaf {k}" for k in range(n)]
        return [f"{self.columns[f]}={level}" for level in self._levels(f)]

    @cached_property
    def _l1_parts(self) -> tuple[WarpedEmbedding, Floats, Levels]:
        """Scales of numbers, their weights, and features with levels one value apart; other distances are refused."""
        embedding = self.embedding
        if self.link != "identity" or self.base_distances:
            raise _no_coordinates()
        if isinstance(embedding, WarpedEmbedding):
            return embedding, self.weights, Levels(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        if isinstance(embedding, MixedEmbedding):
            scales, tables = embedding.scales, embedding.side_tables
        elif isinstance(embedding, PairEmbedding):
            scales, tables = WarpedEmbedding(embedding.grid, ()), embedding
        else:
            raise _no_coordinates()
        of_scales, of_tables = np.split(self.weights, [scales.n_columns])
        return scales, of_scales, _levels_of(tables, of_tables, self.columns, self.n_features)

    def _coordinates(self, scales: WarpedEmbedding, weights: Floats, x: GridPoints) -> Floats:
        """Return the coordinates of scales; these and the rises outside both increase, so their L1 distances add up."""
        outside = rise_outside(x.excess, self.epsilon)
        _, rest = self._sloped_alone(scales)
        return np.hstack([scales.coordinates(x.items, weights, outside), outside[:, rest]])

    def _sloped_alone(self, scales: WarpedEmbedding) -> tuple[Integers, Integers]:
        """Return the embedded features of the coordinates of scales, and others that have a slope outside their range."""
        of_scales = scales.feature_of_coordinate
        return of_scales, np.setdiff1d(np.flatnonzero((self.epsilon > 0).any(axis=1) & scales.grid.extends), of_scales)

    def reweighted(self, factors: Mapping[str, float]) -> Semimetric:
        """Return the distance with some terms multiplied, as by ``d.reweighted({"age": 2})``; 0 leaves a term out.

        The names are those of `terms`, whose sum is before the link. Slopes outside the range grow as the distance across it.
        """
        terms = self.terms[:-1]  # the last is what lies outside the range, which follows the terms of its features
        if unknown := [name for name in factors if name not in terms]:
            raise InputError(
                f"factors name {unknown[0]!r}, which is no term of the distance; its terms are {', '.join(terms[:12])}"
                f"{', ...' if len(terms) > 12 else ''}: correct the name"
            )
        times = np.array([check_alpha(f"factors[{name!r}]", factors.get(name, 1.0)) for name in terms])
        groups, bases = np.split(times, [len(self.embedding.groups)])
        across, epsilon = _across(self, groups), self.epsilon
        return replace(
            self,
            embedding=_with_slopes(self.embedding, groups),
            weights=self.weights * groups[self.embedding.group_of_column],
            epsilon=epsilon * across[:, None],
            base_distances=tuple(replace(b, weight=b.weight * t) for b, t in zip(self.base_distances, bases, strict=True)),
        )

    def outside(self, X: ArrayLike) -> Floats:
        """Return the fraction of the rows of X outside the range of each raw feature, where the slopes epsilon apply.

        For a categorical feature it is the fraction of rows with a category that was not in the fit.
        """
        return self.out_of_range(self.schema.encode(X)).mean(axis=0)

    def out_of_range(self, X: Floats) -> NDArray[np.bool_]:
        """Return True for each value of an encoded matrix outside the range of its feature, or of a new category."""
        grid, n = self.embedding.grid, self.n_features
        out = (X < grid.low[:n]) | (X > grid.high[:n])
        return out if self.schema.plain else (out & grid.extends[:n]) | self.schema.unseen(X)

    def save(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the distance to one file, which `semimetric.load` reads; with ``key`` it is signed, see ``docs/files.md``."""
        write_state(real_path(path), state_of(self), key=key)

    def to_sql(self, dialect: str, *, table: str | Sequence[str], key: str, name: str = "semimetric") -> Any:
        """Return the distance as SQL, which a database computes to the last digits: a `SqlDistance`.

        Tables, scales, directions, trees, links, angles, times, categories and gaps are all said exactly. Columns of the table
        are those of the fit, by name: numbers, truth values, dates and times (in SQLite as ISO text), and text.

        Parameters
        ----------
        dialect : {"postgres", "duckdb", "sqlite"}
        table : str or sequence of str
            The table whose rows are compared; its schema stands before its name, as in ``("shop", "houses")``.
        key : str
            The column that names its rows.
        name : str, default "semimetric"
            The stored column of PostgreSQL, and a part of the name of whatever else the script makes. Several distances of a
            table need several names.

        Returns
        -------
        SqlDistance
            Its ``script`` makes coordinates of all rows, ``distance("x", "y")`` is an expression, ``nearest(k)`` a query.

        Raises
        ------
        NotSupportedError
            If the distance has base distances, features that a model makes of objects, a joint table of more than 65,536
            values, or in SQLite times of the day, week or year in a time zone that has a name.
        InputError
            If a name of a table, a column or a category is one that the database cannot hold.

        Examples
        --------
        >>> from semimetric import Semimetric
        >>> d = Semimetric.l1([[0.0, 1.0], [4.0, 9.0]], weights=[1.0, 0.5])
        >>> sql = d.to_sql("duckdb", table="points", key="id")
        >>> sql.distance("x", "y")
        'abs("x"."x0" - "y"."x0") + abs("x"."x1" - "y"."x1")'
        """
        return exporter("sql", "to_sql")(self, dialect, table=table, key=key, name=name)

    def to_onnx(self, path: str | os.PathLike[str], what: str = "transform") -> None:
        """Write the distance as a graph of ONNX, which runs wherever ONNX Runtime does, without Python.

        The graph computes in float64 with standard operators of opset 19 alone. Before it is written it is run on rows of every
        kind by the reference evaluator of the package onnx, and must give what Python gives within 1e-12 of the largest value.

        Parameters
        ----------
        path : str or path-like
            The file, by habit ``distance.onnx``. It is written beside and renamed.
        what : {"transform", "distance"}, default "transform"
            "transform" is `transform`: one row or many, in, and their coordinates (n, n_coordinates), called ``coordinates``,
            out. "distance" is `paired`: rows of two tables in, and the ``distance`` (n,) of each pair out.

        Raises
        ------
        MissingExtraError
            If onnx is not installed.
        NotSupportedError
            If the distance has no coordinates, or has base distances, features that a model makes of objects, or a joint table
            of more than 65,536 values.

        Notes
        -----
        Without categories that are text, the input is one float64 matrix ``X`` (n, n_features), with NaN where a value is
        missing; "distance" takes ``X`` and ``Y``. With such categories each column is an input (n, 1) of its own, called as the
        column: text for a category, where "" is a missing one, and float64 for the others. "distance" takes ``x.colour`` and
        ``y.colour``. Truth values are 1 and 0. Times are the numbers that `Schema.encode` gives. Rows that Python refuses, for
        a gap without a level or an infinite number, have NaN.

        Examples
        --------
        >>> from semimetric import Semimetric
        >>> d = Semimetric.l1([[0.0, 1.0], [4.0, 9.0]])
        >>> d.to_onnx("l1.onnx", what="distance")  # doctest: +SKIP
        """
        exporter("onnx", "distance_to_onnx")(self, path, what)

    def stored_form(self) -> StoredDistance:
        """Return what a file holds of the distance."""
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("schema", "base_distances")}
        terms = tuple(base.stored for base in self.base_distances)
        return StoredDistance(**parts, schema=None if self.schema.known_by_names else self.schema, base_terms=terms)

    def __repr__(self) -> str:
        sizes = sorted({len(g) for g in self.embedding.groups})
        knots = dict.fromkeys(map(int, np.sort(self.embedding.grid.sizes)[[0, -1]]))
        n_linear, n_trees = (self.directions.n_linear, self.directions.n_trees) if self.directions else (0, 0)
        extra = f" + {n_linear} directions" * (n_linear > 0) + f" + {n_trees} trees" * (n_trees > 0)
        base = "".join(f" + {b.weight:.3g} {b.name}" for b in self.base_distances)
        kind = _KINDS.get(type(self.embedding), "tables")
        return (
            f"Semimetric: {self.axioms}\n"
            f"  {self.n_features} features{extra}, {len(self.embedding.groups)} {kind} over groups of "
            f"{' and '.join(map(str, sizes))}{base}\n"
            f"  {' to '.join(map(str, knots))} knots a feature, {len(self.weights)} weights, link {self.link}"
        )

    def _repr_html_(self) -> str:
        title, *notes = repr(self).splitlines()
        rows = [("feature", "kind", "range", "knots")]
        for f, name in enumerate(self.feature_names[:_MOST_FEATURES]):
            rows.append((name, self.schema.kinds[f], self._range_text(f), str(self.embedding.grid.sizes[f])))
        if self.n_features > _MOST_FEATURES:
            rows.append((f"{self.n_features - _MOST_FEATURES} others", "", "", ""))
        return html_table(rows, title=title, notes=notes)

    def _range_text(self, f: int) -> str:
        feature, grid = self.schema.features[f], self.embedding.grid
        if feature.kind == "categorical":
            text = ", ".join(map(str, feature.categories[:_MOST_CATEGORIES]))
            text += ", ..." if len(feature.categories) > _MOST_CATEGORIES else ""
        else:
            ends = np.array([[grid.low[f]], [grid.high[f]]])
            low, high = map(cell_text, Schema((feature,)).display(ends)[:, 0])
            text = f"period {feature.period:g}" if feature.kind == "periodic" else f"{low} to {high}"
        return text + ", or missing" * feature.missing


methods_read_sources(Semimetric)
gower = Semimetric.gower


@storable
@dataclass(frozen=True, eq=False)
class StoredDistance:
    """A distance in a file, which holds all of its base distances but those functions that have no name here."""

    embedding: PairMap
    weights: Floats
    epsilon: Floats  # (n_features + n_directions, 2)
    feature_names: tuple[str, ...]
    directions: Directions | None
    link: str | float | Link
    schema: Schema | None  # None if all features are numbers that are never missing, and given as such
    base_terms: tuple[StoredTerm, ...]

    def restored(self, functions: Sequence[object]) -> Semimetric:
        """Return the distance with its base distances, whose functions must give the stored values.

        Tables that need memory which the weights do not explain are refused.
        """
        _check_size(self.embedding, len(self.weights) if self.weights.ndim else 0)
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "base_terms"}
        d = Semimetric(**parts)
        asked = [term for term in self.base_terms if not term.divergence]
        if len(asked) != len(functions):
            names = ", ".join(term.name for term in asked) or "none"
            raise StorageError(
                f"the model has {len(asked)} base distances ({names}), which are "
                f"Python functions, but {len(functions)} were given; in Python, give the same callables, in the same "
                "order: semimetric.load(path, base_distances=[...])"
            )
        given = iter(functions)
        bases = (t.with_function(DIVERGENCES[t.divergence] if t.divergence else next(given), d.schema) for t in self.base_terms)
        return replace(d, base_distances=tuple(bases)) if self.base_terms else d


def _check_size(embedding: PairMap, n_weights: int) -> None:
    """Refuse tables of more columns than there are weights, before columns are listed; a file may name many in few bytes."""
    tables = embedding.side_tables if isinstance(embedding, MixedEmbedding) else embedding
    vertices = tables.vertices if isinstance(tables, PairEmbedding) else ()
    if large := [v.group for v in vertices if v.whole and not v.fits]:
        raise StorageError(f"the table of group {large[0]} is too large to be whole; its touched vertices are missing")
    if not embedding.groups or embedding.n_columns != n_weights:
        raise StorageError(f"the array 'weights' has {n_weights} numbers for {embedding.n_columns} columns; restore the file")


def _across(d: Semimetric, groups: Floats) -> Floats:
    """Return the factors by which the two ends of every feature move apart, shape (n_features,)."""
    grid, n = d.embedding.grid, d.embedding.grid.n_features
    owners = np.array([[f in group for group in d.embedding.groups] for f in range(n)])
    mean = np.where(owners.any(axis=1), owners @ groups / np.maximum(owners.sum(axis=1), 1), 1.0)
    ends = np.tile(grid.low, (n + 1, 1))
    ends[np.arange(n), np.arange(n)] = grid.high
    items, rows = d.embedding.locate(ends), np.arange(n)
    terms = d.embedding.contributions(items, rows, items, np.full(n, n), d.weights)
    before = terms.sum(axis=1)
    return np.where(before > 0, terms @ groups / np.where(before > 0, before, 1.0), mean)


def _with_slopes(embedding: PairMap, groups: Floats) -> PairMap:
    if not isinstance(embedding, PairEmbedding) or embedding.unseen_slopes is None:
        return embedding
    slopes, factors = embedding.unseen_slopes, np.ones(len(embedding.unseen_slopes))
    for f in range(len(slopes)):
        owners = {
            float(t) for g, v, t in zip(embedding.groups, embedding.vertices, groups, strict=True) if f in g and not v.whole
        }
        if len(owners) > 1:
            raise NotSupportedError(
                f"the tables of several groups of feature {f} are too large to be held, and share their values far from the "
                "data; give all of these groups one factor"
            )
        factors[f] = owners.pop() if owners else 1.0
    return embedding.in_unit(factors)


def _no_coordinates(what: str = "", advice: str = 'fit with tables="warped"') -> NotSupportedError:
    return NotSupportedError(
        'only warped models (tables="warped", link="identity", no base distances), and trees with one weight each, map exactly '
        f"into L1{what}; use pairwise(X) as a precomputed metric, or {advice}"
    )


def _levels_of(tables: PairEmbedding, weights: Floats, names: Sequence[str], n_raw: int) -> Levels:
    """Return the features of tables that are one value apart at any two levels; refuse other tables."""
    if not (tables.singles and tables.symmetric and tables.zero_diagonal and tables.whole and tables.holds_tables):
        raise _no_coordinates()
    features = np.array([f for (f,) in tables.groups], dtype=np.int64)
    counts, values = np.empty(len(features), np.int64), np.empty(len(features))
    for k, table in enumerate(tables.tables(weights)):
        (f,) = table.features
        counts[k] = n = len(table.values) - (f >= n_raw)
        apart = table.values[:n, :n][~np.eye(n, dtype=bool)]
        values[k] = apart.max()
        if tables.grid.kinds[f] != "categorical" or apart.min() < 0 or np.ptp(apart) > _ROUNDING * values[k]:
            missing = tables.grid.missing[f]
            kind = f"{tables.grid.kinds[f]}{' and may be missing' if missing else ''}"
            of_number = 'fit with tables="warped"' + ' and missing="level"' * missing
            advice = of_number if tables.grid.extends[f] else "give it as numbers"
            raise _no_coordinates(f", and {names[f]!r}, which is {kind}, has a table of many values", advice)
    return Levels(features, counts, values)


def _long_frame(tables: Mapping[str, Table]) -> Any:
    feature: list[str] = []
    a: list[Any] = []
    b: list[Any] = []
    for name, table in tables.items():
        levels = [list(level) for level in table.levels or table.knots]
        points = levels[0] if len(levels) == 1 else list(product(*levels))
        feature += [name] * table.values.size
        a += [point for point in points for _ in points]
        b += points * len(points)
    values = [table.values.ravel() for table in tables.values()]
    distance = np.concatenate(values) if values else np.empty(0)
    return optional("pandas").DataFrame({"feature": feature, "a": a, "b": b, "distance": distance})
