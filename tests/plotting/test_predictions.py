"""Predicted against true distances, and intervals around them."""

import numpy as np
import pytest

from semimetric import InputError
from semimetric.distances.learning.intervals import DistanceIntervals
from semimetric.plotting.predictions import plot_predicted

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.mark.parametrize("n", [40, 6000])
def test_predicted_says_how_well_they_agree(n, ax):
    true = np.linspace(1, 2, n)
    drawn = plot_predicted(true, 1.1 * true, ax)
    text = drawn.texts[0].get_text()
    assert drawn is ax
    assert text.splitlines() == [f"{n:,} pairs", "median error 10 %", "correlation 1.0000"]
    assert ax.get_xlim() == ax.get_ylim()
    assert bool(ax.collections) == (n > 5000)  # many pairs are binned


@pytest.mark.parametrize("n", [40, 3000])
def test_intervals_are_bars_or_a_band_and_their_share_is_told(n, ax):
    true = np.linspace(1, 2, n)
    half = np.where(np.arange(n) % 4 == 0, 0.05, 0.2)
    plot_predicted(true, DistanceIntervals(true + 0.1, true + 0.1 - half, true + 0.1 + half), ax)
    assert ax.texts[0].get_text().splitlines()[-1] == "75.0 % in their intervals"
    if n == 40:
        assert [len(bars.get_segments()) for bars in ax.collections] == [30, 10]
    else:
        assert len(ax.collections) == 1
    assert ax.get_xlim()[1] >= 2.3


@pytest.mark.parametrize(("true", "lines"), [(-np.arange(1.0, 5.0), 3), (np.zeros(3), 1)])
def test_distances_of_any_sign_are_within_the_picture(true, lines, ax):
    plot_predicted(true, 1.1 * true, ax)
    low, top = ax.get_xlim()
    assert low <= 1.1 * true.min()
    assert top > max(true.max(), 0)
    assert len(ax.texts[0].get_text().splitlines()) == lines
    assert "nan" not in ax.texts[0].get_text()


def test_wrong_input_is_refused():
    good = np.array([1.0, 2.0])
    for predicted, message in (
        (good[:1], "of the same length"),
        ((good, good, good[:1]), "upper"),
        ((good, good + 1, good), "interval 0 goes from 2 to 1"),
        ((good, good, good * np.nan), "upper"),
    ):
        with pytest.raises(InputError, match=message):
            plot_predicted(good, predicted)
