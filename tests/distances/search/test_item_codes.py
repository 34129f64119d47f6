"""Codes are held once, and come back from FAISS's layout as they were."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semimetric.distances.search.segment import ItemCodes


def codes_of(n, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (n, (n_columns + 1) // 2)).astype(np.uint8)
    if n_columns % 2:
        packed[:, -1] &= 15
    return packed


@given(n=st.integers(1, 200), n_columns=st.integers(1, 40), n_lists=st.integers(1, 5), seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_codes_are_unpacked_as_they_were_packed(n, n_columns, n_lists, seed):
    packed = codes_of(n, n_columns, seed)
    member = None if n_lists == 1 else np.random.default_rng(seed).integers(0, n_lists, n)
    codes = ItemCodes(packed, n_columns, member)
    assert codes.packed is packed
    assert codes.made is None
    assert codes.scan is codes.scan is codes.made
    assert codes.held is None
    assert_array_equal(codes.packed, packed)
    assert_array_equal(pickle.loads(pickle.dumps(codes)).packed, packed)


def test_codes_in_a_file_stay_there(tmp_path):
    np.save(tmp_path / "codes.npy", codes_of(50, 6))
    mapped = np.load(tmp_path / "codes.npy", mmap_mode="r")
    codes = ItemCodes(mapped, 6)
    assert codes.scan.n == 50
    assert codes.packed is codes.held is mapped


@pytest.mark.parametrize("seed", range(5))
def test_threads_make_one_scan_of_them(seed):
    packed = codes_of(20_000, 16, seed)
    codes = ItemCodes(packed, 16)
    with ThreadPoolExecutor(4) as pool:
        scans = list(pool.map(lambda k: codes.scan if k % 2 else codes.packed, range(8)))
    assert all(scan is codes.scan for scan in scans[1::2])
    for unpacked in scans[::2]:
        assert_array_equal(unpacked, packed)
