"""What is shipped: the check of distributions finds what is lacking and what is foreign; workflows call targets that exist."""

import io
import re
import runpy
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import semimetric

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "check_distributions.py"))
FILES = TOOL["package_files"]()


def shipped(folder, lacking=(), more=()):
    """A wheel and a source distribution of empty files, without some and with others more."""
    names = [*FILES, *more]
    with zipfile.ZipFile(folder / "p-1-py3-none-any.whl", "w") as wheel:
        for name in [*names, "p-1.dist-info/licenses/LICENSE"]:
            if name not in lacking:
                wheel.writestr(name, "")
    with tarfile.open(folder / "p-1.tar.gz", "w:gz") as source:
        for name in [*names, *TOOL["ONLY_SOURCE"], "LICENSE"]:
            if name not in lacking:
                source.addfile(tarfile.TarInfo(f"p-1/{name}"), io.BytesIO())
    return TOOL["check"](folder)


def test_whole_distributions_are_right(tmp_path):
    assert {"semimetric/py.typed", "semimetric/__main__.py", "semimetric/reports/page/report.html"} <= set(FILES)
    assert not [name for name in FILES if name.endswith(".pyc")]
    assert shipped(tmp_path) == []


@pytest.mark.parametrize("name", ["semimetric/py.typed", "semimetric/reports/page/votes.js", "semimetric/cli/parser.py"])
def test_what_is_lacking_is_told_of_both(name, tmp_path):
    assert [f"{file} lacks {name}" for file in ("p-1-py3-none-any.whl", "p-1.tar.gz")] == shipped(tmp_path, lacking=[name])


@pytest.mark.parametrize("name", ["tests/cases.py", "benchmarks/search.py", "semimetric/x.pyc", "semimetric/digits.npz"])
def test_what_is_foreign_is_told_of_both(name, tmp_path):
    assert [f"{file} holds {name}" for file in ("p-1-py3-none-any.whl", "p-1.tar.gz")] == shipped(tmp_path, more=[name])


def test_licences_and_documents_are_required(tmp_path):
    wrong = shipped(tmp_path, lacking=["p-1.dist-info/licenses/LICENSE", "CITATION.cff", "LICENSE"])
    assert wrong == ["p-1-py3-none-any.whl lacks its licence", "p-1.tar.gz lacks CITATION.cff", "p-1.tar.gz lacks LICENSE"]
    (tmp_path / "p-1.tar.gz").unlink()
    assert "1 wheels and 0 source distributions" in TOOL["check"](tmp_path)[0]


def test_workflows_call_targets_of_the_makefile():
    targets = set(re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets = {name for line in targets for name in line.split()}
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = workflow.read_text()
        called = set(re.findall(r"run: make ([\w-]+)$", text, re.MULTILINE))
        called |= {f"test-{name.strip()}" for name in re.search(r"set: \[(.*)\]", text)[1].split(",")}
        assert called <= targets
        assert {"lint", "test", "test-oldest", "test-newest", "test-random", "dist", "docs", "test-site"} <= called
        assert not re.findall(r"run: (?!make )", text)


def test_the_citation_has_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == semimetric.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
