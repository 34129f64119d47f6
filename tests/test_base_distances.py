import numpy as np
import pytest
from cases import assert_refused, cityblock

from semimetric import StorageError, base_distances
from semimetric.base_distances import BaseDistance
from semimetric.callables import DistanceFunction


def one_pair(x, y):
    return float(np.abs(x - y).sum())


@pytest.fixture(params=[(True, 1), (False, 1), (True, 2)], ids=["batch", "vectors", "squared"])
def base(request, rng):
    batch, power = request.param
    probe = rng.random((4, 2, 3))
    function = DistanceFunction(cityblock if batch else one_pair, batch)
    return BaseDistance(function, 2.5, "blocks", probe, cityblock(probe[:, 0], probe[:, 1]), power)


@pytest.mark.parametrize("calls", [1, 5, 1 << 16])
def test_terms_are_weighted_powers_whatever_the_blocks(base, calls, monkeypatch, rng):
    monkeypatch.setattr(base_distances, "_CALLS", calls)
    X, Y, out = rng.random((4, 3)), rng.random((3, 3)), np.ones((4, 3))
    want = 2.5 * np.abs(X[:, None] - Y[None]).sum(axis=2) ** base.power
    base.add_pairwise(X, Y, out)
    np.testing.assert_allclose(out, 1 + want)
    np.testing.assert_allclose(base.paired(X[:3], Y), np.diag(want[:3]))


def test_no_points_add_nothing(base):
    out = np.ones((2, 0))
    base.add_pairwise(np.zeros((2, 3)), np.zeros((0, 3)), out)
    assert out.shape == (2, 0)


def test_is_read_with_its_callable_and_checked_against_stored_values(base, rng):
    again = BaseDistance.read(base.state(), base.function.function, base.probe, base.values)
    X, Y = rng.random((5, 3)), rng.random((5, 3))
    assert (again.paired(X, Y) == base.paired(X, Y)).all()

    def read(function):
        return lambda: BaseDistance.read(base.state(), function, base.probe, base.values)

    assert_refused(read("blocks"), "'blocks' must be callable", "not 'blocks'", "give the function itself", error=StorageError)
    doubled = read(lambda x, y: 2 * np.abs(x - y).sum(axis=-1))
    assert_refused(
        doubled, "'blocks' does not give the values", "when the model was saved", "same function", error=StorageError
    )
