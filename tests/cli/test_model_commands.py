"""``semimetric info`` and ``semimetric plot``."""

from argparse import Namespace

import cases
import numpy as np
import pytest
from command_line import answer, call, paths
from learners import made

import semimetric
from semimetric import DistanceRegressor, StorageError
from semimetric.cli import model_commands
from semimetric.cli.model_commands import _runs, run_info
from semimetric.cli.output import CommandResult

pd = pytest.importorskip("pandas")


def test_info(folder, capsys):
    code, out, _ = call(capsys, "info", folder / "model.smm")
    assert code == 0
    assert out.startswith("Semimetric: semimetric (nonnegative")
    values = answer(capsys, "info", folder / "model.smm")
    assert values["terms"] == ["width", "height", "outside range"]
    assert values["axioms"]["positive"] is True
    assert values["triangle"] in ("violated", "not proved")
    assert set(values["proofs"]) == {*values["axioms"]} - {"name"}
    assert "how that is known" in out
    assert f"triangle: {values['triangle']}" in out
    X = pd.read_csv(folder / "items.csv")
    assert values["ranges"]["height"] == pytest.approx([X["height"].min(), X["height"].max()])


def test_info_of_an_estimator_tells_which_it_is_and_its_errors(tmp_path, capsys):
    X = np.random.default_rng(0).random((60, 2))
    pairs = np.random.default_rng(1).integers(0, 60, (400, 2))
    y = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
    model = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X).fit(pairs, y)
    model.save(tmp_path / "model.smm")
    model.semimetric_.save(tmp_path / "distance.smm")
    code, out, _ = call(capsys, "info", tmp_path / "model.smm")
    values = answer(capsys, "info", tmp_path / "model.smm")
    assert code == 0
    assert out.splitlines()[-1 - str(model.error_).count("\n") - 1] == "  DistanceRegressor"
    assert str(model.error_).splitlines()[0] in out
    assert (values["estimator"], values["error"]) == ("DistanceRegressor", str(model.error_))
    assert "estimator" not in answer(capsys, "info", tmp_path / "distance.smm")


@pytest.mark.parametrize(
    "what", [["--term", "width"], ["--around", "item3", "--features", "height", "width"], ["--pair", "item3", "item4"]]
)
def test_plot(what, folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "p.png"
    files = paths(folder, "model.smm", "items.csv")
    assert answer(capsys, "plot", *files, "--id", "name", *what, "--output", picture) == {"output": str(picture)}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_rows_are_numbered_from_0_without_ids(folder, capsys):
    code, _, err = call(capsys, "plot", *paths(folder, "model.smm", "items.csv"), "--around", 60, "--output", "p.png")
    assert code == 1
    assert "'60' is no row number (0 to 59)" in err


def test_plot_around_of_one_feature(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pairs = np.random.default_rng(0).random((50, 2, 1))
    model = semimetric.DistanceRegressor(n_knots=2, alpha=1.0).fit(pairs, cases.cityblock(pairs[:, 0], pairs[:, 1]))
    model.semimetric_.save(tmp_path / "m.smm")
    pd.DataFrame({"a": [0.1, 0.9]}).to_csv(tmp_path / "items.csv", index=False)
    arguments = [*paths(tmp_path, "m.smm", "items.csv"), "--around", 0, "--output", tmp_path / "p.png"]
    assert call(capsys, "plot", *arguments)[0] == 0


@pytest.mark.parametrize(
    ("what", "title"),
    [
        ({"pair": ["item3", "item4"], "around": None}, "Where the distance of item3 and item4 comes from: sum"),
        ({"pair": None, "around": "item5"}, "Distance from item5"),
    ],
)
def test_titles_of_pictures_name_the_items(what, title, folder):
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    given = Namespace(items=str(folder / "items.csv"), id="name", features=None, **what)
    model_commands._plot_items(semimetric.load(folder / "model.smm"), given, axes)
    assert axes.get_title().startswith(title)


def test_info_says_what_the_model_says(folder):
    answer = run_info(Namespace(model=str(folder / "model.smm"), json=True))
    assert isinstance(answer, CommandResult)
    assert answer.values["n_features"] == 2
    assert "semimetric" in answer.text


def test_info_of_a_foreign_file_is_an_error(tmp_path):
    (tmp_path / "other.smm").write_text("a,b")
    with pytest.raises(StorageError, match="no semimetric file"):
        run_info(Namespace(model=str(tmp_path / "other.smm"), json=False))


def test_categories_are_told_and_drawn(tmp_path, capsys):
    rows = [[c, h] for c in ("red", "blue") for h in range(20)]
    pairs = np.random.default_rng(0).integers(0, 40, (200, 2))
    y = 1.0 + np.abs(pairs[:, 0] - pairs[:, 1])
    told = {"categorical_features": [0], "periodic": {1: 24}, "preprocessor": np.array(rows, dtype=object)}
    fitted = made(DistanceRegressor, n_knots=3, alpha=1e-4, **told).fit(pairs, y)
    fitted.semimetric_.save(tmp_path / "model.smm")
    answer = run_info(Namespace(model=str(tmp_path / "model.smm"), json=True))
    assert answer.values["categories"] == {"x0": ["blue", "red"]}
    assert list(answer.values["ranges"]) == ["x1"]
    assert "2 categories: blue, red" in answer.text
    (tmp_path / "items.csv").write_text("x0,x1\nred,1\nblue,2\n")
    code, _, err = call(
        capsys, "plot", *paths(tmp_path, "model.smm", "items.csv"), "--around", 0, "--output", tmp_path / "p.png"
    )
    assert code == 1
    assert "categorical feature 'x0', and a picture of items takes features of numbers; use it in Python" in err
    assert call(capsys, "plot", tmp_path / "model.smm", "--term", "x0", "--output", tmp_path / "p.png")[0] == 0


def test_terms_that_are_numbered_on_share_a_line():
    terms = ["age", "q1", "q3", "q4", "2020", "2021", "2022", "2023", *(f"tree{k}" for k in range(12)), "outside range"]
    shown = ["age", "q1", "q3", "q4", "2020", "2021", "2022", "2023", "tree0 to tree11 (12)", "outside range"]
    assert _runs(terms) == shown
    assert _runs(["a08", "a09", "a10", "a11"]) == ["a08", "a09", "a10", "a11"]  # "a9" would come next
    assert _runs(["x0", "x1", "x2"]) == ["x0", "x1", "x2"]
    assert _runs([]) == []
