import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from semimetric._kernels.jit import kernel

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


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_kernels_pass_without_the_compiler(file):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not compiled", str(file)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
