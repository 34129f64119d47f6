import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from semimetric import ConicEmbedding, InputError
from semimetric.plotting.conic import plot_anchor_distances, plot_level_sets

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def rings():
    angle = np.linspace(0, 2 * np.pi, 41)[:-1]
    radius = np.repeat([1.0, 3.0], 20)
    return np.column_stack([radius * np.cos(angle * 2), radius * np.sin(angle * 2)]), np.repeat(["in", "out"], 20)


def boundary(axes):
    """Corners of the widest line, which is f = 0."""
    widest = max(axes.collections, key=lambda c: max(c.get_linewidth(), default=0))
    return np.concatenate([path.vertices for path in widest.get_paths()])


def test_the_boundary_of_p_2_is_a_circle_between_the_rings(rings):
    X, y = rings
    model = make_pipeline(ConicEmbedding(2, anchors=[0.0, 0.0]), LinearSVC(dual=False)).fit(X, y)
    axes = plot_level_sets(model, X, y, anchors=[[0.0, 0.0]])
    line = boundary(axes)
    on_it = ConicEmbedding(2, anchors=[0.0, 0.0]).fit(X).transform(line)
    assert np.allclose(model[1].decision_function(on_it), 0.0, atol=0.02)
    assert np.linalg.norm(line, axis=1).min() > 1
    assert np.linalg.norm(line, axis=1).max() < 3
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["in", "out", "anchor"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x0", "x1")


@pytest.mark.slow
def test_it_draws_on_the_axes_given_and_takes_frames_and_many_classes(rings):
    pandas = pytest.importorskip("pandas")
    X, y = rings
    frame, classes = pandas.DataFrame(X, columns=["width", "height"]), np.arange(len(X)) % 3
    model = make_pipeline(ConicEmbedding(anchors="class", band=(0, 100)), LinearSVC(dual=False)).fit(frame, classes)
    _, ax = plt.subplots()
    assert plot_level_sets(model, frame, classes, ax) is ax
    assert ax.get_xlabel() == "width"
    assert len(ax.get_legend().get_texts()) == 3
    assert plot_level_sets(model, frame).get_legend() is None
    ax.figure.canvas.draw()


def test_distances_to_two_sets_are_the_columns_of_the_map(rings):
    X, y = rings
    embedding = ConicEmbedding(anchors="class", band=(0, 100)).fit(X, y)
    axes = plot_anchor_distances(embedding, X, y)
    drawn = np.concatenate([line.get_xydata() for line in axes.lines if line.get_marker() == "o"])
    assert np.allclose(drawn, embedding.transform(X)[:, 2:])
    assert axes.get_xlabel() == "|x - A[in]|_1^1"
    assert len(plot_anchor_distances(embedding, X).lines) == 2


def test_bad_input(rings):
    X, y = rings
    model = make_pipeline(ConicEmbedding(), LinearSVC(dual=False)).fit(X, y)
    with pytest.raises(InputError, match="ConicEmbedding has no decision_function; give a fitted linear machine"):
        plot_level_sets(model[0], X)
    with pytest.raises(InputError, match="X has 3 features, but 2"):
        plot_level_sets(model, np.zeros((4, 3)))
    with pytest.raises(InputError, match="anchors has 1 features"):
        plot_level_sets(model, X, anchors=[[0.0]])
    with pytest.raises(InputError, match="1 sets of anchors, .* two of its columns of distances are required"):
        plot_anchor_distances(model[0], X, y)
