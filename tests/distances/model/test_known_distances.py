import numpy as np
import pandas as pd
import pytest
import reference
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

import semimetric
from semimetric import NeighborIndex, Semimetric, SemimetricWarning, load

SEEDS = st.integers(0, 10_000)
KINDS = ("numeric", "categorical", "periodic", "numeric")


def mixed_table(seed, n=40, missing=False):
    """A number, text, an hour and a truth value a row, as objects."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n).round(3), rng.choice(["red", "green", "blue"], n), rng.uniform(0, 24, n), rng.random(n) > 0.5]
    table = np.array([list(row) for row in zip(*(c.tolist() for c in columns), strict=True)], dtype=object)
    if missing:
        table[rng.random(table.shape) < 0.2] = None
        table[0] = columns[0][0], "red", 3.0, True
    return table


def quartiles(values):
    """The quartiles and the median, by counting: the smallest values that so many are not above."""
    ordered = sorted(values)
    return [ordered[int(np.ceil(share * len(ordered))) - 1] for share in (0.25, 0.5, 0.75)]


def by_hand(table, x, y, scale, weights):
    """Gower's distance of two rows, every scale counted from the columns of the table."""
    widths, middles = [], []
    for kind, column in zip(KINDS, table.T, strict=True):
        values = [float(v) for v in column if v is not None] if kind == "numeric" else []
        low, middle, high = quartiles(values) if values else (0.0, 0.0, 0.0)
        spread = (high - low) or (max(values) - min(values) if values else 0.0) or 1.0
        full = (max(values) - min(values) if values else 0.0) or 1.0
        widths.append({"categorical": 1.0, "periodic": 12.0}.get(kind, spread if scale == "iqr" else full))
        middles.append((middle, 0.25 * spread))
    return reference.gower(x, y, KINDS, widths, np.asarray(weights) / np.sum(weights), middles)


@given(SEEDS, st.sampled_from(["iqr", "range"]), st.booleans())
def test_gower_is_that_of_a_hand_with_wild_values_and_new_categories(seed, scale, missing):
    table, queries = mixed_table(seed, missing=missing), mixed_table(seed + 1, 12, missing)
    queries[1, 0], queries[2, 0], queries[3, 1], queries[4, 2] = 1e3, -50.0, "violet", -30.0
    weights = np.random.default_rng(seed).random(4) + 0.1
    options = {"periodic": {2: 24}, "categorical_features": [1], "missing": "level" if missing else "error"}
    d = Semimetric.gower(table, scale=scale, weights=weights, **options)
    rows = [[None if isinstance(v, float) and np.isnan(v) else v for v in row] for row in queries.tolist()]
    want = [[by_hand(table, x, y, scale, weights) for y in rows] for x in rows]
    np.testing.assert_allclose(d.pairwise(queries), want, rtol=1e-12, atol=1e-12)
    assert d.axioms.name == "metric"


def test_gower_of_1971_lies_between_0_and_1_in_the_table():
    table = mixed_table(0)
    d = Semimetric.gower(table, scale="range", categorical_features=[1], periodic={2: 24})
    assert 0.5 < d.pairwise(table).max() <= 1.0


def test_a_few_wild_values_change_a_robust_distance_little():
    table = mixed_table(0, 400)
    wild = table.copy()
    wild[:4, 0] = 1e6
    for scale, least in (("iqr", 0.9), ("range", 0.0)):
        d, e = (Semimetric.gower(t, scale=scale, categorical_features=[1], periodic={2: 24}) for t in (table, wild))
        typical = [np.median(m.contributions(table[4:200], table[200:396])[:, 0]) for m in (d, e)]
        assert (typical[1] > 0.9 * typical[0]) == (least > 0)


def test_a_column_without_spread_has_the_scale_of_its_range_or_1():
    d = Semimetric.gower([[0.0, 5.0]] * 9 + [[8.0, 5.0]])
    assert d([0.0, 5.0], [8.0, 5.0]) == 0.5
    assert d([0.0, 5.0], [0.0, 7.0]) == 1.0
    assert d.axioms.name == "metric"


def test_columns_of_thousands_of_categories_keep_gowers_distance(tmp_path):
    table = [[f"city {k}", float(k % 50)] for k in range(1500)]
    d = Semimetric.gower(table, categorical_features=[0])
    assert d(table[0], table[1]) == pytest.approx(0.5 + 0.5 / 25)
    assert d.axioms.name == "semimetric"
    d.save(tmp_path / "d.smm")
    np.testing.assert_array_equal(load(tmp_path / "d.smm").pairwise(table[:20]), d.pairwise(table[:20]))
    distances, ids = NeighborIndex(d).fit(table).kneighbors(table[:3], 2)
    np.testing.assert_allclose(distances[:, 1], 0.5)
    assert ids[0].tolist() == [0, 50]


def test_a_frame_gives_names_and_categories_and_weights_go_by_name():
    frame = pd.DataFrame({"age": [20.0, 30, 40, 50], "job": pd.Categorical(["a", "b", "a", "b"]), "noise": [0.0, 9, 1, 7]})
    d = semimetric.gower(frame, weights={"age": 3, "noise": 0})
    assert set(d.terms) == {"age", "job", "noise", "outside range"}
    assert d.pairwise(frame)[0, 1] == pytest.approx(0.75 * 10 / 20 + 0.25)
    assert d.axioms.name == "pseudometric"


@given(SEEDS)
def test_l1_is_scipys_city_block_within_and_beyond_the_range(seed):
    rng = np.random.default_rng(seed)
    X, Q, w = rng.normal(size=(30, 4)), 50 * rng.normal(size=(20, 4)), rng.random(4)
    d = Semimetric.l1(X, weights=w)
    np.testing.assert_allclose(d.pairwise(Q, X), cdist(Q, X, "cityblock", w=w), rtol=1e-12)
    np.testing.assert_allclose(cdist(d.transform(Q), d.transform(X), "cityblock"), d.pairwise(Q, X), rtol=1e-12)
    assert d.axioms.name == "metric"


@pytest.mark.slow
@given(SEEDS, st.integers(2, 9))
def test_emd_is_scipys_wasserstein_distance(seed, n_bins):
    rng = np.random.default_rng(seed)
    positions = rng.permutation(np.cumsum(rng.random(n_bins) + 0.01))
    H = rng.dirichlet(np.ones(n_bins), 8)
    d = Semimetric.emd(positions)
    want = [[wasserstein_distance(positions, positions, u, v) for v in H] for u in H]
    np.testing.assert_allclose(d.pairwise(H), want, rtol=1e-9, atol=1e-12)
    many = Semimetric.emd(positions, mass=1000.0)
    np.testing.assert_allclose(many.pairwise(1000 * H), 1000 * np.array(want), rtol=1e-9, atol=1e-9)
    assert many.outside(1000 * H).max() == 0.0
    assert d.axioms.name == "pseudometric"


@pytest.mark.parametrize("make", [Semimetric.gower, Semimetric.l1, lambda X: Semimetric.emd([0.0, 1.0, 3.0])])
def test_index_files_and_explanations_take_them_at_once(make, tmp_path):
    X = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    d = make(X)
    d.save(tmp_path / "d.smm")
    np.testing.assert_array_equal(load(tmp_path / "d.smm").pairwise(X), d.pairwise(X))
    distances, ids = NeighborIndex(d).fit(X).kneighbors(X[:40], 5)
    np.testing.assert_allclose(distances, np.sort(d.pairwise(X[:40], X))[:, :5], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(d.contributions(X[0], X[1:3]).sum(axis=1), d.pairwise(X[:1], X[1:3])[0])


BAD = {
    "scale": (lambda: Semimetric.gower([[0.0]], scale="std"), "scale='std'", "'iqr'"),
    "weights": (lambda: Semimetric.l1([[0.0]], weights=[1.0, 2.0]), "weights= has the shape (2,);", "1 numbers"),
    "a negative weight": (lambda: Semimetric.l1([[0.0]], weights=[-1.0]), "weights= has the least value -1;", ">= 0"),
    "an unknown column": (lambda: Semimetric.gower([[0.0]], weights={"age": 1}), "'age'", "weights="),
    "no weight": (lambda: Semimetric.gower([[0.0]], weights={0: 0}), "all 0", "> 0"),
    "missing": (lambda: Semimetric.gower([[0.0], [np.nan]], missing="error"), "row 1", 'missing="level"'),
    "a tiny column": (lambda: Semimetric.gower([[0.0], [1e-305]]), "'x0'", "1e-305", "rescale"),
    "a plane": (lambda: Semimetric.emd([[0.0, 1.0], [1.0, 0.0]]), "(2, 2)", "HistogramFeatures"),
    "a place twice": (lambda: Semimetric.emd([0.0, 1.0, 1.0]), "no two bins", "merge"),
    "one bin": (lambda: Semimetric.emd([0.0]), "bin_positions are 1 numbers", "two bins"),
    "no bin": (lambda: Semimetric.emd([]), "bin_positions are 0 numbers", "two bins"),
    "bins too far apart": (lambda: Semimetric.emd([-1e308, 1e308]), "none beyond 1e+300", "rescale"),
    "mass": (lambda: Semimetric.emd([0.0, 1.0], mass=0), "mass=0", "> 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, *words = BAD[name]
    assert_refused(call, *words, error=ValueError)


def test_a_table_as_people_have_it_needs_no_parameters():
    frame = pd.DataFrame(
        {
            "size": [1.0, 2.0, None, 4.0],
            "colour": ["red", "blue", None, "red"],
            "when": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-03-01"]),
            "new": [True, False, True, True],
        }
    )
    d = Semimetric.gower(frame)
    given = Semimetric.gower(frame, categorical_features=["colour"], missing="level")
    assert_array_equal(d.pairwise(frame), given.pairwise(frame))
    assert Semimetric.gower(frame[["new"]]).schema.plain
    assert_refused(lambda: Semimetric.gower(frame, missing="error"), "row 2 of X has a missing value", "missing=")
    assert_refused(lambda: Semimetric.gower(frame, categorical_features=None), "column 'colour' of X is not of numbers", "")
    names = pd.DataFrame({"name": [f"n{k}" for k in range(30)], "size": range(30)})
    with pytest.warns(SemimetricWarning, match=r"'name' \(30 different texts in 30 rows\)"):
        assert Semimetric.gower(names).feature_names == ("size",)
    assert_refused(lambda: Semimetric.gower(names[["name"]]), "all are left out", "30 different texts", "Columns(")


def test_a_column_is_named_once():
    X = np.random.default_rng(0).random((20, 3))
    for make in (Semimetric.gower, Semimetric.l1):
        assert_refused(
            lambda make=make: make(X, weights={0: 2, "x0": 3}), "weights= names the column 'x0' twice", "leave one out"
        )
    assert_refused(lambda: Semimetric.gower(X, periodic={1: 2.0, "x1": 3.0}), "periodic= names the column 'x1' twice", "once")
