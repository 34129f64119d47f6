"""How well does a learned distance rank words by their edit distance, and how many calls and how much time does that take?

Words: 20,000 drawn among the 114,029 lower-case words of GCIDE that the package english-words ships. Learned on pairs of the
first 3,000, with features of strings, of landmarks, and of both. Judged on 20,000 pairs of 2,000 other words, and by the ten
nearest of all 20,000 to 200 of these: the share of a query's ten first under the learned distance, and under the edit distance
among the first 100 and 500 under the learned one, that are no farther than its true tenth. Proved: how many calls it takes to
prove the ten, by bounds of letters and their sequences, with no learned distance. Peers: rapidfuzz's own edit distance and
search, and distances that nothing has learned. Needs: pip install rapidfuzz english-words.
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from report import append, once, report, seconds, with_origin
from scipy.stats import spearmanr

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    EditBounds,
    FilterRefineIndex,
    LandmarkFeatures,
    NeighborIndex,
    SemimetricWarning,
    StringFeatures,
)

try:
    from english_words import get_english_words_set
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist
except ImportError as missing:
    print(f"skipped: {missing}; this benchmark needs pip install rapidfuzz english-words")
    sys.exit(0)

RESULTS = Path(__file__).parent / "results" / "edit_distance.jsonl"
N, N_LEARNED, N_JUDGED, N_QUERIES = 20_000, 3_000, 2_000, 200
edits = partial(cdist, scorer=Levenshtein.distance)


def judged(s: dict, paired: np.ndarray, far: np.ndarray) -> dict:
    """How well a distance ranks pairs of unseen words, and the nearest of all words to unseen queries."""
    true, tenth = s["queries_to_all"], np.partition(s["queries_to_all"], 10, axis=1)[:, 10:11]  # a query is its own nearest
    order = np.argsort(far, axis=1, kind="stable")
    near = np.take_along_axis(true <= tenth, order, axis=1)
    shares = {"recall_10": near[:, :11].sum(axis=1).mean() / 11}
    for n in (100, 500):  # the best 11 of n candidates, by the edit distance itself
        best = np.sort(np.take_along_axis(true, order[:, :n], axis=1), axis=1)[:, :11]
        shares[f"recall_10_of_{n}"] = (best <= tenth).mean()
    return {"spearman": spearmanr(paired, s["true"])[0]} | shares


def learned(name: str, s: dict, features: object, **parameters: object) -> dict:
    learner = DistanceRegressor(tables="warped", **parameters)
    model = DistanceApproximator(Levenshtein.distance, learner, features=features)
    fit_s, _ = once(lambda: model.fit(s["words"][:N_LEARNED]))
    encode_s, codes = once(lambda: model.encode(s["words"]))
    d, (left, right) = model.semimetric_, s["pairs"].T
    paired = d.paired(codes[left], codes[right])
    far = d.pairwise(codes[s["queries"]], codes)
    index = NeighborIndex(d).fit(codes)
    return {"method": name} | judged(s, paired, far) | {
        "median_error": float(np.median(np.abs(paired - s["true"]) / np.maximum(s["true"], 1))),
        "calls": model.n_calls_, "fit_s": fit_s, "encode_us": 1e6 * encode_s / N,
        "ns_a_pair": 1e9 * seconds(lambda: d.pairwise(codes[:1000], codes[:1000], n_jobs=1), repeat=3) / 1e6,
        "ms_a_search": 1e3 * seconds(lambda: index.kneighbors(codes[s["queries"]], 11), repeat=1) / N_QUERIES,
    }  # fmt: skip


def proved(name: str, s: dict, bounds: object) -> dict:
    """How many calls prove the ten nearest of every query, beside itself."""
    words, queries = s["words"], s["queries"]
    index = FilterRefineIndex(None, Levenshtein.distance, bounds=bounds)
    fit_s, _ = once(lambda: index.fit(words))
    index.search([words[0]], 11)
    took, found = once(lambda: index.search([words[q] for q in queries], 11))
    right = (found.distances == np.sort(s["queries_to_all"], axis=1)[:, :11]).all()
    return {
        "method": name, "certified": float(found.certified.mean()), "right": bool(right),
        "calls_a_query": float(found.n_calls.mean()), "share_of_calls": float(found.n_calls.mean() / len(words)),
        "median_share_of_calls": float(np.median(found.n_calls) / len(words)), "fit_s": fit_s,
        "ms_a_search": 1e3 * took / N_QUERIES,
    }  # fmt: skip


def unlearned(name: str, s: dict, features: np.ndarray) -> dict:
    """The L1 distance between features, or the largest difference of landmarks."""
    reduce = np.max if name.startswith("largest") else np.sum
    left, right = s["pairs"].T
    paired = reduce(np.abs(features[left] - features[right]), axis=1)
    far = np.array([reduce(np.abs(features - features[q]), axis=1) for q in s["queries"]])
    return {"method": name} | judged(s, paired, far)


def setting() -> dict:
    words = sorted(w for w in get_english_words_set(["gcide"], lower=True, alpha=True))
    rng = np.random.default_rng(0)
    chosen = [words[i] for i in rng.permutation(len(words))[:N]]
    pairs = N - N_JUDGED + rng.integers(0, N_JUDGED, (20_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    queries = np.arange(N - N_QUERIES, N)
    return {
        "words": chosen, "pairs": pairs, "queries": queries,
        "true": np.array([Levenshtein.distance(chosen[i], chosen[j]) for i, j in pairs], dtype=float),
        "queries_to_all": edits([chosen[q] for q in queries], chosen).astype(float),
    }  # fmt: skip


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    s = setting()
    words, asked = s["words"], [s["words"][q] for q in s["queries"]]
    exact = {
        "method": "rapidfuzz", "spearman": 1.0, "recall_10": 1.0,
        "ns_a_pair": 1e9 * seconds(lambda: edits(words[:1000], words[:1000], workers=1), repeat=3) / 1e6,
        "ms_a_search": 1e3 * seconds(lambda: edits(asked, words, workers=1), repeat=3) / N_QUERIES,
    }  # fmt: skip
    strings = StringFeatures().fit(words[:N_LEARNED])
    landmarks = LandmarkFeatures(Levenshtein.distance, n_landmarks=64).fit(words[:N_LEARNED])
    grams = StringFeatures(q=(2,), n_places=0, max_grams=5000).fit(words[:N_LEARNED]).transform(words)[:, 1:]
    rows = [
        exact,
        unlearned("L1 of 2-grams", s, grams),
        unlearned("L1 of string features", s, strings.transform(words)),
        unlearned("largest difference of 64 landmarks", s, landmarks.transform(words)),
        learned("landmarks", s, LandmarkFeatures(n_landmarks=64), n_knots=3, alpha=1e-3),
        learned("strings, weights", s, StringFeatures(), n_knots=2, alpha=1e-3),
        learned("strings without 2-grams, weights", s, StringFeatures(q=(1,)), n_knots=2, alpha=1e-3),
        learned("strings without 2-grams, defaults", s, StringFeatures(q=(1,))),
        proved("ten nearest proved, letters and 2-grams", s, EditBounds()),
    ]
    report("edit_distance", rows)
    for row in rows:
        append(RESULTS, with_origin({"benchmark": "edit_distance"} | row, "semimetric"))


if __name__ == "__main__":
    main()
