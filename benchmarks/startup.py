"""How soon does the command line answer, how long does an import take, and how soon does a loaded index answer?

CPU seconds of fresh processes, the median of seven after a warm-up: numbers that a busy machine changes little.

    python benchmarks/startup.py [--points N]

--points N measures an index of N points of search.py instead, saved with its lists of near items, and without them as before:
CPU seconds to load it in a process that has done so before, of the first exact query and of the next.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import report
from search import K, learned, more

import semimetric
from semimetric import NeighborIndex
from semimetric.distances.search.segment import Segment

RUN = ["-m", "semimetric"]
PROCESSES = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import semimetric": ["-c", "import semimetric"],
    "import sklearn.base": ["-c", "import sklearn.base"],  # which every estimator needs
    "import sklearn.base, numba": ["-c", "import sklearn.base, numba"],
    "semimetric.NeighborIndex": ["-c", "import semimetric; semimetric.NeighborIndex"],
    "semimetric.DistanceRegressor": ["-c", "import semimetric; semimetric.DistanceRegressor"],
    "semimetric --version": [*RUN, "--version"],
    "semimetric --help": [*RUN, "--help"],
    "semimetric fit --help": [*RUN, "fit", "--help"],
    "wrong usage": [*RUN, "fit", "--lable", "species"],
    "info of a file that is not there": [*RUN, "info", "nowhere.smm"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """CPU seconds of a Python process with these arguments, its own and the system's for it."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *arguments], **silent)
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def answered(folder: Path, queries: np.ndarray, *, mmap: bool) -> dict:
    """CPU seconds to load an index, for its first answer and for the next: the median of five, after one that compiles."""
    runs = []
    for _ in range(6):
        clock = [time.process_time()]
        index = semimetric.load(folder, mmap=mmap)
        clock.append(time.process_time())
        for query in queries:
            index.kneighbors(query[None], K)
            clock.append(time.process_time())
        runs.append(np.diff(clock))
    return dict(zip(("load_s", "first_s", "next_s"), np.median(runs[1:], axis=0).tolist(), strict=True))


def loaded(n: int) -> list[dict]:
    """An index of n points with and without lists in its folder, in memory and mapped."""
    d, X = learned("landsat_satimage", 32)
    index, rows, made = NeighborIndex(d, n_jobs=2, verbose=False).fit(more(X, n, 1)), [], Segment.saved_item_lists
    queries = more(X, 2, 2)
    with tempfile.TemporaryDirectory() as folder:
        for lists in (False, True):
            root, start = Path(folder) / f"index {lists}", time.process_time()
            Segment.saved_item_lists = made if lists else None
            index.save(root)
            row = {"points": n, "features": 32, "lists_saved": lists, "save_s": time.process_time() - start}
            row["bytes"] = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
            rows += [row | {"mmap": mmap} | answered(root, queries, mmap=mmap) for mmap in (False, True)]
    return rows


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, help="the size of an index that is loaded")
    if n := parser.parse_args().points:
        report("CPU seconds until a loaded index has answered", loaded(n))
        return
    rows = []
    for name, arguments in PROCESSES.items():
        times = [cpu_seconds(arguments) for _ in range(8)][1:]
        rows.append({"process": name, "median_cpu_s": statistics.median(times), "least_cpu_s": min(times)})
    report("CPU seconds until a process has answered", rows)


if __name__ == "__main__":
    main()
