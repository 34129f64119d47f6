"""Tables as people have them: frames with categories, angles and missing values, from `fit` to search and files."""

import pickle
from copy import deepcopy
from functools import cache

import cases
import numpy as np
import pytest
import reference
from cases import assert_refused
from learners import made
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from semimetric import (
    Columns,
    DistanceApproximator,
    DistanceRegressor,
    InputError,
    NeighborIndex,
    NotSupportedError,
    SemimetricNeighborsTransformer,
    SemimetricWarning,
    UniformDirections,
    load,
)

pd = pytest.importorskip("pandas")
COLOURS = ["blue", "green", "red", "white"]
BETWEEN = np.array([[0, 1, 3, 2], [1, 0, 2, 2.5], [3, 2, 0, 1], [2, 2.5, 1, 0]])
KINDS, WIDTHS = ("categorical", "periodic", "numeric"), (1.0, 12.0, 1.0)


def around(a, b, period=24.0):
    """The distance on a circle."""
    return np.minimum((a - b) % period, (b - a) % period)


def table(n=120, seed=0, *, missing=0.0):
    """Items with a colour, an hour and a size, and the true distance of rows i and j, to which missing values add 1 each."""
    rng = np.random.default_rng(seed)
    codes, hour, size = rng.integers(0, 4, n), rng.uniform(0, 24, n), rng.random(n)
    frame = pd.DataFrame({"colour": pd.Categorical.from_codes(codes, COLOURS), "hour": hour, "size": size})
    gone = rng.random((n, 3)) < missing
    for k, name in enumerate(frame):
        frame.loc[gone[:, k], name] = np.nan

    def true(i, j):
        parts = np.stack(
            [BETWEEN[codes[i], codes[j]], around(hour[i], hour[j]) / 4, np.abs(size[i] ** 2 - size[j] ** 2)], axis=1
        )
        return np.where(gone[i] | gone[j], (gone[i] != gone[j]) * 1.0, parts).sum(axis=1)

    return frame, true


def learned(frame, true, seed=1, n_pairs=1500, **options):
    pairs = np.random.default_rng(seed).integers(0, len(frame), (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    options = {"n_knots": 9, "alpha": 1e-5, "periodic": {"hour": 24}} | options
    return made(DistanceRegressor, preprocessor=frame, **options).fit(pairs, true(*pairs.T)), pairs


MODELS = {
    "singles": {},
    "pairs": {"groups": "pairs", "n_knots": 4},
    "warped": {"tables": "warped"},
    "joint": {"groups": [("colour", "hour", "size")], "n_knots": 4},
    "premetric": {"axioms": "premetric"},
    "square root": {"link": "sqrt"},
    "directions": {"directions": [[0.0, 0.0, 2.0]]},
    "missing": {"missing": "level"},
    "missing pairs": {"missing": "level", "groups": "pairs", "n_knots": 4},
    "missing warped": {"missing": "level", "tables": "warped", "directions": [[0.0, 0.0, 2.0]]},
}
every_model = pytest.mark.parametrize("name", MODELS)


@cache
def fitted(name):
    options = MODELS[name]
    frame, true = table(missing=0.15 if "missing" in options else 0.0)
    model, pairs = learned(frame, true, **options)
    return model, frame, pairs, true


def model_of(name):
    """A copy of a model that is fitted once, with its frame, pairs and true distance."""
    model, frame, pairs, true = fitted(name)
    return deepcopy(model), frame.copy(), pairs.copy(), true


def queries(name):
    """Rows beyond the range, beyond the turn, of colours that were not in the fit, and some with missing values."""
    frame, _ = table(20, seed=9, missing=0.3 if "missing" in MODELS[name] else 0.0)
    frame["size"] = 3 * frame["size"] - 1
    frame["hour"] += 24 * (np.arange(20) % 3)
    frame["colour"] = frame["colour"].astype(object)
    frame.loc[[3, 7], "colour"] = ["pink", "grey"]
    return frame


@every_model
def test_learns_what_is_there(name):
    model, _, pairs, true = model_of(name)
    assert model.score(pairs, true(*pairs.T)) > (0.9 if name != "square root" else 0.8)
    assert model.semimetric_.axioms.positive


@every_model
def test_a_saved_distance_loads_identical_to_the_bit(name, tmp_path):
    model, frame, _, _ = model_of(name)
    d, X = model.semimetric_, queries(name)
    d.save(tmp_path / "model.smm")
    again = load(tmp_path / "model.smm")
    assert (again.pairwise(X, frame) == d.pairwise(X, frame)).all()
    assert (again.contributions(X, X[::-1]) == d.contributions(X, X[::-1])).all()
    assert (again.schema, again.axioms, again.terms, repr(again)) == (d.schema, d.axioms, d.terms, repr(d))
    assert (pickle.loads(pickle.dumps(d)).pairwise(X) == d.pairwise(X)).all()


@every_model
def test_the_index_is_brute_force_and_can_be_saved(name, tmp_path):
    model, frame, _, _ = model_of(name)
    d, X = model.semimetric_, queries(name)
    index = NeighborIndex(d).fit(frame)
    distances, _ = index.kneighbors(X, 7)
    assert_allclose(distances, np.sort(d.pairwise(X, frame), axis=1)[:, :7], rtol=1e-9, atol=1e-9)
    index.add(X.iloc[:5], ids=np.arange(1000, 1005)).remove([0, 1]).save(tmp_path / "items.index")
    again = load(tmp_path / "items.index")
    for got, want in zip(again.kneighbors(X, 7), index.kneighbors(X, 7), strict=True):
        assert_array_equal(got, want)
    assert_allclose(again.kneighbors(X.iloc[:5], 1)[0], 0.0, atol=1e-9)
    graph = SemimetricNeighborsTransformer(d, n_neighbors=3).fit(frame).transform(frame.iloc[:4])
    assert graph.shape == (4, len(frame))


@every_model
def test_contributions_sum_and_pairwise_is_paired(name):
    model, frame, _, _ = model_of(name)
    d, X = model.semimetric_, queries(name)
    total = d.link_function.invert(d.paired(X, frame.iloc[:20]))
    assert_allclose(d.contributions(X, frame.iloc[:20]).sum(axis=1), total, rtol=1e-9, atol=1e-12)
    assert_allclose(np.diag(d.pairwise(X, frame.iloc[:20])), d.paired(X, frame.iloc[:20]), rtol=1e-9, atol=1e-9)
    x, y = X.iloc[3], frame.iloc[4]
    assert d(x, y) == d(x.tolist(), y.tolist()) == d.paired(X.iloc[3:4], frame.iloc[4:5])[0]
    assert d.contributions(x, y).shape == (len(d.terms),)


@pytest.mark.parametrize("name", ["singles", "pairs", "warped", "missing"])
def test_another_order_of_the_categories_changes_nothing(name):
    model, frame, pairs, true = model_of(name)
    other = frame.assign(colour=frame["colour"].cat.reorder_categories(["white", "blue", "red", "green"]))
    again = clone(model).set_params(preprocessor=other).fit(pairs, true(*pairs.T))
    X = queries(name)
    assert_allclose(again.semimetric_.pairwise(X), model.semimetric_.pairwise(X), rtol=1e-5, atol=1e-5)
    if name == "singles":
        one, two = (m.semimetric_.tables()["colour"].values for m in (model, again))
        order = [COLOURS.index(c) for c in ["white", "blue", "red", "green"]]
        assert_allclose(two[:4, :4], one[np.ix_(order, order)], atol=1e-5)
        assert_allclose(one[:4, :4], BETWEEN, atol=0.02)


@every_model
def test_a_periodic_feature_has_no_seam(name):
    d = model_of(name)[0].semimetric_
    hours = np.linspace(0, 24, 200, endpoint=False)
    X = [["red", h, 0.5] for h in hours]
    once, again = d.pairwise(X, [["red", 5.0, 0.5]]), d.pairwise([["red", h + 48, 0.5] for h in hours], [["red", -19.0, 0.5]])
    assert_allclose(again, once, atol=1e-6)
    power = 2 if d.link == "sqrt" else 1
    steps = np.abs(np.diff(once[:, 0] ** power, append=once[0, 0] ** power))
    assert steps.max() < 0.4 ** (1 / power)  # 200 steps around: a jump at the seam would be as large as the distance


def test_a_distance_on_the_circle_is_learned_by_a_periodic_feature_alone():
    rng = np.random.default_rng(0)
    X, pairs = rng.uniform(0, 360, (300, 1)), rng.integers(0, 300, (4000, 2))
    y = around(*X[pairs.T, 0], period=360.0)
    scores = [
        made(DistanceRegressor, n_knots=6, alpha=1e-6, knots="uniform", preprocessor=X, **told).fit(pairs, y).score(pairs, y)
        for told in ({"periodic": {0: 360}}, {"tables": "warped"})
    ]
    assert scores[0] > 0.99 > scores[1] + 0.1


def test_a_plain_gower_distance_is_recovered():
    frame, _ = table()
    weights = [2.0, 3.0, 1.5]
    rows = frame.astype(object).to_numpy().tolist()

    def true(i, j):
        return np.array([reference.gower(rows[a], rows[b], KINDS, WIDTHS, weights) for a, b in zip(i, j, strict=True)])

    knots = [None, np.arange(0, 24, 2.0), [0.0, 1.0]]
    model, pairs = learned(frame, true, knots=knots, delta=0.0, alpha=1e-8)
    assert model.semimetric_.embedding.grid.sizes.tolist() == [5, 13, 2]
    assert_allclose(model.semimetric_.tables()["colour"].values[:4, :4], 2.0 * (1 - np.eye(4)), atol=0.01)
    assert model.score(pairs, true(*pairs.T)) > 0.9999


def test_units_of_the_features_change_nothing():
    frame, true = table()
    model, pairs = learned(frame, true)
    scaled = frame.assign(hour=frame["hour"] * 15, size=frame["size"] * 1e-6)
    again = clone(model).set_params(preprocessor=scaled, columns__periodic={"hour": 360}).fit(pairs, true(*pairs.T))
    assert_allclose(again.semimetric_.pairwise(scaled), model.semimetric_.pairwise(frame), rtol=1e-4, atol=1e-6)


def test_a_category_that_was_not_in_the_fit_is_at_the_mean_of_the_others():
    model, frame, pairs, _ = model_of("singles")
    d = model.semimetric_
    known = d.tables()["colour"].values[:4, :4]
    at = [d(["pink", 1, 0.5], [colour, 1, 0.5]) for colour in COLOURS]
    assert_allclose(at, known.sum(axis=1) / 3)
    assert d(["pink", 1, 0.5], ["grey", 1, 0.5]) == 0
    assert_allclose(d.outside([["pink", 30, 0.5], ["red", 1, 9.0]]), [0.5, 0, 0.5])
    new = pd.concat([frame.astype({"colour": object}), pd.DataFrame([["pink", 1, 0.5]], columns=list(frame))])
    model.set_params(preprocessor=new)
    with pytest.warns(SemimetricWarning, match=r"colour 50 %.*a category that was not in the fit is at the mean distance"):
        model.predict([[0, len(frame)]])


def test_a_missing_value_that_was_never_seen_is_across_half_the_range():
    frame, true = table()
    frame.loc[0, "hour"] = np.nan  # of a row that no pair names
    model, pairs = learned(frame, lambda i, j: true(i, j) + (i == 0) + (j == 0), missing="level")
    d, x = model.semimetric_, ["red", 3.0, 0.5]
    assert d(["red", 3.0, None], x) > 0
    assert d(["red", 3.0, None], ["red", 3.0, np.nan]) == 0
    assert d([None, 3.0, 0.5], x) == pytest.approx(d([None, 3.0, 0.5], ["blue", 3.0, 0.5]), rel=0.2)


def test_a_new_category_of_a_constant_feature_weighs_like_any_difference():
    frame, _ = table()
    frame["colour"] = pd.Categorical(["red"] * len(frame))

    def true(i, j):
        return np.abs(frame["size"].to_numpy()[i] - frame["size"].to_numpy()[j])

    with pytest.warns(SemimetricWarning, match="feature colour is constant"):
        d = learned(frame, true)[0].semimetric_
    assert 0.05 < d(["blue", 3.0, 0.5], ["red", 3.0, 0.5]) < 1.5


def test_numbers_that_may_be_missing_come_as_arrays_too():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 2)) < 0.2, np.nan, rng.random((80, 2)))
    pairs = rng.integers(0, 80, (900, 2))
    y = np.nan_to_num(np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]), nan=0.4).sum(axis=1)
    options = {"missing": "level", "knots": [[0.0, 0.5, 1.0]] * 2, "alpha": 1e-4}
    one = made(DistanceRegressor, **options).fit(X[pairs], y)
    two = made(DistanceRegressor, **options, preprocessor=X).fit(pairs, y)
    assert_allclose(one.predict(X[pairs]), two.predict(pairs), rtol=1e-6)
    assert two.score(pairs, y) > 0.8
    index = NeighborIndex(two.semimetric_).fit(X)
    distances, _ = index.kneighbors(n_neighbors=3)
    every = two.semimetric_.pairwise(X) + np.diag(np.full(80, np.inf))
    assert_allclose(distances, np.sort(every, axis=1)[:, :3], atol=1e-12)
    assert index.estimate_recall(X[:20], 3).mean > 0.9
    with pytest.raises(InputError, match="NaN"):
        NeighborIndex(two.semimetric_).fit(np.full((3, 2), np.inf))


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_more_than_16_levels_are_searched_exactly(tables):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"place": rng.integers(0, 50, 3000).astype(str), "size": rng.random(3000)})
    pairs = rng.integers(0, 3000, (3000, 2))
    places = rng.random((50, 3))
    at = places[frame["place"].astype(int)]
    y = np.abs(at[pairs[:, 0]] - at[pairs[:, 1]]).sum(axis=1) + np.abs(np.diff(frame["size"].to_numpy()[pairs], axis=1))[:, 0]
    model = DistanceRegressor(n_knots=5, alpha=1e-4, tables=tables, columns=Columns(["place"]), preprocessor=frame)
    d = model.fit(pairs, y).semimetric_
    index, X = NeighborIndex(d).fit(frame), frame.iloc[:30]
    exact, brute = index.search(X, 8), index.search(X, 8, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    assert_array_equal(exact.distances, brute.distances)
    assert_allclose(exact.distances, np.sort(d.pairwise(X, frame), axis=1)[:, :8], atol=1e-12)


def test_too_many_levels_to_hold_a_table_still_learn():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(1500) // 1, rng.random(1500)]).astype(np.float64)
    pairs = rng.integers(0, 1500, (2000, 2))
    y = 1.0 + np.abs(X[pairs[:, 0], 1] - X[pairs[:, 1], 1])
    options = {"categorical_features": [0], "n_knots": 3, "alpha": 1e-3, "preprocessor": X}
    d = made(DistanceRegressor, **options).fit(pairs, y).semimetric_
    assert d([3, 0.5], [7, 0.5]) > 0
    exact = NeighborIndex(d).fit(X).kneighbors(X[:3], 4)[0]
    assert_allclose(exact, np.sort(d.pairwise(X[:3], X), axis=1)[:, :4], atol=1e-9)
    assert_refused(
        lambda: made(DistanceRegressor, **options, tables="warped").fit(pairs, y),
        "1501 levels",
        "merge rare",
        error=NotSupportedError,
    )


def test_points_in_object_arrays_are_pairs_too():
    frame, true = table()
    model, pairs = learned(frame, true, knots=[None, np.arange(0, 24, 3.0), [0.0, 0.5, 1.0]])
    points = frame.astype(object).to_numpy()[pairs]
    told = {"columns__categorical": [0], "columns__periodic": {1: 24}, "preprocessor": None}
    again = clone(model).set_params(**told).fit(points, true(*pairs.T))
    assert_allclose(again.predict(points), model.predict(pairs), rtol=1e-6, atol=1e-6)
    codes = np.column_stack([frame["colour"].cat.codes, frame[["hour", "size"]]])[pairs]
    numbers = clone(model).set_params(**told).fit(codes, true(*pairs.T))
    assert_allclose(numbers.predict(codes), model.predict(pairs), rtol=1e-6, atol=1e-6)


def test_polars_and_pandas_give_the_same(tmp_path):
    polars = pytest.importorskip("polars")
    model, frame, pairs, true = model_of("missing")
    cells = {name: [None if pd.isna(c) else c for c in frame[name]] for name in frame}
    other = polars.DataFrame(cells, schema_overrides={"colour": polars.Enum(COLOURS)})
    again = clone(model).set_params(preprocessor=other).fit(pairs, true(*pairs.T))
    assert (again.predict(pairs) == model.predict(pairs)).all()
    assert (again.semimetric_.pairwise(other) == model.semimetric_.pairwise(frame)).all()
    assert list(again.feature_names_in_) == list(frame)


def test_blocks_add_up_to_one_fit():
    frame, true = table()
    knots = [None, np.arange(0, 24, 4.0), [0.0, 0.5, 1.0]]
    whole, pairs = learned(frame, true, knots=knots)
    parts = clone(whole)
    for block in np.array_split(pairs, 3):
        parts.partial_fit(block, true(*block.T))
    assert_allclose(parts.semimetric_.weights, whole.semimetric_.weights, rtol=1e-5, atol=1e-7)
    assert parts.semimetric_.schema == whole.semimetric_.schema


@pytest.mark.slow
def test_searches_of_parameters_and_auto_take_frames():
    frame, true = table(80)
    model, pairs = learned(frame, true)
    auto = DistanceRegressor(preprocessor=frame, columns=Columns(periodic={"hour": 24})).fit(pairs, true(*pairs.T))
    assert auto.score(pairs, true(*pairs.T)) > 0.9
    search = GridSearchCV(model, {"columns__periodic": [None, {"hour": 24}]}, cv=3).fit(pairs, true(*pairs.T))
    assert search.best_params_ == {"columns__periodic": {"hour": 24}}


def plain(x, y):
    """A distance that needs the values themselves."""
    return 2.0 * (x[0] != y[0]) + float(around(x[1], y[1])) / 4 + abs(x[2] - y[2])


def test_distances_given_as_functions_see_the_values():
    frame, _ = table()
    options = {"periodic": {"hour": 24}, "n_knots": 8, "alpha": 1e-5}
    model = made(DistanceApproximator, plain, n_pairs=1500, **options).fit(frame)
    assert model.error_quantiles_[0.5] < 0.05
    assert_refused(
        lambda: made(DistanceApproximator, plain, method="vertices", **options).fit(frame), "vertices", "numbers", "regress",
        error=NotSupportedError,
    )  # fmt: skip


def test_base_distances_see_the_values_and_are_given_again(tmp_path):
    frame, true = table()
    model, pairs = learned(frame, lambda i, j: true(i, j) + 2.0, base_distances=[plain])
    d = model.semimetric_
    d.save(tmp_path / "model.smm")
    again = load(tmp_path / "model.smm", base_distances=[plain])
    assert (again.pairwise(frame.iloc[:9]) == d.pairwise(frame.iloc[:9])).all()
    index = NeighborIndex(d, rerank=plain, n_candidates=120).fit(frame)
    rows = frame.astype(object).to_numpy()
    want = np.sort([plain(rows[0], row) for row in rows])[:5]
    assert_allclose(index.kneighbors(frame.iloc[:1], 5)[0][0], want, atol=1e-12)


def test_directions_combine_numbers():
    rng = np.random.default_rng(0)
    frame, true = table(missing=0.1)
    frame["weight"] = rng.random(len(frame))
    for directions, n in (
        ("pca", 2),
        (UniformDirections(["size", "weight"], n_directions=4), 2),
        (UniformDirections(n_directions=4), 2),
    ):
        model, _ = learned(frame, true, missing="level", directions=directions)
        d = model.semimetric_
        assert len(d.columns) <= 4 + n
        assert np.isfinite(d.pairwise(frame)).all()
        if d.directions is not None:
            assert not d.directions.matrix[:, :2].any()
    for wrong in ([[1.0, 0.0, 1.0, 0.0]], UniformDirections(["colour", "size"])):
        assert_refused(lambda w=wrong: learned(frame, true, missing="level", directions=w), "'colour'", "combine numbers")


def test_tables_of_any_kind_can_be_metrics():
    model, _, pairs, true = model_of("warped")
    assert clone(model).set_params(axioms="metric").fit(pairs, true(*pairs.T)).semimetric_.axioms.name == "metric"


def test_what_needs_numbers_says_so():
    model, frame, *_ = model_of("warped")
    d = model.semimetric_
    assert_refused(d.get_numba_metric, "categorical, periodic", "NeighborIndex", error=NotSupportedError)
    assert_refused(lambda: d.transform(frame), "only warped models", "pairwise(X)", error=NotSupportedError)
    codes = np.column_stack([frame["colour"].cat.codes + 0.5, frame[["hour", "size"]]])
    assert_refused(lambda: d.embedding.locate(codes), "feature 0 is categorical", "codes from 0 to 4")


TABLE, TRUE = table()
BAD = {
    "text": (
        TABLE.astype({"colour": str}),
        {"categorical_features": None},
        "column 'colour' of preprocessor is not of numbers",
        "categorical_features=",
    ),
    "missing": (table(missing=0.1)[0], {"missing": "error"}, "has a missing value (NaN", 'missing="level"'),
    "all missing": (
        TABLE.assign(size=np.nan),
        {"missing": "level", "drop": None},
        "'size' of preprocessor holds nothing but missing",
        "drop it",
    ),
    "no such period": (TABLE, {"periodic": {"minute": 60}}, "periodic= names the feature 'minute'", "correct it"),
    "missing=": (TABLE, {"missing": "mean"}, "missing='mean'", "'error', 'level'"),
    "durations": (TABLE.assign(size=pd.Timedelta(days=1)), {}, "column 'size' of preprocessor holds durations", "numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused(name):
    frame, options, *parts = BAD[name]
    assert_refused(lambda: learned(frame, TRUE, **options), *parts, error=InputError)


def test_an_index_of_other_categories_does_not_share_cells():
    model, frame, pairs, true = model_of("singles")
    other = frame.assign(colour=frame["colour"].cat.reorder_categories(["white", "blue", "red", "green"]))
    again = clone(model).set_params(preprocessor=other).fit(pairs, true(*pairs.T))
    index = NeighborIndex(model.semimetric_).fit(frame)
    assert_refused(lambda: index.with_semimetric(again.semimetric_), "another grid", "fit a new NeighborIndex")


def test_tags_say_what_a_learner_takes():
    assert not DistanceRegressor().__sklearn_tags__().input_tags.allow_nan
    assert DistanceRegressor(columns=Columns(missing="level")).__sklearn_tags__().input_tags.allow_nan
    assert cases.FAST
