"""Parts of pairs, triplets and quadruplets: what is read of them, and how bad ones are named."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.data.parts.row_parts import array_rows
from semimetric.data.parts.tuples import TargetSpec, TuplePart, TupleTable, read_tuples, tuple_columns

RNG = np.random.default_rng(0)
ITEMS = RNG.random((30, 2))
INDEX = RNG.integers(0, 30, (40, 4))
NAMES = ("u", "v")
KINDS = {"pairs": Pairs, "triplets": TripletTuples, "quadruplets": Quadruplets}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def rows_table(spec=None):
    return TupleTable(NAMES, spec or TargetSpec(), array_rows(ITEMS, 30, "preprocessor")[0])


def points_table(spec=None):
    return TupleTable(NAMES, spec or TargetSpec())


@every_kind
def test_points_row_numbers_and_tables_are_the_same_tuples(kind):
    pd = pytest.importorskip("pandas")
    index, y, weight = INDEX[:, : kind.size], np.arange(40.0) + 1, np.arange(40.0) + 2
    points, spec = ITEMS[index], TargetSpec(kind)
    frame = pd.DataFrame(points.reshape(40, -1), columns=tuple_columns(kind, NAMES, by_row=False)).assign(y=y, w=weight)
    numbers = pd.DataFrame(index, columns=tuple_columns(kind, NAMES, by_row=True))
    found = [
        read_tuples(TuplePart("a", points, y, weight), points_table(spec)),
        read_tuples(TuplePart("b", frame, "y", "w"), points_table(spec)),
        read_tuples(TuplePart("c", index, y, weight), rows_table(spec)),
        read_tuples(TuplePart("d", numbers, y, weight), rows_table(spec)),
    ]
    for read in found:
        assert type(read.tuples) is kind
        assert (read.tuples.items[read.tuples.index] == points).all()
        assert (read.y == y).all()
        assert (read.weight == weight).all()


@pytest.mark.parametrize("table", [points_table, rows_table])
def test_tuples_of_weight_zero_are_as_good_as_absent(table):
    tuples = ITEMS[INDEX[:, :2]] if table is points_table else INDEX[:, :2]
    weight = np.arange(40) % 3.0
    used = weight > 0
    read = read_tuples(TuplePart("a", tuples, np.arange(40.0), weight), table())
    assert (read.tuples.items[read.tuples.index] == ITEMS[INDEX[used, :2]]).all()
    assert (read.y == np.arange(40.0)[used]).all()
    assert (read.weight == weight[used]).all()


def test_few_row_numbers_bring_only_their_items():
    index = np.array([[3, 7], [7, 3]])
    read = read_tuples(TuplePart("a", index, np.ones(2)), rows_table())
    assert read.tuples.items.tolist() == ITEMS[[3, 7]].tolist()
    assert read.tuples.index.tolist() == [[0, 1], [1, 0]]


def test_quadruplets_that_say_the_opposite_are_turned():
    y = np.where(np.arange(40) % 2, -1.0, 1.0)
    read = read_tuples(TuplePart("a", INDEX, y), rows_table(TargetSpec(Quadruplets, labeled=True)))
    assert (read.y == 1).all()
    want = np.where(y[:, None] < 0, INDEX[:, [2, 3, 0, 1]], INDEX)
    assert (read.tuples.items[read.tuples.index] == ITEMS[want]).all()


def spoilt(array, at, value):
    array = np.array(array, dtype=np.float64)
    array[at] = value
    return array


POINTS, ONES = ITEMS[INDEX[:, :2]], np.ones(40)
BAD = {
    "empty": ((POINTS[:0], ONES[:0]), "it is empty", "at least one pair", "leave it out"),
    "shape": ((POINTS[:, :, :1], ONES), "shape (40, 2, 1)", "numbers of shape (40, 2, 2) are required"),
    "missing": (
        (spoilt(POINTS, (3, 1, 0), np.nan), ONES),
        "feature 'u' of pair 3 is nan",
        "finite numbers",
        "drop those pairs",
    ),
    "y": ((POINTS, ONES[:-1]), "y has shape (39,)", "one number for each of 40 pairs is required"),
    "infinite y": ((POINTS, spoilt(ONES, 4, np.inf)), "y[4] is inf", "finite numbers are required", "drop the pair"),
    "text": ((POINTS, np.full(40, "far")), "y has shape (40,) and dtype <U3", "one number for each"),
    "weight": ((POINTS, ONES, spoilt(ONES, 2, -1)), "sample_weight[2] is -1", "weights >= 0 are required", "correct it"),
    "column": ((POINTS, "d"), "no column 'd' for y", "name another"),
}


def test_a_bad_tuple_is_told_by_its_number_in_the_part():
    """Also where tuples without a weight come before it, and where it is given by rows of items."""
    weight = spoilt(ONES, slice(0, 3), 0.0)
    points = spoilt(POINTS, (10, 1, 1), np.inf)
    assert_refused(lambda: read_tuples(TuplePart("a", points, ONES, weight), points_table()), "of pair 10 is inf", "finite")
    index = np.array(INDEX[:, :2])
    index[10, 1] = len(ITEMS)
    table = rows_table(TargetSpec(Pairs))
    assert_refused(lambda: read_tuples(TuplePart("a", index, ONES, weight), table), "pair 10 is", "row numbers between")


@pytest.mark.parametrize("name", BAD)
def test_bad_parts_are_named(name):
    given, *parts = BAD[name]
    error = assert_refused(lambda: read_tuples(TuplePart("part 7", *given), points_table()), *parts)
    assert str(error).startswith("part 7: ")


def test_bad_row_numbers_targets_and_tables_are_named():
    pd = pytest.importorskip("pandas")

    def refused(tuples, y, table, *parts):
        error = assert_refused(lambda: read_tuples(TuplePart("part 7", tuples, y), table), *parts)
        assert str(error).startswith("part 7: ")

    refused(np.array([[0, 1], [2, 30]]), ONES[:2], rows_table(), "pair 1 is (2, 30)", "between 0 and 29 are required")
    refused(np.array([[0.0, 1.0]]), ONES[:1], rows_table(), "dtype float64", "integers of shape (1, 2) are required")
    refused(POINTS, -ONES, points_table(TargetSpec(least=0.0)), "y[0] is -1", "must be >= 0", "axioms=None")
    refused(POINTS, 2 * ONES, points_table(TargetSpec(labeled=True)), "y[0] is 2", "+1 and -1", "recode it")
    frame = pd.DataFrame(POINTS.reshape(40, 4), columns=["left.u", "left.v", "right.u", "right.w"])
    refused(frame, ONES, points_table(), "no column 'right.v'", "all parts need left.u, left.v, right.u, right.v", "write it")


def test_what_learners_ask_of_targets():
    assert [TargetSpec(kind).called for kind in KINDS.values()] == list(KINDS)
    assert TargetSpec().measured
    assert not TargetSpec(labeled=True).measured
    assert not TargetSpec(TripletTuples, labeled=True).measured
    assert TargetSpec(TripletTuples).targets(ONES) is None
    assert TargetSpec(Quadruplets).targets(None) is None
    assert TargetSpec().targets(ONES) is ONES
    assert_refused(lambda: TargetSpec().targets(None), "y is None", "requires y", "a distance for every pair")
    assert_refused(lambda: TargetSpec(labeled=True).targets(None), "y is None", "requires y", "+1 or -1 for every pair")
