import numpy as np
import pytest
from cases import assert_refused
from scipy.spatial.distance import cdist

from semimetric import EarthMoversDistance
from semimetric.datasets import make_distance_pairs, make_triplet_answers
from semimetric.datasets.digits import exact_emd, load_digit_histograms


def test_digits_are_histograms_on_the_grid_of_their_pixels():
    digits = load_digit_histograms()
    assert digits.histograms.shape == (1797, 64)
    assert np.allclose(digits.histograms.sum(axis=1), 1)
    assert digits.bin_coordinates[[0, 1, 8, 63]].tolist() == [[0, 0], [0, 1], [1, 0], [7, 7]]
    assert sorted(set(digits.labels)) == list(range(10))


def test_exact_emd_moves_mass_by_the_ground_distance():
    pytest.importorskip("ot")
    bins = [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
    x, y = [[1.0, 0, 0], [0.5, 0.5, 0]], [[0.0, 1, 0], [0.5, 0, 0.5]]
    assert exact_emd(x, y, bins) == pytest.approx([5.0, 0.5 * np.hypot(3, 3)])
    assert exact_emd(x[0], y[0], bins) == pytest.approx([5.0])


def test_histograms_over_different_bins_are_refused():
    pytest.importorskip("ot")
    assert_refused(
        lambda: exact_emd([[1.0, 0]], [[1.0, 0, 0]], [[0.0], [1.0]]), "(1, 2)", "(1, 3)", "over the same bins are required"
    )


def test_data_sets_are_printed_by_their_shapes():
    assert repr(load_digit_histograms()) == (
        "DigitHistograms(histograms=<array of shape (1797, 64)>, bin_coordinates=<array of shape (64, 2)>, "
        "labels=<array of shape (1797,)>)"
    )
    assert "items=<array of shape (30, 1)>" in repr(make_triplet_answers(5, n_items=30))
    assert "distances=<array of shape (20,)>" in repr(make_distance_pairs("chi2", 20, n_items=10))


def test_it_is_the_earth_movers_distance_of_every_pair():
    pytest.importorskip("ot")
    digits = load_digit_histograms()
    x, y = digits.histograms[:6], digits.histograms[6:12]
    one = EarthMoversDistance(cdist(digits.bin_coordinates, digits.bin_coordinates))
    assert exact_emd(x, y, digits.bin_coordinates).tolist() == pytest.approx(
        [one(a, b) for a, b in zip(x, y, strict=True)], rel=1e-12
    )
    assert exact_emd(x, y * (1 + 5e-7), digits.bin_coordinates) == pytest.approx(
        exact_emd(x, y, digits.bin_coordinates), rel=1e-6
    )


@pytest.mark.parametrize("wrong", [[[0.0, 0.0]], [[2.0, -1.0]], [[1.0, 1.0]]])
def test_masses_that_are_unlike_are_refused(wrong):
    pytest.importorskip("ot")
    assert_refused(lambda: exact_emd([[1.0, 0]], wrong, [[0.0], [1.0]]), "some histograms", "divide each by its sum")
    assert_refused(lambda: exact_emd(wrong, [[0.0, 0.0]], [[0.0], [1.0]]), "some histograms", "divide each by its sum")
