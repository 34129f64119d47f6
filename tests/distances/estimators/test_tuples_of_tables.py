"""Learners from comparisons on tables with categories, angles and missing values."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import assert_absent, assert_refused
from learners import made
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from semimetric import InputError, NeighborIndex, PairLearner, QuadrupletLearner, SemimetricWarning, TripletLearner, load
from semimetric._foundation.types import Pairs, TripletTuples
from semimetric.data.schema import Schema
from semimetric.distances.features.discriminants import discriminants
from semimetric.distances.features.fitted_directions import fit_directions
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.learning.comparison_fit import fit_comparison_prior
from semimetric.distances.learning.comparisons import ComparisonData, OrderedTuples
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.program import columns_of
from semimetric.distances.learning.structure import build_structure, l1_embedding

COLOURS = ["blue", "green", "red", "white"]
BETWEEN = np.array([[0, 1, 3, 2], [1, 0, 2, 2.5], [3, 2, 0, 1], [2, 2.5, 1, 0]])
N = 100
FAST = {"n_knots": 6, "alpha": 1e-3, "directions": None, "periodic": {"hour": 24}}


def table(seed=0, *, missing=0.0):
    """A frame with a colour, an hour and a size, and the true distance of rows i and j; a missing value is 1 from any."""
    rng = np.random.default_rng(seed)
    codes, hour, size = rng.integers(0, 4, N), rng.uniform(0, 24, N), rng.random(N)
    frame = pd.DataFrame({"colour": pd.Categorical.from_codes(codes, COLOURS), "hour": hour, "size": size})
    gone = rng.random((N, 3)) < missing
    for k, name in enumerate(frame):
        frame.loc[gone[:, k], name] = np.nan

    def true(i, j):
        turn = np.minimum((hour[i] - hour[j]) % 24, (hour[j] - hour[i]) % 24)
        parts = np.stack([BETWEEN[codes[i], codes[j]], turn / 4, np.abs(size[i] ** 2 - size[j] ** 2)], axis=1)
        return np.where(gone[i] | gone[j], (gone[i] != gone[j]) * 1.0, parts).sum(axis=1)

    return frame, true


def tuples_of(name, true, n=900):
    """Learner, tuples of row numbers, and what else `fit` takes."""
    index = np.random.default_rng(1).integers(0, N, (n, 4))
    if name == "pairs":
        d = true(*index[:, :2].T)
        return PairLearner, index[:, :2], (np.where(d < np.median(d), 1, -1),)
    far = index[:, [0, 2]] if name == "triplets" else index[:, 2:]
    wrong = true(*index[:, :2].T) > true(*far.T)
    if name == "triplets":
        return TripletLearner, np.where(wrong[:, None], index[:, [0, 2, 1]], index[:, :3]), ()
    return QuadrupletLearner, index, (np.where(wrong, -1, 1),)


def learned(name, *, missing=0.0, **changes):
    frame, true = table(missing=missing)
    kind, tuples, y = tuples_of(name, true)
    told = {"missing": "level"} if missing else {}
    return made(kind, **FAST | told | {"preprocessor": frame} | changes).fit(tuples, *y), tuples, y, frame


every_learner = pytest.mark.parametrize("name", ["pairs", "triplets", "quadruplets"])


@every_learner
@pytest.mark.parametrize(
    "changes", [{}, {"missing": 0.15}, {"tables": "full"}, {"loss": "hinge"}, {"missing": 0.15, "outside": "clip"}], ids=str
)
def test_it_orders_what_it_saw_and_is_kept_to_the_bit(name, changes, tmp_path):
    model, tuples, y, frame = learned(name, **changes)
    d = model.semimetric_
    assert model.score(tuples, *y) > 0.9
    assert d.schema.kinds == ("categorical", "periodic", "numeric")
    assert list(model.feature_names_in_) == list(frame)
    assert (d.axioms.name, d.axioms.positive) == ("semimetric", True)
    X = frame.astype({"colour": object})
    X.loc[3, "colour"] = "pink"
    d.save(tmp_path / "model.smm")
    assert (load(tmp_path / "model.smm").pairwise(X) == d.pairwise(X)).all()
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(tuples) == model.decision_function(tuples)).all()
    assert_allclose(np.diag(d.pairwise(X, frame))[5:], 0.0, atol=1e-12)
    assert_allclose(NeighborIndex(d).fit(frame).kneighbors(X[:5], 4)[0], np.sort(d.pairwise(X[:5], frame))[:, :4], atol=1e-9)


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_points_are_encoded_as_rows_of_the_table_are(name, missing):
    knots = [None, np.arange(0, 24, 4.0), [0.0, 0.5, 1.0]]
    model, tuples, y, frame = learned(name, missing=missing, knots=knots, tables="full")
    points = frame.astype(object).to_numpy()[tuples]
    told = {"columns__categorical": [0], "columns__periodic": {1: 24}, "preprocessor": None}
    for given in (points, points.tolist()):
        again = clone(model).set_params(**told).fit(given, *y)
        assert_allclose(again.decision_function(given), model.decision_function(tuples), rtol=1e-5, atol=1e-6)
        assert again.score(given, *y) == model.score(tuples, *y)
        assert again.semimetric_.schema.kinds == model.semimetric_.schema.kinds


@pytest.mark.slow
@every_learner
def test_auto_says_what_it_compared(name):
    model, tuples, y, _ = learned(name, missing=0.1, n_knots="auto", alpha="auto", directions="auto")
    assert model.score(tuples, *y) > 0.85
    assert {c.settings["directions"] for c in model.choices_} == {None}  # one number has nothing to combine


def test_searches_of_parameters_take_frames():
    model, pairs, y, _ = learned("pairs")
    search = GridSearchCV(model, {"columns__periodic": [None, {"hour": 24}]}, cv=3).fit(pairs, *y)
    assert search.best_params_ == {"columns__periodic": {"hour": 24}}


def test_new_categories_are_said_and_numbers_only_stay_a_metric():
    model, pairs, y, frame = learned("triplets")
    new = pd.concat([frame.astype({"colour": object}), pd.DataFrame([["pink", 1, 0.5]], columns=list(frame))])
    model.set_params(preprocessor=new)
    for call in (model.decision_function, lambda t: model.pair_distance(t[:, :2])):
        model.semimetric_ = replace(model.semimetric_)  # one distance says it once
        with pytest.warns(SemimetricWarning, match=r"colour .*a category that was not in the fit"):
            call(np.array([[N, 1, 2]]))
        call(np.array([[N, 1, 2]]))
    plain = clone(model).set_params(preprocessor=frame[["hour", "size"]], columns__periodic=None).fit(pairs)
    assert plain.semimetric_.axioms.name == "metric"


def gower_triplets(levels):
    """A structure and triplets of 2 [first category differs] + |difference of the number|; the second category says nothing."""
    rng = np.random.default_rng(0)
    items = np.column_stack([rng.integers(0, levels, 300), rng.integers(0, levels, 300), rng.random(300)]).astype(float)
    index = rng.integers(0, 300, (3000, 3))
    near, far = (
        2.0 * (x != y)[:, 0] + np.abs(x - y)[:, 2] for x, y in ((items[index[:, 0]], items[index[:, k]]) for k in (1, 2))
    )
    index = np.where((near > far)[:, None], index[:, [0, 2, 1]], index)
    schema = Schema.fit(items, categorical_features=[0, 1])
    structure = build_structure(Recipe(n_knots=4, tables="warped", loss="squared_hinge"), items, schema)
    return structure, ComparisonData.of(OrderedTuples(TripletTuples(items, index), np.full(3000, 1 / 3000)))


def test_the_prior_is_the_gower_distance_that_triplets_ask_for():
    slopes = fit_comparison_prior(Recipe(), *gower_triplets(3)).l1.slopes
    assert min(slopes[0], slopes[2]) > 10 * slopes[1] > 0


@pytest.mark.parametrize("levels", [3, 30])
def test_the_ridge_of_the_prior_does_not_depend_on_the_number_of_levels(levels):
    structure, evidence = gower_triplets(levels)
    columns = columns_of(l1_embedding(structure), fit_comparison_prior(Recipe(), structure, evidence).l1)
    assert_allclose(columns.share, 1 / 3)
    assert_allclose(columns.step, columns.unit)


def rings(missing=0.0):
    """Two classes that no line tells apart, a colour and an hour that say nothing, and a width that is often missing."""
    rng = np.random.default_rng(0)
    label = np.arange(300) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 300), np.where(label, 1.0, 3.0) + rng.normal(0, 0.2, 300)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical.from_codes(rng.integers(0, 4, 300), COLOURS),
            "u": radius * np.cos(angle),
            "hour": rng.uniform(0, 24, 300),
            "v": radius * np.sin(angle),
        }
    )
    if missing:
        frame["width"] = np.where(rng.random(300) < missing, np.nan, rng.random(300))
    pairs = rng.integers(0, 300, (1500, 2))
    return frame, pairs, np.where(label[pairs[:, 0]] == label[pairs[:, 1]], 1, -1)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("name", ["pairs", "triplets"])
def test_bent_directions_combine_numbers_that_are_always_there(name, missing, tmp_path):
    frame, tuples, y = rings(missing)
    told = {"directions": "discriminant", "preprocessor": frame} | ({"missing": "level"} if missing else {})
    if name == "triplets":
        near, far = tuples[y > 0], tuples[y < 0]
        tuples = np.array([[i, j, k] for i, j in near[:700] for a, k in far[far[:, 0] == i][:1]])
        model, y = made(TripletLearner, **FAST | told).fit(tuples), ()
        raw = clone(model).set_params(directions=None).fit(tuples)
    else:
        model, y = made(PairLearner, **FAST | told).fit(tuples, y), (y,)
        raw = clone(model).set_params(directions=None).fit(tuples, *y)
    d = model.semimetric_
    assert d.directions.uses.any(axis=0).tolist() == [False, True, False, True] + [False] * bool(missing)
    assert [len(b) for b in d.directions.bends][::2] == [1, 1] + [1] * bool(missing)
    assert model.score(tuples, *y) > max(0.9, raw.score(tuples, *y))
    d.save(tmp_path / "bent.smm")
    again = load(tmp_path / "bent.smm")
    X = frame.astype({"colour": object})
    X.loc[0, "colour"], X.loc[1, "u"] = "pink", 99.0
    if missing:  # a direction is missing where a number that it uses is: never in the items of the fit
        X.loc[2, ["u", "hour"]] = np.nan
        appended = d.directions.append(d.schema.encode(X))[:, d.n_features :]
        assert np.isnan(appended).all(axis=1).tolist() == [row == 2 for row in range(300)]
        assert d.paired(X[2:3], frame[2:3]) > 0
    assert np.isfinite(d.pairwise(X)).all()
    assert (again.pairwise(X) == d.pairwise(X)).all()
    assert again.directions.same_as(d.directions)
    assert_allclose(NeighborIndex(d).fit(frame).kneighbors(X[:5], 4)[0], np.sort(d.pairwise(X[:5], frame))[:, :4], atol=1e-9)


def test_auto_tries_them_where_there_are_two_numbers():
    frame, pairs, y = rings()
    model = made(PairLearner, **FAST | {"directions": "auto", "preprocessor": frame}).fit(pairs, y)
    assert {c.settings["directions"] for c in model.choices_} == {None, "discriminant"}
    assert model.recipe_.directions == "discriminant"


def test_nothing_to_combine_gives_no_directions():
    frame, true = table()
    kind, pairs, y = tuples_of("pairs", true)
    model = made(kind, **FAST | {"directions": "discriminant", "preprocessor": frame[["colour", "hour"]]}).fit(pairs, *y)
    assert model.semimetric_.directions is None
    X = np.where(np.random.default_rng(0).random((40, 2)) < 0.2, np.nan, 0.5)
    some = Pairs(X, np.arange(40).reshape(20, 2))
    assert discriminants(some, some, np.ones(20), np.ones(20)) is None


def test_bent_directions_are_missing_where_a_number_that_they_use_is():
    bends = ([0.0], [0.0, 1.0, 2.0], [0.0, 4.0])
    given = Directions(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), ("a", "b"), bends)
    assert given.uses.tolist() == [[False, True, False], [False, False, True]]
    schema = Schema.fit([["x", 1.0, 2.0], ["y", None, 1.0]], categorical_features=[0], missing="level")
    assert schema.extended(given.names, given.uses).missing == (True,) * 5
    assert Schema.numeric("uvw").extended(given.names, given.uses).plain
    appended = given.append(np.array([[np.nan, 1.5, 2.0], [0.0, np.nan, 2.0]]))[:, 3:]
    assert_allclose(appended, [[2.0, 0.5], [np.nan, 0.5]])


def test_given_directions_must_fit_the_table():
    bent = Directions(np.ones((1, 2)), ("bent",), ([0.0, 1.0], [0.0], [0.0, 1.0]))
    usable = np.array([False, True, True])
    assert_refused(lambda: fit_directions(bent, np.zeros((2, 3)), names="abc", usable=usable), "use 'a'", "combine numbers")
    assert_refused(
        lambda: fit_directions(bent, np.zeros((2, 2)), names="ab", usable=np.ones(2, bool)), "of 3 features", "there are 2"
    )


BAD = {
    "text": (
        {"preprocessor": table()[0].astype({"colour": str}), "categorical_features": None},
        "column 'colour'",
        "categorical_features=",
    ),
    "missing": (
        {"preprocessor": table(missing=0.1)[0], "missing": "error"},
        "has a missing value (NaN",
        'missing="level"',
    ),
    "missing=": ({"missing": "mean"}, "missing='mean'", "'error', 'level'"),
    "no such period": ({"periodic": {"minute": 60}}, "periodic= names the feature 'minute'", "correct it"),
}


@every_learner
@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_refused(name, case):
    changes, *parts = BAD[case]
    frame, true = table()
    kind, tuples, y = tuples_of(name, true)
    assert_refused(lambda: made(kind, **FAST | {"preprocessor": frame} | changes).fit(tuples, *y), *parts, error=InputError)


@every_learner
def test_tables_of_any_kind_can_be_metrics(name):
    model, tuples, y, _ = learned(name)
    assert clone(model).set_params(axioms="metric").fit(tuples, *y).semimetric_.axioms.name == "metric"


@every_learner
def test_what_needs_numbers_says_so(name):
    model, tuples, _, _ = learned(name)
    assert_absent(model, "transform", "pairwise(X)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.decision_function(tuples)
