"""Learning from parts of the pairs: their second moments add up, and solving at any time gives what one fit gives.

Columns are kept as `fit_distances` keeps them: all of small tables, else the touched vertices, which may become more with
every part. The sums are a value: adding a part gives new sums, so that a part counts only once its model is solved.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats, Integers, Pairs
from ...distances.semimetric import Semimetric
from ...embeddings.pairs.full_tables import PairEmbedding
from ...programs.losses import resolve_loss
from ...programs.moments import Moments
from ...solvers.auto import resolve_solver
from ...solvers.base import Solution
from ...solvers.gram import Gram
from ..assembly import assemble, count_out_of_range, warn_out_of_range
from ..kept_columns import keeps_all_vertices, vertices_of_columns, vertices_of_pairs, with_vertices
from ..link_choices import refuse_open_links
from ..prior import fit_l1_prior
from ..recipe import Recipe
from ..solve import solve_second_moments
from ..structure import Structure, l1_embedding
from ..terms import make_terms
from .pair_targets import PairTargets

__all__ = ["MomentSums", "check_streams", "check_sums_impose"]

_MOST_COLUMNS = 8_000  # their second moments take 512 MB
_FREE = frozenset({"alpha", "penalty", "delta", "outside", "solver", "n_jobs", "random_state", "verbose", "effort"})


def check_streams(recipe: Recipe) -> None:
    """Refuse what cannot be learned from second moments.

    Raises
    ------
    NotSupportedError
    """
    if not resolve_loss(recipe.loss).quadratic or recipe.link != "identity" or recipe.relative is not False:
        raise NotSupportedError('partial_fit adds up second moments: it needs loss="squared", link="identity", relative=False')
    refuse_open_links(recipe, "partial_fit cannot hold pairs out")
    check_sums_impose(recipe, "partial_fit", "on all pairs at once")
    solver = resolve_solver(recipe.solver)
    if solver is not None and not isinstance(solver, Gram):
        raise NotSupportedError(
            f'partial_fit adds up second moments, which {type(solver).__name__} does not take; use solver="auto" or "gram"'
        )


def check_sums_impose(recipe: Recipe, learner: str, elsewhere: str) -> None:
    """Refuse axioms and constraints that need more than sums over parts of the pairs.

    Parameters
    ----------
    recipe : Recipe
    learner, elsewhere : str
        For the message: what learns from sums, and on which data `fit` can learn instead.

    Raises
    ------
    NotSupportedError
    """
    if len(recipe.constraints) or recipe.prior is not None:
        wanted = "impose constraints=" if len(recipe.constraints) else "start from prior="
        raise NotSupportedError(f"{learner} cannot {wanted}; fit {elsewhere}")
    if recipe.asks_triangle and recipe.tables == "full":
        raise NotSupportedError(
            f"{learner} cannot impose axioms={recipe.axioms!r} on full tables; fit {elsewhere}, or use "
            'tables="warped", or metric_repair on the model learned with axioms="semimetric"'
        )


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Second moments of all pairs seen, targets and base distances in one unit. Sums over the same structure add up.

    Parameters
    ----------
    recipe : Recipe
        The recipe of the first part.
    structure : Structure
        The structure with all vertices as columns.
    seen : Structure
        The structure with the columns of ``moments``.
    examples : Pairs
        A few pairs of the first part.
    unit : float
        The unit of targets and base distances.
    l1_moments, moments : Moments
        Second moments of the columns of the weighted L1 distance, and of those of the tables.
    size : float
        Weighted sum of the absolute targets; with a link that multiplies rows, of ones, since the unit is known before.
    out_of_range : ndarray of shape (n_features,)
        How many items lie outside the knots of every feature, summed over the parts.
    n_items : int
        How many items the pairs have, summed over the parts.
    """

    recipe: Recipe
    structure: Structure
    seen: Structure
    examples: Pairs
    unit: float
    l1_moments: Moments
    moments: Moments
    size: float
    out_of_range: Integers
    n_items: int

    @classmethod
    def of(
        cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats, *, unit: float | None = None
    ) -> "MomentSums":
        """The sums over one part; ``unit`` is that of all parts, None for the mean target of this one."""
        data = PairTargets.of(recipe, structure, pairs, y, weight, unit=unit)
        seen = structure
        if not keeps_all_vertices(structure):
            seen = _restricted(structure, vertices_of_pairs(structure, pairs))
        l1_moments, moments = (
            data.design(structure, embedding, recipe.n_jobs).moments(data.targets, weight)
            for embedding in (l1_embedding(structure), seen.embedding)
        )
        return cls(
            recipe,
            structure,
            seen,
            data.examples,
            data.unit,
            l1_moments,
            moments,
            size=float(weight.sum() if data.link else weight @ np.abs(data.target)),
            out_of_range=count_out_of_range(structure, pairs.used, pairs.occurrences),
            n_items=pairs.index.size,
        )

    def __add__(self, other: "MomentSums") -> "MomentSums":
        """The sums over both; their columns are those of either.

        Raises
        ------
        InputError
            If too many vertices are touched.
        """
        seen, left, right = self.seen, self.moments, other.moments
        if seen is not self.structure:
            seen = _restricted(self.structure, vertices_of_columns(self.seen), other.seen)
            left, right = _scattered(left, self.seen, seen), _scattered(right, other.seen, seen)
        return replace(
            self,
            seen=seen,
            l1_moments=self.l1_moments + other.l1_moments,
            moments=left + right,
            size=self.size + other.size,
            out_of_range=self.out_of_range + other.out_of_range,
            n_items=self.n_items + other.n_items,
        )

    @classmethod
    def begin(cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats) -> "MomentSums":
        """The sums over the first part of a stream, whose structure stays; warns of items outside the knots."""
        return cls.of(recipe, structure, pairs, y, weight).warned()

    def add(self, recipe: Recipe, pairs: Pairs, y: Floats, weight: Floats) -> "MomentSums":
        """The sums with one more part of a stream; warns of items of this part outside the knots.

        Raises
        ------
        InputError
            If a parameter that shapes the moments is not that of the first part, or too many vertices are touched.
        """
        self._check_unchanged(recipe)
        return self + MomentSums.of(recipe, self.structure, pairs, y, weight, unit=self.unit).warned()

    def warned(self) -> "MomentSums":
        """The same sums, after a warning if items lie outside the knots."""
        warn_out_of_range(self.recipe, self.structure, self.out_of_range, self.n_items)
        return self

    def solve(self, recipe: Recipe) -> tuple[Semimetric, Solution]:
        """Learn the distance from the sums, as `fit_distances` does from the pairs."""
        n_base, ratio = len(self.structure.bases), self.size / self.moments.total
        prior = fit_l1_prior(self.structure, self.l1_moments.in_unit(ratio, n_base))
        structure, moments = self.structure, self.moments
        if self.seen is not self.structure:
            structure = _checked_size(with_vertices(self.structure, vertices_of_columns(self.seen), prior))
            moments = _scattered(moments, self.seen, structure)
        terms = make_terms(recipe, structure, prior)
        solution = solve_second_moments(recipe, structure, terms, moments.in_unit(ratio, n_base).mean)
        d = assemble(
            recipe,
            structure,
            solution.weights,
            terms.delta,
            examples=self.examples,
            unit=ratio * self.unit,
            out_of_range=self.out_of_range,
        )
        return d, solution

    def _check_unchanged(self, recipe: Recipe) -> None:
        for name in Recipe.__dataclass_fields__:
            if name not in _FREE and not _same(getattr(recipe, name), getattr(self.recipe, name)):
                raise InputError(
                    f"{name}= is not what it was in the first block, whose second moments cannot be redone; set it back, or "
                    f"begin again on a fresh model (sklearn.base.clone). What may change is {', '.join(sorted(_FREE))}"
                )


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))
    return left is right or bool(np.array_equal(left, right))


def _restricted(structure: Structure, vertices: list[Integers], more: Structure | None = None) -> Structure:
    """The structure with columns at ``vertices``, and at those of ``more``."""
    embedding = structure.embedding
    if not isinstance(embedding, PairEmbedding):
        return structure
    if more is not None:
        vertices = [np.concatenate(both) for both in zip(vertices, vertices_of_columns(more), strict=True)]
    return _checked_size(replace(structure, embedding=embedding.restricted(vertices, np.zeros(embedding.grid.n_features))))


def _checked_size(structure: Structure) -> Structure:
    n = structure.embedding.n_columns
    if n > _MOST_COLUMNS:
        raise InputError(
            f"the pairs so far need {n:,} weights, and partial_fit holds second moments of at most {_MOST_COLUMNS:,}; use "
            "fewer knots or smaller groups, or fit on all pairs at once"
        )
    return structure


def _scattered(moments: Moments, old: Structure, new: Structure) -> Moments:
    """The moments on the columns of another structure, which has those of the old one and more."""
    n_base, n = len(new.bases), new.embedding.n_columns
    positions = cast(PairEmbedding, new.embedding).positions(cast(PairEmbedding, old.embedding))
    return moments.scattered(np.append(positions, np.arange(n, n + n_base)), n + n_base)
