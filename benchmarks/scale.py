"""How does least squares grow with the number of pairs? 32 features, 8 knots, up to a million pairs, in a fresh process each."""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
from report import report

N_FEATURES, N_KNOTS, N_ITEMS = 32, 8, 20_000


def one(n_pairs: int, n_jobs: int) -> dict:
    """Time of a fit after a small one has compiled the kernels, and memory above the input."""
    from semimetric import DistanceRegressor

    rng = np.random.default_rng(0)
    X, index = rng.random((N_ITEMS, N_FEATURES)), rng.integers(0, N_ITEMS, (n_pairs, 2))
    y = (np.abs(X[index[:, 0]] ** 2 - X[index[:, 1]] ** 2) + 0.1).sum(axis=1)
    model = DistanceRegressor(n_knots=N_KNOTS, alpha=1e-4, preprocessor=X, n_jobs=n_jobs)
    model.fit(index[:500], y[:500])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model.fit(index, y)
    seconds = time.perf_counter() - start
    above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "pairs": n_pairs,
        "threads": n_jobs,
        "seconds": seconds,
        "us_per_pair": seconds / n_pairs * 1e6,
        "MiB_above_input": above,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, type=int, metavar=("PAIRS", "THREADS"))
    chosen = parser.parse_args().one
    if chosen:
        print(json.dumps(one(*chosen)))
        return
    runs = [(10_000, 2), (100_000, 2), (1_000_000, 2), (1_000_000, 1)]
    outputs = [
        subprocess.run([sys.executable, __file__, "--one", *map(str, run)], capture_output=True, text=True, check=True)
        for run in runs
    ]
    report("scale: least squares, 32 features x 8 knots", [json.loads(o.stdout.splitlines()[-1]) for o in outputs])


if __name__ == "__main__":
    main()
