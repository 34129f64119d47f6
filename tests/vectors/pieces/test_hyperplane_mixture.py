import numpy as np
import pytest
from cases import assert_refused
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from semimetric import ConvergenceWarning, HyperplaneMixture, SemimetricWarning
from semimetric.vectors.pieces import hyperplane_mixture
from semimetric.vectors.pieces.hyperplane_mixture import _local_normals

pytestmark = pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
NORMALS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
CENTRES = np.array([[0.0, 0.0, 0.0], [2.5, 0.0, 1.0], [-2.0, 2.5, 1.0]])


def clouds(seed=0, n=100, noise=0.02):
    """Three pieces of planes in space: points, their true piece, and directions across them."""
    rng = np.random.default_rng(seed)
    labels = np.arange(3 * n) % 3
    X = rng.uniform(-1, 1, (3 * n, 3))
    across = ((X * NORMALS[labels]).sum(axis=1) - noise * rng.normal(size=3 * n))[:, None]
    X += CENTRES[labels] - across * NORMALS[labels]
    v = NORMALS[labels] * 0.1 * rng.choice([-1, 1], 3 * n)[:, None] + 0.01 * rng.normal(size=(3 * n, 3))
    return X, labels, v


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_planes_through_clouds_are_found(given, seed):
    X, labels, v = clouds(seed)
    model = HyperplaneMixture(n_sweeps=300).fit(X, directions=v if given else None)
    assert model.n_components_ == 3
    assert adjusted_rand_score(labels, model.labels_) > 0.97
    for normal, centre in zip(NORMALS, CENTRES, strict=True):
        j = np.argmin(np.linalg.norm(model.centres_ - centre, axis=1))
        assert abs(model.normals_[j] @ normal) > 0.999
        assert model.thickness_[j] < 0.1
    new, truth, _ = clouds(seed + 10)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.97


def test_a_given_number_of_planes():
    X, labels, v = clouds()
    model = HyperplaneMixture(3).fit(X, directions=v)
    assert model.n_components_ == 3
    assert not hasattr(model, "r_hat_")
    assert adjusted_rand_score(labels, model.fit_predict(X, directions=v)) > 0.97


def test_the_sign_of_directions_and_a_common_factor_play_no_part():
    X, _, v = clouds(n=30)
    one = HyperplaneMixture(n_sweeps=100).fit(X, directions=v)
    other = HyperplaneMixture(n_sweeps=100).fit(8 * X, directions=8 * v)
    assert np.array_equal(one.labels_, other.labels_)
    assert np.allclose(other.thickness_, 8 * one.thickness_)
    flip = np.where(np.arange(len(v)) % 2, 1.0, -1.0)[:, None]
    flipped = HyperplaneMixture(3).fit(X, directions=v * flip)
    assert adjusted_rand_score(flipped.labels_, HyperplaneMixture(3).fit(X, directions=v).labels_) > 0.95


def test_probabilities_are_those_of_normal_densities(rng):
    X, _, v = clouds()
    model = HyperplaneMixture(3).fit(X, directions=v)
    Z = X[:20] + 0.05 * rng.normal(size=(20, 3))
    joint = []
    for j in range(3):
        n = model.normals_[j]
        cov = model.spread_[j] ** 2 * (np.eye(3) - np.outer(n, n)) + model.thickness_[j] ** 2 * np.outer(n, n)
        joint.append(model.weights_[j] * multivariate_normal(model.centres_[j], cov).pdf(Z))
    joint = np.array(joint).T
    assert np.allclose(model.predict_proba(Z), joint / joint.sum(axis=1, keepdims=True), atol=1e-8)
    assert np.array_equal(model.predict(Z), joint.argmax(axis=1))
    heights = np.array([(Z - c) @ n for c, n in zip(model.centres_, model.normals_, strict=True)]).T
    assert np.allclose(model.distances(Z), heights)


def test_it_says_what_it_cannot_do(monkeypatch):
    X, _, v = clouds(n=10)
    assert_refused(lambda: HyperplaneMixture().fit(X, directions=v[:5]), "shape (5, 3)", "one direction for each point")
    assert_refused(lambda: HyperplaneMixture().fit(X, directions=0 * v), "all 0", "or None")
    assert_refused(lambda: HyperplaneMixture().fit(X, directions=np.where(v > 0, np.nan, v)), "NaN", "remove")
    assert_refused(lambda: HyperplaneMixture().fit(np.ones((5, 2))), "coincide", "points that differ")
    assert_refused(lambda: HyperplaneMixture(99).fit(X), "n_components=99", "give fewer")
    assert_refused(lambda: HyperplaneMixture(w_prior="auto").fit(X), "w_prior='auto'", "give a number")
    assert_refused(lambda: HyperplaneMixture(alpha=0.0).fit(X), "alpha=0.0", "> 0")
    with pytest.warns(ConvergenceWarning, match="raise n_sweeps=3"):
        HyperplaneMixture(n_sweeps=3).fit(X)
    with pytest.warns(SemimetricWarning, match=r"n_components=28 pieces were asked for"):
        HyperplaneMixture(28).fit(X)
    assert hyperplane_mixture._local_normals(X, 99, None).shape == X.shape


def test_points_that_coincide_are_one_among_the_neighbours():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (60, 3))
    points[:, 2] = 0.3 * rng.normal(size=60)
    found = _local_normals(np.repeat(points, 5, axis=0), 10, None)
    np.testing.assert_array_equal(found, np.repeat(_local_normals(points, 10, None), 5, axis=0))
