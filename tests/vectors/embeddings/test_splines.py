import math

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from reference import bspline, differences
from scipy.interpolate import BSpline
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import SplineTransformer

from semimetric import BSplineEmbedding, NotSupportedError
from semimetric._kernels.csr_rows import Chunk

DEGREES = pytest.mark.parametrize("degree", [1, 2, 3])
STEPS = pytest.mark.parametrize("knots", ["uniform", "quantile"])
values = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(-16, 16).map(lambda k: k / 4)
)


def blocks(embedding, rows):
    """The columns of each feature."""
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return [dense[:, term.start : term.stop] for term in embedding.terms_]


@given(values, st.integers(1, 6), st.sampled_from([1, 2, 3]), st.sampled_from(["uniform", "quantile"]))
def test_b_splines_are_a_partition_of_unity_with_few_non_zeros(X, n_bins, degree, knots):
    embedding = BSplineEmbedding(n_bins, degree=degree, penalty_order=0, knots=knots, norm="unity").fit(X)
    psi = embedding.transform(X * 1.5)
    for block in blocks(embedding, psi):
        assert_allclose(block.sum(axis=1), 1.0, rtol=1e-12)
        assert (np.count_nonzero(block, axis=1) <= degree + 1).all()
    assert psi.data.all()
    assert psi.has_canonical_format
    assert np.diff(psi.indptr).max() <= embedding.most_nonzeros


@DEGREES
@STEPS
def test_as_the_slow_twin_and_as_scipy(rng, degree, knots):
    X = rng.normal(size=(40, 1))
    embedding = BSplineEmbedding(5, degree=degree, penalty_order=0, knots=knots, norm="unity").fit(X)
    inner = embedding.knots_[0]
    steps = np.arange(1, degree + 1)
    t = np.r_[inner[0] - steps[::-1] * (inner[1] - inner[0]), inner, inner[-1] + steps * (inner[-1] - inner[-2])]
    x = np.r_[rng.uniform(inner[0], inner[-1], 30), inner[:-1]]
    psi = embedding.transform(x[:, None]).toarray()
    twin = [[bspline(i, degree, value, t) for i in range(embedding.n_columns_)] for value in x]
    assert_allclose(psi, twin, atol=1e-14)
    assert_allclose(psi, BSpline.design_matrix(x, t, degree).toarray(), atol=1e-14)


@DEGREES
@STEPS
def test_as_scikit_learn_also_outside(rng, degree, knots):
    X = rng.normal(size=(60, 3))
    far = np.vstack([X, 3 * X])
    modes = [
        ("clip", "constant"),
        *[("linear", "linear")] * (degree > 1),
    ]  # of degree 1 theirs takes the slope of the next cell
    for ours, theirs in modes:
        embedding = BSplineEmbedding(6, degree=degree, penalty_order=0, knots=knots, norm="unity", extrapolation=ours).fit(X)
        peer = SplineTransformer(n_knots=7, degree=degree, knots=knots, extrapolation=theirs).fit(X)
        assert_allclose(embedding.transform(far).toarray(), peer.transform(far), atol=1e-13)


@DEGREES
@pytest.mark.parametrize("knots", ["uniform", "quantile", [-1.0, 0.0, 0.5, 4.0]])
def test_straight_lines_go_on_straight(rng, degree, knots):
    """Coefficients at the Greville abscissae (means of the inner knots of the supports) make f(x) = x, everywhere."""
    X = rng.normal(size=(50, 1))
    embedding = BSplineEmbedding(5, degree=degree, penalty_order=0, knots=knots, norm="unity", extrapolation="linear").fit(X)
    inner, steps = embedding.knots_[0], np.arange(1, degree + 1)
    t = np.r_[inner[0] - steps[::-1] * (inner[1] - inner[0]), inner, inner[-1] + steps * (inner[-1] - inner[-2])]
    greville = [t[i + 1 : i + degree + 1].mean() for i in range(embedding.n_columns_)]
    assert_allclose(embedding.transform(5 * X) @ greville, 5 * X[:, 0], atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_differences_are_inverted_as_printed(order):
    """Section 3: (D_1^{-T})_ij = 1 and (D_2^{-T})_ij = j - i + 1 for j >= i."""
    i, j = np.indices((6, 6))
    printed = np.where(j >= i, 1.0 if order == 1 else j - i + 1.0, 0.0)
    assert_allclose(np.linalg.inv(differences(6, order)).T, printed, atol=1e-12)


@given(values, st.integers(1, 5), st.sampled_from([1, 2, 3]), st.integers(1, 4), st.sampled_from(["clip", "linear"]))
def test_local_rows_and_the_ladder_give_transform(X, n_bins, degree, order, extrapolation):
    embedding = BSplineEmbedding(
        n_bins, degree=degree, penalty_order=order, extrapolation=extrapolation, missing="indicator"
    ).fit(X)
    Z = np.vstack([2 * X, np.full((1, X.shape[1]), np.nan)])
    room = len(Z) * embedding.most_nonzeros
    chunk = Chunk(np.zeros(len(Z) + 1, np.int64), np.zeros(room, np.int32), np.zeros(room))
    embedding.write(embedding.encode(Z), chunk)
    psi = np.zeros((len(Z), embedding.n_columns_))
    for r in range(len(Z)):
        here = slice(*chunk.indptr[r : r + 2])
        psi[r, chunk.indices[here]] = chunk.data[here]
    phi, difference_operator = embedding.transform(Z), embedding.difference_operator
    assert difference_operator.order == order
    for start, stop in zip(difference_operator.starts[:-1], difference_operator.starts[1:], strict=True):
        want = psi[:, start:stop] @ np.linalg.inv(differences(stop - start, order))
        assert_allclose(phi.toarray()[:, start:stop], want, rtol=1e-12, atol=1e-12)
    assert difference_operator.starts[-1] == embedding.n_columns_
    assert phi.data.all()
    assert phi.has_canonical_format


@given(
    values,
    st.integers(1, 9),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["error", "zeros", "indicator"]),
    st.sampled_from([np.float32, np.float64]),
)
def test_first_differences_are_written_at_once_as_by_sums(X, n_bins, degree, missing, dtype):
    """Constant features, features without values, places on knots and outside; the buffers are no larger than asked for."""
    if missing != "error":
        X = np.column_stack([X, np.full(len(X), np.nan)])
        X[::3, 0] = np.nan
    embedding = BSplineEmbedding(n_bins, degree=degree, missing=missing, dtype=dtype).fit(X)
    Z, asked = np.vstack([X, 2 * X - 1]), []

    def room(n):
        asked.append(n)
        return Chunk(np.full(len(Z) + 1, -1), np.full(n, -1, np.int32), np.full(n, np.nan, dtype))

    phi, want = embedding.write_phi(embedding.encode(Z), room), embedding.transform(Z)
    n = want.nnz
    assert len(asked) == 1
    assert_array_equal(phi.indptr, want.indptr)
    assert_array_equal(phi.indices[:n], want.indices)
    assert_allclose(phi.data[:n], want.data, rtol=4 * np.finfo(dtype).eps, atol=1e-30)


def test_what_is_written_by_sums_alone(rng):
    X = rng.normal(size=(20, 2))
    options = [{"penalty_order": 0}, {"penalty_order": 2}, {"extrapolation": "linear"}, {"knots": "quantile"}]
    for option in [*options, {"null_space_ridge": 0.1}]:
        embedding = BSplineEmbedding(4, **option).fit(X)
        assert embedding.write_phi(embedding.encode(X), lambda n: pytest.fail("buffers were asked for")) is None


@DEGREES
@pytest.mark.parametrize("n_bins", [1, 4, 20])
def test_penalised_first_differences_make_the_min_kernel(degree, n_bins):
    """Eq. 12 with its constant corrected: (r + 1) / (2 N), exact where |x - y| >= r / N."""
    x = np.linspace(0.0, 1.0, 97)[:, None]
    phi = BSplineEmbedding(n_bins, degree=degree).fit_transform(x).toarray()
    far = np.abs(x - x.T) >= degree / n_bins
    assert_allclose((phi @ phi.T)[far], (np.minimum(x, x.T) + (degree + 1) / (2 * n_bins))[far], atol=1e-13)


@DEGREES
def test_differences_of_one_order_more_make_truncated_powers(degree):
    """Degree k with D_{k+1} (section 4): (x - t_i)_+^k / (h^k k!), t_i where the support of B_i begins, h the cells' width."""
    n_bins, x = 8, np.linspace(0.0, 1.0, 50)[:, None]
    embedding = BSplineEmbedding(n_bins, degree=degree, penalty_order=0, norm="unity").fit(x)
    psi, begin = embedding.transform(x).toarray(), (np.arange(n_bins + degree) - degree) / n_bins
    powers = (n_bins * np.maximum(x - begin, 0.0)) ** degree / math.factorial(degree)
    assert_allclose(psi @ np.linalg.inv(differences(n_bins + degree, degree + 1)), powers, atol=1e-9)
    ours = BSplineEmbedding(n_bins, degree=degree, penalty_order=degree + 1, norm="unity").fit(x).transform(x).toarray()
    assert_allclose(ours, powers, atol=1e-9)


def test_float32_threads_and_arrays_are_the_same_numbers(rng):
    X = rng.normal(size=(30_000, 4))
    one = BSplineEmbedding(8, degree=3).fit(X)
    two = BSplineEmbedding(8, degree=3, n_jobs=2).fit(X)
    phi = one.transform(X)
    for a, b in zip((phi.data, phi.indices, phi.indptr), vars_of(two.transform(X)), strict=True):
        assert_array_equal(a, b)
    narrow = one.set_params(dtype=np.float32).transform(X)
    assert narrow.dtype == np.float32
    assert_allclose(narrow.toarray(), phi.toarray(), atol=1e-6)
    assert_array_equal(two.set_params(sparse_output=False).transform(X[:9]), phi[:9].toarray())


def vars_of(matrix):
    return matrix.data, matrix.indices, matrix.indptr


@pytest.mark.parametrize("order", [0, 1])
def test_missing_values_constant_features_and_none_at_all(order):
    X = np.array([[0.0, 5.0, np.nan], [1.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
    zeros = BSplineEmbedding(2, penalty_order=order, missing="zeros", norm="unity").fit(X)
    assert [(t.start, t.stop) for t in zeros.terms_] == [(0, 3), (3, 4), (4, 4)]
    assert_array_equal(zeros.transform(X).toarray()[2], [0, 0, 0, 1])
    assert_array_equal(zeros.transform([[0.0, 7.0, 1.0]]).toarray()[0], [1, 0, 0, 1])
    marked = zeros.set_params(missing="indicator").fit(X)
    assert_array_equal(marked.transform(X).toarray()[2], [0, 0, 0, 1, 1, 0, 1])
    assert_array_equal(marked.transform([[0.0, np.nan, 1.0]]).toarray()[0], [1, 0, 0, 0, 0, 1, 0])
    assert marked.get_feature_names_out().tolist() == [
        "x0~0",
        "x0~0.5",
        "x0~1",
        "x0~missing",
        "x1~5",
        "x1~missing",
        "x2~missing",
    ]


def test_columns_are_named_by_places():
    X = pd.DataFrame({"age": [0.0, 10.0], "size": [1e9, 1e9 + 1]})
    embedding = BSplineEmbedding(2, degree=2).fit(X)
    names = embedding.get_feature_names_out().tolist()
    assert names[:4] == ["age~-2.5", "age~2.5", "age~7.5", "age~12.5"]
    assert len(set(names)) == 8
    assert list(embedding.set_output(transform="pandas").set_params(sparse_output=False).transform(X)) == names


def test_knots_of_the_user_and_equal_quantiles():
    X = np.array([[0.0, 0.0]] * 9 + [[1.0, 2.0]])
    assert_array_equal(BSplineEmbedding(4, knots="quantile").fit(X).knots_[1], [0.0, 2.0])
    embedding = BSplineEmbedding(knots=[[0.0, 1.0], [0.0, 0.5, 2.0]], penalty_order=0, norm="unity").fit(X)
    assert_array_equal(embedding.transform([[0.5, 0.5]]).toarray(), [[0.5, 0.5, 0, 1, 0]])
    shared = BSplineEmbedding(knots=[0.0, 1.0, 2.0], penalty_order=2).fit(X)
    assert shared.n_columns_ == 6


def test_cells_may_be_as_narrow_as_numbers_are_apart():
    X = np.array([[1e9, 1.0], [1e9 + 1e-3, np.nextafter(1.0, 2.0)]])
    embedding = BSplineEmbedding(7, degree=3, penalty_order=2, norm="unity").fit(X)  # evenly spaced, whatever is rounded
    phi = embedding.transform(X).toarray()
    assert np.isfinite(phi).all()
    plain = BSplineEmbedding(7, degree=3, penalty_order=2, norm="unity").fit_transform([[0.0, 0.0], [1.0, 1.0]]).toarray()
    assert_allclose(phi, plain, atol=1e-12)
    assert len(set(embedding.get_feature_names_out())) == embedding.n_columns_
    far = BSplineEmbedding(knots=1e9 + np.linspace(0.0, 1.0, 8), penalty_order=2).fit(X[:, :1])
    assert far.n_columns_ == 8


@pytest.mark.parametrize(
    ("options", "given", "required"),
    [
        ({"n_bins": 0}, "n_bins=0", "an integer >= 1"),
        ({"n_bins": -3}, "n_bins=-3", "an integer >= 1"),
        ({"degree": 0}, "degree=0", "use one of 1, 2, 3"),
        ({"degree": 4}, "degree=4", "use one of 1, 2, 3"),
        ({"penalty_order": 5}, "penalty_order=5", "use one of 0, 1, 2, 3, 4"),
        ({"norm": "l2"}, "norm='l2'", "'unity'"),
        ({"extrapolation": "constant"}, "extrapolation='constant'", "'clip'"),
        ({"missing": "mean"}, "missing='mean'", "'zeros'"),
        ({"dtype": np.int64}, "int64", "float32 or float64"),
        ({"knots": "kmeans"}, "knots='kmeans'", "'quantile'"),
        ({"knots": [0.0]}, "array([0.])", "at least two"),
        ({"knots": [0.0, 1.0, 1.0]}, "array([0., 1., 1.])", "each greater"),
        ({"knots": [0.0, np.inf]}, "inf", "finite"),
        ({"knots": None}, "knots=None", "an array"),
        ({"n_bins": 2**62}, "n_bins=4611686018427387904", "2**63 - 1"),
        ({"knots": [[0.0, 1.0]]}, "1 arrays for 2 features", "one a feature"),
    ],
)
def test_bad_parameters_are_refused(options, given, required):
    assert_refused(lambda: BSplineEmbedding(**options).fit([[0.0, 1.0], [1.0, 3.0]]), given, required)


def test_bad_data_are_refused():
    embedding = BSplineEmbedding(extrapolation="error").fit([[0.0], [1.0]])
    assert_refused(lambda: embedding.transform([[0.5], [1.5]]), "X[1] has x0 = 1.5", "between 0 and 1", "'clip' or 'linear'")
    assert_refused(lambda: BSplineEmbedding().fit([[-1e308], [1e308]]), "from -1e+308 to 1e+308", "overflows", "larger units")
    uneven = BSplineEmbedding(knots=[0.0, 1.0, 3.0], penalty_order=2)
    assert_refused(lambda: uneven.fit([[0.0]]), "penalty_order=2", "evenly spaced", "penalty_order=1", error=NotSupportedError)
    with pytest.raises(ValueError, match="NaN"):
        BSplineEmbedding().fit([[np.nan], [1.0]])
    with pytest.raises(NotFittedError):
        BSplineEmbedding().transform([[0.0]])


def test_one_item_makes_constant_columns():
    assert_array_equal(BSplineEmbedding(4).fit_transform([[3.0, 2.0]]).toarray(), [[1.0, 1.0]])
