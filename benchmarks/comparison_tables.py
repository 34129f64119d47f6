"""What do full tables gain for comparisons, where scales cannot hold the distance, and what does it cost to find out?

Triplets of points of a normal distribution, ordered by a distance that is a weighted sum over features: "linear" of
differences, "saturating" of 1 - exp(-3 difference), which no scale of a feature holds. `TripletLearner` has default settings
but for ``tables=``. Errors are shares of 4,000 other triplets that come out in the wrong order; seconds are those of the
processor, on one thread. Rows are appended to benchmarks/results/comparison_tables.jsonl.
"""

import time
from pathlib import Path

import numpy as np
from report import append, report, use_one_thread, with_origin

from semimetric import TripletLearner

N_HELD_OUT = 4_000
RESULTS = Path(__file__).parent / "results" / "comparison_tables.jsonl"


def triplets(shape: str, n: int, n_features: int) -> np.ndarray:
    """Triplets (n, 3, n_features) whose second item is nearer to the first than the third is."""
    rng = np.random.default_rng(0)
    points, weight = rng.normal(size=(n, 3, n_features)), 0.3 + rng.random(n_features)
    gaps = np.abs(points[:, 1:] - points[:, :1])
    d = (1 - np.exp(-3 * gaps) if shape == "saturating" else gaps) @ weight
    swapped = d[:, 0] > d[:, 1]
    points[swapped] = points[swapped][:, [0, 2, 1]]
    return points


def main() -> None:
    use_one_thread()
    rows = []
    for shape in ("linear", "saturating"):
        for n, n_features in ((600, 5), (3_000, 5), (3_000, 20)):
            every = triplets(shape, n + N_HELD_OUT, n_features)
            for tables in ("warped", "full", "auto"):
                start = time.process_time()
                model = TripletLearner(tables=tables).fit(every[:n])
                row = {"distance": shape, "triplets": n, "features": n_features, "tables": tables}
                row |= {"processor seconds": time.process_time() - start, "taken": model.recipe_.tables}
                rows.append(row | {"percent wrong": round(100 * (1 - model.score(every[n:])), 3)})
                append(RESULTS, with_origin({"benchmark": "comparison_tables"} | rows[-1], "semimetric"))
    report("comparison tables", rows)


if __name__ == "__main__":
    main()
