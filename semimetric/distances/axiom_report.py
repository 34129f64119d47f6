"""What a model guarantees and how that is known; and points that show what it does not (docs/mathematics.md, section 2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats
from .._foundation.validation import check_count
from ..embeddings.pairs.triangle_inequality import TOLERANCE, Detour, Triangles
from .axioms import Axioms

__all__ = ["AxiomReport", "certify"]

_SHOWN = 1e-9  # of the distance: a violation at points that is no rounding
_SHRINK, _ROUNDS = 0.8, 40


@dataclass(frozen=True, eq=False)
class AxiomReport:
    """Which axioms hold, how each was proved, and what speaks against the triangle inequality; printed, a line an axiom.

    Attributes
    ----------
    axioms : Axioms
    proofs : dict of str to str
        Of every axiom how it was proved, or why it was not.
    triangle : {"proved", "violated", "not proved"}
        "not proved": some table violates it, yet no points were found at which the sum of all does.
    worst : Detour or None
        The grid points of the group that violate it most, or come nearest to; None where there are no tables.
    triple : ndarray of shape (3, n_features) or None
        Points x, y, z, encoded, whose d(x, z) exceeds d(x, y) + d(y, z) most of those found; None where none were.
    excess : float
        d(x, z) - d(x, y) - d(y, z) at the triple; 0 without one.
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
    """What is proved of d, and, where the triangle inequality is not, a search for points that violate it.

    The search begins at grid triples that violate a group's table, the other features equal or anywhere, and at random points,
    and climbs by random steps that shrink.

    Parameters
    ----------
    d : Semimetric
    n_starts : int, default 64
    random_state : int or None, default 0
    """
    check_count("n_starts", n_starts)
    worst = _worst(d)
    found = max(worst, key=lambda w: w.excess / max(w.largest, 1e-300), default=None)
    triple: Floats | None = None
    excess = 0.0
    if not d.axioms.triangle:
        triple, excess = _search(d, worst, n_starts, np.random.default_rng(random_state))
    verdict = "proved" if d.axioms.triangle else "violated" if excess > 0 else "not proved"
    return AxiomReport(d.axioms, _proofs(d, found, verdict, excess), verdict, found, triple, excess)


def _worst(d: Any) -> list[Detour]:
    try:
        return Triangles.of(d.embedding).worst(d.weights)
    except NotSupportedError:
        return []


def _proofs(d: Any, worst: Detour | None, verdict: str, excess: float) -> dict[str, str]:
    """One sentence an axiom."""
    a, least = d.axioms, float(d.weights.min(initial=np.inf))
    bounds = f"by the weights, of which the least is {least:.3g}"
    if verdict == "violated":
        triangle = f"violated, by {excess:.4g} at points that were found"
    elif verdict == "not proved":
        triangle = "not proved: some table violates it or cannot be checked, but no points were found at which the sum does"
    elif worst is None:
        triangle = "by the columns: monotone scales"
    else:
        triangle = (
            f"by a check of all grid points: the worst excess is {worst.excess:.3g}, of {worst.largest:.3g}; up to "
            f"{TOLERANCE:g} of that is rounding"
        )
    return {
        "nonnegative": bounds if a.nonnegative else f"not proved: the least weight is {least:.3g}",
        "zero_on_diagonal": "by the columns" if a.zero_on_diagonal else "not proved: columns or base distances",
        "symmetric": "by the columns" if a.symmetric else "not proved: (x, y) and (y, x) have columns of their own",
        "positive": bounds if a.positive else "not proved: some feature has weights or a slope outside its range that are 0",
        "triangle": triangle,
        "continuous": "by the columns" if a.continuous else "not proved: symmetry by swapping jumps",
    }


def _search(d: Any, worst: list[Detour], n_starts: int, rng: np.random.Generator) -> tuple[Floats | None, float]:
    """The triple that violates most, of those that local ascent finds, and its excess; none where that is rounding."""
    grid, n = d.embedding.grid, d.n_features
    low, high = grid.low[:n], grid.high[:n]
    starts = low + (high - low) * rng.random((n_starts, 3, n))
    starts = _on_levels(d, starts)
    for k, detour in enumerate(sorted(worst, key=lambda w: -w.excess)[: n_starts // 2]):
        group = d.embedding.groups[detour.group]
        if max(group) < n and not detour.holds:
            starts[k] = _lifted(d, starts[k, 0], detour)
    value = _excess(d, starts)
    for step in _SHRINK ** np.arange(_ROUNDS):
        moved = starts + step * (high - low) * rng.normal(size=starts.shape) * (rng.random(starts.shape) < 2.0 / n + 0.2)
        moved = _on_levels(d, np.clip(moved, low, high))
        new = _excess(d, moved)
        better = new > value
        starts[better], value[better] = moved[better], new[better]
    best = int(np.argmax(value))
    size = float(d.paired_by_index(starts[best], np.array([[0, 2]]))[0])
    return (starts[best], float(value[best])) if value[best] > _SHOWN * max(size, 1e-300) else (None, 0.0)


def _lifted(d: Any, around: Floats, detour: Detour) -> Floats:
    """Three points that differ in the group alone, there at the grid points of the detour."""
    points = np.tile(around, (3, 1))
    group = d.embedding.groups[detour.group]
    sizes = [int(d.embedding.grid.sizes[f]) for f in group]
    places = np.unravel_index(np.array(detour.points), sizes)
    for f, place in zip(group, places, strict=True):
        points[:, f] = d.embedding.grid.vertices(f)[place]
    return points


def _on_levels(d: Any, points: Floats) -> Floats:
    """Categories at codes; numbers as they are."""
    grid = d.embedding.grid
    for f in range(d.n_features):
        if grid.kinds[f] == "categorical":
            points[..., f] = np.clip(np.round(points[..., f]), 0, grid.high[f] - 1)
    return points


def _excess(d: Any, triples: Floats) -> Floats:
    """d(x, z) - d(x, y) - d(y, z) of triples (m, 3, n_features), encoded."""
    points, k = triples.reshape(-1, triples.shape[2]), 3 * np.arange(len(triples))
    across, first, second = (d.paired_by_index(points, np.column_stack([k + i, k + j])) for i, j in ((0, 2), (0, 1), (1, 2)))
    return across - first - second
