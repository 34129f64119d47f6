"""Positions of the bins of histograms, and the ground distance between them of an Earth Mover's Distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.errors import InputError
from ..._foundation.farthest_first import farthest_first
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha

METRICS = ("euclidean", "cityblock", "chebyshev")

_ORDERS = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}
_MOST_CUTS = 32  # of circles, at which they are laid out as lines


class Line(NamedTuple):
    """A map of the bins to a line: ``places`` of shape (n_bins,), and how the line is called, with where its zero is."""

    name: str
    places: Floats
    origin: float


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of histograms."""

    coordinates: Floats | None  # (n_bins, n_dimensions) or None: where they are; None if only their distances are known
    metric: str  # {"euclidean", "cityblock", "chebyshev"}: the ground distance between coordinates
    periods: Floats  # (n_dimensions,), the length of every axis that is a circle; infinite for others
    cost: Floats | None  # (n_bins, n_bins) or None: the ground distance, in place of that between coordinates
    threshold: float  # the largest ground distance; infinite for none

    @property
    def n(self) -> int:
        """The number of bins."""
        given = self.coordinates if self.coordinates is not None else self.cost
        return 0 if given is None else len(given)

    @property
    def dimension(self) -> int | None:
        """The number of coordinates of a bin; None without any."""
        return None if self.coordinates is None else self.coordinates.shape[1]

    @property
    def is_line(self) -> bool:
        """True if the bins lie on one line, so that an Earth Mover's Distance needs only cumulative sums."""
        return self.dimension == 1 and self.plain

    @property
    def plain(self) -> bool:
        """True if the ground distance is Euclidean, without circles and threshold; on a line all three metrics are."""
        euclidean = self.cost is None and (self.metric == "euclidean" or self.dimension == 1)
        return euclidean and not self.circles and self.threshold == np.inf

    @property
    def circles(self) -> list[int]:
        """The axes that are circles."""
        return np.flatnonzero(np.isfinite(self.periods)).tolist()

    @cached_property
    def origin(self) -> Floats:
        """Point that is subtracted from coordinates; 0 in one dimension, where a shift would round them."""
        assert self.coordinates is not None
        return self.coordinates.min(axis=0) if self.dimension != 1 else np.zeros(1)

    @cached_property
    def C(self) -> Floats:
        """The coordinates from the origin, shape (n_bins, n_dimensions)."""
        assert self.coordinates is not None
        return self.coordinates - self.origin

    @cached_property
    def distances(self) -> Floats:
        """The ground distances without the threshold, shape (n_bins, n_bins)."""
        if self.cost is not None:
            return self.cost
        if not self.circles:
            return cdist(self.C, self.C, self.metric)
        return np.linalg.norm(np.stack(self.steps, axis=2), ord=_ORDERS[self.metric], axis=2)

    @cached_property
    def steps(self) -> list[Floats]:
        """By how much every bin b lies behind every bin c along each axis, the short way round circles: at [c, b]."""
        found = []
        for c, period in zip(self.C.T, self.periods, strict=True):
            step = c[None, :] - c[:, None]
            found.append(step if period == np.inf else step - period * np.round(step / period))
        return found

    @cached_property
    def spacing(self) -> float:
        """The median distance of a bin to its nearest neighbour; of bins without a distance between them the next one."""
        apart = np.where(self.distances > 0.0, self.distances, np.inf)
        nearest = apart.min(axis=1)
        return float(np.median(nearest[np.isfinite(nearest)])) if np.isfinite(nearest).any() else 1.0

    @property
    def rounding(self) -> float:
        """Projections that differ by at most this much are the same; in one dimension projections are exact, and it is 0."""
        if self.coordinates is None:
            return 1e-12 * float(self.distances.max())
        if self.dimension == 1 and not self.circles:
            return 0.0
        return max(1e-9 * float(self.C.max()), 1e-15 * float(np.abs(self.origin).max()))

    @cached_property
    def reading_order(self) -> Integers:
        """The bins in the order of their coordinates, the last axis fastest; of distances alone in the order given."""
        return np.arange(self.n) if self.coordinates is None else np.lexsort(self.C.T[::-1])

    def spread(self, count: int) -> Integers:
        """Return numbers of ``count`` bins, or fewer, that are spread over all of them, in increasing order."""
        return np.arange(self.n) if count >= self.n else np.sort(farthest_first(lambda b: self.distances[b], 0, count))

    def lines(self, directions: Floats) -> list[Line]:
        """Return the maps of the bins to lines along which masses are added up: projections, or distances to far bins."""
        if self.coordinates is None:
            n = len(directions)
            chosen = farthest_first(lambda b: self.distances[b], 0, n).tolist() if n else []
            return [Line(f"slice{k}", self.distances[b], 0.0) for k, b in enumerate(chosen)]
        found = []
        for number, cut in enumerate(self._cuts):
            laid = self.C.copy()
            for axis, start in zip(self.circles, cut, strict=True):
                laid[:, axis] = self._from(start, axis)
            for d, u in enumerate(directions):
                if number and not np.abs(u[self.circles]).max() > 1e-9:
                    continue  # it does not see where circles are cut
                places = laid @ u if self.dimension != 1 else laid[:, 0]
                found.append(Line(f"slice{d}" + f"@{number}" * bool(self.circles), places, float(self.origin @ u)))
        return found

    @property
    def _cuts(self) -> list[tuple[float, ...]]:
        """Cuts of the circles: at the positions of all bins, or of many at equally distant ones on each circle."""
        places = []
        for axis in self.circles:
            values = self._from(0.0, axis)
            places.append(np.unique(np.round(values / self.periods[axis], 9)) * self.periods[axis])
        if np.prod([len(values) for values in places]) > _MOST_CUTS:
            most = int(_MOST_CUTS ** (1 / len(places)) + 1e-9)
            places = [v if len(v) <= most else v[np.arange(most) * len(v) // most] for v in places]
        return list(product(*[values.tolist() for values in places]))

    def _from(self, start: float, axis: int) -> Floats:
        """Return the way from a position of a circle to each bin, >= 0 and below the period: shape (n_bins,)."""
        behind = np.mod(self.C[:, axis] - start, self.periods[axis])
        return np.where(behind > self.periods[axis] * (1 - 1e-9), 0.0, behind)


def checked_periods(periodic: Mapping[int, float] | None, n_dimensions: int) -> Floats:
    """Return the periods of all axes, shape (n_dimensions,), infinite for axes that are no circles."""
    periods = np.full(n_dimensions, np.inf)
    if periodic is None:
        return periods
    if not isinstance(periodic, Mapping):
        raise InputError(f"periodic={periodic!r} must be a dict of axes and their periods, such as {{0: 8.0}}")
    for axis, period in periodic.items():
        if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not 0 <= axis < n_dimensions:
            raise InputError(
                f"periodic={dict(periodic)!r} names axis {axis!r} of coordinates with {n_dimensions}; name axes by number, "
                f"0 to {n_dimensions - 1}"
            )
        periods[axis] = check_alpha(f"the period of axis {axis}", period, strict=True)
    return periods
