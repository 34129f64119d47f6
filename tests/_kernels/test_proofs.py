import numpy as np
import pytest

from semimetric import Grid
from semimetric._kernels.locate import PositionFeatures
from semimetric._kernels.proofs import first_misplaced, prove_cells

KNOTS = [np.array([0.0, 1.0, 4.0]), np.array([2.0]), np.array([-1e9, 1e9])]
FLAT = np.concatenate(KNOTS)
PLACES = PositionFeatures(np.arange(3), np.array([0, 3, 4]), np.array([3, 1, 2]), np.array([4.0, 1.0, 2e9]))


def position(x, f):
    """Where a value lies among its knots, continued outside in units of the range."""
    knots = KNOTS[f]
    grid = Grid([knots])
    located = grid.locate(x[:, None])
    return located.lower[:, 0] + located.fraction[:, 0] + grid.excess(x[:, None])[:, 0] / PLACES.unit[f]


def sample(rng, n=400):
    x = np.column_stack([rng.uniform(-3, 7, n), rng.uniform(0, 4, n), rng.uniform(-3e9, 3e9, n)])
    x[:3, 0], x[3:6, 2] = KNOTS[0], [-1e9, 1e9, 0.0]
    return x, np.column_stack([position(x[:, f], f) for f in range(3)])


def test_every_value_is_where_it_is(rng):
    x, positions = sample(rng)
    assert first_misplaced(x, FLAT, PLACES, positions) == -1


@pytest.mark.parametrize("wrong", [1e-3, -1e-3, 1e-15, 1.0, -1.0, 5.0, 1e300, -1e300, np.inf, -np.inf, np.nan])
def test_no_value_is_elsewhere(rng, wrong):
    x, positions = sample(rng)
    for row in range(len(x)):
        for f in range(3):
            moved = positions[row : row + 1].copy()
            moved[0, f] = moved[0, f] + wrong if wrong != 1e-15 else np.nextafter(moved[0, f], np.inf)
            assert first_misplaced(x[row : row + 1], FLAT, PLACES, moved) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_nowhere(rng, value):
    x, positions = sample(rng)
    x[7, 1] = value
    assert first_misplaced(x, FLAT, PLACES, positions) == 7


def test_a_position_at_a_knot_does_not_claim_the_cells_beyond():
    """Clipped to the cell that is claimed, the value would be at its end, where the position is."""
    x = np.array([[3.9, 2.0, 0.0]])
    for claimed in (1.0, 1.0 - 1e-12, 1.0 + 1e-12):
        assert first_misplaced(x, FLAT, PLACES, np.array([[claimed, 0.0, 0.5]])) == 0


def test_a_code_names_the_cell_of_its_position(rng):
    n, edges = 200, np.sort(rng.random((3, 15)), axis=1)
    positions = rng.random((n, 3))
    cells = np.array([[np.searchsorted(edges[p], v) for p, v in enumerate(row)] for row in positions])
    low, high = np.hstack([np.full((3, 1), -np.inf), edges]), np.hstack([edges, np.full((3, 1), np.inf)])
    codes = np.column_stack([cells[:, 0] | cells[:, 1] << 4, cells[:, 2]]).astype(np.uint8)
    byte, shift = np.array([0, 0, 1]), np.array([0, 4, 0])

    def astray(positions, codes):
        ends, found = np.zeros((2, 3, 16), dtype=bool), np.full(1, -1)
        prove_cells(positions, codes, byte, shift, low, high, ends, found)
        return found[0], ends

    assert astray(positions, codes)[0] == -1
    for row in range(0, n, 9):
        for column, bit in ((0, 0), (0, 4), (1, 1)):
            changed = codes.copy()
            changed[row, column] ^= 1 << bit
            assert astray(positions, changed)[0] == row
    positions[5, 1] = np.nan
    assert astray(positions, codes)[0] == 5
    positions[5, 1], cell = edges[1, 3], 3
    codes[5, 0] = codes[5, 0] & 15 | cell << 4
    row, ends = astray(positions, codes)
    assert row == -1
    assert [tuple(end) for end in np.argwhere(ends)] == [(1, 1, 3)]
