"""What does a linear machine on 4,401 columns a row cost if the embedding is never stored?

`covtype_75k` under PL2: all 1,431 pairs of its 54 features. In a process of its own the machine learns for a few passes from
rows of float64; its memory above the data is the largest sum of allocations (tracemalloc) in the fit of one pass by a machine
like it, the embedding being fitted and the interpreter's own caches being filled before. Compiling is timed in fresh processes,
with an empty cache and with a full one. On a subsample that fits, accuracy stands beside LIBLINEAR's on the stored matrix.
Seconds are of the processor, of one thread; those of a pass hold a share of the certificate at the end.

    python benchmarks/streaming.py [--rows 52500] [--knots 10] [--passes 3] [--sample 4000] [--solvers dual pegasos]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings

import numpy as np
from report import data, report
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from semimetric import EmbeddedLinearClassifier, PL2Embedding


def prepared(rows: int, n_knots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, PL2Embedding]:
    """Training and test rows, and PL2 fitted on the training rows."""
    both = data("covtype_75k")
    X, y = both["X"].astype(np.float64), both["y"]
    X, X_test, y, y_test = train_test_split(X, y, train_size=rows, stratify=y, random_state=0)
    return X, X_test, y, y_test, PL2Embedding(n_knots, knots="quantile", dtype=np.float32).fit(X)


def child(arguments: argparse.Namespace) -> None:
    """One solver in this process: passes, seconds, peak memory, accuracy."""
    X, X_test, y, y_test, embedding = prepared(arguments.rows, arguments.knots)
    machine = EmbeddedLinearClassifier(embedding, solver=arguments.child, C=arguments.C, max_iter=1, block_size=4)
    start = time.process_time()
    machine.fit(X[:100], y[:100])
    first = time.process_time() - start
    machine.set_params(max_iter=arguments.passes)
    seconds = time.process_time()
    machine.fit(X, y)
    seconds = time.process_time() - seconds
    row = {"seconds": seconds, "first fit of 100 rows, s": first, "accuracy": machine.score(X_test, y_test)}
    if not arguments.quick:
        peak, model = most_memory(machine, X, y), machine.coef_.nbytes
        nonzeros = embedding.transform(X[:500]).nnz / 500
        row |= {
            "classes": len(machine.classes_), "columns": embedding.n_columns_, "non-zeros a row": nonzeros,
            "s a pass and class": seconds / arguments.passes / len(machine.classes_),
            "model, MB": model / 1e6, "peak above the data, MB": peak / 1e6, "peak / model": peak / model,
            "stored matrix would be, MB": nonzeros * len(X) * 8 / 1e6, "passes": arguments.passes,
        }  # fmt: skip
    print(json.dumps(row))


def most_memory(machine: EmbeddedLinearClassifier, X: np.ndarray, y: np.ndarray) -> int:
    """Bytes that one pass holds at most above those before it; a fit of few rows fills the caches of the interpreter."""
    tracemalloc.start()
    for rows in (4000, len(X)):
        fresh = clone(machine).set_params(embedding=machine.embedding, max_iter=1)  # a clone's embedding is not fitted
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        fresh.fit(X[:rows], y[:rows])
    return tracemalloc.get_traced_memory()[1] - before


def in_a_fresh_process(arguments: argparse.Namespace, solver: str, *more: str, cache: str | None = None) -> dict:
    """The JSON line of this program called again."""
    words = [sys.executable, __file__, "--child", solver, "--C", str(arguments.C), "--knots", str(arguments.knots), *more]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    out = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    return json.loads(out.stdout.strip().splitlines()[-1])


def stored(arguments: argparse.Namespace) -> list[dict]:
    """LIBLINEAR on the stored matrix of a subsample, and the machine on its rows."""
    X, X_test, y, y_test, embedding = prepared(arguments.sample, arguments.knots)
    X_test, y_test = X_test[:10_000], y_test[:10_000]
    rows = []
    for name in ("stored, LIBLINEAR", "on the fly"):
        start = time.process_time()
        if name == "on the fly":
            machine = EmbeddedLinearClassifier(embedding, C=arguments.C, tol=1e-2).fit(X, y)
            seconds, megabytes = time.process_time() - start, 0.0
            accuracy = machine.score(X_test, y_test)
        else:
            F = embedding.transform(X)
            machine = LinearSVC(C=arguments.C, dual=True, tol=1e-2, max_iter=2_000, random_state=0).fit(F, y)
            seconds, megabytes = time.process_time() - start, F.nnz * 12 / 1e6  # LIBLINEAR copies it to 16 bytes an entry
            accuracy = machine.score(embedding.transform(X_test), y_test)
        rows.append({"route": name, "rows": len(X), "seconds": seconds, "embedding held, MB": megabytes, "accuracy": accuracy,
                     "passes": machine.n_iter_})  # fmt: skip
    return rows


def main() -> None:
    """Run the parts and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=52_500)
    parser.add_argument("--knots", type=int, default=10)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--sample", type=int, default=4_000)
    parser.add_argument("--C", type=float, default=0.01)
    parser.add_argument("--solvers", nargs="*", default=["dual", "pegasos"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.child:
        child(arguments)
        return
    data("covtype_75k")
    size = ["--rows", str(arguments.rows), "--passes", str(arguments.passes)]
    rows = [{"solver": solver} | in_a_fresh_process(arguments, solver, *size) for solver in arguments.solvers]
    report("a pass over covtype_75k", rows)
    with tempfile.TemporaryDirectory() as cache:
        small = ["--quick", "--rows", "1000", "--passes", "1"]
        first = {name: in_a_fresh_process(arguments, "dual", *small, cache=cache) for name in ("cold", "warm")}
    report("compiling", [{"cache": name, "first fit, s": row["first fit of 100 rows, s"]} for name, row in first.items()])
    report("beside the stored matrix", stored(arguments))


if __name__ == "__main__":
    main()
