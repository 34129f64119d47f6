"""A fitted estimator of every kind that is saved, and questions that it answers: a new one joins by one row."""

import numpy as np
import pandas as pd
from cases import MAPS, RECIPES, cityblock, fitted, sample, warped_sum
from learners import made
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from semimetric import (
    AdditiveChi2Embedding,
    AutoGroups,
    BoundaryPoints,
    BSplineEmbedding,
    Columns,
    ConicEmbedding,
    DistanceApproximator,
    DistanceRegressor,
    DPLMClassifier,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    FourierEmbedding,
    GibbsChains,
    HermiteEmbedding,
    HistogramFeatures,
    HyperplaneMixture,
    IDEmbedding,
    InteriorPoint,
    KernelRidgeLearner,
    LandmarkFeatures,
    LargeMarginLearner,
    Lasso,
    Monotone,
    NeighborIndex,
    PairLearner,
    PL1Embedding,
    PL2Embedding,
    PointCloudFeatures,
    Program,
    QuadrupletLearner,
    Ridge,
    Semimetric,
    SemimetricClassifier,
    SemimetricClusterer,
    SemimetricImputer,
    SemimetricNeighborsTransformer,
    SemimetricOutlierDetector,
    SemimetricRegressor,
    SeriesFeatures,
    StringFeatures,
    SupportPointClassifier,
    Tables,
    TripletLearner,
)
from semimetric.distances.features.objects import ObjectFeatures
from semimetric.vectors.embeddings.base import IdentityEmbedding

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
    return made(LargeMarginLearner, **PLAIN | {"tables": "warped"} | changes).fit(ITEMS, CLASSES)


def classifier(X, y, weight=None, learner=None, **changes):
    learner = made(LargeMarginLearner, **PLAIN | {"tables": "warped", "outside": "clip"}) if learner is None else learner
    return SemimetricClassifier(learner, **changes).fit(X, y, weight)


def regressor_of(X, y, weight=None, learner=None, **changes):
    learner = DistanceRegressor(**FAST) if learner is None else learner
    return SemimetricRegressor(learner, n_pairs=200, **changes).fit(X, y, weight)


def auto_regressor():
    items, index, y = sample(n_pairs=400)
    return DistanceRegressor(n_knots=3, tables=Tables(groups=AutoGroups(max_groups=1)), preprocessor=items).fit(index, y)


def linked_regressor(**changes):
    items, index, y = sample(n_pairs=400)
    return made(DistanceRegressor, **FAST | changes, preprocessor=items).fit(index, np.sqrt(y))


def rich():
    items, index, y = sample()
    model = DistanceRegressor(
        n_knots=np.array([3, 4, 3]),
        tables=Tables(knots="uniform"),
        alpha=1e-3,
        program=Program(penalty=[Ridge(1e-3), Lasso(1e-3)], constraints=[Monotone([0])], solver=InteriorPoint(tol=1e-7)),
        loss="huber",
        columns=Columns(periodic={2: 2.0}),
        preprocessor=items.tolist(),
        n_jobs=1,
    )
    return model.fit(index, y)


def approximator(distance=cityblock, X=ITEMS, **changes):
    return made(DistanceApproximator, distance, n_pairs=200, **FAST | changes).fit(X)


def embedding_of(given, y=CLASSES):
    X = ITEMS if given.missing == "error" else HOLES
    return clone(given).fit(X, y)


def machine(embedding=None, y=NAMES, **changes):
    return EmbeddedLinearClassifier(embedding, **changes).fit(ITEMS, y, WEIGHTS)


def streamed():
    model = EmbeddedLinearClassifier(PL1Embedding(3))
    return model.partial_fit(ITEMS[:30], CLASSES[:30], classes=[0, 1]).partial_fit(ITEMS[30:], CLASSES[30:])


HOLES = np.where(np.random.default_rng(4).random(ITEMS.shape) < 0.1, np.nan, ITEMS)
CONSTANT = ITEMS * [1.0, 0.0, 1.0]
THREE = np.digitize(ITEMS[:, 0], [0.3, 0.6])
CHAINS = {"chains": GibbsChains(n_sweeps=200, n_chains=1), "w_prior": 1000.0}
EMBEDDINGS = {f"embedding of {name}": given for name, given in MAPS.items()} | {
    "splines": BSplineEmbedding(4),
    "cubic splines of quantiles": BSplineEmbedding(3, degree=3, knots="quantile", missing="indicator", dtype=np.float32),
    "splines of Eilers and Marx": BSplineEmbedding(3, degree=2, penalty_order=2, null_space_ridge=0.01, missing="indicator"),
    "splines on given knots": BSplineEmbedding(knots=[0.0, 0.5, 1.0], penalty_order=2, extrapolation="linear"),
    "chi-squared": AdditiveChi2Embedding(3, missing="indicator"),
    "waves": FourierEmbedding(2, missing="zeros"),
    "half waves": FourierEmbedding(3, span="half", dtype=np.dtype(np.float32)),
    "polynomials": HermiteEmbedding(3, penalty_order=2),
    "standard polynomials": HermiteEmbedding(2, scale="standard", missing="indicator"),
    "cones": ConicEmbedding(p=2),
    "cones of classes": ConicEmbedding(expand="each", anchors="class", band=(0, 100), concatenate=False),
    "cones at points": ConicEmbedding(p=float("inf"), anchors=[np.zeros((1, 3)), np.eye(3)], missing="zeros"),
    "features": IdentityEmbedding(),
}
MACHINES = {name: lambda given=given: embedding_of(given) for name, given in EMBEDDINGS.items()} | {
    "embedding of a constant": lambda: HermiteEmbedding(2, scale="standard").fit(CONSTANT),
    "embedding of a frame": lambda: PL2Embedding(3, pairs=[("age", "size")]).fit(
        FRAME.assign(size=1.0 - FRAME["age"])[["age", "size"]]
    ),
    "machine": machine,
    "machine of three classes": lambda: machine(BSplineEmbedding(4), THREE, loss="hinge", multi_class="crammer_singer"),
    "machine of truth values": lambda: machine("linear", CLASSES > 0, solver="pegasos", fit_intercept=False),
    "machine by Newton steps": lambda: machine(ConicEmbedding(2, "each"), THREE, solver="newton"),
    "machine with lines": lambda: machine(FourierEmbedding(2), calibration="logistic", class_weight={"no": 2.0, "yes": 1.0}),
    "machine with steps": lambda: machine(IDEmbedding(3), THREE, calibration="isotonic", class_weight="balanced"),
    "machine in steps": streamed,
    "machine for values": lambda: EmbeddedLinearRegressor(PL2Embedding(3), epsilon=0.1, C=3).fit(ITEMS, ITEMS.sum(axis=1)),
    "support points": lambda: SupportPointClassifier().fit(ITEMS, NAMES),
    "boundary": lambda: BoundaryPoints().fit(ITEMS, CLASSES),
    "pieces": lambda: DPLMClassifier(**CHAINS).fit(ITEMS, CLASSES),
    "pieces of three classes": lambda: DPLMClassifier(**CHAINS, local="plane").fit(ITEMS, THREE),
    "planes through points": lambda: HyperplaneMixture(n_sweeps=20).fit(ITEMS),
    "planes in a given number": lambda: HyperplaneMixture(2).fit(ITEMS, directions=ITEMS[::-1] - 0.3),
    "support points of a distance": lambda: SupportPointClassifier(neighbors=NeighborIndex(Semimetric.l1(ITEMS))).fit(
        ITEMS, NAMES
    ),
    "support points of scikit-learn": lambda: SupportPointClassifier(neighbors=NearestNeighbors(metric="chebyshev")).fit(
        ITEMS, NAMES
    ),
    "pieces in a given number": lambda: DPLMClassifier(n_components=2, local="plane").fit(ITEMS, NAMES.astype(str)),
}

FITTED = (
    MACHINES
    | {name: recipe(name) for name in RECIPES}
    | {
        "auto regressor": auto_regressor,
        "regressor with a chosen power": lambda: linked_regressor(link="power"),
        "regressor with a learned link": lambda: linked_regressor(link="concave", validation_fraction=0.4),
        "regressor with an exponent of a base distance": lambda: linked_regressor(
            base_distances=[cityblock], base_exponents="auto"
        ),
        "regressor with many parameters": rich,
        "approximator": approximator,
        "approximator at vertices": lambda: approximator(method="vertices"),
        "approximator of histograms": lambda: approximator(directions=HistogramFeatures([0.0, 1.0, 2.0])),
        "approximator of objects": lambda: approximator(features=LandmarkFeatures(n_landmarks=4)),
        "approximator of series": lambda: approximator(features=SeriesFeatures(n_path=4, n_quantiles=0, n_windows=0)),
        "ends and paths of series": lambda: SeriesFeatures(n_windows=2).fit(ITEMS),
        "points in clouds": lambda: PointCloudFeatures(n_centers=5).fit(ITEMS[:, :, None]),
        "letters of strings": lambda: StringFeatures().fit(ITEMS.round(1).tolist()),
        "landmarks": lambda: LandmarkFeatures(cityblock, n_landmarks=4).fit(ITEMS),
        "approximator of everything": lambda: approximator(warped_sum, validation_fraction=0.0),
        "pairs": pair_learner,
        "pairs with a line": lambda: pair_learner("sigmoid"),
        "pairs with steps": lambda: pair_learner("isotonic"),
        "triplets": lambda: TripletLearner(**PLAIN).fit(ITEMS.reshape(-1, 3, 3)),
        "quadruplets": lambda: QuadrupletLearner(**FAST, directions="pca").fit(ITEMS.reshape(-1, 4, 3)),
        "large margin": large_margin,
        "large margin with directions": lambda: large_margin(directions="combined", tables="full"),
        "large margin of a frame": lambda: LargeMarginLearner(**PLAIN, tables="warped").fit(FRAME, NAMES),
        "large margin from a prior": lambda: large_margin(prior=Semimetric.l1(ITEMS, weights=[1.0, 2.0, 0.5])),
        "classifier": lambda: classifier(ITEMS, CLASSES),
        "classifier of names": lambda: classifier(ITEMS.astype(np.float32), NAMES, WEIGHTS, weights="distance"),
        "classifier of a frame": lambda: classifier(FRAME, NAMES.astype(str), algorithm="brute"),
        "classifier of hours": lambda: classifier(HOURS, CLASSES, learner=made(LargeMarginLearner, **PLAIN, periodic={0: 24})),
        "classifier with balanced classes": lambda: classifier(ITEMS, NAMES, class_weight="balanced", weights="kernel"),
        "classifier with weights of classes": lambda: classifier(ITEMS, CLASSES, WEIGHTS, class_weight={0: 0.5}),
        "kernel ridge": lambda: KernelRidgeLearner().fit(ITEMS, ITEMS.sum(axis=1), WEIGHTS),
        "kernel ridge of a frame": lambda: KernelRidgeLearner("classes", effort="fast").fit(FRAME, NAMES.astype(str)),
        "machine of values": lambda: SemimetricRegressor().fit(FRAME, ITEMS[:, 0], WEIGHTS),
        "machine of classes": lambda: SemimetricClassifier(predictor="kernel_ridge").fit(ITEMS, NAMES, WEIGHTS),
        "regressor of values": lambda: SemimetricRegressor(average="median").fit(ITEMS, ITEMS.sum(axis=1)),
        "regressor by votes": lambda: regressor_of(ITEMS, ITEMS.sum(axis=1), WEIGHTS),
        "regressor of a frame": lambda: regressor_of(FRAME, ITEMS[:, 0], n_neighbors=2),
        "regressor with a base distance": lambda: regressor_of(
            ITEMS, ITEMS.sum(axis=1), learner=made(DistanceRegressor, **FAST, base_distances=[cityblock])
        ),
        "clusters": lambda: SemimetricClusterer("l1", n_clusters=3, random_state=1).fit(ITEMS),
        "imputer": lambda: SemimetricImputer(n_neighbors=2).fit(FRAME),
        "outliers": lambda: SemimetricOutlierDetector("l1", n_neighbors=3).fit(ITEMS),
        "outliers of a frame": lambda: SemimetricOutlierDetector(method="distance", n_neighbors=2, contamination=0.2).fit(
            FRAME
        ),
        "clusters of a frame": lambda: SemimetricClusterer(n_clusters=2).fit(FRAME, cannot_link=[(0, 1)]),
        "clusters with a learner": lambda: SemimetricClusterer("l1", learner=PairLearner(**FAST), n_clusters=2).fit(
            ITEMS, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(0, 2), (1, 4), (3, 6)]
        ),
        "transformer": lambda: SemimetricNeighborsTransformer(fitted("pairs")[0].semimetric_, n_neighbors=3).fit(ITEMS),
        "transformer with a learner": lambda: SemimetricNeighborsTransformer(
            learner=LargeMarginLearner(**PLAIN), mode="connectivity"
        ).fit(FRAME, CLASSES),
    }
)


def bases_of(name):
    """The base distances with which a row is loaded."""
    return [cityblock] if "base" in name.split() else []


def items_of(model):
    """Items that the model takes, some outside of its range."""
    if getattr(model, "features", None) is not None or isinstance(model, ObjectFeatures):
        items = 1.2 * ITEMS[::-1]
        return items[:, :, None] if isinstance(model, PointCloudFeatures) else items
    if not hasattr(model, "index_") and not hasattr(model, "semimetric_"):
        X = (ITEMS if getattr(model, "missing", "error") == "error" else HOLES)[::-1, : model.n_features_in_]
        X = X if getattr(model, "extrapolation", "clip") == "error" else 1.2 * X
        return pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
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
    if name != "pair_distance" and (name not in OF_TUPLES or not hasattr(model, "semimetric_") or hasattr(model, "index_")):
        return (X,)
    if getattr(model, "preprocessor", None) is not None:
        return (np.arange(36).reshape(-1, 2),)
    size = 2 if name == "pair_distance" else getattr(getattr(model, "_kind", None), "size", 2)
    return (np.asarray(X).reshape(48 // size, size, -1),)
