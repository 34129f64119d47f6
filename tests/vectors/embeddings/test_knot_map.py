"""Maps on knots: streams give what a fit gives, names tell knots apart, values outside are refused on demand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from semimetric import BSplineEmbedding, PL1Embedding, PL2Embedding
from semimetric.vectors.embeddings.base import distinct_labels
from semimetric.vectors.embeddings.reservoir import Reservoir


@pytest.mark.parametrize("parameters", [{}, {"zero_preserving": True}, {"shared_knots": True, "missing": "zeros"}])
def test_blocks_of_a_stream_give_what_one_fit_gives(parameters, rng, monkeypatch):
    monkeypatch.setattr(Reservoir.__init__, "__defaults__", (0, 150))  # so that most rows are left out
    X = rng.normal(size=(400, 3)) * (rng.random((400, 3)) < 0.7)
    stream = PL2Embedding(5, random_state=4, **parameters)
    for start in range(0, 400, 97):
        block = X[start : start + 97]
        stream.partial_fit(sparse.csr_array(block) if "zero_preserving" in parameters and start else block)
    whole = PL2Embedding(5, random_state=4, **parameters).fit(X)
    for ours, theirs in zip(stream.grid_.knots, whole.grid_.knots, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (stream.transform(X) != whole.transform(X)).nnz == 0
    other = PL2Embedding(5, random_state=5, **parameters).fit(X)
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(other.grid_.knots, whole.grid_.knots, strict=True))
    again = stream.fit(X[:50]).partial_fit(X[50:])  # begins anew
    assert again.reservoir_.seen == 350


def test_a_stream_moves_the_ends_and_takes_single_rows(rng):
    X = rng.normal(size=(30, 2))
    stream = PL1Embedding(4, extrapolation="error").partial_fit(X)
    stream.partial_fit([[9.0, -9.0]])
    assert (stream.grid_.high[0], stream.grid_.low[1]) == (9.0, -9.0)
    with pytest.raises(ValueError, match="3 features"):
        stream.partial_fit(rng.normal(size=(5, 3)))
    assert not hasattr(PL1Embedding(knots="tree"), "partial_fit")
    assert not hasattr(PL2Embedding(pairs="best", n_pairs=1), "partial_fit")


@given(hnp.arrays(np.float64, st.integers(1, 9), elements=st.floats(-1e6, 1e6), unique=True))
def test_names_tell_knots_apart(values):
    labels = distinct_labels(np.sort(values))
    assert len(set(labels)) == len(labels)
    shorter = [f"{k:.3g}" for k in np.sort(values)]
    assert labels == shorter or len(set(shorter)) < len(labels)


def test_names_hold_features_knots_and_missing():
    X = [[5.1, 0.0], [5.1234, 1.0]]
    names = PL2Embedding(missing="indicator").fit(X).get_feature_names_out()
    assert names[:6].tolist() == ["x0@5.1", "x0@5.12", "x0@missing", "x1@0", "x1@1", "x1@missing"]
    assert names[[6, 14]].tolist() == ["x0@5.1*x1@0", "x0@missing*x1@missing"]
    assert PL1Embedding(zero_preserving=True).fit(X).get_feature_names_out().tolist() == ["x0@5.1", "x0@5.12", "x1@1"]


@pytest.mark.parametrize("kind", [PL1Embedding, PL2Embedding, BSplineEmbedding])
def test_lines_that_overflow_are_refused(kind):
    X = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    single, double = (kind(extrapolation="linear", dtype=dtype).fit(X) for dtype in (np.float32, np.float64))
    for far in (1e60, -1e60):
        assert np.isfinite(double.transform([[0.5, far]]).data).all()
        with pytest.raises(ValueError, match="'x1' has the value .*, too far from its knots, 0 to 1,.* in float32"):
            single.transform([[0.5, far]])
    assert np.isfinite(single.transform([[0.5, 1e30]]).data).all()
    with pytest.raises(ValueError, match="too far"):
        kind(extrapolation="linear").fit(X * 1e-150).transform(X * 1e200)


def test_sparse_lines_that_overflow_are_refused():
    embedding = PL1Embedding(extrapolation="linear", zero_preserving=True, dtype=np.float32).fit([[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="'x1' has the value .*, too far"):
        embedding.transform(sparse.csr_array([[0.0, 1e60]]))


def test_values_outside_are_refused_where_asked(rng):
    X = rng.random((20, 2)) + 1
    embedding = PL1Embedding(extrapolation="error", zero_preserving=True).fit(X)
    assert embedding.transform(sparse.csr_array((3, 2))).nnz == 0
    for bad in ([[0.0, 3.0]], sparse.csr_array([[0.0, 3.0]])):
        with pytest.raises(ValueError, match="'x1' has the value 3;"):
            embedding.transform(bad)


@pytest.mark.parametrize("embedding", [PL1Embedding(knots="tree"), PL2Embedding(pairs="best", n_pairs=1)], ids=str)
def test_what_y_chooses_is_refused_to_a_stream(embedding):
    with pytest.raises(AttributeError) as caught:
        embedding.partial_fit(np.eye(3))
    said = caught.value.__cause__ or caught.value
    assert "cannot come from a stream; use fit, or give knots and pairs as lists" in str(said)
