import numpy as np
import pytest
from cases import assert_refused
from sklearn.svm import SVC

from semimetric import SemimetricWarning
from semimetric.vectors.pieces.two_classes import class_pairs, split_classes, votes_of_pairs


def test_pairs_hold_the_items_of_their_two_classes_and_their_places(rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    problems = split_classes(X, y, np.arange(4), "ovo")
    assert len(problems) == 6
    for (negative, positive), problem in zip(class_pairs(4), problems, strict=True):
        assert np.array_equal(problem.rows, np.flatnonzero((y == negative) | (y == positive)))
        assert np.array_equal(problem.items, X[problem.rows])
        assert np.array_equal(problem.positive, y[problem.rows] == positive)
        assert np.array_equal(problem.items[problem.places.rows], problem.places.points)
        assert np.array_equal(problem.places.codes, problem.positive[problem.places.rows])


def test_an_item_of_a_third_class_at_a_shared_place_is_left_out_of_a_pair():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [2.5]])
    y = np.array([0, 0, 2, 1, 2, 2])
    with pytest.warns(SemimetricWarning, match="belong to several classes"):
        first, second, third = split_classes(X, y, np.arange(3), "ovo")
    assert first.rows.tolist() == [0, 1, 3]
    assert second.rows.tolist() == [0, 1, 2, 4, 5]  # of two classes, of which one has the place
    assert third.rows.tolist() == [3, 4, 5]
    with pytest.warns(SemimetricWarning):
        rest = split_classes(X, y, np.arange(3), "ovr")
    assert [problem.places.codes.tolist() for problem in rest] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_a_class_without_a_place_of_its_own_is_refused(multi_class):
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [2.0]]), np.array([0, 0, 1, 2, 0])
    split = lambda: split_classes(X, y, np.array(["a", "b", "c"]), multi_class)  # noqa: E731
    assert_refused(split, "every item of the class 'b'", "a place of its own", "remove the items that are wrong")


def test_votes_are_those_of_scikit_learn(rng):
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 4, 80)
    machine = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    pairs = machine.decision_function(X)
    votes = votes_of_pairs(-pairs, np.ones(6), 4)  # scikit-learn's first class of a pair is the positive one
    machine.decision_function_shape = "ovr"
    assert np.allclose(votes, machine.decision_function(X))
    assert np.allclose(votes_of_pairs(-8 * pairs, np.full(6, 8.0), 4), votes)


def test_distances_beyond_all_bounds_leave_the_votes():
    far = np.array([[1e308, 1e308, -1e308]])
    votes = votes_of_pairs(far, np.full(3, 1e-3), 3)
    assert np.array_equal(np.round(votes), [[0, 2, 1]])
    assert votes.argmax() == 1
