"""Do intervals of 90 % hold 90 % of the distances of new items, how wide are they, and are errors told as they are?

Each seed draws items, learns, and judges by 1,000 pairs of items that nothing has seen. Means over seeds, in %, with the
standard deviation between seeds. "low", "middle" and "high" are thirds of the pairs by their true distance, and "near",
"between" and "far" by their predicted one, which is what is known before the distance is. Width is the mean width divided by
the mean distance. "told / true" is the median error in `error_` divided by that on the new pairs, the median over seeds.

Peer: quantile boosting (HistGradientBoostingRegressor, loss="quantile", levels 5 % and 95 %) on |x - y| and x + y, which learns
from all pairs that ours had, those set aside among them; of every tenth seed.
"""

import argparse
import warnings

import numpy as np
from report import add_results, append, report, with_origin
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from semimetric import DistanceApproximator, DistanceRegressor, SemimetricWarning
from semimetric.datasets import load_digit_histograms

LEVEL = 0.9
N_NEW = 1_000


def euclidean(x, y):
    return np.sqrt(np.square(np.asarray(x) - np.asarray(y)).sum(axis=-1))


def noisy(x, y):
    """A weighted L1 distance with noise of 5 to 35 %, the more the larger the second feature of both; it is a function."""
    x, y = np.atleast_2d(x), np.atleast_2d(y)
    phase = np.sin(1e4 * (x + y) @ [1.0, 2.0, 3.0, 5.0])
    return np.abs(x - y) @ [1.0, 3.0, 2.0, 0.5] * np.exp((0.05 + 0.15 * (x[:, 1] + y[:, 1])) * phase)


def earth_movers():
    """The Earth Mover's Distance of digits, and what draws digits."""
    import ot

    digits = load_digit_histograms()
    ground = cdist(digits.bin_coordinates, digits.bin_coordinates)
    return lambda x, y: float(ot.emd2(np.ascontiguousarray(x), np.ascontiguousarray(y), ground)), digits.histograms


def problems():
    """A name, a distance, a function (rng, n) -> items, and the parameters of the approximator."""
    cube = {"n_pairs": 2_000, "learner": DistanceRegressor(n_knots=6, alpha=1e-5), "validation_fraction": 0.25}
    emd, histograms = earth_movers()
    return {
        "euclidean, 6 features": (euclidean, lambda rng, n: rng.random((n, 6)), cube),
        "euclidean, heavy tails": (euclidean, lambda rng, n: rng.standard_t(3, (n, 4)), cube),
        "noise that varies": (noisy, lambda rng, n: rng.random((n, 4)), cube),
        "EMD of digits": (
            emd, lambda rng, n: histograms[rng.permutation(len(histograms))[:n]],
            cube | {"learner": DistanceRegressor(n_knots=3, alpha=1e-4)},
        ),
    }  # fmt: skip


def pair_features(x, y):
    return np.hstack([np.abs(x - y), x + y])


def values(distance, x, y):
    return np.array([float(np.ravel(distance(a, b))[0]) for a, b in zip(x, y, strict=True)])


def judged(true, predicted, lower, upper):
    inside = 100 * ((lower <= true) & (true <= upper))
    row = {"covered": inside.mean(), "width": (upper - lower).mean() / true.mean()}
    for names, by in ((("low", "middle", "high"), true), (("near", "between", "far"), predicted)):
        third = np.digitize(by, np.quantile(by, [1 / 3, 2 / 3]))
        row |= {name: inside[third == k].mean() for k, name in enumerate(names)}
    return row


def by_boosting(model, items, new, distance, true, seed):
    """Quantile boosting on as many pairs as ours had."""
    rng = np.random.default_rng(seed)
    index = rng.integers(0, len(items), (int(1.02 * model.n_calls_), 2))
    index = index[index[:, 0] != index[:, 1]][: model.n_calls_]
    x, y = items[index.T]
    target, features, asked = values(distance, x, y), pair_features(x, y), pair_features(*new.swapaxes(0, 1))
    low, middle, high = (
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed).fit(features, target).predict(asked)
        for q in ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
    )
    return judged(true, middle, low, high)


def approximated(name, seed, n_items):
    distance, draw, options = problems()[name]
    rng = np.random.default_rng(seed)
    items = draw(rng, n_items + 2 * N_NEW if "digits" not in name else len(earth_movers()[1]))
    rest, items = items[n_items:], items[:n_items]
    new = rest[rng.permutation(len(rest))[: 2 * (min(len(rest) // 2, N_NEW))].reshape(-1, 2)]
    true = values(distance, *new.swapaxes(0, 1))
    model = (
        clone(DistanceApproximator(distance, random_state=seed, **options)).set_params(learner__random_state=seed).fit(items)
    )
    row = judged(true, *model.predict(new, interval=LEVEL))
    told = model.error_.median / np.median(np.abs(model.predict(new) - true) / true)
    rows = {"ours": row | {"told / true": told, "calibrating items": model.intervals_.quantile.n_items}}
    if seed % 10 == 0:
        rows["quantile boosting"] = by_boosting(model, items, new, distance, true, seed)
    return rows


def given(seed, n_items):
    """Pairs that are given, judged by folds of items: every setting "auto"."""
    rng = np.random.default_rng(seed)
    items, new = rng.random((n_items, 4)), rng.random((N_NEW, 2, 4))
    rows = rng.integers(0, n_items, (3_000, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    model = DistanceRegressor(preprocessor=items, random_state=seed).fit(rows, euclidean(*items[rows.T]))
    true = euclidean(*new.swapaxes(0, 1))
    row = judged(true, *model.predict(new, interval=LEVEL))
    told = model.error_.median / np.median(np.abs(model.predict(new) - true) / true)
    return {"ours, folds": row | {"told / true": told, "calibrating items": model.intervals_.quantile.n_items}}


def summed(problem, method, rows):
    names = list(rows[0])
    means = {name: float(np.mean([row[name] for row in rows])) for name in names}
    if "told / true" in names:
        means["told / true"] = float(np.median([row["told / true"] for row in rows]))
    between = float(np.std([row["covered"] for row in rows]))
    return {"problem": problem, "method": method, "seeds": len(rows)} | means | {"between seeds": between}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--items", type=int, default=400)
    add_results(parser)
    parser.add_argument("--only", default="", help="problems whose names hold this")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    table = []
    for problem in (*problems(), "euclidean, 4 features, given pairs"):
        if options.only not in problem:
            continue
        found: dict[str, list[dict]] = {}
        for seed in range(options.seeds):
            rows = given(seed, options.items) if "given" in problem else approximated(problem, seed, options.items)
            for method, row in rows.items():
                found.setdefault(method, []).append(row)
        for method, rows in found.items():
            table.append(summed(problem, method, rows))
            append(options.results, with_origin({"benchmark": "intervals"} | table[-1], "semimetric"))
            print(table[-1], flush=True)
    report("Intervals of 90 %", table)


if __name__ == "__main__":
    main()
