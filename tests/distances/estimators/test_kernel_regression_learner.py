"""A distance learned from values: what it finds, chooses, keeps and refuses."""

import numpy as np
import pandas as pd
import pytest
from learners import made
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semimetric import Columns, InputError, KernelRegressionLearner, SemimetricRegressor

RNG = np.random.default_rng(0)
ITEMS = RNG.random((120, 3))
VALUES = ITEMS[:, 0] ** 2 + 0.1 * RNG.normal(size=120)


def test_the_diabetes_set_is_learned_better_than_by_standardised_neighbours():
    X, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(SemimetricRegressor(), X, y, cv=3).mean()
    plain = cross_val_score(make_pipeline(StandardScaler(), KNeighborsRegressor(5)), X, y, cv=3).mean()
    assert ours > plain + 0.03


def test_the_distance_is_the_weighted_sum_of_gaps():
    model = KernelRegressionLearner().fit(ITEMS, VALUES)
    assert model.slopes_.argmax() == 0
    assert_allclose(model.semimetric_.pairwise(ITEMS[:5], ITEMS[5:9]), np.abs(ITEMS[:5, None] - ITEMS[5:9]) @ model.slopes_)
    assert model.semimetric_.axioms.name == "metric"
    assert_allclose(np.abs(np.subtract(*model.transform(ITEMS[:2]))).sum(), model.pair_distance(ITEMS[None, :2])[0])


def test_steps_are_chosen_where_losses_are_least():
    model = KernelRegressionLearner().fit(ITEMS, VALUES)
    assert model.held_out_losses_.shape == (3, 31)
    assert model.n_steps_ == 5 * model.held_out_losses_.mean(axis=0).argmin()
    given = KernelRegressionLearner(n_steps=10).fit(ITEMS, VALUES)
    assert (given.n_steps_, given.held_out_losses_.shape) == (10, (3, 3))
    noise = KernelRegressionLearner(effort="fast").fit(RNG.random((100, 5)), RNG.normal(size=100))
    assert noise.held_out_losses_.min() > 0.7


def test_held_out_neighbours_are_those_of_the_folds():
    model = KernelRegressionLearner().fit(ITEMS, VALUES)
    assert sum(len(part.targets) for part in model.held_out_neighbors_) == 120
    for part in model.held_out_neighbors_:
        assert (np.diff(part.distances, axis=1) >= 0).all()
        assert not set(part.targets) & set(part.neighbor_targets.ravel())


def test_categories_and_missing_values_are_learned_from():
    colour = RNG.choice(["red", "green", "blue"], 150)
    frame = pd.DataFrame({"age": RNG.random(150), "colour": pd.Categorical(colour), "hour": 24 * RNG.random(150)})
    frame.loc[::6, "age"] = np.nan
    y = np.where(colour == "red", 3.0, 0.0) + np.cos(2 * np.pi * frame["hour"] / 24)
    learner = KernelRegressionLearner(columns=Columns(periodic={"hour": 24}, missing="level"))
    model = SemimetricRegressor(learner).fit(frame.iloc[:100], y[:100])
    assert model.score(frame.iloc[100:], y[100:]) > 0.8
    assert model.semimetric_.axioms.name in ("metric", "semimetric", "pseudometric")


def test_a_few_items_are_enough():
    for n in (2, 3, 5):
        model = SemimetricRegressor().fit(ITEMS[:n], np.arange(n))
        assert np.isfinite(model.predict(ITEMS)).all()


def test_medians_do_not_follow_wild_values():
    y = np.where(RNG.random(120) < 0.1, 1e4, VALUES)
    model = SemimetricRegressor(average="median").fit(ITEMS, y)
    assert np.median(np.abs(model.predict(ITEMS) - VALUES)) < 0.3
    assert model.vote_rule_.average == "median"


@pytest.mark.parametrize(
    ("arguments", "y", "message"),
    [
        ({"n_steps": "many"}, VALUES, "n_steps"),
        ({"n_steps": -1}, VALUES, "n_steps"),
        ({"effort": "quick"}, VALUES, "effort"),
        ({}, np.ones(120), "the same"),
        ({}, VALUES[:5], "5 values for 120"),
    ],
)
def test_what_cannot_be_is_refused(arguments, y, message):
    with pytest.raises(InputError, match=message):
        made(KernelRegressionLearner, **arguments).fit(ITEMS, y)
    with pytest.raises(InputError, match="average"):
        SemimetricRegressor(average="mode").fit(ITEMS, VALUES)
