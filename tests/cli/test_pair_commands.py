"""The commands behind the command line, without argument parsing; `test_cli.py` runs them through it."""

from argparse import Namespace

import numpy as np
import pytest

from semimetric import DistanceRegressor, InputError, NotSupportedError, StorageError
from semimetric.cli import pair_commands
from semimetric.cli.pair_commands import CommandResult, called, run_distance, run_info


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
    monkeypatch.setattr(pair_commands, "which", lambda name: found)
    monkeypatch.setattr("sys.argv", [program])
    assert called() == said


@pytest.fixture
def model(tmp_path, rng):
    pairs = rng.random((200, 2, 2))
    fitted = DistanceRegressor(n_knots=3, alpha=1e-4).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    fitted.semimetric_.save(tmp_path / "model.smm")
    return fitted


def test_info_says_what_the_model_says(model, tmp_path):
    answer = run_info(Namespace(model=str(tmp_path / "model.smm"), json=True))
    assert isinstance(answer, CommandResult)
    assert answer.values["n_features"] == 2
    assert "semimetric" in answer.text


def test_info_of_a_foreign_file_is_an_error(tmp_path):
    (tmp_path / "other.smm").write_text("a,b")
    with pytest.raises(StorageError, match="no semimetric file"):
        run_info(Namespace(model=str(tmp_path / "other.smm"), json=False))


def test_distance_needs_the_features_of_the_model(model, tmp_path):
    (tmp_path / "items.csv").write_text("a\n1.0\n2.0\n")
    given = Namespace(
        model=str(tmp_path / "model.smm"), items=str(tmp_path / "items.csv"), other=None, pairs=None, id=None,
        output=None, json=False, n_jobs=None, left="left", right="right",
    )  # fmt: skip
    with pytest.raises(InputError):
        run_distance(given)


def test_categories_are_for_python(tmp_path):
    rows = [[c, h] for c in ("red", "blue") for h in range(20)]
    pairs = np.random.default_rng(0).integers(0, 40, (200, 2))
    y = 1.0 + np.abs(pairs[:, 0] - pairs[:, 1])
    told = {"categorical_features": [0], "periodic": {1: 24}, "preprocessor": np.array(rows, dtype=object)}
    fitted = DistanceRegressor(n_knots=3, alpha=1e-4, **told).fit(pairs, y)
    fitted.semimetric_.save(tmp_path / "model.smm")
    answer = run_info(Namespace(model=str(tmp_path / "model.smm"), json=True))
    assert answer.values["categories"] == {"x0": ["blue", "red"]}
    assert list(answer.values["ranges"]) == ["x1"]
    assert "2 categories: blue, red" in answer.text
    with pytest.raises(NotSupportedError, match="categorical feature 'x0'.*use it in Python"):
        pair_commands.load_model(str(tmp_path / "model.smm"))
