"""One table of all features is the sum of equal tables of single features, in every product, prior and penalty."""

import numpy as np
import pytest
import reference
from cases import PENALTIES
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from semimetric import InputError
from semimetric.data.grid import Grid
from semimetric.distances.learning.prior import L1Prior
from semimetric.distances.learning.program import columns_of
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.shared_table import SharedTable
from semimetric.distances.programs.penalties import total

FORMS = {
    "symmetric": {},
    "asymmetric": {"symmetry": "none"},
    "with diagonal": {"symmetry": "none", "zero_diagonal": False},
}
every_form = pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)


def problem(seed, options, factors=False):
    """A shared table of some features, its weights, and items of which some lie at knots and some outside of them."""
    rng = np.random.default_rng(seed)
    knots = np.unique(rng.integers(0, 12, rng.integers(2, 7)).astype(float))
    if len(knots) == 1:
        knots = np.append(knots, knots[0] + 1.0)
    n_features = int(rng.integers(1, 5))
    items = rng.uniform(knots[0] - 1.0, knots[-1] + 1.0, (8, n_features))
    items[rng.random(items.shape) < 0.3] = rng.choice(knots)
    if factors:
        low, width = rng.normal(size=n_features), rng.uniform(0.1, 9.0, n_features)
        shared = SharedTable(Grid([a + b * knots for a, b in zip(low, width, strict=True)]), rng.random(n_features), **options)
        return shared, rng.random(shared.n_columns), low + width * items, rng.integers(0, 8, (20, 2))
    shared = SharedTable(Grid([knots] * n_features), **options)
    return shared, rng.random(shared.n_columns), items, rng.integers(0, 8, (20, 2))


@every_form
@given(seed=st.integers(0, 2**32 - 1), factors=st.booleans())
def test_a_row_is_the_sum_of_the_rows_of_the_features(options, seed, factors):
    shared, w, items, pairs = problem(seed, options, factors)
    located, (i, j) = shared.locate(items), pairs.T
    whole, wide = shared.expanded(w)
    assert isinstance(whole, PairEmbedding)
    want = whole.rows(whole.locate(items), i, whole.locate(items), j).matvec(wide)
    rows = shared.rows(located, i, located, j)
    assert_allclose(rows.matvec(w), want, rtol=1e-12, atol=1e-12)
    assert_allclose(rows.csr(shared.n_columns) @ w, want, rtol=1e-12, atol=1e-12)
    assert_allclose(shared.contributions(located, i, located, j, w).sum(axis=1), want, rtol=1e-12, atol=1e-12)
    assert_allclose(shared.pairwise(located, located, w)[i, j], want, rtol=1e-12, atol=1e-12)


@every_form
def test_a_row_is_that_of_a_slow_twin(options):
    shared, w, items, pairs = problem(3, options)
    knots, (table,) = shared.grid.knots, shared.tables(w)
    items = np.clip(items, knots[0][0], knots[0][-1])
    located, (i, j) = shared.locate(items), pairs.T
    want = [reference.distance(items[a], items[b], knots, {(f,): table.values for f in range(len(knots))}) for a, b in pairs]
    assert_allclose(shared.rows(located, i, located, j).matvec(w), want, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_prior_is_l1_with_the_mean_slope(seed):
    shared, _, items, pairs = problem(seed, {})
    inside = np.clip(items, shared.grid.low, shared.grid.high)
    slopes = np.random.default_rng(seed).random(shared.n_sharing)
    located, (i, j) = shared.locate(inside), pairs.T
    got = shared.rows(located, i, located, j).matvec(shared.prior(slopes))
    assert_allclose(got, slopes.mean() * np.abs(inside[i] - inside[j]).sum(axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PENALTIES)
@given(seed=st.integers(0, 2**32 - 1))
def test_penalties_are_those_of_equal_tables(name, seed):
    """A penalty of F equal tables is that of the table: strengths mean the same in both forms."""
    shared, w, _, _ = problem(seed, {})
    whole, wide = shared.expanded(w)
    prior = L1Prior(np.full(shared.n_sharing, 0.3), np.full(shared.n_sharing, 0.7))
    of_shared, of_whole = (total(PENALTIES[name], columns_of(e, prior)) for e in (shared, whole))
    assert of_shared.value(w) == pytest.approx(of_whole.value(wide), rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_with_factors_the_prior_has_the_mean_rise_across_the_ranges(seed):
    shared, _, items, pairs = problem(seed, {}, factors=True)
    inside = np.clip(items, shared.grid.low, shared.grid.high)
    slopes = np.random.default_rng(seed).random(shared.n_sharing)
    located, (i, j) = shared.locate(inside), pairs.T
    got = shared.rows(located, i, located, j).matvec(shared.prior(slopes))
    rises = np.abs(inside[i] - inside[j]) / shared.grid.widths @ shared.factors
    assert_allclose(got, (slopes * shared.grid.widths).mean() * rises, rtol=1e-9, atol=1e-9)


def test_a_factor_is_asked_for_each_feature_and_kept_with_it():
    shared = SharedTable(Grid([[0.0, 1.0, 4.0], [2.0, 4.0, 10.0], [1.0, 2.0, 5.0]]), [1.0, 2.0, 3.0])
    assert_allclose(shared.select(np.array([0]), np.array([0, 2])).factors, [1.0, 3.0])
    with pytest.raises(InputError, match="2 factors for 3 features"):
        SharedTable(shared.grid, [1.0, 2.0])
    with pytest.raises(InputError, match="the same knots"):
        SharedTable(Grid([[0.0, 1.0, 4.0], [0.0, 2.0, 4.0]]), [1.0, 2.0])


def test_all_features_have_its_columns():
    shared = SharedTable(Grid([[0.0, 1.0, 2.0, 4.0]] * 3))
    w = np.arange(1.0, 7.0)
    whole, wide = shared.expanded(w)
    assert shared.n_columns == 6
    assert shared.n_sharing == 3
    assert whole.n_columns == 18
    for table in whole.tables(wide):
        assert_allclose(table.values, shared.tables(w)[0].values)
    assert_allclose(shared.expanded(np.array([w, 2 * w]))[1], [wide, 2 * wide])
    assert shared.select(np.array([0]), np.array([0, 2])).n_sharing == 2


@pytest.mark.parametrize(
    "grid",
    [
        Grid([[0.0, 1.0], [0.0, 2.0]]),
        Grid([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], ["numeric", "periodic"]),
        Grid([[0.0, 1.0], [0.0, 1.0]], missing=[False, True]),
    ],
    ids=["other knots", "an angle", "missing values"],
)
def test_features_that_differ_are_refused(grid):
    with pytest.raises(InputError, match=r"the same knots of each, are required: use tables=\"full\""):
        SharedTable(grid)


def test_rows_out_of_range_are_refused():
    shared = SharedTable(Grid([[0.0, 1.0]] * 2))
    located = shared.locate(np.zeros((3, 2)))
    with pytest.raises(InputError, match="from 0 to 2"):
        shared.rows(located, np.array([3]), located, np.array([0]))
    with pytest.raises(InputError, match="one for each of the 1 columns"):
        shared.pairwise(located, located, np.ones(2))


def test_columns_of_both_forms_count_alike():
    """Shares and units of the columns differ by the number of features that share them, and by nothing else."""
    shared = SharedTable(Grid([[0.0, 1.0, 3.0]] * 4))
    whole, _ = shared.expanded(np.zeros(shared.n_columns))
    prior = L1Prior(np.full(4, 0.3), np.full(4, 0.7))
    one, many = columns_of(shared, prior), columns_of(whole, prior)
    for name in ("prior", "unit", "step", "cells"):
        assert_allclose(np.tile(getattr(one, name), 4), getattr(many, name))
    assert_allclose(np.tile(one.share, 4), 4 * many.share)
