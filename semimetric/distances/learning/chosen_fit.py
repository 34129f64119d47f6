"""Learning from measured distances with everything chosen that is "auto": by screening many features, else by comparisons."""

from typing import NamedTuple

from ..._foundation.errors import silent
from ...data.schema import Names
from .concave_link import fit_concave_link
from .measured import MeasuredDistances
from .measured_fit import Chosen, choose, learn
from .options import Recipe
from .program import Learned
from .screening import ScreenedFit, fit_screened


class Decided(NamedTuple):
    """The choices that were made, and the fit by screening if there was one, which learns at the same time."""

    chosen: Chosen
    wide: ScreenedFit | None = None

    def learned(self, data: MeasuredDistances, names: Names, *, concave: bool = False) -> tuple[Recipe, Learned]:
        """Return the recipe that was learned by, with a ``concave`` link in place of the chosen one, and what was learned."""
        recipe = self.chosen.recipe
        if self.wide is not None:
            return recipe, self.wide.learned
        with silent(*self.chosen.no_news):
            return fit_concave_link(recipe, data, names) if concave else (recipe, learn(recipe, data, names))


def decide(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> Decided:
    """Choose what is "auto". Where bins of histograms have a layout, sums over them are directions, and the rest is chosen."""
    wide = fit_screened(recipe, data, names, knots=knots, alpha=alpha)
    if wide is not None:
        return Decided(wide.chosen, wide)
    chosen = choose(recipe, data, names, knots=knots, alpha=alpha)
    if not chosen.has_layout:
        return Decided(chosen)
    with silent(*chosen.no_news):
        found = decide(chosen.recipe, data, names, knots=knots, alpha=alpha)
    return found._replace(chosen=found.chosen._replace(tables=chosen.tables))
