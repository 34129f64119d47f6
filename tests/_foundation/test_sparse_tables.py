"""What is sparse becomes dense in one place, or is refused with the size that it would take."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from hostile.forms import SPARSE
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import semimetric as sm
from semimetric._foundation import arrays as sparse_tables
from semimetric._foundation.arrays import MOST_GIGABYTES, as_floats, dense_table
from semimetric._foundation.errors import InputTypeError

pd = pytest.importorskip("pandas")

LEARNER = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped", triplets=sm.Triplets(n_passes=1))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(SPARSE)), st.integers(0, 9), st.integers(1, 5), st.integers(0, 99))
def test_every_format_gives_the_values(form, n_rows, n_columns, seed):
    X = np.random.default_rng(seed).integers(0, 3, (n_rows, n_columns)).astype(float)
    found = dense_table(SPARSE[form](X), "X")
    assert found.dtype == (np.float32 if form == "sparse float32" else np.float64)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize(
    "X", [np.zeros((2, 2)), [[1.0]], None, "word", pd.DataFrame({"a": [1]})], ids=lambda X: type(X).__name__
)
def test_what_is_not_sparse_is_returned_as_it_is(X):
    assert dense_table(X, "X") is X


def test_what_is_too_large_is_refused_with_its_size_before_any_of_it_is_made():
    large = sparse.csr_array((1_000_000, 1_500))
    for call in (lambda: sm.LargeMarginLearner().fit(large, [0, 1]), lambda: sm.Semimetric.gower(large)):
        message = str(assert_refused(call, "takes 12 GB", f"at most {MOST_GIGABYTES:g} GB", "TruncatedSVD"))
        assert "X.toarray()" in message
    just = int(MOST_GIGABYTES * 1e9 / 8 / 1_000) + 1
    assert_refused(lambda: dense_table(sparse.csc_array((just, 1_000)), "Y"), "Y is sparse", "Y.toarray()")


def test_targets_and_complex_values_are_not_made_dense():
    y = sparse.csr_array(np.eye(4)[:, :1])
    assert_refused(lambda: as_floats(y, "y"), "Sparse data was passed for y (shape (4, 1)", "y.toarray(), which takes 0.032 kB")
    assert_refused(lambda: as_floats(sparse.csr_array((500, 500)), "y"), "dense data is required", "which takes 2 MB")
    assert_refused(lambda: LEARNER.fit(np.eye(4), y), "y", "dense")
    with pytest.raises(InputTypeError, match="Complex data not supported"):
        dense_table(sparse.csr_array(1j * np.eye(2)), "X")


def test_sparse_columns_of_a_frame_are_read_like_dense_ones():
    X = np.random.default_rng(0).integers(0, 3, (30, 3)).astype(float)
    dense = pd.DataFrame(X, columns=list("abc"))
    d = sm.Semimetric.gower(dense)
    frames = [dense.astype(pd.SparseDtype("float64", 0.0)), dense.astype({"b": pd.SparseDtype("float64", 0.0)})]
    for frame in frames:
        assert sm.Semimetric.gower(frame).feature_names == ("a", "b", "c")
        np.testing.assert_array_equal(d.pairwise(frame), d.pairwise(dense))
        found = sm.NeighborIndex(d).fit(frame).kneighbors(frame, 3)
        np.testing.assert_array_equal(found[0], sm.NeighborIndex(d).fit(dense).kneighbors(dense, 3)[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_tables, "MOST_GIGABYTES", 1e-9)
        assert_refused(lambda: d.pairwise(frames[0]), "X is sparse", "X.sparse.to_dense()")


def test_missing_values_of_a_sparse_table_are_told_like_those_of_a_dense_one():
    X = np.array([[0.0, 1.0], [2.0, np.nan], [0.0, 3.0]])
    assert_refused(lambda: LEARNER.fit(sparse.csr_array(X), [0, 1, 1]), "row 1 of X has a missing value", "in column 1")
    d = sm.Semimetric.gower(sparse.csr_array(X))
    np.testing.assert_array_equal(d.pairwise(sparse.coo_array(X)), sm.Semimetric.gower(X).pairwise(X))


@pytest.mark.slow
def test_classifiers_of_sparse_items_are_those_of_dense_ones():
    X = np.random.default_rng(0).integers(0, 4, (60, 4)).astype(float)
    y, X_sparse = (X[:, 0] > X[:, 1]).astype(int), sparse.csr_array(X)
    model = sm.SemimetricClassifier(LEARNER)
    np.testing.assert_array_equal(model.fit(X_sparse, y).predict(X_sparse), model.fit(X, y).predict(X))
    np.testing.assert_array_equal(cross_val_score(model, X_sparse, y), cross_val_score(model, X, y))
    explained = sm.NeighborIndex("gower").fit(X_sparse).explain(X_sparse[[0]])
    assert repr(explained) == repr(sm.NeighborIndex("gower").fit(X).explain(X[0]))


@pytest.mark.parametrize("name", ["DistanceApproximator", "LargeMarginLearner", "SemimetricClassifier", "SemimetricRegressor"])
def test_what_learns_from_items_says_that_it_takes_sparse_ones(name):
    assert get_tags(getattr(sm, name)()).input_tags.sparse


def test_other_tags():
    graph, index = sm.SemimetricNeighborsTransformer(learner=LEARNER), sm.NeighborIndex("l1")
    assert get_tags(graph).input_tags.sparse
    assert get_tags(index).input_tags.sparse
    tuples = [
        model for model in cases.ESTIMATORS.values() if not isinstance(model, sm.LargeMarginLearner | sm.DistanceApproximator)
    ]
    assert tuples
    assert not any(get_tags(model).input_tags.sparse for model in tuples if isinstance(model, sm.DistanceRegressor))
