"""Items in shards have the neighbours, the sums and the rows of items that are held together."""

import numpy as np
import pytest

from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.labeled_parts import LabeledPart, LabeledTable
from semimetric.distances.learning import items as partitioned_items
from semimetric.distances.learning.items import LabeledDataset, LabeledItems, LargeMargin, LargeMarginProblem
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import L1Prior
from semimetric.distances.learning.structure import build_structure

ITEMS = np.random.default_rng(0).random((90, 3))
ITEMS[60:64] = ITEMS[3:7]  # some twice, in other parts
LABELS = np.random.default_rng(1).integers(0, 3, 90)
LABELS[31] = 3  # alone in its class
WEIGHT = np.random.default_rng(2).random(90)
COUNTS = (31, 1, 30, 28)  # the second part has no target
NAMES = ("u", "v", "w")


@pytest.fixture(params=["warped", "full"])
def both(request, tmp_path, monkeypatch):
    """The items together, in parts, and the problem."""
    recipe, rule = Recipe(n_knots=4, tables=request.param, alpha=1e-2), LargeMargin(n_targets=2, n_impostors=3)
    structure, engine, table = build_structure(recipe, ITEMS, NAMES), SerialEngine(), LabeledTable(NAMES)
    ends = np.cumsum(COUNTS)[:-1]
    parts = [LabeledPart(f"part {k}", x) for k, x in enumerate(np.split(ITEMS, ends))]
    monkeypatch.setattr(partitioned_items, "shard_size", lambda *_: 40)
    labels, weights = LABELS.astype(np.uint8), np.split(WEIGHT, ends)
    apart = LabeledItems.of_parts(engine, parts, table, labels, weights, random_state=0, limit=1_000_000, scratch=tmp_path)
    together = LabeledItems.of_arrays(LabeledDataset(ITEMS, LABELS, WEIGHT))
    problem = LargeMarginProblem(recipe, rule, structure, structure, L1Prior(np.ones(3), np.ones(3)))
    with together.searchable(recipe, rule, structure) as held, apart.searchable(recipe, rule, structure) as in_shards:
        yield held, in_shards, problem
    assert not list(tmp_path.iterdir())


def test_shards_hold_parts_that_follow_one_another(both):
    assert [p.shard.n for p in both[1].located] == [32, 30, 28]


def test_what_learning_asks_is_the_same(both):
    together, apart, problem = both
    assert (apart.data.example == together.data.example).all()
    a, b = together.data.drawn(0), apart.data.drawn(0)
    assert (a.items[a.index] == b.items[b.index]).all()
    w = np.random.default_rng(3).random(problem.embedding.n_columns)
    here, there = together.neighbors(problem, w), apart.neighbors(problem, w)
    assert (here.weight == there.weight).all()
    for x, y in zip(here.sums, there.sums, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)
    A, B = here.design(), there.design()
    r = np.random.default_rng(4).random(A.shape[0])
    assert A.shape == B.shape
    np.testing.assert_allclose(A.matvec(w), B.matvec(w), atol=1e-12)
    np.testing.assert_allclose(A.rmatvec(r), B.rmatvec(r), atol=1e-10)
    left, right = here.blocks.in_memory.found.impostors
    pairs = there.impostor_pairs(10_000)
    np.testing.assert_array_equal(pairs.items[pairs.index], np.stack([ITEMS[left], ITEMS[right]], axis=1))
    same = here.impostor_pairs(10_000)
    np.testing.assert_array_equal(pairs.items[pairs.index], same.items[same.index])
    assert len(there.impostor_pairs(20)) == len(here.impostor_pairs(20)) == pytest.approx(20, abs=3)
