"""Sources that are read in blocks give what the path of a Parquet file gives, and leave no file."""

import tempfile

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal

import semimetric as sm
from semimetric import out_of_core
from semimetric.data.parts.spooled import reads_in_parts

pyarrow = pytest.importorskip("pyarrow")


def stream(frame, size=700):
    whole = pyarrow.Table.from_pandas(frame, preserve_index=False)
    return pyarrow.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=size))


@pytest.fixture
def spool(tmp_path, monkeypatch):
    """The temporary folder, which is empty before and after."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert not list(tmp_path.iterdir())


@pytest.fixture
def pairs(rng):
    left, right = rng.random((2, 6000, 2))
    columns = {f"{side}.{name}": at[:, k] for side, at in (("left", left), ("right", right)) for k, name in enumerate("ab")}
    return pd.DataFrame(columns | {"far": np.abs(left - right) @ [1.0, 3.0]})


def test_pairs_of_a_stream_are_those_of_the_file(pairs, spool, tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "pairs.parquet"
    pairs.to_parquet(path, row_group_size=4096)
    model = sm.DistanceRegressor(n_knots=3, alpha=1e-6, tables="warped")
    d, e = (out_of_core.fit(model, given, "far", memory_limit="900 kB").semimetric_ for given in (path, stream(pairs)))
    np.testing.assert_allclose(d.weights, e.weights, rtol=1e-9)
    assert d.feature_names == e.feature_names == ("a", "b")


def test_coordinates_and_neighbours_of_a_stream(rng, spool, tmp_path_factory):
    X = pd.DataFrame(rng.random((9000, 2)), columns=list("ab"))
    d, folder = sm.Semimetric.l1(X), tmp_path_factory.mktemp("kept")
    parts = out_of_core.transform(d, stream(X), memory_limit="300 kB")
    first = next(parts)
    assert list(spool.iterdir())  # until the last part is taken
    rest = list(parts)
    assert len(rest) > 0
    assert_array_equal(np.vstack([first, *rest]), d.transform(X))
    sm.NeighborIndex(d).fit(X).save(folder / "index")
    found = out_of_core.kneighbors(folder / "index", stream(X[:50]), 2)
    for one, other in zip(found, sm.NeighborIndex(d).fit(X).kneighbors(X[:50], 2), strict=True):
        assert_array_equal(one, other)


def test_what_cannot_be_spooled_is_refused(rng, spool):
    class Rows:
        """A result whose whole numbers have a NULL in the second block only."""

        __module__ = "sqlalchemy.engine"

        def __init__(self):
            self.blocks = [[(1, 0.5)], [(None, 0.5)], []]

        def keys(self):
            return ["a", "b"]

        def fetchmany(self, n):
            return self.blocks.pop(0)

    d = sm.Semimetric.l1(rng.random((5, 2)))
    assert_refused(lambda: list(out_of_core.transform(d, Rows())), "a is int64, then", "one type each", "CAST")
    assert_refused(lambda: list(out_of_core.transform(d, stream(pd.DataFrame({"a": []})))), "X has no rows", "at least one")
    assert_refused(lambda: out_of_core.transform(d, Rows(), client=object()), "X is a source", "client=None", "Parquet")
    assert reads_in_parts("X")(lambda X: X)(3) == 3
