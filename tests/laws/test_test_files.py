"""Every test file can be imported: one whose imports fail may be left out of a run without a word.

With `--doctest-modules` and `--import-mode=importlib` pytest imports a file twice. The first import is forgiven its errors, and
the second finds the unfinished module of the first, which has no tests.
"""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}


def imports(path):
    """(module, names) of every import at the top of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def is_there(module, name):
    """Whether ``from module import name`` finds something."""
    return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("file", FILES)
def test_imports_only_what_there_is(file):
    for module, names in imports(FILES[file]):
        assert find_spec(module.split(".")[0]), f"{file} imports {module}, which is not there"
        missing = [name for name in names if module.startswith("semimetric") and not is_there(module, name)]
        assert not missing, f"{file} imports {missing} from {module}, which has no such names"
