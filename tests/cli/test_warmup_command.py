"""``semimetric warmup`` compiles kernels in an empty cache, and reads them the next time."""

import json
import os
import subprocess
import sys

import pytest

from semimetric.cli.warmup_command import _text


def warmup(**environment):
    """What the command says as JSON, in a process with other variables of the environment."""
    done = subprocess.run(
        [sys.executable, "-m", "semimetric", "warmup", "--json"],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.compiled
@pytest.mark.slow
def test_what_is_compiled_once_is_read_the_next_time(tmp_path):
    first = warmup(NUMBA_CACHE_DIR=str(tmp_path))
    assert first["compiled"] > 5
    assert first["processor_seconds"] > 0
    assert all(folder.startswith(str(tmp_path)) for folder in first["folders"])
    second = warmup(NUMBA_CACHE_DIR=str(tmp_path))
    assert second["compiled"] == 0
    assert 0 < second["read"] <= first["compiled"]  # a kernel is read with those that it calls
    assert second["folders"] == first["folders"]


@pytest.mark.slow
def test_it_says_so_where_nothing_is_compiled():
    found = warmup(NUMBA_DISABLE_JIT="1")
    assert (found["compiled"], found["read"], found["folders"]) == (0, 0, [])
    assert "NUMBA_DISABLE_JIT" in _text(found)


def test_what_it_says_of_kernels():
    values = {"compiled": 2, "read": 3, "seconds": 4.04, "processor_seconds": 3.96, "folders": ["/a", "/b"]}
    said = _text(values)
    assert said == "2 kernels compiled, 3 read from the cache, in 4.0 s (4.0 s of the processor). They are kept in\n  /a\n  /b"
