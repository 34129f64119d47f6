"""``semimetric export``."""

import sqlite3

import numpy as np
import pytest
from command_line import answer, call, paths

import semimetric as sm

pd = pytest.importorskip("pandas")


def test_a_script_for_sqlite_gives_the_neighbours_of_the_model(folder, tmp_path, capsys):
    script, database = tmp_path / "items.sql", sqlite3.connect(":memory:")
    items = pd.read_csv(folder / "items.csv")
    items.assign(id=np.arange(60)).to_sql("items", database, index=False)
    options = ["--to", "sqlite", "--table", "items", "--key", "id", "--nearest", 3, "-o", script]
    values = answer(capsys, "export", *paths(folder, "model.smm"), *options)
    assert values["to"] == "sqlite"
    assert values["columns"] == ["width", "height", "width outside range", "height outside range"]
    assert values["output"] == str(script)
    assert values["bytes"] == script.stat().st_size
    database.executescript(script.read_text())
    found = database.execute(values["nearest"], (7,)).fetchall()
    want = sm.load(folder / "model.smm").pairwise(items[["width", "height"]])[7]
    assert [row[0] for row in found] == np.argsort(want)[:3].tolist()
    np.testing.assert_allclose([row[1] for row in found], np.sort(want)[:3], rtol=1e-12)
    assert "-- The nearest rows of one:\n-- SELECT" in script.read_text()
    database.close()


def test_a_script_is_printed_and_takes_a_schema(folder, capsys):
    options = ["--to", "postgres", "--table", "shop.items", "--key", "id", "--index", "--nearest", 10]
    code, out, _ = call(capsys, "export", *paths(folder, "model.smm"), *options)
    assert code == 0
    assert 'ALTER TABLE "shop"."items" ADD COLUMN "semimetric" double precision[]' in out
    assert "USING hnsw" in out
    assert "-- -- first: SET hnsw.ef_search = 100;" in out


def test_a_graph_of_a_model_and_of_its_distance(folder, tmp_path, capsys):
    pytest.importorskip("onnx")
    graph = tmp_path / "d.onnx"
    values = answer(capsys, "export", *paths(folder, "model.smm"), "--to", "onnx", "--what", "distance", "-o", graph)
    assert (values["what"], values["bytes"]) == ("distance", graph.stat().st_size)
    X = np.random.default_rng(0).random((40, 2))
    sm.SemimetricClassifier(sm.KernelRidgeLearner("classes", effort="fast")).fit(X, X[:, 0] > 0.5).save(tmp_path / "c.smm")
    code, out, _ = call(capsys, "export", tmp_path / "c.smm", "--to", "onnx", "-o", graph)
    assert code == 0
    assert out.startswith("model of 2 columns\n")
    code, _, err = call(capsys, "export", *paths(folder, "model.smm"), "--to", "onnx", "--what", "model", "-o", graph)
    assert code == 1
    assert "predicts nothing; give --what distance" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "duckdb"], "--to duckdb needs --table and --key"),
        (["--to", "onnx"], "--to onnx needs -o"),
        (["--to", "onnx", "-o", "a.onnx", "--table", "t"], "--to onnx takes no --table"),
        (["--to", "sqlite", "--table", "t", "--key", "id", "--what", "distance"], "--to sqlite takes no --what"),
        (["--to", "sqlite", "--table", "t", "--key", "id", "--index"], "--to sqlite takes no --index"),
    ],
)
def test_options_that_do_not_go_together(options, message, capsys):
    with pytest.raises(SystemExit) as leave:
        call(capsys, "export", "model.smm", *options)
    assert leave.value.code == 2
    assert message in capsys.readouterr().err


def test_the_model_is_not_overwritten(folder, capsys):
    model = paths(folder, "model.smm")
    code, _, err = call(capsys, "export", *model, "--to", "sqlite", "--table", "t", "--key", "id", "-o", *model)
    assert code == 1
    assert "would be lost" in err
