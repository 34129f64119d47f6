import pickle

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data.parts.row_parts import array_rows, format_memory, parquet_rows, parse_memory, slices


def test_memory_limits():
    assert [parse_memory(t) for t in ("2 GiB", "500MB", "1kb", 77, "1.5 KiB")] == [2**31, 500_000_000, 1000, 77, 1536]
    for wrong in ("much", "2 GoB", 0, -1, "1.2.3 MB", True):
        assert_refused(lambda w=wrong: parse_memory(w), f"memory_limit={wrong!r}", "bytes are required", "'2 GiB'")
    assert [format_memory(n) for n in (77, 1536, 2**31)] == ["77.0 B", "1.5 KiB", "2.0 GiB"]
    assert all(parse_memory(format_memory(n)) == n for n in (1, 1000, 2**20, 2**50))


@given(st.integers(0, 100), st.integers(1, 30))
def test_slices_are_even_and_cover(n, size):
    found = slices(n, size)
    assert [k for s in found for k in range(n)[s]] == list(range(n))
    lengths = {s.stop - s.start for s in found}
    assert not lengths or (max(lengths) <= size and max(lengths) - min(lengths) <= 1)


@pytest.fixture
def array(tmp_path):
    array = np.arange(600.0).reshape(100, 2, 3)
    np.save(tmp_path / "a.npy", array)
    return array


def test_rows_of_mapped_files_are_those_of_the_array_wherever_they_are_read(array, tmp_path):
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for source in (array, mapped, tmp_path / "a.npy", mapped[7:90][3:]):
        expected = np.asarray(source) if isinstance(source, np.ndarray) else array
        for parts in (rows := array_rows(source, 33, "pairs"), pickle.loads(pickle.dumps(rows))):
            assert (np.concatenate([p.read() for p in parts]) == expected).all()
            assert sum(map(len, parts)) == len(expected)
            assert (parts[1].view() == parts[1].read()).all()
    assert len(pickle.dumps(array_rows(mapped, 100, "pairs"))) < 1000  # a place in a file, not what is there
    assert len(pickle.dumps(array_rows(array, 1, "pairs")[0])) < 1000  # its own row
    assert array_rows(mapped, 50, "pairs")[1].name == "rows 50 to 99 of pairs"


def test_columns_of_a_mapped_file_are_no_rows_of_it(array, tmp_path):
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert (array_rows(mapped[:, :1], 100, "pairs")[0].read() == array[:, :1]).all()


def test_a_file_that_shrinks_or_goes_is_told(array, tmp_path):
    part = array_rows(tmp_path / "a.npy", 100, "pairs")[0]
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-8])
    assert_refused(part.read, "rows 0 to 99 of pairs", "shorter than it was", "write it again")
    (tmp_path / "a.npy").unlink()
    assert_refused(part.read, "rows 0 to 99 of pairs", "no file", "every machine")


def test_row_groups_are_gathered_and_files_compared(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.arange(100), "b": np.arange(100) / 7})
    frame[:60].to_parquet(tmp_path / "0.parquet", row_group_size=10)
    frame[60:].to_parquet(tmp_path / "1.parquet", row_group_size=40)
    parts = parquet_rows(tmp_path, 25)
    assert [len(p) for p in parts] == [20, 20, 20, 40]
    assert parts[1].name == f"row groups 2 to 3 of {tmp_path / '0.parquet'}"
    assert pd.concat([p.read() for p in parts]).reset_index(drop=True).equals(frame)
    assert list(parquet_rows(tmp_path / "1.parquet", 99, ["b"])[0].read()) == ["b"]
    assert_refused(lambda: parquet_rows(tmp_path, 9, ["c"]), "'c'", "missing", "same columns")
    frame[:0].to_parquet(tmp_path / "2.parquet")
    assert_refused(lambda: parquet_rows(tmp_path, 25), "2.parquet has no rows", "every part", "delete")
    frame.astype({"a": "float32"}).to_parquet(tmp_path / "2.parquet")
    assert_refused(lambda: parquet_rows(tmp_path, 25), "2.parquet is float", "0.parquet is int64", "write them again")
    frame[["a"]].to_parquet(tmp_path / "2.parquet")
    assert_refused(lambda: parquet_rows(tmp_path, 25), "'b' of", "2.parquet is missing", "same columns")
    assert_refused(lambda: parquet_rows(tmp_path / "none", 25), "no Parquet file", "folder", "check the path")


def test_row_groups_without_rows_are_passed_over_and_a_file_that_goes_is_told(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": np.arange(25), "b": np.arange(25) / 7})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for start, stop in ((0, 0), (0, 10), (10, 10), (10, 18), (18, 25), (25, 25)):
            writer.write_table(table.slice(start, stop - start))
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_row_groups == 6
    for size, counts in ((1, [10, 8, 7]), (18, [18, 7]), (100, [25])):
        parts = parquet_rows(tmp_path / "a.parquet", size)
        assert [len(p) for p in parts] == [len(p.read()) for p in parts] == counts
        assert np.concatenate([p.read()["a"] for p in parts]).tolist() == list(range(25))
    (tmp_path / "a.parquet").unlink()
    assert_refused(parts[0].read, "of " + str(tmp_path / "a.parquet"), "there is no file", "every machine must see it")
