"""What features add: parts add up to the sum, and are those of slow twins."""

from itertools import permutations

import cases
import numpy as np
import pytest
import strategies as own
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_distances import GROUPS, distance, items
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import ConcaveLink, Grid, PairEmbedding, Semimetric
from semimetric.distances.features.linear_directions import Directions

every_kind = pytest.mark.parametrize("bends", [False, True])
every_table = pytest.mark.parametrize("groups", GROUPS)


def total(d, X, Y):
    """The sum before the link."""
    found = d.paired_by_index(np.vstack([X, Y]), np.column_stack([np.arange(len(X)), len(X) + np.arange(len(Y))]))
    return d.link_function.invert(found)


@every_table
@every_kind
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("link", ["identity", "sqrt", 0.7, ConcaveLink((0.5,), (1.0, 0.2))])
def test_parts_add_up_and_a_feature_that_does_not_differ_adds_nothing(groups, bends, gaps, link, rng):
    d = distance(3, groups, bends=bends, gaps=gaps, link=link)
    X, Y = items(rng, 80, gaps), items(rng, 80, gaps)
    same = rng.random((80, 4)) < 0.4
    Y[same] = X[same]
    parts = d.contributions_of_encoded(X, Y, by="features")
    assert parts.shape == (80, 4)
    assert_allclose(parts.sum(axis=1), total(d, X, Y), rtol=1e-12, atol=1e-12)
    equal = (X == Y) | (np.isnan(X) & np.isnan(Y))
    assert_array_equal(parts[equal], 0.0)


@pytest.mark.parametrize("make", cases.MIXED_EMBEDDINGS.values(), ids=cases.MIXED_EMBEDDINGS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_parts_to_many_items_are_those_of_each(make, data):
    grid = data.draw(own.mixed_grids())
    embedding = make(grid)
    if any(len(g) > 1 for g in embedding.groups):
        return
    n, w = grid.n_features, data.draw(own.weights(embedding.n_columns))
    d = Semimetric(embedding, w, np.full(n, 0.25) * grid.extends, tuple(f"x{k}" for k in range(n)))
    X, Y = data.draw(own.points(grid, 1)), data.draw(own.points(grid, 4))
    want = d.contributions_of_encoded(np.repeat(X, 4, axis=0), Y, by="features")
    assert_allclose(d.parts_to(Y)(X), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", cases.MIXED_EMBEDDINGS.values(), ids=cases.MIXED_EMBEDDINGS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_parts_of_every_embedding_add_up(make, data):
    grid = data.draw(own.mixed_grids())
    embedding = make(grid)
    n = grid.n_features
    w = data.draw(own.weights(embedding.n_columns))
    d = Semimetric(embedding, w, np.full(n, 0.25) * grid.extends, tuple(f"x{k}" for k in range(n)))
    X, Y = data.draw(own.points(grid, 4)), data.draw(own.points(grid, 4))
    parts = d.contributions_of_encoded(X, Y, by="features")
    assert_allclose(parts.sum(axis=1), d.contributions_of_encoded(X, Y).sum(axis=1), rtol=1e-9, atol=1e-9)
    if embedding.zero_diagonal and all(len(g) == 1 for g in embedding.groups):
        terms = d.contributions_of_encoded(X, Y)[:, : len(embedding.groups)]
        outside = 0.25 * np.abs(grid.excess(X) - grid.excess(Y))
        assert_allclose(parts[:, [f for (f,) in embedding.groups]], terms + outside[:, [f for (f,) in embedding.groups]])


@pytest.mark.parametrize("symmetry", ["tie", "none"])
@pytest.mark.parametrize("n", [2, 3])
def test_a_joint_table_is_divided_by_shapley_values(symmetry, n, rng):
    embedding = PairEmbedding(Grid([[0.0, 0.4, 1.0], [0.0, 0.7, 1.0], [0.0, 1.0]][:n]), [tuple(range(n))], symmetry=symmetry)
    d = Semimetric(embedding, rng.random(embedding.n_columns), np.zeros(n), tuple("abc"[:n]))
    x, y = rng.random((2, n))
    want = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        at = x.copy()
        for member in order:
            before = d(x, at)
            at[member] = y[member]
            want[member] += (d(x, at) - before) / len(orders)
    assert_allclose(d.contributions(x, y, by="features"), want, atol=1e-12)


@every_kind
def test_a_direction_is_divided_among_the_features_that_pull_its_way(bends, rng):
    d = distance(5, "singles", bends=bends)
    X, Y = items(rng, 50), items(rng, 50)
    parts, terms = (d.contributions_of_encoded(X, Y, by=by) for by in ("features", "terms"))
    mapped = [d.directions.append(side)[:, 4:] for side in (X, Y)]
    excess = [d.embedding.grid.excess(d.directions.append(side)) for side in (X, Y)]
    rises = [np.maximum(e, 0.0) * d.epsilon[:, 1] + np.minimum(e, 0.0) * d.epsilon[:, 0] for e in excess]
    outside = np.abs(rises[0] - rises[1])
    for row in range(50):
        want = terms[row, :4] + outside[row, :4]
        for m in range(2):
            steps = []
            for f in range(4):
                moved = X[row].copy()
                moved[f] = Y[row, f]
                steps.append(d.directions.append(moved[None])[0, 4 + m] - mapped[0][row, m])
            way = np.sign(mapped[1][row, m] - mapped[0][row, m])
            pull = np.maximum(way * np.array(steps), 0.0)
            want = want + (terms[row, 4 + m] + outside[row, 4 + m]) * pull / pull.sum()
        assert_allclose(parts[row], want, rtol=1e-9, atol=1e-12)


def test_steps_that_cancel_share_what_rounding_leaves_and_equal_points_share_what_a_table_has_there():
    grid = Grid([[0.0, 1.0]] * 2 + [[-1.0, 1.0]])
    embedding = PairEmbedding(grid, symmetry="none", zero_diagonal=False)
    directions = Directions(np.array([[1.0, -1.0]]), ("p",))
    d = Semimetric(embedding, np.ones(embedding.n_columns), np.zeros(3), ("a", "b"), directions)
    assert_allclose(d.contributions([0.2, 0.2], [0.7, 0.7], by="features"), [1.5, 1.5])
    assert_allclose(d.contributions([0.2, 0.2], [0.2, 0.2], by="features"), [1.5, 1.5])


def test_base_distances_are_parts_of_their_own(rng):
    d = cases.fitted("base")[0].semimetric_
    X, Y = rng.random((5, 3)), rng.random((5, 3))
    names = d.contribution_names("features")
    assert names[:3] == d.feature_names
    assert len(names) == 3 + len(d.base_distances)
    assert_allclose(d.contributions(X, Y, by="features").sum(axis=1), total(d, X, Y), rtol=1e-9)
