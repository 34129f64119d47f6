import numpy as np
import pytest
from cases import assert_refused

from semimetric.data.splits import sample_pairs


@pytest.mark.parametrize("near", [0.0, 0.25, 1.0])
def test_drawn_pairs_are_distinct_and_of_different_rows(rng, near):
    index = sample_pairs(rng.random((60, 3)), 300, near=near, random_state=0)
    assert (index[:, 0] != index[:, 1]).all()
    assert len({frozenset(p) for p in index.tolist()}) == len(index)
    assert len(index) == 300
    assert (index == sample_pairs(np.random.default_rng(0).random((60, 3)), 300, near=near, random_state=0)).all()


@pytest.mark.parametrize("near", [0.0, 0.25, 1.0])
def test_all_pairs_are_drawn_where_all_are_asked_for(rng, near):
    items = rng.random((40, 2))
    every = {frozenset((i, j)) for i in range(40) for j in range(i)}
    for n_pairs in (len(every), 10_000):
        index = sample_pairs(items, n_pairs, near=near, n_neighbors=3, random_state=0)
        assert len(index) == len(every)
        assert {frozenset(p) for p in index.tolist()} == every
    assert len(sample_pairs(items, len(every) - 1, near=near, random_state=0)) == len(every) - 1


def test_near_pairs_are_near(rng):
    items = rng.random((300, 2))

    def mean(near):
        i, j = sample_pairs(items, 200, near=near, n_neighbors=5, random_state=0).T
        return np.linalg.norm(items[i] - items[j], axis=1).mean()

    assert mean(1.0) < mean(0.0) / 3


def test_few_or_equal_items():
    assert sample_pairs(np.zeros((2, 1)), 10, random_state=0).shape == (1, 2)
    assert_refused(lambda: sample_pairs(np.zeros((1, 1)), 10), "two items", "are required")


@pytest.mark.parametrize("near", [0.0, 0.5, 1.0])
def test_items_that_are_all_alike_have_no_near_pairs_but_pairs(near):
    index = sample_pairs(np.ones((30, 2)), 50, near=near, random_state=0)
    assert index.shape == (50, 2)
    assert len({frozenset(p) for p in index.tolist()}) == 50
    assert (index[:, 0] != index[:, 1]).all()
