"""Tests over many data sets: against SciPy, published tables, and what follows from exchanging the methods."""

from importlib import import_module

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, ttest_rel, wilcoxon


@pytest.fixture
def statistics():
    return import_module("rank_statistics")


@pytest.mark.parametrize("digits", [1, 8])
def test_friedman_is_that_of_scipy_with_and_without_ties(statistics, rng, digits):
    errors = np.round(rng.random((20, 5)), digits)
    expected = friedmanchisquare(*errors.T)
    np.testing.assert_allclose(statistics.friedman(errors), (expected.statistic, expected.pvalue), rtol=1e-10)


def test_equal_methods_are_not_told_apart(statistics):
    assert statistics.friedman(np.ones((5, 3))) == (0.0, 1.0)


def test_a_failure_ranks_last_and_failures_share_their_rank(statistics):
    errors = np.array([[0.2, np.inf, 0.1, np.inf], [0.3, 0.3, 0.1, 0.5]])
    np.testing.assert_array_equal(statistics.ranks(errors), [[2, 3.5, 1, 3.5], [2.5, 2.5, 1, 4]])


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (4, 2.569), (6, 2.850), (10, 3.164)])
def test_critical_differences_are_those_of_demsar_s_table(statistics, n_methods, q):
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert statistics.nemenyi(n_methods, 14) == pytest.approx(expected, rel=5e-4)


def test_signed_rank_is_that_of_scipy_and_does_not_mind_who_is_first(statistics, rng):
    ours, other = rng.random((2, 15))
    assert statistics.signed_rank(ours, other) == pytest.approx(wilcoxon(ours - other).pvalue)
    assert statistics.signed_rank(other, ours) == pytest.approx(statistics.signed_rank(ours, other))
    assert statistics.signed_rank(ours, ours.copy()) == 1.0


def test_rounding_makes_no_difference(statistics):
    assert statistics.signed_rank(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.5])) == 1.0


def test_bayesian_probabilities_sum_to_one_and_exchange_with_the_methods(statistics, rng):
    ours, other = rng.random((2, 12))
    lower, same, higher = statistics.bayesian_signed_rank(ours, other)
    assert lower + same + higher == pytest.approx(1)
    assert statistics.bayesian_signed_rank(other, ours) == pytest.approx((higher, same, lower))


def test_bayesian_probabilities_are_sure_where_all_sets_agree(statistics):
    ours = np.linspace(0.1, 0.4, 20)
    assert statistics.bayesian_signed_rank(ours, ours + 0.05)[0] > 0.99
    assert statistics.bayesian_signed_rank(ours, ours + 0.001)[1] > 0.99
    assert statistics.bayesian_signed_rank(ours, ours - 0.05)[2] > 0.99


def test_one_set_out_of_two_proves_nothing(statistics):
    lower, _, higher = statistics.bayesian_signed_rank(np.array([0.1, 0.3]), np.array([0.3, 0.1]))
    assert lower == pytest.approx(higher, abs=0.03)


def test_bayesian_probabilities_are_those_of_the_loop(statistics, rng):
    ours, other = rng.random((2, 5))
    z, draws = np.concatenate([[0.0], other - ours]), 200
    counts = np.zeros(3)
    for w in np.random.default_rng(0).dirichlet(np.ones(len(z)), draws):
        masses = np.zeros(3)
        for i in range(len(z)):
            for j in range(len(z)):
                middle = (z[i] + z[j]) / 2
                masses[0 if middle > 0.1 else 2 if middle < -0.1 else 1] += w[i] * w[j]
        counts[masses.argmax()] += 1
    found = statistics.bayesian_signed_rank(ours, other, rope=0.1, draws=draws)
    np.testing.assert_allclose(found, counts / draws)


def test_overlapping_splits_make_the_test_more_careful_than_a_paired_one(statistics, rng):
    other = rng.random(8)
    ours = other + 0.02 + 0.02 * rng.random(8)
    paired = ttest_rel(ours, other, alternative="greater").pvalue
    assert paired < statistics.significance(ours, other) < 0.5 < statistics.significance(other, ours)


def test_one_split_and_equal_errors_are_never_significant(statistics):
    assert statistics.significance(np.array([0.5]), np.array([0.1])) == 1.0
    assert statistics.significance(np.array([0.5, 0.5]), np.array([0.1, 0.1])) == 1.0


def test_ranks_are_those_of_scipy_on_every_set(statistics, rng):
    errors = np.round(rng.random((6, 4)), 1)
    np.testing.assert_array_equal(statistics.ranks(errors), [rankdata(row) for row in errors])
