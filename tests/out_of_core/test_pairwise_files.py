"""All distances between two sets of items, in one file."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import distributed, out_of_core

dask = pytest.importorskip("dask", reason="Dask comes with the extra distributed")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def client():
    engine = pytest.importorskip("distributed")
    with engine.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as local:
        with engine.Client(local) as client:
            yield client


X = np.round(np.random.default_rng(1).random((700, 3)), 2)


@pytest.mark.parametrize("name", ["singles", "premetric", "square root"])
@pytest.mark.parametrize("suffix", ["zarr", "parquet"])
def test_pairwise_distances_in_a_file(name, suffix, client, tmp_path):
    zarr = pytest.importorskip("zarr")
    d, path = cases.fitted(name)[0].semimetric_, tmp_path / f"d.{suffix}"

    def read():
        return zarr.open_array(str(path))[:] if suffix == "zarr" else pd.read_parquet(path).to_numpy()

    items = X[:110]
    distributed.pairwise(client, d, da.from_array(items, chunks=(40, 3)), to=path)
    assert (read() == d.pairwise(items)).all()
    assert_refused(lambda: distributed.pairwise(client, d, X, to=path), "is there already", "delete", "another name")
    path.rename(tmp_path / "away")
    out_of_core.pairwise(d, items, X[:30], to=path, memory_limit="20 kB")
    assert (read() == d.pairwise(items, X[:30])).all()
    path.rename(tmp_path / "away too")
    bad = items.copy()
    bad[100, 0] = np.nan
    assert_refused(lambda: out_of_core.pairwise(d, items, bad, to=path, memory_limit="20 kB"), "rows 70 to 104 of X", "NaN")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["away", "away too"]
