import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.metrics.pairwise import additive_chi2_kernel

from semimetric import AdditiveChi2Embedding, EmbeddedLinearClassifier
from semimetric.vectors import Shapes


@pytest.fixture
def amounts(rng):
    X = rng.random((40, 3)) * [1.0, 20.0, 0.01]
    X[rng.random(X.shape) < 0.2] = 0.0
    return X


@pytest.mark.parametrize(("steps", "interval"), [(1, None), (2, None), (3, None), (5, 0.3)])
def test_columns_are_those_of_scikit_learn_ordered_by_feature(amounts, steps, interval):
    twin = AdditiveChi2Sampler(sample_steps=steps, sample_interval=interval).fit_transform(amounts)
    found = AdditiveChi2Embedding(steps, sample_interval=interval).fit_transform(amounts)
    n = 2 * steps - 1
    assert_allclose(found.reshape(40, 3, n), twin.reshape(40, n, 3).transpose(0, 2, 1), atol=1e-14)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 1.6])
def test_products_are_nearly_the_kernel_and_homogeneous(amounts, gamma):
    X = amounts[:, :1] + 0.05
    embedding = AdditiveChi2Embedding(60, sample_interval=0.1, gamma=gamma).fit(X)
    phi = embedding.transform(X)
    truth = 2 * (X * X.T) ** ((gamma + 1) / 2) / (X + X.T)
    assert_allclose(phi @ phi.T, truth, rtol=1e-4)
    other = embedding.transform(7 * X)
    assert_allclose(other @ other.T, 7**gamma * truth, rtol=1e-4)


def test_with_gamma_one_it_is_the_chi_squared_distance_from_its_largest_value(amounts):
    phi = AdditiveChi2Embedding(60, sample_interval=0.1).fit_transform(amounts)
    total = amounts.sum(axis=1)
    assert_allclose(phi @ phi.T, (total[:, None] + total + additive_chi2_kernel(amounts)) / 2, atol=1e-3)


def test_missing_values_add_nothing_or_have_a_column(amounts):
    X = amounts.copy()
    X[3, 1] = np.nan
    zeros = AdditiveChi2Embedding(missing="zeros").fit(X).transform(X)
    told = AdditiveChi2Embedding(missing="indicator").fit(X)
    assert not zeros[3, 3:6].any()
    assert told.transform(X)[:, 7].tolist() == np.isnan(X[:, 1]).tolist()
    assert told.get_feature_names_out()[:5].tolist() == ["x0~root", "x0~cos1", "x0~sin1", "x0~missing", "x1~root"]


def test_functions_of_a_machine_are_told_as_shapes(amounts):
    y = amounts[:, 0] > 0.5
    machine = EmbeddedLinearClassifier(AdditiveChi2Embedding(3), C=10).fit(amounts, y)
    shapes = Shapes.of(machine)
    assert machine.score(amounts, y) > 0.9
    assert_array_equal(shapes.to_frame().query("feature == 'x0'").shape[0], 201)


BAD = {
    "steps": ({"sample_steps": 0}, "sample_steps=0"),
    "no interval": ({"sample_steps": 4}, "sample_interval=None"),
    "interval": ({"sample_interval": 0.0}, "sample_interval=0.0"),
    "gamma": ({"gamma": 3.0}, "gamma=3.0"),
    "missing": ({"missing": "drop"}, "missing='drop'"),
}


@pytest.mark.parametrize(("parameters", "message"), BAD.values(), ids=BAD)
def test_bad_parameters_are_refused(parameters, message, amounts):
    assert_refused(lambda: AdditiveChi2Embedding(**parameters).fit(amounts), message, "")


def test_negative_values_are_refused(amounts):
    embedding = AdditiveChi2Embedding().fit(amounts)
    for call in (embedding.fit, embedding.transform):
        assert_refused(lambda call=call: call(amounts - 0.01), "Negative values", "amounts >= 0")
