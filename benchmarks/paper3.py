"""How well do pieces of planes classify, how many does a horseshoe need, and how fast are they sampled (paper 3)?

Table 1: ten folds, trained on one and tested on the other nine, features divided by their largest absolute value, over seeds.
The machine with an RBF kernel is chosen by ten folds of its training part. Iris has three classes and the paper does not say
how it made them two: every class against the rest is shown. Then the horseshoe of Figs 3 to 5, the sets whose pieces are known,
curved boundaries between several classes, and sweeps a second.

    python benchmarks/paper3.py [--seeds 20] [--sweeps 1000] [--methods dplm rbf ...]
                                [--only table pieces classes horseshoe growth] [--results FILE]

Results of the table, the pieces and the classes are appended to FILE as JSON lines, and what is there is not run again.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import add_results, append, data, read, report, with_origin
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from semimetric import (
    BoundaryPoints,
    DPLMClassifier,
    GibbsChains,
    LargeMarginLearner,
    SemimetricClassifier,
    SupportPointClassifier,
)
from semimetric.datasets import make_horseshoe, make_s_shape, make_zigzag

SETS = {
    "australian": "australian", "diabetes": "pima_diabetes", "heart": "heart_statlog", "liver": "liver_bupa",
    "iris 0": "iris", "iris 1": "iris", "iris 2": "iris",
}  # fmt: skip
PAPER = {"australian": (79.86, 79.16), "diabetes": (71.35, 68.48), "heart": (74.65, 71.32), "liver": (61.00, 60.61)}
PAPER |= {name: (98.89, 92.96) for name in ("iris 0", "iris 1", "iris 2")}
READINGS = ("planes, eq 26 precision", "planes, eq 26 as printed")
GRID = {"C": 2.0 ** np.arange(-5, 16, 4), "gamma": 2.0 ** np.arange(-15, 4, 4)}


def rbf() -> object:
    return GridSearchCV(SVC(), GRID, cv=KFold(10, shuffle=True, random_state=0))


def learned() -> object:
    return SemimetricClassifier(LargeMarginLearner(n_knots=4, alpha=1e-2, directions=None, tables="warped"), n_neighbors=3)


def methods(sweeps: int) -> dict[str, Callable[[], object]]:
    """The model with machines, with planes, with equation 26 in two readings of the paper, and what stands beside it."""
    short = {"chains": GibbsChains(n_sweeps=sweeps, n_chains=1)}
    return {
        "dplm": lambda: DPLMClassifier(**short),
        "dplm, w_prior 1000": lambda: DPLMClassifier(w_prior=1000.0, alpha=0.1, C=10.0, overlap=1.0, **short),
        "planes": lambda: DPLMClassifier(local="plane", **short),
        "planes, eq 26 precision": lambda: DPLMClassifier(local="plane", alpha=0.1, w_prior="precision", **short),
        "planes, eq 26 as printed": lambda: DPLMClassifier(local="plane", alpha=0.1, w_prior="covariance", **short),
        "rbf": rbf,
        "linear svm": lambda: LinearSVC(C=10.0, max_iter=20_000),
        "1-NN": lambda: KNeighborsClassifier(1),
        "support points": SupportPointClassifier,
        "learned 3-NN": learned,
    }


def items(name: str) -> tuple[np.ndarray, np.ndarray]:
    arrays = data(SETS[name])
    X, y = arrays["X"].astype(np.float64), arrays["y"]
    return X / np.abs(X).max(axis=0), (y == int(name[-1])).astype(int) if name.startswith("iris") else y


def one(name: str, method: Callable[[], object], seed: int) -> dict[str, float]:
    """Means over the ten folds: accuracy, components, and boundary points or support vectors as a share of training items."""
    X, y = items(name)
    scores, pieces, share, support, start = [], [], [], [], time.process_time()
    for test, train in KFold(10, shuffle=True, random_state=seed).split(X):
        if len(set(y[train])) < 2:
            continue
        model = method().fit(X[train], y[train])
        scores.append(model.score(X[test], y[test]))
        if isinstance(model, DPLMClassifier):
            pieces.append(model.n_components_)
            share.append(len(model.pieces_[0].boundary_points) / len(train))
        elif isinstance(model, GridSearchCV):
            support.append(model.best_estimator_.n_support_.sum() / len(train))
    row = {"accuracy": 100 * float(np.mean(scores)), "processor_seconds": time.process_time() - start}
    row |= {"support": 100 * float(np.mean(support))} if support else {}
    return row | ({"components": float(np.mean(pieces)), "boundary": 100 * float(np.mean(share))} if pieces else {})


def table(seeds: int, chosen: dict[str, Callable[[], object]], file: Path | None) -> None:
    found = {(row["set"], row["method"], row["seed"]): row for row in read(file, "paper3 table 1")}
    for seed in range(seeds):
        for name in SETS:
            for method, make in chosen.items():
                if (name, method, seed) in found:
                    continue
                row = {"benchmark": "paper3 table 1", "set": name, "method": method, "seed": seed} | one(name, make, seed)
                found[name, method, seed] = row
                append(file, with_origin(row, "semimetric"))
    report("table 1, % right: mean (deviation over seeds; seeds)", [shown(found, name, list(chosen)) for name in SETS])
    report("boundary points, support vectors (% of the training items), components", [counts(found, name) for name in SETS])


def shown(found: dict, name: str, chosen: list[str]) -> dict[str, object]:
    row: dict[str, object] = {"set": name, "paper dplm": PAPER[name][0], "paper svm": PAPER[name][1]}
    for method in chosen:
        scores = [r["accuracy"] for (s, m, _), r in found.items() if (s, m) == (name, method)]
        row[method] = f"{np.mean(scores):.2f} ({np.std(scores):.2f}; {len(scores)})" if scores else None
    return row


def counts(found: dict, name: str) -> dict[str, object]:
    paper = {"australian": 62.61, "diabetes": 71.74, "heart": 69.63, "liver": 72.46}.get(name, 20.67)
    row: dict[str, object] = {"set": name, "paper": paper}
    shown = [("dplm", "boundary"), ("rbf", "support"), *((m, "components") for m in ("dplm", *READINGS))]
    for method, what in shown:
        values = [r[what] for (s, m, _), r in found.items() if (s, m) == (name, method)]
        row[f"{method}: {what}"] = float(np.mean(values)) if values else None
    return row


PIECES = {
    "horseshoe": make_horseshoe, "S": make_s_shape, "zigzag of nine": make_zigzag,
    "two moons": lambda random_state: make_moons(400, noise=0.15, random_state=random_state),
}  # fmt: skip


def known_pieces(seeds: int, sweeps: int, file: Path | None) -> None:
    """Sets that anyone can draw: how many pieces are found by default, and who is right on other items of the same kind."""
    found = {(row["set"], row["seed"]): row for row in read(file, "paper3 pieces")}
    for seed in range(seeds):
        for name, make in PIECES.items():
            if (name, seed) in found:
                continue
            train, unseen = make(random_state=seed), make(random_state=1000)
            start = time.process_time()
            model = DPLMClassifier(chains=GibbsChains(n_sweeps=sweeps)).fit(*train)
            row = {"benchmark": "paper3 pieces", "set": name, "seed": seed, "processor_seconds": time.process_time() - start}
            row |= {"components": model.n_components_, "accuracy": 100 * model.score(*unseen)}
            row |= {"r_hat": float(model.r_hat_), "linear": 100 * LinearSVC(C=10.0).fit(*train).score(*unseen)}
            row["rbf"] = 100 * rbf().fit(*train).score(*unseen)
            found[name, seed] = row
            append(file, with_origin(row, "semimetric"))
    report("pieces found by default", list(found.values()))


def rings(n_items: int = 600, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A disc and two rings around it, three classes that meet in circles; a band of .1 about each circle is empty."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(0, 3, n_items)
    radius = np.sqrt(rng.uniform((y + 0.05 * (y > 0)) ** 2, (y + 0.95) ** 2))
    angle = rng.uniform(0, 2 * np.pi, n_items)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def arcs(n_items: int = 1200, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three half circles that hold one another, with noise of .2 across, so that classes overlap."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(0, 3, n_items)
    angle = rng.uniform(0, np.pi, n_items)
    centres = np.array([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]])[y]
    half = np.column_stack([np.cos(angle), np.where(y == 1, -1, 1) * np.sin(angle)])
    return centres + half + 0.2 * rng.normal(size=(n_items, 2)), y


def spirals(n_items: int = 1200, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three arms that wind into one another, with noise of .15."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(0, 3, n_items)
    angle = rng.uniform(0.6, 2.0, n_items) * np.pi
    turned = angle + y * 2 * np.pi / 3
    arms = (angle / 2)[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
    return arms + 0.15 * rng.normal(size=(n_items, 2)), y


MADE = {"rings": rings, "arcs": arcs, "spirals": spirals}
CLASSES = ("vowel", "image_segmentation", "glass", "wine", *MADE)


def every_item(source: str) -> tuple[np.ndarray, np.ndarray]:
    """Items and classes of a data set; where it comes in two parts, both together."""
    arrays = data(source)
    parts = [("X", "y")] if "X" in arrays else [("X_train", "y_train"), ("X_test", "y_test")]
    X, y = (np.concatenate([arrays[pair[k]] for pair in parts]) for k in (0, 1))
    return X.astype(np.float64), y


def several_classes(seeds: int, sweeps: int, file: Path | None) -> None:
    """Sets of several classes, half of each to learn from: pieces, a linear machine, a chosen RBF machine, neighbours."""
    found = {(row["set"], row["method"], row["seed"]): row for row in read(file, "paper3 classes")}
    short = {"chains": GibbsChains(n_sweeps=sweeps, n_chains=1)}
    models = {
        "dplm": lambda: DPLMClassifier(**short),
        "dplm, held-out": lambda: DPLMClassifier(n_components="auto", **short),
        "linear svm": lambda: LinearSVC(C=10.0, max_iter=20_000), "linear svm, pairs": lambda: SVC(kernel="linear", C=10.0),
        "rbf": rbf, "1-NN": lambda: KNeighborsClassifier(1),
    }  # fmt: skip
    for seed in range(seeds):
        for name in CLASSES:
            X, y = MADE[name](1200, seed) if name in MADE else every_item(name)
            train, test, labels, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            scale = StandardScaler().fit(train)
            for method, make in models.items():
                if (name, method, seed) in found:
                    continue
                start = time.process_time()
                model = make().fit(scale.transform(train), labels)
                row = {"benchmark": "paper3 classes", "set": name, "method": method, "seed": seed}
                row |= {
                    "processor_seconds": time.process_time() - start,
                    "accuracy": 100 * model.score(scale.transform(test), truth),
                }
                if isinstance(model, DPLMClassifier):
                    row["components"] = np.ravel(model.n_components_).tolist()
                found[name, method, seed] = row
                append(file, with_origin(row, "semimetric"))
    report("several classes, % right: mean over seeds", [means(found, name, list(models)) for name in CLASSES])


def means(found: dict, name: str, models: list[str]) -> dict[str, object]:
    """The mean accuracy of every method on a set, and the mean number of pieces of a pair of classes."""
    row: dict[str, object] = {"set": name}
    for method in models:
        rows = [r for (s, m, _), r in found.items() if (s, m) == (name, method)]
        pieces = [np.mean(r["components"]) for r in rows if "components" in r]
        row[method] = f"{np.mean([r['accuracy'] for r in rows]):.1f}" + (f" ({np.mean(pieces):.1f} pieces)" if pieces else "")
    return row


def horseshoe(seeds: int = 5) -> None:
    """Support points, components by concentration, accuracy on 8,000 further items, and the time of one chain."""
    rows, unseen = [], make_horseshoe(5000, 3000, random_state=1000)
    DPLMClassifier(chains=GibbsChains(n_sweeps=2)).fit(*make_horseshoe(20, 12))  # compiles
    for seed in range(seeds):
        X, y = make_horseshoe(random_state=seed)
        found = BoundaryPoints().fit(X, y)
        for alpha in (1.0, 10.0):
            start = time.process_time()
            model = DPLMClassifier(alpha=alpha, chains=GibbsChains(n_chains=1), local="plane").fit(X, y)
            spent, posterior = time.process_time() - start, model.posterior_n_components_
            rows.append(
                {
                    "seed": seed, "support %": 100 * found.support_share_, "boundary points": len(found.boundary_points_),
                    "alpha": alpha, "components": model.n_components_, "mean": float(posterior @ np.arange(len(posterior))),
                    "share of the mode": float(posterior.max()), "R-hat": model.r_hat_, "unseen %": 100 * model.score(*unseen),
                    "processor s": spent,
                }
            )  # fmt: skip
    report("horseshoe, 10,000 sweeps of one chain", rows)


def growth() -> None:
    """Sweeps a processor second; a third of the items has the wrong class, so that there are many boundary points."""
    rows = []
    for n, d in ((100, 2), (100, 20), (1000, 2), (1000, 20), (5000, 2), (5000, 20)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = (np.sin(2 * X[:, 0]) > X[:, 1]) != (rng.random(n) < 1 / 3)
        m = len(BoundaryPoints().fit(X, y).boundary_points_)
        sweeps = 100 + 200_000 // n
        times = []
        for count in (1, 1 + sweeps):
            start = time.process_time()
            model = DPLMClassifier(chains=GibbsChains(n_sweeps=count, burn_in=0, n_chains=1, refine=False), local="plane").fit(
                X, y
            )
            times.append(time.process_time() - start)
        row = {"items": n, "boundary points": m, "dimensions": d, "components": model.n_components_}
        rows.append(row | {"sweeps a second": sweeps / (times[1] - times[0]), "boundary found in s": times[0]})
    report("growth", rows)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--methods", nargs="*", choices=list(methods(1)))
    parser.add_argument("--only", nargs="*", default=["table", "pieces", "classes", "horseshoe", "growth"])
    add_results(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if "horseshoe" in arguments.only:
        horseshoe()
    if "growth" in arguments.only:
        growth()
    if "pieces" in arguments.only:
        known_pieces(arguments.seeds, arguments.sweeps, arguments.results)
    if "classes" in arguments.only:
        several_classes(min(arguments.seeds, 3), arguments.sweeps, arguments.results)
    if "table" in arguments.only:
        every = methods(arguments.sweeps)
        table(arguments.seeds, {m: every[m] for m in arguments.methods or every}, arguments.results)


if __name__ == "__main__":
    main()
