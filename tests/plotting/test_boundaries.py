import numpy as np
import pytest
from cases import assert_refused

from semimetric import BoundaryPoints, DPLMClassifier, GibbsChains
from semimetric.datasets.planar import make_horseshoe
from semimetric.plotting.boundaries import plot_boundary_points, plot_n_components, plot_pieces

pyplot = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
X, Y = make_horseshoe(120, 80)


@pytest.fixture(scope="module")
def model():
    return DPLMClassifier(alpha=1.0, chains=GibbsChains(n_sweeps=200, n_chains=1)).fit(X, Y)


def test_boundary_and_edge_points_are_where_they_were_found():
    found = BoundaryPoints().fit(X, Y)
    for edges, points in ((False, found.boundary_points_), (True, found.edge_points_)):
        axes = plot_boundary_points(found, X, Y, edges=edges)
        assert np.array_equal(np.column_stack(axes.lines[-1].get_data()), points)
        assert f"{len(found.support_)} of 200 items" in axes.get_title()


def test_each_piece_has_its_points_and_the_surface_separates(model):
    axes = plot_pieces(model, X, Y, pyplot.figure().gca())
    pieces = model.pieces_[0]
    drawn = [line for line in axes.lines if line.get_marker() == "s"]
    assert [len(line.get_xdata()) for line in drawn] == np.bincount(pieces.components).tolist()
    assert len({line.get_color() for line in drawn}) == model.n_components_
    vertices = np.concatenate([p.vertices for c in axes.collections for p in c.get_paths() if len(p.vertices)])
    assert np.abs(pieces.decision(vertices)).max() < 1.5  # of the pieces, and at their seams


def test_the_posterior_is_drawn_as_it_is(model):
    axes = plot_n_components([model, model])
    heights = sorted(bar.get_height() for bar in axes.patches)
    share = model.posterior_n_components_
    assert np.allclose(heights, sorted(share[share > 0].tolist() * 2))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["alpha = 1"] * 2


@pytest.mark.slow
def test_what_has_no_picture_is_refused(model):
    found, wide = BoundaryPoints().fit(X, Y), np.column_stack([X, X])
    assert_refused(lambda: plot_boundary_points(found, wide, Y), "4 features", "2 features are required")
    assert_refused(lambda: plot_boundary_points(found, X[:5], Y[:5]), "5 items, the fit had 200", "give the items of the fit")
    given = DPLMClassifier(n_components=2).fit(X, Y)
    assert_refused(lambda: plot_n_components(given), "no posterior", "two classes", "n_components=None")


@pytest.mark.slow
def test_pieces_between_several_classes_are_drawn_where_the_prediction_changes(rng):
    centres = np.array([[0.0, 0], [4, 0], [0, 4]])
    y = rng.integers(0, 3, 150)
    items = centres[y] + rng.normal(size=(150, 2)) * 0.5
    for multi_class in ("ovo", "ovr"):
        three = DPLMClassifier(n_components=1, multi_class=multi_class).fit(items, np.array(["a", "b", "c"])[y])
        axes = plot_pieces(three, items, np.array(["a", "b", "c"])[y], pyplot.figure().gca())
        assert axes.get_title() == "3 pieces between 3 classes"
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b", "c"]
        vertices = np.concatenate([p.vertices for c in axes.collections for p in c.get_paths() if len(p.vertices)])
        assert len(vertices) > 10
        step = 0.05 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        around = np.column_stack([three.predict(vertices + move) for move in step])
        if multi_class == "ovo":
            assert ((around != around[:, :1]).any(axis=1)).mean() > 0.95
    wide = DPLMClassifier(n_components=1).fit(np.column_stack([X, X]), Y)
    assert_refused(lambda: plot_pieces(wide), "4 features", "2 features are required")
