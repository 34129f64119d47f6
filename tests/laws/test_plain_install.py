"""Without extras the package imports, learns, searches and saves; what needs an extra says which."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

START = (Path(__file__).parents[2] / "docs" / "start.md").read_text()
FIRST_SNIPPETS = "".join(re.findall(r"```python\n(.*?)```", START, re.DOTALL)[:3])
WITHOUT = """
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent)
"""
IMPORT = """
import importlib, pkgutil, semimetric
for module in pkgutil.walk_packages(semimetric.__path__, "semimetric."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
SEARCH = """
sm.NeighborIndex(d).fit(X).save("clock")
nearest = sm.load("clock").kneighbors(X, 1)[1]
assert nearest.ravel().tolist() == list(range(len(X)))
"""
NEED = {
    "plots": "from semimetric.plotting import plot_predicted; plot_predicted([1.0], [1.0])",
    "clusters": "import semimetric as sm; sm.SemimetricClusterer(n_clusters=1).fit([[0.0], [1.0]])",
    "cli": "from semimetric.cli import main; sys.exit(main(['fit', 'items.csv', 'pairs.csv', '--output', 'm.smm']))",
    "demo": "from semimetric.datasets import exact_emd; exact_emd([1.0, 0.0], [0.0, 1.0], [[0.0], [1.0]])",
    "onnx": "import semimetric as sm; sm.Semimetric.l1([[0.0], [1.0]]).to_onnx('d.onnx')",
    "widget": "import semimetric as sm; sm.report(sm.Semimetric.l1([[0.0], [1.0]])).widget()",
    "distributed": "from semimetric.out_of_core import connect; connect()",
}


AFTER_EACH = "-- the next --"
EACH = f"""
import traceback
for code in {[*NEED.values()]}:
    try:
        exec(code)
        raise AssertionError("nothing was refused")
    except SystemExit as ended:
        assert ended.code, "nothing was refused"
    except ImportError:
        traceback.print_exc()
    print({AFTER_EACH!r}, file=sys.stderr)
"""


def absent_modules():
    """Every installed top-level module that an install of semimetric without extras would not bring."""
    brought, to_read = {"semimetric"}, ["semimetric"]
    while to_read:
        for requirement in map(Requirement, requires(to_read.pop()) or []):
            name = canonicalize_name(requirement.name)
            if name not in brought and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                brought.add(name)
                to_read.append(name)
    return {module for module, owners in packages_distributions().items() if brought.isdisjoint(map(canonicalize_name, owners))}


def run(code, folder):
    code = WITHOUT.format(absent=absent_modules()) + code
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


def test_the_packages_of_extras_are_absent():
    assert {"matplotlib", "pandas", "pyarrow", "dask", "distributed", "zarr", "ot", "polars"} <= absent_modules()
    assert absent_modules().isdisjoint(
        {"numpy", "scipy", "sklearn", "cvxpy", "numba", "faiss", "tqdm", "joblib", "threadpoolctl", "jinja2"}
    )


@pytest.mark.slow
@pytest.mark.parametrize("code", [IMPORT, FIRST_SNIPPETS + SEARCH], ids=["import", "fit, save, load and search"])
def test_works_without_extras(code, tmp_path):
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """What each code says that needs an extra, all of them run in one process."""
    folder = tmp_path_factory.mktemp("extras")
    for name in ("items.csv", "pairs.csv"):
        (folder / name).write_text("left,right,distance\n1,2,3\n")
    done = run(EACH, folder)
    assert done.returncode == 0, done.stderr
    return dict(zip(NEED, done.stderr.split(AFTER_EACH)[:-1], strict=True))


@pytest.mark.parametrize("extra", NEED)
def test_what_needs_an_extra_says_which(extra, refusals):
    assert "which is not installed; install it with: pip install" in refusals[extra]
    assert f'pip install ".[{extra}]"' in refusals[extra]
