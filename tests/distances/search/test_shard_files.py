"""A folder of shards is always whole: what is named is there, and what is not named is deleted."""

import os

import numpy as np
import pytest
from cases import assert_refused
from searches import rough_distance, search_problem

from semimetric import NeighborIndex, StorageError
from semimetric._foundation.files import write_state
from semimetric.distances.search import shard_files
from semimetric.distances.search.shard_files import (  # fmt: skip
    FILE,
    building,
    close,
    distance_digest,
    new_root,
    read_shards,
    save_shard,
    shard_locations,
    switch,
)


@pytest.fixture
def problem():
    return search_problem(60)


@pytest.fixture
def root(problem, tmp_path):
    """A folder of two shards of 40 and 20 items."""
    d, items, _ = problem
    parts = [NeighborIndex(d).fit(items[:40]), NeighborIndex(d).fit(items[40:], ids=np.arange(40, 60))]
    with new_root(tmp_path / "index") as root, building(root) as built:
        switch(root, distance_digest(d), [save_shard(built, index) for index in parts], built)
    return root


def test_shards_are_read_as_they_were_saved(root, problem):
    digest, shards = read_shards(root)
    assert digest == distance_digest(problem[0])
    assert [(s.n, s.kind) for s in shards] == [(40, "i"), (20, "i")]
    places = shard_locations(root)
    assert [len(place.open().ids_) for place in places] == [40, 20]
    assert places[0].open() is places[0].open()  # once a process


def test_the_digest_tells_distances_apart(problem):
    d = problem[0]
    assert distance_digest(d) == distance_digest(rough_distance(d.embedding.grid, seed=0, low=0.05))
    assert distance_digest(d) != distance_digest(rough_distance(d.embedding.grid, seed=1, low=0.05))


def test_a_switch_deletes_what_it_does_not_name(root, monkeypatch):
    digest, shards = read_shards(root)
    (root / "shard-left-over").mkdir()
    with monkeypatch.context() as patch, building(root) as built:
        new = save_shard(built, shard_locations(root)[0].open())
        patch.setattr(shard_files, "write_state", interrupted)
        with pytest.raises(KeyboardInterrupt):
            switch(root, digest, [new], built)
    assert sorted(p.name for p in root.iterdir()) == sorted([FILE, *(s.name for s in shards)])
    switch(root, digest, shards[1:], root)
    assert sorted(p.name for p in root.iterdir()) == sorted([FILE, shards[1].name])
    assert read_shards(root) == (digest, shards[1:])


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupt_after_the_switch_leaves_the_new(root, monkeypatch):
    """Whatever is named at that moment is kept."""
    digest, shards = read_shards(root)
    with monkeypatch.context() as patch, building(root) as built:
        new = save_shard(built, shard_locations(root)[0].open())
        patch.setattr(shard_files, "write_state", lambda *given, **key: interrupted(write_state(*given, **key)))
        with pytest.raises(KeyboardInterrupt):
            switch(root, digest, [new, shards[1]], built)
    assert sorted(p.name for p in root.iterdir()) == sorted([FILE, new.name, shards[1].name])
    assert [len(place.open().ids_) for place in shard_locations(root)] == [40, 20]


def test_a_worker_that_is_late_builds_nothing(root, problem):
    with building(root) as built:
        pass
    assert_refused(lambda: save_shard(built, NeighborIndex(problem[0]).fit(problem[1])), "there is no folder", "nobody deletes")
    assert not built.exists()


def test_a_shard_saved_again_shares_the_arrays_that_it_keeps(root, problem):
    old = read_shards(root)[1][0]
    index = shard_locations(root)[0].open()
    smaller = index.with_semimetric(index.semimetric).remove([3])
    new = save_shard(root, smaller, root / old.name)
    assert (new.n, new.name != old.name) == (39, True)
    before, after = ({p.name: p.stat().st_ino for p in (root / s.name / "arrays").iterdir()} for s in (old, new))
    kept = before.keys() & after.keys()
    assert len(kept) >= 4
    assert all(before[name] == after[name] for name in kept)


def test_a_single_saved_index_is_a_place_too(problem, tmp_path):
    d, items, _ = problem
    NeighborIndex(d).fit(items).save(tmp_path / "alone")
    (place,) = shard_locations(tmp_path / "alone")
    assert (place.shard.n, place.distance) == (60, "")
    with pytest.raises(FileNotFoundError):
        shard_locations(tmp_path / "none")


def test_few_shards_stay_open_and_a_folder_can_be_closed(root, monkeypatch):
    monkeypatch.setattr(shard_files, "_OPENED", 1)
    for place in shard_locations(root):
        place.open()
    assert len(shard_files._OPEN) == 1
    close(str(root))
    assert not [place for place in shard_files._OPEN if place.root == str(root)]


def test_folders_of_something_else_are_refused(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("a")
    enter = lambda root: new_root(root).__enter__()  # noqa: E731
    assert_refused(lambda: enter(tmp_path / "letters"), "no sharded index", "another folder", error=StorageError)
    assert_refused(lambda: enter(tmp_path / "no" / "index"), "does not exist", "create it first", error=StorageError)
    begun = tmp_path / "begun"
    (begun / "shard-of-a-build-that-died").mkdir(parents=True)
    assert enter(begun) == begun.resolve()
    with new_root(tmp_path / "new") as root:
        assert root.is_dir()
    assert not root.exists()
    assert os.listdir(tmp_path / "letters") == ["a.txt"]
