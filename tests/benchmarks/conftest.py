"""Modules of the benchmarks, which import one another by name from their folder."""

from pathlib import Path

import pytest

import semimetric

FOLDER = Path(semimetric.__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch):
    if not FOLDER.exists():
        pytest.skip("the benchmarks of the repository are not beside the installed package")
    monkeypatch.syspath_prepend(FOLDER)
