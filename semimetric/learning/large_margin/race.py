"""A sum of distances within a time budget: scales, components and a forest race, on few items first.

In the first heats few items are learned from, four times as many in each, and one part is held out; at the end the folds of
`shares` follow one by one, as far as time goes. After each heat

- a summand leaves the race if all candidates with a share of it lose more than the best, by two standard errors and a tenth;
- the seconds of each summand, and how they grew, say how long the next heat will take, and learning from all items. What would
  not be done in time is not begun.

Then the best candidate is learned whose summands can be learned from all items in what is left. Scales, which every sum has,
are learned from fewer items where there is no time for more. If nothing can be learned in time, the cheapest is, and a warning
says so.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

import numpy as np

from ..._foundation.errors import SemimetricWarning, TooFewError, warn
from ..._foundation.progress import progress_bar
from ..._foundation.storable import storable
from ..._foundation.time_budget import Stopwatch, TimeBudget
from ..._foundation.types import Integers
from ...data.splits import ItemClasses, leaves_enough
from ...embeddings.directions.embedded_components import work_of_components
from ..candidates import Candidate, Choices
from .label_problem import LabelProblem
from .shares import (
    MEASURE,
    ChosenSum,
    FoldDistances,
    Shares,
    compared,
    first_unless_far_better,
    folds_of,
    in_parts,
    judged_fold,
    judged_on,
    learn_chosen,
    units_of,
    with_scales,
)
from .summands import MOST_FOR_SCALES, rows_of_classes

__all__ = ["learn_sum_within"]

_FIRST = 300  # items of the first heat
_GROWTH = 4  # times as many in the next
_HELD = 0.25  # of the items of a heat
_FOR_SCALES = (MOST_FOR_SCALES, 1_000, 500, 250)  # items that scales are learned from, to choose of
_FAR = 2.0  # standard errors
_TENTH = 0.1  # of the loss of the best
_STEEPEST = 1.5  # power of the number of items with which seconds are taken to grow
_REST = "rest"  # grids, distances and votes


@storable
def least_loss(candidates: Sequence[Candidate]) -> Candidate:
    """The one with the least loss."""
    return min(candidates, key=lambda c: c.loss)


@dataclass
class _Seconds:
    """How long each summand took to learn from how many items, in the order of the heats."""

    measured: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, n_items: int, seconds: Mapping[str, float]) -> None:
        for name, value in seconds.items():
            self.measured.setdefault(name, []).append((n_items, value))

    def expected(self, name: str, n_items: int) -> float:
        """How long a summand takes for so many items: by the last heat, and how much longer than the one before it took."""
        if name not in self.measured:
            return 0.0
        points = self.measured[name]
        (m, last), power = points[-1], 1.0
        if name == "components":  # their steps grow by leaps, so that what came before says little
            return last * work_of_components(n_items) / work_of_components(m)
        before = [(k, t) for k, t in points if k < m]
        if before and before[-1][1] > 0 and last > 0:
            power = float(np.clip(np.log(last / before[-1][1]) / np.log(m / before[-1][0]), 0.0, _STEEPEST))
        return float(last * (n_items / m) ** power)


@dataclass(frozen=True)
class _Plan:
    """What is learned from all items."""

    names: tuple[str, ...]  # beside the scales
    most_for_scales: int
    seconds: float


def learn_sum_within(problem: LabelProblem, budget: TimeBudget) -> ChosenSum:
    """Choose the shares by items held out, and learn the sum from all items, within the budget.

    Raises
    ------
    TooFewError
        If nothing can be held out.
    KeyboardInterrupt
        On Ctrl-C, as `learn_sum` does.
    """
    problem = with_scales(problem)
    race = _Race(problem, budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants once
        race.run()
    judged = race.last
    units = units_of(judged)
    found = compared(problem, judged, units)
    plan = race.plan(found, list(units))
    in_time = {
        s: replace(c, seconds=race.seconds_of(s, units, plan)) for s, c in found.items() if _names(s, units) <= {*plan.names}
    }
    same = next(iter(in_time)) == next(iter(found)) and len(in_time) == len(found) and not race.dropped
    rule = first_unless_far_better if same else least_loss
    n_judged = len(np.unique(np.concatenate([fold.held for fold in judged])))
    choices = Choices(list(in_time.values()), MEASURE, rule, judged=judged_on(problem, n_judged, race.n_fits))
    if plan.seconds > budget.left:
        spent = budget.watch.seconds
        warn(
            f"time_budget={budget.seconds:g} is too short: {spent:.2g} s have passed, and the cheapest candidate, which is "
            f"taken, needs about {plan.seconds:.2g} s more; give at least {spent + plan.seconds:.2g}",
            cause="time budget too short",
        )
    return learn_chosen(problem, judged, units, in_time, choices, most_for_scales=plan.most_for_scales)


def _names(shares: Shares, units: Mapping[str, float]) -> set[str]:
    """The summands beside the scales that have a share."""
    return {name for name, share in zip(units, shares, strict=True) if share and name != "scales"}


class _Race:
    """The heats, and what they have shown so far."""

    def __init__(self, problem: LabelProblem, budget: TimeBudget) -> None:
        self.problem, self.budget, self.seconds = problem, budget, _Seconds()
        self.alive: tuple[str, ...] = ("components", "forest")
        self.dropped: set[str] = set()
        self.n_fits = 0
        self.last: list[FoldDistances] = []

    def run(self) -> None:
        """All heats for which there is time."""
        with progress_bar(self.budget.seconds, "seconds", verbose=self.problem.recipe.verbose, share=True) as bar:
            folds: list[FoldDistances] = []
            for part, held, whole in self._heats():
                if self.n_fits and not self._has_time(len(part)):
                    break
                bar.set_postfix_str(f"{' + '.join(('scales', *self.alive))} of {len(part):,} items")
                fold = self._judge(part, held)
                folds = [*folds, fold] if whole else []
                self.last = folds if len(folds) > 1 else in_parts(fold)
                bar.update(min(self.budget.watch.seconds, self.budget.seconds) - bar.n)
                if not whole:
                    self._drop()

    def _heats(self) -> Iterator[tuple[Integers, Integers, bool]]:
        """Rows to learn from and to judge by, and whether they are one of the folds of all items."""
        dataset, seed = self.problem.dataset, self.problem.recipe.random_state or 0
        folds, n = folds_of(self.problem), _FIRST
        while n * _GROWTH <= 2 * len(dataset.labels):
            rows = rows_of_classes(dataset, n, seed)
            some = dataset.take(rows)
            part, held = ItemClasses(some.items, some.labels).shares(_HELD, seed)
            if len(held) and leaves_enough(some.labels[part]):
                yield rows[part], rows[held], False
            n *= _GROWTH
        yield from ((part, held, True) for part, held in folds)

    def _judge(self, part: Integers, held: Integers) -> FoldDistances:
        """The distances of a heat; its seconds are written down."""
        watch = Stopwatch()
        fold, seconds = judged_fold(self.problem, part, held, wanted=self.alive, n_jobs=self.problem.recipe.n_jobs)
        rest = max(watch.seconds - sum(seconds.values()), 0.0)
        self.seconds.add(len(part), {**seconds, _REST: rest})
        self.n_fits += 1
        return fold

    def _has_time(self, n_items: int) -> bool:
        """Whether the next heat, and learning from all items after it, are likely to end in time."""
        heat = sum(self.seconds.expected(name, n_items) for name in ("scales", *self.alive, _REST))
        return heat + self.learning(self.alive, _FOR_SCALES[0]) <= self.budget.left

    def _drop(self) -> None:
        """Let the summands go that no candidate near the best has a share of."""
        try:
            units = units_of(self.last)
        except TooFewError:
            return
        found = compared(self.problem, self.last, units)
        best = least_loss(list(found.values()))
        near = [s for s, c in found.items() if not _is_hopeless(c, best)]
        self.dropped |= {name for name in self.alive if name in units and not any(name in _names(s, units) for s in near)}
        self.alive = tuple(name for name in self.alive if name not in self.dropped)

    def learning(self, names: Sequence[str], most_for_scales: int) -> float:
        """How long learning from all items takes with these summands beside the scales."""
        n, passes = len(self.problem.dataset.labels), self.problem.rule.n_passes
        of_scales = passes * self.seconds.expected("scales", min(n, most_for_scales))
        return of_scales + sum(self.seconds.expected(name, n) for name in (*names, _REST))

    def seconds_of(self, shares: Shares, units: Mapping[str, float], plan: _Plan) -> float:
        """How long learning a candidate from all items takes."""
        return self.learning(sorted(_names(shares, units)), plan.most_for_scales)

    def plan(self, found: Mapping[Shares, Candidate], units: Sequence[str]) -> _Plan:
        """The summands of the candidate with the least loss that can be learned in time, or of the cheapest one.

        All that are in the race are taken if there is time for them.
        """
        others = [name for name in units if name != "scales"]
        plans = []
        for names in chain.from_iterable(combinations(others, k) for k in range(len(others), -1, -1)):
            losses = [c.loss for s, c in found.items() if _names(s, dict.fromkeys(units, 1.0)) <= {*names}]
            for most in _FOR_SCALES if losses else ():
                plans.append((_Plan(names, most, self.learning(names, most)), min(losses)))
        in_time = [(plan, loss) for plan, loss in plans if plan.seconds <= self.budget.left]
        if in_time:
            return min(in_time, key=lambda p: (p[1], -p[0].most_for_scales))[0]
        return min((plan for plan, _ in plans), key=lambda p: p.seconds)


def _is_hopeless(candidate: Candidate, best: Candidate) -> bool:
    """Whether a candidate loses more than the best by over two standard errors and a tenth; more items may change less."""
    more = np.array(candidate.losses) - np.array(best.losses)
    error = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.inf
    return bool(more.mean() > max(_FAR * error, _TENTH * best.loss))
