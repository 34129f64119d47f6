"""Pictures of functions of additive machines show these functions."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from sklearn.pipeline import make_pipeline

from semimetric import EmbeddedLinearClassifier, NotSupportedError, PL2Embedding
from semimetric.plotting.shape_functions import plot_curve, plot_surface
from semimetric.vectors.machines.shapes import Shapes

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def shapes():
    X = np.random.default_rng(0).random((60, 3))
    embedding = PL2Embedding(n_knots=[4, 3, 5]).fit(X)
    w = np.random.default_rng(1).normal(size=embedding.n_columns_)
    return Shapes.of(embedding, w)


def test_a_curve_has_a_dot_at_every_knot(shapes):
    ax = plot_curve(shapes, 2, name="width", label="one")
    plot_curve(shapes, 2, ax, name="width", label="two")
    line = ax.get_lines()[1]
    assert np.array_equal(line.get_xdata(), shapes.knots[2])
    assert np.array_equal(line.get_ydata(), shapes.curves[2])
    assert ax.get_xlabel() == "width"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["one", "two"]


@pytest.mark.parametrize("total", [False, True])
def test_a_surface_is_drawn_by_its_values_at_the_grid(shapes, total):
    ax = plot_surface(shapes, (0, 1), total=total, names=("a", "b"))
    mesh = ax.collections[0]
    values = shapes.tables[0, 1] + total * (shapes.curves[0][:, None] + shapes.curves[1])
    assert np.allclose(np.sort(mesh.get_array()), np.sort(values.ravel()))
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


def test_refusals(shapes):
    assert_refused(lambda: plot_curve(shapes, 7), "7", "0 to 2")
    assert_refused(lambda: plot_surface(shapes, (1, 0)), "(1, 0)", "(0, 1)")


@pytest.mark.filterwarnings("error")
def test_axes_bear_the_names_of_the_frame():
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 3)), columns=["mean radius", "width", "kind"])
    embedding = PL2Embedding(n_knots=3).fit(frame)
    shapes = Shapes.of(embedding, np.ones(embedding.n_columns_))
    assert plot_curve(shapes, "mean radius").get_xlabel() == "mean radius"
    ax = plot_surface(shapes, ("mean radius", "kind"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean radius", "kind")


def test_a_machine_is_drawn_as_its_shapes_are():
    X = np.random.default_rng(0).random((80, 2))
    machine = EmbeddedLinearClassifier(PL2Embedding(n_knots=3)).fit(X, X[:, 0] > X[:, 1])
    for of_machine, of_shapes in (
        (plot_curve(machine, 0), plot_curve(Shapes.of(machine), 0)),
        (plot_curve(make_pipeline(machine).fit(X, X[:, 0] > X[:, 1]), 0), plot_curve(Shapes.of(machine), 0)),
    ):
        for one, other in zip(of_machine.lines, of_shapes.lines, strict=True):
            np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
    assert plot_surface(machine, (0, 1)).get_xlabel() == "x0"
    with pytest.raises(NotSupportedError, match="str"):
        plot_curve("machine", 0)
