"""An index on disk answers as in memory, and never wrongly: whatever happens to its files."""

import os
import shutil

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

import semimetric
from semimetric import Grid, NeighborIndex, StorageError
from semimetric.distances.search import files as stored_segments
from semimetric.distances.search import index as index_module
from semimetric.distances.search import segment


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)


def assert_same(a, b, queries):
    for x, y in zip(a.kneighbors(queries, 6), b.kneighbors(queries, 6), strict=True):
        assert_array_equal(x, y)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", ["singles", "overlapping", "asymmetric"])
def test_saved_and_loaded_is_the_one_in_memory(tmp_path, kind, mmap):
    rng = np.random.default_rng(0)
    items, queries = rng.normal(size=(300, 3)), rng.normal(size=(5, 3))
    d = rough_distance(Grid.fit(items, n_knots=4), kind=kind)
    index = NeighborIndex(d, side="query-last", n_candidates=50).fit(items[:200], ids=np.arange(200).astype(str))
    index.add(items[200:], ids=np.arange(200, 300).astype(str)).remove(["3", "250"])
    index.save(tmp_path / "index")
    loaded = semimetric.load(tmp_path / "index", mmap=mmap)
    assert loaded.get_params()["side"] == "query-last"
    assert loaded.n_samples_fit_ == 298
    assert_same(index, loaded, queries)
    loaded.add(queries, ids=list("abcde")).remove(["7"])
    assert_same(index.add(queries, ids=list("abcde")).remove(["7"]), loaded, queries)


def test_saving_again_writes_what_is_new(tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "_TAIL", 0)
    d, items, queries = search_problem()
    index = NeighborIndex(d).fit(items)
    index.save(tmp_path / "index")
    before = {p.name: (p.stat().st_mtime_ns, p.stat().st_ino) for p in (tmp_path / "index" / "arrays").iterdir()}
    index.add(queries).remove([5])
    index.save(tmp_path / "index")
    after = {p.name: (p.stat().st_mtime_ns, p.stat().st_ino) for p in (tmp_path / "index" / "arrays").iterdir()}
    kept = set(before) & set(after)
    assert len(kept) == 7  # raw vectors, positions, codes, ids, and three arrays of lists; not who is alive
    assert all(before[name] == after[name] for name in kept)
    assert_same(index, semimetric.load(tmp_path / "index"), queries)


def test_a_first_save_that_dies_can_be_repeated(tmp_path, monkeypatch):
    d, items, queries = search_problem(60)
    index, real = NeighborIndex(d, n_candidates=np.int64(50)).fit(items), os.replace
    for n in range(8):
        count = 0

        def dying(*arguments):
            nonlocal count
            count += 1
            if count > n:  # noqa: B023
                raise KeyboardInterrupt
            return real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", dying)
            try:
                index.save(tmp_path / f"index{n}")
            except KeyboardInterrupt:
                with pytest.raises(FileNotFoundError):
                    semimetric.load(tmp_path / f"index{n}")
        index.save(tmp_path / f"index{n}")
        assert_same(index, semimetric.load(tmp_path / f"index{n}"), queries)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_nothing_new(tmp_path, monkeypatch, there, error):
    d, items, queries = search_problem(60)
    folder, old, new = tmp_path / "index", NeighborIndex(d).fit(items), NeighborIndex(d).fit(queries)
    if there:
        old.save(folder)
        (folder / "arrays" / f"{'0' * 64}.npy").touch()  # of a save that was killed
    real, count = os.replace, 0

    def full(*arguments):
        nonlocal count
        count += 1
        if count > 3:
            raise error
        return real(*arguments)

    with monkeypatch.context() as patch:  # only of the save: numba too replaces files where it stores what it compiles
        patch.setattr(os, "replace", full)
        with pytest.raises(semimetric.StorageError if isinstance(error, OSError) else KeyboardInterrupt):
            new.save(folder)
    assert folder.exists() is there
    if there:
        assert not (folder / "arrays" / f"{'0' * 64}.npy").exists()
        assert_same(old, semimetric.load(folder), queries)


def test_the_distance_of_the_fit_is_what_is_saved(tmp_path):
    d, items, queries = search_problem(60)
    other = rough_distance(Grid.fit(items, n_knots=5), seed=9)
    index = NeighborIndex(d).fit(items).set_params(semimetric=other, side="query-last")
    index.save(tmp_path / "index")
    assert_same(index, semimetric.load(tmp_path / "index"), queries)


@pytest.mark.parametrize("step", ["replace", "fsync", "unlink"])
def test_a_save_that_dies_leaves_a_whole_index(tmp_path, monkeypatch, step):
    """Killed at the n-th rename, flush or deletion, for every n: what is on disk is the old index or the new one."""
    d, items, queries = search_problem()
    old = NeighborIndex(d).fit(items)
    new = NeighborIndex(d).fit(items).add(queries).remove([5])
    wanted = [old.kneighbors(queries, 3)[1].tolist(), new.kneighbors(queries, 3)[1].tolist()]
    seen = set()
    for n in range(40):
        shutil.rmtree(tmp_path / "index", ignore_errors=True)
        old.save(tmp_path / "index")
        count = 0
        real = getattr(os, step)

        def dying(*arguments, **options):
            nonlocal count
            count += 1
            if count > n:  # noqa: B023
                raise KeyboardInterrupt
            return real(*arguments, **options)  # noqa: B023

        with monkeypatch.context() as patch:
            patch.setattr(os, step, dying)
            try:
                new.save(tmp_path / "index")
                done = True
            except KeyboardInterrupt:
                done = False
        got = semimetric.load(tmp_path / "index").kneighbors(queries, 3)[1].tolist()
        seen.add(wanted.index(got))
        if done:
            break
    assert done
    assert 1 in seen


@pytest.mark.slow
def test_altered_and_truncated_files_are_refused(tmp_path):
    d, items, queries = search_problem(60)
    NeighborIndex(d).fit(items).save(tmp_path / "index")
    rng = np.random.default_rng(0)
    for path in [tmp_path / "index" / stored_segments.FILE, *sorted((tmp_path / "index" / "arrays").iterdir())]:
        content = path.read_bytes()
        want = semimetric.load(tmp_path / "index").kneighbors(queries, 3)[1]
        places = np.unique(
            np.concatenate([np.arange(0, len(content), max(len(content) // 60, 1)), rng.integers(0, len(content), 20)])
        )
        for place in places:
            damaged = bytearray(content)
            damaged[place] ^= 1 << rng.integers(8)
            path.write_bytes(bytes(damaged))
            try:
                got = semimetric.load(tmp_path / "index").kneighbors(queries, 3)[1]
            except StorageError:
                continue
            assert path.name == stored_segments.FILE  # unused bytes of the archive
            assert_array_equal(got, want)
        for length in (0, 10, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with pytest.raises(StorageError):
                semimetric.load(tmp_path / "index", mmap=True)
        path.unlink()
        with pytest.raises((StorageError, FileNotFoundError)):
            semimetric.load(tmp_path / "index")
        path.write_bytes(content)


def test_foreign_files_and_folders_are_refused(tmp_path):
    d, items, _ = search_problem(60)
    index = NeighborIndex(d).fit(items)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    assert_refused(lambda: index.save(tmp_path / "full"), "is there and is no index", "another folder", error=StorageError)
    assert_refused(lambda: index.save(tmp_path / "no" / "index"), "does not exist", "create it", error=StorageError)
    index.save(tmp_path / "index")
    d.save(tmp_path / "index" / stored_segments.FILE)
    assert_refused(lambda: semimetric.load(tmp_path / "index"), "holds a Semimetric", "not an index", error=StorageError)


@pytest.mark.parametrize("mmap", [False, True])
def test_inverted_lists_are_saved_and_searched_as_before(tmp_path, mmap):
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(20, 4))
    items = centres[rng.integers(0, 20, 3000)] + rng.normal(size=(3000, 4))
    queries = items[:30] + 0.4
    d = rough_distance(Grid.fit(items, n_knots=5), low=0.05)
    index = NeighborIndex(d, algorithm="approximate", n_lists=30, n_probe=2, n_candidates=20).fit(items)
    index.save(tmp_path / "index")
    loaded = semimetric.load(tmp_path / "index", mmap=mmap)
    for one, two in zip(loaded.segments_[0].lists, index.segments_[0].lists, strict=True):
        assert_array_equal(one, two)
        assert one.dtype == two.dtype
    assert_same(index, loaded, queries)
    assert (loaded.get_params()["n_lists"], loaded.get_params()["n_probe"]) == (30, 2)
    flat = NeighborIndex(d, algorithm="approximate", n_candidates=20).fit(items)
    assert (flat.kneighbors(queries, 6)[1] != loaded.kneighbors(queries, 6)[1]).any()  # so the lists were used
    exact, brute = loaded.kneighbors(queries, 6, algorithm="exact"), flat.kneighbors(queries, 6, algorithm="brute")
    for one, two in zip(exact, brute, strict=True):
        assert_array_equal(one, two)
    loaded.add(queries).remove([3])
    assert_same(index.add(queries).remove([3]), loaded, queries)
    loaded.save(tmp_path / "index")
    assert_same(index, semimetric.load(tmp_path / "index", mmap=mmap), queries)


def test_the_names_of_a_frame_are_saved(tmp_path):
    pandas = pytest.importorskip("pandas")
    d, items, queries = search_problem()
    items, queries = (pandas.DataFrame(rows, columns=list(d.feature_names)) for rows in (items, queries))
    index = NeighborIndex(d).fit(items)
    index.save(tmp_path / "index")
    loaded = semimetric.load(tmp_path / "index")
    assert loaded.feature_names_in_.tolist() == list(d.feature_names)
    assert loaded.n_features_in_ == 4
    assert_same(index, loaded, queries)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.kneighbors(queries[queries.columns[::-1]])
    unnamed = NeighborIndex(d).fit(items.to_numpy())
    unnamed.save(tmp_path / "unnamed")
    assert not hasattr(semimetric.load(tmp_path / "unnamed"), "feature_names_in_")
