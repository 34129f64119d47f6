"""``semimetric demo``, and the commands that it says."""

from functools import partial

import pytest
from command_line import call

import semimetric
from semimetric.cli import demo, main
from semimetric.cli.demo import typed_command


@pytest.mark.parametrize(
    ("program", "found", "said"),
    [
        (".venv/bin/semimetric", None, ".venv/bin/semimetric"),
        ("my env/bin/semimetric", "/usr/bin/semimetric", "'my env/bin/semimetric'"),
        ("/usr/bin/semimetric", "/usr/bin/semimetric", "semimetric"),
        ("lib/semimetric/__main__.py", None, "python -m semimetric"),
        ("bin/pytest", None, "semimetric"),
    ],
)
def test_commands_are_said_as_they_can_be_typed(program, found, said, monkeypatch):
    monkeypatch.setattr(demo, "which", lambda name: found)
    monkeypatch.setattr("sys.argv", [program])
    assert typed_command() == said


@pytest.mark.slow
def test_demo_runs_small_and_says_commands_that_work(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ot")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    fast = partial(semimetric.DistanceRegressor, alpha=0.1)  # to choose it takes a while
    monkeypatch.setattr(demo, "DistanceRegressor", fast)
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
    monkeypatch.setattr(demo, "run", lambda sizes, **options: pytest.fail("ran before the folder was checked"))
    code, out, err = call(capsys, "demo", "--json", "--output", tmp_path / "none" / "x")
    assert (code, out) == (1, "")
    assert "there is no folder" in err
