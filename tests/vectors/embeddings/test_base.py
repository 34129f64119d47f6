"""What every embedding of single vectors promises, over the maps of `cases.MAPS`: a new one joins by one row."""

import pickle

import cases
import numpy as np
import pytest
from cases import assert_refused
from sklearn import config_context
from sklearn.base import clone

from semimetric._kernels.csr_rows import Chunk
from semimetric.vectors.embeddings import base
from semimetric.vectors.embeddings.base import dense_rows

every_map = pytest.mark.parametrize("name", cases.MAPS)


def fitted(name, **changes):
    """A map of `cases.MAPS`, fitted, and rows that it has not seen: at knots, outside of them, and zero."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    X[:, 1] = np.round(X[:, 1])
    embedding = clone(cases.MAPS[name]).set_params(**changes).fit(X, y)
    inside = X if embedding.extrapolation == "error" else np.vstack([X, 3 * X[:20]])
    return embedding, np.vstack([inside, np.zeros((1, 4))])


@every_map
def test_rows_are_canonical_and_columns_have_terms_and_names(name):
    embedding, X = fitted(name)
    rows = embedding.transform(X)
    assert rows.shape == (len(X), embedding.n_columns_)
    assert rows.has_canonical_format
    assert (rows.data != 0).all()
    assert (np.diff(rows.indptr) <= embedding.nonzeros_at_most(X)).all()
    assert (embedding.nonzeros_at_most(X) <= embedding.most_nonzeros).all()
    names = embedding.get_feature_names_out()
    assert len(set(names)) == len(names) == embedding.n_columns_
    ends = [0] + [term.stop for term in embedding.terms_]
    assert ends == [term.start for term in embedding.terms_] + [embedding.n_columns_]
    for term in embedding.terms_:
        assert all(f"x{f}" in column for f in term.features for column in names[term.start : term.stop])


@every_map
def test_blocks_and_threads_write_what_one_block_writes(name, monkeypatch):
    embedding, X = fitted(name)
    whole = embedding.transform(X)
    monkeypatch.setattr(base, "_BLOCK", 100)
    for jobs in (1, 2):
        parts = embedding.set_params(n_jobs=jobs).transform(X)
        for field in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(parts, field), getattr(whole, field))
    items = embedding.encode(X)
    for row in range(len(X)):  # one at a time, into a buffer used again
        most = embedding.most_nonzeros
        chunk = Chunk(np.full(2, 9, np.int64), np.full(most, 7, np.int32), np.full(most, 7.0))
        embedding.write(dense_rows(items, slice(row, row + 1)), chunk)
        place, size = slice(whole.indptr[row], whole.indptr[row + 1]), chunk.indptr[1]
        assert chunk.indptr[0] == 0
        assert chunk.indices[:size].tolist() == whole.indices[place].tolist()
        assert chunk.data[:size].tolist() == whole.data[place].tolist()


@pytest.mark.parametrize(
    "name",  # for pairs and groups most kernels are compiled again
    [pytest.param(name, marks=[pytest.mark.slow] * (name in ("all pairs", "groups"))) for name in cases.MAPS],
)
def test_full_output_single_precision_and_wide_indices_hold_the_same(name, monkeypatch):
    embedding, X = fitted(name)
    rows = embedding.transform(X)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    np.testing.assert_array_equal(embedding.set_params(sparse_output=False).transform(X), rows.toarray())
    monkeypatch.setattr(base, "_INT32", 100)
    wide = embedding.set_params(sparse_output=True).transform(X)
    assert wide.indices.dtype == wide.indptr.dtype == np.int64
    assert (wide != rows).nnz == 0
    single = embedding.set_params(dtype=np.float32).transform(X)
    assert single.dtype == np.float32
    assert abs(single - rows).max() <= 1e-6 * abs(rows).max()


@every_map
def test_maps_pickle_and_fit_again(name):
    embedding, X = fitted(name)
    again = pickle.loads(pickle.dumps(embedding))
    assert (again.transform(X) != embedding.transform(X)).nnz == 0
    with pytest.raises(ValueError, match="4 features"):
        embedding.transform(X[:, :3])


def test_a_frame_gives_its_names_and_gets_one_back():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": [1.0, 2.0, 4.0], "pay": [0.5, 0.25, 1.0]})
    embedding = clone(cases.MAPS["singles"]).set_output(transform="pandas").fit(X)
    assert list(embedding.transform(X).columns) == ["age@1", "age@2", "age@4", "pay@0.25", "pay@0.5", "pay@1"]
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        embedding.get_feature_names_out(["pay", "age"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@every_map
def test_every_map_returns_the_table_that_is_asked_for(name, library):
    frame = pytest.importorskip(library).DataFrame
    embedding, X = fitted(name)
    rows = embedding.transform(X)
    with config_context(transform_output=library):
        tables = [embedding.transform(X)]
    tables.append(clone(embedding).set_output(transform=library).fit(X[:60], np.arange(60) % 3).transform(X))
    for table in tables:
        assert isinstance(table, frame)
        assert list(table.columns) == embedding.get_feature_names_out().tolist()
        np.testing.assert_array_equal(np.asarray(table), rows.toarray())
    told = embedding.set_params(sparse_output=True).set_output(transform=library)
    assert_refused(lambda: told.transform(X), f"a table of {library}", "holds no sparse matrix", '"auto" or False')
    assert (told.set_output(transform="default").transform(X) != rows).nnz == 0


@every_map
def test_names_that_are_given_must_be_those_of_the_fit(name):
    """Without names in the fit, as many names as features are taken, and say nothing."""
    embedding, _ = fitted(name)
    np.testing.assert_array_equal(embedding.get_feature_names_out(list("abcd")), embedding.get_feature_names_out())
    for wrong in ([], list("abc"), list("abcde")):
        assert_refused(lambda w=wrong: embedding.get_feature_names_out(w), "input_features", "equal to number of features (4)")


def test_names_of_a_frame_are_taken_back():
    pandas = pytest.importorskip("pandas")
    embedding = clone(cases.MAPS["singles"]).fit(pandas.DataFrame({"age": [1.0, 2.0, 4.0], "pay": [0.5, 0.25, 1.0]}))
    names = ["age@1", "age@2", "age@4", "pay@0.25", "pay@0.5", "pay@1"]
    for given in (None, ["age", "pay"], np.array(["age", "pay"])):
        assert embedding.get_feature_names_out(given).tolist() == names
