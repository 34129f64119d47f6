"""Learning from blocks of pairs: their second moments add up, and a solve at any time gives what one `fitting.fit` gives.

Columns are kept as `fitting.fit` keeps them: all of small tables, else the touched vertices, which may become more with
every block. A stream is a value: adding a block gives another, so that a block counts only once its model is solved.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats, Integers, Pairs
from ...distances.semimetric import Semimetric
from ...embeddings.pairs.full_tables import PairEmbedding
from ...programs.design_matrix import Moments
from ...programs.losses import resolve_loss
from ...programs.penalties import total
from ...solvers.auto import resolve_solver
from ...solvers.base import Solution
from ...solvers.gram import Gram, solve_moments
from ..assembly import count_beyond, distance, warn_beyond
from ..recipe import Recipe
from ..structure import Structure, Task, ends, make_task
from ..terms import baseline, keeping, keeps_all, make_terms, touched_vertices

__all__ = ["Stream", "check_streams", "check_sums_impose", "few_pairs"]

_FEW = 8  # pairs
_MOST_COLUMNS = 8_000  # their second moments take 512 MB
_FREE = frozenset({"alpha", "penalty", "delta", "outside", "solver", "n_jobs", "random_state", "verbose"})


def check_streams(recipe: Recipe) -> None:
    """Refuse what cannot be learned from second moments.

    Raises
    ------
    NotSupportedError
    """
    if not resolve_loss(recipe.loss).quadratic or recipe.link != "identity" or recipe.relative is not False:
        raise NotSupportedError('partial_fit adds up second moments: it needs loss="squared", link="identity", relative=False')
    check_sums_impose(recipe, "partial_fit", "on all pairs at once")
    solver = resolve_solver(recipe.solver)
    if solver is not None and not isinstance(solver, Gram):
        raise NotSupportedError(
            f'partial_fit adds up second moments, which {type(solver).__name__} does not take; use solver="auto" or "gram"'
        )


def check_sums_impose(recipe: Recipe, learner: str, elsewhere: str) -> None:
    """Refuse what needs rows beside the sums over blocks of pairs; ``elsewhere`` is where `fit` takes it.

    Raises
    ------
    NotSupportedError
    """
    if len(recipe.constraints):
        raise NotSupportedError(f"{learner} cannot impose constraints=; fit {elsewhere}")
    if recipe.asks_triangle and recipe.tables == "full":
        raise NotSupportedError(
            f"{learner} cannot impose axioms={recipe.axioms!r} on full tables; fit {elsewhere}, or use "
            'tables="warped", or metric_repair on the model learned with axioms="semimetric"'
        )


@dataclass(frozen=True, eq=False)
class Stream:
    """Second moments of everything seen, targets and base distances in one unit. Streams of the same structure add up.

    Attributes
    ----------
    recipe : Recipe
        That of the first block.
    structure : Structure
        With all vertices as columns.
    seen : Structure
        With the columns of ``moments``.
    few : Task
        A few pairs of the first block, and the unit.
    prior, moments : Moments
        Of the weighted L1 distance, and of the tables.
    size : float
        Weighted sum of the targets' absolute values.
    beyond : ndarray of shape (n_features,)
        Items beyond the knots of every feature, summed over the blocks.
    n_items : int
        Items of the pairs, summed over the blocks.
    """

    recipe: Recipe
    structure: Structure
    seen: Structure
    few: Task
    prior: Moments
    moments: Moments
    size: float
    beyond: Integers
    n_items: int

    @classmethod
    def of(
        cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats, *, unit: float | None = None
    ) -> "Stream":
        """One block; ``unit`` is that of the stream, None for the mean target of the block."""
        task = make_task(recipe, structure, pairs, y, weight, unit=unit)
        seen = structure if keeps_all(structure) else _restricted(structure, touched_vertices(structure, pairs))
        prior, moments = (
            task.design(structure, e, recipe.n_jobs).moments(task.scaled, weight) for e in (ends(structure), seen.embedding)
        )
        size, used = float(weight @ np.abs(task.target)), pairs.used
        beyond = count_beyond(structure, used)
        return cls(recipe, structure, seen, few_pairs(task), prior, moments, size, beyond, len(used))

    def __add__(self, other: "Stream") -> "Stream":
        """Both; its columns are those of either.

        Raises
        ------
        InputError
            If too many vertices are touched.
        """
        seen, parts = self.seen, (self.moments, other.moments)
        if seen is not self.structure:
            seen = _restricted(self.structure, _vertices(self.seen), other.seen)
            parts = (_scattered(self.moments, self.seen, seen), _scattered(other.moments, other.seen, seen))
        return replace(
            self, seen=seen, prior=self.prior + other.prior, moments=parts[0] + parts[1], size=self.size + other.size,
            beyond=self.beyond + other.beyond, n_items=self.n_items + other.n_items,
        )  # fmt: skip

    @classmethod
    def begin(cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats) -> "Stream":
        """The first block: its structure stays."""
        return cls.of(recipe, structure, pairs, y, weight)._told()

    def add(self, recipe: Recipe, pairs: Pairs, y: Floats, weight: Floats) -> "Stream":
        """One more block.

        Raises
        ------
        InputError
            If a parameter that shapes the moments is not that of the first block, or too many vertices are touched.
        """
        self._check_unchanged(recipe)
        return self + Stream.of(recipe, self.structure, pairs, y, weight, unit=self.few.unit)._told()

    def _told(self) -> "Stream":
        """The same, items beyond the knots being said."""
        warn_beyond(self.recipe, self.structure, self.beyond, self.n_items)
        return self

    def solve(self, recipe: Recipe) -> tuple[Semimetric, Solution]:
        """As `fitting.fit`, from the moments."""
        n_base, ratio = len(self.structure.bases), self.size / self.moments.total
        base = baseline(self.structure, self.prior.in_unit(ratio, n_base))
        structure, moments = self.structure, self.moments
        if self.seen is not self.structure:
            structure = _few(keeping(self.structure, _vertices(self.seen), base))
            moments = _scattered(moments, self.seen, structure)
        terms = make_terms(recipe, structure, base)
        penalty = total(recipe.penalties(structure.embedding), terms.columns)
        solver = resolve_solver(recipe.solver)
        moments = moments.in_unit(ratio, n_base).mean
        solution = solve_moments(solver if isinstance(solver, Gram) else Gram(), moments, penalty, terms.lower)
        solution.warn_unless_solved()
        weights = terms.settled(solution.weights, penalty, moments.norms)
        how = f"{solution.solver} (sums of second moments, {len(weights)} weights)"
        solution, task = replace(solution, weights=weights, solver=how), replace(self.few, unit=ratio * self.few.unit)
        return distance(recipe, structure, task, solution.weights, terms.delta, self.beyond), solution

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
    """Columns at ``vertices`` and at those of ``more``."""
    embedding = structure.embedding
    if not isinstance(embedding, PairEmbedding):
        return structure
    if more is not None and isinstance(more.embedding, PairEmbedding):
        vertices = [np.concatenate([a, v.keys]) for a, v in zip(vertices, more.embedding.vertices, strict=True)]
    return _few(replace(structure, embedding=embedding.restricted(vertices, np.zeros(embedding.grid.n_features))))


def _few(structure: Structure) -> Structure:
    n = structure.embedding.n_columns
    if n > _MOST_COLUMNS:
        raise InputError(
            f"the pairs so far need {n:,} weights, and partial_fit holds second moments of at most {_MOST_COLUMNS:,}; use "
            "fewer knots or smaller groups, or fit on all pairs at once"
        )
    return structure


def _scattered(moments: Moments, old: Structure, new: Structure) -> Moments:
    """The moments on the columns of another structure that holds those of the old one."""
    n_base, n = len(new.bases), new.embedding.n_columns
    positions = new.embedding.positions(old.embedding)  # type: ignore[attr-defined]
    return moments.scattered(np.append(positions, np.arange(n, n + n_base)), n + n_base)


def _vertices(seen: Structure) -> list[Integers]:
    """Vertices of each group that are columns."""
    return [v.keys for v in seen.embedding.vertices]  # type: ignore[attr-defined]


def few_pairs(task: Task) -> Task:
    """The unit and the first pairs, over items of their own: what a distance keeps of its pairs."""
    index = task.pairs.index[:_FEW]
    rows, place = np.unique(index, return_inverse=True)
    return Task(
        Pairs(task.pairs.items[rows], place.reshape(index.shape)), task.target[:_FEW], task.weight[:_FEW], None, task.unit, None
    )
