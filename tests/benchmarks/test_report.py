"""What `report` prints it keeps, with where it comes from, in one file of the script that runs."""

import argparse
import json
import sys
import types
from pathlib import Path

import pytest


@pytest.fixture
def script(monkeypatch, tmp_path):
    """A function that lets this process be one that runs a benchmark with arguments, and says where its rows are kept."""

    def runs(name, *arguments, **names):
        import report

        monkeypatch.setenv("SEMIMETRIC_RESULTS", str(tmp_path))
        monkeypatch.setattr(sys, "argv", [str(report.FOLDER / f"{name}.py"), *arguments])
        monkeypatch.setitem(sys.modules, "__main__", types.SimpleNamespace(**names))
        return tmp_path / f"{name}.jsonl"

    return runs


def rows_of(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_rows_are_kept_with_where_they_come_from(script, capsys):
    from report import commit, machine, report

    file = script("solve")
    report("seconds", [{"solver": "gram", "s": 0.25}, {"solver": "newton", "s": 1.5}])
    assert [(row["benchmark"], row["solver"], row["s"]) for row in rows_of(file)] == [
        ("seconds", "gram", 0.25),
        ("seconds", "newton", 1.5),
    ]
    for row in rows_of(file):
        assert (row["machine"], row["commit"]) == (machine(), commit())
        assert row["version"].startswith("semimetric ")
        assert row["date"].endswith("+00:00")
        assert row["load"] >= 0
        assert "arguments" not in row
    assert '{"benchmark": "seconds", "solver": "gram", "s": 0.25}' in capsys.readouterr().out.splitlines()
    assert [path.name for path in file.parent.iterdir()] == ["solve.jsonl"]  # nothing is left of what was written beside


def test_a_run_again_takes_the_place_of_its_rows_alone(script):
    from report import report

    file = script("solve")
    report("seconds", [{"s": 1}, {"s": 2}])
    report("memory", [{"MiB": 3}])
    script("solve", "--pairs", "2000")
    report("seconds", [{"s": 0.1}])
    script("solve")
    report("seconds", [{"s": 4}])
    kept = [(row["benchmark"], row.get("arguments"), row.get("s", row.get("MiB"))) for row in rows_of(file)]
    assert sorted(kept, key=str) == [("memory", None, 3), ("seconds", "--pairs 2000", 0.1), ("seconds", None, 4)]


def test_who_keeps_its_rows_itself_is_left_alone_and_so_is_any_other_script(script, monkeypatch, tmp_path):
    from report import append, file_of_rows, report

    assert file_of_rows() is None  # of pytest
    script("search", append=append)
    report("seconds", [{"s": 1}])
    script("paper1", "--results", "kept.jsonl")
    report("seconds", [{"s": 1}])
    assert list(tmp_path.iterdir()) == []


def test_kept_rows_lie_in_the_folder_of_results(script, monkeypatch):
    from report import FOLDER, file_of_rows

    script("solve")
    monkeypatch.delenv("SEMIMETRIC_RESULTS")
    assert file_of_rows() == FOLDER / "results" / "solve.jsonl"


def test_scripts_that_append_do_so_to_their_kept_file_or_to_the_one_that_is_named(script, monkeypatch, tmp_path):
    from report import FOLDER, add_results

    def named(*arguments):
        parser = argparse.ArgumentParser()
        add_results(parser)
        return parser.parse_args(arguments).results

    file = script("paper1")
    assert named() == file
    assert named("--results", "other.jsonl") == Path("other.jsonl")
    monkeypatch.delenv("SEMIMETRIC_RESULTS")
    assert named() == FOLDER / "results" / "paper1.jsonl"


def test_no_script_has_an_option_of_results_of_its_own():
    from report import FOLDER

    own = '"--' + 'results", '
    scripts = {path.stem for path in FOLDER.glob("*.py") if f"add_argument({own}" in path.read_text()}
    assert scripts == {"report"}


def test_a_row_keeps_all_its_names_beside_its_origin(script):
    from report import origin, report, with_origin

    row = with_origin({"method": "newton", "s": 1.5}, "numpy")
    assert row | origin("numpy") | {"date": row["date"], "load": row["load"]} == row
    assert (row["method"], row["s"]) == ("newton", 1.5)
    assert row["version"].startswith("numpy ")
    with pytest.raises(ValueError, match="a row has load, machine, which its origin has too"):
        with_origin({"machine": "newton", "load": 3}, "semimetric")
    file = script("solve")
    with pytest.raises(ValueError, match="machine"):
        report("seconds", [{"machine": "newton"}])
    assert not file.exists()


def test_quick_runs_keep_nothing_beside_what_is_quoted(tmp_path, monkeypatch):
    """`tools/bench.py --quick` hands its processes a folder of their own, and a whole run hands them none."""
    import runpy

    from report import FOLDER

    bench = runpy.run_path(str(FOLDER.parent / "tools" / "bench.py"))
    (tmp_path / "shown.py").write_text("import os; print(os.environ.get('SEMIMETRIC_RESULTS'))")
    monkeypatch.delenv("SEMIMETRIC_RESULTS", raising=False)
    within = bench["run"].__globals__
    for name, path in (("FOLDER", tmp_path), ("RUNS", tmp_path / "runs"), ("DONE", tmp_path / "runs" / "done.jsonl")):
        monkeypatch.setitem(within, name, path)
    rows = tmp_path / "runs" / "shown.jsonl"  # of an earlier quick run, which scripts that go on would not measure again
    rows.parent.mkdir()
    rows.write_text("{}")
    assert bench["run"]("shown", [], "commit", quick=False)
    assert rows.exists()
    assert bench["run"]("shown", [], "commit", quick=True)
    assert not rows.exists()
    for quick, shown in ((True, str(tmp_path / "runs")), (False, "None")):
        assert bench["run"]("shown", [], "commit", quick=quick)
        assert (tmp_path / "runs" / "shown.txt").read_text().strip() == shown
