"""Features of series: what warping leaves as it is, and bounds of the distance under warping."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import time_warping

from semimetric import SeriesFeatures, load

SERIES = st.lists(st.floats(-10, 10), min_size=1, max_size=9)
STABLE = SeriesFeatures(n_quantiles=0, n_windows=0)


@given(SERIES, st.data())
def test_ends_extremes_and_the_path_are_the_same_if_values_are_repeated(series, data):
    times = data.draw(st.lists(st.integers(1, 4), min_size=len(series), max_size=len(series)))
    x, y = STABLE.fit_transform([series, np.repeat(series, times)])
    length = STABLE.get_feature_names_out().tolist().index("length")
    assert y[length] == sum(times)
    np.testing.assert_allclose(np.delete(y, length), np.delete(x, length), rtol=1e-9, atol=1e-9)


@given(SERIES, SERIES)
def test_ends_and_extremes_are_lower_bounds_of_the_warping_distance(x, y):
    a, b = STABLE.fit_transform([x, y])
    assert np.abs(a - b)[:4].max() <= time_warping(x, y) + 1e-9


@given(SERIES)
def test_windows_and_quantiles_are_of_the_values(series):
    model = SeriesFeatures(n_path=0, n_quantiles=len(series), n_windows=1)
    (x,) = model.fit_transform([series])
    names = model.get_feature_names_out().tolist()
    np.testing.assert_allclose(x[7 : 7 + len(series)], np.sort(series), atol=1e-9)
    window = x[names.index("mean in window 0") :]
    np.testing.assert_allclose(window, [np.mean(series), min(series), max(series)], atol=1e-9)


def test_channels_lengths_names_and_files(tmp_path):
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(n, 2)) for n in (1, 2, 9, 40)]
    model = SeriesFeatures().fit(series)
    found = model.transform(series)
    assert found.shape == (4, len(model.get_feature_names_out()))
    assert len({*model.get_feature_names_out()}) == found.shape[1]
    named = dict(zip(model.get_feature_names_out(), found[2], strict=True))
    assert named["first of channel 1"] == series[2][0, 1]
    assert named["highest of channel 0"] == series[2][:, 0].max()
    assert named["path 15 of channel 1"] == pytest.approx(series[2][-1, 1])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").transform(series), found)


@pytest.mark.parametrize(
    ("changes", "objects", "words"),
    [
        ({}, [[]], "X[0] has shape (0,); (n_times,) with a value"),
        ({}, [[1.0], [[1.0, 2.0]]], "X[1] has shape (1, 2)"),
        ({}, [[1.0, np.nan]], "fill gaps in"),
        ({}, [["a"]], "X[0]"),
        ({}, [3.0], "X[0] has shape ()"),
        ({"n_path": -1}, [[1.0]], "n_path=-1"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, objects, words):
    assert_refused(lambda: SeriesFeatures(**changes).fit(objects), words, "")
