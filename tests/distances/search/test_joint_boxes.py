"""Every item is in the box that its code names, intervals are within cells, and there are as many as a byte tells apart."""

import numpy as np
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search import joint as joint_boxes
from semimetric.distances.search.joint import BOXES, JointBoxes
from semimetric.distances.search.query_tables import JointTables


def boxes_of(embedding, items):
    tables = JointTables(embedding, np.random.default_rng(0).random(embedding.n_columns), True)
    return tables, JointBoxes.of(tables, tables.held, tables.held_groups, embedding.locate(items))


def assert_items_are_in_their_boxes(embedding, items):
    tables, boxes = boxes_of(embedding, items)
    groups, intervals, located = tables.held_groups, boxes.intervals, embedding.locate(items).located
    assert (intervals.low >= 0).all()
    assert (intervals.high <= 1).all()
    assert (intervals.low <= intervals.high).all()
    positions = located.lower + located.fraction
    for k in range(len(groups.points)):
        rest = boxes.codes[k].astype(np.int64)
        for j in range(groups.first[k], groups.first[k + 1]):
            part = slice(intervals.first[j], intervals.first[j + 1])
            low, high, code = (
                (intervals.cell + a)[part] for a in (intervals.low, intervals.high, np.zeros_like(intervals.low))
            )
            code = intervals.code[part]
            assert (np.diff(low) >= 0).all()
            assert (np.diff(code) >= 0).all()
            digit = np.array([code[code <= c].max() for c in rest])  # codes of the features after it are smaller than a step
            x = positions[:, groups.column[j]]
            inside = (low <= x[:, None] + 1e-9) & (x[:, None] <= high + 1e-9) & (code == digit[:, None])
            assert inside.any(axis=1).all()
            rest = rest - digit
        assert (rest == 0).all()
    return boxes


@given(data=st.data())
@settings(max_examples=40)
def test_every_item_is_in_its_box(data):
    grid = data.draw(our.mixed_grids(max_features=4))
    members = data.draw(our.groups(grid.n_features, max_size=4))
    assert_items_are_in_their_boxes(PairEmbedding(grid, members), data.draw(our.points(grid, 30)))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_boxes_are_as_many_as_a_byte_tells_apart(size):
    rng = np.random.default_rng(0)
    grid = Grid([np.linspace(0, 1, 4)] * size)
    boxes = assert_items_are_in_their_boxes(PairEmbedding(grid, [tuple(range(size))]), rng.random((5000, size)))
    assert BOXES / 2 < int(boxes.codes.max()) + 1 <= BOXES


def test_a_feature_of_few_values_leaves_its_boxes_to_the_other():
    rng = np.random.default_rng(0)
    grid = Grid([np.arange(3.0), np.linspace(0, 1, 4)], ("categorical", "numeric"))
    items = np.column_stack([rng.integers(0, 3, 4000), rng.random(4000)]).astype(float)
    boxes = assert_items_are_in_their_boxes(PairEmbedding(grid, [(0, 1)]), items)
    assert len(np.unique(boxes.codes)) > 200


def test_cells_that_the_sample_misses_and_more_cells_than_boxes(monkeypatch):
    monkeypatch.setattr(joint_boxes, "_SAMPLE", 10)
    rng = np.random.default_rng(0)
    grid = Grid([np.linspace(0, 1, 30), np.linspace(0, 1, 5)])
    items = rng.random((3000, 2)) ** 3
    assert_items_are_in_their_boxes(PairEmbedding(grid, [(0, 1)]), items)
    monkeypatch.setattr(joint_boxes, "_SAMPLE", 20_000)
    assert_items_are_in_their_boxes(PairEmbedding(grid, [(0, 1)]), items)
    assert_items_are_in_their_boxes(PairEmbedding(grid, [(1, 0), (0,)]), np.repeat(items[:1], 50, axis=0))
