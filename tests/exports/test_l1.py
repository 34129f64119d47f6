"""Coordinates whose L1 distance is the sum of a distance, or near it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric import Grid, PairEmbedding, Semimetric
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.exports.l1 import L1Coordinates
from semimetric.exports.parts import DistanceParts

KNOTS = {"numeric": [0.0, 1.0, 2.5, 4.0], "periodic": [0.0, 6.0, 13.0, 24.0], "categorical": [0.0, 1.0, 2.0, 3.0]}


def made(kind, missing, table):
    """A distance of one feature with this table between its vertices."""
    embedding = PairEmbedding(Grid([KNOTS[kind]], [kind], [missing]))
    (columns,) = embedding.vertex_columns()
    weights = np.zeros(embedding.n_columns + 1)
    weights[columns] = table
    epsilon = np.array([[0.3, 0.7]]) * (kind == "numeric")
    return Semimetric(embedding, weights[:-1], epsilon, ("f",))


def l1(coordinates, d, X):
    """The L1 distances of rows by coordinates, interpolated by position, plus what rises outside."""
    located = d.embedding.locate(X).located
    places = (located.lower + located.fraction)[:, 0]
    excess = d.value_limits.excess(X)[:, 0]
    columns = [
        np.interp(places, np.arange(len(c.values)), c.values) + excess * np.where(excess > 0, c.above, c.below)
        for c in coordinates
    ]
    return sum(np.abs(column[:, None] - column) for column in columns)


@given(st.integers(0, 10_000), st.booleans())
def test_sums_of_cuts_are_found_exactly(seed, missing):
    rng = np.random.default_rng(seed)
    size = 4 + missing
    rises = np.cumsum(np.append(0.0, rng.random(3)))
    table = np.abs(rises[:, None] - rises)
    if missing:  # gaps are at one end of one scale, and at the other end of another
        other = np.cumsum(np.append(0.0, rng.random(3)))
        table = np.pad(table + np.abs(other[:, None] - other), (0, 1))
        table[4, :4] = table[:4, 4] = (rises + rng.random()) + (other[-1] - other + rng.random())
    d = made("numeric", missing, table)
    found = L1Coordinates.of(DistanceParts.of(d))
    X = np.append(rng.uniform(-3, 7, 12), [np.nan] * missing)[:, None]
    assert found.exact
    assert table.shape == (size, size)
    np.testing.assert_allclose(l1(found.coordinates, d, X), d.pairwise(X), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10_000))
def test_scales_of_numbers_that_may_be_missing_are_their_coordinates(seed):
    rng = np.random.default_rng(seed)
    embedding = WarpedEmbedding(Grid([KNOTS["numeric"]], ["numeric"], [True]))
    weights = rng.random(embedding.n_columns) * (rng.random(embedding.n_columns) < 0.8)
    d = Semimetric(embedding, weights, rng.random((1, 2)), ("f",))
    found = L1Coordinates.of(DistanceParts.of(d))
    X = np.append(rng.uniform(-3, 7, 12), np.nan)[:, None]
    assert found.exact
    assert len(found.coordinates) == 2
    assert not any(c.is_level for c in found.coordinates)
    np.testing.assert_allclose(l1(found.coordinates, d, X), d.pairwise(X), rtol=1e-12, atol=1e-12)


def test_categories_that_are_sums_of_levels_are_found_exactly():
    levels = np.array([0.5, 0.2, 0.9, 0.1])
    table = (levels[:, None] + levels) * (1 - np.eye(4))
    d = made("categorical", False, table)
    found = L1Coordinates.of(DistanceParts.of(d))
    X = np.arange(4.0)[:, None]
    assert found.exact
    np.testing.assert_allclose(l1(found.coordinates, d, X), table, rtol=1e-9)


@pytest.mark.parametrize("kind", ["numeric", "periodic", "categorical"])
def test_a_table_that_is_no_sum_of_cuts_is_said_to_be_near_only(kind):
    table = np.array([[0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 9.0, 1.0], [1.0, 9.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0]])
    if kind == "periodic":
        table[3], table[:, 3] = table[0], table[:, 0]
    found = L1Coordinates.of(DistanceParts.of(made(kind, False, table)))
    assert not found.exact
    assert found.coordinates


def test_an_angle_is_near_by_arcs_which_are_its_distance_at_the_knots():
    gaps = np.abs(np.array(KNOTS["periodic"])[:, None] - KNOTS["periodic"])
    d = made("periodic", False, np.minimum(gaps, 24 - gaps))
    found = L1Coordinates.of(DistanceParts.of(d))
    X = np.array(KNOTS["periodic"])[:, None]
    assert not found.exact
    np.testing.assert_allclose(l1(found.coordinates, d, X), d.pairwise(X), atol=0.2 * 12)


def test_the_unit_makes_the_typical_leaf_one():
    levels = PairEmbedding(Grid([KNOTS["categorical"]], ["categorical"])).with_one_weight({0})
    found = L1Coordinates.of(DistanceParts.of(Semimetric(levels, np.array([0.25]), np.zeros(1), ("f",))))
    assert found.exact
    assert [c.values.max() * found.unit for c in found.coordinates] == [1.0] * 4
