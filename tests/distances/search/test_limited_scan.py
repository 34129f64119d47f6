"""A scan within limits names every item whose bound may be within the limit of its query; no bound is too large."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semimetric.distances.search import segment as limited_scan
from semimetric.distances.search.faiss_scan import FaissScan
from semimetric.distances.search.segment import named_within


def packed(codes):
    even = np.zeros((len(codes), codes.shape[1] + codes.shape[1] % 2), np.uint8)
    even[:, : codes.shape[1]] = codes
    return even[:, ::2] | even[:, 1::2] << 4


@given(
    seed=st.integers(0, 2**31), n_columns=st.sampled_from([1, 2, 7, 40]), n_lists=st.integers(1, 3),
    share=st.sampled_from([0.0, 0.01, 0.3, 1.0]), kind=st.sampled_from(["rough", "ties", "tiny", "constant", "empty cells"]),
)  # fmt: skip
@settings(max_examples=80)
def test_all_within_the_limits_are_named(seed, n_columns, n_lists, share, kind):
    rng, n, n_queries = np.random.default_rng(seed), 300, 7
    codes = rng.integers(0, 12, (n, n_columns)).astype(np.uint8)
    tables = rng.normal(size=(n_queries, n_columns, 16)) ** 3
    if kind == "ties":
        tables = np.round(tables)
    if kind == "tiny":
        tables *= 1e-200
    if kind == "constant":
        tables[::2] = 3.0
    if kind == "empty cells":
        tables[:, :, 12:] = np.inf
    sums = np.stack([table[np.arange(n_columns), codes].sum(axis=1) for table in tables])
    limits = np.quantile(sums, share, axis=1)
    member = None if n_lists == 1 else rng.integers(0, n_lists, n)
    scan, keep = FaissScan(packed(codes), n_columns, member), None if seed % 2 else rng.random(n) < 0.7
    eligible, slack = np.ones(n, bool) if keep is None else keep, 1e-12 * np.abs(sums).max()
    seen, floor = set(), 0.0 if kind == "tiny" else 2.0
    for found in named_within(scan, tables, limits + floor, floor, keep):
        for j, q in enumerate(found.queries):
            assert q not in seen
            seen.add(int(q))
            rows = found.rows[found.starts[j] : found.starts[j + 1]]
            assert len(np.unique(rows)) == len(rows)
            assert eligible[rows].all()
            assert set(np.flatnonzero((sums[q] < limits[q] - slack) & eligible)) <= set(rows.tolist())
            assert (found.bounds[found.starts[j] : found.starts[j + 1]] <= floor + sums[q, rows] + slack).all()
    assert seen == set(range(n_queries))


def test_few_items_beyond_the_limit_are_named():
    rng = np.random.default_rng(0)
    codes, tables = rng.integers(0, 16, (20_000, 24)).astype(np.uint8), rng.random((5, 24, 16)) ** 2
    tables *= np.array([1e-9, 1.0, 3.0, 1e3, 1e9])[:, None, None]
    sums = np.stack([table[np.arange(24), codes].sum(axis=1) for table in tables])
    (found,) = named_within(FaissScan(packed(codes), 24), tables, np.quantile(sums, 0.01, axis=1), 0.0, None)
    assert_array_equal(np.sort(found.queries), np.arange(5))
    assert 5 * 200 <= len(found.rows) < 5 * 230


def test_calls_grow_and_shrink_with_what_they_name(monkeypatch):
    monkeypatch.setattr(limited_scan, "_FOUND", 1000)
    rng = np.random.default_rng(0)
    codes, tables = rng.integers(0, 16, (2000, 8)).astype(np.uint8), rng.random((60, 8, 16))
    sums, scan = np.stack([table[np.arange(8), codes].sum(axis=1) for table in tables]), FaissScan(packed(codes), 8)
    few = [len(each.queries) for each in named_within(scan, tables, sums.min(axis=1), 0.0, None)]
    assert few[:3] == [8, 16, 32]
    many = named_within(scan, tables, np.quantile(sums, 0.5, axis=1), 0.0, None)
    assert {len(each.queries) for each in many} == {8, 1}


def test_where_every_item_may_be_within_the_limit_all_are_named():
    rng = np.random.default_rng(0)
    codes, tables = rng.integers(0, 16, (100, 4)).astype(np.uint8), rng.random((3, 4, 16))
    tables[1] = 1.0
    limits, keep = np.array([np.inf, 4.0, 1e9]), rng.random(100) < 0.5
    for found in named_within(FaissScan(packed(codes), 4), tables, limits, 0.0, keep):
        assert len(found.queries) == 1
        assert_array_equal(found.rows, np.flatnonzero(keep))
        assert np.isneginf(found.bounds).all()
