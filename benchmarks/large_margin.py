"""How far does a distance learned from classes reach on letters and handwritten digits, and how fast is it learned?

letter: 20,000 x 16, 26 classes, 80/20, several seeds. usps: 7,291 training and 2,007 test images of 16 x 16, as pixels and as
histograms of 8 directions of gradients in 1, 4 and 16 cells (the first three levels of `paper1.py`: 168 numbers). Error of
three nearest neighbours, for Euclid on the same features, NCA on a sample, and `LargeMarginLearner` with settings given, those
for gradients chosen on a part of the training images; then digits of scikit-learn beside metric-learn's LMNN, where it is
installed, with the cost of the automatic choice.

    python benchmarks/large_margin.py [--seeds 5] [--only letter usps digits]
"""

import argparse
import resource
import time
import warnings

import numpy as np
from accuracy_peers import metric_learn
from paper1 import pyramid
from report import data, report
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from semimetric import LargeMarginLearner, SemimetricClassifier

LETTER = {"n_knots": 8, "alpha": 1e-3, "directions": "nca", "tables": "warped", "n_jobs": 2}
USPS = {"n_knots": 4, "alpha": 1e-3, "directions": "nca", "tables": "warped", "n_passes": 2, "n_jobs": 2}
GRADIENTS = {"n_knots": 3, "alpha": 1e-2, "directions": None, "tables": "warped", "n_passes": 2, "n_jobs": 2}
LEVELS = 8 * (1 + 4 + 16)
THREE = {"n_neighbors": 3, "weights": "uniform"}  # votes where settings are given; where they are chosen, votes are too
DIGITS = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped"}
SAMPLE = 2_000


def euclid() -> object:
    return KNeighborsClassifier(3)


class After:
    """metric-learn's learners are no scikit-learn transformers of today, so no pipeline takes them."""

    def __init__(self, learner: object) -> None:
        self.learner, self.votes = learner, KNeighborsClassifier(3)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "After":
        """Learn, and keep the mapped items."""
        self.votes.fit(self.learner.fit(X, y).transform(X), y)
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Share of right votes."""
        return self.votes.score(self.learner.transform(X), y)


class Sampled:
    """NCA on a sample, which is what its time allows, and three neighbours among all."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Sampled":
        """Learn from the sample, vote with all."""
        rows = np.random.default_rng(0).permutation(len(X))[:SAMPLE]
        self.map = NeighborhoodComponentsAnalysis(32 if X.shape[1] > 32 else None, max_iter=50, random_state=0)
        self.map.fit(X[rows], y[rows])
        self.votes = KNeighborsClassifier(3).fit(self.map.transform(X), y)
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Share of right votes."""
        return self.votes.score(self.map.transform(X), y)


def compared(name: str, methods: dict, parts: list[tuple[np.ndarray, ...]]) -> None:
    """Mean error and time of every method over the parts (X, y, X_test, y_test)."""
    rows = []
    for method, make in methods.items():
        errors, seconds = [], []
        for X, y, X_test, y_test in parts:
            start, model = time.perf_counter(), make()
            model.fit(X, y)
            seconds.append(time.perf_counter() - start)
            errors.append(100 * (1 - model.score(X_test, y_test)))
        row = {"method": method, "error %": float(np.mean(errors)), "worst": float(np.max(errors))}
        rows.append(row | {"fit s (median)": float(np.median(seconds)), "MiB so far": peak()})
    report(name, rows)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def letter(seeds: int) -> None:
    z = data("letter")
    X, y = z["X"].astype(np.float64), z["y"]
    splits = [train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y) for seed in range(seeds)]
    ours = lambda: SemimetricClassifier(LargeMarginLearner(**LETTER), **THREE, n_jobs=2)  # noqa: E731
    methods = {"euclid": euclid, f"NCA on {SAMPLE}": Sampled, "semimetric": ours}
    compared("letter, 16,000 + 4,000", methods, [(a, c, b, d) for a, b, c, d in splits])


def usps() -> None:
    z = data("usps")
    images, y, tests, t = (z[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    views = {"pixels": (np.asarray, USPS), "gradients": (lambda pixels: pyramid(pixels)[:, :LEVELS], GRADIENTS)}
    for view, (seen, settings) in views.items():
        part = (seen(images.astype(np.float64)), y, seen(tests.astype(np.float64)), t)
        ours = lambda s=settings: SemimetricClassifier(LargeMarginLearner(**s), **THREE, n_jobs=2)  # noqa: E731
        compared(f"usps, {view}", {"euclid": euclid, f"NCA on {SAMPLE}": Sampled, "semimetric": ours}, [part])


def digits() -> None:
    X, y = load_digits(return_X_y=True)
    splits = [train_test_split(X / 16, y, test_size=0.3, random_state=seed, stratify=y) for seed in range(3)]
    methods = {
        "euclid": euclid,
        "metric-learn LMNN": lambda: After(metric_learn("lmnn")),
        "semimetric": lambda: SemimetricClassifier(LargeMarginLearner(**DIGITS), **THREE),
        "semimetric, chosen": SemimetricClassifier,
    }
    compared("digits of scikit-learn, 1,257 + 540", methods, [(a, c, b, d) for a, b, c, d in splits])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=["letter", "usps", "digits"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if "letter" in arguments.only:
        letter(arguments.seeds)
    if "usps" in arguments.only:
        usps()
    if "digits" in arguments.only:
        digits()


if __name__ == "__main__":
    main()
