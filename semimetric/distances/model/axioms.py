"""The axioms that a distance is proved to satisfy, and the strongest name that they give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.text import html_table
from ..._foundation.types import Floats
from ..._foundation.validation import check_count
from ...data.grid import Grid
from ...data.schema import Schema
from ..features.linear_directions import Directions
from ..pairs.base import PairMap
from ..pairs.monotone_scales import WarpedEmbedding
from ..pairs.scales_and_tables import MixedEmbedding
from ..pairs.triangle_inequality import TOLERANCE, Detour, Triangles
from .base_distances import BaseDistance
from .limits import MOST
from .links import Link, link_function


@dataclass(frozen=True)
class Axioms:
    """The axioms that hold for every pair of points, by the weights and columns of the model.

    With base distances, they hold if each base distance is itself a semimetric. Symmetry and zeros on the diagonal are checked
    on a few pairs of the training set and not claimed if they fail there. The triangle inequality is claimed if all of them
    are divergences with a name, at powers at which they are metrics. Their roots round by up to 1e-8 of their largest value.

    ``triangle=False`` means "not proved", not "violated". The triangle inequality is proved by the columns of monotone scales,
    and by a check of all grid points of every table, up to a rounding of 1e-12 of its largest weight. Concave links, slopes
    outside the range and clipping preserve it.

    Points are equal if a `Schema` encodes them alike: an angle equals itself one turn on, all categories that were not in the
    fit are equal, and so are all missing values.

    Parameters
    ----------
    nonnegative : bool
        d(x, y) >= 0.
    zero_on_diagonal : bool
        d(x, x) = 0.
    symmetric : bool
        d(x, y) = d(y, x).
    positive : bool
        d(x, y) > 0 for different x and y.
    triangle : bool
        d(x, z) <= d(x, y) + d(y, z).
    continuous : bool
        d has no jumps.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped").fit(pairs, y)
    >>> axioms = model.semimetric_.axioms
    >>> axioms.triangle, axioms.symmetric, axioms.name
    (True, True, 'metric')
    """

    nonnegative: bool
    zero_on_diagonal: bool
    symmetric: bool
    positive: bool
    triangle: bool
    continuous: bool

    @classmethod
    def of(
        cls,
        embedding: PairMap,
        weights: Floats,
        epsilon: Floats,
        n_raw: int,
        base_distances: Sequence[BaseDistance],
        *,
        jumps: bool = False,
        concave: bool = True,
    ) -> Axioms:
        """Return the axioms that the columns and the signs of the weights guarantee; the first ``n_raw`` features are raw ones.

        With ``jumps`` the others are no continuous functions of the raw ones; ``concave`` says whether the link is.
        """
        grid = embedding.grid
        # a circle with one knot is a single point, so it cannot distinguish values
        positive_outside = bool((((epsilon > 0).all(axis=1) | ~grid.extends) & (grid.seams != 1))[:n_raw].all())
        positive_groups = embedding.positive_groups(weights)
        covered = {f for group, holds in zip(embedding.groups, positive_groups, strict=True) if holds for f in group}
        nonnegative = bool((weights >= 0).all() and (epsilon >= 0).all())
        return cls(
            nonnegative=nonnegative,
            zero_on_diagonal=embedding.zero_diagonal and all(base.zero_on_diagonal for base in base_distances),
            symmetric=embedding.symmetric and all(base.symmetric for base in base_distances),
            positive=nonnegative and positive_outside and covered >= set(range(n_raw)),
            triangle=nonnegative
            and concave
            and all(base.metric for base in base_distances)
            and (embedding.metric or _holds_on_grid(embedding, weights)),
            continuous=embedding.continuous and not jumps,
        )

    @property
    def name(self) -> str:
        """The strongest name of a distance with these axioms.

        A "metric" is symmetric and satisfies the triangle inequality; a "semimetric" is symmetric, a "quasimetric" satisfies
        the triangle inequality, and a "premetric" does neither. If different points can be at distance 0, these are called
        "pseudometric", "pseudosemimetric", "pseudoquasimetric" and "premetric, not positive". The name is "none" if a distance
        can be negative, or is not 0 from a point to itself.
        """
        if not (self.nonnegative and self.zero_on_diagonal):
            return "none"
        if not self.symmetric and self.triangle:
            return f"{'' if self.positive else 'pseudo'}quasimetric"
        if not self.symmetric:
            return "premetric" if self.positive else "premetric, not positive"
        return f"{'' if self.positive else 'pseudo'}{'metric' if self.triangle else 'semimetric'}"

    def __str__(self) -> str:
        held = [name.replace("_", " ") for name, holds in vars(self).items() if holds]
        return f"{self.name} ({', '.join(held)})" if held else "none"


def _holds_on_grid(embedding: PairMap, weights: Floats) -> bool:
    try:
        triangles = Triangles.of(embedding)
    except NotSupportedError:
        return False
    return all(d.holds for d in triangles.worst(weights))


def check_numbers(
    embedding: PairMap,
    weights: Floats,
    epsilon: Floats,
    n_embedded: int,
    link: str | float | Link,
    base_distances: Sequence[BaseDistance],
) -> None:
    """Refuse weights and slopes of another number than the embedding needs, or with which some distances are no numbers."""
    n, embedded = embedding.n_columns, embedding.grid.n_features
    slopes_fit = epsilon.shape in ((embedded,), (embedded, 2))
    if weights.shape != (n,) or not slopes_fit or n_embedded != embedded:
        raise InputError(
            f"weights have shape {weights.shape}, epsilon {epsilon.shape}, and there are {n_embedded} features with "
            f"directions; ({n},), ({embedded},) or ({embedded}, 2), and {embedded} are required by the embedding"
        )
    if not (epsilon >= 0).all() or np.isinf(epsilon).any():
        raise InputError(f"epsilon has {epsilon.min():g}; slopes outside the range must be >= 0 and finite")
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.abs(weights).sum()
    if not total <= MOST:
        raise InputError(f"the weights add up to {total:g}; at most {MOST:.2g} is required: fit to smaller distances")
    scales = embedding.scales if isinstance(embedding, MixedEmbedding) else embedding
    if isinstance(scales, WarpedEmbedding) and (weights[: scales.n_columns] < 0).any():
        raise InputError("a scale falls, as a weight of it is < 0; scales rise, so their weights must be >= 0")
    if not link_function(link).straight and ((weights < 0).any() or any(base.weight < 0 for base in base_distances)):
        sum_is = 'link="sqrt" the sum is a squared distance' if link == "sqrt" else f"the link {link} sums have no sign"
        raise InputError(f'with {sum_is}, so weights must be >= 0; use link="identity"')


def check_directions(directions: Directions | None, grid: Grid, schema: Schema) -> None:
    """Refuse directions of other features than the raw ones, and a grid on which they have no place."""
    if directions is None:
        return
    n = len(schema.names)
    if directions.n_features != n:
        raise InputError(
            f"directions are of {directions.n_features} features, but the vectors have {n}; give those of the vectors"
        )
    needed = directions.extended(schema)
    for k, feature in enumerate(needed.features[n:], n):
        leaves = len(feature.categories) + 1 if feature.kind == "categorical" else grid.counts[k]
        if grid.kinds[k] != feature.kind or feature.missing > grid.missing[k] or leaves != grid.counts[k]:
            raise InputError(
                f"direction {feature.name!r} is {grid.kinds[k]} on the grid, or may be missing and has no level for it, or has "
                f"{grid.counts[k]} knots; directions are numeric, and have such a level where a feature that they use has one, "
                "but a tree is categorical, with a knot for each leaf and one more"
            )


def check_schema(grid: Grid, schema: Schema) -> None:
    """Refuse a schema whose categories or periods are not those of the grid."""
    for feature, knots in zip(schema.features, grid.knots, strict=False):
        if feature.kind == "categorical" and len(feature.categories) != len(knots) - 1:
            raise InputError(
                f"feature {feature.name!r} has {len(feature.categories)} categories and {len(knots)} knots; one knot for each "
                "category and one more are required"
            )
        if feature.kind == "periodic" and not np.isclose(feature.period, knots[-1] - knots[0], rtol=1e-9, atol=0.0):
            raise InputError(
                f"feature {feature.name!r} has the period {feature.period:g}, but its knots span {knots[-1] - knots[0]:g}; "
                "the knots of one turn are required"
            )


_SHOWN = 1e-9  # a violation counts if it exceeds this share of the distance; less may be rounding
_ROUNDS = 40  # of the search for points
_SHRINK = 0.8  # the factor of the length of steps from one round to the next


@dataclass(frozen=True, eq=False)
class AxiomReport:
    """Axioms with their proofs, and evidence against the triangle inequality. Printed, one a line.

    Attributes
    ----------
    axioms : Axioms
    proofs : dict of str to str
        The proof of each axiom, or the reason why there is none.
    triangle : {"proved", "violated", "not proved"}
        "not proved" if some table violates it, yet no points were found at which the sum does.
    worst : Detour or None
        The grid points of a group that violate the triangle inequality most, or come nearest to it; None without tables.
    triple : ndarray of shape (3, n_features) or None
        The encoded points x, y, z with the largest excess that was found; None if it is never > 0.
    excess : float
        The value of d(x, z) - d(x, y) - d(y, z) at the triple; 0 if there is none.
    """

    axioms: Axioms
    proofs: dict[str, str]
    triangle: str
    worst: Detour | None
    triple: Floats | None
    excess: float

    def _repr_html_(self) -> str:
        title, *lines = repr(self).splitlines()
        rows = [("axiom", "proof"), *((name.replace("_", " "), proof) for name, proof in self.proofs.items())]
        return html_table(rows, title=title, notes=[line.strip() for line in lines[len(self.proofs) :]])

    def __repr__(self) -> str:
        lines = [f"{self.axioms.name}", *(f"  {name.replace('_', ' ')}: {proof}" for name, proof in self.proofs.items())]
        if self.triple is not None and self.excess > 0:
            x, y, z = (np.array2string(p, precision=4, threshold=8) for p in self.triple)
            lines.append(f"  d(x, z) exceeds d(x, y) + d(y, z) by {self.excess:.4g} at x = {x}, y = {y}, z = {z}")
        return "\n".join(lines)


def certify(d: Any, *, n_starts: int = 64, random_state: int | None = 0) -> AxiomReport:
    """Return the report on d; where its triangle inequality is not proved, ``n_starts`` triples climb to violations."""
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
    try:
        return Triangles.of(d.embedding).worst(d.weights)
    except NotSupportedError:
        return []


def _proofs(d: Any, worst: Detour | None, verdict: str, excess: float) -> dict[str, str]:
    """Return in a phrase how each axiom was proved, or why it was not; ``verdict`` is that on the triangle inequality."""
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
        triangle = "by the columns: monotone scales" + (" and known divergences" if d.base_distances else "")
    else:
        triangle = (
            f"by a check of all grid points: the worst excess is {worst.excess:.3g}, of {worst.largest:.3g}; up to "
            f"{TOLERANCE:g} of that is rounding" + ("; divergences are known metrics" if d.base_distances else "")
        )
    also = (
        "; of base distances only seen at a few pairs"
        if any(base.divergence is None and base.weight > 0 for base in d.base_distances)
        else ""
    )
    jumps = "leaves of trees jump at thresholds" if d.directions and d.directions.n_trees else "symmetry by swapping jumps"
    return {
        "nonnegative": bounds if held.nonnegative else f"not proved: the least weight is {least:.3g}",
        "zero_on_diagonal": f"by the columns{also}" if held.zero_on_diagonal else "not proved: columns or base distances",
        "symmetric": f"by the columns{also}" if held.symmetric else "not proved: (x, y) and (y, x) have columns of their own",
        "positive": positive,
        "triangle": triangle,
        "continuous": f"by the columns{also}" if held.continuous else f"not proved: {jumps}",
    }


def _search(d: Any, worst: list[Detour], n_starts: int, rng: np.random.Generator) -> tuple[Floats | None, float]:
    """Return the triple with the largest excess that local ascent finds, and its excess; (None, 0) if that may be rounding."""
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
    points = np.tile(around, (3, 1))
    group = d.embedding.groups[detour.group]
    sizes = [int(d.embedding.grid.sizes[f]) for f in group]
    places = np.unravel_index(np.array(detour.points), sizes)
    for f, place in zip(group, places, strict=True):
        points[:, f] = d.embedding.grid.vertices(f)[place]
    return points


def _with_valid_codes(d: Any, points: Floats) -> Floats:
    """Return the points with categorical features rounded, in place, to codes of categories."""
    grid = d.embedding.grid
    for f in range(d.n_features):
        if grid.kinds[f] == "categorical":
            points[..., f] = np.clip(np.round(points[..., f]), 0, grid.high[f] - 1)
    return points


def _excess(d: Any, triples: Floats) -> Floats:
    points = triples.reshape(-1, triples.shape[2])
    k = 3 * np.arange(len(triples))
    xz, xy, yz = (d.paired_by_index(points, np.column_stack([k + i, k + j])) for i, j in ((0, 2), (0, 1), (1, 2)))
    return xz - xy - yz
