"""Are numbers with gaps as well compared by scales, which have L1 coordinates, as by the full tables that they had before?

Of every set at most 400 rows, with a tenth, then three tenths, of all values taken away at random, from every column. Half of
the rows are learned from, twice, and the others are classified by their neighbours. ``tables="warped"`` has two scales for a
number with gaps; ``tables="full"`` has the table that such a number had under both. The numbers of knots
and the strengths are those that the learner compares for each. "default" is the learner with no parameter, a sum of scales,
components and a forest. Regressions learn Gower's distance, a sum, of the rows before anything was taken away, from 2,000
pairs, as a sum.

    python benchmarks/gaps.py [--sets wdbc ...] [--results FILE]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from report import add_results, append, data_folder, report, use_one_thread, with_origin

SETS = ("vowel", "image_segmentation", "wdbc")
MOST = 400
SHARES = (0.1, 0.3)
SEEDS = range(2)
N_PAIRS = 2_000


def rows_of(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """At most MOST rows with columns that vary, and their classes."""
    with np.load(path) as z:
        X, y = (z[k if k in z.files else f"{k}_train"] for k in ("X", "y"))
    rows = np.random.default_rng(0).permutation(len(X))[:MOST]
    X = X[rows].astype(np.float64)
    return X[:, X.std(axis=0) > 0], y[rows]


def punched(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """X with NaN in place of a share of its values, in every column of both halves at least one."""
    lost = np.random.default_rng(seed).random(X.shape) < share
    lost[0] = lost[len(X) // 2] = True
    lost[1] = lost[len(X) // 2 + 1] = False
    return np.where(lost, np.nan, X)


def kinds() -> dict[str, dict[str, object]]:
    return {
        "scales": {"tables": "warped", "directions": None},
        "full tables": {"tables": "full", "directions": None},
        "default": {},
    }


def classified(X: np.ndarray, y: np.ndarray, kind: str, share: float) -> dict[str, float]:
    """Accuracy of neighbours of items held out, the weights of the distance, and seconds of a fit."""
    import semimetric as sm

    right, seconds, n_weights, coordinates = [], 0.0, 0, 0
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(X))
        lacking, classes = punched(X[order], share, seed), y[order]
        half = len(X) // 2
        start = time.process_time()
        learner = sm.LargeMarginLearner(columns=sm.Columns(missing="level"), random_state=0, n_jobs=1, **kinds()[kind])
        model = sm.SemimetricClassifier(learner, predictor="neighbors", random_state=0).fit(lacking[:half], classes[:half])
        seconds += (time.process_time() - start) / len(SEEDS)
        right.append(float((model.predict(lacking[half:]) == classes[half:]).mean()))
        n_weights, coordinates = len(model.semimetric_.weights), n_coordinates(model.semimetric_)
    return {"accuracy": float(np.mean(right)), "weights": n_weights, "coordinates": coordinates, "processor_seconds": seconds}


def regressed(X: np.ndarray, kind: str, share: float) -> dict[str, float]:
    """R2 of distances of new items to what they were before gaps, the weights, and seconds of a fit."""
    import semimetric as sm

    true, score, seconds, n_weights, coordinates = sm.Semimetric.gower(X), [], 0.0, 0, 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        order, half = rng.permutation(len(X)), len(X) // 2
        whole, lacking = X[order], punched(X[order], share, seed)
        pairs, new = rng.integers(0, half, (N_PAIRS, 2)), rng.integers(half, len(X), (N_PAIRS, 2))
        pairs, new = pairs[pairs[:, 0] != pairs[:, 1]], new[new[:, 0] != new[:, 1]]
        y, expected = (true.paired(whole[p[:, 0]], whole[p[:, 1]]) for p in (pairs, new))
        start = time.process_time()
        columns, tables = sm.Columns(missing="level"), kinds()[kind]["tables"]
        learner = sm.DistanceRegressor(tables=tables, columns=columns, preprocessor=lacking, link="identity", n_jobs=1)
        model = learner.fit(pairs, y)
        seconds += (time.process_time() - start) / len(SEEDS)
        score.append(float(model.score(new, expected)))
        n_weights, coordinates = len(model.semimetric_.weights), n_coordinates(model.semimetric_)
    return {"R2": float(np.mean(score)), "weights": n_weights, "coordinates": coordinates, "processor_seconds": seconds}


def n_coordinates(d: object) -> int:
    """The coordinates of `transform`; 0 if the distance has none."""
    from semimetric import NotSupportedError

    try:
        return len(d.coordinate_names)  # type: ignore[attr-defined]
    except NotSupportedError:
        return 0


def main(folder: Path, names: list[str], results: Path | None) -> None:
    table = []
    for name in names:
        if not (folder / f"{name}.npz").exists():
            continue
        X, y = rows_of(folder / f"{name}.npz")
        for share in SHARES:
            for kind in kinds():
                for task in ("classes", "distances") if kind != "default" else ("classes",):
                    found = classified(X, y, kind, share) if task == "classes" else regressed(X, kind, share)
                    row = {"benchmark": "gaps", "set": name, "missing": share, "task": task, "numbers": kind, **found}
                    append(results, with_origin(row, "semimetric"))
                    table.append(row)
    for task in ("classes", "distances"):
        report(f"numbers with gaps: {task}", [row for row in table if row["task"] == task])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    add_results(parser)
    given = parser.parse_args()
    use_one_thread()
    warnings.simplefilter("ignore")
    main(data_folder(), given.sets, given.results)
