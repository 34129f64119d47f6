"""Parts of pairs, triplets and quadruplets: what is read of them, how bad ones are named, and what a survey finds."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric._foundation.types import Pairs, Quadruplets, Triplets
from semimetric.data import knots
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.row_parts import array_rows
from semimetric.data.parts.tuple_parts import (
    TargetSpec,
    TuplePart,
    TupleTable,
    read_tuples,
    tuple_columns,
)
from semimetric.data.parts.tuple_survey import count_tuples, divided, survey_tuples

RNG = np.random.default_rng(0)
ITEMS = RNG.random((30, 2))
INDEX = RNG.integers(0, 30, (40, 4))
NAMES = ("u", "v")
KINDS = {"pairs": Pairs, "triplets": Triplets, "quadruplets": Quadruplets}
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
    assert found[0].rows is None
    assert (found[2].rows == np.unique(index)).all()


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
    assert read.rows.tolist() == [3, 7]


def test_quadruplets_that_say_the_opposite_are_turned():
    y = np.where(np.arange(40) % 2, -1.0, 1.0)
    read = read_tuples(TuplePart("a", INDEX, y), rows_table(TargetSpec(Quadruplets, judged=True)))
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
        "feature 'u' of item 7 is nan",
        "finite numbers",
        "drop those pairs",
    ),
    "y": ((POINTS, ONES[:-1]), "y has shape (39,)", "one number for each of 40 pairs is required"),
    "infinite y": ((POINTS, spoilt(ONES, 4, np.inf)), "y[4] is inf", "finite numbers are required", "drop the pair"),
    "text": ((POINTS, np.full(40, "far")), "y has shape (40,) and dtype <U3", "one number for each"),
    "weight": ((POINTS, ONES, spoilt(ONES, 2, -1)), "sample_weight[2] is -1", "weights >= 0 are required", "correct it"),
    "column": ((POINTS, "d"), "no column 'd' for y", "name another"),
}


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
    refused(POINTS, 2 * ONES, points_table(TargetSpec(judged=True)), "y[0] is 2", "+1 and -1", "recode it")
    frame = pd.DataFrame(POINTS.reshape(40, 4), columns=["left.u", "left.v", "right.u", "right.w"])
    refused(frame, ONES, points_table(), "no column 'right.v'", "all parts need left.u, left.v, right.u, right.v", "write it")


def test_what_learners_ask_of_targets():
    assert [TargetSpec(kind).called for kind in KINDS.values()] == list(KINDS)
    assert TargetSpec().measured
    assert not TargetSpec(judged=True).measured
    assert not TargetSpec(Triplets, judged=True).measured
    assert TargetSpec(Triplets).targets(ONES) is None
    assert TargetSpec(Quadruplets).targets(None) is None
    assert TargetSpec().targets(ONES) is ONES
    assert_refused(lambda: TargetSpec().targets(None), "y is None", "requires y", "a distance for every pair")
    assert_refused(lambda: TargetSpec(judged=True).targets(None), "y is None", "requires y", "+1 or -1 for every pair")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.data())
def test_rows_are_divided_among_parts(counts, data):
    n = sum(counts)
    rows = data.draw(st.lists(st.integers(0, n - 1), unique=True)) if n else []
    found = list(divided(np.array(rows, dtype=np.int64), counts))
    starts = np.cumsum([0, *counts])[:-1]
    assert np.concatenate([f + s for f, s in zip(found, starts, strict=True)]).tolist() == sorted(rows)
    assert all((f >= 0).all() and (f < n).all() for f, n in zip(found, counts, strict=True))
    assert list(divided(None, counts)) == [None] * len(counts)


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
        patched.setattr(knots, "_MOST_ROWS", most)
        for places in ([], cuts):
            parts, counts = count_tuples(SerialEngine(), parts_of(tuples, y, weight, places), table)
            surveys.append(survey_tuples(SerialEngine(), parts, counts, table, 0))
    one, other = surveys
    assert (one.items == other.items).all()
    assert one.range == other.range == (y[weight > 0].min(), y[weight > 0].max())
    assert sum(other.counts) == (weight > 0).sum()
    assert other.total == weight.sum()
    np.testing.assert_allclose(other.sizes, [weight @ np.abs(y), weight @ y**2])
    used = ITEMS[np.unique(INDEX[weight > 0, :2])]
    assert (other.items.min(axis=0) == used.min(axis=0)).all()
    assert (other.items.max(axis=0) == used.max(axis=0)).all()
    if most < 40:  # in the order of the draw, as one fit draws them, and then the extremes
        drawn = used if by_row else POINTS[weight > 0].reshape(-1, 2)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(knots, "_MOST_ROWS", most)
            assert (other.items[:-2] == drawn[knots.sampled_rows(len(drawn), 0)]).all()
    assert len(other.items) == (most + 2 if most < 40 else len(used) if by_row else 2 * (weight > 0).sum())


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
        return survey_tuples(SerialEngine(), parts, (10, 30), table, 0)

    same = survey(2 * ONES, TargetSpec())
    assert_refused(lambda: same.check_targets(TargetSpec()), "40 pairs", "all equal (2)", "give at least two pairs")
    alike = survey(ONES, TargetSpec(judged=True))
    assert_refused(lambda: alike.check_targets(TargetSpec(judged=True)), "one class only, +1", "are required", "add some")
    same.check_targets(TargetSpec(Triplets))
    survey(spoilt(ONES, 39, 3.0), TargetSpec()).check_targets(TargetSpec())
