"""Learning a distance from pairs with measured distances: by second moments of all pairs, or by products with their rows.

structure -> column sums (prior, touched vertices) -> terms -> program -> weights -> distance
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..._foundation.errors import InputError, SemimetricWarning, TooFewError, silent, warn
from ..._foundation.progress import announce
from ..._foundation.stored import storable
from ..._foundation.types import Floats, Integers, Pairs
from ...data.columns import are_histograms
from ...data.feature_groups import AutoGroups, automatic, only_singles, resolve_groups
from ...data.schema import Names, Schema
from ...data.splits import item_disjoint_splits
from ..features.histograms import layouts
from ..model.divergences import DIVERGENCES, DivergenceMatch, closest_divergence
from ..model.links import PowerLink, checked_link, link_function
from ..model.semimetric import Semimetric
from ..programs.losses import resolve_loss
from ..programs.penalties import total
from ..programs.program import ConvexProgram
from .assembly import assemble
from .groups import choose_groups, joint_columns, without_joint
from .measured import MeasuredDistances, PairTargets, ScaledDistances, sampled_rows
from .options import DISTANCES, EFFORTS, PowerSum, Recipe, SearchCost, distance_limits, is_chosen, wide
from .power_sum import NEARLY_EXACT, error_units, nearest_power_sum, with_new_factors
from .prior import L1Prior, fit_l1_prior, keeps_all_vertices, least_squares, vertices_of_pairs, with_vertices
from .program import BuiltProgram, Learned, determined, held, make_terms, solve
from .search import (
    Candidate,
    Choices,
    FittedModel,
    HeldOutData,
    Trial,
    as_good_as_best,
    best_of,
    compare,
    n_fits,
    n_losses,
    with_defaults,
)
from .structure import Structure, build_structure, may_pool


def learn(recipe: Recipe, data: MeasuredDistances, names: Names) -> Learned:
    """Learn with everything chosen: `fit_distances`, and the structure before it."""
    structure = build_structure(recipe, data.items, names)
    return fit_distances(recipe, structure, data.scaled(recipe, structure))


def fit_distances(recipe: Recipe, structure: Structure, data: ScaledDistances) -> Learned:
    """Learn the weights of a structure; the distance, and solution and program in units of the mean target."""
    sums = data.sums(recipe, structure)
    if sums is not None:
        return sums.solve(recipe)
    structure, prior, column_sums = data.columns(recipe, structure)
    terms = make_terms(recipe, structure, prior)
    design, target, weight = data.rows(recipe, structure)
    loss, penalties = resolve_loss(recipe.loss), recipe.penalties(structure.embedding)
    program = ConvexProgram(design, target, weight, loss, penalties, terms.columns, terms.lower)

    def norms() -> Floats:
        return design.rmatvec(weight)

    solution, program = solve(recipe, structure, terms, program, norms=norms, unit=data.unit, note=data.note)
    examples, unit, out_of_range = column_sums.examples, data.unit, column_sums.out_of_range  # and not all of the data

    def distance(weights: Floats) -> Semimetric:
        weights = determined(terms, program, weights, norms)
        return assemble(recipe, structure, weights, terms.delta, examples=examples, unit=unit, out_of_range=out_of_range)

    return Learned(distance(solution.weights), solution, held(BuiltProgram(program, distance)))


_IS_NAMED, _BETTER = 0.01, 0.1  # the relative error of a divergence that the distances are, alone and beside the learned one
_EXACT = 3e-4  # the relative error from which a learned distance is as good as exact
_COMPARED = 2_000  # pairs


def named_divergence(recipe: Recipe, d: Semimetric, data: MeasuredDistances) -> tuple[DivergenceMatch, float] | None:
    """Return the divergence with a name that distances in memory are, and the error of the learned one, which is far larger.

    None is returned if there is none, if it could not be given, or if the learned distance is as good.
    """
    if len(recipe.base_distances) or not d.schema.plain:
        return None
    data = data.sampled(_COMPARED, recipe.random_state)
    pairs = data.pairs
    match = closest_divergence(pairs.items[pairs.left], pairs.items[pairs.right], data.y)
    if match is None or match.error > _IS_NAMED:
        return None
    if recipe.asks_triangle and match.exponent > DIVERGENCES[match.name].metric_power:  # it would be refused
        return None
    apart = data.y > 0.0
    learned = d.paired_by_index(pairs.items, pairs.index[apart], n_jobs=recipe.n_jobs)
    error = float(np.median(np.abs(learned / data.y[apart] - 1.0)))
    return None if error < _EXACT or match.error > _BETTER * error else (match, error)


def warn_of_divergence(recipe: Recipe, d: Semimetric, data: MeasuredDistances) -> None:
    """Warn where distances in memory agree with a divergence that has a name, and the learned one is only near to them."""
    named = named_divergence(recipe, d, data)
    if named is None:
        return
    match, error = named
    power, option = "", ""
    if match.exponent != 1.0:
        power, option = f" to the power {match.exponent:g}", f", base_exponents={match.exponent:g}"
    warn(
        f"the distances of {match.n_pairs} pairs agree with {match.factor:.4g} times {match.name!r}{power} up to a median "
        f"error of {100 * match.error:.2g} %, and with the learned distance up to {100 * error:.2g} %. Give "
        f"Tables(base_distances=[{match.name!r}]{option}), unless the distance is to be exported, or searched by compiled code"
    )


_FEW_COLUMNS = 600  # weights are always compared: they cost little
_SLOW_COLUMNS = 2_500  # weights, of which all fits may take minutes
_GAIN_OF_KNOTS = (
    0.95  # times the loss of the number of knots before: more weights than these are compared only after such a fall
)
_FAR_STRENGTH = 1.5  # times the least loss of every other strength with the knots before: one beyond is not tried with more
# where nothing can be held out; with alpha=1e-2 little but a weighted L1 distance
_FEW_KNOTS = {"full": 3, "warped": 2, "shared": 3}


def relative_error(held: PairTargets, sums: Floats, mean: float) -> float:
    """The mean of ``|d - y|`` in `error_units` of y over pairs, in the unit of ``held``.

    ``sums``: the learned sums, shape (n_pairs,). ``mean``: the mean distance.
    """
    link = link_function("identity") if held.link is None else held.link
    distances = link.apply(np.maximum(sums, 0.0) * held.unit)
    return float(held.weight @ (np.abs(distances - held.y) / error_units(held.y, mean)))


_NEAREST = 0.1  # of the pairs


def error_and_disorder(held: PairTargets, sums: Floats, mean: float) -> float:
    """The `relative_error`, plus the fraction of two unlike distances of the nearest tenth that are in the wrong order."""
    near = held.y <= np.quantile(held.y, _NEAREST)
    signs, found = (np.sign(values[:, None] - values) for values in (held.y[near], sums[near]))
    wrong = (1.0 - signs * found)[signs != 0.0] / 2.0  # of equal sums a half
    return relative_error(held, sums, mean) + (float(wrong.mean()) if len(wrong) else 0.0)


class HeldOutDistances(HeldOutData[PairTargets]):
    """Pairs with measured distances, in folds that share no item.

    ``names``: the schema of the table, or the names of numeric features. ``knots``: whether numbers of knots are compared:
    all but the fewest are then left out where they make more than twice as many weights as a fold has pairs. More weights
    than that gain nothing and take most of the time. `worthwhile` leaves out what else would take long for little. ``links``:
    whether links are compared, which have their own targets, by ``error``, that of distances, in place of the loss.
    """

    def __init__(
        self, data: MeasuredDistances, names: Names, *,
        knots: bool = False, links: bool = False, error: Callable[[PairTargets, Floats, float], float] = relative_error,
    ) -> None:  # fmt: skip
        self.data, self.names, self.schema, self.knots, self.links = data, names, Schema.of(names), knots, links
        self.error = error
        self._built: tuple[Recipe, Structure] | None = None

    @property
    def items(self) -> Floats:
        """The items of all pairs, shape (n_items, n_features)."""
        return self.data.items

    def folds(self, recipe: Recipe) -> list[tuple[PairTargets, PairTargets]]:
        """Return pairs to fit to and to score on; of many pairs, from a sample."""
        sample = self.data.pairs.take(_sampled_rows(self.data.pairs, recipe))
        n_splits = distance_limits(recipe.effort).n_folds
        splits = list(item_disjoint_splits(sample, n_splits=n_splits, random_state=recipe.random_state))
        targets = self.all_data(recipe)
        return [(targets.take(train), targets.take(test)) for train, test in splits]

    def all_data(self, recipe: Recipe) -> PairTargets:
        """The pairs that the folds divide: all, or a sample of many."""
        return self.data.targets(recipe, self._structure(recipe)).take(_sampled_rows(self.data.pairs, recipe))

    def losses(self, trial: Trial, part: PairTargets, held: PairTargets) -> list[float] | None:
        """The loss of the recipe on held-out pairs, in units of the mean target; with ``links`` their ``error``."""
        if isinstance(trial.recipe.factors, PowerSum):
            own = with_new_factors(trial.recipe, part.tuples, part.y, part.weight, self.items)
            trial = trial._replace(recipe=own)
        if self.links:
            part = part.relinked(trial.recipe)
            held = replace(held.relinked(trial.recipe, part.unit), scale=None)
            mean = float(part.weight @ part.y)
        else:
            part, held = (side.under(trial.recipe) for side in (part, held))  # folds have the link of the first trial
        structure, prior = self._columns(trial.recipe, part)
        if structure.embedding.n_columns > self.most_columns(trial.recipe, len(part.targets)):
            return None
        loss, n = resolve_loss(trial.recipe.loss), structure.embedding.n_columns
        found = _weights_along(trial, structure, prior, part)
        expanded, of_tables = structure.embedding.expanded(found[:, :n])
        design, losses = held.design(structure, expanded, trial.recipe.n_jobs), []
        for weights in np.hstack([of_tables, found[:, n:]]):
            sums = design.matvec(weights)
            losses.append(self.error(held, sums, mean) if self.links else loss.value(held.errors(sums), held.weight))
        return losses

    def worthwhile(self, trial: Trial, found: Sequence[Candidate]) -> Trial | None:
        """Return a trial of many weights with every other strength; None where the knots before it have gained little.

        The time of a fit grows with the cube of its weights. Where more knots pay, they have paid from the first ones on. Of
        joint tables three numbers are tried, as 3 and 4 knots may err alike on what is symmetric. Every other strength is left
        out that was far from the best with the knots before. Links are compared at the middle one.
        """
        if not (self.knots or self.links) or not self.is_wide(trial.recipe):
            return trial
        if self.links:
            middle = len(trial.alphas) // 2
            return trial._replace(alphas=trial.alphas[middle : middle + 1])
        *before, last = _losses_by_knots(trial, found) or [{}]
        n_before = 1 if only_singles(trial.recipe.groups) else 2
        if len(before) >= n_before and min(last.values()) > _GAIN_OF_KNOTS * min(min(losses.values()) for losses in before):
            return None
        alphas = trial.alphas[::2]
        least = min(last.get(alpha, np.inf) for alpha in alphas)
        near = [alpha for alpha in alphas if last.get(alpha, np.inf) <= _FAR_STRENGTH * least]
        return trial._replace(alphas=near or alphas)

    def is_wide(self, recipe: Recipe) -> bool:
        """Return True if a recipe has so many weights that each fit takes long."""
        return self.n_columns(recipe) > _FEW_COLUMNS

    def n_columns(self, recipe: Recipe) -> int:
        """Return the number of weights of a recipe."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
            return self._structure(recipe).embedding.n_columns

    def most_columns(self, recipe: Recipe, n_pairs: int) -> int:
        """Return the most weights with which a recipe is compared on so many pairs."""
        limits = distance_limits(recipe.effort)
        most = limits.n_columns[recipe.tables]
        if not self.knots or not isinstance(recipe.n_knots, int) or recipe.n_knots <= limits.n_knots[recipe.tables][0]:
            return most
        return min(most, max(_FEW_COLUMNS, 2 * n_pairs))

    def fitted(
        self, recipe: Recipe, part: PairTargets, held: PairTargets | None = None, near: FittedModel | None = None
    ) -> FittedModel:
        """Fit the model by least squares, and score it by the loss of the recipe."""
        structure, prior = self._columns(recipe, part)
        start = None if near is None or len(near.weights) != structure.embedding.n_columns else near.weights
        (weights,) = _weights_along(Trial(recipe, (recipe.alpha,)), structure, prior, part, start)
        if held is None:
            return FittedModel(part, structure, weights, np.nan)
        residuals = FittedModel(held, structure, weights, np.nan).residuals
        return FittedModel(part, structure, weights, resolve_loss(recipe.loss).value(residuals, held.weight))

    def _columns(self, recipe: Recipe, part: PairTargets) -> tuple[Structure, L1Prior]:
        """The structure with the columns that a part touches, and the prior of the part."""
        structure = self._structure(recipe)
        prior = part.prior(recipe, structure, fit_l1_prior(structure, part.l1_moments(structure, recipe.n_jobs)))
        if keeps_all_vertices(structure):
            return structure, prior
        return with_vertices(structure, vertices_of_pairs(structure, part.tuples), prior), prior

    def _structure(self, recipe: Recipe) -> Structure:
        """The structure over all items, kept until another recipe is given."""
        if self._built is None or self._built[0] is not recipe:
            self._built = recipe, build_structure(recipe, self.items, self.names)
        return self._built[1]


def _losses_by_knots(trial: Trial, found: Sequence[Candidate]) -> list[dict[float, float]]:
    """For each number of knots, in the order of ``found``, the loss at every strength, of candidates that are else the same."""
    losses: dict[Any, dict[float, float]] = {}

    def form(settings: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in settings.items() if name not in ("n_knots", "alpha")}

    for candidate in found:
        if form(candidate.settings) == form(trial.settings(0.0)):
            losses.setdefault(candidate.settings["n_knots"], {})[candidate.settings["alpha"]] = candidate.loss
    return list(losses.values())


class Chosen(NamedTuple):
    """A recipe with everything "auto" decided, and what was compared for it."""

    recipe: Recipe
    numbers: Choices
    links: Choices = Choices()
    groups: Choices = Choices()
    tables: Choices = Choices()

    @property
    def has_layout(self) -> bool:
        """True if directions were chosen, which are sums over bins of histograms; nothing else is chosen then."""
        return self.tables.rule is second_if_it_gains_clearly

    @property
    def no_news(self) -> tuple[str, ...]:
        """The causes of warnings that say nothing to the user: bins with a layout may be empty in all histograms."""
        return ("constant features",) if self.has_layout else ()


def choose(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> Chosen:
    """Choose what is "auto": link and exponents, then numbers of knots and the strength of the penalty, tables, then groups.

    With ``tables="auto"`` sums over bins of histograms are tried, and joint tables of few features. Where sums over bins gain,
    they are the directions of the recipe, and nothing else is chosen.

    ``knots`` and ``alpha`` are True if they are to be chosen.
    """
    seed = recipe.random_state
    if seed is None:  # all is compared on the same folds
        recipe = replace(recipe, random_state=int(np.random.default_rng().integers(1 << 31)))
    singles = without_joint(recipe)
    if recipe.tables == "auto" and _compares_tables(recipe, data, names):
        found = _choose_tables(singles, data, names, knots=knots, alpha=alpha)
    else:
        singles = replace(singles, tables="full") if recipe.tables == "auto" else singles
        linked = _with_link(singles, data, names, _power_sum(singles, data), knots=knots, alpha=alpha)
        of_bins = None
        if recipe.tables == "auto" and knots and may_have_layout(recipe, data, names):
            of_bins = sums_over_bins(recipe, data, _first_error(linked.recipe, data, names, knots, alpha), alpha=alpha)
        found = of_bins or _with_numbers(linked, data, names, knots=knots, alpha=alpha)
    if recipe.tables == "auto" and found.numbers and knots and _is_inexact(found, recipe, data, names):
        found = _or_joint(found, recipe, data, names, alpha=alpha)
    if automatic(recipe.groups):
        decided, groups = choose_groups(recipe.groups, found.recipe, HeldOutDistances(data, names), knots=knots)
        found = found._replace(recipe=decided, groups=groups)
    return found._replace(recipe=replace(with_factors_of(data, found.recipe), random_state=seed))


def with_factors_of(data: MeasuredDistances, recipe: Recipe) -> Recipe:
    """Return a recipe whose factors, if they were found, are those of all of these data, which are in memory."""
    if not isinstance(recipe.factors, PowerSum) or data.tuples.in_memory is None:
        return recipe
    return with_new_factors(recipe, data.pairs, data.y, data.weight, data.items)


def _with_link(
    recipe: Recipe, data: MeasuredDistances, names: Names, power: PowerSum | None, *, knots: bool, alpha: bool
) -> Chosen:
    """Choose link and exponents, or take the nearest sum of powers, with its factors, where it is nearer than any link."""
    if power is not None and power.error <= NEARLY_EXACT:
        return Chosen(power.applied(recipe), Choices())
    decided, forms = compare_links(recipe, data, names, knots=knots, alpha=alpha)
    decided, links = choose_link(decided, data, names, knots=knots, alpha=alpha)
    if power is not None:
        other = [forms.chosen] if forms else _first_error(decided, data, names, knots, alpha)
        if power.error < _GAIN * min((each.loss for each in other), default=np.inf):
            return Chosen(power.applied(recipe), Choices())
    return Chosen(decided, Choices(), links or forms)


def _power_sum(recipe: Recipe, data: MeasuredDistances) -> PowerSum | None:
    """The nearest sum of powers, for a table that features share whose knots and factors are not given."""
    placed = recipe.factors is None and isinstance(recipe.knots, str)
    if recipe.tables != "shared" or not placed or len(recipe.base_distances):
        return None
    return nearest_power_sum(recipe, data)


def _with_numbers(chosen: Chosen, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> Chosen:
    """Choose numbers of knots and the strength of the penalty, under the link that was chosen."""
    recipe, numbers = choose_numbers(chosen.recipe, data, names, knots=knots, alpha=alpha)
    return chosen._replace(recipe=recipe, numbers=numbers)


def _compares_tables(recipe: Recipe, data: MeasuredDistances, names: Names) -> bool:
    """Return True if ``tables="auto"`` compares a table that all features share with one for each."""
    schema, placed = Schema.of(names), isinstance(recipe.knots, str)
    plain = schema.plain and len(schema.names) > 1 and not len(recipe.base_distances)
    return recipe.may_share and plain and placed and recipe.link != "concave" and may_pool(data.items)


@storable
def full_unless_shared_gains(candidates: Sequence[Candidate]) -> Candidate:
    """Tables of single features, unless one that all share has a tenth less relative error, by more than a standard error."""
    full, shared = ([c for c in candidates if (c.settings["tables"] == "shared") is wanted] for wanted in (False, True))
    if not (full and shared):
        return candidates[0]
    best, other = best_of(full), best_of(shared)
    return other if other.loss < _GAIN * best.loss and other.better_than(best) else best


def _choose_tables(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> Chosen:
    """Choose between tables of single features and one that all features share, by relative errors of held-out distances.

    Both are compared with few knots first. Where that leaves no doubt, only one of them is chosen further.
    """
    asked = [replace(recipe, tables=kind) for kind in ("full", "shared")]
    full, shared = (_with_link(each, data, names, _power_sum(each, data), knots=knots, alpha=alpha) for each in asked)
    if recipe.link == "auto" and full.links and shared.links:
        first = [full.links.chosen, shared.links.chosen]
    else:
        first = [*_first_error(full.recipe, data, names, knots, alpha), *_first_error(shared.recipe, data, names, knots, alpha)]
    if knots and may_have_layout(recipe, data, names):
        of_bins = sums_over_bins(recipe, data, first, alpha=alpha)
        if of_bins is not None:
            return of_bins
    scored = {candidate.settings["tables"]: candidate.loss for candidate in first}
    at_once = len(first) == 2 and first[1].loss < min(_OUT_OF_REACH * first[0].loss, NEARLY_EXACT)
    if "shared" not in scored or ("full" in scored and scored["shared"] > _GAIN * scored["full"]):
        found, tables = _with_numbers(full, data, names, knots=knots, alpha=alpha), _by_error(first)
    elif "full" not in scored or (at_once and full_unless_shared_gains(first) is first[1]):
        found, tables = _with_numbers(shared, data, names, knots=knots, alpha=alpha), _by_error(first)
    else:
        full, shared = (_with_numbers(each, data, names, knots=knots, alpha=alpha) for each in (full, shared))
        tables = _by_error(_relative_errors([full.recipe, shared.recipe], data, names))
        found = shared if tables and tables.chosen.settings["tables"] == "shared" else full
    return found._replace(tables=tables)


_ALL_PAIRS, _MOST_FEATURES = 3, 20  # of so few features all pairs have a joint table; of more than the second none has
_MOST_BESIDE = 1_500  # weights of single tables, beside which joint ones are looked for
_LOOKED_FOR = AutoGroups(max_groups=4, max_columns=1_500, max_candidates=45)  # of 10 features, in some seconds
_FEW_SUMS = {"n_slices": 8, "n_edges": 0, "ball_radii": (1.5,), "max_features": 300}  # by which layouts are compared
_CLEAR_GAIN = 0.75  # times the error of single features: bins of distances that see no layout have .77 and more, mostly 2 to 5


@storable
def second_if_it_gains(candidates: Sequence[Candidate]) -> Candidate:
    """The second, if it has a tenth less error than the first, by more than a standard error."""
    first, second = candidates
    return second if second.loss < _GAIN * first.loss and second.better_than(first) else first


def _is_inexact(found: Chosen, recipe: Recipe, data: MeasuredDistances, names: Names) -> bool:
    """Return True if what was found is not nearly exact, and joint tables of few features may be compared with it."""
    power = found.recipe.factors
    exact = isinstance(power, PowerSum) and power.error <= NEARLY_EXACT
    few = data.items.shape[1] <= _MOST_FEATURES and not len(recipe.base_distances)
    if exact or not few or not recipe.may_share or recipe.link == "concave":
        return False
    return any(candidate.loss > NEARLY_EXACT for candidate in _relative_errors([found.recipe], data, names))


def _compared(first: Recipe, second: Recipe, named: Sequence[Mapping[str, Any]], data: MeasuredDistances, names: Names,
              features: Sequence[str] = ()) -> Choices | None:  # fmt: skip
    """Compare two recipes by errors and wrong orders, with names of what differs; None if either is too wide."""
    compared = _relative_errors([first, second], data, names, error_and_disorder)
    if len(compared) < 2:
        return None
    candidates = [replace(c, settings={**c.settings, **name}) for c, name in zip(compared, named, strict=True)]
    return Choices(candidates, "relative error, plus wrong orders of near pairs", second_if_it_gains, features)


@storable
def second_if_it_gains_clearly(candidates: Sequence[Candidate]) -> Candidate:
    """The second, if it has a quarter less error than the first, by more than a standard error."""
    first, second = candidates
    return second if second.loss < _CLEAR_GAIN * first.loss and second.better_than(first) else first


def may_have_layout(recipe: Recipe, data: MeasuredDistances, names: Names) -> bool:
    """Return True if rows are histograms, and nothing that is asked for needs tables of their bins."""
    schema, placed = Schema.of(names), isinstance(recipe.knots, str) and not len(recipe.base_distances)
    symmetric = recipe.axioms in ("semimetric", "metric") and replace(recipe, axioms="semimetric").may_share
    plain = schema.plain and not schema.encoded and recipe.link != "concave"
    return symmetric and placed and plain and are_histograms(data.items)


def sums_over_bins(recipe: Recipe, data: MeasuredDistances, features: Sequence[Candidate], *, alpha: bool) -> Chosen | None:
    """Return a recipe with sums over the bins of histograms, in the layout that gains most over the best of ``features``.

    None if single features are nearly exact, or no layout has a quarter less error. Few sums of each are compared, which have
    straight scales, and a root if links are compared. The recipe that is returned has this link, and all sums as directions.
    """
    best = min(features, key=lambda c: c.loss, default=None)
    if best is None or best.loss <= NEARLY_EXACT:
        return None
    links = ("identity", "sqrt") if recipe.link in ("auto", "power") else (recipe.link,)
    data = data.sampled(min(distance_limits(recipe.effort).n_rows, _LINK_ROWS), recipe.random_state)
    used, index = np.unique(data.pairs.index, return_inverse=True)
    found: list[tuple[Candidate, str, Recipe]] = []
    for name, sums in layouts(data.items.shape[1]).items():
        few = clone(sums).set_params(**_FEW_SUMS).fit_transform(data.pairs.items[used])
        of_sums = MeasuredDistances.of_arrays(Pairs(few, index.reshape(-1, 2)), data.y, data.weight)
        for link in links:
            straight = replace(recipe, tables="warped", link=link, n_knots=2)
            with silent("constant features"):
                tried = _first_error(straight, of_sums, [f"sum{k}" for k in range(few.shape[1])], False, alpha)
            all_sums = replace(recipe, tables="warped", link=link, directions=sums)
            found += [(candidate, f"bins on {name}", all_sums) for candidate in tried]
        if any(candidate.loss <= NEARLY_EXACT for candidate, *_ in found):
            break
    if not found:
        return None
    laid_out, name, recipe = min(found, key=lambda each: each[0].loss)
    candidates = [replace(c, settings={**c.settings, "directions": n}) for c, n in ((best, None), (laid_out, name))]
    choices = Choices(candidates, measure="relative error", rule=second_if_it_gains_clearly)
    return Chosen(recipe, Choices(), tables=choices) if choices.chosen is choices[1] else None


def _or_joint(found: Chosen, recipe: Recipe, data: MeasuredDistances, names: Names, *, alpha: bool) -> Chosen:
    """Return joint tables of pairs of features if these gain, else what was found, and in ``groups`` what was compared.

    Two or three features have joint tables of all pairs, which are the whole distance, and not a part of it under the link
    that single features need. Of up to 20, pairs are looked for.
    """
    schema = Schema.of(names)
    few, quick = len(schema.names) <= _ALL_PAIRS, recipe.effort == "fast"
    if len(schema.names) > (_ALL_PAIRS if quick else _MOST_FEATURES) or not _has_room(recipe, data, names):
        return found
    full = replace(recipe, tables="full")
    if few:
        link = "identity" if recipe.link == "auto" else found.recipe.link
        joint = Chosen(replace(full, groups="pairs", link=link), Choices())
        joint = _with_numbers(joint, data, names, knots=True, alpha=alpha)
    else:
        singles = found
        if found.recipe.tables != "full":
            linked = _with_link(full, data, names, None, knots=True, alpha=alpha)
            singles = _with_numbers(linked, data, names, knots=True, alpha=alpha)
        if HeldOutDistances(data, names).n_columns(singles.recipe) > _MOST_BESIDE:
            return found
        with silent("a joint table not taken"):  # nobody has asked for any
            decided, steps = choose_groups(_LOOKED_FOR, singles.recipe, HeldOutDistances(data, names), knots=True)
        joint = singles._replace(recipe=decided)
        if only_singles(decided.groups):
            return found._replace(groups=steps)
    pairs = tuple(g for g in resolve_groups(joint.recipe.groups, len(schema.names)) if len(g) > 1)
    choices = _compared(found.recipe, joint.recipe, ({"groups": ()}, {"groups": pairs}), data, names, schema.names)
    if choices is None:
        return found
    return (joint if choices.chosen is choices[1] else found)._replace(groups=choices)


def _has_room(recipe: Recipe, data: MeasuredDistances, names: Names) -> bool:
    """Return True if joint tables of features that vary, all that `_or_joint` needs, are small enough at few knots."""
    plain = replace(recipe, tables="full", link="identity", n_knots=_KNOTS[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
        grid = build_structure(plain, data.items, names).embedding.grid
    tied = recipe.symmetry_of_columns == "tie"
    sizes = [joint_columns(grid, pair, tied=tied) for pair in combinations(np.flatnonzero(grid.varies).tolist(), 2)]
    needed = sum(sizes) if len(grid.varies) <= _ALL_PAIRS else min(sizes, default=0)
    return 0 < needed <= _LOOKED_FOR.max_columns


def _by_error(candidates: Sequence[Candidate]) -> Choices:
    return Choices(candidates, measure="relative error", rule=full_unless_shared_gains)


def _first_error(recipe: Recipe, data: MeasuredDistances, names: Names, knots: bool, alpha: bool) -> list[Candidate]:
    """The relative error of a recipe with a link, at few knots, of which a shared table has more; none if all are too wide."""
    strength = _LINK_ALPHAS[recipe.tables][0] if alpha else recipe.alpha
    numbers = (_fewer(recipe),) if not knots else (_FINE_KNOTS,) if recipe.tables == "shared" else _KNOTS
    tried = (_relative_errors([replace(recipe, n_knots=n, alpha=strength)], data, names) for n in numbers)
    return next(filter(None, tried), [])


def straight_errors(recipe: Recipe, data: MeasuredDistances, names: Names, *, alpha: bool) -> list[Candidate]:
    """Return relative errors of straight scales of single features, and of the root of their sum if links are compared."""
    links = ("identity", "sqrt") if recipe.link == "auto" else (recipe.link,)
    straight = [replace(recipe, tables="warped", n_knots=2, link=link) for link in links if not is_chosen(link)]
    return [candidate for each in straight for candidate in _first_error(each, data, names, False, alpha)]


def _relative_errors(
    recipes: Sequence[Recipe], data: MeasuredDistances, names: Names,
    error: Callable[[PairTargets, Floats, float], float] = relative_error,
) -> list[Candidate]:  # fmt: skip
    """The errors of held-out distances of recipes in which everything is decided, without those too wide."""
    data = data.sampled(min(distance_limits(recipes[0].effort).n_rows, _LINK_ROWS), recipes[0].random_state)
    held_out = HeldOutDistances(data, names, links=True, error=error)
    named = {"identity": PowerLink(1.0), "sqrt": PowerLink(0.5)}
    trials = [Trial(replace(r, link=named.get(str(r.link), r.link), verbose=False), (r.alpha,)) for r in recipes]
    try:
        return compare(held_out, trials, verbose=recipes[0].verbose)
    except TooFewError:
        return []


def choose_shared(recipe: Recipe, data: MeasuredDistances, names: Names, *, alpha: bool) -> Chosen | None:
    """Choose a table that all of many features share; None unless it is nearly exact on held-out pairs.

    It is not compared with what screening finds, which takes long.
    """
    if not _compares_tables(recipe, data, names):
        return None
    asked = replace(recipe, tables="shared")
    power = _power_sum(asked, data)
    if power is None or power.error > NEARLY_EXACT:
        links = ("identity", "sqrt") if recipe.link in ("auto", "power") else (recipe.link,)
        few = data.sampled(_FEW_PAIRS, recipe.random_state)
        roughly = [_first_error(replace(asked, link=link), few, names, True, alpha) for link in links]
        if min((each.loss for found in roughly for each in found), default=np.inf) > _NEAR_TO_EXACT:
            return None
    shared = _with_link(asked, data, names, power, knots=True, alpha=alpha)
    first = _first_error(shared.recipe, data, names, True, alpha)
    if not first or first[0].loss > NEARLY_EXACT:
        return None
    found = _with_numbers(shared, data, names, knots=True, alpha=alpha)
    return found._replace(recipe=with_factors_of(data, found.recipe), tables=_by_error(first))


def choose_numbers(
    recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool
) -> tuple[Recipe, Choices]:
    """Choose numbers of knots and the strength of the penalty, or one of the two."""
    if not (knots or alpha):
        return recipe, Choices()
    sample = data.sampled(distance_limits(recipe.effort).n_rows, recipe.random_state)
    trials = _trials(recipe, knots=knots, alpha=alpha)
    held_out = HeldOutDistances(sample, names, knots=knots)
    _announce_width(held_out, trials, len(sample.pairs), recipe.verbose)
    try:
        found = compare(held_out, trials, verbose=recipe.verbose)
        if knots and not found:  # the items have so many features that tables can have little more than a slope each
            fewest = trials[0]._replace(recipe=replace(trials[0].recipe, n_knots=2))
            found = compare(HeldOutDistances(sample, names), [fewest], verbose=recipe.verbose)
    except TooFewError as error:
        few = ({"n_knots": _FEW_KNOTS[recipe.tables]} if knots else {}) | ({"alpha": 1e-2} if alpha else {})
        return with_defaults(recipe, error, few), Choices()
    if not found:
        raise too_many_weights(recipe)
    most = "thorough" if recipe.effort in EFFORTS else wide("thorough")
    thorough = n_fits(_trials(replace(recipe, effort=most), knots=knots, alpha=alpha), distance_limits(most).n_folds)
    choices = Choices(found, cost=SearchCost("pairs", len(sample.pairs), len(data.pairs), n_losses(found), thorough))
    best = choices.chosen.settings
    return replace(recipe, n_knots=best["n_knots"], alpha=best["alpha"]), choices


def _announce_width(held_out: HeldOutDistances, trials: Sequence[Trial], n_pairs: int, verbose: bool | None) -> None:
    """Say how many weights are compared at many strengths, where they are so many that it may take minutes."""
    wide = ((held_out.n_columns(trial.recipe), held_out.most_columns(trial.recipe, n_pairs)) for trial in trials)
    widths = [n for n, most in wide if n <= most]
    if max(widths, default=0) > _SLOW_COLUMNS and len(trials[0].alphas) > 1:
        announce(
            f"tables of up to {max(widths):,} weights are compared at up to {len(trials[0].alphas)} strengths of the penalty, "
            "which may take minutes; n_knots= and alpha= leave that out, and effort='fast' compares less",
            verbose=verbose,
        )


def _trials(recipe: Recipe, *, knots: bool, alpha: bool) -> list[Trial]:
    limits, kind = distance_limits(recipe.effort), recipe.tables
    alphas = limits.alphas[kind] if alpha else (recipe.alpha,)
    return [
        Trial(replace(recipe, n_knots=n, verbose=False), alphas) for n in (limits.n_knots[kind] if knots else (recipe.n_knots,))
    ]


def check_width(recipe: Recipe, structure: Structure) -> None:
    """Refuse features of which even ``recipe.n_knots`` knots, the fewest that would be compared, give too many weights."""
    most = distance_limits(recipe.effort).n_columns[recipe.tables]
    if all(len(group) == 1 for group in structure.embedding.groups) and structure.embedding.n_columns > most:
        raise too_many_weights(recipe)


def too_many_weights(recipe: Recipe) -> InputError:
    """Return the error of a comparison in which every candidate has too many weights."""
    most = distance_limits(recipe.effort).n_columns[recipe.tables]
    advice = "set n_knots= and alpha="
    if is_chosen(recipe.link) and recipe.link != "auto":
        advice = f"give a number in place of link={recipe.link!r}"
    elif isinstance(recipe.base_exponents, str):
        advice = f"give numbers in place of base_exponents={recipe.base_exponents!r}"
    return InputError(
        f"every number of knots gives more than {most} weights, so that nothing can be compared; {advice}, or give fewer "
        "features, directions or groups"
    )


def _sampled_rows(pairs: Pairs, recipe: Recipe) -> Integers:
    return sampled_rows(len(pairs), distance_limits(recipe.effort).n_rows, recipe.random_state)


def _weights_along(
    trial: Trial, structure: Structure, prior: L1Prior, part: PairTargets, start: Floats | None = None
) -> Floats:
    """The weights by least squares at each strength, a row each: strong to weak, each warm from the one before."""
    recipe = trial.recipe
    rows = part.rows(recipe, structure)
    moments = rows.design.moments(rows.target, rows.weight)
    terms, found = make_terms(recipe, structure, prior), {}
    for k, alpha in sorted(enumerate(trial.alphas), key=lambda numbered: -numbered[1]):
        penalty = total(replace(recipe, alpha=alpha).penalties(structure.embedding), terms.columns)
        start = least_squares(moments, penalty, terms.lower, start).weights
        found[k] = start = terms.with_prior_where_undetermined(start, penalty, moments.norms)
    return np.array([found[k] for k in range(len(found))])


_UNITS = 1e-100, 1e100  # of mean distances whose squares are numbers
_COARSE, _BETWEEN = (1.0, 0.75, 0.5), (0.9, 0.8, 0.7, 0.6)  # exponents; the second only around the best of the first
_STEP = 0.25  # from a coarse exponent to the next
_LINK_ALPHAS = {"full": (1e-6, 1e-4, 1e-2), "warped": (1e-6,), "shared": (1e-9, 1e-7, 1e-5)}
_LINK_ROWS = 5_000
_GAIN = 0.9  # times the error of the sum itself: under a link that gains less, parts of the sum are no distances for little


@storable
def sum_unless_link_gains(candidates: Sequence[Candidate]) -> Candidate:
    """The sum itself, unless a link lowers the relative error by a tenth and by more than one standard error."""
    plain = best_of(c for c in candidates if c.settings["link"] == 1.0)
    best = best_of(candidates)
    return best if best.loss < _GAIN * plain.loss and best.better_than(plain) else plain


def compares_links(recipe: Recipe, *, knots: bool, alpha: bool) -> bool:
    """Return True if ``link="auto"`` compares links, and is not the identity.

    It is where numbers are given, so that nothing is held out, where scales are to have coordinates, and where another link
    cannot go with the rest of the recipe.
    """
    allowed = recipe.tables in ("full", "shared") and recipe.axioms is not None and recipe.prior is None
    return recipe.link == "auto" and allowed and (knots or alpha)


def compare_links(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> tuple[Recipe, Choices]:
    """Decide ``link="auto"`` by the relative errors of held-out distances, at few knots and strengths; else leave it."""
    if recipe.link != "auto":
        return recipe, Choices()
    plain = replace(recipe, link="identity")
    if not compares_links(recipe, knots=knots, alpha=alpha) or not _UNITS[0] < float(data.weight @ data.y) < _UNITS[1]:
        return plain, Choices()
    n_all, data = len(data.pairs), data.sampled(min(distance_limits(recipe.effort).n_rows, _LINK_ROWS), recipe.random_state)
    held_out = HeldOutDistances(data, names, knots=knots, links=True)
    alphas = _LINK_ALPHAS[recipe.tables] if alpha else (recipe.alpha,)
    first = replace(plain, verbose=False)
    if isinstance(first.base_exponents, str):  # which are chosen next
        first = replace(first, base_exponents=(1.0,) * len(first.base_distances))

    if knots:
        _check_width(recipe, replace(first, n_knots=_KNOTS[-1]), data, names)

    def compared(exponents: Sequence[float], n_knots: Any) -> list[Candidate]:
        trials = [Trial(replace(first, link=PowerLink(e), n_knots=n_knots), alphas) for e in exponents]
        return compare(held_out, trials, verbose=recipe.verbose)

    found: list[Candidate] = []
    try:
        for n_knots in _quick_knots(held_out, first) if knots else (_fewer(recipe),):
            if found := compared(_COARSE, n_knots):
                between = sum_unless_link_gains(found).settings["link"] == _COARSE[1]
                if between and not held_out.is_wide(replace(first, n_knots=n_knots)):
                    found += compared(_BETWEEN, n_knots)
                break
    except TooFewError:
        return plain, Choices()  # `choose_numbers` warns of it,
    if not found:
        return plain, Choices()  # and refuses too many weights.
    cost = SearchCost("pairs", len(data.pairs), n_all, n_losses(found), n_losses(found))
    choices = Choices(found, measure="relative error", rule=sum_unless_link_gains, cost=cost)
    return replace(recipe, link=checked_link(PowerLink(choices.chosen.settings["link"]))), choices


_KNOTS = (6, 4, 3, 2)  # the first that is not too wide: tables fine enough to be what they are asked to be
_SHARED_KNOTS, _FINE_KNOTS = 12, 32  # of a table that all features share, whose knots cost little
_OUT_OF_REACH = 0.25  # if it is so many times that of tables of single features
_NEAR_TO_EXACT, _FEW_PAIRS = 0.1, 2_000  # of many features: the error on so few pairs, above which it is not tried further
_BENT = 3  # the fewest knots that let a table bend: with two a sum is little but a weighted L1 distance


def _quick_knots(held_out: HeldOutDistances, first: Recipe) -> list[int]:
    """The numbers of knots that links are compared with, without fine ones whose fits take long."""
    if first.tables == "shared":
        return [_SHARED_KNOTS]
    return [n for n in _KNOTS if n <= _BENT or not held_out.is_wide(replace(first, n_knots=n))]


@storable
def least_loss_of_exponents(candidates: Sequence[Candidate]) -> Candidate:
    """The exponents of the least loss, of ties those nearest to 1, then the largest alpha within one standard error."""

    def exponents(candidate: Candidate) -> tuple[float, ...]:
        link = candidate.settings["link"]
        return (*candidate.settings["base_exponents"], 1.0 if link is None else link)

    def from_one(candidate: Candidate) -> float:
        return round(sum(abs(1.0 - e) for e in exponents(candidate)), 9)

    best = exponents(min(candidates, key=lambda c: (c.loss, from_one(c))))
    same = [c for c in candidates if exponents(c) == best]
    return max(as_good_as_best(same), key=lambda c: c.settings["alpha"])


def choose_link(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> tuple[Recipe, Choices]:
    """Choose the exponent of the link, and those of base distances, where the recipe leaves them open."""
    given, link = recipe, is_chosen(recipe.link)
    bases = isinstance(recipe.base_exponents, str) and len(recipe.base_distances) > 0
    if isinstance(recipe.base_exponents, str):
        recipe = replace(recipe, base_exponents=(1.0,) * len(recipe.base_distances))
    if not (link or bases):
        return recipe, Choices()
    first = replace(recipe, link=PowerLink(1.0) if link else recipe.link)
    n_all, data = len(data.pairs), data.sampled(DISTANCES[recipe.effort].n_rows, recipe.random_state)
    held_out = HeldOutDistances(data, names, knots=knots)
    if knots:
        _check_width(given, replace(first, n_knots=_KNOTS[-1]), data, names)
    alphas = DISTANCES[recipe.effort].alphas[recipe.tables] if alpha else (recipe.alpha,)
    coarse = list(product(_COARSE if link else (None,), _COARSE if bases else (None,)))
    found: list[Candidate] = []
    try:
        for n_knots in _quick_knots(held_out, first) if knots else (_fewer(recipe),):
            first = replace(first, n_knots=n_knots)
            trials = [Trial(_with_exponents(first, *pair), alphas) for pair in coarse]
            if found := compare(held_out, trials, verbose=recipe.verbose):
                best = least_loss_of_exponents(found).settings
                near = product(
                    _around(best["link"]) if link else (None,), _around(best["base_exponents"][0]) if bases else (None,)
                )
                finer = [Trial(_with_exponents(first, *pair), alphas) for pair in near if pair not in coarse]
                found += compare(held_out, finer, verbose=recipe.verbose)
                trials += finer
                break
    except TooFewError as error:
        return with_defaults(
            recipe, error, {"link": "identity"} if link else {"base_exponents": recipe.base_exponents}
        ), Choices()
    if not found:
        raise too_many_weights(given)
    limits = DISTANCES["thorough"]
    cost = SearchCost("pairs", len(data.pairs), n_all, n_losses(found), n_fits(trials, limits.n_folds))
    choices = Choices(found, rule=least_loss_of_exponents, cost=cost)
    taken = choices.chosen.settings
    chosen: Any = {"base_exponents": taken["base_exponents"]} if bases else {}
    chosen |= {"link": checked_link(PowerLink(taken["link"] or 1.0))} if link else {}
    return replace(recipe, **chosen), choices


def _check_width(given: Recipe, fewest: Recipe, data: MeasuredDistances, names: Names) -> None:
    """Refuse features that have too many weights with the fewest knots, before any second moments of theirs are computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
        structure = build_structure(fewest, data.items, names)
    check_width(given, structure)


def _fewer(recipe: Recipe) -> Any:
    most, n_knots = _SHARED_KNOTS if recipe.tables == "shared" else _KNOTS[0], recipe.n_knots
    if isinstance(n_knots, (int, np.integer)):
        return min(int(n_knots), most)
    return [min(int(n), most) for n in n_knots]


def _with_exponents(recipe: Recipe, link: float | None, base: float | None) -> Recipe:
    """The recipe with an exponent of the link, and one that all base distances share; None leaves them as they are."""
    recipe = recipe if link is None else replace(recipe, link=PowerLink(link))
    return recipe if base is None else replace(recipe, base_exponents=(base,) * len(recipe.base_distances))


def _around(best: float) -> tuple[float, ...]:
    """The exponents between a coarse one and its neighbours, and itself."""
    return tuple(e for e in (*_COARSE, *_BETWEEN) if abs(e - best) < _STEP)
