import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import DistanceRegressor, Gram, NotSupportedError, SemimetricWarning
from semimetric.distances.learning import measured as second_moments
from semimetric.distances.learning import prior as kept_columns
from semimetric.distances.learning import program as solve
from semimetric.distances.learning.settings import MOVED

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]
HALVES = (slice(0, 70), slice(70, 150))


def euclidean(x, y):
    return np.sqrt(((x - y) ** 2).sum(axis=-1))


def both(y=Y, blocks=HALVES, **options):
    """The model of one fit, and that of blocks."""
    options = {"knots": [np.linspace(0, 1, 4)] * 3, "alpha": 1e-3, "preprocessor": ITEMS} | options
    parts = made(DistanceRegressor, **options)
    for block in blocks:
        parts.partial_fit(INDEX[block], y[block])
    return made(DistanceRegressor, **options).fit(INDEX, y), parts


def test_base_distances_have_one_unit_over_all_blocks():
    """Blocks of small and of large targets: each has a mean of its own."""
    y = 2 * euclidean(*POINTS.swapaxes(0, 1))
    order = np.argsort(y)
    whole, parts = both(y, (order[:75], order[75:]), base_distances=(euclidean,))
    weights = [m.semimetric_.base_distances[0].weight for m in (whole, parts)]
    assert weights[1] == pytest.approx(weights[0], rel=1e-6)
    np.testing.assert_allclose(parts.predict(INDEX), whole.predict(INDEX), rtol=1e-6)


SIZES = {
    "touched of many": {"groups": "pairs", "knots": [np.linspace(0, 1, 9)] * 3},
    "too large to be held": {"groups": [(0, 1, 2)], "knots": [np.linspace(0, 1, 12)] * 3},
    "most of many": {"groups": "pairs", "many": 50},
    "directions": {"directions": "pca", "knots": "uniform", "n_knots": 4, "blocks": (slice(0, 150),), "many": 5},
}


@pytest.mark.parametrize("name", SIZES)
def test_columns_are_those_of_one_fit(name, monkeypatch):
    options = dict(SIZES[name])
    monkeypatch.setattr(kept_columns, "_MANY_COLUMNS", options.pop("many", 1_000))
    whole, parts = both(**options)
    assert len(whole.semimetric_.weights) == len(parts.semimetric_.weights)
    random = np.random.default_rng(0).uniform(-0.2, 1.2, (2, 200, 3))
    np.testing.assert_allclose(parts.semimetric_.paired(*random), whole.semimetric_.paired(*random), rtol=1e-6, atol=1e-9)


def test_a_block_that_touches_too_many_vertices_is_refused_and_does_not_count(monkeypatch):
    options = SIZES["too large to be held"] | {"alpha": 1e-3, "preprocessor": ITEMS}
    model = made(DistanceRegressor, **options).partial_fit(INDEX[:20], Y[:20])
    before = model.predict(INDEX)
    monkeypatch.setattr(second_moments, "_MOST_COLUMNS", 200)
    assert_refused(lambda: model.partial_fit(INDEX, Y), "weights", "at most 200", "fewer knots")
    monkeypatch.undo()
    assert (model.predict(INDEX) == before).all()
    again = made(DistanceRegressor, **options).partial_fit(INDEX[:20], Y[:20]).partial_fit(INDEX[20:], Y[20:])
    np.testing.assert_allclose(model.partial_fit(INDEX[20:], Y[20:]).predict(INDEX), again.predict(INDEX), rtol=1e-12)


def test_what_shapes_the_moments_stays_and_the_rest_may_change():
    def model():
        return DistanceRegressor(**cases.FAST, preprocessor=ITEMS).partial_fit(INDEX[:70], Y[:70])

    changes = {"groups": "pairs", "n_knots": 5, "knots": [[0.0, 1.0]] * 3, "tables": "warped", "axioms": "premetric"}
    for name, value in changes.items():
        changed = model().set_params(**{MOVED.get(name, name): value})
        assert_refused(lambda m=changed: m.partial_fit(INDEX, Y), f"{name}= is not what it was", "set it back", "fresh model")
    same = {"tables__groups": "singles", "tables__base_distances": []}
    late, early = model().set_params(alpha=1.0, **same), DistanceRegressor(n_knots=4, alpha=1.0)
    early.set_params(tables__knots=late.semimetric_.embedding.grid.knots)
    np.testing.assert_allclose(
        late.partial_fit(INDEX[70:], Y[70:]).predict(INDEX), early.fit(POINTS, Y).predict(POINTS), rtol=1e-6
    )


def test_a_block_beyond_the_first_ones_knots_is_clipped_and_told():
    order = np.argsort(POINTS[:, :, 0].max(axis=1))
    model = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).partial_fit(INDEX[order[:40]], Y[order[:40]])
    steep = model.semimetric_.epsilon[0]
    with pytest.warns(SemimetricWarning, match=r"beyond the knots \(x0: \d+"):
        model.partial_fit(INDEX[order[40:]], Y[order[40:]])
    assert (model.semimetric_.epsilon[0] > 0).all()
    assert (model.semimetric_.epsilon[0] < 1e-3 * steep).all()


def test_says_what_it_needs():
    def refused(*parts, **options):
        model = made(DistanceRegressor, **{"n_knots": 3, "alpha": 1e-3} | options, preprocessor=ITEMS)
        assert_refused(lambda: model.partial_fit(INDEX, Y), *parts, error=NotSupportedError)

    refused("cannot hold pairs out", "give numbers", 'not "auto"', alpha="auto")
    refused("second moments", 'loss="squared"', loss="absolute")
    refused("second moments", 'link="identity"', link="sqrt")
    refused("second moments", "FirstOrder does not take", 'Program(solver="auto") or "gram"', solver="first_order")
    model = DistanceRegressor(**cases.FAST).partial_fit(POINTS, Y)
    assert_refused(lambda: model.partial_fit(POINTS[:, :, :2], Y), "2 features", "3 features are required")


def test_the_given_solver_solves():
    loose = made(DistanceRegressor, **cases.FAST, solver=Gram(max_iter=0), preprocessor=ITEMS)
    with pytest.warns(UserWarning, match="stopped at the limit"):
        assert loose.partial_fit(INDEX, Y).solution_.n_iter == 0


def test_a_block_whose_solve_fails_does_not_count(monkeypatch):
    model = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).partial_fit(INDEX[:70], Y[:70])

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(solve, "solve_moments", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(INDEX[70:], Y[70:])
    once = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).partial_fit(INDEX[:70], Y[:70]).partial_fit(INDEX[70:], Y[70:])
    model.partial_fit(INDEX[70:], Y[70:])
    assert (model.semimetric_.weights == once.semimetric_.weights).all()
