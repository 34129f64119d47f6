from itertools import combinations

import numpy as np
import pytest

from semimetric import Grid, PairEmbedding
from semimetric._foundation.types import Pairs
from semimetric.distances.learning.groups import coarse_grid, joint_columns, paired_features, scores
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.measured_fit import HeldOutDistances
from semimetric.distances.learning.options import Recipe

RECIPE = Recipe(n_knots=4, alpha=1e-5, random_state=0)


@pytest.fixture(scope="module")
def setting():
    rng = np.random.default_rng(0)
    items = rng.random((200, 5))
    index = rng.integers(0, 200, (1500, 2))
    product = items[:, 1] * items[:, 3]
    y = np.abs(np.diff(items[index][:, :, 0])).ravel() + 3 * np.abs(np.diff(product[index])).ravel()
    data = MeasuredDistances.of_arrays(Pairs(items, index), y, np.full(1500, 1 / 1500))
    source = HeldOutDistances(data, ("a", "b", "c", "d", "e"))
    fitted = source.fitted(RECIPE, source.all_data(RECIPE))
    return fitted, coarse_grid(RECIPE, fitted.structure, items)


def test_the_pair_that_acts_together_has_the_highest_score(setting):
    fitted, grid = setting
    pairs = list(combinations(range(5), 2))
    found = dict(zip(pairs, scores(fitted, RECIPE, grid, pairs), strict=True))
    best = max(found, key=found.get)
    assert best == (1, 3)
    assert found[best] > 0.1
    assert max(v for pair, v in found.items() if not {1, 3} & {*pair}) < 0.02


def test_a_score_does_not_depend_on_the_other_candidates(setting):
    fitted, grid = setting
    both = scores(fitted, RECIPE, grid, [(0, 2), (1, 3)])
    np.testing.assert_array_equal(both[1:], scores(fitted, RECIPE, grid, [(1, 3)]))


@pytest.mark.parametrize("tied", [True, False])
def test_columns_are_counted_without_making_them(tied):
    grid = Grid([[0.0, 1.0, 2.0], [0.0, 1.0], [0.0, 1.0, 2.0, 3.0]], ["numeric", "categorical", "periodic"])
    for pair in combinations(range(3), 2):
        embedding = PairEmbedding(grid, [pair], symmetry="tie" if tied else "none")
        assert joint_columns(grid, pair, tied=tied) == embedding.n_columns


def test_of_many_features_those_with_the_largest_shares_are_paired(setting):
    fitted, _ = setting
    assert paired_features(fitted, range(5), 10) == list(combinations(range(5), 2))
    assert paired_features(fitted, range(5), 9)[0] == (0, 1)
    assert {f for pair in paired_features(fitted, range(5), 3) for f in pair} == {0, 1, 3}
    assert len(paired_features(fitted, range(5), 1)) == 1
