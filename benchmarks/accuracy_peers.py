"""What `knn_accuracy.py` compares: every method as a generator of answers for standardised training items and queries.

A family learns once and answers under several names: after the learning, Mahalanobis learners answer with three neighbours, and
again, under the same name and `_k`, with the number of neighbours and their weights chosen by cross-validation, for which the
distance is learned anew without each fold. So the seconds of the second answer include those of the first.
"""

from collections.abc import Callable, Iterator

import numpy as np
from modern_nca import ModernNCA
from recursive_features import RecursiveFeatureMachine
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NearestNeighbors, NeighborhoodComponentsAnalysis
from sklearn.svm import SVC

K = (1, 3, 5, 7, 9, 13, 19, 27, 39)
WEIGHTS = ("uniform", "distance")
FLOOR = 1e-3
Map = Callable[[np.ndarray], np.ndarray]
Learn = Callable[[np.ndarray, np.ndarray], Map]
Answer = tuple[str, np.ndarray, Callable[[], np.ndarray] | None]
"""A name, the classes of the queries, and a call for their probabilities, which is off the clock."""


def metric_learn(name: str) -> object:
    """One of metric-learn's, which passes scikit-learn a keyword that was renamed in 1.8."""
    import sklearn.utils
    import sklearn.utils.validation as validation

    def renamed(function: Callable) -> Callable:
        def call(*args: object, force_all_finite: object = None, **keywords: object) -> object:
            if force_all_finite is not None:
                keywords["ensure_all_finite"] = force_all_finite
            return function(*args, **keywords)

        return call

    if not hasattr(validation, "renamed"):
        for check in ("check_array", "check_X_y"):
            setattr(validation, check, renamed(getattr(validation, check)))
            setattr(sklearn.utils, check, getattr(validation, check))
        validation.renamed = True
    import metric_learn as m

    return {"lmnn": m.LMNN, "itml": m.ITML_Supervised, "scml": m.SCML_Supervised}[name](random_state=0)


def identity(X: np.ndarray, y: np.ndarray) -> Map:
    return lambda items: items


def transformer(make: Callable[[], object]) -> Learn:
    """The map that a learner with ``fit`` and ``transform`` learns."""

    def learn(X: np.ndarray, y: np.ndarray) -> Map:
        return make().fit(X, y).transform

    return learn


def leaves(X: np.ndarray, y: np.ndarray) -> Map:
    """The number of the leaf of an item in each of a forest's hundred trees."""
    return RandomForestClassifier(random_state=0, n_jobs=1).fit(X, y).apply


def extra_leaves(X: np.ndarray, y: np.ndarray) -> Map:
    return ExtraTreesClassifier(random_state=0, n_jobs=1).fit(X, y).apply


def nearest(items: np.ndarray, queries: np.ndarray, metric: str, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances and row numbers of the nearest items, shape (n_queries, k), or of all items if they are fewer."""
    index = NearestNeighbors(n_neighbors=min(k, len(items)), metric=metric, n_jobs=1).fit(items)
    return index.kneighbors(queries)


def shares(distances: np.ndarray, labels: np.ndarray, n_classes: int, k: int, weights: str) -> np.ndarray:
    """Shares of the classes among the k nearest, uniform or by inverse distance, shape (n_queries, n_classes)."""
    distances, labels = distances[:, :k], labels[:, :k]
    w = np.ones_like(distances)
    if weights == "distance":
        coincide = distances == 0
        w = np.where(coincide.any(1, keepdims=True), coincide, 1 / np.where(coincide, 1, distances))
    votes = np.stack([(w * (labels == c)).sum(1) for c in range(n_classes)], axis=1)
    return votes / votes.sum(1, keepdims=True)


def log_loss(probabilities: np.ndarray, y: np.ndarray, floor: float = FLOOR) -> float:
    """The mean of -log of the probability of the right class, at least ``floor``."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(y)), y], floor)).mean())


def chosen(learn: Learn, X: np.ndarray, y: np.ndarray, metric: str, folds: int) -> tuple[int, str]:
    """The number of neighbours and the weights of the fewest errors on the folds, then of the least log loss."""
    n_classes, scores = y.max() + 1, []
    for train, held in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        mapped = learn(X[train], y[train])
        distances, rows = nearest(mapped(X[train]), mapped(X[held]), metric, max(K))
        grid = [shares(distances, y[train][rows], n_classes, k, w) for k in K for w in WEIGHTS]
        scores.append([[(p.argmax(1) != y[held]).sum(), len(held) * log_loss(p, y[held])] for p in grid])
    total = np.sum(scores, axis=0)
    return [(k, w) for k in K for w in WEIGHTS][np.lexsort((total[:, 1], total[:, 0]))[0]]


def neighbors(name: str, learn: Learn, metric: str = "euclidean", folds: int = 3) -> Callable[..., Iterator[Answer]]:
    """Three neighbours under a learned map, then k and weights chosen."""

    def answers(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> Iterator[Answer]:
        mapped = learn(X, y)
        distances, rows = nearest(mapped(X), mapped(T), metric, max(K))
        p = shares(distances, y[rows], y.max() + 1, 3, "uniform")
        yield name, p.argmax(1), lambda: p
        q = shares(distances, y[rows], y.max() + 1, *chosen(learn, X, y, metric, folds))
        yield f"{name}_k", q.argmax(1), lambda: q

    return answers


def estimator(name: str, make: Callable[[], object]) -> Callable[..., Iterator[Answer]]:
    """A classifier with ``predict`` and ``predict_proba``."""

    def answers(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> Iterator[Answer]:
        model = make().fit(X, y)
        yield name, model.predict(T), lambda: model.predict_proba(T)

    return answers


def rbf(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> Iterator[Answer]:
    """C and gamma by cross-validation; probabilities by a sigmoid on the decision values of the same folds."""
    grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": ["scale", 0.01, 0.1]}
    search = GridSearchCV(SVC(), grid, cv=3, n_jobs=1).fit(X, y)
    sigmoid = CalibratedClassifierCV(SVC(**search.best_params_), cv=3, ensemble=False)
    yield "rbf", search.predict(T), lambda: sigmoid.fit(X, y).predict_proba(T)


def modern_nca(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> Iterator[Answer]:
    """One seed, then the mean of the probabilities of three."""
    first = ModernNCA(0).fit(X, y).predict_proba(T)
    yield "modernnca", first.argmax(1), lambda: first
    p = (first + sum(ModernNCA(seed).fit(X, y).predict_proba(T) for seed in (1, 2))) / 3
    yield "modernnca3", p.argmax(1), lambda: p


def semimetric(**parameters: object) -> object:
    from semimetric import SemimetricClassifier

    return SemimetricClassifier(**parameters)


def nca() -> NeighborhoodComponentsAnalysis:
    return NeighborhoodComponentsAnalysis(random_state=0)


FAMILIES: dict[tuple[str, ...], Callable[..., Iterator[Answer]]] = {
    ("semimetric",): estimator("semimetric", semimetric),
    ("semimetric_readable",): estimator("semimetric_readable", lambda: semimetric(predictor="kernel_ridge")),
    ("semimetric_neighbors",): estimator("semimetric_neighbors", lambda: semimetric(predictor="neighbors")),
    ("euclid", "euclid_k"): neighbors("euclid", identity, folds=5),
    ("nca", "nca_k"): neighbors("nca", transformer(nca)),
    ("lmnn", "lmnn_k"): neighbors("lmnn", transformer(lambda: metric_learn("lmnn"))),
    ("itml", "itml_k"): neighbors("itml", transformer(lambda: metric_learn("itml"))),
    ("scml", "scml_k"): neighbors("scml", transformer(lambda: metric_learn("scml"))),
    ("leaves", "leaves_k"): neighbors("leaves", leaves, "hamming"),
    ("extra_leaves", "extra_leaves_k"): neighbors("extra_leaves", extra_leaves, "hamming"),
    ("modernnca", "modernnca3"): modern_nca,
    ("rfm",): estimator("rfm", lambda: RecursiveFeatureMachine(classes=True)),
    ("rbf",): rbf,
    ("forest",): estimator("forest", lambda: RandomForestClassifier(random_state=0, n_jobs=1)),
    ("extra_trees",): estimator("extra_trees", lambda: ExtraTreesClassifier(random_state=0, n_jobs=1)),
    ("boosting",): estimator("boosting", lambda: HistGradientBoostingClassifier(random_state=0)),
}
METHODS = tuple(name for names in FAMILIES for name in names)
LEARNED = ("semimetric", "euclid", "nca", "lmnn", "itml", "scml")  # distances that vote by neighbours
PEERS = {"lmnn": "metric-learn", "itml": "metric-learn", "scml": "metric-learn"}


def package(method: str) -> str:
    """The distribution whose version decides what a method answers."""
    if method.startswith("semimetric"):
        return "semimetric"
    return PEERS.get(method.removesuffix("_k"), "numpy" if method.startswith(("modernnca", "rfm")) else "scikit-learn")


def full(p: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities with a column for every class, those that no training item has included."""
    out = np.zeros((len(p), n_classes))
    out[:, classes] = p
    return out
