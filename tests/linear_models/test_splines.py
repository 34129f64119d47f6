import pytest
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

from semimetric import BSplineEmbedding, EmbeddedLinearClassifier


@pytest.mark.parametrize(("order", "degree"), [(0, 1), (1, 1), (1, 3), (2, 2)])
def test_a_machine_on_local_rows_scores_as_one_on_stored_rows(rng, order, degree):
    X = rng.uniform(-1, 1, (80, 2))
    y = (X**2).sum(axis=1) < 0.6
    embedding = BSplineEmbedding(4, degree=degree, penalty_order=order)
    local = EmbeddedLinearClassifier(embedding, C=1.0, tol=1e-6, max_iter=5000).fit(X, y)
    stored = LinearSVC(C=1.0, tol=1e-8, max_iter=200_000, random_state=0).fit(embedding.fit_transform(X), y)
    assert_allclose(local.decision_function(X), stored.decision_function(embedding.transform(X)), atol=2e-3)
