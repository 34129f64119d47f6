"""How well do three nearest neighbours classify under a learned distance, with default settings on every data set?

Ten stratified 70/30 splits, features standardised on the training part, at most 2,500 rows of each set (seeded), fixed splits
pooled and split anew. Nothing is tuned for a set by hand. Mahalanobis learners are scikit-learn's NCA and metric-learn's LMNN,
ITML and SCML with their defaults; an RBF machine (by cross-validation) and gradient boosting stand outside, as references.

    python benchmarks/knn_accuracy.py [--sets wine sonar ...] [--splits 10] [--methods semimetric euclid nca ...] [--limit 150]
                                      [--results FILE]

Results are appended to FILE as JSON lines, and what is there is not run again. A method that takes longer than the limit of
processor seconds on a split of a set is left out of that set, and said so.
"""

import argparse
import json
import os
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import report
from scipy.stats import rankdata, t
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROWS = 2_500
OTHERS = ("combvd_colour", "triplets_alien_eggs")  # without labels
MAHALANOBIS = ("nca", "lmnn", "itml", "scml")
NEIGHBOURS = ("semimetric", "euclid", *MAHALANOBIS)


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Items and classes, both parts of a fixed split, at most ROWS of them."""
    with np.load(path) as z:
        parts = ("",) if "X" in z.files else ("_train", "_test")
        X, y = (np.concatenate([z[name + part] for part in parts]) for name in ("X", "y"))
    X = X.astype(np.float64)
    if len(X) > ROWS:
        keep = np.sort(np.random.default_rng(0).choice(len(X), ROWS, replace=False))
        X, y = X[keep], y[keep]
    common = np.bincount(y - y.min())[y - y.min()] > 1
    return X[common], y[common]


def semimetric_() -> object:
    from semimetric import SemimetricClassifier

    return SemimetricClassifier()


def metric_learn(name: str) -> object:
    """One of metric-learn's, which passes scikit-learn a keyword that was renamed in 1.8."""
    import sklearn.utils
    import sklearn.utils.validation as validation

    def renamed(function: Callable) -> Callable:
        def call(*args: object, force_all_finite: object = None, **keywords: object) -> object:
            if force_all_finite is not None:
                keywords["ensure_all_finite"] = force_all_finite
            return function(*args, **keywords)

        return call

    if not hasattr(validation, "renamed"):
        for check in ("check_array", "check_X_y"):
            setattr(validation, check, renamed(getattr(validation, check)))
            setattr(sklearn.utils, check, getattr(validation, check))
        validation.renamed = True
    import metric_learn as m

    return {"lmnn": m.LMNN, "itml": m.ITML_Supervised, "scml": m.SCML_Supervised}[name](random_state=0)


class After:
    """metric-learn's learners are no scikit-learn transformers of today, so no pipeline takes them."""

    def __init__(self, learner: object) -> None:
        self.learner, self.votes = learner, KNeighborsClassifier(3)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "After":
        """Learn, and keep the mapped items."""
        self.votes.fit(self.learner.fit(X, y).transform(X), y)
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Share of right votes."""
        return self.votes.score(self.learner.transform(X), y)


def rbf() -> object:
    return GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100, 1000], "gamma": ["scale", 0.01, 0.1]}, cv=3)


METHODS: dict[str, Callable[[], object]] = {
    "semimetric": semimetric_,
    "euclid": lambda: KNeighborsClassifier(3),
    "nca": lambda: After(NeighborhoodComponentsAnalysis(random_state=0)),
    "lmnn": lambda: After(metric_learn("lmnn")),
    "itml": lambda: After(metric_learn("itml")),
    "scml": lambda: After(metric_learn("scml")),
    "rbf": rbf,
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


class TooLong(Exception):
    """The limit of processor seconds."""


def one(method: str, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, limit: int) -> dict[str, object]:
    """Error, seconds, and why there is none."""

    def stop(*_: object) -> None:
        raise TooLong

    scaler, start = StandardScaler().fit(X[train]), time.perf_counter()
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        model = METHODS[method]().fit(scaler.transform(X[train]), y[train])
        error: float | None = 1.0 - model.score(scaler.transform(X[test]), y[test])
        failed = None
    except TooLong:
        error, failed = None, f"more than {limit} s"
    except Exception as problem:  # noqa: BLE001 - of a peer; it is reported
        if method == "semimetric":
            raise
        error, failed = None, repr(problem)[:200]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {"error": error, "failed": failed, "seconds": time.perf_counter() - start}


def results(arguments: argparse.Namespace, folder: Path) -> dict[tuple[str, str, int], dict]:
    """All runs asked for, those of the file included."""
    found: dict[tuple[str, str, int], dict] = {}
    file = Path(arguments.results) if arguments.results else None
    if file and file.exists():
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found[row["set"], row["method"], row["split"]] = row
    paths = [p for p in sorted(folder.glob("*.npz")) if p.stem not in OTHERS and p.stem in (arguments.sets or [p.stem])]
    data = {p.stem: load(p) for p in paths}
    order = sorted(data, key=lambda name: data[name][0].size)
    failed = {(s, m) for (s, m, _), row in found.items() if row["error"] is None}
    for split in range(arguments.splits):
        for name in order:
            X, y = data[name]
            parts = list(StratifiedShuffleSplit(arguments.splits_of, test_size=0.3, random_state=0).split(X, y))
            for method in arguments.methods:
                if (name, method, split) in found or (name, method) in failed:
                    continue
                row = {"set": name, "method": method, "split": split}
                row |= one(method, X, y, *parts[split], arguments.limit)
                found[name, method, split] = row
                if row["error"] is None:
                    failed.add((name, method))
                if file:
                    with file.open("a") as out:
                        out.write(json.dumps(row) + "\n")
    return found


def significance(ours: np.ndarray, other: np.ndarray) -> float:
    """p of ours being worse, by the corrected resampled t-test (Nadeau & Bengio 2003): splits of 70/30 overlap."""
    difference = ours - other
    n = len(difference)
    spread = np.sqrt((1 / n + 0.3 / 0.7) * difference.var(ddof=1)) if n > 1 else 0.0
    return float(t.sf(difference.mean() / spread, n - 1)) if spread > 0 else 1.0


def errors(found: dict, name: str, method: str) -> np.ndarray | None:
    rows = [row for (s, m, _), row in sorted(found.items()) if s == name and m == method]
    return np.array([row["error"] for row in rows]) if rows and all(r["error"] is not None for r in rows) else None


def summary(found: dict, names: list[str], methods: list[str]) -> list[dict[str, object]]:
    """Against every other method, on the sets and splits that both have."""
    rows: list[dict[str, object]] = []
    for method in methods:
        if method == "semimetric":
            continue
        both = [(errors(found, n, "semimetric"), errors(found, n, method)) for n in names]
        both = [(a[: len(b)], b[: len(a)]) for a, b in both if a is not None and b is not None]
        if not both:
            continue
        ours, other = (np.array([pair[k].mean() for pair in both]) for k in (0, 1))
        worse = [significance(a, b) < 0.05 for a, b in both]
        rows.append(
            {
                "against": method, "sets": len(both), "lower on": f"{100 * np.mean(ours < other):.0f} %",
                "summed error": float(100 * ours.sum()), "its": float(100 * other.sum()),
                "less by": f"{100 * (1 - ours.sum() / other.sum()):.1f} %", "significantly worse on": sum(worse),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    """Run, and print a table of errors, comparisons and ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--splits-of", type=int, default=10)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--results")
    arguments = parser.parse_args()
    folder = os.environ.get("SEMIMETRIC_DATA")
    if not folder:
        print("skipped: this benchmark reads the data sets in the folder that SEMIMETRIC_DATA names (see README)")
        return
    warnings.simplefilter("ignore")
    found = results(arguments, Path(folder))
    names = sorted({s for s, m, _ in found if m in arguments.methods and s in (arguments.sets or [s])})
    methods = [m for m in METHODS if m in arguments.methods]
    table = []
    for name in names:
        row: dict[str, object] = {"set": name}
        for method in methods:
            e = errors(found, name, method)
            row[method] = None if e is None else f"{100 * e.mean():.1f}"
        seconds = [r["seconds"] for (s, m, _), r in found.items() if s == name and m == "semimetric"]
        table.append(row | {"splits": len(seconds), "seconds": float(np.median(seconds)) if seconds else None})
    report("3-NN error, % (blank: too slow or failed)", table)
    report("semimetric against each", summary(found, names, methods))
    voters = [m for m in NEIGHBOURS if m in methods]
    ranks = [rankdata([np.inf if (e := errors(found, n, m)) is None else round(e.mean(), 12) for m in voters]) for n in names]
    report("mean rank among methods of neighbours", [dict(zip(voters, np.mean(ranks, axis=0).tolist(), strict=True))])


if __name__ == "__main__":
    main()
