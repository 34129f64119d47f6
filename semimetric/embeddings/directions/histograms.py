"""Linear features of histograms over bins with coordinates, with which a sum over features can learn an EMD.

The Earth Mover's Distance with a metric ground distance is a norm of the difference x - y of two histograms. In one
dimension it is exactly the L1 distance between cumulative sums. In more dimensions no finite set of linear features is exact,
but sums of |a_k · (x - y)| over half-planes, balls and windowed edges come close once their weights are learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._foundation.cost_matrices import checked_cost_matrix
from ..._foundation.errors import InputError
from ..._foundation.input_arrays import validated
from ..._foundation.storable import storable
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_alpha, check_choice, check_count
from .bins import METRICS, Bins, checked_periods
from .even_directions import LinearFeatures
from .histogram_blocks import Products, applied
from .histogram_families import Family, NamedBlock, balls, distinct, edges, slices, within_budget

__all__ = ["HistogramFeatures"]


@storable
class HistogramFeatures(LinearFeatures):
    """Cumulative sums, balls and edges over bins: a linear transformer, which can also be given as ``directions=``.

    - slices: the mass of {b : u·b < t} for evenly spread directions u and every threshold t between distinct projections,
      times the gap between these. In one dimension they are the cumulative sums, and the L1 distance of these is the EMD.
    - balls: the mass within a radius of each bin (multi-resolution box sums).
    - edges: ``sum_b sign(u·(c - b)) exp(-|b - c| / (2 t h)) x_b`` around each bin c: by how much the mass on one side of a
      line through c exceeds that on the other.
    - the total mass, if it differs between the histograms of ``fit``.

    h is the median distance of a bin to its nearest neighbour. Features that are equal up to sign and scale (and, for equal
    masses, up to a constant) are kept once. Bins in one dimension have slices and, if asked for, the bins themselves, because
    nothing more is needed.

    The ground distance is what ``metric``, ``periodic``, ``threshold`` and ``cost_matrix`` say. Along a circle (``periodic``)
    masses are added up from every place of a bin on, so that slices of one circle are all its arcs, and bins lie on the near
    side or the far side of others the short way round. Under a threshold T slices are strips as wide as T, and balls have
    radii below T. Of a cost matrix without coordinates
    the slices are masses within every distance of bins that are far apart, and edges part bins nearer to c from those nearer
    to a neighbour of c.

    Histograms of different masses are taken as they are. What a sum with learned weights then approximates is a norm of x - y
    too, such as EMD-hat (Pele & Werman 2008), ``min_F sum_ij F_ij c_ij + alpha max_ij c_ij |sum x - sum y|`` over flows F of
    the smaller mass, which is a metric for alpha >= 1/2 and a metric c; the weight of the total mass has the part of alpha.

    Slices and balls are computed by cumulative sums over the bins, in their order along a line or on the grid, without a
    matrix; `components_` makes the matrix when it is asked for.

    Parameters
    ----------
    bin_coordinates : array-like of shape (n_bins,) or (n_bins, n_dimensions), or None
        Where the bins are, in the unit of the ground distance; None if ``cost_matrix`` alone says how far apart they are.
    n_slices : int, default 16
        The number of directions of the slices; 0 leaves the slices out.
    ball_radii : sequence of float, default (1, 1.5, 2, 3)
        The radii of the balls, in units of h.
    n_edges : int, default 8
        The number of directions of the edges; 0 leaves the edges out.
    edge_scales : sequence of float, default (1.5,)
        The widths t of the edges.
    bins : bool, default False
        Whether to add the raw bins. It is not needed for ``directions=``, which are appended to the raw bins.
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
        equal = bool(np.ptp(mass) <= 1e-9 * max(float(np.abs(mass).max()), 1e-300))
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
        """The features of histograms: shape (n_items, n_features_out)."""
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
        """The names of the features, such as ``slice3<2.5``, ``slice3@1<2.5`` of a circle cut at its second bin,
        ``ball1.5@12``, ``edge2x1.5@7``, ``mass``.
        """
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
        """The bins and their ground distance, all checked."""
        cost = None if self.cost_matrix is None else checked_cost_matrix(self.cost_matrix)
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
        """The valid coordinates of the bins, shape (n_bins, n_dimensions)."""
        C = np.asarray(self.bin_coordinates, dtype=np.float64)
        C = C[:, None] if C.ndim == 1 else C
        if C.ndim != 2 or len(C) != n_bins:
            raise InputError(f"bin_coordinates have shape {C.shape} for histograms of {n_bins} bins; one row a bin is required")
        if not np.isfinite(C).all() or len(np.unique(C, axis=0)) < len(C):
            raise InputError("bin_coordinates must be finite, and no two bins may share a place; merge such bins first")
        return C

    def _features(self, bins: Bins, mass: list[NamedBlock]) -> list[NamedBlock]:
        """All features within the budget, of which some may be equal."""
        raw = [NamedBlock([f"bin{b}" for b in range(bins.n)], Products(np.eye(bins.n)))] if self.bins else []
        most = None if self.max_features is None else self.max_features - sum(len(named.block) for named in raw + mass)
        if most is not None and most < 0:
            raise InputError(
                f"max_features={self.max_features} is fewer than the bins that bins=True asks for ({bins.n}), or their mass; "
                "give more, or leave bins out"
            )
        return [*raw, *within_budget(list(self._families(bins)), most), *mass]

    def _families(self, bins: Bins) -> Iterator[Family]:
        """The families of features that are asked for."""
        yield from slices(bins, self.n_slices)
        if not bins.is_line:
            yield from balls(bins, self.ball_radii)
            yield from edges(bins, self.n_edges, self.edge_scales)
