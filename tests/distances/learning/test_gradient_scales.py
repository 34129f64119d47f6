"""Coordinates have the distances of the tables, and weights follow the gradients of the machine."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from semimetric import Schema, Semimetric
from semimetric.distances.estimators.kernel_ridge_learner import item_targets
from semimetric.distances.learning.gradient_scales import BaseScales, GapCoordinates, weight_rounds
from semimetric.distances.learning.kernel_machine import check_positive
from semimetric.distances.model.known_distances import distance_parts


def mixed(rng, n=60):
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n).astype(float),
            "hour": 24 * rng.integers(0, 64, n) / 64,  # on the cuts, so that they part the circle exactly
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "weight": np.exp(rng.normal(size=n)),
            "constant": np.ones(n),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[3::11, "hour"] = np.nan
    frame.loc[5::9, "colour"] = None
    schema = Schema.fit(frame, periodic={"hour": 24}, missing="level")
    return schema, schema.encode(frame)


def test_coordinates_have_the_gaps_as_their_distances(rng):
    schema, items = mixed(rng)
    coordinates = GapCoordinates.of(schema, items)
    slopes = np.array([0.3, 0.2, 1.5, 0.1, 1.0])
    scaled = coordinates.scaled(slopes, np.arange(len(items)))
    d = Semimetric(**distance_parts(schema, items, slopes))
    assert_allclose(cdist(scaled, scaled, "cityblock"), d.pairwise(schema.decode(items)), atol=1e-9)


def test_uniform_weights_give_every_feature_that_varies_the_mean_distance_one(rng):
    schema, items = mixed(rng)
    weight = rng.integers(1, 4, len(items)) * 1.0
    coordinates = GapCoordinates.of(schema, items)
    for f, slope in enumerate(coordinates.uniform_weights(weight)):
        own = coordinates.values[:, coordinates.feature == f] * slope
        assert_allclose(weight @ cdist(own, own, "cityblock") @ weight / weight.sum() ** 2, 0.0 if f == 4 else 1.0)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(2, 20))
def test_the_distance_is_that_of_the_coordinates_and_its_kernel_is_positive(seed, n_knots):
    rng = np.random.default_rng(seed)
    schema, items = mixed(rng, 40)
    base = BaseScales.of(schema, items, np.ones(40), n_knots)
    weights = rng.random(5)
    coordinates = base.coordinates.scaled(base.unit * weights, np.arange(40))
    distances = cdist(coordinates, coordinates, "cityblock")
    d = Semimetric(**base.parts(schema, items, weights))
    assert_allclose(d.pairwise(schema.decode(items)), distances, atol=1e-9)
    check_positive(np.exp(-distances / rng.random()))


def test_a_scale_is_half_values_and_half_ranks_and_goes_on_as_values(rng):
    x = np.sort(rng.exponential(size=30))
    schema = Schema.numeric(("a",))
    base = BaseScales.of(schema, x[:, None], np.ones(30), 50)
    d = Semimetric(**base.parts(schema, x[:, None], np.ones(1)))
    ranks = np.arange(30.0)
    of_values, of_ranks = (np.abs(np.subtract.outer(v, v)).mean() for v in (x, ranks))
    assert_allclose(
        d.pairwise(x[:, None]),
        np.abs(np.subtract.outer(x / of_values + ranks / of_ranks, x / of_values + ranks / of_ranks)) / 2,
    )
    assert_allclose(d([x[-1]], [x[-1] + 1.0]), 0.5 / of_values)


def rounds_of(items, known, n_rounds=2):
    schema = Schema.numeric(tuple("abcd"))
    rows, targets = item_targets(items, known, np.ones(len(items)))
    base = BaseScales.of(schema, items[rows], np.ones(len(rows)), 16)
    return weight_rounds(base, np.arange(len(rows)), targets, n_rounds=n_rounds, rng=np.random.default_rng(0), n_jobs=None)


def test_weights_follow_the_feature_that_says_something(rng):
    items = rng.random((300, 4))
    items[:, 3] = 5.0
    found = rounds_of(items, np.sin(7 * items[:, 1]))
    assert found[0].weights.tolist() == [1.0, 1.0, 1.0, 0.0]
    last = found[-1].weights
    assert last[1] > 3 * max(last[0], last[2])
    assert last[3] == 0
    assert last[[0, 2]].min() >= 0.25
    assert found[-1].loss < 0.7 * found[0].loss


def test_classes_and_their_indicators_as_values_give_the_same_weights(rng):
    items = rng.random((120, 4))
    classes = (items[:, 2] > 0.5).astype(np.int64)
    of_classes, of_values = (rounds_of(items, known, 1)[-1].weights for known in (classes, classes.astype(float)))
    assert np.abs(of_classes - of_values).max() < 0.3  # width and strength are chosen by another loss
    assert of_classes.argmax() == of_values.argmax() == 2
