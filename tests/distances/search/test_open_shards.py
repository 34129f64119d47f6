"""Folders of shards: how many are kept open, what is linked, and what is no folder of shards."""

import json
import os
import shutil

import cases
import numpy as np
import pytest
from cases import assert_refused
from soak import containers

from semimetric import NeighborIndex, ShardedIndex, StorageError, load, out_of_core
from semimetric._foundation.files import file_digest
from semimetric.distances.search import shard_files, shard_search
from semimetric.distances.search.segment import SearchRequest
from semimetric.distances.search.shard_files import FILE, save_shard, shard_locations

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
    first, second, third, _ = shard_locations(folder)
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
    (place,) = shard_locations(tmp_path / "one")
    assert place.shard.n == 399
    assert_answers_as(place.open(), NeighborIndex(d).fit(ITEMS).remove([5]))


def test_foreign_and_missing_folders_are_refused(folder, d, tmp_path):
    d.save(folder / FILE)
    assert_refused(lambda: ShardedIndex(folder), "holds a Semimetric, not a sharded index", "", "restore it", StorageError)
    index = NeighborIndex(d).fit(ITEMS[:9])
    assert_refused(lambda: save_shard(tmp_path / "away", index), "there is no folder", "away", "every machine sees")
    with pytest.raises(FileNotFoundError):
        shard_locations(tmp_path / "away")


def restated(folder, change):
    """The file that names the shards, with a changed state and a digest that fits."""
    members = containers.unzipped(folder / FILE)
    state = json.loads(members["state.json"])
    change(state)
    containers.zip_members(folder / FILE, members | {"state.json": json.dumps(state).encode()})


STATES = {
    "a folder elsewhere": (lambda s: s["shards"][0].update(name="../other"), "is no shard"),
    "a number of items": (
        lambda s: s["shards"][0].update(n=99),
        "has 100 items with ids of the kind 'i', query-first; shards.smm says 99",
    ),
    "half an item": (lambda s: s["shards"][0].update(n=1.5), "'n' is 1.5"),
    "a kind of ids": (lambda s: [shard.update(kind="U") for shard in s["shards"]], "of the kind 'U'"),
    "two kinds of ids": (lambda s: s["shards"][0].update(kind="U"), "of two kinds"),
    "a shard twice": (lambda s: s["shards"].append(s["shards"][0]), "named twice"),
    "no shards": (lambda s: s.update(shards=[]), "there are no shards"),
    "no distance": (lambda s: s.update(distance=""), "the distance is ''"),
    "a foreign value": (lambda s: s.update(more=1), "'more' is no part"),
}


ROUTES = {  # every way in which a folder of shards is read
    "load": load,
    "kneighbors": lambda folder: out_of_core.kneighbors(folder, QUERIES, 7),
    "radius_neighbors": lambda folder: out_of_core.radius_neighbors(folder, QUERIES, 0.5),
    "kneighbors_graph": lambda folder: out_of_core.kneighbors_graph(folder, QUERIES, 7),
    "rebalance": out_of_core.rebalance,
}


@pytest.mark.parametrize(
    ("name", "route"),
    [
        pytest.param(name, route, marks=[pytest.mark.slow] * (route != "load" and name != "no distance"))
        for name in STATES
        for route in ROUTES
    ],
)
def test_a_file_that_names_no_shards_of_this_folder_is_refused(folder, name, route):
    change, problem = STATES[name]
    restated(folder, change)
    assert_refused(lambda: ROUTES[route](folder), problem, "restore", error=StorageError)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", ["integers", "text"])
def test_shards_do_not_share_ids(d, tmp_path, kind, route):
    """Two shards are one after the other, but for their names."""
    folder, ids = tmp_path / "index", None if kind == "integers" else [f"item {k}" for k in range(len(ITEMS))]
    ShardedIndex.build(folder, d, ITEMS, ids=ids, n_shards=4)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    shutil.rmtree(folder / names[0])
    shutil.copytree(folder / names[1], folder / names[0])
    digest = file_digest(folder / names[0] / "index.smm")
    restated(folder, lambda s: [shard.update(digest=digest) for shard in s["shards"] if shard["name"] == names[0]])
    assert_refused(lambda: ROUTES[route](folder), "an id of another segment", "build it again", error=StorageError)


def test_shards_are_checked_again_when_they_have_changed(folder):
    first = out_of_core.kneighbors(folder, QUERIES, 7)
    checked = len(shard_search._CHECKED)
    for a, b in zip(out_of_core.kneighbors(folder, QUERIES, 7), first, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(shard_search._CHECKED) == checked
    ShardedIndex(folder).remove([7])
    out_of_core.kneighbors(folder, QUERIES, 7)
    assert len(shard_search._CHECKED) > checked


KEY = b"0123456789abcdef"


def test_a_signed_folder_opens_with_its_key_only_and_is_signed_again(tmp_path, d):
    index = ShardedIndex.build(tmp_path / "index", d, ITEMS, n_shards=3, key=KEY)
    index.add(QUERIES).remove([7]).rebalance(2)
    one = NeighborIndex(d).fit(ITEMS).add(QUERIES).remove([7])
    assert_answers_as(load(tmp_path / "index", key=KEY), one)
    for a, b in zip(out_of_core.kneighbors(tmp_path / "index", QUERIES, 7, key=KEY), one.kneighbors(QUERIES, 7), strict=True):
        np.testing.assert_array_equal(a, b)
    for key, problem in ((None, "no key was given"), (KEY[::-1], "not signed with this key")):
        assert_refused(lambda: load(tmp_path / "index", key=key), problem, "give the key", error=StorageError)  # noqa: B023
    one.save(tmp_path / "alone", key=KEY)
    for a, b in zip(out_of_core.kneighbors(tmp_path / "alone", QUERIES, 7, key=KEY), one.kneighbors(QUERIES, 7), strict=True):
        np.testing.assert_array_equal(a, b)
    assert_refused(lambda: shard_locations(tmp_path / "alone"), "no key was given", "give the key", error=StorageError)


def test_the_number_of_candidates_is_that_of_the_saved_index(tmp_path, d, monkeypatch):
    asked = []
    monkeypatch.setattr(shard_search, "SearchRequest", lambda *values: asked.append(values) or SearchRequest(*values))
    NeighborIndex(d, n_candidates=37).fit(ITEMS).save(tmp_path / "index")
    out_of_core.kneighbors(tmp_path / "index", QUERIES, 3)
    out_of_core.kneighbors(tmp_path / "index", QUERIES, 3, n_candidates=50)
    assert [values[2] for values in asked] == [37, 50]
