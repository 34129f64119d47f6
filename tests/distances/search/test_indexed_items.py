"""The items of an index are counted, found by id, and given back as they were given."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused, fitted
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from semimetric import Columns, DistanceRegressor, NeighborIndex, ShardedIndex, gower, load
from semimetric.distances.search import index as index_module


@pytest.fixture(scope="module")
def d():
    return fitted("pairs")[0].semimetric_


@pytest.fixture(scope="module")
def of_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.random(40), "colour": pd.Categorical(rng.choice(["blue", "red"], 40)), "hour": rng.random(40)}
    )
    frame.loc[3, ["age", "hour"]] = np.nan
    model = DistanceRegressor(
        n_knots=3, alpha=1e-2, preprocessor=frame, columns=Columns(periodic={"hour": 24}, missing="level")
    )
    return model.fit(np.arange(40).reshape(-1, 2), rng.random(20)).semimetric_, frame


@given(seed=st.integers(0, 2**31), text=st.booleans(), single=st.booleans())
@settings(max_examples=25)
def test_an_index_is_a_collection_of_its_items(d, seed, text, single):
    """A dict of items by id, changed in the same way, is the twin."""
    rng = np.random.default_rng(seed)
    X = rng.random((30, 3)).astype(np.float32 if single else np.float64)
    ids = rng.permutation(1000)[:30]
    ids = np.array([f"item {k}" for k in ids]) if text else ids
    index, twin = NeighborIndex(d).fit(X[:10], ids=ids[:10]), dict(zip(ids[:10].tolist(), X[:10], strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_TAIL", 1)
        for start in (10, 20):
            index.add(X[start : start + 10], ids=ids[start : start + 10])
            twin |= dict(zip(ids[start : start + 10].tolist(), X[start : start + 10], strict=True))
            gone = rng.choice(list(twin), 4, replace=False)
            index.remove(gone)
            twin = {name: row for name, row in twin.items() if name not in gone.tolist()}
    assert len(index) == len(twin) == index.n_samples_fit_
    assert all((name in index) == (name in twin) for name in ids.tolist())
    asked = rng.choice(list(twin), 12)
    found = index.get_items(asked)
    assert found.dtype == X.dtype
    assert_array_equal(found, [twin[name] for name in asked.tolist()])
    assert_array_equal(index.get_items(asked[0]), twin[asked.tolist()[0]])
    assert_array_equal(index.get_items({asked.tolist()[0]}), [twin[asked.tolist()[0]]])


def test_what_is_no_id_is_not_in_the_index(d):
    index = NeighborIndex(d).fit(np.eye(3))
    assert 0 in index
    assert np.int64(2) in index
    assert not any(other in index for other in ("0", 3, -1, True, None, 0.0, (0,), 2**70))
    assert "a" in NeighborIndex(d).fit(np.eye(3), ids=["a", "b", "c"])


def test_an_index_without_items_is_an_estimator_nevertheless(d):
    index = NeighborIndex(d)
    assert len(index) == 0
    assert index
    with pytest.raises(NotFittedError):
        index.get_items([0])
    with pytest.raises(NotFittedError):
        assert 0 in index
    assert len(index.fit(np.eye(3)).remove([0, 1, 2])) == 0


def test_items_of_a_table_are_given_in_words(of_tables):
    model, frame = of_tables
    items = NeighborIndex(model).fit(frame).get_items([3, 4])
    assert items[1].tolist() == frame.iloc[4].tolist()
    assert items[0, 1] == frame["colour"][3]
    assert np.isnan(items[0, [0, 2]].astype(float)).all()


def test_a_category_that_is_not_known_is_found_again():
    table = [["red", 1.0], ["blue", 2.0], ["red", 4.0]]
    index = NeighborIndex(gower(table, categorical_features=[0])).fit(table).add([["green", 3.0]], ids=[99])
    assert index.get_items(99).tolist() == ["(other)", 3.0]
    assert index.kneighbors(index.get_items([99]), 1)[1].tolist() == [[99]]


def test_ids_that_are_not_there_are_named(d):
    index = NeighborIndex(d).fit(np.eye(3), ids=["a", "b", "c"])
    assert_refused(lambda: index.get_items(["a", "z"]), "id 'z'", "is not in the index", "drop it")
    bottles = NeighborIndex(d).fit(np.eye(3), ids=["bottle1", "bottle2", "jar"])
    assert_refused(lambda: bottles.get_items(["Botle2"]), "is not in the index", "drop it from ids", "did you mean 'bottle2'")
    assert_refused(lambda: bottles.remove(["jars"]), "is not in the index", "nothing was removed", "did you mean 'jar'?")
    assert_refused(lambda: index.get_items([0]), "ids are int64", "those of the index strings", "give the same")


def test_shards_are_one_collection(d, tmp_path):
    X = np.random.default_rng(0).random((20, 3))
    index = ShardedIndex.build(tmp_path / "shards", d, X, n_shards=3)
    index.remove([7])
    assert len(index) == 19
    assert 6 in index
    assert 7 not in index
    assert_array_equal(index.get_items([19, 0]), X[[19, 0]])
    assert_refused(lambda: index.get_items([7]), "id 7", "is not in the index", "drop it")
    NeighborIndex(d).fit(X).save(tmp_path / "index")
    assert_array_equal(load(tmp_path / "index", mmap=True).get_items([5]), X[[5]])
