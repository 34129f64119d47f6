"""PL1 and PL2: the slow twin, what they reproduce exactly, continuity, zeros that add nothing, missing values, bad input."""

from itertools import combinations

import numpy as np
import pytest
import strategies as own
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import vector_row
from scipy import sparse

from semimetric import IDEmbedding, PL1Embedding, PL2Embedding
from semimetric.vectors.embeddings import base


def on(grid, kind=PL2Embedding, **parameters):
    """A map on the knots of a grid."""
    rows = np.stack([[k[0] for k in grid.knots], [k[-1] for k in grid.knots]])
    return kind(knots=[*grid.knots], **parameters).fit(rows)


def terms(grid):
    n = grid.n_features
    return [*((f,) for f in range(n)), *combinations(range(n), 2)]


@st.composite
def points_on_grids(draw, n=3, **limits):
    grid = draw(own.grids(**limits))
    return grid, draw(own.points(grid, n))


@given(points_on_grids())
def test_rows_are_those_of_the_slow_twin(case):
    grid, x = case
    for kind, groups in ((PL1Embedding, terms(grid)[: grid.n_features]), (PL2Embedding, terms(grid))):
        rows = on(grid, kind).transform(x).toarray()
        np.testing.assert_allclose(rows, [vector_row(row, grid.knots, groups)[0] for row in x], atol=1e-14)


@given(points_on_grids(), st.sampled_from(["zeros", "indicator"]), st.data())
def test_a_missing_value_adds_nothing_or_is_a_level(case, missing, data):
    grid, x = case
    x[data.draw(st.integers(0, 2)), data.draw(st.integers(0, grid.n_features - 1))] = np.nan
    rows = on(grid, missing=missing).transform(x).toarray()
    np.testing.assert_allclose(rows, [vector_row(row, grid.knots, terms(grid), missing=missing)[0] for row in x], atol=1e-14)


@given(points_on_grids(), st.sampled_from(["error", "indicator"]))
def test_zeros_add_nothing(case, missing):
    grid, x = case
    knots = [np.union1d(k, [0.0]) for k in grid.knots]
    x = np.vstack([np.where(np.abs(x) < 0.5, 0.0, x), np.zeros((1, grid.n_features))])
    for kind, groups in ((PL1Embedding, terms(grid)[: grid.n_features]), (PL2Embedding, terms(grid))):
        embedding = on(grid, kind, zero_preserving=True, missing=missing)
        rows = embedding.transform(x)
        twins = [vector_row(row, knots, groups, zeros=True, missing=missing)[0] for row in x]
        np.testing.assert_allclose(rows.toarray(), twins, atol=1e-14)
        packed = embedding.transform(sparse.csr_array(x))
        assert (packed != rows).nnz == 0
        assert packed.indptr[-1] == packed.indptr[-2]
        assert (np.diff(rows.indptr) <= embedding.nonzeros_at_most(x)).all()


@given(points_on_grids(min_knots=2))
def test_columns_of_zeros_are_sums_of_the_others(case):
    grid, _ = case
    knots = [np.union1d(k, [0.0]) for k in grid.knots]
    x = np.random.default_rng(0).uniform(-4, 4, (300, len(knots)))
    x[::3] = np.round(x[::3])  # zeros too
    every, some = (PL2Embedding(knots=knots, zero_preserving=z, sparse_output=False).fit(x).transform(x) for z in (False, True))
    columns = np.column_stack([some, np.ones(len(x))])
    assert columns.shape[1] <= every.shape[1]
    np.testing.assert_allclose(columns @ np.linalg.lstsq(columns, every)[0], every, atol=1e-10)


@given(points_on_grids(min_knots=2))
def test_weights_are_one_and_values_come_back(case):
    grid, x = case
    embedding, inside = on(grid), np.clip(x, grid.low, grid.high)
    rows = embedding.transform(x)
    for term in embedding.terms_:
        part = rows[:, term.start : term.stop]
        np.testing.assert_allclose(part.sum(axis=1), 1.0, atol=1e-14)
        corners = np.stack(np.meshgrid(*(grid.knots[f] for f in term.features), indexing="ij"), axis=-1)
        np.testing.assert_allclose(part @ corners.reshape(-1, len(term.features)), inside[:, term.features], atol=1e-13)


@given(st.lists(st.integers(-12, 12), min_size=2, max_size=5, unique=True), st.data())
def test_differences_minima_and_maxima_are_exact_on_shared_knots(places, data):
    knots = np.sort(places) / 4.0
    x = np.array(data.draw(st.lists(st.tuples(*[st.floats(knots[0], knots[-1])] * 2), min_size=1, max_size=5)))
    rows = PL2Embedding(knots=[knots, knots], shared_knots=True).fit([[0, 0], [1, 1]]).transform(x)[:, 2 * len(knots) :]
    a, b = np.repeat(knots, len(knots)), np.tile(knots, len(knots))
    for function in (lambda u, v: np.abs(u - v), np.minimum, np.maximum):
        np.testing.assert_allclose(rows @ function(a, b), function(*x.T), atol=1e-12)


@given(points_on_grids(min_knots=2))
def test_the_terms_of_pairs_are_id_of_two(case):
    grid, x = case
    first = grid.counts.sum()
    rows, twin = on(grid).transform(x)[:, first:], on(grid, IDEmbedding, groups="pairs").transform(x)
    if grid.n_features > 1:
        np.testing.assert_allclose(rows.toarray(), twin.toarray(), atol=1e-15)


@given(points_on_grids(min_knots=2), st.integers(0, 2**31))
def test_rows_are_continuous_across_cells_and_diagonals(case, seed):
    grid, x = case
    moved = x + 1e-9 * np.random.default_rng(seed).uniform(-1, 1, x.shape)
    for parameters in ({}, {"extrapolation": "linear"}, {"zero_preserving": True}):
        embedding = on(grid, **parameters)
        assert abs(embedding.transform(x) - embedding.transform(moved)).max() <= 1e-7


def test_single_features_go_on_in_a_line_and_pairs_are_clipped():
    knots = [np.array([0.0, 1.0, 3.0])] * 2
    embedding = PL2Embedding(knots=knots, extrapolation="linear").fit([[0, 0], [1, 1]])
    rows, inside = embedding.transform([[5.0, -2.0]]).toarray()[0], embedding.transform([[3.0, 0.0]]).toarray()[0]
    assert rows[:6].tolist() == [0, -1, 2, 3, -2, 0]
    assert rows[6:].tolist() == inside[6:].tolist()
    strict = PL2Embedding(knots=knots, extrapolation="error").fit([[0, 0], [1, 1]])
    assert_refused(lambda: strict.transform([[1.0, 3.5]]), "'x1' has the value 3.5", "from 0 to 3", "'clip' or 'linear'")
    assert strict.transform([[1.0, 3.0]]).shape == (1, 15)


def test_sums_from_the_right_are_the_piecewise_linear_encoding(rng):
    """PLE (Gorishniy et al. 2022, eq. 1) = D_1^{-T} PL1 without its first column."""
    X = rng.normal(size=(50, 1))
    embedding = PL1Embedding(6, knots="quantile").fit(X)
    b = embedding.grid_.knots[0]
    x = np.append(X[:, 0], [-9.0, 9.0])[:, None]
    ple = np.clip((x - b[:-1]) / np.diff(b), 0.0, 1.0)
    sums = np.cumsum(embedding.transform(x).toarray()[:, ::-1], axis=1)[:, ::-1]
    np.testing.assert_allclose(sums[:, 1:], ple, atol=1e-14)
    np.testing.assert_allclose(sums[:, 0], 1.0)


def test_features_of_few_values(rng):
    X = np.column_stack([np.full(30, 7.0), rng.integers(0, 2, 30), rng.integers(0, 4, 30) * 1.5, rng.normal(size=30)])
    embedding = PL2Embedding(5).fit(X)
    assert [len(k) for k in embedding.grid_.knots] == [1, 2, 4, 5]
    rows = embedding.transform(np.vstack([X, [[-1.0, 9.0, 0.7, 0.0]]]))
    assert (rows[:, [0]].toarray() == 1).all()  # constant: one column of 1, whatever comes
    np.testing.assert_allclose(rows.sum(axis=1), 10.0)
    nothing = PL2Embedding(5, zero_preserving=True).fit(X * [0, 1, 1, 1])
    assert [t.features for t in nothing.terms_] == [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3)]
    assert nothing.grid_.counts[0] == 1


@pytest.mark.parametrize("pairs", [[(2, 0), (0, 1)], "chain", [(0, 1), (0, 2), (1, 2)]])
def test_chosen_pairs_are_columns_of_all_pairs(pairs, rng):
    X = rng.normal(size=(40, 3))
    every, some = PL2Embedding(4).fit(X), PL2Embedding(4, pairs=pairs).fit(X)
    at = {t.features: t for t in every.terms_}
    chosen = np.concatenate([np.arange(at[t.features].start, at[t.features].stop) for t in some.terms_])
    assert (every.transform(X)[:, chosen] != some.transform(X)).nnz == 0
    assert (every.get_feature_names_out()[chosen] == some.get_feature_names_out()).all()
    assert (np.diff(some.pairs_) > 0).all()


@settings(max_examples=20)
@given(points_on_grids(min_knots=2))
def test_single_precision_keeps_no_zeros(case):
    grid, x = case
    x = np.vstack([x, grid.low + 1e-60])
    rows, twin = on(grid, dtype=np.float32).transform(x), on(grid).transform(x)
    assert rows.dtype == np.float32
    assert (rows.data != 0).all()
    assert abs(rows - twin).max() <= 1e-6


def test_rows_of_sparse_vectors_take_the_room_of_their_non_zeros(rng):
    """All pairs of 3,000 features: a full row would have 13 million entries."""
    X = sparse.random_array((60, 3000), density=2e-3, rng=rng, format="csr")
    embedding = PL2Embedding(knots=[[0.0, 0.5, 1.0]] * 3000, zero_preserving=True).fit(X)
    rows, active = embedding.transform(X), np.diff(X.indptr)
    assert embedding.n_columns_ == 2 * 3000 + 4 * 3000 * 2999 // 2
    assert rows.indices.max() > 2**23
    assert 0 < rows.nnz <= embedding.nonzeros_at_most(X).sum() == (2 * active + 3 * active * (active - 1) // 2).sum()


BAD = {
    "n_knots": ({"n_knots": 1}, "n_knots=1"),
    "fractions": ({"n_knots": 2.5}, "n_knots=2.5"),
    "strategy": ({"knots": "kmean"}, "knots='kmean'"),
    "too few arrays": ({"knots": [[0.0, 1.0]]}, "1 arrays for 3 features"),
    "not increasing": ({"knots": [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]}, "strictly increasing"),
    "not increasing, zeros": ({"knots": [[0.0, 1.0], [1.0, 0.5], [0.0, 1.0]], "zero_preserving": True}, "strictly increasing"),
    "infinite": ({"knots": [[0.0, np.inf]] * 3}, "must be finite"),
    "not shared": ({"knots": [[0.0, 1.0], [0.0, 2.0], [0.0, 1.0]], "shared_knots": True}, "knots differ"),
    "shared numbers": ({"n_knots": [2, 3, 4], "shared_knots": True}, "differ between features"),
    "extrapolation": ({"extrapolation": "constant"}, "extrapolation='constant'"),
    "missing": ({"missing": "drop"}, "missing='drop'"),
    "dtype": ({"dtype": np.int32}, "float32 or float64"),
    "no dtype": ({"dtype": None}, "dtype=None"),
    "pair out of range": ({"pairs": [(0, 3)]}, "outside 0 to 2"),
    "pair repeated": ({"pairs": [(0, 1), (1, 0)]}, "repeats"),
    "pair of one": ({"pairs": [(0, 0)]}, "each once"),
    "three": ({"pairs": [(0, 1, 2)]}, "of 3 features"),
    "no pairs": ({"pairs": []}, "is empty"),
    "pairs": ({"pairs": "some"}, "pairs='some'"),
    "n_pairs missing": ({"pairs": "best"}, "n_pairs=None"),
    "n_pairs unused": ({"n_pairs": 2}, "n_pairs=2"),
    "n_pairs too many": ({"pairs": "best", "n_pairs": 4}, "there are 3 pairs of 3 feature(s)"),
    "shape missing": ({"pairs": "grid"}, "shape=None"),
    "shape wrong": ({"pairs": "grid", "shape": (2, 2)}, "4 places for 3 features"),
    "axes wrong": ({"pairs": "grid", "shape": ((2, 2), 2)}, "8 places for 3 features"),
    "periodic": ({"pairs": "grid", "shape": (3,), "periodic": (1,)}, "periodic=(1,) for 1 axes"),
    "periodic unused": ({"periodic": (0,)}, "periodic=(0,) for 0 axes"),
    "reach": ({"pairs": "chain", "reach": 0}, "reach=0"),
    "no y": ({"knots": "tree"}, "requires y"),
}


@pytest.mark.parametrize(("parameters", "message"), BAD.values(), ids=BAD)
def test_bad_parameters_are_refused(parameters, message, rng):
    X = rng.random((20, 3))
    y = None if message == "requires y" else np.arange(20) % 2
    assert_refused(lambda: PL2Embedding(**parameters).fit(X, y), message, "")


def test_bad_items_are_refused(rng):
    X = rng.random((20, 3))
    assert_refused(lambda: PL1Embedding().fit(X[:1]), "1 sample", "at least 2")
    assert_refused(lambda: PL1Embedding(missing="zeros").fit(X * [1, np.nan, 1]), "'x1'", "nothing but missing")
    assert_refused(lambda: PL1Embedding().fit(sparse.csr_array(X)), "X is sparse", "zero_preserving=True")
    assert_refused(lambda: PL1Embedding(knots="tree").fit(X, [1, 0]), "y has shape (2,)", "one label or number a row")
    wide = PL2Embedding(knots=[np.arange(60_000.0)] * 3).fit(X)
    assert wide.transform(X).indices.dtype == np.int64
    assert_refused(lambda: base.check_columns_fit(2**63, "n_knots=3"), "9223372036854775808 columns", "fewer knots")
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN|infinity"):
            PL1Embedding().fit(X).transform([[0.5, bad, 0.5]])
