"""From learned weights to the distance: what is left out, and how it goes on outside its knots."""

import warnings

import cases
import numpy as np
import pytest

from semimetric import DistanceRegressor, SemimetricWarning

ITEMS, INDEX, Y = cases.sample()


def test_directions_without_weight_are_left_out():
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 2.0, 3.0]
    useless = [[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    model = DistanceRegressor(
        n_knots=2, penalty="lasso", alpha=1e-2, directions=useless, tables="warped", preprocessor=ITEMS
    ).fit(INDEX, y)  # fmt: skip
    d = model.semimetric_
    kept = 0 if d.directions is None else len(d.directions.names)
    assert kept < 2
    assert d.columns[:3] == ("x0", "x1", "x2")
    assert np.corrcoef(model.predict(INDEX), y)[0, 1] > 0.99


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_features_learned_clipped_stay_clipped_and_say_so(tables):
    """Items beyond given knots: the table already holds what lies outside, so its mean slope must not be added again."""
    items = np.random.default_rng(0).random((100, 2))
    index = cases.sample_pairs(items, 400, random_state=0)
    y = np.abs(items[index[:, 0]] - items[index[:, 1]]) @ [1.0, 3.0]
    options = {"knots": [[0.25, 0.5, 0.75], [0.0, 0.5, 1.0]], "alpha": 1e-6, "tables": tables, "preprocessor": items}
    n = int(((items[:, 0] < 0.25) | (items[:, 0] > 0.75)).sum())
    with pytest.warns(SemimetricWarning, match=rf"of 100 items some lie beyond the knots \(x0: {n}\)"):
        d = DistanceRegressor(**options).fit(index, y).semimetric_
    assert d([0, 0], [1, 0]) == pytest.approx(d([0.25, 0], [0.75, 0]), rel=1e-3)
    assert d([0.4, 0], [0.4, 2]) == pytest.approx(6.0, rel=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SemimetricWarning)
        clipped = DistanceRegressor(**options, outside="clip").fit(index, y).semimetric_
    assert clipped.epsilon[0] == d.epsilon[0]


def test_under_the_swap_groups_without_weight_stay():
    """Tables numbered under the swap keep their values: what is left alone is not renumbered as tied."""
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 2.0, 3.0]
    model = DistanceRegressor(
        n_knots=3, penalty="lasso", alpha=1e-2, directions=[[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], symmetry="swap",
        groups=[(0,), (1,), (2,), (3, 4)], preprocessor=ITEMS,
    ).fit(INDEX, y)  # fmt: skip
    assert model.score(INDEX, y) > 0.8
