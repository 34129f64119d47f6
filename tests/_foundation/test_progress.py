"""Bars and announcements are seen by those who asked for them or who look, at a terminal or in a notebook; by nobody else."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from semimetric import DistanceRegressor, LargeMarginLearner, Tables, Triplets
from semimetric._foundation import progress
from semimetric._foundation.progress import announce, progress_bar


class Screen(io.StringIO):
    """Standard error that a person reads."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What is written to standard error, which is a terminal where that is asked for."""

    def to(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return to


def work(verbose):
    """Three steps of work, told as such; the bar."""
    with progress_bar(3, "work", verbose=verbose) as bar:
        for _ in range(3):
            bar.update()
    announce("much work", verbose=verbose)
    return bar


def test_nothing_is_written_where_nobody_looks(shown):
    pipe = shown(io.StringIO())
    work(verbose=None)
    assert pipe.getvalue() == ""
    work(verbose=True)
    assert "work: 100%" in pipe.getvalue()
    assert "much work\n" in pipe.getvalue()


def test_false_is_never(monkeypatch, shown):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    screen = shown(Screen())
    assert work(verbose=False).disable
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("patience", "seen"), [(0.0, True), (1e9, False)])
def test_a_terminal_shows_what_takes_long(monkeypatch, shown, patience, seen):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    screen = shown(Screen())
    work(verbose=None)
    assert ("work:" in screen.getvalue()) == seen
    assert "much work\n" in screen.getvalue()


@pytest.mark.parametrize(("shell", "seen"), [("ZMQInteractiveShell", True), ("TerminalInteractiveShell", False)])
def test_a_notebook_is_looked_at(monkeypatch, shown, shell, seen):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=type(shell, (), {})))
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    pipe = shown(io.StringIO())
    work(verbose=None)
    assert ("work:" in pipe.getvalue()) == seen


@pytest.mark.parametrize(("total", "seen"), [(100.0, True), (1.5, False)])
def test_a_bar_appears_as_soon_as_its_work_is_likely_to_take_long(shown, total, seen):
    screen = shown(Screen())
    with progress_bar(total, "work", verbose=None, share=True) as bar:
        now = bar.start_t
        bar._time = lambda: now + 1.0  # a second for the first of the steps: all take as many seconds as there are steps
        bar.update()
    assert ("work:" in screen.getvalue()) == seen


def test_there_may_be_no_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert work(verbose=None).disable


def test_an_interrupted_bar_is_closed(shown):
    pipe = shown(io.StringIO())
    with pytest.raises(KeyboardInterrupt), progress_bar(3, "work", verbose=True) as bar:
        raise KeyboardInterrupt
    assert bar.disable  # tqdm's sign of a bar that was closed
    assert pipe.getvalue().endswith("\n")


def fits():
    rng = np.random.default_rng(0)
    pairs = rng.random((60, 2, 3))
    y = np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)
    DistanceRegressor(n_knots=4, alpha=1e-3, axioms="metric", tables=Tables(groups=[(0, 1, 2)])).fit(pairs, y)
    X = rng.random((40, 3))
    LargeMarginLearner(triplets=Triplets(n_passes=1), n_knots=3, directions=None, tables="warped").fit(
        X, (X[:, 0] > 0.5).astype(int)
    )
    DistanceRegressor(tables="full", link="identity", effort="fast").fit(pairs, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Solution.Splitting")  # 60 pairs leave most of the 2,016 weights to the penalty
def test_fits_say_beforehand_what_may_take_minutes_and_are_silent_elsewhere(monkeypatch, shown):
    monkeypatch.setattr("semimetric.distances.learning.large_margin._LARGE", 100)
    monkeypatch.setattr("semimetric.distances.learning.measured_fit._SLOW_COLUMNS", 40)
    pipe = shown(io.StringIO())
    fits()
    assert pipe.getvalue() == ""
    screen = shown(Screen())
    fits()
    said = screen.getvalue()
    assert "the triangle inequality asks for 124,992 rows on 2,016 weights" in said
    assert "CuttingPlane(max_rounds=)" in said
    assert "40 items of 3 features: settings are compared in 5 folds of 40 items, then 1 passes learn" in said
    assert "n_passes=" in said
    assert "tables of up to 45 weights are compared at up to 5 strengths of the penalty" in said


@pytest.mark.parametrize("learner", ["regressor", "classes"])
def test_the_total_of_a_selection_is_what_it_does(monkeypatch, shown, learner):
    bars = []

    def watched(*args, **options):
        bars.append(progress_bar(*args, **options))
        return bars[-1]

    monkeypatch.setattr("semimetric.distances.learning.search.progress_bar", watched)
    shown(io.StringIO())
    rng = np.random.default_rng(0)
    if learner == "regressor":
        pairs = rng.random((200, 2, 2))
        DistanceRegressor(effort="fast", verbose=True).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    else:
        X = rng.random((40, 3))
        LargeMarginLearner(directions=None, triplets=Triplets(n_passes=1), effort="fast", verbose=True).fit(
            X, (X[:, 0] > 0.5).astype(int)
        )
    assert len(bars) == (4 if learner == "regressor" else 1)  # links with tables of both kinds, other settings, and their error
    for bar in bars:
        assert bar.n == pytest.approx(bar.total)
