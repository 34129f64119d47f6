"""Linear features of histograms over bins with coordinates, with which a sum over features can learn an EMD.

The Earth Mover's Distance with a metric ground distance is a norm of the difference x - y of two histograms. In one
dimension it is exactly the L1 distance between cumulative sums. In more dimensions no finite set of linear features is exact,
but sums of |a_k · (x - y)| over half-planes, balls and windowed edges come close once their weights are learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.errors import InputError
from ..._foundation.input_arrays import validated
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_alpha, check_count
from .even_directions import LinearFeatures, half_sphere

__all__ = ["HistogramFeatures"]

Named = tuple[str, Floats]


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

    Parameters
    ----------
    bin_coordinates : array-like of shape (n_bins,) or (n_bins, n_dimensions)
        Where the bins are, in the unit of the ground distance.
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

    Attributes
    ----------
    components_ : ndarray of shape (n_features_out, n_bins)

    Examples
    --------
    >>> features = HistogramFeatures([0.0, 1.0, 3.0]).fit([[1.0, 0, 0], [0, 0, 1.0]])
    >>> u, v = features.transform([[1.0, 0, 0], [0, 0, 1.0]])
    >>> float(np.abs(u - v).sum())
    3.0
    """

    def __init__(
        self,
        bin_coordinates: ArrayLike,
        *,
        n_slices: int = 16,
        ball_radii: Sequence[float] = (1.0, 1.5, 2.0, 3.0),
        n_edges: int = 8,
        edge_scales: Sequence[float] = (1.5,),
        bins: bool = False,
    ) -> None:
        self.bin_coordinates = bin_coordinates
        self.n_slices = n_slices
        self.ball_radii = ball_radii
        self.n_edges = n_edges
        self.edge_scales = edge_scales
        self.bins = bins

    def fit(self, X: ArrayLike, y: object = None) -> HistogramFeatures:
        """Build the features; X gives the number of bins and whether masses differ, and y is ignored.

        Raises
        ------
        InputError
            If the numbers of bins differ, coordinates are not finite or repeat, a parameter is no number > 0 (no integer
            >= 0 for the numbers of directions), or no feature is left.
        """
        self._check_parameters()
        histograms = validated(self, X, dtype=np.float64)
        bank = _FeatureBank(self._coordinates(histograms.shape[1]))
        mass = histograms.sum(axis=1)
        equal = bool(np.ptp(mass) <= 1e-9 * max(float(np.abs(mass).max()), 1e-300))
        named = list(self._features(bank))
        if not equal:
            named.append(("mass", np.ones(histograms.shape[1])))
        kept = _distinct(np.array([row for _, row in named]), up_to_constant=equal) if named else []
        if not kept:
            raise InputError(
                f"no features are left of {histograms.shape[1]} bins of {'equal' if equal else 'different'} masses; give two "
                "bins or more, and ask for slices, balls, edges or bins"
            )
        self.components_ = np.array([named[k][1] for k in kept])
        self._names = np.array([named[k][0] for k in kept], dtype=object)
        return self

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """The names of the features, such as ``slice3<2.5``, ``ball1.5@12``, ``edge2x1.5@7``, ``mass``."""
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

    def _coordinates(self, n_bins: int) -> Floats:
        """The valid coordinates of the bins, shape (n_bins, n_dimensions)."""
        C = np.asarray(self.bin_coordinates, dtype=np.float64)
        C = C[:, None] if C.ndim == 1 else C
        if C.ndim != 2 or len(C) != n_bins:
            raise InputError(f"bin_coordinates have shape {C.shape} for histograms of {n_bins} bins; one row a bin is required")
        if not np.isfinite(C).all() or len(np.unique(C, axis=0)) < len(C):
            raise InputError("bin_coordinates must be finite, and no two bins may share a place; merge such bins first")
        return C

    def _features(self, bank: _FeatureBank) -> Iterator[Named]:
        """The name of every feature, and its coefficients of shape (n_bins,)."""
        if self.bins:
            yield from ((f"bin{b}", row) for b, row in enumerate(np.eye(bank.n)))
        yield from bank.slices(self.n_slices)
        if bank.dimension > 1:
            yield from bank.balls(self.ball_radii)
            yield from bank.edges(self.n_edges, self.edge_scales)


class _FeatureBank:
    """The linear features of histograms over n bins at the coordinates C, shape (n, d)."""

    def __init__(self, C: Floats) -> None:
        self.n, self.dimension = C.shape
        self.origin = C.min(axis=0) if self.dimension > 1 else np.zeros(1)  # a shift would round coordinates in one dimension
        self.C = C - self.origin

    @cached_property
    def ground(self) -> Floats:
        """The Euclidean distances between the bins, shape (n, n)."""
        return cdist(self.C, self.C)

    @cached_property
    def spacing(self) -> float:
        """The median distance of a bin to its nearest neighbour, the h of `HistogramFeatures`."""
        return float(np.median(np.where(np.eye(self.n, dtype=bool), np.inf, self.ground).min(axis=1)))

    @property
    def rounding(self) -> float:
        """Projections that differ by at most this much are the same; in one dimension projections are exact, and it is 0."""
        return 0.0 if self.dimension == 1 else max(1e-9 * float(self.C.max()), 1e-15 * float(np.abs(self.origin).max()))

    def _directions(self, n: int) -> Floats:
        """``n`` evenly spread unit vectors, shape (n, d); in one dimension there is only one direction."""
        if self.dimension == 1:
            return np.ones((min(n, 1), 1))
        return half_sphere(self.dimension, n, 0) if n else np.empty((0, self.dimension))

    def slices(self, n: int) -> Iterator[Named]:
        """Cumulative sums along ``n`` directions: the mass before every gap between projected bins, times its width."""
        for d, u in enumerate(self._directions(n)):
            projection = self.C @ u if self.dimension > 1 else self.C[:, 0]
            origin = float(self.origin @ u)
            values = np.unique(projection)
            values = values[np.concatenate([[True], np.diff(values) > self.rounding])]
            digits = 4 + int(np.log10(max(np.abs(values + origin).max() / (np.ptp(values) or 1.0), 1.0)))
            for low, high in zip(values[:-1], values[1:], strict=True):
                yield f"slice{d}<{origin + (low + high) / 2:.{digits}g}", (high - low) * (projection < high)

    def balls(self, radii: Sequence[float]) -> Iterator[Named]:
        """The mass within each radius, in units of the spacing, around every bin."""
        for r in radii:
            near = self.ground <= r * self.spacing * (1 + 1e-9)
            yield from ((f"ball{r:g}@{b}", row.astype(float)) for b, row in enumerate(near))

    def edges(self, n: int, scales: Sequence[float]) -> Iterator[Named]:
        """The mass on one side of every bin minus that on the other, weighted less with distance, along ``n`` directions."""
        for d, u in enumerate(self._directions(n)):
            projection = self.C @ u
            side = projection[:, None] - projection[None, :]
            side = np.sign(np.where(np.abs(side) <= 1e-9 * self.spacing, 0.0, side))
            for t in scales:
                window = side * np.exp(-self.ground / (2 * t * self.spacing))
                yield from ((f"edge{d}x{t:g}@{b}", row) for b, row in enumerate(window))


def _distinct(rows: Floats, *, up_to_constant: bool) -> list[int]:
    """Numbers of rows: the first of every set that are equal up to sign and scale (and a constant); none that is all 0."""
    centered = rows - rows.mean(axis=1, keepdims=True) if up_to_constant else rows
    size = np.linalg.norm(centered, axis=1)
    nonzero = np.flatnonzero(size > 1e-9 * np.linalg.norm(rows, axis=1))
    unit = centered[nonzero] / size[nonzero, None]
    first = unit[np.arange(len(unit)), np.argmax(np.abs(unit) > 1e-6, axis=1)]
    keys = np.round(unit * np.sign(first)[:, None], 6) + 0.0
    _, where = np.unique(keys, axis=0, return_index=True)
    return [int(k) for k in np.sort(nonzero[where])]
