"""Runs of values on a line, against all ways to cut them."""

from itertools import combinations

import numpy as np
import pytest

from semimetric._kernels.line_clusters import best_runs


def inertia(values, weights, bounds):
    """The inertia of runs, the first measured from the first value, the last from the last, others from their means."""
    total = 0.0
    runs = list(zip(bounds[:-1], bounds[1:], strict=True))
    for r, (i, j) in enumerate(runs):
        x, w = values[i:j], weights[i:j]
        center = values[0] if r == 0 else values[-1] if r == len(runs) - 1 else np.average(x, weights=w)
        total += w @ (x - center) ** 2
    return total


@pytest.mark.parametrize("n_runs", [1, 2, 4])
@pytest.mark.parametrize("n", [7, 12])
def test_no_other_cuts_have_less_inertia(rng, n, n_runs):
    for _ in range(20):
        values = np.unique(np.round(rng.standard_t(2, 3 * n), 1))[:n] / 10
        weights = rng.integers(1, 5, len(values)).astype(float)
        found = np.empty(n_runs + 3, np.int64)
        best_runs(values, weights, n_runs, found)
        every = combinations(range(1, len(values)), n_runs + 1)
        least = min(inertia(values, weights, (0, *cuts, len(values))) for cuts in every)
        assert (np.diff(found) > 0).all()
        assert inertia(values, weights, found) == pytest.approx(least, abs=1e-12)
