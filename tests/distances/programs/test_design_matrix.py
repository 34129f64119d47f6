import cases
import numpy as np
import pytest

from semimetric._foundation.types import Pairs
from semimetric.data.grid import Grid
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.programs import design_matrix as module
from semimetric.distances.programs.design_matrix import MatrixDesign, PairDesign

ITEMS, INDEX, Y = cases.sample(n_pairs=60)
FORMS = {
    "plain": {},
    "scaled": {"scale": np.linspace(0.5, 2.0, 60)},
    "base": {"base": cases.cityblock(ITEMS[INDEX[:, 0]], ITEMS[INDEX[:, 1]])[:, None]},
    "both": {"scale": np.linspace(0.5, 2.0, 60), "base": np.random.default_rng(1).random((60, 2))},
    "threads": {"n_jobs": 2},
    "directions": {"directions": Directions(np.array([[1.0, -1.0, 0.0]]), ("d",))},
}


def design(name, embedding="pairs", items=ITEMS, index=INDEX):
    features = FORMS[name]["directions"].append(ITEMS) if "directions" in FORMS[name] else ITEMS
    grid = Grid.fit(features, n_knots=3)
    return PairDesign(cases.EMBEDDINGS[embedding](grid), Pairs(items, index), **FORMS[name])


@pytest.mark.parametrize("embedding", ["singles", "pairs", "warped", "asymmetric"])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("block", [7, 1024])
def test_products_over_blocks_are_those_of_the_matrix(name, embedding, block, monkeypatch, rng):
    monkeypatch.setattr(module, "_BLOCK", block)
    A = design(name, embedding)
    matrix, s = A.csr().toarray(), rng.random(60)
    w, r = rng.random(A.shape[1]), rng.normal(size=60)
    assert matrix.shape == A.shape
    for form in (A, A.held(), MatrixDesign(A.csr())):
        np.testing.assert_allclose(form.matvec(w), matrix @ w, atol=1e-12)
        np.testing.assert_allclose(form.rmatvec(r), matrix.T @ r, atol=1e-12)
        moments = form.moments(Y, s)
        np.testing.assert_allclose(moments.gram, matrix.T @ (s[:, None] * matrix), atol=1e-12)
        np.testing.assert_allclose(moments.cross, matrix.T @ (s * Y), atol=1e-12)
        assert (moments.square, moments.total) == pytest.approx((s @ Y**2, s.sum()))


def test_items_that_no_pair_shares_are_located_block_by_block():
    points = ITEMS[INDEX].reshape(-1, 3)
    apart = design("plain", items=points, index=np.arange(120).reshape(-1, 2))
    assert apart._located is None
    assert design("plain")._located is not None
    np.testing.assert_allclose(apart.csr().toarray(), design("plain").csr().toarray())


def test_a_large_matrix_is_not_held(monkeypatch):
    monkeypatch.setattr(module, "_HELD_ENTRIES", 10)
    A = design("plain")
    assert A.held() is A


@pytest.mark.parametrize("name", FORMS)
def test_moments_of_parts_add_up(name, rng):
    A, s = design(name), rng.random(60)
    cut = np.array([0, 5, 31, 60])
    parts = [A.take(np.arange(a, b)).moments(Y[a:b], s[a:b]) for a, b in zip(cut[:-1], cut[1:], strict=True)]
    whole, total = A.moments(Y, s), parts[0] + parts[1] + parts[2]
    for field in ("gram", "cross", "square", "total"):
        np.testing.assert_allclose(getattr(total, field), getattr(whole, field), atol=1e-12)
    half = whole.in_unit(2.0)
    np.testing.assert_allclose(half.cross, A.moments(Y / 2, s).cross)
    assert half.square == pytest.approx(A.moments(Y / 2, s).square)
