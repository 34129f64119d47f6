"""Factors are those of SciPy, at every size, and Ctrl-C does not wait for large ones."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.linalg import LinAlgError, cho_factor

from semimetric.distances.solvers import box_quadratic as factorization
from semimetric.distances.solvers.box_quadratic import factorize


def positive(n):
    A = np.random.default_rng(0).random((n, n))
    return A @ A.T + np.eye(n)


@pytest.fixture(params=[False, True], ids=["small", "large"], autouse=True)
def large(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(factorization, "_LARGE", 0)
    return request.param


def test_the_factor_is_that_of_scipy():
    H = positive(30)
    assert_array_equal(np.triu(factorize(H.copy())[0]), np.triu(cho_factor(H)[0]))  # below may stand anything


def test_what_is_not_positive_definite_is_refused():
    with pytest.raises(LinAlgError):
        factorize(-positive(5))


def test_a_large_matrix_is_left_to_another_thread(large, monkeypatch):
    threads = []
    monkeypatch.setattr(factorization, "cho_factor", lambda *_, **__: threads.append(threading.current_thread()))
    factorize(positive(5))
    assert (threads == [threading.main_thread()]) != large
