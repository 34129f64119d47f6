"""Labelled items in memory: their neighbours, and the rows of their triplets."""

import numpy as np
import pytest
from learners import made
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from semimetric import LargeMarginLearner, PartitionFeatures
from semimetric.data.schema import Schema
from semimetric.distances.learning import items as in_memory_items
from semimetric.distances.learning.items import LabeledDataset, LabeledItems, LargeMargin, LargeMarginProblem, drawn_rows
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import L1Prior

X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return made(LargeMarginLearner, **FAST | changes)


def test_rows_too_many_to_hold_are_made_as_they_are_needed(monkeypatch):
    held = learned().fit(X, Y)
    monkeypatch.setattr(in_memory_items, "_HELD", 0)
    assert_allclose(learned().fit(X, Y).semimetric_.weights, held.semimetric_.weights, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.* some lie beyond the knots")
@pytest.mark.parametrize("options", [{}, {"knots": [np.quantile(column, [0.2, 0.5, 0.8]) for column in X.T]}])
def test_many_items_are_searched_by_the_index(monkeypatch, options):
    brute = learned(**options).fit(X, Y)
    monkeypatch.setattr(in_memory_items, "_MANY", 0)
    assert_allclose(learned(**options).fit(X, Y).semimetric_.weights, brute.semimetric_.weights, rtol=1e-5, atol=1e-9)


SMALL, CLASSES = X[::6, :3], Y[::6]
WEIGHT = np.random.default_rng(0).random(len(CLASSES))


@pytest.fixture
def neighbors():
    """Neighbours of thirty wines under the weighted L1 distance, and the structure."""
    recipe, rule = Recipe(n_knots=4, tables="warped"), LargeMargin(n_targets=2, n_impostors=3)
    items = LabeledItems.of_arrays(LabeledDataset(SMALL, CLASSES, WEIGHT))
    structure = items.structure(recipe, Schema.numeric(["u", "v", "w"]))
    prior = L1Prior(1 / np.ptp(SMALL, axis=0), np.ones(3))
    problem = LargeMarginProblem(recipe, rule, structure, structure, prior)
    with items.searchable(recipe, rule, structure) as located:
        return located.neighbors(problem, structure.embedding.prior(prior.slopes))


@pytest.fixture
def block(neighbors):
    """The one part of these neighbours."""
    return neighbors.blocks.in_memory


def distances_of(weights, problem):
    located = problem.embedding.locate(SMALL)
    return problem.embedding.pairwise(located, located, weights)


def test_neighbors_are_those_of_all_distances(block):
    d = np.abs(SMALL[:, None] - SMALL) @ (1 / np.ptp(SMALL, axis=0))
    for i, label in enumerate(CLASSES):
        own = [j for j in np.argsort(d[i], kind="stable") if CLASSES[j] == label and j != i]
        others = [j for j in np.argsort(d[i], kind="stable") if CLASSES[j] != label]
        np.testing.assert_allclose(d[i][block.found.near[i]], d[i][own[:2]], atol=1e-9)
        np.testing.assert_allclose(d[i][block.found.far[i]], d[i][others[:3]], atol=1e-9)
        np.testing.assert_allclose(block.found.near_distances[i], d[i][own[:2]], atol=1e-9)


def test_sums_and_rows_are_those_of_distances_under_any_weights(neighbors, block, rng):
    weights = rng.random(block.problem.embedding.n_columns)
    d, triplets = distances_of(weights, block.problem), block.found.triplets()
    i, j, l = triplets.T  # noqa: E741 - as in the formula
    np.testing.assert_allclose(neighbors.design().matvec(weights), d[i, j] - d[i, l], atol=1e-12)
    assert (neighbors.weight == WEIGHT[i]).all()
    near, sums = block.found.near, neighbors.sums
    assert sums.pull @ weights == pytest.approx(sum(WEIGHT[a] * d[a, b] for a, row in enumerate(near) for b in row))
    assert sums.pull_weight == pytest.approx(2 * WEIGHT.sum())
    assert sums.n_apart == near.size
    assert sums.distance == pytest.approx(block.found.near_distances.sum())


def test_rows_that_are_not_held_are_the_same(neighbors, monkeypatch):
    held = neighbors.design()
    monkeypatch.setattr(in_memory_items, "_HELD", 0)
    made = neighbors.design()
    assert type(made) is not type(held)
    np.testing.assert_allclose(made.csr().toarray(), held.csr().toarray(), atol=1e-12)


def test_impostor_pairs_are_spaced_evenly(neighbors, block):
    left, right = block.found.impostors
    every = neighbors.impostor_pairs(10**6)
    assert every.index.tolist() == np.column_stack([left, right]).tolist()
    assert (CLASSES[every.left] != CLASSES[every.right]).all()
    step = len(every) // 10
    assert neighbors.impostor_pairs(10).index.tolist() == every.index[::step].tolist()


def test_pairs_are_drawn_by_row_number():
    items = LabeledItems.of_arrays(LabeledDataset(SMALL, CLASSES, WEIGHT))
    drawn = items.drawn(3)
    assert drawn.items is SMALL
    assert (drawn.index == drawn_rows(len(SMALL), 3)).all()


@pytest.mark.parametrize(
    "directions",
    [pytest.param("forest", marks=pytest.mark.slow), "nca-embedded", PartitionFeatures("random-forest", n_trees=5)],
)
def test_directions_of_weighted_items_are_those_of_repeated_ones(directions):
    times = 1 + np.arange(len(X)) % 4 * (Y == 1)
    weighted = learned(directions=directions).fit(X, Y, sample_weight=times)
    repeated = learned(directions=directions).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    plain = learned(directions=directions).fit(X, Y)
    d = [model.semimetric_.directions.append(X[::9]) for model in (weighted, repeated, plain)]
    assert_allclose(d[0], d[1], atol=1e-6)
    assert d[0].shape != d[2].shape or not np.allclose(d[0], d[2])
