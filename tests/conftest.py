"""Seeded randomness, the folder of real data, and one deterministic hypothesis profile for the whole suite."""

import gc
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a screen
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores, and threads of OpenMP turn round while they wait for one
    os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile(
    "semimetric", derandomize=True, deadline=None, max_examples=50, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("semimetric")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell leaves it to a suite in the background: tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect 20,000 tests without looking for garbage: that takes a fifth of the time, and nearly all objects stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Workers of pytest-xdist share the cores; threads that wait for one another cost ten times the work."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    """Pictures of one test are closed before the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def real_data():
    """A function from a file's name to its path in the folder that SEMIMETRIC_DATA names; skips where there is none."""

    def path(name):
        folder = os.environ.get("SEMIMETRIC_DATA")
        if not folder:
            pytest.skip("SEMIMETRIC_DATA is not set: it names the folder of real data sets")
        if not (Path(folder) / name).exists():
            pytest.skip(f"the folder that SEMIMETRIC_DATA names has no {name}")
        return Path(folder) / name

    return path
