"""The calls with a client: the same parts give the same bits as here."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, FirstOrder, NotSupportedError, cluster, distributed, out_of_core, sources

dask = pytest.importorskip("dask", reason="Dask comes with the extra distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]
CHUNKS = (40, 40, 70)


@pytest.fixture(scope="module")
def client():
    engine = pytest.importorskip("distributed")
    with engine.LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=None) as local:
        with engine.Client(local) as client:
            yield client


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(sources, "pair_size", lambda *_: 40)


def arrays():
    return da.from_array(POINTS, chunks=(CHUNKS, 2, 1)), da.from_array(Y, chunks=50)


def frame(points=POINTS, y=Y):
    sides = {f"{side}.{n}": points[:, s, k] for s, side in enumerate(("left", "right")) for k, n in enumerate("uvw")}
    return pd.DataFrame(sides | {"d": y})


@pytest.mark.parametrize("name", ["singles", "touched", "relative", "pca"])
def test_the_same_parts_give_the_same_bits(name, client, small):
    there, here = (DistanceRegressor(**cases.RECIPES[name]) for _ in range(2))
    distributed.fit(client, there, POINTS, Y)
    out_of_core.fit(here, POINTS, Y)
    assert (there.semimetric_.weights == here.semimetric_.weights).all()
    whole = DistanceRegressor(**cases.RECIPES[name]).fit(POINTS, Y)
    assert there.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)


def test_dask_arrays_and_frames(client):
    whole = DistanceRegressor(**cases.FAST).fit(POINTS, Y).predict(POINTS)
    series = dd.from_pandas(frame(), npartitions=3)
    for pairs, y in (arrays(), (arrays()[0], Y), (series, "d"), (series, series["d"])):
        model = distributed.fit(client, DistanceRegressor(**cases.FAST), pairs, y)
        np.testing.assert_allclose(model.predict(POINTS), whole, rtol=1e-9)
    assert model.semimetric_.feature_names == ("u", "v", "w")
    rows = da.from_array(INDEX, chunks=60)
    options = cases.FAST | {"preprocessor": da.from_array(ITEMS, chunks=7)}
    model = distributed.fit(client, DistanceRegressor(**options), rows, Y)
    whole = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).fit(INDEX, Y)
    np.testing.assert_allclose(model.semimetric_.paired(*POINTS.swapaxes(0, 1)), whole.predict(INDEX), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
def test_other_losses_go_the_same_way_as_here(client):
    options = cases.FAST | {"loss": "huber", "solver": FirstOrder(max_iter=10)}
    there = distributed.fit(client, DistanceRegressor(**options), *arrays())
    here = DistanceRegressor(**options).fit(POINTS, Y)
    assert there.solution_.objective == pytest.approx(here.solution_.objective, rel=1e-9)


def test_bad_parts_are_named(client):
    def refused(pairs, y, *parts):
        assert_refused(lambda: distributed.fit(client, DistanceRegressor(**cases.FAST), pairs, y), *parts)

    pairs, y = arrays()
    spoilt = POINTS.copy()
    spoilt[45, 0, 1] = np.nan
    refused(da.from_array(spoilt, chunks=(CHUNKS, 2, 3)), y, "partition 1 of pairs", "'x1'", "finite")
    refused(pairs, da.where(y == y[100], -1.0, y), "partition 2 of pairs: y[20] is -1", ">= 0")
    refused(pairs[pairs[:, 0, 0] > 0.5], y, "chunk 0 of pairs has an unknown size", "compute_chunk_sizes()")
    kept = (np.arange(150) < 40) | (np.arange(150) >= 80)
    refused(pairs[da.from_array(kept, chunks=(CHUNKS,))].compute_chunk_sizes(), y, "partition 1 of pairs is empty", "rechunk")
    refused(pairs, y[:-1], "y has shape (149,)", "one number a pair")
    refused(pairs[:, :1], y, "(150, 1, 3)", "(n_pairs, 2, n_features)")
    refused(dd.from_pandas(frame().drop(columns="right.v"), npartitions=2), "d", "right.v is missing", "left.NAME")
    parts = [dask.delayed(f) for f in (frame()[:50], frame()[50:50], frame()[50:])]
    refused(dd.from_delayed(parts, meta=frame()[:0], verify_meta=False), "d", "partition 1 of pairs", "empty", "repartition")
    parts = [dask.delayed(f) for f in (frame()[:50], frame()[50:].astype({"left.u": str}))]
    refused(dd.from_delayed(parts, meta=frame()[:0], verify_meta=False), "d", "partition 1 of pairs", "numbers")
    parts = [dask.delayed(f) for f in (frame()[:50], frame()[50:].rename(columns={"left.u": "x"}))]
    refused(dd.from_delayed(parts, meta=frame()[:0], verify_meta=False), "d", "partition 1 of pairs", "'left.u'")


def test_what_is_no_cluster_is_told(client, monkeypatch):
    model = DistanceRegressor(**cases.FAST)
    assert_refused(lambda: distributed.fit("tcp://x", model, POINTS, Y), "no Dask client", "distributed.Client", "out_of_core")
    monkeypatch.setattr(cluster, "_PATIENCE", "200ms")
    assert_refused(lambda: distributed.connect("tcp://127.0.0.1:9"), "no Dask scheduler answers", "127.0.0.1:9", "start one")
    other = {"tcp://w:1": cluster._versions() | {"numpy": "0.1"}}
    monkeypatch.setattr(type(client), "run", lambda *_, **__: other)
    call = lambda: distributed.fit(client, model, POINTS, Y)  # noqa: E731
    assert_refused(call, "worker tcp://w:1 has other versions (numpy 0.1", "the same on both sides", error=NotSupportedError)
    other["tcp://w:1"] = ModuleNotFoundError("No module named 'semimetric'")
    assert_refused(call, "worker tcp://w:1 cannot run semimetric", "install", error=NotSupportedError)
