"""Every public call that takes data, one argument at a time: a new one joins by one line."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cases
import matplotlib.pyplot as plt
import numpy as np
from learners import made
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import semimetric as sm
from hostile.forms import NAMES, NEW_CATEGORIES, OBJECTS, ODD_OBJECTS
from semimetric import datasets, out_of_core, plotting

N, F = 24, 3  # items and features


@dataclass(frozen=True)
class Argument:
    """One argument of one public call.

    Parameters
    ----------
    plain : ndarray
        The argument as a plain array of small whole numbers, float64 or (row numbers) int64.
    call : callable
        ``call(argument)`` gives the answer: an array, or a tuple of arrays.
    takes : set of str
        Names of bad data that are of use at this argument.
    refuses : set of str
        Names of forms that may be refused at this argument.
    sparse : bool
        Whether sparse matrices are of use at this argument; else they are bad.
    """

    plain: np.ndarray
    call: Callable
    takes: frozenset = frozenset()
    refuses: frozenset = frozenset()
    sparse: bool = False


ARGUMENTS = {}


def add(name, plain, call, *, takes=(), refuses=(), sparse=False):
    ARGUMENTS[name] = Argument(plain, call, frozenset(takes), frozenset(refuses), sparse)


def whole(*shape, seed=0, high=9):
    """Small whole numbers as floats."""
    return np.random.default_rng(seed).integers(0, high, shape).astype(float)


ITEMS = whole(N, F)
OTHERS = ITEMS[::-1].copy()
PAIRS = whole(60, 2, F, seed=2)
CLASSES = np.arange(N) % 2.0
WEIGHTS = 1 + whole(60, seed=5, high=4)
PLAIN = {"n_knots": 3, "alpha": 1e-2}
MIXED = {"categorical_features": [0], "periodic": {1: 4.0}}


def length(pairs):
    """The true distance of pairs of points, shape (m, 2, F)."""
    return np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 2.0, 3.0]


def nearer_first(tuples, near, far, swapped, points):
    """The tuples over these points in the order of their distances; those that tie are left out."""
    a, b = (length(points(tuples[:, side])) for side in (near, far))
    return np.where((a > b).reshape(-1, *[1] * (tuples.ndim - 1)), tuples[:, swapped], tuples)[a != b]


ORDERS = {3: ([0, 1], [0, 2], [0, 2, 1]), 4: ([0, 1], [2, 3], [2, 3, 0, 1])}
SIZES = {sm.TripletLearner: 3, sm.QuadrupletLearner: 4}


def examples(learner, *, by_row):
    """Tuples that a learner can learn from, as points or as row numbers of `ITEMS`, and their targets."""
    size = SIZES.get(type(learner), 2)
    index = np.stack([np.random.default_rng(k).permutation(N)[:size] for k in range(60)])
    tuples, points = (index, ITEMS.__getitem__) if by_row else (whole(60, size, F, seed=size), np.asarray)
    if size > 2:
        return nearer_first(tuples, *ORDERS[size], points), None
    y = length(points(tuples))
    return tuples, np.where(y > np.median(y), -1.0, 1.0) if isinstance(learner, sm.PairLearner) else y


def distances_of(model):
    """What a fitted learner of a distance says of the same items."""
    return model.semimetric_.pairwise(ITEMS)


def dense(answer):
    if isinstance(answer, tuple):
        return tuple(map(dense, answer))
    return answer.toarray() if sparse.issparse(answer) else np.asarray(answer)


LEARNERS = {
    "DistanceRegressor": sm.DistanceRegressor(**PLAIN),
    "warped DistanceRegressor": sm.DistanceRegressor(**PLAIN, tables="warped"),
    "mixed DistanceRegressor": made(sm.DistanceRegressor, **PLAIN, **MIXED),
    "PairLearner": sm.PairLearner(**PLAIN, directions=None),
    "TripletLearner": sm.TripletLearner(**PLAIN, directions=None),
    "QuadrupletLearner": sm.QuadrupletLearner(**PLAIN, directions=None),
}


def arguments_of_learners(name, learner):
    mixed = name.startswith("mixed")
    tables = {"takes": NEW_CATEGORIES if mixed else (), "refuses": ODD_OBJECTS if mixed else ()}
    tuples, y = examples(learner, by_row=False)
    index, y_by_row = examples(learner, by_row=True)
    weights = WEIGHTS[: len(tuples)]

    def fit(tuples, y, weights=None, preprocessor=None):
        return distances_of(clone(learner).set_params(preprocessor=preprocessor).fit(tuples, y, sample_weight=weights))

    @cache
    def fitted():
        return clone(learner).fit(tuples, y)

    add(f"{name}.fit(points)", tuples, lambda t: fit(t, y), **tables)
    add(f"{name}.fit(rows)", index, lambda t: fit(t, y_by_row, preprocessor=ITEMS))
    add(f"{name}(preprocessor)", ITEMS, lambda X: fit(index, y_by_row, preprocessor=X), sparse=True, **tables)
    add(f"{name}.fit(sample_weight)", weights, lambda w: fit(tuples, y, w), takes={"flat", "nothing"})
    if y is not None:
        add(f"{name}.fit(y)", y, lambda values: fit(tuples, values), takes={"flat"})
    add(f"{name}.pair_distance(points)", PAIRS, lambda t: fitted().pair_distance(t), **tables)
    add(f"{name}.predict(points)", tuples, lambda t: fitted().predict(t), **tables)


MARGIN = made(sm.LargeMarginLearner, **PLAIN, directions=None, tables="warped", n_passes=1)
ESTIMATORS = {
    "LargeMarginLearner": MARGIN,
    "SemimetricClassifier": sm.SemimetricClassifier(MARGIN, n_neighbors=2),
    "SemimetricRegressor": sm.SemimetricRegressor(sm.DistanceRegressor(**PLAIN), n_neighbors=2, n_pairs=80),
    "DistanceApproximator": made(sm.DistanceApproximator, cases.cityblock, n_pairs=80, **PLAIN),
    "EmbeddedLinearClassifier": sm.EmbeddedLinearClassifier(sm.PL1Embedding(3), tol=1.0),
    "EmbeddedLinearRegressor": sm.EmbeddedLinearRegressor(sm.PL1Embedding(3), tol=1.0),
    "linear EmbeddedLinearClassifier": sm.EmbeddedLinearClassifier("linear", tol=1.0),
    "linear EmbeddedLinearRegressor": sm.EmbeddedLinearRegressor("linear", tol=1.0),
    "DPLMClassifier": sm.DPLMClassifier(chains=sm.GibbsChains(n_sweeps=20, n_chains=1, refine=False), w_prior=1000.0),
    "HyperplaneMixture": sm.HyperplaneMixture(n_sweeps=20, n_chains=1),
    "SupportPointClassifier": sm.SupportPointClassifier(),
    "BoundaryPoints": sm.BoundaryPoints(),
    "SemimetricNeighborsTransformer": sm.SemimetricNeighborsTransformer(learner=MARGIN, n_neighbors=2),
    "SemimetricClusterer": sm.SemimetricClusterer(sm.Semimetric.l1(ITEMS), n_clusters=2),
    "SemimetricImputer": sm.SemimetricImputer(sm.Semimetric.l1(ITEMS), n_neighbors=2),
    "SemimetricOutlierDetector": sm.SemimetricOutlierDetector(sm.Semimetric.l1(ITEMS), n_neighbors=2),
}
USES = {
    "DistanceApproximator": {},
    "BoundaryPoints": {},
    "LargeMarginLearner": {"transform": MARGIN},
    "SemimetricNeighborsTransformer": {"transform": None},
    "SemimetricClusterer": {"predict": None, "transform": None},
    "SemimetricImputer": {"transform": None},
    "SemimetricOutlierDetector": {"predict": None, "score_samples": None},
}

WITHOUT_TARGETS = (
    "DistanceApproximator", "HyperplaneMixture", "SemimetricClusterer", "SemimetricImputer", "SemimetricOutlierDetector",
)  # fmt: skip


def arguments_of_estimators(name, estimator):
    of_numbers = name.endswith("Regressor")
    y = length(np.stack([ITEMS, OTHERS], axis=1)) if of_numbers else CLASSES
    takes_sparse = get_tags(estimator).input_tags.sparse
    uses = [m for m in USES.get(name, ("predict", "decision_function", "kneighbors", "predict_proba")) if hasattr(estimator, m)]

    @cache
    def fitted():
        return clone(estimator).fit(ITEMS, y)

    def answer(model):
        if isinstance(model, sm.BoundaryPoints):
            return model.boundary_points_
        return dense(getattr(model, uses[0])(ITEMS)) if uses else distances_of(model)

    add(f"{name}.fit(X)", ITEMS, lambda X: answer(clone(estimator).fit(X, y)), sparse=takes_sparse)
    if name not in WITHOUT_TARGETS:
        classes = {} if of_numbers else {"takes": {"flat", "one axis more", *NAMES}, "refuses": OBJECTS}
        numbers = {"takes": {"flat", "one axis more"}}
        add(f"{name}.fit(y)", y, lambda values: answer(clone(estimator).fit(ITEMS, values)), **(classes or numbers))
    for use in uses:
        nothing = {"nothing"} if name.startswith("Semimetric") and use != "transform" else ()
        add(f"{name}.{use}(X)", ITEMS, lambda X, u=use: dense(getattr(fitted(), u)(X)), takes=nothing, sparse=takes_sparse)


GAPS = ("NaN", "NaN as float16", "None", "NaN as an object", "a masked value")
MAPS = {
    **{f"map, {name}": embedding for name, embedding in cases.MAPS.items() if embedding.missing == "error"},
    "PL1Embedding that keeps zeros": sm.PL1Embedding(3, zero_preserving=True),
    "PL2Embedding that keeps zeros": sm.PL2Embedding(3, zero_preserving=True),
    "ConicEmbedding": sm.ConicEmbedding(random_state=0),
    "BSplineEmbedding": sm.BSplineEmbedding(4),
    "AdditiveChi2Embedding": sm.AdditiveChi2Embedding(),
    "FourierEmbedding": sm.FourierEmbedding(degree=2),
    "HermiteEmbedding": sm.HermiteEmbedding(degree=2),
    "UniformDirections": sm.UniformDirections(n_directions=3),
    "PartitionFeatures": sm.PartitionFeatures("random", n_trees=3, random_state=0),
    "HistogramFeatures": sm.HistogramFeatures(np.arange(3.0)[:, None]),
}


def arguments_of_maps(name, embedding):
    keeps = getattr(embedding, "zero_preserving", False)

    @cache
    def fitted():
        return clone(embedding).fit(ITEMS, CLASSES)

    takes = GAPS if name == "PartitionFeatures" else ()  # in which missing values have a side of each node
    call = {"takes": takes, "sparse": keeps}
    add(f"{name}.fit(X)", ITEMS, lambda X: dense(clone(embedding).fit(X, CLASSES).transform(ITEMS)), **call)
    add(f"{name}.transform(X)", ITEMS, lambda X: dense(fitted().transform(X)), **call)


@cache
def distance(kind="tables"):
    """A learned distance."""
    recipe = {"tables": {}, "warped": {"tables": "warped"}, "joint": {"groups": [(0, 1), (2,)]}, "pca": {"directions": "pca"}}
    recipe |= {"mixed": MIXED}
    return made(sm.DistanceRegressor, **PLAIN | recipe[kind]).fit(PAIRS, length(PAIRS)).semimetric_


def arguments_of_distances(kind):
    mixed = {"sparse": True, **({"takes": NEW_CATEGORIES} if kind == "mixed" else {})}
    add(f"{kind}: pairwise(X)", ITEMS, lambda X: distance(kind).pairwise(X), **mixed)
    takes = {"sparse": True, "takes": {"nothing", *mixed.get("takes", ())}}
    add(f"{kind}: pairwise(X, Y)", ITEMS, lambda Y: distance(kind).pairwise(OTHERS, Y), **takes)
    add(f"{kind}: paired", ITEMS, lambda X: distance(kind).paired(X, OTHERS), **mixed)
    add(f"{kind}: outside", ITEMS, lambda X: distance(kind).outside(X), **mixed)
    takes = {"takes": {"flat", *mixed.get("takes", ())}}
    # Two arrays of floats are one compiled call, which has the distance of other forms up to rounding.
    add(f"{kind}: d(x, y)", ITEMS[0], lambda x: np.array(float(f"{distance(kind)(x, ITEMS[1]):.12g}")), **takes)
    add(f"{kind}: d(x, list)", ITEMS[0], lambda x: np.array(distance(kind)(x, ITEMS[1].tolist())), **takes)
    add(f"{kind}: contributions", ITEMS, lambda X: distance(kind).contributions(X, OTHERS), **mixed)


@cache
def searched():
    return sm.NeighborIndex(distance()).fit(ITEMS)


def of_shards(X):
    with tempfile.TemporaryDirectory() as folder:
        return sm.ShardedIndex.build(Path(folder) / "s", distance(), X, n_shards=2).kneighbors(ITEMS, 3)


def arguments_of_search():
    add("NeighborIndex.fit(X)", ITEMS, lambda X: sm.NeighborIndex(distance()).fit(X).kneighbors(ITEMS, 3), sparse=True)
    added = {"sparse": True}
    add("NeighborIndex.add(X)", ITEMS, lambda X: sm.NeighborIndex(distance()).fit(ITEMS).add(X).kneighbors(ITEMS, 3), **added)
    for algorithm in ("exact", "approximate", "graph", "brute"):
        add(
            f"kneighbors(X), {algorithm}", ITEMS, lambda X, a=algorithm: searched().kneighbors(X, 3, algorithm=a),
            takes={"nothing"}, sparse=True,
        )  # fmt: skip
    nothing = {"takes": {"nothing"}, "sparse": True}
    add("radius_neighbors(X)", ITEMS, lambda X: tuple(map(np.concatenate, searched().radius_neighbors(X, 5.0))), **nothing)
    add("kneighbors_graph(X)", ITEMS, lambda X: dense(searched().kneighbors_graph(X, 3, "distance")), **nothing)
    add("estimate_recall(X)", ITEMS, lambda X: np.array(searched().estimate_recall(X, 3)[:2]), **nothing)
    add("ShardedIndex.build(X)", ITEMS, of_shards)


def arguments_of_parts():
    def fit(pairs, y, weights=None):
        return distances_of(out_of_core.fit(sm.DistanceRegressor(**PLAIN), pairs, y, weights))

    y, warped = length(PAIRS), distance("warped")
    add("out_of_core.fit(pairs)", PAIRS, lambda t: fit(t, y))
    add("out_of_core.fit(y)", y, lambda values: fit(PAIRS, values), takes={"flat"})
    add("out_of_core.fit(weights)", WEIGHTS, lambda w: fit(PAIRS, y, w), takes={"flat", "nothing"})
    parts = {"memory_limit": "5 kB"}
    add("out_of_core.transform(X)", ITEMS, lambda X: np.concatenate(list(out_of_core.transform(warped, X, **parts))))


def drawn(plot, *arguments):
    """The points of the lines in a picture."""
    figure, axes = plt.subplots(figsize=(1, 1))
    try:
        plot(*arguments, ax=axes)
        return np.concatenate([np.zeros(0), *(np.ravel(line.get_xydata()) for line in axes.lines)])
    finally:
        plt.close(figure)


def arguments_of_pictures():
    d, flat = distance(), {"takes": {"flat"}}
    basis = sm.BSplineEmbedding(4).fit(ITEMS)
    x, y = ITEMS[:2]
    add("plot_around(x)", x, lambda v: drawn(plotting.plot_around, d, v, [0]), **flat)
    add("plot_around(X)", ITEMS, lambda X: drawn(plotting.plot_around, d, x, [0], X), takes={"nothing"}, sparse=True)
    add("plot_contributions(x)", x, lambda v: drawn(plotting.plot_contributions, d, v, y), **flat)
    add("plot_predicted(true)", x, lambda v: drawn(plotting.plot_predicted, v, y), **flat)
    add("plot_basis(X)", ITEMS, lambda X: drawn(plotting.plot_basis, basis, X))
    places = np.arange(3.0)[:, None]
    add("exact_emd(X)", 1 + ITEMS, lambda X: datasets.exact_emd(X, 1 + ITEMS, places), **flat)


def told(report):
    """The numbers that a report tells of items and pairs."""
    facts = report.facts
    columns = [[column.get(name, 0.0) for name in ("least", "median", "largest")] for column in facts["data"]["columns"]]
    of_pairs = [value for value in (facts["pairs"] or {}).values() if value is not None]
    return np.array([*np.ravel(columns).astype(float), *facts["importances"]["terms"].values(), *of_pairs])


def arguments_of_reports():
    d, index = distance(), np.arange(N).reshape(-1, 2)
    add("report(X)", ITEMS, lambda X: told(sm.report(d, X)), takes={"nothing"}, sparse=True)
    machine = sm.EmbeddedLinearRegressor(sm.PL2Embedding(3), tol=1.0).fit(ITEMS, ITEMS[:, 0])
    planes = sm.DPLMClassifier(n_components=2).fit(ITEMS, ITEMS[:, 0] > np.median(ITEMS[:, 0]))
    for name, model in (("machine", machine), ("planes", planes)):
        add(f"report({name}, X)", ITEMS, lambda X, m=model: told(sm.report(m, X)), takes={"nothing"}, sparse=True)
    values = ITEMS[:, 0]
    add("report(machine, y)", values, lambda y: told(sm.report(machine, ITEMS, y)), takes={"flat", "nothing"})
    add("report(pairs as rows)", index, lambda p: told(sm.report(d, ITEMS, pairs=p, distances=np.ones(len(index)))))
    add("report(pairs)", PAIRS, lambda p: told(sm.report(d, pairs=p, distances=length(PAIRS))))
    add("report(distances)", length(PAIRS), lambda y: told(sm.report(d, pairs=PAIRS, distances=y)), takes={"flat"})


def all_arguments():
    """Every argument by its name."""
    for name, learner in LEARNERS.items():
        arguments_of_learners(name, learner)
    for name, estimator in ESTIMATORS.items():
        arguments_of_estimators(name, estimator)
    for name, embedding in MAPS.items():
        arguments_of_maps(name, embedding)
    for kind in ("tables", "warped", "joint", "pca", "mixed"):
        arguments_of_distances(kind)
    arguments_of_search()
    arguments_of_parts()
    arguments_of_pictures()
    arguments_of_reports()
    return ARGUMENTS
