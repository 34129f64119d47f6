"""The laws of distances with trees: one number by formula, by hand, by index, by pairs and loaded; and what they say of it."""

import itertools

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from learners import made
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import semimetric as sm
from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    LargeMarginLearner,
    NeighborIndex,
    NotSupportedError,
    PartitionFeatures,
    TripletLearner,
    Triplets,
)
from semimetric.distances.features.linear_directions import Directions

FAST = {"n_knots": 4, "alpha": 1e-3, "random_state": 0}


def data(seed=0, n=80):
    """Items of which some are missing or new, pairs of them, and a distance that no sum over single features has."""
    rng = np.random.default_rng(seed)
    color = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "hour": 24 * rng.random(n), "pay": rng.random(n), "color": color})
    side = (frame["age"] > 40).to_numpy() ^ (frame["pay"] > 0.5).to_numpy()
    frame.loc[rng.random(n) < 0.1, "pay"] = np.nan
    index = rng.integers(0, n, (400, 2))
    index = index[index[:, 0] != index[:, 1]]
    y = 1.0 * (side[index[:, 0]] != side[index[:, 1]]) + 0.2 * rng.random(len(index))
    return frame, index, y, side.astype(int)


MIXED = {"categorical_features": ["color"], "periodic": {"hour": 24.0}, "missing": "level"}


def learned(**changes):
    frame, index, y, _ = data()
    options = FAST | MIXED | {"directions": PartitionFeatures("random", n_trees=12, max_leaf_nodes=8)} | changes
    return made(DistanceRegressor, **options, preprocessor=frame).fit(index, y).semimetric_, frame


WAYS = {
    "tables": {},
    "warped": {"tables": "warped"},
    "square root": {"link": "sqrt"},
    "full leaf tables": {"directions": PartitionFeatures("random", n_trees=5, max_leaf_nodes=6, leaf_tables="full")},
    "with lines": {
        "directions": [sm.UniformDirections(["age", "pay"], n_directions=3), PartitionFeatures("random", n_trees=5)]
    },
    "no axioms": {"axioms": None},
    "premetric": {"axioms": "premetric"},
    "metric": {"axioms": "metric"},
}


@pytest.mark.parametrize("name", WAYS)
def test_one_distance_by_every_way(name, tmp_path):
    d, frame = learned(**WAYS[name])
    assert d.directions.n_trees > 0
    X, Y = frame[:30], data(seed=5)[0][:30].assign(color=["mauve", *["red"] * 29])
    every = d.pairwise(X, Y)
    linked = d.link_function.invert
    for i, j in itertools.product(range(30), (0, 7, 29)):
        assert d(X.iloc[i].to_dict(), Y.iloc[j].to_dict()) == pytest.approx(every[i, j], rel=1e-9, abs=1e-12)
    for by in ("terms", "features"):
        parts = d.contributions(X, Y, by=by)
        np.testing.assert_allclose(parts.sum(axis=1), linked(np.diag(every)), rtol=1e-9, atol=1e-12)
    d.save(tmp_path / "d.smm")
    again = sm.load(tmp_path / "d.smm")
    np.testing.assert_array_equal(again.pairwise(X, Y), every)
    assert (again.rules, again.axioms) == (d.rules, d.axioms)
    assert again.directions.same_as(d.directions)
    if d.axioms.nonnegative:
        distances, rows = NeighborIndex(d).fit(Y).kneighbors(X, 5)
        np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :5], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["tables", "full leaf tables"])
def test_the_terms_of_trees_by_hand_from_tables_and_rules(name):
    d, frame = learned(**WAYS[name])
    X, Y = frame[:20], frame[20:40]
    terms = dict(zip(d.terms, d.contributions(X, Y).T, strict=True))
    leaves = {side: {} for side in "xy"}
    for tree, rules in d.rules.items():
        for side, table in zip("xy", (X, Y), strict=True):
            said = [table.assign(missing=0).query(_query(rule), engine="python").index for rule in rules]
            found = np.full(len(table), -1)
            for leaf, rows in enumerate(said):
                found[table.index.get_indexer(rows)] = leaf
            assert (found >= 0).all()
            leaves[side][tree] = found
    tables = d.tables()
    for tree, rules in d.rules.items():
        table = tables[tree]
        assert table.levels[0] == (*rules, "(other)")
        x, y = leaves["x"][tree], leaves["y"][tree]
        np.testing.assert_allclose(terms[tree], table.values[x, y], rtol=1e-12)
        if name == "tables":  # one weight a tree
            known = table.values[: len(rules), : len(rules)]
            np.testing.assert_array_equal(known, known.max() * (1 - np.eye(len(rules))))


def _query(rule):
    return rule.replace("pay is not missing", "pay.notna()").replace("pay is missing", "pay.isna()").replace(
        "age is not missing", "age.notna()").replace("age is missing", "age.isna()").replace(
        "hour is not missing", "hour.notna()").replace("hour is missing", "hour.isna()").replace(
        "color is not missing", "color.notna()").replace("color is missing", "color.isna()")  # fmt: skip


def test_axioms_of_sums_with_trees():
    frame, index, y, _ = data()
    numbers, trees = frame[["age", "hour"]], PartitionFeatures("random", n_trees=6, random_state=0)
    options = FAST | {"directions": trees, "preprocessor": numbers}
    scales = made(DistanceRegressor, **options, tables="warped").fit(index, y).semimetric_
    assert scales.axioms.name == "metric"
    assert not scales.axioms.continuous
    assert scales.certify().triangle == "proved"
    assert "leaves of trees jump" in scales.certify().proofs["continuous"]
    full = made(DistanceRegressor, **options, axioms="metric").fit(index, y).semimetric_
    assert full.axioms.name == "metric"
    d = scales.pairwise(numbers)
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-9).all()


def test_what_trees_add_belongs_to_the_feature_at_which_two_part():
    d, frame = learned()
    x, y = (d.schema.encode(side) for side in (frame[:30], frame[30:60]))
    first = d.n_features + d.directions.n_linear
    owned = [g for g, group in enumerate(d.embedding.groups) if group[0] >= first]
    terms, parts = (d.contributions_of_encoded(x, y, by=by) for by in ("terms", "features"))
    parting = d.directions.partitions.parting(x, y)
    expected = np.zeros((30, 4))
    for g in owned:
        t = d.embedding.groups[g][0] - first
        for row in range(30):
            if parting[row, t] >= 0:
                expected[row, parting[row, t]] += terms[row, g]
            else:
                assert terms[row, g] == 0
    raw = [g for g, group in enumerate(d.embedding.groups) if group[0] < d.n_features]
    expected[:, [d.embedding.groups[g][0] for g in raw]] += terms[:, raw]
    np.testing.assert_allclose(parts, expected, atol=1e-9)


def test_an_explanation_by_terms_says_both_rules():
    d, frame = learned()
    told = d.explain(frame[:1], frame[1:6], by="terms")
    tree = next(iter(d.rules))
    rule, others = told.rules[tree]
    leaves = d.directions.partitions.apply(d.schema.encode(frame[:6]))[:, 0].astype(int)
    assert [rule, *others] == [d.rules[tree][leaf] for leaf in leaves]
    rows = told.to_frame()
    shown = rows[rows["term"] == tree]
    assert set(shown["value"]) == {rule}
    assert sorted(shown["neighbor_value"]) == sorted(others)
    assert d.explain(frame[:1], frame[1:6]).rules == {}
    largest = told.largest(1)[0][0]
    assert largest not in told.rules or told.rules[largest][0] in repr(told)


@pytest.mark.parametrize("n_trees", [30, 300])
def test_exact_search_is_brute_force_with_few_and_many_trees(n_trees, monkeypatch):
    from semimetric.distances.search import segment

    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    rng = np.random.default_rng(0)
    X, Q = rng.random((600, 5)), rng.random((20, 5))
    d = distance_of(PartitionFeatures("random", n_trees=n_trees, random_state=0).fit(X), X)
    every = d.pairwise(Q, X)
    np.testing.assert_allclose(every, slow(d, Q, X), rtol=1e-9)
    for options in ({}, {"n_lists": 8}):
        distances, rows = NeighborIndex(d, **options).fit(X).kneighbors(Q, 7)
        np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :7], rtol=1e-9)
        np.testing.assert_allclose(np.take_along_axis(every, rows, axis=1), distances, rtol=1e-9)


def distance_of(grown, X):
    """A distance with a weight for every tree, and a weighted L1 of the numbers."""
    directions, n = Directions.of_trees(grown.partitions_), X.shape[1]
    schema = directions.extended(sm.Schema.numeric([f"x{f}" for f in range(n)]))
    grid = sm.Grid.fit_encoded(directions.append(X), schema, n_knots=3, strategy="quantile", random_state=0)
    tied = sm.PairEmbedding(grid).with_one_weight(set(range(n, grid.n_features)))
    slopes = np.random.default_rng(3).random(grid.n_features)
    embedding, w = tied.expanded(tied.prior(slopes))
    epsilon = np.where(np.arange(grid.n_features) < n, slopes, 0.0)
    return sm.Semimetric(embedding, w, epsilon, tuple(schema.names[:n]), directions)


def slow(d, X, Y):
    """The formula of a distance of `distance_of`."""
    slopes, n = np.random.default_rng(3).random(len(d.columns)), d.n_features
    numbers = np.abs(X[:, None] - Y[None]) @ slopes[:n]
    leaves = [d.directions.partitions.apply(side) for side in (X, Y)]
    return numbers + (leaves[0][:, None] != leaves[1][None]) @ slopes[n:]


def test_labels_learn_from_trees():
    frame, _, _, side = data(n=240)
    train, test = slice(0, 160), slice(160, 240)
    options = {"n_knots": 4, "alpha": 1e-2, "random_state": 0, **MIXED}
    for directions in ("forest", PartitionFeatures("random-forest", n_trees=30, random_state=0)):
        if not isinstance(directions, str):
            schema = sm.Schema.fit(frame[train], **MIXED)
            directions = directions.fit(schema.encode(frame[train]), side[train])
        model = made(LargeMarginLearner, directions=directions, tables="warped", **options).fit(frame[train], side[train])
        d = model.semimetric_
        assert d.directions.n_trees > 5
        assert d.axioms.nonnegative
        nearest = d.pairwise(frame[test], frame[train]).argmin(axis=1)
        alone = made(LargeMarginLearner, directions=None, tables="warped", **options).fit(frame[train], side[train]).semimetric_
        right = [
            np.mean(side[train][near] == side[test]) for near in (nearest, alone.pairwise(frame[test], frame[train]).argmin(1))
        ]
        assert right[0] > right[1]


@pytest.mark.slow
def test_every_learner_takes_trees():
    frame, index, y, side = data()
    X = frame[["age", "hour"]].to_numpy()
    trees = PartitionFeatures("random", n_trees=6, random_state=0)
    approximator = made(
        DistanceApproximator, lambda a, b: np.abs(a - b).sum(axis=-1), n_pairs=100, directions=trees, **FAST
    ).fit(X)
    triplets = np.column_stack([index, np.roll(index[:, 0], 1)])
    triplets = triplets[(triplets[:, 0] != triplets[:, 2]) & (triplets[:, 1] != triplets[:, 2])]
    learner = TripletLearner(n_knots=3, alpha=1e-2, directions=trees, tables="warped", preprocessor=X).fit(triplets)
    forest = RandomForestClassifier(5, max_leaf_nodes=8, random_state=0).fit(X, side)
    given = DistanceRegressor(**FAST, directions=forest, preprocessor=X).fit(index, y)
    for model in (approximator, learner, given):
        assert model.semimetric_.directions.n_trees >= 1
    for directions in (PartitionFeatures(n_trees=4), [sm.UniformDirections(n_directions=4), PartitionFeatures(n_trees=4)]):
        grown = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=directions, random_state=0).fit(X, side)
        assert grown.semimetric_.directions.n_trees >= 1
    for copied in (given.semimetric_.directions.partitions, [given.semimetric_.directions.partitions]):
        again = clone(DistanceRegressor(**FAST, directions=copied, preprocessor=X)).fit(index, y).semimetric_
        np.testing.assert_allclose(again.pairwise(X), given.semimetric_.pairwise(X), atol=1e-6)
    places = LargeMarginLearner(n_knots=4, alpha=1e-2, directions="forest", triplets=Triplets(base="positions")).fit(X, side)
    assert places.semimetric_.directions.n_trees >= 1


def test_pairs_of_features_leave_trees_alone():
    frame, index, y, _ = data()
    X = frame[["age", "hour"]].to_numpy()
    trees = PartitionFeatures("random", n_trees=3, random_state=0)
    d = made(DistanceRegressor, **FAST, groups="pairs", directions=trees, preprocessor=X).fit(index, y).semimetric_
    assert d.embedding.groups[0] == (0, 1)
    assert all(len(group) == 1 for group in d.embedding.groups[1:])


def test_a_counterfactual_finds_the_threshold_of_a_tree():
    X = np.random.default_rng(0).random((200, 2))
    d = distance_of(PartitionFeatures("extra-trees", n_trees=20, random_state=0).fit(X, (X[:, 0] > 0.5) * 1), X)
    rng = np.random.default_rng(1)
    for x, y in zip(rng.random((10, 2)), rng.random((10, 2)), strict=True):
        best = d.counterfactual(x, y)
        for f in range(2):
            rows = np.tile(x, (2001, 1))
            rows[:, f] = np.linspace(0, 1, 2001)
            assert best.distance <= d.pairwise(rows, y[None]).min() + 1e-9


def test_what_cannot_be_with_trees_is_refused():
    frame, index, y, side = data()
    X = frame[["age", "hour"]].to_numpy()
    d, _ = learned()
    plain = (
        DistanceRegressor(**FAST, directions=PartitionFeatures("random", n_trees=3), preprocessor=X).fit(index, y).semimetric_
    )
    with pytest.raises(NotSupportedError, match="this model has trees; search it with NeighborIndex"):
        plain.get_numba_metric()
    assert plain(X[0], X[1]) == plain.pairwise(X[:1], X[1:2])[0, 0]

    def fit(directions):
        return DistanceRegressor(**FAST, directions=directions, preprocessor=X).fit(index, y)

    assert_refused(lambda: fit(PartitionFeatures()), "grown to a target", "", "fit it yourself")
    other = PartitionFeatures("random", n_trees=2).fit(np.ones((5, 3)) * np.arange(5)[:, None])
    assert_refused(lambda: fit(other), "trees are of 3 features, but there are 2", "", "grow them")
    assert fit(PartitionFeatures("random", n_trees=2).fit(np.ones((5, 2)))).semimetric_.directions is None
    stump = PartitionFeatures("extra-trees", n_trees=1).fit(X, np.ones(len(X), int)).partitions_
    assert_refused(lambda: Directions(np.empty((0, 2)), ("tree0",), (), stump), "1 to 1 leaves", "2 to 1000 leaves")
