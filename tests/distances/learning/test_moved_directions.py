import numpy as np
import pytest
from numpy.testing import assert_allclose

from semimetric import DistanceRegressor
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import screening as moved_directions
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.screening import Screened, _ItemDifferences, moved
from semimetric.distances.learning.structure import build_structure

TRUE = np.array([[1.0, 0.5, 0.0, 0.0, -0.3], [0.0, 1.0, -1.0, 0.4, 0.0]])


def problem(rng, relative=True, noise=0.03):
    """Pairs whose distances are a sum over two directions, and screened directions that are near them."""
    X, index = rng.normal(size=(100, 5)), rng.integers(0, 100, (2000, 2))
    y = np.abs((X[index[:, 0]] - X[index[:, 1]]) @ TRUE.T).sum(axis=1) * rng.uniform(1 - noise, 1 + noise, 2000)
    recipe = Recipe(tables="warped", n_knots=2, relative=relative)
    structure = build_structure(recipe, X, list("abcde"))
    data = PairTargets.of(recipe, structure, Pairs(X, index), y, np.full(2000, 1 / 2000))
    near = TRUE / y.mean() + 0.05 * rng.normal(size=TRUE.shape)
    held = (index < 40).all(axis=1)
    split = np.flatnonzero((index >= 40).all(axis=1)), np.flatnonzero(held)
    ones = np.ones(2)
    return near, data, Screened(np.arange(2), ones, split, ones, {}), y.mean()


@pytest.mark.parametrize("relative", [False, True])
def test_directions_move_to_the_true_ones(rng, relative):
    near, data, screened, unit = problem(rng, relative)
    found = moved(near, data, screened)
    assert_allclose(found * unit, TRUE, atol=0.02)


def test_steps_go_on_while_they_gain_however_small_the_loss_is(rng):
    _, data, _, unit = problem(rng, relative=False, noise=0.0)
    differences = _ItemDifferences(data)
    near = (TRUE / unit + 1e-4 * rng.normal(size=TRUE.shape)).astype(np.float32)
    before = differences.loss(near)
    assert before < 1e-6
    assert differences.loss(differences.stepped(near, 40)) < 0.1 * before


def test_slopes_are_those_of_the_loss(rng):
    near, data, *_ = problem(rng)
    differences = _ItemDifferences(data)
    loss, slopes = differences._loss_and_slopes(near.ravel(), near.shape)
    assert loss == pytest.approx(differences.loss(near.astype(np.float32)), rel=1e-5)
    values, target, weight = (a.astype(float) for a in (differences.values, differences.target, differences.weight))

    def exact(flat):
        residual = np.abs(values @ flat.reshape(near.shape).T).sum(axis=1) - target
        return float(weight @ residual**2) / 2

    for k in range(near.size):
        step = np.zeros(near.size)
        step[k] = 1e-6  # so small that no sign changes
        ahead, behind = exact(near.ravel() + step), exact(near.ravel() - step)
        assert slopes[k] == pytest.approx((ahead - behind) / 2e-6, rel=1e-3, abs=1e-5)


def test_nothing_is_moved_without_held_out_pairs_or_gain_or_room(rng, monkeypatch):
    near, data, screened, unit = problem(rng)
    assert moved(near, data, screened._replace(split=None)) is None
    assert moved(TRUE / unit, data, screened) is None  # the best already
    monkeypatch.setattr(moved_directions, "_MOST_NUMBERS", 100)
    assert moved(near, data, screened) is None


def test_directions_that_were_moved_say_so_and_fit_better_than_those_given(rng, monkeypatch):
    X, directions = rng.normal(size=(150, 12)), rng.normal(size=(700, 12))
    index = rng.integers(0, 150, (3000, 2))
    y = np.abs((X[index[:, 0]] - X[index[:, 1]]) @ rng.normal(size=(3, 12)).T).sum(axis=1)
    model = DistanceRegressor(directions=directions, preprocessor=X, verbose=False)
    d = model.fit(index, y).semimetric_
    score = model.score(index, y)
    assert all(name.endswith(" moved") for name in d.directions.names)
    assert d.axioms.name == "metric"
    monkeypatch.setattr("semimetric.distances.learning.screening.moved", lambda *args: None)
    given = model.fit(index, y)
    assert not any(name.endswith(" moved") for name in given.semimetric_.directions.names)
    assert 1 - score < 0.7 * (1 - given.score(index, y))
