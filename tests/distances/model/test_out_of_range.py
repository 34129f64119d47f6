import warnings
from dataclasses import replace

import cases
import numpy as np
import pytest

from semimetric import DistanceApproximator, DistanceRegressor, SemimetricWarning
from semimetric.distances.model.item_statistics import warn_outside, warn_outside_once

INSIDE = np.full((1, 3), 0.5)


@pytest.fixture
def d():
    return cases.fitted("singles")[0].semimetric_


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if issubclass(w.category, SemimetricWarning)]


def test_says_how_many_items_and_names_the_worst_features(d):
    X = np.tile(INSIDE, (10, 1))
    X[:4, 1] = 9.0
    X[:2, 0] = -9.0
    assert d.outside(X).tolist() == [0.2, 0.4, 0.0]
    (said,) = warnings_of(lambda: warn_outside(d, X, source="new.csv"))
    assert said.startswith("4 of 10 items of new.csv (40 %) lie outside the range of the fit (x1 40 %, x0 20 %), where the")
    assert not warnings_of(lambda: warn_outside(d, INSIDE))


def test_only_the_three_worst_are_named():
    items = np.random.default_rng(0).random((40, 5))
    d = DistanceApproximator(cases.cityblock, DistanceRegressor(n_knots=2, alpha=1.0), n_pairs=100).fit(items).semimetric_
    (said,) = warnings_of(lambda: warn_outside(d, np.full((1, 5), 2.0)))
    assert "(x0 100 %, x1 100 %, x2 100 %, ...)" in said


@pytest.mark.parametrize("name", ["singles", "pca", "warped"])
def test_predict_says_it_once_and_fit_never(name):
    items, index, y = cases.sample()
    model = cases.fitted(name)[0]
    assert not warnings_of(lambda: model.fit(index, y))
    assert not warnings_of(lambda: model.predict(index))
    far = np.concatenate([items, items + [0.0, 5.0, 0.0]])
    model.set_params(preprocessor=far)
    assert not warnings_of(lambda: model.predict(index))  # the far ones are in no pair
    (said,) = warnings_of(lambda: model.predict(index + [0, len(items)]))
    assert "(x1 " in said


def test_selection_and_error_quantiles_do_not_warn():
    items = np.random.default_rng(0).random((60, 2))
    model = DistanceApproximator(cases.warped_sum, DistanceRegressor(n_knots=3), n_pairs=300, validation_fraction=0.3)
    assert not warnings_of(lambda: model.fit(items))


def test_it_is_said_once_for_a_distance_and_not_of_what_chance_explains(d):
    d, inside = replace(d), np.tile(INSIDE, (60, 1))
    chance, more, outside = inside.copy(), inside.copy(), inside + 9.0
    chance[:6, 1] = more[:7, 1] = 9.0  # 5 % and two standard errors are 6.5 of 60

    def said(*items):
        return len(warnings_of(lambda: [warn_outside_once(d, X) for X in items]))

    assert said(inside, chance) == 0
    assert said(more, outside, outside[:1]) == 1
    assert said(outside) == 0
