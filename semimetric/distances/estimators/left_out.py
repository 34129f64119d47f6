"""Predictions of items by models that did not have them: by all others, by votes, and by refits on halves of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import progress_bar
from ..._foundation.text import html_table, number_text, text_table
from ..._foundation.types import Floats, Integers
from ...data.copies import Copies
from ...data.identical_items import identities
from ...data.schema import Feature, Schema
from ...data.splits import ItemClasses
from ..learning.gradient_scales import BaseScales, GapCoordinates
from ..learning.kernel_machine import Calibration, Fit, KernelMachine, Targets, kernel_of, solve
from ..learning.value_intervals import LeftOutErrors, LeftOutVotes, Nearby
from ..model.semimetric import Semimetric
from ..pairs.monotone_scales import l1_pairwise
from ..search.votes import HeldOutNeighbors, VoteRule
from .kernel_ridge_learner import KernelRidgeLearner, blas_threads, item_targets

_LEAST = 10  # items of a half
_TENTHS = 10  # parts, each calibrated by the others
_MOST_SHOWN = 20  # columns that are printed
_FEW = 50  # items or groups
_FOLDS = ((_FEW, 10), (300, 5))  # up to so many items or groups, so many folds
_FOLDS_OF_MANY = 3  # learning from more takes seconds a fold
_ITEMS_OF_A_COLUMN = 4  # from which on scales hardly remember the items that they were learned from
_MOST_REFITTED = 1_500  # items that are predicted by folds because of many columns; scales are learned from 1,000 of more
_N_VALUES = 16  # of a column, of which the mean prediction is shown
_OTHERS = "expect slightly less of others."


class LeftOutPredictions(NamedTuple):
    """Predictions of items by models that did not have them."""

    rows: Integers  # (n,): numbers of the items among those of the fit; -1 where they are not known
    predicted: Floats  # (n, n_classes) probabilities, or (n, 1) values
    targets: NDArray[Any]  # (n,): numbers of classes, or values
    weight: Floats  # (n,): how many items each row is
    how: str  # a sentence that says what was left out of what


def left_out_by_machine(
    d: Semimetric,
    machine: KernelMachine,
    items: Floats,
    known: NDArray[Any],
    counts: Floats,
    factors: Floats | None,
    *,
    n_items: int,
    random_state: int,
    n_jobs: int | None,
) -> LeftOutPredictions:
    """Predict each item by the machine of all others, exactly, from one factorization (`kernel_machine`).

    The width and the strength of ``machine`` are kept. The items of the fit, and what is known of them, are as in
    `item_targets`. Of more than ``n_items`` distinct items, a sample of so many is predicted by machines of one another.
    """
    rows, targets = item_targets(items, known, counts, factors, len(machine.offset))
    n = len(rows)
    rows, targets, left_out, _ = left_out_of_some(
        d, machine, items, rows, targets, n_items=n_items, random_state=random_state, n_jobs=n_jobs
    )
    weight = targets.counts
    how = f"Each of the {n:,} different items is predicted by the machine of all the others."
    if n > n_items:
        how = (
            f"Each of {n_items:,} items, a random sample of {n:,}, is predicted by a machine of the other {n_items - 1:,}. The "
            "model itself has more items."
        )
    how += f" The distance, the width and the strength were chosen with all items: {_OTHERS}"
    if targets.classes is None:
        return LeftOutPredictions(rows[targets.item], left_out, targets.outputs[:, 0], weight, how)
    how += " Each tenth of the probabilities is calibrated by the others. If few items are wrong, the log loss may be too good."
    found = _cross_calibrated(left_out, targets.classes, targets.weight, random_state)
    if factors is not None:
        weight = targets.without(factors).counts
    return LeftOutPredictions(rows[targets.item], found, targets.classes, weight, how)


def needs_folds(items: Floats, targets: Targets) -> bool:
    """Return True if columns are so many beside the distinct items that scales learned from all have seen each one.

    On noise of n items and p columns probabilities were as they should be up to p = n / 4, and too sure from p = n on. Rows of
    items that come again are predicted by the others of the item, whatever the columns are.
    """
    n, n_columns = len(items), int((np.ptp(np.nan_to_num(items), axis=0) > 0).sum())
    if (targets.unit < targets.weight).any():
        return False
    return _LEAST <= n <= _MOST_REFITTED and (n <= _FEW or _ITEMS_OF_A_COLUMN * n_columns > n)


def outputs_by_folds(
    learner: KernelRidgeLearner,
    schema: Schema,
    items: Floats,
    known: NDArray[Any],
    counts: Floats,
    groups: Integers | None,
    seed: int,
) -> Floats:
    """Return outputs of items (n_items, n_outputs), predicted by scales and a machine learned from other folds.

    ``known`` holds numbers of classes (int64), or values (float64). Identical items are in one fold; with ``groups``, shape
    (n_items,), the items of a group are. Outputs are NaN where others have one class or one value, or the weight is 0.
    """
    used = np.flatnonzero(counts > 0)
    n_classes = int(known.max()) + 1 if known.dtype.kind == "i" else None
    found = identities(items[used])
    n_units = len(found.first if groups is None else np.unique(groups[used]))
    n_folds = min(next((n for most, n in _FOLDS if n_units <= most), _FOLDS_OF_MANY), n_units)
    out, folds = np.full((len(items), n_classes or 1), np.nan), []
    if groups is None:
        used = used[np.argsort(found.hashes[found.number], kind="stable")]  # neither order nor repetition plays a part
        classes = ItemClasses(items[used], np.zeros(len(used)) if n_classes is None else known[used])
        if (n_folds := min(n_folds, classes.most_folds)) > 1:
            folds = classes.folds(n_folds, seed)
    elif n_folds > 1:
        folds = list(GroupKFold(n_folds, shuffle=True, random_state=seed).split(used, groups=groups[used]))
    rng = np.random.default_rng(seed)
    with progress_bar(len(folds), "folds", verbose=None, unit="fold") as bar:
        for part, held in folds:
            if np.ptp(known[used[part]]) > 0:
                some = _Refit.of(learner, schema, items, known, used[part], used[held], rng, counts)
                out[used[held]] = some.outputs
            bar.update()
    return out


def left_out_by_folds(
    outputs: Floats, targets: Targets, factors: Floats | None, of_groups: bool, seed: int
) -> LeftOutPredictions:
    """Return predictions of the rows of targets from `outputs_by_folds` (n_items, n_outputs)."""
    found = outputs[targets.row]
    there = np.flatnonzero(np.isfinite(found[:, 0]))
    unit = "group" if of_groups else "item"
    how = f"Each {unit} is predicted by scales and a machine that are learned from other folds of the {unit}s."
    weight = targets.counts[there]
    if targets.classes is None:
        return LeftOutPredictions(targets.row[there], found[there], targets.outputs[there, 0], weight, how)
    how += " Each tenth of the probabilities is calibrated by the others."
    if factors is not None:
        weight = targets.without(factors).counts[there]
    calibrated = _cross_calibrated(found[there], targets.classes[there], targets.weight[there], seed)
    return LeftOutPredictions(targets.row[there], calibrated, targets.classes[there], weight, how)


class LeftOutOfSome(NamedTuple):
    """Predictions of some distinct items by the machine of all others among them."""

    rows: Integers  # (n,): their row numbers
    targets: Targets
    left_out: Floats  # (n_rows, n_outputs): of the rows of the targets
    between: Floats  # (n, n): distances


def left_out_of_some(
    d: Semimetric,
    machine: KernelMachine,
    items: Floats,
    rows: Integers,
    targets: Targets,
    *,
    n_items: int,
    random_state: int,
    n_jobs: int | None,
) -> LeftOutOfSome:
    """Solve the machine of ``n_items`` distinct items, of more a sample, and predict each by all others of them."""
    n = len(rows)
    if n > n_items:
        some = np.sort(np.random.default_rng(random_state).choice(n, n_items, replace=False))
        rows, targets = rows[some], targets.take(some)
    with blas_threads(n_jobs):
        between = d.distances_to(items[rows], n_jobs=n_jobs)(items[rows])
        left_out = solve(kernel_of(between, machine.width), targets, machine.width, machine.strength).left_out
    return LeftOutOfSome(rows, targets, left_out, between)


def _cross_calibrated(left_out: Floats, classes: Integers, weight: Floats, seed: int) -> Floats:
    """Return probabilities from scores (n, n_classes), those of each tenth by a calibration on the others."""
    out, rng = np.empty_like(left_out), np.random.default_rng(seed)
    for held in np.array_split(rng.permutation(len(left_out)), min(_TENTHS, len(left_out))):
        rest = np.setdiff1d(np.arange(len(left_out)), held)
        calibration = Calibration.fit(left_out[rest], classes[rest], weight[rest])
        out[held] = calibration.probabilities(left_out[held])
    return out


def left_out_by_votes(rule: VoteRule, parts: Sequence[HeldOutNeighbors], copies: Copies) -> LeftOutPredictions:
    """Predict items that were held out of the fit of a distance, by votes of the others; rows are not known.

    All ``parts`` are of classes, or all of values. ``copies`` are those among all items.
    """
    found = [_voted(rule, part)[part.weight > 0] for part in parts]
    targets, weight = (np.concatenate([getattr(p, name)[p.weight > 0] for p in parts]) for name in ("targets", "weight"))
    how = (
        f"Each of {len(targets):,} items was held out of a fit of the distance, and is predicted by votes of the others. The "
        f"settings were chosen by these items: {_OTHERS}"
    )
    return LeftOutPredictions(np.full(len(targets), -1), np.concatenate(found), targets, copies.scale * weight, how)


def errors_of_votes(rule: VoteRule, parts: Sequence[HeldOutNeighbors], copies: Copies) -> LeftOutErrors:
    """Return the errors of votes for values of items that were held out; ``copies`` are those among all items."""
    scale = copies.scale
    found = [
        rule_votes(rule, part.distances, part.neighbor_targets, part.targets, part.neighbor_weight, scale * part.weight)
        for part in parts
    ]
    return joined_errors(found)


def joined_errors(found: Sequence[LeftOutVotes]) -> LeftOutErrors:
    """Return the errors of several groups of items, without those of weight 0."""
    weight = np.concatenate([part.weight for part in found])
    errors, *sums = (
        np.concatenate(arrays)[weight > 0]
        for arrays in zip(*((part.errors, part.nearby.errors, part.nearby.weight) for part in found), strict=True)
    )
    return LeftOutErrors.of_votes(LeftOutVotes(errors, Nearby(*sums), weight[weight > 0]))


def rule_votes(
    rule: VoteRule, distances: Floats, values: Floats, truth: Floats, weight: Floats | None, own_weight: Floats
) -> LeftOutVotes:
    """Return what neighbors with these values (n, K) predict of items, beside their true values (n,)."""
    predicted = rule.values(distances, values, weight)
    nearby = nearby_votes(rule, distances, values, predicted, weight)
    return LeftOutVotes(np.abs(predicted - truth), nearby, own_weight)


def nearby_votes(rule: VoteRule, distances: Floats, values: Floats, predicted: Floats, weight: Floats | None) -> Nearby:
    """Return how far the values of the voters (n, K) are from predictions (n,), added up by their votes."""
    votes = rule.votes(distances, weight)
    return Nearby((votes * np.abs(values - predicted[:, None])).sum(axis=1), votes.sum(axis=1))


def _voted(rule: VoteRule, part: HeldOutNeighbors) -> Floats:
    near = part.distances, part.neighbor_targets
    if part.class_shares is None:
        return rule.values(*near, part.neighbor_weight)[:, None]
    return rule.probabilities(*near, part.class_shares, part.neighbor_weight)


@dataclass(frozen=True, eq=False)
class RefittedColumns:
    """The columns of a machine, assessed by refits on halves of the items; predictions are of items of the other half.

    Printed, a table of how much each column matters.

    Attributes
    ----------
    losses : ndarray of shape (n_refits, n_features)
        The rise of the mean squared error of the outputs, where the values of a column are shuffled among the items, over the
        variance of the outputs (Breiman 2001). Outputs are values, or indicators of classes.
    values : dict of int to ndarray of shape (n_values,)
        For the columns of the largest mean losses, values in the order of the column, encoded.
    effects : dict of int to ndarray of shape (n_refits, n_values, n_outputs)
        The mean prediction (values, or probabilities of classes) of the items if all of them had this value (Friedman 2001).
    n_items, n_scored : int
        The most items that a refit learned from, and that it predicted.
    features : tuple of str
        The names of the columns.
    """

    losses: Floats
    values: dict[int, Floats]
    effects: dict[int, Floats]
    n_items: int
    n_scored: int
    features: tuple[str, ...]
    _title = "The squared error rises by this share of the variance if the values of a column are shuffled"

    @property
    def importances(self) -> Floats:
        """The means of `losses` over the refits, shape (n_features,)."""
        return self.losses.mean(axis=0)

    @property
    def deviations(self) -> Floats:
        """The standard deviations of `losses` among the refits, shape (n_features,)."""
        return self.losses.std(axis=0, ddof=1)

    def to_frame(self) -> Any:
        """Return a frame of pandas with a row for each column: its importance and the standard deviation, largest first."""
        order = self._order
        columns = {"importance": self.importances[order], "standard_deviation": self.deviations[order]}
        return optional("pandas").DataFrame({"feature": np.array(self.features, dtype=object)[order]} | columns)

    def plot(self, ax: Axes | None = None, *, most: int = 12) -> Axes:
        """Draw a bar for each of the ``most`` largest importances; see `semimetric.plotting.plot_refitted_columns`."""
        return picture("plot_refitted_columns")(self, ax, most=most)

    def __repr__(self) -> str:
        return "\n".join([self._title, *map(str.rstrip, text_table(self._rows(), left=1)), *self._notes])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), title=self._title, notes=self._notes)

    @property
    def _order(self) -> Integers:
        return np.argsort(-self.importances, kind="stable")

    @property
    def _notes(self) -> list[str]:
        more = len(self.features) - _MOST_SHOWN
        notes = [f"{more:,} more columns: see to_frame()"] if more > 0 else []
        about = (
            f"Mean of {len(self.losses)} refits, and two standard deviations among them. Each learned from up to "
            f"{self.n_items:,} items, and was measured on up to {self.n_scored:,} others."
        )
        return [*notes, about]

    def _rows(self) -> list[list[str]]:
        rows = [["column", "importance", "±"]]
        for f in self._order[:_MOST_SHOWN].tolist():
            rows.append([self.features[f], number_text(self.importances[f], 3), number_text(2 * self.deviations[f], 2)])
        return rows


def refitted_columns(
    learner: KernelRidgeLearner,
    schema: Schema,
    items: Floats,
    known: NDArray[Any],
    *,
    n_refits: int,
    n_items: int,
    n_scored: int,
    n_shown: int,
    seed: int,
) -> RefittedColumns | None:
    """Learn scales and machine anew from random halves of the items, and assess the columns; None of too few items.

    The target, knots and effort of ``learner`` are kept. ``items`` (n_items, n_features) are encoded, and ``known`` (n_items,)
    numbers of classes (int64) or values (float64). At most ``n_items`` of a half are learned from, and ``n_scored`` of the
    other one predicted. ``n_shown`` columns have effects.
    """
    n, rng = len(items), np.random.default_rng(seed)
    refits: list[_Refit] = []
    n_orders = (n_refits + 1) // 2 if n >= 2 * _LEAST else 0
    with progress_bar(2 * n_orders, "refits", verbose=None, unit="refit") as bar:
        for _ in range(n_orders):
            order = rng.permutation(n)
            for half, other in ((order[: n // 2], order[n // 2 :]), (order[n // 2 :], order[: n // 2])):
                some = np.sort(half[:n_items])
                if np.ptp(known[some]) > 0:
                    refits.append(_Refit.of(learner, schema, items, known, some, np.sort(other[:n_scored]), rng))
                bar.update()
    if len(refits) < 2:
        return None
    losses = np.array([refit.losses(len(schema.features), rng) for refit in refits])
    largest = np.argsort(-losses.mean(axis=0), kind="stable")[:n_shown].tolist()
    values = {f: shown for f in largest if len(shown := _values_of(schema.features[f], items[:, f])) > 1}
    effects = {f: np.array([refit.effect(schema, f, shown) for refit in refits]) for f, shown in values.items()}
    return RefittedColumns(losses, values, effects, min(n_items, n - n // 2), min(n_scored, n - n // 2), schema.names)


def _values_of(feature: Feature, column: Floats) -> Floats:
    """Return values of a column along which it is shown: quantiles, or the most frequent categories, without missing ones."""
    there = column[~np.isnan(column)]
    if feature.kind != "categorical":
        return np.unique(np.quantile(there, np.linspace(0.02, 0.98, _N_VALUES))) if len(there) else there
    codes, counts = np.unique(there, return_counts=True)
    return np.sort(codes[np.argsort(-counts, kind="stable")[:_N_VALUES]])


@dataclass(frozen=True, eq=False)
class _Refit:
    """A machine of one half, and what it needs to predict items of the other half with other values of a column."""

    scales: BaseScales
    slopes: Floats  # (n_features,)
    half: Floats  # (n_half, n_features): the distinct items that it learned from
    feature: Integers  # (n_coordinates,)
    learned: Floats  # (n_half, n_coordinates)
    scored: Floats  # (n_scored, n_coordinates)
    distances: Floats  # (n_scored, n_half)
    fit: Fit
    offset: Floats  # (n_outputs,)
    calibration: Calibration | None
    truth: Floats  # (n_scored, n_outputs)

    @classmethod
    def of(
        cls,
        learner: KernelRidgeLearner,
        schema: Schema,
        items: Floats,
        known: NDArray[Any],
        half: Integers,
        other: Integers,
        rng: np.random.Generator,
        counts: Floats | None = None,
    ) -> _Refit:
        n_classes = int(known.max()) + 1 if known.dtype.kind == "i" else None
        weight = np.ones(len(half)) if counts is None else counts[half]
        base, rounds = learner.rounds_of(schema, items[half], known[half], weight, rng, n_classes)
        best = min(rounds, key=lambda found: found.loss)
        targets, slopes = base.targets, base.scales.unit * best.weights
        made = _coordinates(schema, base.scales, slopes, np.vstack([base.items, items[other]]))
        learned, scored = np.split(made.values, [len(base.items)])
        kernel = kernel_of(l1_pairwise(learned, learned), best.setting.width)
        fit = solve(kernel, targets, *best.setting)
        calibration = None
        if targets.classes is not None:
            calibration = Calibration.fit(fit.left_out, targets.classes, targets.weight)
        truth = known[other][:, None].astype(np.float64) if n_classes is None else np.eye(n_classes)[known[other]]
        distances = l1_pairwise(scored, learned)
        return cls(
            base.scales, slopes, base.items, made.feature, learned, scored, distances, fit, targets.mean, calibration, truth
        )

    @property
    def outputs(self) -> Floats:
        """Outputs of the items of the other half, shape (n_scored, n_outputs)."""
        return self._outputs(self.distances)

    def _outputs(self, distances: Floats) -> Floats:
        return kernel_of(distances, self.fit.width) @ self.fit.coefficients + self.offset

    def _part(self, f: int, scored: Floats) -> Floats:
        """Return what a column adds to the distances of coordinates (n, n_coordinates) to the learned items."""
        own = self.feature == f
        return l1_pairwise(np.ascontiguousarray(scored[:, own]), np.ascontiguousarray(self.learned[:, own]))

    def losses(self, n_features: int, rng: np.random.Generator) -> Floats:
        """Return the rise of the squared error by shuffling each column, over the variance, shape (n_features,)."""
        spread = float(((self.truth - self.truth.mean(axis=0)) ** 2).sum()) or 1.0
        before = float(((self._outputs(self.distances) - self.truth) ** 2).sum())
        order, out = rng.permutation(len(self.truth)), np.zeros(n_features)
        for f in np.flatnonzero(self.slopes > 0).tolist():
            part = self._part(f, self.scored)
            found = self._outputs(self.distances + (part[order] - part))
            out[f] = (float(((found - self.truth) ** 2).sum()) - before) / spread
        return out

    def effect(self, schema: Schema, f: int, values: Floats) -> Floats:
        """Return the mean prediction if all items had a value of the column, shape (n_values, n_outputs)."""
        rows = np.repeat(self.half[:1], len(values), axis=0)
        rows[:, f] = values
        made = _coordinates(schema, self.scales, self.slopes, np.vstack([self.half, rows]))
        own = made.feature == f
        learned, given = np.split(np.ascontiguousarray(made.values[:, own]), [len(self.half)])
        added, rest = l1_pairwise(given, learned), self.distances - self._part(f, self.scored)
        out = []
        for part in added:
            found = self._outputs(rest + part)
            out.append((found if self.calibration is None else self.calibration.probabilities(found)).mean(axis=0))
        return np.array(out)


def _coordinates(schema: Schema, scales: BaseScales, slopes: Floats, items: Floats) -> GapCoordinates:
    """Return coordinates of items whose L1 distance is that of the slopes."""
    placed = items.copy()
    for f, scale in scales.scales.items():
        placed[:, f] = np.interp(items[:, f], scale.knots, scale.heights)
    found = GapCoordinates.of(schema, placed)
    return GapCoordinates(found.values * slopes[found.feature], found.feature)
