"""Which vertices are columns: all of small tables, else those that the examples touch."""

import cases
import numpy as np
import pytest
import reference
from learners import made

from semimetric import DistanceRegressor
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import prior as kept_columns
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import (
    L1Prior,
    keeps_all_vertices,
    vertices_of_columns,
    vertices_of_pairs,
    with_vertices,
)
from semimetric.distances.learning.structure import build_structure
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.programs.design_matrix import PairDesign

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")


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
        models.append(made(DistanceRegressor, **options).fit(INDEX, Y).semimetric_)
    assert models[1].embedding.whole
    table = models[0].pairwise(ITEMS)
    np.testing.assert_allclose(models[1].pairwise(ITEMS), table, atol=0.02 * table.mean())


GROUPS = {"singles": "singles", "pairs": "pairs", "joint": [(0, 1, 2)], "overlapping": [(0,), (2, 0)]}
AXIOMS = {"singles": "semimetric", "pairs": "semimetric", "joint": "premetric", "overlapping": "semimetric"}
every_layout = pytest.mark.parametrize(("groups", "axioms"), AXIOMS.items())


def structure_of(groups, axioms, n_knots=4):
    return build_structure(Recipe(n_knots=n_knots, groups=GROUPS[groups], axioms=axioms), ITEMS, NAMES)


def prior_of(structure):
    n = structure.embedding.grid.n_features
    return L1Prior(np.arange(1.0, n + 1), np.ones(n))


@every_layout
def test_the_vertices_of_pairs_are_those_whose_columns_have_entries(groups, axioms):
    structure, pairs = structure_of(groups, axioms), Pairs(ITEMS, INDEX[:9])
    embedding = structure.embedding
    has_entries = PairDesign(embedding, pairs).csr().toarray().any(axis=0)
    found = zip(embedding.vertices, vertices_of_pairs(structure, pairs), vertices_of_columns(structure), strict=True)
    for g, (vertices, touched, keys) in enumerate(found):
        columns = vertices.canonical(touched[~vertices.on_diagonal(touched)])  # mirrored vertices share a column
        assert set(columns.tolist()) == set(keys[has_entries[embedding.group_of_column == g]].tolist())


@every_layout
def test_the_vertices_of_pairs_are_those_of_their_slow_rows(groups, axioms):
    structure, pairs = structure_of(groups, axioms), Pairs(ITEMS, INDEX[:9])
    knots, found = structure.embedding.grid.knots, vertices_of_pairs(structure, pairs)
    for vertices, touched in zip(structure.embedding.vertices, found, strict=True):
        rows = [reference.pair_row(ITEMS[i], ITEMS[j], knots, vertices.group) for i, j in pairs.index]
        slow = {a * vertices.n_points + b for row in rows for (a, b), weight in row.items() if weight > 0}
        assert touched.tolist() == sorted(slow)


@every_layout
def test_columns_left_out_change_no_distance_of_the_pairs_that_stay(groups, axioms, rng):
    structure, pairs = structure_of(groups, axioms, 6), Pairs(ITEMS, INDEX[:2])
    kept = with_vertices(structure, vertices_of_pairs(structure, pairs), prior_of(structure))
    assert kept.embedding.n_columns < structure.embedding.n_columns // 2
    weights = rng.random(structure.embedding.n_columns)
    positions = structure.embedding.positions(kept.embedding)
    whole, part = PairDesign(structure.embedding, pairs), PairDesign(kept.embedding, pairs)
    np.testing.assert_allclose(part.matvec(weights[positions]), whole.matvec(weights), atol=1e-12)


def test_a_vertex_that_is_no_column_has_the_weight_of_the_prior():
    structure, pairs = structure_of("singles", "semimetric", 6), Pairs(ITEMS, INDEX[:2])
    kept = with_vertices(structure, vertices_of_pairs(structure, pairs), prior_of(structure))
    prior = kept.embedding.prior(prior_of(structure).slopes)
    embedding, weights = kept.embedding.expanded(prior)
    located, index = embedding.locate(ITEMS), INDEX[:, :2]
    found = embedding.paired(located, index[:, 0], located, index[:, 1], weights)
    np.testing.assert_allclose(found, np.abs(ITEMS[index[:, 0]] - ITEMS[index[:, 1]]) @ [1.0, 2.0, 3.0], rtol=1e-9)


def test_most_vertices_of_a_small_table_are_as_good_as_all():
    structure = structure_of("singles", "semimetric")
    assert with_vertices(structure, vertices_of_pairs(structure, Pairs(ITEMS, INDEX)), prior_of(structure)) is structure


def test_scales_and_small_tables_keep_all_vertices(monkeypatch):
    warped = build_structure(Recipe(n_knots=4, tables="warped"), ITEMS, NAMES)
    small = structure_of("singles", "semimetric")
    assert keeps_all_vertices(warped)
    assert keeps_all_vertices(small)
    monkeypatch.setattr(kept_columns, "_MANY_COLUMNS", small.embedding.n_columns - 1)
    assert keeps_all_vertices(warped)
    assert not keeps_all_vertices(small)
