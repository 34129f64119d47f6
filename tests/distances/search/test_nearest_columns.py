"""The nearest columns of a matrix of distances, against a full sort."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from semimetric.distances.search.votes import nearest_columns


@pytest.mark.parametrize("k", [1, 4, 7, 20])
def test_it_is_the_start_of_a_sorted_row(rng, k):
    d = rng.permuted(np.tile(np.arange(7.0), (5, 1)), axis=1)
    found, columns = nearest_columns(d, k)
    order = np.argsort(d, axis=1)[:, :k]
    assert_array_equal(columns, order)
    assert_array_equal(found, np.take_along_axis(d, order, axis=1))


def test_equal_entries_are_in_the_order_of_their_columns():
    _, columns = nearest_columns(np.array([[2.0, 1.0, 1.0, 0.0, 1.0]]), 4)
    assert_array_equal(columns, [[3, 1, 2, 4]])
