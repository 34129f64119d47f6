"""The cluster that the options of a command name."""

from argparse import Namespace

import pytest

from semimetric.cli import dask_client as module
from semimetric.cli.dask_client import dask_client


def test_without_options_there_is_no_client():
    with dask_client(Namespace(scheduler=None, workers=None)) as client:
        assert client is None


@pytest.mark.parametrize(("scheduler", "workers"), [("tcp://a:1", None), (None, 3)])
def test_the_client_is_connected_as_asked_and_closed_after_an_error_too(scheduler, workers, monkeypatch):
    events = []

    class Client:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            events.append("closed")

    def connect(address, *, workers):
        events.append((address, workers))
        return Client()

    def fail():
        with dask_client(Namespace(scheduler=scheduler, workers=workers)) as client:
            assert isinstance(client, Client)
            raise KeyError

    monkeypatch.setattr(module, "connect", connect)
    with pytest.raises(KeyError):
        fail()
    assert events == [(scheduler, workers), "closed"]
