"""How many calls of the Earth Mover's Distance of point clouds prove the ten nearest, and how long do they take?

Signatures of pictures, drawn anew for each of the seeds 2 to 4 (the bounds were written on seed 0). The 20 points of a
signature are segments of outdoor pictures (UCI image segmentation, 7 principal components) of 1 to 4 kinds, with random
weights. 50 queries are asked among 1,000 signatures, under every metric. A second kind has 5 to 60 points. Columns: the share
of items that are called until the ten nearest are proved, what `expected_calls` said before, milliseconds of the processor a
query, milliseconds by calls for all items, microseconds a call and a bound, and how often the bounds did not hold. Each
answer is compared with brute force.

Peers: `LandmarkBounds`, which know only the triangle inequality; the relaxed assignments of Kusner et al. 2015 alone
("nearest points", the larger of both directions) and distances of means. Of the latter two it is the share of items whose
bound is at most the tenth distance, which no search by these bounds can fall below. Beside them a distance that was learned
by default: recall of the ten nearest, the relative error (median, and as it told), and seconds of its fit.
``recall_of_upper`` is that of the upper bound as a distance.
"""

import argparse
import time

import numpy as np
from report import add_results, data, keep, report
from scipy.spatial.distance import cdist

from semimetric import (
    DistanceApproximator,
    FilterRefineIndex,
    LandmarkBounds,
    PointCloudBounds,
    PointCloudDistance,
    PointCloudFeatures,
)

K, N_ITEMS, N_QUERIES = 10, 1_000, 50


def segments():
    """Return the segments in 7 principal components of unit-scaled features, and their kinds."""
    found = data("image_segmentation")
    X = np.concatenate([found["X_train"], found["X_test"]])
    y = np.concatenate([found["y_train"], found["y_test"]])
    X = X[:, X.std(axis=0) > 0]
    left, sizes, _ = np.linalg.svd((X - X.mean(axis=0)) / X.std(axis=0), full_matrices=False)
    return left[:, :7] * sizes[:7], y


def signatures(rng, n, sizes):
    points, kinds = segments()
    of_kind = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    found = []
    for _ in range(n):
        shown = rng.choice(len(of_kind), rng.integers(1, 5), replace=False)
        size = int(rng.integers(*sizes))
        rows = [rng.choice(of_kind[k]) for k in rng.choice(shown, size, p=rng.dirichlet(np.full(len(shown), 2.0)))]
        found.append((points[rows], rng.dirichlet(np.full(size, 2.0))))
    return found


def measured(clouds, metric):
    emd = PointCloudDistance(metric)
    items, queries = clouds[:N_ITEMS], clouds[N_ITEMS:]
    index = FilterRefineIndex(None, emd, bounds=PointCloudBounds(metric)).fit(items)
    expected = index.expected_calls(K)
    index.search(queries[:1], K)
    start = time.process_time()
    found = index.search(queries, K)
    seconds = (time.process_time() - start) / len(queries)
    start = time.process_time()
    true = np.array([[emd(q, x) for x in items] for q in queries])
    brute = (time.process_time() - start) / len(queries)
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :K])
    bounds = PointCloudBounds(metric).fit(items)
    start = time.process_time()
    for q in queries:
        bounds.lower(q)
    bound = (time.process_time() - start) / len(queries) / len(items)
    low, high = bounds.pairwise(queries, items)
    row = {
        "called": float(found.n_calls.mean() / len(items)),
        "expected": expected.calls / len(items),
        "ms_query": 1e3 * seconds,
        "ms_brute_force": 1e3 * brute,
        "us_call": 1e6 * brute / len(items),
        "us_bound": 1e6 * bound,
        "lower_to_true": float(np.median(low / true)),
        "upper_to_true": float(np.median(high / true)),
        "pairs": true.size,
        "violations": int((low > true).sum() + (true > high).sum()),
        "recall_of_upper": recall(high, true),
    }
    return row, true


def recall(found, true):
    """Return the share of the ten nearest that are among the ten nearest by another distance."""
    nearest = [set(row[:K]) for row in np.argsort(true, axis=1)]
    return float(np.mean([len(one.intersection(row[:K])) / K for one, row in zip(nearest, np.argsort(found), strict=True)]))


def learned(clouds, true):
    """Return how close a distance comes that was learned by default, and how long that takes."""
    items, queries = clouds[:N_ITEMS], clouds[N_ITEMS:]
    start = time.process_time()
    model = DistanceApproximator(PointCloudDistance(), features=PointCloudFeatures()).fit(items)
    seconds = time.process_time() - start
    found = model.semimetric_.pairwise(model.encode(queries), model.encode(items))
    error = float(np.median(np.abs(found - true) / true))
    return {"recall": recall(found, true), "error": error, "told": model.error_.median, "fit_s": seconds}


def peers(clouds, true):
    """Return the shares of items that other bounds leave open."""
    items, queries = clouds[:N_ITEMS], clouds[N_ITEMS:]
    tenth = np.sort(true, axis=1)[:, K - 1 : K]
    index = FilterRefineIndex(None, PointCloudDistance(), bounds=LandmarkBounds(PointCloudDistance())).fit(items)
    found = {"LandmarkBounds": float(index.search(queries[:10], K).n_calls.mean() / len(items))}
    nearest, means = np.empty_like(true), np.empty_like(true)
    for row, (p, a) in enumerate(queries):
        for column, (q, b) in enumerate(items):
            costs = cdist(p, q)
            nearest[row, column] = max(a @ costs.min(axis=1), b @ costs.min(axis=0))
            means[row, column] = np.linalg.norm(a @ p - b @ q)
    return found | {"nearest points": float((nearest <= tenth).mean()), "means": float((means <= tenth).mean())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    add_results(parser)
    options = parser.parse_args()
    found, others, models = {}, {}, []
    for seed in options.seeds:
        for name, sizes in (("20 points", (20, 21)), ("5 to 60 points", (5, 61))):
            clouds = signatures(np.random.default_rng(seed), N_ITEMS + N_QUERIES, sizes)
            for metric in ("euclidean", "cityblock", "sqeuclidean") if name == "20 points" else ("euclidean",):
                row, true = measured(clouds, metric)
                found.setdefault((name, metric), []).append(row)
                if (name, metric) == ("20 points", "euclidean"):
                    models.append(learned(clouds, true))
                if metric == "euclidean":
                    for peer, share in peers(clouds, true).items():
                        others.setdefault((name, peer), []).append(share)
    rows = [
        {"clouds": name, "metric": metric, "method": "PointCloudBounds", "seeds": len(runs)}
        | {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        for (name, metric), runs in found.items()
    ]
    rows += [
        {"clouds": name, "metric": "euclidean", "method": peer, "seeds": len(shares), "called": float(np.mean(shares))}
        for (name, peer), shares in others.items()
    ]
    rows.append(
        {"clouds": "20 points", "metric": "euclidean", "method": "DistanceApproximator", "seeds": len(models)}
        | {key: float(np.mean([model[key] for model in models])) for key in models[0]}
    )
    report("cloud_bounds", rows)
    keep(options.results, "cloud_bounds", rows)


if __name__ == "__main__":
    main()
