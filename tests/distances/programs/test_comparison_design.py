import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric._foundation.types import Quadruplets, TripletTuples
from semimetric.data.grid import Grid
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.programs import design_matrix as module
from semimetric.distances.programs.comparison_design import ComparisonDesign
from semimetric.distances.programs.design_matrix import MatrixDesign, PairDesign

ITEMS, _, _ = cases.sample()
INDEX = np.random.default_rng(3).integers(0, len(ITEMS), (60, 4))
TUPLES = {"triplets": TripletTuples(ITEMS, INDEX[:, :3]), "quadruplets": Quadruplets(ITEMS, INDEX)}


def difference(tuples, embedding, n_jobs=None):
    return ComparisonDesign.of(cases.EMBEDDINGS[embedding](Grid.fit(ITEMS, n_knots=3)), TUPLES[tuples], n_jobs=n_jobs)


@pytest.mark.parametrize("embedding", ["singles", "pairs", "joint", "swapped", "warped", "asymmetric"])
@pytest.mark.parametrize("tuples", TUPLES)
@pytest.mark.parametrize(("block", "n_jobs"), [(7, 2), (1024, None)])
def test_products_are_those_of_the_difference_of_two_matrices(tuples, embedding, block, n_jobs, monkeypatch, rng):
    monkeypatch.setattr(module, "_BLOCK", block)
    A = difference(tuples, embedding, n_jobs)
    matrix = A.near.csr().toarray() - A.far.csr().toarray()
    y, w, r = rng.normal(size=60), rng.random(A.shape[1]), rng.normal(size=60)
    s = rng.random(60) * (rng.random(60) < 0.3)  # most rows have no weight
    for form in (A, A.held(), MatrixDesign(A.csr())):
        np.testing.assert_allclose(form.matvec(w), matrix @ w, atol=1e-12)
        np.testing.assert_allclose(form.rmatvec(r), matrix.T @ r, atol=1e-12)
        moments = form.moments(y, s)
        np.testing.assert_allclose(moments.gram, matrix.T @ (s[:, None] * matrix), atol=1e-12)
        np.testing.assert_allclose(moments.cross, matrix.T @ (s * y), atol=1e-12)
        assert not form.nonnegative
        assert (form.absolute.matvec(w) >= np.abs(matrix) @ w - 1e-12).all()
        assert form.absolute.nonnegative
    np.testing.assert_allclose(A.take(np.array([5, 2])).csr().toarray(), matrix[[5, 2]], atol=1e-15)


def test_no_weight_at_all_gives_moments_of_zeros():
    moments = difference("triplets", "singles").moments(np.ones(60), np.zeros(60))
    assert not moments.gram.any()
    assert moments.total == 0


def test_constants_of_vertices_that_are_no_columns_are_subtracted_too(rng):
    A = difference("quadruplets", "touched")
    w = rng.random(A.shape[1])
    np.testing.assert_allclose(A.matvec(w), A.near.matvec(w) - A.far.matvec(w), atol=1e-12)


def test_items_are_located_once_and_directions_join(monkeypatch):
    directions = Directions(np.array([[1.0, -1.0, 0.0]]), ("d",))
    embedding = cases.EMBEDDINGS["warped"](Grid.fit(directions.append(ITEMS), n_knots=3))
    calls, locate = [], type(embedding).locate
    monkeypatch.setattr(type(embedding), "locate", lambda self, X: calls.append(len(X)) or locate(self, X))
    A = ComparisonDesign.of(embedding, TUPLES["triplets"], directions)
    A.take(np.arange(20)).matvec(np.ones(A.shape[1]))
    assert calls == [len(ITEMS)]


def test_rows_may_have_multipliers_of_their_own_only_together():
    A = difference("triplets", "singles")
    scaled = ComparisonDesign(A.near, A.far, scale=np.linspace(-1, 1, 60))
    np.testing.assert_allclose(scaled.csr().toarray(), np.linspace(-1, 1, 60)[:, None] * A.csr().toarray())
    alone = PairDesign(A.near.embedding, A.near.pairs, scale=np.ones(60))
    assert_refused(lambda: ComparisonDesign(alone, A.far), "near has shape (60,", "the same shape is required", "give scale=")
    assert_refused(lambda: ComparisonDesign(A.near.take(np.arange(3)), A.far), "shape (3,", "required", "give")
