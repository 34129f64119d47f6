"""Which vertices are columns: all of small tables, else those that the examples touch."""

import cases
import numpy as np
import pytest

from semimetric import DistanceRegressor
from semimetric.embeddings.pairs.full_tables import PairEmbedding
from semimetric.learning import kept_columns

ITEMS, INDEX, Y = cases.sample()


@pytest.mark.parametrize("name", ["touched", "joint"])
def test_tables_too_large_hold_touched_vertices_and_a_prior_elsewhere(name):
    model = cases.fitted(name)[0]
    embedding = model.semimetric_.embedding
    assert isinstance(embedding, PairEmbedding)
    assert embedding.whole == (name == "joint")
    corners = np.array([embedding.grid.low, embedding.grid.high])
    assert model.semimetric_(*corners) > 0.1 * Y.mean()  # an unseen vertex is never silently 0


def test_many_columns_are_restricted_to_those_that_pairs_touch(monkeypatch):
    """The distance is that of the whole table: untouched vertices take the prior, which is where a ridge puts them."""
    options = cases.RECIPES["pairs"] | {"penalty": "ridge", "preprocessor": ITEMS, "n_knots": 6}
    models = []
    for many in (10**9, 10):
        monkeypatch.setattr(kept_columns, "_MANY_COLUMNS", many)
        models.append(DistanceRegressor(**options).fit(INDEX, Y).semimetric_)
    assert models[1].embedding.whole
    table = models[0].pairwise(ITEMS)
    np.testing.assert_allclose(models[1].pairwise(ITEMS), table, atol=0.02 * table.mean())
