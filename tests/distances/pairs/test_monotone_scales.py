import numpy as np
import reference
import strategies as own
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import NotSupportedError
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.gower import GapEmbedding
from semimetric.distances.pairs.monotone_scales import GapScale, WarpedEmbedding, l1_of_alike


@given(st.data(), own.grids())
def test_is_l1_between_monotone_scales(data, grid):
    embedding = WarpedEmbedding(grid)
    w, X, Y = data.draw(own.weights(embedding.n_columns)), data.draw(own.points(grid, 3)), data.draw(own.points(grid, 3))
    rises = np.split(w, np.cumsum(grid.sizes - 1)[:-1])
    want = [reference.warped(x, y, grid.knots, rises) for x, y in zip(X, Y, strict=True)]
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    np.testing.assert_allclose(embedding.paired(x, r, y, r, w), want, atol=1e-12)
    np.testing.assert_allclose(embedding.rows(x, r, y, r).matvec(w), want, atol=1e-12)
    full = PairEmbedding(grid)  # and its tables are one-feature tables of the full family
    tables = np.concatenate([t.values.ravel()[v.keys] for t, v in zip(embedding.tables(w), full.vertices, strict=True)])
    np.testing.assert_allclose(full.paired(full.locate(X), r, full.locate(Y), r, tables), want, atol=1e-12)


@st.composite
def gap_scales(draw):
    """Scales of numbers of which some may be missing, and their weights."""
    grid = draw(own.grids())
    embedding = WarpedEmbedding(Grid(grid.knots, missing=[draw(st.booleans()) for _ in grid.knots]))
    return embedding, draw(own.weights(embedding.n_columns))


def parts_of(embedding, w):
    """The knots of each feature, the rises of both scales, and the weight of the level; those never missing have one."""
    for g, (knots, gap) in enumerate(zip(embedding.grid.knots, embedding.grid.missing, strict=True)):
        part, n = w[embedding.group_of_column == g], len(knots) - 1
        yield (knots, part[:n], part[n : 2 * n], part[2 * n]) if gap else (knots, part, np.zeros(n), 0.0)


@given(st.data(), gap_scales())
def test_a_number_that_may_be_missing_is_two_scales(data, made):
    embedding, w = made
    X, Y = (data.draw(own.points(embedding.grid, 3)) for _ in range(2))
    parts = list(parts_of(embedding, w))
    want = [
        [reference.gap_scale(a, b, *part) for a, b, part in zip(x, y, parts, strict=True)] for x, y in zip(X, Y, strict=True)
    ]
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    np.testing.assert_allclose(embedding.contributions(x, r, y, r, w), want, atol=1e-12)
    want = np.sum(want, axis=1)
    np.testing.assert_allclose(embedding.paired(x, r, y, r, w), want, atol=1e-12)
    np.testing.assert_allclose(embedding.rows(x, r, y, r).matvec(w), want, atol=1e-12)
    np.testing.assert_allclose(np.diag(embedding.pairwise(x, y, w)), want, atol=1e-12)
    at, to = embedding.coordinates(x, w), embedding.coordinates(y, w)
    assert at.shape[1] == embedding.grid.n_features + sum(embedding.grid.missing)
    np.testing.assert_allclose(np.abs(at - to).sum(axis=1), want, atol=1e-12)
    full = PairEmbedding(embedding.grid)
    tables = np.concatenate([t.values.ravel()[v.keys] for t, v in zip(embedding.tables(w), full.vertices, strict=True)])
    np.testing.assert_allclose(full.paired(full.locate(X), r, full.locate(Y), r, tables), want, atol=1e-12)


@given(st.data(), gap_scales())
def test_values_outside_go_away_from_each_other_and_from_missing_ones(data, made):
    embedding, w = made
    X, Y = (data.draw(own.points(embedding.grid, 3)) for _ in range(2))
    slopes = np.arange(1.0, embedding.grid.n_features + 1)
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    rises = [slopes * embedding.grid.excess(side) for side in (X, Y)]
    at, to = (embedding.coordinates(side, w, rise) for side, rise in zip((x, y), rises, strict=True))
    want = embedding.paired(x, r, y, r, w) + np.abs(rises[0] - rises[1]).sum(axis=1)
    np.testing.assert_allclose(np.abs(at - to).sum(axis=1), want, atol=1e-12)


@given(st.data(), gap_scales())
def test_scales_with_gaps_are_metrics_that_are_positive_where_they_say_so(data, made):
    embedding, w = made[0], np.rint(made[1])  # sums of smaller numbers may round to nothing
    X = data.draw(own.points(embedding.grid, 3))
    x, (i, j) = embedding.locate(X), np.triu_indices(3, 1)
    a, b, c = embedding.paired(x, i, x, j, w)
    assert max(a, b, c) <= a + b + c - max(a, b, c) + 1e-12
    for g, table in enumerate(embedding.tables(w)):
        off = table.values[~np.eye(len(table.values), dtype=bool)]
        assert embedding.positive_groups(w)[g] == bool((off > 0).all())


@given(gap_scales())
def test_a_table_says_which_scale_it_is(made):
    embedding, w = made
    for table, (_, up, down, level) in zip(embedding.tables(w), parts_of(embedding, w), strict=True):
        if np.isnan(table.knots[0][-1]):
            found = GapScale.of(table.values)
            np.testing.assert_allclose(found.table, table.values, atol=1e-12)
            np.testing.assert_allclose(found.weights, [*up, *down, level], atol=1e-12)


@given(st.data(), own.grids(max_features=1))
def test_the_nearest_scale_of_another_table_is_a_metric_with_its_steps(data, grid):
    c = len(grid.knots[0])
    table = np.abs(np.subtract.outer(np.arange(c + 1.0), np.arange(c + 1.0)))
    table[-1, :-1] = table[:-1, -1] = data.draw(own.weights(c))
    found = GapScale.of(table)
    assert (found.weights >= 0).all()
    np.testing.assert_allclose(np.diagonal(found.table, 1)[:-1], 1.0)


@given(gap_scales(), st.lists(st.integers(-16, 16), max_size=6))
def test_other_knots_hold_the_same_scale(made, more):
    embedding, w = made
    for table, (knots, *parts) in zip(embedding.tables(w), parts_of(embedding, w), strict=True):
        finer = np.union1d(knots, np.array(more) / 4.0)
        found = GapScale(*parts).at_knots(knots, finer).table
        at = np.append(np.searchsorted(finer, knots), len(finer))
        if np.isnan(table.knots[0][-1]):
            np.testing.assert_allclose(found[np.ix_(at, at)], table.values, atol=1e-12)


@given(own.grids())
def test_the_prior_of_scales_with_gaps_is_gowers_distance(grid):
    grid = Grid(grid.knots, missing=[True] * grid.n_features)
    scales, slopes = WarpedEmbedding(grid), np.arange(1.0, grid.n_features + 1)
    gower = GapEmbedding(grid)
    for found, want in zip(scales.tables(scales.prior(slopes)), gower.tables(gower.prior(slopes)), strict=True):
        np.testing.assert_allclose(found.values, want.values, atol=1e-12)
    assert (scales.units(slopes) > 0).all()
    np.testing.assert_allclose(scales.differences("curves") @ scales.prior(slopes), 0.0, atol=1e-12)


@given(gap_scales())
def test_select_keeps_the_tables(made):
    embedding, w = made
    keep = np.arange(embedding.grid.n_features)[-2:]
    part = embedding.select(keep, keep)
    for found, g in zip(part.tables(w[np.isin(embedding.group_of_column, keep)]), keep, strict=True):
        np.testing.assert_array_equal(found.values, embedding.tables(w)[g].values)


def test_prior_is_weighted_l1_and_second_differences_vanish_on_it():
    embedding = WarpedEmbedding(Grid([[0.0, 1.0, 4.0], [5.0, 6.0]]))
    w = embedding.prior(np.array([2.0, 3.0]))
    assert w.tolist() == [2.0, 6.0, 3.0]
    np.testing.assert_allclose(embedding.differences("curves") @ w, 0.0, atol=1e-15)
    assert embedding.differences("tables").shape == (0, 3)
    assert embedding.differences("shifts") @ w == [4.0]


def test_select_keeps_the_weights_of_the_groups_that_stay():
    embedding = WarpedEmbedding(Grid([[0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 3.0]]))
    part = embedding.select(np.array([2]), np.array([0, 2]))
    assert part.groups == ((1,),)
    assert part.n_columns == 1


def test_groups_of_several_features_are_refused():
    grid = Grid([[0.0, 1.0]] * 2)
    assert_refused(
        lambda: WarpedEmbedding(grid, [(0, 1)]), "one scale a feature", 'groups="singles"', 'tables="full"', NotSupportedError
    )


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 5), st.integers(0, 6))
def test_rows_that_are_alike_have_the_same_distances(seed, n, p, n_changed):
    rng = np.random.default_rng(seed)
    left, right = np.tile(rng.integers(0, 3, p), (n, 1)).astype(float), rng.integers(0, 3, (600, p)) + rng.random((600, p)) / 9
    left[rng.integers(0, n, n_changed), rng.integers(0, p, n_changed)] += rng.random(n_changed)
    right[:n] = left
    found = l1_of_alike(left, np.ascontiguousarray(right.T))
    np.testing.assert_allclose(found, np.abs(left[:, None] - right).sum(axis=2), atol=1e-12)
    assert found.min() >= 0
