"""Write models, an index and a sharded index as the installed version saves them, and the answers that they give.

    python tests/saved/make.py

makes the folder tests/saved/VERSION, where VERSION is that of the package which is imported, without the number of a candidate.
A folder that is there is never changed. `tests/laws/test_saved_files.py` opens every such folder with the version under test
and compares the answers, so a file that somebody saved stays readable and keeps its meaning. Run this once for every release
whose files differ.

Only public names that every version has are used. The folder holds

    NAME.smm        one saved `Semimetric` for every name of `MODELS`
    of-NAME.smm     one saved estimator for every name of `estimators`
    index/          a saved `NeighborIndex` with joint groups and with text as ids
    shards/         a folder of shards, as `ShardedIndex.build` writes it
    answers.json    for every name the items that the model is asked about, and what it answered
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import semimetric as sm

FAST = {"n_knots": 4, "alpha": 1e-3}
COLORS = np.array(["red", "green", "blue"])


def cityblock(X, Y):
    """The base distance of the model "base", of two vectors or of two batches."""
    return np.abs(np.asarray(X) - np.asarray(Y)).sum(axis=-1)


# parameters of `DistanceRegressor`
MODELS: dict[str, dict[str, Any]] = {
    "groups and directions": FAST
    | {"tables": sm.Tables(groups=[(0, 1), (2,), (3,)], knots="uniform"), "directions": np.array([[1.0, -1.0, 0.0]])},
    "even directions": FAST | {"directions": sm.UniformDirections((0, 1), n_directions=3), "tables": "warped"},
    "warped": FAST | {"tables": "warped", "axioms": "metric"},
    "clipped": FAST | {"tables": sm.Tables(groups="pairs", outside="clip")},
    "part of a table": {"n_knots": 11, "alpha": 1e-3, "tables": sm.Tables(groups=[(0, 1, 2)])},
    "asymmetric": FAST | {"axioms": "premetric", "tables": sm.Tables(groups="pairs")},
    "square root": FAST | {"link": "sqrt"},
    "power": FAST | {"link": "power"},
    "concave": FAST | {"link": "concave"},
    "divergence": FAST | {"tables": sm.Tables(base_distances=["chi2"])},
    "base": FAST | {"tables": sm.Tables(base_distances=(cityblock,))},
    "mixed": FAST | {"columns": sm.Columns(["color"], periodic={"hour": 24.0}, missing="level")},
    "mixed warped": FAST | {"columns": sm.Columns(["color"], periodic={"hour": 24.0}), "tables": "warped"},
}


def sample(n_items: int, seed: int, *, missing: bool = False, columns: bool = False) -> Any:
    """Items of three numbers, shape (n_items, 3); or a frame with a number, an hour and a colour."""
    rng = np.random.default_rng(seed)
    items = rng.random((n_items, 3))
    if not columns:
        return items
    import pandas as pd

    size = np.where(rng.random(n_items) < 0.2, np.nan, items[:, 0]) if missing else items[:, 0]
    return pd.DataFrame({"size": size, "hour": 24 * items[:, 1], "color": COLORS[rng.integers(0, 3, n_items)]})


def learned(name: str, parameters: dict[str, Any]) -> sm.Semimetric:
    """The distance of one row of `MODELS`, learned from 150 pairs of 40 items."""
    items = sample(40, 0, missing=name == "mixed", columns=name.startswith("mixed"))
    rng = np.random.default_rng(1)
    index = rng.integers(0, 40, (150, 2))
    index = index[index[:, 0] != index[:, 1]]
    numbers = sample(40, 0)
    gap = np.abs(numbers[index[:, 0]] ** 3 - numbers[index[:, 1]] ** 3).sum(axis=1)
    y = gap + 0.3 * cityblock(numbers[index[:, 0]], numbers[index[:, 1]])
    return sm.DistanceRegressor(**parameters, preprocessor=items).fit(index, y).semimetric_


def large_margin() -> sm.Semimetric:
    """A distance learned from labels, with the combined directions that labels give."""
    rng = np.random.default_rng(2)
    X = rng.random((90, 3))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 2] > 1.3).astype(int)
    return sm.LargeMarginLearner(n_knots=4, alpha=1e-2, directions="combined", tables="warped").fit(X, y).semimetric_


def estimators() -> dict[str, Any]:
    """Fitted estimators of each kind that a file may hold: learners, predictors, linear machines, embeddings."""
    X = sample(80, 5)
    labels, values = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int), X[:, 0] - X[:, 2] ** 2
    numbers = sample(40, 0)
    i, j = np.triu_indices(40, 1)
    gaps = np.abs(numbers[i] - numbers[j]).sum(axis=1)
    pairs, similar = np.stack([numbers[i], numbers[j]], axis=1), np.where(gaps < np.median(gaps), 1, -1)
    return {
        "classifier": sm.SemimetricClassifier(predictor="kernel_ridge").fit(X, labels),
        "votes": sm.SemimetricClassifier(sm.LargeMarginLearner(**FAST, tables="warped"), predictor="neighbors").fit(X, labels),
        "regressor": sm.SemimetricRegressor(predictor="kernel_ridge").fit(X, values),
        "pairs": sm.PairLearner(**FAST).fit(pairs, similar),
        "machine": sm.EmbeddedLinearClassifier(sm.PL1Embedding(n_knots=4)).fit(X, labels),
        "embedding": sm.BSplineEmbedding(n_bins=4).fit(X),
    }


def asked(model: Any) -> dict[str, Any]:
    """A method of an estimator, the items or pairs that it is asked about, and what it answers."""
    X = sample(8, 6)
    if hasattr(model, "pair_score"):
        X = np.stack([X[:-1], X[1:]], axis=1)
    method = next(m for m in ("pair_score", "decision_function", "predict", "transform") if hasattr(model, m))
    answer = getattr(model, method)(X)
    return {"method": method, "items": listed(X), "answer": listed(answer.toarray() if hasattr(answer, "toarray") else answer)}


def questions(name: str) -> Any:
    """The 8 items that a model is asked about: some lie outside the range of the training items, but none of a divergence."""
    items = sample(8, 3, missing=name == "mixed", columns=name.startswith("mixed"))
    return items if hasattr(items, "columns") or name == "divergence" else 1.4 * items - 0.2


def listed(table: Any) -> Any:
    """An array or a frame as lists that JSON holds; a missing number is None, and a frame is {column: list}."""
    if hasattr(table, "columns"):
        return {column: [None if v != v else v for v in table[column].tolist()] for column in table.columns}
    return np.asarray(table).tolist()


def answers_of(d: sm.Semimetric, X: Any) -> dict[str, Any]:
    """What a distance says of the items X."""
    answers = {"items": listed(X), "distances": listed(d.pairwise(X)), "outside": listed(d.outside(X))}
    contributions = [d.contributions(a, b) for a, b in zip(_rows(X)[:-1], _rows(X)[1:], strict=True)]
    answers["contributions"] = listed(contributions)
    try:
        return answers | {"transformed": listed(d.transform(X))}
    except sm.SemimetricError:  # only scales have an exact map into L1
        return answers


def _rows(X: Any) -> list[Any]:
    return [X.iloc[[k]] for k in range(len(X))] if hasattr(X, "columns") else list(X)


def neighbors_of(index: Any, X: Any) -> dict[str, Any]:
    """The three nearest items of every row of X, and all within the median distance of these."""
    answers: dict[str, Any] = {"queries": listed(X), "ids": listed(index.ids_)}
    for algorithm in ("exact", "approximate", "brute"):
        distances, ids = index.kneighbors(X, 3, algorithm=algorithm)
        answers[algorithm] = {"distances": listed(distances), "ids": listed(ids)}
    answers["radius"] = float(np.median(distances))
    distances, ids = index.radius_neighbors(X, answers["radius"])
    return answers | {"within": {"distances": [listed(d) for d in distances], "ids": [listed(i) for i in ids]}}


def main(folder: Path) -> None:
    """Fill the folder, which must be new."""
    folder.mkdir(parents=True)
    models = {name: learned(name, parameters) for name, parameters in MODELS.items()} | {"large margin": large_margin()}
    answers: dict[str, Any] = {"models": {}, "estimators": {}}
    for name, d in models.items():
        d.save(folder / f"{name.replace(' ', '-')}.smm")
        answers["models"][name] = answers_of(d, questions(name))

    for name, model in estimators().items():
        model.save(folder / f"of-{name}.smm")
        answers["estimators"][name] = asked(model)

    items = sample(260, 4)
    text = np.array([f"item {k}" for k in range(len(items))])
    index = sm.NeighborIndex(models["groups and directions"], side="query-last", n_candidates=20)
    index.fit(items[:240], ids=text[:240]).add(items[240:], ids=text[240:]).remove(["item 3", "item 250"])
    index.save(folder / "index")
    answers["index"] = neighbors_of(index, questions("index"))

    shards = sm.ShardedIndex.build(folder / "shards", models["square root"], items[:120], n_shards=3)
    answers["shards"] = neighbors_of(shards, questions("shards"))
    with (folder / "answers.json").open("w") as file:
        json.dump(answers, file, allow_nan=False)


if __name__ == "__main__":
    version = re.match(r"\d+(\.\d+)*", sm.__version__)[0]  # type: ignore[index]
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / version)
