import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from semimetric._kernels.jit import kernel


def test_sums_are_neither_reordered_nor_contracted():
    """What exact symmetry and exact zeros rest on."""

    @kernel
    def cancelled(a, b):
        return (a + b) - a

    assert cancelled(1e16, 1.0) == 0.0
    assert cancelled(1.0, 2.0**-60) == 0.0


def test_division_follows_ieee_and_not_python():
    @kernel
    def ratio(a, b):
        return a / b

    assert np.isinf(ratio(1.0, 0.0))


FOLDER = Path(__file__).parent
COMPILED_ONLY = {"test_jit.py", "test_mixture.py"}  # this one, and one whose long chains take too long without the compiler
FILES = sorted(path.name for path in FOLDER.glob("test_*.py") if path.name not in COMPILED_ONLY)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_kernels_pass_without_the_compiler(file):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", str(FOLDER / file)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
