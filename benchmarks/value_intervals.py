"""Do intervals of 50, 80, 90 and 95 % hold that part of new values, and how wide are they, on twelve data sets?

The sets and the 70/30 splits are those of `knn_regression.py`. The construction and its settings were chosen on the splits 0
and 1; splits 2 to 9 are reported. A row has the share of the test part that each interval holds, and its mean width divided by
the standard deviation of the values of the test part. Compared, all on one thread and with their defaults:

    semimetric      `SemimetricRegressor.predict(X, interval=level)`: leave-one-out errors of the machine, local
    votes           the same with predictor="neighbors": errors of votes on items held out, relative to what the voters say
    given votes     the same with 5 neighbors that vote alike: errors of votes of all other items
    split           split-conformal intervals of one width: the machine learns from three quarters, and the errors of the last
                    quarter give the width, which is proved to hold the level on average over draws of both
    boosting        quantile gradient boosting of scikit-learn, a model for each end
    cqr             the same on three quarters, and made to hold the level on the last one (Romano, Patterson & Candes 2019)
    forest          weighted quantiles of the values in the leaves of a random forest (Meinshausen 2006)

    python benchmarks/value_intervals.py [--sets diabetes glass ...] [--splits 2 3 ...] [--methods semimetric ...]
                                         [--results FILE]

Rows are appended to FILE as JSON lines, and what is there is not run again.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from math import ceil

import numpy as np
from knn_accuracy import CHOICES, SPLITS
from knn_regression import REASONS, SETS, load
from report import add_results, append, data_folder, read, report, use_one_thread, with_origin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.preprocessing import StandardScaler

BENCHMARK = "value_intervals"
LEVELS = (0.5, 0.8, 0.9, 0.95)
CALIBRATES = 0.25
Ends = dict[float, tuple[np.ndarray, np.ndarray]]


def ours(**options: object) -> Callable[..., Ends]:
    """Intervals of `SemimetricRegressor` with these options."""

    def intervals(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Ends:
        from semimetric import SemimetricRegressor

        model = SemimetricRegressor(**options).fit(X, y)
        return {level: model.predict(new, interval=level)[1:] for level in LEVELS}

    return intervals


def conformal(scores: np.ndarray, level: float) -> float:
    """The quantile of the scores of held-out items that covers a new one; infinite where they are too few."""
    rank = ceil(level * (len(scores) + 1) - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


def split(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Ends:
    """One width for all, from the errors of items set aside."""
    from semimetric import SemimetricRegressor

    learn, rest, y_learn, y_rest = train_test_split(X, y, test_size=CALIBRATES, random_state=0)
    model = SemimetricRegressor().fit(learn, y_learn)
    errors, found = np.abs(y_rest - model.predict(rest)), model.predict(new)
    return {level: (found - conformal(errors, level), found + conformal(errors, level)) for level in LEVELS}


def quantile_boosting(X: np.ndarray, y: np.ndarray, level: float) -> list[HistGradientBoostingRegressor]:
    """A model for each end."""
    ends = ((1 - level) / 2, (1 + level) / 2)
    return [HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0).fit(X, y) for q in ends]


def boosting(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Ends:
    """Quantile boosting on all items."""
    found = {}
    for level in LEVELS:
        low, high = (model.predict(new) for model in quantile_boosting(X, y, level))
        found[level] = np.minimum(low, high), np.maximum(low, high)
    return found


def conformal_boosting(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Ends:
    """Quantile boosting whose ends are moved by as much as items set aside ask for."""
    learn, rest, y_learn, y_rest = train_test_split(X, y, test_size=CALIBRATES, random_state=0)
    found = {}
    for level in LEVELS:
        low, high = quantile_boosting(learn, y_learn, level)
        moved = conformal(np.maximum(low.predict(rest) - y_rest, y_rest - high.predict(rest)), level)
        found[level] = low.predict(new) - moved, high.predict(new) + moved
    return found


def forest(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Ends:
    """Weighted quantiles of the values that share leaves with a query."""
    model = RandomForestRegressor(min_samples_leaf=5, random_state=0, n_jobs=1).fit(X, y)
    own, asked, weight = model.apply(X), model.apply(new), np.zeros((len(new), len(X)))
    for tree in range(own.shape[1]):
        same = asked[:, tree, None] == own[:, tree]
        weight += same / same.sum(axis=1, keepdims=True)
    order = np.argsort(y)
    below = np.cumsum(weight[:, order], axis=1) / weight.sum(axis=1, keepdims=True)

    def quantile(q: float) -> np.ndarray:
        return y[order][np.minimum((below < q - 1e-12).sum(axis=1), len(y) - 1)]

    return {level: (quantile((1 - level) / 2), quantile((1 + level) / 2)) for level in LEVELS}


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Ends]] = {
    "semimetric": ours(),
    "votes": ours(predictor="neighbors"),
    "given votes": ours(n_neighbors=5, weights="uniform"),
    "split": split,
    "boosting": boosting,
    "cqr": conformal_boosting,
    "forest": forest,
}
OURS = ("semimetric", "votes", "given votes", "split")


def one(method: str, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """What the intervals of a method hold of the test part, their widths, and the seconds of the processor."""
    scaler, start = StandardScaler().fit(X[train]), time.process_time()
    found = METHODS[method](scaler.transform(X[train]), y[train], scaler.transform(X[test]))
    row: dict[str, float] = {"n": len(test), "processor_seconds": time.process_time() - start}
    for level, (low, high) in found.items():
        row[f"held {level:g}"] = float(np.mean((low <= y[test]) & (y[test] <= high)))
        width = float(np.mean(high - low) / y[test].std())
        row[f"width {level:g}"] = width if np.isfinite(width) else -1.0  # infinite: too few items set aside
    return row


def summarize(rows: list[dict], methods: list[str]) -> None:
    """Print what is held and the widths, by method, and at 90 % by set."""
    found: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in rows:
        found[row["method"], row["set"]].append(row)
    table, by_set = [], []
    for method in methods:
        sets = [name for name in REASONS if found.get((method, name))]
        row: dict[str, object] = {"method": method, "sets": len(sets), "runs": sum(len(found[method, s]) for s in sets)}
        for level in LEVELS:
            held = np.array([np.mean([r[f"held {level:g}"] for r in found[method, s]]) for s in sets])
            widths = [[r[f"width {level:g}"] for r in found[method, s]] for s in sets]
            finite = all(w >= 0 for part in widths for w in part)
            row |= {
                f"held {level:.0%}": f"{100 * held.mean():.1f} ({100 * held.min():.1f} to {100 * held.max():.1f})",
                f"width {level:.0%}": f"{np.mean([np.mean(part) for part in widths]):.3f}" if finite else "infinite",
            }
        row["median s"] = float(np.median([r["processor_seconds"] for s in sets for r in found[method, s]]))
        table.append(row)
    report("values held in %, mean over sets (least and largest mean of a set), and mean widths in standard deviations", table)
    for name in REASONS:
        parts = {m: found[m, name] for m in methods if found.get((m, name))}
        if parts:
            cells = {
                m: f"{100 * np.mean([r['held 0.9'] for r in p]):.1f} / {np.mean([r['width 0.9'] for r in p]):.2f}"
                for m, p in parts.items()
            }
            by_set.append({"set": name} | cells)
    report("intervals of 90 %: held in % / width", by_set)


def main() -> None:
    """Run what is asked for and not there, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(REASONS), choices=list(REASONS))
    parser.add_argument("--splits", type=int, nargs="*", default=[k for k in range(SPLITS) if k not in CHOICES])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    add_results(parser)
    arguments = parser.parse_args()
    folder = data_folder()
    use_one_thread()
    warnings.simplefilter("ignore")
    found = {(row["set"], row["method"], row["split"]): row for row in read(arguments.results, BENCHMARK)}
    for name in arguments.sets:
        if (task := load(name, folder)) is None:
            print(f"skipped: {SETS[name][0]}.npz is not in the folder that SEMIMETRIC_DATA names")
            continue
        parts = list(ShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(task[0]))
        for split_number in arguments.splits:
            for method in arguments.methods:
                if (name, method, split_number) not in found:
                    row = {"benchmark": BENCHMARK, "set": name, "method": method, "split": split_number}
                    row = with_origin(
                        row | one(method, *task, *parts[split_number]), "semimetric" if method in OURS else "scikit-learn"
                    )
                    found[name, method, split_number] = row
                    append(arguments.results, row)
    if seen := set(arguments.splits) & set(CHOICES):
        print(f"the splits {sorted(seen)} are reported, on which the construction was chosen")
    asked = [
        row for (s, m, k), row in found.items() if s in arguments.sets and m in arguments.methods and k in arguments.splits
    ]
    summarize(asked, [m for m in METHODS if any(row["method"] == m for row in asked)])


if __name__ == "__main__":
    main()
