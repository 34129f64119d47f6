"""What the linear classifier and regressor share: blocks, threads, precision and refused fits."""

import pickle

import numpy as np
import pytest
from cases import assert_refused
from linear_machines import PL1, TWO, X, Y
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from semimetric import EmbeddedLinearClassifier, EmbeddedLinearRegressor
from semimetric.vectors.embeddings.piecewise import PL1Embedding, PL2Embedding
from semimetric.vectors.machines.base import drop_zero_weights

C, R = EmbeddedLinearClassifier, EmbeddedLinearRegressor


def test_blocks_and_threads_change_nothing_but_rounding():
    one = EmbeddedLinearClassifier(PL1, tol=1e-8).fit(X, Y)
    many = EmbeddedLinearClassifier(PL1, tol=1e-8, block_size=3, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), atol=1e-3)
    again = EmbeddedLinearClassifier(PL1, tol=1e-8, block_size=3).fit(X, Y)
    assert (again.coef_ == many.coef_).all()


@pytest.mark.slow
def test_single_precision_and_sparse_rows():
    full = EmbeddedLinearClassifier(PL1, tol=1e-6).fit(X, Y)
    half = EmbeddedLinearClassifier(PL1Embedding(5, knots="quantile", dtype=np.float32), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(half.decision_function(X), full.decision_function(X), atol=1e-2)
    items = sparse.random_array((80, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    labels = np.asarray(items.sum(axis=1) > 3)
    dense, held = (EmbeddedLinearClassifier("linear").fit(form, labels) for form in (items.toarray(), items))
    assert (dense.coef_ == held.coef_).all()


def test_a_fit_that_is_refused_leaves_the_machine_as_it_was():
    model = EmbeddedLinearClassifier(PL1, tol=1e-2).fit(X, TWO)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 14, np.nan, X), Y)
    assert model.classes_.tolist() == [0, 1]
    assert (model.decision_function(X) == scores).all()


def test_search_clone_pickle_and_embeddings_that_are_fitted():
    search = GridSearchCV(EmbeddedLinearClassifier(PL1Embedding(), tol=1e-2), {"embedding__n_knots": [2, 4]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    model = search.best_estimator_
    assert (pickle.loads(pickle.dumps(model)).decision_function(X) == model.decision_function(X)).all()
    assert not hasattr(model.embedding, "n_columns_")
    known = PL1Embedding(3).fit(X)
    assert EmbeddedLinearClassifier(known).fit(X[:90], Y[:90]).embedding_ is known
    pairs = EmbeddedLinearClassifier(PL2Embedding(3), tol=1e-2).fit(X, Y)
    assert pairs.coef_.shape == (3, pairs.embedding_.n_columns_)


def test_before_fit():
    assert not hasattr(C(), "coef_")
    with pytest.raises(NotFittedError):
        C().predict(X)


def test_rows_of_weight_zero_are_dropped():
    items, y, weight = drop_zero_weights(X[:4], Y[:4], [1.0, 0.0, 2.0, 0.0])
    assert np.array_equal(items, X[[0, 2]])
    assert np.array_equal(y, Y[[0, 2]])
    assert weight.tolist() == [1.0, 2.0]
    assert drop_zero_weights(X, Y, None) == (X, Y, None)
    assert_refused(lambda: drop_zero_weights(X, Y, np.zeros(len(Y))), "sample_weight", "not all zero", "correct or drop it")
