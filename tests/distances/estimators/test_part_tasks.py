"""What learners ask of data in parts, and what they refuse to learn from them."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from learners import made
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from semimetric import (
    AutoGroups,
    Bounded,
    DistanceApproximator,
    DistanceRegressor,
    FirstOrder,
    Gram,
    InteriorPoint,
    LargeMarginLearner,
    Newton,
    NotSupportedError,
    PairLearner,
    QuadrupletLearner,
    TripletLearner,
)
from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.distances.estimators.part_tasks import check_solved_by_sums, item_bytes, refuse_parts
from semimetric.distances.learning.items import LargeMargin
from semimetric.distances.learning.options import Recipe

FAST = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped"}
LEARNERS = {
    "distances": (DistanceRegressor, Pairs, False),
    "pairs": (PairLearner, Pairs, True),
    "triplets": (TripletLearner, TripletTuples, True),
    "quadruplets": (QuadrupletLearner, Quadruplets, True),
}


def room(n_features, directions=None, **rule):
    model = made(LargeMarginLearner, **FAST | {"directions": directions} | rule)
    return item_bytes(model.recipe_for_parts(), model.triplet_options(), n_features)


def test_directions_take_room_as_features_do():
    assert room(5, np.ones((3, 5))) == room(8) > room(5)
    assert room(5, "pca") == room(5, PCA()) == room(10)


@given(st.integers(1, 200), st.integers(1, 9), st.integers(1, 9), st.integers(2, 60))
def test_an_item_takes_more_room_the_more_there_is_of_it(n_features, n_targets, n_impostors, n_knots):
    def taken(n, targets, impostors, knots):
        return item_bytes(Recipe(n_knots=knots), LargeMargin(targets, impostors), n)

    one = taken(n_features, n_targets, n_impostors, n_knots)
    vectors = 8 * n_features * (n_targets + n_impostors + 1)
    assert vectors < one
    assert taken(n_features + 1, n_targets, n_impostors, n_knots) > one
    assert (
        taken(n_features, n_targets + 1, n_impostors, n_knots) == taken(n_features, n_targets, n_impostors + 1, n_knots) > one
    )
    assert taken(n_features, n_targets, n_impostors, n_knots + 1) > one


def test_the_most_knots_of_a_feature_count():
    assert room(3, n_knots=[2, 7, 3]) == room(3, n_knots=7) > room(3, n_knots=6)
    assert room(3, knots=[[0, 1], np.arange(7), [0, 1, 2]], n_knots="auto") == room(3, n_knots=7)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_say_what_tuples_they_take(name):
    learner, kind, judged = LEARNERS[name]
    model = learner(**FAST)
    assert (model.tuple_spec.kind, model.tuple_spec.labeled) == (kind, judged)
    recipe = model.recipe_for_parts()
    assert (recipe.n_knots, recipe.alpha, recipe.tables) == (4, 1e-2, "warped")


def test_distances_may_have_any_sign_without_axioms():
    assert DistanceRegressor(**FAST).tuple_spec.least == 0
    assert DistanceRegressor(n_knots=4, alpha=1e-2, axioms=None).tuple_spec.least == -np.inf


REFUSED = {
    "n_knots": ({"n_knots": "auto"}, "parts cannot be held out", "give numbers for n_knots=", "the numbers of its recipe_"),
    "alpha": ({"alpha": "auto"}, "parts cannot be held out", "give numbers for n_knots= and alpha=", "fit on a sample"),
    "kinds": ({"categorical_features": [0]}, "numbers only", "need fit on data in memory"),
    "periodic": ({"periodic": {0: 24.0}}, "numbers only", "need fit on data in memory"),
    "missing": ({"missing": "level"}, "numbers only", "need fit on data in memory"),
    "groups": ({"groups": "auto", "tables": "full"}, "groups='auto' compares", "fit on a sample, and take the groups_"),
    "budget": ({"groups": AutoGroups(), "tables": "full"}, "compares candidates", "fit on a sample, and take the groups_"),
    "triangles": ({"tables": "full", "axioms": "metric"}, "axioms='metric' on full tables", "a sample", 'tables="warped"'),
    "constraints": ({"tables": "full", "constraints": [Bounded(0.1)], "outside": "clip"}, "constraints=", "fit on a sample"),
    "solver": ({"solver": "cvxpy"}, "Reference needs all rows at once", "learn from parts", 'use Program(solver="auto")'),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("learner", [DistanceRegressor, TripletLearner, LargeMarginLearner])
def test_what_parts_cannot_do_is_refused_with_what_to_do(learner, name):
    changes, *parts = REFUSED[name]
    assert_refused(lambda: made(learner, **FAST | changes).recipe_for_parts(), *parts, error=NotSupportedError)


COMPARED = {PairLearner: ("auto", "discriminant"), LargeMarginLearner: ("auto", "nca", "lda", "discriminant", "combined")}


@pytest.mark.parametrize("learner", COMPARED)
def test_directions_that_compare_all_data_are_refused(learner):
    for name in COMPARED[learner]:
        call = lambda name=name: made(learner, **FAST | {"directions": name}).recipe_for_parts()  # noqa: E731
        assert_refused(call, f"directions='{name}' compares all data", "a matrix", "semimetric_.directions", NotSupportedError)
    assert made(learner, **FAST | {"directions": "pca"}).recipe_for_parts().directions == "pca"


def test_kinds_of_tables_are_not_compared_on_parts():
    call = lambda: made(LargeMarginLearner, **FAST | {"tables": "auto"}).recipe_for_parts()  # noqa: E731
    assert_refused(call, 'tables="auto" compares both', 'give "warped" or "full"', "fit on a sample", NotSupportedError)


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_only_least_squares_is_solved_by_second_moments_alone(loss):
    for solver in ("auto", Newton(), InteriorPoint(), FirstOrder()):
        check_solved_by_sums(Recipe(loss=loss, solver=solver))
    gram = Recipe(loss=loss, solver=Gram())
    if loss == "squared":
        check_solved_by_sums(gram)
    else:
        names = "Newton, InteriorPoint, FirstOrder learn from parts"
        assert_refused(lambda: check_solved_by_sums(gram), "Gram needs all rows", names, error=NotSupportedError)


def test_free_weights_are_learned_by_least_squares_alone():
    check_solved_by_sums(Recipe(axioms=None))
    call = lambda: check_solved_by_sums(Recipe(axioms=None, loss="huber"))  # noqa: E731
    assert_refused(call, "axioms=None leaves weights free", "the loss Huber", 'use loss="squared"', NotSupportedError)


@pytest.mark.parametrize("model", [Ridge(), DistanceApproximator(lambda x, y: 0.0)])
def test_what_does_not_learn_from_parts_is_told_who_does(model):
    error = refuse_parts(model)
    assert isinstance(error, NotSupportedError)
    assert str(error).startswith(f"{type(model).__name__} learns from all its data at once; DistanceRegressor, PairLearner")
