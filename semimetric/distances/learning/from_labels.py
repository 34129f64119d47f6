"""From labelled items to a distance: what is "auto" is chosen, then everything is learned from all items.

If directions and the kind of tables are to be chosen and no other setting forbids it, the distance is a sum of three
(`shares`). Else settings of one program are compared stage by stage (`selection`), and groups of features are searched.
"""

from dataclasses import dataclass, replace

from ..._foundation.errors import NotSupportedError, TooFewError
from ..._foundation.types import Pairs
from ...data.schema import Schema
from ..model.item_statistics import MOST_PAIRS
from ..search.votes import HeldOutNeighbors
from .groups import choose_groups, without_joint
from .items import LabeledItems, LabelProblem, LargeMargin
from .large_margin import HeldOutLabels, LargeMarginResult, announce_learning, choose_stage, fit_large_margin
from .options import Recipe
from .search import Choices
from .sum_of_distances import learn_sum, learn_sum_within


@dataclass(frozen=True, eq=False)
class LearnedFromLabels:
    """The result of learning from labels."""

    recipe: Recipe  # with everything decided
    result: LargeMarginResult
    impostors: Pairs  # of an item and an impostor of the last pass, taken while items in parts are still there
    choices: Choices = Choices()
    group_choices: Choices = Choices()
    held_out: list[HeldOutNeighbors] | None = None  # neighbors of items held out, by which votes can be chosen


def learn_from_labels(problem: LabelProblem) -> LearnedFromLabels:
    """Choose what is "auto", and learn from all items."""
    recipe, rule, dataset, schema = problem.recipe, problem.rule, problem.dataset, problem.schema
    if problem.time_budget is not None and not problem.is_sum:
        raise NotSupportedError(
            'time_budget= is for the sum that is learned where directions= and tables= are "auto" and nothing is asked of the '
            'features; here set n_knots=, alpha= and what else is "auto", or effort="fast", and leave time_budget= out'
        )
    if problem.time_budget is None:
        announce_learning(recipe, rule, dataset, problem.auto, is_sum=problem.is_sum)
    if problem.is_sum and (learned := _learned_sum(problem)) is not None:
        return learned
    singles, choices = choose_stage(without_joint(recipe), rule, dataset, schema, problem.auto)
    held_out = HeldOutLabels(dataset, rule, schema, n_passes=1, n_folds=5)
    chosen, group_choices = choose_groups(recipe.groups, singles, held_out, knots="n_knots" in problem.auto)
    return replace(
        fit_given(chosen, rule, LabeledItems.of_arrays(dataset), schema), choices=choices, group_choices=group_choices
    )


def _learned_sum(problem: LabelProblem) -> LearnedFromLabels | None:
    """Learn a sum of distances; return None if too few items can be held out to choose its weights."""
    try:
        budget = problem.time_budget
        found = learn_sum(problem) if budget is None else learn_sum_within(problem, budget)
    except TooFewError:
        return None
    impostors = found.result.neighbors.impostor_pairs(MOST_PAIRS)
    return LearnedFromLabels(found.recipe, found.result, impostors, found.choices, held_out=found.held_out)


def fit_given(recipe: Recipe, rule: LargeMargin, items: LabeledItems, schema: Schema) -> LearnedFromLabels:
    """Learn with everything decided."""
    structure = items.structure(recipe, schema)
    with items.searchable(recipe, rule, structure) as located:
        result = fit_large_margin(recipe, rule, structure, located)
        return LearnedFromLabels(recipe, result, result.neighbors.impostor_pairs(MOST_PAIRS))
