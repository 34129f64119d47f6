"""The kernels of joint groups against a walk by hand: one grid point after another, from the largest to the smallest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from semimetric._kernels.joint_search import GroupArrays, JointQuery, add_joint_values, place_queries


def walk(table, sizes, query, item):
    """The value of a group by the definition; ``query`` and ``item`` are (lower, upper, fraction) of its features."""
    n = len(sizes)
    low, high, fraction = (np.concatenate([a, b]) for a, b in zip(query, item, strict=True))
    at, total, reached = high.copy(), 0.0, 0.0
    for axis in np.argsort(fraction, kind="stable"):
        total += (fraction[axis] - reached) * table[np.ravel_multi_index(at[:n], sizes), np.ravel_multi_index(at[n:], sizes)]
        reached, at[axis] = fraction[axis], low[axis]
    return total + (1 - reached) * table[np.ravel_multi_index(at[:n], sizes), np.ravel_multi_index(at[n:], sizes)]


def located(rng, n, sizes):
    lower = np.column_stack([rng.integers(0, size - 1, n) for size in sizes]).astype(np.uint16)
    return lower, lower + np.uint16(1), rng.choice([0.0, 0.25, 0.5, 1.0, rng.random()], lower.shape)


@given(seed=st.integers(0, 2**31), n_items=st.sampled_from([1, 7, 300]))
def test_values_are_those_of_a_walk(seed, n_items):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, 4)
    members = [rng.permutation(4)[: rng.integers(1, 5)] for _ in range(3)]
    shapes = [tuple(sizes[m]) for m in members]
    points = np.array([np.prod(s) for s in shapes])
    tables = [rng.normal(size=(c, c)) for c in points]
    strides = np.concatenate([[np.prod(s[k + 1 :], dtype=np.int64) for k in range(len(s))] for s in shapes])
    first = np.concatenate([[0], np.cumsum([len(m) for m in members])])
    groups = GroupArrays(first, np.concatenate(members), strides, points, np.cumsum(points**2) - points**2)
    queries, items = located(rng, 3, sizes), located(rng, n_items, sizes)
    row, cut = np.empty((3, len(strides) + 3), np.int64), np.empty((3, len(strides)))
    place_queries(groups, *queries, row, cut)
    flat, rows = np.concatenate([t.ravel() for t in tables]), rng.integers(0, n_items, n_items)
    for b in range(3):
        query = JointQuery(flat, flat, row[b], cut[b], queries[0][b].astype(np.int64), queries[2][b], 0)
        out = np.ones(n_items)
        add_joint_values(groups, query, *items, rows, out)
        for r in range(min(n_items, 7)):
            value = 1.0
            for members_of, shape, table in zip(members, shapes, tables, strict=True):
                one, other = ([a[k][members_of].astype(float) for a in side] for side, k in ((queries, b), (items, rows[r])))
                whole = [[side[0].astype(int), side[1].astype(int), side[2]] for side in (one, other)]
                value += walk(table, shape, *whole)
            assert_allclose(out[r], value, rtol=1e-13, atol=1e-13)
