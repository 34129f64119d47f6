"""``semimetric report``."""

import json
import re

import numpy as np
import pytest
from command_line import answer, call, paths

import semimetric as sm

pd = pytest.importorskip("pandas")


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', text, re.DOTALL)[1])


def test_report_of_a_model_and_its_items(folder, tmp_path, capsys):
    page = tmp_path / "why.html"
    files = paths(folder, "model.smm", "items.csv")
    values = answer(capsys, "report", *files, "--id", "name", "--max-items", 20, "-o", page)
    assert values == {"output": str(page), "n_items": 20, "bytes": page.stat().st_size, "computes": True}
    data = data_of(page)
    assert data["items"]["names"][0].startswith("item")
    assert data["items"]["sampled"] is True
    assert "<title>model</title>" in page.read_text(encoding="utf-8")
    code, out, _ = call(capsys, "report", *files, "-o", page, "--title", "Why")
    assert code == 0
    assert f"saved as {page}" in out
    assert "<title>Why</title>" in page.read_text(encoding="utf-8")


def test_report_of_classes_and_of_values(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "items.csv")
    items["kind"] = np.where(np.arange(len(items)) % 2, "odd", "even")
    items["price"] = np.linspace(0.5, 9.5, len(items))
    items.to_csv(tmp_path / "more.csv", index=False)
    page = tmp_path / "why.html"
    for label, told in (("kind", "class"), ("price", "value")):
        answer(capsys, "report", folder / "model.smm", tmp_path / "more.csv", "--label", label, "-o", page)
        found = data_of(page)["items"]
        assert found["targetName"] == told
        assert found["targets"] == items[label].tolist()
        assert found["names"][0] == "row 0"


@pytest.mark.slow
def test_report_by_groups_that_the_model_does_not_have(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.permuted(np.tile(np.linspace(0, 1, 120), (2, 1)), axis=1).T, columns=["age", "pay"])
    table[60:] = table[60:].clip(*table[:60].quantile([0, 1]).to_numpy(), axis=1)  # nothing is out of range
    sm.SemimetricRegressor().fit(table[:60], table["pay"][:60]).save(tmp_path / "model.smm")
    more = table.assign(sex=np.where(rng.random(120) < 0.5, "woman", "man"), value=table["pay"])[60:]
    more.to_csv(tmp_path / "new.csv", index=False)
    page, files = tmp_path / "why.html", (tmp_path / "model.smm", tmp_path / "new.csv", "--label", "value")
    answer(capsys, "report", *files, "--by", "sex", "--by", "age", "-o", page)
    sexes, ages = data_of(page)["overview"]["groups"]
    assert (sexes["by"], ages["by"]) == ("sex", "age")
    assert {row["name"]: row["n"] for row in sexes["rows"][1:]} == more["sex"].value_counts().to_dict()
    assert [row["n"] for row in ages["rows"]] == [60, 15, 15, 15, 15]
    code, _, err = call(capsys, "report", *files, "--by", "gender", "-o", page)
    assert code == 1
    assert "has no column 'gender'" in err
    code, _, err = call(capsys, "report", files[0], "--by", "sex", "-o", page)
    assert code == 1
    assert "--by name columns of a table of items" in err


def test_report_of_a_saved_classifier_needs_no_table(tmp_path, capsys):
    X = np.random.default_rng(0).random((40, 2))
    learner = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped")
    sm.SemimetricClassifier(learner, n_neighbors=3, weights="uniform").fit(X, X[:, 0] > 0.5).save(tmp_path / "c.smm")
    page = tmp_path / "why.html"
    assert answer(capsys, "report", tmp_path / "c.smm", "-o", page)["n_items"] == 40
    assert data_of(page)["items"]["targets"][0] in ("True", "False")


def saved_machines(folder):
    """Saved machines on PL1 and PL2, and a table with the classes and a value."""
    X = pd.DataFrame(np.random.default_rng(0).random((60, 2)), columns=["width", "height"])
    kind = np.where(X["width"] > 0.5, "large", "small")
    for name, embedding in (("one", sm.PL1Embedding(3)), ("two", sm.PL2Embedding(3))):
        sm.EmbeddedLinearClassifier(embedding).fit(X, kind).save(folder / f"{name}.smm")
    sm.EmbeddedLinearRegressor().fit(X, X["height"]).save(folder / "value.smm")
    X.assign(kind=kind, twice=2 * X["height"], few=np.arange(60) % 3).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv", folder / "why.html"


@pytest.mark.slow
def test_report_of_saved_machines(tmp_path, capsys):
    table, page = saved_machines(tmp_path)
    values = answer(capsys, "report", tmp_path / "one.smm", table, "--label", "kind", "-o", page)
    assert values["n_items"] == 60
    assert values["computes"] is True
    data = data_of(page)
    assert data["kind"] == "machine"
    assert data["items"]["targets"][0] in data["outputs"] + ["large"]
    assert "accuracy" in page.read_text(encoding="utf-8")
    for label in ("twice", "few"):  # values, however few
        answer(capsys, "report", tmp_path / "value.smm", table, "--label", label, "-o", page)
        assert data_of(page)["items"]["targetName"] == "value"
    code, _, err = call(capsys, "report", tmp_path / "value.smm", table, "--label", "kind", "-o", page)
    assert code == 1
    assert "has text" in err


def test_report_of_several_models(folder, tmp_path, capsys):
    table, page = saved_machines(tmp_path)
    options = ["--label", "kind", "--against", tmp_path / "two.smm", "-o", page]
    answer(capsys, "report", tmp_path / "one.smm", table, *options)
    text = page.read_text(encoding="utf-8")
    assert "<title>one and two</title>" in text
    assert "Where one and two differ most" in text
    answer(capsys, "report", folder / "model.smm", folder / "items.csv", "--against", folder / "model.smm", "-o", page)
    assert "rank correlation" in page.read_text(encoding="utf-8")
    code, _, err = call(capsys, "report", tmp_path / "one.smm", table, "--against", page, "-o", page)
    assert code == 1
    assert "is what the command reads" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label", "kind"], "name columns of a table of items"),
        (["items.csv", "--label", "kind"], "has no column 'kind'"),
        (["items.csv", "-o", "items.csv"], "is what the command reads"),
        (["items.csv", "-o", "nowhere/why.html"], "there is no folder"),
    ],
)
def test_what_does_not_go_together_is_refused(options, said, folder, capsys):
    here = [str(folder / option) if option.endswith(".csv") else option for option in options]
    code, _, err = call(capsys, "report", folder / "model.smm", *here)
    assert code == 1
    assert said in err
