"""Boxes of joint groups: every item is in one, and corners bound its value."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search.cells import Boxes, barycentric


def setting(seed, size):
    rng = np.random.default_rng(seed)
    grid = Grid([np.sort(rng.random(int(rng.integers(2, 6)))) for _ in range(size)])
    embedding = PairEmbedding(grid, [tuple(range(size))])
    return rng, grid, embedding, embedding.locate(rng.uniform(-0.2, 1.2, (40, size)))


@given(seed=st.integers(0, 2**31), size=st.integers(2, 3), n_boxes=st.sampled_from([1, 2, 4, 16]))
def test_the_corners_of_a_box_bound_every_item_in_it(seed, size, n_boxes):
    rng, _, embedding, items = setting(seed, size)
    vertices, w = embedding.vertices[0], rng.random(embedding.n_columns)
    boxes = Boxes.fit(vertices, items.located, n_boxes)
    codes = boxes.codes(items.located)
    assert boxes.count <= n_boxes
    assert 0 <= codes.min() <= codes.max() < boxes.count
    corners = boxes.corners(embedding.tables(w)[0].values, vertices.sizes)
    at, coordinates = barycentric([vertices], items).of(0)
    bounds = np.einsum("is,isc->ic", coordinates, corners[at])
    for i in range(len(items)):
        true = embedding.paired(items, np.full(len(items), i), items, np.arange(len(items)), w)
        assert (bounds[i, codes] <= true + 1e-12).all()


@given(seed=st.integers(0, 2**31), size=st.integers(1, 3))
def test_barycentric_coordinates_reproduce_the_point(seed, size):
    _, grid, embedding, items = setting(seed, size)
    at, values = barycentric(embedding.vertices, items).of(0)
    assert (values >= -1e-15).all()
    assert_allclose(values.sum(axis=1), 1.0)
    points = embedding.vertices[0].coordinates(grid, at)
    for f in range(size):
        knots = grid.knots[f]
        lower, upper = knots[items.located.lower[:, f]], knots[items.located.upper[:, f]]
        assert_allclose((values * points[f]).sum(axis=1), lower + items.located.fraction[:, f] * (upper - lower), atol=1e-12)


def test_shares_are_mean_coordinates():
    _, _, embedding, items = setting(0, 2)
    boxes = Boxes.fit(embedding.vertices[0], items.located, 4)
    codes, (at, values) = boxes.codes(items.located), barycentric(embedding.vertices, items).of(0)
    shares = boxes.shares(codes, at, values, embedding.vertices[0].n_points)
    for c in range(boxes.count):
        if (codes == c).any():
            want = np.zeros(len(shares))
            np.add.at(want, at[codes == c], values[codes == c])
            assert_allclose(shares[:, c], want / (codes == c).sum())
