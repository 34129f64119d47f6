"""Learning from comparisons: pairs judged alike or not, triplets, quadruplets (THEORY, section 3).

    min_w  sum_i s_i loss(r_i) + penalty(w),    r = 1 + y (d - b) of pairs,   r = 1 + d_near - d_far of triplets

There are no targets, so the unit is the margin, 1. The prior is found in two steps: the even L1 distance, to which all features
contribute equally, at its best scale; then the weighted L1 distance, by the same loss with a ridge towards the even one.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ._errors import InputError
from ._types import Comparisons, Floats, Integers, Pairs, Tuples
from .assembly import beyond, distance
from .distance import Semimetric
from .embeddings.base import PairMap
from .embeddings.discriminants import discriminants
from .fitting import LEAST_SPREAD, Baseline, Terms, columns_of, ends, keeping, keeps_all, make_terms, steady, touched_vertices
from .guarantees import constrained
from .programs.design import MatrixDesign, PairDesign, RowsDesign
from .programs.differences import DifferenceDesign
from .programs.losses import SquaredHinge, resolve_loss
from .programs.penalties import Columns, Penalty, Ridge
from .programs.program import ConvexProgram
from .recipe import Recipe
from .schema import Names, Schema
from .solvers.auto import choose
from .solvers.base import Solution
from .solvers.newton import Newton
from .task import Structure, Task, build

__all__ = ["Compared", "Evidence", "Judged", "Prior", "fit_margins", "margin_program", "prior", "prepared", "spread_of"]

_SCALE_RIDGE, _SLOPE_RIDGE = 1e-3, 1e-2
_LEAST = 1e-2  # of the even distance: the prior is never 0


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """Tuples and what they say, one weight each, summing to 1.

    Attributes
    ----------
    n_extra : int
        Columns behind those of the embedding.
    """

    tuples: Tuples
    weight: Floats
    n_extra = 0

    @property
    @abstractmethod
    def near(self) -> tuple[Pairs, Floats]:
        """Pairs that should be close, and their weights."""

    @property
    @abstractmethod
    def far(self) -> tuple[Pairs, Floats]:
        """Pairs that should not, and their weights."""

    @abstractmethod
    def take(self, rows: Integers) -> "Evidence":
        """Some of the tuples, weights summing to 1."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """Rows A with residuals A w + 1."""

    @property
    def pairs(self) -> Pairs:
        """Near and far pairs."""
        return Pairs(self.tuples.items, np.concatenate([self.near[0].index, self.far[0].index]))


@dataclass(frozen=True, eq=False)
class Judged(Evidence):
    """Pairs with y = +1 (similar) or -1; the threshold b is one column more."""

    y: Floats
    n_extra = 1

    def _of(self, label: int) -> tuple[Pairs, Floats]:
        rows = np.flatnonzero(self.y == label)
        return Pairs(self.tuples.items, self.tuples.index[rows]), self.weight[rows]

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """Those judged similar."""
        return self._of(1)

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """Those judged dissimilar."""
        return self._of(-1)

    def take(self, rows: Integers) -> "Judged":
        """Some of the pairs, weights summing to 1."""
        return Judged(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum(), self.y[rows])

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """Rows y (a, -1)."""
        pairs = Pairs(self.tuples.items, self.tuples.index)
        return PairDesign(embedding, pairs, structure.directions, -np.ones((len(pairs), 1)), self.y, n_jobs)


@dataclass(frozen=True, eq=False)
class Compared(Evidence):
    """Triplets or quadruplets: the near pair is closer than the far one."""

    tuples: Comparisons

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """The first pair of every comparison."""
        return self.tuples.near, self.weight

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """The second one."""
        return self.tuples.far, self.weight

    def take(self, rows: Integers) -> "Compared":
        """Some of the comparisons, weights summing to 1."""
        return Compared(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum())

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """Rows a_near - a_far."""
        return DifferenceDesign.of(embedding, self.tuples, structure.directions, n_jobs)


class Prior(NamedTuple):
    """The weighted L1 (of any features Gower's) distance that the comparisons ask for, and the extra columns beside it."""

    base: Baseline
    extra: Floats


def prepared(recipe: Recipe, evidence: Evidence, names: Names) -> Recipe:
    """The recipe with ``directions="discriminant"`` fitted to the evidence; they combine numbers."""
    if not (isinstance(recipe.directions, str) and recipe.directions == "discriminant"):
        return recipe
    (near, near_weight), (far, far_weight) = evidence.near, evidence.far
    usable = Schema.of(names).usable
    found = discriminants(near, far, near_weight, far_weight, usable=usable, random_state=recipe.random_state)
    return replace(recipe, directions=found)


def prior(structure: Structure, evidence: Evidence, n_jobs: int | None) -> Prior:
    """Even L1 at its best scale, then weighted L1 by the squared hinge, with a ridge towards it.

    Raises
    ------
    InputError
        If no tuple compares anything: all repeat an item.
    """
    embedding, k = ends(structure), evidence.n_extra
    weight = np.concatenate([evidence.near[1], evidence.far[1]])
    spread = spread_of(structure, embedding, evidence.pairs, weight / weight.sum(), n_jobs)
    even = Baseline(1.0 / (spread * len(structure.embedding.groups)), spread)
    design, weights = evidence.design(structure, embedding, n_jobs), embedding.prior(even.slopes)
    columns = [design.matvec(np.append(weights, np.zeros(k)))]
    columns += [design.matvec(e) for e in np.eye(design.shape[1])[embedding.n_columns :]]
    if not np.any(columns[0]):
        raise InputError(f"every one of the {len(evidence.weight)} tuples compares equal points; give tuples that differ")
    unit = np.ones(1)
    one = Columns(1 + k, unit, unit, unit, unit, unit, differences=lambda kind: sparse.csr_array((0, 1)))
    matrix = MatrixDesign(sparse.csr_array(np.column_stack(columns)))
    scaled = _quick(matrix, evidence, (Ridge(_SCALE_RIDGE),), one, np.append(_LEAST, np.zeros(k)), np.ones(1 + k))
    start = np.append(scaled[0] * weights, scaled[1:])
    terms = columns_of(embedding, Baseline(scaled[0] * even.slopes, spread), k)
    lower = np.append(_LEAST * scaled[0] * weights, np.zeros(k))
    found = _quick(design, evidence, (Ridge(_SLOPE_RIDGE),), terms, lower, start)
    grid = structure.embedding.grid
    slopes = np.zeros(grid.n_features)
    slopes[grid.varies] = found[: embedding.n_columns] / grid.widths[grid.varies]
    return Prior(Baseline(slopes, spread), found[embedding.n_columns :])


def _quick(
    design: MatrixDesign | RowsDesign, evidence: Evidence, penalties: tuple[Penalty, ...], columns: Columns, lower: Floats,
    start: Floats,
) -> Floats:  # fmt: skip
    """Weights on the way to the last program; Ctrl-C raises."""
    m = len(evidence.weight)
    program = ConvexProgram(design, -np.ones(m), evidence.weight, SquaredHinge(), penalties, columns, lower)
    return Newton(tol=1e-6).solve(program, start=start).raise_if_interrupted().weights


def spread_of(
    structure: Structure, embedding: PairMap, pairs: Pairs, weight: Floats, n_jobs: int | None, *, least: float = LEAST_SPREAD
) -> Floats:
    """Root mean square difference of every feature in a pair, as `steady` has it; 1 where constant.

    ``embedding`` is that of `ends`; weights of pairs sum to 1.
    """
    design = PairDesign(embedding, pairs, structure.directions, n_jobs=n_jobs)
    grid = structure.embedding.grid
    rms, spread = design.moments(np.zeros(len(weight)), weight).norms(), np.ones(grid.n_features)
    spread[grid.varies] = steady(rms, least) * grid.widths[grid.varies]
    return spread


def margin_program(
    recipe: Recipe, structure: Structure, evidence: Evidence, found: Prior
) -> tuple[ConvexProgram, Terms, Floats]:
    """The program over the columns of ``structure``, its terms, and the prior as a start."""
    k = evidence.n_extra
    terms = make_terms(recipe, structure, found.base)
    n = len(terms.columns.prior) + k
    terms = replace(terms, columns=replace(terms.columns, n=n), lower=np.append(terms.lower, np.zeros(k)))
    design = evidence.design(structure, structure.embedding, recipe.n_jobs)
    target, loss = -np.ones(len(evidence.weight)), resolve_loss(recipe.loss, margins=True)
    program = ConvexProgram(
        design, target, evidence.weight, loss, recipe.penalties(structure.embedding), terms.columns, terms.lower
    )  # fmt: skip
    return program, terms, np.append(terms.columns.prior, found.extra)


def fit_margins(recipe: Recipe, evidence: Evidence, names: Names) -> tuple[Semimetric, Solution, Floats]:
    """Learn the weights; the distance, the solution, and the values of the extra columns."""
    structure = build(prepared(recipe, evidence, names), evidence.tuples.used, names)
    found = prior(structure, evidence, recipe.n_jobs)
    pairs = evidence.pairs
    if not (keeps_all(structure) or recipe.asks_rows):
        structure = keeping(structure, touched_vertices(structure, pairs), found.base)
    program, terms, start = margin_program(recipe, structure, evidence, found)
    program = constrained(recipe, structure, program, terms.unseen)
    solver, reason = choose(recipe.solver, program)
    solution = solver.solve(program, start=start, verbose=recipe.verbose)
    n = structure.embedding.n_columns
    touching = PairDesign(structure.embedding, pairs, structure.directions, n_jobs=recipe.n_jobs)
    weights = solution.weights
    if not recipe.asks_rows:
        weights = terms.settled(weights, program.penalty, lambda: touching.rmatvec(np.ones(len(pairs))))
    solution = replace(solution, weights=weights, solver=f"{solution.solver} ({reason})")
    counts = beyond(recipe, structure, pairs) if not isinstance(recipe.knots, str) else None
    task = Task(pairs, np.zeros(len(pairs)), np.ones(len(pairs)), None, 1.0, None)
    return distance(recipe, structure, task, weights[:n], terms.delta, counts), solution, weights[n:]
