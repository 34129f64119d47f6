"""What is asked for names or for help is answered at once: nothing large is imported for it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import semimetric
from semimetric._foundation.names import NAMES_ELSEWHERE, RENAMED

LARGE = {"cvxpy", "faiss", "joblib", "narwhals", "numba", "numpy", "pandas", "scipy", "sklearn", "tqdm"}
HELP = """
import sys
from semimetric.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
"""
ANSWERED_AT_ONCE = {
    "import": "import semimetric; dir(semimetric); hasattr(semimetric, 'LMNN'); semimetric.__version__",
    "help": HELP,
    "an error": "from semimetric import InputError",
}


def imported_by(code, *arguments):
    """The names of the top-level modules that a process has imported after some code."""
    report = "\nimport sys; print('MODULES', *{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code + report, *arguments], capture_output=True, text=True, check=True)
    return {*done.stdout.rpartition("MODULES")[2].split()}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (ANSWERED_AT_ONCE["import"], []),
        (ANSWERED_AT_ONCE["an error"], []),
        *((HELP, words.split()) for words in ("--help", "--version", "fit --help", "query --help", "demo --help")),
        *((HELP, words.split()) for words in ("fit", "fti", "fit a.csv --lable b", "fit a.csv", "query x q.csv -k 0")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nothing_large_is_imported(code, arguments):
    assert LARGE.isdisjoint(imported_by(code, *arguments))


@pytest.mark.slow
def test_a_class_imports_what_it_needs():
    assert {"numpy", "sklearn"} <= imported_by("import semimetric; semimetric.DistanceRegressor")


def names_for_type_checkers():
    """Return the names that the stub of the root imports for type checkers, by the module that they come from."""
    tree = ast.parse(Path(semimetric.__file__).with_name("__init__.pyi").read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found.setdefault(node.module, set()).update(alias.name for alias in node.names)
    return found


def test_type_checkers_and_the_running_package_find_the_same_names_in_the_same_modules():
    assert names_for_type_checkers() == {home: set(names.split()) for home, names in semimetric._HOMES.items()}
    assert semimetric.__all__ == sorted(" ".join(semimetric._HOMES.values()).split())


@pytest.mark.parametrize("name", RENAMED)
def test_an_earlier_name_says_the_new_one(name):
    with pytest.raises(AttributeError, match=f"did you mean {re.escape(RENAMED[name])}"):
        getattr(semimetric, name)


def test_completion_shows_public_names_only():
    shown = [name for name in dir(semimetric) if not name.startswith("__")]
    assert sorted(shown) == sorted([*semimetric.__all__, *semimetric._ROOMS])
    for room in semimetric._ROOMS:
        assert getattr(semimetric, room).__all__


def test_a_star_brings_every_public_name():
    found = {}
    exec("from semimetric import *", found)
    assert {*semimetric.__all__} <= {*found}


@pytest.mark.parametrize("name", NAMES_ELSEWHERE)
def test_a_name_of_another_package_is_answered_by_ours(name):
    ours = NAMES_ELSEWHERE[name]
    message = f"module 'semimetric' has no attribute '{name}': did you mean {ours}?"
    with pytest.raises(AttributeError, match=f"^{re.escape(message)}$"):
        getattr(semimetric, name)
    assert not hasattr(semimetric, name)
    assert name not in dir(semimetric)
    assert ours.partition("(")[0] in semimetric.__all__


@pytest.mark.slow
def test_a_condition_that_cannot_be_read_is_told_before_learners_and_searches_are_imported(tmp_path):
    (tmp_path / "q.csv").write_text("price,size\n1,2\n")
    (tmp_path / "items.index").mkdir()
    words = ["query", str(tmp_path / "items.index"), str(tmp_path / "q.csv"), "--where", "price <"]
    assert {"faiss", "numba", "cvxpy"}.isdisjoint(imported_by(HELP, *words))
