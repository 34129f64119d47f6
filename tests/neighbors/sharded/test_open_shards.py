"""Folders of shards: how many are kept open, what is linked, and what is no folder of shards."""

import os

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import NeighborIndex, ShardedIndex, StorageError
from semimetric.neighbors.sharded import shard_files
from semimetric.neighbors.sharded.shard_files import FILE, places_of, save_shard

ITEMS = np.round(np.random.default_rng(0).random((400, 3)), 2)
QUERIES = np.random.default_rng(1).random((6, 3))


@pytest.fixture(scope="module")
def d():
    return cases.fitted("singles")[0].semimetric_


@pytest.fixture
def folder(d, tmp_path):
    ShardedIndex.build(tmp_path / "index", d, ITEMS, n_shards=4)
    return tmp_path / "index"


def assert_answers_as(index, one):
    for a, b in zip(index.kneighbors(QUERIES, 7), one.kneighbors(QUERIES, 7), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_shards_that_were_used_last_stay_open(folder, monkeypatch):
    monkeypatch.setattr(shard_files, "_OPENED", 2)
    monkeypatch.setattr(shard_files, "_OPEN", {})
    first, second, third, _ = places_of(folder)
    opened = first.open()
    second.open()
    assert first.open() is opened
    third.open()
    assert list(shard_files._OPEN) == [first, third]
    again = second.open()
    assert list(shard_files._OPEN) == [third, second]
    assert second.open() is again
    assert first.open() is not opened


def test_more_shards_than_stay_open_answer_as_one_index(folder, d, monkeypatch):
    monkeypatch.setattr(shard_files, "_OPENED", 1)
    index, one = ShardedIndex(folder), NeighborIndex(d).fit(ITEMS)
    assert_answers_as(index, one)
    assert_answers_as(index.add(QUERIES).remove([7, 250]), one.add(QUERIES).remove([7, 250]))
    assert_answers_as(index.rebalance(3), one)


@pytest.mark.parametrize("linked", [True, False])
def test_what_a_shard_keeps_is_linked_where_the_storage_has_links(linked, folder, d, monkeypatch):
    def refuses(*_):
        raise OSError("Operation not supported")

    if not linked:
        monkeypatch.setattr(os, "link", refuses)
    before = {path.stat().st_ino: path.name for path in folder.glob("*/arrays/*.npy")}
    untouched = [s.name for s in ShardedIndex(folder).shards[1:]]
    kept = {path.stat().st_ino for name in untouched for path in (folder / name / "arrays").iterdir()}
    index = ShardedIndex(folder).remove([7])
    after = {path.stat().st_ino for path in (folder / index.shards[0].name / "arrays").iterdir()}
    assert bool(after & (set(before) - kept)) is linked
    assert_answers_as(ShardedIndex(folder), NeighborIndex(d).fit(ITEMS).remove([7]))


def test_a_saved_index_is_a_place_of_its_own(d, tmp_path):
    NeighborIndex(d).fit(ITEMS).remove([5]).save(tmp_path / "one")
    (place,) = places_of(tmp_path / "one")
    assert place.shard.n == 399
    assert_answers_as(place.open(), NeighborIndex(d).fit(ITEMS).remove([5]))


def test_foreign_and_missing_folders_are_refused(folder, d, tmp_path):
    d.save(folder / FILE)
    assert_refused(lambda: ShardedIndex(folder), "holds a Semimetric, not a sharded index", "", "restore it", StorageError)
    index = NeighborIndex(d).fit(ITEMS[:9])
    assert_refused(lambda: save_shard(tmp_path / "away", index), "there is no folder", "away", "every machine sees")
    with pytest.raises(FileNotFoundError):
        places_of(tmp_path / "away")
