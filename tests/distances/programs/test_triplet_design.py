"""Rows that share their pairs are the rows one by one."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semimetric._foundation.types import TripletTuples
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.distances.programs.comparison_design import ComparisonDesign, TripletDesign, pair_rows

RNG = np.random.default_rng(0)
ITEMS = RNG.random((30, 3))
LEFT, RIGHT = RNG.integers(0, 30, (2, 40))
NEAR, FAR = RNG.integers(0, 40, (2, 90))


@pytest.mark.parametrize("kind", [WarpedEmbedding, PairEmbedding])
def test_products_are_those_of_the_rows(kind):
    embedding = kind(Grid.fit(ITEMS, n_knots=4))
    rows = pair_rows(embedding, embedding.locate(ITEMS), LEFT, RIGHT)
    design = TripletDesign.of_triplets(rows, NEAR, FAR)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    A = dense[NEAR] - dense[FAR]
    w, r, s = RNG.random(A.shape[1]), RNG.random(len(A)), RNG.random(len(A)) * (RNG.random(len(A)) < 0.5)
    assert design.shape == A.shape
    assert not design.nonnegative
    assert (design.absolute.csr().toarray() >= abs(A) - 1e-12).all()
    assert_allclose(design.matvec(w), A @ w, atol=1e-12)
    assert_allclose(design.rmatvec(r), A.T @ r, atol=1e-12)
    assert_allclose(design.csr().toarray(), A, atol=1e-12)
    moments = design.moments(r, s)
    assert_allclose(moments.gram, (A.T * s) @ A, atol=1e-12)
    assert_allclose(moments.cross, A.T @ (s * r), atol=1e-12)
    both = TripletDesign.of_triplets(rows, NEAR, FAR, n_jobs=2)
    assert_allclose(both.moments(r, s).gram, moments.gram, atol=1e-12)
    assert not design.moments(r, np.zeros(len(s))).gram.any()


@pytest.mark.parametrize("kind", [WarpedEmbedding, PairEmbedding])
def test_it_is_the_difference_of_near_and_far_pairs(kind):
    embedding = kind(Grid.fit(ITEMS, n_knots=4))
    triplets = TripletTuples(ITEMS, np.array([[0, 1, 2], [3, 4, 5], [0, 1, 6]]))
    left, right = np.concatenate([t.index.T for t in (triplets.near, triplets.far)], axis=1)
    shared = TripletDesign.of_triplets(
        pair_rows(embedding, embedding.locate(ITEMS), left, right), np.arange(3), 3 + np.arange(3)
    )
    assert_allclose(shared.csr().toarray(), ComparisonDesign.of(embedding, triplets).csr().toarray(), atol=1e-12)


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_rows_out_of_a_message_give_the_same_bits(offset):
    rng = np.random.default_rng(3)
    pairs = np.asfortranarray(rng.random((1000, 30)))
    design, buffers = TripletDesign.of_triplets(pairs, np.arange(500), np.arange(500, 1000)), []
    text = pickle.dumps(design, protocol=5, buffer_callback=buffers.append)

    def moved(buffer):
        there = np.empty(len(buffer.raw()) + 8, np.uint8)
        there[offset : offset + len(buffer.raw())] = buffer.raw()
        return there[offset : offset + len(buffer.raw())]

    copy, w = pickle.loads(text, buffers=[moved(b) for b in buffers]), rng.random(30)
    assert (copy.matvec(w) == design.matvec(w)).all()
    assert (copy.moments(np.zeros(500), np.ones(500)).gram == design.moments(np.zeros(500), np.ones(500)).gram).all()
