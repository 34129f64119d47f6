"""Learning from more numbers than a table of every feature allows: the features are screened, and few of them learned from.

whole structure -> screening -> directions moved -> narrow pairs (what is kept as raw features) -> `fit_distances` -> whole

What is kept is learned exactly as any narrow problem. In the distance that comes of it, directions without a weight are left
out, and raw numbers that were not kept share one tiny multiple of the weighted L1 distance over all of them, which makes the
distance of different items positive; it is a share of 1e-6 (``delta``), where a floor under each weight would add up.
"""

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import SemimetricWarning, warn
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers, Pairs
from ...data.feature_groups import only_singles
from ...data.grid import Grid
from ...data.schema import Names, Schema
from ...distances.semimetric import Semimetric
from ...embeddings.directions.fitted_directions import fit_directions
from ...embeddings.directions.linear_directions import Directions
from ...embeddings.pairs.monotone_scales import WarpedEmbedding
from ...solvers.base import Solution
from ..candidates import Choices
from ..effort import wide
from ..guarantees import proved
from ..link_choices import is_chosen
from ..recipe import Recipe
from ..structure import Structure, build_structure
from .distance_data import InMemoryDistances
from .fit import fit_distances
from .moved_directions import moved
from .pair_targets import PairTargets
from .screening import Screened, sample, screen
from .selection import choose_numbers

__all__ = ["LearnedWide", "is_wide", "learn_wide"]

_MOST_FEATURES = 600  # numbers and directions that vary; of more the knots are not compared for each
_BLOCK = 1024  # items whose features are computed at once


class LearnedWide(NamedTuple):
    """What was learned from many features: the recipe and the choices of the narrow problem, the distance, and the solution."""

    recipe: Recipe
    choices: Choices
    semimetric: Semimetric
    solution: Solution


def learn_wide(recipe: Recipe, data: InMemoryDistances, names: Names, *, alpha: bool) -> LearnedWide | None:
    """Learn by screening; None where the features are few, or the recipe asks for what screening cannot give.

    Parameters
    ----------
    recipe : Recipe
        Whose numbers of knots are to be chosen.
    data : InMemoryDistances
    names : Schema, or sequence of str
        The schema of the table, or the names of numeric features.
    alpha : bool
        Whether the strength of the penalty is to be chosen too.
    """
    whole = _wide_structure(recipe, data, Schema.of(names)) if _allows_screening(recipe) else None
    if whole is None:
        return None
    targets = PairTargets.of(recipe, whole, data.pairs, data.y, data.weight)
    targets = sample(whole, targets, random_state=recipe.random_state)
    screened = screen(whole, targets, random_state=recipe.random_state)
    narrow = _moved(whole, screened, targets)
    near = narrow.data(data)
    asked = replace(recipe, directions=None, tables="warped", delta=0.0, effort=wide(recipe.effort))
    chosen, choices = choose_numbers(asked, near, narrow.schema, knots=True, alpha=alpha)
    structure = build_structure(chosen, near.items, narrow.schema)
    d, solution = fit_distances(chosen, structure, near.scaled(chosen, structure))
    used = replace(chosen, directions=narrow.directions, delta=recipe.delta, effort=recipe.effort)
    return LearnedWide(used, choices, proved(used, narrow.widened(d, recipe)), solution)


def _wide_structure(recipe: Recipe, data: InMemoryDistances, schema: Schema) -> Structure | None:
    """The structure of all features, with two knots each, if they are so many that they are screened."""
    if not schema.plain or (recipe.directions is None and len(schema.names) <= _MOST_FEATURES):
        return None
    directions = fit_directions(recipe.directions, data.items, names=schema.names, random_state=recipe.random_state)
    n_directions = 0 if directions is None else directions.n_linear
    if len(schema.names) + n_directions <= _MOST_FEATURES:
        return None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SemimetricWarning)
        whole = build_structure(replace(recipe, directions=directions, tables="warped", n_knots=2), data.items, schema)
    if not is_wide(recipe, whole):
        return None  # what learns from them otherwise warns of them
    for warning in said:
        warn(str(warning.message), cause="constant features")
    return whole


def is_wide(recipe: Recipe, structure: Structure) -> bool:
    """Whether the features of a structure are screened before anything is learned, rather than compared as they are."""
    grid = structure.embedding.grid
    return _allows_screening(recipe) and grid.plain and int(grid.varies.sum()) > _MOST_FEATURES


def _allows_screening(recipe: Recipe) -> bool:
    """Whether a recipe asks for single features, placed knots, a given link and a symmetric distance, and nothing beside."""
    metric = recipe.axioms == "semimetric" or (recipe.axioms == "metric" and recipe.tables == "warped")
    beside = len(recipe.constraints) > 0 or len(recipe.base_distances) > 0 or recipe.prior is not None
    return (
        metric and not beside and not is_chosen(recipe.link) and only_singles(recipe.groups) and isinstance(recipe.knots, str)
    )


def _moved(whole: Structure, screened: Screened, targets: PairTargets) -> "_Narrow":
    """The problem of what was kept, moved and made directions if directions were given and that gains."""
    narrow = _Narrow(whole, screened.kept)
    if whole.directions is None or whole.directions.bends:
        return narrow
    rows = np.vstack([np.eye(whole.n_raw)[narrow.raw], whole.directions.matrix[narrow.rows]])
    found = moved(rows / whole.embedding.grid.widths[narrow.kept, None], targets, screened)
    if found is None:
        return narrow
    combining = np.flatnonzero(np.abs(found).max(axis=1) > 0)
    names = tuple(f"{narrow.schema.names[k]} moved" for k in combining)
    directions = Directions(found[combining], names)
    return _Narrow(replace(whole, directions=directions), whole.n_raw + np.arange(len(names)))


@dataclass(frozen=True, eq=False)
class _Narrow:
    """The problem of the kept features of a structure.

    Parameters
    ----------
    whole : Structure
        Of numbers alone; its grid has the range of every raw feature.
    kept : ndarray of int, increasing
        The numbers of the kept features: raw ones, then directions.
    """

    whole: Structure
    kept: Integers

    @property
    def raw(self) -> Integers:
        """The kept raw features."""
        return self.kept[self.kept < self.whole.n_raw]

    @property
    def rows(self) -> Integers:
        """The kept directions by their numbers among all directions."""
        return self.kept[self.kept >= self.whole.n_raw] - self.whole.n_raw

    @property
    def directions(self) -> Directions | None:
        """The kept directions."""
        return None if self.whole.directions is None else self.whole.directions.select(self.rows)

    @property
    def schema(self) -> Schema:
        """The schema of the kept features."""
        features, rows = self.whole.schema.features, self.rows
        names = [] if self.whole.directions is None else [self.whole.directions.names[r] for r in rows]
        return Schema((*(features[f] for f in self.raw), *Schema.numeric(names).features))

    def data(self, data: InMemoryDistances) -> InMemoryDistances:
        """The same pairs over the kept features."""
        items, directions = data.pairs.items, self.directions
        out = np.empty((len(items), len(self.kept)))
        for block in blocks(len(items), _BLOCK):
            features = items[block] if directions is None else directions.append(items[block])
            out[block] = features[:, np.append(self.raw, np.arange(items.shape[1], features.shape[1]))]
        return InMemoryDistances(Pairs(out, data.pairs.index), data.y, data.weight)

    def widened(self, d: Semimetric, recipe: Recipe) -> Semimetric:
        """The distance over all raw features, of one over the kept ones."""
        assert isinstance(d.embedding, WarpedEmbedding)  # numbers alone have scales
        rises = np.split(d.weights, np.flatnonzero(np.diff(d.embedding.group_of_column)) + 1)
        of_kept = {int(f): k for k, f in enumerate(self.kept)}
        least = recipe.delta * float(d.weights.mean())
        n_raw, grid = self.whole.n_raw, self.whole.embedding.grid
        wanted = [int(f) for f in self.rows + n_raw if rises[of_kept[int(f)]].any()]
        knots, weights, slopes = [], [], []
        for f in [*range(n_raw), *wanted]:
            place = of_kept.get(f)
            found = grid.knots[f] if place is None else d.embedding.grid.knots[place]
            rise = np.zeros(len(found) - 1) if place is None else rises[place]
            span = float(found[-1] - found[0]) or 1.0
            knots.append(found)
            weights.append(np.maximum(rise, least) if f < n_raw else rise)
            slopes.append(np.maximum(0.0 if place is None else d.epsilon[place], [least / span if f < n_raw else 0.0] * 2))
        rows = np.array(wanted, dtype=np.int64) - n_raw
        directions = None if self.whole.directions is None else self.whole.directions.select(rows)
        embedding = WarpedEmbedding(Grid(knots))
        values: Floats = np.concatenate(weights)
        return Semimetric(
            embedding, values, np.array(slopes), self.whole.names, directions, (), d.link, self.whole.schema
        )  # fmt: skip
