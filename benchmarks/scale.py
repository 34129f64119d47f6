"""How does least squares grow with the number of pairs? 32 features, 8 knots, a fresh process for each size."""

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from report import report

N_FEATURES, N_KNOTS, N_ITEMS = 32, 8, 20_000


class Peak(threading.Thread):
    """Largest resident memory above that at the start, sampled every 5 ms (Linux)."""

    def __enter__(self) -> "Peak":
        self.first = self.most = self._resident()
        self.going = True
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.going = False
        self.join()
        self.above = (self.most - self.first) / 2**20

    def run(self) -> None:
        """Sample until the block ends."""
        while self.going:
            self.most = max(self.most, self._resident())
            time.sleep(0.005)

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def one(n_pairs: int, n_jobs: int) -> dict:
    """Time of a fit after a small one has compiled the kernels, and memory above the input."""
    from semimetric import DistanceRegressor

    rng = np.random.default_rng(0)
    X, index = rng.random((N_ITEMS, N_FEATURES)), rng.integers(0, N_ITEMS, (n_pairs, 2))
    y = np.concatenate(
        [(np.abs(X[i] ** 2 - X[j] ** 2) + 0.1).sum(axis=1) for i, j in (p.T for p in np.array_split(index, 100))]
    )
    model = DistanceRegressor(n_knots=N_KNOTS, alpha=1e-4, preprocessor=X, n_jobs=n_jobs)
    model.fit(index[:500], y[:500])
    with Peak() as peak:
        start = time.perf_counter()
        model.fit(index, y)
        seconds = time.perf_counter() - start
    row = {"pairs": n_pairs, "threads": n_jobs, "seconds": seconds, "us_per_pair": seconds / n_pairs * 1e6}
    return row | {"MiB_above_input": peak.above}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, type=int, metavar=("PAIRS", "THREADS"))
    chosen = parser.parse_args().one
    if chosen:
        print(json.dumps(one(*chosen)))
        return
    rows = []
    for run in [(10_000, 2), (100_000, 2), (1_000_000, 2), (1_000_000, 1)]:
        command = [sys.executable, __file__, "--one", *map(str, run)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows.append(json.loads(output.splitlines()[-1]))
    report("scale: least squares, 32 features x 8 knots", rows)


if __name__ == "__main__":
    main()
