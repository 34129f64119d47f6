"""Search for groups, ``Tables(groups="auto")``: pairs worth a joint table beside the single features.

All pairs of n features cost n² c⁴ weights; few of them matter. From the model of single features on, the pair that the score
test of `interaction_scores` ranks first at the current model is added, and the model is fitted again, until the budget is spent
or the loss held out falls by no more than one standard error, paired by fold. The ranking is done anew in each fold,
from what it trains on, so a pair that only chance has put first is scored as what it is. What is taken in the end are as many
pairs as the folds found worth it, ranked on everything.

A penalty given by name counts less on joint tables than on the others, which it shrinks towards what is not joint: each step
tries two shares, and the last stage more. So that a joint table is not taken for what a weaker penalty alone would gain, it
must also beat its rivals: the tables of its two features apart, at these shares. Where ``n_knots`` is "auto", features of a
joint table have 4 knots while pairs are compared; then numbers of 3, 4 and 6 are. A step costs two fits and the scores of all
candidates, some milliseconds each, in every fold.

The search is a loop of its own beside `compare`, because what it fits next depends on what it has found; it fits and scores by
the same `HeldOutData`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

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
from .search import Candidate, Choices, FittedModel, HeldOutData, best_of, one_standard_error
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
    """Estimate the gain in loss by the joint table of each pair, relative to the loss; shape (n_pairs,)."""
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
    """Return True for tuples in the first half, shape (n_tuples,); those that begin with one item are in one half."""
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
_SIZES = (3, 4, 5, 6)
_STRENGTHS, _STEP = (1e-1, 1e-3), 10.0  # of the penalty, on joint tables; the best times and by the step are tried last
_MEASURE = "held-out loss"
_SHORTLIST = 40  # pairs that are scored again after the first step

Groups: TypeAlias = tuple[tuple[int, ...], ...]


@storable
def last_gain(tried: Sequence[Candidate]) -> Candidate:
    """The last step that was better than the one before, and than its rivals, by more than one standard error.

    The first of those tried has single features. Each step has the strength that loses least.
    """
    best, steps = tried[0], _by_groups(tried)
    for groups in filter(_is_step, steps):
        step = best_of(steps[groups])
        apart = (*groups[:-1], *((f,) for f in groups[-1]))
        if not all(step.better_than(other) for other in (best, *steps.get(apart, ()))):
            break
        best = step
    return best


def _by_groups(tried: Sequence[Candidate]) -> dict[Groups, list[Candidate]]:
    found: dict[Groups, list[Candidate]] = {}
    for candidate in tried:
        found.setdefault(candidate.settings["groups"], []).append(candidate)
    return found


def _is_step(groups: Groups) -> bool:
    return bool(groups) and len(groups[-1]) > 1


def without_joint(recipe: Recipe) -> Recipe:
    """The recipe of single features, if groups are to be found."""
    return replace(recipe, groups="singles") if automatic(recipe.groups) else recipe


def choose_groups(
    groups: Any, recipe: Recipe, source: HeldOutData, *, knots: bool
) -> tuple[Recipe, Choices]:  # fmt: skip
    """The recipe with pairs beside its single features, if ``groups`` are to be found, and what was compared.

    ``groups``: as the user gives them. ``recipe``: of single features, everything else decided. ``knots``: whether the
    numbers of knots of joint features are to be chosen.
    """
    budget = automatic(groups)
    if budget is None or len(source.schema.features) < 2:
        return recipe, Choices(measure=_MEASURE, names=())
    knots = knots and isinstance(recipe.knots, str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        search = _Search.begin(budget, replace(recipe, verbose=False), source, _JOINT_KNOTS if knots else None)
        best = Choices(search.run(verbose=recipe.verbose), _MEASURE, last_gain, source.schema.names)
        pairs = best.chosen.settings["groups"]
        found = replace(recipe, groups=search.refined(pairs)) if pairs else recipe
    _warn_of_strength(best, recipe.alpha)
    return found, best


def _warn_of_strength(choices: Choices, alpha: float) -> None:
    """Warn of a pair that was not taken because its features gain as much apart where the penalty counts less."""
    steps = [choices[0], *(c for c in choices if _is_step(c.settings["groups"]))]
    refused = last_gain(steps).settings["groups"][len(choices.chosen.settings["groups"]) :]
    if refused:
        names = " and ".join(choices.names[f] for f in refused[0])
        warn(
            f"a joint table of {names} loses less than their own tables at alpha={alpha:g}, but not less than these at a share "
            'of it, so it is not taken: that alpha is too strong for these data; give a smaller one, or "auto"',
            cause="a joint table not taken",
        )


@dataclass(eq=False)
class _FoldState:
    """The search on one part of the data: on everything, or on what one fold trains on."""

    part: object  # what models are fitted to
    held: object  # what they are scored on; None where nothing is held out
    fitted: FittedModel  # with the pairs so far
    left: list[tuple[int, int]]  # the pairs of features that can still be added
    pairs: tuple[tuple[int, int], ...] = ()  # those that were added
    n_before: int = 0  # how many there were before the last step, which adds none to some folds

    @property
    def apart(self) -> Groups:
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
    strength: float  # of the penalty on joint tables
    states: list[_FoldState]

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
            search.states.append(_FoldState(*both, fitted, paired_features(fitted, usable, budget.max_candidates)))
        search.check_budget(usable)
        return search

    def check_budget(self, usable: Sequence[int]) -> None:
        """Refuse a budget of weights in which no pair fits."""
        least = min((self._columns(pair) for pair in combinations(usable, 2)), default=0)
        if least > self.budget.max_columns:
            raise InputError(
                f"max_columns={self.budget.max_columns} is less than the {least} weights of the smallest joint table; give "
                'at least that, fewer knots, or n_knots="auto", which takes few where features are joint'
            )

    def _columns(self, *pairs: Sequence[int], grid: Grid | None = None) -> int:
        tied = self.recipe.symmetry_of_columns == "tie"
        return sum(joint_columns(self.joint if grid is None else grid, pair, tied=tied) for pair in pairs)

    def run(self, *, verbose: bool | None) -> list[Candidate]:
        """The candidates of each step, of which the last may be no gain, and the rivals of those that are."""
        most = self.budget.max_groups or min(_MOST_GROUPS, len(self.source.schema.features))
        tried = [self._candidate((), self.n_knots, 1.0, [fold.fitted for fold in self.states[1:]])]
        with progress_bar(most, "groups", verbose=verbose) as bar:
            while len(self.states[0].pairs) < most and self._extend(self.states[0]):
                for fold in self.states[1:]:
                    self._extend(fold)
                tried += self._refit()
                bar.set_postfix(loss=min(c.loss for c in tried))
                bar.update()
                if last_gain(tried).settings["groups"] == self.states[0].pairs:
                    tried += self._rivals()
                if last_gain(tried).settings["groups"] != self.states[0].pairs:
                    break
        return tried

    def _candidate(self, groups: Groups, n_knots: int | None, strength: float, fits: Sequence[FittedModel]) -> Candidate:
        settings = {"groups": groups, "strength": strength, "n_knots": n_knots, "alpha": strength * self.recipe.alpha}
        return Candidate(settings, tuple(fit.loss for fit in fits))

    def _rivals(self) -> list[Candidate]:
        """Fit the features of the last pair apart, at the strengths that their joint table may have."""
        first, *folds = self.states
        fits = {strength: [self._fitted(fold, strength, fold.apart) for fold in folds] for strength in self._strengths}
        return [self._candidate(first.apart, self.n_knots, strength, found) for strength, found in fits.items()]

    def _extend(self, state: _FoldState) -> bool:
        """Add the pair that is scored best, if one is scored above 0 and the budget has room for it."""
        state.n_before = len(state.pairs)
        room = self.budget.max_columns - self._columns(*state.pairs)
        left = [pair for pair in state.left if self._columns(pair) <= room]
        if not left:
            return False
        found = scores(state.fitted, self.recipe, self.coarse, left)
        order = np.argsort(-found, kind="stable")
        if not found[order[0]] > 0:
            return False
        state.pairs = (*state.pairs, left[order[0]])
        state.left = [left[k] for k in order[1 : _SHORTLIST + 1]]
        return True

    @property
    def _has_strengths(self) -> bool:
        """True if the penalty is given by name, so that it may have another strength on joint tables."""
        return isinstance(self.recipe.penalty, str)

    @property
    def _strengths(self) -> tuple[float, ...]:
        """The strengths of the penalty on joint tables that every step tries."""
        return _STRENGTHS if self._has_strengths else (1.0,)

    def _refit(self) -> list[Candidate]:
        """Fit all folds with their pairs, and keep the strength of the penalty under which they lose least."""
        first, *folds = self.states
        tried = {strength: [self._fitted(fold, strength, fold.pairs) for fold in folds] for strength in self._strengths}
        self.strength = min(tried, key=lambda strength: float(np.mean([fit.loss for fit in tried[strength]])))
        for fold, fit in zip(folds, tried[self.strength], strict=True):
            fold.fitted = fit
        first.fitted = self._fitted(first, self.strength, first.pairs)
        return [self._candidate(first.pairs, self.n_knots, strength, fits) for strength, fits in tried.items()]

    def _fitted(
        self, fold: _FoldState, strength: float, groups: Groups, n_knots: int | None = None, near: FittedModel | None = None
    ) -> FittedModel:
        """Fit groups to what a fold trains on; joint features have as many knots as in the search unless others are given."""
        recipe = replace(self.recipe, groups=JointGroups(groups, n_knots or self.n_knots, strength))
        return self.source.fitted(recipe, fold.part, fold.held, near)

    def refined(self, pairs: Groups) -> JointGroups:
        """Choose the knots of joint features, then the strength, for these pairs: the simplest within one standard error."""
        most = min(self.budget.max_columns, self.source.most_joint_columns)
        n_knots, sizes = self.n_knots, [self.n_knots]
        if n_knots:
            sizes = [k for k in _SIZES if k == n_knots or self._columns(*pairs, grid=self._coarse(k)) <= most]
        by_size = {k: self._fits(self.strength, pairs, k) for k in sizes}
        if n_knots:
            tried = [self._candidate(pairs, k, self.strength, fits) for k, fits in by_size.items()]
            n_knots = one_standard_error(tried).settings["n_knots"]
        by_strength = {self.strength: by_size[n_knots]}
        for strength in (self.strength / _STEP, self.strength * _STEP) if self._has_strengths else ():
            by_strength[strength] = self._fits(strength, pairs, n_knots, by_size[n_knots])
        tried = [self._candidate(pairs, n_knots, strength, fits) for strength, fits in by_strength.items()]
        return JointGroups(pairs, n_knots, one_standard_error(tried).settings["strength"])

    def _fits(
        self, strength: float, groups: Groups, n_knots: int | None, near: Sequence[FittedModel] = ()
    ) -> list[FittedModel]:
        """Fit groups in all folds, each from the fit of ``near`` on, or else from that of the fold before."""
        fits: list[FittedModel] = []
        for k, fold in enumerate(self.states[1:]):
            fits.append(self._fitted(fold, strength, groups, n_knots, near[k] if near else fits[-1] if fits else None))
        return fits

    def _coarse(self, n_knots: int) -> Grid:
        return coarse_grid(self.recipe, self.states[0].fitted.structure, self.source.items, n_knots)
