"""The learned distance: a frozen value that everything before makes and everything after uses.

    d(x, y) = h( sum_S w_S · ID([x_S, y_S]) + sum_b u_b D_b(x, y) + sum_f epsilon_f |e_f(x) - e_f(y)| )

S runs over groups of features (raw ones and directions), D_b are base distances, e(x) = x - clip(x) is what lies outside
the range of the grid, raw features and directions alike, and h is the link: the identity, or the square root; the sum is
then the squared distance, and base distances enter it squared. The last sum is a continuous pseudometric, so it keeps every
axiom (docs/mathematics.md, section 2).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, NotSupportedError, StorageError
from .._foundation.storage import State, write_state
from .._foundation.threads import map_blocks
from .._foundation.types import ArrayLike, Floats, FrozenValue, Integers, distinct, freeze
from .._foundation.validation import check_same_length
from ..data.grid import schema_of
from ..data.schema import Schema
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import Items, PairMap, Table, mirror
from ..embeddings.pairs.monotone_scales import WarpedEmbedding, l1_pairwise
from ..embeddings.pairs.scales_and_tables import MixedEmbedding
from .axiom_report import AxiomReport, certify
from .axioms import Axioms
from .base_distances import BaseDistance
from .feature_tables import compiled_metric
from .state import directions_state, map_state, read_directions, read_map

__all__ = ["Semimetric"]

_BLOCK = 4096


class _Points(NamedTuple):
    """Vectors, their cells and fractions, and how far every feature lies outside its range."""

    raw: Floats
    items: Items
    excess: Floats


@dataclass(frozen=True, eq=False)
class Semimetric(FrozenValue):
    """A distance: embedding, weights and what goes with them. Made by a learner or by `semimetric.load`.

    Its arrays are read-only copies, so what `axioms` says stays true.

    Parameters
    ----------
    embedding : PairMap
        Over the raw features followed by the directions.
    weights : ndarray of shape (embedding.n_columns,)
    epsilon : ndarray of shape (n_features + n_directions,)
        Slope outside the range of each embedded feature.
    feature_names : tuple of str
        Names of the raw features.
    directions : Directions or None
    base_distances : tuple of BaseDistance
    link : {"identity", "sqrt"}
    schema : Schema or None
        What the raw features are: tables that are given to the methods are encoded by it, all categories that were not in the
        fit to one and the same level. None takes what the grid says; categories are then their codes.

    Raises
    ------
    InputError
        If the numbers of weights, slopes, names and directions do not fit the embedding.

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
    link: str = "identity"
    schema: Schema = None  # type: ignore[assignment]  # set by __post_init__

    def __post_init__(self) -> None:
        freeze(self, "weights", "epsilon")
        object.__setattr__(self, "schema", schema_of(self.embedding.grid, self.feature_names, self.schema))
        n, embedded = self.embedding.n_columns, self.embedding.grid.n_features
        if (self.weights.shape, self.epsilon.shape, len(self.columns)) != ((n,), (embedded,), embedded):
            raise InputError(
                f"weights have shape {self.weights.shape}, epsilon {self.epsilon.shape}, and there are {len(self.columns)} "
                f"features with directions; ({n},), ({embedded},) and {embedded} are required by the embedding"
            )
        if (self.epsilon < 0).any():
            raise InputError(f"epsilon has {self.epsilon.min():g}; slopes outside the range must be >= 0")

    @property
    def n_features(self) -> int:
        """Number of raw features of the vectors it takes."""
        return len(self.feature_names)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the embedded features: the raw ones, then the directions; a name that is taken gets a number."""
        return distinct((*self.feature_names, *(self.directions.names if self.directions else ())))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms of the sum, in the order of `contributions`; a name that is taken gets a number."""
        groups = [" * ".join(self.columns[f] for f in group) for group in self.embedding.groups]
        return distinct((*groups, *(base.name for base in self.base_distances), "outside range"))

    @cached_property
    def axioms(self) -> Axioms:
        """What is guaranteed, from the columns and the signs of the weights."""
        return Axioms.of(self.embedding, self.weights, self.epsilon, self.n_features, self.base_distances)

    def certify(self, *, random_state: int | None = 0) -> AxiomReport:
        """How each axiom is proved; where the triangle inequality is not, points that violate it, if a search finds any."""
        return certify(self, random_state=random_state)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Distance of two vectors of shape (n_features,): usable as a scikit-learn ``metric``, and picklable."""
        return float(self.paired(self.schema.row(x), self.schema.row(y))[0])

    def paired(self, X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> Floats:
        """Distances of the rows of X to the same rows of Y, shape (n,), float64."""
        x, y = self._both(X, Y)
        check_same_length(x, y)
        parts = map_blocks(lambda b: self._sum(x[b], y[b]), len(x), size=_BLOCK, n_jobs=n_jobs)
        return self._linked(np.concatenate(parts))

    def paired_by_index(self, X: Floats, index: Integers, *, n_jobs: int | None = None) -> Floats:
        """Distances of the rows X[index[:, 0]] to X[index[:, 1]], shape (len(index),), block by block; X is encoded."""
        pairs = map_blocks(lambda b: self._sum(X[index[b, 0]], X[index[b, 1]]), len(index), size=_BLOCK, n_jobs=n_jobs)
        return self._linked(np.concatenate(pairs))

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Floats:
        """Distances of all rows of X to all rows of Y (of X if None), shape (n, m), float64.

        One-feature tables are tabulated per row of X; warped models are L1 between coordinates; other groups go pair by
        pair. A symmetric distance of X to itself is symmetric to the bit, with a diagonal of exact zeros; pairwise(X, Y)
        and pairwise(Y, X) are transposes of one another to rounding; base distances are called for every
        pair in both orders, and are as symmetric as they answer.

        Parameters
        ----------
        X, Y : array-like of shape (n, n_features), (m, n_features)
            The columns of a frame must be `feature_names`, in this order, here and in every method.
        n_jobs : int or None
            Threads; None is one, -1 all.
        """
        x, y = (self._points(side) for side in self._both(X, X if Y is None else Y))
        if isinstance(self.embedding, WarpedEmbedding):
            out = l1_pairwise(self._coordinates(x), self._coordinates(y), n_jobs=n_jobs)
        else:
            out = self.embedding.pairwise(x.items, y.items, self.weights, n_jobs=n_jobs)
            beyond = (x.excess.any(axis=0) | y.excess.any(axis=0)) & (self.epsilon > 0)
            if beyond.any():
                left, right = (side.excess[:, beyond] * self.epsilon[beyond] for side in (x, y))
                out += l1_pairwise(left, right, n_jobs=n_jobs)
        if Y is None and self.embedding.symmetric:
            mirror(out)
        for base in self.base_distances:
            base.add_pairwise(x.raw, y.raw, out)
        return self._linked(out)

    def contributions(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Terms of the sum before the link, named by `terms`.

        Parameters
        ----------
        x, y : array-like of shape (n_features,) or (n, n_features)
            One vector beside many rows goes with each of them.

        Returns
        -------
        ndarray of shape (n_terms,) or (n, n_terms)
        """
        flat = np.ndim(x) == 1 and np.ndim(y) == 1
        left, right = check_same_length(*self._both(*map(self.schema.rows, (x, y))), repeat=True)
        x, y, rows = self._points(left), self._points(right), np.arange(len(left))
        parts = [self.embedding.contributions(x.items, rows, y.items, rows, self.weights)]
        parts += [base.paired(left, right)[:, None] for base in self.base_distances]
        out = np.hstack([*parts, self._outside(x, y)[:, None]])
        return out[0] if flat else out

    def get_numba_metric(self) -> Callable[[Floats, Floats], float]:
        """The distance as a compiled function of two vectors, for pynndescent and others that take such a metric.

        It compiles at its first call, for what it is given (float32, read-only). Joint groups and base distances are refused.
        """
        if self.base_distances:
            raise NotSupportedError("a model with base distances cannot be compiled; give it as it is, as a callable metric")
        if not self.schema.plain:
            raise NotSupportedError(
                "only distances of numbers can be compiled, and this model has features that are categorical, periodic or may "
                "be missing; search it with NeighborIndex, or give it as it is, as a callable metric"
            )
        if self.directions is not None and self.directions.bends:
            raise NotSupportedError(
                "a model whose directions bend cannot be compiled; search it with NeighborIndex, or fit with directions=None"
            )
        matrix = np.empty((0, self.n_features)) if self.directions is None else self.directions.matrix
        return compiled_metric(self.embedding, self.weights, self.epsilon, matrix, root=self.link == "sqrt")

    def tables(self) -> dict[str, Table]:
        """One table for each group of features, by the name of its term."""
        return dict(zip(self.terms, self.embedding.tables(self.weights), strict=False))

    def transform(self, X: ArrayLike) -> Floats:
        """Coordinates whose L1 distance is this distance exactly; only for warped models.

        Returns
        -------
        ndarray of shape (n, n_groups or more)
            The scale of every group, continued outside its range; then epsilon times what lies outside, of features in
            no group.

        Raises
        ------
        NotSupportedError
            If the model is not warped L1 with the identity link and without base distances.
        """
        if not isinstance(self.embedding, WarpedEmbedding) or self.link != "identity" or self.base_distances:
            raise NotSupportedError(
                'only warped models (tables="warped", link="identity", no base distances) map exactly into L1; use '
                'pairwise(X) as a precomputed metric, or fit with tables="warped"'
            )
        return self._coordinates(self._points(self._checked(X)))

    def outside(self, X: ArrayLike) -> Floats:
        """Share of the rows of X that lie outside the range of each raw feature, where epsilon takes over from the tables.

        Of a categorical feature it is the share of categories that were not in the fit.
        """
        return self.beyond(self._checked(X)).mean(axis=0)

    def beyond(self, X: Floats) -> NDArray[np.bool_]:
        """Whether each value of X (n, n_features), encoded, lies outside the range of its raw feature, or is a new category."""
        grid, n = self.embedding.grid, self.n_features
        out = (X < grid.low[:n]) | (X > grid.high[:n])
        return out if self.schema.plain else (out & grid.extends[:n]) | self.schema.unseen(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that `semimetric.load` reads; see `to_state` for what it holds."""
        write_state(path, self.to_state())

    def to_state(self) -> State:
        """JSON values and arrays. Base distances are callables: their names, weights and probes are kept, not they."""
        values, arrays = map_state(self.embedding)
        more, matrix = directions_state(self.directions)
        more |= {} if self.schema.plain else {"schema": self.schema.state()}
        base = [b.state() for b in self.base_distances]
        names = {"feature_names": list(self.feature_names), "link": self.link, "base_distances": base}
        arrays = arrays | matrix | {"weights": self.weights, "epsilon": self.epsilon}
        for k, b in enumerate(self.base_distances):
            arrays |= {f"probe_{k}": b.probe, f"probe_values_{k}": b.values}
        return State("Semimetric", {"embedding": values} | more | names, arrays)

    @classmethod
    def from_state(cls, state: State, base_distances: Sequence[object] = ()) -> Semimetric:
        """The distance of `to_state`, with the base distances given again.

        Raises
        ------
        StorageError
            If a base distance is missing, is one too many, or does not give the stored values.
        """
        values, arrays = dict(state.values), dict(state.arrays)
        stored = values["base_distances"]
        schema = Schema.read(values["schema"]) if "schema" in values else Schema.numeric(values["feature_names"])
        if len(stored) != len(base_distances):
            raise StorageError(
                f"the model has {len(stored)} base distances ({', '.join(s['name'] for s in stored) or 'none'}), which are "
                f"Python functions, but {len(base_distances)} were given; in Python, give the same callables, in the same "
                "order: semimetric.load(path, base_distances=[...])"
            )
        bases = tuple(
            BaseDistance.read(s, function, arrays[f"probe_{k}"], arrays[f"probe_values_{k}"], None if schema.plain else schema)
            for k, (s, function) in enumerate(zip(stored, base_distances, strict=True))
        )
        embedding, names = read_map(values["embedding"], arrays), tuple(values["feature_names"])
        parts = (names, read_directions(values, arrays), bases, values["link"], schema)
        try:
            return cls(embedding, arrays["weights"], arrays["epsilon"], *parts)
        except InputError as error:
            raise StorageError(
                "the file's arrays do not fit together; it was not written by this version: save the model again"
            ) from error

    def __repr__(self) -> str:
        sizes = sorted({len(g) for g in self.embedding.groups})
        knots = dict.fromkeys(map(int, np.sort(self.embedding.grid.sizes)[[0, -1]]))
        extra = f" + {len(self.directions.names)} directions" if self.directions else ""
        base = "".join(f" + {b.weight:.3g} {b.name}" for b in self.base_distances)
        kinds = {WarpedEmbedding: "warped scales", MixedEmbedding: "warped scales and tables"}
        kind = kinds.get(type(self.embedding), "tables")
        return (
            f"Semimetric: {self.axioms}\n"
            f"  {self.n_features} features{extra}, {len(self.embedding.groups)} {kind} over groups of "
            f"{' and '.join(map(str, sizes))}{base}\n"
            f"  {' to '.join(map(str, knots))} knots a feature, {len(self.weights)} weights, link {self.link}"
        )

    def _both(self, X: ArrayLike, Y: ArrayLike) -> tuple[Floats, Floats]:
        x = self._checked(X)
        return x, x if Y is X else self._checked(Y, name="Y")

    def _checked(self, X: ArrayLike, *, name: str = "X") -> Floats:
        return self.schema.encode(X, name=name)

    def _points(self, x: Floats) -> _Points:
        features = self.directions.append(x) if self.directions else x
        return _Points(x, self.embedding.locate(features), self.embedding.grid.excess(features))

    def _outside(self, x: _Points, y: _Points) -> Floats:
        return np.abs(x.excess - y.excess) @ self.epsilon

    def _coordinates(self, x: _Points) -> Floats:
        """Scales of a warped model, continued outside: both rise with the feature, so their L1 distances add up."""
        beyond, groups = self.epsilon * x.excess, [g[0] for g in self.embedding.groups]
        rest = np.setdiff1d(np.flatnonzero(self.epsilon), groups)
        inside = self.embedding.coordinates(x.items, self.weights)  # type: ignore[attr-defined]
        return np.hstack([inside + beyond[:, groups], beyond[:, rest]])

    def _sum(self, left: Floats, right: Floats) -> Floats:
        """The sum before the link, row by row."""
        x, y, rows = self._points(left), self._points(right), np.arange(len(left))
        total = self.embedding.paired(x.items, rows, y.items, rows, self.weights)
        return sum((base.paired(left, right) for base in self.base_distances), total) + self._outside(x, y)

    def _linked(self, total: Floats) -> Floats:
        return np.sqrt(total) if self.link == "sqrt" else total
