import numpy as np
import pytest
from cases import assert_refused

from semimetric import NotSupportedError
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding

GRID = Grid([[0.0, 1.0, 2.0], [0.0, 5.0], [0.0, 1.0, 3.0, 4.0]])


@pytest.mark.parametrize(
    ("options", "columns"),
    [({}, 3 + 1 + 6), ({"symmetry": "none"}, 6 + 2 + 12), ({"symmetry": "none", "zero_diagonal": False}, 9 + 4 + 16),
     ({"groups": "pairs"}, 15 + 66 + 28), ({"groups": [(0, 1, 2)]}, 24 * 23 // 2), ({"groups": [(1,)]}, 1)],
)  # fmt: skip
def test_numbers_of_columns(options, columns):
    embedding = PairEmbedding(GRID, **options)
    assert embedding.n_columns == columns == len(embedding.group_of_column)
    assert (np.diff(embedding.group_of_column) >= 0).all()


def test_the_swap_of_one_feature_is_the_tie():
    assert PairEmbedding(GRID, symmetry="swap").symmetry == "tie"
    assert not PairEmbedding(GRID, "pairs", symmetry="swap").continuous


def test_the_swap_jumps_where_the_tie_does_not(rng):
    """docs/mathematics.md: at x_0 = y_0 the order flips while the tables differ."""
    jumps = {}
    for symmetry in ("tie", "swap"):
        e = PairEmbedding(GRID, [(0, 1)], symmetry=symmetry)
        w, r = rng.random(e.n_columns), np.arange(2)
        x, y = e.locate([[0.5, 1.0, 0.0]] * 2), e.locate([[0.5 - 1e-9, 4.0, 0.0], [0.5 + 1e-9, 4.0, 0.0]])
        low, high = e.paired(x, r, y, r, w)
        jumps[symmetry] = abs(low - high)
    assert jumps["tie"] < 1e-7 < 1e-2 < jumps["swap"]


@pytest.mark.parametrize("groups", ["singles", "pairs", [(0, 1), (2,)]])
def test_the_prior_is_weighted_l1_shared_among_groups(groups, rng):
    embedding, slopes = PairEmbedding(GRID, groups), np.array([2.0, 0.5, 3.0])
    X, r = rng.uniform(0, 4, (30, 3)).clip(GRID.low, GRID.high), np.arange(30)
    items = embedding.locate(X)
    got = embedding.paired(items, r, items, r[::-1], embedding.prior(slopes))
    np.testing.assert_allclose(got, np.abs(X - X[::-1]) @ slopes)


def touched(rng, groups=((0, 1), (2,))):
    whole = PairEmbedding(GRID, groups)
    X = rng.uniform(0, 4, (12, 3)).clip(GRID.low, GRID.high)
    items, i, j = whole.locate(X), np.arange(11), np.arange(1, 12)
    return whole, whole.restricted(whole.touched_by(items, i, j), np.array([1.0, 2.0, 3.0])), X, i, j


def test_touched_vertices_are_those_with_a_coefficient(rng):
    whole, part, X, i, j = touched(rng)
    items = whole.locate(X)
    used = np.flatnonzero(whole.csr(items, i, items, j).sum(axis=0))
    keys = np.concatenate([v.keys + 1000 * g for g, v in enumerate(whole.vertices)])
    assert np.concatenate([v.keys + 1000 * g for g, v in enumerate(part.vertices)]).tolist() == keys[used].tolist()
    assert not part.whole
    w = rng.random(part.n_columns)
    np.testing.assert_allclose(part.csr(items, i, items, j) @ w, part.paired(items, i, items, j, w))


def test_columns_are_found_again_among_more_columns(rng):
    whole, part, _, _, _ = touched(rng)
    w = rng.random(whole.n_columns)
    taken = np.concatenate([np.isin(v.keys, p.keys) for v, p in zip(whole.vertices, part.vertices, strict=True)])
    np.testing.assert_array_equal(w[whole.positions(part)], w[taken])


def test_expanded_touched_columns_give_the_same_distance_everywhere(rng):
    _, part, _, _, _ = touched(rng)
    w = rng.random(part.n_columns)
    whole, weights = part.expanded(w)
    X, r = rng.uniform(-1, 5, (50, 3)), np.arange(50)
    a, b = part.locate(X), whole.locate(X)
    assert whole.whole
    np.testing.assert_allclose(part.paired(a, r, a, r[::-1], w), whole.paired(b, r, b, r[::-1], weights), atol=1e-12)
    np.testing.assert_allclose(part.pairwise(a, a, w), whole.pairwise(b, b, weights), atol=1e-12)


def test_unseen_vertices_scale_with_the_unit_and_decide_positivity(rng):
    _, part, X, _, _ = touched(rng)
    w, r, far = rng.random(part.n_columns) + 0.1, np.array([0]), part.locate([[0.0, 0.0, 0.0], [2.0, 5.0, 4.0]])
    value = part.paired(far, r, far, r + 1, w)
    assert part.in_unit(3.0).paired(far, r, far, r + 1, 3.0 * w) == pytest.approx(3.0 * value)
    assert part.positive_groups(w).all()
    assert not part._with(unseen_slopes=np.array([0.0, 2.0, 3.0])).positive_groups(w)[0]


def test_what_needs_whole_tables_says_so(rng):
    large = PairEmbedding(Grid([np.arange(20.0)] * 3), [(0, 1, 2)])
    items = large.locate(rng.uniform(0, 19, (5, 3)))
    part = large.restricted(large.touched_by(items, np.arange(4), np.arange(1, 5)), np.ones(3))
    assert_refused(lambda: part.tables(np.ones(part.n_columns)), "only touched vertices", "too large", error=NotSupportedError)
    assert_refused(lambda: part.differences("tables"), "tables that can be held", "ridge", error=NotSupportedError)
    assert_refused(lambda: large._columns_of_vertices, "(0, 1, 2) is too large", "fewer knots", error=NotSupportedError)


@pytest.mark.parametrize("symmetry", ["tie", "swap", "none"])
def test_groups_left_alone_have_the_distances_that_they_add(symmetry, rng):
    """A table of one feature has the same columns beside joint tables and alone, so that both have the same weights."""
    whole = PairEmbedding(GRID, [(0,), (2, 1), (1,)], symmetry=symmetry)
    w, r = rng.random(whole.n_columns), np.arange(40)
    X, Y = (rng.uniform(0, 4, (40, 3)).clip(GRID.low, GRID.high) for _ in range(2))
    added = 0.0
    for g, group in enumerate(whole.groups):
        features = np.unique(group)
        part = whole.select(np.array([g]), features)
        of_part = w[whole.group_of_column == g]
        added = added + part.paired(part.locate(X[:, features]), r, part.locate(Y[:, features]), r, of_part)
    np.testing.assert_allclose(added, whole.paired(whole.locate(X), r, whole.locate(Y), r, w))


def test_select_keeps_groups_and_renumbers_features():
    part = PairEmbedding(GRID, [(0,), (1, 2), (2,)]).select(np.array([1, 2]), np.array([1, 2]))
    assert part.groups == ((0, 1), (1,))
    assert [len(k) for k in part.grid.knots] == [2, 4]


ITEMS = PairEmbedding(Grid([[0.0, 1.0], [0.0, 2.0, 3.0]])).locate(np.zeros((3, 2)))
OTHER = PairEmbedding(Grid([[0.0, 1.0]])).locate(np.zeros((3, 1)))
ROWS, SHORT, BEYOND = np.arange(3), np.arange(2), np.array([0, 1, 3])
WRONG = {
    "lengths": (ITEMS, ROWS, ITEMS, SHORT, "3 rows of x and 2 of y", "same number is required"),
    "beyond": (ITEMS, ROWS, ITEMS, BEYOND, "items 0 to 3", "0 to 2 are required"),
    "negative": (ITEMS, ROWS - 1, ITEMS, ROWS, "items -1 to 1", "0 to 2 are required"),
    "grid": (ITEMS, ROWS, OTHER, ROWS, "located on 1 features", "the grid has 2"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_what_kernels_would_read_beyond_is_refused(name, groups):
    embedding, (x, i, y, j, *parts) = PairEmbedding(Grid([[0.0, 1.0], [0.0, 2.0, 3.0]]), groups), WRONG[name]
    w = np.ones(embedding.n_columns)
    for call in (embedding.paired, embedding.contributions):
        assert assert_refused(lambda call=call: call(x, i, y, j, w), *parts)
    if y is not x:
        assert assert_refused(lambda: embedding.pairwise(x, y, w), *parts)


@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_weights_that_are_not_one_a_column_are_refused(groups):
    embedding = PairEmbedding(Grid([[0.0, 1.0], [0.0, 2.0, 3.0]]), groups)
    short = np.ones(embedding.n_columns - 1)
    calls = [lambda: embedding.pairwise(ITEMS, ITEMS, short)]
    calls += [lambda f=f: f(ITEMS, ROWS, ITEMS, ROWS, short) for f in (embedding.paired, embedding.contributions)]
    for call in calls:
        assert assert_refused(call, f"shape ({len(short)},)", f"each of the {len(short) + 1} columns is required")
