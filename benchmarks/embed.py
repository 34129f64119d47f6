"""How fast are rows of the pair embedding, all pairs under tables, the first call of a process, and the import?

Rows: a block of 4,096 pairs, 32 features, 8 knots, one core; non-zeros a second, beside a NumPy twin. All pairs: 500 x 2,000
items in nanoseconds a pair and feature, beside SciPy's cityblock. First call and import: fresh processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from report import report, seconds
from scipy.spatial.distance import cdist

from semimetric import Grid, PairEmbedding, Semimetric
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding

N_FEATURES, N_KNOTS, N_PAIRS, N_ITEMS = 32, 8, 4096, 2_000
RNG = np.random.default_rng(0)
X, Q = RNG.random((N_ITEMS, N_FEATURES)), RNG.random((500, N_FEATURES))
GRID = Grid.fit(X, n_knots=N_KNOTS)
LEFT, RIGHT = RNG.integers(0, N_ITEMS, (2, N_PAIRS))

FIRST = """
import json, time
import numpy as np
start = time.perf_counter()
import semimetric
semimetric.DistanceRegressor
imported = time.perf_counter()
rng = np.random.default_rng(0)
X, pairs = rng.random((50, 4)), rng.integers(0, 50, (200, 2))
y = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
begin = time.perf_counter()
model = semimetric.DistanceRegressor(n_knots=4, alpha=1e-4, preprocessor=X).fit(pairs, y)
fitted = time.perf_counter()
model.semimetric_.pairwise(X)
done = time.perf_counter()
print(json.dumps({"import_s": imported - start, "fit_s": fitted - begin, "pairwise_s": done - fitted, "first_s": done - begin}))
"""


def twin(x, y) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one-feature groups in NumPy: the tied column (n_columns on the diagonal) and weight of three vertices."""
    a, b = np.triu_indices(N_KNOTS, 1)
    table = np.full((N_FEATURES, N_KNOTS, N_KNOTS), N_FEATURES * len(a), np.int32)
    numbers = np.arange(N_FEATURES)[:, None] * len(a) + np.arange(len(a))
    table[:, a, b] = table[:, b, a] = numbers
    s, t, f = x.fraction[LEFT], y.fraction[RIGHT], np.arange(N_FEATURES)
    below = t <= s
    middle = table[f, np.where(below, x.upper[LEFT], x.lower[LEFT]), np.where(below, y.lower[RIGHT], y.upper[RIGHT])]
    columns = np.stack([table[f, x.upper[LEFT], y.upper[RIGHT]], middle, table[f, x.lower[LEFT], y.lower[RIGHT]]], axis=-1)
    values = np.stack([np.minimum(s, t), np.abs(s - t), 1.0 - np.maximum(s, t)], axis=-1)
    return columns.reshape(N_PAIRS, -1), values.reshape(N_PAIRS, -1)


def rows_of_pairs() -> list[dict]:
    singles = PairEmbedding(GRID)
    located = singles.locate(X)
    ours, theirs = singles.rows(located, LEFT, located, RIGHT), twin(located.located, located.located)
    if not (np.array_equal(ours.columns, theirs[0]) and np.array_equal(ours.values, theirs[1])):
        raise SystemExit("the NumPy twin gives other rows")
    neighbours = [(f, f + 1) for f in range(0, N_FEATURES, 2)]
    joint = PairEmbedding(GRID, neighbours)
    placed = joint.locate(X)
    nonzeros, more = ours.columns.size, 5 * len(neighbours) * N_PAIRS
    every = PairEmbedding(Grid(GRID.knots[:8]), "pairs")
    few = every.locate(X[:, :8])
    cases = [
        ("rows, one feature", nonzeros, lambda: singles.rows(located, LEFT, located, RIGHT)),
        ("NumPy twin", nonzeros, lambda: twin(located.located, located.located)),
        ("rows, 16 disjoint pairs of features", more, lambda: joint.rows(placed, LEFT, placed, RIGHT)),
        ("rows, all 28 pairs of 8 features", 5 * 28 * N_PAIRS, lambda: every.rows(few, LEFT, few, RIGHT)),
    ]
    return [{"work": name, "M_nonzeros_per_s": n / seconds(call, repeat=25) / 1e6} for name, n, call in cases]


def model(embedding) -> Semimetric:
    weights = RNG.random(embedding.n_columns)
    return Semimetric(embedding, weights, np.full(N_FEATURES, 1e-6), tuple(f"x{k}" for k in range(N_FEATURES)))


def all_pairs() -> list[dict]:
    full, warped = model(PairEmbedding(GRID)), model(WarpedEmbedding(GRID))
    Y = np.clip(X, GRID.low, GRID.high)
    inside = np.clip(Q, GRID.low, GRID.high)
    cases = {"SciPy cityblock": lambda: cdist(inside, Y, "cityblock")}
    for name, d in (("full tables", full), ("warped", warped)):
        for k in (1, 2):
            cases[f"{name}, {k} thread{'s' * (k > 1)}"] = lambda d=d, k=k: d.pairwise(inside, Y, n_jobs=k)
    rows = [
        {"work": name, "ns_per_pair_and_feature": seconds(call, repeat=9) / (len(Q) * N_ITEMS * N_FEATURES) * 1e9}
        for name, call in cases.items()
    ]
    peer = rows[0]["ns_per_pair_and_feature"]
    return [row | {"times_cityblock": row["ns_per_pair_and_feature"] / peer} for row in rows]


def fresh(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment).stdout


def first_calls(repeat: int) -> list[dict]:
    """A fit and all pairs in a fresh process: the compiler's cache empty, then filled."""
    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = (json.loads(fresh(FIRST, NUMBA_CACHE_DIR=folder)) for _ in range(1 + repeat))
    middle = {name: statistics.median(run[name] for run in warm) for name in cold}
    return [{"work": "first calls, cache cold"} | cold, {"work": "first calls, cache warm"} | middle]


def imports(repeat: int) -> list[dict]:
    """Whole processes that only import, in turn."""
    names = ("sklearn.neighbors", "semimetric")
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    times = {name: [] for name in names}
    for _ in range(1 + repeat):
        for name in names:
            times[name].append(float(fresh(code.format(name))))
    middle = {name: statistics.median(values[1:]) for name, values in times.items()}
    return [{"work": f"import {n}", "seconds": s, "times_sklearn": s / middle[names[0]]} for n, s in middle.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7, help="fresh processes a case")
    repeat = parser.parse_args().repeat
    report("embed: rows, one core", rows_of_pairs())
    report("embed: 500 x 2,000 items, 32 features x 8 knots", all_pairs())
    report("embed: first calls in a fresh process", first_calls(repeat))
    report("embed: import", imports(repeat))


if __name__ == "__main__":
    main()
