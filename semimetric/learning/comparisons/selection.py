"""What is ``"auto"`` when a distance is learned from comparisons: directions, knots and strength, by held-out errors.

Held-out tuples share no item with those trained on. Discriminants are taken unless raw features alone err less by more than
one standard error, paired by split: few items are held out, and a lucky split must not cost them. Given these, the fewest
knots and then the strongest penalty within one standard error of the best, as in `selection`. Candidates are fitted by the
squared hinge whatever the loss.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from ..._foundation.errors import InputError, SemimetricWarning
from ..._foundation.types import Floats, Integers
from ...data.pair_sampling import item_disjoint_splits
from ...data.schema import Names, Schema
from ...embeddings.directions.discriminants import combinable
from ...programs.design_matrix import PairDesign
from ...programs.losses import SquaredHinge
from ...solvers.newton import Newton
from ..recipe import Recipe
from ..regression.selection import Candidate, simplest
from ..structure import Structure, build
from .fit import margin_program, prepared, prior
from .tuple_data import InMemoryComparisons, JudgedPairs

__all__ = ["MarginChoice", "MarginChoices", "decide_margins", "evidence_splits", "held_error"]

_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_KNOTS = {"full": (3, 4, 6, 8), "warped": (2, 4, 8, 16)}
_DIRECTIONS = (None, "discriminant")
_MOST = 4_000  # tuples that candidates are compared on
_MOST_COLUMNS = 1_500
_SPLITS = 4
_HELD_OUT = {2: 0.3, 3: 0.4, 4: 0.5}  # share of the items, by the size of a tuple: a tuple counts if all its items are out


@dataclass(frozen=True)
class MarginChoice(Candidate):
    """A candidate judged by its errors on held-out tuples: 1 - AUC of pairs, the share of triplets missed."""

    directions: Any = None


class MarginChoices(tuple[MarginChoice, ...]):
    """What "auto" compared; printed as a table of held-out errors in which the choice has a star."""

    __slots__ = ()

    @property
    def chosen(self) -> MarginChoice:
        """The directions by the rule above, and with them the simplest within one standard error of the best."""
        raw, bent = ([c for c in self if (c.directions is None) == plain] for plain in (True, False))
        if not (raw and bent):
            return simplest(raw or bent)
        best, other = (min(part, key=lambda c: c.loss) for part in (raw, bent))
        return simplest(raw if best.better_than(other) else bent)

    def __repr__(self) -> str:
        if not self:
            return "MarginChoices: nothing was left to choose"
        lines = [f"held-out error, mean of {len(self[0].losses)} splits; * the choice"]
        for c in self:
            kind = c.directions if c.directions is None or isinstance(c.directions, str) else "given"
            star = " *" if c is self.chosen else ""
            lines.append(f"directions={kind}, n_knots={c.n_knots}, alpha={c.alpha:g}: {c.loss:.4f}{star}")
        return "\n".join(lines)


def decide_margins(
    recipe: Recipe, evidence: InMemoryComparisons, names: Names, *, directions: bool, knots: bool, alpha: bool
) -> tuple[Recipe, MarginChoices]:
    """The recipe with everything decided that is asked for, and what was compared.

    Raises
    ------
    InputError
        If there are too few tuples to hold some out, or too many features for any candidate.
    """
    alpha, knots = alpha and isinstance(recipe.penalty, str), knots and isinstance(recipe.knots, str)
    numbers = combinable(evidence.tuples.used, Schema.of(names).usable)
    directions = directions and isinstance(recipe.knots, str) and not recipe.asks_of_features
    directions = directions and numbers.sum() > 1  # one has nothing to combine
    if not (directions or knots or alpha):
        return recipe, MarginChoices()
    splits = evidence_splits(recipe, evidence)
    kinds = _DIRECTIONS if directions else (recipe.directions,)
    sizes = _KNOTS[recipe.tables] if knots else (recipe.n_knots,)
    alphas = _ALPHAS if alpha else (recipe.alpha,)
    found = _compare(recipe, evidence, names, splits, kinds, sizes, alphas)
    if not found:
        raise InputError(f"every candidate has more than {_MOST_COLUMNS} weights; set n_knots=, alpha= and directions=")
    best = found.chosen
    return replace(recipe, directions=best.directions, n_knots=best.n_knots, alpha=best.alpha), found


def _compare(
    recipe: Recipe,
    evidence: InMemoryComparisons,
    names: Names,
    splits: Sequence[tuple[InMemoryComparisons, InMemoryComparisons]],
    kinds: Sequence[Any],
    sizes: Sequence[Any],
    alphas: Sequence[float],
) -> MarginChoices:
    """Held-out errors of every candidate whose columns are few enough; directions are fitted on each training part."""
    errors: dict[tuple[int, int], list[Floats]] = {}
    with warnings.catch_warnings(), tqdm(total=len(splits) * len(kinds), desc="selection", disable=not recipe.verbose) as bar:
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        for part, held in splits:
            for d, kind in enumerate(kinds):
                trial = prepared(replace(recipe, directions=kind, loss=SquaredHinge(), verbose=False), part, names)
                for k, n_knots in enumerate(sizes):
                    structure = build(replace(trial, n_knots=n_knots), evidence.tuples.used, names)
                    if structure.embedding.n_columns <= _MOST_COLUMNS:
                        errors.setdefault((d, k), []).append(_path(trial, structure, part, held, alphas))
                bar.update()
    return MarginChoices(
        MarginChoice(sizes[k], a, tuple(map(float, values)), kinds[d])
        for (d, k), rows in sorted(errors.items())
        for a, values in zip(alphas, np.array(rows).T, strict=True)
    )


def evidence_splits(recipe: Recipe, evidence: InMemoryComparisons) -> list[tuple[InMemoryComparisons, InMemoryComparisons]]:
    """Training and held-out parts with no item in common; of pairs, with both classes on either side."""
    size = evidence.tuples.size
    raw = item_disjoint_splits(
        evidence.tuples, n_splits=_SPLITS, random_state=recipe.random_state, held_out=_HELD_OUT[size]
    )  # fmt: skip
    rng = np.random.default_rng(recipe.random_state)
    parts = [(evidence.take(_some(train, rng)), evidence.take(_some(test, rng))) for train, test in raw]
    usable = [(a, b) for a, b in parts if not isinstance(a, JudgedPairs) or min(len(np.unique(e.y)) for e in (a, b)) == 2]  # type: ignore[attr-defined]
    if len(usable) < 2:
        raise InputError(
            f"{len(evidence.weight)} tuples are too few to hold some of both classes out on items of their own; give more "
            'tuples, or set n_knots=, alpha= and directions= instead of "auto"'
        )
    return usable


def _some(rows: Integers, rng: np.random.Generator) -> Integers:
    return rows if len(rows) <= _MOST else np.sort(rng.choice(rows, _MOST, replace=False))


def _path(
    recipe: Recipe, structure: Structure, part: InMemoryComparisons, held: InMemoryComparisons, alphas: Sequence[float]
) -> Floats:
    """Held-out errors along the strengths, strong to weak, each fit warm from the one before."""
    found = prior(structure, part, recipe.n_jobs)
    errors, start = np.zeros(len(alphas)), None
    for k, alpha in sorted(enumerate(alphas), key=lambda a: -a[1]):
        program, _, first = margin_program(replace(recipe, alpha=alpha), structure, part, found)
        solution = Newton(tol=1e-4).solve(program, start=first if start is None else start)
        start = solution.raise_if_interrupted().weights
        errors[k] = held_error(structure, held, start[: structure.embedding.n_columns])
    return errors


def held_error(structure: Structure, held: InMemoryComparisons, w: Floats) -> float:
    """1 - AUC of pairs, or the weighted share of comparisons that come out wrong or equal."""
    if isinstance(held, JudgedPairs):
        pairs = held.tuples
        d = PairDesign(structure.embedding, pairs, structure.directions).matvec(w)  # type: ignore[arg-type]
        return 1.0 - float(roc_auc_score(held.y, -d, sample_weight=held.weight))
    gap = held.design(structure, structure.embedding, None).matvec(w)
    return float(held.weight @ (gap >= 0))
