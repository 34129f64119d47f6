"""How well does a learned distance stand in for dynamic time warping, and how many calls and how much time does that take?

Series: simulated, of 40 to 100 values. Each is one of 30 curves (the sum of four waves of random length, phase and height),
stretched and squeezed by a random increasing function of time, scaled by .8 to 1.2, shifted, and overlaid with noise. Learned
on 6,000 pairs of 600 series; judged on 5,000 pairs of 600 others, and by the ten nearest of all to 100 of these: the share of a
query's ten first under the learned distance, and of the ten best among its first 50, that are no farther than its true tenth.
Peers: warping itself, compiled here, and by dtaidistance if it is there (pip install dtaidistance); LB_Keogh at a window of a
tenth after resampling to 64 values, LB_Kim, and the L1 distance of resampled series.
"""

import argparse
import warnings
from pathlib import Path

import numba
import numpy as np
from report import append, once, report, seconds, with_origin
from scipy.ndimage import maximum_filter1d, minimum_filter1d
from scipy.stats import spearmanr
from sklearn.pipeline import make_union

from semimetric import DistanceApproximator, DistanceRegressor, LandmarkFeatures, Program, SemimetricWarning, SeriesFeatures

RESULTS = Path(__file__).parent / "results" / "time_warping.jsonl"
N, N_LEARNED, N_QUERIES, LENGTH = 1200, 600, 100, 64


@numba.njit(nogil=True)
def warping(x, y):
    """The least sum of |x_i - y_j| along a path that takes every value of both in order (Sakoe & Chiba 1978)."""
    row = np.full(len(y) + 1, np.inf)
    row[0] = 0.0
    for i in range(len(x)):
        corner = row[0]
        row[0] = np.inf
        for j in range(len(y)):
            best = min(corner, row[j], row[j + 1])
            corner = row[j + 1]
            row[j + 1] = abs(x[i] - y[j]) + best
    return row[-1]


def simulated(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    waves = rng.uniform((0.5, 0, 0.2), (4, 1, 1), (30, 4, 3))
    found = []
    for family in rng.integers(0, 30, n):
        steps = rng.gamma(0.7, size=rng.integers(40, 101)) + 0.05
        t = np.cumsum(steps) / steps.sum()
        curve = sum(height * np.sin(2 * np.pi * (rate * t + phase)) for rate, phase, height in waves[family])
        found.append(rng.uniform(0.8, 1.2) * curve + rng.normal(0, 0.1) + rng.normal(0, 0.05, len(t)))
    return found


def judged(s: dict, paired: np.ndarray, far: np.ndarray) -> dict:
    true, tenth = s["queries_to_all"], np.partition(s["queries_to_all"], 10, axis=1)[:, 10:11]  # a query is its own nearest
    order = np.argsort(far, axis=1, kind="stable")
    near = np.take_along_axis(true <= tenth, order, axis=1)[:, :11]
    best = np.sort(np.take_along_axis(true, order[:, :50], axis=1), axis=1)[:, :11]
    row = {"spearman": spearmanr(paired, s["true"])[0], "recall_10": near.mean(), "recall_10_of_50": (best <= tenth).mean()}
    scale = np.median(s["true"] / np.maximum(paired, 1e-12))
    return row | {"median_error_scaled": float(np.median(np.abs(scale * paired - s["true"]) / s["true"]))}


def learned(name: str, s: dict, features: object, **parameters: object) -> dict:
    learner = DistanceRegressor(program=Program(relative=True), **parameters)
    model = DistanceApproximator(warping, learner, features=features, n_pairs=6000)
    fit_s, _ = once(lambda: model.fit(s["series"][:N_LEARNED]))
    encode_s, codes = once(lambda: model.encode(s["series"]))
    d, (left, right) = model.semimetric_, s["pairs"].T
    paired = d.paired(codes[left], codes[right])
    return {"method": name} | judged(s, paired, d.pairwise(codes[s["queries"]], codes)) | {
        "median_error": float(np.median(np.abs(paired - s["true"]) / s["true"])), "calls": model.n_calls_, "fit_s": fit_s,
        "encode_us": 1e6 * encode_s / N,
        "us_a_pair": 1e6 * seconds(lambda: d.pairwise(codes, codes, n_jobs=1), repeat=3) / N**2,
    }  # fmt: skip


def peer(name: str, s: dict, function) -> dict:
    paired = np.array([function(i, j) for i, j in s["pairs"]])
    return {"method": name} | judged(s, paired, np.array([[function(q, j) for j in range(N)] for q in s["queries"]]))


def peers(s: dict) -> list[dict]:
    R = np.array([np.interp(np.linspace(0, 1, LENGTH), np.linspace(0, 1, len(x)), x) for x in s["series"]])
    low, high = (f(R, 2 * (LENGTH // 10) + 1, axis=1, mode="nearest") for f in (minimum_filter1d, maximum_filter1d))
    kim = np.array([[x[0], x[-1], x.min(), x.max()] for x in s["series"]])

    def keogh(i, j):
        return (np.maximum(R[i] - high[j], 0) + np.maximum(low[j] - R[i], 0)).sum()

    return [
        peer("LB_Kim", s, lambda i, j: np.abs(kim[i] - kim[j]).max()),
        peer("LB_Keogh, the larger of both ways", s, lambda i, j: max(keogh(i, j), keogh(j, i))),
        peer("L1 of resampled series", s, lambda i, j: np.abs(R[i] - R[j]).sum()),
    ]


def setting() -> dict:
    rng = np.random.default_rng(0)
    series = simulated(N, rng)
    pairs = N_LEARNED + rng.integers(0, N - N_LEARNED, (5000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    queries = np.arange(N - N_QUERIES, N)
    return {
        "series": series, "pairs": pairs, "queries": queries,
        "true": np.array([warping(series[i], series[j]) for i, j in pairs]),
        "queries_to_all": np.array([[warping(series[q], x) for x in series] for q in queries]),
    }  # fmt: skip


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    s = setting()
    some = s["series"][:60]
    exact = {"warping, compiled here": lambda: [warping(x, y) for x in some for y in some]}
    try:
        from dtaidistance import dtw

        exact["dtaidistance, C (squared differences)"] = lambda: [dtw.distance_fast(x, y) for x in some for y in some]
    except ImportError:
        print("dtaidistance is not there: left out")
    rows = [{"method": name, "us_a_pair": 1e6 * seconds(call, repeat=3) / len(some) ** 2} for name, call in exact.items()]
    rows += peers(s)
    both = make_union(SeriesFeatures(), LandmarkFeatures(n_landmarks=32))
    weights = {"tables": "warped", "n_knots": 3, "alpha": 1e-3}
    rows += [
        learned("series", s, SeriesFeatures(), **weights),
        learned("landmarks", s, LandmarkFeatures(n_landmarks=32), **weights),
        learned("both", s, both, **weights),
        learned("both, full tables", s, both, n_knots=4, alpha=1e-3),
    ]
    report("time_warping", rows)
    for row in rows:
        append(RESULTS, with_origin({"benchmark": "time_warping"} | row, "semimetric"))


if __name__ == "__main__":
    main()
