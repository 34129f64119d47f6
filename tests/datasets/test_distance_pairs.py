import numpy as np
import pytest
from scipy.spatial.distance import canberra, cityblock
from scipy.stats import wasserstein_distance

from semimetric import InputError
from semimetric.datasets.distance_pairs import KNOWN_DISTANCES, make_distance_pairs, make_items

every_known = pytest.mark.parametrize("name", KNOWN_DISTANCES)


@every_known
def test_a_known_distance_is_zero_on_the_diagonal_positive_off_it_and_finite(name):
    d, X = KNOWN_DISTANCES[name], make_items(name, 60)
    left, right = X[:30], X[30:]
    assert np.abs(d(X, X)).max() < 1e-12
    assert (d(left, right) > 0).all()
    assert np.isfinite(d(left, right)).all()


@every_known
def test_only_kullback_leibler_depends_on_the_order(name):
    d, X = KNOWN_DISTANCES[name], make_items(name, 60)
    same = np.allclose(d(X[:30], X[30:]), d(X[30:], X[:30]))
    assert same == (name != "kullback_leibler")


@every_known
def test_items_are_seeded_and_pairs_carry_their_true_distance(name):
    made = make_distance_pairs(name, 40, n_items=10, random_state=3)
    assert np.array_equal(made.items, make_items(name, 10, random_state=3))
    assert not np.array_equal(made.items, make_items(name, 10, random_state=4))
    assert (made.pairs[:, 0] != made.pairs[:, 1]).all()
    assert np.array_equal(made.distances, KNOWN_DISTANCES[name](made.items[made.pairs[:, 0]], made.items[made.pairs[:, 1]]))


def test_known_distances_agree_with_those_of_scipy():
    X, Y = np.split(make_items("emd_1d", 20), 2)
    bins = np.arange(16)
    emd = [wasserstein_distance(bins, bins, x, y) for x, y in zip(X, Y, strict=True)]
    assert np.allclose(KNOWN_DISTANCES["emd_1d"](X, Y), emd)
    assert np.allclose(KNOWN_DISTANCES["canberra"](X, Y), [canberra(x, y) for x, y in zip(X, Y, strict=True)])
    X, Y = np.split(make_items("weighted_l1", 20), 2)
    slopes = [0.2, 0.5, 1, 2, 4, 8]
    assert np.allclose(KNOWN_DISTANCES["weighted_l1"](X, Y), [cityblock(x, y, slopes) for x, y in zip(X, Y, strict=True)])


def test_hand_values():
    at = {
        name: lambda x, y, d=d: float(d(np.array([x], float), np.array([y], float))[0]) for name, d in KNOWN_DISTANCES.items()
    }
    assert at["haversine"]([0, 0], [0, 90]) == pytest.approx(6371 * np.pi / 2)
    assert at["haversine"]([10, 179], [10, -179]) == pytest.approx(at["haversine"]([10, 1], [10, -1]))
    assert at["periodic"]([23, 0, 0, 0], [1, 0, 0, 0]) == pytest.approx(2)
    assert at["saturating"]([0] * 5, [1e6] * 5) == pytest.approx(5)
    assert at["chi2"]([1, 0], [0, 1]) == pytest.approx(2)
    assert at["kullback_leibler"]([0.5, 0.5], [0.25, 0.75]) == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_items("euclid", 3), "name='euclid' is not known; use one of 'weighted_l1'"),
        (lambda: make_items("chi2", 0), "n_items=0 must be at least 1"),
        (lambda: make_distance_pairs("chi2", 5, n_items=1), "at least two items and one pair"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
