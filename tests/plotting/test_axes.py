"""What pictures share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric.plotting.axes import axes_of, hide_frame, shorten, triangles

plt = pytest.importorskip("matplotlib.pyplot")


def test_triangles_cover_the_square_once_and_never_cross_the_diagonal():
    a, b = np.divmod(triangles(4, 4), 4)
    area = 0.5 * np.abs((a[:, 1] - a[:, 0]) * (b[:, 2] - b[:, 0]) - (a[:, 2] - a[:, 0]) * (b[:, 1] - b[:, 0]))
    assert area.sum() == 9
    side = np.sign(a - b)
    assert (side.min(axis=1) * side.max(axis=1) >= 0).all()


def test_triangles_of_a_rectangle_are_the_halves_of_its_cells():
    found = {tuple(sorted(t)) for t in triangles(2, 3).tolist()}
    assert found == {(0, 3, 4), (0, 1, 4), (1, 4, 5), (1, 2, 5)}


def test_axes_are_those_given_or_of_a_new_figure():
    given = plt.figure().gca()
    assert axes_of(given) is given
    assert axes_of(None).figure is not given.figure
    assert not hide_frame(given).spines["top"].get_visible()


@given(st.text(max_size=60))
def test_names_are_cut_to_what_a_picture_holds(name):
    shown = shorten(name)
    assert len(shown) <= 32
    assert shown == name if len(name) <= 32 else shown == f"{name[:31]}…"
