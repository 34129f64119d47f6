"""How well can a learned distance say how different two colours look?

3,813 pairs of colours with the difference that people saw (combvd_colour). Unweighted STRESS (lower is better) of the pooled
out-of-fold predictions, 10 folds: random; whole colour centres held out (100 k-means centres of the midpoints, seed 0); and
each of the six subsets held out in turn. CIEDE2000, the international standard, was fitted on these very data.

Rows called "chosen" pick the penalty strength on held-out pairs of the training part alone. The strength 1e-4 of the other
rows, the directions and the 16 knots were looked at on the outer folds. Exponents are chosen inside the training part: of links
and base distances on held-out pairs, of the power of CIEDE2000 by its STRESS there.

    python benchmarks/colour.py [MODEL ...]

runs all models, or those that are named, and appends to benchmarks/results/colour.jsonl.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from report import append, data, report, with_origin
from skimage.color import deltaE_ciede2000
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from semimetric import DistanceRegressor, SemimetricWarning, Tables, UniformDirections

COLOURS = data("combvd_colour")
PAIRS = np.stack([COLOURS["lab1"], COLOURS["lab2"]], axis=1)
SEEN = COLOURS["dv"]
DIRECTIONS = [UniformDirections([1, 2], n_directions=8), UniformDirections(n_directions=16)]


def protocols() -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    centres = KMeans(100, random_state=0, n_init="auto").fit(PAIRS.mean(axis=1)).labels_
    return {
        "random": list(KFold(10, shuffle=True, random_state=0).split(PAIRS)),
        "centres": list(GroupKFold(10).split(PAIRS, groups=centres)),
        "subsets": list(LeaveOneGroupOut().split(PAIRS, groups=COLOURS["subset"].astype(int))),
    }


def stress(predicted: np.ndarray, seen: np.ndarray = SEEN) -> float:
    cosine = (predicted @ seen) ** 2 / ((predicted @ predicted) * (seen @ seen))
    return float(100 * np.sqrt(1 - cosine))


def fixed(distance):
    """A model that needs no training."""
    return lambda train, test: distance(PAIRS[test, 0], PAIRS[test, 1])


def power_of_ciede2000(train, test):
    """CIEDE2000 to the power with the least STRESS on the training part, in its scale."""
    x, y = (deltaE_ciede2000(PAIRS[part, 0], PAIRS[part, 1]) for part in (train, test))
    p = min(np.arange(0.4, 1.21, 0.05), key=lambda p: stress(x**p, SEEN[train]))
    return y**p * (x**p @ SEEN[train]) / (x**p @ x**p)


def learned(**parameters):
    def fit_predict(train, test):
        model = DistanceRegressor(directions=DIRECTIONS, n_knots=16, n_jobs=2, **parameters)
        return model.fit(PAIRS[train], SEEN[train]).predict(PAIRS[test])

    return fit_predict


def boosting(train, test):
    """Gradient boosting on the absolute difference, the midpoint and the Euclidean distance."""
    difference = PAIRS[:, 0] - PAIRS[:, 1]
    X = np.column_stack([np.abs(difference), PAIRS.mean(axis=1), np.linalg.norm(difference, axis=1)])
    return HistGradientBoostingRegressor(random_state=0).fit(X[train], SEEN[train]).predict(X[test])


def mahalanobis(train, test):
    """Least squares of the squared difference on products of coordinate differences, made positive semidefinite."""
    difference = PAIRS[:, 0] - PAIRS[:, 1]
    k, m = np.triu_indices(3)
    w = np.linalg.lstsq(difference[train][:, k] * difference[train][:, m], SEEN[train] ** 2, rcond=None)[0]
    M = np.zeros((3, 3))
    M[k, m] = w
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return np.linalg.norm(difference[test] @ vectors * np.sqrt(np.maximum(values, 0)), axis=1)


MODELS = {
    "CIELAB": fixed(lambda x, y: np.linalg.norm(x - y, axis=1)),
    "CIEDE2000": fixed(deltaE_ciede2000),
    "power of CIEDE2000": power_of_ciede2000,
    "Mahalanobis regression": mahalanobis,
    "gradient boosting": boosting,
    "semimetric": learned(alpha=1e-4),
    "semimetric, chosen": learned(),
    "semimetric + CIEDE2000": learned(alpha=1e-4, tables=Tables(base_distances=[deltaE_ciede2000])),
    "semimetric + CIEDE2000, chosen": learned(tables=Tables(base_distances=[deltaE_ciede2000])),
    "semimetric, power link": learned(alpha=1e-4, link="power"),
    "semimetric, power link, chosen": learned(link="power"),
    "semimetric, concave link": learned(alpha=1e-4, link="concave"),
    "semimetric, power link + CIEDE2000": learned(alpha=1e-4, link="power", tables=Tables(base_distances=[deltaE_ciede2000])),
    "semimetric + power of CIEDE2000": learned(
        alpha=1e-4, tables=Tables(base_distances=[deltaE_ciede2000], base_exponents="auto")
    ),
}
RESULTS = Path(__file__).parent / "results" / "colour.jsonl"


def main() -> None:
    warnings.simplefilter("ignore", SemimetricWarning)
    rows, folds = [], protocols()
    for name in sys.argv[1:] or MODELS:
        fit_predict = MODELS[name]
        row, start = {"model": name}, time.perf_counter()
        for protocol, splits in folds.items():
            predicted = np.empty(len(SEEN))
            for train, test in splits:
                predicted[test] = fit_predict(train, test)
            row[protocol] = stress(predicted)
        rows.append(row | {"seconds": time.perf_counter() - start})
        append(RESULTS, with_origin({"benchmark": "colour"} | rows[-1], "semimetric"))
    report("colour: STRESS", rows)


if __name__ == "__main__":
    main()
