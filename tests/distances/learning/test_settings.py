"""Settings are parameters of parameters: they are set, cloned, searched for, printed and saved as an estimator's own are."""

import numpy as np
import pytest
from cases import assert_refused, cityblock, sample
from learners import made
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from semimetric import (
    Columns,
    DistanceApproximator,
    DistanceRegressor,
    KernelRidgeLearner,
    LargeMarginLearner,
    Lasso,
    NotSupportedError,
    PairLearner,
    Program,
    SemimetricClassifier,
    Tables,
    TripletLearner,
    Triplets,
    load,
)
from semimetric.distances.learning.settings import MOVED

ITEMS, INDEX, Y = sample()
FAST = {"n_knots": 3, "alpha": 1e-3, "preprocessor": ITEMS}


def test_what_stands_for_settings_becomes_them_where_one_is_set():
    model = DistanceRegressor(tables="warped").set_params(tables__outside="clip", columns__missing="level")
    assert (model.tables.kind, model.tables.outside, model.columns.missing) == ("warped", "clip", "level")
    assert model.program is None
    assert repr(model.columns) == "Columns(missing='level')"
    model.set_params(tables="full", tables__groups="pairs")
    assert (model.tables.kind, model.tables.groups, model.tables.outside) == ("full", "pairs", "extend")


def test_what_is_set_to_what_it_was_stays():
    model = DistanceRegressor(tables="warped")
    assert model.set_params(**model.get_params()).tables == "warped"
    assert model.columns is None
    assert model.set_params(tables__kind="warped").tables == "warped"
    nested = SemimetricClassifier(predictor="neighbors").set_params(learner__triplets__mu=1.0)
    assert nested.learner is None
    assert nested.set_params(learner__triplets__mu=0.5).learner.triplets.mu == 0.5


def test_settings_are_cloned():
    model = DistanceRegressor(tables=Tables(groups="pairs"), program=Program(penalty=Lasso(0.1)))
    again = clone(model).set_params(tables__groups="singles")
    assert (model.tables.groups, again.tables.groups) == ("pairs", "singles")
    assert again.program.penalty == Lasso(0.1)


def test_settings_are_searched_for():
    search = GridSearchCV(DistanceRegressor(**FAST), {"tables__groups": ["singles", "pairs"]}, cv=2).fit(INDEX, Y)
    assert set(search.best_params_) == {"tables__groups"}
    approximator = DistanceApproximator(cityblock, n_pairs=100).set_params(
        learner__n_knots=3, learner__program__penalty="lasso"
    )
    assert approximator.learner.program.penalty == "lasso"


def test_settings_are_saved_with_a_learner(tmp_path):
    model = DistanceRegressor(
        n_knots=3, alpha=1e-3, tables=Tables(groups="pairs", base_distances=(cityblock,)), program=Program(penalty=Lasso(1e-3))
    ).fit(ITEMS[INDEX], Y)
    model.save(tmp_path / "model.smm")
    again = load(tmp_path / "model.smm", base_distances=[cityblock])
    assert repr(again) == repr(model)
    assert again.tables.base_distances == (cityblock,)
    np.testing.assert_array_equal(again.predict(ITEMS[INDEX]), model.predict(ITEMS[INDEX]))


@pytest.mark.parametrize("old", sorted(MOVED))
def test_a_name_of_before_says_what_it_is_now(old):
    kind = LargeMarginLearner if MOVED[old].startswith("triplets") else DistanceRegressor
    assert MOVED[old] in kind().get_params()
    assert_refused(lambda: kind().set_params(**{old: 1}), f"{old} is a parameter of before", f"set {MOVED[old]}")
    if kind is DistanceRegressor:
        assert_refused(lambda: DistanceApproximator().set_params(**{old: 1}), f"{old} is", f"set learner__{MOVED[old]}")


REFUSED = {
    "columns": (lambda: DistanceRegressor(columns="level", **FAST), "columns='level' must be", "Columns(...) or None"),
    "program": (lambda: DistanceRegressor(program="ridge", **FAST), "program='ridge' must be", "Program(...) or None"),
    "tables": (lambda: DistanceRegressor(tables=None, **FAST), "tables=None must be", 'Tables(...) or a name such as "full"'),
    "names": (lambda: DistanceRegressor(tables="flat", **FAST), "tables='flat'", "is not known"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_are_no_settings_is_refused(name):
    make, *parts = REFUSED[name]
    assert_refused(lambda: make().fit(INDEX, Y), *parts)


def test_learners_of_labels_refuse_what_is_for_measured_distances():
    labels = np.where(np.median(Y) > Y, 1, -1)
    for settings in ({"symmetry": "swap"}, {"base_distances": [cityblock]}, {"base_exponents": 0.5}, {"relative": True}):
        model = made(PairLearner, **FAST, **settings)
        assert_refused(
            lambda m=model: m.fit(INDEX, labels), "is for measured distances", "leave it out", error=NotSupportedError
        )
    triplets = made(LargeMarginLearner, n_knots=3, symmetry="swap")
    assert_refused(lambda: triplets.fit(ITEMS, ITEMS[:, 0] > 0.5), "Tables(symmetry=)", "is for", error=NotSupportedError)
    assert_refused(
        lambda: LargeMarginLearner(triplets="many").fit(ITEMS, ITEMS[:, 0] > 0.5), "triplets='many'", "must be Triplets"
    )
    assert TripletLearner(tables=Tables("warped")).has_scales


def test_an_approximator_takes_a_regressor_without_a_preprocessor():
    other = DistanceApproximator(cityblock, KernelRidgeLearner(columns=Columns()))
    assert_refused(lambda: other.fit(ITEMS), "must be a DistanceRegressor", "or None")
    assert_refused(lambda: DistanceApproximator(cityblock, DistanceRegressor(**FAST)).fit(ITEMS), "has preprocessor=", "give X")
    learner = DistanceRegressor(n_knots=3, alpha=1e-3, effort="fast", n_jobs=2)
    recipe = DistanceApproximator(cityblock, learner, n_pairs=100, effort="thorough", n_jobs=1).fit(ITEMS).recipe_
    assert (recipe.effort, recipe.n_jobs) == ("thorough", 2)
    assert Triplets(base="positions").base == "positions"
