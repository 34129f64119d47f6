"""Commands and options: help with examples that parse, and wrong usage."""

import shlex

import pytest

from semimetric.cli import demo_command, label_commands, main, model_commands, pair_commands, search_commands
from semimetric.cli.parser import make_parser

COMMANDS = {
    "demo": demo_command, "fit": pair_commands, "distance": pair_commands, "index": search_commands,
    "query": search_commands, "neighbors": label_commands, "info": model_commands, "plot": model_commands,
}  # fmt: skip


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
        assert make_parser().parse_args(example[1:]).command is getattr(COMMANDS[command], f"run_{command}")
    assert "--json" in out


def test_learning_from_classes_is_another_command():
    given = make_parser().parse_args(["fit", "table.csv", "--label", "species"])
    assert given.command is pair_commands.run_fit
    given.check(given)
    assert given.command is label_commands.run_fit_labels


def test_options_that_were_given_are_known_from_defaults():
    given = make_parser().parse_args(["fit", "i.csv", "p.csv", "--output", "m.smm", "--tables", "full", "--relative"])
    assert given.given == {"tables": "--tables", "relative": "--relative"}
    assert (given.relative, given.n_knots, given.alpha) == (True, "auto", "auto")
    assert make_parser().parse_args(["fit", "i.csv", "p.csv", "--alpha", "0.5"]).alpha == 0.5
    assert make_parser().parse_args(["fit", "i.csv", "p.csv"]).given == {}


@pytest.mark.parametrize("share", ["1", "1.5", "-0.1", "nan"])
def test_the_share_that_is_held_out_leaves_some_items(share, capsys):
    with pytest.raises(SystemExit) as leave:
        make_parser().parse_args(["fit", "i.csv", "p.csv", f"--held-out={share}"])
    assert leave.value.code == 2
    assert f"--held-out: '{share}' must be a number of at least 0 and less than 1" in capsys.readouterr().err
    assert make_parser().parse_args(["fit", "i.csv", "p.csv", "--held-out=0"]).held_out == 0.0
