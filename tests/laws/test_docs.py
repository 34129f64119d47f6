"""The code of every page runs as it stands, every command that they show exists, and the README stays one screen."""

import ast
import importlib
import importlib.util
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import semimetric
from semimetric._foundation.names import NAMES_ELSEWHERE
from semimetric.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = {"README": README} | {path.stem: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
ALL = "\n".join(PAGES.values())


def code_of(page, *packages):
    """The blocks of Python of a page, one after the other: a later one may use the names of an earlier one.

    Blocks below a comment such as ``<!-- needs: umap -->`` are among them if the package is one of those given.
    """
    blocks = re.findall(r"(?:<!-- needs: (\w+) -->\n)?```python\n(.*?)```", page, re.DOTALL)
    return "\n".join(code for needed, code in blocks if not needed or needed in packages)


def run(code, folder):
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


def warnings_as_errors():
    """Code that makes warnings errors, but for those of dependencies about one another that `pyproject.toml` names."""
    lines = ["import warnings", "warnings.simplefilter('error')"]
    for entry in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["filterwarnings"][1:]:
        action, message, category, module = (entry.split(":") + ["", ""])[:4]
        lines.append(f"warnings.filterwarnings({action!r}, {message!r}, {category}, {module!r})")
    return "\n".join(lines) + "\n"


RUNS = [name for name, text in PAGES.items() if code_of(text) and name != "README"]
LONG = {name for name in RUNS if name.startswith("coming_from_")} | set(
    """choose drawing effort files in-your-database index larger-than-one-machine learning memory neighbors questions reasons
    reports reports_elsewhere start vectors""".split()
)
"""Pages that run among the slow tests: seconds each."""


def test_pages_that_take_long_are_there():
    assert set(RUNS) > LONG


@pytest.mark.parametrize("page", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in RUNS])
def test_python_of_every_page_runs(page, tmp_path):
    done = run(warnings_as_errors() + code_of(PAGES[page]), tmp_path)
    assert done.returncode == 0, done.stderr


AFTER_THE_README = """
parts = d.contributions([23.5, 10.0], [6.0, 14.0]).tolist()
print('NEAR', d([23.5, 10.0], [0.5, 10.0]), 1.0, d([23.5, 10.0], [6.0, 14.0]), *parts[:2])
"""


@pytest.fixture(scope="module")
def readme(tmp_path_factory):
    """What the README's code prints, and after it the numbers that its comments promise."""
    folder = tmp_path_factory.mktemp("readme")
    done = run(warnings_as_errors() + code_of(README) + AFTER_THE_README, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "package"),
    [(name, package) for name, text in PAGES.items() for package in sorted(set(re.findall("needs: (\\w+)", text)))],
)
def test_python_that_needs_another_package_runs_where_it_is_installed(page, package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    done = run("import warnings\n" + code_of(PAGES[page], package), tmp_path)  # whose own warnings are its own matter
    assert done.returncode == 0, done.stderr


def test_the_pages_with_code_are_those_that_the_readme_was_divided_into():
    assert {"README", "learning", "reasons", "neighbors", "vectors", "reports"} <= {
        n for n, text in PAGES.items() if code_of(text)
    }


def test_what_the_comments_of_the_readme_promise_is_printed(readme):
    promised = re.findall(r"^print\(.*\)  # (\d\.\d.*)$", code_of(README), re.MULTILINE)
    assert len(promised) == 2
    numbers = re.findall(r"(\d+\.\d+)\b(?!:\d)", " ".join(promised))
    printed, _, true = readme.partition("NEAR")
    assert list(map(float, numbers)) == pytest.approx(list(map(float, true.split())), abs=0.06)
    assert "the item from its neighbours" in printed


def test_names_that_are_answered_by_ours_are_on_the_page_of_their_package():
    pages = "\n".join(text for name, text in PAGES.items() if name.startswith("coming_from_"))
    for name, here in NAMES_ELSEWHERE.items():
        assert hasattr(semimetric, here.partition("(")[0])
        assert f"`{name}`" in pages or name.endswith("_Supervised") or name in OF_PATTERNS or name in OF_NO_PAGE


OF_PATTERNS = {
    "IndexIVFFlat",
    "IndexIVFPQ",
    "IndexPQ",
    "IndexRefine",
    "IndexRefineFlat",
}  # `IndexIVF*`, which test_peers.py reads
OF_NO_PAGE = {"NNDescent", "KMedoids", "SplineTransformer", "PolynomialFeatures"}


def test_midnight_is_near_as_the_readme_says(readme):
    assert float(readme.split("NEAR")[1].split()[0]) < 4.0, readme


def test_the_readme_is_one_screen_and_every_page_has_a_place_on_the_site():
    assert len(README.splitlines()) <= 120
    linked = set(re.findall(r"\]\(docs/([\w-]+)\.md", README))
    trees = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", ALL, re.DOTALL))
    listed = set(re.findall(r"^(?:.* <)?([\w-]+)>?$", trees, re.MULTILINE))
    assert linked <= set(PAGES)
    assert listed >= set(PAGES) - {"README", "index"}
    assert "make demo" in README
    assert "make test" in README


def test_every_example_is_on_its_page_with_its_question():
    rows = dict(re.findall(r"^\| (.*\?) \| \[`(?:.*)`\]\(\.\./examples/(.*)\) \|", PAGES["examples"], re.MULTILINE))
    texts = {path.name: path.read_text() for path in (ROOT / "examples").glob("plot_*.py")}
    questions = {name: ast.get_docstring(ast.parse(text)).splitlines()[0] for name, text in texts.items()}
    assert {name: question for question, name in rows.items()} == questions


def tool(name):
    return runpy.run_path(str(ROOT / "tools" / f"{name}.py"))


@pytest.mark.slow
def test_the_figure_is_drawn_from_the_code_of_the_readme(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    tool("draw_figures")["draw"](tmp_path)
    kept = ROOT / "docs" / "figures" / "clock.png"
    assert kept.name in README
    assert kept.name in PAGES["index"]
    now, then = (pyplot.imread(path)[..., :3] for path in (tmp_path / "clock.png", kept))
    assert now.shape == then.shape
    assert abs(now - then).mean() < 0.05, "draw it anew: make figures"


def test_figures_of_the_pages_are_there_and_small():
    drawn = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "figures").rglob("*.png")}
    assert set(re.findall(r"\bfigures/[\w/.]+\.png", ALL)) == drawn
    assert max((ROOT / "docs" / name).stat().st_size for name in drawn) < 100_000


@pytest.mark.slow
def test_questions_print_and_draw_what_their_page_shows(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    page = ROOT / "docs" / "questions.md"
    blocks = list(tool("draw_figures")["run_page"](page, tmp_path))
    assert [block.figure for block in blocks if block.figure] == re.findall(r"figures/(\w+\.png)", page.read_text())
    assert sum(bool(block.figure) for block in blocks) == page.read_text().count("?\n") == 7
    for block in blocks:
        told, shown = (re.split(r"[\s:,;]+", text.strip()) for text in (block.printed, block.shown))
        assert [re.sub(r"[\d.]+", "", word) for word in told] == [re.sub(r"[\d.]+", "", word) for word in shown], block.code
        numbers = [[float(n) for word in words for n in re.findall(r"\d+(?:\.\d+)?", word)] for words in (told, shown)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.1, abs=0.02), block.code
    for drawn in tmp_path.iterdir():
        kept = ROOT / "docs" / "figures" / drawn.name
        assert kept.stat().st_size < 60_000
        now, then = (pyplot.imread(path)[..., :3] for path in (drawn, kept))
        rows, columns = (min(sizes) for sizes in zip(now.shape[:2], then.shape[:2], strict=True))
        assert now.shape[:2] == pytest.approx(then.shape[:2], abs=8)
        assert abs(now[:rows, :columns] - then[:rows, :columns]).mean() < 0.05, "draw it anew: make figures"


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^(?: {4})?semimetric (\w+)", ALL, re.MULTILINE))))
def test_commands_of_the_pages_exist(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"(?:`|    |```\n|)(?<!\w )make ([a-z][\w-]*)(?=`| {2}|$)", ALL, re.MULTILINE)))
)
def test_make_targets_of_the_pages_exist(target):
    assert re.search(rf"^[\w -]*\b{target}\b[\w -]*:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("script", sorted(set(re.findall(r"python ((?:benchmarks|examples|tools)/\w+\.py)", ALL))))
def test_scripts_of_the_pages_exist(script):
    assert (ROOT / script).exists()


def test_what_parameters_take_is_imported_from_the_root_and_cvxpy_is_not():
    parts = "Absolute Huber Squared Lasso Ridge Roughness Shift Gram InteriorPoint FirstOrder Reference PairEmbedding"
    assert set(parts.split()) < set(semimetric.__all__)
    code = "import sys, semimetric; sys.exit('cvxpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", semimetric.__all__)
def test_public_names_exist_and_are_documented(name):
    assert getattr(semimetric, name).__doc__


def test_contributing_shows_the_source_as_it_is():
    script = ROOT / "tools" / "include_sources.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (ROOT / "CONTRIBUTING.md").read_text().count("<!-- source: ") >= 5


PUBLIC = {  # paths that are documented, and the names that they have
    "datasets": (
        "DigitHistograms DistancePairs KNOWN_DISTANCES TripletAnswers exact_emd load_digit_histograms "
        "make_distance_pairs make_horseshoe make_items make_s_shape make_triplet_answers perceived "
    ),
    "distances": "Loss Penalty Repair Solution Solver Status choose",
    "out_of_core": "build_index connect fit kneighbors kneighbors_graph pairwise radius_neighbors rebalance transform",
    "persistence": ("load "),
    "cli": ("main "),
    "plotting": (
        "plot_anchor_distances plot_around plot_basis plot_boundary_points plot_choices plot_contributions "
        "plot_counterfactual plot_curve plot_explanation plot_history plot_importances plot_kernel "
        "plot_level_sets plot_n_components plot_neighbors plot_pieces plot_predicted "
        "plot_prediction_counterfactual plot_prediction_explanation plot_refitted_columns plot_shapes "
        "plot_surface plot_table plot_tables plot_tuning "
    ),
    "vectors": "Separation Shapes conic_kernel curve min_kernel separates spline_kernel surface",
}


@pytest.mark.parametrize("module", PUBLIC)
def test_names_of_documented_paths_stay(module):
    found = importlib.import_module(f"semimetric.{module}")
    assert {*PUBLIC[module].split()} <= {*found.__all__}
