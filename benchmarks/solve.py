"""How fast are the package's own solvers beside CVXPY's, on the same program?

Least squares: 20,000 pairs of digits, projected cumulative sums as 144 features x 4 knots, tied columns. Peers through CVXPY:
Clarabel, SCS, OSQP. Absolute loss: the same rows; the linear program through CVXPY had not finished in 400 s.
"""

import argparse
import warnings

import numpy as np
from report import once, report
from scipy.spatial.distance import cdist

from semimetric import Absolute, FirstOrder, Gram, HistogramFeatures, InteriorPoint, PairEmbedding, Reference, Ridge, Squared
from semimetric._foundation.threads import one_blas_thread
from semimetric._foundation.types import Pairs
from semimetric.data.grid import Grid
from semimetric.datasets import exact_emd, load_digit_histograms
from semimetric.distances.programs.design_matrix import PairDesign
from semimetric.distances.programs.penalties import PenaltyColumns
from semimetric.distances.programs.program import ConvexProgram


def programs(n_pairs: int) -> tuple[ConvexProgram, ConvexProgram]:
    """Least squares and least absolute deviations on the same rows, with the same light ridge."""
    digits = load_digit_histograms()
    rng = np.random.default_rng(0)
    index = rng.integers(0, 1000, (n_pairs, 2))
    X = digits.histograms[np.random.RandomState(0).permutation(len(digits.histograms))[:1000]]
    ground = cdist(digits.bin_coordinates, digits.bin_coordinates)
    y = exact_emd(X[index[:, 0]], X[index[:, 1]], ground)
    slices = HistogramFeatures(digits.bin_coordinates, n_slices=8, ball_radii=(), n_edges=0).fit(X)
    features = slices.transform(X)[:, np.linspace(0, len(slices.components_) - 1, 144).astype(int)]
    embedding = PairEmbedding(Grid.fit(features, n_knots=4))
    design = PairDesign(embedding, Pairs(features, index), n_jobs=2)
    n = embedding.n_columns
    ones = np.ones(n)
    columns = PenaltyColumns(n, np.zeros(n), ones, ones, ones / n, ones, embedding.differences)
    rest = ((Ridge(1e-6, towards="zero"),), columns, np.zeros(n))
    target, weight = y / y.mean(), np.full(len(y), 1 / len(y))
    return tuple(ConvexProgram(design, target, weight, loss, *rest) for loss in (Squared(), Absolute()))


def solved(name: str, solver, program: ConvexProgram) -> dict:
    with one_blas_thread():  # as the estimators do
        seconds, solution = once(lambda: solver.solve(program))
    return {"solver": name, "seconds": seconds, "objective": solution.objective, "relative_gap": solution.relative_gap}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--peers", nargs="*", default=["CLARABEL", "SCS", "OSQP"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    squared, absolute = programs(options.pairs)
    Gram().solve(programs(200)[0])  # compiled before it is timed; embed.py has the compile time
    entries = squared.design.csr().nnz
    rows = [solved("Gram", Gram(), squared)] + [solved(f"CVXPY {p}", Reference(p), squared) for p in options.peers]
    best = min(row["objective"] for row in rows)
    for row in rows:
        row |= {"excess": (row["objective"] - best) / best, "times_gram": row["seconds"] / rows[0]["seconds"]}
    report(f"solve: least squares, {len(squared.y)} pairs, {squared.design.shape[1]} columns, {entries} non-zeros", rows)
    both = [("InteriorPoint to 1e-3", InteriorPoint(tol=1e-3)), ("InteriorPoint to 1e-6", InteriorPoint()),
            ("FirstOrder, 2,000 steps", FirstOrder(tol=1e-3, max_iter=2000))]  # fmt: skip
    report("solve: absolute loss, same rows", [solved(name, solver, absolute) for name, solver in both])


if __name__ == "__main__":
    main()
