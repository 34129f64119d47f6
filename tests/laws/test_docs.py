"""The README's code runs as it stands, and every command that it shows exists."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import semimetric
from semimetric._foundation.names_elsewhere import NAMES_ELSEWHERE
from semimetric.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_python_of_the_readme_runs(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "semimetric" in done.stdout
    assert (tmp_path / "clock.smm").exists()


def test_lines_beside_those_of_metric_learn_run(tmp_path):
    page = (ROOT / "docs" / "coming_from_metric_learn.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, here in NAMES_ELSEWHERE.items():
        assert hasattr(semimetric, here.partition("(")[0])
        assert f"`{name}`" in page or name.endswith("_Supervised")


def test_midnight_is_near_as_the_readme_says(tmp_path):
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0] + "\nprint('NEAR', d([23.5, 10.0], [0.5, 10.0]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert float(done.stdout.split("NEAR")[1]) < 4.0, done.stdout


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^semimetric (\w+)", README, re.MULTILINE))))
def test_commands_of_the_readme_exist(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w[\w-]*)", README))))
def test_make_targets_of_the_readme_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


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


PUBLIC = {  # paths that are documented, and the names that they have had since 0.1.0
    "datasets": (
        "DigitHistograms DistancePairs KNOWN_DISTANCES TripletAnswers exact_emd load_digit_histograms "
        "make_distance_pairs make_horseshoe make_items make_s_shape make_triplet_answers perceived "
    ),
    "programs": (
        "Absolute AtLeast AtMost Bounded Concave Hinge Huber Lasso Linear Loss Monotone Penalty Ridge Roughness "
        "Shift Squared SquaredHinge TranslationInvariant "
    ),
    "solvers": ("CuttingPlane FirstOrder Gram InteriorPoint Newton Reference Repair Solution Solver Splitting Status choose "),
    "out_of_core": ("fit kneighbors pairwise transform "),
    "distributed": ("build_index connect fit kneighbors kneighbors_graph pairwise radius_neighbors rebalance transform "),
    "persistence": ("load "),
    "cli": ("main "),
    "plotting": (
        "plot_anchor_distances plot_around plot_basis plot_boundary_points plot_contributions plot_curve "
        "plot_explanation plot_importances plot_kernel plot_level_sets plot_n_components plot_pieces "
        "plot_predicted plot_surface plot_table "
    ),
    "linear_models": ("Shapes curve surface "),
}


@pytest.mark.parametrize("module", PUBLIC)
def test_names_of_documented_paths_stay(module):
    if module == "distributed":
        pytest.importorskip("distributed")
    found = importlib.import_module(f"semimetric.{module}")
    assert {*PUBLIC[module].split()} <= {*found.__all__}
