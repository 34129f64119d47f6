"""One program, one call of a solver: the last step of learning."""

import cases
import numpy as np
import pytest

from semimetric import DistanceRegressor

ITEMS, INDEX, Y = cases.sample()


@pytest.mark.parametrize("options", [{}, {"solver": "interior_point"}, {"tables": "warped", "knots": "uniform"}, {"stream": 1}])
def test_without_a_penalty_what_no_pair_touches_takes_the_prior(options):
    """Two clusters and no pair between them: the distance across is that of the weighted L1 distance, not 0."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.random((30, 1)), 5 + rng.random((30, 1))])
    index = np.concatenate([rng.integers(0, 30, (300, 2)), rng.integers(30, 60, (300, 2))])
    y = cases.cityblock(items[index[:, 0]], items[index[:, 1]])
    learn = DistanceRegressor.partial_fit if "stream" in options else DistanceRegressor.fit
    options = {name: value for name, value in options.items() if name != "stream"}
    model = learn(DistanceRegressor(n_knots=8, alpha=1e-3, penalty=None, preprocessor=items, **options), index, y)
    assert model.semimetric_([0.2], [5.8]) == pytest.approx(5.6, rel=0.05)
    np.testing.assert_allclose(model.predict(index), y, atol=1e-3)
