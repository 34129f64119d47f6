"""A fit in a process of its own: its numbers, and what is said when it takes too long."""

from importlib import import_module

import pytest

pytest.importorskip("resource")


@pytest.fixture
def times():
    return import_module("fit_times")


def test_numbers_of_a_fit(times, monkeypatch):
    monkeypatch.setattr(times, "QUERIES", 100)
    found = times.fit("nca", 300, 6)
    assert found["mebibytes"] >= found["mebibytes_before"] > 10
    assert found["seconds"] > 0
    assert 0 <= found["error"] < 0.5


def test_a_process_that_takes_too_long_is_ended_and_said_so(times):
    assert times.measured("boosting", "100x6", 0.05, 14) == {"failed": "more than 0.05 s"}
