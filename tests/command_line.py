"""What tests of the command line share: calling it, and reading what it prints."""

import json

from semimetric.cli import main


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
