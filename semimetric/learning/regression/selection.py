"""Numbers of knots and strength of the penalty for measured distances, chosen on held-out pairs.

Held-out pairs share no item with those trained on. Candidates' weights come from least squares whatever the loss, since then
one pass over the pairs serves every strength; the loss itself judges them. Taken are the fewest knots that have a candidate
within one standard error of the best, and of those the strongest penalty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..._foundation.errors import InputError, TooFewError
from ..._foundation.types import Floats, Integers, Pairs
from ...data.schema import Names, Schema
from ...data.splits import item_disjoint_splits
from ...programs.losses import resolve_loss
from ...programs.penalties import total
from ..candidates import Choices
from ..effort import EFFORTS, Judged, distance_limits, wide
from ..held_out import FittedModel, HeldOutData, Trial, compare, n_fits, n_losses, uncompared
from ..kept_columns import keeps_all_vertices, vertices_of_pairs, with_vertices
from ..link_choices import is_chosen
from ..prior import L1Prior, fit_l1_prior, least_squares
from ..recipe import Recipe
from ..structure import Structure, build_structure
from ..terms import make_terms
from .distance_data import InMemoryDistances, sampled_rows
from .pair_targets import PairTargets

__all__ = ["HeldOutDistances", "check_width", "choose_numbers", "too_wide"]

_FEW_COLUMNS = 600  # weights are always compared: they cost little
_FEW_KNOTS = {"full": 3, "warped": 2}  # where nothing can be held out; with alpha=1e-2 little but a weighted L1 distance


class HeldOutDistances(HeldOutData[PairTargets]):
    """Pairs with measured distances, in folds that share no item.

    Parameters
    ----------
    data : InMemoryDistances
    names : Schema, or sequence of str
        The schema of the table, or the names of numeric features.
    knots : bool, default False
        Whether numbers of knots are compared: all but the fewest are then left out where they make more than twice as many
        weights as a fold has pairs. More weights than that gain nothing and take most of the time.
    """

    def __init__(self, data: InMemoryDistances, names: Names, *, knots: bool = False) -> None:
        self.data, self.names, self.schema, self.knots = data, names, Schema.of(names), knots
        self._built: tuple[Recipe, Structure] | None = None

    @property
    def items(self) -> Floats:
        """The items of all pairs, shape (n_items, n_features)."""
        return self.data.items

    def folds(self, recipe: Recipe) -> list[tuple[PairTargets, PairTargets]]:
        """Pairs to fit to and pairs to judge by; of many pairs, from a sample."""
        sample = self.data.pairs.take(_sampled_rows(self.data.pairs, recipe))
        n_splits = distance_limits(recipe.effort).n_folds
        splits = list(item_disjoint_splits(sample, n_splits=n_splits, random_state=recipe.random_state))
        targets = self.all_data(recipe)
        return [(targets.take(train), targets.take(test)) for train, test in splits]

    def all_data(self, recipe: Recipe) -> PairTargets:
        """The pairs that the folds divide: all, or a sample of many."""
        return self.data.scaled(recipe, self._structure(recipe)).take(_sampled_rows(self.data.pairs, recipe))

    def losses(self, trial: Trial, part: PairTargets, held: PairTargets) -> list[float] | None:
        """The loss of the recipe on held-out pairs, in units of the mean target."""
        part, held = (side.under(trial.recipe) for side in (part, held))  # folds have the link of the first trial
        structure, prior = self._columns(trial.recipe, part)
        if structure.embedding.n_columns > self._most_columns(trial.recipe, len(part.targets)):
            return None
        loss, n = resolve_loss(trial.recipe.loss), structure.embedding.n_columns
        expanded = structure.embedding.expanded(np.zeros(n))[0]
        design = held.design(structure, expanded, trial.recipe.n_jobs)
        losses = [0.0] * len(trial.alphas)
        for k, found in _weights_along(trial, structure, prior, part):
            weights = np.concatenate([structure.embedding.expanded(found[:n])[1], found[n:]])
            losses[k] = loss.value(held.errors(design.matvec(weights)), held.weight)
        return losses

    def _most_columns(self, recipe: Recipe, n_pairs: int) -> int:
        """The most weights of a candidate that is fitted to so many pairs."""
        limits = distance_limits(recipe.effort)
        most = limits.n_columns[recipe.tables]
        if not self.knots or not isinstance(recipe.n_knots, int) or recipe.n_knots <= limits.n_knots[recipe.tables][0]:
            return most
        return min(most, max(_FEW_COLUMNS, 2 * n_pairs))

    def fitted(self, recipe: Recipe, part: PairTargets, held: PairTargets | None = None) -> FittedModel:
        """The model by least squares, judged by the loss of the recipe."""
        structure, prior = self._columns(recipe, part)
        ((_, weights),) = _weights_along(Trial(recipe, (recipe.alpha,)), structure, prior, part)
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


def choose_numbers(
    recipe: Recipe, data: InMemoryDistances, names: Names, *, knots: bool, alpha: bool
) -> tuple[Recipe, Choices]:
    """Choose numbers of knots and the strength of the penalty.

    Parameters
    ----------
    recipe : Recipe
    data : InMemoryDistances
    names : Schema, or sequence of str
    knots, alpha : bool
        Whether each is to be chosen; else that of the recipe stands.

    Returns
    -------
    recipe : Recipe
    choices : Choices
        What was compared.

    Raises
    ------
    InputError
        If there are too many features for any number of knots. Of too few pairs to hold some out a warning says what is taken.
    """
    alpha = alpha and isinstance(recipe.penalty, str)
    knots = knots and isinstance(recipe.knots, str)
    if not (knots or alpha):
        return recipe, Choices()
    sample = data.sampled(distance_limits(recipe.effort).n_rows, recipe.random_state)
    trials = _trials(recipe, knots=knots, alpha=alpha)
    try:
        found = compare(HeldOutDistances(sample, names, knots=knots), trials, verbose=recipe.verbose)
        if knots and not found:  # the items have so many features that tables can have little more than a slope each
            found = compare(HeldOutDistances(sample, names), [_wide(trials[0])], verbose=recipe.verbose)
    except TooFewError as error:
        few = ({"n_knots": _FEW_KNOTS[recipe.tables]} if knots else {}) | ({"alpha": 1e-2} if alpha else {})
        return uncompared(recipe, error, few), Choices()
    if not found:
        raise too_wide(recipe)
    most = "thorough" if recipe.effort in EFFORTS else wide("thorough")
    thorough = n_fits(_trials(replace(recipe, effort=most), knots=knots, alpha=alpha), distance_limits(most).n_folds)
    choices = Choices(found, judged=Judged("pairs", len(sample.pairs), len(data.pairs), n_losses(found), thorough))
    return replace(recipe, n_knots=choices.chosen.n_knots, alpha=choices.chosen.alpha), choices


def _trials(recipe: Recipe, *, knots: bool, alpha: bool) -> list[Trial]:
    """What is compared: every number of knots, fewest first, with every strength."""
    limits, kind = distance_limits(recipe.effort), recipe.tables
    alphas = limits.alphas[kind] if alpha else (recipe.alpha,)
    return [
        Trial(replace(recipe, n_knots=n, verbose=False), alphas) for n in (limits.n_knots[kind] if knots else (recipe.n_knots,))
    ]


def _wide(trial: Trial) -> Trial:
    """A trial with the fewest knots that there are."""
    return trial._replace(recipe=replace(trial.recipe, n_knots=2))


def check_width(recipe: Recipe, structure: Structure) -> None:
    """Refuse features of which even ``recipe.n_knots`` knots, the fewest that would be compared, give too many weights."""
    most = distance_limits(recipe.effort).n_columns[recipe.tables]
    if all(len(group) == 1 for group in structure.embedding.groups) and structure.embedding.n_columns > most:
        raise too_wide(recipe)


def too_wide(recipe: Recipe) -> InputError:
    """The error that says that nothing can be compared, because everything has too many weights."""
    most = distance_limits(recipe.effort).n_columns[recipe.tables]
    advice = "set n_knots= and alpha="
    if is_chosen(recipe.link):
        advice = f"give a number in place of link={recipe.link!r}"
    elif isinstance(recipe.base_exponents, str):
        advice = f"give numbers in place of base_exponents={recipe.base_exponents!r}"
    return InputError(
        f"every number of knots gives more than {most} weights, so that nothing can be compared; {advice}, or give fewer "
        "features, directions or groups"
    )


def _sampled_rows(pairs: Pairs, recipe: Recipe) -> Integers:
    """Rows of the pairs that candidates are compared on: all, or a sample."""
    return sampled_rows(len(pairs), distance_limits(recipe.effort).n_rows, recipe.random_state)


def _weights_along(trial: Trial, structure: Structure, prior: L1Prior, part: PairTargets) -> Iterator[tuple[int, Floats]]:
    """The number of each strength and its weights by least squares: strong to weak, each warm from the one before."""
    recipe = trial.recipe
    rows = part.rows(recipe, structure)
    moments, start = rows.design.moments(rows.target, rows.weight), None
    for k, alpha in _strong_to_weak(trial.alphas):
        terms = make_terms(replace(recipe, alpha=alpha), structure, prior)
        penalty = total(replace(recipe, alpha=alpha).penalties(structure.embedding), terms.columns)
        start = least_squares(moments, penalty, terms.lower, start).weights
        start = terms.with_prior_where_undetermined(start, penalty, moments.norms)
        yield k, start


def _strong_to_weak(alphas: Sequence[float]) -> list[tuple[int, float]]:
    """The number of each strength among the given ones, and the strength, from the largest on."""
    return sorted(enumerate(alphas), key=lambda numbered: -numbered[1])
