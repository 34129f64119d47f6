"""Learning from comparisons: pairs labeled alike or not, triplets, quadruplets (docs/mathematics.md, section 3).

    min_w  sum_i s_i loss(r_i) + penalty(w),    r = 1 + y (d - b) of pairs,   r = 1 + d_near - d_far of triplets

There are no targets, so the unit is the margin, 1. The prior takes two steps: the uniform L1 distance, to which all features
contribute equally, at its best scale; then the weighted L1 distance, by the same loss with a ridge towards the uniform one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError, TooFewError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, Integers
from ...data.schema import Names, Schema
from ...data.splits import item_disjoint_splits
from ..features.discriminants import combinable, discriminants
from ..model.semimetric import Semimetric
from ..programs.design_matrix import Design, MatrixDesign
from ..programs.losses import SquaredHinge, resolve_loss
from ..programs.penalties import Penalty, PenaltyColumns, Ridge
from ..programs.program import ConvexProgram
from ..solvers.newton import Newton
from .assembly import assemble
from .comparisons import ComparisonBlock, ComparisonData
from .options import BESIDE, COMPARISONS, Recipe, SearchCost
from .prior import L1Prior, keeps_all_vertices, with_vertices
from .program import BuiltProgram, Learned, Terms, columns_of, determined, held, make_terms, solve
from .search import (
    Candidate,
    Choices,
    FittedModel,
    HeldOutData,
    Trial,
    compare,
    default_unless_better,
    n_fits,
    n_losses,
    one_standard_error,
    with_defaults,
)
from .structure import Structure, build_structure, l1_embedding

_SCALE_RIDGE, _SLOPE_RIDGE = 1e-3, 1e-2
_LEAST = 1e-2  # times the uniform distance is the least slope of the prior, which is never 0


class ComparisonPrior(NamedTuple):
    """The weighted L1 distance that the comparisons ask for, and the values of the columns that follow the embedding's."""

    l1: L1Prior
    extra: Floats


def with_discriminants(recipe: Recipe, data: ComparisonBlock, names: Names) -> Recipe:
    """The recipe with ``directions="discriminant"`` fitted to the comparisons; they combine features of numbers."""
    if not (isinstance(recipe.directions, str) and recipe.directions == "discriminant"):
        return recipe
    (near, near_weight), (far, far_weight) = data.near, data.far
    usable = Schema.of(names).usable
    found = discriminants(near, far, near_weight, far_weight, usable=usable)
    return replace(recipe, directions=found)


def fit_comparison_prior(recipe: Recipe, structure: Structure, data: ComparisonData) -> ComparisonPrior:
    """The uniform L1 distance at its best scale, then the weighted L1 distance by the squared hinge, with a ridge to it.

    Of a recipe with a given distance it is that one, at its best scale.
    """
    embedding, k, n_jobs = l1_embedding(structure), data.n_extra, recipe.n_jobs
    spread = data.spread(structure, n_jobs)
    even = L1Prior(1.0 / (spread * len(structure.embedding.groups)), spread, recipe.prior)
    if recipe.prior is not None:
        embedding = structure.embedding
    design = data.design(structure, embedding, n_jobs)
    weights = embedding.prior(even.slopes) if recipe.prior is None else even.weights(structure)
    columns = [design.matvec(np.append(weights, np.zeros(k)))]
    columns += [design.matvec(e) for e in np.eye(design.shape[1])[embedding.n_columns :]]
    if not np.any(columns[0]):
        raise InputError(f"every one of the {len(data.weight)} tuples compares equal points; give tuples that differ")
    unit = np.ones(1)
    one = PenaltyColumns(1 + k, unit, unit, unit, unit, unit, differences=lambda kind: sparse.csr_array((0, 1)))
    matrix = MatrixDesign(sparse.csr_array(np.column_stack(columns)))
    scaled = _by_squared_hinge(matrix, data, (Ridge(_SCALE_RIDGE),), one, np.append(_LEAST, np.zeros(k)), np.ones(1 + k))
    if recipe.prior is not None:
        return ComparisonPrior(replace(even, slopes=scaled[0] * even.slopes, multiple=float(scaled[0])), scaled[1:])
    start = np.append(scaled[0] * weights, scaled[1:])
    terms = columns_of(embedding, L1Prior(scaled[0] * even.slopes, spread), k)
    lower = np.append(_LEAST * scaled[0] * weights, np.zeros(k))
    found = _by_squared_hinge(design, data, (Ridge(_SLOPE_RIDGE),), terms, lower, start)
    grid = structure.embedding.grid
    slopes = np.zeros(grid.n_features)
    slopes[grid.varies] = found[: embedding.n_columns] / grid.widths[grid.varies]
    return ComparisonPrior(L1Prior(slopes, spread), found[embedding.n_columns :])


def _by_squared_hinge(
    design: Design, data: ComparisonData, penalties: tuple[Penalty, ...], columns: PenaltyColumns, lower: Floats, start: Floats
) -> Floats:
    """The weights that minimise the squared hinge with some penalties, shape (n,); Ctrl-C raises KeyboardInterrupt."""
    target = -np.ones(len(data.weight))
    program = ConvexProgram(design, target, data.weight, SquaredHinge(), penalties, columns, lower)
    return Newton(tol=1e-6, certify=False).solve(program, start=start).raise_if_interrupted().weights


def with_touched_vertices(structure: Structure, data: ComparisonData, prior: ComparisonPrior) -> Structure:
    """The structure with columns only at vertices that the pairs touch, where tables are large."""
    if keeps_all_vertices(structure):
        return structure
    return with_vertices(structure, data.vertices(structure), prior.l1)


def comparison_program(
    recipe: Recipe, structure: Structure, data: ComparisonData, prior: ComparisonPrior
) -> tuple[ConvexProgram, Terms, Floats]:
    """The program over the columns of ``structure``, its terms, and the prior as weights to begin from."""
    terms = make_terms(recipe, structure, prior.l1).followed_by(data.n_extra)
    design = data.design(structure, structure.embedding, recipe.n_jobs)
    target, loss = -np.ones(len(data.weight)), resolve_loss(recipe.loss, margins=True)
    penalties = recipe.penalties(structure.embedding)
    program = ConvexProgram(design, target, data.weight, loss, penalties, terms.columns, terms.lower)
    return program, terms, np.append(terms.columns.prior, prior.extra)


def fit_comparisons(recipe: Recipe, data: ComparisonData, names: Names) -> tuple[Learned, Floats]:
    """Learn from comparisons by a recipe whose directions are fitted already, see `with_discriminants`.

    ``extra``: shape (n_extra,); the values of the columns that follow those of the tables.
    """
    structure = build_structure(recipe, data.items, names)
    prior = fit_comparison_prior(recipe, structure, data)
    if not recipe.needs_inequalities:
        structure = with_touched_vertices(structure, data, prior)
    program, terms, start = comparison_program(recipe, structure, data, prior)

    def norms() -> Floats:
        return data.norms(structure, recipe.n_jobs)

    solution, program = solve(recipe, structure, terms, program, norms=norms, start=start)
    out_of_range = None if isinstance(recipe.knots, str) else data.out_of_range(recipe, structure)
    n, examples = structure.embedding.n_columns, data.examples

    def distance(weights: Floats) -> Semimetric:
        weights = determined(terms, program, weights, norms)[:n]
        return assemble(recipe, structure, weights, terms.delta, examples=examples, out_of_range=out_of_range)

    learned = Learned(distance(solution.weights), solution, held(BuiltProgram(program, distance)))
    return learned, solution.weights[n:]


_DIRECTIONS = (None, "discriminant")
_HELD_OUT = {2: 0.3, 3: 0.4, 4: 0.5}  # fraction of the items, by the size of a tuple: a tuple counts if all its items are out
# where nothing can be held out: a weighted L1 distance
_FOR_FEW = {"tables": "warped", "directions": None, "n_knots": 2, "alpha": 1e-2}
_MEASURE = "held-out error"


class HeldOutComparisons(HeldOutData[ComparisonBlock]):
    """Comparisons, in folds that share no item; the losses are their errors.

    ``names``: the schema of the table, or the names of numeric features.
    """

    def __init__(self, data: ComparisonBlock, names: Names) -> None:
        self.data, self.names, self.schema = data, names, Schema.of(names)
        self._fitted_directions: dict[tuple[int, str], Recipe] = {}

    @property
    def items(self) -> Floats:
        """The items of all tuples, shape (n_items, n_features)."""
        return self.data.items

    def folds(self, recipe: Recipe) -> list[tuple[ComparisonBlock, ComparisonBlock]]:
        """Return tuples to fit to and to score on; pairs of both labels are on either side."""
        share = _HELD_OUT[self.data.tuples.size]
        limits = COMPARISONS[recipe.effort]
        splits = item_disjoint_splits(self.data.tuples, n_splits=None, random_state=recipe.random_state, held_out=share)
        rng = np.random.default_rng(recipe.random_state)
        usable: list[tuple[ComparisonBlock, ComparisonBlock]] = []
        for sides in splits:
            part, held = (self.data.take(_sample(side, rng, limits.n_rows)) for side in sides)
            if part.decides and held.decides:
                usable.append((part, held))
            if len(usable) == limits.n_folds:
                break
        if len(usable) < 2:
            kind = self.data.tuples.name
            raise TooFewError(
                f"{len(self.data.weight)} {kind} are too few to hold some of both classes out on items of their own; give more "
                f'{kind}, or numbers instead of "auto"'
            )
        return usable

    def all_data(self, recipe: Recipe) -> ComparisonBlock:
        """All comparisons; each fold takes a sample of its own, if they are many."""
        return self.data

    def losses(self, trial: Trial, part: ComparisonBlock, held: ComparisonBlock) -> list[float] | None:
        """Errors along the strengths, strong to weak, each fit warm from the one before."""
        recipe = self._with_directions(trial.recipe, part)
        structure = build_structure(recipe, self.items, self.names)
        if structure.embedding.n_columns > COMPARISONS[trial.recipe.effort].n_columns[trial.recipe.tables]:
            return None
        data = ComparisonData.of(part)
        prior = fit_comparison_prior(recipe, structure, data)
        errors, start = [0.0] * len(trial.alphas), None
        for k, alpha in sorted(enumerate(trial.alphas), key=lambda numbered: -numbered[1]):
            program, _, first = comparison_program(replace(recipe, alpha=alpha), structure, data, prior)
            solution = Newton(tol=1e-4, certify=False).solve(program, start=first if start is None else start)
            start = solution.raise_if_interrupted().weights
            errors[k] = held.error(structure, start[: structure.embedding.n_columns])
        return errors

    def fitted(
        self, recipe: Recipe, part: ComparisonBlock, held: ComparisonBlock | None = None, near: FittedModel | None = None
    ) -> FittedModel:
        """Fit the model of one recipe, and score it by its error."""
        recipe = with_discriminants(replace(recipe, loss=SquaredHinge()), part, self.names)
        structure = build_structure(recipe, self.items, self.names)
        data = ComparisonData.of(part)
        prior = fit_comparison_prior(recipe, structure, data)
        structure = with_touched_vertices(structure, data, prior)
        program, _, start = comparison_program(recipe, structure, data, prior)
        if near is not None and len(near.weights) == len(start):
            start = near.weights
        weights = Newton(tol=1e-3, certify=False).solve(program, start=start).raise_if_interrupted().weights
        error = np.nan if held is None else held.error(structure, weights[: structure.embedding.n_columns])
        return FittedModel(part, structure, weights, error)

    def _with_directions(self, recipe: Recipe, part: ComparisonBlock) -> Recipe:
        """The recipe with directions fitted to a part, once for all numbers of knots."""
        trial = replace(recipe, loss=SquaredHinge(), verbose=False)
        if not isinstance(recipe.directions, str):
            return trial
        key = id(part), recipe.directions
        if key not in self._fitted_directions:
            self._fitted_directions[key] = with_discriminants(trial, part, self.names)
        return replace(trial, directions=self._fitted_directions[key].directions)


def choose_settings(
    recipe: Recipe, data: ComparisonBlock, names: Names, *, directions: bool, knots: bool, alpha: bool, tables: bool = False
) -> tuple[Recipe, Choices]:
    """Choose the kind of tables, directions, numbers of knots and the strength of the penalty.

    ``directions``, ``knots``, ``alpha``, ``tables``: whether each is to be chosen; else that of the recipe stands. Tables are
    chosen where a number could have a scale. ``choices``: what was compared.
    """
    alpha, knots = alpha and isinstance(recipe.penalty, str), knots and isinstance(recipe.knots, str)
    schema = Schema.of(names)
    numbers = combinable(data.items, schema.usable)
    tables = tables and bool(schema.usable.any())
    directions = directions and isinstance(recipe.knots, str) and not recipe.asks_of_features
    directions = directions and numbers.sum() > 1  # one feature has nothing to be combined with
    if not (directions or knots or alpha or tables):
        return recipe, Choices(measure=_MEASURE)
    chosen = {"directions": directions, "knots": knots, "alpha": alpha, "tables": tables}
    try:
        found = compare(HeldOutComparisons(data, names), _trials(recipe, **chosen), verbose=recipe.verbose)
    except TooFewError as error:
        given = {"tables": tables, "directions": directions, "n_knots": knots, "alpha": alpha}
        return with_defaults(recipe, error, {name: _FOR_FEW[name] for name, auto in given.items() if auto}), Choices(
            measure=_MEASURE
        )
    limits = COMPARISONS[recipe.effort]
    if not found:
        most = limits.n_columns[recipe.tables]
        raise InputError(f"every candidate has more than {most} weights; set n_knots=, alpha= and directions=")
    thorough = n_fits(_trials(replace(recipe, effort="thorough"), **chosen), COMPARISONS["thorough"].n_folds)
    n_rows = len(data.weight)
    cost = SearchCost(data.tuples.name, min(n_rows, limits.n_rows), n_rows, n_losses(found), thorough)
    choices = Choices(found, _MEASURE, scales_unless_tables_are_better if tables else simplest_with_discriminants, cost=cost)
    best = choices.chosen.settings
    taken = ("n_knots", "alpha", "tables", "directions") if directions else ("n_knots", "alpha", "tables")
    return replace(recipe, **{name: best[name] for name in taken}), choices


def _trials(recipe: Recipe, *, directions: bool, knots: bool, alpha: bool, tables: bool = False) -> list[Trial]:
    """Return trials with and without directions, for all numbers of knots and strengths, then full tables without."""
    limits = COMPARISONS[recipe.effort]

    def trials(recipe: Recipe, kind: str, directions: Sequence[Any]) -> list[Trial]:
        sizes = limits.n_knots[kind] if knots else (recipe.n_knots,)
        alphas = limits.alphas[kind] if alpha else (recipe.alpha,)
        return [Trial(replace(recipe, directions=d, n_knots=n), alphas) for d in directions for n in sizes]

    found = trials(recipe, recipe.tables, _DIRECTIONS if directions else (recipe.directions,))
    if tables:
        found += trials(replace(recipe, tables="full"), BESIDE, (None if directions else recipe.directions,))
    return found


@storable
def scales_unless_tables_are_better(candidates: Sequence[Candidate]) -> Candidate:
    """The simplest setting of scales, unless full tables are better by more than one standard error."""
    scales = [c for c in candidates if c.settings["tables"] != "full"]
    tables = [c for c in candidates if c.settings["tables"] == "full"]
    return simplest_with_discriminants(default_unless_better(scales, tables))


@storable
def simplest_with_discriminants(candidates: Sequence[Candidate]) -> Candidate:
    """The simplest setting with directions, unless raw features alone are better by more than one standard error."""
    raw = [c for c in candidates if c.settings["directions"] is None]
    directed = [c for c in candidates if c.settings["directions"] is not None]
    return one_standard_error(default_unless_better(directed, raw))


def _sample(rows: Integers, rng: np.random.Generator, most: int) -> Integers:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
