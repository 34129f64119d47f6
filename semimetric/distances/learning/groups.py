"""Which features are modelled jointly, ``Tables(groups="auto")``: pairs worth a joint table beside the single features.

All pairs of n features cost n² c⁴ weights; few of them matter. From the model of single features on, the pair that the score
test of `interaction_scores` ranks first at the current model is added, and the model is fitted again, until the budget is spent
or the loss held out falls by no more than one standard error, paired by fold. The ranking is done anew in each fold,
from what it trains on, so a pair that only chance has put first is judged as what it is. What is taken in the end are as many
pairs as the folds found worth it, ranked on everything.

A penalty given by name counts less on joint tables than on the others, which it shrinks towards what is not joint: each step
tries two shares, and the last stage more. So that a joint table is not taken for what a weaker penalty alone would gain, it
must also beat its rivals: the tables of its two features apart, at these shares. Where ``n_knots`` is "auto", features of a
joint table have 4 knots while pairs are compared; then numbers of 3, 4 and 6 are. A step costs two fits and the scores of all
candidates, some milliseconds each, in every fold.

The search is a loop of its own beside `compare`, because what it fits next depends on what it has found; it fits and judges by
the same `HeldOutData`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError, SemimetricWarning, warn
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.types import Floats, Integers, Tuples
from ...data.feature_groups import AutoGroups, JointGroups, automatic
from ...data.grid import Grid
from ...data.splits import tuple_identities
from ..pairs.full_tables import PairEmbedding
from ..programs.losses import Loss
from .options import Recipe
from .search import Candidate, Choices, FittedModel, HeldOutData, simplest
from .structure import Structure, build_structure

_COARSE = 4  # knots
_ROWS = 4_000
_RIDGE = 0.3  # of the mean curvature
_STEPS = 4  # of Newton's method, where the loss is a hinge


def coarse_grid(recipe: Recipe, structure: Structure, items: Floats, n_knots: int = _COARSE) -> Grid:
    """The grid of the raw features that pairs are scored on; that of the model, where knots are given."""
    if not isinstance(recipe.knots, str):
        return structure.embedding.grid.select(np.arange(structure.n_raw))
    plain = replace(recipe, groups="singles", directions=None, base_distances=(), n_knots=n_knots)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        return build_structure(plain, items, structure.schema).embedding.grid


def joint_columns(grid: Grid, pair: Sequence[int], *, tied: bool) -> int:
    """Weights of the joint table of two features, its diagonal left out."""
    points = int(np.prod([int(grid.sizes[f]) - int(grid.seams[f] > 0) for f in pair]))
    return points * (points - 1) // (2 if tied else 1)


def paired_features(fitted: FittedModel, usable: Sequence[int], most: int) -> list[tuple[int, int]]:
    """All pairs of usable raw features, of as many of those with the largest shares of the distance as gives ``most``."""
    n = int((1 + np.sqrt(1 + 8 * most)) / 2)
    share = np.zeros(fitted.structure.embedding.grid.n_features)
    if len(usable) > n:
        embedding = fitted.structure.embedding
        spread = (fitted.design.absolute.rmatvec(fitted.part.weight) * np.abs(fitted.weights))[: embedding.n_columns]
        for group, part in zip(embedding.groups, np.bincount(embedding.group_of_column, spread), strict=False):
            share[list(group)] += part / len(group)
    order = sorted(usable, key=lambda f: -share[f])
    return list(combinations(sorted(order[:n]), 2))


def scores(fitted: FittedModel, recipe: Recipe, grid: Grid, pairs: Sequence[tuple[int, int]]) -> Floats:
    """What the joint table of each pair could lower the loss by, relative to the loss; shape (n_pairs,)."""
    rng = np.random.default_rng(recipe.random_state)
    part, n = fitted.part, len(fitted.part.weight)
    if n > _ROWS:
        fitted = replace(fitted, part=part.take(np.sort(rng.choice(n, _ROWS, replace=False))))
    loss = part.quick_loss
    r, weight = fitted.residuals, fitted.part.weight
    half = _halves(fitted.part.tuples, rng)
    total_loss = max(loss.value(r, weight), 1e-300)
    sides = [(half, ~half), (~half, half)]
    out = np.zeros(len(pairs))
    for k, pair in enumerate(pairs):
        joint, alone = (_rows(fitted, recipe, grid, pair, groups) for groups in ([(0, 1)], [(0,), (1,)]))
        out[k] = sum(
            _gain(joint, r, weight, loss, a, b) - max(_gain(alone, r, weight, loss, a, b), 0.0) for a, b in sides
        ) / total_loss  # fmt: skip
    return out


def _halves(tuples: Tuples, rng: np.random.Generator) -> Integers:
    """Whether each tuple is in the first half, shape (n_tuples,); tuples that begin with the same item are in the same half."""
    first = tuple_identities(tuples)[:, 0]
    return rng.permutation(int(first.max()) + 1)[first] % 2 == 0


def _rows(
    fitted: FittedModel, recipe: Recipe, grid: Grid, pair: tuple[int, int], groups: Sequence[tuple[int, ...]]
) -> sparse.csr_array:
    """Rows of groups among two features, of the pairs or comparisons that the model was fitted to."""
    features = np.array(pair)
    part = fitted.part.over(np.ascontiguousarray(fitted.part.tuples.items[:, features]))
    embedding = PairEmbedding(
        grid.select(features), groups, symmetry=recipe.symmetry_of_columns, zero_diagonal=recipe.axioms is not None
    )
    return part.design(replace(fitted.structure, directions=None), embedding, recipe.n_jobs).csr()


def _gain(B: sparse.csr_array, r: Floats, weight: Floats, loss: Loss, train: Integers, test: Integers) -> float:
    """How much v, fitted to the rows ``train`` by Newton's method, lowers the loss of the rows ``test``."""
    A, s, start = B[train], weight[train], r[train]
    v, last = np.zeros(B.shape[1]), start
    for _ in range(1 if loss.quadratic else _STEPS):
        curved = s * loss.curved(last)
        H = (A.T @ (A * curved[:, None])).toarray()
        ridge = _RIDGE * max(float(np.trace(H)) / len(v), 1e-300)
        H[np.diag_indices_from(H)] += ridge
        v = v - np.linalg.solve(H, A.T @ (s * loss.slope(last)) + ridge * v)
        last = start + A @ v
    return loss.value(r[test], weight[test]) - loss.value(r[test] + B[test] @ v, weight[test])


_MOST_GROUPS = 10
_JOINT_KNOTS = 4
_SIZES = (3, 4, 6)
_SHARES, _FINER = (1e-1, 1e-3), (1.0, 1e-1, 1e-2, 1e-3, 1e-4)  # of the penalty, on joint tables
_MEASURE = "held-out loss"
_SHORTLIST = 40  # pairs that are scored again after the first step


@storable
def last_gain(tried: Sequence[Candidate]) -> Candidate:
    """The last step that was better than the one before, and than its rivals, by more than one standard error.

    The first of those tried has single features. Of each step the share is taken that loses least.
    """
    best = tried[0]
    for pairs in dict.fromkeys(c.pairs for c in tried if c.pairs and len(c.pairs[-1]) > 1):
        step = min((c for c in tried if c.pairs == pairs), key=lambda c: c.loss)
        rivals = [c for c in tried if c.pairs == _apart(pairs)]
        if not all(step.better_than(other) for other in (best, *rivals)):
            break
        best = step
    return best


def _apart(pairs: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The same groups with the features of the last pair apart."""
    return (*pairs[:-1], *((f,) for f in pairs[-1]))


def without_joint(recipe: Recipe) -> Recipe:
    """The recipe of single features, if groups are to be found."""
    return replace(recipe, groups="singles") if automatic(recipe.groups) else recipe


def choose_groups(
    groups: Any, recipe: Recipe, source: HeldOutData, *, knots: bool
) -> tuple[Recipe, Choices]:  # fmt: skip
    """The recipe with pairs beside its single features, if ``groups`` are to be found, and what was compared.

    Parameters
    ----------
    groups : as in `Recipe`
        As the user gives them.
    recipe : Recipe
        Of single features, everything else decided.
    source : HeldOutData
    knots : bool
        Whether the numbers of knots of joint features are to be chosen.

    Raises
    ------
    InputError
        If the budget is less than one pair needs, or there is too little to hold some out.
    """
    budget = automatic(groups)
    if budget is None or len(source.schema.features) < 2:
        return recipe, Choices(measure=_MEASURE, names=())
    knots = knots and isinstance(recipe.knots, str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        search = _Search.begin(budget, replace(recipe, verbose=False), source, _JOINT_KNOTS if knots else None)
        best = Choices(search.run(verbose=recipe.verbose), _MEASURE, last_gain, source.schema.names)
        pairs = best.chosen.pairs
        found = replace(recipe, groups=search.refined(pairs)) if pairs else recipe
    _warn_of_strength(best, recipe.alpha)
    return found, best


def _warn_of_strength(choices: Choices, alpha: float) -> None:
    """Warn of a pair that was not taken because its features gain as much apart where the penalty counts less."""
    refused = last_gain([c for c in choices if not c.pairs or len(c.pairs[-1]) > 1]).pairs[len(choices.chosen.pairs) :]
    if refused:
        names = " and ".join(choices.names[f] for f in refused[0])
        warn(
            f"a joint table of {names} loses less than their own tables at alpha={alpha:g}, but not less than these at a share "
            'of it, so it is not taken: that alpha is too strong for these data; give a smaller one, or "auto"',
            cause="a joint table not taken",
        )


@dataclass(eq=False)
class _Course:
    """The search on one part of the data: on everything, or on what one fold trains on.

    Parameters
    ----------
    part, held
        What models are fitted to, and what they are judged by; None where nothing is held out.
    fitted : FittedModel
        The model with the pairs so far.
    left : list of pairs of int
        The pairs of features that can still be added.
    pairs : tuple of pairs of int
        The pairs of features that were added.
    n_before : int
        How many of them were there before the last step, which adds none to some courses.
    """

    part: Any
    held: Any
    fitted: FittedModel
    left: list[tuple[int, int]]
    pairs: tuple[tuple[int, int], ...] = ()
    n_before: int = 0

    @property
    def apart(self) -> tuple[tuple[int, ...], ...]:
        """The groups with the features of the pair of the last step apart."""
        return (*self.pairs[: self.n_before], *((f,) for pair in self.pairs[self.n_before :] for f in pair))


@dataclass(eq=False)
class _Search:
    """Pairs of features that are added step by step: on everything, in the first of the courses, and in every fold."""

    budget: AutoGroups
    recipe: Recipe
    source: HeldOutData
    n_knots: int | None
    coarse: Grid
    joint: Grid
    share: float
    courses: list[_Course]

    @classmethod
    def begin(cls, budget: AutoGroups, recipe: Recipe, source: HeldOutData, n_knots: int | None) -> "_Search":
        """The search before its first step: models of single features, on everything and in every fold."""
        parts = [(source.all_data(recipe), None), *source.folds(recipe)]
        fits = [source.fitted(recipe, *both) for both in parts]
        model = fits[0].structure
        coarse = coarse_grid(recipe, model, source.items)
        joint = coarse if n_knots else model.embedding.grid.select(np.arange(model.n_raw))
        search = cls(budget, recipe, source, n_knots, coarse, joint, 1.0, [])
        tied = {g[0] for g, v in zip(model.embedding.groups, getattr(model.embedding, "vertices", ()), strict=False)
                if v.by_difference}  # fmt: skip
        usable = [f for f in range(model.n_raw) if joint.varies[f] and f not in tied]
        for both, fitted in zip(parts, fits, strict=True):
            search.courses.append(_Course(*both, fitted, paired_features(fitted, usable, budget.max_candidates)))
        search._check(usable)
        return search

    def _check(self, usable: Sequence[int]) -> None:
        """Refuse a budget of weights in which no pair fits."""
        least = min((self._columns(pair) for pair in combinations(usable, 2)), default=0)
        if least > self.budget.max_columns:
            raise InputError(
                f"max_columns={self.budget.max_columns} is less than the {least} weights of the smallest joint table; give "
                'at least that, fewer knots, or n_knots="auto", which takes few where features are joint'
            )

    def _columns(self, *pairs: Sequence[int], grid: Grid | None = None) -> int:
        """The number of weights of the joint tables of pairs of features."""
        tied = self.recipe.symmetry_of_columns == "tie"
        return sum(joint_columns(self.joint if grid is None else grid, pair, tied=tied) for pair in pairs)

    def run(self, *, verbose: bool | None) -> list[Candidate]:
        """The candidates of each step, of which the last may be no gain, and the rivals of those that are."""
        most = self.budget.max_groups or min(_MOST_GROUPS, len(self.source.schema.features))
        tried = [self._choice((), 1.0, [fold.fitted for fold in self.courses[1:]])]
        with progress_bar(most, "groups", verbose=verbose) as bar:
            while len(self.courses[0].pairs) < most and self._extend(self.courses[0]):
                for fold in self.courses[1:]:
                    self._extend(fold)
                tried += self._refit()
                bar.set_postfix(loss=min(c.loss for c in tried))
                bar.update()
                if last_gain(tried).pairs == self.courses[0].pairs:
                    tried += self._rivals()
                if last_gain(tried).pairs != self.courses[0].pairs:
                    break
        return tried

    def _choice(self, pairs: tuple[tuple[int, ...], ...], share: float, fits: Sequence[FittedModel]) -> Candidate:
        """Groups as a candidate, with the losses of the folds."""
        return Candidate(self.n_knots, share * self.recipe.alpha, tuple(f.loss for f in fits), pairs=pairs, share=share)

    def _rivals(self) -> list[Candidate]:
        """The features of the last pair apart, at the shares of the penalty that their joint table may have."""
        first, *folds = self.courses
        return [
            self._choice(first.apart, share, [self._fitted(fold, share, fold.apart) for fold in folds])
            for share in self._shares
        ]

    def _extend(self, course: _Course) -> bool:
        """Add the pair that is scored best, if one is scored above 0 and the budget has room for it."""
        course.n_before = len(course.pairs)
        room = self.budget.max_columns - self._columns(*course.pairs)
        left = [pair for pair in course.left if self._columns(pair) <= room]
        if not left:
            return False
        found = scores(course.fitted, self.recipe, self.coarse, left)
        order = np.argsort(-found, kind="stable")
        if not found[order[0]] > 0:
            return False
        course.pairs = (*course.pairs, left[order[0]])
        course.left = [left[k] for k in order[1 : _SHORTLIST + 1]]
        return True

    @property
    def _scaled(self) -> bool:
        """Whether the penalty is given by name, so that joint tables may have a share of it."""
        return isinstance(self.recipe.penalty, str)

    @property
    def _shares(self) -> tuple[float, ...]:
        """The shares of the penalty that are tried at every step."""
        return _SHARES if self._scaled else (1.0,)

    def _refit(self) -> list[Candidate]:
        """Fit all courses with their pairs, and keep the share of the penalty under which the folds lose least."""
        first, *folds = self.courses
        tried = {share: [self._fitted(fold, share) for fold in folds] for share in self._shares}
        self.share = min(tried, key=lambda share: float(np.mean([fit.loss for fit in tried[share]])))
        for fold, fit in zip(folds, tried[self.share], strict=True):
            fold.fitted = fit
        first.fitted = self._fitted(first, self.share)
        return [self._choice(first.pairs, share, fits) for share, fits in tried.items()]

    def _fitted(self, course: _Course, share: float, groups: tuple[tuple[int, ...], ...] | None = None) -> FittedModel:
        """The model of one course with its pairs, or with other groups."""
        recipe = replace(self.recipe, groups=JointGroups(course.pairs if groups is None else groups, self.n_knots, share))
        return self.source.fitted(recipe, course.part, course.held)

    def refined(self, pairs: tuple[tuple[int, ...], ...]) -> JointGroups:
        """Knots of joint features, then the share of the penalty, for these pairs: the simplest within one standard error."""
        most = min(self.budget.max_columns, self.source.most_joint_columns)
        sizes = [k for k in _SIZES if k == _JOINT_KNOTS or self._columns(*pairs, grid=self._coarse(k)) <= most]
        best = Candidate(None, 0.0, ())
        if self.n_knots:
            best = simplest([self._candidate(pairs, k, self.share) for k in sizes])
        shares = _FINER if self._scaled else (1.0,)
        best = simplest([self._candidate(pairs, best.n_knots, share) for share in shares])
        return JointGroups(pairs, best.n_knots, best.share)

    def _candidate(self, pairs: tuple[tuple[int, ...], ...], n_knots: int | None, share: float) -> Candidate:
        """The same pairs in every fold as a candidate, with these knots and this share of the penalty."""
        trial = replace(self.recipe, groups=JointGroups(pairs, n_knots, share))
        losses = [self.source.fitted(trial, fold.part, fold.held).loss for fold in self.courses[1:]]
        return Candidate(n_knots, share * trial.alpha, tuple(losses), pairs=pairs, share=share)

    def _coarse(self, n_knots: int) -> Grid:
        """The grid of the raw features with ``n_knots`` knots each."""
        return coarse_grid(self.recipe, self.courses[0].fitted.structure, self.source.items, n_knots)
