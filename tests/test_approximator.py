import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import DistanceApproximator, DistanceCallError, NotSupportedError

ITEMS = np.random.default_rng(0).random((60, 2))
FAST = {"n_pairs": 300, "n_knots": 5, "alpha": 1e-6}


def fit(distance=cases.warped_sum, X=ITEMS, **options):
    return DistanceApproximator(distance, **FAST | options).fit(X)


def by_vectors(x, y):
    return float(np.abs(np.ravel(x) ** 3 - np.ravel(y) ** 3).sum() + 0.3 * np.abs(np.ravel(x) - np.ravel(y)).sum())


def test_learns_a_distance_that_is_called():
    model = fit()
    true = cases.warped_sum(ITEMS[:, None], ITEMS[None])
    learned = model.semimetric_.pairwise(ITEMS)
    assert np.abs(learned - true).max() < 0.1 * true.mean()
    np.testing.assert_allclose(model.distances_, true[tuple(model.pairs_.T)])
    assert 0 < model.error_quantiles_[0.5] < model.error_quantiles_[0.9] < model.error_quantiles_[0.99] < 1


def test_vectors_and_batches_and_threads_learn_the_same():
    want = fit().semimetric_.weights
    for again in (fit(by_vectors), fit(n_jobs=2), fit(by_vectors, n_jobs=2)):
        np.testing.assert_allclose(again.semimetric_.weights, want, rtol=1e-6, atol=1e-9)


def test_items_set_aside_are_in_no_pair():
    model = fit(validation_fraction=0.3)
    assert len(np.unique(model.pairs_)) <= 42
    assert np.isnan(list(fit(validation_fraction=0.0).error_quantiles_.values())).all()


@pytest.mark.parametrize("link", ["identity", "sqrt"])
@pytest.mark.parametrize("groups", ["singles", [(0, 1)]])
def test_vertices_are_exact_at_the_grid(groups, link):
    """Exact for one group of all features, and for sums over the groups."""
    model = fit(method="vertices", groups=groups, n_knots=4, delta=0.0, link="identity" if groups == "singles" else link)
    knots = model.semimetric_.embedding.grid.knots
    grid = np.array(np.meshgrid(*knots)).reshape(2, -1).T
    np.testing.assert_allclose(model.semimetric_.pairwise(grid), cases.warped_sum(grid[:, None], grid[None]), atol=1e-7)
    assert "nothing learned" in model.solution_.solver
    assert len(model.pairs_) == 0


@pytest.mark.parametrize("method", ["regress", "vertices"])
def test_a_distance_that_fails_names_its_pair_and_keeps_the_rest(method):
    calls = []

    def moody(x, y):
        calls.append(1)
        return np.nan if len(calls) > 12 else by_vectors(x, y)

    with pytest.raises(DistanceCallError, match="it returned nan") as caught:
        fit(moody, method=method)
    assert len(caught.value.pairs) == len(caught.value.distances) > 0
    assert np.isfinite(caught.value.distances).all()


BAD = {
    "nothing to call": (lambda: fit(None), "distance=None", "must be callable", "two batches"),
    "method": (lambda: fit(method="guess"), "method='guess'", "not known", "'vertices'"),
    "near": (lambda: fit(near=1.5), "near=1.5", "must lie between 0 and 1"),
    "fraction": (lambda: fit(validation_fraction=-1), "validation_fraction=-1", "must lie between 0 and 1"),
    "zero": (lambda: fit(lambda x, y: 0.0 * by_vectors(x, y)), "all distances in y are 0", "nothing to learn", "pairs"),
    "overlap": (
        lambda: fit(X=np.random.default_rng(0).random((9, 3)), method="vertices", groups="pairs"), 'method="vertices"',
        "groups that share no feature", 'method="regress"', NotSupportedError,
    ),
    "directions": (
        lambda: fit(method="vertices", directions=[[1.0, 1.0]]), 'method="vertices"', "no directions", "raw features",
        NotSupportedError,
    ),
    "vertices": (lambda: fit(method="vertices", n_knots=60, groups=[(0, 1)]), "more than 5000000", "evaluated", "fewer knots"),
    "partial_fit": (lambda: fit().partial_fit(), "draws its own pairs", "DistanceRegressor.partial_fit", "", NotSupportedError),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, *parts = BAD[name]
    error = parts.pop() if isinstance(parts[-1], type) else ValueError
    assert assert_refused(call, *parts, error=error)


def test_one_item_is_too_few():
    with pytest.raises(ValueError, match="minimum of 2"):
        fit(X=ITEMS[:1])
