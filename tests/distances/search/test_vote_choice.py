"""The chosen votes are those with the least loss, found the slow way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semimetric import InputError
from semimetric.distances.search.votes import (
    HeldOutNeighbors,
    VoteLosses,
    VoteRule,
    choose_value_votes,
    choose_votes,
    vote_losses,
)

PRIOR = np.array([0.5, 0.3, 0.2])


def held_out(rng, n=40, k=30, *, values=False, weighted=False):
    """Neighbours of which near ones are likelier to be of the same class."""
    distances = np.sort(np.round(rng.random((n, k)), 2), axis=1)
    labels = rng.integers(0, 3, n)
    other = rng.integers(0, 3, (n, k))
    neighbors = np.where(rng.random((n, k)) < 1 - distances, labels[:, None], other)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    counts = rng.integers(1, 3, (n, k)).astype(float) if weighted else None
    if values:
        return HeldOutNeighbors(distances, neighbors + rng.normal(size=(n, k)), labels * 1.0, weight, None, counts)
    return HeldOutNeighbors(distances, neighbors, labels, weight, PRIOR, counts)


def slow_losses(part, rule):
    """Weighted share of errors, and log loss, one query at a time."""
    errors, logs = [], []
    for i, label in enumerate(part.targets):
        counts = None if part.neighbor_weight is None else part.neighbor_weight[i][None]
        p = rule.probabilities(part.distances[i][None], part.neighbor_targets[i][None], PRIOR, counts, part.class_weight)[0]
        errors.append(p.argmax() != label)
        logs.append(-np.log(max(p[label], 1e-6)))
    return np.average(errors, weights=part.weight), np.average(logs, weights=part.weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_each_query(rng, weighted):
    part = held_out(rng, weighted=weighted)
    rules = [VoteRule(3), VoteRule(9, "distance"), VoteRule(30, "kernel", 0.1), VoteRule(30, "kernel", 0.5, 5)]
    error, log_loss = vote_losses(part, rules, (0.1, 1.0))
    for r, rule in enumerate(rules):
        for a, smoothing in enumerate((0.1, 1.0)):
            given = {name: getattr(rule, name) for name in ("n_neighbors", "weights", "bandwidth", "bandwidth_neighbor")}
            assert_allclose((error[r, a], log_loss[r, a]), slow_losses(part, VoteRule(**given, smoothing=smoothing)))


@pytest.mark.parametrize("weighted", [False, True])
def test_no_other_rule_is_better_than_the_chosen_one(rng, weighted):
    parts = [held_out(rng, weighted=weighted), held_out(rng, n=20, weighted=weighted)]
    rule, losses = choose_votes(parts, weights="uniform")
    assert isinstance(losses, VoteLosses)
    assert_allclose(np.array(losses), np.array([slow_losses(part, rule) for part in parts]).T, rtol=1e-9)
    score = sum(np.mean(loss) for loss in losses)
    for k in (1, 3, 5, 9, 15, 25):
        for smoothing in (0.03, 0.1, 0.3, 1.0):
            other = [sum(slow_losses(part, VoteRule(k, smoothing=smoothing))) for part in parts]
            assert score <= np.mean(other) + 1e-12


def test_what_is_given_is_not_chosen(rng):
    part = held_out(rng)
    assert choose_votes([part], 7)[0].n_neighbors == 7
    assert choose_votes([part], "auto", "distance")[0].weights == "distance"
    rule = choose_votes([part], 7, "kernel")[0]
    assert (rule.n_neighbors, rule.weights) == (7, "kernel")
    with pytest.raises(InputError, match="uniform"):
        choose_votes([part], weights="even")


def test_many_neighbours_vote_where_distances_say_nothing(rng):
    labels = rng.choice(3, 300, p=PRIOR)
    part = HeldOutNeighbors(
        np.sort(rng.random((300, 100)), axis=1), rng.choice(3, (300, 100), p=PRIOR), labels, np.ones(300), PRIOR
    )
    assert choose_votes([part])[0].n_neighbors >= 45


def test_the_nearest_alone_votes_where_it_is_always_right(rng):
    labels = rng.integers(0, 3, 200)
    neighbors = rng.integers(0, 3, (200, 50))
    neighbors[:, 0] = labels
    part = HeldOutNeighbors(np.cumsum(rng.random((200, 50)), axis=1), neighbors, labels, np.ones(200), PRIOR)
    rule, losses = choose_votes([part])
    assert losses.error[0] == 0
    assert rule.votes(part.distances)[:, 0].sum() / rule.votes(part.distances).sum() > 0.5


def test_a_kernel_asks_for_no_more_neighbours_than_vote(rng):
    labels = rng.integers(0, 3, 200)
    distances = np.tile(np.r_[0.1, 0.11, np.linspace(5, 9, 98)], (200, 1))
    neighbors = np.where(np.arange(100) < 2, labels[:, None], rng.integers(0, 3, (200, 100)))
    rule, _ = choose_votes([HeldOutNeighbors(distances, neighbors, labels, np.ones(200), PRIOR)], weights="kernel")
    assert rule.n_neighbors <= 5


@pytest.mark.parametrize("average", ["mean", "median"])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_voted_on_with_the_least_error(rng, average, weighted):
    parts = [held_out(rng, values=True, weighted=weighted) for _ in range(2)]
    rule, losses = choose_value_votes(parts, average=average, weights="uniform")
    for k in (1, 3, 5, 9, 15, 25):
        other = VoteRule(k, average=average)
        for part, loss in zip(parts, losses, strict=True):
            errors = np.abs(rule.values(part.distances, part.neighbor_targets, part.neighbor_weight) - part.targets)
            assert_allclose(loss, np.average(errors if average == "median" else errors**2, weights=part.weight))
        theirs = [
            np.average(
                np.abs(other.values(p.distances, p.neighbor_targets, p.neighbor_weight) - p.targets)
                ** (1 if average == "median" else 2),
                weights=p.weight,
            )
            for p in parts
        ]
        assert np.mean(losses) <= np.mean(theirs) + 1e-12


def test_all_infinite_distances_still_have_a_rule(rng):
    part = held_out(rng)
    infinite = HeldOutNeighbors(np.full((40, 30), np.inf), part.neighbor_targets, part.targets, part.weight, PRIOR)
    assert np.isfinite(choose_votes([infinite])[1].log_loss).all()
