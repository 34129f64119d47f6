"""A table that all features share: where it is taken, how well it does, and what it does not go with."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from semimetric import (
    Columns,
    DistanceApproximator,
    DistanceRegressor,
    InputError,
    Monotone,
    NeighborIndex,
    NotSupportedError,
    Program,
    Tables,
    gower,
    load,
)
from semimetric.distances.learning import measured_fit
from semimetric.distances.learning.measured_fit import full_unless_shared_gains
from semimetric.distances.learning.search import Candidate

RNG = np.random.default_rng(0)
HISTOGRAMS = RNG.dirichlet(np.full(12, 0.3), 160)
INDEX = RNG.integers(0, 160, (2_000, 2))
NEW = RNG.dirichlet(np.full(12, 0.3), 60)


def smoothed(x, y):
    """A distance of histograms that has no name: a chi-squared one whose small bins count less, under a root."""
    return np.sqrt(((x - y) ** 2 / (x + y + 0.05)).sum(axis=-1))


def between(X, Y):
    return smoothed(X[:, None], Y[None])


SMOOTHED = smoothed(*HISTOGRAMS[INDEX.T])
UNEQUAL = np.abs(HISTOGRAMS[INDEX[:, 0]] - HISTOGRAMS[INDEX[:, 1]]) ** 1.5 @ np.geomspace(1.0, 30.0, 12)
NAMES = [f"bin {k}" for k in range(12)]


def fitted(y=SMOOTHED, **options):
    return DistanceRegressor(preprocessor=HISTOGRAMS, effort="fast", **options).fit(INDEX, y)


@pytest.fixture(scope="module")
def shared():
    return fitted()


@pytest.fixture(scope="module")
def full():
    return DistanceRegressor(preprocessor=HISTOGRAMS, effort="fast", tables="full").fit(INDEX, SMOOTHED)


def error(model):
    above = np.triu_indices(60, 1)
    return np.median(np.abs(model.semimetric_.pairwise(NEW, NEW)[above] / between(NEW, NEW)[above] - 1.0))


def test_a_distance_of_equal_columns_is_found_by_default(shared, full):
    assert shared.recipe_.tables == "shared"
    assert full.recipe_.tables == "full"
    assert error(shared) < 1e-3
    assert error(shared) < error(full) / 5
    assert {c.settings["tables"] for c in shared.table_choices_} == {"full", "shared"}
    assert shared.table_choices_.chosen.settings["tables"] == "shared"
    assert not full.table_choices_
    assert "relative error" in repr(shared.table_choices_)


def test_what_is_learned_is_a_distance_with_equal_tables(shared):
    d = shared.semimetric_
    tables = list(d.tables().values())
    assert len(tables) == 12
    for table in tables:
        assert_array_equal(table.values, tables[0].values)
        assert_array_equal(table.knots[0], tables[0].knots[0])
    assert d.axioms.name == "semimetric"
    assert shared.groups_ == tuple((f,) for f in range(12))


def test_the_index_and_the_file_give_the_same(shared, tmp_path):
    d = shared.semimetric_
    D = d.pairwise(NEW[:9], HISTOGRAMS)
    found, rows = NeighborIndex(d).fit(HISTOGRAMS).kneighbors(NEW[:9], 5)
    assert_allclose(found, np.sort(D, axis=1)[:, :5], rtol=1e-9)
    assert_allclose(np.take_along_axis(D, rows, axis=1), found, rtol=1e-9)
    shared.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert_array_equal(again.semimetric_.pairwise(NEW[:9], HISTOGRAMS), D)
    assert repr(again.table_choices_) == repr(shared.table_choices_)
    assert again.recipe_.tables == "shared"


def test_columns_of_unequal_weight_have_tables_of_their_own():
    model = fitted(UNEQUAL)
    assert model.recipe_.tables == "full"
    losses = {c.settings["tables"]: c.loss for c in model.table_choices_}
    assert losses["full"] < losses["shared"]


def test_both_are_chosen_whole_where_few_knots_leave_doubt(monkeypatch):
    monkeypatch.setattr(measured_fit, "_OUT_OF_REACH", 0.0)
    model = fitted()
    assert model.recipe_.tables == "shared"
    assert {c.settings["n_knots"] for c in model.table_choices_} != {6, 12}
    assert fitted(UNEQUAL).recipe_.tables == "full"


def test_a_tenth_less_is_asked_and_more_than_a_standard_error():
    def candidate(tables, *losses):
        return Candidate({"tables": tables}, losses)

    full = candidate("full", 1.0, 1.1, 0.9)
    for losses, taken in (((0.8, 0.9, 0.7), "shared"), ((0.95, 1.0, 0.85), "full"), ((0.1, 2.2, 0.1), "full")):
        chosen = full_unless_shared_gains([full, candidate("shared", *losses)])
        assert chosen.settings["tables"] == taken
    assert full_unless_shared_gains([candidate("shared", 1.0, 1.0)]).settings["tables"] == "shared"


@pytest.mark.parametrize("link", ["sqrt", "identity", 0.5, "power"])
def test_links_that_are_given_are_compared_under_them(link):
    model = fitted(SMOOTHED**2 if link == "identity" else SMOOTHED, link=link)
    assert model.recipe_.tables == "shared"
    assert {c.settings["tables"] for c in model.table_choices_} == {"full", "shared"}


def test_of_many_columns_the_one_that_can_be_compared_is_taken():
    """Tables of 250 columns are too wide for six knots: they are compared with as many as links are."""
    rng = np.random.default_rng(0)
    X, index = rng.dirichlet(np.full(250, 0.1), 150), rng.integers(0, 150, (2_000, 2))
    y = np.sqrt(((X[index[:, 0]] - X[index[:, 1]]) ** 2).sum(axis=1))
    model = DistanceRegressor(preprocessor=X, effort="fast", link="sqrt").fit(index, y)
    assert model.recipe_.tables == "shared"
    assert {c.settings["tables"] for c in model.table_choices_} == {"full", "shared"}


def test_joint_tables_that_are_asked_for_are_found():
    columns = HISTOGRAMS[:, :4]
    x, y = columns[INDEX.T]
    target = smoothed(x, y) ** 2 + 5.0 * np.abs(x[:, 0] - y[:, 0]) * np.abs(x[:, 1] - y[:, 1])
    model = DistanceRegressor(preprocessor=columns, effort="fast", tables=Tables("auto", groups="auto")).fit(INDEX, target)
    assert model.recipe_.tables == "full"
    assert (0, 1) in model.groups_


def test_without_a_seed_both_are_compared_on_the_same_folds():
    model = fitted(random_state=None)
    assert model.recipe_.tables == "shared"
    assert model.recipe_.random_state is None


def test_columns_of_opposite_ends_of_the_numbers_are_not_pooled():
    X = np.column_stack([8e307 * (1.0 - 1e-3 * HISTOGRAMS[:, 0]), -8e307 * (1.0 - 1e-3 * HISTOGRAMS[:, 1])])
    y = np.abs(X[INDEX[:, 0]] / 8e304 - X[INDEX[:, 1]] / 8e304).sum(axis=1)
    model = DistanceRegressor(preprocessor=X, effort="fast").fit(INDEX, y)
    assert model.recipe_.tables == "full"
    with pytest.raises(InputError, match=r"all features together have a range of 1\.6e\+308; .*rescale them"):
        DistanceRegressor(preprocessor=X, tables="shared").fit(INDEX, y)


def test_counts_have_a_knot_each():
    counts = np.random.default_rng(0).poisson(1.0, (160, 6)).astype(float)
    y = np.abs(counts[INDEX[:, 0]] - counts[INDEX[:, 1]]).sum(axis=1)
    model = DistanceRegressor(preprocessor=counts, tables="shared", n_knots=20, alpha=1e-6, link="identity").fit(INDEX, y)
    assert model.score(INDEX, y) > 0.9999
    assert_array_equal(next(iter(model.semimetric_.tables().values())).knots[0], np.unique(counts))


@pytest.mark.parametrize(
    "options",
    [
        {"n_knots": 4, "alpha": 1e-4},
        {"axioms": "metric", "n_knots": "auto", "alpha": 1e-4},
        {"directions": "pca"},
        {"tables": Tables(groups=[(0, 1), (2,)])},
        {"link": "concave"},
        {"tables": Tables("auto", knots="uniform")},
        {"n_knots": [4, 5, 6, 4]},
        {"axioms": None, "alpha": 1e-4},
    ],
    ids=["numbers", "metric", "directions", "groups", "concave", "placement", "numbers of knots", "no axioms"],
)
def test_tables_of_single_features_are_learned_where_these_are_asked_for(options):
    index = INDEX[:300]
    model = DistanceRegressor(preprocessor=HISTOGRAMS[:, :4], effort="fast", **options).fit(index, SMOOTHED[:300])
    assert model.recipe_.tables == "full"
    assert not model.table_choices_


def test_categories_have_tables_of_their_own():
    frame = pd.DataFrame({"a": HISTOGRAMS[:, 0], "b": HISTOGRAMS[:, 1], "kind": np.where(HISTOGRAMS[:, 2] > 0.1, "x", "y")})
    y = np.abs(np.diff(HISTOGRAMS[INDEX, 0], axis=1)).ravel() + 0.01
    assert DistanceRegressor(preprocessor=frame, effort="fast").fit(INDEX, y).recipe_.tables == "full"
    with pytest.raises(NotSupportedError, match=r"one table of all features, and 'kind' is categorical; .*use tables=\"full\""):
        DistanceRegressor(preprocessor=frame, tables="shared").fit(INDEX, y)
    times = pd.DataFrame({"a": pd.date_range("2020", periods=160), "b": pd.date_range("2021", periods=160)})
    with pytest.raises(NotSupportedError, match="'a' is a time; numbers that are all there are required"):
        DistanceRegressor(preprocessor=times, tables="shared").fit(INDEX, y)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"axioms": "metric"}, "axioms='metric'"),
        ({"axioms": "quasimetric"}, "axioms='quasimetric'"),
        ({"axioms": None}, "axioms=None"),
        ({"directions": "pca"}, "directions="),
        ({"tables": Tables("shared", knots="uniform")}, "knots='uniform'"),
        ({"n_knots": [4] * 12}, r"n_knots=\[4, 4, 4"),
        ({"tables": Tables("shared", groups="pairs")}, "groups="),
        ({"tables": Tables("shared", symmetry="swap")}, 'symmetry="swap"'),
        ({"program": {"constraints": [Monotone([0])]}}, "constraints="),
        ({"program": {"prior": gower(HISTOGRAMS)}}, "prior="),
    ],
)
def test_what_needs_tables_of_single_features_is_refused_beside_a_shared_one(options, named):
    options = {name: Program(**value) if isinstance(value, dict) else value for name, value in options.items()}
    model = DistanceRegressor(preprocessor=HISTOGRAMS, **({"tables": "shared"} | options))
    with pytest.raises(NotSupportedError, match=f"^{named}.* needs a table for each feature"):
        model.fit(INDEX, SMOOTHED)


def test_numbers_are_taken_as_given():
    model = fitted(tables="shared", n_knots=9, alpha=1e-8, link="sqrt")
    (table, *_) = model.semimetric_.tables().values()
    assert len(table.knots[0]) == 9
    assert table.knots[0][0] == HISTOGRAMS.min()
    assert table.knots[0][-1] == HISTOGRAMS.max()
    assert not model.table_choices_
    assert error(model) < 0.02


def test_knots_are_taken_as_given_if_all_features_have_the_same():
    knots = [[0.0, 0.1, 0.4, 1.0]] * 12
    model = fitted(tables=Tables("shared", knots=knots), alpha=1e-8, link="sqrt")
    assert_allclose(next(iter(model.semimetric_.tables().values())).knots[0], knots[0])
    with pytest.raises(InputError, match="the same knots of each"):
        fitted(tables=Tables("shared", knots=[*knots[:-1], [0.0, 1.0]]), alpha=1e-8)


def test_parts_teach_what_all_pairs_do():
    tables = Tables("shared", knots=[[0.0, 0.05, 0.2, 0.5, 1.0]] * 12)
    model = DistanceRegressor(preprocessor=HISTOGRAMS, tables=tables, alpha=1e-6)
    together = clone(model).fit(INDEX, SMOOTHED).semimetric_
    for part in np.array_split(np.arange(len(INDEX)), 3):
        model.partial_fit(INDEX[part], SMOOTHED[part])
    assert not model.table_choices_
    assert_allclose(model.semimetric_.pairwise(NEW, NEW), together.pairwise(NEW, NEW), rtol=1e-9)


def test_a_premetric_has_one_table_that_is_not_symmetric():
    y = (np.maximum(np.diff(HISTOGRAMS[INDEX], axis=1)[:, 0], 0.0) ** 2).sum(axis=1) + 0.1 * SMOOTHED**2
    model = fitted(y, axioms="premetric")
    assert model.recipe_.tables == "shared"
    table = next(iter(model.semimetric_.tables().values())).values
    assert not np.allclose(table, table.T)
    assert model.score(INDEX, y) > 0.9999


def test_outside_of_the_range_it_goes_on_as_others_do(shared):
    d = shared.semimetric_
    far = NEW[:1].copy()
    far[0, 0] = HISTOGRAMS.max() + 1.0
    assert d(far[0], NEW[1]) > d(NEW[0], NEW[1])
    assert (d.epsilon == d.epsilon[0]).all()


def test_it_learns_with_other_losses_and_a_base_distance():
    model = fitted(tables="shared", n_knots=8, alpha=1e-6, link="sqrt", loss="absolute")
    assert error(model) < 0.05
    model = fitted(tables=Tables("shared", base_distances=[smoothed]), n_knots=4, alpha=1e-4, link="identity")
    assert error(model) < 5e-3


def test_an_approximator_draws_its_pairs_under_it():
    model = DistanceApproximator(smoothed, n_pairs=1_500, effort="fast").fit(HISTOGRAMS)
    assert model.recipe_.tables == "shared"
    assert error(model) < 2e-3


def test_columns_named_as_numbers_are_shared_too():
    frame = pd.DataFrame(HISTOGRAMS, columns=NAMES)
    model = DistanceRegressor(preprocessor=frame, effort="fast", columns=Columns(categorical=None)).fit(INDEX, SMOOTHED)
    assert model.recipe_.tables == "shared"
    assert list(model.semimetric_.tables()) == NAMES


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(1)
    X, index = rng.dirichlet(np.full(700, 0.05), 120), rng.integers(0, 120, (3_000, 2))
    return X, index, np.sqrt(((X[index[:, 0]] - X[index[:, 1]]) ** 2).sum(axis=1))


def test_very_many_columns_share_a_table_if_that_is_nearly_exact(wide):
    X, index, y = wide
    model = DistanceRegressor(preprocessor=X, effort="fast").fit(index, y)
    assert model.recipe_.tables == "shared"
    assert model.semimetric_.n_features == 700
    assert model.score(index, y) > 0.98
    assert "screened" not in model.error_.note
    assert not model.screened_


def test_very_many_columns_are_screened_otherwise(wide):
    X, index, _ = wide
    y = np.abs(X[index[:, 0]] - X[index[:, 1]])[:, :6].sum(axis=1)
    model = DistanceRegressor(preprocessor=X, effort="fast").fit(index, y)
    assert model.recipe_.tables != "shared"
    assert "screened" in model.error_.note
    assert model.screened_


def test_few_pairs_leave_tables_of_single_features():
    with pytest.warns(match="nothing was compared"):
        model = DistanceRegressor(preprocessor=HISTOGRAMS[:4, :2]).fit([[0, 1], [1, 2]], [1.0, 2.0])
    assert model.recipe_.tables == "full"
