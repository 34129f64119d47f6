"""Between breakpoints the sum is affine."""

import numpy as np
import pytest
from mixed_distances import GROUPS, distance, items
from numpy.testing import assert_allclose

from semimetric.distances.model.counterfactuals import breakpoints


def along(d, x, y, feature, values):
    rows = np.tile(x, (len(values), 1))
    rows[:, feature] = values
    return d.paired_by_index(np.vstack([rows, y]), np.column_stack([np.arange(len(rows)), np.full(len(rows), len(rows))]))


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("bends", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_the_sum_is_affine_between_them(groups, bends, gaps, seed):
    rng = np.random.default_rng(seed)
    d = distance(seed, groups, bends=bends, gaps=gaps)
    for x, y in zip(items(rng, 6, gaps), items(rng, 6, gaps), strict=True):
        for feature in range(3):
            points = breakpoints(d, x, y, feature)
            assert (np.diff(points) > 0).all()
            assert {v for v in (x[feature], y[feature]) if not np.isnan(v)} <= set(points)
            values = rng.uniform(points[0], points[-1], 300)
            want = np.interp(values, points, along(d, x, y, feature, points))
            assert_allclose(along(d, x, y, feature, values), want, atol=1e-9)
