"""All distances between two sets of items, in one file."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import out_of_core
from semimetric.data.parts.engine import SerialEngine
from semimetric.out_of_core import pairwise_files
from semimetric.out_of_core.pairwise_files import _checked_target, write_pairwise

pd = pytest.importorskip("pandas")


X = np.round(np.random.default_rng(1).random((700, 3)), 2)


@pytest.mark.parametrize("name", ["singles", "premetric", "square root"])
@pytest.mark.parametrize("suffix", ["zarr", "parquet"])
def test_pairwise_distances_in_a_file(name, suffix, client, tmp_path):
    zarr, da = pytest.importorskip("zarr"), pytest.importorskip("dask.array")
    d, path = cases.fitted(name)[0].semimetric_, tmp_path / f"d.{suffix}"

    def read():
        return zarr.open_array(str(path))[:] if suffix == "zarr" else pd.read_parquet(path).to_numpy()

    items = X[:110]
    out_of_core.pairwise(d, da.from_array(items, chunks=(40, 3)), to=path, client=client)
    assert (read() == d.pairwise(items)).all()
    assert_refused(lambda: out_of_core.pairwise(d, X, to=path, client=client), "is there already", "delete", "another name")
    path.rename(tmp_path / "away")
    out_of_core.pairwise(d, items, X[:30], to=path, memory_limit="20 kB")
    assert (read() == d.pairwise(items, X[:30])).all()
    path.rename(tmp_path / "away too")
    bad = items.copy()
    bad[100, 0] = np.nan
    assert_refused(lambda: out_of_core.pairwise(d, items, bad, to=path, memory_limit="20 kB"), "rows 70 to 104 of X", "NaN")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["away", "away too"]


def sides_of(items, sizes):
    """Parts of the items, with their names."""
    pieces = np.split(items, np.cumsum(sizes)[:-1])
    return [(f"part {k}", piece) for k, piece in enumerate(pieces)]


@pytest.mark.parametrize("name", ["singles", "premetric", "base"])
@pytest.mark.parametrize("sizes", [(20,), (7, 13), (5, 5, 5, 5)])
def test_parts_of_any_size_give_the_distances_of_all(name, sizes, tmp_path):
    pytest.importorskip("pyarrow")
    d, items, others = cases.fitted(name)[0].semimetric_, X[:20], X[20:32]
    for right, want, file in ((None, d.pairwise(items), "a"), (sides_of(others, (4, 8)), d.pairwise(items, others), "b")):
        path = write_pairwise(SerialEngine(), d, sides_of(items, sizes), right, tmp_path / f"{file}.parquet")
        found = pd.read_parquet(path)
        assert list(found) == [str(k) for k in range(want.shape[1])]
        np.testing.assert_allclose(found.to_numpy(), want, rtol=1e-12)
        assert len(list(path.iterdir())) == len(sizes)


def test_tables_are_read_by_the_names_of_their_features(tmp_path):
    pytest.importorskip("pyarrow")
    d = cases.fitted("singles")[0].semimetric_
    frame = pd.DataFrame(X[:9], columns=list(d.feature_names))
    turned = frame[list(d.feature_names)[::-1]].assign(more="text")
    path = write_pairwise(SerialEngine(), d, [("part 0", turned)], None, tmp_path / "a.parquet")
    np.testing.assert_allclose(pd.read_parquet(path).to_numpy(), d.pairwise(X[:9]), rtol=1e-12)
    lacks = turned.drop(columns=d.feature_names[0])
    call = lambda: write_pairwise(SerialEngine(), d, [("part 7", lacks)], None, tmp_path / "b.parquet")  # noqa: E731
    assert_refused(call, "part 7: ", str(d.feature_names[0]))


def test_names_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "there.zarr").mkdir()
    assert_refused(lambda: _checked_target(tmp_path / "d.npy"), "must end in .zarr or .parquet", "give such a name")
    assert_refused(lambda: _checked_target(tmp_path / "there.zarr"), "is there already", "delete it, or give another name")
    assert_refused(lambda: _checked_target(tmp_path / "no" / "d.zarr"), "there is no folder", "make it first")
    assert _checked_target(str(tmp_path / "d.zarr")) == (tmp_path / "d.zarr").resolve()


def test_there_is_all_of_a_file_or_nothing(tmp_path, monkeypatch):
    d = cases.fitted("singles")[0].semimetric_

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pairwise_files, "_tile", stop)
    with pytest.raises(KeyboardInterrupt):
        write_pairwise(SerialEngine(), d, sides_of(X[:20], (10, 10)), None, tmp_path / "d.parquet")
    assert not list(tmp_path.iterdir())


def test_parts_that_zarr_or_nobody_can_take_are_refused(tmp_path):
    d = cases.fitted("singles")[0].semimetric_

    def refused(sizes, name, *parts):
        call = lambda: write_pairwise(SerialEngine(), d, sides_of(X[:20], sizes), None, tmp_path / name)  # noqa: E731
        assert_refused(call, *parts)
        assert not list(tmp_path.iterdir())

    refused((8, 12), "d.zarr", "parts of the rows have 8 to 12 rows", "Zarr needs one length", "rechunk, or write .parquet")
    refused((20, 0), "d.parquet", "part 1: it is empty", "every part needs some rows", "leave it out")
