"""The structure of a distance, which a recipe and the items decide before any weight is learned.

items -> directions -> grid -> groups -> embedding, base distances

A structure is built once for the final fit. Where "auto" compares numbers of knots, directions or groups, every candidate has
one of its own, so this module is entered again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats, Integers
from ...data.calls import UserDistance
from ...data.feature_groups import common_size, resolve_groups
from ...data.grid import Grid
from ...data.knots import MOST_KNOTS, knot_counts, knots_of_values
from ...data.schema import Names, Schema
from ..features.fitted_directions import fit_directions
from ..features.linear_directions import Directions, with_directions
from ..model.base_distances import base_functions
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..pairs.gower import GapEmbedding
from ..pairs.monotone_scales import WarpedEmbedding
from ..pairs.scales_and_tables import MixedEmbedding, scales_of
from ..pairs.shared_table import SharedTable
from ..pairs.triangle_inequality import Triangles
from .options import Recipe

_RANGES = (1e-305, 1e305)  # of features, over which slopes are numbers
_LEAST_GAP = 1e-6  # of the range, between knots that every feature has across its own
_MOST_VALUES = 20_000  # of all features together, among which the knots of a table are placed that they share


@dataclass(frozen=True, eq=False)
class Structure:
    """Grid, directions and embedding of a distance, before its weights are learned."""

    names: tuple[str, ...]  # names of the raw features
    directions: Directions | None  # the linear features that join the raw ones
    embedding: PairMap  # the columns of a pair, over raw features followed by directions
    bases: tuple[UserDistance, ...]  # base distances, whose columns follow those of the embedding
    schema: Schema  # the kind of every raw feature

    @property
    def n_raw(self) -> int:
        """The number of raw features; the features of directions follow them."""
        return len(self.names)

    @property
    def is_raw(self) -> NDArray[np.bool_]:
        """True for groups of the embedding with a raw feature, shape (n_groups,)."""
        return np.array([any(f < self.n_raw for f in group) for group in self.embedding.groups])

    def features_of(self, items: Floats) -> Floats:
        """The items followed by their directions, shape (n_items, n_features + n_directions)."""
        return with_directions(self.directions, items)

    def with_grid(self, recipe: Recipe, grid: Grid) -> "Structure":
        """The same groups of features over the knots of another grid."""
        embedding = _embedding(recipe, grid, self.embedding.groups)
        return replace(self, embedding=_with_trees(embedding, len(self.names), self.directions))


def build_structure(recipe: Recipe, items: Floats, names: Names) -> Structure:
    """Fit directions, place knots and lay out the columns for items of shape (n_items, n_features).

    ``items``: shape (n_items, n_features); as the schema encodes them. ``names``: the schema of the table, or the names of
    numeric features.
    """
    schema = Schema.of(names)
    directions = fit_directions(
        recipe.directions, items, names=schema.names, random_state=recipe.random_state, usable=schema.usable
    )
    features = with_directions(directions, items)
    embedded = schema if directions is None else directions.extended(schema)
    groups = _groups(recipe, embedded, 0 if directions is None else directions.n_trees)
    grid = _grid(recipe, features, embedded, groups)
    _check_ranges(grid, embedded.names)
    if not (recipe.base_distances or any(grid.varies[f] for group in groups for f in group)):
        raise InputError("every feature that groups= names is constant; at least one that differs is required: name others")
    bases = base_functions(recipe.base_distances, items, schema)
    embedding = _with_trees(_embedding(recipe, grid, groups), len(schema.names), directions)
    return Structure(schema.names, directions, _tied(recipe, embedding, schema.names, directions), bases, schema)


def _groups(recipe: Recipe, embedded: Schema, n_trees: int) -> tuple[tuple[int, ...], ...]:
    """The groups of features and directions; groups of a size leave out trees, which combine features already."""
    n = len(embedded.names)
    if not n_trees or common_size(recipe.groups, n - n_trees) is None:
        return resolve_groups(recipe.groups, n, embedded.names)
    return (*resolve_groups(recipe.groups, n - n_trees), *((f,) for f in range(n - n_trees, n)))


def _with_trees(embedding: PairMap, n_raw: int, directions: Directions | None) -> PairMap:
    """The embedding with one weight for each tree, unless trees have tables between their leaves."""
    if directions is None or directions.partitions is None or not directions.partitions.tied:
        return embedding
    assert isinstance(embedding, (PairEmbedding, MixedEmbedding))  # a tree is categorical, so scales alone do not do
    first = n_raw + directions.n_linear
    return embedding.with_one_weight(set(range(first, first + directions.n_trees)))


def _check_ranges(grid: Grid, names: Sequence[str]) -> None:
    wrong = np.flatnonzero(grid.varies & ~((grid.widths > _RANGES[0]) & (grid.widths < _RANGES[1])))
    if len(wrong):
        raise InputError(
            f"feature {names[wrong[0]]!r} has a range of {grid.widths[wrong[0]]:g}; between {_RANGES[0]:g} and {_RANGES[1]:g} "
            "is required: rescale it"
        )


def _grid(recipe: Recipe, features: Floats, schema: Schema, groups: Sequence[tuple[int, ...]]) -> Grid:
    if recipe.tables == "shared" and isinstance(recipe.knots, str):
        return _shared_grid(recipe, features, schema)
    if isinstance(recipe.knots, str):
        n_knots = recipe.n_knots
        if recipe.joint.n_knots is not None:
            n_knots = _with_joint(knot_counts(n_knots, features.shape[1], MOST_KNOTS), groups, recipe.joint.n_knots)
        return Grid.fit_encoded(
            features, schema, n_knots=n_knots, strategy=recipe.knots, random_state=recipe.random_state, names=schema.names
        )
    if len(recipe.knots) != features.shape[1]:
        raise InputError(f"knots are given for {len(recipe.knots)} features, but there are {features.shape[1]}")
    return Grid([f.whole_knots(k) for f, k in zip(schema.features, recipe.knots, strict=True)], schema.kinds, schema.missing)


def _shared_grid(recipe: Recipe, features: Floats, schema: Schema) -> Grid:
    """The same knots for all features, at centers of clusters of their values on a scale that is half value and half rank.

    Values alone leave few knots where most of them lie, and ranks alone leave none for large ones, which differ most. Under
    factors every feature has these knots across its own range.
    """
    if not schema.plain:
        other = next(f for f in schema.features if f.kind != "numeric" or f.missing or f.time)
        kind = f"{'a time' if other.time else other.kind}{' that may be missing' if other.missing else ''}"
        raise NotSupportedError(
            f'tables="shared" has one table of all features, and {other.name!r} is {kind}; numbers that are all there are '
            'required: use tables="full"'
        )
    if not may_pool(features):
        raise InputError(
            f"all features together have a range of {_pooled_range(features):g}; between {_RANGES[0]:g} and {_RANGES[1]:g} is "
            'required by tables="shared": rescale them, or use tables="full"'
        )
    low, width = np.zeros(features.shape[1]), np.ones(features.shape[1])
    if recipe.column_factors is not None:
        low, width = features.min(axis=0), np.ptp(features, axis=0)
        width = np.where(width > 0.0, width, 1.0)
    values = ((features - low) / width).ravel()
    if len(values) > _MOST_VALUES:
        drawn = np.random.default_rng(recipe.random_state).choice(len(values), _MOST_VALUES, replace=False)
        values = np.concatenate([values[drawn], [values.min(), values.max()]])
    values = np.sort(values)
    ranks = np.searchsorted(values, values)
    scale = (values - values[0]) / (values[-1] - values[0]) + ranks / ranks[-1]
    (count,) = knot_counts(recipe.n_knots, 1, MOST_KNOTS)
    knots = np.unique(np.interp(knots_of_values(scale, int(count), "kmeans"), scale, values))
    if recipe.column_factors is not None:  # many values may be all but 0, whose differences are lost beside other numbers
        knots = knots[np.append(True, np.diff(knots) > _LEAST_GAP * np.ptp(knots))]
        knots[-1] = values[-1]
    return Grid([start + knots * size for start, size in zip(low, width, strict=True)])


def _pooled_range(features: Floats) -> float:
    """The range of the values of all features together, infinite where that is no number."""
    with np.errstate(over="ignore"):
        return float(features.max() - features.min())


def may_pool(features: Floats) -> bool:
    """Return True if the values of all features together have a range over which slopes are numbers."""
    return _RANGES[0] < _pooled_range(features) < _RANGES[1]


def _with_joint(counts: Integers, groups: Sequence[tuple[int, ...]], n_joint: int) -> list[int]:
    joint = {f for group in groups if len(group) > 1 for f in group}
    return [n_joint if f in joint else int(k) for f, k in enumerate(counts)]


def _embedding(recipe: Recipe, grid: Grid, groups: Sequence[tuple[int, ...]]) -> PairMap:
    if recipe.tables == "warped":
        return scales_of(grid, groups)
    if recipe.tables == "shared":
        zero = recipe.axioms is not None
        return SharedTable(grid, recipe.column_factors, symmetry=recipe.symmetry_of_columns, zero_diagonal=zero)
    embedding = PairEmbedding(grid, groups, symmetry=recipe.symmetry_of_columns, zero_diagonal=recipe.axioms is not None)
    if recipe.asks_triangle:
        Triangles.of(embedding)  # refuses what cannot be proved, before any work
    return embedding


def _tied(recipe: Recipe, embedding: PairMap, names: Sequence[str], directions: Directions | None) -> PairMap:
    features = set().union(*(shape.ties(embedding, names, directions) for shape in recipe.constraints))
    if not features:
        return embedding
    if not isinstance(embedding, PairEmbedding):
        raise NotSupportedError('TranslationInvariant ties tables, and scales are not tables; use tables="full"')
    return embedding.tied_by_difference(features)


def check_varied(items: Floats) -> None:
    """Refuse items that are all the same; a missing value differs from every value that is there."""
    if not any(_varies(column) for column in items.T):
        raise InputError(
            f"all {items.shape[1]} features are constant over the {len(items)} items; items that differ in at "
            "least one are required: give other items, or other columns"
        )


def _varies(column: Floats) -> bool:
    """Return True if a feature has two different values, a missing one being a value of its own."""
    first = column[0]
    return bool((~np.isnan(column)).any() if np.isnan(first) else (column != first).any())


def l1_embedding(structure: Structure) -> PairMap:
    """The embedding of the weighted L1 distance, or of Gower's: one column for every feature that varies, two knots each.

    Features that share a table share the column.
    """
    grid = structure.embedding.grid
    if isinstance(structure.embedding, SharedTable):
        return SharedTable(grid.ends, structure.embedding.factors)
    return WarpedEmbedding(grid.ends) if grid.plain else GapEmbedding(grid)
