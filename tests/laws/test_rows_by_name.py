"""Rows given by name, as dicts or as a series, are taken wherever a row is, and are what the same rows of a frame are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal

from semimetric import (
    BoundaryPoints,
    BSplineEmbedding,
    ConicEmbedding,
    DistanceApproximator,
    DistanceRegressor,
    EmbeddedLinearClassifier,
    LargeMarginLearner,
    NeighborIndex,
    PairLearner,
    PL1Embedding,
    Semimetric,
    SemimetricClassifier,
    SemimetricClusterer,
    SemimetricImputer,
    SemimetricNeighborsTransformer,
    SemimetricOutlierDetector,
    SemimetricRegressor,
    gower,
)

RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.random((30, 3)), columns=["age", "height", "hour"])
MIXED = NUMBERS.assign(colour=pd.Categorical(RNG.choice(["blue", "red"], 30)))
CLASSES = (NUMBERS["age"] > 0.5).astype(int).to_numpy()


@pytest.fixture(scope="module", params=[NUMBERS, MIXED], ids=["numbers", "mixed"])
def row(request):
    X = request.param
    learner = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped")
    return X, SemimetricClassifier(learner).fit(X, CLASSES)


def records(X):
    """The rows as dicts whose names are in another order."""
    return [dict(reversed(record.items())) for record in X.to_dict("records")]


def test_a_distance_takes_dicts(row):
    X, model = row
    d, dicts = model.semimetric_, records(X)
    assert d(dicts[0], dicts[1]) == d.paired(X[:1], X[1:2])[0]
    assert d(X.iloc[0][::-1], dicts[1]) == d.paired(X[:1], X[1:2])[0]
    assert_array_equal(d.pairwise(dicts[:3], dicts), d.pairwise(X[:3], X))
    assert_array_equal(d.contributions(dicts[0], dicts[1]), d.contributions(X[:1], X[1:2])[0])
    assert_array_equal(d.contributions(dicts[0], dicts), d.contributions(X[:1], X))
    assert_array_equal(d.outside(dicts), d.outside(X))


def test_estimators_and_indexes_take_dicts(row):
    X, model = row
    dicts = records(X)
    assert_array_equal(model.predict(dicts), model.predict(X))
    assert_array_equal(model.predict_proba(dicts[3]), model.predict_proba(X[3:4]))
    for a, b in zip(model.kneighbors(dicts), model.kneighbors(X), strict=True):
        assert_array_equal(a, b)
    of_dict, of_frame = model.explain_neighbors(dicts[4]), model.explain_neighbors(X[4:5])
    assert (of_dict.label, of_frame.label) == (None, 4)  # only a frame says what its rows are called
    assert str(replace(of_dict, label=4)) == str(of_frame)
    index = NeighborIndex(model.semimetric_).fit(X)
    for a, b in zip(index.kneighbors(dicts[2]), index.kneighbors(X[2:3]), strict=True):
        assert_array_equal(a, b)
    index.add(dicts[:2], ids=[100, 101])
    assert index.kneighbors(X[:1], 2)[1].tolist() == [[0, 100]]
    graph = SemimetricNeighborsTransformer(model.semimetric_).fit(X)
    assert_array_equal(graph.transform(dicts).toarray(), graph.transform(X).toarray())


def test_coordinates_of_dicts():
    model = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped").fit(NUMBERS, CLASSES)
    assert_array_equal(model.transform(records(NUMBERS)), model.transform(NUMBERS))


def test_a_series_counts_by_place_where_features_have_no_names():
    pairs = NUMBERS.to_numpy()[:30].reshape(-1, 2, 3)
    model = DistanceRegressor(n_knots=3, alpha=1e-2).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    d = model.semimetric_
    assert d(NUMBERS.iloc[0], NUMBERS.iloc[1]) == d(pairs[0, 0], pairs[0, 1])
    assert d({"x2": pairs[0, 0, 2], "x0": pairs[0, 0, 0], "x1": pairs[0, 0, 1]}, pairs[0, 1]) == d(*pairs[0])


BAD = {
    "missing": (lambda r: {k: v for k, v in r.items() if k != "age"}, "x has no 'age'", "a value for each feature", "give it"),
    "unknown": (lambda r: r | {"weight": 3.0}, "x names 'weight'", "the features are age, height, hour", "leave it out"),
    "misspelt": (
        lambda r: {("hieght" if k == "height" else k): v for k, v in r.items()},
        "x names 'hieght'",
        "the features are",
        "write 'height'",
    ),
    "columns": (lambda r: r | {"age": [1.0, 2.0]}, "x has a list for 'age'", "a dict is one row", "give pandas.DataFrame(x)"),
    "text": (lambda r: r | {"age": "old"}, "'old'", "number", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_names_are_refused_by_name(row, name):
    X, model = row
    change, *parts = BAD[name]
    first = records(X)[0]
    assert_refused(lambda: model.semimetric_(change(first), first), *parts)


def test_the_wrong_row_of_a_list_is_named(row):
    X, model = row
    dicts = records(X)
    del dicts[5]["hour"]
    assert_refused(
        lambda: model.predict(dicts), "row 5 of X has no 'hour'", "a value for each feature", "None if it is missing"
    )


PAIRS = RNG.integers(0, 30, (60, 2))
FITS = {
    "large margin": lambda X: LargeMarginLearner().fit(X, CLASSES),
    "classifier": lambda X: SemimetricClassifier().fit(X, CLASSES),
    "regressor": lambda X: SemimetricRegressor().fit(X, CLASSES),
    "distances": lambda X: DistanceRegressor(preprocessor=X).fit(PAIRS, np.ones(60)),
    "pairs": lambda X: PairLearner(preprocessor=X).fit(PAIRS, np.resize([1, -1], 60)),
    "approximator": lambda X: DistanceApproximator(lambda x, y: 1.0).fit(X),
    "index": lambda X: NeighborIndex("gower").fit(X),
    "gower": gower,
    "l1": Semimetric.l1,
    "clusterer": lambda X: SemimetricClusterer().fit(X),
    "imputer": lambda X: SemimetricImputer().fit(X),
    "outliers": lambda X: SemimetricOutlierDetector().fit(X),
    "pl1": lambda X: PL1Embedding().fit(X),
    "splines": lambda X: BSplineEmbedding().fit(X),
    "cones": lambda X: ConicEmbedding().fit(X, CLASSES),
    "linear": lambda X: EmbeddedLinearClassifier().fit(X, CLASSES),
    "boundary": lambda X: BoundaryPoints().fit(X, CLASSES),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_refuses_rows_by_name_and_says_what_to_give(name):
    dicts = records(MIXED)
    what = "preprocessor" if name in ("distances", "pairs") else "X"
    assert_refused(
        lambda: FITS[name](dicts), f"{what} is a list of dicts", "a table is required", f"give pandas.DataFrame({what})"
    )
    assert_refused(lambda: FITS[name](dicts[0]), f"{what} is a dict", "a table is required", f"give pandas.DataFrame([{what}])")


def test_names_for_columns_without_names_and_tuples_of_dicts_are_refused_in_words():
    X = NUMBERS.to_numpy()
    d, dicts = gower(X), records(NUMBERS)
    assert_refused(lambda: d(dicts[0], dicts[1]), "x names", "features are x0, x1, x2", "fit to a frame")
    pairs = [[dicts[i], dicts[j]] for i, j in PAIRS]
    assert_refused(lambda: DistanceRegressor().fit(pairs, np.ones(60)), "of an item by name", "in the order of the columns")
