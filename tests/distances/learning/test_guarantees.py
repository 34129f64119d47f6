"""What was asked is what the model gives, whatever the loss, the solver and the kind of features; or it is an error at fit."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    LargeMarginLearner,
    NotSupportedError,
    PairLearner,
    QuadrupletLearner,
    SemimetricClassifier,
    SemimetricRegressor,
    Tables,
    TripletLearner,
    load,
)

ITEMS, INDEX, _ = cases.sample()
KINDS = np.column_stack([ITEMS[:, 0], np.floor(4 * ITEMS[:, 1]), ITEMS[:, 2]])
GAPS = np.where(np.random.default_rng(0).random(ITEMS.shape) < 0.1, np.nan, ITEMS)


def squares(X, Y):
    return ((np.nan_to_num(X) - np.nan_to_num(Y)) ** 2).sum(axis=-1) + 0.01


SETTINGS = {
    "singles": {},
    "pairs": {"groups": "pairs", "n_knots": 3},
    "joint": {"groups": [(0, 1, 2)], "n_knots": 3},
    "overlapping": {"groups": [(0,), (0, 1), (1, 2)], "n_knots": 3},
    "absolute": {"loss": "absolute"},
    "huber": {"loss": "huber"},
    "relative": {"relative": True},
    "root": {"link": "sqrt"},
    "clipped": {"outside": "clip"},
    "no penalty": {"penalty": None},
    "lasso": {"penalty": "lasso"},
    "directions": {"directions": "pca"},
    "categories": {"items": KINDS, "categorical_features": [1]},
    "joint categories": {"items": KINDS, "categorical_features": [1], "groups": [(0, 1), (2,)]},
    "periodic": {"periodic": {0: 2.0}},
    "missing": {"items": GAPS, "missing": "level"},
    "scales": {"tables": "warped"},
    "scales and tables": {"tables": "warped", "items": KINDS, "categorical_features": [1]},
    "reference": {"solver": "cvxpy"},
    "interior point": {"solver": "interior_point"},
    "first order": {"solver": "first_order"},
    "splitting": {"solver": "splitting"},
    "chosen": {"alpha": "auto"},
}


def fitted(axioms, items=ITEMS, **options):
    y = squares(items[INDEX[:, 0]], items[INDEX[:, 1]])
    return made(DistanceRegressor, **{"n_knots": 4, "alpha": 1e-4} | options, axioms=axioms, preprocessor=items).fit(INDEX, y)


def assert_triangles(d, items, n=20_000):
    """Random triples of items and, where they are numbers that are there, of points in range, beyond and between."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(items), (n, 3))
    X, tolerance = d.schema.encode(items), 1e-12 * d.paired_by_index(d.schema.encode(items), rows[:, :2]).max()
    far, first, second = (d.paired_by_index(X, rows[:, [i, j]]) for i, j in ((0, 2), (0, 1), (1, 2)))
    assert (far <= first + second + tolerance).all()
    if d.schema.plain:
        x, z = rng.uniform(-0.5, 1.5, (2, n, d.n_features))
        for y in (rng.uniform(-0.5, 1.5, (n, d.n_features)), (x + z) / 2, np.where(rng.random(x.shape) < 0.5, x, z)):
            assert (d.paired(x, z) <= d.paired(x, y) + d.paired(y, z) + 3 * tolerance).all()


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("axioms", ["metric", "quasimetric"])
@pytest.mark.parametrize("setting", [pytest.param(s, marks=[pytest.mark.slow] * (k > 1)) for k, s in enumerate(SETTINGS)])
def test_learned_metrics_satisfy_the_triangle_inequality(setting, axioms, tmp_path):
    options = SETTINGS[setting]
    if axioms == "quasimetric" and "tables" in options:
        pytest.skip("scales are symmetric")
    model = fitted(axioms, **options)
    d = model.semimetric_
    assert d.axioms.triangle
    assert d.axioms.name == axioms
    assert_triangles(d, options.get("items", ITEMS))
    assert model.solution_.relative_gap < 2e-3 or setting == "reference"
    d.save(tmp_path / "d.smm")
    assert load(tmp_path / "d.smm").axioms == d.axioms


def test_a_semimetric_of_the_same_pairs_is_none():
    assert not fitted("semimetric").semimetric_.axioms.triangle


def test_quasimetrics_keep_direction():
    """Uphill costs three times as much as downhill; the learned distance says so, and obeys the inequality."""
    rise = ITEMS[INDEX[:, 1], 0] - ITEMS[INDEX[:, 0], 0]
    y = np.where(rise > 0, 3.0 * rise, -rise) + cases.cityblock(ITEMS[INDEX[:, 0], 1:], ITEMS[INDEX[:, 1], 1:])
    d = DistanceRegressor(n_knots=4, alpha=1e-5, axioms="quasimetric", preprocessor=ITEMS).fit(INDEX, y).semimetric_
    assert d.axioms.name == "quasimetric"
    low, high = np.full(3, 0.3), np.array([0.7, 0.3, 0.3])
    assert d(low, high) == pytest.approx(1.2, rel=0.1)
    assert d(high, low) == pytest.approx(0.4, rel=0.1)


LABELS = (ITEMS[:, 0] + ITEMS[:, 1] > 1).astype(int)
TUPLES = np.random.default_rng(1).integers(0, 40, (200, 4))
JUDGED = np.where(squares(*ITEMS[TUPLES[:, :2]].swapaxes(0, 1)) < 0.3, 1, -1)
OPTIONS = {"n_knots": 4, "alpha": 1e-3, "directions": None, "tables": "full"}
LEARNERS = {
    "pairs": lambda **o: made(PairLearner, **OPTIONS | o, preprocessor=ITEMS).fit(TUPLES[:, :2], JUDGED),
    "triplets": lambda **o: made(TripletLearner, **OPTIONS | o, preprocessor=ITEMS).fit(TUPLES[:, :3]),
    "quadruplets": lambda **o: made(QuadrupletLearner, **OPTIONS | o, preprocessor=ITEMS).fit(TUPLES),
    "classes": lambda **o: made(LargeMarginLearner, **OPTIONS | o).fit(ITEMS, LABELS),
    "classifier": lambda **o: SemimetricClassifier(made(LargeMarginLearner, **OPTIONS | o)).fit(ITEMS, LABELS),
    "values": lambda **o: SemimetricRegressor(made(DistanceRegressor, n_knots=4, alpha=1e-3, **o)).fit(ITEMS, ITEMS[:, 0] ** 2),
    "approximator": lambda **o: made(DistanceApproximator, squares, n_pairs=200, n_knots=4, alpha=1e-3, **o).fit(ITEMS),
}


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("axioms", ["metric", "quasimetric"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_gives_what_was_asked(learner, axioms):
    d = LEARNERS[learner](axioms=axioms).semimetric_
    assert d.axioms.name == axioms
    assert_triangles(d, ITEMS, n=3000)


@pytest.mark.parametrize("learner", ["pairs", "triplets", "classes"])
def test_hinges_too(learner):
    assert LEARNERS[learner](axioms="metric", loss="hinge", groups="pairs", n_knots=3).semimetric_.axioms.name == "metric"


def test_vertices_must_be_a_metric_already():
    d = (
        DistanceApproximator(cases.cityblock, DistanceRegressor(n_knots=3, axioms="metric"), method="vertices")
        .fit(ITEMS)
        .semimetric_
    )
    assert d.axioms.name == "metric"
    learner = DistanceRegressor(axioms="metric")
    assert_refused(
        lambda: DistanceApproximator(lambda x, y: float(((x - y) ** 2).sum()), learner, method="vertices").fit(ITEMS),
        "breaks the triangle inequality", "asks for it", "metric_repair",
    )  # fmt: skip


def test_what_cannot_be_claimed_is_refused():
    assert_refused(
        lambda: fitted("metric", base_distances=(cases.cityblock,)), "base_distances", "cannot be claimed", "leave it out",
        NotSupportedError,
    )  # fmt: skip
    assert_refused(
        lambda: fitted("metric", groups="pairs", symmetry="swap"), "", "continuous", 'symmetry="tie"', NotSupportedError
    )
    assert_refused(
        lambda: fitted("metric", groups=[(0, 1, 2)], n_knots=11), "whole tables", "too large", "fewer knots", NotSupportedError
    )
    assert_refused(
        lambda: fitted("metric", solver="gram"), "CuttingPlane cannot", "inequalities", "InteriorPoint", NotSupportedError
    )
    knots = [np.linspace(0, 1, 4)] * 3
    model = DistanceRegressor(axioms="metric", tables=Tables(knots=knots), alpha=1e-3)
    assert_refused(
        lambda: model.partial_fit(ITEMS[INDEX], squares(*ITEMS[INDEX].swapaxes(0, 1))), "partial_fit cannot impose",
        "", "metric_repair", NotSupportedError,
    )  # fmt: skip
