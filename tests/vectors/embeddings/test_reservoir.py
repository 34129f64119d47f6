"""A stream's sample: the same in blocks and at once, uniform, with exact extremes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric.vectors.embeddings.reservoir import Reservoir


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 60), st.booleans())
def test_blocks_keep_what_one_block_keeps(sizes, room, packed):
    rows = np.arange(float(2 * sum(sizes))).reshape(-1, 2) * (np.arange(sum(sizes)) % 3 > 0)[:, None]
    rows = sparse.csr_array(rows) if packed else rows
    whole, parts, start = Reservoir(3, room).add(rows), Reservoir(3, room), 0
    for size in sizes:
        parts.add(rows[start : start + size])
        start += size
    assert parts.number.tolist() == whole.number.tolist()
    assert parts.rows.shape == (min(room, sum(sizes)), 2)
    for ours, theirs in zip(parts.columns(), whole.columns(), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    data = rows.toarray() if packed else rows
    for values, places in whole.columns():
        assert (places < room).all()
        assert not values.size or {values.min(), values.max()} <= {*data.ravel()}


def test_every_row_is_kept_as_often():
    kept = np.concatenate([Reservoir(seed, 10).add(np.zeros((40, 1))).number for seed in range(2000)])
    counts = np.bincount(kept, minlength=40)
    assert abs(counts - 500).max() <= 5 * np.sqrt(2000 * 0.25 * 0.75)


def test_extremes_are_those_of_all_rows(rng):
    X = rng.normal(size=(500, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    sample = Reservoir(0, 20).add(X[:300]).add(X[300:])
    for f, (values, rows) in enumerate(sample.columns()):
        assert (values.min(), values.max()) == (np.nanmin(X[:, f]), np.nanmax(X[:, f]))
        assert rows[-2:].tolist() == [-1, -1]
        np.testing.assert_array_equal(values[:-2], sample.rows[rows[:-2], f])
