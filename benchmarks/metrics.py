"""What does the triangle inequality cost, in accuracy and in time, and does it hold?

Parts, each by name: `colour` (STRESS on held-out colour centres, as in colour.py, one penalty strength), `emd` (as in
emd_digits.py, full tables), `labels` (3-NN error of full tables on five splits of three sets), `triples` (violations of
d(x, z) <= d(x, y) + d(y, z) by the metric learned of all colour pairs and by CIEDE2000, on random sRGB colours, on colours with
one between the others in sRGB, and on triples that climbed towards violation), `times` (least squares on 20,000 pairs). Every
row is semimetric beside metric on the same pairs.
"""

import argparse
import time
import warnings

import numpy as np
from report import data, report
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.model_selection import GroupKFold, StratifiedShuffleSplit

from semimetric import (
    DistanceRegressor,
    HistogramFeatures,
    LargeMarginLearner,
    Program,
    SemimetricClassifier,
    SemimetricWarning,
    Tables,
    UniformDirections,
)

AXIOMS = ("semimetric", "metric")
DIRECTIONS = [UniformDirections([1, 2], n_directions=8), UniformDirections(n_directions=16)]


def colour_model(axioms: str) -> DistanceRegressor:
    return DistanceRegressor(directions=DIRECTIONS, n_knots=16, alpha=1e-4, axioms=axioms)


def colour() -> list[dict]:
    """Unweighted STRESS of the pooled predictions, 100 k-means centres of the midpoints held out in 10 folds."""
    colours = data("combvd_colour")
    pairs, seen = np.stack([colours["lab1"], colours["lab2"]], axis=1), colours["dv"]
    centres = KMeans(100, random_state=0, n_init="auto").fit(pairs.mean(axis=1)).labels_
    rows = []
    for axioms in AXIOMS:
        predicted, start, names = np.empty(len(seen)), time.perf_counter(), set()
        for train, test in GroupKFold(10).split(pairs, groups=centres):
            model = colour_model(axioms).fit(pairs[train], seen[train])
            predicted[test] = model.predict(pairs[test])
            names.add(model.semimetric_.axioms.name)
        cosine = (predicted @ seen) ** 2 / ((predicted @ predicted) * (seen @ seen))
        rows.append({"part": "colour", "axioms": axioms, "STRESS": float(100 * np.sqrt(1 - cosine)), "proved": "/".join(names),
                     "seconds": time.perf_counter() - start})  # fmt: skip
    return rows


def emd(n_pairs: int = 5_000) -> list[dict]:
    """Relative error on 1,000 pairs of other digits, exact Earth Mover's Distance."""
    import ot

    X = load_digits().data
    X = X / X.sum(axis=1, keepdims=True)
    C = np.array([(i, j) for i in range(8) for j in range(8)], dtype=float)
    ground = np.linalg.norm(C[:, None] - C[None], axis=2)
    order, rng = np.random.RandomState(0).permutation(len(X)), np.random.default_rng(0)
    train, test = rng.choice(order[:1000], (n_pairs, 2)), rng.choice(order[1000:], (1000, 2))
    train, test = (p[p[:, 0] != p[:, 1]] for p in (train, test))
    y, true = (np.array([ot.emd2(X[i], X[j], ground) for i, j in p]) for p in (train, test))
    rows = []
    for axioms in AXIOMS:
        start, bank = time.perf_counter(), HistogramFeatures(C, n_slices=8, n_edges=8, edge_scales=(1.5,), ball_radii=(2.0,))
        model = DistanceRegressor(
            n_knots=4,
            alpha=1e-4,
            directions=bank,
            tables=Tables(knots="uniform"),
            program=Program(relative=True),
            axioms=axioms,
            preprocessor=X,
        ).fit(train, y)
        error = np.abs(model.predict(test) - true) / true
        rows.append({"part": "emd", "axioms": axioms, "median_error": float(np.median(error)), "p90_error":
                     float(np.quantile(error, 0.9)), "proved": model.semimetric_.axioms.name, "weights":
                     len(model.solution_.weights), "gap": model.solution_.relative_gap,
                     "seconds": time.perf_counter() - start})  # fmt: skip
    return rows


def labels() -> list[dict]:
    """Percent of wrong votes of three neighbours, 70 % of the items to learn from."""
    rows = []
    for name in ("wine", "glass", "pima_diabetes"):
        arrays = data(name)
        X, y = arrays["X"], arrays["y"]
        for axioms in AXIOMS:
            start, errors = time.perf_counter(), []
            for train, test in StratifiedShuffleSplit(5, test_size=0.3, random_state=0).split(X, y):
                learner = LargeMarginLearner(n_knots=5, alpha=1e-2, directions=None, tables="full", axioms=axioms)
                model = SemimetricClassifier(learner, n_neighbors=3, weights="uniform").fit(X[train], y[train])
                errors.append(100 * (1 - model.score(X[test], y[test])))
            rows.append({"part": f"labels: {name}", "axioms": axioms, "error_%": float(np.mean(errors)), "proved":
                         model.semimetric_.axioms.name, "seconds": time.perf_counter() - start})  # fmt: skip
    return rows


def triples(n: int) -> list[dict]:
    """Share of triples that violate, and the worst excess relative to d(x, z)."""
    from skimage.color import deltaE_ciede2000, rgb2lab

    colours = data("combvd_colour")
    pairs, seen = np.stack([colours["lab1"], colours["lab2"]], axis=1), colours["dv"]
    ours = colour_model("metric").fit(pairs, seen).semimetric_
    rows = []
    for name, d in (("metric", lambda x, y: ours.paired(x, y, n_jobs=2)), ("CIEDE2000", deltaE_ciede2000)):
        for kind in ("random", "between", "climbed"):
            found = _violations(d, kind, n, rgb2lab)
            rows.append({"part": "triples", "distance": name, "kind": kind} | found)
    report_of = ours.certify()
    rows.append({"part": "triples", "distance": "metric", "kind": "certify", "verdict": report_of.triangle})
    return rows


def _violations(d, kind: str, n: int, lab) -> dict:  # noqa: ANN001
    rng, count, worst, done, size = np.random.default_rng(0), 0, -np.inf, 0, 500_000

    def excess(rgb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y, z = (lab(side) for side in np.moveaxis(rgb, 1, 0))
        far = d(x, z)
        return far - d(x, y) - d(y, z), far

    while done < n:
        m = min(size, n - done)
        rgb = rng.random((m, 3, 3))
        if kind == "between":
            rgb[:, 1] = (rgb[:, 0] + rgb[:, 2]) / 2
        value, far = excess(rgb)
        if kind == "climbed":  # the triples that come nearest to a violation, by random steps that shrink
            m = done_now = 10_000
            best = np.argsort(value / far)[-m:]
            rgb, value, far = rgb[best], value[best], far[best]
            for step in 0.2 * 0.85 ** np.arange((size - m) // m):
                moved = np.clip(rgb + step * rng.normal(size=rgb.shape), 0, 1)
                new, wide = excess(moved)
                better = new / wide > value / far
                rgb[better], value[better], far[better] = moved[better], new[better], wide[better]
                done_now += m
            done += size - done_now
            m = done_now
        share = value / np.maximum(far, 1e-300)
        count, worst, done = count + int((share > 1e-9).sum()), max(worst, float(share.max())), done + m
    total = n if kind != "climbed" else (n // size) * 10_000
    return {"triples": n, "violating_%": 100 * count / max(total, 1), "worst_relative": worst}


def times() -> list[dict]:
    """Seconds of a fit, and the gap: 32 features x 16 knots, and 60 pairs of features x 25 grid points."""
    rows = []
    for name, n_features, options in (
        ("32 x 16", 32, {"n_knots": 16}),
        ("60 pairs x 25", 120, {"n_knots": 5, "tables": Tables(groups=[(2 * k, 2 * k + 1) for k in range(60)])}),
    ):
        rng = np.random.default_rng(0)
        X, pairs = rng.random((2000, n_features)), rng.integers(0, 2000, (20_000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        difference = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]])
        targets = {
            "squares": (difference**2) @ rng.random(n_features),
            "saturating": np.minimum(difference, 0.3) @ rng.random(n_features),
        }
        for target, y in targets.items():
            y = y * rng.uniform(0.9, 1.1, len(y))
            for axioms in AXIOMS if name == "32 x 16" else AXIOMS[1:]:
                start = time.perf_counter()
                model = DistanceRegressor(alpha=1e-3, axioms=axioms, preprocessor=X, **options).fit(pairs, y)
                s = model.solution_
                rows.append({"part": f"times: {name}", "target": target, "axioms": axioms, "weights": len(s.weights), "seconds":
                             time.perf_counter() - start, "gap": s.relative_gap, "solver": s.solver, "repair":
                             s.repair.change if s.repair else None})  # fmt: skip
                print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["colour", "emd", "labels", "triples", "times"])
    parser.add_argument("--triples", type=int, default=10_000_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    for part in arguments.parts:
        call = {"colour": colour, "emd": emd, "labels": labels, "times": times, "triples": lambda: triples(arguments.triples)}
        report(f"metrics: {part}", call[part]())


if __name__ == "__main__":
    main()
