"""A folder of indexes is searched as one: the same ids and the same bits as one index."""

import shutil

import cases
import numpy as np
import pytest
from cases import assert_refused

import semimetric
from semimetric import InputError, NeighborIndex, ShardedIndex, StorageError
from semimetric.distances.search import shard_files
from semimetric.distances.search import sharded as sharded_index

RNG = np.random.default_rng(0)
ITEMS = np.round(RNG.random((5000, 3)), 2)  # so that distances tie
QUERIES = RNG.random((8, 3))


@pytest.fixture(scope="module", params=["singles", "square root", "joint"])
def d(request):
    return cases.fitted(request.param)[0].semimetric_


@pytest.fixture(scope="module")
def folder(d, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards") / "index"
    ShardedIndex.build(folder, d, ITEMS, n_shards=4)
    return folder


@pytest.fixture
def copy(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "index")
    return tmp_path / "index"


def assert_same(index, one, **where):
    for k in (1, 10):
        for a, b in zip(index.kneighbors(QUERIES, k, **where), one.kneighbors(QUERIES, k, **where), strict=True):
            assert (a == b).all()
    for a, b in zip(index.radius_neighbors(QUERIES, 0.2), one.radius_neighbors(QUERIES, 0.2), strict=True):
        assert all((x == y).all() for x, y in zip(a, b, strict=True))


def test_answers_are_those_of_one_index(folder, d):
    index, one = semimetric.load(folder, mmap=True), NeighborIndex(d).fit(ITEMS)
    assert [s.n for s in index.shards] == [1250] * 4
    assert_same(index, one)
    assert_same(index, one, where=np.arange(5000) % 7 == 0)
    assert (index.kneighbors_graph(QUERIES) != one.kneighbors_graph(QUERIES)).nnz == 0


def test_shards_certify(d, tmp_path):
    """Shards that are large enough to be scanned."""
    index, one = ShardedIndex.build(tmp_path / "index", d, ITEMS, n_shards=2), NeighborIndex(d).fit(ITEMS)
    for a, b in zip(index.kneighbors(QUERIES[:5], 10), one.kneighbors(QUERIES[:5], 10, algorithm="brute"), strict=True):
        assert (a == b).all()
    small = ShardedIndex.build(tmp_path / "small", d, ITEMS[:60], n_shards=3)
    for a, b in zip(small.kneighbors(None, 2), NeighborIndex(d).fit(ITEMS[:60]).kneighbors(None, 2), strict=True):
        assert (a == b).all()


def test_adding_removing_and_balancing_again(copy, d):
    index = ShardedIndex(copy).remove(np.arange(1100)).add(ITEMS[:7] + 0.001)
    assert sorted(s.n for s in index.shards) == [157, 1250, 1250, 1250]
    one = NeighborIndex(d).fit(ITEMS).remove(np.arange(1100)).add(ITEMS[:7] + 0.001)
    assert_same(index, one)
    assert_same(ShardedIndex(copy), one)
    before = {p.name for p in copy.iterdir()}
    assert_same(index.rebalance(3), one)
    assert sorted(s.n for s in index.shards) == [1302, 1302, 1303]
    assert {p.name for p in copy.iterdir()} & before == {"shards.smm"}
    assert_same(ShardedIndex(copy, mmap=False), one)
    assert_refused(lambda: index.remove([1, 2]), "id 1 is not in the index", "nothing was removed", "drop it")
    assert_refused(lambda: index.add(ITEMS[:1], [4000]), "id 4000 is in the index already", "another")
    whole = index.shards[0]
    index.remove(index.locations[0].open().ids_)
    assert whole not in index.shards
    assert len(index.shards) == 2


def test_ids_are_distinct_across_shards(d, tmp_path):
    ids = np.array([f"item {k}" for k in range(100)])
    index = ShardedIndex.build(tmp_path / "a", d, ITEMS[:100], ids=ids, n_shards=3)
    assert set(index.kneighbors(QUERIES, 3)[1].ravel()) < set(ids)
    ids[70] = ids[2]
    call = lambda: ShardedIndex.build(tmp_path / "a", d, ITEMS[:100], ids=ids, n_shards=3)  # noqa: E731
    assert_refused(call, "id item 2 is in rows 0 to 32 of X and in rows 66 to 99 of X", "distinct", "give others")
    assert (ShardedIndex(tmp_path / "a").ids_ == index.ids_).all()  # the old one is whole, and nothing is left of the new
    assert len([*(tmp_path / "a").glob("shard-*")]) == 3
    assert_refused(
        lambda: ShardedIndex.build(tmp_path / "b", d, ITEMS[:9], ids=[1] * 9, n_shards=2), "rows 0 to 3 of X", "twice"
    )
    bad = ITEMS[:100].copy()
    bad[50, 1] = np.nan
    assert_refused(lambda: ShardedIndex.build(tmp_path / "b", d, bad, n_shards=3), "rows 33 to 65 of X", "NaN")
    assert not (tmp_path / "b").exists()


def test_what_does_not_belong_is_refused_and_named(copy, d, tmp_path):
    index = ShardedIndex(copy, mmap=False)
    second = index.shards[1].name

    def refused(*parts):
        assert_refused(lambda: ShardedIndex(copy), *parts, error=StorageError)

    shutil.move(copy / second, tmp_path / "away")
    refused(f"shard {second}", "is missing", "restore")
    shutil.copytree(copy / index.shards[0].name, copy / second)
    refused(f"shard {second}", "is not the one", "foreign")
    shutil.rmtree(copy / second)
    shutil.copytree(tmp_path / "away", copy / second)
    array = next((copy / second / "arrays").iterdir())
    array.write_bytes(array.read_bytes()[:-1])
    refused(f"shard {second}", "truncated or altered", "restore")
    shutil.rmtree(copy / second)
    other = NeighborIndex(cases.fitted("warped")[0].semimetric_).fit(ITEMS)
    digest, there = shard_files.read_shards(copy)
    there[1] = shard_files.save_shard(copy, other)
    shard_files.switch(copy, digest, there, copy)
    refused(f"shard {there[1].name}", "another distance", "build it again")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    build = lambda where: ShardedIndex.build(where, d, ITEMS[:5])  # noqa: E731
    assert_refused(lambda: build(tmp_path / "full"), "no sharded index", "another folder", error=StorageError)
    assert_refused(lambda: build(tmp_path / "none" / "x"), "does not exist", "create it first", error=StorageError)


def test_a_switch_that_does_not_happen_leaves_the_old(copy, monkeypatch):
    index = ShardedIndex(copy)
    before = index.kneighbors(QUERIES, 5)

    def killed(*_, key):
        raise KeyboardInterrupt

    for change in (lambda i: i.remove([5]), lambda i: i.add(ITEMS[:1]), lambda i: i.rebalance(2)):
        with monkeypatch.context() as patched:
            patched.setattr(sharded_index, "switch", killed)
            with pytest.raises(KeyboardInterrupt):
                change(ShardedIndex(copy))
        again = ShardedIndex(copy)
        assert all((a == b).all() for a, b in zip(again.kneighbors(QUERIES, 5), before, strict=True))
    again.remove([5])
    assert len([*copy.glob("shard-*")]) == 4  # what was left over is gone


def test_items_in_files(d, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    np.save(tmp_path / "items.npy", ITEMS)
    one = NeighborIndex(d).fit(ITEMS[:600])
    mapped = np.load(tmp_path / "items.npy", mmap_mode="r")[:600]
    assert_same(ShardedIndex.build(tmp_path / "a", d, mapped, memory_limit="60 kB"), one)
    frame = pd.DataFrame(ITEMS[:600], columns=["x0", "x1", "x2"]).assign(key=np.arange(600))
    frame.to_parquet(tmp_path / "items.parquet", row_group_size=200)
    index = ShardedIndex.build(tmp_path / "b", d, tmp_path / "items.parquet", ids="key", n_shards=3)
    assert len(index.shards) == 3
    assert_same(index, one)
    with pytest.raises(InputError, match="no column 'name' for ids"):
        ShardedIndex.build(tmp_path / "c", d, tmp_path / "items.parquet", ids="name")


def test_it_tells_its_distance_its_items_and_its_features(folder, d, copy):
    index = ShardedIndex(folder)
    np.testing.assert_array_equal(index.semimetric.pairwise(QUERIES), d.pairwise(QUERIES))
    assert (index.n_samples_fit_, index.n_features_in_) == (5000, 3)
    changed = ShardedIndex(copy).remove([3, 1300, 4999])
    assert changed.n_samples_fit_ == len(changed.ids_) == 4997
    assert changed.add(ITEMS[:10] + 0.001).n_samples_fit_ == sum(s.n for s in changed.shards) == 5007
    assert ShardedIndex(copy).n_samples_fit_ == 5007
