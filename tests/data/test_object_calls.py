"""Calls of a distance of objects: values, what is known without a call, and failures in threads and processes."""

import numpy as np
import pytest
from cases import assert_refused
from joblib import parallel_config

from semimetric import DistanceCallError
from semimetric._foundation.types import Pairs
from semimetric.data.calls import UserDistance, counted_calls

WORDS = ["a" * k for k in (5, 3, 8, 1, 9, 2)] * 20
INDEX = np.random.default_rng(0).integers(0, len(WORDS), (900, 2))
PAIRS = Pairs(np.empty((0, 0)), INDEX)
TRUE = np.array([abs(len(WORDS[i]) - len(WORDS[j])) for i, j in INDEX], dtype=float)


def lengths(x, y):
    return abs(len(x) - len(y))


class Unsendable(Exception):
    """An error that no pickle holds whole."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def picky(x, y):
    if len(x) == 9:
        raise Unsendable("nine", "letters")
    return lengths(x, y)


@pytest.mark.parametrize("backend", ["threads", "processes"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_values_are_in_the_order_of_pairs(n_jobs, backend):
    with counted_calls() as count:
        calls = UserDistance(lengths, objects=WORDS, backend=backend)
        np.testing.assert_array_equal(calls.evaluate(PAIRS, n_jobs=n_jobs), TRUE)
    assert calls.calls.n == count.n == 900
    assert calls.evaluate(Pairs(np.empty((0, 0)), INDEX[:0])).shape == (0,)
    assert count.n == 900  # which is no longer counted


def test_a_configuration_of_joblib_says_where_calls_run():
    with parallel_config(backend="loky"):
        np.testing.assert_array_equal(UserDistance(lengths, objects=WORDS).evaluate(PAIRS, n_jobs=2), TRUE)


def test_two_sequences_and_known_distances():
    def known(index):
        return np.where(index[:, 0] % 2 == 0, 77.0, np.nan)

    calls = UserDistance(lengths, objects=WORDS, others=WORDS[::-1], known=known)
    found = calls.evaluate(PAIRS)
    want = [77.0 if i % 2 == 0 else abs(len(WORDS[i]) - len(WORDS[-1 - j])) for i, j in INDEX]
    np.testing.assert_array_equal(found, want)
    assert calls.calls.n == (INDEX[:, 0] % 2 == 1).sum()


@pytest.mark.parametrize("backend", ["threads", "processes"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_of_any_kind_comes_back_with_its_pair(n_jobs, backend):
    calls = UserDistance(picky, objects=WORDS, backend=backend)
    error = assert_refused(
        lambda: calls.evaluate(PAIRS, n_jobs=n_jobs), "Unsendable: nine and letters", "A finite number", error=DistanceCallError
    )
    first = next(k for k, (i, _) in enumerate(INDEX) if len(WORDS[i]) == 9)
    assert error.pair == tuple(INDEX[first])
    np.testing.assert_array_equal(error.distances, TRUE[:first])


def test_signed_distances_are_taken_where_they_are_asked_for():
    calls = UserDistance(lambda x, y: len(x) - len(y), objects=WORDS)
    found = calls.evaluate(PAIRS, nonnegative=False)
    assert (found < 0).any()
    features = np.array([[float(len(w))] for w in WORDS])
    answers = calls.first_answers(features)
    assert (answers.there == -answers.back).all()
    assert (answers.there == answers.again).all()
    assert UserDistance(picky, objects=WORDS).first_answers(features) is None
