"""How well do neighbours under a learned distance predict numbers, with default settings on twelve data sets?

Ten 70/30 splits, features standardised on the training part, at most 2,500 rows (seeded). Choices of defaults were made on the
splits 0 and 1; splits 2 to 9 are reported. Few of the sets at hand have a number to predict, so that most predict one of their
features from others (`SETS` says which, and why it is a question that somebody asks); features from which the target can be
computed are left out. Compared, each with its defaults: `SemimetricRegressor`; five neighbours, and their number and uniform or
inverse-distance weights chosen by cross-validation; gradient boosting; a random forest; extremely randomised trees.

    python benchmarks/knn_regression.py [--sets diabetes glass ...] [--splits 2 3 ...] [--report 2 3 ...] [--methods euclid ...]
                                        [--results FILE]

Every method runs on one thread. Results are appended to FILE as JSON lines, and what is there is not run again.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from accuracy_peers import WEIGHTS, K
from knn_accuracy import CHOICES, ROWS, SPLITS, arrays
from rank_statistics import friedman, nemenyi, ranks, signed_rank
from recursive_features import RecursiveFeatureMachine
from report import add_results, append, data_folder, read, report, use_one_thread, with_origin
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

BENCHMARK = "knn_regression"
NEAR = 0.03
SETS: dict[str, tuple[str, int, tuple[int, ...], str]] = {
    # name: (file, column of the target, columns that are left out, question)
    "bupa": ("liver_bupa", 5, (), "half-pints drunk a day from blood tests: the target that the data were collected for"),
    "glass": ("glass", 0, (), "refractive index from the content of eight elements"),
    "wine": ("wine", 0, (), "alcohol from twelve other measurements"),
    "pima": ("pima_diabetes", 5, (), "body mass index from age, pregnancies and laboratory values"),
    "heart": ("heart_statlog", 7, (), "maximum heart rate from the rest of the examination"),
    "ctg": ("ctg3", 7, (), "share of time with abnormal short-term variability from the rest of the cardiotocogram"),
    "covtype": ("covtype_75k", 0, (), "elevation from slope, distances, shade, wilderness and soil"),
    "satimage": ("landsat_satimage", 16, (17, 18, 19), "a band of the central pixel from the eight around it"),
    "segmentation": ("image_segmentation", 1, (0, 2), "height in the picture of a patch from its colours and edges"),
    "power": ("ucr_italypowerdemand", 18, tuple(range(12, 18)) + tuple(range(19, 24)), "power at 18 h from the hours to noon"),
    "wilt": ("wilt", 3, (), "near infrared of a crown from texture and three bands"),
}
REASONS = {"diabetes": "progression after a year, scikit-learn's"} | {name: entry[3] for name, entry in SETS.items()}


def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """Items and numbers, at most ROWS; None where the file is not there."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    file, target, out, _ = SETS[name]
    if not (folder / f"{file}.npz").exists():
        return None
    items, _ = arrays(folder / f"{file}.npz")
    if len(items) > ROWS:
        items = items[np.sort(np.random.default_rng(0).choice(len(items), ROWS, replace=False))]
    return np.delete(items, (target, *out), axis=1), items[:, target]


def semimetric() -> object:
    from semimetric import SemimetricRegressor

    return SemimetricRegressor()


def chosen() -> GridSearchCV:
    grid = {"n_neighbors": [k for k in K if k > 1], "weights": WEIGHTS}
    return GridSearchCV(KNeighborsRegressor(), grid, cv=KFold(5, shuffle=True, random_state=0), n_jobs=1)


METHODS: dict[str, Callable[[], object]] = {
    "semimetric": semimetric,
    "rfm": lambda: RecursiveFeatureMachine(classes=False),
    "euclid": lambda: KNeighborsRegressor(5),
    "euclid_k": chosen,
    "forest": lambda: RandomForestRegressor(random_state=0, n_jobs=1),
    "extra_trees": lambda: ExtraTreesRegressor(random_state=0, n_jobs=1),
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
}


OLDER = "semimetric_older"  # neighbors under `KernelRegressionLearner`, the default before; its rows are kept, not run again


def one(method: str, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """R^2 on the test part, and the seconds of learning and predicting."""
    scaler, starts = StandardScaler().fit(X[train]), (time.perf_counter(), time.process_time())
    predicted = METHODS[method]().fit(scaler.transform(X[train]), y[train]).predict(scaler.transform(X[test]))
    seconds = {"seconds": time.perf_counter() - starts[0], "processor_seconds": time.process_time() - starts[1]}
    return {"r2": float(r2_score(y[test], predicted))} | seconds


def against(table: dict[str, dict[str, float]], methods: list[str]) -> list[dict[str, object]]:
    """Ours against every other method by the mean R^2 of each set."""
    rows: list[dict[str, object]] = []
    for method in methods:
        both = [(means["semimetric"], means[method]) for means in table.values() if {"semimetric", method} <= means.keys()]
        if method == "semimetric" or not both:
            continue
        ours, other = np.array(both).T
        row: dict[str, object] = {
            "against": method,
            "sets": len(both),
            "summed R2": float(ours.sum()),
            "its": float(other.sum()),
        }
        row |= {"higher on": int((ours > other).sum()), f"within {NEAR} or higher on": int((ours >= other - NEAR).sum())}
        rows.append(row | {"Wilcoxon p": signed_rank(-ours, -other)})
    return rows


def summarize(rows: list[dict], methods: list[str]) -> None:
    """Print R^2 of every set, comparisons, seconds and ranks."""
    found: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in rows:
        found[row["set"], row["method"]].append(row)
    names = [name for name in REASONS if any(s == name for s, _ in found)]
    table = {n: {m: float(np.mean([r["r2"] for r in found[n, m]])) for m in methods if (n, m) in found} for n in names}
    counts = {n: max(len(found.get((n, m), [])) for m in methods) for n in names}
    shown = [{"set": n, "splits": counts[n]} | {m: f"{v:.3f}" for m, v in table[n].items()} for n in names]
    report("R^2 (mean over the splits)", [row | {"target": REASONS[str(row["set"])]} for row in shown])
    totals = {m: sum(means.get(m, np.nan) for means in table.values()) for m in methods}
    seconds = {m: [r["processor_seconds"] for n in names for r in found.get((n, m), [])] for m in methods}
    report(
        "totals", [{"method": m, "summed R2": totals[m], "median s": float(np.median(seconds[m] or [np.nan]))} for m in methods]
    )
    if "semimetric" in methods:
        report("semimetric against each", against(table, methods))
    complete = [n for n in names if len(table[n]) == len(methods)]
    if len(methods) > 1 and complete:
        values = -np.array([[table[n][m] for m in methods] for n in complete])
        test = f"Friedman p {friedman(values)[1]:.1e}, critical difference {nemenyi(len(methods), len(complete)):.2f}"
        means = ranks(values).mean(0)
        report(f"mean ranks on {len(complete)} sets ({test})", [dict(zip(methods, means.tolist(), strict=True))])


def main() -> None:
    """Run what is asked for and not there, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(REASONS), choices=list(REASONS))
    parser.add_argument("--splits", type=int, nargs="*", help="splits to run; default all that are reported")
    parser.add_argument("--report", type=int, nargs="*", default=[k for k in range(SPLITS) if k not in CHOICES])
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
        for split in arguments.report if arguments.splits is None else arguments.splits:
            for method in arguments.methods:
                if (name, method, split) not in found:
                    row = {"benchmark": BENCHMARK, "set": name, "method": method, "split": split} | one(
                        method, *task, *parts[split]
                    )
                    row = with_origin(row, "semimetric" if method == "semimetric" else "scikit-learn")
                    found[name, method, split] = row
                    append(arguments.results, row)
    if seen := set(arguments.report) & set(CHOICES):
        print(f"the splits {sorted(seen)} are reported, on which defaults were chosen: these R^2 are too high")
    asked = [
        row for (s, m, k), row in found.items() if s in arguments.sets and m in arguments.methods and k in arguments.report
    ]
    summarize(asked, [m for m in (*METHODS, OLDER) if any(row["method"] == m for row in asked)])


if __name__ == "__main__":
    main()
