"""What a distance is learned from where items have classes, and what is asked of it."""

from typing import NamedTuple

from ..._foundation.time_budget import TimeBudget
from ..._foundation.types import Floats
from ...data.feature_groups import only_singles
from ...data.schema import Schema
from ..recipe import Recipe
from .labeled_items import LabeledDataset, LargeMargin

__all__ = ["LabelProblem"]


class LabelProblem(NamedTuple):
    """What a distance is learned from.

    Attributes
    ----------
    recipe : Recipe
        With stand-ins for what is to be chosen.
    auto : frozenset of str
        What that is, among "n_knots", "alpha", "directions" and "tables".
    rule : LargeMargin
    dataset : LabeledDataset
    schema : Schema
    n_votes : float
        How many votes all items have together: their number, if each has one.
    time_budget : TimeBudget or None
        How long learning may take.
    """

    recipe: Recipe
    auto: frozenset[str]
    rule: LargeMargin
    dataset: LabeledDataset
    schema: Schema
    n_votes: float
    time_budget: TimeBudget | None = None

    @property
    def is_sum(self) -> bool:
        """Whether a sum is learned: the parameters leave directions and tables open, and ask nothing of the raw features."""
        recipe = self.recipe
        placed = isinstance(recipe.knots, str) and recipe.tables == "warped" and only_singles(recipe.groups)
        asked = recipe.constraints or recipe.prior is not None or self.rule.even != "values"
        return {"directions", "tables"} <= self.auto and placed and not asked

    @property
    def votes(self) -> Floats:
        """How many votes each item has, shape (n_items,)."""
        return self.dataset.weight * self.n_votes
