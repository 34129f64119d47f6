"""Measured distances in units of their mean, and what learning needs of them.

Targets are divided by their mean, so that penalties, thresholds and delta do not depend on the unit of the distance.
Learning needs sums over the pairs and a design matrix of their rows, so that the pairs can also lie in parts that no process
holds at once: `out_of_core` has the classes for these.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers, Pairs
from ...distances.links import Link, link_function
from ...distances.semimetric import Semimetric
from ...embeddings.pairs.base import PairMap
from ...programs.design_matrix import Design, PairDesign
from ...programs.losses import Loss, Squared
from ...programs.moments import Moments
from ...solvers.base import Solution
from ..assembly import count_out_of_range, warn_out_of_range
from ..given_prior import best_multiple, given_distances
from ..kept_columns import keeps_all_vertices, vertices_of_pairs
from ..prior import L1Prior
from ..recipe import Recipe
from ..structure import Structure, l1_embedding
from ..training_tuples import TrainingTuples
from .linked_targets import LinkedTargets, sum_unit

__all__ = ["DistanceRows", "GivenDistances", "Outline", "PairTargets", "ScaledDistances", "SolvableSums"]

_MOST_EXAMPLES = 8  # pairs


class Outline(NamedTuple):
    """What decides the columns of a structure.

    Attributes
    ----------
    l1_moments : Moments
        Second moments of the columns of the weighted L1 distance.
    vertices : list of ndarray or None
        The vertices that the pairs touch, by group; None where every vertex is a column.
    out_of_range : ndarray of shape (n_features,) or None
        How many items lie outside the knots of each feature; None where the knots cover all of them.
    """

    l1_moments: Moments
    vertices: list[Integers] | None
    out_of_range: Integers | None


class DistanceRows(NamedTuple):
    """The rows of all pairs: the design matrix of shape (n_pairs, n), targets and weights of shape (n_pairs,)."""

    design: Design
    target: Floats
    weight: Floats


class GivenDistances(NamedTuple):
    """What is known of pairs in the user's unit.

    Attributes
    ----------
    y : ndarray of shape (n_pairs,)
        Their distances.
    values : ndarray of shape (n_pairs, n_base_distances) or None
        The values of base distances.
    """

    y: Floats
    values: Floats | None

    def take(self, rows: Integers) -> "GivenDistances":
        """Some of the pairs."""
        return GivenDistances(self.y[rows], None if self.values is None else self.values[rows])

    def powers(self, recipe: Recipe, unit: float) -> Floats | None:
        """The terms of base distances in a unit of the sum, shape (n_pairs, n_base_distances); None without any."""
        if self.values is None:
            return None
        with np.errstate(over="ignore", under="ignore"):
            terms = self.values ** np.array(recipe.base_powers) / unit
        if not np.isfinite(terms).all():
            raise InputError(
                f"base distances reach {self.values.max():g}, whose power {max(recipe.base_powers):g} overflows; give smaller "
                "exponents by base_exponents=, or rescale them"
            )
        return np.asarray(terms)


class SolvableSums(Protocol):
    """Sums over all pairs that a distance can be learned from."""

    def solve(self, recipe: Recipe) -> tuple[Semimetric, Solution]:
        """Learn the distance, with the solution in units of the mean target."""


class ScaledDistances(ABC):
    """Pairs with measured distances in units of their mean.

    Attributes
    ----------
    unit : float
        The mean target, in the user's unit (its square for the link "sqrt").
    note : str
        What a solution says of where the pairs lie.
    """

    unit: float
    note = ""

    @property
    @abstractmethod
    def examples(self) -> Pairs:
        """A few of the pairs, one at least."""

    @abstractmethod
    def sums(self, recipe: Recipe, structure: Structure) -> SolvableSums | None:
        """Sums over all pairs from which the distance is learned; None where a solver takes the rows instead."""

    @abstractmethod
    def outline(self, recipe: Recipe, structure: Structure) -> Outline:
        """The sums over all pairs that decide which columns a structure has."""

    @abstractmethod
    def rows(self, recipe: Recipe, structure: Structure) -> DistanceRows:
        """The rows of the columns of ``structure``."""

    def prior(self, recipe: Recipe, structure: Structure, fitted: L1Prior) -> L1Prior:
        """The prior to shrink towards, given the one that was fitted; of pairs in parts no other is taken."""
        return fitted


@dataclass(frozen=True, eq=False)
class PairTargets(TrainingTuples, ScaledDistances):
    """Pairs in memory with targets in units of their mean, ready for any structure.

    Parameters
    ----------
    tuples : Pairs
    target : ndarray of shape (n_pairs,)
        The sums that have the distances, which are squares for the link "sqrt", divided by ``unit``.
    weight : ndarray of shape (n_pairs,)
    base : ndarray of shape (n_pairs, n_base_distances) or None
        Values of the base distances, in the same unit.
    unit : float
        The mean target, in the user's unit.
    scale : ndarray of shape (n_pairs,) or None
        Multiplies rows and targets of a relative loss, and of a link (`linked_targets`).
    given : GivenDistances
        The distances and the values of base distances as they are.
    link : Link or None
        The link, if it multiplies rows.
    slopes : ndarray of shape (n_pairs,) or None
        The slopes of that link at the targets.
    """

    tuples: Pairs
    target: Floats
    weight: Floats
    base: Floats | None
    unit: float
    scale: Floats | None
    given: "GivenDistances"
    link: Link | None = None
    slopes: Floats | None = None
    quick_loss: ClassVar[Loss] = Squared()

    @classmethod
    def of(
        cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats, *, unit: float | None = None
    ) -> "PairTargets":
        """Put targets into units of their mean, or of ``unit``, and evaluate base distances once.

        Parameters
        ----------
        recipe : Recipe
        structure : Structure
            Only its base distances are used.
        pairs : Pairs
        y : ndarray of shape (n_pairs,)
            The distances.
        weight : ndarray of shape (n_pairs,)
            Weights > 0.
        unit : float or None

        Raises
        ------
        InputError
            If targets (squared for the link "sqrt") are too large or too small for floating point.
        """
        values = None
        if structure.bases:
            columns = [f.evaluate(pairs, n_jobs=recipe.n_jobs, verbose=recipe.verbose) for f in structure.bases]
            values = np.column_stack(columns)
        return cls._made(recipe, pairs, weight, GivenDistances(y, values), unit)

    @classmethod
    def _made(cls, recipe: Recipe, pairs: Pairs, weight: Floats, given: "GivenDistances", unit: float | None) -> "PairTargets":
        made = LinkedTargets.of(recipe, given.y, weight, unit)
        base = given.powers(recipe, made.unit)
        return cls(pairs, made.target, weight, base, made.unit, made.scale, given, made.link, made.slopes)

    def under(self, recipe: Recipe) -> "PairTargets":
        """The same pairs in the same unit of distances, for a recipe with another link or other exponents of base distances."""
        old = link_function("identity") if self.link is None else self.link
        mean = float(old.apply(np.array(self.unit)))
        unit = self.unit if recipe.link == "sqrt" else sum_unit(recipe.link, mean, mean)
        return self._made(recipe, self.tuples, self.weight, self.given, unit)

    def errors(self, products: Floats) -> Floats:
        """The residuals of the direct loss for products of rows and weights, shape (n_pairs,).

        Without a link that multiplies rows these are the products less the targets.
        """
        if self.link is None or self.scale is None or self.slopes is None:
            return products - self.targets
        sums = np.maximum(products / self.scale, 0.0)
        found, wanted = (self.link.apply(s * self.unit) for s in (sums, self.target))
        mean = float(self.link.apply(np.array(self.unit)))
        return (found - wanted) / mean * (self.scale / self.slopes)

    @property
    def targets(self) -> Floats:
        """The targets of the rows, scaled as they are; shape (n_pairs,)."""
        return self.target if self.scale is None else self.target * self.scale

    @property
    def examples(self) -> Pairs:
        """The first pairs, over items of their own: what a distance keeps of its pairs."""
        index = self.tuples.index[:_MOST_EXAMPLES]
        rows, place = np.unique(index, return_inverse=True)
        return Pairs(self.tuples.items[rows], place.reshape(index.shape))

    def take(self, rows: Integers) -> "PairTargets":
        """Some of the pairs, their weights again summing to 1."""
        base, scale, slopes = (None if a is None else a[rows] for a in (self.base, self.scale, self.slopes))
        weight, given = self.weight[rows] / self.weight[rows].sum(), self.given.take(rows)
        parts = {"tuples": self.tuples.take(rows), "target": self.target[rows], "weight": weight, "base": base, "scale": scale}
        return replace(self, **parts, given=given, slopes=slopes)

    def over(self, items: Floats) -> "PairTargets":
        """The same pairs over other features of the items, without base distances."""
        given = GivenDistances(self.given.y, None)
        return replace(self, tuples=Pairs(items, self.tuples.index), base=None, given=given)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> PairDesign:
        """The rows of ``embedding`` for these pairs, followed by the base distances."""
        return PairDesign(embedding, self.tuples, structure.directions, self.base, self.scale, n_jobs)

    def l1_moments(self, structure: Structure, n_jobs: int | None) -> Moments:
        """Second moments of the columns of the weighted L1 distance."""
        return self.design(structure, l1_embedding(structure), n_jobs).moments(self.targets, self.weight)

    def prior(self, recipe: Recipe, structure: Structure, fitted: L1Prior) -> L1Prior:
        """The prior that was fitted to the pairs, or the multiple of the given distance that fits them best."""
        if recipe.prior is None:
            return fitted
        values = given_distances(recipe.prior, structure.schema, self.tuples)
        values = values if self.scale is None else values * self.scale
        return replace(fitted, given=recipe.prior, multiple=best_multiple(values, self.targets, self.weight))

    def sums(self, recipe: Recipe, structure: Structure) -> None:
        """None: of pairs in memory a solver takes the rows."""
        return

    def outline(self, recipe: Recipe, structure: Structure) -> Outline:
        """The outline of all pairs; items outside the knots are counted only where knots are given."""
        moments = self.l1_moments(structure, recipe.n_jobs)
        all_kept = recipe.asks_rows or keeps_all_vertices(structure)
        vertices = None if all_kept else vertices_of_pairs(structure, self.tuples)
        out_of_range = None
        if not isinstance(recipe.knots, str):
            out_of_range = count_out_of_range(structure, self.tuples.used, self.tuples.occurrences)
            warn_out_of_range(recipe, structure, out_of_range, self.tuples.index.size)
        return Outline(moments, vertices, out_of_range)

    def rows(self, recipe: Recipe, structure: Structure) -> DistanceRows:
        """Rows that are made whenever a solver asks for products with them."""
        return DistanceRows(self.design(structure, structure.embedding, recipe.n_jobs), self.targets, self.weight)
