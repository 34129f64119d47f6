"""The check of a recipe that is learned from data in parts."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ..._foundation.errors import NotSupportedError
from ...data.feature_groups import automatic
from ..learning.items import LargeMargin
from ..learning.measured import check_sums_impose
from ..learning.options import Recipe, refuse_open_links
from ..learning.settings import Tables
from ..programs.losses import resolve_loss
from ..solvers.auto import resolve_solver
from ..solvers.first_order import FirstOrder
from ..solvers.gram import Gram
from ..solvers.interior_point import InteriorPoint
from ..solvers.newton import Newton

_BY_SUMS = (Gram, Newton, InteriorPoint, FirstOrder)  # they ask for products and second moments alone
_SAMPLE = "fit on a sample, and take"


def item_bytes(recipe: Recipe, triplets: LargeMargin, n_features: int) -> int:
    """Return the bytes of an item while its part is in work: its vectors, and the rows of its targets and impostors."""
    knots = recipe.knots
    most = np.max(np.asarray(recipe.n_knots)) if isinstance(knots, str) else max(len(np.asarray(k)) for k in knots)
    n_pairs = triplets.n_targets + triplets.n_impostors
    n = n_features + _n_directions(recipe.directions, n_features)
    return int(n_pairs * n * (8 * most + 32) + 100 * n + 500)


def _n_directions(directions: Any, n_features: int) -> int:
    """Return the most directions that parts can have: as many components as features, or the given rows."""
    if directions is None:
        return 0
    rows = getattr(directions, "matrix", getattr(directions, "components_", directions))
    return len(rows) if hasattr(rows, "__len__") and not isinstance(rows, str) else n_features


def refuse_parts(model: Any) -> NotSupportedError:
    """Return the error of a learner that does not learn from parts."""
    return NotSupportedError(
        f"{type(model).__name__} learns from all its data at once; DistanceRegressor, PairLearner, TripletLearner, "
        "QuadrupletLearner and LargeMarginLearner learn from parts: use one of these, or fit on a sample that fits into memory"
    )


def check_choices(model: Any, by_comparing: Collection[str] = ()) -> None:
    """Refuse parameters that need all data at once: "auto", directions of these names, kinds of features, groups."""
    if any(model.auto_numbers.values()):
        raise NotSupportedError(
            f'parts cannot be held out; give numbers for n_knots= and alpha=, not "auto": {_SAMPLE} the numbers of its recipe_ '
            "with its tables and link"
        )
    if isinstance(model.directions, str) and model.directions in by_comparing:
        raise NotSupportedError(
            f'directions={model.directions!r} compares all data at once; give None, "pca" or a matrix: {_SAMPLE} '
            "semimetric_.directions"
        )
    if not model.only_numbers:
        raise NotSupportedError("parts hold features of numbers only; columns= of other kinds need fit on data in memory")
    groups = Tables.of(model.tables).groups
    if automatic(groups) is not None:
        raise NotSupportedError(f"groups={groups!r} compares candidates on data held out; {_SAMPLE} the groups_")


def check_recipe(recipe: Recipe, *, compares_tables: bool = False) -> Recipe:
    """Return the recipe, after refusing what cannot be learned part by part; ``compares_tables`` is True for "auto"."""
    if compares_tables:
        raise NotSupportedError(
            f'tables="auto" compares both on items held out; give "warped" or "full": {_SAMPLE} that of its recipe_'
        )
    refuse_open_links(recipe, "parts cannot be held out")
    check_solved_by_sums(recipe)
    return recipe


def check_solved_by_sums(recipe: Recipe) -> None:
    """Refuse recipes that need all rows at once."""
    loss = resolve_loss(recipe.loss)
    check_sums_impose(recipe, "learning from parts", "on a sample that fits into memory")
    solver = resolve_solver(recipe.solver)
    takes = [s for s in _BY_SUMS if loss.quadratic or s is not Gram]
    if solver is not None and not isinstance(solver, tuple(takes)):
        names = ", ".join(s.__name__ for s in takes)
        raise NotSupportedError(
            f'{type(solver).__name__} needs all rows at once; {names} learn from parts: use Program(solver="auto")'
        )
    if recipe.axioms is None and not loss.quadratic:
        raise NotSupportedError(
            f"axioms=None leaves weights free, and with the loss {type(loss).__name__} only Reference takes those, all rows at "
            'once; use loss="squared", or fit on a sample that fits into memory'
        )
