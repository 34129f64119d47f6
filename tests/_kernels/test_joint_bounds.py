"""Kernels that bound joint groups: against fine samples of boxes, and whole numbers against the tables that they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semimetric._kernels.joint_bounds import Intervals, add_up, box_minima, round_down, step_and_base
from semimetric._kernels.joint_search import GroupArrays, JointQuery, add_joint_values, place_queries


def group_of(rng, n):
    """A group of n features, a query, and cuts of every feature into intervals within cells."""
    sizes = rng.integers(2, 5, n)
    strides = np.array([np.prod(sizes[k + 1 :], dtype=np.int64) for k in range(n)])
    points = int(np.prod(sizes))
    groups = GroupArrays(np.array([0, n]), np.arange(n), strides, np.array([points]), np.array([0]))
    lower = np.array([[rng.integers(0, size - 1) for size in sizes]], dtype=np.uint16)
    fraction = rng.choice([0.0, 0.3, 1.0, rng.random()], (1, n))
    row, cut = np.empty((1, n + 1), np.int64), np.empty((1, n))
    place_queries(groups, lower, lower + np.uint16(1), fraction, row, cut)
    table = rng.normal(size=points * points)
    return groups, JointQuery(table, table, row[0], cut[0], lower[0].astype(np.int64), fraction[0], 0), sizes


@given(seed=st.integers(0, 2**31), n=st.integers(1, 4))
def test_the_least_of_a_box_is_below_a_fine_sample_and_reached_where_one_order_occurs(seed, n):
    rng = np.random.default_rng(seed)
    groups, query, sizes = group_of(rng, n)
    cell = np.array([rng.integers(0, size - 1) for size in sizes])
    low, high = np.sort(rng.choice([0.0, 0.25, 0.5, 0.75, 1.0, rng.random()], (2, n)), axis=0)
    one = np.zeros(n, np.int64)
    intervals = Intervals(np.arange(n + 1), cell, low, high, one, groups.stride)
    out = np.empty((1, 3))
    box_minima(groups, query, intervals, out)
    places = [np.linspace(a, b, 9) for a, b in zip(low, high, strict=True)]
    cuts = [np.append(p, query.cut[(query.cut > a) & (query.cut < b)]) for p, a, b in zip(places, low, high, strict=True)]
    fraction = np.stack(np.meshgrid(*cuts, indexing="ij"), axis=-1).reshape(-1, n)
    lower = np.broadcast_to(cell, fraction.shape).astype(np.uint16)
    values = np.zeros(len(fraction))
    add_joint_values(groups, query, lower, lower + np.uint16(1), fraction, np.arange(len(values)), values)
    assert out[0, 0] <= values.min() + 1e-12
    assert np.isinf(out[0, 1:]).all()
    order = np.argsort(low + high)
    if (high[order][:-1] <= low[order][1:]).all():
        assert abs(out[0, 0] - values.min()) < 1e-12


def test_boxes_of_several_intervals_take_the_least():
    rng = np.random.default_rng(0)
    groups, query, _ = group_of(rng, 2)
    single, out = [], np.empty((1, 1))
    for low, high in ((0.1, 0.2), (0.4, 0.9)):
        none = np.zeros(2, np.int64)
        ends = np.array([low, 0.3]), np.array([high, 0.5])
        box_minima(groups, query, Intervals(np.arange(3), none, *ends, none, groups.stride), out)
        single.append(out[0, 0])
    none, ends = np.zeros(3, np.int64), (np.array([0.1, 0.4, 0.3]), np.array([0.2, 0.9, 0.5]))
    box_minima(groups, query, Intervals(np.array([0, 2, 3]), none, *ends, none, groups.stride), out)
    assert out[0, 0] == min(single)


@given(seed=st.integers(0, 2**31), scale=st.sampled_from([0.0, 1e-200, 1.0, 1e200]))
def test_whole_numbers_are_below_their_tables(seed, scale):
    rng = np.random.default_rng(seed)
    tables = scale * rng.normal(size=(3, 5))
    tables[rng.random((3, 5)) < 0.2] = np.inf
    tables[:, 0] = 1.0
    step, base, size = step_and_base(tables, 1000.0)
    finite = np.where(np.isinf(tables), 0.0, tables)
    assert size >= np.abs(finite).max(axis=1).sum() * (1 - 1e-12)
    numbers, sums = np.empty((3, 5), np.int32), np.empty(40, np.int32)
    round_down(tables, step, 1000, numbers)
    assert 0 <= numbers.min() <= numbers.max() <= 1000
    codes = rng.integers(0, 5, (3, 40)).astype(np.uint8)
    add_up(codes, numbers, sums)
    assert_array_equal(sums, numbers[np.arange(3)[:, None], codes].sum(axis=0))
    true = tables[np.arange(3)[:, None], codes].sum(axis=0)
    assert (sums / step + base <= true + 1e-12 * size).all()
    if np.isfinite(step):
        named = np.isfinite(true)
        assert (sums[named] / step + base >= true[named] - 3.01 / step - 1e-9 * size).all()


def test_sums_of_many_rows_and_items():
    rng = np.random.default_rng(0)
    for n_rows, n_items in ((1, 1), (4, 5_000), (7, 9_000)):
        tables, codes = (
            rng.integers(0, 1000, (n_rows, 256)).astype(np.int32),
            rng.integers(0, 256, (n_rows, n_items)).astype(np.uint8),
        )
        sums = np.empty(n_items, np.int32)
        add_up(codes, tables, sums)
        assert_array_equal(sums, tables[np.arange(n_rows)[:, None], codes].sum(axis=0))
