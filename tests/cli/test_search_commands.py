"""``semimetric index`` and ``semimetric query``, through the command line."""

import json
from io import StringIO

import numpy as np
import pytest
from command_line import answer, call

import semimetric
from semimetric.cli import main
from semimetric.cli.tables import columns_of
from semimetric.out_of_core import dask as dask_workers

pd = pytest.importorskip("pandas")
SHOWN = ["width", "height"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A model, 300 items with ids and other columns, their index, and 7 queries."""
    home, rng = tmp_path_factory.mktemp("search"), np.random.default_rng(0)
    fitted = pd.DataFrame(rng.random((40, 2)), columns=SHOWN)
    model = semimetric.DistanceRegressor(n_knots=4, alpha=1e-4, preprocessor=fitted)
    index = rng.integers(0, 40, (400, 2))
    truth = np.abs(fitted.to_numpy()[index[:, 0]] - fitted.to_numpy()[index[:, 1]]) @ [1.0, 3.0]
    model.fit(index, truth).semimetric_.save(home / "model.smm")
    low, high = fitted.min().to_numpy(), fitted.max().to_numpy()
    items = pd.DataFrame(low + (high - low) * rng.random((300, 2)), columns=SHOWN)
    items["colour"] = rng.choice(["red", "dark blue", "NA", "007"], 300)
    items["unit price"] = rng.integers(0, 100, 300)
    items.insert(0, "name", [f"{k:03d}" for k in range(300)])
    items.to_csv(home / "items.csv", index=False)
    queries = pd.DataFrame(low + (high - low) * rng.random((7, 2)), columns=SHOWN).assign(name=list("abcdefg"))
    queries.to_csv(home / "queries.csv", index=False)
    given = [str(home / name) for name in ("model.smm", "items.csv")]
    assert main(["index", *given, "--id", "name", "-o", str(home / "items.index")]) == 0
    return home


@pytest.fixture
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


def table(capsys, *arguments):
    """What a query prints, and nothing else."""
    code, out, err = call(capsys, "query", *arguments)
    assert (code, err) == (0, "")
    return pd.read_csv(StringIO(out), dtype={"id": str})


def nearest(home, k, keep=None):
    """Brute force over the frame: query, id and distance of the k nearest that are kept."""
    d, items, queries = semimetric.load(home / "model.smm"), items_of(home), pd.read_csv(home / "queries.csv")
    items = items if keep is None else items[keep(items)]
    distances = d.pairwise(queries[SHOWN], items[SHOWN])
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return items["name"].to_numpy()[order].ravel(), np.take_along_axis(distances, order, axis=1).ravel()


def items_of(home):
    return pd.read_csv(home / "items.csv", dtype={"name": str, "colour": str}, keep_default_na=False)


@pytest.mark.parametrize("algorithm", [[], ["--algorithm", "exact"], ["--algorithm", "approximate"], ["--algorithm", "brute"]])
def test_the_nearest_are_those_of_brute_force(algorithm, at_home, capsys):
    found = table(capsys, "items.index", "queries.csv", "--id", "name", "-k", 5, *algorithm)
    ids, distances = nearest(at_home, 5)
    assert list(found.columns) == ["query", "rank", "id", "distance"]
    assert found["id"].tolist() == ids.tolist()
    assert np.allclose(found["distance"], distances, rtol=1e-12)
    assert found["query"].tolist() == list(np.repeat(list("abcdefg"), 5))
    assert found["rank"].tolist() == list(range(1, 6)) * 7


def test_rows_are_joined_with_the_nearest_of_another_table(at_home, capsys):
    code, out, err = call(capsys, "join", "model.smm", "queries.csv", "items.csv", "--id", "name", "-k", 5)
    assert (code, err) == (0, "")
    found = pd.read_csv(StringIO(out), dtype={"right": str})
    ids, distances = nearest(at_home, 5)
    assert list(found.columns) == ["left", "right", "rank", "distance"]
    assert found["left"].tolist() == list(np.repeat(list("abcdefg"), 5))
    assert found["right"].tolist() == ids.tolist()
    assert np.allclose(found["distance"], distances, rtol=1e-12)


def test_joined_rows_are_equal_in_some_columns(at_home, capsys):
    options = ["--by", "colour", "--by", "unit price", "--radius", 2, "--explain", "--output", "pairs.csv"]
    assert call(capsys, "join", "model.smm", "items.csv", "--id", "name", *options)[0] == 0
    found, items = pd.read_csv("pairs.csv", dtype={"left": str, "right": str}), items_of(at_home).set_index("name")
    pairs = [items.loc[found[side]].reset_index(drop=True) for side in ("left", "right")]
    assert (pairs[0][["colour", "unit price"]] == pairs[1][["colour", "unit price"]]).all(axis=None)
    assert (found["left"] != found["right"]).all()
    np.testing.assert_allclose(found[SHOWN].sum(axis=1), found["distance"])
    keys = items["colour"] + items["unit price"].astype(str)
    equal = keys.to_numpy()[:, None] == keys.to_numpy()
    near = semimetric.load("model.smm").pairwise(items[SHOWN]) <= 2
    assert len(found) == (equal & near).sum() - 300 > 50  # a row is not joined with itself
    code, out, err = call(capsys, "join", "model.smm", "items.csv", "items.csv", "--by", "color")
    assert (code, out) == (1, "")
    assert "items.csv has no column 'color'; its columns are name, width" in err
    assert answer(capsys, "join", "model.smm", "items.csv", "--by", "colour")["rank"] == [1] * 300
    code, out, err = call(capsys, "join", "model.smm", "items.csv", "--by", "name")
    assert (code, out) == (0, "left,right,rank,distance\n")
    assert err == "semimetric: no row has a neighbour; the answer is empty\n"


def test_the_index_is_one_for_python_too(at_home, capsys):
    index, queries = semimetric.load("items.index"), pd.read_csv("queries.csv")
    _, ids = index.kneighbors(queries[SHOWN])  # as many as the command gives
    assert table(capsys, "items.index", "queries.csv", "--id", "name")["id"].tolist() == ids.ravel().tolist()


@pytest.mark.parametrize(
    ("condition", "keep"),
    [
        ("`unit price` < 20", lambda t: t["unit price"] < 20),
        ("colour == 'dark blue' and width > 0.5", lambda t: (t["colour"] == "dark blue") & (t["width"] > 0.5)),
        ('colour == "NA"', lambda t: t["colour"] == "NA"),
        (
            "colour in ('red', '007') and not `unit price` < 50 or width < 0.1",
            lambda t: (t["colour"].isin(["red", "007"]) & ~(t["unit price"] < 50)) | (t["width"] < 0.1),
        ),
        ('colour == "007" and `unit price` != 5', lambda t: (t["colour"] == "007") & (t["unit price"] != 5)),
    ],
)
def test_only_items_that_fulfil_the_condition_are_answered(condition, keep, at_home, capsys):
    found = table(capsys, "items.index", "queries.csv", "--id", "name", "-k", 4, "--where", condition)
    ids, distances = nearest(at_home, 4, keep)
    assert found["id"].tolist() == ids.tolist()
    assert np.allclose(found["distance"], distances, rtol=1e-12)


def test_a_condition_that_few_items_fulfil_gives_those(at_home, capsys):
    price = items_of(at_home)["unit price"].max()
    found = table(capsys, "items.index", "queries.csv", "-k", 100, "--where", f"`unit price` == {price}")
    assert set(found["id"]) == set(items_of(at_home).query("`unit price` == @price")["name"])
    code, out, err = call(capsys, "query", "items.index", "queries.csv", "--where", "width > 5")
    assert (code, out) == (0, "query,rank,id,distance\n")
    assert err == "semimetric: no item fulfils --where width > 5; the answer is empty\n"


def test_json_and_files(at_home, tmp_path, capsys):
    code, out, _ = call(capsys, "query", "items.index", "queries.csv", "--id", "name", "-k", 2, "--json")
    values = json.loads(out)
    ids, distances = nearest(at_home, 2)
    assert (code, values["id"], values["rank"]) == (0, ids.tolist(), [1, 2] * 7)
    assert np.allclose(values["distance"], distances)
    code, out, _ = call(capsys, "query", "items.index", "queries.csv", "-k", 2, "--output", tmp_path / "n.parquet")
    assert (code, out) == (0, f"14 neighbours of 7 queries saved as {tmp_path / 'n.parquet'}\n")
    assert pd.read_parquet(tmp_path / "n.parquet")["id"].tolist() == ids.tolist()


def test_rows_are_numbers_without_id(at_home, tmp_path, capsys):
    items_of(at_home).drop(columns=["name", "colour"]).to_parquet(tmp_path / "items.parquet")
    code, out, _ = call(capsys, "index", "model.smm", tmp_path / "items.parquet", "-o", tmp_path / "x", "--n-jobs", 2, "--json")
    values = json.loads(out)
    assert (code, values["n_items"], values["columns"]) == (0, 300, ["width", "height", "unit price"])
    assert values["bytes_per_item"] > 16
    code, out, _ = call(capsys, "query", tmp_path / "x", "queries.csv", "-k", 3, "--json", "--where", "`unit price` >= 0")
    values, (ids, _) = json.loads(out), nearest(at_home, 3)
    assert values["id"] == [int(name) for name in ids]
    assert values["query"] == list(np.repeat(range(7), 3))


def test_an_index_is_replaced_with_its_columns(at_home, tmp_path, capsys):
    for price in (1, 2):
        items_of(at_home).assign(**{"unit price": price}).to_csv(tmp_path / "items.csv", index=False)
        code, out, err = call(capsys, "index", "model.smm", tmp_path / "items.csv", "--id", "name", "-o", tmp_path / "x")
        assert (code, err) == (0, "")
        assert out.startswith("300 items, ")
    assert len(table(capsys, tmp_path / "x", "queries.csv", "-k", 1, "--where", "`unit price` == 2")) == 7
    assert {p.name for p in (tmp_path / "x").iterdir()} == {"arrays", "index.smm"}


def test_items_outside_the_range_are_said_once(at_home, tmp_path, capsys):
    far = tmp_path / "far.csv"
    pd.DataFrame({"width": [0.5, 9.0], "height": [0.5, 0.5]}).to_csv(far, index=False)
    code, _, err = call(capsys, "query", "items.index", far, "-k", 1)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"semimetric: 1 of 2 items of {far} (50 %) lie outside the range of the fit (width 50 %)")


def test_columns_of_a_file_are_its_numbers_and_its_text_as_written(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("name,width,code\na,1,007\nb,2,x\nc,3,\n")
    columns = columns_of(str(path), "name")
    assert columns["width"].tolist() == [1.0, 2.0, 3.0]
    assert columns["code"].tolist() == ["007", "x", ""]
    assert list(columns) == ["width", "code"]


@pytest.mark.parametrize("shards", [[], ["--shards", 3]])
def test_conditions_on_columns_outlive_changes_of_the_index(shards, at_home, tmp_path, capsys):
    folder, frame = tmp_path / "x", items_of(at_home).set_index("name")
    assert call(capsys, "index", "model.smm", "items.csv", "--id", "name", "-o", folder, *shards)[0] == 0
    index = semimetric.load(folder)
    index.remove(["000"])
    if not shards:
        index.save(folder)
    found = table(capsys, folder, "queries.csv", "-k", 4, "--where", "`unit price` > 5 and colour == 'red' and width > 0.2")
    chosen = frame[(frame["unit price"] > 5) & (frame["colour"] == "red") & (frame["width"] > 0.2)]
    assert len(chosen) > 4
    assert {str(name).zfill(3) for name in found["id"]} <= {str(name).zfill(3) for name in chosen.index} - {"000"}
    code, _, err = call(capsys, "query", folder, "queries.csv", "--where", "price > 5")
    assert (code, err.count("\n")) == (1, 1)
    assert "'price', which is no column of the items" in err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("index model.smm items.csv -o full", "full is there and is no index; give another folder"),
        ("index model.smm items.csv -o items.csv", "items.csv is there and is no index"),
        ("index model.smm items.csv -o none/x", "there is no folder"),
        ("index items.index items.csv -o x", "items.index is an index, not a model"),
        ("index model.smm other.csv -o x", "other.csv has no column 'width'"),
        ("index model.smm items.csv -o x --id label", "items.csv has no column 'label'"),
        ("query model.smm queries.csv", "model.smm is a model, not an index; build one with semimetric index model.smm"),
        ("query full queries.csv", "full is a folder without index.smm, so no index"),
        ("query nowhere queries.csv", "nowhere: No such file"),
        ("query items.index other.csv", "other.csv has no column 'width'"),
        ("query items.index queries.csv -k 301", "-k 301 asks for more than the 300 items of the index; ask for fewer"),
        ("query items.index queries.csv --output n.txt", "n.txt ends in .txt; tables end in .csv"),
        (
            "query items.index queries.csv --where weight>1",
            "names 'weight', which is no column of the items; their columns are",
        ),
        ("query items.index queries.csv --where width>wide", "the value wide, which is no number"),
        ("query items.index queries.csv --where name=='000'", "names 'name', which is no column of the items"),
        ("distance items.index items.csv", "items.index is an index, not a model"),
        ("plot items.index --term width --output p.png", "items.index is an index, not a model"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_exit_code_1(command, message, at_home, capsys):
    (at_home / "full").mkdir(exist_ok=True)
    (at_home / "full" / "note.txt").write_text("mine")
    (at_home / "other.csv").write_text("name,depth\na,1\n")
    code, out, err = call(capsys, *command.split())
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("semimetric: ")
    assert message in err
    assert not (at_home / "x").exists()


@pytest.mark.parametrize("arguments", ["index m.smm i.csv", "query x q.csv -k 0", "query x q.csv --algorithm fast"])
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as leave:
        main(arguments.split())
    assert leave.value.code == 2


def test_shards_answer_as_one_index(at_home, capsys, tmp_path):
    given = ["index", "model.smm", "items.csv", "--id", "name", "-o", str(tmp_path / "shards")]
    assert main([*given, "--shards", "3"]) == 0
    assert "300 items in 3 shards" in capsys.readouterr().out
    whole = table(capsys, "items.index", "queries.csv", "--id", "name", "-k", 5)
    assert table(capsys, str(tmp_path / "shards"), "queries.csv", "--id", "name", "-k", 5).equals(whole)
    where = ["--where", "not (width < 0.5 or height in (1, 2)) and (colour == '007' or `unit price` < 50)"]
    assert table(capsys, str(tmp_path / "shards"), "queries.csv", *where).equals(
        table(capsys, "items.index", "queries.csv", *where)
    )
    assert main(["query", str(tmp_path / "shards"), "queries.csv", "--where", "color == 'red'"]) == 1
    known = (
        "'color', which is no column of the items; their columns are colour, unit price, width, height; did you mean 'colour'"
    )
    assert known in capsys.readouterr().err


def test_info_tells_what_an_index_holds(at_home, capsys, tmp_path):
    assert main(["index", "model.smm", "items.csv", "--id", "name", "-o", str(tmp_path / "shards"), "--shards", "3"]) == 0
    capsys.readouterr()
    model = answer(capsys, "info", "model.smm")
    one, many = (answer(capsys, "info", index) for index in ("items.index", tmp_path / "shards"))
    for values in (one, many):
        assert (values["n_items"], values["ids"], values["first_ids"][:2]) == (300, "text", ["000", "001"])
        assert values["model"] == model
        assert values["bytes"] > 300 * 16
    assert one["columns"] == many["columns"] == ["width", "height", "colour", "unit price"]  # which a condition may name
    assert [*many["shards"].values()] == [100, 100, 100]
    code, out, err = call(capsys, "info", "items.index")
    assert (code, err) == (0, "")
    assert out.startswith("NeighborIndex of 300 items\n")
    assert "columns: width, height, colour, unit price" in out
    assert call(capsys, "info", "model.smm")[1] in out
    assert call(capsys, "info", tmp_path / "shards")[1].startswith("ShardedIndex of 300 items\n")


def test_progress_is_shown_to_those_who_ask(at_home, capsys):
    code, out, err = call(capsys, "query", "items.index", "queries.csv", "--id", "name")
    assert (code, err) == (0, "")
    code, asked, err = call(capsys, "query", "items.index", "queries.csv", "--id", "name", "--verbose")
    assert (code, asked) == (0, out)
    assert "queries: 100%" in err


def test_a_scheduler_that_is_not_there(at_home, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_workers, "_CONNECTING", 0.2)
    assert main(["query", "items.index", "queries.csv", "--id", "name", "--scheduler", "tcp://127.0.0.1:9"]) == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_a_cluster_answers_as_this_process(at_home, capsys, tmp_path):
    engine = pytest.importorskip("distributed")
    with engine.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as local:
        there = ["--scheduler", local.scheduler_address]
        assert (
            main(["index", "model.smm", "items.csv", "--id", "name", "-o", str(tmp_path / "shards"), "--shards", "2", *there])
            == 0
        )
        assert "in 2 shards" in capsys.readouterr().out
        whole = table(capsys, "items.index", "queries.csv", "--id", "name", "-k", 5)
        for index in (str(tmp_path / "shards"), "items.index"):
            assert table(capsys, index, "queries.csv", "--id", "name", "-k", 5, *there).equals(whole)
        pairs = pd.DataFrame({"left": ["000", "001", "002", "003"] * 9, "right": [f"{k:03d}" for k in range(100, 136)]})
        pairs.assign(distance=range(36)).to_csv(tmp_path / "pairs.csv", index=False)
        items_of(at_home).drop(columns="colour").to_csv(tmp_path / "numbers.csv", index=False)
        files = [str(tmp_path / name) for name in ("numbers.csv", "pairs.csv")]
        fit = ["fit", *files, "--id", "name", "--held-out", "0", "--n-knots", "3"]
        for more, name in ((there, "there"), ([], "here")):
            assert main([*fit, "--alpha", "0.01", "--output", str(tmp_path / name), *more]) == 0
        assert main([*fit, "--output", str(tmp_path / "auto"), *there]) == 1
        assert "parts cannot be held out" in capsys.readouterr().err
    models = [semimetric.load(tmp_path / name) for name in ("there", "here")]
    assert np.allclose(models[0].weights, models[1].weights, rtol=1e-9)
