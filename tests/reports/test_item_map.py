"""The map of items: classical scaling against an eigendecomposition, and planes that it finds again."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

import semimetric as sm
from semimetric.reports.page import classical_scaling


@given(st.integers(0, 1000), st.sampled_from([1e-200, 1.0, 1e200]))
def test_items_of_a_plane_have_their_distances_on_the_map(seed, unit):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    D = squareform(pdist(X))
    np.testing.assert_allclose(pdist(classical_scaling(D * unit)) * D.max(), pdist(X), rtol=1e-6, atol=1e-9)


@given(st.integers(0, 1000), st.integers(4, 15))
def test_coordinates_are_the_leading_eigenvectors_of_the_centred_squares(seed, n):
    D = squareform(np.random.default_rng(seed).random(n * (n - 1) // 2))
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(centre @ (-0.5 * (D / D.max()) ** 2) @ centre)
    expected = np.abs(vectors[:, :-3:-1] * np.sqrt(np.clip(values[:-3:-1], 0, None)))
    np.testing.assert_allclose(np.abs(classical_scaling(D)), expected, atol=1e-6)


def test_items_that_coincide_or_are_few_have_no_map():
    assert classical_scaling(np.zeros((5, 5))) is None
    d = sm.Semimetric.l1(np.random.default_rng(0).random((20, 2)))
    assert sm.report(d, np.full((6, 2), 0.5)).page["map"] is None
    assert sm.report(d, np.random.default_rng(1).random((3, 2))).page["map"] is None
    assert sm.report(d).page["map"] is None


def test_a_map_is_as_trusted_as_its_neighbours_are_true():
    rng = np.random.default_rng(0)
    flat, deep = rng.random((80, 2)), rng.random((80, 12))
    pages = [sm.report(sm.Semimetric.l1(X), X).page["map"] for X in (flat, deep)]
    assert pages[0]["trust"] > 0.97 > 0.9 > pages[1]["trust"] > 0.5
    x, y = (np.frombuffer(base64.b64decode(pages[0][axis]["base64"]), "<f8") for axis in "xy")
    assert len(x) == len(y) == 80
    assert np.corrcoef(pdist(np.column_stack([x, y])), pdist(flat, "cityblock"))[0, 1] > 0.97


def test_an_asymmetric_distance_has_the_map_of_the_mean_of_both_directions():
    from reports_cases import DISTANCES, vectors

    d = DISTANCES["asymmetric"]()
    X = vectors(30, 1)
    places = sm.report(d, d.schema.display(X)).page["map"]
    D = d.pairwise(d.schema.display(X))
    expected = classical_scaling((D + D.T) / 2)
    x = np.frombuffer(base64.b64decode(places["x"]["base64"]), "<f8")
    np.testing.assert_allclose(np.abs(x), np.abs(expected[:, 0]), rtol=1e-6, atol=1e-9)
    assert places["k"] == pytest.approx(10)
