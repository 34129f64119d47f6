"""The exponent of the link, and those of base distances, chosen on held-out pairs.

Exponents are compared before numbers of knots, at a middling number of these and at every strength of the penalty, in the folds
that choose those too. The loss that judges is the direct one, of distances, and the exponent of the least is taken: no exponent
has more weights than another, so that none is the simpler one. On simulated distances with noise of 10 and 30 % and true
exponents of 1, .85 and .7 that erred less than the exponent nearest to 1 within one standard error of the best in four of six
settings, by up to 40 %, and as much or by 3 % more in the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._foundation.errors import SemimetricWarning, TooFewError
from ..._foundation.storable import storable
from ...data.schema import Names
from ...distances.links import PowerLink, checked_link
from ..candidates import Candidate, Choices
from ..effort import DISTANCES, Judged
from ..held_out import Trial, compare, n_fits, n_losses, uncompared
from ..link_choices import is_chosen
from ..recipe import Recipe
from ..structure import build_structure
from .distance_data import InMemoryDistances
from .selection import HeldOutDistances, check_width, too_wide

__all__ = ["choose_link", "least_loss_of_exponents"]

_EXPONENTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_KNOTS = (6, 4, 3, 2)  # the first that is not too wide: tables fine enough to be what they are asked to be


@storable
def least_loss_of_exponents(candidates: Sequence[Candidate]) -> Candidate:
    """The exponents of the least loss, of ties those nearest to 1, then the largest alpha within one standard error."""
    best = min(candidates, key=lambda c: (c.loss, _from_one(c)))
    same = [c for c in candidates if (c.link, c.base_exponents) == (best.link, best.base_exponents)]
    return max((c for c in same if not best.better_than(c)), key=lambda c: c.alpha)


def _from_one(candidate: Candidate) -> float:
    """How far the exponents of a candidate are from 1, added up."""
    exponents = (*candidate.base_exponents, 1.0 if candidate.link is None else candidate.link)
    return round(sum(abs(1.0 - e) for e in exponents), 9)


def choose_link(recipe: Recipe, data: InMemoryDistances, names: Names, *, knots: bool, alpha: bool) -> tuple[Recipe, Choices]:
    """Choose the exponent of the link, and those of base distances, where the recipe leaves them open.

    Parameters
    ----------
    recipe : Recipe
    data : InMemoryDistances
    names : Schema, or sequence of str
    knots, alpha : bool
        Whether the number of knots and the strength of the penalty are yet to be chosen.

    Returns
    -------
    recipe : Recipe
        With a link, and a number for each base distance.
    choices : Choices
        What was compared.

    Raises
    ------
    InputError
        If there are too many features for any number of knots. Of too few pairs to hold some out a warning says what is taken.
    """
    given, link = recipe, is_chosen(recipe.link)
    bases = isinstance(recipe.base_exponents, str) and len(recipe.base_distances) > 0
    if isinstance(recipe.base_exponents, str):
        recipe = replace(recipe, base_exponents=(1.0,) * len(recipe.base_distances))
    if not (link or bases):
        return recipe, Choices()
    first = replace(recipe, link=PowerLink(1.0) if link else recipe.link)
    n_all, data = len(data.pairs), data.sampled(DISTANCES[recipe.effort].n_rows, recipe.random_state)
    held_out = HeldOutDistances(data, names)
    knots = knots and isinstance(recipe.knots, str)
    if knots:
        _check_width(given, replace(first, n_knots=_KNOTS[-1]), data, names)
    alphas = DISTANCES[recipe.effort].alphas[recipe.tables] if alpha and isinstance(recipe.penalty, str) else (recipe.alpha,)
    found: list[Candidate] = []
    try:
        for n_knots in _KNOTS if knots else (_fewer(recipe.n_knots),):
            trials = [Trial(replace(r, n_knots=n_knots), alphas) for r in _recipes(first, link=link, bases=bases)]
            if found := compare(held_out, trials, verbose=recipe.verbose):
                break
    except TooFewError as error:
        return uncompared(recipe, error, {"link": "identity"} if link else {"base_exponents": recipe.base_exponents}), Choices()
    if not found:
        raise too_wide(given)
    limits = DISTANCES["thorough"]
    judged = Judged("pairs", len(data.pairs), n_all, n_losses(found), n_fits(trials, limits.n_folds))
    choices = Choices(found, rule=least_loss_of_exponents, judged=judged)
    taken = choices.chosen
    chosen: Any = {"base_exponents": taken.base_exponents} if bases else {}
    chosen |= {"link": checked_link(PowerLink(taken.link or 1.0))} if link else {}
    return replace(recipe, **chosen), choices


def _check_width(given: Recipe, fewest: Recipe, data: InMemoryDistances, names: Names) -> None:
    """Refuse features that have too many weights with the fewest knots, before any second moments of theirs are computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
        structure = build_structure(fewest, data.items, names)
    check_width(given, structure)


def _fewer(n_knots: Any) -> Any:
    """Numbers of knots that are given, but no more than are compared."""
    if isinstance(n_knots, (int, np.integer)):
        return min(int(n_knots), _KNOTS[0])
    return [min(int(n), _KNOTS[0]) for n in n_knots]


def _recipes(first: Recipe, *, link: bool, bases: bool) -> list[Recipe]:
    """The recipes that are compared: every exponent of the link with every exponent that all base distances share."""
    n, made = len(first.base_distances), []
    for exponent in _EXPONENTS if link else (None,):
        linked = first if exponent is None else replace(first, link=PowerLink(exponent))
        made += [replace(linked, base_exponents=(e,) * n) for e in _EXPONENTS] if bases else [linked]
    return made
