"""The laws of the method on features of every kind, and what `MixedEmbedding` and `GapEmbedding` promise beyond."""

import cases
import numpy as np
import pytest
import reference
import strategies as own
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import Grid, NeighborIndex, NotSupportedError, Semimetric
from semimetric._foundation.stored import state_of, value_of
from semimetric.distances.pairs.base import PairMap
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.gower import GapEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.distances.pairs.scales_and_tables import MixedEmbedding, scales_of
from semimetric.distances.search import segment

every_embedding = pytest.mark.parametrize("make", cases.MIXED_EMBEDDINGS.values(), ids=cases.MIXED_EMBEDDINGS)
without_gaps = pytest.mark.parametrize("name", [n for n in cases.MIXED_EMBEDDINGS if n != "gaps"])
KINDS = ("numeric", "periodic", "categorical")
GRID = Grid([[0.0, 1.0, 3.0], [0.0, 8.0, 16.0, 24.0], [0.0, 1.0, 2.0, 3.0]], KINDS, [False, True, True])


def distance_of(embedding, w, epsilon=0.25):
    n = embedding.grid.n_features
    return Semimetric(embedding, w, np.full(n, epsilon), tuple(f"x{k}" for k in range(n)))


def slow_distance(embedding, x, y, w):
    """Tables interpolated between the positions of the values."""
    grid, total = embedding.grid, 0.0
    features = list(zip(grid.knots, grid.kinds, grid.missing, strict=True))
    x, y = ([reference.position(v, *feature) for v, feature in zip(side, features, strict=True)] for side in (x, y))
    places = [np.arange(float(size)) for size in grid.sizes]
    for table in embedding.tables(w):
        left, right = reference.swapped(x, y, table.features) if getattr(embedding, "symmetry", "") == "swap" else (x, y)
        total += reference.table_lookup(reference.pair_row(left, right, places, table.features), table.values)
    return total


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_rows_are_tables_between_positions(make, data):
    grid = data.draw(own.mixed_grids())
    embedding = make(grid)
    if isinstance(embedding, GapEmbedding) or not embedding.whole:  # no interpolation; no tables
        return
    X, Y, w = data.draw(own.points(grid, 3)), data.draw(own.points(grid, 3)), data.draw(own.weights(embedding.n_columns))
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    slow = [slow_distance(embedding, a, b, w) for a, b in zip(X, Y, strict=True)]
    assert_allclose(embedding.csr(x, r, y, r) @ w, slow, atol=1e-12)


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_all_products_are_those_of_the_rows(make, data):
    grid = data.draw(own.mixed_grids())
    embedding = make(grid)
    X, Y, w = data.draw(own.points(grid, 3)), data.draw(own.points(grid, 3)), data.draw(own.weights(embedding.n_columns))
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    rows = embedding.rows(x, r, y, r)
    want = rows.matvec(w)
    assert_allclose(embedding.csr(x, r, y, r) @ w + rows.offset, want, atol=1e-12)
    assert_allclose(embedding.paired(x, r, y, r, w), want, atol=1e-12)
    assert_allclose(np.diag(embedding.pairwise(x, y, w)), want, atol=1e-12)
    assert_allclose(embedding.contributions(x, r, y, r, w).sum(axis=1), want, atol=1e-12)
    matrix, gram = embedding.csr(x, r, y, r), np.zeros((embedding.n_columns + 1,) * 2)
    rows.add_gram(np.array([1.0, 2.0, 0.5]), gram)
    full = (matrix.T @ (matrix * np.array([[1.0], [2.0], [0.5]]))).toarray()
    assert_allclose(np.tril(gram[:-1, :-1]), np.tril(full), atol=1e-12)


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_axioms_hold_to_the_bit(make, data):
    grid = data.draw(own.mixed_grids())
    embedding = make(grid)
    X = data.draw(own.points(grid, 4))
    d = distance_of(embedding, data.draw(own.weights(embedding.n_columns, low=0.01)))
    assert (d.paired(X, X[::-1]) == d.paired(X[::-1], X)).all() or not embedding.symmetric
    assert (d.paired(X, X) == 0).all() or not embedding.zero_diagonal
    table = d.pairwise(X)
    assert (table == table.T).all() or not embedding.symmetric
    if d.axioms.positive:
        located = grid.locate(X)
        places = (located.lower + located.fraction) % np.where(grid.seams > 0, grid.seams, 1e9) + grid.excess(X)
        apart = np.abs(places - places[::-1]).max(axis=1) > 1e-9
        assert (d.paired(X, X[::-1])[apart & (np.abs(X - X[::-1]).max(axis=1) > 1e-9)] > 0).all()


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_the_prior_is_gowers_distance(make, data):
    grid = data.draw(own.mixed_grids())
    embedding = make(grid)
    if set(range(grid.n_features)) - embedding.covered or embedding.n_columns == 0:
        return
    slopes = np.array(data.draw(st.lists(st.floats(0.1, 5.0), min_size=grid.n_features, max_size=grid.n_features)))
    a, b = np.array([[data.draw(st.sampled_from(list(k))) for k in grid.knots] for _ in range(2)])  # at knots
    missing = [m and data.draw(st.booleans()) for m in grid.missing]
    given_a = [None if gone else v for v, gone in zip(a, missing, strict=True)]
    x, y = embedding.locate([np.where(missing, np.nan, a)]), embedding.locate([b])
    got = embedding.rows(x, np.array([0]), y, np.array([0]))
    w = embedding.prior(slopes)
    if not embedding.whole:  # what is untouched has slopes of its own
        return
    want = reference.gower(given_a, b, grid.kinds, grid.widths, slopes * grid.widths)
    assert got.matvec(w)[0] == pytest.approx(want, abs=1e-9)


@without_gaps
@given(data=st.data(), seed=st.integers(0, 2**31), k=st.integers(1, 4))
@settings(max_examples=25)
def test_exact_search_is_brute_force(name, data, seed, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "_FEW", 0)
        patch.setattr(segment, "_WORTH", 0)
        grid = data.draw(own.mixed_grids(max_categories=6))
        rng = np.random.default_rng(seed)
        items, queries = data.draw(own.points(grid, 24))[rng.integers(0, 24, 60)], data.draw(own.points(grid, 3))
        embedding = cases.MIXED_EMBEDDINGS[name](grid)
        side = data.draw(st.sampled_from(["query-first", "query-last"]))
        names = tuple(f"x{f}" for f in range(grid.n_features))
        d = Semimetric(embedding, rng.random(embedding.n_columns) ** 3, rng.random(grid.n_features), names)
        index = NeighborIndex(d, side=side).fit(items)
        exact, brute = index.search(queries, k), index.search(queries, k, algorithm="brute")
        assert_array_equal(exact.ids, brute.ids)
        assert_array_equal(exact.distances, brute.distances)
        every = d.pairwise(queries, items) if side == "query-first" else d.pairwise(items, queries).T
        assert_allclose(exact.distances, np.sort(every, axis=1)[:, :k], rtol=1e-9, atol=1e-12)


@without_gaps
def test_a_pair_map_is_read_as_it_was(name, rng):
    embedding = cases.MIXED_EMBEDDINGS[name](GRID)
    again = value_of(state_of(embedding), PairMap, ())
    assert type(again) is type(embedding)
    assert (again.groups, again.grid.kinds, again.grid.missing) == (embedding.groups, KINDS, GRID.missing)
    X = np.column_stack([rng.uniform(-1, 4, 20), rng.uniform(-30, 30, 20), rng.integers(0, 4, 20)])
    X[::4, 1:] = np.nan
    w, r = rng.random(embedding.n_columns), np.arange(20)
    a, b = embedding.locate(X), again.locate(X)
    assert (embedding.paired(a, r, a, r[::-1], w) == again.paired(b, r, b, r[::-1], w)).all()


def test_scales_stand_where_they_can():
    groups = [(0,), (1,), (2,)]
    mixed = scales_of(GRID, groups)
    assert isinstance(mixed, MixedEmbedding)
    assert (mixed.scales.groups, mixed.side_tables.groups) == (((0,),), ((1,), (2,)))
    assert not mixed.metric
    assert isinstance(scales_of(GRID, groups[:1]), WarpedEmbedding)
    assert isinstance(scales_of(GRID, groups[1:]), PairEmbedding)
    assert isinstance(mixed.select(np.array([0]), np.array([0])), WarpedEmbedding)
    assert isinstance(mixed.select(np.array([2]), np.array([2])), PairEmbedding)
    assert mixed.differences("curves").shape[1] == mixed.n_columns
    assert_refused(lambda: WarpedEmbedding(GRID, [(1,)]), "feature 1", "periodic", "full tables", error=NotSupportedError)
    many = Grid([np.arange(2000.0)], ["categorical"])
    assert_refused(lambda: scales_of(many, [(0,)]), "2000 levels", "merge rare", error=NotSupportedError)


def test_gaps_are_shares_of_the_widest():
    embedding = GapEmbedding(GRID)
    X = np.array([[0.0, 1.0, 0.0], [3.0, 13.0, 2.0], [1.5, 25.0, 0.0], [0.0, np.nan, np.nan]])
    items, r = embedding.locate(X), np.arange(3)
    got = embedding.rows(items, np.zeros(3, int), items, r + 1).values
    assert_allclose(got, [[1, 1, 1], [0.5, 0, 0], [0, 0.5, 1]], atol=1e-12)
    assert_allclose(embedding.prior(np.ones(3)), GRID.widths)
    assert [t.values.shape for t in embedding.tables(np.ones(3))] == [(3, 3), (5, 5), (5, 5)]
    assert embedding.select(np.array([1]), np.array([1])).grid.kinds == ("periodic",)
    assert embedding.differences("tables").shape == (0, 3)


def test_scales_take_no_group_of_two_whatever_the_kinds():
    for groups in ([(0, 1)], [(0,), (1, 2)]):
        assert_refused(
            lambda g=groups: scales_of(GRID, g),
            'tables="warped" has',
            "one scale a feature",
            'tables="full"',
            NotSupportedError,
        )


def test_every_gap_is_one_cell():
    """A penalty by cells counts every feature of a weighted Gower distance once, whatever its number of knots."""
    gaps = GapEmbedding(GRID)
    assert_array_equal(gaps.cells, np.ones(3))
    constant = Grid([[0.0, 1.0], [4.0], [0.0, 1.0, 2.0]])
    assert_array_equal(GapEmbedding(constant).cells, np.ones(2))
    assert len(GapEmbedding(constant).cells) == GapEmbedding(constant).n_columns


OLD = Grid([[0.0, 1.0, 3.0], [0.0, 1.0]], missing=[True, False])


def test_a_file_of_before_keeps_tables_of_numbers_with_gaps(rng):
    """It names no features with scales though they may be missing, so that all of these have the tables that it holds."""
    embedding = MixedEmbedding(OLD, [(0,), (1,)])
    assert embedding.groups == ((1,), (0,))
    state = state_of(embedding)
    arguments = state.values["object"]["arguments"]
    assert arguments.pop("gaps") is not None
    again = value_of(state, PairMap, ())
    assert again.groups == ((1,), (0,))
    X, w = np.array([[np.nan, 0.5], [0.5, 2.0], [4.0, 1.0]]), 1 + rng.random(embedding.n_columns)
    assert_array_equal(distance_of(again, w).pairwise(X), distance_of(embedding, w).pairwise(X))


def test_scales_with_gaps_are_saved(rng):
    embedding = scales_of(GAPS, [(f,) for f in range(3)])
    assert embedding.gaps == (0,)
    again, w = value_of(state_of(embedding), PairMap, ()), 1 + rng.random(embedding.n_columns)
    X = np.array([[np.nan, 1.0, 0.0], [0.5, 2.0, 1.0], [4.0, 1.0, 2.0], [-1.0, np.nan, np.nan]])
    assert_array_equal(distance_of(again, w).pairwise(X), distance_of(embedding, w).pairwise(X))
    part = again.select(np.array([0]), np.array([0, 2]))
    assert_array_equal(part.tables(w[:5])[0].values, embedding.tables(w)[0].values)


GAPS = Grid(GRID.knots, KINDS, [True, True, True])
