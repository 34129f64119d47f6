"""Why items of an index are near."""

import warnings

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from mixed_distances import distance, items
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from semimetric import NeighborIndex, Semimetric, SemimetricNeighborsTransformer, ShardedIndex

IDS = np.array([f"id{k}" for k in range(40)])


@pytest.mark.parametrize("groups", ["singles", "pairs"])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_nearest_are_explained_by_their_ids(groups, gaps, rng):
    d = distance(1, groups, gaps=gaps)
    X, q = d.schema.display(items(rng, 40, gaps)), d.schema.display(items(rng, 1, gaps))
    index = NeighborIndex(d).fit(X, ids=IDS)
    index.add(X[:3], ids=["x", "y", "z"])
    distances, ids = index.kneighbors(q, 4)
    found = index.explain(q[0], n_neighbors=4)
    assert_array_equal(found.indices, ids[0])
    assert_allclose(found.distances, distances[0])
    assert_allclose(found.contributions.sum(axis=1), found.distances)
    assert "id" in repr(found)
    only = index.explain(q[0], n_neighbors=2, where=["id5", "id6"])
    assert set(only.indices) == {"id5", "id6"}


def test_given_ids_are_explained_in_their_order(rng):
    d = distance(1)
    X = items(rng, 40)
    index = NeighborIndex(d).fit(d.schema.display(X))
    for ids in (7, [7, 3], np.array([3, 7, 3])):
        found = index.explain(d.schema.display(X[:1]), ids, by="terms")
        assert found.terms == d.terms
        assert_array_equal(found.indices, np.ravel(ids))
        assert_allclose(found.distances, [d(d.schema.display(X[:1])[0], row) for row in d.schema.display(X[np.ravel(ids)])])


def test_a_distance_that_is_not_symmetric_is_explained_the_way_it_is_searched(rng):
    from dataclasses import replace

    from semimetric import PairEmbedding

    d = distance(1)
    embedding = PairEmbedding(d.embedding.grid, symmetry="none")
    d = replace(d, embedding=embedding, weights=rng.random(embedding.n_columns))
    X = d.schema.display(items(rng, 20))
    for side in ("query-first", "query-last"):
        index = NeighborIndex(d, side=side).fit(X[1:])
        found = index.explain(X[0], n_neighbors=3)
        assert_allclose(found.distances, index.kneighbors(X[:1], 3)[0][0])
        assert_allclose(found.contributions.sum(axis=1), found.distances)


def test_series_of_pandas_and_float32_items_are_read_without_a_warning(rng):
    frame = pd.DataFrame(rng.random((30, 2)), columns=["a", "b"])
    d = distance(1)
    d = type(d)(d.embedding.select(np.arange(2), np.arange(2)), d.weights[np.isin(d.embedding.group_of_column, [0, 1])],
                d.epsilon[:2], ("a", "b"))  # fmt: skip
    index = NeighborIndex(d).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = index.explain(frame.iloc[3])
    assert (found.indices[0], found.label) == (3, 3)
    small = NeighborIndex(d).fit(frame.to_numpy(np.float32))
    assert small.explain(frame.to_numpy()[3]).indices[0] == 3


def test_shards_explain_like_one_index(tmp_path, rng):
    d = distance(1)
    numbers = type(d)(d.embedding.select(np.arange(2), np.arange(2)), d.weights[np.isin(d.embedding.group_of_column, [0, 1])],
                      d.epsilon[:2], ("a", "b"))  # fmt: skip
    X = rng.random((40, 2))
    sharded = ShardedIndex.build(tmp_path / "shards", numbers, X, n_shards=3)
    one = NeighborIndex(numbers).fit(X)
    assert repr(sharded.explain(X[0], n_neighbors=6)) == repr(one.explain(X[0], n_neighbors=6))
    assert repr(sharded.explain(X[0], [30, 2])) == repr(one.explain(X[0], [30, 2]))


def test_what_is_not_there_is_refused(rng):
    d = distance(1)
    X = d.schema.display(items(rng, 10))
    index = NeighborIndex(d)
    with pytest.raises(NotFittedError):
        index.explain(X[0])
    index.fit(X)
    index.remove([4])
    assert_refused(lambda: index.explain(X[0], [2, 4]), "id 4 is not in the index", "drop it from ids")
    assert_refused(lambda: index.explain(X[0], ["a"]), "ids are <U1", "integers", "give the same")
    assert_refused(lambda: index.explain(X[:2]), "x holds 2 rows", "one is explained")
    assert_refused(lambda: index.explain("a7"), "x='a7' is no item", "of an id of the index", "give index.get_items(['a7'])")
    for nothing in ({"ids": []}, {"where": "a > 99"}, {"where": np.zeros(9, dtype=bool)}):
        assert_refused(lambda nothing=nothing: index.explain(X[0], **nothing), "no item to explain", "some items fulfil")


def test_ids_and_a_condition_are_not_both_taken(rng):
    index = NeighborIndex("l1").fit(rng.random((5, 2)))
    assert_refused(lambda: index.explain([0.1, 0.2], [1], where="x0 > 0"), "ids= names the items", "one of the two")


@pytest.mark.parametrize("by", ["features", "terms"])
@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_every_edge_of_a_graph_is_explained_as_its_pair_is(by, groups, rng):
    d = distance(1, groups)
    X, q = d.schema.display(items(rng, 40)), d.schema.display(items(rng, 5))
    index = NeighborIndex(d).fit(X, ids=IDS)
    for graph, rows, names in (
        (index.kneighbors_graph(None, 3), X, IDS),
        (index.kneighbors_graph(q, 3, "distance"), q, range(5)),
    ):
        found = index.explain_graph(graph, None if rows is X else rows, by=by)
        assert list(found.columns) == ["from", "to", "distance", *d.contribution_names(by)]
        assert len(found) == graph.nnz
        name_of = dict(zip(names, range(len(names)), strict=True))
        start, end = found["from"].map(name_of), found["to"].map(dict(zip(IDS, range(40), strict=True)))
        assert_array_equal(np.column_stack([start, end]), np.column_stack(graph.nonzero()))
        left, right = rows[start], X[end]
        assert_allclose(found["distance"], d.paired(left, right))
        assert_allclose(found.iloc[:, 3:], d.contributions(left, right, by=by))
        assert_allclose(found.iloc[:, 3:].sum(axis=1), d.link_function.invert(found["distance"].to_numpy()))


def test_a_graph_of_the_transformer_has_no_edge_of_an_item_to_itself(rng):
    X = pd.DataFrame(rng.random((30, 2)), columns=["distance", "width"])
    transformer = SemimetricNeighborsTransformer(Semimetric.l1(X), n_neighbors=4)
    graph = transformer.fit_transform(X)
    found = transformer.explain_graph(graph)
    assert len(found) == 30 * 4 == graph.nnz - 30
    assert list(found.columns) == ["from", "to", "distance", "distance (2)", "width"]
    assert_allclose(found["distance (2)"] + found["width"], found["distance"])
    both = transformer.explain_graph(graph.maximum(graph.T))
    assert {*zip(both["from"], both["to"], strict=True)} == {*zip(both["to"], both["from"], strict=True)}
    named = transformer.explain_graph(transformer.transform(X[:3]), X[:3].set_axis(list("abc")))
    assert set(named["from"]) == set("abc")
    assert len(named) == 15
    nothing = transformer.explain_graph(sparse.csr_array((30, 30)))
    assert nothing.shape == (0, 5)


def test_graphs_of_other_shapes_are_refused(rng):
    index = NeighborIndex("l1").fit(rng.random((30, 2)))
    assert_refused(lambda: index.explain_graph(np.ones((30, 30))), "graph is a ndarray", "a sparse matrix", "kneighbors_graph")
    few = sparse.csr_array((3, 30))
    assert_refused(lambda: index.explain_graph(few), "shape (3, 30)", "(30, 30) is required", "give X=")
    assert_refused(lambda: index.explain_graph(few, rng.random((4, 2))), "shape (3, 30)", "(4, 30) is required", "X=")
