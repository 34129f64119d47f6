"""The triangle inequality on the grid: separation, shortest paths, and what they say of points."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import closure_slow, worst_triple

from semimetric import Grid, NotSupportedError, PairEmbedding, Semimetric
from semimetric.distances.pairs.scales_and_tables import scales_of
from semimetric.distances.pairs.triangle_inequality import TOLERANCE, Triangles

seeds = st.integers(0, 10_000)


EMBEDDINGS = {
    "singles": lambda grid: PairEmbedding(grid),
    "pairs": lambda grid: PairEmbedding(grid, "pairs"),
    "joint": lambda grid: PairEmbedding(grid, [(0, 1, 2)]),
    "asymmetric": lambda grid: PairEmbedding(grid, [(0, 1), (2,)], symmetry="none"),
    "ties": lambda grid: PairEmbedding(grid, symmetry="none").tied_by_difference({0}),
    "mixed": lambda grid: scales_of(grid, [(0,), (1,), (2,)]),
}
GRIDS = {
    "numbers": Grid([[0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 3.0], [0.0, 1.0]]),
    "kinds": Grid(
        [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0]],
        ("numeric", "periodic", "categorical"),
        (False, True, False),
    ),
}
INSTANCES = [(e, g) for e in EMBEDDINGS for g in GRIDS]


def made(embedding, grid, seed=0):
    e = EMBEDDINGS[embedding](GRIDS[grid])
    return e, np.random.default_rng(seed).random(e.n_columns) ** 3 + 1e-3


@pytest.mark.parametrize(("embedding", "grid"), INSTANCES)
def test_separation_is_exact(embedding, grid):
    e, w = made(embedding, grid)
    triangles = Triangles.of(e)
    rows, every = triangles.separate(w, 0.0), triangles.rows()
    if not triangles.tables:
        assert not every.shape[0]
        assert triangles.excess(w) == 0.0
    else:
        slow = max(0.0, *(worst_triple(t) for t in triangles.values(w)))
        assert triangles.excess(w) == pytest.approx(slow, abs=1e-15)
        least = (every @ w).min(initial=0.0)
        assert (rows @ w).min(initial=0.0) == pytest.approx(least)
        assert least == pytest.approx(min(-slow, 0.0))
        assert (rows @ w < 0).all()
        assert not triangles.separate(w, slow + 1e-12).shape[0]


@pytest.mark.parametrize(("embedding", "grid"), [i for i in INSTANCES if i[0] != "ties"])
def test_closed_weights_keep_every_row(embedding, grid):
    e, w = made(embedding, grid)
    triangles = Triangles.of(e)
    closed = triangles.closed(w)
    assert (closed <= w).all()
    assert (triangles.rows() @ closed >= -1e-15).all()
    assert all(d.holds for d in triangles.worst(closed))


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from(["singles", "pairs", "joint", "asymmetric"]), st.sampled_from(["identity", "sqrt"]))
def test_a_metric_on_the_grid_is_one_everywhere(seed, embedding, link):
    """Random, clipped and collinear triples; g = 1, 2, 3, several groups, links and slopes outside."""
    e, w = made(embedding, "numbers", seed)
    rng = np.random.default_rng(seed)
    d = Semimetric(e, Triangles.of(e).closed(w), rng.random(3), ("u", "v", "w"), link=link)
    assert d.axioms.triangle
    x, z = rng.uniform(-1.0, 4.0, (2, 2000, 3))
    t = rng.random((2000, 1))
    for y in (rng.uniform(-1.0, 4.0, (2000, 3)), (1 - t) * x + t * z, np.where(rng.random((2000, 3)) < 0.5, x, z)):
        slack = d.paired(x, y) + d.paired(y, z) - d.paired(x, z)
        assert slack.min() >= -1e-12 * d.paired(x, z).max()


@pytest.mark.parametrize("grid", GRIDS)
def test_a_violated_table_is_not_called_a_metric(grid):
    e, w = made("joint", grid)
    d = Semimetric(e, w, np.ones(3), ("u", "v", "w"))
    assert not d.axioms.triangle
    assert Triangles.of(e).excess(w) > TOLERANCE


def test_what_cannot_be_checked_is_refused():
    grid = GRIDS["numbers"]
    for e in (PairEmbedding(grid, "pairs", symmetry="swap"), PairEmbedding(grid, symmetry="none", zero_diagonal=False)):
        assert_refused(lambda e=e: Triangles.of(e), "triangle inequality", "continuous", 'symmetry="tie"', NotSupportedError)
    whole = PairEmbedding(grid, "pairs")
    part = whole.restricted([v.keys[::2] for v in whole.vertices], np.ones(3))
    assert_refused(lambda: Triangles.of(part), "whole tables", "too large", "fewer knots", NotSupportedError)


def closed_by_words(w):
    """Slow twin of the closure of columns tied by difference: the shortest ways from 0 by steps of any sign, in the range.

    A table of n points has a column for every difference 1 to n - 1. A way from a to c may pass through points of the range
    only, and all pairs of the same difference take the least of their ways; both are repeated until nothing changes.
    """
    n = len(w) + 1
    while True:
        table = np.array([[0.0 if a == b else w[abs(a - b) - 1] for b in range(n)] for a in range(n)])
        shortest = closure_slow(table)
        least = np.array([min(shortest[a, a + k] for a in range(n - k)) for k in range(1, n)])
        if np.array_equal(least, w):
            return w
        w = least


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(3, 7))
def test_columns_tied_by_difference_are_closed_as_words_are(seed, n):
    e = PairEmbedding(Grid([np.arange(float(n))])).tied_by_difference({0})
    w = np.random.default_rng(seed).random(e.n_columns) ** 4
    triangles = Triangles.of(e)
    closed = triangles.closed(w)
    assert e.n_columns == n - 1
    assert (closed <= w).all()
    np.testing.assert_allclose(closed, closed_by_words(w), rtol=1e-12)
    assert (triangles.rows() @ closed >= -1e-15).all()
    np.testing.assert_array_equal(triangles.closed(closed), closed)


def test_tables_of_one_weight_satisfy_it_with_any_weights():
    grid = Grid([np.arange(4.0), np.arange(5.0)], ["categorical"] * 2)
    for tied, binding in (({0, 1}, False), ({0}, True), (set(), True)):
        embedding = PairEmbedding(grid).with_one_weight(tied)
        triangles = Triangles.of(embedding)
        assert triangles.binding == binding
        assert (len(triangles.rows().toarray()) > 0) == binding
    one = PairEmbedding(grid).with_one_weight({0, 1})
    whole, w = one.expanded(np.array([2.0, 3.0]))
    assert [t.values.max() for t in whole.tables(w)] == [2.0, 3.0]
    assert all(d.holds for d in Triangles.of(whole).worst(w))
    X = np.random.default_rng(0).integers(0, 4, (20, 2)) + 0.0
    a, rows = one.locate(X), np.arange(20)
    expected = (X != X[::-1]) @ [2.0, 3.0]
    np.testing.assert_array_equal(one.paired(a, rows, a, rows[::-1], np.array([2.0, 3.0])), expected)
    np.testing.assert_array_equal(whole.paired(a, rows, a, rows[::-1], w), expected)
    np.testing.assert_array_equal(np.diag(one.pairwise(a, a, np.array([2.0, 3.0]))[:, ::-1]), expected)
