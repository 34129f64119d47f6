"""The one place where the axes meet: pairs and targets, embedding, terms and solver give a `Semimetric` and a `Solution`.

    structure, task -> design -> prior (weighted L1) -> program -> solver -> compact Semimetric

Everything is in units of the mean target until `assembly` puts the distance into the user's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .._foundation.types import Floats, Integers, Pairs
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..programs.design_matrix import Moments
from ..programs.losses import resolve_loss
from ..programs.penalties import Columns, Quadratic
from ..programs.program import ConvexProgram
from ..solvers.auto import choose
from ..solvers.base import Solution
from ..solvers.gram import Gram, solve_moments
from .assembly import beyond, distance
from .guarantees import constrained
from .recipe import Recipe
from .structure import Structure, Task, ends

__all__ = [
    "LEAST_SPREAD",
    "Baseline",
    "baseline",
    "columns_of",
    "fit",
    "keeping",
    "keeps_all",
    "least_squares",
    "make_terms",
    "steady",
    "touched",
    "touched_vertices",
]

_MANY_COLUMNS = 1_000
LEAST_SPREAD = 0.25  # of the typical: a feature that hardly ever differs must not be given a steep slope for it
_IDLE = 1e-12  # of the largest column: rounding, not pairs
_FLOOR = 1e-3  # of the even slope: an untouched vertex is never 0


def least_squares(moments: Moments, penalty: Quadratic, lower: Floats, start: Floats | None = None) -> Solution:
    """Gram's solution from moments of any total weight; Ctrl-C raises, since this is a step on the way."""
    return solve_moments(Gram(), moments.mean, penalty, lower, start).raise_if_interrupted()


@dataclass(frozen=True, eq=False)
class Baseline:
    """What the pairs say before the tables are learned, one entry a feature.

    ``slopes`` are those of the fitted weighted L1 distance; ``spread`` is the root mean square difference in a pair.
    """

    slopes: Floats
    spread: Floats


def baseline(structure: Structure, moments: Moments) -> Baseline:
    """Weighted L1 (or Gower's distance) fitted to the targets by least squares; ``moments`` are those of `ends`.

    Features are brought to equal spread, and a ridge of 1 % of the mean curvature pulls them to the best common scale, so
    that features that the pairs cannot tell apart share.
    """
    grid, n_base = structure.embedding.grid, len(structure.bases)
    n, t = len(moments.cross), moments.total
    moving, width = grid.varies, grid.widths
    rms = steady(np.sqrt(np.diag(moments.gram) / t))
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


def steady(rms: Floats, least: float = LEAST_SPREAD) -> Floats:
    """Spreads of at least ``least`` of the typical one; the typical one where no pair differs, so that no slope is steep."""
    typical = float(np.median(rms[rms > 0])) if (rms > 0).any() else 1.0
    return np.where(rms > 0, np.maximum(rms, least * typical), typical)


@dataclass(frozen=True, eq=False)
class Terms:
    """Prior, penalties and bounds on the columns of one structure; ``unseen`` is for columns that nothing determines."""

    columns: Columns
    lower: Floats
    delta: float
    unseen: Floats

    def settled(self, weights: Floats, penalty: Quadratic, norms: Callable[[], Floats]) -> Floats:
        """The weights, those of table columns that neither a pair nor the penalty touches being that of the prior.

        ``norms`` gives any norm of the columns; it is asked only if the penalty leaves some alone.
        """
        n = len(self.unseen)
        alone = (penalty.P.diagonal()[:n] == 0) & (penalty.q[:n] == 0)
        if not alone.any():
            return weights
        size = norms()
        idle = alone & (size[:n] <= _IDLE * size.max())
        return np.append(np.where(idle, self.unseen, weights[:n]), weights[n:])


def make_terms(recipe: Recipe, structure: Structure, base: Baseline) -> Terms:
    """The penalties' view of the columns, and w >= lower: delta on tables with raw features, 0 on the rest."""
    embedding, n_base = structure.embedding, len(structure.bases)
    prior, owner = embedding.prior(base.slopes), embedding.group_of_column
    delta = recipe.delta * float(prior.mean()) if recipe.axioms is not None and len(prior) else 0.0
    raw = np.array([any(f < structure.n_raw for f in g) for g in embedding.groups])
    lower = np.where(raw[owner], delta, 0.0)
    if recipe.axioms is None:
        lower = np.full(len(prior), -np.inf)
    unseen = np.maximum(embedding.prior(_unseen_slopes(base, len(embedding.groups))), lower)
    columns = columns_of(
        embedding, base, n_base, nonnegative=recipe.axioms is not None, joint_share=recipe.joint.share
    )  # fmt: skip
    return Terms(columns, np.append(lower, np.zeros(n_base)), delta, unseen)


def _unseen_slopes(base: Baseline, n_groups: int) -> Floats:
    """Of the weighted L1 distance where training never was: never 0."""
    return np.maximum(base.slopes, _FLOOR / (base.spread * n_groups))


def columns_of(
    embedding: PairMap, base: Baseline, n_base: int = 0, *, nonnegative: bool = True, joint_share: float = 1.0
) -> Columns:
    """What penalties ask of the columns of an embedding, followed by ``n_base`` that are not penalised.

    Columns of groups of several features count ``joint_share`` as much as others.
    """
    prior = embedding.prior(base.slopes)
    grid, owner, cells = embedding.grid, embedding.group_of_column, embedding.cells
    n_groups = max(len(np.unique(owner)), 1)
    even = 1.0 / (base.spread * n_groups)
    unit = embedding.prior(even)
    floor = 1e-6 * float(unit[unit > 0].mean()) if (unit > 0).any() else 1.0
    rise = np.array([sum(float(grid.widths[f] * even[f]) * grid.varies[f] for f in g) for g in embedding.groups])
    share = np.array([joint_share if len(g) > 1 else 1.0 for g in embedding.groups]) / (n_groups * cells)
    return Columns(
        n=len(prior) + n_base, prior=prior, unit=np.maximum(unit, floor), step=np.maximum((rise / cells)[owner], floor),
        share=share[owner], cells=cells[owner], differences=embedding.differences,
        nonnegative=nonnegative,
    )  # fmt: skip


def fit(recipe: Recipe, structure: Structure, task: Task) -> tuple[Semimetric, Solution]:
    """Learn the weights and return the distance."""
    moments = task.design(structure, ends(structure), recipe.n_jobs).moments(task.scaled, task.weight)
    base = baseline(structure, moments)
    structure = structure if recipe.asks_rows else touched(structure, task, base)
    terms = make_terms(recipe, structure, base)
    design = task.design(structure, structure.embedding, recipe.n_jobs)
    penalties = recipe.penalties(structure.embedding)
    program = ConvexProgram(
        design, task.scaled, task.weight, resolve_loss(recipe.loss), penalties, terms.columns, terms.lower
    )  # fmt: skip
    program = constrained(recipe, structure, program, terms.unseen, task.unit)
    solver, reason = choose(recipe.solver, program)
    solution = solver.solve(program, verbose=recipe.verbose)
    weights = (
        solution.weights
        if recipe.asks_rows
        else terms.settled(solution.weights, program.penalty, lambda: design.rmatvec(task.weight))
    )
    solution = replace(solution, weights=weights, solver=f"{solution.solver} ({reason})")
    counts = beyond(recipe, structure, task.pairs) if not isinstance(recipe.knots, str) else None
    return distance(recipe, structure, task, solution.weights, terms.delta, counts), solution


def touched(structure: Structure, task: Task, base: Baseline) -> Structure:
    """Columns only at touched vertices: where a table cannot be held, or where most of many columns would say nothing."""
    return structure if keeps_all(structure) else keeping(structure, touched_vertices(structure, task.pairs), base)


def keeps_all(structure: Structure) -> bool:
    """Whether every vertex is a column, whatever the pairs touch."""
    embedding = structure.embedding
    tied = isinstance(embedding, PairEmbedding) and any(v.by_difference for v in embedding.vertices)
    return tied or not isinstance(embedding, PairEmbedding) or (embedding.holds_tables and embedding.n_columns <= _MANY_COLUMNS)


def touched_vertices(structure: Structure, pairs: Pairs) -> list[Integers]:
    """The vertices of each group of a `PairEmbedding` that the pairs touch."""
    items = structure.directions.append(pairs.items) if structure.directions else pairs.items
    return structure.embedding.touched_by(structure.embedding.locate(items), pairs.left, pairs.right)  # type: ignore[attr-defined]


def keeping(structure: Structure, vertices: Sequence[Integers], base: Baseline) -> Structure:
    """Columns only at these vertices, unless they are most of tables that can be held; the others take the prior."""
    embedding = structure.embedding
    slopes = _unseen_slopes(base, len(embedding.groups))
    restricted = embedding.restricted(vertices, slopes)  # type: ignore[attr-defined]
    if embedding.holds_tables and restricted.n_columns > embedding.n_columns // 2:
        return structure
    return replace(structure, embedding=restricted)
