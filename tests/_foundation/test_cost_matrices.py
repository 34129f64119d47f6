"""What a ground distance must be, told in words."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric._foundation.validation import check_cost_matrix

GOOD = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
BAD = {
    "shape": (GOOD[:2], "shape (2, 3)", "a square matrix is required"),
    "negative": (GOOD - 3 * np.eye(3)[[1, 0, 2]] * [1, 1, 0], "cost_matrix[0, 1] is -2", "costs >= 0 are required"),
    "diagonal": (GOOD + np.diag([0.0, 2.0, 0.0]), "cost_matrix[1, 1] is 2", "0 is required"),
    "asymmetric": (GOOD + np.eye(3, k=2), "cost_matrix[0, 2]", "cost_matrix[2, 0]", "a symmetric ground distance"),
}


def test_a_ground_distance_is_taken_as_it_is():
    np.testing.assert_array_equal(check_cost_matrix(GOOD.tolist()), GOOD)


@pytest.mark.parametrize("name", BAD)
def test_what_is_none_is_refused(name):
    matrix, *parts = BAD[name]
    assert_refused(lambda: check_cost_matrix(matrix), *parts)
