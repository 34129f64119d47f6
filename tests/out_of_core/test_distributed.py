"""The calls with a client: the same parts give the same bits as here."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import (
    DistanceRegressor,
    FirstOrder,
    NeighborIndex,
    NotSupportedError,
    Semimetric,
    ShardedIndex,
    StorageError,
    out_of_core,
)
from semimetric.out_of_core.answer_files import read_run

dask = pytest.importorskip("dask", reason="Dask comes with the extra distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]
CHUNKS = (40, 40, 70)


def arrays():
    return da.from_array(POINTS, chunks=(CHUNKS, 2, 1)), da.from_array(Y, chunks=50)


def frame(points=POINTS, y=Y):
    sides = {f"{side}.{n}": points[:, s, k] for s, side in enumerate(("left", "right")) for k, n in enumerate("uvw")}
    return pd.DataFrame(sides | {"d": y})


@pytest.mark.parametrize("name", ["singles", "touched", "relative", "pca", "trees"])
def test_the_same_parts_give_the_same_bits(name, client, small):
    there, here = (made(DistanceRegressor, **cases.RECIPES[name]) for _ in range(2))
    out_of_core.fit(there, POINTS, Y, client=client)
    out_of_core.fit(here, POINTS, Y)
    assert (there.semimetric_.weights == here.semimetric_.weights).all()
    whole = made(DistanceRegressor, **cases.RECIPES[name]).fit(POINTS, Y)
    assert there.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)


@pytest.mark.slow
def test_dask_arrays_and_frames(client, tmp_path):
    np.save(tmp_path / "y.npy", Y)
    whole = DistanceRegressor(**cases.FAST).fit(POINTS, Y).predict(POINTS)
    series = dd.from_pandas(frame(), npartitions=3)
    for pairs, y in (arrays(), (arrays()[0], Y), (arrays()[0], str(tmp_path / "y.npy")), (series, "d"), (series, series["d"])):
        model = out_of_core.fit(DistanceRegressor(**cases.FAST), pairs, y, client=client)
        np.testing.assert_allclose(model.predict(POINTS), whole, rtol=1e-9)
    assert model.semimetric_.feature_names == ("u", "v", "w")
    rows = da.from_array(INDEX, chunks=60)
    options = cases.FAST | {"preprocessor": da.from_array(ITEMS, chunks=7)}
    model = out_of_core.fit(made(DistanceRegressor, **options), rows, Y, client=client)
    whole = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).fit(INDEX, Y)
    np.testing.assert_allclose(model.semimetric_.paired(*POINTS.swapaxes(0, 1)), whole.predict(INDEX), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
def test_other_losses_go_the_same_way_as_here(client):
    options = cases.FAST | {"loss": "huber", "solver": FirstOrder(max_iter=10)}
    there = out_of_core.fit(made(DistanceRegressor, **options), *arrays(), client=client)
    here = made(DistanceRegressor, **options).fit(POINTS, Y)
    assert there.solution_.objective == pytest.approx(here.solution_.objective, rel=1e-9)


def test_bad_parts_are_named(client, tmp_path):
    def refused(pairs, y, *parts):
        assert_refused(lambda: out_of_core.fit(DistanceRegressor(**cases.FAST), pairs, y, client=client), *parts)

    pairs, y = arrays()
    spoilt = POINTS.copy()
    spoilt[45, 0, 1] = np.nan
    refused(da.from_array(spoilt, chunks=(CHUNKS, 2, 3)), y, "partition 1 of pairs", "'x1'", "finite")
    refused(pairs, da.where(y == y[100], -1.0, y), "partition 2 of pairs: y[20] is -1", ">= 0")
    refused(pairs[pairs[:, 0, 0] > 0.5], y, "chunk 0 of pairs has an unknown size", "compute_chunk_sizes()")
    kept = (np.arange(150) < 40) | (np.arange(150) >= 80)
    refused(pairs[da.from_array(kept, chunks=(CHUNKS,))].compute_chunk_sizes(), y, "partition 1 of pairs is empty", "rechunk")
    np.save(tmp_path / "y.npy", Y)
    refused(dd.from_pandas(frame(), npartitions=2), str(tmp_path / "y.npy"), "y is an array beside a frame", "a column")
    refused(pairs, y[:-1], "y has shape (149,)", "one entry a pair")
    refused(pairs[:, :1], y, "(150, 1, 3)", "(n_pairs, 2, n_features)")
    refused(dd.from_pandas(frame().drop(columns="right.v"), npartitions=2), "d", "right.v is missing", "left.NAME")
    parts = [dask.delayed(f) for f in (frame()[:50], frame()[50:50], frame()[50:])]
    refused(dd.from_delayed(parts, meta=frame()[:0], verify_meta=False), "d", "partition 1 of pairs", "empty", "repartition")
    parts = [dask.delayed(f) for f in (frame()[:50], frame()[50:].astype({"left.u": str}))]
    refused(dd.from_delayed(parts, meta=frame()[:0], verify_meta=False), "d", "partition 1 of pairs", "numbers")
    parts = [dask.delayed(f) for f in (frame()[:50], frame()[50:].rename(columns={"left.u": "x"}))]
    refused(dd.from_delayed(parts, meta=frame()[:0], verify_meta=False), "d", "partition 1 of pairs", "'left.u'")


@pytest.fixture(scope="module")
def d():
    return cases.fitted("square root")[0].semimetric_


X = np.round(np.random.default_rng(1).random((700, 3)), 2)


def test_shards_are_built_and_searched_as_one_index(client, d, tmp_path):
    shards = out_of_core.build_index(tmp_path / "index", d, da.from_array(X, chunks=(200, 2)), client=client)
    assert [s.n for s in shards] == [200, 200, 200, 100]
    one, queries = NeighborIndex(d).fit(X), X[:90] + 0.003
    one.save(tmp_path / "one")
    for folder in ("index", "one"):
        found = out_of_core.kneighbors(tmp_path / folder, da.from_array(queries, chunks=20), 7, client=client)
        assert all((a == b).all() for a, b in zip(found, one.kneighbors(queries, 7), strict=True))
    found = out_of_core.radius_neighbors(tmp_path / "index", queries, 0.3, client=client)
    for (distances, ids), *expected in zip(found, *one.radius_neighbors(queries, 0.3), strict=True):
        assert (distances == expected[0]).all()
        assert (ids == expected[1]).all()
    by = {"x0": queries[:, 0].round(1)}  # which few items equal
    found = out_of_core.kneighbors(tmp_path / "index", queries, 7, by=by, client=client)
    assert np.isfinite(found[0]).any()
    assert np.isinf(found[0]).any()
    assert all((a == b).all() for a, b in zip(found, one.kneighbors(queries, 7, by=by), strict=True))
    graph = out_of_core.kneighbors_graph(tmp_path / "index", queries, 4, "distance", client=client)
    assert (graph != one.kneighbors_graph(queries, 4, "distance")).nnz == 0
    there = out_of_core.rebalance(tmp_path / "index", 2, client=client)
    assert [s.n for s in there.shards] == [350, 350]
    assert (there.kneighbors(queries, 7)[1] == one.kneighbors(queries, 7)[1]).all()
    assert_refused(
        lambda: out_of_core.kneighbors(tmp_path / "index", queries, 701, client=client), "n_neighbors=701", "700 items", "fewer"
    )


@pytest.mark.slow
def test_shards_that_cannot_hold_an_answer_are_not_asked_by_a_cluster(client, tmp_path):
    """Two workers, shards built by them from clusters of a file, and answers in files."""
    rng = np.random.default_rng(2)
    centres = rng.random((5, 3)) * 30
    items = np.round(centres[rng.integers(0, 5, 900)] + rng.normal(size=(900, 3)), 1)
    queries, d = items[:80] + 0.03, Semimetric.l1(items)
    np.save(tmp_path / "items.npy", items)
    options = {"n_shards": 5, "partition": "kmeans", "storage": "uint16", "resume": True, "client": client}
    shards = out_of_core.build_index(tmp_path / "index", d, tmp_path / "items.npy", **options)
    assert len(shards) == 5
    one, index = NeighborIndex(d).fit(items), ShardedIndex(tmp_path / "index")
    assert {place.open().storage for place in index.locations} == {"uint16"}
    for X in (queries, None):
        want = [array if X is not None else array[index.ids_] for array in one.kneighbors(X, 4)]
        found = out_of_core.kneighbors(tmp_path / "index", X, 4, client=client)
        assert all((a == b).all() for a, b in zip(found, want, strict=True))
        to = out_of_core.kneighbors(tmp_path / "index", X, 4, client=client, to=tmp_path / f"answers {X is None}")
        assert all((np.load(to / f"{name}.npy") == b).all() for name, b in zip(("distances", "ids"), want, strict=True))
        traffic = read_run(to)[2]
        assert traffic.queries == len(want[0])
        assert traffic.asked < 2 * traffic.queries
    graph = out_of_core.kneighbors_graph(tmp_path / "index", None, 4, "distance", client=client)
    assert (graph != one.kneighbors_graph(None, 4, "distance")[index.ids_][:, index.ids_]).nnz == 0
    build = lambda X, **how: out_of_core.build_index(tmp_path / "b", d, X, client=client, **how)  # noqa: E731
    chunks = da.from_array(items, chunks=(300, 3))
    assert_refused(lambda: build(chunks, n_shards=2), "n_shards=2", "in parts already", "rechunk")
    assert_refused(lambda: build(chunks, partition="kmeans"), "Dask collection", "a .npy file", error=NotSupportedError)


@pytest.mark.parametrize("sharded", [False, True])
def test_signed_folders_are_searched_with_their_key(client, d, tmp_path, sharded):
    X, key = np.random.default_rng(0).normal(size=(60, 3)), bytes(range(16))
    if sharded:
        ShardedIndex.build(tmp_path / "a", d, X, n_shards=2, key=key)
    else:
        NeighborIndex(d).fit(X).save(tmp_path / "a", key=key)
    here = NeighborIndex(d).fit(X)
    distances, ids = out_of_core.kneighbors(tmp_path / "a", X[:3], 2, key=key, client=client)
    np.testing.assert_array_equal((distances, ids), here.kneighbors(X[:3], 2))
    assert out_of_core.kneighbors_graph(tmp_path / "a", X[:3], 2, key=key, client=client).nnz == 6
    assert [found[1][0] for found in out_of_core.radius_neighbors(tmp_path / "a", X[:3], 0.1, key=key, client=client)] == [
        0,
        1,
        2,
    ]
    for search in (out_of_core.kneighbors, out_of_core.kneighbors_graph, out_of_core.radius_neighbors):
        assert_refused(lambda: search(tmp_path / "a", X[:3], 2, client=client), "is signed", "key=", error=StorageError)  # noqa: B023


def test_a_payload_goes_to_the_shards_of_its_rows(client, d, tmp_path):
    stock = {"brand": np.array(["a", "b", "c"])[np.arange(700) % 3], "stock": np.arange(700)}
    chunks = da.from_array(X, chunks=(200, 2))
    for how in ({}, {"ids": np.arange(700)}):
        out_of_core.build_index(tmp_path / "index", d, chunks, payload=stock, client=client, **how)
        index = ShardedIndex(tmp_path / "index")
        want = NeighborIndex(d).fit(X).kneighbors(X[:9], 5, where=(np.arange(700) % 3 == 1) & (np.arange(700) > 350))
        for got, expected in zip(index.kneighbors(X[:9], 5, where="brand == 'b' & stock > 350"), want, strict=True):
            assert (got == expected).all()
        assert index.get_payload([699, 0])["stock"].tolist() == [699, 0]
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    assert_refused(
        lambda: out_of_core.build_index(tmp_path / "b", d, frame, payload=stock, client=client),
        "unknown lengths",
        "as an array",
    )


def test_ids_of_frames_are_a_column(client, d, tmp_path):
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(key=[f"k{k}" for k in range(700)])
    build = lambda f, **how: out_of_core.build_index(tmp_path / "a", d, dd.from_pandas(f, npartitions=3), **how, client=client)  # noqa: E731
    build(frame, ids="key")
    assert (out_of_core.kneighbors(tmp_path / "a", X[:5], 1, client=client)[1].ravel() == frame.key[:5]).all()
    assert_refused(lambda: build(frame), "unknown lengths", "no numbers", "ids=")
    frame.loc[699, "key"] = "k3"
    assert_refused(
        lambda: build(frame, ids="key"), "id k3 is in partition 0 of X and in partition 2 of X", "distinct", "others"
    )


def test_embeddings_by_partition(client, d, tmp_path):
    warped = cases.fitted("warped")[0].semimetric_
    expected = warped.transform(X)
    assert (out_of_core.transform(warped, da.from_array(X, chunks=(200, 1)), client=client).compute() == expected).all()
    np.save(tmp_path / "x.npy", X)
    assert (out_of_core.transform(warped, tmp_path / "x.npy", client=client).compute() == expected).all()
    assert (np.concatenate(list(out_of_core.transform(warped, tmp_path / "x.npy", memory_limit="50 kB"))) == expected).all()
    bad = np.where(X == X[650, 1], np.nan, X)
    lazy = out_of_core.transform(
        warped, da.from_array(np.where(np.arange(700)[:, None] < 600, X, bad), chunks=(200, 3)), client=client
    )
    assert_refused(lazy.compute, "partition 3 of X", "NaN")
