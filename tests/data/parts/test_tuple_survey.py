"""What a first pass over parts of tuples finds: counts, targets, and the items that knots are placed among."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric._foundation.types import TripletTuples
from semimetric.data import identical_items
from semimetric.data.identical_items import distinct_items
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.row_parts import array_rows
from semimetric.data.parts.tuples import TargetSpec, TuplePart, TupleTable, count_tuples, sample_tuples

RNG = np.random.default_rng(0)
ITEMS = RNG.random((30, 2))
INDEX = RNG.integers(0, 30, (40, 4))
NAMES = ("u", "v")
POINTS, ONES = ITEMS[INDEX[:, :2]], np.ones(40)


def rows_table(spec=None):
    return TupleTable(NAMES, spec or TargetSpec(), array_rows(ITEMS, 30, "preprocessor")[0])


def points_table(spec=None):
    return TupleTable(NAMES, spec or TargetSpec())


def spoilt(array, at, value):
    array = np.array(array, dtype=np.float64)
    array[at] = value
    return array


def parts_of(tuples, y, weight, cuts):
    pieces = (np.split(a, cuts) for a in (tuples, y, weight))
    return [TuplePart(f"part {k}", *piece) for k, piece in enumerate(zip(*pieces, strict=True)) if len(piece[0])]


CUTS = st.lists(st.integers(1, 39), max_size=5).map(sorted)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("most", [10, 10**6])
@given(cuts=CUTS)
def test_a_survey_does_not_depend_on_the_cuts(by_row, most, cuts):
    table = rows_table() if by_row else points_table()
    tuples = INDEX[:, :2] if by_row else POINTS
    y, weight = np.arange(40.0) - 5, np.arange(40) % 3.0
    surveys = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(identical_items, "_MOST", most)
        for places in ([], cuts):
            parts, counts = count_tuples(SerialEngine(), parts_of(tuples, y, weight, places), table)
            surveys.append(sample_tuples(SerialEngine(), parts, counts, table))
    one, other = surveys
    assert (one.items == other.items).all()
    assert one.range == other.range == (y[weight > 0].min(), y[weight > 0].max())
    assert sum(other.counts) == (weight > 0).sum()
    assert other.total == weight.sum()
    np.testing.assert_allclose(other.sizes, [weight @ np.abs(y), weight @ y**2])
    used = ITEMS[np.unique(INDEX[weight > 0, :2])]
    assert (other.items.min(axis=0) == used.min(axis=0)).all()
    assert (other.items.max(axis=0) == used.max(axis=0)).all()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(identical_items, "_MOST", most)
        assert (other.items == distinct_items(used)).all()  # as one fit draws them, from points and row numbers alike
    assert len(other.items) == (most + 2 if most < 40 else len(used))


def test_parts_without_any_weight_are_left_out():
    weight = np.where(np.arange(40) < 20, 0.0, 1.0)
    parts = parts_of(POINTS, ONES, weight, [20])
    kept, counts = count_tuples(SerialEngine(), parts, points_table())
    assert ([p.name for p in kept], counts) == (["part 1"], (20,))
    nothing = parts_of(POINTS, ONES, np.zeros(40), [20])
    call = lambda: count_tuples(SerialEngine(), nothing, points_table())  # noqa: E731
    assert_refused(call, "sample_weight is 0 for all pairs", "weight > 0 are required", "correct it")


def test_parts_to_be_read_are_counted_without_reading_them():
    parts = [TuplePart(rows.name, rows, None) for rows in array_rows(POINTS[:0].reshape(0, 2, 2), 10, "pairs")]
    parts += [TuplePart(rows.name, rows, "no such column") for rows in array_rows(POINTS, 15, "pairs")]
    kept, counts = count_tuples(SerialEngine(), parts, points_table())
    assert kept == parts
    assert sum(counts) == 40


def test_targets_that_are_all_equal_hold_nothing_to_learn():
    def survey(y, spec):
        parts, table = parts_of(POINTS, y, ONES, [10]), points_table(spec)
        return sample_tuples(SerialEngine(), parts, (10, 30), table)

    same = survey(2 * ONES, TargetSpec())
    assert_refused(lambda: same.check_targets(TargetSpec()), "40 pairs", "all equal (2)", "give at least two pairs")
    alike = survey(ONES, TargetSpec(labeled=True))
    assert_refused(lambda: alike.check_targets(TargetSpec(labeled=True)), "one class only, +1", "are required", "add some")
    same.check_targets(TargetSpec(TripletTuples))
    survey(spoilt(ONES, 39, 3.0), TargetSpec()).check_targets(TargetSpec())
