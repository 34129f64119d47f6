"""An index says how many bytes it holds, and for what; nothing is held twice."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from searches import rough_distance, search_problem
from sklearn.exceptions import NotFittedError

from semimetric import Grid, NeighborIndex, load
from semimetric.distances.search import segment


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_array_is_counted_once(dtype):
    d, items, queries = search_problem(320)
    index = NeighborIndex(d).fit(items.astype(dtype), ids=np.arange(320)[::-1])
    n_features, n_bytes = items.shape[1], (index.layout_.n_columns + 1) // 2
    usage = index.memory_usage()
    want = {"items": 320 * n_features * np.dtype(dtype).itemsize, "positions": 320 * 8 * n_features, "ids": 8 * 320}
    assert {name: usage[name] for name in want} == want
    assert (usage["alive"], usage["faiss"], usage["mapped"], usage["joint"]) == (320, 0, 0, 0)
    index.kneighbors(queries, 3)
    exact = index.memory_usage()
    lists = index.segments_[0].list_scan.lists.arrays
    assert lists.rows.nbytes == 4 * 320
    assert 320 * n_features <= lists.bins.nbytes < 1.5 * 320 * n_features  # lists are filled up to a multiple of 64
    of_lists = sum(array.nbytes for array in (lists.rows, lists.starts, lists.bins))
    assert (usage["codes"], exact["codes"]) == (320 * n_bytes, 320 * n_bytes + of_lists)
    assert exact["faiss"] == 0
    index.kneighbors(queries, 3, algorithm="approximate")
    after = index.memory_usage()
    assert after["faiss"] == 320 * (n_bytes + 8)
    assert exact["codes"] - after["codes"] == 320 * n_bytes  # which FAISS holds then
    assert after["ids"] == 2 * 8 * 320  # their order too
    assert index.nbytes == sum(after.values())


def test_joint_places_and_lists_are_counted():
    d, items, _ = search_problem(300)
    joint = NeighborIndex(rough_distance(Grid.fit(items, n_knots=4), kind="pairs")).fit(items)
    places = joint.segments_[0].points.joint
    assert joint.memory_usage()["joint"] == sum(a.nbytes for a in places.located) + places.order.nbytes > 0
    lists = NeighborIndex(d, n_lists=4).fit(items)
    assert lists.memory_usage()["lists"] == lists.segments_[0].lists.member.nbytes > 0


def test_what_lies_in_files_is_no_memory(tmp_path):
    d, items, queries = search_problem(300)
    whole = NeighborIndex(d).fit(items)
    whole.save(tmp_path / "index")
    mapped = load(tmp_path / "index", mmap=True)
    assert whole.memory_usage()["mapped"] == 0
    usage = mapped.memory_usage()
    assert usage["mapped"] == whole.nbytes
    assert mapped.nbytes == 0
    mapped.kneighbors(queries, 3)
    assert mapped.nbytes == 0  # Lists of near items were saved with the others.
    mapped.kneighbors(queries, 3, algorithm="approximate")
    assert mapped.memory_usage()["faiss"] > 0


def test_an_index_that_is_not_fitted_holds_nothing_to_count():
    with pytest.raises(NotFittedError):
        NeighborIndex("l1").nbytes  # noqa: B018  # the property is what is tested


HELD = """
import gc
from pathlib import Path

import numpy as np
from semimetric.distances.search.faiss_scan import FaissScan


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


codes = np.random.default_rng(0).integers(0, 256, (1_000_000, 16), dtype=np.uint8)
FaissScan(codes[:1000], 32)  # FAISS is imported
before = resident()
scan = FaissScan(codes, 32)
print(scan.nbytes, codes.nbytes + 8 * len(codes), resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say how much memory is resident")
def test_faiss_holds_the_codes_once():
    """In a process of its own, where no memory that others have freed counts."""
    told = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True).stdout
    counted, expected, grown = map(int, told.split())
    assert counted == expected
    assert grown < 1.6 * counted
