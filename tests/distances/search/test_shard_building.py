"""A folder of shards is built whole, or not at all."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric.data.parts.engine import SerialEngine
from semimetric.distances.search.sharded import ItemPart, build_shards

ITEMS = np.random.default_rng(0).random((20, 3))


@pytest.mark.parametrize("order", [("numbers", "text"), ("text", "numbers")])
def test_ids_of_different_kinds_are_refused_and_nothing_is_left(order, tmp_path):
    d = cases.fitted("singles")[0].semimetric_
    ids = {"numbers": np.arange(20), "text": np.array([f"item {k}" for k in range(20)])}
    parts = [ItemPart(name, (ITEMS[:20],), (ids[name],)) for name in order]
    call = lambda: build_shards(SerialEngine(), tmp_path / "index", d, parts)  # noqa: E731
    assert_refused(call, f"ids of {order[0]} and of {order[1]} are of different kinds", "integers or strings in all", "convert")
    assert not (tmp_path / "index").exists()


def test_a_shard_without_items_is_refused_and_named(tmp_path):
    d = cases.fitted("singles")[0].semimetric_
    parts = [ItemPart("part 0", (ITEMS[:5],), 0), ItemPart("part 1", (ITEMS[:0], ITEMS[:0]), 5)]
    call = lambda: build_shards(SerialEngine(), tmp_path / "index", d, parts)  # noqa: E731
    assert_refused(call, "part 1: it is empty", "at least one item", "leave it out, or repartition")
    assert not (tmp_path / "index").exists()
