"""The grid: strictly increasing knots for every feature, and where values fall between them.

    V = (v_{i,0} < ... < v_{i,c_i - 1}) for feature i      (paper 2, eq. 1, without ties)

Example: knots (0, 1, 4) put the value 2.5 into the cell between vertices 1 and 2, half way.

Every kind of feature has vertices with positions 0, 1, 2, ...; a value lies at one, or between two that follow one another:

    numeric      the knots
    periodic     the knots v_0 < ... < v_{c-1} < v_0 + P of one turn: the last is the first again, values are taken modulo P
    categorical  the knots 0, ..., K - 1, one a category, and K for one that was not in the fit; no value lies between
    missing      one vertex more, after the last knot, where the feature has a level for it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_choice, check_items
from .._kernels.locate import locate_cells
from .._kernels.simplex import Located
from .knots import STRATEGIES, knot_counts, place_knots, warn_of_fewer
from .schema import KINDS, Feature, Schema

__all__ = ["Grid", "schema_of"]

_MOST_KNOTS = 65_535  # vertices are stored as uint16


@dataclass(frozen=True, eq=False)
class Grid:
    """Knots of every feature; a value, made by `fit` or from given knots.

    Parameters
    ----------
    knots : sequence of array-like
        Strictly increasing, finite, one array a feature; lengths may differ. A feature with one knot carries nothing. The
        last knot of a periodic feature is the first plus the period; those of a categorical one are 0, 1, ..., K.
    kinds : sequence of {"numeric", "periodic", "categorical"}
        One a feature; all numeric by default.
    missing : sequence of bool
        Whether each feature has a level for missing values; none by default.

    Raises
    ------
    InputError
        If knots are missing, not finite, equal or decreasing, or more than 65,535, or not those of their kind.

    Examples
    --------
    >>> grid = Grid([[0.0, 1.0, 4.0]])
    >>> located = grid.locate([[2.5], [-7.0]])
    >>> located.lower.ravel(), located.fraction.ravel()
    (array([1, 0], dtype=uint16), array([0.5, 0. ]))
    """

    knots: tuple[Floats, ...]
    kinds: tuple[str, ...]
    missing: tuple[bool, ...]

    def __init__(self, knots: Sequence[ArrayLike], kinds: Sequence[str] = (), missing: Sequence[bool] = ()) -> None:
        arrays = tuple(np.array(k, dtype=np.float64).ravel() for k in knots)
        if not arrays:
            raise InputError("there are no features; give knots for at least one")
        kinds = tuple(kinds) or ("numeric",) * len(arrays)
        missing = tuple(map(bool, missing)) or (False,) * len(arrays)
        if not len(arrays) == len(kinds) == len(missing):
            raise InputError(
                f"there are knots of {len(arrays)} features, {len(kinds)} kinds and {len(missing)} missing; give one each"
            )
        for feature, (k, kind) in enumerate(zip(arrays, kinds, strict=True)):
            _check_knots(feature, k)
            _check_kind(feature, k, kind)
            k.setflags(write=False)
        for name, value in (("knots", arrays), ("kinds", kinds), ("missing", missing)):
            object.__setattr__(self, name, value)

    @classmethod
    def fit(
        cls,
        X: ArrayLike,
        *,
        n_knots: int | Sequence[int] = 8,
        strategy: str = "quantile",
        random_state: int | None = None,
        names: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> Grid:
        """Knots from data.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features), or frame
        n_knots : int or one int a feature, each >= 2
            Numbers of knots asked for; of a periodic feature on one turn; a categorical one has as many as categories, and one.
            Ties in the data reduce them, with a `SemimetricWarning`.
        strategy : {"quantile", "uniform", "kmeans"}
            Quantiles; equal widths; or k-means centres with the minimum and maximum kept (paper 0, section 3).
        random_state : int or None
            For the sample: of more than 100,000 items the inner knots come from that many at random; the
            first and last knot are the minimum and maximum of all.
        names : sequence of str
            Of the features, for warnings; numbers by default.
        schema : Schema or None
            What the columns of X are; None asks the dtypes of a frame, as `Schema.fit` does.
        """
        if schema is None and not hasattr(X, "columns"):
            items = check_items(X)
            schema = Schema.numeric([f"x{k}" for k in range(items.shape[1])])
        else:
            schema = schema or Schema.fit(X)
            items = schema.encode(X)
        return cls.fit_encoded(
            items, schema, n_knots=n_knots, strategy=strategy, random_state=random_state, names=names
        )  # fmt: skip

    @classmethod
    def fit_encoded(
        cls,
        items: Floats,
        schema: Schema,
        *,
        n_knots: int | Sequence[int],
        strategy: str,
        random_state: int | None,
        names: Sequence[str] = (),
    ) -> Grid:
        """`fit` for a matrix that the schema has encoded already."""
        check_choice("knots", strategy, STRATEGIES)
        counts = knot_counts(n_knots, items.shape[1], _MOST_KNOTS)
        grid = cls(place_knots(items, schema, counts, strategy, random_state), schema.kinds, schema.missing)
        warn_of_fewer([len(k) for k in grid.knots], counts, schema, names or range(grid.n_features))
        return grid

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.knots)

    @cached_property
    def counts(self) -> Integers:
        """Number of knots of every feature."""
        return np.array([len(k) for k in self.knots], dtype=np.int64)

    @cached_property
    def sizes(self) -> Integers:
        """Number of vertices of every feature: knots, and the level for missing values."""
        return self.counts + np.array(self.missing)

    @cached_property
    def seams(self) -> Integers:
        """Of every periodic feature the vertex that is vertex 0 again; 0 of the others."""
        return np.where(np.array(self.kinds) == "periodic", self.counts - 1, 0)

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Whether every feature has more than one vertex."""
        return self.sizes - (self.seams > 0) > 1

    @cached_property
    def extends(self) -> NDArray[np.bool_]:
        """Whether values can lie outside the range of every feature: of numeric ones."""
        return np.array(self.kinds) == "numeric"

    @property
    def plain(self) -> bool:
        """Whether all features are numeric, without levels for missing values."""
        return bool(self.extends.all()) and not any(self.missing)

    @cached_property
    def widths(self) -> Floats:
        """The largest gap between values of every feature: its range, half its period, 1 between categories; 1 if constant."""
        across = {"numeric": 1.0, "periodic": 0.5}
        widths = [across.get(kind, 0.0) * (k[-1] - k[0]) for kind, k in zip(self.kinds, self.knots, strict=True)]
        return np.where(np.array(widths) > 0, widths, 1.0)

    @cached_property
    def starts(self) -> Integers:
        """First knot of every feature in `flat`, and the end."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def flat(self) -> Floats:
        """All knots, feature after feature."""
        return np.concatenate(self.knots)

    @cached_property
    def low(self) -> Floats:
        """First knot of every feature."""
        return np.array([k[0] for k in self.knots])

    @cached_property
    def high(self) -> Floats:
        """Last knot of every feature."""
        return np.array([k[-1] for k in self.knots])

    @property
    def ends(self) -> Grid:
        """The same ranges with two knots a feature (one where the feature is constant)."""
        return Grid([k[[0, -1]] if len(k) > 1 else k for k in self.knots])

    @property
    def places(self) -> Grid:
        """The grid on which the knots of every number are 0, 1, ...: where `place` puts values."""
        counted = [np.arange(len(k)) if kind == "numeric" else k for k, kind in zip(self.knots, self.kinds, strict=True)]
        return Grid(counted, self.kinds, self.missing)

    def place(self, X: ArrayLike) -> Floats:
        """Every number as its place among its knots, linear between two; other values, and missing ones, as they are."""
        x = self._checked(X).copy()
        for f in np.flatnonzero(self.extends):
            x[:, f] = np.interp(x[:, f], self.knots[f], np.arange(len(self.knots[f])))
        return x

    def select(self, features: Integers) -> Grid:
        """The grid of some of the features."""
        parts = [[values[f] for f in features] for values in (self.knots, self.kinds, self.missing)]
        return Grid(*parts)

    def vertices(self, feature: int) -> Floats:
        """Values of a feature at its vertices: the knots, and NaN for the missing level."""
        return np.append(self.knots[feature], np.nan) if self.missing[feature] else self.knots[feature]

    def gap(self, feature: int, a: Floats | Integers, b: Floats | Integers) -> Floats:
        """How far positions of a feature are apart in the Gower distance, in the unit of the feature.

        |u - v| of numbers; min(|u - v|, P - |u - v|) on a circle; 1 between two categories; between a missing value and any
        other half the range of numbers, a quarter of the period, or 1 for categories (half of 1 for a feature that is
        constant else); 0 between two missing values.
        """
        knots, kind = self.knots[feature], self.kinds[feature]
        if kind == "categorical":
            return (a != b).astype(np.float64)
        u, v = (np.interp(side, np.arange(len(knots)), knots) for side in (a, b))
        out = np.abs(u - v)
        if kind == "periodic":
            out = np.minimum(out, np.maximum(knots[-1] - knots[0] - out, 0.0))
        if self.missing[feature]:
            gone = [side > len(knots) - 0.5 for side in (a, b)]
            out = np.where(gone[0] == gone[1], np.where(gone[0], 0.0, out), self.widths[feature] / 2)
        return out

    def locate(self, X: ArrayLike) -> Located:
        """Lower vertex, upper vertex and fraction of every value; values outside the range are clipped.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)

        Raises
        ------
        InputError
            If X has another number of features, or holds NaN without a level for it, infinity, or what is no code of a
            category.
        """
        x = self._checked(X)
        gone = None if np.isfinite(x).all() else np.isnan(x) & np.array(self.missing)
        if gone is not None and not (gone | np.isfinite(x)).all():
            raise InputError("X holds NaN or infinity; finite values are required: fill them in or drop those rows")
        if not self.plain:
            x = self._reduced(x)
        lower, upper = np.empty(x.shape, np.uint16), np.empty(x.shape, np.uint16)
        located = Located(lower, upper, np.empty(x.shape))
        locate_cells(x, self.flat, self.starts, *located)
        if gone is not None:  # at the upper end of the cell before the level, so that no kernel need know it
            last = np.broadcast_to(self.sizes - 1, x.shape)[gone]
            lower[gone], upper[gone], located.fraction[gone] = last - 1, last, 1.0
        return located

    def _reduced(self, x: Floats) -> Floats:
        """Periodic features on the turn of their knots; a missing value as the first knot; codes checked."""
        x = np.where(np.isnan(x), self.low, x)
        for f in np.flatnonzero(self.seams):
            x[:, f] = self.low[f] + np.mod(x[:, f] - self.low[f], self.high[f] - self.low[f])
        for f in np.flatnonzero(np.array(self.kinds) == "categorical"):
            if not np.isin(x[:, f], self.knots[f]).all():
                raise InputError(f"feature {f} is categorical; codes from 0 to {len(self.knots[f]) - 1} are required: encode X")
        return x

    def excess(self, X: ArrayLike) -> Floats:
        """x - clip(x): how far every number lies outside its range, signed; 0 inside, on circles and for missing values."""
        x = self._checked(X)
        out = x - np.clip(x, self.low, self.high)
        return out if self.plain else np.where(self.extends & ~np.isnan(x), out, 0.0)

    def _checked(self, X: ArrayLike) -> Floats:
        """X as the kernels need it: they read as many columns as there are features."""
        x = np.ascontiguousarray(X, dtype=np.float64)
        if x.shape != (len(x), self.n_features):
            raise InputError(
                f"X has shape {x.shape}; (n_items, {self.n_features}) is required, one column a feature of the grid"
            )
        return x


def _check_knots(feature: int, knots: Floats) -> None:
    if not len(knots) or len(knots) > _MOST_KNOTS:
        raise InputError(f"feature {feature} has {len(knots)} knots; 1 to {_MOST_KNOTS} are required")
    with np.errstate(over="ignore", invalid="ignore"):
        width = knots[-1] - knots[0]
    if not np.isfinite(knots).all() or not np.isfinite(width):
        raise InputError(f"the knots of feature {feature} must be finite, with a finite range; correct or rescale them")
    steps = np.diff(knots)
    if (steps <= 0).any():
        bad = int(np.flatnonzero(steps <= 0)[0])
        raise InputError(
            f"knots {bad} and {bad + 1} of feature {feature} are {knots[bad]:g} and {knots[bad + 1]:g}; "
            "knots must be strictly increasing: sort them and drop duplicates"
        )


def schema_of(grid: Grid, names: Sequence[str], schema: Schema | None = None) -> Schema:
    """The schema of a grid's first features under ``names``; None makes one whose categories are their codes.

    Raises
    ------
    InputError
        If kinds or levels for missing values differ.
    """
    n = len(names)
    if schema is None:
        parts = zip(names, grid.kinds, grid.knots, grid.missing, strict=False)
        return Schema(tuple(Feature(name, *_extent(kind, k), missing=gone) for name, kind, k, gone in parts))
    if (schema.kinds, schema.missing) != (grid.kinds[:n], grid.missing[:n]) or len(grid.kinds) < n:
        raise InputError(
            f"the schema has features of the kinds {schema.kinds}, the grid {grid.kinds[:n]} for {tuple(names)}; "
            "the same are required, and levels for missing values in both: give the schema of the grid"
        )
    return schema.renamed(names)


def _extent(kind: str, knots: Floats) -> tuple[str, tuple[int, ...], float]:
    """Kind, categories and period that go with knots."""
    categories = tuple(range(len(knots) - 1)) if kind == "categorical" else ()
    return kind, categories, float(knots[-1] - knots[0]) if kind == "periodic" else 0.0


def _check_kind(feature: int, knots: Floats, kind: str) -> None:
    check_choice("kind", kind, KINDS)
    if kind == "categorical" and not np.array_equal(knots, np.arange(len(knots))):
        raise InputError(f"feature {feature} is categorical; the knots 0, 1, ..., K are required, one a category and one more")
    if kind != "numeric" and len(knots) < 2:
        raise InputError(f"feature {feature} is {kind} and has {len(knots)} knot; at least 2 are required: see Grid")
