"""Gains of tables of two binned features, beside a table made by hand."""

import numpy as np

from semimetric._kernels.interactions import table_gains


def test_gains_are_sums_over_occupied_cells(rng):
    codes = rng.integers(0, 3, (3, 40)).astype(np.uint8)
    residual = rng.normal(size=(40, 2))
    pairs = np.array([[0, 1], [1, 2]])
    out = np.full((2, 2), np.nan)
    table_gains(codes, residual, pairs, 5, out)
    for row, (a, b) in zip(out, pairs, strict=True):
        cells = {}
        for r in range(40):
            cells.setdefault((codes[a, r], codes[b, r]), []).append(residual[r])
        gains = [np.sum(np.sum(rows, axis=0) ** 2) / len(rows) for rows in cells.values()]
        np.testing.assert_allclose(row, [sum(gains), len(cells)])
