"""The gradient is that of the loss, and coordinates have Gower's gaps as L1 distances."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from semimetric import Schema, Semimetric
from semimetric.distances.learning.kernel_regression import (
    GapCoordinates,
    ValuedItems,
    _gradient,
    _loss,
    kernel_means,
    slope_path,
)
from semimetric.distances.model.known_distances import distance_parts


def mixed(rng, n=60):
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n).astype(float),
            "hour": 24 * rng.integers(0, 64, n) / 64,  # on the cuts, so that they part the circle exactly
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[3::11, "hour"] = np.nan
    frame.loc[5::9, "colour"] = None
    schema = Schema.fit(frame, periodic={"hour": 24}, missing="level")
    return schema, schema.encode(frame)


def problem(rng, n=30):
    schema = Schema.numeric(("a", "b", "c"))
    items = rng.random((n, 3))
    return ValuedItems(GapCoordinates.of(schema, items), rng.normal(size=n), rng.integers(1, 4, n) * 1.0, np.arange(n))


def test_coordinates_have_the_gaps_as_their_distances(rng):
    schema, items = mixed(rng)
    coordinates = GapCoordinates.of(schema, items)
    slopes = np.array([0.3, 0.2, 1.5])
    scaled = coordinates.scaled(slopes, np.arange(len(items)))
    d = Semimetric(**distance_parts(schema, items, slopes))
    assert_allclose(cdist(scaled, scaled, "cityblock"), d.pairwise(schema.decode(items)), atol=1e-9)


def test_even_slopes_give_every_feature_the_mean_distance_one(rng):
    schema, items = mixed(rng)
    weight = rng.integers(1, 4, len(items)) * 1.0
    coordinates = GapCoordinates.of(schema, items)
    even = coordinates.uniform_weights(weight)
    for f, slope in enumerate(even):
        own = coordinates.values[:, coordinates.feature == f] * slope
        assert_allclose(weight @ cdist(own, own, "cityblock") @ weight / weight.sum() ** 2, 1.0)
    constant = GapCoordinates.of(Schema.numeric(("a",)), np.ones((3, 1)))
    assert_allclose(constant.uniform_weights(np.ones(3)), 1.0)


def test_the_gradient_is_that_of_the_loss(rng):
    data, rows, slopes = problem(rng), np.arange(30), np.array([1.0, 3.0, 0.5])
    batch = rows[:20]
    gradient = _gradient(data, slopes, batch, rows)
    for f in range(3):
        step = np.zeros(3)
        step[f] = 1e-6
        numeric = (_loss(data, slopes + step, batch, rows) - _loss(data, slopes - step, batch, rows)) / 2e-6
        assert_allclose(gradient[f], numeric, rtol=1e-5, atol=1e-8)


def test_kernel_means_are_weighted_means():
    distances = np.array([[0.0, 1.0, np.inf], [700.0, 2_000.0, 701.0], [np.inf, np.inf, np.inf]])
    values, weight = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
    means, share = kernel_means(distances, values, weight)
    e = np.exp(-1.0)
    assert_allclose(means, [(1 + 4 * e) / (1 + 2 * e), (1 + 4 * e) / (1 + e), 9 / 4])
    assert_allclose(share.sum(axis=1), 1)


def test_identical_items_do_not_predict_one_another(rng):
    data = problem(rng)
    twins = ValuedItems(data.coordinates, data.values, data.weight, np.arange(30) // 2)
    _, share = twins.predicted(np.ones(3), np.arange(30), np.arange(30))
    assert_allclose(share[np.arange(30) // 2 == (np.arange(30) // 2)[:, None]], 0)


@pytest.mark.parametrize("n", [200, 2_000])
def test_steps_find_the_feature_that_says_something(n):
    rng = np.random.default_rng(0)
    items = rng.random((n, 4))
    y = np.sin(5 * items[:, 1])
    schema = Schema.numeric(tuple("abcd"))
    data = ValuedItems(GapCoordinates.of(schema, items), (y - y.mean()) / y.std(), np.ones(n), np.arange(n))
    path = slope_path(data, np.arange(n), 60, 0)
    assert len(path) == 13
    assert path[-1][1] > 3 * np.delete(path[-1], 1).max()
    assert_allclose(path[0], path[0][0], rtol=0.2)
    assert_allclose(slope_path(data, np.arange(n), 60, 0)[-1], path[-1])
