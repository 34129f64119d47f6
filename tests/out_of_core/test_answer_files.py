"""Answers in files: those that are returned, whole or not there; a run that is stopped goes on with what is missing."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import NeighborIndex, ShardedIndex, StorageError, out_of_core
from semimetric._foundation.unfinished import resumable_folder
from semimetric.distances.search import shard_search
from semimetric.out_of_core import answer_files
from semimetric.out_of_core.answer_files import RUN, read_run

D, ITEMS, _ = search_problem(90)
QUERIES = np.random.default_rng(5).normal(size=(40, 4))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of three shards; blocks of nine queries."""
    monkeypatch.setattr(answer_files, "_BLOCK", 9)
    monkeypatch.setattr(shard_search, "_BLOCK", 9)
    ShardedIndex.build(tmp_path / "index", D, ITEMS, n_shards=3)
    return tmp_path


def stopping(monkeypatch, after, error=KeyboardInterrupt):
    """Stop at the block after so many; return the first queries of blocks that were written."""
    written, write = [], answer_files.NeighborFiles.write

    def counted(self, start, found):
        if len(written) == after:
            raise error
        write(self, start, found)
        written.append(start)

    monkeypatch.setattr(answer_files.NeighborFiles, "write", counted)
    return written


def read(path):
    """Distances and ids (n, k) of a folder of answers."""
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path).sort_values(["query", "rank"])
        n = frame["query"].nunique()
        assert_array_equal(frame["query"], np.repeat(np.arange(n), len(frame) // n))
        assert_array_equal(frame["rank"], np.tile(np.arange(1, len(frame) // n + 1), n))
        return frame["distance"].to_numpy().reshape(n, -1), frame["id"].to_numpy().reshape(n, -1)
    return np.load(path / "distances.npy"), np.load(path / "ids.npy")


@pytest.mark.parametrize("name", ["answers", "answers.parquet"])
@pytest.mark.parametrize("X", [QUERIES, None], ids=["queries", "items"])
def test_a_run_that_is_stopped_goes_on_with_what_is_missing(folder, monkeypatch, name, X):
    want = out_of_core.kneighbors(folder / "index", X, 3)
    call = lambda X=X, k=3, **how: out_of_core.kneighbors(folder / "index", X, k, to=folder / name, **how)  # noqa: E731
    with monkeypatch.context() as patch:
        first = stopping(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            call()
    assert not (folder / name).exists()
    unfinished = folder / f"{name}.unfinished"
    assert read_run(unfinished)[1] == set(first)
    assert_refused(lambda: call(k=4), "begun with other options", "the same", "delete")
    other = QUERIES + 0.5 if X is None else np.where(QUERIES == QUERIES[39, 3], 0.0, QUERIES)
    assert_refused(lambda: call(X=other), "begun with other queries", "delete")
    with monkeypatch.context() as patch:
        then = stopping(patch, -1)
        assert call() == folder / name
    assert not unfinished.exists()
    assert len(first) == 2
    assert sorted(first + then) == list(range(0, len(want[0]), 9)) if X is not None else not set(first) & set(then)
    for got, expected in zip(read(folder / name), want, strict=True):
        assert_array_equal(got, expected)
    with monkeypatch.context() as patch:
        again = stopping(patch, 0)
        assert call() == folder / name  # which is complete
        assert again == []
    assert_refused(lambda: call(k=4), "there already", "another name")
    traffic = read_run(folder / name)[2]
    assert traffic.queries == len(want[0])
    assert traffic.asked >= traffic.queries


def test_a_run_does_not_go_on_with_other_items(folder, monkeypatch):
    call = lambda: out_of_core.kneighbors(folder / "index", QUERIES, 3, to=folder / "a")  # noqa: E731
    with monkeypatch.context() as patch:
        stopping(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            call()
    ShardedIndex(folder / "index").remove([5])
    assert_refused(call, "begun with other items", "delete")


def test_files_that_were_damaged_or_lost_are_refused(folder, monkeypatch):
    call = lambda name: out_of_core.kneighbors(folder / "index", QUERIES, 3, to=folder / name)  # noqa: E731
    for name in ("a", "b", "c.parquet"):
        with monkeypatch.context() as patch:
            first = stopping(patch, 2)
            with pytest.raises(KeyboardInterrupt):
                call(name)
    (folder / "a.unfinished" / "ids.npy").unlink()
    assert_refused(lambda: call("a"), "a.unfinished cannot be gone on with", "delete", error=StorageError)
    (folder / "b.unfinished" / RUN).write_bytes(b"nothing")
    assert_refused(lambda: call("b"), "no semimetric file", "restore it", error=StorageError)
    next((folder / "c.parquet.unfinished").glob("*.parquet")).unlink()
    with monkeypatch.context() as patch:
        then = stopping(patch, -1)
        call("c.parquet")
    assert len(set(first) & set(then)) == 1  # the block whose file was lost


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_the_queries_may_be_files_and_frames(folder):
    np.save(folder / "q.npy", QUERIES.astype(np.float32))
    frame = pd.DataFrame(QUERIES.astype(np.float32), columns=list(D.feature_names))
    frame.to_parquet(folder / "q.parquet")
    one = NeighborIndex(D).fit(ITEMS)
    want = one.kneighbors(QUERIES.astype(np.float32), 4)
    for k, X in enumerate((folder / "q.npy", folder / "q.parquet", frame, np.load(folder / "q.npy", mmap_mode="r"))):
        out_of_core.kneighbors(folder / "index", X, 4, to=folder / str(k))
        for got, expected in zip(read(folder / str(k)), want, strict=True):
            assert_array_equal(got, expected)
    one.save(folder / "one")
    out_of_core.kneighbors(folder / "one", None, 4, to=folder / "itself")
    for got, expected in zip(read(folder / "itself"), one.kneighbors(None, 4), strict=True):
        assert_array_equal(got, expected)


def test_bad_arguments_are_refused_before_anything_is_written(folder):
    before = sorted(folder.iterdir())
    call = lambda X=QUERIES, k=3, to="a": out_of_core.kneighbors(folder / "index", X, k, to=folder / to)  # noqa: E731
    assert_refused(lambda: call(to="a.csv"), "a.csv", ".parquet", "no suffix")
    assert_refused(lambda: call(to="b/a"), "there is no folder", "make it first")
    assert_refused(lambda: call(k=91), "n_neighbors=91", "90 items")
    assert_refused(lambda: call(X=None, k=90), "n_neighbors=90", "89 items")
    assert sorted(folder.iterdir()) == before
    assert_refused(lambda: call(X=np.where(np.arange(160).reshape(40, 4) == 150, np.nan, QUERIES)), "rows 36 to 39 of X", "NaN")
    with resumable_folder(folder / "held"):
        script = f"""
            from pathlib import Path
            from semimetric._foundation.unfinished import resumable_folder
            with resumable_folder(Path({str(folder / "held")!r})):
                pass
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
        assert "another process fills" in done.stderr


@pytest.mark.slow
def test_a_killed_process_leaves_what_the_next_call_finishes(folder):
    """The process kills itself in the third block, right after the second was recorded."""
    np.save(folder / "q.npy", QUERIES)
    script = f"""
        import os, signal
        import numpy as np
        from semimetric import out_of_core
        from semimetric.out_of_core import answer_files
        answer_files._BLOCK, answer_files._RECORDED = 9, -1.0
        write = answer_files.NeighborFiles.write
        def deadly(self, start, found):
            if len(self.done) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            write(self, start, found)
        answer_files.NeighborFiles.write = deadly
        out_of_core.kneighbors({str(folder / "index")!r}, {str(folder / "q.npy")!r}, 3, to={str(folder / "a")!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (folder / "a").exists()
    assert len(read_run(folder / "a.unfinished")[1]) == 2
    out_of_core.kneighbors(folder / "index", folder / "q.npy", 3, to=folder / "a")
    for got, expected in zip(read(folder / "a"), out_of_core.kneighbors(folder / "index", QUERIES, 3), strict=True):
        assert_array_equal(got, expected)


@pytest.mark.parametrize("partition", ["rows", "kmeans"])
def test_a_build_that_is_stopped_goes_on_with_the_missing_shards(tmp_path, monkeypatch, partition):
    from semimetric.distances.search import sharded

    def build(X=ITEMS, d=D, **how):
        options = {"n_shards": 4, "partition": partition, "resume": True} | how
        return out_of_core.build_index(tmp_path / "index", d, X, payload={"row": np.arange(90)}, **options)

    saved, save = [], sharded.save_shard

    def counted(root, index, *old):
        if len(saved) == stop:
            raise KeyboardInterrupt
        saved.append(save(root, index, *old))
        return saved[-1]

    monkeypatch.setattr(sharded, "save_shard", counted)
    stop = 2
    with pytest.raises(KeyboardInterrupt):
        build()
    assert {p.name for p in (tmp_path / "index").iterdir()} == {".shards.unfinished"}
    stop = None
    shards = build()
    assert len(saved) == 4
    assert set(saved) == set(shards)
    assert {p.name for p in (tmp_path / "index").iterdir()} == {"shards.smm", *(s.name for s in shards)}
    index = ShardedIndex(tmp_path / "index")
    for got, want in zip(index.kneighbors(QUERIES, 5), NeighborIndex(D).fit(ITEMS).kneighbors(QUERIES, 5), strict=True):
        assert_array_equal(got, want)
    assert_array_equal(index.get_payload(index.ids_)["row"], index.ids_)
    # Of other data nothing is taken: items, distance, storage.
    for other in ({"X": ITEMS + 1.0}, {"d": rough_distance(D.embedding.grid, seed=9, low=0.05)}, {"storage": "uint16"}):
        saved.clear()
        stop = 2
        with pytest.raises(KeyboardInterrupt):
            build()
        assert len(saved) == 2
        stop = None
        build(**other)
        assert len(saved) == 6
    assert os.listdir(tmp_path) == ["index"]


def test_a_join_of_a_version_with_other_blocks_does_not_go_on(folder, monkeypatch):
    """Blocks of 9 items would be taken for whole blocks of 36."""
    call = lambda: out_of_core.kneighbors(folder / "index", None, 3, to=folder / "a")  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(shard_search, "_OF_ITEMS", 1)
        stopping(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            call()
    assert_refused(call, "begun with other blocks", "delete")
    monkeypatch.setattr(shard_search, "_OF_ITEMS", 1)
    whole = call()
    for got, want in zip(read(whole), out_of_core.kneighbors(folder / "index", None, 3), strict=True):
        assert_array_equal(got, want)
    monkeypatch.undo()
    assert call() == whole  # What is finished is not divided again.
