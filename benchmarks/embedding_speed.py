"""How fast are embeddings of single vectors, beside scikit-learn's and beside NumPy?

`transform` of PL1, PL2 and ID of groups of three beside `SplineTransformer(degree=1)` at equal knots, `PolynomialFeatures(2)`
and a NumPy twin of PL2: rows and non-zeros a second, on one core and on two; growth in rows and in features; the first call of
a fresh process, with the compiler's cache empty and filled; and knots of 75,000 x 54 values. Methods take turns, and the
shortest of their times counts: on one core that of the processor, so that other work on the machine counts less, on two that
of the clock. A method joins by a row of `METHODS`. "PL2, read" is what machines do: blocks of rows in one buffer, none of which
is kept. More than half of the time of `transform` is the first touch of the memory of its result, 12 bytes a non-zero.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from report import report
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from semimetric import IDEmbedding, PL1Embedding, PL2Embedding
from semimetric.vectors.machines.rows import EmbeddedRows

N_KNOTS, N_FEATURES = 8, 54
RNG = np.random.default_rng(0)


def table(n_rows: int, n_features: int = N_FEATURES) -> np.ndarray:
    return RNG.random((n_rows, n_features))


def triples(n_features: int) -> list[tuple[int, int, int]]:
    return [(f, f + 1, f + 2) for f in range(n_features - 2)]


class Packed(PolynomialFeatures):
    """Polynomial features of a CSR matrix, which come as CSR: so does what they are compared with."""

    def transform(self, X):
        """Pack, then expand."""
        return super().transform(sparse.csr_array(X))


class Twin(PL2Embedding):
    """PL2 in NumPy: all pairs at once, by arrays."""

    def transform(self, X):
        """Alg. 2 of paper 0 on whole columns."""
        grid, rows = self.grid_, len(X)
        located = grid.locate(X)
        low, high, t = located.lower.astype(np.int64), located.upper.astype(np.int64), located.fraction
        first = grid.starts[:-1]
        a, b = np.triu_indices(X.shape[1], 1)
        size = grid.counts[a] * grid.counts[b]
        start, step = grid.starts[-1] + np.cumsum(size) - size, grid.counts[b]
        below = t[:, a] > t[:, b]
        middle = np.where(below, high[:, a] * step + low[:, b], low[:, a] * step + high[:, b])
        corners = [low[:, a] * step + low[:, b], middle, high[:, a] * step + high[:, b]]
        least, most = np.minimum(t[:, a], t[:, b]), np.maximum(t[:, a], t[:, b])
        columns = np.stack([start + c for c in corners], axis=2).reshape(rows, -1)
        values = np.stack([1.0 - most, most - least, least], axis=2).reshape(rows, -1)
        singles = np.stack([first + low, first + high], axis=2).reshape(rows, -1)
        weights = np.stack([1.0 - t, t], axis=2).reshape(rows, -1)
        indices, data = np.hstack([singles, columns]), np.hstack([weights, values])
        indptr = np.arange(rows + 1) * indices.shape[1]
        out = sparse.csr_array((data.ravel(), indices.ravel(), indptr), shape=(rows, self.n_columns_))
        out.eliminate_zeros()
        return out


class Read(PL2Embedding):
    """PL2 as machines read it."""

    def transform(self, X):
        """How many non-zeros were there."""
        return sum(int(chunk.indptr[-1]) for _, _, chunk in EmbeddedRows(self, X).blocks())


# name: what to make for so many features, and how many rows it is timed on
METHODS: dict[str, tuple[Callable[[int], object], int]] = {
    "PL1": (lambda n: PL1Embedding(N_KNOTS, knots="uniform"), 20_000),
    "SplineTransformer(degree=1)": (lambda n: SplineTransformer(n_knots=N_KNOTS, degree=1), 20_000),
    "SplineTransformer(degree=1), sparse": (lambda n: SplineTransformer(n_knots=N_KNOTS, degree=1, sparse_output=True), 20_000),
    "PL2": (lambda n: PL2Embedding(N_KNOTS, knots="uniform"), 4_000),
    "PL2, read": (lambda n: Read(N_KNOTS, knots="uniform"), 4_000),
    "PolynomialFeatures(2)": (lambda n: PolynomialFeatures(2, include_bias=False), 4_000),
    "PolynomialFeatures(2), sparse": (lambda n: Packed(2, include_bias=False), 4_000),
    "NumPy twin of PL2": (lambda n: Twin(N_KNOTS, knots="uniform"), 4_000),
    "ID, groups of 3": (lambda n: IDEmbedding(N_KNOTS, knots="uniform", groups=triples(n)), 10_000),
}


def measured(cases: list[tuple[str, int, int, int]], repeat: int) -> list[dict]:
    """Rows and non-zeros a second of (method, rows, features, threads), taking turns; fitted and called once before."""
    made, times = [], [[] for _ in cases]
    for name, n_rows, n_features, jobs in cases:
        X = table(n_rows, n_features)
        embedding = METHODS[name][0](n_features).fit(X)
        if "n_jobs" in embedding.get_params():
            embedding.set_params(n_jobs=jobs)
        rows = embedding.transform(X)
        made.append((embedding, X, _count(rows)))
    for _ in range(repeat):
        for (embedding, X, _), (*_, jobs), spent in zip(made, cases, times, strict=True):
            spent.append(
                seconds(lambda e=embedding, X=X: e.transform(X), time.process_time if jobs == 1 else time.perf_counter)
            )
    return [_shown(case, count, min(spent)) for case, (_, _, count), spent in zip(cases, made, times, strict=True)]


def _count(rows: object) -> int:
    """Non-zeros of a matrix, or a number of them."""
    return rows if isinstance(rows, int) else rows.nnz if sparse.issparse(rows) else np.count_nonzero(rows)


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Time of one call, of the processor or of the clock."""
    start = clock()
    call()
    return clock() - start


def _shown(case: tuple[str, int, int, int], count: int, spent: float) -> dict:
    shown = dict(zip(("work", "rows", "features", "threads"), case, strict=True)) | {"ms": 1e3 * spent}
    return shown | {
        "rows_per_s": case[1] / spent,
        "M_nonzeros_per_s": count / spent / 1e6,
        "ns_per_nonzero": 1e9 * spent / count,
    }


def speeds(repeat: int) -> list[dict]:
    """Every method on one core, then ours on two; a row is beside its peers in one run."""
    same = METHODS["NumPy twin of PL2"][0](5).fit(X := table(50, 5))
    if abs(same.transform(X) - PL2Embedding.transform(same, X)).max() > 1e-12:
        raise SystemExit("the NumPy twin gives other rows")
    ours = [name for name in METHODS if name.startswith(("PL", "ID", "B-spline")) and "read" not in name]
    cases = [(name, n, N_FEATURES, 1) for name, (_, n) in METHODS.items()]
    return measured(cases + [(name, METHODS[name][1], N_FEATURES, 2) for name in ours], repeat)


def ratios(rows: list[dict]) -> list[dict]:
    """Ours over theirs, on one core: times as fast a row for PL1, a non-zero for PL2."""
    one = {row["work"]: row for row in rows if row["threads"] == 1}
    asked = [
        ("PL1", "SplineTransformer(degree=1)", "rows_per_s", 5),
        ("PL1", "SplineTransformer(degree=1), sparse", "rows_per_s", 5),
        ("PL2", "PolynomialFeatures(2)", "M_nonzeros_per_s", 1),
        ("PL2", "PolynomialFeatures(2), sparse", "M_nonzeros_per_s", 1),
        ("PL2", "NumPy twin of PL2", "rows_per_s", 20),
        ("PL2, read", "NumPy twin of PL2", "rows_per_s", 20),
    ]
    return [{"ours": a, "theirs": b, "unit": u, "times": one[a][u] / one[b][u], "asked": k} for a, b, u, k in asked]


def growth(repeat: int) -> list[dict]:
    """Twice the rows: twice the time. Twice the features: twice for PL1, four times for PL2 (n log c + n²)."""
    cases = [("PL2", n, 32, 1) for n in (1_000, 2_000, 4_000, 8_000)]
    cases += [("PL2", 2_000, n, 1) for n in (8, 16, 32, 64)]
    return measured(cases + [("PL1", 10_000, n, 1) for n in (8, 16, 32, 64)], repeat)


FIRST = """
import json, time
import numpy as np
import semimetric
X = np.random.default_rng(0).random((50, 4))
times = {}
for kind in (semimetric.PL1Embedding, semimetric.PL2Embedding, semimetric.IDEmbedding):
    begin = time.process_time()
    kind(4).fit(X).transform(X)
    times[kind.__name__ + "_s"] = time.process_time() - begin
print(json.dumps(times))
"""


def first_calls(repeat: int) -> list[dict]:
    """A fit and a transform in a fresh process: the compiler's cache empty, then filled."""

    def fresh(folder: str) -> dict:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        run = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=environment)
        return json.loads(run.stdout)

    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = (fresh(folder) for _ in range(1 + repeat))
    middle = {name: statistics.median(run[name] for run in warm) for name in cold}
    return [{"work": "first calls, cache cold"} | cold, {"work": "first calls, cache warm"} | middle]


def fits() -> list[dict]:
    """Knots of a table as large as covtype_75k."""
    X = np.random.default_rng(1).normal(size=(75_000, N_FEATURES))
    y = X[:, 0] > 0
    return [
        {"work": f"fit, {knots}, 75,000 x 54", "seconds": seconds(lambda k=knots: PL1Embedding(N_KNOTS, knots=k).fit(X, y))}
        for knots in ("kmeans", "quantile", "uniform", "tree")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9, help="timed calls of a method")
    repeat = parser.parse_args().repeat
    rows = speeds(repeat)
    report(f"embedding_speed: transform, {N_FEATURES} features, {N_KNOTS} knots", rows)
    report("embedding_speed: ratios on one core", ratios(rows))
    report("embedding_speed: growth", growth(repeat))
    report("embedding_speed: knots", fits())
    report("embedding_speed: first calls in a fresh process", first_calls(3))


if __name__ == "__main__":
    main()
