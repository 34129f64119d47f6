"""Every example runs as it stands, without a screen, and draws one figure."""

import ast
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
QUICK = {
    "plot_nearest_join",
    "plot_read_a_learned_distance",
}  # the others run among the slow tests


@pytest.fixture
def plt(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


def test_the_four_examples_are_there():
    assert len(list(FOLDER.glob("plot_*.py"))) >= 4


def test_those_that_are_quick_are_there():
    assert {path.stem for path in EXAMPLES} >= QUICK


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem not in QUICK)) for path in EXAMPLES]
)
@pytest.mark.filterwarnings("ignore:features .* are constant", "ignore:.* lie outside the range of the fit")
def test_runs_and_draws_one_figure(path, plt, monkeypatch, tmp_path):
    for package in ("pandas", "ot"):
        if package in path.read_text():
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEMIMETRIC_DATA", raising=False)
    runpy.run_path(str(path), run_name="__main__")
    assert len(plt.get_fignums()) == 1
    figure = plt.figure(plt.get_fignums()[0])
    assert len(figure.axes) >= 2
    assert figure.get_suptitle().endswith("?") or "see differences" in figure.get_suptitle()
    figure.savefig(tmp_path / "figure.png", dpi=50)
    assert (tmp_path / "figure.png").stat().st_size > 5_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_is_short_and_its_title_is_a_question(path):
    text = path.read_text()
    title, line = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert len(text.splitlines()) <= 100


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_colours_that_people_judged(plt, real_data, monkeypatch, capsys):
    monkeypatch.setenv("SEMIMETRIC_DATA", str(real_data("combvd_colour.npz").parent))
    runpy.run_path(str(FOLDER / "plot_how_people_see_colours.py"))
    printed = capsys.readouterr().out
    assert "3813 pairs of colours, judged by people" in printed
    cielab, learned = (
        float(word.rstrip(",")) for word in printed.split() if word.rstrip(",").replace(".", "").isdigit() and "." in word
    )
    assert learned < 0.7 * cielab
