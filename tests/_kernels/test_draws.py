import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, kstest

from semimetric._kernels.draws import choose, mode, tilted_gamma, turn
from semimetric._kernels.jit import kernel


@kernel
def gammas(a, b, c, e, n, rng):
    out, x = np.empty(n), 1.0
    for i in range(n):
        x = tilted_gamma(x, a, b, c, e, rng)
        out[i] = x
    return out


@kernel
def turns(strength, n, rng):
    out, angle = np.empty(n), 0.3
    for i in range(n):
        angle = turn(angle, strength, rng)
        out[i] = angle
    return out


@kernel
def choices(logits, n, rng):
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = choose(logits, rng)
    return out


positive = st.floats(0.05, 40.0)


@given(st.floats(0.0, 40.0), st.floats(0.0, 40.0), positive, positive)
def test_the_mode_is_the_highest(a, b, c, e):
    top = mode(a, b, c, e)
    assert top >= 0

    def log_density(x):
        return a * np.log(x) + b * np.log(x + c) - e * x

    near = max(top, 1e-9) * np.array([0.9, 1.0, 1.1])
    assert log_density(near).argmax() == 1 or top < 1e-9


@pytest.mark.parametrize(("a", "b", "c", "e"), [(-0.5, 0.0, 1.0, 2.0), (0.5, 30.0, 0.05, 9.0), (3.0, 12.0, 5.0, 0.7)])
def test_a_chain_of_moves_has_the_density(a, b, c, e, rng):
    drawn = gammas(a, b, c, e, 40_000, rng)[::10]

    def density(y):
        return np.exp((a + 1) * y + b * np.log(np.exp(y) + c) - e * np.exp(y) - scale)

    scale = 0.0
    scale = np.log(max(density(y) for y in np.linspace(-20, 6, 500)))
    total = quad(density, -30, 8, limit=400, points=[np.log(mode(a + 1, b, c, e))])[0]
    grid = np.linspace(-30, 8, 20_001)
    heights = density(grid)
    cumulated = np.concatenate([[0], np.cumsum((heights[1:] + heights[:-1]) / 2) * (grid[1] - grid[0])]) / total
    assert kstest(np.log(drawn), lambda y: np.interp(y, grid, cumulated)).pvalue > 1e-3
    if b == 0:
        assert kstest(drawn, gamma(a + 1, scale=1 / e).cdf).pvalue > 1e-3


@pytest.mark.parametrize("strength", [-3.0, 0.0, 0.7, 200.0])
def test_angles_have_their_density(strength, rng):
    drawn = turns(strength, 30_000, rng)[::10] % np.pi
    grid = np.linspace(0, np.pi, 20_001)
    heights = np.exp(strength * np.cos(2 * grid) - abs(strength))
    cumulated = np.concatenate([[0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    assert kstest(drawn, lambda y: np.interp(y, grid, cumulated / cumulated[-1])).pvalue > 1e-3


def test_a_choice_follows_its_logits(rng):
    logits = np.log([0.1, 0.6, 0.3]) - 1e6
    shares = np.bincount(choices(logits, 20_000, rng)) / 20_000
    assert np.allclose(shares, [0.1, 0.6, 0.3], atol=0.015)
    assert choose(np.array([-np.inf, 3.0, -np.inf]), rng) == 1
