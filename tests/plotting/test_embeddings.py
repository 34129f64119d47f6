import numpy as np
import pytest
from cases import assert_refused
from sklearn.exceptions import NotFittedError

from semimetric import BSplineEmbedding, FourierEmbedding
from semimetric.plotting.embeddings import plot_basis, plot_kernel
from semimetric.vectors.embeddings.additive_kernels import min_kernel

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.mark.parametrize("embedding", [BSplineEmbedding(4, degree=2), FourierEmbedding(3)])
def test_a_line_for_every_column_of_the_feature(rng, embedding):
    X = rng.normal(size=(30, 2))
    axes = plot_basis(embedding.fit(X), X, "x1" if isinstance(embedding, FourierEmbedding) else 1)
    assert len(axes.lines) == 6
    x, y = axes.lines[2].get_data()
    assert (x[0], x[-1]) == (X[:, 1].min(), X[:, 1].max())
    row = np.array([[0.0, x[200]]])
    term, phi = embedding.terms_[1], embedding.transform(row)
    assert y[200] == pytest.approx(float((phi if isinstance(phi, np.ndarray) else phi.toarray())[0, term.start + 2]))
    assert axes.get_xlabel() == "x1"


def test_a_kernel_is_an_image_with_its_scale():
    figure, axes = plt.subplots()
    assert plot_kernel(min_kernel, axes) is axes
    image = np.asarray(axes.images[0].get_array())
    assert image[-1, -1] == 1.0
    assert (image == image.T).all()
    assert len(figure.axes) == 2


def test_bad_input_is_refused(rng):
    X = rng.normal(size=(5, 2))
    embedding = BSplineEmbedding().fit(X)
    assert_refused(lambda: plot_basis(None, X), "None", "no embedding", "BSplineEmbedding")
    assert_refused(lambda: plot_basis(embedding, X, "height"), "no feature 'height'", "give a name")
    assert_refused(lambda: plot_basis(embedding, X, 2), "no feature 2", "below 2")
    assert_refused(lambda: plot_basis(embedding, X[:, :1]), "X has 1 features", "expecting 2 features")
    assert_refused(lambda: plot_kernel(min_kernel, low=1.0), "[1.0, 1.0]", "low < high")
    with pytest.raises(NotFittedError):
        plot_basis(BSplineEmbedding(), X)
