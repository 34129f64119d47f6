"""What does effort= cost, and what does it gain? Seconds and errors of every learner that chooses, at every effort.

Of labelled tables a third of the items is left out and judged by the votes of their 3 nearest neighbours; of pairs with
measured distances (an L1 distance with bent scales, and noise of 5 %) others are judged by R².

    SEMIMETRIC_DATA=folder python benchmarks/effort.py
    python benchmarks/effort.py --mixed     # seconds of default fits of made tables of numbers and categories, and no more
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from report import report
from sklearn.datasets import load_wine, make_classification

from semimetric import DistanceRegressor, SemimetricClassifier, SemimetricWarning, TripletLearner
from semimetric.distances.learning.options import EFFORTS

SEEDS = (0,)
FOLDER = Path(os.environ.get("SEMIMETRIC_DATA", "data"))


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(FOLDER / f"{name}.npz", allow_pickle=True) as file:
        return np.asarray(file[file.files[0]], dtype=float), file[file.files[1]]


def labelled(name: str, seed: int) -> tuple[np.ndarray, ...]:
    if name == "wine":
        X, y = load_wine(return_X_y=True)
    elif name == "made":
        X, y = make_classification(1000, 20, n_informative=8, n_classes=4, random_state=0)
    else:
        X, y = table(name)
    order = np.random.default_rng(100 + seed).permutation(len(y))
    learn, judge = np.split(order, [2 * len(y) // 3])
    return X[learn], y[learn], X[judge], y[judge]


def votes(name: str, effort: str, seed: int) -> float:
    X, y, fresh, truth = labelled(name, seed)
    return SemimetricClassifier(effort=effort).fit(X, y).score(fresh, truth)


def mixed_table(n: int, n_columns: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A made table of two classes, of which every third column is a category of four levels, and the others are numbers."""
    X, y = make_classification(n, n_columns, n_informative=n_columns // 2, random_state=seed)
    columns = {f"number{k}": column for k, column in enumerate(X.T)}
    for k in range(2, n_columns, 3):
        levels = np.array(["low", "middle", "high", "top"])[np.digitize(X[:, k], np.quantile(X[:, k], [0.25, 0.5, 0.75]))]
        columns[f"number{k}"] = pd.Categorical(levels)
    return pd.DataFrame(columns), y


def time_mixed_tables() -> None:
    """Report the seconds that default fits take, of the processor and of the clock, with the load of the machine before."""
    rows = []
    for n, n_columns in ((200, 13), (700, 20), (5000, 20)):
        for effort in ("fast", "default"):
            X, y = mixed_table(n, n_columns)
            waiting, processor, clock = os.getloadavg()[0], time.process_time(), time.perf_counter()
            SemimetricClassifier(effort=effort).fit(X, y)
            seconds = {"cpu_seconds": time.process_time() - processor, "seconds": time.perf_counter() - clock}
            rows.append({"data": f"{n}x{n_columns}", "effort": effort} | seconds | {"load before": waiting})
    report("effort: default fits of mixed tables", rows)


def distances(n: int, effort: str, seed: int) -> float:
    rng = np.random.default_rng(seed)
    pairs = rng.random((n + 1000, 2, 5))
    y = np.abs(pairs[:, 0] ** 3 - pairs[:, 1] ** 3).sum(axis=1) * (1 + 0.05 * rng.normal(size=len(pairs)))
    y = np.maximum(y, 0.0)
    return DistanceRegressor(effort=effort, tables="full").fit(pairs[:n], y[:n]).score(pairs[n:], y[n:])


def triplets(n: int, effort: str, seed: int) -> float:
    rng = np.random.default_rng(seed)
    items = rng.random((n + 500, 3, 5))
    near, far = (np.abs(items[:, 0] ** 3 - items[:, k] ** 3) @ np.arange(1.0, 6.0) for k in (1, 2))
    items[near > far] = items[near > far][:, [0, 2, 1]]
    return TripletLearner(effort=effort).fit(items[:n]).score(items[n:])


def main() -> None:
    tasks = [(votes, name) for name in ("wine", "heart_statlog", "glass", "made")] + [(distances, 2000), (triplets, 1000)]
    warnings.simplefilter("ignore", SemimetricWarning)
    if "--mixed" in sys.argv[1:]:
        time_mixed_tables()
        return
    rows = []
    for task, what in tasks:
        for effort in EFFORTS:
            began = time.process_time()
            scores = [task(what, effort, seed) for seed in SEEDS]
            seconds = (time.process_time() - began) / len(SEEDS)
            rows.append({"task": task.__name__, "data": str(what), "effort": effort, "score": float(np.mean(scores))})
            rows[-1]["cpu_seconds"] = seconds
    report("effort: seconds and scores of every effort", rows)


if __name__ == "__main__":
    main()
