"""Three distances from the same items: their columns, and their sum."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from semimetric.data.schema import Schema
from semimetric.distances.learning.items import LabeledDataset, LargeMargin
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.sum_of_distances import learn_summands

RECIPE = Recipe(n_knots=5, tables="warped", alpha=1e-2, loss="squared_hinge", random_state=0)


def dataset(items, labels):
    return LabeledDataset(items, labels, np.full(len(labels), 1.0 / len(labels)))


@pytest.fixture
def numbers(rng):
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


def test_each_has_columns_of_its_own(numbers):
    X, y = numbers
    learned = learn_summands(RECIPE, LargeMargin(), dataset(X, y), Schema.numeric("abc"))
    assert list(learned.weights) == ["scales", "components", "forest"]
    used = np.array([w != 0 for w in learned.weights.values()])
    assert used.sum(axis=0).max() == 1
    assert [learned.structure.embedding.n_columns, 3] == [used.shape[1], len(used)]


def test_their_distances_add_up(numbers):
    X, y = numbers
    learned = learn_summands(RECIPE, LargeMargin(), dataset(X, y), Schema.numeric("abc"))
    features = learned.structure.features_of(X)
    located = learned.structure.embedding.locate(features)
    whole = learned.structure.embedding.pairwise(located, located, sum(learned.weights.values()))
    assert_allclose(sum(part.pairwise(features, features) for _, part in learned.parts()), whole, atol=1e-9)


def test_components_are_the_l1_distance_along_them_and_a_forest_the_share_of_trees(numbers):
    X, y = numbers
    learned = learn_summands(RECIPE, LargeMargin(), dataset(X, y), Schema.numeric("abc"))
    features, directions = learned.structure.features_of(X), learned.structure.directions
    parts = dict(learned.parts())
    z, leaves = features[:, 3 : 3 + directions.n_linear], features[:, 3 + directions.n_linear :]
    assert_allclose(parts["components"].pairwise(features, features), np.abs(z[:, None] - z).sum(axis=2), atol=1e-9)
    assert_allclose(parts["forest"].pairwise(features, features), (leaves[:, None] != leaves).mean(axis=2), atol=1e-12)


def test_categories_alone_have_no_components(rng):
    frame = pd.DataFrame({"a": pd.Categorical(rng.choice(list("uvw"), 60)), "b": pd.Categorical(rng.choice(list("xy"), 60))})
    schema = Schema.fit(frame)
    labels = ((frame["a"] == "u") ^ (frame["b"] == "x")).to_numpy().astype(np.int64)
    learned = learn_summands(RECIPE, LargeMargin(), dataset(schema.encode(frame), labels), schema)
    assert list(learned.weights) == ["scales", "forest"]


def test_scales_of_many_items_are_those_of_a_sample(numbers, monkeypatch):
    from semimetric.distances.learning import sum_of_distances as summands

    X, y = numbers
    monkeypatch.setattr(summands, "MOST_FOR_SCALES", 40)
    learned = learn_summands(RECIPE, LargeMargin(), dataset(X, y), Schema.numeric("abc"))
    assert learned.scales.passes[0].n_triplets <= 42 * 18
    assert_array_equal([k[[0, -1]] for k in learned.structure.embedding.grid.knots[:3]], np.array([X.min(0), X.max(0)]).T)
