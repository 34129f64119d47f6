"""Items of a model with categories and missing values, in every command that takes them."""

import numpy as np
import pytest
from command_line import answer, call

import semimetric
from semimetric import Columns, DistanceRegressor, InputError
from semimetric.cli.tables import read_items

pd = pytest.importorskip("pandas")
MIXED = ["grade", "colour", "width"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A model of numbers, text and numbered grades, some of them missing, with a table of its items and another of queries."""
    home, rng = tmp_path_factory.mktemp("mixed"), np.random.default_rng(0)
    frame = pd.DataFrame(
        {"grade": rng.choice([1, 2, 3], 50), "colour": rng.choice(["red", "NA", "007", None], 50), "width": rng.random(50)}
    )
    frame.loc[::9, "width"] = np.nan
    pairs = rng.integers(0, 50, (300, 2))
    model = DistanceRegressor(n_knots=3, alpha=0.1, columns=Columns(["grade", "colour"], missing="level"), preprocessor=frame)
    model.fit(pairs, rng.uniform(1, 2, 300) * (pairs[:, 0] != pairs[:, 1])).semimetric_.save(home / "model.smm")
    frame.assign(name=[f"{k:02d}" for k in range(50)], price=range(50)).to_csv(home / "items.csv", index=False)
    frame.iloc[:4].to_csv(home / "queries.csv", index=False)
    frame.to_pickle(home / "frame.pkl")
    return home


@pytest.fixture(autouse=True)
def _at_home(home, monkeypatch):
    monkeypatch.chdir(home)


def true_distances():
    frame = pd.read_pickle("frame.pkl")
    return semimetric.load("model.smm").pairwise(frame[MIXED])


def test_distances_of_all_and_of_pairs(capsys, tmp_path):
    values = answer(capsys, "distance", "model.smm", "items.csv", "--id", "name")
    np.testing.assert_allclose(values["distance"], true_distances(), rtol=1e-12)
    (tmp_path / "pairs.csv").write_text("left,right\n03,09\n41,00\n")
    values = answer(capsys, "distance", "model.smm", "items.csv", "--id", "name", "--pairs", tmp_path / "pairs.csv")
    np.testing.assert_allclose(values["distance"], true_distances()[[3, 41], [9, 0]], rtol=1e-12)


def test_an_index_is_searched_and_explained(capsys, tmp_path):
    index = answer(capsys, "index", "model.smm", "items.csv", "--id", "name", "-o", tmp_path / "x")
    assert index["columns"] == [*MIXED, "price"]
    truth = np.sort(true_distances()[:4], axis=1)[:, :3]
    found = answer(capsys, "query", tmp_path / "x", "queries.csv", "-k", 3)
    np.testing.assert_allclose(np.reshape(found["distance"], (4, 3)), truth, rtol=1e-12)
    why = answer(capsys, "neighbors", tmp_path / "x", "queries.csv", "-k", 3, "--explain", "--label", "colour")
    np.testing.assert_allclose(why["distance"], found["distance"], rtol=1e-12)
    for distance, terms in zip(why["distance"], why["terms"], strict=True):
        assert sum(part for _, part in terms) == pytest.approx(distance)
    frame = pd.read_pickle("frame.pkl")
    some = answer(capsys, "query", tmp_path / "x", "queries.csv", "-k", 50, "--where", "colour in ('007', '') and price < 40")
    assert {*some["id"]} == {f"{k:02d}" for k in range(40) if frame.colour[k] == "007" or pd.isna(frame.colour[k])}


def test_what_cannot_be_used_is_said(capsys, tmp_path):
    (tmp_path / "items.csv").write_text("name,grade,colour,width\na,1,red,x\nb,2,red,y\n")
    code, _, err = call(capsys, "distance", "model.smm", tmp_path / "items.csv", "--id", "name")
    assert code == 1
    assert "column 'width'" in err
    (tmp_path / "items.csv").write_text("name,grade,colour,width\na,1,red,1\na,2,red,2\n")
    with pytest.raises(InputError, match="the id 'a' is on more than one row"):
        read_items(str(tmp_path / "items.csv"), semimetric.load("model.smm").schema, "name")
    code, _, err = call(capsys, "index", "model.smm", "items.csv", "-o", tmp_path / "shards", "--shards", 2)
    assert code == 1
    assert "a sharded index takes features of numbers" in err


def test_a_model_is_learned_from_pairs_of_items_with_categories(home, capsys, tmp_path):
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 50, (300, 2))
    table = pd.DataFrame(pairs, columns=["left", "right"]).map("{:02d}".format)
    table.assign(distance=rng.uniform(1, 2, 300) * (pairs[:, 0] != pairs[:, 1])).to_csv(tmp_path / "pairs.csv", index=False)
    fit = ["fit", "items.csv", tmp_path / "pairs.csv", "--id", "name", "--n-knots", 3, "--alpha", 0.1]
    fit += ["--missing", "level", "--groups", "colour,width", "grade", "price"]
    values = answer(capsys, *fit, "--categorical", "grade", "colour", "--output", tmp_path / "m.smm")
    assert values["features"] == [*MIXED, "price"]
    assert values["held_out"]["n_pairs"] > 5
    d = semimetric.load(tmp_path / "m.smm")
    assert d.schema.kinds == ("categorical", "categorical", "numeric", "numeric")
    assert d.schema.features[1].categories == ("007", "NA", "red")
    assert d.terms[0] == "colour * width"
    code, _, err = call(capsys, *fit, "--categorical", "hue", "--output", tmp_path / "m.smm")
    assert (code, err.count("\n")) == (1, 1)
    assert "--categorical names 'hue', which is no column of features of items.csv" in err
    code, _, err = call(capsys, *fit, "--missing", "error", "--categorical", "colour", "--output", tmp_path / "m.smm")
    assert code == 1
    assert "or learn with --missing auto" in err


@pytest.mark.slow
def test_a_model_of_dates_is_learned_indexed_and_asked(capsys, tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2024-01-01", periods=60))
    late = days >= pd.Timestamp("2024-02-01")
    pd.DataFrame({"day": days.dt.strftime("%Y-%m-%d"), "width": rng.random(60), "kind": np.where(late, "b", "a")}).to_csv(
        tmp_path / "t.csv", index=False
    )
    model, index = tmp_path / "m.smm", tmp_path / "i"
    assert call(capsys, "fit", tmp_path / "t.csv", "--label", "kind", "--output", model)[0] == 0
    assert semimetric.load(model).schema.features[0].time == "scale"
    assert call(capsys, "index", model, tmp_path / "t.csv", "--output", index)[0] == 0
    (tmp_path / "q.csv").write_text("day,width\n2024-02-01,0.5\n2024-01-31,0.5\n")
    found = answer(capsys, "query", index, tmp_path / "q.csv", "-k", "3", "--where", 'day > "2024-01-15"')
    days_found = days[[int(name) for name in found["id"]]]
    assert (days_found > pd.Timestamp("2024-01-15")).all()
    (tmp_path / "q.csv").write_text("day,width\n2024-13-01,0.5\n")
    code, _, error = call(capsys, "query", index, tmp_path / "q.csv")
    assert code == 1
    assert "column 'day' of" in error
    assert "such as 2026-11-22" in error
