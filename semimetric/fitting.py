"""The one place where the axes meet: pairs and targets, embedding, terms and solver give a `Semimetric` and a `Solution`.

    structure -> design -> prior (weighted L1) -> program -> solver -> compact Semimetric

Targets are divided by their mean first, so penalties, thresholds and delta do not depend on the unit of the distance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ._errors import InputError
from ._types import Floats, Integers, Pairs
from .base_distances import BaseDistance
from .callables import DistanceFunction
from .distance import Semimetric
from .embeddings.base import PairMap
from .embeddings.directions import Directions, fit_directions
from .embeddings.pairs import PairEmbedding, resolve_groups
from .embeddings.warped import WarpedEmbedding
from .grids import Grid
from .programs.design import Moments, PairDesign
from .programs.losses import resolve_loss
from .programs.penalties import Columns, Quadratic
from .programs.program import ConvexProgram
from .recipe import Recipe
from .solvers.auto import choose
from .solvers.base import Solution
from .solvers.gram import Gram, solve_moments

__all__ = [
    "Baseline",
    "Structure",
    "Task",
    "baseline",
    "build",
    "distance",
    "ends",
    "fit",
    "keeping",
    "keeps_all",
    "least_squares",
    "make_task",
    "make_terms",
    "touched",
    "touched_vertices",
]

_PROBES = 8
_MANY_COLUMNS = 1_000
_LEAST_SPREAD = 0.25  # of the typical: a feature that hardly ever differs must not be given a steep slope for it
_FLOOR = 1e-3  # of the even slope: an untouched vertex is never 0


@dataclass(frozen=True, eq=False)
class Structure:
    """What is decided before the weights: names, directions, the embedding and the base distances."""

    names: tuple[str, ...]
    directions: Directions | None
    embedding: PairMap
    bases: tuple[DistanceFunction, ...]

    @property
    def n_raw(self) -> int:
        """Number of raw features."""
        return len(self.names)


def build(recipe: Recipe, items: Floats, names: Sequence[str]) -> Structure:
    """Directions, grid and embedding for ``items`` (n_items, n_features)."""
    directions = fit_directions(recipe.directions, items, names=names, random_state=recipe.random_state)
    features = directions.append(items) if directions else items
    if isinstance(recipe.knots, str):
        grid = Grid.fit(features, n_knots=recipe.n_knots, strategy=recipe.knots, random_state=recipe.random_state)
    else:
        grid = Grid(recipe.knots)
    if grid.n_features != features.shape[1]:
        raise InputError(f"knots are given for {grid.n_features} features, but there are {features.shape[1]}")
    groups = resolve_groups(recipe.groups, grid.n_features)
    bases = tuple(DistanceFunction.detect(f, items) for f in recipe.base_distances)
    if recipe.tables == "warped":
        return Structure(tuple(names), directions, WarpedEmbedding(grid, groups), bases)
    embedding = PairEmbedding(
        grid, groups, symmetry=recipe.symmetry_of_columns, zero_diagonal=recipe.axioms is not None
    )  # fmt: skip
    return Structure(tuple(names), directions, embedding, bases)


@dataclass(frozen=True, eq=False)
class Task:
    """Pairs with targets in units of their mean, ready for any structure.

    ``target`` is y (y² for the square-root link) divided by ``unit``; ``scale`` multiplies rows of a relative loss.
    """

    pairs: Pairs
    target: Floats
    weight: Floats
    base: Floats | None
    unit: float
    scale: Floats | None

    def take(self, rows: Integers) -> "Task":
        """Some of the pairs, weights summing to 1."""
        part = [None if a is None else a[rows] for a in (self.base, self.scale)]
        weight = self.weight[rows] / self.weight[rows].sum()
        return replace(self, pairs=self.pairs.take(rows), target=self.target[rows], weight=weight, base=part[0], scale=part[1])

    @property
    def scaled(self) -> Floats:
        """Targets of the scaled rows."""
        return self.target if self.scale is None else self.target * self.scale

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> PairDesign:
        """Rows of ``embedding`` for these pairs."""
        return PairDesign(embedding, self.pairs, structure.directions, self.base, self.scale, n_jobs)


def make_task(
    recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats, *, unit: float | None = None
) -> Task:
    """Targets in units of their mean, or in ``unit``; base distances are evaluated once. Every weight is > 0."""
    target = y * y if recipe.link == "sqrt" else y
    unit = float(weight @ np.abs(target)) / float(weight.sum()) if unit is None else unit
    target = target / unit
    base = None
    if structure.bases:
        columns = [f.evaluate(pairs, n_jobs=recipe.n_jobs, verbose=recipe.verbose) for f in structure.bases]
        values = np.column_stack(columns)
        base = (values * values if recipe.link == "sqrt" else values) / unit
    scale = None
    if recipe.relative is not False:
        floor = 0.1 if recipe.relative is True else float(recipe.relative)
        scale = 1.0 / np.maximum(np.abs(target), floor)
    return Task(pairs, target, weight, base, unit, scale)


def least_squares(moments: Moments, penalty: Quadratic, lower: Floats, start: Floats | None = None) -> Solution:
    """Gram's solution from moments of any total weight."""
    return solve_moments(Gram(), moments.mean, penalty, lower, start)


@dataclass(frozen=True, eq=False)
class Baseline:
    """What the pairs say before the tables are learned, one entry a feature.

    ``slopes`` are those of the fitted weighted L1 distance; ``spread`` is the root mean square difference in a pair.
    """

    slopes: Floats
    spread: Floats


def baseline(structure: Structure, moments: Moments) -> Baseline:
    """Weighted L1 fitted to the targets by least squares; ``moments`` are those of `ends`.

    Features are brought to equal spread, and a ridge of 1 % of the mean curvature pulls them to the best common scale, so
    that features that the pairs cannot tell apart share.
    """
    grid, n_base = structure.embedding.grid.ends, len(structure.bases)
    n, t = len(moments.cross), moments.total
    moving, width = grid.sizes > 1, grid.high - grid.low
    rms = np.sqrt(np.diag(moments.gram) / t)
    typical = float(np.median(rms[rms > 0])) if (rms > 0).any() else 1.0
    rms = np.maximum(rms, _LEAST_SPREAD * typical)
    gram, cross = moments.gram / np.outer(rms, rms), moments.cross / rms
    common = np.append(np.ones(n - n_base), np.zeros(n_base))
    level = max(float(common @ cross), 0.0) / max(float(common @ gram @ common), 1e-300)
    pull = np.append(np.full(n - n_base, 1e-2 * float(np.trace(gram)) / t / n), np.full(n_base, 1e-12))
    penalty = Quadratic(sparse.csr_array(sparse.diags_array(pull)), pull * level * common)
    rise = least_squares(Moments(gram, cross, moments.square, t), penalty, np.zeros(n)).weights / rms
    slopes, spread = np.zeros(grid.n_features), np.ones(grid.n_features)
    slopes[moving] = rise[: n - n_base] / width[moving]
    spread[moving] = rms[: n - n_base] * width[moving]
    return Baseline(slopes, spread)


def ends(structure: Structure) -> WarpedEmbedding:
    """Two knots a feature: the columns of the weighted L1 distance."""
    return WarpedEmbedding(structure.embedding.grid.ends)


@dataclass(frozen=True, eq=False)
class Terms:
    """Prior, penalties and bounds on the columns of one structure."""

    columns: Columns
    lower: Floats
    delta: float


def make_terms(recipe: Recipe, structure: Structure, base: Baseline) -> Terms:
    """The penalties' view of the columns, and w >= lower: delta on tables with raw features, 0 on the rest."""
    embedding, n_base = structure.embedding, len(structure.bases)
    prior, owner = embedding.prior(base.slopes), embedding.group_of_column
    delta = recipe.delta * float(prior.mean()) if recipe.axioms is not None and len(prior) else 0.0
    raw = np.array([any(f < structure.n_raw for f in g) for g in embedding.groups])
    lower = np.where(raw[owner], delta, 0.0)
    if recipe.axioms is None:
        lower = np.full(len(prior), -np.inf)
    return Terms(_columns(recipe, embedding, base, prior, n_base), np.concatenate([lower, np.zeros(n_base)]), delta)


def _columns(recipe: Recipe, embedding: PairMap, base: Baseline, prior: Floats, n_base: int) -> Columns:
    grid, owner = embedding.grid, embedding.group_of_column
    n_groups = max(len(np.unique(owner)), 1)
    even = 1.0 / (base.spread * n_groups)
    unit = embedding.prior(even)
    floor = 1e-6 * float(unit[unit > 0].mean()) if (unit > 0).any() else 1.0
    cells = np.array([max(sum(int(grid.sizes[f]) - 1 for f in g), 1) for g in embedding.groups], dtype=np.float64)
    rise = np.array([sum(float((grid.high[f] - grid.low[f]) * even[f]) for f in g) for g in embedding.groups])
    return Columns(
        n=len(prior) + n_base, prior=prior, unit=np.maximum(unit, floor), step=np.maximum((rise / cells)[owner], floor),
        share=(1.0 / (n_groups * cells))[owner], cells=cells[owner], differences=embedding.differences,
        nonnegative=recipe.axioms is not None,
    )  # fmt: skip


def fit(recipe: Recipe, structure: Structure, task: Task) -> tuple[Semimetric, Solution]:
    """Learn the weights and return the distance."""
    moments = task.design(structure, ends(structure), recipe.n_jobs).moments(task.scaled, task.weight)
    base = baseline(structure, moments)
    structure = touched(structure, task, base)
    terms = make_terms(recipe, structure, base)
    design = task.design(structure, structure.embedding, recipe.n_jobs)
    penalties = recipe.penalties(structure.embedding)
    program = ConvexProgram(
        design, task.scaled, task.weight, resolve_loss(recipe.loss), penalties, terms.columns, terms.lower
    )  # fmt: skip
    solver, reason = choose(recipe.solver, program)
    solution = solver.solve(program, verbose=recipe.verbose)
    solution = replace(solution, solver=f"{solution.solver} ({reason})")
    return distance(recipe, structure, task, solution.weights, terms.delta), solution


def touched(structure: Structure, task: Task, base: Baseline) -> Structure:
    """Columns only at touched vertices: where a table cannot be held, or where most of many columns would say nothing."""
    return structure if keeps_all(structure) else keeping(structure, touched_vertices(structure, task.pairs), base)


def keeps_all(structure: Structure) -> bool:
    """Whether every vertex is a column, whatever the pairs touch."""
    embedding = structure.embedding
    return not isinstance(embedding, PairEmbedding) or (embedding.holds_tables and embedding.n_columns <= _MANY_COLUMNS)


def touched_vertices(structure: Structure, pairs: Pairs) -> list[Integers]:
    """The vertices of each group of a `PairEmbedding` that the pairs touch."""
    items = structure.directions.append(pairs.items) if structure.directions else pairs.items
    return structure.embedding.touched_by(structure.embedding.locate(items), pairs.left, pairs.right)  # type: ignore[attr-defined]


def keeping(structure: Structure, vertices: Sequence[Integers], base: Baseline) -> Structure:
    """Columns only at these vertices, unless they are most of tables that can be held; the others take the prior."""
    embedding = structure.embedding
    even = 1.0 / (base.spread * len(embedding.groups))
    restricted = embedding.restricted(vertices, np.maximum(base.slopes, _FLOOR * even))  # type: ignore[attr-defined]
    if embedding.holds_tables and restricted.n_columns > embedding.n_columns // 2:
        return structure
    return replace(structure, embedding=restricted)


def distance(recipe: Recipe, structure: Structure, task: Task, weights: Floats, delta: float) -> Semimetric:
    """The distance in the user's units, without directions and groups of directions whose weights are all 0."""
    n = structure.embedding.n_columns
    whole, w = structure.embedding.expanded(weights[:n])
    embedding, w, directions = _compact(replace(structure, embedding=whole), w)
    unit, power = task.unit, 2 if recipe.link == "sqrt" else 1
    probe = task.pairs.take(np.arange(min(_PROBES, len(task.pairs))))
    points = probe.items[probe.index]
    bases = tuple(
        BaseDistance(f, float(u), _name(f), points, f(points[:, 0], points[:, 1]), power)
        for f, u in zip(structure.bases, weights[n:], strict=True)
    )
    epsilon = _outside_slopes(recipe, embedding, w, structure.n_raw, delta)
    return Semimetric(embedding.in_unit(unit), w * unit, epsilon * unit, structure.names, directions, bases, recipe.link)


def _outside_slopes(recipe: Recipe, embedding: PairMap, w: Floats, n_raw: int, delta: float) -> Floats:
    """Slope outside the range of every feature: delta a range, or the mean slope of the distance across its range.

    The mean slope is that between the two ends of the feature, all other features at their low end.
    """
    grid = embedding.grid
    span = np.where(grid.high > grid.low, grid.high - grid.low, 1.0)
    least = np.where(np.arange(len(span)) < n_raw, delta / span, 0.0)
    if recipe.outside == "clip":
        return least
    across = np.tile(grid.low, (len(span) + 1, 1))
    across[np.arange(len(span)), np.arange(len(span))] = grid.high
    items, rows = embedding.locate(across), np.arange(len(span))
    return np.maximum(embedding.paired(items, rows, items, np.full(len(span), len(span)), w) / span, least)


def _name(function: DistanceFunction) -> str:
    return getattr(function.function, "__name__", type(function.function).__name__)


def _compact(structure: Structure, w: Floats) -> tuple[PairMap, Floats, Directions | None]:
    """Leave out groups of directions that have no weight, and directions that no group uses.

    Not under the swap: groups of one feature left alone would be numbered as tied.
    """
    embedding, n_raw = structure.embedding, structure.n_raw
    used = np.bincount(embedding.group_of_column, weights=w != 0, minlength=len(embedding.groups)) > 0
    raw = np.array([any(f < n_raw for f in g) for g in embedding.groups])
    keep = np.flatnonzero(used | raw)
    if structure.directions is None or len(keep) == len(embedding.groups) or not embedding.continuous:
        return embedding, w, structure.directions
    wanted = sorted({f for g in keep for f in embedding.groups[g]} | set(range(n_raw)))
    rows = np.array([f - n_raw for f in wanted if f >= n_raw], dtype=np.int64)
    old = structure.directions
    directions = Directions(old.matrix[rows], tuple(old.names[r] for r in rows)) if len(rows) else None
    kept = np.isin(embedding.group_of_column, keep)
    return embedding.select(keep, np.array(wanted)), w[kept], directions
