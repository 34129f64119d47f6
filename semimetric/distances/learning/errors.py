"""Distances of pairs of items that were not learned from, by learning again without them: items fall into folds.

For each fold the recipe is learned from the pairs that have no item in it (knots and directions are placed anew), and predicts
the pairs that have both. Pairs of two folds are neither. The difficulty of pairs is learned on the first fold, and intervals
are calibrated on the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import r2_score

from ..._foundation.errors import InputError, SemimetricWarning, TooFewError, warn
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.text import html_table
from ..._foundation.types import Floats, Integers, Pairs
from ...data.schema import Names
from ...data.splits import tuple_identities, units_of
from ..model.semimetric import Semimetric
from .measured import MeasuredDistances
from .measured_fit import learn, with_factors_of
from .options import Recipe

_MOST_LANDMARKS = 64  # items learned from that novelty is measured to
_DIFFICULTY_SHARE = 1 / 3  # of the items, or folds, teaches difficulty
N_NEIGHBORS = 10  # for which recall is reported
FEWEST_OTHERS = 2 * N_NEIGHBORS  # among fewer, neighbours are found by chance


@dataclass(frozen=True, eq=False)
class UnseenPairs:
    """Pairs of items that the model which predicted them has not seen."""

    true: Floats  # shape (n_pairs,)
    predicted: Floats  # shape (n_pairs,)
    novelty: Floats  # shape (n_pairs,); how far the items lie from those learned from, see `novelty_of`
    items: Integers  # shape (n_pairs, 2); the numbers of the distinct items of each pair
    teaches: NDArray[np.bool_]  # shape (n_pairs,); True for pairs that teach difficulty
    calibrates: NDArray[np.bool_]  # shape (n_pairs,); True for pairs that calibrate intervals: no item has pairs of both
    # The fraction of the nearest neighbours that is found, for every item whose distances to all others were evaluated.
    recalls: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.true)

    @classmethod
    def predicted_by(
        cls, d: Semimetric, pairs: Pairs, true: Floats, items: Integers, landmarks: Floats,
        sides: tuple[NDArray[np.bool_], NDArray[np.bool_]], n_jobs: int | None,
    ) -> UnseenPairs:  # fmt: skip
        """Return pairs with what a distance predicts; ``sides`` are the pairs that teach, and those that calibrate."""
        predicted = d.paired_by_index(pairs.items, pairs.index, n_jobs=n_jobs)
        novelty = novelty_of(d, pairs.items, pairs.index, landmarks, n_jobs=n_jobs)
        return cls(true, predicted, novelty, items, *sides, whole_rows(items, true, predicted))

    @classmethod
    def joined(cls, parts: Sequence[UnseenPairs]) -> UnseenPairs:
        """The pairs of all parts."""
        names = ("true", "predicted", "novelty", "items", "teaches", "calibrates")
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**arrays, recalls=tuple(r for part in parts for r in part.recalls))


def divided(
    items: Integers, unit: Integers, random_state: int | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:  # fmt: skip
    """Split pairs into those that teach difficulty and those that calibrate, by a random third of the units and the rest.

    ``unit``, of shape (n_items,), is the number of the unit of each item: units are divided, with all their items.
    """
    of_pair = unit[items]
    present = np.unique(of_pair)
    order = np.random.default_rng(random_state).permutation(len(present))
    teaching = np.zeros(int(unit.max()) + 1, dtype=bool)
    teaching[present[order[: round(_DIFFICULTY_SHARE * len(present))]]] = True
    n_teaching = teaching[of_pair].sum(axis=1)
    different = items[:, 0] != items[:, 1]
    return (n_teaching == 2) & different, (n_teaching == 0) & different


def choose_landmarks(items: Floats, random_state: int | None) -> Floats:
    """Choose a few of the items that were learned from, at random: shape (n_landmarks, n_features).

    Without a seed they are the same each time too, since intervals are calibrated with the landmarks that they are made with.
    """
    rows = np.random.default_rng(0 if random_state is None else random_state).permutation(len(items))[:_MOST_LANDMARKS]
    return items[np.sort(rows)]


def novelty_of(d: Semimetric, items: Floats, index: Integers, landmarks: Floats, *, n_jobs: int | None = None) -> Floats:
    """Return, for each pair, the sum of the learned distances of its two items to the nearest landmark."""
    used, place = np.unique(index, return_inverse=True)
    n, k = len(used), len(landmarks)
    cross = np.stack(np.meshgrid(np.arange(n), n + np.arange(k), indexing="ij"), axis=-1).reshape(-1, 2)
    gaps = d.paired_by_index(np.concatenate([items[used], landmarks]), cross, n_jobs=n_jobs)
    return np.abs(gaps).reshape(n, k).min(axis=1)[place.reshape(index.shape)].sum(axis=1)


def neighbour_recall(true: Floats, predicted: Floats) -> float:
    """Return the recall of the nearest others of one item, ties included; ``true`` and ``predicted`` are (n_others,)."""
    nearest = np.argsort(predicted, kind="stable")[:N_NEIGHBORS]
    return float((true[nearest] <= np.sort(true)[N_NEIGHBORS - 1]).mean())


def whole_rows(items: Integers, true: Floats, predicted: Floats) -> tuple[float, ...]:
    """Return the recall of every item that was compared with all others, if these are enough."""
    present, place = np.unique(items, return_inverse=True)
    if len(present) - 1 < FEWEST_OTHERS:
        return ()
    place = place.reshape(items.shape)
    start, end = np.concatenate([place, place[:, ::-1]]).T
    rows, first = np.unique(start * len(present) + end, return_index=True)
    start, end, row = start[first], end[first], np.tile(np.arange(len(items)), 2)[first]
    others = start != end
    n_others = np.bincount(start[others], minlength=len(present))
    return tuple(
        neighbour_recall(true[of], predicted[of])
        for item in np.flatnonzero(n_others == len(present) - 1)
        for of in (row[others & (start == item)],)
    )


_N_FOLDS = 5
_FEWEST = 20  # pairs that are held out in all
_MOST = 10_000  # pairs that the folds divide; of more a sample is drawn
_LEAST = 2  # pairs to learn from


def set_aside(data: MeasuredDistances, share: float, recipe: Recipe) -> tuple[MeasuredDistances, MeasuredDistances]:
    """Pairs to learn from, and pairs of a share of the items, or of the components that share no item.

    Pairs of items of both sides are left out.
    """
    identity = tuple_identities(data.pairs)
    unit = units_of(identity)
    n_units = int(unit.max()) + 1
    aside = np.zeros(n_units, dtype=bool)
    aside[np.random.default_rng(recipe.random_state).permutation(n_units)[: round(share * n_units)]] = True
    n_aside = aside[unit][identity].sum(axis=1)
    sides = n_aside == 0, n_aside == 2
    if sides[0].sum() < _LEAST or sides[1].sum() < _FEWEST:
        raise TooFewError(
            f"validation_fraction={share:g} of {len(unit)} items leaves {sides[0].sum()} pairs to learn from, and "
            f"{sides[1].sum()} set aside; {_FEWEST} set aside are required: give more pairs, or another share"
        )
    first, second = (data.take(side) for side in sides)
    return first, second


def score_pairs(d: Semimetric, data: MeasuredDistances, landmarks: Floats, recipe: Recipe) -> UnseenPairs:
    """Score the pairs that were set aside by a model that has not seen their items."""
    identity = tuple_identities(data.pairs)
    sides = divided(identity, units_of(identity), recipe.random_state)
    return UnseenPairs.predicted_by(d, data.pairs, data.y, identity, landmarks, sides, recipe.n_jobs)


def cross_fitted(recipe: Recipe, data: MeasuredDistances, names: Names) -> UnseenPairs:
    """All pairs of two items of the same fold, scored by models that have seen none of the fold; of many pairs, of a sample."""
    if len(data.y) > _MOST:
        data = data.take(np.sort(np.random.default_rng(recipe.random_state).choice(len(data.y), _MOST, replace=False)))
    identity = tuple_identities(data.pairs)
    unit = units_of(identity)
    n_units = int(unit.max()) + 1
    fold = np.empty(n_units, np.int64)
    fold[np.random.default_rng(recipe.random_state).permutation(n_units)] = np.arange(n_units) % _N_FOLDS
    left, right = fold[unit][identity].T
    sides = [((left != k) & (right != k), (left == k) & (right == k)) for k in range(_N_FOLDS)]
    n_held = sum(int(held.sum()) for _, held in sides)
    if n_held < _FEWEST or min(int(rest.sum()) for rest, _ in sides) < _LEAST:
        raise TooFewError(
            f"only {n_held} of {len(data.y)} pairs have both items in one of {_N_FOLDS} folds; {_FEWEST} are required: give "
            "more pairs, or pairs of fewer items"
        )
    quiet, found = replace(recipe, verbose=False), []
    with progress_bar(_N_FOLDS, "errors", verbose=recipe.verbose) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the fit to all pairs warned once
        for k, (rest, held) in enumerate(sides):
            if held.any():
                found.append(_without(quiet, data.take(rest), data.take(held), identity[held], names, teaches=k == 0))
            bar.update()
    return UnseenPairs.joined(found)


def _without(
    recipe: Recipe, rest: MeasuredDistances, held: MeasuredDistances, items: np.ndarray, names: Names, *, teaches: bool
) -> UnseenPairs:
    if np.ptp(rest.y) == 0:
        raise InputError(
            f"without a fold of items {len(rest.y)} pairs are left, all at distance {rest.y[0]:g}; give more pairs"
        )
    d, solution, _ = learn(with_factors_of(rest, recipe), rest, names)
    solution.raise_if_interrupted(kept=True)
    landmarks = choose_landmarks(rest.items, recipe.random_state)
    different = items[:, 0] != items[:, 1]
    sides = different & teaches, different & (not teaches)
    return UnseenPairs.predicted_by(d, held.pairs, held.y, items, landmarks, sides, recipe.n_jobs)


_FEW_PAIRS = 20  # fewer cannot evaluate a model
_EXPLAINED = 0.1  # of the variance: less is next to nothing
_CLOSE = 0.05  # a relative error that is good enough where distances hardly differ
_FEW_QUERIES = 10  # whose mean recall is off by .1 easily
_LEAST_SHOWN = 1e-6  # a relative error below which printed digits are those of rounding
_NAN = float("nan")


def relative_errors(true: Floats, predicted: Floats) -> Floats:
    """Return errors divided by the true distances, of the pairs whose true distance is not 0."""
    there = true != 0
    return np.abs(predicted[there] - true[there]) / np.abs(true[there])


def pair_errors(true: Floats, predicted: Floats) -> tuple[float | None, float, float | None]:
    """Return the median relative and the mean absolute error of pairs, and the correlation; None if it is not defined."""
    with np.errstate(over="ignore"):
        relative = relative_errors(true, predicted)
    median = float(np.median(relative)) if len(relative) else np.nan
    largest = [np.abs(side).max(initial=0.0) or 1.0 for side in (true, predicted)]
    unit = max(largest)  # sums and squares in such units neither overflow nor vanish
    scaled = true / largest[0], predicted / largest[1]
    varies = len(true) > 1 and all(np.ptp(side) > 0 for side in scaled)
    mean = float(unit * np.abs(predicted / unit - true / unit).mean())
    return median if np.isfinite(median) else None, mean, float(np.corrcoef(*scaled)[0, 1]) if varies else None


@storable
@dataclass(frozen=True)
class DistanceErrors:
    """Errors of predicted distances on pairs of items that were not learned from; every pair counts once.

    Figures that the pairs do not determine are NaN; if all are, ``note`` says why. The recall is the fraction of an item's 10
    nearest others by predicted distance that are among its 10 nearest by true distance: the mean over items whose distances to
    all others, 20 at least, were evaluated.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 2))
    >>> i, j = np.triu_indices(60, 1)
    >>> y = np.abs(X[i] - X[j]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(preprocessor=X, n_knots=3, alpha=1e-6, validation_fraction=0.3)
    >>> error = model.fit(np.column_stack([i, j]), y).error_
    >>> bool(error.median < 0.01), error.n_pairs, error.n_items
    (True, 153, 18)
    """

    median: float = _NAN  # of |predicted - true| / true, as the next two; of pairs with true distances other than 0
    mean: float = _NAN
    quantile_90: float = _NAN
    r2: float = _NAN  # 1 - the sum of squared errors / that of the deviations of the true distances from their mean
    rank_correlation: float = _NAN  # Spearman's
    recall: float = _NAN
    n_pairs: int = 0
    n_items: int = 0
    n_queries: int = 0  # items over which the recall is the mean
    note: str = ""  # the models that were evaluated, or why there are no errors

    def __post_init__(self) -> None:
        counts = self.n_pairs, self.n_items, self.n_queries
        if min(counts) < 0:
            raise InputError(f"counts of pairs, items and queries are {counts}; none can be below 0: restore the file")

    @classmethod
    def of(cls, unseen: UnseenPairs, note: str) -> DistanceErrors:
        """Return the errors of evaluated pairs."""
        true, predicted = unseen.true, unseen.predicted
        relative, varied = relative_errors(true, predicted), len(true) > 1 and np.ptp(true) > 0
        median, mean, high = _NAN, _NAN, _NAN
        if len(relative):
            median, mean, high = np.median(relative), relative.mean(), np.quantile(relative, 0.9)
        ranked = varied and np.ptp(predicted) > 0
        return cls(
            median=float(median),
            mean=float(mean),
            quantile_90=float(high),
            r2=float(r2_score(true, predicted)) if varied else _NAN,
            rank_correlation=float(spearmanr(true, predicted).statistic) if ranked else _NAN,
            recall=float(np.mean(unseen.recalls)) if unseen.recalls else _NAN,
            n_pairs=len(unseen),
            n_items=len(np.unique(unseen.items)),
            n_queries=len(unseen.recalls),
            note=note,
        )

    def __str__(self) -> str:
        if not self.n_pairs:
            return f"Errors are not known: {self.note}"
        lines = [
            f"Errors on {_counted(self.n_pairs, 'pair')} of {_counted(self.n_items, 'item')}: {self.note}",
            f"  relative error {_percent(self.median)} (median), {_percent(self.mean)} (mean), "
            f"{_percent(self.quantile_90)} (90 % of the pairs are below)",
            f"  R² {_figure(self.r2, 3)}, rank correlation {_figure(self.rank_correlation, 3)}",
        ]
        if self.n_queries:
            lines.append(f"  recall of the {N_NEIGHBORS} nearest neighbours {_figure(self.recall, 2)} ({self._recall_of})")
        return "\n".join(lines)

    @property
    def _recall_of(self) -> str:
        few = ": a rough figure" if self.n_queries < _FEW_QUERIES else ""
        chance = min(N_NEIGHBORS / (self.n_items - 1), 1.0)
        return (
            f"{_counted(self.n_queries, 'item')}, each compared with all others held out{few}; by chance {_figure(chance, 2)}, "
            "and lower among more items"
        )

    def _repr_html_(self) -> str:
        if not self.n_pairs:
            return html_table([("figure", "value")], title=str(self))
        rows = [
            ("relative error, median", _percent(self.median)),
            ("relative error, mean", _percent(self.mean)),
            ("relative error, 90 % quantile", _percent(self.quantile_90)),
            ("R²", _figure(self.r2, 3)),
            ("rank correlation", _figure(self.rank_correlation, 3)),
        ]
        if self.n_queries:
            rows.append((f"recall of the {N_NEIGHBORS} nearest, {self._recall_of}", _figure(self.recall, 2)))
        title, *_ = str(self).split("\n")
        return html_table([("figure", "value"), *rows], title=title)

    def __eq__(self, other: object) -> bool:
        """Return True if all figures are the same; NaN is the same as NaN."""
        if not isinstance(other, DistanceErrors):
            return NotImplemented
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return all(a == b or (a != a and b != b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.n_pairs, self.n_items, self.n_queries, self.note))

    def warn_if_useless(self) -> None:
        """Warn of a model that explains next to nothing of how distances differ, unless they hardly differ."""
        if self.n_pairs < _FEW_PAIRS or not self.r2 < _EXPLAINED or not self.median > _CLOSE:
            return
        warn(
            f"on {self.n_pairs} pairs of items that were set aside the model explains {100 * max(self.r2, 0.0):.2g} % of the "
            f"variance of the distances, and its median relative error is {100 * self.median:.3g} %: it is hardly better than "
            "one distance for all pairs. Give more items or pairs, directions= or Tables(groups=) that the distance depends "
            "on, or other features of the items"
        )


def quantiles_of(relative: Floats, levels: Sequence[float]) -> dict[float, float]:
    """Return quantiles of relative errors by their levels; NaN without pairs."""
    found = np.quantile(relative, levels).tolist() if len(relative) else [_NAN] * len(levels)
    return dict(zip(levels, found, strict=True))


def _percent(fraction: float) -> str:
    if np.isnan(fraction):
        return "not known"
    return f"below {100 * _LEAST_SHOWN:g} %" if 0 < fraction < _LEAST_SHOWN else f"{100 * fraction:.3g} %"


def _figure(value: float, n_digits: int) -> str:
    return "not known" if np.isnan(value) else f"{value:.{n_digits}f}"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
