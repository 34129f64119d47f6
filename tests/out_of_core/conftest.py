"""A Dask cluster in threads of this process, and parts so small that little data have many."""

import pytest

from semimetric.data.parts import readers


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("dask", reason="Dask comes with the extra distributed")
    engine = pytest.importorskip("distributed")
    with engine.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as local:
        with engine.Client(local) as client:
            yield client


@pytest.fixture
def small(monkeypatch):
    """Parts of about 40 tuples, whatever the limit."""
    monkeypatch.setattr(readers, "tuple_size", lambda *_: 40)
