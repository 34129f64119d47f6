"""How many calls of dynamic time warping and its kin prove the ten nearest series, and how fast are the compiled distances?

Three kinds of series, drawn anew for each of the seeds 2 to 4 (the bounds were written on seeds 0 and 1):
- "one channel": 1,000 curves of 128 steps, as `time_warping.py` draws them, resampled; window of a tenth.
- "unequal lengths": 1,000 curves of 40 to 100 steps in 12 channels, window of a tenth.
- "ECG200": the 200 series of the UCR set, asked by 100 of them (read from SEMIMETRIC_DATA); window of a tenth. One run.
The kin ("elastic_bounds") are measured on GunPoint too, 200 series of 150 steps, of which the half asks, and without a window.
Of those that are metrics without a window ("elastic_landmarks"), landmarks stand beside these bounds: 16, and all items. These
are also measured on 1,046 days of ItalyPowerDemand, 24 steps each. "calls_fit" is the number of calls of the fit by item.
Columns: the share of items that are called until the ten nearest are proved, what `expected_calls` said before, milliseconds of
the processor a query, milliseconds by calls for all items, and microseconds a call and of both bounds of a pair. "tightness" is
the median share of the lower bound in the distance. Each answer is compared with brute force.

Peers: aeon and tslearn, where they are installed (pip install aeon tslearn): microseconds a distance, compiled before.
"""

import argparse
import time
from importlib.util import find_spec

import numpy as np
from report import add_results, data, keep, report

from semimetric import DynamicTimeWarping, ElasticBounds, ElasticDistance, FilterRefineIndex, LandmarkBounds

WINDOW, K, N_QUERIES = 0.1, 10, 50
BENCHMARKS = ("warping_bounds", "elastic_bounds", "elastic_landmarks")
METRICS = ("erp", "msm", "twed")
KIN = {"erp": {}, "lcss": {"epsilon": 0.25}, "edr": {"epsilon": 0.25}, "msm": {"c": 0.5}, "twed": {"nu": 0.001, "lmbda": 0.5}}


def curves(rng, n, n_channels, lengths):
    """Thirty families of curves, of four waves in each channel, stretched in time, scaled and shifted."""
    waves = rng.uniform((0.5, 0.0, 0.2), (4.0, 1.0, 1.0), (30, n_channels, 4, 3))
    found = []
    for family in rng.integers(0, 30, n):
        steps = rng.gamma(2.0, size=int(rng.integers(*lengths))) + 0.2
        t = (np.cumsum(steps) / steps.sum())[:, None, None]
        rate, phase, height = np.moveaxis(waves[family], -1, 0)
        curve = (height * np.sin(2 * np.pi * (rate * t + phase))).sum(axis=2)
        found.append(rng.uniform(0.8, 1.2) * curve + rng.normal(0, 0.1, n_channels) + rng.normal(0, 0.05, curve.shape))
    return found


def problems(seed):
    rng = np.random.default_rng(seed)
    yield "one channel", curves(rng, 1_000 + N_QUERIES, 1, (128, 129))
    yield "unequal lengths, 12 channels", curves(rng, 1_000 + N_QUERIES, 12, (40, 101))


def measured(series, n_queries, exact):
    found, true = proved(series, n_queries, exact, ElasticBounds(exact))
    items, queries = series[:-n_queries], series[-n_queries:]
    bounds = ElasticBounds(exact).fit(items)
    start = time.process_time()
    low, high = bounds.pairwise(queries, items)
    bounding = (time.process_time() - start) / true.size
    return found | {
        "us_bounds": 1e6 * bounding,
        "tightness": float(np.median(low / np.maximum(true, 1e-12))),
        "pairs": true.size,
        "violations": int((low > true).sum() + (true > high).sum()),
    }


def proved(series, n_queries, exact, bounds):
    """Return what proofs by these bounds cost, and the distances of all items to the queries, which the answers agree with."""
    items, queries = series[:-n_queries], series[-n_queries:]
    index = FilterRefineIndex(None, exact, bounds=bounds).fit(items)
    expected = index.expected_calls(K)
    start = time.process_time()
    found = index.search(queries, K)
    seconds = (time.process_time() - start) / n_queries
    start = time.process_time()
    true = np.array([[exact(q, x) for x in items] for q in queries])
    brute = (time.process_time() - start) / n_queries
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :K])
    return {
        "called": float(found.n_calls.mean() / len(items)),
        "expected": expected.calls / len(items),
        "calls_fit": index.n_calls_ / len(items),
        "ms_query": 1e3 * seconds,
        "ms_brute_force": 1e3 * brute,
        "us_call": 1e6 * brute / len(items),
    }, true


def peers(series):
    """Microseconds of a distance by others, the fastest of five rounds over 200 pairs."""
    x, y = series[:200], series[200:400]

    def fastest(distance):
        distance(x[0], y[0])
        rounds = []
        for _ in range(5):
            start = time.process_time()
            for a, b in zip(x, y, strict=True):
                distance(a, b)
            rounds.append(time.process_time() - start)
        return 1e6 * min(rounds) / len(x)

    found = {"semimetric": fastest(DynamicTimeWarping(WINDOW))}
    if find_spec("aeon"):
        from aeon.distances import dtw_distance

        found["aeon"] = fastest(lambda a, b: dtw_distance(a.T, b.T, window=WINDOW))
    if find_spec("tslearn"):
        from tslearn.metrics import dtw

        found["tslearn"] = fastest(lambda a, b: dtw(a, b, global_constraint="sakoe_chiba", sakoe_chiba_radius=13))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS)
    add_results(parser)
    options = parser.parse_args()
    drawn = [each for seed in options.seeds for each in problems(seed)]
    ecg, gunpoint = ("ECG200", of_ucr("ucr_ecg200")), ("GunPoint", of_ucr("ucr_gunpoint"))
    if "warping_bounds" in options.only:
        rows = runs([*drawn, ecg], DynamicTimeWarping(WINDOW))
        rows += [{"series": "one channel", "us_call": us, "method": name} for name, us in peers(drawn[0][1]).items()]
        report("warping_bounds", rows)
        keep(options.results, "warping_bounds", rows)
    if "elastic_bounds" in options.only:
        kin(options.results, drawn, [ecg, gunpoint])
    if "elastic_landmarks" in options.only:
        landmarks(options.results, [ecg, gunpoint, ("ItalyPowerDemand", of_ucr("ucr_italypowerdemand"))])


def landmarks(results, real):
    """Rows of the elastic metrics without a window: by their own bounds, by landmarks, and by both."""
    rows = []
    for name, series in real:
        n_queries = len(series) // 2 if len(series) <= 200 else N_QUERIES
        for kind in METRICS:
            exact = ElasticDistance(kind, **KIN[kind])
            own, every = ElasticBounds(exact), LandmarkBounds(exact, n_landmarks="all")
            beside = {
                "elastic": own,
                "16 landmarks": LandmarkBounds(exact),
                "all landmarks": every,
                "elastic, all": [own, every],
            }
            for method, bounds in beside.items():
                found, _ = proved(series, n_queries, exact, bounds)
                rows.append({"series": name, "distance": kind, "bounds": method} | KIN[kind] | found)
    report("elastic_landmarks", rows)
    keep(results, "elastic_landmarks", rows)


def kin(results, drawn, real):
    """Rows of the kin of warping: with a window on all series, and without one on real ones."""
    rows = []
    for window, series in ((WINDOW, drawn + real), (None, real)):
        for kind, parameters in KIN.items():
            found = runs(series, ElasticDistance(kind, window=window, **parameters))
            rows += [{"distance": kind, "window": window} | parameters | row for row in found]
    report("elastic_bounds", rows)
    keep(results, "elastic_bounds", rows)


def of_ucr(name):
    arrays = data(name)
    return list(np.concatenate([values for values in arrays.values() if values.ndim == 2]).astype(float))


def runs(series, exact):
    """The mean of what is measured of each kind of series."""
    found = {}
    for name, each in series:
        n_queries = len(each) // 2 if len(each) <= 200 else N_QUERIES
        found.setdefault(name, []).append(measured(each, n_queries, exact))
    return [
        {"series": name, "seeds": len(runs)} | {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        for name, runs in found.items()
    ]


if __name__ == "__main__":
    main()
