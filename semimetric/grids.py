"""The grid: strictly increasing knots for every feature, and where values fall between them.

    V = (v_{i,0} < ... < v_{i,c_i - 1}) for feature i      (paper 2, eq. 1, without ties)

Example: knots (0, 1, 4) put the value 2.5 into the cell between vertices 1 and 2, half way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.cluster import KMeans

from ._checks import check_choice, check_items
from ._errors import InputError, warn
from ._kernels.locate import locate_cells
from ._kernels.simplex import Located
from ._types import ArrayLike, Floats, Integers

__all__ = ["Grid"]

_MOST_ROWS = 100_000
_MOST_KNOTS = 65_535  # vertices are stored as uint16


def _quantile_knots(values: Floats, n_knots: int, random_state: int | None) -> Floats:
    return np.quantile(values, np.linspace(0.0, 1.0, n_knots))


def _uniform_knots(values: Floats, n_knots: int, random_state: int | None) -> Floats:
    return np.linspace(values.min(), values.max(), n_knots)


def _kmeans_knots(values: Floats, n_knots: int, random_state: int | None) -> Floats:
    """Minimum, maximum and n_knots - 2 centres (paper 0, section 3)."""
    ends = np.array([values.min(), values.max()])
    n_centres = min(n_knots - 2, len(np.unique(values)))
    if n_centres < 1:
        return ends
    model = KMeans(n_centres, n_init=3, random_state=random_state).fit(values[:, None])
    return np.clip(np.sort(np.append(ends, model.cluster_centers_[:, 0])), *ends)


def _sample(items: Floats, random_state: int | None) -> Floats:
    """At most _MOST_ROWS rows, and the minimum and maximum of every feature as two more."""
    if len(items) <= _MOST_ROWS:
        return items
    rows = np.random.default_rng(random_state).choice(len(items), _MOST_ROWS, replace=False)
    return np.vstack([items[rows], items.min(axis=0), items.max(axis=0)])


_STRATEGIES = {"quantile": _quantile_knots, "uniform": _uniform_knots, "kmeans": _kmeans_knots}


@dataclass(frozen=True, eq=False)
class Grid:
    """Knots of every feature; a value, made by `fit` or from given knots.

    Parameters
    ----------
    knots : sequence of array-like
        Strictly increasing, finite, one array a feature; lengths may differ. A feature with one knot carries nothing.

    Raises
    ------
    InputError
        If knots are missing, not finite, equal or decreasing, or more than 65,535.

    Examples
    --------
    >>> grid = Grid([[0.0, 1.0, 4.0]])
    >>> located = grid.locate([[2.5], [-7.0]])
    >>> located.lower.ravel(), located.fraction.ravel()
    (array([1, 0], dtype=uint16), array([0.5, 0. ]))
    """

    knots: tuple[Floats, ...]

    def __init__(self, knots: Sequence[ArrayLike]) -> None:
        arrays = tuple(np.array(k, dtype=np.float64).ravel() for k in knots)
        if not arrays:
            raise InputError("there are no features; give knots for at least one")
        for feature, k in enumerate(arrays):
            _check_knots(feature, k)
            k.setflags(write=False)
        object.__setattr__(self, "knots", arrays)

    @classmethod
    def fit(
        cls,
        X: ArrayLike,
        *,
        n_knots: int | Sequence[int] = 8,
        strategy: str = "quantile",
        random_state: int | None = None,
        names: Sequence[str] = (),
    ) -> Grid:
        """Knots from data.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
        n_knots : int or one int a feature, each >= 2
            Numbers of knots asked for. Ties in the data reduce them, with a `SemimetricWarning`.
        strategy : {"quantile", "uniform", "kmeans"}
            Quantiles; equal widths; or k-means centres with the minimum and maximum kept (paper 0, section 3).
        random_state : int or None
            For k-means, and for the sample: of more than 100,000 items the inner knots come from that many at random; the
            first and last knot are the minimum and maximum of all.
        names : sequence of str
            Of the features, for warnings; numbers by default.
        """
        items = check_items(X)
        check_choice("knots", strategy, tuple(_STRATEGIES))
        given = np.asarray(n_knots)
        if given.ndim > 1 or given.size not in (1, items.shape[1]):
            raise InputError(
                f"n_knots={n_knots!r} has {given.size} numbers for {items.shape[1]} features (directions are features too); "
                "one number, or one a feature, is required"
            )
        counts = np.broadcast_to(given, items.shape[1])
        if counts.dtype.kind not in "iu" or (counts < 2).any() or (counts > _MOST_KNOTS).any():
            raise InputError(f"n_knots={n_knots!r}: integers between 2 and {_MOST_KNOTS} are required, one or one a feature")
        make = _STRATEGIES[strategy]
        sample = _sample(items, random_state)
        knots = [np.unique(make(column, int(c), random_state)) for column, c in zip(sample.T, counts, strict=True)]
        _warn_of_fewer(knots, counts, names or range(len(knots)))
        return cls(knots)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.knots)

    @cached_property
    def sizes(self) -> Integers:
        """Number of knots of every feature."""
        return np.array([len(k) for k in self.knots], dtype=np.int64)

    @cached_property
    def starts(self) -> Integers:
        """First knot of every feature in `flat`, and the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

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

    def locate(self, X: ArrayLike) -> Located:
        """Lower vertex, upper vertex and fraction of every value; values outside the range are clipped.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)

        Raises
        ------
        InputError
            If X has another number of features, or holds NaN or infinity.
        """
        x = self._checked(X)
        if not np.isfinite(x).all():
            raise InputError("X holds NaN or infinity; finite values are required: fill them in or drop those rows")
        lower, upper = np.empty(x.shape, np.uint16), np.empty(x.shape, np.uint16)
        located = Located(lower, upper, np.empty(x.shape))
        locate_cells(x, self.flat, self.starts, *located)
        return located

    def excess(self, X: ArrayLike) -> Floats:
        """x - clip(x): how far every value lies outside its range, signed; 0 inside."""
        x = self._checked(X)
        return x - np.clip(x, self.low, self.high)

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


def _warn_of_fewer(knots: Sequence[Floats], counts: Integers, names: Sequence[object]) -> None:
    constant = [f for f, k in enumerate(knots) if len(k) == 1]
    if constant:
        shown = ", ".join(str(names[f]) for f in constant[:8]) + (f" and {len(constant) - 8} more" if constant[8:] else "")
        subject = f"features {shown} are" if constant[1:] else f"feature {shown} is"
        warn(f"{subject} constant: nothing is learned there")
    fewer = [f for f, (k, c) in enumerate(zip(knots, counts, strict=True)) if 1 < len(k) < c]
    if fewer:
        shown = ", ".join(f"{names[f]}: {len(knots[f])} of {counts[f]}" for f in fewer[:5])
        more = f" and {len(fewer) - 5} more" if len(fewer) > 5 else ""
        warn(f"ties in the data leave fewer knots ({shown}{more})")
