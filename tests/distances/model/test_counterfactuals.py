"""What would have to change: against search by brute force."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused, fitted
from mixed_distances import GROUPS, KINDS, PERIOD, distance, items

from semimetric import ConcaveLink, NotSupportedError, PairEmbedding, Semimetric

every_table = pytest.mark.parametrize("groups", GROUPS)


def far_pair(seed, gaps=False):
    rng = np.random.default_rng(seed)
    x, y = items(rng, 2, gaps)
    return x, y


def display(d, row):
    return d.schema.display(row[None])[0]


def of_single_changes(d, x, y, feature):
    """Values of one feature of x within its range, and the distances that they lead to; many more than are needed."""
    grid = d.embedding.grid
    if KINDS[feature] == "categorical":
        values = np.arange(3.0)
    else:
        values = np.linspace(min(grid.low[feature], x[feature]), max(grid.high[feature], x[feature]), 4001)
    rows = np.tile(x, (len(values), 1))
    rows[:, feature] = values
    index = np.column_stack([np.arange(len(rows)), np.full(len(rows), len(rows))])
    return values, d.paired_by_index(np.vstack([rows, y]), index)


def move(d, feature, old, new):
    if KINDS[feature] == "categorical":
        return np.where(new != old, 1.0, 0.0)
    gap = np.abs(new - old)
    gap = np.minimum(gap, PERIOD - gap) if KINDS[feature] == "periodic" else gap
    return gap / (d.embedding.grid.high[feature] - d.embedding.grid.low[feature])


@every_table
@pytest.mark.parametrize("bends", [False, True])
@pytest.mark.parametrize("link", ["identity", "sqrt", 0.7, 1.5, ConcaveLink((0.3, 1.0), (2.0, 1.0, 0.1))])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_no_single_change_lowers_the_distance_more(groups, bends, link, seed):
    d = distance(seed, groups, bends=bends, link=link)
    x, y = far_pair(seed + 10)
    found = d.counterfactual(display(d, x), display(d, y))
    assert len(found.changes) == 1
    assert found.reached
    assert found.distance == pytest.approx(d(found.item, display(d, y)))
    assert found.before == pytest.approx(d(display(d, x), display(d, y)))
    least = min(of_single_changes(d, x, y, f)[1].min() for f in range(4))
    assert least - 2e-3 < found.distance < least + 1e-9


@every_table
@pytest.mark.parametrize("seed", range(4))
def test_no_smaller_single_change_suffices(groups, seed):
    d = distance(seed, groups, bends=bool(seed % 2))
    x, y = far_pair(seed + 20)
    best = d.counterfactual(display(d, x), display(d, y))
    within = (best.before + best.distance) / 2
    found = d.counterfactual(display(d, x), display(d, y), within)
    assert found.reached
    (change,) = found.changes
    f = d.feature_names.index(change.feature)
    by_all = [(k, *of_single_changes(d, x, y, k)) for k in range(4)]
    least = min(move(d, k, x[k], v)[far <= within].min(initial=np.inf) for k, v, far in by_all)
    new = d.schema.encode(found.item[None])[0, f]
    assert move(d, f, x[f], new) <= least + 1e-9
    assert d(found.item, display(d, y)) <= within + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_no_fewer_features_suffice_in_a_sum_over_features(seed):
    d = distance(seed)
    alone = PairEmbedding(d.embedding.grid.select(np.arange(4)))
    d = Semimetric(alone, np.random.default_rng(seed).uniform(0.1, 1.0, alone.n_columns), d.epsilon[:4], d.feature_names)
    x, y = far_pair(seed + 30)
    for share in (0.8, 0.5, 0.3, 0.1, 0.0):
        within = share * d(x, y)
        found = d.counterfactual(x, y, within)
        assert found.reached
        fewest = 0
        while not any(d(np.where(np.isin(range(4), c), y, x), y) <= within for c in combinations(range(4), fewest)):
            fewest += 1
        assert len(found.changes) == fewest
        assert [c.distance for c in found.changes] == sorted((c.distance for c in found.changes), reverse=True)


@every_table
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_where_all_may_change_any_distance_is_reached(groups, gaps, seed):
    d = distance(seed, groups, bends=bool(seed % 2), gaps=gaps)
    x, y = far_pair(seed + 40, gaps)
    found = d.counterfactual(display(d, x), display(d, y), 0.0)
    assert found.reached
    assert found.distance == d(found.item, display(d, y)) == 0.0


def test_only_what_may_change_does():
    d = distance(1)
    x, y = (display(d, row) for row in far_pair(1))
    found = d.counterfactual(x, y, 0.0, features=["a", 3])
    assert {change.feature for change in found.changes} <= {"a", "d"}
    assert not found.reached
    assert "not reached" in repr(found)
    assert list(found.to_frame().columns) == ["feature", "old", "new", "distance"]
    assert len(found.to_frame()) == len(found.changes)
    assert "<td>a</td>" in found._repr_html_()
    assert not d.counterfactual(x, x, 0.5).changes
    assert not d.counterfactual(x, x).changes
    assert not d.counterfactual(x, y, 0.1, features=[]).reached


def test_what_is_not_continuous_or_known_is_refused(rng):
    base = fitted("base")[0].semimetric_
    assert_refused(
        lambda: base.counterfactual(rng.random(3), rng.random(3)), "base distances", "fit without", error=NotSupportedError
    )
    d = distance(1)
    x, y = (display(d, row) for row in far_pair(1))
    assert_refused(lambda: d.counterfactual(x, y, -1.0), "within=-1.0", ">= 0")
    assert_refused(lambda: d.counterfactual(x, y, features=["e"]), "features= names the feature 'e'", "is required")


def test_one_name_is_one_feature_that_may_change():
    X = np.random.default_rng(0).random((20, 2))
    d = Semimetric.gower(pd.DataFrame(X, columns=["age", "pay"]))
    for features in ("pay", 1, ["pay"]):
        assert [change.feature for change in d.counterfactual(X[0], X[1], features=features).changes] == ["pay"]
    assert_refused(lambda: d.counterfactual(X[0], X[1], features="ap"), "features= names the feature 'ap'", "age, pay")
