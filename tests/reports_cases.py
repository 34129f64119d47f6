"""Distances of every kind that a page must compute as Python does."""

import mixed_distances
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import semimetric as sm
from semimetric import Grid, PairEmbedding, Semimetric
from semimetric.distances.pairs.scales_and_tables import scales_of

KINDS = ("numeric", "periodic", "categorical", "numeric")
NAMES = ("weight", "hour", "colour", "height")
KNOTS = ([0.0, 1.0, 2.5, 4.0], [0.0, 6.0, 13.0, 24.0], [0.0, 1.0, 2.0, 3.0], [-1.0, 0.5, 2.0])


def grid(missing=False):
    return Grid(KNOTS, KINDS, [missing] * 4)


def vectors(n, seed, gaps=False):
    """Encoded vectors in and around the range, on knots, and with missing values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 5, n), rng.uniform(0, 24, n), rng.integers(0, 4, n), rng.uniform(-2, 3, n)])
    X[: n // 4, 0] = rng.choice(KNOTS[0], n // 4)
    X[: n // 4, 1] = rng.choice(KNOTS[1][:-1], n // 4)
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def of(embedding, seed=0, link="identity", low=0.05):
    rng = np.random.default_rng(seed)
    epsilon = rng.uniform(0.1, 1.0, (4, 2)) * embedding.grid.extends[:, None]
    return Semimetric(embedding, rng.uniform(low, 1.0, embedding.n_columns), epsilon, NAMES, link=link)


def _touched(**options):
    whole = PairEmbedding(grid(), [(0,), (1, 2), (3, 0)], **options)
    return PairEmbedding(
        grid(), whole.groups, touched=[v.keys[::3] for v in whole.vertices],
        unseen_slopes=np.array([0.3, 0.1, 0.7, 0.2]), **options,
    )  # fmt: skip


def _large():
    """A joint table that is too large to be whole, of which pairs touch a few vertices."""
    fine = Grid([np.linspace(0, 4, 40), np.linspace(0, 24, 30), KNOTS[2], np.linspace(-1, 2, 30)], KINDS)
    whole = PairEmbedding(fine, [(0, 3), (1, 2)])
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(0, 4, 40), rng.uniform(0, 24, 40), rng.integers(0, 4, 40), rng.uniform(-1, 2, 40)])
    items = whole.locate(X)
    touched = whole.touched_by(items, rng.integers(0, 40, 200), rng.integers(0, 40, 200))
    return whole.restricted(touched, np.array([0.3, 0.1, 0.7, 0.2]))


DISTANCES = {
    "tables": lambda: of(PairEmbedding(grid())),
    "tables of roots": lambda: of(PairEmbedding(grid()), link="sqrt"),
    "missing": lambda: of(PairEmbedding(grid(True))),
    "all pairs": lambda: of(PairEmbedding(grid(True), "pairs")),
    "swapped": lambda: of(PairEmbedding(grid(), [(0,), (1,), (3, 2), (0, 1, 3)], symmetry="swap")),
    "asymmetric": lambda: of(PairEmbedding(grid(True), [(0,), (1,), (2, 3)], symmetry="none")),
    "no axioms": lambda: of(PairEmbedding(grid(), symmetry="none", zero_diagonal=False), low=-0.5),
    "touched": lambda: of(_touched()),
    "touched and asymmetric": lambda: of(_touched(symmetry="none")),
    "too large to be whole": lambda: of(_large()),
    "by difference": lambda: of(PairEmbedding(grid()).tied_by_difference({0, 3})),
    "one weight": lambda: of(PairEmbedding(grid()).with_one_weight({2})),
    "scales and tables": lambda: of(scales_of(grid(), [(f,) for f in range(4)])),
    "scales and roots": lambda: of(scales_of(grid(), [(f,) for f in range(4)]), link="sqrt"),
    "scales with gaps": lambda: of(scales_of(grid(True), [(f,) for f in range(4)])),
    "scales with gaps and roots": lambda: of(scales_of(grid(True), [(f,) for f in range(4)]), link="sqrt"),
    "a constant column": lambda: of(PairEmbedding(Grid([[1.0], *KNOTS[1:]], KINDS))),
}


@pytest.fixture(params=DISTANCES)
def distance(request):
    return DISTANCES[request.param]()


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, load_iris().target_names[y]


@pytest.fixture(scope="module")
def learned(iris):
    X, y = iris
    return sm.LargeMarginLearner(n_knots=4, alpha=1e-2, directions="lda", tables="warped").fit(X, y)


NO_ITEMS = [
    None, True, 3, 0.5, "text", "<script>alert(1)</script>", {}, {"0": []}, [], [[]], [[], []], [None, None], ["a", "b"],
]  # fmt: skip
"""Messages that no page sends."""


def every_kind(n=120, gaps=True):
    """A frame of pandas with a column of every kind and dtype that a report reads, and a class for each row."""
    rng = np.random.default_rng(0)
    when = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 700 * 86_400, n), unit="s")
    table = pd.DataFrame({"age": rng.integers(18, 80, n), "pay": rng.lognormal(7, 0.5, n).round()})
    table["visits"] = pd.array(rng.integers(0, 9, n), dtype="Int64")
    table["rooms"] = rng.integers(0, 9, n).astype("int8")
    table["weight"] = rng.random(n).astype("float32")
    table["colour"] = pd.Categorical(rng.choice(["red", "blue", "green"], n))
    table["grade"] = pd.Categorical(rng.integers(1, 4, n), ordered=True)
    table["town"] = rng.choice(["Rome", "Oslo"], n)
    table["street"] = table["town"].astype(object)
    table["land"] = pd.array(table["town"], dtype="string")
    table["when"] = when
    table["zoned"] = (when + pd.Timedelta("3h")).tz_localize("UTC").tz_convert("Europe/Berlin")
    table["day"] = when.strftime("%Y-%m-%d")
    table["hour"] = rng.uniform(0, 24, n)
    table["member"] = rng.random(n) < 0.5
    table["maybe"] = pd.array(rng.random(n) < 0.5, dtype="boolean")
    for name in ("pay", "visits", "town", "colour", "when", "maybe", "day") if gaps else ():
        table.loc[rng.random(n) < 0.1, name] = None
    return table, np.where((table["age"] > 40) ^ (table["colour"] == "red"), "some", "others")


def of_every_kind():
    """A fitted classifier of `every_kind`, its items and their classes."""
    table, y = every_kind()
    options = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped"}
    learner = sm.LargeMarginLearner(columns=sm.Columns(periodic={"hour": 24}), **options)
    return sm.SemimetricClassifier(learner, n_neighbors=3).fit(table, y), table, y


def made_with_directions(groups, *, bends, gaps, link):
    return mixed_distances.distance(3, groups, bends=bends, gaps=gaps, link=link)


def _classes(X, n):
    found = np.where(X[:, 0] > 0.3, 2 if n > 2 else 1, 0)
    return np.where((X[:, 1] > 103) & (found == 0), 1, found) if n > 2 else found


def _rows(n, seed, gaps):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 10, 0.1] + [0, 100, 0]
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def machine(embedding, *, n_classes=3, gaps=False, scaled=False, **options):
    """A fitted machine, its items and their classes, or values if there are no classes."""
    X = _rows(160, 0, gaps)
    full = np.nan_to_num(X)
    kind = sm.EmbeddedLinearClassifier if n_classes else sm.EmbeddedLinearRegressor
    y = _classes(full, n_classes) if n_classes else np.sin(full[:, 0]) + full[:, 1] / 10
    model = kind(embedding, tol=1e-2, **options)
    return (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, y), X, y


def logistic(n_classes):
    X = _rows(160, 0, False)
    y = _classes(X, n_classes)
    return make_pipeline(StandardScaler(), sm.PL1Embedding(4), LogisticRegression()).fit(X, y), X, y


def boundary(kind, n_classes=2, **options):
    """A fitted classifier by pieces, its items and their classes."""
    X = _rows(90, 0, False)[:, :2] / [1, 10]
    y = _classes(X * [1, 10], n_classes)
    if kind is sm.DPLMClassifier:
        options = {"n_components": 2, "random_state": 0} | options
    return kind(**options).fit(X, y), X, y


MACHINES = {
    "PL1": lambda: machine(sm.PL1Embedding(4)),
    "PL1, two classes with probabilities": lambda: machine(sm.PL1Embedding(4), n_classes=2, calibration="logistic"),
    "PL1 that goes on": lambda: machine(sm.PL1Embedding(4, extrapolation="linear"), n_classes=0),
    "PL1 that refuses": lambda: machine(sm.PL1Embedding(4, extrapolation="error")),
    "PL1 with gaps": lambda: machine(sm.PL1Embedding(4, missing="indicator"), gaps=True, calibration="isotonic"),
    "PL2": lambda: machine(sm.PL2Embedding(4), calibration="logistic"),
    "PL2 that goes on": lambda: machine(sm.PL2Embedding(4, extrapolation="linear"), scaled=True),
    "PL2 with gaps": lambda: machine(sm.PL2Embedding(3, missing="indicator"), n_classes=0, gaps=True),
    "PL2 with gaps that add nothing": lambda: machine(sm.PL2Embedding(3, missing="zeros"), gaps=True),
    "PL2 from 0": lambda: machine(sm.PL2Embedding(3, zero_preserving=True), n_classes=2),
    "ID of pairs": lambda: machine(sm.IDEmbedding(3, groups=[(1,), (2, 0)])),
    "cubic splines": lambda: machine(sm.BSplineEmbedding(5, degree=3, extrapolation="linear"), scaled=True),
    "quadratic splines with gaps": lambda: machine(sm.BSplineEmbedding(4, degree=2, missing="indicator"), gaps=True),
    "splines and straight lines": lambda: machine(sm.BSplineEmbedding(4, degree=2, penalty_order=2, null_space_ridge=0.1)),
    "waves": lambda: machine(sm.FourierEmbedding(6, span="half"), n_classes=0),
    "polynomials": lambda: machine(sm.HermiteEmbedding(5, scale="standard"), n_classes=2),
    "straight lines": lambda: machine("linear", n_classes=0, scaled=True),
    "cones of columns": lambda: machine(sm.ConicEmbedding(2, "each", anchors="kmeans", n_anchors=2), scaled=True),
    "logistic regression": lambda: logistic(2),
    "logistic regression of three classes": lambda: logistic(3),
}
BOUNDARIES = {
    "planes": lambda: boundary(sm.DPLMClassifier, local="plane"),
    "planes of three classes": lambda: boundary(sm.DPLMClassifier, 3),
    "planes of each of three classes": lambda: boundary(sm.DPLMClassifier, 3, multi_class="ovr"),
    "support points": lambda: boundary(sm.SupportPointClassifier),
    "support points of three classes": lambda: boundary(sm.SupportPointClassifier, 3),
    "support points of a learned distance": lambda: boundary(
        sm.SupportPointClassifier, neighbors=sm.NeighborIndex(sm.Semimetric.l1(np.array([[0.0, 8.0], [1.0, 12.0]])))
    ),
}
PREDICTORS = MACHINES | BOUNDARIES


def scores_of(model, X):
    """The scores of items as public methods give them, shape (n, K)."""
    if isinstance(model, sm.SupportPointClassifier):
        d = None if model.neighbors is None else model.neighbors.semimetric
        points, codes = model.support_points_, model.support_codes_
        between = np.linalg.norm(X[:, None] - points, axis=2) if d is None else d.pairwise(X, points)
        return np.column_stack([between[:, codes == c].min(axis=1) for c in range(len(model.classes_))])
    of = model.decision_function if hasattr(model, "decision_function") else model.predict
    return np.asarray(of(X)).reshape(len(X), -1)


def random_items(X, seed=1):
    """Items in and around the range of others, some of them with missing values where those have some."""
    rng = np.random.default_rng(seed)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    out = low + (high - low) * rng.uniform(-0.3, 1.3, (60, X.shape[1]))
    if np.isnan(X).any():
        out[rng.random(out.shape) < 0.15] = np.nan
    return np.vstack([out, X[:30]])
