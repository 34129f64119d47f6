"""Every call that may take seconds counts its work in a bar with a name, where somebody looks."""

import io
from contextlib import redirect_stderr

import numpy as np
import pytest

import semimetric as sm
from semimetric._foundation import progress
from semimetric.distances.estimators import votes

RNG = np.random.default_rng(0)
X, QUERIES = RNG.random((60, 3)), RNG.random((9, 3))
Y = np.where(X[:, 0] > 0.5, "high", "low")


def machine():
    return sm.SemimetricClassifier(predictor="kernel_ridge").fit(X, Y)


def gaps():
    table = X.copy()
    table[::5, 1] = np.nan
    return table


def shards(folder):
    return sm.ShardedIndex.build(folder / "shards", sm.Semimetric.l1(X), X, n_shards=2)


CALLS = {
    "queries": (lambda folder: sm.NeighborIndex("l1").fit(X), lambda index: index.kneighbors(QUERIES)),
    "queries (within a radius)": (lambda folder: sm.NeighborIndex("l1").fit(X), lambda index: index.radius_neighbors(QUERIES)),
    "queries (of shards)": (shards, lambda index: index.kneighbors(QUERIES)),
    "predictions": (lambda folder: machine(), lambda model: model.predict(QUERIES)),
    "reasons": (lambda folder: machine(), lambda model: model.explain(QUERIES[0])),
    "changes drawn back": (lambda folder: machine(), lambda model: model.counterfactual(X[0])),
    "changes of few columns": (lambda folder: machine(), lambda model: model.counterfactual(X[0])),
    "changes towards items": (lambda folder: machine(), lambda model: model.counterfactual(X[0])),
    "rows filled in": (lambda folder: sm.SemimetricImputer().fit(gaps()), lambda model: model.transform(gaps())),
    "starts": (lambda folder: sm.SemimetricClusterer("l1", n_clusters=2), lambda model: model.fit(X)),
}


@pytest.fixture
def shown(monkeypatch):
    """A function that calls something, and returns what a terminal shows of it by bars that have no patience."""
    monkeypatch.setattr(progress, "_is_watched", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(votes, "_BLOCK", 4)

    def call(function):
        screen = io.StringIO()
        with redirect_stderr(screen):
            function()
        return screen.getvalue()

    return call


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_may_take_long_shows_a_bar(name, shown, tmp_path):
    make, call = CALLS[name]
    model = make(tmp_path)
    assert f"\r{name.partition(' (')[0]}:" in shown(lambda: call(model))


def test_an_index_that_shall_be_silent_is(shown):
    index = sm.NeighborIndex("l1", verbose=False).fit(X)
    assert not shown(lambda: index.kneighbors(QUERIES))
