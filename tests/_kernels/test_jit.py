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


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "test_simplex.py",
        "test_products.py",
        "test_locate.py",
        "test_tables.py",
        "test_linear.py",
        "test_splines.py",
        "test_ladders.py",
        "test_additive.py",
    ],
)
def test_kernels_pass_without_the_compiler(file):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name(file))],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
