"""How far are distances off between pairs that are farther apart than all that were learned from?

1,000 pairs of the nearer half are learned from, with an error of 5 % on every distance. Asked are pairs of unseen items: as
near as these ("near"), of the farther half ("far"), and of the farthest tenth ("farthest"). Two measures say what is near: the
true distance, and the Euclidean length of the difference of standardised features. The error is the sum of |predicted - true|
over the sum of the true distances. There are six knots a feature, and the strength of the penalty is chosen.

Compared, for full tables and for scales (``tables="full"`` and "warped"):

- ``link="identity"``, the default; "power" and "concave" as they are;
- "power, beyond": of the exponents within one standard error of the least loss, the one that errs least on longer held-out
  pairs, learned from shorter ones. This rule was tried, and is not in the package;
- "concave, within": the rounds of the concave link are chosen on held-out pairs drawn like those learned from alone, as they
  were before;
- peers: the weighted L1 distance (non-negative least squares), the best Mahalanobis distance, boosting on |x - y|.

Truths: four features in a cube, weighted by 3, 1, 0.5, 2 ("L1", its power .7, its logarithm, its saturation 1 - exp(-d / 3),
"Euclid", "thresholds" min(|x - y|, 0.5), and the power .8 of the L1 of exp); "prices" (L1 of logarithms); "Mahalanobis" of
normal items; on Dirichlet histograms "circular" (the Earth Mover's Distance round a circle), "Jensen-Shannon" (the root of the
divergence) and "Hellinger"; "warping" (dynamic time warping of simulated series); "CIELAB" from XYZ, and "CIEDE2000" and its
power .7 from CIELAB, of the colours of combvd_colour. Both rules were chosen on seeds 0 to 2, without "Hellinger" and
"warping"; the seed here is new.

``COMBVD`` is what people saw. Pairs with a CIEDE2000 below 2 are learned from, and pairs above 3 are asked, which are four
times as far apart on average. They stand in for the large differences of MacAdam (1974), which are not in these data. "of all"
learns from all studies, "of others" from all studies but the one that is asked. Beside it are CIEDE2000, its best power on the
learned pairs, CIELAB and the best Mahalanobis distance. Knots (16), strength (1e-4) and directions are those of
`colour.py`; errors are STRESS and that of above.

    python benchmarks/far_pairs.py [TRUTH ...]

runs all truths and COMBVD, or those that are named, and appends to benchmarks/results/far_pairs.jsonl.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from far_outside import SLOPES, Distance, cielab, circular
from known_distances import mahalanobis
from report import append, data, report, use_one_thread, with_origin
from scipy.optimize import nnls
from skimage.color import deltaE_ciede2000
from sklearn.ensemble import HistGradientBoostingRegressor

BENCHMARK = "far_pairs"
SEEDS = (300,)
N_ITEMS, N_DRAWN, N_PAIRS, NOISE = 1_200, 6_000, 1_000, 0.05
Truth = Callable[[np.random.Generator], tuple[np.ndarray, Distance]]


def in_cube(distance: Distance) -> Truth:
    return lambda rng: (rng.uniform(-1, 1, (N_ITEMS, 4)), distance)


def on_histograms(concentration: float, distance: Distance) -> Truth:
    return lambda rng: (rng.dirichlet(np.full(8, concentration), N_ITEMS), distance)


def l1(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(x - y) @ SLOPES


def jensen_shannon(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The root of the Jensen-Shannon divergence of positive histograms (Endres & Schindelin 2003)."""
    middle = (x + y) / 2
    return np.sqrt(np.maximum((x * np.log(x / middle) + y * np.log(y / middle)).sum(axis=1) / 2, 0.0))


def of_matrix(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    matrix = np.array([[3, 1, 0, 0.5], [1, 2, 0.3, 0], [0, 0.3, 1, 0.2], [0.5, 0, 0.2, 1.5]])
    return np.sqrt(np.einsum("ij,jk,ik->i", x - y, matrix, x - y))


def colours(space: Callable[[np.ndarray], np.ndarray], distance: Distance) -> Truth:
    def truth(rng: np.random.Generator) -> tuple[np.ndarray, Distance]:
        items = np.unique(data("combvd_colour")["xyz1"], axis=0)
        return space(items[rng.permutation(len(items))[:N_ITEMS]]), distance

    return truth


def warped_series(rng: np.random.Generator) -> tuple[np.ndarray, Distance]:
    """Series by their features, and the warping distance of the series whose features they are."""
    from time_warping import simulated, warping

    from semimetric import SeriesFeatures

    series = simulated(N_ITEMS, rng)
    items = SeriesFeatures(n_path=6, n_quantiles=4, n_windows=0).fit(series).transform(series)
    of_row = {row.tobytes(): s for row, s in zip(np.ascontiguousarray(items), series, strict=True)}

    def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([warping(of_row[a.tobytes()], of_row[b.tobytes()]) for a, b in zip(x, y, strict=True)])

    return items, distance


TRUTHS: dict[str, Truth] = {
    "L1": in_cube(l1),
    "L1 ** 0.7": in_cube(lambda x, y: l1(x, y) ** 0.7),
    "log(1 + L1)": in_cube(lambda x, y: np.log1p(l1(x, y))),
    "saturation": in_cube(lambda x, y: 1 - np.exp(-l1(x, y) / 3)),
    "Euclid": in_cube(lambda x, y: np.sqrt((x - y) ** 2 @ SLOPES)),
    "thresholds": in_cube(lambda x, y: np.minimum(np.abs(x - y), 0.5) @ SLOPES),
    "warped ** 0.8": in_cube(lambda x, y: l1(np.exp(1.2 * x), np.exp(1.2 * y)) ** 0.8),
    "prices": lambda rng: (np.exp(rng.normal(0, 0.8, (N_ITEMS, 4))), lambda x, y: l1(np.log(x), np.log(y))),
    "Mahalanobis": lambda rng: (rng.normal(size=(N_ITEMS, 4)), of_matrix),
    "circular": on_histograms(1.0, circular),
    "Jensen-Shannon": on_histograms(0.5, jensen_shannon),
    "Hellinger": on_histograms(0.5, lambda x, y: np.sqrt(((np.sqrt(x) - np.sqrt(y)) ** 2).sum(axis=1) / 2)),
    "warping": warped_series,
    "CIELAB": colours(lambda xyz: xyz, lambda x, y: np.linalg.norm(cielab(x) - cielab(y), axis=1)),
    "CIEDE2000": colours(cielab, deltaE_ciede2000),
    "CIEDE2000 ** 0.7": colours(cielab, lambda x, y: deltaE_ciede2000(x, y) ** 0.7),
}
HISTOGRAMS = ("circular", "Jensen-Shannon", "Hellinger")
Asked = dict[str, np.ndarray]  # pairs (n, 2, F) of every range


def error(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.abs(found - true).sum() / true.sum())


def drawn(items: np.ndarray, distance: Distance, by: str, rng: np.random.Generator) -> tuple[np.ndarray, Asked]:
    """The pairs to learn from, and pairs of other items in the ranges that are asked for."""
    spread, half = items.std(axis=0), len(items) * 2 // 3
    sides = []
    for low, high in ((0, half), (half, len(items))):
        index = rng.integers(low, high, (N_DRAWN, 2))
        pairs = items[index[index[:, 0] != index[:, 1]]]
        x, y = pairs[:, 0], pairs[:, 1]
        sides.append((pairs, distance(x, y) if by == "distance" else np.linalg.norm((x - y) / spread, axis=1)))
    (known, size), (others, other_size) = sides
    middle, top = np.quantile(size, (0.5, 0.9))
    asked = {"near": others[other_size <= middle], "far": others[other_size > middle], "farthest": others[other_size >= top]}
    return known[size <= middle][:N_PAIRS], asked


def exponent_beyond(model, pairs: np.ndarray, y: np.ndarray) -> float:
    """Of the exponents within one standard error of the least loss, the one with the least loss on longer held-out pairs.

    Models learn from the pairs of median length at most, and are scored on the longer ones of those held out.
    """
    from semimetric._foundation.types import Pairs
    from semimetric.distances.learning import measured_fit
    from semimetric.distances.learning.concave_link import shorter_and_longer
    from semimetric.distances.learning.search import Trial, as_good_as_best, best_of, compare
    from semimetric.distances.model.links import PowerLink

    class LongerPairs(measured_fit.HeldOutDistances):
        def folds(self, recipe):
            sample = self.data.pairs
            drawn = measured_fit.item_disjoint_splits(sample, n_splits=4, random_state=recipe.random_state)
            splits = shorter_and_longer(recipe, self._structure(recipe), self.data, list(drawn))
            targets = self.all_data(recipe)
            return [(targets.take(train), targets.take(test)) for train, test in splits]

    choices = model.link_choices_
    settings = dict.fromkeys((c.settings["link"], c.settings["n_knots"]) for c in choices)
    items, index = np.unique(pairs.reshape(-1, pairs.shape[-1]), axis=0, return_inverse=True)
    weight = np.full(len(y), 1 / len(y))
    known = measured_fit.MeasuredDistances.of_arrays(Pairs(items, index.reshape(-1, 2)), y, weight)
    alphas = tuple(dict.fromkeys(c.settings["alpha"] for c in choices))
    recipe = model.recipe_
    trials = [Trial(replace(recipe, link=PowerLink(p), n_knots=n, verbose=False), alphas) for p, n in settings]
    found = compare(LongerPairs(known, tuple(map(str, range(items.shape[1])))), trials, verbose=False)
    within = as_good_as_best([best_of(c for c in choices if c.settings["link"] == p) for p, _ in settings])
    losses = {p: min(c.loss for c in found if c.settings["link"] == p) for p in (c.settings["link"] for c in within)}
    return min(losses, key=losses.__getitem__)


def learned(
    pairs: np.ndarray, y: np.ndarray, links: Sequence[str] = ("identity", "power", "concave"), **parameters
) -> Iterator[tuple[str, object, float]]:
    """Models by the name of their link, and the seconds of the processor that each took."""
    from semimetric import DistanceRegressor
    from semimetric._foundation.errors import TooFewError
    from semimetric.distances.learning import concave_link

    parameters = {"validation_fraction": 0, "verbose": False, "tables": "full"} | parameters
    for link in links:
        start = time.process_time()
        model = DistanceRegressor(link=link, **parameters).fit(pairs, y)
        middle = time.process_time()
        yield link, model, middle - start
        if link == "power":
            exponent = exponent_beyond(model, pairs, y)
            same = exponent == model.link_choices_.chosen.settings["link"]
            other = model if same else DistanceRegressor(link=exponent, **parameters).fit(pairs, y)
            yield "power, beyond", other, time.process_time() - start
        if link == "concave":
            with patch.object(concave_link, "shorter_and_longer", side_effect=TooFewError("none are asked for")):
                other = DistanceRegressor(link=link, **parameters).fit(pairs, y)
            yield "concave, within", other, time.process_time() - middle


def run(truth: str, by: str, seed: int) -> list[dict]:
    from semimetric import HistogramFeatures

    rng = np.random.default_rng(seed)
    items, distance = TRUTHS[truth](rng)
    pairs, asked = drawn(items, distance, by, rng)
    true = {name: distance(some[:, 0], some[:, 1]) for name, some in asked.items()}
    exact = distance(pairs[:, 0], pairs[:, 1])
    y = exact * np.exp(NOISE * rng.normal(size=len(pairs)))
    about = {"truth": truth, "near_by": by, "seed": seed, "ratio": float(true["farthest"].mean() / exact.mean())}
    directions = HistogramFeatures(np.arange(8)) if truth in HISTOGRAMS else None
    rows = []
    for tables in ("full", "warped"):
        for name, model, seconds in learned(pairs, y, n_knots=6, directions=directions, tables=tables):
            row = {"method": f"{tables}, {name}", "link": str(model.semimetric_.link), "fit_s": seconds}
            rows.append(about | row | {part: error(model.predict(some), true[part]) for part, some in asked.items()})
    for name, predict in peers(pairs, y).items():
        rows.append(about | {"method": name} | {part: error(predict(some), true[part]) for part, some in asked.items()})
    return rows


def peers(pairs: np.ndarray, y: np.ndarray) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    gaps = np.abs(pairs[:, 0] - pairs[:, 1])
    weights, _ = nnls(gaps, y)
    boosting = HistGradientBoostingRegressor(random_state=0).fit(gaps, y)
    return {
        "weighted L1": lambda some: np.abs(some[:, 0] - some[:, 1]) @ weights,
        "best Mahalanobis": mahalanobis(pairs, y)[0],
        "boosting": lambda some: boosting.predict(np.abs(some[:, 0] - some[:, 1])),
    }


def stress(found: np.ndarray, seen: np.ndarray) -> float:
    return float(100 * np.sqrt(1 - (found @ seen) ** 2 / ((found @ found) * (seen @ seen))))


def combvd() -> Iterator[dict]:
    """Rows of what people saw."""
    from semimetric import Tables, UniformDirections

    arrays = data("combvd_colour")
    pairs, seen, study = np.stack([arrays["lab1"], arrays["lab2"]], axis=1), arrays["dv"], arrays["subset"]
    standard = deltaE_ciede2000(pairs[:, 0], pairs[:, 1])
    directions = [UniformDirections([1, 2], n_directions=8), UniformDirections(n_directions=16)]
    tasks = {"of all": (standard < 2, standard > 3)}
    for k in (0, 2):  # the studies with large differences
        name = f"of others than {arrays['subset_names'][k]}"
        tasks[name] = ((standard < 2) & (study != k), (standard > 3) & (study == k))
    for task, (train, test) in tasks.items():
        about = {"truth": "COMBVD", "task": task, "pairs": int(train.sum()), "asked": int(test.sum())}

        def row(method: str, values: np.ndarray, *, about=about, test=test) -> dict:
            return about | {"method": method, "stress": stress(values, seen[test]), "far": error(values, seen[test])}

        def scaled(values: np.ndarray, *, train=train, test=test) -> np.ndarray:
            return values[test] * float(values[train] @ seen[train] / (values[train] @ values[train]))

        power = min(np.arange(0.4, 1.21, 0.05), key=lambda p: stress(standard[train] ** p, seen[train]))
        yield row("CIELAB", scaled(np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1)))
        yield row("CIEDE2000", scaled(standard))
        yield row("power of CIEDE2000", scaled(standard**power)) | {"link": f"power {power:.2f}"}
        yield row("best Mahalanobis", mahalanobis(pairs[train], seen[train])[0](pairs[test]))
        for bases in ((), (deltaE_ciede2000,)):
            tables = Tables(base_distances=bases)
            links = ("identity", "power")
            settings = {"n_knots": 16, "alpha": 1e-4, "directions": directions, "tables": tables}
            fits = learned(pairs[train], seen[train], links, **settings)
            for name, model, seconds in fits:
                found = row(name + (" + CIEDE2000" if bases else ""), model.predict(pairs[test]))
                yield found | {"link": str(model.semimetric_.link), "fit_s": seconds}


def main() -> None:
    use_one_thread()
    from semimetric import SemimetricWarning

    warnings.simplefilter("ignore", SemimetricWarning)
    file = Path(__file__).parent / "results" / f"{BENCHMARK}.jsonl"
    names, rows = sys.argv[1:] or [*TRUTHS, "COMBVD"], []
    for seed in SEEDS:
        for truth in names:
            for by in ("distance", "length") if truth in TRUTHS else ():
                for row in run(truth, by, seed):
                    append(file, with_origin({"benchmark": BENCHMARK} | row, "semimetric"))
                    rows.append(row)
    for row in combvd() if "COMBVD" in names else ():
        append(file, with_origin({"benchmark": BENCHMARK} | row, "semimetric"))
        rows.append(row)
    report(BENCHMARK, summary(rows) + [row for row in rows if row["truth"] == "COMBVD"])


def summary(rows: list[dict]) -> list[dict]:
    """The mean error of every method on every truth, over seeds."""
    table = []
    known = [row for row in rows if row["truth"] in TRUTHS]
    for key in dict.fromkeys((row["truth"], row["near_by"], row["method"]) for row in known):
        mine = [row for row in known if (row["truth"], row["near_by"], row["method"]) == key]
        means = {part: round(float(np.mean([row[part] for row in mine])), 4) for part in ("near", "far", "farthest")}
        table.append(dict(zip(("truth", "near_by", "method"), key, strict=True)) | means)
    return table


if __name__ == "__main__":
    main()
