"""How long does a nearest join take, beside a database that computes every distance?

Rows of 8 features, joined by an L1 distance, once with all and once with those of the same of 100 shops (``by="shop"``). DuckDB
is asked in the two ways that SQL has: a lateral join with ``ORDER BY distance, id LIMIT 3``, and ``arg_min(id, distance, 3)``
over all pairs, which sorts nothing. Its answers are compared with ours. Both use one thread. Seconds are those of the
processor, and ours contain the index of the right table. DuckDB is left out where it is not installed. Its lateral join has
fewer rows of the left table: "left" says how many, and "ours" how long `nearest_join` takes for as many.

    python benchmarks/joins.py [--left 10000] [--right 100000] [--database 1000]
"""

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pandas as pd
from report import report, use_one_thread

from semimetric import Semimetric, nearest_join

K, SHOPS, FEATURES = 3, 100, [f"x{f}" for f in range(8)]


def spent(call: Callable[[], pd.DataFrame]) -> tuple[float, pd.DataFrame]:
    """Seconds of the processor, and the result of a call."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def table(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of features, and a shop each."""
    return pd.DataFrame(rng.normal(size=(n, len(FEATURES))), columns=FEATURES).assign(shop=rng.integers(0, SHOPS, n))


def lateral(by: bool) -> str:
    """The join as a subquery for each row."""
    terms = " + ".join(f"abs(l.{c} - r.{c})" for c in FEATURES)
    return f"""SELECT l.id AS "left", n.id AS "right", n.distance FROM l, LATERAL (
        SELECT r.id, {terms} AS distance FROM r {"WHERE l.shop = r.shop" if by else ""} ORDER BY distance, r.id LIMIT {K}
    ) n ORDER BY l.id, n.distance, n.id"""


def arg_min(by: bool) -> str:
    """The join as an aggregate over all pairs."""
    terms = " + ".join(f"abs(l.{c} - r.{c})" for c in FEATURES)
    return f"""SELECT "left", unnest(ids) AS "right", unnest(distances) AS distance FROM (
        SELECT l.id AS "left", arg_min(r.id, {terms}, {K}) AS ids, min({terms}, {K}) AS distances
        FROM l JOIN r ON {"l.shop = r.shop" if by else "true"} GROUP BY l.id
    ) ORDER BY "left", distance"""


def database(sql: str, left: pd.DataFrame, right: pd.DataFrame) -> tuple[float, pd.DataFrame]:
    """Seconds and answer of DuckDB."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as base:
        base.register("left_rows", left.rename_axis("id").reset_index())
        base.register("right_rows", right.rename_axis("id").reset_index())
        base.execute("CREATE TABLE l AS FROM left_rows; CREATE TABLE r AS FROM right_rows")
        return spent(lambda: base.sql(sql).df())


def rows_of(n_left: int, n_right: int, n_database: int) -> list[dict]:
    """A row for each way to join, with all rows and within shops."""
    rng = np.random.default_rng(0)
    left, right = table(n_left, rng), table(n_right, rng)
    d = Semimetric.l1(pd.concat([left, right])[FEATURES])
    rows = []
    for by in (False, True):
        columns = [*FEATURES, "shop"] if by else FEATURES
        key = "shop" if by else None
        seconds, found = spent(lambda columns=columns, key=key: nearest_join(left[columns], right[columns], d, K, by=key))
        about = {"right": n_right, "k": K, "by": key or ""}
        rows.append({"join": "nearest_join", "left": n_left, **about, "seconds": round(seconds, 3)})
        if find_spec("duckdb") is None:
            continue
        for name, sql, n in (("DuckDB, arg_min", arg_min(by), n_left), ("DuckDB, lateral", lateral(by), n_database)):
            few = left[:n]
            expected = found[found["left"] < len(few)]
            seconds, answer = database(sql, few, right)
            np.testing.assert_allclose(expected["distance"], answer["distance"], rtol=1e-9)
            same = (expected["right"].to_numpy() == answer["right"].to_numpy()).mean()
            ours, _ = spent(lambda few=few, columns=columns, key=key: nearest_join(few[columns], right[columns], d, K, by=key))
            times = {"seconds": round(seconds, 3), "ours": round(ours, 3), "same_pairs": round(float(same), 6)}
            rows.append({"join": name, "left": len(few), **about, **times})
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--left", type=int, default=10_000)
    parser.add_argument("--right", type=int, default=100_000)
    parser.add_argument("--database", type=int, default=1_000, help="rows of the lateral join (%(default)s)")
    arguments = parser.parse_args()
    use_one_thread()
    rows_of(100, 3000, 10)  # kernels are compiled
    report("nearest joins", rows_of(arguments.left, arguments.right, arguments.database))
