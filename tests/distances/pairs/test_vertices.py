from dataclasses import replace

import numpy as np
import pytest
import reference
from cases import assert_refused

from semimetric.data.grid import Grid
from semimetric.distances.pairs.vertices import Vertices

GRID = Grid([[0.0, 1.0, 4.0], [0.0, 2.0], [1.0]])


@pytest.mark.parametrize(("tied", "zero"), [(True, True), (True, False), (False, True), (False, False)])
def test_columns_are_the_canonical_vertices(tied, zero):
    v = Vertices.of(GRID, (0, 1), tied=tied, zero_diagonal=zero)
    pairs = [(a, b) for a in range(6) for b in range(6) if (a <= b or not tied) and (a != b or not zero)]
    assert v.keys.tolist() == [6 * a + b for a, b in pairs]
    table = v.lookup(base=10, none=-7, unseen=-8).reshape(6, 6)
    assert (table == table.T).all() == tied
    assert (np.diag(table) == -7).all() == zero
    assert sorted(set(table[table >= 0])) == list(range(10, 10 + len(pairs)))


@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("shared", ["", "by_difference", "one_weight"])
@pytest.mark.parametrize("kind", ["numeric", "periodic"])
@pytest.mark.parametrize("knots", [2, 3, 6])
def test_columns_are_counted_without_listing_them(tied, zero, shared, kind, knots):
    grid = Grid([np.arange(float(knots)), [0.0, 1.0]], [kind, "numeric"])
    for group in [(0,), (0, 1)]:
        v = Vertices.of(grid, group, tied=tied, zero_diagonal=zero)
        v = replace(v, **{shared: True}) if shared and len(group) == 1 else v
        assert v.n_columns == len(v.keys)
        assert v.restricted(v.keys[::2]).n_columns == len(v.keys[::2])


def test_points_are_numbered_with_the_first_feature_slowest():
    v = Vertices.of(GRID, (0, 1), tied=True, zero_diagonal=True)
    coordinates = np.column_stack(v.coordinates(GRID, np.arange(6)))
    for point in [(0, 0), (1, 1), (2, 0)]:
        flat = reference.number(point, v.sizes)
        assert coordinates[flat].tolist() == [GRID.knots[f][k] for f, k in enumerate(point)]
    slopes = np.array([2.0, 3.0, 99.0])
    for vertex in v.keys:
        a, b = divmod(int(vertex), 6)
        want = reference.weighted_l1(coordinates[a], coordinates[b], slopes[:2])
        assert v.weighted_l1(GRID, np.array([vertex]), slopes) == pytest.approx(want)


def test_restricted_vertices_are_columns_and_the_others_unseen():
    v = Vertices.of(GRID, (0,), tied=True, zero_diagonal=True).restricted(np.array([3, 1, 0, 5]))  # (1,0) (0,1) (0,0) (1,2)
    assert v.keys.tolist() == [1, 5]
    assert not v.whole
    assert v.columns(np.array([1, 3, 2, 4, 7]), base=5, none=-1, unseen=-2).tolist() == [5, 5, -2, -1, 6]


def test_a_constant_feature_has_no_column():
    assert Vertices.of(GRID, (2,), tied=True, zero_diagonal=True).keys.tolist() == []


def test_a_table_that_cannot_be_numbered_is_refused():
    wide = Grid([np.arange(50_000.0)] * 3)
    assert_refused(lambda: Vertices.of(wide, (0, 1, 2), tied=True, zero_diagonal=True), "grid points", "at most", "fewer knots")
    assert not Vertices.of(wide, (0, 1), tied=True, zero_diagonal=True).fits


@pytest.mark.parametrize(("tied", "zero"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_seam_of_a_circle_is_its_first_vertex(tied, zero):
    grid = Grid([[0.0, 1.0], [0.0, 6.0, 12.0, 24.0]], ["numeric", "periodic"], [False, True])
    v = Vertices.of(grid, (0, 1), tied=tied, zero_diagonal=zero)
    assert v.seams == (0, 3)
    first = [5 * a + (0 if b == 3 else b) for a in range(2) for b in range(5)]
    table = v.lookup(base=0, none=-1, unseen=-2).reshape(10, 10)
    assert (table == table[np.ix_(first, first)]).all()
    assert (table[first, np.arange(10)] == -1).all() == zero
    n = 8 * 7 if zero else 64
    assert len(v.keys) == (n // 2 if zero else 36) if tied else n
    assert set(table[table >= 0].tolist()) == set(range(len(v.keys)))
    assert (v.canonical(np.array([3, 30, 33])) == v.canonical(np.array([0, 0, 0]))).all()
    some = v.restricted(np.array([3, 31]))  # (0, 3) is the diagonal, (3, 1) is (0, 1)
    assert some.keys.tolist() == ([1] if zero else [0, 1])
