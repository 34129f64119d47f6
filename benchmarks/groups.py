"""Do joint tables of pairs of features, found by ``groups="auto"``, help on real data?

combvd_colour: STRESS (lower is better) of 3 random folds on L*, a*, b*, and, asked for, with the directions of colour.py.
Classes: error of three nearest neighbours over 80/20 splits, for full tables of single features, ``groups="auto"``, and the
default learner, which has scales and directions instead. With --given, 4 knots and a strength are given, not chosen.

    python benchmarks/groups.py [--seeds 3] [--directions] [--given]
"""

import argparse
import time
import warnings

import numpy as np
from report import data, report
from sklearn.model_selection import KFold, train_test_split

from semimetric import DistanceRegressor, LargeMarginLearner, SemimetricClassifier, SemimetricWarning, Tables, UniformDirections

DIRECTIONS = [UniformDirections([1, 2], n_directions=8), UniformDirections(n_directions=16)]
CLASSES = ("glass", "liver_bupa", "breast_tissue")
FULL = {"tables": "full", "directions": None}
LEARNERS = {"singles": FULL, "auto": FULL | {"tables": Tables(groups="auto")}, "default learner": {}}

GIVEN = {"colours": {"n_knots": 4, "alpha": 1e-4}, "classes": {"n_knots": 4, "alpha": 1e-3}}


def stress(predicted: np.ndarray, seen: np.ndarray) -> float:
    cosine = (predicted @ seen) ** 2 / ((predicted @ predicted) * (seen @ seen))
    return float(100 * np.sqrt(1 - cosine))


def named(groups: object) -> str:
    return "singles" if groups == "singles" else " ".join(str(g).replace(" ", "") for g in groups.groups)


def colours(directions: bool, settings: dict) -> None:
    z, rows = data("combvd_colour"), []
    pairs, seen = np.stack([z["lab1"], z["lab2"]], axis=1), z["dv"]
    for features, added in (("L a b", None), ("L a b and 24 directions", DIRECTIONS))[: 1 + directions]:
        for groups in ("singles", "auto"):
            predicted, found, start = np.empty(len(seen)), [], time.perf_counter()
            for train, test in KFold(3, shuffle=True, random_state=0).split(pairs):
                model = DistanceRegressor(tables=Tables(groups=groups), directions=added, **settings).fit(
                    pairs[train], seen[train]
                )
                predicted[test] = model.predict(pairs[test])
                found.append(named(model.recipe_.groups))
            row = {"features": features, "groups": groups, "STRESS": stress(predicted, seen), "found": "; ".join(found)}
            rows.append(row | {"seconds": time.perf_counter() - start})
    report("colour: STRESS of 3 random folds", rows)


def classes(name: str, seeds: int, settings: dict) -> None:
    z, rows = data(name), []
    for method, parameters in LEARNERS.items():
        errors, found, start = [], [], time.perf_counter()
        for seed in range(seeds):
            X, T, y, t = train_test_split(z["X"].astype(float), z["y"], test_size=0.2, random_state=seed, stratify=z["y"])
            model = SemimetricClassifier(
                LargeMarginLearner(**parameters, **(settings if parameters else {})), n_neighbors=3
            ).fit(X, y)
            errors.append(100 * (1 - model.score(T, t)))
            found.append(named(model.learner_.recipe_.groups))
        row = {"method": method, "error %": float(np.mean(errors)), "found": "; ".join(found)}
        rows.append(row | {"seconds": time.perf_counter() - start})
    report(f"{name}: error of 3 neighbours", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--directions", action="store_true")
    parser.add_argument("--given", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    colours(arguments.directions, GIVEN["colours"] if arguments.given else {})
    for name in CLASSES:
        classes(name, arguments.seeds, GIVEN["classes"] if arguments.given else {})


if __name__ == "__main__":
    main()
