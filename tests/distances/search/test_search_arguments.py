import numpy as np
import pytest
from cases import assert_refused

from semimetric.distances.search.segment import ALGORITHMS, candidate_count, check_neighbors, check_radius


def test_what_can_be_asked_is_taken():
    assert [check_neighbors(algorithm, 3, 3) for algorithm in ALGORITHMS] == [3] * 5
    check_radius(np.float32(0.5), 0.0)
    check_radius(-2.0, -np.inf)  # distances that may be negative


@pytest.mark.parametrize(("n_candidates", "k", "want"), [(None, 3, 100), (None, 30, 300), (50, 3, 50), (2, 3, 3)])
def test_candidates_are_no_fewer_than_neighbours(n_candidates, k, want):
    assert candidate_count(n_candidates, k) == want


def test_what_cannot_be_answered_is_refused():
    assert_refused(lambda: check_neighbors("exact", 4, 3), "n_neighbors=4", "there are 3 items", "ask for fewer")
    assert_refused(lambda: check_neighbors("fast", 1, 3), "algorithm='fast'", "'exact'")
    for radius in (np.inf, np.nan, "1", -0.1):
        assert_refused(lambda r=radius: check_radius(r, 0.0), f"radius={radius!r}", "a finite number is required")
