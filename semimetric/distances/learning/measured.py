"""Pairs with measured distances as the user gives them, in memory or in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats, Integers, Pairs
from ...data.identical_items import distinct_items
from ...data.parts.engine import Engine
from ...data.parts.parts import Parts
from ...data.parts.tuples import PartTuples, TuplePart, TupleSample, TupleTable, read_tuples
from ..model.links import Link, link_function
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..programs.design_in_parts import PartDesign, PartRows, check_room
from ..programs.design_matrix import Moments, PairDesign
from ..programs.losses import Loss, Squared, resolve_loss
from ..solvers.auto import resolve_solver
from ..solvers.gram import Gram
from .assembly import assemble, count_out_of_range, warn_out_of_range
from .options import Recipe, refuse_open_links
from .prior import (
    L1Prior,
    best_multiple,
    fit_l1_prior,
    given_distances,
    keeps_all_vertices,
    vertices_of_columns,
    vertices_of_pairs,
    with_vertices,
)
from .program import SUMS, Learned, make_terms, solve_second_moments
from .search import TrainingTuples
from .structure import Structure, l1_embedding

_LEAST = 0.1  # mean distances: below, the slope of a link is taken there
_UNITS = (1e-290, 1e290)  # of the mean sum: outside, weights in the user's units overflow or lose their digits


def sum_unit(link: Any, mean: float, mean_square: float) -> float:
    """The unit of the sums of distances: the mean square for the link "sqrt", else the sum of the mean distance."""
    if link == "sqrt":
        return mean_square
    return float(link_function(link).invert(np.array(mean)))


class LinkedTargets(NamedTuple):
    """Measured distances as targets of a program."""

    target: Floats  # shape (n_pairs,); the sums that have these distances, in ``unit``
    scale: Floats | None  # shape (n_pairs,) or None; what rows and targets are multiplied by
    unit: float  # the unit of the sums, in the user's unit
    link: Link | None  # the link, in the user's unit, if it multiplies rows
    slopes: Floats | None  # shape (n_pairs,) or None; the slopes of the link at the targets, in these units

    @classmethod
    def of(cls, recipe: Recipe, y: Floats, weight: Floats, unit: float | None) -> LinkedTargets:
        """The targets of distances y, of shape (n_pairs,); their unit is that of their mean unless it is given."""
        with np.errstate(over="ignore", under="ignore"):
            target = y * y if recipe.link == "sqrt" else link_function(recipe.link).invert(y) if _multiplies(recipe) else y
            if unit is None:
                share = weight / weight.sum()
                mean = float(share @ np.abs(target if recipe.link == "sqrt" else y))
                unit = sum_unit(recipe.link, mean, mean)
            _check_unit(recipe, y, unit)
            target = target / unit
        if not np.isfinite(target).all():
            raise InputError(
                f"the distances reach {np.abs(y).max():g}, whose sums under the link {recipe.link} overflow beside their mean; "
                "a larger exponent, or distances nearer to their mean, are required"
            )
        floor = 0.1 if recipe.relative is True else float(recipe.relative)
        if not _multiplies(recipe):
            scale = 1.0 / np.maximum(np.abs(target), floor) if recipe.relative is not False else None
            return cls(target, scale, unit, None, None)
        link = link_function(recipe.link)
        mean = float(link.apply(np.array(unit)))
        least = link.invert(np.array(_LEAST * mean))
        slopes = link.slope(np.maximum(target * unit, least)) * (unit / mean)
        scale = slopes if recipe.relative is False else slopes / np.maximum(y / mean, floor)
        return cls(target, scale, unit, link, slopes)


def _multiplies(recipe: Recipe) -> bool:
    return isinstance(recipe.link, Link)


def _base_terms(recipe: Recipe, values: Floats, unit: float) -> Floats:
    """Return the terms of base distances in a unit of the sum, shape (n_pairs, n_base_distances)."""
    with np.errstate(over="ignore", under="ignore"):
        terms = values ** np.array(recipe.base_powers) / unit
    if not np.isfinite(terms).all():
        raise InputError(
            f"base distances reach {values.max():g}, whose power {max(recipe.base_powers):g} overflows; give smaller "
            "exponents by Tables(base_exponents=), or rescale them"
        )
    return np.asarray(terms)


def _check_unit(recipe: Recipe, y: Floats, unit: float) -> None:
    if not _UNITS[0] < unit < _UNITS[1]:
        if not y.any():
            raise InputError(f"all {len(y)} distances to learn from are 0, which teaches nothing; give pairs that differ")
        squares = 'their squares, which link="sqrt" learns, ' if recipe.link == "sqrt" else ""
        if _multiplies(recipe):
            squares = f"their sums under the link {recipe.link} "
        raise InputError(
            f"the distances reach {np.abs(y).max():g}, and {squares}have the mean {unit:g}; between {_UNITS[0]:g} and "
            f"{_UNITS[1]:g} is required: rescale the distances"
        )


_MOST_EXAMPLES = 8  # pairs


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Sums over pairs that decide the columns of a structure."""

    l1_moments: Moments  # second moments of the columns of the weighted L1 distance
    vertices: list[Integers] | None  # the vertices that the pairs touch, by group; None where every vertex is a column
    out_of_range: Integers | None  # shape (n_features,): how many items lie outside the knots; None if knots were placed
    n_items: int  # how many members of pairs were counted for ``out_of_range``
    examples: Pairs  # a few pairs of the first part

    def __add__(self, other: ColumnSums) -> ColumnSums:
        """The sums over the pairs of both, with the examples of the first."""
        vertices, out_of_range = self.vertices, self.out_of_range
        if vertices is not None and other.vertices is not None:
            vertices = [np.union1d(a, b) for a, b in zip(vertices, other.vertices, strict=True)]
        if out_of_range is not None and other.out_of_range is not None:
            out_of_range = out_of_range + other.out_of_range
        l1_moments, n_items = self.l1_moments + other.l1_moments, self.n_items + other.n_items
        return ColumnSums(l1_moments, vertices, out_of_range, n_items, self.examples)


@dataclass(frozen=True, eq=False)
class PairTargets(TrainingTuples):
    """Pairs in memory with targets in units of their mean, ready for any structure."""

    tuples: Pairs
    target: Floats  # shape (n_pairs,): the sums that have the distances (squares for the link "sqrt"), divided by ``unit``
    weight: Floats  # shape (n_pairs,)
    base: Floats | None  # shape (n_pairs, n_base_distances): values of the base distances, in the same unit
    unit: float  # the mean target, in the user's unit
    scale: Floats | None  # shape (n_pairs,): multiplies rows and targets of a relative loss, and of a link
    y: Floats  # shape (n_pairs,): the distances in the user's unit
    values: Floats | None  # shape (n_pairs, n_base_distances): the values of base distances in the user's unit
    link: Link | None = None  # the link, if it multiplies rows
    slopes: Floats | None = None  # shape (n_pairs,): the slopes of that link at the targets
    quick_loss: ClassVar[Loss] = Squared()

    @classmethod
    def of(
        cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats, *, unit: float | None = None
    ) -> PairTargets:
        """Put targets into units of their mean, or of ``unit``, and evaluate the base distances of the structure once."""
        values = None
        if structure.bases:
            columns = [f.evaluate(pairs, n_jobs=recipe.n_jobs, verbose=recipe.verbose) for f in structure.bases]
            values = np.column_stack(columns)
        return cls._linked(recipe, pairs, y, weight, values, unit)

    @classmethod
    def _linked(
        cls, recipe: Recipe, pairs: Pairs, y: Floats, weight: Floats, values: Floats | None, unit: float | None
    ) -> PairTargets:
        made = LinkedTargets.of(recipe, y, weight, unit)
        base = None if values is None else _base_terms(recipe, values, made.unit)
        return cls(pairs, made.target, weight, base, made.unit, made.scale, y, values, made.link, made.slopes)

    def under(self, recipe: Recipe) -> PairTargets:
        """The same pairs in the same unit of distances, for a recipe with another link or other exponents of base distances."""
        old = link_function("identity") if self.link is None else self.link
        mean = float(old.apply(np.array(self.unit)))
        unit = self.unit if recipe.link == "sqrt" else sum_unit(recipe.link, mean, mean)
        return self._linked(recipe, self.tuples, self.y, self.weight, self.values, unit)

    def relinked(self, recipe: Recipe, unit: float | None = None) -> PairTargets:
        """The same pairs for a recipe with another link, in units of their own mean sum unless ``unit`` is given."""
        return self._linked(recipe, self.tuples, self.y, self.weight, self.values, unit)

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
        return self.target if self.scale is None else self.target * self.scale

    @property
    def examples(self) -> Pairs:
        """The first pairs, over items of their own: what a distance keeps of its pairs."""
        index = self.tuples.index[:_MOST_EXAMPLES]
        rows, place = np.unique(index, return_inverse=True)
        return Pairs(self.tuples.items[rows], place.reshape(index.shape))

    def take(self, rows: Integers) -> PairTargets:
        arrays = {name: getattr(self, name) for name in ("target", "base", "scale", "y", "values", "slopes")}
        taken: dict[str, Any] = {name: None if values is None else values[rows] for name, values in arrays.items()}
        weight = self.weight[rows]
        return replace(self, **taken, tuples=self.tuples.take(rows), weight=weight / weight.sum())

    def over(self, items: Floats) -> PairTargets:
        return replace(self, tuples=Pairs(items, self.tuples.index), base=None, values=None)

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

    def column_sums(self, recipe: Recipe, structure: Structure) -> ColumnSums:
        """The sums that decide the columns; items outside the knots are counted only where knots are given."""
        all_kept = recipe.needs_inequalities or keeps_all_vertices(structure)
        vertices = None if all_kept else vertices_of_pairs(structure, self.tuples)
        out_of_range = None
        if not isinstance(recipe.knots, str):
            out_of_range = count_out_of_range(structure, self.tuples.used, self.tuples.occurrences)
        l1_moments = self.l1_moments(structure, recipe.n_jobs)
        return ColumnSums(l1_moments, vertices, out_of_range, self.tuples.index.size, self.examples)

    def rows(self, recipe: Recipe, structure: Structure) -> PartRows:
        """Rows that are made whenever a solver asks for products with them."""
        return PartRows(self.design(structure, structure.embedding, recipe.n_jobs), self.targets, self.weight)


@dataclass(frozen=True, eq=False)
class MeasuredDistances:
    """Pairs with measured distances, in the user's unit."""

    tuples: Parts[PartTuples]
    sample: TupleSample | None = None  # what a first pass over parts has found; None in memory

    @classmethod
    def of_arrays(cls, pairs: Pairs, y: Floats, weight: Floats) -> MeasuredDistances:
        """Pairs in memory; their distances y and their weights, which sum to 1, have the shape (n_pairs,)."""
        return cls(Parts.of(PartTuples(pairs, y, weight)))

    @classmethod
    def of_parts(cls, engine: Engine, parts: Sequence[TuplePart], table: TupleTable, sample: TupleSample) -> MeasuredDistances:
        """Pairs that are read part by part."""
        return cls(Parts(engine, parts, read_tuples, (table,)), sample)

    @cached_property
    def items(self) -> Floats:
        """The items that knots are placed among: the distinct items of the pairs, or a sample of very many."""
        return distinct_items(self.pairs.used) if self.sample is None else self.sample.items

    @property
    def block(self) -> PartTuples:
        """The pairs in memory; settings are compared among these alone."""
        assert self.tuples.in_memory is not None
        return self.tuples.in_memory

    @property
    def pairs(self) -> Pairs:
        """The pairs in memory."""
        return self.block.pairs

    @property
    def y(self) -> Floats:
        """The distances of the pairs in memory, shape (n_pairs,)."""
        return self.block.y

    @property
    def weight(self) -> Floats:
        """The weights of the pairs in memory, shape (n_pairs,)."""
        return self.block.weight

    def sampled(self, most: int, random_state: int | None) -> MeasuredDistances:
        """These pairs, or a sample of so many."""
        return self.take(sampled_rows(len(self.pairs), most, random_state))

    def take(self, rows: NDArray[Any]) -> MeasuredDistances:
        """Some of the pairs in memory, their weights again summing to 1; ``rows`` is a mask, or their numbers."""
        weight = self.weight[rows]
        return MeasuredDistances.of_arrays(self.pairs.take(rows), self.y[rows], weight / weight.sum())

    def scaled(self, recipe: Recipe, structure: Structure) -> ScaledDistances:
        """The distances in units of their mean, with the base distances of the structure."""
        if self.sample is None:
            return ScaledDistances.of(self.targets(recipe, structure))
        total = self.sample.total
        unit = sum_unit(recipe.link, *(size / total for size in self.sample.sizes))
        return ScaledDistances(self.tuples.map(_targets, recipe, structure, unit), unit, total)

    def targets(self, recipe: Recipe, structure: Structure) -> PairTargets:
        """The targets of the pairs in memory; each base distance is evaluated once for every pair."""
        return _targets(self.block, recipe, structure)


def _targets(read: PartTuples, recipe: Recipe, structure: Structure, unit: float | None = None) -> PairTargets:
    return PairTargets.of(recipe, structure, read.pairs, read.y, read.weight, unit=unit)


@dataclass(frozen=True, eq=False)
class ScaledDistances:
    """Pairs with measured distances in units of their mean."""

    targets: Parts[PairTargets]
    unit: float  # the mean target, in the user's unit (its square for the link "sqrt")
    total: float = 1.0  # the sum of the weights of all pairs

    @classmethod
    def of(cls, targets: PairTargets) -> ScaledDistances:
        """Pairs in memory."""
        return cls(Parts.of(targets), targets.unit)

    @property
    def note(self) -> str:
        """The number of parts, which a solution adds to the name of its solver; empty in memory."""
        return "" if self.targets.in_memory is not None else f", {len(self.targets.parts)} parts"

    def sums(self, recipe: Recipe, structure: Structure) -> MomentSums | None:
        """Second moments to learn from, where pairs lie in parts and loss and solver allow it; else None."""
        takes_moments = resolve_loss(recipe.loss).quadratic and isinstance(resolve_solver(recipe.solver), Gram | None)
        if self.targets.in_memory is not None or not takes_moments:
            return None
        if keeps_all_vertices(structure):
            check_room(self.targets.engine, structure.embedding.n_columns, len(self.targets.parts))
        return self.targets.total(MomentSums.of, recipe, structure).warned()

    def columns(self, recipe: Recipe, structure: Structure) -> tuple[Structure, L1Prior, ColumnSums]:
        """Return the structure with its columns, the prior, and the sums of both; warn of items outside given knots."""
        found = self.targets.total(PairTargets.column_sums, recipe, structure)
        if found.out_of_range is not None:
            warn_out_of_range(recipe, structure, found.out_of_range, found.n_items)
        prior = fit_l1_prior(structure, found.l1_moments)
        if self.targets.in_memory is not None:  # no prior can be given for pairs in parts
            prior = self.targets.in_memory.prior(recipe, structure, prior)
        if found.vertices is not None:
            structure = with_vertices(structure, found.vertices, prior)
        return structure, prior, found

    def rows(self, recipe: Recipe, structure: Structure) -> PartRows:
        """The rows of all pairs; those of parts are made, and kept if there is room, where the parts are."""
        targets, engine = self.targets.in_memory, self.targets.engine
        if targets is not None:
            return targets.rows(recipe, structure)
        rows = self.targets.persist(_held_rows, recipe, structure)
        target, weight = (list(column) for column in zip(*engine.each(_target_and_weight, rows), strict=True))
        n_columns = structure.embedding.n_columns + len(structure.bases)
        design = PartDesign(engine, rows, tuple(map(len, target)), n_columns)
        return PartRows(design, np.concatenate(target), np.concatenate(weight) / self.total)


def _held_rows(targets: PairTargets, recipe: Recipe, structure: Structure) -> PartRows:
    """The rows of one part, as a matrix in memory where that is small."""
    rows = targets.rows(recipe, structure)
    return rows._replace(design=rows.design.held())


def _target_and_weight(rows: PartRows) -> tuple[Floats, Floats]:
    return rows.target, rows.weight


def sampled_rows(n: int, most: int, random_state: int | None) -> Integers:
    """The rows of n that candidates are compared on: all, or a sample of ``most``."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))


_MOST_COLUMNS = 8_000  # their second moments take 512 MB
_FREE = frozenset({"alpha", "penalty", "delta", "outside", "solver", "n_jobs", "random_state", "verbose", "effort"})


def check_streams(recipe: Recipe) -> None:
    """Refuse what cannot be learned from second moments."""
    if not resolve_loss(recipe.loss).quadratic or recipe.link != "identity" or recipe.relative is not False:
        raise NotSupportedError('partial_fit adds up second moments: it needs loss="squared", link="identity", relative=False')
    refuse_open_links(recipe, "partial_fit cannot hold pairs out")
    check_sums_impose(recipe, "partial_fit", "on all pairs at once")
    solver = resolve_solver(recipe.solver)
    if solver is not None and not isinstance(solver, Gram):
        raise NotSupportedError(
            f"partial_fit adds up second moments, which {type(solver).__name__} does not take; use "
            'Program(solver="auto") or "gram"'
        )


def check_sums_impose(recipe: Recipe, learner: str, elsewhere: str) -> None:
    """Refuse axioms and constraints that need more than sums over parts of the pairs.

    Messages name what learns from sums, and say on which data `fit` can learn instead (``elsewhere``).
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
    """Second moments of all pairs seen, targets and base distances in one unit. Sums over the same structure add up."""

    recipe: Recipe  # that of the first part
    structure: Structure  # with all vertices as columns
    seen: Structure  # with the columns of ``moments``
    examples: Pairs  # a few pairs of the first part
    unit: float  # of targets and base distances
    l1_moments: Moments  # of the columns of the weighted L1 distance
    moments: Moments  # of the columns of the tables
    size: float  # weighted sum of the absolute targets; of ones, if a link multiplies rows: the unit is known before then
    out_of_range: Integers  # shape (n_features,): how many items lie outside the knots, summed over the parts
    n_items: int  # how many items the pairs have, summed over the parts

    @classmethod
    def of(cls, data: PairTargets, recipe: Recipe, structure: Structure) -> MomentSums:
        """The sums over one part, in the unit of its targets."""
        pairs, weight, seen = data.tuples, data.weight, structure
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

    def __add__(self, other: MomentSums) -> MomentSums:
        """The sums over both; their columns are those of either."""
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
    def begin(cls, recipe: Recipe, structure: Structure, pairs: Pairs, y: Floats, weight: Floats) -> MomentSums:
        """The sums over the first part of a stream, whose structure stays; warns of items outside the knots."""
        return cls.of(PairTargets.of(recipe, structure, pairs, y, weight), recipe, structure).warned()

    def add(self, recipe: Recipe, pairs: Pairs, y: Floats, weight: Floats) -> MomentSums:
        """The sums with one more part of a stream; warns of items of this part outside the knots."""
        self._check_unchanged(recipe)
        targets = PairTargets.of(recipe, self.structure, pairs, y, weight, unit=self.unit)
        return self + MomentSums.of(targets, recipe, self.structure).warned()

    def warned(self) -> MomentSums:
        """The same sums, after a warning if items lie outside the knots."""
        warn_out_of_range(self.recipe, self.structure, self.out_of_range, self.n_items)
        return self

    def solve(self, recipe: Recipe) -> Learned:
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
        return Learned(d, solution, SUMS)

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
