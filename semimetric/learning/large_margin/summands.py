"""Three distances that are learned from the same labelled items, each in its own way, and what each says of new items.

    scales       sum over features |phi_f(x_f) - phi_f(y_f)|, by a large margin, with a table for every category (`fit`)
    components   |M phi(x) - M phi(y)|_1, by the votes of all items (`embeddings.directions.embedded_components`)
    forest       the share of trees that part x and y (`embeddings.directions.partitions`)

Their sum with weights >= 0 is one distance of the family, over the features followed by components and trees: `structure` has a
column for everything, and `weights` says what each of the three gives to the columns. Scales see one feature at a time and need
few items; components combine numbers smoothly; trees combine features of all kinds by steps.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._foundation.time_budget import Stopwatch
from ..._foundation.types import Floats, Integers
from ...data.schema import Schema
from ...embeddings.directions.from_labels import labelled_directions
from ...embeddings.directions.linear_directions import Directions
from ...embeddings.pairs.base import PairMap
from ..recipe import Recipe
from ..structure import Structure, build_structure
from .fit import LargeMarginResult, fit_large_margin
from .in_memory_items import InMemoryItems
from .labeled_items import LabeledDataset, LargeMargin

__all__ = ["MOST_FOR_SCALES", "Summand", "Summands", "learn_summands", "rows_of_classes"]

_KNOTS_OF_COMPONENTS = 2  # a component counts as it is: its scale is a straight line
_N_MAPS = {"fast": 1, "default": 1, "thorough": 4}  # of components, from as many seeds
MOST_FOR_SCALES = 2_000  # items that scales are learned from: a scale is a curve of few numbers


class Summand(NamedTuple):
    """One of the distances that are added, over some features of the structure of the sum.

    Attributes
    ----------
    embedding : PairMap
        Of these features alone.
    features : ndarray of int64
        Their numbers among the features of the sum.
    weights : ndarray of shape (n_columns,)
        On the columns of ``embedding``.
    """

    embedding: PairMap
    features: Integers
    weights: Floats

    def pairwise(self, x: Floats, y: Floats) -> Floats:
        """Distances of rows of features of the sum, shape (n_x, n_y)."""
        left, right = (self.embedding.locate(np.ascontiguousarray(side[:, self.features])) for side in (x, y))
        return self.embedding.pairwise(left, right, self.weights, n_jobs=1)


@dataclass(frozen=True, eq=False)
class Summands:
    """The distances that were learned.

    Parameters
    ----------
    scales : LargeMarginResult
    structure : Structure
        Of the sum: all raw features, components and trees.
    weights : dict of str to ndarray of shape (n_columns,)
        The weights of each distance on the columns of the sum, 0 on those of the others; "components" and "forest" are
        missing where there are none.
    seconds : dict of str to float
        How long each took to learn.
    """

    scales: LargeMarginResult
    structure: Structure
    weights: Mapping[str, Floats]
    seconds: Mapping[str, float]

    def parts(self) -> Iterator[tuple[str, Summand]]:
        """Each distance by its name."""
        embedding = self.structure.embedding
        for name, weights in self.weights.items():
            of_group = np.bincount(embedding.group_of_column, weights=weights != 0, minlength=len(embedding.groups))
            keep = np.flatnonzero(of_group)
            features = np.array(sorted({f for g in keep for f in embedding.groups[g]}), dtype=np.int64)
            if len(keep):
                columns = np.isin(embedding.group_of_column, keep)
                yield name, Summand(embedding.select(keep, features), features, weights[columns])


def learn_summands(
    recipe: Recipe,
    rule: LargeMargin,
    dataset: LabeledDataset,
    schema: Schema,
    *,
    wanted: Collection[str] = ("components", "forest"),
    n_jobs: int | None = None,
    most_for_scales: int | None = None,
) -> Summands:
    """Learn components, a forest and scales from the same items.

    Parameters
    ----------
    recipe : Recipe
        How scales are learned; its ``directions`` play no part.
    rule : LargeMargin
    dataset : LabeledDataset
    schema : Schema
    wanted : collection of str
        Which of "components" and "forest" are learned beside the scales.
    n_jobs : int or None
    most_for_scales : int or None, default None
        The most items that scales are learned from; None is 2,000.
    """
    plain = replace(recipe, directions=None, n_jobs=n_jobs)
    seconds: dict[str, float] = {}
    directions = _directions(plain, dataset, schema, wanted, seconds)
    watch = Stopwatch()
    alone = InMemoryItems(dataset).structure(plain, schema)
    with InMemoryItems(_sample(dataset, most_for_scales or MOST_FOR_SCALES, recipe.random_state)).searchable(
        plain, rule, alone
    ) as located:
        scales = fit_large_margin(plain, rule, alone, located)
    seconds["scales"] = watch.seconds
    learned = scales.passes[-1].solution.weights
    if directions is None:
        return Summands(scales, alone, {"scales": learned}, seconds)
    n_raw, n_linear = len(schema.features), directions.n_linear
    counts = [int(k) for k in np.broadcast_to(recipe.n_knots, n_raw)] + [_KNOTS_OF_COMPONENTS] * (n_linear + directions.n_trees)
    structure = build_structure(replace(plain, directions=directions, n_knots=counts), dataset.items, schema)
    weights = {"scales": _over(structure, alone, learned)}
    n_features = n_raw + n_linear + directions.n_trees
    for name, first, stop in (("components", n_raw, n_raw + n_linear), ("forest", n_raw + n_linear, n_features)):
        if stop > first:
            slopes = np.zeros(n_features)
            slopes[first:stop] = 1.0 if name == "components" else 1.0 / (stop - first)
            weights[name] = structure.embedding.prior(slopes)
    return Summands(scales, structure, weights, seconds)


def _sample(dataset: LabeledDataset, most: int, random_state: int | None) -> LabeledDataset:
    """The items, or a sample of about ``most`` of more, with the same share of every class."""
    rows = rows_of_classes(dataset, most, random_state)
    return dataset if len(rows) == len(dataset.labels) else dataset.take(rows)


def rows_of_classes(dataset: LabeledDataset, most: int, random_state: int | None) -> Integers:
    """The rows of about ``most`` items with the same share of every class, or of all, increasing."""
    n = len(dataset.labels)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(random_state)
    members = [rng.permutation(np.flatnonzero(dataset.labels == c)) for c in np.unique(dataset.labels)]
    return np.sort(np.concatenate([m[: int(np.ceil(most / n * len(m)))] for m in members]))


def _directions(
    recipe: Recipe, dataset: LabeledDataset, schema: Schema, wanted: Collection[str], seconds: dict[str, float]
) -> Directions | None:
    """Components and trees together, as far as they are wanted; None where there are neither. ``seconds`` are written down."""
    found: dict[str, Directions | None] = {"components": None, "forest": None}
    for name, kind in (("components", "nca-embedded"), ("forest", "forest")):
        if name in wanted:
            watch = Stopwatch()
            found[name] = labelled_directions(
                kind, dataset.items, dataset.labels, weight=dataset.weight, usable=schema.usable,
                random_state=recipe.random_state, n_jobs=recipe.n_jobs, n_maps=_N_MAPS[recipe.effort],
            )  # fmt: skip
            seconds[name] = watch.seconds
    components, trees = found["components"], found["forest"]
    if components is None or trees is None:
        return components or trees
    return Directions(components.matrix, components.names + trees.names, components.bends, trees.partitions)


def _over(structure: Structure, alone: Structure, weights: Floats) -> Floats:
    """Weights of the raw features alone on the columns of the sum, whose raw features have the same knots."""
    old, new = alone.embedding, structure.embedding
    of_old, of_new = old.group_of_column, new.group_of_column
    group = {g: k for k, g in enumerate(new.groups)}
    out = np.zeros(new.n_columns)
    for k, members in enumerate(old.groups):
        out[of_new == group[members]] = weights[of_old == k]
    return out
