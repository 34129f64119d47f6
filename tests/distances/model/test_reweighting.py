import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import NotSupportedError, Semimetric
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding


@pytest.mark.parametrize("name", ["base", "pairs"])
def test_terms_are_so_many_times_as_large(name):
    d = cases.fitted(name)[0].semimetric_
    factors = {term: 1.0 + k for k, term in enumerate(d.terms[:-1])}
    other = d.reweighted(factors)
    x, y = np.random.default_rng(0).random((2, 30, d.n_features))
    low, high = d.embedding.grid.low[: d.n_features], d.embedding.grid.high[: d.n_features]
    x, y = (np.clip(low + v * (high - low), low, high) for v in (x, y))
    before, after = d.contributions(x, y), other.contributions(x, y)
    np.testing.assert_allclose(after[:, :-1], before[:, :-1] * np.array(list(factors.values())), rtol=1e-12)
    assert other.terms == d.terms


def test_beyond_the_range_a_feature_counts_as_much_more_as_within():
    d = Semimetric.l1([[0.0, 0.0, 5.0], [1.0, 2.0, 5.0]])
    e = d.reweighted({"x0": 3, "x1": 0, "x2": 2})
    assert e([-9.0, -7.0, 5.0], [11.0, 8.0, 6.0]) == 3 * 20 + 2
    assert (d.axioms.name, e.axioms.name) == ("metric", "pseudometric")


def test_an_unchanged_distance_is_the_same():
    d = cases.fitted("pairs")[0].semimetric_
    X = np.random.default_rng(1).normal(size=(20, d.n_features))
    np.testing.assert_array_equal(d.reweighted({}).pairwise(X), d.pairwise(X))


def test_values_of_tables_too_large_to_hold_are_reweighted_too():
    table = [[f"city {k}", float(k % 50)] for k in range(1100)]
    d = Semimetric.gower(table, categorical_features=[0]).reweighted({"x0": 4})
    assert d(table[0], table[1]) == pytest.approx(2.0 + 0.5 / 25)


def test_groups_that_share_such_values_need_one_factor():
    whole = PairEmbedding(Grid([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]), [(0, 1), (1, 2)])
    touched = whole.restricted([v.keys[:2] for v in whole.vertices], np.ones(3))
    d = Semimetric(touched, np.ones(touched.n_columns), np.zeros(3), ("a", "b", "c"))
    twice, x, y = d.reweighted({"a * b": 2, "b * c": 2}), [0.2, 1.7, 0.4], [0.9, 0.3, 2.0]
    assert twice(x, y) == pytest.approx(2 * d(x, y))
    with pytest.raises(NotSupportedError, match="one factor"):
        d.reweighted({"a * b": 2})


def test_unknown_terms_and_bad_factors_are_refused():
    d = Semimetric.l1([[0.0, 0.0], [1.0, 2.0]])
    assert_refused(lambda: d.reweighted({"age": 2}), "'age'", "x0, x1", "correct")
    assert_refused(lambda: d.reweighted({"x0": -1}), "factors['x0']", ">= 0")
