"""How many calls of a metric prove the ten nearest, by which landmarks, and what does a Hilbert space add?

60 queries are asked among 1,000 items (600 under the Earth Mover's Distances), with 16 landmarks. Column "called" is the share
of items that are called until the ten nearest are proved, mean of the seeds, with the calls to landmarks; "fit" are the calls
of the choice and of all items to the landmarks, by item.

Landmarks, by the triangle inequality alone: the farthest from those before; random ones; of a sample, those that discard the
most pairs (lower bound above the distance to the third nearest of the sample), and those that raise the mean lower bound, which
is what `LandmarkBounds` takes; with ``n_landmarks="all"`` every item that is called is one. Where the distance is one of a
Hilbert space, ``geometry="hilbert"`` stands beside them. The
objective was chosen on the data sets marked so; the others are the test.

Data: words of Python's help, and strings of DNA, under the edit distance; letters, magic telescope, satellite images and
phonemes in 4 to 16 principal components under the Euclidean distance; topics and digits under the root of the Jensen-Shannon
divergence; digits and pens under L1 and its root; digits, and clouds of ten points, under the Earth Mover's Distance.
"""

import argparse
import pydoc_data.topics
import re
import warnings

import numba
import numpy as np
from cloud_bounds import signatures
from report import add_results, data, keep, report
from scipy.spatial.distance import cdist

from semimetric import EarthMoversDistance, FilterRefineIndex, LandmarkBounds, PointCloudDistance, SemimetricWarning
from semimetric._foundation.farthest_first import farthest_first
from semimetric.datasets import load_digit_histograms
from semimetric.distances.search.pivots import sample_size

K, N_LANDMARKS, N_QUERIES = 10, 16, 60
CHOSEN_ON = ("words", "letters, 8-D", "magic, 10-D", "topics, 8", "pens, root of L1", "digits, transport")


@numba.njit(cache=True)
def edits(x, y):
    before = np.arange(len(y) + 1)
    for i in range(len(x)):
        row = before.copy()
        row[0] = i + 1
        for j in range(len(y)):
            row[j + 1] = min(before[j] + (x[i] != y[j]), before[j + 1] + 1, row[j] + 1)
        before = row
    return before[-1]


def among(objects, distance):
    """Return all distances, each pair called once."""
    table = np.zeros((len(objects), len(objects)))
    for i in range(len(objects)):
        table[i, :i] = [distance(objects[i], y) for y in objects[:i]]
    return table + table.T


def words(rng, n):
    every = sorted({word for text in pydoc_data.topics.topics.values() for word in re.findall("[a-z]{3,}", text.lower())})
    return [np.frombuffer(every[k].encode(), np.uint8) for k in rng.permutation(len(every))[:n]]


def strings(rng, n):
    """Strings of up to 32 letters, each 1 to 7 edits away from one of 300, as in dna_strings.py."""
    roots, found = [rng.integers(0, 4, rng.integers(8, 33)) for _ in range(300)], []
    for _ in range(n):
        letters = list(roots[rng.integers(300)])
        for _ in range(rng.integers(1, 8)):
            at, kind = rng.integers(len(letters)), rng.integers(3)
            if kind == 0:
                letters.insert(at, rng.integers(4))
            elif kind == 1 and len(letters) > 4:
                letters.pop(at)
            else:
                letters[at] = rng.integers(4)
        found.append(np.array(letters[:32], dtype=np.uint8))
    return found


def components(rng, name, n, n_dims):
    """Return rows of a data set in principal components of unit-scaled features."""
    arrays = data(name)
    X = np.concatenate([arrays[key] for key in arrays if key in ("X", "X_train", "X_test")])[:, :].astype(float)
    X = X[rng.permutation(len(X))[:n]]
    left, sizes, _ = np.linalg.svd((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), full_matrices=False)
    return left[:, :n_dims] * sizes[:n_dims]


def tables(seed):
    """Yield for every data set its name, all distances, and True if they are of a Hilbert space."""
    rng, n, few = np.random.default_rng(seed), 1_000 + N_QUERIES, 600 + N_QUERIES
    yield "words", among(words(rng, n), edits), False
    yield "DNA", among(strings(rng, n), edits), False
    for name, file, n_dims in (
        ("letters", "letter", 4), ("letters", "letter", 8), ("letters", "letter", 16),
        ("magic", "magic04", 10), ("satellite", "landsat_satimage", 16), ("phonemes", "phoneme", 5),
    ):  # fmt: skip
        X = components(rng, file, n, n_dims)
        yield f"{name}, {n_dims}-D", cdist(X, X), True
    digits = load_digit_histograms()
    H = digits.histograms[rng.permutation(len(digits.histograms))[:n]]
    for name, P in (("topics, 8", rng.dirichlet(np.full(8, 0.5), n)), ("digits, Jensen-Shannon", H)):
        yield name, cdist(P, P, "jensenshannon"), True
    pens = data("pendigits")
    X = np.concatenate([pens[key] for key in pens if key in ("X", "X_train", "X_test")]).astype(float)
    X = X[rng.permutation(len(X))[:n]]
    yield "pens, L1", cdist(X, X, "cityblock"), False
    yield "pens, root of L1", np.sqrt(cdist(X, X, "cityblock")), True
    yield "digits, root of L1", np.sqrt(cdist(H, H, "cityblock")), True
    ground = EarthMoversDistance(cdist(digits.bin_coordinates, digits.bin_coordinates))
    yield "digits, transport", among(H[:few], ground), False
    yield "clouds, transport", among(signatures(rng, few, (10, 11)), PointCloudDistance()), False


def called(table, n, landmarks):
    """Return how many of n items are called for a query until its ten nearest are proved by the triangle inequality, mean."""
    to_landmarks = table[np.ix_(np.setdiff1d(np.arange(n), landmarks), landmarks)]
    counts = []
    for query in table[n:, :n]:
        lower = np.abs(to_landmarks - query[landmarks]).max(axis=1)
        counts.append(len(landmarks) + (lower * (1.0 - 1e-9) <= np.partition(query, K - 1)[K - 1]).sum())
    return float(np.mean(counts))


def discarding(distances, count):
    """Return sampled items of which each discards the most pairs that those before it leave."""
    nearest = np.sort(distances, axis=1)[:, 3:4]
    gaps = np.abs(distances[:, :, None] - distances[:, None, :])
    best, chosen = np.zeros(distances.shape), []
    for _ in range(count):
        counts = (np.maximum(gaps, best) > nearest).sum(axis=(1, 2))
        counts[chosen] = -1
        chosen.append(int(counts.argmax()))
        best = np.maximum(best, gaps[chosen[-1]])
    return np.array(chosen)


def searched(table, n, seed, n_landmarks=N_LANDMARKS, geometry="metric"):
    """Return the calls of a query and of the fit."""

    def distance(i, j):
        return table[i, j]

    bounds = LandmarkBounds(distance, n_landmarks=n_landmarks, geometry=geometry, random_state=seed)
    index = FilterRefineIndex(None, distance, bounds=bounds).fit(range(n))
    found = index.search(range(n, len(table)), K)
    np.testing.assert_array_equal(found.distances, np.sort(table[n:, :n], axis=1)[:, :K])
    return {"calls": float(found.n_calls.mean()), "fit": index.n_calls_, "landmarks": len(index.bounds_[0].landmarks_)}


def compared(table, hilbert, seed):
    """Return the calls of a query and of the fit by every choice of landmarks."""
    n, rng = len(table) - N_QUERIES, np.random.default_rng(seed)
    items = table[:n, :n]
    sample = rng.choice(n, sample_size(n, N_LANDMARKS), replace=False)
    among_sample = len(sample) * (len(sample) - 1) // 2
    farthest = farthest_first(lambda k: items[k], int(rng.integers(n)), N_LANDMARKS)
    by_count = sample[discarding(items[np.ix_(sample, sample)], N_LANDMARKS)]
    found = {
        "farthest": {"calls": called(table, n, farthest), "fit": N_LANDMARKS * n},
        "random": {"calls": called(table, n, rng.choice(n, N_LANDMARKS, replace=False)), "fit": N_LANDMARKS * n},
        "most pairs discarded": {"calls": called(table, n, by_count), "fit": N_LANDMARKS * n + among_sample},
        "LandmarkBounds": searched(table, n, seed),
        'LandmarkBounds, "all"': searched(table, n, seed, "all"),
    }
    return found | ({'LandmarkBounds, "hilbert"': searched(table, n, seed, geometry="hilbert")} if hilbert else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4])
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    rows = {}
    for seed in options.seeds:
        for name, table, hilbert in tables(seed):
            n = len(table) - N_QUERIES
            for method, found in compared(table, hilbert, seed).items():
                shares = {
                    "called": found["calls"] / n,
                    "fit": found["fit"] / n,
                    "landmarks": found.get("landmarks", N_LANDMARKS),
                }
                rows.setdefault((name, method), []).append(shares)
    kept = [
        {"data": name, "chosen_on": name in CHOSEN_ON, "method": method, "seeds": len(runs)}
        | {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        for (name, method), runs in rows.items()
    ]
    of = {(row["data"], row["method"]): row["called"] for row in kept}
    for method in ("random", "most pairs discarded", "LandmarkBounds", 'LandmarkBounds, "all"'):
        for chosen_on in (True, False):
            names = [row["data"] for row in kept if row["method"] == "farthest" and row["chosen_on"] is chosen_on]
            ratio = float(np.exp(np.mean([np.log(of[name, method] / of[name, "farthest"]) for name in names])))
            kept.append(
                {"data": "all, geometric mean", "chosen_on": chosen_on, "method": method, "seeds": len(options.seeds),
                 "times_farthest": ratio}
            )  # fmt: skip
    report("landmarks", kept)
    keep(options.results, "landmarks", kept)


if __name__ == "__main__":
    main()
