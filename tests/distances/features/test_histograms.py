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


FAR = {
    "time stamps": 1.7e9 + np.array([0.0, 1, 10, 11, 20]),
    "even": 1.7e9 + np.arange(5.0),
    "tiny": -1e-5 + 1e-9 * np.arange(5.0),
    "unlike widths": np.array([0.0, 1e-12, 1e-3, 5, 1e9]),
}


@pytest.mark.parametrize("name", FAR)
def test_cumulative_sums_are_exact_wherever_the_bins_are(name, rng):
    H, features = rng.dirichlet(np.ones(5), 12), HistogramFeatures(FAR[name])
    Z = features.fit_transform(H)
    assert len(set(features.get_feature_names_out())) == Z.shape[1] == 4
    for k in range(11):
        assert np.abs(Z[k] - Z[k + 1]).sum() == pytest.approx(emd_1d(H[k], H[k + 1], FAR[name]))


def test_features_of_a_plane_do_not_depend_on_where_it_is(histograms):
    here, there = (HistogramFeatures(PLANE + shift).fit(histograms) for shift in (0.0, 2.0**30))
    np.testing.assert_allclose(here.components_, there.components_, atol=1e-12)
    assert len(set(there.get_feature_names_out())) == len(there.components_)


def test_slices_are_masses_of_half_planes(histograms):
    features = HistogramFeatures(PLANE, n_slices=2, n_edges=0, ball_radii=()).fit(histograms)
    by_column = histograms.reshape(20, 3, 3).sum(axis=1)
    np.testing.assert_allclose(features.transform(histograms)[:, :2], by_column.cumsum(axis=1)[:, :2])


def test_the_total_mass_of_histograms_normalised_in_float32_is_no_feature(histograms):
    single = histograms.astype(np.float32)
    single /= single.sum(axis=1, keepdims=True)
    components = HistogramFeatures(PLANE).fit(single).components_
    assert not (np.ptp(components, axis=1) == 0).any()


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


BAD_PARAMETERS = {
    "no width": ({"edge_scales": (0,), "ball_radii": (), "n_slices": 0}, "each of edge_scales=0", "must be > 0"),
    "negative width": ({"edge_scales": (1.0, -1.0)}, "each of edge_scales=-1.0", "must be > 0"),
    "nan": ({"ball_radii": (np.nan,)}, "each of ball_radii=nan", "must be a finite number"),
    "one radius": ({"ball_radii": 1.0}, "ball_radii=1.0", "must be a sequence of numbers > 0", "such as (1.0, 2.0)"),
    "half a direction": ({"n_slices": 2.5}, "n_slices=2.5", "an integer >= 0 is required"),
    "negative": ({"n_edges": -1}, "n_edges=-1", "an integer >= 0 is required"),
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters_are_refused(histograms, name):
    parameters, *parts = BAD_PARAMETERS[name]
    assert assert_refused(lambda: HistogramFeatures(PLANE, **parameters).fit(histograms), *parts)


def test_nothing_asked_for_is_refused(histograms):
    nothing = HistogramFeatures(PLANE, n_slices=0, ball_radii=(), n_edges=0)
    assert_refused(lambda: nothing.fit(histograms), "no features are left of 9 bins of equal masses", "ask for slices")


def test_one_bin_of_equal_mass_carries_nothing():
    with pytest.raises(ValueError, match="no features are left"):
        HistogramFeatures([0.0]).fit([[1.0], [1.0]])
