"""How close, how fast and how soon learned is a distance in place of Earth Mover's Distances between images of 16 x 16?

Nothing is set: `DistanceRegressor(directions=HistogramFeatures(C))` has some 6,390 numbers to choose from. Images are
USPS digits (from the folder SEMIMETRIC_DATA), or drawn: sums of one to four Gaussian bumps. They are divided by their
sum; the ground distance is Euclidean. Train: 20,000 pairs of 1,000 images, a quarter of them near. Test: 2,000 pairs of
other images, after one scalar rescaling. Retrieval: some of the others as queries against the 1,000 plus 500 more; the
share of the exact 10 nearest in the first 10. Peers: POT's exact solver, its Sinkhorn on a few pairs, sliced
Wasserstein, Sobolev.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import ot
from report import append, data, once, report, seconds, use_one_thread, with_origin
from scipy.spatial.distance import cdist

from semimetric import DistanceRegressor, HistogramFeatures, Program, SemimetricWarning
from semimetric.data.splits import sample_pairs

RESULTS = Path(__file__).parent / "results" / "emd_wide.jsonl"
SIDE, SEED = 16, 0
C = np.indices((SIDE, SIDE)).reshape(2, -1).T.astype(float)
GROUND = cdist(C, C)


def usps() -> np.ndarray:
    images = data("usps")["X_train"].astype(float)
    images = images[np.random.default_rng(SEED).permutation(len(images))[:2_200]]
    images = images - images.min()
    return images / images.sum(axis=1, keepdims=True)


def bumps() -> np.ndarray:
    rng, images = np.random.default_rng(SEED), np.zeros((2_000, len(C)))
    for image in images:
        for _ in range(rng.integers(1, 5)):
            centre, width = rng.uniform(1, SIDE - 2, 2), rng.uniform(0.8, 3)
            image += rng.uniform(0.2, 1) * np.exp(-((C - centre) ** 2).sum(axis=1) / 2 / width**2)
        image[image < 1e-3 * image.max()] = 0
    return images / images.sum(axis=1, keepdims=True)


def exact(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return np.array([ot.emd2(X[i], X[j], GROUND) for i, j in pairs])


def setting(X: np.ndarray, n_queries: int, n_pairs: int) -> dict:
    """Pairs and exact distances of the protocol."""
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(X))
    first, others = order[:1_000], order[1_000:]
    drawn = rng.choice(first, (n_pairs, 2))
    sums = HistogramFeatures(C, n_edges=0, ball_radii=(1.5,)).fit_transform(X[first])
    near = first[sample_pairs(sums, n_pairs // 4, near=1.0, random_state=SEED)]
    train = np.concatenate([drawn[drawn[:, 0] != drawn[:, 1]][: n_pairs - len(near)], near])
    test = rng.choice(others, (2_000, 2))
    test = test[test[:, 0] != test[:, 1]]
    queries, base = others[:n_queries], np.concatenate([first, others[n_queries : n_queries + 500]])
    every = np.array([(q, b) for q in queries for b in base])
    took, truth = once(lambda: exact(X, every))
    return {
        "X": X, "train": train, "y": exact(X, train), "test": test, "y_test": exact(X, test), "queries": queries, "base": base,
        "truth": truth.reshape(n_queries, -1), "exact_us": took / len(every) * 1e6,
    }  # fmt: skip


def quality(s: dict, paired: np.ndarray, table: np.ndarray | None) -> dict:
    ratio = s["y_test"] / np.maximum(paired, 1e-12)
    order = np.argsort(ratio)
    weight = np.cumsum(paired[order])
    error = np.abs(paired * ratio[order][np.searchsorted(weight, weight[-1] / 2)] / s["y_test"] - 1)
    row = {"median_error": float(np.median(error)), "p90_error": float(np.quantile(error, 0.9))}
    if table is None:
        return row
    nearest, guess = (np.argsort(t, axis=1)[:, :10] for t in (s["truth"], table))
    return row | {"recall10": float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(nearest, guess, strict=True)]))}


def learned(s: dict, relative: bool) -> dict:
    X = s["X"]
    model = DistanceRegressor(directions=HistogramFeatures(C), preprocessor=X, program=Program(relative=relative))
    started = time.process_time()
    fit_s, _ = once(lambda: model.fit(s["train"], s["y"]))
    work, d = time.process_time() - started, model.semimetric_
    Q, B = X[s["queries"]], X[s["base"]]
    us = seconds(lambda: d.pairwise(Q, B), repeat=3) / s["truth"].size * 1e6
    started = time.process_time()
    d.pairwise(Q, B)
    processor_us = (time.process_time() - started) / s["truth"].size * 1e6
    name = f"semimetric, defaults{', relative=True' * relative} ({len(d.directions.names) if d.directions else 0} directions)"
    row = {"method": name} | quality(s, model.predict(s["test"]), d.pairwise(Q, B))
    return row | {
        "us_1_thread": us,
        "processor_us": processor_us,
        "fit_s": fit_s,
        "fit_processor_s": work,
        "axioms": d.axioms.name,
    }


def mapped(name: str, s: dict, transform, metric: str) -> dict:
    X = s["X"]
    U = transform(X)
    difference = U[s["test"][:, 0]] - U[s["test"][:, 1]]
    paired = np.abs(difference).sum(axis=1) if metric == "cityblock" else np.linalg.norm(difference, axis=1)
    time_s = seconds(lambda: cdist(transform(X[s["queries"]]), transform(X[s["base"]]), metric), repeat=3)
    row = {"method": name} | quality(s, paired, cdist(U[s["queries"]], U[s["base"]], metric))
    return row | {"us_1_thread": time_s / s["truth"].size * 1e6}


def sobolev() -> np.ndarray:
    """A root of the inverse of the grid's Laplacian."""
    near = np.isclose(GROUND, 1.0)
    return np.linalg.cholesky(np.linalg.inv(np.diag(near.sum(axis=1)) - near + np.ones_like(GROUND) / len(GROUND)))


def sinkhorn(s: dict, n: int = 100) -> dict:
    some = dict(s, test=s["test"][:n], y_test=s["y_test"][:n])
    X = s["X"] + 1e-9
    X = X / X.sum(axis=1, keepdims=True)
    took, values = once(lambda: np.array([ot.sinkhorn2(X[i], X[j], GROUND, 0.3, numItermax=500) for i, j in some["test"]]))
    return {"method": f"ot.sinkhorn2, reg 0.3 ({n} pairs)"} | quality(some, values, None) | {"us_1_thread": took / n * 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--images", choices=("usps", "bumps"), default="usps")
    given = parser.parse_args()
    use_one_thread()
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", SemimetricWarning)
    s = setting({"usps": usps, "bumps": bumps}[given.images](), given.queries, given.pairs)
    slices = HistogramFeatures(C, n_slices=100, ball_radii=(), n_edges=0).fit(s["X"])
    root = sobolev()
    rows = [
        {"method": "exact ot.emd2", "us_1_thread": s["exact_us"]},
        mapped("Sobolev H^-1", s, lambda Z: Z @ root, "euclidean"),
        mapped("sliced W1, 100 directions", s, slices.transform, "cityblock"),
        sinkhorn(s),
        learned(s, relative=False),
        learned(s, relative=True),
    ]
    for row in rows:
        row["images"] = given.images
        row["times_faster_than_emd2"] = s["exact_us"] / row["us_1_thread"]
    report("emd_wide", rows)
    for row in rows:
        append(RESULTS, with_origin({"benchmark": "emd_wide"} | row, "semimetric"))


if __name__ == "__main__":
    main()
