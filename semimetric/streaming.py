"""Learning from blocks of pairs: their second moments add up, and a solve at any time gives what one `fitting.fit` gives.

Columns are kept as `fitting.fit` keeps them: all of small tables, else the touched vertices, which may become more with
every block. A stream is a value: adding a block gives another, so that a block counts only once its model is solved.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._errors import InputError, NotSupportedError
from ._types import Floats, Integers, Pairs
from .assembly import beyond, distance
from .distance import Semimetric
from .embeddings.pairs import PairEmbedding
from .fitting import baseline, keeping, keeps_all, make_terms, touched_vertices
from .programs.design import Moments
from .programs.losses import resolve_loss
from .programs.penalties import total
from .recipe import Recipe
from .solvers.auto import resolve_solver
from .solvers.base import Solution
from .solvers.gram import Gram, solve_moments
from .task import Structure, Task, ends, make_task

__all__ = ["Stream", "check_streams"]

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
    if len(recipe.constraints):
        raise NotSupportedError("partial_fit cannot impose constraints=; fit on all pairs at once")
    if recipe.asks_triangle and recipe.tables == "full":
        raise NotSupportedError(
            f"partial_fit cannot impose axioms={recipe.axioms!r} on full tables; fit on all pairs at once, or use "
            'tables="warped", or metric_repair on the model learned with axioms="semimetric"'
        )
    solver = resolve_solver(recipe.solver)
    if solver is not None and not isinstance(solver, Gram):
        raise NotSupportedError(
            f'partial_fit adds up second moments, which {type(solver).__name__} does not take; use solver="auto" or "gram"'
        )


@dataclass(frozen=True, eq=False)
class Stream:
    """Second moments of everything seen, targets and base distances in the unit of the first block.

    Attributes
    ----------
    recipe : Recipe
        That of the first block.
    structure : Structure
        With all vertices as columns.
    seen : Structure
        With the columns of ``moments``.
    task : Task
        The first block.
    prior, moments : Moments
        Of the weighted L1 distance, and of the tables.
    size : float
        Weighted sum of the targets' absolute values.
    beyond : ndarray of shape (n_features,)
        Items beyond the knots of every feature, summed over the blocks.
    """

    recipe: Recipe
    structure: Structure
    seen: Structure
    task: Task
    prior: Moments
    moments: Moments
    size: float
    beyond: Integers

    @classmethod
    def begin(cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats) -> "Stream":
        """The first block: its structure stays."""
        task = make_task(recipe, structure, pairs, y, weight)
        seen = structure if keeps_all(structure) else _restricted(structure, touched_vertices(structure, pairs))
        return cls(recipe, structure, seen, task, *_moments(recipe, structure, seen, task), beyond(recipe, structure, pairs))

    def add(self, recipe: Recipe, pairs: Pairs, y: Floats, weight: Floats) -> "Stream":
        """One more block.

        Raises
        ------
        InputError
            If a parameter that shapes the moments is not that of the first block, or too many vertices are touched.
        """
        self._check_unchanged(recipe)
        task = make_task(recipe, self.structure, pairs, y, weight, unit=self.task.unit)
        seen, moments = self.seen, self.moments
        if seen is not self.structure:
            seen = _restricted(self.structure, touched_vertices(self.structure, pairs), self.seen)
            moments = _scattered(moments, self.seen, seen)
        prior, more, size = _moments(recipe, self.structure, seen, task)
        return replace(
            self, seen=seen, prior=self.prior + prior, moments=moments + more, size=self.size + size,
            beyond=self.beyond + beyond(recipe, self.structure, pairs),
        )  # fmt: skip

    def solve(self, recipe: Recipe) -> tuple[Semimetric, Solution]:
        """As `fitting.fit`, from the moments."""
        n_base, ratio = len(self.structure.bases), self.size / self.moments.total
        base = baseline(self.structure, self.prior.in_unit(ratio, n_base))
        structure, moments = self.structure, self.moments
        if self.seen is not self.structure:
            touched = [v.keys for v in self.seen.embedding.vertices]  # type: ignore[attr-defined]
            structure = _few(keeping(self.structure, touched, base))
            moments = _scattered(moments, self.seen, structure)
        terms = make_terms(recipe, structure, base)
        penalty = total(recipe.penalties(structure.embedding), terms.columns)
        solver = resolve_solver(recipe.solver)
        moments = moments.in_unit(ratio, n_base).mean
        solution = solve_moments(solver if isinstance(solver, Gram) else Gram(), moments, penalty, terms.lower)
        solution.warn_unless_solved()
        weights = terms.settled(solution.weights, penalty, moments.norms)
        how = f"{solution.solver} (sums of second moments, {len(weights)} weights)"
        solution, task = replace(solution, weights=weights, solver=how), replace(self.task, unit=ratio * self.task.unit)
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


def _moments(recipe: Recipe, structure: Structure, seen: Structure, task: Task) -> tuple[Moments, Moments, float]:
    """Moments of the weighted L1 distance and of the tables, and the sum of the targets, for one block."""
    prior, moments = (
        task.design(structure, e, recipe.n_jobs).moments(task.target, task.weight) for e in (ends(structure), seen.embedding)
    )
    return prior, moments, float(task.weight @ np.abs(task.target))
