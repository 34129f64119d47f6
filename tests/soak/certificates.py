"""Programs at wild scales: what every solver claims of its solution, checked in exact arithmetic."""

import warnings
from fractions import Fraction

import numpy as np
from reference import exact_objective
from scipy import sparse

from semimetric import FirstOrder, Gram, InteriorPoint, Newton, NotSupportedError, Reference, Splitting
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.inequalities import Inequalities
from semimetric.distances.programs.losses import Absolute, Hinge, Huber, Squared, SquaredHinge
from semimetric.distances.programs.penalties import Lasso, Linear, PenaltyColumns, Ridge, Roughness
from semimetric.distances.programs.program import ConvexProgram
from soak.attack import Attack

LOSSES = {"squared": Squared(), "absolute": Absolute(), "huber": Huber(0.2), "hinge": Hinge(), "squared hinge": SquaredHinge()}
SOLVERS = {
    "gram": Gram(), "newton": Newton(), "interior point": InteriorPoint(), "first order": FirstOrder(max_iter=500),
    "splitting": Splitting(max_iter=300), "reference": Reference(),
}  # fmt: skip


def draw(rng):
    return {
        "seed": int(rng.integers(2**32)), "m": int(rng.integers(1, 25)), "n": int(rng.integers(1, 7)),
        "loss": str(rng.choice(list(LOSSES))), "signed": bool(rng.random() < 0.3), "free": bool(rng.random() < 0.15),
        "target": float(10 ** rng.choice([0.0, rng.uniform(-8, 8), rng.uniform(-290, 290)], p=[0.7, 0.2, 0.1])),
        "outlier": float(10 ** rng.choice([0.0, 3.0, 9.0])), "columns": float(rng.choice([0.0, 0.0, 3.0, 8.0])),
        "weights": float(rng.choice([0.0, 0.0, 3.0, 12.0])), "rank": bool(rng.random() < 0.8),
        "lower": float(rng.choice([0.0, 1e-6, 0.5])), "rows": int(rng.choice([0, 0, 3])),
        "penalties": [
            [name, float(10 ** rng.choice([-9.0, -3.0, 0.0, rng.uniform(0, 12), rng.uniform(12, 300)]))]
            for name in ("ridge", "ridge-zero", "roughness", "lasso", "linear") if rng.random() < 0.35
        ],
    }  # fmt: skip


def program_of(case):
    rng = np.random.default_rng(case["seed"])
    m, n = case["m"], case["n"]
    A = rng.random((m, n)) * (rng.random((m, n)) < 0.7)
    A = np.where(rng.random((m, n)) < 0.4, -A, A) if case["signed"] else A
    A = A * 10 ** (case["columns"] * rng.normal(size=n) / 3)
    if not case["rank"]:
        A[:, -1] = A[:, 0]
    y = np.full(m, -1.0) if "hinge" in case["loss"] else (A @ rng.random(n) + 0.1 * rng.random(m)) * case["target"]
    y[0] *= case["outlier"]
    s = 10 ** (-case["weights"] * rng.random(m))
    unit = 10 ** (0.5 * rng.normal(size=n))
    steps = sparse.csr_array(np.diff(np.eye(n), axis=0))
    columns = PenaltyColumns(
        n, rng.random(n) * case["target"], unit, unit, np.full(n, 1 / n), np.ones(n), lambda kind: steps, not case["free"]
    )
    makers = {
        "ridge": Ridge, "ridge-zero": lambda a: Ridge(a, towards="zero"), "roughness": Roughness, "lasso": Lasso,
        "linear": lambda a: Linear(a * rng.random(n)),
    }  # fmt: skip
    penalties = tuple(
        makers[name](alpha) for name, alpha in case["penalties"] if not (case["free"] and name in ("lasso", "linear"))
    )
    lower = np.full(n, -np.inf) if case["free"] else np.where(rng.random(n) < 0.7, case["lower"] * case["target"], 0.0)
    rows, inside = None, None
    if case["rows"] and not case["free"]:
        G = sparse.csr_array(rng.normal(size=(case["rows"], n)) * (rng.random((case["rows"], n)) < 0.7))
        inside = lower + case["target"] * rng.random(n)
        rows = Inequalities(G, G @ inside - 0.1 * case["target"] * rng.random(case["rows"]))
    return ConvexProgram(
        MatrixDesign(sparse.csr_array(A)), y, s / s.sum(), LOSSES[case["loss"]], penalties, columns, lower, rows, inside=inside
    )


def attempt(case, folder):
    """Every claim "gap" must be at least the exact objective at the weights less the least that any solver reaches."""
    warnings.simplefilter("ignore")
    program, found = program_of(case), {}
    for name, solver in SOLVERS.items():
        try:
            solution = solver.solve(program)
        except NotSupportedError:
            continue
        assert (solution.weights >= program.lower).all(), f"{name} leaves the bounds"
        assert np.isfinite(solution.weights).all(), f"{name} gives weights that are no numbers"
        found[name] = (solution, exact_objective(program, solution.weights))
    if not found:
        return "refused"
    kept = [value for s, value in found.values() if keeps_rows(program, s.weights)]
    if not kept:
        return "no weights keep the rows exactly"
    best = min(kept)
    for name, (solution, value) in found.items():
        assert not np.isnan(solution.gap), f"{name} claims the gap nan"
        if np.isfinite(solution.gap) and value - best > Fraction(solution.gap):
            raise AssertionError(
                f"{name}: {solution!r} is {float(value - best):.3g} above {[float(v) for _, v in found.values()]}"
            )
    solved = [s.status.name == "SOLVED" for s, _ in found.values()]
    return f"{'all' if all(solved) else 'some' if any(solved) else 'none'} solved"


def keeps_rows(program, w):
    """Whether weights keep every inequality in exact arithmetic: a point that does not may lie below the optimum."""
    if program.inequalities is None:
        return True
    exact = [Fraction(v) for v in w.tolist()]
    G, h = program.inequalities.matrix.toarray().tolist(), program.inequalities.bound.tolist()
    return all(
        sum(Fraction(g) * v for g, v in zip(row, exact, strict=True)) >= Fraction(b) for row, b in zip(G, h, strict=True)
    )


CERTIFICATES = Attack(draw, attempt, seconds=60, short=60)
