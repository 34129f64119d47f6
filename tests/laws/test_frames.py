"""A table is the same in whatever frame it comes, and what cannot be a frame is an array, as NumPy sees it."""

import narwhals
import numpy as np
import pytest
from cases import assert_refused
from learners import made
from sklearn.preprocessing import StandardScaler

import semimetric as sm

pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

RNG = np.random.default_rng(0)
X = RNG.random((40, 3))
Y = (X[:, 0] > 0.5).astype(int)
NUMBERS = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
KINDS = {"size": X[:, 0], "kind": ["u", "v", "v", "w"] * 10}
QUICK = {"n_knots": 3, "alpha": 1e-2, "directions": None, "n_passes": 1}


def frames(columns):
    """The same table in frames of several libraries, with text as categories."""
    texts = [name for name, column in columns.items() if isinstance(column, list)]
    table = polars.DataFrame(columns, schema_overrides=dict.fromkeys(texts, polars.Categorical))
    yield pandas.DataFrame(columns).astype(dict.fromkeys(texts, "category"))
    yield table
    yield pyarrow.table(
        {k: pyarrow.array(v).dictionary_encode() if k in texts else pyarrow.array(v) for k, v in columns.items()}
    )
    yield narwhals.from_native(table)


ESTIMATORS = {
    "large margin": (made(sm.LargeMarginLearner, **QUICK, tables="warped"), "transform"),
    "classifier": (sm.SemimetricClassifier(made(sm.LargeMarginLearner, **QUICK)), "predict_proba"),
    "regressor": (sm.SemimetricRegressor(sm.DistanceRegressor(n_knots=3, alpha=1e-2), n_pairs=50), "predict"),
    "linear classifier": (sm.EmbeddedLinearClassifier(), "decision_function"),
    "linear regressor": (sm.EmbeddedLinearRegressor(), "predict"),
    "embedding": (sm.PL1Embedding(sparse_output=False), "transform"),
    "anchors": (sm.ConicEmbedding(anchors="class"), "transform"),
    "support points": (sm.SupportPointClassifier(), "predict"),
    "pieces": (sm.DPLMClassifier(n_components=1), "decision_function"),
    "planes": (sm.HyperplaneMixture(1), "predict"),
    "clusters": (sm.SemimetricClusterer(n_clusters=3), "transform"),
    "outliers": (sm.SemimetricOutlierDetector(n_neighbors=3), "score_samples"),
    "graph": (sm.SemimetricNeighborsTransformer(learner=made(sm.LargeMarginLearner, **QUICK)), "transform"),
}


def quick(names):
    """Classifier, graph and pieces take seconds; outliers and the linear classifier read frames by the same functions."""
    long = {"classifier", "graph", "pieces"}
    return pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in long)) for name in names])


@quick(ESTIMATORS)
@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning", "ignore:X does not have valid feature names")
def test_a_frame_of_any_library_is_its_numbers(name):
    model, method = ESTIMATORS[name]
    weighted = {"sample_weight": 1.0 + np.arange(40) % 3} if "sample_weight" in model.fit.__code__.co_varnames else {}
    want = getattr(model.fit(X, Y, **weighted), method)(X)
    for frame in frames(NUMBERS):
        got = getattr(model.fit(frame, Y, **weighted), method)(frame)
        if name == "graph":
            want, got = (np.asarray(g.todense()) for g in (want, got)) if hasattr(want, "todense") else (want, got.toarray())
        np.testing.assert_array_equal(got, want)
        if hasattr(StandardScaler().fit(frame), "feature_names_in_"):  # older versions know fewer frames
            assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.slow
def test_categories_and_tuples_of_any_frame_are_the_same():
    models = [made(sm.LargeMarginLearner, **QUICK).fit(frame, Y) for frame in frames(KINDS)]
    for model, frame in zip(models, frames(KINDS), strict=True):
        assert model.semimetric_.schema.kinds == ("numeric", "categorical")
        np.testing.assert_array_equal(model.semimetric_.pairwise(frame), models[0].semimetric_.pairwise(next(frames(KINDS))))
    index = RNG.integers(0, 40, (80, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]]).sum(axis=1)
    learned = [
        sm.DistanceRegressor(n_knots=3, alpha=1e-2, preprocessor=f).fit(index, y).predict(index) for f in frames(NUMBERS)
    ]
    for distances in learned:
        np.testing.assert_array_equal(distances, learned[0])


def test_names_are_held_against_those_of_the_fit_and_lazy_frames_are_refused():
    d = made(sm.LargeMarginLearner, **QUICK).fit(next(frames(NUMBERS)), Y).semimetric_
    for frame in frames(dict(reversed(NUMBERS.items()))):
        assert_refused(lambda frame=frame: d.pairwise(frame), "c, b, a", "a, b, c are required", "in its order")
    lazy = polars.LazyFrame(NUMBERS)
    for call in (lambda: d.pairwise(lazy), lambda: sm.SemimetricClassifier().fit(lazy, Y), lambda: sm.PL1Embedding().fit(lazy)):
        assert_refused(call, "lazy frame", "a table is required", "collect()")


class Exchanged:
    """An array of another library, which NumPy reads by one of its protocols."""

    def __init__(self, values):
        self.values = values
        self.shape, self.ndim, self.dtype = values.shape, values.ndim, values.dtype

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return self.values[rows]


class ByArray(Exchanged):
    """By ``__array__``."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


class ByInterface(Exchanged):
    """By ``__array_interface__``."""

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


@quick(["large margin", "regressor", "linear classifier", "linear regressor", "anchors", "pieces"])
@pytest.mark.parametrize("kind", [ByArray, ByInterface])
@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_an_array_of_another_library_is_what_numpy_sees(name, kind):
    model, method = ESTIMATORS[name]
    want = getattr(model.fit(X, Y), method)(X)
    got = getattr(model.fit(kind(X), kind(Y)), method)(kind(X))
    assert abs(got - want).max() == 0
