import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from semimetric._kernels.jit import exported, kernel

HERE = Path(__file__)
FILES = [
    *(path for path in sorted(HERE.parent.glob("test_*.py")) if path != HERE),
    HERE.parents[1] / "vectors/embeddings/test_splines.py",
    HERE.parents[1] / "vectors/embeddings/test_additive_kernels.py",
]


def test_sums_are_neither_reordered_nor_contracted():
    """What exact symmetry and exact zeros rest on."""

    @kernel
    def cancelled(a, b):
        return (a + b) - a

    assert cancelled(1e16, 1.0) == 0.0
    assert cancelled(1.0, 2.0**-60) == 0.0


@pytest.mark.compiled
def test_division_follows_ieee_and_not_python():
    @kernel
    def ratio(a, b):
        return a / b

    assert np.isinf(ratio(1.0, 0.0))


@pytest.fixture
def default_handler():
    """The handler of Ctrl-C with which Python begins."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.compiled
@pytest.mark.parametrize("presses", [1, 0])
def test_ctrl_c_in_a_callback_of_the_compiler_is_not_lost(presses, default_handler, monkeypatch):
    registry = pytest.importorskip("numba.core.registry")
    engine, seen = registry.cpu_target.target_context.codegen()._engine._ee, []
    noted = engine._object_cache_notify

    def pressed(module, buffer):
        seen.append(signal.getsignal(signal.SIGINT))
        if presses and len(seen) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        noted(module, buffer)

    @exported  # which no cache holds
    def tripled(a):
        return 3.0 * a

    monkeypatch.setattr(engine, "_object_cache_notify", pressed)
    if presses:
        with pytest.raises(KeyboardInterrupt):
            _ = tripled(1.0), time.sleep(5.0)  # the press is repeated soon
    else:
        assert tripled(1.0) == 3.0
    assert seen
    assert seen[0] != signal.default_int_handler  # It waits while the compiler works, and not before and after.
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_kernels_pass_without_the_compiler(file):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not compiled", str(file)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
