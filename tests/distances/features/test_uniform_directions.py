import numpy as np
import pytest

from semimetric import UniformDirections
from semimetric.distances.features.uniform_directions import half_sphere

NAMES = ("L", "a", "b")


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))


@pytest.mark.parametrize("dimension", [2, 3, 4, 6])
@pytest.mark.parametrize("n", [1, 5, 16])
def test_directions_are_distinct_unit_vectors_and_no_two_are_opposite(dimension, n):
    unit = half_sphere(dimension, n, 0)
    assert unit.shape == (n, dimension)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0)
    assert (np.abs(unit @ unit.T)[~np.eye(n, dtype=bool)] < 1 - 1e-6).all()
    np.testing.assert_array_equal(unit, half_sphere(dimension, n, 0))


@pytest.mark.parametrize(("features", "chosen"), [((1, 2), [1, 2]), (("a", "b"), [1, 2]), (None, [0, 1, 2])])
def test_even_directions_combine_the_named_features_only(X, features, chosen):
    even = UniformDirections(features, n_directions=6).fit_named(X, NAMES)
    unused = np.setdiff1d(range(3), chosen)
    assert not even.components_[:, unused].any()
    assert ((even.components_ != 0).sum(axis=1) > 1).all()  # a raw feature is there already
    np.testing.assert_allclose(even.transform(X), X @ even.components_.T)
