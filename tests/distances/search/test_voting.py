"""Votes count alike or by nearness, ties all count, and a weight is a repetition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import InputError
from semimetric.distances.search.votes import VoteRule, is_enough, neighbor_counts, shares, weighted_median

RULES = [
    VoteRule(3),
    VoteRule(3, "distance"),
    VoteRule(4, "kernel", 0.7),
    VoteRule(5, "kernel", 0.5, 2),
    VoteRule(2, "uniform", smoothing=0.5),
]


def slow_votes(rule, distances):
    """The weights of one query's neighbours, by the formulas of the module, one at a time."""
    last = sorted(distances)[min(rule.n_neighbors, len(distances)) - 1]
    nearest = min(distances)
    votes = []
    for d in distances:
        if d > last:
            votes.append(0.0)
        elif rule.weights == "uniform" or d == nearest:
            votes.append(1.0)
        elif rule.weights == "distance":
            votes.append(nearest / d)
        else:
            width = rule.bandwidth
            if rule.bandwidth_neighbor:
                width *= sorted(distances)[min(rule.bandwidth_neighbor, len(distances)) - 1]
            votes.append(np.exp(-(d - nearest) / width) if width else 0.0)
    return votes


@pytest.mark.parametrize("rule", RULES)
@given(distances=st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_votes_are_those_of_the_formulas(rule, distances):
    distances = np.sort(np.array(distances, dtype=float))
    assert_allclose(rule.votes(distances[None])[0], slow_votes(rule, distances.tolist()), atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@given(data=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=7))
def test_a_weight_is_a_repetition(rule, data):
    distances, labels, times = np.array(sorted(data)).T
    prior = np.array([0.5, 0.3, 0.2])
    d = distances.astype(float)
    one = rule.probabilities(d[None], labels[None], prior, times.astype(float)[None])
    many = rule.probabilities(np.repeat(d, times)[None], np.repeat(labels, times)[None], prior)
    assert_allclose(one, many, rtol=1e-9)
    values = labels * 1.5
    assert_allclose(
        rule.values(d[None], values[None], times.astype(float)[None]),
        rule.values(np.repeat(d, times)[None], np.repeat(values, times)[None]),
        rtol=1e-9,
    )


def test_all_that_are_tied_with_the_last_vote():
    coincide = np.zeros((1, 101))
    labels = (np.arange(101) % 4 == 0).astype(int)[None]
    for weights in ("uniform", "distance"):
        got = VoteRule(1, weights).probabilities(coincide, labels, np.array([0.5, 0.5]))
        assert_allclose(got, [[75 / 101, 26 / 101]])
    assert_array_equal(VoteRule(2).votes(np.array([[0.0, 1.0, 1.0, 1.0 + 1e-15, 2.0]])), [[1, 1, 1, 1, 0]])


def test_items_at_distance_zero_vote_alone_by_distance():
    assert_array_equal(VoteRule(3, "distance").votes(np.array([[0.0, 0.0, 3.0]])), [[1, 1, 0]])


def test_infinite_distances_count_alike_where_all_are():
    for rule in RULES:
        votes = rule.votes(np.array([[np.inf, np.inf], [1.0, np.inf]]))
        assert_allclose(votes[0], 1.0)
        assert votes[1, 0] == 1
        assert np.isfinite(votes).all()


def test_smoothing_leaves_no_class_without_a_share():
    p = VoteRule(2, smoothing=1.0).probabilities(np.array([[1.0, 2.0]]), np.array([[0, 0]]), np.array([0.5, 0.25, 0.25]))
    assert_allclose(p, [[2.5 / 3, 0.25 / 3, 0.25 / 3]])


def test_class_weights_multiply_votes():
    near = np.array([[1.0, 2.0, 3.0]]), np.array([[0, 0, 1]]), np.array([0.5, 0.5])
    assert_allclose(VoteRule(3).probabilities(*near, class_weight=np.array([1.0, 4.0])), [[1 / 3, 2 / 3]])


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=9).filter(lambda x: any(w for _, w in x))
)
def test_a_weighted_median_is_that_of_repeated_values(pairs):
    values, votes = np.array(pairs, dtype=float).T
    assert_allclose(weighted_median(values[None], votes[None]), np.median(np.repeat(values, votes.astype(int))))


def test_there_are_enough_neighbours_once_one_is_further_than_the_last_that_votes():
    distances = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 2.0]])
    assert_array_equal(is_enough(distances, 2), [True, False])
    assert_array_equal(is_enough(distances, 2, np.full((2, 3), 0.5)), [False, False])


def test_small_weights_are_as_if_the_largest_is_one():
    assert_allclose(neighbor_counts(np.array([0.1, 0.2])), [0.5, 1])
    assert_allclose(neighbor_counts(np.array([1.0, 3.0])), [1, 3])


def test_shares_are_counted_votes():
    assert_allclose(shares(np.array([[0, 1, 1], [2, 2, 2]]), 3), [[1 / 3, 2 / 3, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"weights": "even"}, "uniform"),
        ({"weights": "kernel"}, "a kernel has one"),
        ({"bandwidth": 1.0}, "other weights have none"),
        ({"weights": "kernel", "bandwidth": 0.0}, "bandwidth"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"average": "mode"}, "median"),
        ({"weights": "kernel", "bandwidth": 1.0, "bandwidth_neighbor": 0}, "bandwidth_neighbor"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        VoteRule(**arguments)


def test_rules_are_said_in_words():
    assert str(VoteRule(1)) == "votes of the nearest item, which count alike"
    assert str(VoteRule(5, "distance", smoothing=0.3)).endswith(
        "by 1 / distance, and 0.3 of a vote by the shares of the classes"
    )
    assert "exp(-(d - d_1) / 0.5 d_5)" in str(VoteRule(9, "kernel", 0.5, 5))
