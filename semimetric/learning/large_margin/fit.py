"""Large-margin nearest neighbours with the pair embedding (Weinberger & Saul 2009; paper 2, section 4).

The theory is in docs/mathematics.md, section 3.

    min_w  mean_t s_t loss(1 + d_ij - d_il) + (1 - mu) / mu mean d_ij + penalty(w),      t = (i, j, l)

Targets j are the nearest items of the class of i, impostors l the nearest of other classes, both under the current distance;
they are found again in a few passes, and each pass is a convex program, warm from the one before. The margin 1 is a share of
the mean distance to a target under the even L1 distance, to which every feature contributes equally: units play no part. A
given distance, `Recipe.prior`, takes the place of the even one as what targets are first found under and weights are drawn to,
times the number that makes the margin 0.7 of its mean distance to a target.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.progress import progress_bar
from ..._foundation.storable import storable
from ..._foundation.types import Floats
from ...distances.semimetric import Semimetric
from ...embeddings.directions.from_labels import are_combined
from ...embeddings.pairs.base import PairMap
from ...embeddings.pairs.monotone_scales import WarpedEmbedding
from ...programs.losses import resolve_loss
from ...programs.penalties import Linear, Penalty, Ridge
from ...programs.program import ConvexProgram
from ...solvers.base import Solution, Status
from ..assembly import count_out_of_range, warn_out_of_range
from ..prior import L1Prior, spread_of_pairs
from ..recipe import Recipe
from ..solve import solve
from ..structure import Structure, l1_embedding
from ..terms import Terms, make_terms
from .labeled_items import (
    LargeMargin,
    LargeMarginProblem,
    SearchableItems,
    TripletNeighbors,
    assemble_for_margin,
)

__all__ = [
    "N_DRAWN",
    "LargeMarginPass",
    "LargeMarginResult",
    "even_prior",
    "fit_large_margin",
    "make_problem",
    "program_of_pass",
]

_MARGIN = 0.7  # of the mean distance to a target
_SHARE = 0.3  # of the even distance that directions have, beside raw features
_SHARE_COMBINED = 0.6  # the share of components and discriminants together, which are more
N_DRAWN = 4_000  # pairs of items from which the spread of each feature is estimated
_NEVER = 1e-3  # of the typical spread, for a feature that no drawn pair varies


@storable
class LargeMarginPass(NamedTuple):
    """One pass of large-margin learning.

    Attributes
    ----------
    n_triplets, n_violated : int
        How many triplets the program had, and how many of them lacked their margin at the end.
    before, after : float
        The objective at the weights that the pass began with, and at its solution.
    solution : Solution
    """

    n_triplets: int
    n_violated: int
    before: float
    after: float
    solution: Solution


@dataclass(frozen=True, eq=False)
class LargeMarginResult:
    """The result of large-margin learning.

    Parameters
    ----------
    semimetric : Semimetric
    passes : tuple of LargeMarginPass
    neighbors : TripletNeighbors
        Targets and impostors of the last pass.
    """

    semimetric: Semimetric
    passes: tuple[LargeMarginPass, ...]
    neighbors: TripletNeighbors

    @property
    def weights(self) -> Floats:
        """The weights after the last pass; Ctrl-C in that pass raises KeyboardInterrupt."""
        return self.passes[-1].solution.raise_if_interrupted().weights


def fit_large_margin(
    recipe: Recipe, rule: LargeMargin, structure: Structure, items: SearchableItems, start: Floats | None = None
) -> LargeMarginResult:
    """Learn the distance in a few passes, each of which searches targets and impostors anew and solves one program.

    Ctrl-C ends the passes: what was reached is returned, with the status INTERRUPTED in the last solution.

    Parameters
    ----------
    recipe : Recipe
    rule : LargeMargin
    structure : Structure
    items : SearchableItems
        Located on the grid of the structure.
    start : ndarray of shape (n_columns,) or None
        Weights to begin from, such as those of a stronger penalty.
    """
    problem, first = make_problem(recipe, rule, structure, items)
    weights, passes, neighbors = _run(problem, items, start, first)
    out_of_range = None
    if not isinstance(recipe.knots, str):
        out_of_range = count_out_of_range(structure, items.example)
        warn_out_of_range(recipe, structure, out_of_range, len(items.example))
    return LargeMarginResult(assemble_for_margin(problem, weights, items.example, out_of_range), passes, neighbors)


def make_problem(
    recipe: Recipe, rule: LargeMargin, structure: Structure, items: SearchableItems
) -> tuple[LargeMarginProblem, TripletNeighbors]:
    """The problem, whose unit is the margin, and the neighbours under the even distance, which has no unit."""
    if not structure.embedding.holds_tables:
        raise NotSupportedError("a group's table is too large to be held, as its neighbours' rows must; use fewer knots")
    measured = structure
    if rule.even == "places":
        measured = structure.with_grid(recipe, structure.embedding.grid.places)
    even = _even_slopes(structure, measured, items, recipe)
    problem = LargeMarginProblem(recipe, rule, structure, measured, _prior_of(measured, even))
    first = items.neighbors(problem, measured.embedding.prior(even))
    problem = replace(problem, prior=_prior_of(measured, even / (_MARGIN * first.sums.mean_target)))
    return (problem, first) if recipe.prior is None else _from_given(problem, items)


def _from_given(problem: LargeMarginProblem, items: SearchableItems) -> tuple[LargeMarginProblem, TripletNeighbors]:
    """The problem with the given distance as its prior, in units of the margin, and the neighbours under it.

    The even distance stays what penalties measure weights with.
    """
    prior = replace(problem.prior, given=problem.recipe.prior)
    first = items.neighbors(replace(problem, prior=prior), prior.weights(problem.measured))
    if not first.sums.n_apart:
        raise InputError(
            "prior= is 0 between every item and the nearest ones of its class, so that it measures no margin; give another, or "
            "none"
        )
    return replace(problem, prior=replace(prior, multiple=1.0 / (_MARGIN * first.sums.mean_target))), first


def even_prior(recipe: Recipe, structure: Structure, items: SearchableItems) -> L1Prior:
    """The even distance, to which all raw features contribute equally, as a prior; it has no unit."""
    return _prior_of(structure, _even_slopes(structure, structure, items, recipe))


def _prior_of(structure: Structure, slopes: Floats) -> L1Prior:
    """The prior with these slopes, and with spreads for which the unit of a weight is its prior."""
    return L1Prior(slopes, 1.0 / np.maximum(slopes * len(structure.embedding.groups), 1e-300))


def _even_slopes(structure: Structure, measured: Structure, items: SearchableItems, recipe: Recipe) -> Floats:
    """Slopes of the L1 distance to which all raw features contribute equally, and all directions; its mean is about 1."""
    drawn = items.drawn(N_DRAWN, recipe.random_state)
    features = structure.features_of(drawn.items)
    if measured is not structure:
        features = structure.embedding.grid.place(features)
    alone, pairs = replace(measured, directions=None), replace(drawn, items=features)
    weight = np.full(N_DRAWN, 1.0 / N_DRAWN)
    spread = spread_of_pairs(alone, l1_embedding(alone), pairs, weight, recipe.n_jobs, least=_NEVER)
    return _even_share(structure, len(spread)) / spread


def _even_share(structure: Structure, n_features: int) -> Floats:
    """The share of the even distance that each feature of the grid has, shape (n_features,)."""
    groups, is_raw = structure.embedding.groups, structure.is_raw
    of_directions = _SHARE_COMBINED if are_combined(structure.directions) else _SHARE
    share = np.zeros(n_features)
    for members, part in (
        (is_raw, 1.0 if is_raw.all() else 1.0 - of_directions),
        (~is_raw, 1.0 if not is_raw.any() else of_directions),
    ):
        chosen = [group for group, member in zip(groups, members, strict=True) if member]
        for f in {f for group in chosen for f in group}:
            share[f] = max(share[f], part / len(chosen))
    return share


def _run(
    problem: LargeMarginProblem, items: SearchableItems, start: Floats | None, first: TripletNeighbors
) -> tuple[Floats, tuple[LargeMarginPass, ...], TripletNeighbors]:
    """The weights after all passes, the passes, and the neighbours of the last one; ``first`` are those of the prior."""
    terms = make_terms(problem.recipe, problem.measured, problem.prior)
    weights = np.maximum(terms.columns.prior if start is None else start, terms.lower)
    passes: list[LargeMarginPass] = []
    with progress_bar(problem.rule.n_passes, "passes", verbose=problem.recipe.verbose) as bar:
        for _ in range(problem.rule.n_passes):
            try:
                neighbors = items.neighbors(problem, weights) if passes or start is not None else first
                passes.append(_one_pass(problem, terms, neighbors, weights))
            except KeyboardInterrupt:
                if not passes:
                    raise
                stopped = replace(passes[-1].solution, status=Status.INTERRUPTED)
                passes[-1] = passes[-1]._replace(solution=stopped)
                break
            weights = passes[-1].solution.weights
            if passes[-1].solution.status is Status.INTERRUPTED:
                break
            bar.update()
    return weights, tuple(passes), neighbors


def _one_pass(problem: LargeMarginProblem, terms: Terms, neighbors: TripletNeighbors, weights: Floats) -> LargeMarginPass:
    """The program of these neighbours, solved from the weights of the pass before."""
    program = program_of_pass(problem, neighbors, terms)

    def norms() -> Floats:
        return program.design.absolute.rmatvec(program.sample_weight)

    before = program.objective(weights)
    solution = solve(problem.recipe, problem.structure, terms, program, norms=norms, start=weights)
    n_violated = int((program.design.matvec(solution.weights) - program.y > 0).sum())
    return LargeMarginPass(len(program.y), n_violated, before, solution.objective, solution)


def program_of_pass(problem: LargeMarginProblem, neighbors: TripletNeighbors, terms: Terms) -> ConvexProgram:
    """The program of one pass: the loss of the triplets, the penalties, and the pull of the targets where mu < 1."""
    recipe, rule, weight = problem.recipe, problem.rule, neighbors.weight
    penalties = _penalties(recipe, problem.embedding)
    if rule.mu < 1.0:
        penalties = (*penalties, Linear((1.0 - rule.mu) / rule.mu * neighbors.sums.mean_pull))
    loss, y = resolve_loss(recipe.loss, margins=True), -np.ones(len(weight))
    return ConvexProgram(neighbors.design(), y, weight / weight.sum(), loss, penalties, terms.columns, terms.lower)


def _penalties(recipe: Recipe, embedding: PairMap) -> tuple[Penalty, ...]:
    """The penalties of the recipe; on scales "auto" is the ridge alone: smoother scales were no better when measured."""
    if recipe.penalty == "auto" and isinstance(embedding, WarpedEmbedding):
        return (Ridge(recipe.alpha),)
    return recipe.penalties(embedding)
