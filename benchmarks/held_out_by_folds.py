"""Do intervals and probabilities hold where columns are many, items few, or items come in groups?

All data are drawn, with a seed for each draw, and nothing is set. Each row is a mean over draws. New items are 500, or those of
100 subjects; of seven draws the first was looked at while the rule for many columns was chosen, and the others are reported.

- values of many columns: the sum of 5 of p columns of 0, 1 and 2, and noise of variance 1. Column "held": the part of new
  values that intervals of 90 % hold, by folds as the fit measures them, and without folds.
- noise of many columns: two classes that no column says anything of. Column "log_loss", of which .693 knows nothing.
- subjects: n subjects of r rows each, whose values differ by a number that no column says. Column "held", for new subjects,
  with ``groups=`` and without.

    python benchmarks/held_out_by_folds.py [--results FILE]
"""

import argparse
import time
from unittest.mock import patch

import numpy as np
from report import add_results, append, report, use_one_thread, with_origin
from sklearn.metrics import log_loss

from semimetric import SemimetricClassifier, SemimetricRegressor

DRAWS = range(1, 7)
N_NEW, N_SUBJECTS = 500, 100


def held(model: SemimetricRegressor, X: np.ndarray, y: np.ndarray) -> float:
    _, low, high = model.predict(X, interval=0.9)
    return float(np.mean((low <= y) & (y <= high)))


def without_folds() -> object:
    return patch("semimetric.distances.estimators.votes.needs_folds", lambda *_: False)


def of_values(rng: np.random.Generator, n: int, p: int) -> tuple[dict, dict]:
    X = rng.binomial(2, 0.3, (n + N_NEW, p)).astype(float)
    y = X[:, : min(5, p)].sum(axis=1) + rng.normal(size=len(X))
    start = time.process_time()
    folds = {"held": held(SemimetricRegressor().fit(X[:n], y[:n]), X[n:], y[n:]), "fit_s": time.process_time() - start}
    with without_folds():
        return folds, {"held": held(SemimetricRegressor().fit(X[:n], y[:n]), X[n:], y[n:])}


def of_noise(rng: np.random.Generator, n: int, p: int) -> tuple[dict, dict]:
    X, y = rng.normal(size=(n + N_NEW, p)), rng.integers(0, 2, n + N_NEW)

    def loss() -> float:
        return float(log_loss(y[n:], SemimetricClassifier(random_state=0).fit(X[:n], y[:n]).predict_proba(X[n:])))

    start = time.process_time()
    folds = {"log_loss": loss(), "fit_s": time.process_time() - start}
    with without_folds():
        return folds, {"log_loss": loss()}


def of_subjects(rng: np.random.Generator, n: int, n_rows: int) -> tuple[dict, dict]:
    subject = np.repeat(np.arange(n + N_SUBJECTS), n_rows)
    X = rng.normal(size=(n + N_SUBJECTS, 4))[subject] + 0.05 * rng.normal(size=(len(subject), 4))
    y = X[:, 0] + rng.normal(size=n + N_SUBJECTS)[subject] + 0.2 * rng.normal(size=len(subject))
    first = subject < n
    start = time.process_time()
    model = SemimetricRegressor().fit(X[first], y[first], groups=subject[first])
    folds = {"held": held(model, X[~first], y[~first]), "fit_s": time.process_time() - start}
    return folds, {"held": held(SemimetricRegressor().fit(X[first], y[first]), X[~first], y[~first])}


CASES = {
    "values": (of_values, [(20, 3), (80, 1_000), (200, 800), (400, 100), (400, 1_000)]),
    "noise": (of_noise, [(80, 100), (80, 1_000), (300, 300), (400, 100)]),
    "subjects": (of_subjects, [(20, 10), (20, 20), (100, 2)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_results(parser)
    options = parser.parse_args()
    use_one_thread()
    for kind, (measured, sizes) in CASES.items():
        found = []
        for n, of_each in sizes:
            drawn = [measured(np.random.default_rng(seed), n, of_each) for seed in DRAWS]
            size = {"data": kind, "n": n, "rows_of_each" if kind == "subjects" else "columns": of_each}
            for how, rows in zip(("by folds", "without folds"), zip(*drawn, strict=True), strict=True):
                found.append(size | {"method": how} | {name: float(np.mean([row[name] for row in rows])) for name in rows[0]})
        report(f"held out by folds: {kind}", found)
        for row in found:
            append(options.results, with_origin({"benchmark": "held_out_by_folds"} | row, "semimetric"))


if __name__ == "__main__":
    main()
