"""How much memory do fit, build, load and query take? A fresh process for each, beside the formulas of docs/memory.md.

The run fails where a call takes more than its formula says and a quarter, or 16 MiB, more. Linux only. Rows of their own have
the bytes a point that an index holds, part by part, and on the disk: 300,000 points of 32 features in float32.

    python benchmarks/memory.py [--only calls parts]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from report import report

MARGIN, LEAST = 1.25, 16 * 2**20


@dataclass(frozen=True)
class Task:
    """A call to measure: a function that prepares it and returns it, its sizes, and the formula in bytes."""

    prepare: Callable[..., Callable[[], object]]
    sizes: dict[str, int]
    formula: Callable[..., float]


def items_and_pairs(N: int, p: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N random items of p features, m pairs as row numbers, and their L1 distances, made without large temporaries."""
    rng = np.random.default_rng(0)
    X, pairs = rng.random((N, p)), rng.integers(0, N, (m, 2))
    y = np.concatenate([np.abs(X[i] - X[j]).sum(axis=1) + 0.1 for i, j in (c.T for c in np.array_split(pairs, 100))])
    return X, pairs, y


def regression(N: int, p: int, k: int, m: int, loss: str = "squared") -> Callable[[], object]:
    """A fit of m pairs of N items; a small one before it compiles the kernels."""
    from semimetric import DistanceRegressor

    X, pairs, y = items_and_pairs(N, p, m)
    model = DistanceRegressor(n_knots=k, alpha=1e-4, loss=loss, preprocessor=X, n_jobs=1)
    model.fit(pairs[:500], y[:500])
    return lambda: model.fit(pairs, y)


def absolute(N: int, p: int, k: int, m: int) -> Callable[[], object]:
    """A fit by least absolute deviations, whose solver keeps the rows."""
    return regression(N, p, k, m, "absolute")


def triplets(N: int, p: int, k: int, m: int) -> Callable[[], object]:
    """A fit of m triplets of N items."""
    from semimetric import TripletLearner

    rng = np.random.default_rng(0)
    X, given = rng.random((N, p)), rng.integers(0, N, (m, 3))
    near, far = (np.abs(X[given[:, 0]] - X[given[:, c]]).sum(axis=1) for c in (1, 2))
    given[near > far] = given[near > far][:, [0, 2, 1]]
    model = TripletLearner(n_knots=k, alpha=1e-3, directions=None, preprocessor=X, n_jobs=1)
    model.fit(given[:500])
    return lambda: model.fit(given)


def large_margin(N: int, p: int, k: int) -> Callable[[], object]:
    """A fit of N labelled items."""
    from semimetric import LargeMarginLearner

    X = np.random.default_rng(0).random((N, p))
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    model = LargeMarginLearner(n_knots=k, alpha=1e-2, directions=None, tables="warped", n_jobs=1)
    model.fit(X[:300], y[:300])
    return lambda: model.fit(X, y)


def distance(p: int, k: int) -> object:
    """A distance of p features with k knots each."""
    from semimetric import DistanceRegressor

    X, pairs, y = items_and_pairs(2_000, p, 4_000)
    return DistanceRegressor(n_knots=k, alpha=1e-4, preprocessor=X).fit(pairs, y).semimetric_


def build(N: int, p: int, k: int) -> Callable[[], object]:
    """An index of N items."""
    from semimetric import NeighborIndex

    d, X = distance(p, k), np.random.default_rng(1).random((N, p))
    NeighborIndex(d).fit(X[:3_000]).kneighbors(X[:5], 3)
    return lambda: NeighborIndex(d).fit(X)


def load(N: int, p: int, k: int, mmap: bool = False) -> Callable[[], object]:
    """An index of N items, saved by another process, and loaded here."""
    import semimetric

    scratch = tempfile.TemporaryDirectory(prefix="semimetric-memory-")  # is deleted with the call that is returned
    folder = Path(scratch.name)
    script = "import sys, memory; memory.saved(*map(int, sys.argv[1:4]), sys.argv[4])"
    command = [sys.executable, "-c", script, *map(str, (N, p, k)), str(folder / "index")]
    subprocess.run(command, check=True, cwd=Path(__file__).parent)
    small = folder / "small"
    saved(3_000, p, k, str(small))
    semimetric.load(small, mmap=mmap).kneighbors(np.zeros((5, p)), 3)
    return lambda: (semimetric.load(folder / "index", mmap=mmap), scratch)


def mapped(N: int, p: int, k: int) -> Callable[[], object]:
    """The same, mapped into memory."""
    return load(N, p, k, mmap=True)


def query(N: int, p: int, k: int) -> Callable[[], object]:
    """Thousand queries to an index that was loaded without lists of near items; the first makes them."""
    from semimetric import NeighborIndex

    small = np.random.default_rng(1).random((5_000, p))  # so many have lists, whose kernels are compiled before
    NeighborIndex(distance(p, k)).fit(small).kneighbors(small[:200], 10)
    (index, _), queries = load(N, p, k)(), np.random.default_rng(2).random((1_000, p))
    del vars(index.segments_[0])["_item_lists"]
    return lambda: index.kneighbors(queries, 10)


def saved(N: int, p: int, k: int, folder: str) -> None:
    """Save an index of N items."""
    from semimetric import NeighborIndex

    NeighborIndex(distance(p, k)).fit(np.random.default_rng(1).random((N, p))).save(folder)


def columns(p: int, k: int) -> int:
    """The number n of weights of p tables with k knots each."""
    return p * k * (k - 1) // 2


def of_moments(N: int, p: int, k: int, m: int) -> float:
    """Second moments of m pairs: items and their places, a few matrices of the size of the moments, and the pairs."""
    return 20 * N * p + 45 * columns(p, k) ** 2 + 40 * m


def of_rows(N: int, p: int, k: int, m: int) -> float:
    """Rows that the solver keeps: four entries a feature, in two orders."""
    return 20 * N * p + 110 * m * p + 100 * columns(p, k) ** 2


def of_labels(N: int, p: int, k: int) -> float:
    """Labelled items, with their targets, impostors and the rows of their pairs."""
    return 45 * 2**20 + 1000 * N * p


def of_building(N: int, p: int, k: int) -> float:
    """Items, positions and codes, and the items once more while they are made."""
    return N * (22 * p + 80)


def of_loading(N: int, p: int, k: int) -> float:
    """Items and positions of eight bytes, codes of four bits, bins of lists of eight, and row numbers."""
    return N * (18 * p + 24)


def of_mapping(N: int, p: int, k: int) -> float:
    """Ids, which items are not removed, their places in lists, and the pages of the items that are checked."""
    return 17 * N + (p / 2 + 16) * 2**20


def of_asking(N: int, p: int, k: int) -> float:
    """Bins of lists in two orders and row numbers, made by the first query, and blocks of tables and sums."""
    return N * (2 * p + 16) + 16 * 2**20


TASKS = {
    "fit, squared loss": [
        Task(regression, {"N": N, "p": 32, "k": k, "m": m}, of_moments)
        for N, k, m in [(20_000, 8, 100_000), (20_000, 8, 1_000_000), (200_000, 8, 1_000_000), (20_000, 16, 1_000_000)]
    ],
    "fit, absolute deviations": [Task(absolute, {"N": 20_000, "p": 32, "k": 4, "m": m}, of_rows) for m in (100_000, 400_000)],
    "fit, triplets": [Task(triplets, {"N": 20_000, "p": 8, "k": 5, "m": m}, of_rows) for m in (20_000, 80_000)],
    "fit, classes": [Task(large_margin, {"N": N, "p": 6, "k": 4}, of_labels) for N in (3_000, 12_000)],
    "build": [Task(build, {"N": N, "p": p, "k": 8}, of_building) for N, p in ((200_000, 32), (800_000, 32), (800_000, 8))],
    "load": [Task(load, {"N": N, "p": 32, "k": 8}, of_loading) for N in (200_000, 800_000)],
    "load, mapped": [Task(mapped, {"N": N, "p": 32, "k": 8}, of_mapping) for N in (200_000, 800_000)],
    "query": [Task(query, {"N": N, "p": 32, "k": 8}, of_asking) for N in (200_000, 800_000)],
}


def parts(N: int = 300_000, p: int = 32, k: int = 8) -> list[dict]:
    """Bytes a point of the parts of an index: after an exact query, an approximate one, with a graph, and saved."""
    from semimetric import NeighborIndex

    X, rows = np.random.default_rng(1).random((N, p), dtype=np.float32), []
    for storage in ("float64", "uint16"):
        index = NeighborIndex(distance(p, k), storage=storage, n_jobs=2).fit(X)
        index.kneighbors(X[:200], 10)
        index.kneighbors(X[:200], 10, algorithm="approximate")
        with tempfile.TemporaryDirectory() as folder:
            index.save(Path(folder) / "index")
            saved = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        held = index.build_graph().memory_usage() | {"saved without the graph": saved}
        rows.append({"storage": storage} | {f"{name}, bytes a point": n / N for name, n in held.items() if n})
    return rows


def status(name: str) -> int:
    """A number of kilobytes in /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024


def one(name: str, number: int) -> dict:
    """Peak of the resident memory during one call, above what was resident before it."""
    task = TASKS[name][number]
    call = task.prepare(**task.sizes)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    kept = call()
    peak, after = status("VmHWM") - before, status("VmRSS") - before
    del kept
    says = task.formula(**task.sizes)
    row = {"call": name} | task.sizes | {"peak_MiB": peak / 2**20, "kept_MiB": after / 2**20, "formula_MiB": says / 2**20}
    return row | {"held": peak <= max(MARGIN * says, says + LEAST)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CALL", "NUMBER"))
    parser.add_argument("--only", nargs="+", choices=("calls", "parts"), default=("calls", "parts"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one[0], int(options.one[1]))))
        return
    if "parts" in options.only:
        report("memory: bytes a point of an index", parts())
    if "calls" not in options.only:
        return
    rows = []
    for name, tasks in TASKS.items():
        for number in range(len(tasks)):
            command = [sys.executable, __file__, "--one", name, str(number)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows.append(json.loads(output.splitlines()[-1]))
    report("memory: resident peak above the input, one thread", rows)
    sys.exit(0 if all(row["held"] for row in rows) else 1)


if __name__ == "__main__":
    main()
