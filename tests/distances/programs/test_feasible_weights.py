"""Weights that keep rows whose bounds lie many powers of ten apart, and the verdict that there are none."""

import numpy as np
import pytest
from scipy import sparse

from semimetric.distances.programs.inequalities import Inequalities, feasible_weights


def rows_of(matrix, bound):
    return Inequalities(sparse.csr_array(np.array(matrix, dtype=float)), np.array(bound, dtype=float))


@pytest.mark.parametrize("small", [1e-3, 1e-7, 1e-12, 1e-30])
@pytest.mark.parametrize("large", [1.0, 1e6])
def test_bounds_may_lie_far_apart(small, large):
    """w_0 between half of a small bound and all of it, w_1 above a large one, w_2 >= w_0."""
    rows = rows_of([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [-1, 0, 1]], [small / 2, -small, large, 0])
    w = feasible_weights(rows, np.zeros(3), np.ones(3))
    assert w is not None
    assert (rows.missed(w) <= 1e-9).all()
    assert (w >= 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_an_equation_is_kept_and_a_contradiction_found(scale):
    both = [[1, 1], [-1, -1]]
    assert (
        rows_of(both, [scale, -scale]).missed(feasible_weights(rows_of(both, [scale, -scale]), np.zeros(2), np.ones(2))) <= 1e-9
    ).all()
    assert feasible_weights(rows_of(both, [scale, -0.99 * scale]), np.zeros(2), np.ones(2)) is None


def test_rows_without_entries_ask_nothing():
    assert feasible_weights(rows_of([[0, 0], [1, 0]], [0, 1]), np.zeros(2), np.ones(2)) is not None
