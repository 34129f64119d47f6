"""Missing values from the nearest rows, against a loop over all of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semimetric as sm
from semimetric import InputError, Semimetric, SemimetricImputer

RNG = np.random.default_rng(0)
MIXED = pd.DataFrame(
    {
        "size": [1.0, 2.0, np.nan, 4.0, 9.0],
        "kind": pd.Categorical(["a", None, "b", "b", "a"]),
        "hour": [23.0, 1.0, 0.5, np.nan, 12.0],
        "when": pd.to_datetime(["2024-01-01", None, "2024-01-03", "2024-01-04", "2024-01-09"]),
        "count": pd.array([1, None, 3, 4, 9], dtype="Int64"),
    },
    index=list("vwxyz"),
)


def holes(X, share, rng):
    """X with a share of missing values, and a known one in every column."""
    out = np.where(rng.random(X.shape) < share, np.nan, X)
    out[0] = X[0]
    return out


def by_hand(d, fitted, row, k, n_neighbors, weights):
    """What the donors of a missing number give, one after another."""
    donors = [i for i in range(len(fitted)) if not np.isnan(fitted[i, k])]
    distances = d.pairwise(row[None], fitted[donors])[0]
    order = np.argsort(distances, kind="stable")[:n_neighbors]
    near, values = distances[order], fitted[donors, k][order]
    if weights == "uniform":
        votes = np.ones(len(order))
    else:
        votes = (near == 0).astype(float) if (near == 0).any() else 1 / near
    return votes @ values / votes.sum()


@given(seed=st.integers(0, 2**31), n_neighbors=st.integers(1, 60), weights=st.sampled_from(["uniform", "distance"]))
@settings(max_examples=15, deadline=None)
def test_numbers_are_means_of_the_nearest_donors(seed, n_neighbors, weights):
    rng = np.random.default_rng(seed)
    X, queries = holes(rng.normal(size=(50, 4)), 0.3, rng), holes(rng.normal(size=(7, 4)), 0.5, rng)
    model = SemimetricImputer(n_neighbors=n_neighbors, weights=weights).fit(X)
    filled = model.transform(queries)
    known = ~np.isnan(queries)
    np.testing.assert_array_equal(filled[known], queries[known])
    for i, k in np.argwhere(~known):
        hand = by_hand(model.semimetric_, X, queries[i], k, n_neighbors, weights)
        np.testing.assert_allclose(filled[i, k], hand, rtol=1e-9, atol=1e-9)


def test_what_is_missing_makes_no_donor_nearer():
    X = np.column_stack([np.arange(20.0), np.r_[np.full(10, -5.0), np.full(10, 50.0)]])
    model = SemimetricImputer(n_neighbors=3, weights="uniform").fit(X)
    np.testing.assert_allclose(model.transform([[np.nan, 50.0], [2.0, np.nan]]), [[11.0, 50.0], [2.0, -5.0]])


def test_categories_angles_and_times_of_a_frame():
    d = Semimetric.gower(MIXED, periodic={"hour": 24}, missing="constant")
    filled = SemimetricImputer(d, n_neighbors=2).fit_transform(MIXED)
    assert list(filled.columns) == list(MIXED.columns)
    assert list(filled.index) == list("vwxyz")
    assert not filled.isna().any().any()
    assert {name: str(filled[name].dtype)[:8] for name in ("kind", "when", "count")} == {
        "kind": "category",
        "when": "datetime",
        "count": "Float64",
    }
    assert filled.loc["w", "kind"] == "a"  # w is nearest to v, and a tie is decided by the nearest
    pd.testing.assert_frame_equal(filled.loc[["v", "z"]].astype(MIXED.dtypes), MIXED.loc[["v", "z"]])
    array = SemimetricImputer(d, n_neighbors=2).fit(MIXED).transform(MIXED[["size", "kind", "hour", "when", "count"]])
    pd.testing.assert_frame_equal(array, filled)


def test_the_mean_of_angles_goes_round():
    X = np.array([[23.0, 0.0], [1.0, 0.0], [12.0, 9.0], [np.nan, 0.0]])
    d = Semimetric.gower(X, periodic={0: 24}, missing="constant")
    assert SemimetricImputer(d, n_neighbors=2).fit_transform(X)[3, 0] in (0.0, pytest.approx(24.0), pytest.approx(0.0))
    opposite = np.array([[6.0, 0.0], [18.0, 0.0], [np.nan, 0.0]])
    d = Semimetric.gower(opposite, periodic={0: 24}, missing="constant")
    assert SemimetricImputer(d, n_neighbors=2).fit_transform(opposite)[2, 0] == 6.0


def test_frames_of_polars_and_arrays_of_objects_stay_what_they_are():
    frame = pl.DataFrame({"a": [1.0, None, 3.0], "b": pl.Series(["x", "x", None], dtype=pl.Categorical), "c": [1, 2, None]})
    filled = SemimetricImputer(n_neighbors=1).fit_transform(frame)
    assert isinstance(filled, pl.DataFrame)
    assert filled.rows() == [(1.0, "x", 1.0), (1.0, "x", 2.0), (3.0, "x", 2.0)] or filled.null_count().sum_horizontal()[0] == 0
    assert filled.dtypes[:2] == frame.dtypes[:2]
    table = np.array([["x", 1.0], ["y", None], [None, 3.0]], dtype=object)
    out = SemimetricImputer(n_neighbors=1).fit_transform(table)
    assert out.dtype == object
    assert out[0].tolist() == ["x", 1.0]
    assert None not in out.ravel().tolist()


def test_rows_with_few_near_donors_get_those_that_there_are():
    X = np.column_stack([np.arange(200.0), np.full(200, np.nan)])
    X[[150, 199], 1] = 7.0, 9.0
    model = SemimetricImputer(n_neighbors=5, weights="uniform").fit(X)
    np.testing.assert_array_equal(model.transform([[0.0, np.nan]]), [[0.0, 8.0]])
    assert SemimetricImputer(n_neighbors=1).fit(X).transform([[0.0, np.nan]])[0, 1] == 7.0


def test_a_learned_distance_finds_better_donors():
    X = RNG.normal(size=(300, 4))
    X[:, 3] = X[:, 0]
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    lacking = X.copy()
    lacking[::3, 3] = np.nan
    learner = sm.LargeMarginLearner(
        n_knots=5, alpha=1e-2, directions=None, tables="full", columns=sm.Columns(missing="level")
    ).fit(lacking, y)
    errors = [
        np.abs(SemimetricImputer(given).fit_transform(lacking)[::3, 3] - X[::3, 3]).mean() for given in (learner, "gower")
    ]
    assert errors[0] < errors[1]


def test_what_cannot_be_filled_is_refused():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    with pytest.raises(InputError, match="nothing but missing values"):
        SemimetricImputer().fit(X)
    d = Semimetric.gower([[1.0, 2.0], [2.0, 3.0]], missing="level")
    with pytest.raises(InputError, match="'x1' of X has no known value"):
        SemimetricImputer(d).fit(X)
    with pytest.raises(InputError, match='missing="level"'):
        SemimetricImputer(Semimetric.l1([[1.0], [2.0]])).fit([[1.0], [2.0]]).transform([[np.nan]])
    times = pd.DataFrame({"when": pd.to_datetime(["2024-01-01 08:00", "2024-01-02 20:00", None]), "size": [1.0, 2.0, 3.0]})
    hours = Semimetric.gower(times, periodic={"when": "day"}, missing="level")
    with pytest.raises(InputError, match="the day alone is compared"):
        SemimetricImputer(hours).fit(times).transform(times)
    for changes in ({"weights": "kernel"}, {"n_neighbors": 0}, {"semimetric": "l1"}):
        with pytest.raises(InputError):
            SemimetricImputer(**changes).fit(np.eye(3))


def test_a_constant_distance_to_what_is_missing_is_the_mean_of_all():
    X = np.array([[0.0], [1.0], [4.0], [np.nan]])
    d = Semimetric.gower(X, scale="range", missing="constant")
    mean = np.mean([1.0, 4.0, 3.0]) / 4.0
    np.testing.assert_allclose(d.pairwise(X[:3], X[3:])[:, 0], mean)
    assert not d.axioms.triangle or 2 * mean >= 1
    with pytest.raises(InputError, match="missing="):
        Semimetric.gower(X, missing="mean")


def test_truth_values_get_the_most_votes():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 5.0], "ok": [True, False, None, True, True]})
    assert SemimetricImputer(n_neighbors=3).fit_transform(frame)["ok"].tolist() == [1, 0, 1, 1, 1]
