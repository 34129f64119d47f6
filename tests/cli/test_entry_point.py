"""From the arguments to the exit code: what cannot be used is one sentence, and Ctrl-C and warnings are met."""

import json
import os
import subprocess
import sys

import cases
import numpy as np
import pytest
from command_line import call, paths

import semimetric
from semimetric.cli import model_files

pd = pytest.importorskip("pandas")


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
            "fit gap.csv pairs.csv --missing error",
            "row 1 of gap.csv has no width (1 such rows in all); fill them in",
        ),
        ("fit text.csv pairs.csv --id name --categorical kind", "--categorical names 'kind', which is no column of features"),
        ("fit twice.csv pairs.csv", "the id 'a' is on more than one row"),
        ("fit nowhere.csv pairs.csv", "there is no file nowhere.csv; check the path"),
        ("fit items.txt pairs.csv", "items.txt ends in .txt; tables end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .pq"),
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
        ("fit items.csv pairs.csv --target minutes", "no column 'minutes'; its columns are left, right, distance"),
        ("fit items.csv pairs.csv --axioms quasimetric --tables warped", "axioms='quasimetric' needs tables=\"full\""),
        ("fit items.csv pairs.csv --groups width,depth", "--groups names 'depth'"),
        ("fit items.csv pairs.csv --directions lda", "--directions lda is not known"),
        ("fit items.csv pairs.csv --output none/m.smm", "there is no folder"),
        ("distance model.smm other.csv", "other.csv has no column 'width' (of 2 that the model needs, 2 are missing)"),
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


def test_ctrl_c_is_exit_code_130(monkeypatch, capsys):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(model_files, "load", interrupted)
    assert call(capsys, "info", __file__) == (130, "", "semimetric: interrupted\n")


def test_a_missing_package_names_the_extra(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"))
    assert code == 1
    assert 'pip install ".[cli]"' in err
    monkeypatch.setitem(sys.modules, "ot", None)
    code, _, err = call(capsys, "demo", "--output", folder / "demo")
    assert code == 1
    assert 'pip install ".[demo]"' in err


@pytest.mark.parametrize("n", [2, 19])
def test_few_pairs_are_learned_from_with_a_warning_as_in_python(n, folder, tmp_path, capsys):
    pairs = pd.read_csv(folder / "pairs.csv").iloc[:n]
    pairs.to_csv(tmp_path / "few.csv", index=False)
    words = ["fit", *paths(folder, "items.csv"), tmp_path / "few.csv", "--id", "name", "--output", tmp_path / "few.smm"]
    code, out, err = call(capsys, *words)
    assert code == 0, err
    assert (f"{n} pairs are too few" in err) == (n == 2)  # 19 can be divided, if not by every draw
    assert "nothing was held out" in out or n == 19
    assert semimetric.load(tmp_path / "few.smm").n_features > 0


def test_columns_that_a_model_does_not_use_are_told_where_progress_is_shown(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "items.csv").iloc[:4].assign(colour="red", size=1.5)
    items.to_csv(tmp_path / "more.csv", index=False)
    words = ["distance", *paths(folder, "model.smm"), tmp_path / "more.csv", "--id", "name"]
    assert call(capsys, *words)[2] == ""
    code, _, err = call(capsys, *words, "--verbose")
    assert (code, err.count("\n")) == (0, 1)
    assert "more.csv that the model does not use: " in err
    assert "colour" in err
    assert "size" in err


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
    assert err.startswith(f"semimetric: columns of {tmp_path / 'items.csv'} are left out: 'same' (the same on every row)")
    assert err.count("\n") == 1
    assert json.loads(out)["n_items"] == 60


def test_a_model_with_base_distances_says_how_to_read_it(tmp_path, capsys):
    pairs = np.random.default_rng(0).random((50, 2, 1))
    fit = semimetric.DistanceRegressor(n_knots=2, alpha=1.0, tables=semimetric.Tables(base_distances=[cases.cityblock]))
    fit.fit(pairs, cases.cityblock(pairs[:, 0], pairs[:, 1])).semimetric_.save(tmp_path / "m.smm")
    code, _, err = call(capsys, "info", tmp_path / "m.smm")
    assert code == 1
    assert "(cityblock), which are Python functions, but 0 were given; in Python, give" in err


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error(folder):
    """As in ``semimetric distance ... | head -1``."""
    read, write = os.pipe()
    os.close(read)
    run = [sys.executable, "-m", "semimetric", "distance", *paths(folder, "model.smm", "items.csv"), "--id", "name"]
    done = subprocess.run(run, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_threads_of_blas_are_left_to_n_jobs(monkeypatch, capsys):
    from threadpoolctl import threadpool_info

    seen = []

    def load(path):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        raise semimetric.InputError("enough")

    monkeypatch.setattr(model_files, "load", load)
    assert call(capsys, "info", __file__) == (1, "", "semimetric: enough\n")
    assert set(seen) == {1}
