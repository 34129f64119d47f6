"""Blocks of tuples: what cannot be used is refused under the name of its part."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, QuadrupletLearner, out_of_core
from semimetric._foundation.types import Quadruplets
from semimetric.data.parts.row_parts import array_rows
from semimetric.data.parts.tuples import TargetSpec, TuplePart, TupleTable, read_tuples

ITEMS = np.random.default_rng(0).random((30, 2))
INDEX = np.array([[i, (i + 1) % 30] for i in range(30)])
Y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]).sum(axis=1)
POINTS = TupleTable(("u", "v"), TargetSpec())
COLUMNS = [(s, k, f"{side}.{f}") for s, side in enumerate(("left", "right")) for k, f in enumerate("uv")]
FRAME = pd.DataFrame({name: ITEMS[INDEX[:, s], k] for s, k, name in COLUMNS}).assign(d=Y, weight=1.0)


def part_of(frame=FRAME, y="d", weight="weight"):
    return TuplePart("part 2", frame, y, weight)


BAD = {
    "no pairs": (part_of(FRAME[:0]), "part 2: it is empty", "at least one pair", "leave it out, or repartition"),
    "a feature less": (
        part_of(FRAME.drop(columns="right.v")),
        "part 2: it has no column 'right.v'",
        "all parts need left.u, left.v",
        "write it again",
    ),
    "no targets": (part_of(y="e"), "part 2: it has no column 'e' for y", "", "name another, or add it"),
    "no weights": (part_of(weight="w"), "part 2: it has no column 'w' for sample_weight", "", "name another, or add it"),
    "targets of an array": (part_of(ITEMS[INDEX]), "part 2: it has no column 'd' for y", "", "name another, or add it"),
    "too few targets": (part_of(y=Y[:-1]), "part 2: y has shape (29,)", "one number for each of 30 pairs is required"),
    "targets in words": (part_of(FRAME.assign(d="far")), "part 2: y has shape (30,) and dtype object", "one number for each"),
    "targets of two columns": (part_of(y=np.ones((30, 2))), "part 2: y has shape (30, 2)", "one number for each of 30 pairs"),
    "a weight below 0": (
        part_of(weight=np.r_[np.ones(29), -2.0]),
        "part 2: sample_weight[29] is -2",
        "weights >= 0",
        "correct it",
    ),
    "a weight that is missing": (
        part_of(weight=np.r_[np.nan, np.ones(29)]),
        "part 2: sample_weight[0] is nan",
        "finite",
        "drop the pair",
    ),
    "items in words": (
        part_of(FRAME.assign(**{"left.u": "red"})),
        "part 2: pairs have shape (30, 2, 2) and dtype object",
        "numbers of shape (30, 2, 2)",
    ),
    "another width": (
        part_of(np.ones((30, 2, 3)), Y, None),
        "part 2: pairs have shape (30, 2, 3)",
        "numbers of shape (30, 2, 2)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_pairs_of_a_part_that_cannot_be_used_are_refused(name):
    part, *words = BAD[name]
    assert_refused(lambda: read_tuples(part, POINTS), *words)


def test_a_table_an_array_and_row_numbers_are_the_same_pairs():
    by_row = TupleTable(("u", "v"), TargetSpec(), array_rows(ITEMS, 30, "items")[0])
    frame = pd.DataFrame({"left": INDEX[:, 0], "right": INDEX[:, 1], "d": Y})
    ways = [(part_of(), POINTS), (part_of(ITEMS[INDEX], Y, None), POINTS), (part_of(frame, "d", None), by_row)]
    for part, table in ways:
        read = read_tuples(part, table)
        np.testing.assert_array_equal(read.pairs.items[read.pairs.index], ITEMS[INDEX])
        np.testing.assert_array_equal(read.y, Y)
    numbers = pd.DataFrame({"left": INDEX[:, 0] + 0.5, "right": INDEX[:, 1]})
    refused = lambda: read_tuples(part_of(numbers, Y, None), by_row)  # noqa: E731
    assert_refused(refused, "part 2: pairs have shape (30, 2) and dtype float64", "integers of shape (30, 2) are required")


def test_quadruplets_of_which_the_opposite_is_said_are_turned_round_and_tuples_of_no_weight_go():
    index = np.random.default_rng(1).integers(0, 30, (12, 4))
    y, weight = np.where(np.arange(12) % 3, 1.0, -1.0), np.arange(12.0) % 4
    table = TupleTable(("u", "v"), TargetSpec(Quadruplets, labeled=True))
    read = read_tuples(TuplePart("part 0", ITEMS[index], y, weight), table)
    turned = [[c, e, a, b] if sign < 0 else [a, b, c, e] for (a, b, c, e), sign in zip(index.tolist(), y, strict=True)]
    kept = weight > 0
    np.testing.assert_array_equal(read.tuples.items[read.tuples.index], ITEMS[np.array(turned)[kept]])
    np.testing.assert_array_equal(read.y, np.ones(kept.sum()))
    np.testing.assert_array_equal(read.weight, weight[kept])


def test_files_and_arrays_of_wrong_shapes_are_refused_before_anything_is_learned(tmp_path):
    def refused(model, pairs, y, *words):
        assert_refused(lambda: out_of_core.fit(model, pairs, y), *words)

    items = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=ITEMS)
    refused(items, INDEX[:, :1], Y, "pairs have shape (30, 1)", "row numbers (n_pairs, 2) are required")
    refused(items, INDEX + 0.0, Y, "dtype float64", "row numbers (n_pairs, 2) are required")
    refused(items, INDEX[:0], Y[:0], "there are 0 pairs", "at least one is required")
    refused(
        QuadrupletLearner(n_knots=3, alpha=1e-3, preprocessor=ITEMS, directions=None), INDEX, Y, "(30, 2)", "(n_quadruplets, 4)"
    )
    of_text = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=ITEMS.astype(str))
    refused(of_text, INDEX, Y, "preprocessor holds text", "numbers are required")
    for bad in (ITEMS[0], ITEMS[:0]):
        given = f"preprocessor has shape {bad.shape} and dtype {bad.dtype}"
        refused(DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=bad), INDEX, Y, given, "numbers of shape (n, n_features)")
    np.save(tmp_path / "y.npy", Y[:-1])
    model = DistanceRegressor(n_knots=3, alpha=1e-3)
    refused(model, ITEMS[INDEX], tmp_path / "y.npy", "y has shape (29,) for 30 pairs", "one entry a pair is required")
