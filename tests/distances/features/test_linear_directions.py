import numpy as np
import pytest
from cases import assert_refused

from semimetric.distances.features.linear_directions import Directions, with_directions


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))


def test_items_without_directions_stay_as_they_are(X):
    assert with_directions(None, X) is X
    directions = Directions(np.array([[1.0, -1.0, 0.0]]), ("L-a",))
    np.testing.assert_array_equal(with_directions(directions, X), np.column_stack([X, X[:, 0] - X[:, 1]]))


BENDS = (np.array([-2.0, 0.0, 2.0]), np.array([0.0]), np.array([-1.0, 1.0]))


@pytest.mark.parametrize("bends", [(), BENDS])
def test_steps_of_features_add_up_to_the_difference_along_each_direction(X, rng, bends):
    directions = Directions(rng.normal(size=(4, 3)), tuple("pqrs"), bends)
    Y = X[::-1].copy()
    Y[:20, 0] = X[:20, 0]
    steps = directions.steps(X, Y)
    assert steps.shape == (40, 4, 3)
    np.testing.assert_allclose(steps.sum(axis=2), (directions.append(Y) - directions.append(X))[:, 3:], atol=1e-12)
    assert not steps[:20, :, 0].any()


def test_where_a_direction_is_missing_the_features_that_are_missing_make_the_step():
    directions = Directions(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]]), ("p", "q"))
    x, y = np.array([[np.nan, 1.0, 3.0]]), np.array([[2.0, 1.0, 4.0]])
    assert directions.steps(x, y).tolist() == [[[1, 0, 0], [0, 0, 2]]]
    assert directions.steps(y, x).tolist() == [[[1, 0, 0], [0, 0, -2]]]
    assert directions.steps(x, np.array([[1.0, np.nan, 3.0]])).tolist() == [[[0, 0, 0], [0, 1, 0]]]  # p is missing in both


def test_items_of_another_width_have_no_directions():
    directions = Directions(np.array([[1.0, -1.0, 0.0]]), ("L-a",))
    for shape in ((5, 2), (5, 4), (3,)):
        assert_refused(lambda s=shape: directions.append(np.ones(s)), f"X has shape {shape}", "(n_items, 3) is required")
