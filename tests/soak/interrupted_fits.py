"""Ctrl-C at any moment of any fit: it ends soon, and what the estimator then has can be used."""

import numpy as np
from learners import made

import semimetric as sm
from soak.attack import Attack
from soak.interruption import interrupted


def items(n, p, seed=0):
    """Items of shape (n, p), and classes with a curved border."""
    X = np.random.default_rng(seed).random((n, p))
    return X, ((X[:, 0] - 0.5) ** 2 + X[:, 1] > 0.6).astype(int)


def pairs(n, p, m):
    """Items, pairs as row numbers, and a distance of each."""
    X, index = items(n, p)[0], np.random.default_rng(1).integers(0, n, (m, 2))
    return (
        X,
        index,
        np.concatenate([np.abs(X[i] ** 2 - X[j] ** 2).sum(axis=1) for i, j in (c.T for c in np.array_split(index, 20))]),
    )


def regression(n=5_000, p=16, m=100_000, **options):
    X, index, y = pairs(n, p, m)
    return made(sm.DistanceRegressor, preprocessor=X, **{"n_knots": 8, "alpha": 1e-4} | options), (index, y)


def triplets(m=20_000, p=10, **options):
    X, index, _ = pairs(2_000, p, m)
    three = np.column_stack([index, index[::-1, 0]])
    near, far = (np.abs(X[three[:, 0]] - X[three[:, c]]).sum(axis=1) for c in (1, 2))
    three[near > far] = three[near > far][:, [0, 2, 1]]
    return made(sm.TripletLearner, preprocessor=X, **options), (three,)


def labels(estimator, n=3_000, p=10):
    return estimator, items(n, p)


FITS = {
    "squared": lambda: regression(n_knots=16, m=300_000, p=24),
    "squared, weights of thousands": lambda: regression(n_knots=20, p=36, m=20_000),
    "absolute": lambda: regression(loss="absolute", n_knots=5),
    "huber": lambda: regression(loss="huber", n_knots=5),
    "first order": lambda: regression(solver="first_order", n_knots=5),
    "cvxpy": lambda: regression(solver="cvxpy", n_knots=4, p=6, m=20_000),
    "everything chosen": lambda: regression(n_knots="auto", alpha="auto", m=20_000),
    "groups chosen": lambda: regression(n_knots=4, groups="auto", m=20_000, p=6),
    "metric": lambda: regression(axioms="metric", n_knots=24, m=20_000, p=32),
    "metric, pairs of features": lambda: regression(axioms="metric", n_knots=5, groups="pairs", m=5_000, p=4),
    "constraints": lambda: regression(constraints=[sm.Monotone([0, 1])], n_knots=12),
    "triplets": lambda: triplets(n_knots=8, alpha=1e-4, directions=None),
    "triplets, chosen": lambda: triplets(m=4_000),
    "large margin": lambda: labels(sm.LargeMarginLearner()),
    "classifier": lambda: labels(sm.SemimetricClassifier(), n=1_000),
    "combined directions": lambda: labels(sm.LargeMarginLearner(directions="combined", n_knots=6, alpha=1e-2)),
    "approximator": lambda: (
        sm.DistanceApproximator(lambda a, b: np.abs(a - b).sum(), sm.DistanceRegressor(n_knots=6)),
        items(2_000, 6)[:1],
    ),
    "linear machine": lambda: labels(sm.EmbeddedLinearClassifier(sm.PL2Embedding(6), max_iter=300, tol=1e-9), n=20_000),
    "pegasos": lambda: labels(sm.EmbeddedLinearClassifier(sm.PL1Embedding(6), solver="pegasos", max_iter=300), n=20_000),
    "boundary points": lambda: labels(sm.BoundaryPoints(), n=20_000),
    "support points": lambda: labels(sm.SupportPointClassifier(), n=5_000, p=3),
    "mixture of planes": lambda: labels(sm.DPLMClassifier(w_prior=1000.0), n=400, p=2),
}


def draw(rng):
    return {"fit": str(rng.choice(list(FITS))), "after": round(float(rng.exponential(3.0)), 3)}


def attempt(case, folder):
    estimator, data = FITS[case["fit"]]()
    if not interrupted(lambda: estimator.fit(*data), case["after"]):
        return "was done before"
    if not hasattr(estimator, "semimetric_"):
        return "interrupted"
    assert np.isfinite(estimator.semimetric_.weights).all()
    return "interrupted with weights"


FITTED = Attack(draw, attempt, seconds=300, mebibytes=4096, short=0)
