"""The grid: strictly increasing knots of every feature, and where values lie between them.

    V = (v_{i,0} < ... < v_{i,c_i - 1}) for feature i      (paper 2, eq. 1, without ties)

Example: with knots (0, 1, 4) the value 2.5 lies in the cell between the vertices 1 and 2, half way.

A feature of any kind has vertices with positions 0, 1, 2, ...; a value lies at a vertex or between two consecutive ones:

    numeric      the knots
    periodic     the knots v_0 < ... < v_{c-1} < v_0 + P of one turn: the last is the first again, values are taken modulo P
    categorical  the knots 0, ..., K - 1, one for each category, and K for new categories; no value lies between them
    missing      one further vertex after the last knot, if the feature has a level for missing values
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._foundation.arrays import as_floats
from .._foundation.errors import InputError
from .._foundation.stored import storable
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_choice, check_items
from .._kernels.jit import read_only
from .._kernels.locate import locate_cells
from .._kernels.simplex import Located
from .knots import MOST_KNOTS, STRATEGIES, knot_counts, place_knots, warn_of_fewer
from .schema import KINDS, Feature, Schema


@storable
@dataclass(frozen=True, eq=False)
class Grid:
    """The knots of every feature; a grid is made by `fit` or from given knots.

    Parameters
    ----------
    knots : sequence of array-like
        One array of strictly increasing, finite numbers for each feature; their lengths may differ. A feature with one knot
        does not contribute. The last knot of a periodic feature is the first plus the period; the knots of a categorical
        feature are 0, 1, ..., K.
    kinds : sequence of {"numeric", "periodic", "categorical"}
        The kind of each feature; all are numeric by default.
    missing : sequence of bool
        True for each feature with a level for missing values; none by default.

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
        arrays = tuple(np.array(as_floats(k, f"knots[{f}]")).ravel() for f, k in enumerate(knots))
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
        object.__setattr__(self, "knots", arrays)
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "missing", missing)

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
        """Return a grid whose knots are placed from data.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features), or frame
        n_knots : int or one int a feature, each >= 2
            The number of knots asked for; for a periodic feature it is that on one turn. A categorical feature always has one
            knot for each category and one more. Ties in the data reduce the numbers, with a `SemimetricWarning`.
        strategy : {"quantile", "uniform", "kmeans"}
            Quantiles; equal widths; or k-means centres with the minimum and maximum kept (Pele et al. 2013, section 3).
        random_state : int or None
            The seed of the sample: of more than 100,000 items the inner knots come from so many drawn at random. The first
            and last knots are the minimum and maximum of all items.
        names : sequence of str
            The names of the features in warnings; their numbers by default.
        schema : Schema or None
            The schema of X; None makes it from the dtypes of a frame, as `Schema.fit` does.
        """
        if schema is None and not hasattr(X, "columns"):
            X = check_items(X)
            schema = Schema.numeric([f"x{k}" for k in range(X.shape[1])])
        schema = schema or Schema.fit(X)
        items = schema.encode(X)
        return cls.fit_encoded(items, schema, n_knots=n_knots, strategy=strategy, random_state=random_state, names=names)

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
        """Return the grid of `fit`, for a matrix that the schema has encoded already."""
        check_choice("knots", strategy, STRATEGIES)
        counts = knot_counts(n_knots, items.shape[1], MOST_KNOTS)
        grid = cls(place_knots(items, schema, counts, strategy, random_state), schema.kinds, schema.missing)
        warn_of_fewer(grid.knots, counts, items, schema, names or range(grid.n_features))
        return grid

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.knots)

    @cached_property
    def counts(self) -> Integers:
        """The number of knots of every feature, shape (n_features,)."""
        return np.array([len(k) for k in self.knots], dtype=np.int64)

    @cached_property
    def sizes(self) -> Integers:
        """The number of vertices of every feature: of knots, and of the level for missing values. Shape (n_features,)."""
        return self.counts + np.array(self.missing)

    @cached_property
    def seams(self) -> Integers:
        """The vertex of every periodic feature that is the same as its vertex 0; 0 for other features."""
        return np.where(np.array(self.kinds) == "periodic", self.counts - 1, 0)

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """True for each feature with more than one different vertex, shape (n_features,)."""
        return self.sizes - (self.seams > 0) > 1

    @cached_property
    def extends(self) -> NDArray[np.bool_]:
        """True for each feature with values outside its range, which numeric ones can have: shape (n_features,)."""
        return np.array(self.kinds) == "numeric"

    @property
    def plain(self) -> bool:
        """True if all features are numeric, without levels for missing values."""
        return bool(self.extends.all()) and not any(self.missing)

    @cached_property
    def widths(self) -> Floats:
        """The largest gap between values of every feature: its range, half its period, 1 between categories; 1 if constant."""
        factor = {"numeric": 1.0, "periodic": 0.5}
        widths = [factor.get(kind, 0.0) * (k[-1] - k[0]) for kind, k in zip(self.kinds, self.knots, strict=True)]
        return np.where(np.array(widths) > 0, widths, 1.0)

    @cached_property
    def starts(self) -> Integers:
        """The place in `flat` of the first knot of every feature, and the length of `flat`: shape (n_features + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def flat(self) -> Floats:
        """The knots of all features, one feature after another."""
        return np.concatenate(self.knots)

    @cached_property
    def low(self) -> Floats:
        """The first knot of every feature, shape (n_features,)."""
        return np.array([k[0] for k in self.knots])

    @cached_property
    def high(self) -> Floats:
        """The last knot of every feature, shape (n_features,)."""
        return np.array([k[-1] for k in self.knots])

    @property
    def ends(self) -> Grid:
        """The grid that has only the first and the last knot of every feature (one knot if the feature is constant)."""
        return Grid([k[[0, -1]] if len(k) > 1 else k for k in self.knots])

    @property
    def position_grid(self) -> Grid:
        """The grid of the values that `positions` returns: the knots of every numeric feature are 0, 1, ..."""
        counted = [np.arange(len(k)) if kind == "numeric" else k for k, kind in zip(self.knots, self.kinds, strict=True)]
        return Grid(counted, self.kinds, self.missing)

    def positions(self, X: ArrayLike) -> Floats:
        """Return X with every number replaced by its position among its knots.

        Other values, and missing ones, are unchanged.
        """
        x = self._checked(X).copy()
        for f in np.flatnonzero(self.extends):
            x[:, f] = np.interp(x[:, f], self.knots[f], np.arange(len(self.knots[f])))
        return x

    def select(self, features: Integers) -> Grid:
        """Return the grid of some of the features."""
        return Grid(*([values[f] for f in features] for values in (self.knots, self.kinds, self.missing)))

    def vertices(self, feature: int) -> Floats:
        """Return the values of a feature at its vertices: its knots, and NaN for the level of missing values."""
        return np.append(self.knots[feature], np.nan) if self.missing[feature] else self.knots[feature]

    def gap(self, feature: int, a: Floats | Integers, b: Floats | Integers) -> Floats:
        """Return the gap between the positions ``a`` and ``b`` of a feature in the Gower distance, in the unit of the feature.

        It is |u - v| for the numbers u and v at these positions, and min(|u - v|, P - |u - v|) on a circle. Two different
        categories are 1 apart, and two missing values 0. From a missing value to any other it is half the range of numbers, a
        quarter of the period, or 1 for categories. It is 1/2 for a feature that has no other gap.
        """
        knots, kind = self.knots[feature], self.kinds[feature]
        if kind == "categorical":
            return (a != b).astype(np.float64)
        u, v = (np.interp(side, np.arange(len(knots)), knots) for side in (a, b))
        out = np.abs(u - v)
        if kind == "periodic":
            out = np.minimum(out, np.maximum(knots[-1] - knots[0] - out, 0.0))
        if self.missing[feature]:
            a_missing, b_missing = (side > len(knots) - 0.5 for side in (a, b))
            out = np.where(a_missing == b_missing, np.where(a_missing, 0.0, out), self.widths[feature] / 2)
        return out

    def locate(self, X: ArrayLike) -> Located:
        """Return the lower vertex, the upper vertex and the fraction between them of every value; values outside are clipped.

        NaN without a level for it, infinity, and what is no code of a category are refused with an `InputError`.
        """
        x = self._checked(X)
        missing = None if np.isfinite(x).all() else np.isnan(x) & np.array(self.missing)
        if missing is not None and not (missing | np.isfinite(x)).all():
            raise InputError("X holds NaN or infinity; finite values are required: fill them in or drop those rows")
        if not self.plain:
            x = self._in_range(x)
        located = Located(np.empty(x.shape, np.uint16), np.empty(x.shape, np.uint16), np.empty(x.shape))
        locate_cells(read_only(x), read_only(self.flat), read_only(self.starts), *located)
        if missing is not None:  # at the upper end of the cell before the level, so that kernels need no rule for it
            last = np.broadcast_to(self.sizes - 1, x.shape)[missing]
            located.lower[missing] = last - 1
            located.upper[missing] = last
            located.fraction[missing] = 1.0
        return located

    def _in_range(self, x: Floats) -> Floats:
        """Return the values, angles within one turn and missing ones at the first knot; codes are checked."""
        x = np.where(np.isnan(x), self.low, x)
        for f in np.flatnonzero(self.seams):
            turn = np.mod(x[:, f] / 2 - self.low[f] / 2, (self.high[f] - self.low[f]) / 2)  # halves do not overflow
            x[:, f] = self.low[f] + 2 * turn
        codes = x[:, self._categorical]
        wrong = ((codes != np.rint(codes)) | (codes < 0.0) | (codes > self.high[self._categorical])).any(axis=0)
        if wrong.any():
            first = int(self._categorical[wrong][0])
            last = len(self.knots[first]) - 1
            raise InputError(f"feature {first} is categorical; codes from 0 to {last} are required: encode X")
        return x

    @cached_property
    def _categorical(self) -> Integers:
        return np.flatnonzero(np.array(self.kinds) == "categorical")

    def excess(self, X: ArrayLike) -> Floats:
        """Return x - clip(x), the signed distance of each number from its range, inf on overflow.

        It is 0 inside, on circles, and for missing values.
        """
        x = self._checked(X)
        with np.errstate(over="ignore"):
            out = x - np.clip(x, self.low, self.high)
        return out if self.plain else np.where(self.extends & ~np.isnan(x), out, 0.0)

    def _checked(self, X: ArrayLike) -> Floats:
        x = np.ascontiguousarray(X, dtype=np.float64)
        if x.shape != (len(x), self.n_features):
            raise InputError(f"X has shape {x.shape}; (n_items, {self.n_features}) is required, one column a feature")
        return x


def _check_knots(feature: int, knots: Floats) -> None:
    if not len(knots) or len(knots) > MOST_KNOTS:
        raise InputError(f"feature {feature} has {len(knots)} knots; 1 to {MOST_KNOTS} are required")
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
    """Return the schema of the first features of a grid, called ``names``; without ``schema``, categories are their codes."""
    n = len(names)
    if schema is None:
        return Schema(tuple(map(_feature_of, names, grid.kinds, grid.knots, grid.missing)))
    if (schema.kinds, schema.missing) != (grid.kinds[:n], grid.missing[:n]) or len(grid.kinds) < n:
        raise InputError(
            f"the schema has features of the kinds {schema.kinds}, the grid {grid.kinds[:n]} for {tuple(names)}; "
            "the same are required, and levels for missing values in both: give the schema of the grid"
        )
    return schema.renamed(names)


def _feature_of(name: str, kind: str, knots: Floats, missing: bool) -> Feature:
    categories = tuple(range(len(knots) - 1)) if kind == "categorical" else ()
    period = float(knots[-1] - knots[0]) if kind == "periodic" else 0.0
    return Feature(name, kind, categories, period, missing)


def _check_kind(feature: int, knots: Floats, kind: str) -> None:
    check_choice("kind", kind, KINDS)
    if kind == "categorical" and not np.array_equal(knots, np.arange(len(knots))):
        raise InputError(f"feature {feature} is categorical; the knots 0, 1, ..., K are required, one a category and one more")
    if kind != "numeric" and len(knots) < 2:
        raise InputError(f"feature {feature} is {kind} and has {len(knots)} knot; at least 2 are required: see Grid")
