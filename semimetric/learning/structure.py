"""What is decided and prepared before any weight is learned: the structure of a distance, and pairs with targets.

Targets are divided by their mean, so penalties, thresholds and delta do not depend on the unit of the distance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats, Integers, Pairs
from ..data.feature_groups import resolve_groups
from ..data.grid import Grid
from ..data.knots import knot_counts
from ..data.schema import Names, Schema
from ..distances.base_distances import base_functions
from ..distances.callables import DistanceFunction
from ..embeddings.directions.linear_directions import Directions, fit_directions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.gower import GapEmbedding
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import scales_of
from ..embeddings.pairs.triangle_inequality import Triangles
from ..programs.design_matrix import PairDesign
from .recipe import Recipe

__all__ = ["Structure", "Task", "build", "check_varied", "ends", "make_task"]

_MOST_KNOTS = np.iinfo(np.uint16).max
_UNITS = (1e-290, 1e290)  # of the mean target: beyond, weights in the user's units overflow or lose their digits


@dataclass(frozen=True, eq=False)
class Structure:
    """What is decided before the weights: names, directions, the embedding and the base distances."""

    names: tuple[str, ...]
    directions: Directions | None
    embedding: PairMap
    bases: tuple[DistanceFunction, ...]
    schema: Schema

    @property
    def n_raw(self) -> int:
        """Number of raw features."""
        return len(self.names)

    def over(self, recipe: Recipe, grid: Grid) -> "Structure":
        """The same columns over other knots."""
        return replace(self, embedding=_embedding(recipe, grid, self.embedding.groups))


def build(recipe: Recipe, items: Floats, names: Names) -> Structure:
    """Directions, grid and embedding for ``items`` (n_items, n_features).

    Parameters
    ----------
    recipe : Recipe
    items : ndarray of shape (n_items, n_features), float64
        As the schema encodes them.
    names : Schema, or sequence of str
        The schema of the table, or the names of numeric features.
    """
    schema = Schema.of(names)
    directions = fit_directions(
        recipe.directions, items, names=schema.names, random_state=recipe.random_state, usable=schema.usable
    )
    features = directions.append(items) if directions else items
    embedded = schema if directions is None else schema.extended(directions.names, directions.uses)
    groups = resolve_groups(recipe.groups, features.shape[1], embedded.names)
    grid = _grid(recipe, features, embedded, groups)
    if not (recipe.base_distances or any(grid.varies[f] for group in groups for f in group)):
        raise InputError("every feature that groups= names is constant; at least one that differs is required: name others")
    bases = base_functions(recipe.base_distances, items, schema)
    return Structure(
        schema.names, directions, _tied(recipe, _embedding(recipe, grid, groups), schema.names, directions), bases, schema
    )


def _grid(recipe: Recipe, features: Floats, schema: Schema, groups: Sequence[tuple[int, ...]]) -> Grid:
    """Knots placed among the features, or as they are given."""
    if isinstance(recipe.knots, str):
        n_knots = recipe.n_knots
        if recipe.joint.n_knots is not None:
            n_knots = _with_joint(knot_counts(n_knots, features.shape[1], _MOST_KNOTS), groups, recipe.joint.n_knots)
        return Grid.fit_encoded(
            features, schema, n_knots=n_knots, strategy=recipe.knots, random_state=recipe.random_state, names=schema.names
        )
    if len(recipe.knots) != features.shape[1]:
        raise InputError(f"knots are given for {len(recipe.knots)} features, but there are {features.shape[1]}")
    return Grid([f.whole_knots(k) for f, k in zip(schema.features, recipe.knots, strict=True)], schema.kinds, schema.missing)


def _with_joint(counts: Integers, groups: Sequence[tuple[int, ...]], n_joint: int) -> list[int]:
    """Numbers of knots, ``n_joint`` for features of groups of several."""
    joint = {f for group in groups if len(group) > 1 for f in group}
    return [n_joint if f in joint else int(k) for f, k in enumerate(counts)]


def _embedding(recipe: Recipe, grid: Grid, groups: Sequence[tuple[int, ...]]) -> PairMap:
    if recipe.tables == "warped":
        return scales_of(grid, groups)
    embedding = PairEmbedding(grid, groups, symmetry=recipe.symmetry_of_columns, zero_diagonal=recipe.axioms is not None)
    if recipe.asks_triangle:
        Triangles.of(embedding)  # refuses what cannot be proved, before any work
    return embedding


def _tied(recipe: Recipe, embedding: PairMap, names: Sequence[str], directions: Directions | None) -> PairMap:
    """The embedding with the columns tied that constraints tie."""
    features = set().union(*(shape.ties(embedding, names, directions) for shape in recipe.constraints))
    if not features:
        return embedding
    if not isinstance(embedding, PairEmbedding):
        raise NotSupportedError('TranslationInvariant ties tables, and scales are not tables; use tables="full"')
    return embedding.tied_by_difference(features)


def check_varied(items: Floats) -> None:
    """Refuse items that are all the same."""
    if not np.ptp(items, axis=0).any():
        raise InputError(
            f"all {items.shape[1]} features are constant over the {len(items)} items of the pairs; items that differ in at "
            "least one are required: give other items, or other columns"
        )


@dataclass(frozen=True, eq=False)
class Task:
    """Pairs with targets in units of their mean, ready for any structure.

    ``target`` is y (y² for the square-root link) divided by ``unit``; ``scale`` multiplies rows of a relative loss.
    """

    pairs: Pairs
    target: Floats
    weight: Floats
    base: Floats | None
    unit: float
    scale: Floats | None

    def take(self, rows: Integers) -> "Task":
        """Some of the pairs, weights summing to 1."""
        part = [None if a is None else a[rows] for a in (self.base, self.scale)]
        weight = self.weight[rows] / self.weight[rows].sum()
        return replace(self, pairs=self.pairs.take(rows), target=self.target[rows], weight=weight, base=part[0], scale=part[1])

    @property
    def scaled(self) -> Floats:
        """Targets of the scaled rows."""
        return self.target if self.scale is None else self.target * self.scale

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> PairDesign:
        """Rows of ``embedding`` for these pairs."""
        return PairDesign(embedding, self.pairs, structure.directions, self.base, self.scale, n_jobs)


def make_task(
    recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats, *, unit: float | None = None
) -> Task:
    """Targets in units of their mean, or in ``unit``; base distances are evaluated once. Every weight is > 0.

    Raises
    ------
    InputError
        If targets (squared for the square-root link) are too large or too small for floating point.
    """
    with np.errstate(over="ignore", under="ignore"):
        target = y * y if recipe.link == "sqrt" else y
        unit = float((weight / weight.sum()) @ np.abs(target)) if unit is None else unit
        if not _UNITS[0] < unit < _UNITS[1]:
            squares = 'their squares, which link="sqrt" learns, ' if recipe.link == "sqrt" else ""
            raise InputError(
                f"the distances reach {np.abs(y).max():g}, and {squares}have the mean {unit:g}; between {_UNITS[0]:g} and "
                f"{_UNITS[1]:g} is required: rescale the distances"
            )
        target = target / unit
    base = None
    if structure.bases:
        columns = [f.evaluate(pairs, n_jobs=recipe.n_jobs, verbose=recipe.verbose) for f in structure.bases]
        values = np.column_stack(columns)
        base = (values * values if recipe.link == "sqrt" else values) / unit
    scale = None
    if recipe.relative is not False:
        floor = 0.1 if recipe.relative is True else float(recipe.relative)
        scale = 1.0 / np.maximum(np.abs(target), floor)
    return Task(pairs, target, weight, base, unit, scale)


def ends(structure: Structure) -> PairMap:
    """One column a feature that varies: those of the weighted L1 distance, two knots each, or of Gower's distance."""
    grid = structure.embedding.grid
    return WarpedEmbedding(grid.ends) if grid.plain else GapEmbedding(grid)
