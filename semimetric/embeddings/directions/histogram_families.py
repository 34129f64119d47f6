"""The families of linear features of histograms: slices, balls and edges, each in as many features as a budget allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..._foundation.types import Floats, Integers
from .bins import Bins, Line
from .even_directions import half_sphere
from .histogram_blocks import CumulativeSums, HistogramBlock, Products, SumsOfRuns, applied

__all__ = ["Family", "NamedBlock", "balls", "distinct", "edges", "slices", "within_budget"]

_PROBES = 16  # random histograms on which features are compared


class NamedBlock(NamedTuple):
    """Linear features of histograms and their names."""

    names: list[str]
    block: HistogramBlock

    def take(self, keep: Integers) -> NamedBlock:
        """Some of the features, by their numbers."""
        return NamedBlock([self.names[k] for k in keep], self.block.take(keep))


class Family(NamedTuple):
    """Features of one kind: how many there are, and a function from a number of them to that many, evenly chosen."""

    size: int
    make: Callable[[int], NamedBlock]


def slices(bins: Bins, n: int) -> Iterator[Family]:
    """Cumulative sums along ``n`` directions: the mass before every gap between projected bins, times its width."""
    for line in bins.lines(_directions(bins, n)):
        values = np.unique(line.places)
        values = values[np.concatenate([[True], np.diff(values) > bins.rounding])]
        if len(values) > 1:
            make = partial(_strips, bins, line, values) if np.isfinite(bins.threshold) else partial(_slices, line, values)
            yield Family(len(_breaks(bins, values)) - 1, make)


def balls(bins: Bins, radii: Sequence[float]) -> Iterator[Family]:
    """The mass within each radius, in units of the spacing, around every bin; radii below the threshold alone."""
    for r in radii:
        if r * bins.spacing < bins.threshold:
            yield Family(bins.n, partial(_balls, bins, r))


def edges(bins: Bins, n: int, scales: Sequence[float]) -> Iterator[Family]:
    """The mass on one side of every bin minus that on the other, weighted less with distance, along ``n`` directions."""
    directions = _directions(bins, n)
    for d in range(min(n, bins.n - 1) if bins.coordinates is None else len(directions)):
        for t in scales:
            yield Family(bins.n, partial(_edges, bins, None if bins.coordinates is None else directions[d], d, t))


def within_budget(families: Sequence[Family], most: int | None) -> list[NamedBlock]:
    """All features of the families, or of every family the same share, so that they are at most so many."""
    total = sum(family.size for family in families)
    if most is None or total <= most:
        return [family.make(family.size) for family in families]
    exact = np.array([family.size for family in families]) * (most / total)
    counts = exact.astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: most - counts.sum()]] += 1
    return [family.make(int(k)) for family, k in zip(families, counts, strict=True) if k]


def distinct(blocks: Sequence[NamedBlock], n_bins: int, *, up_to_constant: bool) -> list[NamedBlock]:
    """The blocks with the first of every set of features that are equal up to sign and scale, and with none that is all 0.

    With ``up_to_constant`` features are equal too if a constant is added to all coefficients of one. They are compared on
    random histograms, on which different ones have the same values with probability 0.
    """
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
    """``n`` evenly spread unit vectors, shape (n, d), with the axes first where the ground distance sees these.

    In one dimension there is only one direction. Without coordinates all are alike, and there are as many as asked for.
    """
    if bins.dimension is None or not n:
        return np.empty((n, bins.dimension or 0))
    if bins.dimension == 1:
        return np.ones((1, 1))
    axes = 0 if bins.plain else min(n, bins.dimension)
    return np.vstack([np.eye(bins.dimension)[:axes], half_sphere(bins.dimension, n - axes, 0)])


def _breaks(bins: Bins, values: Floats) -> Floats:
    """Where the mass of a strip, or half-line, that is moved along a line changes: between increasing places of bins."""
    if not np.isfinite(bins.threshold):
        return values
    found = np.unique(np.concatenate([values, values + bins.threshold]))
    return found[np.concatenate([[True], np.diff(found) > bins.rounding])]


def _slices(line: Line, values: Floats, count: int) -> NamedBlock:
    """The masses before ``count`` gaps of a line, times the width of all gaps for which each stands."""
    order = np.argsort(line.places, kind="stable")
    gaps, widths = _thinned(values, count)
    ends = np.searchsorted(line.places[order], values[gaps + 1])
    middles = [line.origin + (values[k] + values[k + 1]) / 2 for k in gaps]
    digits = _digits(values, line.origin)
    names = [f"{line.name}<{middle:.{digits}g}" for middle in middles]
    return NamedBlock(names, CumulativeSums(order, np.zeros_like(ends), ends, widths))


def _strips(bins: Bins, line: Line, values: Floats, count: int) -> NamedBlock:
    """The masses of strips as wide as the threshold, times half of by how far each may be moved and hold the same bins.

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
    """Numbers of ``count`` gaps between values, evenly chosen, and the width of the values for which each stands."""
    n = len(values) - 1
    bounds = np.arange(count + 1) * n // count
    return (bounds[:-1] + bounds[1:]) // 2, np.diff(values[bounds])


def _digits(values: Floats, origin: float) -> int:
    """Digits with which places of a line are told apart."""
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
    """1 for bins before each centre in the direction u, -1 for those behind it: shape (n_centers, n_bins).

    Those at right angles, and on the far side of a circle, have 0.
    """
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
    """1 for bins nearer to a centre than to a neighbour of it, and -1 for others; the neighbour that has the number."""
    away = bins.distances + np.diag(np.full(bins.n, np.inf))
    neighbors = np.argsort(away[centers], axis=1, kind="stable")[:, number]
    side = bins.distances[neighbors] - bins.distances[centers]
    return np.sign(np.where(np.abs(side) <= 1e-9 * bins.spacing, 0.0, side))
