"""The parts of single features, interpolated by NumPy, add up to the distance."""

import cases
import numpy as np
import pytest

from semimetric import Semimetric
from semimetric.data.grid import Grid
from semimetric.distances.model.explanations import part_of, single_groups, single_parts
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding

NUMBERS = Grid([[0.0, 1.0, 3.0], [0.0, 2.0], [-1.0, 0.0, 2.0, 5.0]])
MIXED = Grid(
    [[0.0, 1.0, 3.0], [0.0, 1.0, 2.0], [0.0, 2.0, 4.0, 6.0], [1.0, 2.0]],
    ["numeric", "categorical", "periodic", "numeric"],
    [True, False, False, True],
)
SINGLE = {
    "symmetric": PairEmbedding,
    "asymmetric": lambda grid: PairEmbedding(grid, symmetry="none"),
    "with diagonal": lambda grid: PairEmbedding(grid, symmetry="none", zero_diagonal=False),
}


def by_hand(parts, x, y, unit):
    """sum over parts of their table at two positions, linear between vertices on Kuhn simplices, and of their slope."""
    total = 0.0
    for k in range(len(parts.features)):
        c = int(parts.scales.size[k])
        start = int(parts.scales.start[k])
        table = parts.scales.tables[start : start + c * c].reshape(c, c)
        inside = [min(max(side[k], 0.0), c - 1.0) for side in (x, y)]
        a, b = (min(int(position), max(c - 2, 0)) for position in inside)
        s, t = inside[0] - a, inside[1] - b
        a2, b2 = min(a + 1, c - 1), min(b + 1, c - 1)
        corner = table[a2, b] if s > t else table[a, b2]
        total += (1 - max(s, t)) * table[a, b] + abs(s - t) * corner + min(s, t) * table[a2, b2]
        below, above = parts.scales.epsilon[k]
        low, high = [min(0.0, side[k]) for side in (x, y)], [max(c - 1.0, side[k]) for side in (x, y)]
        total += below * abs(low[0] - low[1]) + above * abs(high[0] - high[1])
    return total


def distances_by_hand(embedding, w, epsilon, X, *, transposed=False):
    parts = single_parts(embedding, w, epsilon, transposed=transposed)
    place = parts.positions(embedding.grid.locate(X), embedding.grid.excess(X))
    pairs = [(j, i) if transposed else (i, j) for i in range(len(X)) for j in range(len(X))]
    return np.array([by_hand(parts, place[i], place[j], parts.unit) for i, j in pairs]).reshape(len(X), -1)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("make", [*SINGLE.values(), WarpedEmbedding], ids=[*SINGLE, "warped"])
def test_parts_add_up_to_the_distance(make, transposed, rng):
    embedding = make(NUMBERS)
    w, epsilon = rng.random(embedding.n_columns), np.array([[0.5, 1.5], [0.0, 0.0], [2.0, 0.0]])
    d = Semimetric(embedding, w, epsilon, ("u", "v", "w"))
    X = rng.uniform(-3, 7, (9, 3))
    np.testing.assert_allclose(distances_by_hand(embedding, w, epsilon, X, transposed=transposed), d.pairwise(X), atol=1e-12)


@pytest.mark.parametrize(
    "make", [*SINGLE.values(), cases.MIXED_EMBEDDINGS["scales and tables"]], ids=[*SINGLE, "scales and tables"]
)
def test_parts_of_features_of_any_kind_add_up(make, rng):
    embedding = make(MIXED)
    w, epsilon = rng.random(embedding.n_columns), np.array([[0.5, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 3.0]])
    d = Semimetric(embedding, w, epsilon, ("u", "c", "t", "v"))
    X = np.column_stack([rng.uniform(-1, 4, 9), rng.integers(0, 3, 9), rng.uniform(0, 6, 9), rng.uniform(0, 3, 9)])
    X[2, 0] = X[4, 3] = X[5, 0] = X[5, 3] = np.nan
    index = np.stack(np.indices((9, 9)), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(distances_by_hand(embedding, w, epsilon, X).ravel(), d.paired_by_index(X, index), atol=1e-12)


def test_a_feature_without_a_table_has_a_slope_alone(rng):
    embedding = cases.EMBEDDINGS["singles"](NUMBERS).select(np.array([0, 2]), np.arange(3))
    parts = single_parts(embedding, rng.random(embedding.n_columns), np.ones((3, 2)))
    assert parts.features.tolist() == [0, 2, 1]
    assert parts.n_tables == 2
    assert not parts.scales.tables[parts.scales.start[2] :].any()


def test_joint_groups_are_no_single_parts(rng):
    embedding = cases.EMBEDDINGS["overlapping"](NUMBERS)
    w = rng.random(embedding.n_columns)
    assert single_groups(embedding).tolist() == [0]
    assert not len(single_groups(cases.EMBEDDINGS["swapped"](NUMBERS)))
    part, part_w = part_of(embedding, w, single_groups(embedding))
    X, rows = rng.uniform(0, 3, (6, 3)), np.arange(6)
    whole, alone = embedding.locate(X), part.locate(X[:, [0]])
    want = embedding.contributions(whole, rows, whole, rows[::-1], w)[:, 0]
    np.testing.assert_allclose(part.paired(alone, rows, alone, rows[::-1], part_w), want)
