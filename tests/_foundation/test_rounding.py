"""The bound of rounding, against sums in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from semimetric._foundation.arrays import rounding_of


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_sums_are_as_accurate_as_is_said(n, rng):
    a, b = rng.normal(size=(2, n)) * 10 ** rng.uniform(-9, 9, (2, n))
    exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert abs(Fraction(float(a @ b)) - exact) <= Fraction(rounding_of(n) * float(np.abs(a) @ np.abs(b)))


def test_more_terms_round_more():
    assert 0 < rounding_of(0) < rounding_of(10) < rounding_of(10**7) < 1e-8
