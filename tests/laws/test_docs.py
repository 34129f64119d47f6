"""The code of every page runs as it stands and prints what is shown, commands exist, and the README stays one screen."""

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
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {"README": README} | {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
ALL = "\n".join(PAGES.values())


def tool(name):
    return runpy.run_path(str(ROOT / "tools" / f"{name}.py"))


BLOCKS_OF, PRINTED_BY, DIFFERENCE, REFRESHED = map(
    tool("run_pages").get, ("blocks_of", "printed_by", "difference", "refreshed")
)


def code_of(page):
    """The blocks of Python of a page that need no other package, one after the other."""
    return "\n".join(block.code for block in BLOCKS_OF(page))


def warnings_as_errors():
    """Code that makes warnings errors, but for those of dependencies about one another that `pyproject.toml` names."""
    lines = ["import warnings", "warnings.simplefilter('error')"]
    for entry in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["filterwarnings"][1:]:
        action, message, category, module = (entry.split(":") + ["", ""])[:4]
        lines.append(f"warnings.filterwarnings({action!r}, {message!r}, {category}, {module!r})")
    return "\n".join(lines) + "\n"


RUNS = [name for name, text in PAGES.items() if code_of(text) and name != "index"]  # The code of the index is the README's.
LONG = {name for name in RUNS if name.startswith("coming_from_")} | set(
    """choose drawing effort files in-your-database larger-than-one-machine learning memory neighbors questions reasons
    reports reports_elsewhere start vectors""".split()
)
"""Pages that run among the slow tests: seconds each."""


def test_pages_that_take_long_are_there():
    assert set(RUNS) > LONG


def wrong_of(page, packages, folder, before):
    """Run a page, and return what it shows of outputs and figures and does not print or draw."""
    blocks = BLOCKS_OF(PAGES[page], packages)
    printed = PRINTED_BY(blocks, folder, before)
    outputs = filter(None, (DIFFERENCE(block.shown, each) for block, each in zip(blocks, printed, strict=True)))
    figures = [block.figure for block in blocks if block.figure]
    return [*outputs, *(name for name in figures if not same_picture(folder / name, ROOT / "docs" / "figures" / name))]


def same_picture(drawn, kept, slack=8):
    """Two pictures on white differ by less than a third of what is drawn on the kept one, and in size by some pixels."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    now, then = (pyplot.imread(path)[..., :3] for path in (drawn, kept))
    rows, columns = (min(sizes) for sizes in zip(now.shape[:2], then.shape[:2], strict=True))
    if max(abs(a - b) for a, b in zip(now.shape, then.shape, strict=True)) > slack:
        return False
    now, then = now[:rows, :columns], then[:rows, :columns]
    return abs(now - then).mean() < min(abs(1.0 - then).mean() / 3, 0.05)


def test_a_picture_on_its_head_and_an_empty_one_are_others(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    kept = ROOT / "docs" / "figures" / "sure.png"
    picture = pyplot.imread(kept)
    for name, other in (("turned", picture[::-1]), ("empty", picture * 0 + 1), ("small", picture[::2])):
        pyplot.imsave(tmp_path / f"{name}.png", other.copy())
        assert not same_picture(tmp_path / f"{name}.png", kept)
    assert same_picture(kept, kept)


@pytest.mark.parametrize("page", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in RUNS])
def test_every_page_runs_and_prints_what_it_shows(page, tmp_path):
    assert not wrong_of(page, (), tmp_path, warnings_as_errors()), f"run tools/run_pages.py on {page}.md, or mend the code"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "package"),
    [(name, package) for name, text in PAGES.items() for package in sorted(set(re.findall("needs: (\\w+)", text)))],
)
def test_pages_run_and_print_what_they_show_where_another_package_is_installed(page, package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert not wrong_of(page, {package}, tmp_path, "")  # whose own warnings are its own matter


def test_the_pages_with_code_are_those_that_the_readme_was_divided_into():
    assert {"README", "learning", "reasons", "neighbors", "vectors", "reports"} <= {
        n for n, text in PAGES.items() if code_of(text)
    }


def test_the_first_page_of_the_site_has_the_code_and_the_output_of_the_readme():
    assert BLOCKS_OF(PAGES["index"])
    assert [(b.code, b.shown) for b in BLOCKS_OF(PAGES["index"])] == [(b.code, b.shown) for b in BLOCKS_OF(README)]


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


def test_the_readme_is_one_screen_and_every_page_has_a_place_on_the_site():
    assert len(README.splitlines()) <= 130
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


@pytest.mark.slow
def test_the_figure_is_drawn_from_the_code_of_the_readme(tmp_path):
    pytest.importorskip("matplotlib")
    tool("draw_figures")["draw"](tmp_path)
    assert "clock.png" in README
    assert "clock.png" in PAGES["index"]
    kept = ROOT / "docs" / "figures" / "clock.png"
    assert same_picture(tmp_path / "clock.png", kept, slack=0), "draw it anew: make figures"


def test_figures_of_the_pages_are_there_and_small():
    drawn = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "figures").rglob("*.png")}
    assert set(re.findall(r"\bfigures/[\w/.]+\.png", ALL)) == drawn
    assert max((ROOT / "docs" / name).stat().st_size for name in drawn) < 100_000


def test_every_question_has_a_figure_that_its_block_draws():
    page = PAGES["questions"]
    drawn = [block.figure for block in BLOCKS_OF(page) if block.figure]
    assert drawn == re.findall(r"figures/(\w+\.png)", page)
    assert len(drawn) == page.count("?\n") == 7
    assert max((ROOT / "docs" / "figures" / name).stat().st_size for name in drawn) < 60_000


SHOWN = "What separates row 1\nrow 36 at 0.6375, 63 %\n  age  1,050\ntogether [0.  1.25] in 1.20 s\n"


@pytest.mark.parametrize(
    "printed",
    [
        SHOWN,
        SHOWN.replace("  age  ", "  age    "),
        SHOWN.replace("0.6375", "0.6380"),
        SHOWN.replace("63 %", "64 %"),
        SHOWN.replace("1.25", "1.24"),
        SHOWN.replace("1.20 s", "9 s"),
    ],
)
def test_an_output_agrees_up_to_spaces_last_digits_and_times(printed):
    assert not DIFFERENCE(SHOWN, printed)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("separates", "parts"),
        ("0.6375", "0.6520"),
        ("63 %", "66 %"),
        ("63 %", "63"),
        ("row 36", "row 37"),
        ("1,050", "1,051"),
        ("1.25", "-1.25"),
        ("1.25", "nan"),
        ("1.20 s", "soon"),
        ("1.20 s", "1.20 ms"),
        ("\n  age", " age"),
        ("together", ""),
        (" s\n", " s\nmore\n"),
        (SHOWN, ""),
    ],
)
def test_a_wrong_word_or_number_of_an_output_is_found(right, wrong):
    printed = SHOWN.replace(right, wrong)
    assert printed != SHOWN
    assert DIFFERENCE(SHOWN, printed)
    assert DIFFERENCE(printed, SHOWN)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("found row 36.", "found row 37."), ("of 5,000.", "of 5,100."), ("[0. 1.]", "[1. 0.]"), ("36", "36.7"), ("0", "0.1"),
        ("100 %", "99.5 %"), ("0 %", "1 %"), ("1 %", "2 %"), ("1e3", "2e3"), ("1e-05", "0"), ("1990s", "1991s"),
    ],
)  # fmt: skip
def test_counts_and_single_digits_are_compared_exactly(shown, printed):
    assert DIFFERENCE(shown, printed)
    assert not DIFFERENCE(shown, shown)


@pytest.mark.parametrize(
    ("shown", "agrees"),
    [
        ("...", True),
        ("1 a\n...", True),
        ("...\n4 d", True),
        ("1 a\n...\n3 c\n...", True),
        ("1 a\n2 b ...", True),
        ("1 a\n...\n4 e", False),
        ("2 b\n...", False),
        ("...\n3 c\n...\n2 b\n...", False),
        ("1 a\n2 b\n3 c\n4 d ... 4 d", False),
    ],
)
def test_three_dots_stand_for_what_is_left_out(shown, agrees):
    assert bool(DIFFERENCE(shown, "1 a\n2 b\n3 c\n4 d\n")) != agrees


def test_a_page_is_refreshed_where_it_is_wrong_and_its_blocks_follow_one_another(tmp_path):
    page = "# Page\n\n```python\nx = 2.0\nprint(x)\n```\n\n```text\n3.0\n```\n\nMore:\n\n```python\nprint(x / 3)\n```\n\n"
    page += (
        "```text\n0.67\n```\n\n```python\nprint(x + 1)\n```\n\n```python\nx = 1\n```\n\nElsewhere:\n\n```text\nmake x\n```\n"
    )
    blocks = BLOCKS_OF(page)
    printed = PRINTED_BY(blocks, tmp_path)
    assert printed == ["2.0\n", f"{2 / 3}\n", "3.0\n", ""]
    after = REFRESHED(page, blocks, printed)
    assert after == page.replace("3.0", "2.0").replace("(x + 1)\n```\n", "(x + 1)\n```\n\n```text\n3.0\n```\n")
    assert REFRESHED(after, BLOCKS_OF(after), printed) == after
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        PRINTED_BY([block._replace(code="1 / 0") for block in blocks], tmp_path)


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
