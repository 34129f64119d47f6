import re

import numpy as np
import pytest
from cases import assert_refused
from reference import emd_1d

from semimetric import HistogramFeatures

PLANE = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0)), axis=-1).reshape(-1, 2)


@pytest.fixture
def histograms(rng):
    return rng.dirichlet(np.ones(9), 20)


def test_cumulative_sums_are_exact_for_unsorted_bins_of_any_width(rng):
    positions = np.array([4.0, 0.0, 9.0, 1.0])
    order, H = np.argsort(positions), rng.dirichlet(np.ones(4), 12)
    Z = HistogramFeatures(positions).fit_transform(H)
    assert Z.shape == (12, 3)
    for k in range(11):
        want = emd_1d(H[k][order], H[k + 1][order], positions[order])
        assert np.abs(Z[k] - Z[k + 1]).sum() == pytest.approx(want)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [({"n_edges": 0, "ball_radii": ()}, {"slice"}), ({"n_slices": 0, "n_edges": 0}, {"ball"}),
     ({"n_slices": 0, "ball_radii": ()}, {"edge"}), ({"n_slices": 0, "n_edges": 0, "ball_radii": (), "bins": True}, {"bin"}),
     ({}, {"slice", "ball", "edge"})],
)  # fmt: skip
def test_features_are_those_asked_for_and_distinct(histograms, options, kinds):
    features = HistogramFeatures(PLANE, **options).fit(histograms)
    names = features.get_feature_names_out()
    assert {re.match("[a-z]+", name)[0] for name in names} == kinds
    assert len(set(names)) == len(names) == len(features.components_)
    centred = features.components_ - features.components_.mean(axis=1, keepdims=True)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert (np.abs(unit @ unit.T)[~np.eye(len(unit), dtype=bool)] < 1 - 1e-9).all()


def test_slices_are_masses_of_half_planes(histograms):
    features = HistogramFeatures(PLANE, n_slices=2, n_edges=0, ball_radii=()).fit(histograms)
    by_column = histograms.reshape(20, 3, 3).sum(axis=1)
    np.testing.assert_allclose(features.transform(histograms)[:, :2], by_column.cumsum(axis=1)[:, :2])


@pytest.mark.parametrize("equal", [True, False])
def test_the_total_mass_is_a_feature_where_it_differs(histograms, equal):
    masses = np.ones(20) if equal else np.linspace(1, 2, 20)
    components = HistogramFeatures(PLANE).fit(histograms * masses[:, None]).components_
    assert (np.ptp(components, axis=1) == 0).any() != equal


BAD = {
    "another number": ([0.0, 1.0], "shape (2, 1) for histograms of 9 bins", "one row a bin is required"),
    "nan": (np.full(9, np.nan), "bin_coordinates", "must be finite", "merge"),
    "one place": (np.zeros((9, 2)), "bin_coordinates", "no two bins may share a place", "merge such bins"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_coordinates_are_refused(histograms, name):
    coordinates, *parts = BAD[name]
    assert assert_refused(lambda: HistogramFeatures(coordinates).fit(histograms), *parts)


def test_nothing_asked_for_is_refused(histograms):
    nothing = HistogramFeatures(PLANE, n_slices=0, ball_radii=(), n_edges=0)
    assert_refused(lambda: nothing.fit(histograms), "no features are left", "ask for slices")


def test_one_bin_of_equal_mass_carries_nothing():
    with pytest.raises(ValueError, match="no features are left"):
        HistogramFeatures([0.0]).fit([[1.0], [1.0]])
