"""The scan that costs less is chosen by counts, and what it answers does not depend on the choice."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from semimetric import Grid, NeighborIndex, Semimetric
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search import segment
from semimetric.distances.search import segment as scan_choice
from semimetric.distances.search.segment import columns_pay, share_within


def index_of(share):
    """6,000 items under 6 single features and one pair, which has this share of the weights."""
    rng = np.random.default_rng(0)
    items = rng.random((6_000, 6))
    embedding = PairEmbedding(Grid.fit(items, n_knots=4), [*((f,) for f in range(6)), (0, 1)])
    weights = embedding.prior(np.ones(6)) * np.where(embedding.group_of_column == 6, share, 1 - share)
    d = Semimetric(embedding, weights + 1e-3 * share * rng.random(len(weights)), np.ones(6), tuple("abcdef"))
    return NeighborIndex(d).fit(items), rng.random((20, 6))


def test_columns_are_scanned_where_single_features_count_and_boxes_where_the_pair_does():
    few, many = (index_of(share)[0].segments_[0] for share in (1e-3, 1 - 1e-3))
    assert few.scan_choice[0] is None
    assert many.scan_choice[0] is many._joint_scan
    assert few.scan_choice[1] < len(few) / 8


@pytest.mark.parametrize("share", [1e-3, 0.5, 1 - 1e-3])
def test_both_scans_answer_the_same(share, monkeypatch):
    monkeypatch.setattr(segment, "_WORTH", 0)
    found = []
    for column in (-1e9, 1e9):  # columns always pay, or never
        monkeypatch.setattr(scan_choice, "_COLUMN", column)
        index, queries = index_of(share)
        found.append((index.kneighbors(queries, 7), index.radius_neighbors(queries[:3], 0.1)))
        assert (index.segments_[0]._boxes is None) == (column < 0)
    (nearest, within), (other_nearest, other_within) = found
    for one, other in zip(nearest, other_nearest, strict=True):
        assert_array_equal(one, other)
    for one, other in zip(within, other_within, strict=True):
        assert all(map(np.array_equal, one, other))


def test_the_share_within_a_limit_is_that_of_the_bounds():
    index, queries = index_of(0.5)
    part = index.segments_[0]
    block = part.view.block(part.view.points(queries))
    tables, _ = part._bounds(block)
    limits = np.linspace(-1.0, 2.0, len(queries))
    shares = share_within(tables, part.filter.floor, part.codes.packed, limits)
    for q in range(len(queries)):
        rows = part._surviving(tables, q, float(limits[q]), None)
        assert shares[q] == (1.0 if rows is None else len(rows) / len(part))


@pytest.mark.parametrize("limit", [1e300, np.inf, -1e300])
def test_limits_of_any_size_are_compared(limit):
    index, queries = index_of(0.5)
    part = index.segments_[0]
    tables, _ = part._bounds(part.view.block(part.view.points(queries[:1])))
    assert share_within(tables, 0.0, part.codes.packed, np.array([limit])) == (limit > 0)


def test_costs_are_compared():
    assert columns_pay(1_000_000, 33, 17, 2_000, 1_000)
    assert not columns_pay(1_000_000, 15, 15, 1_000_000, 1_000)


def test_an_item_that_is_refined_costs_200_ns():
    assert columns_pay(100_000, 12, 2, 610, 500)  # The scan of columns takes 24,000 ns less, and refines 110 items more.
    assert not columns_pay(100_000, 12, 2, 630, 500)
