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
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.members import refused_as_stored
from .._foundation.storable import storable
from .._foundation.storage import State, write_state
from .._foundation.threads import map_blocks
from .._foundation.types import ArrayLike, Floats, FrozenValue, Integers, distinct, freeze
from .._foundation.validation import check_same_length
from .._kernels.metric import make_metric
from ..data.grid import schema_of
from ..data.schema import Schema
from ..embeddings.directions.linear_directions import Directions, with_directions
from ..embeddings.pairs.base import PairMap, Table, mirror
from ..embeddings.pairs.monotone_scales import WarpedEmbedding, l1_pairwise
from .agreement import check_directions, check_numbers, check_schema
from .averages import mean_of
from .axiom_report import AxiomReport, certify
from .axioms import Axioms
from .base_distances import BaseDistance
from .compiled_sum import distance_of_arrays, feature_sum
from .coordinates import DistanceWithCoordinates
from .explained_distance import ExplainedDistance
from .known_distances import KnownDistances
from .links import Link, checked_link, link_function, link_state
from .reach import GridPoints, Reach, rise_outside
from .reweighting import reweighted
from .state import base_distances_state, directions_state, map_state, read_parts, slopes_state
from .summary import summary, summary_html

__all__ = ["Semimetric", "gower"]

_BLOCK = 4096  # pairs whose distances a thread computes at once


@storable
@dataclass(frozen=True, eq=False)
class Semimetric(ExplainedDistance, KnownDistances, DistanceWithCoordinates, FrozenValue):
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
        freeze(self, "weights", "epsilon")
        object.__setattr__(self, "link", checked_link(self.link))
        grid, n = self.embedding.grid, len(self.columns)
        check_numbers(self.embedding, self.weights, self.epsilon, n, self.link, self.base_distances)
        if self.epsilon.ndim == 1:
            object.__setattr__(self, "epsilon", np.column_stack([self.epsilon, self.epsilon]))
            freeze(self, "epsilon")
        object.__setattr__(self, "schema", schema_of(grid, self.feature_names, self.schema))
        check_schema(grid, self.schema)
        check_directions(self.directions, grid, self.schema)

    @property
    def n_features(self) -> int:
        """The number of raw features of the vectors that the distance compares."""
        return len(self.feature_names)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the embedded features: raw features, then directions; a repeated name gets a number."""
        return distinct((*self.feature_names, *(self.directions.names if self.directions else ())))

    @cached_property
    def link_function(self) -> Link:
        """The function that makes a distance of the sum."""
        return link_function(self.link)

    @cached_property
    def reach(self) -> Reach:
        """How far outside its range a value of each embedded feature may lie."""
        return Reach.of(self.embedding.grid, self.epsilon, self.columns)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The names of the terms of the sum, in the order of `contributions`; a repeated name gets a number."""
        groups = [" * ".join(self.columns[f] for f in group) for group in self.embedding.groups]
        return distinct((*groups, *(base.name for base in self.base_distances), "outside range"))

    @cached_property
    def axioms(self) -> Axioms:
        """The axioms that the columns and the signs of the weights guarantee."""
        jumps = self.directions is not None and self.directions.n_trees > 0
        parts = (self.embedding, self.weights, self.epsilon, self.n_features, self.base_distances)
        return Axioms.of(*parts, jumps=jumps, concave=self.link_function.concave)

    def certify(self, *, random_state: int | None = 0) -> AxiomReport:
        """How each axiom is proved; if the triangle inequality is not, points that violate it, if a search finds any."""
        return certify(self, random_state=random_state)

    def __call__(self, x: ArrayLike, y: ArrayLike, squared: bool = False) -> float:
        """The distance of two vectors (n_features,), or dicts of their values, or its square; as `paired` up to rounding.

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
        """The distance of two arrays that need no check; NaN for what else is given, and where it cannot be compiled."""
        return distance_of_arrays(self)

    def paired(self, X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> Floats:
        """The distances of the rows of X to the same rows of Y, shape (n,), float64."""
        x, y = self._both(X, Y)
        check_same_length(x, y)
        parts = map_blocks(lambda b: self._sum(x[b], y[b]), len(x), size=_BLOCK, n_jobs=n_jobs)
        return self.link_function.apply(np.concatenate(parts))

    def paired_by_index(self, X: Floats, index: Integers, *, n_jobs: int | None = None) -> Floats:
        """The distances of the rows X[index[:, 0]] to X[index[:, 1]] of an encoded matrix X, shape (len(index),)."""
        parts = map_blocks(lambda b: self._sum(X[index[b, 0]], X[index[b, 1]]), len(index), size=_BLOCK, n_jobs=n_jobs)
        return self.link_function.apply(np.concatenate(parts))

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Floats:
        """The distances of all rows of X to all rows of Y (of X if Y is None), shape (n, m), float64.

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
        if isinstance(self.embedding, WarpedEmbedding):
            left, right = (self._coordinates(self.embedding, self.weights, side) for side in (x, y))
            out = l1_pairwise(left, right, n_jobs=n_jobs)
        else:
            out = self.embedding.pairwise(x.items, y.items, self.weights, n_jobs=n_jobs)
            left, right = (rise_outside(side.excess, self.epsilon) for side in (x, y))
            rises = left.any(axis=0) | right.any(axis=0)
            if rises.any():
                out += l1_pairwise(left[:, rises], right[:, rises], n_jobs=n_jobs)
        if Y is None and self.embedding.symmetric:
            mirror(out)
        for base in self.base_distances:
            base.add_pairwise(x.raw, y.raw, out)
        return self.link_function.apply(out)

    def get_numba_metric(self) -> Callable[[Floats, Floats], float]:
        """The distance as a compiled function of two vectors, for pynndescent and other packages that take such a metric.

        It is compiled at its first call, for the type of array that it is given (float32, read-only), and gives NaN for NaN.
        Joint groups and base distances are refused.
        """
        return make_metric(feature_sum(self), *self.link_function.parts)

    def tables(self) -> dict[str, Table]:
        """The table of every group of features, by the name of its term; `Table.to_frame` shows it by knots or categories."""
        named = [
            t._replace(names=tuple(self.columns[f] for f in t.features), levels=tuple(map(self._levels, t.features)))
            for t in self.embedding.tables(self.weights)
        ]
        return dict(zip(self.terms, named, strict=False))

    def reweighted(self, factors: Mapping[str, float]) -> Semimetric:
        """The distance with some terms so many times as large, such as ``d.reweighted({"age": 2})``; 0 leaves a term out.

        The names are those of `terms`, whose sum is before the link. Slopes outside the range grow as the distance across it.
        """
        return reweighted(self, factors)  # type: ignore[no-any-return]  # it returns a distance for a distance

    @classmethod
    def mean(cls, distances: Sequence[Semimetric], weights: ArrayLike | None = None) -> Semimetric:
        """The mean of several distances over one schema, sum_k weights_k d_k / sum_k weights_k, as one distance.

        Its value is the mean of theirs up to rounding, inside their ranges and outside, whatever their kinds and knots; so are
        the contributions of the features. Scales stand on the union of their knots; a number whose tables have different knots
        has a term for each, of which the later ones are directions of the same name. Different directions and trees stand side
        by side, so that its cost is the sum of theirs.

        Parameters
        ----------
        distances : list of Semimetric
        weights : array-like of shape (n_distances,) or None, default None
            How much each counts, >= 0; None is alike.

        Raises
        ------
        InputError
            If there are none, or weights are no such numbers; NotSupportedError if schemas differ, a link is not the identity,
            knots of periodic features differ, some directions bend and others do not, or tables are too large.

        Examples
        --------
        >>> from semimetric import Semimetric
        >>> a, b = Semimetric.l1([[0.0], [1.0]]), Semimetric.l1([[0.0], [5.0]], weights=[4.0])
        >>> d = Semimetric.mean([a, b], weights=[2, 1])
        >>> d([0.0], [3.0])
        6.0
        """
        return mean_of(cls, distances, weights)  # type: ignore[no-any-return]  # it returns a distance for distances

    def outside(self, X: ArrayLike) -> Floats:
        """The share of the rows of X that lie outside the range of each raw feature, where the slopes epsilon apply.

        For a categorical feature it is the share of rows with a category that was not in the fit.
        """
        return self.beyond(self.schema.encode(X)).mean(axis=0)

    def beyond(self, X: Floats) -> NDArray[np.bool_]:
        """Whether each value of an encoded matrix lies outside the range of its feature, or is a new category: X's shape."""
        grid, n = self.embedding.grid, self.n_features
        out = (X < grid.low[:n]) | (X > grid.high[:n])
        return out if self.schema.plain else (out & grid.extends[:n]) | self.schema.unseen(X)

    def save(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the distance to one file, which `semimetric.load` reads; with ``key`` it is signed, see ``docs/files.md``."""
        write_state(os.path.realpath(path), self.to_state(), key=key)

    def to_state(self) -> State:
        """The distance as JSON values and arrays.

        Base distances are Python functions, of which only the names, weights and values on a few pairs are kept.
        """
        embedding, arrays = map_state(self.embedding)
        directions, matrix = directions_state(self.directions)
        values: dict[str, Any] = {"embedding": embedding} | directions
        if not self.schema.plain:
            values |= {"schema": self.schema.state()}
        bases, probes = base_distances_state(self.base_distances)
        values |= {"feature_names": list(self.feature_names), "link": link_state(self.link)} | bases
        arrays = arrays | matrix | {"weights": self.weights} | slopes_state(self.epsilon) | probes
        return State("Semimetric", values, arrays)

    @classmethod
    def from_state(cls, state: State, base_distances: Sequence[object] = ()) -> Semimetric:
        """The distance whose `to_state` is given, with its base distances as functions.

        Raises
        ------
        StorageError
            If a member is missing, foreign, or not what a distance consists of, if there are too few or too many base
            distances, or if one does not give the stored values.
        """
        with refused_as_stored("the distance"):
            return cls(**read_parts(state, base_distances))

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return summary_html(self)

    def _both(self, X: ArrayLike, Y: ArrayLike) -> tuple[Floats, Floats]:
        """Both tables, encoded; if they are the same object, it is encoded only once."""
        x = self.schema.encode(X)
        return x, x if Y is X else self.schema.encode(Y, name="Y")

    def _points(self, x: Floats) -> GridPoints:
        features = with_directions(self.directions, x)
        return GridPoints(x, self.embedding.locate(features), self.reach.excess(features))

    def _outside(self, x: GridPoints, y: GridPoints) -> Floats:
        """The last term of the sum, for what lies outside the range of the grid: shape (n,)."""
        return np.abs(rise_outside(x.excess, self.epsilon) - rise_outside(y.excess, self.epsilon)).sum(axis=1)

    def _sum(self, left: Floats, right: Floats) -> Floats:
        """The sum before the link for each row of ``left`` and the same row of ``right``, shape (n,)."""
        x, y = self._points(left), self._points(right)
        rows = np.arange(len(left))
        total = self.embedding.paired(x.items, rows, y.items, rows, self.weights)
        return sum((base.paired(left, right) for base in self.base_distances), total) + self._outside(x, y)


gower = Semimetric.gower
