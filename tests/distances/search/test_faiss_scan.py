"""FAISS adds whole numbers exactly, under each condition that gave wrong answers when it was ignored.

The theory is in docs/mathematics.md, section 4.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from semimetric.distances.search.faiss_scan import FaissScan, IntegerTables, kmeans, rounded_down


def packed(codes):
    even = np.zeros((len(codes), codes.shape[1] + codes.shape[1] % 2), np.uint8)
    even[:, : codes.shape[1]] = codes
    return even[:, ::2] | even[:, 1::2] << 4


def setting(n, n_columns, seed=0, n_queries=3):
    """Codes, tables of whole numbers whose largest is 255, and the sums of all items."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 16, (n, n_columns)).astype(np.uint8)
    tables = rng.integers(0, 256, (n_queries, n_columns, 16)).astype(np.float32)
    tables -= tables.min(axis=2, keepdims=True)
    tables[:, 0, 5], tables[:, 0, 6] = 255, 0
    sums = np.stack([table[np.arange(n_columns), codes].sum(axis=1) for table in tables])
    return codes, IntegerTables(tables, np.ones(n_queries), np.zeros(n_queries)), sums


@pytest.mark.parametrize("n_columns", [1, 2, 3, 16, 33, 100, 255, 256])
@pytest.mark.parametrize("n", [1, 31, 1000])
def test_sums_are_exact_up_to_256_columns(n, n_columns):
    codes, whole, sums = setting(n, n_columns, seed=n + n_columns)
    scan = FaissScan(packed(codes), n_columns)
    found, rows = scan.nearest(whole, n)
    for q in range(3):
        there = rows[q] >= 0
        worst = sums[q] == whole.tables[q].max(axis=1).sum()
        assert there.sum() == n - worst.sum()  # only items that are worst in every column are not answered
        assert_array_equal(found[q, there], np.sort(sums[q])[: there.sum()])
        assert_array_equal(found[q, there], sums[q, rows[q, there]])


@given(seed=st.integers(0, 2**31), n_columns=st.sampled_from([1, 4, 7, 40]))
def test_a_range_holds_every_item_up_to_the_limit(seed, n_columns):
    codes, whole, sums = setting(500, n_columns, seed=seed)
    scan = FaissScan(packed(codes), n_columns)
    worst = whole.tables[0].max(axis=1).sum()
    for limit in (-1.0, 0.0, 3.5, float(np.median(sums[0])), float(sums[0].max()), worst - 1, worst, 2 * worst, np.inf):
        found = scan.within(whole, 0, limit)
        if found is None:  # a radius above the largest sum: FAISS returned nothing, so all must be looked at
            assert limit >= worst
            continue
        assert limit < worst
        want = np.flatnonzero(sums[0] <= limit)
        assert_array_equal(np.sort(found[1]), want)
        assert_array_equal(found[0], sums[0, found[1]])


def test_masks_and_lists_choose_what_is_answered():
    codes, whole, sums = setting(900, 8)
    rng = np.random.default_rng(0)
    lists, keep = rng.integers(0, 5, 900), rng.random(900) < 0.3
    scan = FaissScan(packed(codes), 8, lists)
    for visited in (None, np.array([[0, 3], [1, -1], [4, 2]])):
        found, rows = scan.nearest(whole, 40, lists=visited, keep=keep)
        for q in range(3):
            inside = keep if visited is None else keep & np.isin(lists, visited[q])
            assert_array_equal(found[q], np.sort(sums[q, inside])[:40])
            assert inside[rows[q]].all()
    found = scan.within(whole, 0, 500.0, keep)
    assert_array_equal(np.sort(found[1]), np.flatnonzero((sums[0] <= 500) & keep))


@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-200, 1e-9, 1.0, 1e9, 1e200]), offset=st.sampled_from([0.0, 1e4]))
def test_whole_numbers_never_exceed_the_bound(seed, scale, offset):
    """sum / step + base <= the sum of the table, however large the values or an offset; the largest entry is 255."""
    rng = np.random.default_rng(seed)
    tables = scale * (offset + rng.random((4, 6, 16)) ** 3)
    tables[1, 2, 3] = np.inf  # an empty cell
    whole = rounded_down(tables)
    assert (whole.tables.max(axis=(1, 2)) == 255).all()
    codes = rng.integers(0, 16, (50, 6))
    for q in range(4):
        true = tables[q][np.arange(6), codes].sum(axis=1)
        bound = whole.of(np.array([q])).bounds(whole.tables[q][np.arange(6), codes].sum(axis=1)[None])[0]
        finite = np.isfinite(true)
        assert (bound[finite] <= true[finite] + 1e-12 * np.abs(true[finite])).all()
        spread = np.where(np.isinf(tables[q]), 0, tables[q] - tables[q].min(axis=1, keepdims=True)).max()
        assert_allclose(bound[finite], true[finite], atol=6.1 * spread / 255, rtol=1e-12)


def test_constant_tables_are_told_apart():
    tables = np.ones((2, 3, 16))
    tables[1, 0, 0] = 2.0
    assert rounded_down(tables).flat.tolist() == [True, False]


def test_every_centre_has_a_member_and_members_are_nearest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    centres, member = kmeans(X, np.arange(0, 300, 2), 20, n_jobs=1, seed=0)
    assert set(member) == set(range(len(centres)))
    assert_array_equal(member, ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))
    again = kmeans(X, np.arange(0, 300, 2), 20, n_jobs=1, seed=0)
    assert_array_equal(member, again[1])
