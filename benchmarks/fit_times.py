"""What does a fit with default settings cost beside NCA's and gradient boosting's, on two threads?

Tables of scikit-learn's `make_classification`, standardised, with three classes, half of the features informative and a fifth
linear combinations of these. Every fit runs in a process of its own, after one of a small table, which compiles kernels or
reads them from the cache. The peak of the memory is that of the whole process (`ru_maxrss`), the fit of the small table and the
table itself included. The error is that of 1,000 queries. The classes lie along rotated directions, which scales alone do not
see (`semimetric_readable`). `semimetric_2s`, `_5s` and `_10s` are fits with so many seconds as ``time_budget``; what they
choose depends on the speed of the machine, and on what else it does.

    python benchmarks/fit_times.py [--sizes 1000x20 10000x50 50000x50] [--methods semimetric nca boosting] [--limit 900]
                                   [--gibibytes 14] [--processor-clock] [--results FILE]

With `--processor-clock` time budgets are seconds of the processor: for a machine that does other things too.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from report import add_results, append, on_threads, report, with_origin
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SIZES = ("1000x20", "10000x50", "50000x50")
QUERIES = 1_000
THREADS = 2


BUDGETS = (2, 5, 10)


def semimetric(seconds: int | None = None) -> object:
    from semimetric import LargeMarginLearner, SemimetricClassifier

    if seconds is None:
        return SemimetricClassifier(n_jobs=THREADS)
    return SemimetricClassifier(LargeMarginLearner(n_jobs=THREADS), n_jobs=THREADS, time_budget=seconds)


def readable() -> object:
    from semimetric import SemimetricClassifier

    return SemimetricClassifier(predictor="kernel_ridge", n_jobs=THREADS)


MODELS: dict[str, Callable[[], object]] = {
    "semimetric": semimetric,
    "semimetric_readable": readable,
    **{f"semimetric_{seconds}s": partial(semimetric, seconds) for seconds in BUDGETS},
    "nca": lambda: make_pipeline(NeighborhoodComponentsAnalysis(random_state=0), KNeighborsClassifier(3)),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def table(n_items: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    parts = {"n_informative": n_features // 2, "n_redundant": n_features // 5}
    X, y = make_classification(n_items, n_features, n_classes=3, **parts, random_state=0)
    return StandardScaler().fit_transform(X), y


def peak() -> float:
    """Mebibytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit(method: str, n_items: int, n_features: int, *, processor_clock: bool = False) -> dict[str, float]:
    """Seconds, memory and error of one fit; time budgets are of the processor with ``processor_clock``."""
    if processor_clock:
        from semimetric._foundation import progress as time_budget

        time_budget.now = time.process_time
    MODELS[method]().fit(*table(200, 6))
    X, y = table(n_items + QUERIES, n_features)
    before, starts = peak(), (time.perf_counter(), time.process_time())
    model = MODELS[method]().fit(X[:n_items], y[:n_items])
    wall, processor = time.perf_counter() - starts[0], time.process_time() - starts[1]
    highest, start = peak(), time.perf_counter()
    error = 1 - model.score(X[n_items:], y[n_items:])
    numbers = {"seconds": wall, "processor_seconds": processor, "mebibytes": highest, "mebibytes_before": before}
    return numbers | {"seconds_of_queries": time.perf_counter() - start, "error": error}


def measured(method: str, size: str, limit: int, gibibytes: float, processor_clock: bool = False) -> dict[str, object]:
    """One fit in a process of its own, or why there is none."""
    call = [sys.executable, __file__, "--fit", method, size, "--gibibytes", str(gibibytes)]
    call += ["--processor-clock"] if processor_clock else []
    try:
        done = subprocess.run(call, env=on_threads(THREADS), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"ended with the status {done.returncode}"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def compare(
    results: Path | None,
    sizes: tuple[str, ...] = SIZES,
    methods: tuple[str, ...] = tuple(MODELS),
    limit: int = 900,
    gibibytes: float = 14,
    processor_clock: bool = False,
) -> None:
    """Print and write down what every method needs for every size."""
    rows = []
    for size in sizes:
        for method in methods:
            row = {
                "benchmark": "fit_times",
                "size": size,
                "method": method,
                "threads": THREADS,
                "processor_clock": processor_clock,
            }
            row |= measured(method, size, limit, gibibytes, processor_clock)
            package = "semimetric" if method.startswith("semimetric") else "scikit-learn"
            append(results, with_origin(row, package))
            rows.append(row)
    shown = ("size", "method", "seconds", "processor_seconds", "mebibytes", "seconds_of_queries", "error", "failed")
    report("fit with default settings on two threads", [{name: row.get(name) for name in shown} for row in rows])


def main() -> None:
    """Measure everything, or one fit for the process that asks for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--methods", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--limit", type=int, default=900, help="seconds of one process")
    parser.add_argument("--gibibytes", type=float, default=14, help="address space of one process")
    add_results(parser)
    parser.add_argument("--processor-clock", action="store_true", help="time budgets are seconds of the processor")
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        resource.setrlimit(resource.RLIMIT_AS, (int(arguments.gibibytes * 2**30), resource.RLIM_INFINITY))
        method, size = arguments.fit
        print(json.dumps(fit(method, *map(int, size.split("x")), processor_clock=arguments.processor_clock)))
        return
    compare(
        arguments.results,
        tuple(arguments.sizes),
        tuple(arguments.methods),
        arguments.limit,
        arguments.gibibytes,
        arguments.processor_clock,
    )


if __name__ == "__main__":
    main()
