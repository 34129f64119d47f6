import numpy as np
import pytest
from cases import assert_refused

from semimetric import StorageError
from semimetric.vectors.pieces.piece_choice import (
    PieceChoice,
    PieceMachine,
    PieceOptions,
    choose_pieces,
    machines_to_try,
    options_to_try,
)
from semimetric.vectors.pieces.two_classes import split_classes

WAYS = options_to_try("auto", None, "svm")
PLANES = machines_to_try("auto", "auto", "plane")


def choice_with(errors, pieces, n=200, n_classes=2, machines=PLANES):
    """The choice where each candidate is wrong on so many items of every problem, and each option has so many pieces."""
    X = np.arange(float(n))[:, None]
    y = (np.arange(n) % n_classes).astype(np.int64)
    problems = split_classes(X, y, np.arange(n_classes), "ovo")
    seen = []

    def evaluate(problem, others, options, given):
        assert len(errors) == len(options) * len(given)
        seen.append((problem, others))
        known = dict(zip(problem.items[:, 0] % n_classes, problem.positive, strict=True))
        truth = np.where([known[k] for k in others[:, 0] % n_classes], 1.0, -1.0)
        return np.array([np.where(others[:, 0] < count, -truth, truth) for count in errors]), np.array(pieces, dtype=float)

    return choose_pieces(problems, WAYS, machines, evaluate, random_state=0), seen


@pytest.mark.parametrize(
    ("errors", "chosen"),
    [((20, 20, 20, 20), 0), ((20, 18, 20, 20), 0), ((40, 10, 12, 30), 1), ((40, 30, 5, 30), 2), ((0, 10, 10, 10), 0)],
)
def test_the_fewest_pieces_within_the_error(errors, chosen):
    choice, _ = choice_with(errors, (1, 2, 3, 4))
    assert choice.chosen == chosen
    assert choice.one_piece == (chosen == 0)
    assert np.allclose(choice.accuracy, 1 - np.array(errors) / 200)
    assert np.allclose(choice.n_components, (1, 2, 3, 4))


def test_of_machines_for_as_few_pieces_the_most_accurate_is_taken():
    machines = [PieceMachine(1.0, 1.0), PieceMachine(10.0, 1.0), PieceMachine(100.0, 1.5)]
    choice, _ = choice_with((50, 50, 50, 9, 7, 8, 6, 6, 6, 5, 5, 5), (1, 3, 6, 9), machines=machines)
    assert (choice.n_components[choice.chosen], choice.C[choice.chosen], choice.overlap[choice.chosen]) == (3, 10.0, 1.0)


def test_a_few_errors_of_each_pair_are_many_of_all_together():
    """Two more errors on the 40 items of a pair prove nothing; of ten pairs together they do."""
    errors, pieces = (3, 1, 1, 1), (1, 2, 2, 2)
    assert choice_with(errors, pieces, n=40)[0].chosen == 0
    choice, seen = choice_with((10, 2, 2, 2), pieces, n=100, n_classes=5)
    assert len(seen) == 10 * 5
    assert choice.chosen == 1
    assert np.allclose(choice.n_components, (10, 20, 20, 20))
    assert np.allclose(choice.accuracy, 1 - np.array((10, 2, 2, 2)) * 4 / 400)


def test_a_fold_learns_from_what_it_does_not_judge():
    for n_classes in (2, 3):
        _, seen = choice_with((0, 0, 0, 0), (1, 1, 1, 1), n_classes=n_classes)
        assert len(seen) == 5 * n_classes * (n_classes - 1) // 2
        for problem, others in seen:
            places = problem.places
            assert not set(problem.items[:, 0]) & set(others[:, 0])
            assert len(problem.items) + len(others) == pytest.approx(200 * 2 / n_classes, abs=1)
            assert np.array_equal(problem.items[places.rows], places.points)
            assert np.array_equal(places.points[places.place_of_item], problem.items)
            assert np.array_equal(problem.positive[places.rows], places.codes)


def test_what_is_given_is_not_chosen():
    assert options_to_try("auto", 3, "svm") == [PieceOptions(1000.0)]
    assert options_to_try(30.0, None, "svm") == [PieceOptions(30.0)]
    assert options_to_try("precision", None, "plane") == [PieceOptions("precision")]
    assert [option.n_groups for option in options_to_try(30.0, "auto", "svm")] == [1, 0, 6, 10, 16, 24]
    assert [option.n_groups for option in options_to_try("auto", "auto", "plane")] == [1, 0, 0, 0]
    assert machines_to_try(10.0, 1.0, "svm") == [PieceMachine(10.0, 1.0)]
    assert [m.overlap for m in machines_to_try(10.0, "auto", "svm")] == [1.0, 1.5]
    assert [m.C for m in machines_to_try("auto", 1.2, "svm")] == [1.0, 10.0, 100.0]


def test_a_choice_that_disagrees_with_itself_is_refused():
    one, whole = np.ones(4), np.ones(4, dtype=np.int64)
    PieceChoice(whole, one, one, one, one, one, one, 3).check()
    short = PieceChoice(whole, one, one, one, one[:2], one, one, 0)
    assert_refused(short.check, "float64 of shape (2,)", "shape (4,) is required", "restore the file", StorageError)
    beyond = PieceChoice(whole, one, one, one, one, one, one, 4)
    assert_refused(beyond.check, "candidate 4 of 4 is to be the chosen one", "restore the file")


def test_copies_of_items_narrow_no_standard_error():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    options, machines = options_to_try("auto", "auto", "svm")[:3], machines_to_try(1.0, 1.0, "svm")

    def evaluate(_, items, options, machines):
        decisions = [items[:, 0] + 0.5 * k * np.sin(9 * items[:, 1]) for k in range(len(options) * len(machines))]
        return np.array(decisions), np.arange(1.0, 1 + len(options))

    found = []
    for times in (1, 8):
        (problem,) = split_classes(np.repeat(X, times, axis=0), np.repeat(y, times), np.arange(2), "ovo")
        found.append(choose_pieces([problem], options, machines, evaluate, random_state=0))
    np.testing.assert_allclose(found[1].accuracy, found[0].accuracy, rtol=1e-12)
    np.testing.assert_allclose(found[1].standard_error, found[0].standard_error, rtol=1e-12)
