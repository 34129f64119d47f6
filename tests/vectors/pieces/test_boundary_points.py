import cases
import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from sklearn.neighbors import KNeighborsClassifier
from strategies import labelled_items

from semimetric import BoundaryPoints, DistanceRegressor, InputError, NeighborIndex, SemimetricWarning
from semimetric.datasets.planar import make_horseshoe

TWO = labelled_items(n_classes=2)


def nearest(x, items):
    return np.sqrt(((items[None] - x[:, None]) ** 2).sum(axis=2)).min(axis=1)


@given(TWO)
def test_property_1_between_an_item_and_its_negative_support_point_that_one_is_the_nearest(made):
    X, y = made
    found = BoundaryPoints().fit(X, y)
    for i in range(len(X)):
        s = X[found.pairs_[found.boundary_of_[i], y[i]]]  # of the other class: column 0 is positive
        others = X[y != y[i]]
        way = s + np.linspace(0, 1, 9)[:, None] * (X[i] - s)
        assert np.allclose(nearest(way, others), np.linalg.norm(way - s, axis=1))


@given(TWO)
def test_property_2_the_edge_point_is_where_the_nearest_neighbour_changes(made):
    X, y = made
    found = BoundaryPoints().fit(X, y)
    e = found.edge_points_
    assert np.allclose(nearest(e, X[y == 0]), nearest(e, X[y == 1]))
    for i in range(len(X)):
        s = X[found.pairs_[found.boundary_of_[i], y[i]]]
        for step, own in ((-0.05, False), (0.05, True)):  # one crossing: all before are the other class's, all behind its own
            at = e[i] + step * (X[i] - s)
            closer = nearest(at[None], X[y == y[i]]) < nearest(at[None], X[y != y[i]])
            assert bool(closer[0]) == own


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@given(labelled_items(n_classes=2, apart=False))
def test_what_is_kept_is_consistent(made):
    X, y = made
    try:
        found = BoundaryPoints().fit(X, y)
    except InputError:
        assert len(np.unique(X, axis=0)) < len(X)  # contradictions left one class
        return
    plus, minus = X[found.pairs_[:, 0]], X[found.pairs_[:, 1]]
    assert (y[found.pairs_] == [1, 0]).all()
    assert np.array_equal(found.boundary_points_, (plus + minus) / 2)
    assert np.array_equal(found.directions_, plus - minus)
    assert found.multiplicities_.sum() == len(X)
    assert set(found.pairs_.ravel()) == set(found.support_)
    assert set(found.self_support_) <= set(found.support_)
    assert found.support_share_ == len(found.support_) / len(X)


@given(TWO)
def test_the_order_of_items_and_a_common_factor_play_no_part(made):
    X, y = made
    found, order = BoundaryPoints().fit(X, y), np.random.default_rng(0).permutation(len(X))
    again = BoundaryPoints().fit(X[order] * 2.0**900, y[order])
    assert np.array_equal(again.boundary_points_, found.boundary_points_ * 2.0**900)
    assert np.array_equal(again.multiplicities_, found.multiplicities_)
    assert np.array_equal(order[again.pairs_], found.pairs_)


def test_components_far_from_the_surface_leave_the_support_points_as_they_are():
    X, y = make_horseshoe()
    found = BoundaryPoints().fit(X, y)
    middle, rng = X[y == 1][:, 0].mean(), np.random.default_rng(0)
    centres = [(middle, 0.35), (0.4, 4.6), (middle, 4.6), (2 * middle - 0.4, 4.6), (0.3, 2.0)]  # Fig. 3(d): one negative
    more = np.concatenate([rng.normal(c, 0.06, (60, 2)) for c in centres])
    both = BoundaryPoints().fit(np.concatenate([X, more]), np.append(y, np.repeat([0, 1], [60, 240])))
    assert np.array_equal(both.support_, found.support_)
    assert np.array_equal(both.boundary_points_, found.boundary_points_)
    assert both.multiplicities_.sum() == found.multiplicities_.sum() + 300


def test_blocks_over_threads_change_nothing(rng):
    X = rng.normal(size=(700, 3))
    y = (X[:, 0] > 0).astype(int)
    one, two = (BoundaryPoints(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.pairs_, two.pairs_)


def test_contradictory_items_get_the_class_of_most():
    X, y = [[0.0], [0.0], [0.0], [1.0], [3.0], [3.0]], [1, 0, 0, 1, 1, 0]
    with pytest.warns(SemimetricWarning, match=r"5 items at 2 places belong to several classes there"):
        found = BoundaryPoints().fit(X, y)
    assert found.boundary_points_.ravel().tolist() == [0.5, 2.0]
    assert found.pairs_.tolist() == [[3, 1], [3, 5]]  # of one positive and one negative item the place is negative
    with pytest.warns(SemimetricWarning), pytest.raises(ValueError, match="one class is left"):
        BoundaryPoints().fit([[0.0], [0.0]], [0, 1])


def test_one_item_a_class_constant_features_and_tiny_values():
    found = BoundaryPoints().fit([[1.0, 7.0], [2.0, 7.0]], ["a", "b"])
    assert found.boundary_points_.tolist() == [[1.5, 7.0]]
    assert found.directions_.tolist() == [[1.0, 0.0]]
    tiny = BoundaryPoints().fit(np.array([[0.0], [1e-300], [2e-300], [1e-299]]), [0, 0, 1, 1])
    assert tiny.pairs_.tolist() == [[2, 1]]


def test_a_learned_distance_may_choose_the_nearest_opposite():
    rng = np.random.default_rng(0)
    X, index = rng.random((80, 2)), rng.integers(0, 80, (800, 2))
    distances = np.abs(X[index[:, 0], 0] - X[index[:, 1], 0]) + 1e-3 * np.abs(X[index[:, 0], 1] - X[index[:, 1], 1])
    d = DistanceRegressor(n_knots=3, alpha=1e-6, preprocessor=X).fit(index, distances).semimetric_
    y = (X[:, 1] > 0.5).astype(int)
    found = BoundaryPoints(neighbors=NeighborIndex(d)).fit(X, y)
    for i in range(80):
        others = np.flatnonzero(y != y[i])
        s = found.pairs_[found.boundary_of_[i], y[i]]
        assert d(X[i], X[s]) == pytest.approx(d.pairwise(X[i : i + 1], X[others]).min())
    assert_refused(
        lambda: BoundaryPoints(neighbors=NeighborIndex(d)).fit(X[:, :1], y), "X has 1 features", "2 features are required"
    )
    assert_refused(
        lambda: BoundaryPoints(neighbors="l2").fit(X, y), "neighbors='l2'", "an unfitted estimator", "None for Euclid"
    )


def test_other_classes_are_refused():
    X, _, _ = cases.sample()
    assert_refused(
        lambda: BoundaryPoints().fit(X, np.zeros(len(X))), "one class only, 0.0;", "two classes are required", "add some"
    )
    assert_refused(lambda: BoundaryPoints().fit(X, np.arange(len(X)) % 3), "3 classes", "two are required", "(y == one)")
    assert_refused(lambda: BoundaryPoints().fit(X, None), "y is None", "requires y")


def test_nearest_neighbours_agree_on_the_edge(rng):
    """Beside the edge point the classifier with all items answers as it should."""
    X, y = make_horseshoe(120, 80)
    found = BoundaryPoints().fit(X, y)
    vote = KNeighborsClassifier(1).fit(X, y)
    ends = X[found.pairs_[found.boundary_of_, y]]
    assert (vote.predict(found.edge_points_ + 1e-6 * (X - ends)) == y).all()
    assert (vote.predict(found.edge_points_ - 1e-6 * (X - ends)) == 1 - y).all()
