"""How far does a distance learned from classes reach on letters and handwritten digits, and how fast is it learned?

letter: 20,000 x 16, 26 classes, 80/20, several seeds. usps: 7,291 training and 2,007 test images of 16 x 16, as pixels and as
histograms of 8 directions of gradients in 1, 4 and 16 cells (the first three levels of `paper1.py`: 168 numbers). Error of
three nearest neighbours, for Euclid on the same features, NCA on a sample, and `LargeMarginLearner` with settings given, those
for gradients chosen on a part of the training images; then digits of scikit-learn beside metric-learn's LMNN, where it is
installed, with the cost of the automatic choice.

The default has no pull of targets (mu=1); two rows have it, all else the same. Weinberger & Saul (2009) print half the sum of
the distances to targets and half the sum of the hinges, mu = 0.5 there. Here both are means, and every target is in as many
triplets as there are impostors, six: "pull of sums" is their program, mu = 6/7, and "pull of means" mu = 0.5, which weighs
targets six times as much.

    python benchmarks/large_margin.py [--seeds 5] [--only letter pixels gradients digits] [--methods euclid semimetric ...]
                                      [--results FILE]

With --methods only these are run, by their whole names in the tables. Rows are appended to FILE as JSON lines.
"""

import argparse
import resource
import time
import warnings
from collections.abc import Callable

import numpy as np
from accuracy_peers import metric_learn
from paper1 import pyramid
from report import add_results, append, data, report, with_origin
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from semimetric import LargeMarginLearner, SemimetricClassifier, Triplets

LETTER = {"n_knots": 8, "alpha": 1e-3, "directions": "nca", "tables": "warped", "n_jobs": 2}
USPS = {"n_knots": 4, "alpha": 1e-3, "directions": "nca", "tables": "warped", "triplets": Triplets(n_passes=2), "n_jobs": 2}
GRADIENTS = {"n_knots": 3, "alpha": 1e-2, "directions": None, "tables": "warped", "triplets": Triplets(n_passes=2), "n_jobs": 2}
LEVELS = 8 * (1 + 4 + 16)
THREE = {"n_neighbors": 3, "weights": "uniform"}  # votes where settings are given; where they are chosen, votes are too
DIGITS = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped"}
SAMPLE = 2_000
PULLS = {"": {}, ", pull of sums": {"triplets__mu": 6 / 7}, ", pull of means": {"triplets__mu": 0.5}}


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


def compared(name: str, methods: dict, parts: list[tuple[np.ndarray, ...]], given: argparse.Namespace) -> None:
    """Mean error and time of every method over the parts (X, y, X_test, y_test)."""
    rows = []
    for method, make in methods.items():
        if given.methods and method not in given.methods:
            continue
        errors, seconds, processor = [], [], []
        for X, y, X_test, y_test in parts:
            start, cpu, model = time.perf_counter(), time.process_time(), make()
            model.fit(X, y)
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - cpu)
            errors.append(100 * (1 - model.score(X_test, y_test)))
        row = {"method": method, "error %": float(np.mean(errors)), "worst": float(np.max(errors))}
        row |= {"fit s (median)": float(np.median(seconds)), "processor s (median)": float(np.median(processor))}
        rows.append(row | {"MiB so far": peak()})
        package = "metric-learn" if "metric-learn" in method else "semimetric" if "semimetric" in method else "scikit-learn"
        kept = {"data": name, "errors": [round(error, 4) for error in errors]}
        append(given.results, with_origin({"benchmark": "large_margin", **kept, **row}, package))
    report(name, rows)


def ours(settings: dict, *, n_jobs: int = 2) -> dict:
    """Three votes under the learner with the settings, without the pull of targets and with it."""

    def learner(more: dict) -> Callable[[], SemimetricClassifier]:
        return lambda: SemimetricClassifier(clone(LargeMarginLearner(**settings)).set_params(**more), **THREE, n_jobs=n_jobs)

    return {f"semimetric{label}": learner(more) for label, more in PULLS.items()}


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def letter(given: argparse.Namespace) -> None:
    z = data("letter")
    X, y = z["X"].astype(np.float64), z["y"]
    splits = [train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y) for seed in range(given.seeds)]
    methods = {"euclid": euclid, f"NCA on {SAMPLE}": Sampled, **ours(LETTER)}
    compared("letter, 16,000 + 4,000", methods, [(a, c, b, d) for a, b, c, d in splits], given)


def usps(view: str, seen: Callable[[np.ndarray], np.ndarray], settings: dict, given: argparse.Namespace) -> None:
    z = data("usps")
    images, y, tests, t = (z[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    part = (seen(images.astype(np.float64)), y, seen(tests.astype(np.float64)), t)
    compared(f"usps, {view}", {"euclid": euclid, f"NCA on {SAMPLE}": Sampled, **ours(settings)}, [part], given)


def pixels(given: argparse.Namespace) -> None:
    usps("pixels", np.asarray, USPS, given)


def gradients(given: argparse.Namespace) -> None:
    usps("gradients", lambda images: pyramid(images)[:, :LEVELS], GRADIENTS, given)


def digits(given: argparse.Namespace) -> None:
    X, y = load_digits(return_X_y=True)
    splits = [train_test_split(X / 16, y, test_size=0.3, random_state=seed, stratify=y) for seed in range(3)]
    methods = {
        "euclid": euclid,
        "metric-learn LMNN": lambda: After(metric_learn("lmnn")),
        **ours(DIGITS, n_jobs=1),
        "semimetric, chosen": SemimetricClassifier,
    }
    compared("digits of scikit-learn, 1,257 + 540", methods, [(a, c, b, d) for a, b, c, d in splits], given)


PARTS = {"letter": letter, "pixels": pixels, "gradients": gradients, "digits": digits}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--methods", nargs="*", default=[])
    add_results(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.only:
        PARTS[part](given)


if __name__ == "__main__":
    main()
