"""Tables of DuckDB, of SQLAlchemy and of streams are the frames that they hold, to the bit, and are read once."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

import semimetric as sm
from semimetric._foundation.sources import ReadsSources, is_source, read_source, reads_sources, source_blocks

pyarrow = pytest.importorskip("pyarrow")
N = 120
KINDS = {"periodic": {"hour": 24.0}}


def table(rng, n=N):
    """Numbers, whole numbers, decimals, text, categories, dates, times and truth values, each with NULLs, and an hour."""
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n), "count": rng.integers(0, 40, n), "price": rng.integers(-999, 999, n) / 100,
            "name": rng.choice(["red", "it's", 'a "b"', "élan"], n), "hour": rng.uniform(0, 24, n),
            "day": rng.integers(0, 900, n), "seen": rng.integers(0, 10**9, n), "old": rng.random(n) < 0.4,
        }
    )  # fmt: skip
    return frame.astype(object).mask(rng.random(frame.shape) < 0.15)


def as_pandas(frame):
    """The frame that a person would make of it."""
    out = frame.copy()
    for name in ("size", "count", "price", "hour"):
        out[name] = out[name].astype(float)
    out["name"] = pd.Categorical(out["name"], ["red", "it's", 'a "b"', "élan", "none has this"])
    out["day"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(out["day"].astype(float), "D")
    out["seen"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(out["seen"].astype(float), "s")
    return out


CAST = """
    size::double AS size, count::integer AS count, price::decimal(9, 2) AS price,
    name::ENUM ('red', 'it''s', 'a "b"', 'élan', 'none has this') AS name, hour::double AS hour,
    (DATE '2024-01-01' + day::integer)::date AS day, TIMESTAMP '2024-01-01' + to_seconds(seen::bigint) AS seen,
    old::boolean AS old
"""


@pytest.fixture
def relation(rng):
    duckdb = pytest.importorskip("duckdb")
    frame, connection = table(rng), duckdb.connect()
    rows = [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.itertuples(index=False, name=None)]
    kinds = "size double, count bigint, price double, name text, hour double, day bigint, seen bigint, old boolean"
    connection.execute(f"CREATE TABLE raw ({kinds})")
    connection.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    yield connection.sql(f"SELECT {CAST} FROM raw"), as_pandas(frame)
    connection.close()


def assert_same(given, frame):
    """A distance of what is given, and of the frame, and what an index and a classifier make of both, are the same bits."""
    d, e = (sm.Semimetric.gower(X, **KINDS) for X in (given(), frame))
    assert d.schema == e.schema
    assert_array_equal(d.schema.encode(read_source(given(), "X")), e.schema.encode(frame))
    assert_array_equal(d.pairwise(given(), given()), e.pairwise(frame, frame))
    for found, want in zip(
        sm.NeighborIndex(d).fit(given()).kneighbors(given(), 3),
        sm.NeighborIndex(e).fit(frame).kneighbors(frame, 3),
        strict=True,
    ):
        assert_array_equal(found, want)
    y = np.arange(len(frame)) % 2
    learner = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped", columns=sm.Columns(**KINDS))
    one, other = (sm.SemimetricClassifier(learner, predictor="neighbors").fit(X, y) for X in (given(), frame))
    assert_array_equal(one.predict(given()), other.predict(frame))


def test_a_relation_of_duckdb_is_the_frame(relation):
    given, frame = relation
    assert is_source(given)
    assert_same(lambda: given, frame)


def test_a_stream_of_arrow_is_the_frame(rng):
    frame = as_pandas(table(rng))
    whole = pyarrow.Table.from_pandas(frame, preserve_index=False)
    assert_same(lambda: pyarrow.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=50)), frame)


def test_a_result_of_sqlalchemy_is_the_frame(rng):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    frame = as_pandas(table(rng))
    frame["name"] = frame["name"].astype(object)
    kinds = {
        "size": sqlalchemy.Float, "count": sqlalchemy.Integer, "price": sqlalchemy.Numeric(9, 2), "name": sqlalchemy.String,
        "hour": sqlalchemy.Float, "day": sqlalchemy.Date, "seen": sqlalchemy.DateTime, "old": sqlalchemy.Boolean,
    }  # fmt: skip
    items = sqlalchemy.Table("items", sqlalchemy.MetaData(), *(sqlalchemy.Column(name, kind) for name, kind in kinds.items()))
    rows = [{k: None if pd.isna(v) else v for k, v in row.items()} for row in frame.to_dict("records")]
    for row in rows:
        row["count"] = None if row["count"] is None else int(row["count"])
        row["day"] = None if row["day"] is None else row["day"].date()
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        items.create(connection)
        connection.execute(items.insert(), rows)
        assert_same(lambda: connection.execute(sqlalchemy.select(items)), frame)
        assert_same(lambda: connection.execute(sqlalchemy.select(items)).mappings(), frame)
        half = sqlalchemy.select(items.c.old).where(items.c.old.is_not(None))
        told = connection.execute(sqlalchemy.select(items.c.size, items.c.hour).where(items.c.old.is_not(None)))
        model = sm.SemimetricClassifier(sm.LargeMarginLearner(n_knots=2, alpha=1e-2, directions=None, tables="warped"))
        model.fit(told, connection.execute(half).scalars())
        assert_refused(lambda: model.predict(told), "X has no rows", "at least one", "run the query again")
    assert model.classes_.tolist() == [False, True]
    engine.dispose()


def stream(X):
    whole = pyarrow.table({f"x{k}": column for k, column in enumerate(np.asarray(X).T)})
    return pyarrow.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=7))


class Counts(ReadsSources, BaseEstimator):
    """Keeps what its methods are given."""

    def fit(self, X, y=None, *, sample_weight=None):
        self.given = X, y, sample_weight
        return self

    def _own(self, X):
        return X


def test_each_source_is_read_once_and_one_column_is_a_column(rng):
    X = rng.random((20, 2))
    one = stream(X)
    model = Counts().fit(one, stream(X[:, :1]), sample_weight=stream(X[:, 1:]))
    assert_array_equal(model.given[0], X)
    assert_array_equal(model.given[1], X[:, 0])
    assert_array_equal(model.given[2], X[:, 1])
    shared = stream(X)
    model.fit(shared, shared)
    assert model.given[0] is model.given[1]
    assert model._own(one) is one


def test_what_is_no_source_passes_as_it_is(rng):
    polars = pytest.importorskip("polars")
    X = rng.random((5, 2))
    frame = pd.DataFrame(X)
    for given in (X, frame, frame[0], polars.DataFrame(X), polars.Series(X[:, 0]), pyarrow.table(frame), [1], "gower", None, 3):
        assert not is_source(given)
        assert Counts().fit(given).given[0] is given
    assert not is_source(polars.DataFrame(X).lazy())


def test_blocks_are_the_rows_in_their_order(rng):
    X = rng.random((23, 2))
    blocks = list(source_blocks(stream(X), 5, "X"))
    assert max(block.num_rows for block in blocks) <= 5
    assert_array_equal(pyarrow.concat_tables(blocks).to_pandas(), X)


def test_decimals_are_the_nearest_float64():
    cents = np.arange(-5000, 5000)
    digits = pyarrow.array([f"{c / 100:.2f}" for c in cents]).cast(pyarrow.decimal128(9, 2))
    found = read_source(pyarrow.table({"price": digits}).to_reader(), "X")
    assert_array_equal(found["price"], cents / 100)


def test_what_is_not_read_says_how_it_is():
    class Cursor:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("the connection is closed")

    assert_refused(lambda: sm.NeighborIndex("gower").fit(Cursor()), "X cannot be read", "RuntimeError", "connection is closed")
    assert_refused(lambda: sm.Grid.fit(stream(np.eye(3))), "X is a RecordBatchReader", "only methods of estimators")


def test_signatures_stay():
    @reads_sources
    def area(width: float, height: float = 2.0) -> float:
        """Return the area."""
        return width * height

    assert (area.__name__, area.__doc__, area(3.0)) == ("area", "Return the area.", 6.0)
    assert list(area.__wrapped__.__annotations__) == ["width", "height", "return"]
