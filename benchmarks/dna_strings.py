"""How well does a learned distance rank strings of few different letters by their edit distance, and what does that cost?

Every seed draws 300 strings of 8 to 32 letters among ACGT, and 3,050 strings that differ from one of them by 1 to 7 edits. All
defaults learn from the first 3,000, and the last 50 ask them for their ten nearest. Columns: the share of the first ten that
are no farther than the true tenth, the median relative error, seconds of the processor for the fit, and what a pair costs by
the edit distance itself and by the learned one. The features were chosen on seed 0; seeds 2 to 4 are kept. Needs: pip install
rapidfuzz.
"""

import argparse
import time
import warnings

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from report import add_results, keep, report

from semimetric import DistanceApproximator, SemimetricWarning, StringFeatures

N_LEARNED, N_QUERIES, K = 3_000, 50, 10


def strings(rng):
    def changed(letters):
        letters = list(letters)
        for _ in range(rng.integers(1, 8)):
            at, kind, letter = rng.integers(len(letters)), rng.integers(3), "ACGT"[rng.integers(4)]
            if kind == 0:
                letters.insert(at, letter)
            elif kind == 1 and len(letters) > 4:
                letters.pop(at)
            else:
                letters[at] = letter
        return "".join(letters)[:32]

    roots = ["".join(rng.choice(list("ACGT"), rng.integers(8, 33))) for _ in range(300)]
    return [changed(roots[rng.integers(300)]) for _ in range(N_LEARNED + N_QUERIES)]


def measured(items, queries, features):
    start = time.process_time()
    model = DistanceApproximator(Levenshtein.distance, features=features).fit(items)
    seconds = time.process_time() - start
    true = cdist(queries, items, scorer=Levenshtein.distance).astype(float)
    exact = true.size / once(lambda: cdist(queries, items, scorer=Levenshtein.distance))
    encoded = model.encode(queries), model.encode(items)
    found = model.semimetric_.pairwise(*encoded)
    learned = true.size / once(lambda: model.semimetric_.pairwise(*encoded))
    tenth = np.sort(true, axis=1)[:, K - 1 : K]
    first = np.take_along_axis(true, np.argsort(found, axis=1, kind="stable")[:, :K], axis=1)
    far = true > 0
    return {
        "recall": float((first <= tenth).mean()),
        "error": 100 * float(np.median(np.abs(found - true)[far] / true[far])),
        "seconds": seconds,
        "ns_exact": 1e9 / exact,
        "ns_learned": 1e9 / learned,
        "weights": len(model.semimetric_.weights),
    }


def once(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    found = {}
    for seed in options.seeds:
        made = strings(np.random.default_rng(seed))
        for name, features in (("one and two letters", StringFeatures((1, 2), n_places=5)), ("defaults", StringFeatures())):
            found.setdefault(name, []).append(measured(made[:N_LEARNED], made[N_LEARNED:], features))
    rows = [
        {"features": name, "seeds": len(runs)} | {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        for name, runs in found.items()
    ]
    report("dna_strings", rows)
    keep(options.results, "dna_strings", rows)


if __name__ == "__main__":
    main()
