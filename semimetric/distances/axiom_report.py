"""A report on the axioms of a distance: how each is proved, and points that violate the triangle inequality, if any are found.

The theory is in docs/mathematics.md, section 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats
from .._foundation.validation import check_count
from ..embeddings.pairs.triangle_inequality import TOLERANCE, Detour, Triangles
from .axioms import Axioms

__all__ = ["AxiomReport", "certify"]

_SHOWN = 1e-9  # a violation counts if it exceeds this share of the distance; less may be rounding
_ROUNDS = 40  # of the search for points
_SHRINK = 0.8  # the factor of the length of steps from one round to the next


@dataclass(frozen=True, eq=False)
class AxiomReport:
    """Which axioms hold, how each was proved, and what speaks against the triangle inequality. Printing shows one a line.

    Attributes
    ----------
    axioms : Axioms
    proofs : dict of str to str
        How each axiom was proved, or why it was not.
    triangle : {"proved", "violated", "not proved"}
        The result for the triangle inequality. It is "not proved" if some table violates it, yet no points were found at which
        the sum of all tables does.
    worst : Detour or None
        The grid points of a group that violate the triangle inequality most, or come nearest to it; None without tables.
    triple : ndarray of shape (3, n_features) or None
        The encoded points x, y, z with the largest d(x, z) - d(x, y) - d(y, z) that were found; None if that is never > 0.
    excess : float
        d(x, z) - d(x, y) - d(y, z) at the triple; 0 if there is none.
    """

    axioms: Axioms
    proofs: dict[str, str]
    triangle: str
    worst: Detour | None
    triple: Floats | None
    excess: float

    def __repr__(self) -> str:
        lines = [f"{self.axioms.name}", *(f"  {name.replace('_', ' ')}: {proof}" for name, proof in self.proofs.items())]
        if self.triple is not None and self.excess > 0:
            x, y, z = (np.array2string(p, precision=4, threshold=8) for p in self.triple)
            lines.append(f"  d(x, z) exceeds d(x, y) + d(y, z) by {self.excess:.4g} at x = {x}, y = {y}, z = {z}")
        return "\n".join(lines)


def certify(d: Any, *, n_starts: int = 64, random_state: int | None = 0) -> AxiomReport:
    """The report on d; if its triangle inequality is not proved, points that violate it are searched for.

    The search begins at random points, and at triples of grid points that violate the inequality in the table of a group. It
    then climbs by random steps that shrink.

    Parameters
    ----------
    d : Semimetric
    n_starts : int, default 64
        The number of triples that the search begins with.
    random_state : int or None, default 0
    """
    check_count("n_starts", n_starts)
    detours = _worst_detours(d)
    worst = max(detours, key=lambda w: w.excess / max(w.largest, 1e-300), default=None)
    triple: Floats | None = None
    excess = 0.0
    if not d.axioms.triangle:
        triple, excess = _search(d, detours, n_starts, np.random.default_rng(random_state))
    verdict = "proved" if d.axioms.triangle else "violated" if excess > 0 else "not proved"
    return AxiomReport(d.axioms, _proofs(d, worst, verdict, excess), verdict, worst, triple, excess)


def _worst_detours(d: Any) -> list[Detour]:
    """The worst triple of every table; none if the tables cannot be checked."""
    try:
        return Triangles.of(d.embedding).worst(d.weights)
    except NotSupportedError:
        return []


def _proofs(d: Any, worst: Detour | None, verdict: str, excess: float) -> dict[str, str]:
    """How each axiom was proved, or why it was not, in one phrase; ``verdict`` is that on the triangle inequality."""
    held = d.axioms
    least = float(d.weights.min(initial=np.inf))
    bounds = f"by the weights, which are at least {least:.3g}"
    positive = "not proved: some feature has weights or a slope outside its range that are 0"
    if held.positive:
        positive = "by the weights: those of a group of each feature, and its slope outside its range, are above 0"
    if verdict == "violated":
        triangle = f"violated, by {excess:.4g} at points that were found"
    elif verdict == "not proved" and not d.link_function.concave:
        triangle = f"not proved: the link, {d.link}, is not concave, but no points were found at which it is violated"
    elif verdict == "not proved":
        triangle = "not proved: some table violates it or cannot be checked, but no points were found at which the sum does"
    elif worst is None:
        triangle = "by the columns: monotone scales"
    else:
        triangle = (
            f"by a check of all grid points: the worst excess is {worst.excess:.3g}, of {worst.largest:.3g}; up to "
            f"{TOLERANCE:g} of that is rounding"
        )
    jumps = "leaves of trees jump at thresholds" if d.directions and d.directions.n_trees else "symmetry by swapping jumps"
    return {
        "nonnegative": bounds if held.nonnegative else f"not proved: the least weight is {least:.3g}",
        "zero_on_diagonal": "by the columns" if held.zero_on_diagonal else "not proved: columns or base distances",
        "symmetric": "by the columns" if held.symmetric else "not proved: (x, y) and (y, x) have columns of their own",
        "positive": positive,
        "triangle": triangle,
        "continuous": "by the columns" if held.continuous else f"not proved: {jumps}",
    }


def _search(d: Any, worst: list[Detour], n_starts: int, rng: np.random.Generator) -> tuple[Floats | None, float]:
    """The triple with the largest excess that local ascent finds, and its excess; (None, 0) if that may be rounding."""
    grid, n = d.embedding.grid, d.n_features
    low, high = grid.low[:n], grid.high[:n]
    triples = _with_valid_codes(d, low + (high - low) * rng.random((n_starts, 3, n)))
    for k, detour in enumerate(sorted(worst, key=lambda w: -w.excess)[: n_starts // 2]):
        group = d.embedding.groups[detour.group]
        if max(group) < n and not detour.holds:
            triples[k] = _points_of(d, triples[k, 0], detour)
    excess = _excess(d, triples)
    for step in _SHRINK ** np.arange(_ROUNDS):
        moved = triples + step * (high - low) * rng.normal(size=triples.shape) * (rng.random(triples.shape) < 2.0 / n + 0.2)
        moved = _with_valid_codes(d, np.clip(moved, low, high))
        new = _excess(d, moved)
        better = new > excess
        triples[better] = moved[better]
        excess[better] = new[better]
    best = int(np.argmax(excess))
    distance = float(d.paired_by_index(triples[best], np.array([[0, 2]]))[0])
    return (triples[best], float(excess[best])) if excess[best] > _SHOWN * max(distance, 1e-300) else (None, 0.0)


def _points_of(d: Any, around: Floats, detour: Detour) -> Floats:
    """Three points like ``around`` that have the values of the detour's grid points in its group: (3, n_features)."""
    points = np.tile(around, (3, 1))
    group = d.embedding.groups[detour.group]
    sizes = [int(d.embedding.grid.sizes[f]) for f in group]
    places = np.unravel_index(np.array(detour.points), sizes)
    for f, place in zip(group, places, strict=True):
        points[:, f] = d.embedding.grid.vertices(f)[place]
    return points


def _with_valid_codes(d: Any, points: Floats) -> Floats:
    """The points with categorical features rounded, in place, to codes of categories."""
    grid = d.embedding.grid
    for f in range(d.n_features):
        if grid.kinds[f] == "categorical":
            points[..., f] = np.clip(np.round(points[..., f]), 0, grid.high[f] - 1)
    return points


def _excess(d: Any, triples: Floats) -> Floats:
    """d(x, z) - d(x, y) - d(y, z) of encoded triples (x, y, z) of shape (m, 3, n_features): shape (m,)."""
    points = triples.reshape(-1, triples.shape[2])
    k = 3 * np.arange(len(triples))
    xz, xy, yz = (d.paired_by_index(points, np.column_stack([k + i, k + j])) for i, j in ((0, 2), (0, 1), (1, 2)))
    return xz - xy - yz
