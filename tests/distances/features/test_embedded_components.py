"""Components that bend: what they tell apart, and what leaves them as they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from semimetric.distances.features.embedded_components import embedded_components


@pytest.fixture
def rings(rng):
    """Points inside and outside of a circle, which no straight line parts, beside a feature of noise."""
    X = rng.uniform(-1.0, 1.0, (240, 3))
    return X, (np.hypot(X[:, 0], X[:, 1]) > 0.75).astype(np.int64)


def coordinates(directions, X):
    return directions.append(X)[:, X.shape[1] :]


def wrong(directions, X, y, Z, labels):
    """The share of items whose nearest item, by L1 along the components, is of another class."""
    d = np.abs(coordinates(directions, Z)[:, None] - coordinates(directions, X)[None]).sum(axis=2)
    return (y[d.argmin(axis=1)] != labels).mean()


def test_classes_that_no_line_parts_are_told_apart(rings):
    X, y = rings
    learned = embedded_components(X[:160], y[:160], random_state=0)
    assert learned.matrix.shape[0] == 32
    plain = np.abs(X[160:, None] - X[None, :160]).sum(axis=2).argmin(axis=1)
    assert wrong(learned, X[:160], y[:160], X[160:], y[160:]) < (y[:160][plain] != y[160:]).mean()


def test_a_seed_decides_and_units_do_not(rings):
    X, y = rings
    one, again, other = (embedded_components(X, y, random_state=seed) for seed in (1, 1, 2))
    assert_array_equal(one.matrix, again.matrix)
    assert not np.array_equal(one.matrix, other.matrix)
    scaled = embedded_components(X * [4.0, 0.25, 1024.0] + [0.0, 1.0, -8.0], y, random_state=1)
    got, want = coordinates(scaled, X * [4.0, 0.25, 1024.0] + [0.0, 1.0, -8.0]), coordinates(one, X)
    assert_allclose(got - got[0], want - want[0], atol=2e-3 * np.ptp(want))


@pytest.mark.slow
def test_threads_do_not_matter(rings):
    X, y = rings
    maps = [embedded_components(X, y, random_state=0, n_maps=2, n_jobs=n).matrix for n in (1, 2)]
    assert_array_equal(*maps)
    assert len(maps[0]) == 64


def test_weights_of_one_are_none(rings):
    X, y = rings
    plain, weighted = embedded_components(X, y, random_state=0), embedded_components(X, y, np.full(240, 3.0), random_state=0)
    assert_allclose(plain.matrix, weighted.matrix, atol=1e-5)


def test_outside_the_items_components_are_constant(rings):
    X, y = rings
    learned = embedded_components(X, y, random_state=0)
    assert_array_equal(*(coordinates(learned, np.full((1, 3), at)) for at in (2.0, 9.0)))


def test_a_constant_feature_plays_no_part(rings):
    X, y = rings
    learned = embedded_components(np.column_stack([X, np.full(240, 7.0)]), y, random_state=0)
    assert not learned.uses[:, 3].any()


@pytest.mark.parametrize(
    ("X", "y"), [(np.zeros((4, 2)), [0, 0, 1, 1]), (np.arange(6.0).reshape(3, 2), [0, 1, 2]), (np.zeros((1, 2)), [0])]
)
def test_nothing_is_learned_where_nothing_can_be(X, y):
    assert embedded_components(X, np.array(y), random_state=0) is None
