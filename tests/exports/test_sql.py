"""SQL of distances: a database gives what Python gives, for rows of every kind."""

import mixed_distances
import numpy as np
import pandas as pd
import pytest
import reports_cases
from cases import assert_refused

import semimetric as sm
from semimetric import ConcaveLink, Grid, InputError, NotSupportedError, PairEmbedding, PowerLink, Semimetric
from semimetric.data.schema import Feature, Schema

ODD = "o'x\\y\"; DROP TABLE things; --"
WITHOUT_ZONES = [name for name in ("age", "pay", "visits", "rooms", "weight", "colour", "grade", "town", "when", "day", "hour")]


def frame_of(d, X):
    """Encoded rows as a frame, where Python and a database read the same: codes of categories, NaN as it is."""
    return pd.DataFrame(d.schema.decode(X) if d.schema.plain else X, columns=list(d.feature_names))


def filled(base, d, table, **names):
    base.create(d, table)
    base.insert(d, table)
    sql = d.to_sql(base.dialect, table="things", key="id", **names)
    base.run(sql.script)
    return sql


def assert_as_python(base, d, table):
    sql = filled(base, d, table)
    keys, found = base.distances(sql)
    assert keys == list(range(len(table)))
    np.testing.assert_allclose(found, d.pairwise(table), rtol=1e-12, atol=1e-12)
    return sql


def encoded_rows(gaps):
    """Encoded rows inside the range, far outside, beyond a turn, of a new category, on knots, and some equal ones."""
    X = reports_cases.vectors(24, 3, gaps)
    X[0, 0], X[1, 3], X[2, 1], X[3, 1], X[4, 2], X[5] = 1e6, -40.0, 50.5, -30.25, 3.0, X[6]
    return X


@pytest.mark.parametrize("name", [name for name in reports_cases.DISTANCES if name != "too large to be whole"])
def test_every_kind_of_table_and_scale(base, name):
    d = reports_cases.DISTANCES[name]()
    assert_as_python(base, d, frame_of(d, encoded_rows(gaps=any(d.schema.missing))))


@pytest.mark.parametrize("bends", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("groups", ["pairs", "directions together"])
def test_directions_that_bend_and_joint_tables_of_them(base, groups, gaps, bends):
    d = mixed_distances.distance(4, groups, bends=bends, gaps=gaps)
    X = mixed_distances.items(np.random.default_rng(5), 20, gaps)
    X[:4] *= [[30.0, 1.0, 1.0, 1.0]] * 4
    assert_as_python(base, d, frame_of(d, X))


@pytest.mark.parametrize("link", ["sqrt", PowerLink(0.3), PowerLink(1.7), ConcaveLink((0.5, 1.0, 3.0), (2.0, 1.0, 0.25, 0.1))])
def test_links(base, link):
    d = mixed_distances.distance(6, link=link)
    assert_as_python(base, d, frame_of(d, mixed_distances.items(np.random.default_rng(7), 20)))


@pytest.fixture(scope="module")
def every_kind():
    """A frame with a column of every kind, rows of it with all that is odd, and a distance with trees."""
    table, y = reports_cases.every_kind()
    odd = table.head(40).astype({"colour": object, "age": float})
    odd.loc[3, "age"], odd.loc[4, "pay"], odd.loc[5, "hour"] = 500.0, -1e5, 49.5
    odd.loc[6, "colour"], odd.loc[7, "town"], odd.loc[8, "street"] = ODD, 'Par"is', ""
    odd.loc[9, "when"] = pd.Timestamp("1931-02-03 04:05:06.789123")
    odd.loc[10, "day"] = "2024-02-29"
    return table, y, odd


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("periodic", [{"hour": 24}, {"hour": 24, "when": "day"}, {"when": "week"}, {"when": "year"}])
def test_columns_of_every_kind_and_trees(base, every_kind, periodic):
    table, y, odd = every_kind
    trees = sm.PartitionFeatures(n_trees=6, random_state=0)
    options = {"n_knots": 4, "alpha": 1e-2, "tables": "warped", "directions": trees, "random_state": 0}
    d = sm.LargeMarginLearner(columns=sm.Columns(periodic=periodic), **options).fit(table, y).semimetric_
    assert d.directions.n_trees
    assert_as_python(base, d, odd)


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("period", ["day", "week", "year"])
def test_clocks_of_a_time_zone(base, every_kind, period):
    table, _, odd = every_kind
    d = Semimetric.gower(table[["zoned", "age"]], periodic={"zoned": period})
    if base.dialect == "sqlite":
        assert_refused(
            lambda: d.to_sql("sqlite", table="things", key="id"), "'Europe/Berlin'", "SQLite knows nothing", "use DuckDB",
            NotSupportedError,
        )  # fmt: skip
        return
    assert_as_python(base, d, odd[["zoned", "age"]])


@pytest.mark.parametrize("zone", ["+05:30", "-03:00"])
def test_clocks_at_an_offset(base, zone):
    times = pd.to_datetime(
        ["2024-02-29 23:59:59.999999", "1969-12-31 22:15", "2023-07-01 00:00", "2023-01-01 12:00"], format="ISO8601"
    )
    table = pd.DataFrame({"at": times.tz_localize("UTC").tz_convert(zone), "n": [1.0, 2.0, 3.0, 4.0]})
    for period in ("day", "week", "year"):
        d = Semimetric.gower(table, periodic={"at": period})
        assert_as_python(base, d, table)
        base.run('DROP TABLE "things"' + (" CASCADE" if base.dialect != "sqlite" else ""))


def test_gower_with_gaps(base):
    rng = np.random.default_rng(8)
    colours = np.where(rng.random(30) < 0.2, None, rng.choice(["red", "it's", ""], 30))
    table = pd.DataFrame({"price": rng.lognormal(size=30), "colour": colours, "hour": rng.uniform(0, 24, 30)})
    table.loc[rng.random(30) < 0.3, "price"] = np.nan
    table.loc[rng.random(30) < 0.3, "hour"] = np.nan
    assert_as_python(base, Semimetric.gower(table, periodic={"hour": 24}, categorical_features=["colour"]), table)


def numbers_with_gaps(n=40):
    """Numbers of which a quarter is missing, two classes, and rows outside the range of the numbers, one of them all gaps."""
    rng = np.random.default_rng(16)
    table = pd.DataFrame({"age": rng.uniform(18, 80, n).round(), "pay": rng.lognormal(7, 0.5, n), "age, missing below": 1.0})
    table["age, missing below"] = rng.integers(0, 3, n)
    table = table.mask(rng.random(table.shape) < 0.25)
    y = (table["age"].fillna(40) > 45).to_numpy().astype(int)
    far = pd.DataFrame([[900, -1e5, 2], [-900, np.nan, 9], [np.nan, 1e6, np.nan], [np.nan] * 3, [18, 1e3, 0]])
    return table, y, pd.concat([table, far.set_axis(table.columns, axis=1)], ignore_index=True)


def learned_with_gaps(directions=None):
    table, y, odd = numbers_with_gaps()
    options = {"n_knots": 5, "alpha": 1e-3, "tables": "warped", "directions": directions, "random_state": 0}
    return sm.LargeMarginLearner(**options).fit(table, y).semimetric_, odd


TREES = sm.PartitionFeatures("random", n_trees=5, random_state=0)


@pytest.mark.parametrize("directions", [None, "pca", TREES], ids=["alone", "directions", "trees"])
def test_scales_of_numbers_with_gaps(base, directions):
    d, odd = learned_with_gaps(directions)
    sql = assert_as_python(base, d, odd)
    assert sql.index_is_exact
    assert sql.columns[:3] == ("age, missing below", "age, missing above", "pay, missing below")
    assert len(set(sql.columns)) == len(sql.columns)
    assert "-- age, missing above: the scale over the knots" in sql.script
    stored = base.rows(sql.coordinates("things"))
    if directions != TREES:
        rows = np.array([row[0] if base.dialect == "postgres" else row for row in stored])
        np.testing.assert_allclose(rows, d.transform(odd), rtol=1e-12, atol=1e-12)
    gaps = ", ".join(f"NULL AS {name}" for name in ('"age"', '"pay"', '"age, missing below"'))
    found = base.rows(sql.nearest(5, of=f"(SELECT {gaps})"))
    np.testing.assert_allclose([row[1] for row in found], np.sort(d.pairwise(odd)[43])[:5], rtol=1e-12, atol=1e-12)


def test_gower_of_numbers_with_gaps(base):
    table, _, odd = numbers_with_gaps()
    assert assert_as_python(base, Semimetric.gower(table), odd).index_is_exact


def test_categories_that_are_numbers_and_truth_values(base):
    table = pd.DataFrame({"zone": [1, 2, 3, 1, 2], "share": [0.1, 0.2, 0.30000000000000004, 0.1, 0.2]})
    table["paid"] = [True, False, True, True, False]
    d = Semimetric.gower(table, categorical_features=["zone", "share", "paid"])
    assert_as_python(base, d, pd.concat([table, table.assign(zone=9, share=0.3)], ignore_index=True))


def test_many_categories_that_are_one_apart(base):
    table = pd.DataFrame({"id": [f"n{k}" for k in range(1100)], "n": np.arange(1100.0)})
    d = Semimetric.gower(table, categorical_features=["id"])
    base.create(d, table, key="row")
    base.insert(d, table.iloc[[3, 4, 3]])
    sql = d.to_sql(base.dialect, table="things", key="row")
    base.run(sql.script)
    np.testing.assert_allclose(base.distances(sql)[1], d.pairwise(table.iloc[[3, 4, 3]]), rtol=1e-12, atol=1e-12)


NAMES = [ODD, "a\nb", "-- $sql$ $sql_$", "x'y", "ä ö", "id", "v0", "DROP"]


def test_hostile_names_do_not_leave_their_quotes(base):
    rng = np.random.default_rng(9)
    columns = {name: rng.normal(size=12) for name in NAMES} | {"c\r--": rng.choice([ODD, "\n;", "$sql$", "\\'"], 12)}
    table = pd.DataFrame(columns)
    name = 'th"; DROP TABLE other; --'
    base.run("CREATE TABLE other (n INTEGER)")
    d = Semimetric.gower(table, categorical_features=["c\r--"])
    base.create(d, table, name=name, key='k"ey')
    base.insert(d, table, name=name)
    sql = d.to_sql(base.dialect, table=name, key='k"ey', name='s"; --')
    base.run(sql.script)
    keys, found = base.distances(sql)
    np.testing.assert_allclose(found, d.pairwise(table), rtol=1e-12, atol=1e-12)
    assert [row[0] for row in base.rows(sql.nearest(3), 2)] == np.lexsort((keys, d.pairwise(table)[2]))[:3].tolist()
    assert base.rows("SELECT count(*) FROM other") == [(0,)]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres"])
@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b", ""])
def test_names_that_no_database_holds_are_refused(dialect, bad):
    d = Semimetric.l1([[0.0], [1.0]])
    for names in ({"table": bad, "key": "id"}, {"table": "t", "key": bad}):
        with pytest.raises(InputError, match="no database takes|is empty"):
            d.to_sql(dialect, **names)
    if bad:
        schema = Schema((Feature("c", "categorical", (bad, "b")),))
        c = PairEmbedding(Grid([[0.0, 1.0, 2.0]], ["categorical"]))
        d = Semimetric(c, np.ones(3), np.zeros(1), ("c",), schema=schema)
        with pytest.raises(InputError, match="no database takes"):
            d.to_sql(dialect, table="t", key="id")


def test_names_that_postgres_cuts_off_are_refused():
    d = Semimetric.l1([[0.0], [1.0]])
    assert_refused(lambda: d.to_sql("postgres", table="t" * 60, key="id"), "t" * 60, "63 bytes", "give a shorter name")


def table_of_houses(n=60):
    rng = np.random.default_rng(10)
    rooms, area = rng.integers(1, 6, n).astype(float), rng.uniform(20, 200, n).round()
    return pd.DataFrame({"rooms": rooms, "area": area, "town": rng.choice(["Rome", "Oslo"], n)})


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_nearest_rows_are_those_of_python_and_ties_are_in_order_of_keys(base):
    table = pd.concat([table_of_houses(), table_of_houses(20)], ignore_index=True)
    d = Semimetric.gower(table)
    sql = filled(base, d, table)
    distances = d.pairwise(table)
    for key in (0, 7, 61):
        found = base.rows(sql.nearest(8), key)
        assert [row[0] for row in found] == np.lexsort((np.arange(len(table)), distances[key].round(12)))[:8].tolist()
        np.testing.assert_allclose([row[1] for row in found], np.sort(distances[key])[:8], rtol=1e-12, atol=1e-12)
    found = base.rows(sql.nearest(5, of="(SELECT 3 AS rooms, 77.5 AS area, 'Paris' AS town)"))
    want = d.pairwise([[3.0, 77.5, "Paris"]], table)[0]
    np.testing.assert_allclose([row[1] for row in found], np.sort(want)[:5], rtol=1e-12)


def test_coordinates_follow_the_rows(base):
    table = table_of_houses()
    d = Semimetric.gower(table)
    sql = filled(base, d, table)
    base.run("DELETE FROM things WHERE id < 10")
    base.run("UPDATE things SET rooms = 9, town = 'Rome' WHERE id = 11")
    base.run("UPDATE things SET id = 500 WHERE id = 12")
    base.insert(d, table.head(3), first=900)
    keys, found = base.distances(sql)
    changed = table.copy()
    changed.loc[11, ["rooms", "town"]] = [9.0, "Rome"]
    now = pd.concat([changed.loc[[11, *range(13, 60), 12, 10]], table.head(3)])
    order = np.argsort([11, *range(13, 60), 500, 10, 900, 901, 902])
    assert keys == sorted([11, *range(13, 60), 500, 10, 900, 901, 902])
    np.testing.assert_allclose(found, d.pairwise(now.iloc[order]), rtol=1e-12, atol=1e-12)
    base.run(sql.script)  # and it can be run again
    np.testing.assert_array_equal(base.distances(sql)[1], found)


def test_rows_that_python_refuses_are_nobodys_neighbours(base):
    table = table_of_houses(12)
    d = Semimetric.gower(table)
    sql = filled(base, d, table)
    infinity = "9e999" if base.dialect == "sqlite" else "CAST('Infinity' AS DOUBLE PRECISION)"
    base.run(f"UPDATE things SET area = {infinity} WHERE id = 3")
    base.run("UPDATE things SET rooms = NULL WHERE id = 4")
    base.run("UPDATE things SET town = NULL WHERE id = 5")
    if base.dialect == "sqlite":
        base.run("UPDATE things SET rooms = 'three' WHERE id = 6")
    gone = {3, 4, 5} | ({6} if base.dialect == "sqlite" else set())
    keys, _ = base.distances(sql)
    assert {*range(12)} - {*keys} == gone
    assert {*range(12)} - {row[0] for row in base.rows(sql.nearest(12), 0)} == gone


@pytest.mark.slow
def test_a_thousand_columns(base):
    n = 700 if base.dialect == "postgres" else 1100  # more do not fit into a page of PostgreSQL
    X = np.random.default_rng(15).random((4, n))
    table = pd.DataFrame(X, columns=[f"c{k}" for k in range(n)])
    assert_as_python(base, Semimetric.l1(table), table)


def test_letters_are_compared_as_they_are_where_a_column_is_not(base):
    table = pd.DataFrame({"c": ["red", "Red", "blue", "red "]})
    d = Semimetric.gower(table, categorical_features=["c"])
    collation = 'COLLATE "C"' if base.dialect == "postgres" else "COLLATE NOCASE"
    base.run(f"CREATE TABLE things (id INTEGER PRIMARY KEY, c TEXT {collation})")
    base.insert(d, table)
    sql = d.to_sql(base.dialect, table="things", key="id")
    base.run(sql.script)
    np.testing.assert_array_equal(base.distances(sql)[1], d.pairwise(table))


def test_a_table_in_a_schema(base):
    table = table_of_houses(12)
    d = Semimetric.gower(table)
    base.create(d, table)
    base.insert(d, table)
    if base.dialect == "sqlite":
        base.run("ATTACH ':memory:' AS shop; CREATE TABLE shop.homes AS SELECT * FROM things")
    else:
        base.run('DROP SCHEMA IF EXISTS "shop" CASCADE')
        base.run('CREATE SCHEMA "shop"')
        base.run("CREATE TABLE shop.homes AS SELECT * FROM things")
    sql = d.to_sql(base.dialect, table=("shop", "homes"), key="id")
    base.run(sql.script)
    found = base.rows(sql.nearest(12), 2)
    np.testing.assert_allclose([row[1] for row in found], np.sort(d.pairwise(table)[2]), rtol=1e-12, atol=1e-12)


def test_two_distances_of_one_table(base):
    table = table_of_houses(12)
    one, other = Semimetric.gower(table), Semimetric.gower(table, weights={"town": 5})
    filled(base, one, table)
    sql = other.to_sql(base.dialect, table="things", key="id", name="by_town")
    base.run(sql.script)
    np.testing.assert_allclose(base.distances(sql)[1], other.pairwise(table), rtol=1e-12, atol=1e-12)


def test_a_column_of_ones_own_is_not_replaced(postgres):
    import psycopg

    table = table_of_houses(12)
    d = Semimetric.gower(table)
    postgres.create(d, table)
    postgres.run("ALTER TABLE things ADD COLUMN semimetric text DEFAULT 'mine'")
    sql = d.to_sql("postgres", table="things", key="id")
    with pytest.raises(psycopg.errors.RaiseException, match="column semimetric of its own; give to_sql another name="):
        postgres.run(sql.script)
    postgres.run("ROLLBACK")
    postgres.run(d.to_sql("postgres", table="things", key="id", name="other").script)
    assert_refused(
        lambda: d.to_sql("postgres", table="things", key="id", name="rooms"), "'rooms'", "which the table has", "another name"
    )


def test_what_is_stored_has_the_names_of_the_columns():
    sql = Semimetric.gower(table_of_houses()).to_sql("duckdb", table="things", key="id")
    assert sql.columns == ("rooms", "area", "town")
    assert repr(sql) == "SqlDistance of 3 stored numbers a row, for the table things of DuckDB"
    assert "-- town: the number of the category, 2 is any other" in sql.script
    assert "WHEN 'Oslo' THEN 0" in sql.script


def chebyshev(x, y):
    return float(np.abs(x - y).max())


def with_base_distance():
    X = np.random.default_rng(13).random((30, 2))
    pairs = np.random.default_rng(14).integers(0, 30, (80, 2))
    y = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).max(axis=1)
    tables = sm.Tables(base_distances=[chebyshev])
    return sm.DistanceRegressor(n_knots=3, alpha=1e-3, tables=tables, preprocessor=X).fit(pairs, y).semimetric_


def test_what_cannot_be_said_is_refused_with_another_way():
    for given, make in (
        ("'chebyshev'", with_base_distance),
        ("weight * height", reports_cases.DISTANCES["too large to be whole"]),
    ):
        d = make()
        assert_refused(
            lambda d=d: d.to_sql("duckdb", table="t", key="id"), given, "exported", "name candidates", NotSupportedError
        )
    knots = [np.linspace(0, 1, 300)]
    wide = Semimetric(PairEmbedding(Grid(knots)), np.ones(300 * 299 // 2), np.zeros(1), ("a",))
    assert_refused(lambda: wide.to_sql("sqlite", table="t", key="id"), "90,000 values", "at most 65,536", "fewer knots",
                   NotSupportedError)  # fmt: skip
    d = Semimetric.l1([[0.0], [1.0]])
    assert_refused(lambda: d.to_sql("oracle", table="t", key="id"), "'oracle'", "'postgres', 'duckdb', 'sqlite'")
    assert_refused(lambda: d.to_sql("sqlite", table="t", key=3), "key=3", "text")
    sql = d.to_sql("duckdb", table="t", key="id")
    assert_refused(lambda: sql.nearest(3, 100), "DuckDB", "no index of L1", "PostgreSQL", NotSupportedError)
    assert_refused(lambda: sql.index, "DuckDB", "no index of L1", "PostgreSQL", NotSupportedError)
    assert_refused(lambda: sql.nearest(30, 10), "candidates=10", "k=30", "ten times")


# The index of pgvector


def l1_distances(base, sql, n):
    found = base.rows("SELECT x.semimetric_l1 <+> y.semimetric_l1 FROM things AS x, things AS y ORDER BY x.id, y.id")
    return np.array(found, dtype=np.float64).reshape(n, n) / sql._l1.unit


def test_an_index_of_scales_and_trees_has_the_distance_in_single_precision(postgres):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(80, 3))
    trees = sm.PartitionFeatures("random", n_trees=30, random_state=0).fit(X)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    learner = sm.LargeMarginLearner(n_knots=4, alpha=1e-2, tables="warped", directions=trees, random_state=0)
    d = learner.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y).semimetric_
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    sql = filled(postgres, d, table)
    postgres.run(sql.index)
    assert sql.index_is_exact
    np.testing.assert_allclose(l1_distances(postgres, sql, 80), d.pairwise(table), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("directions", [None, TREES], ids=["alone", "trees"])
def test_an_index_of_numbers_with_gaps_has_the_distance(postgres, directions):
    d, odd = learned_with_gaps(directions)
    sql = filled(postgres, d, odd)
    postgres.run(sql.index)
    assert sql.index_is_exact
    want = d.pairwise(odd)
    np.testing.assert_allclose(l1_distances(postgres, sql, len(odd)), want, rtol=1e-6, atol=1e-6 * want.max())
    postgres.run("SET hnsw.ef_search = 45")
    found = postgres.rows(sql.nearest(4, 45), 43)
    np.testing.assert_allclose([row[1] for row in found], np.sort(want[43])[:4], rtol=1e-12, atol=1e-12)


def test_more_coordinates_than_a_vector_has_are_sparse(postgres):
    table = pd.DataFrame({"id": [f"n{k}" for k in range(2500)], "n": np.arange(2500.0)})
    d = Semimetric.gower(table, categorical_features=["id"])
    some = table.iloc[[0, 1, 2499, 2499]]
    postgres.create(d, table, key="row")
    postgres.insert(d, some)
    sql = d.to_sql("postgres", table="things", key="row")
    postgres.run(sql.script)
    postgres.run(sql.index)
    assert "sparsevec_l1_ops" in sql.index
    rows = postgres.rows("SELECT x.semimetric_l1 <+> y.semimetric_l1 FROM things AS x, things AS y ORDER BY x.row, y.row")
    np.testing.assert_allclose(np.reshape(rows, (4, 4)) / sql._l1.unit, d.pairwise(some), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["tables", "all pairs", "scales and roots", "missing"])
def test_candidates_of_the_index_are_ranked_by_the_exact_distance(postgres, name):
    d = reports_cases.DISTANCES[name]()
    X = reports_cases.vectors(300, 12, any(d.schema.missing))
    table = frame_of(d, X)
    sql = filled(postgres, d, table)
    postgres.run(sql.index)
    assert not sql.index_is_exact
    postgres.run("SET enable_seqscan = off")
    postgres.run("SET hnsw.ef_search = 150")
    distances, hits = d.pairwise(table), 0
    for key in range(0, 300, 30):
        found = postgres.rows(sql.nearest(5, 150), key)
        np.testing.assert_allclose([row[1] for row in found], distances[key, [row[0] for row in found]], rtol=1e-12, atol=1e-12)
        hits += len({row[0] for row in found} & {*np.argsort(distances[key])[:5].tolist()})
    assert hits >= 45
    assert sql.nearest(5, 150).startswith("-- first: SET hnsw.ef_search = 150;\n")
    names = ", ".join(
        f'{float(X[0, k])!r} AS "{n}"' if np.isfinite(X[0, k]) else f'NULL AS "{n}"' for k, n in enumerate(d.feature_names)
    )
    new = postgres.rows(sql.nearest(1, 20, of=f"(SELECT {names})"))
    assert new[0][1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "cells", [[1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4], ["1", "2.0", "03", "4"]], ids=["floats", "integers", "texts"]
)
def test_numbers_that_texts_write_are_their_categories(base, cells):
    rng = np.random.default_rng(0)
    d = Semimetric.gower(pd.DataFrame({"floor": rng.choice(["1", "2", "3"], 60), "size": rng.random(60)}))
    assert_as_python(base, d, pd.DataFrame({"floor": cells, "size": [0.5, 0.5, 0.25, 0.0]}))
