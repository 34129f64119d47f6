from functools import partial

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_circles
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from strategies import conic_settings

from semimetric import ConicEmbedding, InputError
from semimetric._kernels.csr_rows import Chunk
from semimetric.vectors.embeddings.conic import conic_kernel

widths = pytest.mark.parametrize(("expand", "concatenate"), [("one", True), ("each", True), ("each", False)])


@widths
@given(setting=conic_settings())
def test_the_map_is_its_slow_twin(expand, concatenate, setting):
    items, sets, p = setting
    embedding = ConicEmbedding(p, expand, anchors=sets, concatenate=concatenate).fit(items)
    rows = embedding.transform(items)
    d = items.shape[1]
    if not concatenate:  # of anchors at the same distance any will do
        total = np.max if p == np.inf else np.sum
        rows = np.column_stack([rows[:, :d], *(total(part, axis=1) for part in np.split(rows[:, d:], len(sets), axis=1))])
        expand = "one"
    assert np.allclose(rows, [reference.conic_row(x, sets, p, expand, concatenate) for x in items])
    assert len(embedding.get_feature_names_out()) == embedding.n_columns_


@pytest.mark.parametrize("expand", ["one", "each"])
@given(setting=conic_settings())
def test_the_kernel_is_the_inner_product_of_the_map(expand, setting):
    items, sets, p = setting
    rows = ConicEmbedding(p, expand, anchors=sets).fit_transform(items)
    assert np.allclose(conic_kernel(items, items[:2], p=p, expand=expand, anchor=sets), rows @ rows[:2].T)
    twin = [[np.dot(*(reference.conic_row(v, [[[0.0] * len(v)]], p, expand) for v in (x, z))) for z in items] for x in items]
    assert np.allclose(conic_kernel(items, items, p=p, expand=expand), twin)


@given(conic_settings(n=8, max_sets=1))
def test_the_distance_to_a_set_is_continuous(setting):
    """min_a ||x - a||_p is 1-Lipschitz in the p-norm, and for p < 1 the sum of powers itself is a metric."""
    items, (anchors,), p = setting
    root = 1.0 if p == np.inf or p < 1 else 1.0 / p
    height = ConicEmbedding(p, anchors=[anchors]).fit_transform(items)[:, -1] ** root
    for x, u in zip(items, height, strict=True):
        for z, v in zip(items, height, strict=True):
            assert abs(u - v) <= reference.cone(x, z, p) ** root + 1e-9


def test_the_nearest_anchor_of_each_feature_jumps_where_all_anchors_do_not():
    anchors, sides = [[0.0, 0.0], [2.0, 4.0]], [[3.0, 1.0 - 1e-9], [3.0, 1.0 + 1e-9]]  # both anchors at distance 4

    def jump(*arguments, **parameters):
        below, above = ConicEmbedding(*arguments, anchors=anchors, **parameters).fit_transform(sides)
        return np.abs(above - below).max()

    assert jump(1, "each", concatenate=False) == pytest.approx(2.0)
    assert jump(1, "each") < 1e-8
    assert jump(1, "one") < 1e-8


@given(conic_settings(max_sets=1), st.data())
def test_polyhedral_conic_functions_are_linear_in_the_maps(setting, data):
    """§S.3: eq. 6 in phi_{1,1}, eq. 7 in phi_{1,d}; the displacement of the first term joins the intercept."""
    items, (anchors, *_), _ = setting
    a, d = anchors[0], items.shape[1]
    w = np.array(data.draw(st.lists(st.integers(-8, 8), min_size=2 * d + 1, max_size=2 * d + 1))) / 4.0
    b = w[-1]
    g = [np.dot(w[:d], x - a) + w[d] * reference.cone(x, a, 1) - b for x in items]
    h = [np.dot(w[:d], x - a) + np.dot(w[d : 2 * d], np.abs(x - a)) - b for x in items]
    one, each = (ConicEmbedding(1, expand, anchors=a).fit_transform(items) for expand in ("one", "each"))
    shift = np.dot(w[:d], a) + b
    assert (one @ w[: d + 1] - shift == g).all()  # quarters: exact
    assert (each @ w[: 2 * d] - shift == h).all()


def test_infinity_is_the_largest_difference_without_a_power():
    rows = ConicEmbedding(np.inf, anchors=[1.0, 1.0]).fit_transform([[4.0, -1.0], [1.0, 1.0]])
    assert rows[:, 2].tolist() == [3.0, 0.0]
    each = ConicEmbedding(np.inf, "each", anchors=[1.0, 1.0]).fit_transform([[4.0, -1.0]])
    assert each.tolist() == [[4.0, -1.0, 3.0, 2.0]]
    assert (each == ConicEmbedding(1, "each", anchors=[1.0, 1.0]).fit_transform([[4.0, -1.0]])).all()


def test_anchors_are_found():
    X, y = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 4.0], [12.0, 4.0]]), np.array(["a", "a", "b", "b"])
    assert ConicEmbedding().fit(X).anchors_[0].tolist() == [[6.0, 2.0]]
    clusters = ConicEmbedding(anchors="kmeans", n_anchors=2).fit(X)
    assert [a.tolist() for a in clusters.anchors_] == [[[1.0, 0.0], [11.0, 4.0]]]
    classes = ConicEmbedding(anchors="class", band=(0, 100), n_anchors=1).fit(X, y)
    assert [a.tolist() for a in classes.anchors_] == [[[1.0, 0.0]], [[11.0, 4.0]]]
    assert classes.classes_.tolist() == ["a", "b"]
    low = ConicEmbedding(anchors="class", band=(100, 100)).fit(X, y)
    assert [a.tolist() for a in low.anchors_] == [[[0.0, 0.0]], [[12.0, 4.0]]]
    assert low.transform([[0.0, 0.0]]).tolist() == [[0.0, 0.0, 0.0, 16.0]]
    other = ConicEmbedding(1, anchors="class", band=(100, 100), band_p=np.inf).fit(
        [[0, 0], [3, 3], [4, 0], [9, 9]], [0, 0, 1, 1]
    )
    assert [a.tolist() for a in other.anchors_] == [[[0, 0]], [[9, 9]]]


def test_names():
    X, y = [[0.0, 1.0], [1.0, 0.0], [4.0, 5.0], [5.0, 4.0]], ["ham", "ham", "spam", "spam"]

    def names(*arguments, **parameters):
        return ConicEmbedding(*arguments, **parameters).fit(X, y).get_feature_names_out()[2:].tolist()

    assert names() == ["|x - a0|_1^1"]
    assert names(np.inf, anchors=[[[0, 0], [1, 1]], [2, 2]]) == ["|x - A0|_inf", "|x - a1|_inf"]
    assert names(2, anchors="class", band=(0, 100)) == ["|x - A[ham]|_2^2", "|x - A[spam]|_2^2"]
    assert names(2, "each", anchors=[0.5, -1]) == ["|x0 - 0.5|^2", "|x1 + 1|^2"]
    assert names(1.5, "each", anchors=[[0, 1], [0, 2]]) == [f"|x{f} - {v}|^1.5@a{k}" for k, f, v in
                                                            ((0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 2))]  # fmt: skip
    assert names(1, "each", anchors=[[0, 1], [0, 2]], concatenate=False) == ["|x0 - A0|^1", "|x1 - A0|^1"]


def test_refitted_with_other_anchors_it_forgets_the_classes():
    X, y = [[0.0, 1.0], [1.0, 0.0], [4.0, 5.0], [5.0, 4.0]], [0, 0, 1, 1]
    embedding = ConicEmbedding(anchors="class", band=(0, 100)).fit(X, y)
    assert embedding.set_params(anchors="mean").fit(X).get_feature_names_out().tolist() == ["x0", "x1", "|x - a0|_1^1"]
    assert not hasattr(embedding, "classes_")


def test_terms_and_buffers_are_those_of_the_map():
    X = np.random.default_rng(0).normal(size=(6, 3))
    for expand, features in (("one", [(0, 1, 2)]), ("each", [(0,), (1,), (2,)])):
        embedding = ConicEmbedding(2, expand, dtype=np.float32).fit(X)
        rows = embedding.transform(X)
        assert rows.dtype == np.float32
        assert [t.features for t in embedding.terms_] == [(0,), (1,), (2,), *features]
        assert [(t.start, t.stop) for t in embedding.terms_] == [(k, k + 1) for k in range(embedding.n_columns_)]
        width = embedding.most_nonzeros
        out = Chunk(np.zeros(7, np.int64), np.empty(6 * width, np.int32), np.empty(6 * width))
        embedding.write(X, out)
        written = sparse.csr_array((out.data, out.indices, out.indptr), shape=(6, embedding.n_columns_))
        assert np.allclose(written.toarray(), rows)


def test_missing_values_are_refused_or_add_nothing():
    X = np.array([[0.0, 4.0], [np.nan, 2.0], [2.0, np.nan], [4.0, 0.0]])
    with pytest.raises(ValueError, match="NaN"):
        ConicEmbedding().fit(X)
    embedding = ConicEmbedding(1, missing="zeros").fit(X)
    assert embedding.anchors_[0].tolist() == [[2.0, 2.0]]
    assert embedding.transform(X).tolist() == [[0, 4, 4], [0, 2, 0], [2, 0, 0], [4, 0, 4]]
    sets = [[[0.0, 0.0], [5.0, 5.0]]]
    for expand in ("one", "each"):
        rows = ConicEmbedding(2, expand, anchors=sets, missing="zeros").fit_transform(X)
        assert np.allclose(rows, [reference.conic_row(x, sets, 2, expand) for x in X])
    classes = ConicEmbedding(anchors="class", band=(0, 100), missing="zeros").fit(X, [0, 0, 1, 1])
    assert [a.tolist() for a in classes.anchors_] == [[[0.0, 4.0]], [[4.0, 0.0]]]
    with pytest.raises(InputError, match="a class has no item without missing values to be an anchor"):
        ConicEmbedding(anchors="class", missing="zeros").fit(X, [0, 1, 1, 0])
    with pytest.raises(InputError, match="no item is without missing values"):
        ConicEmbedding(anchors="kmeans", missing="zeros").fit([[np.nan], [np.nan]])


def test_the_support_vector_machine_on_the_kernel_is_the_machine_on_the_map():
    X, y = make_circles(120, noise=0.05, factor=0.5, random_state=0)
    assert LinearSVC(dual=False).fit(X, y).score(X, y) < 0.7
    for expand in ("one", "each"):
        kernel = SVC(kernel=partial(conic_kernel, p=2, expand=expand)).fit(X, y)
        mapped = make_pipeline(ConicEmbedding(2, expand, anchors=[0.0, 0.0]), SVC(kernel="linear")).fit(X, y)
        assert np.allclose(kernel.decision_function(X), mapped.decision_function(X), atol=1e-2)
        assert kernel.score(X, y) == mapped.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"p": 0.0}, r"p=0.0: a number > 0 or float\('inf'\) is required"),
        ({"p": np.nan}, "p=nan: a number > 0"),
        ({"expand": "both"}, "expand='both' is not known; use one of 'one', 'each'"),
        ({"anchors": "median"}, "anchors='median' is not known; use one of 'mean', 'class', 'kmeans'"),
        ({"anchors": [0.0, 1.0, 2.0]}, r"anchors have shape \(3,\); \(n_anchors, 2\) is required"),
        ({"anchors": np.empty((0, 2))}, "a set of anchors is empty"),
        ({"anchors": "class", "band": (60, 40)}, r"band=\(60, 40\): two percentiles"),
        ({"anchors": "class", "band": (20, 30)}, r"band=\(20, 30\) leaves class .* no anchor; widen the band of percentiles"),
        ({"anchors": "class", "band_p": -1}, "band_p=-1: a number > 0"),
        ({"anchors": "kmeans", "n_anchors": 0}, "n_anchors=0: an integer >= 1 is required"),
        ({"anchors": "kmeans"}, "n_anchors=8, but there are only 4 different items"),
        ({"missing": "indicator"}, "missing='indicator' is not known; use one of 'error', 'zeros'"),
        ({"concatenate": "no"}, "concatenate='no' is not known"),
        ({"dtype": np.int64}, "float32 or float64 is required"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        ConicEmbedding(**parameters).fit([[0.0, 1.0], [1.0, 3.0], [4.0, 0.0], [5.0, 9.0]], [0, 0, 1, 1])


def test_bad_data():
    X = [[0.0, 1.0], [1.0, 3.0]]
    for anchors in ("mean", "kmeans", "class"):
        with pytest.raises(InputError, match="there is one sample; give more, or an array anchors="):
            ConicEmbedding(anchors=anchors).fit(X[:1], [0])
    assert ConicEmbedding(anchors=[0.0, 0.0]).fit_transform(X[:1]).tolist() == [[0.0, 1.0, 1.0]]
    with pytest.raises(InputError, match="requires y to be passed"):
        ConicEmbedding(anchors="class").fit(X)
    with pytest.raises(InputError, match="y has one class, .*; two or more are required: give other anchors"):
        ConicEmbedding(anchors="class").fit(X, [1, 1])
    with pytest.raises(InputError, match="X is sparse"):
        ConicEmbedding().fit(sparse.csr_array(X))
    with pytest.raises(InputError, match="too large for its power"):
        ConicEmbedding(400, anchors=[0.0, 0.0]).fit_transform([[1e3, 0.0]])
    with pytest.raises(InputError, match=r"to the power p=2 is too large for float32; scale the features, or use a smaller p"):
        ConicEmbedding(2, anchors=[0.0, 0.0], dtype=np.float32).fit_transform([[1e30, 0.0]])
    with pytest.raises((InputError, ValueError), match="y has classes of several types|unknown|mix"):
        ConicEmbedding(anchors="class").fit(X, np.array([1, "a"], dtype=object))
    with pytest.raises(NotFittedError):
        ConicEmbedding().transform(X)
    with pytest.raises(InputError, match="Z has 1 features, but 2"):
        conic_kernel(X, [[1.0]])
    with pytest.raises(InputError, match="expand='all' is not known"):
        conic_kernel(X, X, expand="all")
