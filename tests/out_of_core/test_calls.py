"""More data than memory: arrays, mapped arrays and files of either kind learn and answer alike."""

import cases
import numpy as np
import pandas
import pytest
from cases import assert_refused
from learners import made
from scipy import sparse

from semimetric import DistanceRegressor, NeighborIndex, NotSupportedError, PL1Embedding, StorageError, out_of_core
from semimetric.out_of_core import pairwise_files

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]
pytestmark = pytest.mark.usefixtures("small")


def in_blocks(options, pairs=POINTS, y=Y, weight=None, **more):
    return out_of_core.fit(made(DistanceRegressor, **options), pairs, y, weight, **more)


def test_the_same_blocks_give_the_same_bits_wherever_they_are(tmp_path, monkeypatch):
    np.save(tmp_path / "pairs.npy", POINTS)
    np.save(tmp_path / "y.npy", Y)
    mapped = np.load(tmp_path / "pairs.npy", mmap_mode="r")
    models = [in_blocks(cases.FAST, p, y) for p, y in ((POINTS, Y), (mapped, Y), (tmp_path / "pairs.npy", tmp_path / "y.npy"))]
    assert len({m.semimetric_.weights.tobytes() for m in models}) == 1
    monkeypatch.undo()
    whole = in_blocks(cases.FAST).semimetric_.weights
    assert not (whole == models[0].semimetric_.weights).all()  # another tree: so there were blocks


def test_row_numbers_of_items_in_a_file(tmp_path):
    np.save(tmp_path / "items.npy", ITEMS)
    options = cases.FAST | {"preprocessor": np.load(tmp_path / "items.npy", mmap_mode="r")}
    parts = in_blocks(options, INDEX)
    np.testing.assert_allclose(parts.predict(INDEX), made(DistanceRegressor, **options).fit(INDEX, Y).predict(INDEX), rtol=1e-9)


def test_tables_of_pairs(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sides = {f"{side}.{name}": POINTS[:, s, k] for s, side in enumerate(("left", "right")) for k, name in enumerate("uvw")}
    pd.DataFrame(sides | {"d": Y, "w": 1.0}).to_parquet(tmp_path / "pairs.parquet", row_group_size=25)
    pd.DataFrame({"left": INDEX[:, 0], "right": INDEX[:, 1], "d": Y}).to_parquet(tmp_path / "rows.parquet", row_group_size=25)
    a = out_of_core.fit(DistanceRegressor(**cases.FAST), tmp_path / "pairs.parquet", "d", "w")
    assert a.semimetric_.feature_names == ("u", "v", "w")
    b = in_blocks(cases.FAST | {"preprocessor": ITEMS}, tmp_path / "rows.parquet", "d")
    np.testing.assert_allclose(a.predict(POINTS), DistanceRegressor(**cases.FAST).fit(POINTS, Y).predict(POINTS), rtol=1e-9)
    whole = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).fit(INDEX, Y)
    np.testing.assert_allclose(b.predict(INDEX), whole.predict(INDEX), rtol=1e-9)
    assert_refused(lambda: in_blocks(cases.FAST, tmp_path / "pairs.parquet", "e"), "'e'", "missing", "same columns")
    assert_refused(lambda: in_blocks(cases.FAST, tmp_path / "rows.parquet", "d"), "left, right", "left.NAME", "preprocessor=")


@pytest.fixture(scope="module")
def d():
    return cases.fitted("square root")[0].semimetric_


X = np.round(np.random.default_rng(1).random((700, 3)), 2)


def test_queries_in_blocks(d, tmp_path):
    index = NeighborIndex(d).fit(X)
    index.save(tmp_path / "one")
    np.save(tmp_path / "x.npy", X)
    found = out_of_core.kneighbors(tmp_path / "one", tmp_path / "x.npy", 3, memory_limit="100 kB")
    assert all((a == b).all() for a, b in zip(found, index.kneighbors(X, 3), strict=True))


@pytest.fixture
def saved(tmp_path):
    """The folder of a saved index with two segments and ids of text, the index, and queries."""
    d, rng = cases.fitted("pairs")[0].semimetric_, np.random.default_rng(0)
    index = (
        NeighborIndex(d).fit(rng.random((300, 3)), ids=np.arange(300).astype(str)).add(rng.random((9, 3)), list("abcdefghi"))
    )
    index.save(tmp_path / "one")
    return tmp_path / "one", index, rng.random((70, 3))


def test_a_plain_saved_index_is_asked_block_by_block(saved, tmp_path):
    folder, index, queries = saved
    np.save(tmp_path / "queries.npy", queries)
    wanted = index.kneighbors(queries, 4)
    for source in (queries, np.load(tmp_path / "queries.npy", mmap_mode="r"), tmp_path / "queries.npy"):
        for limit in ("1 GiB", "20 kB", 1):
            found = out_of_core.kneighbors(folder, source, 4, memory_limit=limit)
            for one, two in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, two)
    for options in ({"algorithm": "brute"}, {"algorithm": "approximate", "n_candidates": 6}):
        found, wanted = out_of_core.kneighbors(folder, queries, 4, **options), index.kneighbors(queries, 4, **options)
        for one, two in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, two)


def test_groups_are_asked_as_the_index_is(tmp_path):
    rng = np.random.default_rng(0)
    items, queries, names = rng.random((60, 2)), rng.random((9, 2)), ["a", "b", "c"]
    index = NeighborIndex("l1").fit(pandas.DataFrame(items, columns=["x0", "x1"]), payload={"shop": rng.choice(names, 60)})
    index.save(tmp_path / "one")
    shops = rng.choice(names, 9)
    frame, by = pandas.DataFrame({"x0": queries[:, 0], "x1": queries[:, 1], "shop": shops}), {"shop": shops}
    ask = lambda X, **how: out_of_core.kneighbors(tmp_path / "one", X, 30, **how)  # noqa: E731
    for found in (ask(frame, by="shop"), ask(frame[["x0", "x1"]], by=by)):
        for one, two in zip(found, index.kneighbors(frame, 30, by="shop"), strict=True):
            np.testing.assert_array_equal(one, two)
    for found, *want in zip(
        out_of_core.radius_neighbors(tmp_path / "one", frame, 0.5, by="shop"),
        *index.radius_neighbors(frame, 0.5, by="shop"),
        strict=True,
    ):
        for one, two in zip(found, want, strict=True):
            np.testing.assert_array_equal(one, two)
    for X, how in ((None, {}), (queries, {"to": tmp_path / "answers"}), (tmp_path / "queries.npy", {})):
        assert_refused(lambda X=X, how=how: ask(X, by="shop", **how), "by='shop' with ", "in memory", error=NotSupportedError)


def test_queries_that_cannot_be_asked_are_named(saved):
    folder, _, queries = saved
    bad = queries.copy()
    bad[65, 1] = np.nan
    ask = lambda X, k=3: out_of_core.kneighbors(folder, X, k, memory_limit="20 kB")  # noqa: E731
    assert_refused(lambda: ask(bad), "rows 56 to 69 of X", "NaN")
    assert_refused(lambda: ask(queries[:, :2]), "of X: ", "2 features", "3 features")
    assert_refused(lambda: ask(queries[0]), "X has shape (3,)", "(n, n_features) are required", "reshape it")
    assert_refused(lambda: ask(queries, 310), "n_neighbors=310", "309 items", "ask for fewer")


def test_rows_that_cannot_be_transformed_are_named():
    embedding = PL1Embedding(3).fit(ITEMS)
    blocks = list(out_of_core.transform(embedding, ITEMS, memory_limit="10 kB"))
    assert len(blocks) > 1
    assert (sparse.vstack(blocks) != embedding.transform(ITEMS)).nnz == 0
    bad = ITEMS.copy()
    bad[-1, 0] = np.inf
    done = out_of_core.transform(embedding, bad, memory_limit="10 kB")
    assert (next(done) != blocks[0]).nnz == 0  # what comes before can be used
    assert_refused(lambda: list(done), "to 39 of X: ", "infinity")


def test_where_distances_cannot_be_written_nothing_is(tmp_path):
    d = cases.fitted("singles")[0].semimetric_

    def refused(X, to, *parts):
        assert_refused(lambda: out_of_core.pairwise(d, X, to=to, memory_limit="2 kB"), *parts)
        assert not [path for path in tmp_path.iterdir() if path.name != "there.parquet"]

    (tmp_path / "there.parquet").mkdir()
    refused(ITEMS, tmp_path / "d.npy", "d.npy' must end in .zarr or .parquet", "", "give such a name")
    refused(ITEMS, tmp_path / "there.parquet", "there.parquet is there already", "", "delete it, or give another name")
    refused(ITEMS, tmp_path / "away" / "d.parquet", "there is no folder", "for d.parquet", "make it first")
    bad = ITEMS.copy()
    bad[39, 2] = np.nan
    refused(bad, tmp_path / "d.parquet", "to 39 of X", "NaN")
    refused(ITEMS[:, :2], tmp_path / "d.parquet", "rows 0 to", "2 features", "")
    refused(ITEMS[:0], tmp_path / "d.parquet", "X has no rows", "at least one is required")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_file_of_distances_is_whole_or_not_there(error, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    d = cases.fitted("singles")[0].semimetric_
    real, calls = pairwise_files._write_rows, []

    def dies(*args):
        calls.append(args)
        if len(calls) == 2:
            raise error
        return real(*args)

    monkeypatch.setattr(pairwise_files, "_write_rows", dies)
    with pytest.raises(StorageError if error is OSError else error):
        out_of_core.pairwise(d, ITEMS, to=tmp_path / "d.parquet", memory_limit="2 kB")
    assert len(calls) == 2
    assert not [*tmp_path.iterdir()]
