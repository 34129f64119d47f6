"""Linear features of histograms over bins with coordinates, with which a sum over features can learn an EMD.

The Earth Mover's Distance with a metric ground distance is a norm of the difference x - y of two histograms. In one
dimension it is exactly the L1 distance between cumulative sums. In more dimensions no finite set of linear features is exact.
But sums of |a_k · (x - y)| over half-planes, balls and windowed edges come close once their weights are learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats, validated
from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_cost_matrix, check_count
from .bins import METRICS, Bins, Line, checked_periods
from .histogram_blocks import CumulativeSums, HistogramBlock, Products, SumsOfRuns, applied
from .uniform_directions import LinearFeatures, half_sphere

SAME_MASS = 1e-6  # relative difference up to which masses are taken for equal, as those of float32 are
_PROBES = 16  # random histograms on which features are compared


class NamedBlock(NamedTuple):
    """Linear features of histograms and their names."""

    names: list[str]
    block: HistogramBlock

    def take(self, keep: Integers) -> NamedBlock:
        """Return some of the features, by their numbers."""
        return NamedBlock([self.names[k] for k in keep], self.block.take(keep))


class Family(NamedTuple):
    """Features of one kind: how many there are, and a function from a number of them to that many, evenly chosen."""

    size: int
    make: Callable[[int], NamedBlock]


def slices(bins: Bins, n: int) -> Iterator[Family]:
    """Return cumulative sums along ``n`` directions: the mass before every gap between projected bins, times its width."""
    for line in bins.lines(_directions(bins, n)):
        values = np.unique(line.places)
        values = values[np.concatenate([[True], np.diff(values) > bins.rounding])]
        if len(values) > 1:
            make = partial(_strips, bins, line, values) if np.isfinite(bins.threshold) else partial(_slices, line, values)
            yield Family(len(_breaks(bins, values)) - 1, make)


def balls(bins: Bins, radii: Sequence[float]) -> Iterator[Family]:
    """Return the mass within each radius, in units of the spacing, around every bin; radii below the threshold alone."""
    for r in radii:
        if r * bins.spacing < bins.threshold:
            yield Family(bins.n, partial(_balls, bins, r))


def edges(bins: Bins, n: int, scales: Sequence[float]) -> Iterator[Family]:
    """Return the mass on one side of every bin minus that on the other, weighted less with distance, along ``n`` directions."""
    directions = _directions(bins, n)
    for d in range(min(n, bins.n - 1) if bins.coordinates is None else len(directions)):
        for t in scales:
            yield Family(bins.n, partial(_edges, bins, None if bins.coordinates is None else directions[d], d, t))


def within_budget(families: Sequence[Family], most: int | None) -> list[NamedBlock]:
    """Return all features of the families, or of every family the same share, so that they are at most so many."""
    total = sum(family.size for family in families)
    if most is None or total <= most:
        return [family.make(family.size) for family in families]
    exact = np.array([family.size for family in families]) * (most / total)
    counts = exact.astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: most - counts.sum()]] += 1
    return [family.make(int(k)) for family, k in zip(families, counts, strict=True) if k]


def distinct(blocks: Sequence[NamedBlock], n_bins: int, *, up_to_constant: bool) -> list[NamedBlock]:
    """Return blocks with the first of features that are equal up to sign and scale, and a constant if ``up_to_constant``."""
    probes = np.random.default_rng(0).standard_normal((_PROBES, n_bins))
    free = probes - probes.mean(axis=1, keepdims=True) if up_to_constant else probes
    values = applied([named.block for named in blocks], free).T
    plain = values if free is probes else applied([named.block for named in blocks], probes).T
    size = np.linalg.norm(values, axis=1)
    nonzero = np.flatnonzero(size > 1e-9 * np.linalg.norm(plain, axis=1))
    unit = values[nonzero] / size[nonzero, None]
    first = unit[np.arange(len(unit)), np.argmax(np.abs(unit) > 1e-6, axis=1)]
    keys = np.round(unit * np.sign(first)[:, None], 6) + 0.0
    _, where = np.unique(keys, axis=0, return_index=True)
    kept, found, before = np.sort(nonzero[where]), [], 0
    for named in blocks:
        inside = kept[(kept >= before) & (kept < before + len(named.block))] - before
        before += len(named.block)
        if len(inside):
            found.append(named.take(inside))
    return found


def _directions(bins: Bins, n: int) -> Floats:
    """Return ``n`` evenly spread unit vectors, shape (n, d), with the axes first where the ground distance sees these."""
    if bins.dimension is None:
        return np.empty((n, 0))
    if bins.dimension == 1:
        return half_sphere(1, n, 0)
    axes = 0 if bins.plain else min(n, bins.dimension)
    return np.vstack([np.eye(bins.dimension)[:axes], half_sphere(bins.dimension, n - axes, 0)])


def _breaks(bins: Bins, values: Floats) -> Floats:
    """Return the shifts of a strip, or half-line, at which its mass changes: between increasing positions of bins."""
    if not np.isfinite(bins.threshold):
        return values
    found = np.unique(np.concatenate([values, values + bins.threshold]))
    return found[np.concatenate([[True], np.diff(found) > bins.rounding])]


def _slices(line: Line, values: Floats, count: int) -> NamedBlock:
    """Return the masses before ``count`` gaps of a line, times the width of all gaps for which each stands."""
    order = np.argsort(line.places, kind="stable")
    gaps, widths = _thinned(values, count)
    ends = np.searchsorted(line.places[order], values[gaps + 1])
    middles = [line.origin + (values[k] + values[k + 1]) / 2 for k in gaps]
    digits = _digits(values, line.origin)
    names = [f"{line.name}<{middle:.{digits}g}" for middle in middles]
    return NamedBlock(names, CumulativeSums(order, np.zeros_like(ends), ends, widths))


def _strips(bins: Bins, line: Line, values: Floats, count: int) -> NamedBlock:
    """Return the masses of strips as wide as the threshold, times half of by how far each may be moved and hold the same bins.

    The L1 distance of all of them between two points is the distance of these along the line, and at most the threshold.
    """
    order = np.argsort(line.places, kind="stable")
    breaks = _breaks(bins, values)
    gaps, widths = _thinned(breaks, count)
    middles = (breaks[gaps] + breaks[gaps + 1]) / 2
    ends = np.searchsorted(line.places[order], middles)
    starts = np.searchsorted(line.places[order], middles - bins.threshold)
    digits = _digits(breaks, line.origin)
    names = [f"{line.name}<{line.origin + middle:.{digits}g}" for middle in middles]
    return NamedBlock(names, CumulativeSums(order, starts, ends, widths / 2))


def _thinned(values: Floats, count: int) -> tuple[Integers, Floats]:
    """Return numbers of ``count`` gaps between values, evenly chosen, and the width of the values for which each stands."""
    n = len(values) - 1
    bounds = np.arange(count + 1) * n // count
    return (bounds[:-1] + bounds[1:]) // 2, np.diff(values[bounds])


def _digits(values: Floats, origin: float) -> int:
    return 4 + int(np.log10(max(np.abs(values + origin).max() / (np.ptp(values) or 1.0), 1.0)))


def _balls(bins: Bins, r: float, count: int) -> NamedBlock:
    centers = bins.spread(count)
    near = bins.distances[centers] <= r * bins.spacing * (1 + 1e-9)
    return NamedBlock([f"ball{r:g}@{c}" for c in centers], SumsOfRuns.of(near, bins.reading_order))


def _edges(bins: Bins, u: Floats | None, number: int, t: float, count: int) -> NamedBlock:
    centers = bins.spread(count)
    side = _towards_neighbours(bins, centers, number) if u is None else _sides(bins, centers, u)
    window = side * np.exp(-bins.distances[centers] / (2 * t * bins.spacing))
    return NamedBlock([f"edge{number}x{t:g}@{c}" for c in centers], Products(window))


def _sides(bins: Bins, centers: Integers, u: Floats) -> Floats:
    """Return 1 for bins before each centre in the direction u, -1 behind it, 0 at right angles: (n_centers, n_bins)."""
    if not bins.circles:
        projection = bins.C @ u
        side = projection[centers, None] - projection[None, :]
    else:
        side = np.zeros((len(centers), bins.n))
        for step, factor, period in zip(bins.steps, u, bins.periods, strict=True):
            opposite = np.abs(step[centers]) > period / 2 * (1 - 1e-9)
            side -= factor * np.where(opposite, 0.0, step[centers])
    return np.sign(np.where(np.abs(side) <= 1e-9 * bins.spacing, 0.0, side))


def _towards_neighbours(bins: Bins, centers: Integers, number: int) -> Floats:
    """Return 1 for bins nearer to a centre than to a neighbour of it, and -1 for others; the neighbour that has the number."""
    away = bins.distances + np.diag(np.full(bins.n, np.inf))
    neighbors = np.argsort(away[centers], axis=1, kind="stable")[:, number]
    side = bins.distances[neighbors] - bins.distances[centers]
    return np.sign(np.where(np.abs(side) <= 1e-9 * bins.spacing, 0.0, side))


@storable
class HistogramFeatures(LinearFeatures):
    """Cumulative sums, balls and edges over bins: a linear transformer, which can also be given as ``directions=``.

    - slices: the mass of {b : u·b < t} for evenly spread directions u and every threshold t between distinct projections,
      times the gap between these. In one dimension they are the cumulative sums, and the L1 distance of these is the EMD.
    - balls: the mass within a radius of each bin (multi-resolution box sums).
    - edges: ``sum_b sign(u·(c - b)) exp(-|b - c| / (2 t h)) x_b`` around each bin c: by how much the mass on one side of a
      line through c exceeds that on the other.
    - the total mass, if it differs between the histograms of ``fit`` by more than 1e-6 of it.

    h is the median distance of a bin to its nearest neighbour. Features that are equal up to sign and scale (and, for equal
    masses, up to a constant) are kept once. Bins in one dimension have slices and, if asked for, the bins themselves, because
    nothing more is needed.

    The ground distance is given by ``metric``, ``periodic``, ``threshold`` and ``cost_matrix``. Along a circle (``periodic``)
    masses are added up from the position of every bin on, so that slices of one circle are all its arcs. Bins lie on the near
    side or the far side of others the short way round. Under a threshold T slices are strips as wide as T, and balls have
    radii below T. With a cost matrix and no coordinates, slices are masses within every distance of bins that are far apart,
    and edges separate bins nearer to c from those nearer to a neighbour of c.

    Histograms of different masses are taken as they are. Then too a sum with learned weights approximates a norm of x - y, such
    as EMD-hat (Pele & Werman 2008), ``min_F sum_ij F_ij c_ij + alpha max_ij c_ij |sum x - sum y|`` over flows F of the smaller
    mass. It is a metric for alpha >= 1/2 and a metric c; the weight of the total mass has the part of alpha.

    Slices and balls are computed by cumulative sums over the bins, in their order along a line or on the grid, without a
    matrix; `components_` makes the matrix when it is asked for.

    Parameters
    ----------
    bin_coordinates : array-like of shape (n_bins,) or (n_bins, n_dimensions), or None
        The positions of the bins, in the unit of the ground distance; None if ``cost_matrix`` gives it.
    n_slices : int, default 16
        The number of directions of the slices; 0 leaves the slices out.
    ball_radii : sequence of float, default (1, 1.5, 2, 3)
        The radii of the balls, in units of h.
    n_edges : int, default 8
        The number of directions of the edges; 0 leaves the edges out.
    edge_scales : sequence of float, default (1.5,)
        The widths t of the edges.
    bins : bool, default False
        True adds the raw bins. It is not needed for ``directions=``, which are appended to the raw bins.
    max_features : int or None, default 10000
        The most features. Where there would be more, slices have fewer thresholds, and balls and edges fewer centres, by
        the same share and evenly chosen; slices in one dimension are exact no more. None sets no limit.
    metric : {"euclidean", "cityblock", "chebyshev"}, default "euclidean"
        The ground distance between coordinates. Slices and edges have the directions of the axes first, unless it is
        Euclidean without circles and threshold.
    periodic : dict of int to float, or None, default None
        Axes that are circles, by number, and their lengths: ``{2: 8.0}`` for 8 orientations on axis 2.
    threshold : float or None, default None
        The largest ground distance T: all larger ones are T, as between the bins of descriptors (Pele & Werman 2009).
    cost_matrix : array-like of shape (n_bins, n_bins), or None, default None
        The ground distance in place of one between coordinates: symmetric, >= 0 and 0 on the diagonal.

    Attributes
    ----------
    components_ : ndarray of shape (n_features_out, n_bins)

    Examples
    --------
    >>> features = HistogramFeatures([0.0, 1.0, 3.0]).fit([[1.0, 0, 0], [0, 0, 1.0]])
    >>> u, v = features.transform([[1.0, 0, 0], [0, 0, 1.0]])
    >>> float(np.abs(u - v).sum())
    3.0
    >>> orientations = HistogramFeatures(range(8), periodic={0: 8.0}, n_edges=0, ball_radii=())
    >>> orientations.fit_transform(np.eye(8)).shape
    (8, 28)
    """

    def __init__(
        self,
        bin_coordinates: ArrayLike | None,
        *,
        n_slices: int = 16,
        ball_radii: Sequence[float] = (1.0, 1.5, 2.0, 3.0),
        n_edges: int = 8,
        edge_scales: Sequence[float] = (1.5,),
        bins: bool = False,
        max_features: int | None = 10_000,
        metric: str = "euclidean",
        periodic: Mapping[int, float] | None = None,
        threshold: float | None = None,
        cost_matrix: ArrayLike | None = None,
    ) -> None:
        self.bin_coordinates = bin_coordinates
        self.n_slices = n_slices
        self.ball_radii = ball_radii
        self.n_edges = n_edges
        self.edge_scales = edge_scales
        self.bins = bins
        self.max_features = max_features
        self.metric = metric
        self.periodic = periodic
        self.threshold = threshold
        self.cost_matrix = cost_matrix

    def fit(self, X: ArrayLike, y: object = None) -> HistogramFeatures:
        """Build the features; X gives the number of bins and whether masses differ, and y is ignored.

        Raises
        ------
        InputError
            If the numbers of bins differ, coordinates are not finite or repeat, a parameter is no number > 0 (no integer
            >= 0 for the numbers of directions), the ground distance is none, more is asked for than ``max_features``, or no
            feature is left.
        """
        self._check_parameters()
        histograms = validated(self, X, dtype=np.float64)
        n_bins = histograms.shape[1]
        mass = histograms.sum(axis=1)
        equal = bool(np.ptp(mass) <= SAME_MASS * max(float(np.abs(mass).max()), 1e-300))
        found = self._features(self._bins(n_bins), [] if equal else [NamedBlock(["mass"], Products(np.ones((1, n_bins))))])
        kept = distinct(found, n_bins, up_to_constant=equal) if found else []
        if not kept:
            raise InputError(
                f"no features are left of {n_bins} bins of {'equal' if equal else 'different'} masses; give two "
                "bins or more, and ask for slices, balls, edges or bins"
            )
        self._blocks = [named.block for named in kept]
        self._names = np.array([name for named in kept for name in named.names], dtype=object)
        self.__dict__.pop("_matrix", None)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the features of histograms: shape (n_items, n_features_out)."""
        check_is_fitted(self, "_blocks")
        items: Floats = validated(self, X, reset=False, dtype=np.float64, order="C")
        return applied(self._blocks, items)

    @property
    def components_(self) -> Floats:  # type: ignore[override]  # the base declares an attribute; this one is made when asked for
        """The coefficients of the features, shape (n_features_out, n_bins)."""
        if "_blocks" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, and has no components_: call fit")
        if "_matrix" not in self.__dict__:
            self._matrix = np.vstack([block.matrix() for block in self._blocks])
        return self._matrix

    def __sklearn_is_fitted__(self) -> bool:
        return "_blocks" in self.__dict__

    @property
    def _n_features_out(self) -> int:
        return len(self._names)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Return the names, such as ``slice3<2.5``, ``slice3@1<2.5`` (a circle cut at bin 1), ``ball1.5@12``, ``mass``."""
        return self._names

    def _check_parameters(self) -> None:
        for name in ("n_slices", "n_edges"):
            check_count(name, getattr(self, name), minimum=0)
        for name in ("ball_radii", "edge_scales"):
            values = getattr(self, name)
            if np.ndim(values) != 1:
                raise InputError(f"{name}={values!r} must be a sequence of numbers > 0, such as (1.0, 2.0)")
            for value in values:
                check_alpha(f"each of {name}", value, strict=True)
        check_choice("metric", self.metric, METRICS)
        if self.max_features is not None:
            check_count("max_features", self.max_features)
        if self.threshold is not None:
            check_alpha("threshold", self.threshold, strict=True)

    def _bins(self, n_bins: int) -> Bins:
        cost = None if self.cost_matrix is None else check_cost_matrix(self.cost_matrix)
        if cost is not None and len(cost) != n_bins:
            raise InputError(f"cost_matrix has shape {cost.shape} for histograms of {n_bins} bins; one row a bin is required")
        threshold = np.inf if self.threshold is None else float(self.threshold)
        if cost is not None and self.bin_coordinates is None:
            if self.periodic or self.metric != "euclidean":
                raise InputError(
                    f"metric={self.metric!r} and periodic={self.periodic!r} are of coordinates, and bin_coordinates is None; "
                    "give coordinates, or cost_matrix alone"
                )
            return Bins(None, self.metric, np.empty(0), cost, threshold)
        C = self._coordinates(n_bins)
        periods = checked_periods(self.periodic, C.shape[1])
        circles = np.isfinite(periods)
        places = C.copy()
        places[:, circles] = np.round(C[:, circles] / periods[circles] % 1.0, 9) % 1.0
        if len(np.unique(places, axis=0)) < n_bins:
            raise InputError(f"two bins share a place with periodic={self.periodic!r}; merge such bins first")
        return Bins(C, self.metric, periods, cost, threshold)

    def _coordinates(self, n_bins: int) -> Floats:
        if self.bin_coordinates is None:
            raise InputError("bin_coordinates and cost_matrix are both None; one of them is required, a row for every bin")
        C = as_floats(self.bin_coordinates, "bin_coordinates")
        C = C[:, None] if C.ndim == 1 else C
        if C.ndim != 2 or len(C) != n_bins:
            raise InputError(f"bin_coordinates have shape {C.shape} for histograms of {n_bins} bins; one row a bin is required")
        if not np.isfinite(C).all() or len(np.unique(C, axis=0)) < len(C):
            raise InputError("bin_coordinates must be finite, and no two bins may share a place; merge such bins first")
        return C

    def _features(self, bins: Bins, mass: list[NamedBlock]) -> list[NamedBlock]:
        raw = [NamedBlock([f"bin{b}" for b in range(bins.n)], Products(np.eye(bins.n)))] if self.bins else []
        most = None if self.max_features is None else self.max_features - sum(len(named.block) for named in raw + mass)
        if most is not None and most < 0:
            raise InputError(
                f"max_features={self.max_features} is fewer than the bins that bins=True asks for ({bins.n}), or their mass; "
                "give more, or leave bins out"
            )
        families = list(slices(bins, self.n_slices))
        if not bins.is_line:
            families += [*balls(bins, self.ball_radii), *edges(bins, self.n_edges, self.edge_scales)]
        return [*raw, *within_budget(families, most), *mass]


_ON_A_CIRCLE, _LAID_OUT = 64, 1024  # the most bins on a circle, which has an arc for every two of them, and in other layouts
_LEAST_SIDE, _LONG_SIDE = 3, 3.0  # of an image and a cube, and how many times as long as the other one side of an image may be


def layouts(n_bins: int) -> dict[str, HistogramFeatures]:
    """Return the features of every layout that bins may have, by its name: a line, a circle, images and a cube, row by row.

    Examples
    --------
    >>> list(layouts(64))
    ['a line', 'a circle', 'an image of 8 x 8', 'a cube of 4 x 4 x 4']
    """
    found: dict[str, HistogramFeatures] = {}
    if not _LEAST_SIDE < n_bins <= _LAID_OUT:
        return found
    found["a line"] = HistogramFeatures(np.arange(n_bins))
    if n_bins <= _ON_A_CIRCLE:
        found["a circle"] = HistogramFeatures(np.arange(n_bins), periodic={0: float(n_bins)})
    for height in range(_LEAST_SIDE, n_bins // _LEAST_SIDE + 1):
        width, rest = divmod(n_bins, height)
        if not rest and max(height, width) <= _LONG_SIDE * min(height, width):
            found[f"an image of {height} x {width}"] = HistogramFeatures(_grid(height, width))
    side = round(n_bins ** (1 / 3))
    if side >= _LEAST_SIDE and side**3 == n_bins:
        found[f"a cube of {side} x {side} x {side}"] = HistogramFeatures(_grid(side, side, side))
    return found


def _grid(*sides: int) -> Floats:
    return np.indices(sides).reshape(len(sides), -1).T.astype(np.float64)
