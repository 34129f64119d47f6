"""How far are distances off between items much further apart than those that were learned from?

1,500 pairs of central items are learned from, with defaults and an error of 5 % on every distance. Asked are pairs of all items
whose difference is 0 to 1, 1 to 2 and 2 to 4 times as long as the longest of the learned pairs (their 99th percentile;
Euclidean length of features in units of their spread among the central items). The error is the sum of |predicted - true| over
the sum of the true distances.

The rule for slopes outside was chosen with other seeds, most of it on other truths in six features; after a first run on these
it became the smaller of two slopes, which helps where distances saturate. The seeds here are new since.

- "weighted L1", "Euclid", "root of L1", "prices" (L1 of logarithms, lognormal items), "doses" (L1 of a curve that is steep on
  one side and flat on the other, and that ends just outside of the learned range on its steep side), "thresholds" (sums of
  min(|x - y|, t)), four features each;
- "circular histograms": the Earth Mover's Distance of eight hours of a clock, Dirichlet items around the mean;
- "colours": CIELAB differences between the colours of combvd_colour, of which the XYZ is given, learned from the half of them
  around the median colour.

Compared: tables and scales (``tables="full"`` and "warped") as they are, and tables without a link (``link="identity"``); the
same with the mean slope across the range in place of the slopes at its ends, which was the rule of before; the weighted L1
distance that fits the pairs (non-negative least squares); and gradient boosting on |x - y|.

    python benchmarks/far_outside.py [TRUTH ...]

runs all truths, or those that are named, and appends to benchmarks/results/far_outside.jsonl.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from report import append, data, report, use_one_thread, with_origin
from scipy.optimize import nnls
from sklearn.ensemble import HistGradientBoostingRegressor

BENCHMARK = "far_outside"
SEEDS = (200, 201, 202)
N_PAIRS, NOISE = 1_500, 0.05
LENGTHS = ((0.0, 1.0), (1.0, 2.0), (2.0, 4.0))  # of a pair, in units of the longest that was learned from
MOST_ASKED = 4_000  # pairs of each length
SLOPES = np.array([3.0, 1.0, 0.5, 2.0])
WHITE = np.array([95.047, 100.0, 108.883])

Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Problem(NamedTuple):
    """All items (n, F), which of them are central, and the true distance of the rows of two tables."""

    items: np.ndarray
    central: np.ndarray
    distance: Distance


def of_curve(curve: Callable[[np.ndarray], np.ndarray]) -> Distance:
    """The weighted L1 distance of values on a curve."""
    return lambda x, y: np.abs(curve(x) - curve(y)) @ SLOPES


def around_zero(distance: Distance) -> Callable[[np.random.Generator], Problem]:
    """Central items in a cube, and three times as many in cubes two to five times as wide."""

    def problem(rng: np.random.Generator) -> Problem:
        widths = np.concatenate([np.ones(300), rng.uniform(2, 5, 900)])
        return Problem(rng.uniform(-1, 1, (1200, 4)) * widths[:, None], np.arange(1200) < 300, distance)

    return problem


def prices(rng: np.random.Generator) -> Problem:
    items = np.exp(rng.normal(0, 0.8, (1500, 4)))
    low, high = np.quantile(items, (0.05, 0.75), axis=0)
    return Problem(items, ((items >= low) & (items <= high)).all(axis=1), of_curve(np.log))


def circular(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The Earth Mover's Distance round a circle of bins (Rabin, Delon & Gousseau 2011)."""
    flow = np.cumsum(x - y, axis=1)
    return np.abs(flow - np.median(flow, axis=1, keepdims=True)).sum(axis=1)


def histograms(rng: np.random.Generator) -> Problem:
    near, far = rng.dirichlet(np.full(8, 20.0), 300), rng.dirichlet(np.full(8, 1.0), 900)
    return Problem(np.vstack([near, far]), np.arange(1200) < 300, circular)


def cielab(xyz: np.ndarray) -> np.ndarray:
    """CIELAB of colours under the illuminant D65 (CIE 15:2004)."""
    t = xyz / WHITE
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


def colours(rng: np.random.Generator) -> Problem:
    items = np.unique(data("combvd_colour")["xyz1"], axis=0)
    items = items[rng.permutation(len(items))[:1200]]
    from_middle = np.linalg.norm((items - np.median(items, axis=0)) / items.std(axis=0), axis=1)
    central = from_middle <= np.median(from_middle)
    return Problem(items, central, lambda x, y: np.linalg.norm(cielab(x) - cielab(y), axis=1))


TRUTHS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "weighted L1": around_zero(of_curve(lambda x: x)),
    "Euclid": around_zero(lambda x, y: np.sqrt((x - y) ** 2 @ SLOPES)),
    "root of L1": around_zero(lambda x, y: np.sqrt(np.abs(x - y) @ SLOPES)),
    "doses": around_zero(of_curve(lambda x: -np.exp(-1.5 * x.clip(-1.5)))),
    "thresholds": around_zero(lambda x, y: np.minimum(np.abs(x - y), 1.2) @ SLOPES),
    "prices": prices,
    "circular histograms": histograms,
    "colours": colours,
}


def mean_slopes(d):
    """The distance with the mean slope across the range on both sides of every feature."""
    low, high = d.embedding.grid.low, d.embedding.grid.high
    ends = np.where(np.eye(len(low), dtype=bool), high, low)
    return replace(d, epsilon=d.paired(ends, np.tile(low, (len(low), 1))) / np.where(high > low, high - low, 1.0))


def learned(pairs: np.ndarray, y: np.ndarray) -> tuple[dict[str, Distance], dict[str, float]]:
    """The distances to compare, and the seconds of the processor that each took to learn."""
    from semimetric import DistanceRegressor

    distances: dict[str, Distance] = {}
    seconds = {}
    kinds = {"full": {}, "full, no link": {"link": "identity"}, "warped": {"tables": "warped"}}
    for kind, options in kinds.items():
        start = time.process_time()
        d = DistanceRegressor(**options, validation_fraction=0).fit(pairs, y).semimetric_
        seconds[kind] = time.process_time() - start
        distances |= {kind: d.paired, f"{kind}, mean slope": mean_slopes(d).paired}
    gaps = np.abs(pairs[:, 0] - pairs[:, 1])
    weights, _ = nnls(gaps, y)
    boosting = HistGradientBoostingRegressor(random_state=0).fit(gaps, y)
    distances["weighted L1"] = lambda a, b: np.abs(a - b) @ weights
    distances["boosting"] = lambda a, b: boosting.predict(np.abs(a - b))
    return distances, seconds


def run(truth: str, seed: int) -> list[dict]:
    """The errors of every method on pairs of every length."""
    rng = np.random.default_rng(seed)
    items, central, distance = TRUTHS[truth](rng)
    units = items[central].std(axis=0)
    known = rng.choice(np.flatnonzero(central), (2 * N_PAIRS, 2))
    known = known[known[:, 0] != known[:, 1]][:N_PAIRS]
    y = distance(items[known[:, 0]], items[known[:, 1]]) * np.exp(NOISE * rng.normal(size=len(known)))
    distances, seconds = learned(items[known], y)
    longest = np.quantile(np.linalg.norm((items[known[:, 0]] - items[known[:, 1]]) / units, axis=1), 0.99)
    asked = rng.integers(0, len(items), (200_000, 2))
    x, z = items[asked[:, 0]], items[asked[:, 1]]
    length = np.linalg.norm((x - z) / units, axis=1) / longest
    rows = []
    for low, high in LENGTHS:
        chosen = np.flatnonzero((length > low) & (length <= high))[:MOST_ASKED]
        true = distance(x[chosen], z[chosen])
        for method, found in distances.items():
            error = float(np.abs(found(x[chosen], z[chosen]) - true).sum() / true.sum()) if len(chosen) else None
            row = {"truth": truth, "seed": seed, "length": f"{low:g}-{high:g}", "method": method, "error": error}
            rows.append(row | {"pairs": len(chosen), "fit_s": seconds.get(method)})
    return rows


def main() -> None:
    use_one_thread()
    file = Path(__file__).parent / "results" / f"{BENCHMARK}.jsonl"
    rows = []
    for truth in sys.argv[1:] or TRUTHS:
        for seed in SEEDS:
            found = run(truth, seed)
            for row in found:
                append(file, with_origin({"benchmark": BENCHMARK} | row, "semimetric"))
            rows += found
    methods = list(dict.fromkeys(row["method"] for row in rows))
    table = []
    for truth in dict.fromkeys(row["truth"] for row in rows):
        for length in dict.fromkeys(row["length"] for row in rows):
            mine = [row for row in rows if (row["truth"], row["length"]) == (truth, length) and row["pairs"]]
            errors = {m: [row["error"] for row in mine if row["method"] == m] for m in methods}
            table.append({"truth": truth, "length": length} | {m: round(float(np.mean(e)), 3) for m, e in errors.items() if e})
    report(BENCHMARK, table)


if __name__ == "__main__":
    main()
