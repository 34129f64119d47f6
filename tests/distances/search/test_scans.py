"""The compiled scan names what FAISS names, and is chosen where FAISS cannot be imported."""

import subprocess
import sys

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex
from semimetric.distances.search import scans, segment
from semimetric.distances.search.faiss_scan import FaissScan, IntegerTables
from semimetric.distances.search.scans import CompiledScan, compiled_kmeans


def setting(seed, n, n_columns, n_lists):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (n, (n_columns + 1) // 2)).astype(np.uint8)
    if n_columns % 2:
        codes[:, -1] &= 15
    tables = rng.integers(0, 256, (3, n_columns, 16)).astype(np.float32)
    tables -= tables.min(axis=2, keepdims=True)
    tables[:, 0, 5], tables[:, 0, 6] = 255, 0
    lists = None if n_lists == 1 else np.append(np.arange(n_lists), rng.integers(0, n_lists, n))[:n]
    return codes, IntegerTables(tables, np.ones(3), np.zeros(3)), lists, rng


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**31), n=st.sampled_from([40, 900]), n_columns=st.sampled_from([1, 2, 7, 32, 255, 256]),
    n_lists=st.sampled_from([1, 6]),
)  # fmt: skip
def test_both_scans_name_the_same(seed, n, n_columns, n_lists):
    codes, whole, lists, rng = setting(seed, n, n_columns, n_lists)
    ours, theirs = CompiledScan(codes, n_columns, lists), FaissScan(codes, n_columns, lists)
    assert (ours.n, ours.n_lists, ours.n_columns) == (theirs.n, theirs.n_lists, theirs.n_columns)
    assert_array_equal(ours.packed(), codes)
    assert_array_equal(theirs.packed(), codes)
    keep = rng.random(n) < 0.5
    visited = np.array([[0, 3], [2, -1], [5, 1]]) if n_lists > 1 else None
    for options in ({}, {"keep": keep}, {"lists": visited}, {"lists": visited, "keep": keep}):
        for count in (1, 10, n):
            (sums, rows), (want, others) = (scan.nearest(whole, count, **options) for scan in (ours, theirs))
            assert_array_equal(rows >= 0, others >= 0)
            assert_array_equal(sums[rows >= 0], want[others >= 0])
            for q in range(3):  # where all are named, they are the same; else ties at the end may differ
                below = sums[q] < sums[q, -1]
                assert set(rows[q, below]) == set(others[q, below])
    worst = whole.tables.max(axis=2).sum(axis=1)
    for limit in (-1.0, 0.0, float(worst.min()) * 0.4, float(worst.min()) - 1):
        for mask in (None, keep):
            for q in range(3):
                one, other = (in_order(*scan.within(whole, q, limit, mask)) for scan in (ours, theirs))
                assert_array_equal(one, other)
    assert ours.within(whole, 1, np.inf) is None


def in_order(sums, rows):
    return np.array([sums, rows])[:, np.argsort(rows)]


@pytest.mark.parametrize(
    "options", [{}, {"n_lists": 5}, {"algorithm": "approximate", "n_lists": 5, "n_candidates": 500}], ids=str
)
def test_an_index_answers_the_same_by_both(monkeypatch, options):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    _, items, queries = search_problem(500)
    d, found = rough_distance(Grid.fit(items, n_knots=5), low=0.05), {}
    for engine in scans.ENGINES:
        monkeypatch.setenv("SEMIMETRIC_SCAN", engine)
        index = NeighborIndex(d, **options).fit(items)
        found[engine] = (
            *index.kneighbors(queries, 5),
            *index.kneighbors(queries, 5, where="x0 > 0"),
            index.searcher(3)(queries[0])[1],
        )
        assert isinstance(index.segments_[0].codes.scan, CompiledScan) == (engine == "compiled")
        assert index.memory_usage()["faiss"] > 0
    for one, other in zip(*found.values(), strict=True):
        assert_array_equal(one, other)


def test_centres_are_those_of_k_means():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    centres, member = compiled_kmeans(X, np.arange(0, 300, 2), 20, n_jobs=1, seed=0)
    assert set(member) == set(range(len(centres)))
    assert_array_equal(member, ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))
    assert_array_equal(member, compiled_kmeans(X, np.arange(0, 300, 2), 20, n_jobs=1, seed=0)[1])
    same = np.ones((50, 2), np.float32)
    assert len(compiled_kmeans(same, np.arange(50), 7, n_jobs=1, seed=0)[0]) == 1


def test_another_engine_is_refused(monkeypatch):
    monkeypatch.setenv("SEMIMETRIC_SCAN", "gpu")
    d, items, _ = search_problem(60)
    assert_refused(lambda: NeighborIndex(d, n_lists=3).fit(items), "SEMIMETRIC_SCAN='gpu'", "'compiled'")


PROGRAM = """
import sys, warnings
sys.modules["faiss"] = None  # an import of it fails
import numpy as np, semimetric as sm
X = np.random.default_rng(0).random((3000, 5))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    index = sm.NeighborIndex("l1", n_lists=4).fit(X)
    exact, brute = index.kneighbors(X[:9], 4), index.kneighbors(X[:9], 4, algorithm="brute")
assert np.array_equal(exact[1], brute[1]) and np.array_equal(exact[0], brute[0])
told = [str(w.message) for w in caught if issubclass(w.category, sm.SemimetricWarning)]
assert len(told) == 1 and "faiss cannot be imported" in told[0] and "SEMIMETRIC_SCAN=compiled" in told[0], told
"""


@pytest.mark.slow
def test_without_faiss_a_warning_says_so_and_answers_are_exact():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
