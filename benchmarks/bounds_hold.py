"""Is any bound ever on the wrong side of the distance? Violations among a million pairs of each kind.

- transport: digits pooled to 4 x 4 bins, exact distances by POT; Euclidean, thresholded, and squared ground distances, a third
  of the pairs each. Potentials and plans were chosen on 400 other images.
- duals: each exact distance of a query to its first 10 items bounds its distances to all others.
- clouds: signatures as `cloud_bounds.py` draws them, under three metrics, a third of the pairs each, and duals of these;
  quick lower bounds, too.
- series: curves as `warping_bounds.py` draws them, one channel and twelve of unequal lengths, half of the pairs each, under
  dynamic time warping, and under its kin with the parameters that stand there; quick lower bounds, too.
- edits: words of 4 to 12 of 26 letters, and of 16 to 32 of 4, half of the pairs each; half of them are others with some letters
  changed.
- landmarks: words of 10 letters under the Hamming distance, and points under the Euclidean one, half of the pairs each.
- hilbert: points in 4 dimensions under the Euclidean distance, in 20 under the root of L1, and shares of 12 parts under the
  root of the Jensen-Shannon divergence, a third of the pairs each, by landmarks with ``geometry="hilbert"``.

A violation is a bound beyond the distance at all: no tolerance is added here.
"""

import argparse
from pathlib import Path

import numpy as np
from cloud_bounds import signatures
from report import append, once, report, with_origin
from scipy.spatial.distance import cdist, jensenshannon
from warping_bounds import KIN, WINDOW, problems

from semimetric import (
    DynamicTimeWarping,
    EarthMoversDistance,
    EditBounds,
    ElasticBounds,
    ElasticDistance,
    LandmarkBounds,
    PointCloudBounds,
    PointCloudDistance,
    TransportBounds,
)
from semimetric.datasets import load_digit_histograms

RESULTS = Path(__file__).parent / "results" / "bounds_hold.jsonl"


def counted(low: np.ndarray, true: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Pairs, lower bounds above the distance, upper bounds below it, and sums of the shares low / true and high / true."""
    apart = true > 0
    shares = [(low[apart] / true[apart]).sum(), (high[apart] / true[apart]).sum(), apart.sum()]
    return np.array([true.size, (low > true).sum(), (high < true).sum(), *shares])


def transport(n_pairs: int) -> list[dict]:
    digits = load_digit_histograms()
    pooled = digits.histograms.reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(-1, 16)
    places = np.indices((4, 4)).reshape(2, -1).T.astype(float)
    euclid = cdist(places, places)
    fitted, X = pooled[:400], pooled[400:]
    n_items = 1000
    totals, by_duals = np.zeros(6), np.zeros(6)
    for ground in (euclid, np.minimum(euclid, 2.0), euclid**2):
        exact = EarthMoversDistance(ground)
        bounds = TransportBounds(ground, bin_coordinates=places, n_learned=64).fit(fitted)
        at_items = TransportBounds(ground, n_learned=0).fit(X[:n_items])
        for q in range(-(-n_pairs // (3 * n_items))):
            query = X[-1 - q]
            solved = [exact.with_dual(query, y) for y in X[:n_items]]
            true = np.array([value for value, _ in solved])
            totals += counted(bounds.lower(query, X[:n_items]), true, bounds.upper(query, X[:n_items]))
            at = at_items.at(query)
            low = np.max([at.lower_from_dual(dual, np.arange(n_items)) for _, dual in solved[:10]], axis=0)
            by_duals += counted(low, true, true)
    return [row("transport", totals), row("duals", by_duals)]


def clouds(n_pairs: int) -> list[dict]:
    n_items = 1000
    n_queries = -(-n_pairs // (3 * n_items))
    drawn = signatures(np.random.default_rng(0), n_items + n_queries, (5, 30))
    items, queries = drawn[:n_items], drawn[n_items:]
    totals, by_duals, by_quick = np.zeros(6), np.zeros(6), np.zeros(6)
    for metric in ("euclidean", "cityblock", "sqeuclidean"):
        exact, bounds = PointCloudDistance(metric), PointCloudBounds(metric).fit(items)
        for query in queries:
            solved = [exact.with_dual(query, y) for y in items]
            true, at = np.array([value for value, _ in solved]), bounds.at(query)
            totals += counted(at.lower(), true, at.upper())
            by_quick += counted(at.quick(np.arange(n_items)), true, true)
            low = np.max([at.lower_from_dual(dual, np.arange(n_items)) for _, dual in solved[:10]], axis=0)
            by_duals += counted(low, true, true)
    return [row("clouds", totals), row("quick bounds of clouds", by_quick), row("duals of clouds", by_duals)]


def edits(n_pairs: int) -> list[dict]:
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    rng, totals = np.random.default_rng(0), np.zeros(6)
    n = int(np.ceil(np.sqrt(n_pairs / 2)))
    for letters, shortest, longest in ((list("abcdefghijklmnopqrstuvwxyz"), 4, 12), (list("ACGT"), 16, 32)):
        items = ["".join(rng.choice(letters, rng.integers(shortest, longest + 1))) for _ in range(n)]
        queries = items[n // 2 :] + [changed(word, letters, rng) for word in items[: n // 2]]
        bounds = EditBounds().fit(items)
        for query in queries:
            at = bounds.at(query)
            true = process.cdist([query], items, scorer=Levenshtein.distance)[0].astype(float)
            totals += counted(at.lower(), true, at.upper())
    return [row("edits", totals)]


def changed(word: str, letters: list[str], rng: np.random.Generator) -> str:
    """The word with one to three letters replaced, left out or put in."""
    for _ in range(rng.integers(1, 4)):
        k, letter = int(rng.integers(len(word))), str(rng.choice(letters))
        word = [word[:k] + letter + word[k + 1 :], word[:k] + word[k + 1 :], word[:k] + letter + word[k:]][rng.integers(3)]
    return word


def series(n_pairs: int) -> list[dict]:
    exact = {"series": DynamicTimeWarping(WINDOW)}
    exact |= {f"series, {kind}": ElasticDistance(kind, window=WINDOW, **given) for kind, given in KIN.items()}
    return [each for name, distance in exact.items() for each in bounded_series(name, n_pairs, distance)]


def bounded_series(name: str, n_pairs: int, exact: DynamicTimeWarping | ElasticDistance) -> list[dict]:
    totals, by_quick = np.zeros(6), np.zeros(6)
    for _, drawn in problems(0):
        bounds = ElasticBounds(exact).fit(drawn)
        for x in drawn[: -(-n_pairs // (2 * len(drawn)))]:
            at = bounds.at(x)
            true = np.array([exact(x, y) for y in drawn])
            totals += counted(at.lower(), true, at.upper())
            by_quick += counted(at.quick(np.arange(len(drawn))), true, true)
    return [row(name, totals), row(f"quick bounds of {name}", by_quick)]


def landmarks(n_pairs: int) -> list[dict]:
    rng = np.random.default_rng(0)
    n = int(np.ceil(np.sqrt(n_pairs / 2)))
    totals = np.zeros(6)
    for X, metric in ((rng.integers(0, 4, (2 * n, 10)).astype(float), "hamming"), (rng.random((2 * n, 4)), "euclidean")):
        scale = X.shape[1] if metric == "hamming" else 1.0

        def distance(x, y, metric=metric, scale=scale):
            return float(np.round(scale * np.mean(x != y)) if metric == "hamming" else np.sqrt(((x - y) ** 2).sum()))

        bounds = LandmarkBounds(distance, n_landmarks=12).fit(X[:n])
        low, high = bounds.pairwise(X[:n], X[n:])
        totals += counted(low, np.round(scale * cdist(X[:n], X[n:], metric)) if scale > 1 else cdist(X[:n], X[n:]), high)
    return [row("landmarks", totals)]


def hilbert(n_pairs: int) -> list[dict]:
    rng, totals = np.random.default_rng(0), np.zeros(6)
    n = int(np.ceil(np.sqrt(n_pairs / 3)))
    for X, distance in (
        (rng.random((2 * n, 4)), lambda x, y: float(np.sqrt(((x - y) ** 2).sum()))),
        (rng.random((2 * n, 20)), lambda x, y: float(np.sqrt(np.abs(x - y).sum()))),
        (rng.dirichlet(np.ones(12), 2 * n), lambda x, y: float(jensenshannon(x, y)) if (x != y).any() else 0.0),
    ):
        bounds = LandmarkBounds(distance, n_landmarks=12, geometry="hilbert").fit(X[:n])
        low, high = bounds.pairwise(X[:n], X[n:])
        totals += counted(low, np.array([[distance(x, y) for y in X[n:]] for x in X[:n]]), high)
    return [row("hilbert", totals)]


def row(name: str, totals: np.ndarray) -> dict:
    pairs, above, below, low, high, apart = totals.tolist()
    return {
        "bounds": name, "pairs": int(pairs), "lower_violated": int(above), "upper_violated": int(below),
        "mean_lower_share": low / apart, "mean_upper_share": high / apart,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    kinds = {
        "landmarks": landmarks,
        "hilbert": hilbert,
        "transport": transport,
        "clouds": clouds,
        "series": series,
        "edits": edits,
    }
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=list(kinds))
    options = parser.parse_args()
    n, rows = options.pairs, []
    for kind in map(kinds.get, options.kinds):
        seconds, found = once(lambda kind=kind: kind(n))
        rows += [each | {"seconds": seconds} for each in found]
    report("bounds_hold", rows)
    for each in rows:
        append(RESULTS, with_origin({"benchmark": "bounds_hold"} | each, "semimetric"))


if __name__ == "__main__":
    main()
