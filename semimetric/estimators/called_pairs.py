"""The pairs of items on which an expensive distance is called to learn from: which ones, and what is kept of the calls."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._foundation.errors import SemimetricWarning
from .._foundation.types import Floats, Integers, Pairs
from ..data.pair_sampling import sample_pairs
from ..data.schema import Schema
from ..distances.callables import DistanceFunction
from ..embeddings.directions.fitted_directions import fit_directions
from ..learning.groups.selection import without_joint
from ..learning.recipe import Recipe
from ..learning.regression.selection import check_width
from ..learning.regression.wide import is_wide
from ..learning.structure import build_structure, check_varied
from .base import LearnedDistance
from .pair_rounds import draw_in_rounds

__all__ = ["CalledPairs"]


class CalledPairs(LearnedDistance):
    """The part of an approximator that draws pairs and calls the distance.

    Attributes
    ----------
    pairs_ : ndarray of shape (n_drawn, 2), int64
        Rows of the items, whatever ends a fit early.
    distances_ : ndarray of shape (n_drawn,)
        What the distance gave for them.
    """

    n_pairs: int | str
    max_calls: int
    near: float
    validation_fraction: Any
    pairs_: Integers
    distances_: Floats

    def _drawn(
        self, recipe: Recipe, items: Floats, learn: Integers, features: Floats, schema: Schema, function: DistanceFunction
    ) -> Floats:
        """The distances of pairs of items to learn from: as many as were asked for, or in rounds until more do not help."""
        if not isinstance(self.n_pairs, str):
            index = sample_pairs(features, self.n_pairs, near=self.near, random_state=self.random_state)
            return self._evaluated(function, Pairs(items, learn[index]), "items")

        def evaluate(rows: Integers) -> Floats:
            return self._evaluated(function, Pairs(items, learn[rows]), "items", more=True)

        budget = int((self.max_calls - 4) / (1 + 2 * self.validation_fraction))  # rows to judge by take as many as pairs
        auto = {name: isinstance(getattr(self, key), str) for name, key in (("knots", "n_knots"), ("alpha", "alpha"))}
        draw_in_rounds(recipe, items[learn], features, schema, evaluate, budget, self.near, auto)
        return self.distances_

    def _check_before_calls(self, recipe: Recipe, items: Floats, schema: Schema) -> None:
        """Refuse what cannot be learned whatever the distances are."""
        check_varied(items)
        if isinstance(self.n_knots, str) and isinstance(recipe.knots, str):
            recipe = replace(recipe, n_knots=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
            structure = build_structure(without_joint(recipe), items, schema)
        if self.chooses_numbers and not (isinstance(self.n_knots, str) and is_wide(recipe, structure)):
            check_width(recipe, structure)

    def _evaluated(self, function: DistanceFunction, pairs: Pairs, kind: str, *, more: bool = False) -> Floats:
        """Distances of the pairs; what was evaluated is kept even if it ends early, behind what was before if there is more."""
        done, nonnegative = [np.empty(0)], self.axioms is not None
        before = (self.distances_, self.pairs_) if more else (np.empty(0), np.empty((0, 2), np.int64))
        try:
            for block in function.stream(pairs, n_jobs=self.n_jobs, verbose=self.verbose, nonnegative=nonnegative, kind=kind):
                done.append(block)
        finally:
            found = np.concatenate(done)
            self.distances_ = np.concatenate([before[0], found])
            self.pairs_ = np.concatenate([before[1], pairs.index[: len(found)]])
        return found

    def _features(self, recipe: Recipe, items: Floats, schema: Schema) -> Floats:
        """The features by which near neighbours are drawn, shape (n_items, n_features): with linear directions, if any."""
        if not schema.plain:
            return schema.coordinates(items)
        directions = fit_directions(recipe.directions, items, names=schema.names, random_state=recipe.random_state)
        return items if directions is None else directions.append(items)[:, : items.shape[1] + directions.n_linear]
