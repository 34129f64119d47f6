"""The pages for users of other packages: their tables have every public name of the peer, and only names that exist, ours too.

Whether a table is complete is asked of the release that its page names; what it names must exist in that and in later ones.
"""

import fnmatch
import importlib
import inspect
import re
from importlib.metadata import version
from pathlib import Path

import pytest

import semimetric

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(page):
    """The first two cells of every row of the tables of a page, as lists of what stands in backticks."""
    lines = re.findall(r"^\| (`.*?) \| (.*?) \| .* \|$", (DOCS / f"{page}.md").read_text(), re.MULTILINE)
    return [(re.findall(r"`([^`]+)`", theirs), re.findall(r"`([^`]+)`", ours)) for theirs, ours in lines]


def of_sklearn():
    return importlib.import_module("sklearn.neighbors").__all__


def of_faiss():
    faiss = importlib.import_module("faiss")
    return [
        name
        for name, each in vars(faiss).items()
        if inspect.isclass(each) and issubclass(each, (faiss.Index, faiss.IndexBinary))
    ]


def of_pot():
    ot = importlib.import_module("ot")
    return [name for name in ot.__all__ if hasattr(ot, name)]  # it lists one that is not there


def of_umap():
    return ["UMAP", "AlignedUMAP", "ParametricUMAP"]


def of_interpret():
    glassbox = importlib.import_module("interpret.glassbox")
    return [name for name, each in vars(glassbox).items() if inspect.isclass(each) or inspect.isfunction(each)]


# page: the module, its distribution, the release that the page says, and its public names
PEERS = {
    "coming_from_scikit_learn": ("sklearn.neighbors", "scikit-learn", "1.9", of_sklearn),
    "coming_from_faiss": ("faiss", "faiss-cpu", "1.15", of_faiss),
    "coming_from_pot": ("ot", "POT", "0.9.7", of_pot),
    "coming_from_umap": ("umap", "umap-learn", None, of_umap),
    "coming_from_interpretml": ("interpret.glassbox", "interpret-core", "0.7", of_interpret),
}
every_peer = pytest.mark.parametrize("page", PEERS)


def installed(page):
    """The module of the peer, which is installed, and its release as a tuple of numbers."""
    module, distribution, _, _ = PEERS[page]
    pytest.importorskip(module.partition(".")[0], reason=f"{distribution} is not installed")
    return importlib.import_module(module), tuple(map(int, re.findall(r"\d+", version(distribution))[:3]))


@every_peer
def test_our_names_exist(page):
    assert rows(page)
    for _, ours in rows(page):
        for name in ours:
            assert name.partition("(")[0] in semimetric.__all__


@every_peer
def test_a_row_without_our_name_says_none(page):
    lines = re.findall(r"^\| `.*? \| (.*?) \| (.*) \|$", (DOCS / f"{page}.md").read_text(), re.MULTILINE)
    for ours, why in lines:
        assert ours == "none" or ours.startswith("`")
        assert why.strip()


@every_peer
@pytest.mark.filterwarnings("ignore")  # of the peer about itself
def test_a_page_has_every_public_name_of_the_release_that_it_names(page):
    _, distribution, release, names = PEERS[page]
    _, found = installed(page)
    if release is not None:
        assert f"{distribution} {release}" in (DOCS / f"{page}.md").read_text()
        wanted = tuple(map(int, release.split(".")))
        if found[: len(wanted)] != wanted:
            pytest.skip(f"the page is of {distribution} {release}")
    patterns = [name.partition("(")[0] for theirs, _ in rows(page) for name in theirs]
    missing = [name for name in names() if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    assert not missing


@every_peer
@pytest.mark.filterwarnings("ignore")
def test_what_a_page_names_exists(page):
    _, distribution, release, _ = PEERS[page]
    module, found = installed(page)
    if release is not None and found < tuple(map(int, release.split("."))):
        pytest.skip(f"the page is of {distribution} {release}")
    for name in (name for theirs, _ in rows(page) for name in theirs):
        called, _, parameter = name.partition("(")
        if parameter:
            assert parameter.strip("=)") in inspect.signature(getattr(module, called)).parameters
        elif "*" in called:
            assert fnmatch.filter(dir(module), called)
        else:
            each = module
            for part in called.split("."):
                each = getattr(each, part)
