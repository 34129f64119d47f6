"""Large-margin nearest neighbours with the pair embedding (Weinberger & Saul 2009; paper 2, section 4).

The theory is in docs/mathematics.md, section 3.

    min_w  mean_t s_t loss(1 + d_ij - d_il) + (1 - mu) / mu mean d_ij + penalty(w),      t = (i, j, l)

Targets j are the nearest items of the class of i, impostors l the nearest of other classes, both under the current distance;
they are found again in a few passes, and each pass is a convex program, warm from the one before. The margin 1 is a share of
the mean distance to a target under the even L1 distance, to which every feature contributes equally: units play no part.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._foundation.errors import NotSupportedError
from ..._foundation.types import Floats, Integers
from ...data.schema import Schema
from ...distances.semimetric import Semimetric
from ...embeddings.directions.from_labels import LABELLED, labelled_directions
from ...embeddings.directions.linear_directions import Directions
from ...embeddings.pairs.base import PairMap
from ...embeddings.pairs.monotone_scales import WarpedEmbedding
from ...programs.losses import resolve_loss
from ...programs.penalties import Linear, Penalty, Ridge
from ...programs.program import ConvexProgram
from ...solvers.auto import choose
from ...solvers.base import Solution, Status
from ..assembly import count_beyond, warn_beyond
from ..comparisons.tuple_data import spread_of
from ..guarantees import constrained
from ..recipe import Recipe
from ..structure import Structure, build, ends
from ..terms import Baseline, Terms, make_terms
from .labeled_items import (
    InMemoryItems,
    LabeledDataset,
    LabeledItems,
    LargeMargin,
    LargeMarginProblem,
    TripletNeighbors,
    assembled,
    located_in,
)

__all__ = [
    "N_DRAWN",
    "LargeMarginResult",
    "LargeMarginPass",
    "learn",
    "learn_among",
    "program_of",
    "setting_of",
    "structure_of",
]

_MARGIN = 0.7  # of the mean distance to a target
_SHARE = 0.3  # of the even distance that directions have, beside raw features
_SHARE_COMBINED = 0.6  # that of components and discriminants together, which are more
N_DRAWN = 4_000  # pairs that tell the spread of a feature
_NEVER = 1e-3  # of the typical spread, for a feature that no drawn pair varies


class LargeMarginPass(NamedTuple):
    """One pass: comparisons, those that lack their margin, and the objective before and after."""

    n_triplets: int
    n_violated: int
    before: float
    after: float
    solution: Solution


class LargeMarginResult(NamedTuple):
    """The distance, the passes that led to it, and pairs of items and impostors and triplets of the last one."""

    semimetric: Semimetric
    passes: tuple[LargeMarginPass, ...]
    impostors: Integers
    triplets: Integers


def structure_of(recipe: Recipe, classes: LabeledDataset, schema: Schema) -> Structure:
    """Directions from the labels, then grid and embedding."""
    kind = recipe.directions
    if isinstance(kind, str) and kind in LABELLED:
        fitted = labelled_directions(
            kind, classes.items, classes.labels, usable=schema.usable, random_state=recipe.random_state, n_jobs=recipe.n_jobs
        )  # fmt: skip
        recipe = replace(recipe, directions=fitted)
    return build(recipe, classes.items, schema)


def learn(
    recipe: Recipe, rule: LargeMargin, structure: Structure, classes: LabeledDataset, start: Floats | None = None
) -> LargeMarginResult:
    """All passes; ``start`` are weights to begin from, such as those of a stronger penalty.

    Ctrl-C ends the passes: what was reached is returned, with the status INTERRUPTED in its last solution.
    """
    crowd = InMemoryItems(classes, located_in(structure, classes.items))
    d, passes, near = learn_among(recipe, rule, structure, crowd, start)
    return LargeMarginResult(d, passes, np.column_stack(near.found.impostors), near.found.triplets())


def learn_among(
    recipe: Recipe, rule: LargeMargin, structure: Structure, crowd: LabeledItems, start: Floats | None = None
) -> tuple[Semimetric, tuple[LargeMarginPass, ...], Any]:
    """`learn` of items wherever they are: the distance, the passes, and the neighbours of the last one."""
    setting, first = setting_of(recipe, rule, structure, crowd)
    weights, passes, near = _run(setting, crowd, start, first)
    counts = None
    if not isinstance(recipe.knots, str):
        counts = count_beyond(structure, crowd.example)
        warn_beyond(recipe, structure, counts, len(crowd.example))
    return assembled(setting, weights, crowd.example, counts), passes, near


def setting_of(
    recipe: Recipe, rule: LargeMargin, structure: Structure, crowd: LabeledItems
) -> tuple[LargeMarginProblem, TripletNeighbors]:
    """The setting, whose unit is the margin, and neighbours under the even distance, which has no unit."""
    if not structure.embedding.holds_tables:
        raise NotSupportedError("a group's table is too large to be held, as its neighbours' rows must; use fewer knots")
    places = rule.even == "places"
    measured = structure.over(recipe, structure.embedding.grid.places) if places else structure
    even = LargeMarginProblem(recipe, rule, structure, measured, _baseline(measured, _even(structure, measured, crowd, recipe)))
    first = crowd.neighbours(even, measured.embedding.prior(even.base.slopes))
    slopes = even.base.slopes / (_MARGIN * first.sums.mean_target)
    return replace(even, base=_baseline(measured, slopes)), first


def _baseline(structure: Structure, slopes: Floats) -> Baseline:
    """The prior, and spreads for which a weight's unit is its prior."""
    return Baseline(slopes, 1.0 / np.maximum(slopes * len(structure.embedding.groups), 1e-300))


def _even(structure: Structure, measured: Structure, crowd: LabeledItems, recipe: Recipe) -> Floats:
    """Slopes of the L1 distance to which all raw features contribute equally, and all directions; its mean is about 1."""
    drawn = crowd.drawn(N_DRAWN, recipe.random_state)
    features = structure.directions.append(drawn.items) if structure.directions else drawn.items
    if measured is not structure:
        features = structure.embedding.grid.place(features)
    alone, pairs = replace(measured, directions=None), replace(drawn, items=features)
    spread = spread_of(alone, ends(alone), pairs, np.full(N_DRAWN, 1.0 / N_DRAWN), recipe.n_jobs, least=_NEVER)
    raw = np.array([any(f < structure.n_raw for f in g) for g in structure.embedding.groups])
    share, theirs = np.zeros(len(spread)), _share(structure.directions)
    for members, part in ((raw, 1.0 if raw.all() else 1.0 - theirs), (~raw, 1.0 if not raw.any() else theirs)):
        groups = [g for g, member in zip(structure.embedding.groups, members, strict=True) if member]
        for f in {f for g in groups for f in g}:
            share[f] = max(share[f], part / len(groups))
    return share / spread


def _share(directions: Directions | None) -> float:
    """By their names: those that another fit combined are as good as those of this one."""
    kinds = {name.rstrip("0123456789") for name in directions.names} if directions else set()
    return _SHARE_COMBINED if kinds == {"nca", "discriminant"} else _SHARE


def _run(
    setting: LargeMarginProblem, crowd: LabeledItems, start: Floats | None, first: TripletNeighbors
) -> tuple[Floats, tuple[LargeMarginPass, ...], TripletNeighbors]:
    """The weights after all passes, the passes, and the neighbours of the last one; ``first`` are those of the prior."""
    terms = make_terms(setting.recipe, setting.measured, setting.base)
    weights = np.maximum(terms.columns.prior if start is None else start, terms.lower)
    passes: list[LargeMarginPass] = []
    for _ in range(setting.rule.n_passes):
        try:
            near = crowd.neighbours(setting, weights) if passes or start is not None else first
            program = constrained(setting.recipe, setting.structure, program_of(setting, near, terms), terms.unseen)
            solver, reason = choose(setting.recipe.solver, program)
            before = program.objective(weights)
            solution = solver.solve(program, start=weights, verbose=setting.recipe.verbose)
        except KeyboardInterrupt:
            if not passes:
                raise
            stopped = replace(passes[-1].solution, status=Status.INTERRUPTED)
            passes[-1] = passes[-1]._replace(solution=stopped)
            break
        weights = solution.weights
        if not setting.recipe.asks_rows:
            weights = terms.settled(weights, program.penalty, partial(_norms, program))
        solution = replace(solution, weights=weights, solver=f"{solution.solver} ({reason})")
        violated = int((program.design.matvec(weights) - program.y > 0).sum())
        passes.append(LargeMarginPass(len(program.y), violated, before, solution.objective, solution))
        if solution.status is Status.INTERRUPTED:
            break
    return weights, tuple(passes), near


def _norms(program: ConvexProgram) -> Floats:
    return program.design.absolute.rmatvec(program.sample_weight)


def program_of(setting: LargeMarginProblem, near: TripletNeighbors, terms: Terms) -> ConvexProgram:
    """The program of one pass."""
    recipe, rule, weight = setting.recipe, setting.rule, near.weight
    penalties = _penalties(recipe, setting.embedding)
    if rule.mu < 1.0:
        penalties = (*penalties, Linear((1.0 - rule.mu) / rule.mu * near.sums.mean_pull))
    loss, y = resolve_loss(recipe.loss, margins=True), -np.ones(len(weight))
    return ConvexProgram(near.design(), y, weight / weight.sum(), loss, penalties, terms.columns, terms.lower)


def _penalties(recipe: Recipe, embedding: PairMap) -> tuple[Penalty, ...]:
    """Those of the recipe; of scales "auto" is the ridge alone: even scales are no better for this purpose (measured)."""
    if recipe.penalty == "auto" and isinstance(embedding, WarpedEmbedding):
        return (Ridge(recipe.alpha),)
    return recipe.penalties(embedding)
