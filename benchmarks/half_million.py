"""How do additive machines with pairs stand beside boosting and EBM on half a million rows of twelve features?

Labels are drawn with the probability 1 / (1 + exp(-f(x))), where f is a sum of functions of single features and of three pairs,
of which one has a fold along its diagonal, so that the most accurate rule is known. Test rows are others. PL1 and PL2 learn by
the squared hinge, never storing their rows; C is chosen on the last fifth of 50,000 rows, and its time is told beside. Boosting
(`HistGradientBoostingClassifier`) and `ExplainableBoostingClassifier` of InterpretML, where it is installed, have their
defaults; linear is `LogisticRegression` of standardised features. Every method runs on one thread in a process of its own,
whose largest resident memory above that of the data is told. "PL2, ten pairs" ranks pairs as EBM does, which takes as many.

    python benchmarks/half_million.py [--rows 500000] [--methods PL2 EBM ...] [--results FILE]
"""

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import time

import numpy as np
from report import add_results, append, on_threads, report, with_origin

N_FEATURES = 12
N_TEST = 100_000
METHODS = ("linear", "PL1", "PL2", "PL2, ten pairs", "boosting", "EBM")
COSTS = (0.0003, 0.003, 0.03, 0.3)
SMALL = 50_000


def log_odds(X: np.ndarray) -> np.ndarray:
    """What the labels follow: six features alone and six in pairs, shape (n_rows,)."""
    singles = 2 * np.sin(5 * X[:, 0]) + 3 * np.abs(X[:, 1] - 0.4) - 2 * (X[:, 2] > 0.6) + np.log(X[:, 3] + 0.05) + X[:, 4]
    pairs = 6 * (X[:, 6] - 0.5) * (X[:, 7] - 0.5) - 4 * np.abs(X[:, 8] - X[:, 9]) + 3 * np.maximum(X[:, 10], X[:, 11])
    return 1.5 * (singles + pairs - 0.5)


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows uniform on the cube, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, N_FEATURES))
    return X, (rng.random(n) < 1 / (1 + np.exp(-log_odds(X)))).astype(int)


def model_of(method: str, C: float) -> object:
    """What learns, on one thread."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if method == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression())
    if method == "boosting":
        return HistGradientBoostingClassifier(random_state=0)
    if method == "EBM":
        from interpret.glassbox import ExplainableBoostingClassifier

        return ExplainableBoostingClassifier(n_jobs=1, random_state=0)
    from semimetric import EmbeddedLinearClassifier, PL1Embedding, PL2Embedding

    embeddings = {"PL1": PL1Embedding(), "PL2": PL2Embedding(), "PL2, ten pairs": PL2Embedding(pairs="best", n_pairs=10)}
    return EmbeddedLinearClassifier(embeddings[method], C=C, tol=1e-2)


def run(method: str, n: int) -> dict:
    """Learn from n rows, and count on others; called in a process of its own."""
    X, y = drawn(n, 0)
    test, truth = drawn(N_TEST, 1)
    ours, C = method.startswith("PL"), 1.0
    model_of(method, C).fit(X[:2_000], y[:2_000]).predict(test[:10])  # imports and compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    if ours:
        few = min(SMALL, n)
        part, held = slice(0, 4 * few // 5), slice(4 * few // 5, few)
        C = max(COSTS, key=lambda c: model_of(method, c).fit(X[part], y[part]).score(X[held], y[held]))
    chosen = time.process_time()
    model = model_of(method, C).fit(X, y)
    fitted = time.process_time()
    found = model.predict(test)
    predicted = time.process_time()
    row = {"rows": n, "method": method, "accuracy": 100 * float((found == truth).mean())}
    row |= {"best_possible": 100 * float(((log_odds(test) > 0) == truth).mean())}
    row |= {"choose_s": chosen - start, "fit_s": fitted - chosen, "predict_s": predicted - fitted}
    row |= {"mebibytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}
    return row | ({"C": C, "passes": int(model.n_iter_), "gap": float(model.duality_gap_)} if ours else {})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    add_results(parser)
    parser.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run(given.one, given.rows)))
        return
    rows = []
    for method in given.methods:
        if method == "EBM" and importlib.util.find_spec("interpret") is None:
            print("EBM is left out: interpret is not installed (pip install interpret-core)")
            continue
        call = [sys.executable, __file__, "--one", method, "--rows", str(given.rows)]
        out = subprocess.run(call, env=on_threads(1), stdout=subprocess.PIPE, text=True, check=True).stdout
        rows.append(json.loads(out.splitlines()[-1]))
        package = "semimetric" if method.startswith("PL") else "interpret-core" if method == "EBM" else "scikit-learn"
        append(given.results, with_origin({"benchmark": "half_million", **rows[-1]}, package))
    report("half a million rows, processor seconds of one thread", rows)


if __name__ == "__main__":
    main()
