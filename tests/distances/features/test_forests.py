"""The twin of the trees is scikit-learn's own ``apply``, whose leaves are numbered otherwise."""

import numpy as np
import pytest
from cases import assert_refused
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from semimetric.distances.features.forests import is_fitted_forest, partitions_of, thresholds_of_doubles

FORESTS = {
    "random forest": RandomForestClassifier(5, max_leaf_nodes=7, random_state=0),
    "deep forest": RandomForestClassifier(3, random_state=0),
    "extra-trees": ExtraTreesRegressor(5, max_leaf_nodes=7, random_state=0),
    "random trees": RandomTreesEmbedding(5, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
    "boosting of numbers": GradientBoostingRegressor(n_estimators=4, random_state=0),
    "a tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "an extra tree": ExtraTreeRegressor(max_depth=4, random_state=0),
}
TAKE_GAPS = ("random forest", "extra-trees", "a tree")


def own_leaves(forest, X):
    """The leaves that scikit-learn finds, shape (n_items, n_trees)."""
    found = np.asarray(forest.apply(X)).reshape(len(X), -1)
    return found.astype(int)


def assert_renumbered(ours, theirs):
    for a, b in zip(ours.T, theirs.T, strict=True):
        assert len({*zip(a, b, strict=True)}) == len({*a}) == len({*b})


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("gaps", [False, True])
def test_leaves_are_those_of_scikit_learn(name, gaps, rng):
    if gaps and name not in TAKE_GAPS:
        name = TAKE_GAPS[0]
    X, new = rng.normal(size=(120, 4)), rng.normal(size=(500, 4))
    X[:, 3] = rng.integers(0, 3, 120)
    if gaps:
        for items in (X, new):
            items[rng.random(items.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(int) + (np.nan_to_num(X[:, 3]) > 1)
    forest = FORESTS[name].fit(X, y)
    trees = partitions_of(forest)
    for items in (X, new):
        assert_renumbered(trees.apply(items), own_leaves(forest, items))
    edges = np.repeat(new[:1], len(trees.threshold), axis=0)  # values just at the thresholds, and one float beyond
    inner = np.flatnonzero(trees.feature >= 0)
    inner = inner[np.abs(trees.threshold[inner]) < 1e30]
    for step in (-np.inf, 0.0, np.inf):
        rows = edges[inner].copy()
        values = trees.threshold[inner]
        rows[np.arange(len(inner)), trees.feature[inner]] = values if step == 0 else np.nextafter(values, step)
        assert_renumbered(
            np.vstack([trees.apply(X), trees.apply(rows)]), np.vstack([own_leaves(forest, X), own_leaves(forest, rows)])
        )


def test_a_threshold_is_the_last_double_that_goes_left(rng):
    t = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-40, 38, 200), [0.0, -0.0, 1.0, -1.0, 16777217.0, 0.1]])
    found = thresholds_of_doubles(t)
    assert (found.astype(np.float32) <= t).all()
    assert (np.nextafter(found, np.inf).astype(np.float32) > t).all()
    always, never, far = thresholds_of_doubles(np.array([np.inf, -np.inf, 3.5e38]))
    assert always == far == np.finfo(float).max
    assert never < -3.4e38


def test_what_has_no_trees_is_refused(rng):
    X, y = rng.normal(size=(2500, 2)), rng.normal(size=2500)
    for estimator in (LinearRegression().fit(X, y), RandomForestClassifier(), HistGradientBoostingClassifier(max_iter=2)):
        assert not is_fitted_forest(estimator)
        assert_refused(lambda e=estimator: partitions_of(e), type(estimator).__name__, "is required")
    deep = ExtraTreeRegressor().fit(X, np.arange(2500.0))
    assert_refused(lambda: partitions_of(deep), "leaves; at most 1000", "grow smaller trees")
