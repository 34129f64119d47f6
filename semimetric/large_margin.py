"""Large-margin nearest neighbours with the pair embedding (Weinberger & Saul 2009; paper 2, section 4; THEORY, section 3).

    min_w  mean_t s_t loss(1 + d_ij - d_il) + (1 - mu) / mu mean d_ij + penalty(w),      t = (i, j, l)

Targets j are the nearest items of the class of i, impostors l the nearest of other classes, both under the current distance;
they are found again in a few passes, and each pass is a convex program, warm from the one before. The margin 1 is a share of
the mean distance to a target under the even L1 distance, to which every feature contributes equally: units play no part.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ._errors import NotSupportedError
from ._types import Floats, Integers, Pairs, Triplets
from .assembly import distance
from .distance import Semimetric
from .embeddings.base import Items, PairMap
from .embeddings.directions import Directions
from .embeddings.labelled import LABELLED, labelled_directions
from .embeddings.warped import WarpedEmbedding
from .evidence import spread_of
from .fitting import Baseline, Terms, ends, make_terms
from .guarantees import constrained
from .neighbourhoods import Found, Neighbourhoods, search, search_index
from .programs.design import Design
from .programs.differences import DifferenceDesign
from .programs.losses import resolve_loss
from .programs.penalties import Linear, Penalty, Ridge
from .programs.program import ConvexProgram
from .programs.shared import SharedDesign, pair_rows
from .recipe import Recipe
from .schema import Schema
from .solvers.auto import choose
from .solvers.base import Solution, Status
from .task import Structure, Task, build

__all__ = ["Classes", "LargeMargin", "Learned", "Pass", "learn", "structure_of"]

_MARGIN = 0.7  # of the mean distance to a target
_SHARE = 0.3  # of the even distance that directions have, beside raw features
_MANY = 30_000  # items, beyond which all distances take longer than an index
_HELD = 1 << 28  # entries of pair rows held: 2 GiB
_DRAWN = 4_000  # pairs that tell the spread of a feature
_NEVER = 1e-3  # of the typical spread, for a feature that no drawn pair varies


@dataclass(frozen=True)
class LargeMargin:
    """What the program asks for.

    Parameters
    ----------
    n_targets, n_impostors : int
        Nearest items of the own class, and of other classes, for every item.
    mu : float in (0, 1]
        Weight of the push against the pull.
    n_passes : int
    """

    n_targets: int = 3
    n_impostors: int = 6
    mu: float = 1.0
    n_passes: int = 3


@dataclass(frozen=True, eq=False)
class Classes:
    """Items, their classes 0, 1, ... and weights that sum to 1."""

    items: Floats
    labels: Integers
    weight: Floats

    def take(self, rows: Integers) -> "Classes":
        """Some of the items."""
        return Classes(self.items[rows], self.labels[rows], self.weight[rows] / self.weight[rows].sum())


class Pass(NamedTuple):
    """One pass: comparisons, those that lack their margin, and the objective before and after."""

    n_triplets: int
    n_violated: int
    before: float
    after: float
    solution: Solution


class Learned(NamedTuple):
    """The distance, the passes that led to it, and pairs of items and impostors and triplets of the last one."""

    semimetric: Semimetric
    passes: tuple[Pass, ...]
    impostors: Integers
    triplets: Integers


def structure_of(recipe: Recipe, classes: Classes, schema: Schema) -> Structure:
    """Directions from the labels, then grid and embedding."""
    kind = recipe.directions
    if isinstance(kind, str) and kind in LABELLED:
        fitted = labelled_directions(
            kind, classes.items, classes.labels, usable=schema.usable, random_state=recipe.random_state, n_jobs=recipe.n_jobs
        )  # fmt: skip
        recipe = replace(recipe, directions=fitted)
    return build(recipe, classes.items, schema)


@dataclass(frozen=True, eq=False)
class _Setting:
    """All that the passes share."""

    recipe: Recipe
    rule: LargeMargin
    structure: Structure
    classes: Classes
    located: Items
    base: Baseline

    @property
    def embedding(self) -> PairMap:
        return self.structure.embedding


def learn(recipe: Recipe, rule: LargeMargin, structure: Structure, classes: Classes, start: Floats | None = None) -> Learned:
    """All passes; ``start`` are weights to begin from, such as those of a stronger penalty.

    Ctrl-C ends the passes: what was reached is returned, with the status INTERRUPTED in its last solution.
    """
    setting, first = _setting(recipe, rule, structure, classes)
    weights, passes, found = _run(setting, start, first)
    return Learned(_assembled(setting, weights), passes, np.column_stack(found.impostors), found.triplets())


def _setting(recipe: Recipe, rule: LargeMargin, structure: Structure, classes: Classes) -> tuple[_Setting, Found]:
    """The setting, whose unit is the margin, and neighbours under the even distance, which has no unit."""
    if not structure.embedding.holds_tables:
        raise NotSupportedError("a group's table is too large to be held, as its neighbours' rows must; use fewer knots")
    located = structure.embedding.locate(_features(structure.directions, classes.items))
    even = _Setting(recipe, rule, structure, classes, located, _baseline(structure, _even(structure, classes, recipe)))
    found = _found(even, structure.embedding.prior(even.base.slopes))
    slopes = even.base.slopes / (_MARGIN * _mean_target(found))
    return replace(even, base=_baseline(structure, slopes)), found


def _baseline(structure: Structure, slopes: Floats) -> Baseline:
    """The prior, and spreads for which a weight's unit is its prior."""
    return Baseline(slopes, 1.0 / np.maximum(slopes * len(structure.embedding.groups), 1e-300))


def _features(directions: Directions | None, items: Floats) -> Floats:
    return directions.append(items) if directions else items


def _even(structure: Structure, classes: Classes, recipe: Recipe) -> Floats:
    """Slopes of the L1 distance to which all raw features contribute equally, and all directions; its mean is about 1."""
    rng = np.random.default_rng(recipe.random_state)
    drawn = Pairs(classes.items, rng.integers(0, len(classes.items), (_DRAWN, 2)))
    spread = spread_of(structure, ends(structure), drawn, np.full(_DRAWN, 1.0 / _DRAWN), recipe.n_jobs, least=_NEVER)
    raw = np.array([any(f < structure.n_raw for f in g) for g in structure.embedding.groups])
    share = np.zeros(len(spread))
    for members, part in ((raw, 1.0 if raw.all() else 1.0 - _SHARE), (~raw, 1.0 if not raw.any() else _SHARE)):
        groups = [g for g, member in zip(structure.embedding.groups, members, strict=True) if member]
        for f in {f for g in groups for f in g}:
            share[f] = max(share[f], part / len(groups))
    return share / spread


def _mean_target(found: Found) -> float:
    """Over targets that differ from their item: identical items say nothing about scale."""
    distances = found.near_distances[found.near >= 0]
    apart = distances[distances > 0]
    return float(apart.mean()) if len(apart) else 1.0  # of random pairs


def _found(setting: _Setting, weights: Floats) -> Found:
    """Targets and impostors under the current weights; of many items, by the index of this package."""
    rule, classes = setting.rule, setting.classes
    if len(classes.labels) > _MANY:
        n_jobs = setting.recipe.n_jobs
        return search_index(
            _assembled(setting, weights), classes.items, classes.labels, rule.n_targets, rule.n_impostors, n_jobs
        )  # fmt: skip
    hoods = Neighbourhoods(setting.embedding, setting.located, setting.classes.labels, setting.recipe.n_jobs)
    return search(hoods, weights, setting.rule.n_targets, setting.rule.n_impostors)


def _run(setting: _Setting, start: Floats | None, first: Found) -> tuple[Floats, tuple[Pass, ...], Found]:
    """The weights after all passes, the passes, and the neighbours of the last one; ``first`` are those of the prior."""
    terms = make_terms(setting.recipe, setting.structure, setting.base)
    weights = np.maximum(terms.columns.prior if start is None else start, terms.lower)
    passes: list[Pass] = []
    for _ in range(setting.rule.n_passes):
        try:
            found = _found(setting, weights) if passes or start is not None else first
            program = constrained(setting.recipe, setting.structure, _program(setting, found, terms), terms.unseen)
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
        passes.append(Pass(len(program.y), violated, before, solution.objective, solution))
        if solution.status is Status.INTERRUPTED:
            break
    return weights, tuple(passes), found


def _norms(program: ConvexProgram) -> Floats:
    return program.design.absolute.rmatvec(program.sample_weight)


def _program(setting: _Setting, found: Found, terms: Terms) -> ConvexProgram:
    recipe, rule = setting.recipe, setting.rule
    triplets = found.triplets()
    anchor = setting.classes.weight[triplets[:, 0]]
    weight = anchor / anchor.sum()
    design = _design(setting, found, triplets)
    penalties = _penalties(recipe, setting.embedding)
    if rule.mu < 1.0:
        penalties = (*penalties, Linear((1.0 - rule.mu) / rule.mu * _pull(setting, found)))
    loss = resolve_loss(recipe.loss, margins=True)
    return ConvexProgram(design, -np.ones(len(triplets)), weight, loss, penalties, terms.columns, terms.lower)


def _penalties(recipe: Recipe, embedding: PairMap) -> tuple[Penalty, ...]:
    """Those of the recipe; of scales "auto" is the ridge alone: even scales are no better for this purpose (measured)."""
    if recipe.penalty == "auto" and isinstance(embedding, WarpedEmbedding):
        return (Ridge(recipe.alpha),)
    return recipe.penalties(embedding)


def _design(setting: _Setting, found: Found, triplets: Integers) -> Design:
    left, right = found.pairs
    if len(left) * setting.embedding.n_columns > _HELD:
        of = Triplets(setting.classes.items, triplets)
        return DifferenceDesign.of(setting.embedding, of, setting.structure.directions, setting.recipe.n_jobs)
    pairs = pair_rows(setting.embedding, setting.located, left, right)
    return SharedDesign.of_triplets(pairs, *found.rows(), setting.recipe.n_jobs)


def _pull(setting: _Setting, found: Found) -> Floats:
    """Weighted mean of the rows of the target pairs."""
    i, j = np.nonzero(found.near >= 0)
    rows = pair_rows(setting.embedding, setting.located, i, found.near[i, j])
    weight = setting.classes.weight[i]
    return np.asarray(rows.T @ (weight / weight.sum()))


def _assembled(setting: _Setting, weights: Floats) -> Semimetric:
    """The distance in units of the margin."""
    terms = make_terms(setting.recipe, setting.structure, setting.base)
    pairs = Pairs(setting.classes.items, np.array([[0, 0]], dtype=np.int64))
    task = Task(pairs, np.zeros(1), np.ones(1), None, 1.0, None)
    return distance(setting.recipe, setting.structure, task, weights, terms.delta)
