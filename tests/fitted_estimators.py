"""A fitted estimator of every kind that is saved, and questions that it answers: a new one joins by one row."""

import numpy as np
import pandas as pd
from cases import RECIPES, cityblock, fitted, sample, warped_sum

from semimetric import (
    AutoGroups,
    DistanceApproximator,
    DistanceRegressor,
    HistogramFeatures,
    InteriorPoint,
    KernelRegressionLearner,
    LargeMarginLearner,
    Lasso,
    Monotone,
    PairLearner,
    QuadrupletLearner,
    Ridge,
    SemimetricClassifier,
    SemimetricNeighborsTransformer,
    SemimetricRegressor,
    TripletLearner,
)

FAST = {"n_knots": 3, "alpha": 1e-2}
PLAIN = FAST | {"directions": None}
ITEMS = np.random.default_rng(3).random((48, 3))
FRAME = pd.DataFrame({"age": ITEMS[:, 0], "colour": pd.Categorical(np.array(["blue", "green", "red"])[np.arange(48) % 3])})
HOURS = np.column_stack([24 * ITEMS[:, 0], ITEMS[:, 1]])
CLASSES = (ITEMS @ [1.0, 2.0, 0.0] > 1.4).astype(int)
NAMES = np.array(["no", "yes"], dtype=object)[CLASSES]
PAIRS = ITEMS.reshape(-1, 2, 3)
JUDGED = np.where(cityblock(PAIRS[:, 0], PAIRS[:, 1]) < 0.9, 1, -1)
WEIGHTS = np.where(np.arange(48) % 5 == 0, 0.0, 1.0 + np.arange(48) % 3)


def recipe(name):
    return lambda: fitted(name)[0]


def pair_learner(method=None):
    model = PairLearner(**PLAIN).fit(PAIRS, JUDGED)
    return model if method is None else model.calibrate_probabilities(PAIRS, JUDGED, method)


def large_margin(**changes):
    return LargeMarginLearner(**PLAIN | {"tables": "warped"} | changes).fit(ITEMS, CLASSES)


def classifier(X, y, weight=None, learner=None, **changes):
    learner = LargeMarginLearner(**PLAIN | {"tables": "warped", "outside": "clip"}) if learner is None else learner
    return SemimetricClassifier(learner, **changes).fit(X, y, weight)


def regressor_of(X, y, weight=None, learner=None, **changes):
    learner = DistanceRegressor(**FAST) if learner is None else learner
    return SemimetricRegressor(learner, n_pairs=200, **changes).fit(X, y, weight)


def auto_regressor():
    items, index, y = sample(n_pairs=400)
    return DistanceRegressor(n_knots=3, groups=AutoGroups(max_groups=1), preprocessor=items).fit(index, y)


def rich():
    items, index, y = sample()
    model = DistanceRegressor(
        n_knots=np.array([3, 4, 3]), knots="uniform", alpha=1e-3, penalty=[Ridge(1e-3), Lasso(1e-3)],
        loss="huber", solver=InteriorPoint(tol=1e-7), constraints=[Monotone([0])], periodic={2: 2.0},
        preprocessor=items.tolist(), n_jobs=1,
    )  # fmt: skip
    return model.fit(index, y)


def approximator(distance=cityblock, X=ITEMS, **changes):
    return DistanceApproximator(distance, n_pairs=200, **FAST | changes).fit(X)


FITTED = {name: recipe(name) for name in RECIPES} | {
    "auto regressor": auto_regressor,
    "regressor with many parameters": rich,
    "approximator": approximator,
    "approximator at vertices": lambda: approximator(method="vertices"),
    "approximator of histograms": lambda: approximator(directions=HistogramFeatures([0.0, 1.0, 2.0])),
    "approximator of everything": lambda: approximator(warped_sum, validation_fraction=0.0),
    "pairs": pair_learner,
    "pairs with a line": lambda: pair_learner("sigmoid"),
    "pairs with steps": lambda: pair_learner("isotonic"),
    "triplets": lambda: TripletLearner(**PLAIN).fit(ITEMS.reshape(-1, 3, 3)),
    "quadruplets": lambda: QuadrupletLearner(**FAST, directions="pca").fit(ITEMS.reshape(-1, 4, 3)),
    "large margin": large_margin,
    "large margin with directions": lambda: large_margin(directions="combined", tables="full"),
    "large margin of a frame": lambda: LargeMarginLearner(**PLAIN, tables="warped").fit(FRAME, NAMES),
    "classifier": lambda: classifier(ITEMS, CLASSES),
    "classifier of names": lambda: classifier(ITEMS.astype(np.float32), NAMES, WEIGHTS, weights="distance"),
    "classifier of a frame": lambda: classifier(FRAME, NAMES.astype(str), algorithm="brute"),
    "classifier of hours": lambda: classifier(HOURS, CLASSES, learner=LargeMarginLearner(**PLAIN, periodic={0: 24})),
    "classifier with balanced classes": lambda: classifier(ITEMS, NAMES, class_weight="balanced", weights="kernel"),
    "classifier with weights of classes": lambda: classifier(ITEMS, CLASSES, WEIGHTS, class_weight={0: 0.5}),
    "kernel regression": lambda: KernelRegressionLearner().fit(ITEMS, ITEMS.sum(axis=1), WEIGHTS),
    "kernel regression of a frame": lambda: KernelRegressionLearner(n_steps=5, effort="fast").fit(FRAME, ITEMS[:, 0]),
    "regressor of values": lambda: SemimetricRegressor(average="median").fit(ITEMS, ITEMS.sum(axis=1)),
    "regressor by votes": lambda: regressor_of(ITEMS, ITEMS.sum(axis=1), WEIGHTS),
    "regressor of a frame": lambda: regressor_of(FRAME, ITEMS[:, 0], n_neighbors=2),
    "regressor with a base distance": lambda: regressor_of(
        ITEMS, ITEMS.sum(axis=1), learner=DistanceRegressor(**FAST, base_distances=[cityblock])
    ),
    "transformer": lambda: SemimetricNeighborsTransformer(fitted("pairs")[0].semimetric_, n_neighbors=3).fit(ITEMS),
    "transformer with a learner": lambda: SemimetricNeighborsTransformer(
        learner=LargeMarginLearner(**PLAIN), mode="connectivity"
    ).fit(FRAME, CLASSES),
}


def bases_of(name):
    """The base distances with which a row is loaded."""
    return [cityblock] if "base" in name.split() else []


def items_of(model):
    """Items that the model takes, some outside of its range."""
    d = model.semimetric_ if hasattr(model, "semimetric_") else model.index_.semimetric
    if "colour" in d.feature_names:
        return FRAME.iloc[::-1].assign(age=lambda frame: 1.2 * frame["age"])
    if d.n_features == 2:
        return 1.1 * HOURS[::-1]
    return np.round(1.2 * ITEMS[::-1], 1) if not d.schema.plain else 1.2 * ITEMS[::-1]


OF_TUPLES = ("predict", "predict_proba", "decision_function")
METHODS = (*OF_TUPLES, "kneighbors", "transform", "pair_distance", "get_feature_names_out")


def answers(model):
    """What the model answers, by the name of the method: a list of arrays each."""
    out = {}
    for name in METHODS:
        if hasattr(model, name) and (name != "get_feature_names_out" or hasattr(model, "transform")):
            found = getattr(model, name)(*arguments(model, name))
            parts = found if isinstance(found, tuple) else (found,)
            out[name] = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    return out


def arguments(model, name):
    """What the method is asked."""
    X = items_of(model)
    if name == "get_feature_names_out":
        return ()
    if name != "pair_distance" and (name not in OF_TUPLES or hasattr(model, "index_")):
        return (X,)
    if getattr(model, "preprocessor", None) is not None:
        return (np.arange(36).reshape(-1, 2),)
    size = 2 if name == "pair_distance" else getattr(getattr(model, "_kind", None), "size", 2)
    return (np.asarray(X).reshape(48 // size, size, -1),)
