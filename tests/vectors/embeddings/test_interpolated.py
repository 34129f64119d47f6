"""ID of groups: the slow twin, all vertices or those that the fit touched, missing values, bad input."""

import numpy as np
import strategies as own
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import vector_row

from semimetric import IDEmbedding, PL1Embedding


def on(grid, **parameters):
    rows = np.stack([[k[0] for k in grid.knots], [k[-1] for k in grid.knots]])
    return IDEmbedding(knots=[*grid.knots], **parameters).fit(rows)


@given(own.grids(max_features=4), st.data())
def test_rows_are_those_of_the_slow_twin(grid, data):
    groups, x = data.draw(own.groups(grid.n_features, 3)), data.draw(own.points(grid, 3))
    missing = data.draw(st.sampled_from(["error", "zeros", "indicator"]))
    if missing != "error":
        x[data.draw(st.integers(0, 2)), data.draw(st.integers(0, grid.n_features - 1))] = np.nan
    embedding = on(grid, groups=groups, missing=missing)
    rows, twins = embedding.transform(x), [vector_row(row, grid.knots, groups, missing=missing)[0] for row in x]
    np.testing.assert_allclose(rows.toarray(), twins, atol=1e-14)
    assert embedding.n_columns_ == len(embedding.get_feature_names_out()) == rows.shape[1]


@given(own.grids(max_features=4), st.data())
def test_touched_vertices_are_columns_of_the_whole_table(grid, data):
    group = tuple(data.draw(st.permutations(range(grid.n_features))))
    seen, other = data.draw(own.points(grid, 3)), data.draw(own.points(grid, 3))
    whole = on(grid, groups=[group])
    touched = IDEmbedding(knots=[*grid.knots], groups=[group], most_vertices=1).fit(seen)
    keys = touched.vertices_[0] if touched.vertices_[0] is not None else np.arange(1)
    assert (np.diff(keys) > 0).all()
    for x in (seen, other):
        np.testing.assert_array_equal(touched.transform(x).toarray(), whole.transform(x)[:, keys].toarray())
    np.testing.assert_allclose(touched.transform(seen).sum(axis=1), 1.0)
    assert (touched.get_feature_names_out() == whole.get_feature_names_out()[keys]).all()


def test_a_grid_too_large_to_hold_takes_room_for_what_it_touched(rng):
    X = rng.random((200, 20))
    embedding = IDEmbedding(8, groups="all").fit(X)  # 8^20 vertices
    assert embedding.n_columns_ <= 200 * 21
    np.testing.assert_allclose(embedding.transform(X).sum(axis=1), 1.0)
    blocks = IDEmbedding(8, groups="all")
    for start in range(0, 200, 50):
        blocks.partial_fit(X[start : start + 50])
    assert (blocks.transform(X) != embedding.transform(X)).nnz == 0
    assert_refused(
        lambda: IDEmbedding(8, groups="all").fit(rng.random((50, 25))), "the grid of the group (0, 1,", "at most 2**63 - 1"
    )


def test_groups_of_one_are_pl1(rng):
    X = rng.normal(size=(50, 3))
    ours, theirs = IDEmbedding(5, groups="singles").fit(X), PL1Embedding(5).fit(X)
    assert (ours.transform(X) != theirs.transform(X)).nnz == 0
    assert ours.terms_ == theirs.terms_


def test_bad_groups_are_refused(rng):
    X = rng.random((9, 3))
    for groups, said in (
        ([(0, 3)], "outside 0 to 2"),
        ([(0, 1), (1, 0)], "repeats"),
        ([], "is empty"),
        ("some", "groups="),
        (None, "groups=None"),
    ):
        assert_refused(lambda groups=groups: IDEmbedding(groups=groups).fit(X), said, "")
    assert_refused(lambda: IDEmbedding(extrapolation="linear").fit(X), "extrapolation='linear'", "'clip', 'error'")
    assert_refused(lambda: IDEmbedding(most_vertices=0).fit(X), "most_vertices=0", "an integer >= 1")
