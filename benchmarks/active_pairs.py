"""Does it pay to call an expensive distance on the pairs whose intervals are widest? Active against random draws.

Both learn from the same number of pairs of 600 items, in rounds of half as many pairs again. Half of every active round are the
pairs of widest intervals among ten times as many random ones; all others are random, a quarter of them of near neighbours. The
interval is a difficulty, learned on pairs of a fifth of the items that are kept back, from the predicted distance and from the
novelty of the items. "variance" takes the pairs on which five models disagree most, each learned from a random half of the
pairs so far. Judged on 500 pairs of new items: mean error / mean distance, median and 90 % relative error, in %. The ratio is
that of the mean errors to random draws, its median over seeds, with the share of seeds in which it is below 1.
"""

import argparse
import warnings

import numpy as np
from intervals import earth_movers, euclidean, values
from report import add_results, append, report, with_origin

from semimetric import DistanceRegressor, SemimetricWarning
from semimetric.data.splits import sample_pairs
from semimetric.distances.learning.errors import choose_landmarks, novelty_of
from semimetric.distances.learning.intervals import PairDifficulty

N_ITEMS = 600
FIRST, GROWTH = 500, 1.5


def learned(items, index, y, options):
    return DistanceRegressor(preprocessor=items, validation_fraction=0, **options).fit(index, y)


def widest(rule, model, items, pool, told, truth, index, y, options, rng):
    """How wide the intervals of the pairs of a pool are, in some unit."""
    d = model.semimetric_
    if rule == "variance":
        halves = [rng.permutation(len(y))[: len(y) // 2] for _ in range(5)]
        return np.std([learned(items, index[h], y[h], options).predict(pool) for h in halves], axis=0)
    marks = choose_landmarks(items[np.unique(index)], 0)
    known = [(model.predict(rows), novelty_of(d, items, rows, marks)) for rows in (told, pool)]
    return PairDifficulty.learned(*known[0], np.abs(known[0][0] - truth))(*known[1])


def drawn(rule, distance, items, budget, seed, options):
    """The model of so many pairs."""
    rng = np.random.default_rng(seed)
    kept = rng.permutation(len(items))
    telling, rest = kept[: len(items) // 5], kept[len(items) // 5 :]
    told = telling[sample_pairs(items[telling], 400, near=0.0, random_state=seed)]
    truth = values(distance, *items[told.T])
    order = rest[sample_pairs(items[rest], budget, random_state=seed)]
    index, y = order[:FIRST], values(distance, *items[order[:FIRST].T])
    n_random = FIRST
    while len(y) < budget:
        n = min(int((GROWTH - 1) * len(y)), budget - len(y))
        n_active = n // 2 if rule != "random" else 0
        new = order[n_random : n_random + n - n_active]
        n_random += len(new)
        if n_active:
            pool = rest[rng.integers(0, len(rest), (10 * n_active, 2))]
            pool = pool[pool[:, 0] != pool[:, 1]]
            model = learned(items, index, y, options)
            width = widest(rule, model, items, pool, told, truth, index, y, options, rng)
            new = np.concatenate([new, pool[np.argsort(-width)[:n_active]]])
        index, y = np.concatenate([index, new]), np.concatenate([y, values(distance, *items[new.T])])
    return learned(items, np.concatenate([index, told]), np.concatenate([y, truth]), options)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    add_results(parser)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    emd, histograms = earth_movers()
    problems = {
        "euclidean, heavy tails": (
            euclidean, lambda rng, n: rng.standard_t(3, (n, 4)), {"n_knots": 6, "alpha": 1e-5},
        ),
        "EMD of digits": (
            emd, lambda rng, n: histograms[rng.permutation(len(histograms))[:n]], {"n_knots": 3, "alpha": 1e-4},
        ),
    }  # fmt: skip
    table = []
    for problem, (distance, draw, options) in problems.items():
        for budget in (1_000, 3_000):
            found = {rule: [] for rule in ("random", "interval", "variance")}
            for seed in range(chosen.seeds):
                rng = np.random.default_rng(seed)
                items = draw(rng, N_ITEMS + 1_000)
                new = items[N_ITEMS:][rng.permutation(1_000).reshape(-1, 2)]
                items, true = items[:N_ITEMS], values(distance, *new.swapaxes(0, 1))
                for rule, rows in found.items():
                    model = drawn(rule, distance, items, budget, seed, options)
                    off = np.abs(model.semimetric_.paired(*new.swapaxes(0, 1)) - true)
                    rows.append([100 * off.mean() / true.mean(), *(100 * np.quantile(off / true, [0.5, 0.9]))])
            base = np.array(found["random"])[:, 0]
            for rule, rows in found.items():
                mean, median, high = np.mean(rows, axis=0).tolist()
                ratio = np.array(rows)[:, 0] / base
                table.append({
                    "problem": problem, "pairs": budget, "draws": rule, "seeds": chosen.seeds, "mean error": mean,
                    "median error": median, "90 % error": high, "ratio": float(np.median(ratio)),
                    "better in": float((ratio < 1).mean()),
                })  # fmt: skip
                append(chosen.results, with_origin({"benchmark": "active_pairs"} | table[-1], "semimetric"))
                print(table[-1], flush=True)
    report("Active draws", table)


if __name__ == "__main__":
    main()
