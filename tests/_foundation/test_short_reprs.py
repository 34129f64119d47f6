"""Estimators are printed without their data, and their parameters stay what they are."""

import numpy as np
import pandas as pd
import pytest
from cases import sample
from sklearn.base import BaseEstimator, clone

import semimetric
from semimetric import (
    AtLeast,
    DistanceApproximator,
    DistanceRegressor,
    HistogramFeatures,
    Monotone,
    NeighborIndex,
    Program,
    Ridge,
    SemimetricClassifier,
    SemimetricRegressor,
)
from semimetric._foundation.estimator import ShortRepr, abbreviated

X = np.random.default_rng(0).random((150, 4))

SHOWN = {
    "array": (X, "<array of shape (150, 4)>"),
    "few numbers": (np.array([3, 4, 5]), "array([3, 4, 5])"),
    "many numbers": (np.arange(50), "<array of shape (50,)>"),
    "frame": (pd.DataFrame(X), "<DataFrame of shape (150, 4)>"),
    "rows": (X.tolist(), "<list of 150>"),
    "names": (["age", "colour"], "['age', 'colour']"),
    "arrays": ([X, X], "[<array of shape (150, 4)>, <array of shape (150, 4)>]"),
    "objects": (
        [Ridge(0.1), AtLeast(X, [1.0])],
        "[Ridge(alpha=0.1, towards='prior'), AtLeast(pairs=<array of shape (150, 4)>, distances=[1.0])]",
    ),
    "none": (None, "None"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_data_are_shown_by_their_shape(name):
    value, text = SHOWN[name]
    assert repr(abbreviated(value)) == text


def test_an_estimator_is_printed_as_scikit_learn_does_but_for_data():
    model = DistanceRegressor(n_knots=3, preprocessor=X, program=Program(constraints=[Monotone([0])]))
    assert (
        "".join(repr(model).split()) == "DistanceRegressor(n_knots=3,preprocessor=<arrayofshape(150,4)>,"
        "program=Program(constraints=[Monotone(features=[0])]))"
    )
    assert model.get_params()["preprocessor"] is X
    assert clone(model).get_params()["n_knots"] == 3
    assert repr(DistanceRegressor(n_knots=3, alpha=0.1)) == BaseEstimator.__repr__(DistanceRegressor(n_knots=3, alpha=0.1))
    nested = repr(SemimetricRegressor(model))
    assert "preprocessor=<array of shape (150, 4)>" in nested
    assert nested.startswith("SemimetricRegressor(learner=DistanceRegressor(")
    assert "<array of shape (150, 2)>" in repr(HistogramFeatures(X[:, :2]))


def test_a_fitted_model_and_its_html_show_no_data():
    items, index, y = sample()
    model = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=items).fit(index, y)
    number = f"{items[0, 0]:.6f}"[:6]
    for shown in (model, NeighborIndex(model.semimetric_).fit(items), SemimetricClassifier(model), DistanceApproximator()):
        assert number not in repr(shown)
        assert number not in shown._repr_html_()
        assert type(shown).__name__ in shown._repr_html_()
    assert number not in repr(NeighborIndex(model.semimetric_).fit(items).segments_)


def test_no_error_of_a_wrong_distance_shows_data():
    items = sample()[0]
    with pytest.raises(semimetric.InputError, match=r"semimetric= is a DistanceRegressor that has learned no dist") as caught:
        NeighborIndex(DistanceRegressor(preprocessor=items)).fit(items)
    assert len(str(caught.value)) < 200


def test_every_public_estimator_is_printed_so():
    public = [getattr(semimetric, name) for name in semimetric.__all__]
    estimators = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    assert len(estimators) > 20
    assert all(issubclass(c, ShortRepr) for c in estimators)
