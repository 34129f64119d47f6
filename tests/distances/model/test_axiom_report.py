"""What a report says is what points show."""

import cases
import numpy as np
import pytest
from learners import made

from semimetric import Columns, DistanceRegressor, Grid, PairEmbedding, Semimetric, Tables
from semimetric.distances.model.axioms import certify

ITEMS, INDEX, _ = cases.sample()
SQUARES = ((ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) ** 2).sum(axis=1) + 0.01


def fitted(**options):
    return made(DistanceRegressor, n_knots=4, alpha=1e-4, preprocessor=ITEMS, **options).fit(INDEX, SQUARES).semimetric_


@pytest.mark.parametrize("options", [{"axioms": "metric"}, {"axioms": "quasimetric", "groups": "pairs", "n_knots": 3}], ids=str)
def test_a_metric_is_proved_by_its_grid_points(options):
    d = made(DistanceRegressor, **{"n_knots": 4, "alpha": 1e-4} | options, preprocessor=ITEMS).fit(INDEX, SQUARES).semimetric_
    report = d.certify()
    assert report.triangle == "proved"
    assert report.triple is None
    assert report.worst.holds
    assert report.axioms.name == options["axioms"]
    assert "by a check of all grid points" in repr(report)


def test_scales_prove_it_by_their_columns():
    report = fitted(tables="warped").certify()
    assert "by the columns: monotone scales" in report.proofs["triangle"]
    assert report.worst is None


@pytest.mark.parametrize("options", [{}, {"groups": "pairs"}, {"missing": "level"}, {"periodic": {0: 2.0}}], ids=str)
def test_a_violation_is_shown_by_points(options):
    d = fitted(**options)
    report = d.certify(random_state=1)
    assert report.triangle == "violated"
    x, y, z = d.schema.decode(report.triple)
    assert d(x, z) - d(x, y) - d(y, z) == pytest.approx(report.excess, rel=1e-9)
    assert report.excess > 0
    assert "exceeds d(x, y) + d(y, z)" in repr(report)
    assert repr(d.certify(random_state=1)) == repr(report)


def test_the_search_finds_what_the_worst_grid_triple_of_one_group_shows():
    """One group: the largest violation of all points is at its grid points."""
    e = PairEmbedding(Grid([np.arange(4.0)]))
    d = Semimetric(e, np.array([1.0, 9.0, 9.0, 1.0, 9.0, 1.0]), np.ones(1), ("x",))
    report = d.certify()
    assert report.excess == pytest.approx(report.worst.excess) == pytest.approx(7.0)


def test_overlapping_groups_leave_it_open():
    """A joint table that violates, under a wide table of one of its features that outweighs it."""
    grid = Grid([[0.0, 1.0, 2.0], [0.0, 1.0]])
    e = PairEmbedding(grid, [(0, 1), (0,), (1,)])
    w = np.concatenate([np.ones(15), np.full(3, 30.0), np.full(1, 30.0)])
    joint = PairEmbedding(grid, [(0, 1)])
    pairs = np.stack(np.divmod(joint.vertices[0].keys, 6))
    w[int(np.flatnonzero((pairs[0] == 0) & (pairs[1] == 4))[0])] = 3.0  # (0, 0) to (2, 0), by way of (1, 0): 3 > 1 + 1
    d = Semimetric(e, w, np.ones(2), ("x", "y"))
    report = d.certify()
    assert not d.axioms.triangle
    assert report.worst.excess == pytest.approx(1.0)
    assert report.triangle == "not proved"
    assert report.triple is None or report.excess == 0.0


def test_base_distances_leave_it_open():
    d = fitted(base_distances=(cases.cityblock,), tables="warped")
    report = certify(d, n_starts=8)
    assert report.triangle == "not proved"
    assert "not proved" in repr(report)


def test_symmetry_by_swapping_is_searched_without_a_proof():
    """The tables of such a distance cannot be checked, so only points can speak against the triangle inequality."""
    d = cases.fitted("swapped")[0].semimetric_
    report = d.certify(random_state=0)
    assert report.worst is None
    assert not report.axioms.triangle
    assert "symmetry by swapping jumps" in report.proofs["continuous"]
    x, y, z = report.triple
    assert report.triangle == "violated"
    assert d(x, z) - d(x, y) - d(y, z) == pytest.approx(report.excess, rel=1e-9)
    assert report.excess > 0


def test_the_points_that_are_shown_have_categories_of_the_fit():
    """Squares of a number violate the triangle inequality whatever the category is; the search moves the category too."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 3, 60), 4 * rng.random(60)]).astype(object)
    index = rng.integers(0, 60, (300, 2))
    x, y = table[index[:, 0]], table[index[:, 1]]
    distances = 0.1 * (x[:, 0] != y[:, 0]) + (x[:, 1] - y[:, 1]).astype(float) ** 2
    model = DistanceRegressor(n_knots=5, alpha=1e-4, columns=Columns([0]), preprocessor=table)
    d = model.fit(index, distances.astype(float)).semimetric_
    report = d.certify(random_state=0)
    assert report.triangle == "violated"
    codes = report.triple[:, 0]
    assert set(codes) <= {0.0, 1.0, 2.0}
    x, y, z = d.schema.decode(report.triple)
    assert d(x, z) - d(x, y) - d(y, z) == pytest.approx(report.excess, rel=1e-9)
    assert report.excess > 1.0


def test_of_a_users_base_distance_only_what_was_seen_is_said():
    rng = np.random.default_rng(0)
    X, pairs = rng.random((40, 2)), rng.integers(0, 40, (300, 2))

    def base(x, y):
        return float(np.abs(np.asarray(x) - y).max())

    y = [base(X[i], X[j]) for i, j in pairs]
    for bases, seen in (([base], True), ((), False)):
        options = {"n_knots": 2, "alpha": 1e-3, "tables": Tables(base_distances=bases), "preprocessor": X}
        report = DistanceRegressor(**options, link="identity").fit(pairs, y).semimetric_.certify()
        for axiom in ("symmetric", "zero_on_diagonal", "continuous"):
            assert report.proofs[axiom] == "by the columns" + "; of base distances only seen at a few pairs" * seen


def test_a_distance_that_a_base_distance_explains_whole_is_positive():
    rng = np.random.default_rng(7)
    H, pairs = rng.dirichlet(np.ones(4), 100), rng.integers(0, 100, (1500, 2))
    y = np.sqrt(0.5 * ((np.sqrt(H[pairs[:, 0]]) - np.sqrt(H[pairs[:, 1]])) ** 2).sum(axis=1))
    tables = Tables(base_distances=["hellinger"])
    d = DistanceRegressor(n_knots=3, alpha=1e-2, preprocessor=H, link="sqrt", tables=tables).fit(pairs, y).semimetric_
    assert d.axioms.name == "semimetric"
    assert d.weights.min() > 0
    x = np.full(4, 0.25)
    assert d(x, x + [1e-9, -1e-9, 0, 0]) > 0
