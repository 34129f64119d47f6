"""Programs at wild scales, and of large margins: what every solver claims of its solution, checked in exact arithmetic."""

import warnings
from fractions import Fraction

import numpy as np
from reference import exact_objective
from scipy import sparse

from semimetric import FirstOrder, Gram, InteriorPoint, Newton, NotSupportedError, Reference, Splitting
from semimetric._foundation.types import TripletTuples
from semimetric.distances import Status
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import L1Prior
from semimetric.distances.learning.program import columns_of
from semimetric.distances.learning.structure import build_structure
from semimetric.distances.programs.comparison_design import ComparisonDesign
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.inequalities import Inequalities
from semimetric.distances.programs.losses import Absolute, Hinge, Huber, Squared, SquaredHinge
from semimetric.distances.programs.penalties import Lasso, Linear, PenaltyColumns, Ridge, Roughness
from semimetric.distances.programs.program import EXACT, ConvexProgram
from soak.attack import Attack

LOSSES = {"squared": Squared(), "absolute": Absolute(), "huber": Huber(0.2), "hinge": Hinge(), "squared hinge": SquaredHinge()}
SOLVERS = {
    "gram": Gram(), "newton": Newton(), "interior point": InteriorPoint(), "first order": FirstOrder(max_iter=500),
    "splitting": Splitting(max_iter=300), "reference": Reference(),
}  # fmt: skip


def draw(rng):
    return draw_margins(rng) if rng.random() < 0.5 else draw_at_any_scale(rng)


def draw_margins(rng):
    penalties = [name for name in ("ridge", "ridge-zero", "roughness", "lasso") if rng.random() < 0.15]
    return {
        "kind": "margins", "seed": int(rng.integers(2**32)), "n_items": int(rng.integers(10, 40)),
        "n_features": int(rng.integers(1, 4)), "n_knots": int(rng.integers(2, 6)),
        "tables": str(rng.choice(["full", "warped"])), "noise": float(rng.choice([0.0, 0.3])),
        "loss": str(rng.choice(["hinge", "squared hinge"])), "pull": float(rng.choice([0.0, 0.1, 1.0])),
        "lower": float(rng.choice([0.0, 1e-3])), "penalties": [[name, float(10 ** rng.uniform(-9, 0))] for name in penalties],
    }  # fmt: skip


def draw_at_any_scale(rng):
    return {
        "kind": "any scale", "seed": int(rng.integers(2**32)), "m": int(rng.integers(1, 25)), "n": int(rng.integers(1, 7)),
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


MAKERS = {"ridge": Ridge, "ridge-zero": lambda a: Ridge(a, towards="zero"), "roughness": Roughness, "lasso": Lasso}


def program_of(case):
    rng = np.random.default_rng(case["seed"])
    return margin_program(case, rng) if case.get("kind") == "margins" else program_at_any_scale(case, rng)


def margin_program(case, rng):
    """The program of Weinberger & Saul (2009) and of paper 2, section 4, on tables: a linear one by the hinge."""
    n, k = case["n_items"], case["n_features"]
    items = rng.random((n, k))
    side = items.sum(axis=1) + case["noise"] * rng.normal(size=n)
    labels = side > np.sort(side)[n // 3]
    recipe = Recipe(n_knots=case["n_knots"], tables=case["tables"]).checked()
    embedding = build_structure(recipe, items, tuple("uvw"[:k])).embedding
    distances = np.abs(items[:, None] - items).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.where(labels[:, None] == labels, distances, np.inf).argsort(axis=1)[:, :2]
    far = np.where(labels[:, None] != labels, distances, np.inf).argsort(axis=1)[:, :3]
    triplets = np.array([(i, a, b) for i in range(n) for a in near[i] for b in far[i]])
    design = ComparisonDesign.of(embedding, TripletTuples(items, triplets))
    s = np.full(len(triplets), 1.0 / len(triplets))
    penalties = [MAKERS[name](alpha) for name, alpha in case["penalties"]]
    if case["pull"]:
        penalties.append(Linear(case["pull"] * design.near.rmatvec(s)))
    columns = columns_of(embedding, L1Prior(np.ones(k) / k, np.ones(k)), 0)
    lower = np.full(embedding.n_columns, case["lower"])
    matrix = MatrixDesign(design.csr())  # that exact arithmetic sees what the solvers see
    return ConvexProgram(matrix, np.full(len(s), -1.0), s, LOSSES[case["loss"]], tuple(penalties), columns, lower)


def program_at_any_scale(case, rng):
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
    makers = MAKERS | {"linear": lambda a: Linear(a * rng.random(n))}
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
    """Check that every gap is at least the exact objective less the least that any solver reaches, and bears its status."""
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
        if solution.status is Status.SOLVED:
            assert solution.gap <= allowed(program, SOLVERS[name], solution), f"{name} claims to have solved it: {solution!r}"
        if np.isfinite(solution.gap) and value - best > Fraction(solution.gap):
            raise AssertionError(
                f"{name}: {solution!r} is {float(value - best):.3g} above {[float(v) for _, v in found.values()]}"
            )
    solved = [s.status.name == "SOLVED" for s, _ in found.values()]
    return f"{'all' if all(solved) else 'some' if any(solved) else 'none'} solved"


def allowed(program, solver, solution):
    """Return the largest gap of a solution that may be called solved."""
    if isinstance(solver, Gram):  # its scale is the objective at w = 0
        return max(solver.tol, EXACT) * (program.loss.value(-program.y, program.sample_weight) or np.inf)
    return max(solver.tol * max(abs(solution.objective), program.exact), program.exact)


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
