"""Labels of ticks differ where the values do, say what people say, and never overlap."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data.schema import Feature
from semimetric.plotting.distances import level_labels, number_labels, set_ticks

plt = pytest.importorskip("matplotlib.pyplot")


def drawn(places, labels, size=(6.4, 4.8)):
    """A square picture with these ticks, as it is drawn."""
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    axes.imshow(np.zeros((2, 2)), extent=(places[0], places[-1], places[0], places[-1]))
    set_ticks(axes, np.asarray(places, dtype=float), labels)
    figure.draw_without_rendering()
    return axes


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20, unique=True))
def test_numbers_are_told_apart(values):
    texts = number_labels(np.sort(values), Feature("x"))
    assert len(set(texts)) == len(values)
    np.testing.assert_allclose([float(text) for text in texts], np.sort(values), rtol=5e-3)


def test_years_have_no_exponent_and_angles_end_where_they_begin():
    assert number_labels(np.array([1990.0, 1990.5, 2024.0]), Feature("x")) == ["1990", "1990.5", "2024"]
    hour = Feature("hour", kind="periodic", period=24.0)
    assert number_labels(np.array([5.1, 23.0, 25.0, 29.1]), hour) == ["5.1", "23", "1", "5.1"]


def test_times_are_dates_with_hours_where_days_do_not_tell_them_apart():
    when = Feature("when", time="scale")
    assert number_labels(np.array([0.0, 19844.5]), when) == ["1970-01-01", "2024-05-01"]
    assert number_labels(np.array([19844.25, 19844.5]), when) == ["2024-05-01 06:00", "2024-05-01 12:00"]
    aware = Feature("when", time="scale", zone="UTC")
    assert number_labels(np.array([0.0]), aware) == [f"{dt.datetime(1970, 1, 1):%Y-%m-%d}"]
    assert level_labels([0.0, 19844.0, "(missing)"], when) == ["1970-01-01", "2024-05-01", "(missing)"]
    colour = Feature("colour", kind="categorical", categories=("red", 2))
    assert level_labels(["red", 2, "(other)"], colour) == ["red", "2", "(other)"]


@pytest.mark.parametrize("size", [(6.4, 4.8), (3.0, 3.0), (9.0, 9.0)])
@pytest.mark.parametrize("n", [2, 16, 60])
def test_labels_do_not_overlap_and_every_place_has_a_tick(size, n):
    axes = drawn(np.arange(n), [f"the category of the number {k}" for k in range(n)], size)
    texts = axes.get_yticklabels()
    assert texts[0].get_text() == "the category of the…"
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in zip(boxes[:-1], boxes[1:], strict=True))
    assert len({*axes.get_yticks(), *axes.get_yticks(minor=True)}) == n
    anchors = sorted(text.get_window_extent().x1 for text in axes.get_xticklabels())
    height = texts[0].get_window_extent().height
    assert np.diff(anchors).min() >= 1.2 * height  # turned by 45 degrees they are .7 of that apart


def test_knots_that_crowd_have_the_labels_of_the_first_and_the_last():
    axes = drawn([0.0, 1e-3, 2e-3, 1.0], ["a", "b", "c", "d"])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "d"]
