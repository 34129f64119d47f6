"""Commands and options: help with examples that parse, and wrong usage."""

import inspect
import shlex
import shutil
import subprocess
import sys
from importlib import import_module

import pytest

from semimetric import NeighborIndex
from semimetric.cli import main
from semimetric.cli.parser import make_parser

COMMANDS = {
    "demo": "demo", "fit": "fit", "distance": "search_commands", "index": "search_commands",
    "query": "search_commands", "join": "search_commands", "neighbors": "search_commands", "info": "model_commands",
    "plot": "model_commands", "export": "export_commands", "warmup": "warmup_command",
}  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [[], ["learn"], ["fit", "a.csv", "b.csv"], ["fit", "a.csv", "b.csv", "--output", "m", "--held-out", "1"],
     ["fit", "a.csv", "b.csv", "--output", "m", "--n-knots", "some"], ["demo", "--queries", "0"],
     ["plot", "m.smm", "--output", "p.png"], ["plot", "m.smm", "--output", "p.png", "--term", "a", "--around", "0"]],
)  # fmt: skip
def test_wrong_usage_is_one_line_with_a_hint_and_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as leave:
        main(arguments)
    assert leave.value.code == 2
    known = arguments and arguments[0] in COMMANDS
    command = f"semimetric {arguments[0]}" if known else "semimetric"
    err = capsys.readouterr().err
    assert err.startswith(f"{command}: ")
    assert err.endswith(f"; see {command} --help\n")
    assert err.count("\n") == 1


def test_an_option_that_a_command_has_not_is_told_by_the_command(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "a.csv", "b.csv", "--tabels", "full"])
    assert capsys.readouterr().err == (
        "semimetric fit: unrecognized arguments: --tabels full (did you mean --tables?); see semimetric fit --help\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as leave:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert leave.value.code == 0
    for line in out.split("example:\n")[1].strip().splitlines():
        example = shlex.split(line)
        assert example[:2] == ["semimetric", command]
        assert make_parser().parse_args(example[1:]).command == f"{COMMANDS[command]}.run_{command}"
    assert "--json" in out


def test_learning_from_classes_is_another_command():
    given = make_parser().parse_args(["fit", "table.csv", "--label", "species"])
    assert given.command == "fit.run_fit"
    given.check(given)
    assert given.command == "fit.run_fit_labels"
    assert callable(import_module("semimetric.cli.fit").run_fit_labels)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_runs_a_command_is_there(command):
    assert callable(getattr(import_module(f"semimetric.cli.{COMMANDS[command]}"), f"run_{command}"))


def test_options_that_were_given_are_known_from_defaults():
    given = make_parser().parse_args(["fit", "i.csv", "p.csv", "--output", "m.smm", "--tables", "full", "--relative"])
    assert given.given == {"tables": "--tables", "relative": "--relative"}
    assert (given.relative, given.n_knots, given.alpha) == (True, "auto", "auto")
    assert make_parser().parse_args(["fit", "i.csv", "p.csv", "--alpha", "0.5"]).alpha == 0.5
    assert make_parser().parse_args(["fit", "i.csv", "p.csv"]).given == {}


def test_both_searches_find_as_many_neighbours_unless_told():
    given = [make_parser().parse_args([command, "x", "q.csv"]).k for command in ("query", "neighbors")]
    defaults = inspect.signature(NeighborIndex.kneighbors).parameters
    assert given == [defaults["n_neighbors"].default] * 2


@pytest.mark.parametrize("share", ["1", "1.5", "-0.1", "nan"])
def test_the_share_that_is_held_out_leaves_some_items(share, capsys):
    with pytest.raises(SystemExit) as leave:
        make_parser().parse_args(["fit", "i.csv", "p.csv", f"--held-out={share}"])
    assert leave.value.code == 2
    assert f"--held-out: '{share}' must be a number of at least 0 and less than 1" in capsys.readouterr().err
    assert make_parser().parse_args(["fit", "i.csv", "p.csv", "--held-out=0"]).held_out == 0.0


def test_a_link_is_a_name_or_an_exponent(capsys):
    kinds = ("auto", "sqrt", "power", "concave", "0.7")
    given = [make_parser().parse_args(["fit", "i.csv", "p.csv", "--link", link]).link for link in kinds]
    assert given == ["auto", "sqrt", "power", "concave", 0.7]
    with pytest.raises(SystemExit):
        make_parser().parse_args(["fit", "--help"])
    told = capsys.readouterr().out
    assert all(f"{kind}:" in told for kind in kinds[:4])
    assert make_parser().parse_args(["fit", "i.csv", "p.csv"]).link == "auto"
    for wrong in ("log", "0", "nan"):
        with pytest.raises(SystemExit):
            make_parser().parse_args(["fit", "i.csv", "p.csv", "--link", wrong])
        message = f"'{wrong}' must be auto, identity, sqrt, power, concave, or an exponent from 0.1 to 10"
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_shells_complete_commands_and_options(shell, capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as leave:
        main(["--print-completion", shell])
    out = capsys.readouterr().out
    assert leave.value.code in (None, 0)
    for word in (*COMMANDS, "--nearest", "--held-out"):
        assert word.lstrip("-") in out


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_bash_completes_what_was_begun(tmp_path, capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit):
        main(["--print-completion", "bash"])
    (tmp_path / "completion.sh").write_text(capsys.readouterr().out)
    (tmp_path / "distance.smm").touch()

    def completed(*words):
        before = words[-2] if len(words) > 2 else "semimetric"
        asks = f"source completion.sh; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        asks += f"; _shtab_semimetric semimetric '{words[-1]}' {before}; echo ${{COMPREPLY[@]}}"
        return subprocess.run(["bash", "-c", asks], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()

    assert completed("semimetric", "ex") == ["export"]
    assert completed("semimetric", "info", "dist") == ["distance.smm"]
    assert completed("semimetric", "export", "--to", "sq") == ["sqlite"]


def test_completion_without_its_package_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 1
    assert 'pip install ".[cli]"' in capsys.readouterr().err
