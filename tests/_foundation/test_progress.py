"""Bars and announcements are seen by those who asked for them or sit at a terminal, and by nobody else."""

import io
import sys

import numpy as np
import pytest

from semimetric import DistanceRegressor, LargeMarginLearner
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
    work(verbose=False)
    assert pipe.getvalue() == ""
    work(verbose=True)
    assert "work: 100%" in pipe.getvalue()
    assert "much work\n" in pipe.getvalue()


@pytest.mark.parametrize(("patience", "seen"), [(0.0, True), (1e9, False)])
def test_a_terminal_shows_what_takes_long(monkeypatch, shown, patience, seen):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    screen = shown(Screen())
    work(verbose=False)
    assert ("work:" in screen.getvalue()) == seen
    assert "much work\n" in screen.getvalue()


def test_there_may_be_no_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert work(verbose=False).disable


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
    DistanceRegressor(n_knots=4, alpha=1e-3, axioms="metric", groups=[(0, 1, 2)]).fit(pairs, y)
    X = rng.random((40, 3))
    LargeMarginLearner(n_passes=1, n_knots=3, directions=None, tables="warped").fit(X, (X[:, 0] > 0.5).astype(int))


@pytest.mark.filterwarnings("ignore:Solution.Splitting")  # 60 pairs leave most of the 2,016 weights to the penalty
def test_fits_say_beforehand_what_may_take_minutes_and_are_silent_elsewhere(monkeypatch, shown):
    monkeypatch.setattr("semimetric.learning.large_margin.selection._LARGE", 100)
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
