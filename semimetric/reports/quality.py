"""Quality of predictions: figures with intervals, confusions, calibration, ROC and errors, and which items they are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from .._foundation.types import Floats, Integers
from ..distances.estimators.left_out import LeftOutPredictions
from ..distances.search.votes import weighted_median
from .subjects import ReportItems, Subject, fact_table

LEVEL = 0.9
"""The level of the intervals of values."""

_LEVEL = f"{100 * LEVEL:g} %"

_MOST_JUDGED = 2_000  # items
_MOST_GROUPED = 10_000  # items, if they are divided into groups
_MOST_CLASSES = 20  # of a table of confusions
_MOST_DRAWN = 400  # items of a picture
_LEAST = 1e-6  # the probability of the true class in a logarithm
_DRAWS = 400  # bootstrap samples
_NORMAL = 1.959964  # standard errors to either side of a 95 % interval
_BINS = np.linspace(0.0, 1.0, 11)  # of probabilities


@dataclass(frozen=True, eq=False)
class Assessed:
    """Predictions of items whose classes or values are known."""

    rows: Integers  # (n,): numbers of the items in the report; -1 where they are not known
    predicted: NDArray[Any]  # (n,): numbers of classes, or values
    probabilities: Floats | None  # (n, n_classes)
    truth: NDArray[Any]  # (n,): numbers of classes, -1 for one that the model does not know; or values
    weight: Floats  # (n,): how many items each row is
    how: list[str]  # sentences: which items these are, and what follows
    held_out: bool | None  # True if the model has not learned from them; None if it is not known
    intervals: tuple[Floats, Floats] | None = None  # lower and upper ends of values, (n,) each, at `LEVEL`

    def take(self, some: Integers) -> Assessed:
        """Return some of the items, by their numbers here."""
        probabilities = None if self.probabilities is None else self.probabilities[some]
        ends = None if self.intervals is None else (self.intervals[0][some], self.intervals[1][some])
        parts = (self.rows[some], self.predicted[some], probabilities, self.truth[some], self.weight[some])
        return Assessed(*parts, self.how, self.held_out, ends)


def assess(
    subject: Subject, items: ReportItems | None, rng: np.random.Generator, *, in_groups: bool = False
) -> Assessed | None:
    """Assess a model by given items that it has not learned from, or else by what it left out; None if neither is known.

    More items are assessed if they are to be divided into groups.
    """
    if not subject.predicts:
        return None
    if items is not None and not items.are_own and items.targets is not None and items.target_name == subject.predicts:
        rows = np.arange(len(items)) if items.seen is None else np.flatnonzero(~items.seen)
        if len(rows):
            return _given(subject, items, rows, rng, _MOST_GROUPED if in_groups else _MOST_JUDGED)
    found = subject.left_out()
    return None if found is None else _left_out(subject, found, items)


def _given(subject: Subject, items: ReportItems, rows: Integers, rng: np.random.Generator, most: int) -> Assessed:
    assert items.targets is not None
    how = [f"On {_count(len(rows), 'item')} that the model has not learned from."]
    if items.seen is None:
        how = [
            f"On the {_count(len(rows), 'item')} that were given. This page cannot know if the model was learned from them; if "
            "it was, expect less of others."
        ]
    elif same := int(items.seen.sum()):
        how.append(f"{_count(same, 'more item')} equal learned ones in every column, and are left out of these figures.")
    if len(rows) > most:
        how.append(f"The figures are of a random sample of {most:,}.")
        rows = np.sort(rng.choice(rows, most, replace=False))
    found = subject.predicted(items.values[rows])
    targets = items.targets[rows]
    truth: NDArray[Any] = np.asarray(targets, dtype=np.float64) if subject.classes is None else _codes(subject, targets)
    if subject.classes is not None and (n := int((truth < 0).sum())):
        how.append(f"{_count(n, 'item')} of a class that the model does not know count as wrong.")
    held_out = None if items.seen is None else True
    ends = subject.intervals(items.values[rows], LEVEL)
    return Assessed(rows, found.values, found.probabilities, truth, np.ones(len(rows)), how, held_out, ends)


def _left_out(subject: Subject, found: LeftOutPredictions, items: ReportItems | None) -> Assessed:
    how = [
        "No items that are new to the model were given with what they truly are, so the fit itself has measured it.",
        found.how,
    ]
    rows = found.rows if items is not None and items.are_own else np.full(len(found.rows), -1)
    if subject.classes is None:
        return Assessed(rows, found.predicted[:, 0], None, found.targets, found.weight, how, False)
    codes = found.predicted.argmax(axis=1)
    return Assessed(rows, codes, found.predicted, found.targets, found.weight, how, False)


def _codes(subject: Subject, targets: Any) -> Integers:
    number = {name: k for k, name in enumerate(subject.classes or ())}
    return np.array([number.get(name, -1) for name in np.asarray(targets).tolist()])


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def quality_facts(subject: Subject, assessed: Assessed | None, rng: np.random.Generator) -> dict[str, Any] | None:
    """Return figures, tables and what pictures show, as values of JSON; None where nothing is known."""
    if assessed is None:
        return None
    found = _of_values(assessed, rng) if subject.classes is None else _of_classes(subject.classes, assessed, rng)
    if subject.classes is None and assessed.held_out is False:
        found["figures"] += _widths_of_own(subject, assessed)
    return {"how": assessed.how, "held_out": assessed.held_out, "n": round(float(assessed.weight.sum()))} | found


def _widths_of_own(subject: Subject, assessed: Assessed) -> list[dict[str, Any]]:
    """Return the mean width of intervals where no new items say how many of these hold."""
    if (ends := subject.own_intervals(assessed.rows, LEVEL)) is None:
        return []
    means = "it is not measured how many hold, as no new items were given with their values"
    return [figure(f"mean width of {_LEVEL} intervals", mean(ends[1] - ends[0], assessed.weight), None, means)]


def figure(
    name: str, value: float, ends: tuple[float, float] | None, means: str = "", *, is_share: bool = False
) -> dict[str, Any]:
    """Return a figure with its 95 % interval and what it means, as values of JSON."""
    low, high = ends or (None, None)
    return {"name": name, "value": value, "low": low, "high": high, "means": means, "is_share": is_share}


def _of_classes(classes: tuple[str, ...], assessed: Assessed, rng: np.random.Generator) -> dict[str, Any]:
    weight, truth = assessed.weight, assessed.truth
    right = (assessed.predicted == truth).astype(np.float64)
    known = truth >= 0
    shares = np.bincount(truth[known], weights=weight[known], minlength=len(classes)) / weight.sum()
    most = int(shares.argmax())
    accuracy = float(np.average(right, weights=weight))
    figures = [
        figure("accuracy", accuracy, wilson(accuracy, weight.sum()), "of the items have the class that is predicted",
                is_share=True),
        figure("always the most frequent class", float(shares[most]), None, f"would be right for {classes[most]}",
                is_share=True),
    ]  # fmt: skip
    facts: dict[str, Any] = {"figures": figures, "confusions": None, "calibration": None, "roc": None, "drawn": None}
    if assessed.probabilities is not None and known.any():
        own = log_losses(assessed)
        blind = -float(shares[shares > 0] @ np.log(shares[shares > 0]))
        means = f"less is better; knowing the shares of the classes alone gives {blind:.3g}"
        ends = bootstrap(mean, rng, own, weight[known])
        figures.append(figure("log loss", mean(own, weight[known]), ends, means))
        facts["calibration"] = _calibration(classes, assessed)
        of_one = truth[known] == 1
        if len(classes) == 2 and 0 < of_one.sum() < len(of_one):
            score = assessed.probabilities[known, 1]
            auc = _auc(of_one, score, weight[known])
            ends = None if auc in (0.0, 1.0) else bootstrap(_auc, rng, of_one, score, weight[known])
            means = (
                f"chance that an item of {classes[1]} has a higher probability of it than one of {classes[0]}; .5 is a guess"
            )
            figures.append(figure("area under the ROC curve", auc, ends, means))
            facts["roc"] = _roc(classes[1], of_one, score, weight[known], auc)
    if len(classes) <= _MOST_CLASSES:
        facts["confusions"] = _confusions(classes, assessed)
    return facts


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of n items (Wilson 1927), which is no point at 0 and 1."""
    z = _NORMAL**2 / n
    middle, half = share + z / 2, _NORMAL * np.sqrt(share * (1 - share) / n + z / n / 4)
    return max(float((middle - half) / (1 + z)), 0.0), min(float((middle + half) / (1 + z)), 1.0)


def bootstrap(figure: Any, rng: np.random.Generator, *arrays: NDArray[Any]) -> tuple[float, float] | None:
    """Return the central 95 % of a figure over bootstrap samples of the items; None of fewer than ten items."""
    n = len(arrays[0])
    if n < 10:
        return None
    draws = rng.integers(0, n, (_DRAWS, n))
    found = [value for rows in draws if np.isfinite(value := figure(*(array[rows] for array in arrays)))]
    low, high = np.quantile(found, [0.025, 0.975]) if found else (np.nan, np.nan)
    return float(low), float(high)


def log_losses(assessed: Assessed) -> Floats:
    """Return the log losses of the items whose class the model knows."""
    assert assessed.probabilities is not None
    known = assessed.truth >= 0
    return -np.log(np.maximum(assessed.probabilities[known, assessed.truth[known]], _LEAST))


def held_figure(assessed: Assessed) -> dict[str, Any]:
    """Return the share of the items whose value lies in its interval."""
    assert assessed.intervals is not None
    low, high = assessed.intervals
    held = mean(((low <= assessed.truth) & (assessed.truth <= high)).astype(np.float64), assessed.weight)
    n = float(assessed.weight.sum())
    means = f"{_LEVEL} intervals held {held:.1%} of the {_count(round(n), 'item')}"
    return figure(f"held by {_LEVEL} intervals", held, wilson(held, n), means, is_share=True)


def mean(values: Floats, weight: Floats) -> float:
    """Return the weighted mean."""
    return float(np.average(values, weights=weight))


def _auc(positive: NDArray[np.bool_], score: Floats, weight: Floats) -> float:
    """Return the area under the ROC curve, NaN if one of the classes is absent."""
    _, number = np.unique(score, return_inverse=True)
    ones, others = (np.bincount(number, weights=weight * of, minlength=number.max() + 1) for of in (positive, ~positive))
    total = ones.sum() * others.sum()
    return float(ones @ (np.cumsum(others) - others / 2) / total) if total > 0 else np.nan


def _roc(name: str, positive: NDArray[np.bool_], score: Floats, weight: Floats, auc: float) -> dict[str, Any]:
    wrong, right, _ = roc_curve(positive, score, sample_weight=weight)
    kept = np.unique(np.linspace(0, len(wrong) - 1, min(len(wrong), _MOST_DRAWN)).round().astype(int))
    return {"of": name, "wrong": wrong[kept].tolist(), "right": right[kept].tolist(), "area": auc}


def _calibration(classes: tuple[str, ...], assessed: Assessed) -> dict[str, Any]:
    """Return how often each tenth of the probability came true: of the second of two classes, or of the predicted one."""
    assert assessed.probabilities is not None
    if len(classes) == 2:
        of, share, true = f"of {classes[1]}", assessed.probabilities[:, 1], assessed.truth == 1
    else:
        of, share, true = (
            "of the class that is predicted",
            assessed.probabilities.max(axis=1),
            assessed.predicted == assessed.truth,
        )
    bins = np.clip(np.searchsorted(_BINS, share, side="right") - 1, 0, len(_BINS) - 2)
    rows, apart = [], 0.0
    for b in np.unique(bins).tolist():
        weight = assessed.weight[bins == b]
        mean, came = (float(np.average(values[bins == b], weights=weight)) for values in (share, true))
        low, high = wilson(came, weight.sum())
        rows.append({"n": round(float(weight.sum())), "said": mean, "true": came, "low": low, "high": high})
        apart += float(weight.sum()) * abs(mean - came)
    return {"of": of, "rows": rows, "apart": apart / float(assessed.weight.sum())}


def _confusions(classes: tuple[str, ...], assessed: Assessed) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for c, name in [*enumerate(classes), (-1, "(other)")]:
        of = assessed.truth == c
        counts = np.bincount(assessed.predicted[of], weights=assessed.weight[of], minlength=len(classes))
        if c >= 0 or counts.any():
            rows.append([name, *map(round, counts.tolist())])
    head = ["true class", *(f"predicted {name}" for name in classes)]
    return fact_table("Which classes are taken for which", head, rows, "A row counts the items of a class.")


def _of_values(assessed: Assessed, rng: np.random.Generator) -> dict[str, Any]:
    true, found, weight = assessed.truth, assessed.predicted, assessed.weight
    unit = float(max(np.abs(true).max(), np.abs(found).max())) or 1.0  # in which squares neither overflow nor all vanish
    off = np.abs(true / unit - found / unit)
    center = float(np.average(true / unit, weights=weight))

    def half(off: Floats, weight: Floats) -> float:
        return unit * float(weighted_median(off[None], weight[None])[0])

    def mean_error(off: Floats, weight: Floats) -> float:
        return unit * mean(off, weight)

    def explained(off: Floats, true: Floats, weight: Floats) -> float:
        spread = weight @ (true / unit - np.average(true / unit, weights=weight)) ** 2
        return float(1.0 - weight @ off**2 / spread) if spread > 0 else np.nan

    blind = unit * float(np.average(np.abs(true / unit - center), weights=weight))
    figures = [
        figure("median error", half(off, weight), bootstrap(half, rng, off, weight), "half of the items are off by less"),
        figure("mean absolute error", mean_error(off, weight), bootstrap(mean_error, rng, off, weight),
                f"predicting the mean for every item gives {blind:.3g}"),
        figure("root mean squared error", unit * float(np.sqrt(np.average(off**2, weights=weight))), None,
                "counts large errors more"),
        figure("largest error", unit * float(off.max()), None, "of any item"),
    ]  # fmt: skip
    if np.isfinite(fit := explained(off, true, weight)):
        ends = bootstrap(explained, rng, off, true, weight)
        figures.insert(0, figure("R²", fit, ends, "1 is perfect, and 0 is no better than the mean"))
    some = np.sort(rng.choice(len(true), min(len(true), _MOST_DRAWN), replace=False))
    drawn = {"true": true[some].tolist(), "predicted": np.asarray(found[some], dtype=np.float64).tolist()}
    if assessed.intervals is not None:
        low, high = assessed.intervals
        drawn |= {"low": low[some].tolist(), "high": high[some].tolist()}
        ends = bootstrap(mean, rng, high - low, weight)
        means = "how sure the predictions are, on average"
        figures += [held_figure(assessed), figure(f"mean width of {_LEVEL} intervals", mean(high - low, weight), ends, means)]
    return {"figures": figures, "confusions": None, "calibration": None, "roc": None, "drawn": drawn}
