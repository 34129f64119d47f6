import json
import shlex
import subprocess
import sys
from argparse import Namespace
from functools import partial
from io import StringIO

import cases
import numpy as np
import pytest

import semimetric
from semimetric.cli import label_commands, main, pair_commands, parser, search_commands

pd = pytest.importorskip("pandas")
COMMANDS = ("demo", "fit", "distance", "index", "query", "neighbors", "info", "plot")
HOMES = {"index": search_commands, "query": search_commands, "neighbors": label_commands}
SLOPES = np.array([1.0, 3.0])


def true(x, y):
    return np.abs(x - y) @ SLOPES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Items item0, item1, ..., pairs of them by id, and a model that was fitted on them by the command."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    X = rng.random((60, 2)) * [10, 1]
    names = [f"item{k}" for k in range(60)]
    items = pd.DataFrame({"name": names, "width": X[:, 0], "height": X[:, 1]})
    pairs = rng.choice(60, (600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    distance = true(X[pairs[:, 0]], X[pairs[:, 1]])
    named = pd.DataFrame({"left": np.take(names, pairs[:, 0]), "right": np.take(names, pairs[:, 1]), "distance": distance})
    items.to_csv(folder / "items.csv", index=False)
    items.drop(columns="name").to_csv(folder / "unnamed.csv", index=False)
    named.to_csv(folder / "pairs.csv", index=False)
    named.head(3).to_csv(folder / "three.csv", index=False)
    numbered = pd.DataFrame({"from": pairs[:, 0], "to": pairs[:, 1], "minutes": distance})
    numbered.to_csv(folder / "numbered.csv", index=False)
    assert main(["fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--output", str(folder / "model.smm")]) == 0
    return folder


def paths(folder, *names):
    return [str(folder / name) for name in names]


def call(capsys, *arguments):
    """Exit code, standard output and standard error."""
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys, *arguments):
    """The JSON that a command prints, and nothing else."""
    code, out, err = call(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_fit_learns_reports_what_it_held_out_and_saves(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    values = answer(capsys, "fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--output", model)
    assert values["features"] == ["width", "height"]
    assert (values["n_items"], values["axioms"]) == (60, "semimetric")
    assert values["held_out"]["median_relative_error"] < 0.02
    assert values["held_out"]["pearson"] > 0.999
    assert 0 < values["held_out"]["n_pairs"] < values["n_pairs"]
    d = semimetric.load(model)
    assert d([1.0, 0.2], [6.0, 0.7]) == pytest.approx(6.5, rel=0.02)


def test_fit_says_it_in_words(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    code, out, err = call(capsys, "fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--output", model)
    assert (code, err) == (0, "")
    assert out.startswith("Semimetric: semimetric")
    assert "pairs of items that were held out" in out
    assert out.endswith(f"saved as {model}\n")


def test_options_reach_the_learner(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    values = answer(
        capsys, "fit", *paths(folder, "unnamed.csv", "numbered.csv"), "--left", "from", "--right", "to", "--target", "minutes",
        "--tables", "warped", "--axioms", "metric", "--n-knots", 3, "--alpha", 1e-6, "--directions", "even:width,height",
        "--relative", "--penalty", "ridge", "--held-out", 0, "--output", model,
    )  # fmt: skip
    assert (values["axioms"], values["n_knots"], values["alpha"], values["held_out"]) == ("metric", 3, 1e-6, None)
    assert len(semimetric.load(model).columns) > 2


def test_groups_by_name_and_no_axioms(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    fit = ["fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--held-out", 0, "--n-knots", 3, "--alpha", 1e-3]
    values = answer(capsys, *fit, "--output", model, "--groups", "width,height", "--axioms", "none")
    assert values["axioms"] == "none"
    assert semimetric.load(model).terms[0] == "width * height"


def test_histograms_of_bins_in_a_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(4), 40)
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "items.csv", index=False)
    pd.DataFrame({"place": [0.0, 1, 2, 5]}).to_csv(tmp_path / "bins.csv", index=False)
    pairs = rng.choice(40, (300, 2))
    emd = np.abs(np.cumsum(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)[:, :-1]) @ [1, 1, 3]
    pd.DataFrame({"left": pairs[:, 0], "right": pairs[:, 1], "distance": emd}).to_csv(tmp_path / "pairs.csv", index=False)
    values = answer(
        capsys, "fit", *paths(tmp_path, "items.csv", "pairs.csv"), "--directions", f"histogram:{tmp_path / 'bins.csv'}",
        "--tables", "warped", "--n-knots", 2, "--alpha", 1e-8, "--output", tmp_path / "m.smm",
    )  # fmt: skip
    assert values["held_out"]["median_relative_error"] < 0.01


def test_distance_of_all_pairs(folder, capsys):
    code, out, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"), "--id", "name")
    assert (code, err) == (0, "")
    table = pd.read_csv(StringIO(out), index_col="item")
    X = pd.read_csv(folder / "items.csv")[["width", "height"]]
    assert np.allclose(table.to_numpy(), semimetric.load(folder / "model.smm").pairwise(X))
    assert list(table.columns) == list(table.index) == [f"item{k}" for k in range(60)]


def test_distance_to_other_items_as_json(folder, tmp_path, capsys):
    pd.DataFrame({"height": [0.5], "width": [2.0], "name": ["new"]}).to_parquet(tmp_path / "other.parquet")
    files = [*paths(folder, "model.smm", "items.csv"), tmp_path / "other.parquet"]
    values = answer(capsys, "distance", *files, "--id", "name")
    X = pd.read_csv(folder / "items.csv")[["width", "height"]]
    assert values["right"] == ["new"]
    assert np.allclose(
        values["distance"], semimetric.load(folder / "model.smm").pairwise(X, [[2.0, 0.5]])
    )  # by name, not place


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_distance_of_listed_pairs_into_a_file(extension, folder, tmp_path, capsys):
    output = tmp_path / f"d.{extension}"
    files = paths(folder, "model.smm", "items.csv")
    code, out, _ = call(capsys, "distance", *files, "--id", "name", "--pairs", folder / "three.csv", "--output", output)
    assert (code, out) == (0, f"3 distances saved as {output}\n")
    written = pd.read_csv(output) if extension == "csv" else pd.read_parquet(output)
    given = pd.read_csv(folder / "three.csv")
    assert written[["left", "right"]].equals(given[["left", "right"]])
    assert np.allclose(written["distance"], given["distance"], rtol=0.05)


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


@pytest.mark.parametrize(
    "what", [["--term", "width"], ["--around", "item3", "--features", "height", "width"], ["--pair", "item3", "item4"]]
)
def test_plot(what, folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "p.png"
    files = paths(folder, "model.smm", "items.csv")
    assert answer(capsys, "plot", *files, "--id", "name", *what, "--output", picture) == {"output": str(picture)}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_runs_small_and_says_commands_that_work(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ot")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    fast = partial(semimetric.DistanceRegressor, alpha=0.1)  # to choose it takes a while
    monkeypatch.setattr(pair_commands.demo, "DistanceRegressor", fast)
    sizes = ["--train-images", 150, "--train-pairs", 400, "--test-pairs", 50, "--queries", 2]
    code, out, err = call(capsys, "demo", *sizes, "--output", "small")
    assert (code, err) == (0, "")
    assert "error of a pair    median" in out
    assert {p.name for p in tmp_path.iterdir()} == {"small.smm", "small.png", "small.csv"}
    said = [line.split("(")[0].split()[1:] for line in out.splitlines() if line.startswith("  semimetric ")]
    assert len(said) == 3
    for command in said[:2]:
        assert main(command) == 0
    with pytest.raises(SystemExit) as leave:
        main(said[2])
    assert leave.value.code == 0


def test_demo_checks_the_folder_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pair_commands.demo, "run", lambda sizes, **options: pytest.fail("ran before the folder was checked"))
    code, out, err = call(capsys, "demo", "--json", "--output", tmp_path / "none" / "x")
    assert (code, out) == (1, "")
    assert "there is no folder" in err


def write(path, text):
    path.write_text(text)
    return path


BAD_FILES = {
    "gap.csv": "name,width\na,1\nb,\n",
    "half.csv": "name;width\na;1,5\n",
    "double.csv": "name,width,width\na,1,2\n",
    "text.csv": "name,width\na,x\n",
    "twice.csv": "name,width\na,1\na,2\n",
    "other.csv": "name,depth\na,1\nb,2\n",
    "wrong.csv": "left,right,distance\nitem0,nobody,1\n",
    "nan.csv": "left,right,distance\nitem0,item1,\n",
    "negative.csv": "left,right,distance\nitem0,item1,-1\nitem1,item2,1\n",
    "few.csv": "left,right,distance\nitem0,item1,1\nitem1,item2,2\n",
    "none.csv": "left,right,distance\n",
    "fake.parquet": "no parquet",
    "items.txt": "a",
    "fake.smm": "no model",
}


@pytest.fixture
def bad(folder, tmp_path):
    for name, text in BAD_FILES.items():
        write(tmp_path / name, text)
    for name in ("items.csv", "pairs.csv", "model.smm"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "fit gap.csv pairs.csv",
            "row 1 of gap.csv, the item 'b', has width=nan (1 such values in all); finite numbers are required",
        ),
        ("fit text.csv pairs.csv", "text.csv has 1 rows and 0 numeric columns"),
        ("fit twice.csv pairs.csv", "the id 'a' is on more than one row"),
        ("fit nowhere.csv pairs.csv", "there is no file nowhere.csv; check the path"),
        ("fit items.txt pairs.csv", "items.txt ends in .txt; tables end in .csv, .parquet or .pq"),
        ("fit fake.parquet pairs.csv", "fake.parquet cannot be read as Parquet"),
        ("fit items.csv wrong.csv", "'nobody' is no id of items.csv; correct it"),
        ("fit items.csv none.csv", "none.csv has no rows"),
        ("fit items.csv nan.csv", "row 0 of nan.csv has distance=nan"),
        (
            "fit items.csv negative.csv --held-out 0",
            "row 0 of negative.csv has distance=-1 (1 such rows in all); distances >= 0 are required",
        ),
        ("fit half.csv pairs.csv", "half.csv has one column, 'name;width': it seems to be separated by ';'"),
        ("fit double.csv pairs.csv", "double.csv has more than one column 'width'"),
        ("fit items.csv few.csv", "or --held-out 0 for no check"),
        ("fit items.csv pairs.csv --target minutes", "no column 'minutes'; its columns are left, right, distance"),
        ("fit items.csv pairs.csv --axioms quasimetric --tables warped", "axioms='quasimetric' needs tables=\"full\""),
        ("fit items.csv pairs.csv --groups width,depth", "--groups names 'depth'"),
        ("fit items.csv pairs.csv --directions lda", "--directions lda is not known"),
        ("fit items.csv pairs.csv --output none/m.smm", "there is no folder"),
        ("distance model.smm other.csv", "other.csv has no numeric column 'width' (of 2 that the model needs, 2 are missing)"),
        ("distance fake.smm items.csv", "fake.smm is no semimetric file"),
        ("distance nowhere.smm items.csv", "nowhere.smm: No such file"),
        ("distance model.smm items.csv --id label", "items.csv has no column 'label'"),
        ("info items.csv", "is no semimetric file"),
        ("plot model.smm --term depth --output p.png", "there is no table 'depth'"),
        ("plot model.smm --around item0 --output p.png", "give the table after the model"),
        ("plot model.smm items.csv --around nobody --output p.png", "'nobody' is no id"),
        ("plot model.smm --term width --output p.xyz", "give a name ending in .png"),
    ],
)
@pytest.mark.parametrize("json_flag", [[], ["--json"]], ids=["text", "json"])
def test_what_cannot_be_used_is_one_sentence_and_exit_code_1(command, message, json_flag, bad, monkeypatch, capsys):
    monkeypatch.chdir(bad)
    words = command.split()
    if words[0] == "fit" and "--output" not in words:
        words += ["--output", "m.smm"]
    if words[0] != "info" and "--id" not in words:
        words += ["--id", "name"]
    code, out, err = call(capsys, *words, *json_flag)
    assert (code, out) == (1, "")
    assert err.startswith("semimetric: ")
    assert err.count("\n") == 1
    assert message in err
    assert not (bad / "m.smm").exists()


def test_rows_are_numbered_from_0_without_ids(folder, capsys):
    code, _, err = call(capsys, "plot", *paths(folder, "model.smm", "items.csv"), "--around", 60, "--output", "p.png")
    assert code == 1
    assert "'60' is no row number (0 to 59)" in err


@pytest.mark.parametrize(
    "arguments",
    [[], ["learn"], ["fit", "a.csv", "b.csv"], ["fit", "a.csv", "b.csv", "--output", "m", "--held-out", "1"],
     ["fit", "a.csv", "b.csv", "--output", "m", "--n-knots", "some"], ["demo", "--queries", "0"],
     ["plot", "m.smm", "--output", "p.png"], ["plot", "m.smm", "--output", "p.png", "--term", "a", "--around", "0"]],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as leave:
        main(arguments)
    assert leave.value.code == 2
    assert "usage: semimetric" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as leave:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert leave.value.code == 0
    for line in out.split("example:\n")[1].strip().splitlines():
        example = shlex.split(line)
        assert example[:2] == ["semimetric", command]
        assert parser._parser().parse_args(example[1:]).command is getattr(HOMES.get(command, pair_commands), f"run_{command}")
    assert "--json" in out


def test_ctrl_c_is_exit_code_130(monkeypatch, capsys):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(pair_commands, "load", interrupted)
    assert call(capsys, "info", "model.smm") == (130, "", "semimetric: interrupted\n")


def test_a_missing_package_names_the_extra(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"))
    assert code == 1
    assert 'pip install ".[cli]"' in err
    monkeypatch.setitem(sys.modules, "ot", None)
    code, _, err = call(capsys, "demo", "--output", folder / "demo")
    assert code == 1
    assert 'pip install ".[demo]"' in err


def test_a_warning_is_one_line_on_standard_error(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "items.csv").assign(same=1.0)
    items.to_csv(tmp_path / "items.csv", index=False)
    fit = [
        "fit",
        tmp_path / "items.csv",
        folder / "pairs.csv",
        "--id",
        "name",
        "--held-out",
        0,
        "--n-knots",
        3,
        "--alpha",
        1e-3,
    ]
    code, out, err = call(capsys, *fit, "--output", tmp_path / "m.smm", "--json")
    assert code == 0
    assert err == "semimetric: feature same is constant: nothing is learned there\n"
    assert json.loads(out)["n_items"] == 60


def test_distance_says_how_many_items_lie_outside_the_range(folder, tmp_path, capsys):
    far = tmp_path / "far.csv"
    pd.DataFrame({"name": ["a", "b"], "width": [5.0, 1e3], "height": [0.5, 0.5]}).to_csv(far, index=False)
    code, _, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"), far, "--id", "name")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"semimetric: 1 of 2 items of {far} (50 %) lie outside the range of the fit (width 50 %), where")


def test_a_model_with_base_distances_says_how_to_read_it(tmp_path, capsys):
    pairs = np.random.default_rng(0).random((50, 2, 1))
    fit = semimetric.DistanceRegressor(n_knots=2, alpha=1.0, base_distances=[cases.cityblock])
    fit.fit(pairs, cases.cityblock(pairs[:, 0], pairs[:, 1])).semimetric_.save(tmp_path / "m.smm")
    code, _, err = call(capsys, "info", tmp_path / "m.smm")
    assert code == 1
    assert "(cityblock), which are Python functions, but 0 were given; in Python, give" in err


def test_plot_around_of_one_feature(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pairs = np.random.default_rng(0).random((50, 2, 1))
    model = semimetric.DistanceRegressor(n_knots=2, alpha=1.0).fit(pairs, cases.cityblock(pairs[:, 0], pairs[:, 1]))
    model.semimetric_.save(tmp_path / "m.smm")
    pd.DataFrame({"a": [0.1, 0.9]}).to_csv(tmp_path / "items.csv", index=False)
    arguments = [*paths(tmp_path, "m.smm", "items.csv"), "--around", 0, "--output", tmp_path / "p.png"]
    assert call(capsys, "plot", *arguments)[0] == 0


def test_columns_that_are_not_used_are_named_on_standard_error(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "items.csv").assign(note="text", when="2024-01-01", tall=lambda t: t["height"] > 0.5)
    items.to_csv(tmp_path / "items.csv", index=False)
    files, model = [tmp_path / "items.csv", folder / "pairs.csv"], tmp_path / "m.smm"
    fit = ["fit", *files, "--id", "name", "--held-out", 0, "--n-knots", 3, "--alpha", 1e-3, "--output", model, "--json"]
    code, out, err = call(capsys, *fit)
    assert (code, json.loads(out)["features"]) == (0, ["width", "height", "tall"])
    assert err.startswith(f"semimetric: columns of {files[0]} that are not numeric are not used: note, when\n")
    assert call(capsys, "distance", model, tmp_path / "items.csv", "--id", "name")[2] == ""  # the model says what it needs


def test_ids_keep_leading_zeros_and_whole_floats_are_integers(folder, tmp_path, capsys):
    distances = answer(
        capsys, "distance", *paths(folder, "model.smm", "items.csv"), "--pairs", folder / "three.csv", "--id", "name"
    )
    items, pairs = pd.read_csv(folder / "items.csv"), pd.read_csv(folder / "three.csv").drop(columns="distance")
    for write_items, write_pairs in (("{:03d}", "{:03d}"), ("{:d}", "{:.1f}"), ("{:.1f}", "{:d}")):
        number = {name: write_items.format(k) for k, name in enumerate(items["name"])}
        items.assign(name=items["name"].map(number)).replace({"name": {number["item59"]: "NA"}}).to_csv(
            tmp_path / "items.csv", index=False
        )
        place = {name: write_pairs.format(k) for k, name in enumerate(items["name"])}
        pairs.map(place.get).to_csv(tmp_path / "pairs.csv", index=False)
        files = [folder / "model.smm", tmp_path / "items.csv"]
        again = answer(capsys, "distance", *files, "--pairs", tmp_path / "pairs.csv", "--id", "name")
        assert again["distance"] == distances["distance"]
        assert again["left"] == [number[name].removesuffix(".0") for name in pairs["left"]]


def test_numbers_that_json_does_not_know_are_null():
    assert parser._plain({"a": np.array([1.0, np.nan]), 2: (np.float64("inf"), np.int64(3), "x", None, True)}) == {
        "a": [1.0, None], "2": [None, 3, "x", None, True],
    }  # fmt: skip


def test_the_process_itself(folder):
    run = [sys.executable, "-m", "semimetric"]
    done = subprocess.run([*run, "info", str(folder / "model.smm"), "--json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n_features"] == 2
    failed = subprocess.run([*run, "info", "nothing.smm"], capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "semimetric: nothing.smm: No such file or directory\n"
    version = subprocess.run([*run, "--version"], capture_output=True, text=True, check=False)
    assert version.stdout == f"semimetric {semimetric.__version__}\n"


def test_a_constant_feature_is_said_once_and_a_column_of_ids_is_asked_for(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "unnamed.csv").assign(same=1.0, number=np.arange(60))
    items.to_csv(tmp_path / "items.csv", index=False)
    files = [tmp_path / "items.csv", folder / "numbered.csv"]
    columns = ["--left", "from", "--right", "to", "--target", "minutes"]
    fit = ["fit", *files, *columns, "--n-knots", 3, "--alpha", 1e-3, "--output", tmp_path / "m.smm"]
    code, _, err = call(capsys, *fit)
    assert code == 0
    assert err.count("feature same is constant") == 1
    assert "column number of" in err
    assert "if it names the items, give --id number" in err
    assert "--id" not in call(capsys, *fit, "--id", "number")[2]


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
    pair_commands._plot_items(semimetric.load(folder / "model.smm"), given, axes)
    assert axes.get_title().startswith(title)
